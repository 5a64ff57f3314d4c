"""Bounded margins: the distribution of each system's scores, as effectiveness measures have it.

Real scores lie between 0 and 1, are skewed, pile up at 0 or 1, and may take few values only (P@10 takes eleven). A
system's margin is one of: a beta distribution or a kernel estimate with atoms at 0 and 1 (many values), a beta-binomial
distribution or a kernel estimate on the values that occur (few values). The idea of simulating evaluation data from
such margins joined by a copula is Urbano & Nagler's (SIGIR 2018); the estimators here are our own.

All margins of a set share one support: cells from ``low`` to ``high``, of width 0 where a score is a single value;
inside a cell a score is uniform. So a mean is a sum, and means can be set exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.lab.scenarios.kernels import GUIDES, KNOTS, REACH, SMOOTH, read_tails, tabulate_tails


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
        return replace(
            self,
            kernel=self.kernel[rows],
            base=self.base[rows],
            mean=self.mean[rows],
            concentration=self.concentration[rows],
            reach=self.reach[rows],
        )

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
            parametric = rows[~kernel]
            mean = special.expit(special.logit(self.mean[parametric]) + shift[~kernel])
            p[~kernel] = self._parametric_probabilities(mean, self.concentration[parametric])
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def _parametric_probabilities(self, mean: Floats, concentration: Floats) -> Floats:
        """Return beta or beta-binomial probabilities of the cells."""
        a, b = (mean * concentration)[:, None], ((1.0 - mean) * concentration)[:, None]
        if self.high[1] > self.low[1]:
            p = np.zeros((len(mean), len(self.low)))
            inner = np.append(self.low[1:-1], 1.0)
            p[:, 1:-1] = np.diff(special.betainc(a, b, inner), axis=1)
            return np.maximum(p, 0.0)
        n = len(self.low) - 1
        k = np.arange(n + 1.0)
        ways = -special.betaln(n - k + 1.0, k + 1.0) - np.log(n + 1.0)
        return np.asarray(np.exp(ways + special.betaln(k + a, n - k + b) - special.betaln(a, b)))

    def means(self, rows: Ints, shift: Floats) -> Floats:
        """(n,) exact means."""
        return np.asarray(self.cell_probabilities(rows, shift) @ self.middle)

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

    def exceed_points(self, rows: Ints, x: Floats) -> Floats:
        """Return P(z > x) for the systems of these rows, (n, K) points."""
        out = np.empty(x.shape)
        read_tails(rows, np.clip(x, -REACH, REACH), self.value, self.slope, out)
        for i in np.flatnonzero(self.spread[rows] < SMOOTH):
            j = rows[i]
            out[i] = special.ndtr((self.latent[j][:, None] - x[i]) / max(self.spread[j], 1e-12)).mean(axis=0)
        return out


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
    return np.asarray(low[0] + tails.exceed_points(rows, nodes) @ weight)


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
