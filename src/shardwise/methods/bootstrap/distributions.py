"""Bootstrap distributions as the rest of the library sees them: around an effect, and between two systems.

What a resampled system mean is made of, and the distribution of any contrast of such means.

The characteristic function of a pool of residuals, through its Chebyshev moments.

With the pool scaled to x in [-1, 1] and M_k = mean of T_k(x), the Jacobi-Anger expansion gives

    φ(z) = mean of exp(i z x) = J_0(z) + 2 · sum over k ≥ 1 of i^k J_k(z) M_k.

One pass over the pool thus serves all frequencies, to full precision: about |z| + 20 moments are enough, as the
Bessel functions vanish beyond.

Small cases: every value that a sum of draws can take, with its probability.

The ideal bootstrap: the distribution that ever more resamples approach, without resampling.

The characteristic function of a sum of draws is a product of powers of that of the pool. One fast Fourier transform
gives density and distribution function; far out, where these drown in rounding, the Lugannani-Rice saddlepoint
formula takes over, matched to them where they meet.

The bootstrap by resampling: compiled, parallel, each replicate from (seed, index) alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.special import gammaln

from shardwise.core.arguments import CHUNKS, Progress, borrow_executor, map_parallel
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
from shardwise.methods.bootstrap.kernels import chebyshev_moments, jacobi_anger, means_of_draws
from shardwise.methods.pairs import Means, Pairs
from shardwise.stats import student
from shardwise.stats.resampling import key_of

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Residuals to draw from, with the moments found so far."""

    values: Floats
    reach: float  # largest absolute value
    variance: float
    _moments: list[Floats] = field(default_factory=list, repr=False)

    @classmethod
    def from_values(cls, values: Floats) -> Pool:
        """Make a pool of values, centred: residuals sum to zero but for rounding."""
        values = np.ascontiguousarray(values, np.float64).ravel()
        values = values - values.mean()
        return cls(values, float(np.abs(values).max()), float(np.mean(values * values)))

    def characteristic(self, frequencies: Floats) -> Complex:
        """φ(s) = mean of exp(i s r) over the pool.

        >>> pool = Pool.from_values(np.array([-1.0, 1.0]))
        >>> complex(np.round(pool.characteristic(np.array([0.5]))[0], 12)) == complex(round(np.cos(0.5), 12))
        True
        """
        z = np.asarray(frequencies, np.float64) * self.reach
        largest = float(np.abs(z).max(initial=0.0))
        # from this order on the Bessel functions J_k(z) are below rounding
        order = int(largest + 14.0 * np.cbrt(largest)) + 20
        if not self._moments or len(self._moments[0]) < order:
            self._moments[:] = [chebyshev_moments(self.values / (self.reach or 1.0), max(order, 64))]
        out = np.empty(z.shape, np.complex128)
        jacobi_anger(self._moments[0], z, out)
        return out


STEPS, PARTS = 10, 64  # an interval cut into 64 parts ten times over is down to rounding
FAR = 1.0 - 1e-6  # from here on 1 - P(X ≤ x) loses digits that P(X ≥ x) keeps


class Spread(Protocol):
    """A distribution around zero, that of an effect or of a difference."""

    @property
    def span(self) -> tuple[float, float]:
        """An interval that holds all of it, or all but what a double can tell."""

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""

    def density(self, x: Floats) -> Floats:
        """Density at x; for a distribution of separate points, that of its histogram."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """A sum of independent draws from one pool: `counts[i]` draws are taken `weights[i]` times each."""

    pool: Pool
    weights: Floats
    counts: Floats

    def contrast(self, null: str, systems: int) -> Draws:
        """Return the difference of two such means, or a system's effect: itself less the mean of all."""
        own_weight, others = (1.0, -1.0) if null == "difference" else (1.0 - 1.0 / systems, -1.0 / systems)
        weights = np.concatenate([own_weight * self.weights, others * self.weights])
        times = 1.0 if null == "difference" else systems - 1.0
        return Draws(self.pool, weights, np.concatenate([self.counts, times * self.counts]))

    @property
    def variance(self) -> float:
        """Variance of the sum."""
        return self.pool.variance * float(np.sum(self.counts * self.weights**2))

    @property
    def support(self) -> tuple[float, float]:
        """Least and greatest value that the sum can take."""
        low, high = float(self.pool.values.min()), float(self.pool.values.max())
        ends = np.stack([self.weights * low, self.weights * high])
        return float(np.sum(self.counts * ends.min(axis=0))), float(np.sum(self.counts * ends.max(axis=0)))

    def characteristic(self, frequencies: Floats) -> Complex:
        """Product of φ(w t)^c over the weights w and counts c: the characteristic function of the sum."""
        sizes, inverse = np.unique(np.abs(self.weights), return_inverse=True)
        grid = np.multiply.outer(sizes, frequencies)
        phi = self.pool.characteristic(grid.ravel()).reshape(grid.shape)[inverse]
        phi = np.where(self.weights[:, None] < 0, phi.conj(), phi)
        with np.errstate(divide="ignore"):
            logs = np.log(phi)
        logs.real = np.maximum(logs.real, -1e4)  # φ = 0: any small number, but not -∞, which times 0 is none
        return np.asarray(np.exp(np.einsum("w,wf->f", self.counts, logs)))


