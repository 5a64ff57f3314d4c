"""Generalizability: the published analysis of TREC-3 with gt4ireval, and the algebra of its coefficients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwise.core.arrays import make_generator
from shardwise.core.errors import InputError
from shardwise.planning.variances import Generalizability, generalizability


def made_up() -> Generalizability:
    rng = make_generator(31, 0)
    y = rng.normal(0, 0.2, (20, 1)) + rng.normal(0, 0.05, (1, 8)) + rng.normal(0, 0.1, (20, 8))
    return generalizability(y)


def test_trec3_as_gt4ireval_reports_it(trec3: Path) -> None:
    """Numbers printed in the README of julian-urbano/gt4ireval (MIT) for the best 30 of 40 systems."""
    table = pd.read_csv(trec3)
    best = table[table.mean().nlargest(30).index]
    g = generalizability(best)
    ms, parts = g.mean_squares, g.components
    printed = [(ms["system"], 0.15074), (ms["topic"], 0.85296), (ms["error"], 0.010152),
               (parts["system"], 0.0028117), (parts["topic"], 0.028093), (parts["error"], 0.010152)]  # fmt: skip
    for ours, theirs in printed:
        assert float(f"{ours:.5g}") == theirs
    coefficients = {
        50: [0.93265, 0.89311, 0.96287, 0.78613, 0.66141, 0.88039],
        100: [0.96515, 0.94354, 0.98109, 0.88026, 0.79621, 0.93639],
        150: [0.97649, 0.96164, 0.98731, 0.91686, 0.85423, 0.95668],
    }
    for topics, expected in coefficients.items():
        np.testing.assert_allclose(g.intervals(topics).to_numpy().ravel(), expected, atol=5.01e-6)
    assert g.topics_for(0.95, "erho_sq") == 69
    assert g.topics_for(0.95) == g.topics_for(0.95, "phi") == 259
    assert "Eρ² 0.933" in str(g)


@given(target=st.floats(0.05, 0.99), name=st.sampled_from(["phi", "erho_sq"]))
def test_topics_for_a_target_are_the_smallest_that_reach_it(target: float, name: str) -> None:
    g = made_up()
    n = g.topics_for(target, name)
    coefficient = getattr(g, name)
    assert coefficient(n) >= target - 1e-9
    if n > 1:
        assert coefficient(n - 1) < target


@given(n=st.integers(1, 500))
def test_scores_are_never_steadier_than_differences(n: int) -> None:
    g = made_up()
    assert 0 < g.phi(n) <= g.erho_sq(n) < 1
    assert g.phi(n) < g.phi(n + 1)


def test_limits_enclose_the_estimate_and_narrow_with_the_level() -> None:
    wide, narrow = made_up().intervals(level=0.99), made_up().intervals(level=0.6)
    assert (wide["low"] < narrow["low"]).all()
    assert (narrow["high"] < wide["high"]).all()
    assert (wide["low"] < wide["estimate"]).all()
    assert (wide["estimate"] < wide["high"]).all()


@pytest.mark.calibration
def test_the_exact_interval_covers_as_often_as_it_says(repetitions: float) -> None:
    runs = int(600 * repetitions)
    truth = 0.05**2 / (0.05**2 + 0.1**2 / 15)
    inside = 0
    for i in range(runs):
        rng = make_generator(32, i)
        y = rng.normal(0, 0.2, (15, 1)) + rng.normal(0, 0.05, (1, 10)) + rng.normal(0, 0.1, (15, 10))
        low, high = generalizability(y).intervals(level=0.9).loc["erho_sq", ["low", "high"]]
        inside += low <= truth <= high
    assert inside / runs == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / runs))


def test_equal_systems_cannot_be_ranked_by_any_number_of_topics() -> None:
    y = make_generator(33, 0).normal(size=(10, 6)) + np.arange(10.0)[:, None]
    y -= y.mean(axis=0)
    g = generalizability(y)
    assert g.components.negative == ("system",)
    assert "set to 0" in str(g)
    assert (g.phi(), g.erho_sq(10_000)) == (0, 0)
    assert list(np.asarray(g.phi([10, 20]))) == [0, 0]
    with pytest.raises(InputError, match="give scores of systems that differ"):
        g.topics_for(0.9)


def test_refusals() -> None:
    g = made_up()
    with pytest.raises(InputError, match="between 0 and 1"):
        g.topics_for(1.0)
    with pytest.raises(InputError, match="choose one of phi, erho_sq"):
        g.topics_for(0.9, "rho")
    with pytest.raises(InputError, match="1 topic or more"):
        g.phi(0)
    with pytest.raises(InputError, match=r"between 0\.5 and 1"):
        g.intervals(level=95)
    with pytest.raises(InputError, match="no error variance"):
        generalizability(np.arange(4.0)[:, None] + np.arange(3.0)).intervals()
