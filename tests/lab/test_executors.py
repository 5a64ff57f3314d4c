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


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "WAIT", 1)
    with pytest.raises(sw.InputError, match="no cluster answers"), cluster.on_cluster("tcp://127.0.0.1:1"):
        pass


def test_without_an_address_there_is_no_executor() -> None:
    with cluster.on_cluster(None) as executor:
        assert executor is None
