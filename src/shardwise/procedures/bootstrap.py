"""Bootstrap ANOVA of many tables: the ideal law of each, found once for all the ways of reading it."""

from __future__ import annotations

import math
from functools import partial
from math import prod

import numpy as np
from numba import njit

from shardwise.core.arrays import Floats
from shardwise.core.model import MD1, MD2, MD3, MD6, Model
from shardwise.fits.bootstrap import PAPER_RESAMPLES
from shardwise.numerics.bootstrap.distributions import Null, PairLaw
from shardwise.numerics.bootstrap.draws import STEPS, Draws, Spread
from shardwise.numerics.bootstrap.ideal import Inverted, Tail, bandwidth, ideal, invert, smoothed
from shardwise.numerics.bootstrap.spectrum import Pool
from shardwise.numerics.corrections import title as method_title
from shardwise.numerics.student import NOISE
from shardwise.procedures.anova import differences, split_of
from shardwise.procedures.batch import (
    LAYOUTS,
    PROMISES,
    SHARDS,
    Batch,
    Decisions,
    Procedure,
    procedure,
)
from shardwise.procedures.corrections import adjust, interval_level

MODELS = (MD1, MD2, MD3, MD6)
CORRECTIONS = ("bh", "holm", "none")
READINGS: dict[str, tuple[Null, int, bool]] = {  # null, tails, whether smoothed by a kernel
    "difference": ("difference", 2, False),
    "marginal-1": ("marginal", 1, False),
    "marginal-2": ("marginal", 2, False),
    "kde-1": ("marginal", 1, True),
    "kde-2": ("marginal", 2, True),
}
WORDS = {
    "difference": "law of a difference",
    "marginal-1": "law of one system, one tail",
    "marginal-2": "law of one system, two tails",
    "kde-1": "law of one system, one tail, kernel density",
    "kde-2": "law of one system, two tails, kernel density",
}
SOURCES = {
    ("marginal-1", "bh"): "V17",
    ("marginal-2", "bh"): "FF21",
    ("kde-1", "bh"): "FF21",
    ("kde-2", "bh"): "FF21",
}


def draws(batch: Batch, model: Model) -> list[Draws]:
    """What a resampled system mean of each table is made of: its n draws from the pool of all residuals."""

    def make() -> list[Draws]:
        found = split_of(batch, model)
        residuals = found.residuals(model).reshape(len(batch), -1)
        n = prod(found.shape.values()) // batch.systems
        some = found.error(model)[0] > 0.0
        pools = [
            Pool.of(row if there else np.zeros_like(row)) for row, there in zip(residuals, some, strict=True)
        ]
        return [Draws(pool, np.array([1.0 / n]), np.array([float(n)])) for pool in pools]

    return batch.once(("draws", model.name), make)


def laws(batch: Batch, model: Model, null: Null, kernel: bool) -> list[Spread]:
    """The ideal bootstrap law of an error in each table: of a difference, or of one system's effect."""

    def make() -> list[Spread]:
        chosen = [
            one.twice() if null == "difference" else one.minus(batch.systems) for one in draws(batch, model)
        ]
        return [ideal(one) for one in chosen]

    def blurred() -> list[Spread]:
        plain = zip(draws(batch, model), laws(batch, model, null, False), strict=True)
        return [_smoothed(one.minus(batch.systems), law) for one, law in plain]

    return batch.once(("laws", model.name, null, kernel), blurred if kernel else make)


def _smoothed(one: Draws, law: Spread) -> Spread:
    """The law as a kernel density of the papers' 10,000 resamples shows it on average (FF21 §3.2)."""
    if not isinstance(law, Inverted):
        return smoothed(one, PAPER_RESAMPLES)
    deviation = _deviation(law.half, law.pdf, law.cdf, *_tail(law.upper), *_tail(law.lower))
    return invert(one, bandwidth(float(deviation), PAPER_RESAMPLES))


