"""Compare groups of systems: contrasts of their means, with simultaneous intervals.

A contrast is Σ c_a m_a with weights c that add up to 0. With D_ab the variance of the difference of systems a and b,
the covariance of two contrasts c and c' is -½ Σ_ab c_a c'_b D_ab for any method that D comes from.

Where pairs are compared by resampled topics, contrasts are too, in the same resamples: each by the variance of its own
values over topics, all together step-down (Romano & Wolf 2005). Otherwise all contrasts together follow a multivariate
t distribution, from which corrected p-values and simultaneous intervals come (Hothorn, Bretz & Westfall 2008).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arguments import validate_level
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.libraries import pd
from shardwise.core.shown import Shown
from shardwise.methods.pairs import ResampledUnits
from shardwise.stats import student
from shardwise.stats.intervals import ROUNDING, least_two_sided, limit_differences
from shardwise.stats.resampling import topic_counts
from shardwise.stats.stepdown import TIE, find_critical, step_down

DRAWS = 100_000
"""Samples of the multivariate t distribution."""
BLOCK = 2_000
"""Resamples at a time."""
Groups = tuple[Sequence[str], Sequence[str]]
"""Systems of the first and of the second group."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Contrasts(Shown):
    """Contrasts of system means, of the same claim and method as the comparisons that they come from.

    Parameters
    ----------
    table : DataFrame
        `contrast, estimate, lower, upper, se, df, statistic, p, p_adjusted`.
    weights : DataFrame
        Weights of the systems, a row a contrast.
    level : float
        Level of the intervals, which hold at once.
    claim : str
        What the contrasts are about, in words.
    """

    table: pd.DataFrame
    weights: pd.DataFrame
    level: float
    claim: str

    def __len__(self) -> int:
        return len(self.table)

    def __str__(self) -> str:
        found = int((self.table["p_adjusted"] <= 1.0 - self.level).sum())
        alpha = f"{1.0 - self.level:.2g}"
        return (
            f"{found} of {len(self)} contrasts differ significantly from 0 (p < {alpha}, corrected);"
            f" claim: {self.claim}"
        )


def compare_groups(
    pairs: Comparisons, groups: Mapping[str, Any], *, level: float = 0.95, seed: int = 0
) -> Contrasts:
    """Compare groups of systems by contrasts of their means."""

    alpha = 1.0 - validate_level(level, "level")
    names = pairs.names
    if not groups:
        raise InputError("no contrast is named", remedy="name two groups of systems", argument="groups")
    weights = np.stack([_weigh(name, group, names) for name, group in groups.items()])
    # variances of the differences of all systems, and the fewest degrees of freedom of any
    if not pairs.complete:
        raise InputError("contrasts need every pair of systems", remedy=("leave out ", Option("baseline")))
    if not (np.isfinite(pairs.se).all() and np.isfinite(pairs.df).all()):
        raise InputError(
            f"{pairs.title} has no standard errors of differences",
            remedy=("use ", Option("method", "moderated")),
        )
    place = {system: k for k, system in enumerate(names)}
    labels = pairs.estimates.labels
    square = np.zeros((len(place), len(place)))
    a = [place[labels[k]] for k in pairs.ia]
    b = [place[labels[k]] for k in pairs.ib]
    square[a, b] = square[b, a] = pairs.se**2
    variances, df = square, float(pairs.df.min())
    means = np.array([pairs.means[labels.index(name)] for name in names])
    estimate = weights @ means
    estimate = np.where(np.abs(estimate) <= ROUNDING * np.abs(weights) @ np.abs(means), 0.0, estimate)
    resampled = pairs.pairs.resampled
    if resampled is not None and np.allclose(resampled.scores.mean(axis=0), means, rtol=1e-9, atol=0.0):
        figures = _resample_contrasts(weights, estimate, resampled, alpha)
    else:
        figures = _draw_contrasts(weights, estimate, variances, df, alpha, seed)
    se, half = figures["se"], figures.pop("critical") * figures["se"]
    # contrasts are differences of two scores of the same range: the groups' means
    positive, negative = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    scale, bounded = positive.sum(axis=1), pairs.estimates.bounded
    if bounded is not None:
        chosen = [labels.index(name) for name in names]
        sides = np.concatenate([positive, negative]) / np.tile(scale, 2)[:, None]
        bounded = replace(bounded, scores=bounded.scores[:, chosen] @ sides.T, systems=())
    index = np.arange(len(weights))
    lower, upper = limit_differences(
        bounded,
        (index, index + len(weights)),
        (estimate / scale, se / scale, figures["df"]),
        ((estimate - half) / scale, (estimate + half) / scale),
        figures["p_adjusted"] <= alpha,
        alpha,
    )
    limits = {"estimate": estimate, "lower": scale * lower, "upper": scale * upper}
    table = pd.DataFrame({"contrast": list(groups), **limits, **figures})
    frame = pd.DataFrame(weights, index=pd.Index(list(groups), name="contrast"), columns=list(names))
    return Contrasts(table, frame, level, pairs.claim)


