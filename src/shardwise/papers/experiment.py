"""The one runner of all papers: data in, steps run or resumed, tables, figures and verdicts out."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

import shardwise as sw
from shardwise.core.arguments import Progress, map_parallel, validate_count, validate_level
from shardwise.core.arrays import Bools, Floats, make_generator
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd, xr
from shardwise.io.atomic import draft_folder, write_atomically
from shardwise.papers.claims import (
    STREAM,
    Figures,
    PaperClaim,
    count_topics,
    decide_claim,
    draw_topics,
    measure_claims,
)
from shardwise.papers.exhibit import ClaimVerdict, Exhibit, Frames, Replication, make_exhibit

NO_DOCUMENTS = "a table of scores has no documents to divide"
SOME = 8
"""Topics that a note names."""
TRIES = 200
"""Draws of a split until every topic is covered; then topics are left out."""
FOLDER = "steps"
"""Where finished steps are kept."""
Rows: TypeAlias = "pd.DataFrame | Sequence[pd.DataFrame] | Sequence[Mapping[str, Any]]"
"""What a step returns under one name: a frame, frames to join, or rows."""
Step = Callable[[], Mapping[str, Rows]]


@dataclass(frozen=True, slots=True, eq=False)
class PaperData:
    """What an experiment works on.

    Parameters
    ----------
    scores : Dataset
        Scores of every measure on the whole collection.
    collection : Collection, optional
        Runs and judgments; None for a table of scores.
    notes : tuple of str
        What was averaged or left out.
    named : Mapping
        Several collections, or several tables, by name, for experiments that take them; the fields above are of the
        first.
    sharded : Dataset, optional
        Scores on shards that the caller has: dimensions split, topic, system and shard.
    """

    scores: xr.Dataset
    collection: sw.Collection | None = None
    notes: tuple[str, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)
    sharded: xr.Dataset | None = None

    @property
    def has_shards(self) -> bool:
        """Whether there are scores on shards, or documents to divide."""
        return self.collection is not None or self.sharded is not None

    @property
    def first(self) -> str:
        """Name of the first measure."""
        return str(next(iter(self.scores.data_vars)))

    @property
    def sizes(self) -> frozenset[tuple[int, int]]:
        """Systems and topics of each collection or table."""
        named = list(self.named.values()) or [self.scores]
        runs = [(len(each.systems), len(each.topics)) for each in named if isinstance(each, sw.Collection)]
        tables = [each.sizes for each in named if not isinstance(each, sw.Collection)]
        return frozenset([*runs, *((int(n.get("system", 0)), int(n.get("topic", 20))) for n in tables)])

    @property
    def units(self) -> int:
        """Number of topics that verdicts resample; the least of several collections, 20 where all is simulated."""
        return min(topics for _, topics in self.sizes)

    @property
    def description(self) -> str:
        """The data in one line."""
        if self.named:
            return "; ".join(f"{name}: {_describe(each)}" for name, each in self.named.items())
        return _describe(self.scores if self.collection is None else self.collection)


def _describe(source: sw.Collection | xr.Dataset) -> str:
    """Return the sizes of a collection or of a table."""
    if isinstance(source, sw.Collection):
        return str(source).splitlines()[0]
    sizes = source.sizes
    return ", ".join(format_count(sizes[d], d) for d in ("system", "instance", "topic") if d in sizes)


@dataclass(frozen=True, kw_only=True)
class PaperExperiment:
    """Base of all experiments: a paper is one subclass whose fields are its options.

    A subclass states ``tag``, ``title`` and ``claims`` and defines `gather_data`, `list_steps` and
    `build_exhibits`; `run` does the rest.

    Parameters
    ----------
    seed : int
        Seed of all random numbers.
    jobs : int, optional
        Number of threads; all processors, if None.
    claim_splits : int
        Splits, or pools or seeds, over which verdicts are reached.
    claim_resamples : int
        Resamples of the topics for verdicts in general.
    """

    tag: ClassVar[str]
    title: ClassVar[str]
    claims: ClassVar[tuple[PaperClaim, ...]] = ()
    least: ClassVar[Mapping[str, int]] = {}
    """Options that count something, with the least that has a meaning."""
    own_sizes: ClassVar[frozenset[tuple[int, int]]] = frozenset()
    """Systems and topics of the paper's own collections."""
    noun: ClassVar[str] = "split"
    """What one value of a statistic is of."""

    seed: int = 0
    jobs: int | None = None
    claim_splits: int = 20
    claim_resamples: int = 100

    def __post_init__(self) -> None:
        """Refuse options that have no meaning, and keep lists as they are."""
        for name, least in {"seed": 0, "claim_splits": 3, "claim_resamples": 2, **self.least}.items():
            validate_count(getattr(self, name), name, least=least)
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name == "alpha":
                validate_level(value)
            if isinstance(value, list):
                object.__setattr__(self, entry.name, tuple(value))

    def gather_data(self, data: Any) -> Any:
        """Return the data as the steps take them, or refuse them.

        Parameters
        ----------
        data : object
            Whatever the caller has.

        Returns
        -------
        PaperData
            Scores, and runs where there are any.
        """
        raise NotImplementedError

    def list_steps(self, source: Any) -> Mapping[str, Step]:
        """Return the steps by name; each returns rows by name and can be pickled.

        Parameters
        ----------
        source : PaperData
            The data.

        Returns
        -------
        Mapping
            Functions without arguments.
        """
        raise NotImplementedError

    def build_exhibits(self, frames: Frames, source: Any) -> Iterator[Exhibit]:
        """Yield tables and figures.

        Parameters
        ----------
        frames : dict of DataFrame
            Rows of all steps.
        source : PaperData
            The data.

        Yields
        ------
        Exhibit
            In the order of the paper.
        """
        raise NotImplementedError

    def answer(self, frames: Frames) -> str:
        """Return the first line of a page without verdicts to count.

        Parameters
        ----------
        frames : dict of DataFrame
            Rows of all steps.

        Returns
        -------
        str
            One or two sentences.
        """
        return ""

    def _scale_counts(self, source: PaperData, runs: int) -> dict[str, Any]:
        """Return all pairs of the data and of so many printed runs, to show shares; nothing for a paper's own data."""
        pairs = math.comb(source.scores.sizes["system"], 2), math.comb(runs, 2)
        is_own = any(size in self.own_sizes and size[0] == runs for size in source.sizes)
        return {} if is_own else {"totals": pairs}

    def _show(self, label: str, data: pd.DataFrame, notes: Sequence[str] = (), **choices: Any) -> Exhibit:
        """Return a table or figure of this paper, laid out as ``exhibits.toml`` says; see `make_exhibit`."""
        return make_exhibit(self.tag, label, data, notes, **choices)

    def list_facts(self, source: Any) -> dict[str, str]:
        """Return options and sizes to state, by name.

        Parameters
        ----------
        source : PaperData
            The data.

        Returns
        -------
        dict
            Short texts.
        """
        return {}

    def explain_absence(self, source: Any) -> str:
        """Return why some tables cannot be made from these data; empty if all can.

        Parameters
        ----------
        source : PaperData
            The data.

        Returns
        -------
        str
            One clause.
        """
        return "" if source.has_shards else NO_DOCUMENTS

    def measure_figures(self, source: Any) -> Figures:
        """Return the figures that claims are about, for resampled topics and all splits.

        Parameters
        ----------
        source : PaperData
            The data.

        Returns
        -------
        Figures
            Arrays (resamples, splits) by name.
        """
        return Figures(self.explain_absence(source))

    def read_figures(self) -> Figures:
        """Return the same figures as the paper prints them, a column for each of its collections.

        Returns
        -------
        Figures
            Arrays (1, collections) by name.
        """
        return Figures()

    def resample_topics(self, topics: int) -> Floats:
        """Return how often each topic counts in each resample, (1 + resamples, topics); first, once each.

        Parameters
        ----------
        topics : int
            Number of topics.

        Returns
        -------
        array
            Numbers of copies.
        """
        return count_topics(draw_topics(topics, self.claim_resamples, self.seed))

    def _measure_claims(self, source: Any) -> Frames:
        """Measure the statistics of all claims."""
        return measure_claims(self.claims, self.measure_figures(source), source.units, self.noun)

    def judge(self, data: Any) -> tuple[ClaimVerdict, ...]:
        """Reach the verdicts on some data, without tables and figures.

        Parameters
        ----------
        data : object
            The same as `run` takes.

        Returns
        -------
        tuple of ClaimVerdict
            One for each claim.
        """
        source = self.gather_data(data)
        return self._decide_claims(self._measure_claims(source), source)

    def withhold_verdicts(self, reason: str) -> tuple[ClaimVerdict, ...]:
        """Return for every claim that it cannot be said, and why.

        Parameters
        ----------
        reason : str
            One clause.

        Returns
        -------
        tuple of ClaimVerdict
            One for each claim, with the verdict in print.
        """
        frames = measure_claims(self.claims, Figures(reason), 2, self.noun)
        printed = self.read_figures()
        return tuple(decide_claim(claim, frames, printed) for claim in self.claims)

    def _decide_claims(self, frames: Frames, source: Any) -> tuple[ClaimVerdict, ...]:
        """Return the verdicts on statistics that were measured."""
        absence, printed = self.explain_absence(source), self.read_figures()
        return tuple(decide_claim(claim, frames, printed, absence) for claim in self.claims)

    def run(
        self,
        data: Any,
        *,
        executor: Executor | None = None,
        folder: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Replication:
        """Run the experiment on some data.

        Parameters
        ----------
        data : object
            Runs and judgments as `read_collection` returns them, or any table that `as_scores` takes.
        executor : Executor, optional
            Runs the steps side by side.
        folder : path, optional
            Where finished steps are kept, so that the same call resumes there.
        progress : callable, optional
            Called with (steps done, steps in all).

        Returns
        -------
        Replication
            Verdicts, tables and figures.
        """
        source = self.gather_data(data)
        kept = None if folder is None else Path(folder) / FOLDER / self._make_key(source)
        steps = dict(self.list_steps(source))
        if self.claims:
            steps["claims"] = partial(self._measure_claims, source)
        frames = run_steps(steps, kept, progress, executor)
        exhibits = tuple(self.build_exhibits(frames, source))
        verdicts = self._decide_claims(frames, source)
        facts = {"data": source.description, **self.list_facts(source)}
        if absence := self.explain_absence(source):
            facts["not made"] = absence
        is_own = bool(source.sizes & self.own_sizes)
        answer = self.answer(frames)
        return Replication(self.tag, self.title, exhibits, facts, source.notes, verdicts, is_own, answer)

    def _make_key(self, source: PaperData) -> str:
        """Return one word for paper, version, options and data, under which finished steps are kept."""
        choices = {name: value for name, value in asdict(self).items() if name != "jobs"}
        digest = hashlib.blake2b(digest_size=8)
        facts = [self.tag, sw.__version__, choices, list(source.named)]
        digest.update(json.dumps(facts, default=str, sort_keys=True).encode())
        whole: list[Any] = [each for each in (source.collection, source.scores) if each is not None]
        for each in source.named.values() or whole:
            if not isinstance(each, sw.Collection):
                digest.update(json.dumps(each.to_dict(), default=str).encode("utf-8", "surrogateescape"))
                continue
            names = "\0".join([*each.systems, "", *each.topics])
            digest.update(names.encode("utf-8", "surrogateescape"))
            for part in ("names", "docs", "starts", "grades", "qrel_docs", "qrel_grades", "qrel_starts"):
                digest.update(np.ascontiguousarray(getattr(each, part)).tobytes())
        return f"{self.tag.lower()}-{digest.hexdigest()}"


def replicate_paper(experiment: type[PaperExperiment], data: Any, **choices: Any) -> Replication:
    """Run the experiment of a paper; ``choices`` are its fields, and ``executor``, ``folder`` and ``progress``."""
    running = {name: choices.pop(name) for name in ("executor", "folder", "progress") if name in choices}
    return experiment(**choices).run(data, **running)


def run_steps(
    steps: Mapping[str, Step], kept: Path | None, progress: Progress | None, executor: Executor | None = None
) -> Frames:
    """Run all steps, or read those that an earlier call kept in a folder; join their rows by name."""
    finished = {name: kept / name for name in steps if kept is not None and (kept / name).is_dir()}
    to_make = [step for name, step in steps.items() if name not in finished]
    results = map_parallel(_run_step, to_make, jobs=1, executor=executor)
    parts: dict[str, list[pd.DataFrame]] = {}
    for number, name in enumerate(steps, start=1):
        if name in finished:
            frames = {file.stem: pd.read_parquet(file) for file in sorted(finished[name].glob("*.parquet"))}
        else:
            frames = next(results)
            if kept is not None:
                # a draft that is moved, so that no step is ever half written
                kept.mkdir(parents=True, exist_ok=True)
                with draft_folder(kept) as draft:
                    for label, frame in frames.items():
                        write_atomically(draft / f"{label}.parquet", frame.to_parquet())
                    try:
                        draft.replace(kept / name)
                    except OSError:
                        # another process may have been first
                        if not (kept / name).is_dir():
                            raise
        for label, frame in frames.items():
            parts.setdefault(label, []).append(frame)
        if progress is not None:
            progress(number, len(steps))
    return {
        label: join_rows([frame for frame in each if len(frame)] or each[:1]) for label, each in parts.items()
    }


def _run_step(step: Step) -> Frames:
    return {name: join_rows(rows) for name, rows in step().items()}


def join_rows(rows: Rows) -> pd.DataFrame:
    """Return one frame of rows, or of several frames below each other."""
    if isinstance(rows, pd.DataFrame):
        return rows
    frames = [each for each in rows if isinstance(each, pd.DataFrame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(list(rows))


def gather_scores(
    data: Any, measures: Sequence[str], jobs: int | None = None, *, complete: bool = True
) -> PaperData:
    """Score runs, or take a table; average repeats; leave out topics with gaps, unless ``complete`` is False."""
    notes: list[str] = []
    if isinstance(data, sw.Collection):
        scores = sw.score(data, list(measures), jobs=jobs)
    else:
        if isinstance(data, xr.Dataset):
            tables = [sw.as_scores(data[name]).to_xarray() for name in data.data_vars]
        else:
            tables = [sw.as_scores(data).to_xarray()]
        if not tables:
            raise InputError("has no scores", remedy="give a table with one score per topic and system")
        # attributes describe one table, and differ between measures
        scores = xr.Dataset({str(table.name): table.drop_attrs() for table in tables})
        if "instance" in scores.dims:
            repeats = format_count(scores.sizes["instance"], "repeat")
            notes.append(f"Scores are averaged over {repeats}; the paper has one run per system.")
            # repeats that are missing do not count
            scores = scores.mean("instance", skipna=True)
        refuse_dimensions(scores, ("topic", "system", "shard", "split"))
    sharded = None
    if "shard" in scores.dims:
        sharded = scores if "split" in scores.dims else scores.expand_dims("split")
        sharded = sharded.transpose("split", "topic", "system", "shard")
    scores, averaged = average_shards(scores)
    notes += averaged
    if complete:
        scores, left_out = drop_topics(scores)
        notes += left_out
    return PaperData(scores, data if isinstance(data, sw.Collection) else None, tuple(notes), sharded=sharded)


def average_shards(scores: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the means over shards and splits, undefined scores left out, and a note if there were any."""
    extra = [dim for dim in ("split", "shard") if dim in scores.dims]
    note = "The scores are of shards; their mean over the shards stands for the whole collection."
    return (scores.mean(extra, skipna=True), (note,)) if extra else (scores, ())


def gather_several(data: Any) -> dict[str, Any]:
    """Return collections or tables by name; one alone is called collection."""
    several = isinstance(data, Mapping) and not isinstance(data, xr.Dataset)
    return dict(data) if several else {"collection": data}


def refuse_dimensions(scores: xr.Dataset | xr.DataArray, known: Sequence[str]) -> None:
    """Refuse scores that have other dimensions than these."""
    if extra := [str(dim) for dim in scores.dims if dim not in known]:
        raise InputError(f"unexpected dimension {extra[0]!r}", remedy="select one or average over it first")


def drop_topics(scores: xr.Dataset) -> tuple[xr.Dataset, tuple[str, ...]]:
    """Leave out topics that some system lacks in some measure; return a note of them too, if there are any."""
    whole, names = find_whole(scores)
    notes = describe_gaps(whole, names, "system")
    return (scores.isel(topic=np.flatnonzero(whole)), notes) if notes else (scores, ())


def describe_gaps(whole: Bools, names: Any, noun: str) -> tuple[str, ...]:
    """Return a note of the topics that are not whole, if there are any; refuse to keep fewer than two."""
    if whole.all():
        return ()
    gaps = f"{int((~whole).sum())} of {format_count(whole.size, 'topic')}"
    if whole.sum() < 2:
        problem = f"{gaps} lack the score of some {noun}, which leaves {int(whole.sum())}"
        raise InputError(problem, remedy=f"leave out the {noun}s with gaps, or complete the table")
    return (f"{gaps} lack a score of some {noun} and are left out: {name_topics(names[~whole].tolist())}.",)


def find_whole(scores: xr.Dataset) -> tuple[Bools, Any]:
    """Return which topics have every score of every measure, and the names of all topics."""
    tables = list(scores.data_vars.values())
    whole = [table.notnull().all([d for d in table.dims if d != "topic"]).to_numpy() for table in tables]
    return np.all(whole, axis=0), tables[0]["topic"].to_numpy().astype(str)


def name_topics(names: list[str]) -> str:
    """Return the first few names, and how many more there are.

    >>> name_topics(["301", "302"])
    '301, 302'
    """
    more = f" and {len(names) - SOME} more" if len(names) > SOME else ""
    return ", ".join(map(str, names[:SOME])) + more


def score_covered(
    runs: sw.Collection, shards: int, measures: Sequence[str], draw: str, *, jobs: int | None, **how: Any
) -> tuple[xr.Dataset, pd.DataFrame]:
    """Score runs on splits that cover every topic, ``draw`` "even" (FF21) or by a "die" (V17 §2.1).

    Returned are scores by split, topic, system and shard, all defined, and the topics that no draw covers, which are
    left out (V17 §4): `shards, topic`.
    """
    how = {"unlisted": "add", **how}
    # no draw covers a topic with fewer relevant documents than parts; the others are drawn until they are covered
    judged = keep_coverable(runs, shards)
    if len(judged.topics) < 2:
        raise InputError(
            f"{len(runs.topics) - len(judged.topics)} of {len(runs.topics)} topics have fewer relevant documents "
            f"than the {shards} parts",
            remedy="ask for fewer parts",
        )
    try:
        splits = sw.split(judged, shards, kind="covered", draw=draw, max_tries=TRIES, **how)  # type: ignore[arg-type]
    except InputError:
        # some topic has hardly more relevant documents than parts
        splits = cover_topics(sw.split(runs, shards, kind=draw, **how), runs)  # type: ignore[arg-type]
    scores = sw.score(runs, list(measures), splits, jobs=jobs)
    whole, names = find_whole(scores)
    if whole.sum() < 2:
        raise InputError(
            f"{int((~whole).sum())} of {whole.size} topics lack a relevant document in some of {shards} parts",
            remedy="ask for fewer parts",
        )
    left_out = pd.DataFrame({"shards": shards, "topic": names[~whole].tolist()})
    return scores.isel(topic=np.flatnonzero(whole)), left_out


def cover_topics(splits: Any, runs: sw.Collection) -> Any:
    """Return splits in which topics without a relevant document in some part have theirs drawn again.

    They change places with documents that are relevant to no topic, so that parts keep their sizes.
    """
    rng, shards = make_generator(splits.seed, STREAM), splits.shards.copy()
    topic_of = np.repeat(np.arange(len(runs.topics)), np.diff(runs.qrel_starts))
    relevant = runs.qrel_grades > 0
    documents = [runs.qrel_docs[relevant & (topic_of == topic)] for topic in range(len(runs.topics))]
    documents = [each for each in documents if len(each) >= splits.n_shards]
    others = np.setdiff1d(np.arange(shards.shape[1]), runs.qrel_docs[relevant])
    for row in shards:
        for _ in range(TRIES):
            lacking = [each for each in documents if len(set(row[each].tolist())) < splits.n_shards]
            for each in lacking:
                partners = rng.choice(others, size=(TRIES, len(each)))
                parts = row[partners].tolist()
                # all parts, by documents that differ
                fitting = [
                    k
                    for k, some in enumerate(partners.tolist())
                    if len(set(parts[k])) == splits.n_shards and len(set(some)) == len(some)
                ]
                if fitting:
                    chosen = partners[fitting[0]]
                    row[each], row[chosen] = row[chosen], row[each].copy()
            if not lacking:
                break
    return replace(splits, shards=shards)


def keep_coverable(runs: sw.Collection, shards: int) -> sw.Collection:
    """Return the judgments of the topics with as many relevant documents as shards, to draw splits by."""
    topic_of = np.repeat(np.arange(len(runs.topics)), np.diff(runs.qrel_starts))
    possible = np.bincount(topic_of[runs.qrel_grades > 0], minlength=len(runs.topics)) >= shards
    if possible.all():
        return runs
    kept = runs.keep_judgments(possible[topic_of])
    starts = np.concatenate([[0], np.diff(runs.qrel_starts)[possible].cumsum()])
    names = tuple(name for name, is_kept in zip(runs.topics, possible, strict=True) if is_kept)
    return replace(kept, topics=names, qrel_starts=starts.astype(np.int64))


def describe_left_out(frames: Frames, topics: int) -> tuple[str, ...]:
    """Return which topics `score_covered` left out, a sentence per number of parts."""
    frame = frames.get("left_out")
    if frame is None or frame.empty:
        return ()
    return tuple(
        f"With {shards} parts, {len(part)} of {topics} topics lack relevant documents in some part of some split "
        f"and are left out: {name_topics(list(dict.fromkeys(part['topic'])))}."
        for shards, part in frame.drop_duplicates().groupby("shards")
    )
