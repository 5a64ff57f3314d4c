"""Workers that die, disks that fill and clusters that go away in the middle: one line, and the same figures later."""

from __future__ import annotations

import errno
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import distributed
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from distributed.scheduler import KilledWorker

import shardwise as sw
from collections_for_tests import write_runs
from command_line import Done, shardwise


class Failing(Executor):
    """Does so many tasks, and fails at the next in the way given."""

    def __init__(self, tasks: int, error: Exception | None) -> None:
        self.left, self.error, self.failed = tasks, error, 0

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        self.left -= 1
        if self.left < 0 and self.error is not None:
            self.failed += 1
            done.set_exception(self.error)
        else:
            done.set_result(pickle.loads(pickle.dumps(work))(*pickle.loads(pickle.dumps(arguments)), **named))
        return done


LOSSES: dict[str, tuple[Callable[[], Exception], str]] = {
    "killed": (
        lambda: KilledWorker("task", SimpleNamespace(address="tcp://127.0.0.1:1"), 3),  # type: ignore[arg-type]
        "several workers of the cluster died at the same task; give them more memory, and repeat the command",
    ),
    "full": (
        lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        "a worker of the cluster cannot write (No space left on device); free its disk or leave it out, and repeat"
        " the command",
    ),
    "lost": (
        lambda: CancelledError("cancelled"),
        "the connection to the cluster was lost; start it and repeat the command",
    ),
}


@contextmanager
def cluster_of(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What ``--jobs local`` starts has this executor, and no processes."""
    client = SimpleNamespace(
        get_executor=lambda **how: executor, status="running", dashboard_link="", close=lambda: None
    )

    @contextmanager
    def started(**how: Any) -> Iterator[None]:
        yield None

    with monkeypatch.context() as patched:
        patched.setattr(distributed, "LocalCluster", started)
        patched.setattr(distributed, "Client", lambda *at, **how: client)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lost")
    write_runs(folder, systems=4)
    y = np.random.default_rng(4).normal([0.3, 0.35, 0.5], 0.1, (30, 3))
    scores = xr.DataArray(y, {"topic": range(30), "system": list("abc")}, ("topic", "system"), "AP")
    sw.write_scores(scores, folder / "scores.csv")
    return folder


COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "compare": (("compare", "scores.csv", "--method", "moderated"), "out.json"),
    "score": (("score", "qrels", "run*.txt"), "out.nc"),
    "score in shards": (
        ("score", "qrels", "run*.txt", "--shards", "2", "--splits", "2"),
        "out.nc" if tuple(map(int, xr.__version__.split(".")[:2])) < (2025, 1) else "out.zarr",
    ),
    "replicate": (
        ("replicate", "f19", "qrels", "run*.txt", "--measure", "AP", "--shards", "2", "--shards", "3"),
        "out",
    ),
}


def run(name: str, folder: Path, out: Path, *more: str) -> Done:
    words, file = COMMANDS[name]
    given = [str(folder / word) if (folder / word).exists() or "*" in word else word for word in words]
    return shardwise(*given, "-q", "--out", out / file, *more)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_in_one_line_what_it_lost(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for (error, said), tasks in zip(LOSSES.values(), (0, 1, 1), strict=True):
        executor, out = Failing(tasks, error()), tmp_path / said[:20]
        out.mkdir()
        with cluster_of(executor, monkeypatch):
            done = run(name, folder, out, "--jobs", "local")
        assert executor.failed, done
        left = "steps that were done are kept" if name == "replicate" else "nothing was written"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{said}: {left}\n")
        if name == "replicate":
            steps = [path for path in out.glob("out/steps/*/*") if path.is_dir()]
            assert len(steps) == tasks
            assert not list(out.glob("out/*.*"))
        else:
            assert not list(out.iterdir())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_gives_the_same_figures_later(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        place.mkdir()
    with cluster_of(Failing(1, LOSSES["lost"][0]()), monkeypatch):
        assert run(name, folder, there, "--jobs", "local").returncode == 2
    whole = Failing(0, None)
    with cluster_of(whole, monkeypatch):
        far = run(name, folder, there, "--jobs", "local")
    near = run(name, folder, here)
    assert (far.returncode, far.stdout) == (near.returncode, near.stdout) == (0, near.stdout)
    assert whole.left < 0  # the second time it was this executor that worked
    file = COMMANDS[name][1]
    if name == "compare":
        assert (there / file).read_text() == (here / file).read_text()
    elif name.startswith("score"):
        xr.testing.assert_identical(sw.read_scores(there / file).load(), sw.read_scores(here / file).load())
    else:
        tables = sorted(path.relative_to(here) for path in here.rglob("*.csv"))
        assert tables
        for table in tables:
            pd.testing.assert_frame_equal(pd.read_csv(there / table), pd.read_csv(here / table))


def calls(folder: Path) -> dict[str, Callable[[Executor], Any]]:
    collection = partial(sw.read_collection, sorted(folder.glob("run*.txt")), folder / "qrels")
    return {
        "compare": lambda pool: sw.compare(
            sw.read_scores(folder / "scores.csv"), "moderated", n_resamples=3_000, executor=pool
        ),
        "score_runs": lambda pool: sw.score_runs(
            folder / "run*.txt", folder / "qrels", "AP", partial(sw.split, n_shards=2), executor=pool
        ),
        "f19": lambda pool: sw.papers.f19(
            collection(), measures=["AP"], shards=[2, 3], samples=2, executor=pool
        ),
    }


@pytest.mark.parametrize("name", ["compare", "score_runs", "f19"])
@pytest.mark.parametrize("tasks", [0, 1])
def test_a_broken_pool_is_said_by_the_library(name: str, tasks: int, folder: Path) -> None:
    with pytest.raises(
        sw.InputError, match="a worker of the executor died; give them more memory"
    ) as refused:
        calls(folder)[name](Failing(tasks, BrokenProcessPool("terminated abruptly")))
    assert len(str(refused.value).splitlines()) == 1


def _end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking a process with threads
def test_a_process_that_is_killed(folder: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        pool.submit(_end)
        with pytest.raises(sw.InputError, match="a worker of the executor died"):
            calls(folder)["score_runs"](pool)
