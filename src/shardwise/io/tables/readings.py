"""The reading of a table: which column is what, chosen by words and numbers, or refused with the readings there are.

Every possible reading gets points: for the words of its headers, for how labels look, for how items and systems cross,
for their numbers. The best is taken if it is clearly ahead; otherwise the refusal names the columns that decide. A row
or column is left out only by two signs, such as a label and a number (METHODS, 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np
import pyarrow as pa

from shardwise.core.arrays import Ints
from shardwise.core.claim import counted
from shardwise.core.errors import Either, InputError, Option, Part
from shardwise.core.scores import noun
from shardwise.io.tables import signs
from shardwise.io.tables.column import ENDS_IN_ID, Column
from shardwise.io.tables.roles import Choice, Columns, Reading, find_named, show_column
from shardwise.io.tables.sheet import Sheet, make_sheet
from shardwise.io.tables.summaries import drop_summary_rows
from shardwise.io.tables.words import (
    BOOKKEEPING,
    NAMELESS,
    SWING,
    is_bookkeeping,
    is_measure,
    is_numbered,
    is_score,
    is_summary_header,
    is_text,
    is_value,
    list_roles,
    plain,
    share_of_items,
    share_of_models,
    split_words,
)

AHEAD = 3.0  # points by which a reading has to be better than any other
ENOUGH = 3.0  # points that a reading needs
LOOK = 50  # names that are looked at
FEW = 5  # rows from which a constant column says something
TURNED = 3.0  # points from which rows and columns are exchanged
_FORCED = 20.0  # points for what the caller says


def choose_reading(
    sheet: Sheet,
    columns: Columns | None = None,
    measure: str | None = None,
    *,
    single: bool = False,
    factors: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Reading:
    """Say which column is what, or refuse with the readings that there are and the option that chooses.

    Parameters
    ----------
    sheet
        The table.
    columns
        What the caller says: item, system, repeat, score, cluster, task … -> the name of a column.
    measure
        The score that is asked for, where a column has its name.
    single
        Whether columns of numbers are measures of one system rather than systems.
    factors
        Columns that are factors of their own, and nothing else.
    exclude
        Systems that are left out, where they are columns.

    Returns
    -------
    The reading, with the sheet that it is of: without summary rows, turned where rows were systems.
    """
    named = find_named(sheet, columns or {})
    if sheet.headerless and not named:
        raise _refuse_headerless(sheet)
    spared = {name for names in named.values() for name in names}
    sheet = sheet.without_columns([*factors, *(name for name in exclude if name not in spared)])
    sheet, notes = _fill_down(sheet)
    facts = _Facts(sheet, named, measure)
    systems = named.get("system", ())
    if len(systems) > 1:
        reading = _read_named_columns(facts)
    else:
        if not systems:
            _refuse_votes(facts)
        pair = _choose_pair(facts)
        reading = _read_long(facts, pair) if pair is not None else _read_wide(facts, single)
    reading = replace(reading, notes=(*sheet.notes, *notes, *reading.notes))
    return drop_summary_rows(reading)


@dataclass(frozen=True)
class _Facts:
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
        return tuple(name for name, column in self.sheet.columns.items() if name in empty or _is_numeric(column))

    def column(self, name: str) -> Column:
        return self.sheet.columns[name]

    def words(self, name: str) -> tuple[str, ...]:
        """What a column may be by its name, but for those that the caller names."""
        return () if name in self.taken else list_roles(name)

    def by_word(self, role: str) -> list[str]:
        """Columns whose first meaning is a role, the caller's before all others."""
        if role in self.roles:
            return [self.roles[role]]
        return [name for name in self.sheet.columns if self.words(name)[:1] == (role,)]


def _is_numeric(column: Column) -> bool:
    """Whether a column holds numbers: in most of its different cells, or in most of its rows."""
    if column.dates or column.blank:
        return False
    if column.numeric >= 0.5 or column.parsed.problem:
        return True
    values = column.values
    filled = ~np.isnan(values)
    return bool(filled.any()) and float(np.isfinite(values[filled]).mean()) >= 0.5


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


def _are_alike(a: Column, b: Column) -> bool:
    """Whether two columns tell the same rows apart."""
    return a.distinct == b.distinct == count_keys([a, b])


def _is_nested(inner: Column, outer: Column) -> bool:
    """Whether every label of one column goes with one label of the other, which has fewer."""
    return 1 < outer.distinct < inner.distinct == count_keys([inner, outer])


def _first_names(column: Column) -> list[str]:
    return [name for name in islice(column.labels.names, LOOK) if name]


# Long tables: a row for each item and system ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """The columns of items, systems and repeats, with the points that speak for them."""

    item: str
    system: str
    repeat: str
    points: float
    unique: bool


def _choose_pair(facts: _Facts) -> _Pair | None:
    """The columns of items and systems of a long table; None where there is no such pair."""
    sheet, rows = facts.sheet, facts.sheet.rows
    values = _candidate_values(facts)
    if not values and facts.by_word("topic") and facts.by_word("system"):
        problem = "has a column of measures but none of values" if facts.by_word("measure") else "has no column of scores"
        raise InputError(problem, where=sheet.source, remedy="add one, called after the measure")
    if not values or rows == 0:
        return None
    labels = [name for name in sheet.columns if _may_label(facts, name)]
    strong = [
        (_rate_item(facts, item) + _rate_system(facts, system) + _rate_counts(facts, item, system), item, system)
        for item in labels
        for system in labels
        if item != system and _may_pair(facts, item, system, values)
    ]
    if not strong:
        return None
    strong.sort(key=lambda rated: -rated[0])
    likely = [rated for rated in strong if rated[0] >= strong[0][0] - AHEAD - 3.0][:8]
    pairs = sorted((_weigh_pair(facts, *rated) for rated in likely), key=lambda pair: -pair.points)
    best = pairs[0]
    rivals = [pair for pair in pairs[1:] if not _same_pair(facts, best, pair)]
    if best.points < ENOUGH:
        known = {"system", "topic"} & {role for name in (best.item, best.system) for role in facts.words(name)}
        if not best.unique or known or len(values) > 1 or not rivals:
            return None
    if rivals and best.points < max(rivals[0].points + AHEAD, ENOUGH):
        raise _refuse_pairs(facts, best, rivals[0])
    return _prefer_id(facts, best, pairs) if best.points >= ENOUGH else None


