"""Restricted maximum likelihood of linear mixed models with random intercepts, whatever is missing.

y = Xβ + Σ_k Z_k u_k + ε, u_k ~ N(0, σ_k² I), ε ~ N(0, σ² I). With γ_k = σ_k²/σ² the covariance is σ²W,
W = I + Σ γ_k Z_k Z_k'. Factors whose levels lie within one item each (the item itself, item:system …) are eliminated
item by item, which costs as many small matrices as there are patterns of gaps; the others and X, together U, are one
dense Cholesky decomposition. The likelihood is maximised over the γ themselves, not over their roots: at γ = 0 its
slope says whether the variance wants to grow, whereas the slope in the root is always 0 there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.methods.mixed.blocks import Problem
from shardwise.stats.threads import one_thread

STARTS = (1.0, 0.05, 10.0)
TOLERANCE = 1e-13  # decrease of the deviance that a Newton step promises, relative to its size
MOST_STEPS = 200
NEAR = 1e-6  # gain in deviance below which Newton's full steps are safe without looking at the deviance
MOST_POLISHING = 5


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The likelihood at one γ: K is the inverse of the mixed-model equations of U, scaled back."""

    gamma: Floats
    g: Floats  # U'W_b⁻¹U, W_b without the factors in U
    h: Floats  # U'W_b⁻¹y
    k: Floats
    logs: float  # log|W| + log|X'W⁻¹X|
    q: float  # y'P_w y
    inner: Floats  # (P, m, m) M of each pattern: W_b⁻¹ = I - ZMZ'
    inner_u: Floats  # (P, m, u) MZ'U


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """Cross products of the factors within items, summed over items: all that derivatives need of them."""

    zz: Floats  # (P, m, m) Z'W_b⁻¹Z of each pattern
    zu: Floats  # (P, m, u) Z'W_b⁻¹U
    s: dict[int, Floats]  # factor -> (u, u) S_j = U'W_b⁻¹Z_j Z_j'W_b⁻¹U


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Traces and quadratic forms for derivatives, in units of σ² = 1: V_k = Z_k Z_k', P = P_w."""

    t: Floats  # tr(P V_k)
    tt: Floats  # tr(P V_j P V_k)
    y: Floats  # y'P V_k P y
    yy: Floats  # y'P V_j P V_k P y


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
        """Whether no step would gain more than rounding."""
        return self.slope < 1e-6

    def __str__(self) -> str:
        if self.starts == 1:
            return self.method
        end = "converged" if self.converged else f"NOT converged: the slope is {self.slope:.2g}"
        return f"{self.method}, {self.steps} steps, {end}; {self.agreeing} of {self.starts} starts agree"


def evaluate_likelihood(data: Problem, gamma: Floats) -> State:
    """Solve the mixed-model equations at one γ."""
    root = np.sqrt(gamma[data.column_factor])
    system = data.zz * np.outer(root, root) + np.eye(root.size)
    try:
        lower = np.linalg.cholesky(system)
        inner = np.linalg.inv(system) * np.outer(root, root)
        inner_u = _multiply_each(inner, data.zu)
        flat = (-1, data.u_u.shape[0])
        weighted = (data.count[:, None, None] * inner_u).reshape(flat)
        g = data.u_u - data.zu.reshape(flat).T @ weighted
        h = data.u_y - inner_u.reshape(flat).T @ data.zy.reshape(-1)
        scale = np.ones(len(h))
        for columns, i in zip(data.rest, data.others, strict=True):
            scale[columns] = np.sqrt(gamma[i])
        scales = np.outer(scale, scale)
        c = g * scales
        random = len(h) - data.p
        c[np.arange(random), np.arange(random)] += 1.0
        factor, failed = linalg.lapack.dpotrf(c, lower=True)
        if failed:
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        raise InputError(
            "the means of the systems cannot be estimated separately", remedy="give every system scores"
        ) from None
    v, _ = linalg.lapack.dtrtrs(factor, scale * h, lower=True)
    half, _ = linalg.lapack.dpotri(factor, lower=True)
    k = half + half.T
    k.flat[:: len(h) + 1] /= 2.0
    k *= scales
    q = data.y_y - float((inner * data.zyyz).sum()) - float(v @ v)
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
    logs = 2.0 * float((data.count[:, None] * np.log(diagonal)).sum() + np.log(np.diag(factor)).sum())
    return State(gamma, g, h, k, logs, max(q, np.finfo(float).tiny), inner, inner_u)


