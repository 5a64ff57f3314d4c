"""Scenario of bounded scores: y = quantile of the system's margin at Φ(z), z has the dependence (Gaussian copula).

z is a sum of normal effects of topic, topic:system, topic:shard, ... with total variance 1, so that every score has its
system's margin exactly. For topic × system scores z may instead have any correlation between systems.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.rng import make_generator
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.scenarios.base import OWN, axes_of, check_layout, draw_effects, effects_of, inside_of
from shardwise.lab.scenarios.kernels import to_scores
from shardwise.lab.scenarios.margins import Margins, Tails, expected_given, guide_quantiles


@dataclass(frozen=True, slots=True, eq=False)
class MarginsScenario:
    """Bounded scores with a known truth; made by ``margins_scenario``."""

    means: Floats  # (R,)
    margins: Margins
    latent: VarianceComponents  # effects of z, of total variance 1
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    claim: Claim
    fixed: Floats  # effects of z on what the claim holds fixed, the same in every table
    root: Floats | None  # (R, R) of the correlation between systems, in place of effects
    deterministic: Bools | None
    row: Ints  # (cells,) which of the margins as moved a cell has
    cut: Floats
    guide: Ints

    @property
    def name(self) -> str:
        """Kinds of margins and the claim."""
        kinds = " and ".join(sorted(set(self.margins.family)))
        return f"{kinds} margins; {self.claim.short(self.dims)}"

    @property
    def truth(self) -> Floats:
        """(R,) true system means."""
        return self.means

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """(count, *shape) scores: tables first to first + count - 1."""
        z = np.empty((count, *self.shape))
        if self.root is not None:
            for i in range(count):
                make_generator(seed, first + i).standard_normal(self.shape, out=z[i])
            z = z @ self.root.T
        else:
            z[:] = self.fixed
            fresh = self.latent.only(_list_fresh_effects(self.dims, self.claim))
            for effect, part in draw_effects(fresh, self.dims, self.shape, first, count, seed).items():
                z += _calm_deterministic(effect, part, self.latent, self.deterministic)
        flat = np.ascontiguousarray(z.reshape(count, -1))
        to_scores(flat, self.row, self.cut, self.guide, self.margins.low, self.margins.high)
        return flat.reshape(count, *self.shape)


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
) -> MarginsScenario:
    """Move each margin until the system's mean is exactly the truth that the claim is about.

    Where topics, shards or instances are held fixed, their effects on z are drawn once, from the seed, and the mean
    that has to be right is the average over these levels of the expected score given their effects.
    """
    check_layout(dims, shape, claim)
    latent = scale_components(latent, dims)
    _check_deterministic(deterministic, latent, dims)
    margins = margins.replace_unsuited(means)
    fresh = _list_fresh_effects(dims, claim)
    fixed = np.zeros((1,) * len(dims))
    if root is None:
        kept = latent.only(name for name in effects_of(dims) if name not in fresh)
        for effect, part in draw_effects(kept, dims, shape, 0, 1, _derive_seed(seed)).items():
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
        spread = _fresh_spread(latent.only(fresh), latent, deterministic, len(system.ravel()))[owner]

        tails = Tails.from_latent(w, spread)
        shift = owner_margins.solve_shifts(
            means[owner],
            lambda rows, shift: expected_given(
                owner_margins.cell_probabilities(rows, shift), owner_margins, rows, tails
            ),
        )
    else:
        shift = owner_margins.solve_shifts(means[owner])
    cut, guide = guide_quantiles(owner_margins.cell_probabilities(np.arange(owner_margins.size), shift))
    row = np.broadcast_to(np.arange(owner_margins.size).reshape(layout), shape).ravel()
    return MarginsScenario(
        means, margins, latent, dims, shape, claim, fixed, root, deterministic, row, cut, guide
    )


def _list_fresh_effects(dims: tuple[str, ...], claim: Claim) -> tuple[str, ...]:
    """List effects drawn anew for each table: the error, and what involves a dimension the claim generalises over."""
    return (*(name for name in effects_of(dims) if set(inside_of(name)) & set(claim)), "error")


def _derive_seed(seed: int) -> int:
    """Derive a seed for what is drawn once, which no table's draws share."""
    return int(np.random.SeedSequence(seed, spawn_key=(0, 0)).generate_state(1, np.uint64)[0])


def scale_components(components: VarianceComponents, dims: tuple[str, ...]) -> VarianceComponents:
    """Return the shares of the variance of a score given its system, which add up to 1."""
    inside = components.only(effects_of(dims))
    total = sum(inside.values())
    if not total > 0:
        raise InputError("all standard deviations are 0", remedy="give one of topic, topic:system or error")
    return replace(inside, variances={name: value / total for name, value in inside.items()})


def _fresh_spread(
    fresh: VarianceComponents, latent: VarianceComponents, deterministic: Bools | None, r: int
) -> Floats:
    """Return (R,) standard deviation of what is drawn anew of z."""
    variance = np.full(r, sum(fresh.values()))
    if deterministic is not None:
        calm = sum(v for name, v in fresh.items() if name not in OWN)
        variance[deterministic] = calm / _calm_share(latent)
    return np.asarray(np.sqrt(variance))


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


def _check_deterministic(flags: Bools | None, latent: VarianceComponents, dims: tuple[str, ...]) -> None:
    if flags is None:
        return
    if "instance" not in dims:
        raise InputError("deterministic systems need instances", remedy="say how many the others have")
    if flags.any() and not _calm_share(latent) > 1e-12:
        raise InputError(
            "a deterministic system would have the same score on all topics",
            remedy="give topic or topic:system a standard deviation",
        )
