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
        """Whether no step promises more than rounding."""
        return self.slope < 1e-6

    def __str__(self) -> str:
        if self.starts == 1:
            return self.method
        end = "converged" if self.converged else f"NOT converged: a step still promises {self.slope:.2g}"
        return f"{self.method}, {self.steps} steps, {end}; {self.agreeing} of {self.starts} starts agree"


def evaluate(data: Problem, gamma: Floats) -> State:
    """Solve the mixed-model equations at one γ."""
    root = np.sqrt(gamma[data.column_factor])
    system = data.zz * np.outer(root, root) + np.eye(root.size)
    try:
        lower = np.linalg.cholesky(system)
        inner = np.linalg.inv(system) * np.outer(root, root)
        inner_u = _each(inner, data.zu)
        flat = (-1, data.u_u.shape[0])
        weighted = (data.count[:, None, None] * inner_u).reshape(flat)
        g = data.u_u - data.zu.reshape(flat).T @ weighted
        h = data.u_y - inner_u.reshape(flat).T @ data.zy.reshape(-1)
        scale = np.ones(len(h))
        for at, i in zip(data.rest, data.others, strict=True):
            scale[at] = np.sqrt(gamma[i])
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


def _each(a: Floats, b: Floats) -> Floats:
    """Products of many small matrices; those of single numbers need no BLAS, which is slow to call."""
    return a * b if a.shape[-1] == 1 else a @ b


def deviance(data: Problem, at: State, sigma2: float) -> float:
    """-2 log restricted likelihood at one σ²."""
    f = data.n - data.p
    return at.logs + f * float(np.log(2.0 * np.pi * sigma2)) + at.q / sigma2


def profiled_deviance(data: Problem, at: State) -> float:
    """-2 log restricted likelihood, σ² at its best."""
    f = data.n - data.p
    return at.logs + f * (1.0 + float(np.log(2.0 * np.pi * at.q / f)))


def local(data: Problem, at: State) -> Local:
    """What derivatives need of the factors within items."""
    zz = data.zz - _each(_each(data.zz, at.inner), data.zz)
    zu = data.zu - _each(data.zz, at.inner_u)
    width = zu.shape[-1]
    root = np.sqrt(data.count)[:, None, None] * zu
    each = {j: root[:, one].reshape(-1, width) for j, one in data.own.items()}
    return Local(zz, zu, {j: mine.T @ mine for j, mine in each.items()})


def slopes(data: Problem, at: State) -> Slopes:
    """Traces tr(PV), tr(PVPV) and their counterparts in y, without any matrix as large as the data."""
    near = local(data, at)
    size = data.factors
    kh = at.k @ at.h
    w = at.h - at.g @ kh  # U'Py
    n = np.eye(len(w)) - at.k @ at.g
    pi = n.T @ at.g  # U'PU
    turn = np.eye(data.zz.shape[-1]) - _each(data.zz, at.inner)
    ours, minus = _each(turn, data.zy[..., None]), near.zu @ kh
    sum_w = ours[..., 0] - data.count[:, None] * minus  # Z'Py, summed over the items of a pattern
    cross = ours * minus[:, None, :]
    ww = _each(_each(turn, data.zyyz), turn.swapaxes(-1, -2)) - cross - cross.swapaxes(-1, -2)
    ww += data.count[:, None, None] * minus[:, :, None] * minus[:, None, :]  # its squares, likewise
    hw = {j: np.einsum("pmu,pm->u", near.zu[:, one], sum_w[:, one]) for j, one in data.own.items()}
    ks = {j: at.k @ s_j for j, s_j in near.s.items()}
    zuk = (near.zu.reshape(-1, len(w)) @ at.k).reshape(near.zu.shape)  # one product, not one for each pattern
    around = zuk @ near.zu.swapaxes(-1, -2)  # Z'W_b⁻¹U K U'W_b⁻¹Z
    t, tt, y, yy = np.zeros(size), np.zeros((size, size)), np.zeros(size), np.zeros((size, size))
    for j, one in data.own.items():
        s_j = near.s[j]
        own = np.diagonal(near.zz[:, one, one], axis1=-2, axis2=-1)
        t[j] = float((data.count[:, None] * own).sum() - (at.k * s_j).sum())
        y[j] = float(np.trace(ww[:, one, one], axis1=-2, axis2=-1).sum())
        for k, two in data.own.items():
            both = near.zz[:, one, two]
            tt[j, k] = float((data.count[:, None, None] * both * (both - 2.0 * around[:, one, two])).sum())
            tt[j, k] += float((ks[j] * ks[k].T).sum())
            yy[j, k] = float((both * ww[:, one, two]).sum() - hw[j] @ at.k @ hw[k])
        nsn = np.einsum("ij,ij->j", n, s_j @ n)
        for two, k in zip(data.rest, data.others, strict=True):
            tt[j, k] = tt[k, j] = float(nsn[two].sum())
            yy[j, k] = yy[k, j] = float(hw[j] @ n[:, two] @ w[two])
    for one, i in zip(data.rest, data.others, strict=True):
        t[i], y[i] = float(np.trace(pi[one, one])), float(w[one] @ w[one])
        for two, k in zip(data.rest, data.others, strict=True):
            tt[i, k] = float((pi[one, two] ** 2).sum())
            yy[i, k] = float(w[one] @ pi[one, two] @ w[two])
    return Slopes(t, tt, y, yy)


def predictions(data: Problem, at: State) -> tuple[Floats, ...]:
    """Z_k'Py of each factor, which γ_k makes best linear unbiased predictions."""
    kh = at.k @ at.h
    w = at.h - at.g @ kh
    turn = np.eye(data.zz.shape[-1]) - data.zz @ at.inner
    own = np.einsum("imk,ik->im", turn[data.pattern], data.item_zy)
    own -= (local(data, at).zu @ kh)[data.pattern]
    found: list[Floats] = [np.empty(0)] * data.factors
    for one, i in zip(data.rest, data.others, strict=True):
        found[i] = w[one]
    for j, one in data.own.items():
        levels = data.item_levels[:, one]
        there = levels >= 0
        found[j] = np.zeros(int(levels.max()) + 1)
        found[j][levels[there]] = own[:, one][there]
    return tuple(found)


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
