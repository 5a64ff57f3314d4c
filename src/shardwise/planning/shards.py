"""Designs with shards: what cutting the corpus buys, and for which claim.

A score is y = μ + topic + system + topic:system + shard + system:shard + topic:shard + error (F19, MD6). Only
the terms with a system in them blur a difference of systems, and the claim decides which of those count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shardwise.core import late
from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim, format_count
from shardwise.core.errors import InputError
from shardwise.core.shown import Shown
from shardwise.core.variance_components import VarianceComponents
from shardwise.planning.components import variance_components
from shardwise.planning.topics import critical_f, expected_width, make_designs, power_exact

DIMS = ("topic", "system", "shard")
SHARDS = (1, 2, 3, 4, 5, 10, 20)
BLURS = ("topic:system", "system:shard", "error")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShardDesign(Shown):
    """Topics needed for each number of shards, and the claim that they support.

    ``table`` has one row a number of shards: ``topics`` (missing where no number up to ``most_topics`` is
    enough), and at that number the standard error ``se`` of a difference, its ``df``, and the ``power`` or
    ``width`` reached.
    """

    table: pd.DataFrame
    claim: str
    goal: str
    most_topics: int
    note: str = ""

    def plot(self) -> Any:
        """Draw topics needed against shards: an altair chart.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self)

    def __str__(self) -> str:
        return f"{self.goal}; claim: {self.claim}{self.note}\n{self.table.to_string(index=False)}"


def design_for_shards(
    source: Any,
    *,
    min_diff: float | None = None,
    width: float | None = None,
    shards: Iterable[int] | None = None,
    systems: int = 2,
    alpha: float = 0.05,
    power: float = 0.8,
    generalize: Claim | str | Iterable[str] = ("topic",),
    most_topics: int = 10_000,
) -> ShardDesign:
    """Find how the number of topics falls, or does not, with the number of shards, for a stated claim.

    The goal is either to find a range of ``min_diff`` among the systems with the given power (F test), or
    an interval for a difference with expected ``width``.

    Parameters
    ----------
    source : object
        Topic × system × shard scores in any form that `as_scores` takes, or variance components. They serve for every
        number of shards, which is right for adding shards of the same size; where one corpus is cut ever finer, give a
        mapping from number of shards to the scores or components measured there.
    min_diff : float, optional
        The smallest range between the best and the worst system that is worth finding.
    width : float, optional
        The width of the interval for a difference, on average; one of ``min_diff`` and ``width`` is given.
    shards : iterable of int, optional
        Numbers of shards to design for.
    systems : int
        How many systems are compared.
    alpha : float
        The level of the test, or 1 less that of the interval.
    power : float
        The probability of finding ``min_diff``.
    generalize : Claim, str or iterable of str
        What the difference is about: ``()`` these topics and shards, ``"topic"``, or ``"topic+shard"``.
    most_topics : int
        Where to stop looking.

    Returns
    -------
    ShardDesign
        Topics needed for each number of shards.

    >>> c = VarianceComponents({"topic:system": .0064, "system:shard": .000025, "error": .0036})
    >>> print(design_for_shards(c, min_diff=.03, shards=[1, 2, 5, 20]))
    power 0.8 to find 0.03 among 2 systems at alpha 0.05; claim: new topics like these, exactly these shards
     shards  topics       se    df    power
          1     177 0.010630 176.0 0.801458
          2     145 0.010635 144.0 0.800120
          5     127 0.010589 126.0 0.802761
         20     117 0.010606 116.0 0.801012
    """
    if (min_diff is None) == (width is None):
        raise InputError("a design needs one goal", remedy="give either min_diff or width")
    claim = Claim.of(generalize).check(DIMS)
    each = components_by_shards(source, shards)
    checked = {"systems": systems, "alpha": alpha, "n": most_topics}
    if min_diff is not None:
        checked |= {"min_diff": min_diff, "power": power}
        goal = f"power {power:g} to find {min_diff:g} among {systems} systems at alpha {alpha:g}"
    if width is not None:
        checked |= {"width": width}
        goal = f"an interval of expected width {width:g} at alpha {alpha:g}, {systems} systems"
    make_designs(1.0, None, **checked)

    topics = np.arange(2.0, most_topics + 1.0)
    quantity = "power" if width is None else "width"
    rows: list[dict[str, Any]] = []
    for s, c in each.items():
        if s == 1 and claim != Claim("topic"):  # one shard says nothing about how shards vary
            rows.append({"shards": s, "topics": pd.NA})
            continue
        v, df = c.variance_of_difference(claim, {"topic": topics, "shard": s, "system": systems})
        level = np.full_like(df, alpha)
        if width is not None:
            reached = expected_width(np.sqrt(v), df, level)
            enough = reached <= width
        else:
            phi_a = np.full_like(df, systems - 1.0)
            lam = least_noncentrality(min_diff or 0.0, v)
            reached = power_exact(lam, phi_a, df, critical_f(phi_a, df, level))
            enough = reached >= power
        # Satterthwaite's df may fall as topics are added, and power with them: so look, do not bisect
        if not enough.any():
            rows.append({"shards": s, "topics": pd.NA})
            continue
        first = int(np.argmax(enough))
        figures = {"se": np.sqrt(v[first]), "df": df[first], quantity: reached[first]}
        rows.append({"shards": s, "topics": int(topics[first]), **figures})
    negative = sorted({name for c in each.values() for name in c.negative if name in BLURS})
    return ShardDesign(
        table=pd.DataFrame(rows, columns=["shards", "topics", "se", "df", quantity]).astype(
            {"topics": "Int64"}
        ),
        claim=claim.short(DIMS),
        goal=goal,
        most_topics=most_topics,
        note=f" (counted as 0, as estimated below 0: {', '.join(negative)})" if negative else "",
    )


def least_noncentrality(min_diff: float, v: Floats) -> Floats:
    """Return λ when best and worst differ by min_diff and all others lie between: minD²/Var(difference) (S14 §3.1)."""
    with np.errstate(divide="ignore"):
        return np.asarray(min_diff**2 / v)


def components_by_shards(source: Any, shards: Iterable[int] | None) -> dict[int, VarianceComponents]:
    """Return the components for each number of shards: those asked for, all of a mapping, or some usual ones."""
    if _by_number(source):
        counts = list(source) if shards is None else list(shards)
        absent = [s for s in counts if s not in source]
        if absent:
            raise InputError(
                f"no components for {format_count(absent[0], 'shard')}",
                remedy="measure them there, or leave it out",
            )
        each = {s: _estimate_components(source[s]) for s in counts}
    else:
        each = dict.fromkeys(SHARDS if shards is None else shards, _estimate_components(source))
    return {validate_count(s, "shards"): c for s, c in each.items()}


def _by_number(source: Any) -> bool:
    """Whether a source maps numbers of shards to components; tables of scores are mappings from names."""
    return isinstance(source, Mapping) and bool(source) and all(isinstance(key, int) for key in source)


def _estimate_components(source: Any) -> VarianceComponents:
    """Components that say what shards do to a difference."""
    components = variance_components(source)
    if not isinstance(source, VarianceComponents) and "system:shard" not in components:
        raise InputError(
            "the scores are not on shards, so the variance of shards is unknown",
            remedy="give scores by topic, system and shard, or components",
        )
    if not any(components.variance(term) for term in BLURS):
        raise InputError("all variances are 0", remedy="give scores that vary")
    return components
