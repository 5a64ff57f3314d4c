"""The calibration laboratory: what does "significant" mean on data like yours?

Tables are drawn from worlds whose truth is known, every method decides all pairs of every table, and what it said is
held against the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core import late
from shardwise.core.arguments import Progress, level, mapped
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import Either, InputError
from shardwise.core.scores import layout_of, nouns_of
from shardwise.core.variance_components import VarianceComponents
from shardwise.fits.variance_components import complete_table, variance_components
from shardwise.lab.error_counts import Tally, Truth, joined, rate, ratio, tally
from shardwise.lab.scenarios import Case, Source, cases_of
from shardwise.lab.verdict import SLACK, Verdict, summary, verdicts
from shardwise.lab.worlds.base import World
from shardwise.numerics.tables import Tables
from shardwise.procedures.procedure import Procedure
from shardwise.procedures.vocabulary import DEFAULT, parse

CLAIMS: Mapping[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("topic", "system"): (("topic",),),
    ("topic", "system", "shard"): ((), ("topic",), ("topic", "shard")),
    ("topic", "system", "instance"): (("topic", "instance"),),
    ("split", "topic", "system", "shard"): ((), ("topic",)),
}
FIGURES = ("raw", "family", "discovery", "coverage", "together")
POWER = ("method", "promise", "meant", "claim", "null", "difference", "power", "low", "high")
SCORES = 2_000_000  # numbers of one chunk of tables
PAIRS = 500_000  # pairs of one chunk of tables


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration:
    """Error rates, coverage and power of methods on data like these.

    ``rates`` has one row for each method, claim, world and figure: ``method, promise, meant, claim, null, planted,
    figure, rate, low, high, n, exceeds``. The figures: raw (equal pairs called different before correction), family
    (tables in which any equal pair is), discovery (share of equal pairs among those called different), coverage and
    together (intervals that hold the true difference: each, and all at once), wrong_way (of truly different pairs
    called different, those the wrong way round). ``power`` has ``method, promise, meant, claim, null, difference,
    power, low, high``. ``meant`` says whether a method is made for the claim and in theory
    tests a difference. Intervals are Monte-Carlo, 95 %.
    """

    rates: pd.DataFrame
    power: pd.DataFrame
    table: pd.DataFrame  # one row a method and claim: the promised rate where it is worst
    verdicts: tuple[Verdict, ...]
    alpha: float
    repetitions: int
    seed: int
    scores: str  # what was simulated, in words

    def __str__(self) -> str:
        head = f"{self.scores}; {self.repetitions} repetitions a world, seed {self.seed}"
        return "\n\n".join([head, *(str(v) for v in self.verdicts)])

    def __repr__(self) -> str:
        return f"<Calibration of {self.table['method'].nunique()} methods: {self.scores}>"

    def to_frame(self) -> pd.DataFrame:
        """One row a method and claim: the promised error rate in the world where it is worst, and mean power."""
        return self.table.copy()

    def plot(self, kind: str = "errors") -> Any:
        """Draw what methods do: an altair chart.

        Parameters
        ----------
        kind
            "errors" for error rates, or "power" for power over the size of a difference.
        """
        return late.call("chart", self, kind)


def calibrate(
    source: Any,
    methods: Iterable[str | Procedure] | None = None,
    *,
    claims: Iterable[Claim | str | Iterable[str]] | None = None,
    nulls: Iterable[str] | None = None,
    alpha: float = 0.05,
    repetitions: int = 1000,
    planted: bool = True,
    largest: float | None = None,
    topics: int | None = None,
    systems: int | None = None,
    shards: int | None = None,
    instances: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Measure what methods do where the truth is known, on tables like the scores or made of the components given.

    Each claim is tried with all systems equal and, if planted, once more with half of them equal and others better or
    worse.

    Parameters
    ----------
    source
        A complete table of scores in any form that `as_scores` takes; variance components; or standard deviations of
        effects by name.
    methods
        Procedures or their names; the usual ones for the layout, if None.
    claims
        Claims to try, each a `Claim`, names or text; the usual ones for the layout, if None.
    nulls
        Worlds of equal systems: "normal" (sums of normal effects), "margins" (bounded scores, every system with a
        distribution like its own), and made of the scores themselves "permute", "flip", "resample" (see
        `lab.worlds.from_scores`). If None, margins for scores between 0 and 1, normal otherwise, with those made of the
        scores that fit the claim.
    alpha
        Level of the methods.
    repetitions
        Tables of each world.
    planted
        Whether to plant differences too.
    largest
        The largest difference to plant; one that is hardly ever missed, if None.
    topics, systems, shards, instances
        Sizes of the tables; other ones than those of the scores leave simulated nulls only.
    seed
        Where the random numbers start; table i of a world depends on (seed, i) only.
    jobs
        Number of threads; all processors, if None.
    progress
        Called with (tables done, tables in all).

    >>> sd = {"topic": .2, "topic:system": .08, "topic:shard": .1, "error": .06}
    >>> found = calibrate(sd, ["MD6 hsd", "MD6 hsd topic"], systems=4, shards=3, topics=20, repetitions=200,
    ...     claims=[("topic",)], planted=False)
    >>> found.table.set_index("method")["status"].to_dict()["MD6 hsd"]
    'fails'
    """
    _check(alpha, repetitions)
    scores, sd = _read(source)
    dims = layout_of(scores) if scores is not None else _layout(shards, instances)
    asked = {"topic": topics, "system": systems, "shard": shards, "instance": instances}
    shape = _shape(dims, scores, asked)
    chosen = _methods(methods, dims)
    nouns = {} if scores is None else nouns_of(scores)
    wanted = [Claim.of(c, nouns) for c in (CLAIMS[dims] if claims is None else claims)]
    given = Source(scores, sd, dims, shape)
    cases = []
    for claim in wanted:
        cases += cases_of(
            given,
            claim,
            nulls,
            planted=planted,
            largest=largest,
            repetitions=repetitions,
            alpha=alpha,
            seed=seed,
        )
    tallies = _run(cases, chosen, alpha, seed, jobs, progress)
    rates, power = _tables(cases, chosen, tallies, alpha)
    table = summary(rates, power, alpha)
    return Calibration(
        rates,
        power,
        table,
        verdicts(table, alpha, repetitions),
        alpha,
        repetitions,
        seed,
        _words(dims, shape, sd, scores is not None),
    )


