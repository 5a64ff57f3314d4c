"""The ideal bootstrap: its characteristic function, inversion, tails, and small cases listed completely."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.distributions import (
    JOIN,
    Atoms,
    Draws,
    Inverted,
    Pool,
    enumerate_sums,
    find_quantiles,
    ideal_distribution,
    invert_characteristic,
    smooth_distribution,
)
from shardwise.methods.bootstrap.method import bootstrap_anova


def skewed(size: int, seed: int = 1) -> NDArray[np.float64]:
    return np.random.default_rng(seed).gamma(0.4, 0.1, size)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 400.0])
def test_characteristic_function_is_the_mean_of_exponentials(scale: float) -> None:
    pool = Pool.from_values(skewed(700))
    s = np.linspace(-1.0, 1.0, 41) * scale / pool.reach
    direct = np.exp(1j * s[:, None] * pool.values).mean(axis=1)
    np.testing.assert_allclose(pool.characteristic(s), direct, atol=3e-14)


def listed(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Effects and differences of all N^N bootstrap samples of topic + system, by plain two-way means."""
    topics, systems = table.shape
    fitted = table.mean(axis=1, keepdims=True) + table.mean(axis=0) - table.mean()
    residuals = (table - fitted).ravel()
    drawn = residuals[np.array(list(product(range(residuals.size), repeat=residuals.size)))]
    resampled = fitted + drawn.reshape(-1, topics, systems)
    effects = resampled.mean(axis=1) - resampled.mean(axis=(1, 2))[:, None]
    return effects, effects[:, 0] - effects[:, 1]


@pytest.mark.parametrize(
    "table",
    [
        np.array([[0.1, 0.4], [0.35, 0.3], [0.0, 0.9]]),
        np.array([[0.1, 0.4, 0.2], [0.35, 0.3, 0.8]]),
        np.array([[0.0, 0.1], [0.2, 0.2], [0.4, 0.6]]),  # ties: few distinct sums
    ],
)
def test_small_cases_equal_complete_enumeration(table: NDArray[np.float64]) -> None:
    fit = bootstrap_anova(xr.DataArray(table, dims=("topic", "system")), "topic + system")
    effects, difference = listed(table)
    truth = fit.effects.to_numpy()
    np.testing.assert_allclose(truth, table.mean(axis=0) - table.mean(), atol=1e-14)
    between = np.linspace(-0.6, 0.6, 50) + 1e-5
    for j, system in enumerate(fit.effects.index):
        distribution = fit.effect_distribution(system)
        for x in between:
            assert distribution.cdf(x) == pytest.approx(np.mean(effects[:, j] <= x), abs=1e-10)
    raw = fit.measure_pairs(null="difference", residuals="raw")
    centred = difference - (truth[0] - truth[1])
    for d in np.concatenate([np.abs(between), [abs(truth[0] - truth[1])]]):
        expected = np.mean(np.abs(centred) >= d - 1e-12)
        assert raw.p_values(np.array([d]))[0] == pytest.approx(expected, abs=1e-10)
    for tails in (1, 2):
        marginal = fit.measure_pairs(null="marginal", tails=tails)
        error = effects[:, 0] - truth[0]
        for d in np.abs(between):
            expected = np.mean(error >= d) + (tails == 2) * np.mean(error <= -d)
            assert marginal.p_values(np.array([d]))[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.slow
def test_enumeration_on_shards_with_four_draws_a_system() -> None:
    values = np.random.default_rng(5).beta(0.5, 2.0, (2, 2, 2))
    scores = xr.DataArray(values, dims=("topic", "system", "shard"))
    fit = bootstrap_anova(scores, "topic + system + topic:system")
    residuals = (values - values.mean(axis=2, keepdims=True)).ravel()
    means = np.array(list(product(residuals, repeat=4))).mean(axis=1)  # all 8^4 means of one system
    grid = np.linspace(0.01, 0.3, 9)
    distribution = fit.measure_pairs(residuals="raw")
    differences = np.sort(np.abs(np.subtract.outer(means[::1], means)).ravel())
    expected = 1.0 - np.searchsorted(differences, grid) / differences.size
    np.testing.assert_allclose(distribution.p_values(grid), expected, atol=1e-10)


def convolved(pool: NDArray[np.int64], n: int) -> NDArray[np.float64]:
    """Probabilities of the sums 0, 1, … of n draws of whole numbers: sums of products, so no digit is ever lost."""
    one = np.bincount(pool) / pool.size
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, one)
    return total


@pytest.mark.parametrize(("n", "most"), [(8, 900), (20, 600), (60, 250)])
def test_inversion_and_tails_against_exact_convolution(n: int, most: int) -> None:
    rng = np.random.default_rng(n)
    whole = np.minimum(rng.gamma(1.2, most / 8, 4000).astype(np.int64), most)
    exact = convolved(whole, n)
    distribution = invert_characteristic(
        Draws(Pool.from_values(whole.astype(float)), np.array([1.0]), np.array([float(n)]))
    )
    centre = n * whole.mean()
    # P(sum ≥ k), halfway between atoms; a smooth distribution differs from that by f'/24 there (Euler-Maclaurin)
    above = np.cumsum(exact[::-1])[::-1] - np.diff(exact, prepend=0.0) / 24
    k = np.arange(1, exact.size)
    found = distribution.at_least(k - 0.5 - centre)
    smooth = above[1:] > 1e-6
    np.testing.assert_allclose(found[smooth], above[1:][smooth], atol=2e-9)
    np.testing.assert_allclose(
        distribution.at_most(k - 0.5 - centre)[smooth], 1.0 - above[1:][smooth], atol=2e-9
    )
    far = (above[1:] < JOIN) & (above[1:] > 1e-18)
    assert far.sum() > 50
    np.testing.assert_allclose(
        found[far] / above[1:][far], 1.0, atol=0.02
    )  # relative accuracy of a saddlepoint
    assert (np.diff(found) <= 1e-15).all()


