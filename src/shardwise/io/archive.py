"""Arrays in one compact file: a zstd-compressed npz without pickles, written whole or not at all."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

from shardwise.core.errors import InputError
from shardwise.io.atomic import write_atomically
from shardwise.io.bounds import most_inside

Array = npt.NDArray[Any]


def save_arrays(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, Array], facts: Mapping[str, Any]
) -> None:
    """Write arrays and JSON facts, marked with what they are."""
    text = json.dumps({"holds": kind, "format": 1, **facts}).encode()
    buffer = io.BytesIO()
    stored: dict[str, Any] = {"facts": np.frombuffer(text, dtype=np.uint8), **arrays}
    np.savez(buffer, **stored)
    compressor = zstandard.ZstdCompressor(level=3, threads=-1, write_checksum=True)
    write_atomically(path, compressor.compress(buffer.getbuffer()))


def _inflate_frame(blob: bytes) -> bytes:
    """Inflate one whole frame that says how long it is; refuse a cut file, or one made to fill the memory."""
    size = zstandard.frame_content_size(blob)
    if not 0 <= size <= most_inside(len(blob)):
        raise ValueError("a frame of no credible size")
    return zstandard.ZstdDecompressor().decompress(blob, allow_extra_data=False)


def edges_fit(edges: Array, parts: int, total: int) -> bool:
    """Tell whether edges cut ``total`` entries into so many parts, so that none reaches beyond them.

    >>> edges_fit(np.array([0, 2, 2, 5]), 3, 5), edges_fit(np.array([0, 6, 5]), 2, 5)
    (True, False)
    """
    shaped = edges.ndim == 1 and edges.dtype == np.int64 and len(edges) == parts + 1
    return shaped and edges[0] == 0 and edges[-1] == total and bool((np.diff(edges) >= 0).all())


def codes_fit(codes: Array, kind: npt.DTypeLike, below: int, *, at_least: int = 0) -> bool:
    """Tell whether whole numbers of a kind all lie from ``at_least`` to below ``below``.

    >>> codes_fit(np.array([0, 3], np.int32), np.int32, 4), codes_fit(np.array([0, -1], np.int32), np.int32, 4)
    (True, False)
    """
    within = not codes.size or bool(codes.min() >= at_least and codes.max() < below)
    return codes.dtype == kind and within


def load_arrays(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read what ``save_arrays`` wrote; refuse anything else."""
    try:
        text = _inflate_frame(Path(path).read_bytes())
        with np.load(io.BytesIO(text), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        facts: dict[str, Any] = json.loads(arrays.pop("facts").tobytes())
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), remedy="check the path") from None
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, zstandard.ZstdError):
        raise InputError(
            f"is not a saved {kind}, or is damaged", where=str(path), remedy=f"save the {kind} again"
        ) from None
    if facts.get("holds") != kind or facts.get("format") != 1:
        raise InputError(
            f"holds a {facts.get('holds')} of format {facts.get('format')}, not a {kind} of format 1",
            where=str(path),
            remedy=f"give a file that holds a {kind}",
        )
    return arrays, facts