def _candidate_values(facts: _Facts) -> list[str]:
    """Columns that may hold the scores of a long table."""
    if "value" in facts.named:
        return list(facts.named["value"])
    if facts.measure in facts.sheet.columns:
        return [str(facts.measure)]
    scores = [name for name in facts.numbers if is_score(name)]
    if not facts.numbers:
        # words where scores should be, which are refused as such
        return [name for name in facts.sheet.columns if is_score(name) and not facts.column(name).blank]
    plain_numbers = [name for name in facts.numbers if not facts.words(name) and not _is_kept_beside(name)]
    return scores or plain_numbers or [name for name in facts.numbers if not facts.words(name)]


def _may_label(facts: _Facts, name: str) -> bool:
    """Whether a column may name items or systems."""
    column = facts.column(name)
    if name in facts.named.get("value", ()) or name == facts.measure:
        return False
    if column.blank and facts.words(name)[:1] != ("topic",):
        return False
    if name in facts.taken:
        return name in (facts.roles.get("topic"), facts.roles.get("system"))
    if facts.words(name):
        return True
    if is_score(name) and _is_numeric(column):
        return False
    return not _is_numeric(column) or column.dates


def _may_pair(facts: _Facts, item: str, system: str, values: Sequence[str]) -> bool:
    """Whether two columns may be items and systems: items repeat, as each has scores of several systems."""
    if facts.roles.get("topic", item) != item or facts.roles.get("system", system) != system:
        return False
    if {item, system} & set(values[:1]) and len(values) == 1:
        return False
    roles = facts.words(item), facts.words(system)
    if roles[0][:1] in (("measure",), ("shard",), ("split",)) or roles[1][:1] in (("measure",), ("shard",), ("split",)):
        return False
    items, systems = facts.column(item), facts.column(system)
    known = "system" in roles[1] or system == facts.roles.get("system")
    if systems.distinct == 1:
        return known and (not _is_numeric(systems) or plain(system) not in SWING or system in facts.taken)
    if items.distinct == facts.sheet.rows or systems.distinct == facts.sheet.rows:
        # every item once: only words can say that this is long
        both = known and ("topic" in roles[0][:1] or item == facts.roles.get("topic"))
        once = systems.distinct == facts.sheet.rows and items.distinct > 1
        plainly = plain(system) not in SWING and plain(item) not in SWING and any(map(is_score, values))
        return both and (plainly or not once) and not _has_several_scores(values)
    if known:
        return True
    # a column that no word calls a system is one only beside a single score
    return len(values) == 1 and not is_text(system) and not _is_kept_beside(system)


def _has_several_scores(values: Sequence[str]) -> bool:
    return len(values) > 1 and not any(map(is_score, values))


def _is_kept_beside(name: str) -> bool:
    """Whether a column is kept beside scores, by its name."""
    return is_bookkeeping(name) or (is_summary_header(name) and not is_score(name))


def _rate_item(facts: _Facts, name: str) -> float:
    """Points of a column as that of the items: for its name, and for how its labels look."""
    if facts.roles.get("topic") == name:
        return _FORCED
    roles, names = facts.words(name), _first_names(facts.column(name))
    points = 1.5 * (share_of_items(names) - share_of_models(names)) + is_numbered(names)
    if "topic" in roles:
        points += 4.0 if roles[0] == "topic" and plain(name) not in SWING else 2.5 if roles[0] == "topic" else 1.5
    elif {"task", "cluster"} & set(roles):
        points += 1.0
    elif roles:
        points -= 4.0
    elif is_text(name) or is_bookkeeping(name):
        points -= 2.0
    return points


def _rate_system(facts: _Facts, name: str) -> float:
    """Points of a column as that of the systems."""
    if facts.roles.get("system") == name:
        return _FORCED
    roles, names = facts.words(name), _first_names(facts.column(name))
    looks = [name for name in names if not name.isdecimal()]
    points = 1.5 * (share_of_models(names) - (share_of_items(looks) if looks else 0.0))
    if "system" in roles:
        points += 4.0 if plain(name) not in SWING else 2.5
    elif roles:
        points -= 3.0
    elif _is_numeric(facts.column(name)):
        points -= 2.0
    return points


def _rate_counts(facts: _Facts, item: str, system: str) -> float:
    """Points for more items than systems, as there mostly are."""
    ratio = facts.column(item).distinct / max(1, facts.column(system).distinct)
    points = float(np.clip(np.log2(ratio) / 2.0, -1.5, 1.5))
    return points - (2.0 if facts.column(system).distinct > 500 else 0.0)


def _weigh_pair(facts: _Facts, points: float, item: str, system: str) -> _Pair:
    """A pair with its repeats, and points for how items and systems cross."""
    sheet = facts.sheet
    fixed = [name for role in ("measure", "shard", "split") for name in facts.by_word(role) if name not in (item, system)]
    tasks = [name for name in facts.by_word("task") if name not in (item, system)]
    keys = [sheet.columns[name] for name in (*tasks, item, system, *fixed)]
    unique = count_keys(keys) == sheet.rows
    repeat = facts.roles.get("instance", "")
    if not unique and not repeat:
        for name in _repeat_columns(facts, item, system):
            if count_keys([*keys, sheet.columns[name]]) == sheet.rows:
                repeat, unique = name, True
                break
    elif repeat:
        unique = count_keys([*keys, sheet.columns[repeat]]) == sheet.rows
    nested = [
        name
        for name in sheet.columns
        if name not in (item, system)
        and "system" in facts.words(name)
        and plain(name) not in SWING
        and _is_nested(sheet.columns[system], sheet.columns[name])
    ]
    crossed = sheet.columns[item].distinct * sheet.columns[system].distinct
    share = min(1.0, count_keys([sheet.columns[item], sheet.columns[system]]) / crossed)
    plainly = plain(item) not in SWING and plain(system) not in SWING and "topic" in facts.words(item) and "system" in facts.words(system)
    points += 2.0 if share > 0.95 else 1.0 if share > 0.5 else -2.0 if share < 0.2 and not plainly else 0.0
    points -= 0.0 if unique else 3.0
    # items without a word for them have scores of all systems; means of runs do not
    worded = {"topic", "task", "cluster"} & set(facts.words(item)) or item in facts.taken
    listed = bool(repeat) and sheet.columns[repeat].unique and repeat not in facts.taken
    points -= 4.0 if not worded and (share < 0.9 or listed) else 0.0
    # runs of a method are repeats of it
    points -= 5.0 if nested and plain(system) in SWING and system not in facts.taken else 0.0
    return _Pair(item, system, repeat, points, unique)


