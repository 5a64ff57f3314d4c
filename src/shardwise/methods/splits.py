"""Estimates of several splits averaged into one, with the variance that averaging leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.methods.base import Estimates, Outcome, PairTest
from shardwise.stats import student
from shardwise.stats.resplitting import freedom, in_words, left, removable

ARRAYS = ("values", "difference_variance", "difference_df", "own_sd", "own_count", "topic_sd")
NUMBERS = ("variance", "df", "scale")


@dataclass(frozen=True, slots=True, eq=False)
class AveragedTest:
    """A test of pairs on every split, its differences averaged."""

    test: PairTest  # of B · J tables, the splits of a table next to each other
    splits: int
    share: Floats  # (B,) removable share
    systems: int

    @property
    def name(self) -> str:
        """What test this is, in words."""
        return self.test.name

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the averaged differences by Student's t."""
        found = self.test.outcome(ia, ib)
        shape = found.difference.shape
        d, v, df = (
            _by_split(np.broadcast_to(x, shape), self.splits).mean(axis=0)
            for x in (found.difference, found.se**2, found.df)
        )
        share = self.share[:, None]
        se = np.sqrt(v * left(share, self.splits))
        df = freedom(df, share, self.splits, self.systems)
        t = student.t_statistic(d, se)
        return Outcome(d, se, df, t, student.two_sided(t, df))


def averaged(found: Estimates, splits: int) -> Estimates:
    """Average the estimates of B · J tables, the J splits of a table next to each other, into those of B.

    Parameters
    ----------
    found
        Estimates with variances, or with a test that has standard errors.
    splits
        Number of splits, J.

    >>> one = Estimates(("x", "y"), np.array([[0.3, 0.1], [0.4, 0.1]]), np.full(2, 0.01), np.full(2, 98.0), "")
    >>> both = averaged(one, 2)
    >>> both.values.round(3), both.variance.round(5)
    (array([[0.35, 0.1 ]]), array([0.00875]))
    """
    r = found.size
    ia, ib = np.triu_indices(r, 1)
    difference = found.values[:, ia] - found.values[:, ib]
    spread = found.pair_spread(ia, ib)[0] if found.test is None else found.test.outcome(ia, ib).se ** 2
    share = removable(
        _by_split(difference, splits), _by_split(np.broadcast_to(spread, difference.shape), splits)
    )
    means: dict[str, Any] = {}
    for name in (*ARRAYS, *NUMBERS):
        value = getattr(found, name)
        if value is not None:
            whole = np.broadcast_to(np.asarray(value, np.float64), (len(found.values), *np.shape(value)[1:]))
            means[name] = _by_split(whole, splits).mean(axis=0)
    for name in ("variance", "difference_variance"):
        if name in means:
            means[name] = means[name] * left(_spread(share, means[name]), splits)
    for name in ("df", "difference_df"):
        if name in means:
            means[name] = freedom(means[name], _spread(share, means[name]), splits, r)
    test = None if found.test is None else AveragedTest(found.test, splits, share, r)
    notes = (*found.notes, *((in_words(float(share[0]), splits),) if len(share) == 1 else ()))
    return replace(found, **means, test=test, notes=notes)


def stacked(each: list[Estimates]) -> Estimates:
    """Estimates of single tables as those of many, for fits that take tables with gaps one by one."""
    first = each[0]
    joined: dict[str, Any] = {
        name: np.concatenate([np.asarray(getattr(e, name)) for e in each])
        for name in ARRAYS
        if getattr(first, name) is not None
    }
    joined |= {name: np.concatenate([np.atleast_1d(getattr(e, name)) for e in each]) for name in NUMBERS}
    notes = tuple(dict.fromkeys(note for e in each for note in e.notes))
    return replace(first, **joined, notes=notes)


def _by_split(x: Floats, splits: int) -> Floats:
    """(J, B, …) out of (B · J, …)."""
    return np.moveaxis(x.reshape(-1, splits, *x.shape[1:]), 1, 0)


def _spread(share: Floats, like: Floats) -> Floats:
    """Shares of tables with axes as an array of them has."""
    return share.reshape(-1, *(1,) * (like.ndim - 1))
