"""shardwise compare: which systems differ, and what may be claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from shardwise import plot
from shardwise.cli import inputs as opt
from shardwise.cli.commands.compare import CompareOptions
from shardwise.cli.options import Format
from shardwise.cli.output import draw, emit, progress
from shardwise.cli.shared import current
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import InputError
from shardwise.core.model import Model
from shardwise.fits.anova import AnovaFit, anova
from shardwise.fits.bootstrap import BootstrapFit, bootstrap_anova
from shardwise.numerics.corrections import known
from shardwise.procedures.running import compare


def compare_systems(options: CompareOptions) -> None:
    """Compare systems and print who differs; draw it and write a report of it where asked."""
    format, alpha, seed, jobs, quiet = options.shown, options.alpha, options.seed, options.jobs, options.quiet
    bootstrap = opt.bootstrap_options(options.fit, options.resamples)
    if options.model:
        opt.model(options.model)  # refused before the long work
    if options.method:
        known(options.method)
    fill = opt.fill_policy(options.fill)
    if options.report is not None:
        _reportable(options.only, options.baseline, bootstrap)
    elif options.calibration is not None:
        raise InputError("--calibration does nothing without a report", remedy="add --report report.html")
    source = opt.RunInputs.of(options).one_measure()
    read = source.read()
    scores, notes = opt.single(read), read.notes
    chosen = options.model or ("MD6" if "shard" in scores.dims else "MD1")
    method = options.method or ("bh" if bootstrap else "hsd")
    if options.report is not None:
        how: dict[str, Any] = {
            "model": chosen, "method": method, "alpha": alpha, "calibration": options.calibration, "fill": fill,
        }  # fmt: skip
        _write_report(options.report, scores, source, read.files, notes, seed, quiet, **how)
        notes = (*notes, f"report: {options.report}")
    scores, told = opt.filled(_one_split(scores, options.report is not None), options.fill)
    fitted = _fit(scores, opt.model(chosen), bootstrap, options.resamples, seed, jobs, quiet)
    wide = opt.dimensions(options.generalize)
    pairs = compare(fitted, method, only=options.only or None, baseline=options.baseline, generalize=wide)
    if options.chart is not None:
        draw(plot.interval_chart(pairs, level=1 - alpha, measure=str(scores.name or "score")), options.chart)
    said = () if quiet else (*notes, *told)
    if format is Format.text:
        emit(systems_table(pairs, alpha), format, options.out, title=pairs.summary(alpha), notes=said)
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
        emit(pairs.to_frame(1 - alpha), format, options.out, title=str(pairs), notes=said, facts=facts)


def systems_table(pairs: Comparisons, alpha: float) -> pd.DataFrame:
    """Systems best first with intervals, and letters where all pairs were compared."""
    frame = pairs.intervals(1 - alpha).reset_index().rename(columns={"estimate": "mean"})
    n = len(pairs.names)
    if len(pairs) == n * (n - 1) // 2:
        frame["groups"] = pairs.letters(alpha)["letters"].to_numpy()
    return frame


def _reportable(only: list[str], baseline: str | None, bootstrap: bool) -> None:
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
    source: opt.RunInputs,
    used_files: tuple[Path, ...],
    notes: tuple[str, ...],
    seed: int,
    quiet: bool,
    **how: Any,
) -> None:
    from shardwise.analysis.trust import usual_repetitions
    from shardwise.report.html import write_report  # drawing takes long to load

    files = [str(file) for file in used_files]
    corpus = source.corpus
    listed = [corpus] if corpus is not None and not corpus.isdecimal() and not source.table else []
    used: dict[str, Any] = {"scores": files[0]} if source.table else {"qrels": files[0], "runs": files[1:]}
    if not source.table:
        used["measure"] = str(scores.name)
    if how["calibration"] is None:
        how["calibration"] = usual_repetitions(scores.sizes["system"])
    used |= {name: how[name] for name in ("model", "method", "calibration")}
    call = current()
    recipe = call.recipe(without=source.idle, **used) if call is not None else None
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
