"""Results of HumanEval: ``<samples>.jsonl_results.jsonl``, one line a completion."""

from __future__ import annotations

from shardwise.io.logs.log import Log, make_log, parse_verdict, score_answers
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource
from shardwise.io.tables.words import list_roles


def recognize_results(source: LogSource) -> bool:
    """Tell whether the first line of a file is a completion with its outcome, and no field of it names a system."""
    first = source.first.keys()
    return (
        {"task_id", "passed"} <= first
        and bool({"completion", "result", "solution"} & first)
        and not any("system" in list_roles(field) for field in first)
    )


def read_results(source: LogSource) -> list[Log]:
    """Read whether each completion passed; the model is the file."""
    rows = score_answers(
        source.path,
        source.rows,
        lambda line: str(line.get("task_id")),
        lambda line: {"passed": parse_verdict(line.get("passed"))},
    )
    name = source.path.name.split(".jsonl", 1)[0].removesuffix("_results")
    others = (f"{source.folder.name}/{name}",)
    return [
        make_log(source.path, name, rows, task="HumanEval", repeats="sample", others=others, item="problem")
    ]


READER = Reader("HumanEval results", recognize_results, read_results)
