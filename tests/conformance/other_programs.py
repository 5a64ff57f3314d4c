"""Values that other programs print, and ours for the same commands."""

from __future__ import annotations

import csv
import gzip
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import shardwise as sw
from shardwise.scoring.measures import Measure


@dataclass(frozen=True)
class Printed:
    """What one command of a program prints for one collection: (topic, measure) -> value as text."""

    collection: str
    command: str
    version: str
    values: dict[tuple[str, str], str]


def printed(folder: Path, program: str) -> Iterator[Printed]:
    """All that a program prints, command by command and collection by collection."""
    groups: dict[tuple[str, str, str], dict[tuple[str, str], str]] = defaultdict(dict)
    with gzip.open(folder / f"{program}.csv.gz", "rt") as lines:
        for row in csv.DictReader(lines):
            # one program was compiled twice, for one of its measures
            version = row["version"].split(" with ")[0]
            key = (row["collection"], row["command"], version)
            groups[key][row["topic"], row["measure"]] = row["value"]
    for (collection, command, version), values in groups.items():
        yield Printed(collection, command, version, values)


@dataclass
class Tally:
    """Values compared, and those that differ."""

    equal: int = 0
    differing: list[tuple[Any, ...]] = field(default_factory=list)

    def compare(self, where: tuple[Any, ...], ours: float, theirs: str) -> None:
        """Compare a value with what was printed, to the digits that were printed."""
        value = float(theirs)
        digits = len(theirs.partition(".")[2]) if "e" not in theirs else 12
        # half a unit of the last digit printed, and what rounding of doubles may add to it
        tolerance = 0.5 * 10.0**-digits * (1 + 1e-6) + 1e-9 * max(1.0, abs(value))
        if digits > 8:
            tolerance = 2e-9 * max(1.0, abs(value))
        same = math.isnan(ours) if math.isnan(value) else abs(ours - value) <= tolerance
        if same:
            self.equal += 1
        else:
            self.differing.append((*where, ours, theirs))


def summarize(values: xr.DataArray, topics: int) -> float:
    """Sum up the topics of one system as the measure says, over so many topics."""
    kind = values.attrs["summary"]
    total = float(np.nansum(values.values))
    if kind == "sum":
        return total
    mean = total / topics
    return math.exp(mean) if kind == "geometric mean" else mean


def score_like(
    qrels: Path, run: Path, measures: dict[Any, Measure], **reading: Any
) -> dict[Any, xr.DataArray]:
    """Scores of one run by the keys of the measures; ``reading`` is what `read_collection` takes."""
    collection = sw.read_collection([str(run)], str(qrels), names=["run"], **reading)
    scores = sw.score(collection, list(dict.fromkeys(measures.values())), jobs=1)
    return {key: scores[str(measure)].isel(system=0) for key, measure in measures.items()}


def option(command: str, letter: str) -> str | None:
    """Value of an option such as ``-l2`` or ``-N 500`` in a command."""
    match = re.search(rf"(?:^|\s)-{letter}\s?(\S+)", command)
    return match[1] if match else None
