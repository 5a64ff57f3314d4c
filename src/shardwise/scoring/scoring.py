"""Score every system on every topic, whole or in every shard of every split, in one pass over the rankings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import xarray as xr

from shardwise.core.arrays import Bools, Floats
from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.scoring.families import families, without_relevant
from shardwise.scoring.measures.names import Measure, parse_measure
from shardwise.sharding.splits import Splits

NoRelevant = Literal["undefined", "zero", "drop", "refuse"]
Task = tuple[int, int, int]  # family of measures, split, first topic


def score(
    collection: Collection,
    measures: object | Sequence[object],
    splits: Splits | None = None,
    *,
    jobs: int | None = None,
    no_relevant: NoRelevant = "undefined",
    progress: Callable[[int, int], None] | None = None,
) -> xr.Dataset:
    """Score all systems of a collection, one variable a measure, named as the measure is.

    Dimensions are (topic, system), with splits (split, topic, system, shard). A cell is NaN exactly where
    the topic has no relevant document in the shard, and 0 where the system retrieved nothing there. Topics
    without a relevant document in the whole collection stay ``undefined`` (NaN), score ``zero`` as in
    trec_eval, are ``drop``-ped or ``refuse``-d. ``progress`` is called with (tasks done, tasks in all).

    >>> from shardwise.io.collection import Collection
    >>> runs = Collection(("a", "b"), ("1",), np.frombuffer(b"d1d2d3", np.uint8), np.arange(0, 7, 2),
    ...     docs=np.array([0, 1, 2, 2, 1], np.int32), starts=np.array([0, 3, 5]),
    ...     grades=np.array([0, 1, 1, 1, 1], np.int16), qrel_docs=np.array([0, 1, 2], np.int32),
    ...     qrel_grades=np.array([0, 1, 1], np.int16), qrel_starts=np.array([0, 3]))
    >>> score(runs, ["RR", "P@2"])["RR"].values
    array([[0.5, 1. ]])
    """
    if no_relevant not in get_args(NoRelevant):
        known = ", ".join(get_args(NoRelevant))
        raise InputError(f"no_relevant={no_relevant!r} is not a policy", remedy=f"choose one of {known}")
    wanted = _parsed(measures)
    splits = None if splits is None else _fitting(collection, splits)
    out = _compute(collection, wanted, splits, jobs, progress)
    barren = without_relevant(collection, wanted)
    scores = _labelled(out, wanted, collection, splits)
    return _apply(scores, wanted, barren, no_relevant)


def _parsed(measures: object | Sequence[object]) -> list[Measure]:
    several = measures if isinstance(measures, Sequence) and not isinstance(measures, str) else [measures]
    wanted = list(dict.fromkeys(parse_measure(measure) for measure in several))
    if not wanted:
        raise InputError("no measure was given", remedy="name one, for instance AP")
    return wanted


def _fitting(collection: Collection, splits: Splits) -> Splits:
    """The splits in the document codes of the collection, every shard number within bounds."""
    splits = splits.for_collection(collection)
    if splits.shards.size and not (splits.shards.min() >= 0 and splits.shards.max() < splits.n_shards):
        raise InputError(
            f"a document is in a shard outside 0 to {splits.n_shards - 1}",
            remedy="every document needs a shard",
        )
    return splits


def _compute(
    collection: Collection,
    measures: Sequence[Measure],
    splits: Splits | None,
    jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> Floats:
    """(measure, split, topic, system, shard) scores, each task writing its own cells."""
    n_shards = 1 if splits is None else splits.n_shards
    shards = np.zeros((1, 0), dtype=np.int16) if splits is None else splits.shards
    shards = np.ascontiguousarray(shards, dtype=np.int16)
    n_topics, n_systems = len(collection.topics), len(collection.systems)
    kinds = families(collection, measures)
    parts = [np.empty((len(kind.places), len(shards), n_topics, n_systems, n_shards)) for kind in kinds]
    workers = _workers(jobs)
    step = max(1, min(-(-n_topics // 4), n_topics * len(shards) // (8 * workers)))
    tasks = [
        (k, j, t) for k in range(len(kinds)) for j in range(len(shards)) for t in range(0, n_topics, step)
    ]

    def run(task: Task) -> int:
        k, j, t = task
        return kinds[k].kernel(shards, n_shards, j, t, min(t + step, n_topics), parts[k])

    for done, misfit in enumerate(_results(run, tasks, workers), start=1):
        if misfit >= 0:
            system, topic = divmod(misfit, n_topics)
            raise InputError(
                f"the grades of system {collection.systems[system]!r} on topic {collection.topics[topic]!r} "
                "are not those of the judgments",
                remedy="read runs and judgments together",
            )
        if progress is not None:
            progress(done, len(tasks))
    if len(parts) == 1:
        return parts[0]
    out = np.empty((len(measures), *parts[0].shape[1:]))
    for kind, part in zip(kinds, parts, strict=True):
        out[list(kind.places)] = part
    return out


def _workers(jobs: int | None) -> int:
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise InputError(
            f"jobs={jobs} leaves nobody to work", remedy="give 1 or more, or None for all processors"
        )
    return jobs


def _results(run: Callable[[Task], int], tasks: list[Task], workers: int) -> Iterator[int]:
    if workers == 1 or len(tasks) == 1:
        yield from map(run, tasks)
        return
    with ThreadPoolExecutor(workers) as pool:
        for future in as_completed([pool.submit(run, task) for task in tasks]):
            yield future.result()


def _labelled(
    out: Floats, measures: Sequence[Measure], collection: Collection, splits: Splits | None
) -> xr.Dataset:
    coords: dict[str, npt.NDArray[np.generic] | list[str]] = {
        "topic": list(collection.topics),
        "system": list(collection.systems),
    }
    attrs: dict[str, str | int] = {"notes": "; ".join(collection.notes)}
    dims: tuple[str, ...] = ("topic", "system")
    if splits is None:
        out = out[:, 0, :, :, 0]
    else:
        dims = ("split", "topic", "system", "shard")
        coords |= {"split": np.arange(splits.n_splits), "shard": list(splits.labels)}
        attrs |= {"split_kind": splits.kind, "split_seed": splits.seed}
    variables = {
        str(measure): (dims, out[m], {"long_name": measure.definition.text, "cite": measure.definition.cite})
        for m, measure in enumerate(measures)
    }
    return xr.Dataset(variables, coords=coords, attrs=attrs)


def _apply(
    scores: xr.Dataset, measures: Sequence[Measure], barren: Bools, no_relevant: NoRelevant
) -> xr.Dataset:
    """Follow the policy for topics without relevant documents, and count what stays undefined."""
    topics = [str(topic) for topic in scores["topic"].values[barren.any(axis=0)]]
    if topics and no_relevant == "refuse":
        m = int(np.argmax(barren.any(axis=1)))
        raise InputError(
            f"{len(topics)} topics have no relevant document for {measures[m]}: {_some(topics)}",
            remedy="leave them out, or choose no_relevant='undefined', 'zero' or 'drop'",
        )
    if topics and no_relevant == "drop":
        scores = scores.isel(topic=np.flatnonzero(~barren.any(axis=0)))
        scores.attrs["dropped_topics"] = " ".join(topics)
    for m, measure in enumerate(measures):
        values = scores[str(measure)]
        if no_relevant == "zero" and barren[m].any():
            values[{"topic": np.flatnonzero(barren[m])}] = 0.0
            values.attrs["zeroed_topics"] = int(barren[m].sum())
        # a cell is undefined for all systems or for none
        values.attrs["undefined"] = int(np.isnan(values.isel(system=0).values).sum()) * values.sizes["system"]
    return scores


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
