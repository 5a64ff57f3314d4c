"""Does it hold on other topics? Decisions on one half of the data verified on the other (F19 §10, future work)."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core import late
from shardwise.core.arguments import Progress, map_parallel
from shardwise.core.arguments import count_workers as workers_of
from shardwise.core.arguments import validate_level as level_of
from shardwise.core.arrays import Floats, make_generator
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.scores import as_scores, layout_of, level_names, nouns_of
from shardwise.core.shown import Shown
from shardwise.lab.calibrate import parse_methods
from shardwise.lab.holdout.plan import FIGURES, HoldoutPlan, Tally, add_tallies, build_tables, join_tallies
from shardwise.methods.anova.variance_components import complete_table
from shardwise.methods.names import Procedure, parse_procedure

CHUNK = 200_000  # pairs × repeats in memory at once, for each worker

ScoreTable = xr.DataArray | xr.Dataset | pd.DataFrame


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PredictiveCheck(Shown):
    """How well what was decided on one sample of topics holds on another.

    ``table`` has one row a procedure: of all pairs the share on which both samples decide alike (``agreement``); of the
    pairs found the share found again in the same direction, with means in the opposite order on the other sample
    (``reversal``), found there in the opposite direction; the reversals that its claim predicts; the share of
    differences inside the prediction interval, of all pairs and of those found; and the Brier score of the predicted
    reversals of all pairs (0 is perfect, .25 a coin). ``curve`` has predicted against observed reversals, one row for
    each kind of prediction and bin. ``repeats`` has the figures of every repeat.
    """

    table: pd.DataFrame
    curve: pd.DataFrame
    repeats: pd.DataFrame
    setting: str  # what was decided where, in words
    alpha: float
    level: float

    @property
    def spread(self) -> pd.DataFrame:
        """Standard deviation of each figure between repeats; no standard error, as repeats share their topics."""
        keys = list(self.table.index.names)
        asked = [name for name in FIGURES if name in self.repeats]
        return self.repeats.groupby(keys, sort=False)[asked].std(ddof=1)

    def plot(self) -> Any:
        """Draw predicted against observed reversals, and what each procedure finds and loses.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self)

    def __repr__(self) -> str:
        return f"<PredictiveCheck of {len(self.table)} rows: {self.setting}>"

    def __str__(self) -> str:
        text: str = late.call_bound("holdout_text", self)
        return text


