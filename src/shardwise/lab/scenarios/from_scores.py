"""Equal systems made out of one's own scores: scenarios without a difference that keep what the scores look like.

Three ways, each with its own idea of "no difference":

* permute: within a topic every system might as well have had the other's scores. Labels are shuffled within topics,
  jointly over shards. Systems become exchangeable, so their variances become alike.
* flip: systems are moved to the same mean; then the sign of what a random dimension did to them is drawn anew, jointly
  for all systems. Each system keeps its own variance and its correlation with the others, but not its skewness.
* resample: systems are moved to the same mean; then topics are drawn with replacement. All is kept, at the price that
  no topic is new.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import Either, InputError
from shardwise.core.rng import make_generator
from shardwise.lab.scenarios.base import Scenario, check_layout

KINDS = ("permute", "flip", "resample")


@dataclass(frozen=True, slots=True, eq=False)
class _RedrawnScores:
    """Scores to draw from, and the true means that replicates are moved to."""

    name: str
    dims: tuple[str, ...]
    claim: Claim
    truth: Floats  # (R,)
    scores: Floats  # in the order of dims

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes in the order of dims."""
        return self.scores.shape


class PermutedScenario(_RedrawnScores):
    """Scores with the systems shuffled within each topic, then moved to their true means."""

    __slots__ = ()

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """Replicates first, first + 1, …: (count, *shape)."""
        y = np.moveaxis(self.scores, _find_axes(self.dims), (0, 1))
        t, r = y.shape[:2]
        out = np.empty((count, *y.shape))
        rows = np.arange(t)[:, None]
        for k in range(count):
            order = make_generator(seed, first + k).permuted(np.tile(np.arange(r), (t, 1)), axis=1)
            out[k] = y[rows, order]
        return _add_effects(_restore_axes(out, self.dims), self.dims, self.truth - self.truth.mean())


class ResampledScenario(_RedrawnScores):
    """Scores whose system means are alike, moved to their true means, topics drawn with replacement."""

    __slots__ = ()

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """Replicates first, first + 1, …: (count, *shape)."""
        y = np.moveaxis(self.scores, _find_axes(self.dims), (0, 1))
        drawn = np.stack(
            [make_generator(seed, first + k).integers(len(y), size=len(y)) for k in range(count)]
        )
        return _add_effects(_restore_axes(y[drawn], self.dims), self.dims, self.truth - self.truth.mean())


