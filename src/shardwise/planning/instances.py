"""How many instances, how many topics? What each buys, and the best split of a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy import special

from shardwise.core import late
from shardwise.core.arguments import validate_count, validate_level
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError, Option
from shardwise.core.rng import make_generator
from shardwise.core.shown import Shown
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.repeats.pairs import Source, pair_of
from shardwise.methods.repeats.unified import complete_moments, instance_spread, run_unified
from shardwise.planning.components import variance_components
from shardwise.stats.student import t_statistic, two_sided

MOST_TOPICS, MOST_INSTANCES = 2_000, 200
POINTS = 400  # of the distribution of a standard deviation


def plan_equivalence(
    source: Any,
    *,
    margin: float,
    difference: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
    topics: Sequence[int] = (25, 50, 100, 200),
    most_instances: int = MOST_INSTANCES,
) -> pd.DataFrame:
    """Find for each number of topics the instances needed to show equivalence: `topics, instances, se, df, power`.

    Parameters
    ----------
    source : object
        Variance components, or scores or a mixed model that show them.
    margin : float
        The smallest difference that matters.
    difference : float
        The true difference to allow for, within the margin.
    power : float
        The probability of showing it.
    alpha : float
        The level of the two one-sided tests.
    topics : sequence of int
        Numbers of topics to plan for.
    most_instances : int
        Where to stop looking.

    Returns
    -------
    DataFrame
        One row a number of topics.

    >>> parts = VarianceComponents({"topic:system": .001, "system:instance": .0001, "error": .0064})
    >>> plan_equivalence(parts, margin=.02, topics=[50, 100]).round(3)
       topics  instances     se      df  power
    0      50         83  0.007  54.368  0.801
    1     100         13  0.007  57.526  0.804
    """
    components = _estimate_components(source)
    if not 0.0 <= abs(difference) < margin:
        raise InputError(
            f"a difference of {difference:g} is not within a margin of {margin:g}",
            remedy="give a smaller difference, or a larger margin",
            argument="difference",
            value=difference,
        )
    validate_level(alpha)
    validate_level(power, "power")
    rows: list[dict[str, object]] = []
    m = np.arange(2.0, validate_count(most_instances, "most_instances", least=2) + 1.0)
    for n in _validate_numbers(topics, "topics", 2):
        se, df = _expect_precision(components, m, n)
        reached_power = equivalence_power(margin, difference, se, df, alpha)
        enough = np.flatnonzero(reached_power >= power)
        if not len(enough):
            rows.append({"topics": int(n), "instances": pd.NA})
            continue
        k = int(enough[0])
        rows.append(
            {"topics": int(n), "instances": int(m[k]), "se": se[k], "df": df[k], "power": reached_power[k]}
        )
    return pd.DataFrame(rows, columns=["topics", "instances", "se", "df", "power"]).astype(
        {"instances": "Int64"}
    )


def equivalence_power(margin: float, difference: float, se: Floats, df: Floats, alpha: float) -> Floats:
    """Power of two one-sided t-tests: P(difference ± t·s within the margin), averaged over the distribution of s."""
    chances = (np.arange(POINTS) + 0.5) / POINTS
    spread = np.sqrt(scipy.stats.chi2.ppf(chances, np.asarray(df)[..., None]) / np.asarray(df)[..., None])
    cut = np.asarray(scipy.stats.t.isf(alpha, df))[..., None] * spread
    unit = np.where(se > 0.0, se, 1.0)[..., None]
    upper, lower = (margin - difference) / unit - cut, -(margin + difference) / unit + cut
    held = np.maximum(special.ndtr(upper) - special.ndtr(lower), 0.0).mean(axis=-1)
    return np.asarray(np.where(se > 0.0, held, 1.0))


@dataclass(frozen=True, slots=True, repr=False)
class BudgetPlan(Shown):
    """The best numbers of instances and topics for a budget."""

    instances: int
    topics: int
    cost: float
    se: float
    df: float
    half_width: float  # of the 95 % interval of the difference

    def plot(self) -> Any:
        """Draw the instances and topics: an altair chart.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self)

    def __str__(self) -> str:
        return (
            f"{self.instances} instances × {self.topics} topics for {self.cost:g}: "
            f"se {self.se:.4f}, difference ± {self.half_width:.4f}"
        )


