"""Other files -> a sheet: JSON of every kind, Parquet, workbooks (xlsx)."""

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
from shardwise.core.libraries import pa, pd
from shardwise.io.archive import KEY, check_hash, hash_columns
from shardwise.io.files import decode_text, lift_limit, most_inside, most_workbook_inside, read_text
from shardwise.io.tables.delimited import find_dialect, sheet_of_cells
from shardwise.io.tables.sheet import (
    INDEX,
    MORE,
    Sheet,
    first_line,
    is_text,
    make_array,
    make_sheet,
    sheet_of_frame,
    strip_endings,
)
from shardwise.io.tables.words import is_summary, is_summary_header

_ROWS = ("data", "results", "rows", "records", "samples", "items", "scores", "examples")
"""Keys below which a file keeps its rows."""
_EXACT = 2**53  # whole numbers up to which floats hold them all
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
        return _read_lines(text, path)
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


def _read_lines(text: bytes, path: Path) -> Sheet:
    """Read one object a line: by Arrow, or one by one what it cannot read."""
    import pyarrow.json

    decode_text(text, path)
    content = np.frombuffer(text.replace(b"\r\n", b"\n").rstrip() + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    starts = np.append(0, ends[:-1] + 1)
    filled = ends > starts
    numbers = np.flatnonzero(filled) + 1
    # Arrow's reader takes the process down at a line such as null
    objects = (content[starts[filled]] == ord("{")) & (content[ends[filled] - 1] == ord("}"))
    try:
        if not objects.all():
            raise pa.ArrowInvalid("no objects")
        options = pyarrow.json.ParseOptions(newlines_in_values=False)
        table = pyarrow.json.read_json(pa.BufferReader(text), parse_options=options)
        dates = [part.name for part in table.schema if pa.types.is_temporal(part.type)]
        if dates:
            # names stay as they are written
            schema = pa.schema([(name, pa.string()) for name in dates])
            options = pyarrow.json.ParseOptions(newlines_in_values=False, explicit_schema=schema)
            table = pyarrow.json.read_json(pa.BufferReader(text), parse_options=options)
        floats = [data.to_numpy() for data in table.columns if pa.types.is_floating(data.type)]
        if len(table) != len(numbers) or any((np.abs(values) >= _EXACT).any() for values in floats):
            raise pa.ArrowInvalid("not one object a line, or numbers that floats cannot hold")
    except pa.ArrowException:
        table = _table_of_rows(list(parse_json_lines(text, path)))
        numbers = np.flatnonzero([bool(line.strip()) for line in text.split(b"\n")]) + 1
    return make_sheet(table.flatten(), str(path), lambda row: f"{path}:{numbers[row]}")


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
        try:
            frame = pd.DataFrame(whole["data"], columns=whole["columns"])
            if whole.get("index") is not None:
                frame.index = pd.Index(whole["index"])
        except (ValueError, TypeError) as error:
            raise InputError(
                f"not a table of scores ({first_line(error)})", where=source, remedy="check it"
            ) from None
        return sheet_of_frame(frame, source, system=system)
    nested = [key for key, value in whole.items() if isinstance(value, dict | list) and value]
    rows = [key for key in nested if key in _ROWS and isinstance(whole[key], list)]
    rows = [key for key in rows if all(isinstance(row, dict) for row in whole[key])]
    if len(rows) == 1 and nested == rows:
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
        return make_sheet(_table_of_columns(whole), source, system=system)
    if all(isinstance(value, dict) for value in whole.values()):
        return _sheet_of_mappings(whole, source, system)
    fields = ", ".join(f"{key} ({type(value).__name__})" for key, value in list(whole.items())[:6])
    lists = [key for key in nested if isinstance(whole[key], list) and isinstance(whole[key][0], dict)]
    inner = hint = ""
    if lists:
        names = ", ".join(map(str, list(whole[lists[0]][0])[:8]))
        inner = f"; its rows may be below {lists[0]!r}, with {names}"
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
    return make_sheet(_table_of_rows(rows), source, system=system)


def _table_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return _table_of_columns({name: [row.get(name) for row in rows] for name in names})


def _table_of_columns(columns: Mapping[Any, Sequence[Any]]) -> pa.Table:
    """Lists as a table; what holds more than one value is not looked into."""
    cells = {
        str(name): [MORE if isinstance(value, dict | list) else value for value in values]
        for name, values in columns.items()
    }
    return pa.table({name: make_array(pd.Series(column, dtype=object)) for name, column in cells.items()})


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
    table = _table_of_columns({name: [inner.get(key) for key in keys] for name, inner in columns.items()})
    numbered = keys == [str(k) for k in range(len(keys))]
    if not (numbered and any(isinstance(value, str) for value in cells)):
        # the inner keys name the rows, unless they only number them
        table = table.add_column(0, INDEX, pa.array(keys, pa.string()))
    return make_sheet(table, source, lambda row: f"{source}:{keys[row]}", system=system)


# Parquet, in and out -------------------------------------------------------------------------------------------------


def read_parquet(path: Path) -> Sheet:
    """Read a Parquet file."""
    import pyarrow.parquet

    blob = read_text(path)
    try:
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(blob), page_checksum_verification=True)
        about = file.metadata
        held = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        if max(held, 8 * about.num_rows * about.num_columns) > most_inside(len(blob)):
            raise pa.ArrowInvalid("it says that it holds more than a file of this size can")
        schema = file.schema_arrow
        texts = [column.name for column in schema if is_text(column.type)]
        if texts and (b"pandas" not in (schema.metadata or {}) or _as_it_is(schema.empty_table())):
            # texts are read as the codes that the file mostly holds
            file = pyarrow.parquet.ParquetFile(
                pa.BufferReader(blob), read_dictionary=texts, page_checksum_verification=True
            )
        table = file.read()
        table.validate(full=True)
        names = table.column_names  # which may be no text
    except (OSError, ValueError, OverflowError, MemoryError, pa.ArrowException) as error:
        raise InputError(
            f"not a Parquet file ({first_line(error)})",
            where=str(path),
            remedy="it may be damaged: fetch it again",
        ) from None
    stored = (table.schema.metadata or {}).get(KEY.encode())
    empty: frozenset[str] = frozenset()
    if stored is not None:
        check_hash(_list_columns(table), stored.decode("ascii", "replace"), str(path))
        empty = frozenset(name for name in names if table.column(name).null_count == len(table))
    if b"pandas" in (table.schema.metadata or {}) and not _as_it_is(table):
        try:
            frame = table.to_pandas()
        except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
            raise InputError(
                f"cannot be read as pandas wrote it ({first_line(error)})",
                where=str(path),
                remedy="it may be damaged: fetch it again",
            ) from None
        return sheet_of_frame(frame, str(path))
    return replace(make_sheet(table, str(path)), empty=empty)


