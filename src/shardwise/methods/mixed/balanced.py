"""Mixed models of complete tables in closed form: four mean squares say all.

Scores y[system l, instance m, topic n] = γ + s_l + i_m + t_n + (st)_ln + ε (J15 eq. 9), L × M × N, systems fixed. All
functions take any number of leading axes, so that thousands of tables are fitted at once.

Posterior of expected mean squares: inverse chi-squares that have to keep an order, drawn exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats, Ints

Design = Literal["nested", "crossed"]
DIMENSIONS = ("system", "instance", "topic")
T, ST, IN, E = range(4)  # the lines: topic, system:topic, instance, residual
EDGES = ((T, ST), (ST, E), (IN, E))  # φ of the first is at least that of the second
PARTITIONS = tuple(
    tuple(edge for edge, pooled in zip(EDGES, choice, strict=True) if pooled)
    for choice in product((False, True), repeat=len(EDGES))
)


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Sums of squares of topic, system:topic, instance, residual with their degrees of freedom; system means."""

    design: Design
    shape: tuple[int, int, int]  # L, M, N
    ss: Floats  # (..., 4)
    df: Floats  # (4,)
    means: Floats  # (..., L)

    @property
    def ms(self) -> Floats:
        """Mean squares."""
        return np.asarray(self.ss / self.df)


@dataclass(frozen=True, slots=True, eq=False)
class BalancedFit:
    """Restricted maximum likelihood of the lines: expected mean squares φ, none of them out of order."""

    lines: Lines
    phi: Floats  # (..., 4)
    block: Ints  # (..., 4) lines with the same number were pooled, as a variance would have been negative

    @property
    def components(self) -> Floats:
        """(..., 4) variances of topic, system:topic, instance, residual."""
        l, m, n = self.lines.shape  # noqa: E741
        phi = self.phi
        per_instance = n if self.lines.design == "nested" else l * n
        parts = (
            (phi[..., T] - phi[..., ST]) / (l * m),
            (phi[..., ST] - phi[..., E]) / m,
            (phi[..., IN] - phi[..., E]) / per_instance,
            phi[..., E],
        )
        return np.stack(parts, axis=-1)

    @property
    def log_likelihood(self) -> Floats:
        """REML: -2 log L = Σ ν (log φ + MS/φ) + L log(MN) + (LMN - L) log 2π, systems coded by treatment."""
        l, m, n = self.lines.shape  # noqa: E741
        fixed = l * np.log(m * n) + (l * m * n - l) * np.log(2 * np.pi)
        spread = (self.lines.df * (np.log(self.phi) + self.lines.ms / self.phi)).sum(axis=-1)
        return np.asarray(-0.5 * (spread + fixed))

    @property
    def difference_variance(self) -> Floats:
        """(...,) variance of the difference of two systems."""
        _, m, n = self.lines.shape
        return np.asarray(2.0 / (m * n) * (count_weights(self.lines.design) * self.phi).sum(axis=-1))

    def satterthwaite(self) -> Floats:
        """(...,) df of a difference: (Σwφ)² / Σ over blocks of (w φ)²/ν, pooled lines being one block."""
        w = count_weights(self.lines.design)
        spread = np.zeros(self.phi.shape[:-1])
        for number in range(4):
            inside = self.block == number
            weight = (w * inside).sum(axis=-1)
            df = (self.lines.df * inside).sum(axis=-1)
            phi = np.where(inside, self.phi, 0.0).max(axis=-1)
            spread += np.where(df > 0, (weight * phi) ** 2 / np.where(df > 0, df, 1.0), 0.0)
        return np.asarray((w * self.phi).sum(axis=-1) ** 2 / spread)

    def kenward_roger(self) -> Floats:
        """(...,) df of a difference as if no line had been pooled; sober where Satterthwaite's explodes."""
        w = count_weights(self.lines.design)
        spread = ((w * self.phi) ** 2 / self.lines.df).sum(axis=-1)
        return np.asarray((w * self.phi).sum(axis=-1) ** 2 / spread)


