"""The worlds that methods are tried in, for one claim: systems all equal, and some of them different."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.scores import complete
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.simulate_scores import MEAN, TableOptions
from shardwise.lab.simulate_scores import world as simulated
from shardwise.lab.worlds import from_scores as data
from shardwise.lab.worlds.base import NormalWorld, World
from shardwise.lab.worlds.tilt import tilted_world
from shardwise.lab.worlds.vine import vine_world
from shardwise.numerics import studentized_range

SIMULATED = ("normal", "margins")
KEPT = ("vine", "tilt")  # worlds of topics like these that keep near-duplicate systems, or every score
NULLS = (*SIMULATED, *KEPT, *data.KINDS)
SIZES = 5  # differences planted between nothing and what is hardly ever missed


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Scores or, without them, components; and the sizes to simulate."""

    scores: xr.DataArray | None
    sd: VarianceComponents
    dims: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def systems(self) -> int:
        """How many systems to simulate."""
        return self.shape[self.dims.index("system")]

    @property
    def as_measured(self) -> bool:
        """Whether the sizes are those of the scores."""
        return self.scores is not None and self.shape == tuple(self.scores.sizes[dim] for dim in self.dims)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One world that methods are tried in."""

    world: World
    null: str
    planted: bool
    repetitions: int
    path: int  # of its random numbers


def cases_of(
    source: Source,
    claim: Claim,
    kinds: Iterable[str] | None,
    *,
    planted: bool,
    largest: float | None,
    repetitions: int,
    alpha: float,
    seed: int,
) -> list[Case]:
    """Worlds of one claim: each null and, if ``planted``, systems up to ``largest`` apart in the first of them."""
    kinds = _usual(source, claim) if kinds is None else [_known(kind, source) for kind in kinds]
    kinds = [k for k in kinds if _speaks_for(k, source.dims, claim)]
    if not kinds:
        raise InputError(
            f"none of the nulls chosen fits the claim about {claim.short(source.dims)}",
            remedy='add "normal" or "flip"',
        )
    equal = np.zeros(source.systems)
    cases = [Case(_world(source, kind, claim, equal, seed), kind, False, repetitions, 0) for kind in kinds]
    return cases + (_planted(source, kinds[0], claim, largest, repetitions, alpha, seed) if planted else [])


def _planted(
    source: Source,
    kind: str,
    claim: Claim,
    largest: float | None,
    repetitions: int,
    alpha: float,
    seed: int,
) -> list[Case]:
    top = telling(source, claim, alpha) if largest is None else largest
    for _ in range(6):
        plans = plantings(source.systems, top)
        try:
            worlds = [_world(source, kind, claim, plan, seed) for plan in plans]
        except InputError:
            if largest is not None:
                raise
            top /= 2  # scores have bounds, and so have the means of systems
            continue
        each = -(-repetitions // len(plans))
        return [Case(world, kind, True, each, 1 + k) for k, world in enumerate(worlds)]
    raise InputError(
        "no difference fits between the bounds of these scores", remedy="leave planted differences out"
    )


def _world(source: Source, kind: str, claim: Claim, effects: Floats, seed: int) -> World:
    centred = effects - effects.mean()
    if kind == "normal" or source.scores is None:
        centre = MEAN if source.sd.mean is None else source.sd.mean
        return NormalWorld(centre + centred, source.sd, source.dims, source.shape, claim)
    if kind == "margins":
        sizes = {f"{dim}s": size for dim, size in zip(source.dims, source.shape, strict=True)}
        how: dict[str, Any] = {"margins": "auto", "generalize": claim, "seed": seed, **sizes}
        return simulated(source.scores, TableOptions(effects=centred, **how))
    if not source.as_measured:
        raise InputError(
            f"the null {kind!r} has the size of the scores themselves",
            remedy="use normal or margins for other sizes",
        )
    y = complete(source.scores)
    if kind == "vine":
        return vine_world(y, source.dims, effects=centred)
    if kind == "tilt":
        return tilted_world(y, source.dims, effects=centred if effects.any() else None)
    return data.data_null(kind, y, source.dims, claim, effects)


def _speaks_for(kind: str, dims: tuple[str, ...], claim: Claim) -> bool:
    """Whether a null has no difference for a claim about scores of these dimensions."""
    if kind in SIMULATED:
        return True
    if kind in KEPT:
        return claim == Claim("topic") and dims[0] == "topic" and dims[-1] != "instance"
    return data.speaks_for(kind, dims, claim)


def _usual(source: Source, claim: Claim) -> list[str]:
    if source.scores is None:
        return ["normal"]
    y = source.scores.to_numpy()
    bounded = bool(y.min() >= 0 and y.max() <= 1) and source.dims[-1] != "instance"
    of_data = [kind for kind in data.KINDS if data.speaks_for(kind, source.dims, claim)]
    return ["margins" if bounded else "normal", *(of_data if source.as_measured else [])]


def _known(kind: str, source: Source) -> str:
    if kind not in NULLS:
        raise InputError(f"no null is called {kind!r}", remedy=f"choose from {', '.join(NULLS)}")
    if source.scores is None and kind != "normal":
        raise InputError(f"the null {kind!r} is made of scores", remedy="give scores, not components")
    return kind


def plantings(r: int, largest: float) -> list[Floats]:
    """Effects of systems: half of them equal, the others away from these by 1/5, 2/5, … of the largest difference.

    With few systems the sizes are dealt out over several tables.

    >>> [p.tolist() for p in plantings(2, 1.0)]
    [[0.0, 0.2], [0.0, 0.4], [0.0, 0.6], [0.0, 0.8], [0.0, 1.0]]
    """
    steps = largest * np.arange(1, SIZES + 1) / SIZES
    moved = r - (r + 1) // 2
    plans = 1 if moved >= SIZES else SIZES
    found = []
    for k in range(plans):
        effects = np.zeros(r)
        effects[r - moved :] = steps[(np.arange(moved) + k) % SIZES]
        found.append(np.round(effects, 12))
    return found


def telling(source: Source, claim: Claim, alpha: float) -> float:
    """Twice the critical difference of HSD for a claim: a difference that is hardly ever missed."""
    size = dict(zip(source.dims, source.shape, strict=True))
    variance, _ = source.sd.variance_of_difference(claim, {d: n for d, n in size.items() if d != "split"})
    r = source.systems
    return float(
        2.0 * studentized_range.isf(alpha, r, (size["topic"] - 1) * (r - 1)) * np.sqrt(variance / 2.0)
    )
