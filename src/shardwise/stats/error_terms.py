"""What a difference between systems is about: the error term that goes with a claim.

A dimension that the claim generalises over is a random sample of levels. In a balanced crossed design the mean of
system j over all else then varies by the interactions of system with every set W of random dimensions, and by nothing
else: interactions with dimensions held fixed sum to zero over the levels that are there. With

    E[MS(system:W)] = sum of (cells per combination) · variance over all system:V with V containing W,

inclusion-exclusion over the sets gives the one combination of mean squares with the right expectation:

    MS = sum over non-empty W of (-1)^(|W|+1) · MS(system:W).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import Model, Term, format_term

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
                raise _refuse_claim(model, term, [t for t in absent if t != everything], claim)
    return signs


def supports_claim(model: Model, dims: tuple[str, ...], claim: Claim) -> bool:
    """Return whether a model of scores with these dimensions can speak for a claim about systems at all."""
    try:
        error_term(model, dims, "system", claim)
    except InputError:
        return False
    return True


def _refuse_claim(model: Model, term: Term, absent: list[Term], claim: Claim) -> InputError:
    missing = [format_term(t) for t in absent if t <= term] or [format_term(t) for t in absent]
    usual = {"topic:system": "MD3 to MD6 have topic:system", "system:shard": "MD6 has it"}
    hint = f" ({usual[missing[0]]})" if missing[0] in usual else ""
    return InputError(
        f"{model.short} does not support a claim about {claim.phrase()}: its error pools {format_term(term)}"
        f" with other variation",
        remedy=f"use a model with {' + '.join(missing)}{hint}, or do not generalise",
        argument="generalize",
        value=claim.over,
    )


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
