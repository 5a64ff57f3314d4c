"""The data of a mixed model as cross products, put together by items that lack the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from shardwise.core.arrays import Floats, Ints
from shardwise.core.rng import make_generator


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Cross products of the data: all that the likelihood needs.

    Z are the factors whose levels lie within one item, U those that do not, and the fixed columns X. Items with the
    same cells have the same Z'Z and Z'U, so that one pattern stands for all of them.
    """

    n: int
    p: int
    factors: int  # random ones
    own: dict[
        int, slice
    ]  # factors within items -> their columns of Z; a level that an item lacks is a column of 0
    others: tuple[int, ...]  # the other factors
    rest: tuple[slice, ...]  # their columns of U
    column_factor: Ints  # (m,) factor of each column of Z
    count: Floats  # (P,) items of each pattern
    zz: Floats  # (P, m, m) Z'Z of one of them
    zu: Floats  # (P, m, u) Z'U
    zy: Floats  # (P, m) Z'y, summed over them
    zyyz: Floats  # (P, m, m) Z'yy'Z, likewise
    u_u: Floats
    u_y: Floats
    y_y: float
    pattern: Ints  # (I,) of each item
    item_zy: Floats  # (I, m)
    item_levels: Ints  # (I, m) level of each column of Z, -1 where there is none


def prepare_problem(y: Floats, x: Floats, factors: Sequence[Ints]) -> Problem:
    """Prepare observations y, fixed columns X and the level of each factor for each observation (-1: none)."""
    n, p = x.shape
    item, within = _choose_items(factors, p)
    others = tuple(k for k in range(len(factors)) if k not in within)
    items = int(item.max()) + 1
    slots, levels = _assign_slots(item, [factors[k] for k in within], items)
    edges = np.cumsum([0, *(block.shape[1] for block in levels)])
    slices = {k: slice(int(a), int(b)) for k, (a, b) in zip(within, pairwise(edges), strict=True)}
    m = int(edges[-1])
    places = [np.where(slot >= 0, slot + start, -1) for slot, start in zip(slots, edges, strict=False)]
    widths = [int(factors[k].max(initial=-1)) + 1 for k in others]
    starts = np.cumsum([0, *widths])
    u = _build_columns(
        [(factors[k], int(a)) for k, a in zip(others, starts, strict=False)], x, int(starts[-1])
    )
    pattern, first = _find_patterns(item, places, u, items)
    count = np.bincount(pattern).astype(np.float64)
    zz, zu = _multiply_representatives(item, places, u, pattern, first, m)
    item_zy = np.zeros((items, m))
    for place in places:
        present = place >= 0
        np.add.at(item_zy, (item[present], place[present]), y[present])
    order = np.argsort(pattern, kind="stable")
    cuts = np.searchsorted(pattern[order], np.arange(len(count)))
    squares = item_zy[order][:, :, None] * item_zy[order][:, None, :]
    return Problem(
        n=n,
        p=p,
        factors=len(factors),
        own=slices,
        others=others,
        rest=tuple(slice(int(a), int(b)) for a, b in pairwise(starts)),
        column_factor=np.repeat(np.array(within, dtype=np.int64), np.diff(edges)),
        count=count,
        zz=zz,
        zu=zu,
        zy=np.add.reduceat(item_zy[order], cuts, axis=0),
        zyyz=np.add.reduceat(squares, cuts, axis=0),
        u_u=np.asarray((u.T @ u).toarray()),
        u_y=np.asarray(u.T @ y),
        y_y=float(y @ y),
        pattern=pattern,
        item_zy=item_zy,
        item_levels=np.concatenate(levels, axis=1) if levels else np.empty((items, 0), dtype=np.int64),
    )


def _choose_items(factors: Sequence[Ints], p: int) -> tuple[Ints, tuple[int, ...]]:
    """Which factor's levels are the items, such that elimination is cheapest, and the factors that lie within them."""
    best: tuple[float, Ints, tuple[int, ...]] | None = None
    for item in factors:
        if (item < 0).any() or not item.size:
            continue
        most = [_levels_within(code, item) for code in factors]
        within = tuple(k for k, levels in enumerate(most) if levels >= 0)
        u = p + sum(int(code.max(initial=-1)) + 1 for k, code in enumerate(factors) if k not in within)
        m = sum(most[k] for k in within)
        cost = float(u) ** 3 + (int(item.max()) + 1.0) * m * (m + u) ** 2
        if best is None or cost < best[0]:
            best = cost, item, within
    if best is None:  # every factor leaves some observations out: all of them are one item without factors
        return np.zeros(len(factors[0]) if factors else 1, dtype=np.int64), ()
    return best[1], best[2]


