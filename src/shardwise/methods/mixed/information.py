"""What the data say about the variances, and what that does to the standard error of a difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from shardwise.core.arrays import Floats, Ints
from shardwise.methods.mixed.blocks import Problem
from shardwise.methods.mixed.reml import State, likelihood_slopes, local_products


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """Variances in the order of the factors, residual last, and what the data say about them."""

    variances: Floats  # (K + 1,)
    observed: Floats  # (K + 1, K + 1) information matrix
    expected: Floats
    slope: Floats  # of -2 log L, unprofiled

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
    slope = a @ np.append(d.t / sigma2 - d.y / sigma2**2, f - state.q / sigma2)
    return Information(np.append(state.gamma * sigma2, sigma2), forms - 0.5 * traces, 0.5 * traces, slope)


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
