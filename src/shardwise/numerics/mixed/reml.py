"""Restricted maximum likelihood of linear mixed models with random intercepts, whatever is missing.

y = Xβ + Σ_k Z_k u_k + ε, u_k ~ N(0, σ_k² I), ε ~ N(0, σ² I). With γ_k = σ_k²/σ² the covariance is σ²W,
W = I + Σ γ_k Z_k Z_k'. The factor with most levels is eliminated first (its Z'Z is diagonal), the rest is one dense
Cholesky decomposition. The likelihood is maximised over the γ themselves, not over their roots: at γ = 0 its slope
says whether the variance wants to grow, whereas the slope in the root is always 0 there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg, sparse

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError

STARTS = (1.0, 0.05, 10.0)
TOLERANCE = 1e-13  # decrease of the deviance that a Newton step promises, relative to its size
MOST_STEPS = 200
SPARSE = 0.1  # share of the levels of the others that meet a level of the big factor


Matrix = Floats | sparse.csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Cross products of the data: all that the likelihood needs."""

    n: int
    p: int
    big: int  # which factor is eliminated
    rest: tuple[slice, ...]  # columns of each of the other factors within U = [Z_rest, X]
    others: tuple[int, ...]  # their numbers
    counts: Floats  # (q,) observations of each level of the big factor
    zb_u: Matrix  # (q, u)
    u_u: Floats
    zb_y: Floats
    u_y: Floats
    y_y: float

    @property
    def factors(self) -> int:
        """Number of random factors."""
        return 1 + len(self.others)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The likelihood at one γ: K is the inverse of the mixed-model equations, scaled back."""

    gamma: Floats
    g: Floats  # U'W_b⁻¹U
    h: Floats  # U'W_b⁻¹y
    k: Floats
    logs: float  # log|W| + log|X'W⁻¹X|
    q: float  # y'P_w y


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Traces and quadratic forms for derivatives, in units of σ² = 1: V_k = Z_k Z_k', P = P_w."""

    t: Floats  # tr(P V_k)
    tt: Floats  # tr(P V_j P V_k)
    y: Floats  # y'P V_k P y
    yy: Floats  # y'P V_j P V_k P y
    scores: tuple[Floats, ...]  # Z_k'P y


@dataclass(frozen=True, slots=True)
class Convergence:
    """How the optimisation went."""

    method: str
    steps: int = 0
    slope: float = 0.0  # largest gain in deviance that a further step promises
    starts: int = 1
    agreeing: int = 1  # starts that led to the same maximum

    @property
    def converged(self) -> bool:
        """Whether no step promises more than rounding."""
        return self.slope < 1e-6

    def __str__(self) -> str:
        if self.starts == 1:
            return self.method
        end = "converged" if self.converged else f"NOT converged: a step still promises {self.slope:.2g}"
        return f"{self.method}, {self.steps} steps, {end}; {self.agreeing} of {self.starts} starts agree"


def problem(y: Floats, x: Floats, factors: Sequence[Ints]) -> Problem:
    """Prepare observations y, fixed columns X and the level of each factor for each observation (-1: none)."""
    levels = [int(code.max(initial=-1)) + 1 for code in factors]
    big = int(np.argmax(levels))
    others = tuple(k for k in range(len(factors)) if k != big)
    edges = np.concatenate(([0], np.cumsum([levels[k] for k in others]))).astype(int)
    rest = tuple(slice(int(a), int(b)) for a, b in pairwise(edges))
    n, p = x.shape
    width = int(edges[-1]) + p
    u_u, u_y = np.zeros((width, width)), np.zeros(width)
    zb_u = np.zeros((levels[big], width))
    tail = slice(width - p, width)
    for at, k in zip(rest, others, strict=True):
        u_y[at] = _sums(factors[k], y, levels[k])
        zb_u[:, at] = _crossed(factors[big], factors[k], levels[big], levels[k])
        for at2, k2 in zip(rest, others, strict=True):
            u_u[at, at2] = _crossed(factors[k], factors[k2], levels[k], levels[k2])
        for j in range(p):
            u_u[at, width - p + j] = _sums(factors[k], x[:, j], levels[k])
        u_u[tail, at] = u_u[at, tail].T
    for j in range(p):
        zb_u[:, width - p + j] = _sums(factors[big], x[:, j], levels[big])
    u_u[tail, tail] = x.T @ x
    u_y[tail] = x.T @ y
    counts = _sums(factors[big], np.ones(n), levels[big])
    zb_y = _sums(factors[big], y, levels[big])
    few = np.count_nonzero(zb_u) < SPARSE * zb_u.size
    cross = sparse.csr_array(zb_u) if few else zb_u
    return Problem(n, p, big, rest, others, counts, cross, u_u, zb_y, u_y, float(y @ y))


