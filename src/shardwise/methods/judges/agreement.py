"""Agreement of a judge with people, or of judges with each other, with intervals over items or clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from scipy import special

from shardwise.core.arguments import validate_choice, validate_level
from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import Either, InputError
from shardwise.core.libraries import pd, xr
from shardwise.core.scores import Scores, as_scores
from shardwise.stats.agreement import Agreement, cohen_kappa, krippendorff_alpha, percent_agreement
from shardwise.stats.resampling import key_of, topic_counts

MOST_CATEGORIES = 20
"""Different values up to which scores are categories."""
FEWEST_UNITS = 10
"""Items, or clusters, that an interval needs."""
RESAMPLES = 1_999
WIDTH = 0.1


def measure_agreement(
    scores: Any, *, level: float = 0.95, width: float = WIDTH, n_resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """Measure how far a judge agrees with people, with intervals over items (or their clusters).

    Parameters
    ----------
    scores : table
        Scores by a judge with people's beside them, made by `with_human`.
    level : float
        Level of the intervals.
    width : float
        Width of an interval for which the labels needed are computed.
    n_resamples, seed : int
        Bootstrap samples of items for the intervals of rank correlations, and their seed.

    Returns
    -------
    DataFrame
        `statistic, estimate, lower, upper, labels, labels_needed`: percent, Cohen's κ and its weighted forms,
        Krippendorff's α (nominal, ordinal, interval), Spearman's ρ of single scores, and Spearman's ρ and Kendall's τ
        of the systems by their means. Percent and κ need categories, at most 20 different scores. Labels are items with
        people's scores; the labels needed grow with the square of the width of the interval over that asked for.
    """
    table, human = require_people(scores)
    return tabulate_agreement(
        np.asarray(table.values, np.float64),
        human,
        table.cluster,
        level=level,
        width=width,
        n_resamples=n_resamples,
        seed=seed,
    )


def require_people(scores: Any) -> tuple[Scores, Floats]:
    """Return (T, R) scores with those of people beside them, and these; refuse scores that have none."""
    table = as_scores(scores, only=True)
    if table.people is None:
        raise InputError(
            "the scores have none by people beside them",
            remedy=Either("make them with sw.judges.with_human", "give people's by --human"),
        )
    return table, table.people


def tabulate_agreement(
    judge: Floats,
    human: Floats,
    cluster: Ints | None = None,
    *,
    level: float = 0.95,
    width: float = WIDTH,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure agreement of arrays (items, systems), as `measure_agreement` does."""

    alpha = 1.0 - validate_level(level, "level")
    if not width > 0.0:
        raise InputError(
            f"a width of {width:g} is not above 0", remedy="give a width such as 0.1", argument="width"
        )
    both = np.isfinite(judge) & np.isfinite(human)
    kept = both.any(axis=1)
    judge, human, both = judge[kept], human[kept], both[kept]
    code = np.arange(len(judge)) if cluster is None else np.unique(cluster[kept], return_inverse=True)[1]
    units = int(code.max(initial=-1)) + 1
    if units < FEWEST_UNITS:
        what = "items" if cluster is None else "clusters"
        raise InputError(
            f"people scored {units} {what} that the judge scored too",
            remedy=f"have at least {FEWEST_UNITS} {what} scored by people",
        )
    unit = np.broadcast_to(code[:, None], judge.shape)[both]
    bounds = {
        name: (figure.estimate, *figure.limits(alpha, unit))
        for name, figure in _list_agreements(judge[both], human[both]).items()
    }
    draws = topic_counts(units, key_of(seed), 0, n_resamples).astype(np.float64)
    every = np.concatenate([np.ones((1, units)), draws])
    for name, correlate in _list_correlations(judge, human, both, code).items():
        values = correlate(every)
        estimate, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
        bounds[name] = (estimate, *_bound_correlation(estimate, drawn, units, alpha))
    table = pd.DataFrame(
        [(name, *figures) for name, figures in bounds.items()],
        columns=["statistic", "estimate", "lower", "upper"],
    )
    shrink = (table["upper"] - table["lower"]) / width
    return table.assign(labels=len(judge), labels_needed=np.ceil(len(judge) * shrink**2))


def _bound_correlation(estimate: float, drawn: Floats, units: int, alpha: float) -> tuple[float, float]:
    """Percentile limits, widened as Student's t is wider than the normal distribution with so many units.

    Resamples of a perfect correlation are all perfect, which tells nothing: no limits.
    """
    if not np.isfinite(estimate) or len(drawn) < 100:
        return float("nan"), float("nan")
    wider = float(special.stdtrit(units - 1.0, alpha / 2.0) / special.ndtri(alpha / 2.0)) * np.sqrt(
        units / (units - 1.0)
    )
    # the share beyond a normal quantile that is so much further out
    share = float(special.ndtr(special.ndtri(alpha / 2.0) * wider))
    low, high = np.quantile(drawn, [share, 1.0 - share])
    return (float(low), float(high)) if high > low else (float("nan"), float("nan"))


