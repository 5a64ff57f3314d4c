"""Limits on what a file may hold, and on the memory that reading it may take."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shardwise.core.errors import InputError

LEAST = 1 << 30
"""Bytes that any file may hold."""
GROWTH = 500
"""How many times its own size a compressed file may hold."""
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
CGROUP = Path("/sys/fs/cgroup/memory.max")

_raised_limit = 0


def most_inside(packed: int) -> int:
    """Return how many bytes a file of so many may hold when inflated; more looks made to fill the memory."""
    return max(LEAST, GROWTH * packed, _raised_limit)


@contextmanager
def raise_limit(most: int) -> Iterator[None]:
    """Let every file hold this many bytes.

    The limit is one of the process, since threads that inflate files do not inherit a context.

    Parameters
    ----------
    most : int
        Bytes.
    """
    global _raised_limit
    before, _raised_limit = _raised_limit, max(_raised_limit, most)
    try:
        yield
    finally:
        _raised_limit = before


def parse_size(text: str) -> int:
    """Return a number of bytes written with a unit.

    >>> parse_size("16GB"), parse_size("0.5 mb")
    (16000000000, 500000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?b?)\s*", text, re.IGNORECASE)
    unit = match[2].upper() if match else ""
    if match is None or float(match[1]) <= 0.0:
        raise InputError(f"'{text}' is not a size", remedy="write for instance 16GB")
    return int(float(match[1]) * UNITS[unit if unit.endswith("B") or not unit else f"{unit}B"])


def usable_memory() -> int:
    """Return the bytes of memory that this process may use: those of the machine, at most the limit of its cgroup."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        whole = 8 * LEAST
    try:
        return min(whole, int(CGROUP.read_text()))
    except (OSError, ValueError):
        return whole
