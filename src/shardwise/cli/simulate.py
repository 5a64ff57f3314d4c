"""shardwise simulate: a TREC-like collection as files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from shardwise.cli import inputs as opt
from shardwise.cli.output import Format, emit
from shardwise.cli.shared import shared
from shardwise.lab.simulate_collection import SimulatedCollection, simulate_collection


@shared
def simulate_command(
    out: opt.Folder,
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

    Writes runs/ and qrels.txt into the folder, and prints the true quality of each system.

    Example: shardwise simulate --topics 50 --systems 129 --out demo/
    """
    made = simulate_collection(
        topics=topics, systems=systems, depth=depth, corpus=corpus, relevant=relevant, seed=seed
    )
    runs, qrels = write_files(made, out)
    if not quiet or format is not Format.text:
        frame = pd.DataFrame({"system": made.systems, "quality": made.quality})
        title = f"wrote {len(made.systems)} runs to {runs} and judgments to {qrels}; the true quality of each system:"
        emit(frame, format, title=title, facts={"runs": str(runs), "qrels": str(qrels), "seed": seed})


def write_files(made: SimulatedCollection, folder: Path) -> tuple[Path, Path]:
    """Write a simulated collection beside its place and move it there, so that no file is ever half there."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as draft:
        runs, qrels = made.write(draft)
        for file in [*sorted(runs.iterdir()), qrels]:
            file.replace(folder / file.relative_to(draft))
    return folder / "runs", folder / "qrels.txt"
