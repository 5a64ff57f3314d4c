"""shardwise score: runs and qrels -> scores."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands.score import ScoreOptions
from shardwise.cli.inputs import RunInputs
from shardwise.cli.output import emit, writing
from shardwise.io.scores import write_scores


def score_runs(options: ScoreOptions) -> None:
    """Score runs, print the means, and write all scores where ``--out`` says."""
    source = RunInputs.of(options, tables=False)
    with on_cluster(options.cluster, options.quiet) as executor:
        read = source.streamed(executor) if options.stream or executor is not None else source.read()
    scores = read.scores
    if options.out is not None:
        with writing(options.out):
            write_scores(scores, options.out)
    sizes = scores.sizes
    title = f"{_count(sizes['system'], 'system')}, {_count(sizes['topic'], 'topic')}"
    if "shard" in sizes:
        split = _count(sizes.get("split", 1), f"{source.kind} split")
        title += f", {split} into {_count(sizes['shard'], 'shard')}"
    notes = () if options.quiet else read.notes
    emit(means_table(scores), options.format, title=title, notes=(*notes, *_undefined(scores)))


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
