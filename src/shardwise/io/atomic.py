"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from shardwise.core.errors import InputError


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there, so that it is never half there.

    A link is followed, and a file that is there keeps its permissions; what is no regular file, such as /dev/stdout or
    a pipe, is written to as it is. The draft has a name of its own: threads and processes may write the same file.
    """
    target = Path(os.path.realpath(path))
    special = target.exists() and not target.is_file() and not target.is_dir()
    draft = f".{target.name[:200]}.{secrets.token_hex(8)}.partial"
    partial = target if special else target.with_name(draft)
    try:
        with partial.open("wb") as file:
            file.write(content)
            if not special:
                file.flush()
                os.fsync(file.fileno())
        if not special:
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
