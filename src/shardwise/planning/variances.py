"""How much scores vary: the variance that a design starts from (S14 §4), that of every effect; how rankings repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from shardwise.comparing.instances import find_copies, join_pair
from shardwise.core.arguments import resolve_alpha, validate_choice
from shardwise.core.arguments import validate_level as check_level
from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.scores import Scores, as_scores
from shardwise.core.shown import Drawn
from shardwise.core.variance_components import VarianceComponents as VarianceComponents
from shardwise.methods.anova.fit import components_of, mean_squares
from shardwise.methods.anova.fit import variance_components as estimate_components
from shardwise.methods.clusters import by_units
from shardwise.methods.mixed.fit import MixedFit
from shardwise.methods.repeats.unified import KINDS, infer_repeats, instance_spread
from shardwise.stats.moderation import pair_variances
from shardwise.stats.units import residual_mean_square

TWO_WAY = ("topic", "system")

NAMELESS = (None, "score")  # what tables without the name of a measure are called


@dataclass(frozen=True, slots=True, repr=False)
class VarianceEstimate(Drawn):
    """Variance of one system's scores over topics, and where the estimate comes from."""

    sigma_sq: float  # of one system's score
    topics: int
    systems: int
    df: int  # weight when pooled: topics - 1 of each collection
    method: str
    measure: str = ""
    paired: bool | None = None  # whether topic difficulty is taken out; None where it may be either
    effective_df: float = np.nan  # those of a χ² distribution as uncertain as the estimate

    def __float__(self) -> float:
        return self.sigma_sq

    def __str__(self) -> str:
        return self.describe({})

    def describe(self, nouns: Mapping[str, str]) -> str:
        """Return the estimate and where it comes from, in a line.

        Parameters
        ----------
        nouns : mapping of str to str
            The user's own words for dimensions.

        Returns
        -------
        str
            Such as ``variance of a difference 0.03, of a score 0.015; …, 3 topics, 2 systems``.
        """
        name = f"{self.measure}: " if self.measure else ""
        # without topic difficulty it is no score's own
        score = "half of it" if self.paired else "of a score"
        sizes = {"topic": self.topics, "system": self.systems}
        counts = ", ".join(format_count(n, nouns.get(dim, dim)) for dim, n in sizes.items())
        return (
            f"{name}variance of a difference {2.0 * self.sigma_sq:.4g}, {score} {self.sigma_sq:.4g}; "
            f"{self.method}, {counts}"
        )

    def pool(self, *others: VarianceEstimate) -> VarianceEstimate:
        """Pool it with estimates of the same measure from other collections, weighted by topics - 1 (S14 eq. 8).

        Parameters
        ----------
        *others : VarianceEstimate
            What `variance` returns for each other collection.

        Returns
        -------
        VarianceEstimate
            The pooled estimate.

        >>> a = VarianceEstimate(.0543, topics=50, systems=78, df=49, method="two-way ANOVA", measure="AP")
        >>> b = VarianceEstimate(.0517, topics=49, systems=78, df=48, method="two-way ANOVA", measure="AP")
        >>> round(float(a.pool(b)), 4)
        0.053
        """
        for what in ("method", "measure"):
            kinds = sorted({str(getattr(item, what)) for item in (self, *others)})
            if len(kinds) > 1:
                raise InputError(
                    f"variances of different {what}s: {'; '.join(kinds)}", remedy="pool variances of one kind"
                )
        singles = (self, *others)
        df = sum(item.df for item in singles)
        sigma_sq = sum(item.df * item.sigma_sq for item in singles) / df
        # the variance of a weighted sum of independent estimates, each 2σ⁴/ν (Satterthwaite)
        doubt = sum((item.df * item.sigma_sq / df) ** 2 / item.effective_df for item in singles)
        return replace(
            self,
            sigma_sq=sigma_sq,
            topics=sum(item.topics for item in singles),
            systems=sum(item.systems for item in singles),
            df=df,
            method=self.method + (f", pooled over {len(singles)} collections" if others else ""),
            effective_df=sigma_sq**2 / doubt if doubt > 0 else np.nan,
        )


def table_of(scores: Any, measure: str | None = None) -> tuple[Scores, Floats]:
    """Return complete topic × system scores that passed the gate, and their numbers, systems across."""
    table = as_scores(scores, measure=measure, only=True).require_items("planning")
    return table, table.require_complete()


