"""Options of shardwise stability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from shardwise.cli import completing
from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class StabilityOptions(opt.Written):
    """Compare the systems on many splits and count how often two splits agree (Faggioli & Ferro 2021).

    --table shows other sides of the same splits, such as F19's Table 2 (summary) and V17's Table 5 (divided).

    Example: shardwise stability qrels.txt runs/*.gz --measure AP --shards 5 --splits 11
    """

    inputs: opt.Inputs
    measure: opt.Measure = opt.several()
    model: Annotated[
        str, typer.Option(help="MD2 to MD6, or a formula.", autocompletion=completing.models)
    ] = "MD6"
    method: Annotated[
        str,
        typer.Option(
            help="hsd, bh, by, holm, bonferroni, scheffe or none; without: hsd, for a bootstrap bh."
        ),
    ] = ""
    generalize: opt.Generalize = ""
    fit: opt.Fit = "anova"
    resamples: opt.Resamples = None
    null: opt.Null = None
    tails: opt.Tails = None
    density: opt.Density = None
    table: Annotated[
        str,
        typer.Option(
            help="agreement of each two splits; summary: rank correlation, widths and counts; found: pairs by one "
            "split, most and all; divided: pairs by how the splits are divided; models, methods or fills side by side."
        ),
    ] = "agreement"
    alpha: opt.Alpha = 0.05
    fill: opt.Fill = "zero"
    shards: opt.Shards = 5
    splits: opt.Splits = 11
    kind: opt.Kind = "even"
    texts: opt.Texts = None
    proportions: opt.Proportions = None
    corpus: opt.Corpus = None
    seed: opt.Seed = 0
    missing: opt.Missing = ""
    columns: opt.Columns = opt.several()
    system: opt.System = opt.several()
    names: opt.Names = "auto"
    depth: opt.Depth = None
    jobs: opt.Jobs = None
    cluster: opt.Cluster = None
