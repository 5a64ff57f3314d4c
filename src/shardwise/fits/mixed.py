"""Mixed models of systems that give different results each time: topics and instances are samples (J15 §3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import linalg

from shardwise.core import late
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import Claim, plural
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.estimates import Estimates
from shardwise.core.scores import as_scores, nouns_of
from shardwise.core.variance_components import VarianceComponents
from shardwise.fits.observations import DIMENSIONS, Observations, cells, observations
from shardwise.numerics.mixed import balanced as balanced
from shardwise.numerics.mixed import reml as reml
from shardwise.numerics.mixed.balanced import BalancedFit, Design
from shardwise.numerics.mixed.information import covariance, difference_df, information
from shardwise.numerics.mixed.kenward_roger import small_sample
from shardwise.numerics.mixed.profile import (
    BalancedSurface,
    GeneralSurface,
    profile_interval,
    wald_interval,
)
from shardwise.numerics.mixed.reml import Convergence

FREEDOMS = ("auto", "satterthwaite", "kenward-roger", "paper")
TINY = 1e-12  # a mean square this small against the others is rounding


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MixedFit:
    """A linear mixed model with systems fixed and topic, system:topic, instance random, by restricted likelihood."""

    design: Design
    systems: tuple[str, ...]
    topics: tuple[str, ...]
    instances: tuple[int, ...]  # of each system
    deterministic: Bools
    values: Floats  # (L,) system means
    variance_components: VarianceComponents
    log_likelihood: float  # restricted
    difference_variance: Floats  # (L, L)
    small_sample_variance: Floats  # (L, L) with Kenward and Roger's correction, to which their df belong
    satterthwaite: Floats  # (L, L) df of each difference
    kenward_roger: Floats
    singular: tuple[str, ...]  # variances estimated as 0
    convergence: Convergence
    notes: tuple[str, ...]
    data: Observations
    balanced: BalancedFit | None  # complete data: the closed form
    nouns: Mapping[str, str]  # the user's own words for dimensions

    @property
    def n(self) -> int:
        """Number of scores."""
        return len(self.data.y)

    @property
    def residual_sd(self) -> float:
        """Spread that neither system, topic nor instance explains."""
        return float(np.sqrt(self.variance_components["residual"]))

    @property
    def criterion(self) -> float:
        """The REML criterion, -2 log restricted likelihood."""
        return -2.0 * self.log_likelihood

    @property
    def n_parameters(self) -> int:
        """System means and variances."""
        return len(self.systems) + len(self.variance_components)

    @property
    def aic(self) -> float:
        """Akaike's criterion; compare only among models with the same systems."""
        return self.criterion + 2.0 * self.n_parameters

    @property
    def bic(self) -> float:
        """Schwarz's criterion, counting every score."""
        return self.criterion + float(np.log(self.n)) * self.n_parameters

    @property
    def means(self) -> pd.Series:
        """Mean of each system as the model sees it."""
        return pd.Series(self.values, index=pd.Index(self.systems, name="system"), name="mean")

    @property
    def claim(self) -> str:
        """What a significant difference is about, in words."""
        topic, system, instance = (self.nouns.get(name, name) for name in ("topic", "system", "instance"))
        topics = f"on {plural(topic)} like these {len(self.topics)}"
        if self.design == "crossed":
            shared = f"{plural(instance)} shared by all {plural(system)}"
            return f"{topics}, for these {max(self.instances)} {shared}"
        counts = sorted({m for m, fixed in zip(self.instances, self.deterministic, strict=True) if not fixed})
        some = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return f"{topics}, whatever the {instance} ({some} seen of each {system})"

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
        if df not in FREEDOMS:
            raise InputError(f"no df is called {df!r}", remedy=f"choose one of {', '.join(FREEDOMS)}")
        kind = ("kenward-roger" if self.singular else "satterthwaite") if df == "auto" else df
        table = {
            "satterthwaite": self.satterthwaite,
            "kenward-roger": self.kenward_roger,
            "paper": np.full_like(self.difference_variance, self.n - 1.0),
        }[kind]
        variance = self.small_sample_variance if kind == "kenward-roger" else self.difference_variance
        pairs = np.triu_indices(len(self.systems), 1)
        alike = self.balanced is not None
        words = {"satterthwaite": "Satterthwaite", "kenward-roger": "Kenward–Roger", "paper": "J15"}[kind]
        # what all systems share cancels from a difference
        blurs = [name for name in self.variance_components if name not in {"topic", "instance"}]
        return Estimates(
            labels=self.systems,
            values=self.values,
            variance=float(variance[pairs].mean()) / 2.0,
            df=float(np.median(table[pairs])),
            claim=self.claim,
            model=f"mixed, {self.design} instances",
            error=f"{' + '.join(blurs)}, {words} df",
            scale=self.residual_sd,
            difference_variance=None if alike else variance,
            difference_df=None if alike else table,
            over=Claim("topic", "instance") if self.design == "nested" else Claim("topic"),
            nouns=self.nouns,
        )

    def component_intervals(self, level: float = 0.95, method: str = "profile") -> pd.DataFrame:
        """Intervals of the variances, `variance, lower, upper, sd, sd_lower, sd_upper`.

        Parameters
        ----------
        level
            Confidence level.
        method
            "profile" (likelihood ratio, the other variances at their best) or "wald" (normal law of the logarithm; for
            large samples only, NaN for a variance of 0).
        """
        if method not in {"profile", "wald"}:
            raise InputError(f"no interval is called {method!r}", remedy="choose profile or wald")
        if not 0.0 < level < 1.0:
            raise InputError(f"level {level} is not between 0 and 1", remedy="write .95 for 95 %")
        best = np.array(list(self.variance_components.values()))
        if self.balanced is not None:
            surface: BalancedSurface | GeneralSurface = BalancedSurface(self.balanced.lines)
        else:
            surface = GeneralSurface(_problem(self.data, len(self.systems)))
        if method == "profile":
            ends = np.array([profile_interval(surface, best, k, level) for k in range(len(best))])
        else:
            active = np.flatnonzero(best > 0.0)
            inverse = linalg.inv(surface.at(best)[2][np.ix_(active, active)])
            ends = np.full((len(best), 2), np.nan)
            for place, k in enumerate(active):
                ends[k] = wald_interval(float(best[k]), 1.0 / float(inverse[place, place]), level)
        frame = pd.DataFrame({"variance": best, "lower": ends[:, 0], "upper": ends[:, 1]},
                             index=pd.Index(list(self.variance_components), name="component"))  # fmt: skip
        return frame.assign(sd=np.sqrt(best), sd_lower=np.sqrt(ends[:, 0]), sd_upper=np.sqrt(ends[:, 1]))

    def predictions(self) -> dict[str, pd.Series]:
        """Best linear unbiased predictions of the effect of each topic, system:topic and instance."""
        problem = _problem(self.data, len(self.systems))
        *variances, residual = self.variance_components.values()
        gamma = np.array(variances) / residual
        scores = reml.slopes(problem, reml.evaluate(problem, gamma)).scores
        names = (self.topics, self.data.system_topic_names, self.data.instance_names)
        return {
            name: pd.Series(gamma[k] * scores[k], index=pd.Index(names[k], name=name), name="prediction")
            for k, name in enumerate(list(self.variance_components)[:-1])
        }

    def plot(self) -> Any:
        """Draw the share of each variance component: an altair chart."""
        return late.call("chart", self)

    def __repr__(self) -> str:
        return f"<MixedFit of {self.n} scores: {len(self.systems)} systems, {self.design} instances>"

    def __str__(self) -> str:
        total = sum(self.variance_components.values())
        lines = [
            f"mixed model, {len(self.systems)} systems × {len(self.topics)} topics, {self.design} instances,"
            f" {self.n} scores; {self.convergence}",
            *(
                f"  {name:<16} sd {np.sqrt(v):.5f}  {v / total:6.1%} of the variance"
                for name, v in self.variance_components.items()
            ),
            f"  REML criterion {self.criterion:.4f}, AIC {self.aic:.4f}, BIC {self.bic:.4f}",
            *self.notes,
        ]
        return "\n".join(lines)


