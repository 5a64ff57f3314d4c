"""A judge's scores for all items and people's for some: paired differences that a biased judge cannot spoil.

Prediction-powered means: a judge for all items, people for some (Angelopoulos, Duchi & Zrnic 2023, PPI++).

With f the judge's scores and h those of people on n items, and N items that the judge alone saw,
estimate = λ·mean_N(f) + mean_n(h - λf) for a judge of any bias; its variance is λ²·var_N(f)/N + var_n(h - λf)/n.
λ = cov_n(h, f) / ((1 + n/N)·var(f)), clipped to [0, 1], makes that variance least: 0 does without the judge. Where the
judge errs rarely, labels that show no error do not prove that there are none: half an error of the whole range is added
to the variance, (range/n)²/2, on n - 2 degrees of freedom.

Items in clusters: A_g = Σ_{t ∈ g, seen} (h_t - mean)/n, and B_g the same of f less Σ_{t ∈ g, unseen} (f_t - mean)/N.
Cluster g adds A_g - λB_g to the error of the estimate, whose variance is G/(G - 2)·Σ (A_g - λB_g)², least for
λ = ΣA_gB_g / ΣB_g², on G - 2 degrees of freedom (G - 1 with λ given), G the number of clusters with labels.

Tasks that count alike: the mean of the K tasks' estimates, its variance Σ se_k²/K², Satterthwaite's df.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy import special

from shardwise.core.arguments import validate_choice, validate_level
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim, format_count
from shardwise.core.errors import Either, InputError
from shardwise.core.libraries import pd, xr
from shardwise.core.scores import Scores, as_scores
from shardwise.methods.method import read_methods
from shardwise.methods.moderated.statistics import pairs_of
from shardwise.methods.pairs import Means, Pairs, student_pairs
from shardwise.methods.tables import TABLE, Tables
from shardwise.stats import student
from shardwise.stats.agreement import Agreement, cohen_kappa, krippendorff_alpha, percent_agreement
from shardwise.stats.intervals import SPARSE, pair_sparseness
from shardwise.stats.resampling import key_of, topic_counts
from shardwise.stats.units import sum_clusters

MOST_CATEGORIES = 20
"""Different values up to which scores are categories."""
FEWEST_RATED = 10
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
    if units < FEWEST_RATED:
        what = "items" if cluster is None else "clusters"
        raise InputError(
            f"people scored {units} {what} that the judge scored too",
            remedy=f"have at least {FEWEST_RATED} {what} scored by people",
        )
    unit = np.broadcast_to(code[:, None], judge.shape)[both]
    bounds = {
        name: (figure.estimate, *figure.limits(alpha, unit))
        for name, figure in _list_agreements(judge[both], human[both]).items()
    }
    draws = topic_counts(units, key_of(seed), 0, n_resamples).astype(np.float64)
    every = np.concatenate([np.ones((1, units)), draws])
    # ranks are those of the sample: a bootstrap sample weighs them
    ranks = scipy.stats.rankdata(judge[both]), scipy.stats.rankdata(human[both])
    figures = {"Spearman's rho, scores": _correlate(*ranks, every[:, unit])}
    if judge.shape[1] > 2:
        drawn_items = every[:, code]
        for name, kind in (("Spearman's rho, systems", "spearman"), ("Kendall's tau, systems", "kendall")):
            figures[name] = _rank_systems(judge, human, both, drawn_items, kind)
    for name, values in figures.items():
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
    if items < FEWEST_RATED:
        raise InputError(
            f"{items} items have two judges or more", remedy=f"give at least {FEWEST_RATED} such items"
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


class Powered(NamedTuple):
    """Prediction-powered means; arrays without the axis of items."""

    mean: Floats
    se: Floats
    df: Floats  # Welch and Satterthwaite's, of the two parts
    weight: Floats  # λ, how far the judge is trusted
    labels: Floats  # n
    mean_of_labels: Floats  # of the items that people saw, without the judge
    se_of_labels: Floats
    bias: Floats  # of the judge on those items
    bias_se: Floats


def prediction_powered(
    judge: Floats,
    human: Floats,
    weight: float | None = None,
    *,
    ddof: int = 1,
    cluster: Ints | None = None,
    task: Ints | None = None,
    width: float = 0.0,
) -> Powered:
    """Means over items of (…, T) scores of which people gave some.

    >>> f, h = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 0.0]), np.array([0.0, 0.3, 0.5, np.nan, np.nan, np.nan])
    >>> round(float(prediction_powered(f, h, weight=1.0).mean), 4)  # 0.6 by the judge, who is 0.1333 too kind
    0.4667
    """
    if task is not None:
        return _over_tasks(
            [
                prediction_powered(
                    judge[..., items], human[..., items], weight, ddof=ddof, cluster=inside, width=width
                )
                for items, inside in of_tasks(task, cluster)
            ]
        )
    present = np.isfinite(judge)
    seen, unseen = present & np.isfinite(human), present & ~np.isfinite(human)
    n, rest = seen.sum(axis=-1).astype(float), unseen.sum(axis=-1).astype(float)
    h, f = np.where(seen, human, 0.0), np.where(present, judge, 0.0)
    mean_h, mean_f, mean_rest = _marked_mean(h, seen), _marked_mean(f, seen), _marked_mean(f, unseen)
    if cluster is None:
        both = _marked_mean((h - mean_h[..., None]) * (f - mean_f[..., None]), seen)
        spread = (1.0 + n / np.maximum(rest, 1.0)) * _marked_variance(f, present, 1)
    else:
        of_h, of_f = _sum_clusters(h, seen, cluster), _sum_clusters(f, seen, cluster)
        apart = of_f - _sum_clusters(f, unseen, cluster)
        both, spread = (of_h * apart).sum(axis=-1), (apart**2).sum(axis=-1)
    if weight is None:
        weight_ = np.clip(np.divide(both, spread, out=np.zeros_like(both), where=spread > 0.0), 0.0, 1.0)
    else:
        weight_ = np.full(n.shape, weight)
    weight_ = np.where(rest > 0.0, weight_, 0.0)  # people saw everything
    if cluster is None:
        of_rest = weight_**2 * _marked_variance(f, unseen, ddof) / np.maximum(rest, 1.0)
        residuals = h - weight_[..., None] * f
        sparse = pair_sparseness(np.where(seen, residuals, np.nan)) < SPARSE
        unseen_error = np.where(sparse & (rest > 0.0), (width / n) ** 2 / 2.0, 0.0)
        of_seen = _marked_variance(residuals, seen, ddof) / n + unseen_error
        variance = of_rest + of_seen
        # λ is fitted to the labels too
        free = n - 1.0 - ((weight is None) & (rest > 0.0) & (ddof == 1))
        spread = of_rest**2 / np.maximum(rest - 1.0, 1.0) + of_seen**2 / np.maximum(free, 1.0)
        df = np.divide(variance**2, spread, out=np.asarray(free, np.float64), where=spread > 0.0)
        df = np.where(unseen_error > 0.0, np.minimum(df, n - 2.0), df)
        labels, bias = (_marked_variance(x, seen, ddof) / n for x in (h, f - h))
    else:
        labelled = (sum_clusters(seen, cluster) > 0).sum(axis=-1).astype(float)
        fitted = 1.0 + (
            (weight is None) & (rest > 0.0)
        )  # numbers that were fitted to clusters, λ one of them
        variance = _robust_variance(of_h - weight_[..., None] * apart, labelled, fitted)
        df = np.maximum(labelled - fitted, 1.0)
        labels, bias = _robust_variance(of_h, labelled), _robust_variance(of_f - of_h, labelled)
    return Powered(
        mean=weight_ * mean_rest + mean_h - weight_ * mean_f,
        se=np.sqrt(variance),
        df=df,
        weight=weight_,
        labels=n,
        mean_of_labels=mean_h,
        se_of_labels=np.sqrt(labels),
        bias=mean_f - mean_h,
        bias_se=np.sqrt(bias),
    )


def of_tasks(task: Ints, cluster: Ints | None) -> Iterator[tuple[Ints, Ints | None]]:
    """Places of the items of each task, and the numbers of their clusters."""
    for k in np.unique(task):
        items = np.flatnonzero(task == k)
        yield items, None if cluster is None else np.unique(cluster[items], return_inverse=True)[1]


def _over_tasks(parts: Sequence[Powered]) -> Powered:
    """The mean over tasks, each with a weight of the judge of its own (Fisch et al. 2024, stratified PPI)."""
    each = Powered(*(np.stack(x) for x in zip(*parts, strict=True)))

    def combine_errors(se: Floats) -> Floats:
        return np.asarray(np.sqrt((se**2).sum(axis=0)) / len(parts))

    se, spread = combine_errors(each.se), (each.se**4 / each.df).sum(axis=0) / len(parts) ** 4
    return Powered(
        mean=each.mean.mean(axis=0),
        se=se,
        df=np.divide(se**4, spread, out=each.df.sum(axis=0), where=spread > 0.0),
        weight=each.weight.mean(axis=0),
        labels=each.labels.sum(axis=0),
        mean_of_labels=each.mean_of_labels.mean(axis=0),
        se_of_labels=combine_errors(each.se_of_labels),
        bias=each.bias.mean(axis=0),
        bias_se=combine_errors(each.bias_se),
    )


def _robust_variance(sums: Floats, clusters: Floats, fitted: Floats | float = 1.0) -> Floats:
    """Variance of a mean whose error is the sum of these over clusters, so many numbers fitted to them."""
    return np.asarray((sums**2).sum(axis=-1) * clusters / np.maximum(clusters - fitted, 1.0))


def _sum_clusters(x: Floats, which: Bools, cluster: Ints) -> Floats:
    """(…, G) what the items marked of each cluster add to the error of their mean."""
    apart = np.where(which, x - _marked_mean(x, which)[..., None], 0.0)
    return np.asarray(sum_clusters(apart, cluster) / np.maximum(which.sum(axis=-1), 1)[..., None])


def _marked_mean(x: Floats, which: Bools) -> Floats:
    """Mean over the items marked, 0 where there are none."""
    return np.asarray(np.where(which, x, 0.0).sum(axis=-1) / np.maximum(which.sum(axis=-1), 1))


def _marked_variance(x: Floats, which: Bools, ddof: int) -> Floats:
    """Variance over the items marked, 0 where there are none."""
    n = which.sum(axis=-1)
    squares = _marked_mean((x - _marked_mean(x, which)[..., None]) ** 2, which)
    return np.asarray(squares * n / np.maximum(n - ddof, 1))


def variance_with_labels(labels: Floats, items: int, variance: Floats, correlation: Floats) -> Floats:
    """Variance of a prediction-powered mean with so many labels: σ_h²·((1 - ρ²)/n + ρ²/T), λ at its best.

    >>> variance_with_labels(np.array([50.0, 100.0]), 100, np.array(1.0), np.array(0.8))
    array([0.0136, 0.01  ])
    """
    return np.asarray(variance * ((1.0 - correlation**2) / labels + correlation**2 / items))


FEWEST = 20
"""Labels that a pair needs: with 5 to 10, equal systems are called different in 16 to 18% of tables."""
SHOWN = ("percent agreement", "Cohen's kappa", "Krippendorff's alpha, interval", "Kendall's tau, systems")
"""Figures of agreement that are shown beside the comparison."""
FEWEST_UNITS = 5
"""Labels in each task, or clusters with labels, that a pair needs."""


def with_human(judge: Any, human: Any) -> xr.DataArray:
    """Put people's scores for some items beside a judge's for all, for `compare`, which then corrects the judge.

    Parameters
    ----------
    judge : object
        Scores by a judge, such as a language model, of every item and system: any table that `as_scores` takes. Several
        answers to an item (seeds, samples) are averaged first, and the claim says so.
    human : object
        Scores by people, for some of the items; which ones must not depend on the scores. Items that nobody looked at
        are left out or empty.

    Returns
    -------
    DataArray
        The judge's scores with the coordinate ``human``.

    >>> import pandas as pd
    >>> f = pd.DataFrame({"question": ["q1", "q2", "q3"], "a": [1.0, 0.8, 0.9], "b": [0.7, 0.6, 0.4]})
    >>> h = pd.DataFrame({"question": ["q3", "q1"], "a": [1, 1], "b": [0, 1]})
    >>> with_human(f, h).human.sel(system="b").values
    array([ 1., nan,  0.])
    """
    both = []
    for table in map(as_scores, (judge, human)):
        if "instance" in table.dims:
            words = f"these {format_count(table.sizes['instance'], table.nouns.get('instance', 'instance'))}"
            table = replace(table.mean("instance"), averaged=words)
        both.append(as_scores(table, only=True))
    scores, people = both
    for dimension in TABLE:
        known = set(scores.labels[dimension])
        noun = scores.nouns.get(dimension, dimension)
        strange = [name for name in people.labels[dimension] if name not in known]
        if strange:
            raise InputError(
                f"people scored {noun} {strange[0]!r}, which the judge did not",
                remedy=f"give the judge's score of every {noun}, under the same name",
            )
    lacking = [name for name in scores.systems if name not in people.systems]
    if lacking:
        raise InputError(
            f"people scored nothing of {lacking[0]!r}",
            remedy="leave it out, or have some of its items scored by people",
        )
    places = [[scores.labels[d].index(name) for name in people.labels[d]] for d in TABLE]
    values = np.full(scores.values.shape, np.nan)
    values[np.ix_(*places)] = people.values
    return replace(scores, people=values).to_xarray()


def judged_pairs(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Test prediction-powered differences of pairs by Student's t."""
    powered = powered_pairs(tables, human_scores(tables), ia, ib)
    return student_pairs(powered.mean, powered.se, powered.df)


