"""What a file seems to be, by its name and its first bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from shardwise.io.files import read_start
from shardwise.io.logs.registry import holds_means
from shardwise.io.scores import are_score_files

Kind = Literal["qrels", "run", "report", "results", "scores"]

START = 4096
"""Bytes that tell what a file is."""


def kind_of(path: Path) -> Kind:
    """Return what a file seems to be: qrels, run, report, results (means beside logs) or scores.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        Its kind; scores where nothing else is recognised.
    """
    start = read_start(path, START)
    if b"<html" in start[:500].lower():
        return "report"
    if path.suffix == ".json" and holds_means(path):
        return "results"
    if are_score_files([path]):
        return "scores"
    lines = [line.split() for line in start.split(b"\n")[:3] if line.strip()]
    if lines and all(len(line) == 6 for line in lines):
        return "run"
    if lines and all(len(line) == 4 and line[3].lstrip(b"-").isdigit() for line in lines):
        return "qrels"
    return "scores"


def put_qrels_first(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files with the qrels first, wherever they were given.

    The order stays as it is unless the first file is a run and exactly one of the others holds judgments.

    Parameters
    ----------
    paths : sequence of Path
        A qrels file and runs.

    Returns
    -------
    tuple of Path
        The same files.
    """
    files = [path for path in paths if path.is_file()]
    if not files or files[0] != paths[0] or kind_of(files[0]) != "run":
        return tuple(paths)
    qrels = [path for path in files[1:] if kind_of(path) == "qrels"]
    if len(qrels) != 1:
        return tuple(paths)
    return (qrels[0], *(path for path in paths if path != qrels[0]))
