"""Runs and qrels, from files or memory -> Collection."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from shardwise.core.arguments import Progress, count_workers, map_parallel
from shardwise.core.claim import format_count
from shardwise.core.errors import Either, InputError, Option
from shardwise.io.collection import Collection
from shardwise.io.files import UNCHECKED, are_paths, bare_name, lacks_checksum, list_files, read_text
from shardwise.io.natural_order import natural_key
from shardwise.io.run_tables import (
    RunTable,
    from_ir_datasets,
    is_json,
    json_run,
    qrels_table,
    read_json_ranking,
    run_tables,
)
from shardwise.io.trec.assemble import assemble_collection
from shardwise.io.trec.conventions import Conventions, Missing, Order, Precision, Unjudged, parse_conventions
from shardwise.io.trec.judgments import Labelled, attach_labels, parse_labels
from shardwise.io.trec.parsed import Interner, ParsedQrels, ParsedRun, Worker

NAMINGS = ("auto", "tag", "file")
Names = Literal["auto", "tag", "file"] | Callable[[str], str] | Mapping[str, str] | Sequence[str]


def read_collection(
    runs: Any,
    qrels: Any,
    *,
    names: Names = "auto",
    like: str | Conventions = "default",
    missing: Missing | None = None,
    topics: Literal["common", "judged"] | Sequence[str] | None = None,
    depth: int | None = None,
    precision: Precision | None = None,
    unjudged: Unjudged | None = None,
    order: Order | None = None,
    subtopics: bool = False,
    intents: Any = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Collection:
    """Read runs and judgments into one coded collection.

    Rankings are put in trec_eval's order: score descending, ties by document name descending, the rank column
    ignored. ``Collection.notes`` tells what was decided, counted and left out; ``Collection.conventions`` what was
    chosen where evaluation programs differ, and `score` follows it.

    Parameters
    ----------
    runs : object
        Paths, globs and folders of TREC run files (plain, gz, bz2, xz or zst); or data frames with the columns of
        ir_measures or PyTerrier, dictionaries ``{topic: {document: score}}``, one such dictionary a system, or ranx
        runs.
    qrels : object
        Judgments, likewise; or a dataset of ir_datasets, or its name as in ``"irds:beir/scifact/test"``. Qrels of five
        columns (topic, iteration, document, stratum, grade) are those of a sampled pool; there a grade of -1 means that
        the document was not sampled.
    names : {"auto", "tag", "file"}, callable, mapping of str to str or sequence of str
        How systems are called. ``"auto"``: by the run tag where the file has a single one that no other file has,
        else by the file name; ``"tag"`` or ``"file"`` for all; or a function of the path, a mapping from path or file
        name, or a list.
    like : str or Conventions
        Conventions by name: ``"default"`` (what pytrec_eval and ir_measures compute), ``"trec_eval-10"``,
        ``"trec_eval-9"``, ``"ir_measures"``, ``"ranx"`` and others, or an object of class
        `shardwise.io.trec.conventions.Conventions`. Arguments after it that are not None change one convention each.
    missing : {"refuse", "leave", "zero", "drop"}, optional
        What becomes of a topic that some run lacks: ``"refuse"`` (default), ``"leave"`` (no score for that run),
        ``"zero"`` (nothing retrieved) or ``"drop"`` (for all runs).
    topics : {"common", "judged"} or sequence of str, optional
        Those that are judged and that a run has (``"common"``), all judged ones (``"judged"``), or a list; None for
        what the conventions say, which is ``"common"`` by default.
    depth : int, optional
        Number of documents at which every ranking is cut; None keeps all.
    precision : {"single", "double"}, optional
        ``"single"`` (default) compares scores as trec_eval up to 9.0.7 and pytrec_eval do, ``"double"`` as trec_eval
        from 9.0.8 on.
    unjudged : {"nonrelevant", "removed"}, optional
        Whether documents without a judgment are ``"nonrelevant"`` (default) or ``"removed"`` from rankings.
    order : {"score", "ascending", "rank"}, optional
        ``"score"`` (default), ties by descending names; ``"ascending"``, ties by ascending names; or ``"rank"``, the
        rank column of run files.
    subtopics : bool
        Whether the second column of the qrels is a subtopic, as in ndeval's, for measures of diversity.
    intents : object
        Probabilities of the subtopics, ``{topic: {subtopic: p}}`` or a file with lines of topic, subtopic and
        probability.
    jobs : int, optional
        Files read side by side; None for as many as there are processors. The collection does not depend on it.
    progress : callable, optional
        Called with (runs read, runs in all).

    Returns
    -------
    Collection
        Runs and judgments.

    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
    >>> runs = {"bm25": {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}, "dense": {"1": {"b": 9.0}, "2": {"a": 3.0}}}
    >>> collection = read_collection(runs, qrels)
    >>> collection.systems, collection.topics, collection.n_docs
    (('bm25', 'dense'), ('1', '2'), 3)
    """
    conventions = parse_conventions(
        like, missing=missing, depth=depth, precision=precision, unjudged=unjudged, order=order
    )
    parsed = _parse_input(runs, qrels, conventions, subtopics, intents, jobs, progress)
    chosen_topics = conventions.topics if topics is None else topics
    systems, kept, notes = settle_topics(parsed, names, chosen_topics, conventions.missing)
    return _assemble_parsed(parsed, systems, kept, conventions, notes)


def read_part(
    runs: Sequence[str | os.PathLike[str]],
    qrels: Any,
    conventions: Conventions,
    *,
    subtopics: bool = False,
    intents: Any = None,
    jobs: int | None = None,
) -> tuple[Collection, ParsedInput]:
    """Read some of many run files, called by their paths, on all judged topics.

    Parameters
    ----------
    runs, qrels, subtopics, intents, jobs
        As in `read_collection`.
    conventions : Conventions
        What to do where evaluation programs differ.

    Returns
    -------
    tuple of Collection and Parsed
        The collection, and what `settle_topics` needs of it.
    """
    parsed = _parse_input(list(runs), qrels, conventions, subtopics, intents, jobs, None)
    judged = {topic for part in parsed.qrels for topic in part.topics}
    systems = tuple(run.source for run in parsed.runs)
    collection = _assemble_parsed(parsed, systems, tuple(sorted(judged, key=natural_key)), conventions, [])
    # new arrays, since an empty slice would keep the array that it is a slice of
    codes, grades = np.empty(0, np.int32), np.empty(0, np.int16)
    runs_without = [replace(run, docs=codes) for run in parsed.runs]
    qrels_without = [replace(part, docs=codes, grades=grades) for part in parsed.qrels]
    extra = parsed.extra and replace(parsed.extra, topics=[], docs=[], labels=[], grades=grades)
    return collection, ParsedInput(runs_without, qrels_without, extra, None, [])


class ParsedInput(NamedTuple):
    """Runs and judgments as they were read, before it is decided which topics count."""

    runs: list[ParsedRun]
    qrels: list[ParsedQrels]
    extra: Labelled | None
    intents: Any
    interners: list[Interner]


def _parse_input(
    runs: Any,
    qrels: Any,
    conventions: Conventions,
    subtopics: bool,
    intents: Any,
    jobs: int | None,
    progress: Progress | None,
) -> ParsedInput:
    sources = _run_sources(runs)
    qrels = from_ir_datasets(qrels)
    if isinstance(qrels, str | os.PathLike) and is_json(Path(qrels)):
        qrels = read_json_ranking(Path(qrels))
    texts = {path: read_text(path) for path in list_files(qrels)} if are_paths(qrels) else {}
    labelled_texts = texts
    if conventions.comments == "skip":
        labelled_texts = {path: blank_comments(text) for path, text in texts.items()}
    extra = parse_labels(labelled_texts or qrels, subtopics)
    judged: list[Path | RunTable] = [*texts] if extra is None else [extra.make_table()]
    judged = judged or [qrels_table(qrels)]
    if intents is not None and not subtopics:
        raise InputError(
            "intents without subtopics", remedy=("say ", Option("subtopics", True), " if the qrels have them")
        )
    crew = [Worker(number, conventions) for number in range(min(count_workers(jobs), len(sources)))]
    parsed_qrels = [
        crew[0].parse_qrels(source, texts.get(source, b"") if isinstance(source, Path) else b"")
        for source in judged
    ]
    parsed = _parse_all(crew, sources, progress)
    return ParsedInput(parsed, parsed_qrels, extra, intents, [worker.interner for worker in crew])


def settle_topics(
    parsed: ParsedInput, names: Names, topics: Literal["common", "judged"] | Sequence[str], missing: Missing
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Return the names of the systems, the topics that count, and notes on both."""
    systems, naming = _name_systems(parsed.runs, names)
    kept, notes = _choose_topics(parsed.runs, systems, parsed.qrels, topics, missing)
    repeated = sum(part.repeated for part in parsed.qrels)
    repeated += parsed.extra.repeated if parsed.extra is not None else 0
    if repeated:
        notes.append(f"{format_count(repeated, 'judgment')} repeating another: counted once")
    comments = sum(run.comments for run in parsed.runs) + sum(part.comments for part in parsed.qrels)
    if comments:
        notes.append(f"{format_count(comments, 'comment line')} (#) passed over")
    tails = [system for system, run in zip(systems, parsed.runs, strict=True) if run.tails]
    if tails:
        lines = sum(run.tails for run in parsed.runs)
        notes.append(
            f"text behind the run tag passed over in {format_count(lines, 'line')}: {_list_some(tails)}"
        )
    sources = [*(run.source for run in parsed.runs), *(part.source for part in parsed.qrels)]
    packed = [Path(source) for source in sources if source.endswith(".zst")]
    unchecked = [path.name for path in packed if path.is_file() and lacks_checksum(path)]
    if unchecked:
        notes.append(f"{UNCHECKED}: {_list_some(unchecked)}")
    return systems, kept, [*naming, *notes]


