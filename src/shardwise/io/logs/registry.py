"""Readers of logs by name: ours, and those of other packages, which register them as entry points.

A package adds a format by an entry point of the group ``shardwise.readers`` that names a `Reader`; it is asked before
ours, so that it may also replace one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log
from shardwise.io.logs.source import LogSource
from shardwise.io.votes import Votes, join_votes

GROUP = "shardwise.readers"
_OWN = ("inspect", "harnesses", "benchmarks")
"""Modules of this package that hold readers, in the order in which they are asked."""

_FIELDS = {
    "promptfoo": "results config evalId provider success score testCase vars prompt",
    "deepeval": "testCases metricsScores hyperparameters metricsData input actualOutput",
    "inspect_ai": "eval samples plan status scores epoch metadata",
    "lm-evaluation-harness": "doc_id doc target resps filtered_resps metrics results configs",
    "HELM": "instance_id stats train_trial_index",
    "SWE-bench": "resolved_ids submitted_ids completed_ids total_instances resolved",
    "OpenAI evals": "spec run_id event_id sample_id type data",
    "HumanEval": "task_id completion passed result",
    "EvalPlus": "eval hash date base_status plus_status",
    "AlpacaEval": "instruction generator_1 generator_2 preference annotator",
    "MT-bench": "question_id model judge turn score",
    "mteb": "mteb_version scores task_name dataset_revision",
}
"""Fields by which a file of an unknown kind is said to be like those of a tool."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How the files of one tool are recognised and read.

    Parameters
    ----------
    name
        What to call them, as in "promptfoo results".
    recognize
        Whether a file is one of them, by its name and content.
    read
        The logs that it holds, or votes.
    holds_means
        Whether a file of the tool holds no scores of single items.
    remedy
        Where the scores are instead.
    read_object
        The logs that an object in memory is; None where it is no such object.
    """

    name: str
    recognize: Callable[[LogSource], bool]
    read: Callable[[LogSource], list[Log] | list[Votes]]
    holds_means: Callable[[LogSource], bool] = lambda source: False
    remedy: str = ""
    read_object: Callable[[Any], list[Log] | None] | None = None


class MeansOnly(InputError):
    """A file beside logs that holds no scores of single items."""


@cache
def list_readers() -> tuple[Reader, ...]:
    """Return all readers, those of other packages first."""
    others = [point.load() for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]
    modules = [import_module(f"shardwise.io.logs.{name}") for name in _OWN]
    readers: list[Reader] = [reader for module in modules for reader in module.READERS]
    names = {reader.name for reader in others}
    return (*others, *(reader for reader in readers if reader.name not in names))


def find_reader(source: LogSource) -> Reader | None:
    """Return the reader that recognises a file, if any does."""
    return next((reader for reader in list_readers() if reader.recognize(source)), None)


def read_logs(path: Path) -> list[Log] | Votes | None:
    """Return the logs that a file holds; None where no reader knows it."""
    if not path.is_file():
        return None
    source = LogSource(path)
    reader = find_reader(source)
    if reader is not None:
        contents = reader.read(source)
        votes = [content for content in contents if isinstance(content, Votes)]
        if votes:
            return join_votes(votes)
        return [replace(log, what=log.what or reader.name) for log in contents if isinstance(log, Log)]
    _refuse_means(source)
    return None


def holds_means(path: Path) -> bool:
    """Tell whether a file of a known tool holds no scores of single items."""
    source = LogSource(path)
    return find_reader(source) is None and any(reader.holds_means(source) for reader in list_readers())


def _refuse_means(source: LogSource) -> None:
    for reader in list_readers():
        if reader.holds_means(source):
            raise MeansOnly(
                "contains only aggregate means; per-item scores are required",
                where=str(source.path),
                remedy=reader.remedy,
            )


def name_nearest(path: Path) -> str:
    """Return the tool whose files are most like one that nobody knows, by the fields that they share; or nothing."""
    source = LogSource(path)
    fields = {*source.fields, *source.first}
    for part in (source.whole, source.fields.get("results"), *source.fields.values()):
        if isinstance(part, list) and part and isinstance(part[0], dict):
            fields |= set(part[0])
    shared = {tool: len(fields.intersection(known.split())) for tool, known in _FIELDS.items()}
    best = max(shared, key=lambda tool: shared[tool])
    return best if shared[best] > 1 else ""


def find_logs(folder: Path) -> list[Path]:
    """List the files below a folder that readers know."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    known = [path for path in files if find_reader(LogSource(path)) is not None]
    if not known:
        for path in files:
            _refuse_means(LogSource(path))
        raise InputError(
            "is a folder, not a file", where=str(folder), remedy="name the files of scores in it"
        )
    return known


def read_object(data: Any) -> list[Log] | None:
    """Return the logs that an object in memory is; None where no reader knows it."""
    for reader in list_readers():
        logs = reader.read_object(data) if reader.read_object is not None else None
        if logs is not None:
            return [replace(log, what=log.what or reader.name) for log in logs]
    return None


def are_rankings(paths: Sequence[Path]) -> bool:
    """Tell whether files are runs and judgments in JSON, as ranx saves them, rather than scores."""
    if len(paths) < 2 or not all(path.is_file() for path in paths):
        return False
    is_ranking = import_module("shardwise.io.logs.benchmarks").is_ranking
    return all(is_ranking(LogSource(path)) for path in paths)
