"""Other files -> a sheet: JSON of every kind, and workbooks (xlsx)."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.extras import import_extra
from shardwise.io.files import decode_text, lift_limit, most_workbook_inside, read_text
from shardwise.io.tables.delimited import find_dialect, sheet_of_cells
from shardwise.io.tables.sheet import (
    EXACT,
    INDEX,
    Column,
    Labels,
    Sheet,
    first_line,
    make_column,
    make_sheet,
    strip_endings,
)
from shardwise.io.tables.words import is_summary, is_summary_header

_ROWS = ("data", "results", "rows", "records", "samples", "items", "scores", "examples")
"""Keys below which a file keeps its rows."""
FORMULA = "=…"  # in place of a formula that was never computed
_FORMULA_TAG = re.compile(rb"<(?:\w+:)?f[\s/>]")


# JSON: rows of objects, columns of lists, what pandas writes, nested dictionaries -------------------------------------


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
    several = text.count(b"\n", 0, len(text.rstrip()))
    if lines or (several and isinstance(_parse_json(text.lstrip().split(b"\n", 1)[0]), dict)):
        decode_text(text, path)
        numbers = [k for k, line in enumerate(text.split(b"\n"), start=1) if line.strip()]
        columns = _list_fields(parse_json_lines(text, path))
        return make_sheet(columns, str(path), lambda row: f"{path}:{numbers[row]}")
    whole = _parse_json(text)
    if isinstance(whole, Exception):
        raise InputError(f"is not JSON ({first_line(whole)})", where=str(path), remedy="check it")
    return sheet_of_json(whole, str(path), strip_endings(path))


def _parse_json(text: bytes) -> Any:
    """Return a value of JSON, or why it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return error


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
            value = _parse_json(line)
            if not isinstance(value, dict):
                raise InputError(
                    "not an object of JSON", where=f"{path}:{number}", remedy="give one object a line"
                )
            yield value


class UnknownJson(InputError):
    """JSON that is no table, and no log that a reader knows."""


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
        return _sheet_of_rows(whole, source, system)
    if not isinstance(whole, dict) or not whole:
        raise InputError("not a table of scores", where=source, remedy="give a list of objects")
    if {"columns", "data"} <= whole.keys() and isinstance(whole["data"], list):
        # what pandas writes with orient="split"
        table, names = whole["data"], [str(name) for name in whole["columns"]]
        if any(not isinstance(row, list) or len(row) != len(names) for row in table):
            raise InputError(
                "not a table of scores (rows of different lengths)", where=source, remedy="check it"
            )
        columns = [make_column(name, [row[k] for row in table]) for k, name in enumerate(names)]
        index = whole.get("index") or []
        named = len(index) == len(table) and index != list(range(len(table)))
        return make_sheet([*([make_column(INDEX, index)] if named else []), *columns], source, system=system)
    nested = [key for key, value in whole.items() if isinstance(value, dict | list) and value]
    rows = [key for key in nested if key in _ROWS and isinstance(whole[key], list)]
    rows = [key for key in rows if all(isinstance(row, dict) for row in whole[key])]
    if len(rows) == 1 and all(key in rows or isinstance(whole[key], dict) for key in nested):
        return _sheet_of_rows(whole[rows[0]], source, system)
    if all(isinstance(value, list) for value in whole.values()):
        lengths = {name: len(values) for name, values in whole.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} has {size}" for name, size in list(lengths.items())[:3])
            raise InputError(
                f"lists of different lengths cannot be paired ({shown})",
                where=source,
                remedy="give {system: {item: score}}, which names the items",
            )
        return make_sheet([make_column(str(k), v) for k, v in whole.items()], source, system=system)
    if all(isinstance(value, dict) for value in whole.values()):
        return _sheet_of_mappings(whole, source, system)
    fields = ", ".join(f"{key} ({type(value).__name__})" for key, value in list(whole.items())[:6])
    lists = [key for key in nested if isinstance(whole[key], list) and isinstance(whole[key][0], dict)]
    inner = hint = ""
    if lists:
        inside = ", ".join(map(str, list(whole[lists[0]][0])[:8]))
        inner = f"; its rows may be below {lists[0]!r}, with {inside}"
        hint = f": save {lists[0]!r} alone and name its fields with --columns"
    raise UnknownJson(
        f"JSON of an unknown kind, with the fields {fields}{inner}",
        where=source,
        remedy=f"give a list of objects with item, system and score, or {{system: {{item: score}}}}{hint}",
    )


