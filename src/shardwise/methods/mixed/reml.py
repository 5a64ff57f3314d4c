"""Restricted maximum likelihood of linear mixed models with random intercepts, whatever is missing.

y = Xβ + Σ_k Z_k u_k + ε, u_k ~ N(0, σ_k² I), ε ~ N(0, σ² I). With γ_k = σ_k²/σ² the covariance is σ²W,
W = I + Σ γ_k Z_k Z_k'. Factors whose levels lie within one item each (the item itself, item:system …) are eliminated
item by item, which costs as many small matrices as there are patterns of gaps; the others and X, together U, are one
dense Cholesky decomposition. The likelihood is maximised over the γ themselves, not over their roots: at γ = 0 its
slope says whether the variance wants to grow, whereas the slope in the root is always 0 there.

The data of a mixed model as cross products, put together by items that lack the same cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg, sparse

from shardwise.core.arrays import Floats, Ints, make_generator
from shardwise.core.errors import InputError, Option
from shardwise.stats.threads import one_thread


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Cross products of the data: all that the likelihood needs.

    Z are the factors whose levels lie within one item, U those that do not, and the fixed columns X. Items with the
    same cells have the same Z'Z and Z'U, so that one pattern stands for all of them.
    """

    n: int
    p: int
    factors: int  # random ones
    own: dict[
        int, slice
    ]  # factors within items -> their columns of Z; a level that an item lacks is a column of 0
    others: tuple[int, ...]  # the other factors
    rest: tuple[slice, ...]  # their columns of U
    column_factor: Ints  # (m,) factor of each column of Z
    count: Floats  # (P,) items of each pattern
    zz: Floats  # (P, m, m) Z'Z of one of them
    zu: Floats  # (P, m, u) Z'U
    zy: Floats  # (P, m) Z'y, summed over them
    zyyz: Floats  # (P, m, m) Z'yy'Z, likewise
    u_u: Floats
    u_y: Floats
    y_y: float


def prepare_problem(y: Floats, x: Floats, factors: Sequence[Ints]) -> Problem:
    """Prepare observations y, fixed columns X and the level of each factor for each observation (-1: none)."""
    n, p = x.shape
    item, within = _choose_items(factors, p)
    others = tuple(k for k in range(len(factors)) if k not in within)
    items = int(item.max()) + 1
    slots, levels = _assign_slots(item, [factors[k] for k in within], items)
    edges = np.cumsum([0, *(block.shape[1] for block in levels)])
    slices = {k: slice(int(a), int(b)) for k, (a, b) in zip(within, pairwise(edges), strict=True)}
    m = int(edges[-1])
    places = [np.where(slot >= 0, slot + start, -1) for slot, start in zip(slots, edges, strict=False)]
    widths = [int(factors[k].max(initial=-1)) + 1 for k in others]
    starts = np.cumsum([0, *widths])
    u = _build_columns(
        [(factors[k], int(a)) for k, a in zip(others, starts, strict=False)], x, int(starts[-1])
    )
    # number of the pattern of each item, and an item of each pattern
    rng = make_generator(0)
    mark = u @ rng.standard_normal(u.shape[1])
    for slot in places:
        mark = mark + rng.standard_normal(int(slot.max(initial=-1)) + 2)[slot]
    _, kind = np.unique(mark, return_inverse=True)
    words = rng.integers(0, 2**63, size=(int(kind.max()) + 1, 2), dtype=np.uint64)
    sums = np.zeros((items, 2), dtype=np.uint64)
    np.add.at(sums, item, words[kind])
    _, first, pattern = np.unique(
        sums.view([("a", np.uint64), ("b", np.uint64)]).ravel(), return_index=True, return_inverse=True
    )
    pattern, first = pattern.astype(np.int64), first.astype(np.int64)
    count = np.bincount(pattern).astype(np.float64)
    zz, zu = _multiply_representatives(item, places, u, pattern, first, m)
    item_zy = np.zeros((items, m))
    for place in places:
        present = place >= 0
        np.add.at(item_zy, (item[present], place[present]), y[present])
    order = np.argsort(pattern, kind="stable")
    cuts = np.searchsorted(pattern[order], np.arange(len(count)))
    squares = item_zy[order][:, :, None] * item_zy[order][:, None, :]
    return Problem(
        n=n,
        p=p,
        factors=len(factors),
        own=slices,
        others=others,
        rest=tuple(slice(int(a), int(b)) for a, b in pairwise(starts)),
        column_factor=np.repeat(np.array(within, dtype=np.int64), np.diff(edges)),
        count=count,
        zz=zz,
        zu=zu,
        zy=np.add.reduceat(item_zy[order], cuts, axis=0),
        zyyz=np.add.reduceat(squares, cuts, axis=0),
        u_u=np.asarray((u.T @ u).toarray()),
        u_y=np.asarray(u.T @ y),
        y_y=float(y @ y),
    )


