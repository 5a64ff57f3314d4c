"""Items that come in clusters or in tasks, as units that are independent: one row a unit, for any test of topics.

The mean of a system is m = Σ_t c_t y_t with weights c_t = 1/N, or 1/(K n_k) where K tasks count alike. What cluster g
adds to its error is Σ_{t ∈ g} c_t (y_t - ȳ_k). A table of G rows m + G·(that sum) has the means of the systems for its
means, and the variance of the mean of a difference over its rows is the cluster-robust one: CR1 for clusters of one
size. So every test of topics, its joint law included, becomes one of clusters.
"""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats, Ints


def unit_scores(y: Floats, cluster: Ints, task: Ints) -> Floats:
    """Scores (…, T, R) of items as scores (…, G, R) of their clusters, tasks counting alike.

    Where sizes differ the errors of cluster g are divided by √(1 - n_g/n_k), as in CR2 (Bell & McCaffrey 2002), and
    centred again within each task, so that the means stay what they are.

    Parameters
    ----------
    y
        Scores of items.
    cluster
        (T,) number of each item's cluster, 0 … G - 1; a cluster lies within one task, and a task has two at least.
    task
        (T,) number of each item's task, 0 … K - 1; all 0 where there are none.

    >>> y = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    >>> unit_scores(y, np.array([0, 0, 1, 1]), np.zeros(4, dtype=int))
    array([[1. , 0.5],
           [0. , 0.5]])
    """
    own_task = np.zeros(cluster.max() + 1, dtype=np.int64)
    own_task[cluster] = task
    sizes, items, clusters = np.bincount(cluster), np.bincount(task), np.bincount(own_task)
    total, tasks = len(sizes), len(items)
    of_task = _sums(y, task) / items[:, None]
    weight = 1.0 / (tasks * items[own_task])
    errors = weight[:, None] * _sums(y - of_task[..., task, :], cluster)
    share = 1.0 - 1.0 / clusters[own_task]
    errors = errors * np.sqrt(share / (1.0 - sizes / items[own_task]))[:, None]
    errors = errors - (_sums(errors, own_task) / clusters[:, None])[..., own_task, :]
    # the variance over all rows is to be the sum of the variances within tasks
    scale = np.sqrt((1.0 - 1.0 / total) / share)
    return np.asarray(of_task.mean(axis=-2, keepdims=True) + total * scale[:, None] * errors)


def _sums(y: Floats, code: Ints) -> Floats:
    """Sums of (…, T, R) over the items of each code."""
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(code.max() + 1))
    return np.asarray(np.add.reduceat(y[..., order, :], starts, axis=-2))


def unit_df(cluster: Ints, task: Ints) -> float:
    """Degrees of freedom of the variance of a mean of `unit_scores`: Bell & McCaffrey's within each task, pooled.

    (tr M)² / tr M², M the covariance of the errors of clusters were items independent; G - 1 for one task of clusters
    of one size. Tasks are put together by Satterthwaite's formula.

    Parameters
    ----------
    cluster, task
        As for `unit_scores`.

    >>> unit_df(np.array([0, 0, 1, 1, 2, 2]), np.zeros(6, dtype=int))
    2.0
    """
    tasks = int(task.max()) + 1
    variance, spread = np.zeros(tasks), np.zeros(tasks)
    for k in range(tasks):
        sizes = np.bincount(np.unique(cluster[task == k], return_inverse=True)[1]).astype(np.float64)
        n = sizes.sum()
        # M_gg = n_g and M_gh² = u_g u_h: sums over all pairs without any matrix
        u = (sizes / n) ** 2 * n / (1.0 - sizes / n)
        squared = (sizes**2).sum() + u.sum() ** 2 - (u**2).sum()
        variance[k] = 1.0 / n  # of the mean of a task whose items vary by 1
        spread[k] = variance[k] ** 2 * squared / n**2
    return float(variance.sum() ** 2 / spread.sum())
