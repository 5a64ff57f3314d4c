"""What all logs have in common: rows of one model on one task, and what to call the model."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.source import LogSource, as_object
from shardwise.io.tables.facts import Columns
from shardwise.io.tables.numerals import is_number
from shardwise.io.tables.records import Records, Wishes
from shardwise.io.tables.sheet import Labels, strip_endings
from shardwise.io.tables.words import CLUSTERS, LETTERS, SYSTEMS, VERDICTS, simplify_header

MAIN = "score"
"""The measure that is each task's own, where tasks have none in common."""
Record = dict[str, Any]
"""What a tool writes for one answer, or for a part of it."""
Key = TypeVar("Key")
_LONGEST = 80  # characters of a label; the text of a passage is longer, and gets a number


@dataclass(frozen=True, slots=True)
class Row:
    """The scores of one answer."""

    item: str
    repeat: str
    scores: Mapping[str, float]
    about: Mapping[str, Any]  # what the log says of the item


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """A model on a task.

    Parameters
    ----------
    source
        The file.
    names
        What the model may be called, best first; later ones keep logs of one name apart.
    task
        The task.
    rows
        The scores, an answer each.
    primary
        The score that the tool itself shows first.
    repeats
        The tool's word for repeated answers.
    place
        Where a row stands, in words.
    notes
        What has to be known of the log.
    item, system
        The tool's words for them.
    what
        What it was recognised as.
    """

    source: str
    names: tuple[str, ...]
    task: str
    rows: Sequence[Row]
    primary: str
    repeats: str
    place: Callable[[int], str]
    notes: tuple[str, ...] = ()
    item: str = "question"
    system: str = "model"
    what: str = ""


def parse_verdict(value: Any) -> float:
    """Return the number that a verdict stands for, as inspect has it; infinite where it stands for none.

    >>> [parse_verdict(value) for value in ("C", "I", "P", "N", True, "0.25", "yes")]
    [1.0, 0.0, 0.5, 0.0, 1.0, 0.25, 1.0]
    """
    if value is None:
        return np.nan
    if isinstance(value, bool | int | float):
        # whole numbers may have any number of digits
        return np.inf if abs(value) > 1e308 else float(value)
    if not isinstance(value, str):
        return np.inf
    text = value.strip()
    if is_number(text):
        return float(text)
    return (VERDICTS | LETTERS[0]).get(text.lower(), np.inf)


