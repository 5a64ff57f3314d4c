"""Bounded margins: the distribution of each system's scores, as effectiveness measures have it.

Real scores lie between 0 and 1, are skewed, pile up at 0 or 1, and may take few values only (P@10 takes eleven). A
system's margin is one of: a beta distribution or a kernel estimate with atoms at 0 and 1 (many values), a beta-binomial
distribution or a kernel estimate on the values that occur (few values). The idea of simulating evaluation data from
such margins joined by a copula is Urbano & Nagler's (SIGIR 2018); the estimators here are our own.

All margins of a set share one support: cells from ``low`` to ``high``, of width 0 where a score is a single value;
inside a cell a score is uniform. So a mean is a sum, and means can be set exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy import special

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.lab.scenarios.kernels import GUIDES, KNOTS, REACH, SMOOTH, read_tails, tabulate_tails

Kind = Literal["beta", "discrete", "kernel", "auto"]
CELLS = 400  # between 0 and 1, narrow towards both ends
TAIL = 1e-6  # share of a kernel estimate spread evenly, so that every mean between 0 and 1 can be reached
LEAST = 1e-300  # where a logarithm is taken
BANDWIDTHS = np.geomspace(0.005, 0.3, 15)  # on the scale of CELLS, which runs from 0 to 1
SHARES, SPREADS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0), (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """Margins of R systems on one support; ``shift`` moves each system's mean, 0 leaves it as it was fitted.

    A beta or beta-binomial distribution keeps its concentration and moves the logit of its mean by the shift;
    probabilities p of a kernel estimate become p·exp(shift · score), rescaled. Either way all quantiles rise with the
    shift.
    """

    low: Floats  # (K,)
    high: Floats  # (K,)
    kernel: Bools  # (R,) is it a kernel estimate, or a parametric distribution?
    base: Floats  # (R, K) probabilities of the kernel estimates
    mean: Floats  # (R,) of the parametric distributions
    concentration: Floats  # (R,) a + b of the parametric distributions, NaN where there is none
    reach: Floats  # (R, 2) least and largest score seen

    @property
    def size(self) -> int:
        """Number of systems."""
        return len(self.base)

    @property
    def family(self) -> tuple[str, ...]:
        """What each system's margin is."""
        smooth = bool((self.high > self.low).any())
        names = ("beta", "kernel") if smooth else ("beta-binomial", "discrete kernel")
        return tuple(names[int(kernel)] for kernel in self.kernel)

    @property
    def middle(self) -> Floats:
        """(K,) mean score inside each cell."""
        return (self.low + self.high) / 2.0

    def select_systems(self, rows: Ints) -> Margins:
        """Select the margins of these systems."""
        each = ("kernel", "base", "mean", "concentration", "reach")
        return replace(self, **{name: getattr(self, name)[rows] for name in each})

    def replace_unsuited(self, target: Floats) -> Margins:
        """Replace kernel estimates of systems that never scored as high or low as their target by distributions.

        Such a system does not show what its scores would look like there, and stretching the few it has makes them all
        or nothing.
        """
        beyond = (target <= self.reach[:, 0]) | (target >= self.reach[:, 1])
        return replace(self, kernel=self.kernel & ~(beyond & np.isfinite(self.concentration)))

    def cell_probabilities(self, rows: Ints, shift: Floats) -> Floats:
        """Return (n, K) probabilities of the cells for these systems, each moved by its shift."""
        p = np.empty((len(rows), len(self.low)))
        kernel = self.kernel[rows]
        if kernel.any():
            with np.errstate(divide="ignore"):
                weight = np.log(self.base[rows[kernel]]) + shift[kernel, None] * self.middle
            p[kernel] = np.exp(weight - weight.max(axis=1, keepdims=True))
        if not kernel.all():
            # beta or beta-binomial probabilities of the cells
            parametric = rows[~kernel]
            mean = special.expit(special.logit(self.mean[parametric]) + shift[~kernel])
            concentration = self.concentration[parametric]
            a, b = (mean * concentration)[:, None], ((1.0 - mean) * concentration)[:, None]
            if self.high[1] > self.low[1]:
                inner = np.append(self.low[1:-1], 1.0)
                shares = np.zeros((len(mean), len(self.low)))
                shares[:, 1:-1] = np.maximum(np.diff(special.betainc(a, b, inner), axis=1), 0.0)
            else:
                n = len(self.low) - 1
                k = np.arange(n + 1.0)
                ways = -special.betaln(n - k + 1.0, k + 1.0) - np.log(n + 1.0)
                shares = np.exp(ways + special.betaln(k + a, n - k + b) - special.betaln(a, b))
            p[~kernel] = shares
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def means(self, rows: Ints, shift: Floats) -> Floats:
        """(n,) exact means."""
        return np.asarray(self.cell_probabilities(rows, shift) @ self.middle)

    def guide(self, shift: Floats) -> tuple[Floats, Ints]:
        """Return cumulated probabilities and the guide of `guide_quantiles` of margins moved by their shifts."""
        return guide_quantiles(self.cell_probabilities(np.arange(self.size), shift))

    def solve_shifts(self, target: Floats, mean: Callable[[Ints, Floats], Floats] | None = None) -> Floats:
        """Solve for (R,) shifts at which a mean, increasing in the shift, meets the target (default: the margin)."""
        mean_function = mean or self.means
        least, most = float(self.low.min()), float(self.high.max())
        outside = (target <= least) | (target >= most)
        if outside.any():
            raise InputError(
                f"no scores between {least:g} and {most:g} have the mean {target[outside][0]:g}",
                remedy="choose a mean, and effects, that stay inside",
            )
        rows = np.arange(self.size)
        below, above = np.full(self.size, -1.0), np.full(self.size, 1.0)
        for edge, sign in ((below, -1.0), (above, 1.0)):
            while True:
                short = sign * (mean_function(rows, edge) - target) < 0.0
                if not short.any():
                    break
                edge[short] *= 2.0
        return _find_roots(lambda j, t: mean_function(j, t) - target[j], below, above)


