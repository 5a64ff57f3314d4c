"""Tables of a million scores, side by side with pandas reading the same files by Arrow."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import numpy as np
import pandas as pd

ROWS = 1_000_000
FEW = 20_000  # of the file that is read first
TURNS = 1
IDS = {
    "17": lambda k, rng: k,
    "q17": lambda k, rng: f"q{k}",
    "task/abc-00017": lambda k, rng: f"task/abc-{k:05d}",
    "UUIDs": lambda k, rng: str(uuid.UUID(bytes=rng.bytes(16))),
}
CODE = """
import json, sys, time
tool, path, small = sys.argv[1:]
if tool == "shardwise":
    from shardwise.io.scores import read_scores as read
else:
    import pandas as pd
    read = pd.read_parquet if path.endswith(".parquet") else lambda path: pd.read_csv(path, engine="pyarrow")
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
read(small)  # loads what is imported late
open("/proc/self/clear_refs", "w").write("5")  # forgets the peak so far, which may be that of the parent
def timed():
    start, used = time.perf_counter(), time.process_time()
    read(path)
    return time.perf_counter() - start, time.process_time() - used
before = peak()
times, most = [timed()], peak()
times += [timed() for _ in range(4)]
print(json.dumps([*map(min, zip(*times)), (most - before) / 1024]))
"""


def table(rows: int, ids: str, *, shuffled: bool) -> pd.DataFrame:
    """Questions by 4 models by 5 seeds."""
    questions = rows // 20
    rng = np.random.default_rng(0)
    names = pd.Series([IDS[ids](k, rng) for k in range(questions)])
    frame = pd.DataFrame(
        {
            "question_id": names.repeat(20).to_numpy(),
            "model": np.tile(np.repeat(["gpt", "llama", "qwen", "mistral"], 5), questions),
            "seed": np.tile(np.arange(5), 4 * questions),
            "score": rng.random(rows).round(4),
        }
    )
    return frame.sample(frac=1.0, random_state=1) if shuffled else frame


def write(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table in the format that the ending names."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path


def measured(large: Path, small: Path, turns: int) -> dict[str, tuple[float, float, float]]:
    """The shortest time, by the clock and of processors, and the least memory of each tool, in processes in turns."""
    found: dict[str, list[list[float]]] = {"pandas": [], "shardwise": []}
    for _ in range(turns):
        for tool in ("pandas", "shardwise", "pandas"):
            command = [sys.executable, "-c", CODE, tool, str(large), str(small)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[tool].append(json.loads(done.stdout))
    return {tool: tuple(map(min, zip(*one, strict=True))) for tool, one in found.items()}


def run(rows: int = ROWS, turns: int = TURNS) -> str:
    """Markdown table of times and memory, and what shardwise takes for each second and MB of pandas."""
    lines = [
        f"Files of {rows:,} rows, `question_id,model,seed,score`, by how questions are called and how the rows stand."
        " pandas returns the columns, by `read_csv` with the engine of Arrow or `read_parquet`; shardwise the labelled"
        " array with its gaps counted. Processes take turns, pandas, shardwise, pandas; each reads a file of"
        f" {FEW:,} rows first, then this one five times, and the best time counts. *Added memory* is the peak of the"
        " first reading of the large file above what there was before it. *Processor* is the time of all processors"
        " together, which other programs on the machine change less than that of the clock.",
        "",
        "| file | ids | rows | pandas, s | shardwise, s | ratio | processor: pandas, s | shardwise, s | ratio |"
        " pandas, MB | shardwise, MB | ratio |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "parquet"):
            for shuffled in (False, True):
                for ids in IDS:
                    large, small = (
                        write(table(n, ids, shuffled=shuffled), Path(folder) / f"{name}.{ending}")
                        for name, n in (("large", rows), ("small", FEW))
                    )
                    found = measured(large, small, turns)
                    (t, c, m), (own_t, own_c, own_m) = found["pandas"], found["shardwise"]
                    order = "shuffled" if shuffled else "in order"
                    lines.append(
                        f"| {ending} | {ids} | {order} | {t:.3f} | {own_t:.3f} | {own_t / t:.2f} | {c:.3f} |"
                        f" {own_c:.3f} | {own_c / c:.2f} | {m:.0f} | {own_m:.0f} | {own_m / m:.2f} |"
                    )
                    print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