def first_where(holds: Callable[[Floats], Bools], low: float, high: float) -> float:
    """Return where a condition that stays true once it is true begins to hold, which it does at the upper end."""
    for _ in range(STEPS):
        points = np.linspace(low, high, PARTS + 1)
        k = int(np.argmax(np.append(holds(points[1:-1]), True)))
        low, high = float(points[k]), float(points[k + 1])
    return high


def find_quantiles(distribution: Spread, p: Floats) -> Floats:
    """Return where P(X ≤ x) reaches each p."""

    def find_quantile(share: float) -> float:
        def is_reached(x: Floats) -> Bools:
            reached = distribution.at_most(x) >= share
            return reached | (distribution.at_least(x) <= 1.0 - share) if share > FAR else reached

        return first_where(is_reached, *distribution.span)

    p = np.asarray(p, np.float64)
    return np.array([find_quantile(share) for share in p.ravel().tolist()]).reshape(p.shape)


MOST_ATOMS = 1 << 18
MOST_PRODUCTS = 1 << 20  # pairs of atoms to be merged at a time
FEW = 64  # distinct residuals; with so few, many sums may coincide, and listing is worth a try
MOST_DISTINCT = 2048
ALIKE = 1e-9  # values closer than this share of the range are one


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """A distribution of separate points."""

    values: Floats  # ascending
    shares: Floats

    @property
    def span(self) -> tuple[float, float]:
        """Outermost values."""
        return float(self.values[0]), float(self.values[-1])

    @property
    def _value_tolerance(self) -> float:
        return 4.0 * ALIKE * max(float(np.abs(self.values).max()), 1e-300)

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""
        total = np.concatenate([[0.0], np.cumsum(self.shares)])
        k = np.searchsorted(self.values, np.asarray(x) + self._value_tolerance, "right")
        return np.asarray(np.minimum(total[k], 1.0))

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""
        total = np.concatenate([np.cumsum(self.shares[::-1])[::-1], [0.0]])
        k = np.searchsorted(self.values, np.asarray(x) - self._value_tolerance, "left")
        return np.asarray(np.minimum(total[k], 1.0))

    def density(self, x: Floats) -> Floats:
        """Height of a histogram of 64 bars at x."""
        low, high = self.span
        if high <= low:
            return np.zeros(np.shape(x))
        heights, edges = np.histogram(self.values, 64, weights=self.shares, density=True)
        bar = np.clip(np.searchsorted(edges, x, "right") - 1, 0, 63)
        return np.where((np.asarray(x) < low) | (np.asarray(x) > high), 0.0, heights[bar])


def enumerate_sums(draws: Draws) -> Atoms | None:
    """Return the distribution of a sum of draws point by point, or None where the points are too many to list."""
    pool = draws.pool.values
    if draws.pool.reach == 0.0:
        return Atoms(np.zeros(1), np.ones(1))
    distinct = np.unique(pool[:MOST_DISTINCT]).size
    # logarithm of the number of ways to draw so many of distinct values, if no two sums coincide
    ways = gammaln(distinct + draws.counts) - gammaln(distinct) - gammaln(draws.counts + 1.0)
    if distinct > FEW and ways.sum() > np.log(MOST_PRODUCTS):
        return None
    values, shares = merge_values(pool, np.full(pool.size, 1.0 / pool.size), ALIKE * draws.pool.reach)
    total = Atoms(np.zeros(1), np.ones(1))
    for weight, count in zip(draws.weights, draws.counts, strict=True):
        part = _sum_copies(Atoms(values, shares), int(count))
        if part is None:
            return None
        scaled = Atoms(part.values * weight, part.shares)
        together = _add_atoms(total, scaled)
        if together is None:
            return None
        total = together
    return total


