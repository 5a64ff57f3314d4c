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

Items in clusters: variances of means, their degrees of freedom, design effects, few or unequal clusters.

With n items in G clusters of sizes n_g and d_i - m the centred values, the variance of the mean is CR2's (Bell &
McCaffrey 2002), var = Σ_g (Σ_{i∈g}(d_i - m))² / (1 - n_g/n) / n². Its degrees of freedom are Satterthwaite's,
f = (tr M)² / tr M², M the covariance of the clusters' errors were items independent; G - 1 for clusters of one size.

Votes have units too: what prompts and voters add to the errors of the strengths that were fitted to the votes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.stats.moderation import get_prior_df, own_share, spread_share
from shardwise.stats.student import LEVEL, NO_VARIANCE

Turn = Callable[[Floats], Floats]


def unit_scores(y: Floats, cluster: Ints, task: Ints) -> Floats:
    """Scores (…, T, R) of items as scores (…, G, R) of their clusters, tasks counting alike.

    Where sizes differ the errors of cluster g are divided by √(1 - n_g/n_k), as in CR2 (Bell & McCaffrey 2002), and
    centred again within each stratum, so that the means stay what they are. With items in several tasks, 1 - n_g/n_k is
    the mean over these with weights n_gk/n_k².

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
    errors = sum_clusters(parts, cluster, -2) / tasks
    share = 1.0 - 1.0 / clusters[own_stratum]
    errors = errors * np.sqrt(share / _share_left(cluster, task))[:, None]
    errors = errors - (sum_clusters(errors, own_stratum, -2) / clusters[:, None])[..., own_stratum, :]
    # the variance over all rows is to be the sum of the variances within strata
    scale = np.sqrt((1.0 - 1.0 / total) / share)
    return np.asarray(of_task.mean(axis=-2, keepdims=True) + total * scale[:, None] * errors)


def find_strata(cluster: Ints, task: Ints) -> Ints:
    """Return the stratum of each task (K,): tasks that share a cluster, directly or by way of others, are in one.

    >>> find_strata(np.array([0, 1, 1, 2, 3, 4]), np.array([0, 0, 1, 1, 2, 2]))
    array([0, 0, 1])
    """
    # loaded where it is needed: most tables have no clusters
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

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

    >>> y = np.array([[1.0, 3.0], [2.0, 4.0], [6.0, np.nan]])
    >>> task_means(y, np.zeros(3, dtype=int))[0]  # the second is better by 2 on what both have
    array([[3., 5.]])
    """
    items = np.bincount(task)
    if np.isfinite(y).all():
        means = sum_clusters(y, task, -2) / items[:, None]
        return means, (y - means[..., task, :]) / items[task][:, None]
    tables = y.reshape(-1, *y.shape[-2:])
    means = np.full((len(tables), len(items), y.shape[-1]), np.nan)
    parts = np.full(tables.shape, np.nan)
    for i, table in enumerate(tables):
        run = np.isfinite(table).any(axis=0)
        for k in range(len(items)):
            members = np.flatnonzero(task == k)
            members_scores = table[np.ix_(members, run)]
            mean, item, residual, inverse = _fit_additive(members_scores)
            some = np.isfinite(members_scores).any(axis=1, keepdims=True)
            centre = item[some].mean()
            means[i, k, run] = mean + centre
            added = residual @ inverse + np.where(some, item - centre, 0.0) / some.sum()
            parts[i][np.ix_(members, run)] = added
    return means.reshape(*y.shape[:-2], len(items), -1), parts.reshape(y.shape)