def human_scores(tables: Tables) -> Floats:
    """(B, T, R) scores by people, or a refusal where there are none."""
    if tables.human is None:
        raise InputError(
            "there are no scores by people beside those of the judge",
            remedy=("add them by ", Either("sw.judges.with_human(judge, human)", "--human human.csv")),
        )
    ia, ib = tables.pairs
    judged = np.isfinite(tables.human) & np.isfinite(tables.y)
    both = np.swapaxes(
        judged[..., ia] & judged[..., ib], -1, -2
    )  # scored by people for both systems of a pair
    task = np.zeros(tables.topics, dtype=np.int64) if tables.task is None else tables.task
    counts = [
        (both[..., items] if inside is None else sum_clusters(both[..., items], inside) > 0).sum(axis=-1)
        for items, inside in of_tasks(task, tables.cluster)
    ]
    fewest, what = int(np.min(counts)), "item" if tables.cluster is None else "cluster"
    needed = FEWEST_UNITS
    if tables.cluster is None and fewest >= needed:
        fewest, needed = int(np.min(np.sum(counts, axis=0))), FEWEST
    if fewest < needed:
        where = "" if tables.task is None or needed == FEWEST else " of a task"
        raise InputError(
            f"of some pair people scored {format_count(fewest, what)}{where} of both systems",
            remedy=f"have {what}s{where} scored by people, at least {needed}, the same ones for all systems",
        )
    return tables.human


