"""Tables of a million scores, side by side with pandas reading and pivoting the same files.

python bench/tables.py              # all files, as a Markdown table
python bench/tables.py --short      # CSV and JSON lines in order, for a look at the ratios
"""

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
USERS = "one model a user"
ANSWERS = "q17 and answers"
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
    readers = {"parquet": pd.read_parquet, "jsonl": lambda path: pd.read_json(path, lines=True, engine="pyarrow")}
    def read(path):
        frame = readers.get(path.rpartition(".")[2], lambda path: pd.read_csv(path, engine="pyarrow"))(path)
        *labels, score = [name for name in frame.columns if name != "answer"]
        return frame.set_index(labels)[score].unstack("model")
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


def add_answers(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with what the model answered: texts, of which one in five is a number."""
    rng = np.random.default_rng(0)
    words = ("", "about ", "maybe ", "I think ", "roughly ")
    answers = [f"{words[k % 5]}{k}" for k in rng.integers(0, 10**7, len(frame)).tolist()]
    return frame.assign(answer=answers)[[*frame.columns[:-1], "answer", frame.columns[-1]]]


def make_table(rows: int, ids: str, *, shuffled: bool) -> pd.DataFrame:
    """Make a table by the word for it."""
    if ids == USERS:
        return make_variants(rows)
    if ids == ANSWERS:
        return add_answers(table(rows, "q17", shuffled=shuffled))
    return table(rows, ids, shuffled=shuffled)


def make_variants(rows: int) -> pd.DataFrame:
    """Users who met one variant each, and what they spent."""
    rng = np.random.default_rng(0)
    users = [f"u{k:07d}" for k in range(rows)]
    return pd.DataFrame(
        {"user_id": users, "model": rng.choice(["A", "B"], rows), "score": rng.random(rows).round(4)}
    )


def write(frame: pd.DataFrame, path: Path) -> Path:
    """Write a table in the format that the ending names."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
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


def list_tables(*, short: bool) -> list[tuple[str, str, bool]]:
    """Ending, ids and whether rows are shuffled, of every file."""
    others = [("csv", USERS, False), ("csv", ANSWERS, False), ("jsonl", "q17", False)]
    if short:
        return [("csv", "q17", False), ("csv", "17", False), *others]
    plain = [(ending, ids, mixed) for ending in ("csv", "parquet") for mixed in (False, True) for ids in IDS]
    return [*plain, *others]


def run(rows: int = ROWS, turns: int = TURNS, *, short: bool = False) -> str:
    """Markdown table of times and memory, and what shardwise takes for each second and MB of pandas."""
    lines = [
        f"Files of {rows:,} rows, `question_id,model,seed,score`, by how questions are called and how the rows stand;"
        f" *{USERS}*: `user_id,model,score`, every user with one model; *{ANSWERS}*: with a column of"
        " texts, one in five a number, which is left out. pandas reads the file by Arrow and pivots it,"
        " models in columns; shardwise returns the labelled"
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
        for ending, ids, shuffled in list_tables(short=short):
            large, small = (
                write(make_table(n, ids, shuffled=shuffled), Path(folder) / f"{name}.{ending}")
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
    print(run(short="--short" in sys.argv))
