"""Methods tried in scenarios: tables drawn, pairs decided, what was said held against the truth, until it is clear.

Every figure is kept replicate by replicate, because replicates are independent and pairs within one are not: a
Monte-Carlo interval rests on the number of replicates alone.

The scenarios that methods are tried in, for one claim: systems all equal, and some of them different.

Two columns come of them. *False alarms* are counted where equal systems look as they do among real ones: in tilt where
the scores allow it, in a simulated scenario (vine, else margins or normal), permute and flip. *Coverage of intervals*
is counted in resample: systems moved to one mean are true to the differences that they had, not to what equal systems
look like (two that are tied on most topics are a constant apart there). Where a claim has no resample, all scenarios
count for both, and where nothing but resample was asked for, so does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from shardwise.core.arguments import Progress, map_parallel, validate_choice, validate_count
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError, refuse_unknown
from shardwise.core.libraries import pd
from shardwise.core.scores import Scores
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.outside import OutsideProcedure
from shardwise.lab.scenarios import from_scores as data
from shardwise.lab.scenarios.base import Scenario, normal_scenario
from shardwise.lab.scenarios.bounded import vine_scenario
from shardwise.lab.scenarios.from_scores import (
    SHARE,
    effective_topics,
    tilted_scenario,
    tilted_weights,
    topic_means,
)
from shardwise.lab.simulate_scores import MEAN, SimulationOptions
from shardwise.lab.simulate_scores import build_scenario as simulated
from shardwise.methods.names import Procedure, parse_procedure
from shardwise.methods.pairs import choose_pairs
from shardwise.methods.tables import RESAMPLES, TABLE, Tables
from shardwise.stats import studentized_range
from shardwise.stats.groups import count_wins
from shardwise.stats.intervals import clopper_pearson
from shardwise.stats.threads import one_thread

INTERVALS = "resample"  # the scenario of intervals
SIZES = 5  # differences planted between nothing and what is hardly ever missed


@dataclass(frozen=True, slots=True, eq=False)
class SimulationSource:
    """Scores or, without them, components; and the sizes to simulate."""

    scores: Scores | None
    sd: VarianceComponents
    dims: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def systems(self) -> int:
        """How many systems to simulate."""
        return self.shape[self.dims.index("system")]

    @property
    def as_measured(self) -> bool:
        """Whether the sizes are those of the scores."""
        return self.scores is not None and self.shape == tuple(self.scores.sizes[dim] for dim in self.dims)

    @property
    def complete(self) -> Floats:
        """The scores, none of which may be missing."""
        if self.scores is None:
            raise InputError("this scenario is made of scores", remedy="give scores, not components")
        return self.scores.require_complete()


@dataclass(frozen=True, slots=True)
class ScenarioKind:
    """A way to make tables with a known truth of scores, or of variance components.

    Parameters
    ----------
    build : callable
        Function of a source, a claim, true effects of the systems (R,), 0 for equal ones, and a seed, that returns a
        `Scenario`.
    fits : callable
        Function of the layout and the claim: whether equal systems have no difference for this claim there.
    needs_scores : bool
        Whether components alone are not enough.
    any_size : bool
        Whether tables of other sizes than that of the scores can be made.
    """

    build: Callable[[SimulationSource, Claim, Floats, int], Scenario]
    fits: Callable[[tuple[str, ...], Claim], bool]
    needs_scores: bool = True
    any_size: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One scenario that methods are tried in."""

    scenario: Scenario
    null: str
    planted: bool = False
    share: int = 1  # of how many scenarios that count together it is one
    path: int = 0  # of its random numbers
    alarms: bool = True  # whether false alarms are counted in it
    intervals: bool = True  # whether coverage of intervals is


def cases_of(
    source: SimulationSource,
    claim: Claim,
    kinds: Sequence[str],
    *,
    planted: bool,
    largest: float | None,
    alpha: float,
    seed: int,
) -> list[Case]:
    """Scenarios of one claim: each null and, if ``planted``, systems up to ``largest`` apart in the first of them."""
    kinds = [kind for kind in kinds if SCENARIOS[kind].fits(source.dims, claim)]
    if not kinds:
        raise InputError(
            f"none of the nulls chosen fits the claim about {claim.short(source.dims)}",
            remedy='add "normal" or "flip"',
        )
    equal = np.zeros(source.systems)
    cases = [Case(_build_scenario(source, kind, claim, equal, seed), kind) for kind in kinds]
    if planted:
        # unless said, twice the critical difference of HSD, which is hardly ever missed
        size = {d: n for d, n in zip(source.dims, source.shape, strict=True) if d != "split"}
        variance, _ = source.sd.variance_of_difference(claim, size)
        q = studentized_range.isf(alpha, source.systems, (size["topic"] - 1) * (source.systems - 1))
        top = float(2.0 * q * np.sqrt(variance / 2.0)) if largest is None else largest
        for _ in range(6):
            plans = plan_effects(source.systems, top)
            try:
                built = [_build_scenario(source, kinds[0], claim, plan, seed) for plan in plans]
            except InputError:
                if largest is not None:
                    raise
                top /= 2  # scores have bounds, and so have the means of systems
                continue
            cases += [Case(made, kinds[0], True, len(plans), 1 + k) for k, made in enumerate(built)]
            break
        else:
            raise InputError(
                "no difference fits between the bounds of these scores",
                remedy="leave planted differences out",
            )
    if INTERVALS not in kinds:
        return cases
    alone = set(kinds) == {INTERVALS}
    return [
        replace(case, alarms=alone or case.null != INTERVALS, intervals=case.null == INTERVALS)
        for case in cases
    ]


