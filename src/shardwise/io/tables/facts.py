"""Which column of a table is what: by the caller, by headers and by cells; and the reading that comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from shardwise.core.claim import DIMENSIONS
from shardwise.core.errors import InputError
from shardwise.core.scores import ROLE_OF, clean_noun
from shardwise.io.tables.sheet import Column, Sheet
from shardwise.io.tables.words import (
    ARMS,
    NAMELESS,
    SAMPLED,
    SWING,
    ends_in_word,
    is_bookkeeping,
    is_score,
    is_summary_header,
    list_roles,
    share_of_models,
    simplify_header,
)

Columns = Mapping[str, str | Sequence[str]]

SAID = {"topic": "item", "value": "score"}  # what the caller calls our roles
ROLES = {
    **ROLE_OF, "cluster": "cluster", "score": "value", "value": "value", "measure": "measure", "repeat": "instance",
}  # fmt: skip


PLURALS = {"repeat": "repeats", "instance": "repeats"}
"""Roles whose plural is another word."""
MOST_NAMED = 8
"""Columns that the words of a reading list."""


class Choice(dict[str, str]):
    """One of several readings of a table: columns by role, as a command spells them and as a person chooses them."""

    def __str__(self) -> str:
        return ",".join(f"{role}={name}" for role, name in self.items())

    def describe(self) -> str:
        """Return the reading in words, for a person to choose it.

        >>> Choice({"item": "question", "system": "a+b"}).describe()
        'items are in question, systems are the columns a, b'
        """
        parts = []
        for role, names in self.items():
            several = names.split("+")
            noun = PLURALS.get(role, f"{role}s")
            more = ", …" if len(several) > MOST_NAMED else ""
            where = (
                f"the columns {', '.join(several[:MOST_NAMED])}{more}" if len(several) > 1 else f"in {names}"
            )
            parts.append(f"{noun} are {where}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Reading:
    """A table as it was understood: the column of every role, the columns of scores, and what was left out."""

    sheet: Sheet
    roles: dict[str, str]
    scores: tuple[str, ...]  # of a long table measures, of a wide one systems
    wide: bool
    omitted: dict[str, str] = field(default_factory=dict)  # column -> why
    flat: tuple[str, ...] = ()  # systems that have the same score everywhere
    parts: dict[str, tuple[str, str]] = field(default_factory=dict)  # column -> its system and measure
    notes: tuple[str, ...] = ()
    measure: str = ""  # of a wide table, where its columns share the name of one
    perhaps: Choice | None = None  # of one system, the columns by which there would be several

    @property
    def nouns(self) -> dict[str, str]:
        """The user's words for dimensions, where they differ from ours and say something."""
        words = {
            role: clean_noun(simplify_header(name))
            for role, name in self.roles.items()
            if (role in DIMENSIONS or role == "cluster") and simplify_header(name) not in NAMELESS
        }
        return {role: word for role, word in words.items() if word != role and not set(word) & {"#", "+"}}

    @property
    def repeats_kind(self) -> str:
        """What repeats are by the name of their column: samples, seeds or, where it says nothing, unknown."""
        if "instance" not in self.roles:
            return ""
        word = simplify_header(self.roles["instance"])
        return "samples" if word in SAMPLED - {"epoch"} else "seeds" if "seed" in word else ""


def find_named(sheet: Sheet, columns: Columns) -> dict[str, tuple[str, ...]]:
    """Return what the caller says of columns, under our roles; several columns of systems make a wide table.

    Parameters
    ----------
    sheet
        The table.
    columns
        item, system, repeat, score, cluster, task … -> the name of a column, or #1 for the first one.
    """
    named: dict[str, tuple[str, ...]] = {}
    for word, given in columns.items():
        role = ROLES.get(simplify_header(word))
        if role is None:
            raise InputError(
                f"a column cannot be a {word!r}",
                remedy="name item, system, repeat, score, cluster, task, shard, split or measure",
                argument="columns",
                value=word,
            )
        names = [given] if isinstance(given, str) else list(given)
        if isinstance(given, str) and given.lower() not in map(str.lower, sheet.columns):
            names = given.split("+")
        matches = {name: find_column(sheet, name) for name in names}
        for name in (name for name, match in matches.items() if match is None):
            raise refuse_column(sheet, name)
        named[role] = tuple(match for match in matches.values() if match is not None)
        if len(names) > 1 and role not in ("topic", "system", "value"):
            raise InputError(
                f"{word} is one column, not {len(names)}", argument="columns", value=given, where=sheet.source
            )
    return named


def find_column(sheet: Sheet, given: str) -> str | None:
    """Return the column that the caller calls by its name, in whatever case, or by #1 for the first one."""
    known = {f"#{k + 1}": name for k, name in enumerate(sheet.columns)}
    known |= {name.lower(): name for name in reversed(sheet.columns)}
    return given if given in sheet.columns else known.get(given.lower())


def refuse_column(sheet: Sheet, given: str) -> InputError:
    """Return the refusal of a name that no column has."""
    return InputError(
        f"has no column {given!r}",
        where=sheet.source,
        remedy=f"it has {', '.join(show_column(sheet, column) for column in sheet.columns)}",
        argument="columns",
        value=given,
    )


def show_column(sheet: Sheet, name: str) -> str:
    """Return what the caller can call a column: its name, or its number where it has none that can be listed.

    Parameters
    ----------
    sheet
        The table.
    name
        A column of it.
    """
    listed = name == name.strip() and not set(name) & set(",+")
    return name if name and listed else f"#{list(sheet.columns).index(name) + 1}"


def find_factors(sheet: Sheet, names: Iterable[str], columns: Columns | None = None) -> tuple[str, ...]:
    """Return the columns of these names that are no dimension of scores: judge, annotator, a second word for the item.

    Parameters
    ----------
    sheet
        The table.
    names
        Names of random factors.
    columns
        What the caller says of columns; one that is something already is no factor beside it.
    """
    known = {name.lower(): name for name in sheet.columns}
    taken = {
        name for given in (columns or {}).values() for name in ([given] if isinstance(given, str) else given)
    }
    seen: set[str] = {ROLES.get(simplify_header(word), word) for word in columns or {}}
    factors = []
    for word in dict.fromkeys(part for name in names for part in name.split(":")):
        name = known.get(word.lower(), "")
        roles = set(list_roles(word)) & set(DIMENSIONS) - {"task"}
        if name and name not in taken and (not roles or roles <= seen):
            factors.append(name)
        seen |= roles
    return tuple(factors)


LOOK = 50  # names that are looked at
LONGEST = 100  # characters of a name; what is longer is a text
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


def may_name_systems(column: Column) -> bool:
    """Tell whether a column may be offered as that of the systems: by its word, or as it holds several short names."""
    if column.distinct < 2 or "system" in list_roles(column.name):
        return column.distinct > 1
    short = max(map(len, first_names(column)), default=0) <= LONGEST
    return short and not is_numeric(column) and not column.dates and not is_kept_beside(column.name)


def explain_text(column: Column) -> str:
    """Return why a column without numbers is left out."""
    return "empty" if column.blank else "dates" if column.dates else "text"
