"""Text -> a sheet: CSV, TSV, columns of spaces, Markdown; title lines, units and headers are told from data.

Short texts are read cell by cell, long ones by Arrow; what Arrow cannot read is read again to find the line.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np

from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.text import unguard_name
from shardwise.io.files import Padded, decode_text, recode_text
from shardwise.io.tables.numerals import is_number, parse_texts
from shardwise.io.tables.sheet import Column, Labels, Sheet, make_sheet, strip_endings
from shardwise.io.tables.words import LABELS, LISTS, MISSING, is_measure, is_numbered, is_score, list_roles

EMPTY = "nan"  # in every cell of a column of scores that are all missing; one in which nothing stands is none
SHORT = 1 << 20  # bytes of a text that is read cell by cell
FEW_NAMES = 100  # different names among the first rows up to which they are read as codes
LOOK = 200  # rows that tell how cells are separated
_RULE = re.compile(r"[|:\-+=\s]+")
_PAGE = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype|html|head|body|table|\?xml)\b", re.IGNORECASE | re.DOTALL)
BLANKS = {"": re.compile(r"\s{2,}|\t"), " ": re.compile(r"\s+")}
"""What separates the cells of a table without other marks: columns of spaces, or single blanks of any kind."""
_UNIT = re.compile(
    r"[\[(]?(%|ms|s|sec|min|h|usd|eur|\$|€|pts?|points?|0\s*[-–]\s*1|[a-z]{1,4})[\])]?|", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are a table: what separates them, the names of the columns, and where the rows begin."""

    delimiter: str  # "" and " " where blanks separate, "|" with outer bars for Markdown
    header: tuple[str, ...]
    header_line: int  # 1 is the first line of the text
    first_line: int  # of the rows
    notes: tuple[str, ...] = ()
    headerless: bool = False


def read_delimited(text: Padded, path: Path, decimal: str = "") -> Sheet:
    """Read a table of text: separated by commas, semicolons, tabs, bars or, failing these, spaces.

    Parameters
    ----------
    text
        The content of the file.
    path
        The file, for errors.
    decimal
        The decimal mark, where the caller says it.
    """
    text, notes = recode_text(text)
    head = text.head()
    if _PAGE.match(head):
        raise InputError(
            "is a web page (HTML or XML), not a table",
            where=str(path),
            remedy="download the file itself, not the page that shows it",
        )
    if b"\r" in head and b"\n" not in head:
        text = Padded.of_bytes(bytes(text.whole()).replace(b"\r", b"\n"))
        head = text.head()
    lines = decode_text(head, path, cut=True).split("\n")
    lines = lines if len(head) == text.size else lines[:-1]
    filled = [k for k, line in enumerate(lines) if line.strip()]
    if not filled:
        raise InputError("the file is empty", where=str(path), remedy="give a table of scores")
    declared = re.fullmatch(r"\s*sep=(.)\s*", lines[filled[0]])
    delimiter = declared[1] if declared else _find_delimiter(lines, path)
    rows = islice(_split_rows(lines, delimiter, path, filled[0] + 1 if declared else 0), LOOK)
    dialect = find_dialect(list(rows), path, delimiter)
    dialect = replace(dialect, notes=(*notes, *dialect.notes))
    if text.size > SHORT and delimiter not in ("|", *BLANKS):
        return _read_long(text, dialect, path, decimal)
    return _read_short(text, dialect, path, decimal)


