"""Classic tests on a topic × system table: every pair of systems, all in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special, stats

from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.pairs import best_first, choose_pairs
from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.estimates import Estimates
from shardwise.numerics import resampling as kernels
from shardwise.numerics.corrections import stepwise
from shardwise.numerics.max_t import against, critical_t, flip_topics, half_widths, u_of
from shardwise.numerics.student import NOISE, t_statistic

CHUNK = 4_000_000  # numbers of one block of bootstrap samples × pairs


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """A table of scores, best system first, and the pairs to test."""

    y: Floats  # (T, R)
    unit: float  # a power of ten far below any difference that matters
    ia: Ints
    ib: Ints
    n_resamples: int
    seed: int

    @property
    def units(self) -> Ints:
        """(T, R) scores in whole units, in which sums are exact."""
        return np.rint(self.y / self.unit).astype(np.int64)

    @property
    def d(self) -> Ints:
        """(T, pairs) differences per topic in hundreds of units: coarse enough for ties to show."""
        return np.rint((self.y[:, self.ia] - self.y[:, self.ib]) / (100 * self.unit)).astype(np.int64)

    @property
    def z(self) -> Floats:
        """(T, pairs) differences per topic, those of mere rounding set to 0."""
        return np.where(self.d == 0, 0.0, self.y[:, self.ia] - self.y[:, self.ib])


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a test says of each pair; NaN where it has no such figure."""

    se: Floats
    df: Floats
    statistic: Floats
    p: Floats


@dataclass(frozen=True, slots=True, eq=False)
class RangeLaw:
    """Law of the range of means when systems are exchangeable within topics."""

    ranges: Floats  # (B,) ascending
    noise: float

    @property
    def name(self) -> str:
        """What law this is."""
        return f"range of means in {self.ranges.size} permutations"

    def p_values(self, differences: Floats) -> Floats:
        """(r + 1) / (B + 1), r the permutations with a range at least as large."""
        as_large = self.ranges.size - np.searchsorted(self.ranges, differences - self.noise)
        return np.asarray((as_large + 1) / (self.ranges.size + 1))

    def critical(self, alpha: float) -> float:
        """Smallest difference significant at alpha; ∞ if there are too few permutations for it."""
        k = math.floor(alpha * (self.ranges.size + 1) * (1 + 1e-12))
        return math.inf if k < 1 else float(self.ranges[-k] + 2 * self.noise)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaxT(Comparisons):
    """Comparisons by the largest |t|, whose intervals have each pair's own standard error."""

    topics: int
    maxima: Floats

    def single_step(self) -> Floats:
        """P-values against the largest |t| of all pairs, those found already included: never below `p_adjusted`."""
        return against(self.maxima, u_of(self.statistic, self.topics))

    def difference_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Simultaneous interval of each difference, by the single step: `a, b, difference, lower, upper`."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level {level} is not between 0 and 1", remedy="write .95 for 95 %")
        half = half_widths(self.se, critical_t(self.maxima, 1.0 - level, self.topics))
        frame = self.to_frame()[["a", "b", "difference"]]
        return frame.assign(lower=self.difference - half, upper=self.difference + half)


