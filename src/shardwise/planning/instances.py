"""How many instances, how many topics? What each buys, and the best split of a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError, Option
from shardwise.core.rng import generator
from shardwise.fits.instance_pairs import Pair, Source, pair_of
from shardwise.fits.mixed import MixedFit
from shardwise.numerics.student import t_statistic, two_sided
from shardwise.numerics.unified import instance_spread, unified

MOST_TOPICS, MOST_INSTANCES = 2_000, 200


@dataclass(frozen=True, slots=True)
class InstanceComponents:
    """Variances that blur the difference of two systems with N topics and M instances of each random one.

    Var = contrast/N + random · (instance/M + residual/(M N)): `contrast` is the variance over topics of the true
    differences (2 σ²_st), `random` how many of the two systems are non-deterministic (1 or 2).
    """

    contrast: float
    instance: float
    residual: float
    random: int = 2

    def __post_init__(self) -> None:
        for name in ("contrast", "instance", "residual"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise InputError(f"{name} = {value:g}: a variance cannot be below 0", remedy="give 0 or more")
        if self.random not in (1, 2):
            raise InputError(f"{self.random} of two systems are random", remedy="give 1 or 2")

    def variance(self, instances: Floats | float, topics: Floats | float) -> Floats:
        """Variance of the difference with M instances and N topics."""
        m, n = np.asarray(instances, dtype=float), np.asarray(topics, dtype=float)
        return np.asarray(self.contrast / n + self.random * (self.instance / m + self.residual / (m * n)))

    def df(self, instances: Floats | float, topics: Floats | float) -> Floats:
        """Degrees of freedom that the unified test can expect; N - 1 where no instance variance is to be found."""
        m, n = np.asarray(instances, dtype=float), np.asarray(topics, dtype=float)
        over_topics = self.contrast / n + self.random * self.residual / (m * n)
        spread = over_topics**2 / (n - 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ms_i, ms_e = self.instance / m + self.residual / (m * n), self.residual / (m * n)
            own = self.random * (ms_i**2 / (m - 1.0) + ms_e**2 / ((m - 1.0) * (n - 1.0)))
            df = self.variance(m, n) ** 2 / (spread + (own if self.instance > 0 else 0.0))
        return np.asarray(np.where(df > 0, df, n - 1.0))

    def plot(self) -> Any:
        """Draw the standard error against instances and topics: an altair chart."""
        return late.call("chart", self)


def instance_components(a: Source | MixedFit, b: Source | None = None) -> InstanceComponents:
    """Take the variances from the scores of two systems, or from a fit of a nested mixed model.

    >>> import pandas as pd
    >>> rng = np.random.default_rng(2)
    >>> topics = rng.normal(0, 0.2, 100)
    >>> noise = rng.normal(0, 0.1, (100, 1)) + rng.normal(0, 0.03, 20) + rng.normal(0, 0.08, (100, 20))
    >>> found = instance_components(pd.DataFrame(topics[:, None] + noise), pd.Series(topics))
    >>> [round(v ** 0.5, 2) for v in (found.contrast, found.instance, found.residual)], found.random
    ([0.1, 0.03, 0.08], 1)
    """
    if isinstance(a, MixedFit):
        if a.design != "nested" or a.deterministic.any():
            raise InputError(
                "a crossed model, or one with a deterministic system, does not show what instances add",
                remedy="plan from the scores of the two systems",
            )
        v = a.variance_components
        return InstanceComponents(2.0 * v["system:topic"], v["instance"], v["residual"], 2)
    if b is None:
        raise InputError("two systems are needed to plan for", remedy="give the scores of both")
    pair = pair_of(a, b).complete("fewer topics").replicated()
    if all(pair.deterministic):
        raise InputError("there are no instances to plan for", remedy="give several runs of one system")
    spread = instance_spread(instances_of(pair)[None], np.array(pair.deterministic))
    random = ~spread.fixed[0]
    ms_i, ms_e, m = (x[0][random] for x in (spread.ms_instance, spread.ms_error, spread.counts))
    contrast = float(pair.topic_differences().var(ddof=1) - (ms_e / m).sum())
    instance = float(np.mean((ms_i - ms_e) / pair.n))
    return InstanceComponents(max(contrast, 0.0), max(instance, 0.0), float(np.mean(ms_e)), int(random.sum()))


def instances_of(pair: Pair) -> Floats:
    """(T, 2, M) scores of two systems, NaN where one has fewer instances."""
    return np.asarray(pair.scores().transpose("topic", "system", "instance").to_numpy())


def variance_grid(
    components: InstanceComponents, instances: Sequence[int], topics: Sequence[int]
) -> pd.DataFrame:
    """Standard error of the difference for each number of instances (rows) and topics (columns)."""
    m, n = _whole(instances, "instances", 1), _whole(topics, "topics", 2)
    se = np.sqrt(components.variance(m[:, None], n[None, :]))
    return pd.DataFrame(se, index=pd.Index(list(instances), name="instances"),
                        columns=pd.Index(list(topics), name="topics"))  # fmt: skip


def plan_instances(
    components: InstanceComponents,
    *,
    min_diff: float,
    power: float = 0.8,
    alpha: float = 0.05,
    topics: Sequence[int] = (25, 50, 100, 200),
    most_instances: int = MOST_INSTANCES,
) -> pd.DataFrame:
    """For each number of topics the instances needed to find a difference: `topics, instances, se, df, power`.

    A number of instances is missing where no number will do: instances cannot make up for too few topics.

    >>> plan_instances(InstanceComponents(.02, .0009, .0064), min_diff=.05, topics=[50, 80, 200]).round(3)
       topics  instances     se       df  power
    0      50       <NA>    NaN      NaN    NaN
    1      80         32  0.018  109.637  0.802
    2     200         10  0.017   41.277  0.823
    """
    if not min_diff > 0 or not 0 < power < 1 or not 0 < alpha < 1:
        raise InputError("min_diff must be positive, power and alpha between 0 and 1")
    rows: list[dict[str, object]] = []
    m = np.arange(2.0, most_instances + 1.0)
    for n in _whole(topics, "topics", 2):
        se, df = np.sqrt(components.variance(m, n)), components.df(m, n)
        reached = two_sided_power(min_diff, se, df, alpha)
        enough = np.flatnonzero(reached >= power)
        if not len(enough):
            rows.append({"topics": int(n), "instances": pd.NA})
            continue
        k = int(enough[0])
        rows.append({"topics": int(n), "instances": int(m[k]), "se": se[k], "df": df[k], "power": reached[k]})
    return pd.DataFrame(rows, columns=["topics", "instances", "se", "df", "power"]).astype(
        {"instances": "Int64"}
    )


def two_sided_power(difference: float, se: Floats, df: Floats, alpha: float) -> Floats:
    """Power of a two-sided t-test, by the noncentral t; without spread it is certain."""
    still = se <= 0
    critical = stats.t.isf(alpha / 2.0, df)
    shift = difference / np.where(still, 1.0, se)
    upper = 1.0 - special.nctdtr(df, shift, critical)
    lower = special.nctdtr(df, shift, -critical)
    # beyond the reach of the noncentral law in double precision the normal one is exact enough
    power = np.where(np.isfinite(upper + lower), upper + lower, special.ndtr(shift - critical))
    return np.asarray(np.where(still, 1.0, power))


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """The best numbers of instances and topics for a budget."""

    instances: int
    topics: int
    cost: float
    se: float
    df: float
    half_width: float  # of the 95 % interval of the difference

    def plot(self) -> Any:
        """Draw the instances and topics: an altair chart."""
        return late.call("chart", self)

    def __str__(self) -> str:
        return (
            f"{self.instances} instances × {self.topics} topics for {self.cost:g}: "
            f"se {self.se:.4f}, difference ± {self.half_width:.4f}"
        )


def plan_budget(
    components: InstanceComponents,
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

    >>> plan = plan_budget(InstanceComponents(.02, .0009, .0064), 1000, per_topic=5, per_instance=10)
    >>> plan.instances, plan.topics
    (19, 124)
    """
    costs = (per_instance, per_topic, per_run)
    if min(costs) < 0 or max(costs) <= 0 or not np.isfinite(budget):
        raise InputError("costs must not be negative, and one of them must be positive")
    m = np.arange(2.0, most_instances + 1.0)
    fixed, rising = components.random * m * per_instance, per_topic + components.random * m * per_run
    with np.errstate(divide="ignore", invalid="ignore"):  # topics that cost nothing: take all
        n = np.where(rising > 0, np.floor((budget - fixed) / rising * (1 + 1e-12)), most_topics)
    n = np.where(fixed <= budget, np.minimum(n, most_topics), 0.0)
    if not (n >= 2).any():
        least = float((fixed + 2 * rising).min())
        raise InputError(
            f"a budget of {budget:g} does not pay for 2 instances and 2 topics, which cost {least:g}",
            remedy="raise it",
        )
    cost = (fixed + rising * n)[n >= 2]
    m, n = m[n >= 2], n[n >= 2]
    se, df = np.sqrt(components.variance(m, n)), components.df(m, n)
    half = stats.t.isf(0.025, df) * se
    k = int(np.lexsort((cost, half))[0])
    return BudgetPlan(int(m[k]), int(n[k]), float(cost[k]), float(se[k]), float(df[k]), float(half[k]))


