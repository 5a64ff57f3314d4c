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
from shardwise.io.spreadsheets import unguarded
from shardwise.io.tables.kernels import code_numbers, coded_texts, differ, fixed, mark
from shardwise.io.tables.names import MANY, at_places, letters, named, numbered

NOTHING = ("", "nan", "na", "n/a", "null", "none", "<na>", "-")  # what stands where a score is not there
WORDS = {
    "true": 1.0, "yes": 1.0, "pass": 1.0, "passed": 1.0, "correct": 1.0, "right": 1.0, "success": 1.0,
    "false": 0.0, "no": 0.0, "fail": 0.0, "failed": 0.0, "incorrect": 0.0, "wrong": 0.0, "failure": 0.0,
}  # fmt: skip
LETTERS = ({"c": 1.0, "i": 0.0, "p": 0.5, "n": 0.0}, {"t": 1.0, "f": 0.0}, {"y": 1.0, "n": 0.0})
"""Verdicts of one letter, where a column has no others; the first are inspect's: correct, incorrect, partial, none."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
ID = re.compile(r"(^|[\W_])id$", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


class Labels(NamedTuple):
    """Labels one by one: a code each, and the names by code, each of which some row has."""

    codes: Codes
    names: Sequence[str]
    ordered: bool = False  # whether the names are known to stand in their natural order

    @classmethod
    def same(cls, name: str, count: int) -> Labels:
        """Return one label for all."""
        return cls(np.zeros(count, dtype=np.int32), [name])

    def taken(self, rows: Ints | None) -> Labels:
        """Return the labels of some rows; of all, where none are named."""
        return self if rows is None else self._replace(codes=self.codes[rows]).used()

    def used(self) -> Labels:
        """Return the same without names that no row has."""
        there = np.zeros(len(self.names), dtype=bool)
        if len(self.codes) >= MANY:
            mark(fixed(self.codes.view()), there)
        else:
            there[self.codes] = True
        if there.all():
            return self
        to = np.cumsum(there, dtype=np.int32) - 1
        return self._replace(codes=to[self.codes], names=at_places(self.names, np.flatnonzero(there)))


def is_number(text: str) -> bool:
    """Whether text is a plain decimal number."""
    return _NUMBER.fullmatch(text) is not None


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text, perhaps coded."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


@dataclass(frozen=True, eq=False)
class Column:
    """A named column as it was read; ``comma`` where 0,5 is a number, ``text`` where it was read from text.

    Then names may stand behind a quote, and codes, where there are any, are of texts that all differ and all stand in
    some row.
    """

    name: str
    data: pa.ChunkedArray
    comma: bool = False
    text: bool = False

    @cached_property
    def labels(self) -> Labels:
        """What the cells say, as text without spaces around it; an empty cell says ""."""
        found = self.data
        if pa.types.is_floating(found.type):  # data frames make floats of whole numbers beside a gap
            values = found.to_numpy()
            kept = values[np.isfinite(values)]
            if len(kept) and np.array_equal(kept, np.round(kept)) and np.abs(kept).max() < 2**53:
                found = pc.cast(found, pa.int64(), safe=False) if not found.null_count else _whole(found)
        if pa.types.is_integer(found.type) and not found.null_count:
            numbered = _numbered([chunk.to_numpy() for chunk in found.chunks if len(chunk)])
            if numbered is not None:
                return numbered
        if pa.types.is_string(found.type) and len(found) >= MANY and not found.null_count:
            return self._named(*coded_texts(found), apart=True)
        if not pa.types.is_dictionary(found.type):
            found = pc.dictionary_encode(found)
        whole = found.unify_dictionaries().combine_chunks() if found.num_chunks != 1 else found.chunk(0)
        coded = whole if isinstance(whole, pa.DictionaryArray) else whole.chunk(0)
        places = coded.indices.cast(pa.int32())
        if coded.null_count:
            places = places.fill_null(len(coded.dictionary))
        codes: Codes = places.to_numpy(zero_copy_only=False)
        more = [""] if coded.null_count else []
        found = self._named(codes, coded.dictionary, *more, apart=self.text)
        return found if self.text or not pa.types.is_dictionary(self.data.type) else found.used()

    def _named(self, codes: Codes, dictionary: pa.Array, *more: str, apart: bool) -> Labels:
        """Labels of codes: what they stand for as names, each once; ``apart`` where no two texts are the same."""
        texts = [*_texts(dictionary), *more] if more else _texts(dictionary)
        text, _ = letters(texts)
        apart = apart and not more and is_text(dictionary.type)
        as_they_are = apart and len(text) == _bytes_of(dictionary)
        if self.text and is_text(self.data.type) and b"'" in text:
            texts, as_they_are = [unguarded(text) for text in texts], False
        if not as_they_are and not differ(texts):  # some in spaces only
            number = {name: k for k, name in enumerate(dict.fromkeys(texts))}
            codes = np.array([number[text] for text in texts], dtype=np.int32)[codes]
            texts = list(number)
        return Labels(codes, texts)

    @cached_property
    def values(self) -> Floats:
        """The cells as numbers: NaN where there is none, infinite where a word stands that is no score."""
        kind = self.data.type
        if is_text(kind):
            return self._numbers[self.labels.codes]
        if pa.types.is_null(kind):
            return np.full(len(self.data), np.nan)
        data = pc.cast(self.data, pa.int8()) if pa.types.is_boolean(kind) else self.data
        return np.asarray(pc.cast(data, pa.float64(), safe=False).to_numpy(), dtype=np.float64)

    @cached_property
    def _numbers(self) -> Floats:
        """The numbers that the labels stand for."""
        lower = {name.lower() for name in self.labels.names} - set(NOTHING)
        known = next((WORDS | one for one in LETTERS if lower and lower <= set(one)), WORDS)
        return np.array([self._number(name, known) for name in self.labels.names])

    def _number(self, text: str, words: dict[str, float]) -> float:
        if _NUMBER.fullmatch(text):
            return float(text)
        if self.comma and _COMMA.fullmatch(text):
            return float(text.replace(",", "."))
        word = text.lower()
        return words.get(word, np.nan if word in NOTHING else np.inf)

    @cached_property
    def numeric(self) -> float:
        """The share of numbers among what stands in the cells; 1 where nothing does."""
        if not is_text(self.data.type):
            return 1.0
        filled = self._numbers[~np.isnan(self._numbers)]
        return float(np.isfinite(filled).mean()) if len(filled) else 1.0

    @cached_property
    def distinct(self) -> int:
        """How many different things the cells say."""
        if is_text(self.data.type) or pa.types.is_integer(self.data.type):
            return len(self.labels.names)
        if pa.types.is_null(self.data.type):
            return 1
        return int(pc.count_distinct(self.data, mode="all").as_py())

    @property
    def constant(self) -> bool:
        """Whether all cells say the same."""
        if pa.types.is_floating(self.data.type) and len(self.data):
            first, last = self.data[0].as_py(), self.data[-1].as_py()
            if first is not None and last is not None and (first < last or first > last):
                return False  # as most columns of scores say at once
        return self.distinct == 1

    @property
    def counts(self) -> bool:
        """Whether the cells are whole numbers, each different from all others: they number the rows."""
        whole = pa.types.is_integer(self.data.type) or (
            is_text(self.data.type) and all(name.isdecimal() for name in self.labels.names)
        )
        some = len(self.data) > (0 if ID.search(self.name) else 2)
        return some and whole and self.distinct == len(self.data)


def _numbered(parts: Sequence[Ints]) -> Labels | None:
    """Whole numbers of a narrow range under codes in their order, found without looking any up; None for others."""
    if not parts:
        return None
    count = sum(map(len, parts))
    low, high = min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)
    if low < 0 or high - low > 4 * count:
        return None
    codes = np.empty(count, dtype=np.int32)
    there = np.zeros(high - low + 1, dtype=bool)
    before = 0
    for part in parts:
        own = codes[before : before + len(part)]
        before += len(part)
        if count >= MANY and part.dtype == np.int64:
            code_numbers(fixed(part), low, own, there)
        else:
            np.subtract(part, low, out=own, casting="unsafe")
            there[own] = True
    if not there.all():
        codes = (np.cumsum(there, dtype=np.int32) - 1)[codes]
    return Labels(codes, numbered(np.flatnonzero(there) + low), ordered=True)


def _whole(data: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(pc.if_else(pc.is_nan(data), pa.scalar(None, data.type), data), pa.int64(), safe=False)


def _bytes_of(texts: pa.Array) -> int:
    return int(pc.sum(pc.binary_length(texts)).as_py() or 0)


def _texts(values: pa.Array) -> Sequence[str]:
    if pa.types.is_integer(values.type) and not values.null_count:
        return named(pc.cast(values, pa.string()))
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return named(pc.utf8_trim_whitespace(values.fill_null("")))
    return ["" if value is None or value != value else str(value).strip() for value in values.to_pylist()]
