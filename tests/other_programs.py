"""Values that other evaluation programs print, and ours for the same commands."""

from __future__ import annotations

import csv
import gzip
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import shardwise as sw
from shardwise.scoring.measures import Measure

Cell = tuple[str, str]  # topic and measure


@dataclass(frozen=True)
class Printed:
    """What one command of a program prints for one collection; ``repeated`` are cells that it prints twice."""

    collection: str
    command: str
    version: str
    values: dict[Cell, str]
    repeated: frozenset[Cell]

    @property
    def measures(self) -> list[str]:
        """Names of the measures, as the program spells them."""
        return list(dict.fromkeys(measure for _, measure in self.values))


def read_printed(folder: Path, program: str) -> Iterator[Printed]:
    """Read all that a program prints, command by command and collection by collection."""
    groups: dict[tuple[str, str, str], list[tuple[Cell, str]]] = defaultdict(list)
    with gzip.open(folder / f"{program}.csv.gz", "rt") as lines:
        for row in csv.DictReader(lines):
            # one program was compiled twice, for one of its measures
            version = row["version"].split(" with ")[0]
            key = (row["collection"], row["command"], version)
            groups[key].append(((row["topic"], row["measure"]), row["value"]))
    for (collection, command, version), cells in groups.items():
        values = dict(cells)
        repeated = {cell for cell, value in cells if values[cell] != value}
        yield Printed(collection, command, version, values, frozenset(repeated))


@dataclass
class Tally:
    """Values compared, and those that differ."""

    equal: int = 0
    differing: list[Difference] = field(default_factory=list)

    def compare(self, where: Printed, cell: Cell, ours: float) -> None:
        """Compare a value with what was printed, to the digits that were printed."""
        theirs = where.values[cell]
        if agree(ours, theirs):
            self.equal += 1
        else:
            self.differing.append(Difference(where.collection, where.command, *cell, ours, theirs))


@dataclass(frozen=True)
class Difference:
    """A value of ours that differs from what was printed."""

    collection: str
    command: str
    topic: str
    measure: str
    ours: float
    theirs: str


def agree(ours: float, theirs: str) -> bool:
    """Whether a value is the one that was printed, to the digits that were printed."""
    value = float(theirs)
    if math.isnan(value):
        return math.isnan(ours)
    digits = len(theirs.partition(".")[2])
    # half a unit of the last digit printed, and what sums of doubles in another order may add to it
    tolerance = 0.5 * 10.0**-digits if digits <= 8 and "e" not in theirs else 1e-9
    return abs(ours - value) <= tolerance * (1 + 1e-6) + 1e-9 * max(1.0, abs(value))


def list_values(scores: xr.DataArray) -> dict[str, float]:
    """Scores of one system by topic; "all" and "amean" are all topics summed up as the measure says."""
    values = dict(zip(map(str, scores["topic"].values), scores.values[:, 0].tolist(), strict=True))
    held = [value for value in values.values() if not math.isnan(value)]
    kind = scores.attrs["summary"]
    if kind == "sum":
        whole = float(np.sum(held))
    else:
        mean = float(np.mean(held))
        whole = math.exp(mean) if kind == "geometric mean" else mean
    return values | {"all": whole, "amean": whole}


def score_like(
    qrels: Path, run: Path, measures: dict[Any, Measure], **reading: Any
) -> dict[Any, dict[str, float]]:
    """Scores of one run by the keys of the measures; ``reading`` is what `read_collection` takes."""
    collection = sw.read_collection([str(run)], str(qrels), names=["run"], **reading)
    different = list(dict.fromkeys(measures.values()))
    scores = sw.score(collection, different, jobs=1)
    values = {measure: list_values(scores[str(measure)]) for measure in different}
    return {key: values[measure] for key, measure in measures.items()}


def option_of(command: str, letter: str) -> str | None:
    """Return the value of an option such as ``-l2`` or ``-N 500`` in a command."""
    match = re.search(rf"(?:^|\s)-{letter}\s?(\S+)", command)
    return match[1] if match else None


def compare_program(
    folder: Path,
    printed: Iterable[Printed],
    translate: Callable[[Printed, str], Measure | None],
    conventions: Callable[[Printed], dict[str, Any]],
) -> Tally:
    """Compare ours with all that a program prints; ``translate`` says which measure a name is, None for texts."""
    tally = Tally()
    groups: dict[tuple[str, str], list[Printed]] = defaultdict(list)
    for part in printed:
        groups[part.collection, repr(conventions(part))].append(part)
    for (name, _), parts in groups.items():
        keys = [(part.command, part.version, measure) for part in parts for measure in part.measures]
        measures = {
            (part.command, part.version, name): measure
            for part in parts
            for name in part.measures
            if (measure := translate(part, name)) is not None
        }
        assert measures, keys
        files = folder / "collections"
        reading = conventions(parts[0]) | ({"subtopics": True} if name.startswith("d") else {})
        scores = score_like(files / f"{name}.qrels", files / f"{name}.run", measures, **reading)
        for part in parts:
            for topic, measure in part.values:
                values = scores.get((part.command, part.version, measure))
                if values is not None:
                    tally.compare(part, (topic, measure), values[topic])
    return tally
