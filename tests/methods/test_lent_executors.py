"""Draws of one comparison on other processes: the same figures bit for bit, whoever draws."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from clusters import small_cluster
from collections_for_tests import write_runs
from command_line import shardwise
from shardwise.core.arguments import CHUNKS, map_parallel
from shardwise.methods.moderated.draws import count_draws

SIZES = {"topic": 40, "system": 5}


def table(shards: int = 0) -> xr.DataArray:
    rng = np.random.default_rng(11)
    sizes = SIZES | ({"shard": shards} if shards else {})
    effects = np.linspace(0.4, 0.5, 5).reshape(1, 5, *([1] * bool(shards)))
    return xr.DataArray(rng.normal(effects, 0.1, tuple(sizes.values())), dims=tuple(sizes), name="AP")


class Counting(Executor):
    """Does the work where it stands, and counts it."""

    def __init__(self) -> None:
        self.tasks = 0

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        self.tasks += 1
        done: Future[Any] = Future()
        done.set_result(pickle.loads(pickle.dumps(work))(*pickle.loads(pickle.dumps(arguments)), **named))
        return done


@contextmanager
def dask() -> Iterator[Executor]:
    """Workers within this process: on the loopback, without a dashboard."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="inproc"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor(pure=False)


EXECUTORS = {
    "one by one": Counting,
    "threads": lambda: ThreadPoolExecutor(3),
    "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("fork")),
    "dask": dask,
}
COMPARED = [
    ("moderated", 0),
    ("moderated topic+shard", 3),
    ("max-t", 0),
    ("banova MD3 difference drawn bh", 3),
]


