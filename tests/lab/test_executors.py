"""Long work in other processes: the same figures bit for bit, whoever does it and whoever is killed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import pytest

import shardwise as sw
from shardwise.cli import cluster

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
        chosen = {"repetitions": 600, "seed": 3, "nulls": ["flip"]}
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
    import shardwise.cli.calibrate as command
    from shardwise.cli.main import main

    if __name__ == "__main__":
        program = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
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
            words = ["calibrate", sys.argv[1], "--repetitions", "100000", "-q", "--cluster", address]
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
        "the cluster went away in the middle; start it and repeat the command: nothing was written"
    ]


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "WAIT", 1)
    with pytest.raises(sw.InputError, match="no cluster answers"), cluster.on_cluster("tcp://127.0.0.1:1"):
        pass


def test_without_an_address_there_is_no_executor() -> None:
    with cluster.on_cluster(None) as executor:
        assert executor is None
