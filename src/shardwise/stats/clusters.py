"""Items in clusters: variances of means, their degrees of freedom, design effects, few or unequal clusters.

With n items in G clusters of sizes n_g and d_i - m the centred values, the variance of the mean is CR2's (Bell &
McCaffrey 2002), var = Σ_g (Σ_{i∈g}(d_i - m))² / (1 - n_g/n) / n². Its degrees of freedom are Satterthwaite's,
f = (tr M)² / tr M², M the covariance of the clusters' errors were items independent; G - 1 for clusters of one size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats, Ints
from shardwise.stats.moderation import get_prior_df, own_share, spread_share

# variances up to this are rounding, for values in [0, 1]
NO_VARIANCE = 1e-14


class ClusterVariance(NamedTuple):
    """Variance of means of items in clusters; arrays are (…)."""

    variance: Floats
    # degrees of freedom of the variance
    df: float
    # variance over that of as many independent items, 1 at least
    design_effect: Floats
    # n / design effect
    items: Floats


def sum_clusters(values: Floats, cluster: Ints) -> Floats:
    """Sum values over the items of each cluster.

    Parameters
    ----------
    values : array
        (…, n) values.
    cluster : array of int
        (n,) number of each item's cluster, 0 … G - 1, none without items.

    Returns
    -------
    array
        (…, G) sums.

    >>> sum_clusters(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1])).tolist()
    [2.0, 5.0]
    """
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(int(cluster.max()) + 1))
    return np.asarray(np.add.reduceat(np.asarray(values, np.float64)[..., order], starts, axis=-1))


def satterthwaite_df(sizes: Ints | Floats) -> float:
    """Compute the degrees of freedom of CR2's variance of a mean from the sizes of the clusters.

    M_gh = (n_g·1[g=h] - n_g n_h/n) / √((1 - n_g/n)(1 - n_h/n)), f = (tr M)²/tr M². As M_gg = n_g and M_gh² is a product
    of one number of g and one of h, no matrix is needed.

    Parameters
    ----------
    sizes : array
        (G,) numbers of items.

    Returns
    -------
    float
        f, G - 1 where all sizes are equal.

    >>> satterthwaite_df(np.array([2, 2, 2]))
    2.0
    >>> round(satterthwaite_df(np.array([20, 2, 2, 2])), 3)
    1.412
    """
    sizes = np.asarray(sizes, np.float64)
    n = sizes.sum()
    u = (sizes / n) ** 2 * n / (1.0 - sizes / n)
    squared = (sizes**2).sum() + u.sum() ** 2 - (u**2).sum()
    return float(n**2 / squared)


def cluster_variance(values: Floats, cluster: Ints, failure: Floats | float = 1.0) -> ClusterVariance:
    """Estimate the variance of means of items in clusters, and how many independent items they are worth.

    Parameters
    ----------
    values : array
        (…, n) scores or differences, none missing.
    cluster : array of int
        (n,) number of each item's cluster, 0 … G - 1, at least two clusters.
    failure : array or float
        (…) k, as for `design_effect`.

    Returns
    -------
    ClusterVariance
        Variances, degrees of freedom, design effects and effective numbers of items.

    >>> found = cluster_variance(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    >>> float(found.variance), found.df, round(float(found.design_effect), 4)
    (0.25, 1.0, 2.5714)
    """
    n = values.shape[-1]
    weights = np.ones(n)
    together, _ = _cluster_squares(values, cluster, weights)
    effect = design_effect(values, cluster, weights, failure)
    return ClusterVariance(together / n**2, satterthwaite_df(np.bincount(cluster)), effect, n / effect)


def design_effect(values: Floats, cluster: Ints, weights: Floats, failure: Floats | float = 1.0) -> Floats:
    """Estimate how much more a mean varies than that of as many independent items of one weight.

    The ratio of CR2's variance to that of independent items, with one failure of a typical item added, whose whole
    cluster fails with it: (n²·var + b·k²) / (n·s² + k²), b = Σ n_g²/n. Failures seen so far may have been single ones
    by chance; without any it is b, with many it is the ratio itself.

    Parameters
    ----------
    values : array
        (…, n) scores or differences, none missing.
    cluster : array of int
        (n,) number of each item's cluster, 0 … G - 1, at least two clusters.
    weights : array
        (n,) weights of the items in the mean, 1 on average.
    failure : array or float
        (…) k, what one failure costs: 1 for right and wrong answers.

    Returns
    -------
    array
        (…) design effects, 1 at least.

    >>> float(design_effect(np.zeros(6), np.array([0, 0, 1, 1, 2, 2]), np.ones(6)))
    2.0
    """
    together, alone = _cluster_squares(values, cluster, weights)
    sizes = sum_clusters(weights, cluster)
    typical = float((sizes**2).sum() / weights.size)
    cost = np.square(failure)
    return np.asarray(np.maximum(1.0, (together + typical * cost) / (alone + cost)))


def _cluster_squares(values: Floats, cluster: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """n² times CR2's variance of the mean, and n² times that of independent items; rounding is no variance."""
    values = np.asarray(values, np.float64)
    n = weights.size
    centred = values - (values * weights).sum(axis=-1, keepdims=True) / n
    sizes = sum_clusters(weights, cluster)
    together = (sum_clusters(weights * centred, cluster) ** 2 / (1.0 - sizes / n)).sum(axis=-1)
    alone = (weights * centred**2).sum(axis=-1) * n / (n - 1.0)
    known = alone > NO_VARIANCE * n
    return np.where(known, together, 0.0), np.where(known, alone, 0.0)


class ClusterCare(NamedTuple):
    """By how much unequal clusters widen intervals of the moderated test."""

    # factor of intervals, 1 for clusters of one size
    factor: float
    # of the moderated variance, and of its distribution over resamples
    df: float
    resampled_df: float
    # of the moderated variance in closed form, for Holm and Benjamini–Hochberg
    single_df: float


def care_for_clusters(
    df: float, clusters: int, systems: int, *, prior_df: float | None = None, alpha: float = 0.05
) -> ClusterCare:
    """Compute how much wider intervals must be because resampled clusters count alike and real ones do not.

    With w = (G-1)/(G-1+d0), 1 for two systems, and κ = w² + (1-w²)/(R-1), the moderated variance has f/κ degrees of
    freedom and its resamples (G-1)/κ; the factor is the ratio of the two critical values of Student's t.

    Parameters
    ----------
    df : float
        f, those of the variance of a mean over these clusters.
    clusters : int
        G.
    systems : int
        R.
    prior_df : float, optional
        d0, the weight of the pooled variance.
    alpha : float
        Two-sided level.

    Returns
    -------
    ClusterCare
        The factor and the degrees of freedom.

    >>> care_for_clusters(9.0, 10, 5).factor
    1.0
    >>> round(care_for_clusters(4.0, 10, 2).factor, 4)
    1.2273
    """
    own_df = clusters - 1.0
    kappa = float(spread_share(own_share(own_df, systems, prior_df), systems))
    closed = df + min(get_prior_df(prior_df), own_df * (systems - 2.0))
    factor = float(special.stdtrit(df / kappa, alpha / 2.0) / special.stdtrit(own_df / kappa, alpha / 2.0))
    return ClusterCare(max(factor, 1.0), df / kappa, own_df / kappa, min(df / kappa, closed))
