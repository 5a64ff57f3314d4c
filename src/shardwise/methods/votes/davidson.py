"""Fit strengths of systems to votes: Davidson's Bradley–Terry model with ties, or least squares for graded votes.

Of systems i, shown first, and j let η = θ_i - θ_j + δ. Davidson (1970), with the order effect of Davidson & Beaver
(1977), has

    P(i wins) = e^(η/2) / D,   P(j wins) = e^(-η/2) / D,   P(tie) = e^κ / D,   D = e^(η/2) + e^(-η/2) + e^κ.

The logarithm of the odds of a win against a loss is η. This is a multinomial logit model with linear utilities, so that
its likelihood is concave and Newton's method finds the only maximum. Without ties it is Bradley and Terry's model.

A graded vote y, positive where the first is better, has y = η + error: least squares for paired comparisons.

What a vote adds to the gradient is x·r, with x the row of the design for η and r = (y - E y)/2 for y = 1, 0, -1 (y - η
for grades), and, for κ, whether it is a tie less the chance of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError

STEPS = 100
"""Newton steps at most; ten are usual."""
EXACT = 1e-11
"""Gradient for each vote at which the fit has converged."""
LARGEST_STRENGTH = 30.0
"""Strengths beyond which a fit is on its way to infinity."""


@dataclass(frozen=True, slots=True, eq=False)
class Ballots:
    """Votes as numbers.

    Parameters
    ----------
    first, second : array of int
        (n,) numbers of the systems shown first and second.
    outcome : array
        (n,) 1 where the first wins, 0 for a tie, -1 where the second wins; or grades, positive in favour of the first.
    systems : int
        Number of systems, R.
    graded : bool
        Whether outcomes are grades.
    """

    first: Ints
    second: Ints
    outcome: Floats
    systems: int
    graded: bool = False

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True, eq=False)
class VoteFit:
    """Strengths with the information matrix at their estimates; parameters are strengths, position, ties.

    Parameters
    ----------
    strengths : array
        (R,) θ, with mean 0.
    position : float
        δ, the advantage of being shown first; 0 where it is not estimated.
    tie : float
        κ; -∞ without ties.
    has_position, has_ties : bool
        Whether these are parameters.
    inverse : array
        (q, q) inverse of the information matrix on strengths that add up to 0.
    residual : array
        (n,) r of each vote.
    tie_residual : array
        (n,) whether a vote is a tie less the chance of one.
    """

    strengths: Floats
    position: float
    tie: float
    has_position: bool
    has_ties: bool
    inverse: Floats
    residual: Floats
    tie_residual: Floats

    @property
    def parameters(self) -> int:
        """Number of parameters, strengths included."""
        return len(self.inverse)

    def sum_scores(self, ballots: Ballots, unit: Ints, units: int) -> Floats:
        """Sum what the votes of each unit add to the gradient."""
        q = self.parameters
        rows = unit.astype(np.int64) * q
        sums = np.bincount(rows + ballots.first, self.residual, units * q)
        sums -= np.bincount(rows + ballots.second, self.residual, units * q)
        table = sums.reshape(units, q)
        place = ballots.systems
        if self.has_position:
            table[:, place] = np.bincount(unit, self.residual, units)
            place += 1
        if self.has_ties:
            table[:, place] = np.bincount(unit, self.tie_residual, units)
        return np.asarray(table)

    def sum_squares(self, ballots: Ballots, unit: Ints, units: int) -> Floats:
        """Sum the squares of what units add to the strengths, for so many units that no table of them is made."""
        sizes = np.bincount(unit, minlength=units)
        alone = sizes[unit] == 1
        # sum of squares of the scores of single votes
        r, q = ballots.systems, self.parameters
        a, b = ballots.first[alone], ballots.second[alone]
        own, tied = self.residual[alone], self.tie_residual[alone]
        squares = np.zeros((q, q))
        squares[:r, :r] = _assemble(a, b, own**2, r)
        if self.has_position:
            squares[r, :r] = squares[:r, r] = _net(a, b, own**2, r)
            squares[r, r] = own @ own
        if self.has_ties:
            mixed = own * tied
            squares[-1, :r] = squares[:r, -1] = _net(a, b, mixed, r)
            squares[-1, -1] = tied @ tied
            if self.has_position:
                squares[-1, r] = squares[r, -1] = mixed.sum()
        if not alone.all():
            # sum of squares of the scores of units of several votes
            votes = np.flatnonzero(~alone)
            own, tied = self.residual[votes], self.tie_residual[votes]
            columns = [ballots.first[votes], ballots.second[votes]]
            values = [own, -own]
            for k, value in enumerate([own] * self.has_position + [tied] * self.has_ties):
                columns.append(np.full(len(votes), ballots.systems + k))
                values.append(value)
            rows = np.tile(unit[votes], len(columns))
            entries = (np.concatenate(values), (rows, np.concatenate(columns)))
            table = coo_array(entries, shape=(units, self.parameters)).tocsr()
            squares += np.asarray((table.T @ table).todense(), np.float64)
        gain = self.inverse[: ballots.systems]
        return np.asarray(gain @ squares @ gain.T)


def fit_ballots(ballots: Ballots, *, position: bool = True, ridge: float = 0.0) -> VoteFit:
    """Fit strengths to votes by maximum likelihood, or to graded votes by least squares.

    >>> votes = Ballots(np.array([0, 0, 0, 0]), np.array([1, 1, 1, 1]), np.array([1.0, 1.0, 1.0, -1.0]), 2)
    >>> fit_ballots(votes, position=False).strengths.round(4).tolist()  # log 3, half of it each
    [0.5493, -0.5493]
    """
    if position and not tells_position(ballots):
        position = False
    return _fit_grades(ballots, position, ridge) if ballots.graded else _fit_wins(ballots, position, ridge)


def tells_position(ballots: Ballots) -> bool:
    """Return whether the advantage of being shown first can be told from strengths: some votes go round in a circle."""
    r = ballots.systems
    pairs = np.flatnonzero(np.bincount(ballots.first.astype(np.int64) * r + ballots.second, minlength=r * r))
    a, b = pairs // r, pairs % r
    every = np.ones(len(pairs))
    laplacian = _assemble(a, b, every, r)
    net = _net(a, b, every, r)
    potential = np.linalg.pinv(laplacian, hermitian=True) @ net
    return bool(np.abs(potential[a] - potential[b] - 1.0).max() > 1e-8)


def _net(a: Ints, b: Ints, weight: Floats, r: int) -> Floats:
    """(r,) sums of weights of the votes in which a system is shown first, less those in which it is second."""
    return np.asarray(np.bincount(a, weight, r) - np.bincount(b, weight, r))


def _assemble(a: Ints, b: Ints, weight: Floats, r: int) -> Floats:
    """Sum of weight·(e_a - e_b)(e_a - e_b)', an array (r, r)."""
    flat = np.bincount(a.astype(np.int64) * r + b, weight, r * r).reshape(r, r)
    both = flat + flat.T
    return np.asarray(np.diag(both.sum(axis=1)) - both)


