"""Two numbers of one output do not disagree: headline and table, p-values and words, plans of two commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise

RNG = np.random.default_rng(20)
ITEMS = 60


def make_grades() -> pd.DataFrame:
    """Three systems with scores that two decimals hold."""
    base = RNG.random((ITEMS, 1))
    return pd.DataFrame(
        (0.7 * base + 0.3 * RNG.random((ITEMS, 3)) + [0.0, 0.02, 0.2]).round(2), columns=list("xyz")
    )


def make_gaps() -> pd.DataFrame:
    """The same with a fifth of the scores of two systems missing."""
    table = make_grades()
    table.loc[::5, "x"] = np.nan
    table.loc[1::5, "z"] = np.nan
    return table


def make_errors() -> pd.DataFrame:
    """Word error rates, of which less is better."""
    return make_grades().rename(columns={"x": "asr1_wer", "y": "asr2_wer", "z": "asr3_wer"})


def make_copies() -> pd.DataFrame:
    """Right or wrong, one system twice."""
    right = (RNG.random((ITEMS, 2)) < [0.4, 0.6]).astype(int)
    return pd.DataFrame({"x": right[:, 0], "y": right[:, 0], "z": right[:, 1]})


def make_constant() -> pd.DataFrame:
    """The same score everywhere."""
    return pd.DataFrame(0.5, index=range(ITEMS), columns=list("xyz"))


TABLES = {
    "grades": make_grades(),
    "two systems": make_grades()[["x", "z"]],
    "gaps": make_gaps(),
    "errors": make_errors(),
    "copies": make_copies(),
    "constant": make_constant(),
    "two items": make_grades().head(2),
}


@pytest.fixture(params=TABLES)
def table_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    TABLES[request.param].rename_axis("question").to_csv(path)
    return path


def read_number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def test_the_headline_is_the_difference_of_the_printed_means(table_file: Path) -> None:
    """Or the output says why it is not; intervals hold their difference, and significant ones do not hold 0."""
    done = shardwise("compare", table_file)
    assert done.returncode == 0, done.stderr
    text = done.stdout + done.stderr
    head = done.stdout.splitlines()[0]
    systems = shardwise("compare", table_file, "--table", "systems", "--format", "json")
    rows = json.loads(systems.stdout)["rows"]
    means = sorted(row["mean"] for row in rows)
    shown = re.findall(r"([+−]?\d+\.\d+) ?\w*[ ,(]+95% CI ([>−]?[\d.]+) to ([<−]?[\d.]+)", head)
    assert shown or "p = " in head
    for difference, lower, upper in shown:
        number = abs(read_number(difference))
        gaps = [abs(a - b) for a in means for b in means]
        assert min(abs(number - gap) for gap in gaps) < 0.0011 or "may deviate" in text
        low, high = (read_number(limit.strip("<>")) for limit in (lower, upper))
        assert low <= read_number(difference) <= high
        if "significantly" in head and not re.search("tied: difference|not significant", head):
            assert not low < 0.0 < high
    smallest = re.search(r"any gap of ([\d.]+) or more is significant", text)
    if smallest:
        assert float(smallest[1]) > 0.0
    # one line tells of missing scores beside what was read
    assert sum("missing" in line for line in text.splitlines()) <= 2
    assert "p ≤ 0.05" not in text


def test_no_p_value_above_the_level_stands_beside_significant(table_file: Path) -> None:
    """In the JSON of pairs, and in the verdicts of gates; items are needed where a verdict is open alone."""
    pairs = json.loads(shardwise("compare", table_file, "--table", "pairs", "--format", "json").stdout)[
        "rows"
    ]
    for pair in pairs:
        if pair["p_adjusted"] is not None and pair["lower"] is not None:
            significant = pair["p_adjusted"] <= 0.05
            assert not (significant and pair["lower"] < 0.0 < pair["upper"])
            assert significant or pair["lower"] <= 0.0 <= pair["upper"]
    names = list(pd.read_csv(table_file).columns[1:3])
    for base, new in (names, names[::-1]):
        done = shardwise(
            *("gate", table_file, "--baseline", base, "--new", new, "--margin", "0.05", "--format", "json")
        )
        if done.returncode == 2:
            continue
        (row,) = json.loads(done.stdout)["rows"]
        assert (row["needed"] is None) == (row["verdict"] != "inconclusive") or row[
            "verdict"
        ] == "inconclusive"
        if row["verdict"] in ("better", "worse"):
            assert row["p"] <= 0.05
            assert not row["lower"] < 0.0 < row["upper"]
        if not pd.read_csv(table_file).isna().to_numpy().any():
            assert row["difference"] == pytest.approx(row["mean_new"] - row["mean_base"], abs=1e-12)


def test_two_commands_plan_the_same(tmp_path: Path) -> None:
    """Items and samples that a difference takes, by `design power` and by `design repeats`."""
    rows = [
        (f"q{i}", model, sample, int(RNG.random() < chance))
        for i in range(40)
        for model, chance in (("a", 0.5), ("b", 0.55), ("c", 0.7))
        for sample in range(3)
    ]
    path = tmp_path / "samples.csv"
    pd.DataFrame(rows, columns=["question", "model", "sample", "correct"]).to_csv(path, index=False)
    plans = [
        json.loads(shardwise("design", kind, path, "--min-diff", "0.1", "--format", "json").stdout)["rows"]
        for kind in ("power", "repeats")
    ]
    assert plans[0] == plans[1]
    assert len(plans[0]) > 1


def test_differences_that_people_correct_are_said_to_deviate() -> None:
    """Means and differences of a judge with labels are corrected by themselves."""
    human = RNG.normal([0.6, 0.5, 0.2], 0.1, (80, 3))
    judge = human + RNG.normal(0.05, 0.05, human.shape)
    human[20:] = np.nan
    scores = sw.judges.with_human(pd.DataFrame(judge), pd.DataFrame(human))
    assert "differences may deviate from those of the means" in str(sw.analyze(scores))
