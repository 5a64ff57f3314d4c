"""A scenario in which equal systems are equal without a score being touched: topics are drawn with unequal chances.

Moving systems to one mean and drawing topics anew changes what near-ties look like: systems tied on 47 of 50 topics are
a constant apart on these once they are moved. Here the scores stay as they are. Topics are drawn with replacement with
the weights closest to equal ones, by Kullback and Leibler's divergence, under which the systems have exactly the
true means (exponential tilting: Efron 1981; Owen 2001). Ties and zeros stay, and so does all that topics do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from shardwise.core.arguments import validate_count, validate_level
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.rng import make_generator
from shardwise.lab.scenarios.base import check_layout

STEPS = 200  # of Newton's method; a dozen are usual
CLOSE = 1e-11  # to the true differences, in standard deviations of a contrast
RANK = 1e-12  # share of the scores that rounding may be
SHARE = (
    0.5  # of the topics that the weights count as at least: with fewer, all tables are made of a few topics
)


@dataclass(frozen=True, slots=True, eq=False)
class TiltedScenario:
    """Scores as they are, topics drawn with replacement with unequal chances; made by `tilted_scenario`."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    truth: Floats  # (R,) means under the weights
    scores: Floats  # in the order of dims
    weights: Floats  # (T,) chances of topics

    @property
    def name(self) -> str:
        """What is kept, and the claim."""
        return f"tilt; {self.claim.short(self.dims)}"

    @property
    def claim(self) -> Claim:
        """Topics are drawn anew, all else is as it is."""
        return Claim("topic")

    @property
    def effective(self) -> float:
        """As how many equally likely topics those with these chances count, exp(-Σ w log w)."""
        return effective_topics(self.weights)

    def draw(self, first: int, count: int, seed: int) -> Floats:
        """(count, *shape) scores: tables first to first + count - 1."""
        topic = self.dims.index("topic")
        edges = np.cumsum(self.weights)
        edges[-1] = 1.0
        drawn = [
            np.searchsorted(edges, make_generator(seed, first + k).random(self.shape[topic]), side="right")
            for k in range(count)
        ]
        return np.stack([np.take(self.scores, rows, axis=topic) for rows in drawn])


def tilted_scenario(
    scores: Floats,
    dims: tuple[str, ...] = ("topic", "system"),
    *,
    effects: Floats | None = None,
    topics: int | None = None,
) -> TiltedScenario:
    """Make a scenario of equal systems, or of systems that differ by ``effects``, without changing a score.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.beta(2, 4, (100, 1)) + rng.normal([0.0, 0.02, 0.05], 0.1, (100, 3))
    >>> scenario = tilted_scenario(y)
    >>> float(np.ptp(scenario.weights @ y)) < 1e-10, float(np.ptp(scenario.truth)), 70 < scenario.effective < 100
    (True, 0.0, True)
    """
    y = np.asarray(scores, dtype=float)
    if dims[0] != "topic":
        raise InputError(
            f"topics are drawn from scores by {', '.join(dims)}, which begin with another dimension",
            remedy="choose one split",
        )
    n = len(y) if topics is None else validate_count(topics, "topics", least=2)
    shape = (n, *y.shape[1:])
    check_layout(dims, shape, Claim("topic"))
    by_topic = topic_means(y, dims)
    r = by_topic.shape[1]
    shift = np.zeros(r) if effects is None else np.asarray(effects, dtype=float)
    shift = shift - shift.mean()
    weights = tilted_weights(by_topic, shift)
    if weights is None:
        kept = similar_systems(by_topic) if not shift.any() else np.empty(0, dtype=np.int64)
        advice = f"; {len(kept)} systems of similar level can" if len(kept) >= 2 else ""
        raise InputError(
            f"no chances of these {len(y)} topics give these {r} systems the means asked for{advice}",
            remedy="choose with similar_systems(scores), or use more topics or another scenario",
        )
    centre = float(weights @ by_topic.mean(axis=1))
    return TiltedScenario(dims, shape, centre + shift, y, weights)


