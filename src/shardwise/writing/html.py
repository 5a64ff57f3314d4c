"""Write a report: one HTML file that needs nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.analyze import AnalysisOptions, analyze
from shardwise.analysis.leaderboard import tabulate_against
from shardwise.analysis.trust import list_findings
from shardwise.core.arguments import Progress
from shardwise.core.arrays import Floats
from shardwise.core.claim import pluralize_noun
from shardwise.core.text import MOST_SHOWN, escape_controls, script_json, shorten_names
from shardwise.io.atomic import write_atomically
from shardwise.io.files import write_paths
from shardwise.plot.theme import list_records
from shardwise.writing import answer, words
from shardwise.writing.assets import Axis, hash_script, load_templates, make_axis, pack_bytes, read_asset
from shardwise.writing.charts import draw_charts
from shardwise.writing.downloads import MOST_PAIRS, list_downloads, round_figures
from shardwise.writing.item_view import LONG, cut_names, render_items
from shardwise.writing.methods import (
    explain_method,
    explain_test,
    format_bibliography,
    methods_latex,
    methods_text,
)
from shardwise.writing.numbers import format_interval, format_p, format_percent, format_ranks, format_signed
from shardwise.writing.remarks import (
    describe_finding,
    explain_choice,
    explain_missing_items,
    explain_shard_means,
    write_trust,
)
from shardwise.writing.slices import MARKS, render_slices
from shardwise.writing.tables import explain_ranks, render_measures

MOST_NAMED = 12  # systems of a top group that the answer lists
MOST_ROWS = 30
"""Systems that a table shows at first; a button shows all."""
MOST_CHARACTERS = 34
"""Characters of a name in a table."""
ROLES = ("lead", "beside")  # classes of style: the colour of a claim is that of its place


def write_report(
    path: str | os.PathLike[str],
    data: Any,
    options: AnalysisOptions | None = None,
    *,
    progress: Progress | None = None,
    **choices: Any,
) -> Analysis:
    """Analyse scores and write one HTML file with the answer, for exactly these topics and for new ones.

    Parameters
    ----------
    path : str or path
        Where to write it; the file appears only when it is complete.
    data : object
        Any table that `as_scores` takes, or an `Analysis` that is there already.
    options : AnalysisOptions, optional
        What can be chosen, as for `analyze`.
    progress : callable, optional
        Called with (done, in all), for the simulated tables and then for the splits.
    **choices
        Single fields of `AnalysisOptions`; ``calibration`` is None here unless it is given, so that the report says
        how far its methods can be trusted.

    Returns
    -------
    Analysis
        The analysis that the file shows.
    """
    if isinstance(data, Analysis):
        analysis = data
    else:
        if options is None:
            choices.setdefault("calibration", None)
        analysis = analyze(data, options, progress=progress, **choices)
    write_atomically(Path(path), render_report(analysis).encode("utf-8", "backslashreplace"))
    return analysis


def save_report(analysis: Analysis, path: str | os.PathLike[str]) -> None:
    """Write the report of an analysis."""
    write_report(path, analysis)


def render_report(content: Analysis) -> str:
    """Render a report as one self-contained page."""
    script, style = read_asset("report.js"), read_asset("report.css")
    view = render_items(content)
    scripts = (script, view.script) if view else (script,)
    files = list_downloads(content)
    nouns, claims = content.nouns, content.distinct_results
    findings = [(finding, *describe_finding(finding, nouns)) for finding in list_findings(content.trust)]
    inputs = write_paths(entry.path for entry in content.inputs)
    # the command that plans with the same inputs, where a command made the report
    command = f"shardwise design power {inputs}" if content.recipe is not None and inputs else ""
    axis = make_axis(
        [claim.chart_intervals[["estimate", "lower", "upper"]].to_numpy(float) for claim in claims]
    )
    data = {
        "systems": [escape_controls(name) for name in content.systems],
        "labels": [cut_names(content.systems, most) for most in (MOST_SHOWN, LONG)],
        "noun": content.noun_for("system"),
        "nouns": content.nouns_for("system"),
        "alpha": content.alpha,
        "decimals": content.decimals,
        "claims": [_describe_pairs(claim, content) for claim in claims],
        "files": [
            {"name": file.name, "kind": file.kind, "packed": pack_bytes(file.content)} for file in files
        ],
    }
    return (
        load_templates()
        .get_template("report.html")
        .render(
            c=content,
            words=words,
            answer=answer,
            widths=all(result.procedure.method.model is not None for result in content.splits),
            title=answer.write_title(content),
            about=answer.write_byline(content),
            level=format_percent(1.0 - content.alpha),
            reason=explain_method(content.procedure, nouns),
            next_step=answer.write_next_step(content, command),
            shard_means=explain_shard_means(content),
            why_not=explain_choice(content),
            explain_ranks=explain_ranks,
            explain_test=explain_test,
            statuses=words.STATUSES,
            heads={result.key: answer.describe_claim(result, content) for result in content.claims},
            roles={result.key: ROLES[k] for k, result in enumerate(claims)},
            style=Markup(style + view.style if view else style),
            script=Markup(script),
            hashes=[hash_script(text) for text in scripts],
            view=view,
            view_script=Markup(view.script) if view else "",
            items=pluralize_noun(content.item_noun),
            by_measure=Markup(render_measures(content)),
            by_slice=Markup(render_slices(content.slices)),
            item_note="" if view else explain_missing_items(content, inputs),
            data=Markup(script_json(data)),
            axis=axis,
            rows=_list_rows(content, axis),
            # made by vl-convert, which escapes
            charts={name: Markup(svg) for name, svg in draw_charts(content).items()},
            files=files,
            ranked={
                result.key
                for result in claims
                if len(content.systems) > 2 and (result.letters is not None or result.pairs.complete)
            },
            most_named=MOST_NAMED,
            most_rows=MOST_ROWS,
            labels=shorten_names(content.systems, MOST_CHARACTERS),
            long_labels=shorten_names(content.systems),
            forests=_draw_forests(content),
            simultaneous=content.comparisons.error_rate == "family",
            marks=MARKS,
            methods=methods_text(content),
            methods_latex=methods_latex(content),
            bibliography=format_bibliography(content),
            anova=[
                row | {"meaning": words.explain_term(str(row["term"]), content)}
                for row in list_records(content.fit.table.rename_axis("term").reset_index())
            ],
            trust=bool(findings or content.trust.recorded or content.trust.reason),
            trust_lines=write_trust(content),
            findings=findings,
            places={name: k for k, name in enumerate(content.systems)},
        )
    )


def _describe_pairs(claim: ClaimResult, content: Analysis) -> dict[str, Any]:
    """What the script works on: all pairs of one claim, row by row above the diagonal; null where not compared."""
    pairs, r = claim.pairs, len(content.systems)
    a, b = claim.locate_systems(content.systems)
    numbers = np.full((r, r), -1)
    numbers[a, b] = numbers[b, a] = np.arange(len(pairs))
    rows, columns = np.triu_indices(r, 1)
    order = numbers[rows, columns]

    def arrange(values: Floats, digits: int) -> list[float | None]:
        kept = round_figures(values, digits)
        return [kept[k] if k >= 0 else None for k in order.tolist()]

    signs = claim.direction_matrix(content.systems)[rows, columns]
    if len(pairs) > MOST_PAIRS:
        # a byte each: sign + 1, and -20 log10 p, 255 where there is none; the last p is that of no pair
        p = np.append(pairs.p_adjusted, np.nan)[order]
        decades = np.where(np.isfinite(p), np.clip(-20.0 * np.log10(np.maximum(p, 1e-300)), 0, 254), 255)
        coded = (signs + 1).astype(np.uint8).tobytes() + np.rint(decades).astype(np.uint8).tobytes()
        figures: dict[str, Any] = {"packed": pack_bytes(coded), "half": None}
    else:
        half = arrange(claim.half_widths, 4)
        figures = {
            "p": arrange(pairs.p_adjusted, 3),
            # rounding a p-value may carry it over the level: the decisions are stated, not derived
            "differs": "".join("0+-"[int(sign)] for sign in signs),
            "half": half[0] if claim.has_common_width and pairs.complete else half,
        }
    name = answer.describe_claim(claim, content)
    return {
        "key": claim.key,
        "name": name,
        "about": f"for {name}",
        "means": [float(f"{x:.7g}") for x in claim.intervals["estimate"]],
        "least": float(f"{claim.resolution:.3g}"),
        **figures,
    }


def _draw_forests(content: Analysis) -> list[dict[str, Any]]:
    """Differences to each baseline, or to the best system, with their intervals; of two systems one difference."""
    bases = content.baselines or (content.systems[-1] if len(content.systems) == 2 else content.systems[0],)
    forests = []
    for base in bases:
        table = tabulate_against(content.comparisons, base, content.alpha)
        if not len(table):
            continue
        ends = table[["difference", "lower", "upper"]].to_numpy(float)
        known = np.append(ends[np.isfinite(ends)], 0.0)
        # room beside 0, so that its label fits
        axis = make_axis(np.append(known, np.array([-0.05, 0.05]) * np.ptp(known)))
        figures: dict[Any, Any] = table.to_dict("index")
        rows = []
        for name in content.systems:
            if name in figures:
                row = figures[name]
                low, high, difference = (float(row[end]) for end in ("lower", "upper", "difference"))
                significant, bounded = row["verdict"] in ("better", "worse"), low == low
                x_low = axis.locate_value(low) if bounded else 0.0
                rows.append(
                    {
                        "name": name,
                        "difference": format_signed(difference, content.decimals),
                        "between": format_interval(low, high, content.decimals, significant=significant),
                        "x": axis.locate_value(difference),
                        "x_low": x_low,
                        "width": round(axis.locate_value(high) - x_low, 1) if bounded else None,
                        "covers": bounded and not significant,
                        "p": format_p(float(row["p_adjusted"]), content.lead.resolution),
                        "verdict": row["verdict"],
                        "class": {"better": "win", "worse": "lose"}.get(str(row["verdict"]), "none"),
                    }
                )
        forests.append({"base": base, "axis": axis, "rows": rows})
    return forests


def _list_rows(content: Analysis, axis: Axis) -> list[dict[str, Any]]:
    """What the table of systems shows: for each claim a bar, letters and the ranks that a system may have."""
    claims, systems = content.distinct_results, content.systems
    ranks = [
        format_ranks(claim.pairs.ranks(1.0 - content.alpha).loc[list(systems)])
        if claim.pairs.complete
        else [""] * len(systems)
        for claim in claims
    ]
    rows = []
    for k, name in enumerate(systems):
        bars = []
        for role, claim in zip(ROLES, claims, strict=False):
            low, high = (float(claim.chart_intervals[end].iloc[k]) for end in ("lower", "upper"))
            x = axis.locate_value(low)
            about = answer.capitalize_sentence(answer.describe_claim(claim, content))
            bar = {"role": role, "about": about, "low": low, "high": high}
            bars.append(bar | {"x": x, "width": round(axis.locate_value(high) - x, 1)})
        mean, *ends = (float(content.lead.intervals[end].iloc[k]) for end in ("estimate", "lower", "upper"))
        rows.append(
            {
                "rank": k + 1,
                "name": name,
                "mean": mean,
                "x": axis.locate_value(mean),
                "bars": bars,
                "groups": [
                    words.shorten_letters(claim.letters[k]) if claim.letters else "" for claim in claims
                ],
                "ranks": [of_claim[k] for of_claim in ranks],
                "between": format_interval(ends[0], ends[1], content.decimals),
                "tops": [claim.key for claim in claims if name in claim.best_set],
            }
        )
    return rows
