"""What small samples add to the covariance of the system means (Kenward & Roger 1997)."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from shardwise.core.arrays import Floats
from shardwise.numerics.mixed.information import Information, to_residual
from shardwise.numerics.mixed.reml import Problem, State, dense


def small_sample(data: Problem, at: State, sigma2: float, info: Information) -> Floats:
    """(p, p) 2Λ, to be added to Φ: Λ = Σ_jk C_jk (Q_jk - P_j Φ P_k) between two Φ, C the inverse expected information.

    With A_k = Z_k'V⁻¹XΦ each term is A_j'(Z_j'P Z_k)A_k, P = V⁻¹ - V⁻¹XΦX'V⁻¹. The direction V itself, of which the
    residual is made, adds nothing, as PX = 0. Complete data have Λ = 0.
    """
    kappa = at.k[:, -data.p :]
    shrink = 1.0 / (1.0 + at.gamma[data.big] * data.counts)
    h_b = shrink[:, None] * dense(data.zb_u)  # Z_b'W_b⁻¹U
    own: list[Floats] = [h_b @ kappa] * data.factors  # A_k
    for one, i in zip(data.rest, data.others, strict=True):
        own[i] = (at.g @ kappa)[one]
    # P Z_k A_k, seen from U (rows of the other factors) and from the big factor
    width = at.g.shape[0]
    from_u, from_b = np.empty((data.factors, width, data.p)), np.empty((data.factors, len(h_b), data.p))
    a = own[data.big]
    back = at.k @ (h_b.T @ a)
    from_u[data.big] = h_b.T @ a - at.g @ back
    from_b[data.big] = (shrink * data.counts)[:, None] * a - h_b @ back
    for one, i in zip(data.rest, data.others, strict=True):
        back = at.k @ (at.g[:, one] @ own[i])
        from_u[i] = at.g[:, one] @ own[i] - at.g @ back
        from_b[i] = h_b[:, one] @ own[i] - h_b @ back
    size = data.factors + 1
    terms = np.zeros((size, size, data.p, data.p))
    for k in range(data.factors):
        terms[data.big, k] = a.T @ from_b[k]
        for one, i in zip(data.rest, data.others, strict=True):
            terms[i, k] = own[i].T @ from_u[k][one]
    turn = to_residual(at.gamma, sigma2)
    weights = turn.T @ linalg.pinvh(info.expected, check_finite=False) @ turn
    return np.asarray(2.0 * np.einsum("jk,jkab->ab", weights, terms) / sigma2)
