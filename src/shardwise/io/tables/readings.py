"""The reading of a table: the candidate that is clearly ahead, or a refusal with the two best.

What no candidate can say by itself is settled here: the other labels of the rows, the columns of scores, and the rows
and columns that are left out. Every option of a refusal is tried by the same rules before it is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import Either, InputError
from shardwise.core.scores import clean_noun
from shardwise.io.tables.candidates import (
    AHEAD,
    ENOUGH,
    Candidate,
    are_both_items,
    are_same,
    list_candidates,
    prefer_id,
)
from shardwise.io.tables.exclusions import choose_systems, drop_summary_rows
from shardwise.io.tables.facts import (
    FEW,
    SLICE,
    Choices,
    Columns,
    Doubt,
    Facts,
    Reading,
    find_named,
    list_some,
    may_name_systems,
    quote_column,
    refuse_words,
    spell_choice,
    write_refusal,
)
from shardwise.io.tables.sheet import (
    ENDS_IN_ID,
    MOST_ARMS,
    Sheet,
    exchange_axes,
    fill_down,
    join_columns,
)
from shardwise.io.tables.words import FOLDS, PEOPLE, is_value, list_roles, simplify_header

OFFERED = 1.0  # points from which a reading that is not taken is offered
UNPAIRED = 10  # rows from which a table in which no item has two systems is read, or refused as such


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
        several = len(facts.named.get("system", ())) > 1
        reading = _read_named_columns(facts) if several else _settle(facts, _choose_candidate(facts))
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
    if reading.wide or reading.parts:
        alone = len(reading.scores) == 1
    else:
        alone = "system" not in reading.roles or reading.sheet.columns[reading.roles["system"]].constant
    if single or "system" in find_named(sheet, columns or {}) or not alone:
        return reading
    # of one system: a column of labels that is left out may name several
    item = {"item": reading.roles["topic"]} if "topic" in reading.roles else {}
    left = [*reading.omitted, *(reading.roles[role] for role in ("cluster",) if role in reading.roles)]
    others = [reading.sheet.columns[name] for name in left if name in reading.sheet.columns]
    choices = [
        spell_choice(sheet, {**roles, "system": column.name})
        for column in others
        for roles in ({}, item)
        if 1 < column.distinct <= min(MOST_ARMS, reading.sheet.rows / 2)
        and not column.is_numeric
        and not column.is_wordy
        and list_roles(column.name)[:1] != ("slice",)
    ]
    return replace(reading, perhaps=next((c for c in choices if leads_to_scores(c, ())), None))


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
            sheet, joined = join_columns(sheet, names)
            named = named | {role: (joined,)}
    return Facts(sheet, named, measure, single), notes


def _read_named_columns(facts: Facts) -> Reading:
    """Return the reading of a wide table of which the caller names the columns."""
    systems = facts.named["system"]
    candidates = list_candidates(replace(facts, named={**facts.named, "value": systems}))
    wide = [candidate for candidate in candidates if candidate.shape == "wide"]
    best = prefer_id(facts, wide[0], wide) if wide else Candidate("wide", facts.given.get("topic"))
    roles, omitted = _assign_roles(facts, replace(best, scores=systems))
    others = {
        name: SLICE if omitted.get(name) == SLICE else "not named"
        for name in facts.columns
        if name not in (*systems, *roles.values())
    }
    return Reading(facts.sheet, roles, systems, True, others)


def _has_one_score_a_cell(reading: Reading) -> bool:
    """Tell whether no item has two scores of a system that nothing tells apart, and whether there are two systems."""
    sheet, item, system = reading.sheet, reading.roles.get("topic"), reading.roles.get("system")
    facts = Facts(sheet, {})
    keys = [name for role, name in reading.roles.items() if role not in ("value", "cluster")]
    if any(np.isinf(sheet.columns[name].values).any() for name in reading.scores):
        return False
    if system is not None and not may_name_systems(sheet.columns[system]):
        return False
    if item is None or facts.count(*keys) != sheet.rows:
        return item is None
    # numbers that go with the items are the same for all systems, by chance in few rows only
    if system is None or sheet.rows < UNPAIRED or sheet.columns[item].unique:
        return True
    return any(facts.count(item, name) > sheet.columns[item].distinct for name in reading.scores)


# which candidate -----------------------------------------------------------------------------------------------------


def _choose_candidate(facts: Facts) -> Candidate:
    """Return the candidate that is clearly ahead; else raise the doubt between the two best."""
    candidates = list_candidates(facts)
    best = next(iter(candidates), None)
    if best is None:
        raise _doubt_scores(facts)
    rival = next((other for other in candidates[1:] if not are_same(facts, best, other)), None)
    if best.points < ENOUGH:
        raise _doubt_weak(facts, best, rival)
    # of two columns that are called items, one is so only if much speaks for it
    if rival is not None and rival.points > best.points - AHEAD * (1 + are_both_items(facts, best, rival)):
        raise _doubt_between(facts, best, rival)
    return prefer_id(facts, best, candidates)


def _spell_candidate(candidate: Candidate) -> dict[str, str | Sequence[str]]:
    """Return the columns that choose a candidate."""
    item, system, scores = candidate.item, candidate.system, candidate.scores
    shapes: dict[str, dict[str, str | Sequence[str] | None]] = {
        "wide": {"item": item, "system": scores},
        "measures": {"item": item, "score": scores},
        "turned": {"system": system},
        "means": {"system": system},
    }
    roles = shapes.get(candidate.shape, {"item": item, "system": system, "repeat": candidate.repeat})
    return {role: name for role, name in roles.items() if name}


def _doubt_between(facts: Facts, best: Candidate, rival: Candidate) -> Doubt:
    """Return the doubt between two readings, with the columns that choose each."""
    shapes, both = {best.shape, rival.shape}, [_spell_candidate(best), _spell_candidate(rival)]
    if best.shape == rival.shape and best.shape in ("long", "wide", "measures"):
        if best.item is None or rival.item is None:
            return _doubt_items(facts, best)
        items, systems = [best.item, rival.item], [str(best.system), str(rival.system)]
        choices: list[Choices]
        if best.system == rival.system:
            problem = f"columns {_quote_both(facts, items)} both name the item"
            further = [{"item": x, role: y} for role in ("repeat", "system") for x, y in (items, items[::-1])]
            choices = [*({"item": name} for name in items), *both, *further]
        elif best.item == rival.item:
            problem = f"{_quote_both(facts, systems)} could both be the systems"
            choices = [*({"system": name} for name in systems), *both]
            if not best.unique and not rival.unique:
                # where both tell the scores of an item apart, they are joined
                runs = ({"system": a, "repeat": b} for a, b in (systems, systems[::-1]))
                choices = [{"system": systems}, *runs, *both]
        else:
            problem = f"{_quote_both(facts, [items[0], systems[0]])} could be items and systems"
            pairs = [{"item": a, "system": b} for a, b in zip(items, systems, strict=True)]
            choices = [pairs[0], both[0], pairs[1], both[1]]
        return Doubt(problem, choices)
    if "means" in shapes and shapes != {"means", "long"}:
        return _doubt_means(facts, str(best.system or rival.system))
    if "turned" in shapes:
        label = str(best.item or rival.item)
        shown = ", ".join(facts[label].first_names[:3])
        return Doubt(f"rows may be items or systems ({shown} …)", [{"item": label}, {"system": label}])
    described = []
    for candidate in (best, rival):
        items_in = "its rows" if candidate.item is None else quote_column(facts.sheet, candidate.item)
        what = {"wide": "systems", "measures": "measures of one system"}.get(candidate.shape, "repeats")
        if candidate.system is None:
            described.append(f"{list_some(candidate.scores)} as {what}")
        else:
            rows = f"{items_in} as items and " if candidate.shape == "long" else ""
            described.append(f"{rows}{quote_column(facts.sheet, candidate.system)} as systems")
    return Doubt(f"may be read with {' or with '.join(described)}", both)


def _quote_both(facts: Facts, names: Sequence[str]) -> str:
    return " and ".join(quote_column(facts.sheet, name) for name in names)


def _doubt_weak(facts: Facts, best: Candidate, rival: Candidate | None) -> Doubt:
    """Return the doubt of a table of which even the best reading has little for it."""
    rows = facts.sheet.rows
    named = [
        name
        for name, column in facts.columns.items()
        if column.roles[:1] == ("system",) and column.plain and 1 < column.distinct < rows
    ]
    if facts.by_word("measure") and not facts.by_word("topic") and not named:
        return Doubt(
            "has one row for each measure: contains only aggregate means",
            mend="give the scores of each topic or question",
        )
    if (best.shape == "long" and best.item is None) or (named and best.system not in named):
        return _doubt_items(facts, best if best.item is None else None)
    if best.shape == "means":
        return _doubt_means(facts, str(best.system))
    likely = [c for c in (best, rival) if c is not None and c.shape == "long" and c.points >= OFFERED]
    offers: list[Choices] = [_spell_candidate(c) for c in likely]
    if best.shape == "long":
        names = [str(best.item), str(best.system)]
        problem = f"{_quote_both(facts, names)} could be items and systems"
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
    return Doubt(f"no column names systems, and {doubted}", offers)


def _doubt_items(facts: Facts, best: Candidate | None = None) -> Doubt:
    """Return the doubt of a table whose rows have a system but no item: means, or scores that nothing pairs."""
    choices: list[Choices] = [
        {"item": name} for name, column in facts.columns.items() if "topic" in column.roles
    ]
    say = "say "
    if best is not None and not choices:
        choices, say = [{"system": str(best.system)}], "if every row is an item of its own, say "
    return Doubt("has no column of items (questions, topics)", choices, mend="add one", say=say)


def _doubt_means(facts: Facts, label: str) -> Doubt:
    """Return the refusal of a table with a row for each system."""
    noun = clean_noun(simplify_header(label)) or "system"
    return Doubt(
        f"has one row for each {noun}: contains only aggregate means",
        [{"item": label}],
        mend=(
            "give the scores of each topic or question",
            Either(", as pt.Experiment(…, perquery=True) returns them", ""),
        ),
        say=f"if {quote_column(facts.sheet, label)} names the items, say ",
    )


def _doubt_scores(facts: Facts) -> Doubt:
    """Return the refusal of a table without scores."""
    if facts.by_word("topic") and facts.by_word("system"):
        measures = facts.by_word("measure")
        problem = "has a column of measures but none of values" if measures else "has no column of scores"
        return Doubt(problem, mend="add one, called after the measure")
    problem, where = "has no columns of scores", ""
    for name, column in facts.columns.items():
        possible = column.words and not column.dates and not column.is_wordy and "topic" not in column.roles
        if possible and name != facts.first:
            problem += f": {column.words[0]!r} is neither a number nor a known verdict"
            where = facts.sheet.place(int(np.flatnonzero(np.isinf(column.values))[0]))
            break
    return Doubt(problem, mend="give one column a system, with numbers such as 1 and 0", where=where)


def _doubt_header(sheet: Sheet) -> Doubt:
    """Return the refusal of a table whose first row is data, with the columns that can be named by number."""
    facts = Facts(sheet, {})
    likely = [c for c in list_candidates(facts) if c.shape in ("long", "wide") and c.item is not None]
    labels = [name for name in sheet.columns if name not in facts.numbers]
    if len(labels) > 1:
        # which of several columns holds the scores nothing says
        likely = [c for c in likely if c.shape == "long" and len(c.scores) == 1]
    choices = [_spell_candidate(c) | ({"score": c.scores[0]} if c.shape == "long" else {}) for c in likely]
    return Doubt(
        "has no header: the first row is data",
        choices if labels else [{"system": facts.numbers}],
        mend="add a line with the names of the columns",
        say="name them by number: ",
    )


# from the candidate to the reading -----------------------------------------------------------------------------------


def _settle(facts: Facts, candidate: Candidate) -> Reading:
    """Return the reading of a candidate: the labels of the rows, the columns of scores, and why others are neither."""
    if len(candidate.repeat) > 1:
        sheet, joined = join_columns(facts.sheet, candidate.repeat)
        facts, candidate = replace(facts, sheet=sheet), replace(candidate, repeat=(joined,))
    sheet, shape = facts.sheet, candidate.shape
    if shape == "means":
        raise _doubt_means(facts, str(candidate.system))
    if shape == "turned":
        return _settle_turned(facts, candidate)
    if shape == "folds":
        item, scores = str(candidate.item), candidate.scores
        kinds = {name: c.kind for name, c in sheet.columns.items() if name not in (item, *scores)}
        notes = ("columns are repeats of one system",)
        return Reading(sheet, {"topic": item}, scores, False, kinds, notes=notes, folds=True)
    roles, omitted = _assign_roles(facts, candidate)
    rest = [name for name in sheet.columns if name not in roles.values() and name not in omitted]
    if shape == "wide":
        return _settle_wide(facts, candidate, roles, rest, omitted)
    if (
        shape == "long"
        and candidate.factor is not None
        and not candidate.apart
        and "value" not in facts.named
    ):
        raise _doubt_factor(facts, candidate)
    scores, others = _choose_scores(facts, candidate, roles, rest)
    if shape == "long":
        roles = _settle_unpaired(facts, candidate, roles)
    omitted = {name: why for name, why in (omitted | others).items() if name not in roles.values()}
    return Reading(sheet, roles, scores, False, omitted)


def _assign_roles(facts: Facts, candidate: Candidate) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns of all labels of the rows, and why others are none."""
    sheet, long = facts.sheet, candidate.shape == "long"
    roles = {role: name for role, name in facts.given.items() if role not in ("value", "slice")}
    chosen = {"topic": candidate.item, "instance": next(iter(candidate.repeat), None), "task": candidate.task}
    chosen |= {"system": candidate.system} if long else {}
    roles |= {role: name for role, name in chosen.items() if name is not None}
    omitted = dict.fromkeys(facts.named.get("slice", ()), SLICE)
    facts = replace(facts, named={role: names for role, names in facts.named.items() if role != "slice"})
    for role in ("measure", "shard", "split", "task", "cluster", "slice"):
        for name in facts.by_word(role):
            column = facts[name]
            if name in (*roles.values(), *candidate.scores) or (role == "measure" and column.is_numeric):
                continue
            like = "topic" in roles and name not in facts.taken and facts.are_alike(name, roles["topic"])
            if column.constant and (role == "slice" or (sheet.rows > 1 and role in ("task", "cluster"))):
                omitted[name] = "constant"
            elif like and role in ("task", "cluster") and sheet.rows > 1:
                omitted[name] = f"says the same as {roles['topic'] or 'another'}"
            elif role == "slice":
                omitted[name] = SLICE
            elif role not in roles and (role in ("measure", "shard", "split") or "topic" in roles):
                roles[role] = name
    used = (*roles.values(), *candidate.scores)
    spare = [name for name in facts.by_word("instance") if name not in used]
    if long and candidate.item is not None and "instance" not in roles:
        # one score a cell: seeds that differ from row to row say nothing
        cells = facts[candidate.item].distinct * facts[str(candidate.system)].distinct
        if candidate.unique and len(spare) == 1 and 2 * sheet.rows > cells * facts[spare[0]].distinct:
            roles["instance"] = spare.pop()
    if not (long and candidate.item is None):
        omitted |= dict.fromkeys(spare, "no repeats")
    for name, column in facts.columns.items():
        if name in (*used, *omitted, *roles.values()) or not {"topic", "system"} & set(column.roles):
            continue
        if not (column.is_score and column.is_numeric):
            labels = [roles[role] for role in ("topic", "system") if role in roles]
            same = [f"says the same as {n or 'another'}" for n in labels if facts.are_alike(name, n)]
            omitted[name] = (same or ["constant" if column.constant else "not needed"])[0]
    return roles, omitted


