"""Named columns with their facts, and the place of every row for those who have to mend it: what every kind of table
becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Codes, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.libraries import pa, pc, pd
from shardwise.core.text import unguard_name
from shardwise.io.files import bare_name
from shardwise.io.tables import words
from shardwise.io.tables.numerals import ParsedTexts, find_marks, is_date, parse_texts

MORE = "…"  # in place of a cell that holds more than one value
INDEX = ""  # name of the column that an unnamed index becomes


ENDS_IN_ID = re.compile(r"(^|[\W_])id$", re.IGNORECASE)
MANY = 2000  # names from which some are looked at first
LOOK = 200  # names of very many that are looked at
MOST_ARMS = 30  # labels up to which a column may name the groups of an experiment
FIRST = 50  # names whose look says what a column is
FEW = 0.25  # numbers a word, below which very many texts are none
_EXACT = 2**53  # whole numbers up to which floats hold them all


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


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column of Arrow holds text, perhaps coded."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells of text, column by column: what a short file is read as, for which Arrow is not loaded."""

    column_names: Sequence[str]
    columns: Sequence[list[str]]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0]) if self.columns else 0


@dataclass(frozen=True, eq=False)
class Column:
    """A named column as it was read.

    ``decimal`` is the decimal mark where the table proves one, ``mixed`` says that 1.234 may be thousands, ``text``
    that names may follow the apostrophe of a spreadsheet, ``moments`` that the cells were dates or times.
    """

    name: str
    data: pa.ChunkedArray | list[str]
    decimal: str = ""
    mixed: bool = False
    text: bool = False
    moments: bool = False

    @cached_property
    def header(self) -> str:
        """The name in lower case, with underscores."""
        return words.simplify_header(self.name)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """What the header says that the column may be, where the cells do not speak against it."""
        roles = words.list_roles(self.name)
        numeric = bool(roles) and self.is_numeric
        arms = self.header in words.ARMS and not numeric and 1 < self.distinct <= MOST_ARMS
        if arms and ("system" in roles or words.share_of_models(self.first_names) >= 0.5):
            return ("system",)
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

    @property
    def is_text(self) -> bool:
        """Whether the cells are text, perhaps coded."""
        return isinstance(self.data, list) or is_text(self.data.type)

    @cached_property
    def labels(self) -> Labels:
        """What the cells say, as text without spaces around it; an empty cell says ""."""
        if isinstance(self.data, list):
            number: dict[str, int] = {}
            trimmed = (text.strip() for text in self.data)
            names = [unguard_name(text) if self.text and text[:1] == "'" else text for text in trimmed]
            codes = [number.setdefault(name, len(number)) for name in names]
            return Labels(np.array(codes, dtype=np.int32), list(number))
        data = self.data.cast(pa.string()) if pa.types.is_null(self.data.type) else self.data
        data = _whole_numbers(data) if pa.types.is_floating(data.type) else data
        if pa.types.is_integer(data.type) and not data.null_count:
            numbered = _number_codes(data)
            if numbered is not None:
                return numbered
        # of one piece, as the dictionaries of many take long to unify
        coded = (data.unify_dictionaries() if pa.types.is_dictionary(data.type) else data).combine_chunks()
        coded = coded if isinstance(coded, pa.DictionaryArray) else coded.dictionary_encode()
        places, texts = coded.indices.cast(pa.int32()), coded.dictionary
        if coded.null_count:
            places = places.fill_null(len(texts))
            texts = pa.concat_arrays([texts, pa.nulls(1, texts.type)])
        places = places.to_numpy(zero_copy_only=False)
        names, changed = _read_texts(texts, guarded=self.text)
        if changed:
            # some may differ in spaces only
            number = {name: k for k, name in enumerate(dict.fromkeys(names))}
            places = np.array([number[name] for name in names], dtype=np.int32)[places]
            names = list(number)
        return Labels(places, names).drop_unused()

    @cached_property
    def values(self) -> Floats:
        """The cells as numbers: NaN where there is none, infinite where a word is not a score."""
        if isinstance(self.data, list) or is_text(self.data.type):
            return self.parsed.values[self.labels.codes]
        kind = self.data.type
        if pa.types.is_null(kind):
            return np.full(len(self.data), np.nan)
        data = pc.cast(self.data, pa.int8()) if pa.types.is_boolean(kind) else self.data
        return np.asarray(pc.cast(data, pa.float64(), safe=False).to_numpy(), dtype=np.float64)

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

    @cached_property
    def is_numeric(self) -> bool:
        """Whether most of the different cells are numbers, or most of the rows; found once, for whoever asks."""
        if not self.is_text or self.blank:
            return not self.blank and not self.moments
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
        if isinstance(self.data, list) or is_text(self.data.type) or pa.types.is_integer(self.data.type):
            return len(self.labels.names)
        if pa.types.is_null(self.data.type):
            return 1
        return int(pc.count_distinct(self.data, mode="all").as_py())

    @property
    def kind(self) -> str:
        """What the cells are, in a word or two."""
        if self.is_numeric:
            return "whole numbers" if self.whole else "numbers"
        return "empty" if self.blank else "dates" if self.dates else "text"

    @property
    def first_names(self) -> list[str]:
        """The first labels that say something."""
        return [name for name in islice(self.labels.names, FIRST) if name]

    @property
    def blank(self) -> bool:
        """Whether no cell says anything."""
        filled = not self.is_text or len(self.labels.names) > 1 or any(self.labels.names)
        return not filled or (not isinstance(self.data, list) and self.data.null_count == len(self.data))

    @property
    def constant(self) -> bool:
        """Whether all cells say the same."""
        if not isinstance(self.data, list) and pa.types.is_floating(self.data.type) and len(self.data):
            first, last = self.data[0].as_py(), self.data[-1].as_py()
            if first is not None and last is not None and (first < last or first > last):
                return False
        return self.distinct == 1

    @property
    def unique(self) -> bool:
        """Whether every cell says something else."""
        return self.distinct == len(self.data)

    @cached_property
    def whole(self) -> bool:
        """Whether all numbers are whole."""
        finite = self.values[np.isfinite(self.values)]
        return bool(len(finite)) and bool(np.array_equal(finite, np.round(finite)))

    @property
    def counts(self) -> bool:
        """Whether the cells are whole numbers, each different from all others: they number the rows."""
        if isinstance(self.data, list) or is_text(self.data.type):
            whole = all(name.isdecimal() for name in self.labels.names)
        else:
            whole = bool(pa.types.is_integer(self.data.type))
        enough = len(self.data) > (0 if ENDS_IN_ID.search(self.name) else 2)
        return enough and whole and self.unique