def test_probabilities_join_without_a_step() -> None:
    distribution = invert_characteristic(
        Draws(Pool.from_values(skewed(3000)), np.array([0.02, -0.02]), np.array([50.0, 50.0]))
    )
    x = distribution.upper.start + np.linspace(-1e-6, 1e-6, 21) * distribution.half
    p = distribution.at_least(x)
    assert (np.diff(p) < 0).all()
    np.testing.assert_allclose(p, JOIN, rtol=2e-2)
    np.testing.assert_allclose(np.diff(np.log(p)), np.diff(np.log(p)).mean(), rtol=0.3)


def test_density_integrates_to_the_distribution_function() -> None:
    distribution = invert_characteristic(
        Draws(Pool.from_values(skewed(2000)), np.array([0.1]), np.array([10.0]))
    )
    x = np.linspace(-distribution.half * 0.99, distribution.half * 0.99, 20001)
    area = np.concatenate(
        [[0.0], np.cumsum((distribution.density(x)[1:] + distribution.density(x)[:-1]) / 2 * np.diff(x))]
    )
    np.testing.assert_allclose(area, distribution.at_most(x) - distribution.at_most(x[:1]), atol=1e-6)


@pytest.mark.slow
@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(5, 400),
    size=st.integers(2, 400),
    systems=st.integers(2, 150),
    p=st.floats(1e-7, 1 - 1e-7),
)
@example(seed=5, n=5, size=5, systems=5, p=0.5)  # a pool of five values rings under the transform
@example(seed=306, n=49, size=5, systems=3, p=0.5)
def test_quantiles_invert_the_distribution_and_moments_are_right(
    seed: int, n: int, size: int, systems: int, p: float
) -> None:
    mean = Draws(Pool.from_values(skewed(size, seed)), np.array([1.0 / n]), np.array([float(n)]))
    for draws in (mean.contrast("marginal", systems), mean.contrast("difference", systems)):
        distribution = ideal_distribution(draws)
        q = find_quantiles(distribution, np.array([p]))
        if isinstance(distribution, Inverted):
            grid = np.linspace(-distribution.half, distribution.half, distribution.pdf.size, endpoint=False)
            second = np.sum(distribution.pdf * grid**2) * (grid[1] - grid[0])
            assert second == pytest.approx(draws.variance, rel=1e-4)
            assert distribution.at_most(q)[0] == pytest.approx(p, abs=1e-9, rel=1e-6)
        else:
            assert isinstance(distribution, Atoms)
            assert np.sum(distribution.shares * distribution.values**2) == pytest.approx(
                draws.variance, rel=1e-6
            )
            assert distribution.at_most(q)[0] >= p - 1e-12
            assert distribution.at_least(q)[0] >= 1.0 - p - 1e-12
        ends = np.array([distribution.span[0] - 1.0, distribution.span[1] + 1.0])
        assert distribution.at_most(ends).tolist() == [0.0, pytest.approx(1.0)]
        assert distribution.at_least(ends).tolist() == [pytest.approx(1.0), 0.0]
        x = np.sort(np.random.default_rng(seed).normal(0.0, 3.0 * draws.variance**0.5, 64))
        assert (np.diff(distribution.at_least(x)) <= 1e-9).all()


def test_enumeration_and_inversion_agree_where_both_can_be_had() -> None:
    draws = Draws(Pool.from_values(skewed(12)), np.array([0.25]), np.array([4.0])).contrast("difference", 2)
    atoms = enumerate_sums(Draws(draws.pool, draws.weights[:1], draws.counts[:1]))
    assert atoms is not None
    values = np.subtract.outer(atoms.values, atoms.values).ravel()
    shares = np.multiply.outer(atoms.shares, atoms.shares).ravel()
    distribution = invert_characteristic(draws)
    grid = np.linspace(-0.1, 0.1, 41) + 1e-4
    exact = np.array([shares[values <= x].sum() for x in grid])
    np.testing.assert_allclose(distribution.at_most(grid), exact, atol=3e-3)  # blurred by a few grid steps


def test_smoothing_adds_the_kernel_variance() -> None:
    draws = Draws(Pool.from_values(skewed(500)), np.array([0.02]), np.array([50.0]))
    plain, blurred = ideal_distribution(draws), smooth_distribution(draws, 10_000)
    assert isinstance(plain, Inverted)
    assert isinstance(blurred, Inverted)
    grid = np.linspace(-blurred.half, blurred.half, 8001)
    middle = find_quantiles(plain, np.array([0.5]))[0]
    x = np.linspace(0.0, plain.half, 20001)
    inside = plain.at_most(middle + x) - plain.at_most(middle - x)
    deviation = x[np.searchsorted(inside, 0.5)]  # median distance from the median
    h = deviation / 0.6745 * (4 / 3e4) ** 0.2
    variance = np.sum(blurred.density(grid) * grid**2) * (grid[1] - grid[0])
    assert variance == pytest.approx(draws.variance + h**2, rel=1e-3)


def test_a_perfect_fit_leaves_no_doubt() -> None:
    table = xr.DataArray(np.add.outer([0.1, 0.2, 0.6], [0.0, 0.1]), dims=("topic", "system"))
    assert anova(table, "topic + system").notes
    distribution = bootstrap_anova(table, "topic + system").measure_pairs()
    assert distribution.p_values(np.array([0.0, 0.1])).tolist() == [1.0, 0.0]
