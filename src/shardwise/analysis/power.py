"""Compute what the topics at hand can detect, and how many a smaller difference needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.methods.pairs import Means
from shardwise.planning.design import Design, topics_for_power
from shardwise.stats.power import f_power, find_noncentrality

if TYPE_CHECKING:
    from shardwise.analysis.analysis import Analysis, PairResult

POWER = 0.8


@dataclass(frozen=True, slots=True)
class Need:
    """Topics to detect a difference: of two systems chosen in advance, and of any pair, all pairs corrected."""

    difference: float
    two: int
    all: int


@dataclass(frozen=True, slots=True)
class Power:
    """What the default test detects with 80% power, for the claim about new topics and normal scores."""

    topics: int
    systems: int
    sigma_sq: float  # of a system's mean over shards on one topic, topic difficulty taken out
    alpha: float
    # by the default test of one pair, all pairs of these systems corrected
    detectable: float
    # by the same test of two systems chosen in advance, which is the paired t-test
    detectable_two: float
    # a round, smaller difference than the first, and the topics that the default test needs for it
    target: float
    target_topics: int
    needs: tuple[Need, ...]


def power_of(estimates: Means, topics: int, alpha: float) -> Power | None:
    """Power figures from the error of a claim about topics, none where there is no error to plan with.

    The variance of a mean falls as 1/topics, so its variance times the topics at hand is that of one topic.
    """
    sigma_sq = float(estimates.error_variance) * topics
    systems = len(estimates.labels)
    if not sigma_sq > 0 or alpha >= POWER / 2:
        return None
    counts = np.array([systems, 2])
    now = Design(sigma_sq, topics, counts, target=POWER, alpha=alpha, method="moderated")
    detectable, detectable_two = map(float, now.detectable)
    if not np.isfinite(detectable):
        return None
    target = round_below(0.7 * detectable)
    differences = list_round_differences(target)
    every, two = topics_for_power(
        min_diff=differences,
        variance=sigma_sq,
        systems=counts[:, None],
        alpha=alpha,
        power=POWER,
        method="moderated",
    )
    needs = tuple(Need(d, int(a), int(b)) for d, a, b in zip(differences, two, every, strict=True))
    wanted = next(need.all for need in needs if need.difference == target)
    return Power(topics, systems, sigma_sq, alpha, detectable, detectable_two, target, wanted, needs)


@dataclass(frozen=True, slots=True)
class OpenTie:
    """The tie that matters most: what could have been shown here, and what would settle it.

    Parameters
    ----------
    a, b : str
        The two systems.
    difference : float
        Their observed difference, 0 or more, with two digits, as it is shown and planned with.
    detectable : float
        Smallest difference that is detected here with 80% power.
    items : int
        Items, or clusters, that are there.
    items_needed : int or None
        As many as detect the observed difference with 80% power; None where no number does.
    repeats : int
        Repeats of each system on each item; 1 without repeats.
    repeats_needed : int or None
        As many as detect it on these items; None where no number does, or there are none.
    paired : bool
        Whether systems met the same items, so that `design power` can plan with them.
    """

    a: str
    b: str
    difference: float
    detectable: float
    items: int
    items_needed: int | None
    repeats: int = 1
    repeats_needed: int | None = None
    paired: bool = True


def find_closest_tie(result: PairResult, baselines: tuple[str, ...]) -> tuple[str, str, float] | None:
    """Systems and difference of the tie that matters most: the best two, or the best one tied with a baseline."""
    pairs = result.pairs
    if len(pairs) == 1:
        ties = [] if result.n_significant else [0]
    elif baselines:
        ties = [int(k) for k in np.flatnonzero(~result.reject() & (pairs.gain > 0))][:1]
    elif len(result.best_set) > 1:
        ties = [result.find_pair(result.best_set[0], result.best_set[1])[0]]
    else:
        ties = []
    for k in ties:
        row = result.pair_row(k)
        return str(row["a"]), str(row["b"]), abs(float(row["difference"]))
    return None


def find_present_design(analysis: Analysis) -> Design | None:
    """Design of an analysis: items, repeats and systems at hand, and what their scores vary by; None if unknown."""
    repeats, counts, power = analysis.repeats, analysis.instances, analysis.power
    how: dict[str, Any] = {"systems": len(analysis.systems), "target": POWER, "alpha": analysis.alpha}
    if repeats is not None and repeats.components is not None and counts is not None:
        sizes = {"topics": analysis.topics, "repeats": counts[0]}
        from shardwise.planning.plans import design_repeats

        return design_repeats(repeats.components, repeats.kind, **sizes, **how)
    return None if power is None else Design(power.sigma_sq, power.topics, method="moderated", **how)


def settle_tie(tie: tuple[str, str, float], now: Design) -> OpenTie:
    """What the items at hand could have shown of a tie, and how many of them, or of repeats, would settle it."""
    a, b, difference = tie
    rounded = float(f"{difference:.2g}")
    open_tie = OpenTie(a, b, rounded, float(now.detectable), now.topics, None, now.repeats or 1)
    if not rounded:
        return open_tie
    wanted = replace(now, min_diff=rounded)
    if now.repeats is None:
        needed = float(wanted.search())
        return replace(open_tie, items_needed=int(needed) if np.isfinite(needed) else None)
    from shardwise.planning.plans import plan_more

    items, repeats = plan_more(wanted)[:2]
    return replace(
        open_tie,
        items_needed=None if items is None else items.topics,
        repeats_needed=None if repeats is None else repeats.repeats,
    )


def settle_unpaired_tie(
    tie: tuple[str, str, float], se: float, df: float, half_width: float, items: int
) -> OpenTie:
    """The same for unpaired scores, whose errors fall with the root of the number of items in all.

    ``half_width`` is that of the simultaneous interval, beyond which the difference is significant.

    >>> tie = settle_unpaired_tie(("a", "b", 0.1), 0.1, 98.0, 0.198, 100)
    >>> round(tie.detectable, 3), tie.items_needed
    (0.282, 799)
    """
    a, b, difference = tie
    rounded = float(f"{difference:.2g}")
    critical = (half_width / se) ** 2

    def power_of(lam: Floats) -> Floats:
        return f_power(lam, np.ones(1), np.array([df]), np.array([critical]))

    lam = find_noncentrality(power_of, np.array([POWER]), np.array([critical + 1.0]))
    detectable = float(np.sqrt(lam[0])) * se
    needed = int(np.ceil(items * (detectable / rounded) ** 2)) if rounded > 0.0 else None
    return OpenTie(a, b, rounded, detectable, items, needed, paired=False)


def round_below(x: float) -> float:
    """Largest of 1, 2, 5 times a power of ten that is not above x.

    >>> [round_below(x) for x in (.047, .02, .19)]
    [0.02, 0.02, 0.1]
    """
    return max(d for d in _list_round_steps(x) if d <= x * (1 + 1e-9))


def list_round_differences(target: float) -> list[float]:
    """List round differences from finer than the target to coarser.

    >>> list_round_differences(0.02)
    [0.005, 0.01, 0.02, 0.05, 0.1]
    """
    steps = _list_round_steps(target)
    middle = steps.index(target)
    return steps[middle - 2 : middle + 3]


def _list_round_steps(x: float) -> list[float]:
    exponent = int(np.floor(np.log10(x)))
    return [float(f"{m}e{k}") for k in range(exponent - 2, exponent + 3) for m in (1, 2, 5)]
