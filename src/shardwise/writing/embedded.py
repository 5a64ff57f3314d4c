"""A report -> the numbers inside it. The page may come from anyone: its JSON is read and nothing in it is run."""

from __future__ import annotations

import base64
import json
import os
import zlib
from pathlib import Path
from typing import Any

from shardwise.core.errors import InputError

MOST_PAGE = 200 * 1024**2  # bytes; a report of 150 systems has under 6 MB
MOST_INSIDE = 400 * 1024**2  # bytes of report.json once unpacked: a few bytes could claim to be endless


DATA = ' id="data"'
"""The id of the element of a report that holds its files; quotes in names are escaped."""


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
    data = page.partition(DATA)[2].partition(">")[2].partition("</script")[0]
    if not data:
        raise _refuse_report(where, "it holds no data")
    try:
        files = {file["name"]: file["packed"] for file in json.loads(data)["files"]}
        stream = zlib.decompressobj(wbits=31)  # gzip
        text = stream.decompress(base64.b64decode(files["report.json"], validate=True), MOST_INSIDE)
        if stream.unconsumed_tail or not stream.eof:
            raise _refuse_report(where, "its data is cut short or endless")
        # a whole number with more digits than any of ours is what a floating point number makes of it
        report = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 19 else float(digits))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        raise _refuse_report(where, "its data cannot be read") from None
    if not isinstance(report, dict):
        raise _refuse_report(where, "its data cannot be read")
    return report


def _refuse_report(where: str, why: str) -> InputError:
    return InputError(
        "not a report of shardwise",
        where=where,
        remedy=f"{why}; give the HTML file that --report or shardwise demo wrote",
    )
