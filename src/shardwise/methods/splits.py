"""Combine several splits of the documents: estimates averaged, or decisions on each made into one (V17 §5).

What averaging over splits of the same documents leaves of an error.

On one split a difference d has variance V over documents (and topics, where the claim is about more than these). Part
of that is the split's own: another split of the same documents would have given another d. By the law of total
variance the mean over J splits has

    Var(mean of d) = V - (1 - 1/J) · B,    B = Var(d | documents),

as in within-cluster resampling, where each draw is a valid analysis by itself (Hoffman, Sen & Weinberg 2001; Follmann,
Proschan & Leifer 2003). B is the part that re-splitting removes; V - B is the part that it cannot. Every split
estimates V, and the spread of d over splits estimates B, of each pair from J values only: what all pairs share is the
ratio B / V (on 143 runs of TREC-COVID eight pairs of ten lie within a third of it), so that this is what is estimated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np
import scipy

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.shown import Note
from shardwise.methods.pairs import ARRAYS, Means, Pairs, student_pairs
from shardwise.methods.tables import read_table
from shardwise.stats import corrections
from shardwise.stats.corrections import STEPWISE

MOST = (
    0.5  # of V that may be taken off: where splits are nearly all of the error, V - B is a small difference
)


def removable_share(difference: Floats, variance: Floats) -> Floats:
    """Return the share of the variance of differences on one split that is the split's own, B / V.

    >>> float(removable_share(np.array([[0.1], [0.3]]), np.array([[0.05], [0.03]])).round(3))
    0.5
    """
    between = difference.var(axis=0, ddof=1).sum(axis=-1)
    whole = np.broadcast_to(variance, difference.shape).mean(axis=0).sum(axis=-1)
    share = np.divide(between, whole, out=np.zeros_like(whole), where=whole > 0.0)
    return np.asarray(np.clip(share, 0.0, 1.0))


def remaining_share(share: Floats, splits: int) -> Floats:
    """Return the share of the variance that the mean over splits leaves; never less than half of what none removed.

    >>> float(remaining_share(np.array(0.2), 5).round(2)), float(remaining_share(np.array(1.0), 10).round(2))
    (0.84, 0.55)
    """
    return np.asarray(1.0 - (1.0 - 1.0 / splits) * np.minimum(share, MOST))


def satterthwaite_df(df: Any, share: Floats, splits: int, systems: int) -> Floats:
    """Return Satterthwaite's degrees of freedom of V - (1 - 1/J) B.

    Splits of the same documents are no new evidence on V, which keeps the degrees of freedom of one split.
    """
    taken = 1.0 - remaining_share(share, splits)
    return np.asarray((1.0 - taken) ** 2 / (1.0 / np.asarray(df) + taken**2 / ((splits - 1) * (systems - 1))))


def splits_enough(share: float, *, p: float = 0.001, factor: float = 2.0, sets: int = 20) -> int:
    """Number of splits after which a p-value no longer depends on which they are.

    The smallest J with which, for a pair of this p-value, the largest p-value from several independent sets of J splits
    is less than ``factor`` times the smallest, with probability .95. Over sets of splits t = d / sqrt(V) has the
    variance B / (J V - (J - 1) B), and log p falls by φ(t) / (1 - Φ(t)) with t.

    >>> [splits_enough(share) for share in (0.0, 0.01, 0.13)]
    [1, 7, 99]
    """
    t = scipy.stats.norm.isf(p / 2.0)
    slope = scipy.stats.norm.pdf(t) / (p / 2.0)
    # the upper 5 % point of the range of so many standard normal numbers
    reach = float(scipy.stats.studentized_range.isf(0.05, sets, np.inf))
    variance = (log(factor) / (slope * reach)) ** 2
    return max(1, ceil(min(share, 1.0 - 1e-6) * (1.0 / variance - 1.0) / (1.0 - min(share, 1.0 - 1e-6))))


def in_words(share: float, splits: int) -> str:
    """Say what splits do to the error, and how many are enough.

    >>> print(in_words(0.13, 11))
    13% of the error of one split is the split's own; p-values to .001 are steady from 99 splits on, and these are 11
    """
    enough = splits_enough(share)
    have = f"and these are {splits}" if splits < enough else f"and {splits} are enough"
    percent = f"{100 * share:.0f}%" if share >= 0.01 or share == 0.0 else "less than 1%"
    many = f"{enough} splits on" if enough > 1 else "the first split on"
    return f"{percent} of the error of one split is the split's own; p-values to .001 are steady from {many}, {have}"


Test = Callable[[Ints, Ints], Pairs]


class SplitRule(NamedTuple):
    """A way of making one answer of several splits.

    Parameters
    ----------
    title : str
        The rule in words, before a colon.
    text : str
        The sentence of the methods paragraph; ``{n}`` stands for the number of splits.
    citations : tuple of str
        Keys of its sources.
    scope : str
        What the claim says of the splits.
    """

    title: str
    text: str
    citations: tuple[str, ...] = ()
    scope: str = ""


RULES = {name: SplitRule(**row) for name, row in read_table("splits").items()}
"""How several splits become one answer, by name; without a name the method takes all splits at once."""
COMBINED = {
    "harmonic": corrections.harmonic_mean_p,
    "cauchy": corrections.cauchy_p,
    "quantile": corrections.quantile_p,
}
"""Rules that combine uncorrected p-values, which are corrected afterwards."""


def combine_p_values(
    rule: str, p: Floats, p_adjusted: Floats, agrees: Bools, correction: str
) -> tuple[Floats, Floats]:
    """Combine the p-values of several splits.

    A split that has a pair the other way round than the mean of all is no evidence: its p-values count as 1.
    """
    p, p_adjusted = (np.where(agrees, values, 1.0) for values in (p, p_adjusted))
    if rule in COMBINED:
        combined = COMBINED[rule](p)
        return combined, STEPWISE[correction].adjust(combined)
    # the p-value that as many splits as are needed do not exceed
    rank = len(p) - 1 if rule == "unanimous" else len(p) // 2
    return np.sort(p, axis=0)[rank], np.sort(p_adjusted, axis=0)[rank]


def combine_pairs(rule: str, each: Pairs, splits: int, correction: str) -> Pairs:
    """Make (B, P) pairs of the (B · J, P) corrected ones of single splits, those of a table next to each other."""
    difference, p, p_adjusted = (_by_split(x, splits) for x in (each.difference, each.p, each.p_adjusted))
    mean = difference.mean(axis=0)
    agrees = np.where(mean >= 0.0, difference >= 0.0, difference < 0.0)
    p, p_adjusted = combine_p_values(rule, p, p_adjusted, agrees, correction)
    nothing = np.full(mean.shape, np.nan)
    combined = Pairs(mean, nothing, nothing, nothing, p)
    return replace(combined, correction=correction, p_adjusted=p_adjusted, systems=each.systems)


def average_pairs(test: Test, splits: int, share: Floats, systems: int, ia: Ints, ib: Ints) -> Pairs:
    """Test the differences of B · J tables averaged over the J splits of each, by Student's t; share (B,) removable."""
    each = test(ia, ib)
    d, v, df = (
        _by_split(np.broadcast_to(x, each.difference.shape), splits).mean(axis=0)
        for x in (each.difference, each.se**2, each.df)
    )
    se = np.sqrt(v * remaining_share(share[:, None], splits))
    df = satterthwaite_df(df, share[:, None], splits, systems)
    return replace(student_pairs(d, se, df), words=each.words)


