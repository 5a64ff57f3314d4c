"""What the pages show of an analysis, of a calibration, and of two analyses beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.trust import list_findings
from shardwise.app.choices import spell_settings
from shardwise.core.claim import format_count
from shardwise.core.text import list_columns
from shardwise.lab.calibrate import Calibration
from shardwise.writing import answer
from shardwise.writing.assets import WIDTH, Axis, make_axis
from shardwise.writing.calibration import write_calibration
from shardwise.writing.numbers import format_number, format_percent, format_signed
from shardwise.writing.remarks import write_trust
from shardwise.writing.slices import render_slices
from shardwise.writing.tables import render_measures, show_table, tabulate_baselines, tabulate_systems
from shardwise.writing.words import explain_stepwise

NUMBERS = ("mean", "difference", "p", "rank", "win rate")
"""Columns of the answer's table that are aligned as numbers, beside intervals."""
CONTROLS = {**answer.CONTROLLED, "pair": "each pair alone"}
"""Error rates that methods control."""
RATE_COLUMNS = {
    "method": "Method",
    "error_rate": "Controls",
    "false alarms, %": "False alarms, %",
    "worst in": "Worst scenario",
    "interval coverage, %": "Interval coverage, %",
    "power, %": "Power, %",
}
"""Columns of the table of all methods that were calibrated, and their headings."""
RATE_VERDICTS = {"holds": "valid", "unclear": "no evidence against it", "fails": "too many false alarms"}
"""What was shown of a method."""
Report = Mapping[str, Any]
BETTER, WORSE, NEITHER = "better", "worse", "tied"
DECIMALS = 3
HIDDEN = ("scores_sha256",)
"""Settings that say nothing to people."""


def _locate_percent(axis: Axis, value: float) -> float | None:
    """The position of a value in per cent of the width; None for one that is not known."""
    return round(100.0 * axis.locate_value(value) / WIDTH, 2) if value == value else None


def summarize_analysis(first: Analysis) -> dict[str, Any]:
    """Return what the page says of an analysis, by each measure: answers, tables, error rates, what planning needs."""
    analyses, trusts = first.each, [item.trust for item in first.each]
    simulated = any(trust.calibration or trust.recorded or trust.reason for trust in trusts)
    return {
        "measures": [_summarize_measure(analysis, k) for k, analysis in enumerate(analyses)],
        "trust": [
            {
                "measure": analysis.measure,
                "lines": write_trust(analysis),
                "warning": any(finding.warning for finding in list_findings(analysis.trust)),
                "instead": [answer.write_alternative(result, analysis) for result in analysis.instead],
            }
            for analysis in analyses
        ]
        if simulated
        else None,
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
        "beside": render_measures(analysis),
        "slices": render_slices(analysis.slices),
        "report": f"report{number}.html",
        "json": f"report{number}.json",
    }


def _tabulate_answer(analysis: Analysis) -> dict[str, Any]:
    """The systems against the baselines, or the systems with their ranks."""
    pairs, alpha, middle = analysis.comparisons, analysis.alpha, "mean"
    table, stepwise = tabulate_systems(pairs, alpha), ""
    verdicts = ["best" if name in analysis.lead.best_set else "" for name in table["system"]]
    if analysis.baselines:
        table, middle = list_columns(tabulate_baselines(pairs, analysis.baselines, alpha)), "difference"
        verdicts, stepwise = [str(verdict) for verdict in table["verdict"]], explain_stepwise(analysis)
    axis = make_axis([*table["lower"], *table["upper"]])
    shown = show_table(table, alpha, analysis.decimals, analysis.lead.resolution)
    level = f"{format_percent(1.0 - alpha)} CI"
    return {
        "columns": [analysis.noun_for("system") if name == "system" else name for name in shown],
        "numeric": [name in (*NUMBERS, level) for name in shown],
        "rows": list(zip(*shown.values(), strict=True)),
        "verdicts": verdicts,
        "bars": [
            [_locate_percent(axis, float(value)) for value in row]
            for row in zip(*(table[name] for name in ("lower", "upper", middle)), strict=True)
        ],
        "ticks": [(_locate_percent(axis, tick), format_number(tick, axis.decimals)) for tick in axis.ticks],
        "zero": _locate_percent(axis, 0.0) if analysis.baselines and axis.low < 0.0 < axis.high else None,
        "notes": [stepwise] if stepwise else [],
    }


