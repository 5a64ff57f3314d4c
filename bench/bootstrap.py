"""Bootstrap ANOVA: the distribution computed, simulated by our compiled kernel, and simulated in plain numpy."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import xarray as xr

from shardwise.comparing.compare import compare
from shardwise.comparing.stability import over_splits, unanimous
from shardwise.core.model import MD3, MD6, Model
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import bootstrap_anova

M = 10_000
SIZE = (50, 129, 5)


def simulated(topics: int, systems: int, shards: int, splits: int = 1) -> xr.DataArray:
    g = np.random.default_rng((topics, systems, shards))
    y = (
        0.3
        + 0.2 * g.normal(size=(1, topics, 1, 1))
        + 0.05 * g.normal(size=(1, 1, systems, 1))
        + 0.08 * g.normal(size=(1, topics, systems, 1))
        + 0.06 * (g.gamma(0.5, 1.0, (splits, topics, systems, shards)) - 0.5) / 0.5**0.5
    )
    return xr.DataArray(y, dims=("split", "topic", "system", "shard"))


def ideal(scores: xr.DataArray, model: Model) -> int:
    """From scores to the pairs told apart, without resampling."""
    return int(compare(bootstrap_anova(scores, model), "bh", null="marginal", tails=1).reject().sum())


def compiled(scores: xr.DataArray, model: Model) -> int:
    """The same by our own simulation, on all processors."""
    fit = bootstrap_anova(scores, model, n_resamples=M, seed=1)
    return int(compare(fit, "bh", null="marginal", tails=1).reject().sum())


def plain(scores: xr.DataArray, model: Model) -> int:
    """The same as the papers describe it, in plain numpy: draw, average, sort, look up, correct."""
    fit = anova(scores, model)
    pool = fit.residuals.to_numpy().ravel()
    effects = fit.effects["system"].to_numpy()
    g = np.random.default_rng(1)
    errors = np.empty((M, len(effects)))
    for m in range(M):
        drawn = pool[g.integers(0, pool.size, scores.shape)]
        errors[m] = drawn.mean(axis=(0, 2)) - drawn.mean()
    errors.sort(axis=0)
    order = np.argsort(-effects)
    a, b = np.triu_indices(len(effects), 1)
    better, worse = order[a], order[b]
    gap = effects[better] - effects[worse]
    p = np.array([1.0 - np.searchsorted(errors[:, w], d) / M for w, d in zip(worse, gap, strict=True)])
    sorted_p = np.sort(p)
    below = np.flatnonzero(sorted_p <= 0.05 * np.arange(1, p.size + 1) / p.size)
    return int(below[-1]) + 1 if below.size else 0


def timed(action: Callable[[], int], times: int) -> tuple[float, int]:
    best, result = np.inf, 0
    for _ in range(times):
        start = time.perf_counter()
        result = action()
        best = min(best, time.perf_counter() - start)
    return float(best), result


def run() -> str:
    """Time all three in one run, check that they agree, and return Markdown tables."""
    small = simulated(4, 3, 2).isel(split=0)
    ideal(small, MD3), compiled(small, MD3)  # compiled before the clock starts
    lines = [
        f"| {M} resamples | ideal, s | compiled, s | numpy, s | compiled / ideal | numpy / ideal |",
        "|---|---|---|---|---|---|",
    ]
    scores = simulated(*SIZE).isel(split=0)
    for model in (MD3, MD6):
        first, found = timed(lambda model=model: ideal(scores, model), 15)  # type: ignore[misc]
        second, simulated_pairs = timed(lambda model=model: compiled(scores, model), 3)  # type: ignore[misc]
        third, plain_pairs = timed(lambda model=model: plain(scores, model), 1)  # type: ignore[misc]
        assert abs(found - simulated_pairs) < 60, (found, simulated_pairs)
        assert abs(found - plain_pairs) < 60, (found, plain_pairs)
        lines.append(
            f"| {' × '.join(map(str, SIZE))}, {model.name} | {first:.4f} | {second:.3f} | {third:.2f} "
            f"| {second / first:.0f} | {third / first:.0f} |"
        )
    several = simulated(50, 129, 2, splits=11)

    def eleven() -> int:
        found = over_splits(several, MD3, "bh", fit="bootstrap", null="marginal", tails=1)
        return int(unanimous(found).reject().sum())

    seconds, _ = timed(eleven, 3)
    lines += [
        "",
        "| V17's multiple-partition inference | s |",
        "|---|---|",
        f"| 11 splits × (50 × 129 × 2), MD3, bootstrap, Benjamini–Hochberg, unanimity | {seconds:.2f} |",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