@dataclass(frozen=True, slots=True, eq=False)
class FlippedScenario:
    """Scores with the systems moved to their true means, and random signs for what each random dimension did to them.

    A score is a sum of effects; those of system with a dimension held fixed stay as they are, those with a random one
    take the sign of its level. Effects are centred, which shrinks them by √(1 - 1/levels); this is undone.
    """

    name: str
    dims: tuple[str, ...]
    claim: Claim
    truth: Floats
    fixed: Floats  # all that stays, systems alike
    flipped: tuple[tuple[Floats, tuple[int, ...]], ...]  # effects, and the axes along which signs are drawn

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes in the order of dims."""
        return self.fixed.shape

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """Replicates first, first + 1, …: (count, *shape)."""
        out = np.repeat(self.fixed[None], count, axis=0)
        for k in range(count):
            rng = make_generator(seed, first + k)
            for effect, axes in self.flipped:
                size = [n if axis in axes else 1 for axis, n in enumerate(self.shape)]
                out[k] += effect * (2.0 * rng.integers(2, size=size) - 1.0)
        return _add_effects(out, self.dims, self.truth - self.truth.mean())


def data_null(
    kind: str,
    scores: Floats,
    dims: tuple[str, ...],
    claim: Claim,
    effects: Floats | None = None,
) -> Scenario:
    """Make a scenario of equal systems (or of systems that differ by ``effects``) out of scores in the order of dims.

    >>> rng = np.random.default_rng(5)
    >>> scenario = data_null("flip", rng.normal([0.1, 0.5], 0.1, (9, 2)), ("topic", "system"), Claim("topic"))
    >>> scenario.draw(0, 3, seed=1).shape, [round(float(m), 2) for m in scenario.truth]
    ((3, 9, 2), [0.28, 0.28])
    """
    validate_choice(kind, "null", KINDS)
    check_layout(dims, scores.shape, claim)
    if not np.isfinite(scores).all():
        raise InputError(
            f"{int((~np.isfinite(scores)).sum())} scores are undefined",
            remedy=("fill them first, as with ", Either("fill_undefined(scores, 'zero')", "--fill zero")),
        )
    system = dims.index("system")
    shift = np.zeros(scores.shape[system]) if effects is None else np.asarray(effects, dtype=float)
    truth = np.full(shift.shape, float(scores.mean())) + shift - shift.mean()
    name = f"{kind}; {claim.short(dims)}"
    if not speaks_for(kind, dims, claim):
        raise InputError(
            f"the null {kind!r} says nothing of {claim.short(dims)}",
            remedy="use flip or a simulated null for this claim",
        )
    if kind == "permute":
        return PermutedScenario(name, dims, claim, truth, scores)
    others = tuple(axis for axis in range(scores.ndim) if axis != system)
    level = scores - scores.mean(axis=others, keepdims=True) + scores.mean()
    if kind == "resample":
        return ResampledScenario(name, dims, claim, truth, level)
    return _build_flipped(name, level, dims, claim, truth)


def speaks_for(kind: str, dims: tuple[str, ...], claim: Claim) -> bool:
    """Whether this kind of null has no difference for a claim.

    Shuffling within topics leaves what topics did to systems, so systems do differ on these very topics.
    """
    if kind == "permute":
        return "topic" in claim
    if kind == "resample":
        return claim == Claim("topic")
    return "split" not in dims


def _build_flipped(
    name: str, y: Floats, dims: tuple[str, ...], claim: Claim, truth: Floats
) -> FlippedScenario:
    topic, system = dims.index("topic"), dims.index("system")
    others = [axis for axis, dim in enumerate(dims) if dim not in ("topic", "system")]
    by_topic = y.mean(axis=tuple(others), keepdims=True)
    grand = by_topic.mean(axis=(topic, system), keepdims=True)
    common = by_topic.mean(axis=system, keepdims=True)  # topic effects, no matter to a difference
    topic_system = by_topic - common - (by_topic.mean(axis=topic, keepdims=True) - grand)
    t = y.shape[topic]
    if not others:
        return FlippedScenario(
            name, dims, claim, truth, common + 0.0 * y, ((topic_system * _undo_centring(t), (topic,)),)
        )
    (third,) = others
    k = y.shape[third]
    if dims[third] == "instance":  # instances of one system have nothing to do with those of another
        deviations = y.mean(axis=topic, keepdims=True) - y.mean(axis=(topic, third), keepdims=True)
        shared = common
        own_axes: tuple[int, ...] = (system, third)
        error_axes: tuple[int, ...] = (topic, system, third)
    else:
        by_shard = y.mean(axis=topic, keepdims=True)
        deviations = by_shard - by_shard.mean(axis=system, keepdims=True)
        deviations = deviations - deviations.mean(axis=third, keepdims=True)
        shared = y.mean(axis=system, keepdims=True)
        own_axes, error_axes = (third,), (topic, third)
    error = y - shared - topic_system - deviations - (y.mean(axis=(topic, third), keepdims=True) - grand)
    noise = error * np.sqrt(t * k / ((t - 1) * (k - 1)))
    ms_error = float(np.mean(noise**2))

    def without_error(effect: Floats, levels: int, repeats: int) -> Floats:
        """An effect holds its share of error, which gets signs of its own; left in, it would count twice."""
        total = float(np.mean(effect**2)) * repeats * levels / (levels - 1)
        return np.asarray(effect * np.sqrt(max(0.0, 1.0 - ms_error / total) if total > 0 else 0.0))

    if claim == Claim("topic") and dims[third] != "instance":  # a topic turns with all its shards
        moved = ((topic_system + error) * _undo_centring(t), (topic,))
        return FlippedScenario(name, dims, claim, truth, shared + without_error(deviations, k, t), (moved,))
    fixed, flips = shared + 0.0 * y, [(noise, error_axes)]
    for effect, axes, dim, levels, repeats in (
        (topic_system, (topic,), "topic", t, k),
        (deviations, own_axes, dims[third], k, t),
    ):
        pure = without_error(effect, levels, repeats)
        if dim in claim:
            flips.append((pure * _undo_centring(levels), axes))
        else:
            fixed = fixed + pure
    return FlippedScenario(name, dims, claim, truth, fixed, tuple(flips))


def _undo_centring(levels: int) -> float:
    return float(np.sqrt(levels / (levels - 1)))


def _find_axes(dims: tuple[str, ...]) -> tuple[int, int]:
    return dims.index("topic"), dims.index("system")


def _restore_axes(batch: Floats, dims: tuple[str, ...]) -> Floats:
    """Move (B, T, R, …) back to (B, *dims)."""
    topic, system = _find_axes(dims)
    return np.moveaxis(batch, (1, 2), (1 + topic, 1 + system))


def _add_effects(batch: Floats, dims: tuple[str, ...], effects: Floats) -> Floats:
    if np.any(effects):
        shape = [1] * batch.ndim
        shape[1 + dims.index("system")] = effects.size
        batch = batch + effects.reshape(shape)
    return batch
