"""Named columns, and the place of every row for those who have to mend it: what every kind of table becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from shardwise.core.arrays import Bools, Ints
from shardwise.core.errors import InputError
from shardwise.io.files import bare_name
from shardwise.io.tables.column import Column, is_text
from shardwise.io.tables.numerals import find_marks

MORE = "…"  # in place of a cell that holds more than one value
INDEX = ""  # name of the column that an unnamed index becomes


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Named columns as they stand in the source."""

    source: str
    system: str  # what to call the one system, should no column name it
    columns: Mapping[str, Column]
    place: Callable[[int], str]  # where a row stands, in words
    empty: frozenset[str] = frozenset()  # columns of scores that are all missing, and say so
    notes: tuple[str, ...] = ()  # what was left out or changed while it was read
    headerless: bool = False  # whether the first row is data, and columns are called by their numbers

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())).data) if self.columns else 0

    def without_rows(self, dropped: Ints) -> Sheet:
        """Return the sheet without some rows."""
        kept = np.setdiff1d(np.arange(self.rows), dropped)
        columns = {
            name: replace(column, data=_take_rows(column.data, kept)) for name, column in self.columns.items()
        }
        locate_row = self.place
        return replace(self, columns=columns, place=lambda row: locate_row(int(kept[row])))

    def without_columns(self, names: Iterable[str]) -> Sheet:
        """Return the sheet without some columns."""
        dropped = set(names)
        kept = {name: column for name, column in self.columns.items() if name not in dropped}
        return replace(self, columns=kept)


def _take_rows(data: pa.ChunkedArray, rows: Ints) -> pa.ChunkedArray:
    plain = pc.cast(data, pa.string()) if pa.types.is_dictionary(data.type) else data
    return plain.take(pa.array(rows))


def make_sheet(
    table: pa.Table,
    source: str,
    place: Callable[[int], str],
    *,
    system: str = "",
    decimal: str = "",
    mixed: bool = False,
    text: bool = False,
    notes: Sequence[str] = (),
) -> Sheet:
    """Make a sheet of a table, without the rows and nameless columns in which nothing stands.

    Parameters
    ----------
    table
        The columns.
    source
        What to call the table in errors.
    place
        Where a row stands, in words.
    system
        What to call the one system, should no column name it.
    decimal
        The decimal mark, "point" or "comma", where the caller says it.
    mixed
        Whether cells such as 1.234 may be thousands.
    text
        Whether the cells were read from text.
    notes
        What was left out or changed before.
    """
    names = [str(name).strip() for name in table.column_names]
    kept = [k for k, name in enumerate(names) if name or not _is_blank(table.column(k))]
    names, arrays = [names[k] for k in kept], [table.column(k) for k in kept]
    if not kept:
        raise InputError("nothing stands in it", where=source, remedy="give a table of scores")
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise InputError(
            f"two columns are called {twice!r}" if twice else "two columns have no name",
            where=source,
            remedy="rename one",
        )
    moments = [pa.types.is_temporal(array.type) and not pa.types.is_duration(array.type) for array in arrays]
    plain = pa.table([_simplify_column(array) for array in arrays], names=names)
    decimal = decimal or _find_decimal(plain)
    columns = {
        name: Column(name, plain.column(k), decimal, mixed, text, moments[k]) for k, name in enumerate(names)
    }
    sheet = Sheet(source, system or Path(source).stem, columns, place, notes=tuple(notes))
    blank = _blank_rows(columns.values(), len(plain))
    return sheet.without_rows(np.flatnonzero(blank)) if blank.any() else sheet


def _is_blank(data: pa.ChunkedArray) -> bool:
    if data.null_count == len(data):
        return True
    if pa.types.is_string(data.type):
        return all(not text.strip() for text in pc.unique(data).to_pylist() if text is not None)
    return False


