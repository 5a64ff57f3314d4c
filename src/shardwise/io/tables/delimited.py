"""Text -> a sheet: CSV, TSV, columns of spaces, Markdown; title lines, units and headers are told from data.

Short texts are read cell by cell, long ones by Arrow; what Arrow cannot read is read again to find the line.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.text import unguard_name
from shardwise.io.files import Padded, decode_text, recode_text
from shardwise.io.tables.numerals import is_number, parse_texts, parse_whole
from shardwise.io.tables.sheet import Sheet, make_sheet, strip_endings
from shardwise.io.tables.words import LABELS, LISTS, MISSING, is_measure, is_numbered, is_score, list_roles

EMPTY = "nan"  # in every cell of a column of scores that are all missing; one in which nothing stands is none
SHORT = 1 << 20  # bytes of a text that is read cell by cell
TEXT = pa.dictionary(pa.int32(), pa.string())
FEW_NAMES = 100  # different names among the first rows up to which they are read as codes
LOOK = 200  # rows that tell how cells are separated
_NULLS = ["", "nan", "NaN", "NA", "N/A", "#N/A", "null", "NULL", "None", "none", "Null", "Nan", "<NA>", "-"]
_TRUE, _FALSE = (["true", "True", "TRUE"], ["false", "False", "FALSE"])
_RULE = re.compile(r"[|:\-+=\s]+")
_PAGE = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype|html|head|body|table|\?xml)\b", re.IGNORECASE | re.DOTALL)
BLANKS = {"": re.compile(r"\s{2,}|\t"), " ": re.compile(r"\s+")}
"""What separates the cells of a table without other marks: columns of spaces, or single blanks of any kind."""
_UNIT = re.compile(
    r"[\[(]?(%|ms|s|sec|min|h|usd|eur|\$|€|pts?|points?|0\s*[-–]\s*1|[a-z]{1,4})[\])]?|", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text is a table: what separates its cells, and where its rows begin."""

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
    if not any(line.strip() for line in lines):
        raise InputError("the file is empty", where=str(path), remedy="give a table of scores")
    dialect = find_dialect(lines if len(head) == text.size else lines[:-1], path)
    dialect = replace(dialect, notes=(*notes, *dialect.notes))
    if text.size <= SHORT or dialect.delimiter in ("|", *BLANKS):
        return _read_short(text, dialect, path, decimal)
    return _read_long(text, dialect, path, decimal)


def find_dialect(lines: Sequence[str], path: Path) -> Dialect:
    """Say how a text is a table, from its first lines.

    Parameters
    ----------
    lines
        The first lines of the text.
    path
        The file, for errors.
    """
    start, notes = 0, []
    declared = re.fullmatch(r"\s*sep=(.)\s*", next((line for line in lines if line.strip()), ""))
    if declared:
        start = next(k for k, line in enumerate(lines) if line.strip()) + 1
    delimiter = declared[1] if declared else _find_delimiter(lines, path)
    rows = list(islice(_split_rows(lines, delimiter, path, start), LOOK))
    if not rows:
        raise InputError("the first row has no names", where=str(path), remedy="add a header")
    width = Counter(len(cells) for _, cells in rows).most_common(1)[0][0]
    if width == 1:
        width = max(len(cells) for _, cells in rows)
    # lines before the first full row are titles
    first = next(k for k, (_, cells) in enumerate(rows) if len(cells) >= width)
    titles = [cells for _, cells in rows[:first]]
    while first + 1 < len(rows) and _is_title(rows[first][1], rows[first + 1][1]):
        titles.append(rows[first][1])
        first += 1
    texts = [" ".join(cell for cell in cells if cell.strip()).strip() for cells in titles]
    notes += [f"title left out: {text[:60]}" for text in texts if text]
    number, header = rows[first]
    body = [cells for _, cells in rows[first + 1 :]]
    header = _name_columns(header, width)
    if len(header) == 6 and header[1] in ("Q0", "0"):
        raise InputError(
            "is a run, not a table of scores",
            where=str(path),
            remedy="give the judgments first: qrels.txt and runs",
        )
    if body and _is_second_header(header, body):
        raise InputError(
            "has two rows of headers",
            where=f"{path}:{number}",
            remedy="join them into one name a column, such as bm25_AP",
        )
    if _is_headerless(header, body):
        names = tuple(str(k + 1) for k in range(len(header)))
        return Dialect(delimiter, names, number, number, tuple(notes), headerless=True)
    skipped = 0
    if body and _is_unit_row(header, body):
        notes.append(f"row of units left out: {', '.join(dict.fromkeys(c for c in body[0] if c.strip()))}")
        skipped = 1
    first_line = rows[first + 1 + skipped][0] if first + 1 + skipped < len(rows) else number + 1 + skipped
    # a quoted cell may begin on an earlier line than it ends
    begins = rows[first + skipped][0] + 1
    return Dialect(delimiter, tuple(header), number, min(begins, first_line), tuple(notes))


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
        if not counts:
            continue
        width, times = Counter(counts).most_common(1)[0]
        if width > 1:
            ranked.append((counts.index(width), -times / len(counts), rank, mark))
        elif max(counts) > 1 and counts[0] > 1:
            ranked.append((len(counts), 0.0, rank, mark))
    mark = min(ranked)[3] if ranked else ""
    if mark in ("", "\t") and _mixes_blanks(filled, mark):
        return " "
    return mark