def _assemble_parsed(
    parsed: ParsedInput,
    systems: tuple[str, ...],
    kept: tuple[str, ...],
    conventions: Conventions,
    notes: list[str],
) -> Collection:
    collection = assemble_collection(
        parsed.runs, parsed.qrels, parsed.interners, systems, kept, conventions.depth, notes
    )
    collection = replace(collection, conventions=conventions)
    if parsed.extra is not None:
        collection = attach_labels(collection, parsed.extra, parsed.intents)
    if collection.reordered is None:
        return collection
    other = replace(
        collection.reordered,
        subtopics=collection.subtopics,
        strata=collection.strata,
        conventions=conventions.change(precision="double" if conventions.precision == "single" else "single"),
    )
    return replace(collection, reordered=other)


def blank_comments(text: bytes) -> bytes:
    """Empty the lines of a text that begin with #, so that line numbers stay.

    Parameters
    ----------
    text : bytes
        Text of a file.

    Returns
    -------
    bytes
        The same where there are no such lines.

    >>> blank_comments(b"1 0 d#1 1\\n# old\\n1 0 d2 0")
    b'1 0 d#1 1\\n\\n1 0 d2 0'
    """
    return re.sub(rb"(?m)^[ \t]*#[^\n]*", b"", text) if b"#" in text else text


