"""Show the items behind the means: where two systems differ, and which items all systems fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shardwise.core.arrays import Bools, Floats
from shardwise.core.errors import InputError, refuse_unknown
from shardwise.core.libraries import pd
from shardwise.core.scores import CLUSTER, TASK, Scores
from shardwise.methods.tables import find_range

OUTCOMES = ("win", "tie", "loss", "missing")
"""What an item is for the first system; "missing" where one of the two has no score there."""
OUTLYING = 3.5
"""Modified z-score from which on an item is an outlier (Iglewicz & Hoaglin 1993)."""
OF_MEDIAN, OF_MEAN = 0.6745, 0.7979
"""Median and mean absolute deviation of normal values with standard deviation 1."""
ROUNDING = 1e-12
"""Differences up to this part of the largest score are rounding."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Items:
    """The items behind the difference of two systems.

    `table` has one row an item, the largest difference first and missing ones last:

    - ``item``, and ``task`` and ``cluster`` where items have them;
    - ``score_a``, ``score_b``: mean over the repeats, shards and splits of the item;
    - ``difference``: score_a − score_b;
    - ``outcome``: "win" where a is better, "loss" where b is, "tie", or "missing";
    - ``contribution``: what the item adds to the difference of the means, difference / items, or
      difference / (tasks × items of the task) where tasks count alike; all add up to `difference`;
    - ``carries_half``: whether it belongs to the fewest items that add up to half of the difference of the means;
    - ``outlier``: whether its difference is far from those of the other items: 0.6745·|d − median| / MAD > 3.5
      (Iglewicz & Hoaglin 1993; the mean absolute deviation where the MAD is 0), never for scores of two values;
    - ``all_fail``, ``all_solve``: whether all systems of the analysis have the lowest or the highest possible score,
      where the range of the scores is known;
    - ``se``, with repeats: the standard error of the difference, √(s²_a/m_a + s²_b/m_b) over the repeats of the item.

    Parameters
    ----------
    a, b : str
        The two systems; wins are a's.
    measure : str
        What the scores are.
    table : DataFrame
        One row an item.
    difference : float
        Difference of the means, a − b, over the items that both have.
    margin : float
        Differences up to this are ties.
    lower_is_better : bool
        Whether small scores are good.
    nouns : mapping
        The user's words for dimensions.
    """

    a: str
    b: str
    measure: str
    table: pd.DataFrame
    difference: float
    margin: float
    lower_is_better: bool
    nouns: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of wins, ties, losses and missing items."""
        numbers = self.table["outcome"].value_counts()
        return {outcome: int(numbers.get(outcome, 0)) for outcome in OUTCOMES}

    @property
    def wins(self) -> pd.DataFrame:
        """Items on which a is better, the largest difference first."""
        return self._rows("win")

    @property
    def ties(self) -> pd.DataFrame:
        """Items on which both are alike."""
        return self._rows("tie")

    @property
    def losses(self) -> pd.DataFrame:
        """Items on which b is better, the largest difference first."""
        return self._rows("loss", worst_first=True)

    @property
    def fixes(self) -> pd.DataFrame:
        """Items that a, as the new system, improves on b: the wins."""
        return self.wins

    @property
    def regressions(self) -> pd.DataFrame:
        """Items on which a, as the new system, is worse than b, the worst first: the losses."""
        return self.losses

    @property
    def carriers(self) -> pd.DataFrame:
        """The fewest items that add up to half of the difference of the means, the largest contribution first."""
        rows = self.table[self.table["carries_half"]]
        return rows.sort_values("contribution", key=abs, ascending=False, kind="stable").reset_index(
            drop=True
        )

    @property
    def outliers(self) -> pd.DataFrame:
        """Items whose difference is far from those of the others, the largest difference first."""
        rows = self.table[self.table["outlier"]]
        return rows.sort_values("difference", key=abs, ascending=False, kind="stable").reset_index(drop=True)

    @property
    def all_fail(self) -> pd.DataFrame:
        """Items on which all systems of the analysis have the lowest possible score."""
        return self.table[self.table["all_fail"]].reset_index(drop=True)

    @property
    def all_solve(self) -> pd.DataFrame:
        """Items on which all systems of the analysis have the highest possible score."""
        return self.table[self.table["all_solve"]].reset_index(drop=True)

    def _rows(self, outcome: str, worst_first: bool = False) -> pd.DataFrame:
        rows = self.table[self.table["outcome"] == outcome]
        return (rows[::-1] if worst_first else rows).reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return all items as one table, the largest difference first.

        Returns
        -------
        DataFrame
            A copy of `table`.
        """
        return self.table.copy()

    def __repr__(self) -> str:
        return f"<Items of {self.a} and {self.b}: {len(self)} by {self.measure}>"


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemMatrix:
    """The scores of all systems on all items, the hardest item first and the best system first.

    Parameters
    ----------
    scores : DataFrame
        Items × systems, indexed by item; means over repeats, shards and splits, NaN where a score is missing.
    table : DataFrame
        One row an item in the same order: ``item``, ``task`` and ``cluster`` where items have them, ``mean`` and ``sd``
        over the systems, ``systems`` that have a score, ``all_fail`` and ``all_solve``.
    measure : str
        What the scores are.
    lower_is_better : bool
        Whether small scores are good.
    nouns : mapping
        The user's words for dimensions.
    errors : DataFrame, optional
        Standard errors of the scores over their repeats, √(s²/m), laid out as `scores`; None without repeats.
    two_valued : bool
        Whether scores are right or wrong, and nothing between.
    """

    scores: pd.DataFrame
    table: pd.DataFrame
    measure: str
    lower_is_better: bool
    nouns: Mapping[str, str]
    errors: pd.DataFrame | None = None
    two_valued: bool = False

    def __len__(self) -> int:
        return len(self.table)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, best first."""
        return tuple(map(str, self.scores.columns))

    @property
    def all_fail(self) -> pd.DataFrame:
        """Items on which all systems have the lowest possible score."""
        return self.table[self.table["all_fail"]].reset_index(drop=True)

    @property
    def all_solve(self) -> pd.DataFrame:
        """Items on which all systems have the highest possible score."""
        return self.table[self.table["all_solve"]].reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures of each item beside its scores, the hardest item first.

        Returns
        -------
        DataFrame
            The columns of `table`, then one for each system.
        """

        return pd.concat([self.table, self.scores.reset_index(drop=True)], axis=1)

    def __repr__(self) -> str:
        return f"<ItemMatrix of {len(self)} items and {len(self.systems)} systems by {self.measure}>"


