"""What an analysis found, computed once; terminal, report, notebook and files only show it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.analysis import answer
from shardwise.analysis.diagnostics import Remark, Residuals
from shardwise.analysis.figures import decimals_for
from shardwise.analysis.power import Power
from shardwise.analysis.provenance import Hashed, Recipe
from shardwise.analysis.reasons import plain_title, why
from shardwise.analysis.trust import Trust
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.split_noise import SplitNoise
from shardwise.core import late
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import counted, plural
from shardwise.core.scores import nouns_of
from shardwise.methods.anova.fit import AnovaFit
from shardwise.procedures.procedure import Procedure

if TYPE_CHECKING:
    from shardwise.analysis.leaderboard import Leaderboard


@dataclass(frozen=True, slots=True, eq=False)
class ClaimResult:
    """All that one claim says about the systems."""

    key: str  # "here" for these topics, "like" for topics like these and wider claims
    procedure: Procedure
    pairs: Comparisons
    intervals: pd.DataFrame  # index system, in the order of the analysis; estimate, lower, upper
    comparison: (
        bool  # whether these are comparison intervals; else confidence intervals of each mean by itself
    )
    half: Floats  # half-width of the interval of each pair's difference, NaN where the test has none
    letters: (
        tuple[tuple[str, ...], ...] | None
    )  # groups of each system, in the order of the analysis; None where they are too many to be named
    top: tuple[str, ...]  # the best system and all that are not told from it; empty where it did not meet all
    may_be_best: bool  # whether `top` is Hsu's group, which holds the best with probability 1 - alpha
    found: int  # pairs told apart
    alpha: float
    n_resamples: int | None  # of a test that draws
    resolution: float  # smallest corrected p-value that its resamples can show; 0 where none are drawn

    @property
    def claim(self) -> str:
        """What a difference is about, in words."""
        return self.pairs.claim

    @property
    def best(self) -> str:
        """The system with the highest mean."""
        return self.pairs.names[0]

    @property
    def uniform(self) -> bool:
        """Whether one critical difference serves all pairs."""
        alike = bool(np.ptp(self.half) <= 1e-9 * self.half.max(initial=0.0))
        return alike and (self.comparison or len(self.pairs) == 1)

    @property
    def critical(self) -> float:
        """The difference from which on a pair is told apart, where one serves all: two half-widths of a mean."""
        if not self.uniform:
            return float("nan")
        if not self.comparison:
            return float(self.half[0])
        first = self.intervals.iloc[0]
        return 2.0 * float(first["upper"] - first["estimate"])

    def places(self, systems: tuple[str, ...]) -> tuple[Ints, Ints]:
        """Places of the two systems of each pair among others' order of the systems."""
        place = {name: k for k, name in enumerate(systems)}
        own = np.array([place.get(name, -1) for name in self.pairs.estimates.labels], dtype=np.int64)
        return own[self.pairs.ia], own[self.pairs.ib]

    def directions(self, systems: tuple[str, ...]) -> Ints:
        """(R, R): 1 where the system of the row is told to be better, -1 where it is worse, 0 where neither."""
        a, b = self.places(systems)
        sign = np.where(self.reject(), np.where(self.pairs.difference < 0.0, -1, 1), 0)
        square = np.zeros((len(systems), len(systems)), dtype=np.int64)
        square[a, b], square[b, a] = sign, -sign
        return square

    def reject(self) -> Bools:
        """Whether each pair is told apart."""
        return self.pairs.reject(self.alpha)

    def found_beyond(self, other: ClaimResult) -> int:
        """Number of pairs that this claim tells apart, and the other does not tell apart in the same direction."""
        names = self.pairs.names
        own, others = self.directions(names), other.directions(names)
        return int(((own != 0) & (own != others)).sum()) // 2

    def in_order(self, names: tuple[str, ...]) -> ClaimResult:
        """The same, with intervals and letters of the systems in this order."""
        own = dict(zip(self.pairs.names, self.letters or (), strict=False))
        letters = None if self.letters is None else tuple(own[name] for name in names)
        return replace(self, intervals=self.intervals.loc[list(names)], letters=letters)

    def same_pairs(self, other: ClaimResult) -> bool:
        """Whether both claims have the same corrected p-values."""
        return bool(np.array_equal(self.pairs.p_adjusted, other.pairs.p_adjusted))


