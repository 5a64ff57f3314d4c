"""Tables of votes: two columns of a row name two systems; refused, as they hold no scores."""

from __future__ import annotations

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.tables.facts import LOOK, Facts, is_numeric
from shardwise.io.tables.sheet import Sheet
from shardwise.io.tables.words import is_text, list_roles, share_of_models, split_words

_OPPOSED = (("a", "b"), ("1", "2"), ("left", "right"), ("x", "y"), ("winner", "loser"), ("links", "rechts"))


def refuse_votes(facts: Facts) -> None:
    """Refuse a table of votes: two columns of one row name two systems."""
    sheet = facts.sheet
    texts = [
        name for name, column in sheet.columns.items()
        if not is_numeric(column) and not column.blank and not column.dates and 1 < column.distinct < sheet.rows + 1
    ][:12]  # fmt: skip
    for k, first in enumerate(texts):
        for second in texts[k + 1 :]:
            if _are_opponents(sheet, first, second):
                raise InputError(
                    f"holds votes: {first!r} and {second!r} name the two systems of each row",
                    where=sheet.source,
                    remedy="votes are not scores; give one row for each item and system",
                )


def _are_opponents(sheet: Sheet, first: str, second: str) -> bool:
    """Tell whether two columns name the two sides of a vote: the same names, never twice in a row."""
    a, b = sheet.columns[first].labels, sheet.columns[second].labels
    names = set(a.names) | set(b.names)
    shared = set(a.names) & set(b.names)
    if len(names) > 5000 or len(names) < 2:
        return False
    number = {name: k for k, name in enumerate(names)}
    first_codes = np.array([number[name] for name in a.names])[a.codes]
    second_codes = np.array([number[name] for name in b.names])[b.codes]
    equal = float((first_codes == second_codes).mean())
    ends = {*split_words(first)[-1:], *split_words(second)[-1:]}
    opposed = any(ends == set(pair) for pair in _OPPOSED)
    if opposed and (2 * len(shared) >= min(len(a.names), len(b.names)) or not is_text(first)) and equal < 0.2:
        return not (is_text(first) and is_text(second)) or share_of_models(list(names)[:LOOK]) > 0.5
    role = any("system" in list_roles(name) for name in sheet.columns if name not in (first, second))
    return (
        not role
        and sheet.rows >= 4
        and equal == 0.0
        and 2 * len(shared) >= len(names)
        and len(shared) > 1
        and not (is_text(first) or is_text(second))
    )
