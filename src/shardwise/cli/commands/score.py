"""Options of shardwise score."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Score every system on every topic, whole or in every shard of every split.

    Prints the means, best system first; --out writes all scores to a file (.nc, .csv, .tsv or
    .parquet) or to a Zarr store (.zarr), in chunks of a split and some systems.

    Example: shardwise score qrels.txt runs/*.gz --measure AP --shards 5 --splits 10 --out scores.nc
    """

    inputs: opt.Inputs
    measure: opt.Measures = opt.several("AP")
    shards: opt.Shards = 1
    splits: opt.Splits = 1
    kind: opt.Kind = "even"
    by: opt.By = None
    texts: opt.Texts = None
    proportions: opt.Proportions = None
    corpus: opt.Corpus = None
    seed: opt.Seed = 0
    missing: opt.Missing = "refuse"
    names: opt.Names = "auto"
    depth: opt.Depth = None
    subtopics: opt.Subtopics = False
    intents: opt.Intents = None
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Read a few files at a time: runs that do not fit into memory together."
        ),
    ] = False
    cluster: opt.Cluster = None
    jobs: opt.Jobs = None
    quiet: opt.Quiet = False
    format: opt.Shown = opt.Format.text
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write all scores to this file or Zarr store.", callback=opt.file_or_store
        ),
    ] = None
