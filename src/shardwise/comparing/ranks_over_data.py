"""Compare systems by their ranks on data sets or topics: Friedman's test, Nemenyi's and Conover's comparisons.

Each topic (data set) ranks the systems, ties sharing the mean of their ranks. Friedman's statistic, corrected for ties,
is (R - 1)(Σ S_j² - T·C)/(A - C) with S_j the sums of ranks, A the sum of squared ranks and C = T·R·(R + 1)²/4 (Conover
1999).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy import special

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.scores import (
    as_scores,
    level_names,
    measure_of,
    nouns_of,
    require_complete,
    require_scores,
)
from shardwise.core.shown import Shown
from shardwise.methods.base import KNOWN_DF, Estimates

TESTS = ("nemenyi", "conover")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankFit(Shown):
    """Ranks of systems over topics, ready for ``sw.compare(fit, "hsd")`` and its critical-difference chart.

    Parameters
    ----------
    labels : tuple of str
        Names of the R systems.
    ranks : array
        (T, R) ranks, 1 for the best score of a topic.
    nouns : dict
        The user's words for topics and systems.
    """

    labels: tuple[str, ...]
    ranks: Floats
    nouns: dict[str, str]

    @property
    def mean_ranks(self) -> pd.Series:
        """Mean rank of each system, the best first."""
        means = pd.Series(
            self.ranks.mean(axis=0), index=pd.Index(self.labels, name="system"), name="mean_rank"
        )
        return means.sort_values(kind="stable")

    @property
    def statistic(self) -> float:
        """Friedman's chi-squared, corrected for ties; NaN where every topic ties all systems."""
        topics, systems = self.ranks.shape
        constant = topics * systems * (systems + 1.0) ** 2 / 4.0
        spread = float((self.ranks**2).sum()) - constant
        sums = self.ranks.sum(axis=0)
        return (
            (systems - 1.0) * (float(sums @ sums) - topics * constant) / spread if spread > 0.0 else math.nan
        )

    @property
    def p(self) -> float:
        """p-value of no difference between any systems, by Iman and Davenport's F."""
        topics, systems = self.ranks.shape
        room = topics * (systems - 1.0) - self.statistic
        if not room > 0.0:
            return 0.0
        f = (topics - 1.0) * self.statistic / room
        return float(special.fdtrc(systems - 1.0, (topics - 1.0) * (systems - 1.0), f))

    def estimates(self, test: str = "nemenyi") -> Estimates:
        """Return mean ranks, counted from the worst so that higher is better, with what differences are measured by.

        Parameters
        ----------
        test : str
            "nemenyi" (the variance of random ranks, no degrees of freedom; with "hsd" Nemenyi's test) or "conover" (the
            variance that the systems leave, Student's t).

        Returns
        -------
        Estimates
            For ``sw.compare(fit, "hsd")`` or ``sw.compare(fit, "holm", test="conover")``.
        """
        validate_choice(test, "test", TESTS)
        topics, systems = self.ranks.shape
        variance, df = systems * (systems + 1.0) / (12.0 * topics), KNOWN_DF
        if test == "conover":
            df = (topics - 1.0) * (systems - 1.0)
            constant = topics * systems * (systems + 1.0) ** 2 / 4.0
            spread = float((self.ranks**2).sum()) - constant
            variance = spread * (1.0 - self.statistic / (topics * (systems - 1.0))) / (topics * df)
        return Estimates(
            self.labels,
            systems + 1.0 - self.ranks.mean(axis=0),
            variance,
            df,
            claim=Claim("topic").sentence({"topic": topics, "system": systems}, self.nouns),
            model=f"ranks on each {self.nouns.get('topic', 'topic')}, {test}",
            nouns=self.nouns,
        )

    def __repr__(self) -> str:
        return f"<RankFit: {self}>"

    def __str__(self) -> str:
        topics, systems = self.ranks.shape
        words = f"Friedman's test of {systems} systems on {topics} topics"
        return f"{words}: chi-squared {self.statistic:.2f}, p {self.p:.3g}"


def rank_systems(scores: Any) -> RankFit:
    """Rank the systems on each topic or data set, for Friedman's test and its comparisons (Demšar 2006).

    Parameters
    ----------
    scores : table
        Any complete table of topics (or data sets) and systems that `as_scores` takes.

    Returns
    -------
    RankFit
        Friedman's statistic, mean ranks, and `estimates` for `compare`.

    >>> fit = rank_systems(np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.8, 0.9, 0.3]]))
    >>> fit.mean_ranks.round(3).tolist(), round(fit.statistic, 3)
    ([1.333, 1.667, 3.0], 4.667)
    """
    table = require_scores(as_scores(scores, only=True), "a test of ranks").transpose("topic", "system")
    ranks = scipy.stats.rankdata(-measure_of(table).sign * require_complete(table), axis=1)
    return RankFit(level_names(table, "system"), np.asarray(ranks, np.float64), nouns_of(table))
