"""The scenarios that methods are tried in, for one claim: systems all equal, and some of them different.

Two columns come of them. *False alarms* are counted where equal systems look as they do among real ones: in tilt where
the scores allow it, in a simulated scenario (vine, else margins or normal), permute and flip. *Coverage of intervals*
is counted in resample: systems moved to one mean are true to the differences that they had, not to what equal systems
look like (two that are tied on most topics are a constant apart there). Where a claim has no resample, all scenarios
count for both, and where nothing but resample was asked for, so does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.scores import Scores
from shardwise.core.variance_components import VarianceComponents
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
from shardwise.stats import studentized_range

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