def _choose_items(factors: Sequence[Ints], p: int) -> tuple[Ints, tuple[int, ...]]:
    """Which factor's levels are the items, such that elimination is cheapest, and the factors that lie within them."""
    best: tuple[float, Ints, tuple[int, ...]] | None = None
    for item in factors:
        if (item < 0).any() or not item.size:
            continue
        most = [_levels_within(code, item) for code in factors]
        within = tuple(k for k, levels in enumerate(most) if levels >= 0)
        u = p + sum(int(code.max(initial=-1)) + 1 for k, code in enumerate(factors) if k not in within)
        m = sum(most[k] for k in within)
        cost = float(u) ** 3 + (int(item.max()) + 1.0) * m * (m + u) ** 2
        if best is None or cost < best[0]:
            best = cost, item, within
    if best is None:  # every factor leaves some observations out: all of them are one item without factors
        return np.zeros(len(factors[0]) if factors else 1, dtype=np.int64), ()
    return best[1], best[2]


def _levels_within(code: Ints, item: Ints) -> int:
    """The largest number of levels of a factor in one item, or -1 if one of its levels lies in two items."""
    present = code >= 0
    if not present.all():
        code, item = code[present], item[present]
    owner = np.full(int(code.max(initial=-1)) + 1, -1, dtype=np.int64)
    owner[code] = item
    return int(np.bincount(owner[owner >= 0]).max(initial=0)) if (owner[code] == item).all() else -1


def _assign_slots(item: Ints, factors: Sequence[Ints], items: int) -> tuple[list[Ints], list[Ints]]:
    """Place of each observation's level among those of its item (-1: none), and the level at each place (I, most)."""
    slots, levels = [], []
    for code in factors:
        owner = np.full(int(code.max(initial=-1)) + 1, -1, dtype=np.int64)
        owner[code[code >= 0]] = item[code >= 0]
        used = np.flatnonzero(owner >= 0)
        order = used[np.argsort(owner[used], kind="stable")]
        starts = np.searchsorted(owner[order], np.arange(items))
        slot = np.zeros(len(owner), dtype=np.int64)
        slot[order] = np.arange(len(order)) - starts[owner[order]]
        slots.append(np.where(code >= 0, slot[code], -1))
        level_at_slot = np.full((items, int(slot.max(initial=-1)) + 1), -1, dtype=np.int64)
        level_at_slot[owner[order], slot[order]] = order
        levels.append(level_at_slot)
    return slots, levels


def _build_columns(codes: Sequence[tuple[Ints, int]], x: Floats, start: int) -> sparse.csr_array:
    """U = [Z of the other factors, X] as a sparse matrix."""
    n, p = x.shape
    columns = np.empty((n, len(codes) + p), dtype=np.int32)
    values = np.empty(columns.shape)
    for k, (code, first) in enumerate(codes):
        columns[:, k] = code + first
        values[:, k] = code >= 0
    columns[:, len(codes) :] = np.arange(start, start + p)
    values[:, len(codes) :] = x
    present = values != 0.0
    ends = np.concatenate(([0], np.cumsum(present.sum(axis=1)))).astype(np.int32)
    return sparse.csr_array((values[present], columns[present], ends), shape=(n, start + p))