def group_records(records: Iterable[Record], key: Callable[[Record], Key]) -> dict[Key, list[Record]]:
    """Return records by a key, in their order."""
    groups: dict[Key, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def make_log(
    source: str | Path,
    model: str,
    rows: Sequence[Row],
    *,
    task: str,
    repeats: str,
    others: Sequence[str] = (),
    primary: str = "",
    notes: tuple[str, ...] = (),
    item: str = "question",
    system: str = "model",
) -> Log:
    """Return the log of one model in a file; ``others`` are names to keep it apart from a log of the same model."""
    return Log(
        source=str(source),
        names=(model, *(others or [f"{model} ({strip_endings(Path(source))})"]), f"{model} ({source})"),
        task=task,
        rows=rows,
        primary=primary or next((name for row in rows for name in row.scores), ""),
        repeats=repeats,
        place=lambda row: f"{source}: {item} {rows[row].item}, {repeats} {rows[row].repeat}",
        notes=notes,
        item=item,
        system=system,
    )


Field = str | Callable[[Record], Any]
"""A field of a record, as `find_field` takes it, or a function of the record."""


def find_field(record: Record, field: Field) -> Any:
    """Return what a field holds: ``"doc.id"`` is one within another, of ``"input|name"`` the first that says something.

    >>> find_field({"doc": {"id": 3}}, "doc.id"), find_field({"input": "", "name": "x"}, "input|name")
    (3, 'x')
    """
    if not isinstance(field, str):
        return field(record)
    value: Any = None
    for name in field.split("|"):
        value = record
        for key in name.split("."):
            value = as_object(value).get(key)
        if value:
            break
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFields:
    """How a tool writes answers: a record is one answer, or a part of one, and these are its fields.

    Parameters
    ----------
    item
        What was asked.
    scores
        The scores by name.
    task
        The task, where the files of the tool are of one.
    records
        The records of a file.
    names
        What the model of a file may be called, best first.
    system, named
        The model and the task, in files of several.
    about
        What the log says of the item.
    part
        What tells the records of one answer apart.
    repeats, noun, system_noun
        The tool's words for repeated answers, items and models.
    finish
        The answers as they count, and what has to be known of them.
    """

    item: Field
    scores: Field
    task: str = ""
    records: Callable[[LogSource], Sequence[Record]] = lambda source: source.rows
    names: Callable[[LogSource], Sequence[str]] = lambda source: (source.stem,)
    system: Field = ""
    named: Field = ""
    about: Field = ""
    part: Field = ""
    repeats: str = "repeat"
    noun: str = "question"
    system_noun: str = "model"
    finish: Callable[[list[Row], Sequence[Record]], tuple[list[Row], tuple[str, ...]]] = lambda rows, _: (
        rows,
        (),
    )

    def __call__(self, source: LogSource) -> list[Log]:
        """Return the logs of a file."""
        logs = []
        for (model, task), records in group_records(self.records(source), self._name_group).items():
            model, *others = [model] if self.system else self.names(source)
            rows, notes = self.finish(self.read_rows(source.path, records), records)
            words = {"repeats": self.repeats, "item": self.noun, "system": self.system_noun}
            task = task or source.stem
            logs.append(make_log(source.path, model, rows, task=task, others=others, notes=notes, **words))
        return logs

    def _name_group(self, record: Record) -> tuple[str, str]:
        task = find_field(record, self.named) if self.named else self.task
        return str(find_field(record, self.system)) if self.system else "", str(task or "")

    def read_rows(self, path: Path, records: Sequence[Record]) -> list[Row]:
        """Return a row for each answer of a file; refuse records in which one item has several systems.

        Records of one item and part are its repeats, in their order; the parts of an answer, such as its measures, are
        one row.

        >>> answers = [{"id": "a", "right": 1}, {"id": "b", "right": 0}, {"id": "a", "right": 0}]
        >>> tool = AnswerFields(item="id", scores=lambda answer: {"right": answer.get("right")})
        >>> [(row.item, row.repeat, row.scores["right"]) for row in tool.read_rows(Path("log.jsonl"), answers)]
        [('a', '1', 1.0), ('b', '1', 0.0), ('a', '2', 0.0)]
        >>> tool.read_rows(Path("log.jsonl"), [{"id": "a", "model": "x"}, {"id": "a", "model": "y"}])
        Traceback (most recent call last):
        shardwise.core.errors.InputError: log.jsonl: answers of several systems in 'model' (x, y); write a file for each
        """
        fields = {field for record in records for field in record if simplify_header(field) in SYSTEMS}
        counts: dict[Any, int] = {}
        systems: dict[Any, str] = {}
        rows: dict[tuple[str, str], Row] = {}
        for record in records:
            item = shorten_label(find_field(record, self.item))
            key = (item, find_field(record, self.part) if self.part else "")
            counts[key] = counts.get(key, 0) + 1
            for field in fields & record.keys():
                name = str(record[field])
                before = systems.setdefault((key, field), name)
                if name != before:
                    problem = f"answers of several systems in {field!r} ({before}, {name})"
                    raise InputError(problem, where=str(path), remedy="write a file for each")
            scores = {str(name): parse_verdict(v) for name, v in find_field(record, self.scores).items()}
            answer = (item, str(counts[key]))
            about = as_object(find_field(record, self.about)) if self.about else {}
            rows[answer] = Row(*answer, {**(rows[answer].scores if answer in rows else {}), **scores}, about)
        return list(rows.values())


def join_logs(
    logs: Sequence[Log], systems: Sequence[str] = (), wishes: Wishes | None = None
) -> list[Records]:
    """Turn logs into records: models that have the same name in two logs of a task are called by their files.

    Parameters
    ----------
    logs
        The logs.
    systems
        What to call the model of each.
    wishes
        What the caller says: the field of an item that is its cluster, models and items to leave out.
    """
    wishes = wishes or Wishes()
    if not logs:
        raise InputError("no logs were given", remedy="name at least one")
    logs = logs if systems else _merge_parts(logs)
    called = list(systems) or _name_models(logs)
    kept = [k for k, name in enumerate(called) if name not in wishes.exclude]
    known = {*called, *(row.item for log in logs for row in log.rows)} if wishes.exclude else set()
    met = frozenset(name for name in wishes.exclude if name in known)
    if not kept:
        raise InputError("all models are left out", argument="exclude", remedy="keep some")
    rows = [[row for row in logs[k].rows if row.item not in wishes.exclude] for k in kept]
    logs = [replace(logs[k], rows=kept_rows) for k, kept_rows in zip(kept, rows, strict=True)]
    called = [called[k] for k in kept]
    logs, notes = _share_measure(logs, wishes.measure)
    logs, averaged = _even_repeats(logs)
    notes = (*notes, *averaged)
    repeated = any(len({row.repeat for row in log.rows}) > 1 for log in logs)
    key = _cluster_key(logs, wishes.columns or {})
    parts = [
        _make_part(log, name, repeated, key, bool(wishes.columns), notes)
        for log, name in zip(logs, called, strict=True)
    ]
    shared = set.intersection(*(set(part.measures.names) for part in parts))
    primary = next((log.primary for log in logs if log.primary in shared), "") or next(
        iter(sorted(shared)), ""
    )
    return [replace(part, primary=primary, excluded=met) for part in parts]


def _merge_parts(logs: Sequence[Log]) -> list[Log]:
    """Return logs of one model and task that share no item as one log: some tools write a file for each item."""
    groups: dict[tuple[str, str], list[Log]] = {}
    for log in logs:
        groups.setdefault((log.names[0], log.task), []).append(log)
    merged = []
    for parts in groups.values():
        items = [{row.item for row in log.rows} for log in parts]
        if len(parts) == 1 or sum(map(len, items)) > len(set[str]().union(*items)):
            merged += parts
            continue
        places = [log.place(k) for log in parts for k in range(len(log.rows))]
        merged.append(
            replace(
                parts[0],
                rows=[row for log in parts for row in log.rows],
                place=places.__getitem__,
                notes=tuple(dict.fromkeys(note for log in parts for note in log.notes)),
            )
        )
    return merged


def _share_measure(logs: Sequence[Log], measure: str | None) -> tuple[list[Log], tuple[str, ...]]:
    """Return logs with a measure in common; where tasks have none, each task's own is added under one name."""
    names = [{name for row in log.rows for name in row.scores} for log in logs]
    if set.intersection(*names):
        return list(logs), ()
    tasks = dict.fromkeys(log.task for log in logs)
    by_task = {task: [k for k, log in enumerate(logs) if log.task == task] for task in tasks}
    main: dict[str, str] = {}
    for task, places in by_task.items():
        common = set.intersection(*(names[k] for k in places))
        if not common:
            first, second = logs[places[0]], logs[places[1]]
            raise InputError(
                f"has none of the scores of {first.source} ({', '.join(sorted(names[places[0]]))})",
                where=second.source,
                remedy="compare logs of the same tasks",
            )
        primaries = [logs[k].primary for k in places if logs[k].primary in common]
        main[task] = primaries[0] if primaries else min(common)
    # with its filter or without
    bare = (measure or "").removesuffix(",none")
    if any(name == measure or name.split(",")[0] == bare for known in names for name in known):
        return list(logs), ()
    joined = []
    for log in logs:
        own = [row.scores.get(main[log.task], np.nan) for row in log.rows]
        scores = [{MAIN: score, **row.scores} for score, row in zip(own, log.rows, strict=True)]
        rows = [replace(row, scores=held) for row, held in zip(log.rows, scores, strict=True)]
        joined.append(replace(log, rows=rows, primary=MAIN))
    shown = ", ".join(f"{name} ({task})" for task, name in main.items())
    return joined, (f"each task uses its main metric: {shown}",)


def _even_repeats(logs: Sequence[Log]) -> tuple[list[Log], tuple[str, ...]]:
    """Return logs whose repeats are averaged where tasks have different numbers of them."""
    counts: dict[str, int] = {}
    for log in logs:
        counts[log.task] = max(counts.get(log.task, 0), len({row.repeat for row in log.rows}))
    if len(set(counts.values())) < 2:
        return list(logs), ()
    averaged = []
    for log in logs:
        answers: dict[str, list[Row]] = {}
        for row in log.rows:
            answers.setdefault(row.item, []).append(row)
        rows = []
        for item, group in answers.items():
            given: dict[str, list[float]] = {}
            for name, score in (pair for row in group for pair in row.scores.items()):
                given.setdefault(name, []).extend([] if np.isnan(score) else [score])
            means = {name: float(np.mean(known)) if known else np.nan for name, known in given.items()}
            rows.append(Row(item, "1", means, group[0].about))
        places = [f"{log.source}: {row.item}" for row in rows]
        averaged.append(replace(log, rows=rows, place=places.__getitem__))
    shown = ", ".join(f"{count} ({task})" for task, count in counts.items())
    return averaged, (f"repeats differ between tasks and are averaged: {shown}",)


def _make_part(
    log: Log, system: str, repeated: bool, key: str, asked: bool, notes: tuple[str, ...]
) -> Records:
    names = list(dict.fromkeys(name for row in log.rows for name in row.scores))
    count, times = len(log.rows), len(names)
    labels = {
        "task": Labels.repeat_name(log.task, count),
        "topic": Labels.of_texts(row.item for row in log.rows),
        "system": Labels.repeat_name(system, count),
    }
    nouns = {"topic": log.item, "system": log.system, "instance": log.repeats}
    if repeated:
        labels["instance"] = Labels.of_texts(row.repeat for row in log.rows)
    if key:
        labels["cluster"] = Labels.of_texts(shorten_label(row.about.get(key)) for row in log.rows)
        nouns["cluster"] = key.lower()
    return Records(
        source=log.source,
        labels={role: Labels(np.tile(entry.codes, times), entry.names) for role, entry in labels.items()},
        measures=Labels(np.repeat(np.arange(times, dtype=np.int32), count), names),
        values=np.array([row.scores.get(name, np.nan) for name in names for row in log.rows]),
        place=lambda k: log.place(k % count),
        nouns={dim: word for dim, word in nouns.items() if word != dim},
        notes=(*log.notes, *notes),
        primary=log.primary,
        asked=frozenset({"cluster"} if asked and key else ()),
        repeats_kind="samples",
        what=log.what,
    )


def _name_models(logs: Sequence[Log]) -> list[str]:
    """Return the best names that keep logs of the same task apart."""
    for level in range(max(len(log.names) for log in logs)):
        names = [log.names[min(level, len(log.names) - 1)] for log in logs]
        if len({(name, log.task) for name, log in zip(names, logs, strict=True)}) == len(logs):
            return names
    raise InputError(
        "is the same log as another, or has its name and its task",
        where=logs[-1].source,
        remedy="leave one out",
    )


def _cluster_key(logs: Sequence[Log], columns: Columns) -> str:
    """Return the field that says what items have in common: as the caller says, or one called after it in all logs."""
    rows = [row for log in logs for row in log.rows]
    given = columns.get("cluster")
    if set(columns) - {"cluster"}:
        word = next(word for word in columns if word != "cluster")
        raise InputError(
            f"a log says itself what the {word} is",
            where=logs[0].source,
            remedy="name the field of a cluster, if any",
            argument="columns",
            value=word,
        )
    if given is not None:
        if not isinstance(given, str) or not all(given in row.about for row in rows):
            raise InputError(
                f"has an item without a field {given!r}",
                where=logs[0].source,
                remedy=f"fields are {', '.join(rows[0].about)}",
                argument="columns",
                value=given,
            )
        return given
    if not rows:
        return ""
    keys = (key for key in rows[0].about if simplify_header(key) in CLUSTERS)
    return next((key for key in keys if all(row.about.get(key) is not None for row in rows)), "")


def shorten_label(value: Any) -> str:
    """Return a text that may be long as the label of an item.

    >>> shorten_label("What is 1+1?")
    'What is 1+1?'
    """
    text = str(value).strip()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 9]}…{zlib.crc32(text.encode()):08x}"
