"""The ideal bootstrap: the distribution that ever more resamples approach, without resampling.

The characteristic function of a sum of draws is a product of powers of that of the pool. One fast Fourier transform
gives density and distribution function; far out, where these drown in rounding, the Lugannani-Rice saddlepoint
formula takes over, matched to them where they meet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats
from shardwise.methods.bootstrap.atoms import enumerate_sums
from shardwise.methods.bootstrap.draws import Draws, Spread, find_quantiles, first_where
from shardwise.methods.bootstrap.spectrum import Pool

GRID = 8192  # points of the density
BATCH = 64  # frequencies computed at a time
NEGLIGIBLE = 1e-17  # of a characteristic function, or of a probability
RINGING = 1e-12  # of a characteristic function where the grid ends, for a step to be seen
JOIN = 1e-8  # tail probability at which the saddlepoint takes over
BINS = 256  # groups of a large pool, enough for a saddlepoint
NODES = np.geomspace(0.6, 90.0, 56)  # tilts of the tail, in units of 1 / standard deviation


def ideal_distribution(draws: Draws) -> Spread:
    """Return the distribution of a sum of draws: point by point where there are few of them, else by Fourier inversion.

    >>> coin = Draws(Pool.from_values(np.array([-1.0, 1.0])), np.array([0.25]), np.array([4.0]))
    >>> ideal_distribution(coin).at_least(np.array([0.5, 0.6]))
    array([0.3125, 0.0625])
    """
    atoms = enumerate_sums(draws)
    return invert_characteristic(draws) if atoms is None else atoms


def smooth_distribution(draws: Draws, n: int, distribution: Spread | None = None) -> Spread:
    """Return the distribution as a Gaussian kernel density of n draws shows it on average: blurred by the bandwidth.

    ``distribution`` is the ideal one, where it is known already.
    """
    distribution = ideal_distribution(draws) if distribution is None else distribution
    if draws.variance == 0.0:
        return distribution
    return invert_characteristic(draws, kernel_bandwidth(absolute_deviation(distribution), n))


def absolute_deviation(distribution: Spread) -> float:
    """Median distance from the median."""
    middle = float(find_quantiles(distribution, np.array([0.5]))[0])
    # half of the distribution lies within x of the median
    return first_where(
        lambda x: distribution.at_most(middle + x) + distribution.at_least(middle - x) >= 1.5,
        0.0,
        max(abs(end - middle) for end in distribution.span),
    )


def kernel_bandwidth(deviation: float, n: int) -> float:
    """MAD/.6745 · (4/(3n))^(1/5), n the number of estimates that the density is made from (FF21 §3.2)."""
    return float(deviation / 0.6745 * (4.0 / (3.0 * n)) ** 0.2)


def invert_characteristic(draws: Draws, blur: float = 0.0) -> Inverted:
    """Return the distribution by inversion of its characteristic function; ``blur`` adds a normal error of that sd."""
    sd = float(np.sqrt(draws.variance + blur**2))
    least, greatest = draws.support
    least, greatest = least - 40.0 * blur, greatest + 40.0 * blur
    groups = _group_residuals(draws.pool)
    sides = []
    for sign, support in ((1.0, greatest), (-1.0, -least)):
        k0, k1, k2 = _evaluate_cumulants(draws, groups, sign * NODES / sd)
        k0, k1, k2 = k0 + 0.5 * (blur * NODES / sd) ** 2, k1 + blur**2 * sign * NODES / sd, k2 + blur**2
        sides.append((support, *_saddlepoint_tail(NODES / sd, k0, sign * k1, k2)))
    half = 1.02 * max(_find_reach(support, x, bound) for support, x, bound, _ in sides)
    pdf, cdf = _transform_grid(draws, half, blur)
    tails = [
        _join_tail(support, x, log, half, values)
        for (support, x, _, log), values in zip(sides, (1.0 - cdf, cdf[::-1]), strict=True)
    ]
    return Inverted(half, pdf, cdf, *tails)


def _transform_grid(draws: Draws, half: float, blur: float) -> tuple[Floats, Floats]:
    """Density and distribution function on GRID points from -half on, by one Fourier transform each."""
    parts = []
    for first in range(0, GRID // 2, BATCH):
        t = np.arange(first, first + BATCH, dtype=np.float64) * (np.pi / half)
        parts.append(draws.characteristic(t) * np.exp(-0.5 * (blur * t) ** 2))
        if np.abs(parts[-1][-8:]).max() < NEGLIGIBLE:
            break
    phi = np.concatenate(parts)
    t = np.arange(len(phi), dtype=np.float64) * (np.pi / half)
    edge = float(np.abs(phi[-8:]).max())
    if edge > RINGING:
        # a distribution of nearly separate points: blur them by a few grid steps rather than let the series ring
        phi = phi * np.exp(-np.log(edge / RINGING) * (t / t[-1]) ** 2)
    spectrum = np.zeros(GRID // 2 + 1, np.complex128)
    spectrum[: len(phi)] = phi.conj() * np.where(np.arange(len(phi)) % 2, -1.0, 1.0)
    pdf = np.fft.irfft(spectrum, GRID) * (GRID / (2.0 * half))
    spectrum[0] = 0.0
    spectrum[1 : len(phi)] /= 1j * t[1:]
    wave = np.fft.irfft(spectrum, GRID) * (GRID / (2.0 * half))
    cdf = np.arange(GRID) / GRID + wave - wave[0]
    # the transform of a pool of a few values rings: a distribution function never falls
    return pdf, np.maximum.accumulate(np.clip(cdf, 0.0, 1.0))


def _group_residuals(pool: Pool) -> tuple[Floats, Floats, Floats]:
    """Share, mean and variance of groups of like residuals; each by itself in a small pool."""
    values = pool.values
    if values.size <= BINS:
        return np.full(values.size, 1.0 / values.size), values, np.zeros(values.size)
    low, high = values.min(), values.max()
    group = np.minimum(((values - low) * (BINS / (high - low))).astype(np.int64), BINS - 1)
    counts = np.bincount(group, minlength=BINS)
    kept = counts > 0
    n = counts[kept]
    mean = np.bincount(group, values, BINS)[kept] / n
    square = np.bincount(group, values * values, BINS)[kept] / n
    return n / values.size, mean, np.maximum(square - mean * mean, 0.0)


def _evaluate_cumulants(
    draws: Draws, groups: tuple[Floats, Floats, Floats], tilts: Floats
) -> tuple[Floats, Floats, Floats]:
    """Cumulant generating function of the sum and its first two derivatives, at each tilt."""
    share, mean, variance = groups
    k0, k1, k2 = (np.zeros(tilts.shape) for _ in range(3))
    for weight, count in zip(draws.weights, draws.counts, strict=True):
        u = weight * tilts[:, None]
        exponent = u * mean
        shift = exponent.max(axis=1, keepdims=True)
        e = share * np.exp(exponent - shift)
        spread = 1.0 + 0.5 * u * u * variance  # second order within a group
        m0 = (e * spread).sum(axis=1)
        m1 = (e * (mean * spread + u * variance)).sum(axis=1) / m0
        m2 = (e * (mean * mean * spread + 2.0 * mean * u * variance + variance)).sum(axis=1) / m0
        k0 += count * (np.log(m0) + shift[:, 0])
        k1 += count * weight * m1
        k2 += count * weight**2 * (m2 - m1 * m1)
    return k0, k1, k2


def _saddlepoint_tail(tilt: Floats, k0: Floats, k1: Floats, k2: Floats) -> tuple[Floats, Floats, Floats]:
    """Points x = K'(λ), the Chernoff bound K(λ) - λx on log P(X ≥ x) there, and its Lugannani-Rice value.

    P(X ≥ x) = Φ(-w) + φ(w)(1/u - 1/w), w = sqrt(2(λx - K)), u = λ sqrt(K''), with the normal density taken out so
    that nothing underflows.
    """
    bound = np.minimum(k0 - tilt * k1, -1e-12)
    w = np.sqrt(-2.0 * bound)
    u = tilt * np.sqrt(np.maximum(k2, 1e-300))
    mills = np.sqrt(np.pi / 2.0) * special.erfcx(w / np.sqrt(2.0))
    rest = mills + 1.0 / u - 1.0 / w
    leading = 1.0 / u  # Φ(-w)/φ(w) is about 1/w far out
    log = bound - 0.5 * np.log(2.0 * np.pi) + np.log(np.where(rest > 0, rest, leading))
    good = np.concatenate([[True], np.diff(np.maximum.accumulate(k1)) > 1e-9 * k1[0]])
    good &= (k2 > 1e-12 * k2[0]) & (bound > -700.0) & (log < 0.0)
    good &= np.concatenate([[True], np.diff(np.minimum.accumulate(log)) < 0])
    return k1[good], bound[good], log[good]


def _find_reach(support: float, x: Floats, bound: Floats) -> float:
    """Point beyond which at most a negligible probability lies."""
    beyond = np.flatnonzero(bound < np.log(NEGLIGIBLE))
    return min(support, float(x[beyond[0]])) if beyond.size else support


def _join_tail(support: float, x: Floats, log: Floats, half: float, above: Floats) -> SaddlepointTail:
    """Join the saddlepoint curve to the probabilities of the grid where these are still exact."""
    if above[0] < above[-1]:
        above = above[::-1]
    step = 2.0 * half / GRID
    k = int(np.searchsorted(-above, -JOIN))
    points = -half + step * k
    if k >= GRID - 1 or x.size < 4 or points >= min(support, x[-1]):
        nothing = np.zeros(0)
        return SaddlepointTail(support, support, nothing, nothing, nothing)
    start = max(points, float(x[0]))
    tail = SaddlepointTail(start, support, x, log, np.gradient(log, x))
    position = (start + half) / step
    lower_index = int(position)
    exact = above[lower_index] + (position - lower_index) * (
        above[min(lower_index + 1, GRID - 1)] - above[lower_index]
    )
    shift = np.log(max(exact, 1e-300)) - np.log(float(tail_probability(np.asarray(start), tail)))
    return SaddlepointTail(start, support, x, log + shift, tail.slope)


class SaddlepointTail(NamedTuple):
    """log P(X ≥ x) far out, by saddlepoint, at points that cubics join."""

    start: float
    support: float  # nothing lies beyond
    x: Floats
    log: Floats
    slope: Floats


class Inverted(NamedTuple):
    """Density and distribution function on a grid from -half to half, and the tails beyond."""

    half: float
    pdf: Floats
    cdf: Floats
    upper: SaddlepointTail
    lower: SaddlepointTail  # of -X

    @property
    def span(self) -> tuple[float, float]:
        """Outermost values."""
        return -self.lower.support, self.upper.support

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""
        x = np.asarray(x, np.float64)
        below, above = -x > self.lower.start, x > self.upper.start
        out = np.empty(x.shape)
        out[below] = tail_probability(-x[below], self.lower)
        out[above & ~below] = 1.0 - tail_probability(x[above & ~below], self.upper)
        out[~below & ~above] = _read_grid(x[~below & ~above], self)[0]
        return out

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""
        x = np.asarray(x, np.float64)
        below, above = -x > self.lower.start, x > self.upper.start
        out = np.empty(x.shape)
        out[above] = tail_probability(x[above], self.upper)
        out[below & ~above] = 1.0 - tail_probability(-x[below & ~above], self.lower)
        out[~below & ~above] = 1.0 - _read_grid(x[~below & ~above], self)[0]
        return out

    def density(self, x: Floats) -> Floats:
        """Density at x."""
        x = np.asarray(x, np.float64)
        return np.where(np.abs(x) < self.half, np.maximum(_read_grid(x, self)[1], 0.0), 0.0)


def tail_probability(v: Floats, tail: SaddlepointTail) -> Floats:
    """P(X ≥ v) for v from the start of the tail on; beyond its last point log P goes on as a straight line."""
    if tail.x.size == 0:
        return np.zeros(v.shape)
    inside = np.clip(v, tail.x[0], tail.x[-1])
    k = np.clip(np.searchsorted(tail.x, inside) - 1, 0, tail.x.size - 2)
    width = tail.x[k + 1] - tail.x[k]
    s = (inside - tail.x[k]) / width
    rise = tail.log[k + 1] - tail.log[k]
    a, b = tail.slope[k] * width - rise, rise - tail.slope[k + 1] * width
    value = tail.log[k] + s * rise + s * (1.0 - s) * (a * (1.0 - s) + b * s) + tail.slope[-1] * (v - inside)
    return np.where(v > tail.support, 0.0, np.exp(np.minimum(value, 0.0)))


def _read_grid(v: Floats, distribution: Inverted) -> tuple[Floats, Floats]:
    """Distribution function and density on the grid by cubic Hermite interpolation, the density being the slope.

    Slopes are held between 0 and three times the rise, within which a cubic cannot fall (Fritsch & Carlson 1980).
    """
    step = 2.0 * distribution.half / distribution.cdf.size
    position = np.clip((v + distribution.half) / step, 0.0, distribution.cdf.size - 1 - 1e-9)
    k = position.astype(np.int64)
    s = position - k
    rise = distribution.cdf[k + 1] - distribution.cdf[k]
    a = np.clip(distribution.pdf[k] * step, 0.0, 3.0 * rise) - rise
    b = rise - np.clip(distribution.pdf[k + 1] * step, 0.0, 3.0 * rise)
    value = distribution.cdf[k] + s * rise + s * (1.0 - s) * (a * (1.0 - s) + b * s)
    slope = (rise + (1.0 - 2.0 * s) * (a * (1.0 - s) + b * s) + s * (1.0 - s) * (b - a)) / step
    return np.clip(value, 0.0, 1.0), slope