def _mixes_blanks(lines: Sequence[str], mark: str) -> bool:
    """Tell whether blanks of any kind make rows of equal length where wide ones do not: a header has its own."""
    counts = {len(BLANKS[""].split(line.strip())) for line in lines}
    cells = [line.split() for line in lines]
    widths = {len(row) for row in cells}
    if len(counts) == 1 and counts != {1}:
        return False
    # a line of words above tabs may be a title, unless numbers follow
    return len(widths) == 1 and widths != {1} and (not mark or any(map(_is_value, chain(*cells[1:2]))))


def _split_rows(
    lines: Iterable[str], delimiter: str, path: Path, start: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank; the number is that of the row's last line."""
    lines = lines if start == 0 else list(lines)[start:]
    if delimiter == "|" or delimiter in BLANKS:
        for number, line in enumerate(lines, start=start + 1):
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
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield start + reader.line_num, cells
    except csv.Error as error:
        raise InputError(
            f"not a table of scores ({error})", where=str(path), remedy="check the quotes"
        ) from None


def _name_columns(cells: Sequence[str], width: int) -> list[str]:
    names = [unguard_name(cell.strip()) for cell in cells]
    if names[0].startswith("#") and len(names[0]) > 1:
        names[0] = names[0].lstrip("# ").strip()
    while len(names) > width and not names[-1]:
        names.pop()
    return names


def _is_title(cells: Sequence[str], following: Sequence[str]) -> bool:
    """Tell whether a full row is a title above the header: one text over columns that the next row names."""
    filled = {cell.strip() for cell in cells if cell.strip()}
    below = [cell.strip() for cell in following]
    return (
        len(filled) == 1 and len(cells) > 2 and sum(map(bool, below)) > 1 and not any(map(_is_value, below))
    )


def _is_value(cell: str) -> bool:
    """Tell whether a cell may be a score."""
    text = cell.strip()
    return is_number(text) or (bool(text) and bool(np.isfinite(parse_texts([text], "comma").values[0])))


def _is_second_header(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row below names columns too: words in several columns that hold numbers further down."""
    first, rest = body[0], body[1:]
    if not rest or len(first) != len(header):
        return False
    numeric = [
        k for k in range(len(header)) if _share_of_values([row[k] for row in rest if k < len(row)]) > 0.9
    ]
    words = [
        k
        for k in numeric
        if first[k].strip() and not _is_value(first[k]) and first[k].strip().lower() not in MISSING
    ]
    repeated = len({header[k] for k in numeric}) < len(numeric)
    units = all(_UNIT.fullmatch(first[k].strip()) for k in words)
    return len(words) > 1 and len(words) == len(numeric) and (repeated or not units or bool(first[0].strip()))


def _share_of_values(cells: Sequence[str]) -> float:
    filled = [cell for cell in cells if cell.strip().lower() not in MISSING]
    return sum(map(_is_value, filled)) / len(filled) if filled else 0.0


def _is_unit_row(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row below the header holds units: no label, and no number where others have one."""
    first, rest = body[0], body[1:]
    if not rest or len(first) != len(header) or first[0].strip():
        return False
    filled = [cell.strip() for cell in first if cell.strip()]
    return bool(filled) and all(_UNIT.fullmatch(cell) and not is_number(cell) for cell in filled)


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
    counting = np.array_equal(named, np.arange(len(named))) or np.array_equal(
        named, np.arange(1, len(named) + 1)
    )
    fractions = not np.array_equal(values, np.round(values))
    return not ((outside.all() and len(named) > 0) or (counting and fractions and len(named) > 1))


def _read_short(text: Padded, dialect: Dialect, path: Path, decimal: str) -> Sheet:
    """Every cell as text, with the line of every row."""
    lines = decode_text(text.whole(), path).split("\n")
    width, numbers, kept = len(dialect.header), [], []
    for number, cells in _split_rows(lines, dialect.delimiter, path, dialect.first_line - 1):
        row = list(cells)
        while len(row) > width and not row[-1].strip():
            row.pop()
        if len(row) != width:
            raise InputError(
                f"{format_count(len(row), 'column')} instead of {width}",
                where=f"{path}:{number}",
                remedy="give every row as many columns as the header",
            )
        numbers.append(number)
        kept.append(row)
    if not kept:
        raise InputError(
            "the table has no rows", where=f"{path}:{dialect.header_line}", remedy="give at least one topic"
        )
    table = pa.table(
        [pa.array(column, pa.string()) for column in zip(*kept, strict=True)], names=list(dialect.header)
    )
    return _finish_sheet(table, dialect, path, decimal, lambda row: f"{path}:{numbers[row]}")


def _finish_sheet(
    table: pa.Table, dialect: Dialect, path: Path, decimal: str, locate_row: Callable[[int], str]
) -> Sheet:
    stated = [
        name
        for name, data in zip(table.column_names, table.columns, strict=True)
        if pa.types.is_string(data.type) and set(data.slice(0, 50).to_pylist()) == {EMPTY}
    ]
    names = list(dialect.header)
    twice = next((name for k, name in enumerate(names) if name and name in names[:k]), None)
    if twice is not None:
        raise InputError(
            f"two columns are called {twice!r}", where=f"{path}:{dialect.header_line}", remedy="rename one"
        )
    sheet = make_sheet(
        table,
        str(path),
        locate_row,
        system=strip_endings(path),
        decimal=decimal,
        mixed=dialect.delimiter == ";",
        text=True,
        notes=dialect.notes,
    )
    empty = frozenset(
        name for name in stated if name in sheet.columns and np.isnan(sheet.columns[name].values).all()
    )
    return replace(sheet, empty=empty, headerless=dialect.headerless)


def _read_long(text: Padded, dialect: Dialect, path: Path, decimal: str) -> Sheet:
    """Read by Arrow: labels as text, other columns as what they are."""
    whole = text.whole()
    start = _offset_of_line(whole, dialect.first_line)
    body = whole[start:]
    locate_row = _line_finder(whole, dialect, path)
    if not bytes(body[: 1 << 16]).strip():
        raise InputError(
            "the table has no rows", where=f"{path}:{dialect.header_line}", remedy="give at least one topic"
        )
    names = list(dialect.header)
    types, whole_numbers = _choose_types(
        names, bytes(body[: 1 << 16]).decode("utf-8", "replace"), dialect, path
    )
    # cells that are no numbers further down are read again as text; what fails then, line by line
    for kinds in (types, dict.fromkeys(names, pa.string())) if len(set(names)) == len(names) else ():
        try:
            table = _read_arrow(body, names, dialect.delimiter, kinds)
        except pa.ArrowException:
            continue
        for k, name in enumerate(names):
            numbers = parse_whole(table.column(k)) if name in whole_numbers else None
            if numbers is not None:
                table = table.set_column(k, name, pa.array(numbers))
        return _finish_sheet(table, dialect, path, decimal, locate_row)
    return _read_short(text, dialect, path, decimal)


def _offset_of_line(text: memoryview, line: int) -> int:
    start = 0
    content = bytes(text[: 1 << 22])
    for _ in range(line - 1):
        end = content.find(b"\n", start)
        if end < 0:
            return len(text)
        start = end + 1
    return start


def _choose_types(
    names: Sequence[str], start: str, dialect: Dialect, path: Path
) -> tuple[dict[str, pa.DataType], set[str]]:
    """Return the columns that are read as text, with numbers whose marks need a look; and labels that are whole."""
    lines = start.split("\n")
    rows = [cells for _, cells in _split_rows(lines[:-1] or lines, dialect.delimiter, path)]
    types: dict[str, pa.DataType] = {}
    whole_numbers: set[str] = set()
    for k, name in enumerate(names):
        cells = [row[k].strip() for row in rows if len(row) == len(names)]
        filled = list(dict.fromkeys(cell for cell in cells if cell.lower() not in MISSING))
        plain = bool(filled) and all(map(is_number, filled))
        odd = plain and bool(parse_texts(filled, "", mixed=dialect.delimiter == ";").problem)
        whole = plain and all(cell.lstrip("+-").isdecimal() for cell in filled)
        label = bool(set(list_roles(name)) & LABELS) or (whole and not is_score(name) and len(filled) > 2)
        if not label and plain and not odd:
            if not whole:
                types[name] = pa.float64()
            continue
        types[name] = TEXT if len(filled) <= FEW_NAMES else pa.string()
        if whole and not odd:
            types[name] = pa.string()
            whole_numbers.add(name)
    return types, whole_numbers


def _read_arrow(body: memoryview, names: list[str], delimiter: str, types: Mapping[str, Any]) -> pa.Table:
    table = pyarrow.csv.read_csv(
        pa.py_buffer(body),
        read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=1 << 22),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=b'"' in bytes(body[: 1 << 20])
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict(types),
            null_values=_NULLS,
            true_values=_TRUE,
            false_values=_FALSE,
            timestamp_parsers=[],
            strings_can_be_null=False,
        ),
    )
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise pa.ArrowInvalid("no text")
    return table