def list_items(scores: Scores, a: str, b: str, margin: float = 0.0) -> Items:
    """List the items behind the difference of two systems.

    Parameters
    ----------
    scores : Scores
        Scores of all systems that passed the gate, one level of topic an item, perhaps with labels task and cluster.
    a, b : str
        Two systems.
    margin : float
        Differences up to this are ties.

    Returns
    -------
    Items
        The items with their differences.

    >>> values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> names = {"topic": tuple("pqrst"), "system": ("new", "old")}
    >>> table = Scores(values, ("topic", "system"), names).declare(range=(0, 1))
    >>> items = list_items(table, "new", "old")
    >>> items.counts, items.difference, list(items.regressions["item"]), list(items.all_fail["item"])
    ({'win': 2, 'tie': 2, 'loss': 1, 'missing': 0}, 0.2, ['s'], ['r'])
    """

    known = scores.systems
    for name in (a, b):
        if name not in known:
            raise refuse_unknown("system", name, known)
    if a == b:
        raise InputError(f"{a!r} is named twice", remedy="name two systems")
    if not margin >= 0.0:
        raise InputError(f"a margin of {margin:g} is negative", remedy="give 0 or more", argument="margin")
    means = _item_means(scores)
    first, second = known.index(a), known.index(b)
    rounding = ROUNDING * float(np.nanmax(np.abs(means), initial=0.0))
    difference = _drop_rounding(means[:, first] - means[:, second], rounding)
    turned = scores.measure.lower_is_better
    gain = -difference if turned else difference
    contribution = difference * _weigh_items(scores, np.isfinite(difference))
    total = float(_drop_rounding(np.nansum(contribution), rounding))
    fail, solve = _find_extremes(scores, means)
    columns = {
        **_list_labels(scores),
        "score_a": means[:, first],
        "score_b": means[:, second],
        "difference": difference,
        "outcome": np.select(
            [~np.isfinite(gain), gain > margin + rounding, gain < -margin - rounding],
            ["missing", "win", "loss"],
            "tie",
        ).astype(object),
        "contribution": contribution,
        "carries_half": _mark_carriers(contribution, total),
        "outlier": np.zeros(len(difference), bool) if _two_valued(scores) else mark_outliers(difference),
        "all_fail": fail,
        "all_solve": solve,
    }
    if "instance" in scores.dims:
        columns["se"] = np.sqrt(_find_error_variances(scores)[:, [first, second]].sum(axis=1))
    order = np.argsort(-gain, kind="stable")
    table = pd.DataFrame({name: values[order] for name, values in columns.items()})
    return Items(
        a=a,
        b=b,
        measure=scores.measure.name,
        table=table,
        difference=total,
        margin=margin,
        lower_is_better=turned,
        nouns=dict(scores.nouns),
    )


