"""Which systems meet which: the family of pairs that a comparison, and its correction, is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.methods.base import Estimates, Joint, Outcome, PairTest


def best_first(estimates: Estimates) -> Estimates:
    """The same estimates with systems by descending value, ties in the order given."""
    labels, values = estimates.labels, np.asarray(estimates.values, dtype=float)
    if len(labels) < 2:
        raise InputError(f"{len(labels)} system: nothing to compare", remedy="give at least two systems")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"two systems are called {twice!r}", remedy="give every system its own name")
    if not np.isfinite(values).all():
        lost = labels[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise InputError(f"the estimate of system {lost!r} is not a number", remedy="mend or drop its scores")
    order = np.argsort(-values, kind="stable")

    def vector(x: Floats | None) -> Floats | None:
        return None if x is None else np.asarray(x, dtype=float)[order]

    def square(x: Floats | None) -> Floats | None:
        return None if x is None else np.asarray(x, dtype=float)[np.ix_(order, order)]

    return replace(
        estimates,
        labels=tuple(labels[k] for k in order),
        values=values[order],
        difference_variance=square(estimates.difference_variance),
        difference_df=square(estimates.difference_df),
        topic_sd=square(estimates.topic_sd),
        own_sd=vector(estimates.own_sd),
        own_count=vector(estimates.own_count),
        test=None if estimates.test is None else Reordered(estimates.test, order),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Reordered:
    """A test of systems that stand in another order now."""

    test: PairTest
    order: Ints

    @property
    def name(self) -> str:
        """What test this is."""
        return self.test.name

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test pairs by their new indices."""
        found = self.test.outcome(self.order[ia], self.order[ib])
        return (
            found if found.joint is None else replace(found, joint=_ReorderedJoint(found.joint, self.order))
        )


@dataclass(frozen=True, slots=True, eq=False)
class _ReorderedJoint:
    joint: Joint
    order: Ints

    @property
    def p_adjusted(self) -> Floats:
        return self.joint.p_adjusted

    def half_width(self, alpha: float) -> Floats:
        return self.joint.half_width(alpha)

    def top(self, alpha: float) -> Bools | None:
        found = self.joint.top(alpha)
        return None if found is None else found[..., self.order]


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
    place = {label: k for k, label in enumerate(labels)}
    if only is not None and any(not isinstance(item, str) for item in only):
        if baseline is not None:
            raise InputError(
                (Option("only"), " lists pairs, and ", Option("baseline"), " is given too"),
                remedy="give one of the two",
            )
        return _listed_pairs([(item[0], item[1]) for item in only], place, directed)
    chosen = np.arange(len(labels))
    if only is not None:
        if isinstance(only, str):
            raise InputError(
                (Option("only", only), " is a single name"), remedy="give several names, or pairs"
            )
        chosen = np.unique([_find(str(name), place) for name in only])
    if baseline is not None:
        bases = [_find(name, place) for name in baselines_of(baseline)]
        met = [(k, base) for n, base in enumerate(bases) for k in chosen if k not in (base, *bases[:n])]
        ia, ib = np.array(met, dtype=np.int64).reshape(-1, 2).T
    else:
        upper = np.triu_indices(len(chosen), 1)
        ia, ib = chosen[upper[0]], chosen[upper[1]]
    if not ia.size:
        raise InputError("a single system is left: nothing to compare", remedy="name at least two systems")
    return ia, ib


def baselines_of(baseline: str | Sequence[str] | None) -> tuple[str, ...]:
    """The baselines that one name, several or none stand for, each once.

    >>> baselines_of("bm25"), baselines_of(["bm25", "rm3", "bm25"]), baselines_of(None)
    (('bm25',), ('bm25', 'rm3'), ())
    """
    return tuple(dict.fromkeys([baseline] if isinstance(baseline, str) else baseline or ()))


def _listed_pairs(listed: list[tuple[str, str]], place: dict[str, int], directed: bool) -> tuple[Ints, Ints]:
    found = np.array([[_find(a, place), _find(b, place)] for a, b in listed])
    same = found[:, 0] == found[:, 1]
    if same.any():
        raise InputError(f"system {listed[int(same.argmax())][0]!r} is to be compared with itself")
    if not directed:
        found = np.unique(np.sort(found, axis=1), axis=0)
    return found[:, 0], found[:, 1]


def _find(name: str, place: dict[str, int]) -> int:
    if name not in place:
        some = ", ".join(list(place)[:5])
        raise InputError(
            f"no system is called {name!r}", remedy=f"the systems are {some}{', …' * (len(place) > 5)}"
        )
    return place[name]