def _run_sources(runs: Any) -> list[Path | RunTable]:
    if are_paths(runs):
        return [json_run(path) if is_json(path) else path for path in list_files(runs)]
    if (
        isinstance(runs, Iterable)
        and not isinstance(runs, Mapping | list | tuple)
        and not hasattr(runs, "columns")
    ):
        items = runs if type(runs).__module__.startswith("ranx") else list(runs)
        return list(list_files(items)) if are_paths(items) else list(run_tables(items))
    return list(run_tables(runs))


def _parse_all(
    crew: list[Worker], sources: list[Path | RunTable], progress: Progress | None
) -> list[ParsedRun]:
    """Parse all sources, each worker taking the next one; the first source in order that fails is reported.

    The largest come first, so that no worker is left with one when the others are done.
    """
    parsed: list[ParsedRun | InputError | None] = [None] * len(sources)
    waiting = iter(sorted(range(len(sources)), key=lambda k: -_measure_size(sources[k])))
    lock = threading.Lock()
    done = 0

    def parse_waiting(worker: Worker) -> None:
        nonlocal done
        while True:
            with lock:
                k = next(waiting, None)
            if k is None:
                return
            try:
                parsed[k] = worker.parse_run(sources[k])
            except InputError as error:
                parsed[k] = error
            with lock:
                done += 1
                if progress is not None:
                    progress(done, len(sources))

    list(map_parallel(parse_waiting, crew, jobs=len(crew)))
    good = []
    for run in parsed:
        if isinstance(run, InputError):
            raise run
        if run is not None:
            good.append(run)
    return good


def _measure_size(source: Path | RunTable) -> int:
    """Return how long a source is; nothing is known of a pipe, and that a file is missing is told when it is read."""
    if isinstance(source, Path):
        try:
            return source.stat().st_size
        except OSError:
            return 0
    return len(source.docs)


