"""Systems that are far more variable than the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwise.stats.moderation import (
    noise_factors,
    own_variability,
    pair_variances,
)


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
