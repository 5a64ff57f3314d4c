"""Define what a difference between systems applies to: the claim, which owns every phrase that says so.

A claim names the dimensions whose levels are a sample of those that it applies to. Everything else is held fixed: a
claim without dimensions applies to exactly these topics (F19's fixed models), one over topics to new topics like these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from shardwise.core.errors import InputError

DIMENSIONS = ("task", "split", "topic", "system", "shard", "instance")  # the canonical order of scores
SAMPLED = ("topic", "shard", "instance", "task")  # what a claim may be about, in the order of its sentences
ORDER = {name: place for place, name in enumerate((*SAMPLED, "split"))}
THESE = ("these", "fixed", "none")  # words for a claim without dimensions


def pluralize_noun(noun: str) -> str:
    """Return the plural of a noun.

    >>> [pluralize_noun(noun) for noun in ("topic", "query", "class", "index", "epoch", "topics")]
    ['topics', 'queries', 'classes', 'indexes', 'epochs', 'topics']
    """
    if noun.endswith("s") and not noun.endswith(("ss", "us", "is")):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return noun[:-1] + "ies"
    hissing = noun.endswith(("s", "x", "ch", "sh", "z")) and not noun.endswith("och")
    return noun + ("es" if hissing else "s")


def translate_term(term: str, nouns: Mapping[str, str]) -> str:
    """Return a term in the user's words.

    >>> translate_term("topic:system", {"topic": "question"})
    'question:system'
    """
    return ":".join(nouns.get(part, part) for part in term.split(":"))


def format_count(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> format_count(1, "pair"), format_count(3000, "query")
    ('1 pair', '3,000 queries')
    """
    return f"{n:,} {noun if n == 1 else pluralize_noun(noun)}"


@dataclass(frozen=True, slots=True, init=False)
class Claim:
    """What a difference applies to: ``Claim()`` exactly these topics, ``Claim("topic")`` new topics like these.

    >>> Claim("shard", "topic") == Claim.of("topic+shard")
    True
    >>> Claim("topic").sentence({"topic": 50, "system": 9, "shard": 5})
    'new topics like these 50, exactly these 5 shards'
    >>> Claim("topic", "instance").sentence({"topic": 200, "system": 3, "instance": 5},
    ...     {"topic": "question", "instance": "seed"})
    'new questions like these 200, any seed (5 seen)'
    >>> Claim().sentence({"topic": 50, "system": 9, "shard": 5})
    'exactly these 50 topics and 5 shards'
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
        claim : Claim, str, iterable of str or None
            A Claim, an iterable of dimensions, text (names with ``+`` or commas between, or ``these``), or None.
        nouns : mapping of str to str, optional
            The user's own words for dimensions, which are understood too.

        Returns
        -------
        Claim
            The claim.
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
        known |= {pluralize_noun(word): name for word, name in known.items()}
        known |= {pluralize_noun(name): name for name in SAMPLED}
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

    def check(self, dimensions: Iterable[str], target: str = "system") -> Claim:
        """Return the claim, or refuse it where scores of these dimensions cannot support it.

        Parameters
        ----------
        dimensions : iterable of str
            The dimensions of the scores.
        target : str
            The dimension whose levels are compared.

        Returns
        -------
        Claim
            The claim itself.
        """
        present = tuple(dimensions)
        for name in self.over:
            if name == target:
                raise InputError(
                    f"cannot generalise over {target}, whose levels are compared", argument="generalize"
                )
            if name not in present:
                raise InputError(
                    f"cannot generalise over {name}: the scores have only {', '.join(present)}",
                    remedy=f"score on several {pluralize_noun(name)}, or leave {name} out of the claim",
                    argument="generalize",
                    value=self.over,
                )
        return self

    def sentence(
        self,
        sizes: Mapping[str, int | tuple[int, int]],
        nouns: Mapping[str, str] | None = None,
        target: str = "system",
        suffix: str = "",
    ) -> str:
        """Return what the comparison of levels of ``target`` applies to, in words.

        Parameters
        ----------
        sizes : mapping
            Number of levels of every dimension of the scores; the least and the most where systems differ in it.
        nouns : mapping, optional
            The user's own words for dimensions.
        target : str
            The dimension whose levels are compared.
        suffix : str
            What follows the number of the first dimension that is a sample.

        Returns
        -------
        str
            Reads after "applies to".
        """
        word = _make_translator(nouns)
        parts = []
        for position, name in enumerate(self.over):
            n = _format_number(sizes[name])
            if position == 0 and name != "instance":
                parts.append(f"new {pluralize_noun(word(name))} like these {n}{suffix}")
            else:
                parts.append(f"any {word(name)} ({n} seen)")
        fixed = [name for name in sizes if name != target and name not in self.over]
        if len(fixed) == 1 and sizes[fixed[0]] == 1:
            parts.append(f"exactly this {word(fixed[0])}")
        elif fixed:
            several = (
                f"{_format_number(sizes[name])} {word(name) if sizes[name] == 1 else pluralize_noun(word(name))}"
                for name in fixed
            )
            parts.append(f"exactly these {' and '.join(several)}")
        return ", ".join(parts)

    def short(self, dimensions: Iterable[str], nouns: Mapping[str, str] | None = None) -> str:
        """Return the claim without numbers, for headings.

        Parameters
        ----------
        dimensions : iterable of str
            The dimensions of the scores.
        nouns : mapping of str to str, optional
            The user's own words for dimensions.

        Returns
        -------
        str
            Such as ``new topics like these``.

        >>> Claim("topic").short(("topic", "system", "shard"))
        'new topics like these, exactly these shards'
        """
        word = _make_translator(nouns)
        present = set(dimensions)
        return ", ".join(
            f"new {pluralize_noun(word(name))} like these"
            if name in self.over
            else f"exactly these {pluralize_noun(word(name))}"
            for name in SAMPLED
            if name in present
        )

    def phrase(self, nouns: Mapping[str, str] | None = None) -> str:
        """Return the claim as it reads after "for" or "about".

        Parameters
        ----------
        nouns : mapping of str to str, optional
            The user's own words for dimensions.

        Returns
        -------
        str
            Such as ``new topics and shards like these``.

        >>> Claim("topic", "shard").phrase(), Claim().phrase({"topic": "question"})
        ('new topics and shards like these', 'exactly these questions')
        """
        word = _make_translator(nouns)
        if not self.over:
            return f"exactly these {pluralize_noun(word('topic'))}"
        return f"new {' and '.join(pluralize_noun(word(d)) for d in self.over)} like these"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Claim({', '.join(map(repr, self.over))})"


def _format_number(n: int | tuple[int, int]) -> str:
    low, high = n if isinstance(n, tuple) else (n, n)
    return f"{high:,}" if low == high else f"{low:,} to {high:,}"


def _make_translator(nouns: Mapping[str, str] | None) -> Callable[[str], str]:
    known = nouns or {}
    return lambda dimension: known.get(dimension, dimension)