def _whole_numbers(data: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats as the whole numbers that they are: data frames make floats of whole numbers beside a gap."""
    values = data.to_numpy()
    finite = values[np.isfinite(values)]
    if not len(finite) or not np.array_equal(finite, np.round(finite)) or np.abs(finite).max() >= _EXACT:
        return data
    if not data.null_count and len(finite) == len(values):
        return pc.cast(data, pa.int64(), safe=False)
    return pc.cast(pc.if_else(pc.is_nan(data), pa.scalar(None, data.type), data), pa.int64(), safe=False)


def _number_codes(data: pa.ChunkedArray) -> Labels | None:
    """Whole numbers of a narrow range under codes in their order, found without looking any up; None for others."""
    values = data.to_numpy()
    if not len(values):
        return None
    low, high = int(values.min()), int(values.max())
    if low < 0 or high - low > 4 * len(values):
        return None
    codes = (values - values.dtype.type(low)).astype(np.int32)
    occurs = np.zeros(high - low + 1, dtype=bool)
    occurs[codes] = True
    if not occurs.all():
        codes = (np.cumsum(occurs, dtype=np.int32) - 1)[codes]
    names = [str(k + low) for k in np.flatnonzero(occurs).tolist()]
    return Labels(codes, names, ordered=True)


def _read_texts(values: pa.Array, *, guarded: bool) -> tuple[list[str], bool]:
    """Return different cells as text without spaces and spreadsheets' apostrophes, and whether some had any."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        texts = [
            "" if value is None or value != value else str(value).strip() for value in values.to_pylist()
        ]
        return texts, len(set(texts)) < len(texts)
    filled = values.fill_null("") if values.null_count else values
    trimmed = pc.utf8_trim_whitespace(filled)
    names: list[str] = trimmed.to_pylist()
    quoted = guarded and bool(pc.any(pc.starts_with(trimmed, "'")).as_py())
    if quoted:
        names = [unguard_name(name) for name in names]
    return names, quoted or values.null_count > 0 or not trimmed.equals(filled)


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
        return len(next(iter(self.columns.values())).data) if self.columns else 0

    def without_rows(self, dropped: Ints) -> Sheet:
        """Return the sheet without some rows."""
        kept, locate_row = np.setdiff1d(np.arange(self.rows), dropped), self.place
        columns = {}
        for name, column in self.columns.items():
            columns[name] = replace(column, data=_take_cells(column.data, kept))
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


