"""Named columns, and the place of every row for those who have to mend it: what every kind of table becomes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from shardwise.core.arrays import Bools
from shardwise.core.errors import InputError
from shardwise.io.bounds import most_inside
from shardwise.io.files import bare_name, read_text
from shardwise.io.tables.column import Column, is_text

MORE = "…"  # in place of a cell that holds more than one value


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
    arrays = [array(frame.iloc[:, k]) for k in range(len(names))]
    return made(pa.table(arrays, names=names), source, lambda row: f"{source}:row {row + 1}")


def array(column: pd.Series[Any]) -> pa.Array:
    """A column of a data frame as Arrow has it; as text where numbers and words stand side by side."""
    try:
        return pa.array(column, from_pandas=True)
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        pa.ArrowNotImplementedError,
    ):
        return pa.array([None if value is None or value != value else str(value) for value in column])


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


def stem(path: Path) -> str:
    """Name of a file without its endings."""
    return Path(bare_name(path)).stem


def first_line(error: Exception) -> str:
    """What an error of another library says first."""
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
