"""Which column of a table is what: by its header, by what stands in it, or as the caller says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shardwise.core.claim import DIMENSIONS
from shardwise.core.errors import Either, InputError, Option, Part
from shardwise.core.scores import ROLE_OF, noun
from shardwise.io.tables.column import ID, Column
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.words import LABELS, NAMELESS, OUTCOMES, SETTINGS, SWING, VALUES, plain, role_words

Columns = Mapping[str, str | Sequence[str]]

SAID = {"topic": "item", "value": "score"}  # what the caller calls our roles
_ROLES = {**ROLE_OF, "cluster": "cluster", "score": "value", "value": "value", "measure": "measure"}
_FEW = 5  # rows from which a constant column says something


@dataclass(frozen=True, slots=True)
class Reading:
    """A table as it was understood: the column of every role, the columns of scores, and what was left out."""

    roles: dict[str, str]
    scores: tuple[str, ...]  # of a long table measures, of a wide one systems
    wide: bool
    left: dict[str, str] = field(default_factory=dict)  # column -> why
    flat: tuple[str, ...] = ()  # systems that have the same score everywhere

    @property
    def nouns(self) -> dict[str, str]:
        """The user's words for dimensions, where they differ from ours and say something."""
        words = {
            role: noun(plain(name))
            for role, name in self.roles.items()
            if (role in DIMENSIONS or role == "cluster") and plain(name) not in NAMELESS
        }
        return {role: word for role, word in words.items() if word != role}


def understood(
    sheet: Sheet,
    columns: Columns | None = None,
    measure: str | None = None,
    *,
    single: bool = False,
    factors: Sequence[str] = (),
) -> Reading:
    """Say which column is what, or refuse with the readings that there are and the option that chooses.

    Parameters
    ----------
    sheet
        The table.
    columns
        What the caller says: item, system, instance, score, cluster, task … -> the name of a column.
    measure
        The score that is asked for, where a column has its name.
    single
        Whether columns of numbers are measures of one system rather than systems.
    factors
        Columns that are factors of their own, and nothing else.
    """
    named = _named(sheet, columns or {})
    if factors:
        kept = {name: column for name, column in sheet.columns.items() if name not in factors}
        sheet = replace(sheet, columns=kept)
    roles = {role: names[0] for role, names in named.items() if len(names) == 1}
    systems = named.get("system", ())
    free = [name for name in sheet.columns if name not in {one for names in named.values() for one in names}]
    left: dict[str, str] = {}
    for role in LABELS - set(named):
        found = [name for name in free if plain(name) not in SWING and role_words(name) == {role}]
        if found:
            roles[role], others = _one_of(sheet, role, found)
            left |= others
    for name in free:
        choices = [role for role in SWING.get(plain(name), ()) if role not in roles]
        if choices and name not in roles.values() and _may_be(sheet, roles, choices[0], name):
            roles[choices[0]] = name
    if len(systems) > 1:
        return Reading({r: n for r, n in roles.items() if r != "value"}, tuple(systems), True, left)
    rest = [name for name in free if name not in roles.values() and name not in left]
    _guess(sheet, roles, rest, measure)
    rest = [name for name in rest if name not in roles.values()]
    if "system" in roles and "topic" not in roles:
        raise _without_items(sheet, roles)
    if "measure" in roles and "value" not in roles:
        value = [name for name in rest if plain(name) in (*VALUES, *OUTCOMES)]
        if len(value) != 1:
            raise InputError(
                "has a column of measures but none of values",
                where=sheet.source,
                remedy="call it value or score",
            )
        roles["value"] = value[0]
    wide = not (single or roles.keys() & {"system", "value"} or _value_word(rest))
    wide = wide or "topic" not in roles
    scores, more = _scores(sheet, roles, rest, measure, wide)
    told = [name for name in scores if name not in sheet.empty]
    flat = [name for name in told if wide and sheet.rows >= _FEW and sheet.columns[name].constant]
    return Reading(roles, scores, wide, left | more, tuple(flat))


