"""Scores on splits in which every topic has a relevant document in every part, as V17 and FF21 need them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core.errors import InputError
from shardwise.core.scores import level_names
from shardwise.io.collection import Collection
from shardwise.papers.experiment import name_topics
from shardwise.scoring.scoring import score
from shardwise.sharding.split import Corpus, Draw, split

TRIES = 200
"""Draws of a split until every topic is covered; then topics are left out."""


def score_covered(
    runs: Collection,
    shards: int,
    measures: Sequence[str],
    *,
    n_splits: int,
    seed: int,
    corpus: Corpus | None,
    draw: Draw,
    jobs: int | None,
) -> tuple[xr.Dataset, pd.DataFrame]:
    """Score runs on splits that cover every topic; leave out the topics that no draw covers (V17 §4).

    Parameters
    ----------
    runs : Collection
        Runs and judgments.
    shards : int
        Number of parts.
    measures : sequence of str
        Measures.
    n_splits : int
        Number of splits.
    seed : int
        Seed of the splits.
    corpus : int, path or iterable of str, optional
        Size of the corpus or its documents.
    draw : str
        "even" parts (FF21) or a "die" for each document (V17).
    jobs : int, optional
        Number of threads.

    Returns
    -------
    scores : Dataset
        Scores by split, topic, system and shard, all defined.
    left_out : DataFrame
        One row per topic left out: `shards, topic`.
    """
    how = {"n_splits": n_splits, "seed": seed, "corpus": corpus, "unlisted": "add"}
    try:
        splits = split(runs, shards, kind="covered", draw=draw, max_tries=TRIES, **how)  # type: ignore[arg-type]
    except InputError:
        # some topic has too few relevant documents: draw once, and leave out topics without any in some part
        splits = split(runs, shards, kind=draw, **how)  # type: ignore[arg-type]
    scores = score(runs, list(measures), splits, jobs=jobs)
    defined = np.ones(scores.sizes["topic"], dtype=bool)
    for table in scores.data_vars.values():
        defined &= table.notnull().all([d for d in table.dims if d != "topic"]).to_numpy()
    first = scores[next(iter(scores.data_vars))]
    absent = [name for name, kept in zip(level_names(first, "topic"), defined, strict=True) if not kept]
    if defined.sum() < 2:
        raise InputError(
            f"{len(absent)} of {defined.size} topics lack a relevant document in some of {shards} parts",
            remedy="ask for fewer parts",
        )
    return scores.isel(topic=np.flatnonzero(defined)), pd.DataFrame({"shards": shards, "topic": absent})


def describe_left_out(frame: pd.DataFrame | None, topics: int) -> tuple[str, ...]:
    """Return which topics were left out, by number of parts.

    Parameters
    ----------
    frame : DataFrame, optional
        Rows of `score_covered`.
    topics : int
        Topics of the collection.

    Returns
    -------
    tuple of str
        One sentence per number of parts.
    """
    if frame is None or frame.empty:
        return ()
    return tuple(
        f"With {shards} parts, {len(part)} of {topics} topics lack relevant documents in some part of some split "
        f"and are left out: {name_topics(list(dict.fromkeys(part['topic'])))}."
        for shards, part in frame.drop_duplicates().groupby("shards")
    )
