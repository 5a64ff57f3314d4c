"""One row a system: its rank, the ranks it may have, its means, and how far it is from the best and from baselines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shardwise.analysis import answer
from shardwise.analysis.analysis import Analysis
from shardwise.analysis.figures import number, p_value
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.pairs import list_baselines
from shardwise.comparing.run import run_procedure
from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim, counted
from shardwise.core.errors import InputError
from shardwise.core.scores import nouns_of
from shardwise.core.text import short
from shardwise.io.atomic import write_atomically

MARKS = {1: "▲", -1: "▼", 0: ""}
VERDICTS = {1: "better", -1: "worse", 0: "not told apart"}
MARKED = {VERDICTS[sign]: mark for sign, mark in MARKS.items()} | {"": ""}
OWN = ("rank", "rank_best", "rank_worst", "mean", "lower", "upper")  # what every measure says of a system


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leaderboard:
    """Systems, best first, with intervals of their ranks and of their means.

    `table` has `rank, rank_best, rank_worst, system, mean, lower, upper, to_best, top`, and `group` where there are no
    more than twelve groups: rank_best to rank_worst are the ranks that the system may have, all systems at once; lower
    to upper is a confidence interval of its mean by itself; top says whether it is in the best set.
    """

    table: pd.DataFrame
    measure: str  # that ranks
    others: Mapping[
        str, pd.DataFrame
    ]  # of each further measure: rank, rank_best, rank_worst, mean, lower, upper
    against: Mapping[str, pd.DataFrame]  # of each baseline: difference, lower, upper, p, p_adjusted, verdict
    noun: str  # the user's word for a system
    level: float
    decimals: Mapping[str, int]  # digits of each measure
    resolution: float  # smallest p-value of a baseline that resamples can show
    heading: str
    answer: str
    procedure: str
    claim: str
    explained: tuple[str, ...]  # what the intervals are

    def __len__(self) -> int:
        return len(self.table)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, best first."""
        return tuple(map(str, self.table["system"]))

    @property
    def grouped(self) -> bool:
        """Whether letters tell which systems are alike."""
        return "group" in self.table

    def to_frame(self) -> pd.DataFrame:
        """Return all figures as one table; those of further measures and of baselines have their names before them."""
        parts = [self.table]
        for prefix, frames in (("", self.others), ("vs ", self.against)):
            parts += [
                frame.add_prefix(f"{prefix}{name} ").reset_index(drop=True) for name, frame in frames.items()
            ]
        return pd.concat(parts, axis=1)

    def shown(self) -> pd.DataFrame:
        """Return the table as people read it: ranks as 2–5, numbers with the digits that mean something, ▲ and ▼."""
        t, d = self.table, self.decimals[self.measure]
        columns: dict[str, Any] = {
            "rank": t["rank"],
            "ranks": ranged(t),
            self.noun: t["system"],
            self.measure: _numbers(t["mean"], d),
            f"{self.level:.0%} interval".replace("%", " %"): _between(t, d),
        }
        columns |= {"group": t["group"]} if self.grouped else {}
        columns |= {"to best": _numbers(t["to_best"], d)}
        for name, frame in self.others.items():
            columns |= {name: _numbers(frame["mean"], self.decimals[name])}
        for name, frame in self.against.items():
            pairs = zip(frame["difference"], frame["verdict"], strict=True)
            told = [f"{_signed(x, d)} {MARKED[word]}".strip() for x, word in pairs]
            columns |= {
                f"vs {short(name)}": told,
                f"p vs {short(name)}": [p_value(p, self.resolution) for p in frame["p_adjusted"]],
            }
        return pd.DataFrame({name: list(column) for name, column in columns.items()})

    def html(self, *, page: bool = True, name: str = "leaderboard") -> str:
        """Return it as a page that needs nothing else, or as a fragment to put into one.

        Parameters
        ----------
        page
            Whether to return a whole page; else an element with its style and script.
        name
            The id of the element, which links to it begin with; two on a page need two names.
        """
        text: str = late.call("leaderboard_html", self, page=page, name=name)
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as one HTML file that needs nothing else.

        Parameters
        ----------
        path
            Where to write it.
        """
        write_atomically(Path(path), self.html().encode("utf-8", "backslashreplace"))

    def __repr__(self) -> str:
        return f"<Leaderboard of {len(self)}: {self.heading}>"

    def __str__(self) -> str:
        return "\n".join([self.heading, self.answer, self.shown().to_string(index=False)])

    def _repr_html_(self) -> str:
        """The board as a notebook shows it."""
        return self.html(page=False)


def leaderboard(*found: Analysis, baseline: str | Sequence[str] | None = None) -> Leaderboard:
    """Rank systems by the first of one or several analyses of the same systems, one a measure.

    Parameters
    ----------
    found
        Analyses of all pairs of the same systems, one a measure; the first one ranks.
    baseline
        A system, or several, with which all others are compared besides: a family of comparisons of its own.

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
    first, *others = found
    _check(found)
    names = first.systems
    lead = first.lead
    own = _own(first)
    table = own[list(OWN)].reset_index()
    table.insert(3, "system", table.pop("system"))
    if lead.letters is not None:
        table["group"] = ["".join(letters) for letters in lead.letters]
    table["to_best"] = table["mean"] - float(table["mean"].iloc[0])
    table["top"] = [name in lead.top for name in names]
    bases = list_baselines(baseline)
    pairs = against(first, bases) if bases else None
    return Leaderboard(
        table,
        first.measure,
        {one.measure: _own(one).loc[list(names)] for one in others},
        {}
        if pairs is None
        else {
            base: versus(pairs, base, first.alpha).reindex(list(names)).fillna({"verdict": ""})
            for base in bases
        },
        first.noun("system"),
        1.0 - first.alpha,
        {one.measure: one.decimals for one in found},
        lead.resolution,
        first.heading(),
        answer.headline(first),
        first.procedure.name,
        first.comparisons.claim,
        _explained(first, bases, 0 if pairs is None else len(pairs)),
    )


