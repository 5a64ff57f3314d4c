"""Wide tables, a row for each item and a column for each system; and turned ones, a row for each system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from shardwise.core.errors import Either, InputError, Option, Part
from shardwise.core.scores import clean_noun
from shardwise.io.tables import signs
from shardwise.io.tables.column import Column
from shardwise.io.tables.facts import (
    FEW,
    FORCED,
    LOOK,
    Facts,
    are_alike,
    count_keys,
    explain_text,
    first_names,
    is_kept_beside,
    is_numeric,
    quote_column,
    refuse_readings,
    refuse_words,
)
from shardwise.io.tables.roles import Choice, Reading, show_column
from shardwise.io.tables.sheet import Sheet, make_sheet
from shardwise.io.tables.words import (
    BOOKKEEPING,
    SWING,
    is_bookkeeping,
    is_measure,
    is_numbered,
    is_score,
    is_summary_header,
    is_text,
    list_roles,
    share_of_items,
    share_of_models,
    simplify_header,
    split_words,
)

TURNED = 3.0  # points from which rows and columns are exchanged


def read_named_columns(facts: Facts) -> Reading:
    """Return the reading of a wide table whose systems the caller names."""
    sheet, systems = facts.sheet, facts.named["system"]
    roles = {role: name for role, name in facts.roles.items() if role != "value"}
    if "topic" not in roles:
        item = _choose_item(facts, [name for name in sheet.columns if name not in systems])
        roles |= {"topic": item} if item is not None else {}
    for role in ("shard", "split", "instance", "task", "cluster"):
        candidates = [
            name for name in facts.by_word(role) if name not in systems and not sheet.columns[name].constant
        ]
        if candidates and role not in roles and candidates[0] not in roles.values():
            roles[role] = candidates[0]
    items = sheet.columns[roles["topic"]] if "topic" in roles else None
    if "instance" in roles and "instance" not in facts.named and items is not None and items.unique:
        del roles["instance"]
    others = {
        name: "not named" for name in sheet.columns if name not in systems and name not in roles.values()
    }
    return Reading(sheet, roles, tuple(systems), True, others)


def read_wide(facts: Facts, single: bool) -> Reading:
    """Return the reading of a table with a row for each item; of one that is turned, after turning it."""
    sheet = facts.sheet
    roles, omitted = _wide_roles(facts)
    _refuse_without_items(facts, roles)
    rest = [name for name in sheet.columns if name not in roles.values() and name not in omitted]
    if not single and "value" not in facts.named and facts.measure not in rest:
        turned = _turn_table(facts, roles, rest)
        if turned is not None:
            return turned
    if "system" not in facts.named:
        _refuse_crossed(facts, roles, rest)
    if "topic" not in roles:
        _refuse_doubled_names(facts, rest)
        if "measure" in roles:
            raise InputError(
                "has one row for each measure: contains only aggregate means",
                where=sheet.source,
                remedy="give the scores of each topic or question",
            )
    numbers = [name for name in rest if is_numeric(sheet.columns[name])]
    measures = [name for name in numbers if is_score(name)]
    if "value" in facts.named or (facts.measure in numbers and (measures or len(numbers) == 1)):
        chosen = facts.named.get("value", (str(facts.measure),))
        return Reading(sheet, _with_item(facts, roles), tuple(chosen), False, omitted)
    if single or (measures and "topic" in roles and all(is_score(n) or is_kept_beside(n) for n in numbers)):
        return _read_measures(facts, roles, rest, omitted, single)
    scores, others, parts = _choose_systems(facts, roles, rest)
    filled = [name for name in scores if name not in sheet.empty]
    flat = [name for name in filled if sheet.rows >= FEW and sheet.columns[name].constant]
    return Reading(sheet, roles, scores, not parts, omitted | others, tuple(flat), parts)


def _refuse_crossed(facts: Facts, roles: Mapping[str, str], rest: Sequence[str]) -> None:
    """Refuse a table that two further columns of labels cross: then its rows are items and systems."""
    sheet = facts.sheet
    names = [roles["topic"]] if "topic" in roles and "topic" not in facts.named else []
    keys = [sheet.columns[roles[role]] for role in ("topic", "instance") if role in roles]
    if len(keys) == 2 and count_keys(keys) == sheet.rows:
        return
    for name in rest:
        column = sheet.columns[name]
        labels = not column.blank and (not is_numeric(column) or (column.whole and not is_score(name)))
        if labels and 1 < column.distinct < sheet.rows:
            names.append(name)
    for k, first in enumerate(names[:10]):
        for second in names[k + 1 : 10]:
            a, b = sheet.columns[first], sheet.columns[second]
            crossed = a.distinct * b.distinct == sheet.rows and count_keys([a, b]) == sheet.rows
            if crossed and sheet.rows >= 6:
                choices = [{"item": first, "system": second}, {"item": second, "system": first}]
                ordered = choices if a.distinct >= b.distinct else choices[::-1]
                raise refuse_readings(
                    sheet,
                    f"{quote_column(sheet, first)} and {quote_column(sheet, second)} may be items and systems",
                    ordered,
                )


def _refuse_doubled_names(facts: Facts, rest: Sequence[str]) -> None:
    """Refuse a table whose first column names most rows, but some of them twice."""
    sheet = facts.sheet
    first = next(iter(sheet.columns))
    column = sheet.columns[first]
    named = first in rest and not is_numeric(column) and not is_text(first) and not column.blank
    if named and sheet.rows / 2 < column.distinct < sheet.rows:
        twice = int(np.argmax(np.bincount(column.labels.codes)))
        raise InputError(
            f"{quote_column(sheet, first)} has {column.labels.names[twice]!r} twice",
            where=sheet.source,
            remedy=(
                "give every row a name of its own, or leave the column out with ",
                Option("exclude", first),
            ),
        )


def _wide_roles(facts: Facts) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels of the rows of a wide table."""
    sheet, omitted = facts.sheet, dict[str, str]()
    roles = dict(facts.roles)
    roles.pop("value", None)
    for role in ("measure", "shard", "split", "task", "cluster"):
        for name in facts.by_word(role):
            numeric = is_numeric(sheet.columns[name]) and role == "measure"
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
            item = next(
                (roles[r] for r in ("task", "cluster") if r in roles and sheet.columns[roles[r]].unique), None
            )
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


