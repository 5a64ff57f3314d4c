"""Intervals of highest density with few seeds: how often they hold the truth, and how wide they are.

    python -m bench.few_seeds 1000

Two systems that differ by .05 on 50 topics, each with 2 to 5 seeds whose effect is none, small or large against topics.
"""

from __future__ import annotations

import sys

import numpy as np
import xarray as xr

import shardwise as sw

TOPICS, DIFFERENCE, INTERACTION, ERROR = 50, 0.05, 0.08, 0.06
SEEDS, EFFECTS = (2, 3, 5), (0.0, 0.01, 0.04)


def scores(
    rng: np.random.Generator, shift: float, seeds: int, effect: float, topics: np.ndarray
) -> xr.DataArray:
    """One system: its seeds by topics."""
    moved = rng.normal(shift, effect, (seeds, 1)) + rng.normal(0, INTERACTION, TOPICS)
    return xr.DataArray(topics + moved + rng.normal(0, ERROR, (seeds, TOPICS)), dims=("instance", "topic"))


def row(seeds: int, effect: float, size: int) -> str:
    """Coverage of the two kinds of 95 % intervals, and their widths against that of a known variance."""
    rng = np.random.default_rng([seeds, int(1000 * effect)])
    se = np.sqrt(2 * ((INTERACTION**2 + ERROR**2 / seeds) / TOPICS + effect**2 / seeds))
    ends = np.empty((size, 2, 2))
    for k in range(size):
        topics = rng.normal(0.4, 0.2, TOPICS)
        a, b = (scores(rng, shift, seeds, effect, topics) for shift in (DIFFERENCE, 0.0))
        found = sw.compare_instances(a.rename("a"), b.rename("b"))
        ends[k] = found.interval(0.95, kind="hpd"), found.interval(0.95)
    holds = ((ends[..., 0] <= DIFFERENCE) & (ends[..., 1] >= DIFFERENCE)).mean(axis=0)
    width = np.median(ends[..., 1] - ends[..., 0], axis=0) / (2 * 1.96 * se)
    share = effect**2 / seeds / (se**2 / 2)
    return f"| {seeds} | {share:.0%} | {holds[0]:.1%}, {width[0]:.2f} | {holds[1]:.1%}, {width[1]:.2f} |"


def run(size: int = 1000) -> str:
    """Markdown table."""
    lines = ["| seeds | of the variance by seeds | highest density | t |", "|---|---|---|---|"]
    return "\n".join([*lines, *(row(seeds, effect, size) for seeds in SEEDS for effect in EFFECTS)])


if __name__ == "__main__":
    print(run(*map(int, sys.argv[1:])))
