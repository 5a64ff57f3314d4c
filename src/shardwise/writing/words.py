"""Write what tables, figures and simulations mean; the answer itself is in `writing.answer`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult, SplitResult
from shardwise.analysis.power import POWER, Power
from shardwise.core.claim import format_count
from shardwise.writing import answer
from shardwise.writing.numbers import format_number, format_percent

if TYPE_CHECKING:
    from shardwise.lab.recorded import RecordedRates
    from shardwise.lab.statements import StatementCheck
    from shardwise.lab.verdict import Verdict

MEANINGS = {
    "topic": "Some {topics} are harder than others, for all {systems} alike.",
    "system": "Some {systems} are better than others on average. The pairs show which.",
    "topic:system": "A {system} is better on some {topics} and worse on others than its mean suggests.",
    "shard": "Some shards are easier than others, for all {systems} alike.",
    "system:shard": "A {system} is better in some shards than its mean suggests.",
    "topic:shard": "A {topic} is easier in shards whose relevant documents are easy to find.",
    "error": "Variation that no term explains.",
    "total": "All variation of the scores.",
}
"""What the rows of an analysis of variance stand for."""


def explain_term(term: str, analysis: Analysis) -> str:
    """Write what a row of the ANOVA table stands for, and which claim is tested against it."""
    if term in MEANINGS:
        text = MEANINGS[term].format(
            topic=analysis.noun_for("topic"),
            topics=analysis.nouns_for("topic"),
            system=analysis.noun_for("system"),
            systems=analysis.nouns_for("system"),
        )
    else:
        parts = term.split(":")
        text = (
            f"Levels of {parts[0]} differ on average."
            if len(parts) == 1
            else f"Interaction of {' and '.join(parts)}, beyond their separate effects."
        )
    tested = [
        answer.describe_claim(result, analysis)
        for result in analysis.results_in_order
        if result.procedure.method.model is not None
        and (result.pairs.estimates.error or "error").split(" (")[0] == term
    ]
    return f"{text} Error term for {' and for '.join(tested)}." if tested else text


def find_result(key: str, analysis: Analysis) -> ClaimResult:
    """Return the result of the claim of this key."""
    return next(result for result in analysis.claims if result.key == key)


def explain_bars(analysis: Analysis) -> str:
    """Write what the bars of a chart of systems show."""
    level = format_percent(1.0 - analysis.alpha)
    colour = " of one colour" if len(analysis.distinct_results) > 1 else ""
    if not all(result.has_comparison_intervals for result in analysis.claims):
        return f"Bars: {level} confidence intervals of the means; overlapping bars may differ significantly."
    exact = (
        "" if all(result.has_common_width for result in analysis.claims) else "; the table of pairs is exact"
    )
    return f"Bars are comparison intervals: two{colour} that do not overlap differ significantly{exact}."


def explain_stepwise(analysis: Analysis) -> str:
    """Write why an interval may contain 0 although p is significant; empty where none does."""
    result = analysis.lead
    covered = int((result.reject() & (np.abs(result.pairs.difference) <= result.half_widths)).sum())
    if not covered:
        return ""
    verb = "contains" if covered == 1 else "contain"
    return (
        f"{format_count(covered, 'interval')} {verb} 0 although p < {result.alpha:g}: the stepwise test is slightly"
        " stronger than the intervals."
    )


def explain_best(result: ClaimResult, analysis: Analysis) -> str:
    """Write what belonging to the best set means."""
    system = analysis.noun_for("system")
    if result.may_be_best:
        level = format_percent(1.0 - analysis.alpha)
        sure = f"the best one is among them with {level} confidence"
        return f"No other {system} is significantly better than these; {sure}."
    return f"No other {system} is significantly better than these."


def write_power(power: Power, analysis: Analysis) -> list[str]:
    """Write what these topics can detect, and what a smaller difference needs."""
    digits = max(3, analysis.decimals - 1)
    systems, topics = analysis.nouns_for("system"), analysis.format_count(power.topics, "topic")
    corrected = f", all {power.systems * (power.systems - 1) // 2:,} pairs corrected" * (power.systems > 2)
    sentences = [
        f"{topics} detect a difference of {format_number(power.detectable, digits)} between two {systems} with"
        f" {format_percent(POWER)} power (moderated test at {power.alpha:g}{corrected}).",
        f"A difference of {power.target:g} needs {analysis.format_count(power.target_topics, 'topic')}.",
    ]
    if power.systems > 2:
        sentences.append(
            f"For two {systems} chosen in advance, {topics} detect"
            f" {format_number(power.detectable_two, digits)}."
        )
    result = find_result("like", analysis)
    if result.has_common_width and len(result.pairs) > 1:
        sentences.append(
            f"Among all {len(result.pairs):,} pairs, corrected, any gap of"
            f" {format_number(result.critical_difference, digits)} or more is significant."
        )
    return sentences


def write_split_agreement(split: SplitResult, analysis: Analysis) -> str:
    """Write how far the conclusions depend on how the documents fell into shards."""
    mean = float(split.summary["mean"]["significant"])
    claim = answer.describe_claim(find_result(split.key, analysis), analysis)
    opening = f"For {claim}, {split.procedure.name} on each split separately finds"
    if split.pairs == 1:
        return f"{opening} a significant difference in {round(mean * split.splits)} of {split.splits} splits."
    kept = f", {split.common / mean:.0%} of those in a single split" if mean else ""
    return (
        f"{opening} {split.common:,} of {format_count(split.pairs, 'pair')}"
        f" ({split.common / split.pairs:.0%}) significant"
        f" in all {split.splits} splits{kept}."
    )


def shorten_letters(names: Sequence[str]) -> str:
    """Return the letters of a system with runs of neighbours as ranges.

    >>> shorten_letters("abcde"), shorten_letters("ab"), shorten_letters(["y", "z", "aa", "ab"]), shorten_letters("acd")
    ('a–e', 'a b', 'y–ab', 'a c d')
    """
    # a, …, z, aa, ab, …: their numbers in base 26
    places = [
        reduce(lambda place, letter: 26 * place + ord(letter) - ord("a") + 1, name, 0) for name in names
    ]
    runs: list[list[str]] = []
    for k, name in enumerate(names):
        if runs and places[k] == places[k - 1] + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return " ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else " ".join(run) for run in runs)


SCENARIOS = {
    "normal": "normal scores",
    "margins": "scores distributed like yours",
    "vine": "scores distributed like yours, with near-duplicates",
    "tilt": "your scores, {topics} reweighted",
    "permute": "your scores, {systems} shuffled",
    "flip": "your scores, signs flipped",
    "resample": "your {topics}, resampled",
}
"""Simulation scenarios in plain words, by their names in a calibration."""
STATUSES = {"holds": "holds", "unclear": "no evidence of excess", "fails": "exceeds its level"}
"""Verdicts of a calibration in plain words."""


def describe_scenario(null: str, analysis: Analysis) -> str:
    """Return how data were simulated, in plain words: ``your scores, systems shuffled; some differ``."""
    kind, _, rest = null.partition(", ")
    text = SCENARIOS[kind].format(topics=analysis.nouns_for("topic"), systems=analysis.nouns_for("system"))
    return f"{text}; {rest}" if rest else text


def write_verdict(verdict: Verdict) -> str:
    """Write which methods hold their error rate here, in one line."""
    parts = (
        ("Error rate held", verdict.holds),
        ("No evidence of excess", verdict.unclear),
        ("Error rate exceeded", verdict.fails),
    )
    return " ".join(f"{what}: {', '.join(names)}." for what, names in parts if names)


def write_statements(check: StatementCheck, analysis: Analysis) -> str:
    """Write how intervals, ranks, best set and planned power were checked on data like the user's."""
    topics, systems = analysis.nouns_for("topic"), analysis.nouns_for("system")
    return (
        f"{check.method} on {check.scores}: {topics} drawn with replacement, so that the true differences of the"
        f" {systems} are those of your scores. In parentheses: 99% simulation error."
    )


