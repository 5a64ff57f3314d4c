"""What is needed to repeat an analysis: the command and its options, inputs by hash, versions."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

import shardwise
from shardwise.core.errors import InputError
from shardwise.core.scores import Scores

LIBRARIES = ("numpy", "scipy", "xarray", "pandas", "altair")


@dataclass(frozen=True, slots=True)
class Hashed:
    """One input file: its name, size in bytes, SHA-256, and its path as it was given."""

    name: str
    size: int
    sha256: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The command that an analysis was made by, so that it can be made again."""

    command: tuple[str, ...]  # such as ("compare",)
    arguments: tuple[str, ...]  # as typed
    toml: str  # inputs and options of the command, defaults written out

    @property
    def command_line(self) -> str:
        """The command line, quoted as a shell reads it.

        >>> Recipe(("compare",), ("compare", "my scores.csv"), "").command_line
        "shardwise compare 'my scores.csv'"
        """
        return shlex.join(("shardwise", *self.arguments))


def hash_files(paths: Iterable[str | os.PathLike[str]]) -> tuple[Hashed, ...]:
    """Read each file once and take its SHA-256."""
    # Most analyses hash no file, so these are loaded here.
    from shardwise.io.run_tables import IRDS
    from shardwise.io.stores import is_store, store_hash

    files = []
    for item in paths:
        path = Path(item)
        if str(item).startswith(IRDS):  # a name, not a file
            continue
        if path.is_fifo():
            raise InputError(
                "is a pipe, and what was read from it is gone",
                where=str(path),
                remedy="write it to a file: a report names its inputs by their hash",
            )
        try:
            if is_store(path):
                files.append(Hashed(path.name, *store_hash(path), str(item)))
                continue
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            files.append(Hashed(path.name, path.stat().st_size, digest, str(item)))
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror})", where=str(path), remedy="check the path"
            ) from None
    return tuple(files)


def scores_hash(scores: Scores) -> str:
    """SHA-256 of the names of dimensions and labels and of all values, whatever file they came from.

    >>> from shardwise.core.scores import as_scores
    >>> table = as_scores(np.array([[.5, .25]]))
    >>> scores_hash(table) == scores_hash(as_scores(np.array([[.5, .25]], dtype="float32")))
    True
    """
    digest = hashlib.sha256()
    for dimension in scores.dims:
        digest.update("\x1f".join([dimension, *scores.labels[dimension]]).encode("utf-8", "surrogatepass"))
        digest.update(b"\x1e")
    digest.update(np.ascontiguousarray(scores.values, dtype="<f8").tobytes())
    return digest.hexdigest()


def list_versions() -> dict[str, str]:
    """List the versions of the program, of Python and of the libraries that the numbers depend on."""
    installed = {name: metadata.version(name) for name in LIBRARIES}
    return {"shardwise": shardwise.__version__, "Python": platform.python_version(), **installed}