def own_factors(sheet: Sheet, names: Iterable[str], columns: Columns | None = None) -> tuple[str, ...]:
    """The columns of these names that are no dimension of scores: judge, annotator, a second word for the item.

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
    said = {
        name for given in (columns or {}).values() for name in ([given] if isinstance(given, str) else given)
    }
    seen: set[str] = {_ROLES.get(plain(word), word) for word in columns or {}}
    found = []
    for word in dict.fromkeys(part for name in names for part in name.split(":")):
        name = known.get(word.lower(), "")
        roles = role_words(word) & set(DIMENSIONS) - {"task"}
        if name and name not in said and (not roles or roles <= seen):
            found.append(name)
        seen |= roles
    return tuple(found)


def _named(sheet: Sheet, columns: Columns) -> dict[str, tuple[str, ...]]:
    """What the caller says, under our names; several columns of systems make a wide table."""
    found: dict[str, tuple[str, ...]] = {}
    known = {name.lower(): name for name in sheet.columns}
    for word, given in columns.items():
        role = _ROLES.get(plain(word))
        if role is None:
            raise InputError(
                f"a column cannot be a {word!r}",
                remedy="name item, system, instance, score, cluster, task, shard, split or measure",
                argument="columns",
                value=word,
            )
        whole = [given] if isinstance(given, str) and given.lower() in known else None
        names = whole or (given.split("+") if isinstance(given, str) else list(given))
        for name in names:
            if name.lower() not in known:
                raise InputError(
                    f"has no column {name!r}",
                    where=sheet.source,
                    remedy=f"it has {', '.join(sheet.columns)}",
                    argument="columns",
                    value=name,
                )
        found[role] = tuple(name if name in sheet.columns else known[name.lower()] for name in names)
        if len(names) > 1 and role != "system":
            raise InputError(
                f"{word} is one column, not {len(names)}", argument="columns", value=given, where=sheet.source
            )
    return found


def _one_of(sheet: Sheet, role: str, names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The one column of several that are called after the same thing, and why the others are left out."""
    telling = [name for name in names if not sheet.columns[name].constant] or list(names[:1])
    first = next((name for name in telling if plain(name).endswith("id")), telling[0])
    for name in telling:
        if name != first and not _alike(sheet.columns[first], sheet.columns[name]):
            raise _ambiguous(
                sheet,
                f"columns {first!r} and {name!r} both name the {SAID.get(role, role)}",
                (role,),
                first,
                name,
            )
    return first, {
        name: f"says the same as {first}" if name in telling else "constant"
        for name in names
        if name != first
    }


def _alike(a: Column, b: Column) -> bool:
    """Whether two columns tell the same rows apart."""
    pairs = a.labels.codes.astype(np.int64) * len(b.labels.names) + b.labels.codes
    return a.distinct == b.distinct == len(np.unique(pairs))


def _may_be(sheet: Sheet, roles: Mapping[str, str], role: str, name: str) -> bool:
    """Whether a column can play this part: what is different in every row is no system and no instance of one."""
    column = sheet.columns[name]
    if role in ("system", "instance"):
        items = sheet.columns[roles["topic"]].distinct if "topic" in roles else 1
        return items == 1 or column.distinct < sheet.rows
    if role == "topic" and "system" not in roles:  # the first column of a wide table, different in every row
        return name == next(iter(sheet.columns)) and column.distinct == sheet.rows
    return True


def _guess(sheet: Sheet, roles: dict[str, str], rest: Sequence[str], measure: str | None) -> None:
    """Find items and systems that no header names, where there is one way only."""
    names = [name for name in rest if plain(name) not in (*VALUES, *OUTCOMES) and name != measure]
    texts = [name for name in names if sheet.columns[name].numeric < 0.5 and not sheet.columns[name].constant]
    numbers = [name for name in rest if sheet.columns[name].numeric >= 0.5]
    if "topic" in roles:
        items = sheet.columns[roles["topic"]]
        if "system" in roles or items.distinct == sheet.rows or not numbers:
            return
        found = [name for name in texts if _tells_apart(sheet, [*roles.values(), name])]
        if len(found) > 1:
            both = f"{found[0]!r} and {found[1]!r} could both be the systems"
            raise _ambiguous(sheet, both, ("system",), *found[:2])
        if found and (len(numbers) == 1 or _value_word(rest)):
            roles["system"] = found[0]
        return
    if "system" in roles:
        if sheet.columns[roles["system"]].distinct == sheet.rows:
            return  # a row for each system: means
        counts = [name for name in names if sheet.columns[name].numeric == 1 and _whole(sheet.columns[name])]
        found = [name for name in (*texts, *counts) if _tells_apart(sheet, [*roles.values(), name])]
        found = [name for name in found if sheet.columns[name].distinct < sheet.rows]
        if len(found) > 1:
            both = f"{found[0]!r} and {found[1]!r} could both be the items"
            raise _ambiguous(sheet, both, ("topic",), *found[:2])
        if found:
            roles["topic"] = found[0]
        return
    repeated = [name for name in texts if sheet.columns[name].distinct < sheet.rows]
    if len(repeated) > 1 and numbers and _tells_apart(sheet, repeated[:2]):
        a, b = repeated[:2]
        raise _ambiguous(sheet, f"{a!r} and {b!r} could be items and systems", ("topic", "system"), a, b)
    first = next(iter(sheet.columns))
    if first in names and (
        sheet.columns[first].counts or (first in texts and sheet.columns[first].distinct == sheet.rows)
    ):
        roles["topic"] = first


def _tells_apart(sheet: Sheet, names: Iterable[str]) -> bool:
    """Whether these columns together are different in every row."""
    at = np.zeros(sheet.rows, dtype=np.int64)
    for name in names:
        codes, labels, _ = sheet.columns[name].labels
        at = np.unique(at * len(labels) + codes, return_inverse=True)[1]
    return len(np.unique(at)) == sheet.rows


