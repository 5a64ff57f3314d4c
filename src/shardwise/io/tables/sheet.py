"""Named columns of coded texts or of numbers, with their facts, and the place of every row for those who have to mend
it: what every kind of table becomes, by numpy alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Codes, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.text import unguard_name
from shardwise.io.files import bare_name
from shardwise.io.tables import words
from shardwise.io.tables.numerals import ParsedTexts, find_marks, is_date, is_number, parse_texts

MORE = "…"  # in place of a cell that holds more than one value
INDEX = ""  # name of the column that an unnamed index becomes
ENDS_IN_ID = re.compile(r"(^|[\W_])id$", re.IGNORECASE)
MANY = 2000  # names from which some are looked at first
LOOK = 200  # names of very many that are looked at
MOST_ARMS = 30  # labels up to which a column may name the groups of an experiment
FIRST = 50  # names whose look says what a column is
FEW = 0.25  # numbers a word, below which very many texts are none
EXACT = 2**53  # whole numbers up to which floats hold them all


class Labels(NamedTuple):
    """Labels one by one: a code each, and the names by code, each of which some row has."""

    codes: Codes
    names: Sequence[str]
    ordered: bool = False  # whether the names are known to be in their natural order

    @classmethod
    def repeat_name(cls, name: str, count: int) -> Labels:
        """Return one label for all."""
        return cls(np.zeros(count, dtype=np.int32), [name])

    @classmethod
    def of_texts(cls, texts: Iterable[str], *, guarded: bool = False) -> Labels:
        """Return texts as labels, without spaces around them nor, where asked, the apostrophes of spreadsheets."""
        number: dict[str, int] = {}
        codes = np.fromiter((number.setdefault(text, len(number)) for text in texts), dtype=np.int32)
        return cls(codes, list(number)).clean_names(guarded=guarded)

    @classmethod
    def of_numbers(cls, values: Floats | Ints) -> Labels:
        """Return numbers as labels: whole ones without a point, nothing for those that are not there."""
        whole = values.dtype.kind == "i"
        if not whole:
            finite = values[np.isfinite(values)]
            round_ones = np.array_equal(finite, np.round(finite)) and np.abs(finite).max(initial=0.0) < EXACT
            whole = round_ones and len(finite) == len(values)
            values = values.astype(np.int64) if whole else values
        if whole and len(values) and values.min() >= 0 and np.ptp(values) <= 4 * len(values):
            # a narrow range is coded without looking any number up
            low = int(values.min())
            occurs = np.bincount(values - low) > 0
            codes = (np.cumsum(occurs, dtype=np.int32) - 1)[values - low]
            return cls(codes, [str(k + low) for k in np.flatnonzero(occurs).tolist()], ordered=True)
        unique, codes = np.unique(values, return_inverse=True)
        names = ["" if v != v else str(int(v)) if whole or round_ones else repr(v) for v in unique.tolist()]
        return cls(codes.astype(np.int32), names)

    @classmethod
    def join(cls, parts: Sequence[Labels]) -> Labels:
        """Return labels of several parts under common codes, in the order in which the parts list them."""
        if len(parts) == 1:
            return parts[0]
        names: dict[str, int] = {}
        codes = []
        for part in parts:
            to = np.array([names.setdefault(name, len(names)) for name in part.names], dtype=np.int32)
            codes.append(to[part.codes])
        return cls(np.concatenate(codes), list(names))

    def clean_names(self, *, guarded: bool = False) -> Labels:
        """Return the same with names that are trimmed and, where asked, without apostrophes; equal ones are one."""
        trimmed = [name.strip() for name in self.names]
        trimmed = [unguard_name(name) for name in trimmed] if guarded else trimmed
        if trimmed == self.names:
            return self
        number = {name: k for k, name in enumerate(dict.fromkeys(trimmed))}
        to = np.array([number[name] for name in trimmed], dtype=np.int32)
        return Labels(to[self.codes], list(number))

    def find_row(self, name: str) -> int:
        """Return the first row with a label."""
        return int(np.argmax(self.codes == list(self.names).index(name)))

    def take_rows(self, rows: Ints | None) -> Labels:
        """Return the labels of some rows; of all, where none are named."""
        return self if rows is None else self._replace(codes=self.codes[rows]).drop_unused()

    def drop_unused(self) -> Labels:
        """Return the same without names that no row has."""
        occurs = np.zeros(len(self.names), dtype=bool)
        occurs[self.codes] = True
        if occurs.all():
            return self
        to = np.cumsum(occurs, dtype=np.int32) - 1
        names = [self.names[k] for k in np.flatnonzero(occurs).tolist()]
        return self._replace(codes=to[self.codes], names=names)


@dataclass(frozen=True, eq=False)
class Column:
    """A named column as it was read: texts by code, or numbers, NaN where there is none.

    ``decimal`` is the decimal mark where the table proves one, ``mixed`` says that 1.234 may be thousands, ``moments``
    that the cells were dates or times.
    """

    name: str
    cells: Labels | Floats | Ints
    decimal: str = ""
    mixed: bool = False
    moments: bool = False

    @property
    def is_text(self) -> bool:
        """Whether the cells were read as text."""
        return isinstance(self.cells, Labels)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.cells.codes if isinstance(self.cells, Labels) else self.cells)

    @cached_property
    def header(self) -> str:
        """The name in lower case, with underscores."""
        return words.simplify_header(self.name)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """What the header says that the column may be, where the cells do not speak against it."""
        roles = words.list_roles(self.name)
        numeric = bool(roles) and self.is_numeric
        arms = self.header in words.ARMS and not self.is_numeric and 1 < self.distinct <= MOST_ARMS
        if arms and (self.header not in words.CLUSTERS or words.share_of_models(self.first_names) >= 0.5):
            return ("system",)
        if roles[:1] == ("instance",) and not numeric and self.unique:
            # names that differ from row to row tell no repeats apart
            return ("topic",)
        if roles[:1] == ("split",) and not numeric:
            return ("slice",)
        # "Our method" over scores is a system; "eval question" over whole numbers that all differ names items
        telling = not numeric or not words.ends_in_word(self.name) or (roles == ("topic",) and self.counts)
        return roles if telling else ()

    def unheard(self) -> Column:
        """Return the column with a header that says nothing."""
        column = copy(self)
        column.__dict__["roles"] = ()
        return column

    @property
    def plain(self) -> bool:
        """Whether the header says by itself what the column is, rather than beside others."""
        return self.header not in words.SWING

    @cached_property
    def is_score(self) -> bool:
        """Whether the header says that the column holds scores."""
        return words.is_score(self.name)

    @cached_property
    def is_wordy(self) -> bool:
        """Whether the header names text that stands beside scores."""
        return words.is_wordy(self.name)

    @cached_property
    def is_beside(self) -> bool:
        """Whether the header says that the column is kept beside scores, or sums up others."""
        return words.is_bookkeeping(self.name) or (words.is_summary_header(self.name) and not self.is_score)

    @cached_property
    def labels(self) -> Labels:
        """What the cells say, as text without spaces around it; an empty cell says ""."""
        return self.cells if isinstance(self.cells, Labels) else Labels.of_numbers(self.cells)

    @cached_property
    def values(self) -> Floats:
        """The cells as numbers: NaN where there is none, infinite where a word is not a score."""
        if isinstance(self.cells, Labels):
            return self.parsed.values[self.cells.codes]
        return self.cells.astype(np.float64, copy=False)

    @cached_property
    def parsed(self) -> ParsedTexts:
        """The numbers that the labels stand for, and what cannot be decided of them."""
        if not self.is_text:
            return ParsedTexts(np.zeros(0))
        names = self.labels.names
        if len(names) > MANY and np.isinf(self._sample[1]).all():
            return ParsedTexts(np.full(len(names), np.inf))
        return parse_texts(names, self.decimal, mixed=self.mixed)

    @cached_property
    def _sample(self) -> tuple[Sequence[str], Floats]:
        """Some of very many labels, by name and by row, with their numbers; of fewer labels, all."""
        codes, names, _ = self.labels
        if len(names) <= MANY:
            return names, self.parsed.values
        picked = [*range(0, len(names), len(names) // LOOK), *codes[:: len(codes) // LOOK].tolist()]
        texts = [names[k] for k in picked]
        return texts, parse_texts(texts, self.decimal, mixed=self.mixed).values

    @cached_property
    def words(self) -> Sequence[str]:
        """The different cells that are neither numbers nor verdicts nor missing."""
        odd = np.isinf(self.parsed.values)
        if len(odd) and odd.all():
            return self.labels.names
        return [self.labels.names[k] for k in np.flatnonzero(odd).tolist()]

    @property
    def says_verdicts(self) -> bool:
        """Whether none of the cells is a number, though words such as yes and ok stand for some."""
        return self.is_text and not any(map(is_number, self.labels.names))

    @cached_property
    def is_numeric(self) -> bool:
        """Whether most of the different cells are numbers, or most of the rows; found once, for whoever asks."""
        if not self.is_text or self.blank:
            return not self.blank
        sample = self._sample[1]
        if len(self.labels.names) > MANY and np.isfinite(sample).sum() < FEW * np.isinf(sample).sum():
            # texts of which a few are numbers; to look at all of them takes long
            return False
        numbers, odd = np.isfinite(self.parsed.values), np.isinf(self.parsed.values)
        times = np.bincount(self.labels.codes, minlength=len(odd))
        most = numbers.sum() >= odd.sum() or times[numbers].sum() >= times[odd].sum()
        return bool(most or self.parsed.problem) and not self.dates

    @cached_property
    def dates(self) -> bool:
        """Whether the cells are dates or times of day."""
        if self.moments or not self.is_text:
            return self.moments
        texts, values = self._sample
        sampled = all(is_date(texts[k]) for k in np.flatnonzero(np.isinf(values)).tolist())
        return sampled and len(self.words) > 0 and all(map(is_date, self.words))

    @cached_property
    def distinct(self) -> int:
        """How many different things the cells say."""
        cells = self.cells
        if not isinstance(cells, Labels) and cells.dtype.kind == "f":
            # without a name for every fraction
            return len(np.unique(cells))
        return len(self.labels.names)

    @property
    def kind(self) -> str:
        """What the cells are, in a word or two."""
        if self.is_numeric and not (self.is_wordy and self.says_verdicts):
            return "whole numbers" if self.whole else "numbers"
        return "empty" if self.blank else "dates" if self.dates else "text"

    @property
    def first_names(self) -> list[str]:
        """The first labels that say something."""
        return [name for name in islice(self.labels.names, FIRST) if name]

    @cached_property
    def blank(self) -> bool:
        """Whether no cell says anything."""
        if isinstance(self.cells, Labels):
            return not any(islice(self.cells.names, 2))
        return bool(np.isnan(self.cells).all())

    @property
    def constant(self) -> bool:
        """Whether all cells say the same."""
        ends = () if isinstance(self.cells, Labels) else self.cells[[0, -1]].tolist()
        return not (ends and ends[0] != ends[1] and all(end == end for end in ends)) and self.distinct == 1

    @property
    def unique(self) -> bool:
        """Whether every cell says something else."""
        return self.distinct == self.rows

    @cached_property
    def whole(self) -> bool:
        """Whether all numbers are whole."""
        finite = self.values[np.isfinite(self.values)]
        return bool(len(finite)) and bool(np.array_equal(finite, np.round(finite)))

    @property
    def counts(self) -> bool:
        """Whether the cells are whole numbers, each different from all others: they number the rows."""
        if isinstance(self.cells, Labels):
            whole = all(name.isdecimal() for name in self.cells.names)
        else:
            whole = self.cells.dtype.kind == "i"
        return self.rows > (0 if ENDS_IN_ID.search(self.name) else 2) and whole and self.unique

    def take_rows(self, rows: Ints) -> Column:
        """Return the column with some of its rows."""
        cells = self.cells
        return replace(self, cells=cells.take_rows(rows) if isinstance(cells, Labels) else cells[rows])


def make_column(name: str, cells: Sequence[Any]) -> Column:
    """Return values of Python as a column: numbers where all are, else as text; what holds several is not looked into.

    >>> make_column("a", [1, None, 2.5]).values.tolist(), make_column("b", [True, "x"]).labels.names
    ([1.0, nan, 2.5], ['True', 'x'])
    """
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds and all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds):
        given = [np.nan if cell is None else cell for cell in cells]
        try:
            if None not in cells and all(issubclass(kind, int | np.integer) for kind in kinds):
                return Column(name, np.array(given, dtype=np.int64))
            return Column(name, np.array(given, dtype=np.float64))
        except OverflowError:
            pass
    texts = (
        "" if cell is None or cell != cell else MORE if isinstance(cell, dict | list) else str(cell)
        for cell in cells
    )
    return Column(name, Labels.of_texts(texts))


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Named columns as they stand in the source."""

    source: str
    system: str  # what to call the one system, should no column name it
    columns: Mapping[str, Column]
    place: Callable[[int], str]  # where a row stands, in words
    empty: frozenset[str] = frozenset()  # columns of scores that are all missing, and say so
    notes: tuple[str, ...] = ()  # what was left out or changed while it was read
    headerless: bool = False  # whether the first row is data, and columns are called by their numbers

    @property
    def rows(self) -> int:
        """Number of rows."""
        return next(iter(self.columns.values())).rows if self.columns else 0

    def without_rows(self, dropped: Ints) -> Sheet:
        """Return the sheet without some rows."""
        kept, locate_row = np.setdiff1d(np.arange(self.rows), dropped), self.place
        columns = {name: column.take_rows(kept) for name, column in self.columns.items()}
        return replace(self, columns=columns, place=lambda row: locate_row(int(kept[row])))

    def require_labels(self, name: str) -> Labels:
        """Return the labels of a column, of which none may be empty."""
        labels = self.columns[name].labels
        if "" in labels.names:
            where = self.place(labels.find_row(""))
            raise InputError(f"column {name!r} is empty", where=where, remedy="fill it in")
        return labels

    def without_columns(self, names: Iterable[str]) -> Sheet:
        """Return the sheet without some columns."""
        dropped = set(names)
        kept = {name: column for name, column in self.columns.items() if name not in dropped}
        return replace(self, columns=kept)


