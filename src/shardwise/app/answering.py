"""Analyses -> what the page shows of them before anybody opens the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.power import OpenTie
from shardwise.analysis.trust import list_findings
from shardwise.app.wording import spell_settings
from shardwise.writing import answer
from shardwise.writing.axis import WIDTH, Axis, make_axis
from shardwise.writing.numbers import format_number, format_percent
from shardwise.writing.remarks import write_trust
from shardwise.writing.tables import show_table, tabulate_baselines, tabulate_systems
from shardwise.writing.words import explain_stepwise

NUMBERS = ("mean", "difference", "p", "rank", "win rate")
"""Columns of the answer's table that are aligned as numbers, beside intervals."""


def summarize_analyses(analyses: Sequence[Analysis]) -> dict[str, Any]:
    """Return what the page says of an analysis: the answer of each measure, its table, and what planning needs.

    Parameters
    ----------
    analyses
        One for each measure.
    """
    first = analyses[0]
    return {
        "measures": [_summarize_measure(analysis, k) for k, analysis in enumerate(analyses)],
        "trust": _summarize_trust(analyses),
        "plan": describe_plan(first),
        "baselines": list(first.baselines),
    }


def _summarize_measure(analysis: Analysis, k: int) -> dict[str, Any]:
    """The answer by one measure: sentences, warnings and the table that the terminal prints too."""
    number = "" if k == 0 else f"-{k + 1}"
    lines = [
        *answer.write_pairs(analysis),
        answer.write_range(analysis, option=False),
        answer.write_repeats(analysis),
        answer.write_splits(analysis),
        answer.write_next_step(analysis),
    ]
    return {
        "measure": analysis.measure,
        "headline": answer.write_answer(analysis),
        "scope": answer.write_scope(analysis),
        "lines": [spell_settings(line) for line in lines if line],
        "warnings": [
            {"name": remark.name, "remedy": remark.remedy} for remark in analysis.remarks if remark.warning
        ],
        "table": _tabulate_answer(analysis),
        "report": f"report{number}.html",
        "json": f"report{number}.json",
    }


def _tabulate_answer(analysis: Analysis) -> dict[str, Any]:
    """The systems against the baselines, or the systems with their ranks."""
    pairs, alpha = analysis.comparisons, analysis.alpha
    if analysis.baselines:
        frame = tabulate_baselines(pairs, analysis.baselines, alpha)
        verdicts = [str(verdict) for verdict in frame["verdict"]]
    else:
        frame = tabulate_systems(pairs, alpha)
        verdicts = ["best" if name in analysis.lead.best_set else "" for name in frame["system"]]
    axis = make_axis(frame[["lower", "upper"]].to_numpy(float))
    middle = "difference" if analysis.baselines else "mean"
    shown = show_table(frame, alpha, analysis.decimals, analysis.lead.resolution)
    shown = shown.rename(columns={"system": analysis.noun_for("system")})
    level = f"{format_percent(1.0 - alpha)} CI"
    notes = [explain_stepwise(analysis)] if analysis.baselines else []
    return {
        "columns": [str(name) for name in shown.columns],
        "numeric": [name in (*NUMBERS, level) for name in shown.columns],
        "rows": [[str(cell) for cell in row] for row in shown.itertuples(index=False)],
        "verdicts": verdicts,
        "bars": [
            [_locate_percent(axis, float(row[name])) for name in ("lower", "upper", middle)]
            for row in frame.to_dict("records")
        ],
        "ticks": [(_locate_percent(axis, tick), format_number(tick, axis.decimals)) for tick in axis.ticks],
        "zero": _locate_percent(axis, 0.0) if analysis.baselines and axis.low < 0.0 < axis.high else None,
        "notes": [note for note in notes if note],
    }


def _locate_percent(axis: Axis, value: float) -> float | None:
    """The position of a value in per cent of the width; None for one that is not known."""
    return round(100.0 * axis.locate_value(value) / WIDTH, 2) if value == value else None


def _summarize_trust(analyses: Sequence[Analysis]) -> list[dict[str, Any]] | None:
    """What simulations say of the methods used, measure by measure; None where nothing was simulated."""
    if not any(item.trust.calibration or item.trust.recorded or item.trust.reason for item in analyses):
        return None
    return [
        {
            "measure": analysis.measure,
            "lines": write_trust(analysis),
            "warning": any(finding.warning for finding in list_findings(analysis.trust)),
            "instead": [answer.write_alternative(result, analysis) for result in analysis.instead],
        }
        for analysis in analyses
    ]


def describe_plan(analysis: Analysis) -> dict[str, Any] | None:
    """Return what a plan of the next evaluation takes from an analysis; None where it has nothing to plan with.

    Parameters
    ----------
    analysis
        The analysis.
    """
    counts, repeats, tie = analysis.instances, analysis.repeats, analysis.open_tie()
    known: dict[str, Any] = {
        "topics": analysis.topics,
        "systems": len(analysis.systems),
        "alpha": analysis.alpha,
        "nouns": {name: analysis.noun_for(name) for name in ("topic", "system", "instance")},
        "min_diff": _choose_difference(tie),
    }
    if repeats is not None and repeats.components is not None and counts is not None:
        parts = {str(name): float(value) for name, value in repeats.components.items()}
        return {**known, "seeds": counts[0], "kind": repeats.kind, "components": parts, "variance": None}
    if analysis.power is None:
        return None
    return {**known, "seeds": 1, "kind": "", "components": None, "variance": analysis.power.sigma_sq}


def _choose_difference(tie: OpenTie | None) -> float | None:
    """The difference to plan for: that of the closest tie, or what is detected now where that tie is out of reach."""
    if tie is None:
        return None
    near = tie.items_needed is not None and tie.items_needed <= answer.FAR * tie.items
    return float(tie.difference if near and tie.difference > 0.0 else tie.detectable)
