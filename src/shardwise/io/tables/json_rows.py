"""JSON -> a sheet: rows of objects, columns of lists, what pandas writes, nested dictionaries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.json

from shardwise.core.arrays import Ints
from shardwise.core.errors import InputError
from shardwise.io.files import decode_text
from shardwise.io.tables.sheet import (
    INDEX,
    MORE,
    Sheet,
    first_line,
    make_array,
    make_sheet,
    sheet_of_frame,
    strip_endings,
)

_ROWS = ("data", "results", "rows", "records", "samples", "items", "scores", "examples")
"""Keys below which a file keeps its rows."""
_EXACT = 2**53  # whole numbers up to which floats hold them all


def read_json(text: bytes, path: Path, *, lines: bool = False) -> Sheet:
    """Read a file of JSON, or of one object a line.

    Parameters
    ----------
    text
        The content of the file.
    path
        The file.
    lines
        Whether its ending says that it has one object a line.
    """
    first = text.lstrip().split(b"\n", 1)[0]
    if lines or (_is_object(first) and text.count(b"\n", 0, len(text.rstrip()))):
        return _read_lines(text, path)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON ({first_line(error)})", where=str(path), remedy="check it") from None
    return sheet_of_json(whole, str(path), strip_endings(path))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _read_lines(text: bytes, path: Path) -> Sheet:
    decode_text(text, path)
    # Arrow's reader takes the process down at a line such as null
    numbers, objects = _find_objects(text)
    try:
        if not objects:
            raise pa.ArrowInvalid("no objects")
        options = pyarrow.json.ParseOptions(newlines_in_values=False)
        table = pyarrow.json.read_json(pa.BufferReader(text), parse_options=options)
        dates = [part.name for part in table.schema if pa.types.is_temporal(part.type)]
        if dates:
            # names stay as they are written
            schema = pa.schema([(name, pa.string()) for name in dates])
            options = pyarrow.json.ParseOptions(newlines_in_values=False, explicit_schema=schema)
            table = pyarrow.json.read_json(pa.BufferReader(text), parse_options=options)
        if len(table) != len(numbers) or _loses_digits(table):
            raise pa.ArrowInvalid("not one object a line, or numbers that floats cannot hold")
    except pa.ArrowException:
        table = _table_of(list(parse_json_lines(text, path)))
        numbers = np.flatnonzero([bool(line.strip()) for line in text.split(b"\n")]) + 1
    return make_sheet(
        table.flatten(), str(path), lambda row: f"{path}:{numbers[row]}", system=strip_endings(path)
    )


def _find_objects(text: bytes) -> tuple[Ints, bool]:
    """Return the numbers of the lines that hold something, and whether each of them is an object by its ends."""
    content = np.frombuffer(text.replace(b"\r\n", b"\n").rstrip() + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    starts = np.append(0, ends[:-1] + 1)
    filled = ends > starts
    objects = (content[starts[filled]] == ord("{")) & (content[ends[filled] - 1] == ord("}"))
    return np.flatnonzero(filled) + 1, bool(objects.all())


def _loses_digits(table: pa.Table) -> bool:
    """Tell whether whole numbers became floats that are not exact."""
    floats = [data.to_numpy() for data in table.columns if pa.types.is_floating(data.type)]
    return any(bool((np.abs(values) >= _EXACT).any()) for values in floats)


def parse_json_lines(text: bytes, path: Path) -> Iterable[dict[str, Any]]:
    """Yield the objects of a text that has one a line, or say which line has none.

    Parameters
    ----------
    text
        The content of the file.
    path
        The file, for errors.
    """
    for number, line in enumerate(text.split(b"\n"), start=1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                # broken JSON or bytes
                value = None
            if not isinstance(value, dict):
                raise InputError(
                    "not an object of JSON", where=f"{path}:{number}", remedy="give one object a line"
                )
            yield value


def sheet_of_json(whole: Any, source: str, system: str) -> Sheet:
    """Make a sheet of a value of JSON: rows, columns, or a table as pandas writes it.

    Parameters
    ----------
    whole
        The value.
    source
        What to call it in errors.
    system
        What to call the one system, should nothing name it.
    """
    if isinstance(whole, list):
        return sheet_of_rows(whole, source, system)
    if not isinstance(whole, dict) or not whole:
        raise InputError("not a table of scores", where=source, remedy="give a list of objects")
    if {"columns", "data"} <= whole.keys() and isinstance(whole["data"], list):
        return _sheet_of_split(whole, source, system)
    rows = [
        key
        for key in _ROWS
        if isinstance(whole.get(key), list) and all(isinstance(r, dict) for r in whole[key])
    ]
    rows = [key for key in rows if whole[key]]
    if len(rows) == 1 and not any(
        isinstance(v, dict | list) and k != rows[0] and v for k, v in whole.items()
    ):
        return sheet_of_rows(whole[rows[0]], source, system)
    if all(isinstance(value, list) for value in whole.values()):
        return _sheet_of_columns(whole, source, system)
    if all(isinstance(value, dict) for value in whole.values()):
        return sheet_of_mappings(whole, source, system)
    raise _refuse_json(whole, source)


class UnknownJson(InputError):
    """JSON that is no table, and no log that a reader knows."""


def _refuse_json(whole: Mapping[str, Any], source: str) -> InputError:
    """Return the refusal of JSON of an unknown kind, with the fields that it has."""
    fields = ", ".join(f"{key} ({type(value).__name__})" for key, value in list(whole.items())[:6])
    lists = [key for key, value in whole.items() if isinstance(value, list) and value]
    rows = next((key for key in lists if isinstance(whole[key][0], dict)), "")
    inner = hint = ""
    if rows:
        inner = f"; its rows may be below {rows!r}, with {', '.join(map(str, list(whole[rows][0])[:8]))}"
        hint = f": save {rows!r} alone and name its fields with --columns"
    return UnknownJson(
        f"JSON of an unknown kind, with the fields {fields}{inner}",
        where=source,
        remedy=f"give a list of objects with item, system and score, or {{system: {{item: score}}}}{hint}",
    )


def sheet_of_rows(rows: Sequence[Any], source: str, system: str) -> Sheet:
    """Make a sheet of a list of JSON objects.

    Parameters
    ----------
    rows
        The objects.
    source
        What to call them in errors.
    system
        What to call the one system, should nothing name it.
    """
    for row, value in enumerate(rows, start=1):
        if not isinstance(value, Mapping):
            raise InputError(
                "not a table of scores", where=f"{source}:row {row}", remedy="give a list of objects"
            )
    return make_sheet(_table_of(rows), source, lambda row: f"{source}:row {row + 1}", system=system)


def _table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Objects as a table."""
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return _table_of_columns({name: [row.get(name) for row in rows] for name in names})


