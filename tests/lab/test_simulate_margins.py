"""Bounded scores: margins like the real ones, means exactly as planted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.scenarios.bounded import hermite_coefficients, margins_scenario
from shardwise.lab.scenarios.kernels import to_scores
from shardwise.lab.scenarios.margins import distribution_margins, few_values, fit_margins, guide_quantiles
from shardwise.lab.simulate_scores import SimulationOptions, simulate_scores
from shardwise.lab.simulate_scores import build_scenario as scenario_of

SD = VarianceComponents.of(
    {"topic": 0.15, "shard": 0.02, "topic:system": 0.08, "topic:shard": 0.06, "system:shard": 0.04, "instance": 0.04,
     "error": 0.06}, kind="sd")  # fmt: skip


def scenario(source: Any = None, **options: Any) -> Any:
    return scenario_of(source, SimulationOptions(**options))


def trec8(data: Path, measure: str) -> pd.DataFrame:
    return pd.read_csv(data / "trec8" / f"adhoc8_{measure}.csv")


def quantiles(z: Floats, rows: Ints, p: Floats, low: Floats, high: Floats) -> Floats:
    cut, guide = guide_quantiles(p)
    y = np.array(z, dtype=float)
    to_scores(y, rows, cut, guide, low, high)
    return y


@pytest.mark.parametrize(("mean", "sd"), [(0.3, 0.2), (0.05, 0.06), (0.7, 0.3), (0.5, 0.05)])
def test_beta_quantiles_are_those_of_scipy(mean: float, sd: float) -> None:
    margins = distribution_margins(np.array([mean]), sd**2, "beta")
    c = mean * (1 - mean) / sd**2 - 1
    z = np.linspace(-3, 3, 601)[:, None]
    found = quantiles(z, np.zeros(1, dtype=np.int64), margins.cell_probabilities(np.arange(1), np.zeros(1)),
                      margins.low, margins.high)  # fmt: skip
    wanted = stats.beta.ppf(stats.norm.cdf(z), mean * c, (1 - mean) * c)
    # inside a cell, at most π/800 wide, a score is taken as uniform
    assert np.abs(found - wanted).max() < 0.002
    assert margins.means(np.arange(1), np.zeros(1)) == pytest.approx(mean, abs=1e-4)


def test_beta_binomial_is_that_of_scipy() -> None:
    margins = distribution_margins(np.array([0.3, 0.6]), 0.06, "discrete")
    p = margins.cell_probabilities(np.arange(2), np.zeros(2))
    for k, mean in enumerate((0.3, 0.6)):
        c = margins.concentration[k]
        distribution = stats.betabinom(10, mean * c, (1 - mean) * c)
        assert p[k] == pytest.approx(distribution.pmf(np.arange(11)), abs=1e-12)
        assert distribution.var() / 100 == pytest.approx(0.06, rel=1e-9)


@settings(max_examples=40)
@given(
    kind=st.sampled_from(["beta", "kernel", "discrete"]),
    target=st.floats(0.02, 0.98),
    shape=st.tuples(st.floats(0.3, 5), st.floats(0.3, 5)),
    seed=st.integers(0, 10**6),
)
def test_any_mean_is_met_exactly(kind: Any, target: float, shape: tuple[float, float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.beta(*shape, (40, 3))
    y = np.round(y * 10) / 10 if kind == "discrete" else y
    y[0], y[1] = 0.1, 0.9  # no system without a spread
    margins = fit_margins(y, kind).replace_unsuited(np.full(3, target))
    shift = margins.solve_shifts(np.full(3, target))
    p = margins.cell_probabilities(np.arange(3), shift)
    assert p @ margins.middle == pytest.approx(np.full(3, target), abs=1e-9)
    assert (p >= 0).all()
    higher = margins.cell_probabilities(np.arange(3), shift + 0.5)
    assert (np.cumsum(higher, axis=1) <= np.cumsum(p, axis=1) + 1e-12).all()  # every quantile rises


def test_moments_of_the_scores_are_kept() -> None:
    rng = np.random.default_rng(3)
    y = np.column_stack(
        [rng.beta(0.5, 3, 60), rng.beta(5, 2, 60), np.where(rng.random(60) < 0.3, 0, rng.beta(2, 2, 60))]
    )
    for kind in ("beta", "kernel", "auto"):
        margins = fit_margins(y, kind)
        shift = margins.solve_shifts(y.mean(axis=0))
        p = margins.cell_probabilities(np.arange(3), shift)
        inside = (margins.high - margins.low) ** 2 / 12
        variance = p @ (margins.middle**2 + inside) - (p @ margins.middle) ** 2
        assert variance == pytest.approx(y.var(axis=0, ddof=1), rel=0.01)
        assert kind == "beta" or p[2, 0] == pytest.approx((y[:, 2] == 0).mean(), abs=0.04)


def test_the_scores_decide_how_many_values_there_are() -> None:
    rng = np.random.default_rng(1)
    ten, step = few_values(rng.integers(0, 11, (50, 4)) / 10)
    assert step == 10
    assert ten == pytest.approx(np.arange(11) / 10)
    ranks, step = few_values(1 / rng.integers(1, 8, (50, 4)))
    assert step == 0
    assert ranks == pytest.approx(1 / np.arange(7.0, 0, -1))
    assert len(few_values(rng.random((50, 4)))[0]) == 0


@pytest.mark.parametrize("measure", [pytest.param("ap", marks=pytest.mark.full), "p10", "rr"])
@pytest.mark.slow
def test_trec8_looks_like_trec8(data: Path, measure: str) -> None:
    """Means, spreads, zeros and correlations of 129 runs, against 200 simulated campaigns of 50 topics."""
    real = trec8(data, measure).to_numpy()
    made = scenario(trec8(data, measure), effects="like", margins="auto", seed=1)
    y = made.draw(0, 200, 1).reshape(-1, 129)
    assert y.min() >= 0
    assert y.max() <= 1
    spread = real.std(axis=0, ddof=1)
    # 10,000 scores a run, correlated between runs
    assert np.abs((y.mean(axis=0) - real.mean(axis=0)) / (spread / np.sqrt(len(y)))).max() < 5
    ratio = y.std(axis=0) / spread
    assert np.abs(ratio - 1).mean() < 0.03
    assert 0.9 < ratio.min() < ratio.max() < 1.15
    for value in (0.0, 1.0):
        share = np.abs((y == value).mean(axis=0) - (real == value).mean(axis=0))
        assert share.mean() < 0.02
        assert np.quantile(share, 0.95) < 0.1  # smoothing moves some of a poor run's zeros to its next values
    if measure == "p10":
        assert set(np.unique(y)) == set(np.arange(11) / 10)
    above = np.triu_indices(129, 1)
    wanted, found = np.corrcoef(real.T)[above], np.corrcoef(y.T)[above]
    assert found.mean() == pytest.approx(wanted.mean(), abs=0.02)
    # 50 topics say no more than ± .1 of a single correlation
    assert np.sqrt(((found - wanted) ** 2).mean()) < 0.1
    assert np.corrcoef(found, wanted)[0, 1] > 0.9


def test_unequal_spreads_survive_a_null(data: Path) -> None:
    scores = trec8(data, "ap").iloc[:, :30]
    made = scenario(scores, margins="auto")
    assert np.ptp(made.truth) == 0
    y = made.draw(0, 200, 2).reshape(-1, 30)
    assert y.mean(axis=0) == pytest.approx(made.truth, abs=0.25 / 100 * 4.5)
    real = scores.to_numpy()
    # a mean moved to the common one takes the spread with it, as it does among real runs; the rest is shape
    own = real.std(axis=0) / np.sqrt(real.mean(axis=0) * (1 - real.mean(axis=0)))
    moved = y.std(axis=0) / np.sqrt(made.truth * (1 - made.truth))
    assert stats.spearmanr(own, moved).statistic > 0.6
    assert y.std(axis=0).max() / y.std(axis=0).min() > 1.15


CLAIMS = [
    (("topic", "system"), ()),
    (("topic", "system"), ("topic",)),
    (("topic", "system", "shard"), ()),
    (("topic", "system", "shard"), ("topic",)),
    (("topic", "system", "shard"), ("shard",)),
    (("topic", "system", "shard"), ("topic", "shard")),
    (("topic", "system", "instance"), ("topic",)),
    (("topic", "system", "instance"), ("topic", "instance")),
    (("split", "topic", "system", "shard"), ("topic",)),
    (("split", "topic", "system", "shard"), ()),
]
SIZES = {"split": 2, "topic": 15, "system": 3, "shard": 4, "instance": 4}


@pytest.mark.parametrize(("dims", "over"), CLAIMS)
@pytest.mark.parametrize("kind", ["beta", "discrete"])
def test_planted_means_hold_for_every_claim(dims: tuple[str, ...], over: tuple[str, ...], kind: Any) -> None:
    truth = np.array([0.45, 0.3, 0.3])
    margins = distribution_margins(truth, 0.05, kind)
    made = margins_scenario(truth, margins, SD, dims, tuple(SIZES[d] for d in dims), Claim(*over), seed=4)
    y = xr.DataArray(made.draw(0, 1500, 8), dims=("table", *dims))
    means = y.mean([d for d in dims if d not in ("system", "split")])
    error = (means.mean("table") - xr.DataArray(truth, dims="system")) / (means.std("table") / np.sqrt(1500))
    assert np.abs(error).max() < 4.5
    assert kind != "discrete" or set(np.unique(y)) <= set(np.arange(11) / 10)


def test_fixed_topics_against_quadrature_by_scipy() -> None:
    """The average over the fixed topics of E[score | topic], integrated with scipy's beta quantiles."""
    truth = np.array([0.4, 0.25])
    margins = distribution_margins(truth, 0.04, "beta")
    sd = VarianceComponents.of({"topic": 0.8, "topic:system": 0.3, "error": 0.5}, kind="sd")
    made = margins_scenario(truth, margins, sd, ("topic", "system"), (6, 2), Claim(), seed=2)
    spread = 0.5 / np.sqrt(0.98)
    for j in range(2):
        p = np.diff(made.facts["cut"][j])
        c = margins.concentration[j]
        mean = float(p @ margins.middle)  # of the margin as it was moved
        distribution = stats.beta(mean * c, (1 - mean) * c)

        def score(e: float, topic: float, distribution: Any = distribution) -> float:
            return float(distribution.ppf(stats.norm.cdf(topic + spread * e)) * stats.norm.pdf(e))

        found = [integrate.quad(score, -8, 8, args=(w,))[0] for w in made.facts["fixed"][:, j]]
        assert np.mean(found) == pytest.approx(truth[j], abs=2e-5)
    assert (
        np.abs(np.diff(made.facts["cut"][0]) @ margins.middle - 0.4) > 1e-3
    )  # so there was something to correct


