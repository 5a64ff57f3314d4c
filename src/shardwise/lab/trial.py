"""Methods tried in scenarios: tables drawn, pairs decided, what was said held against the truth, until it is clear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shardwise.core.arguments import Progress, map_parallel
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import refuse_unknown
from shardwise.lab.cases import Case
from shardwise.lab.error_counts import (
    Figures,
    Truth,
    count_errors,
    estimate_rate,
    estimate_ratio,
    interval_tail,
    join_figures,
    judge_interval,
    level_for,
)
from shardwise.lab.verdict import COVERED, FIGURE, cannot_explode
from shardwise.methods.names import Procedure, parse_procedure
from shardwise.methods.pairs import choose_pairs
from shardwise.methods.tables import RESAMPLES, TABLE, Tables

FIGURES = ("raw", "family", "discovery", "coverage", "together", "best")
POWER = ("method", "error_rate", "meant", "claim", "null", "difference", "power", "low", "high")
SCORES = 2_000_000  # numbers of one chunk of tables
PAIRS = 500_000  # pairs of one chunk of tables
FEW_RESAMPLES = 239  # of the default test, where many tables are asked one question


class Chunk(NamedTuple):
    """Some tables of a case: all that a worker, in whatever process or machine, has to know."""

    case_number: int  # number of the case
    case: Case
    methods: Sequence[Procedure]
    alpha: float
    seed: int
    baselines: tuple[int, ...]
    n_resamples: int
    first: int  # number of the first table
    number: int  # of tables


def p_values(
    tables: Floats,
    methods: Iterable[str | Procedure],
    dims: Sequence[str] = TABLE,
    *,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    first: int = 0,
    deterministic: Sequence[bool] = (),
) -> dict[str, Floats]:
    """Compute corrected p-values of all pairs of systems in each of many tables at once.

    Parameters
    ----------
    tables : array of float
        Complete scores, tables first, then the dimensions in their order.
    methods : iterable of str or Procedure
        Procedures or their names, as for `compare`.
    dims : sequence of str
        Dimensions of a table: topic and system, perhaps followed by shard or instance.
    n_resamples : int
        Resamples of procedures that draw.
    seed : int
        Where the random numbers start; table i depends on (seed, first + i) only.
    first : int
        Number of the first table.
    deterministic : sequence of bool
        Which systems have instances that are copies of one another; none, if empty.

    Returns
    -------
    dict of array
        Tables by pairs, in the order of ``np.triu_indices``, by the name of each procedure.

    >>> y = np.random.default_rng(1).normal([0.2, 0.3, 0.3], 0.1, (4, 50, 3))
    >>> p_values(y, ["t holm"])["t holm"].shape
    (4, 3)
    """
    chosen = [parse_procedure(method) for method in methods]
    how: dict[str, Any] = {
        "n_resamples": n_resamples,
        "seed": seed,
        "first": first,
        "deterministic": tuple(deterministic),
    }
    decided = decide_tables(np.asarray(tables, np.float64), tuple(dims), chosen, **how)
    return {method.name: each.p_adjusted for method, each in zip(chosen, decided, strict=True)}


def decide_tables(
    y: Floats,
    dims: tuple[str, ...],
    methods: Sequence[Procedure],
    pairs: Sequence[tuple[Ints, Ints] | None] | None = None,
    **how: Any,
) -> list[Any]:
    """Return what each method says of (B, P) pairs of a batch of tables; every part of the laboratory calls this."""
    tables = Tables(y, dims, **how)
    asked = [None] * len(methods) if pairs is None else pairs
    return [method.decide(tables, which) for method, which in zip(methods, asked, strict=True)]


def count_tables(
    y: Floats,
    dims: tuple[str, ...],
    methods: Sequence[Procedure],
    truth: Floats,
    alpha: float,
    baselines: tuple[int, ...] = (),
    cover: Callable[[Any, Truth], Bools | None] | None = None,
    **how: Any,
) -> list[Figures]:
    """Let methods decide a batch of tables, with baselines or all pairs, and hold that against the true means.

    ``cover`` says which intervals hold the truth; without it, those of the method alone.
    """
    systems = len(truth)
    # Dunnett's test needs a baseline
    chosen = [baselines or ((0,) if method.correction == "dunnett" else ()) for method in methods]
    pairs = [choose_numbered_pairs(systems, places) for places in chosen]
    truths = [Truth.from_means(truth, which) for which in pairs]
    decided = decide_tables(y, dims, methods, pairs, **how)
    return [
        count_errors(each, true, method.error_rate, alpha, None if cover is None else cover(each, true))
        for method, each, true in zip(methods, decided, truths, strict=True)
    ]


def decide_chunk(chunk: Chunk) -> list[Figures]:
    """Count the errors of each method on the tables of a chunk."""
    scenario = chunk.case.scenario
    drawn = scenario.draw(chunk.first, chunk.number, _derive_seed(chunk.seed, chunk.case.path))
    how: dict[str, Any] = {"seed": chunk.seed, "first": chunk.first, "n_resamples": chunk.n_resamples}
    return count_tables(
        drawn, scenario.dims, chunk.methods, scenario.truth, chunk.alpha, chunk.baselines, **how
    )


def number_baselines(baseline: str | Sequence[str] | None, names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the baselines among the systems, or refuse a name that is not among them.

    >>> number_baselines(["b", "a"], ("a", "b", "c"))
    (1, 0)
    """
    wanted = [baseline] if isinstance(baseline, str) else list(baseline or ())
    for name in wanted:
        if name not in names:
            raise refuse_unknown("baseline", name, names, what="system")
    return tuple(list(names).index(name) for name in dict.fromkeys(wanted))