def sum_variances(y: Floats, topics: bool) -> float:
    """σ² as the sum of the system, topic and residual variances (S14 eq. 7), or of systems and within them (eq. 4)."""
    n, m = map(int, y.shape)
    ms = mean_squares(y, TWO_WAY)
    rest = ms["error"] if topics else float(y.var(axis=0, ddof=1).mean())
    return (m - 1) / (m * n) * (ms["system"] - rest) + ((ms["topic"] - rest) / m if topics else 0.0) + rest


GROUPS = 100  # of topics, left out in turn


def effective_df(estimator: Callable[[Floats], float], y: Floats) -> float:
    """Degrees of freedom ν = 2σ⁴/Var(σ²) that a variance estimate is worth, by the jackknife over topics.

    Normal scores that are alike would give the residual (n-1)(m-1), which is the most there can be; systems that err
    together and skewed scores leave fewer. NaN where there are too few topics to leave one out.
    """
    n, m = y.shape
    most = float((n - 1) * (m - 1))
    groups = min(n, GROUPS)
    if groups < 4:
        return np.nan
    group = np.arange(n) % groups
    estimates = np.array([estimator(y[group != g]) for g in range(groups)])
    variance = (groups - 1) / groups * float(((estimates - estimates.mean()) ** 2).sum())
    return min(most, 2.0 * estimator(y) ** 2 / variance) if variance > 0 else most


class Estimator(NamedTuple):
    """A way to estimate σ²: the function, its description, and whether it takes topic difficulty out."""

    of: Callable[[Floats], float]
    words: str
    paired: bool | None = None


METHODS = {
    # what is left when system and topic means are taken out; 2σ² is the mean pair variance
    "residual": Estimator(lambda y: mean_squares(y, TWO_WAY)["error"], "residual of two-way ANOVA", True),
    "two-way": Estimator(partial(sum_variances, topics=True), "two-way ANOVA (S14 eq. 7)", False),
    "one-way": Estimator(partial(sum_variances, topics=False), "one-way ANOVA (S14 eq. 4)", False),
    # half the 95th percentile of the pair variances, an observed value (§4.1)
    "percentile95": Estimator(
        lambda y: (
            float(np.quantile(pair_variances(y)[np.triu_indices(y.shape[1], 1)], 0.95, method="inverted_cdf"))
            / 2.0
        ),
        "95th percentile of the variances of pairwise differences (S14 eq. 1)",
    ),
}


def variance(scores: Any, method: str = "residual", *, measure: str | None = None) -> VarianceEstimate:
    """Estimate the variance σ² of a system's score from a topic × system table (S14 §4).

    Parameters
    ----------
    scores : object
        Topic × system scores in any form that `as_scores` takes.
    method : str
        ``residual`` for analyses that compare systems topic by topic, as all in this package do; ``two-way`` (S14's
        choice) or ``one-way`` for those that do not; ``percentile95`` (of Webber, Moffat and Zobel; it estimates σ_t²
        directly, and σ² is half of it).
    measure : str, optional
        Which measure to take, where there are several.

    Returns
    -------
    VarianceEstimate
        The estimate.

    >>> import numpy as np
    >>> v = variance(np.array([[.1, .3], [.2, .4], [.6, .5]]), method="percentile95")
    >>> print(v)
    variance of a difference 0.03, of a score 0.015; 95th percentile of the variances of pairwise
    differences (S14 eq. 1), 3 topics, 2 systems
    """
    estimator = METHODS[validate_choice(method, "method", METHODS, what="variance method")]
    table, y = table_of(scores, measure)
    return VarianceEstimate(
        sigma_sq=estimator.of(y),
        topics=y.shape[0],
        systems=y.shape[1],
        df=y.shape[0] - 1,
        method=estimator.words,
        measure="" if table.measure.name in NAMELESS else table.measure.name,
        paired=estimator.paired,
        effective_df=effective_df(estimator.of, y),
    )


