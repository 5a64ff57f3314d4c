"""One table model: typed columns, which know how people read their values and how LaTeX sets them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from shardwise.core.libraries import pd
from shardwise.core.text import escape_controls
from shardwise.writing.names import escape_tex
from shardwise.writing.numbers import format_interval, format_number, format_p, format_signed

LONG = 45
"""Rows that fit on one page."""
TEXTS: dict[str, Callable[[Any, int], str]] = {
    "text": lambda value, digits: str(value),
    "cell": lambda value, digits: str(value),
    "figure": lambda value, digits: str(value),
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

    A heading of several levels spans its neighbours of the same name. Texts stand on the left, and cells, which are
    text too, on the right as numbers do; figures are numbers that were written before. A p-value at the resolution of
    resamples is only known to be as small; cells of kind "tex" are LaTeX already, as headings are where a table is set
    in LaTeX. Rows in ``bold`` are so in HTML.
    """

    head: str | tuple[str, ...]
    values: Sequence[Any]
    kind: str = "text"
    decimals: int = 3
    resolution: float = 0.0
    bold: frozenset[int] = frozenset()

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
        if self.kind in ("text", "cell"):
            return [escape_tex(text, len(text)) for text in self.show()]
        return [" to ".join(map(format_math, text.split(" to "))) for text in self.show()]


def show_columns(columns: Sequence[TypedColumn]) -> pd.DataFrame:
    """Return columns as a table of texts."""
    return pd.DataFrame({str(column.head): column.show() for column in columns})


def lay_out(columns: Sequence[TypedColumn]) -> list[str]:
    """Return the heading and the rows as lines of text.

    >>> lay_out([TypedColumn("system", ["a", "bm25"]), TypedColumn("mean", [0.5, 12.25], "number")])
    ['system    mean', 'a        0.500', 'bm25    12.250']
    """
    shown = [[str(column.head), *column.show()] for column in columns]
    widths = [max(map(count_cells, cells)) for cells in shown]
    sides = [column.kind == "text" for column in columns]
    lines = []
    for row in zip(*shown, strict=True):
        padded = []
        for text, width, left in zip(row, widths, sides, strict=True):
            gap = " " * (width - count_cells(text))
            padded.append(text + gap if left else gap + text)
        lines.append("  ".join(padded).rstrip())
    return lines


