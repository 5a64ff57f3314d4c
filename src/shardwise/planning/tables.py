"""Designs over a grid, as the tables and figures of S14 lay them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat

import numpy as np
import pandas as pd

from shardwise.core.arrays import Floats
from shardwise.core.errors import Either, InputError
from shardwise.planning.topics import (
    choose_planned_test,
    min_diff_at,
    topics_for_interval,
    topics_for_power,
    width_at,
)
from shardwise.planning.variances import VarianceEstimate

Measured = Mapping[str, SupportsFloat] | SupportsFloat


def by_measure(
    variances: Measured, method: str | None = None, systems: Iterable[int] = ()
) -> tuple[list[str], Floats, str]:
    """Names and variances of measures, and the test that suits them; one alone goes by the name of its measure."""
    if isinstance(variances, Mapping):
        each = dict(variances)
    else:
        measure = variances.measure if isinstance(variances, VarianceEstimate) else ""
        each = {measure or "topics": variances}
    if not each:
        raise InputError(
            "no variances given", remedy=("give some, as in ", Either('{"AP": .053}', "--variance AP=0.053"))
        )
    test = choose_planned_test(method, np.array(list(systems), dtype=float), tuple(each.values()))
    return [str(name) for name in each], np.array([float(v) for v in each.values()]), test


def design_table(
    variances: Measured,
    *,
    min_diff: Iterable[float] = (0.02, 0.05, 0.10, 0.20, 0.25),
    systems: Iterable[int] = (10, 100),
    alpha: Iterable[float] = (0.01, 0.05),
    power: Iterable[float] = (0.9, 0.8),
    method: str | None = None,
    width: Iterable[float] | None = None,
) -> pd.DataFrame:
    """Return the topics needed for every measure over a grid: S14 Tables 4-7, or Table 8 where ``width`` is given.

    Rows of the first kind are systems, alpha and min_diff, columns power and measure; rows of the second
    kind are alpha and width, columns measures.

    Parameters
    ----------
    variances : mapping of str to float or float
        σ² of a score by measure, or one alone.
    min_diff : iterable of float
        Ranges between the best and the worst system to find.
    systems : iterable of int
        Numbers of systems.
    alpha : iterable of float
        Levels.
    power : iterable of float
        Probabilities of finding the range.
    method : str, optional
        As for `topics_for_power`.
    width : iterable of float, optional
        Widths of intervals; where given, the table is of the second kind.

    Returns
    -------
    DataFrame
        Numbers of topics.

    >>> design_table({"AP": .053, "nERR": .1208}, min_diff=[.10, .20], systems=[10], alpha=[.05], power=[.8],
    ...              method="sakai")
    power                   0.8
    measure                  AP nERR
    systems alpha min_diff
    10      0.05  0.1       166  377
                  0.2        42   95
    >>> design_table({"AP": .053, "nERR": .1208}, width=[.10, .20], alpha=[.05])
    measure       AP  nERR
    alpha width
    0.05  0.1    165   374
          0.2     43    95
    """
    counts = np.array(list(systems))
    names, sigma_sq, test = by_measure(variances, None if width is not None else method, counts)
    alphas = np.array(list(alpha))
    if width is not None:
        widths = np.array(list(width))
        topics = topics_for_interval(variance=sigma_sq, width=widths[:, None], alpha=alphas[:, None, None])
        rows = pd.MultiIndex.from_product([alphas, widths], names=["alpha", "width"])
        columns = pd.Index(names, name="measure")
        return pd.DataFrame(np.reshape(topics, (len(rows), -1)), index=rows, columns=columns)
    differences, powers = np.array(list(min_diff)), np.array(list(power))
    topics = topics_for_power(
        variance=sigma_sq,
        power=powers[:, None],
        min_diff=differences[:, None, None],
        alpha=alphas[:, None, None, None],
        systems=counts[:, None, None, None, None],
        method=test,
    )
    rows = pd.MultiIndex.from_product([counts, alphas, differences], names=["systems", "alpha", "min_diff"])
    both = pd.MultiIndex.from_product([powers, names], names=["power", "measure"])
    return pd.DataFrame(np.reshape(topics, (len(rows), -1)), index=rows, columns=both)


def design_curve(
    variances: Measured,
    *,
    systems: Iterable[int] = range(2, 201),
    min_diff: float = 0.10,
    alpha: float = 0.05,
    power: float = 0.8,
    method: str | None = None,
) -> pd.DataFrame:
    """Return the topics needed against the number of systems to be compared, one row a point: S14 Figure 2.

    Parameters
    ----------
    variances : mapping of str to float or float
        σ² of a score by measure, or one alone.
    systems : iterable of int
        Numbers of systems.
    min_diff, alpha, power : float
        As for `topics_for_power`.
    method : str, optional
        As for `topics_for_power`.

    Returns
    -------
    DataFrame
        One row a measure and number of systems.

    >>> design_curve({"Q": .0387}, systems=[10, 200], method="sakai")
      measure  systems  topics
    0       Q       10     121
    1       Q      200     426
    """
    counts = np.array(list(systems))
    names, sigma_sq, test = by_measure(variances, method, counts)
    topics = topics_for_power(
        variance=sigma_sq[:, None], min_diff=min_diff, systems=counts, alpha=alpha, power=power, method=test
    )
    points = {"measure": np.repeat(names, len(counts)), "systems": np.tile(counts, len(names))}
    return pd.DataFrame({**points, "topics": np.ravel(topics)})


def reach_curve(
    variances: Measured,
    *,
    topics: Iterable[int],
    systems: Iterable[int] = (2, 10, 100),
    alpha: float = 0.05,
    power: float = 0.8,
    method: str | None = None,
) -> pd.DataFrame:
    """Return what a number of topics can reach, one row a point: detectable range and interval width (S14 Figure 3).

    Parameters
    ----------
    variances : mapping of str to float or float
        σ² of a score by measure, or one alone.
    topics : iterable of int
        Numbers of topics.
    systems : iterable of int
        Numbers of systems.
    alpha, power : float
        As for `topics_for_power`.
    method : str, optional
        As for `topics_for_power`.

    Returns
    -------
    DataFrame
        One row a measure and number of topics.

    >>> reach_curve({"D-nDCG": .0375}, topics=[50], systems=[2, 10, 100]).round(2)
      measure  topics                goal  value
    0  D-nDCG      50  min_diff, 2 systems   0.11
    1  D-nDCG      50  min_diff, 10 systems  0.15
    2  D-nDCG      50  min_diff, 100 systems 0.25
    3  D-nDCG      50               width   0.15
    """
    counts = list(systems)
    names, sigma_sq, test = by_measure(variances, method, counts)
    n = np.array(list(topics))
    v = sigma_sq[:, None]
    how: Any = {"alpha": alpha, "power": power, "method": test}
    goals = {f"min_diff, {m} systems": min_diff_at(n=n, variance=v, systems=m, **how) for m in counts}
    goals["width"] = width_at(n=n, variance=v, alpha=alpha)
    points = {"measure": np.repeat(names, len(n)), "topics": np.tile(n, len(names))}
    frames = [pd.DataFrame({**points, "goal": goal, "value": np.ravel(y)}) for goal, y in goals.items()]
    return pd.concat(frames, ignore_index=True)
