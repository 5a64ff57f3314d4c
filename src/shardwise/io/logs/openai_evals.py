"""Records of OpenAI evals: a line for the run, one for its means, then events of samples."""

from __future__ import annotations

from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, make_log, number_repeats, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object


def read_record(source: LogSource) -> list[Log]:
    """Read the verdicts of matches, and numbers of events of metrics."""
    spec = as_object(source.first.get("spec"))
    events = [line for line in source.rows if "sample_id" in line and _read_scores(line)]
    if not events:
        raise InputError(
            "has no events with scores of samples",
            where=str(source.path),
            remedy="record an eval that matches answers",
        )
    keys = [(str(event["sample_id"]), *sorted(_read_scores(event))) for event in events]
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for event, key, repeat in zip(events, keys, number_repeats(keys, events, source.path), strict=True):
        cells.setdefault((key[0], repeat), {}).update(_read_scores(event))
    rows = [Row(item, repeat, scores, {}) for (item, repeat), scores in cells.items()]
    model = str(next(iter(as_list(spec.get("completion_fns"))), source.stem))
    task = str(spec.get("base_eval") or spec.get("eval_name") or "eval")
    return [
        make_log(source.path, model, rows, task=task, repeats="repeat", others=(source.stem,), item="sample")
    ]


def _read_scores(event: dict[str, Any]) -> dict[str, float]:
    data = as_object(event.get("data"))
    if event.get("type") == "match" and "correct" in data:
        return {"correct": parse_verdict(data["correct"])}
    if event.get("type") == "metrics":
        return {name: float(value) for name, value in data.items() if isinstance(value, bool | int | float)}
    return {}


READER = Reader(
    "OpenAI evals record",
    lambda source: "completion_fns" in as_object(source.first.get("spec")),
    read_record,
)
