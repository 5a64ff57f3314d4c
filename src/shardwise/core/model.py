"""Models as data: a set of terms over the dimensions of the scores."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from shardwise.core.errors import InputError

Term = frozenset[str]

USUAL_ORDER = ("topic", "system", "shard", "split", "instance")
MOST_FACTORS = 8  # of an interaction: terms double with each
NAME = re.compile(r"\w[\w.\-]*")


def format_term(term: Term) -> str:
    """Return a term as it is written, its dimensions in the usual order.

    >>> format_term(frozenset({"system", "topic"}))
    'topic:system'
    """
    return ":".join(sort_dimensions(term))


def sort_dimensions(dimensions: Iterable[str]) -> tuple[str, ...]:
    """Return dimensions in the usual order, others after them by name."""
    ranks = {dimension: rank for rank, dimension in enumerate(USUAL_ORDER)}
    return tuple(sorted(dimensions, key=lambda dimension: (ranks.get(dimension, len(ranks)), dimension)))


def _refuse_factors(factors: int) -> InputError:
    return InputError(
        f"an interaction of {factors} factors has {2.0**factors:.3g} terms",
        remedy=f"{MOST_FACTORS} factors are the most that one may have",
    )


@dataclass(frozen=True, slots=True)
class Model:
    """A linear model of the scores: a grand mean plus the effects of these terms.

    >>> print(Model.parse("topic*system + shard"))
    topic + system + topic:system + shard
    >>> Model.of("topic", "system", "system:topic").terms
    ('topic', 'system', 'topic:system')
    """

    terms: tuple[str, ...]
    name: str = ""
    on_shards: bool | None = None  # False: for the whole collection only; True: for shards only

    def __post_init__(self) -> None:
        if not self.terms:
            raise InputError("the model has no terms", remedy="name some, as in 'topic + system'")
        for text in self.terms:
            if not all(NAME.fullmatch(part) for part in text.split(":")):
                raise InputError(f"{text!r} is not a term", remedy="write topic or topic:system")
        sets = [frozenset(term.split(":")) for term in self.terms]
        object.__setattr__(self, "terms", tuple(format_term(term) for term in sets))
        for term in sets:
            if len(term) > MOST_FACTORS:
                raise _refuse_factors(len(term))
            if sets.count(term) > 1:
                raise InputError(f"the model names {format_term(term)} twice", remedy="name it once")
            margins = (combinations(sorted(term), size) for size in range(1, len(term)))
            parts = (frozenset(part) for of_size in margins for part in of_size)
            absent = [format_term(margin) for margin in parts if margin not in sets]
            if absent:
                raise InputError(
                    f"the model has {format_term(term)} but not {' and '.join(absent)}, "
                    "so it would change with the coding of the levels",
                    remedy=f"add {' + '.join(absent)}",
                )

    @classmethod
    def of(cls, *terms: str, name: str = "", on_shards: bool | None = None) -> Model:
        """Make a model of terms.

        Parameters
        ----------
        *terms : str
            Effects and interactions, such as ``"topic"`` and ``"topic:system"``.
        name : str
            What the model is called, such as MD3.
        on_shards : bool, optional
            False for a model of whole collections only, True for one of shards only, None for either.

        Returns
        -------
        Model
            The model.
        """
        return cls(terms, name, on_shards)

    @classmethod
    def parse(cls, text: str) -> Model:
        """Read a formula, or the name of a model.

        Parameters
        ----------
        text : str
            MD1 to MD6, or terms such as ``topic + system + topic:system``, for which ``topic*system`` stands too.

        Returns
        -------
        Model
            The model.

        >>> Model.parse("MD3") == MD3
        True
        """
        if text.strip().upper() in NAMED:
            return NAMED[text.strip().upper()]
        terms: dict[Term, None] = {}
        for piece in text.split("+"):
            factors = [part.strip() for part in piece.split("*")]
            sets = [frozenset(name.strip() for name in factor.split(":")) for factor in factors]
            if not all(NAME.fullmatch(name) for term in sets for name in term):
                raise InputError(
                    f"cannot read {piece.strip()!r} in the model {text!r}",
                    remedy=f"write topic + system + topic:system, topic*system, or one of {', '.join(NAMED)}",
                )
            if len(factors) > MOST_FACTORS:
                raise _refuse_factors(len(factors))
            for size in range(1, len(sets) + 1):
                for subset in combinations(sets, size):
                    terms[frozenset[str]().union(*subset)] = None
        return cls.of(*(format_term(term) for term in terms))

    @property
    def sets(self) -> tuple[Term, ...]:
        """The terms as sets of dimensions, in the same order."""
        return tuple(frozenset(term.split(":")) for term in self.terms)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions that the model names, in the usual order."""
        return sort_dimensions(frozenset[str]().union(*self.sets))

    @property
    def title(self) -> str:
        """Name and terms, for results: ``MD3: topic + system + topic:system``."""
        return f"{self.name}: {self}" if self.name else str(self)

    @property
    def short(self) -> str:
        """The name where there is one, else the formula."""
        return self.name or str(self)

    def __str__(self) -> str:
        return " + ".join(self.terms)


# F19 §3.1; MD1 and MD2 have the same terms and differ in what the scores are of.
MD1 = Model.of("topic", "system", name="MD1", on_shards=False)
MD2 = Model.of("topic", "system", name="MD2", on_shards=True)
MD3 = Model.of(*MD2.terms, "topic:system", name="MD3")
MD4 = Model.of(*MD3.terms, "shard", name="MD4")
MD5 = Model.of(*MD4.terms, "system:shard", name="MD5")
MD6 = Model.of(*MD5.terms, "topic:shard", name="MD6")
NAMED = {str(model.name): model for model in (MD1, MD2, MD3, MD4, MD5, MD6)}
