"""shardwise compare: which systems differ, and what may be claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
import xarray as xr

from shardwise import plot
from shardwise.cli import inputs as opt
from shardwise.cli.output import Format, draw, emit, progress
from shardwise.cli.shared import current, shared
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import InputError
from shardwise.core.model import Model
from shardwise.fits.anova import AnovaFit, anova
from shardwise.fits.bootstrap import BootstrapFit, bootstrap_anova
from shardwise.io.files import expand
from shardwise.procedures.running import compare


@shared
def compare_command(
    inputs: opt.Inputs,
    measure: opt.Measure = None,
    model: Annotated[str, typer.Option(help="MD1 to MD6, or a formula such as 'topic + system'.")] = "",
    method: Annotated[
        str,
        typer.Option(
            help="hsd, bh, by, holm, bonferroni, scheffe, dunnett or none; without: hsd, for a bootstrap bh."
        ),
    ] = "",
    generalize: opt.Generalize = "",
    fit: opt.Fit = "anova",
    resamples: opt.Resamples = None,
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
    chart: opt.Chart = None,
    report: opt.Report = None,
    calibration: Annotated[
        int | None,
        typer.Option(
            help="Tables that a report simulates to see whether its methods can be trusted; 0 for none.",
            min=0,
        ),
    ] = None,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Compare all systems with each other, and say what the result is about.

    Text shows the systems with intervals and groups; json, csv and latex hold all pairs. A report holds everything for
    these topics and for topics like these, in one file; with several splits also how far they agree.

    Example: shardwise compare qrels.txt runs/*.gz --measure AP --shards 5 --model MD6 --generalize topic
    """
    bootstrap = opt.bootstrap_options(fit, resamples)
    if model:
        opt.model(model)  # refused before the long work
    if report is not None:
        _reportable(only, baseline, bootstrap)
    scores, notes = opt.load_one(
        inputs, measure, shards=shards, splits=splits, kind=kind, by=by, corpus=corpus, seed=seed, missing=missing,
        names=names, depth=depth, jobs=jobs, quiet=quiet,
    )  # fmt: skip
    chosen = model or ("MD6" if "shard" in scores.dims else "MD1")
    method = method or ("bh" if bootstrap else "hsd")
    if report is not None:
        how: dict[str, Any] = {"model": chosen, "method": method, "alpha": alpha, "calibration": calibration}
        _write_report(report, scores, inputs, corpus, notes, seed, quiet, fill=opt.fill_policy(fill), **how)
        notes = (*notes, f"report: {report}")
    scores, told = opt.filled(_one_split(scores, report is not None), fill)
    fitted = _fit(scores, opt.model(chosen), bootstrap, resamples, seed, jobs, quiet)
    wide = opt.dimensions(generalize)
    pairs = compare(fitted, method, only=only or None, baseline=baseline, generalize=wide)
    if chart is not None:
        draw(plot.interval_chart(pairs, level=1 - alpha, measure=str(scores.name or "score")), chart)
    said = () if quiet else (*notes, *told)
    if format is Format.text:
        emit(systems_table(pairs, alpha), format, out, title=pairs.summary(alpha), notes=said)
    else:
        table = fitted.anova if isinstance(fitted, BootstrapFit) else fitted
        facts = {
            "method": pairs.title,
            "claim": pairs.claim,
            "model": table.model.title,
            "measure": str(scores.name or "score"),
            "alpha": alpha,
            "anova": table.table.reset_index().to_dict("records"),
        }
        emit(pairs.to_frame(), format, out, title=str(pairs), notes=said, facts=facts)


def systems_table(pairs: Comparisons, alpha: float) -> pd.DataFrame:
    """Systems best first with intervals, and letters where all pairs were compared."""
    frame = pairs.intervals(1 - alpha).reset_index().rename(columns={"estimate": "mean"})
    n = len(pairs.names)
    if len(pairs) == n * (n - 1) // 2:
        frame["groups"] = pairs.letters(alpha)["letters"].to_numpy()
    return frame


def _reportable(only: list[str] | None, baseline: str | None, bootstrap: bool) -> None:
    """Refuse before the long work what would fail after it."""
    if only or baseline is not None:
        raise InputError(
            "a report compares all systems", remedy="leave out --only and --baseline, or leave out --report"
        )
    if bootstrap:
        raise InputError(
            "a report rests on an ANOVA", remedy="leave out --fit bootstrap, or leave out --report"
        )


def _write_report(
    path: Path,
    scores: xr.DataArray,
    inputs: list[Path],
    corpus: str | None,
    notes: tuple[str, ...],
    seed: int,
    quiet: bool,
    **how: Any,
) -> None:
    from shardwise.analysis.trust import usual_repetitions
    from shardwise.report.html import write_report  # drawing takes long to load

    files = [str(file) for file in expand(inputs)]
    listed = [corpus] if corpus is not None and not corpus.isdecimal() and len(inputs) > 1 else []
    used: dict[str, Any] = (
        {"scores": files[0]} if len(inputs) == 1 else {"qrels": files[0], "runs": files[1:]}
    )
    if len(inputs) > 1:
        used["measure"] = str(scores.name)
    if how["calibration"] is None:
        how["calibration"] = usual_repetitions(scores.sizes["system"])
    used |= {name: how[name] for name in ("model", "method", "calibration")}
    call = current()
    recipe = call.recipe(**used) if call is not None else None
    with progress("report: simulating tables, comparing splits", quiet) as told:
        write_report(
            path,
            scores,
            **how,
            notes=notes,
            inputs=[*files, *listed],
            seed=seed,
            recipe=recipe,
            progress=told,
        )


def _fit(
    scores: xr.DataArray,
    model: Model,
    bootstrap: bool,
    resamples: int | None,
    seed: int,
    jobs: int | None,
    quiet: bool,
) -> AnovaFit | BootstrapFit:
    if not bootstrap:
        return anova(scores, model)
    with progress("resamples", quiet) as told:
        return bootstrap_anova(scores, model, n_resamples=resamples, seed=seed, jobs=jobs, progress=told)


def _one_split(scores: xr.DataArray, first: bool) -> xr.DataArray:
    if "split" in scores.dims:
        if scores.sizes["split"] > 1 and not first:
            raise InputError(
                f"the scores hold {scores.sizes['split']} splits, and this compares one",
                remedy="add --report, which looks at all, or use shardwise stability",
            )
        scores = scores.isel(split=0, drop=True)
    return scores
