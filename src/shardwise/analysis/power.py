"""Compute what the topics at hand can detect, and how many a smaller difference needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardwise.core.errors import InputError
from shardwise.methods.base import Estimates
from shardwise.planning.topics import min_diff_at, topics_for_power

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
    differences = around(target)
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


def round_below(x: float) -> float:
    """Largest of 1, 2, 5 times a power of ten that is not above x.

    >>> [round_below(x) for x in (.047, .02, .19)]
    [0.02, 0.02, 0.1]
    """
    return max(d for d in _steps(x) if d <= x * (1 + 1e-9))


def around(target: float) -> list[float]:
    """Round differences from finer than the target to coarser.

    >>> around(0.02)
    [0.005, 0.01, 0.02, 0.05, 0.1]
    """
    steps = _steps(target)
    middle = steps.index(target)
    return steps[middle - 2 : middle + 3]


def _steps(x: float) -> list[float]:
    exponent = int(np.floor(np.log10(x)))
    return [float(f"{m}e{k}") for k in range(exponent - 2, exponent + 3) for m in (1, 2, 5)]