def mixed(scores: Any, design: Design = "nested", *, deterministic: Sequence[str] = ()) -> MixedFit:
    """Fit y = γ + system + topic + system:topic + instance + ε, systems fixed, the rest random (J15 eq. 9).

    Complete tables are fitted in closed form, others by profiled restricted likelihood.

    Parameters
    ----------
    scores
        Any table that `as_scores` takes, by topic, system and instance; NaN is missing.
    design
        "nested": every system has instances of its own (variance "system:instance"); "crossed": instance m is the same
        for all systems (variance "instance").
    deterministic
        Systems, beside those flagged by a coordinate of that name, that have a single instance without an effect
        (nested) or are copied to all instances (crossed, as in J15).

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> y = 0.3 + rng.normal(0, 0.2, 30) + rng.normal(0, 0.1, (2, 1, 30)) + rng.normal(0, 0.05, (2, 5, 30))
    >>> fit = mixed(xr.DataArray(y, dims=("system", "instance", "topic"), coords={"system": ["a", "b"]}))
    >>> [f"{name} {v ** 0.5:.2f}" for name, v in fit.variance_components.items()]
    ['topic 0.15', 'system:topic 0.10', 'system:instance 0.00', 'residual 0.05']
    """
    if design not in ("nested", "crossed"):
        raise InputError(f"no design is called {design!r}", remedy="choose nested or crossed")
    checked = as_scores(scores, needs=DIMENSIONS, only=True)
    table = cells(checked, design, deterministic)
    l, m, n = table.y.shape  # noqa: E741
    if l < 2 or n < 2:
        raise InputError(f"{l} systems and {n} topics are too few", remedy="give at least two of each")
    if m < 2:
        raise InputError(
            "no system has a second instance, so nothing shows how instances vary",
            remedy=(
                "give more instances, or use ",
                Either("anova or paired_tests", "shardwise compare"),
                " for deterministic systems",
            ),
        )
    data = observations(table, design)
    complete = np.isfinite(table.y).all() and not (design == "nested" and table.deterministic.any())
    names = ("topic", "system:topic", "system:instance" if design == "nested" else "instance", "residual")
    notes = _notes(table.counts, table.systems, table.deterministic, design)
    parts = _closed_form(table.y, design) if complete else _general(data, l)
    values, variances, log_likelihood, var, small, satterthwaite, kenward_roger, convergence, fit = parts
    components = VarianceComponents(
        dict(zip(names, map(float, variances), strict=True)),
        mean=float(values.mean()),
        where=f"restricted likelihood, {design} instances",
    )
    singular = tuple(name for name, v in components.items() if v == 0.0)
    if singular:
        notes.append(
            f"singular fit: the variance of {' and '.join(singular)} is estimated as 0, that is, the data show no more "
            "variation there than chance; it need not be 0 in truth"
        )
    return MixedFit(
        design=design,
        systems=table.systems,
        topics=table.topics,
        instances=table.counts,
        deterministic=table.deterministic,
        values=values,
        variance_components=components,
        log_likelihood=log_likelihood,
        difference_variance=var,
        small_sample_variance=small,
        satterthwaite=satterthwaite,
        kenward_roger=kenward_roger,
        singular=singular,
        convergence=convergence,
        notes=tuple(notes),
        data=data,
        balanced=fit,
        nouns=nouns_of(checked),
    )


