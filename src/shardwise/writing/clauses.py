"""Put the clauses of methods into the user's words."""

from __future__ import annotations

from collections.abc import Mapping

from shardwise.core.claim import DIMENSIONS, pluralize_noun
from shardwise.methods.names import Procedure


def make_words(nouns: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the user's words for dimensions, one and many, as clauses of methods name them.

    Parameters
    ----------
    nouns : mapping, optional
        The user's words for dimensions.

    Returns
    -------
    dict
        Such as ``{"topic": "question", "topics": "questions", …}``.
    """
    single = {name: (nouns or {}).get(name, name) for name in DIMENSIONS}
    return {**single, **{f"{name}s": pluralize_noun(word) for name, word in single.items()}}


def explain_method(procedure: Procedure, nouns: Mapping[str, str] | None = None) -> str:
    """Return what the method of a procedure does, in one clause.

    Parameters
    ----------
    procedure : Procedure
        Any procedure.
    nouns : mapping, optional
        The user's own words for dimensions.

    Returns
    -------
    str
        A clause.

    >>> from shardwise.methods.names import parse_procedure
    >>> explain_method(parse_procedure("moderated"), {"system": "model"})
    'holds its error rate even when some models are more variable than others'
    >>> explain_method(parse_procedure("t holm"))
    'each pair by its own variance over topics'
    """
    return procedure.method.reason.format(**make_words(nouns), resamples="many")
