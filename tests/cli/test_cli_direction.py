"""What options say of scores changes what every command prints; answers stand beside files too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import shardwise

SYSTEMS = ("asr1", "asr2", "asr3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Errors, grades and costs of three systems, of which the first is best: its errors are lowest."""
    rng = np.random.default_rng(4)
    errors, grades, costs = ["utt,system,wer"], ["question,a,b"], ["task,agent,accuracy,cost"]
    base = rng.uniform(0.1, 0.5, 40)
    for k in range(40):
        for m, name in enumerate(SYSTEMS):
            errors.append(f"u{k},{name},{base[k] + 0.06 * m + rng.normal(0, 0.03):.4f}")
            costs.append(f"t{k},{name},{int(rng.random() < 0.6)},{2 + 0.5 * m + rng.random():.3f}")
        first, second = rng.choice([4, 5], 2)
        grades.append(f"q{k},{first},{second}")
    monkeypatch.chdir(tmp_path)
    for name, lines in {"errors.csv": errors, "grades.csv": grades, "costs.csv": costs}.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "plain.csv").write_text("\n".join(errors).replace("wer", "points") + "\n")
    return tmp_path


def ask(*words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shardwise(*words, "--format", "json").stdout)
    return found


def test_every_command_puts_the_lowest_error_first(folder: Path) -> None:
    for command in ("compare", "leaderboard", "paper"):
        printed = shardwise(command, "errors.csv").stdout
        assert printed.startswith("Best: asr1 (wer "), command
        assert "lower is better: wer" in printed.splitlines()[1], command
    board = ask("leaderboard", "errors.csv")
    assert [row["system"] for row in board["rows"]] == list(SYSTEMS)
    assert [row["rank"] for row in board["rows"]] == [1, 2, 3]
    assert board["lower_is_better"] is True
    (pair, *_) = ask("compare", "errors.csv")["rows"]
    assert (pair["a"], pair["b"]) == ("asr1", "asr2")
    assert pair["difference"] < 0
    table = (folder / "paper" / "table.tex").read_text()
    assert r"asr1 & \textbf{" in table
    assert "Lower is better: wer." in table
    assert "wer (lower is better)" in (folder / "paper" / "methods.tex").read_text()
    shardwise("compare", "errors.csv", "--report", "report.html", "--calibration", "0")
    assert "lower is better: wer" in (folder / "report.html").read_text()


def test_the_pair_of_a_gate_and_of_compare_have_the_better_one_first(folder: Path) -> None:
    two = shardwise("compare", "errors.csv", "--only", "asr2", "--only", "asr1").stdout
    assert two.startswith("asr1 has a significantly lower wer than asr2: −0.0")
    assert shardwise("gate", "errors.csv", "--baseline", "asr2", "--new", "asr1").returncode == 0
    assert shardwise("gate", "errors.csv", "--baseline", "asr1", "--new", "asr2").returncode == 3
    against = shardwise("compare", "errors.csv", "--baseline", "asr2").stdout
    assert against.startswith("asr1 is significantly better than asr2 (−")
    assert [line.split()[-1] for line in against.splitlines() if line.startswith("asr")][1:] == ["▲", "▼"]


@pytest.mark.parametrize(
    ("command", "option", "before", "after"),
    [
        ("compare", "--lower-is-better", "Best: asr3", "Best: asr1"),
        ("leaderboard", "--lower-is-better", "Best: asr3", "Best: asr1"),
        ("paper", "--lower-is-better", "Best: asr3", "Best: asr1"),
        ("compare", "--higher-is-better", "Best: asr1", "Best: asr3"),
        ("leaderboard", "--higher-is-better", "Best: asr1", "Best: asr3"),
        ("paper", "--higher-is-better", "Best: asr1", "Best: asr3"),
    ],
)
def test_declared_directions_turn_the_answer(
    folder: Path, command: str, option: str, before: str, after: str
) -> None:
    file = "plain.csv" if option.startswith("--lower") else "errors.csv"
    assert shardwise(command, file).stdout.startswith(before)
    assert shardwise(command, file, option).stdout.startswith(after)