def _sum_copies(atoms: Atoms, count: int) -> Atoms | None:
    """The distribution of a sum of independent copies, by doubling."""
    total: Atoms | None = Atoms(np.zeros(1), np.ones(1))
    doubled: Atoms | None = atoms
    while count:
        if doubled is None or total is None:
            return None
        if count & 1:
            total = _add_atoms(total, doubled)
        count >>= 1
        doubled = _add_atoms(doubled, doubled) if count else None
    return total


def _add_atoms(first: Atoms, second: Atoms) -> Atoms | None:
    if first.values.size * second.values.size > MOST_PRODUCTS:
        return None
    values = np.add.outer(first.values, second.values).ravel()
    shares = np.multiply.outer(first.shares, second.shares).ravel()
    reach = float(np.abs(values).max())
    merged, probability = merge_values(values, shares, ALIKE * reach)
    return None if merged.size > MOST_ATOMS else Atoms(merged, probability)


def merge_values(values: Floats, shares: Floats, alike: float) -> tuple[Floats, Floats]:
    """Put values together that differ by rounding only, in ascending order.

    >>> merge_values(np.array([2.0, 1.0, 2.0 + 1e-14]), np.array([0.25, 0.5, 0.25]), 1e-12)
    (array([1., 2.]), array([0.5, 0.5]))
    """
    order = np.argsort(values, kind="stable")
    values, shares = values[order], shares[order]
    new = np.concatenate([[True], np.diff(values) > alike])
    starts = np.flatnonzero(new)
    return values[starts], np.add.reduceat(shares, starts)


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
    middle = float(find_quantiles(distribution, np.array([0.5]))[0])
    # median distance from the median
    deviation = first_where(
        lambda x: distribution.at_most(middle + x) + distribution.at_least(middle - x) >= 1.5,
        0.0,
        max(abs(end - middle) for end in distribution.span),
    )
    return invert_characteristic(draws, kernel_bandwidth(deviation, n))


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
    # beyond these points at most a negligible probability lies
    beyond = [min([support, *x[bound < np.log(NEGLIGIBLE)][:1].tolist()]) for support, x, bound, _ in sides]
    half = 1.02 * max(beyond)
    # density and distribution function on GRID points from -half on, by one Fourier transform each
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
    cdf = np.maximum.accumulate(np.clip(cdf, 0.0, 1.0))
    tails = [
        _join_tail(support, x, log, half, values)
        for (support, x, _, log), values in zip(sides, (1.0 - cdf, cdf[::-1]), strict=True)
    ]
    return Inverted(half, pdf, cdf, *tails)


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


BLOCK = 250  # replicates of one task
SMOOTH_GRID = 16384  # points of a smoothed distribution


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A distribution known by draws from it; probabilities are (r + 1)/(B + 1), never 0."""

    values: Floats  # ascending

    @property
    def span(self) -> tuple[float, float]:
        """Outermost draws."""
        return float(self.values[0]), float(self.values[-1])

    def at_most(self, x: Floats) -> Floats:
        """(draws ≤ x, and one) / (all draws, and one)."""
        return np.asarray((np.searchsorted(self.values, x, "right") + 1.0) / (self.values.size + 1.0))

    def at_least(self, x: Floats) -> Floats:
        """(draws ≥ x, and one) / (all draws, and one)."""
        r = self.values.size - np.searchsorted(self.values, x, "left")
        return np.asarray((r + 1.0) / (self.values.size + 1.0))

    def density(self, x: Floats) -> Floats:
        """Gaussian kernel density, as for ``density="kde"``."""
        return smooth_draws(self.values, self.values.size).density(x)


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Draws blurred by a Gaussian kernel, on a fine grid."""

    low: float
    step: float
    pdf: Floats
    cdf: Floats
    bandwidth: float

    @property
    def span(self) -> tuple[float, float]:
        """Ends of the grid."""
        return self.low, self.low + self.step * (self.cdf.size - 1)

    @property
    def _grid_points(self) -> Floats:
        return self.low + self.step * np.arange(self.cdf.size, dtype=np.float64)

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""
        return np.asarray(np.interp(x, self._grid_points, self.cdf, 0.0, 1.0), np.float64)

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""
        return np.asarray(np.interp(x, self._grid_points, 1.0 - self.cdf, 1.0, 0.0), np.float64)

    def density(self, x: Floats) -> Floats:
        """Density at x."""
        return np.asarray(np.interp(x, self._grid_points, self.pdf, 0.0, 0.0), np.float64)


