"""What is known of a table: what the caller says of its columns, how they cross, and the reading that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from shardwise.core.claim import DIMENSIONS, format_count
from shardwise.core.errors import InputError, Option, Part
from shardwise.core.scores import ROLE_OF, clean_noun
from shardwise.io.tables.sheet import Column, Labels, Sheet
from shardwise.io.tables.words import NAMELESS, list_roles, simplify_header

Columns = Mapping[str, str | Sequence[str]]
"""Column or columns by role, as a caller names them or a refusal offers them."""
Shape = Literal["long", "wide", "turned", "folds", "measures", "means"]

SAID = {"topic": "item", "value": "score"}  # what the caller calls our roles
ROLES = {
    **ROLE_OF, "cluster": "cluster", "score": "value", "value": "value", "measure": "measure", "repeat": "instance",
    "slice": "slice",
}  # fmt: skip
SEVERAL = ("topic", "system", "instance", "value", "slice")
"""Roles that several columns may have."""
SLICE = "a slice"
"""Why a column is left out whose labels of the items answers may be broken down by."""
OWN_MEANING = (("task",), ("cluster",), ("topic",), ("system",))
"""First roles of headers that naming a column for slices does not change."""
MOST_NAMED = 8  # columns that the words of a reading list
MOST_OFFERED = 2  # readings that a refusal offers, unless it says of each what it means
MOST_LISTED = 12  # columns that a refusal describes
FEW = 5  # rows from which a constant column says something

_TABLE = Path(__file__).with_name("points.txt").read_text(encoding="utf-8")
POINTS = {line[5:].strip(): float(line[:5]) for line in _TABLE.splitlines() if line and line[0] != "#"}
"""What may speak for and against a reading, with its points."""


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
            more = ", …" if len(several) > MOST_NAMED else ""
            where = (
                f"the columns {', '.join(several[:MOST_NAMED])}{more}" if len(several) > 1 else f"in {names}"
            )
            parts.append(f"{'repeat' if role == 'instance' else role}s are {where}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Reading:
    """A way to read a table: the column of every role, the columns of scores, and what speaks for it."""

    sheet: Sheet
    shape: Shape
    roles: dict[str, str]
    scores: tuple[str, ...] = ()  # of a long table measures, of a wide one systems
    features: dict[str, float] = field(default_factory=dict)
    repeat: tuple[str, ...] = ()
    unique: bool = True  # whether every cell has one score
    factor: str | None = None  # a column that no word names, and that tells several scores of a cell apart
    apart: bool = False  # whether no item has scores of two systems
    omitted: Mapping[str, str] = field(default_factory=dict)  # column -> why
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # column -> its system and measure
    notes: tuple[str, ...] = ()
    perhaps: Choice | None = None  # of one system, the columns by which there would be several

    @property
    def item(self) -> str | None:
        """The column of the items."""
        return self.roles.get("topic")

    @property
    def system(self) -> str | None:
        """The column of the systems."""
        return self.roles.get("system")

    @cached_property
    def points(self) -> float:
        """Sum of the points of all features."""
        return sum(POINTS[name] * times for name, times in self.features.items())

    @property
    def by_columns(self) -> bool:
        """Whether the columns of scores are systems, perhaps of several measures."""
        return self.shape in ("wide", "turned")

    @property
    def wide(self) -> bool:
        """Whether each column of scores is a system."""
        return self.by_columns and not self.parts

    @property
    def slices(self) -> tuple[str, ...]:
        """Columns whose labels of the items answers may be broken down by."""
        return tuple(name for name, why in self.omitted.items() if why == SLICE)

    @property
    def nouns(self) -> dict[str, str]:
        """The user's words for dimensions, where they differ from ours and say something."""
        words = {
            role: clean_noun(simplify_header(name))
            for role, name in self.roles.items()
            if (role in DIMENSIONS or role == "cluster") and simplify_header(name) not in NAMELESS
        }
        words |= {"instance": "repeat"} if self.shape == "folds" else {}
        return {role: word for role, word in words.items() if word != role and not set(word) & {"#", "+"}}


