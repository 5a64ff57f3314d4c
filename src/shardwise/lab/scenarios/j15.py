"""The simulations of J15 (Jayasinghe et al. 2015), figures 2, 3 and 4, as scenarios to draw from.

Figures 2 and 4 compare a non-deterministic system, whose score on topic n by instance m is √((t_n² + i_m²)/2) with
t_n uniform on [0, 1] and i_m drawn from N(μ, σ²) and capped to [0, 1], with a deterministic one of uniform scores. The
two systems share no topic effect. Figure 3 has two systems whose difference on a topic is drawn from N(0, σ²).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from shardwise.core.arguments import validate_choice, validate_count
from shardwise.core.arrays import Floats, make_generator
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.lab.scenarios.base import Scenario

Figure = Literal["figure-2", "figure-3", "figure-4"]
FIGURES = ("figure-2", "figure-3", "figure-4")


def draw_parameters(scenario: Scenario, first: int, count: int, seed: int) -> tuple[Floats, Floats]:
    """(count,) mean and standard deviation of the instances of each table, drawn where the scenario has none."""
    mu, sigma = scenario.facts["mu"], scenario.facts["sigma"]
    drawn = np.array([make_generator(seed, first + i, 1).random(2) for i in range(count)]).reshape(count, 2)
    # "the mean and the variance between 0 and 1" (J15 §4)
    return (
        drawn[:, 0] if mu is None else np.full(count, mu),
        np.sqrt(drawn[:, 1]) if sigma is None else np.full(count, sigma),
    )


def _draw_j15(scenario: Scenario, first: int, count: int, seed: int) -> Floats:
    """(count, *shape) scores of one of the figures."""
    y = np.empty((count, *scenario.shape))
    mu, sigma = draw_parameters(scenario, first, count, seed)
    n = scenario.shape[0]
    for i in range(count):
        rng = make_generator(seed, first + i)
        if "instance" not in scenario.dims:
            difference = rng.normal(0.0, sigma[i], n)
            y[i] = 0.5 + np.multiply.outer(difference, [0.5, -0.5])
            continue
        topic = rng.random((n, 1))
        instance = np.clip(rng.normal(mu[i], sigma[i], scenario.shape[2]), 0.0, 1.0)
        y[i, :, 0] = np.sqrt((topic**2 + instance**2) / 2.0)
        y[i, :, 1] = rng.random((n, 1))
    return y


def j15_scenario(
    figure: Figure,
    *,
    mu: float | None = None,
    sigma: float | None = None,
    topics: int = 50,
    instances: int = 100,
) -> Scenario:
    """Return the scenario of one of J15's figures.

    Parameters
    ----------
    figure : {"figure-2", "figure-3", "figure-4"}
        ``figure-2``, ``figure-3`` or ``figure-4``.
    mu : float, optional
        Mean of the instances' distribution: .5 for figure 2; drawn anew for each table of figure 4; figure 3 has none.
    sigma : float, optional
        Its standard deviation: .1 for figure 2, drawn anew for figure 4; for figure 3 that of the difference, which the
        paper does not state, .1.
    topics : int
        Number of topics.
    instances : int
        Number of instances of the non-deterministic system.

    Returns
    -------
    Scenario
        What tables are drawn from.

    >>> j15_scenario("figure-2", mu=.5, sigma=0.).truth.round(3)
    array([0.523, 0.5  ])
    """
    validate_choice(figure, "figure", FIGURES, what="simulation")
    if sigma is not None and not (np.isfinite(sigma) and sigma >= 0):
        raise InputError(f"sigma = {sigma:g} is not a standard deviation", remedy="give 0 or more")
    validate_count(topics, "topics", least=2)
    validate_count(instances, "instances", least=2)
    if figure == "figure-3":
        if mu is not None:
            raise InputError("figure-3 has no mu: the systems are equal", remedy="leave it out")
        facts: dict[str, Any] = {"mu": 0.0, "sigma": 0.1 if sigma is None else sigma}
        dims, truth = ("topic", "system"), np.full(2, 0.5)
        return Scenario(f"J15 {figure}", dims, (topics, 2), Claim("topic"), truth, _draw_j15, facts)
    if figure == "figure-2":
        mu, sigma = 0.5 if mu is None else mu, 0.1 if sigma is None else sigma
    # each table of figure 4 has a truth of its own
    mean = np.nan if mu is None or sigma is None else float(expected_score(mu, sigma))
    facts = {"mu": mu, "sigma": sigma, "deterministic": np.array([False, True])}
    sizes, claim = (topics, 2, instances), Claim("topic", "instance")
    return Scenario(
        f"J15 {figure}",
        ("topic", "system", "instance"),
        sizes,
        claim,
        np.array([mean, 0.5]),
        _draw_j15,
        facts,
    )


def expected_score(mu: Floats | float, sigma: Floats | float) -> Floats:
    """Expected score √((t² + i²)/2) of the non-deterministic system, t uniform, i from N(μ, σ²) capped to [0, 1].

    J15 takes it for .5 where μ = .5. It is larger, .523 without variation: the root of a mean of squares is at least
    the mean.
    """
    z = np.linspace(-8.5, 8.5, 4001)
    weight = np.exp(-(z**2) / 2.0)
    m, s = np.asarray(mu, dtype=float)[..., None], np.asarray(sigma, dtype=float)[..., None]
    i = np.clip(m + s * z, 0.0, 1.0)
    # ∫ √((t² + i²)/2) dt over [0, 1]
    log = np.where(i > 0, i**2 * np.arcsinh(1.0 / np.where(i > 0, i, 1.0)), 0.0)
    integral = (np.sqrt(1.0 + i**2) + log) / (2.0 * np.sqrt(2.0))
    return np.asarray(integral @ weight / weight.sum())
