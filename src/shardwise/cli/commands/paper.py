"""Options of shardwise paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class PaperOptions:
    """Write what a paper needs: a table, a figure, the methods paragraph, its references, and every number by name.

    table.tex has the measures of all systems, the best in bold, and superscripts for those that are significantly
    beaten; with --baseline, for the baselines that are. It fits into one column or, as table*, across the page.

    Example: shardwise paper qrels.txt runs/*.gz -m AP -m nDCG@10 --baseline bm25 --out paper/
    """

    inputs: opt.Inputs
    out: opt.Folder = Path("paper")
    measure: opt.Measures = opt.several()
    method: opt.Method = ""
    generalize: opt.Generalize = ""
    baseline: opt.Baselines = opt.several()
    columns: Annotated[
        int | None,
        typer.Option(
            help="1 for a table of one column, 2 for one across the page; without: as it fits.", min=1, max=2
        ),
    ] = None
    alpha: opt.Alpha = 0.05
    fill: opt.Fill = "zero"
    shards: opt.Shards = 1
    splits: opt.Splits = 1
    kind: opt.Kind = "even"
    by: opt.By = None
    texts: opt.Texts = None
    corpus: opt.Corpus = None
    seed: opt.Seed = 0
    missing: opt.Missing = "refuse"
    names: opt.Names = "auto"
    depth: opt.Depth = None
    jobs: opt.Jobs = None
    quiet: opt.Quiet = False
    format: opt.Shown = opt.Format.text
