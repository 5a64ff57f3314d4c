"""Columns and rows of a table that are left out: two signs, a word and a number, leave them out; one refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.io.tables import signs, words
from shardwise.io.tables.facts import FEW, Doubt, Reading, list_some
from shardwise.io.tables.sheet import ENDS_IN_ID, Column, Sheet

MARKS = ("_", "/", ".", ":", "|", "~", " ", "-")  # between a system and what is measured
EDGE = 8  # rows at an end of a table in which summaries stand
LONG = 1 << 16  # rows of a wide table from which no numbers without a word are looked at
_WORDED = re.compile(
    r"(?m)^[^\d\n]{1,60}$"
)  # a name that may be that of a summary: a short one without digits


def choose_systems(
    sheet: Sheet, rest: Sequence[str], numbers: Sequence[str], *, named: bool
) -> tuple[tuple[str, ...], dict[str, str], dict[str, tuple[str, str]]]:
    """Return the systems of a wide table, why other columns are none, and the measures if there are several.

    Parameters
    ----------
    sheet
        The table.
    rest
        Columns that are not labels of the rows.
    numbers
        Those that may hold scores.
    named
        Whether rows have names, so that columns may be measures of one system.
    """
    _refuse_predictions(sheet, rest, numbers)
    omitted = {name: sheet.columns[name].kind for name in rest if name not in numbers}
    begin = next((name for name in numbers if not sheet.columns[name].is_beside), numbers[0])
    for name in omitted:
        _refuse_lost_system(sheet, sheet.columns[name], after=rest.index(name) > rest.index(begin))
    hollow = [n for n in numbers if n not in sheet.empty and np.isnan(sheet.columns[n].values).all()]
    if len(hollow) < len(numbers):
        omitted |= dict.fromkeys(hollow, "no scores")
        numbers = [name for name in numbers if name not in omitted]
    kept, parts = split_measures(numbers)
    if kept != list(numbers) or parts:
        return tuple(kept), omitted | {name: "no score" for name in numbers if name not in kept}, parts
    omitted |= _omit_non_systems(sheet, numbers)
    kept = [name for name in numbers if name not in omitted]
    measures = [name for name in kept if words.is_measure(name)]
    if measures and len(kept) > 1 and named:
        alone = len(measures) == len(kept)
        raise Doubt(
            f"{', '.join(measures[:3])} may be measures of one system, or systems",
            [{"system": kept}, {"score": measures}] if alone else [{"system": kept}],
            rename="" if alone else "give a file for each system",
        )
    return tuple(kept), omitted, {}


def _refuse_predictions(sheet: Sheet, rest: Sequence[str], numbers: Sequence[str]) -> None:
    """Refuse numbers that are predictions by their names, or stand beside the truth: high ones are not good ones."""
    truths = [name for name in rest if sheet.columns[name].header in words.TRUTHS]
    truths = [name for name in truths if sheet.columns[name].is_numeric]
    if any(sheet.columns[name].header in ("control", "placebo") for name in rest):
        return
    plain = [name for name in numbers if name not in truths and not words.is_score(name)]
    called = [name for name in plain if not words.PREDICTIONS.isdisjoint(words.split_words(name))]
    systems = called or [name for name in plain if not sheet.columns[name].is_beside]
    if len(systems) > 1 and (truths or 2 * len(called) > len(plain)):
        of_truth = f" of {truths[0]!r}" if truths else ""
        raise Doubt(
            f"{list_some(systems)} may be predictions{of_truth} rather than scores",
            [{"system": systems}],
            mend="give scores, such as 1 where a prediction is right and 0 where it is wrong",
            say="if they are scores, say ",
        )


def _refuse_lost_system(sheet: Sheet, column: Column, *, after: bool) -> None:
    """Refuse a column without scores that may be a system, by its place and by what its cells are."""
    if column.is_wordy or column.is_beside or words.list_roles(column.name):
        return
    problem = mend = ""
    if set(column.words) == {"=…"}:
        problem = "formulas that were never computed"
        mend = "open the workbook in a spreadsheet program and save it"
    elif column.dates and not column.constant:
        problem = f"dates where scores should be, such as {(column.words or column.labels.names)[0]!r}"
        mend = "format the cells as numbers"
    elif after and not column.blank and column.distinct <= 3 and sheet.rows >= FEW:
        problem, mend = f"no scores, but words such as {column.words[0]!r}", "correct them"
    if problem:
        raise Doubt(f"column {column.name!r} holds {problem}", mend=mend, exclude=column.name)


def split_measures(names: Sequence[str]) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """Return columns such as bm25_AP, bm25_P10, dense_AP, or hit3_base, hit3_new: systems by measures.

    Where one measure is left beside numbers that are none (gpt4_score, gpt4_cost), its columns are the systems.

    >>> split_measures(["hit3_base", "hit3_new", "mrr_base", "mrr_new", "delta_hit3"])[1]["hit3_new"]
    ('new', 'hit3')
    """
    plain = [name for name in names if words.DELTAS.isdisjoint(words.split_words(name))]
    for last in (True, False):
        parts = {name: pair for name in plain if (pair := _split_name(name, last=last)) is not None}
        kinds = {kind: {parts[n][0] for n in parts if parts[n][1] == kind} for _, kind in parts.values()}
        scores = [kind for kind in kinds if words.is_score(kind)]
        # recall-tuned and f1-loss are two systems: a measure is that of several
        shared = len(kinds) > 1 and any(len(kinds[kind]) > 1 for kind in scores)
        if len(parts) < len(plain) or not shared:
            continue
        if not all(parts[name][0].lower() in words.PARTS_OF_DATA for name in plain):
            kept = [name for name in plain if parts[name][1] in scores]
            return kept, {} if len(scores) == 1 else {name: parts[name] for name in kept}
    return list(names), {}


def _split_name(name: str, *, last: bool) -> tuple[str, str] | None:
    """Return a name as system and what is measured, which comes last or first."""
    for mark in MARKS:
        head, separator, tail = name.rpartition(mark) if last else name.partition(mark)
        system, kind = (head.strip(), tail.strip()) if last else (tail.strip(), head.strip())
        if (
            separator
            and system
            and (words.is_score(kind) or words.simplify_header(kind) in words.BOOKKEEPING)
        ):
            return system, kind
    return None


def _omit_non_systems(sheet: Sheet, numbers: Sequence[str]) -> dict[str, str]:
    """Return columns of a wide table that are no systems by a word and by numbers; refuse where only one says so."""
    worded = {name: _find_word_sign(name) for name in numbers}
    scored = _list_scored(numbers)
    if scored and all(worded[name] for name in numbers if name not in scored):
        values = {name: sheet.columns[name].values for name in scored}
        unlike = (name for name in numbers if name not in scored)
        return {name: _find_number_sign(sheet, name, values, worded[name]) or "no score" for name in unlike}
    plain = [name for name in numbers if not worded[name]]
    if not plain:
        # a word in each of many names is a part of the names
        plain = [name for name in numbers if worded[name] == "weak"]
        worded |= dict.fromkeys(plain, "")
    if not plain:
        # all are called alike, such as latency_a and latency_b: what is measured
        kinds = {(_split_name(n, last=True) or _split_name(n, last=False) or (n, n))[1] for n in numbers}
        if len(kinds) > 1:
            problem = f"columns {', '.join(numbers[:4])} may be systems, or numbers of one system"
            raise Doubt(problem, [{"system": numbers}, {"score": numbers[:1]}])
        return {}
    omitted: dict[str, str] = {}
    filled = [n for n in numbers if n not in sheet.empty and not sheet.columns[n].words]
    for name in filled:
        others = {other: sheet.columns[other].values for other in plain if other in filled and other != name}
        if not others:
            continue
        sign = _find_number_sign(sheet, name, others, worded[name])
        rest = [other for other in numbers if other != name and other not in omitted]
        if (worded[name] and sign) or sign.startswith("constant"):
            omitted[name] = sign
        elif worded[name] == "strong" and sheet.rows >= 2:
            without = [n for n in numbers if worded[n] != "strong"]
            problem = f"column {name!r} may be a system, or a number beside the scores"
            raise Doubt(problem, [{"system": without}, {"system": numbers}])
        elif sign and not worded[name] and _is_sure(sheet, name, sign, others):
            problem = f"column {name!r} is {sign}, so it may be no system"
            raise Doubt(problem, [{"system": rest}, {"system": [*rest, name]}])
    return omitted


def _list_scored(numbers: Sequence[str]) -> list[str]:
    """Return the columns that begin or end with the same measure, where others do not."""
    for part in (-1, 0):
        ends = {name: words.end_word(name, part).lower() for name in numbers}
        for end in dict.fromkeys(ends.values()):
            alike = [name for name in numbers if ends[name] == end]
            if 1 < len(alike) < len(numbers) and words.means_score(end, part):
                return alike
    return []


def _find_word_sign(name: str) -> str:
    """Return how far a name says that a column is no system: "strong" if all of it does, "weak" if a part does."""
    parts, word = words.split_words(name), words.simplify_header(name)
    swings = word in words.SWING and word not in ("run", "name", "tag", "version")
    beside = word in words.BOOKKEEPING or (parts and words.BOOKKEEPING.issuperset(parts))
    if words.is_summary_header(name) or beside or swings:
        return "strong"
    return "weak" if words.is_bookkeeping(name) or not words.DELTAS.isdisjoint(parts) else ""


def _find_number_sign(sheet: Sheet, name: str, others: Mapping[str, Floats], word: str) -> str:
    """Return what the numbers of a column say against its being a system, where its name says so or not; or nothing."""
    column, rest = sheet.columns[name], list(others.values())
    values = column.values
    if column.constant and len(rest) > 1:
        # one that is always right may be a system, if its score is one that the others have, or all are shares
        score, low, high = float(values[0]), float(np.nanmin(rest)), float(np.nanmax(rest))
        within = min(low, 0.0) <= score <= high or (low >= 0.0 and max(high, score) <= 1.0 and score >= 0.0)
        if within and word != "strong" and not ENDS_IN_ID.search(name):
            return ""
        if sheet.rows >= FEW:
            return "constant, so no system unless columns names it"
    if len(rest) > 1 and (derivation := signs.find_derivation(values, others)):
        loose = derivation.endswith("of the others") and derivation.partition(" ")[0] in signs.LOOSE
        # among right and wrong answers, a good system called cost-aware is the best of the others by chance
        return "" if word == "weak" and loose and not signs.is_telling_statistic(values, rest) else derivation
    if signs.is_of_another_scale(values, rest):
        return "of another scale than the scores"
    if signs.is_of_another_kind(values, rest, larger=not word):
        return "a whole number beside fractions"
    if signs.is_year(values) and not all(map(signs.is_year, rest)):
        return "a year"
    numbering = column.counts and not all(map(signs.is_whole, rest))
    return "a number of its own in every row" if numbering else ""


def _is_sure(sheet: Sheet, name: str, sign: str, others: Mapping[str, Floats]) -> bool:
    """Tell whether a sign of the numbers alone is enough to ask: never where cells have few different values."""
    values, rest = sheet.columns[name].values, list(others.values())
    joined = np.concatenate([values, *rest])
    if not signs.has_many_values(joined):
        return False
    if "scale" in sign:
        shares = joined[len(values) :][np.isfinite(joined[len(values) :])]
        return len(shares) > 0 and float(shares.min()) >= 0.0 and float(shares.max()) <= 1.0
    if sign.endswith("of the others") or sign.startswith("difference of"):
        # a statistic without a name that says so stands at the edge, or it is a system between others
        numbers = [other for other in sheet.columns if other == name or other in others]
        return name in (numbers[0], numbers[-1]) and signs.is_telling_statistic(values, rest)
    return True


def drop_summary_rows(reading: Reading, exclude: Sequence[str] = ()) -> Reading:
    """Return the reading without rows that sum up others and without notes; refuse those of which one sign speaks.

    Parameters
    ----------
    reading
        The roles of the columns of a table.
    exclude
        Items that the caller leaves out.
    """
    if "topic" not in reading.roles or not reading.scores:
        return reading
    if "system" not in reading.roles:
        footnotes = _find_footnotes(reading)
        reading = _drop_rows(reading, footnotes, "rows without scores left out", "; ", 40)
    return _drop_rows(reading, _find_summaries(reading, exclude), "summary rows left out", ", ", None)


def _drop_rows(reading: Reading, dropped: Ints, why: str, mark: str, most: int | None) -> Reading:
    """Return the reading without some rows, which a note names."""
    if not len(dropped):
        return reading
    sheet = reading.sheet.without_rows(dropped)
    if not sheet.rows:
        raise InputError(
            "contains only aggregate means", where=sheet.source, remedy="give the scores of each item"
        )
    codes, labels, _ = reading.sheet.columns[reading.roles["topic"]].labels
    names = dict.fromkeys(labels[code][:most] or "(no name)" for code in codes[dropped].tolist())
    return replace(reading, sheet=sheet, notes=(*reading.notes, f"{why}: {mark.join(names)}"))


def _find_footnotes(reading: Reading) -> Ints:
    """Return rows at the end that hold a text and no score, last first; two rows always stay."""
    sheet = reading.sheet
    codes, names, _ = sheet.columns[reading.roles["topic"]].labels
    empty = np.all([np.isnan(sheet.columns[name].values[-EDGE:]) for name in reading.scores], axis=0)
    noted = [
        hollow and " " in names[code].strip() for hollow, code in zip(empty[::-1], codes[:1:-1], strict=False)
    ]
    count = [*noted, False].index(False)
    return np.arange(sheet.rows - 1, sheet.rows - 1 - count, -1)


def _find_summaries(reading: Reading, exclude: Sequence[str]) -> Ints:
    """Return rows that sum up others, by a word and by numbers or place; refuse where only one sign speaks.

    Of a wide table every row is looked at, of a long one all rows of an item together.
    """
    sheet, wide = reading.sheet, "system" not in reading.roles
    items = sheet.columns[reading.roles["topic"]].labels
    units = np.arange(sheet.rows) if wide else items.codes
    names = [items.names[code] for code in items.codes.tolist()] if wide else items.names
    asked = {name for name in _WORDED.findall("\n".join(items.names)) if name not in exclude}
    known = {name for name in asked if words.is_summary(name)} | ({""} - {*exclude} if wide else set())
    ends = {*range(min(2, sheet.rows)), *range(max(2, sheet.rows - EDGE), sheet.rows)} if wide else set()
    summing = {k for k in ends if names[k] in asked and _sums_up(names[k])}
    candidates = [k for k, name in enumerate(names) if name in known or k in summing]
    if wide:
        table = np.column_stack([sheet.columns[name].values for name in reading.scores])
        if not candidates and names[-1] not in exclude:
            candidates = _find_unlabelled(sheet, table, names)
    if not candidates or (not wide and len(names) - len(candidates) < 2):
        return np.zeros(0, dtype=np.int64)
    if not wide:
        systems = sheet.columns[reading.roles["system"]].labels
        table = np.full((len(names), len(systems.names)), np.nan)
        table[units, systems.codes] = sheet.columns[reading.scores[0]].values
    body = np.delete(table, candidates, axis=0)
    body = np.where(np.isfinite(body), body, np.nan)
    ordinary = np.delete(np.array(names, dtype=object), candidates).tolist()
    apart = words.is_numbered(ordinary) or words.share_of_items(ordinary[:50]) > 0.8
    others = np.flatnonzero(~np.isin(units, candidates))
    dropped = []
    for k in candidates:
        name, rows = names[k], np.flatnonzero(units == k)
        statistic = signs.find_statistic(table[k], body) if len(body) > 1 else ""
        if statistic in signs.LOOSE and not signs.has_many_values(body):
            # any right answer is the best of right and wrong ones
            statistic = ""
        if not name and not statistic:
            raise InputError("a row has no name", where=sheet.place(int(rows[0])), remedy="fill it in")
        outside = not len(others) or rows[0] > others[-1] or rows[-1] < others[0]
        telling = apart or bool(np.isinf(table[k]).any())  # formulas that were never computed
        if statistic or (outside and telling and (words.is_summary(name) or _sums_up(name))):
            dropped.append(k)
        elif words.is_summary(name) or k in ends:
            raise _doubt_row(sheet, int(rows[0]), name, "may be an item, or sum up others")
    return np.flatnonzero(np.isin(units, dropped))


def _sums_up(name: str) -> bool:
    return words.is_summary_header(name) and len(name.strip()) > 2


def _find_unlabelled(sheet: Sheet, table: Floats, names: Sequence[str]) -> list[int]:
    """Return the last row, where its numbers alone say that it sums up all above: their mean, sum or deviation."""
    last = len(table) - 1
    if not 3 <= last < LONG or not np.isfinite(table[last]).any():
        return []
    if table.shape[1] == 1:
        # one number may be a mean by chance, unless it has more digits than the scores
        digits = [signs.decimals_of(float(value)) for value in table[np.isfinite(table)]]
        if digits[-1] <= max(digits[:-1]):
            return []
    statistic = signs.find_statistic(table[last], np.where(np.isfinite(table[:last]), table[:last], np.nan))
    # where cells have few values, as right and wrong, the row has to be of another kind
    apart = not np.isin(table[last], table[:last]).any()
    several = table.shape[1] > 1 and signs.has_many_values(table)
    if not statistic or statistic in signs.LOOSE or not (several or apart):
        return []
    if words.is_numbered([*names]):
        raise _doubt_row(sheet, last, names[last], f"is the {statistic} of the rows above")
    return [last]


def _doubt_row(sheet: Sheet, row: int, name: str, what: str) -> Doubt:
    return Doubt(
        f"row {name!r} {what}", exclude=name, rename="rename it if it is an item", where=sheet.place(row)
    )
