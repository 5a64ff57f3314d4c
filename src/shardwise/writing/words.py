"""What tables and figures mean, in sentences; the answer itself is the analysis's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardwise.analysis import answer
from shardwise.analysis.analysis import Analysis, ClaimResult, SplitResult
from shardwise.analysis.figures import number
from shardwise.analysis.power import Power
from shardwise.core.claim import counted
from shardwise.lab.verdict import Verdict

MEANINGS = {
    "topic": "Some {topics} are harder than others, for all {systems} alike.",
    "system": "Some {systems} are better than others, on average. This is the row that the comparisons take apart.",
    "topic:system": "A {system} does better on some {topics} than its average says, and worse on others.",
    "shard": "Some shards are easier than others, for all {systems} alike.",
    "system:shard": "A {system} does better in some shards than its average says.",
    "topic:shard": "A {topic} is easier in some shards, where its relevant documents happen to be easy to find.",
    "error": "What no term explains.",
    "total": "All differences between scores.",
}


def meaning(term: str, found: Analysis) -> str:
    """What a row of the ANOVA table stands for, and which claim is judged against it."""
    if term in MEANINGS:
        text = MEANINGS[term].format(
            topic=found.noun("topic"),
            topics=found.nouns_for("topic"),
            system=found.noun("system"),
            systems=found.nouns_for("system"),
        )
    else:
        parts = term.split(":")
        text = (
            f"Levels of {parts[0]} differ, on average."
            if len(parts) == 1
            else f"What {' and '.join(parts)} do together, beyond what each does alone."
        )
    judged = [
        answer.subject(one, found)
        for one in found.leading
        if one.procedure.method.model is not None
        and (one.pairs.estimates.error or "error").split(" (")[0] == term
    ]
    return f"{text} What is said of {' and of '.join(judged)} is judged against this row." if judged else text


def by_key(key: str, found: Analysis) -> ClaimResult:
    """The result of this key."""
    return next(one for one in found.claims if one.key == key)


def intervals_sentence(found: Analysis) -> str:
    """What the intervals of the systems are, and what their overlap says."""
    level, systems = f"{100 * (1 - found.alpha):g} %", found.nouns_for("system")
    colour = " of the same colour" if len(found.shown) > 1 else ""
    if not all(one.comparison for one in found.claims):
        return (
            f"with {level} confidence intervals of each mean by itself (t · sd / √n over its own scores). Their overlap"
            f" does not say whether two {systems} differ; the pairs do."
        )
    exact = all(one.uniform for one in found.claims)
    how = "exactly when" if exact else "as a rule where"
    rest = "" if exact else " The table of pairs decides."
    return (
        f"with {level} comparison intervals, which are no confidence intervals: two {systems} differ {how}"
        f" theirs{colour} do not overlap.{rest}"
    )


def stepwise_sentence(found: Analysis) -> str:
    """Why an interval may hold 0 where p says that there is a difference; empty where none does."""
    one = found.lead
    apart = int((one.reject() & (np.abs(one.pairs.difference) <= one.half)).sum())
    if not apart:
        return ""
    return (
        "The intervals hold all at once; the p-values are of a test that goes step by step and finds more:"
        f" {counted(apart, 'interval')} {'holds' if apart == 1 else 'hold'} 0 though p ≤ {one.alpha:g}."
    )


def top_sentence(one: ClaimResult, found: Analysis) -> str:
    """What belonging to the top group means."""
    systems = found.nouns_for("system")
    if one.may_be_best:
        return (
            f"With {100 * (1 - found.alpha):g} % confidence the best is among them; one that is left out may still not"
            " be told from the first in the pairs."
        )
    return f"All {systems} that are not told from the one with the highest mean."


def power_sentences(power: Power, found: Analysis) -> list[str]:
    """What these topics can show, and what a finer question would take."""
    d = max(3, found.decimals - 1)
    systems, topics = found.nouns_for("system"), found.nouns_for("topic")
    said = [
        f"With {found.counted(power.topics, 'topic')} you can detect a difference of {number(power.detectable, d)}"
        f" between two {systems} chosen beforehand; for {power.target:g} you need"
        f" {found.counted(power.target_topics, 'topic')}."
        f" (“Detect” means finding it in four cases out of five at the {found.alpha:g} level, by a paired t-test, for"
        f" {topics} like these.)"
    ]
    one = by_key("like", found)
    if one.uniform and len(one.pairs) > 1:
        said.append(
            f"Among all {len(one.pairs):,} pairs, after correction, a difference must reach"
            f" {number(one.critical, d)} to be significant for {answer.subject(one, found)}."
        )
    return said


def split_sentence(result: SplitResult, found: Analysis) -> str:
    """Whether the conclusions depend on how the documents fell into shards."""
    mean = float(result.summary["mean"]["significant"])
    about = answer.about(by_key(result.key, found), found)
    opening = f"{answer.capital(about)}, “{result.procedure.name}” on each split by itself tells"
    if result.pairs == 1:
        return f"{opening} the pair apart in {round(mean * result.splits)} of the {result.splits} splits."
    kept = f", {result.common / mean:.0%} of what it finds in a single split on average" if mean else ""
    return (
        f"{opening} {result.common:,} of {counted(result.pairs, 'pair')}"
        f" ({result.common / result.pairs:.0%}) apart in all {result.splits} splits{kept}."
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


TABLES = {
    "normal": "with normal scores",
    "margins": "with simulated scores",
    "vine": "with simulated scores and near-duplicates",
    "tilt": "of these scores, {topics} weighted",
    "permute": "of these scores, {systems} shuffled",
    "flip": "of these scores, signs turned",
    "resample": "of these {topics}, drawn anew",
}
"""Simulated tables in plain words, by their names in a calibration."""


def kind_of_table(null: str, found: Analysis) -> str:
    """How tables were simulated, in plain words: ``of these scores, systems shuffled; some differ``."""
    kind, _, rest = null.partition(", ")
    text = TABLES[kind].format(topics=found.nouns_for("topic"), systems=found.nouns_for("system"))
    return f"{text}; {rest}" if rest else text


def verdict_sentence(verdict: Verdict) -> str:
    """Which methods keep their promise here, in one line."""
    parts = (
        ("Keep their promise", verdict.holds),
        ("Undecided", verdict.unclear),
        ("Break it", verdict.fails),
    )
    return " ".join(f"{what}: {', '.join(names)}." for what, names in parts if names)


def shares_gist(found: Analysis) -> str:
    """The largest shares of the variation, beside the heading."""
    squares = found.fit.table["ss"]
    first = (squares.drop("total") / squares["total"]).sort_values(ascending=False).head(3)
    return ", ".join(f"{_plain_term(str(term), found)} {share:.0%}" for term, share in first.items())


def _plain_term(term: str, found: Analysis) -> str:
    return " × ".join(found.noun(part) for part in term.split(":"))


def power_gist(power: Power, found: Analysis) -> str:
    """What the topics at hand can show, beside the heading."""
    smallest = number(power.detectable, max(3, found.decimals - 1))
    systems = found.nouns_for("system")
    return f"{found.counted(power.topics, 'topic')} find a difference of {smallest} between two {systems}"


def trust_gist(found: Analysis) -> str:
    """What the simulations say of the procedure that leads, beside the heading."""
    rows = found.trust.rows
    own = rows[rows["used"] & (rows["method"] == found.procedure.name)] if len(rows) else rows
    said = {
        "holds": "keeps its promise",
        "unclear": "is not shown to break its promise",
        "fails": "breaks its promise",
    }
    return "; ".join(f"{row['method']} {said[str(row['status'])]} here" for _, row in own.iterrows())
