"""Every way in which a table may be read, with the points that speak for each: structure first, words second.

A feature is a row of ``FEATURES``; a candidate lists how strongly each feature holds. Long tables have a row for
each item and system, wide ones a column for each system, turned ones a row for each system; the columns of others are
measures, or repeats, of one system, or the rows are means of systems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import Literal

import numpy as np

from shardwise.io.tables import signs
from shardwise.io.tables.facts import FEW, MOST_ARMS, Facts, is_kept_beside
from shardwise.io.tables.sheet import FIRST
from shardwise.io.tables.words import (
    ARMS,
    NAMELESS,
    PEOPLE,
    REPEATS,
    SUMMARIES,
    find_measure,
    is_bookkeeping,
    is_numbered,
    is_score,
    is_text,
    is_value,
    share_of_items,
    share_of_models,
    simplify_header,
    split_words,
)

FEATURES = """
# what headers say
 20.0  item, as the caller says
  4.0  item by its word
  2.5  item by a word that means more
  1.5  item by the second meaning of a word
  1.0  task or cluster as item
  1.0  rows have names of their own
  2.0  first column as item
 -1.0  slice as item
 -4.0  other word for the item
 -1.0  numbers that no word names as item
 -2.0  text or bookkeeping as item
 -3.0  rows without names
  2.5  no column of names
 20.0  system, as the caller says
  4.0  system by its word
  2.5  system by a word that means more
  2.0  group of an experiment
 -3.0  other word for the system
 -2.0  system of numbers
 -3.0  text or bookkeeping as system
 -4.0  more systems than items, and nothing says that they are systems
 -2.0  one system beside a column of several
 -1.0  rows named otherwise than systems
 -4.0  rows named as items

# how names look
  1.5  names of items look so
  1.0  names of items are numbered
  1.5  names of systems look so
  2.0  columns look like systems
 -5.0  columns are counted
  1.0  columns are numbered rather than rows

# how labels cross
  1.0  more items than systems
 -2.0  hundreds of systems
  2.0  all items have all systems
  1.0  many items have many systems
 -2.0  few items have several systems
  2.0  items and systems cross completely
 -3.0  several scores of one cell
 -1.5  several scores of one cell, by a column that no word names
 -3.0  more tasks than items
 -4.0  items that no word names and not all systems have
 -5.0  runs of a system as systems
  1.0  items are described by other columns
 -2.0  several numbers beside systems that no word names
  1.0  shape

# what columns of numbers have in common
  1.0  columns share a measure
 -6.0  nothing says that columns share a measure
 -4.0  columns are measures
 -4.0  columns are statistics of others
 -2.0  columns are kept beside scores
 -4.0  a column says that it holds the scores
 -5.0  a column of systems is left out
 -5.0  a column of items is left out
 -1.5  columns of labels are left out
 -6.0  labels that cross are left out
  3.0  measures of one system
  4.0  rows hold means

# votes
 12.0  two columns name opponents
  6.0  a column says which won
