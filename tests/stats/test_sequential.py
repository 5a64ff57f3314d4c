"""The sequential gate: states that can be kept, and false passes under many looks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwise.stats.sequential import BETS, SequentialState, log_evidence, log_growth, update_state

batches = st.lists(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), max_size=20), max_size=5)


@given(batches, st.sampled_from([0.0, 0.01, 0.2]))
def test_state_survives_a_file(parts: list[list[float]], margin: float) -> None:
    state = SequentialState(margin)
    for part in parts:
        state = update_state(
            SequentialState.from_dict(json.loads(json.dumps(state.to_dict()))), np.array(part)
        )
    together = np.array([x for part in parts for x in part])
    once = update_state(SequentialState(margin), together)
    assert state.units == once.units == together.size
    for name, capital in once.capital.items():
        assert state.capital[name] == pytest.approx(capital, abs=1e-9)


@given(st.permutations(list(np.linspace(-1.0, 1.0, 12))))
def test_order_within_a_batch_does_not_matter(values: list[float]) -> None:
    one, other = (update_state(SequentialState(0.05), np.array(x)) for x in (values, sorted(values)))
    assert one.evidence == pytest.approx(other.evidence)


def test_bets_cannot_go_broke() -> None:
    for margin in (0.0, 0.05, 0.5):
        growth = log_growth(np.full(3, -1.0), margin)
        assert all(np.isfinite(part).all() for part in growth)
    assert len(BETS) == 12
    assert (BETS[0], BETS[-1]) == pytest.approx((0.02, 0.98))


def test_a_fair_bet_gains_nothing_on_average() -> None:
    """E exp(growth) = 1 at a mean of exactly -margin, for every bet."""
    d, chance = np.array([-1.0, 0.0, 1.0]), np.array([0.15, 0.75, 0.1])
    margin = 0.05
    factors = np.exp(log_growth(d[:, None], margin)[1])
    assert chance @ factors == pytest.approx(np.ones(12), abs=1e-12)


def test_verdicts_and_candidates() -> None:
    better = update_state(SequentialState(0.05), np.tile([0.0, 1.0], 40))
    assert better.verdict == "better"
    assert set(better.shown) == {"better", "no worse"}
    worse = update_state(SequentialState(0.05), np.tile([0.0, -1.0], 40))
    assert worse.verdict == "worse"
    assert update_state(worse, np.ones(500)).shown["worse"] == 80
    # and when it is shown again
    assert update_state(worse, -np.ones(50)).shown["worse"] == 80
    equal = np.zeros(150)
    assert update_state(SequentialState(0.05), equal).verdict == "no worse"
    assert update_state(SequentialState(0.05, candidates=50), equal).verdict == "continue"


@pytest.mark.parametrize(
    ("alpha", "candidates", "capital"), [(0.05, 1, 40.0), (0.1, 1, 20.0), (0.05, 3, 120.0)]
)
def test_a_hypothesis_is_shown_from_the_capital_on_that_bounds_its_error(
    alpha: float, candidates: int, capital: float
) -> None:
    """Ville's inequality: 2·candidates/α is reached with probability α/2 at most, over all candidates."""
    state = SequentialState(0.05, alpha, candidates)
    assert state.threshold == pytest.approx(capital)
    for name, difference in (("better", 0.5), ("no worse", 0.0), ("worse", -0.5)):
        before = now = state
        while name not in now.shown:
            before, now = now, update_state(now, np.array([difference]))
        assert before.evidence[name] < capital <= now.evidence[name]


def test_a_state_of_something_else_is_refused() -> None:
    saved = SequentialState(0.05).to_dict()
    saved["capital"]["better"] = [0.0]
    with pytest.raises(ValueError, match="12 bets"):
        SequentialState.from_dict(saved)
    with pytest.raises(KeyError):
        SequentialState.from_dict({"margin": 0.05})


@pytest.mark.calibration
def test_false_passes_under_fifty_looks(repetitions: float) -> None:
    size = int(400 * repetitions)
    rng = np.random.default_rng(7)
    d = -(rng.random((size, 50, 20)) < 0.05).astype(float)
    evidence = log_evidence(np.cumsum(log_growth(d, 0.05)[1], axis=1))
    passed = (evidence >= np.log(SequentialState(0.05).threshold)).any(axis=1).mean()
    assert passed <= 0.025 + 3 * np.sqrt(0.025 / size)