def find_dialect(rows: Sequence[tuple[int, Sequence[str]]], path: Path, delimiter: str = ",") -> Dialect:
    """Say which of the first rows of a table are titles, names, units and data.

    Parameters
    ----------
    rows
        Number of the line and cells of each row.
    path
        The file, for errors.
    delimiter
        What separates the cells.
    """
    if not rows:
        raise InputError("the first row has no names", where=str(path), remedy="add a header")
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    if width == 1:
        width = max(len(cells) for _, cells in rows)
    # lines before the first full row are titles, and so is one text over columns that the next row names
    first = next(k for k, (_, cells) in enumerate(rows) if len(cells) >= width)
    for (_, cells), (_, following) in pairwise(rows[first:]):
        below = [cell.strip() for cell in following]
        alone = len(cells) > 2 and len({cell.strip() for cell in cells} - {""}) == 1
        if not alone or sum(map(bool, below)) < 2 or any(map(_is_value, below)):
            break
        first += 1
    titles = [" ".join(cell for cell in cells if cell.strip()).strip() for _, cells in rows[:first]]
    notes = [f"title left out: {title[:60]}" for title in titles if title]
    number, cells = rows[first]
    body = [row for _, row in rows[first + 1 :]]
    header = [unguard_name(cell.strip()) for cell in cells]
    if header[0].startswith("#") and len(header[0]) > 1:
        header[0] = header[0].lstrip("# ").strip()
    while len(header) > width and not header[-1]:
        header.pop()
    if len(header) == 6 and header[1] in ("Q0", "0"):
        raise InputError(
            "is a run, not a table of scores",
            where=str(path),
            remedy="give the judgments first: qrels.txt and runs",
        )
    if len(body) > 1 and _is_second_header(header, body):
        raise InputError(
            "has two rows of headers",
            where=f"{path}:{number}",
            remedy="join them into one name a column, such as bm25_AP",
        )
    if _is_headerless(header, body):
        names = tuple(str(k + 1) for k in range(len(header)))
        return Dialect(delimiter, names, number, number, tuple(notes), headerless=True)
    # units: no label, no number where others have one, and no verdict that stands further down, too
    units = {k: cell.strip() for k, cell in enumerate(body[0]) if cell.strip()} if len(body) > 1 else {}
    again = any(unit == row[k].strip() for row in body[1:] for k, unit in units.items() if k < len(row))
    unlabelled = bool(units) and len(body[0]) == len(header) and 0 not in units and not again
    if unlabelled and all(_UNIT.fullmatch(unit) and not is_number(unit) for unit in units.values()):
        notes.append(f"row of units left out: {', '.join(dict.fromkeys(units.values()))}")
        first += 1
    # a quoted cell may begin on an earlier line than it ends
    return Dialect(delimiter, tuple(header), number, rows[first][0] + 1, tuple(notes))


def _find_delimiter(lines: Sequence[str], path: Path) -> str:
    """Return what separates the cells: of those that make rows of equal length, the one that does so earliest."""
    filled = [line for line in lines if line.strip()][:LOOK]
    if filled[0].lstrip().startswith("|") or (
        len(filled) > 1 and _RULE.fullmatch(filled[1]) and "|" in filled[1]
    ):
        return "|"
    ranked = []
    for rank, mark in enumerate("\t;,|"):
        counts = [len(cells) for _, cells in islice(_split_rows(lines, mark, path), LOOK)]
        width, times = Counter(counts).most_common(1)[0] if counts else (0, 0)
        if width > 1:
            ranked.append((counts.index(width), -times / len(counts), rank, mark))
        elif counts and max(counts) > 1 and counts[0] > 1:
            ranked.append((len(counts), 0.0, rank, mark))
    mark = min(ranked)[3] if ranked else ""
    # blanks of any kind may make rows of equal length where wide ones do not: a header has its own
    wide = {len(BLANKS[""].split(line.strip())) for line in filled}
    cells = [line.split() for line in filled]
    equal = len({len(row) for row in cells}) == 1 and len(cells[0]) > 1
    if mark not in ("", "\t") or not equal or (len(wide) == 1 and wide != {1}):
        return mark
    # a line of words above tabs may be a title, unless numbers follow
    return " " if not mark or any(map(_is_value, chain(*cells[1:2]))) else mark


