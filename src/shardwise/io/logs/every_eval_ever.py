"""Every Eval Ever: ``*_samples.jsonl``, one line a sample and measure, as its converters write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shardwise.io.logs.log import Log, Row, make_log, number_repeats, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_object


def recognize_samples(source: LogSource) -> bool:
    """Tell whether the first line of a file is a sample."""
    return {"schema_version", "model_id", "evaluation_name", "sample_id", "evaluation"} <= source.first.keys()


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file is the aggregate beside the samples."""
    known = {"schema_version", "evaluation_results", "model_info"} <= source.fields.keys()
    return "give the *_samples.jsonl beside it" if known else ""


def read_samples(source: LogSource) -> list[Log]:
    """Read the scores of every model and evaluation of a file."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in source.rows:
        groups.setdefault((str(line.get("model_id")), str(line.get("evaluation_name"))), []).append(line)
    return [_make_log(model, task, lines, source) for (model, task), lines in groups.items()]


def _make_log(model: str, task: str, lines: Sequence[dict[str, Any]], source: LogSource) -> Log:
    keys = [(str(line.get("sample_id")), str(line.get("evaluation_result_id") or "score")) for line in lines]
    repeats = number_repeats(keys, lines, source.path)
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for line, (item, measure), repeat in zip(lines, keys, repeats, strict=True):
        scores = cells.setdefault((item, repeat), {})
        scores[measure] = parse_verdict(as_object(line.get("evaluation")).get("score"))
    notes: tuple[str, ...] = ()
    # the converter writes the mean of all repeats into each
    several = len({repeat for _, repeat in cells}) > 1
    if several and all(scores == cells.get((item, "1")) for (item, _), scores in cells.items()):
        cells = {key: scores for key, scores in cells.items() if key[1] == "1"}
        notes = ("repeats were averaged by the converter",)
    rows = [Row(item, repeat, scores, {}) for (item, repeat), scores in cells.items()]
    return make_log(source.path, model, rows, task=task, repeats="repeat", notes=notes, item="sample")


READER = Reader("Every Eval Ever samples", recognize_samples, read_samples, explain_means)