def _choose_item(facts: Facts, names: Sequence[str]) -> str | None:
    """Choose the column that names the rows of a wide table: by its word, or the first if it differs in every row."""
    sheet = facts.sheet
    words = [
        name for name in names
        if "topic" in facts.words(name) and not sheet.columns[name].blank and not _is_scored(facts, name)
        and (simplify_header(name) not in SWING or name == next(iter(sheet.columns))
             or not is_numeric(sheet.columns[name]) or sheet.columns[name].unique)
    ]  # fmt: skip
    if words:
        strong = [name for name in words if simplify_header(name) not in SWING] or words
        telling = [name for name in strong if not sheet.columns[name].constant] or strong
        unique = [name for name in telling if sheet.columns[name].unique] or telling
        first = next((name for name in unique if simplify_header(name).endswith("id")), unique[0])
        rival = next(
            (n for n in telling if n != first and not are_alike(sheet.columns[first], sheet.columns[n])),
            None,
        )
        if rival is not None and not (
            sheet.columns[first].unique and not sheet.columns[rival].unique and is_text(rival)
        ):
            raise refuse_readings(
                sheet,
                f"columns {quote_column(sheet, first)} and {quote_column(sheet, rival)} both name the item",
                [{"item": first}, {"item": rival}],
            )
        return first
    first_column = next(iter(sheet.columns))
    if first_column not in names or is_score(first_column):
        return None
    column = sheet.columns[first_column]
    if facts.words(first_column) and "system" not in facts.words(first_column):
        return None
    labelled = not is_numeric(column) or column.dates
    if labelled and column.unique and not column.blank:
        return first_column
    return first_column if column.counts and _numbers_rows(facts, first_column) else None


def _is_scored(facts: Facts, name: str) -> bool:
    """Tell whether a column with a word for items holds fractions as other columns do, so that it is a system."""
    column = facts.get_column(name)
    if not is_numeric(column) or column.whole or column.words:
        return False
    others = [facts.get_column(other).values for other in facts.numbers if other != name]
    first = name == next(iter(facts.sheet.columns))
    return not first and bool(others) and not signs.is_of_another_scale(column.values, others)


def _numbers_rows(facts: Facts, name: str) -> bool:
    """Tell whether whole numbers in the first column name the rows: they count up, or differ in kind from scores."""
    values = facts.get_column(name).values
    if share_of_models([name]):
        return False
    if bool((np.diff(values) > 0).all()):
        return True
    others = [facts.get_column(other).values for other in facts.numbers if other != name]
    return bool(others) and (
        signs.is_of_another_scale(values, others) or signs.is_of_another_kind(values, others)
    )


