"""Balanced data: effects are inclusion-exclusion of marginal means, exactly and in one pass, table by table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any, cast

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.core.model import Term

EMPTY: Term = frozenset()
Number = Any  # a float of one table, an array (…,) of many


@dataclass(frozen=True, slots=True, eq=False)
class Decomposition:
    """Sums of squares, degrees of freedom and effects of a model on its data."""

    shape: dict[str, int]
    grand_mean: Number
    effects: dict[Term, Floats]  # (…, dimensions of the scores), length 1 where the term does not have them
    ss: dict[Term, Number]
    df: dict[Term, int]
    ss_error: Number
    df_error: int
    ss_total: Number
    n: int
    floor: Number  # the sum of squares that rounding alone can leave
    levels: dict[Term, Floats]  # marginal means of the terms, shaped like their effects

    def means(self, of: str = "system") -> Floats:
        """(…, levels) marginal means of a dimension, to their own digits: one level may be far larger than others."""
        level_means = self.levels[frozenset({of})]
        lead = level_means.shape[: level_means.ndim - len(self.shape)]
        return np.asarray(level_means.reshape(*lead, -1))

    def of(self, terms: tuple[Term, ...]) -> Decomposition:
        """The same for a smaller model: what its terms lack goes to the error."""
        absent = [term for term in self.ss if term not in terms]
        if not absent:
            return self
        ss_error = self.ss_error + sum(self.ss[term] for term in absent)
        return replace(
            self,
            effects={term: self.effects[term] for term in terms},
            ss={term: self.ss[term] for term in terms},
            df={term: self.df[term] for term in terms},
            ss_error=_zero_below(ss_error, self.floor),
            df_error=self.df_error + sum(self.df[term] for term in absent),
        )

    def residuals(self, y: Floats) -> Floats:
        """What the model leaves of each score."""
        grand = np.asarray(self.grand_mean)
        residuals = y - grand.reshape(grand.shape + (1,) * len(self.shape))
        for effect in self.effects.values():
            residuals = residuals - effect
        return np.asarray(residuals)


def error_df(shape: dict[str, int], terms: tuple[Term, ...]) -> int:
    """Return what the terms leave of the N - 1 degrees of freedom of a full table."""
    return prod(shape.values()) - 1 - sum(term_df(shape, term) for term in terms)


def term_df(shape: dict[str, int], term: Term) -> int:
    """Return the degrees of freedom of a term: the product of its levels less one each."""
    return prod(shape[dimension] - 1 for dimension in term)


def all_terms(dims: tuple[str, ...]) -> tuple[Term, ...]:
    """Every term that tables of these dimensions can have but that of all dimensions, which is what is left over."""
    return tuple(frozenset(part) for size in range(1, len(dims)) for part in combinations(dims, size))


def decompose(y: Any, dims: tuple[str, ...], terms: tuple[Term, ...]) -> Decomposition | None:
    """Split full tables (…, sizes of dims) into effects; None if one holds a NaN or an infinity.

    Effect of a term = its marginal mean less the effects of all terms within it (F19 §4). ``y`` may be a Dask
    array of one table: only marginal means and one sum of squares are then computed, in two passes over the chunks.

    >>> y = np.array([[0.1, 0.2, 0.4], [0.3, 0.3, 0.6], [0.2, 0.5, 0.6]])
    >>> found = decompose(np.stack([y, 2 * y]), ("topic", "system"), all_terms(("topic", "system")))
    >>> found.ss[frozenset({"system"})].round(4).tolist(), found.df_error
    ([0.1689, 0.6756], 4)
    """
    lead = y.ndim - len(dims)
    axes = tuple(range(lead, y.ndim))
    shape = {d: int(size) for d, size in zip(dims, y.shape[lead:], strict=True)}
    n = prod(shape.values())
    means = _marginal_means(y, dims, terms, lead)
    grand = means[EMPTY]
    if not np.isfinite(grand).all():
        return None
    effects: dict[Term, Floats] = {EMPTY: grand}
    for term in sorted(terms, key=len):
        effect = means[term]
        for part in list(effects):
            if part < term:
                effect = effect - effects[part]
        effects[term] = effect
    residuals = y
    for effect in effects.values():
        residuals = residuals - effect
    ss_error = _sum_squares(residuals, axes, 1.0)
    del effects[EMPTY]
    ss = {term: _sum_squares(effects[term], axes, n / prod(effects[term].shape[lead:])) for term in terms}
    ss_total = ss_error + sum(ss.values())
    grand_mean = grand.reshape(grand.shape[:lead]) if lead else float(grand.squeeze())
    floor = rounding_floor(n, grand_mean, ss_total)
    return Decomposition(
        shape=shape,
        grand_mean=grand_mean,
        effects={term: effects[term] for term in terms},
        ss={term: _zero_below(value, floor) for term, value in ss.items()},
        df={term: term_df(shape, term) for term in terms},
        ss_error=_zero_below(ss_error, floor),
        df_error=error_df(shape, terms),
        ss_total=ss_total,
        n=n,
        floor=floor,
        levels={term: means[term] for term in terms if len(term) == 1},
    )


def rounding_floor(n: int, grand_mean: Number, ss_total: Number, ulps: int = 16) -> Number:
    """Return the sum of squares that rounding alone can leave; anything below it is zero."""
    mean_square = grand_mean**2 + ss_total / n
    return n * mean_square * (ulps * float(np.finfo(np.float64).eps)) ** 2


def _zero_below(value: Number, floor: Number) -> Number:
    return np.where(value > floor, value, 0.0) if np.ndim(value) else float(value if value > floor else 0.0)


def _sum_squares(x: Any, axes: tuple[int, ...], weight: float) -> Number:
    """Sum squares over the axes of a table."""
    if not axes[0]:
        return float((x * x).sum()) * weight
    flat = x.reshape(*x.shape[: axes[0]], -1)
    return np.einsum("...i,...i->...", flat, flat) * weight


def _marginal_means(y: Any, dims: tuple[str, ...], terms: tuple[Term, ...], lead: int) -> dict[Term, Floats]:
    """Means over all dimensions that a term lacks; the largest terms from the data, the others from those."""
    means: dict[Term, Any] = {}
    wanted = sorted({*terms, EMPTY}, key=len, reverse=True)
    from_data = [term for term in wanted if not any(term < other for other in terms)]
    with np.errstate(invalid="ignore"):  # infinities of both signs; refused by the caller
        for term in from_data:
            means[term] = y.mean(axis=_other_axes(dims, term, lead), keepdims=True, dtype=np.float64)
    if hasattr(y, "dask"):
        import dask

        computed = cast(Any, dask).compute(*means.values())
        means = dict(zip(means, computed, strict=True))
    for term in wanted:
        if term not in means:
            source = min((means[other] for other in means if term < other), key=np.size)
            with np.errstate(invalid="ignore"):
                means[term] = source.mean(axis=_other_axes(dims, term, lead), keepdims=True)
    return means


def _other_axes(dims: tuple[str, ...], term: Term, lead: int) -> tuple[int, ...]:
    return tuple(lead + axis for axis, dimension in enumerate(dims) if dimension not in term)
