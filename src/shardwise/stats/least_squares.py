"""Weighted least squares on an incomplete table, by eliminating the largest term.

A model with all its margins spans the same space as the indicators of its largest terms. The normal equations of
one set of indicators are diagonal, so the term with most cells is eliminated first (its Schur complement is small)
and what remains is factored by Cholesky with pivoting, which also tells the rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy import linalg

from shardwise.core.arrays import Floats, Ints
from shardwise.core.model import Term

EMPTY: Term = frozenset()
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
        return np.asarray(linalg.solve_triangular(self.factor, chosen.T, lower=True).T)

    def covariance(self, rows: Floats) -> Floats:
        """Covariance of these linear functions for an error variance of one."""
        direct, rest = self.reduce_rows(rows)
        scaled = self.scale_rest(rest)
        return np.asarray(direct @ direct.T + scaled @ scaled.T)

    def explained_variance(self, rows: Floats) -> float:
        """Return the trace of the covariance of these linear functions."""
        direct, rest = self.reduce_rows(rows)
        return float(np.sum(direct**2) + np.sum(self.scale_rest(rest) ** 2))

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
    pivots, factor, ties = _pivoted_cholesky(schur)
    right_first = table.weighted_sums(first)
    right_rest = np.vstack([np.zeros((0, responses)), *(table.weighted_sums(block) for block in rest)])
    right_rest = right_rest - cross @ (inverse[:, None] * right_first)
    solved_rest = np.zeros_like(right_rest)
    span = pivots[: len(factor)]
    solved_rest[span] = linalg.cho_solve((factor, True), right_rest[span])
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


def _pivoted_cholesky(schur: Floats) -> tuple[Ints, Floats, Floats]:
    if not schur.size:
        return np.arange(len(schur)), np.zeros((0, 0)), np.zeros((len(schur), 0))
    limit = RANK_TOLERANCE * max(1.0, float(schur.diagonal().max()))
    factor, pivots, rank, _ = linalg.lapack.dpstrf(schur, tol=limit, lower=1)
    return np.asarray(pivots, np.int64) - 1, np.tril(factor[:rank, :rank]), factor[rank:, :rank]


def _inverse_or_zero(weights: Floats) -> Floats:
    return np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)


def _sum_weights(index: Ints, weights: Floats, length: int) -> Floats:
    return np.asarray(np.bincount(index, weights, length), np.float64)
