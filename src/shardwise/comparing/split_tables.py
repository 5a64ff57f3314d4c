"""Tables over many splits: who agrees with whom, and how steady the figures are (V17 Tables 4-5, F19 Table 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.over_splits import Aligned, align_pairs, majority, unanimous
from shardwise.comparing.rankings import Ranking, kendall_tau
from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import Either, InputError, Option
from shardwise.stats.student import student_critical


def agreement_over_splits(
    comparisons: Sequence[Comparisons], alphas: Sequence[float] = (0.05, 0.01)
) -> pd.DataFrame:
    """Count the pairs that the splits are divided over (V17 Table 5).

    Row ``1:10`` counts the pairs on which one split of eleven decides otherwise than the others; ``0:11`` those on
    which all agree. Columns per alpha: ``pairs`` and their ``share`` of all; row ``divided`` sums all but the first.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.
    alphas : sequence of float
        Levels to decide at.

    Returns
    -------
    DataFrame
        One row a degree of division.
    """
    both = align_pairs(comparisons)
    j = len(comparisons)
    columns: dict[tuple[float, str], list[float]] = {}
    minorities = {alpha: _count_minority(both, alpha) for alpha in alphas}
    most = max(j // 2, *(int(m.max()) for m in minorities.values()))
    for alpha, minority in minorities.items():
        counts = np.bincount(minority, minlength=most + 1)
        pairs = np.append(counts, counts[1:].sum())
        columns[alpha, "pairs"] = pairs.tolist()
        columns[alpha, "share"] = (pairs / minority.size).tolist()
    index = pd.Index([*(f"{k}:{j - k}" for k in range(most + 1)), "divided"], name="splits")
    frame = pd.DataFrame(columns, index=index)
    frame.columns = pd.MultiIndex.from_tuples(list(columns), names=["alpha", "figure"])
    return frame


def agreement_matrix(comparisons: Sequence[Comparisons], alpha: float = 0.05) -> pd.DataFrame:
    """Count splits in the minority for each pair of systems, best first (V17 Fig. 6).

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.
    alpha : float
        Level to decide at.

    Returns
    -------
    DataFrame
        Systems by systems.
    """
    both = align_pairs(comparisons)
    names = both.estimates.labels
    square = np.full((len(names), len(names)), np.nan)
    square[both.ia, both.ib] = square[both.ib, both.ia] = _count_minority(both, alpha)
    np.fill_diagonal(square, 0.0)
    index = pd.Index(names, name="system")
    return pd.DataFrame(square, index=index, columns=index)


def _count_minority(both: Aligned, alpha: float) -> Ints:
    """Count splits that do not share the commonest decision on a pair: first better, second better, or neither."""
    decisions = both.pair_signs(alpha)
    votes = np.stack([(decisions == decision).sum(axis=0) for decision in (1, 0, -1)])
    return np.asarray(len(decisions) - votes.max(axis=0))


def found_over_splits(
    comparisons: Sequence[Comparisons], alphas: Sequence[float] = (0.05, 0.01)
) -> pd.DataFrame:
    """Count significant pairs (V17 Table 4): mean, least and most of the splits, then by majority and by all together.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.
    alphas : sequence of float
        Levels to decide at.

    Returns
    -------
    DataFrame
        One row a level.

    >>> from shardwise.methods.base import Estimates
    >>> from shardwise.comparing.comparisons import compare_estimates
    >>> one = compare_estimates(Estimates(("x", "y"), np.array([0.30, 0.10]), 0.001, 98.0, "these topics"), "bh")
    >>> found_over_splits([one, one])[["pairs", "mean", "unanimous"]]
           pairs  mean  unanimous
    alpha
    0.05       1   1.0          1
    0.01       1   1.0          1
    """
    together, most = unanimous(comparisons), majority(comparisons)
    rows = []
    for alpha in alphas:
        n_significant = np.array([int(c.reject(alpha).sum()) for c in comparisons])
        counts = {"mean": n_significant.mean(), "least": n_significant.min(), "most": n_significant.max()}
        joint = {"majority": int(most.reject(alpha).sum()), "unanimous": int(together.reject(alpha).sum())}
        rows.append({"pairs": len(together), **counts, **joint})
    return pd.DataFrame(rows, index=pd.Index(list(alphas), name="alpha"))


def summary_over_splits(
    comparisons: Sequence[Comparisons],
    whole: Ranking | None = None,
    *,
    alpha: float = 0.05,
    level: float = 0.95,
) -> pd.DataFrame:
    """Summarize figures over splits, with t-intervals (F19 Table 2).

    Rows: ``tau`` with the ranking by the whole collection, ``interval_width`` of the systems' means, ``significant``
    pairs, ``share_significant`` of all pairs, ``common`` pairs that all splits find, and ``share_common``, these over
    the mean number of significant ones. F19 calls its last column the fraction found in common; the printed numbers
    are significant pairs over all pairs. Columns: ``mean, half_width, least, most``.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split; at least two.
    whole : mapping of str to float, Series or array_like, optional
        Means by system of the whole collection, a series, dictionary or DataArray; without them there is no ``tau``.
    alpha : float
        Level to decide at; that of the systems' intervals is 1 - alpha.
    level : float
        Confidence level of the t-intervals.

    Returns
    -------
    DataFrame
        One row a figure.
    """
    if len(comparisons) < 2:
        raise InputError(
            "one split shows no spread", remedy=("give at least two, as with ", Option("n_splits", 10))
        )
    figures: dict[str, list[float]] = {}
    if whole is not None:
        reference = _by_system(whole)
        figures["tau"] = [
            kendall_tau(dict(zip(c.estimates.labels, c.means.tolist(), strict=True)), reference)
            for c in comparisons
        ]
    widths = [c.intervals(1.0 - alpha, "comparison") for c in comparisons]
    figures["interval_width"] = [float((w["upper"] - w["lower"]).mean()) for w in widths]
    figures["significant"] = [float(c.reject(alpha).sum()) for c in comparisons]
    figures["share_significant"] = [n / len(comparisons[0]) for n in figures["significant"]]
    common = int(unanimous(comparisons).reject(alpha).sum())
    rows = {name: _summarize_values(np.array(values), level) for name, values in figures.items()}
    mean_significant = rows["significant"]["mean"]
    rows["common"] = {"mean": float(common)}
    rows["share_common"] = {"mean": common / mean_significant if mean_significant else float("nan")}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "half_width", "least", "most"])


def _summarize_values(values: Floats, level: float) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "half_width": half_width(values, level),
        "least": float(values.min()),
        "most": float(values.max()),
    }


def half_width(values: Floats, level: float = 0.95) -> float:
    """Half the t-interval of a mean, t · sd / sqrt(n); NaN for a single value.

    >>> round(half_width(np.array([1.0, 2.0, 3.0])), 4)
    2.4841
    """
    values = values[~np.isnan(values)]
    if values.size < 2:
        return float("nan")
    t = student_critical(1.0 - level, values.size - 1.0)
    return float(t * values.std(ddof=1) / np.sqrt(values.size))


def _by_system(whole: Ranking) -> Ranking:
    if isinstance(whole, xr.DataArray):
        if whole.dims != ("system",):
            raise InputError(
                f"the ranking of the whole collection has the dimensions {whole.dims}",
                remedy=("give a mean per system", Either(", as in scores.mean('topic')", "")),
            )
        return {
            str(name): float(value) for name, value in zip(whole["system"].values, whole.values, strict=True)
        }
    return whole
