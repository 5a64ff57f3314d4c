"""Methods tried in worlds: tables drawn, pairs decided, what was said held against the truth, until it is clear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shardwise.comparing.pairs import choose_pairs
from shardwise.core.arguments import Progress, map_parallel
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import refuse_unknown
from shardwise.lab.error_counts import Tally, Truth, joined, level_for, rate, ratio, tally
from shardwise.lab.looks import status, tail
from shardwise.lab.scenarios import Case
from shardwise.lab.verdict import COVERED, FIGURE, cannot_explode
from shardwise.lab.worlds.base import World
from shardwise.methods.procedure import Procedure
from shardwise.methods.tables import Tables

FIGURES = ("raw", "family", "discovery", "coverage", "together", "best")
POWER = ("method", "error_rate", "meant", "claim", "null", "difference", "power", "low", "high")
SCORES = 2_000_000  # numbers of one chunk of tables
PAIRS = 500_000  # pairs of one chunk of tables


class Chunk(NamedTuple):
    """Some tables of a case: all that a worker, in whatever process or machine, has to know."""

    at: int  # number of the case
    case: Case
    methods: Sequence[Procedure]
    alpha: float
    seed: int
    baselines: tuple[int, ...]
    first: int  # number of the first table
    number: int  # of tables


def decided(chunk: Chunk) -> list[Tally]:
    """What each method says of the tables of a chunk, held against the truth."""
    world = chunk.case.world
    drawn = world.draw(chunk.first, chunk.number, _path(chunk.seed, chunk.case.path))
    tables = Tables(drawn, world.dims, chunk.seed, chunk.first)
    return [
        tally(method.decide(tables, pairs), Truth.of(world.truth, pairs), method.error_rate, chunk.alpha)
        for method in chunk.methods
        for pairs in [choose_numbered_pairs(tables.systems, chunk.baselines or dunnett_baseline(method))]
    ]


def dunnett_baseline(method: Procedure) -> tuple[int, ...]:
    """Return the first system for Dunnett's test, which needs a baseline, and none for other corrections."""
    return (0,) if method.correction == "dunnett" else ()


