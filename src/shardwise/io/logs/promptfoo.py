"""Results of promptfoo, JSON and JSON lines: providers (and prompts) on test cases.

A test case is known by its variables: ``--repeat`` gives every repeat a ``testIdx`` of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, make_log, parse_verdict, score_answers, shorten_label
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object


def recognize_results(source: LogSource) -> bool:
    """Tell whether a file holds results of promptfoo; its CSV too, which is refused with the way out."""
    if source.columns:
        return source.columns.count("Status") > 0 and "Named Scores" in source.columns
    row = source.first if _is_row(source.first) else next(iter(_rows_of(source)), {})
    return _is_row(row)


def _is_row(row: Mapping[str, Any]) -> bool:
    return {"provider", "success", "score", "testCase"} <= row.keys()


def _rows_of(source: LogSource) -> list[dict[str, Any]]:
    if source.ending == ".json" and source.whole is not None:
        results = source.fields.get("results")
        rows = results.get("results") if isinstance(results, dict) else results
        return [row for row in as_list(rows) if isinstance(row, dict)]
    return source.rows if _is_row(source.first) else []


def read_results(source: LogSource) -> list[Log]:
    """Read the scores of every provider, or of every provider with every prompt where there are several prompts."""
    path = source.path
    if source.columns:
        raise InputError(
            "is the CSV of promptfoo, whose columns repeat for each provider",
            where=str(path),
            remedy="give its JSON: promptfoo eval -o results.json",
        )
    rows = _rows_of(source)
    prompts = {str(as_object(row.get("prompt")).get("label")) for row in rows}
    by_system: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_system.setdefault(_name_system(row, several=len(prompts) > 1), []).append(row)
    return [_make_log(name, system_rows, source) for name, system_rows in by_system.items()]


def _name_system(row: Mapping[str, Any], *, several: bool) -> str:
    provider = row.get("provider")
    name = str(as_object(provider).get("label") or as_object(provider).get("id") or provider)
    return f"{name} | {as_object(row.get('prompt')).get('label')}" if several else name


def _make_log(name: str, rows: list[dict[str, Any]], source: LogSource) -> Log:
    scored = score_answers(
        source.path,
        rows,
        _name_item,
        _read_scores,
        lambda row: {
            **as_object(row.get("vars")),
            **as_object(as_object(row.get("testCase")).get("metadata")),
        },
    )
    return make_log(
        source.path, name, scored, task="promptfoo", repeats="repeat", item="test", system="provider"
    )


def _read_scores(row: Mapping[str, Any]) -> dict[str, float]:
    named = {
        f"namedScores.{key}": parse_verdict(value) for key, value in as_object(row.get("namedScores")).items()
    }
    return {"success": parse_verdict(row.get("success")), "score": parse_verdict(row.get("score")), **named}


def _name_item(row: Mapping[str, Any]) -> str:
    """Return a test case by its variables, or by its description where it has none."""
    variables = row.get("vars") or as_object(row.get("testCase")).get("vars")
    if isinstance(variables, dict) and len(variables) == 1:
        return shorten_label(next(iter(variables.values())))
    if variables:
        return shorten_label(json.dumps(variables, sort_keys=True, ensure_ascii=False))
    return shorten_label(as_object(row.get("testCase")).get("description") or row.get("testIdx"))


READER = Reader("promptfoo results", recognize_results, read_results)
