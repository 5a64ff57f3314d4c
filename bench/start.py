"""How long commands take to start."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shardwise.lab.simulate_collection import simulate_collection

MAIN = "from shardwise.cli.main import main; main()"
ROUNDS = 5


def run(systems: int = 20, topics: int = 50) -> str:
    """Markdown table of the clock and of the processor."""
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data"
        simulate_collection(topics=topics, systems=systems, seed=1).write(data)
        compare = [
            sys.executable,
            "-c",
            MAIN,
            "compare",
            str(data / "qrels.txt"),
            str(data / "runs"),
            "--quiet",
        ]
        subprocess.run(
            compare, stdout=subprocess.DEVNULL, check=True
        )  # reads all that Python has compiled itself
        warm = [sys.executable, "-c", MAIN]
        rows = [
            ("`compare` of runs", *best(compare)),
            ("`--version`", *best([*warm, "--version"])),
            ("`--help`", *best([*warm, "--help"])),
            ("`import shardwise`", *best([sys.executable, "-c", "import shardwise"])),
            ("Python alone", *best([sys.executable, "-c", ""])),
        ]
    lines = [
        f"{systems} simulated runs of {topics} topics and 1000 documents; the best of {ROUNDS} processes each.",
        "",
        "| command | seconds | processor s |",
        "|---|---:|---:|",
    ]
    return "\n".join(
        lines + [f"| {name} | {clock:.2f} | {processor:.2f} |" for name, clock, processor in rows]
    )


def best(command: list[str]) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    times = [spent(command) for _ in range(ROUNDS)]
    return min(clock for clock, _ in times), min(processor for _, processor in times)


def spent(command: list[str]) -> tuple[float, float]:
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.perf_counter() - start, os.times()
    return seconds, (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


if __name__ == "__main__":
    print(run())
