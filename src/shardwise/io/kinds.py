"""What a file seems to be, by its name and its first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from shardwise.core.errors import InputError
from shardwise.core.extras import import_extra
from shardwise.io.logs.registry import holds_means
from shardwise.io.scores import are_score_files

Kind = Literal["qrels", "run", "report", "results", "scores"]

START = 4096
"""Bytes that tell what a file is."""


OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda path: import_extra("zst", path)[0].open(path),
}


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
    start = _read_start(path)
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


def _read_start(path: Path) -> bytes:
    with path.open("rb") as stream:
        start = stream.read(START)
    opener = next((function for magic, function in OPENERS.items() if start.startswith(magic)), None)
    if opener is None:
        return start
    try:
        with opener(path) as stream:
            return bytes(stream.read(START))
    except InputError:
        raise
    except Exception:
        # Whoever reads the file says what is wrong with it.
        return b""
