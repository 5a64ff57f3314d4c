"""What every mixed model by restricted likelihood hands over: system means, variances, errors of differences.

What the data say about the variances, and what that does to the standard error of a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import linalg

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.methods.mixed import reml
from shardwise.methods.mixed.reml import (
    Convergence,
    Problem,
    State,
    likelihood_slopes,
    local_products,
    prepare_problem,
)


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


def variance_information(data: Problem, state: State, sigma2: float) -> Information:
    """Observed and expected information about the variances; V_k = ∂V/∂σ_k² and V_e = I."""
    d = likelihood_slopes(data, state)
    f = data.n - data.p
    size = data.factors + 1
    traces, forms = np.empty((size, size)), np.empty((size, size))
    traces[:-1, :-1], forms[:-1, :-1] = d.tt / sigma2**2, d.yy / sigma2**3
    # V itself as the last direction: P V P = P
    traces[-1, :-1] = traces[:-1, -1] = d.t / sigma2
    forms[-1, :-1] = forms[:-1, -1] = d.y / sigma2**2
    traces[-1, -1], forms[-1, -1] = f, state.q / sigma2
    a = to_residual(state.gamma, sigma2)
    traces, forms = a @ traces @ a.T, a @ forms @ a.T
    return Information(np.append(state.gamma * sigma2, sigma2), forms - 0.5 * traces, 0.5 * traces)


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
    for j, s_j in local_products(data, state).s.items():
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
    state, convergence = reml.maximise_likelihood(data)
    sigma2 = state.q / (data.n - data.p)
    refuse_without_error(sigma2, float(y.var()))
    info = variance_information(data, state, sigma2)
    phi, slopes = fixed_covariance(data, state, sigma2)
    var, slope = _difference_variances(phi), _difference_variances(slopes)
    off = np.where(np.eye(systems, dtype=bool), np.inf, var)  # a system against itself: any df will do
    return RestrictedFigures(
        values=(state.k @ state.h)[-data.p :] + centre,
        variances=info.variances,
        log_likelihood=-0.5 * reml.profiled_deviance(data, state),
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
    near = local_products(data, state)
    g_kappa = state.g @ kappa
    n = np.eye(len(state.h)) - state.k @ state.g
    pi = n.T @ state.g  # U'PU
    size = data.factors + 1
    terms = np.zeros((size, size, data.p, data.p))
    a = near.zu @ kappa  # (P, m, p) Z'W_b⁻¹U K, of which the columns of X are taken
    for j, s_j in near.s.items():
        for k, s_k in near.s.items():
            mine, theirs = data.own[j], data.own[k]
            terms[j, k] = np.einsum(
                "p,pma,pmn,pnb->ab",
                data.count,
                a[:, mine],
                near.zz[:, mine, theirs],
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
