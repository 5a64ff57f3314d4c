"""Which column of a table is what: the words of the caller, and the reading that comes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shardwise.core.claim import DIMENSIONS
from shardwise.core.errors import InputError
from shardwise.core.scores import ROLE_OF, clean_noun
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.words import NAMELESS, SAMPLED, list_roles, simplify_header

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
    known = {name.lower(): name for name in sheet.columns}
    numbered = {f"#{k + 1}": name for k, name in enumerate(sheet.columns)}
    for word, given in columns.items():
        role = ROLES.get(simplify_header(word))
        if role is None:
            raise InputError(
                f"a column cannot be a {word!r}",
                remedy="name item, system, repeat, score, cluster, task, shard, split or measure",
                argument="columns",
                value=word,
            )
        whole = [given] if isinstance(given, str) and given.lower() in known else None
        names = whole or (given.split("+") if isinstance(given, str) else list(given))
        matches = []
        for name in names:
            match = name if name in sheet.columns else known.get(name.lower(), numbered.get(name))
            if match is None:
                raise InputError(
                    f"has no column {name!r}",
                    where=sheet.source,
                    remedy=f"it has {', '.join(show_column(sheet, column) for column in sheet.columns)}",
                    argument="columns",
                    value=name,
                )
            matches.append(match)
        named[role] = tuple(matches)
        if len(names) > 1 and role not in ("system", "value"):
            raise InputError(
                f"{word} is one column, not {len(names)}", argument="columns", value=given, where=sheet.source
            )
    return named


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
