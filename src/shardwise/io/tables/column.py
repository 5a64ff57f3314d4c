"""One column of a table: its labels as codes, or its scores as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardwise.core.arrays import Codes, Floats, Ints
from shardwise.io.spreadsheets import unguard_name
from shardwise.io.tables.numerals import ParsedTexts, is_date, parse_texts

ENDS_IN_ID = re.compile(r"(^|[\W_])id$", re.IGNORECASE)
MANY = 2000  # names from which some are looked at first
LOOK = 200  # names that are looked at
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
    """Tell whether a column holds text, perhaps coded."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


@dataclass(frozen=True, eq=False)
class Column:
    """A named column as it was read.

    ``decimal`` is the decimal mark where the table proves one, ``mixed`` says that 1.234 may be thousands, ``text``
    that names may follow the apostrophe of a spreadsheet, ``moments`` that the cells were dates or times.
    """

    name: str
    data: pa.ChunkedArray
    decimal: str = ""
    mixed: bool = False
    text: bool = False
    moments: bool = False

    @cached_property
    def labels(self) -> Labels:
        """What the cells say, as text without spaces around it; an empty cell says ""."""
        data = self.data
        if pa.types.is_null(data.type):
            data = data.cast(pa.string())
        if pa.types.is_floating(data.type):
            data = _whole_numbers(data)
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
        codes: Codes = places.to_numpy(zero_copy_only=False)
        names, changed = _read_texts(texts, guarded=self.text)
        if changed:
            # some may differ in spaces only
            number = {name: k for k, name in enumerate(dict.fromkeys(names))}
            codes = np.array([number[name] for name in names], dtype=np.int32)[codes]
            names = list(number)
        return Labels(codes, names).drop_unused()

    @cached_property
    def values(self) -> Floats:
        """The cells as numbers: NaN where there is none, infinite where a word stands that is no score."""
        kind = self.data.type
        if is_text(kind):
            return self.parsed.values[self.labels.codes]
        if pa.types.is_null(kind):
            return np.full(len(self.data), np.nan)
        data = pc.cast(self.data, pa.int8()) if pa.types.is_boolean(kind) else self.data
        return np.asarray(pc.cast(data, pa.float64(), safe=False).to_numpy(), dtype=np.float64)

    @cached_property
    def parsed(self) -> ParsedTexts:
        """The numbers that the labels stand for, and what cannot be decided of them."""
        if not is_text(self.data.type):
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
        words = np.isinf(self.parsed.values)
        if words.all():
            return self.labels.names if len(words) else []
        return [self.labels.names[k] for k in np.flatnonzero(words).tolist()]

    @cached_property
    def is_numeric(self) -> bool:
        """Whether most of the different cells are numbers, or most of the rows; found once, for whoever asks."""
        if not is_text(self.data.type) or self.blank:
            return not self.blank and not self.moments
        sample = self._sample[1]
        if len(self.labels.names) > MANY and np.isfinite(sample).sum() < FEW * np.isinf(sample).sum():
            # texts of which a few are numbers; to look at all of them takes long
            return False
        numbers, words = np.isfinite(self.parsed.values), np.isinf(self.parsed.values)
        times = np.bincount(self.labels.codes, minlength=len(words))
        most = numbers.sum() >= words.sum() or times[numbers].sum() >= times[words].sum()
        return bool(most or self.parsed.problem) and not self.dates

    @cached_property
    def dates(self) -> bool:
        """Whether the cells are dates or times of day."""
        if self.moments or not is_text(self.data.type):
            return self.moments
        texts, values = self._sample
        if not all(is_date(texts[k]) for k in np.flatnonzero(np.isinf(values)).tolist()):
            return False
        return len(self.words) > 0 and all(is_date(word) for word in self.words)

    @cached_property
    def distinct(self) -> int:
        """How many different things the cells say."""
        if is_text(self.data.type) or pa.types.is_integer(self.data.type):
            return len(self.labels.names)
        if pa.types.is_null(self.data.type):
            return 1
        return int(pc.count_distinct(self.data, mode="all").as_py())

    @property
    def blank(self) -> bool:
        """Whether no cell says anything."""
        return self.data.null_count == len(self.data) or (
            is_text(self.data.type) and len(self.labels.names) == 1 and not self.labels.names[0]
        )

    @property
    def constant(self) -> bool:
        """Whether all cells say the same."""
        if pa.types.is_floating(self.data.type) and len(self.data):
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
        whole = pa.types.is_integer(self.data.type) or (
            is_text(self.data.type) and all(name.isdecimal() for name in self.labels.names)
        )
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
