"""Ranks of one system at a time, and which systems are far more variable than the others."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Bools, Floats

# a system with this many times the typical standard deviation of its own widens the intervals of all pairs
NOISY = 3.0
# a median this small against the largest is 0 but for rounding
NO_TYPICAL = 1e-13


def resample_rank_sets(
    table: Floats,
    t: Floats,
    draws: Floats,
    *,
    prior_df: float = 20.0,
    alpha: float = 0.05,
) -> tuple[Floats, Floats]:
    """Compute the ranks that each system may have, each system by itself (Mogstad, Romano, Shaikh & Wilhelm 2024).

    For system a the 2(R-1) one-sided statements "a is better than b", "b is better than a" are tested step-down, on
    the maximum of their moderated t over resamples of topics; each range holds with probability 1 - α, not all at once.

    Parameters
    ----------
    table : array
        (T, R) scores.
    t : array
        (R, R) moderated t-statistics of row less column, antisymmetric.
    draws : array
        (B, T) how often each topic is in a resample.
    prior_df : float
        d0, the weight of the pooled variance.
    alpha : float
        Two-sided level of a range.

    Returns
    -------
    tuple of arrays
        (R,) first and last rank of each system, 1 the best.

    >>> table = np.add.outer(np.linspace(0, 1, 20), [0.5, 0.0, 0.49]) + np.sin(np.arange(60)).reshape(20, 3) / 50
    >>> t = moderated_t(table)
    >>> draws = np.random.default_rng(1).multinomial(20, np.full(20, 1 / 20), size=499).astype(float)
    >>> [x.tolist() for x in resample_rank_sets(table, t, draws)]
    [[1.0, 3.0, 1.0], [2.0, 3.0, 2.0]]
    """
    topics, systems = table.shape
    centred = table - table.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    means = draws @ centred / topics
    squares = draws @ centred**2 / topics
    scale = topics / (topics - 1.0)
    # mean over pairs of the variance of a difference: centred rows sum to zero, hence twice the mean variance
    variances = np.maximum(squares - means**2, 0.0) * scale
    pooled = 2.0 * variances.sum(axis=1) / (systems - 1.0)
    weight = (topics - 1.0) / (topics - 1.0 + prior_df)
    first, last = np.ones(systems), np.full(systems, float(systems))
    for a in range(systems):
        others = np.flatnonzero(np.arange(systems) != a)
        gap = centred[:, [a]] - centred[:, others]
        shift = means[:, [a]] - means[:, others]
        own_variances = np.maximum(draws @ gap**2 / topics - shift**2, 0.0) * scale
        moderated = weight * own_variances + (1.0 - weight) * pooled[:, None]
        drawn = np.divide(shift, np.sqrt(moderated / topics), out=np.zeros_like(shift), where=moderated > 0.0)
        better, worse = step_down_one_sided(t[a, others], drawn, alpha)
        first[a] += worse.sum()
        last[a] -= better.sum()
    return first, last


def step_down_one_sided(t: Floats, drawn: Floats, alpha: float) -> tuple[Bools, Bools]:
    """Test both one-sided statements of every t at once, step-down on the maximum over resamples.

    Parameters
    ----------
    t : array
        (K,) statistics.
    drawn : array
        (B, K) the same under the null hypothesis.
    alpha : float
        Level of all 2K statements together.

    Returns
    -------
    tuple of bool arrays
        (K,) whether each is above 0, and whether it is below.

    >>> drawn = np.random.default_rng(0).normal(size=(999, 2))
    >>> above, below = step_down_one_sided(np.array([5.0, -2.0]), drawn, 0.05)
    >>> above.tolist(), below.tolist()
    ([True, False], [False, False])
    """
    statements = np.concatenate([t, -t])
    rejected = np.zeros(statements.size, dtype=np.bool_)
    while True:
        active = np.split(~rejected, 2)
        largest = np.full(drawn.shape[0], -np.inf)
        for sign, keep in zip((1.0, -1.0), active, strict=True):
            if keep.any():
                largest = np.maximum(largest, (sign * drawn[:, keep]).max(axis=1))
        newly_rejected = ~rejected & (statements > upper_quantile(largest, alpha))
        if not newly_rejected.any():
            above, below = np.split(rejected, 2)
            return above, below
        rejected |= newly_rejected
        if rejected.all():
            above, below = np.split(rejected, 2)
            return above, below


def upper_quantile(values: Floats, alpha: float) -> float:
    """Return the ⌈(1-α)(B+1)⌉-th smallest of B values, the largest where that is beyond them.

    Parameters
    ----------
    values : array
        (B,) values.
    alpha : float
        Share of values above, about.

    Returns
    -------
    float
        The quantile; what lies strictly above it is significant.

    >>> upper_quantile(np.arange(1.0, 20.0), 0.05)
    19.0
    """
    rank = int(np.ceil((1.0 - alpha) * (values.size + 1) - 1e-9))
    return float(np.partition(values, min(rank, values.size) - 1)[min(rank, values.size) - 1])


def moderated_t(table: Floats, prior_df: float = 20.0) -> Floats:
    """Compute the moderated t-statistics of all pairs of systems.

    Parameters
    ----------
    table : array
        (T, R) scores.
    prior_df : float
        d0, the weight of the pooled variance.

    Returns
    -------
    array
        (R, R) statistics of row less column, 0 where nothing varies.

    >>> table = np.array([[0.1, 0.4], [0.3, 0.4], [0.2, 0.5]])
    >>> round(float(moderated_t(table)[1, 0]), 4)  # of two systems: the paired t
    3.5
    """
    topics, systems = table.shape
    variances = pair_variances(table)
    pooled = variances.sum() / (systems * (systems - 1.0))
    weight = (topics - 1.0) / (topics - 1.0 + prior_df)
    moderated = weight * variances + (1.0 - weight) * pooled
    gaps = np.subtract.outer(table.mean(axis=0), table.mean(axis=0))
    return np.asarray(
        np.divide(gaps, np.sqrt(moderated / topics), out=np.zeros_like(gaps), where=moderated > 0.0)
    )


def pair_variances(table: Floats) -> Floats:
    """Compute the variance over topics (ddof 1) of the difference of every pair of systems.

    Parameters
    ----------
    table : array
        (…, T, R) scores, none missing.

    Returns
    -------
    array
        (…, R, R) variances, 0 on the diagonal.

    >>> pair_variances(np.array([[0.0, 1.0], [0.0, 3.0]])).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    centred = table - table.mean(axis=-2, keepdims=True)
    centred = centred - centred.mean(axis=-1, keepdims=True)
    gram = np.swapaxes(centred, -1, -2) @ centred / (table.shape[-2] - 1.0)
    diagonal = np.diagonal(gram, axis1=-2, axis2=-1)
    variances = np.maximum(diagonal[..., :, None] + diagonal[..., None, :] - 2.0 * gram, 0.0)
    variances[..., np.eye(table.shape[-1], dtype=np.bool_)] = 0.0
    return np.asarray(variances)


