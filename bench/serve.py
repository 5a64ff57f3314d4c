"""The server under load and under fault: many analyses at once, a large upload, a cancel, a kill."""

from __future__ import annotations

import contextlib
import csv
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from app_server import Served

ANALYSES = 20
UPLOAD = 250 << 20  # bytes
ITEMS, SYSTEMS = 50, 10


def table(path: Path, size: int = 0) -> Path:
    """Scores of some models, or as many rows as fill a file of this size."""
    rng = random.Random(1)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["question", "model", "score", *(["answer"] if size else [])])
        item = 0
        while item < ITEMS or file.tell() < size:
            for k in range(SYSTEMS):
                text = (
                    ["lorem ipsum " * 170] if size else []
                )  # the text of an answer, which is not read as a score
                out.writerow([item, f"model{k}", round(rng.random() / 2 + k / 20, 3), *text])
            item += 1
    return path


def memory(pid: int) -> float:
    """Megabytes that a process and its children have at this moment."""
    found = 0.0
    for one in [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]:
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{one}/status").read_text().splitlines()
            found += int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
    return found


class Watch:
    """Asks for the status all the time, and looks at the memory."""

    def __init__(self, served: Served, id: str) -> None:
        self.served, self.id = served, id
        self.times: list[float] = []
        self.most = self.server = 0.0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self) -> None:
        """Look until stopped."""
        while not self.stopped.wait(0.05):
            start = time.perf_counter()
            self.served.ask("GET", f"/api/analyses/{self.id}")
            self.times.append(time.perf_counter() - start)
            self.most = max(self.most, memory(self.served.process.pid))
            lines = Path(f"/proc/{self.served.process.pid}/status").read_text().splitlines()
            own = int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
            self.server = max(self.server, own)

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.thread.join()

    def told(self) -> str:
        """The 95th percentile of the times, and the memory."""
        return f"{np.quantile(self.times, 0.95):.3f} | {self.server:.0f} | {self.most:.0f}"


def run() -> str:
    """Markdown table of what happened."""
    lines = [
        "`shardwise serve --jobs 2`. *Status* is the 95th percentile of the time that a request for the status of"
        " an analysis took meanwhile; *server* the largest memory of the server, *all* that with its workers. Small"
        f" analyses have {ITEMS} questions and {SYSTEMS} models, with report, leaderboard and paper, without a trust"
        " check.",
        "",
        "| what | outcome | seconds | status, s | server, MB | all, MB |",
        "|---|---|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        served = Served.start(folder / "kept", "--jobs", "2")
        small = table(folder / "small.csv")
        served.done(served.send(small))  # kernels are loaded, as they are on the second day
        ids = [served.send(small) for _ in range(ANALYSES)]
        with Watch(served, ids[-1]) as watch:
            start = time.perf_counter()
            for id in ids:
                served.ask("POST", f"/api/analyses/{id}/run", 202, json={"calibration": 0})
            states = [served.wait(id)["state"] for id in ids]
            spent = time.perf_counter() - start
        lines.append(
            f"| {ANALYSES} small analyses at once | {states.count('done')} done | {spent:.1f} | {watch.told()} |"
        )
        large = table(folder / "large.csv", UPLOAD)
        id = served.send()
        with Watch(served, id) as watch:
            start = time.perf_counter()
            with large.open("rb") as file:
                served.ask("PUT", f"/api/analyses/{id}/inputs/large.csv", 201, content=file)
            sent = time.perf_counter() - start
        lines.append(
            f"| upload of {large.stat().st_size >> 20} MB | on the disk | {sent:.1f} | {watch.told()} |"
        )
        with Watch(served, id) as watch:
            start = time.perf_counter()
            served.ask("POST", f"/api/analyses/{id}/read", 202, json={})
            state = served.wait(id)["state"]
            read = time.perf_counter() - start
        lines.append(f"| reading it | {state} | {read:.1f} | {watch.told()} |")
        busy = [served.send(small, kind="calibrate") for _ in range(2)]
        for id in busy:
            served.ask("POST", f"/api/analyses/{id}/run", 202, json={"repetitions": 200_000})
        for id in busy:
            served.wait(id, "running")
        waiting = served.send(small)
        served.ask("POST", f"/api/analyses/{waiting}/run", 202, json={"calibration": 0})
        start = time.perf_counter()
        served.ask("POST", f"/api/analyses/{busy[0]}/cancel")
        stopped = time.perf_counter() - start
        while served.ask("GET", f"/api/analyses/{waiting}")["state"] == "queued":
            time.sleep(0.01)
        freed = time.perf_counter() - start
        lines.append(f"| cancel of a running analysis | stopped | {stopped:.2f} | | | |")
        lines.append(f"| until the next one runs in its place | running | {freed:.2f} | | | |")
        served.wait(waiting)
        finished = [*ids, waiting]
        before = [served.ask("GET", f"/api/analyses/{id}/result") for id in finished]
        served.kill()
        served = Served.start(folder / "kept", "--jobs", "2")
        same = sum(
            served.ask("GET", f"/api/analyses/{id}/result") == old
            for id, old in zip(finished, before, strict=True)
        )
        told = served.ask("GET", f"/api/analyses/{busy[1]}")["state"]
        served.stop()
        outcome = f"{same} of {len(finished)} results as before, the one under way: {told}"
        lines.append(f"| `kill -9` of the server during work | {outcome} | | | | |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
