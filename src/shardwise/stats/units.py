"""Items that come in clusters or in tasks, as units that are independent: one row a unit, for any test of topics.

The mean of a system is m = Σ_t c_t y_t with weights c_t = 1/N, or 1/(K n_k) where K tasks count alike. What cluster g
adds to its error is Σ_{t ∈ g} c_t (y_t - ȳ_k). A table of G rows m + G·(that sum) has the means of the systems for its
means, and the variance of the mean of a difference over its rows is the cluster-robust one: CR1 for clusters of one
size. So every test of topics, its joint distribution included, becomes one of clusters. A cluster may have items of
several tasks, such as questions of two kinds on one passage: what it adds is summed over them, and such tasks are one
stratum, within which errors are centred.

Where systems lack items (NaN), each task has the least-squares fit y_ta = m_a + τ_t of what is there: m_a is the mean
that the system would have on all items, were it as far from the others as on those it has. With N the table of what is
there, L = diag(n_a) - Nᵀdiag(1/n_t)N and e the residuals, cluster g adds L⁺ Σ_{t ∈ g} e_t + Σ_{t ∈ g} τ_t/n_k to the
errors of the means; on full tables that is the sum above.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError


def unit_scores(y: Floats, cluster: Ints, task: Ints) -> Floats:
    """Scores (…, T, R) of items as scores (…, G, R) of their clusters, tasks counting alike.

    Where sizes differ the errors of cluster g are divided by √(1 - n_g/n_k), as in CR2 (Bell & McCaffrey 2002), and
    centred again within each stratum, so that the means stay what they are. With items in several tasks, 1 - n_g/n_k is
    the mean over these with weights n_gk/n_k².

    Parameters
    ----------
    y
        Scores of items, NaN where one is missing.
    cluster
        (T,) number of each item's cluster, 0 … G - 1; a stratum has two at least (`find_strata`).
    task
        (T,) number of each item's task, 0 … K - 1; all 0 where there are none.

    >>> y = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    >>> unit_scores(y, np.array([0, 0, 1, 1]), np.zeros(4, dtype=int))
    array([[1. , 0.5],
           [0. , 0.5]])
    """
    own_stratum = np.zeros(cluster.max() + 1, dtype=np.int64)
    own_stratum[cluster] = find_strata(cluster, task)[task]
    clusters, tasks = np.bincount(own_stratum), int(task.max()) + 1
    total = len(own_stratum)
    of_task, parts = task_means(y, task)
    errors = _sum_by_code(parts, cluster) / tasks
    share = 1.0 - 1.0 / clusters[own_stratum]
    errors = errors * np.sqrt(share / _share_left(cluster, task))[:, None]
    errors = errors - (_sum_by_code(errors, own_stratum) / clusters[:, None])[..., own_stratum, :]
    # the variance over all rows is to be the sum of the variances within strata
    scale = np.sqrt((1.0 - 1.0 / total) / share)
    return np.asarray(of_task.mean(axis=-2, keepdims=True) + total * scale[:, None] * errors)


def find_strata(cluster: Ints, task: Ints) -> Ints:
    """Return the stratum of each task (K,): tasks that share a cluster, directly or by way of others, are in one.

    >>> find_strata(np.array([0, 1, 1, 2, 3, 4]), np.array([0, 0, 1, 1, 2, 2]))
    array([0, 0, 1])
    """
    tasks, total = int(task.max()) + 1, int(cluster.max()) + 1
    links = coo_array((np.ones(len(task)), (task, tasks + cluster)), shape=(tasks + total, tasks + total))
    return np.asarray(connected_components(links, directed=False)[1][:tasks], dtype=np.int64)


def _share_left(cluster: Ints, task: Ints) -> Floats:
    """Return 1 - n_g/n_k of each cluster (G,), averaged over its tasks with weights n_gk/n_k²."""
    items, tasks = np.bincount(task), int(task.max()) + 1
    pairs, sizes = np.unique(cluster * tasks + task, return_counts=True)
    own, of_task = np.divmod(pairs, tasks)
    left = 1.0 - sizes / items[of_task]
    weights = sizes / items[of_task] ** 2.0
    mean = np.bincount(own, weights * left) / np.bincount(own, weights)
    return np.where(np.bincount(own) == 1, np.bincount(own, left), mean)


def task_means(y: Floats, task: Ints) -> tuple[Floats, Floats]:
    """(…, K, R) means of systems in each task, by least squares where items are missing, and what items add to them.

    Parameters
    ----------
    y
        (…, T, R) scores; a system without any score is NaN in the result.
    task
        (T,) number of each item's task, 0 … K - 1.

    >>> y = np.array([[1.0, 3.0], [2.0, 4.0], [6.0, np.nan]])
    >>> task_means(y, np.zeros(3, dtype=int))[0]  # the second is better by 2 on what both have
    array([[3., 5.]])
    """
    items = np.bincount(task)
    if np.isfinite(y).all():
        means = _sum_by_code(y, task) / items[:, None]
        return means, (y - means[..., task, :]) / items[task][:, None]
    tables = y.reshape(-1, *y.shape[-2:])
    means = np.full((len(tables), len(items), y.shape[-1]), np.nan)
    parts = np.full(tables.shape, np.nan)
    for i, table in enumerate(tables):
        run = np.isfinite(table).any(axis=0)
        for k in range(len(items)):
            members = np.flatnonzero(task == k)
            means[i, k, run], parts[i][np.ix_(members, run)] = _least_squares(table[np.ix_(members, run)])
    return means.reshape(*y.shape[:-2], len(items), -1), parts.reshape(y.shape)


class _Fit(NamedTuple):
    mean: Floats  # (R,)
    item: Floats  # (T, 1), 0 of an item that nobody has
    left: Floats  # (T, R) residuals, 0 where there is no score
    inverse: Floats  # (R, R) L⁺


def _fit_additive(y: Floats) -> _Fit:
    """Fit least squares of y_ta = m_a + τ_t on what is there of (T, R) scores, Σ m_a = 0."""
    present = np.isfinite(y)
    n = present.astype(np.float64)
    per_item = np.maximum(n.sum(axis=1, keepdims=True), 1.0)
    laplacian = np.diag(n.sum(axis=0)) - n.T @ (n / per_item)
    if np.linalg.matrix_rank(laplacian) < y.shape[1] - 1:
        raise InputError(
            "some systems share no items of a task with the others, directly or by way of a third",
            remedy="leave one of them out, or the task",
        )
    inverse = np.linalg.pinv(laplacian)
    filled = np.where(present, y, 0.0)
    mean = inverse @ (filled - n * filled.sum(axis=1, keepdims=True) / per_item).sum(axis=0)
    item = (filled - n * mean).sum(axis=1, keepdims=True) / per_item
    return _Fit(mean, item, np.where(present, y - mean - item, 0.0), inverse)


def _least_squares(y: Floats) -> tuple[Floats, Floats]:
    """Means (R,) of an additive fit of (T, R) scores with gaps, and (T, R) what each item adds to their errors."""
    mean, item, residual, inverse = _fit_additive(y)
    some = np.isfinite(y).any(axis=1, keepdims=True)
    centre = item[some].mean()
    return mean + centre, residual @ inverse + np.where(some, item - centre, 0.0) / some.sum()


def additive_residuals(y: Floats) -> Floats:
    """Return what items and systems leave of (T, R) scores with gaps, 0 where there is no score.

    Parameters
    ----------
    y
        Scores, NaN where one is missing.

    >>> bool(np.abs(additive_residuals(np.array([[1.0, 3.0], [2.0, 4.0], [6.0, np.nan]]))).max() < 1e-12)
    True
    """
    return _fit_additive(y).left


def _sum_by_code(y: Floats, code: Ints) -> Floats:
    """Sum (…, T, R) over the items of each code."""
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(code.max() + 1))
    return np.asarray(np.add.reduceat(y[..., order, :], starts, axis=-2))


def unit_df(cluster: Ints, task: Ints) -> float:
    """Degrees of freedom of the variance of a mean of `unit_scores`: Bell & McCaffrey's within each stratum, pooled.

    (tr M)² / tr M², M the covariance of the errors of clusters were items independent; G - 1 for one task of clusters
    of one size. Strata are put together by Satterthwaite's formula.

    Parameters
    ----------
    cluster, task
        As for `unit_scores`.

    >>> unit_df(np.array([0, 0, 1, 1, 2, 2]), np.zeros(6, dtype=int))
    2.0
    """
    strata = find_strata(cluster, task)[task]
    variance, spread = np.zeros(strata.max() + 1), np.zeros(strata.max() + 1)
    for stratum in range(len(variance)):
        members = strata == stratum
        own = np.unique(cluster[members], return_inverse=True)[1]
        of_task = np.unique(task[members], return_inverse=True)[1]
        sizes = np.zeros((own.max() + 1, of_task.max() + 1))
        np.add.at(sizes, (own, of_task), 1.0)
        n = sizes.sum(axis=0)
        left = _share_left(own, of_task)
        variance[stratum] = (1.0 / n).sum()  # of the sum of means of tasks whose items vary by 1
        # n² M_gg = n_g and n⁴ M_gh² = u_g u_h in one task, sums over several: without any matrix of clusters
        if len(n) == 1:
            u = (sizes[:, 0] / n) ** 2 * n / left
            squared = (sizes**2).sum() + u.sum() ** 2 - (u**2).sum()
            spread[stratum] = variance[stratum] ** 2 * squared / n[0] ** 2
        else:
            v = sizes / n**1.5 / np.sqrt(left)[:, None]
            own_squares = ((sizes / n**2).sum(axis=1) ** 2).sum()
            spread[stratum] = own_squares + ((v.T @ v) ** 2).sum() - ((v**2).sum(axis=1) ** 2).sum()
    return float(variance.sum() ** 2 / spread.sum())
