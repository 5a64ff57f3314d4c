"""The reading of a table: the one that is clearly ahead, or a refusal with the two best.

What no reading can say by itself is settled here: the other labels of the rows, the columns of scores, and the rows
and columns that are left out. Every option of a refusal is tried by the same rules before it is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import Either, InputError
from shardwise.core.scores import clean_noun
from shardwise.io.tables.candidates import AHEAD, are_both_items, are_counted, are_same, list_readings
from shardwise.io.tables.exclusions import choose_systems, drop_summary_rows
from shardwise.io.tables.facts import (
    FEW,
    SLICE,
    Columns,
    Doubt,
    Facts,
    Reading,
    find_named,
    list_some,
    quote_columns,
    refuse_words,
    spell_choice,
    write_refusal,
)
from shardwise.io.tables.sheet import (
    ENDS_IN_ID,
    MOST_ARMS,
    Column,
    Sheet,
    exchange_axes,
    fill_down,
    join_columns,
)
from shardwise.io.tables.words import FOLDS, PEOPLE, is_value, list_roles, simplify_header

ENOUGH = 3.0  # points that a reading needs
OFFERED = 1.0  # points from which a reading that is not taken is offered
UNPAIRED = 10  # rows from which a table in which no item has two systems is read, or refused as such
LONGEST = 100  # characters of a name; what is longer is a text


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

    def read_with(more: Columns, without: Sequence[str]) -> Reading:
        left_out = (*exclude, *without)
        facts, notes = _gather_facts(
            sheet, {**(columns or {}), **more}, (*factors, *left_out), measure, single
        )
        reading = _settle(facts, _choose(facts))
        return drop_summary_rows(replace(reading, notes=(*sheet.notes, *notes, *reading.notes)), left_out)

    def leads_to_scores(more: Columns, without: Sequence[str]) -> bool:
        try:
            return _has_one_score_a_cell(read_with(more, without))
        except (Doubt, InputError):
            return False

    try:
        reading = read_with({}, ())
    except Doubt as doubt:
        raise write_refusal(sheet, doubt, leads_to_scores) from None
    known, roles = reading.sheet.columns, reading.roles
    unnamed = "system" not in roles or known[roles["system"]].constant
    alone = len(reading.scores) == 1 if reading.by_columns else unnamed
    if single or "system" in find_named(sheet, columns or {}) or not alone:
        return reading
    # of one system: a column of labels that is left out may name several
    item = {"item": roles["topic"]} if "topic" in roles else {}
    left = [name for name in (*reading.omitted, roles.get("cluster", "")) if name in known]
    arms = [column for column in map(known.__getitem__, left) if _may_name_arms(column)]
    choices = (spell_choice(sheet, {**more, "system": column.name}) for column in arms for more in ({}, item))
    return replace(reading, perhaps=next((c for c in choices if leads_to_scores(c, ())), None))


def _may_name_arms(column: Column) -> bool:
    """Tell whether labels may name several systems: few short ones."""
    few = 1 < column.distinct <= min(MOST_ARMS, column.rows / 2)
    return few and not (column.is_numeric or column.is_wordy or list_roles(column.name)[:1] == ("slice",))


def _gather_facts(
    sheet: Sheet, columns: Columns, dropped: Sequence[str], measure: str | None, single: bool
) -> tuple[Facts, tuple[str, ...]]:
    """Return a table with what the caller says of it, without columns that are left out, and notes on merged cells."""
    named = find_named(sheet, columns)
    if sheet.headerless and not named:
        raise _doubt_header(sheet)
    spared = {name for names in named.values() for name in names}
    sheet, notes = fill_down(sheet.without_columns(name for name in dropped if name not in spared))
    for role in ("topic", "system", "instance"):
        names = named.get(role, ())
        if len(names) > 1 and (role != "system" or not any(sheet.columns[n].is_numeric for n in names)):
            others = {name for other, theirs in named.items() if other != role for name in theirs}
            sheet, joined = join_columns(sheet, names, others)
            named = named | {role: (joined,)}
    return Facts(sheet, named, measure, single), notes


def _has_one_score_a_cell(reading: Reading) -> bool:
    """Tell whether no item has two scores of a system that nothing tells apart, and whether there are two systems."""
    sheet, item, system = reading.sheet, reading.item, None if reading.by_columns else reading.system
    facts = Facts(sheet, {})
    keys = [name for role, name in reading.roles.items() if role not in ("value", "cluster")]
    if any(np.isinf(sheet.columns[name].values).any() for name in reading.scores):
        return False
    if system is not None and not _may_name_systems(sheet.columns[system]):
        return False
    if item is None or facts.count(*keys) != sheet.rows:
        return item is None
    # numbers that go with the items are the same for all systems, by chance in few rows only
    if system is None or sheet.rows < UNPAIRED or sheet.columns[item].unique:
        return True
    return any(facts.count(item, name) > sheet.columns[item].distinct for name in reading.scores)


def _may_name_systems(column: Column) -> bool:
    """Tell whether a column may be offered as that of the systems: by its word, or as it holds several short names."""
    if column.distinct < 2 or any("system" in list_roles(part) for part in column.name.split("+")):
        return column.distinct > 1
    short = max(map(len, column.first_names), default=0) <= LONGEST
    numbers = column.is_numeric and not list_roles(column.name)
    return short and not (numbers or column.dates or column.is_beside)


# which reading -------------------------------------------------------------------------------------------------------


def _choose(facts: Facts) -> Reading:
    """Return the reading that is clearly ahead; else raise the doubt between the two best."""
    systems = facts.named.get("system", ())
    if len(systems) > 1:
        readings = list_readings(replace(facts, named={**facts.named, "value": systems}))
        item = {"topic": facts.given["topic"]} if "topic" in facts.given else {}
        wide = [reading for reading in readings if reading.shape == "wide"]
        return replace(wide[0] if wide else Reading(facts.sheet, "wide", item), scores=systems)
    readings = list_readings(facts)
    if not readings:
        raise _doubt_scores(facts)
    best = readings[0]
    rival = next((other for other in readings[1:] if not are_same(facts, best, other)), None)
    if best.points < ENOUGH:
        raise _doubt_weak(facts, best, rival)
    # of two columns that are called items, one is so only if much speaks for it
    if rival is not None and rival.points > best.points - AHEAD * (1 + are_both_items(facts, best, rival)):
        raise _doubt_between(facts, best, rival)
    return best


def _spell_reading(reading: Reading) -> dict[str, str | Sequence[str]]:
    """Return the columns that choose a reading."""
    columns = {"item": reading.item, "system": reading.system, "repeat": reading.repeat}
    if reading.shape in ("wide", "measures"):
        columns = {"item": reading.item, {"wide": "system"}.get(reading.shape, "score"): reading.scores}
    elif reading.shape in ("turned", "means"):
        columns = {"system": reading.system}
    return {role: names for role, names in columns.items() if names}


def _doubt_between(facts: Facts, best: Reading, rival: Reading) -> Doubt:
    """Return the doubt between two readings, with the columns that choose each."""
    shapes, both = {best.shape, rival.shape}, [_spell_reading(best), _spell_reading(rival)]
    items, systems = [str(best.item), str(rival.item)], [str(best.system), str(rival.system)]
    described = (_describe_reading(facts.sheet, reading) for reading in (best, rival))
    choices: list[Columns] = [*both]
    problem = f"may be read with {' or with '.join(described)}"
    if "means" in shapes and shapes != {"means", "long"}:
        return _doubt_means(facts, str(best.system or rival.system))
    if "turned" in shapes:
        label = str(best.item or rival.item)
        problem = f"rows may be items or systems ({', '.join(facts[label].first_names[:3])} …)"
        choices = [{"item": label}, {"system": label}]
    elif len(shapes) > 1 or None in (best.item, rival.item):
        pass
    elif best.system == rival.system:
        problem = f"columns {quote_columns(facts.sheet, *items)} both name the item"
        swapped = [{"item": x, role: y} for role in ("repeat", "system") for x, y in (items, items[::-1])]
        choices = [*({"item": name} for name in items), *both, *swapped]
    elif best.item == rival.item:
        problem = f"{quote_columns(facts.sheet, *systems)} could both be the systems"
        choices = [*({"system": name} for name in systems), *both]
        if not best.unique and not rival.unique:
            # where both tell the scores of an item apart, they are joined
            runs = ({"system": a, "repeat": b} for a, b in (systems, systems[::-1]))
            choices = [{"system": systems}, *runs, *both]
    elif items == systems[::-1]:
        problem = f"{quote_columns(facts.sheet, *items)} could be items and systems"
        choices = [{"item": a, "system": b} for a, b in (items, systems)]
    return Doubt(problem, choices)


def _describe_reading(sheet: Sheet, reading: Reading) -> str:
    """Return in words which columns are items and systems."""
    what = {"wide": "systems", "measures": "measures of one system"}.get(reading.shape, "repeats")
    if reading.system is None:
        return f"{list_some(reading.scores)} as {what}"
    items = "its rows" if reading.item is None else quote_columns(sheet, reading.item)
    return f"{items} as items and {quote_columns(sheet, reading.system)} as systems"


def _doubt_weak(facts: Facts, best: Reading, rival: Reading | None) -> Doubt:
    """Return the doubt of a table of which even the best reading has little for it."""
    named = [column for column in facts.columns.values() if column.roles[:1] == ("system",) and column.plain]
    systems = [column.name for column in named if 1 < column.distinct < facts.sheet.rows]
    if facts.by_word("measure") and not facts.by_word("topic") and not systems:
        problem = "has one row for each measure: contains only aggregate means"
        return Doubt(problem, mend="give the scores of each topic or question")
    if (best.shape == "long" and best.item is None) or (systems and best.system not in systems):
        return _doubt_items(facts, best if best.item is None else None)
    if best.shape == "means":
        return _doubt_means(facts, str(best.system))
    likely = [r for r in (best, rival) if r is not None and r.shape == "long" and r.points >= OFFERED]
    offers: list[Columns] = [_spell_reading(reading) for reading in likely]
    if best.shape == "long":
        names = [str(best.item), str(best.system)]
        problem = f"{quote_columns(facts.sheet, *names)} could be items and systems"
        if best.features.get("all items have all systems"):
            # whichever has more labels is rather the item
            names.sort(key=lambda name: -facts[name].distinct)
            told = {"repeat": best.factor} if best.factor else {}
            offers = [{"item": a, "system": b, **told} for a, b in (names, names[::-1])]
        return Doubt(problem, offers)
    columns, several = list_some(best.scores), len(best.scores) > 1
    doubted = f"nothing says that {columns} {'are systems' if several else 'is one'}"
    if several and best.features.get("columns share a measure", 0.0) < 0.0:
        doubted = f"{columns} are numbers of different kinds"
    paired = [name for name in facts.by_word("instance") if several and facts[name].unique and not offers]
    offers += [{"item": name} for name in paired]
    say = [f"if scores of one {name} belong together, say " for name in paired] or "say "
    return Doubt(f"no column names systems, and {doubted}", offers, say=say)


def _doubt_items(facts: Facts, best: Reading | None = None) -> Doubt:
    """Return the doubt of a table whose rows have a system but no item: means, or scores that nothing pairs."""
    problem = "has no column of items (questions, topics)"
    choices: list[Columns] = [{"item": name} for name, c in facts.columns.items() if "topic" in c.roles]
    if best is None or choices:
        return Doubt(problem, choices, mend="add one")
    repeats = [name for name in facts.by_word("instance") if name != best.system]
    pairing = [f"if scores of one {name} belong together, say " for name in repeats]
    choices = [*({"item": name} for name in repeats), {"system": str(best.system)}]
    return Doubt(problem, choices, mend="add one", say=[*pairing, "if every row is an item of its own, say "])


def _doubt_means(facts: Facts, label: str) -> Doubt:
    """Return the refusal of a table with a row for each system."""
    noun = clean_noun(simplify_header(label)) or "system"
    scores = "give the scores of each topic or question"
    return Doubt(
        f"has one row for each {noun}: contains only aggregate means",
        [{"item": label}],
        mend=(scores, Either(", as pt.Experiment(…, perquery=True) returns them", "")),
        say=f"if {quote_columns(facts.sheet, label)} names the items, say ",
    )


def _doubt_scores(facts: Facts) -> Doubt:
    """Return the refusal of a table without scores."""
    if facts.by_word("topic") and facts.by_word("system"):
        measures = facts.by_word("measure")
        problem = "has a column of measures but none of values" if measures else "has no column of scores"
        return Doubt(problem, mend="add one, called after the measure")
    problem, where = "has no columns of scores", ""
    spoilt = (c for c in facts.list_others(facts.first) if c.words and not c.dates and not c.is_wordy)
    for column in (c for c in spoilt if "topic" not in c.roles):
        problem += f": {column.words[0]!r} is neither a number nor a known verdict"
        where = facts.sheet.place(int(np.flatnonzero(np.isinf(column.values))[0]))
        break
    return Doubt(problem, mend="give one column a system, with numbers such as 1 and 0", where=where)


def _doubt_header(sheet: Sheet) -> Doubt:
    """Return the refusal of a table whose first row is data, with the columns that can be named by number."""
    facts = Facts(sheet, {})
    likely = [r for r in list_readings(facts) if r.shape in ("long", "wide") and r.item is not None]
    labels = [name for name in sheet.columns if name not in facts.numbers]
    if len(labels) > 1:
        # which of several columns holds the scores nothing says
        likely = [r for r in likely if r.shape == "long" and len(r.scores) == 1]
    choices = [_spell_reading(r) | ({"score": r.scores[0]} if r.shape == "long" else {}) for r in likely]
    return Doubt(
        "has no header: the first row is data",
        choices if labels else [{"system": facts.numbers}],
        mend="add a line with the names of the columns",
        say="name them by number: ",
    )


# from the best reading to its columns --------------------------------------------------------------------------------


def _settle(facts: Facts, reading: Reading) -> Reading:
    """Return the reading with the labels of the rows, the columns of scores, and why others are neither."""
    if len(reading.repeat) > 1:
        sheet, joined = join_columns(facts.sheet, reading.repeat)
        facts, reading = replace(facts, sheet=sheet), replace(reading, sheet=sheet, repeat=(joined,))
    shape = reading.shape
    if shape == "means":
        raise _doubt_means(facts, str(reading.system))
    if shape == "turned":
        return _settle_turned(facts, reading)
    if shape == "folds":
        kinds = {column.name: column.kind for column in facts.list_others(reading.item, *reading.scores)}
        notes = ("columns are repeats of one system",)
        return replace(reading, roles={"topic": str(reading.item)}, omitted=kinds, notes=notes)
    roles, omitted = _assign_roles(facts, reading)
    reading = replace(reading, roles=roles, omitted=omitted)
    rest = [column.name for column in facts.list_others(*roles.values(), *omitted)]
    if shape == "wide" and len(facts.named.get("system", ())) > 1:
        others = facts.list_others(*reading.scores, *roles.values())
        why = {c.name: SLICE if omitted.get(c.name) == SLICE else "not named" for c in others}
        return replace(reading, omitted=why)
    if shape == "wide":
        return _settle_wide(facts, reading, rest)
    if reading.factor is not None and not reading.apart and "value" not in facts.named:
        raise _doubt_factor(facts, reading)
    scores, why = _choose_scores(facts, reading, rest)
    if shape == "long":
        reading = replace(reading, roles=_settle_unpaired(facts, reading))
    why = {name: reason for name, reason in (omitted | why).items() if name not in reading.roles.values()}
    return replace(reading, scores=scores, omitted=why)


def _assign_roles(facts: Facts, reading: Reading) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns of all labels of the rows, and why others are none."""
    rows, long = facts.sheet.rows, reading.shape == "long"
    roles = {role: name for role, name in facts.given.items() if role not in ("value", "slice")}
    roles |= {role: name for role, name in reading.roles.items() if long or role != "system"}
    roles |= dict(zip(["instance"], reading.repeat, strict=False))
    omitted = dict.fromkeys(facts.named.get("slice", ()), SLICE)
    facts = replace(facts, named={role: names for role, names in facts.named.items() if role != "slice"})
    for role in ("measure", "shard", "split", "task", "cluster", "slice"):
        for name in facts.by_word(role):
            column = facts[name]
            if name in (*roles.values(), *reading.scores) or (role == "measure" and column.is_numeric):
                continue
            grouping = role in ("task", "cluster") and rows > 1
            like = "topic" in roles and name not in facts.taken and facts.are_alike(name, roles["topic"])
            if column.constant and (role == "slice" or grouping):
                omitted[name] = "constant"
            elif like and grouping:
                omitted[name] = f"says the same as {roles['topic'] or 'another'}"
            elif role == "slice":
                omitted[name] = SLICE
            elif role not in roles and (role not in ("task", "cluster") or "topic" in roles):
                roles[role] = name
    spare = [name for name in facts.by_word("instance") if name not in (*roles.values(), *reading.scores)]
    if long and reading.item is not None and "instance" not in roles:
        # one score a cell: seeds that differ from row to row say nothing
        cells = facts[reading.item].distinct * facts[str(reading.system)].distinct
        if reading.unique and len(spare) == 1 and 2 * rows > cells * facts[spare[0]].distinct:
            roles["instance"] = spare.pop()
    if not (long and reading.item is None):
        omitted |= dict.fromkeys(spare, "no repeats")
    for column in facts.list_others(*roles.values(), *reading.scores, *omitted):
        if {"topic", "system"} & set(column.roles) and not (column.is_score and column.is_numeric):
            labels = [roles[role] for role in ("topic", "system") if role in roles]
            same = [f"says the same as {n or 'another'}" for n in labels if facts.are_alike(column.name, n)]
            omitted[column.name] = (same or ["constant" if column.constant else "not needed"])[0]
    return roles, omitted


