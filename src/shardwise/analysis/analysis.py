"""What an analysis found, computed once; terminal, report, notebook and files only show it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.analysis import answer
from shardwise.analysis.diagnostics import Remark, Residuals
from shardwise.analysis.figures import decimals_for
from shardwise.analysis.power import Power
from shardwise.analysis.provenance import Hashed, Recipe
from shardwise.analysis.reasons import why
from shardwise.analysis.trust import Trust
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.split_noise import SplitNoise
from shardwise.core import late
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import counted, plural
from shardwise.core.errors import InputError
from shardwise.core.scores import nouns_of
from shardwise.methods.anova.fit import AnovaFit
from shardwise.methods.procedure import Procedure
from shardwise.stats.groups import letter

if TYPE_CHECKING:
    from shardwise.analysis.leaderboard import Leaderboard


MOST_GROUPS = 12
"""Groups that letters explain; beyond these rank ranges say it better."""


@dataclass(frozen=True, eq=False)
class ClaimResult:
    """All that one claim says about the systems; every figure is that of its comparisons.

    Parameters
    ----------
    key : str
        "here" for these topics, "like" for similar topics and wider claims.
    procedure : Procedure
        What was run.
    pairs : Comparisons
        What came out.
    alpha : float
        Level of significance.
    order : tuple of str
        The systems in the order of the analysis; that of the comparisons without it.
    """

    key: str
    procedure: Procedure
    pairs: Comparisons
    alpha: float
    order: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The systems in the order of the analysis."""
        return self.order or self.pairs.names

    @property
    def claim(self) -> str:
        """What a difference is about, in words."""
        return self.pairs.claim

    @property
    def best(self) -> str:
        """The system with the highest mean."""
        return self.pairs.names[0]

    @cached_property
    def found(self) -> int:
        """Number of significant pairs."""
        return int(self.pairs.reject(self.alpha).sum())

    @cached_property
    def top(self) -> tuple[str, ...]:
        """The best set, empty where not all pairs were compared."""
        return self.pairs.best(self.alpha) if self.pairs.complete else ()

    @property
    def may_be_best(self) -> bool:
        """Whether the best set holds the best system with probability 1 - alpha."""
        return bool(self.top) and self.pairs.error_rate == "family"

    @property
    def comparison(self) -> bool:
        """Whether there are comparison intervals."""
        return self.pairs.has_comparison_intervals

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Confidence intervals of the systems' means, for tables."""
        return self.pairs.intervals(1.0 - self.alpha).loc[list(self.names)]

    @cached_property
    def bars(self) -> pd.DataFrame:
        """Comparison intervals for charts, or confidence intervals of the means where there are none."""
        kind = "comparison" if self.comparison else "mean"
        return self.pairs.intervals(1.0 - self.alpha, kind).loc[list(self.names)]

    @cached_property
    def half(self) -> Floats:
        """Half-width of the interval of each pair's difference, NaN where the test has none."""
        return self.pairs.half_widths(1.0 - self.alpha)

    @cached_property
    def letters(self) -> tuple[tuple[str, ...], ...] | None:
        """Letters of each system in the order of the analysis; None with too many groups, or without all pairs."""
        try:
            groups = self.pairs.groups(self.alpha, MOST_GROUPS)
        except InputError:
            return None
        if len(groups) > MOST_GROUPS:
            return None
        letters: dict[str, list[str]] = {name: [] for name in self.pairs.names}
        for k, group in enumerate(groups):
            for name in group:
                letters[name].append(letter(k))
        return tuple(tuple(letters[name]) for name in self.names)

    @property
    def n_resamples(self) -> int | None:
        """Resamples behind the p-values, where they come from resamples."""
        return self.pairs.resamples

    @property
    def resolution(self) -> float:
        """Smallest corrected p-value that the resamples can show."""
        return self.pairs.resolution

    @cached_property
    def critical(self) -> float:
        """The difference from which on a pair is significant, NaN where no one figure serves all pairs."""
        return self.pairs.critical_difference(self.alpha)

    @property
    def uniform(self) -> bool:
        """Whether one critical difference serves all pairs."""
        return self.critical == self.critical and (self.comparison or len(self.pairs) == 1)

    def places(self, systems: tuple[str, ...]) -> tuple[Ints, Ints]:
        """Places of the two systems of each pair among others' order of the systems."""
        place = {name: k for k, name in enumerate(systems)}
        own = np.array([place.get(name, -1) for name in self.pairs.estimates.labels], dtype=np.int64)
        return own[self.pairs.ia], own[self.pairs.ib]

    def directions(self, systems: tuple[str, ...]) -> Ints:
        """(R, R): 1 where the system of the row is significantly better, -1 where it is worse, 0 where neither."""
        a, b = self.places(systems)
        sign = self.pairs.directions(self.alpha)
        square = np.zeros((len(systems), len(systems)), dtype=np.int64)
        square[a, b], square[b, a] = sign, -sign
        return square

    def reject(self) -> Bools:
        """Whether each pair is significant."""
        return self.pairs.reject(self.alpha)

    def found_beyond(self, other: ClaimResult) -> int:
        """Number of pairs that are significant here, and not in the same direction for the other claim."""
        names = self.pairs.names
        own, others = self.directions(names), other.directions(names)
        return int(((own != 0) & (own != others)).sum()) // 2

    def in_order(self, names: tuple[str, ...]) -> ClaimResult:
        """The same, with systems shown in this order."""
        return replace(self, order=names)

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
        title = self.procedure.plain_title
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

    def to_dict(self) -> dict[str, float]:
        """Return means, differences, intervals and corrected p-values as one flat dictionary, for trackers.

        Returns
        -------
        dict of str to float
            Keys such as ``mean/bm25`` and ``difference/dense/bm25``.
        """
        figures: dict[str, float] = late.call("flat_figures", self)
        return figures

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