def count_weights(design: Design) -> Floats:
    """How often each φ counts in the variance of a difference, in units of Σc²/(MN).

    Shared (crossed) instances cancel from a difference, own (nested) ones do not.
    """
    return np.array([0.0, 1.0, 1.0, -1.0] if design == "nested" else [0.0, 1.0, 0.0, 0.0])


def split_lines(y: Floats, design: Design) -> Lines:
    """Split (..., L, M, N) scores into the four lines of the analysis of variance.

    >>> y = np.arange(12.0).reshape(2, 2, 3) ** 1.5
    >>> found = split_lines(y, "nested")
    >>> bool(np.isclose(found.ss.sum() + 6 * found.means.var() * 2, ((y - y.mean()) ** 2).sum()))
    True
    """
    *_, l, m, n = y.shape  # noqa: E741
    grand = y.mean(axis=(-3, -2, -1))
    system = y.mean(axis=(-2, -1))
    topic = y.mean(axis=(-3, -2))
    cell = y.mean(axis=-2)
    ss_t = l * m * ((topic - grand[..., None]) ** 2).sum(axis=-1)
    inter = cell - system[..., :, None] - topic[..., None, :] + grand[..., None, None]
    ss_st = m * (inter**2).sum(axis=(-2, -1))
    if design == "nested":
        cell_means = y.mean(axis=-1)
        ss_i = n * ((cell_means - system[..., None]) ** 2).sum(axis=(-2, -1))
        rest = y - cell[..., None, :] - cell_means[..., None] + system[..., None, None]
        df = [n - 1, (l - 1) * (n - 1), l * (m - 1), l * (m - 1) * (n - 1)]
    else:
        shared = y.mean(axis=(-3, -1))
        ss_i = l * n * ((shared - grand[..., None]) ** 2).sum(axis=-1)
        rest = y - cell[..., None, :] - (shared - grand[..., None])[..., None, :, None]
        df = [n - 1, (l - 1) * (n - 1), m - 1, (m - 1) * (l * n - 1)]
    ss = np.stack((ss_t, ss_st, ss_i, (rest**2).sum(axis=(-3, -2, -1))), axis=-1)
    return Lines(design, (l, m, n), ss, np.array(df, dtype=float), system)


def restricted_maximum(lines: Lines) -> BalancedFit:
    """Maximise the restricted likelihood under non-negative variances.

    That is the df-weighted isotonic regression of the mean squares on the tree T ≥ ST ≥ E, I ≥ E (Thompson 1962). With
    three edges there are eight ways to pool; of those whose blocks are in order, the nearest one is the maximum.
    """
    ms, df = lines.ms, lines.df
    best = np.full(ms.shape[:-1], np.inf)
    phi, block = np.zeros_like(ms), np.zeros(ms.shape, dtype=np.int64)
    for pooled in PARTITIONS:
        number = _number_blocks(pooled)
        level = np.empty_like(ms)
        for k in set(number.tolist()):
            inside = number == k
            level[..., inside] = (lines.ss[..., inside].sum(axis=-1) / df[inside].sum())[..., None]
        in_order = np.all([level[..., up] >= level[..., down] for up, down in EDGES], axis=0)
        distance = np.where(in_order, (df * (ms - level) ** 2).sum(axis=-1), np.inf)
        better = distance < best
        best = np.where(better, distance, best)
        phi = np.where(better[..., None], level, phi)
        block = np.where(better[..., None], number, block)
    return BalancedFit(lines, phi, block)


def _number_blocks(pooled: tuple[tuple[int, int], ...]) -> Ints:
    """Number of the block that each line falls into when these edges are pooled."""
    number = np.arange(4)
    for up, down in pooled:
        number[number == number[up]] = number[down]
    return number


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
