"""Which systems meet which: the family of pairs that a comparison, and its correction, is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.methods.pairs import Means


def check_systems(labels: Sequence[str], values: Floats) -> None:
    """Refuse systems that cannot be compared: too few, of one name, or without an estimate.

    Parameters
    ----------
    labels : sequence of str
        Names of the systems.
    values : array
        Their means.
    """
    if len(labels) < 2:
        raise InputError(f"{len(labels)} system: nothing to compare", remedy="give at least two systems")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if list(labels).count(label) > 1)
        raise InputError(f"two systems are called {twice!r}", remedy="give every system its own name")
    if not np.isfinite(values).all():
        label = labels[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise InputError(
            f"the estimate of system {label!r} is not a number", remedy="correct or drop its scores"
        )


def sort_estimates(estimates: Means) -> Means:
    """Return the same estimates with the best system first, ties in the order given.

    Parameters
    ----------
    estimates : Means
        Of one table.

    Returns
    -------
    Means
        Best system first.
    """
    labels, values = estimates.labels, np.ravel(np.asarray(estimates.values, dtype=float))
    check_systems(labels, values)
    order = np.argsort(-estimates.sign * values, kind="stable")
    if np.array_equal(order, np.arange(len(order))):
        return estimates
    names = tuple(labels[k] for k in order)
    bounded = None if estimates.bounded is None else estimates.bounded.select_systems(names)

    def reorder(array: Any) -> Any:
        whole = np.asarray(array, dtype=float)
        return array if whole.ndim == 0 else whole[order] if whole.ndim == 1 else whole[np.ix_(order, order)]

    test = estimates.pairs
    pairs = None if test is None else lambda ia, ib: test(order[ia], order[ib])
    return replace(estimates.apply(reorder), labels=names, bounded=bounded, pairs=pairs)


def choose_pairs(
    labels: Sequence[str],
    only: Sequence[str] | Sequence[tuple[str, str]] | None,
    baseline: str | Sequence[str] | None,
    *,
    directed: bool = False,
) -> tuple[Ints, Ints]:
    """Index arrays (better, worse) of the pairs asked for, labels being best first; (system, baseline) with a baseline.

    ``directed`` keeps listed pairs as they are, whichever system is better.

    >>> choose_pairs(["x", "y", "z"], None, None)
    (array([0, 0, 1]), array([1, 2, 2]))
    >>> choose_pairs(["x", "y", "z"], None, "y")
    (array([0, 2]), array([1, 1]))
    >>> choose_pairs(["x", "y", "z"], None, ["y", "z"])
    (array([0, 2, 0]), array([1, 1, 2]))
    """
    position = {label: k for k, label in enumerate(labels)}
    if only is not None and any(not isinstance(item, str) for item in only):
        if baseline is not None:
            raise InputError(
                (Option("only"), " lists pairs, and ", Option("baseline"), " is given too"),
                remedy="give one of the two",
            )
        return _resolve_pairs([(item[0], item[1]) for item in only], position, directed)
    chosen = np.arange(len(labels))
    if only is not None:
        if isinstance(only, str):
            raise InputError(
                (Option("only", only), " is a single name"), remedy="give several names, or pairs"
            )
        chosen = np.unique([_find_system(str(name), position) for name in only])
    if baseline is not None:
        bases = [_find_system(name, position) for name in list_baselines(baseline)]
        met = [(k, base) for n, base in enumerate(bases) for k in chosen if k not in (base, *bases[:n])]
        # compiled code takes contiguous indices
        ia, ib = np.ascontiguousarray(np.array(met, dtype=np.int64).reshape(-1, 2).T)
    else:
        upper = np.triu_indices(len(chosen), 1)
        ia, ib = chosen[upper[0]], chosen[upper[1]]
    if not ia.size:
        raise InputError("a single system is left: nothing to compare", remedy="name at least two systems")
    return ia, ib


def list_baselines(baseline: str | Sequence[str] | None) -> tuple[str, ...]:
    """The baselines that one name, several or none stand for, each once.

    >>> list_baselines("bm25"), list_baselines(["bm25", "rm3", "bm25"]), list_baselines(None)
    (('bm25',), ('bm25', 'rm3'), ())
    """
    return tuple(dict.fromkeys([baseline] if isinstance(baseline, str) else baseline or ()))


def _resolve_pairs(
    listed: list[tuple[str, str]], position: dict[str, int], directed: bool
) -> tuple[Ints, Ints]:
    pairs = np.array([[_find_system(a, position), _find_system(b, position)] for a, b in listed])
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        raise InputError(f"system {listed[int(same.argmax())][0]!r} cannot be compared with itself")
    if not directed:
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    ia, ib = np.ascontiguousarray(pairs.T)
    return ia, ib


def _find_system(name: str, position: dict[str, int]) -> int:
    if name not in position:
        some = ", ".join(list(position)[:5])
        raise InputError(
            f"unknown system {name!r}", remedy=f"the systems are {some}{', …' * (len(position) > 5)}"
        )
    return position[name]
