"""Which systems are far more variable than the others."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats

# a system with this many times the typical standard deviation of its own widens the intervals of all pairs
NOISY = 3.0
# a median this small against the largest is 0 but for rounding
NO_TYPICAL = 1e-13


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
