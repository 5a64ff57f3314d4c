"""Paths -> bytes: globs, folders, compressed files, and limits on what a file may hold."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import re
import shlex
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.arguments import count_workers, map_parallel
from shardwise.core.arrays import Bytes
from shardwise.core.errors import Either, InputError, Words, refuse_absent_file
from shardwise.core.extras import import_extra, require_extra

FRAME = b"\x28\xb5\x2f\xfd"  # what a file of zstandard begins with
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz", FRAME: ".zst"}
_MARK = b"\xef\xbb\xbf"  # of byte order, which says nothing in UTF-8
_MARKS_16 = (b"\xff\xfe", b"\xfe\xff")  # of byte order, in UTF-16
_ZIP = b"PK\x03\x04"
_SKIPPED = range(0x184D2A50, 0x184D2A60)  # frames of zstandard that hold no data (RFC 8878, 3.1.2)
_DAMAGE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
_PART = 1 << 22  # bytes of a file that are worth a worker
PIECE = 1 << 14  # bytes that are inflated at once, so that no more than some hundred MB can come of them

PADDING = 80
"""Bytes that are readable behind a text that was read: the parser of lines looks as far ahead."""

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

PathLike = str | os.PathLike[str]


def list_files(paths: PathLike | Iterable[PathLike]) -> list[Path]:
    """List the files meant by paths, globs and folders, each once, in the order given and sorted within each.

    Hidden files are passed over in folders.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files: dict[Path, None] = {}
    for item in given:
        path = Path(item)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
            if not inside:
                raise InputError(
                    "the folder has no files", where=str(path), remedy="give the folder of the run files"
                )
        elif path.exists():
            inside = [path]
        elif glob.has_magic(str(item)):
            inside = sorted(Path(p) for p in glob.glob(str(item), recursive=True) if Path(p).is_file())
            if not inside:
                raise InputError(
                    "no file matches", where=str(item), remedy="check the pattern and the folder"
                )
        else:
            raise refuse_absent_file(item)
        files.update(dict.fromkeys(inside))
    if not files:
        raise InputError("no files were given", remedy="name at least one run file, folder or pattern")
    for path in files:
        if path.suffix == ".zst":
            require_extra("zst", path)
    return list(files)


def are_paths(data: Any) -> bool:
    """Tell whether something is a path or a list of them."""
    kinds = (str, os.PathLike)
    return isinstance(data, kinds) or (
        isinstance(data, Sequence) and bool(data) and all(isinstance(item, kinds) for item in data)
    )


def bare_name(path: Path) -> str:
    """Return file name without the ending of its compression.

    >>> bare_name(Path("runs/input.BM25.gz"))
    'input.BM25'
    """
    return path.name.removesuffix(path.suffix) if path.suffix in SUFFIXES else path.name


def name_apart(paths: Sequence[Path]) -> list[str]:
    """Return names that keep files apart: without endings, or the folders that differ where files are called alike.

    >>> name_apart([Path("runs/bm25.csv"), Path("runs/dense.csv.gz")])
    ['bm25', 'dense']
    >>> name_apart([Path("gpt/v1/scores.csv"), Path("llama/v1/scores.csv")])
    ['gpt', 'llama']
    """
    names = [Path(bare_name(path)).stem for path in paths]
    if len(set(names)) == len(names):
        return names
    parts = [(*path.absolute().parts[:-1], name) for path, name in zip(paths, names, strict=True)]
    if len({len(part) for part in parts}) > 1:
        return [str(path) for path in paths]
    differ = [k for k in range(len(parts[0])) if len({part[k] for part in parts}) > 1]
    return ["/".join(part[k] for k in differ) for part in parts]


def _inflate_gzip(text: bytes, most: int) -> bytes:
    if text.startswith(b"\x1f\x8b"):
        member = zlib.decompressobj(wbits=31)
        content = member.decompress(text, most + 1)
        if len(content) > most or (member.eof and not member.unused_data):
            return content
    # of several members, or cut short
    with gzip.GzipFile(fileobj=io.BytesIO(text)) as stream:
        return stream.read(most + 1)


