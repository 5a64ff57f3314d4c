"""Files that are written whole or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shardwise.core.errors import InputError

_DRAFTS: set[Path] = set()  # under way in this process
STALE = 24 * 3600.0  # seconds after which a draft belongs to nobody


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there, so that it is never half there.

    A link is followed, and a file that is there keeps its permissions; what is no regular file, such as /dev/stdout or
    a pipe, is written to as it is. The draft has a name of its own: threads and processes may write the same file.
    Drafts that a killed process left behind a day ago or longer are removed.
    """
    target = Path(os.path.realpath(path))
    special = target.exists() and not target.is_file() and not target.is_dir()
    draft = f".{target.name[:200]}.{secrets.token_hex(8)}.partial"
    partial = target if special else target.with_name(draft)
    try:
        if not special:
            _DRAFTS.add(partial)
        with partial.open("wb") as file:
            file.write(content)
            if not special:
                file.flush()
                os.fsync(file.fileno())
        if not special:
            _remove_stale(target)
            if target.exists():
                partial.chmod(stat.S_IMODE(target.stat().st_mode))
            partial.replace(target)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})",
            where=str(path),
            remedy="check the folder, its permissions and the space left",
        ) from None
    finally:  # also when stopped by the user
        if not special:
            with suppress(OSError):
                partial.unlink()
            _DRAFTS.discard(partial)


def _remove_stale(target: Path) -> None:
    for old in target.parent.glob(f".{glob.escape(target.name[:200])}.*.partial"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > STALE:
                old.unlink()


def forget_drafts() -> None:
    """Remove the drafts of files that are being written, for a process that ends now."""
    for partial in list(_DRAFTS):
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            partial.unlink()


@contextmanager
def draft_folder(folder: Path) -> Iterator[Path]:
    """A folder for files that are moved to their place once all are there; it goes however the process ends."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as made:
        _DRAFTS.add(Path(made))
        try:
            yield Path(made)
        finally:
            _DRAFTS.discard(Path(made))