def _fit_additive(y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Fit least squares of y_ta = m_a + τ_t on what is there of (T, R) scores, Σ m_a = 0.

    Returned are m (R,), τ (T, 1), 0 of an item that nobody has, residuals (T, R), 0 where there is no score, and L⁺.
    """
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
    return mean, item, np.where(present, y - mean - item, 0.0), inverse


def residual_mean_square(y: Floats) -> float:
    """Return the mean square of what items and systems leave of (T, R) scores, NaN where one is missing.

    >>> residual_mean_square(np.array([[1.0, 3.0], [2.0, 5.0], [6.0, np.nan]]))
    0.25
    """
    known = np.isfinite(y)
    df = known.sum() - known.any(axis=1).sum() - known.any(axis=0).sum() + 1
    return float((_fit_additive(y)[2] ** 2).sum() / max(int(df), 1))


def unit_df(cluster: Ints, task: Ints) -> float:
    """Degrees of freedom of the variance of a mean of `unit_scores`: Bell & McCaffrey's within each stratum, pooled.

    (tr M)² / tr M², M the covariance of the errors of clusters were items independent; G - 1 for one task of clusters
    of one size. Strata are put together by Satterthwaite's formula.

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
        variance[stratum] = (1.0 / n).sum()  # of the sum of means of tasks whose items vary by 1
        # n² M_gg = n_g and n⁴ M_gh² = u_g u_h in one task, sums over several: without any matrix of clusters
        if len(n) == 1:
            spread[stratum] = variance[stratum] ** 2 / satterthwaite_df(sizes[:, 0])
        else:
            v = sizes / n**1.5 / np.sqrt(_share_left(own, of_task))[:, None]
            own_squares = ((sizes / n**2).sum(axis=1) ** 2).sum()
            spread[stratum] = own_squares + ((v.T @ v) ** 2).sum() - ((v**2).sum(axis=1) ** 2).sum()
    return float(variance.sum() ** 2 / spread.sum())


class ClusterVariance(NamedTuple):
    """Variance of means of items in clusters; arrays are (…)."""

    variance: Floats
    # degrees of freedom of the variance
    df: float
    # variance over that of as many independent items, 1 at least
    design_effect: Floats
    # n / design effect
    items: Floats


def sum_clusters(values: Floats | Bools, cluster: Ints, axis: int = -1) -> Floats:
    """Sum values over the items of each cluster, which lie along an axis.

    >>> sum_clusters(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1])).tolist()
    [2.0, 5.0]
    """
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(int(cluster.max()) + 1))
    ordered = np.take(np.asarray(values, np.float64), order, axis=axis)
    return np.asarray(np.add.reduceat(ordered, starts, axis=axis))


def satterthwaite_df(sizes: Ints | Floats) -> float:
    """Compute the degrees of freedom of CR2's variance of a mean from the sizes of the clusters.

    M_gh = (n_g·1[g=h] - n_g n_h/n) / √((1 - n_g/n)(1 - n_h/n)), f = (tr M)²/tr M². As M_gg = n_g and M_gh² is a product
    of one number of g and one of h, no matrix is needed.

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


def cluster_variance(values: Floats, cluster: Ints) -> ClusterVariance:
    """Estimate the variance of means of items in clusters, and how many independent items they are worth.

    >>> found = cluster_variance(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    >>> float(found.variance), found.df, round(float(found.design_effect), 4)
    (0.25, 1.0, 2.5714)
    """
    n = values.shape[-1]
    weights = np.ones(n)
    together, _ = _cluster_squares(values, cluster, weights)
    effect = design_effect(values, cluster, weights)
    return ClusterVariance(together / n**2, satterthwaite_df(np.bincount(cluster)), effect, n / effect)


def design_effect(values: Floats, cluster: Ints, weights: Floats, failure: Floats | float = 1.0) -> Floats:
    """Estimate how much more a mean varies than that of as many independent items of one weight.

    The ratio of CR2's variance to that of independent items, with one failure of a typical item added, whose whole
    cluster fails with it: (n²·var + b·k²) / (n·s² + k²), b = Σ n_g²/n. Failures seen so far may have been single ones
    by chance; without any it is b, with many it is the ratio itself.

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
    df: float, clusters: int, systems: int, *, prior_df: float | None = None
) -> ClusterCare:
    """Compute how much wider intervals must be because resampled clusters count alike and real ones do not.

    With w = (G-1)/(G-1+d0), 1 for two systems, and κ = w² + (1-w²)/(R-1), the moderated variance has f/κ degrees of
    freedom and its resamples (G-1)/κ; the factor is the ratio of the two critical values of Student's t.

    >>> care_for_clusters(9.0, 10, 5).factor
    1.0
    >>> round(care_for_clusters(4.0, 10, 2).factor, 4)
    1.2273
    """
    own_df = clusters - 1.0
    kappa = float(spread_share(own_share(own_df, systems, prior_df), systems))
    closed = df + min(get_prior_df(prior_df), own_df * (systems - 2.0))
    factor = float(special.stdtrit(df / kappa, LEVEL / 2.0) / special.stdtrit(own_df / kappa, LEVEL / 2.0))
    return ClusterCare(max(factor, 1.0), df / kappa, own_df / kappa, min(df / kappa, closed))