def _find_roots(f: Callable[[Ints, Floats], Floats], below: Floats, above: Floats) -> Floats:
    """Find roots of increasing functions, all at once, by regula falsi with halved weights (Illinois)."""
    a, b = below.copy(), above.copy()
    active = np.arange(len(a))
    fa, fb = f(active, a), f(active, b)
    for _ in range(200):
        active = active[(np.abs(fb[active]) > 1e-13) & (np.abs(b - a)[active] > 1e-14)]
        if not len(active):
            break
        pa, pb, va, vb = a[active], b[active], fa[active], fb[active]
        x = pb - vb * (pb - pa) / (vb - va)
        v = f(active, x)
        crossed = v * vb < 0.0
        a[active], fa[active] = np.where(crossed, pb, pa), np.where(crossed, vb, va / 2.0)
        b[active], fb[active] = x, v
    return b


@dataclass(frozen=True, slots=True, eq=False)
class Tails:
    """P(z > x) of each system's normal scores z = latent + spread · N(0, 1), averaged over its (C,) latent ones.

    Tabulated with its slope where it is smooth; where little is drawn anew it is all but a staircase, and is summed.
    """

    latent: Floats  # (n, C)
    spread: Floats  # (n,)
    value: Floats  # (n, KNOTS) at even steps from -REACH to REACH
    slope: Floats

    @classmethod
    def from_latent(cls, latent: Floats, spread: Floats) -> Tails:
        """Tabulate the tails."""
        value, slope = np.empty((len(latent), KNOTS)), np.empty((len(latent), KNOTS))
        tabulate_tails(np.ascontiguousarray(latent), spread, value, slope)
        return cls(latent, spread, value, slope)


