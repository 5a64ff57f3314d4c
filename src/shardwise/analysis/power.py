"""Compute what the topics at hand can detect, and how many a smaller difference needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.base import Estimates
from shardwise.planning.repeats import plan_from_components
from shardwise.planning.topics import min_diff_at, power_of_pair, topics_for_power

if TYPE_CHECKING:
    from shardwise.analysis.analysis import PairResult

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


def power_of(estimates: Estimates, topics: int, alpha: float) -> Power | None:
    """Power figures from the error of a claim about topics, none where there is no error to plan with.

    The variance of a mean falls as 1/topics, so its variance times the topics at hand is that of one topic.
    """
    sigma_sq = estimates.variance * topics
    systems = len(estimates.labels)
    if not sigma_sq > 0 or alpha >= POWER / 2:
        return None
    detectable, detectable_two = (
        float(
            min_diff_at(
                n=topics, variance=sigma_sq, systems=count, alpha=alpha, power=POWER, method="moderated"
            )
        )
        for count in (systems, 2)
    )
    if not np.isfinite(detectable):
        return None
    target = round_below(0.7 * detectable)
    differences = list_round_differences(target)
    two, every = (
        np.asarray(
            topics_for_power(
                min_diff=differences,
                variance=sigma_sq,
                systems=count,
                alpha=alpha,
                power=POWER,
                method="moderated",
            )
        )
        for count in (2, systems)
    )
    needs = tuple(Need(d, int(a), int(b)) for d, a, b in zip(differences, two, every, strict=True))
    wanted = next(need.all for need in needs if need.difference == target)
    return Power(topics, systems, sigma_sq, alpha, detectable, detectable_two, target, wanted, needs)


def topics_to_settle(power: Power, difference: float) -> int | None:
    """Return the topics with which the default test of all pairs detects a difference with 80% power.

    Parameters
    ----------
    power : Power
        What the topics at hand can detect.
    difference : float
        A difference of two systems, above 0.

    Returns
    -------
    int or None
        None where no finite number is known.
    """
    try:
        topics = topics_for_power(
            min_diff=difference,
            variance=power.sigma_sq,
            systems=power.systems,
            alpha=power.alpha,
            power=POWER,
            method="moderated",
        )
    except InputError:
        return None
    return int(np.asarray(topics))


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
    """Find the two systems whose tie matters most: the best two, or the best one that is tied with a baseline.

    Parameters
    ----------
    result : PairResult
        What was compared.
    baselines : tuple of str
        Systems with which all others were compared.

    Returns
    -------
    tuple of str, str and float, or None
        The systems and their difference, 0 or more; None where no tie is open.
    """
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
        row = result.pair_table.iloc[k]
        return str(row["a"]), str(row["b"]), abs(float(row["difference"]))
    return None


def settle_tie(tie: tuple[str, str, float], power: Power) -> OpenTie:
    """Compute what the items at hand could have shown of a tie, and how many would settle it.

    Parameters
    ----------
    tie : tuple
        Two systems and their difference.
    power : Power
        What the items at hand can detect.

    Returns
    -------
    OpenTie
        Figures for the default test of all pairs.
    """
    a, b, difference = tie
    rounded = float(f"{difference:.2g}")
    needed = topics_to_settle(power, rounded) if rounded > 0.0 else None
    return OpenTie(a, b, rounded, power.detectable, power.topics, needed)


def settle_unpaired_tie(
    tie: tuple[str, str, float], se: float, df: float, half_width: float, items: int
) -> OpenTie:
    """Compute the same for unpaired scores, whose errors fall with the root of the number of items.

    Parameters
    ----------
    tie : tuple
        Two systems and their difference.
    se, df : float
        Standard error of the difference, and its degrees of freedom.
    half_width : float
        Half the width of its simultaneous interval, beyond which it is significant.
    items : int
        Items of all systems.

    Returns
    -------
    OpenTie
        Figures for the test that was run, were each system given more items in proportion.

    >>> tie = settle_unpaired_tie(("a", "b", 0.1), 0.1, 98.0, 0.198, 100)
    >>> round(tie.detectable, 3), tie.items_needed
    (0.282, 799)
    """
    a, b, difference = tie
    rounded = float(f"{difference:.2g}")
    low, high = 0.0, half_width / se + 40.0
    for _ in range(60):
        middle = (low + high) / 2.0
        ample = bool(
            power_of_pair(np.array([middle**2]), np.array([df]), np.array([half_width / se])) >= POWER
        )
        low, high = (low, middle) if ample else (middle, high)
    detectable = high * se
    needed = int(np.ceil(items * (detectable / rounded) ** 2)) if rounded > 0.0 else None
    return OpenTie(a, b, rounded, detectable, items, needed, paired=False)


def settle_repeated_tie(
    tie: tuple[str, str, float],
    components: VarianceComponents,
    kind: str,
    *,
    items: int,
    repeats: int,
    systems: int,
    alpha: float,
) -> OpenTie:
    """Compute the same for scores with repeats, where more repeats may settle a tie too.

    Parameters
    ----------
    tie : tuple
        Two systems and their difference.
    components : VarianceComponents
        What scores vary by.
    kind : str
        "seeds" or "samples".
    items, repeats, systems : int
        What is there.
    alpha : float
        Family-wise level.

    Returns
    -------
    OpenTie
        Figures for the default test of all pairs.
    """
    a, b, difference = tie
    rounded = float(f"{difference:.2g}")
    sizes = {"items": items, "repeats": repeats, "systems": systems}
    # A tie without any difference is planned for anything, and only what is detectable is kept.
    plan = plan_from_components(components, kind, min_diff=rounded or 1.0, power=POWER, alpha=alpha, **sizes)
    needed = plan.more_items.items if plan.more_items is not None and rounded else None
    more = plan.more_repeats.repeats if plan.more_repeats is not None and rounded else None
    return OpenTie(a, b, rounded, plan.now.detectable, items, needed, repeats, more)


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
