"""The reading of a table: which column is what, chosen by words and numbers, or refused with the readings there are.

Every possible reading gets points: for the words of its headers, for how labels look, for how items and systems cross,
for their numbers. The best is taken if it is clearly ahead; otherwise the refusal names the columns that decide. A row
or column is left out only by two signs, such as a label and a number (METHODS, 11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from shardwise.core.errors import InputError, Option
from shardwise.io.tables.facts import Facts, is_numeric
from shardwise.io.tables.long_tables import choose_pair, read_long
from shardwise.io.tables.roles import Choice, Columns, Reading, find_named
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.summaries import drop_summary_rows
from shardwise.io.tables.wide_tables import read_named_columns, read_wide


def choose_reading(
    sheet: Sheet,
    columns: Columns | None = None,
    measure: str | None = None,
    *,
    single: bool = False,
    factors: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Reading:
    """Say which column is what, or refuse with the readings that there are and the option that chooses.

    Parameters
    ----------
    sheet
        The table.
    columns
        What the caller says: item, system, repeat, score, cluster, task … -> the name of a column.
    measure
        The score that is asked for, where a column has its name.
    single
        Whether columns of numbers are measures of one system rather than systems.
    factors
        Columns that are factors of their own, and nothing else.
    exclude
        Systems that are left out, where they are columns.

    Returns
    -------
    The reading, with the sheet that it is of: without summary rows, turned where rows were systems.
    """
    named = find_named(sheet, columns or {})
    if sheet.headerless and not named:
        raise _refuse_headerless(sheet)
    spared = {name for names in named.values() for name in names}
    sheet = sheet.without_columns([*factors, *(name for name in exclude if name not in spared)])
    sheet, notes = _fill_down(sheet)
    facts = Facts(sheet, named, measure)
    systems = named.get("system", ())
    if len(systems) > 1:
        reading = read_named_columns(facts)
    else:
        pair = choose_pair(facts)
        reading = read_long(facts, pair) if pair is not None else read_wide(facts, single)
    reading = replace(reading, notes=(*sheet.notes, *notes, *reading.notes))
    return drop_summary_rows(reading, exclude)


def _refuse_headerless(sheet: Sheet) -> InputError:
    """Return the refusal of a table whose first row is data, with the columns that can be named by number."""
    numbers = [name for name, column in sheet.columns.items() if is_numeric(column)]
    labels = [name for name in sheet.columns if name not in numbers]
    choice = Choice({"item": labels[0]} if labels else {})
    if len(labels) > 1 and numbers:
        choice |= {"system": labels[1], "score": numbers[0]}
    elif numbers:
        choice |= {"system": "+".join(numbers)}
    return InputError(
        "has no header: the first row is data",
        where=sheet.source,
        remedy=(
            "add a line with the names of the columns, or name them by number: ",
            Option("columns", choice),
        ),
        argument="columns",
        choices=[choice],
    )


def _fill_down(sheet: Sheet) -> tuple[Sheet, tuple[str, ...]]:
    """Fill the labels of merged cells, where each stands once above equally many empty cells."""
    names = list(sheet.columns)
    if len(names) < 3:
        return sheet, ()
    first, second = sheet.columns[names[0]], sheet.columns[names[1]]
    if not pa.types.is_string(first.data.type) or is_numeric(second) or "" in second.labels.names:
        return sheet, ()
    if "" not in first.labels.names:
        return sheet, ()
    cells = [(cell or "").strip() for cell in first.data.to_pylist()]
    starts = np.flatnonzero([bool(cell) for cell in cells])
    lengths = np.diff(np.append(starts, len(cells)))
    if len(starts) < 2 or starts[0] or lengths.min() < 2 or len(set(lengths.tolist())) > 1:
        return sheet, ()
    if second.distinct != int(lengths[0]):
        return sheet, ()
    filled = [cells[start] for start, length in zip(starts, lengths, strict=True) for _ in range(length)]
    columns = dict(sheet.columns) | {
        names[0]: replace(first, data=pa.chunked_array([pa.array(filled, pa.string())]))
    }
    return replace(sheet, columns=columns), (f"empty cells of {names[0]} filled from above",)
