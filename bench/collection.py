"""Parse, score and score on shards, side by side with pytrec_eval, ir_measures and ranx."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from shardwise.lab.simulate_collection import simulate_collection

TITLES = {
    "parse": "parse and code all runs",
    "score": "parse + AP, P@10, nDCG@10 per topic",
    "shards": "AP, P@10 on one split into 5 shards, from parsed runs",
    "table2": "split and score AP on 70 splits (7 shard counts x 10), from parsed runs",
}
REPEATS = "3"  # the same for everyone
TOOLS = {
    "parse": ("shardwise", "pytrec_eval", "ir_measures", "ranx", "bytes", "lines", "wc", "python"),
    "score": ("shardwise", "pytrec_eval", "ir_measures", "ranx"),
    "shards": ("shardwise", "pytrec_eval"),
    "table2": ("shardwise",),
}

LIMITS = {
    "bytes": "bytes read alone",
    "lines": "lines counted",
    "wc": "lines counted by `wc -l`",
    "python": "lines counted by Python",
}  # what readers are measured by, as no reader can be faster


def measure(task: str, tool: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.one", task, tool, str(folder), REPEATS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(systems: int = 129, topics: int = 50) -> str:
    """Markdown table of times, ratios and memory."""
    lines = [
        f"Simulated collection: {systems} runs x {topics} topics x 1000 documents. Each cell is a process of its own;"
        " the best of three runs, files warm and kernels compiled. *Added memory* is the peak above what imports and"
        " preparation had taken. *Bytes read alone* and *lines counted* are the files read by as many threads, into"
        " a buffer that is used again, and that with numpy counting the newlines. `wc -l` and Python"
        " (`path.read_bytes().count`) count one file after the other.",
        "",
        "| work | tool | seconds | times shardwise | added memory, MB |",
        "|---|---|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        simulate_collection(topics=topics, systems=systems, seed=1).write(folder)
        for task, tools in TOOLS.items():
            ours = 0.0
            for tool in tools:
                found = measure(task, tool, Path(folder))
                ours = found["seconds"] if tool == "shardwise" else ours
                ratio = found["seconds"] / ours
                title = TITLES[task] if tool == "shardwise" else ""
                lines.append(
                    f"| {title} | {LIMITS.get(tool, tool)} | {found['seconds']:.3g} |"
                    f" {ratio:.3g} | {found['added_mb']:.0f} |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    print(run(*map(int, sys.argv[1:])))
