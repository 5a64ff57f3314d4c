"""The reading of a table: the candidate that is clearly ahead, or a refusal with the two best.

What no candidate can say by itself is settled here: the other labels of the rows, the columns of scores, and the rows
and columns that are left out. Every option of a refusal is tried by the same rules before it is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    name_measure,
    prefer_id,
)
from shardwise.io.tables.exclusions import choose_systems, drop_summary_rows, find_number_sign, find_word_sign
from shardwise.io.tables.facts import (
    FEW,
    MOST_ARMS,
    Choices,
    Columns,
    Doubt,
    Facts,
    Reading,
    find_named,
    is_kept_beside,
    list_some,
    may_name_systems,
    quote_column,
    refuse_words,
    spell_choice,
    write_refusal,
)
from shardwise.io.tables.sheet import ENDS_IN_ID, Sheet, exchange_axes, fill_down, join_columns, melt_columns
from shardwise.io.tables.words import FOLDS, PEOPLE, is_score, is_text, is_value, list_roles, simplify_header

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
        return _read_sheet(sheet, {**(columns or {}), **more}, measure, single, factors, (*exclude, *without))

    def leads_to_scores(more: Columns, without: Sequence[str]) -> bool:
        try:
            return _has_one_score_a_cell(read_with(more, without))
        except (Doubt, InputError):
            return False

    try:
        reading = read_with({}, ())
    except Doubt as doubt:
        raise write_refusal(sheet, doubt, leads_to_scores) from None
    if single or "system" in find_named(sheet, columns or {}) or not _has_one_system(reading):
        return reading
    choices = (spell_choice(sheet, roles) for roles in _list_other_systems(reading))
    return replace(reading, perhaps=next((c for c in choices if leads_to_scores(c, ())), None))


def _read_sheet(
    sheet: Sheet,
    columns: Columns,
    measure: str | None,
    single: bool,
    factors: Sequence[str],
    exclude: Sequence[str],
) -> Reading:
    """Return the reading of a table, or raise the doubt that there is."""
    named = find_named(sheet, columns)
    if sheet.headerless and not named:
        raise _doubt_header(sheet)
    spared = {name for names in named.values() for name in names}
    sheet = sheet.without_columns([*factors, *(name for name in exclude if name not in spared)])
    sheet, notes = fill_down(sheet)
    for role in ("topic", "system"):
        names = named.get(role, ())
        if len(names) > 1 and (role == "topic" or not any(sheet.columns[n].is_numeric for n in names)):
            sheet, joined = join_columns(sheet, names)
            named = named | {role: (joined,)}
    facts = Facts(sheet, named, measure, single)
    if len(named.get("system", ())) > 1:
        reading = _read_named_columns(facts)
    else:
        best = _choose_candidate(facts)
        reading = SETTLED[best.shape](facts, best)
    reading = replace(reading, notes=(*sheet.notes, *notes, *reading.notes))
    return drop_summary_rows(reading, exclude)


def _has_one_score_a_cell(reading: Reading) -> bool:
    """Tell whether no item has two scores of a system that nothing tells apart, and whether there are two systems."""
    sheet = reading.sheet
    facts = Facts(sheet, {})
    keys = [name for role, name in reading.roles.items() if role not in ("value", "cluster")]
    if any(np.isinf(sheet.columns[name].values).any() for name in reading.scores):
        return False
    if "system" in reading.roles and not may_name_systems(sheet.columns[reading.roles["system"]]):
        return False
    if "topic" not in reading.roles or facts.count(*keys) != sheet.rows:
        return "topic" not in reading.roles
    # numbers that go with the items are the same for all systems, by chance in few rows only
    item = reading.roles["topic"]
    telling = [name for name in reading.scores if facts.count(item, name) > sheet.columns[item].distinct]
    return (
        bool(telling) or "system" not in reading.roles or sheet.rows < UNPAIRED or sheet.columns[item].unique
    )


def _has_one_system(reading: Reading) -> bool:
    """Tell whether nothing can be compared: one column of scores, and no column that names two systems."""
    if reading.wide or reading.parts:
        return len(reading.scores) == 1
    return "system" not in reading.roles or reading.sheet.columns[reading.roles["system"]].constant


def _list_other_systems(reading: Reading) -> list[dict[str, str]]:
    """Return choices of a column of systems among the columns of labels that a reading leaves out."""
    sheet = reading.sheet
    item = {"item": reading.roles["topic"]} if "topic" in reading.roles else {}
    names = [
        name
        for name in (*reading.omitted, *(reading.roles[r] for r in ("cluster",) if r in reading.roles))
        if name in sheet.columns
        and 1 < sheet.columns[name].distinct <= min(MOST_ARMS, sheet.rows / 2)
        and not sheet.columns[name].is_numeric
        and list_roles(name)[:1] != ("slice",)
        and not is_text(name)
    ]
    return [{**roles, "system": name} for name in names for roles in ({}, item)]


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
    roles: dict[str, str | Sequence[str] | None] = {"item": candidate.item, "system": candidate.system}
    if candidate.shape == "wide":
        roles["system"] = candidate.scores
    elif candidate.shape in ("turned", "means"):
        roles = {"system": candidate.system}
    elif candidate.shape == "measures":
        roles = {"item": candidate.item, "score": candidate.scores}
    elif candidate.repeat is not None:
        roles["repeat"] = candidate.repeat
    return {role: name for role, name in roles.items() if name is not None}


def _doubt_between(facts: Facts, best: Candidate, rival: Candidate) -> Doubt:
    """Return the doubt between two readings, with the columns that choose each."""
    sheet, shapes = facts.sheet, {best.shape, rival.shape}
    both = [_spell_candidate(best), _spell_candidate(rival)]
    item, system = str(best.item), str(best.system)
    if best.shape == rival.shape and best.shape in ("long", "wide", "measures"):
        if best.item is None or rival.item is None:
            return _doubt_items(facts, best)
        if best.system == rival.system:
            names = [item, rival.item]
            problem = f"columns {quote_column(sheet, item)} and {quote_column(sheet, rival.item)} both name the item"
            short: list[Choices] = [{"item": name} for name in names]
            further = [{"item": x, role: y} for role in ("repeat", "system") for x, y in (names, names[::-1])]
            return Doubt(problem, [*short, *both, *further])
        if best.item == rival.item:
            names = [system, str(rival.system)]
            short = [{"system": name} for name in names]
            if not best.unique and not rival.unique:
                # where both tell the scores of an item apart, they are joined
                short = [{"system": names}, *({"system": a, "repeat": b} for a, b in (names, names[::-1]))]
            problem = (
                f"{quote_column(sheet, system)} and {quote_column(sheet, names[1])} could both be the systems"
            )
            return Doubt(problem, [*short, *both])
        pairs = [{"item": str(c.item), "system": str(c.system)} for c in (best, rival)]
        problem = f"{quote_column(sheet, item)} and {quote_column(sheet, system)} could be items and systems"
        return Doubt(problem, [pairs[0], both[0], pairs[1], both[1]])
    if "means" in shapes and shapes != {"means", "long"}:
        return _doubt_means(facts, str(best.system or rival.system))
    if "turned" in shapes:
        label = str(best.item or rival.item)
        shown = ", ".join(facts.columns[label].first_names[:3])
        return Doubt(f"rows may be items or systems ({shown} …)", [{"item": label}, {"system": label}])
    readings = " or with ".join(_say_candidate(facts, c) for c in (best, rival))
    return Doubt(f"may be read with {readings}", both)


def _say_candidate(facts: Facts, candidate: Candidate) -> str:
    """Return a reading in a few words."""
    items = "its rows" if candidate.item is None else quote_column(facts.sheet, candidate.item)
    if candidate.system is not None:
        rows = f"{items} as items and " if candidate.shape == "long" else ""
        return f"{rows}{quote_column(facts.sheet, candidate.system)} as systems"
    what = {"wide": "systems", "measures": "measures of one system"}.get(candidate.shape, "repeats")
    return f"{list_some(candidate.scores)} as {what}"


def _doubt_weak(facts: Facts, best: Candidate, rival: Candidate | None) -> Doubt:
    """Return the doubt of a table of which even the best reading has little for it."""
    sheet = facts.sheet
    named = [name for name in sheet.columns if facts.words(name)[:1] == ("system",) and facts.is_plain(name)]
    named = [name for name in named if 1 < sheet.columns[name].distinct < sheet.rows]
    if facts.by_word("measure") and not facts.by_word("topic") and not named:
        return Doubt(
            "has one row for each measure: contains only aggregate means",
            mend="give the scores of each topic or question",
        )
    if (best.shape == "long" and best.item is None) or (named and best.system not in named):
        return _doubt_items(facts, best if best.item is None else None)
    if best.shape == "means":
        return _doubt_means(facts, str(best.system))
    offers = [c for c in (best, rival) if c is not None and c.shape == "long" and c.points >= OFFERED]
    if best.shape == "long":
        a, b = quote_column(sheet, str(best.item)), quote_column(sheet, str(best.system))
        pairs = [_spell_candidate(c) for c in offers]
        if best.features.get("items and systems cross completely"):
            # whichever has more labels is rather the item
            names = sorted((str(best.item), str(best.system)), key=lambda n: -sheet.columns[n].distinct)
            pairs = [{"item": x, "system": y} for x, y in (names, names[::-1])]
        return Doubt(f"{a} and {b} could be items and systems", pairs)
    columns = list_some(best.scores)
    several = len(best.scores) > 1
    problem = (
        f"no column names systems, and nothing says that {columns} {'are systems' if several else 'is one'}"
    )
    if several and best.features.get("columns share a measure", 0.0) < 0.0:
        problem = f"no column names systems, and {columns} are numbers of different kinds"
    return Doubt(problem, [_spell_candidate(c) for c in offers])


def _doubt_items(facts: Facts, best: Candidate | None = None) -> Doubt:
    """Return the doubt of a table whose rows have a system but no item: means, or scores that nothing pairs."""
    names = [name for name in facts.columns if "topic" in facts.words(name)]
    choices: list[Choices] = [{"item": name} for name in names]
    alone = best is not None and not names
    return Doubt(
        "has no column of items (questions, topics)",
        [*choices, {"system": str(best.system)}] if best is not None and alone else choices,
        mend="add one",
        say="if every row is an item of its own, say " if alone else "say ",
    )


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
    sheet = facts.sheet
    if facts.by_word("topic") and facts.by_word("system"):
        measures = facts.by_word("measure")
        problem = "has a column of measures but none of values" if measures else "has no column of scores"
        return Doubt(problem, mend="add one, called after the measure")
    spoilt = [name for name, c in sheet.columns.items() if c.words and not c.dates and not is_text(name)]
    spoilt = [name for name in spoilt if "topic" not in facts.words(name) and name != facts.first]
    if not spoilt:
        return Doubt(
            "has no columns of scores", mend="give one column a system, with numbers such as 1 and 0"
        )
    column = sheet.columns[spoilt[0]]
    row = int(np.flatnonzero(np.isinf(column.values))[0])
    return Doubt(
        f"has no columns of scores: {column.words[0]!r} is neither a number nor a known verdict",
        mend="give one column a system, with numbers such as 1 and 0",
        where=sheet.place(row),
    )


def _doubt_header(sheet: Sheet) -> Doubt:
    """Return the refusal of a table whose first row is data, with the columns that can be named by number."""
    facts = Facts(sheet, {})
    likely = [c for c in list_candidates(facts) if c.shape in ("long", "wide") and c.item is not None]
    labels = [name for name in sheet.columns if name not in facts.numbers]
    if len(labels) > 1:
        # which of several columns holds the scores nothing says
        likely = [c for c in likely if c.shape == "long" and len(c.scores) == 1]
    choices = [_spell_candidate(c) | ({"score": c.scores[0]} if c.shape == "long" else {}) for c in likely]
    nameless: Choices = {"system": facts.numbers}
    return Doubt(
        "has no header: the first row is data",
        choices if labels else [nameless],
        mend="add a line with the names of the columns",
        say="name them by number: ",
    )


# the other labels of the rows ----------------------------------------------------------------------------------------


def _assign_roles(facts: Facts, candidate: Candidate) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns of all labels of the rows, and why others are none."""
    sheet = facts.sheet
    roles = {role: name for role, name in facts.roles.items() if role != "value"}
    omitted: dict[str, str] = {}
    given = {"topic": candidate.item, "instance": candidate.repeat, "task": candidate.task}
    if candidate.shape == "long":
        given["system"] = candidate.system
    roles |= {role: name for role, name in given.items() if name is not None}
    for role in ("measure", "shard", "split", "task", "cluster", "slice"):
        for name in facts.by_word(role):
            column = sheet.columns[name]
            if (
                name in roles.values()
                or (role == "measure" and column.is_numeric)
                or name in candidate.scores
            ):
                continue
            like = "topic" in roles and name not in facts.taken and facts.are_alike(name, roles["topic"])
            if column.constant and sheet.rows > 1 and role in ("task", "cluster"):
                omitted[name] = "constant"
            elif like and role in ("task", "cluster") and sheet.rows > 1:
                omitted[name] = f"says the same as {roles['topic'] or 'another'}"
            elif role == "slice":
                omitted[name] = "constant" if column.constant else "a slice, not used"
            elif role not in roles and (role in ("measure", "shard", "split") or "topic" in roles):
                roles[role] = name
    return roles, omitted


