"""The dependence between systems' scores, as correlations of the normal variables beneath them."""

from __future__ import annotations

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats
from shardwise.lab.scenarios.kernels import to_scores
from shardwise.lab.scenarios.margins import Margins, guide_quantiles
from shardwise.stats.shape import mean_ranks

HERMITE = 30  # terms of the expansion that relates correlations of scores to those of z


def normal_scores(y: Floats, system: int) -> Floats:
    """Scores turned into normal scores, each system for itself; ties share the middle rank."""
    table = np.moveaxis(y, system, -1)
    rank = np.apply_along_axis(mean_ranks, 0, table.reshape(-1, table.shape[-1]))
    z = special.ndtri((rank - 0.5) / len(rank))
    deviation = z.std(axis=0)
    # a system with one score everywhere has normal scores of 0
    scaled = z / np.where(deviation > 0.0, deviation, 1.0)
    return np.moveaxis(np.asarray(scaled).reshape(table.shape), -1, system)


def correlation_root(y: Floats, margins: Margins) -> Floats:
    """(R, R) factor of the correlation of z that gives scores with these margins the correlation of (T, R) scores.

    With few topics correlations are noise in part, so they are drawn towards their mean first (Schäfer &
    Strimmer 2005).
    A correlation ρ of z becomes Σ c_a c_b ρ^k for scores, with c the Hermite coefficients of the quantile functions.
    """
    target = shrunk_correlation(y)
    coefficients = hermite_coefficients(margins)
    low, high = np.full(target.shape, -0.9999), np.full(target.shape, 0.9999)
    for _ in range(50):
        middle = (low + high) / 2.0
        value = np.zeros_like(target)
        for k in range(HERMITE, 0, -1):
            value = (value + np.outer(coefficients[:, k], coefficients[:, k])) * middle
        low, high = np.where(value < target, middle, low), np.where(value < target, high, middle)
    latent = (low + high) / 2.0
    np.fill_diagonal(latent, 1.0)
    values, vectors = np.linalg.eigh(latent)
    root = vectors * np.sqrt(np.maximum(values, 1e-9))
    return np.asarray(root / np.sqrt((root**2).sum(axis=1, keepdims=True)))


def shrunk_correlation(y: Floats) -> Floats:
    """Correlation of columns, drawn towards the mean correlation as far as sampling noise explains its spread."""
    n, r = y.shape
    z = (y - y.mean(axis=0)) / y.std(axis=0)
    correlation = z.T @ z / n
    noise = (1.0 - correlation**2) ** 2 / (n - 1.0)  # sampling variance of a correlation of normal variables
    above = np.triu_indices(r, 1)
    centre = float(correlation[above].mean())
    spread = float(((correlation[above] - centre) ** 2).sum())
    weight = min(1.0, float(noise[above].sum()) / spread) if spread > 0 else 1.0
    out = (1.0 - weight) * correlation + weight * centre
    np.fill_diagonal(out, 1.0)
    return np.asarray(out)


def hermite_coefficients(margins: Margins) -> Floats:
    """(R, HERMITE + 1) coefficients of the standardised quantile functions in normalised Hermite polynomials."""
    z = np.linspace(-8.0, 8.0, 4001)
    rows = np.arange(margins.size)
    cut, guide = guide_quantiles(margins.cell_probabilities(rows, np.zeros(margins.size)))
    y = np.tile(z, (margins.size, 1)).T.copy()
    to_scores(y, rows, cut, guide, margins.low, margins.high)
    weight = np.exp(-(z**2) / 2.0)
    weight /= weight.sum()
    y = y - weight @ y
    basis = np.empty((HERMITE + 1, len(z)))
    basis[0], basis[1] = 1.0, z
    for k in range(1, HERMITE):
        basis[k + 1] = (z * basis[k] - np.sqrt(k) * basis[k - 1]) / np.sqrt(k + 1.0)
    coefficients = np.asarray((basis * weight) @ y).T
    return coefficients / np.sqrt(weight @ y**2)[:, None]