def _whole(column: Column) -> bool:
    return bool(np.array_equal(column.values, np.round(column.values)))


def _value_word(names: Iterable[str]) -> bool:
    return any(plain(name) in (*VALUES, *OUTCOMES) for name in names)


def _scores(
    sheet: Sheet, roles: Mapping[str, str], rest: Sequence[str], measure: str | None, wide: bool
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns of scores, and why other columns are none."""
    if "value" in roles:
        return (roles["value"],), {}
    if not wide and measure in rest:
        return (str(measure),), {}
    words = [name for name in rest if plain(name) in (*VALUES, *OUTCOMES)]
    words = [name for name in words if sheet.columns[name].numeric >= 0.5] or words  # not the name of a judge
    if not wide and words:
        others = {name: "no score" for name in rest if name not in words}
        return tuple(words), _why(sheet, others)
    left: dict[str, str] = {}
    for name in rest:
        column = sheet.columns[name]
        if column.numeric < 0.5:
            left[name] = "text"
        elif plain(name) in SWING or column.counts:
            left[name] = "a number of its own in every row"
    found = [name for name in rest if name not in left]
    same = [name for name in found if sheet.columns[name].constant and name not in sheet.empty]
    varied = [sheet.columns[name] for name in found if name not in (*same, *sheet.empty)]
    if sheet.rows >= _FEW and len(varied) >= (2 if wide else 1):
        odd = [name for name in same if not (wide and _may_score(sheet.columns[name], varied))]
        left |= dict.fromkeys(odd, "constant, so no system unless columns names it" if wide else "constant")
        found = [name for name in found if name not in odd]
    if not found:
        words_only = next(
            (name for name in left if left[name] == "text" and sheet.columns[name].numeric == 0), ""
        )
        if words_only and np.isinf(sheet.columns[words_only].values).any():
            raise fault(sheet, words_only)
        raise InputError(
            f"has no {'columns' if wide else 'column'} of scores",
            where=sheet.source,
            remedy="give one column a system" if wide else "add one, called after the measure",
        )
    return tuple(found), left


def _may_score(column: Column, varied: Sequence[Column]) -> bool:
    """Whether a column that never changes may be a system, as one that is always right is.

    Its score has to be one that the other systems could have, by what they have or as all are within 0 and 1.
    """
    own = float(column.values[0])
    if plain(column.name) in SETTINGS or ID.search(column.name) or not np.isfinite(own):
        return False
    low = min(float(np.nanmin(one.values)) for one in varied)
    high = max(float(np.nanmax(one.values)) for one in varied)
    return min(low, 0.0) <= own <= high or (low >= 0.0 and max(high, own) <= 1.0 and own >= 0.0)


def _why(sheet: Sheet, names: Mapping[str, str]) -> dict[str, str]:
    return {name: "text" if sheet.columns[name].numeric < 0.5 else why for name, why in names.items()}


def fault(sheet: Sheet, name: str) -> InputError:
    """The refusal of a column for the first cell that is no number."""
    column = sheet.columns[name]
    row = int(np.flatnonzero(np.isinf(column.values))[0])
    token = str(column.data[row].as_py()).strip()
    remedy = (
        f"write it with a point, as in {token.replace(',', '.')}"
        if "," in token
        else "give a number, or leave it empty if there is none"
    )
    return InputError(f"{name}: {token!r} is not a number", where=sheet.place(row), remedy=remedy)


def _without_items(sheet: Sheet, roles: Mapping[str, str]) -> InputError:
    once = sheet.columns[roles["system"]].distinct == sheet.rows
    if once:
        return InputError(
            f"has one row for each {noun(plain(roles['system']))}: means, from which nothing can be told",
            where=sheet.source,
            remedy=(
                "give the scores of each topic or question",
                Either(", as pt.Experiment(…, perquery=True) returns them", ""),
                f"; if {roles['system']!r} names the items, say ",
                Option("columns", _choice({"item": roles["system"]})),
            ),
        )
    return InputError(
        "has no column of items (questions, topics)",
        where=sheet.source,
        remedy=("add one, or say which it is: ", Option("columns", _choice({"item": "…"}))),
    )


def _ambiguous(sheet: Sheet, problem: str, roles: tuple[str, ...], a: str, b: str) -> InputError:
    """Two readings, and the option that chooses between them."""
    words = [SAID.get(role, role) for role in roles]
    options: list[Part] = [
        Option("columns", _choice(dict(zip(words, order, strict=False)))) for order in ((a, b), (b, a))
    ]
    return InputError(problem, where=sheet.source, remedy=("say ", options[0], " or ", options[1]))


class _choice(dict[str, str]):
    """Columns by role, which the command line spells item=…,system=…."""

    def __str__(self) -> str:
        return ",".join(f"{role}={name}" for role, name in self.items())
