"""Many files of one folder are written by a pattern, if it matches these alone."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from shardwise.io.files import write_paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my runs").mkdir()
    for k in range(5):
        (tmp_path / "my runs" / f"r{k}.run.gz").touch()
    return tmp_path


def test_a_pattern_stands_for_exactly_these_files(folder: Path) -> None:
    files = sorted((folder / "my runs").iterdir())
    words = write_paths([folder / "qrels.txt", *files])
    assert (
        words == f"{shlex.quote(str(folder / 'qrels.txt'))} {shlex.quote(str(folder / 'my runs'))}/*.run.gz"
    )
    shown = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {words}"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.splitlines() == [str(folder / "qrels.txt"), *map(str, files)]


def test_files_are_written_out_where_others_would_match(folder: Path) -> None:
    files = sorted((folder / "my runs").iterdir())[:4]
    assert shlex.split(write_paths(files)) == [str(path) for path in files]


def test_a_few_files_are_written_out(folder: Path) -> None:
    files = sorted((folder / "my runs").iterdir())[:3]
    assert shlex.split(write_paths(files)) == [str(path) for path in files]
