"""Lay several measures of the same systems beside each other, in one table."""

from __future__ import annotations

from html import escape
from typing import Any

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.measures import find_unbeaten, judge_systems, tabulate_measures
from shardwise.core.text import escape_controls, shorten_name
from shardwise.writing.answer import join_names, write_measures
from shardwise.writing.names import label_systems
from shardwise.writing.numbers import format_number
from shardwise.writing.slices import MARKS, explain_verdicts
from shardwise.writing.table import TypedColumn, render_html


def list_columns(analysis: Analysis) -> list[TypedColumn]:
    """Return the table of systems and measures: means with marks, the best of each measure in bold.

    Parameters
    ----------
    analysis : Analysis
        An analysis of several measures.

    Returns
    -------
    list of TypedColumn
        One row a system, one column a measure.
    """
    labels = label_systems(analysis.lead)
    columns = [TypedColumn(analysis.noun_for("system"), [labels[name] for name in analysis.systems])]
    for each in analysis.each:
        means = each.lead.intervals["estimate"]
        best = format_number(
            float(means.min() if each.comparisons.lower_is_better else means.max()), each.decimals
        )
        texts = mark_means(each, analysis)
        bold = frozenset(k for k, text in enumerate(texts) if text.split(" ")[0] == best)
        columns.append(TypedColumn(shorten_name(each.measure), texts, "cell", bold=bold))
    return columns


def mark_means(each: Analysis, analysis: Analysis) -> list[str]:
    """Return the means by one of the measures of an analysis with their marks, in the order of its systems."""
    names = analysis.systems
    verdicts = judge_systems(each.lead, names, analysis.baselines)
    means = each.lead.intervals["estimate"][list(names)]
    return [
        f"{format_number(float(mean), each.decimals)} {MARKS[verdict]}".strip()
        for mean, verdict in zip(means, verdicts, strict=True)
    ]


def explain_measures(analysis: Analysis) -> str:
    """Write what the marks of the table of measures mean; empty for one measure."""
    if not analysis.others:
        return ""
    lower = [shorten_name(each.measure) for each in analysis.each if each.comparisons.lower_is_better]
    turned = f"; lower is better: {join_names(lower)}" if lower else ""
    return f"{explain_verdicts(analysis.baselines, len(analysis.systems) == 2)} by that measure{turned}."


def render_measures(analysis: Analysis) -> str:
    """Return the table of systems and measures as an element of a page; empty for one measure."""
    if not analysis.others:
        return ""
    box = '<div class="scroll" tabindex="0" role="region" aria-label="Table by measure">'
    marks = f"<p>{escape(escape_controls(explain_measures(analysis)))}</p>"
    return f"{box}{render_html(list_columns(analysis))}</div>{marks}"


def describe_measures(analysis: Analysis) -> dict[str, Any]:
    """Return what programs read of several measures: sentences, and the systems by measure; nothing for one."""
    if not analysis.others:
        return {}
    return {
        "by_measure": tabulate_measures(analysis).to_dict("records"),
        "other_measures": write_measures(analysis),
        "unbeaten": list(find_unbeaten(analysis)),
        "joint": analysis.lead.family is not None,
    }
