"""A batch of score tables, what is decided about it, and the ways of deciding."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError

Dims = tuple[str, ...]
Value = TypeVar("Value")

TABLE: Dims = ("topic", "system")
SHARDS: Dims = ("topic", "system", "shard")
INSTANCES: Dims = ("topic", "system", "instance")
SPLITS: Dims = ("split", "topic", "system", "shard")
LAYOUTS = (TABLE, SHARDS, INSTANCES, SPLITS)

PROMISES = {
    "none": "pair",
    "bh": "discovery",
    "by": "discovery",
    "bonferroni": "family",
    "holm": "family",
    "hsd": "family",
    "scheffe": "family",
    "dunnett": "family",
}


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What a procedure says of all pairs of every table: arrays (B, P), pairs as in ``np.triu_indices(R, 1)``.

    The difference of pair (a, b) is that of a less that of b. ``lower`` and ``upper`` are its interval at level
    1 - alpha, NaN where the procedure has none. Pairs that a procedure does not compare are NaN but for the difference.
    """

    difference: Floats
    p: Floats
    p_adjusted: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """B tables of scores with what was computed of them so far, so that procedures need not repeat each other.

    Not to be shared between threads: each has batches of its own.

    >>> batch = Batch(np.zeros((4, 30, 3, 5)), SHARDS)
    >>> batch.topic_means().shape, batch.pairs[0].tolist()
    ((4, 30, 3), [0, 0, 1])
    """

    y: Floats  # (B, sizes of dims)
    dims: Dims
    seed: int = 0
    first: int = 0  # number of the first replicate; replicate i of a resampling depends on (seed, i) only
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.dims not in LAYOUTS:
            known = "; ".join(", ".join(layout) for layout in LAYOUTS)
            raise InputError(f"no layout is {', '.join(self.dims)}", remedy=f"the layouts are {known}")
        if self.y.ndim != len(self.dims) + 1:
            raise InputError(
                f"an array of {self.y.ndim} axes is no batch of {' × '.join(self.dims)}",
                remedy="put the axis of replicates first",
            )
        if self.systems < 2 or self.topics < 2:
            raise InputError(
                f"{self.systems} systems and {self.topics} topics are too few",
                remedy="give at least two of each",
            )
        if not np.isfinite(self.y).all():
            raise InputError("a batch holds scores that are missing or infinite", remedy="fill or drop them")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def systems(self) -> int:
        """Number of systems, R."""
        return int(self.y.shape[1 + self.dims.index("system")])

    @property
    def topics(self) -> int:
        """Number of topics, T."""
        return int(self.y.shape[1 + self.dims.index("topic")])

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """Index arrays of the two systems of each pair."""
        a, b = np.triu_indices(self.systems, 1)
        return a.astype(np.int64), b.astype(np.int64)

    @property
    def seeds(self) -> list[int]:
        """One seed a replicate, from (seed, number of the replicate) alone.

        >>> Batch(np.zeros((3, 2, 2)), TABLE, seed=7).seeds[2] == Batch(np.zeros((1, 2, 2)), TABLE, 7, 2).seeds[0]
        True
        """
        return [
            int(np.random.SeedSequence(self.seed, spawn_key=(self.first + i,)).generate_state(1)[0])
            for i in range(len(self))
        ]

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of this key, made the first time that it is asked for."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast(Value, self._kept[key])

    def topic_means(self) -> Floats:
        """(B, T, R) scores averaged over all but topic and system."""
        others = tuple(1 + k for k, name in enumerate(self.dims) if name not in TABLE)
        return self.once("topic means", lambda: self.y.mean(axis=others) if others else self.y)


Decide = Callable[[Batch, float], Decisions]
Run = Callable[[Floats, Dims, float, int, int], Decisions]


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way of deciding all pairs of systems, and what it promises.

    ``run`` takes a batch of tables, the names of their dimensions, alpha, a seed and the number of the first
    replicate. ``decide``, where there is one, does the same on a `Batch` that several procedures share.
    """

    name: str  # what a user types
    title: str  # in words
    dims: tuple[Dims, ...]  # the layouts that it can take
    generalize: tuple[str, ...]  # the claim that it is meant for
    promise: str  # "family", "discovery" or "pair": the error rate that it promises to hold at alpha
    source: str  # the paper that uses it, if one does
    run: Run
    decide: Decide | None = None
    sound: bool = True  # whether in theory it tests a difference at its level; if not, holding it is luck


def procedure(
    name: str,
    title: str,
    dims: tuple[Dims, ...],
    generalize: tuple[str, ...],
    promise: str,
    source: str,
    decide: Decide,
    *,
    sound: bool = True,
) -> Procedure:
    """Make a procedure of what it does with a batch."""

    def run(y: Floats, layout: Dims, alpha: float, seed: int, first: int) -> Decisions:
        return decide_on(made, Batch(np.asarray(y, np.float64), tuple(layout), seed, first), alpha)

    made = Procedure(name, title, dims, generalize, promise, source, run, decide, sound)
    return made


def decide_on(one: Procedure, batch: Batch, alpha: float) -> Decisions:
    """Run a procedure on a batch that it may share with others."""
    if batch.dims not in one.dims:
        raise InputError(
            f"{one.name} cannot take {' × '.join(batch.dims)}",
            remedy=f"it takes {' or '.join(' × '.join(layout) for layout in one.dims)}",
        )
    if not 0.0 < alpha < 1.0:
        raise InputError(f"level {alpha} is not between 0 and 1", remedy="write .05 for 5 %")
    if one.decide is None:
        return one.run(batch.y, batch.dims, alpha, batch.seed, batch.first)
    return one.decide(batch, alpha)


def decide_all(
    procedures: Iterable[Procedure], y: Floats, dims: Dims, alpha: float = 0.05, seed: int = 0, first: int = 0
) -> list[Decisions]:
    """Run several procedures on the same tables, fitting each model and drawing each resample once for all."""
    batch = Batch(np.asarray(y, np.float64), tuple(dims), seed, first)
    return [decide_on(one, batch, alpha) for one in procedures]
