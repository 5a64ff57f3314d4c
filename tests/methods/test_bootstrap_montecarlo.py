"""Monte Carlo against the ideal distribution, against refitting, and against scipy's kernel density."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from shardwise.comparing.compare import compare
from shardwise.core.errors import InputError
from shardwise.core.model import MD2, MD3, MD4, MD5, MD6, Model
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.distributions import Sample, smooth_draws
from shardwise.methods.bootstrap.method import bootstrap_anova

M = 20_000
SIGMAS = 4.5  # some 600 binomial counts are checked below


def skewed_scores(topics: int, systems: int, shards: int, seed: int = 3) -> xr.DataArray:
    """Scores with topic, system and interaction effects and skewed errors."""
    rng = np.random.default_rng(seed)
    values = (
        rng.beta(0.5, 1.5, (topics, 1, 1))
        + rng.normal(0.0, 0.02, (1, systems, 1))
        + rng.normal(0.0, 0.05, (topics, systems, 1))
        + rng.gamma(0.3, 0.2, (topics, systems, shards))
    )
    return xr.DataArray(values, dims=("topic", "system", "shard"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("systems", "topics", "shards", "model"),
    [
        (2, 5, 2, MD2),
        (2, 100, 5, MD6),
        (5, 10, 5, MD3),
        (10, 25, 4, MD5),
        (40, 50, 5, MD4),
        (129, 5, 2, MD3),
        pytest.param(129, 100, 5, MD6, marks=pytest.mark.full),  # the size of one, the model of another
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_ideal_and_monte_carlo_agree_within_monte_carlo_error(
    systems: int, topics: int, shards: int, model: Model
) -> None:
    scores = skewed_scores(topics, systems, shards)
    ideal = bootstrap_anova(scores, model)
    drawn = bootstrap_anova(scores, model, n_resamples=M, seed=11)
    assert drawn.replicates is not None
    errors = drawn.replicates
    assert errors.shape == (M, systems)
    p = np.array([0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.995, 0.999])
    allowed = SIGMAS * np.sqrt(p * (1 - p) / M)
    for j in (0, systems - 1):
        distribution = ideal.effect_distribution(str(j))
        found = np.quantile(errors[:, j] + distribution.estimate, p)
        assert (np.abs(distribution.cdf(found) - p) <= allowed + 1e-9).all()
    # pair p-values, from one pair so that the M differences are independent
    d = np.quantile(np.abs(errors[:, 0] - errors[:, 1]), p)
    for null, sample in (("difference", errors[:, 0] - errors[:, 1]), ("marginal", errors[:, 0])):
        for tails in (1, 2):
            options: dict[str, Any] = {"null": null, "tails": tails, "residuals": "raw"}
            exact = ideal.measure_pairs(**options)
            expected = exact.p_values(d)
            simulated = (sample[:, None] >= d).mean(axis=0) + (tails == 2) * (sample[:, None] <= -d).mean(
                axis=0
            )
            spread = np.sqrt(np.maximum(expected * (1 - expected), 1e-4) / M)
            assert (np.abs(simulated - expected) <= SIGMAS * spread).all()
            pooled = drawn.measure_pairs(**options)
            assert (np.abs(pooled.p_values(d) - expected) <= SIGMAS * spread + 2 / M).all()
    both = [compare(fit, "bh", null="marginal", tails=1) for fit in (ideal, drawn)]
    order = [np.argsort(c.ia * 1000 + c.ib) for c in both]
    gap = np.abs(both[0].p[order[0]] - both[1].p[order[1]])
    assert gap.max() <= SIGMAS * np.sqrt(0.25 / M)


@pytest.mark.parametrize(
    "model",
    [MD2, pytest.param(MD3, marks=pytest.mark.full), pytest.param(MD4, marks=pytest.mark.full), MD5, MD6],
    ids=lambda model: model.name,
)
def test_refitting_resampled_scores_gives_the_same_distribution(model: Model) -> None:
    """The papers' recipe to the letter: add drawn residuals to the fitted scores and fit again."""
    scores = skewed_scores(6, 4, 3)
    fit = anova(scores, model)
    ideal = bootstrap_anova(scores, model)
    fitted, pool = fit.fitted, fit.residuals.to_numpy().ravel()
    rng = np.random.default_rng(7)
    repeats = 400
    effects = np.array(
        [
            anova(fitted + rng.choice(pool, fitted.shape), model).effects["system"].to_numpy()
            for _ in range(repeats)
        ]
    )
    for j in range(4):
        distribution = ideal.effect_distribution(str(j))
        assert stats.kstest(effects[:, j], distribution.cdf).pvalue > 1e-4
    spread = (effects - fit.effects["system"].to_numpy()).var()
    assert spread == pytest.approx(ideal.draws.contrast("marginal", 4).variance, rel=0.15)


