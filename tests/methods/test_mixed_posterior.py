"""Posteriors and highest-density intervals: against bambi and PyMC, Student's distribution, and each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.methods.mixed.balanced import Order, draw_ordered, draw_weighted
from shardwise.methods.mixed.fit import MixedFit, mixed
from shardwise.methods.mixed.posterior import Mixture, posterior

GOLD = Path(__file__).parent.parent / "gold"
SD = (0.2, 0.1, 0.03, 0.08)
TREE = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 1.0, 0.0, -1.0], [0.0, 0.0, 1.0, -1.0]])


def draws(n: int, seed: int) -> Floats:
    """The generator of tests/gold/mixed_bambi.py."""
    x, out = seed, np.empty(n)
    for k in range(n):
        total = 0.0
        for _ in range(4):
            x = 16807 * x % 2147483647
            total += x / 2147483647
        out[k] = total - 2
    return np.asarray(out * np.sqrt(3))


def fitted(design: str, m: int = 10, n: int = 50, seed: int | None = None) -> MixedFit:
    nested = design == "nested"
    own = 2 * m if nested else m
    z = draws(n + 2 * n + own + 2 * m * n, seed or (31 if nested else 32))
    t, s, i, e = np.split(z, np.cumsum([n, 2 * n, own]))
    y = 0.4 + 0.01 * np.arange(2)[:, None, None] + SD[0] * t + SD[1] * s.reshape(2, 1, n)
    y = y + SD[2] * i.reshape(2 if nested else 1, m, 1) + SD[3] * e.reshape(2, m, n)
    return mixed(xr.DataArray(y, dims=("system", "instance", "topic")), "nested" if nested else "crossed")


@pytest.mark.parametrize("design", ["nested", "crossed"])
def test_intervals_agree_with_bambi(design: str) -> None:
    gold = pd.read_csv(GOLD / "mixed_hpd.csv")
    distribution = posterior(fitted(design)).difference("1", "0")
    for row in gold[gold["case"] == design].itertuples():
        assert row.rhat < 1.01
        # an end of an interval has about twice the Monte-Carlo error of a mean; priors differ a little besides
        error = 4 * 2 * row.sd / np.sqrt(row.ess) + 0.02 * row.sd
        assert distribution.mean == pytest.approx(row.mean, abs=error)
        assert distribution.interval(row.level) == pytest.approx((row.lower, row.upper), abs=error)


def test_crossed_difference_is_students_distribution() -> None:
    """A single line, far above the residual: its φ is an inverse χ², so the difference has Student's distribution."""
    fit = fitted("crossed")
    low, high = posterior(fit, draws=40_000, seed=2).difference("1", "0").interval(0.95)
    half = stats.t.isf(0.025, 49) * np.sqrt(fit.difference_variance[0, 1])
    centre = fit.values[1] - fit.values[0]
    assert (low, high) == pytest.approx((centre - half, centre + half), abs=0.01 * half)


def test_averaged_distributions_are_steadier_than_sorted_draws() -> None:
    fit = fitted("nested")
    ends, sorted_ends = [], []
    for seed in range(12):
        found = posterior(fit, draws=2_000, seed=seed)
        distribution = found.difference("0", "1")
        ends.append(distribution.interval(0.95)[0])
        rng = np.random.default_rng(seed)
        sorted_ends.append(
            np.quantile(distribution.centres + distribution.scales * rng.normal(size=2_000), 0.025)
        )
    assert np.std(ends) < np.std(sorted_ends) / 3


@pytest.mark.parametrize("design", ["nested", "crossed"])
def test_importance_sampling_agrees_with_exact_draws(design: str) -> None:
    fit = fitted(design, m=4, n=15, seed=5)
    exact, general = posterior(fit), posterior(replace(fit, balanced=None), draws=600)
    one, two = (found.difference("0", "1") for found in (exact, general))
    width = one.interval(0.9)[1] - one.interval(0.9)[0]
    assert 1.0 / (two.weights**2).sum() > 250
    assert two.interval(0.9) == pytest.approx(one.interval(0.9), abs=0.03 * width)
    tables = exact.components_table(0.8), general.components_table(0.8)
    np.testing.assert_allclose(tables[0]["sd"], tables[1]["sd"], rtol=0.12)