# what the caller says -------------------------------------------------------------------------------------------------


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
            remedy = "name item, system, repeat, score, cluster, task, shard, split or measure"
            raise InputError(f"a column cannot be a {word!r}", remedy=remedy, argument="columns", value=word)
        whole = not isinstance(given, str) or find_column(sheet, given) is not None
        names = ([given] if isinstance(given, str) else [*given]) if whole else str(given).split("+")
        matches = [find_column(sheet, name) for name in names]
        if None in matches:
            raise refuse_column(sheet, names[matches.index(None)])
        # columns that have a meaning of their own keep it
        kept = [
            str(name) for name in matches if role != "slice" or list_roles(str(name))[:1] not in OWN_MEANING
        ]
        named[role] = tuple(kept)
        if len(names) > 1 and role not in SEVERAL:
            problem = f"{word} is one column, not {len(names)}"
            raise InputError(problem, argument="columns", value=given, where=sheet.source)
    return named


def find_column(sheet: Sheet, given: str) -> str | None:
    """Return the column that the caller calls by its name, in whatever case, or by #1 for the first one."""
    known = {f"#{k + 1}": name for k, name in enumerate(sheet.columns)}
    known |= {name.lower(): name for name in reversed(list(sheet.columns))}
    return given if given in sheet.columns else known.get(given.lower())


def refuse_column(sheet: Sheet, given: str) -> InputError:
    """Return the refusal of a name that no column has."""
    have = f"it has {', '.join(show_column(sheet, column) for column in sheet.columns)}"
    return InputError(
        f"has no column {given!r}", where=sheet.source, remedy=have, argument="columns", value=given
    )


def show_column(sheet: Sheet, name: str) -> str:
    """Return what the caller can call a column: its name, or its number where it has none that can be listed."""
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
    given = (columns or {}).items()
    taken = {name for _, names in given for name in ([names] if isinstance(names, str) else names)}
    seen: set[str] = {ROLES.get(simplify_header(word), word) for word, _ in given}
    factors = []
    for word in dict.fromkeys(part for name in names for part in name.split(":")):
        name = known.get(word.lower(), "")
        roles = set(list_roles(word)) & set(DIMENSIONS) - {"task"}
        if name and name not in taken and (not roles or roles <= seen):
            factors.append(name)
        seen |= roles
    return tuple(factors)


@dataclass(frozen=True)
class Facts:
    """A table with what the caller says of it."""

    sheet: Sheet
    named: Mapping[str, tuple[str, ...]]
    measure: str | None = None
    single: bool = False  # whether columns of numbers are measures of one system
    counted: dict[frozenset[str], int] = field(default_factory=dict)

    @cached_property
    def given(self) -> dict[str, str]:
        """The one column of each role that the caller names."""
        return {role: names[0] for role, names in self.named.items() if len(names) == 1}

    @cached_property
    def taken(self) -> frozenset[str]:
        """Columns that the caller names."""
        return frozenset(name for names in self.named.values() for name in names)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The columns by name; the headers of those that the caller names say nothing."""
        columns = self.sheet.columns.items()
        return {name: column.unheard() if name in self.taken else column for name, column in columns}

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Columns that may hold scores."""
        empty = self.sheet.empty
        return tuple(name for name, column in self.columns.items() if name in empty or column.is_numeric)

    @cached_property
    def first(self) -> str:
        """The first column."""
        return next(iter(self.sheet.columns))

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def list_others(self, *names: str | None) -> list[Column]:
        """Return the columns that are none of some."""
        return [column for name, column in self.columns.items() if name not in names]

    def count(self, *names: str) -> int:
        """Return how many different combinations of labels some columns have."""
        key = frozenset(names)
        if key not in self.counted:
            self.counted[key] = _count_keys([self.columns[name].labels for name in names])
        return self.counted[key]

    def by_word(self, role: str) -> list[str]:
        """Return columns whose first meaning is a role, the caller's before all others."""
        if role in self.given:
            return [self.given[role]]
        return [name for name, column in self.columns.items() if column.roles[:1] == (role,)]

    def are_alike(self, a: str | None, b: str | None) -> bool:
        """Tell whether two columns tell the same rows apart."""
        if a is None or b is None or a == b:
            return a == b
        return self[a].distinct == self[b].distinct == self.count(a, b)

    def is_nested(self, inner: str, outer: str) -> bool:
        """Tell whether every label of one column goes with one label of the other, which has fewer."""
        return 1 < self[outer].distinct < self[inner].distinct == self.count(inner, outer)


def _count_keys(labels: Sequence[Labels]) -> int:
    """Return how many different combinations some labels have."""
    keys, size = np.zeros(len(labels[0].codes), dtype=np.int64), 1
    for codes, names, _ in labels:
        if size * len(names) > 1 << 62:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            size = int(keys.max(initial=0)) + 1
        keys = keys * len(names) + codes
        size *= len(names)
    if size <= 8 * len(keys) + (1 << 20):
        return int(np.count_nonzero(np.bincount(keys, minlength=1)))
    return len(np.unique(keys))


