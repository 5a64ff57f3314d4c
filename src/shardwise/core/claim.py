"""What a difference between systems is about: the claim, which owns every sentence that says so.

A claim names the dimensions whose levels are a sample of those that it speaks of. Everything else is held fixed: a
claim without dimensions is about these very topics (F19's fixed models), one over topics about topics like these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from shardwise.core.errors import InputError

DIMENSIONS = ("task", "split", "topic", "system", "shard", "instance")  # the canonical order of scores
SAMPLED = ("topic", "shard", "instance", "task")  # what a claim may be about, in the order of its sentences
ORDER = {name: place for place, name in enumerate((*SAMPLED, "split"))}
THESE = ("these", "fixed", "none")  # words for a claim without dimensions


def plural(noun: str) -> str:
    """Return the plural of a noun.

    >>> plural("topic"), plural("query"), plural("class"), plural("index"), plural("epoch"), plural("topics")
    ('topics', 'queries', 'classes', 'indexes', 'epochs', 'topics')
    """
    if noun.endswith("s") and not noun.endswith(("ss", "us", "is")):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return noun[:-1] + "ies"
    hissing = noun.endswith(("s", "x", "ch", "sh", "z")) and not noun.endswith("och")
    return noun + ("es" if hissing else "s")


def said(term: str, nouns: Mapping[str, str]) -> str:
    """A term in the user's words.

    >>> said("topic:system", {"topic": "question"})
    'question:system'
    """
    return ":".join(nouns.get(part, part) for part in term.split(":"))


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "pair"), counted(3000, "query")
    ('1 pair', '3,000 queries')
    """
    return f"{n:,} {noun if n == 1 else plural(noun)}"


