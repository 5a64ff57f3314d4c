"""Plans: what more topics, repeats or shards reach and cost, and grids of designs as S14 lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from shardwise.comparing.instances import find_copies, join_pair, own_scores
from shardwise.core.arguments import validate_choice, validate_count, validate_level
from shardwise.core.arrays import Floats, make_generator
from shardwise.core.claim import Claim, format_count
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.scores import as_scores
from shardwise.core.shown import Drawn
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.clusters import by_units
from shardwise.methods.mixed.fit import MixedFit
from shardwise.methods.repeats.unified import KINDS, complete_moments, instance_spread, run_unified
from shardwise.planning.design import (
    Design,
    choose_method,
    topics_for_interval,
    topics_for_power,
    validate_numbers,
)
from shardwise.planning.variances import VarianceEstimate, repeat_components, variance_components
from shardwise.stats.power import equivalence_power
from shardwise.stats.sequential import count_candidates
from shardwise.stats.student import t_statistic, two_sided

MOST_REPEATS = 64
"""Repeats at most of the cheapest plan, or twice those at hand."""
DIMS = ("topic", "system", "shard")
SHARDS = (1, 2, 3, 4, 5, 10, 20)
BLURS = ("topic:system", "system:shard", "error")
# variances by measure, or one alone
Measured = Mapping[str, SupportsFloat] | SupportsFloat


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(Drawn):
    """A table of designs, and what it says.

    Parameters
    ----------
    kind : str
        "shards", "pools", "judgments" or "simulated": what the rows differ by, or what is spent.
    table : DataFrame
        One row a design.
    lines : tuple of str
        The goal or the answer, in words.
    best_by : str
        The column in which the best row has the smallest number.
    notes : tuple of str
        What was decided on the way.
    facts : mapping
        What was asked for, by name.
    """

    kind: str
    table: pd.DataFrame
    lines: tuple[str, ...]
    best_by: str = "topics"
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def best(self, by: str | None = None) -> pd.DataFrame:
        """Return the best row, of each measure where there are several.

        Parameters
        ----------
        by : str, optional
            The column whose smallest number is best; that of the plan without it.

        Returns
        -------
        DataFrame
            One row a measure.
        """
        column = by or self.best_by
        if column not in self.table:
            raise InputError(
                f"the plan has no column {column!r}", remedy=f"it has {', '.join(map(str, self.table))}"
            )
        if "measure" not in self.table:
            return self.table.loc[[self.table[column].idxmin()]].reset_index(drop=True)
        rows = self.table.groupby("measure", sort=False)[column].idxmin()
        return self.table.loc[rows].reset_index(drop=True)

    def __str__(self) -> str:
        notes = (f"- {note}" for note in self.notes)
        return "\n".join(["; ".join(self.lines), self.table.to_string(index=False), *notes])


@dataclass(frozen=True, slots=True, eq=False)
class RepeatPlan:
    """What more items and more repeats reach and cost.

    Parameters
    ----------
    kind : str
        "samples" or "seeds".
    now : Design
        What is there.
    more_items : Design or None
        The fewest items that reach the power with the repeats that are there; None where no number does.
    more_repeats : Design or None
        The fewest repeats that reach it on the items that are there; None where no number does.
    cheapest : Design or None
        The items and repeats that reach it at the lowest cost.
    """

    kind: str
    now: Design
    more_items: Design | None
    more_repeats: Design | None
    cheapest: Design | None

    def extra_cost(self, design: Design) -> float:
        """Return what a design costs beyond what is there.

        Parameters
        ----------
        design : Design
            One of the plan.

        Returns
        -------
        float
            The cost.
        """
        return float(design.cost - self.now.cost)

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
        figures = ("power", "detectable", "half_width")
        rows = [
            {"what": what, "topics": design.topics, "instances": design.repeats}
            | {name: getattr(design, name) for name in figures}
            | {"cost": self.extra_cost(design)}
            for what, design in designs.items()
            if design is not None
        ]
        return pd.DataFrame(rows)


def design_repeats(components: VarianceComponents, kind: str, **sizes: Any) -> Design:
    """Design of scores with repeats: samples are drawn anew for each item, a seed moves all items together."""
    validate_choice(kind, "repeats", KINDS)
    seeds = kind == "seeds" and components.variance("system:instance") > 0.0
    return Design(components, generalize=("topic", "instance") if seeds else ("topic",), **sizes)


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
    """Plan more items or more repeats for scores that have repeats, for the default test of all pairs.

    With M samples of each system on each of N items a difference has the variance 2(σ²_ts + σ²_w/M)/N; seeds add
    2σ²_i/M, which no number of items removes.

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
    >>> plan.now.topics, plan.now.repeats, plan.more_items.topics > 40, plan.more_items.power >= 0.8
    (40, 5, True, True)
    """
    table = as_scores(scores, needs=("topic", "system", "instance"))
    parts, kind = repeat_components(table, kind)
    units, _ = by_units(table)
    present = np.moveaxis(~np.isnan(units.values), units.over("system", "instance"), (0, 1))
    counts = np.asarray(present.any(axis=tuple(range(2, present.ndim)))).sum(axis=1)
    flags = find_copies(units)
    numbers = counts[~flags] if not flags.all() else counts
    cluster = table.sizes["topic"] / units.sizes["topic"]
    now = design_repeats(
        parts,
        kind,
        topics=units.sizes["topic"],
        repeats=int(np.median(numbers)),
        systems=systems or table.sizes["system"],
        min_diff=min_diff,
        target=power,
        alpha=alpha,
        topic_cost=topic_cost * cluster,
        answer_cost=answer_cost * cluster,
    )
    return RepeatPlan(kind, now, *plan_more(now))


def plan_more(now: Design) -> tuple[Design | None, Design | None, Design | None]:
    """More items, more repeats, and the cheapest of both that reach the power; None where no number does."""
    if now.power >= now.target:
        return now, now, now
    choices = np.arange(now.repeats, max(MOST_REPEATS, 2 * now.repeats) + 1)
    needed = np.maximum(replace(now, repeats=choices).search("topics"), now.topics)
    enough = float(now.search("repeats", guess=np.array(2.0 * now.repeats)))
    possible = [
        replace(now, topics=n, repeats=m) for n, m in zip(needed, choices, strict=True) if np.isfinite(n)
    ]
    more_items = possible[0] if np.isfinite(needed[0]) else None
    more_repeats = replace(now, repeats=enough) if np.isfinite(enough) else None
    every = possible if more_repeats is None else [*possible, more_repeats]
    return more_items, more_repeats, min(every, key=lambda design: float(design.cost), default=None)


def plan_budget(
    source: Any,
    budget: float,
    *,
    systems: int = 2,
    kind: str | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    topic_cost: float = 0.0,
    answer_cost: float = 1.0,
    repeat_cost: float = 0.0,
    most_repeats: int = 20,
    most_topics: int = 100_000,
) -> pd.DataFrame:
    """Split a budget over items and repeats: what each number of repeats detects.

    N items with M repeats of R systems cost N·topic_cost + R·M·(repeat_cost + N·answer_cost).

    Parameters
    ----------
    source : object
        Variance components, a mixed model, or scores by topic, system and instance.
    budget : float
        What may be spent, in the unit of the costs: a number of answers unless these are given.
    systems : int
        How many systems are compared.
    kind : str, optional
        "seeds" or "samples"; as the source says without it.
    power, alpha : float
        As for `plan_repeats`.
    topic_cost : float
        Cost of an item besides its answers, such as judging it.
    answer_cost : float
        Cost of one answer of one system to one item.
    repeat_cost : float
        Cost of one repeat of a system, such as training a model once more.
    most_repeats, most_topics : int
        Repeats and items at most.

    Returns
    -------
    DataFrame
        `instances, topics, cost, se, df, detectable, half_width`, a row for each number of repeats that leaves two
        items.

    >>> parts = VarianceComponents({"topic:system": 0.01, "error": 0.2})
    >>> plan_budget(parts, 1000, topic_cost=20, most_repeats=3).drop(columns=["se", "df"]).round(3)
       instances  topics   cost  detectable  half_width
    0          1      45  990.0       0.277       0.195
    1          2      41  984.0       0.210       0.148
    2          3      38  988.0       0.183       0.129
    """
    if isinstance(source, VarianceComponents | MixedFit):
        components = variance_components(source)
        kind = kind or ("seeds" if components.variance("system:instance") > 0.0 else "samples")
    else:
        components, kind = repeat_components(source, kind)
    costs = (topic_cost, answer_cost, repeat_cost)
    if min(costs) < 0 or max(costs) <= 0 or not np.isfinite(budget):
        raise InputError("costs must not be negative, and one of them must be positive")
    m = np.arange(1 if kind == "samples" else 2, validate_count(most_repeats, "most_repeats", least=2) + 1)
    how: dict[str, Any] = {"systems": systems, "target": power, "alpha": alpha, "topic_cost": topic_cost}
    how |= {"answer_cost": answer_cost, "repeat_cost": repeat_cost}
    least = design_repeats(components, kind, topics=2, repeats=m, **how)
    each = replace(least, topics=3).cost - least.cost
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.where(each > 0, np.floor((budget - least.cost) / each * (1 + 1e-12) + 1e-12), np.inf)
    n = np.where(least.cost <= budget, np.minimum(2 + more, validate_count(most_topics, "most_topics")), 0.0)
    if not (n >= 2).any():
        raise InputError(
            f"a budget of {budget:g} does not pay for 2 topics, which cost {least.cost.min():g}",
            remedy="raise it",
        )
    design = least.take(np.flatnonzero(n >= 2), topics=n[n >= 2])
    figures = ("cost", "se", "df", "detectable", "half_width")
    rows = {"instances": m[n >= 2], "topics": n[n >= 2].astype(int)}
    return pd.DataFrame(rows | {name: getattr(design, name) for name in figures})


def plan_equivalence(
    source: Any,
    *,
    margin: float,
    difference: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
    topics: Sequence[int] = (25, 50, 100, 200),
    most_instances: int = 200,
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
    components = variance_components(source)
    if "system:instance" not in components:
        raise InputError(
            "the data do not show how much repeats of a system vary",
            remedy="give components with system:instance, or the scores of several systems with several instances",
        )
    if not 0.0 <= abs(difference) < margin:
        raise InputError(
            f"a difference of {difference:g} is not within a margin of {margin:g}",
            remedy="give a smaller difference, or a larger margin",
            argument="difference",
            value=difference,
        )
    validate_level(power, "power")
    m = np.arange(2, validate_count(most_instances, "most_instances", least=2) + 1)
    rows: list[dict[str, object]] = []
    for n in topics:
        design = Design(components, n, repeats=m, alpha=alpha, generalize=("topic", "instance"))
        reached = equivalence_power(margin, difference, design.se, design.df, alpha)
        figures = {"instances": m, "se": design.se, "df": design.df, "power": reached}
        rows.append({"topics": n, **_take_first(reached >= power, figures)})
    return pd.DataFrame(rows, columns=["topics", "instances", "se", "df", "power"]).astype(
        {"instances": "Int64"}
    )


def _take_first(enough: Any, figures: Mapping[str, Floats]) -> dict[str, Any]:
    """Figures where they are enough for the first time, none where they never are.

    Satterthwaite's degrees of freedom may fall as sizes grow, and power with them: so look, do not bisect.
    """
    first = np.flatnonzero(enough)[:1]
    return {name: values[k].item() for name, values in figures.items() for k in first}


def plan_shards(
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
) -> Plan:
    """Find how the number of topics falls, or does not, with the number of shards, for a stated claim.

    A score is y = μ + topic + system + topic:system + shard + system:shard + topic:shard + error (F19, MD6). Only the
    terms with a system in them blur a difference of systems, and the claim decides which of those count. The goal is
    either to find a range of ``min_diff`` among the systems with the given power (F test), or an interval for a
    difference with expected ``width``.

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
    Plan
        One row a number of shards: ``topics`` (missing where no number up to ``most_topics`` is enough), and at that
        number the standard error ``se`` of a difference, its ``df``, and the ``power`` or ``width`` reached.

    >>> c = VarianceComponents({"topic:system": .0064, "system:shard": .000025, "error": .0036})
    >>> print(plan_shards(c, min_diff=.03, shards=[1, 2, 5, 20]))
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
    # components for each number of shards: those asked for, all of a mapping, or some usual ones
    if isinstance(source, Mapping) and source and all(isinstance(key, int) for key in source):
        counts = list(source) if shards is None else list(shards)
        if absent := [s for s in counts if s not in source]:
            raise InputError(
                f"no components for {format_count(absent[0], 'shard')}",
                remedy="measure them there, or leave it out",
            )
        each = {s: _estimate_shards(source[s]) for s in counts}
    else:
        each = dict.fromkeys(SHARDS if shards is None else shards, _estimate_shards(source))
    each = {validate_count(s, "shards"): c for s, c in each.items()}
    topics = np.arange(2, validate_count(most_topics, "most_topics", least=2) + 1)
    how: dict[str, Any] = {"systems": systems, "min_diff": min_diff, "target": power, "alpha": alpha}
    if width is not None:
        validate_numbers("width", width)
    quantity = "power" if width is None else "width"
    rows: list[dict[str, Any]] = []
    for s, components in each.items():
        design = Design(components, topics, shards=s, method="blocks", generalize=claim, **how)
        if width is None:
            design.require_reachable()
        reached = getattr(design, quantity)
        # one shard says nothing about how shards vary
        known = s > 1 or claim == Claim("topic")
        enough = known & (reached >= power if width is None else reached <= width)
        figures = {"topics": topics, "se": design.se, "df": design.df, quantity: reached}
        rows.append({"shards": s, **_take_first(enough, figures)})
    negative = sorted({name for c in each.values() for name in c.negative if name in BLURS})
    goal = (
        f"power {power:g} to find {min_diff:g} among {systems} systems at alpha {alpha:g}"
        if width is None
        else f"an interval of expected width {width:g} at alpha {alpha:g}, {systems} systems"
    )
    note = f"Variances estimated below 0 count as 0: {', '.join(negative)}."
    table = pd.DataFrame(rows, columns=["shards", "topics", "se", "df", quantity])
    return Plan(
        "shards",
        table.astype({"topics": "Int64"}),
        (goal, f"claim: {claim.short(DIMS)}"),
        notes=(note,) if negative else (),
        facts={"most_topics": most_topics},
    )


