"""The papers' arithmetic once more, in plain numpy and scipy and by other formulas than the package has."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
TERMS = {
    "MD1": ("i", "j"),  # on a single shard
    "MD2": ("i", "j"),
    "MD3": ("i", "j", "ij"),
    "MD4": ("i", "j", "k", "ij"),
    "MD5": ("i", "j", "k", "ij", "jk"),
    "MD6": ("i", "j", "k", "ij", "jk", "ik"),
}


def projected(y: Floats, axes: str) -> Floats:
    """y with the means over all axes but these taken along each of these: one term's effects, by projections."""
    out = y
    for axis, name in enumerate("ijk"):
        mean = out.mean(axis=axis, keepdims=True)
        out = out - mean if name in axes else np.broadcast_to(mean, out.shape)
    return out


def residuals(y: Floats, model: str) -> tuple[Floats, int]:
    """Residuals of a model of a (topic, system, shard) table, and their degrees of freedom."""
    sizes = dict(zip("ijk", y.shape, strict=True))
    left, df = y - y.mean(), y.size - 1
    for term in TERMS[model]:
        left = left - projected(y, term)
        df -= int(np.prod([sizes[name] - 1 for name in term]))
    return left, df


def omega_squared(y: Floats, model: str) -> float:
    left, df = residuals(y, model)
    systems = y.shape[1] - 1
    ratio = (projected(y, "j") ** 2).sum() / systems / ((left**2).sum() / df)
    return float(systems * (ratio - 1) / (systems * (ratio - 1) + y.size))


def pairs(y: Floats) -> tuple[list[tuple[int, int]], Floats]:
    means = y.mean(axis=(0, 2))
    each = list(combinations(range(len(means)), 2))
    return each, np.array([means[a] - means[b] for a, b in each])


def hsd(y: Floats, model: str) -> npt.NDArray[np.bool_]:
    """F19 eq. 1 with scipy's studentized range."""
    left, df = residuals(y, model)
    statistic = np.abs(pairs(y)[1]) / np.sqrt((left**2).sum() / df / (y.shape[0] * y.shape[2]))
    return np.asarray(statistic > critical_range(y.shape[1], df))


@cache
def critical_range(systems: int, df: int) -> float:
    """Upper 5 % point of the studentized range, which scipy takes half a second for."""
    return float(stats.studentized_range.isf(0.05, systems, df))


def benjamini_hochberg(p: Floats, alpha: float) -> npt.NDArray[np.bool_]:
    return np.asarray(stats.false_discovery_control(p) <= alpha)


def t_p_values(y: Floats, model: str) -> Floats:
    left, df = residuals(y, model)
    se = np.sqrt(2 * (left**2).sum() / df / (y.shape[0] * y.shape[2]))
    return np.asarray(2 * stats.t.sf(np.abs(pairs(y)[1]) / se, df))


def bootstrap_errors(y: Floats, model: str, resamples: int, rng: np.random.Generator) -> Floats:
    """(resample, system) errors of the system effects, residuals drawn for each score anew (V17 §2.2)."""
    pool = residuals(y, model)[0].ravel()
    out = np.empty((resamples, y.shape[1]))
    for m in range(resamples):
        means = rng.choice(pool, y.shape).mean(axis=(0, 2))
        out[m] = means - means.mean()
    return out
