"""What Arrow and pandas hold or read -> a sheet: Parquet, data frames, long texts, long files of JSON lines.

Loaded only where one of them is met: short files are read without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from shardwise.core.arrays import Ints
from shardwise.core.errors import InputError
from shardwise.io.archive import KEY, check_hash, hash_columns
from shardwise.io.files import most_inside, read_text
from shardwise.io.tables.sheet import (
    INDEX,
    MORE,
    Column,
    Labels,
    Sheet,
    first_line,
    make_sheet,
)

_NULLS = ["", "nan", "NaN", "NA", "N/A", "#N/A", "null", "NULL", "None", "none", "Null", "Nan", "<NA>", "-"]
_DIGITS = 10 ** np.arange(1, 19)  # whole numbers from which on there is one digit more
_CODED = pa.dictionary(pa.int32(), pa.string())


def sheet_of_table(table: pa.Table, source: str = "table", **options: Any) -> Sheet:
    """Make a sheet of a table of Arrow.

    Parameters
    ----------
    table
        The table.
    source
        What to call it in errors.
    **options
        Those of `make_sheet`.
    """
    columns = [
        _column_of_array(str(n), data) for n, data in zip(table.column_names, table.columns, strict=True)
    ]
    return make_sheet(columns, source, **options)


def _is_text(kind: pa.DataType) -> bool:
    """Tell whether a column holds text, perhaps coded."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


def _column_of_array(name: str, data: Any) -> Column:
    """Return an array of Arrow as a column: numbers as they are, all else as text."""
    kind, types = data.type, pa.types
    moments = types.is_temporal(kind) and not types.is_duration(kind)
    if types.is_null(kind):
        return Column(name, Labels.repeat_name("", len(data)))
    if types.is_nested(kind) or types.is_binary(kind):
        return Column(name, Labels.repeat_name(MORE, len(data)))
    if types.is_duration(kind):
        scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        data = pc.divide(pc.cast(pc.cast(data, pa.int64()), pa.float64()), scale)
    elif types.is_decimal(kind):
        data = pc.cast(data, pa.float64())
    if types.is_floating(data.type) or (types.is_integer(data.type) and data.null_count):
        return Column(name, np.asarray(pc.cast(data, pa.float64(), safe=False)))
    if types.is_integer(data.type) and not types.is_uint64(data.type):
        return Column(name, np.asarray(pc.cast(data, pa.int64())))
    # of one piece, as the dictionaries of many take long to unify
    data = data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data])
    coded = (data.unify_dictionaries() if types.is_dictionary(kind) else data).combine_chunks()
    if not isinstance(coded, pa.DictionaryArray):
        plain = (
            coded
            if types.is_string(kind) or types.is_large_string(kind)
            else pa.array(map(_spell, coded.to_pylist()))
        )
        coded = plain.dictionary_encode()
    places, names = coded.indices.cast(pa.int32()), [_spell(value) for value in coded.dictionary.to_pylist()]
    if coded.null_count:
        places, names = places.fill_null(len(names)), [*names, ""]
    labels = Labels(places.to_numpy(zero_copy_only=False), names).drop_unused()
    return Column(name, labels.clean_names(), moments=moments)


def _spell(value: Any) -> str:
    return "" if value is None or value != value else str(value)


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
    whole = isinstance(index, pd.RangeIndex) or pd.api.types.is_integer_dtype(index.dtype)
    counts = isinstance(index, pd.RangeIndex) or (whole and np.array_equal(index, np.arange(len(index))))
    if named or not counts:
        levels = [INDEX if name is None else str(name) for name in index.names]
        if len(levels) == 1 or named:
            taken = {str(name) for name in frame.columns}
            # a copy, because pandas warns of inserting into a frame of many blocks, such as a wide file that it read
            frame = frame.copy().reset_index(
                names=[level if level not in taken else f"{level} (index)" for level in levels]
            )
    columns = [
        _column_of_array(str(name), _make_array(frame.iloc[:, k])) for k, name in enumerate(frame.columns)
    ]
    return make_sheet(columns, source, system=system, notes=notes)


def _make_array(column: pd.Series[Any]) -> pa.Array:
    """Return a column of a data frame as Arrow has it; as text where numbers and words stand side by side."""
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([None if value is None or value != value else str(value) for value in column])


def read_parquet(path: Path) -> Sheet:
    """Read a Parquet file."""
    blob = read_text(path)
    try:
        file = pq.ParquetFile(pa.BufferReader(blob), page_checksum_verification=True)
        about = file.metadata
        held = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        if max(held, 8 * about.num_rows * about.num_columns) > most_inside(len(blob)):
            raise pa.ArrowInvalid("it says that it holds more than a file of this size can")
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
    if b"pandas" in (table.schema.metadata or {}):
        try:
            frame = table.to_pandas()
        except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
            raise InputError(
                f"cannot be read as pandas wrote it ({first_line(error)})",
                where=str(path),
                remedy="it may be damaged: fetch it again",
            ) from None
        return sheet_of_frame(frame, str(path))
    return replace(sheet_of_table(table, str(path)), empty=empty)


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """Return a Parquet file of a table, with checksums of its pages and of all that it says."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {KEY.encode(): hash_columns(_list_columns(table)).encode()}
    buffer = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), buffer, write_page_checksum=True, version="2.6")
    return bytes(buffer.getvalue())


def _list_columns(table: pa.Table) -> dict[str, Any]:
    """Return the columns of a table as arrays."""
    return {
        name: column.to_numpy()
        if pa.types.is_floating(column.type)
        else np.array(column.to_pylist(), dtype=object)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def read_csv(
    body: memoryview, names: Sequence[str], delimiter: str, kinds: Mapping[str, str]
) -> list[Column] | None:
    """Return the columns of a long text without its header; None where Arrow cannot read it.

    Parameters
    ----------
    body
        The rows.
    names
        The names of the columns.
    delimiter
        What separates the cells.
    kinds
        What columns hold: text, codes (text of few different cells), whole (labels) or number; others are inferred.
    """
    types = {"text": pa.string(), "whole": pa.string(), "codes": _CODED, "number": pa.float64()}
    chosen = {name: types[kind] for name, kind in kinds.items()}
    # cells that are no numbers further down are read again as text
    for column_types in (chosen, dict.fromkeys(names, pa.string())):
        try:
            table = pyarrow.csv.read_csv(
                pa.py_buffer(body),
                read_options=pyarrow.csv.ReadOptions(column_names=list(names), block_size=1 << 22),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=delimiter, newlines_in_values=b'"' in bytes(body[: 1 << 20])
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=column_types,
                    null_values=_NULLS,
                    true_values=["true", "True", "TRUE"],
                    false_values=["false", "False", "FALSE"],
                    timestamp_parsers=[],
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowException:
            continue
        if any(pa.types.is_binary(kind) for kind in table.schema.types):
            continue
        columns = []
        for name, data in zip(names, table.columns, strict=True):
            numbers = _parse_whole(data) if kinds.get(name) == "whole" else None
            columns.append(_column_of_array(name, data) if numbers is None else Column(name, numbers))
        return columns
    return None


def _parse_whole(texts: pa.Array | pa.ChunkedArray) -> Ints | None:
    """Return texts that are whole numbers in their shortest form; None where one is none, or begins with a zero."""
    try:
        numbers = pc.cast(texts, pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    digits = len(numbers) + int(np.searchsorted(_DIGITS, numbers, side="right").sum())
    shortest = (
        bool(len(numbers)) and int(numbers.min()) >= 0 and digits == pc.sum(pc.binary_length(texts)).as_py()
    )
    return np.asarray(numbers) if shortest else None