def _table_of_columns(columns: Mapping[Any, Sequence[Any]]) -> pa.Table:
    """Lists as a table."""
    cells = {str(name): [_is_single(value) for value in values] for name, values in columns.items()}
    return pa.table({name: make_array(pd.Series(column, dtype=object)) for name, column in cells.items()})


def _is_single(value: Any) -> Any:
    return MORE if isinstance(value, dict | list) else value


def _sheet_of_split(whole: Mapping[str, Any], source: str, system: str) -> Sheet:
    """Return what pandas writes with orient="split"."""
    try:
        frame = pd.DataFrame(whole["data"], columns=whole["columns"])
        if whole.get("index") is not None:
            frame.index = pd.Index(whole["index"])
    except (ValueError, TypeError) as error:
        raise InputError(
            f"not a table of scores ({first_line(error)})", where=source, remedy="check it"
        ) from None
    return sheet_of_frame(frame, source, system=system)


def _sheet_of_columns(whole: Mapping[str, Sequence[Any]], source: str, system: str) -> Sheet:
    """Return columns as lists, all of one length."""
    lengths = {name: len(values) for name, values in whole.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {size}" for name, size in list(lengths.items())[:3])
        raise InputError(
            f"lists of different lengths cannot be paired ({shown})",
            where=source,
            remedy="give {system: {item: score}}, which names the items",
        )
    return make_sheet(_table_of_columns(whole), source, lambda row: f"{source}:row {row + 1}", system=system)


def sheet_of_mappings(whole: Mapping[Any, Mapping[Any, Any]], source: str, system: str) -> Sheet:
    """Make a sheet of dictionaries in a dictionary: the outer keys are columns, the inner ones rows.

    Parameters
    ----------
    whole
        ``{system: {item: score}}``, or columns as pandas writes them.
    source
        What to call it in errors.
    system
        What to call the one system, should nothing name it.
    """
    deep = any(isinstance(value, Mapping | list) for inner in whole.values() for value in inner.values())
    if deep:
        rows = [
            {"system": str(name), "item": str(item), **_flatten_cell(value)}
            for name, inner in whole.items()
            for item, value in inner.items()
        ]
        return sheet_of_rows(rows, source, system)
    columns = {str(name): {str(key): value for key, value in inner.items()} for name, inner in whole.items()}
    keys = list(dict.fromkeys(key for inner in columns.values() for key in inner))
    table = _table_of_columns({name: [inner.get(key) for key in keys] for name, inner in columns.items()})
    numbered = keys == [str(k) for k in range(len(keys))]
    texts = any(isinstance(value, str) for inner in whole.values() for value in inner.values())
    if not (numbered and texts):
        # the inner keys name the rows, unless they only number them
        table = pa.table(
            {INDEX: pa.array(keys, pa.string())} | dict(zip(columns, table.columns, strict=True))
        )
    return make_sheet(table, source, lambda row: f"{source}:{keys[row]}", system=system)


def _flatten_cell(value: Any) -> dict[str, Any]:
    """Return the fields of a cell that is an object; a score where it is none."""
    if isinstance(value, Mapping):
        return {str(name): _is_single(part) for name, part in value.items()}
    return {"score": _is_single(value)}
