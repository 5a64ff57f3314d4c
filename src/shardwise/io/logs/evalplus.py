"""Results of EvalPlus: ``<model>_eval_results.json``, samples of every task with their states."""

from __future__ import annotations

from typing import Any

from shardwise.io.logs.log import Log, Row, make_log
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object


def recognize_results(source: LogSource) -> bool:
    """Tell whether a file holds samples with base_status."""
    tasks = as_object(source.fields.get("eval"))
    samples = as_list(next(iter(tasks.values()), None))
    return bool(samples) and "base_status" in as_object(samples[0])


def read_results(source: LogSource) -> list[Log]:
    """Read whether each sample passed the tests of HumanEval, and those and the added ones."""
    rows = [
        Row(str(task), str(number), _read_scores(as_object(sample)), {})
        for task, samples in as_object(source.fields.get("eval")).items()
        for number, sample in enumerate(as_list(samples), start=1)
    ]
    name = source.stem.removesuffix("_eval_results").removesuffix(".eval_results")
    primary = "plus" if any("plus" in row.scores for row in rows) else "base"
    others = (f"{source.folder.name}/{name}",)
    return [
        make_log(
            source.path,
            name,
            rows,
            task="EvalPlus",
            repeats="sample",
            others=others,
            primary=primary,
            item="problem",
        )
    ]


def _read_scores(sample: dict[str, Any]) -> dict[str, float]:
    base = sample.get("base_status") == "pass"
    plus = sample.get("plus_status")
    scores = {"base": float(base)}
    return scores if plus is None else {**scores, "plus": float(base and plus == "pass")}


READER = Reader("EvalPlus results", recognize_results, read_results)
