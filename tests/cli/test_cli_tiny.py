"""Tables of 1 to 5 topics and 1 to 3 systems: every method and output answers, or refuses in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.methods.registry import list_procedures, parse_procedure
from shardwise.methods.tables import TABLE

SIZES = [(topics, systems) for topics in range(1, 6) for systems in range(1, 4)]
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


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_output_answers_or_refuses_in_one_line(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *options = words
    for topics, systems in SIZES:
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