def _settle_unpaired(facts: Facts, reading: Reading) -> dict[str, str]:
    """Return the roles of a table in which no item has scores of two systems; refuse it unless that is sure.

    It is sure where the caller names both columns, or items are people, who may see one system each. Where people have
    several rows that a column names, rows are the items and people their clusters.
    """
    rows, roles = facts.sheet.rows, reading.roles
    if reading.item is None:
        if "system" not in facts.named and rows < UNPAIRED:
            raise _doubt_items(facts, reading)
        return roles
    items, systems = facts[roles["topic"]], facts[roles["system"]]
    if rows < UNPAIRED or systems.distinct < 2 or facts.count(items.name, systems.name) != items.distinct:
        return roles
    if not {"topic", "system"} <= set(facts.given) and items.header not in PEOPLE:
        item, system = clean_noun(items.header) or "item", clean_noun(systems.header) or "system"
        raise Doubt(
            f"no {item} has scores of two {pluralize_noun(system)}",
            [{"item": items.name, "system": systems.name}],
            mend=f"name the same {pluralize_noun(item)} alike",
            say=f"if each met one {system} only, say ",
        )
    if rows > items.distinct and "cluster" not in roles:
        kept = {role: name for role, name in roles.items() if role not in ("instance", "topic")}
        others = (c for c in facts.list_others(items.name, *kept.values()) if c.whole or not c.is_numeric)
        named = [column.name for column in others if column.unique]
        roles = {**kept, "cluster": items.name, **dict(zip(["topic"], named, strict=False))}
    return roles