"""
POINTS = {
    line[5:].strip(): float(line[:5]) for line in FEATURES.splitlines() if line and not line.startswith("#")
}
"""What may speak for and against a reading, with its points."""
AHEAD = 3.0  # points by which a reading has to be better than any other
ENOUGH = 3.0  # points that a reading needs
MOST_PAIRS = 8  # pairs of columns whose crossing is looked at
MOST_LABELS = 16  # columns of labels that may be crossed
FAR_APART = 1.0  # powers of ten within which numbers are of one scale

Shape = Literal["long", "wide", "turned", "folds", "measures", "means"]


@dataclass(frozen=True)
class Candidate:
    """A way to read a table, and what speaks for it."""

    shape: Shape
    item: str | None
    system: str | None = None
    repeat: str | None = None
    task: str | None = None
    scores: tuple[str, ...] = ()
    features: dict[str, float] = field(default_factory=dict)
    unique: bool = True  # whether every cell has one score
    factor: str | None = None  # a column that no word names, and that tells several scores of a cell apart
    apart: bool = False  # whether no item has scores of two systems

    @cached_property
    def points(self) -> float:
        """Sum of the points of all features."""
        return sum(POINTS[name] * times for name, times in self.features.items())


def list_candidates(facts: Facts) -> list[Candidate]:
    """Return all readings of a table that agree with what the caller says, best first."""
    if not facts.sheet.rows:
        return []
    candidates = [] if facts.single else [*_list_long(facts)]
    candidates += _list_wide(facts)
    return sorted(candidates, key=lambda candidate: -candidate.points)


def are_same(facts: Facts, best: Candidate, other: Candidate) -> bool:
    """Tell whether a candidate gives the same scores as the best one: columns that tell the same rows apart.

    One whose items are groups of the best one's items, such as their domains, is no other reading, either.
    """
    if best.shape != other.shape:
        return False
    if best.shape != "long" and None in (best.item, other.item):
        return True
    if not facts.are_alike(best.system, other.system):
        return False
    if facts.are_alike(best.item, other.item):
        return True
    if best.item is None or other.item is None or other.item in facts.taken:
        return False
    return (
        not other.unique and not are_both_items(facts, best, other) and facts.is_nested(best.item, other.item)
    )


def are_both_items(facts: Facts, best: Candidate, other: Candidate) -> bool:
    """Tell whether the headers of two columns say alike that they hold the items."""
    names = [best.item, other.item]
    plain = all(
        name is not None and facts.is_plain(name) and "topic" in facts.words(name)[:1] for name in names
    )
    return plain and (best.shape, best.system) == (other.shape, other.system)


# headers and names ---------------------------------------------------------------------------------------------------


def _rate_item(facts: Facts, name: str) -> dict[str, float]:
    """Return what speaks for a column as that of the items: its header, and how its labels look."""
    if facts.roles.get("topic") == name:
        return {"item, as the caller says": 1.0}
    roles, names = facts.words(name), facts.columns[name].first_names
    features = {
        "names of items look so": share_of_items(names) - share_of_models(names),
        "names of items are numbered": float(is_numbered(names)),
    }
    if "topic" in roles:
        plain = "item by its word" if facts.is_plain(name) else "item by a word that means more"
        features[plain if roles[0] == "topic" else "item by the second meaning of a word"] = 1.0
    elif {"task", "cluster"} & set(roles):
        features["task or cluster as item"] = 1.0
    elif "slice" in roles:
        features["slice as item"] = 1.0
    elif _is_count(facts, name):
        return {"numbers that no word names as item": 1.0}
    elif roles:
        features["other word for the item"] = 1.0
    elif is_text(name) or is_bookkeeping(name):
        features["text or bookkeeping as item"] = 1.0
    return features


def _rate_system(facts: Facts, name: str) -> dict[str, float]:
    """Return what speaks for a column as that of the systems."""
    if facts.roles.get("system") == name:
        return {"system, as the caller says": 1.0}
    roles, names = facts.words(name), facts.columns[name].first_names
    looks = [label for label in names if not label.isdecimal()]
    features = {
        "names of systems look so": share_of_models(names) - (share_of_items(looks) if looks else 0.0)
    }
    if "system" in roles:
        features["system by its word" if facts.is_plain(name) else "system by a word that means more"] = 1.0
    elif roles:
        features["other word for the system"] = 1.0
    elif facts.columns[name].is_numeric:
        features["system of numbers"] = 1.0
    if "system" not in roles and (is_text(name) or is_kept_beside(name)):
        features["text or bookkeeping as system"] = float(not roles)
    return features


# long tables ---------------------------------------------------------------------------------------------------------


def list_values(facts: Facts) -> list[str]:
    """Return columns that may hold the scores of a long table."""
    if "value" in facts.named:
        return list(facts.named["value"])
    if facts.measure in facts.columns:
        return [str(facts.measure)]
    if not facts.numbers:
        # words where scores should be, which are refused as such
        return [name for name in facts.columns if is_score(name) and not facts.columns[name].blank]
    scores = [name for name in facts.numbers if is_score(name)]
    plain = [name for name in facts.numbers if not facts.words(name) and not is_kept_beside(name)]
    return scores or plain or [name for name in facts.numbers if not facts.words(name)]


def _may_label(facts: Facts, name: str) -> bool:
    """Tell whether a column may name items or systems."""
    column = facts.columns[name]
    if name in facts.taken or name == facts.measure:
        return name in (facts.roles.get("topic"), facts.roles.get("system"))
    if facts.words(name)[:1] in (("measure",), ("shard",), ("split",)):
        return False
    if column.blank:
        return facts.words(name)[:1] == ("topic",)
    if is_score(name) and column.is_numeric:
        return False
    return bool(facts.words(name)) or not column.is_numeric or column.dates or _may_count(facts, name)


def _may_count(facts: Facts, name: str) -> bool:
    """Tell whether numbers that no word names may be labels: they repeat, and are whole or called after a size."""
    column = facts.columns[name]
    return 1 < column.distinct <= facts.sheet.rows / 2 and (column.whole or is_kept_beside(name))


def _list_long(facts: Facts) -> Iterator[Candidate]:
    """List pairs of columns that may be items and systems, and columns of systems whose rows have no names."""
    values = list_values(facts)
    if not values:
        return
    labels = [name for name in facts.columns if _may_label(facts, name)][:MOST_LABELS]
    items = {name: _rate_item(facts, name) for name in labels}
    systems = {name: _rate_system(facts, name) for name in labels}
    pairs = [
        Candidate(
            "long",
            item,
            system,
            features={**items[item], **systems[system], **_rate_counts(facts, item, system)},
        )
        for item, system in permutations(labels, 2)
        if _may_pair(facts, item, system, values)
    ]
    pairs.sort(key=lambda candidate: -candidate.points)
    likely = [pair for pair in pairs if pair.points >= pairs[0].points - AHEAD - 3.0][:MOST_PAIRS]
    crossed = [_cross_pair(facts, pair, values) for pair in likely]
    yield from crossed
    paired = any(pair.unique and not pair.apart and pair.points > 0.0 for pair in crossed)
    if "topic" not in facts.named and not paired and not facts.by_word("measure"):
        yield from _list_unnamed_rows(facts, systems, values)


def _list_unnamed_rows(
    facts: Facts, systems: dict[str, dict[str, float]], values: Sequence[str]
) -> Iterator[Candidate]:
    """List columns of systems, or of groups of an experiment, whose rows nothing names: each row is an item."""
    for name, features in systems.items():
        column = facts.columns[name]
        worded = "system" in facts.words(name) and facts.is_plain(name)
        forced = name == facts.roles.get("system")
        if (
            (worded or forced)
            and 1 < column.distinct <= min(MOST_ARMS, facts.sheet.rows / 2)
            and not column.is_numeric
        ):
            group = float(simplify_header(name) in ARMS or split_words(name)[-1] in ARMS)
            features = {**features, "rows without names": 1.0, "group of an experiment": group}
            yield Candidate("long", None, name, features=features, scores=tuple(values), apart=True)


def _may_pair(facts: Facts, item: str, system: str, values: Sequence[str]) -> bool:
    """Tell whether two columns may be items and systems: items repeat, as each has scores of several systems."""
    if facts.roles.get("topic", item) != item or facts.roles.get("system", system) != system:
        return False
    if {item, system} >= set(values):
        return False
    items, systems, rows = facts.columns[item], facts.columns[system], facts.sheet.rows
    words = facts.words(item), facts.words(system)
    forced = system == facts.roles.get("system")
    known = "system" in words[1] or forced
    if words[0][:1] == ("instance",) or (words[1][:1] == ("instance",) and not known):
        return False
    if systems.distinct == 1:
        return known and (not systems.is_numeric or facts.is_plain(system) or forced)
    if rows in (items.distinct, systems.distinct):
        # every item once: people who met one system each, or words that say that this is long
        if not (known and ("topic" in words[0][:1] or item == facts.roles.get("topic"))):
            return False
        plain = facts.is_plain(item) and facts.is_plain(system) and any(map(is_score, values))
        once = systems.distinct == rows and items.distinct > 1
        several = len(values) > 1 and not any(map(is_score, values))
        return (plain or not once) and (not several or simplify_header(item) in PEOPLE)
    if _is_count(facts, item) or (_is_count(facts, system) and not known):
        enough = known or items.distinct * systems.distinct == rows
        return rows >= 6 and enough and facts.count(item, system) == rows and not _find_key(facts, item)[2]
    return (
        known
        or bool(words[1])
        or not (is_text(system) or is_kept_beside(system))
        or _cross_completely(facts, item, system)
    )


def _cross_completely(facts: Facts, a: str, b: str) -> bool:
    """Tell whether two columns have every combination of their labels, once."""
    rows = facts.sheet.rows
    product = facts.columns[a].distinct * facts.columns[b].distinct
    return rows >= 6 and product == rows == facts.count(a, b)


def _is_count(facts: Facts, name: str) -> bool:
    return not facts.words(name) and name not in facts.taken and facts.columns[name].is_numeric


def _rate_counts(facts: Facts, item: str, system: str) -> dict[str, float]:
    """Return what speaks for a pair by the number of items and systems: mostly there are more items."""
    systems = facts.columns[system].distinct
    ratio = facts.columns[item].distinct / max(1, systems)
    return {
        "more items than systems": float(np.clip(np.log2(ratio) / 2.0, -1.5, 1.5)),
        "hundreds of systems": float(systems > 500),
    }


def _cross_pair(facts: Facts, pair: Candidate, values: Sequence[str]) -> Candidate:
    """Return a pair with its repeats, and with what speaks for it by how items and systems cross."""
    item, system = str(pair.item), str(pair.system)
    sheet = facts.sheet
    scores = tuple(name for name in values if name not in (item, system))
    repeat, task, unique = _find_key(facts, item, system)
    factor = None if unique else _find_factor(facts, item, system)
    items, systems = facts.columns[item].distinct, facts.columns[system].distinct
    share = min(1.0, facts.count(item, system) / (items * systems))
    apart = systems > 1 and facts.count(item, system) == items
    known = "system" in facts.words(system) or system in facts.taken
    worded = {"topic", "task", "cluster", "slice"} & set(facts.words(item)) or item in facts.taken
    plain = facts.is_plain(item) and facts.is_plain(system) and "topic" in facts.words(item) and known
    listed = repeat is not None and sheet.columns[repeat].unique and repeat not in facts.taken
    people = apart and simplify_header(item) in PEOPLE
    tasks = [facts.columns[name].distinct for name in facts.by_word("task") if name not in (item, system)]
    unnamed = 0 if any(map(is_score, scores)) else min(2, max(0, len(scores) - 2))
    nested = [
        name
        for name in sheet.columns
        if name not in (item, system)
        and "system" in facts.words(name)
        and facts.is_plain(name)
        and facts.is_nested(system, name)
    ]
    features = pair.features | {
        "all items have all systems": float(share > 0.95),
        "many items have many systems": float(0.5 < share <= 0.95),
        "few items have several systems": float(share < 0.2 and not plain),
        "items and systems cross completely": float(_cross_completely(facts, item, system)),
        "several scores of one cell": float(not unique and not people and factor is None),
        "several scores of one cell, by a column that no word names": float(factor is not None),
        "more systems than items, and nothing says that they are systems": float(
            systems > items and not known and pair.features.get("names of systems look so", 0.0) <= 0.0
        ),
        "more tasks than items": float(not worded and max(tasks, default=0) > items),
        "one system beside a column of several": float(
            systems == 1 and any(_names_systems(facts, name, pair) for name in sheet.columns)
        ),
        "items that no word names and not all systems have": float(not worded and (share < 0.9 or listed)),
        "runs of a system as systems": float(
            bool(nested) and not facts.is_plain(system) and system not in facts.taken
        ),
        "items are described by other columns": float(_is_described(facts, item, system)),
        "several numbers beside systems that no word names": float(len(scores) > 1 and not known)
        * (1 + unnamed),
    }
    return replace(
        pair,
        repeat=repeat,
        task=task,
        scores=scores,
        features=features,
        unique=unique,
        factor=factor,
        apart=apart,
    )


def _is_described(facts: Facts, item: str, system: str) -> bool:
    """Tell whether texts of other columns go with the items, and not with the systems."""
    if facts.columns[item].unique:
        return False
    texts = [
        name
        for name, column in facts.columns.items()
        if name not in (item, system, *facts.taken)
        and not column.is_numeric
        and 1 < column.distinct <= facts.columns[item].distinct
    ]
    return any(
        facts.count(item, name) == facts.columns[item].distinct
        and facts.count(system, name) > facts.columns[system].distinct
        for name in texts[:MOST_PAIRS]
    )


def _find_key(facts: Facts, *names: str) -> tuple[str | None, str | None, bool]:
    """Return the repeat and the slice that, with items and perhaps systems, tell all rows apart, and whether any do."""
    rows = facts.sheet.rows
    fixed = [
        name
        for role in ("task", "measure", "shard", "split")
        for name in facts.by_word(role)
        if name not in names
    ]
    slices = [name for name in facts.by_word("slice") if name not in names]
    forced = facts.roles.get("instance")
    if forced is not None:
        return forced, None, facts.count(*names, *fixed, forced) == rows
    if facts.count(*names, *fixed) == rows:
        return None, None, True
    for task in (None, *slices):
        keys = [*names, *fixed, *([task] if task is not None else [])]
        if task is not None and facts.count(*keys) == rows:
            return None, task, True
        for repeat in _list_repeats(facts, names):
            if facts.count(*keys, repeat) == rows:
                return repeat, task, True
    return None, None, False


def _find_factor(facts: Facts, item: str, system: str) -> str | None:
    """Return a column of another name that, with repeats, tells several scores of a cell apart; or None."""
    rows = facts.sheet.rows
    repeats = [(), *((name,) for name in _list_repeats(facts, (item, system)))]
    for name, column in facts.columns.items():
        if name in (item, system) or facts.words(name) or name in facts.taken:
            continue
        if column.blank or column.unique or column.constant:
            continue
        if column.is_numeric and (is_score(name) or not _may_count(facts, name)):
            continue
        if any(name not in more and facts.count(item, system, name, *more) == rows for more in repeats):
            return name
    return None


def _list_repeats(facts: Facts, names: Sequence[str]) -> list[str]:
    """Return columns that may tell repeats apart by their names, surest first."""
    others = [name for name in facts.columns if name not in names]
    worded = [name for name in others if "instance" in facts.words(name)]
    swing = [
        name
        for name in others
        if name not in worded
        and not facts.is_plain(name)
        and "system" in facts.words(name)
        and facts.is_nested(name, names[-1])
    ]
    return sorted(worded, key=lambda name: not facts.is_plain(name)) + swing


# wide tables, and others with a row for each item or system ----------------------------------------------------------


def _list_wide(facts: Facts) -> Iterator[Candidate]:
    """List columns that may name the rows, with what the columns of numbers may be then."""
    sheet = facts.sheet
    forced = facts.roles.get("topic")
    for item in (*(name for name in sheet.columns if _may_name_rows(facts, name)), None):
        if (forced is not None and item != forced) or (item is None and _has_row_names(facts)):
            continue
        repeat, task, unique = _find_key(facts, item) if item is not None else (None, None, True)
        if item is not None and "topic" not in facts.words(item)[:1] and item != forced:
            tasks = [name for name in facts.by_word("task") if name != item]
            if not unique or (tasks and facts.count(*tasks) == sheet.rows):
                continue
        scores = list_score_columns(facts, item, repeat)
        if not scores:
            continue
        rows = {} if item is None else _rate_item(facts, item)
        if item is None:
            rows = {"no column of names" if len(scores) == len(sheet.columns) else "rows without names": 1.0}
        elif item == facts.first and not facts.words(item):
            rows |= {"first column as item": 1.0, "text or bookkeeping as item": 0.0}
        rows["several scores of one cell"] = float(not unique)
        rows["rows have names of their own"] = float(item is not None and unique)
        base = Candidate("wide", item, None, repeat, task, scores, rows, unique)
        yield from _list_shapes(facts, base)


def _list_shapes(facts: Facts, base: Candidate) -> Iterator[Candidate]:
    """List what the columns of numbers may be, beside a column that names the rows."""
    names, rows = base.scores, base.features
    plain = [name for name in names if not is_kept_beside(name)] or list(names)
    measured = sum(map(is_score, names)) / len(names)
    heads = list(names[:FIRST])
    looks = share_of_models(heads) - share_of_items(heads)
    sharing = rate_sharing(facts, plain)
    stem = len({tuple(split_words(name)[:1]) for name in plain}) == 1 or bool(name_measure(plain))
    ratio = facts.sheet.rows / len(names)
    shape = 1.0 if ratio >= 2.0 or base.item is None else -1.0 if ratio < 0.5 else 0.0
    counted = are_counted(names)
    columns = {
        "columns share a measure": sharing,
        "nothing says that columns share a measure": float(sharing <= 0.0 and looks <= 0.0 and not stem),
        "columns are measures": measured,
        "columns are statistics of others": _share_statistics(names),
        "columns are kept beside scores": sum(map(is_kept_beside, names)) / len(names),
    }
    dropped = {
        "a column of systems is left out": float(
            any(_names_systems(facts, name, base) for name in facts.columns)
        ),
        "columns of labels are left out": float(min(3, len(_list_dropped(facts, base)))),
        "labels that cross are left out": float(_is_crossed(facts, base)),
    }
    wide = {
        "columns look like systems": looks,
        "columns are counted": float(counted),
        "a column says that it holds the scores": float(len(names) > 1 and any(map(is_value, names))),
        "shape": shape,
    }
    if not facts.single:
        yield replace(base, features={**rows, **columns, **dropped, **wide})
    if base.item is None:
        if facts.single or all(map(is_score, names)):
            yield replace(base, shape="measures", features={**rows, **dropped, "measures of one system": 1.0})
        return
    if counted and not facts.single:
        # numbers may be the names of items, too, unless a word or the shape says that rows are items
        sure = facts.is_plain(base.item) or not names[0].isdecimal() or shape > 0.0
        yield replace(
            base, shape="folds", features={**rows, **dropped, "measures of one system": float(sure)}
        )
    chosen = facts.measure in names or "value" in facts.named
    measures = measured or len(names) == 1
    if facts.single or chosen or (measures and all(is_score(n) or is_kept_beside(n) for n in names)):
        # also one that names the same system throughout
        systems = [
            name
            for name in facts.by_word("system")
            if name != base.item and (facts.is_plain(name) or "instance" in facts.words(name))
        ]
        features = {**rows, **dropped, "measures of one system": 1.0 + 2.0 * (chosen and not systems)}
        features["a column of systems is left out"] = float(bool(systems) and "system" not in facts.named)
        features["several scores of one cell"] = 2.0 * (not base.unique)
        yield replace(base, shape="measures", features=features)
    if (
        not facts.columns[base.item].unique
        or _is_count(facts, base.item)
        or facts.single
        or chosen
        or "topic" in facts.named
    ):
        return
    items = [
        name for name in facts.by_word("topic") if facts.is_plain(name) and name not in (base.item, *names)
    ]
    dropped["a column of items is left out"] = float(bool(items))
    labels = facts.columns[base.item].first_names
    turned = _rate_rows(facts, base.item) | {
        "names of systems look so": (share_of_models(labels) - share_of_items(labels)) * 4 / 3,
        "columns look like systems": -looks,
        "columns are numbered rather than rows": float(is_numbered(heads)) - float(is_numbered(labels)),
        "shape": -shape,
    }
    if len(plain) > 1:
        yield replace(base, shape="turned", system=base.item, features={**turned, **columns, **dropped})
    means = {
        name: turned.get(name, 0.0) for name in (*_rate_rows(facts, base.item), "names of systems look so")
    }
    named = sum(is_score(name) or is_kept_beside(name) for name in names) / len(names)
    lost = "a column of items is left out"
    means |= {"rows hold means": max(named, -sharing), lost: dropped[lost]}
    named = "system" in facts.words(base.item) or base.item in facts.taken
    if means["rows hold means"] >= 0.5 and (named or means["names of systems look so"] > 0.0):
        yield replace(base, shape="means", system=base.item, features=means)


def _rate_rows(facts: Facts, name: str) -> dict[str, float]:
    """Return what the header of the rows' names says for their being systems."""
    if facts.roles.get("system") == name:
        return {"system, as the caller says": 1.0}
    roles = facts.words(name)
    if "system" in roles:
        return {"system by its word" if facts.is_plain(name) else "system by a word that means more": 1.0}
    named = ("topic" in roles and facts.is_plain(name)) or {"task", "cluster", "slice"} & set(roles)
    return {"rows named as items" if named else "rows named otherwise than systems": 1.0}


