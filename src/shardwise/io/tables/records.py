"""A sheet and its reading -> scores one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shardwise.core.arrays import Codes, Floats, Ints
from shardwise.core.claim import DIMENSIONS
from shardwise.core.errors import InputError
from shardwise.io.tables.column import Labels
from shardwise.io.tables.names import numbered, places_of
from shardwise.io.tables.roles import Columns, Reading, fault, own_factors, understood
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.words import SUMMARIES, VALUES, plain

ITEM_LABELS = ("task", "cluster")  # what an item may belong to


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Scores one by one: where each belongs, its value, and where it was read."""

    source: str
    labels: dict[str, Labels]  # dimension, task or cluster -> label of each score
    measures: Labels
    values: Floats
    place: Callable[[int], str]
    nouns: dict[str, str]  # dimension -> the user's word for it, where that is another
    notes: tuple[str, ...] = ()
    primary: str = ""  # the measure to take where there are several, if the source says so
    asked: frozenset[str] = field(default_factory=frozenset)  # item labels that have a column of their own
    wide: bool = False  # whether its systems were the columns of a table
    factors: tuple[str, ...] = ()  # labels that are further dimensions


def records(
    sheet: Sheet,
    measure: str | None = None,
    columns: Columns | None = None,
    system: str = "",
    *,
    single: bool = False,
    factors: Sequence[str] = (),
) -> Records:
    """Take the scores out of a sheet.

    Parameters
    ----------
    sheet
        The table.
    measure
        Picks a column of scores, or names scores that have no name.
    columns
        Which column is what, where the headers do not say it.
    system
        What to call the one system of a table that names none.
    single
        Whether the columns are measures of one system, and not systems.
    factors
        Columns that are further dimensions, where the table has them.
    """
    further = own_factors(sheet, factors, columns)
    reading = understood(sheet, columns, measure, single=single, factors=further)
    rows, notes = _items(sheet, reading)
    labels = {
        role: _labels(sheet, name).taken(rows)
        for role, name in reading.roles.items()
        if role in DIMENSIONS or role in ITEM_LABELS
    }
    labels |= {name: _labels(sheet, name).taken(rows) for name in further}
    if "topic" not in labels:
        every = np.arange(sheet.rows, dtype=np.int32)
        labels["topic"] = Labels(every, numbered(np.arange(1, sheet.rows + 1)))
    for name in reading.scores:
        if np.isinf(sheet.columns[name].values).any():
            raise fault(sheet, name)
    parts = [sheet.columns[name].values for name in reading.scores]
    times, count = len(parts), sheet.rows if rows is None else len(rows)
    if reading.wide:
        labels["system"] = Labels(np.arange(times, dtype=np.int32), list(reading.scores))
        measures = Labels.same(measure or "score", times * count)
    else:
        if "system" not in labels:
            labels["system"] = Labels.same(system or sheet.system, count)
        _number_repeats(sheet, labels)
        measures = _measures(sheet, reading, measure, rows, count)
    if times > 1 or reading.wide:
        labels = {
            role: Labels(np.repeat(one.codes, count), one.names)
            if reading.wide and role == "system"
            else Labels(np.tile(one.codes, times), one.names)
            for role, one in labels.items()
        }
    kept = parts if rows is None else [part[rows] for part in parts]
    values = kept[0] if times == 1 else np.concatenate(kept)
    left = [f"{name} ({why})" for name, why in reading.left.items()]
    same = [f"{name} has {sheet.columns[name].values[0]:g} in every row" for name in reading.flat]
    told = (*notes, *same, *([f"left out: {', '.join(left)}"] if left else []))
    return Records(
        source=sheet.source,
        labels=labels,
        measures=measures,
        values=values,
        place=lambda k: sheet.place(k % count if rows is None else int(rows[k % count])),
        nouns=reading.nouns,
        notes=told,
        asked=frozenset(role for role in ITEM_LABELS if role in labels),
        wide=reading.wide,
        factors=further,
    )


def _items(sheet: Sheet, reading: Reading) -> tuple[Ints | None, tuple[str, ...]]:
    """The rows that are of items, and not their mean; None where all are."""
    if "topic" not in reading.roles:
        return None, ()
    codes, names, _ = sheet.columns[reading.roles["topic"]].labels
    means = places_of(SUMMARIES, names)
    if not means:
        return None, ()
    kept = np.flatnonzero(~np.isin(codes, means))
    if not len(kept):
        raise InputError(
            "has means over items only", where=sheet.source, remedy="give the scores of each item"
        )
    return kept, (f"rows of means passed over: {', '.join(names[k] for k in means)}",)


def _labels(sheet: Sheet, name: str) -> Labels:
    found = sheet.columns[name].labels
    if "" in found.names:
        row = int(np.flatnonzero(found.codes == found.names.index(""))[0])
        raise InputError(f"column {name!r} is empty", where=sheet.place(row), remedy="fill it in")
    return found


def _measures(sheet: Sheet, reading: Reading, measure: str | None, rows: Ints | None, count: int) -> Labels:
    if "measure" in reading.roles:
        return _labels(sheet, reading.roles["measure"]).taken(rows)
    nameless = len(reading.scores) == 1 and plain(reading.scores[0]) in VALUES
    names = [
        (measure if measure and nameless else "score") if plain(name) in VALUES else name
        for name in reading.scores
    ]
    if len(names) == 1:
        return Labels.same(names[0], count)
    return Labels(np.repeat(np.arange(len(names), dtype=np.int32), count), names)


def _number_repeats(sheet: Sheet, labels: dict[str, Labels]) -> None:
    """Seeds that are different in every row say only that there are repeats: these are numbered for each cell."""
    if "instance" not in labels or len(labels["instance"].names) < sheet.rows or sheet.rows < 2:
        return
    cells = {role: one for role, one in labels.items() if role in DIMENSIONS and role != "instance"}
    numbers = occurrences(cells)
    del labels["instance"]
    if numbers.max(initial=0) > 0:
        labels["instance"] = Labels(numbers, [str(k + 1) for k in range(int(numbers.max()) + 1)])


def occurrences(labels: Mapping[str, Labels]) -> Codes:
    """How many rows with the same labels stand before each row.

    >>> occurrences({"topic": Labels(np.array([0, 1, 0, 0]), ["a", "b"])}).tolist()
    [0, 0, 1, 2]
    """
    at = np.zeros(len(next(iter(labels.values())).codes), dtype=np.int64)
    for one in labels.values():
        at = at * len(one.names) + one.codes
    order = np.argsort(at, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(at[order]) != 0]))
    found = np.empty(len(at), dtype=np.int32)
    found[order] = np.arange(len(at)) - np.repeat(starts, np.diff(np.append(starts, len(at))))
    return found