def smooth_draws(draws: Floats, n: int) -> Smoothed:
    """Blur draws by a Gaussian kernel whose bandwidth is that of n of them.

    >>> distribution = smooth_draws(np.linspace(-1.0, 1.0, 201), 201)
    >>> round(distribution.bandwidth, 4), round(float(distribution.at_most(np.array([0.0]))[0]), 4)
    (0.2719, 0.5)
    """
    h = kernel_bandwidth(float(np.median(np.abs(draws - np.median(draws)))), n)
    low, high = float(draws.min()), float(draws.max())
    margin = max(9.0 * h, 1e-9 * max(abs(low), abs(high), 1e-300))
    low, high = low - margin, high + margin
    step = (high - low) / (SMOOTH_GRID - 1)
    position = (draws - low) / step
    k = position.astype(np.int64)
    right = position - k
    mass = np.bincount(k, 1.0 - right, SMOOTH_GRID + 1) + np.bincount(k + 1, right, SMOOTH_GRID + 1)
    spectrum = np.fft.rfft(mass[:SMOOTH_GRID] / draws.size, 2 * SMOOTH_GRID)
    t = np.pi / (step * SMOOTH_GRID) * np.arange(SMOOTH_GRID + 1)
    pdf = np.maximum(np.fft.irfft(spectrum * np.exp(-0.5 * (h * t) ** 2), 2 * SMOOTH_GRID)[:SMOOTH_GRID], 0.0)
    cdf = np.cumsum(pdf) - 0.5 * pdf
    return Smoothed(low, step, pdf / step, np.minimum(cdf, 1.0), h)


