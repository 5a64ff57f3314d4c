"""shardwise design: how many topics, how deep a pool, at what cost."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
import xarray as xr

from shardwise import plot
from shardwise.cli import inputs as opt
from shardwise.cli.config import NothingGiven
from shardwise.cli.output import Format, draw, emit, progress
from shardwise.cli.shared import shared
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.io.scores import read_scores
from shardwise.planning.pools import pool_depth_study
from shardwise.planning.tables import design_curve, design_table
from shardwise.planning.topics import (
    METHODS,
    SHORT,
    min_diff_at,
    power_at,
    topics_for_interval,
    topics_for_power,
    width_at,
)
from shardwise.planning.variances import variance as estimate
from shardwise.scoring.scoring import score

design_app = typer.Typer(
    help="Design a test collection: how many topics, how deep a pool, at what cost.", no_args_is_help=True
)

Sources = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Scores to estimate the variance from: a table of scores, or a qrels file and runs.",
        metavar="[SCORES | QRELS RUNS...]",
    ),
]
Variance = Annotated[
    list[str] | None,
    typer.Option(help="Variance of a system's score: a number, or NAME=number for a measure; repeatable."),
]
Measures = Annotated[
    list[str] | None, typer.Option("--measure", "-m", help="Measures of the runs or scores; repeatable.")
]
VarianceMethod = Annotated[
    str, typer.Option(help="How to estimate it: two-way, one-way, percentile95 or residual.")
]
Numbers = list[float]
MinDiff = Annotated[
    Numbers, typer.Option("--min-diff", help="Range between best and worst to be found; repeatable.")
]
Systems = Annotated[list[int], typer.Option(help="Number of systems to compare; repeatable.")]
Alpha = Annotated[Numbers, typer.Option(help="Level of significance; repeatable.")]
Power = Annotated[Numbers, typer.Option(help="Power wanted; repeatable.")]
Width = Annotated[Numbers, typer.Option(help="Width of the interval of a difference; repeatable.")]
Topics = Annotated[
    list[int] | None, typer.Option(help="Turn it round: what this number of topics reaches; repeatable.")
]
Method = Annotated[str, typer.Option(help="Planned analysis: exact, sakai, two-way or paired-t.")]


@design_app.command("power")
@shared
def power_command(
    sources: Sources = None,
    variance: Variance = None,
    min_diff: MinDiff = [0.1],  # noqa: B006 - typer copies it, here and below
    systems: Systems = [2],  # noqa: B006
    alpha: Alpha = [0.05],  # noqa: B006
    power: Power = [0.8],  # noqa: B006
    topics: Topics = None,
    method: Method = "exact",
    measure: Measures = None,
    variance_method: VarianceMethod = "two-way",
    missing: opt.Missing = "refuse",
    jobs: opt.Jobs = None,
    chart: opt.Chart = None,
    quiet: opt.Quiet = False,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Topics needed to find a difference, or with --topics the power and the difference they reach.

    Example: shardwise design power --variance 0.053 --min-diff 0.1 --systems 10
    """
    known, notes = _variances(sources, variance, measure, variance_method, missing, jobs, quiet)
    rows = []
    for name, sigma_sq in known.items():
        for m, a in product(systems, alpha):
            given: dict[str, Any] = {"variance": sigma_sq, "systems": m, "alpha": a, "method": method}
            for d, p in product(min_diff, power):
                row = {"measure": name, "variance": sigma_sq, "systems": m, "alpha": a, "min_diff": d}
                if topics is None:
                    rows.append({**row, "power": p, "topics": topics_for_power(min_diff=d, power=p, **given)})
                    continue
                for n in topics:
                    reached = power_at(n=n, min_diff=d, **given)
                    least = min_diff_at(n=n, power=p, **given)
                    rows.append(
                        {**row, "topics": n, "power": reached, "target": p, "min_diff_at_target": least}
                    )
    if chart is not None:
        spread = _around(min_diff)
        pieces = [
            pd.DataFrame(
                {
                    "measure": _named(name, f"{m} systems", len(known), len(systems)),
                    "min_diff": spread,
                    "topics": topics_for_power(
                        variance=sigma_sq,
                        min_diff=spread,
                        systems=m,
                        alpha=alpha[0],
                        power=power[0],
                        method=method,
                    ),
                }
            )
            for (name, sigma_sq), m in product(known.items(), systems)
        ]
        draw(plot.topics_chart(pd.concat(pieces), "min_diff"), chart)
    shown = METHODS[SHORT.get(method, method)]
    title = f"{shown}: topics needed" if topics is None else f"{shown}: what the topics reach"
    emit(_plain(rows), format, out, title=title, notes=notes, facts={"method": shown})


