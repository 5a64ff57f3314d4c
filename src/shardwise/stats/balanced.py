"""Balanced data: effects are inclusion-exclusion of marginal means; the error term that goes with a claim.

A dimension that the claim generalises over is a random sample of levels. In a balanced crossed design the mean of
system j over all else then varies by the interactions of system with every set W of random dimensions, and by nothing
else: interactions with dimensions held fixed sum to zero over the levels that are there. With

    E[MS(system:W)] = sum of (cells per combination) · variance over all system:V with V containing W,

inclusion-exclusion over the sets gives the one combination of mean squares with the right expectation:

    MS = sum over non-empty W of (-1)^(|W|+1) · MS(system:W).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any, cast

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import Model, Term, format_term

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


ERROR = "error"


def error_term(model: Model, dims: tuple[str, ...], target: str, claim: Claim) -> dict[str, int]:
    """Derive the mean squares, with signs, that a claim about differences between levels of ``target`` rests on.

    >>> from shardwise.core.model import MD6
    >>> error_term(MD6, ("topic", "system", "shard"), "system", Claim("topic", "shard"))
    {'topic:system': 1, 'system:shard': 1, 'error': -1}
    """
    if frozenset({target}) not in model.sets:
        raise InputError(
            f"the model {model.short} has no {target}", remedy=f"add {target} to compare its levels"
        )
    claim.check(dims, target)
    if not claim.over:
        return {ERROR: 1}  # F19 eq. 1
    everything = frozenset(dims)
    absent = [
        frozenset(part)
        for size in range(1, len(dims) + 1)
        for part in combinations(dims, size)
        if frozenset(part) not in model.sets
    ]
    signs: dict[str, int] = {}
    for size in range(1, len(claim) + 1):
        for chosen in combinations(claim.over, size):
            term = frozenset({target, *chosen})
            if term in model.sets:
                signs[format_term(term)] = (-1) ** (size + 1)
            elif absent == [everything] == [term]:
                signs[ERROR] = (-1) ** (size + 1)
            else:
                lacking = [t for t in absent if t != everything]
                missing = [format_term(t) for t in lacking if t <= term] or [format_term(t) for t in lacking]
                usual = {"topic:system": "MD3 to MD6 have topic:system", "system:shard": "MD6 has it"}
                hint = f" ({usual[missing[0]]})" if missing[0] in usual else ""
                raise InputError(
                    f"{model.short} does not support a claim about {claim.phrase()}: its error pools"
                    f" {format_term(term)} with other variation",
                    remedy=f"use a model with {' + '.join(missing)}{hint}, or do not generalise",
                    argument="generalize",
                    value=claim.over,
                )
    return signs


def supports_claim(model: Model, dims: tuple[str, ...], claim: Claim) -> bool:
    """Return whether a model of scores with these dimensions can speak for a claim about systems at all."""
    try:
        error_term(model, dims, "system", claim)
    except InputError:
        return False
    return True


def combine_squares(
    signs: dict[str, int],
    unit: Floats,
    shares: dict[str, float] | None,
    ms: Mapping[str, Any],
    df: Mapping[str, Any],
) -> tuple[Floats, Floats, str]:
    """Return variance and Satterthwaite df of a difference, and its error term in words.

    ``unit`` is the variance of a difference per unit of error variance. On balanced data every mean square of the
    error term counts ``unit`` times. On unbalanced data ``shares`` says how often MS(t) counts, and the error
    carries what is left of ``unit`` (nothing where a lone MS(t) counts for more). Each mean square is a lower bound
    on its own, as no variance is negative: a combination of several that falls below one is replaced by it.
    """
    variance, freedom = _satterthwaite_df(_weigh_squares(signs, unit, shares), ms, df)
    floored = False
    for name in {**signs, ERROR: 1} if len(signs) > 1 else {}:
        alone, alone_df = _satterthwaite_df(_weigh_squares({name: 1}, unit, shares), ms, df)
        higher = alone > variance
        floored = floored or bool(np.any(higher))
        variance, freedom = np.where(higher, alone, variance), np.where(higher, alone_df, freedom)
    first, *others = signs.items()
    words = first[0] + "".join(f" {'+' if sign > 0 else '-'} {name}" for name, sign in others)
    words += ", Satterthwaite df" if others else ""
    return variance, freedom, words + "; a variance estimated below zero was set to zero" * floored


def _weigh_squares(signs: dict[str, int], unit: Floats, shares: dict[str, float] | None) -> dict[str, Floats]:
    if shares is None:
        return {name: sign * unit for name, sign in signs.items()}
    counted = {name: np.full_like(unit, shares[name]) for name in signs if name != ERROR}
    rest = unit - sum(counted.values(), np.zeros_like(unit))
    return {**counted, ERROR: rest if len(counted) > 1 else np.maximum(rest, 0.0)}


def _satterthwaite_df(
    coefficients: dict[str, Floats], ms: Mapping[str, Any], df: Mapping[str, Any]
) -> tuple[Floats, Floats]:
    parts = {name: coefficient * ms[name] for name, coefficient in coefficients.items()}
    if len(parts) == 1:
        ((name, variance),) = parts.items()
        return variance, np.full_like(variance, df[name])
    nothing = np.zeros_like(next(iter(parts.values())))
    variance = sum(parts.values(), nothing)
    spread = sum((part**2 / df[name] for name, part in parts.items()), nothing)
    simplest = np.full_like(nothing, df[next(iter(parts))])
    return variance, np.divide(variance**2, spread, out=simplest, where=spread > 0)
