"""The files that a report carries within itself."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult
from shardwise.analysis.power import POWER
from shardwise.core.arrays import Floats
from shardwise.core.libraries import pd
from shardwise.core.text import list_columns, write_csv
from shardwise.writing.answer import describe_lift, write_answer, write_next_step, write_scope, write_title
from shardwise.writing.assets import ReportFile, make_text_file
from shardwise.writing.charts import interval_figure
from shardwise.writing.methods import format_bibliography, methods_latex, methods_text
from shardwise.writing.paper import render_latex
from shardwise.writing.slices import describe_slices, join_pairs
from shardwise.writing.tables import describe_measures

DIGITS = 7  # significant ones, so that the report stays small
MOST_PAIRS = 100_000  # that are listed one by one


def list_downloads(content: Analysis) -> tuple[ReportFile, ...]:
    """All files of a report."""
    pdf, svg = interval_figure(content)
    about = f"{content.nouns_for('system')} with means, intervals and groups"
    files = [make_text_file("systems.csv", about, _format_csv(systems_frame(content)))]
    if len(content.comparisons) <= MOST_PAIRS:
        files.append(make_text_file("pairs.csv", "pairs, for each claim", _format_csv(pairs_frame(content))))
    if content.slices is not None:
        body = _format_csv(join_pairs(content.slices, content.comparisons))
        files.append(make_text_file("slices.csv", f"pairs by {content.slices.name}", body))
    return (
        *files,
        make_text_file("tables.tex", "tables and figure for LaTeX (booktabs)", render_latex(content)),
        ReportFile("intervals.pdf", "the figure that tables.tex includes", pdf, "application/pdf"),
        make_text_file("intervals.svg", "the same figure for other uses", svg),
        make_text_file("methods.tex", "the methods paragraph for LaTeX", methods_latex(content)),
        make_text_file("references.bib", "its sources for BibTeX", format_bibliography(content)),
        make_text_file(
            "report.json", "everything in this report, for programs", dump_json(report_json(content))
        ),
    )


def systems_frame(content: Analysis) -> pd.DataFrame:
    """Systems, best first: `rank, system, mean`, and for each claim `lower, upper, groups, top`."""
    first = content.lead.intervals
    columns: dict[str, Any] = {
        "rank": np.arange(1, len(first) + 1),
        "system": list(content.systems),
        "mean": first["estimate"].to_numpy(),
    }
    for claim in content.claims:
        columns[f"lower_{claim.key}"] = claim.intervals["lower"].to_numpy()
        columns[f"upper_{claim.key}"] = claim.intervals["upper"].to_numpy()
        if claim.pairs.complete:
            ranks = claim.pairs.ranks(1.0 - content.alpha).loc[list(content.systems)]
            columns[f"rank_best_{claim.key}"] = ranks["rank_best"].to_numpy()
            columns[f"rank_worst_{claim.key}"] = ranks["rank_worst"].to_numpy()
        if claim.letters is not None:
            columns[f"group_{claim.key}"] = [" ".join(names) for names in claim.letters]
        columns[f"top_{claim.key}"] = [name in claim.best_set for name in content.systems]
    return pd.DataFrame(columns)


def pairs_frame(content: Analysis) -> pd.DataFrame:
    """All pairs of all claims: `claim`, the columns of `to_frame()`, and `differs`."""
    frames = []
    for claim in content.claims:
        frame = claim.pairs.to_frame(1.0 - content.alpha).assign(differs=claim.pairs.reject(content.alpha))
        frame.insert(0, "claim", claim.claim)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def report_json(content: Analysis) -> dict[str, Any]:
    """Everything that the report says, as JSON; undefined is null."""
    c, power, lab = content, content.power, content.trust.calibration
    return {
        "title": write_title(c),
        "answer": write_answer(c),
        "scope": write_scope(c),
        "next_step": write_next_step(c) or None,
        "open_tie": None if (tie := c.open_tie()) is None else asdict(tie),
        "claims": [{**_describe_claim(claim), "leads": claim.key == c.leads} for claim in c.claims],
        "instead": [
            {**_describe_claim(claim), "decisions": _describe_pairs(claim, c)} for claim in c.instead
        ],
        **_simplify_value(describe_lift(c)),
        **({"measures": _simplify_value(describe_measures(c))} if c.others else {}),
        **({} if c.slices is None else {"slices": _simplify_value(describe_slices(c.slices))}),
        "unsupported": c.unsupported or None,
        "systems": _simplify_value(systems_frame(c)),
        "pairs": {claim.key: _describe_pairs(claim, c) for claim in c.claims},
        "anova": _simplify_value(c.fit.table.reset_index()),
        "splits": [
            {
                "key": item.key,
                "procedure": item.procedure.name,
                "splits": item.splits,
                "removable": None if item.noise is None else item.noise.removable,
                "enough": None if item.noise is None else item.noise.enough,
                **_describe_fields(item, "common", "pairs"),
                "summary": _simplify_value(item.summary.reset_index(names="figure")),
                "agreement": _simplify_value(item.agreement.reset_index()),
                "divided": _simplify_value(item.divided.reset_index()),
            }
            for item in c.splits
        ],
        "power": None
        if power is None
        else {
            "power": POWER,
            "topics": power.topics,
            "variance": _simplify_value(power.sigma_sq),
            **_describe_fields(power, "detectable", "detectable_two"),
            "needs": [
                {"difference": need.difference, "two_systems": need.two, "all_systems": need.all}
                for need in power.needs
            ],
        },
        "calibration": None
        if lab is None
        else {
            **_describe_fields(lab, "repetitions", "budget", "seed"),
            "used": list(c.trust.used),
            "methods": _simplify_value(lab.table),
            "verdicts": [verdict.to_dict(command=True) for verdict in lab.verdicts],
            "notes": list(lab.notes),
        },
        "statements": None if c.trust.statements is None else _simplify_value(c.trust.statements.table),
        "recorded_rates": None if c.trust.recorded is None else asdict(c.trust.recorded),
        "residuals": {
            **_describe_fields(c.residuals, "skewness", "kurtosis", "fanning"),
            "sd_ratio": _simplify_value(c.residuals.ratio),
        },
        "remarks": [_describe_fields(item, "name", "text", "warning", "remedy") for item in c.remarks],
        "notes": list(c.notes),
        "methods": methods_text(c),
        "configuration": {name: _simplify_value(value) for name, value in c.configuration.items()},
        "inputs": [
            {"name": item.name, "path": item.path, "bytes": item.size, "sha256": item.sha256}
            for item in c.inputs
        ],
        "versions": dict(c.versions),
        "recipe": None if c.recipe is None else _describe_fields(c.recipe, "command", "arguments", "toml"),
    }


def _describe_fields(item: Any, *names: str) -> dict[str, Any]:
    """Fields of a result as JSON knows them."""
    return {name: _simplify_value(getattr(item, name)) for name in names}


def _describe_claim(claim: ClaimResult) -> dict[str, Any]:
    return {
        "key": claim.key,
        "claim": claim.claim,
        "procedure": claim.procedure.name,
        "alpha": claim.alpha,
        "method": claim.pairs.title,
        "error": claim.pairs.estimates.error or None,
        "df": _simplify_value(claim.pairs.error_df),
        "resamples": claim.n_resamples,
        "intervals": "comparison" if claim.has_comparison_intervals else "confidence",
        "pairs": len(claim.pairs),
        "found": claim.n_significant,
        "critical_difference": _simplify_value(claim.critical_difference),
        "top": list(claim.best_set),
        "may_be_best": claim.may_be_best,
    }


def _describe_pairs(claim: ClaimResult, c: Analysis) -> dict[str, Any] | None:
    if len(claim.pairs) > MOST_PAIRS:
        return None
    return {
        **{
            name: positions.tolist()
            for name, positions in zip("ab", claim.locate_systems(c.systems), strict=True)
        },
        **{
            name: round_figures(np.asarray(getattr(claim.pairs, name)))
            for name in ("difference", "se", "p", "p_adjusted")
        },
    }


def _format_csv(frame: pd.DataFrame) -> str:
    """A table as CSV, its numbers with as many digits as are worth writing."""
    texts = {
        str(name): [f"{x:.{DIGITS}g}" if x == x else "" for x in column.tolist()]
        for name, column in frame.items()
        if column.dtype.kind == "f"
    }
    return write_csv(list_columns(frame) | texts)


def dump_json(value: Mapping[str, Any]) -> str:
    """Return JSON with a line for each field; indented, it would be written by Python's slow encoder.

    Parameters
    ----------
    value
        What JSON knows, without NaN.

    >>> print(dump_json({"a": [1, 2], "b": None}), end="")
    {
    "a": [1, 2],
    "b": null
    }
    """
    fields = (f"{json.dumps(name)}: {json.dumps(field, allow_nan=False)}" for name, field in value.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def round_figures(values: Floats, digits: int = DIGITS) -> list[float | None]:
    """Return numbers with as many digits as are worth writing; None where there is none.

    Parameters
    ----------
    values
        Numbers.
    digits
        How many digits.

    >>> round_figures(np.array([0.123456789, np.nan]), 3)
    [0.123, None]
    """
    return [float(f"{x:.{digits}g}") if math.isfinite(x) else None for x in values.tolist()]


def _simplify_value(value: Any) -> Any:
    """A value that JSON knows, with as many digits as are worth writing; a table as its rows."""
    if isinstance(value, pd.DataFrame):
        value = value.to_dict("records")
    if isinstance(value, list | tuple):
        return [_simplify_value(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _simplify_value(each) for name, each in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value
