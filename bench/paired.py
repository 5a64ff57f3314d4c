"""Tests of all pairs on the same items: ours beside scipy, and evalstats where a Python has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

import shardwise as sw
from bench.timing import Seconds, best_of

ITEMS, SYSTEMS = 200, 100
MODELS, QUESTIONS, DRAWS = 8, 500, 10_000
PYTHON = os.environ.get("EVALSTATS_PYTHON", sys.executable)  # evalstats may be in an environment of its own
EVALSTATS = """
import json, sys, time
import evalstats as es, numpy as np, pandas as pd
told = json.load(sys.stdin)
y = np.array(told["y"])
n, m = y.shape
frame = pd.DataFrame(
    {"item": np.repeat(np.arange(n), m), "model": np.tile([f"m{k}" for k in range(m)], n), "score": y.ravel()}
)
data, best = es.load_from(frame), []
for _ in range(3):
    wall, spent = time.perf_counter(), time.process_time()
    found = es.compare(data, factors="model", n_bootstrap=told["draws"])
    best.append((time.perf_counter() - wall, time.process_time() - spent))
print(json.dumps([min(one[0] for one in best), min(one[1] for one in best)]))
"""


def table(items: int, systems: int) -> xr.DataArray:
    """Random scores, the items of unequal difficulty."""
    rng = np.random.default_rng(0)
    y = rng.normal(0.4, 0.2, (items, 1)) + rng.normal(np.linspace(0.0, 0.05, systems), 0.15, (items, systems))
    return xr.DataArray(y, dims=("topic", "system"), coords={"system": [f"m{k}" for k in range(systems)]})


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values."""
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(stepped, 1.0)
    return found


def by_scipy(y: np.ndarray, test: Callable[..., Any]) -> np.ndarray:
    """Adjusted p-values of all pairs, tested in one call."""
    ia, ib = np.triu_indices(y.shape[1], 1)
    return holm(np.asarray(test(y[:, ia], y[:, ib], axis=0).pvalue))


def one_by_one(y: np.ndarray, test: Callable[..., Any]) -> np.ndarray:
    """The same, pair by pair."""
    pairs = zip(*np.triu_indices(y.shape[1], 1), strict=True)
    return holm(np.array([test(y[:, a], y[:, b]).pvalue for a, b in pairs]))


def flips(y: np.ndarray) -> float:
    """p-value of one pair by sign flips."""
    found = stats.permutation_test(
        (y[:, 0], y[:, 1]),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=DRAWS - 1,
        rng=np.random.default_rng(1),
    )
    return float(found.pvalue)


def evalstats(y: np.ndarray) -> Seconds | None:
    """Bootstrapped t of all pairs with Romano and Wolf's correction; nothing where it is not installed."""
    done = subprocess.run(
        [PYTHON, "-c", EVALSTATS],
        input=json.dumps({"y": y.tolist(), "draws": DRAWS}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    return Seconds(*json.loads(done.stdout.splitlines()[-1]))


def run() -> str:
    """Time all, check that they agree where they do the same, and return a Markdown table."""
    lines = [
        "Seconds by the clock, in brackets seconds of processors: the best of three, everything compiled."
        " evalstats tests ranks and sizes of effects in the same call.",
        "",
        "| work | systems × items | ours | peer | it took | processor s, ratio |",
        "|---|---|--:|---|--:|--:|",
    ]

    def row(work: str, size: tuple[int, int], ours: Seconds, peer: str, theirs: Seconds | None) -> None:
        tail = f"{theirs} | {theirs.spent / ours.spent:.1f}" if theirs else "not installed |"
        lines.append(f"| {work} | {' × '.join(f'{one:,}' for one in size)} | {ours} | {peer} | {tail} |")

    many, few = table(ITEMS, SYSTEMS), table(QUESTIONS, MODELS)
    for method, test in (("t holm", stats.ttest_rel), ("wilcoxon holm", stats.wilcoxon)):
        ours, found = best_of(3, lambda method=method: sw.compare(many, method).p_adjusted)
        for times, way, call in ((3, "all pairs in one call", by_scipy), (1, "pair by pair", one_by_one)):
            theirs, expected = best_of(times, lambda call=call, test=test: call(many.values, test))
            np.testing.assert_allclose(np.sort(found), np.sort(expected), rtol=1e-6, atol=1e-12)
            row(f"`{method}`", (SYSTEMS, ITEMS), ours, f"scipy `{test.__name__}`, {way}", theirs)
    pair = many.isel(system=[0, SYSTEMS - 1])
    ours, p = best_of(3, lambda: float(sw.compare(pair, "max-t", n_resamples=DRAWS - 1).p_adjusted[0]))
    theirs, q = best_of(3, lambda: flips(pair.values))
    spread = 4.0 * np.sqrt(2.0 * p * (1.0 - p) / DRAWS) + 2.0 / DRAWS
    assert abs(p - q) <= spread, (p, q)  # four standard errors of the difference
    row(f"{DRAWS - 1:,} sign flips (`max-t`)", (2, ITEMS), ours, "scipy `permutation_test`", theirs)
    ours, _ = best_of(3, lambda: sw.compare(few, "moderated", n_resamples=DRAWS).to_frame())
    work = f"{DRAWS:,} resamples, Romano–Wolf (`moderated`)"
    row(work, (MODELS, QUESTIONS), ours, "evalstats `compare`", evalstats(few.values))
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