def test_a_gate_follows_declared_directions(folder: Path) -> None:
    words = ("gate", "plain.csv", "--baseline", "asr2", "--new", "asr1")
    assert shardwise(*words).returncode == 3
    assert shardwise(*words, "--lower-is-better").returncode == 0
    assert shardwise("gate", "errors.csv", *words[2:], "--higher-is-better").returncode == 3


def test_both_directions_are_refused(folder: Path) -> None:
    done = shardwise("compare", "errors.csv", "--lower-is-better", "--higher-is-better")
    assert done.returncode == 2
    assert "remove one of the two" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_reading_says_which_scores_are_better(folder: Path) -> None:
    assert "; higher is better" in shardwise("compare", "plain.csv").stdout
    assert "; lower is better: wer" in shardwise("compare", "errors.csv").stdout


def test_measures_beside_the_scores_can_be_named(folder: Path) -> None:
    assert "asr1" in shardwise("compare", "costs.csv", "-m", "cost").stdout.splitlines()[0]
    one, other = (
        ask("compare", "costs.csv", *words)["rows"] for words in (("-m", "cost"), ("--columns", "score=cost"))
    )
    assert one == other
    board = ask("leaderboard", "costs.csv", "-m", "cost", "-m", "accuracy")
    assert board["rows"][0]["system"] == "asr1"
    assert "accuracy" in board["measures"]


@pytest.mark.parametrize("command", ["compare", "leaderboard"])
def test_ranges_change_intervals_and_are_said(folder: Path, command: str) -> None:
    words = (command, "grades.csv", "--table", "systems") if command == "compare" else (command, "grades.csv")
    plain, wide = ask(*words), ask(*words, "--range", "0,50")
    assert "Scores taken to lie on 1–5; --range says otherwise." in plain["notes"]
    assert not any("taken to lie" in note for note in wide["notes"])
    assert [row["mean"] for row in plain["rows"]] == [row["mean"] for row in wide["rows"]]
    assert all(a["upper"] != b["upper"] for a, b in zip(plain["rows"], wide["rows"], strict=True))


def test_a_gate_follows_the_range(folder: Path) -> None:
    words = ("gate", "grades.csv", "--baseline", "a", "--new", "b", "--margin", "0.5")
    (plain,), (wide,) = (ask(*words, *more)["rows"] for more in ((), ("--range", "0,50")))
    assert plain["mean_new"] == wide["mean_new"]
    assert plain["p"] != wide["p"]
    assert plain["lower"] != wide["lower"]


def test_scores_outside_the_range_are_refused_with_their_file(folder: Path) -> None:
    done = shardwise("compare", "grades.csv", "--range", "1,4")
    assert done.returncode == 2
    assert done.stderr.startswith("grades.csv: score: a score of 5 lies outside the range 1 to 4")
    assert len(done.stderr.splitlines()) == 1


def test_logarithms_keep_the_direction(folder: Path) -> None:
    assert shardwise("compare", "errors.csv", "--read", "log", "--exclude", "asr3").stdout.startswith("asr1 ")


@pytest.mark.parametrize(
    "option",
    [("--margin", "0.5"), ("--alpha", "0.2"), ("--power", "0.95"), ("--read", "log"), ("--method", "t none"),
     ("--exclude", "u3")],
)  # fmt: skip
def test_options_of_a_gate_change_its_row(folder: Path, option: tuple[str, str]) -> None:
    words = ("gate", "errors.csv", "--baseline", "asr1", "--new", "asr2", "--margin", "0.05")
    plain = ask(*words)
    changed = ask(*words, *option)
    assert {**plain, "notes": []} != {**changed, "notes": []}


def test_answers_stand_beside_files(folder: Path) -> None:
    done = shardwise("gate", "errors.csv", "--baseline", "asr2", "--new", "asr1", "--out", "gate.json")
    assert "PASS" in done.stdout
    assert json.loads((folder / "gate.json").read_text())["passes"] is True
    for name in ("board.csv", "board.html"):
        done = shardwise("leaderboard", "errors.csv", "--out", name)
        assert done.stdout.startswith("Best: asr1")
        assert shardwise("leaderboard", "errors.csv", "--out", name, "-q").stdout == ""
