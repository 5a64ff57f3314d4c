"""Logs of inspect_ai, ``.eval`` and ``.json``, read without the package: a model on a task, epochs and scorers.

What its ``samples_df()`` returns, in memory or saved, is read too; there the model is that of a column, or the key of
``model_usage``.
"""

from __future__ import annotations

import contextlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.core.extras import require_extra
from shardwise.io.archive import DAMAGE
from shardwise.io.files import inflate_zstd, lift_limit, most_text_inside
from shardwise.io.logs.log import Log, Record, Row, group_records, make_log, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_object
from shardwise.io.tables.sheet import strip_endings

_FRAME = frozenset({"sample_id", "eval_id", "id", "epoch"})
"""Columns of a table of samples."""
_ZSTD = 93  # method of compression, APPNOTE 4.4.5
_LOCAL = 30  # bytes of a local file header before its name


def _recognize(source: LogSource) -> bool:
    """Tell whether a file is a log of inspect, or its table of samples."""
    if source.ending == ".eval":
        return source.head.startswith(b"PK") and zipfile.is_zipfile(source.path)
    if source.columns:
        return _is_frame(source.columns)
    evaluated = source.fields.get("eval")
    return isinstance(evaluated, dict) and "model" in evaluated


def _read_log(source: LogSource) -> list[Log]:
    """Read a log of inspect, or its table of samples."""
    if source.columns:
        return _read_frame(source.list_rows(), str(source.path))
    if source.ending == ".eval":
        return [_read_eval(source.path)]
    return [_make_log(source.fields, source.fields.get("samples") or [], source.path)]


def _read_object(data: Any) -> list[Log] | None:
    """Return the logs that an EvalLog, a list of these, or a table of samples is; None for anything else."""
    if type(data).__name__ == "DataFrame" and _is_frame([str(name) for name in data.columns]):
        return _read_frame(data.to_dict("records"), "samples_df")
    logs = list(data) if isinstance(data, list | tuple) else [data]
    if not logs or not all(type(log).__name__ == "EvalLog" and hasattr(log, "model_dump") for log in logs):
        return None
    return [
        _make_log(whole, whole.get("samples") or [], Path(str(whole.get("location") or f"log {k + 1}")))
        for k, whole in enumerate(log.model_dump(mode="json") for log in logs)
    ]


def _is_frame(names: Sequence[str]) -> bool:
    return set(names) >= _FRAME and any(name.startswith("score_") for name in names)


def _read_frame(samples: Sequence[Record], where: str) -> list[Log]:
    """Return the logs of a table of samples, one for each evaluation."""
    logs = []
    for number, (run, records) in enumerate(group_records(samples, lambda record: record["eval_id"]).items()):
        rows = []
        for record in records:
            scores = {
                name.removeprefix("score_"): value
                for name, value in record.items()
                if name.startswith("score_")
            }
            about = {
                name.removeprefix("metadata_"): value
                for name, value in record.items()
                if name.startswith("metadata_") and value == value
            }
            place = f"{where}: sample {record['id']}"
            rows.append(Row(str(record["id"]), str(record["epoch"]), _parse_scores(scores, place), about))
        model = _model_of(records[0])
        task = str(records[0].get("task_name") or records[0].get("task") or "task")
        others = (f"{model} ({run})", f"{model} ({number + 1})")
        logs.append(make_log(where, model or str(run), rows, task=task, repeats="epoch", others=others))
    return logs


def _model_of(record: Mapping[str, Any]) -> str:
    """Return the model of a row of a table of samples."""
    model = record.get("model")
    if isinstance(model, str) and model:
        return model
    usage = record.get("model_usage")
    try:
        used = json.loads(usage) if isinstance(usage, str) else usage
    except ValueError:
        used = None
    return str(next(iter(used))) if isinstance(used, dict) and len(used) == 1 else ""


