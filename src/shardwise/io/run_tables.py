"""Runs and judgments that are already in memory: data frames, dictionaries, ranx objects."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.extras import import_extra
from shardwise.core.libraries import pd
from shardwise.io.files import bare_name, read_text
from shardwise.io.trec.names import MAX_NAME

IRDS = "irds:"
"""What stands before the name of a dataset of ir_datasets."""

_TOPIC = ("query_id", "qid", "topic", "q_id")
_DOC = ("doc_id", "docno", "docid")
_SCORE = ("score", "sim")
_GRADE = ("relevance", "label", "rel", "grade")
_SYSTEM = ("system", "name", "run", "run_id", "tag")


@dataclass(frozen=True, slots=True, eq=False)
class RunTable:
    """One run, or the judgments, as three columns."""

    name: str
    topics: list[str]
    docs: list[bytes]
    values: Floats


def run_tables(runs: Any, name: str = "run") -> list[RunTable]:
    """Turn anything in memory that holds runs into tables, one a system."""
    if isinstance(runs, pd.DataFrame):
        return _frame_runs(runs, name)
    if _is_ranx(runs):
        return [_from_dict(runs.to_dict(), str(getattr(runs, "name", None) or name))]
    if isinstance(runs, Mapping):
        if not runs:
            raise InputError("no runs were given", remedy="give at least one")
        if _measure_depth(runs) == 2:
            return [_from_dict(runs, name)]
        return [table for system, run in runs.items() for table in run_tables(run, str(system))]
    if isinstance(runs, Iterable):
        items = list(runs)
        if not items:
            raise InputError("no runs were given", remedy="give at least one")
        if all(hasattr(item, "query_id") and hasattr(item, "doc_id") for item in items[:1]):
            return _frame_runs(pd.DataFrame(items), name)
        return [table for i, run in enumerate(items) for table in run_tables(run, f"{name}{i + 1}")]
    raise InputError(
        f"cannot read runs from {type(runs).__name__}",
        remedy="give paths, data frames, dictionaries {topic: {document: score}} or ranx runs",
    )


def read_json_ranking(path: Path) -> Any:
    """Read a run or judgments that ranx saved: ``{query: {document: number}}``.

    Parameters
    ----------
    path
        A file of JSON.
    """
    try:
        whole = json.loads(read_text(path))
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        raise InputError(
            "is not a run or judgments in JSON", where=str(path), remedy="save it with ranx again"
        )
    return whole


def is_json(path: Path) -> bool:
    """Tell whether a file ends as JSON does, compressed or not."""
    return Path(bare_name(path)).suffix.lower() == ".json"


def json_run(path: Path) -> RunTable:
    """Read a run in JSON, called by its file.

    Parameters
    ----------
    path
        A file of JSON.
    """
    return _from_dict(read_json_ranking(path), Path(bare_name(path)).stem)


def from_ir_datasets(qrels: Any) -> Any:
    """Return the judgments of an ir_datasets object, or of its name after ``irds:``; anything else as it is.

    >>> from_ir_datasets({"q1": {"d1": 1}})
    {'q1': {'d1': 1}}
    """
    if isinstance(qrels, str | os.PathLike) and str(qrels).startswith(IRDS):
        (ir_datasets,) = import_extra("irds", qrels)
        name = str(qrels).removeprefix(IRDS)
        try:
            qrels = ir_datasets.load(name)
        except KeyError:
            raise InputError(f"ir_datasets knows no {name!r}", remedy="see ir-datasets.com") from None
    if type(qrels).__module__.split(".")[0] == "ir_datasets" or hasattr(qrels, "qrels_iter"):
        if not hasattr(qrels, "qrels_iter"):
            raise InputError("the dataset has no judgments", remedy="take one of its parts that has")
        return pd.DataFrame(list(qrels.qrels_iter()))
    return qrels


def qrels_table(qrels: Any) -> RunTable:
    """Turn anything in memory that holds judgments into one table."""
    if _is_ranx(qrels):
        qrels = qrels.to_dict()
    if isinstance(qrels, Mapping):
        return _from_dict(qrels, "qrels")
    frame = qrels if isinstance(qrels, pd.DataFrame) else pd.DataFrame(list(qrels))
    return _from_columns(frame, "qrels", _GRADE)


def labelled_table(frame: pd.DataFrame, label_names: tuple[str, ...]) -> tuple[RunTable, list[str]]:
    """Return judgments of a data frame, and the column that says the subtopic or stratum of each."""
    labels = [str(label) for label in _get_column(frame, label_names, "qrels")]
    return _from_columns(frame, "qrels", _GRADE), labels


def _is_ranx(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "ranx"


def _measure_depth(value: Any) -> int:
    """Return how deep mappings are nested: 2 for {topic: {document: score}}."""
    depth = 0
    while isinstance(value, Mapping):
        depth += 1
        value = next(iter(value.values()), None)
    return depth


def _frame_runs(frame: pd.DataFrame, name: str) -> list[RunTable]:
    system = next((column for column in _SYSTEM if column in frame.columns), None)
    if system is None:
        return [_from_columns(frame, name, _SCORE)]
    return [_from_columns(part, str(key), _SCORE) for key, part in frame.groupby(system, sort=False)]


def _get_column(frame: pd.DataFrame, choices: tuple[str, ...], name: str) -> Any:
    for column in choices:
        if column in frame.columns:
            return frame[column]
    have = ", ".join(map(str, frame.columns))
    raise InputError(
        f"no column named {' or '.join(choices)} among {have}", where=name, remedy="rename the column"
    )


def _from_columns(frame: pd.DataFrame, name: str, value_names: tuple[str, ...]) -> RunTable:
    topics = [str(topic) for topic in _get_column(frame, _TOPIC, name)]
    docs = [str(doc) for doc in _get_column(frame, _DOC, name)]
    return _make_table(name, topics, docs, list(_get_column(frame, value_names, name)))


def _from_dict(nested: Mapping[Any, Any], name: str) -> RunTable:
    topics: list[str] = []
    docs: list[str] = []
    values: list[Any] = []
    for topic, row in nested.items():
        if not isinstance(row, Mapping):
            raise InputError(
                f"topic {topic} holds {type(row).__name__}, not a dictionary",
                where=name,
                remedy="give {topic: {document: score}}",
            )
        topics.extend([str(topic)] * len(row))
        docs.extend(map(str, row.keys()))
        values.extend(row.values())
    return _make_table(name, topics, docs, values)


def _make_table(name: str, topics: list[str], docs: list[str], values: list[Any]) -> RunTable:
    if not docs:
        raise InputError("there are no rows", where=name, remedy="remove it, or run the system again")
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        row = next(i for i, value in enumerate(values) if not _is_number(value))
        raise InputError(
            f"'{values[row]}' is not a number",
            where=f"{name}, row {row + 1}",
            remedy="write a number such as 12.5",
        ) from None
    if np.isnan(numbers).any():
        row = int(np.flatnonzero(np.isnan(numbers))[0])
        raise InputError(
            "the value is NaN, which has no place in an order",
            where=f"{name}, row {row + 1}",
            remedy="remove the row or give the document a number",
        )
    names = [doc.encode("utf-8", "surrogateescape") for doc in docs]
    for row, raw in enumerate(names):
        if not raw or len(raw) > MAX_NAME or b"\0" in raw:
            raise InputError(
                f"document name {docs[row][:40]!r} is empty, longer than {MAX_NAME} bytes or has a zero byte",
                where=f"{name}, row {row + 1}",
                remedy="give the document a proper name",
            )
    return RunTable(name, topics, names, numbers)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