def number_baselines(baseline: str | Sequence[str] | None, names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the baselines among the systems, or refuse a name that is not among them.

    Parameters
    ----------
    baseline : str or sequence of str, optional
        One system or several.
    names : sequence of str
        All systems.

    Returns
    -------
    tuple of int
        Each number once; empty without a baseline.

    >>> number_baselines(["b", "a"], ("a", "b", "c"))
    (1, 0)
    """
    wanted = [baseline] if isinstance(baseline, str) else list(baseline or ())
    for name in wanted:
        if name not in names:
            raise refuse_unknown("baseline", name, names, what="system")
    return tuple(list(names).index(name) for name in dict.fromkeys(wanted))


def choose_numbered_pairs(systems: int, baselines: tuple[int, ...]) -> tuple[Ints, Ints] | None:
    """Return the pairs of numbered systems with baselines, as `compare` chooses them; None for all pairs.

    Parameters
    ----------
    systems : int
        Number of systems.
    baselines : tuple of int
        Numbers of the baselines.

    Returns
    -------
    tuple of arrays or None
        Numbers of the two systems of each pair.
    """
    names = tuple(map(str, range(systems)))
    return choose_pairs(names, None, [names[k] for k in baselines]) if baselines else None


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Methods tried in worlds, with looks at the figures on the way."""

    cases: Sequence[Case]
    methods: Sequence[Procedure]
    alpha: float
    seed: int
    looks: tuple[int, ...]
    baselines: tuple[
        int, ...
    ] = ()  # places of systems with which all others are compared; without, all pairs

    def run(
        self,
        jobs: int | None,
        progress: Progress | None,
        executor: Executor | None = None,
        watch: Callable[[list[list[Tally]]], None] | None = None,
    ) -> list[list[Tally]]:
        """Tallies of every case and method. Chunks of replicates go to workers; each depends on its numbers alone.

        The worlds fill alike; ``watch`` is called with what there is whenever each has got another chunk.
        """
        total = sum(-(-self.looks[-1] // case.share) for case in self.cases)
        parts: list[list[list[Tally]]] = [[[] for _ in self.methods] for _ in self.cases]
        tallies: list[list[Tally]] = []
        unclear, done, before = set(range(len(self.cases))), 0, 0
        limits = import_module("threadpoolctl").threadpool_limits  # two threads in each worker are slower
        how = (self.methods, self.alpha, self.seed, self.baselines)
        for look in self.looks:
            chunks = [
                Chunk(at, self.cases[at], *how, first, min(size, stop - first))
                for at in sorted(unclear)
                for share, size in [(self.cases[at].share, _chunk(self.cases[at].world))]
                for stop in [-(-look // share)]
                for first in range(-(-before // share), stop, size)
            ]
            chunks.sort(key=lambda chunk: chunk.first)
            told = None if progress is None else _counting(progress, done, total)
            with limits(1, "blas"):
                results = map_parallel(
                    decided,
                    chunks,
                    jobs=jobs,
                    executor=executor,
                    progress=told,
                    steps=lambda chunk: chunk.number,
                )
                for chunk, found, following in zip(chunks, results, [*chunks[1:], None], strict=True):
                    done += chunk.number
                    for k, one in enumerate(found):
                        parts[chunk.at][k].append(one)
                    if watch is not None and following is not None and following.first > chunk.first:
                        watch([[joined(of_method) for of_method in of_case] for of_case in parts])
            tallies = [[joined(of_method) for of_method in of_case] for of_case in parts]
            parts = [[[one] for one in of_case] for of_case in tallies]
            if watch is not None:
                watch(tallies)
            unclear, before = self.unclear(tallies), look
            if not unclear:
                break
        return tallies

    def alike(self) -> dict[tuple[Claim, str, bool], list[int]]:
        """Numbers of the cases that count together: one null, or all ways in which differences are planted in it."""
        found: dict[tuple[Claim, str, bool], list[int]] = {}
        for at, case in enumerate(self.cases):
            found.setdefault((case.world.claim, case.null, case.planted), []).append(at)
        return found

    def tail(self, claim: Claim) -> float:
        """Tail of the intervals, for all looks at all worlds of a claim."""
        return tail(len(self.looks), sum(about == claim for about, _, _ in self.alike()))

    def unclear(self, tallies: Sequence[Sequence[Tally]]) -> set[int]:
        """Numbers of the cases that have to go on, as they leave a verdict on a method open."""
        going: set[int] = set()
        for about in {claim for claim, _, _ in self.alike()}:
            meant = [k for k, m in enumerate(self.methods) if _meant(m, about)] or range(len(self.methods))
            for k in meant:
                method = self.methods[k]
                for column, figure in (
                    ("alarms", FIGURE[method.error_rate]),
                    ("intervals", COVERED[method.error_rate]),
                ):
                    states = {}
                    for (claim, _, _), members in self.alike().items():
                        if claim != about or not getattr(self.cases[members[0]], column):
                            continue
                        x = np.concatenate([getattr(tallies[at][k], figure) for at in members])
                        found = rate(x if column == "alarms" else 1.0 - x, self.tail(about))
                        if found.n:
                            states[tuple(members)] = status(found.low, found.high, self.alpha)
                    if "fails" not in states.values():
                        going |= {
                            at for members, state in states.items() if state == "unclear" for at in members
                        }
        return going

    def rates(self, tallies: Sequence[Sequence[Tally]]) -> pd.DataFrame:
        """Every figure in long form; tables with differences planted in several ways count together."""
        rows: list[dict[str, Any]] = []
        for (about, _, planted), members in self.alike().items():
            first, ends = self.cases[members[0]], self.tail(about)
            for k, method in enumerate(self.methods):
                of = {
                    name: np.concatenate([getattr(tallies[at][k], name) for at in members])
                    for name in (*FIGURES, "smallest", "wrong_way", "right_way")
                }
                figures = {name: rate(of[name], ends) for name in FIGURES}
                if planted:
                    figures["wrong_way"] = ratio(of["wrong_way"], of["wrong_way"] + of["right_way"], ends)
                    figures["found"] = rate(np.concatenate([_found(tallies[at][k]) for at in members]), ends)
                elif method.error_rate != "pair" and cannot_explode(method):
                    figures["level"] = level_for(of["smallest"], self.alpha, ends)
                head = self._head(method, about, first) | {"planted": planted}
                head |= {"for_alarms": first.alarms, "for_intervals": first.intervals}
                rows += [
                    head | {"figure": name, "rate": r.value, "low": r.low, "high": r.high, "n": r.n}
                    for name, r in figures.items()
                ]
        return pd.DataFrame(rows)

    def power(self, tallies: Sequence[Sequence[Tally]]) -> pd.DataFrame:
        """Share of planted differences found, by their size."""
        rows: list[dict[str, Any]] = []
        for (about, _, planted), members in self.alike().items():
            for k, method in enumerate(self.methods if planted else ()):
                head = self._head(method, about, self.cases[members[0]])
                parts = [tallies[at][k] for at in members]
                for size, found in _by_size([self.cases[at] for at in members], parts).items():
                    r = rate(found, self.tail(about))
                    rows.append(head | {"difference": size, "power": r.value, "low": r.low, "high": r.high})
        return pd.DataFrame(rows, columns=POWER)

    def _head(self, method: Procedure, about: Claim, case: Case) -> dict[str, Any]:
        claim = about.short(case.world.dims)
        head = {"method": method.name, "error_rate": method.error_rate, "meant": _meant(method, about)}
        return head | {"claim": claim, "null": case.null}

    def blamed(
        self, tallies: Sequence[Sequence[Tally]], claim: Claim, names: Iterable[str]
    ) -> dict[str, Floats]:
        """False alarms of methods that each system was in, where all are equal and each keeps its own scores."""
        worlds = [
            at
            for at, case in enumerate(self.cases)
            if case.world.claim == claim and case.alarms and not case.planted and case.null != "permute"
        ]
        every = {m.name: k for k, m in enumerate(self.methods)}
        return {
            name: np.sum([tallies[at][every[name]].blamed for at in worlds], axis=0)
            for name in names
            if worlds
        }


def _meant(method: Procedure, claim: Claim) -> bool:
    return method.method.sound and method.claim == claim


def _found(part: Tally) -> Floats:
    """Share of the planted differences found in each table, all sizes alike."""
    asked = part.found[:, np.isfinite(part.found).all(axis=0)]
    return np.asarray(asked.mean(axis=1) if asked.size else np.full(len(asked), np.nan))


def _counting(progress: Progress, before: int, total: int) -> Progress:
    """Progress of a batch told as that of the whole."""
    return lambda done, _: progress(before + done, total)


def _path(seed: int, path: int) -> int:
    """A seed of its own for each planting, so that no two worlds share their tables."""
    return (
        int(np.random.SeedSequence(seed, spawn_key=(path,)).generate_state(1, np.uint64)[0]) if path else seed
    )


def _chunk(world: World) -> int:
    r = world.shape[world.dims.index("system")]
    return max(1, min(50, SCORES // prod(world.shape), PAIRS // max(1, r * (r - 1) // 2)))


def _by_size(cases: Sequence[Case], parts: Sequence[Tally]) -> dict[float, Floats]:
    found: dict[float, list[Floats]] = {}
    for case, part in zip(cases, parts, strict=True):
        for g, size in enumerate(Truth.of(case.world.truth).sizes):
            found.setdefault(round(float(size), 10), []).append(part.found[:, g])
    return {size: np.concatenate(found[size]) for size in sorted(found)}