def own_variability(variances: Floats) -> Floats:
    """Compute how much of the pairs' variances each system brings in (Shukla 1972).

    τ_a = max(0, (Σ_b s²_ab - Σ_k s²_k/(R-1)) / (R-2)), Σ_k over all pairs.

    Parameters
    ----------
    variances : array
        (…, R, R) variances of the differences of all pairs, R at least 3.

    Returns
    -------
    array
        (…, R) variances τ_a of the systems, such that s²_ab is about τ_a + τ_b.

    >>> own_variability(np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    systems = variances.shape[-1]
    rows = variances.sum(axis=-1)
    total = rows.sum(axis=-1, keepdims=True) / 2.0
    return np.asarray(np.maximum(0.0, (rows - total / (systems - 1.0)) / (systems - 2.0)))


def noise_factors(variances: Floats) -> Floats:
    """Compute the standard deviation of each system's own part over the median of all systems'.

    Parameters
    ----------
    variances : array
        (R, R) variances of the differences of all pairs.

    Returns
    -------
    array
        (R,) factors, of which `NOISY` and more deserve a remark; zeros where the median is 0 or R < 3.

    >>> s = np.add.outer([1.0, 1.0, 1.0, 25.0], [1.0, 1.0, 1.0, 25.0]) * (1 - np.eye(4))
    >>> noise_factors(s).round(6).tolist()
    [1.0, 1.0, 1.0, 5.0]
    """
    if variances.shape[-1] < 3:
        return np.zeros(variances.shape[-1])
    variability = own_variability(variances)
    typical = float(np.median(variability))
    return (
        np.sqrt(variability / typical)
        if typical > NO_TYPICAL * float(variability.max())
        else np.zeros_like(variability)
    )
