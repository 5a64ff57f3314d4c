"""Long tables, a row for each item and system: the columns of items, systems, repeats and scores.

Every pair of columns that may be items and systems gets points for its words, its labels and its numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import clean_noun
from shardwise.io.tables.column import ENDS_IN_ID
from shardwise.io.tables.facts import (
    AHEAD,
    ENOUGH,
    FEW,
    FORCED,
    Facts,
    are_alike,
    count_keys,
    explain_text,
    first_names,
    is_kept_beside,
    is_nested,
    is_numeric,
    quote_column,
    refuse_readings,
    refuse_words,
)
from shardwise.io.tables.roles import Choice, Reading
from shardwise.io.tables.words import (
    NAMELESS,
    PEOPLE,
    SWING,
    is_bookkeeping,
    is_numbered,
    is_score,
    is_text,
    is_value,
    share_of_items,
    share_of_models,
    simplify_header,
)

UNPAIRED = 10  # rows from which a table in which no item has two systems is refused


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """The columns of items, systems and repeats, with the points that speak for them."""

    item: str
    system: str
    repeat: str
    points: float
    unique: bool


def choose_pair(facts: Facts) -> ColumnPair | None:
    """Return the columns of items and systems of a long table; None where there is no such pair."""
    sheet, rows = facts.sheet, facts.sheet.rows
    values = _candidate_values(facts)
    if not values and facts.by_word("topic") and facts.by_word("system"):
        problem = (
            "has a column of measures but none of values"
            if facts.by_word("measure")
            else "has no column of scores"
        )
        raise InputError(problem, where=sheet.source, remedy="add one, called after the measure")
    if not values or rows == 0:
        return None
    labels = [name for name in sheet.columns if _may_label(facts, name)]
    strong = [
        (
            _rate_item(facts, item) + _rate_system(facts, system) + _rate_counts(facts, item, system),
            item,
            system,
        )
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
        known = {"system", "topic"} & {
            role for name in (best.item, best.system) for role in facts.words(name)
        }
        if not best.unique or known or len(values) > 1 or not rivals:
            return None
    if rivals and best.points < max(rivals[0].points + AHEAD, ENOUGH):
        raise _refuse_pairs(facts, best, rivals[0])
    return _prefer_id(facts, best, pairs) if best.points >= ENOUGH else None


def _candidate_values(facts: Facts) -> list[str]:
    """Return columns that may hold the scores of a long table."""
    if "value" in facts.named:
        return list(facts.named["value"])
    if facts.measure in facts.sheet.columns:
        return [str(facts.measure)]
    scores = [name for name in facts.numbers if is_score(name)]
    if not facts.numbers:
        # words where scores should be, which are refused as such
        return [name for name in facts.sheet.columns if is_score(name) and not facts.get_column(name).blank]
    plain_numbers = [name for name in facts.numbers if not facts.words(name) and not is_kept_beside(name)]
    return scores or plain_numbers or [name for name in facts.numbers if not facts.words(name)]


def _may_label(facts: Facts, name: str) -> bool:
    """Tell whether a column may name items or systems."""
    column = facts.get_column(name)
    if name in facts.named.get("value", ()) or name == facts.measure:
        return False
    if column.blank and facts.words(name)[:1] != ("topic",):
        return False
    if name in facts.taken:
        return name in (facts.roles.get("topic"), facts.roles.get("system"))
    if facts.words(name):
        return True
    if is_score(name) and is_numeric(column):
        return False
    return not is_numeric(column) or column.dates


def _may_pair(facts: Facts, item: str, system: str, values: Sequence[str]) -> bool:
    """Tell whether two columns may be items and systems: items repeat, as each has scores of several systems."""
    if facts.roles.get("topic", item) != item or facts.roles.get("system", system) != system:
        return False
    if {item, system} & set(values[:1]) and len(values) == 1:
        return False
    roles = facts.words(item), facts.words(system)
    if roles[0][:1] in (("measure",), ("shard",), ("split",)) or roles[1][:1] in (
        ("measure",),
        ("shard",),
        ("split",),
    ):
        return False
    items, systems = facts.get_column(item), facts.get_column(system)
    known = "system" in roles[1] or system == facts.roles.get("system")
    if systems.distinct == 1:
        return known and (
            not is_numeric(systems) or simplify_header(system) not in SWING or system in facts.taken
        )
    if items.distinct == facts.sheet.rows or systems.distinct == facts.sheet.rows:
        # every item once: only words can say that this is long
        both = known and ("topic" in roles[0][:1] or item == facts.roles.get("topic"))
        once = systems.distinct == facts.sheet.rows and items.distinct > 1
        plainly = (
            simplify_header(system) not in SWING
            and simplify_header(item) not in SWING
            and any(map(is_score, values))
        )
        return both and (plainly or not once) and not _has_several_scores(values)
    if known:
        return True
    # a column that no word calls a system is one only beside a single score
    return len(values) == 1 and not is_text(system) and not is_kept_beside(system)


def _has_several_scores(values: Sequence[str]) -> bool:
    return len(values) > 1 and not any(map(is_score, values))


def _rate_item(facts: Facts, name: str) -> float:
    """Points of a column as that of the items: for its name, and for how its labels look."""
    if facts.roles.get("topic") == name:
        return FORCED
    roles, names = facts.words(name), first_names(facts.get_column(name))
    points = 1.5 * (share_of_items(names) - share_of_models(names)) + is_numbered(names)
    if "topic" in roles:
        points += (
            4.0
            if roles[0] == "topic" and simplify_header(name) not in SWING
            else 2.5
            if roles[0] == "topic"
            else 1.5
        )
    elif {"task", "cluster"} & set(roles):
        points += 1.0
    elif roles:
        points -= 4.0
    elif is_text(name) or is_bookkeeping(name):
        points -= 2.0
    return points


def _rate_system(facts: Facts, name: str) -> float:
    """Points of a column as that of the systems."""
    if facts.roles.get("system") == name:
        return FORCED
    roles, names = facts.words(name), first_names(facts.get_column(name))
    looks = [name for name in names if not name.isdecimal()]
    points = 1.5 * (share_of_models(names) - (share_of_items(looks) if looks else 0.0))
    if "system" in roles:
        points += 4.0 if simplify_header(name) not in SWING else 2.5
    elif roles:
        points -= 3.0
    elif is_numeric(facts.get_column(name)):
        points -= 2.0
    return points


def _rate_counts(facts: Facts, item: str, system: str) -> float:
    """Points for more items than systems, as there mostly are."""
    ratio = facts.get_column(item).distinct / max(1, facts.get_column(system).distinct)
    points = float(np.clip(np.log2(ratio) / 2.0, -1.5, 1.5))
    return points - (2.0 if facts.get_column(system).distinct > 500 else 0.0)


def _weigh_pair(facts: Facts, points: float, item: str, system: str) -> ColumnPair:
    """Return a pair with its repeats, and points for how items and systems cross."""
    sheet = facts.sheet
    fixed = [
        name
        for role in ("measure", "shard", "split")
        for name in facts.by_word(role)
        if name not in (item, system)
    ]
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
        and simplify_header(name) not in SWING
        and is_nested(sheet.columns[system], sheet.columns[name])
    ]
    crossed = sheet.columns[item].distinct * sheet.columns[system].distinct
    share = min(1.0, count_keys([sheet.columns[item], sheet.columns[system]]) / crossed)
    plainly = (
        simplify_header(item) not in SWING
        and simplify_header(system) not in SWING
        and "topic" in facts.words(item)
        and "system" in facts.words(system)
    )
    points += 2.0 if share > 0.95 else 1.0 if share > 0.5 else -2.0 if share < 0.2 and not plainly else 0.0
    points -= 0.0 if unique else 3.0
    # items without a word for them have scores of all systems; means of runs do not
    worded = {"topic", "task", "cluster"} & set(facts.words(item)) or item in facts.taken
    listed = bool(repeat) and sheet.columns[repeat].unique and repeat not in facts.taken
    points -= 4.0 if not worded and (share < 0.9 or listed) else 0.0
    # runs of a method are repeats of it
    points -= 5.0 if nested and simplify_header(system) in SWING and system not in facts.taken else 0.0
    return ColumnPair(item, system, repeat, points, unique)


def _repeat_columns(facts: Facts, item: str, system: str) -> list[str]:
    """Return columns that may tell repeats apart by their names, surest first."""
    named = [
        name for name in facts.sheet.columns if name not in (item, system) and "instance" in facts.words(name)
    ]
    swing = [
        name
        for name in facts.sheet.columns
        if name not in (item, system, *named)
        and simplify_header(name) in SWING
        and "system" in SWING[simplify_header(name)]
        and is_nested(facts.get_column(name), facts.get_column(system))
    ]
    return sorted(named, key=lambda name: simplify_header(name) in SWING) + swing


def _same_pair(facts: Facts, best: ColumnPair, other: ColumnPair) -> bool:
    """Tell whether two pairs are the same reading: their columns tell the same rows apart."""
    return (
        best.system == other.system
        or are_alike(facts.get_column(best.system), facts.get_column(other.system))
    ) and (best.item == other.item or are_alike(facts.get_column(best.item), facts.get_column(other.item)))


def _prefer_id(facts: Facts, best: ColumnPair, pairs: Iterable[ColumnPair]) -> ColumnPair:
    """Return of columns that name the items alike, the one that is called an id."""
    if best.item in facts.taken or simplify_header(best.item).endswith("id"):
        return best
    for pair in pairs:
        called = simplify_header(pair.item).endswith("id") and simplify_header(pair.item) not in NAMELESS
        alike = pair.system == best.system and called and "topic" in facts.words(pair.item)
        if alike and are_alike(facts.get_column(pair.item), facts.get_column(best.item)):
            return replace(best, item=pair.item)
    return best


def _refuse_pairs(facts: Facts, best: ColumnPair, rival: ColumnPair) -> InputError:
    sheet = facts.sheet
    if best.system == rival.system:
        problem = f"columns {quote_column(sheet, best.item)} and {quote_column(sheet, rival.item)} both name the item"
        choices = [{"item": best.item}, {"item": rival.item}]
    elif best.item == rival.item:
        first, second = quote_column(sheet, best.system), quote_column(sheet, rival.system)
        problem = f"{first} and {second} could both be the systems"
        choices = [{"system": best.system}, {"system": rival.system}]
    else:
        problem = f"{quote_column(sheet, best.item)} and {quote_column(sheet, best.system)} could be items and systems"
        choices = [{"item": pair.item, "system": pair.system} for pair in (best, rival)]
    return refuse_readings(sheet, problem, choices)


def read_long(facts: Facts, pair: ColumnPair) -> Reading:
    """Return the reading of a long table, of which items and systems are known."""
    sheet = facts.sheet
    roles = {"topic": pair.item, "system": pair.system} | facts.roles
    omitted: dict[str, str] = {}
    for role in ("measure", "shard", "split", "task", "cluster"):
        for name in facts.by_word(role):
            if name in roles.values() or role in roles:
                continue
            if sheet.columns[name].constant and role in ("task", "cluster"):
                omitted[name] = "constant"
            elif role == "measure" and is_numeric(sheet.columns[name]):
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
        if {"topic", "system"} & set(facts.words(name)) and not (is_score(name) and is_numeric(sheet.columns[name]))
    ]  # fmt: skip
    for name in same:
        like = next(
            (
                roles[r]
                for r in ("topic", "system")
                if are_alike(sheet.columns[name], sheet.columns[roles[r]])
            ),
            "",
        )
        omitted[name] = (
            f"says the same as {like or 'another'}"
            if like
            else "constant"
            if sheet.columns[name].constant
            else "not needed"
        )
    rest = [name for name in rest if name not in omitted]
    scores, others = _choose_scores(facts, roles, rest)
    roles = _settle_unpaired(facts, roles)
    omitted = {name: why for name, why in (omitted | others).items() if name not in roles.values()}
    return Reading(sheet, roles, scores, False, omitted)


def _settle_unpaired(facts: Facts, roles: Mapping[str, str]) -> dict[str, str]:
    """Return the roles of a table in which no item has scores of two systems; refuse it unless that is sure.

    It is sure where the caller names both columns, or items are people, who may see one system each. Where people have
    several rows that a column names, rows are the items and people their clusters.
    """
    sheet, settled = facts.sheet, dict(roles)
    items, systems = sheet.columns[roles["topic"]], sheet.columns[roles["system"]]
    if sheet.rows < UNPAIRED or systems.distinct < 2 or count_keys([items, systems]) != items.distinct:
        return settled
    item, system = (
        clean_noun(simplify_header(roles["topic"])) or "item",
        clean_noun(simplify_header(roles["system"])) or "system",
    )
    named = {"topic", "system"} <= set(facts.roles)
    if not named and simplify_header(roles["topic"]) not in PEOPLE:
        raise InputError(
            f"no {item} has scores of two {pluralize_noun(system)}",
            where=sheet.source,
            remedy=(
                f"name the same {pluralize_noun(item)} alike; if each met one {system} only, add ",
                Option("columns", f"item={roles['topic']},system={roles['system']}"),
            ),
        )
    if sheet.rows > items.distinct and "cluster" not in settled:
        taken = {name for role, name in roles.items() if role != "instance"}
        rows = [name for name, column in sheet.columns.items() if name not in taken and column.unique]
        rows = [name for name in rows if not is_numeric(sheet.columns[name]) or sheet.columns[name].whole]
        if rows:
            settled |= {"cluster": settled["topic"], "topic": rows[0]}
            settled.pop("instance", None)
    return settled


def _refuse_unknown_repeats(facts: Facts, roles: Mapping[str, str], rest: Sequence[str]) -> None:
    """Refuse several scores of a cell that a column of another name tells apart."""
    sheet = facts.sheet
    keys = [sheet.columns[name] for role, name in roles.items() if role not in ("value", "cluster")]
    for name in rest:
        if name in facts.taken or (is_score(name) and is_numeric(sheet.columns[name])):
            continue
        column = sheet.columns[name]
        labels = not pa.types.is_floating(column.data.type) and (not is_numeric(column) or column.whole)
        if labels and not column.unique and count_keys([*keys, column]) == sheet.rows:
            system, item = (
                clean_noun(simplify_header(roles["system"])),
                clean_noun(simplify_header(roles["topic"]) or "item"),
            )
            raise InputError(
                f"has several scores of one {system} on one {item}",
                where=sheet.source,
                remedy=(
                    f"if {name!r} identifies the repeats, say ",
                    Option("columns", Choice({"repeat": name})),
                ),
                argument="columns",
                choices=[Choice({"repeat": name})],
            )


def _choose_scores(
    facts: Facts, roles: Mapping[str, str], rest: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns of scores of a long table, and why others are none."""
    sheet = facts.sheet
    if "value" in facts.named:
        return facts.named["value"], {}
    numbers = [name for name in rest if name in facts.numbers]
    texts = {name: explain_text(sheet.columns[name]) for name in rest if name not in numbers}
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
                "has a column of measures but none of values"
                if not values
                else f"has {len(values)} columns of values",
                where=sheet.source,
                remedy="call the values value or score",
            )
        return (values[0],), texts
    if words:
        return tuple(words), texts | {name: "no score" for name in numbers if name not in words}
    kept = [name for name in numbers if not is_kept_beside(name) and not sheet.columns[name].counts]
    varied = [name for name in kept if not sheet.columns[name].constant]
    kept = varied if varied and sheet.rows >= FEW else kept
    if not kept:
        kept = [name for name in numbers if not ENDS_IN_ID.search(name)] or numbers
        if len(kept) > 1:
            raise refuse_readings(
                sheet,
                f"has {len(kept)} columns of numbers ({', '.join(kept)})",
                [{"score": name} for name in kept[:2]],
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
    others = {
        name: "constant" if sheet.columns[name].constant else "no score"
        for name in numbers
        if name not in kept
    }
    return tuple(kept), texts | others
