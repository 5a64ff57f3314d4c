"""The joint distribution of all moderated t where there are so many topics that their resampling has reached its limit.

Means of topics drawn with replacement tend to normal ones with the covariances of the systems over topics, and the
variances in the denominators of t to those of the table. Both follow from the cross-products of the systems alone.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.methods.moderated.draws import count_normal
from shardwise.methods.moderated.joint import ResampledDistribution, distribution_of
from shardwise.methods.moderated.statistics import Statistics, moderate_variances
from shardwise.methods.moments.gram import Gram, interaction_square, pair_variances


class Limit(NamedTuple):
    """A scenario without differences whose means are normal, as compiled code takes it."""

    root: Floats  # (R, R) a square root of the covariances of the means
    precision: Floats  # (R, R) 1 / the variance of each difference that t is measured by; 0 without any


def gram_statistics(gram: Gram, ia: Ints, ib: Ints, d0: float | None = None) -> Statistics:
    """Moderated statistics of pairs out of cross-products: those of the table itself, but for rounding.

    >>> from shardwise.methods.moments.gram import compute_gram
    >>> y = np.array([[0.1, 0.3, 0.2], [0.4, 0.5, 0.5], [0.2, 0.4, 0.1], [0.6, 0.7, 0.8]])
    >>> gram_statistics(compute_gram(y.T), np.array([0, 0, 1]), np.array([1, 2, 2])).t.round(3)
    array([-2.496, -1.183,  1.124])
    """
    systems, df = len(gram.mean), gram.n - 1.0
    every = np.full(ia.size, df)
    return moderate_variances(
        gram.mean[ia] - gram.mean[ib],
        np.full(ia.size, float(gram.n)),
        every,
        pair_variances(gram, ia, ib),
        np.asarray(2.0 * interaction_square(gram.margins) / (df * (systems - 1.0))),
        every * (systems - 2.0),
        d0,
    )


def normal_limit(
    gram: Gram,
    ia: Ints,
    ib: Ints,
    statistics: Statistics,
    key: np.uint64,
    n_resamples: int,
    jobs: int | None = None,
) -> ResampledDistribution:
    """What `resampled` says of the pairs of a table with very many topics; draw i depends on (key, i) only.

    >>> from shardwise.methods.moments.gram import compute_gram
    >>> from shardwise.stats.resampling import key_of
    >>> y = np.random.default_rng(1).normal(size=(3000, 3)) + [0.0, 0.0, 2.0]
    >>> ia, ib = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> moments = compute_gram(y.T)
    >>> normal_limit(moments, ia, ib, gram_statistics(moments, ia, ib), key_of(1), 999).p_adjusted
    array([0.288, 0.001, 0.001])
    """
    systems = len(gram.mean)
    values, vectors = np.linalg.eigh(gram.cross / (gram.n * (gram.n - 1.0)))
    precision = np.zeros((systems, systems))
    precision[ia, ib] = np.divide(1.0, statistics.se**2, out=np.zeros(ia.size), where=statistics.se > 0.0)
    precision[ib, ia] = precision[ia, ib]
    root = (
        vectors * np.sqrt(np.maximum(values, 0.0))
    ) @ vectors.T  # the one that is symmetric: there is no other
    scenario = Limit(np.ascontiguousarray(root), precision)
    count = partial(count_normal, scenario)
    return distribution_of(lambda ia, ib: count, ia, ib, statistics.t, key, n_resamples, jobs)