def _estimate_shards(source: Any) -> VarianceComponents:
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


def list_measures(
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
    test = choose_method(method, np.array(list(systems), dtype=float), tuple(each.values()))
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
    names, sigma_sq, test = list_measures(variances, None if width is not None else method, counts)
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
    """List the topics needed against the number of systems to be compared, one row a point: S14 Figure 2.

    Parameters
    ----------
    variances : mapping or VarianceEstimate
        Variance of each measure.
    systems : iterable of int
        Numbers of systems.
    min_diff : float
        Difference to detect.
    alpha : float
        Significance level.
    power : float
        Power to reach.
    method : str, optional
        Test that is planned for.

    Returns
    -------
    DataFrame
        `measure, systems, topics`.

    >>> design_curve({"Q": .0387}, systems=[10, 200], method="sakai")
      measure  systems  topics
    0       Q       10     121
    1       Q      200     426
    """
    how: dict[str, Any] = {"min_diff": [min_diff], "alpha": [alpha], "power": [power], "method": method}
    grid = design_table(variances, systems=systems, **how).droplevel(["alpha", "min_diff"])
    rows = pd.Series(grid[power].unstack(), name="topics").reset_index()
    return rows[["measure", "systems", "topics"]]


def reach_curve(
    variances: Measured,
    *,
    topics: Iterable[int],
    systems: Iterable[int] = (2, 10, 100),
    alpha: float = 0.05,
    power: float = 0.8,
    method: str | None = None,
) -> pd.DataFrame:
    """List what a number of topics can reach, one row a point: detectable range and interval width (S14 Figure 3).

    Parameters
    ----------
    variances : mapping or VarianceEstimate
        Variance of each measure.
    topics : iterable of int
        Numbers of topics.
    systems : iterable of int
        Numbers of systems.
    alpha : float
        Significance level.
    power : float
        Power of the detectable difference.
    method : str, optional
        Test that is planned for.

    Returns
    -------
    DataFrame
        `measure, topics, goal, value`.

    >>> reach_curve({"D-nDCG": .0375}, topics=[50], systems=[2, 10, 100]).round(2)
      measure  topics                goal  value
    0  D-nDCG      50  min_diff, 2 systems   0.11
    1  D-nDCG      50  min_diff, 10 systems  0.15
    2  D-nDCG      50  min_diff, 100 systems 0.25
    3  D-nDCG      50               width   0.15
    """
    counts = list(systems)
    names, sigma_sq, test = list_measures(variances, method, counts)
    n = np.array(list(topics))
    design = Design(sigma_sq[:, None], n, target=power, alpha=alpha, method=test)
    goals = {f"min_diff, {m} systems": replace(design, systems=m).detectable for m in counts}
    goals["width"] = design.width
    points = {"measure": np.repeat(names, len(n)), "topics": np.tile(n, len(names))}
    frames = [pd.DataFrame({**points, "goal": goal, "value": np.ravel(y)}) for goal, y in goals.items()]
    return pd.concat(frames, ignore_index=True)


def p_value_spread(
    a: Any,
    b: Any,
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
    pair = join_pair(a, b, "fewer topics", replicated=True)
    fixed, systems = find_copies(pair), own_scores(pair)
    rows = []
    for m in (validate_count(size, "instances", least=2) for size in sizes):
        if not replace and m > min(len(y) for y, flag in zip(systems, fixed, strict=True) if not flag):
            raise InputError(
                f"there are fewer than {m} repeats to resample", remedy=("use ", Option("replace", True))
            )
        rng = make_generator(seed, m)
        y = np.empty((repeats, pair.sizes["topic"], 2, m))
        for k, (scores, flag) in enumerate(zip(systems, fixed, strict=True)):
            for i in range(repeats):
                y[i, :, k] = scores.T if flag else scores[rng.choice(len(scores), m, replace=replace)].T
        spread = instance_spread(y, fixed)
        ia, ib = np.array([0]), np.array([1])
        difference, se, df = run_unified(complete_moments(y.mean(axis=-1), ia, ib), spread, ia, ib)
        p = two_sided(t_statistic(difference, se), df)[:, 0]
        low, middle, high = np.quantile(p, [0.05, 0.5, 0.95])
        rows.append(
            {"instances": m, "median": middle, "lower": low, "upper": high, "share": (p <= 0.05).mean()}
        )
    return pd.DataFrame(rows)


ACCEPTED = (0, 1, 3, 10)
"""Acceptances by then that a plan shows."""


def plan_loop(
    topics: npt.ArrayLike,
    min_diff: npt.ArrayLike = 0.05,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    margin: float = 0.0,
    right_wrong: bool = True,
) -> pd.DataFrame:
    """Count the candidates that a gate with a ledger can judge before a gain is no longer detected.

    Parameters
    ----------
    topics : int or several
        Items of the hold-out.
    min_diff : float or several
        Gain to detect.
    alpha : float
        Twice the probability that any candidate passes without being better.
    power : float
        Probability of detecting the gain.
    margin : float
        Loss that a candidate may have and still pass.
    right_wrong : bool
        Whether answers are right or wrong.

    Returns
    -------
    DataFrame
        One row for each number of items, gain and number of candidates that passed before.

    >>> plan_loop(1000, [0.05, 0.07]).head(2)[["min_diff", "accepted", "candidates", "if_declared"]].values.tolist()
    [[0.05, 0.0, 0.0, 3.0], [0.05, 1.0, 0.0, 2.0]]
    """
    validate_level(alpha)
    validate_level(power, "power")
    rows = []
    for items, gain, accepted in product(np.atleast_1d(topics), np.atleast_1d(min_diff), ACCEPTED):
        if items < 2 or not 0.0 < gain < 1.0:
            raise InputError(
                f"{items} items or a gain of {gain:g} cannot be planned", remedy="give a gain below 1"
            )
        counts = [
            count_candidates(
                int(items), float(gain), alpha / 2.0, accepted, margin=margin, right_wrong=right_wrong, power=power,
                declared=declared,
            )
            for declared in (False, True)
        ]  # fmt: skip
        rows.append((int(items), float(gain), accepted, *counts))
    return pd.DataFrame(rows, columns=["topics", "min_diff", "accepted", "candidates", "if_declared"])
