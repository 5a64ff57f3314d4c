"""A gate over several measures and slices: all must pass, one row each, one verdict."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Two systems that are alike but on one category, where the new one loses; its latency is that of the old one."""
    rng = np.random.default_rng(8)
    rows = []
    for i in range(600):
        category = ("code", "math", "qa", "rare")[min(i // 200, 2) if i < 597 else 3]
        level = rng.random()
        for model in ("old", "new"):
            right = level < (0.3 if (model, category) == ("new", "code") else 0.8)
            rows.append((f"q{i}", category, model, int(right), 100.0 + 10.0 * level + rng.normal()))
    return pd.DataFrame(rows, columns=["question", "category", "model", "correct", "latency_ms"])


@pytest.fixture(scope="module")
def files(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("requirements")
    frame.to_csv(folder / "both.csv", index=False)
    for model in ("old", "new"):
        frame[frame["model"] == model].drop(columns="model").to_csv(folder / f"{model}.csv", index=False)
    return folder


def test_one_measure_may_pass_while_another_fails(files: Path) -> None:
    asked = (
        "gate",
        files / "both.csv",
        "--baseline",
        "old",
        "--new",
        "new",
        "-m",
        "correct",
        "-m",
        "latency_ms",
    )
    done = shardwise(*asked, "--margin", "correct=0.02", "--margin", "latency_ms=2", "-f", "json")
    assert done.returncode == 3
    content = json.loads(done.stdout)
    assert content["passes"] is False
    verdicts = {row["measure"]: (row["verdict"], row["passes"]) for row in content["rows"]}
    assert verdicts == {"correct": ("worse", False), "latency_ms": ("no worse", True)}
    for name, margin in (("correct", 0.02), ("latency_ms", 2.0)):
        alone = sw.gate("old", "new", scores=sw.read_scores(files / "both.csv", measure=name), margin=margin)
        row = next(row for row in content["rows"] if row["measure"] == name)
        assert (row["difference"], row["lower"], row["p"]) == (alone.difference, alone.lower, alone.p)


def test_two_files_are_judged_by_several_measures_and_a_margin_must_be_there(files: Path) -> None:
    asked = ("gate", files / "old.csv", files / "new.csv", "-m", "latency_ms", "-m", "correct")
    done = shardwise(*asked, "--margin", "latency_ms=2", "--margin", "0.9")
    assert done.returncode == 0
    assert done.stdout.startswith("✅ PASS: all 2 requirements met.")
    done = shardwise(*asked, "--margin", "latency_ms=2")
    assert done.returncode == 2
    assert "correct has no margin; add one: --margin correct=0.01" in done.stderr


def test_a_slice_that_gets_worse_fails_and_is_named_in_the_comment(files: Path) -> None:
    asked = ("gate", files / "old.csv", files / "new.csv", "-m", "correct", "--margin", "0.3")
    assert shardwise(*asked).returncode == 0
    done = shardwise(*asked, "--by", "category", "-f", "markdown")
    assert done.returncode == 3
    assert done.stdout.startswith("❌ FAIL: 1 of 4 requirements not met: correct on code.")
    assert "On code: new is significantly worse than old" in done.stdout
    assert "not tested (too few items): rare" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("| correct |")]
    assert [row.split(" | ")[1] for row in rows] == ["", "code", "math", "qa"]


def test_slices_share_one_level(frame: pd.DataFrame) -> None:
    found = sw.gate("old", "new", scores=frame, margin={"correct": 0.1}, by="category")
    of_slices = [one for one in found.each if one.slice]
    assert [one.slice for one in of_slices] == ["code", "math", "qa"]
    assert {round(one.alpha, 6) for one in of_slices} == {round(0.05 / 3, 6)}
    assert found.each[0].alpha == 0.05
    assert found.untested == ("rare",)
    assert [one.passes for one in of_slices] == [False, True, True]


def test_equal_systems_rarely_fail_on_a_slice() -> None:
    rng = np.random.default_rng(2)
    fails = 0
    for _ in range(60):
        y = rng.random((160, 2)) < 0.7
        table = pd.DataFrame({"item": range(160), "category": np.repeat(list("abcd"), 40)})
        table[["old", "new"]] = y.astype(float)
        found = sw.gate("old", "new", scores=table, margin=0.05, by="category")
        fails += any(not one.passes for one in found.each if one.slice)
    assert fails <= 6


def test_other_methods_take_one_measure(files: Path) -> None:
    asked = ("gate", files / "old.csv", files / "new.csv", "-m", "correct", "--by", "category")
    done = shardwise(*asked, "--method", "t")
    assert done.returncode == 2
    assert "--method takes one measure and no slices" in done.stderr
