"""What a procedure is good for, in a clause: shown beside its name wherever an analysis is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shardwise.core.claim import plural
from shardwise.methods.anova.method import ByBootstrap, ByModel
from shardwise.methods.judges.method import ByJudge
from shardwise.methods.moderated.method import ByModerated, ByStratified
from shardwise.methods.paired.method import ByTopics
from shardwise.methods.repeats.method import ByInstances, ByMixed
from shardwise.procedures.procedure import Procedure

OF_TOPICS = {
    "t": "each pair by its own spread over {topics}",
    "unpaired-t": "as if the {systems} had met different {topics}",
    "wilcoxon": "ranks of differences, not their means",
    "sign": "{topics} won and lost, not means",
    "mcnemar": "{topics} that only one of the two gets right",
    "randomization": "each pair by swapping its two {systems} on each {topic}",
    "bootstrap": "each pair by drawing its {topics} anew",
    "tukey": "all pairs at once, the {systems} shuffled on each {topic}",
    "max-t": "all pairs at once, the signs of {topics} flipped",
}


def why(procedure: Procedure, nouns: Mapping[str, str] | None = None) -> str:
    """What the procedure is good for, in one clause.

    Parameters
    ----------
    procedure
        Any procedure.
    nouns
        The user's own words for dimensions.

    >>> from shardwise.procedures.vocabulary import parse
    >>> why(parse("moderated"), {"system": "model"})
    'keeps its promise where models vary unequally'
    >>> why(parse("t holm"))
    'each pair by its own spread over topics'
    """
    return _clause(procedure).format(**_words(nouns or {}))


def _words(nouns: Mapping[str, str]) -> dict[str, str]:
    single = {name: nouns.get(name, name) for name in ("topic", "system", "instance")}
    return {**single, **{f"{name}s": plural(word) for name, word in single.items()}}


def _clause(procedure: Procedure) -> str:
    fit = procedure.fit
    if isinstance(fit, ByModerated):
        return "keeps its promise where {systems} vary unequally"
    if isinstance(fit, ByTopics):
        return OF_TOPICS[fit.name]
    if isinstance(fit, ByModel):
        return "one error for all pairs, right where {systems} vary alike"
    if isinstance(fit, ByBootstrap):
        return "one law for all pairs, from residuals drawn anew"
    if isinstance(fit, ByJudge):
        return "people's scores for some {topics} correct the judge's for all"
    if isinstance(fit, ByStratified):
        return "each pair with a variance of its own on every {topic}"
    if isinstance(fit, ByMixed):
        return "one error for all pairs, {topics} and {instances} both a sample"
    if isinstance(fit, ByInstances) and "instance" in procedure.claim:
        return "each pair by itself, {topics} and {instances} both a sample"
    return "each pair by itself, its {instances} taken as they are"


def plain_title(procedure: Procedure) -> str:
    """The procedure in words without its claim, which stands elsewhere.

    >>> from shardwise.procedures.vocabulary import parse
    >>> plain_title(parse("MD6 hsd topic"))
    'MD6, Tukey HSD'
    """
    return replace(procedure, claim=procedure.fit.usual_claim).title


def normal_theory(procedure: Procedure) -> bool:
    """Whether p-values lean on Student's law, so that residuals far from normal matter."""
    fit = procedure.fit
    if isinstance(fit, ByModerated):
        return bool(procedure.correction)
    drawn = isinstance(fit, ByBootstrap) or (isinstance(fit, ByInstances) and fit.drawn)
    return not drawn and not (isinstance(fit, ByTopics) and fit.name not in {"t", "unpaired-t"})
