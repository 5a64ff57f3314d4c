"""Options of shardwise instances."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class InstancesOptions(opt.Written):
    """Compare systems of which there are several instances: random seeds, samples, sessions.

    All pairs, or all systems with --baseline, are compared as compare does it, by the moderated test of topics and
    instances (of samples, with --repeats samples); --method 'unified holm' takes each pair by itself. Verdicts on the
    margin have the same correction, Holm's where that is a joint law.

    Example: shardwise instances a/*.run -- b/*.run --qrels qrels.txt --margin 0.01

    Example: shardwise instances scores.csv --baseline base --side lower
    """

    runs: Annotated[
        list[str],
        typer.Argument(
            help="Scores: a table or logs, as for compare. Or runs of one system -- runs of the other; or all runs, "
            "with --instances.",
            metavar="SCORES | A... -- B...",
        ),
    ]
    qrels: Annotated[Path | None, typer.Option(help="The qrels file, for runs.")] = None
    instances: Annotated[
        list[str],
        typer.Option(
            help="Which file is what: a pattern such as '{system}_seed{instance}.run', folder, or a CSV file."
        ),
    ] = opt.several()
    deterministic: Annotated[
        list[str], typer.Option(help="A system with one run that is always the same; repeatable.")
    ] = opt.several()
    measure: opt.Measure = opt.several()
    generalize: Annotated[
        str,
        typer.Option(help="What the claim extends to: topic,instance (without this option), or topic alone."),
    ] = ""
    baseline: opt.Baselines = opt.several()
    only: Annotated[list[str], typer.Option(help="Compare these systems only; repeatable.")] = opt.several()
    repeats: opt.Repeats = None
    margin: Annotated[float, typer.Option(help="Differences smaller than this do not matter.", min=0.0)] = (
        0.01
    )
    side: Annotated[str, typer.Option(help="both (equivalent), lower (no worse) or superior.")] = "both"
    verdict: Annotated[
        str,
        typer.Option(
            help="By tost (one-sided tests), interval, or hpd (the posterior, with its probability)."
        ),
    ] = "tost"
    method: Annotated[
        str,
        typer.Option(
            help="A procedure such as 'unified holm' or 'samples holm'; of two systems also mixed, bootstrap, t-means "
            "or t-single. Without: moderated topic+instance."
        ),
    ] = ""
    design: Annotated[str, typer.Option(help="Of two systems: unified, nested, crossed or paper.")] = (
        "unified"
    )
    table: Annotated[
        str,
        typer.Option(
            help="What to show: pairs; seeds (each by itself); spread (of p over seeds); shares (of the variance); "
            "settings (the smallest that is no worse than --baseline)."
        ),
    ] = "pairs"
    alpha: opt.Alpha = 0.05
    seed: opt.Seed = 0
    missing: opt.Missing = ""
    fill: opt.Fill = "zero"
    columns: opt.Columns = opt.several()
    system: opt.System = opt.several()
    depth: opt.Depth = None
    jobs: opt.Jobs = None
    cluster: opt.Cluster = None
    chart: opt.Chart = None
    report: opt.Report = None
    calibration: opt.Calibration = None