def _check(found: Sequence[Analysis]) -> None:
    first = found[0]
    for one in found:
        if one.baselines:
            raise InputError(
                "a leaderboard ranks by all pairs, and this analysis has those with a baseline alone",
                remedy="analyse all pairs, and give the baseline to the leaderboard",
            )
        if set(one.systems) != set(first.systems):
            raise InputError(
                f"{one.measure} was analysed for other {first.nouns_for('system')} than {first.measure}",
                remedy="give analyses of the same ones",
            )


def _own(found: Analysis) -> pd.DataFrame:
    """Ranks and mean of each system, best first."""
    intervals = found.lead.intervals.rename(columns={"estimate": "mean"})
    return found.comparisons.ranks(1.0 - found.alpha).join(intervals)


def against(found: Analysis, baselines: Sequence[str]) -> Comparisons:
    """Return the comparisons of all systems with baselines, by the procedure that leads and corrected for these pairs.

    Parameters
    ----------
    found
        An analysis, whose scores are compared again.
    baselines
        Names of systems.
    """
    return run_procedure(
        found.procedure,
        found.analysed,
        only=found.systems,
        baseline=baselines,
        n_resamples=found.lead.n_resamples,
        seed=found.configuration["seed"] or 0,
    )


def versus(pairs: Comparisons, baseline: str, alpha: float) -> pd.DataFrame:
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
    frame = pairs.to_frame(1.0 - alpha)
    sign = np.select([frame["b"] == baseline, frame["a"] == baseline], [1.0, -1.0], 0.0)
    own, sign = frame[sign != 0.0], sign[sign != 0.0]
    p_adjusted = own["p_adjusted"].to_numpy()
    ends = np.sort(np.stack([own["lower"] * sign, own["upper"] * sign]), axis=0)
    columns = {
        "difference": own["difference"] * sign,
        "lower": ends[0],
        "upper": ends[1],
        "p": own["p"],
        "p_adjusted": p_adjusted,
        "verdict": verdicts((own["difference"] * sign).to_numpy(), p_adjusted, alpha),
    }
    names = np.where(own["b"] == baseline, own["a"], own["b"])
    return pd.DataFrame(
        {name: np.asarray(x) for name, x in columns.items()}, index=pd.Index(names, name="system")
    )


def verdicts(difference: Floats, p_adjusted: Floats, alpha: float) -> list[str]:
    """Return whether each system is better, worse, or not told from what it is compared with.

    Parameters
    ----------
    difference, p_adjusted
        Figures of each pair.
    alpha
        Level of significance.

    >>> verdicts(np.array([0.2, -0.2, 0.1]), np.array([0.01, 0.01, 0.3]), 0.05)
    ['better', 'worse', 'not told apart']
    """
    signs = np.where(p_adjusted <= alpha, np.sign(difference), 0.0)
    return [VERDICTS[int(sign)] for sign in signs]


def ranged(frame: pd.DataFrame) -> list[str]:
    """Return the ranks that each system may have: ``2–5``, ``1``.

    Parameters
    ----------
    frame
        Columns `rank_best, rank_worst`.

    >>> ranged(pd.DataFrame({"rank_best": [1, 2], "rank_worst": [1, 5]}))
    ['1', '2–5']
    """
    ends = zip(frame["rank_best"], frame["rank_worst"], strict=True)
    return [f"{low}–{high}" if low < high else f"{low}" for low, high in ends]


def _numbers(values: pd.Series[float], decimals: int) -> list[str]:
    return [number(float(x), decimals) for x in values]


def _between(frame: pd.DataFrame, decimals: int) -> list[str]:
    ends = zip(frame["lower"], frame["upper"], strict=True)
    return [f"{number(a, decimals)} to {number(b, decimals)}" if a == a else "–" for a, b in ends]


def _signed(x: float, decimals: int) -> str:
    text = number(x, decimals)
    return f"+{text}" if x > 0 and float(text) != 0 else text


def _explained(found: Analysis, baselines: Sequence[str], comparisons: int) -> tuple[str, ...]:
    """What the intervals are, one sentence each."""
    system, systems, level = found.noun("system"), found.nouns_for("system"), f"{100 * (1 - found.alpha):g} %"
    error_rate = found.procedure.error_rate
    if error_rate == "family":
        sure = f"with {level} confidence all {systems} have a rank within theirs"
    elif error_rate == "discovery":
        sure = f"pairs are told apart at a false discovery rate of {found.alpha:g}: no confidence intervals"
    else:
        sure = f"each pair is judged by itself at {found.alpha:g}, so these do not hold together"
    over = [d for d in found.procedure.claim.over if d != "topic"]
    about = Claim("topic", *over).phrase(nouns_of(found.scores))
    said = [
        f"Ranks run from 1 plus the number of {systems} significantly better to {len(found.systems):,} less the number"
        f" significantly worse: {sure}.",
        f"The interval of a mean is a {level} confidence interval of that {system} by itself, for {about}; whether two"
        f" {systems} differ is not seen from it.",
    ]
    if baselines:
        these = (
            "each by itself"
            if error_rate == "pair"
            else f"corrected for {counted(comparisons, 'comparison')}"
        )
        said.append(
            f"▲ significantly better than {answer.conjoined([short(name) for name in baselines])}, ▼ significantly"
            f" worse, at {found.alpha:g}, {these}."
        )
    return tuple(said)
