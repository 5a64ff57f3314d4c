"""Posterior of expected mean squares: inverse chi-squares that have to keep an order, drawn exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats

PATIENCE = 40  # proposals for each draw wanted, before rejection gives way to Gibbs steps
BURN_IN, THIN = 60, 6


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Independent sums of squares, SS_k/φ_k ~ χ²_ν, prior ∏ 1/φ_k, and what must hold: rows · φ ≥ 0."""

    ss: Floats  # (K,)
    df: Floats  # (K,)
    rows: Floats  # (C, K)


def draw(order: Order, n: int, rng: np.random.Generator) -> Floats:
    """(n, K) draws of φ from the posterior, truncated to the order."""
    kept: list[Floats] = []
    found = tried = 0
    while found < n and tried <= PATIENCE * n:
        size = max(n, 1000)
        phi = order.ss / rng.chisquare(order.df, size=(size, len(order.ss)))
        phi = phi[(phi @ order.rows.T >= 0.0).all(axis=1)]
        kept.append(phi)
        found += len(phi)
        tried += size
    return np.concatenate(kept)[:n] if found >= n else gibbs(order, n, rng)


def gibbs(order: Order, n: int, rng: np.random.Generator) -> Floats:
    """The same by Gibbs steps on many chains at once, for orders that chance hardly ever meets."""
    chains = min(n, 1000)
    phi = np.tile(_feasible(order), (chains, 1))
    kept: list[Floats] = []
    sweep = 0
    while len(kept) * chains < n:
        for k in range(len(order.ss)):
            low, high = _bounds(order.rows, phi, k)
            x = _chi_square_between(
                order.df[k], order.ss[k] / high, order.ss[k] / np.maximum(low, 1e-300), rng
            )
            phi[:, k] = np.clip(order.ss[k] / x, low, high)
        sweep += 1
        if sweep > BURN_IN and sweep % THIN == 0:
            kept.append(phi.copy())
    return np.concatenate(kept)[:n]


def _feasible(order: Order) -> Floats:
    """A point inside the order: lines that are subtracted somewhere are made small enough."""
    phi = order.ss / order.df
    for _ in range(200):
        broken = order.rows @ phi < 0.0
        if not broken.any():
            return phi
        down = (order.rows[broken] < 0.0).any(axis=0)
        up = (order.rows[broken] > 0.0).any(axis=0)
        phi = np.where(down & ~up, 0.9 * phi, np.where(up & ~down, 1.1 * phi, phi))
    return phi


def _bounds(rows: Floats, phi: Floats, k: int) -> tuple[Floats, Floats]:
    """Where φ_k may lie, given the others."""
    low, high = np.zeros(len(phi)), np.full(len(phi), np.inf)
    for row in rows:
        if row[k] == 0.0:
            continue
        edge = -(phi @ row - row[k] * phi[:, k]) / row[k]
        if row[k] > 0.0:
            low = np.maximum(low, edge)
        else:
            high = np.minimum(high, edge)
    return low, np.maximum(high, low)


def _chi_square_between(df: float, low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
    """χ² draws between two bounds, by the tail in which they lie."""
    half, u = df / 2.0, rng.random(len(low))
    right = low > df
    p = special.gammainc(half, low / 2.0), special.gammainc(half, high / 2.0)
    q = special.gammaincc(half, low / 2.0), special.gammaincc(half, high / 2.0)
    left_draw = special.gammaincinv(half, p[0] + u * (p[1] - p[0]))
    right_draw = special.gammainccinv(half, q[1] + u * (q[0] - q[1]))
    return np.maximum(2.0 * np.where(right, right_draw, left_draw), 1e-300)