def powered_pairs(tables: Tables, human: Floats, ia: Ints, ib: Ints) -> Powered:
    """Prediction-powered differences (B, P) of pairs, items perhaps in clusters or tasks."""

    def pair_differences(y: Floats) -> Floats:
        return np.swapaxes(y[..., ia] - y[..., ib], -1, -2)

    return prediction_powered(
        pair_differences(tables.y),
        pair_differences(human),
        cluster=tables.cluster,
        task=tables.task,
        width=_measure_width(tables, human),
    )


def _measure_width(tables: Tables, human: Floats) -> float:
    """Return the width of the range of scores: 1 for scores from 0 to 1, else what people and judge used of it."""
    low, high = (
        float(end(limit(tables.y), limit(human))) for end, limit in ((min, np.nanmin), (max, np.nanmax))
    )
    return 1.0 if low >= 0.0 and high <= 1.0 else high - low


def judged_means(tables: Tables, claim: Claim) -> Means:
    """Estimate system means corrected by people's scores."""
    human = human_scores(tables)
    y, seen = (np.swapaxes(scores, -1, -2) for scores in (tables.y, human))
    each = prediction_powered(
        y, seen, cluster=tables.cluster, task=tables.task, width=_measure_width(tables, human)
    )
    residual = np.nanvar(human, axis=1, ddof=1).mean(axis=1)
    return Means(
        labels=tuple(map(str, range(tables.systems))),
        values=each.mean,
        scale=np.sqrt(residual),
        mean_se=each.se,
        mean_df=each.df,
        own_sd=each.se * np.sqrt(each.labels),
        own_count=each.labels,
        notes=(*_describe_gain(tables, human), *_describe_agreement(tables, human))
        if len(tables) == 1
        else (),
    )


