"""What the data say of a difference as a probability: posterior and highest-density interval (J15 §2, §5.4).

Draws are taken of the variances only. Given them, a difference is normal, and the normal distributions are averaged
(Rao & Blackwell) instead of drawing from them: the ends of an interval are then stable to a fraction of what
sorted draws give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from scipy import linalg, special

from shardwise.core.arguments import resolve_alpha, validate_choice
from shardwise.core.arrays import Floats, make_generator
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.shown import Drawn
from shardwise.methods.mixed import balanced, reml
from shardwise.methods.mixed.balanced import Order, draw_ordered
from shardwise.methods.mixed.fit import MixedFit
from shardwise.stats.threads import one_thread

DRAWS, DRAWS_GENERAL = 10_000, 2_000
PROPOSAL_DF = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Distribution of a difference: a mixture of normal ones, or of Student's where the scale was integrated out."""

    centres: Floats  # (D,)
    scales: Floats  # (D,)
    weights: Floats  # (D,) that sum to 1
    df: float = float("inf")

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(self.weights @ self.centres)

    def cdf(self, x: float) -> float:
        """Probability of a difference up to x."""
        z = (x - self.centres) / self.scales
        each = special.ndtr(z) if np.isinf(self.df) else special.stdtr(self.df, z)
        return float(self.weights @ each)

    def above(self, x: float) -> float:
        """Probability of a difference beyond x."""
        return 1.0 - self.cdf(x)

    def quantile(self, p: float) -> float:
        """The x with cdf(x) = p."""
        reach = 2.0 * float(self.scales.max())
        middle = self.mean
        while not self.cdf(middle - reach) < p < self.cdf(middle + reach):
            reach *= 2.0
        return float(
            scipy.optimize.brentq(lambda x: self.cdf(x) - p, middle - reach, middle + reach, xtol=1e-13)
        )

    def interval(
        self, level: float | None = None, kind: str = "hpd", *, alpha: float | None = None
    ) -> tuple[float, float]:
        """The shortest interval with this probability ("hpd"), or the one with equal tails ("equal-tailed")."""
        tail = resolve_alpha(alpha, level)
        validate_choice(kind, "kind", ("hpd", "equal-tailed"), what="interval")
        share = 0.5
        if kind == "hpd" and np.ptp(self.centres) > 0.0:  # one centre is symmetric: equal tails are shortest
            best = scipy.optimize.minimize_scalar(
                lambda s: self.quantile(1.0 - (1.0 - s) * tail) - self.quantile(s * tail),
                bounds=(0.01, 0.99), method="bounded", options={"xatol": 1e-4},
            )  # fmt: skip
            share = float(best.x)
        return self.quantile(share * tail), self.quantile(1.0 - (1.0 - share) * tail)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Posterior(Drawn):
    """Posterior of a mixed model: draws of the variances, and for each the distribution of the system means."""

    systems: tuple[str, ...]
    components: tuple[str, ...]
    variances: Floats  # (D, 4)
    weights: Floats  # (D,)
    means: Floats  # (D, L), or (1, L) where all draws agree
    difference_variance: Floats  # (D, L, L), or (D, 1, 1) where all pairs agree
    df: float
    words: str

    def difference(self, a: str, b: str) -> Mixture:
        """Return the posterior distribution of the difference of two systems, a - b.

        Parameters
        ----------
        a, b : str
            Names of the systems.

        Returns
        -------
        Mixture
            The distribution, a mixture over the draws.
        """
        for name in (a, b):
            validate_choice(name, "system", self.systems)
        if a == b:
            raise InputError(f"system {a!r} cannot be compared with itself", remedy="name two systems")
        i, j = self.systems.index(a), self.systems.index(b)
        centres = np.broadcast_to(self.means[:, i] - self.means[:, j], self.weights.shape)
        alike = self.difference_variance.shape[1] == 1
        variance = self.difference_variance[:, 0, 0] if alike else self.difference_variance[:, i, j]
        return Mixture(centres, np.sqrt(variance), self.weights, self.df)

    def components_table(self, level: float | None = None, *, alpha: float | None = None) -> pd.DataFrame:
        """Return median and equal-tailed interval of each standard deviation: `sd, lower, upper`.

        Parameters
        ----------
        level : float, optional
            Probability of the interval, above 0.5; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        DataFrame
            One row an effect.
        """

        tail = resolve_alpha(alpha, level) / 2.0
        rows = []
        for column in np.sqrt(self.variances).T:
            order = np.argsort(column)
            share = np.cumsum(self.weights[order]) - 0.5 * self.weights[order]
            rows.append(np.interp([0.5, tail, 1.0 - tail], share, column[order]))
        index = pd.Index(self.components, name="component")
        return pd.DataFrame(rows, index=index, columns=["sd", "lower", "upper"])

    def __str__(self) -> str:
        return self.words


