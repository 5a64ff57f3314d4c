"""Records of OpenAI evals: a line for the run, one for its means, then events of samples."""

from __future__ import annotations

from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, number_repeats, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object


def recognize_record(source: LogSource) -> bool:
    """Tell whether the first line of a file describes a run."""
    return "completion_fns" in as_object(source.first.get("spec"))


def read_record(source: LogSource) -> list[Log]:
    """Read the verdicts of matches, and numbers of events of metrics."""
    path = source.path
    spec = as_object(source.first.get("spec"))
    events = [(str(line["sample_id"]), _read_scores(line)) for line in source.rows if "sample_id" in line]
    scored = [(item, scores) for item, scores in events if scores]
    if not scored:
        raise InputError(
            "has no events with scores of samples",
            where=str(path),
            remedy="record an eval that matches answers",
        )
    repeats = number_repeats((item, *sorted(scores)) for item, scores in scored)
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for (item, scores), repeat in zip(scored, repeats, strict=True):
        cells.setdefault((item, repeat), {}).update(scores)
    rows = [Row(item, repeat, scores, {}) for (item, repeat), scores in cells.items()]
    model = str(next(iter(as_list(spec.get("completion_fns"))), source.stem))
    return [
        Log(
            source=str(path),
            names=(model, source.stem, str(path)),
            task=str(spec.get("base_eval") or spec.get("eval_name") or "eval"),
            rows=rows,
            primary=next(iter(rows[0].scores)),
            repeats="repeat",
            place=lambda row: f"{path}: sample {rows[row].item}",
            item="sample",
        )
    ]


def _read_scores(event: dict[str, Any]) -> dict[str, float]:
    data = as_object(event.get("data"))
    if event.get("type") == "match" and "correct" in data:
        return {"correct": parse_verdict(data["correct"])}
    if event.get("type") == "metrics":
        return {name: float(value) for name, value in data.items() if isinstance(value, bool | int | float)}
    return {}


READER = Reader("OpenAI evals record", recognize_record, read_record)
