"""The order of names as people read them: 9 before 10."""

from __future__ import annotations

import re


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key in which 9 stands before 10; numbers may have any number of digits.

    >>> sorted(["10", "9", "q2", "q10"], key=natural_key)
    ['9', '10', 'q2', 'q10']
    """
    parts = (part for part in re.split(r"(\d+)", text) if part)
    return (*(_number(part) if part.isdecimal() else (1, 0, part) for part in parts), (-1, 0, text))


def _number(digits: str) -> tuple[int, int, str]:
    told = digits.lstrip("0")
    return 0, len(told), told
