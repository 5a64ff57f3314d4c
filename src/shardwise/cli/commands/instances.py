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

    Two systems are compared by the test for instances; more than two pair by pair, with Holm's correction.

    Example: shardwise instances a/*.run -- b/*.run --qrels qrels.txt --margin 0.01
    """

    runs: Annotated[
        list[str],
        typer.Argument(
            help="Runs of one system -- runs of the other; or all runs, with --instances.",
            metavar="A... -- B...",
        ),
    ]
    qrels: Annotated[Path, typer.Option(help="The qrels file.")]
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
    margin: Annotated[float, typer.Option(help="Differences smaller than this do not matter.", min=0.0)] = (
        0.01
    )
    side: Annotated[str, typer.Option(help="both (equivalent), lower (no worse) or superior.")] = "both"
    method: Annotated[str, typer.Option(help="Of two systems: mixed, bootstrap, t-means or t-single.")] = (
        "mixed"
    )
    design: Annotated[str, typer.Option(help="Of two systems: unified, nested, crossed or paper.")] = (
        "unified"
    )
    alpha: opt.Alpha = 0.05
    seed: opt.Seed = 0
    missing: opt.Missing = "refuse"
    jobs: opt.Jobs = None