def average_splits(estimates: Means, splits: int) -> Means:
    """Average the estimates of B · J tables, the J splits of a table next to each other, into those of B.

    >>> one = Means(("x", "y"), np.array([[0.3, 0.1], [0.4, 0.1]]), np.full(2, 0.01), np.full(2, 98.0), "")
    >>> both = average_splits(one, 2)
    >>> both.values.round(3), both.variance.round(5)
    (array([[0.35, 0.1 ]]), array([0.00875]))
    """
    r, tables = estimates.size, len(estimates.values)
    ia, ib = np.triu_indices(r, 1)
    difference = estimates.values[:, ia] - estimates.values[:, ib]
    spread = (estimates.pairs or estimates.test_by_variance)(ia, ib).se ** 2
    share = removable_share(
        _by_split(difference, splits), _by_split(np.broadcast_to(spread, difference.shape), splits)
    )

    def average(array: Any) -> Floats:
        whole = np.broadcast_to(np.asarray(array, np.float64), (tables, *np.shape(array)[1:]))
        return np.asarray(_by_split(whole, splits).mean(axis=0))

    def align_share(array: Floats) -> Floats:
        return share.reshape(-1, *(1,) * (array.ndim - 1))

    means = estimates.apply(average)
    pairs = None if estimates.pairs is None else partial(average_pairs, estimates.pairs, splits, share, r)
    words = (Note(in_words(float(share[0]), splits), "splits"),) if len(share) == 1 else ()
    return replace(
        means,
        variance=means.variance * remaining_share(align_share(means.variance), splits),
        df=satterthwaite_df(means.df, align_share(means.df), splits, r),
        pairs=pairs,
        notes=(*estimates.notes, *words),
    )


def stack_means(each: list[Means]) -> Means:
    """Return the means of single tables as those of many, for fits that take tables with gaps one by one."""
    notes = tuple(dict.fromkeys(note for means in each for note in means.notes))
    if len({np.ndim(means.variance) for means in each}) > 1:
        each = [replace(means, variance=means.variance_of_differences()) for means in each]
    joined: dict[str, Any] = {
        name: np.concatenate([np.atleast_1d(getattr(means, name)) for means in each])
        for name in ARRAYS
        if getattr(each[0], name) is not None
    }
    return replace(each[0], **joined, notes=notes)


def pool_splits(estimates: Means, splits: int, topic_means: Floats) -> Means:
    """Average the means of B · J tables where decisions on splits are combined, which leaves no variance of a mean."""
    values, scale = (
        _by_split(np.asarray(x, np.float64), splits).mean(axis=0) for x in (estimates.values, estimates.scale)
    )
    counts = np.isfinite(topic_means).sum(axis=1).astype(np.float64)
    return Means(
        labels=estimates.labels,
        values=values,
        claim=estimates.claim,
        error=estimates.error,
        scale=scale,
        own_sd=np.nanstd(topic_means, axis=1, ddof=1),
        own_count=counts,
        notes=estimates.notes,
    )


def stack_pairs(each: list[Pairs]) -> Pairs:
    """Return corrected pairs of single tables as those of many."""
    shape = np.broadcast_shapes(*(pairs.difference.shape for pairs in each))
    difference, p, p_adjusted = (
        np.concatenate([np.broadcast_to(getattr(pairs, name), shape) for pairs in each])
        for name in ("difference", "p", "p_adjusted")
    )
    nothing = np.full(difference.shape, np.nan)
    return replace(
        each[0], difference=difference, se=nothing, df=nothing, statistic=nothing, p=p, p_adjusted=p_adjusted
    )


def _by_split(x: Floats, splits: int) -> Floats:
    """(J, B, …) out of (B · J, …)."""
    return np.moveaxis(x.reshape(-1, splits, *x.shape[1:]), 1, 0)