def _may_name_rows(facts: Facts, name: str) -> bool:
    """Tell whether a column may name the rows: by its word, as the first, or as its cells are texts that all differ."""
    column = facts.columns[name]
    if name in facts.taken or column.blank:
        return name in (facts.roles.get("topic"), facts.roles.get("system")) and not column.blank
    roles = facts.words(name)
    if roles[:1] in (("measure",), ("shard",), ("split",), ("instance",)):
        return False
    if not column.is_numeric or column.dates:
        return column.unique or bool({"topic", "task", "slice", "cluster"} & set(roles))
    if is_score(name):
        return False
    if "topic" in roles and (facts.is_plain(name) or name == facts.first or column.unique):
        return name == facts.first or not _is_scored(facts, name)
    if {"task", "cluster", "slice"} & set(roles):
        return column.whole
    if name != facts.first:
        return False
    return (
        column.unique and facts.is_plain(name)
        if "system" in roles
        else not roles and _numbers_rows(facts, name)
    )


def _has_row_names(facts: Facts) -> bool:
    """Tell whether a column names the rows by its word, or as the first: then they have names."""
    return any(
        _may_name_rows(facts, name)
        and ("topic" in facts.words(name)[:1] or (name == facts.first and facts.columns[name].unique))
        for name in facts.columns
    )


