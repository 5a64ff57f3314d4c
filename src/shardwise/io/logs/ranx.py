"""Files of ranx: saved runs and judgments, which are rankings and no scores; reports, which hold means only."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource


def is_ranking(source: LogSource) -> bool:
    """Tell whether a file is a run or judgments: ``{query: {document: number}}`` with documents of their own."""
    whole = source.fields
    if source.ending != ".json" or len(whole) < 1:
        return False
    inner = list(islice(whole.values(), 20))
    if not all(isinstance(part, Mapping) and part and _are_numbers(part) for part in inner):
        return False
    # scores of systems on items have the same inner keys everywhere
    first = set(inner[0])
    return len(first) > 1 and any(len(first & set(part)) < len(first) / 2 for part in inner[1:])


def _are_numbers(part: Mapping[Any, Any]) -> bool:
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in islice(part.values(), 20)
    )


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file is a report."""
    known = {"model_names", "metrics", "stat_test"} <= source.fields.keys()
    return "give the judgments and the runs: qrels.json run_1.json run_2.json" if known else ""


def read_ranking(source: LogSource) -> list[Log]:
    """Refuse a run that stands without its judgments."""
    raise InputError(
        "is a run or judgments saved by ranx, not scores",
        where=str(source.path),
        remedy="give the judgments first and then the runs: qrels.json run_1.json run_2.json",
    )


READER = Reader("ranx run", is_ranking, read_ranking, explain_means)