# refusals: what cannot be decided, and the options that decide it, each tried before it is offered -------------------


@dataclass
class Doubt(Exception):
    """A table that is not read: the problem, what may be done to the table, and the options that may decide."""

    problem: str
    choices: Sequence[Columns] = ()  # column or columns by role, for each reading that may be meant
    exclude: str | None = None  # the row or column that may be left out
    mend: str | tuple[Part, ...] = ""  # what else may be done, before the options
    rename: str = ""  # what else may be done, after them
    say: str | Sequence[str] = "say "  # what stands before all choices, or before each
    where: str = ""  # the place, if it is smaller than the table


def write_refusal(
    sheet: Sheet, doubt: Doubt, reads: Callable[[Mapping[str, str], Sequence[str]], bool]
) -> InputError:
    """Return the refusal in one line, with those of its options that lead to scores.

    Parameters
    ----------
    sheet
        The table.
    doubt
        What cannot be decided.
    reads
        Whether columns that the caller might name, and names that might be left out, lead to scores.
    """
    choices: list[Choice] = []
    steps: list[tuple[Part, ...]] = []
    if doubt.mend:
        steps.append((doubt.mend,) if isinstance(doubt.mend, str) else doubt.mend)
    if doubt.exclude is not None and reads({}, (doubt.exclude,)):
        steps.append(("leave it out with ", Option("exclude", doubt.exclude)))
    if doubt.rename:
        steps.append((doubt.rename,))
    before = ""
    for k, roles in enumerate(doubt.choices):
        choice = spell_choice(sheet, roles)
        implied = any(earlier.items() <= choice.items() for earlier in choices)
        full = isinstance(doubt.say, str) and len(choices) == MOST_OFFERED
        if full or implied or not reads(choice, ()):
            continue
        choices.append(choice)
        lead = doubt.say if isinstance(doubt.say, str) else doubt.say[k]
        if lead == before:
            steps[-1] += (" or ", Option("columns", choice))
        else:
            steps.append((lead, Option("columns", choice)))
        before = lead
    if not steps:
        kinds = []
        for name, column in list(sheet.columns.items())[:MOST_LISTED]:
            many = "" if column.blank else f", {column.distinct} different"
            kinds.append(f"{show_column(sheet, name)} ({column.kind}{many})")
        kinds += ["…"] * (len(sheet.columns) > MOST_LISTED)
        form = Option("columns", Choice({"item": "…", "system": "…", "score": "…"}))
        steps.append(("say which column is what by ", form, f": it has {', '.join(kinds)}"))
    return InputError(
        doubt.problem,
        where=doubt.where or sheet.source,
        remedy=tuple(part for step in steps for part in (", or ", *step))[1:],
        argument="columns" if doubt.choices else "",
        choices=choices,
    )


def spell_choice(sheet: Sheet, choice: Columns) -> Choice:
    """Return a reading as the caller can spell it."""
    columns = {role: [names] if isinstance(names, str) else names for role, names in choice.items()}
    return Choice(
        {role: "+".join(show_column(sheet, name) for name in names) for role, names in columns.items()}
    )


def list_some(names: Sequence[str]) -> str:
    """Return the first of some names."""
    return f"{', '.join(names[:4])}{' …' if len(names) > 4 else ''}"


def quote_columns(sheet: Sheet, *names: str) -> str:
    """Return columns as sentences name them."""
    return " and ".join(repr(name) if name else f"column {show_column(sheet, name)}" for name in names)


def refuse_words(sheet: Sheet, name: str) -> InputError:
    """Return the refusal of a column of scores for its cells that are not numbers, with their count."""
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
    token = column.labels.names[int(column.labels.codes[rows[0]])]
    shown = ", ".join(list(dict.fromkeys(column.words))[1:4])
    also = f", also {shown}" if shown else ""
    many = f" ({format_count(len(rows), 'such cell')}{also})" if len(rows) > 1 else ""
    leave, zero = Option("missing", "leave"), Option("missing", "zero")
    remedy: tuple[Part, ...] = (
        "correct it, or treat such cells as missing with ",
        leave,
        " or as zero with ",
        zero,
    )
    if "," in token and token.replace(",", "", 1).replace("-", "", 1).isdecimal():
        remedy = (f"write it with a point, as in {token.replace(',', '.')}",)
    where = sheet.place(int(rows[0]))
    return InputError(f"{name}: {token!r} is not a number{many}", where=where, remedy=remedy)
