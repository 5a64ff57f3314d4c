"""Rank systems: one row a system with its rank range, its mean, and its difference to the best and to baselines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.analysis.analysis import Analysis, PairResult
from shardwise.analysis.slices import VERDICTS
from shardwise.comparing.compare import run_procedure
from shardwise.comparing.comparisons import Comparisons
from shardwise.core import late
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.io.atomic import write_atomically
from shardwise.methods.pairs import list_baselines

FIGURES = ("rank", "rank_best", "rank_worst", "mean", "lower", "upper")
"""Figures of a system by one measure."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leaderboard:
    """Systems, best first, with intervals of their ranks and of their means.

    `table` has `rank, rank_best, rank_worst, system, mean, lower, upper, to_best, top`, and `group` where there are no
    more than twelve groups: rank_best to rank_worst are the ranks that the system may have, all systems at once; lower
    to upper is a confidence interval of its mean by itself; top says whether it is in the best set.
    """

    table: pd.DataFrame
    result: PairResult  # of all pairs, which ranks
    measure: str  # that ranks
    others: Mapping[
        str, pd.DataFrame
    ]  # of each further measure: rank, rank_best, rank_worst, mean, lower, upper
    against: Mapping[str, pd.DataFrame]  # of each baseline: difference, lower, upper, p, p_adjusted, verdict
    analysis: Analysis | None = None  # of all pairs, where there is one
    comparisons: int = 0  # with baselines, for which their p-values are corrected
    margin: float | None = None  # loss against the best that does not matter
    near_best: tuple[str, ...] = ()  # systems shown to be less than the margin worse than the best

    def __len__(self) -> int:
        return len(self.table)

    @property
    def noun(self) -> str:
        """The user's word for a system."""
        return self.result.noun_for("system")

    @property
    def level(self) -> float:
        """Level of all intervals."""
        return 1.0 - self.result.alpha

    @property
    def decimals(self) -> Mapping[str, int]:
        """Digits after the point of each measure."""
        each = () if self.analysis is None else self.analysis.each
        return {self.measure: self.result.decimals} | {of.measure: of.decimals for of in each}

    @property
    def resolution(self) -> float:
        """Smallest p-value that the resamples can show."""
        return self.result.resolution

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, best first."""
        return tuple(map(str, self.table["system"]))

    @property
    def has_letters(self) -> bool:
        """Whether letters show which systems are tied."""
        return "group" in self.table

    def to_frame(self) -> pd.DataFrame:
        """Return all figures as one table; those of further measures and of baselines have their names before them."""

        parts = [self.table]
        for prefix, frames in (("", self.others), ("vs ", self.against)):
            parts += [
                frame.add_prefix(f"{prefix}{name} ").reset_index(drop=True) for name, frame in frames.items()
            ]
        return pd.concat(parts, axis=1)

    def format_table(self) -> pd.DataFrame:
        """Return the table as people read it: ranks as 2–5, rounded numbers, ▲ and ▼."""
        frame: pd.DataFrame = late.call_bound("leaderboard_table", self)
        return frame

    def to_html(self, *, page: bool = True, name: str = "leaderboard") -> str:
        """Return it as a page that needs nothing else, or as a fragment to put into one.

        Parameters
        ----------
        page
            Whether to return a whole page; else an element with its style and script.
        name
            The id of the element, which links to it begin with; two on a page need two names.
        """
        text: str = late.call_bound("leaderboard_html", self, page=page, name=name)
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as one HTML file that needs nothing else.

        Parameters
        ----------
        path
            Where to write it.
        """
        write_atomically(Path(path), self.to_html().encode("utf-8", "backslashreplace"))

    def __repr__(self) -> str:
        return f"<Leaderboard of {len(self)} by {self.measure}>"

    def __str__(self) -> str:
        text: str = late.call_bound("leaderboard_text", self)
        return text

    def _repr_html_(self) -> str:
        """The board as a notebook shows it."""
        return self.to_html(page=False)


