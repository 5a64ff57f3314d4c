"""Results of HumanEval: ``<samples>.jsonl_results.jsonl``, one line a completion."""

from __future__ import annotations

from shardwise.io.logs.log import Log, Row, number_repeats, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource


def recognize_results(source: LogSource) -> bool:
    """Tell whether the first line of a file is a completion with its outcome."""
    first = source.first.keys()
    return (
        {"task_id", "passed"} <= first
        and bool({"completion", "result", "solution"} & first)
        and "model" not in first
    )


def read_results(source: LogSource) -> list[Log]:
    """Read whether each completion passed; the model is the file."""
    path = source.path
    lines = source.rows
    items = [str(line.get("task_id")) for line in lines]
    rows = [
        Row(item, repeat, {"passed": parse_verdict(line.get("passed"))}, {})
        for line, item, repeat in zip(lines, items, number_repeats(items), strict=True)
    ]
    name = path.name.split(".jsonl", 1)[0].removesuffix("_results")
    return [
        Log(
            source=str(path),
            names=(name, f"{source.folder.name}/{name}", str(path)),
            task="HumanEval",
            rows=rows,
            primary="passed",
            repeats="sample",
            place=lambda row: f"{path}:{row + 1}",
            item="problem",
        )
    ]


READER = Reader("HumanEval results", recognize_results, read_results)
