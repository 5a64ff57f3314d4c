"""Right and wrong answers, items a sample: logit P = β_system + θ·u_item, u ~ N(0, 1), by Laplace's approximation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from scipy import special

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError

STEPS = 100


@dataclass(frozen=True, slots=True, eq=False)
class LogisticMaximum:
    """The maximum of the approximate likelihood."""

    beta: Floats  # (L,) log-odds of each system on an item of average difficulty
    sd: float  # θ, of the log-odds of items
    log_likelihood: float
    covariance: Floats  # (L, L) of β, given θ
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """One entry an answer: right (1) or wrong (0), its system and its item."""

    y: Floats
    system: Ints
    item: Ints
    systems: int
    items: int


def _mode(data: Answers, beta: Floats, sd: float) -> tuple[Floats, Floats, Floats]:
    """Likeliest u of each item, by Newton's steps for all at once; probabilities, and the curvature at u."""
    u: Floats = np.zeros(data.items)
    for _ in range(STEPS):
        p = special.expit(beta[data.system] + sd * u[data.item])
        curve = 1.0 + sd**2 * np.bincount(data.item, p * (1.0 - p), data.items)
        step = (sd * np.bincount(data.item, data.y - p, data.items) - u) / curve
        u = u + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-12:
            break
    p = special.expit(beta[data.system] + sd * u[data.item])
    return u, p, np.asarray(1.0 + sd**2 * np.bincount(data.item, p * (1.0 - p), data.items), np.float64)


def laplace_deviance(data: Answers, beta: Floats, sd: float) -> float:
    """-2 log likelihood, the integral over each u replaced by that of the normal curve at its mode.

    Parameters
    ----------
    data
        The answers.
    beta, sd
        Where to take it.
    """
    u, _, curve = _mode(data, beta, sd)
    eta = beta[data.system] + sd * u[data.item]
    fit = np.where(data.y > 0.0, special.log_expit(eta), special.log_expit(-eta)).sum()
    return float(-2.0 * fit + (u**2).sum() + np.log(curve).sum())


def logistic(y: Floats, system: Ints, item: Ints) -> LogisticMaximum:
    """Maximise Laplace's approximation of the likelihood over the systems' log-odds and the spread of items.

    Parameters
    ----------
    y
        Right (1) or wrong (0).
    system, item
        Numbers of the system and the item of each answer.
    """
    data = Answers(y, system, item, int(system.max()) + 1, int(item.max()) + 1)
    share = np.bincount(system, y, data.systems) / np.bincount(system, minlength=data.systems)
    if ((share == 0.0) | (share == 1.0)).any():
        raise InputError(
            "a system is right, or wrong, in every answer: its log-odds are infinite",
            remedy="use McNemar's test, 'mcnemar holm'",
        )
    minimize: Any = scipy.optimize.minimize

    def deviance(x: Floats) -> float:
        return laplace_deviance(data, x[:-1], float(abs(x[-1])))

    start = minimize(deviance, np.append(special.logit(share), 1.0), method="BFGS", options={"gtol": 1e-6}).x
    # a last word by a method without slopes, which finite differences blur
    precise = {"xatol": 1e-8, "fatol": 1e-11, "maxiter": 4000, "initial_simplex": _simplex(start)}
    found = minimize(deviance, start, method="Nelder-Mead", options=precise)
    beta, sd = found.x[:-1], float(abs(found.x[-1]))
    _, p, curve = _mode(data, beta, sd)
    w = p * (1.0 - p)
    cross = np.zeros((data.items, data.systems))
    np.add.at(cross, (item, system), sd * w)
    information = np.diag(np.bincount(system, w, data.systems)) - (cross / curve[:, None]).T @ cross
    return LogisticMaximum(
        beta, sd, -0.5 * float(found.fun), np.asarray(np.linalg.inv(information)), bool(found.success)
    )


def _simplex(centre: Floats, size: float = 1e-3) -> Floats:
    return np.vstack([centre, centre + size * np.eye(centre.size)])