def expected_given(p: Floats, margins: Margins, rows: Ints, tails: Tails) -> Floats:
    """(n,) means of scores with the probabilities p of the cells, given the tails of their normal scores.

    E[y] = least score + ∫ P(score > y) dy; Simpson's rule inside the cells.
    """
    low, high = margins.low, margins.high
    cut = _cumulate_probabilities(p)
    width, gap = high - low, np.append(low[1:] - high[:-1], 0.0)
    weight = np.concatenate([[0.0], gap])
    weight[:-1] += width / 6.0
    weight[1:] += width / 6.0
    inside = np.flatnonzero(width > 0)
    nodes = special.ndtri(np.concatenate([cut, (cut[:, inside] + cut[:, inside + 1]) / 2.0], axis=1))
    weight = np.concatenate([weight, width[inside] * (4.0 / 6.0)])
    # P(z > x) at the nodes for the systems of these rows
    beyond = np.empty(nodes.shape)
    read_tails(rows, np.clip(nodes, -REACH, REACH), tails.value, tails.slope, beyond)
    for i in np.flatnonzero(tails.spread[rows] < SMOOTH):
        j = rows[i]
        distance = (tails.latent[j][:, None] - nodes[i]) / max(tails.spread[j], 1e-12)
        beyond[i] = special.ndtr(distance).mean(axis=0)
    return np.asarray(low[0] + beyond @ weight)


def _cumulate_probabilities(p: Floats) -> Floats:
    """Return (n, K + 1) cumulated probabilities, from 0 to exactly 1."""
    cut = np.zeros((len(p), p.shape[1] + 1))
    np.minimum(np.cumsum(p, axis=1), 1.0, out=cut[:, 1:])
    cut[:, -1] = 1.0
    return cut


def guide_quantiles(p: Floats) -> tuple[Floats, Ints]:
    """Return cumulated probabilities, and for each of evenly spaced quantiles the last cell starting at or below it."""
    cut = _cumulate_probabilities(p)
    marks = np.arange(GUIDES + 1) / GUIDES
    first = np.stack([np.searchsorted(row[1:-1], marks, side="right") for row in cut])
    return cut, first.astype(np.int64)


def fit_margins(y: Floats, kind: Kind) -> Margins:
    """Fit the margins of (n, R) scores, each system its own.

    "auto" looks whether the scores take few values. It then gives each system the parametric distribution or the kernel
    estimate, whichever predicts its scores better: by Akaike's criterion, and for kernel estimates by the
    leave-one-out log-likelihood that this criterion stands for.

    >>> rng = np.random.default_rng(1)
    >>> set(fit_margins(rng.beta(2, 5, (50, 4)), "beta").family)
    {'beta'}
    """
    low, high = float(y.min()), float(y.max())
    if low < 0 or high > 1:
        raise InputError(
            f"a score is {low if low < 0 else high:g}, outside 0 to 1",
            remedy=("use ", Option("margins", "normal"), ", or divide by the largest possible score"),
        )
    still = np.flatnonzero(y.max(axis=0) == y.min(axis=0))
    if len(still):
        raise InputError(
            f"system number {still[0] + 1} has the same score everywhere, which shows no distribution",
            remedy="leave it out",
        )
    values, step = few_values(y)
    if kind == "discrete" or (kind == "auto" and len(values)):
        if not len(values):
            raise InputError(
                "the scores take too many values for discrete margins",
                remedy=("use ", Option("margins", "kernel")),
            )
        return _fit_discrete(y, values, step)
    return _fit_continuous(y, kind)


def few_values(y: Floats) -> tuple[Floats, int]:
    """The values that scores take, and n if these are 0, 1/n, ..., 1; no values if there are very many."""
    seen = np.unique(np.round(y, 9))
    for n in range(1, 101):
        if np.abs(seen * n - np.round(seen * n)).max() < 1e-6 * n:
            return np.arange(n + 1.0) / n, n
    return (seen, 0) if len(seen) <= 0.1 * y.size else (np.empty(0), 0)


def _match_moments(y: Floats, trials: int = 0) -> tuple[Floats, Floats]:
    """Return means and concentrations of beta or beta-binomial distributions with the scores' means and variances."""
    mean, variance = y.mean(axis=0), y.var(axis=0, ddof=1)
    # beta: v = m(1-m)/(c+1); beta-binomial share of n: v = m(1-m)/n · (c+n)/(c+1)
    share = variance / (mean * (1.0 - mean))
    if trials:
        share = (trials * share - 1.0) / max(trials - 1.0, 1.0)
    return mean, 1.0 / np.clip(share, 1e-6, 0.999) - 1.0


def _cell_edges() -> tuple[Floats, Floats, Floats]:
    """Return edges of cells equally wide on the scale of arcsin √score; their ends, with an atom at 0 and one at 1."""
    edges = np.sin(np.linspace(0.0, np.pi / 2, CELLS + 1)) ** 2
    return edges, np.concatenate([[0.0], edges[:-1], [1.0]]), np.concatenate([[0.0], edges[1:], [1.0]])