def describe_plan(analysis: Analysis) -> dict[str, Any] | None:
    """Return what a plan of the next evaluation takes from an analysis; None where it has nothing to plan with."""
    counts, repeats, tie = analysis.instances, analysis.repeats, analysis.open_tie()
    # the difference of the closest tie, or what is detected now where that tie is out of reach
    wanted = None
    if tie is not None:
        near = tie.items_needed is not None and tie.items_needed <= answer.FAR * tie.items
        wanted = float(tie.difference if near and tie.difference > 0.0 else tie.detectable)
    known: dict[str, Any] = {
        "topics": analysis.topics,
        "systems": len(analysis.systems),
        "alpha": analysis.alpha,
        "nouns": {name: analysis.noun_for(name) for name in ("topic", "system", "instance")},
        "min_diff": wanted,
    }
    if repeats is not None and repeats.components is not None and counts is not None:
        parts = {str(name): float(value) for name, value in repeats.components.items()}
        return {**known, "seeds": counts[0], "kind": repeats.kind, "components": parts, "variance": None}
    if analysis.power is None:
        return None
    return {**known, "seeds": 1, "kind": "", "components": None, "variance": analysis.power.sigma_sq}


def describe_calibration_page(
    lab: Calibration, nouns: Mapping[str, str], *, final: bool = True
) -> dict[str, Any]:
    """Return what the page of a calibration shows; before all tables are simulated nothing is said of the methods."""
    words = write_calibration(lab, nouns) if final else []
    claims = list(dict.fromkeys(map(str, lab.table["claim"])))
    new = [claim for claim in claims if claim.startswith("new ")]
    first = words[0]["claim"] if words else (*new, *claims)[0]
    tables = {}
    for claim, rows in lab.shown().groupby("claim", sort=False):
        records = rows[list(RATE_COLUMNS)].to_numpy().tolist()
        tables[str(claim)] = [[CONTROLS.get(str(cell), str(cell)) for cell in row] for row in records]
    return {
        "words": words,
        "charts": [
            _draw_rates(lab, claim, final) for claim in sorted(claims, key=lambda claim: claim != first)
        ],
        "about": f"{lab.scores}; {lab.repetitions:,} data sets per scenario, seed {lab.seed}",
        "notes": list(lab.notes),
        "columns": list(RATE_COLUMNS.values()),
        "tables": tables,
    }


def _draw_rates(lab: Calibration, claim: str, final: bool) -> dict[str, Any]:
    """The false-alarm rates of the methods made for a claim, with their intervals, in per cent of the width."""
    every = lab.table[lab.table["claim"] == claim]
    table = every[every["meant"]] if every["meant"].any() else every
    ranked = table["error_rate"].map(list(CONTROLS).index)
    table = (
        table[np.isfinite(table["rate"])].assign(ranked=ranked).sort_values(["ranked", "rate"], kind="stable")
    )
    axis = make_axis([0.0, 2.0 * lab.alpha, *table["high"]])
    default = {
        advice.declared for verdict in lab.verdicts for advice in verdict.advice if verdict.claim == claim
    }
    return {
        "claim": claim,
        "alpha": lab.alpha,
        "nominal": _locate_percent(axis, lab.alpha),
        "more": len(table) < len(every),
        "ticks": [(_locate_percent(axis, tick), f"{100 * tick:g}%") for tick in axis.ticks if tick >= 0.0],
        "rows": [
            {
                "method": str(row["method"]),
                "default": row["method"] in default,
                "controls": CONTROLS[str(row["error_rate"])],
                "low": _locate_percent(axis, row["low"]),
                "high": _locate_percent(axis, row["high"]),
                "middle": _locate_percent(axis, row["rate"]),
                "rate": f"{100 * row['rate']:.1f}% ({100 * row['low']:.1f} to {100 * row['high']:.1f})",
                "status": str(row["status"]) if final else "unclear",
                "shown": RATE_VERDICTS[str(row["status"])] if final else "",
            }
            for row in table.to_dict("records")
        ],
    }


