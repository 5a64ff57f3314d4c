"""What the shell offers, the help, and folders that hold files of others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import shardwise
from shardwise.cli.options import COMMAND_PANELS, COMMANDS

PROGRAM = [sys.executable, "-c", "from shardwise.cli.main import main; main()"]


def offered(*words: str) -> list[str]:
    """What bash would be offered for the last of the words."""
    line = " ".join(["shardwise", *words])
    variables = {"_SHARDWISE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        PROGRAM, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    return done.stdout.split("\n")[:-1] if done.stdout.endswith("\n") else done.stdout.split("\n")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("compare", "scores.csv", "--method", "moder"), "moderated"),
        (("compare", "scores.csv", "--model", "MD"), "MD6"),
        (("leaderboard", "qrels.txt", "runs", "-m", "nDC"), "nDCG@10"),
        (("calibrate", "scores.csv", "--method", "wil"), "wilcoxon"),
    ],
)
def test_names_are_offered(words: tuple[str, ...], expected: str) -> None:
    found = offered(*words)
    assert expected in found
    assert all(name.lower().startswith(words[-1].lower()) for name in found if name)


def test_the_help_names_what_most_people_need_first() -> None:
    shown = shardwise("--help").stdout
    listed = re.findall(r"^│ (\w+)  ", shown, re.M)
    assert [name for name in listed if name in COMMANDS][:3] == ["compare", "leaderboard", "paper"]
    assert {name for names in COMMAND_PANELS.values() for name in names} == set(COMMANDS)


def test_simulate_writes_over_its_own_files_alone(tmp_path: Path) -> None:
    size = ("--topics", 3, "--systems", 2, "--depth", 10, "--corpus", 200, "--out", tmp_path / "made")
    assert shardwise("simulate", *size).returncode == 0
    assert shardwise("simulate", *size, "--seed", 5).returncode == 0, "its own files"
    run = next((tmp_path / "made" / "runs").iterdir())
    run.write_text("mine\n")
    done = shardwise("simulate", *size)
    assert done.returncode == 2
    assert done.stderr == (
        f"{run}: exists already and would be overwritten; choose another folder with --out, or move it away\n"
    )
    assert run.read_text() == "mine\n"


def test_demo_refuses_a_folder_that_holds_a_report(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    done = shardwise("demo", "--out", tmp_path, "-q")
    assert done.returncode == 2
    assert "report.html: exists already" in done.stderr
    assert (tmp_path / "report.html").read_text() == "mine"
    assert not (tmp_path / "runs").exists()