def _multiply_each(a: Floats, b: Floats) -> Floats:
    """Products of many small matrices; those of single numbers need no BLAS, which is slow to call."""
    return a * b if a.shape[-1] == 1 else a @ b


def restricted_deviance(data: Problem, state: State, sigma2: float) -> float:
    """-2 log restricted likelihood at one σ²."""
    f = data.n - data.p
    return state.logs + f * float(np.log(2.0 * np.pi * sigma2)) + state.q / sigma2


def profiled_deviance(data: Problem, state: State) -> float:
    """-2 log restricted likelihood, σ² at its best."""
    f = data.n - data.p
    return state.logs + f * (1.0 + float(np.log(2.0 * np.pi * state.q / f)))


def local_products(data: Problem, state: State) -> Local:
    """What derivatives need of the factors within items."""
    zz = data.zz - _multiply_each(_multiply_each(data.zz, state.inner), data.zz)
    zu = data.zu - _multiply_each(data.zz, state.inner_u)
    width = zu.shape[-1]
    root = np.sqrt(data.count)[:, None, None] * zu
    each = {j: root[:, columns].reshape(-1, width) for j, columns in data.own.items()}
    return Local(zz, zu, {j: mine.T @ mine for j, mine in each.items()})


def likelihood_slopes(data: Problem, state: State) -> Slopes:
    """Traces tr(PV), tr(PVPV) and their counterparts in y, without any matrix as large as the data."""
    near = local_products(data, state)
    size = data.factors
    kh = state.k @ state.h
    w = state.h - state.g @ kh  # U'Py
    n = np.eye(len(w)) - state.k @ state.g
    pi = n.T @ state.g  # U'PU
    turn = np.eye(data.zz.shape[-1]) - _multiply_each(data.zz, state.inner)
    ours, minus = _multiply_each(turn, data.zy[..., None]), near.zu @ kh
    sum_w = ours[..., 0] - data.count[:, None] * minus  # Z'Py, summed over the items of a pattern
    cross = ours * minus[:, None, :]
    ww = (
        _multiply_each(_multiply_each(turn, data.zyyz), turn.swapaxes(-1, -2))
        - cross
        - cross.swapaxes(-1, -2)
    )
    ww += data.count[:, None, None] * minus[:, :, None] * minus[:, None, :]  # its squares, likewise
    hw = {
        j: np.einsum("pmu,pm->u", near.zu[:, columns], sum_w[:, columns]) for j, columns in data.own.items()
    }
    ks = {j: state.k @ s_j for j, s_j in near.s.items()}
    zuk = (near.zu.reshape(-1, len(w)) @ state.k).reshape(
        near.zu.shape
    )  # one product, not one for each pattern
    around = zuk @ near.zu.swapaxes(-1, -2)  # Z'W_b⁻¹U K U'W_b⁻¹Z
    t, tt, y, yy = np.zeros(size), np.zeros((size, size)), np.zeros(size), np.zeros((size, size))
    for j, columns in data.own.items():
        s_j = near.s[j]
        diagonal = np.diagonal(near.zz[:, columns, columns], axis1=-2, axis2=-1)
        t[j] = float((data.count[:, None] * diagonal).sum() - (state.k * s_j).sum())
        y[j] = float(np.trace(ww[:, columns, columns], axis1=-2, axis2=-1).sum())
        for k, two in data.own.items():
            both = near.zz[:, columns, two]
            tt[j, k] = float(
                (data.count[:, None, None] * both * (both - 2.0 * around[:, columns, two])).sum()
            )
            tt[j, k] += float((ks[j] * ks[k].T).sum())
            yy[j, k] = float((both * ww[:, columns, two]).sum() - hw[j] @ state.k @ hw[k])
        nsn = np.einsum("ij,ij->j", n, s_j @ n)
        for two, k in zip(data.rest, data.others, strict=True):
            tt[j, k] = tt[k, j] = float(nsn[two].sum())
            yy[j, k] = yy[k, j] = float(hw[j] @ n[:, two] @ w[two])
    for columns, i in zip(data.rest, data.others, strict=True):
        t[i], y[i] = float(np.trace(pi[columns, columns])), float(w[columns] @ w[columns])
        for two, k in zip(data.rest, data.others, strict=True):
            tt[i, k] = float((pi[columns, two] ** 2).sum())
            yy[i, k] = float(w[columns] @ pi[columns, two] @ w[two])
    return Slopes(t, tt, y, yy)