@pytest.mark.parametrize("kind", EXECUTORS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking a process with threads
def test_the_same_figures_whoever_draws(kind: str) -> None:
    with EXECUTORS[kind]() as executor:
        for method, shards in COMPARED:
            how = {"n_resamples": 3_000, "seed": 5}
            here = sw.compare(table(shards), method, **how)  # type: ignore[arg-type]
            there = sw.compare(table(shards), method, executor=executor, **how)  # type: ignore[arg-type]
            pd.testing.assert_frame_equal(there.to_frame(), here.to_frame(), check_exact=True)
            assert there.best() == here.best()
        moments = sw.ScoreMoments.of(table())
        there = sw.compare(moments, n_resamples=3_000, executor=executor)
        pd.testing.assert_frame_equal(
            there.to_frame(), sw.compare(moments, n_resamples=3_000).to_frame(), check_exact=True
        )
        drawn = sw.bootstrap_anova(table(3), sw.MD3, n_resamples=2_000, seed=2, executor=executor)
        alone = sw.bootstrap_anova(table(3), sw.MD3, n_resamples=2_000, seed=2, jobs=1)
        np.testing.assert_array_equal(drawn.replicates, alone.replicates)


def test_an_analysis_shares_its_draws_and_simulations() -> None:
    executor = Counting()
    there = sw.analyze(table(), n_resamples=2_000, calibration=20, executor=executor)
    drawn = executor.tasks
    here = sw.analyze(table(), n_resamples=2_000, calibration=20)
    pd.testing.assert_frame_equal(there.comparisons.to_frame(), here.comparisons.to_frame(), check_exact=True)
    assert here.trust.calibration is not None
    assert there.trust.calibration is not None
    pd.testing.assert_frame_equal(
        there.trust.calibration.rates, here.trust.calibration.rates, check_exact=True
    )
    assert drawn > -(-2_000 // 256)  # more than the draws of the comparison: tables were simulated, too
    pickle.dumps(there.comparisons.to_frame())


def test_draws_are_cut_into_parts_whatever_the_machine() -> None:
    executor = Counting()
    sw.compare(table(), "moderated", n_resamples=100_000, executor=executor)
    assert CHUNKS // 2 < executor.tasks <= CHUNKS


@pytest.mark.parametrize("method", ["t holm", "MD1 hsd", "moderated holm", "wilcoxon bh"])
def test_an_executor_that_does_nothing_is_refused(method: str) -> None:
    executor = Counting()
    with pytest.raises(sw.InputError, match="executor has no effect here"):
        sw.compare(table(), method, executor=executor)
    with pytest.raises(sw.InputError, match="executor has no effect"):
        sw.bootstrap_anova(table(), "topic + system", executor=executor)
    assert not executor.tasks


def test_what_is_drawn_later_is_drawn_here() -> None:
    with ThreadPoolExecutor(1) as pool:
        found = sw.compare(table(), "moderated", n_resamples=999, executor=pool)
    expected = sw.compare(table(), "moderated", n_resamples=999)
    assert found.best(0.2) == expected.best(0.2)  # the pool is closed
    pd.testing.assert_frame_equal(found.to_frame(0.8), expected.to_frame(0.8), check_exact=True)


@pytest.mark.parametrize("kind", EXECUTORS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scores_do_not_depend_on_who_scores(kind: str, tmp_path: Path) -> None:
    runs = sw.read_collection(write_runs(tmp_path), tmp_path / "qrels")
    splits = sw.split(runs, 3, n_splits=4, seed=2)
    measures = ["AP", "nDCG@10", "P@5"]
    with EXECUTORS[kind]() as executor:
        for how in (splits, None):
            there = sw.score(runs, measures, how, executor=executor)
            xr.testing.assert_identical(there, sw.score(runs, measures, how, jobs=1))


class Sending(Executor):
    """Sends what it is given as Dask does: arrays beside the pickle, where nobody may write to them."""

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        beside: list[pickle.PickleBuffer] = []
        content = pickle.dumps((work, arguments), protocol=5, buffer_callback=beside.append)
        there, task = pickle.loads(content, buffers=[bytes(one.raw()) for one in beside])
        done: Future[Any] = Future()
        done.set_result(there(*task))
        return done


def kernel_and_array(kernel: Any, values: Any, task: int) -> tuple[bool, bool]:
    return kernel is count_draws, bool(values.flags.writeable)


def test_kernels_are_sent_by_name_and_arrays_may_be_written_to() -> None:
    # as kernels that fill arrays in need them
    work = partial(kernel_and_array, count_draws, np.zeros(3))
    assert list(map_parallel(work, [1, 2], executor=Sending())) == [(True, True)] * 2


def test_commands_refuse_a_cluster_without_draws(tmp_path: Path) -> None:
    table(2).expand_dims(split=2).to_dataset(name="AP").to_netcdf(tmp_path / "s.nc", engine="h5netcdf")
    done = shardwise("stability", str(tmp_path / "s.nc"), "--jobs", "local")
    assert done.returncode == 2
    assert done.stderr.startswith("a cluster has no effect without bootstrap samples")


def test_a_command_refuses_a_cluster_that_does_nothing(tmp_path: Path) -> None:
    table().to_dataset(name="AP").to_netcdf(tmp_path / "s.nc", engine="h5netcdf")
    words = ("compare", str(tmp_path / "s.nc"), "--quiet", "--method", "t holm")
    with small_cluster() as address:
        refused = shardwise(*words, "--jobs", address)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (
        refused.stderr
        == "--jobs has no effect here: no resampling takes long enough to be distributed; remove it\n"
    )


@pytest.mark.slow
def test_a_command_on_a_cluster_prints_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardwise.cli.cluster.count_processors", lambda: 1)  # each process loads all anew
    monkeypatch.setattr(os, "environ", os.environ.copy())  # where Dask leaves variables for its workers
    table().to_dataset(name="AP").to_netcdf(tmp_path / "s.nc", engine="h5netcdf")
    words = ("compare", str(tmp_path / "s.nc"), "--format", "json", "--quiet")
    here, there = shardwise(*words), shardwise(*words, "--jobs", "local")
    assert (there.returncode, there.stdout) == (0, here.stdout)