def _sheet_of_rows(rows: Sequence[Any], source: str, system: str) -> Sheet:
    """Make a sheet of a list of JSON objects."""
    for row, value in enumerate(rows, start=1):
        if not isinstance(value, Mapping):
            raise InputError(
                "not a table of scores", where=f"{source}:row {row}", remedy="give a list of objects"
            )
    return make_sheet(_list_fields(rows), source, system=system)


def _list_fields(rows: Iterable[Mapping[str, Any]]) -> list[Column]:
    """Return the fields of objects as columns, those of objects within them by both names; absent ones are empty."""
    fields: dict[str, list[Any]] = {}
    count = 0
    for row in rows:
        for name, value in row.items():
            inner = (
                {f"{name}.{key}": part for key, part in value.items()}
                if isinstance(value, dict)
                else {name: value}
            )
            for key, part in inner.items():
                cells = fields.setdefault(str(key), [])
                cells += [None] * (count - len(cells)) + [part]
        count += 1
    return [make_column(name, [*cells, *[None] * (count - len(cells))]) for name, cells in fields.items()]


def _sheet_of_mappings(whole: Mapping[Any, Mapping[Any, Any]], source: str, system: str) -> Sheet:
    """Make a sheet of {system: {item: score}}, or of columns as pandas writes them: the inner keys are rows."""
    columns = {str(name): {str(key): value for key, value in inner.items()} for name, inner in whole.items()}
    cells = [value for inner in columns.values() for value in inner.values()]
    if any(isinstance(value, Mapping | list) for value in cells):
        rows = [
            {"system": name, "item": item}
            | ({str(k): v for k, v in value.items()} if isinstance(value, Mapping) else {"score": value})
            for name, inner in columns.items()
            for item, value in inner.items()
        ]
        return _sheet_of_rows(rows, source, system)
    keys = list(dict.fromkeys(key for inner in columns.values() for key in inner))
    table = [make_column(name, [inner.get(key) for key in keys]) for name, inner in columns.items()]
    numbered = keys == [str(k) for k in range(len(keys))]
    if not (numbered and any(isinstance(value, str) for value in cells)):
        # the inner keys name the rows, unless they only number them
        table.insert(0, Column(INDEX, Labels.of_texts(keys)))
    return make_sheet(table, source, lambda row: f"{source}:{keys[row]}", system=system)


# workbooks: the one sheet that holds a table, its block of cells, its computed values --------------------------------

_Rows = list[tuple[int, list[str]]]
"""Number and texts of the rows of a sheet."""


def read_workbook(path: Path, title: str = "", decimal: str = "") -> Sheet:
    """Read the sheet of a workbook that holds scores.

    Parameters
    ----------
    path
        The file.
    title
        Which sheet to read, where several hold tables.
    decimal
        The decimal mark of numbers that were typed as text, where the caller says it.
    """
    pages = {name: rows for name, rows in _load_pages(path).items() if rows}
    if not pages:
        raise InputError("nothing stands in it", where=str(path), remedy="give a table of scores")
    if title and title not in pages:
        raise InputError(
            f"has no sheet {title!r}", where=str(path), remedy=f"it has {', '.join(pages)}", argument="sheet"
        )
    holding = [
        name for name, rows in pages.items() if sum(_is_numeric(c) for _, row in rows[1:] for c in row) > 1
    ]
    if len(holding) > 1 and not title:
        raise InputError(
            f"has {format_count(len(holding), 'sheet')} with numbers: {', '.join(holding)}",
            where=str(path),
            remedy=("choose one with ", Option("sheet", holding[0])),
        )
    chosen = title or next(iter([*holding, *pages]))
    others = ", ".join(name for name in pages if name != chosen)
    left = [f"sheet{'s' if title else ' without scores'} left out: {others}"] if others else []
    rows, notes = _keep_block(pages[chosen], path)
    numbered = [(k, cells) for k, (_, cells) in enumerate(rows, start=1)]
    dialect = find_dialect(numbered, path)
    dialect = replace(dialect, notes=(*left, *notes, *dialect.notes))
    return sheet_of_cells(rows[dialect.first_line - 1 :], dialect, path, "row ", decimal)


