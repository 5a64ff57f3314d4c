"""Long work in other processes: the same figures bit for bit, whoever does it and whoever is killed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import distributed
import pandas as pd
import pytest
from distributed.scheduler import KilledWorker

import shardwise as sw
from clusters import small_cluster
from shardwise.cli import cluster
from shardwise.core.arguments import map_parallel

METHODS = ["t holm", "moderated"]


@pytest.mark.slow
def test_processes_give_the_same_figures(trec3: Path) -> None:
    scores = sw.read_scores(trec3).isel(system=slice(0, 5))
    chosen = {"repetitions": 60, "seed": 3, "nulls": ["flip"]}
    here = sw.calibrate(scores, METHODS, jobs=1, **chosen)  # type: ignore[arg-type]
    halves = sw.holdout.split_half(scores, ["t holm"], repeats=10)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = sw.calibrate(scores, METHODS, executor=pool, **chosen)  # type: ignore[arg-type]
        apart = sw.holdout.split_half(scores, ["t holm"], repeats=10, executor=pool)
    pd.testing.assert_frame_equal(there.rates, here.rates, check_exact=True)
    pd.testing.assert_frame_equal(there.power, here.power, check_exact=True)
    pd.testing.assert_frame_equal(apart.table, halves.table, check_exact=True)


KILLED = """
    import logging, os, signal, sys, threading, time
    import pandas as pd
    import shardwise as sw
    from distributed import Client, LocalCluster

    if __name__ == "__main__":
        scores = sw.read_scores(sys.argv[1]).isel(system=slice(0, 5))
        chosen = {"repetitions": 200, "seed": 3, "nulls": ["flip"]}
        here = sw.calibrate(scores, ["moderated"], **chosen)
        cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL)
        with cluster, Client(cluster) as client:
            pids = sorted(client.run(os.getpid).values())
            seen = []

            def progress(done, total):
                if done < total and not seen:
                    seen.append(done)
                    os.kill(pids[0], signal.SIGKILL)

            there = sw.calibrate(scores, ["moderated"], executor=client.get_executor(pure=False), progress=progress,
                                 **chosen)
            after = sorted(client.run(os.getpid).values())
        pd.testing.assert_frame_equal(there.rates, here.rates, check_exact=True)
        assert seen and pids[0] not in after, (seen, pids, after)
        print("the same")
"""


@pytest.mark.slow
def test_a_killed_worker_costs_time_and_no_result(trec3: Path, tmp_path: Path) -> None:
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(KILLED))
    done = subprocess.run(
        [sys.executable, str(script), str(trec3)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "the same\n", done.stderr[-2000:]


LOST = """
    import logging, os, signal, subprocess, sys, threading, time
    from distributed import Client
    import shardwise.cli.checking as command
    from shardwise.cli.main import main

    if __name__ == "__main__":
        program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
        said = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        scheduler = subprocess.Popen([*program, "--port", "0", "--no-dashboard", "--scheduler-file", "at.json"], **said)
        program = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--nworkers", "1"]
        worker = subprocess.Popen([*program, "--nthreads", "1", "--no-nanny", "--scheduler-file", "at.json"], **said)
        try:
            while not os.path.exists("at.json"):
                time.sleep(0.05)
            client = Client(scheduler_file="at.json")
            client.wait_for_workers(1)
            address = client.scheduler.address
            client.close()
            calibrate = command.calibrate

            def begun(*arguments, **options):
                threading.Timer(2, scheduler.kill).start()
                return calibrate(*arguments, **options)

            command.calibrate = begun
            words = ["calibrate", sys.argv[1], "--repetitions", "20000", "-q", "--jobs", address]
            sys.argv = ["shardwise", *words, "--out", "x.csv"]
            try:
                main()
            except SystemExit as stopped:
                code = stopped.code
        finally:
            worker.kill()
            scheduler.kill()
        assert code == 2 and not os.path.exists("x.csv"), code
        print("said")