def _fit_continuous(y: Floats, kind: Kind) -> Margins:
    """Fit beta distributions and kernel estimates on cells."""
    edges, low, high = _cell_edges()
    r = y.shape[1]
    mean, concentration = _match_moments(y)
    # scores that are exactly 0 or 1; what was seen once is no atom
    zeros, ones = (y == 0.0).sum(axis=0).astype(float), (y == 1.0).sum(axis=0).astype(float)
    zeros[zeros < 2], ones[ones < 2] = 0.0, 0.0
    counts = _count_values(np.clip(np.searchsorted(edges, y, side="right") - 1, 0, CELLS - 1), CELLS)
    counts[:, 0] -= zeros
    counts[:, -1] -= ones
    # normal kernels on the scale of the cells, reflected at both ends; each system has its own bandwidth
    shares, predicted = _smooth_counts(counts, map(_reflect_kernel, BANDWIDTHS.tolist()))
    inner = counts.sum(axis=1)
    n = inner + zeros + ones
    smooth = np.column_stack([zeros / n, (inner / n)[:, None] * shares, ones / n])
    base = _with_moments(smooth, (low + high) / 2.0, mean, y.var(axis=0, ddof=1))
    base = (1.0 - TAIL) * base + TAIL * (high > low) / CELLS
    reach = np.column_stack([y.min(axis=0), y.max(axis=0)])
    distributions = Margins(low, high, np.zeros(r, dtype=bool), base, mean, concentration, reach)
    akaike = _fit_parametric(distributions, counts, slice(1, -1))
    # a beta distribution never gives exactly 0 or 1
    kernel = (akaike <= predicted) | (zeros > 0) | (ones > 0)
    return replace(distributions, kernel=kernel if kind == "auto" else np.full(r, kind == "kernel"))


def _count_values(places: Ints, size: int) -> Floats:
    """(R, size) how often each system has each value, by the (n, R) numbers of its values."""
    return np.stack([np.bincount(column, minlength=size) for column in places.T]).astype(float)


def _smooth_counts(counts: Floats, kernels: Iterable[Floats]) -> tuple[Floats, Floats]:
    """(R, K) counts smoothed by the kernel that predicts them best, and leave-one-out log-likelihoods of that."""
    n = counts.sum(axis=1)
    best, smooth = np.full(len(counts), -np.inf), np.full_like(counts, 1.0 / counts.shape[1])
    for spread in kernels:
        mass = counts @ spread
        others = (mass - np.diag(spread)) / np.maximum(n - 1.0, 1.0)[:, None]
        log_likelihood = special.xlogy(counts, np.maximum(others, LEAST)).sum(axis=1)
        better = (log_likelihood > best) & (n > 0)
        best = np.where(better, log_likelihood, best)
        smooth = np.where(better[:, None], mass / np.maximum(n, 1.0)[:, None], smooth)
    return smooth, best


@lru_cache(maxsize=len(BANDWIDTHS))
def _reflect_kernel(h: float) -> Floats:
    """(CELLS, CELLS) share of each cell that a normal kernel of bandwidth h moves to each other cell."""
    middle, edge = (np.arange(CELLS) + 0.5) / CELLS, np.arange(CELLS + 1) / CELLS
    spread = np.zeros((CELLS, CELLS))
    for image in (middle, -middle, 2.0 - middle):
        spread += np.diff(special.ndtr((edge - image[:, None]) / h), axis=1)
    return np.asarray(spread / spread.sum(axis=1, keepdims=True))