def _repeat_columns(facts: _Facts, item: str, system: str) -> list[str]:
    """Columns that may tell repeats apart by their names, surest first."""
    found = [name for name in facts.sheet.columns if name not in (item, system) and "instance" in facts.words(name)]
    swing = [
        name
        for name in facts.sheet.columns
        if name not in (item, system, *found)
        and plain(name) in SWING
        and "system" in SWING[plain(name)]
        and _is_nested(facts.column(name), facts.column(system))
    ]
    return sorted(found, key=lambda name: plain(name) in SWING) + swing


def _same_pair(facts: _Facts, best: _Pair, other: _Pair) -> bool:
    """Whether two pairs are the same reading: their columns tell the same rows apart."""
    return (
        best.system == other.system or _are_alike(facts.column(best.system), facts.column(other.system))
    ) and (best.item == other.item or _are_alike(facts.column(best.item), facts.column(other.item)))


def _prefer_id(facts: _Facts, best: _Pair, pairs: Iterable[_Pair]) -> _Pair:
    """Of columns that name the items alike, the one that is called an id."""
    if best.item in facts.taken or plain(best.item).endswith("id"):
        return best
    for pair in pairs:
        called = plain(pair.item).endswith("id") and plain(pair.item) not in NAMELESS
        alike = pair.system == best.system and called and "topic" in facts.words(pair.item)
        if alike and _are_alike(facts.column(pair.item), facts.column(best.item)):
            return replace(best, item=pair.item)
    return best


def _refuse_pairs(facts: _Facts, best: _Pair, rival: _Pair) -> InputError:
    sheet = facts.sheet
    if best.system == rival.system:
        problem = f"columns {_quote(sheet, best.item)} and {_quote(sheet, rival.item)} both name the item"
        choices = [{"item": best.item}, {"item": rival.item}]
    elif best.item == rival.item:
        problem = f"{_quote(sheet, best.system)} and {_quote(sheet, rival.system)} could both be the systems"
        choices = [{"system": best.system}, {"system": rival.system}]
    else:
        problem = f"{_quote(sheet, best.item)} and {_quote(sheet, best.system)} could be items and systems"
        choices = [{"item": pair.item, "system": pair.system} for pair in (best, rival)]
    return refuse_readings(sheet, problem, choices)


def _quote(sheet: Sheet, name: str) -> str:
    return repr(name) if name else f"column {show_column(sheet, name)}"


def refuse_readings(sheet: Sheet, problem: str, choices: Sequence[Mapping[str, str]], more: str = "") -> InputError:
    """Return the refusal of a table that can be read in several ways, with the columns that choose each.

    Parameters
    ----------
    sheet
        The table.
    problem
        What cannot be decided.
    choices
        Columns by role, for each reading.
    more
        What else may be done.
    """
    spelled = [Choice({role: show_column(sheet, name) for role, name in choice.items()}) for choice in choices]
    options: list[Part] = []
    for choice in spelled:
        options += [" or " if options else "say ", Option("columns", choice)]
    if more:
        options.append(f"; {more}" if options else more)
    return InputError(
        problem, where=sheet.source, remedy=tuple(options), argument="columns", choices=spelled
    )


def _read_long(facts: _Facts, pair: _Pair) -> Reading:
    """The reading of a long table, of which items and systems are known."""
    sheet = facts.sheet
    roles = {"topic": pair.item, "system": pair.system} | facts.roles
    omitted: dict[str, str] = {}
    for role in ("measure", "shard", "split", "task", "cluster"):
        for name in facts.by_word(role):
            if name in roles.values() or role in roles:
                continue
            if sheet.columns[name].constant and role in ("task", "cluster"):
                omitted[name] = "constant"
            elif role == "measure" and _is_numeric(sheet.columns[name]):
                continue
            else:
                roles[role] = name
    if pair.repeat:
        roles["instance"] = pair.repeat
    else:
        # one score a cell: seeds that differ from row to row say nothing
        spare = [name for name in facts.by_word("instance") if name not in roles.values()]
        cells = sheet.columns[pair.item].distinct * sheet.columns[pair.system].distinct
        if pair.unique and len(spare) == 1 and 2 * sheet.rows >= cells * sheet.columns[spare[0]].distinct:
            roles["instance"] = spare[0]
        else:
            omitted |= dict.fromkeys(spare, "no repeats")
    rest = [name for name in sheet.columns if name not in roles.values() and name not in omitted]
    if not pair.unique and not pair.repeat:
        _refuse_unknown_repeats(facts, roles, rest)
    same = [
        name for name in rest
        if {"topic", "system"} & set(facts.words(name)) and not (is_score(name) and _is_numeric(sheet.columns[name]))
    ]  # fmt: skip
    for name in same:
        like = next((roles[r] for r in ("topic", "system") if _are_alike(sheet.columns[name], sheet.columns[roles[r]])), "")
        omitted[name] = f"says the same as {like or 'another'}" if like else "constant" if sheet.columns[name].constant else "not needed"
    rest = [name for name in rest if name not in omitted]
    scores, others = _choose_scores(facts, roles, rest)
    return Reading(sheet, roles, scores, False, omitted | others)