def _numbers_rows(facts: Facts, name: str) -> bool:
    """Tell whether numbers in the first column name the rows: they go up, or differ in kind from the scores."""
    column = facts.columns[name]
    values = column.values
    if share_of_models([name]) or not column.unique or not np.isfinite(values).all() or len(values) < 3:
        return False
    rises = bool((np.diff(values) > 0).all())
    if not column.counts:
        return rises and is_kept_beside(name)
    others = [facts.columns[other].values for other in facts.numbers if other != name]
    return rises or (
        bool(others)
        and (signs.is_of_another_scale(values, others) or signs.is_of_another_kind(values, others))
    )


def _is_scored(facts: Facts, name: str) -> bool:
    """Tell whether a column with a word for items or systems holds numbers as other columns do: it is a system."""
    column = facts.columns[name]
    if not column.is_numeric or column.words or column.counts:
        return False
    plain = [facts.columns[other] for other in facts.numbers if other != name and not facts.words(other)]
    others = [other.values for other in plain]
    if not others or signs.is_of_another_scale(column.values, others):
        return False
    top = max(float(np.nanmax(np.abs(other), initial=0.0)) for other in others)
    alike = all(other.whole for other in plain) and np.nanmax(np.abs(column.values), initial=0.0) <= top
    return not column.whole or bool(alike)