def test_every_split_is_right_about_its_own_shards() -> None:
    dims = ("split", "topic", "system", "shard")
    sd = VarianceComponents.of({"system:shard": 0.7, "error": 0.7}, kind="sd")
    margins = distribution_margins(np.full(2, 0.3), 0.05, "beta")
    made = margins_scenario(np.full(2, 0.3), margins, sd, dims, (3, 10, 2, 3), Claim("topic"), seed=1)
    means = made.draw(0, 2000, 3).mean(axis=(2, 4))  # table, split, system
    assert np.abs((means.mean(axis=0) - 0.3) / (means.std(axis=0) / np.sqrt(2000))).max() < 4.5


def test_effects_come_in_the_shares_asked_for() -> None:
    """Near-normal margins, so that correlations of scores are those of z."""
    dims, shape = ("topic", "system", "shard"), (40, 4, 5)
    sd = VarianceComponents.of(
        {"topic": 0.1, "topic:system": 0.05, "topic:shard": 0.06, "error": 0.08}, kind="sd"
    )
    made = margins_scenario(
        np.full(4, 0.5),
        distribution_margins(np.full(4, 0.5), 0.002, "beta"),
        sd,
        dims,
        shape,
        Claim("topic", "shard"),
    )
    y = made.draw(0, 400, 5)
    total = 0.1**2 + 0.05**2 + 0.06**2 + 0.08**2

    def correlation(a: Floats, b: Floats) -> float:
        return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])

    # 16,000 pairs, nearly independent: standard error under .01
    assert correlation(y[:, :, 0, 0], y[:, :, 1, 0]) == pytest.approx((0.1**2 + 0.06**2) / total, abs=0.03)
    assert correlation(y[:, :, 0, 0], y[:, :, 0, 1]) == pytest.approx((0.1**2 + 0.05**2) / total, abs=0.03)
    assert correlation(y[:, :, 0, 0], y[:, :, 1, 1]) == pytest.approx(0.1**2 / total, abs=0.03)