def _build_normal(source: SimulationSource, claim: Claim, effects: Floats, seed: int) -> Scenario:
    centre = MEAN if source.sd.mean is None else source.sd.mean
    return normal_scenario(centre + effects - effects.mean(), source.sd, source.dims, source.shape, claim)


def _build_from_scores(
    kind: str, source: SimulationSource, claim: Claim, effects: Floats, seed: int
) -> Scenario:
    """Make a scenario of systems that differ by the effects out of one's own scores."""
    centred = effects - effects.mean()
    if kind == "margins":
        sizes = {f"{dim}s": size for dim, size in zip(source.dims, source.shape, strict=True)}
        how: dict[str, Any] = {"margins": "auto", "generalize": claim, "seed": seed, **sizes}
        return simulated(source.scores, SimulationOptions(effects=centred, **how))
    if kind == "vine":
        return vine_scenario(source.complete, source.dims, effects=centred)
    if kind == "tilt":
        return tilted_scenario(source.complete, source.dims, effects=centred if effects.any() else None)
    return data.data_null(kind, source.complete, source.dims, claim, effects)


SCENARIOS: dict[str, ScenarioKind] = {
    "normal": ScenarioKind(_build_normal, lambda dims, claim: True, needs_scores=False, any_size=True),
    "margins": ScenarioKind(partial(_build_from_scores, "margins"), lambda dims, claim: True, any_size=True),
    # these two keep near-duplicate systems, or every score
    **{
        kind: ScenarioKind(
            partial(_build_from_scores, kind),
            lambda dims, claim: claim == Claim("topic") and dims[0] == "topic" and dims[-1] != "instance",
        )
        for kind in ("vine", "tilt")
    },
    **{
        kind: ScenarioKind(partial(_build_from_scores, kind), partial(data.speaks_for, kind))
        for kind in data.KINDS
    },
}
"""Kinds of scenarios by name."""


def register_scenario(name: str, kind: ScenarioKind) -> None:
    """Offer another kind of scenario by its name, in `calibrate` and on the command line.

    Parameters
    ----------
    name : str
        What ``calibrate(…, nulls=[name])`` and ``--scenario`` call it.
    kind : ScenarioKind
        How it is made, and for which claims.

    Raises
    ------
    InputError
        If there is one of that name.
    """
    if name in SCENARIOS:
        raise InputError(
            f"there is a scenario {name!r} already", remedy="choose another name", argument="name"
        )
    SCENARIOS[name] = kind


def _build_scenario(
    source: SimulationSource, kind: str, claim: Claim, effects: Floats, seed: int
) -> Scenario:
    if source.scores is None:
        return _build_normal(source, claim, effects, seed)
    if not (SCENARIOS[kind].any_size or source.as_measured):
        raise InputError(
            f"the null {kind!r} has the size of the scores themselves",
            remedy="use normal or margins for other sizes",
        )
    return SCENARIOS[kind].build(source, claim, effects, seed)


def choose_nulls(
    source: SimulationSource, claim: Claim, named: Iterable[str] | None = None
) -> tuple[list[str], str]:
    """The scenarios to try a claim in, by name or the usual ones, and why `tilt` is not among these."""
    if named is not None:
        nulls = list(named)
        for kind in nulls:
            validate_choice(kind, "nulls", SCENARIOS, what="scenario")
            if source.scores is None and SCENARIOS[kind].needs_scores:
                raise InputError(f"the null {kind!r} is made of scores", remedy="give scores, not components")
        return nulls, ""
    if source.scores is None:
        return ["normal"], ""
    y = source.scores.values
    bounded = bool(y.min() >= 0 and y.max() <= 1) and source.dims[-1] != "instance"
    if not source.as_measured:
        return ["margins" if bounded else "normal"], ""
    kept = SCENARIOS["vine"].fits(source.dims, claim)
    vine = kept and bounded and bool(np.ptp(source.complete, axis=0).min() > 0.0)
    untilted = ""
    if kept:
        # why no chances of topics make the systems equal; empty where they do
        means = topic_means(source.complete, source.dims)
        topics, systems = means.shape
        weights = tilted_weights(means)
        count = 0.0 if weights is None else effective_topics(weights)
        if weights is None:
            untilted = f"no chances of {topics} topics make these {systems} systems equal"
        elif count < SHARE * topics:
            untilted = (
                f"the chances that make these {systems} systems equal leave {count:.0f} of {topics} topics"
            )
    tilt = ["tilt"] if kept and not untilted else []
    of_data = [kind for kind in data.KINDS if data.speaks_for(kind, source.dims, claim)]
    return ["vine" if vine else "margins" if bounded else "normal", *tilt, *of_data], untilted