def topic_means(scores: Floats, dims: tuple[str, ...]) -> Floats:
    """Return (T, R) scores, averaged over all other dimensions."""
    others = tuple(axis for axis, dim in enumerate(dims) if dim not in ("topic", "system"))
    return np.asarray(scores.mean(axis=others) if others else scores)


def tilted_weights(scores: Floats, effects: Floats | None = None) -> Floats | None:
    """Return the weights of topics closest to equal ones under which systems differ by the effects; None if none do.

    Minimises Σ w log w subject to Σ w x = 0, where x are a topic's scores less their mean and less the effects. The
    weights are exp(λ·x), rescaled, with λ the minimum of log Σ exp(λ·x), found by Newton's method with halved steps.
    Where 0 lies outside the hull of the x, that function falls below 0; inside it cannot.

    >>> tilted_weights(np.array([[.0, .2], [.1, .3], [.5, .1]])).round(3)
    array([0.333, 0.333, 0.333])
    """
    x = scores - scores.mean(axis=1, keepdims=True)
    if effects is not None:
        x = x - (effects - effects.mean())
    t = len(x)
    left_vectors, size, _ = np.linalg.svd(x, full_matrices=False)
    # directions of equal spread, in which Newton's method is at its best; rounding is no direction
    x = left_vectors[:, size > RANK * np.linalg.norm(scores)] * np.sqrt(t)
    steer = np.zeros(x.shape[1])
    weights, height = _tilt_weights(x, steer)
    for _ in range(STEPS):
        slope = weights @ x
        if np.abs(slope).max(initial=0.0) < CLOSE:
            return weights
        bend = (x * weights[:, None]).T @ x - np.outer(slope, slope)
        step = np.linalg.lstsq(bend, slope, rcond=None)[0]
        for _ in range(60):
            tried, lower = _tilt_weights(x, steer - step)
            if lower <= height - 1e-4 * float(slope @ step) or np.abs(step).max() < 1e-14:
                break
            step = step / 2.0
        steer, weights, height = steer - step, tried, lower
        if height < 0.0:
            return None
    return None


def _tilt_weights(x: Floats, steer: Floats) -> tuple[Floats, float]:
    """Return weights exp(λ·x), rescaled, and the logarithm of their sum."""
    power = x @ steer
    top = float(power.max())
    raw = np.exp(power - top)
    total = float(raw.sum())
    return raw / total, float(np.log(total) + top)


def effective_topics(weights: Floats) -> float:
    """Return as how many equally likely topics those with these chances count: the exponential of their entropy."""
    return float(np.exp(special.entr(weights).sum()))


def similar_systems(scores: Floats, *, share: float = SHARE, most: int | None = None) -> Ints:
    """Return the largest set of systems of neighbouring means that chances of topics can make equal.

    >>> rng = np.random.default_rng(2)
    >>> y = rng.normal([0.0, 0.9, 0.5, 0.05, 0.1], 0.2, (60, 5))
    >>> similar_systems(y).tolist()
    [0, 3, 4]
    """
    validate_level(share, "share")
    r = scores.shape[1]
    top = r if most is None else min(validate_count(most, "most", least=2), r)
    order = np.argsort(scores.mean(axis=0), kind="stable")
    best, end = order[:1], 0
    # a part of a set that can be made equal can be, with weights nearer to equal ones: so both ends only move up
    for start in range(r):
        end = max(end, start + 1)
        while end < r and end - start < top and _are_equalized(scores[:, order[start : end + 1]], share):
            end += 1
        if end - start > len(best):
            best = order[start:end]
    return np.sort(best)


def _are_equalized(scores: Floats, share: float) -> bool:
    """Return whether weights make the systems equal and count as enough topics."""
    weights = tilted_weights(scores)
    return weights is not None and effective_topics(weights) >= share * len(scores)