def _resample_contrasts(
    weights: Floats, estimate: Floats, resampled: ResampledUnits, alpha: float
) -> dict[str, Floats]:
    """Return standard errors, statistics, p-values and critical values (K,) from the resamples of the pairs.

    Each contrast has the variance of its own values over topics, which is not shrunk: contrasts differ in it.
    """
    units = len(resampled.scores)
    values = resampled.scores @ weights.T
    values = values - values.mean(axis=0)
    values[np.abs(values) <= ROUNDING * np.abs(resampled.scores) @ np.abs(weights.T)] = 0.0
    se = np.sqrt((values**2).sum(axis=0) / (units - 1.0) / units)
    t = student.t_statistic(estimate, se) / resampled.care
    drawn = np.empty((resampled.n_resamples, len(t)))
    for first in range(0, resampled.n_resamples, BLOCK):
        size = min(BLOCK, resampled.n_resamples - first)
        counts = topic_counts(units, resampled.key, first, size).astype(np.float64)
        shift, squares = counts @ values / units, counts @ values**2 / units
        spread = np.sqrt(np.maximum(squares - shift**2, 0.0) / (units - 1.0))
        np.divide(shift, spread, out=drawn[first : first + size], where=spread > 0.0)
        drawn[first : first + size][spread <= 0.0] = 0.0
    single = ((np.abs(drawn) >= np.abs(t) * (1.0 - TIE)).sum(axis=0) + 1.0) / (len(drawn) + 1.0)
    least = np.where((se == 0.0) & (estimate != 0.0), least_two_sided(units), 0.0)
    df = np.full(len(t), units - 1.0)
    largest = np.abs(drawn).max(axis=1)
    critical = (
        np.maximum(find_critical(np.sort(largest), alpha), student.student_critical(alpha, df))
        * resampled.care
    )
    return {
        "se": se,
        "df": df,
        "statistic": t * resampled.care,
        "p": np.maximum(single, least),
        "p_adjusted": np.maximum(step_down(t, drawn), least),
        "critical": critical,
    }


def _draw_contrasts(
    weights: Floats, estimate: Floats, variances: Floats, df: float, alpha: float, seed: int
) -> dict[str, Floats]:
    """Return standard errors, statistics, p-values and critical values (K,) by a multivariate t distribution."""
    covariance = -0.5 * weights @ variances @ weights.T
    se = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    t = student.t_statistic(estimate, se)
    # largest |t| of all contrasts in each sample of their multivariate t distribution
    scale = np.where(se > 0.0, se, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    # contrasts that depend on one another leave eigenvalues of rounding alone, whose roots would be seen
    root = vectors * np.sqrt(np.where(values > ROUNDING * values.max(), values, 0.0))
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(DRAWS, len(se))) @ root.T
    spread = np.sqrt(rng.chisquare(df, DRAWS) / df) if math.isfinite(df) else np.ones(DRAWS)
    maxima = np.asarray(np.abs(normal).max(axis=1) / spread)
    adjusted = np.array([(1 + int((maxima >= abs(x) * (1.0 - TIE)).sum())) / (DRAWS + 1) for x in t])
    single = student.two_sided(t, np.full(len(t), df))
    critical = (
        float(np.quantile(maxima, 1.0 - alpha, method="higher"))
        if len(t) > 1
        else float(student.student_critical(alpha, df))
    )
    return {
        "se": se,
        "df": np.full(len(t), df),
        "statistic": t,
        "p": single,
        "p_adjusted": np.maximum(adjusted, single) if len(t) > 1 else single,
        "critical": np.full(len(t), critical),
    }


def _weigh(name: str, group: Any, names: Sequence[str]) -> Floats:
    """Weights of the systems in a contrast."""
    weights = np.zeros(len(names))
    place = {system: k for k, system in enumerate(names)}

    def find(system: str) -> int:
        if system not in place:
            raise refuse_unknown("contrast", system, names, what="system")
        return place[system]

    if isinstance(group, Mapping):
        for system, weight in group.items():
            weights[find(system)] = float(weight)
    else:
        first, second = group
        if not first or not second or set(first) & set(second):
            raise InputError(
                f"contrast {name!r} needs two groups without a common system",
                remedy="name systems on both sides",
            )
        for systems, sign in ((first, 1.0), (second, -1.0)):
            for system in systems:
                weights[find(system)] += sign / len(systems)
    if not np.abs(weights).sum() > 0.0 or abs(weights.sum()) > 1e-9 * np.abs(weights).sum():
        raise InputError(
            f"the weights of contrast {name!r} add up to {weights.sum():g}", remedy="make them add up to 0"
        )
    return weights


def parse_contrast(text: str, systems: Sequence[str]) -> tuple[str, Groups]:
    """Parse a contrast as it is typed.

    >>> parse_contrast("dense: a b vs bm25", ["a", "b", "bm25"])
    ('dense', (['a', 'b'], ['bm25']))
    >>> parse_contrast("model x, b vs bm25", ["model x", "b", "bm25"])[1]
    (['model x', 'b'], ['bm25'])
    """
    sides = text.split(" vs ")
    if len(sides) != 2:
        raise InputError(
            f"contrast {text!r} does not name two groups",
            remedy="write 'name: a b vs c d'",
            argument="contrast",
        )
    head, _, rest = sides[0].rpartition(": ")
    groups = []
    for side in (rest, sides[1]):
        whole = side.strip()
        words = (
            [whole]
            if whole in systems
            else [w.strip() for w in (whole.split(",") if "," in whole else whole.split())]
        )
        for word in words:
            if word not in systems:
                raise refuse_unknown("contrast", word, systems, what="system")
        groups.append(words)
    return head.strip() or text.strip(), (groups[0], groups[1])
