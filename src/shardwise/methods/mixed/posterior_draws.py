"""Posterior of expected mean squares: inverse chi-squares that have to keep an order, drawn exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats

PATIENCE = 10  # proposals for each draw wanted, before rejection gives way to weights
PROPOSALS = 2  # for each draw wanted by weights
LEAST = 1e-12  # of a sum of squares, against the largest


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Independent sums of squares, SS_k/φ_k ~ χ²_ν, prior ∏ 1/φ_k, and what must hold: rows · φ ≥ 0."""

    ss: Floats  # (K,)
    df: Floats  # (K,)
    rows: Floats  # (C, K)


def draw_ordered(order: Order, n: int, rng: np.random.Generator) -> Floats:
    """(n, K) draws of φ from the posterior, truncated to the order."""
    kept: list[Floats] = []
    accepted = tried = 0
    while accepted < n and tried <= PATIENCE * n:
        size = max(n, 1000)
        phi = order.ss / rng.chisquare(order.df, size=(size, len(order.ss)))
        phi = phi[(phi @ order.rows.T >= 0.0).all(axis=1)]
        kept.append(phi)
        accepted += len(phi)
        tried += size
    return np.concatenate(kept)[:n] if accepted >= n else draw_weighted(order, n, rng)


def draw_weighted(order: Order, n: int, rng: np.random.Generator) -> Floats:
    """The same for orders that chance hardly ever meets: each line above those below it, and the weight of that.

    φ_k is drawn from its distribution cut off at the bound that the lines below set, and the probability of keeping it
    is the weight of the draw; as many as are wanted are then taken in proportion to their weights.
    """
    size, ss = PROPOSALS * n, np.maximum(order.ss, LEAST * order.ss.max())
    phi, chance = np.zeros((size, len(ss))), np.zeros(size)
    remaining = set(range(len(ss)))
    while remaining:
        above = {k: [row for row in order.rows if row[k] > 0.0] for k in remaining}
        k = next(
            k for k in remaining if not any((row[list(remaining - {k})] != 0.0).any() for row in above[k])
        )
        remaining.remove(k)
        x, half = rng.chisquare(order.df[k], size), order.df[k] / 2.0
        if above[k]:
            low = np.max([-(phi @ row) / row[k] for row in above[k]], axis=0)
            inside = special.gammainc(half, ss[k] / low / 2.0)
            again = x > ss[k] / low
            x[again] = 2.0 * special.gammaincinv(half, inside[again] * rng.random(int(again.sum())))
            chance += np.log(inside)
        phi[:, k] = ss[k] / x
    share = np.cumsum(np.exp(chance - chance.max()))
    return np.asarray(phi[np.searchsorted(share, share[-1] * (np.arange(n) + rng.random()) / n)])
