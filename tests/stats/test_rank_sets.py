"""Rank ranges of single systems, and systems that are far more variable than the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwise.stats.rank_sets import (
    moderated_t,
    noise_factors,
    own_variability,
    pair_variances,
    resample_rank_sets,
    step_down_one_sided,
    upper_quantile,
)


def draws(topics: int, count: int, seed: int = 1) -> np.ndarray:
    chances = np.full(topics, 1.0 / topics)
    return np.random.default_rng(seed).multinomial(topics, chances, size=count).astype(float)


@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
def test_variances_of_differences(seed: int, systems: int) -> None:
    y = np.random.default_rng(seed).normal(size=(9, systems))
    found = pair_variances(y)
    for a in range(systems):
        for b in range(systems):
            assert found[a, b] == pytest.approx((y[:, a] - y[:, b]).var(ddof=1), abs=1e-12)


def test_own_variability_adds_up() -> None:
    own = np.array([0.1, 0.4, 0.2, 3.0, 0.3])
    pairs = np.add.outer(own, own) * (1 - np.eye(5))
    assert own_variability(pairs) == pytest.approx(own)
    assert noise_factors(pairs) == pytest.approx(np.sqrt(own / 0.3))


def test_a_noisy_system_is_seen_and_a_calm_table_is_not_blamed() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=(200, 5)) * np.array([1.0, 1.0, 1.0, 1.0, 5.0])
    factors = noise_factors(pair_variances(y))
    assert factors[4] == pytest.approx(5.0, rel=0.2)
    assert (factors[:4] < 2.0).all()
    assert noise_factors(pair_variances(np.zeros((5, 4)))).tolist() == [0.0] * 4
    assert noise_factors(pair_variances(y[:, :2])).tolist() == [0.0, 0.0]
    # two copies of one system: nothing typical to compare with
    assert noise_factors(pair_variances(np.stack([y[:, 0], y[:, 0], y[:, 0], y[:, 1]], axis=1))).max() == 0.0


def test_quantile_counts_the_table_itself() -> None:
    values = np.arange(1.0, 100.0)
    assert upper_quantile(values, 0.05) == 95.0
    assert upper_quantile(values, 0.001) == 99.0


def test_steps_down() -> None:
    """The first step takes out a far statistic, after which its draws no longer raise the bar."""
    rng = np.random.default_rng(3)
    drawn = rng.normal(size=(1999, 2)) * np.array([5.0, 1.0])
    above, below = step_down_one_sided(np.array([20.0, -3.0]), drawn, 0.05)
    assert above.tolist() == [True, False]
    assert below.tolist() == [False, False]
    above, below = step_down_one_sided(np.array([200.0, -30.0]), drawn, 0.05)
    assert below.tolist() == [False, True]


def test_ranks_of_separate_systems_are_points() -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(0, 0.05, (40, 4)) + np.array([0.0, 1.0, 2.0, 3.0])
    first, last = resample_rank_sets(y, moderated_t(y), draws(40, 499))
    assert first.tolist() == last.tolist() == [4.0, 3.0, 2.0, 1.0]


@pytest.mark.parametrize("systems", [2, 3])
def test_ranks_are_bounded_by_moderated_t_of_resampled_tables(systems: int) -> None:
    """With few topics, variances over n in place of n - 1 would move the limit by a tenth."""
    y = np.random.default_rng(11).normal(size=(6, systems))
    weights = draws(6, 99, seed=12)
    largest = np.zeros(99)
    for k, weight in enumerate(weights.astype(int)):
        table = np.repeat(y, weight, axis=0)
        variances = pair_variances(table)
        pooled = variances[np.triu_indices(systems, 1)].mean()
        for b in range(1, systems):
            moderated = (5 * variances[0, b] + 20 * pooled) / 25
            shift = (table[:, 0] - table[:, b]).mean() - (y[:, 0] - y[:, b]).mean()
            if moderated > 0.0:
                largest[k] = max(largest[k], abs(shift) / np.sqrt(moderated / 6))
    limit = upper_quantile(largest, 0.05)
    for share, expected in ((0.999, systems), (1.001, systems - 1)):
        t = np.zeros((systems, systems))
        t[0, 1], t[1, 0] = share * limit, -share * limit
        first, last = resample_rank_sets(y, t, weights)
        assert (first[0], last[0]) == (1.0, expected)


def test_statistics_are_those_of_the_moderated_test() -> None:
    y = np.random.default_rng(5).normal(size=(30, 4))
    t = moderated_t(y)
    variances = pair_variances(y)
    pooled = variances[np.triu_indices(4, 1)].mean()
    v = (29 * variances[0, 2] + 20 * pooled) / 49
    assert t[0, 2] == pytest.approx((y[:, 0] - y[:, 2]).mean() / np.sqrt(v / 30))
    assert t == pytest.approx(-t.T)


@pytest.mark.calibration
def test_each_range_holds_the_rank(repetitions: float) -> None:
    """Four equal systems and a better one: the better one is first in 95 % of its ranges."""
    size = int(150 * repetitions)
    rng = np.random.default_rng(6)
    missed = 0
    for k in range(size):
        y = rng.normal(size=(30, 5)) + np.array([0.4, 0.0, 0.0, 0.0, 0.0])
        first, _ = resample_rank_sets(y, moderated_t(y), draws(30, 399, seed=k))
        missed += bool(first[0] > 1.0)
    assert missed / size < 0.05 + 3 * np.sqrt(0.05 / size)
