"""A file as readers of logs look at it: its name, its first bytes, its JSON, its columns; each read once."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.files import bare_name, read_text
from shardwise.io.tables.formats import parse_json_lines
from shardwise.io.tables.sheet import first_line, strip_endings

HEAD = 1 << 16  # bytes of a file that tell what it is
_TEXT = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")


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
    def first_of_list(self) -> dict[str, Any]:
        """The first object of the list that its JSON is; one without fields where it is something else."""
        return as_object(next(iter(as_list(self.whole)), None))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The objects of its lines, or of the list that its JSON is."""
        if self.ending == ".json" and isinstance(self.whole, list):
            return [as_object(row) for row in self.whole]
        return list(parse_json_lines(self.text, self.path))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, if it is a table of text or Parquet."""
        if self.ending in _PARQUET:
            try:
                return tuple(_load_parquet().read_schema(io.BytesIO(self.text)).names)
            except (OSError, ValueError):
                return ()
        if self.ending not in _TEXT:
            return ()
        packed = self.path.suffix.lower() != self.ending
        start = self.text[:HEAD] if packed else self.head
        line = start.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace")
        try:
            return tuple(next(csv.reader([line.rstrip("\r")]), []))
        except csv.Error:
            return ()

    def list_rows(self, *columns: str) -> list[dict[str, Any]]:
        """Return the rows of its table, of these columns of Parquet or of all."""
        try:
            if self.ending in _TEXT:
                frame = import_module("pandas").read_csv(io.BytesIO(self.text))
                rows: list[dict[str, Any]] = frame.to_dict("records")
            else:
                table = _load_parquet().read_table(io.BytesIO(self.text), columns=list(columns) or None)
                rows = table.to_pylist() if columns else table.to_pandas().to_dict("records")
            return rows
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot be read ({first_line(error)})", where=str(self.path), remedy="fetch it again"
            ) from None


def _load_parquet() -> Any:
    """Return Arrow's reader of Parquet, loaded where it is needed."""
    return import_module("pyarrow.parquet")


def _parse_json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_json_file(path: Path) -> dict[str, Any]:
    """Return the object that a small file beside a log holds; one without fields where it cannot be read."""
    try:
        return as_object(_parse_json(path.read_bytes()))
    except OSError:
        return {}


def as_object(value: Any) -> dict[str, Any]:
    """Return what should be an object of JSON; one without fields where a stranger wrote something else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return what should be a list of JSON; an empty one where a stranger wrote something else."""
    return value if isinstance(value, list) else []
