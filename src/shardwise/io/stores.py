"""Scores as a Zarr store: a folder of chunks, a split and some systems each, of which only those asked for are read.

A store of ours lists all of its files with their hashes, so that a chunk that is lost or damaged is no chunk of
undefined scores. One of another program may be anything: its codecs are known ones that run no code, its arrays are
bounded in size, and nothing in it leads elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.claim import DIMENSIONS
from shardwise.core.errors import InputError
from shardwise.core.extras import ENDINGS, import_extra, require_extra
from shardwise.core.libraries import xr
from shardwise.io.atomic import draft_folder, move_folder_in, refuse_unwritable
from shardwise.io.files import most_inside
from shardwise.io.tables.sheet import first_line

(ENDING,) = ENDINGS["zarr"]
LIST = "shardwise.json"
NEW = "new"  # a store that is being made
CHUNK = 1 << 20  # scores of a chunk at most: 8 MB
HELD = 1 << 23  # scores that wait for a chunk to be full: 64 MB
MARKS = (".zgroup", ".zmetadata", "zarr.json")  # one of which is in every store
CODECS = frozenset({
    "blosc", "bytes", "bz2", "crc32c", "gzip", "lz4", "lzma", "sharding_indexed", "shuffle", "transpose", "vlen-utf8",
    "zlib", "zstd", "numcodecs.shuffle", "numcodecs.zlib",
})  # fmt: skip
"""Names of codecs that turn bytes into numbers and text, and do nothing else."""
_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, LookupError, ImportError)


def is_store(path: Path) -> bool:
    """Tell whether a path is a folder that says it is a Zarr store."""
    return path.is_dir() and path.suffix.lower() == ENDING


def write_store(data: xr.Dataset, target: Path) -> None:
    """Write scores to a store, whole or not at all; a store that is there is replaced."""
    with store_draft(target) as folder, refuse_unwritable(target):
        _write_zarr(data, folder / NEW)


@contextmanager
def store_draft(target: Path) -> Iterator[Path]:
    """Yield a folder beside the place of a store; what was made in it as `NEW` is moved there once it is complete."""
    require_extra("zarr", target)
    if target.exists() and not any((target / mark).exists() for mark in MARKS):
        raise InputError("exists and is not a Zarr store", where=str(target), remedy="write elsewhere")
    with ExitStack() as held:
        with refuse_unwritable(target):
            folder = held.enter_context(draft_folder(target.parent))
        yield folder
        with refuse_unwritable(target):
            _move_in(folder / NEW, target)


def _move_in(made: Path, target: Path) -> None:
    """List the files of a store, and move it to its place once all are on the disk."""
    listed = {name: [size, hash_] for name, size, hash_ in _list_files(made)}
    (made / LIST).write_text(json.dumps({"holds": "scores", "format": 1, "files": listed}))
    for name in (*listed, LIST):
        _sync_to_disk(made / name)
    move_folder_in(made, target)
    _sync_to_disk(target.parent)


def write_parts(parts: Iterable[xr.Dataset], systems: Sequence[str], store: Path, target: Path) -> None:
    """Write scores that come a few systems at a time, as those of all of them would be written.

    The parts are in the order of the systems, and the first has the attributes of all. As much is held as fills a chunk
    of systems in every split, and no more than `HELD` beside a part.
    """
    coming = iter(parts)
    first = next(coming)
    whole = _of_all(first, systems)
    like = next(iter(whole.data_vars.values()))
    step = dict(zip(like.dims, _choose_chunks(like), strict=True))["system"]
    most = HELD * len(systems) // max(1, like.size * len(whole))
    with refuse_unwritable(target):
        _write_zarr(whole, store)
    (zarr,) = import_extra("zarr", target)
    group = zarr.open_group(store, mode="r+", use_consolidated=False)
    held: list[xr.Dataset] = []
    begin = end = 0
    for part in chain([first], coming):
        held.append(part)
        end += part.sizes["system"]
        if begin // step == end // step and end - begin < most and end < len(systems):
            continue
        region = tuple(slice(begin, end) if dim == "system" else slice(None) for dim in like.dims)
        axis = like.dims.index("system")
        with refuse_unwritable(target):
            for name in whole.data_vars:
                group[name][region] = np.concatenate([each[name].values for each in held], axis)
        begin, held = end, []


def _of_all(part: xr.Dataset, systems: Sequence[str]) -> xr.Dataset:
    """Return what the whole will be like, without any score in it: one undefined cell stands for all."""
    variables = {
        name: (
            values.dims,
            np.broadcast_to(
                np.nan, [len(systems) if dim == "system" else size for dim, size in values.sizes.items()]
            ),
            values.attrs,
        )
        for name, values in part.data_vars.items()
    }
    return part.drop_dims("system").assign(variables).assign_coords(system=list(systems))


def read_store(path: Path) -> xr.Dataset:
    """Open a store; scores are read when they are looked at, and what is not looked at is not read."""
    require_extra("zarr", path)
    where = str(path)
    if problem := next(_find_problems(path), ""):
        raise InputError(problem, where=where, remedy="fetch it again, or write it anew")
    return open_store(path)


def open_store(path: Path) -> xr.Dataset:
    """Open a store that is known to be what it was when it was written."""
    where = str(path)
    try:
        data: xr.Dataset = xr.open_zarr(path, chunks=None)
        for name in data.coords:  # few, and everything asks for them
            data[name].load()
    except _DAMAGE as error:
        raise InputError(
            f"not a Zarr store of scores ({first_line(error)})",
            where=where,
            remedy="it may be damaged: fetch it again",
        ) from None
    strange = [str(dim) for dim in data.dims if dim not in DIMENSIONS]
    if strange or not data.data_vars:
        content = f"dimension {strange[0]!r}" if strange else "no variables"
        raise InputError(f"has {content}", where=where, remedy=f"scores have {', '.join(DIMENSIONS)}")
    return data


def store_hash(path: Path) -> tuple[int, str]:
    """Return bytes of a store, and one hash of all that it holds."""
    files = list(_list_files(path))
    return sum(size for _, size, _ in files), hashlib.sha256(json.dumps(files).encode()).hexdigest()


def _write_zarr(data: xr.Dataset, folder: Path) -> None:
    text = {name: array.astype(str) for name, array in data.coords.items() if array.dtype.kind in "OT"}
    plain = data.drop_encoding().assign_coords(text)
    chunks = {
        str(name): {"chunks": _choose_chunks(array)} for name, array in plain.data_vars.items() if array.size
    }
    plain.to_zarr(folder, mode="w-", zarr_format=2, consolidated=True, encoding=chunks)


def _choose_chunks(scores: xr.DataArray) -> tuple[int, ...]:
    """Return a split of its own, and as many systems as a chunk may hold.

    >>> _choose_chunks(xr.DataArray(np.zeros((3, 500, 5, 400)), dims=("split", "topic", "system", "shard")))
    (1, 500, 5, 400)
    """
    alone = {"split": 1, "system": 1}
    each = int(np.prod([size for dim, size in scores.sizes.items() if dim not in alone]))
    alone["system"] = max(1, min(scores.sizes.get("system", 1), CHUNK // max(each, 1)))
    return tuple(alone.get(str(dim), size) for dim, size in scores.sizes.items())


def _list_files(store: Path) -> Iterator[tuple[str, int, str]]:
    """Yield name, size and hash of every file of a store but its list."""
    for path in sorted(store.rglob("*")):
        name = path.relative_to(store).as_posix()
        if path.is_file() and name != LIST:
            with path.open("rb") as file:
                yield name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _sync_to_disk(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _find_problems(store: Path) -> Iterator[str]:
    """Yield what no intact store of scores has."""
    inside = list(store.rglob("*"))
    if any(path.is_symlink() for path in inside):
        yield "has a link to elsewhere"
        return
    if not any((store / mark).exists() for mark in MARKS):
        yield "is not a Zarr store"
        return
    if (store / LIST).exists():
        yield from _find_differences(store)
    most = most_inside(sum(path.stat().st_size for path in inside if path.is_file()))
    for path in inside:
        if path.name in (".zarray", ".zmetadata", "zarr.json"):
            yield from _find_unsafe(path, most)


def _find_differences(store: Path) -> Iterator[str]:
    """Yield files that are not as they were written."""
    try:
        content = json.loads((store / LIST).read_bytes())
        if content["holds"] != "scores" or content["format"] != 1:
            yield "is a store of another format"
            return
        listed = {str(name): tuple(entry) for name, entry in content["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        yield f"is damaged: its list of files ({LIST}) cannot be read"
        return
    files = {name: (size, hash_) for name, size, hash_ in _list_files(store)}
    for name in sorted(set(listed) | set(files)):
        if listed.get(name) != files.get(name):
            how = "is lacking" if name not in files else "is not the one that was written"
            yield f"is damaged: {name} {how}"


def _find_unsafe(path: Path, most: int) -> Iterator[str]:
    """Yield codecs that might do anything, and sizes beyond belief."""
    try:
        content = json.loads(path.read_bytes())
        arrays = list(_list_dictionaries(content))
    except (OSError, ValueError, RecursionError):
        yield f"is damaged: {path.name} cannot be read"
        return
    for array in arrays:
        for codec in _list_codecs(array):
            if codec not in CODECS:
                yield f"has the codec {codec!r}, which is not known to be harmless"
        shape = array.get("shape")
        sizes = shape if isinstance(shape, list) and all(isinstance(size, int) for size in shape) else []
        if 8.0 * np.prod([float(size) for size in sizes]) > most:
            yield f"has an array of {shape} cells, more than a store of this size can hold"


def _list_codecs(array: dict[str, Any]) -> Iterator[str]:
    """Yield the codecs that an array names, whichever format it is of."""
    for key in ("compressor", "filters", "codecs", "index_codecs"):
        named = array.get(key)
        for codec in named if isinstance(named, list) else [named]:
            if isinstance(codec, dict):
                yield str(codec.get("id", codec.get("name")))


def _list_dictionaries(content: Any) -> Iterator[dict[str, Any]]:
    """Yield all dictionaries within, however deep."""
    if isinstance(content, dict):
        yield content
        for value in content.values():
            yield from _list_dictionaries(value)
    elif isinstance(content, list):
        for value in content:
            yield from _list_dictionaries(value)
