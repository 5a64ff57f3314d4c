"""Runs and qrels, from files or memory -> Collection."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.io.files import bare_name, expand
from shardwise.io.natural_order import natural
from shardwise.io.run_tables import Table, qrels_table, run_tables
from shardwise.io.trec.assemble import assemble
from shardwise.io.trec.judgments import attach, labelled
from shardwise.io.trec.parsed import ParsedQrels, ParsedRun, Worker

Missing = Literal["refuse", "zero", "drop"]
Names = Literal["auto", "tag", "file"] | Callable[[str], str] | Mapping[str, str] | Sequence[str]
Progress = Callable[[int, int], None]


def read_collection(
    runs: Any,
    qrels: Any,
    *,
    names: Names = "auto",
    missing: Missing = "refuse",
    topics: Literal["common", "judged"] | Sequence[str] = "common",
    depth: int | None = None,
    precision: Literal["single", "double"] = "single",
    subtopics: bool = False,
    intents: Any = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Collection:
    """Read runs and judgments into one coded collection.

    ``runs`` are paths, globs and folders of TREC run files (plain, gz, bz2, xz or zst), or data frames with the
    columns of ir_measures or PyTerrier, dictionaries ``{topic: {document: score}}``, one such dictionary a
    system, or ranx runs. ``qrels`` likewise.

    Rankings are put in trec_eval's order: score descending, ties by document name descending, the rank column
    ignored. ``precision="single"`` compares scores as trec_eval up to 9.0.7 and pytrec_eval do,
    ``"double"`` as trec_eval from 9.0.8 on.

    A system is called by its run tag where the file has a single one that no other file has, else by its file
    name; ``names`` chooses ``"tag"`` or ``"file"`` for all, or is a function of the path, a mapping from path or file
    name, or a list. ``topics``: those that are judged and that a run has (``"common"``), all judged ones, or a list.
    ``missing`` says what becomes of such a topic that some run lacks: ``"refuse"``, ``"zero"`` (nothing
    retrieved) or ``"drop"`` (for all runs). ``depth`` cuts every ranking. ``Collection.notes`` tells what was done.

    For measures of diversity, ``subtopics=True`` says that the second column of the qrels is a subtopic, as in
    ndeval's; ``intents`` are the probabilities of the subtopics, ``{topic: {subtopic: p}}`` or a file with lines of
    topic, subtopic and probability. Qrels of five columns (topic, iteration, document, stratum, grade) are those
    of a sampled pool; there a grade of -1 means that the document was not sampled.

    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
    >>> runs = {"bm25": {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}, "dense": {"1": {"b": 9.0}, "2": {"a": 3.0}}}
    >>> collection = read_collection(runs, qrels)
    >>> collection.systems, collection.topics, collection.n_docs
    (('bm25', 'dense'), ('1', '2'), 3)
    """
    _check_choices(missing=missing, precision=precision, depth=depth)
    sources = _run_sources(runs)
    extra = labelled(list(expand(qrels)) if _are_paths(qrels) else qrels, subtopics)
    judged = _qrel_sources(qrels) if extra is None else [extra.table()]
    if intents is not None and not subtopics:
        raise InputError("intents without subtopics", remedy="say subtopics=True if the qrels have them")
    n_workers = max(1, min(jobs or os.cpu_count() or 1, len(sources)))
    workers = [Worker(number, precision == "single") for number in range(n_workers)]
    parsed_qrels = [workers[0].qrels(source) for source in judged]
    parsed = _parse_all(workers, sources, progress)
    systems, naming = _name_systems(parsed, names)
    chosen, notes = _choose_topics(parsed, systems, parsed_qrels, topics, missing)
    repeated = sum(part.repeated for part in parsed_qrels) + (extra.repeated if extra is not None else 0)
    if repeated:
        notes.append(f"{repeated} judgments repeat another and were counted once")
    collection = assemble(
        parsed, parsed_qrels, [worker.interner for worker in workers], systems, chosen, depth, [*naming, *notes]
    )
    return collection if extra is None else attach(collection, extra, intents)


def _check_choices(*, missing: str, precision: str, depth: int | None) -> None:
    if missing not in ("refuse", "zero", "drop"):
        raise InputError(f"missing={missing!r} is no policy", remedy="choose refuse, zero or drop")
    if precision not in ("single", "double"):
        raise InputError(f"precision={precision!r} is unknown", remedy="choose single or double")
    if depth is not None and depth < 1:
        raise InputError(f"depth={depth} keeps no document", remedy="give a depth of at least 1")


def _are_paths(value: Any) -> bool:
    if isinstance(value, str | os.PathLike):
        return True
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(v, str | os.PathLike) for v in value)
    )


def _run_sources(runs: Any) -> list[Path | Table]:
    if _are_paths(runs):
        return list(expand(runs))
    if (
        isinstance(runs, Iterable)
        and not isinstance(runs, Mapping | list | tuple)
        and not hasattr(runs, "columns")
    ):
        items = runs if type(runs).__module__.startswith("ranx") else list(runs)
        return list(expand(items)) if _are_paths(items) else list(run_tables(items))
    return list(run_tables(runs))


def _qrel_sources(qrels: Any) -> list[Path | Table]:
    return list(expand(qrels)) if _are_paths(qrels) else [qrels_table(qrels)]


def _parse_all(
    workers: list[Worker], sources: list[Path | Table], progress: Progress | None
) -> list[ParsedRun]:
    """Parse all sources, each worker taking the next one; the first source in order that fails is reported."""
    parsed: list[ParsedRun | InputError | None] = [None] * len(sources)
    waiting = iter(range(len(sources)))
    lock = threading.Lock()
    done = 0

    def work(worker: Worker) -> None:
        nonlocal done
        while True:
            with lock:
                at = next(waiting, None)
            if at is None:
                return
            try:
                parsed[at] = worker.run(sources[at])
            except InputError as error:
                parsed[at] = error
            with lock:
                done += 1
                if progress is not None:
                    progress(done, len(sources))

    with ThreadPoolExecutor(len(workers)) as pool:
        for future in [pool.submit(work, worker) for worker in workers]:
            future.result()
    good = []
    for run in parsed:
        if isinstance(run, InputError):
            raise run
        if run is not None:
            good.append(run)
    return good


def _name_systems(parsed: list[ParsedRun], names: Names) -> tuple[tuple[str, ...], list[str]]:
    """Names of the systems, and a note on how they were found."""
    notes: list[str] = []
    files = [bare_name(Path(run.source)) for run in parsed]
    if isinstance(names, str):
        if names not in ("auto", "tag", "file"):
            raise InputError(
                f"names={names!r} is unknown", remedy="choose auto, tag or file, or give the names"
            )
        tags = Counter(run.label for run in parsed)
        systems, by_file = [], []
        for run, file in zip(parsed, files, strict=True):
            if names == "tag" and run.label is None:
                raise InputError("has more than one run tag", where=run.source, remedy='use names="file"')
            single = run.label is not None and (names == "tag" or tags[run.label] == 1)
            if names == "file" or not single:
                by_file.append(file)
                systems.append(file)
            else:
                systems.append(str(run.label))
        if names == "auto" and any(run.label is not None for run in parsed):
            notes.append(f"{len(systems) - len(by_file)} systems are called by their run tag")
        if names == "auto" and by_file and any(run.label is not None for run in parsed):
            notes.append(
                f"{len(by_file)} systems are called by their file name, as their run tag is not single or not unique:"
                f" {_some(by_file)}"
            )
    elif callable(names):
        systems = [names(run.source) for run in parsed]
    elif isinstance(names, Mapping):
        systems = [
            str(names.get(run.source, names.get(file, file))) for run, file in zip(parsed, files, strict=True)
        ]
    else:
        if len(names) != len(parsed):
            raise InputError(f"{len(names)} names for {len(parsed)} runs", remedy="give one name a run")
        systems = list(names)
    seen: dict[str, str] = {}
    for system, run in zip(systems, parsed, strict=True):
        if system in seen:
            raise InputError(
                f"the name '{system}' is already that of {seen[system]}",
                where=run.source,
                remedy='rename one of them, or use names="file"',
            )
        seen[system] = run.source
    return tuple(systems), notes


def _choose_topics(
    parsed: list[ParsedRun],
    systems: tuple[str, ...],
    qrels: list[ParsedQrels],
    topics: Literal["common", "judged"] | Sequence[str],
    missing: Missing,
) -> tuple[tuple[str, ...], list[str]]:
    """Topics of the collection in natural order, and notes on those left out."""
    judged = {topic for part in qrels for topic in part.topics}
    retrieved = {topic for run in parsed for topic in run.topics}
    notes: list[str] = []
    if isinstance(topics, str):
        if topics not in ("common", "judged"):
            raise InputError(
                f"topics={topics!r} is unknown", remedy="choose common or judged, or list the topics"
            )
        wanted = judged & retrieved if topics == "common" else judged
        if not judged & retrieved:
            raise InputError(
                f"the runs and the qrels have no topic in common (runs: {_some(retrieved)}; qrels: {_some(judged)})",
                where=qrels[0].source,
                remedy="check that they belong together",
            )
    else:
        wanted = {str(topic) for topic in topics}
        unknown = wanted - judged
        if unknown or not wanted:
            raise InputError(
                f"no judgments for topic {_some(unknown)}", remedy="choose among the judged topics"
            )
    for left, why in (
        (retrieved - judged, "retrieved but not judged"),
        (judged - retrieved, "judged but in no run"),
    ):
        if left - wanted:
            notes.append(f"{len(left - wanted)} topics are {why} and were left out: {_some(left - wanted)}")
    lacking = {}
    for system, run in zip(systems, parsed, strict=True):
        without = wanted - set(run.topics)
        if without:
            lacking[system] = without
            if missing == "refuse":
                raise InputError(
                    f"system '{system}' has no documents for {len(without)} of {len(wanted)} topics: {_some(without)}",
                    where=run.source,
                    remedy='choose missing="zero" (nothing retrieved) or missing="drop" (leave these topics out)',
                )
    if lacking and missing == "zero":
        cells = sum(map(len, lacking.values()))
        notes.append(
            f"{cells} (system, topic) pairs without documents score as nothing retrieved: {_some(lacking)}"
        )
    if lacking and missing == "drop":
        gone = set().union(*lacking.values())
        wanted -= gone
        notes.append(f"{len(gone)} topics that some run lacks were dropped: {_some(gone)}")
        if not wanted:
            raise InputError(
                "every topic is missing from some run", remedy='choose missing="zero", or leave runs out'
            )
    return tuple(sorted(wanted, key=natural)), notes


def _some(items: Iterable[str], most: int = 5) -> str:
    """A few of the items in words."""
    ordered = sorted(items, key=natural)
    return ", ".join(ordered[:most]) + (f", ... ({len(ordered)} in all)" if len(ordered) > most else "")
