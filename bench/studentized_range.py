"""8,256 p-values of the studentized range: ours against scipy and R, in one run."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from shardwise.numerics import studentized_range as sr

SYSTEMS, DF, PAIRS = 129, 6272.0, 8256
SCIPY_VALUES = (
    100  # scipy needs a minute for all pairs: it gets an even sample of them, scaled up by the number
)

R_SCRIPT = """
q <- scan(file("stdin"), quiet = TRUE)
best <- Inf
for (i in 1:3) best <- min(best, system.time(ptukey(q, {systems}, {df}, lower.tail = FALSE))[["elapsed"]])
cat(best)
"""


def best_of(action: Callable[[], object], times: int = 3) -> float:
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return float(best)


def cold() -> None:
    sr._table.cache_clear()
    sr._range_tail.cache_clear()


def r_seconds(q: np.ndarray) -> float | None:
    if shutil.which("Rscript") is None:
        return None
    script = R_SCRIPT.format(systems=SYSTEMS, df=DF)
    done = subprocess.run(
        ["Rscript", "-e", script],
        input="\n".join(map(repr, q.tolist())),
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def run() -> str:
    """Time all three on the same values and return a Markdown table."""
    q = np.sort(np.abs(np.random.default_rng(1).normal(scale=5, size=PAIRS)))
    sr.sf(q, 3, DF)  # compiled before the clock starts

    def ours() -> None:
        cold()
        sr.sf(q, SYSTEMS, DF)

    cold_seconds = best_of(ours)
    warm_seconds = best_of(lambda: sr.sf(q, SYSTEMS, DF))
    some = q[:: PAIRS // SCIPY_VALUES]
    start = time.perf_counter()
    scipy_values = stats.studentized_range.sf(some, SYSTEMS, DF)
    scipy_seconds = (time.perf_counter() - start) * PAIRS / len(some)
    off = np.abs(sr.sf(some, SYSTEMS, DF) - scipy_values).max()
    rows = [
        ("ours, tables built anew", cold_seconds),
        ("ours, tables at hand", warm_seconds),
        (f"scipy `studentized_range.sf` (from {len(some)} values)", scipy_seconds),
    ]
    r = r_seconds(q)
    if r is not None:
        rows.append(("R `ptukey`", r))
    lines = [
        f"| {PAIRS} p-values, {SYSTEMS} systems, {DF:g} df | s | times ours, built anew |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {seconds:.4f} | {seconds / cold_seconds:.2f} |" for name, seconds in rows]
    lines.append(f"\nLargest difference from scipy: {off:.1e}.")
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