def decide(batch: Batch, alpha: float, model: Model, reading: str, method: str) -> Decisions:
    """Compare all pairs as ``compare(bootstrap_anova(scores, model), method, null=…, tails=…)`` does.

    Residuals are scaled up to the error mean square for the law of a difference, and raw as in the papers for that of
    one system.
    """
    null, tails, kernel = READINGS[reading]
    found = split_of(batch, model)
    difference, largest = differences(batch, model)
    difference = np.where(np.abs(difference) <= NOISE * largest, 0.0, difference)
    _, df_error = found.error(model)
    scale = math.sqrt(prod(found.shape.values()) / df_error) if null == "difference" else 1.0
    pairs = [PairLaw(law, null, tails, scale, "") for law in laws(batch, model, null, kernel)]
    size = np.abs(difference)
    p = batch.once(
        ("p", model.name, reading),
        lambda: np.stack([p_values(law, d) for law, d in zip(pairs, size, strict=True)]),
    )
    p_adjusted = adjust(method, p)
    levels = interval_level(method, p_adjusted, alpha)[:, 0]
    half = np.array([critical(law, level) for law, level in zip(pairs, levels.tolist(), strict=True)])[
        :, None
    ]
    return Decisions(difference, p, p_adjusted, difference - half, difference + half)


def p_values(law: PairLaw, differences: Floats) -> Floats:
    """``law.p_values``, compiled where the law was found by inversion."""
    if not isinstance(law.spread, Inverted):
        return law.p_values(differences)
    out = np.empty(differences.shape)
    one = law.spread
    _p_values(
        differences / law.scale,
        law.tails,
        one.half,
        one.pdf,
        one.cdf,
        *_tail(one.upper),
        *_tail(one.lower),
        out,
    )
    return out


def critical(law: PairLaw, level: float) -> float:
    """``law.critical``, compiled where the law was found by inversion."""
    one = law.spread
    if not isinstance(one, Inverted):
        return law.critical(level)
    far = max(abs(end) for end in one.span)
    found = _critical(level, far, law.tails, one.half, one.pdf, one.cdf, *_tail(one.upper), *_tail(one.lower))
    return law.critical(level) if math.isnan(found) else float(found * law.scale)


def _tail(tail: Tail) -> tuple[float, float, Floats, Floats, Floats]:
    return tail.start, tail.support, tail.x, tail.log, tail.slope


@njit(cache=True, nogil=True)
def _beyond(v: float, support: float, x: Floats, log: Floats, slope: Floats) -> float:
    """P(X ≥ v) far out, as `Tail.probability`."""
    if x.size == 0 or v > support:
        return 0.0
    inside = min(max(v, x[0]), x[-1])
    k = min(max(np.searchsorted(x, inside) - 1, 0), x.size - 2)
    width = x[k + 1] - x[k]
    s = (inside - x[k]) / width
    rise = log[k + 1] - log[k]
    a, b = slope[k] * width - rise, rise - slope[k + 1] * width
    value = log[k] + s * rise + s * (1.0 - s) * (a * (1.0 - s) + b * s) + slope[-1] * (v - inside)
    return math.exp(min(value, 0.0))


@njit(cache=True, nogil=True)
def _inner(v: float, half: float, pdf: Floats, cdf: Floats) -> float:
    """P(X ≤ v) on the grid, by cubics that never fall, as `Inverted` has it."""
    step = 2.0 * half / cdf.size
    place = min(max((v + half) / step, 0.0), cdf.size - 1 - 1e-9)
    k = int(place)
    s = place - k
    rise = cdf[k + 1] - cdf[k]
    a = min(max(pdf[k] * step, 0.0), 3.0 * rise) - rise
    b = rise - min(max(pdf[k + 1] * step, 0.0), 3.0 * rise)
    return float(min(max(cdf[k] + s * rise + s * (1.0 - s) * (a * (1.0 - s) + b * s), 0.0), 1.0))


@njit(cache=True, nogil=True)
def _p_one(
    d: float, tails: int, half: float, pdf: Floats, cdf: Floats,
    start: float, support: float, x: Floats, log: Floats, slope: Floats,
    start_: float, support_: float, x_: Floats, log_: Floats, slope_: Floats,
) -> float:  # fmt: skip
    """P(X ≥ d), with two tails plus P(X ≤ -d), for d ≥ 0; the tail with underscores is the lower one, of -X."""
    p = _beyond(d, support, x, log, slope) if d > start else 1.0 - _inner(d, half, pdf, cdf)
    if tails == 1:
        return p
    if d > start_:
        return min(p + _beyond(d, support_, x_, log_, slope_), 1.0)
    return min(p + _inner(-d, half, pdf, cdf), 1.0)


