"""Scenario of bounded scores that keeps near-duplicate systems: margins joined by a truncated C-vine of copulas.

A Gaussian copula whose correlations are drawn towards their mean loses systems that are almost the same. Here every
system is tied to the one that it resembles most. Its first root is the difficulty of a topic, the mean of the normal
scores of all systems; given it, systems hang on one another in the tree of largest partial correlations (a vine of two
levels; Bedford & Cooke 2002, Dißmann et al. 2013). A system is drawn given topic and neighbour from a kernel estimate
of their joint density whose kernels have the shape of the data (Fukunaga 1972): a bundle of topics seen, moved along.

All variables of a kernel estimate have kernel estimates for margins, and these are known. So every score has its
system's margin exactly, and moving the margins plants the truth exactly, as in `bounded`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.rng import make_generator
from shardwise.lab.scenarios.base import axes_of, check_layout
from shardwise.lab.scenarios.copula import normal_scores
from shardwise.lab.scenarios.kernels import draw_quantiles, to_scores
from shardwise.lab.scenarios.margin_fits import Kind, fit_margins
from shardwise.lab.scenarios.margins import Margins, guide_quantiles

LAYOUTS = (("topic", "system"), ("topic", "system", "shard"))
HANDFUL = 6  # columns that are drawn each given all before it
RIDGE = 1e-9  # keeps the covariance of a system and its exact copy invertible


class Vine(NamedTuple):
    """The dependence of C columns (systems, or systems on shards) and of the difficulty, as kernel estimates."""

    scores: Floats  # (T, C + 1) normal scores; the last column is the difficulty of topics
    order: Ints  # columns as they are drawn; the difficulty first, where it is needed
    parents: Ints  # (C + 1, K) the columns that each is drawn given, -1 where there are fewer
    precision: Floats  # (C + 1, K, K) inverse covariance of these
    slope: Floats  # (C + 1, K) of a column on these
    spread: Floats  # (C + 1,) standard deviation that these leave
    width: float  # of the kernels, in standard deviations


@dataclass(frozen=True, slots=True, eq=False)
class VineScenario:
    """Bounded scores with a known truth and near-duplicates; made by `vine_scenario`."""

    means: Floats  # (R,)
    margins: Margins  # of the columns
    vine: Vine
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    cut: Floats
    guide: Ints

    @property
    def name(self) -> str:
        """What is kept, and the claim."""
        return f"vine; {self.claim.short(self.dims)}"

    @property
    def claim(self) -> Claim:
        """Topics are new, shards are these."""
        return Claim("topic")

    @property
    def truth(self) -> Floats:
        """(R,) true system means."""
        return self.means

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """(count, *shape) scores: tables first to first + count - 1."""
        n, c = self.shape[0], self.margins.size
        z = np.empty((count, n * c))
        for k in range(count):
            rng = make_generator(seed, first + k)
            uniform, noise = rng.random((n, c + 1)), rng.standard_normal((n, c + 1))
            z[k] = special.ndtri(draw_quantiles(self.vine, uniform, noise)).ravel()
        to_scores(z, np.tile(np.arange(c), n), self.cut, self.guide, self.margins.low, self.margins.high)
        return z.reshape(count, *self.shape)


def vine_scenario(
    scores: Floats,
    dims: tuple[str, ...] = ("topic", "system"),
    *,
    effects: Floats | None = None,
    topics: int | None = None,
    margins: Kind = "auto",
    mean: float | None = None,
) -> VineScenario:
    """Make a scenario whose tables look like the scores, near-duplicates included, and whose truth is known.

    >>> rng = np.random.default_rng(1)
    >>> first = rng.beta(2, 5, (40, 1))
    >>> twins = np.clip(np.concatenate([first, first + rng.normal(0, .01, (40, 1)), rng.beta(2, 5, (40, 1))], 1), 0, 1)
    >>> y = vine_scenario(twins).draw(0, 200, seed=1)
    >>> np.round([(y[..., 0] - y[..., 1]).std(), (y[..., 0] - y[..., 2]).std()], 2)
    array([0.02, 0.2 ])
    """
    y = np.asarray(scores, dtype=float)
    n = y.shape[0] if topics is None else topics
    shape = (n, *y.shape[1:])
    if dims not in LAYOUTS:
        raise InputError(
            f"a vine is made of scores by topic, system and perhaps shard, not by {', '.join(dims)}",
            remedy="average over the other dimensions",
        )
    check_layout(dims, shape, Claim("topic"))
    shift = np.zeros(y.shape[1]) if effects is None else np.asarray(effects, dtype=float)
    truth = (float(y.mean()) if mean is None else mean) + shift - shift.mean()
    # what shards do to a system is held fixed, so it stays around the system's true mean
    column_means = y.mean(axis=0)
    level = column_means.mean(axis=1, keepdims=True) if column_means.ndim == 2 else column_means
    target = (
        column_means - level + truth.reshape(axes_of(dims[1:], column_means.shape, ("system",)))
    ).ravel()
    columns = y.reshape(len(y), -1)
    distributions = fit_margins(columns, margins).replace_unsuited(target)
    cut, guide = guide_quantiles(
        distributions.cell_probabilities(np.arange(distributions.size), distributions.solve_shifts(target))
    )
    return VineScenario(truth, distributions, vine_of(columns), dims, shape, cut, guide)


def vine_of(columns: Floats) -> Vine:
    """Tie each of (T, C) columns to the one before it that it resembles most, given the difficulty of topics.

    A handful of columns need no such economy: each is drawn given all before it.
    """
    t, c = columns.shape
    z = normal_scores(columns, 1)
    z = np.column_stack([z, normal_scores(z.mean(axis=1, keepdims=True), 1)])
    z = z - z.mean(axis=0)  # ties may leave a mean
    if c <= HANDFUL:
        order = np.arange(c)
        parents = np.where(np.arange(c - 1) < np.arange(c + 1)[:, None], np.arange(c - 1), -1)
    else:
        tree, neighbour = _grow_tree(_partial_correlations(z[:, :c], z[:, c]))
        order = np.append(c, tree)
        parents = np.ascontiguousarray(np.column_stack([np.full(c + 1, c), np.append(neighbour, -1)]))
    parents[c] = -1
    k = parents.shape[1]
    precision, slope, spread = np.zeros((c + 1, k, k)), np.zeros((c + 1, k)), np.ones(c + 1)
    for j in order:
        given = z[:, parents[j][parents[j] >= 0]]
        size = given.shape[1]
        inverse = np.linalg.inv(given.T @ given / t + RIDGE * np.eye(size))
        towards = given.T @ z[:, j] / t
        precision[j, :size, :size], slope[j, :size] = inverse, inverse @ towards
        spread[j] = np.sqrt(max(0.0, 1.0 - slope[j, :size] @ towards))
    # Scott's rate (1992) for as many variables as are looked at together
    return Vine(z, order, parents, precision, slope, spread, t ** (-1.0 / (k + 5.0)))


def _partial_correlations(z: Floats, difficulty: Floats) -> Floats:
    """Return (C, C) correlations of normal scores with the difficulty of topics taken out."""
    r = difficulty @ z / len(z)
    rest = np.sqrt(np.maximum(1.0 - r**2, RIDGE))
    return np.asarray((z.T @ z / len(z) - np.outer(r, r)) / np.outer(rest, rest))


def _grow_tree(weight: Floats) -> tuple[Ints, Ints]:
    """Grow the tree of largest weights, order and parents, from the first column (Prim's algorithm)."""
    c = len(weight)
    parent, nearest = np.full(c, -1), np.zeros(c, dtype=np.int64)
    order = np.zeros(c, dtype=np.int64)
    best, free = weight[0].copy(), np.ones(c, dtype=bool)
    free[0] = False
    for k in range(1, c):
        j = int(np.argmax(np.where(free, best, -np.inf)))
        order[k], parent[j], free[j] = j, nearest[j], False
        nearer = weight[j] > best
        best, nearest = np.where(nearer, weight[j], best), np.where(nearer, j, nearest)
    return order, parent
