"""How much scores vary: the number that every topic set size design starts from (S14 §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core import late
from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Floats
from shardwise.core.errors import Either, InputError
from shardwise.core.scores import as_scores, require_complete, require_scores
from shardwise.core.shown import Shown
from shardwise.methods.anova.variance_components import mean_squares as mean_squares_of

NAMELESS = (None, "score")  # what tables without the name of a measure are called


@dataclass(frozen=True, slots=True, repr=False)
class VarianceEstimate(Shown):
    """Variance of one system's scores over topics, and where the estimate comes from."""

    sigma_sq: float  # of one system's score
    topics: int
    systems: int
    df: int  # weight when pooled: topics - 1 of each collection
    method: str
    measure: str = ""
    paired: bool | None = None  # whether topic difficulty is taken out; None where it may be either
    effective_df: float = np.nan  # those of a χ² distribution as uncertain as the estimate

    @property
    def sigma_t_sq(self) -> float:
        """Variance of the difference of two systems on a topic, 2σ² (S14 §3.2)."""
        return 2.0 * self.sigma_sq

    def plot(self) -> Any:
        """Draw what numbers of topics can reach with this variance (S14 Fig. 3): an altair chart.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self)

    def __float__(self) -> float:
        return self.sigma_sq

    def __str__(self) -> str:
        name = f"{self.measure}: " if self.measure else ""
        score = "half of it" if self.paired else "of a score"  # without topic difficulty it is no score's own
        return (
            f"{name}variance of a difference {self.sigma_t_sq:.4g}, {score} {self.sigma_sq:.4g}; "
            f"{self.method}, {self.topics} topics, {self.systems} systems"
        )


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """Mean squares of a topic × system table without replicates."""

    system: float
    topic: float
    error: float
    topics: int
    systems: int


def table_of(scores: Any, measure: str | None = None) -> tuple[xr.DataArray, Floats]:
    """Return complete topic × system scores that passed the gate, and their numbers, systems across."""
    table = require_scores(as_scores(scores, measure=measure, only=True), "planning")
    return table, require_complete(table)


def mean_squares(y: Floats) -> MeanSquares:
    """Return the mean squares of system, topic and residual of a (topics, systems) array (S14 eq. 2, 3, 5, 6)."""
    ms = mean_squares_of(y, ("topic", "system"))
    return MeanSquares(ms["system"], ms["topic"], ms["error"], *y.shape)


def one_way(y: Floats) -> float:
    """σ² from the mean squares between and within systems (S14 eq. 4)."""
    n, m = int(y.shape[0]), int(y.shape[1])
    v_a = mean_squares(y).system
    v_e1 = float(y.var(axis=0, ddof=1).mean())
    return (m - 1) / (m * n) * (v_a - v_e1) + v_e1


def two_way(y: Floats) -> float:
    """σ² as the sum of the system, topic and residual variances (S14 eq. 7)."""
    n, m = int(y.shape[0]), int(y.shape[1])
    ms = mean_squares(y)
    return (m - 1) / (m * n) * (ms.system - ms.error) + (ms.topic - ms.error) / m + ms.error


def pair_variances(y: Floats) -> Floats:
    """Variances of the per-topic differences, one for each pair of systems (S14 eq. 1)."""
    covariance = np.cov(y, rowvar=False)
    system_variances = np.diag(covariance)
    return (system_variances[:, None] + system_variances - 2.0 * covariance)[np.triu_indices(y.shape[1], k=1)]


def percentile_variance(y: Floats) -> float:
    """σ² as half the 95th percentile of the pair variances, an observed value (S14 §4.1)."""
    return float(np.quantile(pair_variances(y), 0.95, method="inverted_cdf")) / 2.0


def residual_variance(y: Floats) -> float:
    """σ² of what is left when system and topic means are taken out; 2σ² is the mean pair variance."""
    return mean_squares(y).error


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


@dataclass(frozen=True, slots=True)
class Estimator:
    """A way to estimate σ²: the function, its description, and whether it takes topic difficulty out."""

    of: Callable[[Floats], float]
    words: str
    paired: bool | None = None


METHODS = {
    "residual": Estimator(
        residual_variance, "residual of two-way ANOVA, topic difficulty taken out", paired=True
    ),
    "two-way": Estimator(two_way, "two-way ANOVA (S14 eq. 7)", paired=False),
    "one-way": Estimator(one_way, "one-way ANOVA (S14 eq. 4)", paired=False),
    "percentile95": Estimator(
        percentile_variance, "95th percentile of the variances of pairwise differences (S14 eq. 1)"
    ),
}


@overload
def variance(
    scores: xr.Dataset, method: str = ..., *, measure: None = ...
) -> dict[str, VarianceEstimate]: ...
@overload
def variance(scores: Any, method: str = ..., *, measure: str | None = ...) -> VarianceEstimate: ...
def variance(
    scores: Any, method: str = "residual", *, measure: str | None = None
) -> VarianceEstimate | dict[str, VarianceEstimate]:
    """Estimate the variance σ² of a system's score from a topic × system table (S14 §4).

    Parameters
    ----------
    scores : object
        Topic × system scores in any form that `as_scores` takes; a Dataset gives one estimate a measure.
    method : str
        ``residual`` for analyses that compare systems topic by topic, as all in this package do; ``two-way`` (S14's
        choice) or ``one-way`` for those that do not; ``percentile95`` (of Webber, Moffat and Zobel; it estimates σ_t²
        directly, and σ² is half of it).
    measure : str, optional
        Which measure to take, where there are several.

    Returns
    -------
    VarianceEstimate or dict of str to VarianceEstimate
        The estimate; a dictionary by measure where several are given.

    >>> import numpy as np
    >>> v = variance(np.array([[.1, .3], [.2, .4], [.6, .5]]), method="percentile95")
    >>> print(v)
    variance of a difference 0.03, of a score 0.015; 95th percentile of the variances of pairwise
    differences (S14 eq. 1), 3 topics, 2 systems
    """
    estimator = METHODS[validate_choice(method, "method", METHODS, what="variance method")]
    if isinstance(scores, xr.Dataset) and measure is None:
        return {str(name): variance(scores, method, measure=str(name)) for name in scores.data_vars}
    table, y = table_of(scores, measure)
    return VarianceEstimate(
        sigma_sq=estimator.of(y),
        topics=y.shape[0],
        systems=y.shape[1],
        df=y.shape[0] - 1,
        method=estimator.words,
        measure="" if table.name in NAMELESS else str(table.name),
        paired=estimator.paired,
        effective_df=effective_df(estimator.of, y),
    )


def variance_table(
    scores: Any, methods: Iterable[str] = ("percentile95", "one-way", "two-way", "residual")
) -> pd.DataFrame:
    """Return σ² of every measure (rows) by every method (columns): the data of S14 Figure 1.

    Parameters
    ----------
    scores : object
        As for `variance`.
    methods : iterable of str
        Methods of `variance`.

    Returns
    -------
    DataFrame
        Measures by methods.

    >>> import numpy as np
    >>> variance_table(np.array([[.1, .3], [.2, .4], [.6, .5]]), ["one-way", "two-way"]).round(3)
      one-way  two-way
        0.036     0.04
    """
    columns = {}
    for method in methods:
        estimates = variance(scores, method)
        each = estimates if isinstance(estimates, dict) else {estimates.measure: estimates}
        columns[method] = {name: estimate.sigma_sq for name, estimate in each.items()}
    return pd.DataFrame(columns)


@overload
def pool_variances(estimates: Iterable[Mapping[str, VarianceEstimate]]) -> dict[str, VarianceEstimate]: ...
@overload
def pool_variances(estimates: Iterable[VarianceEstimate]) -> VarianceEstimate: ...
def pool_variances(
    estimates: Iterable[VarianceEstimate] | Iterable[Mapping[str, VarianceEstimate]],
) -> VarianceEstimate | dict[str, VarianceEstimate]:
    """Pool estimates of one measure over collections, weighted by topics - 1 (S14 eq. 8).

    Parameters
    ----------
    estimates : iterable of VarianceEstimate or iterable of mapping of str to VarianceEstimate
        What `variance` returns for each collection; mappings of measure to estimate are pooled measure by measure.

    Returns
    -------
    VarianceEstimate or dict of str to VarianceEstimate
        The pooled estimate; a dictionary by measure where several are given.

    >>> a = VarianceEstimate(.0543, topics=50, systems=78, df=49, method="two-way ANOVA", measure="AP")
    >>> b = VarianceEstimate(.0517, topics=49, systems=78, df=48, method="two-way ANOVA", measure="AP")
    >>> round(float(pool_variances([a, b])), 4)
    0.053
    """
    each = list(estimates)
    if not each:
        raise InputError("no variances to pool", remedy="give at least one estimate")
    mappings = [item for item in each if isinstance(item, Mapping)]
    if mappings:
        names = mappings[0].keys()
        if len(mappings) < len(each) or any(item.keys() != names for item in mappings):
            raise InputError(
                "the collections were not scored with the same measures",
                remedy="score them with the same measures",
            )
        return {name: pool_variances([item[name] for item in mappings]) for name in names}
    singles = [item for item in each if isinstance(item, VarianceEstimate)]
    if len(singles) < len(each):
        raise InputError(
            "only variance estimates can be pooled", remedy=Either("make them with variance(scores)", "")
        )
    for what in ("method", "measure"):
        kinds = sorted({str(getattr(item, what)) for item in singles})
        if len(kinds) > 1:
            raise InputError(
                f"variances of different {what}s: {'; '.join(kinds)}", remedy="pool variances of one kind"
            )
    df = sum(item.df for item in singles)
    sigma_sq = sum(item.df * item.sigma_sq for item in singles) / df
    # the variance of a weighted sum of independent estimates, each 2σ⁴/ν (Satterthwaite)
    doubt = sum((item.df * item.sigma_sq / df) ** 2 / item.effective_df for item in singles)
    return VarianceEstimate(
        sigma_sq=sigma_sq,
        topics=sum(item.topics for item in singles),
        systems=sum(item.systems for item in singles),
        df=df,
        method=singles[0].method + (f", pooled over {len(singles)} collections" if len(singles) > 1 else ""),
        measure=singles[0].measure,
        paired=singles[0].paired,
        effective_df=sigma_sq**2 / doubt if doubt > 0 else np.nan,
    )
