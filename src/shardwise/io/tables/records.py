"""A sheet and its reading -> scores one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from shardwise.core.arrays import Codes, Floats, Ints
from shardwise.core.claim import DIMENSIONS, format_count
from shardwise.io.tables.facts import Columns, Reading, find_factors, refuse_words
from shardwise.io.tables.readings import choose_reading
from shardwise.io.tables.sheet import Labels, Sheet
from shardwise.io.tables.words import find_headline, is_value

ITEM_LABELS = ("task", "cluster")  # what an item may belong to
Missing = Literal["leave", "refuse", "zero"]


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
    numbered: bool = False  # whether items are called by the numbers of their rows, as nothing names them
    unnamed: bool = False  # whether its one system is called by its file, as nothing names it
    repeats_kind: str = ""  # samples or seeds, where the source says it
    what: str = ""  # what a log was recognised as
    excluded: frozenset[str] = frozenset()  # names that the caller leaves out and that were there
    perhaps: str = ""  # of one system, the columns by which there would be several

    def keep_rows(self, rows: Ints) -> Records:
        """Return some of the scores."""
        labels = {role: labels.take_rows(rows) for role, labels in self.labels.items()}
        locate_row = self.place
        return replace(
            self,
            labels=labels,
            measures=self.measures.take_rows(rows),
            values=self.values[rows],
            place=lambda k: locate_row(int(rows[k])),
        )


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller says of a table."""

    measure: str | None = None
    columns: Columns | None = None
    factors: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    missing: Missing | None = None
    decimal: str = ""
    sheet: str = ""
    tasks: tuple[str, ...] = ()
    by_position: bool = False


def make_records(sheet: Sheet, wishes: Wishes, system: str = "", *, single: bool = False) -> Records:
    """Take the scores out of a sheet.

    Parameters
    ----------
    sheet
        The table.
    wishes
        What the caller says of it: columns, measure, what is left out, what becomes of words among the scores.
    system
        What to call the one system of a table that names none.
    single
        Whether the columns are measures of one system, and not systems.
    """
    further = find_factors(sheet, wishes.factors, wishes.columns)
    reading = choose_reading(
        sheet, wishes.columns, wishes.measure, single=single, factors=further, exclude=wishes.exclude
    )
    whole, sheet = sheet, reading.sheet
    rows, excluded = _keep_rows(sheet, reading, wishes.exclude)
    excluded |= {name for name in wishes.exclude if name in whole.columns}
    labels = {
        role: sheet.require_labels(name).take_rows(rows)
        for role, name in reading.roles.items()
        if role in DIMENSIONS or role in ITEM_LABELS
    }
    # rows were dropped from both alike; the whole still has the columns of factors
    factored = whole if whole.rows == sheet.rows else sheet
    labels |= {name: factored.require_labels(name).take_rows(rows) for name in further}
    numbered = "topic" not in labels
    if numbered:
        kept = np.arange(sheet.rows) if rows is None else rows
        labels["topic"] = Labels(np.arange(len(kept), dtype=np.int32), [str(k + 1) for k in kept.tolist()])
    parts = [_score_values(sheet, name, rows, wishes.missing) for name in reading.scores]
    times, count = len(parts), sheet.rows if rows is None else len(rows)
    unnamed = False
    if reading.wide or reading.parts:
        measure = wishes.measure or reading.measure or "score"
        named = [reading.parts.get(name, (name, measure)) for name in reading.scores]
        labels["system"], measures = (
            Labels.join([Labels.repeat_name(name, count) for name in names])
            for names in zip(*named, strict=True)
        )
        if "measure" in reading.roles:
            kinds = sheet.require_labels(reading.roles["measure"]).take_rows(rows)
            measures = Labels(np.tile(kinds.codes, times), kinds.names)
    else:
        if "system" not in labels:
            unnamed = not system
            labels["system"] = Labels.repeat_name(system or sheet.system, count)
        _number_repeats(labels)
        measures = _label_measures(sheet, reading, wishes.measure, rows, count)
    if times > 1:
        labels = {
            role: entry
            if len(entry.codes) == times * count
            else Labels(np.tile(entry.codes, times), entry.names)
            for role, entry in labels.items()
        }
    values = parts[0][0] if times == 1 else np.concatenate([part for part, _ in parts])
    words = sum(changed for _, changed in parts)
    notes = [*reading.notes, *_column_notes(sheet, reading)]
    if excluded:
        notes.append(f"left out as asked: {', '.join(sorted(excluded))}")
    if words:
        notes.append(
            f"{format_count(words, 'cell')} of words read as {'missing' if wishes.missing == 'leave' else 'zero'}"
        )
    return Records(
        source=sheet.source,
        labels=labels,
        measures=measures,
        values=values,
        place=lambda k: sheet.place(k % count if rows is None else int(rows[k % count])),
        nouns=reading.nouns,
        notes=tuple(notes),
        primary=find_headline(reading.scores) if times > 1 and not reading.wide and not reading.parts else "",
        asked=frozenset(role for role in ITEM_LABELS if role in labels),
        wide=reading.wide,
        factors=tuple(further),
        numbered=numbered,
        unnamed=unnamed,
        repeats_kind=reading.repeats_kind if "instance" in labels else "",
        excluded=frozenset(excluded),
        perhaps=str(reading.perhaps or ""),
    )


