"""Tilted scenarios: equal means by unequal chances of topics, against a general optimiser and linear programming."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.lab.scenarios.base import Scenario
from shardwise.lab.scenarios.from_scores import (
    effective_topics,
    tilted_scenario,
    tilted_weights,
)


def scores(seed: int, t: int = 40, r: int = 4) -> Floats:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.beta(2, 4, (t, 1)) + rng.normal(0, 0.1, (t, r)) + rng.normal(0, 0.04, r))


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # scipy 1.15 tells its own steps
def test_weights_are_those_of_a_general_optimiser() -> None:
    y = np.random.default_rng(1).normal(size=(15, 3))
    contrasts = y[:, 1:] - y[:, :1]
    found = optimize.minimize(
        lambda w: float(np.sum(w * np.log(np.maximum(w, 1e-300)))),
        np.full(15, 1 / 15),
        bounds=[(1e-12, 1)] * 15,
        constraints=[
            {"type": "eq", "fun": lambda w: w.sum() - 1},
            {"type": "eq", "fun": lambda w: w @ contrasts},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    ours = tilted_weights(y)
    assert ours is not None
    # SLSQP stops at about this precision
    np.testing.assert_allclose(ours, found.x, atol=1e-5)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), t=st.integers(3, 25), r=st.integers(2, 8), spread=st.floats(0.0, 0.3))
def test_weights_exist_exactly_where_linear_programming_finds_some(
    seed: int, t: int, r: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(t, r)) + rng.normal(0, 1, r) * spread * 5
    ours = tilted_weights(y)
    # the largest least weight under which the systems are equal: above 0, equal systems lie inside the hull
    contrasts = y[:, 1:] - y[:, :1]
    equal = np.column_stack([np.vstack([contrasts.T, np.ones(t)]), np.zeros(r)])
    room = np.column_stack([-np.eye(t), np.ones(t)])
    plan = optimize.linprog(
        np.append(np.zeros(t), -1.0), A_ub=room, b_ub=np.zeros(t), A_eq=equal, b_eq=np.append(np.zeros(r - 1), 1.0),
        bounds=[(0, None)] * t + [(None, None)],
    )  # fmt: skip
    inside = plan.status == 0 and -plan.fun > 1e-7
    if ours is None:
        assert not inside
    else:
        assert plan.status == 0
        assert np.ptp(ours @ y) < 1e-9
        assert ours.min() > 0
        assert ours.sum() == pytest.approx(1)


def test_equal_systems_leave_all_topics_alike() -> None:
    y = scores(3)
    y -= y.mean(axis=0)
    weights = tilted_weights(y)
    np.testing.assert_allclose(weights, 1 / 40, atol=1e-12)
    assert weights is not None
    assert effective_topics(weights) == pytest.approx(40)
    twins = np.repeat(scores(4)[:, :1], 3, axis=1)  # nothing to be made equal
    np.testing.assert_allclose(tilted_weights(twins), 1 / 40)


def test_no_score_is_changed_and_the_truth_is_exact() -> None:
    y = scores(5)
    scenario: Scenario = tilted_scenario(y)
    assert scenario.name == "tilt; new topics like these"
    assert scenario.claim == Claim("topic")
    assert np.ptp(scenario.truth) == 0.0
    rows = {tuple(row) for row in y}
    drawn = scenario.draw(0, 4000, 1)
    assert drawn.shape == (4000, 40, 4)
    assert {tuple(row) for row in drawn[0]} <= rows
    means = drawn.mean(axis=1)
    assert np.abs((means.mean(axis=0) - scenario.truth) / (means.std(axis=0) / np.sqrt(4000))).max() < 4.5
    np.testing.assert_array_equal(scenario.draw(7, 2, 1), drawn[7:9])


def test_topics_come_as_often_as_their_weights_say() -> None:
    scenario = tilted_scenario(scores(6), topics=25)
    drawn = scenario.draw(0, 2000, 2)
    assert drawn.shape == (2000, 25, 4)
    which = np.searchsorted(np.sort(scenario.facts["scores"][:, 0]), drawn[:, :, 0].ravel())
    counts = np.bincount(which, minlength=40)[np.argsort(np.argsort(scenario.facts["scores"][:, 0]))]
    assert stats.chisquare(counts, scenario.facts["weights"] * counts.sum()).pvalue > 1e-4


def test_differences_are_planted_by_chances_too() -> None:
    y, effects = scores(7), np.array([0.02, 0.0, 0.0, -0.02])
    scenario = tilted_scenario(y, effects=effects)
    np.testing.assert_allclose(scenario.facts["weights"] @ y, scenario.truth, atol=1e-10)
    np.testing.assert_allclose(np.diff(scenario.truth), np.diff(effects), atol=1e-12)


def test_shards_travel_with_their_topic() -> None:
    rng = np.random.default_rng(8)
    y = rng.normal(0.3, 0.1, (60, 3, 4)) + rng.normal(0, 0.02, (3, 1))
    scenario = tilted_scenario(y, ("topic", "system", "shard"))
    assert np.ptp(scenario.facts["weights"] @ y.mean(axis=2)) < 1e-10
    assert scenario.name == "tilt; new topics like these, exactly these shards"
    blocks = {tuple(block.ravel()) for block in y}
    assert {tuple(block.ravel()) for block in scenario.draw(0, 1, 3)[0]} <= blocks


@pytest.mark.slow
def test_systems_of_similar_level_of_a_real_campaign(data: Path) -> None:
    table = pd.read_csv(data / "trec8" / "adhoc8_ap.csv").to_numpy()
    with pytest.raises(InputError, match="these 129 systems"):
        tilted_scenario(table)
    from bench.moderated_grid import similar_systems

    chosen = similar_systems(table)
    means = np.sort(table.mean(axis=0))
    own = np.sort(table[:, chosen].mean(axis=0))
    at = int(np.searchsorted(means, own[0]))
    np.testing.assert_array_equal(own, means[at : at + len(own)])  # neighbours by mean
    scenario = tilted_scenario(table[:, chosen])
    assert effective_topics(scenario.facts["weights"]) >= 25
    # the same weights make every part of them equal, with fewer constraints to obey
    part = tilted_scenario(table[:, chosen[:5]])
    assert effective_topics(part.facts["weights"]) >= effective_topics(scenario.facts["weights"])
    assert len(similar_systems(table, most=6)) == 6


def test_refusals() -> None:
    apart = np.column_stack([np.arange(5.0), np.arange(5.0) + 1])
    with pytest.raises(InputError, match="no chances of these 5 topics give these 2 systems"):
        tilted_scenario(apart)
    with pytest.raises(InputError, match="begin with another dimension"):
        tilted_scenario(np.zeros((2, 4, 3, 2)), ("split", "topic", "system", "shard"))
    with pytest.raises(InputError, match="1 topics"):
        tilted_scenario(scores(1), topics=1)
