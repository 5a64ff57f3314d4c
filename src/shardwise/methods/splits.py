"""Combine several splits of the documents: estimates averaged, or decisions on each made into one (V17 §5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.shown import Note
from shardwise.methods.base import NUMBERS, SQUARES, VECTORS, Estimates
from shardwise.methods.decisions import Decisions
from shardwise.methods.pairs import Pairs, student_pairs
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

    Parameters
    ----------
    rule : str
        "unanimous", "majority", or one of `COMBINED`.
    p, p_adjusted : arrays
        (J, …, P) p-values of each split, uncorrected and corrected.
    agrees : array of bool
        (J, …, P) whether the split has the pair in the order of the mean of all.
    correction : str
        The correction of combined p-values.

    Returns
    -------
    tuple of arrays
        (…, P) uncorrected and corrected p-values.
    """
    p = corrections.direct_p(p, agrees)
    if rule in COMBINED:
        combined = COMBINED[rule](p)
        return combined, STEPWISE[correction].adjust(combined)
    needed = len(p) if rule == "unanimous" else len(p) // 2 + 1
    return corrections.agreed_p(p, needed), corrections.agreed_p(
        corrections.direct_p(p_adjusted, agrees), needed
    )


def combine_decisions(rule: str, each: Decisions, splits: int, correction: str) -> Decisions:
    """Make one decision on each pair of those on single splits.

    Parameters
    ----------
    rule : str
        As for `combine_p_values`.
    each : Decisions
        (B · J, P) decisions, the J splits of a table next to each other.
    splits : int
        Number of splits, J.
    correction : str
        The correction of combined p-values.

    Returns
    -------
    Decisions
        (B, P) decisions.
    """
    difference, p, p_adjusted = (_by_split(x, splits) for x in (each.difference, each.p, each.p_adjusted))
    mean = difference.mean(axis=0)
    agrees = np.where(mean >= 0.0, difference >= 0.0, difference < 0.0)
    p, p_adjusted = combine_p_values(rule, p, p_adjusted, agrees, correction)
    nothing = np.full(mean.shape, np.nan)
    return Decisions(Pairs(mean, nothing, nothing, nothing, p), p_adjusted, correction, each.systems)


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


def average_splits(estimates: Estimates, splits: int) -> Estimates:
    """Average the estimates of B · J tables, the J splits of a table next to each other, into those of B.

    Parameters
    ----------
    estimates
        Estimates with variances, or with a test that has standard errors.
    splits
        Number of splits, J.

    >>> one = Estimates(("x", "y"), np.array([[0.3, 0.1], [0.4, 0.1]]), np.full(2, 0.01), np.full(2, 98.0), "")
    >>> both = average_splits(one, 2)
    >>> both.values.round(3), both.variance.round(5)
    (array([[0.35, 0.1 ]]), array([0.00875]))
    """
    r = estimates.size
    ia, ib = np.triu_indices(r, 1)
    difference = estimates.values[:, ia] - estimates.values[:, ib]
    spread = estimates.pair_spread(ia, ib)[0] if estimates.test is None else estimates.test(ia, ib).se ** 2
    share = removable_share(
        _by_split(difference, splits), _by_split(np.broadcast_to(spread, difference.shape), splits)
    )

    def average(array: Any) -> Floats:
        whole = np.broadcast_to(np.asarray(array, np.float64), (len(estimates.values), *np.shape(array)[1:]))
        return np.asarray(_by_split(whole, splits).mean(axis=0))

    def shrink(variance: Floats) -> Floats:
        return np.asarray(variance * remaining_share(_align_shares(share, variance), splits))

    def combine_df(df: Floats) -> Floats:
        return satterthwaite_df(df, _align_shares(share, df), splits, r)

    means = estimates.map_arrays(average, average, average)
    variances, freedom = means.difference_variance, means.difference_df
    test = None if estimates.test is None else partial(average_pairs, estimates.test, splits, share, r)
    notes = (
        *estimates.notes,
        *((Note(in_words(float(share[0]), splits), "splits"),) if len(share) == 1 else ()),
    )
    return replace(
        means,
        variance=shrink(means.variance),
        df=combine_df(means.df),
        difference_variance=None if variances is None else shrink(variances),
        difference_df=None if freedom is None else combine_df(freedom),
        test=test,
        notes=notes,
    )


def stack_estimates(each: list[Estimates]) -> Estimates:
    """Estimates of single tables as those of many, for fits that take tables with gaps one by one."""
    notes = tuple(dict.fromkeys(note for e in each for note in e.notes))
    joined: dict[str, Any] = {
        name: np.concatenate([np.atleast_1d(getattr(e, name)) for e in each])
        for name in (*NUMBERS, *VECTORS, *SQUARES)
        if getattr(each[0], name) is not None
    }
    return replace(each[0], **joined, notes=notes)


def pool_splits(estimates: Estimates, splits: int, topic_means: Floats) -> Estimates:
    """Average the means of B · J tables where decisions on splits are combined, which leaves no variance of a mean.

    Parameters
    ----------
    estimates : Estimates
        Of single splits, the J splits of a table next to each other.
    splits : int
        Number of splits, J.
    topic_means : array
        (B, T, R) scores by topic and system, averaged over splits and shards.

    Returns
    -------
    Estimates
        Means with the spread of each system's own topics.
    """
    values, scale = (
        _by_split(np.asarray(x, np.float64), splits).mean(axis=0) for x in (estimates.values, estimates.scale)
    )
    counts = np.isfinite(topic_means).sum(axis=1).astype(np.float64)
    return Estimates(
        labels=estimates.labels,
        values=values,
        claim=estimates.claim,
        error=estimates.error,
        scale=scale,
        own_sd=np.nanstd(topic_means, axis=1, ddof=1),
        own_count=counts,
        notes=estimates.notes,
    )


def stack_decisions(each: list[Decisions]) -> Decisions:
    """Return decisions on single tables as those on many."""

    def join_values(values: list[Floats]) -> Floats:
        shape = np.broadcast_shapes(*(value.shape for value in values))
        return np.concatenate([np.broadcast_to(value, shape) for value in values])

    difference, p, p_adjusted = (
        join_values([getattr(decisions, name) for decisions in each])
        for name in ("difference", "p", "p_adjusted")
    )
    nothing = np.full(difference.shape, np.nan)
    pairs = Pairs(difference, nothing, nothing, nothing, p)
    return Decisions(pairs, p_adjusted, each[0].correction, each[0].systems)


def _by_split(x: Floats, splits: int) -> Floats:
    """(J, B, …) out of (B · J, …)."""
    return np.moveaxis(x.reshape(-1, splits, *x.shape[1:]), 1, 0)


def _align_shares(share: Floats, like: Floats) -> Floats:
    """Shares of tables with axes as an array of them has."""
    return share.reshape(-1, *(1,) * (like.ndim - 1))
