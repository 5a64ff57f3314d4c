"""Shares of right answers: intervals that stay where shares can be."""

from __future__ import annotations

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats

STEPS = 60  # halvings of an interval of length 2: down to rounding


def wilson(share: Floats, n: Floats, alpha: Floats | float) -> tuple[Floats, Floats]:
    """Ends of the score interval of a share of n (Wilson 1927), within [0, 1].

    Parameters
    ----------
    share
        Shares of right answers.
    n
        Of so many.
    alpha
        One less the level of the interval.

    >>> [round(float(end), 4) for end in wilson(np.array(1.0), np.array(20.0), 0.05)]
    [0.8389, 1.0]
    """
    z2 = special.ndtri(1.0 - np.asarray(alpha) / 2.0) ** 2
    centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = np.sqrt(z2 * (share * (1.0 - share) / n + z2 / (4.0 * n**2))) / (1.0 + z2 / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def clopper_pearson(hits: Floats, n: Floats, alpha: Floats | float) -> tuple[Floats, Floats]:
    """Ends of the exact interval of a probability after so many hits in n (Clopper & Pearson 1934).

    Parameters
    ----------
    hits
        How often it happened.
    n
        Of so many times.
    alpha
        One less the level of the interval.

    >>> [round(float(end), 4) for end in clopper_pearson(np.array(0.0), np.array(100.0), 0.05)]
    [0.0, 0.0362]
    """
    tail, misses = np.asarray(alpha) / 2.0, n - hits
    low = special.betaincinv(np.maximum(hits, 1.0), misses + 1.0, tail)
    high = special.betaincinv(hits + 1.0, np.maximum(misses, 1.0), 1.0 - tail)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


def tango(only_a: Floats, only_b: Floats, n: Floats, alpha: Floats | float) -> tuple[Floats, Floats]:
    """Ends of the score interval of the difference of two shares of the same n items (Tango 1998), within [-1, 1].

    They solve |z(δ)| = z_{α/2}, z(δ) = (b - c - nδ) / √(n(2q + δ(1 - δ))), q the likeliest share of items that only the
    second gets right were δ the difference.

    Parameters
    ----------
    only_a, only_b
        b and c, items that only the first or only the second gets right.
    n
        All items.
    alpha
        One less the level of the interval.

    >>> [round(float(end), 3) for end in tango(np.array(1.0), np.array(7.0), np.array(21.0), 0.05)]
    [-0.517, -0.026]
    """
    b, c, total, level = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (only_a, only_b, n, alpha)))
    z = special.ndtri(1.0 - level / 2.0)
    seen = (b - c) / total
    ends = []
    for edge in (-1.0, 1.0):
        inside, outside = seen.copy(), np.full(seen.shape, edge)
        for _ in range(STEPS):
            middle = (inside + outside) / 2.0
            far = np.abs(_score_statistic(middle, b, c, total)) > z
            inside, outside = np.where(far, inside, middle), np.where(far, middle, outside)
        ends.append(inside)
    return ends[0], ends[1]


def _score_statistic(delta: Floats, b: Floats, c: Floats, n: Floats) -> Floats:
    linear = -b - c + (2.0 * n - b + c) * delta
    root = np.sqrt(np.maximum(linear**2 + 8.0 * n * c * delta * (1.0 - delta), 0.0))
    q = (root - linear) / (4.0 * n)
    variance = np.maximum(n * (2.0 * q + delta * (1.0 - delta)), np.finfo(float).tiny)
    return np.asarray((b - c - n * delta) / np.sqrt(variance))
