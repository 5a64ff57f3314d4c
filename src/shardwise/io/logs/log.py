"""What all logs have in common: rows of one model on one task, and what to call the model."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.tables.column import LETTERS, WORDS, Labels, is_number
from shardwise.io.tables.records import Records
from shardwise.io.tables.roles import Columns
from shardwise.io.tables.words import CLUSTERS, plain

_LONGEST = 80  # characters of a label; the text of a passage is longer, and gets a number


@dataclass(frozen=True, slots=True)
class Row:
    """The scores of one answer."""

    item: str
    instance: str
    scores: Mapping[str, float]
    about: Mapping[str, Any]  # what the log says of the item


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """One file: a model on a task."""

    source: str
    names: tuple[str, ...]  # what the model may be called, best first
    task: str
    rows: Sequence[Row]
    primary: str  # the score that the program itself shows first
    instances: str  # its word for repeated answers
    place: Callable[[int], str]
    notes: tuple[str, ...] = ()


def number(value: Any) -> float:
    """Return the number that a verdict stands for, as inspect has it; infinite where it stands for none.

    >>> number("C"), number("I"), number("P"), number("N"), number(True), number("0.25"), number("yes")
    (1.0, 0.0, 0.5, 0.0, 1.0, 0.25, 1.0)
    """
    if value is None:
        return np.nan
    if isinstance(value, bool | int | float):
        return np.inf if abs(value) > 1e308 else float(value)  # whole numbers may have any number of digits
    if not isinstance(value, str):
        return np.inf
    text = value.strip()
    if is_number(text):
        return float(text)
    return (WORDS | LETTERS[0]).get(text.lower(), np.inf)


def joined(logs: Sequence[Log], systems: Sequence[str] = (), columns: Columns | None = None) -> list[Records]:
    """Turn logs into records: models that have the same name in two logs of a task are called by their files.

    Parameters
    ----------
    logs
        The files.
    systems
        What to call the model of each.
    columns
        ``cluster``: the field of an item that says what it has in common with others.
    """
    called = list(systems) or _called(logs)
    repeated = any(len({row.instance for row in log.rows}) > 1 for log in logs)
    key = _cluster_key(logs, columns or {})
    parts = []
    for log, system in zip(logs, called, strict=True):
        names = list(dict.fromkeys(name for row in log.rows for name in row.scores))
        count = len(log.rows)
        labels = {
            "task": Labels.same(log.task, count),
            "topic": coded(row.item for row in log.rows),
            "system": Labels.same(system, count),
        }
        if repeated:
            labels["instance"] = coded(row.instance for row in log.rows)
        if key:
            labels["cluster"] = coded(_shown(row.about.get(key)) for row in log.rows)
        parts.append(
            Records(
                source=log.source,
                labels={
                    role: Labels(np.tile(one.codes, len(names)), one.names) for role, one in labels.items()
                },
                measures=Labels(np.repeat(np.arange(len(names), dtype=np.int32), count), names),
                values=np.array([row.scores.get(name, np.nan) for name in names for row in log.rows]),
                place=lambda k, log=log: log.place(k % len(log.rows)),  # type: ignore[misc]
                nouns={"topic": "question", "system": "model", "instance": log.instances}
                | ({"cluster": key.lower()} if key else {}),
                notes=log.notes,
                primary=log.primary,
                asked=frozenset({"cluster"} if columns and key else ()),
            )
        )
    shared = set.intersection(*(set(part.measures.names) for part in parts))
    if not shared:
        raise InputError(
            f"has none of the scores of {parts[0].source} ({', '.join(parts[0].measures.names)})",
            where=parts[1].source,
            remedy="compare logs of the same tasks",
        )
    first = next((log.primary for log in logs if log.primary in shared), "")
    return [replace(part, primary=first) for part in parts]


def coded(labels: Iterable[str]) -> Labels:
    """Give labels codes in the order they first appear."""
    names: dict[str, int] = {}
    codes = np.array([names.setdefault(label, len(names)) for label in labels], dtype=np.int32)
    return Labels(codes, list(names))


def _called(logs: Sequence[Log]) -> list[str]:
    """The best names that keep logs of the same task apart."""
    for level in range(max(len(log.names) for log in logs)):
        found = [log.names[min(level, len(log.names) - 1)] for log in logs]
        if len({(name, log.task) for name, log in zip(found, logs, strict=True)}) == len(logs):
            return found
    raise InputError(
        "is the same log as another, or has its name and its task",
        where=logs[-1].source,
        remedy="leave one out",
    )


def _cluster_key(logs: Sequence[Log], columns: Columns) -> str:
    """The field that says what items have in common: as the caller says, or one called after it in all logs."""
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
    found = (key for key in rows[0].about if plain(key) in CLUSTERS)
    return next((key for key in found if all(row.about.get(key) is not None for row in rows)), "")


def _shown(value: Any) -> str:
    text = str(value).strip()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 9]}…{zlib.crc32(text.encode()):08x}"
