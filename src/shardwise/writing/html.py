"""Write a report: one HTML file that needs nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.analyze import AnalysisOptions, analyze
from shardwise.analysis.leaderboard import tabulate_against
from shardwise.analysis.trust import list_findings
from shardwise.core.arguments import Progress
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import pluralize_noun
from shardwise.core.scores import nouns_of
from shardwise.core.text import MOST_SHOWN, escape_controls, script_json, shorten_names
from shardwise.io.atomic import write_atomically
from shardwise.io.files import write_paths
from shardwise.plot.theme import list_records
from shardwise.writing import answer, words
from shardwise.writing.assets import hash_script, load_templates, read_asset
from shardwise.writing.axis import Axis, make_axis
from shardwise.writing.charts import draw_charts
from shardwise.writing.clauses import explain_method
from shardwise.writing.downloads import MOST_PAIRS, Download, list_downloads, pack_bytes, round_figures
from shardwise.writing.item_view import LONG, cut_names, render_items
from shardwise.writing.methods import explain_test, format_bibliography, methods_latex, methods_text
from shardwise.writing.numbers import (
    format_interval,
    format_p,
    format_percent,
    format_ranks,
    format_signed,
)
from shardwise.writing.remarks import (
    describe_finding,
    explain_missing_items,
    explain_shard_means,
    write_trust,
)
from shardwise.writing.tables import MARKS, explain_ranks
from shardwise.writing.why_not import explain_choice

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
    drawn = {
        name: Markup(svg) for name, svg in draw_charts(content).items()
    }  # made by vl-convert, which escapes
    findings = [
        (finding, *describe_finding(finding, nouns_of(content.scores)))
        for finding in list_findings(content.trust)
    ]
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
            reason=explain_method(content.procedure, nouns_of(content.scores)),
            next_step=answer.write_next_step(content, _planning_command(content)),
            shard_means=explain_shard_means(content),
            why_not=explain_choice(content),
            explain_ranks=explain_ranks,
            explain_test=explain_test,
            statuses=words.STATUSES,
            heads={result.key: answer.describe_claim(result, content) for result in content.claims},
            roles={result.key: ROLES[k] for k, result in enumerate(content.distinct_results)},
            style=Markup(style + view.style if view else style),
            script=Markup(script),
            hashes=[hash_script(text) for text in scripts],
            view=view,
            view_script=Markup(view.script) if view else "",
            items=pluralize_noun(content.item_noun),
            item_note="" if view else explain_missing_items(content, _name_inputs(content)),
            data=Markup(script_json(page_data(content, files))),
            axis=_make_axis(content),
            rows=_list_rows(content),
            charts=drawn,
            files=files,
            ranked={
                result.key
                for result in content.distinct_results
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
            anova=_anova_rows(content),
            trust=bool(findings or content.trust.recorded or content.trust.reason),
            trust_lines=write_trust(content),
            findings=findings,
            places={name: k for k, name in enumerate(content.systems)},
        )
    )


def _planning_command(analysis: Analysis) -> str:
    """The command that plans with the same inputs, where a command made the report."""
    if analysis.recipe is None or not analysis.inputs:
        return ""
    return f"shardwise design power {_name_inputs(analysis)}"


def _name_inputs(analysis: Analysis) -> str:
    """Paths of the inputs as a command takes them."""
    return write_paths(entry.path for entry in analysis.inputs)


def page_data(content: Analysis, files: Iterable[Download]) -> dict[str, Any]:
    """What the script of the page works on: names, and for each claim means, verdicts and corrected p-values."""
    return {
        "systems": [escape_controls(name) for name in content.systems],
        "labels": [cut_names(content.systems, most) for most in (MOST_SHOWN, LONG)],
        "noun": content.noun_for("system"),
        "nouns": content.nouns_for("system"),
        "alpha": content.alpha,
        "decimals": content.decimals,
        "claims": [_claim_data(result, content) for result in content.distinct_results],
        "files": [{"name": file.name, "kind": file.kind, "packed": file.packed} for file in files],
    }


def _claim_data(claim: ClaimResult, content: Analysis) -> dict[str, Any]:
    """Figures of all pairs of one claim, row by row above the diagonal; null for pairs that were not compared."""
    pairs = claim.pairs
    r = len(content.systems)
    a, b = claim.locate_systems(content.systems)
    numbers = np.full((r, r), -1)
    numbers[a, b] = numbers[b, a] = np.arange(len(pairs))
    rows, columns = np.triu_indices(r, 1)
    order = numbers[rows, columns]

    def ordered(values: Floats, digits: int) -> list[float | None]:
        kept = round_figures(values, digits)
        return [kept[k] if k >= 0 else None for k in order.tolist()]

    signs = claim.direction_matrix(content.systems)[rows, columns]
    if len(pairs) > MOST_PAIRS:
        figures_of_pairs: dict[str, Any] = {
            "packed": _pack_decisions(pairs.p_adjusted, order, signs),
            "half": None,
        }
    else:
        half = ordered(claim.half_widths, 4)
        figures_of_pairs = {
            "p": ordered(pairs.p_adjusted, 3),
            # rounding a p-value may carry it over the level: the decisions are stated, not derived
            "differs": "".join({0: "0", 1: "+", -1: "-"}[int(sign)] for sign in signs),
            "half": half[0] if claim.has_common_width and pairs.complete else half,
        }
    return {
        "key": claim.key,
        "name": answer.describe_claim(claim, content),
        "about": f"for {answer.describe_claim(claim, content)}",
        "means": [float(f"{x:.7g}") for x in claim.intervals["estimate"]],
        "least": float(f"{claim.resolution:.3g}"),
        **figures_of_pairs,
    }


def _pack_decisions(p: Floats, order: Ints, signs: Ints) -> str:
    """Decisions and p-values of very many pairs, a byte each: sign + 1, and -20 log10 p, 255 where there is none."""
    ordered = np.append(p, np.nan)[order]  # the last is that of pairs that were not compared
    decades = np.where(
        np.isfinite(ordered), np.clip(-20.0 * np.log10(np.maximum(ordered, 1e-300)), 0, 254), 255
    )
    return pack_bytes((signs + 1).astype(np.uint8).tobytes() + np.rint(decades).astype(np.uint8).tobytes())


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
        listed = [name for name in content.systems if name in figures]
        rows = [_draw_difference(name, figures[name], axis, content) for name in listed]
        forests.append({"base": base, "axis": axis, "rows": rows})
    return forests


def _draw_difference(name: str, row: Mapping[str, Any], axis: Axis, content: Analysis) -> dict[str, Any]:
    """One row of a forest: the figures as text, and where they are drawn."""
    low, high, difference = float(row["lower"]), float(row["upper"]), float(row["difference"])
    x_low = axis.locate_value(low) if low == low else 0.0
    significant = row["verdict"] in ("better", "worse")
    return {
        "name": name,
        "difference": format_signed(difference, content.decimals),
        "between": format_interval(low, high, content.decimals, significant=significant),
        "x": axis.locate_value(difference),
        "x_low": x_low,
        "width": round(axis.locate_value(high) - x_low, 1) if low == low else None,
        "covers": low == low and not significant,
        "p": format_p(float(row["p_adjusted"]), content.lead.resolution),
        "verdict": row["verdict"],
        "class": {"better": "win", "worse": "lose"}.get(str(row["verdict"]), "none"),
    }


def _make_axis(content: Analysis) -> Axis:
    return make_axis(
        [
            claim.chart_intervals[["estimate", "lower", "upper"]].to_numpy(float)
            for claim in content.distinct_results
        ]
    )


def _list_rows(content: Analysis) -> list[dict[str, Any]]:
    axis = _make_axis(content)
    labels = [(claim.letters, _format_ranks(claim, content)) for claim in content.distinct_results]
    rows = []
    for k, name in enumerate(content.systems):
        bars = []
        for k_claim, claim in enumerate(content.distinct_results):
            row = claim.chart_intervals.iloc[k]
            low, high = float(row["lower"]), float(row["upper"])
            x = axis.locate_value(low)
            width = round(axis.locate_value(high) - x, 1)
            about = answer.capitalize_sentence(answer.describe_claim(claim, content))
            bars.append(
                {"role": ROLES[k_claim], "about": about, "low": low, "high": high, "x": x, "width": width}
            )
        mean, low_of_mean, high_of_mean = (
            float(content.lead.intervals[name].iloc[k]) for name in ("estimate", "lower", "upper")
        )
        rows.append(
            {
                "rank": k + 1,
                "name": name,
                "mean": mean,
                "x": axis.locate_value(mean),
                "bars": bars,
                "groups": [words.shorten_letters(letters[k]) if letters else "" for letters, _ in labels],
                "ranks": [ranks[k] for _, ranks in labels],
                "between": format_interval(low_of_mean, high_of_mean, content.decimals),
                "tops": [claim.key for claim in content.distinct_results if name in claim.best_set],
            }
        )
    return rows


def _format_ranks(claim: ClaimResult, content: Analysis) -> list[str]:
    """The ranks that each system may have, in the order of the analysis; nothing where not all pairs were compared."""
    if not claim.pairs.complete:
        return [""] * len(content.systems)
    return format_ranks(claim.pairs.ranks(1.0 - content.alpha).loc[list(content.systems)])


def _anova_rows(content: Analysis) -> list[dict[str, Any]]:
    """The rows of the ANOVA table with what they mean."""
    rows = list_records(content.fit.table.rename_axis("term").reset_index())
    return [row | {"meaning": words.explain_term(str(row["term"]), content)} for row in rows]
