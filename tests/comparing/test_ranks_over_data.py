"""Friedman's test, Nemenyi's and Conover's comparisons, and standardised scores, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import shardwise as sw


def make_scores(ties: bool = False) -> np.ndarray:
    y = np.random.default_rng(4).normal(size=(14, 5)) + np.linspace(0.0, 1.5, 5)
    return y.round(0 if ties else 6)


@pytest.mark.parametrize("ties", [False, True])
def test_friedman_agrees_with_scipy(ties: bool) -> None:
    y = make_scores(ties)
    fit = sw.rankings.rank_systems(y)
    expected = scipy.stats.friedmanchisquare(*y.T)
    assert fit.statistic == pytest.approx(expected.statistic, abs=1e-10)
    # Iman and Davenport's F is what the analysis of variance of ranks has
    f = 13 * expected.statistic / (14 * 4 - expected.statistic)
    assert fit.p == pytest.approx(scipy.stats.f.sf(f, 4, 52))


def test_nemenyi_is_the_studentized_range_of_mean_ranks() -> None:
    fit = sw.rankings.rank_systems(make_scores())
    pairs = sw.compare(fit, "hsd")
    q = np.abs(pairs.difference) / np.sqrt(5 * 6 / (12 * 14))
    np.testing.assert_allclose(pairs.p_adjusted, scipy.stats.studentized_range.sf(q, 5, np.inf), atol=1e-6)
    # Demšar's table: q at 0.05 of five systems is 2.728
    assert pairs.critical_difference() == pytest.approx(2.728 * np.sqrt(5 * 6 / (6 * 14)), rel=1e-3)
    assert pairs.names[0] == fit.mean_ranks.index[0]
    assert pairs.plot("cd") is not None


def test_conover_by_hand() -> None:
    y = make_scores(ties=True)
    fit = sw.rankings.rank_systems(y)
    pairs = sw.compare(fit, "none", test="conover")
    ranks = scipy.stats.rankdata(-y, axis=1)
    sums, n, k = ranks.sum(axis=0), 14, 5
    squares = (ranks**2).sum()
    # Conover (1999), eq. 5.8.6 in terms of sums of ranks
    error = 2 * (n * squares - (sums**2).sum()) / ((n - 1) * (k - 1))
    np.testing.assert_allclose(pairs.se, np.full(10, np.sqrt(error) / n), rtol=1e-9)
    assert set(pairs.df) == {52.0}
