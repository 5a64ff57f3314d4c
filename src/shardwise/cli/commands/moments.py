"""Options of shardwise moments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class MomentsOptions(opt.Written):
    """Compare systems on tables that are longer than memory, or that grow day by day.

    Each file is read once, block by block; counts, means and cross-products of the systems are all that is kept, and
    --save keeps them in a small file. Files of moments and tables may be mixed: they are added. With --margins the
    products of different systems are left out, which is several times as fast where there are hundreds of systems.

    Example: shardwise moments monday.parquet --save week.moments

    Example: shardwise moments week.moments tuesday.parquet --save week.moments
    """

    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Tables of items by systems (Parquet, Arrow, CSV, TSV, NetCDF, Zarr, npy; a folder of Parquet files), "
            "or files of moments.",
            metavar="TABLE|MOMENTS...",
        ),
    ]
    method: Annotated[
        str | None,
        typer.Option(
            help="A procedure that needs moments alone: of moderated, t or MD1, such as 't holm'.",
            show_default="moderated; MD1 hsd topic with --margins",
        ),
    ] = None
    margins: Annotated[
        bool,
        typer.Option("--margins", help="Keep means and variances alone: enough for MD1 and its corrections."),
    ] = False
    baseline: opt.Baselines = opt.several()
    alpha: opt.Alpha = 0.05
    missing: Annotated[
        str, typer.Option(help="Items without a score of every system: refuse, or drop and count them.")
    ] = "refuse"
    columns: opt.Columns = opt.several()
    save: Annotated[
        Path | None, typer.Option(help="Write the moments of all inputs to this file.", callback=opt.file)
    ] = None
    pairs: Annotated[
        Path | None, typer.Option(help="Write all pairs to this CSV file.", callback=opt.file)
    ] = None
    seed: opt.Seed = 0