@dataclass(frozen=True, slots=True)
class WinShare:
    """The expected share of wins that a difference of strengths means.

    Parameters
    ----------
    tie : float
        κ of Davidson's model, the logarithm of the weight of ties; -∞ without ties.
    unit : float
        What a strength of 1 is in the units of the scores.

    >>> round(float(WinShare(-np.inf).of_difference(np.log(3.0))), 6)
    0.75
    """

    tie: float
    unit: float = 1.0

    def of_difference(self, difference: Floats | float) -> Floats:
        """Return the expected share of wins, ties counting half, with neither system shown first."""
        half = np.exp(np.clip(np.asarray(difference, np.float64) / self.unit, -600.0, 600.0) / 2.0)
        tied = np.exp(self.tie)
        return np.asarray((half + tied / 2.0) / (half + 1.0 / half + tied))


@dataclass(frozen=True, slots=True, eq=False)
class VoteUnits:
    """What the units of votes add to the errors of strengths.

    Parameters
    ----------
    lead : array
        (G, R) influence of the units of the leading way, adding up to 0.
    lead_counts : array
        (G, R) votes of each unit on each system.
    other : array, optional
        (V, R) influence of the units of the other way, where two are crossed.
    other_counts : array, optional
        (V, R) its votes.
    shared : array, optional
        (R, R) sum of outer products over the cells of both ways.
    model : array
        (R, R) covariances of the strengths, were votes independent.
    share : WinShare, optional
        What differences mean in shares of wins, where scores are strengths.
    """

    lead: Floats
    lead_counts: Floats
    model: Floats
    share: WinShare | None = None
    other: Floats | None = None
    other_counts: Floats | None = None
    shared: Floats | None = None

    def select_systems(self, systems: Ints) -> VoteUnits:
        """Return the units with these systems, in this order."""
        square = np.ix_(systems, systems)
        return self.turn_arrays(
            lambda x: x[:, systems], lambda x: x[:, systems], lambda x: x[square], self.share
        )

    def scale_systems(self, jacobian: Floats, share: WinShare | None = None) -> VoteUnits:
        """Return the units of a smooth function of the strengths."""
        turned = jacobian.T
        return self.turn_arrays(lambda x: x @ turned, lambda x: x, lambda x: jacobian @ x @ turned, share)

    def turn_arrays(
        self, influence: Turn, counts: Turn, square: Turn, share: WinShare | None = None
    ) -> VoteUnits:
        """Return the units with functions of the influences, of the counts and of the squares."""
        other, other_counts, shared = (
            None if x is None else turn(x)
            for turn, x in ((influence, self.other), (counts, self.other_counts), (square, self.shared))
        )
        lead, model = influence(self.lead), square(self.model)
        return VoteUnits(lead, counts(self.lead_counts), model, share, other, other_counts, shared)