"""


@pytest.mark.slow
def test_a_scheduler_that_goes_away_is_said_in_one_line(trec3: Path, tmp_path: Path) -> None:
    script = tmp_path / "lost.py"
    script.write_text(textwrap.dedent(LOST))
    done = subprocess.run(
        [sys.executable, str(script), str(trec3)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout == "said\n", done.stderr[-2000:]
    told = [line for line in done.stderr.splitlines() if line]
    assert told == [
        "the connection to the cluster was lost; start it and repeat the command: nothing was written"
    ]


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "WAIT", 1)
    with pytest.raises(sw.InputError, match="no cluster answers"), cluster.on_cluster("tcp://127.0.0.1:1"):
        pass


def test_a_client_that_cannot_be_closed_is_not_closed_again() -> None:
    class Client:
        status = "running"

        def close(self, timeout: float) -> None:
            raise TimeoutError(f"timed out after {timeout} s.")

    client = Client()
    cluster._close_quietly(client)
    assert client.status == "closed"  # with which dask.distributed leaves it alone


def test_without_an_address_there_is_no_executor() -> None:
    with cluster.on_cluster(None) as executor:
        assert executor is None


FULL = """
    import errno, json, logging, os, resource, sys
    import numpy as np
    import xarray as xr
    from distributed import Client, LocalCluster
    import shardwise as sw
    from shardwise.cli.main import main

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no byte more, as on a full disk

    def wrote():
        try:
            with open(f"probe-{os.getpid()}", "w") as file:
                file.write("x")
        except OSError as error:
            return errno.errorcode[error.errno]
        return ""

    def command(*words):
        sys.argv = ["shardwise", *words]
        try:
            main()
        except SystemExit as stopped:
            return stopped.code

    if __name__ == "__main__":
        y = np.random.default_rng(4).normal([0.3, 0.4, 0.5], 0.1, (30, 3))
        scores = xr.DataArray(y, dims=("topic", "system"), name="AP")
        sw.write_scores(scores, "scores.nc")
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=logging.CRITICAL
        )
        with cluster, Client(cluster) as client:
            full, good = sorted(client.scheduler_info(n_workers=-1)["workers"])
            client.run(fill, workers=[full])
            assert client.run(wrote) == {full: "EFBIG", good: ""}
            alone = client.get_executor(pure=False, workers=[full])  # compiles, and cannot keep the kernel
            there = sw.compare(scores, "max-t", n_resamples=20_000, executor=alone).to_frame()
            assert not any("count_flips" in name for _, _, names in os.walk("kernels") for name in names)
            here = sw.compare(scores, "max-t", n_resamples=20_000).to_frame()
            assert there.equals(here)
            words = ["compare", "scores.nc", "--method", "max-t", "-q", "--jobs", cluster.scheduler_address]
            assert command(*words, "--out", "far.json") == 0
            assert command(*words[:5], "--out", "near.json") == 0
            assert sorted(client.scheduler_info(n_workers=-1)["workers"]) == [full, good]
        far, near = (json.load(open(name)) for name in ("far.json", "near.json"))
        assert far == near
        print("the same")
"""


@pytest.mark.full
def test_a_full_disk_of_one_worker_costs_no_result(tmp_path: Path) -> None:
    script = tmp_path / "full.py"
    script.write_text(textwrap.dedent(FULL))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",  # Python itself would keep what it could write of its own
        },
    )
    assert done.stdout == "the same\n", done.stderr[-2000:]


def _no_space(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _killed(_: int) -> None:
    raise KilledWorker("task", SimpleNamespace(address="tcp://127.0.0.1:1"), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (_no_space, r"a worker of the cluster cannot write \(No space left on device\); free its disk"),
        (_killed, "several workers of the cluster died at the same task; give them more memory"),
    ],
)
def test_what_workers_cannot_do_is_said_in_one_line(work: Any, said: str) -> None:
    with small_cluster() as address:
        with pytest.raises(sw.InputError, match=said), cluster.on_cluster(address, quiet=True) as executor:
            list(map_parallel(work, [1, 2, 3], executor=executor))
        with cluster.on_cluster(address, quiet=True) as executor:  # and the same cluster works on
            assert list(map_parallel(abs, [-1, 2, -3], executor=executor)) == [1, 2, 3]


def test_workers_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(**_: Any) -> None:
        raise RuntimeError("Nanny failed to start.\nNo space left on device")

    monkeypatch.setattr(distributed, "LocalCluster", none)
    with (
        pytest.raises(sw.InputError, match=r"no workers could be started here \(Nanny failed to start"),
        cluster.on_cluster("local"),
    ):
        pass


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.5:8786", "scheduler:8786", "ws://example:1", "tcp://[fe80::1]:8786"]
)
def test_a_scheduler_elsewhere_needs_encryption_or_a_word(address: str) -> None:
    with pytest.raises(sw.InputError, match="not encrypted; use tls://"), cluster.on_cluster(address):
        pass
    assert cluster.refuse_unencrypted(f"insecure+{address}") == address


@pytest.mark.parametrize(
    "address", ["local", "tls://10.0.0.5:8786", "tcp://127.0.0.1:8786", "localhost:8786", "tcp://[::1]:1"]
)
def test_schedulers_that_need_no_word(address: str) -> None:
    assert cluster.refuse_unencrypted(address) == address


def test_the_dashboard_of_a_local_cluster_is_for_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    asked: dict[str, Any] = {}

    def refuse(**how: Any) -> None:
        asked.update(how)
        raise ValueError("none today")

    monkeypatch.setattr(distributed, "LocalCluster", refuse)
    with pytest.raises(sw.InputError, match="no workers could be started"), cluster.on_cluster("local"):
        pass
    assert asked["dashboard_address"].startswith("127.0.0.1:")