def _multiply_representatives(
    item: Ints, places: Sequence[Ints], u: sparse.csr_array, pattern: Ints, first: Ints, m: int
) -> tuple[Floats, Floats]:
    """(P, m, m) Z'Z and (P, m, u) Z'U of one item of each pattern."""
    chosen = np.zeros(len(pattern), dtype=bool)
    chosen[first] = True
    rows = np.flatnonzero(chosen[item])
    own_pattern = pattern[item[rows]]
    zz = np.zeros((len(first), m, m))
    width = u.shape[1]
    zu = np.zeros(len(first) * m * width)
    mine = u if len(rows) == u.shape[0] else u[rows]
    length = np.diff(mine.indptr)
    for slots in places:
        a = slots[rows]
        flat_index = np.repeat((own_pattern * m + a) * width, length) + mine.indices
        weight = np.where(np.repeat(a >= 0, length), mine.data, 0.0)
        zu += np.bincount(np.maximum(flat_index, 0), weights=weight, minlength=zu.size)
        for two in places:
            b = two[rows]
            both = (a >= 0) & (b >= 0)
            np.add.at(zz, (own_pattern[both], a[both], b[both]), 1.0)
    return zz, zu.reshape(len(first), m, width)


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


def profiled_deviance(data: Problem, state: State) -> float:
    """-2 log restricted likelihood, σ² at its best."""
    f = data.n - data.p
    return state.logs + f * (1.0 + float(np.log(2.0 * np.pi * state.q / f)))


def local_products(data: Problem, state: State) -> tuple[Floats, Floats, dict[int, Floats]]:
    """Cross products of the factors within items, summed over items: all that derivatives need of them.

    (P, m, m) Z'W_b⁻¹Z of each pattern, (P, m, u) Z'W_b⁻¹U, and (u, u) S_j = U'W_b⁻¹Z_j Z_j'W_b⁻¹U of each factor j.
    """
    zz = data.zz - _multiply_each(_multiply_each(data.zz, state.inner), data.zz)
    zu = data.zu - _multiply_each(data.zz, state.inner_u)
    width = zu.shape[-1]
    root = np.sqrt(data.count)[:, None, None] * zu
    each = {j: root[:, columns].reshape(-1, width) for j, columns in data.own.items()}
    return zz, zu, {j: mine.T @ mine for j, mine in each.items()}


def likelihood_slopes(data: Problem, state: State) -> Slopes:
    """Traces tr(PV), tr(PVPV) and their counterparts in y, without any matrix as large as the data."""
    zz, zu, squares = local_products(data, state)
    size = data.factors
    kh = state.k @ state.h
    w = state.h - state.g @ kh  # U'Py
    n = np.eye(len(w)) - state.k @ state.g
    pi = n.T @ state.g  # U'PU
    turn = np.eye(data.zz.shape[-1]) - _multiply_each(data.zz, state.inner)
    ours, minus = _multiply_each(turn, data.zy[..., None]), zu @ kh
    sum_w = ours[..., 0] - data.count[:, None] * minus  # Z'Py, summed over the items of a pattern
    cross = ours * minus[:, None, :]
    ww = (
        _multiply_each(_multiply_each(turn, data.zyyz), turn.swapaxes(-1, -2))
        - cross
        - cross.swapaxes(-1, -2)
    )
    ww += data.count[:, None, None] * minus[:, :, None] * minus[:, None, :]  # its squares, likewise
    hw = {j: np.einsum("pmu,pm->u", zu[:, columns], sum_w[:, columns]) for j, columns in data.own.items()}
    ks = {j: state.k @ s_j for j, s_j in squares.items()}
    zuk = (zu.reshape(-1, len(w)) @ state.k).reshape(zu.shape)  # one product, not one for each pattern
    around = zuk @ zu.swapaxes(-1, -2)  # Z'W_b⁻¹U K U'W_b⁻¹Z
    t, tt, y, yy = np.zeros(size), np.zeros((size, size)), np.zeros(size), np.zeros((size, size))
    for j, columns in data.own.items():
        s_j = squares[j]
        diagonal = np.diagonal(zz[:, columns, columns], axis1=-2, axis2=-1)
        t[j] = float((data.count[:, None] * diagonal).sum() - (state.k * s_j).sum())
        y[j] = float(np.trace(ww[:, columns, columns], axis1=-2, axis2=-1).sum())
        for k, two in data.own.items():
            both = zz[:, columns, two]
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


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """Variances in the order of the factors, residual last, and what the data say about them."""

    variances: Floats  # (K + 1,)
    observed: Floats  # (K + 1, K + 1) information matrix
    expected: Floats

    @property
    def active(self) -> Ints:
        """Which variances are not on the bound."""
        return np.flatnonzero(self.variances > 0.0)


