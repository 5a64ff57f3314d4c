"""Options of shardwise gate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class GateOptions(opt.Written):
    """May the new system replace the one in use? Better, no worse, worse, or too little data to say.

    Exit code 0 where it is better or no worse, 3 where it is not; as Markdown it is a comment for a pull request.
    Several seeds or samples of a system are taken as such.

    Example: shardwise gate base.csv new.csv --margin 0.01
    """

    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Scores of the system in use, then of the new one; or one file with --baseline and --system.",
            metavar="BASE [NEW]",
        ),
    ]
    baseline: Annotated[str | None, typer.Option(help="The system in use, in a file of several.")] = None
    new: Annotated[str | None, typer.Option("--system", help="The new system, in a file of several.")] = None
    measure: opt.Measure = opt.several()
    margin: Annotated[float, typer.Option(help="The largest loss that does not matter.", min=0.0)] = 0.01
    power: Annotated[
        float,
        typer.Option(
            help="Probability with which equal systems should pass.", min=0.0, max=1.0, callback=opt.level
        ),
    ] = 0.8
    alpha: opt.Alpha = 0.05
    missing: opt.Missing = "refuse"
