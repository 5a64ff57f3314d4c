"""Judgments of MT-bench (FastChat): grades of single answers; judgments of pairs are votes, and refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, number_repeats, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource


def recognize_judgments(source: LogSource) -> bool:
    """Tell whether the first line of a file is a judgment."""
    first = source.first.keys()
    return {"question_id", "judge"} <= first and (
        {"model", "score", "turn"} <= first or {"model_1", "model_2"} <= first
    )


def read_judgments(source: LogSource) -> list[Log]:
    """Read the grade of every answer, the mean over its turns; a second judgment is a repeat."""
    path = source.path
    if "model_1" in source.first:
        raise InputError(
            "holds votes: judgments of pairs of models",
            where=str(path),
            remedy="votes are not scores; give the judgments of single answers",
        )
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in source.rows:
        groups.setdefault(str(line.get("model")), []).append(line)
    return [_make_log(model, lines, source) for model, lines in groups.items()]


def _make_log(model: str, lines: list[dict[str, Any]], source: LogSource) -> Log:
    path = source.path
    keys = [(str(line.get("question_id")), str(line.get("turn"))) for line in lines]
    cells: dict[tuple[str, str], list[float]] = {}
    for line, (item, _), repeat in zip(lines, keys, number_repeats(keys), strict=True):
        # -1 stands where no grade was found
        grade = parse_verdict(line.get("score"))
        cells.setdefault((item, repeat), []).append(np.nan if grade == -1 else grade)
    rows = [
        Row(item, repeat, {"score": _average_grades(grades)}, {}) for (item, repeat), grades in cells.items()
    ]
    return Log(
        source=str(path),
        names=(model, f"{model} ({source.stem})", str(path)),
        task="MT-bench",
        rows=rows,
        primary="score",
        repeats="judgment",
        place=lambda row: f"{path}: question {rows[row].item}",
        notes=("grades averaged over turns",),
    )


def _average_grades(grades: list[float]) -> float:
    given = [grade for grade in grades if not np.isnan(grade)]
    return float(np.mean(given)) if given else np.nan


READER = Reader("MT-bench judgments", recognize_judgments, read_judgments)
