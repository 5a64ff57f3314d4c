"""More items or more repeats? What each reaches and costs, for the default test of all pairs.

Scores are y = item + system + item:system + repeat, with M repeats of each system on each of N items. Samples are drawn
anew for each item, so that a difference of two systems has the variance 2(σ²_ts + σ²_w/M)/N; a seed moves all items
together and adds 2σ²_i/M, which no number of items removes. The test of a pair among R systems is significant beyond
q_{α;R,df}/√2 standard errors, and its power that of a noncentral t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy import special

from shardwise.core.arguments import validate_choice, validate_count, validate_level
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.scores import Scores, as_scores
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.clusters import by_units
from shardwise.methods.repeats.kinds import KINDS, infer_repeats
from shardwise.planning.components import variance_components
from shardwise.planning.topics import find_smallest
from shardwise.stats import studentized_range
from shardwise.stats.power import moderated_df
from shardwise.stats.units import additive_residuals

MOST_REPEATS = 64
"""Repeats at most of the cheapest plan, or twice those at hand."""
ENDLESS = 1e7
"""Repeats that leave no variance of repeats."""


@dataclass(frozen=True, slots=True)
class Design:
    """So many items and repeats, and what they reach.

    Parameters
    ----------
    items, repeats : int
        Items, and repeats of each system on each of them.
    power : float
        Power to detect the difference that is planned for.
    detectable : float
        Smallest difference that is detected with the power to reach.
    half_width : float
        Half the width of the simultaneous confidence interval of a difference.
    cost : float
        What it costs beyond what is there.
    """

    items: int
    repeats: int
    power: float
    detectable: float
    half_width: float
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class RepeatPlan:
    """What more items and more repeats reach and cost.

    Parameters
    ----------
    components : VarianceComponents
        What scores vary by: ``topic:system``, ``error``, and ``system:instance`` where repeats are seeds.
    kind : str
        "samples" or "seeds".
    systems : int
        Systems whose pairs are all compared.
    min_diff, alpha, target : float
        Difference to detect, family-wise level, power to reach.
    now : Design
        What is there.
    more_items : Design or None
        The fewest items that reach the power with the repeats that are there; None where no number does.
    more_repeats : Design or None
        The fewest repeats that reach it on the items that are there; None where no number does.
    cheapest : Design or None
        The items and repeats that reach it at the lowest cost.
    """

    components: VarianceComponents
    kind: str
    systems: int
    min_diff: float
    alpha: float
    target: float
    now: Design
    more_items: Design | None
    more_repeats: Design | None
    cheapest: Design | None

    @property
    def is_reached(self) -> bool:
        """Whether what is there has the power already."""
        return self.now.power >= self.target

    def to_frame(self) -> pd.DataFrame:
        """Return one row a plan: `what, topics, instances, power, detectable, half_width, cost`.

        Returns
        -------
        DataFrame
            "now", "more items", "more repeats" and "cheapest", as far as they are possible.
        """
        designs = {
            "now": self.now,
            "more items": self.more_items,
            "more repeats": self.more_repeats,
            "cheapest": self.cheapest,
        }
        rows = [
            {
                "what": what,
                "topics": design.items,
                "instances": design.repeats,
                "power": design.power,
                "detectable": design.detectable,
                "half_width": design.half_width,
                "cost": design.cost,
            }
            for what, design in designs.items()
            if design is not None
        ]
        return pd.DataFrame(rows)


def repeat_components(scores: Any, kind: str | None = None) -> tuple[VarianceComponents, str]:
    """Estimate what scores with repeats vary by, seeds or samples.

    Parameters
    ----------
    scores : object
        Scores by topic, system and instance in any form that `as_scores` takes.
    kind : str, optional
        "seeds" or "samples"; as the source says without it.

    Returns
    -------
    tuple of VarianceComponents and str
        For samples the variance within an item and system is ``error``, whole; for seeds their common effect is
        ``system:instance``.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(0, 0.1, (400, 3, 1)) + rng.normal(0, 0.3, (400, 3, 5))
    >>> import xarray as xr
    >>> table = xr.DataArray(y, dims=("topic", "system", "instance"), attrs={"repeats_kind": "samples"})
    >>> parts, kind = repeat_components(table)
    >>> kind, round(parts.sd("topic:system"), 2), round(parts.sd("error"), 2)
    ('samples', 0.1, 0.3)
    """
    table = as_scores(scores, needs=("topic", "system", "instance"))
    kind = validate_choice(kind, "repeats", KINDS) if kind is not None else infer_repeats(table)
    units, _ = by_units(table)
    if kind == "seeds" and not bool(units.isnull().any()):
        parts = variance_components(units)
        return VarianceComponents(
            {name: parts.variance(name) for name in ("topic:system", "system:instance", "error")},
            negative=tuple(name for name in parts.negative if name != "topic"),
            where=parts.where,
        ), kind
    if kind == "seeds":
        raise InputError(
            "a plan for seeds needs every score",
            remedy="leave out what is not finished, or say that the repeats are samples: --repeats samples",
        )
    y = np.asarray(units.transpose("topic", "system", "instance", ...).to_numpy(), dtype=float)
    y = y.reshape(*y.shape[:2], -1)
    scored = np.isfinite(y)
    count = scored.sum(axis=2)
    means = np.where(scored, y, 0.0).sum(axis=2) / np.where(count > 0, count, np.nan)
    squares = np.where(scored, (y - means[..., None]) ** 2, 0.0).sum()
    df = np.maximum(count - 1, 0).sum()
    if not df:
        raise InputError(
            "no system has a second sample of an item", remedy="give several samples of each item"
        )
    within = float(squares / df)
    known = count > 0
    rest = additive_residuals(means)
    df_rest = known.sum() - known.any(axis=1).sum() - known.any(axis=0).sum() + 1
    between = float((rest**2).sum() / max(int(df_rest), 1)) - within * float((1.0 / count[known]).mean())
    variances = {"topic:system": max(between, 0.0), "system:instance": 0.0, "error": within}
    negative = ("topic:system",) if between < 0 else ()
    return VarianceComponents(variances, negative=negative, where="samples within items"), kind


def repeat_precision(
    components: VarianceComponents, items: Floats, repeats: Floats, systems: int, kind: str
) -> tuple[Floats, Floats]:
    """Compute the standard error of a difference, and the degrees of freedom of its estimate.

    Parameters
    ----------
    components : VarianceComponents
        As of `repeat_components`.
    items, repeats : array
        Numbers of items and repeats.
    systems : int
        Number of systems.
    kind : str
        "samples" or "seeds".

    Returns
    -------
    tuple of arrays
        √(2(σ²_ts + σ²_w/M)/N) with the df of the moderated test for samples; for seeds with 2σ²_i/M in addition and
        Satterthwaite's df.
    """
    n, m = np.broadcast_arrays(np.asarray(items, float), np.asarray(repeats, float))
    if kind == "samples" or not components.variance("system:instance"):
        variance = 2.0 * (components.variance("topic:system") + components.variance("error") / m) / n
        return np.sqrt(variance), moderated_df(n, systems)[1]
    sizes = {"topic": n, "instance": np.maximum(m, 2.0), "system": np.asarray(float(systems))}
    variance, df = components.variance_of_difference(("topic", "instance"), sizes)
    return np.sqrt(variance), df


def repeat_power(
    components: VarianceComponents,
    items: Floats,
    repeats: Floats,
    min_diff: float,
    *,
    systems: int = 2,
    kind: str = "samples",
    alpha: float = 0.05,
) -> Floats:
    """Compute the power to detect a difference of two of several systems, all pairs corrected.

    Parameters
    ----------
    components : VarianceComponents
        As of `repeat_components`.
    items, repeats : array
        Numbers of items and repeats.
    min_diff : float
        True difference.
    systems : int
        Number of systems.
    kind : str
        "samples" or "seeds".
    alpha : float
        Family-wise level.

    Returns
    -------
    array
        Probabilities of a significant difference in the right direction.

    >>> parts = VarianceComponents({"topic:system": 0.01, "error": 0.2})
    >>> repeat_power(parts, np.array([50.0, 200.0]), np.array([5.0, 5.0]), 0.1).round(2)
    array([0.59, 0.99])
    """
    se, df = repeat_precision(components, items, repeats, systems, kind)
    return _power_of_pair(min_diff, se, df, _critical_value(systems, df, alpha))


def plan_repeats(
    scores: Any,
    *,
    min_diff: float,
    power: float = 0.8,
    alpha: float = 0.05,
    systems: int | None = None,
    kind: str | None = None,
    topic_cost: float = 0.0,
    answer_cost: float = 1.0,
) -> RepeatPlan:
    """Plan more items or more repeats for scores that have repeats.

    Parameters
    ----------
    scores : object
        Scores by topic, system and instance in any form that `as_scores` takes.
    min_diff : float
        Smallest difference that is worth detecting.
    power : float
        Probability of detecting it.
    alpha : float
        Family-wise level of all pairs.
    systems : int, optional
        How many systems are compared; those of the scores without it.
    kind : str, optional
        "seeds" or "samples"; as the source says without it.
    topic_cost : float
        Cost of a new item, besides its answers. Where items come in clusters, plans are of clusters of the mean size.
    answer_cost : float
        Cost of one answer of one system to one item.

    Returns
    -------
    RepeatPlan
        What is there, more items, more repeats, and the cheapest of both.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(0, 0.1, (40, 3, 1)) + rng.normal(0, 0.3, (40, 3, 5))
    >>> import xarray as xr
    >>> table = xr.DataArray(y, dims=("topic", "system", "instance"), attrs={"repeats_kind": "samples"})
    >>> plan = plan_repeats(table, min_diff=0.1)
    >>> plan.now.items, plan.now.repeats, plan.more_items.items > 40, plan.more_items.power >= 0.8
    (40, 5, True, True)
    """
    table = as_scores(scores, needs=("topic", "system", "instance"))
    parts, kind = repeat_components(table, kind)
    units, _ = by_units(table)
    counts = units.notnull().any([d for d in units.dims if d not in ("system", "instance")]).sum("instance")
    flags = np.array(Scores(units).deterministic or [False] * units.sizes["system"])
    numbers = counts.to_numpy()[~flags] if not flags.all() else counts.to_numpy()
    return plan_from_components(
        parts,
        kind,
        items=units.sizes["topic"],
        repeats=int(np.median(numbers)),
        systems=systems or table.sizes["system"],
        min_diff=min_diff,
        power=power,
        alpha=alpha,
        topic_cost=topic_cost * table.sizes["topic"] / units.sizes["topic"],
        answer_cost=answer_cost * table.sizes["topic"] / units.sizes["topic"],
    )


def evaluate_design(
    components: VarianceComponents,
    kind: str,
    *,
    items: int,
    repeats: int,
    systems: int,
    min_diff: float,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Design:
    """Compute what so many items and repeats reach.

    Parameters
    ----------
    components : VarianceComponents
        As of `repeat_components`.
    kind : str
        "samples" or "seeds".
    items, repeats : int
        The design.
    systems, min_diff, power, alpha
        As for `plan_repeats`.

    Returns
    -------
    Design
        The design with its power, at no cost.

    >>> parts = VarianceComponents({"topic:system": 0.01, "error": 0.2})
    >>> round(evaluate_design(parts, "samples", items=50, repeats=5, systems=2, min_diff=0.1).power, 2)
    0.59
    """
    test = _PlannedTest(components, kind, systems, min_diff, power, alpha)
    half, detectable = test.reach(items, repeats)
    return Design(items, repeats, float(test.power_at(items, repeats)), detectable, half, 0.0)


def plan_from_components(
    components: VarianceComponents,
    kind: str,
    *,
    items: int,
    repeats: int,
    systems: int,
    min_diff: float,
    power: float = 0.8,
    alpha: float = 0.05,
    topic_cost: float = 0.0,
    answer_cost: float = 1.0,
) -> RepeatPlan:
    """Plan from variances that are known.

    Parameters
    ----------
    components : VarianceComponents
        As of `repeat_components`.
    kind : str
        "samples" or "seeds".
    items, repeats : int
        What is there.
    systems, min_diff, power, alpha, topic_cost, answer_cost
        As for `plan_repeats`.

    Returns
    -------
    RepeatPlan
        The plans.
    """
    validate_choice(kind, "repeats", KINDS)
    validate_level(alpha)
    validate_level(power, "power")
    validate_count(items, "items", least=2)
    validate_count(systems, "systems", least=2)
    if not min_diff > 0.0:
        raise InputError(f"min_diff = {min_diff:g}: it must be above 0", argument="min_diff", value=min_diff)
    if not power > alpha:
        raise InputError(
            f"power {power:g} is not above alpha {alpha:g}", remedy="ask for more power than alpha"
        )
    test = _PlannedTest(components, kind, systems, min_diff, power, alpha)

    def price(n: float, m: float) -> float:
        return float(n * (topic_cost + systems * m * answer_cost))

    spent = price(items, repeats)

    def design(n: float, m: float) -> Design:
        how: dict[str, Any] = {"systems": systems, "min_diff": min_diff, "power": power, "alpha": alpha}
        reached = evaluate_design(components, kind, items=int(n), repeats=int(m), **how)
        return replace(reached, cost=price(n, m) - spent)

    now = design(items, repeats)
    if now.power >= power:
        return RepeatPlan(components, kind, systems, min_diff, alpha, power, now, now, now, now)
    most = max(MOST_REPEATS, 2 * repeats)
    choices = np.arange(repeats, most + 1, dtype=float)
    needed = np.maximum(test.items_needed(choices), float(items))
    possible = np.isfinite(needed)
    costs = np.array(
        [price(n, m) if ok else np.inf for n, m, ok in zip(needed, choices, possible, strict=True)]
    )
    k = int(costs.argmin())
    enough = test.repeats_needed(items, repeats)
    more_repeats = design(items, enough) if enough is not None else None
    cheapest = design(needed[k], choices[k]) if possible[k] else more_repeats
    if cheapest is not None and more_repeats is not None and more_repeats.cost < cheapest.cost:
        cheapest = more_repeats
    return RepeatPlan(
        components,
        kind,
        systems,
        min_diff,
        alpha,
        power,
        now,
        design(needed[0], repeats) if possible[0] else None,
        more_repeats,
        cheapest,
    )


def plan_answers(
    components: VarianceComponents,
    kind: str,
    answers: float,
    *,
    systems: int = 2,
    power: float = 0.8,
    alpha: float = 0.05,
    topic_cost: float = 0.0,
    most_repeats: int = 20,
) -> pd.DataFrame:
    """Split a number of answers over items and repeats: what each number of repeats detects.

    Parameters
    ----------
    components : VarianceComponents
        As of `repeat_components`.
    kind : str
        "samples" or "seeds".
    answers : float
        Answers of systems to items that can be paid for.
    systems : int
        As for `plan_repeats`.
    power, alpha : float
        As for `plan_repeats`.
    topic_cost : float
        Cost of an item besides its answers, in answers.
    most_repeats : int
        Repeats at most.

    Returns
    -------
    DataFrame
        `instances, topics, answers, detectable, half_width`, a row for each number of repeats that leaves two items.

    >>> parts = VarianceComponents({"topic:system": 0.01, "error": 0.2})
    >>> plan_answers(parts, "samples", 1000, topic_cost=20, most_repeats=3).round(3)
       instances  topics  answers  detectable  half_width
    0          1      45    990.0       0.277       0.195
    1          2      41    984.0       0.210       0.148
    2          3      38    988.0       0.183       0.129
    """
    validate_choice(kind, "repeats", KINDS)
    test = _PlannedTest(components, kind, systems, 1.0, power, alpha)
    rows = []
    for m in range(1 if kind == "samples" else 2, most_repeats + 1):
        items = int(answers // (topic_cost + systems * m))
        if items < 2:
            break
        half, detectable = test.reach(items, m)
        spent = items * (topic_cost + systems * m)
        rows.append(
            {
                "instances": m,
                "topics": items,
                "answers": float(spent),
                "detectable": detectable,
                "half_width": half,
            }
        )
    if not rows:
        raise InputError(f"{answers:g} answers do not pay for two items", remedy="raise the number")
    return pd.DataFrame(rows)


@dataclass(frozen=True, slots=True)
class _PlannedTest:
    """The test of a pair among several systems, by numbers of items and repeats."""

    components: VarianceComponents
    kind: str
    systems: int
    min_diff: float
    power: float
    alpha: float

    def power_at(self, items: Any, repeats: Any) -> Floats:
        """Power with these numbers of items and repeats."""
        n, m = np.atleast_1d(np.asarray(items, float)), np.atleast_1d(np.asarray(repeats, float))
        how: dict[str, Any] = {"systems": self.systems, "kind": self.kind, "alpha": self.alpha}
        power = repeat_power(self.components, n, m, self.min_diff, **how)
        return power if np.ndim(items) or np.ndim(repeats) else power[0]

    def reach(self, items: float, repeats: float) -> tuple[float, float]:
        """Half the width of the interval, and the difference that is detected with the power."""
        sizes = np.array([items], float), np.array([repeats], float)
        se, df = repeat_precision(self.components, *sizes, self.systems, self.kind)
        critical = _critical_value(self.systems, df, self.alpha)
        low, high = np.zeros(1), critical + 40.0
        for _ in range(60):
            middle = (low + high) / 2.0
            ample = _power_of_pair(1.0, 1.0 / np.maximum(middle, 1e-9), df, critical) >= self.power
            low, high = np.where(ample, low, middle), np.where(ample, middle, high)
        return float((critical * se)[0]), float((high * se)[0])

    def items_needed(self, repeats: Floats) -> Floats:
        """Fewest items for each number of repeats; infinite where no number of items is enough."""
        endless = self.power_at(np.full(repeats.shape, ENDLESS), repeats)
        possible = endless >= self.power
        needed = np.full(repeats.shape, np.inf)
        m = repeats[possible]
        if not m.size:
            return needed
        se, _ = repeat_precision(self.components, np.full(m.shape, 100.0), m, self.systems, self.kind)
        guess = 100.0 * (se * 3.5 / self.min_diff) ** 2

        def enough(n: Floats, which: Ints) -> Bools:
            return self.power_at(n, m[which]) >= self.power

        needed[possible] = find_smallest(enough, guess)
        return needed

    def repeats_needed(self, items: int, repeats: int) -> int | None:
        """Fewest repeats that are enough on these items, None where no number is."""
        if self.power_at(items, ENDLESS) < self.power:
            return None
        low, high = repeats, 2 * repeats
        while self.power_at(items, high) < self.power:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power_at(items, middle) >= self.power else (middle, high)
        return int(high)


def _critical_value(systems: int, df: Floats, alpha: float) -> Floats:
    """Critical |t| of one pair among all pairs of the systems."""
    return np.asarray(studentized_range.isf(alpha, systems, df) / np.sqrt(2.0))


def _power_of_pair(min_diff: float, se: Floats, df: Floats, critical: Floats) -> Floats:
    """P(t' > c) with noncentrality δ/se; the normal distribution where the noncentral t has no value."""
    with np.errstate(divide="ignore"):
        away = np.where(se > 0.0, min_diff / np.where(se > 0.0, se, 1.0), np.inf)
    finite = np.minimum(away, 1e3)
    power = np.asarray(scipy.stats.nct.sf(critical, df, finite))
    return np.where(np.isfinite(power), power, special.ndtr(finite - critical))
