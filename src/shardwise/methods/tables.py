"""Many score tables at once, with what was computed of them so far."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Floats, Ints, Words
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.model import Model
from shardwise.core.scores import Scores
from shardwise.stats.balanced import Decomposition, all_terms, decompose
from shardwise.stats.intervals import BoundedScores, Range
from shardwise.stats.resampling import key_of
from shardwise.stats.units import VoteUnits

Dims = tuple[str, ...]
Value = TypeVar("Value")

TABLE: Dims = ("topic", "system")
SHARDS: Dims = ("topic", "system", "shard")
INSTANCES: Dims = ("topic", "system", "instance")
SPLITS: Dims = ("split", "topic", "system", "shard")
LAYOUTS = (TABLE, SHARDS, INSTANCES, SPLITS)
LAYOUT_NAMES = {"table": TABLE, "shards": SHARDS, "instances": INSTANCES, "splits": SPLITS}
"""Layouts by the words of the tables of data beside this module, where `all` stands for all of them."""
RESAMPLES = 1_000  # of a test that draws, unless another number is asked for


def read_table(name: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a table of data of this room by name, their lists as tuples."""
    rows = tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text("utf-8"))
    return {
        key: {field: tuple(value) if isinstance(value, list) else value for field, value in row.items()}
        for key, row in rows.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """B tables of scores with what was computed of them so far, so that tests need not repeat each other.

    Not to be shared between threads: each has tables of its own.

    >>> tables = Tables(np.zeros((4, 30, 3, 5)), SHARDS)
    >>> tables.topic_means().shape, tables.pairs[0].tolist()
    ((4, 30, 3), [0, 0, 1])
    """

    y: Floats  # (B, sizes of dims)
    dims: Dims
    seed: int = 0
    first: int = 0  # number of the first replicate; replicate i of a resampling depends on (seed, i) only
    n_resamples: int = RESAMPLES
    keyed: bool = True  # whether each table has a key of its own; a single table has that of its seed
    deterministic: tuple[bool, ...] = ()  # systems whose instances are copies, where somebody said so
    unit_df: float | None = None  # of a variance over topics, where they are units that count unequally
    human: Floats | None = (
        None  # (B, topics, systems) scores by people beside those of a judge, NaN where none are
    )
    cluster: Ints | None = (
        None  # (topics,) number of each topic's cluster, for tests that look at single items
    )
    task: Ints | None = None  # (topics,) number of each topic's task, for the same
    votes: tuple[VoteUnits, ...] = ()  # of each table what its errors are made of, where scores are strengths
    lower_is_better: bool = False  # whether the best system is the one with the lowest mean
    # what systems are called, where a refusal has to name them
    names: tuple[str, ...] = ()
    _kept: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.dims not in LAYOUTS:
            known = "; ".join(", ".join(layout) for layout in LAYOUTS)
            raise InputError(f"no layout is {', '.join(self.dims)}", remedy=f"the layouts are {known}")
        if self.y.ndim != len(self.dims) + 1:
            raise InputError(
                f"an array of {self.y.ndim} axes is not a batch of {' × '.join(self.dims)}",
                remedy="put the axis of replicates first",
            )
        if self.systems < 2 or self.topics < 2:
            raise InputError(
                f"{format_count(self.systems, 'system')} and {format_count(self.topics, 'topic')} are too few",
                remedy="give at least two of each",
            )
        validate_count(self.n_resamples, "n_resamples", what="resamples")
        if np.isinf(self.y).any():
            raise InputError("a table holds infinite scores", remedy="correct or drop them")

    @classmethod
    def one(cls, y: Floats, dims: Dims, **options: Any) -> Tables:
        """A batch of one."""
        return cls(np.asarray(y, np.float64)[None], dims, keyed=False, **options)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def shape(self) -> dict[str, int]:
        """Sizes of the dimensions."""
        return dict(zip(self.dims, self.y.shape[1:], strict=True))

    @property
    def systems(self) -> int:
        """Number of systems, R."""
        return self.shape["system"]

    @property
    def topics(self) -> int:
        """Number of topics, T."""
        return self.shape["topic"]

    @property
    def df(self) -> float:
        """Degrees of freedom of a variance over topics."""
        return self.topics - 1.0 if self.unit_df is None else self.unit_df

    @property
    def sign(self) -> int:
        """1 where higher scores are better, -1 where lower ones are."""
        return -1 if self.lower_is_better else 1

    @property
    def complete(self) -> bool:
        """Whether no score is missing."""
        return self.once("complete", lambda: bool(np.isfinite(self.y).all()))

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """Index arrays of the two systems of each pair."""
        a, b = np.triu_indices(self.systems, 1)
        return a.astype(np.int64), b.astype(np.int64)

    @property
    def keys(self) -> Words:
        """The 64 bits from which each table's resamples are derived, from (seed, number of the replicate) alone."""

        return self.once("keys", lambda: np.array([key_of(seed) for seed in self.seeds], dtype=np.uint64))

    @property
    def seeds(self) -> list[int]:
        """The seed of each table's resamples, from (seed, number of the replicate) alone."""
        if not self.keyed:
            return [self.seed] * len(self)
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
        """(B, T, R) scores averaged over all but topic and system.

        Over the instances that are there; and over the shards that the topic has for any system, of which a system
        that lacks one has no mean there.
        """
        others = tuple(1 + k for k, name in enumerate(self.dims) if name not in TABLE)

        def compute_value() -> Floats:
            if not others:
                return self.y
            if self.complete:
                return np.asarray(self.y.mean(axis=others))
            present = np.isfinite(self.y)
            counts = present.sum(axis=others)
            sums = np.where(present, self.y, 0.0).sum(axis=others)
            some = present.any(axis=1 + self.dims.index("system"), keepdims=True).sum(axis=others)
            needed = 1 if "instance" in self.dims else np.maximum(some, 1)
            return np.where(counts >= needed, sums / np.maximum(counts, 1), np.nan)

        return self.once("topic means", compute_value)

    def each_split(self) -> Tables:
        """Every split as a table of its own, those of one table next to each other."""
        return self.once(
            "each split",
            lambda: replace(self, y=self.y.reshape(-1, *self.y.shape[2:]), dims=SHARDS, _kept={}),
        )

    def select_systems(self, systems: Ints) -> Tables:
        """Return the tables of some systems only, with the same resamples."""
        axis = 1 + self.dims.index("system")
        flags = tuple(self.deterministic[k] for k in systems) if self.deterministic else ()
        names = tuple(self.names[k] for k in systems) if self.names else ()
        human = None if self.human is None else np.ascontiguousarray(self.human[..., systems])
        y = np.ascontiguousarray(np.take(self.y, systems, axis=axis))
        votes = tuple(units.select_systems(systems) for units in self.votes)
        return replace(self, y=y, deterministic=flags, names=names, human=human, votes=votes, _kept={})

    def first_split(self) -> Tables:
        """The first split of every table alone."""
        y = self.y[:, 0]
        return self.once(
            "first split", lambda: replace(self, y=np.ascontiguousarray(y), dims=SHARDS, _kept={})
        )

    def single_tables(self) -> list[Tables]:
        """Every table as a batch of one, for models that are fitted to one table at a time."""
        return self.once("single", lambda: [replace(self, y=y[None], keyed=False, _kept={}) for y in self.y])

    def require_complete(self, what: str) -> None:
        """Refuse tables with gaps where a test needs all scores."""
        y = self.topic_means() if "instance" in self.dims else self.y
        if not np.isfinite(y).all():
            gaps = int((~np.isfinite(y)).sum())
            raise InputError(
                f"{gaps} scores are missing or undefined, and {what} needs them all",
                remedy="drop those topics, fill what is undefined, or use an ANOVA model, which leaves them out",
            )

    def decomposition(self, model: Model, on_means: bool = False) -> Decomposition:
        """Effects and sums of squares of a model; split once into all terms, whatever the model."""
        dims = TABLE if on_means else self.dims
        y = self.topic_means() if on_means else self.y

        def compute_value() -> Decomposition:
            decomposition = decompose(y, dims, all_terms(dims))
            assert decomposition is not None, "tables with gaps are fitted one by one"
            return decomposition

        return self.once(("decomposition", dims), compute_value).of(model.sets)


def find_range(scores: Scores) -> Range | None:
    """Return the range of scores with their direction; None where scores are not known to be bounded."""
    measure = scores.measure
    return None if measure.range is None else Range(*measure.range, measure.lower_is_better)


def bound_scores(scores: Scores) -> BoundedScores | None:
    """Return the scores of items mapped to [0, 1], averaged over repeats and shards, with clusters and tasks.

    None where the range is not known, or topics lie in several tasks.
    """
    bounds = find_range(scores)
    if bounds is None or "task" in scores.dims:
        return None
    values = np.asarray(scores.mean(*scores.others).values, np.float64)
    return BoundedScores(bounds.map_scores(values), bounds, scores.cluster, scores.task, scores.systems)
