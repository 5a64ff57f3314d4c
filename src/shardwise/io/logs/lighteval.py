"""Details of lighteval: ``details_<task>_<time>.parquet``, a model on a task."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet

from shardwise.io.logs.log import Log, Row, number_repeats, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_object


def recognize_details(source: LogSource) -> bool:
    """Tell whether a file is a table of details."""
    return {"doc", "metric", "model_response"} <= set(source.columns)


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file holds the means of a run."""
    known = {"config_general", "results", "config_tasks"} <= source.fields.keys()
    return "give the details_*.parquet, which lighteval --save-details writes" if known else ""


def read_details(source: LogSource) -> list[Log]:
    """Read the scores of one model on one task, of all metrics."""
    path = source.path
    table = pyarrow.parquet.read_table(pa.BufferReader(source.text), columns=["doc", "metric"])
    entries = [(as_object(entry["doc"]), as_object(entry["metric"])) for entry in table.to_pylist()]
    items = [str(doc.get("id")) for doc, _ in entries]
    rows = [
        Row(item, repeat, _read_scores(metric), as_object(doc.get("specific")))
        for (doc, metric), item, repeat in zip(entries, items, number_repeats(items), strict=True)
    ]
    folders = source.folder.parts
    model = "/".join(folders[-3:-1]) if len(folders) > 3 else source.folder.name
    return [
        Log(
            source=str(path),
            names=(model, f"{model} ({source.folder.name})", str(path)),
            task=str(entries[0][0].get("task_name")) if entries else source.stem,
            rows=rows,
            primary=next(iter(rows[0].scores)) if rows else "",
            repeats="sample",
            place=lambda row: f"{path}:row {row + 1}",
        )
    ]


def _read_scores(metric: dict[str, Any]) -> dict[str, float]:
    return {
        name: parse_verdict(value) for name, value in metric.items() if not isinstance(value, list | dict)
    }


READER = Reader("lighteval details", recognize_details, read_details, explain_means)