def _fit_wins(ballots: Ballots, position: bool, ridge: float) -> VoteFit:
    """Newton's method on the counts of each ordered pair, with steps halved until the likelihood rises."""
    r, n = ballots.systems, len(ballots)
    codes = (ballots.first.astype(np.int64) * r + ballots.second) * 3 + (ballots.outcome + 1.0).astype(
        np.int64
    )
    counts = np.bincount(codes, minlength=3 * r * r).reshape(r * r, 3).astype(np.float64)
    seen = np.flatnonzero(counts.sum(axis=1))
    a, b, counts = seen // r, seen % r, counts[seen]
    ties = float(counts[:, 1].sum())
    has_ties = ties > 0.0
    q = r + position + has_ties
    theta, delta = np.zeros(r), 0.0
    kappa = float(np.log(2.0 * ties / max(n - ties, 1.0))) if has_ties else -np.inf
    value = _log_likelihood(theta[a] - theta[b] + delta, kappa, counts) - ridge / 2.0 * float(theta @ theta)
    curvature, total = np.zeros((q, q)), counts.sum(axis=1)
    for _ in range(STEPS):
        # gradient (q,) and information (q, q) of the log-likelihood
        win, tie, loss = _probabilities(theta[a] - theta[b] + delta, kappa)
        lead = win - loss
        slope = (counts[:, 2] - counts[:, 0] - total * lead) / 2.0
        weight = total * (win + loss - lead**2) / 4.0
        gradient, curvature = np.zeros(q), np.zeros((q, q))
        gradient[:r] = _net(a, b, slope, r)
        curvature[:r, :r] = _assemble(a, b, weight, r)
        mixed = -total * tie * lead / 2.0
        if position:
            gradient[r] = slope.sum()
            curvature[r, :r] = curvature[:r, r] = _net(a, b, weight, r)
            curvature[r, r] = weight.sum()
        if has_ties:
            gradient[-1] = (counts[:, 1] - total * tie).sum()
            curvature[-1, :r] = curvature[:r, -1] = _net(a, b, mixed, r)
            curvature[-1, -1] = (total * tie * (1.0 - tie)).sum()
            if position:
                curvature[-1, r] = curvature[r, -1] = mixed.sum()
        gradient[:r] -= ridge * theta
        curvature[np.arange(r), np.arange(r)] += ridge
        if np.abs(gradient).max() <= EXACT * n:
            break
        try:
            step = np.linalg.solve(_with_constraint(curvature, r), gradient)
        except np.linalg.LinAlgError:
            raise _refuse_infinite() from None
        size = 1.0
        while True:
            moved = theta + size * step[:r]
            shifted = delta + size * (step[r] if position else 0.0)
            tied = kappa + size * step[-1] if has_ties else kappa
            trial = _log_likelihood(moved[a] - moved[b] + shifted, tied, counts) - ridge / 2.0 * float(
                moved @ moved
            )
            if trial >= value - 1e-12 * abs(value) or size < 1e-10:
                break
            size /= 2.0
        theta, delta, kappa, value = moved - moved.mean(), shifted, tied, trial
        if np.abs(theta).max() > LARGEST_STRENGTH or abs(delta) > LARGEST_STRENGTH:
            raise _refuse_infinite()
    else:
        raise _refuse_infinite()
    eta = theta[ballots.first] - theta[ballots.second] + delta
    win, tie, loss = _probabilities(eta, kappa)
    return VoteFit(
        theta,
        float(delta),
        float(kappa),
        bool(position),
        has_ties,
        _invert(curvature, r),
        (ballots.outcome - (win - loss)) / 2.0,
        (ballots.outcome == 0.0) - tie,
    )


