"""Look up recorded error rates of methods: what simulations of real test collections of similar size have shown."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from shardwise.core.arrays import Bools, Floats

FILE = "recorded_rates.csv"
"""One row a simulated design, one column a method: share of tables with a false alarm where all systems are equal."""
ALPHA = 0.05
"""Level of the recorded tests."""
FACTOR = 2.0
"""Designs of up to this many times more or fewer topics, or systems, are of similar size."""
UNLIKELY = 0.01
"""A rate is shown to exceed the level where chance alone would bring so many false alarms less often than this."""
LEAST_TOPICS, LEAST_SYSTEMS, MOST_SYSTEMS = 25, 2, 143
"""Sizes of the recorded designs; more topics than recorded only bring the rates nearer to the level."""
LEAST_VALUES, LARGEST_SHARE, LARGEST_RATIO = 11, 0.53, 1.62
"""Recorded scores: fewest values, largest share of one value, largest deviation of a system over the median one."""


@dataclass(frozen=True, slots=True)
class RecordedRates:
    """Family-wise error of a method over recorded designs."""

    method: str
    designs: int  # a collection, numbers of topics and systems, and a scenario each
    tables: int  # of all designs
    mean: float
    highest: float
    exceeding: int  # designs in which it is shown to exceed 0.05 (p < 0.01)
    topics: tuple[int, int]  # fewest and most
    systems: tuple[int, int]
    collections: tuple[str, ...]


def recorded_rates(
    method: str, topics: int | None = None, systems: int | None = None
) -> RecordedRates | None:
    """Summarize the recorded error rates of a method over designs of similar size.

    >>> rates = recorded_rates("moderated")
    >>> rates.designs, round(100 * rates.mean, 1), rates.exceeding
    (744, 4.6, 9)
    >>> recorded_rates("moderated", topics=3, systems=2) is None
    True
    """
    recorded = _read_rows()
    # the largest recorded number of topics stands for all above it
    most = max(int(row["topics"]) for row in recorded)
    near = {"topics": topics and min(topics, most), "systems": systems}
    rows = [
        row
        for row in recorded
        if method in row
        and all(n is None or n / FACTOR <= int(row[name]) <= n * FACTOR for name, n in near.items())
    ]
    if not rows:
        return None
    rates = np.array([float(row[method]) for row in rows])
    tables = np.array([int(row["tables"]) for row in rows])
    sizes = {name: [int(row[name]) for row in rows] for name in ("topics", "systems")}
    return RecordedRates(
        method,
        len(rows),
        int(tables.sum()),
        float(rates.mean()),
        float(rates.max()),
        int(exceeds_level(rates, tables).sum()),
        (min(sizes["topics"]), max(sizes["topics"])),
        (min(sizes["systems"]), max(sizes["systems"])),
        tuple(dict.fromkeys(row["data"].rpartition(" ")[0] for row in rows)),
    )


def exceeds_level(rates: Floats, tables: Sequence[int] | Floats) -> Bools:
    """Return which rates are shown to exceed the level: P(X ≥ hits) < 0.01 for X binomial with p = 0.05."""
    from scipy import special

    hits = np.round(np.asarray(rates) * np.asarray(tables))
    tail = special.bdtrc(hits - 1, np.asarray(tables), ALPHA)
    return np.asarray(tail < UNLIKELY)


def is_recorded_kind(y: Floats) -> bool:
    """Return whether (T, R) scores are of a kind that the record has."""
    topics, systems = y.shape
    if topics < LEAST_TOPICS or not LEAST_SYSTEMS <= systems <= MOST_SYSTEMS:
        return False
    if not np.isfinite(y).all() or y.min() < 0.0 or y.max() > 1.0:
        return False
    values, counts = np.unique(y, return_counts=True)
    deviations = y.std(axis=0)
    return bool(
        len(values) >= LEAST_VALUES
        and counts.max() <= LARGEST_SHARE * y.size
        and deviations.min() > 0.0
        and deviations.max() <= LARGEST_RATIO * np.median(deviations)
    )


@cache
def _read_rows() -> tuple[dict[str, str], ...]:
    text = resources.files("shardwise.lab").joinpath(FILE).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
