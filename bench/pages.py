"""Reports of two to hundreds of systems: bytes of the page and of its items, seconds of analysing and of writing."""

from __future__ import annotations

import numpy as np
import xarray as xr

import shardwise as sw
from bench.timing import best_of
from shardwise.writing.html import render_report
from shardwise.writing.item_view import render_items

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


if __name__ == "__main__":
    main()