def paired_tests(
    scores: xr.DataArray | pd.DataFrame,
    test: str = "t",
    *,
    correction: str = "none",
    n_resamples: int = 10_000,
    seed: int = 0,
    only: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    average: Sequence[str] = (),
) -> Comparisons:
    """Test every pair of systems on a topic × system table (a DataArray, or a DataFrame with one column a system).

    test: "t" (paired), "unpaired-t", "wilcoxon", "sign", "randomization" (Fisher's, of the mean difference),
    "bootstrap" (studentised, J15 Algorithm 1), "tukey" (randomised Tukey HSD over all systems), "max-t" (largest |t|
    of all pairs under sign flips of topics, step-down). `average` names further dimensions, such as shard or instance,
    to be averaged per topic first. `correction`: none, bonferroni, holm, bh, by; none for tukey and max-t.
    Monte-Carlo p-values are (r + 1)/(B + 1); replicate i depends on (seed, i) only.

    >>> table = pd.DataFrame({"x": [0.5, 0.6, 0.7, 0.9], "y": [0.4, 0.4, 0.6, 0.6], "z": [0.4, 0.5, 0.6, 0.7]})
    >>> paired_tests(table, "randomization").to_frame()[["a", "b", "difference", "p"]].round(4)
       a  b  difference      p
    0  x  z       0.125  0.125
    1  x  y       0.175  0.125
    2  z  y       0.050  0.500
    """
    if test not in TESTS and test not in JOINT:
        raise InputError(f"no test is called {test!r}", remedy=f"choose one of {', '.join([*TESTS, *JOINT])}")
    if n_resamples < 1 or seed < 0:
        raise InputError("n_resamples must be at least 1 and seed at least 0")
    labels, y = _table(scores, tuple(average))
    estimates = best_first(_estimates(labels, y))
    y = y[:, [labels.index(label) for label in estimates.labels]]
    ia, ib = choose_pairs(estimates.labels, only, None)
    unit = 10.0 ** (math.ceil(math.log10(np.abs(y).max() or 1.0)) - 12)  # decimal, as most scores are
    table = Paired(y, unit, ia, ib, n_resamples, seed)
    if test in JOINT:
        if correction != "none":
            raise InputError(f"test={test!r} is corrected by construction", remedy="leave correction out")
        return JOINT[test](table, estimates)
    family = stepwise(correction)
    found = TESTS[test](table)
    difference = np.abs(table.z.mean(axis=0))
    title = _title(test, table) + ("" if correction == "none" else f" with {family.title}")
    return Comparisons(estimates, ia, ib, difference, found.se, found.df, found.statistic, found.p,
                       family.adjust(found.p), correction, title)  # fmt: skip


def _title(test: str, table: Paired) -> str:
    words = WORDS[test]
    resampled = test == "bootstrap" or (test == "randomization" and len(table.y) > kernels.EXACT_TOPICS)
    return f"{words} ({table.n_resamples} resamples, seed {table.seed})" if resampled else words


def _table(scores: xr.DataArray | pd.DataFrame, average: tuple[str, ...]) -> tuple[list[str], Floats]:
    """System names and a complete (T, R) array, or a refusal that says what is missing."""
    if isinstance(scores, pd.DataFrame):
        if not all(pd.api.types.is_numeric_dtype(kind) for kind in scores.dtypes):
            raise InputError("a column of the table holds no numbers", remedy="set the topic column as index")
        scores = xr.DataArray(
            scores.to_numpy(dtype=float),
            dims=("topic", "system"),
            coords={"topic": scores.index.to_numpy(), "system": [str(name) for name in scores.columns]},
        )
    for name in average:
        if name not in scores.dims or name in {"topic", "system"}:
            raise InputError(f"scores cannot be averaged over {name!r}", remedy=f"they have {scores.dims}")
    extra = [str(name) for name in scores.dims if name not in {"topic", "system", *average}]
    if extra:
        raise InputError(
            f"scores have the further dimension {extra[0]!r}",
            remedy=f"pick one value of it, or give average=({extra[0]!r},)",
        )
    if {"topic", "system"} - set(scores.dims):
        raise InputError(
            "scores lack the dimension topic or system", remedy="name the dimensions topic, system"
        )
    y = scores.mean(average, skipna=False) if average else scores
    y = y.transpose("topic", "system")
    values = np.asarray(y.to_numpy(), dtype=float)
    if len(values) < 2:
        raise InputError(f"{len(values)} topic is too few for a test over topics", remedy="give at least two")
    lost = ~np.isfinite(values)
    if lost.any():
        t = int(lost.any(axis=1).argmax())
        topic = y["topic"].to_numpy()[t] if "topic" in y.coords else t
        raise InputError(
            f"{int(lost.any(axis=1).sum())} topics lack a score, first topic {topic}",
            remedy="drop them with scores.dropna('topic') or fill them with fill_undefined",
        )
    names = y["system"].to_numpy() if "system" in y.coords else np.arange(values.shape[1])
    return [str(name) for name in names], values


