"""Tables of votes: two columns of a row name two systems, and others say which won, who voted and on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.scores import clean_noun
from shardwise.io.tables.candidates import POINTS, list_candidates
from shardwise.io.tables.column import is_text as holds_text
from shardwise.io.tables.facts import LOOK, Facts, is_numeric
from shardwise.io.tables.numerals import is_number
from shardwise.io.tables.roles import Choice, Columns
from shardwise.io.tables.sheet import Sheet
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
_UNORDERED = ("winner", "loser")
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
    if unknown:
        given = next(iter(unknown.values()))
        raise InputError(
            f"has no column {given!r}",
            where=sheet.source,
            remedy=f"it has {', '.join(sheet.columns)}",
            argument="columns",
            value=given,
        )
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
        ordered=turned is not None or tuple(sorted(pair.ends)) != tuple(sorted(_UNORDERED)),
        system_noun=clean_noun(stem) if stem in ("model", "system", "player", "agent", "run") else "system",
        notes=(*sheet.notes, *notes),
    )
    return votes.keep_rows(kept)


def _find_named(sheet: Sheet, columns: Columns) -> tuple[dict[str, str], dict[str, str]]:
    """Find the columns of votes that the caller names, and the names that no column has, by role."""
    known = {name.lower(): name for name in sheet.columns}
    known |= {f"#{k + 1}": name for k, name in enumerate(sheet.columns)}
    named: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for role, given in columns.items():
        word = {"question": "item", "prompt": "item", "topic": "item", "task": "category"}.get(
            simplify_header(role), simplify_header(role)
        )
        if word == "grade" and isinstance(given, str) and given.lower() not in known and "-" in given:
            parts = [known.get(part.strip().lower(), "") for part in given.split("-", 1)]
            if all(parts):
                named[word] = GRADES.join(parts)
                continue
        if word in ROLES and isinstance(given, str):
            if given.lower() in known:
                named[word] = known[given.lower()]
            else:
                unknown[word] = given
    return named, unknown


def _find_opponents(sheet: Sheet, named: Mapping[str, str], columns: Columns) -> _Opponents | None:
    """The two columns that name systems: as the caller says, by their headers, or by what they hold."""
    if "first" in named and "second" in named:
        return _Opponents(named["first"], named["second"], ("first", "second"))
    # whoever names systems or scores means a table of scores
    of_scores = any({"system", "score"} & {role, *list_roles(role)} for role in columns)
    if of_scores or sheet.headerless:
        return None
    # hundreds of systems make many pairs of headers; few of these have a word that opposes another
    sides = [name for name in sheet.columns if not _OPPOSED_WORDS.isdisjoint(split_words(name))]
    by_words = [
        (first, second)
        for first in sides
        for second in sides
        if (_find_ends(first, second) is not None and _share_stem(first, second))
    ]
    won = any(simplify_header(name) in WINNERS for name in sheet.columns)
    texts = [] if by_words or not won else [name for name in sheet.columns if _is_label(sheet, name)][:12]
    pairs = by_words or list(combinations(texts, 2))
    least = 1 if by_words else 2
    for first, second in pairs:
        labels = all(_is_label(sheet, name, least) for name in (first, second))
        if labels and _are_opponents(sheet, first, second) and _is_ahead(sheet, won=won):
            return _Opponents(first, second, _find_ends(first, second) or ("first", "second"))
    return None


def _is_ahead(sheet: Sheet, *, won: bool) -> bool:
    """Tell whether more speaks for votes than for any reading as scores."""
    points = POINTS["two columns name opponents"] + won * POINTS["a column says which won"]
    best = next(iter(list_candidates(Facts(sheet, {}))), None)
    return best is None or best.points < points


def _is_label(sheet: Sheet, name: str, least: int = 2) -> bool:
    column = sheet.columns[name]
    return (
        not is_numeric(column)
        and not column.blank
        and not column.dates
        and least <= column.distinct <= sheet.rows
    )


def _find_ends(first: str, second: str) -> tuple[str, str] | None:
    """The opposed words in two headers, in their order, such as a and b, or left and right."""
    a, b = split_words(first), split_words(second)
    for left, right in _OPPOSED:
        if left in a and right in b and left not in b and right not in a:
            return left, right
    return None


def _share_stem(first: str, second: str) -> bool:
    """Tell whether two headers are the same but for the opposed words."""
    ends = _find_ends(first, second)
    assert ends is not None
    return [w for w in split_words(first) if w != ends[0]] == [w for w in split_words(second) if w != ends[1]]


def _are_opponents(sheet: Sheet, first: str, second: str) -> bool:
    """Tell whether two columns name the two sides of a vote: the same names, never twice in a row."""
    a, b = sheet.columns[first].labels, sheet.columns[second].labels
    if len(a.names) > 5000 or len(b.names) > 5000:
        return False
    names = set(a.names) | set(b.names)
    shared = set(a.names) & set(b.names)
    if len(names) < 2:
        return False
    number = {name: k for k, name in enumerate(names)}
    first_codes = np.array([number[name] for name in a.names])[a.codes]
    second_codes = np.array([number[name] for name in b.names])[b.codes]
    equal = float((first_codes == second_codes).mean())
    opposed = _find_ends(first, second) is not None or _find_ends(second, first) is not None
    if opposed and equal < 0.2:
        models = share_of_models(list(names)[:LOOK]) > 0.5
        called = not SYSTEMS.isdisjoint(split_words(first)) or 2 * len(shared) >= min(
            len(a.names), len(b.names)
        )
        return models or (called and not (is_text(first) and is_text(second)))
    role = any("system" in list_roles(name) for name in sheet.columns if name not in (first, second))
    role = role or (
        bool(list_roles(first) and list_roles(second)) and list_roles(first) != list_roles(second)
    )
    return (
        not role
        and sheet.rows >= 4
        and equal == 0.0
        and 2 * len(shared) >= len(names)
        and len(shared) > 1
        and not (is_text(first) or is_text(second))
    )


def _number_systems(sheet: Sheet, pair: _Opponents) -> tuple[tuple[str, ...], Ints, Ints]:
    """Names of the systems, and their numbers in the two columns."""
    a, b = sheet.columns[pair.first].labels, sheet.columns[pair.second].labels
    number = {name: k for k, name in enumerate(dict.fromkeys((*a.names, *b.names)))}
    if "" in number:
        column, labels = (pair.first, a) if "" in a.names else (pair.second, b)
        row = int(np.flatnonzero(labels.codes == list(labels.names).index(""))[0])
        raise InputError(f"column {column!r} is empty", where=sheet.place(row), remedy="fill it in")
    first = np.array([number[name] for name in a.names], dtype=np.int64)[a.codes]
    second = np.array([number[name] for name in b.names], dtype=np.int64)[b.codes]
    return tuple(number), first, second


def _find_outcome(
    sheet: Sheet,
    pair: _Opponents,
    named: Mapping[str, str],
    systems: Sequence[str],
    first: Ints,
    second: Ints,
) -> tuple[Floats, bool, list[str]]:
    """The outcome of each vote, NaN without one; whether it is a grade; and the columns that say it."""
    if tuple(sorted(pair.ends)) == tuple(sorted(_UNORDERED)):
        return np.full(sheet.rows, 1.0 if pair.ends[0] == "winner" else -1.0), False, []
    if "grade" in named:
        # one column of grades, or the difference of two
        columns = named["grade"].split(GRADES) if GRADES in named["grade"] else [named["grade"]]
        grades = [sheet.columns[name].values for name in columns]
        for name, own in zip(columns, grades, strict=True):
            _refuse_infinite(sheet, name, own)
        return grades[0] - grades[1] if len(grades) > 1 else grades[0], True, columns
    chosen = named.get("winner") or next(
        (
            name
            for name in sheet.columns
            if simplify_header(name) in WINNERS and name not in (pair.first, pair.second)
        ),
        "",
    )
    flags = _find_flags(sheet, pair) if not named.get("winner") else None
    if flags is not None:
        return flags
    if chosen and _holds_words(sheet, chosen):
        outcome = _parse_winners(sheet, pair, chosen, systems, first, second)
        tie = next(
            (name for name in sheet.columns if simplify_header(name) in TIE_COLUMNS and name != chosen), ""
        )
        if tie:
            outcome = np.where(np.isnan(outcome) & (sheet.columns[tie].values == 1.0), 0.0, outcome)
        return outcome, False, [chosen, *([tie] if tie else [])]
    if chosen:
        values = sheet.columns[chosen].values
        if set(np.unique(values[np.isfinite(values)]).tolist()) <= {1.0, 2.0} and {pair.ends} & {
            ("1", "2"),
            ("first", "second"),
        }:
            return np.where(np.isnan(values), np.nan, 3.0 - 2.0 * values), False, [chosen]
    offered = [
        f"{a}-{b}"
        for a in sheet.columns
        for b in sheet.columns
        if _find_ends(a, b) == pair.ends
        and _share_stem(a, b)
        and is_numeric(sheet.columns[a])
        and is_numeric(sheet.columns[b])
    ]
    grade = offered[0] if offered else chosen or "…"
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


def _refuse_infinite(sheet: Sheet, name: str, values: Floats) -> None:
    words = np.isinf(values)
    if words.any():
        row = int(np.flatnonzero(words)[0])
        raise InputError(
            f"{name}: a grade is not a number", where=sheet.place(row), remedy="correct or remove it"
        )


def _find_flags(sheet: Sheet, pair: _Opponents) -> tuple[Floats, bool, list[str]] | None:
    """Outcomes of columns such as winner_model_a, winner_model_b, winner_tie, of which one is 1."""
    flags = [
        (a, b)
        for a in sheet.columns
        for b in sheet.columns
        if _find_ends(a, b) == pair.ends and split_words(a)[:1] == ["winner"] and len(split_words(a)) > 1
        and is_numeric(sheet.columns[a]) and is_numeric(sheet.columns[b])
    ]  # fmt: skip
    if len(flags) != 1:
        return None
    a, b = flags[0]
    outcome = sheet.columns[a].values - sheet.columns[b].values
    return outcome, False, [a, b]


def _parse_winners(
    sheet: Sheet, pair: _Opponents, name: str, systems: Sequence[str], first: Ints, second: Ints
) -> Floats:
    """Outcomes of a column of words: a side, the name of a system, a tie, or nothing."""
    labels = sheet.columns[name].labels
    sides = {side: value for left, right in _OPPOSED for side, value in ((left, 1.0), (right, -1.0))}
    number = {system: k for k, system in enumerate(systems)}
    meaning = np.full(len(labels.names), np.nan)
    winner = np.full(len(labels.names), -1, dtype=np.int64)
    for k, label in enumerate(labels.names):
        word = simplify_header(label).replace("(", "").replace(")", "").strip("_ ")
        words = split_words(label)
        if label in number:
            winner[k] = number[label]
        elif word in TIES or (words and words[0] in ("tie", "draw")):
            meaning[k] = 0.0
        elif word in NO_VOTE:
            continue
        elif label.lower() in (pair.first.lower(), pair.second.lower()):
            meaning[k] = 1.0 if label.lower() == pair.first.lower() else -1.0
        elif (
            words
            and words[-1] in sides
            and (len(words) == 1 or words[0] in ("model", "system", "option", "response", "answer", "side"))
        ):
            meaning[k] = sides[words[-1]]
        else:
            row = int(np.flatnonzero(labels.codes == k)[0])
            raise InputError(
                f"{name} {label!r} is neither {pair.first}, {pair.second}, one of the systems nor a tie",
                where=sheet.place(row),
                remedy=f"correct it, or leave the cell empty; ties are {', '.join(sorted(TIES)[1:5])}",
            )
    own = winner[labels.codes]
    outcome = meaning[labels.codes]
    by_name = own >= 0
    strange = by_name & (own != first) & (own != second)
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        raise InputError(
            f"{name} {systems[int(own[row])]!r} took no part in this vote",
            where=sheet.place(row),
            remedy="name one of the two systems, or a tie",
        )
    return np.where(by_name, np.where(own == first, 1.0, -1.0), outcome)


def _find_way(sheet: Sheet, given: str, words: frozenset[str], taken: set[str], default: str) -> Way | None:
    """The groups of a column that the caller names or whose header says what it is."""
    name = given or next(
        (one for one in sheet.columns if simplify_header(one) in words and one not in taken), ""
    )
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
    name = given or next(
        (one for one in sheet.columns if simplify_header(one) in ORDERS and one not in taken), ""
    )
    if not name:
        return None
    labels = sheet.columns[name].labels
    words = [simplify_header(label) for label in labels.names]
    if not given and not all(word in SECOND_FIRST | FIRST_FIRST for word in words):
        return None
    for k, word in enumerate(words):
        if word not in SECOND_FIRST | FIRST_FIRST:
            row = int(np.flatnonzero(labels.codes == k)[0])
            raise InputError(
                f"{name} {labels.names[k]!r} does not say which system was shown first",
                where=sheet.place(row),
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
    name = given or next((one for one in sheet.columns if simplify_header(one) in words), "")
    if not name:
        raise InputError("has no categories", where=sheet.source, remedy=("leave out ", Option("task")))
    labels = sheet.columns[name].labels
    for category in categories:
        if category not in labels.names:
            raise refuse_unknown("task", category, labels.names)
    wanted = [k for k, label in enumerate(labels.names) if label in categories]
    return np.isin(labels.codes, wanted)