def _check(alpha: float, repetitions: int) -> None:
    level(alpha)
    if repetitions < 10:
        raise InputError(f"{repetitions} repetitions say nothing", remedy="use 200 or more")


def _read(source: Any) -> tuple[xr.DataArray | None, VarianceComponents]:
    if isinstance(source, VarianceComponents):
        return None, source
    if isinstance(source, Mapping) and source and all(isinstance(v, float | int) for v in source.values()):
        return None, VarianceComponents.of(source, kind="sd")
    scores, _ = complete_table(source)
    return scores, variance_components(scores)


def _layout(shards: int | None, instances: int | None) -> tuple[str, ...]:
    if shards is not None and instances is not None:
        raise InputError("shards and instances at once", remedy="choose one of them")
    third = ("shard",) if shards is not None else ("instance",) if instances is not None else ()
    return ("topic", "system", *third)


def _shape(
    dims: tuple[str, ...], scores: xr.DataArray | None, asked: Mapping[str, int | None]
) -> tuple[int, ...]:
    for dim, size in asked.items():
        if size is not None and dim not in dims:
            raise InputError(f"{size} {dim}s, but the scores have no {dim}s", remedy=f"leave {dim}s out")
    usual: Mapping[Any, int] = {"topic": 50, "system": 10} if scores is None else scores.sizes
    return tuple(asked.get(dim) or usual[dim] for dim in dims)


def _methods(names: Iterable[str | Procedure] | None, dims: tuple[str, ...]) -> list[Procedure]:
    if isinstance(names, str | Procedure):
        names = [names]
    found = [parse(name) for name in (DEFAULT[dims] if names is None else names)]
    if not found:
        raise InputError(
            "no method to calibrate",
            remedy=("name some, as in ", Either('methods=["MD6 hsd topic"]', "--method 'MD6 hsd topic'")),
        )
    for method in found:
        if dims not in method.dims:
            raise InputError(
                f"{method.name} does not fit scores by {', '.join(dims)}",
                remedy=f"it takes {' or '.join(', '.join(d) for d in method.dims)}",
            )
    return list({method.name: method for method in found}.values())


