"""What tables say, as a checksum that is stored beside them: a flipped bit is told from a score."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from shardwise.core.errors import InputError

KEY = "shardwise_sha256"


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