def _fit_discrete(y: Floats, values: Floats, trials: int) -> Margins:
    """Fit beta-binomial distributions and kernel estimates on the values themselves.

    A kernel leaves a score where it is, or moves it to values near in order, the less likely the further.
    """
    r, k = y.shape[1], len(values)
    counts = _count_values(np.abs(y[:, :, None] - values).argmin(axis=2), k)
    near = [nearness ** np.abs(np.arange(k)[:, None] - np.arange(k)) for nearness in SPREADS]
    near = [weights / weights.sum(axis=1, keepdims=True) for weights in near]
    smooth, best = _smooth_counts(
        counts, ((1.0 - share) * np.eye(k) + share * weights for weights in near for share in SHARES)
    )
    mean, concentration = _match_moments(y, trials)
    base = (1.0 - TAIL) * _with_moments(smooth, values, mean, y.var(axis=0, ddof=1)) + TAIL / k
    reach = np.column_stack([y.min(axis=0), y.max(axis=0)])
    plain = Margins(values, values, np.ones(r, dtype=bool), base, mean, concentration, reach)
    if trials < 2:
        return replace(plain, concentration=np.full(r, np.nan))
    akaike = _fit_parametric(replace(plain, kernel=np.zeros(r, dtype=bool)), counts, slice(None))
    return replace(plain, kernel=akaike <= best)


def _fit_parametric(margins: Margins, counts: Floats, cells: slice) -> Floats:
    """(R,) log-likelihoods of some cells by parametric distributions, less their two parameters (Akaike)."""
    p = margins.cell_probabilities(np.arange(margins.size), np.zeros(margins.size))[:, cells]
    return np.asarray(special.xlogy(counts, np.maximum(p, LEAST)).sum(axis=1) - 2.0)


def _with_moments(p: Floats, x: Floats, mean: Floats, variance: Floats) -> Floats:
    """Tilt (R, K) probabilities, p·exp(θx + ηx²), until they have these means and variances; smoothing blurs them.

    Newton's method on the convex potential; where no tilt reaches the moments, the probabilities stay as they are.
    """
    powers = np.column_stack([x, x**2])
    wanted = np.column_stack([mean, variance + mean**2])
    theta = np.zeros((len(p), 2))
    with np.errstate(divide="ignore"):
        start = np.log(p)

    def tilt_weights(t: Floats) -> tuple[Floats, Floats]:
        weight = start + t @ powers.T
        top = weight.max(axis=1, keepdims=True)
        q = np.exp(weight - top)
        total = q.sum(axis=1, keepdims=True)
        return q / total, (np.log(total) + top)[:, 0] - (t * wanted).sum(axis=1)

    q, height = tilt_weights(theta)
    for _ in range(60):
        moment = q @ powers
        slope = moment - wanted
        if np.abs(slope).max() < 1e-13:
            break
        bend = np.einsum("rk,ka,kb->rab", q, powers, powers) - moment[:, :, None] * moment[:, None, :]
        step = np.linalg.solve(bend + 1e-14 * np.eye(2), slope[:, :, None])[:, :, 0]
        for _ in range(30):  # halve the steps that lead uphill
            tried = theta - step
            q, level = tilt_weights(tried)
            uphill = level > height + 1e-15
            if not uphill.any():
                break
            step[uphill] /= 2.0
        theta, height = tried, level
    reached = np.abs(q @ powers - wanted).max(axis=1) < 1e-9
    return np.where(reached[:, None], q, p)


def distribution_margins(mean: Floats, variance: float, kind: Kind) -> Margins:
    """Beta distributions, or beta-binomial ones for measures on ten documents, of given means and one variance."""
    if kind in ("kernel", "auto"):
        raise InputError(
            (Option("margins", kind), " are estimated from scores"),
            remedy=("give scores, or use ", Option("margins", "beta")),
        )
    r = len(mean)
    if not ((mean > 0) & (mean < 1)).all():
        raise InputError("bounded scores have means between 0 and 1", remedy="choose other effects")
    share = variance / (mean * (1.0 - mean))
    trials = 10 if kind == "discrete" else 0
    if trials:
        share = (trials * share - 1.0) / (trials - 1.0)
    if (share >= 1).any() or (share <= 0).any():
        raise InputError(
            f"no {kind} margin has the mean {mean[np.argmax(share)]:g} and the standard deviation "
            f"{np.sqrt(variance):.3g}",
            remedy="choose other standard deviations",
        )
    if trials:
        low = high = np.arange(trials + 1.0) / trials
    else:
        _, low, high = _cell_edges()
    reach = np.tile([0.0, 1.0], (r, 1))
    none = np.zeros(r, dtype=bool)
    return Margins(low, high, none, np.ones((r, len(low))), mean, 1.0 / share - 1.0, reach)