def make_sheet(
    columns: Sequence[Column],
    source: str,
    place: Callable[[int], str] | None = None,
    *,
    system: str = "",
    decimal: str = "",
    mixed: bool = False,
    notes: Sequence[str] = (),
    header: str = "",
) -> Sheet:
    """Make a sheet of columns, without the rows and nameless columns in which nothing stands.

    Parameters
    ----------
    columns
        The columns.
    source
        What to call the table in errors.
    place
        Where a row stands, in words; its number, where nothing is said.
    system
        What to call the one system, should no column name it; by the source, where nothing is said.
    decimal
        The decimal mark, "point" or "comma", where the caller says it.
    mixed
        Whether cells such as 1.234 may be thousands.
    notes
        What was left out or changed before.
    header
        Where the names of the columns stand, if that is known.
    """
    decimal = decimal or _find_decimal(columns)
    columns = [replace(column, name=column.name.strip(), decimal=decimal, mixed=mixed) for column in columns]
    columns = [column for column in columns if column.name or not column.blank]
    if not columns:
        raise InputError("nothing stands in it", where=source, remedy="give a table of scores")
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(
            f"two columns are called {twice!r}" if twice else "two columns have no name",
            where=header or source,
            remedy="rename one",
        )
    place = place or (lambda row: f"{source}:row {row + 1}")
    by_name = dict(zip(names, columns, strict=True))
    sheet = Sheet(source, system or strip_endings(Path(source)), by_name, place, notes=tuple(notes))
    # rows in which nothing stands, as spreadsheets leave them
    blank = np.ones(sheet.rows, dtype=bool)
    for column in columns if sheet.rows else ():
        if not blank.any():
            break
        if not isinstance(column.cells, Labels):
            blank &= np.isnan(column.cells)
        else:
            codes, labels, _ = column.cells
            blank &= codes == list(labels).index("") if "" in labels else False
    return sheet.without_rows(np.flatnonzero(blank)) if blank.any() else sheet