def to_residual(gamma: Floats, sigma2: float) -> Floats:
    """Directions (V_1 … V_K, V) to (V_1 … V_K, I), as I = (V - Σ σ_k² V_k)/σ²."""
    a = np.eye(len(gamma) + 1)
    a[-1] = np.append(-gamma, 1.0 / sigma2)
    return a


def fixed_covariance(data: Problem, state: State, sigma2: float) -> tuple[Floats, Floats]:
    """Covariance Φ of the fixed effects and its derivatives (K + 1, p, p) by the variances.

    ∂(c'Φc)/∂σ_k² = ‖Z_k'V⁻¹XΦc‖².
    """
    kappa = state.k[:, -data.p :]
    phi = sigma2 * kappa[-data.p :]
    g_kappa = state.g @ kappa
    parts = np.empty((data.factors + 1, data.p, data.p))
    for j, s_j in local_products(data, state)[2].items():
        parts[j] = kappa.T @ s_j @ kappa
    for columns, i in zip(data.rest, data.others, strict=True):
        parts[i] = g_kappa[columns].T @ g_kappa[columns]
    parts[-1] = phi
    return phi, np.tensordot(to_residual(state.gamma, sigma2), parts, axes=1)


def difference_df(variance: Floats, slope: Floats, info: Information, *, observed: bool) -> Floats:
    """2 Var² / (g'Cg) for each variance of a difference and its slopes (K + 1, …).

    C is from the observed information about the variances off the bound (Satterthwaite's df as lmerTest has it), or
    from the expected one about all (Kenward and Roger's for a single contrast).
    """
    use = info.active if observed else np.arange(len(info.variances))
    matrix = (info.observed if observed else info.expected)[np.ix_(use, use)]
    spread = np.einsum("k...,kl,l...->...", slope[use], linalg.pinvh(matrix, check_finite=False), slope[use])
    return np.asarray(
        np.divide(2.0 * variance**2, spread, out=np.full_like(variance, np.inf), where=spread > 0)
    )


TINY = 1e-12  # a mean square this small against the others is rounding


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RestrictedFigures:
    """What a maximum of the restricted likelihood says."""

    values: Floats  # (L,) system means
    variances: Floats  # (K + 1,) of the random terms, the residual one last
    log_likelihood: float  # restricted
    difference_variance: Floats  # (L, L)
    small_sample_variance: Floats  # (L, L) with Kenward and Roger's correction, to which their df belong
    satterthwaite: Floats  # (L, L) df of each difference
    kenward_roger: Floats
    convergence: Convergence


def describe_figures(figures: RestrictedFigures) -> dict[str, Any]:
    """Return the figures by name, for a fit that holds them."""
    return {field.name: getattr(figures, field.name) for field in fields(RestrictedFigures)}


