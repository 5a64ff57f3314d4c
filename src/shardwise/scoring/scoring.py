"""Score every system on every topic, whole or in every shard of every split, in one pass over the rankings."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from shardwise.core.arguments import CHUNKS, Progress, count_workers, map_parallel, validate_choice
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import xr
from shardwise.core.scores import UNBOUNDED
from shardwise.io.collection import Collection
from shardwise.io.trec.conventions import Conventions, NoRelevant
from shardwise.scoring.families import find_barren_topics, make_families
from shardwise.scoring.kernels import TopicRange, freeze_array
from shardwise.scoring.measures import Measure, parse_measures
from shardwise.sharding.splits import Splits

VISIBLE = 1e-4
"""Changes of a mean score by other conventions that are worth a sentence."""


def score(
    collection: Collection,
    measures: object | Sequence[object],
    splits: Splits | None = None,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    no_relevant: NoRelevant | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Score all systems of a collection, one variable a measure, named as the measure is.

    Dimensions are (topic, system), with splits (split, topic, system, shard). In shards a cell is NaN exactly where
    the topic has no relevant document in the shard, and 0 where the system retrieved nothing there. On the whole
    collection the conventions decide that it was read with: unless others were chosen, a topic without relevant
    documents counts 0.

    Parameters
    ----------
    collection : Collection
        Runs and judgments, as `read_collection` returns them.
    measures : object or sequence of object
        One measure or several, by name (``"AP"``, ``"nDCG(dcg='exp-log2')@20"``), by the name of another program
        (``"map"``, ``"trec_eval:official"``), or as an object whose text is the name, such as those of ir_measures.
    splits : Splits, optional
        Splits of the documents into shards; None scores the whole rankings.
    jobs : int, optional
        Threads that work side by side; None for as many as there are processors. The scores do not depend on it.
    executor : Executor, optional
        Where to score instead of in threads: any executor of `concurrent.futures`, also of processes or machines. Each
        task takes the rankings with it, so that it pays for many splits or measures of runs that fit into memory;
        `score_runs` has workers read their runs.
    no_relevant : {"zero", "undefined", "drop", "refuse"}, optional
        What becomes of topics without a relevant document in the whole collection: they score ``"zero"`` as in
        trec_eval, stay ``"undefined"`` (NaN), are left out (``"drop"``) or refused (``"refuse"``). None follows the
        conventions of the collection; with splits they stay undefined.
    progress : callable, optional
        Called with (tasks done, tasks in all).

    Returns
    -------
    xarray.Dataset
        One variable a measure; the attribute ``undefined`` of each counts its undefined cells, ``summary`` says how
        topics are summed up, and the attribute ``conventions`` of the dataset what was chosen where programs differ.

    >>> from shardwise.io.collection import Collection
    >>> runs = Collection(("a", "b"), ("1",), np.frombuffer(b"d1d2d3", np.uint8), np.arange(0, 7, 2),
    ...     docs=np.array([0, 1, 2, 2, 1], np.int32), starts=np.array([0, 3, 5]),
    ...     grades=np.array([0, 1, 1, 1, 1], np.int16), qrel_docs=np.array([0, 1, 2], np.int32),
    ...     qrel_grades=np.array([0, 1, 1], np.int16), qrel_starts=np.array([0, 3]))
    >>> score(runs, ["RR", "P@2"])["RR"].values
    array([[0.5, 1. ]])
    """
    policy = policy_for(collection.conventions, no_relevant, split=splits is not None)
    wanted = parse_measures(measures, collection.conventions.tool)
    if splits is not None:
        # in the document codes of the collection
        splits = splits.for_collection(collection)
        if splits.shards.size and not (splits.shards.min() >= 0 and splits.shards.max() < splits.n_shards):
            raise InputError(
                f"a document is in a shard outside 0 to {splits.n_shards - 1}",
                remedy="every document needs a shard",
            )
    out = _compute_scores(collection, wanted, splits, jobs, executor, progress)
    barren = find_barren_topics(collection, wanted)
    scores = follow_policy(_label_scores(out, wanted, collection, splits), wanted, barren, policy)
    if collection.conventions.missing == "leave":
        lengths = np.diff(collection.starts).reshape(len(collection.systems), len(collection.topics))
        scores = leave_out_missing(scores, lengths > 0, collection.topics)
    other = collection.reordered
    # judgments that were replaced since reading are not those of the other order
    if other is not None and splits is None and other.qrel_grades is collection.qrel_grades:
        reordered = score(other, wanted, jobs=jobs, executor=executor, no_relevant=policy)
        # the systems whose mean score changes in the other precision; other orders of a sum differ in the last digits
        before, after = scores.to_dataarray(), reordered.to_dataarray()
        moved = abs(after.mean("topic") - before.sel(system=after["system"]).mean("topic")).values
        if changed := int((moved > 1e-12).any(axis=0).sum()):
            scores.attrs |= {"changed_systems": changed, "largest_change": float(np.nanmax(moved))}
    return scores


def describe_conventions(scores: xr.Dataset) -> list[str]:
    """Return what was chosen where programs differ, in sentences: the conventions, and what others would change.

    Parameters
    ----------
    scores : xarray.Dataset
        Scores as `score` returns them.
    """
    if "conventions" not in scores.attrs:
        return []
    sentences = [str(scores.attrs["conventions"])]
    changed = scores.attrs.get("changed_systems")
    if changed and scores.attrs["largest_change"] >= VISIBLE:
        other = "trec_eval-9" if "double precision" in sentences[0] else "trec_eval-10"
        of = format_count(int(scores.attrs.get("n_systems", scores.sizes["system"])), "run")
        verb = "changes" if changed == 1 else "change"
        most = format(scores.attrs["largest_change"], ".1g")
        sentences.append(f"{changed} of {of} {verb} under {other}, by at most {most}.")
    return sentences


