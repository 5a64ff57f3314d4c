"""What an analysis found, computed once; terminal, report, notebook and files only show it."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.analysis.diagnostics import Remark, Residuals
from shardwise.analysis.power import Power
from shardwise.analysis.provenance import Hashed, Recipe
from shardwise.analysis.trust import Trust
from shardwise.comparing.comparisons import Comparisons
from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.claim import counted
from shardwise.core.scores import nouns_of
from shardwise.fits.anova import AnovaFit
from shardwise.procedures.procedure import Procedure

MOST_SHOWN = 12  # systems of a table in a notebook


@dataclass(frozen=True, slots=True, eq=False)
class ClaimResult:
    """All that one claim says about the systems."""

    key: str  # "here" for these topics, "like" for topics like these
    procedure: Procedure
    pairs: Comparisons
    intervals: pd.DataFrame  # index system, best first; estimate, lower, upper
    half: Floats  # half-width of the interval of each pair's difference
    letters: (
        tuple[tuple[str, ...], ...] | None
    )  # groups of each system; None where they are too many to be named
    top: tuple[str, ...]  # the best system and all that are not told from it
    found: int  # pairs told apart

    @property
    def claim(self) -> str:
        """What a difference is about, in words."""
        return self.pairs.claim

    @property
    def uniform(self) -> bool:
        """Whether one critical difference serves all pairs."""
        return bool(np.ptp(self.half) <= 1e-9 * self.half.max(initial=0.0))

    @property
    def critical(self) -> float:
        """The difference from which on a pair is told apart, where one serves all: two half-widths of a mean."""
        first = self.intervals.iloc[0]
        return 2.0 * float(first["upper"] - first["estimate"]) if self.uniform else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class SplitResult:
    """How far one claim's conclusions hold whichever split is used."""

    key: str
    splits: int
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
    title: str
    measure: str
    method: str  # name of the correction, for the methods paragraph
    alpha: float
    fit: AnovaFit  # the analysis of variance that says what scores are made of
    claims: tuple[ClaimResult, ...]
    unsupported: str  # why there is no claim about topics like these, where there is none
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
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, best first."""
        return self.claims[0].pairs.names

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
        nouns = nouns_of(self.scores)
        sizes = " × ".join(counted(int(n), nouns.get(str(d), str(d))) for d, n in self.scores.sizes.items())
        return f"{self.measure}: {sizes}; {self.procedure.name} ({self.lead.pairs.title}), {self.lead.claim}"

    def leaderboard(self, level: float | None = None) -> pd.DataFrame:
        """Return one row a system, best first: `rank, system, mean, lower, upper, lowest, highest, top`.

        Parameters
        ----------
        level
            Level of the intervals of means and ranks; 1 - alpha where it is left out.
        """
        table = self.comparisons.systems(1.0 - self.alpha if level is None else level)
        frame = table.rename(columns={"estimate": "mean"}).reset_index()
        frame["top"] = [name in self.lead.top for name in frame["system"]]
        columns = ["rank", "system", "mean", "lower", "upper", "lowest", "highest", "top"]
        return frame[columns]

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the whole of it as one HTML file.

        Parameters
        ----------
        path
            Where to write it.
        """
        late.call("report", self, path)

    def plot(self, kind: str = "intervals", **options: Any) -> Any:
        """Draw the comparisons that lead: an altair chart.

        Parameters
        ----------
        kind
            As for ``Comparisons.plot``.
        options
            Those of the chart.
        """
        named = {"measure": self.measure, **options} if kind == "intervals" else options
        return self.comparisons.plot(kind, **named)

    def __str__(self) -> str:
        lines = [self.heading(), self.comparisons.summary(self.alpha)]
        lines += [f"beside it, {one.claim}: {one.found} of {len(one.pairs)} pairs differ" for one in self.claims
                  if one.key != self.leads]  # fmt: skip
        return "\n".join([*lines, *(f"note: {one.text}" for one in self.remarks if one.warning)])

    def __repr__(self) -> str:
        return f"<Analysis of {self.heading()}>"

    def _repr_html_(self) -> str:
        """The answer as a notebook shows it: a sentence and the first systems."""
        table = self.leaderboard().head(MOST_SHOWN).to_html(index=False, float_format="{:.4f}".format)
        return f"<p>{html.escape(self.heading())}</p>{table}"
