"""Means of systems that met different items, their errors, and what a covariate from before explains of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.stats.clusters import cluster_variance


class GroupMeans(NamedTuple):
    """Means of systems, each over its own items: (R,) arrays."""

    mean: Floats
    # of the mean, and its degrees of freedom
    variance: Floats
    df: Floats
    # standard deviation of single scores, and their number
    sd: Floats
    number: Floats


def group_means(y: Floats, cluster: Ints | None = None) -> GroupMeans:
    """Estimate the mean of each system over its own items, with the variance of the mean.

    Parameters
    ----------
    y : array
        (T, R) scores, NaN where a system did not meet an item.
    cluster : array of int, optional
        (T,) number of each item's cluster, such as the user of a session: the variance is then cluster-robust (CR2,
        Bell & McCaffrey 2002).

    Returns
    -------
    GroupMeans
        s²/n with n - 1 degrees of freedom without clusters.

    >>> found = group_means(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 2.0], [np.nan, 8.0]]))
    >>> found.mean.tolist(), found.variance.tolist(), found.df.tolist()
    ([2.0, 5.0], [1.0, 9.0], [1.0, 1.0])
    """
    systems = y.shape[1]
    mean, variance, df, sd, count = (np.empty(systems) for _ in range(5))
    for k in range(systems):
        known = np.isfinite(y[:, k])
        own = y[known, k]
        if own.size < 2:
            raise InputError(
                "a system has fewer than two scores", remedy="give at least two of each, or leave it out"
            )
        mean[k], sd[k], count[k] = own.mean(), own.std(ddof=1), own.size
        if cluster is None:
            variance[k], df[k] = own.var(ddof=1) / own.size, own.size - 1.0
            continue
        code = np.unique(cluster[known], return_inverse=True)[1]
        if code.max() < 1:
            raise InputError("a system has one cluster only", remedy="give at least two of each system")
        found = cluster_variance(own, code)
        variance[k], df[k] = float(found.variance), float(found.df)
    return GroupMeans(mean, variance, df, sd, count)


def welch_df(variance: Floats, df: Floats, ia: Ints, ib: Ints) -> Floats:
    """Compute Welch's degrees of freedom of differences, (v_a + v_b)² / (v_a²/f_a + v_b²/f_b).

    Parameters
    ----------
    variance, df : array
        (…, R) variances of means and their degrees of freedom.
    ia, ib : array of int
        (P,) the systems of each pair.

    Returns
    -------
    array
        (…, P) degrees of freedom (Welch 1947, Satterthwaite 1946).

    >>> float(welch_df(np.array([1.0, 1.0]), np.array([9.0, 9.0]), np.array([0]), np.array([1]))[0])
    18.0
    """
    a, b = variance[..., ia], variance[..., ib]
    below = a**2 / df[..., ia] + b**2 / df[..., ib]
    fallback = np.minimum(df[..., ia], df[..., ib])
    return np.asarray(np.where(below > 0.0, (a + b) ** 2 / np.where(below > 0.0, below, 1.0), fallback))


def adjust_for_covariate(y: Floats, covariate: Floats) -> tuple[Floats, float]:
    """Take out of scores what a covariate from before the experiment explains: CUPED.

    y − θ(x − x̄) with θ = Σ(x − x̄_a)(y − ȳ_a)/Σ(x − x̄_a)² pooled within systems (Deng, Xu, Kohavi & Walker 2013). The
    covariate must not depend on the system, which only what was measured before cannot.

    Parameters
    ----------
    y : array
        (T, R) scores, NaN where a system did not meet an item.
    covariate : array
        (T,) values of the covariate.

    Returns
    -------
    tuple of array and float
        Adjusted scores, and the share of the variance within systems that the covariate explains.

    >>> y = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 4.0], [np.nan, 6.0]])
    >>> adjusted, share = adjust_for_covariate(y, np.array([1.0, 2.0, 1.0, 3.0]))
    >>> adjusted.round(2).tolist(), share
    ([[1.75, nan], [1.75, nan], [nan, 4.75], [nan, 4.75]], 1.0)
    """
    known = np.isfinite(y)
    x = np.where(known, np.asarray(covariate, float)[:, None], np.nan)
    x_rest, y_rest = x - np.nanmean(x, axis=0), y - np.nanmean(y, axis=0)
    squares = float(np.nansum(x_rest**2))
    if not squares > 0.0:
        raise InputError(
            "the covariate is the same for all items", remedy="name a column that varies, or none"
        )
    slope = float(np.nansum(x_rest * y_rest)) / squares
    total = float(np.nansum(y_rest**2))
    share = slope**2 * squares / total if total > 0.0 else 0.0
    centre = float(np.asarray(covariate, float)[known.any(axis=1)].mean())
    return y - slope * (x - centre), min(share, 1.0)
