"""The experiment: many instances of the search system at each sample rate, scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import shardwise as sw
from selective_search.engine import Engine, build, collection, rankings, tokenize
from selective_search.partition import partition, tf_idf
from selective_search.redde import central_sample, select_shards
from selective_search.texts import Texts
from shardwise.core.arrays import Codes, Grades, Ints, make_generator
from shardwise.io.instances import flag_deterministic

EXHAUSTIVE = "exhaustive"
AGAIN = "again"  # the largest rate once more, with instances of its own
Run = tuple[Codes, Grades, Ints]


@dataclass(frozen=True, slots=True)
class Setting:
    """What all instances have in common."""

    rates: tuple[float, ...] = (
        0.005,
        0.01,
        0.02,
        0.04,
        0.08,
        0.16,
        0.32,
    )  # of documents in the central index
    instances: int = 100  # of each rate
    shards: int = 50
    searched: int = 20  # shards at most
    hits: int = 100  # of the central index that vote
    cluster_share: float = 0.1  # of documents that k-means sees
    depth: int = 1000
    measures: tuple[str, ...] = ("P@10", "nDCG@10", "AP")
    seed: int = 2015


def rate_name(rate: float) -> str:
    """How a system is called.

    >>> rate_name(0.005)
    '0.5%'
    """
    return f"{100 * rate:g}%"


def score_instances(
    texts: Texts, setting: Setting, progress: Callable[[str], None] | None = None
) -> xr.Dataset:
    """Scores (system, instance, topic) of exhaustive search and of every instance at every rate.

    `searched` and `shards` tell, as means over topics, the share of documents and the number of shards searched.
    Instance m at a rate depends on (seed, rate, m) only: all draw their own partition and their own sample. System
    "again" is the largest rate with further instances, so that a comparison between equals can be made.
    """
    tokens = tokenize(texts.documents)
    engine = build(texts, tokens)
    vectors = tf_idf(tokens)
    whole = rankings(engine, np.ones(len(engine.docs), bool), setting.depth)
    parts = [_scored(engine, [whole], [(1.0, float("nan"))], EXHAUSTIVE, setting.measures)]
    systems = [(rate_name(rate), rate, 0) for rate in setting.rates]
    systems.append((AGAIN, max(setting.rates), setting.instances))
    # one thread: sums in the same order everywhere, hence the same clusters
    with threadpool_limits(1):
        for name, rate, first in systems:
            numbers = range(first, first + setting.instances)
            runs, costs = zip(
                *(one_instance(engine, vectors, setting, rate, m) for m in numbers), strict=True
            )
            parts.append(_scored(engine, runs, costs, name, setting.measures))
            if progress is not None:
                progress(name)
    scores = xr.concat(parts, "system", join="outer")
    facts = {name: value for name, value in asdict(setting).items() if name != "measures"}
    rates = [float("nan"), *(rate for _, rate, _ in systems)]
    scores = scores.assign_coords(rate=("system", rates)).assign_attrs(documents=len(texts.docnos), **facts)
    return flag_deterministic(scores, [EXHAUSTIVE])


def one_instance(
    engine: Engine, vectors: Any, setting: Setting, rate: float, instance: int
) -> tuple[Run, tuple[float, float]]:
    """Partition, sample, select and search: rankings, and the share of documents and number of shards searched."""
    rng = make_generator(setting.seed, round(1e6 * rate), instance)
    shard = partition(vectors, setting.shards, setting.cluster_share, rng)
    sample = central_sample(len(shard), rate, rng)
    chosen = select_shards(engine.scores, sample, shard, setting.shards, setting.hits, setting.searched)
    run = rankings(engine, chosen[engine.topic_of, shard[engine.docs]], setting.depth)
    size = np.bincount(shard, minlength=setting.shards)
    return run, (float((chosen @ size).mean() / len(shard)), float(chosen.sum(axis=1).mean()))


def _scored(
    engine: Engine,
    runs: Sequence[Run],
    costs: Sequence[tuple[float, float]],
    system: str,
    measures: Sequence[str],
) -> xr.Dataset:
    """(system, instance, topic) scores of the runs of one system."""
    scores = sw.score(collection(engine, runs, [str(m) for m in range(len(runs))]), list(measures), jobs=1)
    scores = scores.rename(system="instance").assign_coords(instance=range(len(runs)))
    cost = np.array(costs)[None]
    added = {
        "searched": (("system", "instance"), cost[..., 0]),
        "shards": (("system", "instance"), cost[..., 1]),
    }
    return scores.expand_dims(system=[system]).assign(added).transpose("system", "instance", "topic")
