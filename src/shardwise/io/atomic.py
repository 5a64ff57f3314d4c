"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from shardwise.core.errors import InputError


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there, so that it is never half there.

    A link is followed; what is no regular file, such as /dev/stdout or a pipe, is written to as it is.
    """
    target = Path(os.path.realpath(path))
    special = target.exists() and not target.is_file() and not target.is_dir()
    partial = target if special else target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        if not special:
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
