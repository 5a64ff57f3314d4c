"""A file as readers of logs look at it: its name, its first bytes, its JSON, its columns; each read once."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from shardwise.core.errors import InputError
from shardwise.io.files import bare_name, read_text
from shardwise.io.tables.formats import parse_json_lines
from shardwise.io.tables.sheet import first_line, strip_endings

HEAD = 1 << 16  # bytes of a file that tell what it is
_TEXT = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class LogSource:
    """A file that may be a log; or an object in memory that was read from one."""

    path: Path

    @property
    def ending(self) -> str:
        """The ending of its name, without that of a compression."""
        return Path(bare_name(self.path)).suffix.lower()

    @property
    def stem(self) -> str:
        """Its name without endings."""
        return strip_endings(self.path)

    @property
    def folder(self) -> Path:
        """The folder that it is in."""
        return self.path.absolute().parent

    @cached_property
    def head(self) -> bytes:
        """Its first bytes as they are stored."""
        with self.path.open("rb") as stream:
            return stream.read(HEAD)

    @cached_property
    def text(self) -> bytes:
        """All of it, uncompressed."""
        return read_text(self.path, table=True)

    @cached_property
    def first(self) -> dict[str, Any]:
        """The object of its first line; one without fields where it has none."""
        if self.ending not in (".jsonl", ".ndjson", ".json"):
            return {}
        line = self.text.lstrip().split(b"\n", 1)[0]
        return as_object(_parse_json(line))

    @cached_property
    def whole(self) -> Any:
        """Its JSON; None where it is none."""
        if self.ending != ".json" or self.text.lstrip()[:1] not in (b"{", b"["):
            return None
        return _parse_json(self.text)

    @property
    def fields(self) -> dict[str, Any]:
        """The object that its JSON is; one without fields where it is something else."""
        return as_object(self.whole)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects of its lines, or of the list that its JSON is."""
        if self.ending == ".json" and isinstance(self.whole, list):
            return [as_object(row) for row in self.whole]
        return list(parse_json_lines(self.text, self.path))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, if it is a table of text or Parquet."""
        if self.ending in (".parquet", ".pq"):
            try:
                return tuple(pyarrow.parquet.read_schema(pa.BufferReader(self.text)).names)
            except (OSError, ValueError, pa.ArrowException):
                return ()
        if self.ending in _TEXT:
            packed = self.path.suffix.lower() != self.ending
            start = self.text[:HEAD] if packed else self.head
            line = start.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace")
            try:
                return tuple(next(csv.reader([line.rstrip("\r")]), []))
            except csv.Error:
                return ()
        return ()

    def frame(self) -> pd.DataFrame:
        """Return its table."""
        try:
            if self.ending in _TEXT:
                return pd.read_csv(io.BytesIO(self.text))
            frame: pd.DataFrame = pyarrow.parquet.read_table(pa.BufferReader(self.text)).to_pandas()
            return frame
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(
                f"cannot be read ({first_line(error)})", where=str(self.path), remedy="fetch it again"
            ) from None


def _parse_json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def as_object(value: Any) -> dict[str, Any]:
    """Return what should be an object of JSON; one without fields where a stranger wrote something else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return what should be a list of JSON; an empty one where a stranger wrote something else."""
    return value if isinstance(value, list) else []