def _levels_within(code: Ints, item: Ints) -> int:
    """The largest number of levels of a factor in one item, or -1 if one of its levels lies in two items."""
    present = code >= 0
    if not present.all():
        code, item = code[present], item[present]
    owner = np.full(int(code.max(initial=-1)) + 1, -1, dtype=np.int64)
    owner[code] = item
    return int(np.bincount(owner[owner >= 0]).max(initial=0)) if (owner[code] == item).all() else -1


def _assign_slots(item: Ints, factors: Sequence[Ints], items: int) -> tuple[list[Ints], list[Ints]]:
    """Place of each observation's level among those of its item (-1: none), and the level at each place (I, most)."""
    slots, levels = [], []
    for code in factors:
        owner = np.full(int(code.max(initial=-1)) + 1, -1, dtype=np.int64)
        owner[code[code >= 0]] = item[code >= 0]
        used = np.flatnonzero(owner >= 0)
        order = used[np.argsort(owner[used], kind="stable")]
        starts = np.searchsorted(owner[order], np.arange(items))
        slot = np.zeros(len(owner), dtype=np.int64)
        slot[order] = np.arange(len(order)) - starts[owner[order]]
        slots.append(np.where(code >= 0, slot[code], -1))
        level_at_slot = np.full((items, int(slot.max(initial=-1)) + 1), -1, dtype=np.int64)
        level_at_slot[owner[order], slot[order]] = order
        levels.append(level_at_slot)
    return slots, levels


def _build_columns(codes: Sequence[tuple[Ints, int]], x: Floats, start: int) -> sparse.csr_array:
    """U = [Z of the other factors, X] as a sparse matrix."""
    n, p = x.shape
    columns = np.empty((n, len(codes) + p), dtype=np.int32)
    values = np.empty(columns.shape)
    for k, (code, first) in enumerate(codes):
        columns[:, k] = code + first
        values[:, k] = code >= 0
    columns[:, len(codes) :] = np.arange(start, start + p)
    values[:, len(codes) :] = x
    present = values != 0.0
    ends = np.concatenate(([0], np.cumsum(present.sum(axis=1)))).astype(np.int32)
    return sparse.csr_array((values[present], columns[present], ends), shape=(n, start + p))


def _find_patterns(item: Ints, places: Sequence[Ints], u: sparse.csr_array, items: int) -> tuple[Ints, Ints]:
    """Number of the pattern of each item, and an item of each pattern.

    Two items are alike if they have the same observations: each is known by a random number for what it is in Z and U,
    an item by their sums.
    """
    rng = make_generator(0)
    mark = u @ rng.standard_normal(u.shape[1])
    for slot in places:
        mark = mark + rng.standard_normal(int(slot.max(initial=-1)) + 2)[slot]
    _, kind = np.unique(mark, return_inverse=True)
    words = rng.integers(0, 2**63, size=(int(kind.max()) + 1, 2), dtype=np.uint64)
    sums = np.zeros((items, 2), dtype=np.uint64)
    np.add.at(sums, item, words[kind])
    _, first, pattern = np.unique(
        sums.view([("a", np.uint64), ("b", np.uint64)]).ravel(), return_index=True, return_inverse=True
    )
    return pattern.astype(np.int64), first.astype(np.int64)


def _multiply_representatives(
    item: Ints, places: Sequence[Ints], u: sparse.csr_array, pattern: Ints, first: Ints, m: int
) -> tuple[Floats, Floats]:
    """(P, m, m) Z'Z and (P, m, u) Z'U of one item of each pattern."""
    chosen = np.zeros(len(pattern), dtype=bool)
    chosen[first] = True
    rows = np.flatnonzero(chosen[item])
    own_pattern = pattern[item[rows]]
    zz = np.zeros((len(first), m, m))
    width = u.shape[1]
    zu = np.zeros(len(first) * m * width)
    mine = u if len(rows) == u.shape[0] else u[rows]
    length = np.diff(mine.indptr)
    for slots in places:
        a = slots[rows]
        flat_index = np.repeat((own_pattern * m + a) * width, length) + mine.indices
        weight = np.where(np.repeat(a >= 0, length), mine.data, 0.0)
        zu += np.bincount(np.maximum(flat_index, 0), weights=weight, minlength=zu.size)
        for two in places:
            b = two[rows]
            both = (a >= 0) & (b >= 0)
            np.add.at(zz, (own_pattern[both], a[both], b[both]), 1.0)
    return zz, zu.reshape(len(first), m, width)
