"""Verdicts on the claims of papers: each is one statistic, judged over splits and over resampled topics.

A statistic has a value for every split of the documents (or pool of repeats, or seed) and for every resample of the
topics. On the collection at hand a claim holds if it does on every split. In general it holds if the 95% interval over
resampled topics says so, each resample averaged over the splits: estimate ± t·(standard deviation over resamples). A
claim of several parts holds if all do, each at 95%, and fails if some part does, at 95% for all parts together.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints, make_generator
from shardwise.core.libraries import pd
from shardwise.papers.exhibit import ClaimVerdict, Frames, read_csv_text
from shardwise.stats.student import student_critical, upper_tail

HOLDS, FAILS, UNDECIDED, UNKNOWN = "holds", "fails", "undecided", "cannot be said"
VERDICTS = (HOLDS, FAILS, UNDECIDED, UNKNOWN)
SOME = "some"
"""Direction of a claim that something occurs: a share above 0, which fails where it is 0 throughout."""
LEVEL = 0.05
STREAM = 7
"""Stream of random numbers of the resampled topics."""
ROUNDING = 1e-12


class CannotSayError(Exception):
    """Data or print lack what a claim is about; the message is one clause."""


class Figures(dict[tuple[Any, ...], Floats]):
    """Figures by name and by what they are of, as (resamples, splits) arrays; resample 0 has the topics as they are.

    Parameters
    ----------
    reason : str
        Why others are absent.
    labels : sequence of str
        Names of the splits, if they have names: printed tracks.
    """

    def __init__(self, reason: str = "", labels: Sequence[str] = ()) -> None:
        super().__init__()
        self.reason, self.labels = reason, tuple(labels)

    def __missing__(self, key: tuple[Any, ...]) -> Floats:
        raise CannotSayError(self.reason or f"there is no {' '.join(map(str, key))}")

    def list_levels(self, name: str, place: int = 1) -> list[Any]:
        """Return the different values at a place of the keys of a figure, in their order.

        Parameters
        ----------
        name : str
            Name of the figure.
        place : int
            Place in the key; the name is at 0.

        Returns
        -------
        list
            Values; refused if there are none.
        """
        levels = list(dict.fromkeys(key[place] for key in self if key[0] == name))
        return levels or [self[name,]]

    def read_rows(
        self, rows: pd.DataFrame, name: str, keys: Sequence[str], track: str, value: str
    ) -> Figures:
        """Take printed values, one row a value and a column of the track it is of.

        Parameters
        ----------
        rows : DataFrame
            Printed values.
        name : str
            Name of the figure.
        keys : sequence of str
            Columns that say what a value is of.
        track : str
            Column of the track; empty if there is one track alone.
        value : str
            Column of the values.

        Returns
        -------
        Figures
            These figures.
        """
        for row in rows.to_dict("records"):
            key = (name, *(row[column] for column in keys))
            values = self.setdefault(key, np.full((1, max(len(self.labels), 1)), np.nan))
            values[0, self.labels.index(row[track]) if track else slice(None)] = row[value]
        return self


Key = tuple[Any, ...]
Parts = Mapping[str, Floats]
Statistic = Callable[[Figures], Parts]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperClaim:
    """One claim of a paper: a row of ``claims.csv`` and the statistic that decides it.

    Parameters
    ----------
    name : str
        Short name, unique within the paper.
    statement : str
        The claim in one sentence.
    section : str
        Where the paper makes it.
    statistic : callable
        Takes `Figures` and returns arrays (resamples, splits) by the name of the part; all parts have to agree.
    direction : str
        ``">"``, ``">="``, ``"<"``, ``"<="`` the limit, or ``"some"``: above 0 somewhere.
    limit : float
        What the statistic is compared with.
    source : str
        Where the limit is printed.
    """

    name: str
    statement: str
    section: str
    statistic: Statistic
    direction: str = ">"
    limit: float = 0.0
    source: str = ""

    def measure_parts(self, figures: Figures) -> dict[str, Floats]:
        """Return the statistic of each part; refused where there is none.

        Parameters
        ----------
        figures : Figures
            What was measured.

        Returns
        -------
        dict of str to array
            (resamples, splits) values of each part.
        """
        parts = {part: np.atleast_2d(values) for part, values in self.statistic(figures).items()}
        if not parts:
            raise CannotSayError(figures.reason or "there is nothing to compare")
        return parts

    def measure_margins(self, values: Floats) -> Floats:
        """Return how far values are on the side of the claim; 0 where rounding alone keeps them from the limit.

        Parameters
        ----------
        values : array
            Values of the statistic.

        Returns
        -------
        array
            As many margins, positive where the claim holds.
        """
        margin = (values - self.limit) * (-1.0 if self.direction[0] == "<" else 1.0)
        return np.asarray(np.where(np.abs(margin) <= ROUNDING * max(1.0, abs(self.limit)), 0.0, margin))

    def find_sides(self, margin: Floats) -> tuple[Bools, Bools]:
        """Return where a margin says that the claim holds, and that it fails; a tie of two figures says neither.

        Parameters
        ----------
        margin : array
            How far values are on the side of the claim.

        Returns
        -------
        tuple of array
            As many answers, twice.
        """
        supports = margin >= 0.0 if self.direction[-1] == "=" else margin > 0.0
        opposes = margin <= 0.0 if self.direction == SOME else margin < 0.0
        return np.asarray(supports), np.asarray(opposes)

    def count_splits(self, margins: Floats) -> tuple[Bools, Bools]:
        """Return on which splits all known parts support the claim, and on which some part opposes it.

        Parameters
        ----------
        margins : array
            (parts, splits) margins.

        Returns
        -------
        tuple of array
            As many answers as splits, twice.
        """
        known = np.isfinite(margins)
        supports, opposes = self.find_sides(margins)
        return np.asarray((supports | ~known).all(axis=0)), np.asarray((opposes & known).any(axis=0))


def make_claims(paper: str, statistics: Mapping[str, Statistic]) -> tuple[PaperClaim, ...]:
    """Return the claims of a paper in the order of ``claims.csv``, each with its statistic."""
    return tuple(
        PaperClaim(
            name=row["claim"],
            statement=row["statement"],
            section=row["section"],
            statistic=statistics[row["claim"]],
            direction=row["direction"],
            limit=float(row["limit"]),
            source=row["source"],
        )
        for row in csv.DictReader(io.StringIO(read_csv_text("claims")))
        if row["paper"] == paper
    )


def divide(numerator: Floats, denominator: Floats) -> Floats:
    """Return a ratio, not defined where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0.0, np.nan, numerator / denominator)


