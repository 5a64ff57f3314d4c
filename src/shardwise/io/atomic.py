"""Files that are written whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shardwise.core.errors import InputError
from shardwise.core.extras import import_if_there

# absent on Windows, where an open file can neither be moved nor removed: drafts are known by their age there
fcntl = import_if_there("fcntl")

_DRAFTS: set[Path] = set()  # under way in this process
STALE = 24 * 3600.0  # seconds after which a draft belongs to nobody
_HERE, _SWAP = -100, 2  # AT_FDCWD; RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS are the same number
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)  # what says that names cannot be swapped there


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there, so that it is never half there.

    A link is followed, and a file that is there keeps its permissions; what is no regular file, such as /dev/stdout or
    a pipe, is written to as it is. The draft has a name of its own: threads and processes may write the same file.
    Drafts that killed processes left behind are removed.
    """
    target = Path(os.path.realpath(path))
    with refuse_unwritable(path):
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(content)
            return
        name = os.fsdecode(
            os.fsencode(target.name)[:200]
        )  # a draft has a longer name, which must not be too long
        with _make_draft(target.parent / f".{name}.", ".partial", Path.touch) as partial:
            partial.write_bytes(content)
            move_in(partial, target)


@contextmanager
def refuse_unwritable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name what cannot be written, and say why."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or type(error).__name__})",
            where=str(path),
            remedy="check the folder, its permissions and the space left",
        ) from None


def move_in(draft: Path, target: Path) -> None:
    """Move a file to its place once it is on the disk, with the permissions of the one that was there."""
    # open for writing, without which Windows refuses
    with draft.open("r+b") as file:
        os.fsync(file.fileno())
    if target.exists():
        draft.chmod(stat.S_IMODE(target.stat().st_mode))
    draft.replace(target)


def move_folder_in(draft: Path, target: Path) -> None:
    """Move a folder to its place; one that is there takes the place of the draft, in the same instant where possible.

    Linux and macOS swap two names at once. Where the file system cannot, the old one is moved away first, and for a
    moment there is none.
    """
    if not target.exists():
        draft.rename(target)
    elif not _swap_names(draft, target):
        aside = draft.with_name(f"{draft.name}.old")
        target.rename(aside)
        draft.rename(target)
        aside.rename(draft)


def _swap_names(path: Path, other: Path) -> bool:
    """Swap two names of one file system at once; False where the system or the file system does not know how."""
    if os.name != "posix":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    names = (os.fsencode(path), os.fsencode(other))
    if hasattr(library, "renameat2"):  # Linux
        failed = library.renameat2(_HERE, names[0], _HERE, names[1], ctypes.c_uint(_SWAP))
    elif hasattr(library, "renamex_np"):  # macOS
        failed = library.renamex_np(*names, ctypes.c_uint(_SWAP))
    else:
        return False
    number = ctypes.get_errno()
    if failed and number not in _CANNOT:
        raise OSError(number, os.strerror(number), str(other))
    return not failed


@contextmanager
def draft_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder for files that are moved to their place once all are there; it goes however the process ends."""
    with _make_draft(folder / ".partial-", "", Path.mkdir) as made:
        yield made


@contextmanager
def _make_draft(begin: Path, end: str, make: Callable[..., None]) -> Iterator[Path]:
    """Make a draft and keep it locked: the lock goes with the process, hence whoever can lock a draft may remove it."""
    for abandoned in begin.parent.glob(f"{glob.escape(begin.name)}*{end}"):
        _remove_abandoned(abandoned)
    while True:
        partial = begin.with_name(f"{begin.name}{secrets.token_hex(8)}{end}")
        _DRAFTS.add(partial)
        make(partial, exist_ok=False)
        with suppress(FileNotFoundError):  # another process was quicker to lock it, and removed it
            lock = None if fcntl is None else os.open(partial, os.O_RDONLY)
            if lock is not None:
                with suppress(OSError):  # file systems without locks have drafts that are known by their age
                    fcntl.flock(lock, fcntl.LOCK_EX)
            if partial.exists():
                break
            if lock is not None:
                os.close(lock)
    try:
        yield partial
    finally:  # also when stopped by the user
        _remove_draft(partial)
        if lock is not None:
            os.close(lock)
        _DRAFTS.discard(partial)


def _remove_abandoned(draft: Path) -> None:
    """Remove a draft whose process is gone, or which is too old to be anybody's."""
    with suppress(OSError):
        old = time.time() - draft.stat().st_mtime >= STALE
        if fcntl is None:
            if old:
                _remove_draft(draft)
            return
        lock = os.open(draft, os.O_RDONLY)
        try:
            if not old:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_draft(draft)
        finally:
            os.close(lock)


def _remove_draft(draft: Path) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    with suppress(OSError):
        draft.unlink()


def forget_drafts() -> None:
    """Remove the drafts of files that are being written, for a process that ends now."""
    for partial in list(_DRAFTS):
        _remove_draft(partial)
