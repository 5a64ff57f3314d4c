"""Tests of two systems of which at least one gives different results each time, as plain functions on arrays.

Scores are (…, M, N): instances by topics, any number of leading axes. A deterministic system has M = 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from shardwise.core.arrays import Floats
from shardwise.numerics import resampling as kernels
from shardwise.numerics.mixed.posterior import Order
from shardwise.numerics.student import NOISE, t_statistic


@dataclass(frozen=True, slots=True, eq=False)
class Unified:
    """What the unified test needs of two systems, and what it says."""

    difference: Floats
    variance: Floats  # of the difference
    df: Floats
    topic_variance: Floats  # s_d²: over topics, of the differences of per-topic means
    ms_instance: tuple[Floats | None, Floats | None]  # None for a deterministic system
    ms_error: tuple[Floats | None, Floats | None]

    @property
    def p(self) -> Floats:
        """Two-sided p-values."""
        return t_p(self.difference, np.sqrt(self.variance), self.df)


def t_p(difference: Floats, se: Floats, df: Floats | float) -> Floats:
    """Two-sided p-value of Student's t; 1 or 0 where there is no spread at all."""
    return np.asarray(2.0 * stats.t.sf(np.abs(t_statistic(difference, se)), df))


def mean_squares(y: Floats) -> tuple[Floats, Floats]:
    """Two-way mean squares of one system's scores: instances, and instance × topic."""
    m, n = y.shape[-2:]
    own, topic, grand = y.mean(axis=-1), y.mean(axis=-2), y.mean(axis=(-2, -1))
    rest = y - own[..., :, None] - topic[..., None, :] + grand[..., None, None]
    ms_error = (rest**2).sum(axis=(-2, -1)) / ((m - 1.0) * (n - 1.0))
    return n * own.var(axis=-1, ddof=1), ms_error


def unified(a: Floats, b: Floats, *, deterministic: tuple[bool, bool] = (False, False)) -> Unified:
    """The unified test: variance over topics and over each system's own instances, Satterthwaite df.

    Var = s_d²/N + Σ_l max(MS_I - MS_E, 0)/(M N). On two complete systems with as many instances and equal variances it
    is the nested mixed model; it needs neither, and a deterministic system just has no term.

    >>> rng = np.random.default_rng(1)
    >>> found = unified(rng.normal(size=(5, 20)), rng.normal(size=(1, 20)), deterministic=(False, True))
    >>> found.ms_error[1] is None
    True
    """
    n = a.shape[-1]
    d = a.mean(axis=-2) - b.mean(axis=-2)
    topic_variance = d.var(axis=-1, ddof=1)
    variance = topic_variance / n
    spread = variance**2 / (n - 1.0)
    squares: list[tuple[Floats | None, Floats | None]] = []
    for y, fixed in zip((a, b), deterministic, strict=True):
        if fixed:
            squares.append((None, None))
            continue
        m = y.shape[-2]
        ms_i, ms_e = mean_squares(y)
        squares.append((ms_i, ms_e))
        counts = ms_i > ms_e
        variance = variance + np.where(counts, ms_i - ms_e, 0.0) / (m * n)
        own = (ms_i / (m * n)) ** 2 / (m - 1.0) + (ms_e / (m * n)) ** 2 / ((m - 1.0) * (n - 1.0))
        spread = spread + np.where(counts, own, 0.0)
    positive = spread > 0.0
    df = np.where(positive, variance**2 / np.where(positive, spread, 1.0), n - 1.0)
    (ia, ea), (ib, eb) = squares
    return Unified(d.mean(axis=-1), np.asarray(variance), df, topic_variance, (ia, ib), (ea, eb))


def unified_order(found: Unified, counts: tuple[int, int], n: int) -> tuple[Order, Floats]:
    """Lines and order of the posterior that belongs to the unified test, and their weights in the variance.

    φ_d of the per-topic differences, φ_I ≥ φ_E of each system, φ_d ≥ Σ φ_E/M.
    """
    ss, df, weights = [float(found.topic_variance) * (n - 1)], [n - 1.0], [1.0 / n]
    lower = [1.0]
    orders: list[tuple[int, int]] = []
    for m, ms_i, ms_e in zip(counts, found.ms_instance, found.ms_error, strict=True):
        if ms_i is None or ms_e is None:
            continue
        at = len(ss)
        orders.append((at, at + 1))
        ss += [float(ms_i) * (m - 1), float(ms_e) * (m - 1) * (n - 1)]
        df += [m - 1.0, (m - 1.0) * (n - 1.0)]
        weights += [1.0 / (m * n), -1.0 / (m * n)]
        lower += [0.0, -1.0 / m]
    rows = [np.array(lower)]
    for up, down in orders:
        row = np.zeros(len(ss))
        row[up], row[down] = 1.0, -1.0
        rows.append(row)
    return Order(np.array(ss), np.array(df), np.array(rows)), np.array(weights)


def paired_t(z: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and t of differences per topic (J15 eq. 3); z is (…, N)."""
    mean = z.mean(axis=-1)
    se = z.std(axis=-1, ddof=1) / np.sqrt(z.shape[-1])
    se = np.where(se <= NOISE * np.abs(z).max(initial=0.0), 0.0, se)
    return mean, se, t_statistic(mean, se)


def bootstrap_p(z: Floats, t: Floats, n_resamples: int, seed: int) -> float:
    """Studentised bootstrap over topics: share of |t*| ≥ |t| over all rows of z, B resamples each.

    z is (K, N); row k is resampled by itself, recentred by the mean of its own bootstrap means (J15 Alg. 1, 2), and
    held against t[k]. Replicate i of row k depends on (seed, k, i) only. The p-value is (r + 1)/(KB + 1).
    """
    rows, n = z.shape
    key = kernels.key_of(seed)
    as_large = np.zeros(1, dtype=np.int64)
    for k in range(rows):
        centred = z[k] - z[k].mean()  # for the sake of the variances; recentring makes it irrelevant
        if not centred.any():  # no spread: certain either way
            as_large[0] += n_resamples if t[k] == 0.0 else 0
            continue
        counts = kernels.topic_counts(n, key, k * n_resamples, n_resamples) / n
        mean = counts @ centred
        kernels.count_as_large(
            mean[:, None], (counts @ centred**2)[:, None], np.array([mean.mean()]), t[k : k + 1], n, as_large
        )
    return float((as_large[0] + 1) / (rows * n_resamples + 1))