def list_cells(data: pa.ChunkedArray | list[str], most: int) -> list[Any]:
    """Return the first cells of a column, None where nothing stands."""
    return data[:most] if isinstance(data, list) else data.slice(0, most).to_pylist()


def _take_cells(data: pa.ChunkedArray | list[str], rows: Ints) -> pa.ChunkedArray | list[str]:
    """Return the cells of some rows."""
    if isinstance(data, list):
        return [data[k] for k in rows.tolist()]
    plain = pc.cast(data, pa.string()) if pa.types.is_dictionary(data.type) else data
    return plain.take(pa.array(rows))


def make_sheet(
    table: pa.Table | TextTable,
    source: str,
    place: Callable[[int], str] | None = None,
    *,
    system: str = "",
    decimal: str = "",
    mixed: bool = False,
    text: bool = False,
    notes: Sequence[str] = (),
    header: str = "",
) -> Sheet:
    """Make a sheet of a table, without the rows and nameless columns in which nothing stands.

    Parameters
    ----------
    table
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
    text
        Whether the cells were read from text.
    notes
        What was left out or changed before.
    header
        Where the names of the columns stand, if that is known.
    """
    columns, decimal = [], decimal or _find_decimal(table)
    for name, data in zip(table.column_names, table.columns, strict=True):
        typed = not isinstance(data, list)
        moments = typed and pa.types.is_temporal(data.type) and not pa.types.is_duration(data.type)
        cells = _simplify_column(data) if typed else data
        columns.append(Column(str(name).strip(), cells, decimal, mixed, text, moments))
    columns = [column for column in columns if column.name or not column.blank]
    if not columns:
        raise InputError("nothing stands in it", where=source, remedy="give a table of scores")
    by_name = {column.name: column for column in columns}
    if len(by_name) < len(columns):
        names = [column.name for column in columns]
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InputError(
            f"two columns are called {twice!r}" if twice else "two columns have no name",
            where=header or source,
            remedy="rename one",
        )
    place = place or (lambda row: f"{source}:row {row + 1}")
    sheet = Sheet(source, system or strip_endings(Path(source)), by_name, place, notes=tuple(notes))
    # rows in which nothing stands, as spreadsheets leave them
    blank = np.ones(len(table), dtype=bool)
    for column in columns:
        if not blank.any():
            break
        if isinstance(column.data, list) or is_text(column.data.type):
            codes, labels, _ = column.labels
            blank &= codes == list(labels).index("") if "" in labels else False
        else:
            floating = pa.types.is_floating(column.data.type)
            blank &= pc.is_null(column.data, nan_is_null=floating).to_numpy()
    return sheet.without_rows(np.flatnonzero(blank)) if blank.any() else sheet


def _find_decimal(table: pa.Table | TextTable) -> str:
    """Return the decimal mark that cells of a table prove; none where they prove both."""
    proofs = set()
    for data in table.columns:
        if isinstance(data, list) or pa.types.is_string(data.type) or pa.types.is_large_string(data.type):
            start = [text.strip() for text in list_cells(data, 2000) if text is not None]
            proofs.add(find_marks([text for text in start if text[:1] in "+-.,0123456789"]))
    proofs.discard("")
    return proofs.pop() if len(proofs) == 1 else ""