def _load_pages(path: Path) -> dict[str, _Rows]:
    (openpyxl,) = import_extra("xlsx", path)
    blob = read_text(path)
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as book:
            held, most = sum(member.file_size for member in book.infolist()), most_workbook_inside(len(blob))
            if held > most:
                raise InputError(
                    f"{len(blob):,} bytes inflate to over {most:,}", where=str(path), remedy=lift_limit(held)
                )
            sheets = [name for name in book.namelist() if name.startswith("xl/worksheets/")]
            formulas = any(_FORMULA_TAG.search(book.read(name)) for name in sheets)
        computed = openpyxl.load_workbook(io.BytesIO(blob), data_only=True)
        # without formulas, what was written is what was computed
        written = openpyxl.load_workbook(io.BytesIO(blob)) if formulas else computed
        # a sheet of a chart has no rows
        names = [name for name in computed.sheetnames if hasattr(computed[name], "iter_rows")]
        return {name: _load_page(computed[name], written[name]) for name in names}
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"not a workbook ({first_line(error)})", where=str(path)) from None


def _load_page(computed: Any, written: Any) -> _Rows:
    pairs = zip(computed.iter_rows(values_only=True), written.iter_rows(values_only=True), strict=True)
    rows = [
        [_format_cell(value, source) for value, source in zip(values, sources, strict=True)]
        for values, sources in pairs
    ]
    return [(number, cells) for number, cells in enumerate(rows, start=1) if any(cells)]


def _format_cell(value: Any, source: Any) -> str:
    """Return a cell as text; a formula without a value says so."""
    if value is None:
        return FORMULA if isinstance(source, str) and source.startswith("=") else ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < EXACT else repr(value)
    return str(value).strip()


def _is_numeric(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return cell == FORMULA


def _keep_block(page: _Rows, path: Path) -> tuple[_Rows, list[str]]:
    """Return the block of columns that is the table, where empty columns separate it from others beside it."""
    width = max(len(cells) for _, cells in page)
    rows = [(number, [*cells, *[""] * (width - len(cells))]) for number, cells in page]
    filled = [any(cells[k] for _, cells in rows) for k in range(width)]
    blocks: list[list[int]] = []
    for k, used in enumerate(filled):
        if used and (k == 0 or not filled[k - 1]):
            blocks.append([])
        if used:
            blocks[-1].append(k)
    texts = [[cells[k] for _, cells in rows for k in block if cells[k]] for block in blocks]
    main = max(range(len(blocks)), key=lambda b: len(texts[b]))
    notes = []
    for b in (b for b in range(len(blocks)) if b != main):
        words = [text for text in texts[b] if not _is_numeric(text)]
        sums_up = any(is_summary(word) or is_summary_header(word) for word in words)
        head = words[0] if words else f"column {blocks[b][0] + 1}"
        if not sums_up or 2 * len(texts[b]) > len(rows) * len(blocks[b]):
            raise InputError(
                f"has a second table beside the first, from {head!r} on",
                where=str(path),
                remedy="move it to a sheet of its own",
            )
        notes.append(f"summary beside the table left out: {head}")
    kept = [(number, [cells[k] for k in blocks[main]]) for number, cells in rows]
    return [(number, cells) for number, cells in kept if any(cells)], notes
