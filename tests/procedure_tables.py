"""Tables for the tests of procedures, and the package's own answer on each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.methods.names import Procedure, parse_procedure
from shardwise.methods.pairs import Pairs
from shardwise.methods.tables import Dims, Tables
from shardwise.stats.intervals import follow_test

COLUMNS = (
    *("a", "b", "difference", "lower", "upper"),
    *("se", "df", "statistic", "p", "p_adjusted", "effect_size"),
)
"""Columns of a table of pairs."""

ALPHA = 0.1


@dataclass(frozen=True)
class Shown:
    """Decisions with their intervals at one alpha."""

    difference: Floats
    p: Floats
    p_adjusted: Floats
    lower: Floats
    upper: Floats


def decide_all(
    names: Iterable[str | Procedure],
    y: Floats,
    dims: Dims,
    alpha: float = 0.05,
    seed: int = 0,
    first: int = 0,
    n_resamples: int = 99,
) -> list[Shown]:
    """What procedures say of the same tables, which share what is computed of them."""
    batch = Tables(np.asarray(y, float), dims, seed, first, n_resamples)
    return [shown(parse_procedure(name).decide(batch), alpha) for name in names]


def shown(found: Pairs, alpha: float) -> Shown:
    half = found.half_widths(alpha)
    return Shown(
        found.difference, found.single_p, found.p_adjusted, found.difference - half, found.difference + half
    )


def seeds_of(replicates: int, seed: int, first: int) -> list[int]:
    """The seeds that single tables need for the resamples of a batch."""
    return [
        int(np.random.SeedSequence(seed, spawn_key=(first + i,)).generate_state(1)[0])
        for i in range(replicates)
    ]


Answer = tuple[Floats, Floats, Floats, Floats, Floats]  # difference, p, p_adjusted, lower, upper


def tables(seed: int, topics: int, systems: int, third: int, effect: float = 0.03) -> Floats:
    """Five tables: equal systems, planted differences, scores in steps of .1, hardly any interaction, two twins."""
    rng = np.random.default_rng(seed)
    y = 0.4 + rng.normal(0, 0.15, (5, topics, 1, 1)) + rng.normal(0, 0.06, (5, topics, systems, 1))
    y = y + rng.normal(0, 0.08, (5, topics, 1, third)) + rng.normal(0, 0.02, (5, 1, systems, third))
    y[3] = y[3].mean(axis=1, keepdims=True)
    y = y + rng.normal(0, 0.05, (5, topics, systems, third))
    y[1:] += effect * np.arange(systems)[:, None]
    y[2] = np.round(y[2], 1)
    y[4, :, 1] = y[4, :, 0]
    return np.asarray(y)


def labelled(y: Floats, *dims: str) -> xr.DataArray:
    """One table with systems named by their number."""
    names = [str(k) for k in range(y.shape[dims.index("system")])]
    return xr.DataArray(y, dims=dims, coords={"system": names})


def answer(found: Comparisons) -> Answer:
    """Pairs in the order of np.triu_indices, differences with the sign of the first less the second."""
    names = found.estimates.labels
    r = len(names)
    place = {
        (int(names[a]), int(names[b])): k for k, (a, b) in enumerate(zip(found.ia, found.ib, strict=True))
    }
    try:
        frame = found.intervals(1.0 - ALPHA, kind="difference")
        lower, upper = frame["lower"].to_numpy(), frame["upper"].to_numpy()
    except InputError:
        lower = upper = np.full(len(found), np.nan)
    rows = []
    for a, b in zip(*np.triu_indices(r, 1), strict=True):
        as_is = (a, b) in place
        k = place[(a, b) if as_is else (b, a)]
        d, low, high = found.difference[k], lower[k], upper[k]
        rows.append((d, found.p[k], found.p_adjusted[k], *((low, high) if as_is else (-high, -low))))
        if not as_is:
            rows[-1] = (-d, *rows[-1][1:])
    return tuple(np.array(rows, dtype=float).T)  # type: ignore[return-value]


def assert_same(decisions: Any, expected: list[Answer], atol: float = 1e-8) -> None:
    """Every table's five figures; 1e-8 is what the interpolated studentized range and two ways of summing leave."""
    names = ("difference", "p", "p_adjusted", "lower", "upper")
    # intervals of results say of 0 what the test says
    limits = follow_test(
        (decisions.lower, decisions.upper), decisions.difference, decisions.p_adjusted <= ALPHA
    )
    figures = {name: getattr(decisions, name) for name in names} | dict(zip(names[3:], limits, strict=True))
    for k, name in enumerate(names):
        wanted = np.stack([one[k] for one in expected])
        # where nothing varies, results know the range of scores, which decisions do not
        silent = np.isnan(figures[name]) if name in ("lower", "upper") else np.zeros(wanted.shape, bool)
        wanted = np.where(silent, np.nan, wanted)
        np.testing.assert_allclose(figures[name], wanted, rtol=1e-7, atol=atol, err_msg=name)


def each(y: Floats, make: Callable[[int, Floats], Comparisons]) -> list[Answer]:
    """The package's answer on every table of a batch."""
    return [answer(make(i, table)) for i, table in enumerate(y)]
