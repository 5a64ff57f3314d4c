"""One table model: typed columns, which know how people read their values and how LaTeX sets them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shardwise.writing.names import escape_tex
from shardwise.writing.numbers import format_interval, format_number, format_p, format_signed

LONG = 45
"""Rows that fit on one page."""
TEXTS: dict[str, Callable[[Any, int], str]] = {
    "text": lambda value, digits: str(value),
    "number": lambda value, digits: format_number(float(value), digits),
    "signed": lambda value, digits: format_signed(float(value), digits),
    "interval": lambda ends, digits: format_interval(ends[0], ends[1], digits),
    "limits": lambda ends, digits: format_interval(ends[0], ends[1], digits, significant=ends[2]),
}
"""Kind of a column -> how people read a value with so many digits.

An interval is a pair; limits of a difference also say whether it is significant.
"""


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column of a table: its heading, its values, and their kind: one of `TEXTS`, "p", "tex", or a format.

    A p-value at the resolution of resamples is only known to be as small; cells of kind "tex" are LaTeX already, as
    headings are where a table is set in LaTeX.
    """

    head: str
    values: Sequence[Any]
    kind: str = "text"
    decimals: int = 3
    resolution: float = 0.0

    def show(self) -> list[str]:
        """Cells as people read them."""
        if self.kind == "p":
            return [format_p(float(p), self.resolution) for p in self.values]
        if self.kind in TEXTS:
            return [TEXTS[self.kind](value, self.decimals) for value in self.values]
        return [f"{value:{self.kind}}" if np.isfinite(value) else "" for value in self.values]

    def set_tex(self) -> list[str]:
        """Cells in LaTeX."""
        if self.kind == "tex":
            return list(self.values)
        if self.kind == "text":
            return [escape_tex(text, len(text)) for text in self.show()]
        return [" to ".join(map(format_math, text.split(" to "))) for text in self.show()]


def show_columns(columns: Sequence[TypedColumn]) -> pd.DataFrame:
    """Return columns as a table of texts."""
    return pd.DataFrame({column.head: column.show() for column in columns})


def set_table(columns: Sequence[TypedColumn], caption: str, label: str) -> str:
    """Return a table in LaTeX with booktabs, a longtable where it does not fit on a page."""
    sides, head, rows = _set_lines(columns)
    if len(rows) <= LONG:
        return set_float("table", r"\centering", caption, label, set_tabular(columns))
    start = [rf"\begin{{longtable}}{{@{{}}{sides}@{{}}}}", rf"\caption{{{caption}}}\label{{{label}}}\\"]
    heads = [*head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot"]
    return "\n".join([*start, *heads, *rows, r"\end{longtable}", ""])


def set_float(kind: str, layout: str, caption: str, label: str, lines: Sequence[str]) -> str:
    """Return a float in LaTeX around the lines of what it holds."""
    named = [rf"\label{{{label}}}"] if label else []
    inside = [layout, rf"\caption{{{caption}}}", *named, *lines]
    return "\n".join([rf"\begin{{{kind}}}", *(f"  {line}" for line in inside), rf"\end{{{kind}}}", ""])


def set_tabular(columns: Sequence[TypedColumn], rows: range | None = None, width: str = "") -> list[str]:
    """Return all rows, or some, as lines of LaTeX; where a width is given, names in the first column wrap."""
    sides, head, body = _set_lines(columns)
    start, end = rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}", r"\end{tabular}"
    if width:
        names = r">{\raggedright\arraybackslash}X"
        start, end = rf"\begin{{tabularx}}{{{width}}}[t]{{@{{}}{names}{sides[1:]}@{{}}}}", r"\end{tabularx}%"
    shown = body if rows is None else body[rows.start : rows.stop]
    return [start, *(f"  {line}" for line in (*head, *shown, r"\bottomrule")), end]


def _set_lines(columns: Sequence[TypedColumn]) -> tuple[str, list[str], list[str]]:
    """Sides of the columns, text on the left and numbers on the right, the heading with its rules, and the rows."""
    sides = "".join("l" if column.kind == "text" else "r" for column in columns)
    head = [r"\toprule", " & ".join(column.head for column in columns) + r" \\", r"\midrule"]
    cells = zip(*(column.set_tex() for column in columns), strict=True)
    return sides, head, [" & ".join(row) + r" \\" for row in cells]


def format_math(text: str) -> str:
    r"""Write a number so that it may stand in text and in mathematics.

    >>> format_math("p ≤ 0.0001"), format_math("−0.12"), format_math("1,234"), format_math("2–5"), format_math("–")
    ('\\ensuremath{p \\le 0.0001}', '\\ensuremath{-0.12}', '1{,}234', '\\mbox{2--5}', '--')
    >>> format_math("6.1e-07")
    '\\ensuremath{6.1 \\times 10^{-7}}'
    """
    if "–" in text:
        return "--" if text == "–" else rf"\mbox{{{text.replace('–', '--')}}}"
    shown = text.replace("−", "-").replace("≤", r"\le").replace(",", "{,}")
    shown = re.sub(r"e([+-]\d+)$", lambda power: rf" \times 10^{{{int(power[1])}}}", shown)
    return rf"\ensuremath{{{shown}}}" if re.search(r"[-<\\=]", shown) else shown