def _refuse_infinite() -> InputError:
    return InputError(
        "the votes leave some strength without a limit: too few of them contradict each other",
        remedy="add votes, or leave out systems that won or lost nearly all of theirs",
    )


def _fit_grades(ballots: Ballots, position: bool, ridge: float) -> VoteFit:
    """Least squares of grades on differences of strength."""
    r, n = ballots.systems, len(ballots)
    q = r + position
    cross = np.zeros((q, q))
    cross[:r, :r] = _assemble(ballots.first, ballots.second, np.ones(n), r)
    right = np.zeros(q)
    right[:r] = _net(ballots.first, ballots.second, ballots.outcome, r)
    if position:
        cross[r, :r] = cross[:r, r] = _net(ballots.first, ballots.second, np.ones(n), r)
        cross[r, r], right[r] = n, ballots.outcome.sum()
    cross[np.arange(r), np.arange(r)] += ridge
    inverse = _invert(cross, r)
    solution = inverse @ right
    delta = float(solution[r]) if position else 0.0
    theta = solution[:r]
    residual = ballots.outcome - (theta[ballots.first] - theta[ballots.second] + delta)
    return VoteFit(theta, delta, -np.inf, bool(position), False, inverse, residual, np.zeros(n))


def _probabilities(eta: Floats, kappa: float) -> tuple[Floats, Floats, Floats]:
    """Chances of a win of the first, a tie and a loss, without overflow."""
    top = np.maximum(np.abs(eta) / 2.0, kappa)
    win, tie, loss = np.exp(eta / 2.0 - top), np.exp(kappa - top), np.exp(-eta / 2.0 - top)
    total = win + tie + loss
    return win / total, tie / total, loss / total


def _log_likelihood(eta: Floats, kappa: float, counts: Floats) -> float:
    """Of counts (pairs, 3) of losses, ties and wins."""
    top = np.maximum(np.abs(eta) / 2.0, kappa)
    total = top + np.log(np.exp(eta / 2.0 - top) + np.exp(kappa - top) + np.exp(-eta / 2.0 - top))
    ties = counts[:, 1].sum()
    tied = float(kappa * ties) if ties else 0.0
    return float((counts[:, 2] - counts[:, 0]) @ eta / 2.0 + tied - counts.sum(axis=1) @ total)


def _with_constraint(curvature: Floats, r: int) -> Floats:
    """The information with that of strengths all alike, of which the likelihood says nothing, made 1."""
    whole = curvature.copy()
    whole[:r, :r] += np.trace(curvature[:r, :r]) / r**2
    return whole


def _invert(curvature: Floats, r: int) -> Floats:
    """Inverse of the information on strengths that add up to 0."""
    inverse = np.linalg.inv(_with_constraint(curvature, r))
    centre = np.eye(len(inverse))
    centre[:r, :r] -= 1.0 / r
    return np.asarray(centre @ inverse @ centre)


def find_parts(ballots: Ballots) -> tuple[list[Ints], list[Ints]]:
    """Find parts of the systems that no vote connects, and parts that always win against those below them.

    Strengths have finite maximum-likelihood estimates where every system can be reached from every other by wins and
    ties (Ford 1957).
    """
    r = ballots.systems
    won = ballots.outcome >= 0.0
    lost = ballots.outcome <= 0.0
    winners = np.concatenate([ballots.first[won], ballots.second[lost]])
    losers = np.concatenate([ballots.second[won], ballots.first[lost]])
    pairs = np.flatnonzero(np.bincount(winners.astype(np.int64) * r + losers, minlength=r * r))
    graph = coo_array((np.ones(len(pairs)), (pairs // r, pairs % r)), shape=(r, r)).tocsr()
    connected = _list_parts(*connected_components(graph, directed=False))
    if ballots.graded:
        return connected, [np.arange(r)]
    parts = _list_parts(*connected_components(graph, directed=True, connection="strong"))
    if len(parts) > 1:
        # a part stands above those that its members beat directly or through others
        reach = [breadth_first_order(graph, part[0], return_predecessors=False).size for part in parts]
        parts = [parts[k] for k in np.argsort([-count for count in reach], kind="stable")]
    return connected, parts


def _list_parts(count: int, labels: Any) -> list[Ints]:
    return [np.flatnonzero(labels == k) for k in range(count)]
