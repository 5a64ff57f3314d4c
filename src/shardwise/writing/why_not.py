"""Write the box "Why not t-tests with Bonferroni, or Tukey's HSD?": the same data by these methods, for a reviewer."""

from __future__ import annotations

from dataclasses import dataclass

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.classic import compare_classic
from shardwise.core.claim import format_count
from shardwise.lab.recorded import recorded_rates
from shardwise.writing.answer import join_names
from shardwise.writing.names import label_systems
from shardwise.writing.numbers import format_percent

RECORDED = {"hsd": "MD1 hsd topic", "bonferroni": "t holm"}
"""Recorded procedures by the correction of a classic one; Holm's and Bonferroni's are alike where no systems differ."""
MOST_LISTED = 4
"""Systems of a best set that the table names."""


@dataclass(frozen=True, slots=True)
class ClassicRow:
    """One method in the box: what it finds on these data, and its measured error rate."""

    title: str
    significant: int
    gained: int  # significant pairs that the method of the report does not have
    lost: int  # significant pairs of the report that it does not have
    best: str
    measured: str


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The box: a sentence on what changes, a row a method, and sentences on their error rates."""

    change: str
    rows: tuple[ClassicRow, ...]
    reasons: tuple[str, ...]


def explain_choice(analysis: Analysis) -> WhyNot | None:
    """Return the box for an analysis, None where the classic methods do not apply.

    Parameters
    ----------
    analysis : Analysis
        An analysis of all pairs.

    Returns
    -------
    WhyNot or None
        What the classic methods find, and how often they are wrong.
    """
    lead = analysis.lead
    classic = [result for result in compare_classic(analysis) if result.procedure != lead.procedure]
    if not classic:
        return None
    rows = tuple(_make_row(result, analysis) for result in (lead, *classic))
    return WhyNot(_write_change(rows[1:]), rows, _list_reasons(analysis))


def _make_row(result: ClaimResult, analysis: Analysis) -> ClassicRow:
    labels = label_systems(result)
    names = [labels[name] for name in result.best_set]
    best = (
        join_names(names) if len(names) <= MOST_LISTED else f"{len(names):,} {analysis.nouns_for('system')}"
    )
    rates = recorded_rates(RECORDED.get(result.procedure.correction, result.procedure.name))
    measured = ""
    if rates is not None:
        measured = (
            f"{100 * rates.mean:.1f}% on average, up to {100 * rates.highest:.1f}%; above 5% in {rates.exceeding} of"
            f" {rates.designs} designs"
        )
    return ClassicRow(
        result.procedure.plain_title,
        result.n_significant,
        result.found_beyond(analysis.lead),
        analysis.lead.found_beyond(result),
        best,
        measured,
    )


def _write_change(rows: tuple[ClassicRow, ...]) -> str:
    """What the classic methods change on these data."""
    parts = []
    for row in rows:
        if not row.gained and not row.lost:
            parts.append(f"{row.title} gives the same significant pairs")
            continue
        changes = [f"adds {format_count(row.gained, 'pair')}"] if row.gained else []
        changes += [f"loses {format_count(row.lost, 'pair')}"] if row.lost else []
        parts.append(f"{row.title} {' and '.join(changes)}")
    return f"On these data, {'; '.join(parts)}."


def _list_reasons(analysis: Analysis) -> tuple[str, ...]:
    systems, topics = analysis.nouns_for("system"), analysis.nouns_for("topic")
    nominal = format_percent(0.05)
    return (
        f"Tukey's HSD assumes that all {systems} are equally variable; where they are not, its family-wise error"
        f" exceeds the nominal {nominal}.",
        f"t-tests with Bonferroni's correction estimate each pair's variance from few {topics}, which is unreliable for"
        " skewed scores, and ignore that pairs are correlated, which costs power.",
        "The moderated test shrinks each pair's variance towards the pooled variance and takes the joint distribution"
        f" of all pairs from resampled {topics}.",
        *_cite_record(systems),
    )


def _cite_record(systems: str) -> tuple[str, ...]:
    """Where the error rates of the box come from."""
    rates = recorded_rates("moderated")
    if rates is None:
        return ()
    collections = join_names(list(rates.collections))
    return (
        f"Error rates: measured with equal {systems} on simulated data like {collections} ({rates.designs} designs).",
    )
