"""Score runs that together do not fit into memory: a few files at a time, of which the scores alone stay."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.arguments import (
    Progress,
    count_parallel_tasks,
    count_workers,
    map_parallel,
    validate_count,
)
from shardwise.core.arrays import Bools, Bytes, Ints
from shardwise.core.errors import InputError
from shardwise.core.libraries import xr
from shardwise.io.atomic import refuse_unwritable
from shardwise.io.collection import Collection
from shardwise.io.files import PathLike, list_files
from shardwise.io.reader import Names, ParsedInput, read_collection, read_part, settle_topics
from shardwise.io.stores import ENDING, NEW, open_store, store_draft, write_parts
from shardwise.io.trec.assemble import ranking_sizes
from shardwise.io.trec.conventions import Conventions, Missing, NoRelevant, parse_conventions
from shardwise.io.trec.parsed import ParsedRun
from shardwise.scoring.families import find_barren_topics
from shardwise.scoring.measures import Measure, parse_measures
from shardwise.scoring.scoring import follow_policy, leave_out_missing, policy_for, score
from shardwise.sharding.splits import Splits, locate_names, view_names


def score_runs(
    runs: Any,
    qrels: Any,
    measures: object | Sequence[object],
    split: Callable[[Collection], Splits] | None = None,
    *,
    names: Names = "auto",
    like: str | Conventions = "default",
    missing: Missing | None = None,
    no_relevant: NoRelevant | None = None,
    at_once: int | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    out: PathLike | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> xr.Dataset:
    """Score run files a few at a time: the scores of `score`, in the memory of the largest files.

    The scores themselves are held, too, unless they go to a store as they come (``out``).

    Without splits every file is read once. With splits all are read twice, as the shard of a document depends on all
    documents that any run retrieved.

    Parameters
    ----------
    runs : object
        Paths, globs and folders of TREC run files.
    qrels : object
        Judgments, as for `read_collection`.
    measures : object or sequence of object
        One measure or several.
    split : callable, optional
        What makes splits of a collection, such as ``lambda collection: sw.split(collection, 5)``; it is given one that
        has all documents and judgments, and no rankings.
    names : {"auto", "tag", "file"}, callable, mapping of str to str or sequence of str
        How systems are called, as for `read_collection`.
    like : str or Conventions
        Conventions, as for `read_collection`.
    missing : {"refuse", "leave", "zero", "drop"}, optional
        What becomes of a topic that some run lacks, as for `read_collection`.
    no_relevant : {"zero", "undefined", "drop", "refuse"}, optional
        What becomes of topics without a relevant document, as for `score`.
    at_once : int, optional
        Files held at the same time; None for as many as there are processors, with an executor one by one.
    jobs : int, optional
        Threads that work side by side; None for as many as there are processors. The scores do not depend on it.
    executor : Executor, optional
        An executor of concurrent.futures, whose workers read the files by themselves; None works here.
    out : path, optional
        A Zarr store (``.zarr``) for the scores, whole or not there, as `write_scores` would write it; what is returned
        then is the store, of which is read what is looked at.
    progress : callable, optional
        Called with (files read, files in all); with splits every file counts twice.
    **reading
        ``depth``, ``precision``, ``unjudged``, ``order``, ``subtopics`` and ``intents`` of `read_collection`.

    Returns
    -------
    Dataset
        One variable a measure, as `score` returns them.
    """
    changes = {name: reading.pop(name, None) for name in ("depth", "precision", "unjudged", "order")}
    conventions = parse_conventions(like, missing=missing, **changes)
    policy = policy_for(conventions, no_relevant, split=split is not None)
    wanted = parse_measures(measures, conventions.tool)
    files = list_files(runs)
    size = (
        validate_count(at_once, "at_once", what="files at once")
        if at_once
        else 1
        if executor
        else count_workers(jobs)
    )
    parts = tuple(tuple(files[first : first + size]) for first in range(0, len(files), size))
    common = _Reading(qrels, tuple(wanted), conventions, reading, jobs=1 if executor else jobs)
    looks = 1 if split is None else 2
    seen = 0

    def report(done: int, _: int) -> None:
        """Report progress over both looks."""
        if progress is not None:
            progress(seen + done, looks * len(files))

    run: dict[str, Any] = {"jobs": 1, "executor": executor, "progress": report}
    run["steps"] = lambda task: len(task.files)
    run["ahead"] = 2 * count_parallel_tasks(executor) if executor is not None and out is not None else None
    tasks = [replace(common, files=part, scored=split is None) for part in parts]
    with ExitStack() as held:
        draft = None if out is None else held.enter_context(store_draft(_validate_store(out)))
        first: list[_Look] = []
        waiting = _Kept(draft)
        changes = {"changed_systems": 0, "largest_change": 0.0}
        for look in map_parallel(_first_look, tasks, **run):
            if look.scores is not None:
                waiting.add(look.scores)
                changes["changed_systems"] += look.scores.attrs.get("changed_systems", 0)
                most = (changes["largest_change"], look.scores.attrs.get("largest_change", 0.0))
                changes["largest_change"] = max(most)
            first.append(replace(look, scores=None))
            del look
        parsed = first[0].parsed._replace(runs=[run for part in first for run in part.parsed.runs])
        systems, kept, notes = settle_topics(parsed, names, conventions.topics, conventions.missing)
        notes += ranking_sizes(parsed.runs, kept, conventions.depth)[1]
        if split is None:
            barren = first[0].barren[:, [first[0].topics.index(topic) for topic in kept]]
            scored: Iterable[tuple[xr.Dataset, Bools]] = (
                (scores.sel(topic=list(kept)), barren) for scores in waiting
            )
        else:
            one = replace(common, files=(files[0],), topics=kept)
            made = split(_without_rankings(one, [part.names for part in first]))
            seen = len(files)
            tasks = [replace(task, topics=kept, splits=made) for task in tasks]
            scored = map_parallel(_second_look, tasks, **run)
        attrs = {"notes": "; ".join(notes), "conventions": conventions.sentence}
        attrs |= changes if changes["changed_systems"] else {}
        leaves = conventions.missing == "leave"
        if draft is None:
            scores, empty = zip(*scored, strict=True)
            together = xr.concat(scores, "system", combine_attrs="override").assign_coords(
                system=list(systems)
            )
            together = follow_policy(together.assign_attrs(attrs), wanted, empty[0], policy)
            return _leave_out(together, parsed.runs) if leaves else together
        each: Iterator[xr.Dataset] = (
            follow_policy(scores.assign_attrs(attrs), wanted, barren, policy, len(systems))
            for scores, barren in scored
        )
        if leaves:
            ends = np.cumsum([0, *map(len, parts)]).tolist()
            runs_of_parts = [parsed.runs[a:b] for a, b in itertools.pairwise(ends)]
            each = (_leave_out(scores, some) for scores, some in zip(each, runs_of_parts, strict=True))
        write_parts(each, systems, draft / NEW, _validate_store(out))
    return open_store(_validate_store(out))


def _validate_store(out: PathLike | None) -> Path:
    """Return the path of a store; refuse other files, which are written whole."""
    path = Path(out or "")
    if path.suffix.lower() != ENDING:
        raise InputError(
            f"scores are written as they come to a store ({ENDING})",
            where=str(path),
            remedy="give the scores to write_scores",
            argument="out",
        )
    if not path.parent.is_dir():
        raise InputError("no such folder", where=str(path.parent), remedy="make it first")
    return path


def _leave_out(scores: xr.Dataset, runs: Sequence[ParsedRun]) -> xr.Dataset:
    """Take the scores away of runs on topics for which they have no documents."""
    topics = [str(topic) for topic in scores["topic"].values]
    held = np.array([[topic in have for topic in topics] for have in (set(run.topics) for run in runs)])
    return leave_out_missing(scores, held, topics)


class _Kept:
    """Scores that wait until it is known which topics count: in memory, or in files of a folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.held: list[xr.Dataset] = []
        self.files: list[Path] = []

    def add(self, scores: xr.Dataset) -> None:
        """Keep the scores of some files."""
        if self.folder is None:
            self.held.append(scores)
            return
        self.held = self.held or [scores.isel(system=slice(0)).copy(deep=True)]  # what all have in common
        self.files.append(self.folder / f"{len(self.files)}.npy")
        with refuse_unwritable(self.folder.parent):
            np.save(self.files[-1], scores.to_array().values)

    def __iter__(self) -> Iterator[xr.Dataset]:
        if self.folder is None:
            yield from self.held
        for file in self.files:
            common, values = self.held[0].drop_vars("system"), np.load(file)
            file.unlink()
            arrays = {
                name: (array.dims, values[k], array.attrs) for k, (name, array) in enumerate(common.items())
            }
            yield xr.Dataset(arrays, common.coords, common.attrs)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One part of the work: some files, and what is to be done with them."""

    qrels: Any
    measures: tuple[Measure, ...]
    conventions: Conventions
    reading: dict[str, Any]
    jobs: int | None
    files: tuple[Path, ...] = ()
    scored: bool = True  # at the first look
    topics: tuple[str, ...] = ()
    splits: Splits | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """What the first look at some files leaves: who they are, their documents or their scores on all judged topics."""

    parsed: ParsedInput
    topics: tuple[str, ...]
    barren: Bools
    names: tuple[Bytes, Ints]
    scores: xr.Dataset | None = field(default=None)


def _first_look(task: _Reading) -> _Look:
    collection, parsed = read_part(
        task.files, task.qrels, task.conventions.change(missing="zero"), jobs=task.jobs, **task.reading
    )
    barren = find_barren_topics(collection, task.measures)
    if not task.scored:
        return _Look(parsed, collection.topics, barren, (collection.names, collection.name_starts))
    nothing = np.empty(0, np.uint8), np.zeros(1, np.int64)
    scores = score(collection, task.measures, jobs=task.jobs, no_relevant="undefined")
    return _Look(parsed, collection.topics, barren, nothing, scores)


def _second_look(task: _Reading) -> tuple[xr.Dataset, Bools]:
    collection = _read_again(task)
    scores = score(collection, task.measures, task.splits, jobs=task.jobs, no_relevant="undefined")
    return scores, find_barren_topics(collection, task.measures)


def _read_again(task: _Reading) -> Collection:
    """Read the files on the topics that count."""
    paths = [str(path) for path in task.files]
    how: dict[str, Any] = {"names": paths, "like": task.conventions, "missing": "zero", "jobs": task.jobs}
    return read_collection(paths, task.qrels, topics=task.topics, **how, **task.reading)


def _without_rankings(task: _Reading, names: Sequence[tuple[Bytes, Ints]]) -> Collection:
    """Judgments and the documents of all runs, in the codes that they have when all is read at once."""
    single = _read_again(task)
    import pyarrow as pa
    import pyarrow.compute

    # all distinct names in byte order
    distinct = pyarrow.compute.unique(pa.chunked_array([view_names(*part) for part in names]))
    distinct = distinct.take(pyarrow.compute.sort_indices(distinct))
    _, starts, text = distinct.buffers()
    edges = np.frombuffer(starts, np.int64)[distinct.offset : distinct.offset + len(distinct) + 1]
    text, starts = np.frombuffer(text, np.uint8)[edges[0] : edges[-1]], edges - edges[0]
    codes = locate_names(single, text, starts).astype(np.int32)
    return replace(
        single,
        systems=(),
        names=text,
        name_starts=starts,
        docs=np.empty(0, np.int32),
        starts=np.zeros(1, np.int64),
        grades=np.empty(0, np.int16),
        qrel_docs=codes[single.qrel_docs],
    )
