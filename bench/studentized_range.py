"""8,256 p-values of the studentized range: ours against scipy and R, in one run."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
from scipy import stats

from bench.timing import Seconds, best_of
from shardwise.stats import studentized_range as sr

SYSTEMS, DF, PAIRS = 129, 6272.0, 8256
SCIPY_VALUES = (
    100  # scipy needs a minute for all pairs: it gets an even sample of them, scaled up by the number
)

R_SCRIPT = """
q <- scan(file("stdin"), quiet = TRUE)
best <- c(Inf, Inf)
for (i in 1:3) {{
  t <- system.time(ptukey(q, {systems}, {df}, lower.tail = FALSE))
  best <- pmin(best, c(t[[3]], t[[1]] + t[[2]]))
}}
cat(best)
"""


def cold() -> None:
    """Forget all tables."""
    for kept in vars(sr).values():
        if hasattr(kept, "cache_clear"):
            kept.cache_clear()


def r_seconds(q: np.ndarray) -> Seconds | None:
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
    return Seconds(*map(float, done.stdout.split()))


def run() -> str:
    """Time all three on the same values and return a Markdown table."""
    q = np.sort(np.abs(np.random.default_rng(1).normal(scale=5, size=PAIRS)))
    sr.sf(q, 3, DF)  # compiled before the clock starts

    def ours() -> None:
        cold()
        sr.sf(q, SYSTEMS, DF)

    cold_seconds, _ = best_of(3, ours)
    warm_seconds, _ = best_of(3, lambda: sr.sf(q, SYSTEMS, DF))
    some = q[:: PAIRS // SCIPY_VALUES]
    few, scipy_values = best_of(1, lambda: stats.studentized_range.sf(some, SYSTEMS, DF))
    scipy_seconds = Seconds(*(one * PAIRS / len(some) for one in few))
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
        f"| {PAIRS} p-values, {SYSTEMS} systems, {DF:g} df | s (processor s) | times ours, built anew |",
        "|---|--:|--:|",
    ]
    lines += [f"| {name} | {seconds} | {seconds.spent / cold_seconds.spent:.3g} |" for name, seconds in rows]
    lines += [] if r is not None else ["| R `ptukey`: not installed | | |"]
    lines.append(f"\nLargest difference from scipy: {off:.1e}.")
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
