"""Scenarios: where score tables come from whose truth is known.

A scenario draws any number of tables; table i depends on the seed and i alone. The truth is the mean of each system for
one claim: what the claim generalises over is sampled anew for every table, and what it holds fixed leaves no trace in
the system means, because the interactions of systems with it sum to zero over the levels that are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np

from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import Claim, pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.rng import make_generator
from shardwise.core.variance_components import EFFECTS, LAYOUTS, VarianceComponents

TOPICS = Claim("topic")
OWN = ("system:instance", "error")  # effects that a deterministic system does not have


class Scenario(Protocol):
    """Draws score tables with a known truth."""

    @property
    def name(self) -> str:
        """What kind of scores, and the claim: "normal; topics like these"."""

    @property
    def dims(self) -> tuple[str, ...]:
        """Layout of a table."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes in the order of dims."""

    @property
    def claim(self) -> Claim:
        """What the truth is about; `Claim()` is about these topics, shards and instances."""

    @property
    def truth(self) -> Floats:
        """(R,) true system means for that claim; all equal is an exact null."""

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """(count, *shape) scores: tables first to first + count - 1."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalScenario:
    """Scores that are sums of normal effects.

    ``means`` are the true system means. ``deterministic`` flags systems whose instances are copies of one another: they
    have neither instance effects nor an error. Splits share topics and topic:system, nothing else.

    >>> sd = VarianceComponents.of({"topic": .2, "error": .1}, kind="sd")
    >>> scenario = NormalScenario(np.full(3, .3), sd, ("topic", "system"), (50, 3))
    >>> scenario.draw(0, 10, seed=1).shape, scenario.name
    ((10, 50, 3), 'normal; new topics like these')
    """

    means: Floats
    components: VarianceComponents
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    claim: Claim = TOPICS
    deterministic: Bools | None = None

    def __post_init__(self) -> None:
        check_layout(self.dims, self.shape, self.claim)
        r = self.shape[self.dims.index("system")]
        if np.shape(self.means) != (r,) or not np.isfinite(self.means).all():
            raise InputError(f"the true means are not {r} numbers", remedy="give one for each system")
        if self.deterministic is not None and (
            np.shape(self.deterministic) != (r,) or "instance" not in self.dims
        ):
            raise InputError(
                "deterministic systems need a flag for each system, and instances",
                remedy="say how many instances the others have",
            )

    @property
    def name(self) -> str:
        """Normal scores and the claim."""
        return f"normal; {self.claim.short(self.dims)}"

    @property
    def truth(self) -> Floats:
        """(R,) true system means."""
        return self.means

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """(count, *shape) scores: tables first to first + count - 1."""
        y = np.empty((count, *self.shape))
        y[:] = self.means.reshape(axes_of(self.dims, self.shape, ("system",)))
        for effect, part in draw_effects(self.components, self.dims, self.shape, first, count, seed).items():
            fixed = held_fixed(effect, self.dims, self.claim)
            if fixed is not None:
                part -= part.mean(axis=1 + fixed, keepdims=True)
            if self.deterministic is not None and effect in OWN:
                part = np.where(self.deterministic[:, None], 0.0, part)
            y += part
        return y


def draw_effects(
    components: VarianceComponents,
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    first: int,
    count: int,
    seed: int,
) -> dict[str, Floats]:
    """Draw every effect with a spread: (count, *shape), of length 1 where an effect lacks a dimension."""
    sizes = {
        name: axes_of(dims, shape, inside)
        for name, inside in effects_of(dims).items()
        if components.variance(name) > 0
    }
    total = sum(map(prod, sizes.values()))
    drawn = np.empty((count, total))
    for i in range(count):
        make_generator(seed, first + i).standard_normal(total, out=drawn[i])
    parts, offset = {}, 0
    for name, size in sizes.items():
        parts[name] = drawn[:, offset : offset + prod(size)].reshape(count, *size) * components.sd(name)
        offset += prod(size)
    return parts


def inside_of(effect: str) -> tuple[str, ...]:
    """Return the dimensions of a random effect; the error, which has all, is none of them here."""
    return tuple(effect.split(":")) if effect in EFFECTS else ()


def effects_of(dims: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the effects that a layout has, with their dimensions; what depends on shards is each split's own."""
    inside_dims = {name: inside_of(name) for name in EFFECTS if set(inside_of(name)) <= set(dims)}
    if dims[0] == "split":
        inside_dims = {
            n: ("split", *inside) if "shard" in inside else inside for n, inside in inside_dims.items()
        }
    return {**inside_dims, "error": dims}


def axes_of(dims: tuple[str, ...], shape: tuple[int, ...], inside: tuple[str, ...]) -> tuple[int, ...]:
    """Return a shape that broadcasts: the size of the dimensions inside, 1 elsewhere."""
    return tuple(size if dim in inside else 1 for dim, size in zip(dims, shape, strict=True))


def held_fixed(effect: str, dims: tuple[str, ...], claim: Claim) -> int | None:
    """Return the axis over which an effect of systems has to sum to zero, as the claim holds its levels fixed."""
    inside = inside_of(effect)
    if "system" not in inside:
        return None
    other = next(dim for dim in inside if dim != "system")
    return None if other in claim else dims.index(other)


def check_layout(dims: tuple[str, ...], shape: tuple[int, ...], claim: Claim) -> None:
    """Refuse layouts, sizes and claims that do not fit together."""
    if dims not in LAYOUTS or len(shape) != len(dims):
        raise InputError(
            f"{len(shape)} sizes for the dimensions {', '.join(dims)}",
            remedy=f"use one of {'; '.join(', '.join(d) for d in LAYOUTS)}",
        )
    for dim, size in zip(dims, shape, strict=True):
        validate_count(size, pluralize_noun(dim), least=1 if dim == "split" else 2)
    claim.check(
        tuple(dim for dim in dims if dim != "split")
    )  # splits of one corpus are no sample of anything
