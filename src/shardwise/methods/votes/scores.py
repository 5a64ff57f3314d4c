"""Votes -> scores: a table of prompts (or voters) by systems whose means are the strengths, and whose rows are units.

Row g of the table is θ + G·A_g, with A_g what the votes of unit g add to the errors of the strengths θ. So the mean
over rows is the strength, and the variance of that mean is cluster-robust: what shows scores of topics can show votes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.measure import MeasureFacts, find_range
from shardwise.core.scores import Scores
from shardwise.io.votes import Votes, Way, list_names
from shardwise.methods.votes.davidson import Ballots, VoteFit, find_parts, fit_ballots
from shardwise.stats.units import VoteUnits, WinShare

FEWEST_UNITS = 5
"""Prompts, or voters, below which nothing is said of others like them."""
MOST_UNITS = 2_000
"""Units from which on they are put into groups at random, each of them one unit."""
WORK = 2e10
"""Products that the joint distribution may take: groups × pairs × bootstrap samples."""
ELO = 400.0 / math.log(10.0)
"""Points of the Elo scale for a strength of 1."""
PRIMARY = "strength"
"""The measure that is shown first: the logarithm of the odds of a win against a system of mean strength."""


@dataclass(frozen=True, slots=True, eq=False)
class VoteScores:
    """What a table of votes carries beside its scores.

    Parameters
    ----------
    fit : VoteFit
        Strengths, position and ties.
    systems : tuple of str
        Names of the systems of the fit.
    units : VoteUnits
        What the errors of the scores are made of.
    votes : int
        Number of votes.
    ties : float
        Share of ties.
    measure : str
        Which function of the strengths the scores are.
    """

    fit: VoteFit
    systems: tuple[str, ...]
    units: VoteUnits
    votes: int
    ties: float
    measure: str


def score_votes(votes: Votes, *, ridge: float = 0.0) -> dict[str, Scores]:
    """Fit strengths to votes, and return them as scores of prompts and voters, the primary measure first."""
    if not (math.isfinite(ridge) and ridge >= 0.0):
        raise InputError(
            f"a ridge of {ridge:g} is not a penalty", remedy="give 0 or more", argument="ridge", value=ridge
        )
    ballots = Ballots(votes.first, votes.second, votes.outcome, len(votes.systems), votes.graded)
    if ballots.systems < 2:
        raise InputError(
            "has votes on one system only", where=votes.source, remedy="give votes on two or more"
        )
    _refuse_parts(votes, ballots, ridge)
    try:
        fit = fit_ballots(ballots, position=votes.ordered, ridge=ridge)
    except InputError as error:
        raise InputError(error.problem, where=votes.source, remedy=error.remedy) from None
    lead, other, scope = _choose_ways(votes)
    # influence of the units of both ways, many of them in groups
    crossed: dict[str, Floats] = {}
    if other is not None:
        cell, cells = _number_cells(lead, other)
        crossed["other"], crossed["other_counts"] = _influence(ballots, fit, other)
        crossed["shared"] = fit.sum_squares(ballots, cell, cells)
    r = ballots.systems
    units = VoteUnits(*_influence(ballots, fit, lead), fit.inverse[:r, :r], None, **crossed)
    noun, names, scope = _name_units(lead, len(units.lead), scope)
    same = np.eye(ballots.systems)
    share = None if votes.graded else WinShare(fit.tie)
    measures = {PRIMARY: (fit.strengths, same, share)}
    if share is not None:
        measures["elo"] = (1000.0 + ELO * fit.strengths, ELO * same, WinShare(fit.tie, ELO))
        # expected win shares averaged over the other systems, and their derivatives by the strengths
        gap, step = np.subtract.outer(fit.strengths, fit.strengths), 1e-5
        wins = share.of_difference(gap)
        slope = (share.of_difference(gap + step) - share.of_difference(gap - step)) / (2.0 * step)
        np.fill_diagonal(slope, 0.0)
        np.fill_diagonal(wins, 0.0)
        jacobian = (np.diag(slope.sum(axis=1)) - slope) / (r - 1.0)
        measures["win_rate"] = (wins.sum(axis=1) / (r - 1.0), jacobian, None)
    scores = {}
    described = "; ".join([votes.describe(), *_describe_fit(votes, fit, ballots, lead)])
    for name, (values, jacobian, meaning) in measures.items():
        own = units.scale_systems(jacobian, meaning)
        rows = values + len(own.lead) * own.lead
        limits, source = find_range(name, rows)
        scores[name] = Scores(
            rows,
            ("topic", "system"),
            {"topic": tuple(names), "system": tuple(votes.systems)},
            measure=MeasureFacts(name, limits, range_from=source),
            nouns={"topic": noun, "system": votes.system_noun},
            unit_scope=scope,
            unit_df=len(own.lead) - 1.0,
            read_as=described,
            votes=VoteScores(fit, votes.systems, own, len(votes), float((votes.outcome == 0.0).mean()), name),
        )
    return scores


def _refuse_parts(votes: Votes, ballots: Ballots, ridge: float) -> None:
    """Refuse votes that cannot be compared with each other, naming the parts."""
    connected, separated = find_parts(ballots)
    noun = votes.system_noun

    def show(part: Ints) -> str:
        return list_names([votes.systems[k] for k in part.tolist()], noun)

    if len(connected) > 1:
        small = min(connected, key=len)
        rest = np.setdiff1d(np.arange(ballots.systems), small)
        raise InputError(
            f"the {pluralize_noun(noun)} fall into {len(connected)} parts that no vote connects: {show(small)} against"
            f" {show(rest)}",
            where=votes.source,
            remedy=(f"add votes between them, or leave out {show(small)} with ", Option("exclude")),
        )
    if len(separated) > 1 and not ridge:
        small = min((separated[0], separated[-1]), key=len)
        rest = np.setdiff1d(np.arange(ballots.systems), small)
        verb = "won" if small is separated[0] else "lost"
        raise InputError(
            f"{show(small)} {verb} every vote against {show(rest)}, so that the strength has no limit",
            where=votes.source,
            remedy=(
                f"leave out {show(small)} with ",
                Option("exclude"),
                ", or add votes",
                Either(", or a penalty: read_scores(…, ridge=1)", ""),
            ),
        )


def _choose_ways(votes: Votes) -> tuple[Way, Way | None, str]:
    """The way that leads, the other one where both are samples, and what the claim says of it."""
    prompt, voter = votes.prompt, votes.voter
    ways = [way for way in (prompt, voter) if way is not None and len(way.names) >= FEWEST_UNITS]
    fixed = [way for way in (prompt, voter) if way is not None and way not in ways]
    if prompt is None and voter is None:
        ways = [Way(np.arange(len(votes)), (), "vote")]
    if not ways:
        have = " and ".join(format_count(len(way.names), way.noun) for way in fixed)
        raise InputError(
            f"has {have}, too few to say anything of others",
            where=votes.source,
            remedy=f"give votes of at least {FEWEST_UNITS} prompts or {FEWEST_UNITS} voters",
        )
    scope = "".join(
        f", exactly {'this' if len(way.names) == 1 else 'these'} "
        f"{way.noun if len(way.names) == 1 else format_count(len(way.names), way.noun)}"
        for way in fixed
    )
    if len(ways) == 2:
        # each group of the inner way may lie within one of the outer
        cells = _number_cells(*ways)[1]
        for inner, outer in (ways, ways[::-1]):
            if cells == len(inner.names):
                return outer, None, f" and their {format_count(cells, inner.noun)}{scope}"
        ways.sort(key=lambda way: len(way.names))
        beside = f" and {pluralize_noun(ways[1].noun)} like these {len(ways[1].names):,}"
        return ways[0], ways[1], beside + scope
    return ways[0], None, scope


def _name_units(way: Way, groups: int, scope: str) -> tuple[str, tuple[str, ...], str]:
    """Noun and names of the units that lead, and what the claim says of them; groups of many have numbers."""
    units = int(way.codes.max()) + 1
    if units == groups:
        return way.noun, way.names or tuple(str(k + 1) for k in range(units)), scope
    inside = f" with {format_count(units, way.noun)} in them"
    return f"{way.noun} group", tuple(str(k + 1) for k in range(groups)), inside + scope


def _number_cells(first: Way, second: Way) -> tuple[Ints, int]:
    """Number of each vote's pair of groups, and how many pairs there are."""
    keys = first.codes * len(second.names) + second.codes
    distinct, cell = np.unique(keys, return_inverse=True)
    return cell.astype(np.int64), len(distinct)


