"""Balanced data: effects are inclusion-exclusion of marginal means, exactly and in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.core.model import Term

EMPTY: Term = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """Sums of squares, degrees of freedom and effects of a model on its data."""

    grand_mean: float
    effects: dict[Term, Floats]  # dimensions of the scores, length 1 where the term does not have them
    ss: dict[Term, float]
    df: dict[Term, int]
    ss_error: float
    df_error: int
    ss_total: float
    n: int


def error_df(shape: dict[str, int], terms: tuple[Term, ...]) -> int:
    """Return what the terms leave of the N - 1 degrees of freedom of a full table."""
    return prod(shape.values()) - 1 - sum(term_df(shape, term) for term in terms)


def term_df(shape: dict[str, int], term: Term) -> int:
    """Return the degrees of freedom of a term: the product of its levels less one each."""
    return prod(shape[dimension] - 1 for dimension in term)


def decompose(y: Any, dims: tuple[str, ...], terms: tuple[Term, ...]) -> Decomposition | None:
    """Split a full table into effects; None if it holds a NaN or an infinity.

    Effect of a term = its marginal mean less the effects of all terms within it (F19 §4). ``y`` may be a Dask
    array: only marginal means and one sum of squares are then computed, in two passes over the chunks.
    """
    shape = dict(zip(dims, y.shape, strict=True))
    n = prod(y.shape)
    means = _marginal_means(y, dims, terms)
    grand_mean = float(means[EMPTY].squeeze())
    if not np.isfinite(grand_mean):
        return None
    effects: dict[Term, Floats] = {EMPTY: means[EMPTY]}
    for term in sorted(terms, key=len):
        effect = means[term]
        for part in list(effects):
            if part < term:
                effect = effect - effects[part]
        effects[term] = effect
    ss_error = _sum_of_squares(y, list(effects.values()))
    del effects[EMPTY]
    ss = {term: float(np.vdot(effects[term], effects[term])) * (n / effects[term].size) for term in terms}
    ss_total = ss_error + sum(ss.values())
    floor = rounding_floor(n, grand_mean, ss_total)
    return Decomposition(
        grand_mean=grand_mean,
        effects=effects,
        ss={term: value if value > floor else 0.0 for term, value in ss.items()},
        df={term: term_df(shape, term) for term in terms},
        ss_error=ss_error if ss_error > floor else 0.0,
        df_error=error_df(shape, terms),
        ss_total=ss_total,
        n=n,
    )


def rounding_floor(n: int, grand_mean: float, ss_total: float, ulps: int = 16) -> float:
    """Return the sum of squares that rounding alone can leave; anything below it is zero."""
    mean_square = grand_mean**2 + ss_total / n
    return n * mean_square * (ulps * float(np.finfo(np.float64).eps)) ** 2


def _marginal_means(y: Any, dims: tuple[str, ...], terms: tuple[Term, ...]) -> dict[Term, Floats]:
    """Means over all dimensions that a term lacks; the largest terms from the data, the others from those."""
    means: dict[Term, Any] = {}
    wanted = sorted({*terms, EMPTY}, key=len, reverse=True)
    from_data = [term for term in wanted if not any(term < other for other in terms)]
    with np.errstate(invalid="ignore"):  # infinities of both signs; refused by the caller
        for term in from_data:
            means[term] = y.mean(axis=_others(dims, term), keepdims=True, dtype=np.float64)
    if hasattr(y, "dask"):
        import dask

        computed = cast(Any, dask).compute(*means.values())
        means = dict(zip(means, computed, strict=True))
    for term in wanted:
        if term not in means:
            source = min((means[other] for other in means if term < other), key=np.size)
            with np.errstate(invalid="ignore"):
                means[term] = source.mean(axis=_others(dims, term), keepdims=True)
    return means


def _others(dims: tuple[str, ...], term: Term) -> tuple[int, ...]:
    return tuple(axis for axis, dimension in enumerate(dims) if dimension not in term)


def _sum_of_squares(y: Any, effects: list[Floats]) -> float:
    residuals = y - effects[0]
    for effect in effects[1:]:
        residuals = residuals - effect
    return float((residuals * residuals).sum())
