"""Ranks, best sets and homogeneous groups of systems, all from the same significant pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import Either, InputError, Option

MOST_GROUPS = 20_000


def count_wins(significant: Bools, difference: Floats, ia: Ints, ib: Ints, systems: int) -> tuple[Ints, Ints]:
    """Count the systems significantly below and above each system.

    >>> below, above = count_wins(np.array([True, False, True]), np.ones(3), *np.triu_indices(3, 1), 3)
    >>> below.tolist(), above.tolist()
    ([1, 1, 0], [0, 1, 1])
    """
    first, second = significant & (difference > 0.0), significant & (difference < 0.0)
    if significant.ndim == 1:
        # One table of many systems: the incidence below would take gigabytes.
        counts = [np.bincount(index[won], minlength=systems) for won in (first, second) for index in (ia, ib)]
        return counts[0] + counts[3], counts[1] + counts[2]
    shape = (*significant.shape[:-1], systems)
    below, above = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    # sums over the pairs of each system, by products with the incidence of pairs and systems
    of_first, of_second = (np.equal.outer(index, np.arange(systems)).astype(np.int64) for index in (ia, ib))
    below += first @ of_first + second @ of_second
    above += first @ of_second + second @ of_first
    return below, above


def maximal_groups(differ: Bools, most: int = MOST_GROUPS) -> list[list[int]]:
    """All maximal sets of systems without a significant difference, best first; differ is (R, R), systems best first.

    More than ``most`` overlapping groups are refused.

    >>> maximal_groups(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool))
    [[0, 1], [1, 2]]
    """
    windows = _find_windows(differ)
    groups = _find_cliques(differ, most) if windows is None else windows
    return sorted(groups)


def _find_windows(differ: Bools) -> list[list[int]] | None:
    """Find groups as runs of neighbours, where one critical difference serves all pairs; None where it does not."""
    r = len(differ)
    above = np.triu(differ, 1)
    reach = np.where(above.any(axis=1), above.argmax(axis=1), r)  # first system that differs
    expected = np.arange(r)[None, :] >= reach[:, None]
    if not (above == np.triu(expected, 1)).all() or (np.diff(reach) < 0).any():
        return None
    starts = [0] + [k for (k0, k) in pairwise(range(r)) if reach[k] > reach[k0]]
    return [list(range(k, int(reach[k]))) for k in starts]


def _find_cliques(differ: Bools, most: int) -> list[list[int]]:
    """Find maximal cliques of the graph of pairs that do not differ (Bron & Kerbosch 1973, with Tomita's pivot)."""
    r = len(differ)
    alike = [sum(1 << j for j in range(r) if j != i and not differ[i, j]) for i in range(r)]
    cliques: list[list[int]] = []
    stack = [(0, (1 << r) - 1, 0)]
    while stack:
        clique, candidates, excluded = stack.pop()
        if not candidates:
            if not excluded:
                cliques.append(_list_bits(clique))
                if len(cliques) > most:
                    raise InputError(
                        f"more than {most} overlapping groups: they would explain nothing",
                        remedy=("use ", Option("method", "hsd"), Either(", or best() and matrix()", "")),
                    )
            continue
        pivot = max(_list_bits(candidates | excluded), key=lambda u: (candidates & alike[u]).bit_count())
        for v in _list_bits(candidates & ~alike[pivot]):
            bit = 1 << v
            stack.append((clique | bit, candidates & alike[v], excluded & alike[v]))
            candidates &= ~bit
            excluded |= bit
    return cliques


def _list_bits(word: int) -> list[int]:
    positions = []
    while word:
        low = word & -word
        positions.append(low.bit_length() - 1)
        word ^= low
    return positions


def name_group(k: int) -> str:
    """Name group k: a, …, z, aa, ab, ….

    >>> [name_group(k) for k in (0, 25, 26, 27, 702)]
    ['a', 'z', 'aa', 'ab', 'aaa']
    """
    name = ""
    k += 1
    while k:
        k, rest = divmod(k - 1, 26)
        name = chr(ord("a") + rest) + name
    return name


def assign_letters(groups: list[list[int]], r: int) -> list[str]:
    """Assign letters to each of r systems; with more than 26 groups the names are set apart by spaces.

    >>> assign_letters([[0, 1], [1, 2]], 3)
    ['a', 'ab', 'b']
    """
    letters_of_systems: list[list[str]] = [[] for _ in range(r)]
    for k, group in enumerate(groups):
        for member in group:
            letters_of_systems[member].append(name_group(k))
    return [(" " if len(groups) > 26 else "").join(names) for names in letters_of_systems]
