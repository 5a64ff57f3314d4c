"""Scores of any length as blocks of items, so that nothing longer than a block is ever in memory.

A table in files, in a database or in chunks is read from its beginning to its end, once. What its columns are is
understood from its first rows, by the rules for tables that are read whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.dataset
import xarray as xr

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, refuse_absent_file
from shardwise.core.extras import require_for_files
from shardwise.io.stores import ENDING, read_store
from shardwise.io.tables.arrow import sheet_of_table
from shardwise.io.tables.facts import Columns, Reading
from shardwise.io.tables.readings import choose_reading
from shardwise.io.tables.sheet import first_line

AHEAD = 4  # batches that Arrow reads while others are worked on
FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".csv": "csv", ".tsv": "csv",
}  # fmt: skip
LAZY = (".nc", ".nc4", ENDING)
Block = Callable[[], Iterable[Floats]]  # (systems, items) pieces


@dataclass(frozen=True, slots=True)
class Blocks:
    """Items block by block, NaN where a score is missing; blocks come in order, and may be read side by side."""

    systems: tuple[str, ...]
    each: Iterator[Block]
    item: str = "topic"  # the user's word
    source: str = "table"


def open_blocks(
    source: Any, *, columns: Columns | None = None, systems: Sequence[str] = (), rows: int
) -> Blocks:
    """Open scores for reading block by block.

    Parameters
    ----------
    source
        A Parquet, Arrow, CSV or TSV file, a folder of Parquet files, a NetCDF file or Zarr store, a .npy file; a
        dataset, table or reader of Arrow; a DataArray, also of Dask; an array of items by systems.
    columns
        Which column is what, as `read_scores` takes it.
    systems
        Names of the systems, for arrays that do not have them.
    rows
        Items of a block.
    """
    if isinstance(source, str | os.PathLike):
        return _of_path(Path(source), columns, systems, rows)
    if isinstance(source, xr.DataArray):
        return _of_array(source, rows)
    if isinstance(source, pa.Table | pa.RecordBatch):
        source = pa.dataset.dataset(source)
    if isinstance(source, pa.dataset.Dataset):
        return _of_dataset(source, columns, rows, "dataset")
    if hasattr(source, "read_next_batch"):
        return _of_batches(iter(source), columns, "reader")
    if isinstance(source, pd.DataFrame):
        return open_blocks(pa.Table.from_pandas(source), columns=columns, rows=rows)
    if isinstance(source, np.ndarray) or hasattr(source, "__array__"):
        return _of_rows(np.asanyarray(source), systems, rows, "array")
    raise InputError(
        f"a {type(source).__name__} cannot be read block by block",
        remedy="give a file, an Arrow dataset or reader, an array, or a DataArray",
    )


def _of_path(path: Path, columns: Columns | None, systems: Sequence[str], rows: int) -> Blocks:
    if not path.exists():
        raise refuse_absent_file(path)
    require_for_files([path])
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _of_numbers(path, systems, rows)
    if suffix in LAZY:
        return _of_array(_open_lazily(path, suffix), rows, str(path))
    kind = "parquet" if path.is_dir() else FORMATS.get(suffix)
    if kind is None:
        raise InputError(
            "cannot be read block by block",
            where=str(path),
            remedy=f"give {', '.join((*FORMATS, '.npy', *LAZY))}",
        )
    form: Any = kind
    if suffix == ".tsv":
        form = pa.dataset.CsvFileFormat(parse_options=pa.csv.ParseOptions(delimiter="\t"))
    try:
        return _of_dataset(pa.dataset.dataset(path, format=form), columns, rows, str(path))
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _refuse_unreadable(path, error) from None


def _of_numbers(path: Path, systems: Sequence[str], rows: int) -> Blocks:
    """Open an array in a file, whose rows workers read."""
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _refuse_unreadable(path, error) from None
    streamed = _of_rows(mapped, systems, rows, str(path))
    if not mapped.flags.c_contiguous:
        return streamed
    width, kind, start = mapped.shape[1], mapped.dtype, mapped.offset

    def read_rows(first: int, count: int) -> Iterable[Floats]:
        # not by the map, whose pages are gone where the file is cut short meanwhile
        flat = np.fromfile(path, kind, count * width, offset=start + first * width * kind.itemsize)
        if len(flat) < count * width:
            raise InputError("ends too early", where=str(path), remedy="fetch it again")
        return [np.asarray(flat.reshape(count, width).T, np.float64)]

    each = (
        partial(read_rows, first, min(rows, len(mapped) - first)) for first in range(0, len(mapped), rows)
    )
    return replace(streamed, each=each)


def _refuse_unreadable(path: Path | str, error: Exception) -> InputError:
    return InputError(f"cannot be read ({first_line(error)})", where=str(path), remedy="check the file")


def _open_lazily(path: Path, suffix: str) -> xr.DataArray:
    try:
        data = read_store(path) if suffix == ENDING else xr.open_dataset(path, engine="h5netcdf")
    except InputError:
        raise
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise _refuse_unreadable(path, error) from None
    names = [str(name) for name in data.data_vars]
    if len(names) != 1:
        raise InputError(
            f"holds {format_count(len(names), 'measure')}", where=str(path), remedy="give one of them"
        )
    return data[names[0]]


def _of_array(scores: xr.DataArray, rows: int, source: str = "scores") -> Blocks:
    if set(scores.dims) != {"topic", "system"}:
        raise InputError(
            f"scores by {', '.join(map(str, scores.dims))} cannot be read block by block",
            where=source,
            remedy="give scores by topic and system",
        )
    labels = (
        scores["system"].to_numpy() if "system" in scores.coords else range(1, scores.sizes["system"] + 1)
    )
    names = tuple(map(str, labels))
    chunks = scores.chunks and dict(zip(scores.dims, scores.chunks, strict=True))["topic"]
    edges = np.cumsum([0, *chunks]) if chunks else np.arange(0, scores.sizes["topic"] + rows, rows)

    def read_each() -> Iterator[Block]:
        for first, stop in pairwise(edges.tolist()):
            part = scores.isel(topic=slice(first, stop)).transpose("system", "topic")
            yield partial(_hold_block, part.to_numpy())

    return Blocks(names, read_each(), str(scores.attrs.get("topic_noun", "topic")), source)


def _of_rows(y: Any, systems: Sequence[str], rows: int, source: str) -> Blocks:
    if y.ndim != 2 or y.dtype.kind not in "fiub":
        raise InputError("is not an array of items by systems", where=source, remedy="give two dimensions")
    names = tuple(map(str, systems)) or tuple(str(k + 1) for k in range(y.shape[1]))
    if len(names) != y.shape[1]:
        raise InputError(
            f"{format_count(len(names), 'name')} for {format_count(y.shape[1], 'column')}",
            where=source,
            argument="systems",
        )
    starts = range(0, len(y), rows)
    return Blocks(names, (partial(_hold_block, y[k : k + rows].T) for k in starts), source=source)


def _hold_block(columns: Any) -> Iterable[Floats]:
    """Return a block that is in memory already."""
    return [np.asarray(columns, np.float64)]


def _of_dataset(data: Any, columns: Columns | None, rows: int, source: str) -> Blocks:
    head = data.head(rows)
    reading = _choose_reading(head, columns, source)
    batches = data.to_batches(
        columns=_list_wanted(reading), batch_size=rows, batch_readahead=AHEAD, fragment_readahead=1
    )

    def guard_batches() -> Iterator[Any]:
        try:
            yield from batches
        except (pa.ArrowException, OSError) as error:
            raise _refuse_unreadable(source, error) from None

    return _read_blocks(head, reading, guard_batches(), source)


def _of_batches(batches: Iterator[Any], columns: Columns | None, source: str) -> Blocks:
    first = next(batches, None)
    if first is None:
        raise InputError("holds no rows", where=source, remedy="give rows")
    head = pa.Table.from_batches([first])
    reading = _choose_reading(head, columns, source)
    wanted = _list_wanted(reading)
    return _read_blocks(head, reading, (batch.select(wanted) for batch in chain([first], batches)), source)


def _choose_reading(head: Any, columns: Columns | None, source: str) -> Reading:
    if not head.num_rows:
        raise InputError("holds no rows", where=source, remedy="give rows")
    return choose_reading(sheet_of_table(head, source), columns)


def _list_wanted(reading: Reading) -> list[str]:
    if reading.wide:
        return list(reading.scores)
    if len(reading.scores) != 1 or "system" not in reading.roles:
        raise InputError(
            f"holds {format_count(len(reading.scores), 'score')} a row",
            remedy=("choose one with ", Option("columns", "score=…")),
        )
    others = set(reading.roles) - {"topic", "system", "value", "cluster", "task"}
    if others:
        raise InputError(
            f"has a column of {', '.join(sorted(others))}, but only items and systems can be streamed",
            remedy="average over it first",
        )
    return [reading.roles["topic"], reading.roles["system"], reading.scores[0]]


def _read_blocks(head: Any, reading: Reading, batches: Iterable[Any], source: str) -> Blocks:
    item = reading.nouns.get("topic", "topic")
    if reading.wide:
        each = (partial(_read_wide, batch, source) for batch in batches if batch.num_rows)
        return Blocks(reading.scores, each, item, source)
    systems = tuple(map(str, dict.fromkeys(head.column(reading.roles["system"]).to_pylist())))
    return Blocks(systems, _read_long(batches, systems, source), item, source)


def _read_wide(batch: Any, source: str) -> Iterable[Floats]:
    """Return the columns of a batch beside each other."""
    return [np.stack([_convert_floats(column, source) for column in batch.columns])]


def _convert_floats(column: Any, source: str) -> Floats:
    try:
        column = column if column.type == pa.float64() else column.cast(pa.float64())
        return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"a score is not a number ({first_line(error)})", where=source, remedy="write scores as numbers"
        ) from None


def _read_long(batches: Iterable[Any], systems: tuple[str, ...], source: str) -> Iterator[Block]:
    """Yield items of a long table, the rows of each next to each other; an item may run on into the next batch."""
    kept: list[Any] = []
    for batch in batches:
        changes = _find_changes(batch.column(0))
        last = int(changes[-1]) if len(changes) else 0
        if last:
            table = pa.Table.from_batches([*kept, batch.slice(0, last)])
            yield partial(_hold_block, _pivot_rows(table, systems, source))
            kept = []
        kept.append(batch.slice(last))
    if kept:
        yield partial(_hold_block, _pivot_rows(pa.Table.from_batches(kept), systems, source))


def _find_changes(names: Any) -> Ints:
    """Return the rows whose item is another than that of the row before."""
    items = names.to_numpy(zero_copy_only=False)
    return np.flatnonzero(items[1:] != items[:-1]) + 1


def _pivot_rows(table: Any, systems: tuple[str, ...], source: str) -> Floats:
    """Return the scores of some items, a row a system."""
    items, named = table.column(0).combine_chunks(), table.column(1).cast(pa.string())
    which = pa.compute.index_in(named, value_set=pa.array(systems))
    if which.null_count:
        problem = f"system {named.filter(which.is_null())[0]} does not occur among the first rows"
        raise InputError(problem, where=source, remedy="sort the table by item")
    starts = np.zeros(table.num_rows, dtype=np.int64)
    starts[_find_changes(items)] = 1
    codes, rows = which.to_numpy(), np.cumsum(starts)
    out = np.full((len(systems), int(rows[-1]) + 1), np.nan)
    order = np.lexsort((codes, rows))
    again = np.flatnonzero((np.diff(codes[order]) == 0) & (np.diff(rows[order]) == 0))
    if len(again):
        row = int(order[again[0]])
        problem = f"item {items[row]} has two scores of {systems[codes[row]]}"
        raise InputError(problem, where=source, remedy="give one a pair of item and system")
    out[codes, rows] = _convert_floats(table.column(2), source)
    return out