def leaderboard(first: Analysis, baseline: str | Sequence[str] | None = None) -> Leaderboard:
    """Rank systems by an analysis of all pairs, with further measures beside the first one.

    Parameters
    ----------
    first
        An analysis of all pairs, of one measure or several; the first one ranks.
    baseline
        A system, or several, with which all others are compared besides: a family of comparisons of its own.

    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> table = pd.DataFrame(rng.normal([.5, .3, .1], .05, (30, 3)), columns=["a", "b", "c"])
    >>> from shardwise.analysis.analyze import analyze
    >>> board = leaderboard(analyze(table), baseline="b")
    >>> board.table[["rank", "rank_best", "rank_worst", "system", "group"]]
       rank  rank_best  rank_worst system group
    0     1       1        1      a     a
    1     2       2        2      b     b
    2     3       3        3      c     c
    >>> board.against["b"]["verdict"].tolist()
    ['better', '', 'worse']
    """
    if first.baselines:
        raise InputError(
            "a leaderboard needs all pairs, but this analysis has only those with a baseline",
            remedy="analyse all pairs, and give the baseline to the leaderboard",
        )
    bases, pairs = list_baselines(baseline), None
    if bases:
        # by the procedure that leads, corrected for these pairs
        how: dict[str, Any] = {
            "n_resamples": first.lead.n_resamples,
            "seed": first.configuration["seed"] or 0,
        }
        pairs = run_procedure(first.procedure, first.analysed, only=first.systems, baseline=bases, **how)
    board = rank_pairs(first.lead, first.measure, pairs, bases)
    names = list(first.systems)
    further = {of.measure: _list_figures(of.lead.pairs, of.alpha).loc[names] for of in first.others}
    return replace(board, others=further, analysis=first)


def rank_pairs(
    result: PairResult, measure: str, baselines: Comparisons | None = None, names: Sequence[str] = ()
) -> Leaderboard:
    """Rank systems by comparisons of all pairs.

    Parameters
    ----------
    result : PairResult
        Comparisons of all pairs.
    measure : str
        What the scores are.
    baselines : Comparisons, optional
        Comparisons with baselines, a family of their own.
    names : sequence of str
        The baselines.

    Returns
    -------
    Leaderboard
        One row a system.
    """
    table = _list_figures(result.pairs, result.alpha)[list(FIGURES)].reset_index()
    table.insert(3, "system", table.pop("system"))
    systems, best = [str(name) for name in table["system"]], set(result.best_set)
    if result.letters is not None:
        table["group"] = ["".join(letters) for letters in result.letters]
    table["to_best"] = table["mean"] - float(table["mean"].iloc[0])
    table["top"] = [name in best for name in systems]
    rows = {}
    if baselines is not None:
        for base in names:
            rows[base] = (
                tabulate_against(baselines, base, result.alpha).reindex(systems).fillna({"verdict": ""})
            )
    total = 0 if baselines is None else len(baselines)
    return Leaderboard(table, result, measure, {}, rows, comparisons=total)


def _list_figures(pairs: Comparisons, alpha: float) -> pd.DataFrame:
    """Ranks and mean of each system, best first."""
    intervals = pairs.intervals(1.0 - alpha).rename(columns={"estimate": "mean"})
    return pairs.ranks(1.0 - alpha).join(intervals)


def tabulate_against(pairs: Comparisons, baseline: str, alpha: float) -> pd.DataFrame:
    """Return one row a system compared with a baseline: `difference, lower, upper, p, p_adjusted, verdict`.

    Parameters
    ----------
    pairs
        Comparisons with one or several baselines.
    baseline
        Which of them: differences are of the others less this one.
    alpha
        Level of significance; the intervals are of level 1 - alpha.
    """

    frame = pairs.to_frame(1.0 - alpha).assign(sign=pairs.directions(alpha))
    turn = np.select([frame["b"] == baseline, frame["a"] == baseline], [1.0, -1.0], 0.0)
    rows, turn = frame[turn != 0.0], turn[turn != 0.0]
    ends = np.sort(np.stack([rows["lower"] * turn, rows["upper"] * turn]), axis=0)
    columns = {
        "difference": rows["difference"] * turn,
        "lower": ends[0],
        "upper": ends[1],
        "p": rows["p"],
        "p_adjusted": rows["p_adjusted"],
        "verdict": [VERDICTS[int(sign)] for sign in rows["sign"] * turn],
    }
    names = np.where(rows["b"] == baseline, rows["a"], rows["b"])
    return pd.DataFrame(
        {name: np.asarray(x) for name, x in columns.items()}, index=pd.Index(names, name="system")
    )
