"""Cells of text -> numbers: decimal and thousands marks, percent signs, currencies, verdicts in words.

A column is read one way only, decided over all its cells. Where ``1,234`` may be both 1234 and 1.234, nothing is
decided: the column says so, and whoever needs it as scores refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.io.tables.words import LETTERS, MISSING, VERDICTS, remove_accents

Decimal = Literal["point", "comma"]
SPREAD_NOTE = "scores are the first number of cells such as 1.2 (0.3) or 1.2 ± 0.3"

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_GROUPS = {
    # thousands mark -> a number that has one
    ",": re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?"),
    ".": re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?"),
    "'": re.compile(r"[+-]?\d{1,3}(['’\u00a0\u202f ]\d{3})+([.,]\d+)?"),
}
_SHORT = {
    # numbers of one group of three digits, which may be thousands or thousandths
    ",": re.compile(r"[+-]?[1-9]\d{0,2},\d{3}"),
    ".": re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}"),
}
_CURRENCY = re.compile(
    r"^(?:[$€£¥₹₽]|usd|eur|gbp|chf|jpy)\s*(?=[\d.,+-])|(?<=\d)\s*(?:[$€£¥₹₽]|usd|eur|gbp|chf|jpy)$",
    re.IGNORECASE,
)
_UNIT = re.compile(r"(?<=\d)\s*(ms|sec|s|min|h|kb|mb|gb|pts?|points?|punkte|°)$", re.IGNORECASE)
_BOLD = re.compile(r"^(\*\*|__|\\textbf\{|<b>|\*)(.+?)(\*\*|__|\}|</b>|\*)$")
_SIGNS = "*†‡§¶▲▼△▽↑↓"
_MARKS = re.compile(rf"(?<=\d)\s*[{_SIGNS}]+$")
_NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?\s*%?"
_RANGE = rf"±?\s*{_NUMBER}(?:\s*(?:[,;–—-]|to)\s*{_NUMBER})?\s*"
_SPREAD = re.compile(
    rf"({_NUMBER}|nan|n/?a|none|null)\s*(?:\(\s*{_RANGE}\)|\[\s*{_RANGE}\]|(?:±|\+/-|\+-|\$?\\pm\$?)\s*{_NUMBER})",
    re.IGNORECASE,
)
"""A number with a second one beside it, such as a standard deviation or an interval."""
_COUNTED = re.compile(r"\(\s*\d+\s*\)$")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d\d.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)|\d{1,2}:\d\d(:\d\d)?|"
    r"\d{1,2}[-. ]?(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*[-. ]?(\d\d|\d{4})?|"
    r"(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*[-. ]\d{1,4}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedTexts:
    """Texts as numbers: NaN where a score is missing, infinite where a word stands."""

    values: Floats
    notes: tuple[str, ...] = ()
    problem: str = ""


def is_number(text: str) -> bool:
    """Tell whether text is a plain decimal number."""
    return _PLAIN.fullmatch(text) is not None


def is_date(text: str) -> bool:
    """Tell whether text is a date or a time of day.

    >>> is_date("2026-01-02"), is_date("1.2.2026"), is_date("10:05"), is_date("3-Mar"), is_date("0.5")
    (True, True, True, True, False)
    """
    return _DATE.fullmatch(text.strip()) is not None


def find_marks(texts: Sequence[str]) -> str:
    """Return what the commas and points of some texts prove of a table: "comma", "point" or nothing.

    >>> find_marks(["0,5", "1"]), find_marks(["1,234.5"]), find_marks(["1,234"])
    ('comma', 'point', '')
    """
    for text in texts:
        comma, group = _COMMA.fullmatch(text), _GROUPS[","].fullmatch(text)
        if (comma and not group) or (group and re.fullmatch(r"[+-]?0,\d+", text)):
            return "comma"
        if _GROUPS["."].fullmatch(text) and (text.count(".") > 1 or "," in text):
            return "comma"
        if group and (text.count(",") > 1 or "." in text):
            return "point"
    return ""


def parse_texts(texts: Sequence[str], decimal: str = "", *, mixed: bool = False) -> ParsedTexts:
    """Read the different texts of a column as numbers.

    Parameters
    ----------
    texts
        What stands in the cells, each once.
    decimal
        The decimal mark, "point" or "comma", where it is known.
    mixed
        Whether points that may be thousands are refused too, as in tables with semicolons between cells.

    Returns
    -------
    The numbers, notes on what was taken away from all cells, and what cannot be decided.

    >>> parse_texts(["7,5", "8"]).values.tolist(), parse_texts(["12 %", "3 %"]).values.tolist()
    ([7.5, 8.0], [12.0, 3.0])
    >>> parse_texts(["68.4(7.1)", "70 ± 2", "nan (3)"]).values.tolist()
    [68.4, 70.0, nan]
    >>> parse_texts(["1,234", "891"]).problem
    "'1,234' may be 1234 or 1.234"
    """
    stripped = [text.strip() for text in texts]
    values = np.array([float(cell) if _PLAIN.fullmatch(cell) else np.nan for cell in stripped])
    plain = np.flatnonzero(~np.isnan(values)).tolist()
    rest = np.flatnonzero(np.isnan(values)).tolist()
    cells, notes = _strip_spreads([stripped[k] for k in rest], alone=not plain)
    letters = {} if plain else _find_letters([cell.lower() for cell in cells])
    filled = [k for k, cell in enumerate(cells) if cell.lower() in letters or cell.lower() not in MISSING]
    rest, cells = [rest[k] for k in filled], [cells[k] for k in filled]
    cells, more = _strip_affixes(cells, alone=not plain)
    mark, problem = _choose_mark(cells, [stripped[k] for k in plain], decimal, mixed)
    if mark == "comma":
        # points between digits are thousands then
        rest, cells = [*rest, *plain], [*cells, *(stripped[k] for k in plain)]
    words = {**VERDICTS, **letters}
    verdicts = []
    for k, cell in zip(rest, cells, strict=True):
        values[k] = _parse_cell(cell, mark, words)
        if np.isfinite(values[k]) and not any(map(str.isdecimal, cell)):
            verdicts.append(k)
    if verdicts and not np.isin(values[np.isfinite(values)], (0.0, 0.5, 1.0)).all():
        # a verdict among grades is no score
        values[verdicts] = np.inf
    return ParsedTexts(values, (*notes, *more), problem)


def _strip_spreads(cells: list[str], *, alone: bool) -> tuple[list[str], list[str]]:
    """Return cells such as 68.4(7.1) or 68.4 ± 7.1 as their first number, and a note that says it.

    Beside plain numbers, a whole number in brackets after some is a count, such as of failures: nothing is decided.
    """
    matches = [_SPREAD.fullmatch(cell) for cell in cells]
    if not any(matches) or (not alone and all(_COUNTED.search(match[0]) for match in matches if match)):
        return cells, []
    firsts = [match[1].strip() if match else cell for match, cell in zip(matches, cells, strict=True)]
    return firsts, [SPREAD_NOTE]


def _find_letters(lower: Sequence[str]) -> dict[str, float]:
    """Return the verdicts of one letter that all cells are, none where they are not; missing cells aside."""
    for known in LETTERS:
        seen = {text for text in lower if text and (text not in MISSING or text in known)}
        telling = {"c", "i"} if "c" in known else {"+"} if "+" in known else set(known)
        if seen and seen <= set(known) and seen & telling:
            return known
    return {}


def _strip_affixes(cells: list[str], *, alone: bool) -> tuple[list[str], list[str]]:
    """Take away marks of some cells and, where no plain number stands beside them, what stands around all."""
    notes: list[str] = []
    bold = [_BOLD.fullmatch(cell) for cell in cells]
    if any(bold):
        cells = [match[2].strip() if match else cell for match, cell in zip(bold, cells, strict=True)]
    marked = [cell for cell in cells if cell[-1:] in _SIGNS and _MARKS.search(cell)]
    bare = [_MARKS.sub("", cell) for cell in marked]
    if marked and all(_PLAIN.fullmatch(cell) or _COMMA.fullmatch(cell) for cell in bare):
        cells = [_MARKS.sub("", cell) for cell in cells]
        notes.append(f"marks such as {marked[0][-1]} taken away")
    if not alone or not cells:
        return cells, notes
    if all(cell.endswith(("%", "％")) for cell in cells):
        cells = [cell[:-1].strip() for cell in cells]
        notes.append("in percent")
    for pattern in (_CURRENCY, _UNIT):
        first = pattern.search(cells[0])
        part = first[0].strip().lower() if first else ""
        if part and all(
            (match := pattern.search(cell)) and match[0].strip().lower() == part for cell in cells
        ):
            cells = [pattern.sub("", cell).strip() for cell in cells]
            notes.append(f"in {part}")
    return cells, notes


def _choose_mark(cells: Sequence[str], plain: Sequence[str], decimal: str, mixed: bool) -> tuple[str, str]:
    """Return the thousands mark to take away, or "comma" for decimal commas; and what cannot be decided."""
    commas = [cell for cell in cells if "," in cell]
    if commas:
        # a column that proves its own marks is read by them, another as the table says
        known = find_marks(cells) or decimal
        if not known and all(_SHORT[","].fullmatch(cell) for cell in commas):
            digits = commas[0].replace(",", "")
            return "", f"{commas[0]!r} may be {digits} or {commas[0].replace(',', '.')}"
        return "," if known == "point" else "comma", ""
    points = [cell for cell in chain(cells, plain) if "." in cell]
    if not points:
        return ("'" if any(_GROUPS["'"].fullmatch(cell) for cell in cells) else ""), ""
    if decimal == "comma" and all(_GROUPS["."].fullmatch(cell) for cell in points):
        return "comma", ""
    whole = mixed or any(re.fullmatch(r"[+-]?\d{1,3}", cell) for cell in chain(cells, plain))
    if not decimal and whole and len(points) > 1 and all(_SHORT["."].fullmatch(cell) for cell in points):
        return "", f"{points[0]!r} may be {points[0].replace('.', '')} or {points[0]}"
    return "", ""


def _parse_cell(cell: str, mark: str, words: dict[str, float]) -> float:
    if mark == "comma":
        if _COMMA.fullmatch(cell) or _GROUPS["."].fullmatch(cell):
            return float(cell.replace(".", "").replace(",", "."))
    elif mark and _GROUPS[mark].fullmatch(cell):
        return float(re.sub(r"['’\u00a0\u202f ,]", "", cell))
    if _PLAIN.fullmatch(cell):
        return float(cell)
    lower = remove_accents(cell).lower()
    return words.get(lower, np.inf)