def posterior(fit: MixedFit, draws: int | None = None, seed: int = 0) -> Posterior:
    """Draw from the posterior of a mixed model, flat in the means and with prior ∏ 1/φ on expected mean squares.

    Complete data: exact, independent draws. Otherwise importance sampling of the variance ratios around their mode,
    each draw with the mean and Student's t that go with it.

    Parameters
    ----------
    fit : MixedFit
        The result of `mixed`.
    draws : int, optional
        How many; 10,000 of complete data and 2,000 of others, if None.
    seed : int
        Where the random numbers start.

    Returns
    -------
    Posterior
        Draws of the variances and, given these, distributions of the means.

    >>> import xarray as xr
    >>> from shardwise.methods.mixed.fit import mixed
    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(0, 0.2, 30) + rng.normal(0, 0.1, (2, 1, 30)) + rng.normal(0, 0.05, (2, 5, 30))
    >>> fit = mixed(xr.DataArray(y, dims=("system", "instance", "topic"), coords={"system": ["a", "b"]}))
    >>> low, high = posterior(fit, seed=1).difference("a", "b").interval(0.95)
    >>> f"{low:.2f} {high:.2f}"
    '-0.05 0.06'
    """
    if draws is not None and draws < 100:
        raise InputError(f"{draws} draws are too few for an interval", remedy="take 1,000 or more")
    if not isinstance(fit, MixedFit) or fit.data is None:
        raise InputError(
            "only a model of topics, systems and instances has a posterior here",
            remedy="give the fit of a design",
        )
    rng = make_generator(seed)
    if fit.balanced is not None:
        n = draws or DRAWS
        lines = fit.balanced.lines
        rows = np.zeros((len(balanced.EDGES), 4))
        for row, (up, down) in zip(rows, balanced.EDGES, strict=True):
            row[up], row[down] = 1.0, -1.0
        phi = draw_ordered(Order(lines.ss, lines.df, rows), n, rng)
        drawn = balanced.BalancedFit(lines, phi, np.zeros(phi.shape, dtype=np.int64))
        return Posterior(
            systems=fit.systems,
            components=tuple(fit.variance_components),
            variances=drawn.components,
            weights=np.full(n, 1.0 / n),
            means=fit.values[None, :],
            difference_variance=drawn.difference_variance[:, None, None],
            df=float("inf"),
            words=f"{n} exact draws",
        )
    with one_thread():
        return _by_importance(fit, draws or DRAWS_GENERAL, rng)


def _by_importance(fit: MixedFit, n: int, rng: np.random.Generator) -> Posterior:
    data = fit.data
    assert data is not None
    ll = len(fit.systems)
    centre = float(data.y.mean())
    codes = (data.topic, data.system_topic, data.instance)
    problem = reml.prepare_problem(data.y - centre, np.eye(ll)[data.system], codes)
    inside = float((data.instance >= 0).sum())
    per_topic, per_cell = (problem.n / (int(code.max()) + 1) for code in codes[:2])
    per_instance = inside / (int(data.instance.max()) + 1)
    f = problem.n - problem.p

    def log_density(eta: Floats) -> float:
        g_t, g_st, g_i = np.exp(eta)
        prior = -np.log1p(per_cell * g_st) - np.log1p(per_instance * g_i)
        prior -= np.log1p(per_cell * g_st + per_topic * g_t)
        state = reml.evaluate_likelihood(problem, np.exp(eta))
        return float(prior + eta.sum() - 0.5 * reml.profiled_deviance(problem, state))

    floor = 0.1 / np.array([per_topic, per_cell, per_instance])
    *variances, residual = fit.variance_components.values()
    start = np.log(np.maximum(np.array(variances) / residual, floor))
    minimize: Any = scipy.optimize.minimize
    mode = minimize(lambda eta: -log_density(eta), start, method="Nelder-Mead", tol=1e-4).x
    # negative Hessian at the mode by differences, made safe where the density is nearly flat
    size = len(mode)
    out = np.empty((size, size))
    e = 0.05 * np.eye(size)
    for i in range(size):
        for j in range(i + 1):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            total = sum(s * t * log_density(mode + s * e[i] + t * e[j]) for s, t in signs)
            out[i, j] = out[j, i] = -total / (4.0 * 0.05**2)
    values, vectors = linalg.eigh(out)
    root = linalg.cholesky(
        linalg.inv(np.asarray(vectors @ np.diag(np.maximum(values, 0.05)) @ vectors.T)), lower=True
    )
    z = rng.standard_normal((n, 3)) / np.sqrt(rng.chisquare(PROPOSAL_DF, (n, 1)) / PROPOSAL_DF)
    eta = mode + z @ root.T
    log_proposal = -(PROPOSAL_DF + 3.0) / 2.0 * np.log1p((z**2).sum(axis=1) / PROPOSAL_DF)
    log_weight, variance = np.empty(n), np.empty((n, 4))
    means, spread = np.empty((n, ll)), np.empty((n, ll, ll))
    for k in range(n):
        log_weight[k] = log_density(eta[k]) - log_proposal[k]
        state = reml.evaluate_likelihood(problem, np.exp(eta[k]))
        sigma2 = state.q / rng.chisquare(f)
        variance[k] = np.append(state.gamma * sigma2, sigma2)
        means[k] = (state.k @ state.h)[-ll:] + centre
        phi = state.q / f * state.k[-ll:, -ll:]
        diagonal = np.diag(phi)
        spread[k] = diagonal[:, None] + diagonal[None, :] - phi - phi.T
    weights = np.exp(log_weight - log_weight.max())
    weights /= weights.sum()
    worth = 1.0 / float((weights**2).sum())
    return Posterior(
        systems=fit.systems,
        components=tuple(fit.variance_components),
        variances=variance,
        weights=weights,
        means=means,
        difference_variance=spread,
        df=float(f),
        words=f"{n} importance draws, worth {worth:.0f} independent ones",
    )