def _read_eval(path: Path) -> Log:
    """Return a compressed log: its header, and the summaries of its samples or else the samples."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            start = "header.json" if "header.json" in names else "_journal/start.json"
            if start not in names:
                raise InputError("is not a log of inspect: it has no header", where=str(path))
            header = _parse_member(archive, start, path)
            return _make_log(header, _read_samples(archive, names, path), path)
    except DAMAGE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "is not a log of inspect, or is damaged", where=str(path), remedy="fetch it again"
        ) from None


def _read_samples(archive: zipfile.ZipFile, names: list[str], path: Path) -> Any:
    if "summaries.json" in names:
        return _parse_member(archive, "summaries.json", path)
    parts = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
    _refuse_large(archive, parts, path)
    return [_parse_member(archive, name, path) for name in parts]  # a log that was not finished


def _parse_member(archive: zipfile.ZipFile, name: str, path: Path) -> Any:
    """Inflate one member, no further than it says it goes, and return its JSON; zipfile knows no zstandard."""
    _refuse_large(archive, [name], path)
    info, where = archive.getinfo(name), f"{path} ({name})"
    packed = info.compress_type == _ZSTD
    if packed:
        require_extra("zst", where)
    try:
        if packed:
            stream = archive.fp
            assert stream is not None
            stream.seek(info.header_offset)
            stream.seek(sum(struct.unpack("<HH", stream.read(_LOCAL)[26:])), io.SEEK_CUR)
            content = inflate_zstd(stream.read(info.compress_size), info.file_size)
            good = len(content) == info.file_size and zlib.crc32(content) == info.CRC
        else:
            with archive.open(info) as member:
                content, good = member.read(info.file_size + 1), True
    except DAMAGE:
        good = False
    if not good:
        raise InputError("cannot be inflated", where=where, remedy="the file may be damaged: fetch it again")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InputError("is not JSON", where=where, remedy="fetch it again") from None


def _refuse_large(archive: zipfile.ZipFile, names: Sequence[str], path: Path) -> None:
    """Refuse members that together say that they inflate to more than a file of this size may hold."""
    size = sum(archive.getinfo(name).file_size for name in names)
    most = most_text_inside(path.stat().st_size)
    if size > most:
        raise InputError(
            f"would inflate to {size:,} bytes, over {most:,}",
            where=f"{path} ({names[0]})",
            remedy=lift_limit(size),
        )


def _make_log(header: Any, samples: Any, path: Path) -> Log:
    about = as_object(as_object(header).get("eval"))
    if not about or not isinstance(samples, list) or not all(isinstance(entry, dict) for entry in samples):
        raise InputError("is not a log of inspect: no header, or samples that are not valid", where=str(path))
    rows = [_make_row(sample, path) for sample in samples]
    scorers = dict.fromkeys(name for row in rows for name in row.scores)
    if not scorers:
        raise InputError("has no scores of samples", where=str(path), remedy="score it: inspect score")
    headline = str(as_object(as_object(header.get("results")).get("headline")).get("score"))
    status = str(header.get("status", "success"))
    model = str(about.get("model", strip_endings(path)))
    return make_log(
        path,
        model,
        rows,
        task=str(about.get("task", "task")),
        repeats="epoch",
        primary=headline if headline in scorers else "",
        notes=() if status == "success" else (f"{path.name} ended with {status}",),
    )


def _make_row(sample: Mapping[str, Any], path: Path) -> Row:
    item, epoch = str(sample.get("id")), str(sample.get("epoch", 1))
    values = {
        scorer: score.get("value") if isinstance(score, dict) else score
        for scorer, score in as_object(sample.get("scores")).items()
    }
    scores = _parse_scores(values, f"{path}: sample {item}, epoch {epoch}")
    return Row(item, epoch, scores, as_object(sample.get("metadata")))


def _parse_scores(values: Mapping[str, Any], where: str) -> dict[str, float]:
    """Return scores of all scorers; one that gives an object of several gives several."""
    scores: dict[str, float] = {}
    for scorer, value in values.items():
        if isinstance(value, str) and value.strip().startswith("{"):
            with contextlib.suppress(ValueError):
                value = json.loads(value)
        single = (
            {scorer: value} if not isinstance(value, dict) else {f"{scorer}/{k}": v for k, v in value.items()}
        )
        for name, score in single.items():
            if isinstance(score, list):
                continue
            scores[name] = parse_verdict(None if score != score else score)
            if np.isinf(scores[name]):
                raise InputError(
                    f"{name}: {score!r} is not a number",
                    where=where,
                    remedy="scores are numbers, C, I, P or N",
                )
    return scores


READERS = (Reader("inspect log", _recognize, _read_log, read_object=_read_object),)
