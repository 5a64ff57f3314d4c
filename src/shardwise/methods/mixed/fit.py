"""Mixed models of systems that give different results each time: topics and instances are samples (J15 §3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import pandas as pd

from shardwise.core import late
from shardwise.core.arguments import resolve_alpha
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import Claim, format_count, pluralize_noun
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.scores import as_scores, measure_of, nouns_of
from shardwise.core.shown import Shown
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.base import Estimates
from shardwise.methods.mixed import balanced, reml
from shardwise.methods.mixed.balanced import BalancedFit, Design
from shardwise.methods.mixed.blocks import Problem, prepare_problem
from shardwise.methods.mixed.factors import FactorFit, fit_factors
from shardwise.methods.mixed.observations import DIMENSIONS, Observations, arrange_cells, list_observations
from shardwise.methods.mixed.profile import (
    BalancedSurface,
    GeneralSurface,
    profile_interval,
)
from shardwise.methods.mixed.reml import Convergence
from shardwise.methods.mixed.restricted import (
    Parts,
    RestrictedFit,
    fit_restricted,
    refuse_without_error,
    singular_note,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MixedFit(Shown, RestrictedFit):
    """A linear mixed model with systems fixed and topic, system:topic, instance random, by restricted likelihood."""

    design: Design
    topics: tuple[str, ...]
    instances: tuple[int, ...]  # of each system
    deterministic: Bools
    data: Observations
    balanced: BalancedFit | None  # complete data: the closed form

    @property
    def claim(self) -> str:
        """What a significant difference is about, in words."""
        topic, system, instance = (self.nouns.get(name, name) for name in ("topic", "system", "instance"))
        topics = f"new {pluralize_noun(topic)} like these {len(self.topics)}"
        if self.design == "crossed":
            shared = f"{pluralize_noun(instance)} shared by all {pluralize_noun(system)}"
            return f"{topics}, exactly these {max(self.instances)} {shared}"
        counts = sorted({m for m, fixed in zip(self.instances, self.deterministic, strict=True) if not fixed})
        some = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return f"{topics}, any {instance} ({some} seen of each {system})"

    def estimates(
        self, *, df: str = "auto", generalize: Claim | str | Iterable[str] = ("topic", "instance")
    ) -> Estimates:
        """System means for `compare`.

        Parameters
        ----------
        df
            "satterthwaite", "kenward-roger", "paper" (number of scores less one, J15 §3.1.2) or "auto", which is
            Satterthwaite's unless a variance is 0, where it explodes and Kenward and Roger's is taken.
        generalize
            The claim, as a `Claim`, names or text; the model speaks of topics and instances only.
        """
        if Claim.of(generalize, self.nouns) != Claim("topic", "instance"):
            raise InputError(
                "a mixed model generalises over topics and instances",
                remedy=(
                    "for other claims use ",
                    Either("anova(scores, 'topic*system*instance')", "shardwise compare"),
                ),
            )
        return self._build_estimates(
            df,
            claim=self.claim,
            over=Claim("topic", "instance") if self.design == "nested" else Claim("topic"),
            model=f"mixed, {self.design} instances",
            alike=self.balanced is not None,
            shared=("topic", "instance"),
        )

    def component_intervals(self, level: float | None = None, *, alpha: float | None = None) -> pd.DataFrame:
        """Profile-likelihood intervals of the variances, `variance, lower, upper, sd, sd_lower, sd_upper`.

        Parameters
        ----------
        level
            Confidence level, above 0.5; 0.95 without it.
        alpha
            1 - level, in its place.
        """
        level = 1.0 - resolve_alpha(alpha, level)
        best = np.array(list(self.variance_components.values()))
        if self.balanced is not None:
            surface: BalancedSurface | GeneralSurface = BalancedSurface(self.balanced.lines)
        else:
            surface = GeneralSurface(_pose_problem(self.data, len(self.systems)))
        ends = np.array([profile_interval(surface, best, k, level) for k in range(len(best))])
        frame = pd.DataFrame({"variance": best, "lower": ends[:, 0], "upper": ends[:, 1]},
                             index=pd.Index(list(self.variance_components), name="component"))  # fmt: skip
        return frame.assign(sd=np.sqrt(best), sd_lower=np.sqrt(ends[:, 0]), sd_upper=np.sqrt(ends[:, 1]))

    def predictions(self) -> dict[str, pd.Series]:
        """Best linear unbiased predictions of the effect of each topic, system:topic and instance."""
        problem = _pose_problem(self.data, len(self.systems))
        *variances, residual = self.variance_components.values()
        gamma = np.array(variances) / residual
        scores = reml.predict_effects(problem, reml.evaluate_likelihood(problem, gamma))
        names = (self.topics, self.data.system_topic_names, self.data.instance_names)
        return {
            name: pd.Series(gamma[k] * scores[k], index=pd.Index(names[k], name=name), name="prediction")
            for k, name in enumerate(list(self.variance_components)[:-1])
        }

    def plot(self) -> Any:
        """Draw the share of each variance component: an altair chart."""
        return late.call_bound("chart", self)

    def __repr__(self) -> str:
        return f"<MixedFit of {self.n} scores: {len(self.systems)} systems, {self.design} instances>"

    def __str__(self) -> str:
        what = f"{len(self.systems)} systems × {len(self.topics)} topics, {self.design} instances"
        return "\n".join(self.lines(f"mixed model, {what}"))


@overload
def mixed(scores: Any, design: Design = ..., *, deterministic: Sequence[str] = ...) -> MixedFit: ...


@overload
def mixed(scores: Any, *, random: Sequence[str]) -> FactorFit: ...


def mixed(
    scores: Any,
    design: Design | None = None,
    *,
    deterministic: Sequence[str] = (),
    random: Sequence[str] | None = None,
) -> MixedFit | FactorFit:
    """Fit y = γ + system + topic + system:topic + instance + ε, systems fixed, the rest random (J15 eq. 9).

    Complete tables are fitted in closed form, others by profiled restricted likelihood.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes, by topic, system and instance; NaN is missing.
    design : {"nested", "crossed"}, optional
        "nested": every system has instances of its own (variance "system:instance"); "crossed": instance m is the same
        for all systems (variance "instance").
    deterministic : sequence of str
        Systems, beside those flagged by a coordinate of that name, that have a single instance without an effect
        (nested) or are copied to all instances (crossed, as in J15).
    random : sequence of str, optional
        Any other random factors instead: dimensions of the scores, or labels along one of them, such as topic, judge,
        prompt, annotator or cluster. Each brings an effect of its own and one with each system; terms such as
        "topic:judge" or "system:instance" are taken as they are. See `FactorFit`.

    Returns
    -------
    MixedFit or FactorFit
        The fit; `FactorFit` where ``random`` is given.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> y = 0.3 + rng.normal(0, 0.2, 30) + rng.normal(0, 0.1, (2, 1, 30)) + rng.normal(0, 0.05, (2, 5, 30))
    >>> fit = mixed(xr.DataArray(y, dims=("system", "instance", "topic"), coords={"system": ["a", "b"]}))
    >>> [f"{name} {v ** 0.5:.2f}" for name, v in fit.variance_components.items()]
    ['topic 0.15', 'system:topic 0.10', 'system:instance 0.00', 'residual 0.05']
    """
    if random is not None:
        given = (design is not None, bool(len(deterministic)))
        if any(given):
            named = ("design", "deterministic")[given.index(True)]
            raise InputError(
                (Option(named), " has no effect where random factors are named"),
                remedy="leave it out",
                argument=named,
            )
        return fit_factors(scores, random)
    design = design or "nested"
    if design not in ("nested", "crossed"):
        raise InputError(f"unknown design {design!r}", remedy="choose nested or crossed")
    checked = as_scores(scores, needs=DIMENSIONS, only=True)
    table = arrange_cells(checked, design, deterministic)
    l, m, n = table.y.shape  # noqa: E741
    if l < 2 or n < 2:
        raise InputError(
            f"{format_count(l, 'system')} and {format_count(n, 'topic')} are too few",
            remedy="give at least two of each",
        )
    if m < 2:
        raise InputError(
            "no system has a second instance, so nothing shows how instances vary",
            remedy=(
                "give more instances, or use ",
                Either("anova or paired_tests", "shardwise compare"),
                " for deterministic systems",
            ),
        )
    data = list_observations(table, design)
    complete = np.isfinite(table.y).all() and not (design == "nested" and table.deterministic.any())
    names = ("topic", "system:topic", "system:instance" if design == "nested" else "instance", "residual")
    notes = _write_notes(table.counts, table.systems, table.deterministic, design)
    parts, fit = (
        _closed_form(table.y, design)
        if complete
        else (fit_restricted(data.y, data.system, (data.topic, data.system_topic, data.instance), l), None)
    )
    components = VarianceComponents(
        dict(zip(names, map(float, parts.variances), strict=True)),
        mean=float(parts.values.mean()),
        where=f"restricted likelihood, {design} instances",
    )
    return MixedFit(
        systems=table.systems,
        n=len(data.y),
        variance_components=components,
        parts=parts,
        notes=(*notes, *singular_note([name for name, v in components.items() if v == 0.0])),
        nouns=nouns_of(checked),
        lower_is_better=measure_of(checked).lower_is_better,
        design=design,
        topics=table.topics,
        instances=table.counts,
        deterministic=table.deterministic,
        data=data,
        balanced=fit,
    )


def _closed_form(y: Floats, design: Design) -> tuple[Parts, BalancedFit]:
    centre = y.mean()
    lines = balanced.split_lines(y - centre, design)
    refuse_without_error(float(lines.ms[balanced.E]), float(lines.ms.max()))
    fit = balanced.restricted_maximum(lines)
    square = np.ones((y.shape[0], y.shape[0]))
    var = float(fit.difference_variance) * (square - np.eye(y.shape[0]))
    parts = Parts(
        values=lines.means + centre,
        variances=fit.components,
        log_likelihood=float(fit.log_likelihood),
        difference_variance=var,
        small_sample_variance=var,
        satterthwaite=float(fit.satterthwaite()) * square,
        kenward_roger=float(fit.kenward_roger()) * square,
        convergence=Convergence("closed form"),
    )
    return parts, fit


def _pose_problem(data: Observations, systems: int) -> Problem:
    x = np.eye(systems)[data.system]
    return prepare_problem(data.y - data.y.mean(), x, (data.topic, data.system_topic, data.instance))


def _write_notes(
    counts: tuple[int, ...], systems: tuple[str, ...], fixed: Bools, design: Design
) -> list[str]:
    notes = []
    if fixed.any():
        names = ", ".join(np.array(systems)[fixed])
        how = "has no instance effect" if design == "nested" else "is copied to all instances (J15 §3.1.2)"
        notes.append(f"deterministic: {names} {how}")
    lone = [s for s, m, f in zip(systems, counts, fixed, strict=True) if m == 1 and not f]
    if lone and design == "nested":
        notes.append(
            f"one instance only: {', '.join(lone)}; the variance of its instances is taken from the others"
        )
    return notes
