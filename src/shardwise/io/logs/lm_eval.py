"""``samples_*.jsonl`` of lm-evaluation-harness: a model on a task, one line a document and filter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, make_log, number_repeats, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource
from shardwise.io.tables.sheet import strip_endings

_NAME = re.compile(r"(?P<model>.*?)[-_.]?samples_(?P<task>.+?)(?P<date>_\d{4}-\d\d-\d\dT[\d\-:.]+)?\.jsonl")
_OWN = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
_NO_SCORE = {"doc_hash", "prompt_hash", "target_hash"}


def recognize_samples(source: LogSource) -> bool:
    """Tell whether the first line of a file is that of a document and filter."""
    first = source.first
    return "doc_id" in first and bool({"resps", "filtered_resps", "doc_hash"} & first.keys())


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file holds the means that stand beside the samples."""
    if not _is_results(source.fields):
        return ""
    return "give the samples_*.jsonl beside it, which lm_eval --log_samples writes"


def _is_results(whole: Mapping[str, Any]) -> bool:
    return "results" in whole and bool({"configs", "n-shot", "lm_eval_version"} & whole.keys())


def read_samples(source: LogSource) -> list[Log]:
    """Read the scores of one model on one task, by all metrics and filters."""
    path, lines = source.path, source.rows
    metrics = _list_metrics(lines, path)
    if not metrics:
        raise InputError("has no metric of single answers", where=str(path), remedy="log a task that has one")
    filters = dict.fromkeys(str(row.get("filter", "none")) for row in lines)
    keys = [
        (str(row.get("doc_id", k)), str(row.get("filter", "none"))) for k, row in enumerate(lines, start=1)
    ]
    repeats = number_repeats(keys, lines, path)
    cells: dict[tuple[str, str], Row] = {}
    for line, (row, (item, kept), repeat) in enumerate(zip(lines, keys, repeats, strict=True), start=1):
        scores = {
            metric if len(filters) == 1 else f"{metric},{kept}": _parse_score(row[metric], metric, path, line)
            for metric in metrics
            if metric in row
        }
        key = (item, repeat)
        before = cells[key].scores if key in cells else {}
        doc = row.get("doc")
        cells[key] = Row(item, key[1], {**before, **scores}, doc if isinstance(doc, dict) else {})
    match = _NAME.fullmatch(path.name)
    model, *others = _list_names(path, match)
    task = match["task"] if match else strip_endings(path)
    return [make_log(path, model, list(cells.values()), task=task, repeats="repeat", others=others)]


def _list_metrics(rows: Iterable[Mapping[str, Any]], path: Path) -> list[str]:
    """Return metrics that have one number a line, in the order of the file."""
    named: dict[str, None] = {}
    many: set[str] = set()
    for line, row in enumerate(rows, start=1):
        listed = row.get("metrics") or [name for name in row if name not in _OWN | _NO_SCORE]
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise InputError(
                "metrics is not a list of names",
                where=f"{path}:{line}",
                remedy="mend the line, or run lm_eval --log_samples again",
            )
        for name in listed:
            if isinstance(row.get(name), list | dict):
                many.add(name)
            elif name in row:
                named[name] = None
    return [name for name in named if name not in many]


def _parse_score(value: Any, metric: str, path: Path, line: int) -> float:
    lines = parse_verdict(value)
    if np.isinf(lines):
        raise InputError(
            f"{metric}: {value!r} is not a number", where=f"{path}:{line}", remedy="mend the line"
        )
    return lines


def _list_names(path: Path, match: re.Match[str] | None) -> tuple[str, ...]:
    """Return what the model may be called: by the file's name, the results beside it, its folder."""
    folder = path.absolute().parent
    prefix = match["model"] if match else ""
    names = (
        [prefix]
        if prefix
        else [*_read_model_name(folder, (match["date"] or "") if match else ""), folder.name]
    )
    return (*dict.fromkeys(names), f"{folder.name}/{prefix or strip_endings(path)}")


def _read_model_name(folder: Path, date: str) -> list[str]:
    """Return the model's name in the results of the same date, or else the last."""
    files = [folder / f"results{date}.json", *sorted(folder.glob("results*.json"), reverse=True)]
    for file in files:
        try:
            lines = json.loads(file.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(lines, dict) and _is_results(lines) and lines.get("model_name"):
            return [str(lines["model_name"])]
    return []


READER = Reader("lm-eval samples", recognize_samples, read_samples, explain_means)
