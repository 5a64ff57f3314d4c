"""shardwise score: score runs with judgments."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import nullcontext
from itertools import pairwise, starmap
from pathlib import Path

import numpy as np

from shardwise.cli.cluster import on_cluster
from shardwise.cli.inputs import InputReader
from shardwise.cli.output import Result, show_progress
from shardwise.cli.parsing import Options
from shardwise.core.claim import format_count
from shardwise.core.libraries import pd, xr
from shardwise.core.scores import is_lower
from shardwise.io.collection import Collection
from shardwise.io.files import SUFFIXES, raise_limit
from shardwise.io.scores import write_scores
from shardwise.io.stores import ENDING, HELD
from shardwise.scoring.scoring import describe_conventions
from shardwise.scoring.streamed import score_runs as score_in_blocks
from shardwise.sharding.splits import Splits

GROWTH_OF_RUNS = 5
"""How many times its size a compressed run has in memory."""


def score_runs(options: Options) -> Result:
    """Score runs, return the means, and write all scores where ``--out`` says."""
    reader = InputReader(options, tables=False, unfinished=True).check()
    store = options.out if options.out is not None and options.out.suffix.lower() == ENDING else None
    with on_cluster(options.cluster, options.quiet) as executor:
        packed = [(path.suffix in SUFFIXES, path.stat().st_size) for path in reader.list_files()[1:]]
        needed = sum(GROWTH_OF_RUNS * size if compressed else size for compressed, size in packed)
        in_parts = executor is not None or needed > reader.memory
        if in_parts:
            scores, notes = score_in_parts(reader, executor, store)
        else:
            with raise_limit(reader.memory) if options.max_memory else nullcontext():
                scores, notes, _ = reader.score_runs()
    if options.out is not None and not (in_parts and store):
        write_scores(scores, options.out)
    sizes = scores.sizes
    title = f"{format_count(sizes['system'], 'system')}, {format_count(sizes['topic'], 'topic')}"
    if "shard" in sizes:
        split = format_count(sizes.get("split", 1), f"{options.kind.partition(':')[0]} split")
        title += f", {split} into {format_count(sizes['shard'], 'shard')}"
    table, holes = average_scores(scores)
    # A run that lacks a topic has its own note.
    counts = {name: int(scores[name].attrs.get("undefined", n)) for name, n in holes.items()}
    lasting = tuple(
        f"{name}: {count} of {scores[name].size} cells are undefined (no relevant document there)"
        " and are left out of the means"
        for name, count in counts.items()
        if count
    )
    written = () if options.out is None else (options.out,)
    return Result((title,), table, notes, lasting, written=written)


def score_in_parts(
    reader: InputReader, executor: Executor | None, store: Path | None
) -> tuple[xr.Dataset, tuple[str, ...]]:
    """Score run files a few at a time, here or where an executor works, into a store if there is one."""
    options = reader.options
    notes: list[str] = []

    def split(collection: Collection) -> Splits:
        splits = reader.split_documents(collection)
        assert splits is not None, "asked for where there are shards"
        notes.extend(splits.notes)
        return splits

    sharded = options.shards > 1 or options.kind.startswith(("uneven", "attribute"))
    qrels, *runs = map(str, reader.list_files())
    with show_progress("scoring files", options.quiet) as bar:
        scores = score_in_blocks(
            runs,
            qrels,
            list(options.measure or ("AP",)),
            split if sharded else None,
            executor=executor,
            out=store,
            progress=bar,
            **reader.choose_conventions(),
        )
    read = filter(None, scores.attrs["notes"].split("; "))
    return scores, (*read, *notes, *describe_conventions(scores))


def average_scores(scores: xr.Dataset) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the mean of each measure by system, best first by the first measure, and undefined cells of each."""
    others = [str(dim) for dim in scores.dims if dim != "system"]
    holes = dict.fromkeys(map(str, scores.data_vars), 0)
    frames = []
    # Where scores are read when they are looked at, a few systems are held at a time; never one by itself, as a mean
    # over dimensions between which systems lie adds in another order then. Means are taken of copies.
    systems = scores.sizes["system"]
    each = max(1, sum(values.size for values in scores.data_vars.values()) // systems)
    edges = [0, *range(step := max(2, HELD // (4 * each)), systems - 1, step), systems]
    for some in starmap(slice, pairwise(edges)):
        held = scores.isel(system=some).load()
        # Means, sums of counts and geometric means of logarithms, as measures say.
        means = held.mean(others)
        for name, values in held.data_vars.items():
            kind = values.attrs.get("summary", "mean")
            if kind == "sum":
                means[name] = values.sum(others)
            elif kind == "geometric mean":
                means[name] = np.exp(means[name])
            holes[str(name)] += int(values.isnull().sum())
        frames.append(means.to_dataframe()[list(scores.data_vars)])
    frame = pd.concat(frames)
    first = str(frame.columns[0])
    lower = is_lower(scores[first])
    return frame.sort_values(first, ascending=lower, kind="stable").reset_index(), holes