def _settle_unpaired(facts: Facts, candidate: Candidate, roles: dict[str, str]) -> dict[str, str]:
    """Return the roles of a table in which no item has scores of two systems; refuse it unless that is sure.

    It is sure where the caller names both columns, or items are people, who may see one system each. Where people have
    several rows that a column names, rows are the items and people their clusters.
    """
    sheet = facts.sheet
    if candidate.item is None:
        if "system" not in facts.named and sheet.rows < UNPAIRED:
            raise _doubt_items(facts, candidate)
        return roles
    items, systems = facts[roles["topic"]], facts[roles["system"]]
    pairs = facts.count(items.name, systems.name)
    if sheet.rows < UNPAIRED or systems.distinct < 2 or pairs != items.distinct:
        return roles
    if not {"topic", "system"} <= set(facts.given) and items.header not in PEOPLE:
        item, system = clean_noun(items.header) or "item", clean_noun(systems.header) or "system"
        raise Doubt(
            f"no {item} has scores of two {pluralize_noun(system)}",
            [{"item": items.name, "system": systems.name}],
            mend=f"name the same {pluralize_noun(item)} alike",
            say=f"if each met one {system} only, say ",
        )
    if sheet.rows > items.distinct and "cluster" not in roles:
        kept = {role: name for role, name in roles.items() if role not in ("instance", "topic")}
        rows = [
            name
            for name, column in facts.columns.items()
            if name not in (items.name, *kept.values())
            and column.unique
            and (column.whole or not column.is_numeric)
        ]
        roles = kept | {"cluster": items.name} | ({"topic": rows[0]} if rows else {})
    return roles


