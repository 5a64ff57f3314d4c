"""How runs and judgments are read where evaluation programs differ: one object, with a preset for each program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from shardwise.core.arguments import validate_choice, validate_count
from shardwise.core.errors import InputError, refuse_unknown

NoRelevant = Literal["zero", "undefined", "drop", "refuse"]
Missing = Literal["refuse", "leave", "zero", "drop"]
Precision = Literal["single", "double"]
Unjudged = Literal["nonrelevant", "removed"]
Comments = Literal["skip", "data"]
Topics = Literal["common", "judged"]
Order = Literal["score", "ascending", "rank"]

_CHOICES: dict[str, tuple[Any, str]] = {
    "no_relevant": (NoRelevant, "policy for topics without relevant documents"),
    "missing": (Missing, "policy for topics that a run lacks"),
    "precision": (Precision, "precision"),
    "topics": (Topics, "choice of topics"),
    "order": (Order, "order of documents"),
    "unjudged": (Unjudged, "policy for unjudged documents"),
    "comments": (Comments, "policy for comment lines"),
}
_SENTENCES: dict[str, dict[str, str]] = {
    "precision": {
        "single": "ties in single precision",
        "double": "ties in double precision",
    },
    "order": {
        "score": "tied documents in descending order of their names",
        "ascending": "tied documents in ascending order of their names",
        "rank": "documents in the order of the rank column",
    },
    "no_relevant": {
        "zero": "topics without relevant documents count 0",
        "undefined": "topics without relevant documents are undefined",
        "drop": "topics without relevant documents are left out",
        "refuse": "topics without relevant documents are refused",
    },
    "missing": {
        "refuse": "topics that a run lacks are refused",
        "leave": "topics that a run lacks are left out for that run",
        "zero": "topics that a run lacks count 0",
        "drop": "topics that a run lacks are left out for all runs",
    },
    "topics": {
        "common": "judged topics of which some run has documents count",
        "judged": "all judged topics count",
    },
    "unjudged": {
        "nonrelevant": "unjudged documents are not relevant",
        "removed": "unjudged documents are removed from rankings",
    },
    "comments": {
        "skip": "lines that begin with # are comments",
        "data": "lines that begin with # are data",
    },
}
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
        for field, (choices, what) in _CHOICES.items():
            validate_choice(getattr(self, field), field, get_args(choices), what=what)
        if self.depth is not None:
            object.__setattr__(self, "depth", validate_count(self.depth, "depth", what="documents deep"))

    @property
    def sentence(self) -> str:
        """What was done: ties, topics without relevant documents, and what differs from the default."""
        clauses = [
            sentences[getattr(self, field)]
            for field, sentences in _SENTENCES.items()
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

PRESETS: dict[str, Conventions] = {
    preset.name: preset
    for preset in (
        DEFAULT,
        Conventions("trec_eval-10", precision="double", missing="leave", tool="trec_eval-10"),
        Conventions("trec_eval-9", missing="leave", tool="trec_eval"),
        Conventions("pytrec_eval", missing="leave", tool="trec_eval"),
        Conventions("ir_measures", missing="zero", topics="judged", tool="ir_measures"),
        Conventions("ranx", precision="double", missing="zero", topics="judged", tool="ranx"),
        Conventions("gdeval", no_relevant="drop", precision="double", missing="leave", tool="gdeval"),
        Conventions("ndeval", precision="double", order="rank", missing="leave", tool="ndeval"),
        Conventions("sample_eval", precision="double", missing="leave", tool="sample_eval"),
        Conventions("NTCIREVAL", precision="double", missing="leave", tool="NTCIREVAL"),
        Conventions("cwl_eval", precision="double", missing="leave", tool="cwl_eval"),
        Conventions("undefined", no_relevant="undefined", comments="data"),
    )
}
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
