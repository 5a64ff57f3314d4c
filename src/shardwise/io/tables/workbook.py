"""Workbooks (xlsx) -> a sheet: the one sheet that holds a table, its block of cells, its computed values."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.extras import import_extra
from shardwise.io.files import lift_limit, most_workbook_inside, read_text
from shardwise.io.tables.delimited import find_dialect
from shardwise.io.tables.sheet import Sheet, first_line, make_sheet, strip_endings
from shardwise.io.tables.words import is_summary, is_summary_header

FORMULA = "=…"  # in place of a formula that was never computed
_FORMULA_TAG = re.compile(rb"<(?:\w+:)?f[\s/>]")
_MARK = "\x1f"  # separates cells where a sheet is looked at as text


@dataclass(frozen=True, slots=True)
class _Page:
    """One sheet of a workbook as rows of texts, with the number of each row."""

    title: str
    rows: list[list[str]]
    numbers: list[int]

    @property
    def scores(self) -> int:
        """How many cells hold numbers."""
        return sum(_is_numeric(cell) for row in self.rows[1:] for cell in row)


def read_workbook(path: Path, title: str = "", decimal: str = "") -> Sheet:
    """Read the sheet of a workbook that holds scores.

    Parameters
    ----------
    path
        The file.
    title
        Which sheet to read, where several hold tables.
    decimal
        The decimal mark of numbers that were typed as text, where the caller says it.
    """
    pages = [page for page in _load_pages(path) if page.rows]
    if not pages:
        raise InputError("nothing stands in it", where=str(path), remedy="give a table of scores")
    page, notes = _choose_page(pages, title, path)
    page, more = _keep_block(page, path)
    notes += more
    lines = [_MARK.join(cell.replace("\n", " ") for cell in row) for row in page.rows]
    dialect = find_dialect([f"sep={_MARK}", *lines], path)
    # the line of the separator counts as the first
    first = dialect.first_line - 2
    body = page.rows[first:]
    if not body:
        raise InputError("the table has no rows", where=str(path), remedy="give at least one topic")
    width = len(dialect.header)
    columns = [pa.array([row[k] for row in body], pa.string()) for k in range(width)]
    numbers = page.numbers[first:]
    sheet = make_sheet(
        pa.table(columns, names=list(dialect.header)),
        str(path),
        lambda row: f"{path}:row {numbers[row]}",
        system=strip_endings(path),
        decimal=decimal,
        notes=(*notes, *dialect.notes),
    )
    return replace(sheet, headerless=dialect.headerless)


def _load_pages(path: Path) -> list[_Page]:
    (openpyxl,) = import_extra("xlsx", path)
    blob = read_text(path)
    try:
        with zipfile.ZipFile(io.BytesIO(blob)) as book:
            held, most = sum(member.file_size for member in book.infolist()), most_workbook_inside(len(blob))
            if held > most:
                raise InputError(
                    f"{len(blob):,} bytes inflate to over {most:,}", where=str(path), remedy=lift_limit(held)
                )
            sheets = [name for name in book.namelist() if name.startswith("xl/worksheets/")]
            formulas = any(_FORMULA_TAG.search(book.read(name)) for name in sheets)
        computed = openpyxl.load_workbook(io.BytesIO(blob), data_only=True)
        # without formulas, what was written is what was computed
        written = openpyxl.load_workbook(io.BytesIO(blob)) if formulas else computed
        # a sheet of a chart has no rows
        names = [name for name in computed.sheetnames if hasattr(computed[name], "iter_rows")]
        return [_load_page(computed[name], written[name]) for name in names]
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"not a workbook ({first_line(error)})", where=str(path)) from None


def _load_page(computed: Any, written: Any) -> _Page:
    rows, numbers = [], []
    pairs = zip(computed.iter_rows(values_only=True), written.iter_rows(values_only=True), strict=True)
    for number, (values, sources) in enumerate(pairs, start=1):
        cells = [_format_cell(value, source) for value, source in zip(values, sources, strict=True)]
        if any(cells):
            rows.append(cells)
            numbers.append(number)
    return _Page(str(computed.title), rows, numbers)


def _format_cell(value: Any, source: Any) -> str:
    """Return a cell as text; a formula without a value says so."""
    if value is None:
        return FORMULA if isinstance(source, str) and source.startswith("=") else ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value).strip()


def _is_numeric(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell)))
    except ValueError:
        return cell == FORMULA


def _choose_page(pages: Sequence[_Page], title: str, path: Path) -> tuple[_Page, list[str]]:
    """Return the sheet with scores; a refusal where several have some."""
    titles = [page.title for page in pages]
    if title:
        chosen = [page for page in pages if page.title == title]
        if not chosen:
            raise InputError(
                f"has no sheet {title!r}",
                where=str(path),
                remedy=f"it has {', '.join(titles)}",
                argument="sheet",
            )
        return chosen[0], [f"sheets left out: {', '.join(t for t in titles if t != title)}"] if len(
            titles
        ) > 1 else []
    holding = [page for page in pages if page.scores > 1]
    if len(holding) > 1:
        raise InputError(
            f"has {format_count(len(holding), 'sheet')} with numbers: {', '.join(page.title for page in holding)}",
            where=str(path),
            remedy=("choose one with ", Option("sheet", holding[0].title)),
        )
    page = holding[0] if holding else pages[0]
    others = [other.title for other in pages if other is not page]
    return page, [f"sheet without scores left out: {', '.join(others)}"] if others else []


def _keep_block(page: _Page, path: Path) -> tuple[_Page, list[str]]:
    """Return the block of columns that is the table, where empty columns separate it from others beside it."""
    width = max(map(len, page.rows))
    rows = [[*row, *[""] * (width - len(row))] for row in page.rows]
    filled = [any(row[k] for row in rows) for k in range(width)]
    blocks: list[list[int]] = []
    for k, used in enumerate(filled):
        if used and (k == 0 or not filled[k - 1]):
            blocks.append([])
        if used:
            blocks[-1].append(k)
    if len(blocks) == 1:
        return replace(page, rows=[[row[k] for k in blocks[0]] for row in rows]), []
    sizes = [sum(bool(row[k]) for row in rows for k in block) for block in blocks]
    main = blocks[int(np.argmax(sizes))]
    notes = []
    for block, size in zip(blocks, sizes, strict=True):
        if block is main:
            continue
        texts = [row[k] for row in rows for k in block if row[k] and not _is_numeric(row[k])]
        sums_up = any(is_summary(text) or is_summary_header(text) for text in texts)
        head = next((text for text in texts), f"column {block[0] + 1}")
        if not sums_up or 2 * size > len(rows) * len(block):
            raise InputError(
                f"has a second table beside the first, from {head!r} on",
                where=str(path),
                remedy="move it to a sheet of its own",
            )
        notes.append(f"summary beside the table left out: {head}")
    kept = [[row[k] for k in main] for row in rows]
    pairs = [(row, number) for row, number in zip(kept, page.numbers, strict=True) if any(row)]
    return _Page(page.title, [row for row, _ in pairs], [number for _, number in pairs]), notes
