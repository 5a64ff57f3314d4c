"""Arrays in one compact file, a compressed npz without pickles, written whole or not at all; checksums of tables."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shardwise.core.errors import InputError, refuse_absent_file
from shardwise.io.atomic import write_atomically
from shardwise.io.files import FRAME, inflate_zstd, most_inside

Array = npt.NDArray[Any]
KEY = "shardwise_sha256"
"""What the checksum of a table is stored as, beside it: a flipped bit is told from a score."""
DAMAGE = (
    OSError, ValueError, OverflowError, EOFError, NotImplementedError, RuntimeError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip
"""What comes of an archive that is damaged, or made to look like one."""


def save_arrays(
    path: str | os.PathLike[str], kind: str, arrays: Mapping[str, Array], facts: Mapping[str, Any]
) -> None:
    """Write arrays and JSON facts, marked with what they are."""
    text = json.dumps({"holds": kind, "format": 1, **facts}).encode()
    buffer = io.BytesIO()
    stored: dict[str, Any] = {"facts": np.frombuffer(text, dtype=np.uint8), **arrays}
    # the fastest level: savez_compressed takes eight times as long for a twentieth of the size
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in stored.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    write_atomically(path, buffer.getvalue())


def _inflate_arrays(blob: bytes) -> dict[str, Array]:
    """Return the arrays of an npz by name; refuse a damaged one, or one made to fill the memory."""
    most = most_inside(len(blob))
    if blob.startswith(FRAME):
        # as earlier versions wrote it
        blob = inflate_zstd(blob, most)
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        if len(blob) > most or sum(member.file_size for member in archive.infolist()) > most:
            raise ValueError("arrays of no credible size")
        # read whole, so that its checksum is compared before anything in it is looked at
        members = {name.removesuffix(".npy"): io.BytesIO(archive.read(name)) for name in archive.namelist()}
    return {name: np.lib.format.read_array(member, allow_pickle=False) for name, member in members.items()}


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
        arrays = _inflate_arrays(Path(path).read_bytes())
        facts: dict[str, Any] = json.loads(arrays.pop("facts").tobytes())
    except FileNotFoundError:
        raise refuse_absent_file(path) from None
    except (KeyError, *DAMAGE) as error:
        if isinstance(error, InputError):
            raise error.add_location(str(path)) from None
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


def hash_columns(columns: Mapping[str, Any]) -> str:
    """Hash named arrays by SHA-256: numbers as such, all else as text.

    >>> hash_columns({"AP": [0.5, np.nan]})[:8] == hash_columns({"AP": [0.5, -np.nan]})[:8]
    True
    """
    digest = hashlib.sha256()
    for name, values in columns.items():
        digest.update(f"{name}\x1e".encode("utf-8", "surrogatepass"))
        array = np.asarray(values)
        if array.dtype.kind in "fiub":
            numbers = array.astype("<f8")
            digest.update(np.ascontiguousarray(np.where(np.isnan(numbers), np.nan, numbers)).tobytes())
        else:
            digest.update("\x1f".join(map(str, array.ravel().tolist())).encode("utf-8", "surrogatepass"))
        digest.update(b"\x1e")
    return digest.hexdigest()


def check_hash(columns: Mapping[str, Any], stored: str | None, where: str) -> None:
    """Refuse a table that is not what its stored checksum says; files of other programs have none."""
    if stored is not None and stored != hash_columns(columns):
        raise InputError(
            "is damaged: its scores are not those that were written",
            where=where,
            remedy="fetch it again, or write it anew",
        )