def p_value_spread(
    a: Source,
    b: Source,
    sizes: Iterable[int] = (2, 3, 5, 10, 20, 50),
    *,
    repeats: int = 50,
    replace: bool = True,
    seed: int = 0,
) -> pd.DataFrame:
    """How much the p-value depends on which instances one has: `instances, median, lower, upper, share`.

    For each size pools of instances are drawn, with replacement as in J15 Fig. 9, and compared by the unified test;
    lower and upper are the 5 % and 95 % points of the p-values, `share` that of p ≤ .05. Drawing with replacement
    repeats instances and so makes small pools look less variable than new ones would be; replace=False does not.
    """
    pair = pair_of(a, b).complete("fewer topics").replicated()
    rows = []
    for size in _whole(list(sizes), "instances", 2):
        m = int(size)
        if not replace and m > min(
            c for c, fixed in zip(pair.counts, pair.deterministic, strict=True) if not fixed
        ):
            raise InputError(
                f"there are fewer than {m} instances to draw from", remedy=("use ", Option("replace", True))
            )
        rng = generator(seed, m)
        y = np.empty((repeats, pair.n, 2, m))
        for k, (own, fixed) in enumerate(zip((pair.a, pair.b), pair.deterministic, strict=True)):
            for i in range(repeats):
                y[i, :, k] = own.T if fixed else own[rng.choice(len(own), m, replace=replace)].T
        spread = instance_spread(y, np.array(pair.deterministic))
        difference, se, df = unified(y.mean(axis=-1), spread, np.array([0]), np.array([1]))
        p = two_sided(t_statistic(difference, se), df)[:, 0]
        low, middle, high = np.quantile(p, [0.05, 0.5, 0.95])
        rows.append(
            {"instances": m, "median": middle, "lower": low, "upper": high, "share": (p <= 0.05).mean()}
        )
    return pd.DataFrame(rows)


def _whole(values: Sequence[int], what: str, least: int) -> Floats:
    numbers = np.asarray(values, dtype=float)
    if not numbers.size or (numbers != np.floor(numbers)).any() or (numbers < least).any():
        raise InputError(f"the numbers of {what} must be whole and at least {least}", remedy="try 10")
    return numbers
