"""Shapes of distributions and correlations of ranks beside scipy's."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shardwise as sw
from shardwise.stats.shape import excess_kurtosis, mean_ranks, rank_correlation, skewness

NUMBERS = st.lists(st.integers(-9, 9), min_size=3, max_size=40).filter(lambda x: len(set(x)) > 1)


@given(NUMBERS, st.randoms(use_true_random=False))
def test_they_are_those_of_scipy(numbers: list[int], random: Random) -> None:
    x = np.array(numbers) / 7.0
    assert np.isclose(skewness(x), stats.skew(x), rtol=1e-10, atol=1e-10)
    assert np.isclose(excess_kurtosis(x), stats.kurtosis(x), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(mean_ranks(x), stats.rankdata(x))
    other = list(numbers)
    random.shuffle(other)
    y = np.array(other, dtype=float)
    assert np.isclose(rank_correlation(x, y), stats.spearmanr(x, y).statistic, rtol=1e-12, atol=1e-12)


def test_residuals_of_one_size_go_with_nothing() -> None:
    assert rank_correlation(np.full(4, 0.125), np.arange(4.0)) == 0.0
    four = np.array(
        [[0.5, 0.75], [0.625, 0.375], [0.25, 0.5], [1.0, 0.75]]
    )  # whose residuals are 1/8 or -1/8
    assert sw.analyze(sw.as_scores(four)).residuals.fanning == 0.0
