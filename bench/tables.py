"""A table of a million scores, side by side with pandas reading the same file by Arrow."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

ROWS = 1_000_000
CODE = """
import json, sys, time
tool, path, small = sys.argv[1:]
if tool == "shardwise":
    from shardwise.io.scores import read_scores as read
else:
    import pandas as pd
    read = lambda path: pd.read_csv(path, engine="pyarrow")
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
read(small)  # loads what is imported late
open("/proc/self/clear_refs", "w").write("5")  # forgets the peak so far, which may be that of the parent
before = peak()
times = []
for _ in range(5):
    start = time.perf_counter()
    read(path)
    times.append(time.perf_counter() - start)
    most = peak() if _ == 0 else most
print(json.dumps([min(times), (most - before) / 1024]))
"""


def write(path: Path, rows: int) -> None:
    """Questions by 4 models by 5 seeds."""
    questions = rows // 20
    frame = pd.DataFrame(
        {
            "question_id": np.repeat(np.arange(questions), 20),
            "model": np.tile(np.repeat(["gpt", "llama", "qwen", "mistral"], 5), questions),
            "seed": np.tile(np.arange(5), 4 * questions),
            "score": np.random.default_rng(0).random(rows).round(4),
        }
    )
    frame.to_csv(path, index=False)


def run(rows: int = ROWS) -> str:
    """Markdown table of times and memory, pandas before and after shardwise."""
    lines = [
        f"A CSV file of {rows:,} rows, `question_id,model,seed,score`. pandas returns the columns, shardwise the"
        " labelled array with its gaps counted. Each row is a process of its own, the best of five; *added memory* is"
        " the peak of the first reading above what imports had taken.",
        "",
        "| tool | seconds | added memory, MB |",
        "|---|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.csv", Path(folder) / "small.csv"
        write(large, rows)
        write(small, 200)
        for tool in ("pandas", "shardwise", "pandas"):
            command = [sys.executable, "-c", CODE, tool, str(large), str(small)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, memory = json.loads(done.stdout)
            lines.append(f"| {tool} | {seconds:.3g} | {memory:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
