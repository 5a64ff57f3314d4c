"""Objects of JSON, one a row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.json

from shardwise.core.errors import InputError
from shardwise.io.files import decoded
from shardwise.io.tables.sheet import MORE, Sheet, array, made, stem


def from_json_lines(text: bytes, path: Path) -> Sheet:
    """Read JSON objects, one a line."""
    decoded(text, path)
    lines = [(k, line.strip()) for k, line in enumerate(text.split(b"\n"), start=1)]
    starts = [k for k, line in lines if line]

    def place(row: int) -> str:
        return f"{path}:{starts[row]}"

    # Arrow's reader takes the process down at a line such as null
    objects = all(line.startswith(b"{") and line.endswith(b"}") for _, line in lines if line)
    try:
        if not objects:
            raise pa.ArrowInvalid("no objects")
        options = pyarrow.json.ParseOptions(newlines_in_values=False)
        table = pyarrow.json.read_json(pa.BufferReader(text), parse_options=options)
        if len(table) != len(starts):
            raise pa.ArrowInvalid("not one object a line")
    except pa.ArrowException:
        table = _table_of(list(json_lines(text, path)))
    return made(table.flatten(), str(path), place, system=stem(path))


def json_lines(text: bytes, path: Path) -> Iterable[dict[str, Any]]:
    """Yield the objects of a text that has one a line, or say which line has none."""
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.strip():
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):  # broken JSON or bytes
                found = None
            if not isinstance(found, dict):
                raise InputError(
                    "not an object of JSON", where=f"{path}:{number}", remedy="give one object a line"
                )
            yield found


def from_objects(rows: Sequence[Any], path: Path) -> Sheet:
    """Make a sheet of a list of JSON objects."""
    for row, found in enumerate(rows, start=1):
        if not isinstance(found, dict):
            raise InputError(
                "not a table of scores", where=f"{path}:row {row}", remedy="give a list of objects"
            )
    return made(_table_of(rows), str(path), lambda row: f"{path}:row {row + 1}", system=stem(path))


def _table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Objects as a table."""
    names = dict.fromkeys(name for row in rows for name in row)
    cells = {name: [_single(row.get(name)) for row in rows] for name in names}
    return pa.table({name: array(pd.Series(column, dtype=object)) for name, column in cells.items()})


def _single(value: Any) -> Any:
    return MORE if isinstance(value, dict | list) else value
