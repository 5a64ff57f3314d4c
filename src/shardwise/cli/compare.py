"""shardwise compare: which systems differ, and what may be claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
import xarray as xr

from shardwise.cli import inputs as opt
from shardwise.cli.output import Format, emit
from shardwise.compare.comparisons import Comparisons, compare
from shardwise.errors import InputError
from shardwise.model.anova import AnovaFit, anova
from shardwise.model.terms import Model
from shardwise.read.files import expand
from shardwise.score.undefined import fill_undefined


def compare_command(
    inputs: opt.Inputs,
    measure: Annotated[str | None, typer.Option("--measure", "-m", help="The measure; AP for runs.")] = None,
    model: Annotated[str, typer.Option(help="MD1 to MD6, or a formula such as 'topic + system'.")] = "",
    method: Annotated[
        str, typer.Option(help="hsd, bh, by, holm, bonferroni, scheffe, dunnett or none.")
    ] = "hsd",
    generalize: opt.Generalize = "",
    baseline: Annotated[str | None, typer.Option(help="Compare all others with this system only.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Compare these systems only; repeatable.")] = None,
    alpha: opt.Alpha = 0.05,
    fill: opt.Fill = "zero",
    shards: opt.Shards = 1,
    splits: opt.Splits_ = 1,
    kind: opt.Kind = "even",
    by: opt.By = None,
    corpus: opt.Corpus = None,
    seed: opt.Seed = 0,
    missing: opt.Missing = "refuse",
    names: opt.Names = "auto",
    depth: opt.Depth = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    chart: Annotated[
        Path | None, typer.Option(help="Draw the intervals to this file (html, png, svg, pdf, json).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a report on both claims to this HTML file.")
    ] = None,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Compare all systems with each other, and say what the result is about.

    Text shows the systems with intervals and groups; json, csv and latex hold all pairs. A report holds everything for
    these topics and for topics like these, in one file; with several splits also how far they agree.

    Example: shardwise compare qrels.txt runs/*.gz --measure AP --shards 5 --model MD6 --generalize topic
    """
    notes: tuple[str, ...] = ()
    if report is not None:
        _reportable(report, only, baseline)
    if len(inputs) == 1:
        scores = opt.load_scores(inputs[0], measure)
    else:
        collection = opt.load_runs(inputs, missing=missing, names=names, depth=depth, jobs=jobs, quiet=quiet)
        made = opt.make_splits(
            collection, shards=shards, splits=splits, kind=kind, by=by, corpus=corpus, seed=seed
        )
        found = opt.score_runs(collection, [measure or "AP"], made, jobs=jobs, quiet=quiet)
        scores = found[next(iter(found.data_vars))]
        notes = (*collection.notes, *(made.notes if made is not None else ()))
    chosen = model or ("MD6" if "shard" in scores.dims else "MD1")
    if report is not None:
        from shardwise.report.html import write_report  # drawing takes long to load

        settings = {"shards": shards, "splits": splits, "kind": kind, "missing": missing, "names": names}
        given = settings | {"by": by, "corpus": corpus, "depth": depth} if len(inputs) > 1 else {}
        how: dict[str, Any] = {
            "model": chosen,
            "method": method,
            "alpha": alpha,
            "fill": opt.fill_policy(fill),
        }
        write_report(report, scores, **how, notes=notes, inputs=expand(inputs), seed=seed, settings=given)
        notes = (*notes, f"report: {report}")
    scores, filled = _one_split(scores, report is not None), ""
    if fill != "leave" and bool(scores.isnull().any()):
        before = int(scores.isnull().sum())
        scores = fill_undefined(scores, opt.fill_policy(fill))
        filled = f"{before} undefined cells: {fill}"
    fit = anova(scores, Model.parse(chosen))
    wide = opt.dimensions(generalize)
    pairs = compare(fit, method, only=only or None, baseline=baseline, generalize=wide)
    if chart is not None:
        from shardwise.plot.intervals import interval_chart, save_chart  # drawing takes long to load

        save_chart(interval_chart(pairs, level=1 - alpha, measure=str(scores.name or "score")), chart)
    said = () if quiet else (*notes, *((filled,) if filled else ()))
    if format is Format.text:
        emit(systems_table(pairs, alpha), format, out, title=pairs.summary(alpha), notes=said)
    else:
        facts = {
            "method": pairs.title,
            "claim": pairs.claim,
            "model": fit.model.title,
            "measure": str(scores.name or "score"),
            "alpha": alpha,
            "anova": _anova_rows(fit),
        }
        emit(pairs.to_frame(), format, out, title=str(pairs), notes=said, facts=facts)


def systems_table(pairs: Comparisons, alpha: float) -> pd.DataFrame:
    """Systems best first with intervals, and letters where all pairs were compared."""
    frame = pairs.intervals(1 - alpha).reset_index().rename(columns={"estimate": "mean"})
    n = len(pairs.systems)
    if len(pairs) == n * (n - 1) // 2:
        frame["groups"] = pairs.letters(alpha)["letters"].to_numpy()
    return frame


def _reportable(report: Path, only: list[str] | None, baseline: str | None) -> None:
    """Refuse before the long work what would fail after it."""
    if only or baseline is not None:
        raise InputError(
            "a report compares all systems", remedy="leave out --only and --baseline, or leave out --report"
        )
    if not report.parent.is_dir():
        raise InputError("no such folder", where=str(report.parent), remedy="make it, or write elsewhere")


def _one_split(scores: xr.DataArray, first: bool) -> xr.DataArray:
    if "split" in scores.dims:
        if scores.sizes["split"] > 1 and not first:
            raise InputError(
                f"the scores hold {scores.sizes['split']} splits, and this compares one",
                remedy="add --report, which looks at all, or use shardwise stability",
            )
        scores = scores.isel(split=0, drop=True)
    return scores


def _anova_rows(fit: AnovaFit) -> list[dict[str, object]]:
    rows = fit.table.reset_index().to_dict("records")
    return [{str(k): None if v != v else v for k, v in row.items()} for row in rows]