def make_item_matrix(scores: Scores, systems: tuple[str, ...]) -> ItemMatrix:
    """Put the scores of all systems on all items into one matrix, the hardest item first.

    Parameters
    ----------
    scores : Scores
        As for `list_items`.
    systems : tuple of str
        The systems in the order of the columns.

    Returns
    -------
    ItemMatrix
        Scores and the difficulty of each item.

    >>> names = {"topic": tuple("pqr"), "system": ("new", "old")}
    >>> table = Scores(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), ("topic", "system"), names).declare(range=(0, 1))
    >>> matrix = make_item_matrix(table, ("new", "old"))
    >>> list(matrix.scores.index), list(matrix.table["mean"]), list(matrix.all_fail["item"])
    (['q', 'p', 'r'], [0.0, 0.5, 1.0], ['q'])
    """

    places = {name: k for k, name in enumerate(scores.systems)}
    columns_of = [places[name] for name in systems]
    means = _item_means(scores)[:, columns_of]
    scored = np.isfinite(means)
    count = scored.sum(axis=1)
    mean = np.where(scored, means, 0.0).sum(axis=1) / np.where(count > 0, count, np.nan)
    squares = np.where(scored, (means - mean[:, None]) ** 2, 0.0).sum(axis=1)
    sd = np.sqrt(squares / np.where(count > 1, count - 1.0, np.nan))
    turned = scores.measure.lower_is_better
    fail, solve = _find_extremes(scores, means)
    # Items that nobody has a score on come last.
    order = np.argsort(-mean if turned else mean, kind="stable")
    labels = _list_labels(scores)
    columns = {**labels, "mean": mean, "sd": sd, "systems": count, "all_fail": fail, "all_solve": solve}

    def lay_out(values: Floats) -> pd.DataFrame:
        index = pd.Index(labels["item"][order], name="item")
        return pd.DataFrame(values[order], index=index, columns=list(systems))

    return ItemMatrix(
        scores=lay_out(means),
        table=pd.DataFrame({name: values[order] for name, values in columns.items()}),
        measure=scores.measure.name,
        lower_is_better=turned,
        nouns=dict(scores.nouns),
        errors=lay_out(np.sqrt(_find_error_variances(scores)[:, columns_of]))
        if "instance" in scores.dims
        else None,
        two_valued=_two_valued(scores),
    )


def mark_outliers(values: Floats) -> Bools:
    """Mark values far from the others by their modified z-score, 0.6745·|x − median| / MAD > 3.5.

    Where more than half of the values are equal the mean absolute deviation serves: 0.7979·|x − median| / MeanAD
    (Iglewicz & Hoaglin 1993, How to detect and handle outliers).

    Parameters
    ----------
    values : array
        Values, NaN where one is missing.

    Returns
    -------
    array of bool
        Whether each is an outlier.

    >>> mark_outliers(np.array([0.1, -0.1, 0.0, 0.2, -0.2, 5.0, np.nan])).tolist()
    [False, False, False, False, False, True, False]
    """
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(len(values), bool)
    distance = np.abs(values - np.median(values[known]))
    spread, factor = float(np.median(distance[known])), OF_MEDIAN
    if spread == 0.0:
        spread, factor = float(distance[known].mean()), OF_MEAN
    with np.errstate(invalid="ignore"):
        return np.asarray(known & (factor * distance > OUTLYING * spread))