def count_cells(text: str) -> int:
    """Return how many places of a terminal a text takes: two for wide characters, none for accents."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def set_table(columns: Sequence[TypedColumn], caption: str = "", label: str = "") -> str:
    """Return a table in LaTeX with booktabs, a longtable where it does not fit on a page; without a caption no float.

    Headings are LaTeX where there is a caption, and texts where there is none.
    """
    sides, head, rows = _set_lines(columns, not caption)
    if len(rows) <= LONG:
        tabular = set_tabular(columns, escape_heads=not caption)
        return (
            set_float("table", r"\centering", caption, label, tabular)
            if caption
            else "\n".join([*tabular, ""])
        )
    start = [rf"\begin{{longtable}}{{@{{}}{sides}@{{}}}}"]
    start += [rf"\caption{{{caption}}}\label{{{label}}}\\", *head, r"\endfirsthead"] if caption else []
    ends = [*head, r"\endhead", r"\bottomrule", r"\endfoot"]
    return "\n".join([*start, *ends, *rows, r"\end{longtable}", ""])


def set_float(kind: str, layout: str, caption: str, label: str, lines: Sequence[str]) -> str:
    """Return a float in LaTeX around the lines of what it holds."""
    named = [rf"\label{{{label}}}"] if label else []
    inside = [layout, rf"\caption{{{caption}}}", *named, *lines]
    return "\n".join([rf"\begin{{{kind}}}", *(f"  {line}" for line in inside), rf"\end{{{kind}}}", ""])


def set_tabular(
    columns: Sequence[TypedColumn], rows: range | None = None, width: str = "", *, escape_heads: bool = False
) -> list[str]:
    """Return all rows, or some, as lines of LaTeX; where a width is given, names in the first column wrap."""
    sides, head, body = _set_lines(columns, escape_heads)
    start, end = rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}", r"\end{tabular}"
    if width:
        names = r">{\raggedright\arraybackslash}X"
        start, end = rf"\begin{{tabularx}}{{{width}}}[t]{{@{{}}{names}{sides[1:]}@{{}}}}", r"\end{tabularx}%"
    shown = body if rows is None else body[rows.start : rows.stop]
    return [start, *(f"  {line}" for line in (*head, *shown, r"\bottomrule")), end]


def _set_lines(
    columns: Sequence[TypedColumn], escape_heads: bool = False
) -> tuple[str, list[str], list[str]]:
    """Sides of the columns, text on the left and numbers on the right, the heading with its rules, and the rows."""
    sides = "".join("l" if column.kind == "text" else "r" for column in columns)
    head = [r"\toprule"]
    *above, last = group_heads(columns)
    for groups in (*above, last):
        cells, rules, start = [], [], 1
        for text, span in groups:
            words = escape_tex(text, 8 * len(text)) if escape_heads else text
            cells.append(rf"\multicolumn{{{span}}}{{c}}{{{words}}}" if span > 1 else words)
            rules += [rf"\cmidrule(lr){{{start}-{start + span - 1}}}"] if span > 1 else []
            start += span
        head.append(" & ".join(cells) + r" \\")
        head += [" ".join(rules)] if rules else []
    rows = zip(*(column.set_tex() for column in columns), strict=True)
    return sides, [*head, r"\midrule"], [" & ".join(row) + r" \\" for row in rows]


def group_heads(columns: Sequence[TypedColumn]) -> list[list[tuple[str, int]]]:
    """Return the levels of headings, each with the number of columns that it spans; the lowest spans one.

    >>> heads = [("5 shards", "τ"), ("5 shards", "ω²")]
    >>> group_heads([TypedColumn("model", []), *(TypedColumn(head, []) for head in heads)])
    [[('', 1), ('5 shards', 2)], [('model', 1), ('τ', 1), ('ω²', 1)]]
    """
    heads = [(column.head,) if isinstance(column.head, str) else column.head for column in columns]
    depth = max(map(len, heads))
    padded = [("",) * (depth - len(head)) + head for head in heads]
    levels = []
    for level in range(depth - 1):
        # a column without a heading at this level stands alone
        keys = [(head[: level + 1], k * (not head[level])) for k, head in enumerate(padded)]
        levels.append([(key[0][-1], len(list(group))) for key, group in groupby(keys)])
    return [*levels, [(head[-1], 1) for head in padded]]


def escape_text(text: str) -> str:
    """Return a text as a page shows it."""
    return escape(escape_controls(text))


def render_lines(lines: Iterable[str]) -> str:
    """Return sentences as paragraphs of a page."""
    return "".join(f"<p>{escape_text(line)}</p>" for line in lines if line)


def render_box(label: str, columns: Sequence[TypedColumn]) -> str:
    """Return a table in HTML that scrolls where it is wide."""
    box = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label, quote=True)}">'
    return f"{box}{render_html(columns)}</div>"


def render_html(columns: Sequence[TypedColumn], labelled: bool = False) -> str:
    """Return a table in HTML: texts have the class w, and a second figure in brackets the class p.

    Cells may be labelled with their heading, for narrow screens.
    """
    sides = [' class="w"' if column.kind == "text" else "" for column in columns]
    heads = [column.head if isinstance(column.head, str) else " ".join(column.head) for column in columns]
    labels = [f' data-head="{escape_text(head)}"' if labelled else "" for head in heads]
    head = []
    for groups in group_heads(columns):
        cells, start = [], 0
        for text, span in groups:
            wide = f' colspan="{span}"' if span > 1 else sides[start]
            cells.append(f"<th{wide}>{escape_text(text)}</th>")
            start += span
        head.append(f"<tr>{''.join(cells)}</tr>")
    body = []
    for k, row in enumerate(zip(*(column.show() for column in columns), strict=True)):
        cells = []
        for column, text, side, label in zip(columns, row, sides, labels, strict=True):
            first, bracket, rest = (text, "", "") if side else text.partition(" (")
            second = f' <span class="p">({escape_text(rest)}</span>' if bracket else ""
            shown = f"<b>{escape_text(first)}</b>" if k in column.bold else escape_text(first)
            cells.append(f"<td{side}{label}>{shown}{second}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead>{''.join(head)}</thead>\n<tbody>{chr(10).join(body)}</tbody></table>"


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
