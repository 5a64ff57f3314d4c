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
    """Topics to find a difference: for two systems chosen beforehand, and for the range of all systems."""

    difference: float
    two: int
    all: int


@dataclass(frozen=True, slots=True)
class Power:
    """What is detected with 80% power, for the claim about new topics."""

    topics: int
    systems: int
    sigma_sq: float  # of a system's mean over shards on one topic, topic difficulty taken out
    alpha: float
    detectable: float  # by a paired t-test of two systems chosen beforehand
    target: float  # a round, smaller difference
    target_topics: int  # that the paired test needs for it
    needs: tuple[Need, ...]


def power_of(estimates: Estimates, topics: int, alpha: float) -> Power | None:
    """Power figures from the error of a claim about topics, none where there is no error to plan with.

    The variance of a mean falls as 1/topics, so its variance times the topics at hand is that of one topic.
    """
    sigma_sq = estimates.variance * topics
    systems = len(estimates.labels)
    if not sigma_sq > 0 or alpha >= POWER / 2:
        return None
    detectable = float(min_diff_at(n=topics, variance=sigma_sq, alpha=alpha, power=POWER, method="paired-t"))
    if not np.isfinite(detectable):
        return None
    target = round_below(0.7 * detectable)
    asked = around(target)
    two = np.asarray(
        topics_for_power(min_diff=asked, variance=sigma_sq, alpha=alpha, power=POWER, method="paired-t")
    )
    every = np.asarray(
        topics_for_power(
            min_diff=asked, variance=sigma_sq, systems=systems, alpha=alpha, power=POWER, method="blocks"
        )
    )
    needs = tuple(Need(d, int(a), int(b)) for d, a, b in zip(asked, two, every, strict=True))
    wanted = next(need.two for need in needs if need.difference == target)
    return Power(topics, systems, sigma_sq, alpha, detectable, target, wanted, needs)


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