def test_hermite_expansion_of_uniform_scores() -> None:
    """For uniform margins the correlation of scores is 6/π · arcsin(ρ/2), a classic result."""
    margins = distribution_margins(np.full(2, 0.5), 1 / 12, "beta")  # Beta(1, 1)
    c = hermite_coefficients(margins)
    for rho in (-0.6, 0.3, 0.9):
        found = (c[0, 1:] * c[1, 1:] * rho ** np.arange(1, c.shape[1])).sum()
        assert found == pytest.approx(6 / np.pi * np.arcsin(rho / 2), abs=1e-3)


@pytest.mark.parametrize(("dims", "over"), CLAIMS[::3])
def test_a_table_depends_on_seed_and_number_only(dims: tuple[str, ...], over: tuple[str, ...]) -> None:
    made = margins_scenario(np.full(3, 0.3), distribution_margins(np.full(3, 0.3), 0.04, "beta"), SD, dims,
                         tuple(SIZES[d] for d in dims), Claim(*over))  # fmt: skip
    together = made.draw(0, 6, 3)
    assert np.array_equal(made.draw(4, 2, 3), together[4:])
    assert not np.isclose(made.draw(0, 6, 4), together).all()


def test_shards_and_instances_from_scores() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=(40, 1, 1)) + rng.normal(0, 0.5, (40, 6, 1)) + rng.normal(0, 0.6, (40, 6, 4))
    y = stats.beta.ppf(stats.norm.cdf(base / np.sqrt(1.61)), 1.2, 3)
    for dim in ("shard", "instance"):
        source = xr.DataArray(y, dims=("topic", "system", dim))
        made = scenario(source, margins="auto", generalize=("topic",), effects="like", seed=3)
        # shares 1/1.61 and .25/1.61, from 40 topics
        assert made.facts["latent"]["topic"] == pytest.approx(1 / 1.61, abs=0.15)
        assert made.facts["latent"]["topic:system"] == pytest.approx(0.25 / 1.61, abs=0.06)
        assert made.truth == pytest.approx(y.mean(axis=(0, 2)))
        assert simulate_scores(source, margins="kernel", topics=12, systems=3).shape == (12, 3, 4)