def _column_notes(sheet: Sheet, reading: Reading) -> list[str]:
    """Return what is said of columns: those left out, those that never change, marks that were taken away."""
    notes = [f"{name} has {sheet.columns[name].values[0]:g} in every row" for name in reading.flat]
    notes += dict.fromkeys(note for name in reading.scores for note in sheet.columns[name].parsed.notes)
    omitted = [f"{name or '#1'} ({why})" for name, why in reading.omitted.items() if name or why != "text"]
    return [*notes, *([f"left out: {', '.join(omitted)}"] if omitted else [])]


def _keep_rows(sheet: Sheet, reading: Reading, exclude: Sequence[str]) -> tuple[Ints | None, set[str]]:
    """Return the rows without items and systems that the caller leaves out, None where all stay; and the names met."""
    kept = np.ones(sheet.rows, dtype=bool)
    met: set[str] = set()
    for role in ("topic", "system"):
        if exclude and role in reading.roles:
            codes, names, _ = sheet.columns[reading.roles[role]].labels
            dropped = [k for k, name in enumerate(names) if name in exclude]
            met |= {names[k] for k in dropped}
            kept &= ~np.isin(codes, dropped)
    return (None if kept.all() else np.flatnonzero(kept)), met


def _score_values(sheet: Sheet, name: str, rows: Ints | None, missing: Missing | None) -> tuple[Floats, int]:
    """Return the numbers of a column of scores, and how many words became missing or zero."""
    column = sheet.columns[name]
    values = column.values if rows is None else column.values[rows]
    words = np.isinf(values)
    if column.parsed.problem or (words.any() and missing not in ("leave", "zero")):
        raise refuse_words(sheet, name)
    if not words.any():
        return values, 0
    return np.where(words, np.nan if missing == "leave" else 0.0, values), int(words.sum())


def _label_measures(
    sheet: Sheet, reading: Reading, measure: str | None, rows: Ints | None, count: int
) -> Labels:
    if "measure" in reading.roles:
        return sheet.require_labels(reading.roles["measure"]).take_rows(rows)
    nameless = len(reading.scores) == 1 and is_value(reading.scores[0])
    names = [
        (measure if measure and nameless else "score") if is_value(name) else name for name in reading.scores
    ]
    if len(set(names)) < len(names):
        names = list(reading.scores)
    if len(names) == 1:
        return Labels.repeat_name(names[0], count)
    return Labels(np.repeat(np.arange(len(names), dtype=np.int32), count), names)


def _number_repeats(labels: dict[str, Labels]) -> None:
    """Number repeats within each cell, where systems or rows have repeats of their own names."""
    if "instance" not in labels:
        return
    repeats, systems = labels["instance"], labels["system"]
    rows = len(repeats.codes)
    pairs = repeats.codes.astype(np.int64) * len(systems.names) + systems.codes
    separate = (
        len(repeats.names) > 1 and len(systems.names) > 1 and len(np.unique(pairs)) == len(repeats.names)
    )
    if not separate and (len(repeats.names) < rows or rows < 2):
        return
    cells = {
        role: role_labels for role, role_labels in labels.items() if role in DIMENSIONS and role != "instance"
    }
    numbers = count_before(cells)
    del labels["instance"]
    if numbers.max(initial=0) > 0:
        labels["instance"] = Labels(numbers, [str(k + 1) for k in range(int(numbers.max()) + 1)])


def count_before(labels: Mapping[str, Labels]) -> Codes:
    """Return how many rows with the same labels stand before each row.

    >>> count_before({"topic": Labels(np.array([0, 1, 0, 0]), ["a", "b"])}).tolist()
    [0, 0, 1, 2]
    """
    keys = np.zeros(len(next(iter(labels.values())).codes), dtype=np.int64)
    for role_labels in labels.values():
        keys = keys * len(role_labels.names) + role_labels.codes
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0]))
    counts = np.empty(len(keys), dtype=np.int32)
    counts[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    return counts