Parts = tuple[Floats, Floats, float, Floats, Floats, Floats, Floats, Convergence, BalancedFit | None]


def _closed_form(y: Floats, design: Design) -> Parts:
    centre = y.mean()
    found = balanced.lines(y - centre, design)
    _refuse_without_error(float(found.ms[balanced.E]), float(found.ms.max()))
    fit = balanced.restricted_maximum(found)
    square = np.ones((y.shape[0], y.shape[0]))
    var = float(fit.difference_variance) * (square - np.eye(y.shape[0]))
    return (found.means + centre, fit.components, float(fit.log_likelihood), var, var,
            float(fit.satterthwaite()) * square,
            float(fit.kenward_roger()) * square, Convergence("closed form"), fit)  # fmt: skip


def _problem(data: Observations, systems: int) -> reml.Problem:
    x = np.eye(systems)[data.system]
    return reml.problem(data.y - data.y.mean(), x, (data.topic, data.system_topic, data.instance))


def _general(data: Observations, systems: int) -> Parts:
    problem = _problem(data, systems)
    spread = float(data.y.var())
    state, convergence = reml.maximise(problem)
    sigma2 = state.q / (problem.n - problem.p)
    _refuse_without_error(sigma2, spread)
    info = information(problem, state, sigma2)
    phi, slopes = covariance(problem, state, sigma2)
    var, slope = _differences(phi), _differences(slopes)
    values = (state.k @ state.h)[-problem.p :] + data.y.mean()
    off = np.where(np.eye(systems, dtype=bool), np.inf, var)  # a system against itself: any df will do
    return (values, info.variances, -0.5 * reml.profiled_deviance(problem, state), var,
            var + _differences(small_sample(problem, state, sigma2, info)),
            difference_df(off, slope, info, observed=True),
            difference_df(off, slope, info, observed=False), convergence, None)  # fmt: skip


def _differences(phi: Floats) -> Floats:
    """(…, L, L) c'Φc for all differences of two systems."""
    own = np.diagonal(phi, axis1=-2, axis2=-1)
    return np.asarray(own[..., :, None] + own[..., None, :] - phi - np.swapaxes(phi, -1, -2))


def _refuse_without_error(error: float, spread: float) -> None:
    if not error > TINY * spread:
        raise InputError(
            "the scores of a system's instances differ by nothing but a constant, which leaves no residual",
            remedy=("if the instances are copies, keep one and name the system in ", Option("deterministic")),
        )


def _notes(counts: tuple[int, ...], systems: tuple[str, ...], fixed: Bools, design: Design) -> list[str]:
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
