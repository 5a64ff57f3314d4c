"""What small samples add to the covariance of the system means (Kenward & Roger 1997)."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from shardwise.core.arrays import Floats
from shardwise.methods.mixed.blocks import Problem
from shardwise.methods.mixed.information import Information, to_residual
from shardwise.methods.mixed.reml import State, local_products


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