def _sums(code: Ints, x: Floats, levels: int) -> Floats:
    inside = code >= 0
    return np.bincount(code[inside], weights=x[inside], minlength=levels).astype(np.float64)


def _crossed(one: Ints, two: Ints, rows: int, columns: int) -> Floats:
    inside = (one >= 0) & (two >= 0)
    flat = np.bincount(one[inside] * columns + two[inside], minlength=rows * columns)
    return flat.reshape(rows, columns).astype(float)


def evaluate(data: Problem, gamma: Floats) -> State:
    """Solve the mixed-model equations at one γ."""
    shrink = gamma[data.big] / (1.0 + gamma[data.big] * data.counts)
    g = data.u_u - dense(data.zb_u.T @ _scaled(data.zb_u, shrink))
    h = data.u_y - data.zb_u.T @ (shrink * data.zb_y)
    scale = np.ones(len(h))
    for at, k in zip(data.rest, data.others, strict=True):
        scale[at] = np.sqrt(gamma[k])
    c = g * np.outer(scale, scale)
    random = len(h) - data.p
    c[np.arange(random), np.arange(random)] += 1.0
    try:
        factor = linalg.cholesky(c, lower=True, check_finite=False)
    except linalg.LinAlgError:
        raise InputError(
            "the mean of a system cannot be told from those of others", remedy="give every system scores"
        ) from None
    inverse = linalg.solve_triangular(factor, np.diag(scale), lower=True, check_finite=False)
    k_matrix = inverse.T @ inverse
    v = inverse @ h
    q = data.y_y - float(shrink @ data.zb_y**2) - float(v @ v)
    logs = float(np.log1p(gamma[data.big] * data.counts).sum() + 2.0 * np.log(np.diag(factor)).sum())
    return State(gamma, g, h, k_matrix, logs, max(q, np.finfo(float).tiny))


def _scaled(matrix: Matrix, rows: Floats) -> Matrix:
    if isinstance(matrix, np.ndarray):
        return rows[:, None] * matrix
    return sparse.csr_array(sparse.diags_array(rows) @ matrix)


def dense(matrix: Any) -> Floats:
    """A matrix as an array, whether it is sparse or not."""
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def deviance(data: Problem, at: State, sigma2: float) -> float:
    """-2 log restricted likelihood at one σ²."""
    f = data.n - data.p
    return at.logs + f * float(np.log(2.0 * np.pi * sigma2)) + at.q / sigma2


def profiled_deviance(data: Problem, at: State) -> float:
    """-2 log restricted likelihood, σ² at its best."""
    f = data.n - data.p
    return at.logs + f * (1.0 + float(np.log(2.0 * np.pi * at.q / f)))