def _doubt_factor(facts: Facts, reading: Reading) -> Doubt:
    """Return the refusal of several scores of a cell that a column of another name tells apart."""
    name, system, item = str(reading.factor), str(reading.system), str(reading.item)
    nouns = [clean_noun(simplify_header(column)) or "item" for column in (system, item)]
    parts = [f"if {name!r} is a part of the {noun}, say " for noun in nouns]
    return Doubt(
        f"has several scores of one {nouns[0]} on one {nouns[1]}",
        [{"repeat": name}, {"item": [item, name], "cluster": item}, {"system": [system, name]}],
        say=[f"if {name!r} identifies the repeats, say ", parts[1], parts[0]],
    )


def _choose_scores(
    facts: Facts, reading: Reading, rest: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns of scores of a long table, or of one system, and why others are none."""
    of_one = reading.shape == "measures"
    if "value" in facts.named:
        return facts.named["value"], {}
    if facts.measure in rest and (of_one or facts.measure in facts.numbers):
        return (str(facts.measure),), {}
    numbers = [name for name in rest if name in (reading.scores if of_one else facts.numbers)]
    scores = [name for name in numbers if facts[name].is_score]
    plain = [name for name in numbers if not facts[name].is_beside and not facts[name].counts]
    if of_one and facts.single:
        scores = [name for name in numbers if name in scores or name in plain]
    chosen = (scores or numbers) if of_one else _choose_values(facts, reading, rest, numbers, plain)
    others = {name: facts[name].kind for name in rest}
    for name in numbers:
        constant = facts[name].constant and facts.sheet.rows > 1
        others[name] = "constant" if constant else "another measure" if name in plain else "no score"
    return tuple(chosen), {name: why for name, why in others.items() if name not in chosen}


def _choose_values(
    facts: Facts, reading: Reading, rest: Sequence[str], numbers: list[str], plain: list[str]
) -> list[str]:
    """Return the columns of scores of a long table, of which some column may name the measures."""
    scores = [name for name in numbers if facts[name].is_score]
    spoilt = [name for name in rest if facts[name].is_score and facts[name].words]
    if not numbers and spoilt:
        raise refuse_words(facts.sheet, spoilt[0])
    varied = [name for name in plain if not facts[name].constant]
    kept = scores or (varied if facts.sheet.rows >= FEW else plain)
    one = not kept or "measure" in reading.roles
    if one:
        kept = [name for name in scores if is_value(name)] or scores or numbers
        scoring = [name for name in kept if not (ENDS_IN_ID.search(name) or facts[name].counts)]
        kept = (
            [name for name in scoring if not (facts[name].constant or facts[name].words)] or scoring or kept
        )
    if are_counted(kept):
        mend = "give each repeat a row of its own, with a column such as seed"
        raise Doubt(f"has repeats side by side: {list_some(kept)}", mend=mend)
    if kept and (len(kept) == 1 or not one):
        return kept
    texts = [facts[name] for name in rest if name not in numbers and not facts[name].is_wordy]
    odd = next((c for c in texts if c.words and not np.isnan(c.values).all()), None)
    holds = "" if odd is None else f": {odd.name} holds words such as {odd.words[0]!r}"
    problem = f"has {len(kept)} columns of values" if kept else f"has no column of scores{holds}"
    mend = "call the values value or score" if kept else "add one, called after the measure"
    raise Doubt(problem, [{"score": name} for name in kept[:2]], mend=mend)


def _settle_wide(facts: Facts, reading: Reading, rest: Sequence[str]) -> Reading:
    """Return the reading of a table with a row for each item and a column for each system."""
    sheet, first = facts.sheet, facts[facts.first]
    numbers = [name for name in rest if name in reading.scores]
    named = first.name in rest and not (first.is_numeric or first.is_wordy or first.blank)
    if reading.item is None and named and sheet.rows / 2 < first.distinct < sheet.rows:
        twice = first.labels.names[int(np.argmax(np.bincount(first.labels.codes)))]
        problem = f"{quote_columns(sheet, first.name)} has {twice!r} twice"
        raise Doubt(problem, mend="give every row a name of its own", exclude=first.name)
    fold = next(iter(reading.repeat), "")
    parted = bool(fold) and "instance" not in facts.named and simplify_header(fold) in FOLDS
    if parted and any(np.isnan(sheet.columns[name].values).any() for name in numbers):
        item = str(reading.item)
        problem = f"scores are missing, and {fold!r} may identify repeats or parts of {item!r}"
        raise Doubt(problem, [{"item": item, "repeat": fold}, {"item": [item, fold]}])
    scores, others, parts = choose_systems(sheet, rest, numbers, named=reading.item is not None)
    return replace(reading, scores=scores, omitted={**reading.omitted, **others}, parts=parts)


def _settle_turned(facts: Facts, reading: Reading) -> Reading:
    """Return the reading of a table with a row for each system and a column for each item: as one that is turned."""
    sheet, label, numbers = facts.sheet, str(reading.system), reading.scores
    for name in numbers:
        if facts[name].words:
            raise refuse_words(sheet, name)
    turned = exchange_axes(sheet, label, numbers)
    omitted = {column.name: column.kind for column in facts.list_others(label, *numbers)}
    names = tuple(name for name in turned.columns if name != "item")
    notes = ("rows are systems, columns are items",)
    wide = Reading(turned, "wide", {"topic": "item"}, names, omitted=omitted, notes=notes)
    return wide if "system" in facts.named else _settle_wide(Facts(turned, {}), wide, names)