def _line_finder(text: memoryview, dialect: Dialect, path: Path) -> Callable[[int], str]:
    """Return where a row stands in a long text, found by reading up to it."""

    def locate_row(row: int) -> str:
        lines = io.StringIO(str(text, "utf-8", "replace"))
        stripped = (line.rstrip("\n") for line in lines)
        rows = _split_rows(list(stripped), dialect.delimiter, path, dialect.first_line - 1)
        return f"{path}:{next(number for k, (number, _) in enumerate(rows) if k == row)}"

    return locate_row


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
    rows: list[tuple[int, str, str, str]] = []
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), start=1):
        fields = line.split()
        if fields and len(fields) != 3:
            remedy = "expected measure, topic, value as trec_eval -q prints"
            where = f"{path}:{number}"
            raise InputError(
                f"{format_count(len(fields), 'column')} instead of 3", where=where, remedy=remedy
            )
        if fields:
            rows.append((number, fields[0], fields[1], fields[2]))
    system = next((value for _, name, _, value in rows if name == "runid"), strip_endings(path))
    rows = [row for row in rows if row[1] not in _HEAD]
    measure_first = _measure_first([row[1] for row in rows], [row[2] for row in rows])
    named = [(line, b, a, value) if measure_first else (line, a, b, value) for line, a, b, value in rows]
    named = [row for row in named if row[1] != _SUMMARY]
    if not named:
        raise InputError("has means over topics only", where=str(path), remedy="run trec_eval with -q")
    lines, topics, measures, values = zip(*named, strict=True)
    line_of = np.array(lines)
    table = pa.table({"topic": topics, "measure": measures, "value": values})
    return make_sheet(table, str(path), lambda row: f"{path}:{line_of[row]}", system=system)


def _measure_first(first: list[str], second: list[str]) -> bool:
    """Tell whether measures stand in the first column: by the summary rows, else by which has fewer names."""
    if (_SUMMARY in second) != (_SUMMARY in first):
        return _SUMMARY in second
    few, many = len(set(first)), len(set(second))
    return few < many or (few == many and not first[0][:1].isdigit())