def _refuse_unknown_repeats(facts: _Facts, roles: Mapping[str, str], rest: Sequence[str]) -> None:
    """Refuse several scores of a cell that a column of another name tells apart."""
    sheet = facts.sheet
    keys = [sheet.columns[name] for role, name in roles.items() if role not in ("value", "cluster")]
    for name in rest:
        if name in facts.taken or (is_score(name) and _is_numeric(sheet.columns[name])):
            continue
        column = sheet.columns[name]
        labels = not pa.types.is_floating(column.data.type) and (not _is_numeric(column) or column.whole)
        if labels and not column.unique and count_keys([*keys, column]) == sheet.rows:
            raise InputError(
                f"has several scores of one {noun(plain(roles['system']))} on one {noun(plain(roles['topic']) or 'item')}",
                where=sheet.source,
                remedy=(f"if {name!r} tells repeats apart, say ", Option("columns", Choice({"repeat": name}))),
                argument="columns",
                choices=[Choice({"repeat": name})],
            )


def _choose_scores(
    facts: _Facts, roles: Mapping[str, str], rest: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns of scores of a long table, and why others are none."""
    sheet = facts.sheet
    if "value" in facts.named:
        return facts.named["value"], {}
    numbers = [name for name in rest if name in facts.numbers]
    texts = {name: _why_text(sheet.columns[name]) for name in rest if name not in numbers}
    if facts.measure in numbers:
        return (str(facts.measure),), {}
    if not numbers:
        spoilt = [name for name in rest if is_score(name) and sheet.columns[name].words]
        if spoilt:
            raise refuse_words(sheet, spoilt[0])
    words = [name for name in numbers if is_score(name)]
    if "measure" in roles:
        values = [name for name in words if is_value(name)] or words or numbers
        if len(values) != 1:
            raise InputError(
                "has a column of measures but none of values" if not values else f"has {len(values)} columns of values",
                where=sheet.source,
                remedy="call the values value or score",
            )
        return (values[0],), texts
    if words:
        return tuple(words), texts | {name: "no score" for name in numbers if name not in words}
    kept = [name for name in numbers if not _is_kept_beside(name) and not sheet.columns[name].counts]
    varied = [name for name in kept if not sheet.columns[name].constant]
    kept = varied if varied and sheet.rows >= FEW else kept
    if not kept:
        kept = [name for name in numbers if not ENDS_IN_ID.search(name)] or numbers
        if len(kept) > 1:
            raise refuse_readings(
                sheet, f"has {len(kept)} columns of numbers ({', '.join(kept)})", [{"score": name} for name in kept[:2]]
            )
    odd = next((name for name in texts if not is_text(name) and sheet.columns[name].words), None)
    if not kept and odd is not None and not np.isnan(sheet.columns[odd].values).all():
        raise InputError(
            f"has no column of scores: {odd} holds words such as {sheet.columns[odd].words[0]!r}",
            where=sheet.source,
            remedy="add one, called after the measure",
        )
    if not kept:
        raise InputError(
            "has no column of scores", where=sheet.source, remedy="add one, called after the measure"
        )
    others = {name: "constant" if sheet.columns[name].constant else "no score" for name in numbers if name not in kept}
    return tuple(kept), texts | others


def _why_text(column: Column) -> str:
    return "empty" if column.blank else "dates" if column.dates else "text"


# Wide tables: a row for each item, a column for each system ------------------------------------------------------------


def _read_named_columns(facts: _Facts) -> Reading:
    """The reading of a wide table whose systems the caller names."""
    sheet, systems = facts.sheet, facts.named["system"]
    roles = {role: name for role, name in facts.roles.items() if role != "value"}
    if "topic" not in roles:
        item = _choose_item(facts, [name for name in sheet.columns if name not in systems])
        roles |= {"topic": item} if item is not None else {}
    for role in ("shard", "split", "instance", "task", "cluster"):
        found = [name for name in facts.by_word(role) if name not in systems and not sheet.columns[name].constant]
        if found and role not in roles and found[0] not in roles.values():
            roles[role] = found[0]
    if "instance" in roles and "instance" not in facts.named and "topic" in roles:
        if sheet.columns[roles["topic"]].unique:
            del roles["instance"]
    others = {
        name: "not named" for name in sheet.columns if name not in systems and name not in roles.values()
    }
    return Reading(sheet, roles, tuple(systems), True, others)


def _read_wide(facts: _Facts, single: bool) -> Reading:
    """The reading of a table with a row for each item; of one that is turned, after turning it."""
    sheet = facts.sheet
    roles, omitted = _wide_roles(facts)
    _refuse_without_items(facts, roles)
    rest = [name for name in sheet.columns if name not in roles.values() and name not in omitted]
    if not single and "value" not in facts.named and facts.measure not in rest:
        turned = _turn(facts, roles, rest)
        if turned is not None:
            return turned
    numbers = [name for name in rest if _is_numeric(sheet.columns[name])]
    measures = [name for name in numbers if is_score(name)]
    if "value" in facts.named or (facts.measure in numbers and (measures or len(numbers) == 1)):
        chosen = facts.named.get("value", (str(facts.measure),))
        return Reading(sheet, _with_item(facts, roles), tuple(chosen), False, omitted)
    if single or (measures and "topic" in roles and all(is_score(n) or _is_kept_beside(n) for n in numbers)):
        return _read_measures(facts, roles, rest, omitted, single)
    scores, others, parts = _choose_systems(facts, roles, rest)
    told = [name for name in scores if name not in sheet.empty]
    flat = [name for name in told if sheet.rows >= FEW and sheet.columns[name].constant]
    return Reading(sheet, roles, scores, not parts, omitted | others, tuple(flat), parts)


def _wide_roles(facts: _Facts) -> tuple[dict[str, str], dict[str, str]]:
    """The labels of the rows of a wide table."""
    sheet, omitted = facts.sheet, dict[str, str]()
    roles = dict(facts.roles)
    roles.pop("value", None)
    for role in ("measure", "shard", "split", "task", "cluster"):
        for name in facts.by_word(role):
            numeric = _is_numeric(sheet.columns[name]) and role == "measure"
            if role in roles or name in roles.values() or numeric:
                continue
            if sheet.columns[name].constant and sheet.rows > 1 and role in ("task", "cluster"):
                omitted[name] = "constant"
            else:
                roles[role] = name
    if "topic" not in roles:
        others = [name for name in sheet.columns if name not in roles.values()]
        item = _choose_item(facts, others)
        if item is None:
            # the one key column there is holds the items
            item = next((roles[r] for r in ("task", "cluster") if r in roles and sheet.columns[roles[r]].unique), None)
            roles = {role: name for role, name in roles.items() if name != item or role in facts.named}
        if item is not None:
            roles["topic"] = item
            omitted |= _same_items(facts, item)
    elif "topic" not in facts.named:
        omitted |= _same_items(facts, roles["topic"])
    keys = [sheet.columns[roles[role]] for role in ("topic", "shard", "split", "measure") if role in roles]
    repeats = [name for name in facts.by_word("instance") if name not in roles.values()]
    if repeats and "instance" not in roles:
        if "topic" in roles and count_keys(keys) < sheet.rows:
            roles["instance"] = repeats[0]
        else:
            omitted |= dict.fromkeys(repeats, "no repeats")
    return roles, omitted


def _choose_item(facts: _Facts, names: Sequence[str]) -> str | None:
    """The column that names the rows of a wide table: by its word, or the first where it is different in every row."""
    sheet = facts.sheet
    words = [
        name for name in names
        if "topic" in facts.words(name) and not sheet.columns[name].blank
        and (plain(name) not in SWING or name == next(iter(sheet.columns)) or not _is_numeric(sheet.columns[name])
             or sheet.columns[name].unique)
    ]  # fmt: skip
    if words:
        strong = [name for name in words if plain(name) not in SWING] or words
        telling = [name for name in strong if not sheet.columns[name].constant] or strong
        unique = [name for name in telling if sheet.columns[name].unique] or telling
        first = next((name for name in unique if plain(name).endswith("id")), unique[0])
        rival = next((n for n in telling if n != first and not _are_alike(sheet.columns[first], sheet.columns[n])), None)
        if rival is not None and not (sheet.columns[first].unique and not sheet.columns[rival].unique and is_text(rival)):
            raise refuse_readings(
                sheet,
                f"columns {_quote(sheet, first)} and {_quote(sheet, rival)} both name the item",
                [{"item": first}, {"item": rival}],
            )
        return first
    first_column = next(iter(sheet.columns))
    if first_column not in names or is_score(first_column):
        return None
    column = sheet.columns[first_column]
    if facts.words(first_column) and "system" not in facts.words(first_column):
        return None
    labelled = not _is_numeric(column) or column.dates
    if column.counts or (labelled and column.unique and not column.blank):
        return first_column
    return None


def _same_items(facts: _Facts, item: str) -> dict[str, str]:
    """Other columns that name the items too."""
    sheet = facts.sheet
    return {
        name: f"says the same as {item}" if _are_alike(sheet.columns[name], sheet.columns[item]) else "text"
        for name in sheet.columns
        if name != item
        and facts.words(name)[:1] == ("topic",)
        and not (_is_numeric(sheet.columns[name]) and not sheet.columns[name].unique)
    }


def _with_item(facts: _Facts, roles: dict[str, str]) -> dict[str, str]:
    return {role: name for role, name in roles.items() if role != "value"}


def _refuse_without_items(facts: _Facts, roles: Mapping[str, str]) -> None:
    """Refuse a table whose rows have a system but no item: means, or scores that nothing pairs."""
    sheet = facts.sheet
    systems = [name for name in facts.by_word("system") if name not in (roles.get("topic"), *facts.named.get("topic", ()))]
    systems = [name for name in systems if plain(name) not in SWING or not _is_numeric(sheet.columns[name])]
    if not systems or sheet.columns[systems[0]].unique:
        return
    if "topic" not in roles or not sheet.columns[roles["topic"]].unique:
        raise InputError(
            "has no column of items (questions, topics)",
            where=sheet.source,
            remedy=("add one, or say which it is: ", Option("columns", Choice({"item": "…"}))),
            argument="columns",
        )


def _turn(facts: _Facts, roles: Mapping[str, str], rest: Sequence[str]) -> Reading | None:
    """The reading of a table whose rows are systems and whose columns are items; None where it is none."""
    sheet = facts.sheet
    numbers = [name for name in rest if _is_numeric(sheet.columns[name])]
    candidates = [name for name in sheet.columns if name not in numbers and sheet.columns[name].unique]
    forced = facts.roles.get("system")
    named = next((name for name in candidates if "system" in list_roles(name)), None)
    label = forced if forced is not None else roles.get("topic", named)
    if label is None:
        if share_of_items(numbers[:LOOK]) > 0.8 and len(numbers) > 2 and not all(n.isdecimal() for n in numbers):
            raise refuse_readings(
                sheet, f"columns such as {numbers[0]!r} look like items, and rows have no names", [],
                "add a column that names the systems, or rename the columns",
            )  # fmt: skip
        return None
    if label in facts.named.get("topic", ()) or not numbers or not sheet.columns[label].unique:
        return None
    labels = [name for name in _first_names(sheet.columns[label])]
    points = _FORCED if forced is not None else _rate_turned(facts, label, labels, numbers)
    if points <= 0.0:
        return None
    kept = [name for name in numbers if not _is_kept_beside(name)]
    if kept and 2 * sum(map(is_score, kept)) > len(kept):
        if "system" not in list_roles(label) and forced is None:
            return None
        raise _refuse_means(sheet, label)
    if points < TURNED:
        raise refuse_readings(
            sheet,
            f"rows may be items or systems ({', '.join(labels[:3])} …)",
            [{"item": label}, {"system": label}],
        )
    if len(kept) < 2:
        raise _refuse_means(sheet, label)
    turned = _exchange(sheet, label, numbers)
    inner = _Facts(turned, {"topic": ("item",)}, facts.measure)
    texts = {name: _why_text(sheet.columns[name]) for name in rest if name not in numbers and name != label}
    scores, others, _ = _choose_systems(inner, {"topic": "item"}, [n for n in turned.columns if n != "item"])
    flat = tuple(n for n in scores if turned.rows >= FEW and turned.columns[n].constant)
    return Reading(
        turned, {"topic": "item"}, scores, True, texts | others, flat, notes=("rows are systems, columns are items",), turned=True
    )


def _rate_turned(facts: _Facts, label: str, labels: list[str], numbers: Sequence[str]) -> float:
    """Points for rows that are systems: for words, and for how the names of rows and columns look."""
    roles = list_roles(label)
    heads = list(numbers[:LOOK])
    points = 3.0 if "system" in roles and plain(label) not in SWING else 1.5 if "system" in roles else 0.0
    named = ("topic" in roles and plain(label) not in SWING) or {"task", "cluster"} & set(roles)
    points -= 4.0 if named else 0.0
    points += 2.0 * (share_of_items(heads) - share_of_models(heads))
    points += 2.0 * (share_of_models(labels) - share_of_items(labels))
    points += float(is_numbered(heads)) - float(is_numbered(labels))
    rows, columns = facts.sheet.rows, len(numbers)
    return points + (1.0 if columns > 2 * rows else -1.0 if rows >= 2 * columns else 0.0)


def _exchange(sheet: Sheet, label: str, numbers: Sequence[str]) -> Sheet:
    """The same table with its rows as columns."""
    names = list(sheet.columns[label].labels.names)
    codes = sheet.columns[label].labels.codes
    values = np.array([sheet.columns[name].values for name in numbers])
    for name in numbers:
        if sheet.columns[name].words:
            raise refuse_words(sheet, name)
    arrays: dict[str, pa.Array] = {"item": pa.array(list(numbers), pa.string())}
    for row, code in enumerate(codes.tolist()):
        arrays[names[code]] = pa.array(values[:, row], from_pandas=True)
    source = sheet.source
    heads = list(numbers)
    table = pa.table(list(arrays.values()), names=list(arrays))
    return make_sheet(table, source, lambda row: f"{source}:column {heads[row]}", system=sheet.system, notes=sheet.notes)


def _refuse_means(sheet: Sheet, label: str) -> InputError:
    return InputError(
        f"has one row for each {noun(plain(label)) or 'system'}: contains only aggregate means",
        where=sheet.source,
        remedy=(
            "give the scores of each topic or question",
            Either(", as pt.Experiment(…, perquery=True) returns them", ""),
            f"; if {_quote(sheet, label)} names the items, say ",
            Option("columns", Choice({"item": show_column(sheet, label)})),
        ),
    )


def _read_measures(
    facts: _Facts, roles: dict[str, str], rest: Sequence[str], omitted: Mapping[str, str], single: bool
) -> Reading:
    """The reading of a table of one system, with a column for each measure."""
    sheet = facts.sheet
    numbers = [name for name in rest if _is_numeric(sheet.columns[name])]
    scores = [name for name in numbers if is_score(name)]
    if single and not scores:
        scores = [name for name in numbers if not _is_kept_beside(name) and not sheet.columns[name].counts]
    elif single:
        scores = [name for name in numbers if is_score(name) or not _is_kept_beside(name)]
    scores = scores or numbers
    if not scores:
        raise InputError("has no column of scores", where=sheet.source, remedy="add one, called after the measure")
    others = {
        name: _why_text(sheet.columns[name]) if name not in numbers else "no score" for name in rest if name not in scores
    }
    return Reading(sheet, _with_item(facts, roles), tuple(scores), False, {**omitted, **others})


def _choose_systems(
    facts: _Facts, roles: Mapping[str, str], rest: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str], dict[str, tuple[str, str]]]:
    """The systems of a wide table, why other columns are none, and the measure of each where there are several."""
    sheet = facts.sheet
    names = list(rest)
    numbers = [name for name in names if _holds_scores(facts, name)]
    omitted: dict[str, str] = {}
    first = names.index(numbers[0]) if numbers else len(names)
    for place, name in enumerate(names):
        if name not in numbers:
            _refuse_lost_system(sheet, name, after=place > first, numbers=numbers)
            omitted[name] = _why_text(sheet.columns[name])
    if not numbers:
        spoilt = [name for name in names if sheet.columns[name].words and not is_text(name)]
        shown = f": {sheet.columns[spoilt[0]].words[0]!r} is neither a number nor a known verdict" if spoilt else ""
        row = int(np.flatnonzero(np.isinf(sheet.columns[spoilt[0]].values))[0]) if spoilt else 0
        raise InputError(
            f"has no columns of scores{shown}",
            where=sheet.place(row) if spoilt else sheet.source,
            remedy="give one column a system, with numbers such as 1 and 0",
        )
    numbers, more, parts = _split_measures(sheet, numbers)
    omitted |= more
    if parts:
        return tuple(numbers), omitted, parts
    omitted |= _omit_beside(sheet, numbers)
    kept = [name for name in numbers if name not in omitted]
    measures = [name for name in kept if is_measure(name)]
    if measures and len(kept) > 1 and "topic" in roles:
        others = [name for name in kept if name not in measures]
        raise refuse_readings(
            sheet,
            f"{', '.join(measures[:3])} may be measures of one system, or systems",
            [{"system": "+".join(kept)}, {"score": "+".join(measures)}] if not others else [{"system": "+".join(kept)}],
            "" if not others else "or give a file for each system",
        )
    return tuple(kept), omitted, {}


def _holds_scores(facts: _Facts, name: str) -> bool:
    """Whether a column is one of scores, perhaps with words among them."""
    column = facts.column(name)
    if "system" in facts.words(name) and plain(name) not in SWING:
        return False
    if name in facts.sheet.empty or _is_numeric(column):
        return True
    if column.blank or column.dates or is_text(name) or _is_kept_beside(name) or facts.words(name):
        return False
    finite = float(np.isfinite(column.values).mean())
    return finite >= 0.1 and finite * len(column.data) >= 2


def _refuse_lost_system(sheet: Sheet, name: str, *, after: bool, numbers: Sequence[str]) -> None:
    """Refuse a column without scores that may be a system, by its place and by what its cells are."""
    column = sheet.columns[name]
    if is_text(name) or _is_kept_beside(name) or list_roles(name):
        return
    excluded: tuple[Part, ...] = ("leave it out with ", Option("exclude", name))
    if set(column.words) == {"=…"}:
        raise InputError(
            f"column {name!r} holds formulas that were never computed",
            where=sheet.source,
            remedy=("open the workbook in a spreadsheet program and save it, or ", *excluded),
        )
    if column.dates and numbers:
        raise InputError(
            f"column {name!r} holds dates where scores should be, such as {(column.words or list(column.labels.names))[0]!r}",
            where=sheet.source,
            remedy=("format the cells as numbers, or ", *excluded),
        )
    if column.blank and numbers:
        raise InputError(
            f"column {name!r} is empty", where=sheet.source, remedy=("fill it in, or ", *excluded)
        )
    if after and column.distinct <= 3 and sheet.rows >= FEW:
        raise InputError(
            f"column {name!r} holds no scores, but words such as {column.words[0]!r}",
            where=sheet.source,
            remedy=("correct them, or ", *excluded),
        )


def _split_measures(
    sheet: Sheet, numbers: Sequence[str]
) -> tuple[list[str], dict[str, str], dict[str, tuple[str, str]]]:
    """Columns such as bm25_AP, bm25_P10, dense_AP: systems by measures.

    Where one measure is left beside numbers that are none (gpt4_score, gpt4_cost), its columns are the systems.
    """
    for split in (_split_last, _split_first):
        parts = {name: pair for name in numbers if (pair := split(name)) is not None}
        kinds = {kind: [n for n in parts if parts[n][1] == kind] for _, kind in parts.values()}
        scores = [kind for kind in kinds if is_score(kind)]
        systems = {system for system, kind in parts.values() if kind in scores}
        if len(parts) < len(numbers) or len(systems) < 2 or not scores or len(kinds) < 2:
            continue
        kept = [name for name in numbers if parts[name][1] in scores]
        omitted = {name: "no score" for name in numbers if name not in kept}
        if len(scores) == 1:
            return kept, omitted, {}
        return kept, omitted, {name: parts[name] for name in kept}
    return list(numbers), {}, {}


def _split_last(name: str) -> tuple[str, str] | None:
    """A name as system and what is measured, which comes last."""
    for mark in ("_", "/", ".", ":", "|", " ", "-"):
        system, found, kind = name.rpartition(mark)
        if found and system.strip() and (is_score(kind) or plain(kind) in BOOKKEEPING):
            return system.strip(), kind.strip()
    return None


def _split_first(name: str) -> tuple[str, str] | None:
    """A name as system and what is measured, which comes first."""
    for mark in ("_", "/", ".", ":", "|", " ", "-"):
        kind, found, system = name.partition(mark)
        if found and system.strip() and (is_score(kind) or plain(kind) in BOOKKEEPING):
            return system.strip(), kind.strip()
    return None


def _omit_beside(sheet: Sheet, numbers: Sequence[str]) -> dict[str, str]:
    """Columns of a wide table that are no systems, by a word and a number; a refusal where only one of them says so."""
    omitted: dict[str, str] = {}
    worded = {name: _word_sign(name) for name in numbers}
    plain_names = [name for name in numbers if not worded[name]]
    if not plain_names:
        # all are called alike, such as latency_a and latency_b: what is measured
        return {}
    values = {name: sheet.columns[name].values for name in numbers}
    told = [name for name in numbers if name not in sheet.empty]
    for name in told:
        base = [other for other in plain_names if other != name and other in told]
        others = {other: values[other] for other in base if not sheet.columns[other].words}
        if not others or sheet.columns[name].words:
            continue
        sign = _number_sign(sheet, name, others)
        strong = worded[name] == "strong"
        if worded[name] and sign:
            omitted[name] = sign
        elif strong and sheet.rows >= 2:
            raise refuse_readings(
                sheet,
                f"column {name!r} may be a system, or a number beside the scores",
                [{"system": "+".join(plain_names)}, {"system": "+".join(numbers)}],
            )
        elif sign.startswith("constant"):
            omitted[name] = sign
        elif sign and not worded[name] and _is_sure(sheet, name, sign, others):
            rest = [other for other in numbers if other != name and other not in omitted]
            raise refuse_readings(
                sheet,
                f"column {name!r} is {sign}, so it may be no system",
                [{"system": "+".join(rest)}, {"system": "+".join([*rest, name])}],
            )
    return omitted


def _word_sign(name: str) -> str:
    """How far a name says that a column is no system: "strong" where all of it does, "weak" where a part does."""
    words = split_words(name)
    if is_summary_header(name) or plain(name) in BOOKKEEPING or (words and all(word in BOOKKEEPING for word in words)):
        return "strong"
    if plain(name) in SWING and plain(name) not in ("run", "name", "tag", "version"):
        return "strong"
    return "weak" if is_bookkeeping(name) else ""


def _number_sign(sheet: Sheet, name: str, others: Mapping[str, np.ndarray]) -> str:
    """What the numbers of a column say against its being a system; nothing where they do not."""
    column = sheet.columns[name]
    values = column.values
    rest = list(others.values())
    if sheet.rows >= FEW and column.constant and len(others) >= 2:
        return "" if _may_be_constant(column, rest) else "constant, so no system unless columns names it"
    derivation = signs.find_derivation(values, others) if len(others) > 1 else ""
    if derivation:
        return derivation
    if signs.is_of_another_scale(values, rest):
        return "of another scale than the scores"
    if signs.is_of_another_kind(values, rest):
        return "a whole number beside fractions"
    if signs.is_year(values) and not all(map(signs.is_year, rest)):
        return "a year"
    if column.counts and not all(np.array_equal(r[np.isfinite(r)], np.round(r[np.isfinite(r)])) for r in rest):
        return "a number of its own in every row"
    return ""


def _is_sure(sheet: Sheet, name: str, sign: str, others: Mapping[str, np.ndarray]) -> bool:
    """Whether a sign of the numbers alone is enough to ask: never where cells have few different values."""
    table = np.column_stack([*others.values(), sheet.columns[name].values])
    if not signs.has_many_values(table):
        return False
    if "scale" in sign:
        rest = np.concatenate(list(others.values()))
        finite = rest[np.isfinite(rest)]
        return bool(len(finite)) and float(finite.min()) >= 0.0 and float(finite.max()) <= 1.0
    loose = any(sign.startswith(word) for word in ("max", "min", "median"))
    return not (loose and len(others) < 2)


def _may_be_constant(column: Column, others: Sequence[np.ndarray]) -> bool:
    """Whether a column that never changes may be a system, as one that is always right is.

    Its score has to be one that the other systems could have, by what they have or as all are within 0 and 1.
    """
    score = float(column.values[0])
    if _is_kept_beside(column.name) or not np.isfinite(score):
        return False
    low = min(float(np.nanmin(values)) for values in others)
    high = max(float(np.nanmax(values)) for values in others)
    return min(low, 0.0) <= score <= high or (low >= 0.0 and max(high, score) <= 1.0 and score >= 0.0)


# Refusals, and cells that are filled ----------------------------------------------------------------------------------


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
    many = f" ({counted(len(rows), 'such cell')}{f', also {shown}' if shown else ''})" if len(rows) > 1 else ""
    remedy: tuple[Part, ...] = (
        "correct it, or treat such cells as missing with ",
        Option("missing", "leave"),
        " or as zero with ",
        Option("missing", "zero"),
    )
    if "," in token and token.replace(",", "", 1).replace("-", "", 1).isdecimal():
        remedy = (f"write it with a point, as in {token.replace(',', '.')}",)
    return InputError(f"{name}: {token!r} is not a number{many}", where=sheet.place(int(rows[0])), remedy=remedy)


def _refuse_headerless(sheet: Sheet) -> InputError:
    """The refusal of a table whose first row is data, with the columns that can be named by number."""
    numbers = [name for name, column in sheet.columns.items() if _is_numeric(column)]
    labels = [name for name in sheet.columns if name not in numbers]
    choice = Choice({"item": labels[0]} if labels else {})
    if len(labels) > 1 and numbers:
        choice |= {"system": labels[1], "score": numbers[0]}
    elif numbers:
        choice |= {"system": "+".join(numbers)}
    return InputError(
        "has no header: the first row is data",
        where=sheet.source,
        remedy=("add a line with the names of the columns, or name them by number: ", Option("columns", choice)),
        argument="columns",
        choices=[choice],
    )


def _refuse_votes(facts: _Facts) -> None:
    """Refuse a table of votes: two columns of one row name two systems."""
    sheet = facts.sheet
    texts = [
        name for name, column in sheet.columns.items()
        if not _is_numeric(column) and not column.blank and not column.dates and 1 < column.distinct < sheet.rows + 1
    ][:12]  # fmt: skip
    for k, first in enumerate(texts):
        for second in texts[k + 1 :]:
            if _are_opponents(sheet, first, second):
                raise InputError(
                    f"holds votes: {first!r} and {second!r} name the two systems of each row",
                    where=sheet.source,
                    remedy="votes and pairwise comparisons cannot be read as scores; give one row for each item and system",
                )


_OPPOSED = (("a", "b"), ("1", "2"), ("left", "right"), ("x", "y"), ("winner", "loser"), ("links", "rechts"))


def _are_opponents(sheet: Sheet, first: str, second: str) -> bool:
    """Whether two columns name the two sides of a vote: the same names, never twice in a row."""
    a, b = sheet.columns[first].labels, sheet.columns[second].labels
    names = set(a.names) | set(b.names)
    shared = set(a.names) & set(b.names)
    if len(names) > 5000 or len(names) < 2:
        return False
    number = {name: k for k, name in enumerate(names)}
    left = np.array([number[name] for name in a.names])[a.codes]
    right = np.array([number[name] for name in b.names])[b.codes]
    equal = float((left == right).mean())
    ends = {word for word in (split_words(first)[-1:], split_words(second)[-1:]) for word in word}
    opposed = any(ends == set(pair) for pair in _OPPOSED)
    if opposed and (2 * len(shared) >= min(len(a.names), len(b.names)) or not is_text(first)) and equal < 0.2:
        return not (is_text(first) and is_text(second)) or share_of_models(list(names)[:LOOK]) > 0.5
    role = any("system" in list_roles(name) for name in sheet.columns if name not in (first, second))
    return not role and sheet.rows >= 4 and equal == 0.0 and 2 * len(shared) >= len(names) and len(shared) > 1 and not (
        is_text(first) or is_text(second)
    )


def _fill_down(sheet: Sheet) -> tuple[Sheet, tuple[str, ...]]:
    """Fill the labels of merged cells, where each stands once above equally many empty cells."""
    names = list(sheet.columns)
    if len(names) < 3:
        return sheet, ()
    first, second = sheet.columns[names[0]], sheet.columns[names[1]]
    if not pa.types.is_string(first.data.type) or _is_numeric(second) or "" in second.labels.names:
        return sheet, ()
    cells = [(cell or "").strip() for cell in first.data.to_pylist()]
    starts = np.flatnonzero([bool(cell) for cell in cells])
    lengths = np.diff(np.append(starts, len(cells)))
    if len(starts) < 2 or starts[0] or lengths.min() < 2 or len(set(lengths.tolist())) > 1:
        return sheet, ()
    if second.distinct != int(lengths[0]):
        return sheet, ()
    filled = [cells[start] for start, length in zip(starts, lengths, strict=True) for _ in range(length)]
    columns = dict(sheet.columns) | {names[0]: replace(first, data=pa.chunked_array([pa.array(filled, pa.string())]))}
    return replace(sheet, columns=columns), (f"empty cells of {names[0]} filled from above",)
