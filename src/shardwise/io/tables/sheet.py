"""Files and data frames -> a sheet: named columns, and the place of every row for those who have to mend it.

Arrow reads; only what it stumbles over is read again line by line, to find the place.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from shardwise.core.arrays import Bools
from shardwise.core.claim import counted
from shardwise.core.errors import InputError
from shardwise.io.bounds import most_inside
from shardwise.io.checksums import KEY, check, fingerprint
from shardwise.io.files import bare_name, read_text
from shardwise.io.spreadsheets import unguarded
from shardwise.io.tables.column import NOTHING, Column, is_number, is_text
from shardwise.io.tables.kernels import MANY, fixed, loses_zeros
from shardwise.io.tables.words import LABELS, role_words

MORE = "…"  # in place of a cell that holds more than one value
EMPTY = "nan"  # in every cell of a column of scores that are all missing; one in which nothing stands is none
_EMPTY = [*NOTHING, "NaN", "NA", "N/A", "NULL", "None", "Null", "Nan"]


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Named columns as they stand in the source."""

    source: str
    system: str  # what to call the one system, should no column name it
    columns: Mapping[str, Column]
    place: Callable[[int], str]  # where a row stands, in words
    empty: frozenset[str] = frozenset()  # columns of scores that are all missing, and say so

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())).data) if self.columns else 0


def made(
    table: pa.Table,
    source: str,
    place: Callable[[int], str],
    *,
    system: str = "",
    comma: bool = False,
    text: bool = False,
) -> Sheet:
    """Make a sheet of a table, without the rows and nameless columns in which nothing stands."""
    names = [str(name) for name in table.column_names]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise InputError(f"two columns are called {twice!r}", where=source, remedy="rename one")
    table = pa.table([_plain(one) for one in table.columns], names=names)
    kept = [k for k, name in enumerate(names) if name or table.column(k).null_count < len(table)]
    table = table.select(kept)
    if not kept:
        raise InputError("nothing stands in it", where=source, remedy="give a table of scores")
    columns = {name: Column(name, table.column(name), comma, text) for name in table.column_names}
    blank = _blank_rows(columns.values(), len(table))
    if blank.any():
        rows, before = np.flatnonzero(~blank), place
        plain = [pc.cast(one, pa.string()) if is_text(one.type) else one for one in table.columns]
        table = pa.table(plain, names=table.column_names).take(pa.array(rows))  # no codes of rows that went
        columns = {name: Column(name, table.column(name), comma, text) for name in table.column_names}

        def place(row: int) -> str:
            return before(int(rows[row]))

    return Sheet(source, system or Path(source).stem, columns, place)


def _plain(data: pa.ChunkedArray) -> pa.ChunkedArray:
    """One kind of text for all that there are; what is no single value in a cell says nothing."""
    kind = data.type
    if pa.types.is_dictionary(kind) and pa.types.is_large_string(kind.value_type):
        return pc.cast(data, pa.dictionary(pa.int32(), pa.string()))
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return pa.chunked_array([pa.repeat(pa.scalar(MORE), len(data))])
    texts = (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_temporal)
    if not any(is_one(kind) for is_one in texts):
        return data
    try:
        return pc.cast(data, pa.string())
    except pa.ArrowNotImplementedError:  # views of strings, before Arrow could cast them
        return pa.chunked_array([data.to_pylist()], pa.string())


def _blank_rows(columns: Iterable[Column], rows: int) -> Bools:
    """Rows in which nothing stands, as spreadsheets leave them."""
    blank = np.ones(rows, dtype=bool)
    for column in columns:
        if not blank.any():
            break
        if is_text(column.data.type):
            codes, names, _ = column.labels
            blank &= codes == names.index("") if "" in names else False
        elif column.data.null_count or pa.types.is_floating(column.data.type):
            empty = pc.is_null(column.data, nan_is_null=pa.types.is_floating(column.data.type))
            blank &= empty.to_numpy()
        else:
            blank[:] = False
    return blank


