"""Names by code: a list of few, and of many their letters one behind another, without an object for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shardwise.core.arrays import Ints

MANY = 10_000
"""Rows or names from which compiled code is used, and no object made for each name."""


class Names(Sequence[str]):
    """Texts without gaps that are looked at as a list is.

    >>> names = Names(pa.array(["b", "a"]))
    >>> names[1], list(names), "b" in names, names.index("a"), names == ["b", "a"]
    ('a', ['b', 'a'], True, 1, True)
    """

    __slots__ = ("texts",)

    def __init__(self, texts: pa.Array) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Names: ...
    def __getitem__(self, place: int | slice) -> str | Names:
        if isinstance(place, slice):
            return Names(self.texts[place])
        found: str = self.texts[int(place)].as_py()
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts.to_pylist())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._place(name) >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def index(self, name: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the first place of a name."""
        place = self[start:stop]._place(name)
        if place < 0:
            raise ValueError(f"{name!r} is not among the names")
        return start + place

    def _place(self, name: str) -> int:
        return int(pc.index(self.texts, pa.scalar(name, self.texts.type)).as_py())


def named(texts: pa.Array) -> Sequence[str]:
    """Texts as names."""
    if len(texts) >= MANY:
        return Names(texts)
    found: list[str] = texts.to_pylist()
    return found


def numbered(values: Ints) -> Sequence[str]:
    """Whole numbers as names."""
    return named(pc.cast(pa.array(values), pa.string()))


def at_places(names: Sequence[str], places: Ints) -> Sequence[str]:
    """Return the names at some places."""
    if isinstance(names, Names):
        return named(names.texts.take(pa.array(places)))
    return [names[k] for k in places.tolist()]


def places_of(words: AbstractSet[str], names: Sequence[str]) -> list[int]:
    """Return the places of names that are one of the words.

    >>> places_of({"all"}, ["1", "all"])
    [1]
    """
    if isinstance(names, Names):
        found: list[int] = np.flatnonzero(
            pc.is_in(names.texts, value_set=pa.array(sorted(words), names.texts.type)).to_numpy(
                zero_copy_only=False
            )
        ).tolist()
        return found
    return [k for k, name in enumerate(names) if name in words]


def letters(names: Sequence[str]) -> tuple[bytes, Ints]:
    """Return the letters of all names one behind another, in UTF-8, and how many bytes each has.

    >>> letters(["a", "é"])
    (b'a\\xc3\\xa9', array([1, 2]))
    """
    if isinstance(names, Names):
        texts = names.texts
        _, where, what = texts.buffers()
        kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
        edges = np.frombuffer(where, dtype=kind)[texts.offset : texts.offset + len(texts) + 1]
        text = memoryview(what if what is not None else b"")[edges[0] : edges[-1]]
        return bytes(text), np.diff(edges).astype(np.int64)
    joined = "".join(names)
    if joined.isascii():
        return joined.encode(), np.fromiter(map(len, names), np.int64, len(names))
    spelled = [name.encode("utf-8", "surrogatepass") for name in names]
    return b"".join(spelled), np.fromiter(map(len, spelled), np.int64, len(names))