@dataclass(frozen=True, slots=True, init=False)
class Claim:
    """What a significant difference is about: ``Claim()`` these topics, ``Claim("topic")`` topics like these.

    >>> Claim("shard", "topic") == Claim.of("topic+shard")
    True
    >>> Claim("topic").sentence({"topic": 50, "system": 9, "shard": 5})
    'on topics like these 50, on these 5 shards'
    >>> Claim("topic", "instance").sentence({"topic": 200, "system": 3, "instance": 5},
    ...     {"topic": "question", "instance": "seed"})
    'on questions like these 200, whatever the seed (5 seen)'
    """

    over: tuple[str, ...]  # the dimensions that the claim generalises over, in the order of its sentences

    def __init__(self, *over: str) -> None:
        names = dict.fromkeys(over)
        for name in names:
            if not isinstance(name, str) or not name:
                raise InputError(
                    f"{name!r} is not a dimension",
                    remedy="name topic, shard or instance",
                    argument="generalize",
                )
        ordered = sorted(names, key=lambda name: (ORDER.get(name, len(ORDER)), name))
        object.__setattr__(self, "over", tuple(ordered))

    @classmethod
    def of(cls, claim: Claim | str | Iterable[str] | None, nouns: Mapping[str, str] | None = None) -> Claim:
        """Return the claim that a Claim, names, or text such as ``topic+shard`` stand for.

        Parameters
        ----------
        claim
            A Claim, an iterable of dimensions, text (names with ``+`` or commas between, or ``these``), or None.
        nouns
            The user's own words for dimensions, which are understood too.
        """
        if isinstance(claim, Claim):
            return claim
        if claim is None:
            return cls()
        if isinstance(claim, str):
            text = claim.replace("+", ",")
            names = [part.strip() for part in text.split(",") if part.strip()]
            if len(names) == 1 and names[0] in THESE:
                return cls()
        else:
            names = list(claim)
        known = {word: name for name, word in (nouns or {}).items()}
        known |= {plural(word): name for word, name in known.items()}
        known |= {plural(name): name for name in SAMPLED}
        return cls(*(known.get(name, name) if isinstance(name, str) else name for name in names))

    def __iter__(self) -> Iterator[str]:
        return iter(self.over)

    def __contains__(self, dimension: object) -> bool:
        return dimension in self.over

    def __len__(self) -> int:
        return len(self.over)

    def __bool__(self) -> bool:
        return True

    @property
    def name(self) -> str:
        """How the claim is typed: ``topic+shard``, ``these``."""
        return "+".join(self.over) or THESE[0]

    def within(self, dimensions: Iterable[str]) -> Claim:
        """Return what is left of the claim where scores have these dimensions only.

        Parameters
        ----------
        dimensions
            The dimensions of the scores.
        """
        there = set(dimensions)
        return Claim(*(name for name in self.over if name in there))

    def check(self, dimensions: Iterable[str], target: str = "system") -> Claim:
        """Return the claim, or refuse it where scores of these dimensions cannot support it.

        Parameters
        ----------
        dimensions
            The dimensions of the scores.
        target
            The dimension whose levels are compared.
        """
        there = tuple(dimensions)
        for name in self.over:
            if name == target:
                raise InputError(
                    f"cannot generalise over {target}, whose levels are compared", argument="generalize"
                )
            if name not in there:
                raise InputError(
                    f"cannot generalise over {name}: the scores have only {', '.join(there)}",
                    remedy=f"score on several {plural(name)}, or leave {name} out of the claim",
                    argument="generalize",
                    value=self.over,
                )
        return self

    def sentence(
        self,
        sizes: Mapping[str, int | tuple[int, int]],
        nouns: Mapping[str, str] | None = None,
        target: str = "system",
        beside: str = "",
    ) -> str:
        """Return what the comparison of levels of ``target`` is about, in words.

        Parameters
        ----------
        sizes
            Number of levels of every dimension of the scores; the least and the most where systems differ in it.
        nouns
            The user's own words for dimensions.
        target
            The dimension whose levels are compared.
        beside
            What is said after the number of the first dimension that is a sample.
        """
        word = _words(nouns)
        parts = []
        for place, name in enumerate(self.over):
            n = _number(sizes[name])
            if place == 0 and name != "instance":
                parts.append(f"on {plural(word(name))} like these {n}{beside}")
            else:
                parts.append(f"whatever the {word(name)} ({n} seen)")
        fixed = [
            f"this {word(name)}" if n == 1 else f"these {_number(n)} {plural(word(name))}"
            for name, n in sizes.items()
            if name != target and name not in self.over
        ]
        return ", ".join([*parts, *([f"on {' and '.join(fixed)}"] if fixed else [])])

    def short(self, dimensions: Iterable[str], nouns: Mapping[str, str] | None = None) -> str:
        """Return the claim without numbers, for headings.

        Parameters
        ----------
        dimensions
            The dimensions of the scores.
        nouns
            The user's own words for dimensions.

        >>> Claim("topic").short(("topic", "system", "shard"))
        'topics like these, these shards'
        """
        word = _words(nouns)
        there = set(dimensions)
        names = [name for name in SAMPLED if name in there]
        return ", ".join(
            f"{plural(word(d))} like these" if d in self.over else f"these {plural(word(d))}" for d in names
        )

    def phrase(self, nouns: Mapping[str, str] | None = None) -> str:
        """Return the claim as it stands after "for".

        Parameters
        ----------
        nouns
            The user's own words for dimensions.

        >>> Claim("topic", "shard").phrase(), Claim().phrase({"topic": "question"})
        ('topics and shards like these', 'these questions')
        """
        word = _words(nouns)
        if not self.over:
            return f"these {plural(word('topic'))}"
        return f"{' and '.join(plural(word(d)) for d in self.over)} like these"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Claim({', '.join(map(repr, self.over))})"


def _number(n: int | tuple[int, int]) -> str:
    low, high = n if isinstance(n, tuple) else (n, n)
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"


def _words(nouns: Mapping[str, str] | None) -> Callable[[str], str]:
    known = nouns or {}
    return lambda dimension: known.get(dimension, dimension)