def _explain_same(facts: Facts, roles: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return why columns with words for items and systems are neither."""
    omitted = {}
    for name in names:
        column = facts.columns[name]
        if not {"topic", "system"} & set(facts.words(name)) or (is_score(name) and column.is_numeric):
            continue
        like = [roles[r] for r in ("topic", "system") if r in roles and facts.are_alike(name, roles[r])]
        same = [f"says the same as {other or 'another'}" for other in like]
        omitted[name] = (same or ["constant" if column.constant else "not needed"])[0]
    return omitted


# long tables ---------------------------------------------------------------------------------------------------------


def _settle_long(facts: Facts, candidate: Candidate) -> Reading:
    """Return the reading of a long table, of which items and systems are known."""
    sheet = facts.sheet
    roles, omitted = _assign_roles(facts, candidate)
    if "instance" not in roles and candidate.item is not None:
        # one score a cell: seeds that differ from row to row say nothing
        spare = [name for name in facts.by_word("instance") if name not in roles.values()]
        cells = sheet.columns[candidate.item].distinct * sheet.columns[str(candidate.system)].distinct
        if (
            candidate.unique
            and len(spare) == 1
            and 2 * sheet.rows >= cells * sheet.columns[spare[0]].distinct
        ):
            roles["instance"] = spare[0]
        else:
            omitted |= dict.fromkeys(spare, "no repeats")
    rest = [name for name in sheet.columns if name not in roles.values() and name not in omitted]
    if candidate.factor is not None and not candidate.apart and "value" not in facts.named:
        raise _doubt_factor(facts, candidate)
    omitted |= _explain_same(facts, roles, rest)
    scores, others = _choose_scores(facts, roles, [name for name in rest if name not in omitted])
    roles = _settle_unpaired(facts, roles) if candidate.item is not None else roles
    if candidate.item is None and "system" not in facts.named and sheet.rows < UNPAIRED:
        raise _doubt_items(facts, candidate)
    omitted = {name: why for name, why in (omitted | others).items() if name not in roles.values()}
    return Reading(sheet, roles, scores, False, omitted)


def _settle_unpaired(facts: Facts, roles: dict[str, str]) -> dict[str, str]:
    """Return the roles of a table in which no item has scores of two systems; refuse it unless that is sure.

    It is sure where the caller names both columns, or items are people, who may see one system each. Where people have
    several rows that a column names, rows are the items and people their clusters.
    """
    sheet = facts.sheet
    items, systems = sheet.columns[roles["topic"]], sheet.columns[roles["system"]]
    pairs = facts.count(roles["topic"], roles["system"])
    if sheet.rows < UNPAIRED or systems.distinct < 2 or pairs != items.distinct:
        return roles
    item = clean_noun(simplify_header(roles["topic"])) or "item"
    system = clean_noun(simplify_header(roles["system"])) or "system"
    named = {"topic", "system"} <= set(facts.roles)
    if not named and simplify_header(roles["topic"]) not in PEOPLE:
        raise Doubt(
            f"no {item} has scores of two {pluralize_noun(system)}",
            [{"item": roles["topic"], "system": roles["system"]}],
            mend=f"name the same {pluralize_noun(item)} alike",
            say=f"if each met one {system} only, say ",
        )
    if sheet.rows > items.distinct and "cluster" not in roles:
        taken = {name for role, name in roles.items() if role != "instance"}
        rows = [name for name, column in sheet.columns.items() if name not in taken and column.unique]
        rows = [name for name in rows if not sheet.columns[name].is_numeric or sheet.columns[name].whole]
        roles = roles | {"cluster": roles["topic"], "topic": rows[0] if rows else ""}
        roles = {
            role: name for role, name in roles.items() if role != "instance" and (rows or role != "topic")
        }
    return roles


def _doubt_factor(facts: Facts, candidate: Candidate) -> Doubt:
    """Return the refusal of several scores of a cell that a column of another name tells apart."""
    name, system = str(candidate.factor), str(candidate.system)
    nouns = [clean_noun(simplify_header(column or "")) for column in (system, candidate.item)]
    choices: list[Choices] = [{"repeat": name}, {"system": [system, name]}]
    return Doubt(
        f"has several scores of one {nouns[0]} on one {nouns[1] or 'item'}",
        choices,
        say=[f"if {name!r} identifies the repeats, say ", f"if {name!r} is a part of the {nouns[0]}, say "],
    )


def _choose_scores(
    facts: Facts, roles: Mapping[str, str], rest: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the columns of scores of a long table, and why others are none."""
    sheet = facts.sheet
    numbers = [name for name in rest if name in facts.numbers]
    texts = {name: sheet.columns[name].kind for name in rest if name not in numbers}
    if "value" in facts.named:
        return facts.named["value"], {}
    if facts.measure in numbers:
        return (str(facts.measure),), {}
    words = [name for name in numbers if is_score(name)]
    spoilt = [name for name in rest if is_score(name) and sheet.columns[name].words]
    if not numbers and spoilt:
        raise refuse_words(sheet, spoilt[0])
    if "measure" in roles:
        values = [name for name in words if is_value(name)] or words or numbers
        if len(values) == 1:
            return (values[0],), texts
        none = "has a column of measures but none of values"
        raise Doubt(
            f"has {len(values)} columns of values" if values else none, mend="call the values value or score"
        )
    if words:
        return tuple(words), texts | {name: "no score" for name in numbers if name not in words}
    kept = [name for name in numbers if not is_kept_beside(name) and not sheet.columns[name].counts]
    varied = [name for name in kept if not sheet.columns[name].constant]
    kept = varied if varied and sheet.rows >= FEW else kept
    if not kept and numbers:
        kept = [name for name in numbers if not ENDS_IN_ID.search(name)] or numbers
        if len(kept) > 1:
            problem = f"has {len(kept)} columns of numbers ({', '.join(kept)})"
            raise Doubt(problem, [{"score": name} for name in kept[:2]])
    if not kept:
        odd = next((name for name in texts if not is_text(name) and sheet.columns[name].words), None)
        held = odd is not None and not np.isnan(sheet.columns[odd].values).all()
        holds = f": {odd} holds words such as {sheet.columns[str(odd)].words[0]!r}" if held else ""
        raise Doubt(f"has no column of scores{holds}", mend="add one, called after the measure")
    others = {
        name: "constant" if sheet.columns[name].constant else "no score"
        for name in numbers
        if name not in kept
    }
    return tuple(kept), texts | others


# tables with a row for each item or system ---------------------------------------------------------------------------


def _settle_wide(facts: Facts, candidate: Candidate) -> Reading:
    """Return the reading of a table with a row for each item and a column for each system."""
    sheet = facts.sheet
    roles, omitted = _assign_rows(facts, candidate)
    rest = [name for name in sheet.columns if name not in roles.values() and name not in omitted]
    numbers = [name for name in rest if name in candidate.scores]
    if "topic" not in roles:
        _doubt_doubled_names(facts, rest)
    item, fold = str(candidate.item), candidate.repeat
    parted = fold is not None and "instance" not in facts.named and simplify_header(fold) in FOLDS
    if parted and any(np.isnan(sheet.columns[name].values).any() for name in numbers):
        raise Doubt(
            f"scores are missing, and {fold!r} may identify repeats or parts of {quote_column(sheet, item)}",
            [{"item": item, "repeat": str(fold)}, {"item": [item, str(fold)]}],
        )
    scores, others, parts = choose_systems(facts, rest, numbers, named="topic" in roles)
    filled = [name for name in scores if name not in sheet.empty]
    flat = [name for name in filled if sheet.rows >= FEW and sheet.columns[name].constant]
    return Reading(
        sheet, roles, scores, not parts, omitted | others, tuple(flat), parts, measure=name_measure(scores)
    )


def _assign_rows(facts: Facts, candidate: Candidate) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels of the rows of a table without a column of systems, and why other columns are none."""
    roles, omitted = _assign_roles(facts, candidate)
    rest = [name for name in facts.columns if name not in roles.values() and name not in omitted]
    rest = [name for name in rest if name not in candidate.scores]
    omitted |= dict.fromkeys((name for name in rest if "instance" in facts.words(name)[:1]), "no repeats")
    omitted |= _explain_same(facts, roles, [name for name in rest if name not in omitted])
    return roles, omitted


def _doubt_doubled_names(facts: Facts, rest: Sequence[str]) -> None:
    """Refuse a table whose first column names most rows, but some of them twice."""
    sheet, first = facts.sheet, facts.first
    column = sheet.columns[first]
    named = first in rest and not column.is_numeric and not is_text(first) and not column.blank
    if named and sheet.rows / 2 < column.distinct < sheet.rows:
        twice = int(np.argmax(np.bincount(column.labels.codes)))
        raise Doubt(
            f"{quote_column(sheet, first)} has {column.labels.names[twice]!r} twice",
            mend="give every row a name of its own",
            exclude=first,
        )


def _read_named_columns(facts: Facts) -> Reading:
    """Return the reading of a wide table whose systems the caller names."""
    sheet, systems = facts.sheet, facts.named["system"]
    wide = [
        c
        for c in list_candidates(replace(facts, named={**facts.named, "value": systems}))
        if c.shape == "wide"
    ]
    best = prefer_id(facts, wide[0], wide) if wide else Candidate("wide", facts.roles.get("topic"))
    roles, _ = _assign_roles(facts, replace(best, scores=systems))
    roles = {role: name for role, name in roles.items() if name not in systems}
    others = [name for name in sheet.columns if name not in systems and name not in roles.values()]
    return Reading(
        sheet, roles, tuple(systems), True, dict.fromkeys(others, "not named"), measure=name_measure(systems)
    )


def _settle_measures(facts: Facts, candidate: Candidate) -> Reading:
    """Return the reading of a table of one system, with a column for each measure."""
    sheet = facts.sheet
    roles, omitted = _assign_rows(facts, candidate)
    rest = [name for name in sheet.columns if name not in roles.values() and name not in omitted]
    if "value" in facts.named or facts.measure in rest:
        scores = list(facts.named.get("value", (str(facts.measure),)))
        return Reading(sheet, roles, tuple(scores), False, omitted)
    numbers = [name for name in candidate.scores if name in rest]
    scores = [name for name in numbers if is_score(name)]
    if facts.single:
        plain = [name for name in numbers if not is_kept_beside(name)]
        scores = [n for n in numbers if n in scores or n in plain] if scores else plain
        scores = [name for name in scores if is_score(name) or not sheet.columns[name].counts]
    scores = scores or numbers
    texts = {name: sheet.columns[name].kind for name in rest if name not in numbers}
    others = {name: "no score" for name in numbers if name not in scores}
    return Reading(sheet, roles, tuple(scores), False, omitted | texts | others)


def _settle_folds(facts: Facts, candidate: Candidate) -> Reading:
    """Return the reading of a table of one system, with a column for each repeat."""
    sheet, item = facts.sheet, str(candidate.item)
    melted = melt_columns(sheet, item, candidate.scores)
    texts = [name for name in sheet.columns if name not in (item, *candidate.scores)]
    omitted = {name: sheet.columns[name].kind for name in texts}
    roles = {"topic": item, "instance": "repeat"}
    return Reading(melted, roles, ("score",), False, omitted, notes=("columns are repeats of one system",))


def _settle_turned(facts: Facts, candidate: Candidate) -> Reading:
    """Return the reading of a table with a row for each system and a column for each item."""
    sheet, label, numbers = facts.sheet, str(candidate.system), candidate.scores
    if len([name for name in numbers if not is_kept_beside(name)]) < 2:
        raise _doubt_means(facts, label)
    for name in numbers:
        if sheet.columns[name].words:
            raise refuse_words(sheet, name)
    turned = exchange_axes(sheet, label, numbers)
    omitted = {
        name: column.kind for name, column in sheet.columns.items() if name not in numbers and name != label
    }
    names = [name for name in turned.columns if name != "item"]
    footnotes = [n for n in names if " " in n.strip() and bool(np.isnan(turned.columns[n].values).all())]
    omitted |= dict.fromkeys(footnotes, "no scores")
    names = [name for name in names if name not in footnotes]
    ordinary = [name for name in names if find_word_sign(name) != "strong"]
    values = {name: turned.columns[name].values for name in ordinary}
    for name in names if "system" not in facts.named and len(ordinary) > 1 else ():
        if name in ordinary:
            continue
        omitted[name] = find_number_sign(turned, name, values, worded=True)
        if not omitted[name]:
            problem = f"row {name!r} may be a system, or sum up others"
            raise Doubt(problem, [{"system": label}], exclude=name)
    scores = tuple(name for name in names if name not in omitted)
    flat = tuple(n for n in scores if turned.rows >= FEW and turned.columns[n].constant)
    notes = ("rows are systems, columns are items",)
    return Reading(turned, {"topic": "item"}, scores, True, omitted, flat, notes=notes)


def _settle_means(facts: Facts, candidate: Candidate) -> Reading:
    """Refuse a table with a row of means for each system."""
    raise _doubt_means(facts, str(candidate.system))


SETTLED: dict[str, Callable[[Facts, Candidate], Reading]] = {
    "long": _settle_long,
    "wide": _settle_wide,
    "turned": _settle_turned,
    "folds": _settle_folds,
    "measures": _settle_measures,
    "means": _settle_means,
}
"""What makes a reading of a candidate of each shape."""
