"""Weighted least squares on an incomplete table, by eliminating the largest term.

A model with all its margins spans the same space as the indicators of its largest terms. The normal equations of
one set of indicators are diagonal, so the term with most cells is eliminated first (its Schur complement is small)
and what remains is factored by Cholesky with pivoting, which also tells the rank.

Unbalanced data: exact least squares with type III sums of squares on the scores that are there.

The pattern of what is missing is often the same along some dimensions: a topic without relevant documents in a shard
is undefined for all systems. Along such dimensions the design is a product, so the problem falls apart into strata
(one for each subset of them: means over some, contrasts over the others) that share no error and are each solved on
the small remaining table. Full data are the case in which every dimension falls away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import scipy

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.model import Term, format_term
from shardwise.stats.balanced import EMPTY

RANK_TOLERANCE = 1e-10  # pivots of these integer-weighted designs are either far above or at rounding


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """The cells of a table that hold data: where they are, their weight and their mean (one column a response)."""

    shape: dict[str, int]
    codes: dict[str, Ints]  # level of each cell, for each dimension
    weights: Floats  # (C,)
    means: Floats  # (C, Q)

    def count_levels(self, term: Term) -> int:
        """Count the combinations of the levels of a term."""
        return prod(self.shape[dimension] for dimension in term)

    def order_dimensions(self, term: Term) -> list[str]:
        """Return the dimensions of a term in the order of the table."""
        return [dimension for dimension in self.shape if dimension in term]

    def cell_index(self, term: Term) -> Ints:
        """Return the combination of levels of a term in which each cell lies."""
        index = np.zeros(len(self.weights), np.int64)
        for dimension in self.order_dimensions(term):
            index = index * self.shape[dimension] + self.codes[dimension]
        return index

    def empty_levels(self, term: Term) -> Ints:
        """Return the combinations of levels of a term without any data."""
        return np.flatnonzero(np.bincount(self.cell_index(term), minlength=self.count_levels(term)) == 0)

    def overlap_weights(self, first: Term, second: Term) -> Floats:
        """Return (levels, levels) weight that two terms share in each pair of their combinations."""
        wide = self.count_levels(second)
        index = self.cell_index(first) * wide + self.cell_index(second)
        return _sum_weights(index, self.weights, self.count_levels(first) * wide).reshape(-1, wide)

    def weighted_sums(self, term: Term) -> Floats:
        """Return (levels, Q) weighted sums of the cell means in each combination of a term."""
        responses = self.means.shape[1]
        index = self.cell_index(term)[:, None] * responses + np.arange(responses)
        weighted = self.weights[:, None] * self.means
        return _sum_weights(index.ravel(), weighted.ravel(), self.count_levels(term) * responses).reshape(
            -1, responses
        )


def largest_terms(terms: Iterable[Term]) -> list[Term]:
    """Return the terms that lie within no other, which span all the rest."""
    every = set(terms)
    return [term for term in sorted(every, key=sorted) if not any(term < other for other in every)]


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Least-squares fit of some terms to a table, with what is needed to judge any linear function of it."""

    table: CellTable
    blocks: tuple[Term, ...]  # the eliminated term first
    diagonal: Floats  # weights of the eliminated term's combinations
    cross: Floats  # (q, levels of the eliminated term)
    pivots: Ints  # (q,) order of the rest's combinations: r that span it, then those tied to them
    factor: Floats  # (r, r) lower triangle of the Schur complement of those that span
    ties: Floats  # (q - r, r) lower rows of the factor for those that are tied
    parameters: Floats  # (P, Q), block after block
    rank: int

    @property
    def fitted(self) -> Floats:
        """(C, Q) fitted means of the cells."""
        fitted = np.zeros_like(self.table.means)
        for block, values in self._by_block():
            fitted += values[self.table.cell_index(block)]
        return fitted

    def _by_block(self) -> Iterator[tuple[Term, Floats]]:
        ends = np.cumsum([self.table.count_levels(block) for block in self.blocks])
        return zip(self.blocks, np.split(self.parameters, ends)[: len(self.blocks)], strict=True)

    def reduce_rows(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return linear functions after elimination: their direct part over its root weight, and the rest."""
        split = len(self.diagonal)
        direct = rows[:, :split] * _inverse_or_zero(self.diagonal)
        return direct * np.sqrt(self.diagonal), rows[:, split:] - direct @ self.cross.T

    def are_estimable(self, rows: Floats) -> bool:
        """Return whether the data determine these linear functions of the parameters."""
        empty = np.concatenate(
            [np.isin(np.arange(self.table.count_levels(b)), self.table.empty_levels(b)) for b in self.blocks]
        )
        if np.any(rows[:, empty]):
            return False
        _, rest = self.reduce_rows(rows)
        scaled = self.scale_rest(rest)
        gap = rest[:, self.pivots[len(self.factor) :]] - scaled @ self.ties.T
        return not gap.size or bool(np.abs(gap).max() < 1e-8 * np.abs(rows).max())

    def scale_rest(self, rest: Floats) -> Floats:
        """Return linear functions of the rest in coordinates with unit covariance."""
        chosen = rest[:, self.pivots[: len(self.factor)]]
        return np.asarray(scipy.linalg.solve_triangular(self.factor, chosen.T, lower=True).T)

    def covariance(self, rows: Floats) -> Floats:
        """Covariance of these linear functions for an error variance of one."""
        direct, rest = self.reduce_rows(rows)
        scaled = self.scale_rest(rest)
        return np.asarray(direct @ direct.T + scaled @ scaled.T)

    def mean_rows(self, term: Term) -> Floats:
        """Rows that give the effects of a term: equal-weight means over the full table, centred in the term."""
        table = self.table
        pieces = []
        for block in self.blocks:
            if not term <= block:
                pieces.append(np.zeros((table.count_levels(term), table.count_levels(block))))
                continue
            product: Any = np.ones((1, 1))
            for d in table.order_dimensions(block):
                n = table.shape[d]
                product = np.kron(product, np.eye(n) - 1.0 / n if d in term else np.full((1, n), 1.0 / n))
            pieces.append(product)
        return np.hstack(pieces)

    def effects(self, term: Term) -> Floats:
        """(levels, Q) effects of a term, summing to zero over each of its dimensions."""
        table = self.table
        total = np.zeros((*(table.shape[d] for d in table.order_dimensions(term)), table.means.shape[1]))
        for block, parameters in self._by_block():
            if term <= block:
                order = table.order_dimensions(block)
                values = parameters.reshape(*(table.shape[d] for d in order), -1)
                total += values.mean(axis=tuple(axis for axis, d in enumerate(order) if d not in term))
        for axis in range(len(term)):
            total -= total.mean(axis=axis, keepdims=True)
        return total.reshape(table.count_levels(term), -1)


def solve_table(table: CellTable, terms: Iterable[Term]) -> Solution:
    """Fit some terms, margins included, to the cell means of a table."""
    blocks = sorted(largest_terms(terms), key=table.count_levels, reverse=True)
    responses = table.means.shape[1]
    if not blocks:
        none = np.zeros((0, 0))
        empty = np.zeros(0, np.int64)
        return Solution(table, (), np.zeros(0), none, empty, none, none, np.zeros((0, responses)), 0)
    first, *rest = blocks
    diagonal = _sum_weights(table.cell_index(first), table.weights, table.count_levels(first))
    inverse = _inverse_or_zero(diagonal)
    cross = np.vstack(
        [np.zeros((0, len(diagonal))), *(table.overlap_weights(block, first) for block in rest)]
    )
    among = [np.hstack([table.overlap_weights(block, other) for other in rest]) for block in rest]
    schur = np.vstack(among) - (cross * inverse) @ cross.T if rest else np.zeros((0, 0))
    pivots, factor, ties = np.arange(len(schur)), np.zeros((0, 0)), np.zeros((len(schur), 0))
    if schur.size:
        limit = RANK_TOLERANCE * max(1.0, float(schur.diagonal().max()))
        lower, order, rank, _ = scipy.linalg.lapack.dpstrf(schur, tol=limit, lower=1)
        pivots, factor, ties = (
            np.asarray(order, np.int64) - 1,
            np.tril(lower[:rank, :rank]),
            lower[rank:, :rank],
        )
    right_first = table.weighted_sums(first)
    right_rest = np.vstack([np.zeros((0, responses)), *(table.weighted_sums(block) for block in rest)])
    right_rest = right_rest - cross @ (inverse[:, None] * right_first)
    solved_rest = np.zeros_like(right_rest)
    span = pivots[: len(factor)]
    solved_rest[span] = scipy.linalg.cho_solve((factor, True), right_rest[span])
    solved_first = inverse[:, None] * (right_first - cross.T @ solved_rest)
    return Solution(
        table=table,
        blocks=tuple(blocks),
        diagonal=diagonal,
        cross=cross,
        pivots=pivots,
        factor=factor,
        ties=ties,
        parameters=np.vstack([solved_first, solved_rest]),
        rank=int(np.count_nonzero(diagonal)) + len(factor),
    )


def _inverse_or_zero(weights: Floats) -> Floats:
    return np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)


def _sum_weights(index: Ints, weights: Floats, length: int) -> Floats:
    return np.asarray(np.bincount(index, weights, length), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """Contrasts over some even dimensions, means over the others, on the table of the uneven ones."""

    even: Term
    contrasts: int  # number of independent contrasts, each a response of its own
    table: CellTable
    terms: frozenset[Term]  # the model's terms in this stratum, even dimensions taken away
    fit: Solution
    without: dict[Term, Solution]  # the fits that lack one of the largest terms

    @property
    def ss_error(self) -> float:
        """Sum of squares that the stratum leaves unexplained."""
        return self.square(self.table.means - self.fit.fitted)

    @property
    def df_error(self) -> int:
        """Degrees of freedom that the stratum leaves unexplained."""
        return self.contrasts * (len(self.table.weights) - self.fit.rank)

    def square(self, differences: Floats) -> float:
        """Weighted sum of squares over cells and responses."""
        return float(np.sum(self.table.weights[:, None] * differences**2))


@dataclass(frozen=True, slots=True, eq=False)
class TermTest:
    """Sum of squares of a term, and how it came about."""

    ss: float
    df: int
    effects: Floats | None  # None where the data do not determine them
    kind: str  # "III", or "II" where empty cells leave no type III hypothesis


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteFit:
    """A model fitted to a table with missing cells."""

    shape: dict[str, int]  # of the model's dimensions, in the order of the scores
    labels: dict[str, tuple[str, ...]]
    even: Term
    strata: dict[Term, Stratum]
    tests: dict[Term, TermTest]
    grand_mean: float
    level_estimable: bool
    ss_error: float
    df_error: int
    ss_total: float
    n: int

    def adjusted_effects(self, target: str) -> tuple[Floats, Floats]:
        """Return effects of a dimension's levels and (L, L) variances of their differences, in units of the error's."""
        term = frozenset({target})
        stratum = self.strata[term & self.even]
        rows = stratum.fit.mean_rows(term - self.even)
        effects = self.tests[term].effects
        if effects is None or not stratum.fit.are_estimable(rows):
            obstacle = "the scores fall into parts that share no levels"
            for block in reversed(stratum.fit.blocks):
                empty = stratum.table.empty_levels(block)
                if empty.size and term - self.even <= block:
                    order = stratum.table.order_dimensions(block)
                    place = np.unravel_index(int(empty[0]), tuple(stratum.table.shape[d] for d in order))
                    named = (f"{d} {self.labels[d][int(i)]}" for d, i in zip(order, place, strict=True))
                    more = f" (and {empty.size - 1} more like it)" if empty.size > 1 else ""
                    model = format_term(block | stratum.even)
                    obstacle = f"the model has {model}, but there is no score for {', '.join(named)}{more}"
            raise InputError(
                f"the means of the {target}s cannot be compared: {obstacle}",
                remedy="drop or fill what is missing, or use a model with fewer interactions",
            )
        covariance = stratum.fit.covariance(rows)
        levels = self.shape[target]
        if target in self.even:
            return effects.ravel(), np.where(np.eye(levels, dtype=bool), 0.0, 2.0 * covariance[0, 0])
        variances = np.diag(covariance)
        differences = variances[:, None] + variances[None, :] - 2.0 * covariance
        np.fill_diagonal(differences, 0.0)
        return effects.ravel(), differences

    def random_weight(self, term: Term) -> float | None:
        """Factor k of E[MS] = error variance + k · variance of a term's random effects; None if other terms enter.

        The reduction in the sum of squares due to a term fitted last contains its own effects and error only
        (Henderson's third method); k is its trace per degree of freedom.
        """
        stratum = self.strata[term & self.even]
        core = term - self.even
        if core not in stratum.without:
            return None
        without = stratum.without[core]
        df = stratum.fit.rank - without.rank
        total = float(stratum.table.weights.sum())
        if without.blocks:
            shared = [stratum.table.overlap_weights(core, block) for block in without.blocks]
            # less the trace of the covariance of what the other terms explain
            direct, rest = without.reduce_rows(np.hstack(shared))
            total -= float(np.sum(direct**2) + np.sum(without.scale_rest(rest) ** 2))
        return total / df

    def fitted(self) -> Floats:
        """Fitted value of every cell that holds a score, NaN elsewhere."""
        order = [d for d in self.shape if d not in self.even] + [d for d in self.shape if d in self.even]
        core = tuple(self.shape[d] for d in order if d not in self.even)
        outer = tuple(self.shape[d] for d in order if d in self.even)
        table = next(iter(self.strata.values())).table
        cells = np.zeros((len(table.weights), *outer))
        for stratum in self.strata.values():
            kept = tuple(self.shape[d] if d in stratum.even else 1 for d in order if d in self.even)
            cells += stratum.fit.fitted.reshape(-1, *kept)
        full = np.full((prod(core), *outer), np.nan)
        full[table.cell_index(frozenset(table.shape))] = cells
        return full.reshape(core + outer).transpose([order.index(d) for d in self.shape])


def fit_incomplete(
    y: Floats,
    dims: tuple[str, ...],
    terms: tuple[Term, ...],
    labels: dict[str, tuple[str, ...]] | None = None,
) -> IncompleteFit:
    """Fit a model to the scores that are not NaN, by least squares; levels without labels are called by number."""
    named = [d for d in dims if any(d in term for term in terms)]
    shape = {d: y.shape[dims.index(d)] for d in named}
    labels = labels or {d: tuple(map(str, range(size))) for d, size in shape.items()}
    replicates = tuple(axis for axis, d in enumerate(dims) if d not in named)
    present: Bools = ~np.isnan(y)
    n = int(present.sum())
    counts = present.sum(axis=replicates, keepdims=True)
    sums = np.where(present, y, 0.0).sum(axis=replicates, keepdims=True)
    means = np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    ss_within = float(np.nansum((y - means) ** 2))
    df_within = n - int(np.count_nonzero(counts))
    counts, means = counts.squeeze(replicates), means.squeeze(replicates)

    even = frozenset(d for axis, d in enumerate(named) if np.all(counts == counts.take([0], axis=axis)))
    strata = _split_strata(means, counts, shape, even, terms)
    centre = float(np.mean(y[present]))
    lowest = strata[EMPTY].fit
    level_estimable = lowest.are_estimable(lowest.mean_rows(EMPTY))
    return IncompleteFit(
        shape=shape,
        labels=labels,
        even=even,
        strata=strata,
        tests={term: _test_term(strata[term & even], term, even) for term in terms},
        grand_mean=float(lowest.effects(EMPTY).squeeze()) if level_estimable else centre,
        level_estimable=level_estimable,
        ss_error=ss_within + sum(stratum.ss_error for stratum in strata.values()),
        df_error=df_within + sum(stratum.df_error for stratum in strata.values()),
        ss_total=float(np.sum((y[present] - centre) ** 2)),
        n=n,
    )


def _split_strata(
    means: Floats, counts: Floats, shape: dict[str, int], even: Term, terms: tuple[Term, ...]
) -> dict[Term, Stratum]:
    named = list(shape)
    uneven, along = [d for d in named if d not in even], [d for d in named if d in even]
    cells = counts
    for d in along:
        cells = cells.take([0], axis=named.index(d))
    weights = cells.ravel().astype(np.float64)
    filled = np.flatnonzero(weights)
    core = {d: shape[d] for d in uneven}
    places = np.unravel_index(filled, tuple(core.values())) if core else ()
    codes = {d: np.asarray(codes_of_cells, np.int64) for d, codes_of_cells in zip(core, places, strict=True)}
    arranged = means.transpose([named.index(d) for d in uneven + along])
    arranged = arranged.reshape(-1, *(shape[d] for d in along))[filled]
    strata: dict[Term, Stratum] = {}
    for size in range(len(along) + 1):
        for chosen in combinations(along, size):
            contrasted = frozenset(chosen)
            averaged = tuple(1 + axis for axis, d in enumerate(along) if d not in contrasted)
            response = arranged.mean(axis=averaged, keepdims=True)
            for axis, d in enumerate(along):
                if d in contrasted:
                    response = response - response.mean(axis=1 + axis, keepdims=True)
            table = CellTable(
                core,
                codes,
                weights[filled] * prod(shape[d] for d in along if d not in contrasted),
                response.reshape(len(filled), -1),
            )
            own_terms = frozenset(t - contrasted for t in (*terms, EMPTY) if t & even == contrasted)
            strata[contrasted] = Stratum(
                even=contrasted,
                contrasts=prod(shape[d] - 1 for d in contrasted),
                table=table,
                terms=own_terms,
                fit=solve_table(table, own_terms),
                without={
                    term: solve_table(table, own_terms - {term})
                    for term in largest_terms(own_terms)
                    if term | contrasted != EMPTY
                },
            )
    return strata


def _test_term(stratum: Stratum, term: Term, even: Term) -> TermTest:
    """Return the sum of squares of a term after all others, in the coding in which effects sum to zero (type III)."""
    core = term - even
    levels = prod(stratum.table.shape[d] - 1 for d in core)
    fit = stratum.fit
    if core in stratum.without:
        without = stratum.without[core]
        rank = fit.rank - without.rank
        if rank == 0:
            raise InputError(
                f"the scores do not separate {format_term(term)} from the other terms",
                remedy=f"leave {format_term(term)} out of the model",
            )
        effects = fit.effects(core) if rank == levels else None
        return TermTest(stratum.square(fit.fitted - without.fitted), stratum.contrasts * rank, effects, "III")
    rows = fit.mean_rows(core)
    if fit.are_estimable(rows):
        effects = fit.effects(core)
        inverse = scipy.linalg.pinvh(fit.covariance(rows))
        ss = float(np.einsum("lq,lm,mq->", effects, inverse, effects))
        return TermTest(ss, stratum.contrasts * levels, effects, "III")
    others = {other for other in stratum.terms if not core <= other}
    larger, smaller = solve_table(stratum.table, others | {core}), solve_table(stratum.table, others)
    ss = stratum.square(larger.fitted - smaller.fitted)
    return TermTest(ss, stratum.contrasts * (larger.rank - smaller.rank), None, "II")
