"""shardwise instances: is one non-deterministic system better, no worse, or equivalent?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
import xarray as xr

from shardwise.cli import inputs as opt
from shardwise.cli.config import VERSUS
from shardwise.cli.output import Format, emit, progress
from shardwise.cli.shared import shared
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.equivalence import equivalence
from shardwise.core.errors import InputError
from shardwise.io.files import expand
from shardwise.io.instances import InstanceRuns, read_instances
from shardwise.procedures.running import compare, compare_instances
from shardwise.scoring.scoring import score


@shared
def instances_command(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Runs of one system -- runs of the other; or all runs, with --instances.",
            metavar="A... -- B...",
        ),
    ],
    qrels: Annotated[Path, typer.Option(help="The qrels file.")],
    instances: Annotated[
        list[str] | None,
        typer.Option(
            help="Which file is what: a pattern such as '{system}_seed{instance}.run', folder, or a CSV file."
        ),
    ] = None,
    deterministic: Annotated[
        list[str] | None, typer.Option(help="A system with one run that is always the same; repeatable.")
    ] = None,
    measure: Annotated[str, typer.Option("--measure", "-m", help="The measure.")] = "AP",
    margin: Annotated[
        float, typer.Option(help="Differences smaller than this do not matter.", min=0.0)
    ] = 0.01,
    side: Annotated[str, typer.Option(help="both (equivalent), lower (no worse) or superior.")] = "both",
    method: Annotated[str, typer.Option(help="mixed, bootstrap, t-means or t-single.")] = "mixed",
    design: Annotated[str, typer.Option(help="unified, nested, crossed or paper.")] = "unified",
    alpha: opt.Alpha = 0.05,
    seed: opt.Seed = 0,
    missing: opt.Missing = "refuse",
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Compare systems of which there are several instances: random seeds, samples, sessions.

    Two systems are compared by the test for instances; more than two by a nested mixed model with Holm's correction.

    Example: shardwise instances a/*.run -- b/*.run --qrels qrels.txt --margin 0.01
    """
    with progress("reading runs", quiet) as told:
        choices: dict[str, Any] = {"missing": missing, "jobs": jobs, "progress": told}
        read = _read(runs, qrels, instances or [], deterministic or [], choices)
    with progress("scoring", quiet) as told:
        found = read.arrange(score(read.collection, measure, jobs=jobs, progress=told))
    table = found[next(iter(found.data_vars))]
    names = [str(name) for name in table["system"].values]
    if len(names) == 2:
        frame, title, claim = _pair(table, names, method, design, margin, side, alpha, seed)
    else:
        frame, title, claim = _many(table, margin, side, alpha)
    notes = () if quiet else read.collection.notes
    facts = {"claim": claim, "margin": margin, "side": side, "alpha": alpha}
    emit(frame, format, out, title=title, notes=notes, facts=facts)


def _read(
    runs: list[str], qrels: Path, instances: list[str], deterministic: list[str], choices: dict[str, Any]
) -> InstanceRuns:
    """Runs of two systems on either side of the separator, or of any number named by a pattern."""
    if VERSUS not in runs:
        if not instances:
            raise InputError(
                "whose runs are these?",
                remedy="write A... -- B... for two systems, or --instances '{system}_seed{instance}.run'",
            )
        naming: Any = instances[0] if len(instances) == 1 else instances
        return read_instances(runs, qrels, naming, deterministic=deterministic, **choices)
    at = runs.index(VERSUS)
    groups = {"a": runs[:at], "b": [run for run in runs[at + 1 :] if run != VERSUS]}
    if not all(groups.values()):
        raise InputError("one of the two systems has no runs", remedy="write A... -- B...")
    named = {
        str(path): (system, str(number))
        for system, given in groups.items()
        for number, path in enumerate(expand(given), start=1)
    }
    return read_instances(list(named), qrels, named, deterministic=deterministic, **choices)


def _pair(
    table: xr.DataArray,
    names: list[str],
    method: str,
    design: str,
    margin: float,
    side: str,
    alpha: float,
    seed: int,
) -> tuple[pd.DataFrame, str, str]:
    first, second = (table.sel(system=name) for name in names)
    return _judged(compare_instances(first, second, method, design=design, seed=seed), margin, side, alpha)


def _many(table: xr.DataArray, margin: float, side: str, alpha: float) -> tuple[pd.DataFrame, str, str]:
    return _judged(compare(table, "unified holm"), margin, side, alpha)


def _judged(pairs: Comparisons, margin: float, side: str, alpha: float) -> tuple[pd.DataFrame, str, str]:
    """Pairs with their verdict against the margin, where the test has standard errors with df."""
    frame, said = pairs.to_frame(1.0 - alpha), pairs.summary(alpha)
    if np.isfinite(frame[["se", "df"]]).all().all():
        verdict = equivalence(pairs, margin, side, alpha=alpha)
        said = f"{said}\n{verdict}"
        frame = frame.merge(
            verdict.table.drop(columns="difference"), on=["a", "b"], suffixes=("", f"_{side}")
        )
    return frame, "\n".join([said, *pairs.notes]), pairs.claim
