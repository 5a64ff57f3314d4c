"""shardwise simulate: a TREC-like collection as files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd

from shardwise.cli.commands.simulate import SimulateOptions
from shardwise.cli.options import Format
from shardwise.cli.output import emit
from shardwise.core.errors import InputError, Option
from shardwise.lab.simulate_collection import SimulatedCollection, simulate_collection


def simulate(options: SimulateOptions) -> None:
    """Write a simulated campaign, and print the true quality of each system."""
    made = simulate_collection(
        topics=options.topics,
        systems=options.systems,
        depth=options.depth,
        corpus=options.corpus,
        relevant=options.relevant,
        seed=options.seed,
    )
    runs, qrels = write_files(made, options.out)
    if not options.quiet or options.format is not Format.text:
        frame = pd.DataFrame({"system": made.systems, "quality": made.quality})
        title = f"wrote {len(made.systems)} runs to {runs} and judgments to {qrels}; the true quality of each system:"
        facts = {"runs": str(runs), "qrels": str(qrels), "seed": options.seed}
        emit(frame, options.format, title=title, facts=facts)


def write_files(made: SimulatedCollection, folder: Path) -> tuple[Path, Path]:
    """Write a simulated collection beside its place and move it there, so that no file is ever half there."""
    runs = folder / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    mine = {f"{system}.run" for system in made.systems}
    other = next((path for path in sorted(runs.iterdir()) if path.name not in mine), None)
    if other is not None:
        raise InputError(
            "is there already, and would be counted as one of the runs",
            where=str(other),
            remedy=("choose an empty folder with ", Option("out")),
        )
    with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as draft:
        runs, qrels = made.write(draft)
        for file in [*sorted(runs.iterdir()), qrels]:
            file.replace(folder / file.relative_to(draft))
    return folder / "runs", folder / "qrels.txt"