def plan_effects(r: int, largest: float) -> list[Floats]:
    """Plan effects of systems: half of them equal, the others 1/5, 2/5, … of the largest difference away.

    With few systems the sizes are dealt out over several tables.

    >>> [p.tolist() for p in plan_effects(2, 1.0)]
    [[0.0, 0.2], [0.0, 0.4], [0.0, 0.6], [0.0, 0.8], [0.0, 1.0]]
    """
    steps = largest * np.arange(1, SIZES + 1) / SIZES
    moved = r - (r + 1) // 2
    plans = 1 if moved >= SIZES else SIZES
    effects_of_plans = []
    for k in range(plans):
        effects = np.zeros(r)
        effects[r - moved :] = steps[(np.arange(moved) + k) % SIZES]
        effects_of_plans.append(np.round(effects, 12))
    return effects_of_plans


TAIL = 0.025  # on each side of a Monte-Carlo interval
BUDGET = 2_000  # tables of a scenario, where nothing is said
FIRST = 100  # tables before the first look, at least
LEAST = 10
SLACK = (
    1.1  # approximations such as Satterthwaite's may err by a tenth of the level without being called wrong
)
TOLERANCE = 1.5  # a rate is taken to hold if its interval ends below one and a half of the level
SAME = 1e-12  # true differences below this are none


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True differences of pairs: all of them in the order of np.triu_indices, or those asked for."""

    difference: Floats  # (P,)
    null: Bools  # (P,)
    sizes: Floats  # (G,) distinct absolute differences above 0
    size: Ints  # (P,) which of them; -1 for none
    means: Floats  # (R,)
    ia: Ints  # (P,) the pairs
    ib: Ints

    @classmethod
    def from_means(cls, means: Floats, pairs: tuple[Ints, Ints] | None = None) -> Truth:
        """Read off the differences of true means."""
        every = np.triu_indices(means.size, 1)
        a, b = every if pairs is None else pairs
        difference = means[a] - means[b]
        null = np.abs(difference) <= SAME
        # sizes are those of all pairs, so that tallies of some pairs can be put together with others
        apart = np.round(np.abs(means[every[0]] - means[every[1]]), 12)
        sizes: Floats = np.unique(apart[apart > SAME]).astype(np.float64)
        size = np.where(null, -1, np.searchsorted(sizes, np.round(np.abs(difference), 12)))
        return cls(difference, null, sizes, size, means, a, b)


Figures = dict[str, Floats]
"""Figures of each replicate by name, replicates first; NaN where there is none.