def _find_decimal(columns: Iterable[Column]) -> str:
    """Return the decimal mark that cells of a table prove; none where they prove both."""
    start = (islice(column.cells.names, MANY) for column in columns if isinstance(column.cells, Labels))
    proofs = {find_marks([text for text in texts if text[:1] in "+-.,0123456789"]) for texts in start} - {""}
    return proofs.pop() if len(proofs) == 1 else ""


def exchange_axes(sheet: Sheet, label: str, numbers: Sequence[str]) -> Sheet:
    """Return the same table with its rows as columns, beside one called item.

    Parameters
    ----------
    sheet
        The table.
    label
        The column that names the rows.
    numbers
        The columns that become rows.
    """
    codes, names, _ = sheet.columns[label].labels
    values = np.array([sheet.columns[name].values for name in numbers])
    rows = [Column(names[code], values[:, row]) for row, code in enumerate(codes.tolist())]
    columns = [Column("item", Labels.of_texts(numbers)), *rows]
    source = sheet.source
    return make_sheet(
        columns, source, lambda row: f"{source}:column {numbers[row]}", system=sheet.system, notes=sheet.notes
    )


def join_columns(sheet: Sheet, names: Sequence[str], kept: Collection[str] = ()) -> tuple[Sheet, str]:
    """Return the table with one column in place of several, whose labels say what all of them say; and its name.

    Parameters
    ----------
    sheet
        The table.
    names
        Columns of labels.
    kept
        Those that stay beside it, as they have a role of their own.
    """
    parts = [sheet.columns[name].labels for name in names]
    keys, codes = np.unique(np.column_stack([part.codes for part in parts]), axis=0, return_inverse=True)
    labels = [
        " ".join(part.names[k] for part, k in zip(parts, key, strict=True)).strip() for key in keys.tolist()
    ]
    joined = "+".join(names)
    columns = {name: column for name, column in sheet.columns.items() if name in kept or name not in names}
    cells = Labels(codes.ravel().astype(np.int32), labels)
    return replace(sheet, columns={joined: Column(joined, cells), **columns}), joined


