"""Scores of any length as blocks of items, so that nothing longer than a block is ever in memory.

A table in files, in a database or in chunks is read from its beginning to its end, once. What its columns are is
understood from its first rows, by the rules for tables that are read whole. Where a file lets itself be read at any
place, whoever works on a block reads it: memory that is used again costs no fresh pages.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet
import xarray as xr

from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.extras import require_for_files
from shardwise.io.stores import ENDING, read_store
from shardwise.io.tables.facts import Columns, Reading
from shardwise.io.tables.readings import choose_reading
from shardwise.io.tables.sheet import first_line, make_sheet

ROWS = 16_384  # items of a block; of a long table rows
PIECE = 1 << 22  # bytes of an array in a file that are read at a time: the caches of a processor hold them
COLUMN_BUFFER = 1 << 16  # bytes of a column of Parquet that are read at a time
GROUP = 1 << 27  # bytes of scores in a row group of Parquet that every thread may hold for itself
FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".csv": "csv", ".tsv": "csv",
}  # fmt: skip
LAZY = (".nc", ".nc4", ENDING)


Block = Callable[[], Iterable[Floats]]  # (systems, items) pieces, each good until the next is asked for


@dataclass(frozen=True, slots=True)
class Blocks:
    """Items block by block, NaN where a score is missing; blocks come in order, and may be read side by side."""

    systems: tuple[str, ...]
    each: Iterator[Block]
    item: str = "topic"  # the user's word
    source: str = "table"


def open_blocks(
    source: Any, *, columns: Columns | None = None, systems: Sequence[str] = (), rows: int = ROWS
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
        raise InputError("no such file", where=str(path), remedy="check the path")
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
    if kind == "parquet" and path.is_file():
        return _of_parquet(path, columns, rows)
    if kind == "ipc" and (streamed := _of_arrow(path, columns, rows)) is not None:
        return streamed
    if suffix == ".tsv":
        form = pa.dataset.CsvFileFormat(parse_options=pa.csv.ParseOptions(delimiter="\t"))
    try:
        return _of_dataset(pa.dataset.dataset(path, format=form), columns, rows, str(path))
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise _refuse_unreadable(path, error) from None


def _of_numbers(path: Path, systems: Sequence[str], rows: int) -> Blocks:
    """Open an array in a file, read piece by piece: pages of a mapped file count as memory of this process."""
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _refuse_unreadable(path, error) from None
    if not mapped.flags.c_contiguous or mapped.ndim != 2:
        return _of_rows(mapped, systems, rows, str(path))
    streamed = _of_rows(mapped[:0], systems, rows, str(path))
    return replace(streamed, each=_from_file(path, mapped.dtype, mapped.shape, mapped.offset, rows))


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file that is open as long as anybody has it, for reading at any place."""

    path: Path
    number: int

    @classmethod
    def open_file(cls, path: Path) -> _Opened:
        number = os.open(path, os.O_RDONLY)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(number, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        return cls(path, number)

    def fill_room(self, room: memoryview, offset: int) -> None:
        """Read as many bytes as there is room for."""
        while room:
            count = os.preadv(self.number, [room], offset)
            if not count:
                raise InputError("ends too early", where=str(self.path), remedy="fetch it again")
            room, offset = room[count:], offset + count

    def prefetch_bytes(self, offset: int, size: int) -> None:
        """Have so many bytes fetched, in pieces of the disk's liking rather than of the reader's."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.number, offset, size, os.POSIX_FADV_WILLNEED)

    def __del__(self) -> None:
        os.close(self.number)


def _from_file(
    path: Path, kind: np.dtype[Any], shape: tuple[int, ...], start: int, rows: int
) -> Iterator[Block]:
    """Yield blocks of the rows of an array in a file; its worker reads each, piece by piece into the same memory."""
    width = kind.itemsize * shape[1]
    step = max(1, min(rows, PIECE // width))
    file, local = _Opened.open_file(path), threading.local()

    def read_pieces(first: int, stop: int) -> Iterator[Floats]:
        file.prefetch_bytes(start + first * width, (stop - first) * width)
        room = local.__dict__.setdefault("room", np.empty((step, shape[1]), kind))
        for row in range(first, stop, step):
            part = room[: min(step, stop - row)]
            file.fill_room(memoryview(part.view(np.uint8).reshape(-1)), start + row * width)
            yield np.asarray(part.T, np.float64)

    for first in range(0, shape[0], rows):
        yield partial(read_pieces, first, min(first + rows, shape[0]))


def _of_parquet(path: Path, columns: Columns | None, rows: int) -> Blocks:
    """Open one Parquet file: whoever works on row groups reads them; larger ones come batch by batch and none ahead."""
    try:
        file = pa.parquet.ParquetFile(path, pre_buffer=False, buffer_size=COLUMN_BUFFER)
        head = next(file.iter_batches(batch_size=rows, use_threads=False), None)
    except (pa.ArrowException, OSError) as error:
        raise _refuse_unreadable(path, error) from None
    if head is None:
        raise InputError("holds no rows", where=str(path), remedy="give rows")
    table = pa.Table.from_batches([head])
    reading = _choose_reading(table, columns, str(path))
    wanted = _list_wanted(reading)
    groups = _row_groups(file.metadata, len(wanted), rows)
    if not reading.wide or groups is None:
        # one thread: others multiply in the meantime, and several that decode wait for each other
        return _read_blocks(table, reading, _decode_groups(path, file, wanted, rows), str(path))
    local, opened = threading.local(), _Opened.open_file(path)

    def read_pieces(some: Sequence[int]) -> Iterator[Floats]:
        opened.prefetch_bytes(*_locate_bytes(file.metadata, some))
        if "file" not in local.__dict__:
            local.file = pa.parquet.ParquetFile(path, metadata=file.metadata, pre_buffer=False)
        for batch in _decode_groups(path, local.file, wanted, rows, some):
            yield from _read_wide(batch, local, str(path))

    each = (partial(read_pieces, some) for some in groups)
    return Blocks(reading.scores, each, reading.nouns.get("topic", "topic"), str(path))


def _row_groups(metadata: Any, columns: int, rows: int) -> list[list[int]] | None:
    """Return row groups that make a block together; None where one of them is too large for a thread to hold."""
    blocks_of_groups: list[list[int]] = []
    filled = rows
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if size * columns * 8 > GROUP:
            return None
        if filled + size > rows:
            blocks_of_groups.append([])
            filled = 0
        blocks_of_groups[-1].append(group)
        filled += size
    return blocks_of_groups


def _locate_bytes(metadata: Any, groups: Sequence[int]) -> tuple[int, int]:
    """Return where row groups begin in their file, and how long they are together."""
    ends = []
    for group in (metadata.row_group(number) for number in groups):
        for column in (group.column(0), group.column(group.num_columns - 1)):
            start = column.dictionary_page_offset or column.data_page_offset
            ends.append((start, start + column.total_compressed_size))
    first = min(start for start, _ in ends)
    return first, max(end for _, end in ends) - first


def _decode_groups(
    path: Path, file: Any, columns: list[str], rows: int, groups: Sequence[int] | None = None
) -> Iterator[Any]:
    """Yield batches of the row groups, of all by default."""
    try:
        yield from file.iter_batches(rows, row_groups=groups, columns=columns, use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise _refuse_unreadable(path, error) from None


def _of_arrow(path: Path, columns: Columns | None, rows: int) -> Blocks | None:
    """Open one Arrow file of a wide table, whose record batches workers read; None for what is no such file."""
    local = threading.local()
    try:
        with pa.OSFile(str(path)) as opened:
            file = pa.ipc.open_file(opened)
            head = file.get_batch(0) if file.num_record_batches else None
    except (pa.ArrowException, OSError):
        return None  # of which Arrow's datasets know how to speak
    if head is None or not head.num_rows or head.nbytes > GROUP:  # larger ones come from one thread
        return None
    reading = _choose_reading(pa.Table.from_batches([head]), columns, str(path))
    if not reading.wide:
        return None
    wanted = _list_wanted(reading)
    places = [head.schema.get_field_index(name) for name in wanted]

    def read_pieces(some: range) -> Iterator[Floats]:
        try:
            if "file" not in local.__dict__:
                options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=places)
                local.file = pa.ipc.open_file(pa.OSFile(str(path)), options=options)
            for number in some:
                batch = local.file.get_batch(number).select(wanted)
                for first in range(0, batch.num_rows, rows):
                    yield from _read_wide(batch.slice(first, rows), local, str(path))
        except (pa.ArrowException, OSError) as error:
            raise _refuse_unreadable(path, error) from None

    step, count = max(1, rows // head.num_rows), file.num_record_batches
    each = (partial(read_pieces, range(first, min(first + step, count))) for first in range(0, count, step))
    return Blocks(reading.scores, each, reading.nouns.get("topic", "topic"), str(path))


def _refuse_unreadable(path: Path, error: Exception) -> InputError:
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
    names = (
        tuple(map(str, scores["system"].to_numpy()))
        if "system" in scores.coords
        else _number_systems(scores.sizes["system"])
    )
    chunks = scores.chunks and dict(zip(scores.dims, scores.chunks, strict=True))["topic"]
    edges = np.cumsum([0, *chunks]) if chunks else np.arange(0, scores.sizes["topic"] + rows, rows)

    def read_each() -> Iterator[Block]:
        for first, stop in pairwise(edges.tolist()):
            part = scores.isel(topic=slice(first, stop)).transpose("system", "topic")
            yield _hold_block(np.asarray(part.to_numpy(), np.float64))

    return Blocks(names, read_each(), str(scores.attrs.get("topic_noun", "topic")), source)


def _of_rows(y: Any, systems: Sequence[str], rows: int, source: str) -> Blocks:
    if y.ndim != 2 or y.dtype.kind not in "fiub":
        raise InputError("is not an array of items by systems", where=source, remedy="give two dimensions")
    names = tuple(map(str, systems)) or _number_systems(y.shape[1])
    if len(names) != y.shape[1]:
        raise InputError(
            f"{format_count(len(names), 'name')} for {format_count(y.shape[1], 'column')}",
            where=source,
            argument="systems",
        )
    starts = range(0, len(y), rows)
    return Blocks(names, (partial(_turn_rows, y[k : k + rows]) for k in starts), source=source)


def _hold_block(columns: Floats) -> Block:
    """Return a block that is in memory already."""
    return lambda: [columns]


def _turn_rows(rows: Any) -> Iterable[Floats]:
    return [np.asarray(rows.T, np.float64)]


def _number_systems(count: int) -> tuple[str, ...]:
    return tuple(str(k + 1) for k in range(count))


def _of_dataset(data: Any, columns: Columns | None, rows: int, source: str) -> Blocks:
    head = data.head(rows)
    reading = _choose_reading(head, columns, source)
    wanted = _list_wanted(reading)
    return _read_blocks(head, reading, data.to_batches(columns=wanted, batch_size=rows), source)


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
    return choose_reading(make_sheet(head, source, lambda row: f"{source}:row {row + 1}"), columns)


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
        local = threading.local()
        each = (partial(_read_wide, batch, local, source) for batch in batches if batch.num_rows)
        return Blocks(reading.scores, each, item, source)
    systems = tuple(map(str, dict.fromkeys(head.column(reading.roles["system"]).to_pylist())))
    return Blocks(systems, _read_long(batches, systems, source), item, source)


def _read_wide(batch: Any, local: threading.local, source: str) -> Iterable[Floats]:
    """Return the columns of a batch beside each other, in memory that a thread uses again."""
    room = local.__dict__.get("room")
    if room is None or room.shape[1] < batch.num_rows:
        room = local.room = np.empty((batch.num_columns, batch.num_rows))
    out = room[:, : batch.num_rows]
    for row, column in zip(out, batch.columns, strict=True):
        row[:] = _convert_floats(column, source)
    return [out]


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
    column_of = {name: k for k, name in enumerate(systems)}
    kept: list[Any] = []
    for batch in batches:
        items = batch.column(0).to_numpy(zero_copy_only=False)
        if not len(items):
            continue
        changes = np.flatnonzero(items[1:] != items[:-1]) + 1
        if not changes.size:
            kept.append(batch)
            continue
        last = int(changes[-1])
        yield _hold_block(
            _pivot_rows(pa.Table.from_batches([*kept, batch.slice(0, last)]), column_of, source)
        )
        kept = [batch.slice(last)]
    if kept:
        yield _hold_block(_pivot_rows(pa.Table.from_batches(kept), column_of, source))


def _pivot_rows(table: Any, column_of: dict[str, int], source: str) -> Floats:
    names = [str(name) for name in table.column(0).to_pylist()]
    which = [column_of.get(str(name), -1) for name in table.column(1).to_pylist()]
    if -1 in which:
        name = table.column(1)[which.index(-1)]
        raise InputError(
            f"system {name} does not occur among the first rows",
            where=source,
            remedy="sort the table by item",
        )
    starts = (
        np.concatenate([[True], np.array(names[1:]) != np.array(names[:-1])])
        if len(names) > 1
        else np.ones(1, bool)
    )
    rows = np.cumsum(starts) - 1
    out = np.full((len(column_of), int(rows[-1]) + 1), np.nan)
    taken = np.zeros(out.shape, dtype=np.int64)
    np.add.at(taken, (np.array(which), rows), 1)
    if (taken > 1).any():
        system, row = (int(k[0]) for k in np.nonzero(taken > 1))
        raise InputError(
            f"item {names[int(np.flatnonzero(rows == row)[0])]} has two scores of {list(column_of)[system]}",
            where=source,
            remedy="give one a pair of item and system",
        )
    out[which, rows] = _convert_floats(table.column(2), source)
    return out
