"""How alike two rankings of systems are, and how sharply a measure tells systems apart.

Compare systems by their ranks on data sets or topics: Friedman's test, Nemenyi's and Conover's comparisons.

Each topic (data set) ranks the systems, ties sharing the mean of their ranks. Friedman's statistic, corrected for ties,
is (R - 1)(Σ S_j² - T·C)/(A - C) with S_j the sums of ranks, A the sum of squared ranks and C = T·R·(R + 1)²/4 (Conover
1999).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.scores import as_scores
from shardwise.methods.paired.statistics import friedman_statistic
from shardwise.stats.intervals import ROUNDING

Ranking: TypeAlias = "Mapping[str, float] | pd.Series | npt.ArrayLike"


def kendall_tau(scores: Ranking, reference: Ranking) -> float:
    """Return Kendall's τ-b between two score vectors of the same systems; without ties it is τ itself.

    Parameters
    ----------
    scores, reference : mapping of str to float, Series or array_like
        Scores of the systems, higher is better: named ones (dict, Series) are matched by name, plain arrays by
        position. Scores that differ by rounding alone are ties.

    Returns
    -------
    float
        The coefficient, from -1 to 1.

    >>> round(kendall_tau({"x": 0.3, "y": 0.2, "z": 0.1}, {"z": 1.0, "y": 3.0, "x": 2.0}), 4)
    0.3333
    """
    x, y = map(_order_pairs, _match_systems(scores, reference))
    n_ordered = [int(np.count_nonzero(order)) for order in (x, y)]
    if 0 in n_ordered:
        raise InputError("all systems have the same score: they have no ranking")
    return int((x * y).sum()) / sqrt(n_ordered[0] * n_ordered[1])


def tau_ap(scores: Ranking, reference: Ranking) -> float:
    """Return τ_AP of a ranking against a reference (Yilmaz, Aslam & Robertson 2008): swaps near the top weigh more.

    2/(N-1)·Σ_i C(i)/(i-1) - 1 over the ranks i = 2…N of `scores`, C(i) the systems above rank i that the reference puts
    above that system too. Not symmetric. With ties, the expected value when they are broken at random
    (Urbano & Marrero 2017, τ_AP,a).

    Parameters
    ----------
    scores : mapping of str to float, Series or array_like
        The ranking to judge, as scores of the systems, as for `kendall_tau`.
    reference : mapping of str to float, Series or array_like
        The ranking it is held against.

    Returns
    -------
    float
        The coefficient, from -1 to 1.

    >>> round(tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), 4)  # one swap at the top: ranks 2, 3, 4 give 0, 1, 1
    0.3333
    >>> round(tau_ap([4, 3, 2, 1], [4, 3, 1, 2]), 4)  # one swap at the bottom: 1, 1, 2/3
    0.7778
    """
    x, y = map(_order_pairs, _match_systems(scores, reference))
    above = x > 0
    agree = (y + 1) / 2  # one half for ties
    level = (x == 0) & ~np.eye(len(x), dtype=bool)
    k = above.sum(axis=1)
    right = (above * agree).sum(axis=1)
    tied = level.sum(axis=1)
    among = (level * agree).sum(axis=1) / np.maximum(tied, 1)
    total = 0.0
    for extra in range(int(tied.max()) + 1):  # systems of the same score that chance puts above
        rank_above = k + extra
        open_ = (extra <= tied) & (rank_above > 0)
        share = (right + extra * among)[open_] / rank_above[open_]
        total += float((share / (tied[open_] + 1)).sum())
    return 2.0 * total / (len(x) - 1) - 1.0


def discriminative_power(
    comparisons: Comparisons | Sequence[Comparisons] | Mapping[str, Comparisons], *, column: str = "p"
) -> pd.DataFrame:
    """Return curves of sorted p-values ("ASL curves", Sakai 2006): `name, rank, share, p`, the smallest p first.

    `share` is the share of pairs up to this rank: the curve read at p = alpha is the discriminative power at alpha.

    Parameters
    ----------
    comparisons : Comparisons, sequence of Comparisons or mapping of str to Comparisons
        One set of comparisons, a sequence of them, or several by name.
    column : str
        Which p-values: ``p`` or ``p_adjusted``.

    Returns
    -------
    DataFrame
        One row a pair of each set of comparisons.
    """

    if column not in {"p", "p_adjusted"}:
        raise InputError(f"{column!r} holds no p-values", remedy="choose p or p_adjusted")
    frames = []
    for name, comparison in _name_comparisons(comparisons).items():
        p = np.sort(getattr(comparison, column))
        rank = np.arange(1, p.size + 1)
        frames.append(pd.DataFrame({"name": name, "rank": rank, "share": rank / p.size, "p": p}))
    return pd.concat(frames, ignore_index=True)


def share_significant(
    comparisons: Comparisons | Sequence[Comparisons] | Mapping[str, Comparisons], alpha: float = 0.05
) -> pd.DataFrame:
    """Count significant pairs, after correction: `pairs, significant, share`, one row per set of comparisons.

    Parameters
    ----------
    comparisons : Comparisons, sequence of Comparisons or mapping of str to Comparisons
        One set of comparisons, a sequence of them, or several by name.
    alpha : float
        Level of the corrected tests.

    Returns
    -------
    DataFrame
        One row a set of comparisons.
    """

    named = _name_comparisons(comparisons)
    n_significant = [int(comparison.reject(alpha).sum()) for comparison in named.values()]
    pairs = [len(comparison) for comparison in named.values()]
    share = np.array(n_significant) / np.array(pairs)
    index = pd.Index(list(named), name="name")
    return pd.DataFrame({"pairs": pairs, "significant": n_significant, "share": share}, index=index)


def _name_comparisons(
    comparisons: Comparisons | Sequence[Comparisons] | Mapping[str, Comparisons],
) -> dict[str, Comparisons]:
    if isinstance(comparisons, Comparisons):
        return {comparisons.title: comparisons}
    if isinstance(comparisons, Mapping):
        return dict(comparisons)
    return {f"{k}: {comparison.title}": comparison for k, comparison in enumerate(comparisons, start=1)}


def _match_systems(scores: Ranking, reference: Ranking) -> tuple[Floats, Floats]:
    """Return both as arrays in one order of systems."""
    x, y = _as_series(scores), _as_series(reference)
    if x.index.has_duplicates or y.index.has_duplicates:
        raise InputError("a system is named twice in a ranking")
    if set(x.index) != set(y.index):
        odd = sorted(map(str, set(x.index) ^ set(y.index)))
        raise InputError(f"the rankings are not of the same systems: {odd[0]!r} is in one only")
    pair = np.asarray(x, dtype=float), np.asarray(y.reindex(x.index), dtype=float)
    if len(x) < 2 or not all(np.isfinite(vector).all() for vector in pair):
        raise InputError("a ranking needs at least two systems, each with a finite score")
    return pair


def _order_pairs(x: Floats) -> Ints:
    """Return (R, R) whether system j ranks above i (1), below it (-1) or is tied with it (0).

    Means that are equal in truth differ in their last digits, as they were summed in different orders.
    """
    above = x[None, :] - x[:, None]
    # of the largest score: a smaller difference is a tie
    return np.where(np.abs(above) <= ROUNDING * np.abs(x).max(), 0, np.sign(above)).astype(np.int64)


def _as_series(scores: Ranking) -> pd.Series[float]:
    if isinstance(scores, Mapping):
        scores = pd.Series(dict(scores))
    return (
        scores.astype(float) if isinstance(scores, pd.Series) else pd.Series(np.asarray(scores, dtype=float))
    )


def friedman_test(scores: Any) -> pd.Series[float]:
    """Test whether any systems differ in their ranks on topics or data sets (Friedman 1937; Demšar 2006).

    Pairs are compared by ``sw.compare(scores, "friedman nemenyi")`` or ``"friedman conover"``.

    Parameters
    ----------
    scores : table
        Any complete table of topics (or data sets) and systems that `as_scores` takes.

    Returns
    -------
    Series
        `statistic`, Friedman's chi-squared corrected for ties (NaN where every topic ties all systems), and `p` by Iman
        and Davenport's F.

    >>> friedman_test(np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.8, 0.9, 0.3]])).round(3).to_dict()
    {'statistic': 4.667, 'p': 0.049}
    """
    y = as_scores(scores, only=True).require_items("a test of ranks").require_complete()
    topics, systems = y.shape
    statistic = float(friedman_statistic(np.asarray(scipy.stats.rankdata(y, axis=1), np.float64)))
    room = topics * (systems - 1.0) - statistic
    f = (topics - 1.0) * statistic / room if room > 0.0 else np.inf
    p = float(special.fdtrc(systems - 1.0, (topics - 1.0) * (systems - 1.0), f))
    return pd.Series({"statistic": statistic, "p": p})
