"""Analysis of variance of many tables at once, and the comparison of all pairs for any claim that a model supports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, NAMED, Model, Term, label
from shardwise.numerics.balanced import rounding_floor, term_df
from shardwise.numerics.corrections import title as method_title
from shardwise.numerics.error_terms import ERROR, combine, error_term, plural
from shardwise.numerics.student import t_statistic
from shardwise.procedures.batch import (
    LAYOUTS,
    PROMISES,
    SHARDS,
    TABLE,
    Batch,
    Decisions,
    Dims,
    Procedure,
    procedure,
)
from shardwise.procedures.corrections import METHODS, by_dunnett, by_t, two_sided_t, without_noise

CLAIMS: tuple[tuple[str, ...], ...] = ((), ("topic",), ("shard",), ("topic", "shard"))


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Sums of squares of every term that tables of these dimensions can have, (B,) each."""

    y: Floats  # (B, sizes of shape)
    shape: dict[str, int]
    effects: dict[Term, Floats]  # of all terms, that without dimensions being the grand mean
    ss: dict[Term, Floats]
    floor: Floats  # what rounding alone can leave

    @property
    def values(self) -> Floats:
        """(B, R) means of the systems."""
        own = self.effects[frozenset({"system"})].reshape(len(self.y), -1)
        return np.asarray(self.effects[frozenset()].reshape(-1, 1) + own)

    def residuals(self, model: Model) -> Floats:
        """What a model leaves of each score."""
        left = self.y - self.effects[frozenset()]
        for term in model.sets:
            left = left - self.effects[term]
        return left

    def error(self, model: Model) -> tuple[Floats, int]:
        """Sum of squares and degrees of freedom that a model leaves: those of all terms that it lacks."""
        absent = [term for term in self.ss if term not in model.sets]
        ss = np.sum([self.ss[term] for term in absent], axis=0)
        return np.where(ss > self.floor, ss, 0.0), sum(term_df(self.shape, term) for term in absent)


def split(y: Floats, dims: Dims) -> Split:
    """Split tables (B, …) into the effects of all terms; the last term, of all dimensions, is what is left over.

    >>> found = split(np.array([[[0.1, 0.2, 0.4], [0.3, 0.3, 0.6], [0.2, 0.5, 0.6]]]), ("topic", "system"))
    >>> round(float(found.ss[frozenset({"system"})][0]), 4), found.error(MD1)[1]
    (0.1689, 4)
    """
    shape = dict(zip(dims, y.shape[1:], strict=True))
    n = prod(shape.values())
    grand = y.mean(axis=tuple(range(1, y.ndim)))
    effects: dict[Term, Floats] = {frozenset(): grand.reshape(-1, *[1] * len(dims))}
    ss: dict[Term, Floats] = {}
    for size in range(1, len(dims) + 1):
        for chosen in combinations(dims, size):
            term = frozenset(chosen)
            others = tuple(1 + k for k, name in enumerate(dims) if name not in term)
            effect = y.mean(axis=others, keepdims=True) if others else y
            for part, known in effects.items():
                if part < term:
                    effect = effect - known
            effects[term] = effect
            flat = effect.reshape(len(y), -1)
            ss[term] = np.einsum("bi,bi->b", flat, flat) * (n / flat.shape[1])
    total = np.sum(list(ss.values()), axis=0)
    floor = np.array([rounding_floor(n, g, t) for g, t in zip(grand.tolist(), total.tolist(), strict=True)])
    return Split(y, shape, effects, ss, floor)


def split_of(batch: Batch, model: Model) -> Split:
    """The split of a batch that a model needs: MD1 is for whole collections, or the means over whatever else varies."""
    if model == MD1:
        return batch.once("split of topic means", lambda: split(batch.topic_means(), TABLE))
    return batch.once("split", lambda: split(batch.y, batch.dims))


