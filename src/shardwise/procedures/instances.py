"""Systems that give another result each time, every pair of them, for many tables at once (J15)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shardwise.core.arrays import Bools, Floats
from shardwise.core.errors import InputError
from shardwise.fits.mixed import TINY
from shardwise.numerics.corrections import title as method_title
from shardwise.numerics.mixed import balanced as balanced
from shardwise.numerics.student import t_statistic
from shardwise.numerics.unified import mean_squares
from shardwise.procedures import kernels as procedures_kernels
from shardwise.procedures.batch import (
    INSTANCES,
    PROMISES,
    Batch,
    Decide,
    Decisions,
    Procedure,
    procedure,
)
from shardwise.procedures.corrections import METHODS, STEPWISE, by_p, by_t, without_noise
from shardwise.procedures.paired import RESAMPLES, bootstrap_p, keys_of

FREEDOMS = {
    "paper": "J15's df",
    "satterthwaite": "Satterthwaite's df",
    "auto": "Satterthwaite's or Kenward and Roger's df",
}


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """How the scores of systems vary over instances and topics."""

    mean: Floats  # (B, P) differences
    se: Floats  # (B, P) over topics, of the differences of per-topic means
    own: Floats  # (B, R) sums of squares of the per-topic means over topics
    ms_instance: Floats  # (B, R)
    ms_error: Floats
    fixed: Bools  # (B, R) deterministic: all instances alike


def spread_of(batch: Batch) -> Spread:
    """What the tests of instances need of a batch."""

    def make() -> Spread:
        if batch.y.shape[3] < 2:
            raise InputError(
                "a single instance does not show how instances vary", remedy="draw two or more of each system"
            )
        y = batch.y.transpose(0, 2, 3, 1)
        mean, se = moments(batch.topic_means())
        topics = batch.topic_means()
        own = ((topics - topics.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        fixed = (batch.y == batch.y[..., :1]).all(axis=(1, 3))
        ms_instance, ms_error = mean_squares(y)
        return Spread(mean, se, own, np.where(fixed, 0.0, ms_instance), np.where(fixed, 0.0, ms_error), fixed)

    return batch.once("spread", make)


def moments(y: Floats) -> tuple[Floats, Floats]:
    """(B, P) mean over topics of the differences of every pair, and its standard error; y is (B, T, R)."""
    a, b = (side.astype(np.int64) for side in np.triu_indices(y.shape[2], 1))
    mean, se = np.empty((len(y), a.size)), np.empty((len(y), a.size))
    procedures_kernels.means_and_errors(np.ascontiguousarray(y), np.zeros(len(y)), a, b, mean, se)
    return mean, se


def unified(batch: Batch, alpha: float, method: str) -> Decisions:
    """The unified test: Var = s_d²/N + Σ max(MS_I - MS_E, 0)/(M N), Satterthwaite df."""
    found = spread_of(batch)
    n, m = batch.topics, batch.y.shape[3]
    a, b = batch.pairs
    counts = found.ms_instance > found.ms_error
    extra = np.where(counts, found.ms_instance - found.ms_error, 0.0) / (m * n)
    own = (found.ms_instance / (m * n)) ** 2 / (m - 1.0)
    own = np.where(counts, own + (found.ms_error / (m * n)) ** 2 / ((m - 1.0) * (n - 1.0)), 0.0)
    variance = found.se**2 + extra[:, a] + extra[:, b]
    uncertain = found.se**4 / (n - 1.0) + own[:, a] + own[:, b]
    positive = uncertain > 0.0
    df = np.where(positive, variance**2 / np.where(positive, uncertain, 1.0), n - 1.0)
    return by_t(found.mean, np.sqrt(variance), df, method, batch.systems, alpha)


def _lines(batch: Batch, design: balanced.Design) -> balanced.Lines:
    """The four lines of the analysis of variance of every pair, from what its two systems have each (L = 2)."""
    found = spread_of(batch)
    n, m = batch.topics, batch.y.shape[3]
    a, b = batch.pairs
    between = found.se**2 * n * (n - 1.0)
    ss_t = m / 2.0 * np.maximum(2.0 * (found.own[:, a] + found.own[:, b]) - between, 0.0)
    ss_st = m / 2.0 * between
    instance = (found.ms_instance[:, a] + found.ms_instance[:, b]) * (m - 1.0)
    error = (found.ms_error[:, a] + found.ms_error[:, b]) * (m - 1.0) * (n - 1.0)
    if design == "nested":
        df = [n - 1.0, n - 1.0, 2.0 * (m - 1.0), 2.0 * (m - 1.0) * (n - 1.0)]
    else:  # one of the two is deterministic: its copies have no instance effect, and half of the other's is shared
        df = [n - 1.0, n - 1.0, m - 1.0, (m - 1.0) * (2.0 * n - 1.0)]
        instance, error = instance / 2.0, error + instance / 2.0
    ss = np.stack((ss_t, ss_st, instance, error), axis=-1)
    return balanced.Lines(design, (2, m, n), ss, np.array(df), np.zeros((*ss.shape[:-1], 2)))


def _freedom(fit: balanced.BalancedFit, df: str) -> Floats:
    _, m, n = fit.lines.shape
    if df == "paper":
        return np.full(fit.phi.shape[:-1], fit.lines.shape[0] * m * n - 1.0)
    if df == "satterthwaite":
        return fit.satterthwaite()
    singular = (fit.components == 0.0).any(axis=-1)
    return np.where(singular, fit.kenward_roger(), fit.satterthwaite())


def _fit(lines: balanced.Lines, df: str) -> tuple[Floats, Floats]:
    """Standard error and df of a difference; infinite and 1 where there is no residual to go by."""
    usable = lines.ms[..., balanced.E] > TINY * lines.ms.max(axis=-1)
    ss = np.where(usable[..., None], lines.ss, lines.df)
    fit = balanced.restricted_maximum(replace(lines, ss=ss))
    return np.where(usable, np.sqrt(fit.difference_variance), np.inf), np.where(
        usable, _freedom(fit, df), 1.0
    )


def mixed(batch: Batch, alpha: float, df: str, method: str) -> Decisions:
    """A mixed model of each pair: nested instances, or crossed where one system is deterministic (J15 §3.1).

    Two deterministic systems, or scores without a residual, have no such model: these pairs are never told apart.
    """
    found = spread_of(batch)
    a, b = batch.pairs
    some = found.fixed[:, a] | found.fixed[:, b]
    se, freedom = _fit(_lines(batch, "nested"), df)
    if some.any():
        crossed_se, crossed_freedom = _fit(_lines(batch, "crossed"), df)
        se, freedom = np.where(some, crossed_se, se), np.where(some, crossed_freedom, freedom)
    return by_t(found.mean, se, freedom, method, batch.systems, alpha)


def joint(batch: Batch, alpha: float, method: str) -> Decisions:
    """One mixed model of all systems with nested instances, as ``compare(mixed(scores), method)``."""
    found = spread_of(batch)
    if found.fixed.any():
        raise InputError(
            "a deterministic system has no instances of its own to put into one nested model",
            remedy="use unified or mixed, which take each pair by itself",
        )
    lines = batch.once("lines", lambda: balanced.lines(batch.y.transpose(0, 2, 3, 1), "nested"))
    se, freedom = _fit(lines, "auto")
    largest = np.abs(lines.means).max(axis=1, keepdims=True)
    difference, se = without_noise(found.mean, se[:, None], largest)
    return by_t(difference, se, freedom[:, None], method, batch.systems, alpha)


def one_instance(batch: Batch, alpha: float, method: str) -> Decisions:
    """Paired t on the first instance of each system, which J15 warns of."""
    mean, se = moments(batch.y[..., 0])
    return by_t(mean, se, np.full((len(mean), 1), batch.topics - 1.0), method, batch.systems, alpha)


def independent(batch: Batch, alpha: float, method: str) -> Decisions:
    """Paired t on the differences of all instances and topics as if none depended on another."""
    y = batch.y.transpose(0, 1, 3, 2).reshape(len(batch), -1, batch.systems)
    mean, se = moments(y)
    return by_t(mean, se, np.full((len(mean), 1), y.shape[1] - 1.0), method, batch.systems, alpha)


def pooled_p(batch: Batch, n_resamples: int, *, own: bool) -> Floats:
    """J15 Algorithm 2: resamples of every instance against the t of the averages, or against its own t."""
    found = spread_of(batch)
    a, b = batch.pairs
    m = batch.y.shape[3]
    y = np.ascontiguousarray(batch.y.transpose(0, 3, 1, 2))
    if own:
        mean, se = moments(y.reshape(-1, *y.shape[2:]))
        t = t_statistic(mean, se).reshape(len(batch), m, -1)
    else:
        t = np.repeat(t_statistic(found.mean, found.se)[:, None, :], m, axis=1)
    as_large = np.zeros(found.mean.shape, dtype=np.int64)
    procedures_kernels.pooled_bootstrap(y, a, b, t, keys_of(batch), n_resamples, as_large)
    p = (as_large + 1) / (m * n_resamples + 1)
    both = found.fixed[:, a] & found.fixed[:, b]
    return np.where(both, bootstrap_p(batch, n_resamples), p) if both.any() else p


def pooled(batch: Batch, alpha: float, n_resamples: int, method: str, *, own: bool) -> Decisions:
    """Decide by one of the two readings of J15 Algorithm 2, which have no interval at any alpha."""
    p = batch.once(("pooled", n_resamples, own), lambda: pooled_p(batch, n_resamples, own=own))
    return by_p(spread_of(batch).mean, p, method)


def instance_procedures(n_resamples: int = RESAMPLES) -> list[Procedure]:
    """All tests of instances with all corrections."""
    found = [
        procedure(
            f"joint mixed {method}",
            f"one mixed model of all systems, nested instances, {method_title(method)}",
            (INSTANCES,),
            ("topic", "instance"),
            PROMISES[method],
            "",
            partial(joint, method=method),
        )
        for method in METHODS
    ]
    both, topics = ("topic", "instance"), ("topic",)
    some = f" ({n_resamples} resamples)"
    drawn = partial(pooled, n_resamples=n_resamples)
    for method in STEPWISE:
        tests: dict[str, tuple[str, tuple[str, ...], str, Decide]] = {
            "unified": ("unified test of instances and topics", both, "", partial(unified, method=method)),
            **{
                f"mixed {df}": (f"mixed model of each pair, {words}", both, "J15" * (df == "paper"),
                                partial(mixed, df=df, method=method))
                for df, words in FREEDOMS.items()
            },
            "bootstrap pooled": (f"J15 Algorithm 2, t of the averages against resamples of every instance{some}",
                                 topics, "J15", partial(drawn, method=method, own=False)),
            "bootstrap per-instance": (f"J15 Algorithm 2, each instance's t against its resamples{some}",
                                       topics, "J15", partial(drawn, method=method, own=True)),
            "t-single": ("paired t on the first instance", topics, "J15", partial(one_instance, method=method)),
            "t-independent": ("paired t on all instances and topics as if independent", topics, "",
                              partial(independent, method=method)),
        }  # fmt: skip
        for name, (words, generalize, source, decide) in tests.items():
            title = words if method == "none" else f"{words} with {method_title(method)}"
            found.append(
                procedure(
                    f"{name} {method}", title, (INSTANCES,), generalize, PROMISES[method],
                    source if method == "none" else "", decide,
                )
            )  # fmt: skip
    return found
