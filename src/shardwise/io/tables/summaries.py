"""Rows that sum up others: left out by two signs, and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.io.tables import signs
from shardwise.io.tables.refusals import Doubt
from shardwise.io.tables.roles import Reading
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.words import SUMMARIES, is_numbered, is_summary, is_summary_header, share_of_items

MANY = 2000  # items from which only plain words are looked for
EDGE = 8  # rows at an end of a table in which summaries stand


def drop_summary_rows(reading: Reading, exclude: Sequence[str] = ()) -> Reading:
    """Return the reading without rows that sum up others; refuse those of which only one sign speaks.

    Parameters
    ----------
    reading
        The roles of the columns of a table.
    exclude
        Items that the caller leaves out.
    """
    if "topic" not in reading.roles or not reading.scores:
        return reading
    reading = _drop_footnotes(reading) if _is_wide(reading) else reading
    dropped = _find_wide(reading, exclude) if _is_wide(reading) else _find_long(reading, exclude)
    if not len(dropped):
        return reading
    sheet = reading.sheet
    labels = sheet.columns[reading.roles["topic"]].labels
    names = dict.fromkeys(labels.names[labels.codes[row]] or "(no name)" for row in dropped.tolist())
    kept = sheet.without_rows(dropped)
    if not kept.rows:
        raise InputError(
            "contains only aggregate means", where=sheet.source, remedy="give the scores of each item"
        )
    note = f"summary rows left out: {', '.join(names)}"
    return replace(reading, sheet=kept, notes=(*reading.notes, note))


def _drop_footnotes(reading: Reading) -> Reading:
    """Return the reading without rows at the end that hold a text and no score."""
    sheet = reading.sheet
    labels = sheet.columns[reading.roles["topic"]].labels
    empty = np.all([np.isnan(sheet.columns[name].values[-EDGE:]) for name in reading.scores], axis=0)
    notes: list[str] = []
    last = sheet.rows
    while last > 2 and empty[last - sheet.rows - 1]:
        name = labels.names[labels.codes[last - 1]]
        if " " not in name.strip():
            break
        notes.append(name)
        last -= 1
    if not notes:
        return reading
    kept = sheet.without_rows(np.arange(last, sheet.rows))
    note = f"rows without scores left out: {'; '.join(name[:40] for name in notes)}"
    return replace(reading, sheet=kept, notes=(*reading.notes, note))


def _is_wide(reading: Reading) -> bool:
    """Tell whether a row is an item, whatever its columns are."""
    return "system" not in reading.roles


def _find_wide(reading: Reading, exclude: Sequence[str]) -> Ints:
    """Return rows of a wide table that sum up others."""
    sheet = reading.sheet
    labels = sheet.columns[reading.roles["topic"]].labels
    names = [labels.names[code] for code in labels.codes[: 1 << 16].tolist()]
    rows = len(labels.codes)
    edge = [*range(min(2, rows)), *range(max(2, rows - EDGE), rows)]
    if rows > 1 << 16:
        # of long tables by words alone
        codes = {k for k, name in enumerate(labels.names) if name.lower() in SUMMARIES}
        return np.flatnonzero(np.isin(labels.codes, list(codes)))
    codes = {k for k, name in enumerate(labels.names) if not name or is_summary(name) or _sums_up(name)}
    candidates = [row for row in range(rows) if labels.codes[row] in codes and names[row] not in exclude]
    candidates = [row for row in candidates if row in edge or not names[row] or is_summary(names[row])]
    table = np.column_stack([sheet.columns[name].values for name in reading.scores])
    if not candidates:
        candidates = _find_unlabelled(sheet, table, names) if names[-1] not in exclude else []
    body = np.delete(table, candidates, axis=0)
    body = np.where(np.isfinite(body), body, np.nan)
    ordinary = [name for row, name in enumerate(names) if row not in candidates]
    dropped = []
    for row in candidates:
        name = names[row]
        statistic = signs.find_statistic(table[row], body) if len(body) > 1 else ""
        if statistic in signs.LOOSE and not signs.has_many_values(body):
            # any right answer is the best of right and wrong ones
            statistic = ""
        formulas = bool(np.isinf(table[row]).any())
        by_word = is_summary(name) or _sums_up(name)
        apart = is_numbered(ordinary) or share_of_items(ordinary[:50]) > 0.8
        if not name and not statistic:
            raise InputError(
                f"column {reading.roles['topic']!r} is empty", where=sheet.place(row), remedy="fill it in"
            )
        # below or above all items, and not between them
        outside = all(k in candidates for k in range(row, rows)) or all(k in candidates for k in range(row))
        if statistic or (by_word and outside and (apart or formulas)):
            dropped.append(row)
        elif is_summary(name) or row in edge:
            raise _doubt_row(sheet, row, name)
    return np.array(dropped, dtype=np.int64)


def _sums_up(name: str) -> bool:
    return is_summary_header(name) and len(name.strip()) > 2


def _find_unlabelled(sheet: Sheet, table: Floats, names: Sequence[str]) -> list[int]:
    """Return the last row, where its numbers alone say that it sums up all above: their mean, sum or deviation."""
    last = len(table) - 1
    if last < 3 or not np.isfinite(table[last]).any():
        return []
    statistic = signs.find_statistic(table[last], np.where(np.isfinite(table[:last]), table[:last], np.nan))
    if names[last].strip().lower() in SUMMARIES and statistic:
        return [last]
    if table.shape[1] == 1:
        # one number may be a mean by chance, unless it has more digits than the scores
        digits = [signs.decimals_of(float(value)) for value in table[np.isfinite(table)]]
        if digits[-1] <= max(digits[:-1]):
            return []
    # where cells have few values, as right and wrong, the row has to be of another kind
    apart = not np.isin(table[last], table[:last]).any()
    several = table.shape[1] > 1 and signs.has_many_values(table)
    if not statistic or statistic in signs.LOOSE or not (several or apart):
        return []
    if is_numbered([*names]):
        raise _doubt_row(sheet, last, names[last], statistic)
    return [last]


def _doubt_row(sheet: Sheet, row: int, name: str, statistic: str = "") -> Doubt:
    what = f"is the {statistic} of the rows above" if statistic else "may be an item, or sum up others"
    return Doubt(
        f"row {name!r} {what}", exclude=name, rename="rename it if it is an item", where=sheet.place(row)
    )


def _find_long(reading: Reading, exclude: Sequence[str]) -> Ints:
    """Return rows of a long table whose items sum up others."""
    sheet = reading.sheet
    items = sheet.columns[reading.roles["topic"]].labels
    codes = (
        [k for k, name in enumerate(items.names) if is_summary(name) and name not in exclude]
        if len(items.names) < MANY
        else [k for k, name in enumerate(items.names) if name.lower() in SUMMARIES]
    )
    if not codes or len(items.names) - len(codes) < 2:
        return np.zeros(0, dtype=np.int64)
    dropped = []
    systems = sheet.columns[reading.roles["system"]].labels.codes
    values = sheet.columns[reading.scores[0]].values
    body = ~np.isin(items.codes, codes)
    ordinary = [name for k, name in enumerate(items.names) if k not in codes][:50]
    apart = is_numbered(ordinary) or share_of_items(ordinary) > 0.8
    many = signs.has_many_values(values[body])
    for code in codes:
        rows = np.flatnonzero(items.codes == code)
        others = np.flatnonzero(body)
        edge = not len(others) or rows.min() > others.max() or rows.max() < others.min()
        matches = []
        for row in rows.tolist():
            column = values[body & (systems == systems[row])]
            statistic = signs.find_statistic(
                values[[row]], np.where(np.isfinite(column), column, np.nan)[:, None]
            )
            matches.append(bool(statistic) and (many or statistic not in signs.LOOSE))
        if (edge and apart) or np.mean(matches) >= signs.NEARLY_ALL:
            dropped.append(rows)
        else:
            raise _doubt_row(sheet, int(rows[0]), items.names[code])
    return np.concatenate(dropped)
