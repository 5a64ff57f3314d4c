"""Scenarios of bounded scores: y = quantile of the system's margin at Φ(z), z has the dependence.

With a Gaussian copula, z is a sum of normal effects of topic, topic:system, topic:shard, ... with total variance 1, so
that every score has its system's margin exactly. For topic × system scores z may instead have any correlation between
systems. With a truncated C-vine of copulas, near-duplicate systems are kept too.

A Gaussian copula whose correlations are drawn towards their mean loses systems that are almost the same. Here every
system is tied to the one that it resembles most. Its first root is the difficulty of a topic, the mean of the normal
scores of all systems; given it, systems hang on one another in the tree of largest partial correlations (a vine of two
levels; Bedford & Cooke 2002, Dißmann et al. 2013). A system is drawn given topic and neighbour from a kernel estimate
of their joint density whose kernels have the shape of the data (Fukunaga 1972): a bundle of topics seen, moved along.

All variables of a kernel estimate have kernel estimates for margins, and these are known. So every score has its
system's margin exactly, and moving the margins plants the truth exactly, as with the copula.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.sparse import csgraph

from shardwise.core.arrays import Bools, Floats, Ints, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.scenarios.base import (
    OWN,
    Scenario,
    axes_of,
    check_layout,
    draw_effects,
    effects_of,
    inside_of,
)
from shardwise.lab.scenarios.kernels import draw_quantiles, to_scores
from shardwise.lab.scenarios.margins import Margins, Tails, expected_given, fit_margins
from shardwise.stats.shape import mean_ranks

HERMITE = 30  # terms of the expansion that relates correlations of scores to those of z
LAYOUTS = (("topic", "system"), ("topic", "system", "shard"))
HANDFUL = 6  # columns that are drawn each given all before it
RIDGE = 1e-9  # keeps the covariance of a system and its exact copy invertible


def margins_scenario(
    means: Floats,
    margins: Margins,
    latent: VarianceComponents,
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    claim: Claim,
    *,
    root: Floats | None = None,
    deterministic: Bools | None = None,
    seed: int = 0,
) -> Scenario:
    """Move each margin until the system's mean is exactly the truth that the claim is about.

    Where topics, shards or instances are held fixed, their effects on z are drawn once, from the seed, and the mean
    that has to be right is the average over these levels of the expected score given their effects.
    """
    check_layout(dims, shape, claim)
    # shares of the variance of a score given its system, which add up to 1
    latent = latent.only(effects_of(dims))
    total = sum(latent.values())
    if not total > 0:
        raise InputError("all standard deviations are 0", remedy="give one of topic, topic:system or error")
    latent = replace(latent, variances={name: value / total for name, value in latent.items()})
    if deterministic is not None and "instance" not in dims:
        raise InputError("deterministic systems need instances", remedy="say how many the others have")
    if deterministic is not None and deterministic.any() and not _calm_share(latent) > 1e-12:
        raise InputError(
            "a deterministic system would have the same score on all topics",
            remedy="give topic or topic:system a standard deviation",
        )
    margins = margins.replace_unsuited(means)
    fresh = _list_fresh_effects(dims, claim)
    fixed = np.zeros((1,) * len(dims))
    if root is None:
        kept = latent.only(name for name in effects_of(dims) if name not in fresh)
        # a seed for what is drawn once, which no table's draws share
        once = int(np.random.SeedSequence(seed, spawn_key=(0, 0)).generate_state(1, np.uint64)[0])
        for effect, part in draw_effects(kept, dims, shape, 0, 1, once).items():
            fixed = fixed + _calm_deterministic(effect, part, latent, deterministic)[0]
    # the shards of each split are others, so that each split needs margins of its own to be right about its shards
    groups = ("split", "system") if "shard" not in claim else ("system",)
    layout = axes_of(dims, shape, groups)
    system = np.arange(shape[dims.index("system")]).reshape(axes_of(dims, shape, ("system",)))
    owner = np.broadcast_to(system, layout).ravel()
    owner_margins = margins.select_systems(owner)
    if np.any(fixed):
        w = np.broadcast_to(fixed, np.broadcast_shapes(fixed.shape, layout))
        front = [dims.index(dim) for dim in groups if dim in dims]
        w = np.moveaxis(w, front, range(len(front))).reshape(len(owner), -1)
        # standard deviations of what is drawn anew of z
        drawn_anew = latent.only(fresh)
        variance = np.full(system.size, sum(drawn_anew.values()))
        if deterministic is not None:
            calm = sum(v for name, v in drawn_anew.items() if name not in OWN)
            variance[deterministic] = calm / _calm_share(latent)
        tails = Tails.from_latent(w, np.sqrt(variance)[owner])
        shift = owner_margins.solve_shifts(
            means[owner],
            lambda rows, shift: expected_given(
                owner_margins.cell_probabilities(rows, shift), owner_margins, rows, tails
            ),
        )
    else:
        shift = owner_margins.solve_shifts(means[owner])
    cut, guide = owner_margins.guide(shift)
    row = np.broadcast_to(np.arange(owner_margins.size).reshape(layout), shape).ravel()
    facts = {
        "margins": margins,
        "latent": latent,
        "deterministic": deterministic,
        "fixed": fixed,
        "root": root,
    }
    facts |= {"row": row, "cut": cut, "guide": guide}
    kind = " and ".join(sorted(set(margins.family))) + " margins"
    return Scenario(kind, dims, shape, claim, means, _draw_margins, facts)


def _draw_margins(scenario: Scenario, first: int, count: int, seed: int) -> Floats:
    """(count, *shape) quantiles of the margins at normal z of correlated systems, or of the sum of effects."""
    facts = scenario.facts
    z = np.empty((count, *scenario.shape))
    if facts["root"] is not None:
        for i in range(count):
            make_generator(seed, first + i).standard_normal(scenario.shape, out=z[i])
        z = z @ facts["root"].T
    else:
        z[:] = facts["fixed"]
        fresh = facts["latent"].only(_list_fresh_effects(scenario.dims, scenario.claim))
        drawn = draw_effects(fresh, scenario.dims, scenario.shape, first, count, seed)
        for effect, part in drawn.items():
            z += _calm_deterministic(effect, part, facts["latent"], facts["deterministic"])
    flat = np.ascontiguousarray(z.reshape(count, -1))
    margins = facts["margins"]
    to_scores(flat, facts["row"], facts["cut"], facts["guide"], margins.low, margins.high)
    return flat.reshape(count, *scenario.shape)


def _list_fresh_effects(dims: tuple[str, ...], claim: Claim) -> tuple[str, ...]:
    """List effects drawn anew for each table: the error, and what involves a dimension the claim generalises over."""
    return (*(name for name in effects_of(dims) if set(inside_of(name)) & set(claim)), "error")


def _calm_share(latent: VarianceComponents) -> float:
    return 1.0 - sum(latent.variance(name) for name in OWN)


def _calm_deterministic(
    effect: str, part: Floats, latent: VarianceComponents, deterministic: Bools | None
) -> Floats:
    """Adjust an effect on z: deterministic systems have neither instances nor error but the same variance 1."""
    if deterministic is None:
        return part
    factor = 0.0 if effect in OWN else 1.0 / np.sqrt(_calm_share(latent))
    return np.asarray(part * np.where(deterministic, factor, 1.0)[:, None])


def normal_scores(y: Floats, system: int) -> Floats:
    """Scores turned into normal scores, each system for itself; ties share the middle rank."""
    table = np.moveaxis(y, system, -1)
    rank = np.apply_along_axis(mean_ranks, 0, table.reshape(-1, table.shape[-1]))
    z = special.ndtri((rank - 0.5) / len(rank))
    deviation = z.std(axis=0)
    # a system with one score everywhere has normal scores of 0
    scaled = z / np.where(deviation > 0.0, deviation, 1.0)
    return np.moveaxis(np.asarray(scaled).reshape(table.shape), -1, system)


def correlation_root(y: Floats, margins: Margins) -> Floats:
    """(R, R) factor of the correlation of z that gives scores with these margins the correlation of (T, R) scores.

    With few topics correlations are noise in part, so they are drawn towards their mean first (Schäfer &
    Strimmer 2005).
    A correlation ρ of z becomes Σ c_a c_b ρ^k for scores, with c the Hermite coefficients of the quantile functions.
    """
    n, r = y.shape
    z = (y - y.mean(axis=0)) / y.std(axis=0)
    correlation = z.T @ z / n
    noise = (1.0 - correlation**2) ** 2 / (n - 1.0)  # sampling variance of a correlation of normal variables
    above = np.triu_indices(r, 1)
    centre = float(correlation[above].mean())
    spread = float(((correlation[above] - centre) ** 2).sum())
    weight = min(1.0, float(noise[above].sum()) / spread) if spread > 0 else 1.0
    target = (1.0 - weight) * correlation + weight * centre
    np.fill_diagonal(target, 1.0)
    coefficients = hermite_coefficients(margins)
    low, high = np.full(target.shape, -0.9999), np.full(target.shape, 0.9999)
    for _ in range(50):
        middle = (low + high) / 2.0
        value = np.zeros_like(target)
        for k in range(HERMITE, 0, -1):
            value = (value + np.outer(coefficients[:, k], coefficients[:, k])) * middle
        low, high = np.where(value < target, middle, low), np.where(value < target, high, middle)
    latent = (low + high) / 2.0
    np.fill_diagonal(latent, 1.0)
    values, vectors = np.linalg.eigh(latent)
    root = vectors * np.sqrt(np.maximum(values, 1e-9))
    return np.asarray(root / np.sqrt((root**2).sum(axis=1, keepdims=True)))


def hermite_coefficients(margins: Margins) -> Floats:
    """(R, HERMITE + 1) coefficients of the standardised quantile functions in normalised Hermite polynomials."""
    z = np.linspace(-8.0, 8.0, 4001)
    rows = np.arange(margins.size)
    cut, guide = margins.guide(np.zeros(margins.size))
    y = np.tile(z, (margins.size, 1)).T.copy()
    to_scores(y, rows, cut, guide, margins.low, margins.high)
    weight = np.exp(-(z**2) / 2.0)
    weight /= weight.sum()
    y = y - weight @ y
    basis = np.empty((HERMITE + 1, len(z)))
    basis[0], basis[1] = 1.0, z
    for k in range(1, HERMITE):
        basis[k + 1] = (z * basis[k] - np.sqrt(k) * basis[k - 1]) / np.sqrt(k + 1.0)
    coefficients = np.asarray((basis * weight) @ y).T
    return coefficients / np.sqrt(weight @ y**2)[:, None]


class Vine(NamedTuple):
    """The dependence of C columns (systems, or systems on shards) and of the difficulty, as kernel estimates."""

    scores: Floats  # (T, C + 1) normal scores; the last column is the difficulty of topics
    order: Ints  # columns as they are drawn; the difficulty first, where it is needed
    parents: Ints  # (C + 1, K) the columns that each is drawn given, -1 where there are fewer
    precision: Floats  # (C + 1, K, K) inverse covariance of these
    slope: Floats  # (C + 1, K) of a column on these
    spread: Floats  # (C + 1,) standard deviation that these leave
    width: float  # of the kernels, in standard deviations


def vine_scenario(
    scores: Floats,
    dims: tuple[str, ...] = ("topic", "system"),
    *,
    effects: Floats | None = None,
    topics: int | None = None,
) -> Scenario:
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
    truth = float(y.mean()) + shift - shift.mean()
    # what shards do to a system is held fixed, so it stays around the system's true mean
    column_means = y.mean(axis=0)
    level = column_means.mean(axis=1, keepdims=True) if column_means.ndim == 2 else column_means
    target = (
        column_means - level + truth.reshape(axes_of(dims[1:], column_means.shape, ("system",)))
    ).ravel()
    columns = y.reshape(len(y), -1)
    distributions = fit_margins(columns, "auto").replace_unsuited(target)
    cut, guide = distributions.guide(distributions.solve_shifts(target))
    facts = {"margins": distributions, "vine": vine_of(columns), "cut": cut, "guide": guide}
    return Scenario("vine", dims, shape, Claim("topic"), truth, _draw_vine, facts)


def _draw_vine(scenario: Scenario, first: int, count: int, seed: int) -> Floats:
    """(count, *shape) quantiles of the margins, each column drawn given those that it hangs on."""
    margins = scenario.facts["margins"]
    n, c = scenario.shape[0], margins.size
    z = np.empty((count, n * c))
    for k in range(count):
        rng = make_generator(seed, first + k)
        uniform, noise = rng.random((n, c + 1)), rng.standard_normal((n, c + 1))
        z[k] = special.ndtri(draw_quantiles(scenario.facts["vine"], uniform, noise)).ravel()
    row = np.tile(np.arange(c), n)
    to_scores(z, row, scenario.facts["cut"], scenario.facts["guide"], margins.low, margins.high)
    return z.reshape(count, *scenario.shape)


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
        # correlations of the columns with the difficulty of topics taken out
        with_topic = z[:, c] @ z[:, :c] / t
        rest = np.sqrt(np.maximum(1.0 - with_topic**2, RIDGE))
        partial = (z[:, :c].T @ z[:, :c] / t - np.outer(with_topic, with_topic)) / np.outer(rest, rest)
        # the tree of largest correlations, from the first column
        tree = csgraph.minimum_spanning_tree(2.0 - partial)
        reached, neighbour = csgraph.breadth_first_order(tree, 0, directed=False)
        order = np.append(c, reached).astype(np.int64)
        parents = np.ascontiguousarray(np.column_stack([np.full(c + 1, c), np.append(neighbour, -1)]))
        parents[0, 1] = -1
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