def fill_down(sheet: Sheet) -> tuple[Sheet, tuple[str, ...]]:
    """Fill the labels of merged cells, where each stands once above equally many empty cells; and say so."""
    names = list(sheet.columns)
    first = sheet.columns[names[0]] if names else None
    if first is None or len(names) < 3 or not first.is_text or "" not in first.labels.names:
        return sheet, ()
    second = sheet.columns[names[1]]
    codes, cells, _ = first.labels
    starts = np.flatnonzero(codes != list(cells).index(""))
    lengths = np.diff(np.append(starts, len(codes)))
    if len(starts) < 2 or starts[0] or lengths.min() < 2 or len(set(lengths.tolist())) > 1:
        return sheet, ()
    numeric = second.is_numeric and not second.dates
    if numeric or "" in second.labels.names or second.distinct != int(lengths[0]):
        return sheet, ()
    filled = Labels(np.repeat(codes[starts], lengths), cells).drop_unused()
    columns = dict(sheet.columns) | {names[0]: replace(first, cells=filled)}
    return replace(sheet, columns=columns), (f"empty cells of {names[0]} filled from above",)


def strip_endings(path: Path) -> str:
    """Return name of a file without its endings."""
    return Path(bare_name(path)).stem


def first_line(error: Exception) -> str:
    """Return what an error of another library says first."""
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
