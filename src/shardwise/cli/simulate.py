"""shardwise simulate: a TREC-like collection as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from shardwise.cli import inputs as opt
from shardwise.cli.output import Format, emit
from shardwise.study.simulate_collection import simulate_collection


def simulate_command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write runs/ and qrels.txt into.")],
    topics: Annotated[int, typer.Option(help="Number of topics.", min=1)] = 50,
    systems: Annotated[int, typer.Option(help="Number of systems.", min=1)] = 20,
    depth: Annotated[int, typer.Option(help="Documents a system retrieves for a topic.", min=1)] = 1000,
    corpus: Annotated[int, typer.Option(help="Documents in the corpus.", min=4)] = 528_155,
    relevant: Annotated[float, typer.Option(help="Relevant documents a topic has on average.", min=1)] = 80.0,
    seed: opt.Seed = 0,
    format: opt.Format_ = Format.text,
    quiet: opt.Quiet = False,
) -> None:
    """Simulate a retrieval campaign with known system quality and write it as TREC files.

    Example: shardwise simulate --topics 50 --systems 129 --out demo/
    """
    made = simulate_collection(
        topics=topics, systems=systems, depth=depth, corpus=corpus, relevant=relevant, seed=seed
    )
    runs, qrels = made.write(out)
    if not quiet:
        frame = pd.DataFrame({"system": made.systems, "true quality": made.quality})
        emit(frame, format, title=f"wrote {len(made.systems)} runs to {runs} and judgments to {qrels}")
