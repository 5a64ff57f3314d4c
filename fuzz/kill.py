"""Kill every writer at random moments: ``python -m fuzz.kill --kills 200 --seed 1``.

A forked process writes two states of its files in turn until it is killed. What then stands at their places is one of
the two, byte for byte, and after the next write nothing else is there.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from shardwise.analysis.leaderboard import leaderboard
from shardwise.cli.main import run_command
from shardwise.cli.simulate import LIST
from shardwise.lab.simulate_collection import simulate_collection
from shardwise.papers.exhibit import Exhibit, Form, Replication
from shardwise.papers.experiment import run_steps
from shardwise.plot.saving import save_chart

Write = Callable[[Path, int], object]  # into a folder, the state with this number
FORK = multiprocessing.get_context("fork")


def writers(folder: Path) -> dict[str, Write]:
    """Everything that writes files, with two states of what it writes; the folder is for its inputs."""
    values = np.random.default_rng(1).random((30, 3))
    labels = {"topic": [f"t{k}" for k in range(30)], "system": ["a", "b", "c"]}
    tables = [xr.DataArray(values * scale, labels, name="AP") for scale in (1.0, 0.5)]
    made = [
        simulate_collection(topics=3, systems=2, depth=10, corpus=500, relevant=3, seed=k) for k in (1, 2)
    ]
    for k, one in enumerate(made):
        one.write(folder / str(k))
    collections = [
        sw.read_collection(folder / f"{k}/runs/*", folder / f"{k}/qrels.txt", jobs=1) for k in (0, 1)
    ]
    splits = [sw.split(one, 2, seed=1) for one in collections]
    found = [sw.analyze(table, method="t holm", calibration=0) for table in tables]
    boards = [leaderboard(one) for one in found]
    charts = [one.comparisons.plot() for one in found]
    frames = [pd.DataFrame({"x": range(200), "y": scale}) for scale in (1.0, 0.5)]
    form = Form(x="x", y="y", titles=("x", "y"))
    pages = [
        Replication("F19", "all", (Exhibit("Table 1", "t", one), Exhibit("Figure 1", "f", one, form=form)))
        for one in frames
    ]
    for k, table in enumerate(tables):
        sw.write_scores(table, folder / f"{k}.csv")

    def command(*words: str) -> Write:
        """A command line; {k} in it is the state, and {out} the folder."""

        def write(out: Path, k: int) -> None:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run_command([word.format(k=k, out=out, inputs=folder) for word in words])

        return write

    def step(out: Path, k: int) -> None:
        """A step of a replication, which is kept once and for all: the one that is there is taken away first."""
        shutil.rmtree(folder / "gone", ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            (out / "steps" / "key").rename(folder / "gone")
        run_steps({"step": lambda: {"rows": frames[k]}}, out / "steps" / "key", None)

    small = ("--topics", "3", "--systems", "2", "--depth", "10", "--corpus", "500,relevant=3")
    return {
        **{
            f"scores{ending}": lambda out, k, ending=ending: sw.write_scores(
                tables[k], out / f"scores{ending}"
            )
            for ending in (".csv", ".csv.zst", ".parquet", ".nc", ".zarr")
        },
        "collection": lambda out, k: collections[k].save(out / "c.zst"),
        "splits": lambda out, k: splits[k].save(out / "s.zst"),
        "report": lambda out, k: found[k].report(out / "r.html"),
        "leaderboard": lambda out, k: boards[k].save(out / "l.html"),
        "chart.html": lambda out, k: save_chart(charts[k], out / "c.html"),
        "steps": step,
        "compare --out": command(
            "compare", "{inputs}/{k}.csv", "--method", "t holm", "--out", "{out}/o.json"
        ),
        "moments": command("compare", "{inputs}/{k}.csv", "--out", "{out}/a.moments"),
        "simulate": command("simulate", *small, "--seed", "{k}", "--out", "{out}/made"),
        "chart.svg": lambda out, k: save_chart(charts[k], out / "c.svg"),
        "paper": lambda out, k: found[k].paper(out / "paper"),
        "replication": lambda out, k: pages[k].write(out / "f19"),
    }


def _content(folder: Path) -> dict[str, bytes]:
    """All files but the list of what simulate has made there so far."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != LIST]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _once(write: Write, folder: Path, state: int) -> float:
    """Write in a process of its own, and return how long it took."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    worker = FORK.Process(target=write, args=(folder, state))
    worker.start()
    worker.join()
    if worker.exitcode:
        raise AssertionError(f"the writer ended with {worker.exitcode}")
    return time.monotonic() - began


def _for_ever(write: Write, folder: Path, state: int) -> None:
    while True:
        write(folder, state)
        state = 1 - state


@dataclass(frozen=True, slots=True)
class Victim:
    """A writer, the two states of its files as they are without a kill, and how long it takes."""

    name: str
    write: Write
    states: tuple[dict[str, bytes], dict[str, bytes]]
    seconds: float

    @classmethod
    def of(cls, name: str, write: Write, apart: Path) -> Victim:
        """Write both states in folders of their own."""
        seconds = [_once(write, apart / name / str(state), state) for state in (0, 1)]
        first, second = (_content(apart / name / str(state)) for state in (0, 1))
        if first == second or first.keys() != second.keys():
            raise AssertionError(f"{name}: the states cannot be told apart")
        return cls(name, write, (first, second), min(seconds))

    def killed(self, folder: Path, after: float) -> str:
        """Let it write in turn, kill it, and say what is there: the old, the new or, of several files, some of both."""
        worker = FORK.Process(target=_for_ever, args=(self.write, folder, 1))
        worker.start()
        time.sleep(after)
        worker.kill()
        worker.join()
        found = _content(folder)
        there = [{k for k in (0, 1) if found.get(path) == self.states[k][path]} for path in self.states[0]]
        if not all(there) and not (self.name == "steps" and not found.keys() & self.states[0].keys()):
            raise AssertionError(f"{self.name}: a file is neither old nor new")
        drafts = found.keys() - self.states[0].keys()
        _once(self.write, folder, 0)
        if _content(folder) != self.states[0] or any(folder.rglob("*partial*")):
            raise AssertionError(f"{self.name}: the next write leaves {sorted(_content(folder))}")
        whole = [k for k in (0, 1) if all(k in one for one in there)]
        state = ("old", "new")[whole[0]] if whole else "some of both" if all(there) else "absent"
        return f"{state}, a draft beside it" if drafts else state


def kill_all(kills: int, seed: int, names: Collection[str] = ()) -> dict[str, Counter[str]]:
    """Kill each writer in turn at a random moment of its first writes, and count what was there."""
    generator = random.Random(seed)
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        known = {name: one for name, one in writers(root).items() if not names or name in names}
        victims = [Victim.of(name, write, root / "apart") for name, write in known.items()]
        for victim in victims:
            _once(victim.write, root / "places" / victim.name, 0)
        for kill in range(kills):
            victim = victims[kill % len(victims)]
            moment = generator.uniform(0, 4 * victim.seconds)
            told = victim.killed(root / "places" / victim.name, moment)
            counts.setdefault(victim.name, Counter())[told] += 1
    return counts


def main() -> None:
    """Read the options, kill, and print what was there as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = kill_all(options.kills, options.seed)
    counts["all"] = sum(counts.values(), Counter())
    columns = sorted(counts["all"])
    print(f"| writer | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for name, found in counts.items():
        print(f"| {name} | {' | '.join(str(found[column]) for column in columns)} |")


if __name__ == "__main__":
    main()
