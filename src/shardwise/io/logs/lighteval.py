"""Details of lighteval: ``details_<task>_<time>.parquet``, a model on a task."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet

from shardwise.io.logs.log import Log, make_log, parse_verdict, score_answers
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_object


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file holds the means of a run."""
    known = {"config_general", "results", "config_tasks"} <= source.fields.keys()
    return "give the details_*.parquet, which lighteval --save-details writes" if known else ""


def read_details(source: LogSource) -> list[Log]:
    """Read the scores of one model on one task, of all metrics."""
    table = pyarrow.parquet.read_table(pa.BufferReader(source.text), columns=["doc", "metric"])
    entries = [{name: as_object(value) for name, value in entry.items()} for entry in table.to_pylist()]
    rows = score_answers(
        source.path,
        entries,
        lambda entry: str(entry["doc"].get("id")),
        lambda entry: {
            name: parse_verdict(value)
            for name, value in entry["metric"].items()
            if not isinstance(value, list | dict)
        },
        lambda entry: as_object(entry["doc"].get("specific")),
    )
    folders = source.folder.parts
    model = "/".join(folders[-3:-1]) if len(folders) > 3 else source.folder.name
    task = str(entries[0]["doc"].get("task_name")) if entries else source.stem
    others = (f"{model} ({source.folder.name})",)
    return [make_log(source.path, model, rows, task=task, repeats="sample", others=others)]


READER = Reader(
    "lighteval details",
    lambda source: {"doc", "metric", "model_response"} <= set(source.columns),
    read_details,
    explain_means,
)