def list_parts(figures: Figures, name: str, only: Sequence[Any] = (), part: str = "") -> Parts:
    """Return all figures of a name, or those that are of some things, by what they are of; ``part`` names one alone."""
    keys = [key for key in figures if key[0] == name and set(only) <= set(key)]
    return {" ".join(map(str, key[1:])) or part: figures[key] for key in keys or [(name, *only)]}


def compare(
    figures: Figures, steps: Sequence[Sequence[Key]], by: Callable[..., Floats] = np.subtract
) -> Parts:
    """Return how figures, given by their keys, differ from others, or their ratios."""
    return {
        " against ".join(" ".join(map(str, key[1:])) for key in step): by(*(figures[key] for key in step))
        for step in steps
    }


def spread_over_splits(whole: Floats, left_out: Floats) -> Floats:
    """Return a figure of all splits together as (resamples, splits) values around it, by leaving out one split each.

    They vary as the figure would if each split were drawn anew (jackknife), and their mean is the figure.
    """
    count = left_out.shape[1]
    return np.asarray(whole[:, None] + (count - 1.0) * (left_out.mean(axis=1, keepdims=True) - left_out))


def draw_topics(topics: int, resamples: int, seed: int) -> Ints:
    """Return (1 + resamples, topics) places of the topics: as they are, then drawn with replacement."""
    drawn = make_generator(seed, STREAM).integers(topics, size=(resamples, topics))
    return np.concatenate([np.arange(topics)[None], drawn])


def count_topics(drawn: Ints) -> Floats:
    """Return how often each topic is in each row of `draw_topics`, (1 + resamples, topics)."""
    return np.stack([np.bincount(row, minlength=drawn.shape[1]) for row in drawn]).astype(np.float64)


