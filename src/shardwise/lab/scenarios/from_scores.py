"""Equal systems made out of one's own scores: scenarios without a difference that keep what the scores look like.

Four ways, each with its own idea of "no difference":

* permute: within a topic every system might as well have had the other's scores. Labels are shuffled within topics,
  jointly over shards. Systems become exchangeable, so their variances become alike.
* flip: systems are moved to the same mean; then the sign of what a random dimension did to them is drawn anew, jointly
  for all systems. Each system keeps its own variance and its correlation with the others, but not its skewness.
* resample: systems are moved to the same mean; then topics are drawn with replacement. All is kept, at the price that
  no topic is new.
* tilt: scores stay as they are, and topics are drawn with unequal chances under which the systems are equal.

Moving systems to one mean and drawing topics anew changes what near-ties look like: systems tied on 47 of 50 topics are
a constant apart on these once they are moved. Here the scores stay as they are. Topics are drawn with replacement with
the weights closest to equal ones, by Kullback and Leibler's divergence, under which the systems have exactly the
true means (exponential tilting: Efron 1981; Owen 2001). Ties and zeros stay, and so does all that topics do.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from shardwise.core.arguments import validate_choice, validate_count
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import Either, InputError
from shardwise.lab.scenarios.base import Scenario, check_layout, draw_each

KINDS = ("permute", "flip", "resample")
STEPS = 200  # of Newton's method; a dozen are usual
CLOSE = 1e-11  # to the true differences, in standard deviations of a contrast
RANK = 1e-12  # share of the scores that rounding may be
SHARE = (
    0.5  # of the topics that the weights count as at least: with fewer, all tables are made of a few topics
)


@draw_each
def draw_rows(scenario: Scenario, rng: np.random.Generator) -> Floats:
    """Shuffle the systems within each topic, or draw topics with replacement; then move systems to their true means."""
    axes = scenario.dims.index("topic"), scenario.dims.index("system")
    y = np.moveaxis(scenario.facts["scores"], axes, (0, 1))
    t, r = y.shape[:2]
    if scenario.kind == "permute":
        y = y[np.arange(t)[:, None], rng.permuted(np.tile(np.arange(r), (t, 1)), axis=1)]
    else:
        y = y[rng.integers(t, size=t)]
    return _add_effects(scenario, np.moveaxis(y, (0, 1), axes))


def drawn_scenario(scores: Floats, topics: int, truth: Floats) -> Scenario:
    """Make a scenario of systems and topics drawn from (T, R) scores that keep their shape but for the system means.

    Scores are stretched by √(T/(T-1)), because the spread of T topics around their own mean is that much too small.
    """
    stretch = np.sqrt(len(scores) / (len(scores) - 1))
    facts = {"scores": (scores - scores.mean(axis=0)) * stretch}
    shape = (topics, len(truth))
    return Scenario("resample", ("topic", "system"), shape, Claim("topic"), truth, _draw_systems, facts)


@draw_each
def _draw_systems(scenario: Scenario, rng: np.random.Generator) -> Floats:
    """Draw systems without replacement and topics with, then move the systems to their true means."""
    scores = scenario.facts["scores"]
    systems = rng.permutation(scores.shape[1])[: scenario.shape[1]]
    rows = rng.integers(0, len(scores), size=scenario.shape[0])
    return np.asarray(scores[rows][:, systems] + scenario.truth)


@draw_each
def _draw_flipped(scenario: Scenario, rng: np.random.Generator) -> Floats:
    """Draw random signs for what each random dimension did to systems, and move these to their true means.

    A score is a sum of effects; those of system with a dimension held fixed stay as they are, those with a random one
    take the sign of its level. Effects are centred, which shrinks them by √(1 - 1/levels); this is undone.
    """
    out = scenario.facts["fixed"]
    for effect, axes in scenario.facts["flipped"]:
        size = [n if axis in axes else 1 for axis, n in enumerate(scenario.shape)]
        out = out + effect * (2.0 * rng.integers(2, size=size) - 1.0)
    return _add_effects(scenario, out)


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
    if not speaks_for(kind, dims, claim):
        raise InputError(
            f"the null {kind!r} says nothing of {claim.short(dims)}",
            remedy="use flip or a simulated null for this claim",
        )
    if kind == "permute":
        return Scenario(kind, dims, scores.shape, claim, truth, draw_rows, {"scores": scores})
    others = tuple(axis for axis in range(scores.ndim) if axis != system)
    level = scores - scores.mean(axis=others, keepdims=True) + scores.mean()
    if kind == "resample":
        return Scenario(kind, dims, scores.shape, claim, truth, draw_rows, {"scores": level})
    fixed, flipped = _split_effects(level, dims, claim)
    facts = {"fixed": fixed, "flipped": flipped}
    return Scenario(kind, dims, scores.shape, claim, truth, _draw_flipped, facts)


def speaks_for(kind: str, dims: tuple[str, ...], claim: Claim) -> bool:
    """Whether this kind of null has no difference for a claim.

    Shuffling within topics leaves what topics did to systems, so systems do differ on these very topics.
    """
    if kind == "permute":
        return "topic" in claim
    if kind == "resample":
        return claim == Claim("topic")
    return "split" not in dims


Flips = list[tuple[Floats, tuple[int, ...]]]  # effects, and the axes along which signs are drawn


def _split_effects(y: Floats, dims: tuple[str, ...], claim: Claim) -> tuple[Floats, Flips]:
    """Return all that stays of scores whose systems are alike, and the effects whose signs are drawn."""
    topic, system = dims.index("topic"), dims.index("system")
    others = [axis for axis, dim in enumerate(dims) if dim not in ("topic", "system")]
    by_topic = y.mean(axis=tuple(others), keepdims=True)
    grand = by_topic.mean(axis=(topic, system), keepdims=True)
    common = by_topic.mean(axis=system, keepdims=True)  # topic effects, no matter to a difference
    topic_system = by_topic - common - (by_topic.mean(axis=topic, keepdims=True) - grand)
    t = y.shape[topic]
    if not others:
        return common + 0.0 * y, [(topic_system * _undo_centring(t), (topic,))]
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
        moved = (topic_system + error) * _undo_centring(t)
        return shared + without_error(deviations, k, t), [(moved, (topic,))]
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
    return fixed, flips


def _undo_centring(levels: int) -> float:
    return float(np.sqrt(levels / (levels - 1)))


def _add_effects(scenario: Scenario, table: Floats) -> Floats:
    """Add to scores (*dims) what the true means differ by."""
    effects = scenario.truth - scenario.truth.mean()
    if np.any(effects):
        shape = [1] * table.ndim
        shape[scenario.dims.index("system")] = effects.size
        table = table + effects.reshape(shape)
    return table


def tilted_scenario(
    scores: Floats,
    dims: tuple[str, ...] = ("topic", "system"),
    *,
    effects: Floats | None = None,
    topics: int | None = None,
) -> Scenario:
    """Make a scenario of equal systems, or of systems that differ by ``effects``, without changing a score.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.beta(2, 4, (100, 1)) + rng.normal([0.0, 0.02, 0.05], 0.1, (100, 3))
    >>> scenario = tilted_scenario(y)
    >>> weights = scenario.facts["weights"]
    >>> float(np.ptp(weights @ y)) < 1e-10, float(np.ptp(scenario.truth)), 70 < effective_topics(weights) < 100
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
        raise InputError(
            f"no chances of these {len(y)} topics give these {r} systems the means asked for",
            remedy="use fewer systems of similar means, more topics or another scenario",
        )
    centre = float(weights @ by_topic.mean(axis=1))
    facts = {"scores": y, "weights": weights}
    return Scenario("tilt", dims, shape, Claim("topic"), centre + shift, _draw_tilted, facts)


@draw_each
def _draw_tilted(scenario: Scenario, rng: np.random.Generator) -> Floats:
    """Draw topics with replacement with their chances, scores as they are."""
    edges = np.cumsum(scenario.facts["weights"])
    edges[-1] = 1.0
    rows = np.searchsorted(edges, rng.random(scenario.shape[0]), side="right")
    return np.asarray(scenario.facts["scores"][rows])


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
