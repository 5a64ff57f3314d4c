"""Tables of votes: two columns of a row name two systems, and others say which won, who voted and on what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.scores import clean_noun
from shardwise.io.tables.candidates import POINTS, list_candidates
from shardwise.io.tables.facts import Choice, Columns, Facts, find_column, refuse_column
from shardwise.io.tables.numerals import is_number
from shardwise.io.tables.sheet import FIRST, Labels, Sheet
from shardwise.io.tables.sheet import is_text as holds_text
from shardwise.io.tables.words import (
    FIRST_FIRST,
    ITEMS,
    NO_VOTE,
    ORDERS,
    SECOND_FIRST,
    SYSTEMS,
    TASKS,
    TIE_COLUMNS,
    TIES,
    VOTERS,
    WINNERS,
    is_text,
    list_roles,
    share_of_models,
    simplify_header,
    split_words,
)
from shardwise.io.votes import Votes, Way

_OPPOSED = (
    ("a", "b"), ("1", "2"), ("left", "right"), ("x", "y"), ("first", "second"), ("winner", "loser"),
    ("links", "rechts"),
)  # fmt: skip
_OPPOSED_WORDS = frozenset(word for pair in _OPPOSED for word in pair)
_UNORDERED = {"winner", "loser"}
_SIDES = {side: value for pair in _OPPOSED for side, value in zip(pair, (1.0, -1.0), strict=True)}
_PARTIES = ("model", "system", "option", "response", "answer", "side")
GRADES = "\0"
"""Between the names of two columns whose difference is the grade."""
ROLES = ("first", "second", "winner", "grade", "voter", "order", "item", "category")
"""What the caller may say of the columns of votes."""
SHARED_ROLES = {"item", "category"}
"""Those that columns of scores may have, too."""


@dataclass(frozen=True, slots=True)
class _Opponents:
    """The columns of the two systems, and the words by which their ends name them."""

    first: str
    second: str
    ends: tuple[str, str]


def read_votes(sheet: Sheet, columns: Columns | None = None, categories: Sequence[str] = ()) -> Votes | None:
    """Read a table of votes; None where it is none.

    Parameters
    ----------
    sheet
        The table.
    columns
        What the caller says: first, second, winner or grade, voter, order, item, category -> the name of a column.
    categories
        Categories to read, of a table that has a column of them.

    Returns
    -------
    Votes or None
        The votes that say something; what was left out is in their notes.
    """
    named, unknown = _find_named(sheet, columns or {})
    pair = _find_opponents(sheet, named, columns or {})
    if pair is None and not unknown.keys() - SHARED_ROLES:
        return None
    for given in unknown.values():
        raise refuse_column(sheet, given)
    if pair is None:
        return None
    taken = {pair.first, pair.second, *named.values()}
    systems, first, second = _number_systems(sheet, pair)
    outcome, graded, used = _find_outcome(sheet, pair, named, systems, first, second)
    taken |= set(used)
    prompt = _find_way(sheet, named.get("item", ""), ITEMS, taken, "prompt")
    voter = _find_way(sheet, named.get("voter", ""), VOTERS, taken, "voter")
    turned = _find_order(sheet, named.get("order", ""), taken)
    if turned is not None:
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        outcome = np.where(turned, -outcome, outcome)
    notes = []
    kept = np.isfinite(outcome)
    if not kept.all():
        notes.append(f"{format_count(int((~kept).sum()), 'vote')} without a winner left out")
    itself = kept & (first == second)
    if itself.any():
        notes.append(f"{format_count(int(itself.sum()), 'vote')} on a system and itself left out")
    kept &= ~itself
    kept &= _keep_categories(sheet, named.get("category", ""), categories)
    if not kept.any():
        raise InputError(
            "no vote has a winner", where=sheet.source, remedy="give votes with a winner or a tie"
        )
    stem = simplify_header(pair.first).removesuffix(pair.ends[0]).strip("_- ")
    votes = Votes(
        source=sheet.source,
        systems=systems,
        first=first,
        second=second,
        outcome=outcome,
        prompt=prompt,
        voter=voter,
        graded=graded,
        ordered=turned is not None or set(pair.ends) != _UNORDERED,
        system_noun=clean_noun(stem) if stem in ("model", "system", "player", "agent", "run") else "system",
        notes=(*sheet.notes, *notes),
    )
    return votes.keep_rows(kept)


def _find_named(sheet: Sheet, columns: Columns) -> tuple[dict[str, str], dict[str, str]]:
    """Find the columns of votes that the caller names, and the names that no column has, by role."""
    named: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for role, given in columns.items():
        word = simplify_header(role)
        word = {"question": "item", "prompt": "item", "topic": "item", "task": "category"}.get(word, word)
        if word not in ROLES or not isinstance(given, str):
            continue
        match = find_column(sheet, given)
        parts = [find_column(sheet, part.strip()) for part in given.split("-", 1)]
        if match is None and word == "grade" and len(parts) == 2 and None not in parts:
            match = GRADES.join(map(str, parts))
        if match is None:
            unknown[word] = given
        else:
            named[word] = match
    return named, unknown


def _find_opponents(sheet: Sheet, named: Mapping[str, str], columns: Columns) -> _Opponents | None:
    """The two columns that name systems: as the caller says, by their headers, or by what they hold."""
    if "first" in named and "second" in named:
        return _Opponents(named["first"], named["second"], ("first", "second"))
    # whoever names systems or scores means a table of scores
    of_scores = any({"system", "score"} & {role, *list_roles(role)} for role in columns)
    if of_scores or sheet.headerless:
        return None
    by_words = [(first, second) for first, second, _ in _list_sides(sheet)]
    won = bool(_find_header(sheet, WINNERS))
    texts = [] if by_words or not won else [name for name in sheet.columns if _is_label(sheet, name)][:12]
    least = 1 if by_words else 2
    for first, second in by_words or combinations(texts, 2):
        labels = all(_is_label(sheet, name, least) for name in (first, second))
        if labels and _are_opponents(sheet, first, second) and _is_ahead(sheet, won=won):
            return _Opponents(first, second, _find_ends(first, second) or ("first", "second"))
    return None


def _find_header(sheet: Sheet, words: Iterable[str], taken: Iterable[str] = ()) -> str:
    """The first column with one of some headers; nothing where there is none."""
    return next((name for name in sheet.columns if simplify_header(name) in words and name not in taken), "")


def _list_sides(sheet: Sheet) -> list[tuple[str, str, tuple[str, str]]]:
    """Pairs of columns whose headers are opposed, with the words by which they are."""
    # hundreds of systems make many pairs of headers; few of these have a word that opposes another
    sides = [name for name in sheet.columns if not _OPPOSED_WORDS.isdisjoint(split_words(name))]
    return [(a, b, ends) for a in sides for b in sides if (ends := _find_ends(a, b)) is not None]


def _is_ahead(sheet: Sheet, *, won: bool) -> bool:
    """Tell whether more speaks for votes than for any reading as scores."""
    points = POINTS["two columns name opponents"] + won * POINTS["a column says which won"]
    best = next(iter(list_candidates(Facts(sheet, {}))), None)
    return best is None or best.points < points


def _is_label(sheet: Sheet, name: str, least: int = 2) -> bool:
    column = sheet.columns[name]
    return (
        not column.is_numeric
        and not column.blank
        and not column.dates
        and least <= column.distinct <= sheet.rows
    )


def _find_ends(first: str, second: str) -> tuple[str, str] | None:
    """The opposed words in two headers that are the same else, in their order, such as a and b, or left and right."""
    a, b = split_words(first), split_words(second)
    for left, right in _OPPOSED:
        if left in a and right in b and [w for w in a if w != left] == [w for w in b if w != right]:
            return left, right
    return None


def _are_opponents(sheet: Sheet, first: str, second: str) -> bool:
    """Tell whether two columns name the two sides of a vote: the same names, never twice in a row."""
    a, b = sheet.columns[first].labels, sheet.columns[second].labels
    if len(a.names) > 5000 or len(b.names) > 5000:
        return False
    shared = set(a.names) & set(b.names)
    joined = Labels.join([a, b])
    if len(joined.names) < 2:
        return False
    equal = float(np.equal(*np.split(joined.codes, 2)).mean())
    texts = [is_text(first), is_text(second)]
    if _find_ends(first, second) is not None and equal < 0.2:
        called = not SYSTEMS.isdisjoint(split_words(first))
        called = called or 2 * len(shared) >= min(len(a.names), len(b.names))
        return share_of_models(list(joined.names)[:FIRST]) > 0.5 or (called and not all(texts))
    roles = [list_roles(first), list_roles(second)]
    others = any("system" in list_roles(name) for name in sheet.columns if name not in (first, second))
    alike = equal == 0.0 and len(shared) > 1 and 2 * len(shared) >= len(joined.names)
    return (
        alike
        and sheet.rows >= 4
        and not others
        and not any(texts)
        and (not all(roles) or roles[0] == roles[1])
    )


def _number_systems(sheet: Sheet, pair: _Opponents) -> tuple[tuple[str, ...], Ints, Ints]:
    """Names of the systems, and their numbers in the two columns."""
    for name in (pair.first, pair.second):
        sheet.require_labels(name)
    joined = Labels.join([sheet.columns[name].labels for name in (pair.first, pair.second)])
    first, second = np.split(joined.codes.astype(np.int64), 2)
    return tuple(joined.names), first, second


def _find_outcome(
    sheet: Sheet,
    pair: _Opponents,
    named: Mapping[str, str],
    systems: Sequence[str],
    first: Ints,
    second: Ints,
) -> tuple[Floats, bool, list[str]]:
    """The outcome of each vote, NaN without one; whether it is a grade; and the columns that say it."""
    if set(pair.ends) == _UNORDERED:
        return np.full(sheet.rows, 1.0 if pair.ends[0] == "winner" else -1.0), False, []
    if "grade" in named:
        # one column of grades, or the difference of two
        columns = named["grade"].split(GRADES)
        grades = [_get_grades(sheet, name) for name in columns]
        return grades[0] - grades[1] if len(grades) > 1 else grades[0], True, columns
    numeric = [
        (a, b)
        for a, b, ends in _list_sides(sheet)
        if ends == pair.ends and sheet.columns[a].is_numeric and sheet.columns[b].is_numeric
    ]
    # columns such as winner_model_a, winner_model_b, winner_tie, of which one is 1
    flags = [(a, b) for a, b in numeric if split_words(a)[0] == "winner" and len(split_words(a)) > 1]
    if len(flags) == 1 and "winner" not in named:
        return sheet.columns[flags[0][0]].values - sheet.columns[flags[0][1]].values, False, [*flags[0]]
    chosen = named.get("winner") or _find_header(sheet, WINNERS, (pair.first, pair.second))
    if chosen and _holds_words(sheet, chosen):
        outcome = _parse_winners(sheet, pair, chosen, systems, first, second)
        tie = _find_header(sheet, TIE_COLUMNS, (chosen,))
        if tie:
            outcome = np.where(np.isnan(outcome) & (sheet.columns[tie].values == 1.0), 0.0, outcome)
        return outcome, False, [chosen, tie]
    if chosen and pair.ends in (("1", "2"), ("first", "second")):
        values = sheet.columns[chosen].values
        if np.isin(values[np.isfinite(values)], (1.0, 2.0)).all():
            return np.where(np.isnan(values), np.nan, 3.0 - 2.0 * values), False, [chosen]
    grade = "-".join(numeric[0]) if numeric else chosen or "…"
    raise InputError(
        f"holds votes on {pair.first!r} and {pair.second!r}, and no column says in words which won",
        where=sheet.source,
        remedy=(
            "add a column winner with the name of the winner or tie, or name a column of grades, positive where the"
            " first is better: ",
            Option("columns", Choice({"first": pair.first, "second": pair.second, "grade": grade})),
        ),
        argument="columns",
    )


def _holds_words(sheet: Sheet, name: str) -> bool:
    """Tell whether a column names winners, rather than numbers."""
    column = sheet.columns[name]
    return holds_text(column.data.type) and not all(
        is_number(label) or not label for label in column.labels.names
    )


def _get_grades(sheet: Sheet, name: str) -> Floats:
    """The numbers of a column of grades; a word among them is refused."""
    values = sheet.columns[name].values
    for row in np.flatnonzero(np.isinf(values)).tolist():
        raise InputError(
            f"{name}: a grade is not a number", where=sheet.place(row), remedy="correct or remove it"
        )
    return values


def _parse_winners(
    sheet: Sheet, pair: _Opponents, name: str, systems: Sequence[str], first: Ints, second: Ints
) -> Floats:
    """Outcomes of a column of words: a side, the name of a system, a tie, or nothing."""
    labels = sheet.columns[name].labels
    number = {system: k for k, system in enumerate(systems)}
    ends = {pair.first.lower(): 1.0, pair.second.lower(): -1.0}
    meaning = np.full(len(labels.names), np.nan)
    winner = np.array([number.get(label, -1) for label in labels.names])[labels.codes]
    for k, label in enumerate(labels.names):
        word = simplify_header(label).replace("(", "").replace(")", "").strip("_ ")
        words = split_words(label)
        if label in number or word in NO_VOTE:
            continue
        if word in TIES or words[:1] in (["tie"], ["draw"]):
            meaning[k] = 0.0
        elif label.lower() in ends:
            meaning[k] = ends[label.lower()]
        elif words and words[-1] in _SIDES and (len(words) == 1 or words[0] in _PARTIES):
            meaning[k] = _SIDES[words[-1]]
        else:
            raise InputError(
                f"{name} {label!r} is neither {pair.first}, {pair.second}, one of the systems nor a tie",
                where=sheet.place(labels.find_row(label)),
                remedy=f"correct it, or leave the cell empty; ties are {', '.join(sorted(TIES)[1:5])}",
            )
    for row in np.flatnonzero((winner >= 0) & (winner != first) & (winner != second)).tolist():
        raise InputError(
            f"{name} {systems[int(winner[row])]!r} took no part in this vote",
            where=sheet.place(row),
            remedy="name one of the two systems, or a tie",
        )
    return np.where(winner >= 0, np.where(winner == first, 1.0, -1.0), meaning[labels.codes])


def _find_way(sheet: Sheet, given: str, words: frozenset[str], taken: set[str], default: str) -> Way | None:
    """The groups of a column that the caller names or whose header says what it is."""
    name = given or _find_header(sheet, words, taken)
    if not name:
        return None
    taken.add(name)
    labels = sheet.columns[name].labels
    word = clean_noun(simplify_header(name))
    return Way(
        labels.codes.astype(np.int64),
        tuple(labels.names),
        word if word and not word.startswith("#") else default,
    )


def _find_order(sheet: Sheet, given: str, taken: set[str]) -> Bools | None:
    """Tell whether the second system was shown first, where a column says it."""
    name = given or _find_header(sheet, ORDERS, taken)
    if not name:
        return None
    labels = sheet.columns[name].labels
    words = [simplify_header(label) for label in labels.names]
    unclear = [
        name for name, word in zip(labels.names, words, strict=True) if word not in SECOND_FIRST | FIRST_FIRST
    ]
    if unclear and not given:
        return None
    if unclear:
        raise InputError(
            f"{name} {unclear[0]!r} does not say which system was shown first",
            where=sheet.place(labels.find_row(unclear[0])),
            remedy="write ab or ba",
        )
    taken.add(name)
    # a flag that says "swapped" is turned where it is true, a position where it names the second
    flag = simplify_header(name) in ("swapped", "swap", "flipped", "reversed")
    turned = np.array([(word in ("true", "yes", "1") if flag else word in SECOND_FIRST) for word in words])
    return np.asarray(turned[labels.codes])


def _keep_categories(sheet: Sheet, given: str, categories: Sequence[str]) -> Bools:
    """Tell whether votes are of the categories that were asked for."""
    if not categories:
        return np.ones(sheet.rows, dtype=np.bool_)
    words = TASKS | {"category", "language", "kategorie", "topic"}
    name = given or _find_header(sheet, words)
    if not name:
        raise InputError("has no categories", where=sheet.source, remedy=("leave out ", Option("task")))
    labels = sheet.columns[name].labels
    for category in categories:
        if category not in labels.names:
            raise refuse_unknown("task", category, labels.names)
    wanted = [k for k, label in enumerate(labels.names) if label in categories]
    return np.isin(labels.codes, wanted)