def list_score_columns(facts: Facts, item: str | None, repeat: str | None) -> tuple[str, ...]:
    """Return the columns of numbers of a table with a row for each item."""
    if "value" in facts.named:
        return facts.named["value"]
    names = [name for name in facts.columns if name not in (item, repeat, *facts.taken)]
    return tuple(name for name in names if _may_score(facts, name))


def _may_score(facts: Facts, name: str) -> bool:
    """Tell whether a column may hold scores, perhaps with words among them."""
    column, roles = facts.columns[name], facts.words(name)
    if name in facts.sheet.empty:
        return True
    if not column.is_numeric:
        if column.blank or column.dates or is_text(name) or is_kept_beside(name) or roles:
            return False
        finite = float(np.isfinite(column.values).mean())
        return finite >= 0.1 and finite * len(column.data) >= 2
    if not roles or roles == ("measure",) or not facts.is_plain(name):
        return True
    if roles[0] in ("topic", "system"):
        return _is_scored(facts, name)
    return roles[0] != "instance" and not column.whole


def rate_sharing(facts: Facts, names: Sequence[str]) -> float:
    """Return how far the numbers of columns are of one scale: 1 where nearly all are, -1 where many are not."""
    arrays = [facts.columns[name].values for name in names[: 4 * FIRST]]
    tops = np.array([np.quantile(np.abs(v[np.isfinite(v)]), 0.95) for v in arrays if np.isfinite(v).any()])
    tops = np.sort(tops[tops > 0.0])
    if len(tops) < 2 or tops[-1] <= 1.0:
        return 1.0
    finite = [v[np.isfinite(v)] for v in arrays]
    varied = [v for v in finite if len(np.unique(v)) > 1] if facts.sheet.rows >= 2 * FEW else []
    verdicts = [bool(np.isin(v, (0.0, 0.5, 1.0)).all()) for v in varied]
    whole = [float((v == np.round(v)).mean()) for v in varied if v.max() > 1.0 or (v % 1.0 > 0.0).all()]
    if (any(verdicts) and not all(verdicts)) or (0.0 in whole and 1.0 in whole):
        return -1.0
    logs = np.log10(tops)
    share = max(np.searchsorted(logs, low + FAR_APART, side="right") - k for k, low in enumerate(logs)) / len(
        logs
    )
    return 1.0 if share >= 0.75 else -1.0