def _find_decimal(table: pa.Table) -> str:
    """Return the decimal mark that cells of a table prove; none where they prove both."""
    proofs = set()
    for data in table.columns:
        if pa.types.is_string(data.type) and len(data):
            start = [text.strip() for text in data.slice(0, 2000).to_pylist() if text is not None]
            proofs.add(find_marks([text for text in start if text[:1] in "+-.,0123456789"]))
    proofs.discard("")
    return proofs.pop() if len(proofs) == 1 else ""


def _simplify_column(data: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text of one kind, durations in seconds, and nothing for cells that hold no single value."""
    kind = data.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_large_string(kind.value_type):
            return pc.cast(data, pa.dictionary(pa.int32(), pa.string()))
        return data if pa.types.is_string(kind.value_type) else pc.cast(data, kind.value_type)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return pa.chunked_array([pa.repeat(pa.scalar(MORE), len(data))])
    if pa.types.is_duration(kind):
        scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        return pc.divide(pc.cast(pc.cast(data, pa.int64()), pa.float64()), scale)
    if pa.types.is_decimal(kind):
        return pc.cast(data, pa.float64())
    texts = (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_temporal)
    if not any(is_one(kind) for is_one in texts):
        return data
    try:
        return pc.cast(data, pa.string())
    except pa.ArrowNotImplementedError:
        # views of strings, before Arrow could cast them
        return pa.chunked_array([data.to_pylist()], pa.string())


def _blank_rows(columns: Iterable[Column], rows: int) -> Bools:
    """Return rows in which nothing stands, as spreadsheets leave them."""
    blank = np.ones(rows, dtype=bool)
    for column in columns:
        if not blank.any():
            break
        if is_text(column.data.type):
            codes, names, _ = column.labels
            blank &= codes == list(names).index("") if "" in names else False
        elif column.data.null_count or pa.types.is_floating(column.data.type):
            empty = pc.is_null(column.data, nan_is_null=pa.types.is_floating(column.data.type))
            blank &= empty.to_numpy()
        else:
            blank[:] = False
    return blank


def sheet_of_frame(
    frame: pd.DataFrame, source: str = "table", *, system: str = "", notes: Sequence[str] = ()
) -> Sheet:
    """Make a sheet of a data frame; an index that says more than row numbers counts as columns.

    Parameters
    ----------
    frame
        A table in memory.
    source
        What to call it in errors.
    system
        What to call the one system, should no column name it.
    notes
        What was left out or changed before.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise InputError(
            "has two rows of headers",
            where=source,
            remedy="give one name a column, as in frame.columns = ['_'.join(c) for c in frame.columns]",
        )
    index = frame.index
    named = any(name is not None for name in index.names)
    if named or not (isinstance(index, pd.RangeIndex) or _counts_rows(index)):
        levels = [INDEX if name is None else str(name) for name in index.names]
        if len(levels) == 1 or named:
            taken = {str(name) for name in frame.columns}
            # a copy, because pandas warns of inserting into a frame of many blocks, such as a wide file that it read
            frame = frame.copy().reset_index(
                names=[level if level not in taken else f"{level} (index)" for level in levels]
            )
    names = [str(name) for name in frame.columns]
    arrays = [make_array(frame.iloc[:, k]) for k in range(len(names))]
    table = pa.table(arrays, names=names)
    return make_sheet(table, source, lambda row: f"{source}:row {row + 1}", system=system, notes=notes)


def _counts_rows(index: pd.Index[Any]) -> bool:
    """Tell whether an index only numbers the rows, in their order."""
    whole = pd.api.types.is_integer_dtype(index.dtype)
    return bool(whole and np.array_equal(index.to_numpy(), np.arange(len(index))))


def make_array(column: pd.Series[Any]) -> pa.Array:
    """Return a column of a data frame as Arrow has it; as text where numbers and words stand side by side."""
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([None if value is None or value != value else str(value) for value in column])


def exchange_axes(sheet: Sheet, label: str, numbers: Sequence[str]) -> Sheet:
    """Return the same table with its rows as columns, beside one called item.

    Parameters
    ----------
    sheet
        The table.
    label
        The column that names the rows.
    numbers
        The columns that become rows.
    """
    codes, names, _ = sheet.columns[label].labels
    values = np.array([sheet.columns[name].values for name in numbers])
    rows = {
        names[code]: pa.array(values[:, row], from_pandas=True) for row, code in enumerate(codes.tolist())
    }
    table = pa.table([pa.array(list(numbers), pa.string()), *rows.values()], names=["item", *rows])
    source = sheet.source
    return make_sheet(
        table, source, lambda row: f"{source}:column {numbers[row]}", system=sheet.system, notes=sheet.notes
    )


def melt_columns(sheet: Sheet, label: str, numbers: Sequence[str]) -> Sheet:
    """Return a table with a row for each number, the columns of numbers as repeats.

    Parameters
    ----------
    sheet
        The table.
    label
        The column that names the rows.
    numbers
        Columns of repeats.
    """
    codes, names, _ = sheet.columns[label].labels
    rows, locate_row = sheet.rows, sheet.place
    columns = {
        label: pa.array([names[code] for code in codes.tolist()] * len(numbers), pa.string()),
        "repeat": pa.array(np.repeat(np.array(numbers, dtype=object), rows).tolist(), pa.string()),
        "score": pa.array(np.concatenate([sheet.columns[name].values for name in numbers])),
    }
    return make_sheet(
        pa.table(list(columns.values()), names=list(columns)),
        sheet.source,
        lambda row: locate_row(row % rows),
        system=sheet.system,
    )


def join_columns(sheet: Sheet, names: Sequence[str]) -> tuple[Sheet, str]:
    """Return the table with one column in place of several, whose labels say what all of them say; and its name.

    Parameters
    ----------
    sheet
        The table.
    names
        Columns of labels.
    """
    parts = [sheet.columns[name].labels for name in names]
    keys, codes = np.unique(np.column_stack([part.codes for part in parts]), axis=0, return_inverse=True)
    labels = [
        " ".join(part.names[k] for part, k in zip(parts, key, strict=True)).strip() for key in keys.tolist()
    ]
    data = pa.DictionaryArray.from_arrays(
        pa.array(codes.ravel().astype(np.int32)), pa.array(labels, pa.string())
    )
    joined = "+".join(names)
    columns = {name: column for name, column in sheet.columns.items() if name not in names}
    return replace(sheet, columns={joined: Column(joined, pa.chunked_array([data])), **columns}), joined


def fill_down(sheet: Sheet) -> tuple[Sheet, tuple[str, ...]]:
    """Fill the labels of merged cells, where each stands once above equally many empty cells; and say so."""
    names = list(sheet.columns)
    first = sheet.columns[names[0]] if names else None
    if (
        first is None
        or len(names) < 3
        or not pa.types.is_string(first.data.type)
        or "" not in first.labels.names
    ):
        return sheet, ()
    second = sheet.columns[names[1]]
    cells = [(cell or "").strip() for cell in first.data.to_pylist()]
    starts = np.flatnonzero([bool(cell) for cell in cells])
    lengths = np.diff(np.append(starts, len(cells)))
    if len(starts) < 2 or starts[0] or lengths.min() < 2 or len(set(lengths.tolist())) > 1:
        return sheet, ()
    numeric = second.is_numeric and not second.dates
    if numeric or "" in second.labels.names or second.distinct != int(lengths[0]):
        return sheet, ()
    filled = [cells[start] for start, length in zip(starts, lengths, strict=True) for _ in range(length)]
    data = pa.chunked_array([pa.array(filled, pa.string())])
    columns = dict(sheet.columns) | {names[0]: replace(first, data=data)}
    return replace(sheet, columns=columns), (f"empty cells of {names[0]} filled from above",)


def strip_endings(path: Path) -> str:
    """Return name of a file without its endings."""
    return Path(bare_name(path)).stem


def first_line(error: Exception) -> str:
    """Return what an error of another library says first."""
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