def _doubt_factor(facts: Facts, candidate: Candidate) -> Doubt:
    """Return the refusal of several scores of a cell that a column of another name tells apart."""
    name, system = str(candidate.factor), str(candidate.system)
    nouns = [clean_noun(simplify_header(column or "")) for column in (system, candidate.item)]
    return Doubt(
        f"has several scores of one {nouns[0]} on one {nouns[1] or 'item'}",
        [{"repeat": name}, {"system": [system, name]}],
        say=[f"if {name!r} identifies the repeats, say ", f"if {name!r} is a part of the {nouns[0]}, say "],
    )


def _choose_scores(
    facts: Facts, candidate: Candidate, roles: dict[str, str], rest: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns of scores of a long table, or of one system, and why others are none."""
    if "value" in facts.named:
        return facts.named["value"], {}
    if facts.measure in rest and (candidate.shape != "long" or facts.measure in facts.numbers):
        return (str(facts.measure),), {}
    of_one = candidate.shape == "measures"
    numbers = [name for name in rest if name in (candidate.scores if of_one else facts.numbers)]
    scores = [name for name in numbers if facts[name].is_score]
    others = {name: facts[name].kind for name in rest if name not in numbers}
    for column in map(facts.__getitem__, numbers):
        reason = "no score" if column.is_beside or column.counts else "another measure"
        others[column.name] = "constant" if column.constant and facts.sheet.rows > 1 else reason
    if of_one:
        if facts.single:
            plain = [n for n in numbers if not facts[n].is_beside and not facts[n].counts]
            scores = [name for name in numbers if name in scores or name in plain]
        chosen = scores or numbers
    else:
        chosen = _choose_values(facts, "measure" in roles, rest, numbers, scores)
    return tuple(chosen), {name: why for name, why in others.items() if name not in chosen}


def _choose_values(
    facts: Facts, measured: bool, rest: Sequence[str], numbers: list[str], scores: list[str]
) -> list[str]:
    """Return the columns of scores of a long table, of which some column may name the measures."""
    spoilt = [name for name in rest if facts[name].is_score and facts[name].words]
    if not numbers and spoilt:
        raise refuse_words(facts.sheet, spoilt[0])
    if measured:
        values = [name for name in scores if is_value(name)] or scores or numbers
        if len(values) == 1:
            return values
        none = "has a column of measures but none of values"
        raise Doubt(
            f"has {len(values)} columns of values" if values else none, mend="call the values value or score"
        )
    if scores:
        return scores
    kept = [name for name in numbers if not facts[name].is_beside and not facts[name].counts]
    varied = [name for name in kept if not facts[name].constant]
    kept = varied if varied and facts.sheet.rows >= FEW else kept
    if not kept and numbers:
        kept = [name for name in numbers if not ENDS_IN_ID.search(name)] or numbers
        if len(kept) > 1:
            problem = f"has {len(kept)} columns of numbers ({', '.join(kept)})"
            raise Doubt(problem, [{"score": name} for name in kept[:2]])
    if not kept:
        texts = [facts[name] for name in rest if name not in numbers]
        odd = next((column for column in texts if not column.is_wordy and column.words), None)
        held = odd is not None and not np.isnan(odd.values).all()
        holds = f": {odd.name} holds words such as {odd.words[0]!r}" if odd is not None and held else ""
        raise Doubt(f"has no column of scores{holds}", mend="add one, called after the measure")
    return kept


def _settle_wide(
    facts: Facts, candidate: Candidate, roles: dict[str, str], rest: Sequence[str], omitted: dict[str, str]
) -> Reading:
    """Return the reading of a table with a row for each item and a column for each system."""
    sheet, first = facts.sheet, facts[facts.first]
    numbers = [name for name in rest if name in candidate.scores]
    named = first.name in rest and not (first.is_numeric or first.is_wordy or first.blank)
    if "topic" not in roles and named and sheet.rows / 2 < first.distinct < sheet.rows:
        twice = first.labels.names[int(np.argmax(np.bincount(first.labels.codes)))]
        raise Doubt(
            f"{quote_column(sheet, first.name)} has {twice!r} twice",
            mend="give every row a name of its own",
            exclude=first.name,
        )
    item, fold = str(candidate.item), next(iter(candidate.repeat), None)
    parted = fold is not None and "instance" not in facts.named and simplify_header(fold) in FOLDS
    if parted and any(np.isnan(sheet.columns[name].values).any() for name in numbers):
        raise Doubt(
            f"scores are missing, and {fold!r} may identify repeats or parts of {quote_column(sheet, item)}",
            [{"item": item, "repeat": str(fold)}, {"item": [item, str(fold)]}],
        )
    scores, others, parts = choose_systems(sheet, rest, numbers, named="topic" in roles)
    return Reading(sheet, roles, scores, not parts, omitted | others, parts)


def _settle_turned(facts: Facts, candidate: Candidate) -> Reading:
    """Return the reading of a table with a row for each system and a column for each item: as one that is turned."""
    sheet, label, numbers = facts.sheet, str(candidate.system), candidate.scores
    if sum(not facts[name].is_beside for name in numbers) < 2:
        raise _doubt_means(facts, label)
    for name in numbers:
        if facts[name].words:
            raise refuse_words(sheet, name)
    turned = exchange_axes(sheet, label, numbers)
    omitted = {name: c.kind for name, c in sheet.columns.items() if name not in (label, *numbers)}
    names = [name for name in turned.columns if name != "item"]
    notes = ("rows are systems, columns are items",)
    if "system" in facts.named:
        return Reading(turned, {"topic": "item"}, tuple(names), True, omitted, notes=notes)
    whole = Facts(turned, {})
    reading = _settle_wide(
        whole, Candidate("wide", "item", scores=tuple(names)), {"topic": "item"}, names, omitted
    )
    return replace(reading, notes=notes)