def variance_components(source: Any, other: Any | None = None) -> VarianceComponents:
    """Return the variance of every effect: estimated from scores, or taken from a model that has it.

    Scores: topic × system, with shards, with instances, or with splits of shards; each mean square is equated with its
    expectation, and an estimate below 0 counts as 0 and is named.

    Parameters
    ----------
    source : object
        Scores in any form that `as_scores` takes; a mixed model; components, which are returned; or, where there are
        two of them, the scores of one system by topic and instance.
    other : DataArray, DataFrame or Series, optional
        The scores of a second system, one of the two perhaps deterministic, as for `compare_instances`: the variances
        are then those behind the unified test.

    Returns
    -------
    VarianceComponents
        Variances by effect.

    >>> import pandas as pd
    >>> rng = np.random.default_rng(2)
    >>> topics = rng.normal(0, 0.2, 100)
    >>> noise = rng.normal(0, 0.1, (100, 1)) + rng.normal(0, 0.03, 20) + rng.normal(0, 0.08, (100, 20))
    >>> found = variance_components(pd.DataFrame(topics[:, None] + noise), pd.Series(topics))
    >>> print(found)
    standard deviations topic:system 0.069, system:instance 0.0334, error 0.081
    >>> found.random
    1
    """
    if isinstance(source, VarianceComponents):
        return source
    if isinstance(source, MixedFit):
        if source.deterministic is not None and source.deterministic.any():
            raise InputError(
                "a model with a deterministic system does not show how much its repeats vary",
                remedy="plan from the scores of the two systems",
            )
        return source.variance_components
    if other is None:
        return estimate_components(source)
    # behind the unified test: over topics 2σ²_ts + Σσ²_e/M, and of each random system's own instances
    pair = join_pair(source, other, "fewer topics", replicated=True)
    fixed = find_copies(pair)
    if fixed.all():
        raise InputError("there are no repeats to plan for", remedy="give several runs of one system")
    y = pair.values
    difference = np.subtract(*np.nanmean(y, axis=2).T)
    spread = instance_spread(y[None], fixed)
    random = ~spread.fixed[0]
    ms_i, ms_e, m = (x[0][random] for x in (spread.ms_instance, spread.ms_error, spread.counts))
    raw = {
        "topic:system": float(difference.var(ddof=1) - (ms_e / m).sum()) / 2.0,
        "system:instance": float(np.mean(ms_i - ms_e)) / len(y),
        "error": float(np.mean(ms_e)),
    }
    return VarianceComponents(
        {name: max(0.0, value) for name, value in raw.items()},
        negative=tuple(name for name, value in raw.items() if value < 0),
        where=f"unified test of {' and '.join(pair.systems)}",
        random=int(random.sum()),
    )