def from_frame(frame: pd.DataFrame, source: str = "table") -> Sheet:
    """Make a sheet of a data frame; a named index counts as columns.

    Parameters
    ----------
    frame
        A table in memory.
    source
        What to call it in errors.
    """
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    arrays = [_array(frame.iloc[:, k]) for k in range(len(names))]
    return made(pa.table(arrays, names=names), source, lambda row: f"{source}:row {row + 1}")


def _array(column: pd.Series[Any]) -> pa.Array:
    try:
        return pa.array(column, from_pandas=True)
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
    ):  # numbers and words side by side
        return pa.array([None if value is None or value != value else str(value) for value in column])


def from_parquet(path: Path) -> Sheet:
    """Read a Parquet file."""
    blob = read_text(path)
    try:
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(blob), page_checksum_verification=True)
        about = file.metadata
        held = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        if max(held, 8 * about.num_rows * about.num_columns) > most_inside(len(blob)):
            raise pa.ArrowInvalid("it says that it holds more than a file of this size can")
        table = _coded(file, blob).read()
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
        check(_said(table), stored.decode("ascii", "replace"), str(path))
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
        return replace(from_frame(frame, str(path)), system=stem(path))
    sheet = made(table, str(path), lambda row: f"{path}:row {row + 1}", system=stem(path))
    return replace(sheet, empty=empty)


def _coded(file: pyarrow.parquet.ParquetFile, blob: bytes) -> pyarrow.parquet.ParquetFile:
    """The same file, of which texts are read as the codes that it mostly holds."""
    schema = file.schema_arrow
    texts = [one.name for one in schema if pa.types.is_string(one.type) or pa.types.is_large_string(one.type)]
    if not texts or (b"pandas" in (schema.metadata or {}) and not _as_it_is(schema.empty_table())):
        return file
    return pyarrow.parquet.ParquetFile(
        pa.BufferReader(blob), read_dictionary=texts, page_checksum_verification=True
    )