def test_replicates_depend_on_seed_and_number_alone() -> None:
    scores = skewed_scores(7, 5, 3)
    few = bootstrap_anova(scores, MD3, n_resamples=300, seed=4, jobs=1).replicates
    calls: list[tuple[int, int]] = []
    many = bootstrap_anova(
        scores, MD3, n_resamples=777, seed=4, jobs=2, progress=lambda done, total: calls.append((done, total))
    ).replicates
    other = bootstrap_anova(scores, MD3, n_resamples=300, seed=5).replicates
    assert few is not None
    assert many is not None
    assert other is not None
    np.testing.assert_array_equal(few, many[:300])
    assert calls[-1] == (777, 777)
    assert not np.isin(other, few).any()
    assert np.unique(many).size == many.size


def test_draws_are_uniform_over_the_pool() -> None:
    """With one draw a system, replicates are the pool's own values."""
    table = xr.DataArray(np.random.default_rng(1).normal(size=(2, 50)), dims=("topic", "system"))
    fit = bootstrap_anova(table, "system", n_resamples=2000, seed=0)
    pool = fit.draws.pool.values
    assert fit.replicates is not None
    means = fit.replicates + 0.0
    sums = means - means[:, :1]  # differences of two means of two draws
    expected = np.var(pool) / 2 * 2
    assert sums[:, 1:].var() == pytest.approx(expected, rel=0.03)
    assert stats.kstest(means[:, 7], fit.effect_distribution("7").spread.at_most).pvalue > 1e-3


def test_simulated_p_values_are_never_zero() -> None:
    fit = bootstrap_anova(skewed_scores(8, 3, 2), MD3, n_resamples=99, seed=1)
    for null, size in (("marginal", 3 * 99), ("difference", 2 * 3 * 99)):
        distribution = fit.measure_pairs(null=null, tails=1)  # type: ignore[arg-type]
        assert distribution.p_values(np.array([10.0]))[0] == pytest.approx(1 / (size + 1))
        assert distribution.critical(1e-9) == np.inf
        x = distribution.critical(0.05)
        assert (
            distribution.p_values(np.array([x]))[0] <= 0.05 < distribution.p_values(np.array([x * 0.999]))[0]
        )
    sample = Sample(np.array([1.0, 2.0, 2.0, 3.0]))
    assert sample.at_least(np.array([2.0, 3.5])).tolist() == [4 / 5, 1 / 5]
    assert sample.at_most(np.array([2.0, 0.5])).tolist() == [4 / 5, 1 / 5]


def test_kernel_density_is_scipys() -> None:
    draws = np.random.default_rng(2).gamma(2.0, 0.01, 3000)
    ours = smooth_draws(draws, draws.size)
    bandwidth = stats.median_abs_deviation(draws) / 0.6745 * (4 / (3 * draws.size)) ** 0.2
    assert ours.bandwidth == pytest.approx(bandwidth)
    theirs = stats.gaussian_kde(draws, bw_method=bandwidth / draws.std(ddof=1))
    x = np.linspace(-0.01, 0.1, 30)
    np.testing.assert_allclose(ours.density(x), theirs(x), atol=1e-4 * theirs(x).max())
    cdf = [theirs.integrate_box_1d(-np.inf, value) for value in x]
    np.testing.assert_allclose(ours.at_most(x), cdf, atol=1e-5)
    np.testing.assert_allclose(ours.at_least(x), 1 - np.array(cdf), atol=1e-5)


def test_smoothing_simulated_and_ideal_alike() -> None:
    scores = skewed_scores(10, 30, 3)
    ideal = bootstrap_anova(scores, MD3).measure_pairs(null="marginal", tails=1, density="kde")
    drawn = bootstrap_anova(scores, MD3, n_resamples=10_000, seed=2)
    smoothed = drawn.measure_pairs(null="marginal", tails=1, density="kde")
    d = np.linspace(0.0, 0.05, 40)
    np.testing.assert_allclose(smoothed.p_values(d), ideal.p_values(d), atol=4e-3)
    assert "kernel density" in smoothed.name


@pytest.mark.parametrize(
    "options", [{"n_resamples": 0}, {"n_resamples": 5, "seed": -1}, {"n_resamples": 5, "jobs": 0}]
)
def test_senseless_numbers_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError):
        bootstrap_anova(skewed_scores(4, 3, 2), MD3, **options)  # type: ignore[arg-type]
