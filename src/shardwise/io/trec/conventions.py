"""How runs and judgments are read where evaluation programs differ: one object, with a preset for each program."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from shardwise.core.arguments import validate_choice, validate_count
from shardwise.core.errors import InputError, refuse_unknown

NoRelevant = Literal["zero", "undefined", "drop", "refuse"]
Missing = Literal["refuse", "leave", "zero", "drop"]
Precision = Literal["single", "double"]
Unjudged = Literal["nonrelevant", "removed"]
Comments = Literal["skip", "data"]
Topics = Literal["common", "judged"]
Order = Literal["score", "ascending", "rank"]

_TABLE: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("conventions.toml").read_text(encoding="utf-8")
)
_FIELDS = {name: dict(clauses) for name, clauses in _TABLE["fields"].items()}
_WHAT = {name: clauses.pop("what") for name, clauses in _FIELDS.items()}
_ALWAYS_SAID = ("precision", "no_relevant")


@dataclass(frozen=True, slots=True)
class Conventions:
    """What evaluation programs do differently with the same runs and judgments.

    Parameters
    ----------
    name : str
        Name of the preset that the fields were taken from; some may have been changed.
    no_relevant : str
        Topics without a relevant document in the whole collection: ``"zero"``, ``"undefined"`` (NaN), ``"drop"`` or
        ``"refuse"``. In shards such cells are always undefined.
    precision : str
        Whether scores are compared in ``"single"`` (trec_eval up to 9.0.7, pytrec_eval) or ``"double"`` precision.
    missing : str
        Topics that a run lacks: ``"refuse"``, ``"leave"`` (no score for that run), ``"zero"`` or ``"drop"`` (left out
        for all runs). trec_eval's ``-c`` is ``"zero"`` together with all judged topics.
    topics : str
        Topics that count: ``"common"`` (judged, and in some run) or ``"judged"`` (all of them).
    unjudged : str
        Documents without a judgment: ``"nonrelevant"``, or ``"removed"`` from rankings (trec_eval's ``-J``).
    order : str
        Order of documents: by ``"score"``, ties by descending names as in trec_eval; by score with ties by
        ``"ascending"`` names as in pyndeval; or by the ``"rank"`` column as in ndeval.
    depth : int, optional
        Number of documents at which every ranking is cut (trec_eval's ``-M``); None keeps all.
    comments : str
        Whether lines that begin with ``#`` are left out (``"skip"``) or read as any other (``"data"``).
    tool : str, optional
        Program whose names of measures are understood first.

    >>> print(parse_conventions("trec_eval-10").sentence)
    Conventions: trec_eval-10 (ties in double precision, topics without relevant documents count 0, topics that a run
    lacks are left out for that run).
    """

    name: str = "default"
    no_relevant: NoRelevant = "zero"
    precision: Precision = "single"
    missing: Missing = "refuse"
    topics: Topics = "common"
    unjudged: Unjudged = "nonrelevant"
    order: Order = "score"
    depth: int | None = None
    comments: Comments = "skip"
    tool: str | None = None

    def __post_init__(self) -> None:
        for field, clauses in _FIELDS.items():
            validate_choice(getattr(self, field), field, tuple(clauses), what=_WHAT[field])
        if self.depth is not None:
            object.__setattr__(self, "depth", validate_count(self.depth, "depth", what="documents deep"))

    @property
    def sentence(self) -> str:
        """What was done: ties, topics without relevant documents, and what differs from the default."""
        clauses = [
            clauses[getattr(self, field)]
            for field, clauses in _FIELDS.items()
            if field in _ALWAYS_SAID or getattr(self, field) != getattr(DEFAULT, field)
        ]
        if self.depth is not None:
            clauses.append(f"rankings are cut at {self.depth}")
        return f"Conventions: {self.name} ({', '.join(clauses)})."

    def change(self, **fields: Any) -> Conventions:
        """Return the conventions with some fields changed; None leaves a field as it is.

        Parameters
        ----------
        fields : Any
            Fields of the conventions with their new values.

        Returns
        -------
        Conventions
            The same object where nothing changes.

        >>> DEFAULT.change(missing="zero", depth=None).missing, DEFAULT.change(depth=None) is DEFAULT
        ('zero', True)
        """
        changes = {name: value for name, value in fields.items() if value not in (None, getattr(self, name))}
        return replace(self, **changes) if changes else self


DEFAULT = Conventions()
"""What pytrec_eval and ir_measures compute; a topic that a run lacks has to be decided on."""

_CHANGES: dict[str, dict[str, Any]] = dict(_TABLE["presets"])
PRESETS = {name: Conventions(name, **changes) for name, changes in _CHANGES.items()}
"""Conventions by name; ``undefined`` leaves topics without relevant documents without a score."""


def parse_conventions(like: str | Conventions | None, **changes: Any) -> Conventions:
    """Return conventions by the name of a preset, with some fields changed.

    Parameters
    ----------
    like : str or Conventions or None
        Name of a preset, capitals or not; conventions as they are; None for the default.
    changes : Any
        Fields that differ from the preset; None leaves a field as it is.

    Returns
    -------
    Conventions
        The conventions.

    >>> parse_conventions("trec_eval-10").precision, parse_conventions(None, missing="drop").missing
    ('double', 'drop')
    >>> parse_conventions("trec_eval")
    Traceback (most recent call last):
    ...
    shardwise.core.errors.InputError: trec_eval orders ties differently from version 9.0.8 on; choose trec_eval-9 or
    trec_eval-10
    """
    if isinstance(like, Conventions):
        return like.change(**changes)
    key = "default" if like is None else str(like).lower()
    if key == "trec_eval":
        raise InputError(
            "trec_eval orders ties differently from version 9.0.8 on",
            remedy="choose trec_eval-9 or trec_eval-10",
            argument="like",
            value=like,
            choices=PRESETS,
        )
    by_key = {name.lower(): preset for name, preset in PRESETS.items()}
    if key not in by_key:
        raise refuse_unknown("like", like, PRESETS, what="preset of conventions")
    return by_key[key].change(**changes)