def _same_items(facts: Facts, item: str) -> dict[str, str]:
    """Other columns that name the items too."""
    sheet = facts.sheet
    return {
        name: f"says the same as {item}" if are_alike(sheet.columns[name], sheet.columns[item]) else "text"
        for name in sheet.columns
        if name != item
        and facts.words(name)[:1] == ("topic",)
        and not (is_numeric(sheet.columns[name]) and not sheet.columns[name].unique)
        and not _is_scored(facts, name)
    }


def _with_item(facts: Facts, roles: dict[str, str]) -> dict[str, str]:
    return {role: name for role, name in roles.items() if role != "value"}


def _refuse_without_items(facts: Facts, roles: Mapping[str, str]) -> None:
    """Refuse a table whose rows have a system but no item: means, or scores that nothing pairs."""
    sheet = facts.sheet
    systems = [
        name
        for name in facts.by_word("system")
        if name not in (roles.get("topic"), *facts.named.get("topic", ()))
    ]
    systems = [
        name for name in systems if simplify_header(name) not in SWING or not is_numeric(sheet.columns[name])
    ]
    if not systems or sheet.columns[systems[0]].unique:
        return
    if "topic" not in roles or not sheet.columns[roles["topic"]].unique:
        raise InputError(
            "has no column of items (questions, topics)",
            where=sheet.source,
            remedy=("add one, or say which it is: ", Option("columns", Choice({"item": "…"}))),
            argument="columns",
        )


def _turn_table(facts: Facts, roles: Mapping[str, str], rest: Sequence[str]) -> Reading | None:
    """Return the reading of a table whose rows are systems and whose columns are items; None where it is none."""
    sheet = facts.sheet
    numbers = [name for name in rest if is_numeric(sheet.columns[name])]
    headed = [name for name in facts.by_word("system") if simplify_header(name) not in SWING]
    numbers = [name for name in numbers if name not in headed]
    candidates = [name for name in sheet.columns if name not in numbers and sheet.columns[name].unique]
    forced = facts.roles.get("system")
    named = next((name for name in candidates if "system" in list_roles(name)), None)
    label = forced if forced is not None else roles.get("topic", named)
    if label is None:
        if (
            share_of_items(numbers[:LOOK]) > 0.8
            and len(numbers) > 2
            and not all(n.isdecimal() for n in numbers)
        ):
            raise refuse_readings(
                sheet, f"columns such as {numbers[0]!r} look like items, and rows have no names", [],
                "add a column that names the systems, or rename the columns",
            )  # fmt: skip
        return None
    if label in facts.named.get("topic", ()) or not numbers or not sheet.columns[label].unique:
        return None
    labels = list(first_names(sheet.columns[label]))
    points = FORCED if forced is not None else _rate_turned(facts, label, labels, numbers)
    if points <= 0.0:
        return None
    kept = [name for name in numbers if not is_kept_beside(name)]
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
    turned = _exchange_axes(sheet, label, numbers)
    inner = Facts(turned, {"topic": ("item",)}, facts.measure)
    texts = {
        name: explain_text(sheet.columns[name]) for name in rest if name not in numbers and name != label
    }
    names = [name for name in turned.columns if name != "item"]
    footnotes = [n for n in names if " " in n.strip() and bool(np.isnan(turned.columns[n].values).all())]
    names = [name for name in names if name not in footnotes]
    scores, others = (tuple(names), {}) if forced is not None else _choose_rows(inner, names, label)
    others |= dict.fromkeys(footnotes, "no scores")
    flat = tuple(n for n in scores if turned.rows >= FEW and turned.columns[n].constant)
    return Reading(
        turned,
        {"topic": "item"},
        scores,
        True,
        texts | others,
        flat,
        notes=("rows are systems, columns are items",),
        turned=True,
    )


