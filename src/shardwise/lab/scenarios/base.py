"""Scenarios: where score tables come from whose truth is known.

A scenario draws any number of tables; table i depends on the seed and i alone. The truth is the mean of each system for
one claim: what the claim generalises over is sampled anew for every table, and what it holds fixed leaves no trace in
the system means, because the interactions of systems with it sum to zero over the levels that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Bools, Floats, make_generator
from shardwise.core.claim import Claim, pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.variance_components import EFFECTS, LAYOUTS, VarianceComponents

TOPICS = Claim("topic")
OWN = ("system:instance", "error")  # effects that a deterministic system does not have


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """Score tables with a known truth: how they are drawn, and what is known of them.

    Parameters
    ----------
    kind : str
        What kind of scores.
    dims : tuple of str
        Layout of a table.
    shape : tuple of int
        Sizes in the order of ``dims``.
    claim : Claim
        What the truth is about; `Claim()` is about these topics, shards and instances.
    truth : array
        (R,) true system means for that claim; all equal is an exact null.
    tables : callable
        Function of the scenario, the number of the first table, how many, and a seed: (count, *shape) scores.
    facts : mapping
        What else is known, by name: ``components``, ``margins``, ``deterministic``, ``weights`` and the like.
    """

    kind: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    claim: Claim
    truth: Floats
    tables: Callable[[Scenario, int, int, int], Floats]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What kind of scores, and the claim: "normal; new topics like these"."""
        return f"{self.kind}; {self.claim.short(self.dims)}"

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """Draw (count, *shape) scores: tables first to first + count - 1.

        Parameters
        ----------
        first : int
            Number of the first table.
        count : int
            How many tables.
        seed : int
            Where the random numbers start; table i depends on (seed, i) only.

        Returns
        -------
        array of float
            Scores, tables first.
        """
        return self.tables(self, first, count, seed)


def draw_each(draw: Callable[[Scenario, np.random.Generator], Floats]) -> Callable[..., Floats]:
    """Make a function that draws one table draw a batch: table i by the generator of (seed, i) alone."""

    @wraps(draw)
    def draw_batch(scenario: Scenario, first: int, count: int, seed: int) -> Floats:
        return np.stack([draw(scenario, make_generator(seed, first + i)) for i in range(count)])

    return draw_batch


def normal_scenario(
    means: Floats,
    components: VarianceComponents,
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    claim: Claim = TOPICS,
    deterministic: Bools | None = None,
) -> Scenario:
    """Make a scenario of scores that are sums of normal effects.

    ``means`` are the true system means. ``deterministic`` flags systems whose instances are copies of one another: they
    have neither instance effects nor an error. Splits share topics and topic:system, nothing else.

    >>> sd = VarianceComponents.of({"topic": .2, "error": .1}, kind="sd")
    >>> scenario = normal_scenario(np.full(3, .3), sd, ("topic", "system"), (50, 3))
    >>> scenario.draw(0, 10, seed=1).shape, scenario.name
    ((10, 50, 3), 'normal; new topics like these')
    """
    check_layout(dims, shape, claim)
    r = shape[dims.index("system")]
    if np.shape(means) != (r,) or not np.isfinite(means).all():
        raise InputError(f"the true means are not {r} numbers", remedy="give one for each system")
    if deterministic is not None and (np.shape(deterministic) != (r,) or "instance" not in dims):
        raise InputError(
            "deterministic systems need a flag for each system, and instances",
            remedy="say how many instances the others have",
        )
    facts = {"components": components, "deterministic": deterministic}
    return Scenario("normal", dims, shape, claim, means, _draw_normal, facts)


def _draw_normal(scenario: Scenario, first: int, count: int, seed: int) -> Floats:
    """(count, *shape) sums of normal effects; those of systems with what is held fixed sum to zero over it."""
    dims, shape, deterministic = scenario.dims, scenario.shape, scenario.facts["deterministic"]
    y = np.empty((count, *shape))
    y[:] = scenario.truth.reshape(axes_of(dims, shape, ("system",)))
    drawn = draw_effects(scenario.facts["components"], dims, shape, first, count, seed)
    for effect, part in drawn.items():
        inside = inside_of(effect)
        for other in inside if "system" in inside else ():
            if other != "system" and other not in scenario.claim:
                part -= part.mean(axis=1 + dims.index(other), keepdims=True)
        y += (
            np.where(deterministic[:, None], 0.0, part)
            if deterministic is not None and effect in OWN
            else part
        )
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
