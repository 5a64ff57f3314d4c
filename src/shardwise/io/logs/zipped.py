"""Members of a zip archive, also such as are compressed by zstandard, which Python's zipfile cannot inflate."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from shardwise.core.errors import InputError
from shardwise.core.extras import require_extra
from shardwise.io.bounds import lift_limit, most_text_inside
from shardwise.io.files import inflate_zstd

ZSTD = 93  # method of compression, APPNOTE 4.4.5
_LOCAL = 30  # bytes of a local file header before its name
DAMAGE = (
    OSError, ValueError, OverflowError, EOFError, NotImplementedError, RuntimeError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip
"""What comes of an archive that is damaged, or made to look like one."""


def inflate_member(archive: zipfile.ZipFile, name: str, source: Path) -> bytes:
    """Inflate one member, no further than it says it goes.

    Parameters
    ----------
    archive
        An open archive.
    name
        Name of the member.
    source
        Its file, for errors.
    """
    refuse_large_members(archive, [name], source)
    info = archive.getinfo(name)
    where = f"{source} ({name})"
    if info.compress_type == ZSTD:
        require_extra("zst", where)
    try:
        if info.compress_type == ZSTD:
            content = inflate_zstd(_read_member(archive, info), info.file_size)
            good = len(content) == info.file_size and zlib.crc32(content) == info.CRC
        else:
            with archive.open(info) as stream:
                content, good = stream.read(info.file_size + 1), True
    except DAMAGE:
        good = False
    if not good:
        raise InputError("cannot be inflated", where=where, remedy="the file may be damaged: fetch it again")
    return content


def refuse_large_members(archive: zipfile.ZipFile, names: Sequence[str], source: Path) -> None:
    """Refuse members that together say that they inflate to more than a file of this size may hold.

    Parameters
    ----------
    archive : ZipFile
        An open archive.
    names : sequence of str
        Names of the members.
    source : Path
        Its file.
    """
    size = sum(archive.getinfo(name).file_size for name in names)
    most = most_text_inside(source.stat().st_size)
    if size > most:
        raise InputError(
            f"would inflate to {size:,} bytes, over {most:,}",
            where=f"{source} ({names[0]})",
            remedy=lift_limit(size),
        )


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member as they are in the file."""
    stream = archive.fp
    assert stream is not None
    stream.seek(info.header_offset)
    name, extra = struct.unpack("<HH", stream.read(_LOCAL)[26:])
    stream.seek(name + extra, io.SEEK_CUR)
    return stream.read(info.compress_size)
