"""Options of shardwise replicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from shardwise.cli import options as opt

HELP = "Make the tables and figures of a published paper of your own runs, with what was printed beside them."


@dataclass(frozen=True, kw_only=True)
class F19Options:
    """Ferro & Sanderson 2019: Tables 1 and 2, Figures 1, 3, 4 and 5.

    Writes f19.html and f19.md into the folder, all rows as CSV and the charts as SVG. Stopped and called again with
    the same options, it takes up where it was.

    Example: shardwise replicate f19 qrels.txt runs/*.gz --out f19/
    """

    inputs: opt.Inputs
    out: opt.Folder
    measure: opt.Measures = opt.several("AP", "P@10", "RBP(p=0.8)", "nDCG(base=10)")
    shards: Annotated[list[int], typer.Option(help="A number of shards; repeatable.", min=2)] = opt.several(
        2, 3, 4, 5, 10, 25, 50
    )
    splits: Annotated[int, typer.Option(help="Independent splits of each number of shards.", min=2)] = 10
    alpha: opt.Alpha = 0.05
    fill: opt.Fill = "zero"
    corpus: opt.Corpus = None
    seed: opt.Seed = 0
    missing: opt.Missing = ""
    names: opt.Names = "auto"
    depth: opt.Depth = None
    jobs: opt.Jobs = None
    quiet: opt.Quiet = False