def compare_reports(a: Report, b: Report) -> dict[str, Any]:
    """Return what two reports, the older first, say of the same systems: settings, ranks, means, changed pairs."""
    leads = [next(claim for claim in report["claims"] if claim["leads"]) for report in (a, b)]
    first, second = ({str(row["system"]): row for row in report["systems"]} for report in (a, b))
    judged, other = (_judge_pairs(report, lead) for report, lead in zip((a, b), leads, strict=True))
    shared = [pair for pair in other if pair in judged]
    changed = [(*pair, judged[pair], other[pair]) for pair in shared if judged[pair] != other[pair]]
    systems = []
    for name in second:
        if name in first:
            rows = (first[name], second[name])
            means = [row["mean"] for row in rows]
            change = None if None in means else means[1] - means[0]
            ranks = [
                (row.get(f"rank_best_{lead['key']}"), row.get(f"rank_worst_{lead['key']}"))
                for row, lead in zip(rows, leads, strict=True)
            ]
            systems.append(
                {
                    "name": name,
                    "places": (rows[0]["rank"], rows[1]["rank"]),
                    "moved": rows[0]["rank"] - rows[1]["rank"],
                    "ranks": tuple(
                        "–" if None in ends else "–".join(map(str, dict.fromkeys(ends))) for ends in ranks
                    ),
                    "means": tuple("–" if x is None else format_number(x, DECIMALS) for x in means),
                    "mean_change": change,
                    "change": "" if change is None else format_signed(change, DECIMALS) if change else "0",
                }
            )
    before, after = a["configuration"], b["configuration"]
    known = {
        "settings": [
            (name, before.get(name), after.get(name))
            for name in {**before, **after}
            if name not in HIDDEN and before.get(name) != after.get(name)
        ],
        "same_scores": before.get("scores_sha256") == after.get("scores_sha256"),
        "systems": systems,
        "only": ([n for n in first if n not in second], [n for n in second if n not in first]),
        "listed": all(
            report["pairs"][lead["key"]] is not None for report, lead in zip((a, b), leads, strict=True)
        ),
        "pairs": len(shared),
        "changed": changed,
        "gained": sum(then == NEITHER for _, _, then, _ in changed),
        "lost": sum(now == NEITHER for _, _, _, now in changed),
        "reversed": sum({then, now} == {BETTER, WORSE} for _, _, then, now in changed),
    }
    return {**known, "sentences": _write_changes(known)}


def _judge_pairs(report: Report, lead: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """What the leading claim says of every pair, its systems in alphabetical order; of too many pairs, nothing."""
    names = [str(row["system"]) for row in report["systems"]]
    pairs = report["pairs"][lead["key"]] or dict.fromkeys(("a", "b", "difference", "p_adjusted"), ())
    turn = -1.0 if report["configuration"].get("lower_is_better") else 1.0
    verdicts = {}
    columns = (pairs[name] for name in ("a", "b", "difference", "p_adjusted"))
    for i, j, difference, p in zip(*columns, strict=True):
        sign = turn * (difference or 0.0) * (1.0 if names[i] <= names[j] else -1.0)
        significant = p is not None and p <= lead["alpha"]
        a, b = sorted((names[i], names[j]))
        verdicts[a, b] = (BETTER if sign > 0 else WORSE) if significant else NEITHER
    return verdicts


def _write_changes(known: Mapping[str, Any]) -> list[str]:
    """What changed from one report to the other in sentences, the conclusions first."""
    pairs, changed = known["pairs"], known["changed"]
    if not known["listed"]:
        lines = ["The systems have too many pairs to compare them one by one; means and ranks are below."]
    elif not pairs:
        lines = ["No pair of systems was compared in both analyses."]
    elif not changed:
        every, are = ("the one pair", "is") if pairs == 1 else (f"all {pairs:,} pairs", "are")
        lines = [f"Same conclusions: {every} compared in both analyses {are} judged alike."]
    else:
        counted = {
            "gained": "significant in the second only",
            "lost": "significant in the first only",
            "reversed": "significant in opposite directions",
        }
        parts = [f"{known[name]:,} {words}" for name, words in counted.items() if known[name]]
        total = format_count(pairs, "pair")
        lines = [f"{len(changed):,} of {total} compared in both analyses changed: {', '.join(parts)}."]
    moved = sum(row["mean_change"] != 0.0 for row in known["systems"])
    if known["same_scores"]:
        lines.append("Both used the same scores.")
    elif known["systems"]:
        count = format_count(len(known["systems"]), "system")
        lines.append(f"The mean changed for {moved:,} of {count} in both.")
    return lines
