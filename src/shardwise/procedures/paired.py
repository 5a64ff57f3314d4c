"""Classic tests on topic means for many tables at once: what `paired_tests` does for one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from scipy import stats

from shardwise.comparing.paired import WORDS
from shardwise.core.arrays import Floats, Ints, Words
from shardwise.numerics import resampling as paired_kernels
from shardwise.numerics.corrections import title as method_title
from shardwise.numerics.max_t import Flips, critical_t, flip_topics, half_widths
from shardwise.numerics.student import NOISE, t_statistic
from shardwise.procedures import kernels as procedures_kernels
from shardwise.procedures.batch import LAYOUTS, PROMISES, Batch, Decide, Decisions, Procedure, procedure
from shardwise.procedures.corrections import STEPWISE, by_p, by_t, two_sided_t

RESAMPLES = 1_000  # of the randomization tests and the bootstrap, unless another number is asked for

SOURCES = {"t": "V17", "unpaired-t": "V17", "wilcoxon": "V17", "bootstrap": "J15"}


def units_of(y: Floats) -> Floats:
    """(B,) for every table a power of ten far below any difference that matters, as in `paired_tests`."""
    largest = np.abs(y).reshape(len(y), -1).max(axis=1)
    return np.array([10.0 ** (math.ceil(math.log10(top or 1.0)) - 12) for top in largest.tolist()])


def keys_of(batch: Batch) -> Words:
    """The 64 bits from which each table's resamples are derived."""
    return batch.once(
        "keys", lambda: np.array([paired_kernels.key_of(seed) for seed in batch.seeds], dtype=np.uint64)
    )


def moments(batch: Batch) -> tuple[Floats, Floats]:
    """(B, P) mean difference of every pair and its standard error over topics."""

    def make() -> tuple[Floats, Floats]:
        y = np.ascontiguousarray(batch.topic_means())
        a, b = batch.pairs
        mean, se = np.empty((len(y), a.size)), np.empty((len(y), a.size))
        procedures_kernels.means_and_errors(y, 100.0 * units_of(y), a, b, mean, se)
        return mean, _free_of_noise(se, y)

    return batch.once("moments", make)


def _free_of_noise(se: Floats, y: Floats) -> Floats:
    return np.where(se <= NOISE * np.abs(y).max(axis=(1, 2))[:, None], 0.0, se)


def paired_t(batch: Batch, alpha: float, method: str) -> Decisions:
    """t = mean of the differences / (sd / sqrt(T)), T - 1 degrees of freedom."""
    mean, se = moments(batch)
    df = np.full((len(mean), 1), batch.topics - 1.0)
    p = batch.once("p of t", lambda: two_sided_t(np.asarray(t_statistic(mean, se)), df))
    return by_t(mean, se, df, method, batch.systems, alpha, p)


def unpaired_t(batch: Batch, alpha: float, method: str) -> Decisions:
    """Student's two-sample t with pooled variance (V17 Table 2)."""
    y = batch.topic_means()
    a, b = batch.pairs
    variance = y.var(axis=1, ddof=1)
    se = _free_of_noise(np.sqrt((variance[:, a] + variance[:, b]) / batch.topics), y)
    df = np.full((len(y), 1), 2.0 * batch.topics - 2.0)
    return by_t(moments(batch)[0], se, df, method, batch.systems, alpha)


def by_test(batch: Batch, alpha: float, p: Callable[[Batch], Floats], method: str) -> Decisions:
    """Decide by p-values that all corrections of a test share; such a test has no interval at any alpha."""
    return by_p(moments(batch)[0], batch.once(p, lambda: p(batch)), method)


@lru_cache(maxsize=1)
def _rank_laws() -> Floats:
    return np.asarray(procedures_kernels.rank_sum_laws())


def wilcoxon_p(batch: Batch) -> Floats:
    """Signed ranks without the zero differences."""
    y = np.ascontiguousarray(batch.topic_means())
    a, b = batch.pairs
    p = np.empty((len(y), a.size))
    procedures_kernels.wilcoxon(y, 100.0 * units_of(y), a, b, _rank_laws(), p)
    return p


def sign_p(batch: Batch) -> Floats:
    """Binomial test on the topics won, ties left out."""
    y = np.ascontiguousarray(batch.topic_means())
    a, b = batch.pairs
    won, lost = (np.zeros((len(y), a.size), dtype=np.int64) for _ in range(2))
    procedures_kernels.wins(y, 100.0 * units_of(y), a, b, won, lost)
    count = np.arange(batch.topics + 1)
    law = np.minimum(2.0 * stats.binom.cdf(count[None, :], count[:, None], 0.5), 1.0)
    return np.asarray(law[won + lost, np.minimum(won, lost)])


def _whole(y: Floats) -> Ints:
    """Scores in whole units, in which sums are exact."""
    return np.rint(y / units_of(y)[:, None, None]).astype(np.int64)


