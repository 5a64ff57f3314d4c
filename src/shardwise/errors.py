"""What goes wrong through the input, said in one line that teaches."""

from __future__ import annotations


class InputError(ValueError):
    """The input's fault: one line saying where, what, and how to mend it.

    >>> print(InputError("score '12,5' is not a number", where="runs/bm25.gz:1042", remedy="write 12.5"))
    runs/bm25.gz:1042: score '12,5' is not a number; write 12.5
    """

    def __init__(self, problem: str, *, where: str = "", remedy: str = "") -> None:
        line = f"{where}: {problem}" if where else problem
        super().__init__(f"{line}; {remedy}" if remedy else line)


class InputWarning(UserWarning):
    """The input was used, but not in the way the caller may think."""