def slopes(data: Problem, at: State) -> Slopes:
    """Traces tr(PV), tr(PVPV) and their counterparts in y, without any matrix as large as the data."""
    size = data.factors
    gamma = at.gamma[data.big]
    h_b = _scaled(data.zb_u, 1.0 / (1.0 + gamma * data.counts))  # Z_b'W_b⁻¹U
    kg = at.k @ at.g
    pi = at.g - at.g @ kg  # Z_r'P Z_r in its random columns
    pi_b = dense(h_b) - h_b @ kg  # Z_b'P Z_r
    delta = data.counts / (1.0 + gamma * data.counts)
    own = np.asarray((h_b * (h_b @ at.k)).sum(axis=1))
    sk = dense(h_b.T @ h_b) @ at.k
    kh = at.k @ at.h
    w_b = data.zb_y / (1.0 + gamma * data.counts) - h_b @ kh
    w = at.h - at.g @ kh
    t, tt, y, yy = np.zeros(size), np.zeros((size, size)), np.zeros(size), np.zeros((size, size))
    b = data.big
    t[b], y[b] = float((delta - own).sum()), float(w_b @ w_b)
    tt[b, b] = float((delta**2).sum() - 2.0 * (delta * own).sum() + (sk * sk.T).sum())
    hw = h_b.T @ w_b
    yy[b, b] = float((delta * w_b**2).sum() - hw @ at.k @ hw)
    scores: list[Floats] = [w_b] * size
    for one, i in zip(data.rest, data.others, strict=True):
        scores[i] = w[one]
        t[i], y[i] = float(np.trace(pi[one, one])), float(w[one] @ w[one])
        tt[b, i] = tt[i, b] = float((pi_b[:, one] ** 2).sum())
        yy[b, i] = yy[i, b] = float(w_b @ pi_b[:, one] @ w[one])
        for two, j in zip(data.rest, data.others, strict=True):
            tt[i, j] = float((pi[one, two] ** 2).sum())
            yy[i, j] = float(w[one] @ pi[one, two] @ w[two])
    return Slopes(t, tt, y, yy, tuple(scores))


@cache
def _controller() -> Any:
    return import_module("threadpoolctl").ThreadpoolController()


def one_thread() -> Any:
    """A context with one BLAS thread: at these sizes a second one costs far more than it brings."""
    return _controller().limit(limits=1, user_api="blas")


def maximise(data: Problem) -> tuple[State, Convergence]:
    """Find the restricted maximum over γ ≥ 0 from several starts."""
    with one_thread():
        ends = [_climb(data, np.full(data.factors, start)) for start in STARTS]
    best = min(ends, key=lambda end: end[1])
    agreeing = sum(abs(end[1] - best[1]) < 1e-6 * (1.0 + abs(best[1])) for end in ends)
    record = Convergence("profiled REML by projected Newton steps", best[2], best[3], len(STARTS), agreeing)
    return best[0], record


def _climb(data: Problem, gamma: Floats) -> tuple[State, float, int, float]:
    """One ascent: state, deviance, steps, and the gain that a further step promises."""
    state = evaluate(data, gamma)
    deviance = profiled_deviance(data, state)
    gain = np.inf
    for step in range(MOST_STEPS):
        slope, direction = _step(data, state)
        gain = -float(slope @ direction)
        if gain < TOLERANCE * (1.0 + abs(deviance)):
            # Newton doubles the digits once more where the deviance no longer shows it
            return evaluate(data, np.maximum(state.gamma + direction, 0.0)), deviance, step, gain
        length = 1.0
        while length > 1e-10:
            trial = evaluate(data, np.maximum(state.gamma + length * direction, 0.0))
            value = profiled_deviance(data, trial)
            if value < deviance:
                break
            length /= 4.0 if length > 0.01 else 16.0
        else:  # rounding hides what gain is left
            return state, deviance, step, gain
        state, deviance = trial, value
    return state, deviance, MOST_STEPS, gain


def _step(data: Problem, at: State) -> tuple[Floats, Floats]:
    """Slope of the deviance in γ, 0 where it presses against the bound, and a direction downhill."""
    d = slopes(data, at)
    f = data.n - data.p
    slope = d.t - f * d.y / at.q
    free = (at.gamma > 0.0) | (slope < 0.0)
    slope = np.where(free, slope, 0.0)
    curve = -d.tt + f * (2.0 * d.yy / at.q - np.outer(d.y, d.y) / at.q**2)
    expected = d.tt - np.outer(d.t, d.t) / f
    direction = np.zeros_like(slope)
    inside = np.ix_(free, free)
    for matrix in (curve[inside], expected[inside]):
        try:
            factor = linalg.cho_factor(matrix, check_finite=False)
        except linalg.LinAlgError:
            continue
        direction[free] = -linalg.cho_solve(factor, slope[free], check_finite=False)
        return slope, direction
    direction[free] = -slope[free] / np.maximum(np.diag(expected)[free], 1e-300)
    return slope, direction
