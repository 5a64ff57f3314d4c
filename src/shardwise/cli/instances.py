"""shardwise instances: is one non-deterministic system better, no worse, or equivalent?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.cli.commands.instances import InstancesOptions
from shardwise.cli.config import VERSUS
from shardwise.cli.output import emit, progress
from shardwise.cli.shared import current
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.equivalence import SIDES, equivalence
from shardwise.core.arguments import chosen
from shardwise.core.errors import InputError, Option
from shardwise.io.files import expand
from shardwise.io.instances import InstanceRuns, read_instances
from shardwise.procedures.running import DESIGNS, METHODS, compare, compare_instances
from shardwise.scoring.scoring import score


def compare_runs(options: InstancesOptions) -> None:
    """Compare systems by their instances, and print what may be said of them."""
    format = options.shown
    chosen(options.method, "method", METHODS)
    chosen(options.design, "design", DESIGNS)
    chosen(options.side, "side", SIDES)
    measure = _measure(options.measure)
    margin, side, alpha, quiet = options.margin, options.side, options.alpha, options.quiet
    with progress("reading runs", quiet) as told:
        choices: dict[str, Any] = {"missing": options.missing, "jobs": options.jobs, "progress": told}
        read = _read(options.runs, options.qrels, options.instances, options.deterministic, choices)
    with progress("scoring", quiet) as told:
        found = read.arrange(score(read.collection, measure, jobs=options.jobs, progress=told))
    table = found[next(iter(found.data_vars))]
    names = [str(name) for name in table["system"].values]
    if len(names) == 2:
        frame, title, claim = _pair(
            table, names, options.method, options.design, margin, side, alpha, options.seed
        )
    else:
        _refuse_for_many()
        frame, title, claim = _many(table, margin, side, alpha)
    notes = () if quiet else read.collection.notes
    facts = {"claim": claim, "margin": margin, "side": side, "alpha": alpha}
    emit(frame, format, options.out, title=title, notes=notes, facts=facts)


def _measure(named: list[str]) -> str:
    if len(named) > 1:
        raise InputError(
            f"one measure here, not {len(named)} ({', '.join(named)})", remedy="run it once each"
        )
    return named[0] if named else "AP"


def _refuse_for_many() -> None:
    """More than two systems are compared by one method, whatever was asked for."""
    call = current()
    for name in ("method", "design"):
        if call is not None and name in call.given:
            raise InputError(
                (
                    Option(name),
                    " is for two systems; more are compared by the unified test with Holm's correction",
                ),
                remedy="leave it out",
            )


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