@njit(cache=True, nogil=True)
def _p_values(
    d: Floats, tails: int, half: float, pdf: Floats, cdf: Floats,
    start: float, support: float, x: Floats, log: Floats, slope: Floats,
    start_: float, support_: float, x_: Floats, log_: Floats, slope_: Floats, out: Floats,
) -> None:  # fmt: skip
    for k in range(d.size):
        out[k] = _p_one(d[k], tails, half, pdf, cdf, start, support, x, log, slope,
                        start_, support_, x_, log_, slope_)  # fmt: skip


@njit(cache=True, nogil=True)
def _critical(
    level: float, far: float, tails: int, half: float, pdf: Floats, cdf: Floats,
    start: float, support: float, x: Floats, log: Floats, slope: Floats,
    start_: float, support_: float, x_: Floats, log_: Floats, slope_: Floats,
) -> float:  # fmt: skip
    """Smallest d whose p-value is at most the level, by halving; NaN where it does not lie between 0 and far."""
    low, high = 0.0, far * (1.0 + 1e-9)
    for step in range(-2, STEPS):
        middle = low if step == -2 else high if step == -1 else 0.5 * (low + high)
        p = _p_one(middle, tails, half, pdf, cdf, start, support, x, log, slope,
                   start_, support_, x_, log_, slope_)  # fmt: skip
        if step == -2 and p <= level:
            return 0.0
        if step == -1 and p > level:
            return math.nan
        if step >= 0:
            low, high = (low, middle) if p <= level else (middle, high)
    return high


@njit(cache=True, nogil=True)
def _deviation(
    half: float, pdf: Floats, cdf: Floats,
    start: float, support: float, x: Floats, log: Floats, slope: Floats,
    start_: float, support_: float, x_: Floats, log_: Floats, slope_: Floats,
) -> float:  # fmt: skip
    """Median distance from the median, both by halving."""
    low, high = -support_, support
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        below = _at_most(middle, half, pdf, cdf, start, support, x, log, slope,
                         start_, support_, x_, log_, slope_)  # fmt: skip
        low, high = (low, middle) if below >= 0.5 else (middle, high)
    centre = high
    low, high = 0.0, max(abs(support - centre), abs(support_ + centre))
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        above = _at_most(centre + middle, half, pdf, cdf, start, support, x, log, slope,
                         start_, support_, x_, log_, slope_)  # fmt: skip
        below = _at_most(centre - middle, half, pdf, cdf, start, support, x, log, slope,
                         start_, support_, x_, log_, slope_)  # fmt: skip
        low, high = (low, middle) if above - below >= 0.5 else (middle, high)
    return high


@njit(cache=True, nogil=True)
def _at_most(
    v: float, half: float, pdf: Floats, cdf: Floats,
    start: float, support: float, x: Floats, log: Floats, slope: Floats,
    start_: float, support_: float, x_: Floats, log_: Floats, slope_: Floats,
) -> float:  # fmt: skip
    """P(X ≤ v)."""
    if -v > start_:
        return _beyond(-v, support_, x_, log_, slope_)
    return 1.0 - _beyond(v, support, x, log, slope) if v > start else _inner(v, half, pdf, cdf)


def bootstrap_procedures() -> list[Procedure]:
    """The ideal bootstrap of the models that the papers bootstrap, in all readings."""
    return [
        _procedure(model, reading, method)
        for model in MODELS
        for reading in READINGS
        for method in CORRECTIONS
    ]


def _procedure(model: Model, reading: str, method: str) -> Procedure:
    return procedure(
        f"banova {model.name} {reading} {method}",
        f"bootstrap ANOVA, {model.name}, {WORDS[reading]}, {method_title(method)}",
        LAYOUTS if model == MD1 else (SHARDS,),
        (),
        PROMISES[method],
        SOURCES.get((reading, method), ""),
        partial(decide, model=model, reading=reading, method=method),
        sound=reading == "difference",  # the others measure a difference by the spread of one system
    )
