"""Remarks on systems that widen all intervals, and on differences that few items carry."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import shardwise as sw


def table(spread: list[float], topics: int = 60) -> pd.DataFrame:
    y = 5.0 + np.random.default_rng(3).normal(size=(topics, len(spread))) * spread
    return pd.DataFrame(y, columns=[f"s{k}" for k in range(len(spread))])


def test_a_noisy_system_is_named_with_its_factor() -> None:
    (note,) = sw.compare(table([1.0, 1.0, 1.0, 6.0])).notes
    assert note.startswith("s3 is ")
    assert note.endswith("widens all intervals; they are narrower without it")
    assert 4.0 < float(note.split()[2]) < 9.0
    assert sw.compare(table([1.0, 1.0, 1.0, 1.5])).notes == ()
    assert sw.compare(table([1.0, 6.0])).notes == ()
    assert sw.compare(table([1.0, 1.0, 1.0, 6.0]), baseline="s0").notes == ()


def test_few_items_that_carry_the_differences_are_said() -> None:
    rng = np.random.default_rng(4)
    costs = pd.DataFrame(rng.uniform(1.0, 2.0, (100, 2)), columns=["a", "b"])
    costs.loc[:2, "a"] += 500.0
    assert any("compare logarithms" in note for note in sw.compare(costs).notes)
    assert sw.compare(costs.iloc[3:]).notes == ()
    answers = pd.DataFrame((rng.random((100, 2)) < 0.97).astype(float), columns=["a", "b"])
    assert sw.compare(answers).notes == ()


def test_q_values_are_benjamini_and_hochbergs_of_the_closed_form() -> None:
    y = pd.DataFrame(
        np.random.default_rng(7).normal(size=(30, 4)) + np.array([0.0, 0.0, 0.5, 1.0]), columns=list("abcd")
    )
    assert sw.compare(y).q == pytest.approx(sw.compare(y, "moderated bh").p_adjusted)
