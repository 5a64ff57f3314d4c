"""MD6 and Tukey HSD end to end: ours against statsmodels, on the sizes where that one finishes."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
import xarray as xr
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from shardwise.comparing.compare import compare
from shardwise.core.model import MD6
from shardwise.methods.anova.fit import anova
from shardwise.stats import studentized_range

PEER_SIZES = [(10, 8, 3), (20, 12, 4), (25, 20, 5), (30, 30, 5), (40, 30, 5)]
FULL_SIZE = (50, 129, 5)
FORMULA = "y ~ (C(topic) + C(system) + C(shard))**2"  # MD6: all main effects and all interactions of two


def simulated(topics: int, systems: int, shards: int) -> xr.DataArray:
    g = np.random.default_rng((topics, systems, shards))
    y = (
        0.3
        + 0.2 * g.normal(size=(topics, 1, 1))
        + 0.05 * g.normal(size=(1, systems, 1))
        + 0.08 * g.normal(size=(topics, systems, 1))
        + 0.06 * g.normal(size=(topics, systems, shards))
    )
    dims = ("topic", "system", "shard")
    sizes = (topics, systems, shards)
    return xr.DataArray(
        y,
        dims=dims,
        coords={dim: [f"{dim}{k}" for k in range(n)] for dim, n in zip(dims, sizes, strict=True)},
    )


def ours(scores: xr.DataArray) -> tuple[float, int]:
    """Sum of squares of the system effect and the number of pairs told apart."""
    fit = anova(scores, MD6)
    return float(fit.table.loc["system", "ss"]), int(compare(fit, "hsd").reject().sum())


def theirs(scores: xr.DataArray) -> tuple[float, int]:
    """The same by least squares on dummy variables, and Tukey's distribution for each pair of marginal means."""
    frame = scores.to_series().rename("y").reset_index()
    fit = ols(FORMULA, frame).fit()
    table = anova_lm(fit, typ=1)
    means = frame.groupby("system")["y"].mean().to_numpy()
    se = np.sqrt(fit.mse_resid / (len(frame) / len(means)))
    # scipy's distribution would take longer than the fit: ours stands in for it, to statsmodels' advantage
    q = np.array([abs(means[a] - means[b]) / se for a, b in combinations(range(len(means)), 2)])
    p = studentized_range.sf(q, len(means), fit.df_resid)
    return float(table.loc["C(system)", "sum_sq"]), int((p <= 0.05).sum())


def timed(
    action: Callable[[xr.DataArray], tuple[float, int]], scores: xr.DataArray, times: int
) -> tuple[float, tuple]:
    best, result = np.inf, (0.0, 0)
    for _ in range(times):
        start = time.perf_counter()
        result = action(scores)
        best = min(best, time.perf_counter() - start)
    return float(best), result


def run() -> str:
    """Time both, check that they agree, and return a Markdown table."""
    ours(simulated(4, 3, 2))  # compiled before the clock starts
    lines = ["| topics × systems × shards | ours, s | statsmodels, s | ratio |", "|---|---|---|---|"]
    for size in PEER_SIZES:
        scores = simulated(*size)
        our_seconds, our_result = timed(ours, scores, 3)
        their_seconds, their_result = timed(theirs, scores, 2)
        assert np.isclose(our_result[0], their_result[0], rtol=1e-6), (our_result, their_result)
        assert our_result[1] == their_result[1], (our_result, their_result)
        lines.append(f"| {' × '.join(map(str, size))} | {our_seconds:.4f} | {their_seconds:.2f} "
                     f"| {their_seconds / our_seconds:.0f} |")  # fmt: skip
    seconds, _ = timed(ours, simulated(*FULL_SIZE), 3)
    t, r, k = FULL_SIZE
    gigabytes = 8e-9 * t * r * k * (t * r * k - (t - 1) * (r - 1) * (k - 1))
    lines.append(
        f"| {' × '.join(map(str, FULL_SIZE))} | {seconds:.4f} | not tried: {gigabytes:.1f} GB of dummies | |"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
