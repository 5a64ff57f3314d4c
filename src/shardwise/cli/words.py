"""Options whose value is a phrase: a margin with its side, a bootstrap with its words, shards with what splits them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from shardwise.core.errors import InputError, Option, refuse_unknown

SIDES = {"both": "both", "not-worse": "lower", "better": "superior"}
"""Words for what a margin is for, with the names that the library has for them."""
VERDICTS = ("tost", "interval", "hpd")
BOOTSTRAP = {
    "difference": ("null", "difference"),
    "marginal": ("null", "marginal"),
    "one-sided": ("tails", 1),
    "two-sided": ("tails", 2),
    "exact": ("density", "exact"),
    "kde": ("density", "kde"),
    "trim-share": ("trim", "share"),
    "trim-percent": ("trim", "percent"),
    "trim-count": ("trim", "count"),
}
"""Words after bootstrap, and the argument that each sets."""
REPEATS = {
    **{name: ("method", name) for name in ("mixed", "bootstrap", "t-means", "t-single")},
    **{name: ("design", name) for name in ("unified", "paper", "nested", "crossed")},
}
"""Words after repeats, and the argument that each sets."""


class Margin(float):
    """The largest difference that does not matter, what it is for, and how it is tested.

    >>> Margin("0.01:not-worse"), Margin("0.01:not-worse").side, Margin("0.01").verdict
    (0.01:not-worse, 'lower', 'tost')
    """

    text: str
    side: str
    verdict: str

    def __new__(cls, text: str) -> Margin:
        """Return the number, with its words."""
        number, *words = str(text).split(":")
        made = super().__new__(cls, number)
        made.text, made.side, made.verdict = str(text), "both", "tost"
        for word in words:
            if word in SIDES:
                made.side = SIDES[word]
            elif word in VERDICTS:
                made.verdict = word
            else:
                raise refuse_unknown("margin", word, (*SIDES, *VERDICTS), what="word of a margin")
        return made

    def __repr__(self) -> str:
        """Return what was typed."""
        return self.text


def parse_words(method: str, first: str, last: Collection[str] = ()) -> dict[str, Any] | None:
    """Return what the words after the first one of a method say, by argument; None for a method of another kind.

    A word of ``last``, such as a correction, is the correction.

    >>> parse_words("bootstrap marginal kde bh", "bootstrap", ("bh", "holm"))
    {'null': 'marginal', 'density': 'kde', 'correction': 'bh'}
    """
    words = method.split()
    if words[:1] != [first]:
        return None
    known = BOOTSTRAP if first == "bootstrap" else REPEATS
    found: dict[str, Any] = {}
    for word in words[1:]:
        if word in last:
            found["correction"] = word
        elif word in known:
            name, value = known[word]
            found[name] = value
        else:
            raise refuse_unknown("method", word, (*known, *last), what=f"word after {first}")
    return found


def check_kind(value: str) -> None:
    """Refuse a kind of shards whose expression or sizes are not valid."""
    kind, colon, detail = value.partition(":")
    if kind == "uneven" and colon:
        parse_proportions(detail)
    if kind == "attribute":
        try:
            re.compile(detail)
        except re.error as error:
            raise InputError(
                f"'{detail}' is not a valid regular expression ({error})",
                remedy="write for instance --kind 'attribute:^[A-Z]+'",
            ) from None
    elif colon and kind not in ("uneven", "topical"):
        raise InputError(f"--kind {kind} takes no words", remedy=("write ", Option("kind", kind)))


def parse_proportions(text: str) -> list[float]:
    """Return numbers between commas.

    >>> parse_proportions("3,2,1")
    [3.0, 2.0, 1.0]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"'{text}' are not proportions", remedy=("write for instance ", Option("kind", "uneven:3,2,1"))
        ) from None
