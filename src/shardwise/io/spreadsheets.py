"""Names that a spreadsheet would run as formulas: CSV has them behind an apostrophe, which reading takes away again."""

from __future__ import annotations

import re

import pandas as pd

_RUN = re.compile(r"'*[=+\-@\t\r]")  # what a formula may begin with
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def guard_name(name: str) -> str:
    """Return a name that no spreadsheet runs.

    >>> guard_name("=cmd|' /C calc'!A0"), guard_name("-0.5"), guard_name("bm25")
    ("'=cmd|' /C calc'!A0", '-0.5', 'bm25')
    """
    return f"'{name}" if _RUN.match(name) and not _NUMBER.fullmatch(name) else name


def unguard_name(name: str) -> str:
    """Return the name that was guarded.

    >>> unguard_name(guard_name("@b")), unguard_name(guard_name("'=a")), unguard_name("'quoted'")
    ('@b', "'=a", "'quoted'")
    """
    return name[1:] if name.startswith("'") and _RUN.match(name) else name


def guard_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as it is written to CSV, names of columns guarded too."""
    words = {
        name: column.map(lambda cell: guard_name(cell) if isinstance(cell, str) else cell)
        for name, column in frame.items()
        if not pd.api.types.is_numeric_dtype(column)
    }
    return frame.assign(**{str(name): column for name, column in words.items()}).rename(
        columns=lambda name: guard_name(str(name))
    )