def _choose_rows(facts: Facts, names: Sequence[str], label: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Choose the systems of a turned table: all rows but those that sum up others by a word and by numbers."""
    omitted: dict[str, str] = {}
    ordinary = [name for name in names if _word_sign(name) != "strong"]
    values = {name: facts.get_column(name).values for name in ordinary}
    for name in names:
        if name in ordinary or len(ordinary) < 2:
            continue
        sign = _number_sign(facts.sheet, name, values)
        if not sign:
            raise InputError(
                f"row {name!r} may be a system, or sum up others",
                where=facts.sheet.source,
                remedy=(
                    "leave it out with ",
                    Option("exclude", name),
                    ", or say ",
                    Option("columns", Choice({"system": label})),
                ),
                argument="columns",
                choices=[Choice({"system": label})],
            )
        omitted[name] = sign
    return tuple(name for name in names if name not in omitted), omitted


def _rate_turned(facts: Facts, label: str, labels: list[str], numbers: Sequence[str]) -> float:
    """Points for rows that are systems: for words, and for how the names of rows and columns look."""
    roles = list_roles(label)
    heads = list(numbers[:LOOK])
    points = (
        3.0
        if "system" in roles and simplify_header(label) not in SWING
        else 1.5
        if "system" in roles
        else 0.0
    )
    named = ("topic" in roles and simplify_header(label) not in SWING) or {"task", "cluster"} & set(roles)
    points -= 4.0 if named else 0.0
    points += 2.0 * (share_of_items(heads) - share_of_models(heads))
    points += 2.0 * (share_of_models(labels) - share_of_items(labels))
    points += float(is_numbered(heads)) - float(is_numbered(labels))
    rows, columns = facts.sheet.rows, len(numbers)
    return points + (1.0 if columns > 2 * rows else -1.0 if rows >= 2 * columns else 0.0)


def _exchange_axes(sheet: Sheet, label: str, numbers: Sequence[str]) -> Sheet:
    """Return the same table with its rows as columns."""
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
    return make_sheet(
        table, source, lambda row: f"{source}:column {heads[row]}", system=sheet.system, notes=sheet.notes
    )


def _refuse_means(sheet: Sheet, label: str) -> InputError:
    return InputError(
        f"has one row for each {clean_noun(simplify_header(label)) or 'system'}: contains only aggregate means",
        where=sheet.source,
        remedy=(
            "give the scores of each topic or question",
            Either(", as pt.Experiment(…, perquery=True) returns them", ""),
            f"; if {quote_column(sheet, label)} names the items, say ",
            Option("columns", Choice({"item": show_column(sheet, label)})),
        ),
    )


def _read_measures(
    facts: Facts, roles: dict[str, str], rest: Sequence[str], omitted: Mapping[str, str], single: bool
) -> Reading:
    """Return the reading of a table of one system, with a column for each measure."""
    sheet = facts.sheet
    numbers = [name for name in rest if is_numeric(sheet.columns[name])]
    scores = [name for name in numbers if is_score(name)]
    if single and not scores:
        scores = [name for name in numbers if not is_kept_beside(name) and not sheet.columns[name].counts]
    elif single:
        scores = [name for name in numbers if is_score(name) or not is_kept_beside(name)]
    scores = scores or numbers
    if not scores:
        raise InputError(
            "has no column of scores", where=sheet.source, remedy="add one, called after the measure"
        )
    others = {
        name: explain_text(sheet.columns[name]) if name not in numbers else "no score"
        for name in rest
        if name not in scores
    }
    return Reading(sheet, _with_item(facts, roles), tuple(scores), False, {**omitted, **others})


def _choose_systems(
    facts: Facts, roles: Mapping[str, str], rest: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str], dict[str, tuple[str, str]]]:
    """Choose the systems of a wide table; return why other columns are none, and the measures if there are several."""
    sheet = facts.sheet
    names = list(rest)
    numbers = [name for name in names if _holds_scores(facts, name)]
    omitted: dict[str, str] = {}
    first = names.index(numbers[0]) if numbers else len(names)
    for position, name in enumerate(names):
        if name not in numbers:
            _refuse_lost_system(sheet, name, after=position > first, numbers=numbers)
            omitted[name] = explain_text(sheet.columns[name])
    if not numbers:
        spoilt = [name for name in names if sheet.columns[name].words and not is_text(name)]
        shown = (
            f": {sheet.columns[spoilt[0]].words[0]!r} is neither a number nor a known verdict"
            if spoilt
            else ""
        )
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
    omitted |= _omit_non_systems(sheet, numbers)
    kept = [name for name in numbers if name not in omitted]
    measures = [name for name in kept if is_measure(name)]
    if measures and len(kept) > 1 and "topic" in roles:
        others = [name for name in kept if name not in measures]
        raise refuse_readings(
            sheet,
            f"{', '.join(measures[:3])} may be measures of one system, or systems",
            [{"system": kept}, {"score": measures}] if not others else [{"system": kept}],
            "" if not others else "or give a file for each system",
        )
    return tuple(kept), omitted, {}


def _holds_scores(facts: Facts, name: str) -> bool:
    """Tell whether a column is one of scores, perhaps with words among them."""
    column = facts.get_column(name)
    if "system" in facts.words(name) and simplify_header(name) not in SWING:
        return False
    if name in facts.sheet.empty or is_numeric(column):
        return True
    if column.blank or column.dates or is_text(name) or is_kept_beside(name) or facts.words(name):
        return False
    finite = float(np.isfinite(column.values).mean())
    return finite >= 0.1 and finite * len(column.data) >= 2


def _refuse_lost_system(sheet: Sheet, name: str, *, after: bool, numbers: Sequence[str]) -> None:
    """Refuse a column without scores that may be a system, by its place and by what its cells are."""
    column = sheet.columns[name]
    if is_text(name) or is_kept_beside(name) or list_roles(name):
        return
    excluded: tuple[Part, ...] = ("leave it out with ", Option("exclude", name))
    if set(column.words) == {"=…"}:
        raise InputError(
            f"column {name!r} holds formulas that were never computed",
            where=sheet.source,
            remedy=("open the workbook in a spreadsheet program and save it, or ", *excluded),
        )
    if column.dates and numbers:
        first = (column.words or list(column.labels.names))[0]
        raise InputError(
            f"column {name!r} holds dates where scores should be, such as {first!r}",
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
    """Return columns such as bm25_AP, bm25_P10, dense_AP: systems by measures.

    Where one measure is left beside numbers that are none (gpt4_score, gpt4_cost), its columns are the systems.
    """
    for split in (_split_last, _split_first):
        parts = {name: pair for name in numbers if (pair := split(name)) is not None}
        kinds = {kind: [n for n in parts if parts[n][1] == kind] for _, kind in parts.values()}
        scores = [kind for kind in kinds if is_score(kind)]
        if len(parts) < len(numbers) or not scores or len(kinds) < 2:
            continue
        # recall-tuned and f1-loss are two systems: a measure is that of several
        if all(len({parts[name][0] for name in kinds[kind]}) < 2 for kind in scores):
            continue
        kept = [name for name in numbers if parts[name][1] in scores]
        omitted = {name: "no score" for name in numbers if name not in kept}
        if len(scores) == 1:
            return kept, omitted, {}
        return kept, omitted, {name: parts[name] for name in kept}
    return list(numbers), {}, {}


def _split_last(name: str) -> tuple[str, str] | None:
    """Return a name as system and what is measured, which comes last."""
    for mark in ("_", "/", ".", ":", "|", " ", "-"):
        system, separator, kind = name.rpartition(mark)
        if separator and system.strip() and (is_score(kind) or simplify_header(kind) in BOOKKEEPING):
            return system.strip(), kind.strip()
    return None


def _split_first(name: str) -> tuple[str, str] | None:
    """Return a name as system and what is measured, which comes first."""
    for mark in ("_", "/", ".", ":", "|", " ", "-"):
        kind, separator, system = name.partition(mark)
        if separator and system.strip() and (is_score(kind) or simplify_header(kind) in BOOKKEEPING):
            return system.strip(), kind.strip()
    return None


def _omit_non_systems(sheet: Sheet, numbers: Sequence[str]) -> dict[str, str]:
    """Omit columns of a wide table that are no systems by a word and by numbers; refuse where only one says so."""
    omitted: dict[str, str] = {}
    worded = {name: _word_sign(name) for name in numbers}
    plain_names = [name for name in numbers if not worded[name]]
    if not plain_names:
        # a word in each of many names is a part of the names
        plain_names = [name for name in numbers if worded[name] == "weak"]
        worded |= dict.fromkeys(plain_names, "")
    if not plain_names:
        # all are called alike, such as latency_a and latency_b: what is measured
        kinds = {(_split_last(name) or _split_first(name) or (name, name))[1] for name in numbers}
        if len(kinds) > 1:
            raise refuse_readings(
                sheet,
                f"columns {', '.join(numbers[:4])} may be systems, or numbers of one system",
                [{"system": numbers}, {"score": numbers[:1]}],
            )
        return {}
    values = {name: sheet.columns[name].values for name in numbers}
    filled = [name for name in numbers if name not in sheet.empty]
    with_numbers = set(filled)
    scores = {
        name: values[name] for name in plain_names if name in with_numbers and not sheet.columns[name].words
    }
    for name in filled:
        others = {other: scores[other] for other in scores if other != name}
        if not others or sheet.columns[name].words:
            continue
        sign = _number_sign(sheet, name, others)
        strong = worded[name] == "strong"
        loose = sign.endswith("of the others") and sign.partition(" ")[0] in signs.LOOSE
        if (
            worded[name] == "weak"
            and loose
            and not signs.is_telling_statistic(values[name], list(others.values()))
        ):
            # among right and wrong answers, a good system called cost-aware is the best of the others by chance
            sign = ""
        if worded[name] and sign:
            omitted[name] = sign
        elif strong and sheet.rows >= 2:
            raise refuse_readings(
                sheet,
                f"column {name!r} may be a system, or a number beside the scores",
                [{"system": [n for n in numbers if worded[n] != "strong"]}, {"system": numbers}],
            )
        elif sign.startswith("constant"):
            omitted[name] = sign
        elif sign and not worded[name] and _is_sure(sheet, name, sign, others):
            rest = [other for other in numbers if other != name and other not in omitted]
            raise refuse_readings(
                sheet,
                f"column {name!r} is {sign}, so it may be no system",
                [{"system": rest}, {"system": [*rest, name]}],
            )
    return omitted


def _word_sign(name: str) -> str:
    """Return how far a name says that a column is no system: "strong" if all of it does, "weak" if a part does."""
    words = split_words(name)
    if (
        is_summary_header(name)
        or simplify_header(name) in BOOKKEEPING
        or (words and all(word in BOOKKEEPING for word in words))
    ):
        return "strong"
    if simplify_header(name) in SWING and simplify_header(name) not in ("run", "name", "tag", "version"):
        return "strong"
    return "weak" if is_bookkeeping(name) else ""


def _number_sign(sheet: Sheet, name: str, others: Mapping[str, np.ndarray]) -> str:
    """Return what the numbers of a column say against its being a system; nothing where they do not."""
    column = sheet.columns[name]
    values = column.values
    rest = list(others.values())
    if column.constant and len(others) >= 2:
        if _may_be_constant(column, rest):
            return ""
        if sheet.rows >= FEW:
            return "constant, so no system unless columns names it"
    derivation = signs.find_derivation(values, others) if len(others) > 1 else ""
    if derivation:
        return derivation
    if signs.is_of_another_scale(values, rest):
        return "of another scale than the scores"
    if signs.is_of_another_kind(values, rest):
        return "a whole number beside fractions"
    if signs.is_year(values) and not all(map(signs.is_year, rest)):
        return "a year"
    if column.counts and not all(
        np.array_equal(r[np.isfinite(r)], np.round(r[np.isfinite(r)])) for r in rest
    ):
        return "a number of its own in every row"
    return ""


def _is_sure(sheet: Sheet, name: str, sign: str, others: Mapping[str, np.ndarray]) -> bool:
    """Tell whether a sign of the numbers alone is enough to ask: never where cells have few different values."""
    table = np.column_stack([*others.values(), sheet.columns[name].values])
    if not signs.has_many_values(table):
        return False
    if "scale" in sign:
        rest = np.concatenate(list(others.values()))
        finite = rest[np.isfinite(rest)]
        return bool(len(finite)) and float(finite.min()) >= 0.0 and float(finite.max()) <= 1.0
    if sign.endswith("of the others") or sign.startswith("difference of"):
        # a statistic without a name that says so stands at the edge, or it is a system between others
        values = sheet.columns[name].values
        numbers = [other for other in sheet.columns if other == name or other in others]
        edge = name in (numbers[0], numbers[-1])
        return edge and signs.is_telling_statistic(values, list(others.values()))
    return True


def _may_be_constant(column: Column, others: Sequence[np.ndarray]) -> bool:
    """Tell whether a column that never changes may be a system, as one that is always right is.

    Its score has to be one that the other systems could have, by what they have or as all are within 0 and 1.
    """
    score = float(column.values[0])
    if is_kept_beside(column.name) or not np.isfinite(score):
        return False
    low = min(float(np.nanmin(values)) for values in others)
    high = max(float(np.nanmax(values)) for values in others)
    return min(low, 0.0) <= score <= high or (low >= 0.0 and max(high, score) <= 1.0 and score >= 0.0)
