"""A table with what the caller says of it, and what readings ask of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from shardwise.io.tables.column import Column
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.words import (
    ARMS,
    SWING,
    ends_in_word,
    is_bookkeeping,
    is_score,
    is_summary_header,
    list_roles,
    share_of_models,
    simplify_header,
)

LOOK = 50  # names that are looked at
FEW = 5  # rows from which a constant column says something
MOST_ARMS = 30  # labels up to which a column may name the groups of an experiment


@dataclass(frozen=True)
class Facts:
    """A table with what the caller says of it."""

    sheet: Sheet
    named: Mapping[str, tuple[str, ...]]
    measure: str | None = None
    single: bool = False  # whether columns of numbers are measures of one system
    counted: dict[frozenset[str], int] = field(default_factory=dict)

    @cached_property
    def roles(self) -> dict[str, str]:
        """The one column of each role that the caller names."""
        return {role: names[0] for role, names in self.named.items() if len(names) == 1}

    @cached_property
    def taken(self) -> frozenset[str]:
        """Columns that the caller names."""
        return frozenset(name for names in self.named.values() for name in names)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Columns that may hold scores."""
        empty = self.sheet.empty
        return tuple(
            name for name, column in self.sheet.columns.items() if name in empty or is_numeric(column)
        )

    @cached_property
    def first(self) -> str:
        """The first column."""
        return next(iter(self.sheet.columns))

    @cached_property
    def _words(self) -> dict[str, tuple[str, ...]]:
        return {name: self._find_words(name) for name in self.sheet.columns}

    def get_column(self, name: str) -> Column:
        """Return a column by its name."""
        return self.sheet.columns[name]

    def count(self, *names: str) -> int:
        """Return how many different combinations of labels some columns have."""
        key = frozenset(names)
        if key not in self.counted:
            self.counted[key] = count_keys([self.sheet.columns[name] for name in names])
        return self.counted[key]

    def words(self, name: str) -> tuple[str, ...]:
        """Return what a column may be by its name, but for those that the caller names."""
        return () if name in self.taken else self._words[name]

    def _find_words(self, name: str) -> tuple[str, ...]:
        """Return the roles of a header that the cells do not speak against."""
        roles, column = list_roles(name), self.sheet.columns[name]
        numeric = bool(roles) and is_numeric(column)
        arms = simplify_header(name) in ARMS and not numeric and 1 < column.distinct <= MOST_ARMS
        if arms and ("system" in roles or share_of_models(first_names(column)) >= 0.5):
            return ("system",)
        if roles[:1] == ("split",) and not numeric:
            return ("slice",)
        # "Our method" over scores is a system; "eval question" over whole numbers that all differ names items
        if numeric and ends_in_word(name) and not (roles == ("topic",) and column.counts):
            return ()
        return roles

    def by_word(self, role: str) -> list[str]:
        """Return columns whose first meaning is a role, the caller's before all others."""
        if role in self.roles:
            return [self.roles[role]]
        return [name for name in self.sheet.columns if self.words(name)[:1] == (role,)]

    def is_plain(self, name: str) -> bool:
        """Tell whether a header says by itself what a column is, rather than beside others."""
        return simplify_header(name) not in SWING

    def are_alike(self, a: str | None, b: str | None) -> bool:
        """Tell whether two columns tell the same rows apart."""
        if a is None or b is None or a == b:
            return a == b
        first, second = self.sheet.columns[a], self.sheet.columns[b]
        return first.distinct == second.distinct == self.count(a, b)

    def is_nested(self, inner: str, outer: str) -> bool:
        """Tell whether every label of one column goes with one label of the other, which has fewer."""
        few, many = self.sheet.columns[outer].distinct, self.sheet.columns[inner].distinct
        return 1 < few < many == self.count(inner, outer)


def is_numeric(column: Column) -> bool:
    """Tell whether a column holds numbers: in most of its different cells, or in most of its rows."""
    return column.is_numeric


def count_keys(columns: Sequence[Column]) -> int:
    """Return how many different combinations of labels some columns have.

    Parameters
    ----------
    columns
        Columns of one sheet.
    """
    keys = np.zeros(len(columns[0].data), dtype=np.int64)
    size = 1
    for column in columns:
        codes, names, _ = column.labels
        if size * len(names) > 1 << 62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            size = int(keys.max(initial=0)) + 1
        keys = keys * len(names) + codes
        size *= len(names)
    if size <= 8 * len(keys) + (1 << 20):
        return int(np.count_nonzero(np.bincount(keys, minlength=1)))
    return len(np.unique(keys))


def first_names(column: Column) -> list[str]:
    """Return the first labels of a column that say something."""
    return [name for name in islice(column.labels.names, LOOK) if name]


def is_kept_beside(name: str) -> bool:
    """Tell whether a column is kept beside scores, by its name."""
    return is_bookkeeping(name) or (is_summary_header(name) and not is_score(name))


def explain_text(column: Column) -> str:
    """Return why a column without numbers is left out."""
    return "empty" if column.blank else "dates" if column.dates else "text"