def repeat_components(scores: Any, kind: str | None = None) -> tuple[VarianceComponents, str]:
    """Variances of scores with repeats, and their kind: "seeds" with a common effect ``system:instance``, or "samples".

    For samples the variance within an item and system is ``error``, whole.

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
    if kind == "seeds" and not units.has_gaps:
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
    y = np.asarray(units.topic_rows(), dtype=float)
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
    between = residual_mean_square(means) - within * float((1.0 / count[count > 0]).mean())
    variances = {"topic:system": max(between, 0.0), "system:instance": 0.0, "error": within}
    negative = ("topic:system",) if between < 0 else ()
    return VarianceComponents(variances, negative=negative, where="samples within items"), kind


@dataclass(frozen=True, slots=True, repr=False)
class Generalizability(Drawn):
    """Variance components of a topic × system table, and the two coefficients they give for n topics.

    Eρ² says how well differences between systems would repeat on new topics, Φ how well the scores
    themselves would. An estimated component below 0 counts as 0 and is named in ``components.negative``.
    """

    mean_squares: Mapping[str, float]
    components: VarianceComponents
    topics: int
    systems: int

    def erho_sq(self, topics: npt.ArrayLike | None = None) -> float | Floats:
        """Return Eρ² = σ²_s / (σ²_s + σ²_e/n).

        Parameters
        ----------
        topics : array_like, optional
            Number of topics n, or several; as many as were observed, if None.

        Returns
        -------
        float or array of float
            The coefficient, one for each number of topics.
        """
        return self.coefficient(self.components["error"], topics)

    def phi(self, topics: npt.ArrayLike | None = None) -> float | Floats:
        """Return Φ = σ²_s / (σ²_s + (σ²_t + σ²_e)/n).

        Parameters
        ----------
        topics : array_like, optional
            Number of topics n, or several; as many as were observed, if None.

        Returns
        -------
        float or array of float
            The coefficient, one for each number of topics.
        """
        return self.coefficient(self.components["topic"] + self.components["error"], topics)

    def coefficient(self, noise: float, topics: npt.ArrayLike | None) -> float | Floats:
        """Return the share of the system variance when the noise is averaged over topics.

        Parameters
        ----------
        noise : float
            Variance on one topic of what is no difference between systems.
        topics : array_like or None
            Number of topics, or several; as many as were observed, if None.

        Returns
        -------
        float or array of float
            The coefficient, one for each number of topics.
        """
        n = np.asarray(self.topics if topics is None else topics, dtype=float)
        if not (n >= 1).all():
            raise InputError("a coefficient needs 1 topic or more", remedy="give a positive number of topics")
        system = self.components["system"]
        share = system / (system + noise / n) if system > 0 else np.zeros_like(n)
        return float(share) if n.ndim == 0 else np.asarray(share)

    def topics_for(self, target: float, coefficient: str = "phi") -> int:
        """Return the smallest number of topics that brings a coefficient to the target.

        Parameters
        ----------
        target : float
            The coefficient to reach, between 0 and 1.
        coefficient : str
            ``phi`` (scores) or ``erho_sq`` (differences).

        Returns
        -------
        int
            Number of topics.
        """
        check_level(target, "target")
        validate_choice(coefficient, "coefficient", ("phi", "erho_sq"))
        parts = self.components
        if parts["system"] <= 0:
            raise InputError("the systems do not differ", remedy="give scores of systems that differ")
        noise = parts["error"] + (parts["topic"] if coefficient == "phi" else 0.0)
        # the least n ≥ 1 with n·ratio / (1 + n·ratio) ≥ target, where ratio is signal to noise of one topic
        return max(1, int(np.ceil(target * noise / ((1.0 - target) * parts["system"]) - 1e-9)))

    def intervals(
        self, topics: int | None = None, level: float | None = None, *, alpha: float | None = None
    ) -> pd.DataFrame:
        """Estimate and confidence limits of both coefficients for n topics.

        Eρ²: exact under normality (Feldt 1965). Φ: Arteaga, Jeyaratnam and Franklin (1982).

        Parameters
        ----------
        topics : int, optional
            Number of topics; as many as were observed, if None.
        level : float, optional
            Confidence of the limits, above 0.5; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        DataFrame
            One row a coefficient: ``estimate, low, high``.
        """
        tail = resolve_alpha(alpha, level) / 2.0
        if self.components["error"] == 0:
            raise InputError("the table has no error variance", remedy="give scores that vary")
        n = self.topics if topics is None else topics
        df_s, df_t = self.systems - 1, self.topics - 1
        s, t, e = (self.mean_squares[name] for name in ("system", "topic", "error"))
        rows = {"erho_sq": [self.erho_sq(n)], "phi": [self.phi(n)]}
        for p in (1.0 - tail, tail):
            f_e, f_t = special.fdtri(df_s, df_s * df_t, p), special.fdtri(df_s, df_t, p)
            f_inf = special.chdtri(df_s, 1.0 - p) / df_s
            # limits of σ²_s/σ²_e and of σ²_s/(σ²_t + σ²_e)
            above = s**2 - f_inf * s * e + (f_inf - f_e) * f_e * e**2
            below = df_s * f_inf * s * e + f_t * s * t
            ratios = {
                "erho_sq": (s / (e * f_e) - 1.0) / self.topics,
                "phi": self.systems * above / (self.topics * below),
            }
            for name, ratio in ratios.items():
                signal = n * max(0.0, float(ratio))
                rows[name].append(signal / (1.0 + signal))
        return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "low", "high"])

    def __str__(self) -> str:
        parts = self.components
        negative = ", ".join(parts.negative)
        note = f"; set to 0 as its estimate was negative: {negative}" if negative else ""
        return (
            f"{self.systems} systems on {self.topics} topics: Eρ² {self.erho_sq():.3f} (differences), "
            f"Φ {self.phi():.3f} (scores); variance of system {parts['system']:.4g}, "
            f"topic {parts['topic']:.4g}, topic:system and error {parts['error']:.4g}{note}"
        )


def generalizability(scores: Any) -> Generalizability:
    """Split the variance of scores into system, topic and the rest, from two-way mean squares.

    σ²_s = (MS_s - MS_e)/n, σ²_t = (MS_t - MS_e)/m, σ²_e = MS_e, for n topics and m systems (Brennan 2001).

    Parameters
    ----------
    scores : object
        Topic × system scores in any form that `as_scores` takes, complete.

    Returns
    -------
    Generalizability
        The variances and both coefficients.

    >>> import numpy as np
    >>> g = generalizability(np.array([[.1, .3, .5], [.2, .4, .5], [.6, .7, .9], [.2, .2, .5]]))
    >>> print(g)
    3 systems on 4 topics: Eρ² 0.972 (differences), Φ 0.698 (scores); variance of system 0.02611,
    topic 0.04222, topic:system and error 0.003056
    >>> g.topics_for(.95)
    33
    """
    _, y = table_of(scores)
    return Generalizability(mean_squares(y, TWO_WAY), components_of(y, TWO_WAY), *y.shape)
