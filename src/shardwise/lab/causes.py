"""What about scores makes methods err: systems and topics, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.text import shorten_names

NEAR_ZERO = 0.01  # share of the largest score
TWINS = 0.02  # variance of a pair's difference over the mean of all pairs
UNSTEADY = 2.0  # mean variance of a system's differences over that of all
FEW, MUCH = 0.1, 0.5  # share of topics, and of what happens between topics and systems
BLAMED = 2.0  # times as many false alarms as systems have on average
NAMED = 3  # systems or topics called by their names


def describe_causes(
    y: Floats, systems: Sequence[str], topics: Sequence[str], nouns: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Say what about a table makes methods err, as far as it is there.

    Parameters
    ----------
    y
        (T, R) scores.
    systems, topics
        Their names.
    nouns
        The user's own words for them.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(.5, .1, (20, 4)).round(3)
    >>> y[:, 3] = np.where(np.arange(20) < 17, 0.0, .9)
    >>> for cause in describe_causes(y, list("abcd"), [str(t) for t in range(20)]): print(cause)
    1 system scores about 0 on most topics: d
    2 topics of 20 make up 52% of what sets systems apart: 19, 17
    """
    t, r = y.shape
    topic, system = ((nouns or {}).get(name, name) for name in ("topic", "system"))
    sentences = []
    if (y >= 0.0).all() and y.max() > 0.0:
        zeros = np.flatnonzero((y <= NEAR_ZERO * y.max()).mean(axis=0) > 0.5)
        if zeros.size:
            verb = "scores" if zeros.size == 1 else "score"
            sentences.append(
                f"{format_count(zeros.size, system)} {verb} about 0 on most {pluralize_noun(topic)}:"
                f" {_list_names(systems, zeros)}"
            )
    ia, ib = np.triu_indices(r, 1)
    variance = np.var(y[:, ia] - y[:, ib], axis=0, ddof=1)
    if r < 3 or variance.mean() == 0.0:
        return tuple(sentences)
    relative = variance / variance.mean()
    twins = np.flatnonzero(relative < TWINS)
    if twins.size:
        k = twins[np.argmin(relative[twins])]
        tied = int((y[:, ia[k]] == y[:, ib[k]]).sum())
        a, b = shorten_names((systems[ia[k]], systems[ib[k]])).values()
        nearest = f"{a} and {b}, tied on {tied} of {t} {pluralize_noun(topic)}"
        sentences.append(
            f"{format_count(twins.size, 'pair')} of {pluralize_noun(system)}"
            f" {'is' if twins.size == 1 else 'are'} nearly the same"
            f" ({nearest})"
        )
    of_system = (np.bincount(ia, relative, r) + np.bincount(ib, relative, r)) / (r - 1)
    if (unsteady := np.flatnonzero(of_system > UNSTEADY)).size:
        names = _list_names(systems, unsteady[np.argsort(-of_system[unsteady], kind="stable")])
        sentences.append(f"differences with {names} vary more than twice as much as those of other pairs")
    rest = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    share = (rest**2).sum(axis=1) / (rest**2).sum()
    order = np.argsort(-share, kind="stable")[: max(1, int(FEW * t))]
    if (carried := float(share[order].sum())) >= MUCH:
        verb = "makes" if order.size == 1 else "make"
        sentences.append(
            f"{format_count(order.size, topic)} of {t} {verb} up {carried:.0%} of what sets"
            f" {pluralize_noun(system)} apart:"
            f" {_list_names(topics, order)}"
        )
    return tuple(sentences)


def describe_culprits(blamed: Mapping[str, Floats], systems: Sequence[str]) -> tuple[str, ...]:
    """Say which systems are in far more of a method's false alarms than others.

    Parameters
    ----------
    blamed
        How many false alarms of each method every system was in.
    systems
        Their names.

    >>> describe_culprits({"MD1 hsd topic": np.array([40.0, 4, 4, 4, 4, 4, 4, 4, 4, 8])}, list("abcdefghij"))
    ('a is in 100% of the false alarms of MD1 hsd topic',)
    """
    sentences = []
    for method, counts in blamed.items():
        total = float(counts.sum()) / 2.0
        worst = np.flatnonzero(counts > BLAMED * counts.mean())
        worst = worst[np.argsort(-counts[worst], kind="stable")][:NAMED]
        if total and worst.size:
            labels = shorten_names(systems[k] for k in worst.tolist())
            each = ", ".join(
                f"{labels[systems[k]]} is in {100 * counts[k] / total:.0f}%" for k in worst.tolist()
            )
            sentences.append(f"{each} of the false alarms of {method}")
    return tuple(sentences)


def _list_names(names: Sequence[str], which: Ints) -> str:
    """List the first names, and how many more there are."""
    first = ", ".join(shorten_names(names[k] for k in which[:NAMED].tolist()).values())
    more = len(which) - NAMED
    return f"{first} and {more} more" if more > 0 else first