def _estimates(labels: list[str], y: Floats) -> Estimates:
    topics, r = y.shape
    residuals = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    freedom = (topics - 1) * (r - 1)
    return Estimates(
        labels=tuple(labels),
        values=y.mean(axis=0),
        variance=math.nan,
        df=math.nan,
        claim=f"on topics like these {topics}",
        model="each pair by itself",
        scale=float(np.sqrt((residuals**2).sum() / freedom)) if freedom else math.nan,
        own_sd=y.std(axis=0, ddof=1),
        own_count=np.full(r, float(topics)),
    )


def paired_t(table: Paired) -> Outcome:
    """t = mean of the differences / (sd / sqrt(T)), T - 1 degrees of freedom."""
    topics = len(table.y)
    se = _free_of_noise(table.z.std(axis=0, ddof=1) / math.sqrt(topics), table)
    return _t_outcome(table, se, topics - 1)


def unpaired_t(table: Paired) -> Outcome:
    """Student's two-sample t with pooled variance, as if the systems had met different topics (V17 Table 2)."""
    topics = len(table.y)
    variance = table.y.var(axis=0, ddof=1)
    se = _free_of_noise(np.sqrt((variance[table.ia] + variance[table.ib]) / topics), table)
    return _t_outcome(table, se, 2 * topics - 2)


def _t_outcome(table: Paired, se: Floats, df: int) -> Outcome:
    t = t_statistic(table.z.mean(axis=0), se)
    dfs = np.full(t.shape, float(df))
    return Outcome(se, dfs, t, np.asarray(2.0 * stats.t.sf(np.abs(t), dfs)))


def _free_of_noise(se: Floats, table: Paired) -> Floats:
    return np.where(se <= NOISE * np.abs(table.y).max(), 0.0, se)


def wilcoxon(table: Paired) -> Outcome:
    """Signed ranks without the zero differences: exact up to 50 of them, beyond by the normal law with ties."""
    statistic, p, z = (np.empty(table.ia.size) for _ in range(3))
    d = table.d.T
    kernels.signed_ranks(np.take_along_axis(d, np.argsort(np.abs(d), axis=1), axis=1), statistic, p, z)
    nothing = np.full(p.shape, np.nan)
    return Outcome(nothing, nothing, statistic, np.where(np.isnan(p), 2.0 * special.ndtr(-z), p))


def sign(table: Paired) -> Outcome:
    """Binomial test on the topics won, ties left out; the statistic is the number that the system named first won."""
    won = (table.d > 0).sum(axis=0)
    lost = (table.d < 0).sum(axis=0)
    p = np.minimum(2.0 * stats.binom.cdf(np.minimum(won, lost), won + lost, 0.5), 1.0)
    nothing = np.full(p.shape, np.nan)
    return Outcome(nothing, nothing, won.astype(float), p)


def randomization(table: Paired) -> Outcome:
    """Fisher's two-sided randomization test of the mean difference: all flips for few topics, else a sample."""
    p = kernels.exact_flips(table.units, table.ia, table.ib)
    left = np.isnan(p)
    if left.any():
        members = np.union1d(table.ia[left], table.ib[left])
        units = np.ascontiguousarray(table.units[:, members])
        sums = units.sum(axis=0)
        target = np.abs(sums[:, None] - sums[None, :]) - kernels.SLACK * len(units)
        counts = kernels.sign_flips(units, target, kernels.key_of(table.seed), table.n_resamples)
        a, b = np.searchsorted(members, table.ia[left]), np.searchsorted(members, table.ib[left])
        p[left] = (counts[a, b] + 1) / (table.n_resamples + 1)
    nothing = np.full(p.shape, np.nan)
    return Outcome(nothing, nothing, table.z.mean(axis=0), p)


