"""Files of a browser -> files in a folder of ours, under names that can do no harm, and no more than was agreed."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO

from shardwise.app.store import MEGABYTE
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError

ALLOWED = frozenset(" ._-+=@,()#")  # beside letters and digits
LONGEST = 150  # bytes of a part of a path
DEEPEST = 4  # folders that are kept: logs are named after the folder they are in
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2")
CHUNK = MEGABYTE
GROWTH_ARCHIVE = 100
"""How many times its own size an archive may hold."""


class TooMuch(InputError):
    """More was sent than the server takes."""


def sanitize_name(name: str) -> Path:
    r"""Return the relative path that stands for a name from elsewhere: no way up, nothing hidden, nothing strange.

    Parameters
    ----------
    name
        As the browser or an archive has it.

    >>> str(sanitize_name("../../etc/passwd")), str(sanitize_name("C:\\runs\\bm25.gz")), str(sanitize_name(".."))
    ('etc/passwd', 'C_/runs/bm25.gz', 'file')
    """
    parts = []
    for text in name.replace("\\", "/").split("/"):
        kept = "".join(c if c.isalnum() or c in ALLOWED else "_" for c in text).strip(" ").lstrip(".- ")
        raw = kept.encode("utf-8", "replace")
        if len(raw) > LONGEST:  # the ending says what a file is
            kept = raw[: LONGEST - 30].decode("utf-8", "ignore") + Path(kept).suffix[:20]
        parts += [kept] if kept else []
    return Path(*parts[-DEEPEST - 1 :]) if parts else Path("file")


def count_bytes(folder: Path) -> tuple[int, int]:
    """Return the number of files in a folder, and their bytes."""
    lengths = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(lengths), sum(lengths)


async def receive_stream(
    stream: AsyncIterator[bytes], folder: Path, name: str, limit: int, files: int
) -> Path:
    """Write a stream to a file as it comes; what is too much is refused, and what is half there removed.

    Parameters
    ----------
    stream
        The bytes.
    folder
        Where the files of the analysis are.
    name
        What the browser calls it.
    limit, files
        Bytes and number of all files of the analysis.
    """
    count, size = count_bytes(folder)
    target = _find_vacant_path(folder, name)
    if count >= files:
        raise _too_many(files)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("wb") as file:
            async for part in stream:
                size += len(part)
                if size > limit:
                    raise too_large(limit)
                file.write(part)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target


def _find_vacant_path(folder: Path, name: str) -> Path:
    """A path that no file has; one that would go through a file gives up its folders."""
    wanted = folder / sanitize_name(name)
    if any(parent.is_file() for parent in wanted.parents if parent.is_relative_to(folder)):
        wanted = folder / wanted.name
    target, k = wanted, 2
    while target.exists():
        target, k = wanted.with_name(f"{k}-{wanted.name}"), k + 1
    return target


def too_large(limit: int) -> TooMuch:
    """Return the refusal of more bytes than the limit."""
    return TooMuch(
        f"the files are larger than {limit // MEGABYTE:,} MB, which is what this server takes for one analysis",
        remedy="leave some out, or start shardwise serve with a larger --limit",
    )


def _too_many(files: int) -> TooMuch:
    return TooMuch(
        f"more than {format_count(files, 'file')} for one analysis",
        remedy="put scores into one table, or leave some out",
    )


def unpack_archives(folder: Path, limit: int, files: int) -> None:
    """Replace archives in a folder by what is in them, as far as the limits go.

    Parameters
    ----------
    folder
        Where the files of the analysis are.
    limit, files
        Bytes and number of all files of the analysis, once unpacked.
    """
    # loads numpy, which a server does without: its workers unpack
    from shardwise.io.files import LEAST_TEXT

    count, size = count_bytes(folder)
    for archive in sorted(path for path in folder.rglob("*") if path.name.lower().endswith(ARCHIVES)):
        packed = archive.stat().st_size
        # text that is worth comparing is not packed as tightly
        most, unpacked = max(LEAST_TEXT, GROWTH_ARCHIVE * packed), 0
        try:
            for name, stream in _list_members(archive):
                count += 1
                if count > files:
                    raise _too_many(files)
                target = _find_vacant_path(folder, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                with stream, target.open("wb") as file:
                    while part := stream.read(CHUNK):  # what it says of its size is not believed
                        size += len(part)
                        if size > limit:
                            raise too_large(limit)
                        unpacked += len(part)
                        if unpacked > most:
                            raise InputError(
                                f"{packed:,} bytes inflate to over {most:,}",
                                where=archive.name,
                                remedy="check where it comes from, or send the files in it",
                            )
                        file.write(part)
        except (
            OSError,
            EOFError,
            zlib.error,
            zipfile.BadZipFile,
            tarfile.TarError,
            RuntimeError,
            ValueError,
        ) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                "cannot be unpacked", where=archive.name, remedy="it may be damaged: make it again"
            ) from None
        archive.unlink()


def _list_members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Regular files of an archive, one by one; links and folders are passed over, hidden files too."""
    if archive.name.lower().endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if not info.is_dir() and _is_wanted(info.filename):
                    yield info.filename, packed.open(info)
        return
    with tarfile.open(archive, "r|*") as stored:
        for member in stored:
            stream = stored.extractfile(member) if member.isreg() and _is_wanted(member.name) else None
            if stream is not None:
                yield member.name, stream


def _is_wanted(name: str) -> bool:
    parts = name.split("/")
    return not parts[-1].startswith(".") and "__MACOSX" not in parts
