"""A huge score of a third system changes the difference of two others by nothing, whatever the method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shardwise as sw
from shardwise.methods.names import list_procedures, parse_procedure
from shardwise.methods.tables import TABLE

METHODS = {
    procedure.method.name: procedure.name
    for procedure in map(parse_procedure, list_procedures())
    if TABLE in procedure.layouts and procedure.correction != "dunnett" and not procedure.method.of_ranks
}
OTHERS = ("ppi", "mcnemar", "bradley-terry")  # which need scores by people, right and wrong, or votes
ALONE = (
    "t none", "wilcoxon none", "sign none", "randomization none", "bootstrap none", "unpaired-t none", "welch none",
    "games-howell", "max-t",
)  # fmt: skip
"""Tests whose p-value of a pair, before any correction, rests on its own scores alone."""


def compare_first_two(values: np.ndarray, method: str, baseline: str | None = None) -> pd.Series:
    names = pd.Index([f"q{k}" for k in range(len(values))], name="topic")
    pairs = sw.compare(
        xr.DataArray(values, {"topic": list(names), "system": list("abc")}, ("topic", "system")),
        method,
        baseline=baseline,
    ).to_frame()
    pair = pairs[pairs.a.isin(["a", "b"]) & pairs.b.isin(["a", "b"])].iloc[0]
    return pair.rename({"difference": "size"}).replace({"size": abs(pair.difference)})


def put_score(values: np.ndarray, row: int, size: float) -> np.ndarray:
    """A copy in which the third system has a score of this size."""
    huge = values.copy()
    huge[row, 2] = size
    return huge


def test_tests_of_a_pair_alone_exist() -> None:
    assert set(ALONE) <= set(list_procedures())


# two examples a method and those that once failed: each is a whole comparison, some with resampling
@pytest.mark.parametrize(
    "method", sorted({*(METHODS[name] for name in METHODS if name not in OTHERS), *ALONE})
)
@settings(max_examples=2)
@given(seed=st.integers(0, 999), power=st.integers(3, 30), sign=st.sampled_from([-1.0, 1.0]))
@example(seed=5, power=14, sign=1.0)
@example(seed=0, power=17, sign=1.0)
def test_differences_keep_their_digits(method: str, seed: int, power: int, sign: float) -> None:
    values = np.random.default_rng(seed).random((12, 3)).round(3)
    huge = put_score(values, seed % 12, sign * 10.0**power)
    before, after = compare_first_two(values, method), compare_first_two(huge, method)
    assert after["size"] == pytest.approx(before["size"], rel=1e-9, abs=1e-12)
    if method in ALONE:
        assert after.p == before.p


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_moderated_test_keeps_its_p_values_once_another_system_is_huge(seed: int, gaps: bool) -> None:
    """The pooled variance makes a difference nothing, and more of it cannot make it less than that."""
    values = np.random.default_rng(seed).random((12, 3)).round(3)
    if gaps:
        values[[1, 5, 7], [0, 1, 2]] = np.nan
    for baseline in (None, "b"):
        large, huge, largest = (
            compare_first_two(put_score(values, 4, size), "moderated", baseline) for size in (1e7, 1e14, 1e20)
        )
        for other in (huge, largest):
            assert other[["p", "p_adjusted"]].tolist() == pytest.approx(
                large[["p", "p_adjusted"]].tolist(), abs=1e-3
            )