def resample_errors(
    draws: Draws,
    systems: int,
    n_resamples: int,
    seed: int,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Floats:
    """Return (n_resamples, systems) errors of the systems' effects: means of residuals drawn anew, less their mean."""
    if n_resamples < 1 or seed < 0:
        raise InputError((Option("n_resamples"), " must be at least 1 and ", Option("seed"), " at least 0"))
    if draws.pool.values.size >= 1 << 31:
        raise InputError(
            "more than two thousand million residuals cannot be resampled",
            remedy="use the ideal distribution",
        )
    counts = np.rint(draws.counts).astype(np.int64)
    work = partial(_resample_rows, draws.pool.values, draws.weights, counts, key_of(seed), systems)
    executor = None if jobs == 1 else borrow_executor()
    step = BLOCK if executor is None else max(BLOCK, -(-n_resamples // CHUNKS))
    ranges = [(first, min(first + step, n_resamples)) for first in range(0, n_resamples, step)]
    parts = map_parallel(
        work, ranges, jobs=jobs, executor=executor, progress=progress, steps=lambda rows: rows[1] - rows[0]
    )
    out = np.empty((n_resamples, systems))
    for (first, stop), part in zip(ranges, parts, strict=True):
        out[first:stop] = part - part.mean(axis=1, keepdims=True)
    return out


def _resample_rows(
    pool: Floats, weights: Floats, counts: Ints, key: np.uint64, systems: int, rows: tuple[int, int]
) -> Floats:
    """Some rows of the replicates."""
    out = np.empty((rows[1] - rows[0], systems))
    means_of_draws(pool, weights, counts, key, rows[0], out)
    return out


Null = Literal["difference", "marginal"]


@dataclass(frozen=True, slots=True, eq=False)
class EffectDistribution:
    """Bootstrap distribution of a quantity: an estimate plus the spread of its resampled error."""

    estimate: float
    spread: Spread
    scale: float = 1.0  # by which the resampled error is multiplied

    def cdf(self, x: Floats | float) -> Floats:
        """P(value ≤ x)."""
        return self.spread.at_most(self._standardize_error(x))

    def sf(self, x: Floats | float) -> Floats:
        """P(value ≥ x)."""
        return self.spread.at_least(self._standardize_error(x))

    def density(self, x: Floats | float) -> Floats:
        """Density at x."""
        return np.asarray(self.spread.density(self._standardize_error(x)) / self.scale)

    def quantile(self, p: Floats | float) -> Floats:
        """Return the values that the distribution stays below with probability p."""
        p = np.asarray(p, np.float64)
        if not ((p > 0) & (p < 1)).all():
            raise InputError("the probability of a quantile is not between 0 and 1")
        return np.asarray(self.estimate + self.scale * find_quantiles(self.spread, p))

    def curve(self, points: int = 201) -> pd.DataFrame:
        """Return ``value, density, cdf`` over the middle 99.98 % of the distribution, for plotting (V17 Fig. 3)."""

        low, high = self.quantile(np.array([1e-4, 1.0 - 1e-4]))
        value = np.linspace(low, high, points)
        return pd.DataFrame({"value": value, "density": self.density(value), "cdf": self.cdf(value)})

    def _standardize_error(self, x: Floats | float) -> Floats:
        return np.asarray((np.asarray(x, np.float64) - self.estimate) / self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class PairDistribution:
    """What differences of two systems are measured against: the bootstrap distribution of an error, one a table."""

    spreads: tuple[Spread, ...]
    tails: int
    scale: float  # by which the resampled error is multiplied
    name: str  # what distribution this is
    variance: Floats  # of one mean, (…,)

    def test_pairs(self, values: Floats, ia: Ints, ib: Ints) -> Pairs:
        """Test pairs of (…, R) means."""
        size = np.abs(values)
        difference = student.drop_noise(
            values[..., ia] - values[..., ib], np.maximum(size[..., ia], size[..., ib])
        )
        p, nothing = self.p_values(np.abs(difference)), np.full(difference.shape, np.nan)
        se = np.sqrt(2.0 * np.asarray(self.variance))[..., None]
        se = np.broadcast_to(student.drop_noise(se, size.max(axis=-1, keepdims=True)), difference.shape)
        return Pairs(difference, se, nothing, nothing, p, critical=self.critical, words=self.name)

    def describe_means(self, means: Means) -> Means:
        """Return means whose differences are measured by this distribution."""
        nothing = np.full(np.shape(self.variance), np.nan)
        pairs = partial(self.test_pairs, means.values)
        return replace(means, variance=self.variance, df=nothing, error="residuals", pairs=pairs)

    def p_values(self, differences: Floats) -> Floats:
        """(…, P) P(X ≥ d), with two tails plus P(X ≤ -d), X the error of a difference or of one system's effect."""
        d = np.asarray(differences, np.float64) / self.scale
        rows = zip(self.spreads, d.reshape(len(self.spreads), -1), strict=True)
        return np.stack([self._p_values(spread, row) for spread, row in rows]).reshape(d.shape)

    def critical(self, level: Floats | float) -> Floats:
        """(…,) smallest differences whose p-values are at most the levels; infinite where resamples are too few."""
        levels = np.asarray(level, np.float64)
        each = zip(self.spreads, levels.ravel().tolist(), strict=True)
        differences = np.array([self._critical_difference(spread, alpha) for spread, alpha in each])
        return (differences * self.scale).reshape(levels.shape)

    def _p_values(self, spread: Spread, d: Floats) -> Floats:
        p = spread.at_least(d)
        return np.minimum(p + spread.at_most(-d), 1.0) if self.tails == 2 else p

    def _critical_difference(self, spread: Spread, alpha: float) -> float:
        reach = max(abs(end) for end in spread.span) * (1.0 + 1e-9)
        # beyond it nothing is left but what resampling adds to every count
        beyond = reach * (1.0 + 1e-6) + 1e-300
        nothing, most, more = self._p_values(spread, np.array([0.0, reach, beyond])) <= alpha
        if nothing or not most:
            return 0.0 if nothing else beyond if more else np.inf
        return first_where(lambda d: self._p_values(spread, d) <= alpha, 0.0, reach)
