"""Every way in which a table may be read, with the points that speak for each: structure first, words second.

A feature is a row of ``points.txt``; a reading lists how strongly each feature holds. Long tables have a row for each
item and system, wide ones a column for each system, turned ones a row for each system; the columns of others are
measures, or repeats, of one system, or the rows are means of systems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, permutations

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.io.tables import signs, words
from shardwise.io.tables.exclusions import split_measures
from shardwise.io.tables.facts import FEW, Facts, Reading
from shardwise.io.tables.sheet import FIRST, MOST_ARMS, Column

AHEAD = 3.0  # points by which a reading has to be better than any other
MOST_PAIRS = 8  # pairs of columns whose crossing is looked at
MOST_LABELS = 16  # columns of labels that may be crossed
FAR_APART = 1.0  # powers of ten within which numbers are of one scale
GROUPING = {"task", "cluster", "slice"}
"""What items may belong to."""
NO_LABEL = (("measure",), ("shard",), ("split",))
"""First roles of headers of columns that name neither items nor systems."""
NO_ROWS = (*NO_LABEL, ("instance",))


def list_readings(facts: Facts) -> list[Reading]:
    """Return all readings of a table that agree with what the caller says, best first."""
    if not facts.sheet.rows:
        return []
    long = [] if facts.single else [*_list_long(facts)]
    return sorted([*long, *_list_wide(facts)], key=lambda reading: -reading.points)


def are_same(facts: Facts, best: Reading, other: Reading) -> bool:
    """Tell whether a reading gives the same scores as the best one: columns that tell the same rows apart.

    One whose items are groups of the best one's items, such as their domains, is no other reading, either.
    """
    long = best.shape == "long"
    if best.shape != other.shape or (long and not facts.are_alike(best.system, other.system)):
        return False
    if facts.are_alike(best.item, other.item) or (not long and None in (best.item, other.item)):
        return True
    if best.item is None or other.item is None or other.item in facts.taken:
        return False
    nested = not other.unique and facts.is_nested(best.item, other.item)
    return nested and not are_both_items(facts, best, other)


def are_both_items(facts: Facts, best: Reading, other: Reading) -> bool:
    """Tell whether the headers of two columns say alike that they hold the items."""
    if None in (best.item, other.item) or (best.shape, best.system) != (other.shape, other.system):
        return False
    columns = [facts[str(reading.item)] for reading in (best, other)]
    return all(column.plain and column.roles[:1] == ("topic",) for column in columns)


def _first_that_holds(*signs_for: tuple[str, object]) -> dict[str, float]:
    """Return the first feature of some that holds."""
    return dict.fromkeys([name for name, holds in signs_for if holds][:1], 1.0)


def _rate_item(facts: Facts, column: Column) -> dict[str, float]:
    """Return what speaks for a column as that of the items: its header, and how its labels look."""
    roles, names = column.roles, column.first_names
    by_header = _first_that_holds(
        ("item, as the caller says", facts.given.get("topic") == column.name),
        ("item by its word", roles[:1] == ("topic",) and column.plain),
        ("item by a word that means more", roles[:1] == ("topic",)),
        ("item by the second meaning of a word", "topic" in roles),
        ("task or cluster as item", {"task", "cluster"} & set(roles)),
        ("slice as item", "slice" in roles),
        ("numbers that no word names as item", _is_count(facts, column)),
        ("other word for the item", roles),
        ("text or bookkeeping as item", column.is_wordy or words.is_bookkeeping(column.name)),
    )
    if "item, as the caller says" in by_header:
        return by_header
    if "numbers that no word names as item" in by_header:
        return by_header | {"numbers kept beside scores as item": float(column.is_beside)}
    named = "topic" in roles and column.header.endswith("id") and column.header not in words.NAMELESS
    return {
        "names of items look so": words.share_of_items(names) - words.share_of_models(names),
        "names of items are numbered": float(words.is_numbered(names)),
        "items are called an id": float(named),
        **by_header,
    }


def _rate_system(facts: Facts, column: Column) -> dict[str, float]:
    """Return what speaks for a column as that of the systems."""
    if facts.given.get("system") == column.name:
        return {"system, as the caller says": 1.0}
    roles, names = column.roles, column.first_names
    looks = [label for label in names if not label.isdecimal()]
    return {
        "names of systems look so": words.share_of_models(names) - words.share_of_items(looks),
        "text or bookkeeping as system": float(not roles and (column.is_wordy or column.is_beside)),
        "people who judge as system": float(column.header in words.VOTERS),
    } | _first_that_holds(
        ("system by its word", "system" in roles and column.plain),
        ("system by a word that means more", "system" in roles),
        ("other word for the system", roles),
        ("system of numbers", column.is_numeric),
    )


# long tables ---------------------------------------------------------------------------------------------------------


def _list_values(facts: Facts) -> list[str]:
    """Return columns that may hold the scores of a long table."""
    if "value" in facts.named:
        return list(facts.named["value"])
    if facts.measure in facts.columns:
        return [str(facts.measure)]
    if not facts.numbers:
        # words where scores should be, which are refused as such
        return [name for name, column in facts.columns.items() if column.is_score and not column.blank]
    unnamed = [name for name in facts.numbers if not facts[name].roles]
    scores = [name for name in facts.numbers if facts[name].is_score]
    return scores or [name for name in unnamed if not facts[name].is_beside] or unnamed


def _may_label(facts: Facts, column: Column) -> bool:
    """Tell whether a column may name items or systems."""
    if column.name in facts.taken or column.name == facts.measure:
        return column.name in (facts.given.get("topic"), facts.given.get("system"))
    if column.blank or column.roles[:1] in NO_LABEL:
        return column.roles[:1] == ("topic",)
    if column.is_score and column.is_numeric:
        return False
    return bool(column.roles) or not column.is_numeric or column.dates or _may_count(column)


def _may_count(column: Column) -> bool:
    """Tell whether numbers that no word names may be labels: they repeat, and are whole or called after a size."""
    return 1 < column.distinct <= column.rows / 2 and (column.whole or column.is_beside)


def _is_count(facts: Facts, column: Column) -> bool:
    return not column.roles and column.name not in facts.taken and column.is_numeric


def _list_long(facts: Facts) -> Iterator[Reading]:
    """List pairs of columns that may be items and systems, and columns of systems whose rows have no names."""
    values = _list_values(facts)
    if not values:
        return
    labels = [column for column in facts.columns.values() if _may_label(facts, column)][:MOST_LABELS]
    items = {column: _rate_item(facts, column) for column in labels}
    systems = {column: _rate_system(facts, column) for column in labels}
    pairs = []
    for item, system in permutations(labels, 2):
        if not _may_pair(facts, item, system, values):
            continue
        ratio = np.log2(item.distinct / max(1, system.distinct)) / 2.0
        counts = {"more items than systems": float(np.clip(ratio, -1.5, 1.5))}
        roles = {"topic": item.name, "system": system.name}
        pairs.append(
            Reading(facts.sheet, "long", roles, features={**items[item], **systems[system], **counts})
        )
    pairs.sort(key=lambda pair: -pair.points)
    likely = [pair for pair in pairs if pair.points >= pairs[0].points - AHEAD - 3.0][:MOST_PAIRS]
    crossed = [_cross_pair(facts, pair, values) for pair in likely]
    yield from crossed
    paired = any(pair.unique and not pair.apart and pair.points > 0.0 for pair in crossed)
    if "topic" in facts.named or paired or facts.by_word("measure"):
        return
    # systems, or groups of an experiment, whose rows nothing names: each row is an item
    for column, features in systems.items():
        worded = "system" in column.roles and column.plain
        several = 1 < column.distinct <= min(MOST_ARMS, facts.sheet.rows / 2) and not column.is_numeric
        if several and (worded or column.name == facts.given.get("system")):
            group = float(column.header in words.ARMS or words.split_words(column.name)[-1] in words.ARMS)
            features = {**features, "rows without names": 1.0, "group of an experiment": group}
            roles = {"system": column.name}
            yield Reading(facts.sheet, "long", roles, tuple(values), features, apart=True)


def _may_pair(facts: Facts, item: Column, system: Column, values: Sequence[str]) -> bool:
    """Tell whether two columns may be items and systems: items repeat, as each has scores of several systems."""
    names, rows = (item.name, system.name), facts.sheet.rows
    if (facts.given.get("topic", item.name), facts.given.get("system", system.name)) != names:
        return False
    forced = system.name in facts.taken
    known = "system" in system.roles or forced
    repeats = item.roles[:1] == ("instance",) and (item.is_numeric or "topic" not in item.roles)
    if set(names) >= set(values) or repeats:
        return False
    if system.roles[:1] == ("instance",) and not known:
        return False
    if system.distinct == 1:
        return known and (not system.is_numeric or system.plain or forced)
    if rows in (item.distinct, system.distinct):
        # every item once: people who met one system each, or words that say that this is long
        if not (known and ("topic" in item.roles[:1] or item.name in facts.taken)):
            return False
        scored = any(map(words.is_score, values))
        once = system.distinct == rows and item.distinct > 1
        plain = item.plain and system.plain and scored
        return (plain or not once) and (len(values) == 1 or scored or item.header in words.PEOPLE)
    crossed = _cross_completely(facts, *names)
    if _is_count(facts, item) or (_is_count(facts, system) and not known):
        every = (crossed and item.distinct * system.distinct == rows) or (
            known and rows >= 6 and facts.count(*names) == rows
        )
        return every and not _find_key(facts, item.name)[2]
    return known or bool(system.roles) or not (system.is_wordy or system.is_beside) or crossed


def _cross_pair(facts: Facts, pair: Reading, values: Sequence[str]) -> Reading:
    """Return a pair with its repeats, and with what speaks for it by how items and systems cross."""
    item, system = facts[pair.roles["topic"]], facts[pair.roles["system"]]
    names = (item.name, system.name)
    scores = tuple(name for name in values if name not in names)
    repeat, task, unique = _find_key(facts, *names)
    factor = None if unique else _find_factor(facts, names)
    cells = facts.count(*names)
    share = min(1.0, cells / (item.distinct * system.distinct))
    apart = system.distinct > 1 and cells == item.distinct
    known = "system" in system.roles or system.name in facts.taken
    worded = {"topic", *GROUPING} & set(item.roles) or item.name in facts.taken
    listed = any(facts[name].unique and name not in facts.taken for name in repeat)
    tasks = [facts[name].distinct for name in facts.by_word("task") if name not in names]
    unnamed = 0 if any(map(words.is_score, scores)) else min(2, max(0, len(scores) - 2))
    unlike = pair.features.get("names of systems look so", 0.0) <= 0.0
    again = not unique and factor is None and not (apart and item.header in words.PEOPLE)
    held = {
        "all items have all systems": share > 0.95,
        "items and systems cross completely": _cross_completely(facts, *names),
        "several scores of one cell": again,
        "several scores of one cell, by a column that no word names": factor is not None,
        "more systems than items, and nothing says that they are systems": system.distinct > item.distinct
        and unlike
        and not known,
        "more tasks than items": not worded and max(tasks, default=0) > item.distinct,
        "one system beside a column of several": system.distinct == 1 and _leaves_out_systems(facts, pair),
        "items that no word names and not all systems have": not worded and (share < 0.9 or listed),
        "several numbers beside systems that no word names": (len(scores) > 1 and not known) * (1 + unnamed),
    }
    return replace(
        pair,
        roles=pair.roles | ({} if task is None else {"task": task}),
        scores=scores,
        features=pair.features | {name: float(times) for name, times in held.items()},
        repeat=repeat,
        unique=unique,
        factor=factor,
        apart=apart,
    )


def _cross_completely(facts: Facts, a: str, b: str) -> bool:
    """Tell whether two columns have every pair of their labels, once or once for each repeat."""
    rows, pairs = facts.sheet.rows, facts[a].distinct * facts[b].distinct
    if rows < 6 or rows % pairs or facts.count(a, b) != pairs:
        return False
    repeats = _list_repeats(facts, (a, b))
    sets = chain(((name,) for name in repeats), combinations(repeats, 2))
    return rows == pairs or any(facts.count(a, b, *more) == rows for more in sets)


def _find_key(facts: Facts, *names: str) -> tuple[tuple[str, ...], str | None, bool]:
    """Return the repeats and the slice that, with items and systems, tell all rows apart, and whether any do."""
    rows, forced = facts.sheet.rows, facts.given.get("instance")
    roles = ("task", "measure", "shard", "split")
    keys = [*names, *(name for role in roles for name in facts.by_word(role) if name not in names)]
    if forced is not None:
        return (forced,), None, facts.count(*keys, forced) == rows
    repeats = _list_repeats(facts, names)
    for task in (None, *(name for name in facts.by_word("slice") if name not in names)):
        more = keys if task is None else [*keys, task]
        for repeat in ((), *((name,) for name in repeats)):
            if facts.count(*more, *repeat) == rows:
                return repeat, task, True
    for both in combinations(repeats, 2):
        # blocks of trials: every cell has all of them
        if facts.count(*keys, *both) == rows == facts.count(*keys) * facts.count(*both):
            return both, None, True
    return (), None, False


def _find_factor(facts: Facts, names: tuple[str, str]) -> str | None:
    """Return a column of another name that, with repeats, tells several scores of a cell apart; or None."""
    repeats = [(), *((name,) for name in _list_repeats(facts, names))]
    for column in facts.list_others(*names, *facts.taken):
        name, numeric = column.name, column.is_numeric
        if column.roles or column.blank or column.unique or column.constant:
            continue
        if numeric and (column.is_score or not _may_count(column)):
            continue
        if any(name not in more and facts.count(*names, name, *more) == facts.sheet.rows for more in repeats):
            return name
    return None


def _list_repeats(facts: Facts, names: Sequence[str]) -> list[str]:
    """Return columns that may tell repeats apart by their names, surest first."""
    others = facts.list_others(*names)
    worded = [column for column in others if "instance" in column.roles]
    runs = [
        column
        for column in others
        if column not in worded and not column.plain and "system" in column.roles
        if facts.is_nested(column.name, names[-1])
    ]
    return [column.name for column in [*sorted(worded, key=lambda column: not column.plain), *runs]]


# wide tables, and others with a row for each item or system ----------------------------------------------------------


def _list_wide(facts: Facts) -> Iterator[Reading]:
    """List columns that may name the rows, with what the columns of numbers may be then."""
    forced = facts.given.get("topic")
    naming = [column for column in facts.columns.values() if _may_name_rows(facts, column)]
    named = any(c.roles[:1] == ("topic",) or (c.name == facts.first and c.unique) for c in naming)
    for column in (*naming, *([] if named else [None])):
        item = None if column is None else column.name
        if forced is not None and item != forced:
            continue
        repeat, task, unique = ((), None, True) if item is None else _find_key(facts, item)
        if column is not None and column.roles[:1] != ("topic",) and item != forced:
            tasks = [name for name in facts.by_word("task") if name != item]
            if not unique or (tasks and facts.count(*tasks) == facts.sheet.rows):
                continue
        others = facts.list_others(item, *repeat, *facts.taken)
        scores = facts.named.get("value") or tuple(c.name for c in others if _may_score(facts, c))
        if not scores:
            continue
        if column is None:
            every = len(scores) == len(facts.columns)
            rows = {"no column of names" if every else "rows without names": 1.0}
        else:
            rows = _rate_item(facts, column)
            rows["moments as item"] = float(column.dates)
            if item == facts.first and not column.roles:
                kept = ("text or bookkeeping as item", "numbers kept beside scores as item")
                rows |= {"first column as item": 1.0, **dict.fromkeys(kept, 0.0)}
        rows["several scores of one cell"] = float(not unique)
        rows["rows have names of their own"] = float(item is not None and unique)
        roles = {role: name for role, name in (("topic", item), ("task", task)) if name is not None}
        yield from _list_shapes(
            facts, Reading(facts.sheet, "wide", roles, scores, rows, repeat, unique), column
        )


def _list_shapes(facts: Facts, base: Reading, item: Column | None) -> Iterator[Reading]:
    """List what the columns of numbers may be, beside a column that names the rows."""
    names, rows = base.scores, base.features
    side_columns = [name for name in names if facts[name].is_beside]
    plain = [name for name in names if name not in side_columns] or list(names)
    scored = [name for name in names if facts[name].is_score]
    heads, ratio = plain[:FIRST], facts.sheet.rows / len(names)
    looks = words.share_of_models(heads) - words.share_of_items(heads)
    parted = bool(split_measures(plain)[1])
    sharing = 1.0 if parted else rate_sharing([facts[name].values for name in plain])
    stem = len({tuple(words.split_words(name)[:1]) for name in plain}) == 1 or bool(name_measure(plain))
    shape = 1.0 if ratio >= 2.0 or item is None else -1.0 if ratio < 0.5 else 0.0
    counted = are_counted(names)
    columns = {
        "columns share a measure": sharing,
        "nothing says that columns share a measure": float(sharing <= 0.0 and looks <= 0.0 and not stem),
        "columns are measures": len(scored) / len(names),
        "columns are kept beside scores": len(side_columns) / len(names),
    }
    dropped = {
        "a column of systems is left out": float(_leaves_out_systems(facts, base)),
        "columns of labels are left out": float(min(3, _count_dropped(facts, base))),
        "labels that cross are left out": float(_is_crossed(facts, base)),
    }
    if not facts.single:
        value = len(names) > 1 and any(map(words.is_value, names))
        wide = {
            "columns look like systems": looks,
            "a column says that it holds the scores": float(value),
            "shape": shape,
        }
        yield replace(base, features={**rows, **columns, **dropped, **wide})
    of_one = {**rows, **dropped, "measures of one system": 1.0}
    if item is None:
        if facts.single or len(scored) == len(names):
            yield replace(base, shape="measures", features=of_one)
        return
    if counted and not facts.single:
        # numbers may be the names of items, too, unless a word or the shape says that rows are items
        sure = item.plain or not names[0].isdecimal() or shape > 0.0
        yield replace(base, shape="folds", features=of_one | {"measures of one system": float(sure)})
    chosen = facts.measure in names or "value" in facts.named
    measures = (scored or len(names) == 1) and all(name in scored or name in side_columns for name in names)
    if facts.single or chosen or measures:
        # also one that names the same system throughout
        others = [facts[name] for name in facts.by_word("system") if name != item.name]
        systems = [column for column in others if column.plain or "instance" in column.roles]
        features = {
            "measures of one system": 1.0 + 2.0 * (chosen and not systems),
            "a column of systems is left out": float(bool(systems) and "system" not in facts.named),
            "several scores of one cell": 2.0 * (not base.unique),
        }
        yield replace(base, shape="measures", features=of_one | features)
    if not item.unique or _is_count(facts, item) or facts.single or chosen or "topic" in facts.named:
        return
    items = [name for name in facts.by_word("topic") if facts[name].plain and name not in (item.name, *names)]
    dropped["a column of items is left out"] = float(bool(items))
    labels, roles = item.first_names, item.roles
    likeness = words.share_of_models(labels) - words.share_of_items(labels)
    by_header = _first_that_holds(
        ("system, as the caller says", facts.given.get("system") == item.name),
        ("system by its word", "system" in roles and item.plain),
        ("system by a word that means more", "system" in roles),
        ("rows named as items", ("topic" in roles and item.plain) or GROUPING & set(roles)),
        ("rows named otherwise than systems", True),
    ) | {"names of systems look so": likeness * 4 / 3}
    base = replace(base, roles={**base.roles, "system": item.name})
    if len(plain) > 1:
        turned = by_header | {"columns look like systems": -looks, "shape": -shape}
        yield replace(base, shape="turned", features={**turned, **columns, **dropped})
    means = max(sum(name in scored or name in side_columns for name in names) / len(names), -sharing)
    if means >= 0.5 and ("system" in roles or item.name in facts.taken or likeness > 0.0):
        lost = {name: dropped[name] for name in dropped if name != "a column of systems is left out"}
        lost["columns of labels are left out"] = 0.0
        yield replace(base, shape="means", features={**by_header, **lost, "rows hold means": means})


def _may_name_rows(facts: Facts, column: Column) -> bool:
    """Tell whether a column may name the rows: by its word, as the first, or as its cells are texts that all differ."""
    name, roles = column.name, column.roles
    if name in facts.taken or column.blank:
        return name in (facts.given.get("topic"), facts.given.get("system")) and not column.blank
    if roles[:1] in NO_ROWS:
        return False
    if not column.is_numeric or column.dates:
        return column.unique or bool({"topic", *GROUPING} & set(roles))
    if column.is_score:
        return False
    if "topic" in roles and (column.plain or name == facts.first or column.unique):
        return name == facts.first or not _is_scored(facts, column)
    if GROUPING & set(roles):
        return column.whole
    if name != facts.first or not column.unique:
        return False
    return column.plain if "system" in roles else not roles and _numbers_rows(facts, column)


def _numbers_rows(facts: Facts, column: Column) -> bool:
    """Tell whether numbers in the first column name the rows: they go up, or differ in kind from the scores."""
    values = column.values
    others = [facts[other].values for other in facts.numbers if other != column.name]
    if words.share_of_models([column.name]) or not np.isfinite(values).all() or not others:
        return False
    if len(values) < 3:
        # of two rows, 1 and 2 count them if the other numbers share a scale
        counts = len(values) == 2 and values[0] in (0.0, 1.0) and values[1] == values[0] + 1.0
        return counts and len(others) > 1 and rate_sharing(others) > 0.0
    rises = bool((np.diff(values) > 0).all())
    if not column.counts:
        return rises and column.is_beside
    return rises or signs.is_of_another_scale(values, others) or signs.is_of_another_kind(values, others)


def _is_scored(facts: Facts, column: Column) -> bool:
    """Tell whether a column with a word for items or systems holds numbers as other columns do: it is a system."""
    if not column.is_numeric or column.words or column.counts:
        return False
    others = [facts[name] for name in facts.numbers if name != column.name and not facts[name].roles]
    values = [other.values for other in others]
    if not others or signs.is_of_another_scale(column.values, values):
        return False
    top = max(float(np.nanmax(np.abs(other), initial=0.0)) for other in values)
    alike = all(other.whole for other in others) and np.nanmax(np.abs(column.values), initial=0.0) <= top
    return not column.whole or bool(alike)


def _may_score(facts: Facts, column: Column) -> bool:
    """Tell whether a column may hold scores, perhaps with words among them."""
    roles = column.roles
    if column.name in facts.sheet.empty:
        return True
    if not column.is_numeric:
        if column.blank or column.dates or column.is_wordy or column.is_beside or roles:
            return False
        return int(np.isfinite(column.values).sum()) >= max(2.0, 0.1 * column.rows)
    if column.is_wordy and column.says_verdicts:
        return False
    if not roles or roles == ("measure",) or not column.plain:
        return True
    if roles[0] in ("topic", "system"):
        return _is_scored(facts, column)
    return roles[0] != "instance" and not column.whole


def rate_sharing(columns: Sequence[Floats]) -> float:
    """Return how far the numbers of columns are of one scale: 1 where nearly all are, -1 where many are not."""
    finite = [values[np.isfinite(values)] for values in columns[: 4 * FIRST]]
    tops = np.array([np.quantile(np.abs(values), 0.95) for values in finite if len(values)])
    tops = np.sort(tops[tops > 0.0])
    if len(tops) < 2 or tops[-1] <= 1.0:
        return 1.0
    varied = [v for v in finite if len(np.unique(v)) > 1] if len(columns[0]) >= 2 * FEW else []
    verdicts = [bool(np.isin(v, (0.0, 0.5, 1.0)).all()) for v in varied]
    whole = [float((v == np.round(v)).mean()) for v in varied if v.max() > 1.0 or (v % 1.0 > 0.0).all()]
    if (any(verdicts) and not all(verdicts)) or (0.0 in whole and 1.0 in whole):
        return -1.0
    logs = np.log10(tops)
    near = max(np.searchsorted(logs, low + FAR_APART, side="right") - k for k, low in enumerate(logs))
    return 1.0 if near / len(logs) >= 0.75 else -1.0


def are_counted(names: Sequence[str]) -> bool:
    """Tell whether names of columns count: 0, 1, 2 … or fold_1, fold_2 …

    >>> are_counted(["0", "1", "2"]), are_counted(["seed 1", "seed 2", "seed 3"]), are_counted(["2019", "2020", "2021"])
    (True, True, False)
    """
    parts = [words.split_words(name) for name in names]
    if len(names) < 3 or not all(part and part[-1].isdecimal() for part in parts):
        return False
    stems = {" ".join(part[:-1]) for part in parts}
    numbers = [int(part[-1]) for part in parts]
    counting = numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return len(stems) == 1 and stems <= {"", *words.REPEATS} and counting


def _leaves_out_systems(facts: Facts, base: Reading) -> bool:
    """Tell whether a column that a reading leaves out names systems, by its word."""
    others = facts.list_others(base.item, base.system, *base.repeat, *base.scores, *facts.taken)
    few = min(MOST_ARMS, facts.sheet.rows / 2)
    named = (
        column for column in others if "system" in column.roles and (column.plain or column.distinct <= few)
    )
    return any(not (column.is_numeric or column.constant) for column in named)


def _count_dropped(facts: Facts, base: Reading) -> int:
    """Return how many columns of labels a reading leaves out that are neither text nor a slice."""
    known = {*GROUPING, "measure", "shard", "split", "instance"}
    others = facts.list_others(*base.roles.values(), *base.repeat, *base.scores, *facts.taken)
    labels = [column for column in others if not (column.is_numeric or column.blank or column.dates)]
    several = [column for column in labels if 1 < column.distinct <= facts.sheet.rows / 2]
    return sum(not (c.is_wordy or c.is_beside or known & set(c.roles)) for c in several)


def _is_crossed(facts: Facts, base: Reading) -> bool:
    """Tell whether two columns cross completely that a reading takes for scores, or leaves out: items and systems."""
    rows = facts.sheet.rows
    if rows < 6 or (base.repeat and base.item is not None and base.unique):
        return False
    others = [column for column in facts.list_others(*facts.taken) if not column.blank]
    labels = [
        column.name
        for column in others
        if (not column.is_numeric or (column.whole and not column.is_score))
        and column.roles[:1] not in NO_ROWS
        and 1 < column.distinct < rows
        and rows % column.distinct == 0
    ]
    return any(_cross_completely(facts, a, b) for a, b in combinations(labels[:10], 2))


def name_measure(names: Sequence[str]) -> str:
    """Return the measure that the names of columns share, as their last or first word; nothing where they share none.

    >>> name_measure(["asr1_WER", "asr2_WER"]), name_measure(["hit3_base", "hit3_new"]), name_measure(["a", "b"])
    ('WER', 'hit3', '')
    """
    for part in (-1, 0):
        ends = {words.end_word(name, part) for name in names}
        if (
            len(names) > 1
            and len({end.lower() for end in ends}) == 1
            and words.means_score(next(iter(ends)), part)
        ):
            return words.end_word(names[0], part)
    return ""