def test_one_lost_score_changes_little() -> None:
    fit = fitted("nested", m=4, n=15, seed=5)
    y = fit.data.y.reshape(2, 4, 15).copy()
    y[0, 1, 2] = np.nan
    lost = mixed(xr.DataArray(y, dims=("system", "instance", "topic")))
    one = posterior(fit).difference("0", "1").interval(0.9)
    two = posterior(lost, draws=600).difference("0", "1").interval(0.9)
    assert two == pytest.approx(one, abs=0.06 * (one[1] - one[0]))


@pytest.mark.parametrize("ms", [(5.0, 2.0, 1.5, 1.0), (1.0, 2.0, 0.5, 1.0)])
def test_weights_and_rejection_draw_from_the_same_distribution(ms: tuple[float, ...]) -> None:
    df = np.array([9.0, 9.0, 6.0, 54.0])
    order = Order(np.array(ms) * df, df, TREE)
    one = draw_ordered(order, 5_000, np.random.default_rng(1))
    two = draw_weighted(order, 5_000, np.random.default_rng(2))
    assert ((two @ TREE.T) >= -1e-12).all()
    for k in range(4):
        assert stats.ks_2samp(one[:, k], two[::5, k]).pvalue > 1e-4


@pytest.mark.parametrize("instances", [0.2, 0.0])
def test_hopeless_orders_fall_back_on_weights(instances: float) -> None:
    df = np.array([40.0, 40.0, 40.0, 4000.0])
    ms = np.array([1.0, 1.0, instances, 1.0])
    phi = draw_ordered(Order(ms * df, df, TREE), 3_000, np.random.default_rng(1))
    assert phi.shape == (3_000, 4)
    assert ((phi @ TREE.T) >= -1e-12).all()
    if (
        not instances
    ):  # the distribution of φ_I beyond φ_E is Pareto's then: its median is 2^(2/ν) times the bound
        assert np.median(phi[:, 2] / phi[:, 3]) == pytest.approx(2 ** (2 / 40), rel=0.005)


@settings(max_examples=30)
@given(st.integers(0, 1_000), st.floats(0.51, 0.99))
def test_intervals_hold_their_probability_and_hpd_is_shortest(seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random(8)
    distribution = Mixture(
        rng.normal(0, 0.2, 8),
        rng.uniform(0.5, 1.5, 8),
        weights / weights.sum(),
        df=float(rng.integers(3, 30)),
    )
    (low, high), (left, right) = distribution.interval(level), distribution.interval(level, "equal-tailed")
    assert distribution.cdf(high) - distribution.cdf(low) == pytest.approx(level, abs=1e-9)
    assert distribution.cdf(right) - distribution.cdf(left) == pytest.approx(level, abs=1e-9)
    assert high - low <= right - left + 1e-6


def test_same_seed_same_draws() -> None:
    fit = fitted("nested", m=3, n=10)
    one, two, three = (posterior(fit, draws=500, seed=seed).variances for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)


def test_refusals() -> None:
    fit = fitted("nested", m=3, n=10)
    found = posterior(fit, draws=200)
    for names, message in ((("0", "x"), "unknown system 'x'"), (("0", "0"), "with itself")):
        with pytest.raises(InputError, match=message):
            found.difference(*names)
    with pytest.raises(InputError, match="too few"):
        posterior(fit, draws=5)
    with pytest.raises(InputError, match="unknown interval"):
        found.difference("0", "1").interval(0.9, "wide")
    with pytest.raises(InputError, match="not between 0"):
        found.difference("0", "1").interval(95)
