"""Options of shardwise simulate and of shardwise demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from shardwise.cli import options as opt


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """Simulate a retrieval campaign with known system quality and write it as TREC files.

    Writes runs/ and qrels.txt into the folder, and prints the true quality of each system.

    Example: shardwise simulate --topics 50 --systems 129 --out demo/
    """

    out: opt.Folder
    topics: Annotated[int, typer.Option(help="Number of topics.", min=1)] = 50
    systems: Annotated[int, typer.Option(help="Number of systems.", min=1)] = 20
    depth: Annotated[int, typer.Option(help="Documents a system retrieves for a topic.", min=1)] = 1000
    corpus: Annotated[int, typer.Option(help="Documents in the corpus.", min=4)] = 528_155
    relevant: Annotated[float, typer.Option(help="Relevant documents a topic has on average.", min=1)] = 80.0
    seed: opt.Seed = 0
    quiet: opt.Quiet = False
    format: opt.Shown = opt.Format.text


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Simulate a campaign, score it on shards, and say which systems differ, for both claims.

    Example: shardwise demo
    """

    out: opt.Folder = Path("demo")
    seed: opt.Seed = 7
    jobs: opt.Jobs = None
    quiet: opt.Quiet = False
    format: opt.Shown = opt.Format.text
