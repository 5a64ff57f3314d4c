"""Vine scenarios: margins exact, near-duplicates kept as a real campaign has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shardwise.core.arrays import Floats, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.lab.scenarios.base import Scenario
from shardwise.lab.scenarios.bounded import vine_of, vine_scenario
from shardwise.lab.scenarios.kernels import draw_quantiles
from shardwise.lab.simulate_scores import SimulationOptions
from shardwise.lab.simulate_scores import build_scenario as simulated

LOW = (0.002, 0.01)
pytestmark = pytest.mark.slow


def clustered(seed: int, t: int = 60, r: int = 3) -> Floats:
    """Some systems and a near-copy of each, on a common scale of topics."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(t, 1)) + rng.normal(0, 0.7, (t, r))
    z = np.column_stack([z, z + rng.normal(0, 0.05, (t, r))])
    return np.asarray(stats.beta.ppf(stats.norm.cdf(z / np.sqrt(1.5)), 1.2, 3.0))


def relative_variances(y: Floats) -> Floats:
    """Variances of the differences of all pairs over their mean."""
    covariance = np.cov(y, rowvar=False)
    own = np.diag(covariance)
    found = (own[:, None] + own - 2 * covariance)[np.triu_indices(len(own), 1)]
    return np.asarray(found / found.mean())


def low_quantiles(scenario: Scenario, tables: int = 20) -> Floats:
    return np.mean([np.quantile(relative_variances(y), LOW) for y in scenario.draw(0, tables, 1)], axis=0)


@pytest.mark.parametrize("measure", ["ap", "p10"])
def test_near_duplicates_of_a_real_campaign_are_kept(data: Path, measure: str) -> None:
    """The .2 % and 1 % quantiles of pair variances, over their mean, as TREC-8 has them; a Gaussian copula loses them.

    The scenarios have no difference between systems, so weak systems, whose scores hardly vary, are moved up and vary
    as the others do: some of the smallest variances of the campaign are theirs and cannot stay.
    """
    table = pd.read_csv(data / "trec8" / f"adhoc8_{measure}.csv").to_numpy()
    real = np.quantile(relative_variances(table), LOW)
    vine = low_quantiles(vine_scenario(table))
    gauss = low_quantiles(simulated(table, SimulationOptions(margins="auto")))
    assert (np.abs(vine - real) < 0.5 * np.abs(gauss - real)).all()
    assert vine == pytest.approx(real, rel=0.6)
    like = low_quantiles(vine_scenario(table, effects=table.mean(axis=0)))
    assert like == pytest.approx(real, rel=0.35)


def test_neighbours_hang_on_one_another() -> None:
    vine = vine_of(clustered(1, r=5))
    assert vine.order[0] == 10  # the difficulty of topics comes first
    neighbour = vine.parents[:, 1]
    for copy in range(5, 10):
        assert neighbour[copy] == copy - 5 or neighbour[copy - 5] == copy
    assert sorted(vine.order.tolist()) == list(range(11))
    seen: set[int] = set()
    for j in vine.order.tolist():
        assert {p for p in vine.parents[j].tolist() if p >= 0} <= seen  # parents are drawn first
        seen.add(j)


@pytest.mark.parametrize("r", [3, 5])
def test_every_column_is_uniform(r: int) -> None:
    """Kolmogorov–Smirnov on 20,000 independent quantiles of each column, ties in the scores or not."""
    c = 2 * r
    for y in (clustered(2, r=r), np.round(clustered(2, r=r), 1)):
        rng = make_generator(3, 0)
        u = draw_quantiles(vine_of(y), rng.random((20_000, c + 1)), rng.standard_normal((20_000, c + 1)))
        for j in range(c):
            assert stats.kstest(u[:, j], "uniform").pvalue > 1e-4 / c


def test_the_truth_is_planted() -> None:
    y, effects = clustered(4), np.array([0.1, 0.0, 0.0, 0.0, 0.0, -0.1])
    for scenario in (vine_scenario(y), vine_scenario(y, effects=effects, topics=30)):
        drawn = scenario.draw(0, 500, 5)
        assert drawn.min() >= 0
        assert drawn.max() <= 1
        means = drawn.mean(axis=1)
        assert np.abs((means.mean(axis=0) - scenario.truth) / (means.std(axis=0) / np.sqrt(500))).max() < 4.5
    assert drawn.shape == (500, 30, 6)
    assert scenario.truth == pytest.approx(y.mean() + effects)
    assert np.ptp(vine_scenario(y).truth) == 0.0


@pytest.mark.parametrize("r", [3, 12])
def test_correlations_of_ranks_are_kept(r: int) -> None:
    y = clustered(5, t=200, r=r)
    drawn = np.concatenate(list(vine_scenario(y, effects=y.mean(axis=0)).draw(0, 40, 2)))
    wanted, found = stats.spearmanr(y).statistic, stats.spearmanr(drawn).statistic
    # 8,000 topics give a standard error of .01; a tree does not hold all correlations of 24 columns on 200 topics
    assert np.abs(found - wanted).max() < (0.04 if r == 3 else 0.15)
    assert np.abs(found - wanted).mean() < 0.05


def test_shards_keep_their_own_levels() -> None:
    rng = np.random.default_rng(6)
    y = np.clip(
        clustered(6)[:, :, None] * rng.uniform(0.7, 1.1, (6, 3)) + rng.normal(0, 0.02, (60, 6, 3)), 0, 1
    )
    scenario = vine_scenario(y, ("topic", "system", "shard"))
    drawn = scenario.draw(0, 300, 1)
    assert drawn.shape == (300, 60, 6, 3)
    means = drawn.mean(axis=(1, 3))
    assert np.abs((means.mean(axis=0) - scenario.truth) / (means.std(axis=0) / np.sqrt(300))).max() < 4.5
    assert np.ptp(scenario.truth) == 0.0
    own = y.mean(axis=0) - y.mean(axis=(0, 2))[:, None]
    moved = drawn.mean(axis=(0, 1)) - drawn.mean(axis=(0, 1, 3))[:, None]
    np.testing.assert_allclose(moved, own, atol=0.01)


def test_a_table_depends_on_seed_and_number_only() -> None:
    scenario: Scenario = vine_scenario(clustered(7))
    together = scenario.draw(0, 5, 3)
    np.testing.assert_array_equal(scenario.draw(3, 2, 3), together[3:])
    assert not np.isclose(scenario.draw(0, 5, 4), together).any()
    assert scenario.name == "vine; new topics like these"
    assert scenario.claim == Claim("topic")


def test_refusals() -> None:
    with pytest.raises(InputError, match="not by topic, system, instance"):
        vine_scenario(np.full((4, 3, 2), 0.5), ("topic", "system", "instance"))
    with pytest.raises(InputError, match="outside 0 to 1"):
        vine_scenario(clustered(1) * 2)
    with pytest.raises(InputError, match="have the mean"):
        vine_scenario(clustered(1), effects=np.array([5.0, 0.0, 0.0, 0.0, 0.0, -5.0]))