def choose_numbered_pairs(systems: int, baselines: tuple[int, ...]) -> tuple[Ints, Ints] | None:
    """Return the pairs of numbered systems with baselines, as `compare` chooses them; None for all pairs."""
    names = tuple(map(str, range(systems)))
    return choose_pairs(names, None, [names[k] for k in baselines]) if baselines else None


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Methods tried in scenarios, with looks at the figures on the way."""

    cases: Sequence[Case]
    methods: Sequence[Procedure]
    alpha: float
    seed: int
    looks: tuple[int, ...]
    baselines: tuple[
        int, ...
    ] = ()  # places of systems with which all others are compared; without, all pairs
    n_resamples: int = RESAMPLES  # of methods that draw

    def run(
        self,
        jobs: int | None,
        progress: Progress | None,
        executor: Executor | None = None,
        watch: Callable[[list[list[Figures]]], None] | None = None,
    ) -> list[list[Figures]]:
        """Tallies of every case and method. Chunks of replicates go to workers; each depends on its numbers alone.

        The scenarios fill alike; ``watch`` is called with what there is whenever each has got another chunk.
        """
        total = sum(-(-self.looks[-1] // case.share) for case in self.cases)
        parts: list[list[list[Figures]]] = [[[] for _ in self.methods] for _ in self.cases]
        tallies: list[list[Figures]] = []
        unclear, done, before = set(range(len(self.cases))), 0, 0
        limits = import_module("threadpoolctl").threadpool_limits  # two threads in each worker are slower
        how = (self.methods, self.alpha, self.seed, self.baselines, self.n_resamples)
        for look in self.looks:
            sizes = {}
            for number in unclear:
                scenario = self.cases[number].scenario
                r = scenario.shape[scenario.dims.index("system")]
                pairs = max(1, r * (r - 1) // 2)
                sizes[number] = max(1, min(50, SCORES // prod(scenario.shape), PAIRS // pairs))
            chunks = [
                Chunk(number, self.cases[number], *how, first, min(size, stop - first))
                for number in sorted(unclear)
                for share, size in [(self.cases[number].share, sizes[number])]
                for stop in [-(-look // share)]
                for first in range(-(-before // share), stop, size)
            ]
            chunks.sort(key=lambda chunk: chunk.first)
            count_progress = None if progress is None else _offset_progress(progress, done, total)
            with limits(1, "blas"):
                results = map_parallel(
                    decide_chunk,
                    chunks,
                    jobs=jobs,
                    executor=executor,
                    progress=count_progress,
                    steps=lambda chunk: chunk.number,
                )
                for chunk, chunk_tallies, following in zip(chunks, results, [*chunks[1:], None], strict=True):
                    done += chunk.number
                    for k, tally in enumerate(chunk_tallies):
                        parts[chunk.case_number][k].append(tally)
                    if watch is not None and following is not None and following.first > chunk.first:
                        watch([[join_figures(of_method) for of_method in of_case] for of_case in parts])
            tallies = [[join_figures(of_method) for of_method in of_case] for of_case in parts]
            parts = [[[tally] for tally in of_case] for of_case in tallies]
            if watch is not None:
                watch(tallies)
            unclear, before = self.find_unclear(tallies), look
            if not unclear:
                break
        return tallies

    def group_cases(self) -> dict[tuple[Claim, str, bool], list[int]]:
        """Group the numbers of cases that count together: one null, or all ways of planting differences in it."""
        members: dict[tuple[Claim, str, bool], list[int]] = {}
        for number, case in enumerate(self.cases):
            members.setdefault((case.scenario.claim, case.null, case.planted), []).append(number)
        return members

    def interval_tail(self, claim: Claim) -> float:
        """Return the tail of the intervals, for all looks at all scenarios of a claim."""
        return interval_tail(len(self.looks), sum(about == claim for about, _, _ in self.group_cases()))

    def find_unclear(self, tallies: Sequence[Sequence[Figures]]) -> set[int]:
        """Return numbers of the cases that have to go on, as they leave a verdict on a method open."""
        going: set[int] = set()
        for about in {claim for claim, _, _ in self.group_cases()}:
            meant = [k for k, m in enumerate(self.methods) if _is_meant(m, about)] or range(len(self.methods))
            for k in meant:
                method = self.methods[k]
                for column, figure in (
                    ("alarms", FIGURE[method.error_rate]),
                    ("intervals", COVERED[method.error_rate]),
                ):
                    states = {}
                    for (claim, _, _), members in self.group_cases().items():
                        if claim != about or not getattr(self.cases[members[0]], column):
                            continue
                        x = np.concatenate([tallies[number][k][figure] for number in members])
                        estimate = estimate_rate(
                            x if column == "alarms" else 1.0 - x, self.interval_tail(about)
                        )
                        if estimate.n:
                            states[tuple(members)] = judge_interval(estimate.low, estimate.high, self.alpha)
                    if "fails" not in states.values():
                        going |= {
                            number
                            for members, state in states.items()
                            if state == "unclear"
                            for number in members
                        }
        return going

    def tabulate_rates(self, tallies: Sequence[Sequence[Figures]]) -> pd.DataFrame:
        """Tabulate every figure in long form; tables with differences planted in several ways count together."""
        rows: list[dict[str, Any]] = []
        for (about, _, planted), members in self.group_cases().items():
            first, ends = self.cases[members[0]], self.interval_tail(about)
            for k, method in enumerate(self.methods):
                of = {
                    name: np.concatenate([tallies[number][k][name] for number in members])
                    for name in (*FIGURES, "smallest", "wrong_way", "right_way")
                }
                figures = {name: estimate_rate(of[name], ends) for name in FIGURES}
                if planted:
                    figures["wrong_way"] = estimate_ratio(
                        of["wrong_way"], of["wrong_way"] + of["right_way"], ends
                    )
                    figures["found"] = estimate_rate(
                        np.concatenate([_share_found(tallies[number][k]) for number in members]), ends
                    )
                elif method.error_rate != "pair" and cannot_explode(method):
                    figures["level"] = level_for(of["smallest"], self.alpha, ends)
                head = self._row_head(method, about, first) | {"planted": planted}
                head |= {"for_alarms": first.alarms, "for_intervals": first.intervals}
                rows += [
                    head | {"figure": name, "rate": r.value, "low": r.low, "high": r.high, "n": r.n}
                    for name, r in figures.items()
                ]
        return pd.DataFrame(rows)

    def tabulate_power(self, tallies: Sequence[Sequence[Figures]]) -> pd.DataFrame:
        """Tabulate the share of planted differences detected, by their size."""
        rows: list[dict[str, Any]] = []
        for (about, _, planted), members in self.group_cases().items():
            for k, method in enumerate(self.methods if planted else ()):
                head = self._row_head(method, about, self.cases[members[0]])
                parts = [tallies[number][k] for number in members]
                for size, shares in _by_size([self.cases[number] for number in members], parts).items():
                    r = estimate_rate(shares, self.interval_tail(about))
                    rows.append(head | {"difference": size, "power": r.value, "low": r.low, "high": r.high})
        return pd.DataFrame(rows, columns=POWER)

    def _row_head(self, method: Procedure, about: Claim, case: Case) -> dict[str, Any]:
        claim = about.short(case.scenario.dims)
        head = {"method": method.name, "error_rate": method.error_rate, "meant": _is_meant(method, about)}
        return head | {"claim": claim, "null": case.null}

    def count_blamed(
        self, tallies: Sequence[Sequence[Figures]], claim: Claim, names: Iterable[str]
    ) -> dict[str, Floats]:
        """Count false alarms of methods that each system was in, where all are equal and each keeps its own scores."""
        scenarios = [
            number
            for number, case in enumerate(self.cases)
            if case.scenario.claim == claim and case.alarms and not case.planted and case.null != "permute"
        ]
        every = {m.name: k for k, m in enumerate(self.methods)}
        return {
            name: np.sum([tallies[number][every[name]]["blamed"].sum(axis=0) for number in scenarios], axis=0)
            for name in names
            if scenarios
        }


def _is_meant(method: Procedure, claim: Claim) -> bool:
    return method.method.sound and method.claim == claim


def _share_found(part: Figures) -> Floats:
    """Return the share of planted differences detected in each table, all sizes alike."""
    asked = part["found"][:, np.isfinite(part["found"]).all(axis=0)]
    return np.asarray(asked.mean(axis=1) if asked.size else np.full(len(asked), np.nan))


def _offset_progress(progress: Progress, before: int, total: int) -> Progress:
    """Report progress of a batch as that of the whole."""
    return lambda done, _: progress(before + done, total)


def _derive_seed(seed: int, path: int) -> int:
    """Derive a seed of its own for each planting, so that no two scenarios share their tables."""
    return (
        int(np.random.SeedSequence(seed, spawn_key=(path,)).generate_state(1, np.uint64)[0]) if path else seed
    )


def _by_size(cases: Sequence[Case], parts: Sequence[Figures]) -> dict[float, Floats]:
    shares: dict[float, list[Floats]] = {}
    for case, part in zip(cases, parts, strict=True):
        for g, size in enumerate(Truth.from_means(case.scenario.truth).sizes):
            shares.setdefault(round(float(size), 10), []).append(part["found"][:, g])
    return {size: np.concatenate(shares[size]) for size in sorted(shares)}