def predict_effects(data: Problem, state: State) -> tuple[Floats, ...]:
    """Z_k'Py of each factor, which γ_k makes best linear unbiased predictions."""
    kh = state.k @ state.h
    w = state.h - state.g @ kh
    turn = np.eye(data.zz.shape[-1]) - data.zz @ state.inner
    within = np.einsum("imk,ik->im", turn[data.pattern], data.item_zy)
    within -= (local_products(data, state).zu @ kh)[data.pattern]
    predicted: list[Floats] = [np.empty(0)] * data.factors
    for columns, i in zip(data.rest, data.others, strict=True):
        predicted[i] = w[columns]
    for j, columns in data.own.items():
        levels = data.item_levels[:, columns]
        present = levels >= 0
        predicted[j] = np.zeros(int(levels.max()) + 1)
        predicted[j][levels[present]] = within[:, columns][present]
    return tuple(predicted)


def maximise_likelihood(data: Problem) -> tuple[State, Convergence]:
    """Find the restricted maximum over γ ≥ 0 from several starts."""
    with one_thread():
        ends = [_climb_likelihood(data, np.full(data.factors, start)) for start in STARTS]
    best = min(ends, key=lambda end: end[1])
    agreeing = sum(abs(end[1] - best[1]) < 1e-6 * (1.0 + abs(best[1])) for end in ends)
    record = Convergence("profiled REML by projected Newton steps", best[2], best[3], len(STARTS), agreeing)
    return best[0], record


def _climb_likelihood(data: Problem, gamma: Floats) -> tuple[State, float, int, float]:
    """One ascent: state, deviance, steps, and the gain that a further step promises."""
    state = evaluate_likelihood(data, gamma)
    deviance = profiled_deviance(data, state)
    gain = np.inf
    for step in range(MOST_STEPS):
        slope, direction = _choose_step(data, state)
        gain = -float(slope @ direction)
        if gain < TOLERANCE * (1.0 + abs(deviance)):
            # Newton doubles the digits once more where the deviance no longer shows it
            return evaluate_likelihood(data, np.maximum(state.gamma + direction, 0.0)), deviance, step, gain
        length = 1.0
        while length > 1e-10:
            trial = evaluate_likelihood(data, np.maximum(state.gamma + length * direction, 0.0))
            value = profiled_deviance(data, trial)
            if value < deviance:
                break
            length /= 4.0 if length > 0.01 else 16.0
        else:  # rounding hides what gain is left
            state, gain = _polish_maximum(data, state, direction, gain)
            return state, deviance, step, gain
        state, deviance = trial, value
    return state, deviance, MOST_STEPS, gain


def _polish_maximum(data: Problem, state: State, direction: Floats, gain: float) -> tuple[State, float]:
    """Full Newton steps from near the maximum, while each promises less than the one before: state and gain left."""
    for _ in range(MOST_POLISHING if gain < NEAR else 0):
        trial = evaluate_likelihood(data, np.maximum(state.gamma + direction, 0.0))
        slope, direction = _choose_step(data, trial)
        left = -float(slope @ direction)
        if left >= gain:
            break
        state, gain = trial, left
    return state, gain


def _choose_step(data: Problem, state: State) -> tuple[Floats, Floats]:
    """Slope of the deviance in γ, 0 where it presses against the bound, and a direction downhill."""
    d = likelihood_slopes(data, state)
    f = data.n - data.p
    slope = d.t - f * d.y / state.q
    free = (state.gamma > 0.0) | (slope < 0.0)
    slope = np.where(free, slope, 0.0)
    curve = -d.tt + f * (2.0 * d.yy / state.q - np.outer(d.y, d.y) / state.q**2)
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
