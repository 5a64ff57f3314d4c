"""Paths as somebody would type them: many files of one folder by a pattern."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

FEW = 3
"""Files of a folder that are written out."""


def write_paths(paths: Iterable[Path | str]) -> str:
    """Write paths for a command line, many files of one folder by a pattern that matches these and no others.

    Parameters
    ----------
    paths : iterable of Path or str
        Files and folders, in the order of the command line.

    Returns
    -------
    str
        Words for a shell, quoted where they must be.

    >>> write_paths(["qrels.txt", "my runs"])
    "qrels.txt 'my runs'"
    """
    given = [Path(path) for path in paths]
    words: list[str] = []
    for folder in dict.fromkeys(path.parent for path in given):
        files = [path for path in given if path.parent == folder]
        pattern = _find_pattern(folder, files) if len(files) > FEW else ""
        words += [pattern] if pattern else [shlex.quote(str(path)) for path in files]
    return " ".join(words)


def _find_pattern(folder: Path, files: list[Path]) -> str:
    """Return the pattern of all files with one ending, or of all in the folder; empty where others would match too."""
    for ending in ("".join(files[0].suffixes), files[0].suffix, ""):
        matched = {path for path in folder.glob(f"*{ending}") if not path.name.startswith(".")}
        if matched == set(files):
            start = "" if folder == Path() else f"{shlex.quote(str(folder))}/"
            return f"{start}*{ending}"
    return ""
