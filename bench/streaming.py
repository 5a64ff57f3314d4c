"""Runs larger than memory and thousands of systems: seconds and memory of whole commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RUNS, DISTINCT, TOPICS, DEPTH, JUDGED = 60, 4, 2_000, 500, 50
MANY_SPLITS = ("--shards", "20", "--splits", "40")  # of runs of 1,000 topics and 20 documents
SYSTEMS = ((500, 200), (1_000, 200), (2_000, 200))
CODE = """
import json, resource, sys, time
from shardwise.cli.main import run_command
start, spent = time.perf_counter(), time.process_time()
assert run_command(sys.argv[1:]) == 0
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([time.perf_counter() - start, time.process_time() - spent, peak]), file=sys.stderr)
"""


def write_runs(folder: Path, topics: int = TOPICS, depth: int = DEPTH) -> None:
    """Runs of random documents, and judgments of a few of them."""
    rng = np.random.default_rng(0)
    corpus = np.array([f"doc{k:07d}" for k in range(200_000)])
    for r in range(DISTINCT):
        with (folder / f"run{r}.txt").open("w") as file:
            for topic in range(topics):
                docs = corpus[rng.choice(20_000, depth, replace=False) + 90 * topic % 180_000]
                file.writelines(
                    f"{topic} Q0 {doc} {k + 1} {depth - k} run{r}\n" for k, doc in enumerate(docs)
                )
    for r in range(DISTINCT, RUNS):
        (folder / f"run{r}.txt").symlink_to(folder / f"run{r % DISTINCT}.txt")
    with (folder / "qrels").open("w") as file:
        for topic in range(topics):
            docs = corpus[rng.choice(20_000, JUDGED, replace=False) + 90 * topic % 180_000]
            file.writelines(f"{topic} 0 {doc} {k % 2}\n" for k, doc in enumerate(docs))


def write_scores(path: Path, systems: int, topics: int) -> None:
    rng = np.random.default_rng(0)
    y = (
        rng.normal(0.3, 0.1, (topics, systems))
        + rng.normal(0, 0.05, systems)
        + rng.normal(0, 0.1, (topics, 1))
    )
    head = ",".join(["topic", *(f"sys{k}" for k in range(systems))])
    rows = (f"{t}," + ",".join(f"{x:.4f}" for x in row) for t, row in enumerate(y))
    path.write_text("\n".join([head, *rows]) + "\n")


def measured(folder: Path, *words: str) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak memory in MB of a command, its process included."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words, "-q"], capture_output=True, text=True, check=True, cwd=folder
    )
    wall, spent, peak = json.loads(done.stderr.splitlines()[-1])
    return wall, spent, peak


def runs_beyond_memory(folder: Path) -> list[str]:
    """Runs whose text is large."""
    write_runs(folder)
    files = [f"run{r}.txt" for r in range(RUNS)]
    size = sum((folder / file).stat().st_size for file in files) / 1e6
    measured(folder, "score", "qrels", files[0])  # compiles
    lines = [
        f"{RUNS} runs of {TOPICS:,} topics and {DEPTH} documents, {size:,.0f} MB of text, scored by AP; seconds"
        " on two processors, and the peak memory of the whole process.",
        "",
        "| command | seconds | processor s | peak MB |",
        "|---|--:|--:|--:|",
    ]
    for words in (
        (),
        (
            "--max-memory",
            "1KB",
        ),
        ("--shards", "5"),
        ("--shards", "5", "--max-memory", "1KB"),
    ):
        wall, spent, peak = measured(folder, "score", "qrels", *files, *words)
        lines.append(f"| `{' '.join(('score', *words))}` | {wall:.1f} | {spent:.1f} | {peak:,.0f} |")
    return lines


def scores_beyond_memory(folder: Path) -> list[str]:
    """Small runs with scores in many shards of many splits."""
    topics, depth = 1_000, 20
    write_runs(folder, topics, depth)
    files = [f"run{r}.txt" for r in range(RUNS)]
    size = sum((folder / file).stat().st_size for file in files) / 1e6
    shards, splits = int(MANY_SPLITS[1]), int(MANY_SPLITS[3])
    scores = 8e-6 * RUNS * topics * shards * splits
    lines = [
        "",
        f"{RUNS} runs of {topics:,} topics and {depth} documents, {size:,.0f} MB of text, scored by AP in {shards}"
        f" shards of {splits} splits, {scores:,.0f} MB of scores; in the last row of one split.",
        "",
        "| command | seconds | processor s | peak MB |",
        "|---|--:|--:|--:|",
    ]
    for words in (
        (*MANY_SPLITS, "--max-memory", "1KB"),
        (*MANY_SPLITS, "--max-memory", "1KB", "--out", "s.nc"),
        (*MANY_SPLITS, "--max-memory", "1KB", "--out", "s.zarr"),
        (*MANY_SPLITS[:2], "--max-memory", "1KB"),
    ):
        wall, spent, peak = measured(folder, "score", "qrels", *files, *words)
        lines.append(f"| `{' '.join(('score', *words))}` | {wall:.1f} | {spent:.1f} | {peak:,.0f} |")
    return lines


def many_systems(folder: Path) -> list[str]:
    """Comparisons and reports of hundreds of thousands of pairs."""
    lines = [
        "",
        "Random scores of many systems on 200 topics; the report with all pairs in it.",
        "",
        "| systems | pairs | command | seconds | processor s | peak MB | size of the page, MB |",
        "|--:|--:|---|--:|--:|--:|--:|",
    ]
    for systems, topics in SYSTEMS:
        write_scores(folder / "s.csv", systems, topics)
        for words in (
            ("compare", "s.csv"),
            ("compare", "s.csv", "--calibration", "0", "--report", "r.html"),
        ):
            wall, spent, peak = measured(folder, *words)
            page = f"{os.path.getsize(folder / 'r.html') / 1e6:.1f}" if "r.html" in words else ""
            pairs = systems * (systems - 1) // 2
            what = "with a report" if page else "`compare`"
            lines.append(
                f"| {systems:,} | {pairs:,} | {what} | {wall:.0f} | {spent:.0f} | {peak:,.0f} | {page} |"
            )
    return lines


def run() -> str:
    """Markdown tables of all."""
    lines = []
    for part in (runs_beyond_memory, scores_beyond_memory, many_systems):
        with tempfile.TemporaryDirectory() as made:
            lines += part(Path(made))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(run())
