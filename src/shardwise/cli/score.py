"""shardwise score: runs and qrels -> scores."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from shardwise.cli import inputs as opt
from shardwise.cli.output import Format, emit, writing
from shardwise.cli.shared import shared
from shardwise.io.scores import write_scores


@shared
def score_command(
    inputs: opt.Inputs,
    measure: opt.Measures = ["AP"],  # noqa: B006 - typer copies it
    shards: opt.Shards = 1,
    splits: opt.Splits_ = 1,
    kind: opt.Kind = "even",
    by: opt.By = None,
    corpus: opt.Corpus = None,
    seed: opt.Seed = 0,
    missing: opt.Missing = "refuse",
    names: opt.Names = "auto",
    depth: opt.Depth = None,
    subtopics: opt.Subtopics = False,
    intents: opt.Intents = None,
    jobs: opt.Jobs = None,
    quiet: opt.Quiet = False,
    format: opt.Format_ = Format.text,
    out: opt.Out = None,
) -> None:
    """Score every system on every topic, whole or in every shard of every split.

    Prints the means, best system first; --out writes all scores to a file (.nc, .csv, .tsv or .parquet).

    Example: shardwise score qrels.txt runs/*.gz --measure AP --shards 5 --splits 10 --out scores.nc
    """
    collection = opt.load_runs(
        inputs,
        missing=missing,
        names=names,
        depth=depth,
        jobs=jobs,
        quiet=quiet,
        subtopics=subtopics,
        intents=intents,
    )
    made = opt.make_splits(
        collection, shards=shards, splits=splits, kind=kind, by=by, corpus=corpus, seed=seed
    )
    scores = opt.score_runs(collection, measure, made, jobs=jobs, quiet=quiet)
    notes = () if quiet else (*collection.notes, *(made.notes if made is not None else ()))
    if out is not None:
        with writing(out):
            write_scores(scores, out)
    title = f"{_count(len(collection.systems), 'system')}, {_count(len(collection.topics), 'topic')}"
    if made is not None:
        title += f", {_count(made.n_splits, f'{made.kind} split')} into {_count(made.n_shards, 'shard')}"
    emit(means_table(scores), format, title=title, notes=(*notes, *_undefined(scores)))


def means_table(scores: xr.Dataset) -> pd.DataFrame:
    """Mean of each measure by system over all else, best first by the first measure."""
    others = [str(dim) for dim in scores.dims if dim != "system"]
    frame = scores.mean(others).to_dataframe()[list(scores.data_vars)]
    first = str(frame.columns[0])
    return frame.sort_values(first, ascending=False, kind="stable").reset_index()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _undefined(scores: xr.Dataset) -> tuple[str, ...]:
    """How many cells have no score, in words."""
    said = []
    for name, values in scores.data_vars.items():
        holes = int(values.isnull().sum())
        if holes:
            said.append(
                f"{name}: {holes} of {values.size} cells are undefined (no relevant document there)"
                " and are left out of the means"
            )
    return tuple(said)