def bootstrap(table: Paired) -> Outcome:
    """Studentised bootstrap of topics, recentred by the mean of all bootstrap means (J15 Algorithm 1)."""
    plain = paired_t(table)
    topics, n = len(table.y), table.n_resamples
    key = kernels.key_of(table.seed)
    size = max(1, CHUNK // max(table.ia.size, topics))
    blocks = [(first, min(size, n - first)) for first in range(0, n, size)]
    z = table.z - table.z.mean(axis=0)  # centred, for the sake of the variances; the shift below undoes it
    drawn = np.zeros(topics)
    for first, count in blocks:
        drawn += kernels.topic_counts(topics, key, first, count).sum(axis=0)
    shift = drawn @ z / (n * topics)  # mean of the bootstrap means
    squares = z**2
    as_large = np.zeros(table.ia.size, dtype=np.int64)
    for first, count in blocks:
        counts = kernels.topic_counts(topics, key, first, count) / topics
        kernels.count_as_large(counts @ z, counts @ squares, shift, plain.statistic, topics, as_large)
    constant = np.where(plain.statistic == 0.0, n, 0)  # all differences alike: certain either way
    p = (np.where(plain.se == 0.0, constant, as_large) + 1) / (n + 1)
    return Outcome(plain.se, np.full(p.shape, np.nan), plain.statistic, p)


def _randomised_tukey(table: Paired, estimates: Estimates) -> Comparisons:
    """Largest range of means over systems shuffled within topics: p-values corrected by construction."""
    members = np.union1d(table.ia, table.ib)
    units = np.ascontiguousarray(table.units[:, members])
    ranges = kernels.permuted_ranges(units, kernels.key_of(table.seed), table.n_resamples)
    law = RangeLaw(np.sort(ranges) * table.unit / len(units), 2 * table.unit)
    difference = np.abs(table.z.mean(axis=0))
    p = law.p_values(difference)
    nothing = np.full(p.shape, np.nan)
    title = f"randomised Tukey HSD (seed {table.seed})"
    estimates = replace(estimates, law=law)
    return Comparisons(
        estimates, table.ia, table.ib, difference, nothing, nothing, difference, p, p, "tukey", title
    )


def _max_t(table: Paired, estimates: Estimates) -> Comparisons:
    """Largest |t| of all pairs over sign flips of topics, step-down: p-values corrected by construction."""
    plain = paired_t(table)
    mean = table.z.mean(axis=0)
    key = kernels.key_of(table.seed)
    found = flip_topics(table.y, table.ia, table.ib, mean, plain.se, key, table.n_resamples)
    title = f"step-down max-t by sign flips ({table.n_resamples} resamples, seed {table.seed})"
    return MaxT(estimates, table.ia, table.ib, np.abs(mean), plain.se, np.full(mean.shape, np.nan), plain.statistic,
                found.p, found.p_adjusted, "max-t", title, len(table.y), found.maxima)  # fmt: skip


JOINT: dict[str, Callable[[Paired, Estimates], Comparisons]] = {"tukey": _randomised_tukey, "max-t": _max_t}
TESTS: dict[str, Callable[[Paired], Outcome]] = {
    "t": paired_t,
    "unpaired-t": unpaired_t,
    "wilcoxon": wilcoxon,
    "sign": sign,
    "randomization": randomization,
    "bootstrap": bootstrap,
}
WORDS = {
    "t": "paired t",
    "unpaired-t": "unpaired t",
    "wilcoxon": "Wilcoxon signed ranks",
    "sign": "sign test",
    "randomization": "Fisher randomization",
    "bootstrap": "studentised bootstrap",
}
