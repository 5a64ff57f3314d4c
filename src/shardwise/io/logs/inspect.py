"""Logs of inspect_ai, ``.eval`` and ``.json``, read without the package: a model on a task, epochs and scorers."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, number
from shardwise.io.logs.zipped import DAMAGE, member
from shardwise.io.tables.sheet import stem


def is_eval(path: Path) -> bool:
    """Whether a file is a log in the compressed format."""
    return path.suffix.lower() == ".eval" and path.is_file() and zipfile.is_zipfile(path)


def is_log(whole: Mapping[str, Any]) -> bool:
    """Whether an object is a log in the format of JSON."""
    return isinstance(whole.get("eval"), dict) and "model" in whole["eval"]


def read_eval(path: Path) -> Log:
    """Read a compressed log: its header, and the summaries of its samples or else the samples."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            start = "header.json" if "header.json" in names else "_journal/start.json"
            if start not in names:
                raise InputError("is no log of inspect: it has no header", where=str(path))
            header = _parsed(archive, start, path)
            return _log(header, _samples(archive, names, path), path)
    except DAMAGE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "is no log of inspect, or damaged", where=str(path), remedy="fetch it again"
        ) from None


def read_json(whole: Mapping[str, Any], path: Path) -> Log:
    """Read a log in the format of JSON."""
    return _log(whole, whole.get("samples") or [], path)


def _samples(archive: zipfile.ZipFile, names: list[str], path: Path) -> Any:
    if "summaries.json" in names:
        return _parsed(archive, "summaries.json", path)
    parts = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
    return [_parsed(archive, name, path) for name in parts]  # a log that was not finished


def _parsed(archive: zipfile.ZipFile, name: str, path: Path) -> Any:
    try:
        return json.loads(member(archive, name, path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("is not JSON", where=f"{path} ({name})", remedy="fetch it again") from None


def _log(header: Any, samples: Any, path: Path) -> Log:
    about = _object(_object(header).get("eval"))
    if not about or not isinstance(samples, list) or not all(isinstance(one, dict) for one in samples):
        raise InputError("is no log of inspect: it has no header, or samples that are none", where=str(path))
    rows = [_row(sample, path) for sample in samples]
    scorers = dict.fromkeys(name for row in rows for name in row.scores)
    if not scorers:
        raise InputError("has no scores of samples", where=str(path), remedy="score it: inspect score")
    headline = _object(_object(header.get("results")).get("headline")).get("score")
    status = str(header.get("status", "success"))
    model = str(about.get("model", stem(path)))
    return Log(
        source=str(path),
        names=(model, f"{model} ({stem(path)})", str(path)),
        task=str(about.get("task", "task")),
        rows=rows,
        primary=str(headline) if str(headline) in scorers else next(iter(scorers)),
        instances="epoch",
        place=lambda row: f"{path}: sample {rows[row].item}, epoch {rows[row].instance}",
        notes=() if status == "success" else (f"{path.name} ended with {status}",),
    )


def _row(sample: Mapping[str, Any], path: Path) -> Row:
    item, epoch = str(sample.get("id")), str(sample.get("epoch", 1))
    scores: dict[str, float] = {}
    for scorer, score in _object(sample.get("scores")).items():
        value = score.get("value") if isinstance(score, dict) else score
        single = (
            {scorer: value} if not isinstance(value, dict) else {f"{scorer}/{k}": v for k, v in value.items()}
        )
        for name, one in single.items():
            if isinstance(one, list):
                continue
            scores[name] = number(one)
            if np.isinf(scores[name]):
                raise InputError(
                    f"{name}: {one!r} is not a number",
                    where=f"{path}: sample {item}, epoch {epoch}",
                    remedy="scores are numbers, C, I, P or N",
                )
    return Row(item, epoch, scores, _object(sample.get("metadata")))


def _object(value: Any) -> Mapping[str, Any]:
    """What should be an object of JSON; one without fields where a stranger wrote something else."""
    return value if isinstance(value, dict) else {}
