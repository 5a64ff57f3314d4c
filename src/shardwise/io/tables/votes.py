"""Tables of votes: two columns of a row name two systems, and others say which won, who voted and on what."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.scores import clean_noun
from shardwise.io.tables import words
from shardwise.io.tables.candidates import list_readings
from shardwise.io.tables.facts import POINTS, Choice, Columns, Facts, find_column, refuse_column
from shardwise.io.tables.numerals import is_number
from shardwise.io.tables.sheet import FIRST, Labels, Sheet
from shardwise.io.tables.words import list_roles, share_of_models, simplify_header, split_words
from shardwise.io.votes import Votes, Way

_OPPOSED = (
    ("a", "b"), ("1", "2"), ("left", "right"), ("x", "y"), ("first", "second"), ("winner", "loser"),
    ("links", "rechts"),
)  # fmt: skip
_SIDES = {side: value for pair in _OPPOSED for side, value in zip(pair, (1.0, -1.0), strict=True)}
_PARTIES = ("model", "system", "option", "response", "answer", "side")
GRADES = "\0"
"""Between the names of two columns whose difference is the grade."""
ROLES = ("first", "second", "winner", "grade", "voter", "order", "item", "category")
"""What the caller may say of the columns of votes."""
SHARED_ROLES = {"item", "category"}
"""Those that columns of scores may have, too."""
SAME_ROLES = {"question": "item", "prompt": "item", "topic": "item", "task": "category"}
CATEGORIES = words.TASKS | {"category", "language", "kategorie", "topic"}

Ends = tuple[str, str]
"""The words by which the headers of two columns are opposed."""


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
    named: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for role, given in (columns or {}).items():
        word = SAME_ROLES.get(simplify_header(role), simplify_header(role))
        if word in ROLES and isinstance(given, str):
            parts = [find_column(sheet, part.strip()) for part in given.split("-", 1)]
            both = GRADES.join(map(str, parts)) if len(parts) == 2 and None not in parts else None
            match = find_column(sheet, given) or (both if word == "grade" else None)
            (unknown if match is None else named)[word] = given if match is None else match
    opponents = _find_opponents(sheet, named, columns or {})
    if unknown and (opponents is not None or unknown.keys() - SHARED_ROLES):
        raise refuse_column(sheet, next(iter(unknown.values())))
    if opponents is None:
        return None
    pair, ends = opponents
    joined = Labels.join([sheet.require_labels(name) for name in pair])
    systems = tuple(joined.names)
    first, second = np.split(joined.codes.astype(np.int64), 2)
    outcome, graded, used = _find_outcome(sheet, pair, ends, named, systems, (first, second))
    taken = {*pair, *named.values(), *used}
    ways = {}
    for role, known, noun in (("item", words.ITEMS, "prompt"), ("voter", words.VOTERS, "voter")):
        name = named.get(role) or _find_header(sheet, known, taken)
        if name:
            taken.add(name)
            labels, word = sheet.columns[name].labels, clean_noun(simplify_header(name))
            named_so = word if word and not word.startswith("#") else noun
            ways[role] = Way(labels.codes.astype(np.int64), tuple(labels.names), named_so)
    turned = _find_order(sheet, named.get("order", ""), taken)
    if turned is not None:
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        outcome = np.where(turned, -outcome, outcome)
    decided = np.isfinite(outcome)
    itself = decided & (first == second)
    left = {"without a winner": ~decided, "on a system and itself": itself}
    notes = [f"{format_count(int(n.sum()), 'vote')} {why} left out" for why, n in left.items() if n.any()]
    kept = decided & ~itself
    if categories:
        kept &= _are_in(sheet, named.get("category") or _find_header(sheet, CATEGORIES), categories)
    if not kept.any():
        raise InputError(
            "no vote has a winner", where=sheet.source, remedy="give votes with a winner or a tie"
        )
    stem = simplify_header(pair[0]).removesuffix(ends[0]).strip("_- ")
    votes = Votes(
        source=sheet.source,
        systems=systems,
        first=first,
        second=second,
        outcome=outcome,
        prompt=ways.get("item"),
        voter=ways.get("voter"),
        graded=graded,
        ordered=turned is not None or "winner" not in ends,
        system_noun=clean_noun(stem) if stem in ("model", "system", "player", "agent", "run") else "system",
        notes=(*sheet.notes, *notes),
    )
    return votes.keep_rows(kept)


def _find_opponents(
    sheet: Sheet, named: Mapping[str, str], columns: Columns
) -> tuple[tuple[str, str], Ends] | None:
    """The two columns that name systems, by the caller, their headers or what they hold, with their opposed words."""
    if "first" in named and "second" in named:
        return (named["first"], named["second"]), ("first", "second")
    # whoever names systems or scores means a table of scores
    of_scores = any({"system", "score"} & {role, *list_roles(role)} for role in columns)
    if of_scores or sheet.headerless:
        return None
    by_words = [pair for pair, _ in _list_sides(sheet)]
    won = bool(_find_header(sheet, words.WINNERS))
    labels = [
        name
        for name, column in sheet.columns.items()
        if (by_words or won) and not (column.is_numeric or column.blank or column.dates)
    ]
    several = [name for name in labels if sheet.columns[name].distinct > 1]
    for pair in by_words or (combinations(several[:12], 2) if won else ()):
        if all(name in labels for name in pair) and _are_opponents(sheet, *pair):
            # more has to speak for votes than for any reading as scores
            points = POINTS["two columns name opponents"] + won * POINTS["a column says which won"]
            best = next(iter(list_readings(Facts(sheet, {}))), None)
            if best is None or best.points < points:
                return pair, _find_ends(*pair) or ("first", "second")
    return None


def _find_header(sheet: Sheet, known: Collection[str], taken: Collection[str] = ()) -> str:
    """The first column with one of some headers; nothing where there is none."""
    return next((name for name, c in sheet.columns.items() if c.header in known and name not in taken), "")


def _list_sides(sheet: Sheet) -> list[tuple[tuple[str, str], Ends]]:
    """Pairs of columns whose headers are opposed, with the words by which they are."""
    # hundreds of systems make many pairs of headers; few of these have a word that opposes another
    sides = [name for name in sheet.columns if not _SIDES.keys().isdisjoint(split_words(name))]
    return [((a, b), ends) for a in sides for b in sides if (ends := _find_ends(a, b)) is not None]


def _find_ends(first: str, second: str) -> Ends | None:
    """The opposed words in two headers that are the same else, in their order, such as a and b, or left and right."""
    a, b = split_words(first), split_words(second)
    for left, right in _OPPOSED:
        if left in a and right in b and [w for w in a if w != left] == [w for w in b if w != right]:
            return left, right
    return None


def _are_opponents(sheet: Sheet, first: str, second: str) -> bool:
    """Tell whether two columns name the two sides of a vote: the same names, never twice in a row."""
    a, b = sheet.columns[first], sheet.columns[second]
    if max(a.distinct, b.distinct) > 5000:
        return False
    shared = len(set(a.labels.names) & set(b.labels.names))
    joined = Labels.join([a.labels, b.labels])
    if len(joined.names) < 2:
        return False
    equal = float(np.equal(*np.split(joined.codes, 2)).mean())
    if _find_ends(first, second) is not None and equal < 0.2:
        called = not words.SYSTEMS.isdisjoint(split_words(first)) or 2 * shared >= min(a.distinct, b.distinct)
        models = share_of_models(list(joined.names)[:FIRST]) > 0.5
        return models or (called and not (a.is_wordy and b.is_wordy))
    if equal > 0.0 or shared < 2 or 2 * shared < len(joined.names) or sheet.rows < 4:
        return False
    roles = [list_roles(first), list_roles(second)]
    others = any("system" in list_roles(name) for name in sheet.columns if name not in (first, second))
    return not (others or a.is_wordy or b.is_wordy) and (not all(roles) or roles[0] == roles[1])


def _find_outcome(
    sheet: Sheet,
    pair: tuple[str, str],
    ends: Ends,
    named: Mapping[str, str],
    systems: Sequence[str],
    sides: tuple[Ints, Ints],
) -> tuple[Floats, bool, list[str]]:
    """The outcome of each vote, NaN without one; whether it is a grade; and the columns that say it."""
    if "winner" in ends:
        return np.full(sheet.rows, 1.0 if ends[0] == "winner" else -1.0), False, []
    if "grade" in named:
        # one column of grades, or the difference of two
        columns = named["grade"].split(GRADES)
        grades = [sheet.columns[name].values for name in columns]
        for name, values in zip(columns, grades, strict=True):
            if np.isinf(values).any():
                where = sheet.place(int(np.argmax(np.isinf(values))))
                raise InputError(
                    f"{name}: a grade is not a number", where=where, remedy="correct or remove it"
                )
        return grades[0] - grades[1] if len(grades) > 1 else grades[0], True, columns
    opposed = [both for both, by in _list_sides(sheet) if by == ends]
    numeric = [both for both in opposed if all(sheet.columns[name].is_numeric for name in both)]
    # columns such as winner_model_a, winner_model_b, winner_tie, of which one is 1
    flags = [(a, b) for a, b in numeric if split_words(a)[0] == "winner" and len(split_words(a)) > 1]
    if len(flags) == 1 and "winner" not in named:
        return sheet.columns[flags[0][0]].values - sheet.columns[flags[0][1]].values, False, [*flags[0]]
    chosen = named.get("winner") or _find_header(sheet, words.WINNERS, pair)
    column = sheet.columns[chosen] if chosen else None
    if column is not None and column.is_text and not all(is_number(n) or not n for n in column.labels.names):
        outcome = _parse_winners(sheet, pair, chosen, systems, sides)
        tie = _find_header(sheet, words.TIE_COLUMNS, (chosen,))
        if tie:
            outcome = np.where(np.isnan(outcome) & (sheet.columns[tie].values == 1.0), 0.0, outcome)
        return outcome, False, [chosen, tie]
    values = np.full(sheet.rows, np.nan) if column is None else column.values
    results = {*values[np.isfinite(values)].tolist()}
    if {1.0, 2.0} <= results <= {0.0, 1.0, 2.0} and ends in (("1", "2"), ("first", "second")):
        # the number of the winner, or 0 for none
        return np.select([values == 0.0, values > 0.0], [0.0, 3.0 - 2.0 * values], np.nan), False, [chosen]
    if {0.5} < results <= {0.0, 0.5, 1.0}:
        # what the first won, as in games
        return 2.0 * values - 1.0, False, [chosen]
    add, grade = (
        "add a column winner with the name of the winner or tie",
        "-".join(numeric[0] if numeric else ()),
    )
    if not grade and (not results or min(results) < 0.0):
        grade = chosen or "…"
    choice = Choice({"first": pair[0], "second": pair[1], "grade": grade})
    or_grades = ", or name a column of grades, positive where the first is better: "
    raise InputError(
        f"holds votes on {pair[0]!r} and {pair[1]!r}, and no column says in words which won",
        where=sheet.source,
        remedy=(add, *((or_grades, Option("columns", choice)) if grade else ())),
        argument="columns",
    )


def _parse_winners(
    sheet: Sheet, pair: tuple[str, str], name: str, systems: Sequence[str], sides: tuple[Ints, Ints]
) -> Floats:
    """Outcomes of a column of words: a side, the name of a system, a tie, or nothing."""
    labels = sheet.columns[name].labels
    number = {system: k for k, system in enumerate(systems)}
    meaning = np.full(len(labels.names), np.nan)
    for k, label in enumerate(labels.names):
        word = simplify_header(label).replace("(", "").replace(")", "").strip("_ ")
        parts = split_words(label)
        if label in number or word in words.NO_VOTE:
            continue
        if word in words.TIES or parts[:1] in (["tie"], ["draw"]):
            meaning[k] = 0.0
        elif label.lower() in (side.lower() for side in pair):
            meaning[k] = 1.0 if label.lower() != pair[1].lower() else -1.0
        elif parts and parts[-1] in _SIDES and (len(parts) == 1 or parts[0] in _PARTIES):
            meaning[k] = _SIDES[parts[-1]]
        else:
            raise InputError(
                f"{name} {label!r} is neither {pair[0]}, {pair[1]}, one of the systems nor a tie",
                where=sheet.place(labels.find_row(label)),
                remedy=f"correct it, or leave the cell empty; ties are {', '.join(sorted(words.TIES)[1:5])}",
            )
    winner = np.array([number.get(label, -1) for label in labels.names])[labels.codes]
    for row in np.flatnonzero((winner >= 0) & (winner != sides[0]) & (winner != sides[1])).tolist():
        raise InputError(
            f"{name} {systems[int(winner[row])]!r} took no part in this vote",
            where=sheet.place(row),
            remedy="name one of the two systems, or a tie",
        )
    return np.where(winner >= 0, np.where(winner == sides[0], 1.0, -1.0), meaning[labels.codes])


def _find_order(sheet: Sheet, given: str, taken: Collection[str]) -> Bools | None:
    """Tell whether the second system was shown first, where a column says it."""
    name = given or _find_header(sheet, words.ORDERS, taken)
    if not name:
        return None
    labels = sheet.columns[name].labels
    positions = {label: simplify_header(label) for label in labels.names}
    for label, word in positions.items():
        if word in words.SECOND_FIRST | words.FIRST_FIRST:
            continue
        if not given:
            return None
        raise InputError(
            f"{name} {label!r} does not say which system was shown first",
            where=sheet.place(labels.find_row(label)),
            remedy="write ab or ba",
        )
    # a flag that says "swapped" is turned where it is true, a position where it names the second
    flag = simplify_header(name) in ("swapped", "swap", "flipped", "reversed")
    second = {"true", "yes", "1"} if flag else words.SECOND_FIRST
    return np.array([word in second for word in positions.values()])[labels.codes]


def _are_in(sheet: Sheet, name: str, categories: Sequence[str]) -> Bools:
    """Tell whether votes are of the categories that were asked for."""
    if not name:
        raise InputError("has no categories", where=sheet.source, remedy=("leave out ", Option("task")))
    labels = sheet.columns[name].labels
    for category in categories:
        if category not in labels.names:
            raise refuse_unknown("task", category, labels.names)
    return np.isin(labels.codes, [k for k, label in enumerate(labels.names) if label in categories])