def measure_claims(claims: Iterable[PaperClaim], figures: Figures, units: int, noun: str) -> Frames:
    """Return the statistics of all claims on every split and resample, and why some have none.

    ``units`` is the number of topics that are resampled, ``noun`` what one split is called.
    """
    rows, reasons = [pd.DataFrame(columns=["claim", "part", "split", "value", "units", "noun"])], []
    for claim in claims:
        try:
            parts = claim.measure_parts(figures)
        except CannotSayError as reason:
            reasons.append((claim.name, str(reason)))
            continue
        for part, values in parts.items():
            known = np.isfinite(values)
            averaged = np.where(known, values, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
            averaged[~known.any(axis=1)] = np.nan
            # splits are numbered from 0; resamples, averaged over the splits, are -1
            split = np.concatenate([np.arange(values.shape[1]), np.full(len(values) - 1, -1)])
            value = np.concatenate([values[0], averaged[1:]])
            key: dict[str, Any] = {"claim": claim.name, "part": part, "units": units, "noun": noun}
            rows.append(pd.DataFrame({"split": split, "value": value}).assign(**key))
    table = pd.concat([frame for frame in rows if len(frame)] or rows, ignore_index=True)
    return {"statistics": table, "reasons": pd.DataFrame(reasons, columns=["claim", "reason"])}


def decide_claim(claim: PaperClaim, frames: Frames, printed: Figures, absence: str = "") -> ClaimVerdict:
    """Return the verdict on one claim from its statistics, and from the figures that the paper printed."""
    facts: dict[str, Any] = {"name": claim.name, "statement": claim.statement, "section": claim.section}
    facts |= {"limit": f"{claim.direction} {claim.limit:g}", "source": claim.source}
    facts["in_print"] = _judge_print(claim, printed)
    claim_rows = frames["statistics"][frames["statistics"]["claim"] == claim.name]
    if (
        claim_rows.empty
        or not np.isfinite(claim_rows.loc[claim_rows["split"] == 0, "value"].to_numpy(float)).any()
    ):
        reasons = frames["reasons"].set_index("claim")["reason"].to_dict()
        reason = reasons.get(claim.name) or absence or "nothing to compare: the figures are not defined here"
        return ClaimVerdict(verdict=UNKNOWN, here=UNKNOWN, numbers=reason, **facts)
    judged = [_judge_part(claim, str(part), rows) for part, rows in claim_rows.groupby("part", sort=False)]
    judged = [each for each in judged if np.isfinite(each.estimate)]
    # a part of several fails only where it does at the level of all together
    wide = float(student_critical(LEVEL / len(judged), judged[0].df) / student_critical(LEVEL, judged[0].df))
    lowest = np.array([each.margin - each.half for each in judged])
    highest = np.array([each.margin + wide * each.half for each in judged])
    holds, fails = claim.find_sides(lowest)[0].all(), claim.find_sides(highest)[1].any()
    verdict = HOLDS if holds else FAILS if fails else UNDECIDED
    count = len(judged[0].margins)
    margins = np.stack(
        [each.margins if len(each.margins) == count else np.full(count, each.margin) for each in judged]
    )
    for_it, against = claim.count_splits(margins)
    here = HOLDS if for_it.all() else FAILS if against.all() else UNDECIDED
    # the part that decides: the one that comes nearest to failing
    least = judged[int(np.argmin(highest if verdict == FAILS else lowest))]
    noun = str(claim_rows["noun"].iloc[0])
    splits = f"{int(for_it.sum())} of {count} {noun}s" if count > 1 else ""
    lower, upper = least.estimate - least.half, least.estimate + least.half
    several = f"; least of {len(judged)}" if len(judged) > 1 else ""
    limit = f", limit {_format_number(claim.limit)}" if claim.limit else ""
    numbers = (
        f"{least.part}: {_format_number(least.estimate)}"
        f" (95% CI {_format_number(lower)} to {_format_number(upper)}{limit}{several})"
    )
    # all parts have to hold, and one of them has to fail
    p = np.array([each.find_p(claim) for each in judged])
    facts |= {"p_holds": float(p[:, 0].max()), "p_fails": min(1.0, len(judged) * float(p[:, 1].min()))}
    return ClaimVerdict(verdict=verdict, here=here, numbers=numbers, splits=splits, estimate=least.estimate,
                        lower=lower, upper=upper, **facts)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """One part of a claim: its estimate, half width over resamples, and margins on all splits."""

    part: str
    estimate: float
    margin: float
    half: float
    df: float
    margins: Floats

    def find_p(self, claim: PaperClaim) -> tuple[float, float]:
        """Return the one-sided p-values of the two answers, that the part holds and that it fails."""
        if self.half == 0.0:
            supports, opposes = claim.find_sides(np.array(self.margin))
            return float(not supports), float(not opposes)
        ratio = self.margin / self.half * float(student_critical(LEVEL, self.df))
        return float(upper_tail(ratio, self.df)), float(upper_tail(-ratio, self.df))


def _judge_part(claim: PaperClaim, part: str, rows: pd.DataFrame) -> _Judged:
    """Return estimate, interval and margins of one part."""
    splits = rows.loc[rows["split"] >= 0, "value"].to_numpy(float)
    resampled = rows.loc[rows["split"] < 0, "value"].to_numpy(float)
    resampled = resampled[np.isfinite(resampled)]
    known = splits[np.isfinite(splits)]
    estimate = float(known.mean()) if known.size else np.nan
    units = int(rows["units"].iloc[0])
    df = max(units - 1.0, 1.0)
    # a resample of n topics varies as if n were n - 1
    spread = float(resampled.std(ddof=1)) * np.sqrt(units / df) if resampled.size > 1 else 0.0
    half = float(student_critical(LEVEL, df)) * spread
    margin = float(claim.measure_margins(np.array(estimate)))
    return _Judged(
        part, estimate, margin, half if half > ROUNDING else 0.0, df, claim.measure_margins(splits)
    )


def _judge_print(claim: PaperClaim, printed: Figures) -> str:
    """Return the verdict on what a paper prints, with the number of tracks where there are several."""
    try:
        parts = [values[0] for values in claim.measure_parts(printed).values()]
    except CannotSayError:
        return UNKNOWN
    margins = claim.measure_margins(np.stack(np.broadcast_arrays(*parts)))
    margins = np.atleast_2d(margins)
    margins = margins[:, np.isfinite(margins).any(axis=0)]
    if not (total := margins.shape[1]):
        return UNKNOWN
    for_it, against = claim.count_splits(margins)
    verdict = HOLDS if for_it.all() else FAILS if against.all() else UNDECIDED
    return f"{verdict} ({int(for_it.sum())} of {total})" if total > 1 else verdict


def _format_number(value: float) -> str:
    """Return a number with three digits, or whole from a thousand on.

    >>> _format_number(1234.5), _format_number(0.012345), _format_number(-61.23)
    ('1234', '0.0123', '−61.2')
    """
    text = f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")
