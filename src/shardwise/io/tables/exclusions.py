"""Columns and rows of a table that are left out: two signs, a word and a number, leave them out; one refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.io.tables import signs
from shardwise.io.tables.facts import FEW, Doubt, Facts, Reading, is_kept_beside
from shardwise.io.tables.sheet import ENDS_IN_ID, Column, Sheet
from shardwise.io.tables.words import (
    BOOKKEEPING,
    DELTAS,
    PARTS_OF_DATA,
    SUMMARIES,
    SWING,
    is_bookkeeping,
    is_measure,
    is_numbered,
    is_score,
    is_summary,
    is_summary_header,
    is_text,
    list_roles,
    share_of_items,
    simplify_header,
    split_words,
)

MARKS = ("_", "/", ".", ":", "|", " ", "-")  # between a system and what is measured


def choose_systems(
    facts: Facts, rest: Sequence[str], numbers: Sequence[str], *, named: bool
) -> tuple[tuple[str, ...], dict[str, str], dict[str, tuple[str, str]]]:
    """Return the systems of a wide table, why other columns are none, and the measures if there are several.

    Parameters
    ----------
    facts
        The table.
    rest
        Columns that are not labels of the rows.
    numbers
        Those that may hold scores.
    named
        Whether rows have names, so that columns may be measures of one system.
    """
    sheet = facts.sheet
    omitted: dict[str, str] = {}
    first = list(rest).index(numbers[0])
    for position, name in enumerate(rest):
        if name not in numbers:
            _refuse_lost_system(sheet, name, after=position > first)
            omitted[name] = sheet.columns[name].kind
    hollow = [n for n in numbers if n not in sheet.empty and np.isnan(sheet.columns[n].values).all()]
    if len(hollow) < len(numbers):
        omitted |= dict.fromkeys(hollow, "no scores")
        numbers = [name for name in numbers if name not in omitted]
    kept, parts = split_measures(numbers)
    if kept != list(numbers) or parts:
        return tuple(kept), omitted | {name: "no score" for name in numbers if name not in kept}, parts
    omitted |= _omit_non_systems(sheet, numbers)
    kept = [name for name in numbers if name not in omitted]
    measures = [name for name in kept if is_measure(name)]
    if measures and len(kept) > 1 and named:
        others = [name for name in kept if name not in measures]
        raise Doubt(
            f"{', '.join(measures[:3])} may be measures of one system, or systems",
            [{"system": kept}, {"score": measures}] if not others else [{"system": kept}],
            rename="" if not others else "give a file for each system",
        )
    return tuple(kept), omitted, {}


def _refuse_lost_system(sheet: Sheet, name: str, *, after: bool) -> None:
    """Refuse a column without scores that may be a system, by its place and by what its cells are."""
    column = sheet.columns[name]
    if is_text(name) or is_kept_beside(name) or list_roles(name):
        return
    if set(column.words) == {"=…"}:
        raise Doubt(
            f"column {name!r} holds formulas that were never computed",
            mend="open the workbook in a spreadsheet program and save it",
            exclude=name,
        )
    if column.dates:
        first = (column.words or list(column.labels.names))[0]
        raise Doubt(
            f"column {name!r} holds dates where scores should be, such as {first!r}",
            mend="format the cells as numbers",
            exclude=name,
        )
    if after and not column.blank and column.distinct <= 3 and sheet.rows >= FEW:
        raise Doubt(
            f"column {name!r} holds no scores, but words such as {column.words[0]!r}",
            mend="correct them",
            exclude=name,
        )


def split_measures(names: Sequence[str]) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """Return columns such as bm25_AP, bm25_P10, dense_AP, or hit3_base, hit3_new: systems by measures.

    Where one measure is left beside numbers that are none (gpt4_score, gpt4_cost), its columns are the systems.

    >>> split_measures(["hit3_base", "hit3_new", "mrr_base", "mrr_new", "delta_hit3"])[1]["hit3_new"]
    ('new', 'hit3')
    """
    plain = [name for name in names if DELTAS.isdisjoint(split_words(name))]
    for last in (True, False):
        parts = {name: pair for name in plain if (pair := _split_name(name, last=last)) is not None}
        kinds = {kind: [n for n in parts if parts[n][1] == kind] for _, kind in parts.values()}
        scores = [kind for kind in kinds if is_score(kind)]
        if len(parts) < len(plain) or not scores or len(kinds) < 2:
            continue
        # recall-tuned and f1-loss are two systems: a measure is that of several
        shared = [kind for kind in scores if len({parts[name][0] for name in kinds[kind]}) > 1]
        if not shared or all(parts[name][0].lower() in PARTS_OF_DATA for name in plain):
            continue
        kept = [name for name in plain if parts[name][1] in scores]
        return kept, {} if len(scores) == 1 else {name: parts[name] for name in kept}
    return list(names), {}


def _split_name(name: str, *, last: bool) -> tuple[str, str] | None:
    """Return a name as system and what is measured, which comes last or first."""
    for mark in MARKS:
        head, separator, tail = name.rpartition(mark) if last else name.partition(mark)
        system, kind = (head, tail) if last else (tail, head)
        if separator and system.strip() and (is_score(kind) or simplify_header(kind) in BOOKKEEPING):
            return system.strip(), kind.strip()
    return None


def _omit_non_systems(sheet: Sheet, numbers: Sequence[str]) -> dict[str, str]:
    """Return columns of a wide table that are no systems by a word and by numbers; refuse where only one says so."""
    worded = {name: find_word_sign(name) for name in numbers}
    plain = [name for name in numbers if not worded[name]]
    if not plain:
        # a word in each of many names is a part of the names
        plain = [name for name in numbers if worded[name] == "weak"]
        worded |= dict.fromkeys(plain, "")
    if not plain:
        # all are called alike, such as latency_a and latency_b: what is measured
        kinds = {(_split_name(n, last=True) or _split_name(n, last=False) or (n, n))[1] for n in numbers}
        if len(kinds) > 1:
            raise Doubt(
                f"columns {', '.join(numbers[:4])} may be systems, or numbers of one system",
                [{"system": numbers}, {"score": numbers[:1]}],
            )
        return {}
    omitted: dict[str, str] = {}
    values = {name: sheet.columns[name].values for name in numbers if name not in sheet.empty}
    scores = {name: values[name] for name in plain if name in values and not sheet.columns[name].words}
    for name in values:
        others = {other: scores[other] for other in scores if other != name}
        if not others or sheet.columns[name].words:
            continue
        sign = find_number_sign(sheet, name, others, worded=bool(worded[name]))
        if worded[name] and sign:
            omitted[name] = sign
        elif worded[name] == "strong" and sheet.rows >= 2:
            without = [n for n in numbers if worded[n] != "strong"]
            raise Doubt(
                f"column {name!r} may be a system, or a number beside the scores",
                [{"system": without}, {"system": numbers}],
            )
        elif sign.startswith("constant"):
            omitted[name] = sign
        elif sign and not worded[name] and _is_sure(sheet, name, sign, others):
            rest = [other for other in numbers if other != name and other not in omitted]
            raise Doubt(
                f"column {name!r} is {sign}, so it may be no system",
                [{"system": rest}, {"system": [*rest, name]}],
            )
    return omitted


def find_word_sign(name: str) -> str:
    """Return how far a name says that a column is no system: "strong" if all of it does, "weak" if a part does."""
    words, word = split_words(name), simplify_header(name)
    if is_summary_header(name) or word in BOOKKEEPING or (words and all(w in BOOKKEEPING for w in words)):
        return "strong"
    if word in SWING and word not in ("run", "name", "tag", "version"):
        return "strong"
    return "weak" if is_bookkeeping(name) or not DELTAS.isdisjoint(words) else ""


def find_number_sign(sheet: Sheet, name: str, others: Mapping[str, Floats], *, worded: bool) -> str:
    """Return what the numbers of a column say against its being a system; nothing where they do not.

    Parameters
    ----------
    sheet
        The table.
    name
        A column.
    others
        Numbers of the columns that are systems.
    worded
        Whether the name of the column says that it is none, so that a weaker sign is enough.
    """
    column = sheet.columns[name]
    values, rest = column.values, list(others.values())
    if column.constant and len(others) >= 2:
        if _may_be_constant(column, rest):
            return ""
        if sheet.rows >= FEW:
            return "constant, so no system unless columns names it"
    derivation = signs.find_derivation(values, others) if len(others) > 1 else ""
    if derivation:
        loose = derivation.endswith("of the others") and derivation.partition(" ")[0] in signs.LOOSE
        # among right and wrong answers, a good system called cost-aware is the best of the others by chance
        chance = find_word_sign(name) == "weak" and loose and not signs.is_telling_statistic(values, rest)
        return "" if chance else derivation
    if signs.is_of_another_scale(values, rest):
        return "of another scale than the scores"
    if signs.is_of_another_kind(values, rest, larger=not worded):
        return "a whole number beside fractions"
    if signs.is_year(values) and not all(map(signs.is_year, rest)):
        return "a year"
    whole = all(np.array_equal(r[np.isfinite(r)], np.round(r[np.isfinite(r)])) for r in rest)
    return "a number of its own in every row" if column.counts and not whole else ""


def _is_sure(sheet: Sheet, name: str, sign: str, others: Mapping[str, Floats]) -> bool:
    """Tell whether a sign of the numbers alone is enough to ask: never where cells have few different values."""
    values, rest = sheet.columns[name].values, list(others.values())
    if not signs.has_many_values(np.column_stack([*rest, values])):
        return False
    if "scale" in sign:
        joined = np.concatenate(rest)
        finite = joined[np.isfinite(joined)]
        return bool(len(finite)) and float(finite.min()) >= 0.0 and float(finite.max()) <= 1.0
    if sign.endswith("of the others") or sign.startswith("difference of"):
        # a statistic without a name that says so stands at the edge, or it is a system between others
        numbers = [other for other in sheet.columns if other == name or other in others]
        return name in (numbers[0], numbers[-1]) and signs.is_telling_statistic(values, rest)
    return True


def _may_be_constant(column: Column, others: Sequence[Floats]) -> bool:
    """Tell whether a column that never changes may be a system, as one that is always right is.

    Its score has to be one that the other systems could have, by what they have or as all are within 0 and 1.
    """
    score = float(column.values[0])
    if find_word_sign(column.name) == "strong" or ENDS_IN_ID.search(column.name) or not np.isfinite(score):
        return False
    low = min(float(np.nanmin(values)) for values in others)
    high = max(float(np.nanmax(values)) for values in others)
    return min(low, 0.0) <= score <= high or (low >= 0.0 and max(high, score) <= 1.0 and score >= 0.0)


MANY = 2000  # items from which only plain words are looked for
EDGE = 8  # rows at an end of a table in which summaries stand


def drop_summary_rows(reading: Reading, exclude: Sequence[str] = ()) -> Reading:
    """Return the reading without rows that sum up others; refuse those of which only one sign speaks.

    Parameters
    ----------
    reading
        The roles of the columns of a table.
    exclude
        Items that the caller leaves out.
    """
    if "topic" not in reading.roles or not reading.scores:
        return reading
    wide = "system" not in reading.roles
    reading = _drop_footnotes(reading) if wide else reading
    dropped = _find_wide(reading, exclude) if wide else _find_long(reading, exclude)
    if not len(dropped):
        return reading
    sheet = reading.sheet
    labels = sheet.columns[reading.roles["topic"]].labels
    names = dict.fromkeys(labels.names[labels.codes[row]] or "(no name)" for row in dropped.tolist())
    kept = sheet.without_rows(dropped)
    if not kept.rows:
        raise InputError(
            "contains only aggregate means", where=sheet.source, remedy="give the scores of each item"
        )
    note = f"summary rows left out: {', '.join(names)}"
    return replace(reading, sheet=kept, notes=(*reading.notes, note))


def _drop_footnotes(reading: Reading) -> Reading:
    """Return the reading without rows at the end that hold a text and no score."""
    sheet = reading.sheet
    labels = sheet.columns[reading.roles["topic"]].labels
    empty = np.all([np.isnan(sheet.columns[name].values[-EDGE:]) for name in reading.scores], axis=0)
    notes: list[str] = []
    last = sheet.rows
    while last > 2 and empty[last - sheet.rows - 1]:
        name = labels.names[labels.codes[last - 1]]
        if " " not in name.strip():
            break
        notes.append(name)
        last -= 1
    if not notes:
        return reading
    kept = sheet.without_rows(np.arange(last, sheet.rows))
    note = f"rows without scores left out: {'; '.join(name[:40] for name in notes)}"
    return replace(reading, sheet=kept, notes=(*reading.notes, note))


def _find_wide(reading: Reading, exclude: Sequence[str]) -> Ints:
    """Return rows of a wide table that sum up others."""
    sheet = reading.sheet
    labels = sheet.columns[reading.roles["topic"]].labels
    names = [labels.names[code] for code in labels.codes[: 1 << 16].tolist()]
    rows = len(labels.codes)
    edge = [*range(min(2, rows)), *range(max(2, rows - EDGE), rows)]
    if rows > 1 << 16:
        # of long tables by words alone
        codes = {k for k, name in enumerate(labels.names) if name.lower() in SUMMARIES}
        return np.flatnonzero(np.isin(labels.codes, list(codes)))
    codes = {k for k, name in enumerate(labels.names) if not name or is_summary(name) or _sums_up(name)}
    candidates = [row for row in range(rows) if labels.codes[row] in codes and names[row] not in exclude]
    candidates = [row for row in candidates if row in edge or not names[row] or is_summary(names[row])]
    table = np.column_stack([sheet.columns[name].values for name in reading.scores])
    if not candidates:
        candidates = _find_unlabelled(sheet, table, names) if names[-1] not in exclude else []
    return np.array(_sift_rows(sheet, names, table, candidates, edge), dtype=np.int64)


def _find_long(reading: Reading, exclude: Sequence[str]) -> Ints:
    """Return rows of a long table whose items sum up others."""
    sheet = reading.sheet
    items, systems = (sheet.columns[reading.roles[role]].labels for role in ("topic", "system"))
    many = len(items.names) >= MANY
    codes = [
        k
        for k, name in enumerate(items.names)
        if (name.lower() in SUMMARIES if many else is_summary(name)) and name not in exclude
    ]
    if not codes or len(items.names) - len(codes) < 2:
        return np.zeros(0, dtype=np.int64)
    table = np.full((len(items.names), len(systems.names)), np.nan)
    table[items.codes, systems.codes] = sheet.columns[reading.scores[0]].values
    others = np.flatnonzero(~np.isin(items.codes, codes))
    outside = {}
    for k in codes:
        own_rows = np.flatnonzero(items.codes == k)
        outside[k] = bool(own_rows.min() > others.max() or own_rows.max() < others.min())
    rows = [items.find_row(name) for name in items.names]
    dropped = _sift_rows(sheet, items.names, table, codes, (), rows, outside)
    return np.flatnonzero(np.isin(items.codes, dropped))


def _sift_rows(
    sheet: Sheet,
    names: Sequence[str],
    table: Floats,
    candidates: Sequence[int],
    edge: Sequence[int],
    rows: Sequence[int] = (),
    outside: Mapping[int, bool] | None = None,
) -> list[int]:
    """Return those of some rows that sum up others, by a word and by numbers or place; refuse where one sign speaks."""
    body = np.delete(table, candidates, axis=0)
    body = np.where(np.isfinite(body), body, np.nan)
    ordinary = [name for k, name in enumerate(names) if k not in candidates]
    apart = is_numbered(ordinary) or share_of_items(ordinary[:50]) > 0.8
    many = signs.has_many_values(body)
    dropped = []
    for k in candidates:
        name, row = names[k], rows[k] if rows else k
        statistic = signs.find_statistic(table[k], body) if len(body) > 1 else ""
        if statistic in signs.LOOSE and not many:
            # any right answer is the best of right and wrong ones
            statistic = ""
        if not name and not statistic:
            raise InputError("a row has no name", where=sheet.place(row), remedy="fill it in")
        # below or above all items, and not between them
        at_end = (
            outside[k]
            if outside is not None
            else all(j in candidates for j in range(k, len(names))) or all(j in candidates for j in range(k))
        )
        formulas = bool(np.isinf(table[k]).any())
        if statistic or (at_end and (apart or formulas) and (is_summary(name) or _sums_up(name))):
            dropped.append(k)
        elif is_summary(name) or k in edge:
            raise _doubt_row(sheet, row, name)
    return dropped


def _sums_up(name: str) -> bool:
    return is_summary_header(name) and len(name.strip()) > 2


def _find_unlabelled(sheet: Sheet, table: Floats, names: Sequence[str]) -> list[int]:
    """Return the last row, where its numbers alone say that it sums up all above: their mean, sum or deviation."""
    last = len(table) - 1
    if last < 3 or not np.isfinite(table[last]).any():
        return []
    statistic = signs.find_statistic(table[last], np.where(np.isfinite(table[:last]), table[:last], np.nan))
    if names[last].strip().lower() in SUMMARIES and statistic:
        return [last]
    if table.shape[1] == 1:
        # one number may be a mean by chance, unless it has more digits than the scores
        digits = [signs.decimals_of(float(value)) for value in table[np.isfinite(table)]]
        if digits[-1] <= max(digits[:-1]):
            return []
    # where cells have few values, as right and wrong, the row has to be of another kind
    apart = not np.isin(table[last], table[:last]).any()
    several = table.shape[1] > 1 and signs.has_many_values(table)
    if not statistic or statistic in signs.LOOSE or not (several or apart):
        return []
    if is_numbered([*names]):
        raise _doubt_row(sheet, last, names[last], statistic)
    return [last]


def _doubt_row(sheet: Sheet, row: int, name: str, statistic: str = "") -> Doubt:
    what = f"is the {statistic} of the rows above" if statistic else "may be an item, or sum up others"
    return Doubt(
        f"row {name!r} {what}", exclude=name, rename="rename it if it is an item", where=sheet.place(row)
    )
