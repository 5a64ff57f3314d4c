"""How time and memory grow: topics, systems, shards, splits and draws, each by itself, with the slope on log axes."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

# what grows, its sizes, and the rest of the design
AXES = {
    "topics": ((50, 200, 800, 3200), {"topics": 50, "systems": 60}),
    "systems": ((50, 100, 200, 400, 800), {"topics": 50, "systems": 50}),
    "shards": ((2, 4, 8, 16), {"topics": 50, "systems": 60, "shards": 2}),
    "splits": ((2, 4, 8, 16), {"topics": 50, "systems": 60, "shards": 4, "splits": 2}),
    "draws": ((1_999, 9_999, 39_999, 159_999), {"topics": 50, "systems": 60, "draws": 1_999}),
}
CODE = """
import json, sys, time
import numpy as np
import xarray as xr
import shardwise as sw
size = json.loads(sys.argv[1])
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
def table(topics, systems, shards=0, splits=0):
    dims = {"split": splits, "topic": topics, "system": systems, "shard": shards}
    dims = {name: n for name, n in dims.items() if n}
    rng = np.random.default_rng(1)
    y = rng.normal(0.3, 0.1, tuple(dims.values())) + rng.normal(0, 0.05, systems).reshape(
        [n if name == "system" else 1 for name, n in dims.items()])
    return xr.DataArray(y, dims=list(dims), coords={name: [f"{name}{k}" for k in range(n)] for name, n in dims.items()})
draws = size.pop("draws", None)
small = {**size, "topics": 10, "systems": 4}
sw.compare(table(**small), n_resamples=99)  # loads and compiles
scores = table(**size)
before, start, spent = peak(), time.perf_counter(), time.process_time()
sw.compare(scores, n_resamples=draws)
print(json.dumps([time.perf_counter() - start, time.process_time() - spent, max(0, peak() - before) / 1024]))
"""


def measured(size: dict[str, int]) -> tuple[float, float, float]:
    """Seconds, processor seconds and added memory in MB of one comparison in its own process; the best of two."""
    found = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", CODE, json.dumps(size)], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(2)
    ]
    wall, spent, memory = (min(values) for values in zip(*found, strict=True))
    return wall, spent, memory


def run() -> str:
    """Markdown table of all axes."""
    lines = [
        "The default comparison of random scores (`sw.compare`, moderated; 60 systems on 50 topics where nothing"
        " else is said; 2 processors; best of two; memory beyond what is loaded). *Slope*: of the logarithm of"
        " the processor time on that of the size, over the largest three.",
        "",
        "| what grows | size | seconds | processor s | MB | slope |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for axis, (sizes, rest) in AXES.items():
        rows = [measured({**rest, axis: n}) for n in sizes]
        slope = np.polyfit(np.log(sizes[-3:]), np.log([row[1] for row in rows[-3:]]), 1)[0]
        for n, (wall, spent, memory) in zip(sizes, rows, strict=True):
            last = f"{slope:.2f}" if n == sizes[-1] else ""
            lines.append(f"| {axis} | {n:,} | {wall:.2f} | {spent:.2f} | {memory:.0f} | {last} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(run())
