"""Options that several commands share, and the input they describe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import xarray as xr

from shardwise.cli.output import Format, progress_bar
from shardwise.errors import InputError
from shardwise.read.collection import Collection
from shardwise.read.reader import read_collection
from shardwise.read.scores import read_scores
from shardwise.score.scoring import score
from shardwise.shard.split import split
from shardwise.shard.splits import Splits

Inputs = Annotated[
    list[Path],
    typer.Argument(
        help="A qrels file followed by run files, folders or patterns; or one file of scores.",
        metavar="QRELS RUNS...",
    ),
]
Measures = Annotated[
    list[str], typer.Option("--measure", "-m", help="A measure, such as AP, P@10 or nDCG@20; repeatable.")
]
Shards = Annotated[int, typer.Option(help="Number of shards; 1 scores the whole collection.", min=1)]
Splits_ = Annotated[int, typer.Option("--splits", help="Number of independent splits.", min=1)]
Kind = Annotated[str, typer.Option(help="How documents fall into shards: even, die, covered or attribute.")]
By = Annotated[
    str | None,
    typer.Option(help="Expression whose match in a document's name is its shard (kind attribute)."),
]
Corpus = Annotated[
    str | None, typer.Option(help="Size of the whole corpus, or a file with its document names.")
]
Generalize = Annotated[
    str, typer.Option(help="What the claim extends to: nothing (''), topic, or topic,shard.")
]
Alpha = Annotated[float, typer.Option(help="Level of significance.", min=0.0, max=1.0)]
Fill = Annotated[str, typer.Option(help="Undefined cells: zero, one, lq, mean, drop, a number, or leave.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Missing = Annotated[str, typer.Option(help="Topics that a run lacks: refuse, zero or drop.")]
Names = Annotated[str, typer.Option(help="Systems are called by: auto, tag or file.")]
Depth = Annotated[int | None, typer.Option(help="Cut every ranking at this depth.", min=1)]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; all processors by default.", min=1)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Format_ = Annotated[Format, typer.Option("--format", "-f", help="How the result is written.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file.")]


Subtopics = Annotated[
    bool,
    typer.Option("--subtopics", help="The second column of the qrels is a subtopic (diversity measures)."),
]
Intents = Annotated[
    Path | None, typer.Option(help="File with the probability of each subtopic: topic subtopic p.")
]


def load_runs(
    inputs: list[Path],
    *,
    missing: str,
    names: str,
    depth: int | None,
    jobs: int | None,
    quiet: bool,
    subtopics: bool = False,
    intents: Path | None = None,
) -> Collection:
    """Read the qrels file and the runs that follow it."""
    if len(inputs) < 2:
        raise InputError(
            "runs are missing",
            remedy="give a qrels file and then the runs: shardwise score qrels.txt runs/*.gz",
        )
    choices: dict[str, Any] = {"missing": missing, "names": names, "subtopics": subtopics}
    if intents is not None:
        choices["intents"] = str(intents)
    with progress_bar(quiet) as bar:
        task = bar.add_task("reading runs", total=None)
        return read_collection(
            [str(path) for path in inputs[1:]],
            str(inputs[0]),
            depth=depth,
            jobs=jobs,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            **choices,
        )


def make_splits(
    collection: Collection,
    *,
    shards: int,
    splits: int,
    kind: str,
    by: str | None,
    corpus: str | None,
    seed: int,
) -> Splits | None:
    """Split the documents as the options say; none for one shard."""
    if kind == "attribute":
        return split(collection, kind="attribute", by=by)
    if shards == 1:
        return None
    size = int(corpus) if corpus is not None and corpus.isdecimal() else corpus
    how: dict[str, Any] = {"kind": kind, "corpus": size, "unlisted": "add"}
    return split(collection, shards, n_splits=splits, seed=seed, **how)


def score_runs(
    collection: Collection, measures: list[str], splits: Splits | None, *, jobs: int | None, quiet: bool
) -> xr.Dataset:
    """Score all systems with a progress bar."""
    with progress_bar(quiet) as bar:
        task = bar.add_task("scoring", total=None)
        return score(
            collection,
            measures,
            splits,
            jobs=jobs,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


def load_scores(path: Path, measure: str | None) -> xr.DataArray:
    """Read one measure from a file of scores."""
    table = read_scores(path)
    if isinstance(table, xr.DataArray):
        return table
    known = [str(name) for name in table.data_vars]
    if measure is None or measure not in known:
        raise InputError(
            f"holds {len(known)} measures",
            where=str(path),
            remedy=f"choose one with --measure: {', '.join(known)}",
        )
    return table[measure]


def dimensions(generalize: str) -> tuple[str, ...]:
    """Dimensions that a claim extends to, from an option such as ``topic,shard``."""
    return tuple(part.strip() for part in generalize.split(",") if part.strip())


def fill_policy(fill: str) -> str | float:
    """A policy for undefined cells, or the number to put in."""
    try:
        return float(fill)
    except ValueError:
        return fill