def split_half(
    scores: ScoreTable,
    procedures: str | Procedure | Iterable[str | Procedure] | None = None,
    *,
    over: Literal["topic", "shard"] = "topic",
    reference: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    repeats: int = 50,
    seed: int = 0,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> PredictiveCheck:
    """Halve the topics at random, decide all pairs on each half, and verify on the other.

    Topics keep all their shards, instances and splits.

    Parameters
    ----------
    scores : DataArray, Dataset or DataFrame
        Any table that `as_scores` takes, complete.
    procedures : str, Procedure or iterable of str, optional
        Procedures or their names, one or several; the usual ones for the layout, if None.
    over : {"topic", "shard"}
        "topic"; or "shard", which halves the shards instead, all topics being in both halves.
    reference : str, optional
        One of the procedures: what the others find beyond it is counted as ``extra``, with the share of these in the
        opposite order.
    alpha : float
        Level to decide at.
    level : float
        Probability of the prediction intervals.
    repeats : int
        How many times to halve.
    seed : int
        Where the random numbers start; repeat i depends on (seed, i) only.
    jobs : int, optional
        Number of threads; all processors, if None.
    executor : Executor, optional
        Where the halves are decided instead: any executor of ``concurrent.futures``; the figures are the same.
    progress : callable, optional
        Called with (repeats done, repeats in all).

    Returns
    -------
    PredictiveCheck
        How often decisions on one half hold on the other.

    >>> rng = np.random.default_rng(1)
    >>> values = rng.normal(0.3, 0.1, (40, 1)) + rng.normal([0.0, 0.01, 0.2, 0.4], 0.05, (40, 4))
    >>> scores = xr.DataArray(values, dims=("topic", "system"))
    >>> split_half(scores, ["t holm"], repeats=10).table[["found", "found_again", "reversal"]].round(2)
            found  found_again  reversal
    procedure...
    t holm    5.2         0.96      0.04
    """
    y, dims = _check_scores(scores)
    level_of(alpha)
    level_of(level, "level")
    if repeats < 1 or seed < 0:
        raise InputError((Option("repeats"), " must be at least 1 and ", Option("seed"), " at least 0"))
    n = _count_levels(dims, y, over)
    r = y.shape[dims.index("system")]
    pairs = r * (r - 1) // 2
    chosen, strict = _choose_procedures(procedures, dims, reference)
    plan = HoldoutPlan(dims, chosen, frozenset((over,)), alpha, level, seed, strict)
    axis = dims.index(over)
    workers = workers_of(jobs)
    per = max(1, min(-(-repeats // workers), CHUNK // pairs))

    limits = import_module("threadpoolctl").threadpool_limits  # two threads in each worker are slower
    with limits(1, "blas"):
        chunks = map_parallel(
            partial(_decide_halves, plan, y, axis, repeats, per),
            range(0, repeats, per),
            jobs=jobs,
            executor=executor,
            progress=progress,
            steps=lambda first: min(per, repeats - first),
        )
        results = list(chunks)
    forth, back = (join_tallies([result[k] for result in results]) for k in (0, 1))
    sizes = " and ".join(str(k) for k in dict.fromkeys((n // 2, n - n // 2)))
    nouns = nouns_of(as_scores(scores))
    setting = (
        f"{n} {pluralize_noun(nouns.get(over, over))} halved at random {repeats} times ({sizes} a half):"
        f" {pairs} pairs of"
        f" {format_count(r, nouns.get('system', 'system'))} decided on"
        f" each half at {alpha:g}, verified on the other"
    )
    return PredictiveCheck(*build_tables(plan, {"": add_tallies(forth, back)}, 2), setting, alpha, level)


def _decide_halves(
    plan: HoldoutPlan, y: Floats, axis: int, repeats: int, per: int, first: int
) -> tuple[Tally, Tally]:
    """Decide halves first, first + 1, … and verify each on the other."""
    n = y.shape[axis]
    orders = [make_generator(plan.seed, i).permutation(n) for i in range(first, min(first + per, repeats))]
    a, b = (
        np.stack([y.take(np.sort(order[part]), axis=axis) for order in orders])
        for part in (slice(n // 2), slice(n // 2, None))
    )
    return plan.both_ways(a, b, first)


def across_collections(
    a: ScoreTable,
    b: ScoreTable,
    procedures: str | Procedure | Iterable[str | Procedure] | None = None,
    *,
    reference: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
    names: tuple[str, str] = ("a", "b"),
) -> PredictiveCheck:
    """Decide all pairs of the systems that two score sets have in common on one set, and verify on the other.

    Systems are matched by name. Everything is new in the other set, topics and shards. ``table`` has two rows a
    procedure, one for each set decided on.

    Parameters
    ----------
    a, b : DataArray, Dataset or DataFrame
        Tables that `as_scores` takes, complete; of the same dimensions, not of the same sizes.
    procedures : str, Procedure or iterable of str, optional
        As for `split_half`.
    reference : str, optional
        As for `split_half`.
    alpha, level : float
        As for `split_half`.
    seed : int
        Where the random numbers of procedures that draw start.
    names : tuple of str
        What the two sets are called.

    Returns
    -------
    PredictiveCheck
        How often decisions on one set hold on the other.

    >>> rng = np.random.default_rng(1)
    >>> means = {"system": ["bm25", "qld", "random"]}
    >>> old, new = (xr.DataArray(rng.normal([.3, .3, .1], .1, (n, 3)), means, ("topic", "system")) for n in (30, 50))
    >>> across_collections(old, new, ["t holm"], names=("old", "new")).table[["found", "found_again", "reversal"]]
                          found  found_again  reversal
    procedure decided_on
    t holm    old           2.0          1.0       0.0
              new           2.0          1.0       0.0
    """
    level_of(alpha)
    level_of(level, "level")
    if names[0] == names[1] or not all(names):
        raise InputError(
            f"the score sets are called {names[0]!r} and {names[1]!r}", remedy="give them different names"
        )
    first, second, common = _match_systems(a, b, names)
    (y, dims), (z, _) = _check_scores(first), _check_scores(second)
    chosen, strict = _choose_procedures(procedures, dims, reference)
    plan = HoldoutPlan(dims, chosen, frozenset(("topic", "shard")), alpha, level, seed, strict)
    forth, back = plan.both_ways(y[None], z[None], 0)
    size = [dict(zip(dims, scores.shape, strict=True))["topic"] for scores in (y, z)]
    setting = (
        f"{len(common) * (len(common) - 1) // 2} pairs of the {len(common)} systems in both {names[0]}"
        f" ({size[0]} topics) and {names[1]} ({size[1]} topics) decided on each at {alpha:g}, verified on the other"
    )
    return PredictiveCheck(
        *build_tables(plan, dict(zip(names, (forth, back), strict=True)), 1), setting, alpha, level
    )


def _check_scores(scores: ScoreTable) -> tuple[Floats, tuple[str, ...]]:
    """Return a complete array in the package's order of dimensions, and that order."""
    array, y = complete_table(scores)
    return y, layout_of(array)


def _count_levels(dims: tuple[str, ...], y: Floats, over: str) -> int:
    """Count what is halved, enough for two halves that can be judged."""
    if over not in ("topic", "shard"):
        raise InputError(
            (Option("over", over), ": only topics and shards are halved"), remedy="write topic or shard"
        )
    if over not in dims:
        raise InputError(f"the scores have {', '.join(dims)}, no shards to halve", remedy="score on shards")
    if over == "shard" and "split" in dims:
        raise InputError(
            "half of the shards of one split hold documents of both halves of another",
            remedy=("choose one split", Either(", as in scores.isel(split=0)", "")),
        )
    n: int = y.shape[dims.index(over)]
    if n < 4:
        raise InputError(
            f"{n} {pluralize_noun(over)} cannot be halved into twos", remedy="give at least four"
        )
    return n


def _choose_procedures(
    wanted: str | Procedure | Iterable[str | Procedure] | None, dims: tuple[str, ...], reference: str | None
) -> tuple[tuple[Procedure, ...], int | None]:
    """Choose the procedures asked for, or the default ones of the layout, and the position of the reference."""
    example = Either('["t holm", "MD1 hsd"]', "--method 't holm'")
    chosen = parse_methods(wanted, dims, "no procedure to check", example)
    if reference is None:
        return tuple(chosen.values()), None
    strict = parse_procedure(reference).name if reference not in chosen else reference
    if strict not in chosen:
        raise InputError(f"the reference {strict!r} is not checked", remedy="name it among the procedures")
    return tuple(chosen.values()), list(chosen).index(strict)


def _match_systems(
    a: ScoreTable, b: ScoreTable, names: tuple[str, str]
) -> tuple[xr.DataArray, xr.DataArray, list[str]]:
    """Return both score sets with the systems that they share, in the order of the first."""
    first, second = as_scores(a), as_scores(b)
    layouts = [layout_of(table) for table in (first, second)]
    if layouts[0] != layouts[1]:
        raise InputError(
            f"{names[0]} has {', '.join(layouts[0])} and {names[1]} {', '.join(layouts[1])}",
            remedy="give both the same dimensions, as by averaging over shards",
        )
    labels = []
    for table, name in zip((first, second), names, strict=True):
        if "system" not in table.coords:
            raise InputError(f"the systems of {name} have no names", remedy="matching systems takes names")
        names_of_systems = level_names(table, "system")
        if len(set(names_of_systems)) < len(names_of_systems):
            twice = next(label for label in names_of_systems if names_of_systems.count(label) > 1)
            raise InputError(f"two systems of {name} are called {twice!r}", remedy="give each its own name")
        labels.append(names_of_systems)
    common = [label for label in labels[0] if label in set(labels[1])]
    if len(common) < 2:
        shown = " against ".join(
            ", ".join(names_of_systems[:3]) + ", …" * (len(names_of_systems) > 3)
            for names_of_systems in labels
        )
        raise InputError(
            f"{names[0]} and {names[1]} have {len(common) or 'no'} system{'s' * (len(common) != 1)} of the same name"
            f" ({shown})",
            remedy=(
                "rename the systems that are the same",
                Either(", as by scores.assign_coords(system=[...])", ""),
                "; two are needed",
            ),
        )
    picked = [
        table.isel(system=[names_of_systems.index(label) for label in common])
        for table, names_of_systems in zip((first, second), labels, strict=True)
    ]
    return picked[0], picked[1], common
