"""Test runs of deepeval: ``test_run_*.json`` with test cases and the scores of their metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shardwise.io.logs.log import Log, make_log, parse_verdict, score_answers, shorten_label
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object


def read_run(source: LogSource) -> list[Log]:
    """Read the scores of all metrics; the model is that of the hyperparameters, else the folder."""
    whole = source.fields
    cases = [*as_list(whole.get("testCases")), *as_list(whole.get("conversationalTestCases"))]
    rows = score_answers(
        source.path,
        list(map(as_object, cases)),
        lambda case: shorten_label(case.get("input") or case.get("name")),
        _read_scores,
        lambda case: as_object(case.get("metadata")) or as_object(case.get("additionalMetadata")),
    )
    model = as_object(whole.get("hyperparameters")).get("model")
    generic = source.stem.startswith("test_run")
    name = str(model) if model else source.folder.name if generic else source.stem
    others = (source.folder.name if generic else source.stem, f"{name} ({source.stem})")
    return [
        make_log(source.path, name, rows, task="deepeval", repeats="repeat", others=others, item="test case")
    ]


def _read_scores(case: Mapping[str, Any]) -> dict[str, float]:
    """Return success of a case, and the score of each metric; a metric in error has none."""
    scores = {"success": parse_verdict(case.get("success"))}
    for metric in as_list(case.get("metricsData")):
        fields = as_object(metric)
        scores[str(fields.get("name"))] = parse_verdict(fields.get("score"))
    return scores


READER = Reader(
    "deepeval test run",
    lambda source: isinstance(source.fields.get("testCases"), list) and "metricsScores" in source.fields,
    read_run,
)