def test_deterministic_systems_repeat_themselves() -> None:
    made = scenario(topics=30, systems=3, instances=4, deterministic=1, margins="beta", generalize=("topic",
    "instance"),
                 sd={"topic": 0.1, "topic:system": 0.05, "instance": 0.05, "error": 0.05})  # fmt: skip
    y = made.draw(0, 800, 1)
    assert np.ptp(y[:, :, 2], axis=2).max() == 0
    assert np.ptp(y[:, :, 0], axis=2).min() > 0
    assert y[:, :, 2].std() == pytest.approx(y[:, :, 0].std(), rel=0.05)
    means = y.mean(axis=(1, 3))
    assert np.abs((means.mean(axis=0) - 0.3) / (means.std(axis=0) / np.sqrt(800))).max() < 4.5


def bounded(values: Any) -> xr.DataArray:
    return xr.DataArray(values, dims=("topic", "system"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": bounded([[0.1, 1.2], [0.2, 0.3]]), "margins": "auto"}, "1.2, outside 0 to 1"),
        ({"source": bounded([[0.1, 0.0], [0.2, 0.0]]), "margins": "auto"}, "system number 2 has the same score"),
        ({"source": bounded([[0.123, 0.2], [0.2456, 0.3], [0.7, 0.91]]), "margins": "discrete"}, "too many values"),
        ({"source": bounded([[0.123, 0.2], [0.2456, 0.3]]), "margins": "beta", "mean": 1.5}, "have the mean 1.5"),
        ({"source": bounded([[0.1, 0.2], [0.2, 0.3]]), "margins": "beta", "systems": 5}, "2 systems, not 5"),
        ({"margins": "beta", "sd": {"shard": 0.1}}, "all standard deviations are 0|no beta margin"),
    ],
)  # fmt: skip
def test_what_has_no_margins_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate_scores(**arguments)
