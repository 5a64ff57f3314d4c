"""How to spend judgments: many topics judged a little, or few judged deep, and what they can tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shardwise.core import late
from shardwise.core.arguments import Progress
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.core.shown import Shown
from shardwise.io.collection import Collection
from shardwise.planning.pools import Barren, judge_pools, variance_for
from shardwise.planning.topics import choose_planned_test, min_diff_at, width_at


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JudgmentPlan(Shown):
    """What a number of judgments can tell apart, by the depth of the pool.

    ``table`` has one row a measure and depth: the ``topics`` that the judgments pay for, ``judgments`` spent on them,
    the smallest ``min_diff`` they find with the power wanted, the same if the doubt about the variance counts
    (``min_diff_assured``), and the ``width`` of the confidence interval of a difference; NaN where they pay for fewer
    than 2 topics.
    """

    table: pd.DataFrame
    judgments: float
    topic_cost: float
    systems: int
    alpha: float
    power: float
    notes: tuple[str, ...]

    def best(self) -> pd.DataFrame:
        """Return for each measure the depth that finds the smallest difference.

        Returns
        -------
        DataFrame
            One row a measure.
        """
        rows = self.table.groupby("measure", sort=False)["min_diff"].idxmin()
        return self.table.loc[rows].reset_index(drop=True)

    def sentences(self) -> tuple[str, ...]:
        """Return the answer in words, a sentence for each measure.

        Returns
        -------
        tuple of str
            The sentences.
        """
        return tuple(self._describe_depth(str(row["measure"]), row) for _, row in self.best().iterrows())

    def _describe_depth(self, measure: str, best: pd.Series) -> str:
        among = "two systems" if self.systems == 2 else f"best and worst of {self.systems} systems"
        sentence = (
            f"{measure}: {self.judgments:,.0f} judgments are best spent on {format_count(int(best['topics']), 'topic')}"
            f" judged to depth {best['depth']:.0f} ({best['pooled']:.0f} documents each): they find a difference of"
            f" {best['min_diff']:.3f} between {among} with power {self.power:g} at level {self.alpha:g}"
        )
        rows = self.table[(self.table["measure"] == measure) & self.table["min_diff"].notna()]
        worst = rows.iloc[int(rows["min_diff"].to_numpy().argmax())]
        if worst["depth"] == best["depth"]:
            return sentence
        rest = f"{format_count(int(worst['topics']), 'topic')} find {worst['min_diff']:.3f}"
        return f"{sentence}; at depth {worst['depth']:.0f}, {rest}"

    def plot(self) -> Any:
        """Draw the smallest difference found against the depth of the pool: an altair chart.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self)

    def __str__(self) -> str:
        return "\n".join(
            [*self.sentences(), self.table.to_string(index=False), *(f"- {note}" for note in self.notes)]
        )


def plan_judgments(
    collections: Collection | Sequence[Collection],
    judgments: float,
    depths: Iterable[int] = (5, 10, 20, 30, 50, 100),
    measure: Any = "AP",
    *,
    topic_cost: float = 0.0,
    systems: int = 2,
    alpha: float = 0.05,
    power: float = 0.8,
    method: str = "moderated",
    variance_method: str | None = None,
    no_relevant: Barren = "drop",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> JudgmentPlan:
    """Say what a number of judgments can tell apart with pools of several depths (S14 §5.4 turned round).

    A topic costs the documents in its pool and ``topic_cost``; the judgments pay for as many topics as they can.

    Parameters
    ----------
    collections : Collection or sequence of Collection
        Runs that were judged deeper than the depths to try: one collection, or several of a kind, whose variances are
        pooled (S14 §4.4).
    judgments : float
        How many judgments there are to spend.
    depths : iterable of int
        Pool depths to try.
    measure : object
        One measure or several.
    topic_cost : float
        What a topic costs beside its judgments, in judgments: writing it, training assessors.
    systems : int
        How many systems are to be compared.
    alpha : float
        Level of the test.
    power : float
        Probability of finding the difference.
    method : str
        The planned test, as for `topics_for_power`.
    variance_method : str, optional
        How the variance is estimated, as for `variance`; if None, as the planned test needs it.
    no_relevant : {"drop", "zero"}
        As for `pool_depth_study`.
    jobs : int, optional
        Number of threads that score; all processors, if None.
    progress : callable, optional
        Called with (pools scored, pools in all).

    Returns
    -------
    JudgmentPlan
        The smallest difference that each depth detects.

    >>> from shardwise.lab.simulate_collection import simulate_collection
    >>> made = simulate_collection(topics=20, systems=6, depth=100, corpus=5000, relevant=30, seed=2)
    >>> plan = plan_judgments(made.collection(), 2000, depths=[10, 50])
    >>> print(plan.sentences()[0])
    AP: 2,000 judgments are best spent on 75 topics judged to depth 10 (26 documents each): they find a
    difference of 0.081 between two systems with power 0.8 at level 0.05; at depth 50, 16 topics find 0.159
    """
    for name, value, least in (("judgments", judgments, 1.0), ("topic_cost", topic_cost, 0.0)):
        if not (np.isfinite(value) and value >= least):
            raise InputError(f"{name} = {value:g}: it must be {least:g} or more", argument=name, value=value)
    pools = judge_pools(
        collections, depths, measure, variance_for(method, variance_method), no_relevant, jobs, progress
    )
    choose_planned_test(method, np.array([float(systems)]), pools.estimates)
    table = pools.table
    topics = np.floor(judgments / (table["pooled"].to_numpy() + topic_cost))
    paid = topics >= 2
    if not paid.any():
        cheapest = 2 * (float(table["pooled"].min()) + topic_cost)
        raise InputError(
            f"{judgments:g} judgments do not pay for 2 topics, which take {cheapest:.0f}",
            remedy="give more judgments, or shallower pools",
            argument="judgments",
            value=judgments,
        )
    n, doubt = topics[paid], np.array([estimate.effective_df for estimate in pools.estimates])[paid]
    how: Any = {"n": n, "variance": table["variance"].to_numpy()[paid], "alpha": alpha}
    test: Any = {**how, "systems": systems, "power": power, "method": method}
    sure = np.isfinite(doubt)
    assured = np.full(len(n), np.nan)
    if sure.any():
        only = {name: value[sure] if isinstance(value, np.ndarray) else value for name, value in test.items()}
        assured[sure] = min_diff_at(**only, df=doubt[sure])
    figures = {"min_diff": min_diff_at(**test), "min_diff_assured": assured, "width": width_at(**how)}
    table = table.assign(topics=topics.astype(int), judgments=np.rint(topics * table["pooled"]).astype(int))
    for name, values in figures.items():
        column = np.full(len(table), np.nan)
        column[paid] = values
        table[name] = column
    return JudgmentPlan(table, judgments, topic_cost, systems, alpha, power, pools.notes)
