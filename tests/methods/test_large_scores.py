"""A huge score of a third system changes the difference of two others by nothing, whatever the method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shardwise as sw
from shardwise.methods.registry import list_procedures, parse_procedure
from shardwise.methods.tables import TABLE

METHODS = {
    procedure.method.name: procedure.name
    for procedure in map(parse_procedure, list_procedures())
    if TABLE in procedure.layouts and procedure.correction != "dunnett"
}
OTHERS = ("ppi", "mcnemar", "bradley-terry")  # which need scores by people, right and wrong, or votes
ALONE = [name for name in ("t none", "wilcoxon none", "sign none") if name in list_procedures()]
"""Tests of a pair by its own scores alone."""


def compare_first_two(values: np.ndarray, method: str) -> pd.Series:
    names = pd.Index([f"q{k}" for k in range(len(values))], name="topic")
    pairs = sw.compare(pd.DataFrame(values, columns=list("abc"), index=names), method).to_frame()
    pair = pairs[pairs.a.isin(["a", "b"]) & pairs.b.isin(["a", "b"])].iloc[0]
    return pair.rename({"difference": "size"}).replace({"size": abs(pair.difference)})


@pytest.mark.parametrize("method", [*(name for key, name in METHODS.items() if key not in OTHERS), *ALONE])
@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 999), power=st.integers(3, 15), sign=st.sampled_from([-1.0, 1.0]))
def test_differences_keep_their_digits(method: str, seed: int, power: int, sign: float) -> None:
    values = np.random.default_rng(seed).random((12, 3)).round(3)
    huge = values.copy()
    huge[seed % 12, 2] = sign * 10.0**power
    before, after = compare_first_two(values, method), compare_first_two(huge, method)
    assert after["size"] == pytest.approx(before["size"], rel=1e-9, abs=1e-12)
    if method in ALONE:
        assert after.p == before.p
