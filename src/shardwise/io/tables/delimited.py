"""CSV and TSV -> a sheet.

Plain text is read by compiled code, anything else by Arrow; only what Arrow stumbles over is read again line by line,
to find the place.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from shardwise.core.arrays import Bytes
from shardwise.core.claim import counted
from shardwise.core.errors import InputError
from shardwise.io.files import Padded, decoded
from shardwise.io.spreadsheets import unguarded
from shardwise.io.tables.cells import DONE, NOT_WHOLE, NUMBER, TEXT, WHOLE, plain_columns
from shardwise.io.tables.column import NOTHING, is_number
from shardwise.io.tables.kernels import fixed, loses_zeros
from shardwise.io.tables.names import MANY
from shardwise.io.tables.sheet import Sheet, made, stem
from shardwise.io.tables.words import LABELS, role_words

EMPTY = "nan"  # in every cell of a column of scores that are all missing; one in which nothing stands is none
_EMPTY = [*NOTHING, "NaN", "NA", "N/A", "NULL", "None", "Null", "Nan"]
_TRUE, _FALSE = (["true", "True", "TRUE"], ["false", "False", "FALSE"])
_NO_TEXT = {word.lower() for word in (*_EMPTY, *_TRUE, *_FALSE, "inf", "infinity")}
"""What begins as a word does and may be none."""


def from_text(text: Padded, path: Path) -> Sheet:
    """Read CSV or TSV: separated by commas, semicolons, tabs or, failing these, spaces; the first row has the names."""
    first = next((line for line in io.BytesIO(text.head()) if line.strip()), b"")
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
    line = _line_of(text.whole(), delimiter, path)
    how: dict[str, Any] = {"system": stem(path), "comma": comma, "text": True}
    body = text.whole()[start:]
    if not bytes(body[: 1 << 20]).strip():
        raise InputError("the table has no rows", where=line(-1), remedy="give at least one topic")
    start_rows = _start(body, delimiter, len(header))
    try:
        if delimiter is None:
            raise pa.ArrowInvalid("nothing separates the columns")
        point = not (comma and _has_decimal_comma(bytes(body[:4096])))
        table = _plain(text.buffer[start:], len(body), header, delimiter, start_rows) if point else None
        if table is None:
            table = _arrow(body, header, delimiter, point, start_rows)
    except pa.ArrowException:  # read again, which finds the place
        table = _careful(text.whole(), header, delimiter, path)
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


def _header(text: Padded, delimiter: str | None, path: Path) -> tuple[list[str], int]:
    """Names of the columns, and where the rows begin."""
    head = text.head()
    rows = _fields(io.StringIO(decoded(head, path, cut=True)), delimiter, path)
    number, fields = next(rows, (0, []))
    if not fields:
        raise InputError("the first row has no names", where=str(path), remedy="add a header")
    header = [unguarded(name.strip()) for name in fields]
    start = -1
    for _ in range(number):
        before, start = start, head.find(b"\n", start + 1)
        if start < 0 and len(head) < text.size:  # a row of names longer than what was read of it
            start = bytes(text.whole()).find(b"\n", before + 1)
        if start < 0:
            start = text.size
            break
    twice = next((name for k, name in enumerate(header) if name and name in header[:k]), None)
    if twice is not None:
        raise InputError(f"two columns are called {twice!r}", where=f"{path}:{number}", remedy="rename one")
    if all("." in name and is_number(name) for name in header):
        raise InputError(
            "the first row has numbers instead of names", where=f"{path}:{number}", remedy="add a header"
        )
    return header, min(start + 1, text.size)


def _plain(
    body: Bytes, size: int, header: list[str], delimiter: str, first: Sequence[set[str]]
) -> pa.Table | None:
    """Read a long text if it is plain; None for others, and for what the first rows do not tell."""
    if size < 4 * MANY or len(first) < len(header) or len(set(header)) < len(header):
        return None
    told = [_kind(name, cells) for name, cells in zip(header, first, strict=True)]
    kinds = [kind for kind in told if kind is not None]
    if len(kinds) < len(told):
        return None
    ended, columns = plain_columns(body, size, delimiter, kinds)
    if ended == NOT_WHOLE:
        texts = [TEXT if kind == WHOLE else kind for kind in kinds]
        ended, columns = plain_columns(body, size, delimiter, texts)
    return pa.table(columns, names=header) if ended == DONE else None


def _kind(name: str, cells: set[str]) -> int | None:
    """What a column holds by its name and its first cells, as `_arrow` has it read; None where these do not tell."""
    if role_words(name) & LABELS:
        return WHOLE if all(map(str.isdigit, cells)) else TEXT
    if all(map(is_number, cells)):
        return NUMBER
    words = (cell for cell in cells if cell[:1].isalpha() and cell[:1].isascii())
    return TEXT if any(cell.lower() not in _NO_TEXT for cell in words) else None


def _arrow(
    body: memoryview, header: list[str], delimiter: str, point: bool, first: Sequence[set[str]]
) -> pa.Table:
    """Read labels as the text they are; where they are plain whole numbers as these, which takes half the time."""
    seen = dict(zip(header, first, strict=False))
    labels = {name: pa.string() for name in header if role_words(name) & LABELS}
    numbers = {name: pa.int64() for name in labels if name in seen and all(map(str.isdigit, seen[name]))}
    if numbers and not _odd_zeros(body):
        try:
            table = _csv(body, header, delimiter, point, labels | numbers)
        except pa.ArrowInvalid:  # some labels are no numbers
            return _csv(body, header, delimiter, point, labels)
        if not any(table.column(name).null_count for name in numbers):
            return table
    return _csv(body, header, delimiter, point, labels)


def _odd_zeros(body: memoryview) -> bool:
    """Whether some field may begin with a zero that its number would lose, as 007 and -0 do."""
    text = fixed(np.frombuffer(body, dtype=np.uint8))
    first = len(text) > 1 and text[0] == ord("0") and text[1] >= ord("0") and text[1] != ord(";")
    if first or bytes(body[-2:]) == b"-0":
        return True
    if len(text) > 10 * MANY:
        return loses_zeros(text)
    before, at, after = text[:-2], text[1:-1], text[2:]
    starts = ((before < ord("0")) & (before != ord("."))) | (before == ord(";"))
    lost = starts & (after >= ord("0")) & (after != ord(";"))
    lost |= (before == ord("-")) & ((after < ord(".")) | (after == ord(";")))
    return bool((lost & (at == ord("0"))).any())


def _csv(
    body: memoryview, header: list[str], delimiter: str, point: bool, types: Mapping[str, pa.DataType]
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
            true_values=_TRUE,
            false_values=_FALSE,
            decimal_point="." if point else ",",
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


def _careful(text: memoryview, header: list[str], delimiter: str | None, path: Path) -> pa.Table:
    """The table row by row, with file and line where it cannot be read."""
    rows = _fields(io.StringIO(decoded(text, path)), delimiter, path)
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


def _line_of(text: memoryview, delimiter: str | None, path: Path) -> Callable[[int], str]:
    """Where a row stands in a text, found by reading up to it; -1 is the header."""

    def place(row: int) -> str:
        rows = _fields(io.StringIO(str(text, "utf-8", "replace")), delimiter, path)
        line = next(number for k, (number, _) in enumerate(rows, start=-1) if k == row)
        return f"{path}:{line}"

    return place
