"""Scores with instances -> arrays: who has how many instances, who is deterministic, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import Either, InputError
from shardwise.core.scores import DETERMINISTIC, level_names
from shardwise.methods.mixed.balanced import Design

DIMENSIONS = ("system", "instance", "topic")


@dataclass(frozen=True, slots=True, eq=False)
class InstanceCells:
    """(L, M, N) scores, NaN where there is none, with the names of what they are about."""

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]  # names of each system's instances
    deterministic: Bools  # (L,)
    y: Floats

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of instances of each system."""
        return tuple(map(len, self.labels))


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """One row a score: its value and the codes of its system, topic, system:topic and instance."""

    y: Floats
    system: Ints
    topic: Ints
    system_topic: Ints
    instance: Ints  # -1 for a deterministic system of a nested design
    instance_names: tuple[str, ...]
    system_topic_names: tuple[str, ...]


def arrange_cells(scores: xr.DataArray, design: Design, deterministic: Sequence[str] = ()) -> InstanceCells:
    """Bring scores that passed the gate into the order of a design.

    Nested: the instances of a system are its own, so empty places are closed up. Crossed: the same label is the same
    instance for all systems, and a deterministic system is copied to all instances (J15 §3.1.2).
    """
    data = scores.transpose(*DIMENSIONS)
    y = np.array(data.to_numpy(), dtype=float)
    systems, instances, topics = (level_names(data, dim) for dim in DIMENSIONS)
    flags = _flag_deterministic(data, systems, deterministic)
    present = np.isfinite(y)
    for index, system in enumerate(systems):
        if not present[index].any():
            raise InputError(f"system {system!r} has no scores", remedy="leave it out")
    empty = ~present.any(axis=(0, 1))
    if empty.any():
        raise InputError(
            f"topic {topics[int(empty.argmax())]!r} has no scores",
            remedy=("drop it", Either(": scores.dropna('topic')", "")),
        )
    rows = [_instances_of(y[k], system, bool(flags[k])) for k, system in enumerate(systems)]
    if design == "crossed":
        kept = np.unique(np.concatenate([row for k, row in enumerate(rows) if not flags[k]] or rows))
        crossed = y[:, kept]
        for k in map(int, np.flatnonzero(flags)):
            crossed[k] = y[k, rows[k]]
        names = tuple(instances[m] for m in kept)
        return InstanceCells(systems, topics, (names,) * len(systems), flags, crossed)
    width = max(map(len, rows))
    nested = np.full((len(systems), width, len(topics)), np.nan)
    for k, row in enumerate(rows):
        nested[k, : len(row)] = y[k, row]
    return InstanceCells(
        systems, topics, tuple(tuple(instances[m] for m in row) for row in rows), flags, nested
    )


def _flag_deterministic(data: xr.DataArray, systems: tuple[str, ...], named: Sequence[str]) -> Bools:
    flags = np.zeros(len(systems), dtype=bool)
    if DETERMINISTIC in data.coords:
        flags |= np.asarray(data[DETERMINISTIC].to_numpy(), dtype=bool)
    for name in [named] if isinstance(named, str) else named:
        if name not in systems:
            raise InputError(f"unknown system {name!r}", remedy=f"the systems are {', '.join(systems[:5])}")
        flags[systems.index(name)] = True
    return flags


def _instances_of(y: Floats, system: str, deterministic: bool) -> Ints:
    """Places of the instances that a system has; of a deterministic one, which may come as copies, the first."""
    row = np.flatnonzero(np.isfinite(y).any(axis=1))
    if not deterministic:
        return row
    if not all(np.array_equal(y[row[0]], y[m], equal_nan=True) for m in row[1:]):
        raise InputError(
            f"system {system!r} is flagged deterministic, but its {len(row)} instances differ",
            remedy="remove the flag",
        )
    return row[:1]


def list_observations(table: InstanceCells, design: Design) -> Observations:
    """List the scores that are there."""
    system, instance_index, topic = np.nonzero(np.isfinite(table.y))
    if design == "crossed":
        instance, names = instance_index, table.labels[0]
    else:
        starts = np.concatenate(([0], np.cumsum(np.where(table.deterministic, 0, table.counts))))
        instance = np.where(table.deterministic[system], -1, starts[system] + instance_index)
        pairs = zip(table.systems, table.labels, table.deterministic, strict=True)
        names = tuple(
            f"{name}:{label}"
            for name, instance_names, fixed in pairs
            if not fixed
            for label in instance_names
        )
    present = np.isfinite(table.y).any(axis=1)  # (L, N)
    code = np.cumsum(present).reshape(present.shape) - 1
    both = tuple(f"{table.systems[k]}:{table.topics[i]}" for k, i in zip(*np.nonzero(present), strict=True))
    return Observations(
        table.y[system, instance_index, topic], system, topic, code[system, topic], instance, names, both
    )
