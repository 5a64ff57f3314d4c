"""Combine several splits of the documents: estimates averaged, or decisions on each made into one (V17 §5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.shown import Note
from shardwise.methods.pairs import ARRAYS, Means, Pairs, student_pairs
from shardwise.stats import corrections
from shardwise.stats.corrections import STEPWISE
from shardwise.stats.resplitting import in_words, remaining_share, removable_share, satterthwaite_df

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


RULES = {
    "": SplitRule("", "all scores are means over the {n} splits"),
    "mean": SplitRule(
        "mean over all splits",
        "differences are means over the {n} splits, with the variance of one split less the part that other splits of"
        " the same documents remove",
        ("HoffmanEtAl2001", "FollmannEtAl2003"),
    ),
    "first": SplitRule("the first split alone", "only the first of the {n} splits counts"),
    "unanimous": SplitRule(
        "different only if all splits agree",
        "a pair counts as different only if all {n} splits agree",
        ("VoorheesEtAl2017",),
        "in each of these {n} splits",
    ),
    "majority": SplitRule(
        "different if most splits agree",
        "a pair counts as different if most of the {n} splits agree",
        scope="in most of these {n} splits",
    ),
    "harmonic": SplitRule(
        "harmonic mean of the p-values of all splits",
        "a pair's p-value is the corrected harmonic mean of those of the {n} splits",
        ("VovkWang2020",),
        "for any of these {n} splits",
    ),
    "cauchy": SplitRule(
        "Cauchy combination of the p-values of all splits",
        "a pair's p-value is the Cauchy combination of those of the {n} splits",
        ("LiuXie2020",),
        "for any of these {n} splits",
    ),
    "quantile": SplitRule(
        "smallest corrected quantile of the p-values of all splits",
        "a pair's p-value is the smallest corrected quantile of those of the {n} splits",
        ("MeinshausenEtAl2009",),
        "for any of these {n} splits",
    ),
}
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
    p = corrections.direct_p(p, agrees)
    if rule in COMBINED:
        combined = COMBINED[rule](p)
        return combined, STEPWISE[correction].adjust(combined)
    needed = len(p) if rule == "unanimous" else len(p) // 2 + 1
    return corrections.agreed_p(p, needed), corrections.agreed_p(
        corrections.direct_p(p_adjusted, agrees), needed
    )


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
    spread = estimates.test_pairs(ia, ib).se ** 2
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