def _list_agreements(a: Floats, b: Floats) -> dict[str, Agreement]:
    """Return the agreements of two raters by name; percent and κ need categories."""
    figures: dict[str, Agreement] = {}
    distinct = len(np.unique(np.concatenate([a, b])))
    ratings = np.stack([a, b])
    if distinct <= MOST_CATEGORIES:
        figures["percent agreement"] = percent_agreement(a, b)
        figures["Cohen's kappa"] = cohen_kappa(a, b)
        if distinct > 2:
            figures["weighted kappa, linear"] = cohen_kappa(a, b, 1)
            figures["weighted kappa, quadratic"] = cohen_kappa(a, b, 2)
        figures["Krippendorff's alpha, nominal"] = krippendorff_alpha(ratings, "nominal")
        if distinct > 2:
            figures["Krippendorff's alpha, ordinal"] = krippendorff_alpha(ratings, "ordinal")
    if distinct > 2:
        figures["Krippendorff's alpha, interval"] = krippendorff_alpha(ratings, "interval")
    return figures


def _list_correlations(
    judge: Floats, human: Floats, both: Any, code: Ints
) -> dict[str, Callable[[Floats], Floats]]:
    """Return rank correlations by name: functions of how often units are drawn."""
    figures: dict[str, Callable[[Floats], Floats]] = {}
    unit = np.broadcast_to(code[:, None], judge.shape)[both]
    a, b = judge[both], human[both]
    # ranks are those of the sample: a bootstrap sample weighs them
    ranks = scipy.stats.rankdata(a), scipy.stats.rankdata(b)
    figures["Spearman's rho, scores"] = lambda draws: _correlate(*ranks, draws[:, unit])
    if judge.shape[1] > 2:
        figures["Spearman's rho, systems"] = lambda draws: _rank_systems(
            judge, human, both, draws[:, code], "spearman"
        )
        figures["Kendall's tau, systems"] = lambda draws: _rank_systems(
            judge, human, both, draws[:, code], "kendall"
        )
    return figures


def _correlate(a: Floats, b: Floats, weights: Floats) -> Floats:
    """(B,) weighted correlations; NaN where one of the two does not vary."""
    total = weights.sum(axis=1)
    mean_a, mean_b = weights @ a / total, weights @ b / total
    cross = weights @ (a * b) / total - mean_a * mean_b
    spread = np.sqrt(
        np.maximum(weights @ a**2 / total - mean_a**2, 0.0)
        * np.maximum(weights @ b**2 / total - mean_b**2, 0.0)
    )
    return np.asarray(np.divide(cross, spread, out=np.full(len(total), np.nan), where=spread > 1e-12))


def _rank_systems(judge: Floats, human: Floats, both: Any, draws: Floats, kind: str) -> Floats:
    """(B,) rank correlations of the systems by their means over the items that people scored too."""
    count = draws @ both
    with np.errstate(divide="ignore", invalid="ignore"):
        first = draws @ np.where(both, judge, 0.0) / count
        second = draws @ np.where(both, human, 0.0) / count
    if kind == "spearman":
        a, b = scipy.stats.rankdata(first, axis=1), scipy.stats.rankdata(second, axis=1)
        a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    else:
        ia, ib = np.triu_indices(judge.shape[1], 1)
        a, b = np.sign(first[:, ia] - first[:, ib]), np.sign(second[:, ia] - second[:, ib])
    spread = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray(
        np.divide((a * b).sum(axis=1), spread, out=np.full(len(a), np.nan), where=spread > 1e-12)
    )


def measure_raters(ratings: Any, *, metric: str = "nominal", level: float = 0.95) -> pd.Series:
    """Measure the agreement of several judges by Krippendorff's α, with an interval over items.

    Parameters
    ----------
    ratings : array or DataFrame
        (judges, items) numbers, NaN where a judge gave none.
    metric : str
        "nominal", "ordinal" or "interval".
    level : float
        Level of the interval.

    Returns
    -------
    Series
        `estimate, lower, upper, items`.
    """

    alpha = 1.0 - validate_level(level, "level")
    kind: Any = validate_choice(metric, "metric", ("nominal", "ordinal", "interval"))
    table = np.asarray(ratings, np.float64)
    table = table[:, np.isfinite(table).sum(axis=0) >= 2]
    items = table.shape[1]
    if items < FEWEST_UNITS:
        raise InputError(
            f"{items} items have two judges or more", remedy=f"give at least {FEWEST_UNITS} such items"
        )
    agreement = krippendorff_alpha(table, kind)
    lower, upper = agreement.limits(alpha, np.arange(items))
    return pd.Series({"estimate": agreement.estimate, "lower": lower, "upper": upper, "items": items})


def subtract_people(scores: Any) -> xr.DataArray:
    """Return the judge's scores less people's, whose comparison tests whether the judge favours some systems.

    Parameters
    ----------
    scores : table
        Scores by a judge with people's beside them, made by `with_human`.

    Returns
    -------
    DataArray
        Differences on the items that people scored for every system, for `compare`: a significant pair is one between
        which the judge is biased.
    """
    table, people = require_people(scores)
    difference = table.values - people
    seen = np.flatnonzero(~np.isnan(difference).any(axis=1))
    if len(seen) < 2:
        raise InputError(
            f"people scored {len(seen)} items of all {len(table.systems)} systems",
            remedy="have more items of every system scored by people",
        )
    bias = replace(table.measure, name="judge's bias", range=None, range_from="")
    kept = replace(table, values=difference, people=None, measure=bias).select(topic=seen)
    return kept.to_xarray()