raw: share of the equal pairs called different before any correction; family: 1 if any equal pair is called different;
discovery: share of equal pairs among those called different; smallest: corrected p-value of the equal pair that has the
smallest; coverage: share of intervals that hold the true difference, of the pairs found for bh and by; together: 1 if
all intervals do; width: mean width of the intervals; best: share of the best systems that the best set holds; ranks: 1
if every rank range holds a true rank; wrong_way, right_way: pairs truly different and called different the wrong and
the right way round; found: (B, G) share of the pairs of each true size called different the right way round; blamed:
(B, R) false alarms with each system; contradiction: share of pairs whose p-value and interval disagree at alpha;
alarms_at, found_at: (B, L) false alarms of equal systems, and share of truly different pairs called different the right
way round, were each of `LEVELS` the level; seconds: time of the method.
"""
LEVELS = np.geomspace(1e-4, 1.0, 61)
"""Levels between which that of equal error is interpolated."""


def find_directions(decided: Any, alpha: float) -> Ints:
    """(B, P) direction of each difference that is significant, 0 of the others."""
    return np.asarray(np.sign(decided.difference) * (decided.p_adjusted <= alpha), np.int64)


def judge_directions(directions: Floats | Ints, truth: Floats | Ints) -> tuple[Bools, Bools]:
    """(B, P) which significant differences have the direction of the true ones, and which the other direction."""
    return np.asarray(directions * truth > 0), np.asarray(directions * truth < 0)


def count_errors(
    decided: Any,
    truth: Truth,
    error_rate: str,
    alpha: float,
    covered: Bools | None = None,
    limits: tuple[Floats, Floats] | None = None,
) -> Figures:
    """Hold decisions on (B, P) pairs against the truth.

    ``covered``: which intervals hold it, where that is known; ``limits`` of the intervals, if not those by half-widths.
    """
    called = decided.p_adjusted <= alpha
    equal, n_called = truth.null, called.sum(axis=1)
    false = called & equal
    right, wrong = judge_directions(find_directions(decided, alpha), np.where(equal, 0.0, truth.difference))
    none = np.full(len(called), np.nan)
    if covered is not None:
        half, holds, excludes = np.zeros(1), covered, called
    elif limits is not None:
        half = (limits[1] - limits[0]) / 2.0
        holds = (limits[0] <= truth.difference) & (truth.difference <= limits[1])
        excludes = (limits[0] > 0.0) | (limits[1] < 0.0)
    else:
        half = decided.half_widths(alpha)
        holds = np.abs(decided.difference - truth.difference) <= half
        excludes = np.abs(decided.difference) > half
    coverage, together = holds.mean(axis=1), holds.all(axis=1).astype(float)
    contradiction = (called != excludes).mean(axis=1)
    if error_rate == "discovery":  # Benjamini & Yekutieli 2005: true of the pairs that were selected
        coverage, together = 1.0 - (called & ~holds).sum(axis=1) / np.maximum(n_called, 1), none
    if np.isnan(half).all():
        coverage = together = contradiction = none
    systems = truth.means.size
    below, above = count_wins(called, decided.difference, truth.ia, truth.ib, systems)
    complete = truth.difference.size == systems * (systems - 1) // 2
    # the first and the last rank that each system has; equal ones may have any of theirs
    ahead = truth.means[None, :] - truth.means[:, None]
    highest, lowest = 1 + (ahead > SAME).sum(axis=1), systems - (ahead < -SAME).sum(axis=1)
    held = (1 + above <= lowest) & (systems - below >= highest)
    best = np.flatnonzero(truth.means >= truth.means.max() - SAME)
    detected = np.full((len(called), truth.sizes.size), np.nan)
    for g in range(truth.sizes.size):
        if (of_size := truth.size == g).any():
            detected[:, g] = right[:, of_size].mean(axis=1)
    # the same at every level, of equal systems as a complete null, of others as power
    agrees, _ = judge_directions(decided.difference, truth.difference)
    p = np.where(agrees, decided.p_adjusted, np.inf)[:, ~equal]
    # every size counts alike, as in the power
    weights = 1.0 / np.bincount(truth.size[~equal])[truth.size[~equal]]
    of_null = decided.p_adjusted if error_rate == "pair" else decided.p_adjusted.min(axis=1, keepdims=True)
    at_levels = [(of_null <= level).mean(axis=1) for level in LEVELS] if equal.all() else []
    alarms_at = np.array(at_levels, np.float32).reshape(len(at_levels), len(called)).T
    at_levels = [] if equal.all() else [(p <= level) @ weights / weights.sum() for level in LEVELS]
    found_at = np.array(at_levels, np.float32).reshape(len(at_levels), len(called)).T
    first, second = count_wins(false, np.ones(false.shape), truth.ia, truth.ib, systems)
    return {
        "raw": (decided.single_p[:, equal] <= alpha).mean(axis=1) if equal.any() else none,
        "family": false.any(axis=1).astype(float) if equal.any() else none,
        "discovery": false.sum(axis=1) / np.maximum(n_called, 1),
        "smallest": decided.p_adjusted[:, equal].min(axis=1) if equal.any() else none,
        "coverage": coverage,
        "together": together,
        "width": 2.0 * np.broadcast_to(half, called.shape).mean(axis=1),
        "best": (above[:, best] == 0).mean(axis=1) if complete else none,
        "ranks": held.all(axis=1).astype(float) if complete else none,
        "wrong_way": wrong.sum(axis=1).astype(float),
        "right_way": right.sum(axis=1).astype(float),
        "found": detected,
        "blamed": (first + second).astype(np.float64),
        "contradiction": contradiction,
        "alarms_at": alarms_at,
        "found_at": found_at,
    }


def join_figures(parts: Sequence[Figures]) -> Figures:
    """Join several chunks of replicates."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True, slots=True)
class Rate:
    """A simulated rate with its Monte-Carlo interval."""

    value: float
    low: float
    high: float
    n: int


