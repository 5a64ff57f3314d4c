"""Reports of two to hundreds of systems: bytes of the page and of its items, seconds of analysing and of writing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import xarray as xr

import shardwise as sw
from bench.timing import best_of
from shardwise.analysis.trust import default_budget
from shardwise.writing.html import render_report
from shardwise.writing.item_view import render_items

COMMANDS = ((20, 50), (126, 50))
"""Systems and items of reports by the command, with recorded and with simulated error rates."""
SHAPES = ((2, 50), (20, 50), (126, 50), (500, 50), (126, 250), (10, 5000))
"""Systems and items."""


def simulate_scores(systems: int, items: int, *, decimals: int | None = 4, seed: int = 0) -> xr.DataArray:
    """Scores from 0 to 1 with four decimals as measures are printed, under names that differ in the middle."""
    rng = np.random.default_rng(seed)
    values = np.clip(
        rng.beta(1.5, 2.5, (items, 1))
        + rng.normal(0, 0.08, (items, systems))
        + np.linspace(0.1, -0.1, systems),
        0,
        1,
    )
    names = [f"team{k % 17}.run-{k:03d}.reranker" if k % 3 else f"bm25-{k:03d}" for k in range(systems)]
    return xr.DataArray(
        values if decimals is None else values.round(decimals),
        dims=("topic", "system"),
        coords={"topic": [str(301 + k) for k in range(items)], "system": names},
        name="AP",
    )


def main() -> None:
    """Print a table of sizes and seconds."""
    print("| systems | items | scores | page bytes | items bytes | analysis s | report s |")
    print("|--:|--:|---|--:|--:|--:|--:|")
    for systems, items in SHAPES:
        for decimals in (4, None):
            scores = simulate_scores(systems, items, decimals=decimals)
            analysing, analysis = best_of(1, lambda scores=scores: sw.analyze(scores, calibration=0))
            writing, page = best_of(1, lambda analysis=analysis: render_report(analysis))
            view = render_items(analysis)
            size = len(view.html) if view else 0
            kind = "16 decimals" if decimals is None else f"{decimals} decimals"
            print(
                f"| {systems} | {items:,} | {kind} | {len(page.encode()):,} | {size:,} | {analysing} | {writing} |",
                flush=True,
            )
    print("\n| systems | items | error rates | seconds (of processors) |")
    print("|--:|--:|---|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for systems, items in COMMANDS:
            path = Path(folder) / f"{systems}.csv"
            simulate_scores(systems, items).to_pandas().to_csv(path)
            tables = default_budget(systems)
            for words, options in (
                ("none", ("--calibration", "0")),
                ("recorded (default)", ()),
                (f"simulated, {tables} tables", ("--calibration", str(tables))),
            ):
                clock, processors = time_report(path, *options)
                print(f"| {systems} | {items} | {words} | {clock:.1f} ({processors:.1f}) |", flush=True)


def time_report(path: Path, *options: str) -> tuple[float, float]:
    """Seconds by the clock and of processors that the command takes for a report, the process itself included."""
    command = [
        sys.executable,
        "-m",
        "shardwise",
        "compare",
        path,
        "--report",
        path.with_suffix(".html"),
        *options,
    ]
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    clock, after = time.perf_counter() - start, os.times()
    return clock, after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()
