"""Read the small tables behind the frozen numbers, which `make_tables` wrote."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import shardwise as sw

TABLES = Path(__file__).parent / "tables"
DIMS = ("split", "topic", "system", "shard", "instance")
LABELS = ("cluster", "task")


@cache
def load_table(name: str, column: str = "score") -> xr.DataArray:
    """Return scores of a stored table, with its labels of topics as coordinates."""
    with (TABLES / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    dims = [dim for dim in DIMS if dim in rows[0]]
    levels = {dim: list(dict.fromkeys(row[dim] for row in rows)) for dim in dims}
    values = np.full([len(levels[dim]) for dim in dims], np.nan)
    for row in rows:
        values[tuple(levels[dim].index(row[dim]) for dim in dims)] = float(row[column])
    coords: dict[str, Any] = dict(levels)
    for label in set(LABELS) & set(rows[0]):
        of_topic = {row["topic"]: row[label] for row in rows}
        coords[label] = ("topic", [of_topic[topic] for topic in levels["topic"]])
    return xr.DataArray(values, dims=dims, coords=coords, name="score")


@cache
def load_people() -> xr.DataArray:
    """Return scores by a judge, with those by people on some topics."""
    return sw.judges.with_human(load_table("judge"), load_table("people"))


@cache
def load_votes() -> Any:
    """Return strengths fitted to votes."""
    return sw.read_scores(TABLES / "votes.csv", measure="strength")