def _describe_agreement(tables: Tables, human: Floats) -> tuple[str, ...]:
    """Say how far the judge agrees with people, in a sentence."""
    try:
        table = tabulate_agreement(tables.y[0], human[0], tables.cluster, seed=tables.seed)
    except InputError:
        # too few items or clusters for an interval
        return ()
    figures = table.set_index("statistic")[["estimate", "lower", "upper"]].dropna()
    parts = [
        "{} {:.2f} (95% CI {:.2f} to {:.2f})".format(name, *figures.loc[name].to_numpy(float))
        for name in SHOWN
        if name in figures.index
    ]
    return (f"the judge against people: {', '.join(parts)}",) if parts else ()


def _describe_gain(tables: Tables, human: Floats) -> tuple[str, ...]:
    """What people and judge brought each other, in a sentence or two."""
    powered = powered_pairs(tables, human, *tables.pairs)
    labels = int(np.isfinite(human[0]).any(axis=1).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.nanmedian(np.where(powered.se > 0, powered.se_of_labels**2 / powered.se**2, np.nan)))
    sentences = [
        f"judge plus {format_count(labels, 'label')} by people, of {tables.topics:,} items: worth"
        f" {labels * ratio:,.0f} labels (median of pairs)"
    ]
    ia, ib = tables.pairs
    rho = _correlate_pairs(human[0][:, ia] - human[0][:, ib], tables.y[0][:, ia] - tables.y[0][:, ib])
    unit_weights = np.ones(rho.size)
    now, twice, every = (
        float(np.median(variance_with_labels(np.array(float(n)), tables.topics, unit_weights, rho)))
        for n in (labels, min(2 * labels, tables.topics), tables.topics)
    )
    if labels < tables.topics and tables.cluster is None and tables.task is None:
        sentences.append(
            f"{min(2 * labels, tables.topics):,} labels: intervals {1 - np.sqrt(twice / now):.0%} narrower;"
            f" {tables.topics:,}: {1 - np.sqrt(every / now):.0%}"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(powered.bias_se > 0, np.abs(powered.bias) / powered.bias_se, 0.0)
    biased = int((student.two_sided(t, powered.labels - 1.0) <= 0.05 / powered.bias.size).sum())
    if biased:
        sentences.append(
            f"the judge alone is biased in {biased} of {format_count(powered.bias.size, 'pair')}"
        )
    return tuple(sentences)


def labels_worth(scores: Any, *, alpha: float = 0.05, power: float = 0.8) -> pd.DataFrame:
    """Say what people's scores bought, pair by pair, and how many more would be worth it.

    `a, b, difference, se` as `compare` has them; `judge_weight` λ; `judge_bias` of the judge's difference, with its
    `bias_se`; `labels`; `se_of_labels` without the judge; `variance_ratio` and `effective_labels`, the number that
    would be as good without a judge; `labels_needed` for the difference seen to be found with the power asked for (∞
    if no number of labels on these items will do), by σ_h²·((1 - ρ²)/n + ρ²/T).

    Parameters
    ----------
    scores : object
        Scores with people's beside them, made by `with_human`.
    alpha : float
        Level of significance, two-sided.
    power : float
        Chance of finding a difference as large as the one seen.

    Returns
    -------
    DataFrame
        One row a pair.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> h = rng.normal(0.5, 0.2, (200, 2)) + [0.0, 0.1]
    >>> judge = xr.DataArray(h + rng.normal(0.1, 0.05, h.shape), dims=("topic", "system"))
    >>> row = labels_worth(with_human(judge, judge.copy(data=h).isel(topic=slice(0, 40)))).iloc[0]
    >>> int(row["labels"]), int(row["effective_labels"])
    (40, 94)
    """

    validate_level(alpha)
    validate_level(power, "power")
    table, human = require_people(scores)
    for name, labels in (("cluster", table.clusters), ("task", table.tasks)):
        if labels is not None:
            raise InputError(
                f"how many labels are worth it is said for single items, and these come in {name}s",
                remedy=(f"leave the {name}s out", Either(f": scores.drop_vars({name!r})", "")),
            )
    judge = np.asarray(table.values, dtype=float)
    ia, ib = pairs_of(judge.shape[1])
    gap_h, gap_f = human[:, ia] - human[:, ib], judge[:, ia] - judge[:, ib]
    powered, items = prediction_powered(gap_f.T, gap_h.T), judge.shape[0]
    variance = np.nanvar(gap_h, axis=0, ddof=1)
    rho = _correlate_pairs(gap_h, gap_f)
    z = float(scipy.stats.norm.isf(alpha / 2) + scipy.stats.norm.ppf(power))
    least = variance_with_labels(np.array(np.inf), items, variance, rho)
    room = (powered.mean / z) ** 2 - least
    needed = np.where(room > 0, np.ceil((1.0 - rho**2) * variance / np.where(room > 0, room, 1.0)), np.inf)
    names = np.array(table.systems, dtype=object)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = powered.se_of_labels**2 / powered.se**2
    return pd.DataFrame(
        {
            "a": names[ia],
            "b": names[ib],
            "difference": powered.mean,
            "se": powered.se,
            "judge_weight": powered.weight,
            "judge_bias": powered.bias,
            "bias_se": powered.bias_se,
            "correlation": rho,
            "labels": powered.labels.astype(int),
            "se_of_labels": powered.se_of_labels,
            "variance_ratio": ratio,
            "effective_labels": ratio * powered.labels,
            "labels_needed": np.where(needed > items, np.inf, needed),
        }
    )


def _correlate_pairs(human: Floats, judge: Floats) -> Floats:
    """(P,) correlations of people and judge over the items (T, P) that both saw; 0 where one of them does not vary."""
    seen = np.isfinite(human) & np.isfinite(judge)
    n = np.maximum(seen.sum(axis=0), 1)

    def center_values(x: Floats) -> Floats:
        inside = np.where(seen, x, 0.0)
        return np.where(seen, inside - inside.sum(axis=0) / n, 0.0)

    h, f = center_values(human), center_values(judge)
    spread = np.sqrt((h**2).sum(axis=0) * (f**2).sum(axis=0))
    return np.asarray(np.divide((h * f).sum(axis=0), spread, out=np.zeros(spread.shape), where=spread > 0.0))


METHODS = read_methods("judges", {"ppi": judged_pairs}, means=judged_means)