def policy_for(conventions: Conventions, no_relevant: NoRelevant | None, *, split: bool) -> NoRelevant:
    """Return what becomes of topics without relevant documents.

    Parameters
    ----------
    conventions : Conventions
        Those that the collection was read with.
    no_relevant : str or None
        What the caller asks for; None for nothing.
    split : bool
        Whether scores are of shards, in which such topics are undefined.
    """
    if no_relevant is None:
        return "undefined" if split else conventions.no_relevant
    policies = get_args(NoRelevant)
    validate_choice(no_relevant, "no_relevant", policies, what="policy for topics without relevant documents")
    return no_relevant


def leave_out_missing(scores: xr.Dataset, present: Bools, topics: Sequence[str]) -> xr.Dataset:
    """Take away the scores of systems on topics where they are not (system, topic) present."""
    if present.all():
        return scores
    known = xr.DataArray(present, {"topic": list(topics)}, ("system", "topic")).sel(
        topic=scores["topic"].values
    )
    return scores.map(lambda values: values.where(known).transpose(*values.dims), keep_attrs=True)


def _compute_scores(
    collection: Collection,
    measures: Sequence[Measure],
    splits: Splits | None,
    jobs: int | None,
    executor: Executor | None,
    progress: Progress | None,
) -> Floats:
    """Compute (measure, split, topic, system, shard) scores, each task writing its own cells."""
    n_shards = 1 if splits is None else splits.n_shards
    shards = freeze_array(np.zeros((1, 0)) if splits is None else splits.shards, np.int16)
    n_topics, n_systems = len(collection.topics), len(collection.systems)
    kinds = make_families(collection, measures)
    outs = [np.empty((len(kind.places), len(shards), n_topics, n_systems, n_shards)) for kind in kinds]
    # topics of a task: threads share the rankings, while a task for others takes them along
    parts = 8 * count_workers(jobs) if executor is None else CHUNKS
    step = max(1, min(-(-n_topics // 4) if executor is None else n_topics, n_topics * len(shards) // parts))
    ranges = [
        (kind, j, t, min(t + step, n_topics))
        for kind in range(len(kinds))
        for j in range(len(shards))
        for t in range(0, n_topics, step)
    ]
    if executor is None:
        tasks = [
            (kinds[k], TopicRange(shards, n_shards, collection.n_docs, j, t, end), outs[k])
            for k, j, t, end in ranges
        ]
        misfits = list(
            map_parallel(lambda task: task[0].score(*task[1:]), tasks, jobs=jobs, progress=progress)
        )
    else:
        elsewhere = [
            (kinds[k], TopicRange(shards[j : j + 1], n_shards, collection.n_docs, 0, t, end), outs[k].shape)
            for k, j, t, end in ranges
        ]
        results = map_parallel(_score_elsewhere, elsewhere, executor=executor, progress=progress)
        misfits = []
        for (misfit, part), (k, split, first, end) in zip(results, ranges, strict=True):
            outs[k][:, split, first:end] = part
            misfits.append(misfit)
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


def _score_elsewhere(task: tuple[Any, TopicRange, tuple[int, ...]]) -> tuple[int, Floats]:
    """Score a part for an asker who shares no memory with this process."""
    family, part, shape = task
    out = np.empty((shape[0], 1, *shape[2:]))
    misfit = family.score(part, out)
    return misfit, out[:, 0, part.first : part.end]


def _label_scores(
    out: Floats, measures: Sequence[Measure], collection: Collection, splits: Splits | None
) -> xr.Dataset:
    coords: dict[str, npt.NDArray[np.generic] | list[str]] = {
        "topic": list(collection.topics),
        "system": list(collection.systems),
    }
    attrs: dict[str, str | int] = {
        "notes": "; ".join(collection.notes),
        "conventions": collection.conventions.sentence,
    }
    dims: tuple[str, ...] = ("topic", "system")
    if splits is None:
        out = out[:, 0, :, :, 0]
    else:
        dims = ("split", "topic", "system", "shard")
        coords |= {"split": np.arange(splits.n_splits), "shard": list(splits.labels)}
        attrs |= {"split_kind": splits.kind, "split_seed": splits.seed}
    variables = {}
    for m, measure in enumerate(measures):
        of = measure.definition
        about = {"long_name": of.text, "cite": of.cite, "summary": of.summary}
        variables[str(measure)] = (dims, out[m], about | ({} if of.bounded else {UNBOUNDED: 1}))
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
        some = ", ".join(topics[:5]) + (", …" if len(topics) > 5 else "")
        raise InputError(
            f"{format_count(len(topics), 'topic')} without a relevant document for {measures[m]}: {some}",
            remedy=(
                *("leave them out, or choose ", Option("no_relevant", "zero"), ", "),
                *(Option("no_relevant", "undefined"), " or ", Option("no_relevant", "drop")),
            ),
        )
    if topics and no_relevant == "drop":
        scores = scores.isel(topic=np.flatnonzero(~barren.any(axis=0)))
        scores.attrs["dropped_topics"] = " ".join(topics)
    for m, measure in enumerate(measures):
        values = scores[str(measure)]
        if no_relevant == "zero" and barren[m].any():
            values[{"topic": np.flatnonzero(barren[m])}] = measure.definition.worst
            values.attrs["zeroed_topics"] = int(barren[m].sum())
        # a cell is undefined for all systems or for none
        holes = int(np.isnan(values.isel(system=0).values).sum())
        values.attrs["undefined"] = holes * (systems or values.sizes["system"])
    return scores
