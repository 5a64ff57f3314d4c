"""Tables of 1 to 5 topics and 1 to 3 systems: every method and output answers, or refuses in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.methods.names import list_procedures, parse_procedure
from shardwise.methods.tables import TABLE

SIZES = [(topics, systems) for topics in range(1, 6) for systems in range(1, 4)]
SOME = [(1, 1), (1, 3), (2, 1), (2, 2), (3, 3), (5, 3)]
"""Sizes of which each is refused or answered for a reason of its own."""
METHODS = {
    procedure.method.name: procedure.name
    for procedure in map(parse_procedure, list_procedures())
    if TABLE in procedure.layouts and procedure.correction != "dunnett"
}
COMMANDS = [
    ("compare", "--format", "text"),
    ("compare", "--format", "json"),
    ("compare", "--format", "csv"),
    ("compare", "--format", "latex"),
    ("compare", "--format", "markdown"),
    ("compare", "--format", "html"),
    ("compare", "--table", "pairs"),
    ("compare", "--baseline", "a"),
    ("compare", "--report", "report.html", "--calibration", "0"),
    ("compare", "--chart", "chart.svg"),
    ("leaderboard", "--out", "board.html"),
    ("gate", "--new", "a", "--baseline", "b", "--margin", "0.1"),
    ("design power", "--min-diff", "0.1"),
    ("stability",),
    ("paper", "--out", "paper"),
]

FEW = [(1, 2), (2, 1), (2, 2), (3, 2), (5, 3)]
"""Sizes for what takes longer."""
SLOWER = [
    ("calibrate t.csv --repetitions 10", 3),
    ("replicate f19 t.csv --out out", 2),
    ("replicate v17 t.csv --out out", 2),
    ("replicate s14 t.csv --out out", 2),
    ("replicate ff21 t.csv --out out", 2),
    ("replicate j15 t.csv --out out", None),
    ("design interval t.csv", 2),
    ("design repeats t.csv --min-diff 0.1", None),
    ("score made/qrels.txt made/runs --out scores.csv", 1),
    ("score made/qrels.txt made/runs --shards 2 --splits 2 --out scores.csv", 1),
    ("compare made/qrels.txt made/runs --shards 2", 2),
    ("stability made/qrels.txt made/runs --shards 2 --splits 3", 2),
    ("design pools made/qrels.txt made/runs --pool 5", 2),
    ("design budget made/qrels.txt made/runs --pool 5 --budget 100", 2),
]
"""Commands, and the fewest topics with which they answer; None where such a table lacks what they need."""


def make_table(topics: int, systems: int) -> pd.DataFrame:
    values = np.random.default_rng(topics).random((topics, systems)).round(2)
    names = pd.Index([f"q{k}" for k in range(topics)], name="topic")
    return pd.DataFrame(values, columns=list("abc")[:systems], index=names)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_method_answers_or_refuses_in_one_line(method: str) -> None:
    refusals: list[str] = []
    for topics, systems in SIZES:
        table = make_table(topics, systems)
        try:
            pairs = sw.compare(table, method).to_frame()
        except InputError as error:
            refusals.append(str(error))
            continue
        assert len(pairs) == systems * (systems - 1) // 2
        assert pairs["p_adjusted"].between(0.0, 1.0).all()
        known = pairs.dropna(subset=["lower", "upper"])
        assert ((known.lower <= known.difference) & (known.difference <= known.upper)).all()
    assert not any("\n" in text for text in refusals)


@pytest.mark.parametrize("sizes", [SOME, pytest.param(SIZES, marks=pytest.mark.full)], ids=["some", "all"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_output_answers_or_refuses_in_one_line(
    words: tuple[str, ...],
    sizes: list[tuple[int, int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command, *options = words
    for topics, systems in sizes:
        folder = tmp_path / f"{topics}x{systems}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        make_table(topics, systems).to_csv("t.csv")
        done = shardwise(*command.split(), "t.csv", *options)
        if done.returncode == 2:
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
            assert not done.stdout
            assert [path.name for path in folder.iterdir()] == ["t.csv"]
        else:
            # a gate that fails has 1, an inconclusive one 3
            assert done.returncode in ((0, 1, 3) if command == "gate" else (0,)), done.stderr
            assert topics > 1
            assert systems > 1
    # the largest is answered; stability needs splits
    assert done.returncode != 2 or command == "stability", done.stderr


@pytest.mark.parametrize(("line", "fewest"), SLOWER, ids=[line for line, _ in SLOWER])
def test_every_command_answers_or_refuses_in_one_line(
    line: str, fewest: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for topics, systems in FEW:
        folder = tmp_path / f"{topics}x{systems}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        make_table(topics, systems).to_csv("t.csv")
        sizes = ("--topics", topics, "--systems", systems, "--depth", 10, "--corpus", "300,relevant=3")
        made = shardwise("simulate", *sizes, "--out", "made", "--quiet")
        assert made.returncode == 0, made.stderr
        before = set(folder.iterdir())
        done = shardwise(*line.split())
        enough = fewest is not None and topics >= fewest and (systems > 1 or line.startswith("score"))
        assert done.returncode == (0 if enough else 2), (topics, systems, done.stderr)
        if not enough:
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
            assert not done.stdout
            assert set(folder.iterdir()) == before


def test_a_tiny_report_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_table(2, 2).to_csv("t.csv")
    made = shardwise("compare", "t.csv", "--report", "report.html", "--calibration", "0")
    assert made.returncode == 0, made.stderr
    again = shardwise("repeat", "report.html")
    assert again.returncode == 0, again.stderr
