"""What a chart draws, for the tests of charts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import vl_convert

Rows = list[dict[str, Any]]


def rows_with(chart: Any, *fields: str) -> list[Rows]:
    """The data of a chart that has these fields, panel by panel, and no more often than it is drawn."""
    return [
        rows
        for rows in chart.to_dict().get("datasets", {}).values()
        if rows and all(name in rows[0] for name in fields)
    ]


def titles(chart: Any) -> str:
    """The specification without its data, as text: titles, legends, domains."""
    spec = chart.to_dict()
    spec.pop("datasets", None)
    return json.dumps(spec, ensure_ascii=False)


def expressions(chart: Any) -> Iterator[str]:
    """All that Vega would run."""
    yield from _expressions(vl_convert.vegalite_to_vega(chart.to_dict()))


def _expressions(node: Any, key: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _expressions(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from _expressions(value, key)
    elif isinstance(node, str) and key in {"expr", "signal", "test", "update", "init"}:
        yield node