def randomization_p(batch: Batch, n_resamples: int) -> Floats:
    """Fisher's two-sided randomization test of the mean difference."""
    y = np.ascontiguousarray(batch.topic_means())
    a, b = batch.pairs
    p = np.empty((len(y), a.size))
    procedures_kernels.randomization(_whole(y), a, b, keys_of(batch), n_resamples, p)
    return p


def bootstrap_p(batch: Batch, n_resamples: int) -> Floats:
    """Studentised bootstrap of topics (J15 Algorithm 1)."""
    y = np.ascontiguousarray(batch.topic_means())
    a, b = batch.pairs
    mean, se = moments(batch)
    t = t_statistic(mean, se)
    found = np.zeros(mean.shape, dtype=np.int64)
    procedures_kernels.bootstrap(y, 100.0 * units_of(y), a, b, t, keys_of(batch), n_resamples, found)
    certain = np.where(t == 0.0, n_resamples, 0)  # all differences alike
    return np.asarray((np.where(se == 0.0, certain, found) + 1) / (n_resamples + 1))


def randomised_tukey(batch: Batch, alpha: float, n_resamples: int) -> Decisions:
    """Largest range of means over systems shuffled within topics: p-values corrected by construction."""
    difference, _ = moments(batch)
    ranges, noise = batch.once(("ranges", n_resamples), lambda: _ranges(batch, n_resamples))
    size = np.abs(difference) - noise[:, None]
    below = np.stack([np.searchsorted(row, d) for row, d in zip(ranges, size, strict=True)])
    p = (n_resamples - below + 1) / (n_resamples + 1)
    k = math.floor(alpha * (n_resamples + 1) * (1 + 1e-12))
    half = (ranges[:, -k] + 2.0 * noise if k else np.full(len(ranges), np.inf))[:, None]
    return Decisions(difference, p, p, difference - half, difference + half)


def _ranges(batch: Batch, n_resamples: int) -> tuple[Floats, Floats]:
    """(B, n_resamples) ranges of means in ascending order, and what rounding may add to each table's."""
    y = batch.topic_means()
    order = np.argsort(-y.mean(axis=1), axis=1, kind="stable")  # the shuffles depend on the order of systems
    units = np.ascontiguousarray(_whole(np.take_along_axis(y, order[:, None, :], axis=2)))
    out = np.empty((len(y), n_resamples), dtype=np.int64)
    procedures_kernels.ranges(units, keys_of(batch), n_resamples, out)
    unit = units_of(y)
    return np.sort(out, axis=1) * unit[:, None] / batch.topics, 2.0 * unit


def max_t(batch: Batch, alpha: float, n_resamples: int) -> Decisions:
    """Largest |t| of all pairs over sign flips of topics, step-down; intervals by the single step."""
    difference, se = moments(batch)
    y, (a, b) = batch.topic_means(), batch.pairs

    def make() -> list[Flips]:
        keys = keys_of(batch)
        return [
            flip_topics(y[i], a, b, difference[i], se[i], keys[i], n_resamples) for i in range(len(batch))
        ]

    found = batch.once(("sign flips", n_resamples), make)
    critical = [critical_t(one.maxima, alpha, batch.topics) for one in found]
    half = np.stack([half_widths(row, t) for row, t in zip(se, critical, strict=True)])
    p, p_adjusted = (np.stack([getattr(one, name) for one in found]) for name in ("p", "p_adjusted"))
    return Decisions(difference, p, p_adjusted, difference - half, difference + half)


def paired_procedures(n_resamples: int = RESAMPLES) -> list[Procedure]:
    """All tests with all corrections; on tables with more dimensions the others are averaged out first."""
    some = f" ({n_resamples} resamples)"
    p_values: dict[str, Callable[[Batch], Floats]] = {
        "wilcoxon": wilcoxon_p,
        "sign": sign_p,
        "randomization": partial(randomization_p, n_resamples=n_resamples),
        "bootstrap": partial(bootstrap_p, n_resamples=n_resamples),
    }
    found = []
    for method in STEPWISE:
        tests: dict[str, Decide] = {
            "t": partial(paired_t, method=method),
            "unpaired-t": partial(unpaired_t, method=method),
            **{name: partial(by_test, p=p, method=method) for name, p in p_values.items()},
        }
        for name, decide in tests.items():
            words = WORDS[name] + some * (name in {"randomization", "bootstrap"})
            found.append(
                procedure(
                    f"{name} {method}",
                    words if method == "none" else f"{words} with {method_title(method)}",
                    LAYOUTS,
                    ("topic",),
                    PROMISES[method],
                    SOURCES.get(name, "") if method == "none" else "",
                    decide,
                    sound=name
                    not in {"wilcoxon", "sign"},  # of medians and symmetry: equal means may fail them
                )
            )
    joint: dict[str, tuple[str, Callable[..., Decisions]]] = {
        "tukey": ("randomised Tukey HSD", randomised_tukey),
        "max-t": ("step-down max-t by sign flips", max_t),
    }
    for name, (words, test) in joint.items():
        decide = partial(test, n_resamples=n_resamples)
        found.append(procedure(name, words + some, LAYOUTS, ("topic",), "family", "", decide))
    return found