def _share_statistics(names: Sequence[str]) -> float:
    """Return the share of columns that are called after another column and a statistic: loss, loss__MIN, loss__MAX."""
    words = {tuple(split_words(name)) for name in names}
    return sum(w[-1] in SUMMARIES and w[:-1] in words for w in words if w) / len(names)


def are_counted(names: Sequence[str]) -> bool:
    """Tell whether names of columns count: 0, 1, 2 … or fold_1, fold_2 …

    >>> are_counted(["0", "1", "2"]), are_counted(["seed 1", "seed 2", "seed 3"]), are_counted(["2019", "2020", "2021"])
    (True, True, False)
    """
    parts = [split_words(name) for name in names]
    if len(names) < 3 or not all(words and words[-1].isdecimal() for words in parts):
        return False
    stems = {tuple(words[:-1]) for words in parts}
    numbers = [int(words[-1]) for words in parts]
    repeated = stems == {()} or stems <= {(word,) for word in REPEATS}
    return (
        len(stems) == 1
        and repeated
        and numbers[0] in (0, 1)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )


def _names_systems(facts: Facts, name: str, base: Candidate) -> bool:
    """Tell whether a column that a reading leaves out names systems, by its word."""
    if name in (base.item, base.system, base.repeat, *base.scores, *facts.taken):
        return False
    column = facts.columns[name]
    worded = "system" in facts.words(name) and facts.is_plain(name)
    return worded and not column.is_numeric and not column.constant


