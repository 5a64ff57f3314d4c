"""Files that lines are added to: one process at a time, each line whole or not at all, chained by hashes.

A line is JSON whose last member is the SHA-256 of the line's own text and the hash of the line before, so that an edit
is noticed. Whoever adds holds a lock on the file, and a line counts once it is on the disk. A line that a killed
process left half-written has no line end; its verdict was never shown, and the next process removes it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shardwise.core.errors import InputError
from shardwise.core.extras import import_if_there
from shardwise.io.atomic import refuse_unwritable

# absent on Windows, which locks by the other
fcntl, msvcrt = import_if_there("fcntl"), import_if_there("msvcrt")

START = b'{"entry":"'
SEAL = b',"digest":"'
# Windows locks bytes, which then cannot be read: one far beyond the end of the file
FAR = 1 << 40


@dataclass(slots=True)
class Journal:
    """Entries of a file, the hash of the last one, and where the whole lines end."""

    path: Path
    entries: list[dict[str, Any]] = field(default_factory=list)
    digest: str = ""
    end: int = 0
    # of the open file, while it is locked
    handle: int = -1

    def append(self, *entries: Mapping[str, Any]) -> None:
        """Add entries, and return once they are on the disk; what cannot be written whole is taken back."""
        lines, digest = [], self.digest
        for entry in entries:
            body = json.dumps(entry, separators=(",", ":")).encode()
            digest = _hash_line(digest, body)
            lines.append(body[:-1] + SEAL + digest.encode() + b'"}\n')
        content = memoryview(b"".join(lines))
        with refuse_unwritable(self.path):
            # what a killed process left
            os.ftruncate(self.handle, self.end)
            os.lseek(self.handle, self.end, os.SEEK_SET)
            try:
                written = 0
                while written < len(content):
                    written += os.write(self.handle, content[written:])
                os.fsync(self.handle)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self.handle, self.end)
                raise
        self.entries.extend(dict(entry) for entry in entries)
        self.digest, self.end = digest, self.end + len(content)


def _hash_line(previous: str, body: bytes) -> str:
    """Hash of a line's text without its own hash, after the hash of the line before."""
    return hashlib.sha256(previous.encode() + body).hexdigest()


def read_journal(path: str | os.PathLike[str]) -> Journal:
    """Read the entries of a file that is there; nothing is locked."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _refuse_other(Path(path))
        return _parse_lines(Path(path), Path(path).read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=str(path), remedy="check the name"
        ) from None


@contextmanager
def open_journal(path: str | os.PathLike[str]) -> Iterator[Journal]:
    """Open a file, made if it is not there, and keep all others out of it; yields its entries."""
    with refuse_unwritable(path):
        # a device may have no end
        if Path(path).exists() and not Path(path).is_file():
            raise _refuse_other(Path(path))
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with refuse_unwritable(path):
            _lock(handle)
            size = os.fstat(handle).st_size
            os.lseek(handle, 0, os.SEEK_SET)
            content = b"".join(iter(lambda: os.read(handle, max(size, 1)), b""))
            if not content:
                _flush_folder(Path(path).absolute().parent)
        journal = _parse_lines(Path(path), content)
        journal.handle = handle
        yield journal
    finally:
        # the lock goes with it
        os.close(handle)


def _lock(handle: int) -> None:
    """Wait until no other process has the file."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return
    os.lseek(handle, FAR, os.SEEK_SET)
    while True:
        with suppress(OSError):
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            return
        time.sleep(0.05)


def _flush_folder(folder: Path) -> None:
    """Put the name of a new file on the disk, where the system lets one."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _parse_lines(path: Path, content: bytes) -> Journal:
    """Entries of the whole lines, or a refusal that names the first line that is not as it was written."""
    journal = Journal(path)
    *lines, rest = content.split(b"\n")
    torn = rest[: len(START)] == START[: len(rest)]
    for number, line in enumerate(lines, 1):
        body, seal, digest = line.rpartition(SEAL)
        body += b"}"
        expected = _hash_line(journal.digest, body)
        if not (line.startswith(START) and seal and digest == expected.encode() + b'"}'):
            where = f"{path}, line {number}"
            if number == 1 and not line.startswith(START):
                raise _refuse_other(path)
            raise InputError(
                "was changed after it was written, or a line before it is missing",
                where=where,
                remedy="restore the file, or begin another one with fresh items",
            )
        journal.entries.append(json.loads(body))
        journal.digest = expected
    if not torn:
        raise _refuse_other(path)
    journal.end = len(content) - len(rest)
    return journal


def _refuse_other(path: Path) -> InputError:
    return InputError("is not a ledger", where=str(path), remedy="name another file")
