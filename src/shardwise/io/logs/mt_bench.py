"""Judgments of MT-bench (FastChat): grades of single answers, or votes on pairs of them in both orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, make_log, number_repeats, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource
from shardwise.io.votes import Votes, Way


def recognize_judgments(source: LogSource) -> bool:
    """Tell whether the first line of a file is a judgment."""
    first = source.first.keys()
    return {"question_id", "judge"} <= first and (
        {"model", "score", "turn"} <= first or {"model_1", "model_2"} <= first
    )


def read_judgments(source: LogSource) -> list[Log] | list[Votes]:
    """Read the grade of every answer, the mean over its turns; a second judgment is a repeat. Or read votes."""
    if "model_1" in source.first:
        return [_read_pairs(source)]
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in source.rows:
        groups.setdefault(str(line.get("model")), []).append(line)
    return [_make_log(model, lines, source) for model, lines in groups.items()]


def _make_log(model: str, lines: list[dict[str, Any]], source: LogSource) -> Log:
    keys = [(str(line.get("question_id")), str(line.get("turn"))) for line in lines]
    repeats = number_repeats(keys, lines, source.path)
    cells: dict[tuple[str, str], list[float]] = {}
    for line, (item, _), repeat in zip(lines, keys, repeats, strict=True):
        # -1 stands where no grade was found
        grade = parse_verdict(line.get("score"))
        cells.setdefault((item, repeat), []).append(np.nan if grade == -1 else grade)
    given = {key: [grade for grade in grades if not np.isnan(grade)] for key, grades in cells.items()}
    rows = [
        Row(item, repeat, {"score": float(np.mean(grades)) if grades else np.nan}, {})
        for (item, repeat), grades in given.items()
    ]
    notes = ("grades averaged over turns",)
    return make_log(source.path, model, rows, task="MT-bench", repeats="judgment", notes=notes)


def _read_pairs(source: LogSource) -> Votes:
    """Read judgments of pairs: each order is a vote, so that the position effect can be told."""
    votes: list[tuple[str, str, float, str, str]] = []
    left_out = 0
    for line in source.rows:
        first, second = str(line.get("model_1")), str(line.get("model_2"))
        judge = line.get("judge")
        voter = str(judge[0] if isinstance(judge, list) and judge else judge)
        # g1 shows model_1 first, g2 shows model_2 first; both say the winner by its column
        for field, names, sign in (("g1_winner", (first, second), 1.0), ("g2_winner", (second, first), -1.0)):
            outcome = {"model_1": 1.0, "model_2": -1.0, "tie": 0.0}.get(str(line.get(field, "")))
            if outcome is None:
                left_out += 1
                continue
            votes.append((*names, sign * outcome, str(line.get("question_id")), voter))
    if not votes:
        raise InputError("no judgment has a winner", where=str(source.path), remedy="judge the pairs again")
    systems = {name: k for k, name in enumerate(dict.fromkeys(name for vote in votes for name in vote[:2]))}
    notes = ("MT-bench judgments of pairs, each order a vote",)
    return Votes(
        source=str(source.path),
        systems=tuple(systems),
        first=np.array([systems[vote[0]] for vote in votes], dtype=np.int64),
        second=np.array([systems[vote[1]] for vote in votes], dtype=np.int64),
        outcome=np.array([vote[2] for vote in votes]),
        prompt=Way.of_labels((vote[3] for vote in votes), "question"),
        voter=Way.of_labels((vote[4] for vote in votes), "judge"),
        system_noun="model",
        notes=(*notes, f"{left_out} without a verdict left out") if left_out else notes,
    )


READER = Reader("MT-bench judgments", recognize_judgments, read_judgments)