def spread(batch: Batch, model: Model, generalize: tuple[str, ...]) -> tuple[Floats, Floats]:
    """(B, 1) standard error and degrees of freedom of a difference, for a claim."""
    found = split_of(batch, model)
    signs = error_term(model, tuple(found.shape), "system", generalize)
    ms: dict[str, Any] = {}
    df: dict[str, Any] = {}
    for term in model.sets:
        df[label(term)] = float(term_df(found.shape, term))
        ms[label(term)] = np.where(found.ss[term] > found.floor, found.ss[term], 0.0) / df[label(term)]
    ss_error, df_error = found.error(model)
    ms[ERROR], df[ERROR] = ss_error / df_error, float(df_error)
    unit = np.full(len(batch), 2.0 * found.shape["system"] / prod(found.shape.values()))
    variance, freedom, _ = combine(signs, unit, None, ms, df)
    return np.sqrt(variance)[:, None], freedom[:, None]


def differences(batch: Batch, model: Model) -> tuple[Floats, Floats]:
    """(B, P) differences of the systems' means, and the (B, 1) largest mean of each table."""
    values = split_of(batch, model).values
    a, b = batch.pairs
    return values[:, a] - values[:, b], np.abs(values).max(axis=1, keepdims=True)


def decide(batch: Batch, alpha: float, model: Model, method: str, generalize: tuple[str, ...]) -> Decisions:
    """Compare all pairs as ``compare(anova(scores, model), method, generalize=generalize)`` does."""
    difference, largest = differences(batch, model)
    se, df = spread(batch, model, generalize)
    difference, se = without_noise(difference, se, largest)
    if method == "dunnett":
        return by_dunnett(difference, se, df, batch.systems, alpha)
    p = batch.once(
        ("p", model.title, generalize), lambda: two_sided_t(np.asarray(t_statistic(difference, se)), df)
    )
    return by_t(difference, se, df, method, batch.systems, alpha, p)


def supported(model: Model, generalize: tuple[str, ...]) -> bool:
    """Whether a model can speak for a claim at all."""
    try:
        error_term(model, TABLE if model == MD1 else SHARDS, "system", generalize)
    except InputError:
        return False
    return True


def models() -> Iterator[tuple[Model, tuple[str, ...], tuple[Dims, ...]]]:
    """Every model of F19 with each claim that it supports and the layouts that it can take."""
    for model in NAMED.values():
        for generalize in CLAIMS:
            if supported(model, generalize):
                yield model, generalize, LAYOUTS if model == MD1 else (SHARDS,)


def claim_suffix(generalize: tuple[str, ...]) -> str:
    """The claim at the end of a name.

    >>> claim_suffix(("topic", "shard"))
    ' topic+shard'
    """
    return f" {'+'.join(generalize)}" if generalize else ""


def claim_words(generalize: tuple[str, ...]) -> str:
    """The claim at the end of a title.

    >>> claim_words(("topic", "shard"))
    ', for topics and shards like these'
    """
    return f", for {' and '.join(plural(d) for d in generalize)} like these" if generalize else ""


def anova_procedures() -> list[Procedure]:
    """All models, methods and claims."""
    return [
        _procedure(model, method, generalize, dims)
        for model, generalize, dims in models()
        for method in (*METHODS, "dunnett")
    ]


def _procedure(model: Model, method: str, generalize: tuple[str, ...], dims: tuple[Dims, ...]) -> Procedure:
    words = method_title(method)
    test = f"t with {words}" if method not in {"hsd", "scheffe", "dunnett"} else words
    test += " against the first system" if method == "dunnett" else ""
    papers = {"hsd": "F19", "bh": "FF21"} if not generalize else {}
    return procedure(
        f"{model.name} {method}{claim_suffix(generalize)}",
        f"{model.name}, {test}{claim_words(generalize)}",
        dims,
        generalize,
        PROMISES[method],
        papers.get(method, ""),
        partial(decide, model=model, method=method, generalize=generalize),
    )
