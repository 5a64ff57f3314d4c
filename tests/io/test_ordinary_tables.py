"""Ordinary tables of systems are read, whatever their numbers look like."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw

Y = np.random.default_rng(0).random((20, 3))
TABLES = {
    "copies of one system": {f"s{k}": Y[:, 0] for k in range(3)},
    "two systems alike": {"a": Y[:, 0], "b": Y[:, 0], "c": Y[:, 1]},
    "a system half way between others": {f"s{k}": Y[:, 0] + 0.1 * k for k in range(3)},
    "one that never succeeds": {"a": Y[:, 0], "zero": np.zeros(20)},
    "one that never succeeds beside two": {"a": Y[:, 0], "b": Y[:, 1], "zero": np.zeros(20)},
    "one that is always right": {"a": Y[:, 0], "b": Y[:, 1], "gpt": np.ones(20)},
    "levels far apart": {"a": Y[:, 0] * 0.05, "b": Y[:, 1] * 0.04, "good": 0.5 + 0.5 * Y[:, 2]},
}


@pytest.mark.parametrize("name", TABLES)
def test_it_is_read(name: str) -> None:
    table = sw.as_scores(pd.DataFrame(TABLES[name]))
    assert list(table.systems) == list(TABLES[name])


@pytest.mark.parametrize("measure", ["ap", "p10", "rr"])
def test_public_tables_of_runs_are_read(data: Path, measure: str) -> None:
    table = sw.read_scores(data / "trec8" / f"adhoc8_{measure}.csv")
    assert dict(table.sizes) == {"topic": 50, "system": 129}


def test_a_good_system_named_by_its_costs_is_not_the_maximum_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    right = ["yyyy", "ynyy", "yyyn", "ynyy", "ynyy", "yyyy", "ynyn", "nyyy", "nnyn", "nnnn"]
    rows = [f"q{k}," + ",".join({"y": "yes", "n": "no"}[cell] for cell in row) for k, row in enumerate(right)]
    path.write_text("\n".join(["question,mean-pooling,best-of-8,cost-aware,token-free", *rows]) + "\n")
    scores = sw.read_scores(path)
    assert scores["system"].to_numpy().tolist() == ["mean-pooling", "best-of-8", "cost-aware", "token-free"]
    assert float(scores.sel(system="cost-aware").mean()) == 0.9
