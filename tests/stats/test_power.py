"""Power of the moderated test: by resampling, and by scipy's noncentral t."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from moderated_by_hand import moderated_t
from shardwise.stats.power import largest_t, moderated_df, pilot_power
from shardwise.stats.stepdown import find_critical


def test_degrees_of_freedom_between_own_and_pooled() -> None:
    w, df = moderated_df(50.0, 10)
    assert w == pytest.approx(49 / 69)
    assert 49.0 < df < 49.0 * 9
    assert moderated_df(50.0, 10, prior_df=0.0)[1] == pytest.approx(49.0)
    assert moderated_df(50.0, 10, prior_df=1e12)[1] == pytest.approx(49.0 * 9)


def test_largest_statistics_by_plain_resampling() -> None:
    y = np.random.default_rng(1).normal(size=(20, 4))
    y -= y.mean(axis=0)
    found = largest_t(y, np.random.default_rng(8), 50)
    rng = np.random.default_rng(8)
    weights = rng.multinomial(20, np.full(20, 0.05), size=50)
    for k in range(50):
        again = np.abs(moderated_t(np.repeat(y, weights[k], axis=0))).max()
        assert found[k] == pytest.approx(again, rel=1e-9)


def test_planning_with_and_without_a_pilot_agree_for_normal_scores() -> None:
    """studentized_range of scipy for the critical value; the pilot is large enough to be its own distribution."""
    rng = np.random.default_rng(3)
    pilot = rng.normal(size=(4000, 5))
    topics = 40
    _, df = moderated_df(float(topics), 5)
    critical = stats.studentized_range.ppf(0.95, 5, float(df)) / np.sqrt(2)
    sizes = np.array([0.3, 0.6, 0.9])
    closed = stats.nct.sf(critical, float(df), sizes / np.sqrt(2.0 / topics))
    found = pilot_power(pilot, np.array([0, 1]), np.array([1, 2]), sizes, topics, rng)
    assert found.critical == pytest.approx(critical, rel=0.04)
    assert found.power == pytest.approx(np.tile(closed, (2, 1)), abs=0.05)


def test_resampled_critical_value_of_a_table() -> None:
    """Of two systems it is the bootstrap-t, near Student's for normal scores."""
    y = np.random.default_rng(5).normal(size=(60, 2))
    found = find_critical(np.sort(largest_t(y - y.mean(axis=0), np.random.default_rng(1), 3999)), 0.05)
    assert found == pytest.approx(stats.t.isf(0.025, 59), rel=0.08)