def _as_it_is(table: pa.Table) -> bool:
    """Tell whether a table of pandas reads the same without its metadata: no index, no gaps, plain columns."""
    try:
        about = json.loads(table.schema.metadata[b"pandas"])
        rows = all(entry["kind"] == "range" and entry["name"] is None for entry in about["index_columns"])
        heads = all(entry["pandas_type"] in ("unicode", "string") for entry in about["column_indexes"])
        names = {entry["field_name"]: entry["name"] for entry in about["columns"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    unchanged = rows and heads and list(names) == list(names.values()) == table.column_names
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string)
    for data in table.columns if unchanged else ():
        kind = data.type.value_type if pa.types.is_dictionary(data.type) else data.type
        if data.null_count or not any(is_one(kind) for is_one in known):
            return False
    return unchanged


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """Return a Parquet file of a table, with checksums of its pages and of all that it says."""
    import pyarrow.parquet

    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {KEY.encode(): hash_columns(_list_columns(table)).encode()}
    buffer = pa.BufferOutputStream()
    pyarrow.parquet.write_table(
        table.replace_schema_metadata(metadata), buffer, write_page_checksum=True, version="2.6"
    )
    return bytes(buffer.getvalue())


def _list_columns(table: pa.Table) -> dict[str, Any]:
    """Return the columns of a table as arrays."""
    return {
        name: column.to_numpy()
        if pa.types.is_floating(column.type)
        else np.array(column.to_pylist(), dtype=object)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


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
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
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