def plan_budget(
    source: Any,
    budget: float,
    *,
    per_instance: float = 0.0,
    per_topic: float = 0.0,
    per_run: float = 0.0,
    most_instances: int = MOST_INSTANCES,
    most_topics: int = MOST_TOPICS,
) -> BudgetPlan:
    """Split a budget over instances and topics so that the interval of the difference is shortest.

    cost = per_topic · N + random · M · (per_instance + per_run · N): judging a topic, training an instance, running one
    instance on one topic.

    Parameters
    ----------
    source : object
        Variance components, or scores or a mixed model that show them.
    budget : float
        What may be spent, in the unit of the costs.
    per_instance : float
        Cost of an instance, such as training a model once more.
    per_topic : float
        Cost of a topic, such as judging it.
    per_run : float
        Cost of running one instance on one topic.
    most_instances : int
        The largest number of instances of a system to consider.
    most_topics : int
        The largest number of topics to consider.

    Returns
    -------
    BudgetPlan
        The best numbers of instances and topics, with the standard error that they give.

    >>> parts = VarianceComponents({"topic:system": .01, "system:instance": .0009, "error": .0064})
    >>> plan = plan_budget(parts, 1000, per_topic=5, per_instance=10)
    >>> plan.instances, plan.topics
    (19, 124)
    """
    components = _estimate_components(source)
    costs = (per_instance, per_topic, per_run)
    if min(costs) < 0 or max(costs) <= 0 or not np.isfinite(budget):
        raise InputError("costs must not be negative, and one of them must be positive")
    m = np.arange(2.0, validate_count(most_instances, "most_instances", least=2) + 1.0)
    most = validate_count(most_topics, "most_topics", least=2)
    fixed, rising = components.random * m * per_instance, per_topic + components.random * m * per_run
    with np.errstate(divide="ignore", invalid="ignore"):  # topics that cost nothing: take all
        n = np.where(rising > 0, np.floor((budget - fixed) / rising * (1 + 1e-12)), most)
    n = np.where(fixed <= budget, np.minimum(n, most), 0.0)
    if not (n >= 2).any():
        least = float((fixed + 2 * rising).min())
        raise InputError(
            f"a budget of {budget:g} does not pay for 2 instances and 2 topics, which cost {least:g}",
            remedy="raise it",
        )
    cost = (fixed + rising * n)[n >= 2]
    m, n = m[n >= 2], n[n >= 2]
    se, df = _expect_precision(components, m, n)
    half = scipy.stats.t.isf(0.025, df) * se
    k = int(np.lexsort((cost, half))[0])
    return BudgetPlan(int(m[k]), int(n[k]), float(cost[k]), float(se[k]), float(df[k]), float(half[k]))


def _estimate_components(source: Any) -> VarianceComponents:
    """Components that say what instances do to a difference."""
    components = variance_components(source)
    if "system:instance" not in components:
        raise InputError(
            "the data do not show how much repeats of a system vary",
            remedy="give components with system:instance, or the scores of several systems with several instances",
        )
    return components


def _expect_precision(
    components: VarianceComponents, instances: Floats, topics: Floats
) -> tuple[Floats, Floats]:
    """Standard error of the difference of two systems, and the df that the unified test can expect."""
    sizes = {"topic": topics, "instance": instances}
    variance, df = components.variance_of_difference(("topic", "instance"), sizes)
    return np.sqrt(variance), df


def p_value_spread(
    a: Source,
    b: Source,
    sizes: Iterable[int] = (2, 3, 5, 10, 20, 50),
    *,
    repeats: int = 50,
    replace: bool = True,
    seed: int = 0,
) -> pd.DataFrame:
    """Return how much the p-value depends on which instances one has: `instances, median, lower, upper, share`.

    For each size pools of instances are drawn, with replacement as in J15 Fig. 9, and compared by the unified test;
    lower and upper are the 5 % and 95 % points of the p-values, `share` that of p ≤ .05. Drawing with replacement
    repeats instances and so makes small pools look less variable than new ones would be; replace=False does not.

    Parameters
    ----------
    a, b : DataArray, DataFrame or Series
        Scores of the two systems by topic and instance; one without instances is deterministic.
    sizes : iterable of int
        Numbers of instances to draw.
    repeats : int
        How many pools to draw of each size.
    replace : bool
        Whether an instance may be drawn again.
    seed : int
        Where the random numbers start; pools of one size depend on the seed and the size alone.

    Returns
    -------
    DataFrame
        One row a number of instances.
    """
    validate_count(repeats, "repeats")
    pair = pair_of(a, b).complete("fewer topics").replicated()
    rows = []
    for size in _validate_numbers(list(sizes), "instances", 2):
        m = int(size)
        if not replace and m > min(
            c for c, fixed in zip(pair.counts, pair.deterministic, strict=True) if not fixed
        ):
            raise InputError(
                f"there are fewer than {m} repeats to resample", remedy=("use ", Option("replace", True))
            )
        rng = make_generator(seed, m)
        y = np.empty((repeats, pair.n, 2, m))
        for k, (scores, fixed) in enumerate(zip((pair.a, pair.b), pair.deterministic, strict=True)):
            for i in range(repeats):
                y[i, :, k] = scores.T if fixed else scores[rng.choice(len(scores), m, replace=replace)].T
        spread = instance_spread(y, np.array(pair.deterministic))
        ia, ib = np.array([0]), np.array([1])
        difference, se, df = run_unified(complete_moments(y.mean(axis=-1), ia, ib), spread, ia, ib)
        p = two_sided(t_statistic(difference, se), df)[:, 0]
        low, middle, high = np.quantile(p, [0.05, 0.5, 0.95])
        rows.append(
            {"instances": m, "median": middle, "lower": low, "upper": high, "share": (p <= 0.05).mean()}
        )
    return pd.DataFrame(rows)


def _validate_numbers(values: Sequence[int], what: str, least: int) -> Floats:
    numbers = np.asarray(values, dtype=float)
    if not numbers.size or (numbers != np.floor(numbers)).any() or (numbers < least).any():
        raise InputError(f"the numbers of {what} must be whole and at least {least}", remedy="try 10")
    return numbers