def fit_restricted(y: Floats, system: Ints, factors: Sequence[Ints], systems: int) -> RestrictedFigures:
    """Maximise the restricted likelihood, given each score's system and its level of each random term (-1: none)."""
    centre = y.mean()
    data = prepare_problem(y - centre, np.eye(systems)[system], factors)
    state, convergence = maximise_likelihood(data)
    sigma2 = state.q / (data.n - data.p)
    refuse_without_error(sigma2, float(y.var()))
    # observed and expected information about the variances; V_k = ∂V/∂σ_k² and V_e = I
    d, size = likelihood_slopes(data, state), data.factors + 1
    traces, forms = np.empty((size, size)), np.empty((size, size))
    traces[:-1, :-1], forms[:-1, :-1] = d.tt / sigma2**2, d.yy / sigma2**3
    # V itself as the last direction: P V P = P
    traces[-1, :-1] = traces[:-1, -1] = d.t / sigma2
    forms[-1, :-1] = forms[:-1, -1] = d.y / sigma2**2
    traces[-1, -1], forms[-1, -1] = data.n - data.p, state.q / sigma2
    a = to_residual(state.gamma, sigma2)
    traces, forms = a @ traces @ a.T, a @ forms @ a.T
    info = Information(np.append(state.gamma * sigma2, sigma2), forms - 0.5 * traces, 0.5 * traces)
    phi, slopes = fixed_covariance(data, state, sigma2)
    var, slope = _difference_variances(phi), _difference_variances(slopes)
    off = np.where(np.eye(systems, dtype=bool), np.inf, var)  # a system against itself: any df will do
    return RestrictedFigures(
        values=(state.k @ state.h)[-data.p :] + centre,
        variances=info.variances,
        log_likelihood=-0.5 * profiled_deviance(data, state),
        difference_variance=var,
        small_sample_variance=var + _difference_variances(small_sample(data, state, sigma2, info)),
        satterthwaite=difference_df(off, slope, info, observed=True),
        kenward_roger=difference_df(off, slope, info, observed=False),
        convergence=convergence,
    )


def _difference_variances(phi: Floats) -> Floats:
    """(…, L, L) c'Φc for all differences of two systems."""
    diagonal = np.diagonal(phi, axis1=-2, axis2=-1)
    return np.asarray(diagonal[..., :, None] + diagonal[..., None, :] - phi - np.swapaxes(phi, -1, -2))


def refuse_without_error(error: float, spread: float) -> None:
    """Refuse scores that leave no residual."""
    if not error > TINY * spread:
        raise InputError(
            "the scores of a system's instances differ by nothing but a constant, which leaves no residual",
            remedy=("if the instances are copies, keep one and name the system in ", Option("deterministic")),
        )


def singular_note(singular: Sequence[str]) -> tuple[str, ...]:
    """What a variance of 0 means, where there is one."""
    if not singular:
        return ()
    return (
        f"singular fit: the variance of {' and '.join(singular)} is estimated as 0, that is, the data show no more "
        "variation there than chance; it need not be 0 in truth",
    )


def small_sample(data: Problem, state: State, sigma2: float, info: Information) -> Floats:
    """(p, p) 2Λ, to be added to Φ: Λ = Σ_jk C_jk (Q_jk - P_j Φ P_k) between two Φ, C the inverse expected information.

    With A_k = Z_k'V⁻¹XΦ each term is A_j'(Z_j'P Z_k)A_k, P = V⁻¹ - V⁻¹XΦX'V⁻¹. The direction V itself, of which the
    residual is made, adds nothing, as PX = 0. Complete data have Λ = 0.
    """
    kappa = state.k[:, -data.p :]
    zz, zu, squares = local_products(data, state)
    g_kappa = state.g @ kappa
    n = np.eye(len(state.h)) - state.k @ state.g
    pi = n.T @ state.g  # U'PU
    size = data.factors + 1
    terms = np.zeros((size, size, data.p, data.p))
    a = zu @ kappa  # (P, m, p) Z'W_b⁻¹U K, of which the columns of X are taken
    for j, s_j in squares.items():
        for k, s_k in squares.items():
            mine, theirs = data.own[j], data.own[k]
            terms[j, k] = np.einsum(
                "p,pma,pmn,pnb->ab",
                data.count,
                a[:, mine],
                zz[:, mine, theirs],
                a[:, theirs],
                optimize=True,
            )
            terms[j, k] -= (s_j @ kappa).T @ state.k @ (s_k @ kappa)
        for columns, i in zip(data.rest, data.others, strict=True):
            terms[j, i] = kappa.T @ s_j @ n[:, columns] @ g_kappa[columns]
            terms[i, j] = terms[j, i].T
    for columns, i in zip(data.rest, data.others, strict=True):
        for two, k in zip(data.rest, data.others, strict=True):
            terms[i, k] = g_kappa[columns].T @ pi[columns, two] @ g_kappa[two]
    turn = to_residual(state.gamma, sigma2)
    weights = turn.T @ linalg.pinvh(info.expected, check_finite=False) @ turn
    return np.asarray(2.0 * np.einsum("jk,jkab->ab", weights, terms) / sigma2)