def _item_means(scores: Scores) -> Floats:
    """(T, R) scores over all else: over the repeats that are there, and the shards that the item has for any system."""
    y = scores.topic_rows()
    if not scores.others:
        return y[:, :, 0]
    scored = np.isfinite(y)
    if scored.all():
        return np.asarray(y.mean(axis=2))
    count = scored.sum(axis=2)
    some = scored.any(axis=1, keepdims=True).sum(axis=2)
    needed = 1 if "instance" in scores.dims else np.maximum(some, 1)
    sums = np.where(scored, y, 0.0).sum(axis=2)
    return np.where(count >= needed, sums / np.maximum(count, 1), np.nan)


def _drop_rounding(differences: Floats | np.floating[Any], rounding: float) -> Floats:
    """Differences without their rounding error, so that 0.3 − 0.2 and 0.2 − 0.1 are alike."""
    digits = -int(np.floor(np.log10(rounding))) if rounding > 0.0 else 0
    return np.asarray(np.round(differences, digits))


def _find_error_variances(scores: Scores) -> Floats:
    """(T, R) squared standard errors of the means over repeats, s²/m; NaN where a system has fewer than two."""
    y = scores.mean(*(d for d in scores.others if d != "instance")).topic_rows()
    scored = np.isfinite(y)
    count = scored.sum(axis=2)
    mean = np.where(scored, y, 0.0).sum(axis=2) / np.maximum(count, 1)
    squares = np.where(scored, (y - mean[..., None]) ** 2, 0.0).sum(axis=2)
    variance = squares / np.where(count > 1, count - 1.0, np.nan) / np.maximum(count, 1)
    if scores.deterministic is not None:
        variance[:, scores.deterministic] = 0.0
    return np.asarray(variance)


def _list_labels(scores: Scores) -> dict[str, np.ndarray]:
    """Names of the items, and of their tasks and clusters where they have some."""
    found = {"item": np.array(scores.topics, dtype=object), TASK: scores.tasks, CLUSTER: scores.clusters}
    return {name: labels for name, labels in found.items() if labels is not None}


def _weigh_items(scores: Scores, known: Bools) -> Floats:
    """(T,) weights of the items in the difference of the means, tasks counting alike; NaN of missing items."""
    task = scores.task
    code = np.zeros(len(known), np.int64) if task is None else task
    sizes = np.bincount(code[known], minlength=int(code.max(initial=0)) + 1)
    weights = 1.0 / (max(int((sizes > 0).sum()), 1) * np.maximum(sizes, 1)[code])
    return np.where(known, weights, np.nan)


def _mark_carriers(contribution: Floats, total: float) -> Bools:
    """The fewest items whose contributions add up to half of the total."""
    marks = np.zeros(len(contribution), bool)
    if total == 0.0:
        return marks
    towards = np.where(np.isfinite(contribution), np.sign(total) * contribution, -np.inf)
    order = np.argsort(-towards, kind="stable")
    half = 0.5 * abs(total) * (1.0 - ROUNDING)
    needed = int(np.searchsorted(np.cumsum(np.maximum(towards[order], 0.0)), half)) + 1
    marks[order[:needed]] = True
    return marks


def _find_extremes(scores: Scores, means: Floats) -> tuple[Bools, Bools]:
    """Where all systems that have a score have the lowest possible, or the highest possible one."""
    bounds = find_range(scores)
    if bounds is None:
        return np.zeros(len(means), bool), np.zeros(len(means), bool)
    scored = np.isfinite(means)
    some, unit = scored.any(axis=1), bounds.map_scores(np.where(scored, means, bounds.low))
    fail = np.all((unit <= ROUNDING) | ~scored, axis=1)
    solve = np.all((unit >= 1.0 - ROUNDING) | ~scored, axis=1)
    return np.asarray(some & fail), np.asarray(some & solve)


def _two_valued(scores: Scores) -> bool:
    """Whether scores are right or wrong, and nothing between."""
    values = np.asarray(scores.values, dtype=float)
    values = values[np.isfinite(values)]
    return bool(values.size) and bool(((values == values.min()) | (values == values.max())).all())