@dataclass(frozen=True, slots=True, eq=False)
class SplitResult:
    """How far one claim's conclusions hold whichever split is used."""

    key: str
    procedure: Procedure  # which every split was put to by itself
    splits: int
    noise: SplitNoise | None  # None for tests without standard errors
    summary: pd.DataFrame  # interval_width, significant, share_significant, common, share_common
    agreement: pd.DataFrame  # AA AD PA PD PAA PPA: mean, half_width
    divided: pd.DataFrame  # 0:11, 1:10, …: pairs, share
    common: int  # pairs that every split tells apart, in the same order
    pairs: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Analysis:
    """Which systems differ, what may be claimed, and how far that can be trusted.

    ``claims`` holds the result for these topics first and that for topics like these after it, as far as the procedure
    speaks of them; `comparisons` is the one that leads.
    """

    scores: xr.DataArray  # as they came through the gate
    analysed: (
        xr.DataArray
    )  # what the claim that leads rests on: without gaps that are filled, or the first split alone
    baselines: tuple[str, ...]  # with which all others were compared; empty where all pairs were
    title: str
    measure: str
    method: str  # name of the correction, for the methods paragraph
    alpha: float
    fit: AnovaFit  # the analysis of variance that says what scores are made of
    claims: tuple[ClaimResult, ...]
    unsupported: str  # why there is no claim about topics like these, where there is none
    repeats: str  # what instances were taken for, and why; empty where there are none
    splits: tuple[SplitResult, ...]  # empty for a single split
    power: Power | None
    trust: Trust
    residuals: Residuals
    remarks: tuple[Remark, ...]
    notes: tuple[str, ...]  # what the reader of the files decided and counted
    configuration: Mapping[str, Any]
    inputs: tuple[Hashed, ...]
    versions: Mapping[str, str]
    recipe: Recipe | None  # the command, where it was one
    leads: str  # key of the claim that leads
    instead: tuple[ClaimResult, ...]  # answers by what keeps its promise, where a procedure is shown not to

    @property
    def lead(self) -> ClaimResult:
        """The result that leads: of topics like these, unless another claim was asked for."""
        return next(one for one in self.claims if one.key == self.leads)

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons that lead."""
        return self.lead.pairs

    @property
    def procedure(self) -> Procedure:
        """The procedure that leads."""
        return self.lead.procedure

    @property
    def leading(self) -> tuple[ClaimResult, ...]:
        """The results, that of the claim that leads first."""
        return tuple(sorted(self.claims, key=lambda one: one.key != self.leads))

    @property
    def shown(self) -> tuple[ClaimResult, ...]:
        """The results that say different things: the leading one alone where the other has the same p-values."""
        first, *others = self.leading
        return (first, *(one for one in others if not one.same_pairs(first)))

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, best first for the claim that leads."""
        return self.lead.pairs.names

    @property
    def n_splits(self) -> int:
        """Number of splits of the documents."""
        return int(self.scores.sizes.get("split", 1))

    @property
    def decimals(self) -> int:
        """Digits after the point that scores and differences are shown with."""
        return decimals_for(self.claims)

    def noun(self, dimension: str) -> str:
        """Return the user's word for a dimension: ``question`` for topic.

        Parameters
        ----------
        dimension
            One of ours, such as topic.
        """
        return nouns_of(self.scores).get(dimension, dimension)

    def nouns_for(self, dimension: str) -> str:
        """Return the user's word for many levels of a dimension: ``questions`` for topic.

        Parameters
        ----------
        dimension
            One of ours, such as topic.
        """
        return plural(self.noun(dimension))

    def counted(self, n: int, dimension: str) -> str:
        """Return a number of levels of a dimension in the user's words: ``200 questions``.

        Parameters
        ----------
        n
            How many.
        dimension
            One of ours, such as topic.
        """
        return counted(n, self.noun(dimension))

    @property
    def topics(self) -> int:
        """Number of topics."""
        return int(self.fit.scores.sizes["topic"])

    @property
    def shards(self) -> int:
        """Number of shards; 1 for the whole collection."""
        return int(self.fit.scores.sizes.get("shard", 1))

    def heading(self) -> str:
        """One line: the measure, how many of what were analysed, the procedure and its claim."""
        dims = sorted(self.scores.sizes, key=lambda d: d not in ("topic", "system"))  # "split" may come first
        sizes = " × ".join(self.counted(int(self.scores.sizes[d]), str(d)) for d in dims)
        title = plain_title(self.procedure)
        return f"{self.measure}: {sizes}; {self.procedure.name} ({title}), {self.lead.claim}"

    def why(self) -> str:
        """What the procedure that leads is good for, in one clause."""
        return why(self.procedure, nouns_of(self.scores))

    def leaderboard(self, baseline: str | Sequence[str] | None = None) -> Leaderboard:
        """Return the systems, best first, with their ranks, the ranks they may have, and their means.

        Parameters
        ----------
        baseline
            A system, or several, with which all others are compared besides.
        """
        board: Leaderboard = late.call("leaderboard", self, baseline=baseline)
        return board

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the whole of it as one HTML file.

        Parameters
        ----------
        path
            Where to write it.
        """
        late.call("report", self, path)

    def paper(self, folder: str | os.PathLike[str], columns: int | None = None) -> None:
        """Write table.tex, figure.pdf, figure.svg, methods.tex, refs.bib and numbers.tex for a paper.

        Parameters
        ----------
        folder
            Where to; it is made where it is missing.
        columns
            1 for a table of one column, 2 for one across the page; by the width that it needs without it.
        """
        late.call("paper", folder, self, columns=columns)

    def plot(self, kind: str = "intervals", **options: Any) -> Any:
        """Draw the comparisons that lead: an altair chart.

        Parameters
        ----------
        kind
            As for ``Comparisons.plot``.
        options
            Those of the chart.
        """
        named = {"measure": self.measure, **options} if kind in ("intervals", "cd") else options
        return self.comparisons.plot(kind, **named)

    def __str__(self) -> str:
        told = [
            f"{answer.capital(answer.subject(one, self))}: {answer.pairs_sentence(one, self)}"
            for one in self.shown
        ]
        splits = answer.splits_sentence(self)
        warnings = [f"Warning: {one.sentence}" for one in self.remarks if one.warning]
        lines = [
            self.heading(),
            f"{self.procedure.name}: {self.why()}",
            answer.capital(self.repeats),
            answer.headline(self),
            *told,
            *(answer.instead_sentence(one, self) for one in self.instead),
            splits,
            *warnings,
        ]
        return "\n".join(line for line in lines if line)

    def __repr__(self) -> str:
        return f"<Analysis of {self.heading()}>"

    def _repr_html_(self) -> str:
        """The answer as a notebook shows it: what was done, a sentence, the first systems, and a chart."""
        text: str = late.call("notebook_answer", self)
        return text