def _inflate_streams(
    text: bytes, most: int, make_decompressor: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> bytes:
    """Inflate all streams of a file; what follows the last must be a stream too, or zeros as padding."""
    parts, held = [], 0
    rest = text
    while rest and held <= most:
        stream = make_decompressor()
        parts.append(stream.decompress(rest, most + 1 - held))
        held += len(parts[-1])
        if held > most:
            break
        if not stream.eof:
            raise EOFError("it ends before its end-of-stream mark")
        rest = stream.unused_data
        if make_decompressor is lzma.LZMADecompressor:
            # the format of xz pads streams with zeros, in fours
            rest = rest.lstrip(b"\0")
    return b"".join(parts)


def inflate_zstd(text: bytes, most: int) -> bytes:
    """Inflate all frames, to a little over so many bytes at most, and refuse one that does not end."""
    (zstandard,) = import_extra("zst")
    parts, held, offset = [], 0, 0
    frame = None
    while offset < len(text) and held <= most:
        if frame is None and int.from_bytes(text[offset : offset + 4], "little") in _SKIPPED:
            offset += 8 + int.from_bytes(text[offset + 4 : offset + 8], "little")
            continue
        frame = frame or zstandard.ZstdDecompressor().decompressobj()
        piece = text[offset : offset + PIECE]
        try:
            parts.append(frame.decompress(piece))
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
        held += len(parts[-1])
        offset += len(piece) - len(frame.unused_data)
        if frame.eof:
            frame = None
    if (frame is not None and held <= most) or offset > len(text):
        raise EOFError("it ends before its end-of-frame mark")
    return b"".join(parts)


UNCHECKED = "without a checksum (.zst), so that damage would not be noticed"
"""Note on a file whose content nothing vouches for."""


def lacks_checksum(path: Path) -> bool:
    """Return whether a file is one of zstandard whose first frame has no checksum of its content.

    Then nothing tells damage from other content: a flipped bit may read as another number. Other compressions that
    are read here always have a checksum.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bool
        False for a file that is compressed in another way, or not at all.
    """
    with open(path, "rb") as stream:
        head = stream.read(5)
    # the third bit behind the mark of a frame says that a checksum follows its content (RFC 8878, 3.1.1.1.1)
    return len(head) == 5 and head.startswith(FRAME) and not head[4] & 4


SUFFIXES: dict[str, Callable[[bytes, int], bytes]] = {
    ".gz": _inflate_gzip,
    ".bz2": partial(_inflate_streams, make_decompressor=bz2.BZ2Decompressor),
    ".xz": partial(_inflate_streams, make_decompressor=lzma.LZMADecompressor),
    ".zst": inflate_zstd,
}
"""How files of each ending are inflated, to a little over so many bytes at most."""


def _inflate_text(ending: str, text: bytes, path: Path, *, table: bool = False) -> bytes:
    """Inflate a file, or refuse one that holds more than it may."""
    if ending == ".zst":
        require_extra("zst", path)
    most = most_table_inside(len(text)) if table else most_text_inside(len(text))
    content = SUFFIXES[ending](text, most)
    if len(content) > most:
        raise InputError(
            f"{len(text):,} bytes inflate to over {most:,}", where=str(path), remedy=lift_limit(most)
        )
    return content


def compress_text(ending: str, text: bytes) -> bytes:
    """Compress text for a file of that ending, with a checksum; as it is for any other."""
    if ending == ".zst":
        (zstandard,) = import_extra("zst")
        return bytes(zstandard.ZstdCompressor(write_checksum=True).compress(text))
    if ending == ".gz":
        return gzip.compress(text, mtime=0)
    if ending == ".bz2":
        return bz2.compress(text)
    return lzma.compress(text) if ending == ".xz" else text


def _make_room(buffer: Bytes, size: int) -> Bytes:
    return buffer if len(buffer) >= size else np.empty(size + size // 4, dtype=np.uint8)


def pad_text(text: bytes, buffer: Bytes) -> tuple[Bytes, int]:
    """Put text into the buffer or a larger one, newlines behind it; return it and the number of bytes."""
    size = len(text)
    buffer = _make_room(buffer, size + PADDING)
    buffer[:size] = np.frombuffer(text, dtype=np.uint8)
    buffer[size : size + PADDING] = 10
    return buffer, size


def read_bytes(path: Path, buffer: Bytes, *, jobs: int | None = 1, table: bool = False) -> tuple[Bytes, int]:
    """Read a file, uncompressed, into the buffer or a larger one; return it and the number of bytes.

    The file is opened once, as a pipe can be. Newlines stand behind the last byte, so that a line always ends and
    whole words can be read. Several workers read parts of a large file. A ``table`` takes many times its size in
    memory: a compressed one that would not fit is refused.
    """
    ending = ""
    try:
        buffer, size = _read_raw(path, buffer, count_workers(jobs))
        ending = _find_compression(path, buffer[: min(size, 6)].tobytes())
        if ending:
            return pad_text(_inflate_text(ending, buffer[:size].tobytes(), path, table=table), buffer)
    except InputError:
        raise
    except _DAMAGE as error:
        raise _refuse_file(path, ending, error) from None
    buffer[size : size + PADDING] = 10
    return buffer, size


def _find_compression(path: Path, start: bytes) -> str:
    """Return how a file is compressed, by its name or its first bytes; "" where it is not."""
    known = (ending for magic, ending in _MAGIC.items() if start.startswith(magic))
    return path.suffix if path.suffix in SUFFIXES else next(known, "")


def _refuse_file(path: Path, ending: str, error: Exception) -> InputError:
    if path.is_dir():
        return InputError("is a folder, not a file", where=str(path), remedy="name the file in it")
    if isinstance(error, FileNotFoundError):
        return refuse_absent_file(path)
    if isinstance(error, PermissionError):
        return InputError("may not be read", where=str(path), remedy="check its permissions")
    return InputError(
        f"cannot be read as a {ending or 'plain'} file ({_describe_error(error)})",
        where=str(path),
        remedy="it may be damaged or cut short: fetch it again, or check its ending",
    )


def read_text(path: Path, *, table: bool = False) -> bytes:
    """Read a file whole, uncompressed and without a mark of byte order; a ``table`` as in `read_bytes`."""
    ending = ""
    try:
        with open(path, "rb", buffering=0) as stream:
            text = stream.read()
        ending = _find_compression(path, text[:6])
        text = _inflate_text(ending, text, path, table=table) if ending else text
    except InputError:
        raise
    except _DAMAGE as error:
        raise _refuse_file(path, ending, error) from None
    return text.removeprefix(_MARK)


def read_start(path: Path, most: int) -> bytes:
    """Return the first bytes of a file, uncompressed; none where it is damaged, which whoever reads it says."""
    with path.open("rb") as stream:
        start = stream.read(most)
        ending = next((known for magic, known in _MAGIC.items() if start.startswith(magic)), "")
        try:
            return SUFFIXES[ending](start + stream.read(), most)[:most] if ending else start
        except InputError:
            raise
        except _DAMAGE:
            return b""


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """Text of a file, and newlines behind it that kernels may read."""

    buffer: Bytes
    size: int

    @classmethod
    def of_bytes(cls, content: bytes) -> Padded:
        """Return a text that was made, with one newline behind it."""
        return cls(np.frombuffer(content + b"\n", dtype=np.uint8), len(content))

    def head(self, most: int = 1 << 20) -> bytes:
        """Return its first bytes."""
        return self.buffer[: min(most, self.size)].tobytes()

    def whole(self) -> memoryview:
        """Return all of it."""
        return self.buffer.data[: self.size]


def read_padded(path: Path) -> Padded:
    """Read a file as `read_text` does, into memory that is faster to have where there is much of it."""
    text = Padded(*read_bytes(path, np.empty(0, dtype=np.uint8), jobs=None, table=True))
    mark = len(_MARK) if text.head(len(_MARK)) == _MARK else 0
    return Padded(text.buffer[mark:], text.size - mark)


def recode_text(text: Padded) -> tuple[Padded, tuple[str, ...]]:
    """Return a text in UTF-8, and a note where it was in UTF-16 or in cp1252; as it is where it is none of them."""
    zero = text.head(256).find(b"\0")
    if not text.size or (zero < 0 and int(text.buffer[: text.size].max()) < 128):
        return text, ()
    content = bytes(text.whole())
    wide = "utf-16" if content[:2] in _MARKS_16 else {0: "utf-16-be", 1: "utf-16-le"}.get(zero, "")
    try:
        if wide:
            return Padded.of_bytes(content.decode(wide).encode()), ("text in UTF-16",)
        letters = set(content.decode("utf-8", "surrogateescape"))
        strange = {letter for letter in letters if letter > "~" or letter < " "} - set("\t\n\r\f")
        # controls make no text, and letters of UTF-8 beside bytes that are none a damaged one
        if strange and all("\udc80" <= letter <= "\udcff" for letter in strange):
            return Padded.of_bytes(content.decode("cp1252").encode()), ("text in cp1252 (Latin-1)",)
    except UnicodeError:
        pass
    return text, ()


def decode_text(text: bytes | memoryview, path: Path, *, cut: bool = False) -> str:
    """Decode text, or refuse the first line that is not UTF-8; ``cut`` where it may end inside a letter."""
    try:
        return str(text, "utf-8")
    except UnicodeDecodeError as error:
        if cut and len(text) - error.start < 4:
            return str(text[: error.start], "utf-8")
        if bytes(text[:4]) == _ZIP:
            raise InputError(
                "is a zip archive", where=str(path), remedy="unpack it, and name the files in it"
            ) from None
        line = bytes(text[: error.start]).count(b"\n") + 1
        raise InputError("not UTF-8 text", where=f"{path}:{line}", remedy="save it as UTF-8") from None


def _read_raw(path: Path, buffer: Bytes, jobs: int) -> tuple[Bytes, int]:
    """Return the bytes as they are in the file."""
    with open(path, "rb", buffering=0) as stream:
        about = os.fstat(stream.fileno())
        buffer, size = _make_room(buffer, about.st_size + PADDING + 1), 0
        regular = stat.S_ISREG(about.st_mode) and hasattr(os, "preadv")
        if regular and jobs > 1 and about.st_size > jobs * _PART:
            size = stream.seek(_read_parts(stream.fileno(), buffer.data[: about.st_size], jobs))
        while got := stream.readinto(buffer.data[size:-PADDING]):
            size += got
            if size == len(buffer) - PADDING:  # a pipe, or a file that grows
                larger = np.empty(2 * len(buffer), dtype=np.uint8)
                larger[:size] = buffer[:size]
                buffer = larger
    return buffer, size


def _read_parts(file: int, room: memoryview, jobs: int) -> int:
    """Read a file into the room, a part a worker, as the memory is as slow to have as the file to read; how far."""
    cuts = [len(room) * k // jobs for k in range(jobs + 1)]

    def read_part(part: tuple[int, int]) -> int:
        start, end = part
        while start < end and (got := os.preadv(file, [room[start:end]], start)):
            start += got
        return start

    ends = list(map_parallel(read_part, list(pairwise(cuts)), jobs=jobs))
    return next((end for end, cut in zip(ends, cuts[1:], strict=True) if end < cut), len(room))


def _describe_error(error: Exception) -> str:
    text = str(error).strip().rstrip(".")
    return text[:1].lower() + text[1:] if text else type(error).__name__


FEW = 3
"""Files of a folder that are written out."""


def write_paths(paths: Iterable[Path | str]) -> str:
    """Write paths for a command line, many files of one folder by a pattern that matches these and no others.

    Parameters
    ----------
    paths : iterable of Path or str
        Files and folders, in the order of the command line.

    Returns
    -------
    str
        Words for a shell, quoted where they must be.

    >>> write_paths(["qrels.txt", "my runs"])
    "qrels.txt 'my runs'"
    """
    given = [Path(path) for path in paths]
    words: list[str] = []
    for folder in dict.fromkeys(path.parent for path in given):
        files = [path for path in given if path.parent == folder]
        pattern = _find_pattern(folder, files) if len(files) > FEW else ""
        words += [pattern] if pattern else [shlex.quote(str(path)) for path in files]
    return " ".join(words)


def _find_pattern(folder: Path, files: list[Path]) -> str:
    """Return the pattern of all files with one ending, or of all in the folder; empty where others would match too."""
    for ending in ("".join(files[0].suffixes), files[0].suffix, ""):
        matched = {path for path in folder.glob(f"*{ending}") if not path.name.startswith(".")}
        if matched == set(files):
            start = "" if folder == Path() else f"{shlex.quote(str(folder))}/"
            return f"{start}*{ending}"
    return ""


def most_inside(packed: int) -> int:
    """Return how many bytes of numbers a file of so many may hold; more looks made to fill the memory."""
    return max(LEAST, GROWTH * packed, _raised_limit)


def most_text_inside(packed: int) -> int:
    """Return how many bytes of text a file of so many may hold; a table takes many times that in memory.

    >>> most_text_inside(1000) == LEAST_TEXT, most_text_inside(10**8)
    (True, 50000000000)
    """
    return max(LEAST_TEXT, GROWTH_TEXT * packed, _raised_limit)


def most_table_inside(packed: int) -> int:
    """Return how many bytes of text a compressed table of so many may hold: no more than fits into memory."""
    fitting = usable_memory() // SHARE_OF_MEMORY // BYTES_NEEDED
    return min(most_text_inside(packed), max(fitting, LEAST_TEXT, _raised_limit // BYTES_NEEDED))


def most_workbook_inside(packed: int) -> int:
    """Return how many bytes of XML a workbook of so many may hold; its cells take as much memory as a table of text."""
    allowed = max(LEAST_WORKBOOK, GROWTH_WORKBOOK * packed, _raised_limit // BYTES_NEEDED)
    return min(allowed, most_table_inside(packed))


def lift_limit(inflated: int) -> Words:
    """Return the remedy for text that inflates to so many bytes or more: the memory that its table would take."""
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