def _name_systems(parsed: list[ParsedRun], names: Names) -> tuple[tuple[str, ...], list[str]]:
    """Return names of the systems, and a note on how they were found."""
    notes: list[str] = []
    files = [bare_name(Path(run.source)) for run in parsed]
    if isinstance(names, str):
        if names not in NAMINGS:
            raise InputError(
                f"unknown way of naming systems {names!r}",
                remedy=("choose auto, tag or file", Either(", or give the names", "")),
                argument="names",
                value=names,
                choices=NAMINGS,
            )
        tags = Counter(run.label for run in parsed)
        mixed = next((run for run in parsed if run.label is None), None)
        if names == "tag" and mixed is not None:
            remedy = ("use ", Option("names", "file"))
            raise InputError("has more than one run tag", where=mixed.source, remedy=remedy)
        single = [run.label is not None and (names == "tag" or tags[run.label] == 1) for run in parsed]
        tagged = [alone and names != "file" for alone in single]
        systems = [str(r.label) if tag else file for r, file, tag in zip(parsed, files, tagged, strict=True)]
        by_file = [file for file, tag in zip(files, tagged, strict=True) if not tag]
        if names == "auto" and any(run.label is not None for run in parsed):
            notes.append(_describe_naming(len(systems) - len(by_file), "run tag"))
            why = "as the run tag is not single or not unique"
            if by_file:
                notes.append(f"{_describe_naming(len(by_file), 'file name')}, {why}: {_list_some(by_file)}")
    elif callable(names):
        systems = [names(run.source) for run in parsed]
    elif isinstance(names, Mapping):
        systems = [
            str(names.get(run.source, names.get(file, file))) for run, file in zip(parsed, files, strict=True)
        ]
    else:
        if len(names) != len(parsed):
            raise InputError(
                f"{format_count(len(names), 'name')} for {format_count(len(parsed), 'run')}",
                remedy="give one name a run",
            )
        systems = list(names)
    seen: dict[str, str] = {}
    for system, run in zip(systems, parsed, strict=True):
        if system in seen:
            raise InputError(
                f"the name '{system}' is already that of {seen[system]}",
                where=run.source,
                remedy=("rename one of them, or use ", Option("names", "file")),
            )
        seen[system] = run.source
    return tuple(systems), notes


def _describe_naming(n: int, by: str) -> str:
    return f"{format_count(n, 'system')} {'is called by its' if n == 1 else 'are called by their'} {by}"


def _choose_topics(
    parsed: list[ParsedRun],
    systems: tuple[str, ...],
    qrels: list[ParsedQrels],
    topics: Literal["common", "judged"] | Sequence[str],
    missing: Missing,
) -> tuple[tuple[str, ...], list[str]]:
    """Return topics of the collection in natural order, and notes on those left out."""
    judged = {topic for part in qrels for topic in part.topics}
    retrieved = {topic for run in parsed for topic in run.topics}
    notes: list[str] = []
    if isinstance(topics, str):
        if topics not in ("common", "judged"):
            raise InputError(
                f"unknown choice of topics {topics!r}",
                remedy="choose common or judged, or list the topics",
                argument="topics",
                value=topics,
                choices=("common", "judged"),
            )
        wanted = judged & retrieved if topics == "common" else judged
        if not judged & retrieved:
            raise InputError(
                f"the runs and the qrels have no topic in common (runs: {_list_some(retrieved)}; qrels:"
                f" {_list_some(judged)})",
                where=qrels[0].source,
                remedy="check that they belong together",
            )
    else:
        wanted = {str(topic) for topic in topics}
        unknown = wanted - judged
        if unknown or not wanted:
            raise InputError(
                f"no judgments for topic {_list_some(unknown)}", remedy="choose among the judged topics"
            )
    for others, why in (
        (retrieved - judged, "retrieved but not judged"),
        (judged - retrieved, "judged but in no run"),
    ):
        if others - wanted:
            notes.append(
                f"{format_count(len(others - wanted), 'topic')} {why}, left out: {_list_some(others - wanted)}"
            )
    held = {system: set(run.topics) for system, run in zip(systems, parsed, strict=True)}
    lacking = {system: wanted - topics for system, topics in held.items() if not wanted <= topics}
    if lacking and missing == "refuse":
        system, without = next(iter(lacking.items()))
        of = f"{len(without)} of {format_count(len(wanted), 'topic')}"
        raise InputError(
            f"system '{system}' has no documents for {of}: {_list_some(without)}",
            where=parsed[systems.index(system)].source,
            remedy=(
                *("choose ", Option("missing", "zero"), " (nothing retrieved), "),
                *(Option("missing", "leave"), " (no score for that run) or "),
                *(Option("missing", "drop"), " (leave these topics out)"),
            ),
        )
    became = {"leave": "left out of the means of their run", "zero": "scored as nothing retrieved"}
    if lacking and missing in became:
        rankings = format_count(sum(map(len, lacking.values())), "ranking")
        notes.append(f"{rankings} without documents, {became[missing]}: {_list_some(lacking)}")
    elif lacking:
        gone = set().union(*lacking.values())
        wanted -= gone
        dropped = format_count(len(gone), "topic")
        notes.append(f"{dropped} dropped for want of documents in some run: {_list_some(gone)}")
        if not wanted:
            remedy = ("choose ", Option("missing", "zero"), ", or leave runs out")
            raise InputError("every topic is missing from some run", remedy=remedy)
    return tuple(sorted(wanted, key=natural_key)), notes


def _list_some(items: Iterable[str], most: int = 5) -> str:
    """Return a few of the items in words."""
    ordered = sorted(items, key=natural_key)
    return ", ".join(ordered[:most]) + (f", ... ({len(ordered)} in all)" if len(ordered) > most else "")