def _split_rows(
    lines: Sequence[str], delimiter: str, path: Path, start: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank; the number is that of the row's last line."""
    if delimiter == "|" or delimiter in BLANKS:
        for number, line in enumerate(lines[start:], start=start + 1):
            text = line.strip()
            if not text or (delimiter == "|" and _RULE.fullmatch(line)):
                continue
            if delimiter == "|":
                inside = (text[1:] if text.startswith("|") else text).removesuffix("|")
                yield number, [cell.strip() for cell in next(csv.reader([inside], delimiter="|"), [])]
            else:
                wide = BLANKS[delimiter].split(text)
                yield number, wide if len(wide) > 1 else text.split()
        return
    reader = csv.reader((f"{line}\n" for line in lines[start:]), delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield start + reader.line_num, cells
    except csv.Error as error:
        raise InputError(
            f"not a table of scores ({error})", where=str(path), remedy="check the quotes"
        ) from None


def _is_value(cell: str) -> bool:
    """Tell whether a cell may be a score."""
    text = cell.strip()
    return is_number(text) or (bool(text) and bool(np.isfinite(parse_texts([text], "comma").values[0])))


def _is_second_header(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row below names columns too: words in several columns that hold numbers further down."""
    first, rest = body[0], body[1:]
    if len(first) != len(header):
        return False
    columns = [[row[k] for row in rest if k < len(row)] for k in range(len(header))]
    numeric = [k for k, cells in enumerate(columns) if _share_of_values(cells) > 0.9]
    words = [first[k].strip() for k in numeric if not _is_value(first[k])]
    words = [word for word in words if word and word.lower() not in MISSING]
    repeated = len({header[k] for k in numeric}) < len(numeric)
    units = all(map(_UNIT.fullmatch, words))
    return len(words) > 1 and len(words) == len(numeric) and (repeated or not units or bool(first[0].strip()))


def _share_of_values(cells: Sequence[str]) -> float:
    filled = [cell for cell in cells if cell.strip().lower() not in MISSING]
    return sum(map(_is_value, filled)) / len(filled) if filled else 0.0


def _is_headerless(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row is data: its cells are of the kind of those below, where names would not be."""
    rows = [row for row in body if len(row) >= len(header)]
    if not rows:
        return all("." in name and is_number(name) for name in header)
    cells = [[row[k].strip() for row in rows] for k in range(len(header))]
    numeric = [k for k in range(len(header)) if _share_of_values(cells[k]) > 0.9]
    labels = [k for k in range(len(header)) if k not in numeric]
    if not numeric or not all(_is_value(header[k]) for k in numeric):
        # names above numbers; above labels, a header is one of its own labels only where no number tells
        return False
    if any(header[k] and header[k] in cells[k] for k in labels):
        return True
    if any(name and not is_number(name) and (list_roles(name) or is_score(name)) for name in header):
        return False
    if any(is_numbered([header[k], *cells[k][:20]]) for k in labels):
        return True
    named = parse_texts([header[k] for k in numeric], "").values
    values = parse_texts(list(dict.fromkeys(cell for k in numeric for cell in cells[k])), "").values
    values = values[np.isfinite(values)]
    outside = (named > 2 * values.max()) | (named < min(0.0, 2 * values.min()))
    counting = len(named) > 1 and any(np.array_equal(named, np.arange(len(named)) + k) for k in (0, 1))
    return not (outside.all() or (counting and not np.array_equal(values, np.round(values))))


def _read_short(text: Padded, dialect: Dialect, path: Path, decimal: str) -> Sheet:
    """Every cell as text, with the line of every row."""
    lines = decode_text(text.whole(), path).split("\n")
    rows = _split_rows(lines, dialect.delimiter, path, dialect.first_line - 1)
    return sheet_of_cells(rows, dialect, path, decimal=decimal)


def sheet_of_cells(
    rows: Iterable[tuple[int, list[str]]], dialect: Dialect, path: Path, row: str = "", decimal: str = ""
) -> Sheet:
    """Make a sheet of the cells of every row, which has a number.

    Parameters
    ----------
    rows
        Number and cells of every row.
    dialect
        The names of the columns.
    path
        The file.
    row
        What stands before the number of a row of a workbook, to say where it is.
    decimal
        The decimal mark, where the caller says it.
    """
    width, numbers, kept = len(dialect.header), [], []
    for number, cells in rows:
        while len(cells) > width and not cells[-1].strip():
            cells.pop()
        if len(cells) != width:
            raise InputError(
                f"{format_count(len(cells), 'column')} instead of {width}",
                where=f"{path}:{row}{number}",
                remedy="give every row as many columns as the header",
            )
        numbers.append(number)
        kept.append(cells)
    if not kept:
        where = f"{path}" if row else f"{path}:{dialect.header_line}"
        raise InputError("the table has no rows", where=where, remedy="give at least one topic")
    columns = [
        Column(name, Labels.of_texts(cells, guarded=not row))
        for name, cells in zip(dialect.header, zip(*kept, strict=True), strict=True)
    ]
    return _finish_sheet(
        columns, dialect, path, decimal, lambda k: f"{path}:{row}{numbers[k]}", typed=bool(row)
    )


def _finish_sheet(
    columns: Sequence[Column],
    dialect: Dialect,
    path: Path,
    decimal: str,
    place: Callable[[int], str],
    *,
    typed: bool = False,
) -> Sheet:
    """Make a sheet of columns of text, or of cells that were typed; a column of EMPTY alone holds missing scores."""
    sheet = make_sheet(
        columns,
        str(path),
        place,
        decimal=decimal,
        mixed=dialect.delimiter == ";",
        notes=dialect.notes,
        header=str(path) if typed else f"{path}:{dialect.header_line}",
    )
    cells = {name: column.cells for name, column in sheet.columns.items() if not typed}
    empty = [name for name, own in cells.items() if isinstance(own, Labels) and list(own.names) == [EMPTY]]
    return replace(sheet, empty=frozenset(empty), headerless=dialect.headerless)


def _read_long(text: Padded, dialect: Dialect, path: Path, decimal: str) -> Sheet:
    """Read by Arrow: labels as text, other columns as what they are."""
    whole, start, names = text.whole(), 0, list(dialect.header)
    head = bytes(whole[: 1 << 22])
    for _ in range(dialect.first_line - 1):
        start = head.find(b"\n", start) + 1 or len(whole)
    body = whole[start:]
    first = bytes(body[: 1 << 16])

    def locate_row(row: int) -> str:
        # found by reading up to it
        lines = str(whole, "utf-8", "replace").split("\n")
        rows = _split_rows(lines, dialect.delimiter, path, dialect.first_line - 1)
        return f"{path}:{next(islice(rows, row, None))[0]}"

    columns = None
    if len(set(names)) == len(names) and first.strip():
        kinds = _choose_kinds(names, first.decode("utf-8", "replace"), dialect, path)
        columns = import_module("shardwise.io.tables.arrow").read_csv(body, names, dialect.delimiter, kinds)
    if columns is None:
        # what Arrow cannot read is read line by line
        return _read_short(text, dialect, path, decimal)
    return _finish_sheet(columns, dialect, path, decimal, locate_row)


def _choose_kinds(names: Sequence[str], start: str, dialect: Dialect, path: Path) -> dict[str, str]:
    """Return what columns hold, by their first rows: text, codes, labels that are whole, or numbers."""
    lines = start.split("\n")
    rows = [cells for _, cells in _split_rows(lines[:-1] or lines, dialect.delimiter, path)]
    kinds: dict[str, str] = {}
    for k, name in enumerate(names):
        cells = dict.fromkeys(row[k].strip() for row in rows if len(row) == len(names))
        filled = [cell for cell in cells if cell.lower() not in MISSING]
        plain = bool(filled) and all(map(is_number, filled))
        # numbers whose marks need a look are text
        plain = plain and not parse_texts(filled, "", mixed=dialect.delimiter == ";").problem
        whole = plain and all(cell.lstrip("+-").isdecimal() for cell in filled)
        label = bool(set(list_roles(name)) & LABELS) or (whole and not is_score(name) and len(filled) > 2)
        if plain and not label:
            kinds |= {} if whole else {name: "number"}
        else:
            kinds[name] = "whole" if whole else "codes" if len(filled) <= FEW_NAMES else "text"
    return kinds


# what trec_eval -q and ir_measures --by_query print: three columns without a header, one system a file ---------------

_SUMMARY = "all"  # their name for the mean over topics
_HEAD = ("runid", "relstring")
_COUNTS = tuple(LISTS["trec_eval"])
"""How further names of trec_eval begin."""


def is_evaluation(text: bytes) -> bool:
    """Tell whether a text has three columns without a header: measure, topic and value, in the order of either tool.

    Parameters
    ----------
    text
        The first bytes of a file.
    """
    lines = [line for line in text[: 1 << 16].split(b"\n") if line.strip()][:LOOK]
    rows = [line.decode("utf-8", "replace").split() for line in lines]
    if not rows or len(rows[0]) != 3 or b"," in lines[0] or b";" in lines[0]:
        return False
    if rows[0][0] in _HEAD:
        return True
    cells = [row for row in rows if len(row) == 3]
    measures = any(
        sum(is_measure(row[k]) or row[k].startswith(_COUNTS) for row in cells) >= len(cells) / 2
        for k in (0, 1)
    )
    return is_number(rows[0][2]) and measures


def read_evaluation(text: bytes, path: Path) -> Sheet:
    """Read measure, topic, value (trec_eval) or topic, measure, value (ir_measures)."""
    rows: list[tuple[int, list[str]]] = []
    system = strip_endings(path)
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), start=1):
        fields = line.split()
        if fields and len(fields) != 3:
            raise InputError(
                f"{format_count(len(fields), 'column')} instead of 3",
                where=f"{path}:{number}",
                remedy="expected measure, topic, value as trec_eval -q prints",
            )
        if fields and fields[0] in _HEAD:
            system = fields[2] if fields[0] == "runid" else system
        elif fields:
            rows.append((number, fields))
    first, second = ([fields[k] for _, fields in rows] for k in (0, 1))
    # measures stand first by the rows of means, else by which column has fewer names
    few, many = len(set(first)), len(set(second))
    measure_first = few < many or (few == many and not "".join(first[:1])[:1].isdigit())
    if (_SUMMARY in second) != (_SUMMARY in first):
        measure_first = _SUMMARY in second
    header = ("measure", "topic", "value") if measure_first else ("topic", "measure", "value")
    kept = [row for row in rows if row[1][header.index("topic")] != _SUMMARY]
    if not kept:
        raise InputError("has means over topics only", where=str(path), remedy="run trec_eval with -q")
    return replace(sheet_of_cells(kept, Dialect(" ", header, 0, 1), path), system=system)
