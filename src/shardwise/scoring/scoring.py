"""Score every system on every topic, whole or in every shard of every split, in one pass over the rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import xarray as xr

from shardwise.core.arguments import CHUNKS, Progress, chosen, mapped, workers
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import counted
from shardwise.core.errors import InputError, Option
from shardwise.io.collection import Collection
from shardwise.scoring.families import Family, families, without_relevant
from shardwise.scoring.kernels.arguments import Part, frozen
from shardwise.scoring.measures import Measure, parse_measure
from shardwise.sharding.splits import Splits

NoRelevant = Literal["undefined", "zero", "drop", "refuse"]


def score(
    collection: Collection,
    measures: object | Sequence[object],
    splits: Splits | None = None,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    no_relevant: NoRelevant = "undefined",
    progress: Progress | None = None,
) -> xr.Dataset:
    """Score all systems of a collection, one variable a measure, named as the measure is.

    Dimensions are (topic, system), with splits (split, topic, system, shard). A cell is NaN exactly where
    the topic has no relevant document in the shard, and 0 where the system retrieved nothing there.

    Parameters
    ----------
    collection
        Runs and judgments, as `read_collection` returns them.
    measures
        One measure or several, by name (``"AP"``, ``"nDCG(dcg='exp-log2')@20"``) or as an object whose text is the
        name, such as those of ir_measures.
    splits
        Splits of the documents into shards; None scores the whole rankings.
    jobs
        Threads that work side by side; None for as many as there are processors. The scores do not depend on it.
    executor
        Where to score instead of in threads: any executor of `concurrent.futures`, also of processes or machines. Each
        task takes the rankings with it, so that it pays for many splits or measures of runs that fit into memory;
        `score_runs` has workers read their runs.
    no_relevant
        What becomes of topics without a relevant document in the whole collection: they stay ``"undefined"`` (NaN),
        score ``"zero"`` as in trec_eval, are left out (``"drop"``) or refused (``"refuse"``).
    progress
        Called with (tasks done, tasks in all).

    Returns
    -------
    xarray.Dataset
        One variable a measure; the attribute ``undefined`` of each counts its undefined cells.

    >>> from shardwise.io.collection import Collection
    >>> runs = Collection(("a", "b"), ("1",), np.frombuffer(b"d1d2d3", np.uint8), np.arange(0, 7, 2),
    ...     docs=np.array([0, 1, 2, 2, 1], np.int32), starts=np.array([0, 3, 5]),
    ...     grades=np.array([0, 1, 1, 1, 1], np.int16), qrel_docs=np.array([0, 1, 2], np.int32),
    ...     qrel_grades=np.array([0, 1, 1], np.int16), qrel_starts=np.array([0, 3]))
    >>> score(runs, ["RR", "P@2"])["RR"].values
    array([[0.5, 1. ]])
    """
    chosen(
        no_relevant, "no_relevant", get_args(NoRelevant), what="policy for topics without relevant documents"
    )
    wanted = parsed_measures(measures)
    splits = None if splits is None else _fitting(collection, splits)
    out = _compute(collection, wanted, splits, jobs, executor, progress)
    barren = without_relevant(collection, wanted)
    scores = _labelled(out, wanted, collection, splits)
    return follow_policy(scores, wanted, barren, no_relevant)


def parsed_measures(measures: object | Sequence[object]) -> list[Measure]:
    """Measures by name or as objects, each once, in the order given."""
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
    executor: Executor | None,
    progress: Progress | None,
) -> Floats:
    """(measure, split, topic, system, shard) scores, each task writing its own cells."""
    n_shards = 1 if splits is None else splits.n_shards
    shards = frozen(np.zeros((1, 0)) if splits is None else splits.shards, np.int16)
    n_topics, n_systems = len(collection.topics), len(collection.systems)
    kinds = families(collection, measures)
    outs = [np.empty((len(kind.places), len(shards), n_topics, n_systems, n_shards)) for kind in kinds]
    # topics of a task: threads share the rankings, while a task for others takes them along
    parts = 8 * workers(jobs) if executor is None else CHUNKS
    step = max(1, min(-(-n_topics // 4) if executor is None else n_topics, n_topics * len(shards) // parts))
    places = [
        (kind, j, t, min(t + step, n_topics))
        for kind in range(len(kinds))
        for j in range(len(shards))
        for t in range(0, n_topics, step)
    ]
    if executor is None:
        tasks = [
            (kinds[k], outs[k], Part(shards, n_shards, collection.n_docs, j, t, end))
            for k, j, t, end in places
        ]
        misfits = mapped(_score_part, tasks, jobs=jobs, progress=progress)
    else:
        elsewhere = [
            (kinds[k], Part(shards[j : j + 1], n_shards, collection.n_docs, 0, t, end), outs[k].shape)
            for k, j, t, end in places
        ]
        found = mapped(_score_elsewhere, elsewhere, executor=executor, progress=progress)
        misfits = _put(found, outs, places)
    for misfit in misfits:
        if misfit >= 0:
            system, topic = divmod(misfit, n_topics)
            raise InputError(
                f"the grades of system {collection.systems[system]!r} on topic {collection.topics[topic]!r} "
                "are not those of the judgments",
                remedy="read runs and judgments together",
            )
    if len(outs) == 1:
        return outs[0]
    together = np.empty((len(measures), *outs[0].shape[1:]))
    for kind, out in zip(kinds, outs, strict=True):
        together[list(kind.places)] = out
    return together


def _score_part(task: tuple[Family, Floats, Part]) -> int:
    family, out, part = task
    return family.score(part, out)


def _score_elsewhere(task: tuple[Family, Part, tuple[int, ...]]) -> tuple[int, Floats]:
    """The scores of a part, for who shares no memory with the asker."""
    family, part, shape = task
    out = np.empty((shape[0], 1, *shape[2:]))
    misfit = family.score(part, out)
    return misfit, out[:, 0, part.first : part.end]


def _put(
    found: Iterable[tuple[int, Floats]], outs: Sequence[Floats], places: Sequence[tuple[int, int, int, int]]
) -> Iterator[int]:
    """Put what came back in its place."""
    for (misfit, part), (kind, split, first, end) in zip(found, places, strict=True):
        outs[kind][:, split, first:end] = part
        yield misfit


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


def follow_policy(
    scores: xr.Dataset,
    measures: Sequence[Measure],
    barren: Bools,
    no_relevant: NoRelevant,
    systems: int | None = None,
) -> xr.Dataset:
    """Follow the policy for topics without relevant documents, and count what stays undefined, of so many systems."""
    topics = [str(topic) for topic in scores["topic"].values[barren.any(axis=0)]]
    if topics and no_relevant == "refuse":
        m = int(np.argmax(barren.any(axis=1)))
        raise InputError(
            f"{counted(len(topics), 'topic')} without a relevant document for {measures[m]}: {_some(topics)}",
            remedy=(
                *("leave them out, or choose ", Option("no_relevant", "undefined"), ", "),
                *(Option("no_relevant", "zero"), " or ", Option("no_relevant", "drop")),
            ),
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
        holes = int(np.isnan(values.isel(system=0).values).sum())
        values.attrs["undefined"] = holes * (systems or values.sizes["system"])
    return scores


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
