"""What the results mean, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult, SplitResult
from shardwise.analysis.power import Power
from shardwise.core.claim import plural
from shardwise.core.text import short

MEANINGS = {
    "topic": "Some topics are harder than others, for all systems alike.",
    "system": "Some systems are better than others, on average. This is the row that the comparisons take apart.",
    "topic:system": "A system does better on some topics than its average says, and worse on others. A claim about"
    " topics like these is judged against this row.",
    "shard": "Some shards are easier than others, for all systems alike.",
    "system:shard": "A system does better in some shards than its average says.",
    "topic:shard": "A topic is easier in some shards, where its relevant documents happen to be easy to find.",
    "error": "What no term explains. A claim about these very topics is judged against this row.",
    "total": "All differences between scores.",
}


def number(x: float, decimals: int = 3) -> str:
    """A score or difference.

    >>> number(0.12345), number(-0.0001), number(float("nan"))
    ('0.123', '0.000', '–')
    """
    if not np.isfinite(x):
        return "–"
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def p_value(p: float) -> str:
    """A p-value with the digits that mean something.

    >>> [p_value(p) for p in (0.0, 0.00004, 0.0312, 0.5, 1.0)]
    ['< 0.0001', '< 0.0001', '0.031', '0.50', '1.00']
    """
    if not np.isfinite(p):
        return "–"
    if p < 0.0001:
        return "< 0.0001"
    return f"{p:.2g}" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def decimals_for(content: Analysis) -> int:
    """Digits after the point: the four that are usual, fewer on a coarse scale, more where intervals are tiny."""
    widths = [float(one.half.min()) for one in content.claims if one.half.size and one.half.min() > 0]
    if not widths:
        return 4
    place = int(np.floor(np.log10(min(widths))))
    return int(np.clip(2 - place, 1, max(4, 1 - place)))


def degrees(df: float) -> str:
    """Degrees of freedom, which need not be whole.

    >>> degrees(29204.0), degrees(41.26)
    ('29,204', '41.3')
    """
    return f"{df:,.0f}" if abs(df - round(df)) < 1e-6 else f"{df:,.1f}"


def count(n: int, what: str) -> str:
    """A number with its noun.

    >>> count(1, "pair"), count(3, "query")
    ('1 pair', '3 queries')
    """
    return f"{n:,} {what if n == 1 else plural(what)}"


def headline(content: Analysis) -> str:
    """The answer for both claims in one sentence."""
    here, *others = content.claims
    opening = f"On these {count(content.topics, 'topic')}, {_top(here, content)}"
    if not others:
        return f"{opening}."
    like = others[0]
    if like.top == here.top:
        return f"{opening}; the same holds for topics like these."
    return f"{opening}; for topics like these, {_again(like, here, content)}."


def _top(claim: ClaimResult, content: Analysis) -> str:
    best = short(content.systems[0])
    others, alike = len(content.systems) - 1, len(claim.top) - 1
    if others == 1:
        second = short(content.systems[1])
        return f"{best} and {second} cannot be told apart" if alike else f"{best} is better than {second}"
    if alike == 0:
        return f"{best} is better than every other system"
    if alike == others:
        return f"no other system can be told from the best, {best}"
    verb = "is" if alike == 1 else "are"
    return f"{alike} of the {others} other systems {verb} indistinguishable from the best, {best}"


def _again(claim: ClaimResult, before: ClaimResult, content: Analysis) -> str:
    """The second half of the answer, which differs from the first."""
    others, alike = len(content.systems) - 1, len(claim.top) - 1
    if others == 1:
        return "they cannot be told apart" if alike else "it is"
    if alike == 0:
        return "it is better than every other system"
    if alike == others:
        return "no system can be told from it"
    if len(before.top) in (1, others + 1):
        return f"{alike} of them cannot be told from it"
    return f"{alike} {'is' if alike == 1 else 'are'}"


def pairs_sentence(claim: ClaimResult, content: Analysis) -> str:
    """How many pairs were told apart, and from which difference on."""
    total = len(claim.pairs)
    told = "no pair" if not claim.found else "all" if claim.found == total else f"{claim.found:,}"
    share = f" ({claim.found / total:.0%})" if 0 < claim.found < total else ""
    text = f"{told} of {count(total, 'pair')} {'is' if not claim.found else 'are'} told apart{share}"
    if total == 1:
        text = "The two systems are told apart" if claim.found else "The two systems are not told apart"
    if claim.uniform:
        text += f"; a difference counts from {number(claim.critical, decimals_for(content))}"
    return f"{text[0].upper()}{text[1:]}."


def contrast(content: Analysis) -> str:
    """What the two claims have to do with each other on these data."""
    if content.unsupported:
        return (
            f"Nothing is said about topics like these: {content.unsupported}. A difference found here may vanish or"
            " turn round with other topics."
        )
    here, like = content.claims
    if here.pairs.estimates.error == like.pairs.estimates.error or _same(here, like):
        return (
            "With one score for each topic and system there is one error for both claims, so both give the same"
            " answer. It is right for topics like these, and careful for these topics; scores on shards would"
            " separate the two."
        )
    only = here.found - like.found
    if only > 0:
        return (
            f"{count(only, 'pair')} {'differs' if only == 1 else 'differ'} on these topics only: there the difference"
            " was measured well, but systems change places so much from topic to topic that other topics might not"
            " show it."
        )
    return "Both claims tell as many pairs apart: systems keep their distance from topic to topic."


def _same(here: ClaimResult, like: ClaimResult) -> bool:
    return bool(np.array_equal(here.pairs.p_adjusted, like.pairs.p_adjusted))


def meaning(term: str) -> str:
    """What a row of the ANOVA table stands for."""
    if term in MEANINGS:
        return MEANINGS[term]
    parts = term.split(":")
    if len(parts) == 1:
        return f"Levels of {parts[0]} differ, on average."
    return f"What {' and '.join(parts)} do together, beyond what each does alone."


def power_sentences(power: Power, claim: ClaimResult, content: Analysis) -> list[str]:
    """What these topics can show, and what a finer question would take."""
    d = max(3, decimals_for(content) - 1)
    said = [
        f"With {count(power.topics, 'topic')} you can detect a difference of {number(power.detectable, d)} between"
        f" two systems chosen beforehand; for {power.target:g} you need {count(power.target_topics, 'topic')}."
        f" (“Detect” means finding it in four cases out of five at the {content.alpha:g} level, by a paired test, for"
        " topics like these.)"
    ]
    if claim.uniform and len(claim.pairs) > 1:
        said.append(
            f"Among all {count(len(claim.pairs), 'pair')}, after correction, a difference must reach"
            f" {number(claim.critical, d)} to be significant for topics like these."
        )
    return said


def split_sentence(result: SplitResult, where: str = "") -> str:
    """Whether the conclusions depend on how the documents fell into shards."""
    mean = float(result.summary["mean"]["significant"])
    kept = f", {result.common / mean:.0%} of what a single split finds" if mean else ""
    return (
        f"{result.common:,} of {count(result.pairs, 'pair')} ({result.common / result.pairs:.0%}) are told apart{where}"
        f" in each of the {result.splits} splits{kept}."
    )


def shortened(names: Sequence[str]) -> str:
    """Letters of a system with runs of neighbours as ranges.

    >>> shortened("abcde"), shortened("ab"), shortened(["y", "z", "aa", "ab"]), shortened("acd")
    ('a–e', 'a b', 'y–ab', 'a c d')
    """
    runs: list[list[str]] = []
    for name in names:
        if runs and _place(name) == _place(runs[-1][-1]) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return " ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else " ".join(run) for run in runs)


def _place(name: str) -> int:
    place = 0
    for letter in name:
        place = place * 26 + ord(letter) - ord("a") + 1
    return place
