"""Text whose last byte is followed by a page that may not be touched: a kernel that reads on ends by a signal."""

from __future__ import annotations

import ctypes
import mmap
import threading
from typing import Any
from unittest import mock

import numpy as np

from shardwise.io.files import PADDING
from shardwise.io.trec.parsed import Worker

MOST = 1 << 20  # bytes; longer text is not guarded


_MINE = threading.local()  # runs are read by several threads


def _room() -> Any:
    """Memory up to the page that may not be touched, of this thread."""
    if not hasattr(_MINE, "room"):
        memory = mmap.mmap(-1, MOST + mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(start + MOST), ctypes.c_size_t(mmap.PAGESIZE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
        _MINE.room = np.frombuffer(memory, dtype=np.uint8, count=MOST)
    return _MINE.room


def guarded(buffer: Any, size: int) -> tuple[Any, int]:
    """Text and the newlines that kernels may rely on behind it, at the edge of what may be read."""
    needed = size + PADDING
    if needed > MOST:
        return buffer, size
    place = _room()[MOST - needed :]
    place[:] = buffer[:needed]
    return place, size


_PARSE = Worker._parse_file


def _parse_guarded(self: Worker, source: Any, text: tuple[Any, int], is_run: bool) -> Any:
    return _PARSE(self, source, guarded(*text), is_run)


def guarded_parser() -> Any:
    """A context in which the parser of runs and judgments reads all files from there."""
    return mock.patch.object(Worker, "_parse_file", _parse_guarded)