def _as_it_is(table: pa.Table) -> bool:
    """Whether a table that pandas wrote says without it all that it says with it: no index, no gaps, plain columns."""
    try:
        about = json.loads(table.schema.metadata[b"pandas"])
        rows = all(one["kind"] == "range" and one["name"] is None for one in about["index_columns"])
        heads = all(one["pandas_type"] in ("unicode", "string") for one in about["column_indexes"])
        own = {one["field_name"]: one["name"] for one in about["columns"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    told = rows and heads and list(own) == list(own.values()) == table.column_names
    return told and all(map(_is_plain, table.columns))


def _is_plain(data: pa.ChunkedArray) -> bool:
    kind = data.type.value_type if pa.types.is_dictionary(data.type) else data.type
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string)
    return not data.null_count and any(is_one(kind) for is_one in known)


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """Return a Parquet file of a table, with checksums of its pages and of all that it says."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {KEY.encode(): fingerprint(_said(table)).encode()}
    buffer = pa.BufferOutputStream()
    pyarrow.parquet.write_table(
        table.replace_schema_metadata(metadata), buffer, write_page_checksum=True, version="2.6"
    )
    return bytes(buffer.getvalue())


def _said(table: pa.Table) -> dict[str, Any]:
    """The columns of a table as arrays."""
    return {
        name: column.to_numpy()
        if pa.types.is_floating(column.type)
        else np.array(column.to_pylist(), dtype=object)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def from_excel(path: Path) -> Sheet:
    """Read the first sheet of a workbook."""
    blob = read_text(path)
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as book:
            if sum(one.file_size for one in book.infolist()) > most_inside(len(blob)):
                raise ValueError("it would inflate beyond belief")
        frame = pd.read_excel(io.BytesIO(blob), engine="openpyxl")
    except ImportError:
        raise InputError(
            "workbooks are read by openpyxl, which is not installed",
            where=str(path),
            remedy="pip install openpyxl, or save the sheet as CSV",
        ) from None
    except Exception as error:
        raise InputError(f"not a workbook ({first_line(error)})", where=str(path)) from None
    sheet = from_frame(frame, str(path))
    return replace(sheet, system=stem(path), place=lambda row: f"{path}:row {row + 2}")


def from_text(text: bytes, path: Path) -> Sheet:
    """Read CSV or TSV: separated by commas, semicolons, tabs or, failing these, spaces; the first row has the names."""
    first = next((line for line in io.BytesIO(text[: 1 << 20]) if line.strip()), b"")
    if not first:
        raise InputError("the file is empty", where=str(path), remedy="give a table of scores")
    delimiter = next((mark for mark in "\t,;" if mark.encode() in first), None)
    if delimiter == "," and first.count(b";") > first.count(b","):
        delimiter = ";"
    comma = delimiter == ";"
    header, start = _header(text, delimiter, path)
    if len(header) == 6 and header[1] in ("Q0", "0"):
        raise InputError(
            "is a run, not a table of scores",
            where=str(path),
            remedy="give the judgments first: qrels.txt and runs",
        )
    line = _line_of(text, delimiter, path)
    how: dict[str, Any] = {"system": stem(path), "comma": comma, "text": True}
    body = memoryview(text)[start:]
    if not bytes(body[: 1 << 20]).strip():
        raise InputError("the table has no rows", where=line(-1), remedy="give at least one topic")
    start_rows = _start(body, delimiter, len(header))
    try:
        if delimiter is None:
            raise pa.ArrowInvalid("nothing separates the columns")
        table = _arrow(body, header, delimiter, comma, start_rows)
    except pa.ArrowException:  # read again, which finds the place
        table = _careful(text, header, delimiter, path)
    sheet = made(table, str(path), line, **how)
    stated = [
        n for n, cells in zip(header, start_rows, strict=False) if cells == {EMPTY} and n in sheet.columns
    ]
    return replace(sheet, empty=frozenset(n for n in stated if np.isnan(sheet.columns[n].values).all()))


def _start(body: memoryview, delimiter: str | None, columns: int) -> list[set[str]]:
    """What stands in each column of the first rows, of those without quotes and line breaks in them."""
    lines = bytes(body[: 1 << 13]).decode("utf-8", "replace").splitlines()
    rows = [line.split(delimiter) for line in lines[: max(len(lines) - 1, 1)]]
    return [
        {cell.strip() for cell in cells}
        for cells in zip(*(r for r in rows if len(r) == columns), strict=True)
    ]


def _header(text: bytes, delimiter: str | None, path: Path) -> tuple[list[str], int]:
    """Names of the columns, and where the rows begin."""
    rows = _fields(io.StringIO(_decoded(text[: 1 << 20], path, cut=True)), delimiter, path)
    number, fields = next(rows, (0, []))
    if not fields:
        raise InputError("the first row has no names", where=str(path), remedy="add a header")
    header = [unguarded(name.strip()) for name in fields]
    start = -1
    for _ in range(number):
        start = text.find(b"\n", start + 1)
        if start < 0:
            start = len(text)
            break
    twice = next((name for k, name in enumerate(header) if name and name in header[:k]), None)
    if twice is not None:
        raise InputError(f"two columns are called {twice!r}", where=f"{path}:{number}", remedy="rename one")
    if all("." in name and is_number(name) for name in header):
        raise InputError(
            "the first row has numbers instead of names", where=f"{path}:{number}", remedy="add a header"
        )
    return header, min(start + 1, len(text))


def _arrow(
    body: memoryview, header: list[str], delimiter: str, comma: bool, first: Sequence[set[str]]
) -> pa.Table:
    """Read labels as the text they are; where they are plain whole numbers as these, which takes half the time."""
    seen = dict(zip(header, first, strict=False))
    labels = {name: pa.string() for name in header if role_words(name) & LABELS}
    numbers = {name: pa.int64() for name in labels if name in seen and all(map(str.isdigit, seen[name]))}
    if numbers and not _odd_zeros(body):
        try:
            table = _csv(body, header, delimiter, comma, labels | numbers)
        except pa.ArrowInvalid:  # some labels are no numbers
            return _csv(body, header, delimiter, comma, labels)
        if not any(table.column(name).null_count for name in numbers):
            return table
    return _csv(body, header, delimiter, comma, labels)


def _odd_zeros(body: memoryview) -> bool:
    """Whether some field may begin with a zero that its number would lose, as 007 and -0 do."""
    text = fixed(np.frombuffer(body, dtype=np.uint8))
    if len(text) > 1 and text[0] == ord("0") and text[1] >= ord("0"):
        return True
    if len(text) > 10 * MANY:
        return loses_zeros(text)
    before, at, after = text[:-2], text[1:-1], text[2:]
    lost = ((before < ord("0")) & (before != ord(".")) & (after >= ord("0"))) | (
        (before == ord("-")) & (after < ord("."))
    )
    return bool((lost & (at == ord("0"))).any())


def _csv(
    body: memoryview, header: list[str], delimiter: str, comma: bool, types: Mapping[str, pa.DataType]
) -> pa.Table:
    table = pyarrow.csv.read_csv(
        pa.py_buffer(body),
        read_options=pyarrow.csv.ReadOptions(column_names=header),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=b'"' in bytes(body[: 1 << 20])
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict(types),
            null_values=_EMPTY,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            decimal_point="," if comma and _has_decimal_comma(bytes(body[:4096])) else ".",
            timestamp_parsers=[],
        ),
    )
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise pa.ArrowInvalid("no text")
    return table


def _has_decimal_comma(start: bytes) -> bool:
    return any(a.isdigit() and b.isdigit() for a, b in _around(start.decode("utf-8", "replace")))


def _around(text: str) -> Iterable[tuple[str, str]]:
    return ((text[k - 1 : k], text[k + 1 : k + 2]) for k, mark in enumerate(text) if mark == ",")


def _careful(text: bytes, header: list[str], delimiter: str | None, path: Path) -> pa.Table:
    """The table row by row, with file and line where it cannot be read."""
    rows = _fields(io.StringIO(_decoded(text, path)), delimiter, path)
    next(rows)
    kept: list[list[str]] = []
    for line, fields in rows:
        if len(fields) != len(header):
            raise InputError(
                f"{counted(len(fields), 'column')} instead of {len(header)}",
                where=f"{path}:{line}",
                remedy="give every row as many columns as the header",
            )
        kept.append(fields)
    if not kept:
        raise InputError("the table has no rows", where=str(path), remedy="give at least one topic")
    return pa.table([pa.array(column, pa.string()) for column in zip(*kept, strict=True)], names=header)


def _decoded(text: bytes, path: Path, *, cut: bool = False) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        if cut and len(text) - error.start < 4:
            return text[: error.start].decode("utf-8")
        line = text[: error.start].count(b"\n") + 1
        raise InputError("not a text file in UTF-8", where=f"{path}:{line}") from None


def _fields(stream: Iterable[str], delimiter: str | None, path: Path) -> Any:
    """Line number and fields of every row that is not blank."""
    if delimiter is None:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield number, line.split()
        return
    reader = csv.reader(stream, delimiter=delimiter)
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(
            f"not a table of scores ({error})", where=str(path), remedy="check the quotes"
        ) from None


def _line_of(text: bytes, delimiter: str | None, path: Path) -> Callable[[int], str]:
    """Where a row stands in a text, found by reading up to it; -1 is the header."""

    def place(row: int) -> str:
        rows = _fields(io.StringIO(text.decode("utf-8", "replace")), delimiter, path)
        line = next(number for k, (number, _) in enumerate(rows, start=-1) if k == row)
        return f"{path}:{line}"

    return place


def from_json_lines(text: bytes, path: Path) -> Sheet:
    """Read JSON objects, one a line."""
    _decoded(text, path)
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
    return pa.table({name: _array(pd.Series(column, dtype=object)) for name, column in cells.items()})


def _single(value: Any) -> Any:
    return MORE if isinstance(value, dict | list) else value


def stem(path: Path) -> str:
    """Name of a file without its endings."""
    return Path(bare_name(path)).stem


def first_line(error: Exception) -> str:
    """What an error of another library says first."""
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
