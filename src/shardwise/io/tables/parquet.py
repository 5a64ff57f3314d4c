"""Parquet files in and out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from shardwise.core.errors import InputError
from shardwise.io.archive import KEY, check_hash, hash_columns
from shardwise.io.files import most_inside, read_text
from shardwise.io.tables.sheet import Sheet, first_line, is_text, make_sheet, sheet_of_frame, strip_endings


def read_parquet(path: Path) -> Sheet:
    """Read a Parquet file."""
    blob = read_text(path)
    try:
        file = pyarrow.parquet.ParquetFile(pa.BufferReader(blob), page_checksum_verification=True)
        about = file.metadata
        held = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        if max(held, 8 * about.num_rows * about.num_columns) > most_inside(len(blob)):
            raise pa.ArrowInvalid("it says that it holds more than a file of this size can")
        table = _read_as_codes(file, blob).read()
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
        return sheet_of_frame(frame, str(path), system=strip_endings(path))
    sheet = make_sheet(table, str(path), lambda row: f"{path}:row {row + 1}", system=strip_endings(path))
    return replace(sheet, empty=empty)


def _read_as_codes(file: pyarrow.parquet.ParquetFile, blob: bytes) -> pyarrow.parquet.ParquetFile:
    """Return the same file, of which texts are read as the codes that it mostly holds."""
    schema = file.schema_arrow
    texts = [column.name for column in schema if is_text(column.type)]
    if not texts or (b"pandas" in (schema.metadata or {}) and not _as_it_is(schema.empty_table())):
        return file
    return pyarrow.parquet.ParquetFile(
        pa.BufferReader(blob), read_dictionary=texts, page_checksum_verification=True
    )


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
    return unchanged and all(map(_is_plain, table.columns))


def _is_plain(data: pa.ChunkedArray) -> bool:
    kind = data.type.value_type if pa.types.is_dictionary(data.type) else data.type
    known = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string)
    return not data.null_count and any(is_one(kind) for is_one in known)


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """Return a Parquet file of a table, with checksums of its pages and of all that it says."""
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