@design_app.command("interval")
@shared
def interval_command(
    sources: Sources = None,
    variance: Variance = None,
    width: Width = [0.1],  # noqa: B006
    alpha: Alpha = [0.05],  # noqa: B006
    topics: Topics = None,
    measure: Measures = None,
    variance_method: VarianceMethod = "two-way",
    missing: opt.Missing = "refuse",
    jobs: opt.Jobs = None,
    chart: opt.Chart = None,
    quiet: opt.Quiet = False,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Topics needed for intervals of a given width, or with --topics the width they reach.

    Example: shardwise design interval --variance 0.053 --width 0.1
    """
    known, notes = _variances(sources, variance, measure, variance_method, missing, jobs, quiet)
    rows = []
    for (name, sigma_sq), a in product(known.items(), alpha):
        row = {"measure": name, "variance": sigma_sq, "alpha": a}
        if topics is None:
            rows += [
                {**row, "width": w, "topics": topics_for_interval(variance=sigma_sq, width=w, alpha=a)}
                for w in width
            ]
        else:
            rows += [{**row, "topics": n, "width": width_at(n=n, variance=sigma_sq, alpha=a)} for n in topics]
    if chart is not None:
        draw(plot.topics_chart(_interval_curve(known, width, alpha[0]), "width"), chart)
    title = "expected width of the interval for a difference of two systems"
    emit(_plain(rows), format, out, title=title, notes=notes, facts={"method": title})


@design_app.command("table")
@shared
def table_command(
    sources: Sources = None,
    variance: Variance = None,
    min_diff: MinDiff = [0.02, 0.05, 0.10, 0.20, 0.25],  # noqa: B006
    systems: Systems = [10, 100],  # noqa: B006
    alpha: Alpha = [0.01, 0.05],  # noqa: B006
    power: Power = [0.9, 0.8],  # noqa: B006
    width: Annotated[
        Numbers | None, typer.Option(help="A table for intervals of these widths instead; repeatable.")
    ] = None,
    method: Method = "exact",
    measure: Measures = None,
    variance_method: VarianceMethod = "two-way",
    missing: opt.Missing = "refuse",
    jobs: opt.Jobs = None,
    chart: opt.Chart = None,
    quiet: opt.Quiet = False,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Topics needed over a whole grid, measures side by side (Sakai 2014, Tables 4 to 8).

    --chart draws topics against the number of systems (his Figure 2), for the first min-diff, alpha and power, or
    against the width.

    Example: shardwise design table --variance AP=0.053 --variance nERR=0.1208 --method sakai
    """
    known, notes = _variances(sources, variance, measure, variance_method, missing, jobs, quiet)
    grid = design_table(
        known, min_diff=min_diff, systems=systems, alpha=alpha, power=power, method=method, width=width
    )
    names = (
        list(known) if width is not None else [f"{name}, power {p:g}" for p, name in product(power, known)]
    )
    flat = grid.set_axis(names, axis="columns").reset_index()
    if chart is not None and width is not None:
        draw(plot.topics_chart(_interval_curve(known, width, alpha[0]), "width"), chart)
    elif chart is not None:
        curve = design_curve(
            known,
            systems=np.unique(np.geomspace(2, max(2, *systems) * 2, 40).astype(int)).tolist(),
            min_diff=min_diff[0],
            alpha=alpha[0],
            power=power[0],
            method=method,
        )
        draw(plot.topics_chart(curve), chart)
    goal = "intervals" if width is not None else METHODS[SHORT.get(method, method)]
    facts: dict[str, Any] = {"method": goal, "variances": known}
    emit(flat, format, out, title=f"{goal}: topics needed", notes=notes, facts=facts)


@design_app.command("pools")
@shared
def pools_command(
    inputs: opt.Inputs,
    pool: Annotated[list[int], typer.Option(help="Pool depth to try; repeatable.")] = [10, 30, 50, 70, 100],  # noqa: B006
    measure: opt.Measures = ["AP"],  # noqa: B006
    min_diff: Annotated[float, typer.Option(help="Range between best and worst to be found.")] = 0.15,
    systems: Annotated[int, typer.Option(help="Number of systems to compare.")] = 10,
    alpha: Annotated[float, typer.Option(help="Level of significance.")] = 0.05,
    power: Annotated[float, typer.Option(help="Power wanted.")] = 0.8,
    width: Annotated[float, typer.Option(help="Width of the interval of a difference.")] = 0.15,
    method: Method = "exact",
    variance_method: VarianceMethod = "two-way",
    missing: opt.Missing = "refuse",
    names: opt.Names = "auto",
    jobs: opt.Jobs = None,
    chart: opt.Chart = None,
    quiet: opt.Quiet = False,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """What each pool depth costs: variance, topics and judgments, from runs that were judged deeper.

    Example: shardwise design pools qrels.txt runs/*.gz --pool 10 --pool 50 --pool 100 --chart cost.html
    """
    collection = opt.load_runs(inputs, missing=missing, names=names, depth=None, jobs=jobs, quiet=quiet)
    study = pool_depth_study(
        collection, pool, measure, min_diff=min_diff, systems=systems, power=power, width=width, alpha=alpha,
        method=method, variance_method=variance_method, jobs=jobs,
    )  # fmt: skip
    if chart is not None:
        draw(plot.pool_chart(study), chart)
    notes = () if quiet else (*collection.notes, *study.notes)
    facts = {"goals": list(study.goals), "variance_method": study.variance_method}
    emit(study.table, format, out, title="; ".join(study.goals), notes=notes, facts=facts)


def _variances(
    sources: list[Path] | None,
    given: list[str] | None,
    measures: list[str] | None,
    method: str,
    missing: str,
    jobs: int | None,
    quiet: bool,
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Variance of each measure, as stated or as estimated from scores or runs, and how it was found."""
    if bool(sources) == bool(given):
        kind = InputError if sources else NothingGiven
        raise kind(
            "a variance is needed, stated or estimated",
            remedy="give --variance 0.053, or a table of scores, or a qrels file and runs, but one of them",
        )
    if given:
        return _stated(given), ()
    paths = list(sources or ())
    if len(paths) == 1:
        policy: Any = missing
        table = read_scores(paths[0], missing=policy)
        whole = _chosen(table, measures, paths[0]) if isinstance(table, xr.Dataset) else table
    else:
        collection = opt.load_runs(paths, missing=missing, names="auto", depth=None, jobs=jobs, quiet=quiet)
        with progress("scoring", quiet) as told:
            whole = score(collection, measures or ["AP"], jobs=jobs, no_relevant="drop", progress=told)
    found = estimate(whole, method)
    each = found if isinstance(found, dict) else {found.measure or "score": found}
    notes = tuple(str(one) for one in each.values())
    return {name: one.sigma_sq for name, one in each.items()}, () if quiet else notes


def _chosen(table: xr.Dataset, measures: list[str] | None, path: Path) -> xr.Dataset:
    """The measures asked for, or all of them."""
    unknown = [name for name in measures or () if name not in table.data_vars]
    if unknown:
        held = ", ".join(map(str, table.data_vars))
        raise InputError(f"holds no {unknown[0]}", where=str(path), remedy=f"choose among {held}")
    return table[measures] if measures else table


def _stated(given: list[str]) -> dict[str, float]:
    known: dict[str, float] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            known[name or ("topics" if len(given) == 1 else text)] = float(number)
        except ValueError:
            raise InputError(
                f"--variance {text!r} is not a number", remedy="write 0.053, or AP=0.053"
            ) from None
    return known


def _around(values: list[float]) -> Floats:
    """Points on both sides of the values asked for, evenly spread on a logarithmic axis."""
    return np.unique(np.round(np.geomspace(min(values) / 2, max(values) * 2, 25), 5))


def _interval_curve(known: dict[str, float], width: list[float], alpha: float) -> pd.DataFrame:
    spread = _around(width)
    pieces = [
        pd.DataFrame(
            {
                "measure": name,
                "width": spread,
                "topics": topics_for_interval(variance=sigma_sq, width=spread, alpha=alpha),
            }
        )
        for name, sigma_sq in known.items()
    ]
    return pd.concat(pieces)


def _named(measure: str, systems: str, measures: int, counts: int) -> str:
    """What a line of the chart is called: only what tells it from the others."""
    if counts == 1:
        return measure
    return systems if measures == 1 else f"{measure}, {systems}"


def _plain(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a table; the measure is left out where a lone variance has no name."""
    frame = pd.DataFrame(rows)
    return frame.drop(columns="measure") if set(frame["measure"]) == {"topics"} else frame
