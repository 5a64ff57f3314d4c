"""The numbers of the app are those of the command line, field by field."""

from __future__ import annotations

import csv
import io
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app_server import Served, strip_paths
from command_line import shardwise
from shardwise.app.examples import EXAMPLES
from shardwise.writing.embedded import read_report

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parents[2] / "src" / "shardwise" / "app" / "examples"
VOTES = ("model_a", "model_b", "winner", "question")


def write_votes(path: Path) -> list[Path]:
    """Votes between three models on 40 questions."""
    rng = random.Random(3)
    strength = {"a": 0.0, "b": 0.5, "c": 1.1}
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(VOTES)
        for question in range(40):
            for a, b in (("a", "b"), ("b", "c"), ("a", "c")):
                chance = 0.5 + (strength[a] - strength[b]) / 4
                out.writerow([a, b, "model_a" if rng.random() < chance else "model_b", f"q{question}"])
    return [path]


def write_runs(folder: Path) -> list[Path]:
    """Runs of four systems with their judgments."""
    made = shardwise("simulate", "--out", folder, "--topics", "12", "--systems", "4", "--depth", "20", "-q")
    assert made.returncode == 0, made.stderr
    return [folder / "qrels.txt", *sorted((folder / "runs").iterdir())]


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "repeats": ("models", {"repeats": "samples"}),
    "named method": ("trec3", {"method": "t holm", "alpha": 0.1, "baseline": ["sys1", "sys8"]}),
    "shards": ("runs", {"shards": 2, "measure": ["P@10"], "corpus": 600_000}),
    "votes": ("votes", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_the_command_line(served: Served, tmp_path: Path, name: str) -> None:
    source, choices = CASES[name]
    if source in EXAMPLES:
        files = [FOLDER / EXAMPLES[source].file]
    else:
        files = write_runs(tmp_path) if source == "runs" else write_votes(tmp_path / "votes.csv")
    found = served.done(served.send(*files), **choices)
    assert (found["state"], found["message"]) == ("done", "")
    typed: list[object] = []
    for option, value in choices.items():
        for part in value if isinstance(value, list) else [value]:
            typed += [f"--{option}", part]

    def fetch(result: str) -> Any:
        return served.ask("GET", f"/api/analyses/{found['id']}/results/{result}")

    # everything in the report: claims, systems, pairs, variances, power, remarks, sentences, hashes
    page = tmp_path / "report.html"
    report = shardwise("compare", *files, *typed, "--calibration", "0", "--report", page)
    assert report.returncode == 0, report.stderr
    expected, result = read_report(page), served.ask("GET", f"/api/analyses/{found['id']}/result")
    assert strip_paths(result) == strip_paths(expected)
    inputs = {"scores": "", "qrels": "", "runs": ""}
    mine, theirs = (tomllib.loads(part["recipe"]["toml"])["compare"] for part in (result, expected))
    assert mine | inputs == theirs | inputs
    shown = tmp_path / "shown.html"
    shown.write_bytes(fetch("report.html").content)
    assert strip_paths(read_report(shown)) == strip_paths(expected)
    # every number of every pair, as --format json has it
    told = json.loads(shardwise("compare", *files, *typed, "-f", "json", "-q").stdout)
    pairs = list(csv.DictReader(io.StringIO(fetch("pairs.csv").text)))
    assert len(pairs) == len(told["rows"])
    for here, there in zip(pairs, told["rows"], strict=True):
        assert list(here) == list(there)
        for field, value in there.items():
            same = here[field] == value if isinstance(value, str) else float(here[field] or "nan") == value
            assert same or (value is None and not here[field]), (field, here[field], value)
    assert result["answer"] == told["answer"]
    # the leaderboard, and the table of the page, which is that of the terminal
    board = shardwise("leaderboard", *files, *typed, "-f", "csv", "-q")
    assert fetch("leaderboard.csv").text == board.stdout
    summary = json.loads((served.folder / "analyses" / found["id"] / "results" / "summary.json").read_text())
    (measure,) = summary["measures"]
    lines = [line.split() for line in report.stdout.splitlines()]
    for row in measure["table"]["rows"]:
        assert " ".join(row).split() in lines
