"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from shardwise.errors import InputError


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there, so that it is never half there."""
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    try:
        partial.write_bytes(content)
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError(
            f"cannot be written ({error.strerror})",
            where=str(path),
            remedy="check the folder and its permissions",
        ) from None