def _simplify_column(data: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text of one kind, durations in seconds, and nothing for cells that hold no single value."""
    kind = data.type
    if pa.types.is_dictionary(kind):
        if pa.types.is_large_string(kind.value_type):
            return pc.cast(data, pa.dictionary(pa.int32(), pa.string()))
        return data if pa.types.is_string(kind.value_type) else pc.cast(data, kind.value_type)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return pa.chunked_array([pa.repeat(pa.scalar(MORE), len(data))])
    if pa.types.is_duration(kind):
        scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        return pc.divide(pc.cast(pc.cast(data, pa.int64()), pa.float64()), scale)
    if pa.types.is_decimal(kind):
        return pc.cast(data, pa.float64())
    texts = (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_temporal)
    if not any(is_one(kind) for is_one in texts):
        return data
    try:
        return pc.cast(data, pa.string())
    except pa.ArrowNotImplementedError:
        # views of strings, before Arrow could cast them
        return pa.chunked_array([data.to_pylist()], pa.string())


def sheet_of_frame(
    frame: pd.DataFrame, source: str = "table", *, system: str = "", notes: Sequence[str] = ()
) -> Sheet:
    """Make a sheet of a data frame; an index that says more than row numbers counts as columns.

    Parameters
    ----------
    frame
        A table in memory.
    source
        What to call it in errors.
    system
        What to call the one system, should no column name it.
    notes
        What was left out or changed before.
    """
    if isinstance(frame.columns, pd.MultiIndex):
        raise InputError(
            "has two rows of headers",
            where=source,
            remedy="give one name a column, as in frame.columns = ['_'.join(c) for c in frame.columns]",
        )
    index = frame.index
    named = any(name is not None for name in index.names)
    whole = isinstance(index, pd.RangeIndex) or pd.api.types.is_integer_dtype(index.dtype)
    counts = isinstance(index, pd.RangeIndex) or (whole and np.array_equal(index, np.arange(len(index))))
    if named or not counts:
        levels = [INDEX if name is None else str(name) for name in index.names]
        if len(levels) == 1 or named:
            taken = {str(name) for name in frame.columns}
            # a copy, because pandas warns of inserting into a frame of many blocks, such as a wide file that it read
            frame = frame.copy().reset_index(
                names=[level if level not in taken else f"{level} (index)" for level in levels]
            )
    names = [str(name) for name in frame.columns]
    arrays = [make_array(frame.iloc[:, k]) for k in range(len(names))]
    table = pa.table(arrays, names=names)
    return make_sheet(table, source, system=system, notes=notes)


def make_array(column: pd.Series[Any]) -> pa.Array:
    """Return a column of a data frame as Arrow has it; as text where numbers and words stand side by side."""
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([None if value is None or value != value else str(value) for value in column])


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
    rows = {
        names[code]: pa.array(values[:, row], from_pandas=True) for row, code in enumerate(codes.tolist())
    }
    table = pa.table([pa.array(list(numbers), pa.string()), *rows.values()], names=["item", *rows])
    source = sheet.source
    return make_sheet(
        table, source, lambda row: f"{source}:column {numbers[row]}", system=sheet.system, notes=sheet.notes
    )


def join_columns(sheet: Sheet, names: Sequence[str]) -> tuple[Sheet, str]:
    """Return the table with one column in place of several, whose labels say what all of them say; and its name.

    Parameters
    ----------
    sheet
        The table.
    names
        Columns of labels.
    """
    parts = [sheet.columns[name].labels for name in names]
    keys, codes = np.unique(np.column_stack([part.codes for part in parts]), axis=0, return_inverse=True)
    labels = [
        " ".join(part.names[k] for part, k in zip(parts, key, strict=True)).strip() for key in keys.tolist()
    ]
    data = pa.DictionaryArray.from_arrays(
        pa.array(codes.ravel().astype(np.int32)), pa.array(labels, pa.string())
    )
    joined = "+".join(names)
    columns = {name: column for name, column in sheet.columns.items() if name not in names}
    return replace(sheet, columns={joined: Column(joined, pa.chunked_array([data])), **columns}), joined


def fill_down(sheet: Sheet) -> tuple[Sheet, tuple[str, ...]]:
    """Fill the labels of merged cells, where each stands once above equally many empty cells; and say so."""
    names = list(sheet.columns)
    first = sheet.columns[names[0]] if names else None
    typed = first is not None and len(names) > 2 and first.is_text
    if first is None or not typed or "" not in first.labels.names:
        return sheet, ()
    second = sheet.columns[names[1]]
    cells = [first.labels.names[code] for code in first.labels.codes.tolist()]
    starts = np.flatnonzero([bool(cell) for cell in cells])
    lengths = np.diff(np.append(starts, len(cells)))
    if len(starts) < 2 or starts[0] or lengths.min() < 2 or len(set(lengths.tolist())) > 1:
        return sheet, ()
    numeric = second.is_numeric and not second.dates
    if numeric or "" in second.labels.names or second.distinct != int(lengths[0]):
        return sheet, ()
    filled = [cells[start] for start, length in zip(starts, lengths, strict=True) for _ in range(length)]
    columns = dict(sheet.columns) | {names[0]: replace(first, data=filled)}
    return replace(sheet, columns=columns), (f"empty cells of {names[0]} filled from above",)


def strip_endings(path: Path) -> str:
    """Return name of a file without its endings."""
    return Path(bare_name(path)).stem


def first_line(error: Exception) -> str:
    """Return what an error of another library says first."""
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
