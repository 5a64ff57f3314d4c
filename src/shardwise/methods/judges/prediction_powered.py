"""Prediction-powered means: a judge for all items, people for some (Angelopoulos, Duchi & Zrnic 2023, PPI++).

With f the judge's scores and h those of people on n items, and N items that the judge alone saw,
estimate = λ·mean_N(f) + mean_n(h - λf) for a judge of any bias; its variance is λ²·var_N(f)/N + var_n(h - λf)/n.
λ = cov_n(h, f) / ((1 + n/N)·var(f)), clipped to [0, 1], makes that variance least: 0 does without the judge. Where the
judge errs rarely, labels that show no error do not prove that there are none: half an error of the whole range is added
to the variance, (range/n)²/2, on n - 2 degrees of freedom.

Items in clusters: A_g = Σ_{t ∈ g, seen} (h_t - mean)/n, and B_g the same of f less Σ_{t ∈ g, unseen} (f_t - mean)/N.
Cluster g adds A_g - λB_g to the error of the estimate, whose variance is G/(G - 2)·Σ (A_g - λB_g)², least for
λ = ΣA_gB_g / ΣB_g², on G - 2 degrees of freedom (G - 1 with λ given), G the number of clusters with labels.

Tasks that count alike: the mean of the K tasks' estimates, its variance Σ se_k²/K², Satterthwaite's df.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.stats.intervals import SPARSE, pair_sparseness


class Powered(NamedTuple):
    """Prediction-powered means; arrays without the axis of items."""

    mean: Floats
    se: Floats
    df: Floats  # Welch and Satterthwaite's, of the two parts
    weight: Floats  # λ, how far the judge is trusted
    labels: Floats  # n
    mean_of_labels: Floats  # of the items that people saw, without the judge
    se_of_labels: Floats
    bias: Floats  # of the judge on those items
    bias_se: Floats


def prediction_powered(
    judge: Floats,
    human: Floats,
    weight: float | None = None,
    *,
    ddof: int = 1,
    cluster: Ints | None = None,
    task: Ints | None = None,
    width: float = 0.0,
) -> Powered:
    """Means over items of (…, T) scores of which people gave some.

    Parameters
    ----------
    judge
        Scores, or differences of two systems, by the judge; an item that the judge lacks (NaN) is left out.
    human
        The same by people; NaN where nobody looked. Who looked at what must not depend on the scores.
    weight
        λ; the one of least variance where it is left out.
    ddof
        1 for unbiased variances; 0 for those of ppi-python, which are too small for few labels.
    cluster
        (T,) number of each item's cluster, where items come in clusters.
    task
        (T,) number of each item's task, where the mean is that of tasks that count alike.
    width
        Width of the range of scores, for items without clusters; 0 where it is not known.

    >>> f, h = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 0.0]), np.array([0.0, 0.3, 0.5, np.nan, np.nan, np.nan])
    >>> round(float(prediction_powered(f, h, weight=1.0).mean), 4)  # 0.6 by the judge, who is 0.1333 too kind
    0.4667
    """
    if task is not None:
        return _over_tasks(
            [
                prediction_powered(
                    judge[..., items], human[..., items], weight, ddof=ddof, cluster=inside, width=width
                )
                for items, inside in of_tasks(task, cluster)
            ]
        )
    present = np.isfinite(judge)
    seen, unseen = present & np.isfinite(human), present & ~np.isfinite(human)
    n, rest = seen.sum(axis=-1).astype(float), unseen.sum(axis=-1).astype(float)
    h, f = np.where(seen, human, 0.0), np.where(present, judge, 0.0)
    mean_h, mean_f, mean_rest = _marked_mean(h, seen), _marked_mean(f, seen), _marked_mean(f, unseen)
    if cluster is None:
        both = _marked_mean((h - mean_h[..., None]) * (f - mean_f[..., None]), seen)
        spread = (1.0 + n / np.maximum(rest, 1.0)) * _marked_variance(f, present, 1)
    else:
        of_h, of_f = _cluster_sums(h, seen, cluster), _cluster_sums(f, seen, cluster)
        apart = of_f - _cluster_sums(f, unseen, cluster)
        both, spread = (of_h * apart).sum(axis=-1), (apart**2).sum(axis=-1)
    if weight is None:
        weight_ = np.clip(np.divide(both, spread, out=np.zeros_like(both), where=spread > 0.0), 0.0, 1.0)
    else:
        weight_ = np.full(n.shape, weight)
    weight_ = np.where(rest > 0.0, weight_, 0.0)  # people saw everything
    if cluster is None:
        of_rest = weight_**2 * _marked_variance(f, unseen, ddof) / np.maximum(rest, 1.0)
        residuals = h - weight_[..., None] * f
        sparse = pair_sparseness(np.where(seen, residuals, np.nan)) < SPARSE
        unseen_error = np.where(sparse & (rest > 0.0), (width / n) ** 2 / 2.0, 0.0)
        of_seen = _marked_variance(residuals, seen, ddof) / n + unseen_error
        variance = of_rest + of_seen
        # λ is fitted to the labels too
        free = n - 1.0 - ((weight is None) & (rest > 0.0) & (ddof == 1))
        spread = of_rest**2 / np.maximum(rest - 1.0, 1.0) + of_seen**2 / np.maximum(free, 1.0)
        df = np.divide(variance**2, spread, out=np.asarray(free, np.float64), where=spread > 0.0)
        df = np.where(unseen_error > 0.0, np.minimum(df, n - 2.0), df)
        labels, bias = (_marked_variance(x, seen, ddof) / n for x in (h, f - h))
    else:
        labelled = (cluster_sums(seen, cluster) > 0).sum(axis=-1).astype(float)
        fitted = 1.0 + (
            (weight is None) & (rest > 0.0)
        )  # numbers that were fitted to clusters, λ one of them
        variance = _robust_variance(of_h - weight_[..., None] * apart, labelled, fitted)
        df = np.maximum(labelled - fitted, 1.0)
        labels, bias = _robust_variance(of_h, labelled), _robust_variance(of_f - of_h, labelled)
    return Powered(
        mean=weight_ * mean_rest + mean_h - weight_ * mean_f,
        se=np.sqrt(variance),
        df=df,
        weight=weight_,
        labels=n,
        mean_of_labels=mean_h,
        se_of_labels=np.sqrt(labels),
        bias=mean_f - mean_h,
        bias_se=np.sqrt(bias),
    )


def of_tasks(task: Ints, cluster: Ints | None) -> Iterator[tuple[Ints, Ints | None]]:
    """Places of the items of each task, and the numbers of their clusters."""
    for k in np.unique(task):
        items = np.flatnonzero(task == k)
        yield items, None if cluster is None else np.unique(cluster[items], return_inverse=True)[1]


def _over_tasks(parts: Sequence[Powered]) -> Powered:
    """The mean over tasks, each with a weight of the judge of its own (Fisch et al. 2024, stratified PPI)."""
    each = Powered(*(np.stack(x) for x in zip(*parts, strict=True)))

    def combine_errors(se: Floats) -> Floats:
        return np.asarray(np.sqrt((se**2).sum(axis=0)) / len(parts))

    se, spread = combine_errors(each.se), (each.se**4 / each.df).sum(axis=0) / len(parts) ** 4
    return Powered(
        mean=each.mean.mean(axis=0),
        se=se,
        df=np.divide(se**4, spread, out=each.df.sum(axis=0), where=spread > 0.0),
        weight=each.weight.mean(axis=0),
        labels=each.labels.sum(axis=0),
        mean_of_labels=each.mean_of_labels.mean(axis=0),
        se_of_labels=combine_errors(each.se_of_labels),
        bias=each.bias.mean(axis=0),
        bias_se=combine_errors(each.bias_se),
    )


def _robust_variance(sums: Floats, clusters: Floats, fitted: Floats | float = 1.0) -> Floats:
    """Variance of a mean whose error is the sum of these over clusters, so many numbers fitted to them."""
    return np.asarray((sums**2).sum(axis=-1) * clusters / np.maximum(clusters - fitted, 1.0))


def _cluster_sums(x: Floats, which: Bools, cluster: Ints) -> Floats:
    """(…, G) what the items marked of each cluster add to the error of their mean."""
    apart = np.where(which, x - _marked_mean(x, which)[..., None], 0.0)
    return np.asarray(cluster_sums(apart, cluster) / np.maximum(which.sum(axis=-1), 1)[..., None])


def cluster_sums(x: Floats | Bools, cluster: Ints) -> Floats:
    """(…, G) sums of (…, T) over the items of each cluster."""
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(cluster.max() + 1))
    return np.asarray(np.add.reduceat(x[..., order].astype(np.float64), starts, axis=-1))


def _marked_mean(x: Floats, which: Bools) -> Floats:
    """Mean over the items marked, 0 where there are none."""
    return np.asarray(np.where(which, x, 0.0).sum(axis=-1) / np.maximum(which.sum(axis=-1), 1))


def _marked_variance(x: Floats, which: Bools, ddof: int) -> Floats:
    """Variance over the items marked, 0 where there are none."""
    n = which.sum(axis=-1)
    squares = _marked_mean((x - _marked_mean(x, which)[..., None]) ** 2, which)
    return np.asarray(squares * n / np.maximum(n - ddof, 1))


def variance_with_labels(labels: Floats, items: int, variance: Floats, correlation: Floats) -> Floats:
    """Variance of a prediction-powered mean with so many labels: σ_h²·((1 - ρ²)/n + ρ²/T), λ at its best.

    Parameters
    ----------
    labels
        n, of all T items.
    items
        T.
    variance
        σ_h², of a score by people.
    correlation
        ρ, of people and judge.

    >>> variance_with_labels(np.array([50.0, 100.0]), 100, np.array(1.0), np.array(0.8))
    array([0.0136, 0.01  ])
    """
    return np.asarray(variance * ((1.0 - correlation**2) / labels + correlation**2 / items))
