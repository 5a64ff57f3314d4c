"""Residual charts: the quantiles of the normal distribution, and every score counted once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from report_pages import simulated
from shardwise.core.model import MD3, MD6
from shardwise.methods.anova.fit import anova
from shardwise.plot.fits import normal_quantiles, residual_chart


@pytest.mark.parametrize("n", [5, 200, 20_000])
def test_quantiles_are_those_of_the_normal_distribution(n: int) -> None:
    residuals = np.random.default_rng(1).normal(3, 2, n)
    expected, found = normal_quantiles(residuals)
    assert len(expected) <= 200
    assert (np.diff(expected) > 0).all()
    assert found[0] == pytest.approx((residuals.min() - residuals.mean()) / residuals.std())
    assert found[-1] == pytest.approx((residuals.max() - residuals.mean()) / residuals.std())
    if n == 5:
        assert np.allclose(expected, stats.norm.ppf((np.arange(5) + 0.5) / 5))
    if n == 20_000:
        middle = np.abs(expected) < 2
        assert np.abs(expected - found)[middle].max() < 0.05


@pytest.mark.parametrize("holes", [0.0, 0.05])
def test_every_score_is_counted(holes: float) -> None:
    scores = simulated(4, holes=holes)
    drawn = residual_chart(anova(scores, MD6 if holes == 0 else MD3)).to_dict()
    counted = [
        sum(row["n"] for row in rows) for rows in drawn["datasets"].values() if rows and "n" in rows[0]
    ]
    assert counted == [int(scores.notnull().sum())]
