"""Limits on what a file may hold, and on the memory that reading it may take."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shardwise.core.errors import Either, InputError, Words

LEAST = 1 << 30
"""Bytes of numbers that any file may hold."""
GROWTH = 500
"""How many times its own size a file of compressed numbers may hold."""
LEAST_TEXT = 1 << 25
"""Bytes of text that any compressed file may hold: as a table they take less than a gigabyte of memory."""
GROWTH_TEXT = 500
"""How many times its own size a file of compressed text may hold."""
LEAST_WORKBOOK = 1 << 22
"""Bytes of XML that any workbook may hold: they are read in a few seconds."""
GROWTH_WORKBOOK = 40
"""How many times its own size a workbook may hold as XML; those of spreadsheets hold about ten times."""
BYTES_NEEDED = 27
"""Bytes of memory that comparing takes for a byte of a table of text: 10.6 GB for 0.4 GB of CSV."""
SHARE_OF_MEMORY = 4
"""Part of the memory that a table may take unless a caller allows more."""
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
CGROUP = Path("/sys/fs/cgroup/memory.max")

_raised_limit = 0


def most_inside(packed: int) -> int:
    """Return how many bytes of numbers a file of so many may hold; more looks made to fill the memory."""
    return max(LEAST, GROWTH * packed, _raised_limit)


def most_text_inside(packed: int) -> int:
    """Return how many bytes of text a file of so many may hold; a table takes many times that in memory.

    Parameters
    ----------
    packed : int
        Bytes of the file.

    Returns
    -------
    int
        Bytes when inflated.

    >>> most_text_inside(1000) == LEAST_TEXT, most_text_inside(10**8)
    (True, 50000000000)
    """
    return max(LEAST_TEXT, GROWTH_TEXT * packed, _raised_limit)


def most_table_inside(packed: int) -> int:
    """Return how many bytes of text a compressed table of so many may hold: no more than fits into memory as a table.

    Parameters
    ----------
    packed : int
        Bytes of the file.

    Returns
    -------
    int
        Bytes when inflated.
    """
    fitting = usable_memory() // SHARE_OF_MEMORY // BYTES_NEEDED
    return min(most_text_inside(packed), max(fitting, LEAST_TEXT, _raised_limit // BYTES_NEEDED))


def most_workbook_inside(packed: int) -> int:
    """Return how many bytes of XML a workbook of so many may hold; its cells take as much memory as a table of text.

    Parameters
    ----------
    packed : int
        Bytes of the file.

    Returns
    -------
    int
        Bytes when inflated.
    """
    allowed = max(LEAST_WORKBOOK, GROWTH_WORKBOOK * packed, _raised_limit // BYTES_NEEDED)
    return min(allowed, most_table_inside(packed))


def lift_limit(inflated: int) -> Words:
    """Return the remedy for text that inflates to so many bytes or more: the memory that its table would take.

    Parameters
    ----------
    inflated : int
        Bytes of text.

    Returns
    -------
    Words
        The option of the command line; Python has none.
    """
    size = f"{-(-BYTES_NEEDED * inflated // 10**9)}GB"
    return Either(
        "check where it comes from, or inflate it first",
        f"check where it comes from, or allow it with --max-memory {size}",
    )


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