def group_units(codes: Ints, units: int, pairs: int) -> tuple[Ints, int]:
    """Put units into groups at random where there are many of them."""
    samples = 9_999 if pairs <= 11_175 else 1_999
    most = int(min(MOST_UNITS, max(200.0, WORK / (pairs * samples))))
    if units <= most:
        return codes, units
    group = np.random.default_rng(0).permutation(units) % most
    return group[codes], most


def _influence(ballots: Ballots, fit: VoteFit, way: Way) -> tuple[Floats, Floats]:
    """(G, R) influence of units on the strengths, and their votes on each system.

    A unit with a large share of the votes pulls the fit towards itself: its influence is divided by the root of 1 less
    that share (Bell & McCaffrey 2002), and all are centred again.
    """
    r, n = ballots.systems, len(ballots)
    units = int(way.codes.max()) + 1
    unit, units = group_units(way.codes, units, r * (r - 1) // 2)
    table = fit.sum_scores(ballots, unit, units) @ fit.inverse[:, :r]
    size = np.bincount(unit, minlength=units)
    table = table * np.sqrt((1.0 - 1.0 / units) / (1.0 - size / n))[:, None]
    counts = np.bincount(unit * r + ballots.first, minlength=units * r)
    counts = counts + np.bincount(unit * r + ballots.second, minlength=units * r)
    return table - table.mean(axis=0), counts.reshape(units, r).astype(np.float64)


def _describe_fit(votes: Votes, fit: VoteFit, ballots: Ballots, way: Way) -> list[str]:
    """Say how often votes are ties, and what being shown first is worth."""
    lines = []
    if fit.has_ties:
        lines.append(f"{float((votes.outcome == 0.0).mean()):.0%} ties")
    if fit.has_position:
        # by the cluster-robust standard error
        unit, units = group_units(way.codes, int(way.codes.max()) + 1, 1)
        own = fit.sum_scores(ballots, unit, units) @ fit.inverse[:, ballots.systems]
        half = 1.96 * float(np.sqrt((own**2).sum() * units / (units - 1.0)))
        low, high = fit.position - half, fit.position + half
        noun = votes.system_noun
        lines.append(
            f"the {noun} shown first gains {fit.position:.2f} in strength (95% CI {low:.2f} to {high:.2f}), which is"
            " taken out"
        )
    return lines