def _run(
    cases: Sequence[Case],
    methods: Sequence[Procedure],
    alpha: float,
    seed: int,
    jobs: int | None,
    progress: Progress | None,
) -> list[list[Tally]]:
    """Tallies of every case and method. Chunks of replicates go to threads; each depends on its numbers alone."""
    truths = [Truth.of(case.world.truth) for case in cases]
    chunks = [
        (at, first, min(size, case.repetitions - first))
        for at, case in enumerate(cases)
        for size in [_chunk(case.world)]
        for first in range(0, case.repetitions, size)
    ]

    def work(chunk: tuple[int, int, int]) -> list[Tally]:
        at, first, count = chunk
        case = cases[at]
        drawn = case.world.draw(first, count, _path(seed, case.path))
        tables = Tables(drawn, case.world.dims, seed, first)
        return [tally(method.decide(tables), truths[at], method.promise, alpha) for method in methods]

    parts: list[list[list[Tally]]] = [[[] for _ in methods] for _ in cases]
    limits = import_module("threadpoolctl").threadpool_limits  # two threads in each worker are slower
    with limits(1, "blas"):
        results = mapped(work, chunks, jobs=jobs, progress=progress, steps=lambda chunk: chunk[2])
        for (at, _, _), found in zip(chunks, results, strict=True):
            for k, one in enumerate(found):
                parts[at][k].append(one)
    return [[joined(of_method) for of_method in of_case] for of_case in parts]


def _path(seed: int, path: int) -> int:
    """A seed of its own for each planting, so that no two worlds share their tables."""
    return (
        int(np.random.SeedSequence(seed, spawn_key=(path,)).generate_state(1, np.uint64)[0]) if path else seed
    )


def _chunk(world: World) -> int:
    r = world.shape[world.dims.index("system")]
    return max(1, min(50, SCORES // prod(world.shape), PAIRS // max(1, r * (r - 1) // 2)))


def _tables(
    cases: Sequence[Case], methods: Sequence[Procedure], tallies: Sequence[Sequence[Tally]], alpha: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates and power in long form; tables with differences planted in several ways count together."""
    alike: dict[tuple[Claim, str, bool], list[int]] = {}
    for at, case in enumerate(cases):
        alike.setdefault((case.world.claim, case.null, case.planted), []).append(at)
    rates: list[dict[str, Any]] = []
    power: list[dict[str, Any]] = []
    for (about, null, planted), members in alike.items():
        claim = about.short(cases[members[0]].world.dims)
        for k, method in enumerate(methods):
            parts = [tallies[at][k] for at in members]
            head = {
                "method": method.name,
                "promise": method.promise,
                "meant": method.sound and method.claim == about,
            }
            head |= {"claim": claim, "null": null}
            figures = {name: rate(np.concatenate([getattr(p, name) for p in parts])) for name in FIGURES}
            if planted:
                wrong, right = (
                    np.concatenate([getattr(p, n) for p in parts]) for n in ("wrong_way", "right_way")
                )
                figures["wrong_way"] = ratio(wrong, wrong + right)
            for name, r in figures.items():
                exceeds = r.exceeds(SLACK * alpha) if name in {"raw", "family", "discovery"} else False
                rates.append(
                    head
                    | {"planted": planted, "figure": name, "rate": r.value, "low": r.low, "high": r.high}
                    | {"n": r.n, "exceeds": exceeds}
                )
            for size, found in _by_size([cases[at] for at in members], parts).items():
                r = rate(found)
                power.append(head | {"difference": size, "power": r.value, "low": r.low, "high": r.high})
    return pd.DataFrame(rates), pd.DataFrame(power, columns=POWER)


def _by_size(cases: Sequence[Case], parts: Sequence[Tally]) -> dict[float, Floats]:
    found: dict[float, list[Floats]] = {}
    for case, part in zip(cases, parts, strict=True):
        for g, size in enumerate(Truth.of(case.world.truth).sizes):
            found.setdefault(round(float(size), 10), []).append(part.found[:, g])
    return {size: np.concatenate(found[size]) for size in sorted(found)}


def _words(dims: tuple[str, ...], shape: tuple[int, ...], sd: VarianceComponents, given: bool) -> str:
    sizes = " × ".join(f"{n} {dim}{'s' if n > 1 else ''}" for dim, n in zip(dims, shape, strict=True))
    return f"tables like these scores ({sizes}; {sd})" if given else f"tables of {sizes}; {sd}"
