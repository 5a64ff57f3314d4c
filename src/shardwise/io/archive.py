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

Array = npt.NDArray[Any]


def save_arrays(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, Array], facts: Mapping[str, Any]
) -> None:
    """Write arrays and JSON facts, marked with what they are."""
    told = json.dumps({"holds": kind, "format": 1, **facts}).encode()
    buffer = io.BytesIO()
    stored: dict[str, Any] = {"facts": np.frombuffer(told, dtype=np.uint8), **arrays}
    np.savez(buffer, **stored)
    write_atomically(path, zstandard.ZstdCompressor(level=3, threads=-1).compress(buffer.getbuffer()))


def load_arrays(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read what ``save_arrays`` wrote; refuse anything else."""
    try:
        text = zstandard.ZstdDecompressor().decompressobj().decompress(Path(path).read_bytes())
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
