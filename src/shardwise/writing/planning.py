"""Write what a plan for items and repeats says: how many more of either, and at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardwise.core.claim import format_count, pluralize_noun
from shardwise.planning.design import Design
from shardwise.planning.plans import RepeatPlan
from shardwise.writing.numbers import format_percent

REPEAT_NOUNS = {"samples": "sample", "seeds": "seed"}
"""What a repeat is called where the user has no word for it."""


def write_repeat_plan(plan: RepeatPlan, nouns: Mapping[str, str], priced: bool = False) -> list[str]:
    """Write how many more items or repeats detect a difference, and what they cost, a sentence each.

    Parameters
    ----------
    plan : RepeatPlan
        The plan.
    nouns : mapping
        The user's words for dimensions.
    priced : bool
        Whether costs were given; else they are numbers of answers.

    Returns
    -------
    list of str
        What is there first.

    >>> from shardwise.core.variance_components import VarianceComponents
    >>> from shardwise.planning.plans import plan_more
    >>> parts = VarianceComponents({"topic:system": 0.01, "error": 0.2})
    >>> now = Design(parts, topics=50, repeats=5, systems=2, min_diff=0.1)
    >>> plan = RepeatPlan("samples", now, *plan_more(now))
    >>> for line in write_repeat_plan(plan, {"topic": "question", "system": "model"}): print(line)
    50 questions with 5 samples each detect a difference of 0.1 between two models with 59% power, and 0.128 with 80%.
    For 80% power: 31 more questions (310 more answers), or 5 more samples of each question (500 more answers).
    """
    item, system = nouns.get("topic", "topic"), nouns.get("system", "system")
    repeat = nouns.get("instance", REPEAT_NOUNS[plan.kind])
    repeat = REPEAT_NOUNS[plan.kind] if repeat == "instance" else repeat
    now, target = plan.now, format_percent(plan.now.target)
    among = "two" if now.systems == 2 else f"any two of {now.systems:,}"
    lines = [
        f"{format_count(now.topics, item)} with {format_count(now.repeats, repeat)} each detect a difference of"
        f" {now.min_diff:g} between {among} {pluralize_noun(system)} with {now.power:.0%} power, and"
        f" {now.detectable:.3g} with {target}."
    ]
    if plan.now.power >= plan.now.target:
        return [*lines, f"No more {pluralize_noun(item)} or {pluralize_noun(repeat)} are needed."]
    parts = []
    if plan.more_items is not None:
        more = plan.more_items.topics - now.topics
        parts.append(f"{more:,} more {item if more == 1 else pluralize_noun(item)}")
        parts[-1] += f" ({_write_cost(plan, plan.more_items, priced)})"
    if plan.more_repeats is not None:
        more = plan.more_repeats.repeats - now.repeats
        parts.append(f"{more:,} more {repeat if more == 1 else pluralize_noun(repeat)} of each {item}")
        parts[-1] += f" ({_write_cost(plan, plan.more_repeats, priced)})"
    if parts:
        lines.append(f"For {target} power: {', or '.join(parts)}.")
    if plan.more_items is None:
        lines.append(
            f"No number of {pluralize_noun(item)} is enough with {format_count(now.repeats, repeat)}."
        )
    if plan.more_repeats is None:
        lines.append(
            f"No number of {pluralize_noun(repeat)} is enough on these {format_count(now.topics, item)}."
        )
    best = plan.cheapest
    if best is not None and best not in (plan.more_items, plan.more_repeats):
        lines.append(
            f"Cheapest: {format_count(best.topics, item)} with {format_count(best.repeats, repeat)} each"
            f" ({_write_cost(plan, best, priced)})."
        )
    return lines


def _write_cost(plan: RepeatPlan, design: Design, priced: bool) -> str:
    """What a design costs beyond what is there: ``costing 120`` or ``1,980 more answers``."""
    cost = plan.extra_cost(design)
    return f"costing {cost:,.6g}" if priced else f"{cost:,.0f} more {'answer' if cost == 1 else 'answers'}"


def write_answers_plan(
    best: Mapping[Any, Any], nouns: Mapping[str, str], kind: str, answers: float, power: float
) -> str:
    """Write how a number of answers is best spent.

    Parameters
    ----------
    best : mapping
        The row of the smallest detectable difference.
    nouns : mapping
        The user's words for dimensions.
    kind : str
        "samples" or "seeds".
    answers : float
        Answers that can be paid for.
    power : float
        Power to reach.

    Returns
    -------
    str
        One sentence.
    """
    items = format_count(int(best["topics"]), nouns.get("topic", "topic"))
    repeats = format_count(int(best["instances"]), REPEAT_NOUNS[kind])
    return (
        f"{answers:,.6g} answers are best spent on {items} with {repeats} each: they detect a difference of"
        f" {best['detectable']:.3g} with {format_percent(power)} power."
    )
