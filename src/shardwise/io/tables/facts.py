"""A table with what the caller says of it, and what readings ask of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, Part
from shardwise.io.tables.column import Column
from shardwise.io.tables.roles import Choice, show_column
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.words import ends_in_word, is_bookkeeping, is_score, is_summary_header, list_roles

AHEAD = 3.0  # points by which a reading has to be better than any other
ENOUGH = 3.0  # points that a reading needs
LOOK = 50  # names that are looked at
FEW = 5  # rows from which a constant column says something
FORCED = 20.0  # points for what the caller says


@dataclass(frozen=True)
class Facts:
    """A table with what the caller says of it."""

    sheet: Sheet
    named: Mapping[str, tuple[str, ...]]
    measure: str | None

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

    def get_column(self, name: str) -> Column:
        """Return a column by its name."""
        return self.sheet.columns[name]

    def words(self, name: str) -> tuple[str, ...]:
        """Return what a column may be by its name, but for those that the caller names."""
        if name in self.taken:
            return ()
        roles = list_roles(name)
        # "Our method" over scores is a system; "eval question" over whole numbers that all differ names items
        column = self.sheet.columns[name]
        scored = bool(roles) and ends_in_word(name) and is_numeric(column)
        return () if scored and not (roles == ("topic",) and column.counts) else roles

    def by_word(self, role: str) -> list[str]:
        """Return columns whose first meaning is a role, the caller's before all others."""
        if role in self.roles:
            return [self.roles[role]]
        return [name for name in self.sheet.columns if self.words(name)[:1] == (role,)]


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


def are_alike(a: Column, b: Column) -> bool:
    """Tell whether two columns tell the same rows apart."""
    return a.distinct == b.distinct == count_keys([a, b])


def is_nested(inner: Column, outer: Column) -> bool:
    """Tell whether every label of one column goes with one label of the other, which has fewer."""
    return 1 < outer.distinct < inner.distinct == count_keys([inner, outer])


def first_names(column: Column) -> list[str]:
    """Return the first labels of a column that say something."""
    return [name for name in islice(column.labels.names, LOOK) if name]


def is_kept_beside(name: str) -> bool:
    """Tell whether a column is kept beside scores, by its name."""
    return is_bookkeeping(name) or (is_summary_header(name) and not is_score(name))


def explain_text(column: Column) -> str:
    """Return why a column without numbers is left out."""
    return "empty" if column.blank else "dates" if column.dates else "text"


def quote_column(sheet: Sheet, name: str) -> str:
    """Return a column as sentences name it."""
    return repr(name) if name else f"column {show_column(sheet, name)}"


def refuse_readings(
    sheet: Sheet, problem: str, choices: Sequence[Mapping[str, str | Sequence[str]]], more: str = ""
) -> InputError:
    """Return the refusal of a table that can be read in several ways, with the columns that choose each.

    Parameters
    ----------
    sheet
        The table.
    problem
        What cannot be decided.
    choices
        Column or columns by role, for each reading.
    more
        What else may be done.
    """
    spelled = [
        Choice(
            {
                role: "+".join(show_column(sheet, n) for n in ([name] if isinstance(name, str) else name))
                for role, name in choice.items()
            }
        )
        for choice in choices
    ]
    options: list[Part] = []
    for choice in spelled:
        options += [" or " if options else "say ", Option("columns", choice)]
    if more:
        options.append(f"; {more}" if options else more)
    return InputError(problem, where=sheet.source, remedy=tuple(options), argument="columns", choices=spelled)


def refuse_words(sheet: Sheet, name: str) -> InputError:
    """Return the refusal of a column of scores for its cells that are no numbers, with their count.

    Parameters
    ----------
    sheet
        The table.
    name
        A column of scores.
    """
    column = sheet.columns[name]
    if column.parsed.problem:
        return InputError(
            f"column {name!r}: {column.parsed.problem}",
            where=sheet.source,
            remedy=("say ", Option("decimal", "comma"), " or ", Option("decimal", "point")),
            argument="decimal",
            choices=("comma", "point"),
        )
    rows = np.flatnonzero(np.isinf(column.values))
    token = str(column.data[int(rows[0])].as_py()).strip()
    words = dict.fromkeys(column.words)
    shown = ", ".join(list(words)[1:4])
    many = (
        f" ({format_count(len(rows), 'such cell')}{f', also {shown}' if shown else ''})"
        if len(rows) > 1
        else ""
    )
    remedy: tuple[Part, ...] = (
        "correct it, or treat such cells as missing with ",
        Option("missing", "leave"),
        " or as zero with ",
        Option("missing", "zero"),
    )
    if "," in token and token.replace(",", "", 1).replace("-", "", 1).isdecimal():
        remedy = (f"write it with a point, as in {token.replace(',', '.')}",)
    return InputError(
        f"{name}: {token!r} is not a number{many}", where=sheet.place(int(rows[0])), remedy=remedy
    )