def write_recorded(rates: RecordedRates, analysis: Analysis) -> str:
    """Write the recorded error rate of the method on tables of the same kind and size."""
    topics, systems = analysis.nouns_for("topic"), analysis.nouns_for("system")
    collections = answer.join_names(list(rates.collections))
    return (
        f"Family-wise error of {rates.method}: {100 * rates.mean:.1f}% on average over"
        f" {rates.designs} recorded simulations of tables like yours ({collections};"
        f" {_format_range(rates.topics)} {topics}, {_format_range(rates.systems)} {systems}; nominal"
        f" {format_percent(analysis.alpha)}, exceeded beyond chance in {rates.exceeding}, at most"
        f" {100 * rates.highest:.1f}%)."
    )


def _format_range(ends: tuple[int, int]) -> str:
    low, high = ends
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def shares_gist(analysis: Analysis) -> str:
    """Return the largest shares of the variation, beside the heading."""
    squares = analysis.fit.table["ss"]
    first = (squares.drop("total") / squares["total"]).sort_values(ascending=False).head(3)
    terms = [" × ".join(map(analysis.noun_for, str(term).split(":"))) for term in first.index]
    return ", ".join(f"{term} {share:.0%}" for term, share in zip(terms, first, strict=True))


def power_gist(power: Power, analysis: Analysis) -> str:
    """Return what the topics at hand can detect, beside the heading."""
    smallest = format_number(power.detectable, max(3, analysis.decimals - 1))
    topics = analysis.format_count(power.topics, "topic")
    return f"{topics} detect a difference of {smallest} with {format_percent(POWER)} power"