def estimate_rate(x: Floats, tail: float = TAIL) -> Rate:
    """Average a figure over replicates; interval exact (Clopper-Pearson) for yes or no, else by the standard error.

    >>> found = estimate_rate(np.array([0.0] * 95 + [1.0] * 5))
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.05, 0.0164, 0.1128)
    """
    x = x[np.isfinite(x)]
    n = x.size
    if n == 0:
        return Rate(np.nan, np.nan, np.nan, 0)
    mean = float(x.mean())
    if np.isin(x, (0.0, 1.0)).all():
        low, high = clopper_pearson(np.round(x.sum()), np.asarray(float(n)), 2.0 * tail)
        return Rate(mean, float(low), float(high), n)
    se = float(x.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    half = -float(special.ndtri(tail)) * se
    return Rate(mean, max(0.0, mean - half), min(1.0, mean + half), n)


def estimate_ratio(part: Floats, whole: Floats, tail: float = TAIL) -> Rate:
    """Divide the sum of one figure by that of another, with an interval by the linearised standard error."""
    total = float(whole.sum())
    n = part.size
    if total == 0:
        return Rate(np.nan, np.nan, np.nan, n)
    value = float(part.sum()) / total
    se = float(np.sqrt(np.sum((part - value * whole) ** 2)) / total)
    half = (
        -float(special.ndtri(tail)) * se
        if value
        else estimate_rate(np.zeros(np.count_nonzero(whole > 0)), tail).high
    )
    return Rate(value, max(0.0, value - half), min(1.0, value + half), n)


def level_for(smallest: Floats, alpha: float, tail: float = TAIL) -> Rate:
    """The largest level at which a share of at most alpha of the tables has an equal pair called different.

    The alpha quantile of the smallest corrected p-value among equal pairs, with the interval of order statistics.

    >>> level_for(np.arange(1, 101) / 100, 0.05).value
    0.05
    """
    p = np.sort(smallest[np.isfinite(smallest)])
    n = p.size
    if n == 0:
        return Rate(np.nan, np.nan, np.nan, 0)
    counts = np.arange(n + 1)
    # the smallest counts that the binomial distribution reaches with the tail, and exceeds with no more than it
    least = np.argmax(special.bdtr(counts, n, alpha) >= tail)
    most = np.argmax(special.bdtrc(counts, n, alpha) <= tail)
    ranks = (np.floor(alpha * n), least, most)
    # the largest p-value that at most so many of them reach; resampled p-values tie
    under = [int(np.searchsorted(p, p[min(int(rank), n - 1)])) for rank in ranks]
    value, low, high = (float(p[k - 1]) if k else 0.0 for k in under)
    return Rate(value, low, high, n)


def power_at_error(alarms: Floats, found: Floats, alpha: float) -> Floats:
    """Return (B,) shares found at the level at which (L,) false alarms are alpha, interpolated between (B, L) shares.

    A method that finds all or nothing is worth chance: at no level it is right more often than it is wrong.

    >>> power_at_error(np.array([0.0, 0.1, 1.0]), np.array([[0.2, 0.6, 1.0]]), 0.05)
    array([0.4])
    """
    # at level 0 nothing is called different, at level 1 every pair
    alarms = np.concatenate([[0.0], alarms])
    found = np.pad(found, ((0, 0), (1, 0)))
    above = min(int(np.searchsorted(alarms, alpha, side="right")), len(alarms) - 1)
    gap = alarms[above] - alarms[above - 1]
    weight = (alpha - alarms[above - 1]) / gap if gap > 0.0 else 1.0
    return np.asarray((1.0 - weight) * found[:, above - 1] + weight * found[:, above])


# Group-sequential stopping. Tables are drawn in batches, each as large as all before it, and the figures are looked
# at after each. Whoever looks K times at W scenarios, and stops when an interval says something clear, has K·W chances
# of being misled; so each interval is that of Clopper and Pearson with a tail of 2.5 % / (K·W). By Bonferroni's
# inequality all of them hold together with 95 %, whenever one stops (repeated confidence intervals: Jennison & Turnbull
# 1989).


def plan_looks(repetitions: int | None, budget: int | None) -> tuple[int, ...]:
    """Plan the interim looks: numbers of tables of a scenario, one only where a number was asked for.

    >>> plan_looks(None, 1000), plan_looks(30, None)
    ((125, 250, 500, 1000), (30,))
    """
    if repetitions is not None and budget is not None:
        raise InputError(
            "a number of repetitions and a budget at once", remedy="give one of them", argument="budget"
        )
    given = (
        {"budget": BUDGET if budget is None else budget}
        if repetitions is None
        else {"repetitions": repetitions}
    )
    ((name, most),) = given.items()
    if validate_count(most, name, least=0) < LEAST:
        raise InputError(f"{most} repetitions say nothing", remedy="use 200 or more")
    plan = [most]
    while repetitions is None and plan[0] >= 2 * FIRST:
        plan.insert(0, -(-plan[0] // 2))
    return tuple(plan)


def judge_interval(low: float, high: float, alpha: float) -> str:
    """Judge the interval of an error rate: it holds the level, it fails, or neither is clear.

    >>> judge_interval(.04, .064, .05), judge_interval(.02, .11, .05), judge_interval(.06, .09, .05)
    ('holds', 'unclear', 'fails')
    """
    if low > SLACK * alpha:
        return "fails"
    return "holds" if high <= TOLERANCE * alpha else "unclear"


FIGURES = ("raw", "family", "discovery", "coverage", "together", "best", "contradiction")
POWER = ("method", "error_rate", "meant", "claim", "null", "difference", "power", "low", "high")
FIGURE = {"family": "family", "discovery": "discovery", "pair": "raw"}
COVERED = {"family": "together", "discovery": "coverage", "pair": "coverage"}
SCORES = 2_000_000  # numbers of one chunk of tables
PAIRS = 500_000  # pairs of one chunk of tables
FEW_RESAMPLES = 239  # of the default test, where many tables are asked one question


class Chunk(NamedTuple):
    """Some tables of a case: all that a worker, in whatever process or machine, has to know."""

    case_number: int  # number of the case
    case: Case
    trial: Trial  # without its cases
    first: int  # number of the first table
    number: int  # of tables


def p_values(
    tables: Floats,
    methods: Iterable[str | Procedure],
    dims: Sequence[str] = TABLE,
    *,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    first: int = 0,
    deterministic: Sequence[bool] = (),
) -> dict[str, Floats]:
    """Compute corrected p-values of all pairs of systems in each of many tables at once.

    Parameters
    ----------
    tables : array of float
        Complete scores, tables first, then the dimensions in their order.
    methods : iterable of str or Procedure
        Procedures or their names, as for `compare`.
    dims : sequence of str
        Dimensions of a table: topic and system, perhaps followed by shard or instance.
    n_resamples : int
        Resamples of procedures that draw.
    seed : int
        Where the random numbers start; table i depends on (seed, first + i) only.
    first : int
        Number of the first table.
    deterministic : sequence of bool
        Which systems have instances that are copies of one another; none, if empty.

    Returns
    -------
    dict of array
        Tables by pairs, in the order of ``np.triu_indices``, by the name of each procedure.

    >>> y = np.random.default_rng(1).normal([0.2, 0.3, 0.3], 0.1, (4, 50, 3))
    >>> p_values(y, ["t holm"])["t holm"].shape
    (4, 3)
    """
    chosen = [parse_procedure(method) for method in methods]
    how: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed, "deterministic": tuple(deterministic)}
    decided = decide_tables(np.asarray(tables, np.float64), tuple(dims), chosen, first=first, **how)
    return {method.name: each.p_adjusted for method, each in zip(chosen, decided, strict=True)}


def decide_tables(
    y: Floats,
    dims: tuple[str, ...],
    methods: Sequence[Procedure],
    pairs: Sequence[tuple[Ints, Ints] | None] | None = None,
    seconds: list[float] | None = None,
    **how: Any,
) -> list[Any]:
    """Return what each method says of (B, P) pairs of a batch of tables; every part of the laboratory calls this.

    The time of each is added to ``seconds``; what several methods need counts for the first of them.
    """
    tables = Tables(y, dims, **how)
    decided = []
    for method, which in zip(methods, [None] * len(methods) if pairs is None else pairs, strict=True):
        begun = perf_counter()
        decided.append(method.decide(tables, which))
        if seconds is not None:
            seconds.append(perf_counter() - begun)
    return decided


def count_tables(
    y: Floats,
    dims: tuple[str, ...],
    methods: Sequence[Procedure],
    truth: Floats,
    alpha: float,
    baselines: tuple[int, ...] = (),
    cover: Callable[[Any, Truth], Bools | None] | None = None,
    **how: Any,
) -> list[Figures]:
    """Let methods decide a batch of tables, with baselines or all pairs, and hold that against the true means.

    ``cover`` says which intervals hold the truth; without it, those of the method alone.
    """
    names = tuple(map(str, range(len(truth))))
    # Dunnett's test needs a baseline; without one, all pairs
    chosen = [baselines or ((0,) if method.correction == "dunnett" else ()) for method in methods]
    pairs = [choose_pairs(names, None, [names[k] for k in each]) if each else None for each in chosen]
    truths = [Truth.from_means(truth, which) for which in pairs]
    seconds: list[float] = []
    decided = decide_tables(y, dims, methods, pairs, seconds, **how)
    tallies = []
    for method, each, true, taken in zip(methods, decided, truths, seconds, strict=True):
        limits = each.own_limits(None) if isinstance(method, OutsideProcedure) else None
        covered = None if cover is None else cover(each, true)
        figures = count_errors(each, true, method.error_rate, alpha, covered, limits)
        figures["seconds"] = np.full(len(y), taken / len(y))
        if isinstance(method, OutsideProcedure):
            figures["failed"] = np.full(len(y), next(iter(method.trouble), ""), dtype=object)
        tallies.append(figures)
    return tallies


def decide_chunk(chunk: Chunk) -> list[Figures]:
    """Count the errors of each method on the tables of a chunk."""
    scenario, trial, seed = chunk.case.scenario, chunk.trial, chunk.trial.seed
    if chunk.case.path:
        # a seed of its own for each planting, so that no two scenarios share their tables
        planting = np.random.SeedSequence(seed, spawn_key=(chunk.case.path,))
        seed = int(planting.generate_state(1, np.uint64)[0])
    drawn = scenario.draw(chunk.first, chunk.number, seed)
    how: dict[str, Any] = {"seed": trial.seed, "first": chunk.first, "n_resamples": trial.n_resamples}
    truth = scenario.truth
    return count_tables(drawn, scenario.dims, trial.methods, truth, trial.alpha, trial.baselines, **how)


def number_baselines(baseline: str | Sequence[str] | None, names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the baselines among the systems, or refuse a name that is not among them.

    >>> number_baselines(["b", "a"], ("a", "b", "c"))
    (1, 0)
    """
    wanted = [baseline] if isinstance(baseline, str) else list(baseline or ())
    for name in wanted:
        if name not in names:
            raise refuse_unknown("baseline", name, names, what="system")
    return tuple(list(names).index(name) for name in dict.fromkeys(wanted))


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Methods tried in scenarios, with looks at the figures on the way."""

    cases: Sequence[Case]
    methods: Sequence[Procedure]
    alpha: float
    seed: int
    looks: tuple[int, ...]
    # places of systems with which all others are compared; without, all pairs
    baselines: tuple[int, ...] = ()
    n_resamples: int = RESAMPLES  # of methods that draw

    def run(
        self,
        jobs: int | None,
        progress: Progress | None,
        executor: Executor | None = None,
        watch: Callable[[list[list[Figures]]], None] | None = None,
    ) -> list[list[Figures]]:
        """Tallies of every case and method. Chunks of replicates go to workers; each depends on its numbers alone.

        The scenarios fill alike; ``watch`` is called with what there is whenever each has got another chunk.
        """
        total = sum(-(-self.looks[-1] // case.share) for case in self.cases)
        parts: list[list[list[Figures]]] = [[[] for _ in self.methods] for _ in self.cases]
        tallies: list[list[Figures]] = []
        unclear, done, before = set(range(len(self.cases))), 0, 0
        alone = replace(self, cases=())
        for look in self.looks:
            chunks: list[Chunk] = []
            for number in sorted(unclear):
                case = self.cases[number]
                r = len(case.scenario.truth)
                pairs = max(1, r * (r - 1) // 2)
                size = max(1, min(50, SCORES // prod(case.scenario.shape), PAIRS // pairs))
                stop = -(-look // case.share)
                starts = range(-(-before // case.share), stop, size)
                chunks += [Chunk(number, case, alone, start, min(size, stop - start)) for start in starts]
            chunks.sort(key=lambda chunk: chunk.first)
            counted: dict[str, Any] = {"jobs": jobs, "executor": executor}
            counted["steps"] = lambda chunk: chunk.number
            if progress is not None:
                # progress of a batch as that of the whole
                counted["progress"] = lambda some, _, start=done: progress(start + some, total)
            with one_thread():
                results = map_parallel(decide_chunk, chunks, **counted)
                for chunk, chunk_tallies, following in zip(chunks, results, [*chunks[1:], None], strict=True):
                    done += chunk.number
                    for k, tally in enumerate(chunk_tallies):
                        parts[chunk.case_number][k].append(tally)
                    if watch is not None and following is not None and following.first > chunk.first:
                        watch([[join_figures(of_method) for of_method in of_case] for of_case in parts])
            tallies = [[join_figures(of_method) for of_method in of_case] for of_case in parts]
            parts = [[[tally] for tally in of_case] for of_case in tallies]
            if watch is not None:
                watch(tallies)
            answered, answers, _ = self.drop_failed(tallies)
            unclear, before = answered.find_unclear(answers), look
            if not unclear:
                break
        return tallies

    def drop_failed(
        self, tallies: Sequence[Sequence[Figures]]
    ) -> tuple[Trial, list[list[Figures]], dict[str, str]]:
        """Return the trial and the tallies of the methods that answered on all tables, and why others did not."""
        reasons: dict[str, str] = {}
        for k, method in enumerate(self.methods):
            for of_case in tallies:
                if failed := next(filter(None, of_case[k].get("failed", ())), ""):
                    reasons.setdefault(method.name, failed)
        kept = [k for k, method in enumerate(self.methods) if method.name not in reasons]
        answered = [[of_case[k] for k in kept] for of_case in tallies]
        return replace(self, methods=[self.methods[k] for k in kept]), answered, reasons

    def group_cases(self) -> dict[tuple[Claim, str, bool], list[int]]:
        """Group the numbers of cases that count together: one null, or all ways of planting differences in it."""
        members: dict[tuple[Claim, str, bool], list[int]] = {}
        for number, case in enumerate(self.cases):
            members.setdefault((case.scenario.claim, case.null, case.planted), []).append(number)
        return members

    def interval_tail(self, claim: Claim) -> float:
        """Return the tail of each interval, so that those of all looks at all scenarios of a claim hold together."""
        return TAIL / (len(self.looks) * sum(about == claim for about, _, _ in self.group_cases()))

    def find_unclear(self, tallies: Sequence[Sequence[Figures]]) -> set[int]:
        """Return numbers of the cases that have to go on, as they leave a verdict on a method open."""
        going: set[int] = set()
        for about in {claim for claim, _, _ in self.group_cases()}:
            meant = [k for k, m in enumerate(self.methods) if _is_meant(m, about)] or range(len(self.methods))
            for k in meant:
                method = self.methods[k]
                for column, figure in (
                    ("alarms", FIGURE[method.error_rate]),
                    ("intervals", COVERED[method.error_rate]),
                ):
                    states = {}
                    for (claim, _, _), members in self.group_cases().items():
                        if claim != about or not getattr(self.cases[members[0]], column):
                            continue
                        x = np.concatenate([tallies[number][k][figure] for number in members])
                        estimate = estimate_rate(
                            x if column == "alarms" else 1.0 - x, self.interval_tail(about)
                        )
                        if estimate.n:
                            states[tuple(members)] = judge_interval(estimate.low, estimate.high, self.alpha)
                    if "fails" not in states.values():
                        going |= {
                            number
                            for members, state in states.items()
                            if state == "unclear"
                            for number in members
                        }
        return going

    def tabulate_rates(self, tallies: Sequence[Sequence[Figures]]) -> pd.DataFrame:
        """Tabulate every figure in long form; tables with differences planted in several ways count together."""
        rows: list[dict[str, Any]] = []
        for (about, _, planted), members in self.group_cases().items():
            first, ends = self.cases[members[0]], self.interval_tail(about)
            for k, method in enumerate(self.methods):
                of = {
                    name: np.concatenate([tallies[number][k][name] for number in members])
                    for name in (*FIGURES, "smallest", "wrong_way", "right_way")
                }
                figures = {name: estimate_rate(of[name], ends) for name in FIGURES}
                if planted:
                    figures["wrong_way"] = estimate_ratio(
                        of["wrong_way"], of["wrong_way"] + of["right_way"], ends
                    )
                    # the share of planted differences detected in each table, all sizes alike
                    shares = []
                    for number in members:
                        detected = tallies[number][k]["found"]
                        asked = detected[:, np.isfinite(detected).all(axis=0)]
                        shares.append(asked.mean(axis=1) if asked.size else np.full(len(asked), np.nan))
                    figures["found"] = estimate_rate(np.concatenate(shares), ends)
                    equal = self.group_cases().get((about, first.null, False), ())
                    if len(equal):
                        alarms = np.concatenate([tallies[number][k]["alarms_at"] for number in equal])
                        detected = np.concatenate([tallies[number][k]["found_at"] for number in members])
                        at_level = power_at_error(alarms.mean(axis=0), detected, self.alpha)
                        figures["matched"] = estimate_rate(at_level, ends)
                # a level found on some topics carries over to others only where no pair has its own variance alone: a
                # paired t of two systems that are nearly the same has a denominator near 0, and hangs on few topics
                elif method.error_rate != "pair" and method.method.bounded_statistic:
                    figures["level"] = level_for(of["smallest"], self.alpha, ends)
                head = self._row_head(method, about, first) | {"planted": planted}
                head |= {"for_alarms": first.alarms, "for_intervals": first.intervals}
                rows += [
                    head | {"figure": name, "rate": r.value, "low": r.low, "high": r.high, "n": r.n}
                    for name, r in figures.items()
                ]
        return pd.DataFrame(rows)

    def tabulate_power(self, tallies: Sequence[Sequence[Figures]]) -> pd.DataFrame:
        """Tabulate the share of planted differences detected, by their size."""
        rows: list[dict[str, Any]] = []
        for (about, _, planted), members in self.group_cases().items():
            for k, method in enumerate(self.methods if planted else ()):
                head = self._row_head(method, about, self.cases[members[0]])
                shares: dict[float, list[Floats]] = {}
                for number in members:
                    for g, size in enumerate(Truth.from_means(self.cases[number].scenario.truth).sizes):
                        detected = tallies[number][k]["found"][:, g]
                        shares.setdefault(round(float(size), 10), []).append(detected)
                for size in sorted(shares):
                    r = estimate_rate(np.concatenate(shares[size]), self.interval_tail(about))
                    rows.append(head | {"difference": size, "power": r.value, "low": r.low, "high": r.high})
        return pd.DataFrame(rows, columns=POWER)

    def _row_head(self, method: Procedure, about: Claim, case: Case) -> dict[str, Any]:
        claim = about.short(case.scenario.dims)
        head = {"method": method.name, "error_rate": method.error_rate, "meant": _is_meant(method, about)}
        return head | {"claim": claim, "null": case.null}

    def count_blamed(
        self, tallies: Sequence[Sequence[Figures]], claim: Claim, names: Iterable[str]
    ) -> dict[str, Floats]:
        """Count false alarms of methods that each system was in, where all are equal and each keeps its own scores."""
        scenarios = [
            number
            for number, case in enumerate(self.cases)
            if case.scenario.claim == claim and case.alarms and not case.planted and case.null != "permute"
        ]
        every = {m.name: k for k, m in enumerate(self.methods)}
        return {
            name: np.sum([tallies[number][every[name]]["blamed"].sum(axis=0) for number in scenarios], axis=0)
            for name in names
            if scenarios
        }


def _is_meant(method: Procedure, claim: Claim) -> bool:
    return method.method.sound and method.claim == claim