def _list_dropped(facts: Facts, base: Candidate) -> list[str]:
    """Return columns of labels that a reading leaves out, and that are neither text nor a slice."""
    return [
        name
        for name, column in facts.columns.items()
        if name not in (base.item, base.repeat, base.task, *base.scores, *facts.taken)
        and not column.is_numeric
        and not column.blank
        and not column.dates
        and 1 < column.distinct <= facts.sheet.rows / 2
        and not is_text(name)
        and not is_kept_beside(name)
        and not {"slice", "task", "cluster", "measure", "shard", "split", "instance"} & set(facts.words(name))
    ]


def _is_crossed(facts: Facts, base: Candidate) -> bool:
    """Tell whether two columns cross completely that a reading takes for scores, or leaves out: items and systems."""
    rows = facts.sheet.rows
    keyed = base.repeat is not None and base.item is not None and base.unique
    if rows < 6 or keyed:
        return False
    names = []
    for name, column in facts.columns.items():
        labels = not column.blank and (not column.is_numeric or (column.whole and not is_score(name)))
        if labels and name not in facts.taken and 1 < column.distinct < rows and rows % column.distinct == 0:
            names.append(name)
    return any(
        facts.columns[a].distinct * facts.columns[b].distinct == rows == facts.count(a, b)
        for k, a in enumerate(names[:10])
        for b in names[k + 1 : 10]
    )


def prefer_id(facts: Facts, best: Candidate, candidates: Sequence[Candidate]) -> Candidate:
    """Return of candidates that name the items alike, the one whose items are called an id."""
    if best.item is None or best.item in facts.taken or simplify_header(best.item).endswith("id"):
        return best
    for other in candidates:
        word = simplify_header(other.item or "")
        called = word.endswith("id") and word not in NAMELESS and "topic" in facts.words(other.item or "")
        if (
            called
            and (other.shape, other.system) == (best.shape, best.system)
            and facts.are_alike(best.item, other.item)
        ):
            return replace(best, item=other.item)
    return best


def name_measure(names: Sequence[str]) -> str:
    """Return the measure that the names of columns share, as their last or first word; nothing where they share none.

    >>> name_measure(["asr1_WER", "asr2_WER"]), name_measure(["hit3_base", "hit3_new"]), name_measure(["a", "b"])
    ('WER', 'hit3', '')
    """
    for part in (-1, 0):
        ends = {split_words(name)[part] if split_words(name) else "" for name in names}
        if len(names) > 1 and len(ends) == 1 and find_measure(next(iter(ends))):
            word = next(iter(ends))
            first = names[0]
            return first[len(first) - len(word) :] if part else first[: len(word)]
    return ""
