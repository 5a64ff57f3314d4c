"""A report -> the numbers inside it. The page may come from anyone: its JSON is read and nothing in it is run."""

from __future__ import annotations

import base64
import binascii
import json
import os
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from shardwise.core.errors import InputError

MOST_PAGE = 200 * 1024**2  # bytes; a report of 150 systems has under 6 MB
MOST_INSIDE = 400 * 1024**2  # bytes of report.json once unpacked: a few bytes could claim to be endless


def read_report(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return `report.json` of a report that `write_report` wrote; the page itself is not run.

    >>> read_report("nowhere/report.html")
    Traceback (most recent call last):
    shardwise.core.errors.InputError: nowhere/report.html: cannot be read (No such file or directory); check the path
    """
    where = str(path)
    try:
        if Path(path).stat().st_size > MOST_PAGE:
            raise _refuse_report(where, "too large for one")
        page = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=where, remedy="check the path") from None
    except UnicodeDecodeError:
        raise _refuse_report(where, "not text") from None
    parser = _Data()
    parser.feed(page)
    if not parser.text:
        raise _refuse_report(where, "it holds no data")
    try:
        files = {file["name"]: file["packed"] for file in json.loads("".join(parser.text))["files"]}
        report = json.loads(_unpack_text(files["report.json"], where), parse_int=_parse_integer)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        raise _refuse_report(where, "its data cannot be read") from None
    if not isinstance(report, dict):
        raise _refuse_report(where, "its data cannot be read")
    return report


class _Data(HTMLParser):
    """Collects the text of the script element with the id data."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note that the element begins."""
        self._inside = tag == "script" and ("id", "data") in attributes and not self.text

    def handle_endtag(self, tag: str) -> None:
        """Note that it ends."""
        self._inside = False

    def handle_data(self, data: str) -> None:
        """Keep its text."""
        if self._inside:
            self.text.append(data)


def _parse_integer(digits: str) -> int | float:
    """A whole number, or where it has more digits than any of ours what a floating point number makes of it."""
    return int(digits) if len(digits) < 19 else float(digits)


def _unpack_text(packed: str, where: str) -> bytes:
    try:
        raw = base64.b64decode(packed, validate=True)
    except binascii.Error as error:
        raise ValueError from error
    stream = zlib.decompressobj(wbits=31)  # gzip
    text = stream.decompress(raw, MOST_INSIDE)
    if stream.unconsumed_tail or not stream.eof:
        raise _refuse_report(where, "its data is cut short or endless")
    return text


def _refuse_report(where: str, why: str) -> InputError:
    return InputError(
        "not a report of shardwise",
        where=where,
        remedy=f"{why}; give the HTML file that --report or shardwise demo wrote",
    )
