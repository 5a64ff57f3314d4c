"""Runs scored a few files at a time get the scores of runs that are read together."""

from __future__ import annotations

import re
import shutil
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from command_line import shardwise
from shardwise.cli.score import average_scores
from shardwise.core.arguments import count_parallel_tasks
from shardwise.io import stores

MEASURES = ("AP", "nDCG@10")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five runs with documents of their own, two of them without a topic; one topic is judged in vain."""
    folder = tmp_path_factory.mktemp("streamed")
    rng = np.random.default_rng(3)
    for r in range(5):
        lines = [
            f"{topic} Q0 d{doc} {rank + 1} {score:.4f} tag{min(r, 3)}"
            for topic in range(1, 8)
            if not (r in (1, 4) and topic == 2 + r)
            for rank, (doc, score) in enumerate(
                zip(rng.permutation(40 + 5 * r)[:20], rng.random(20), strict=True)
            )
        ]
        (folder / f"run{r}.txt").write_text("\n".join(lines) + "\n")
    judged = [f"{t} 0 d{d} {rng.integers(0, 3)}" for t in (*range(1, 7), 9) for d in rng.permutation(50)[:15]]
    (folder / "qrels").write_text("\n".join(judged) + "\n")
    return folder


def together(folder: Path, missing: str, shards: int = 0, kind: str = "even") -> xr.Dataset:
    collection = sw.read_collection(sorted(folder.glob("run*")), folder / "qrels", missing=missing)
    splits = sw.split(collection, shards, kind=kind, n_splits=2, seed=4) if shards else None
    return sw.score(collection, MEASURES, splits)


@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("missing", ["zero", "drop"])
@pytest.mark.parametrize("kind", ["", "even", "covered"])
def test_as_if_all_were_read(folder: Path, at_once: int, missing: str, kind: str) -> None:
    split = partial(sw.split, n_shards=3, kind=kind, n_splits=2, seed=4) if kind else None
    seen: list[tuple[int, int]] = []
    found = sw.score_runs(
        sorted(folder.glob("run*")),
        folder / "qrels",
        MEASURES,
        split,
        missing=missing,
        at_once=at_once,
        progress=lambda *at: seen.append(at),
    )
    expected = together(folder, missing, 3 if kind else 0, kind or "even")
    xr.testing.assert_identical(found, expected)
    total = 10 if kind else 5
    assert seen[-1] == (total, total)


def test_processes_read_by_themselves(folder: Path) -> None:
    split = partial(sw.split, n_shards=3, n_splits=2, seed=4)
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        found = sw.score_runs(
            folder / "run*.txt", folder / "qrels", MEASURES, split, missing="zero", executor=pool
        )
    xr.testing.assert_identical(found, together(folder, "zero", 3))


def test_what_is_refused_is_refused_over_all_files(folder: Path) -> None:
    with pytest.raises(sw.InputError, match=re.escape("system 'tag1' has no documents for 1 of 6 topics: 3")):
        sw.score_runs(folder / "run*.txt", folder / "qrels", "AP", at_once=1)
    with pytest.raises(sw.InputError, match="is already that of"):
        sw.score_runs(folder / "run*.txt", folder / "qrels", "AP", names="tag", missing="zero", at_once=2)


def test_on_the_command_line(folder: Path, tmp_path: Path) -> None:
    said = {}
    for way in ((), ("--max-memory", "1KB")):
        out = tmp_path / f"scores{len(way)}.nc"
        call = [
            "score",
            folder / "qrels",
            folder / "run*.txt",
            "--shards",
            "3",
            "--missing",
            "zero",
            "--like",
            "depth=9",
        ]
        said[way] = shardwise(*map(str, [*call, *way, "--out", out]))
    assert said[()].stdout == said["--max-memory", "1KB"].stdout
    xr.testing.assert_identical(
        sw.read_scores(tmp_path / "scores0.nc"), sw.read_scores(tmp_path / "scores2.nc")
    )


OLD = tuple(map(int, xr.__version__.split(".")[:2])) < (2025, 1)
needs_zarr = pytest.mark.skipif(OLD or find_spec("zarr") is None, reason="needs the extra [zarr]")


@needs_zarr
@pytest.mark.parametrize("kind", ["", "even"])
@pytest.mark.parametrize("no_relevant", ["undefined", "zero", "drop"])
@pytest.mark.parametrize(("chunk", "held"), [(1 << 20, 1 << 25), (2 * 7 * 3, 1 << 25), (3 * 7 * 3, 1)])
def test_a_store_that_fills_as_scores_come_is_the_one_written_whole(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    no_relevant: Any,
    chunk: int,
    held: int,
) -> None:
    monkeypatch.setattr(stores, "CHUNK", chunk)  # all systems, two or three of them with shards
    monkeypatch.setattr(stores, "HELD", held)
    split = partial(sw.split, n_shards=3, n_splits=2, seed=4) if kind else None
    how: dict[str, Any] = {"missing": "zero", "no_relevant": no_relevant}
    call = (sorted(folder.glob("run*")), folder / "qrels", MEASURES, split)
    whole = sw.score_runs(*call, **how)
    sw.write_scores(whole, tmp_path / "whole.zarr")
    for at_once in (1, 2):
        found = sw.score_runs(*call, **how, at_once=at_once, out=tmp_path / "parts.zarr")
        xr.testing.assert_identical(found.load(), whole)
        assert stores.store_hash(tmp_path / "parts.zarr") == stores.store_hash(tmp_path / "whole.zarr")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "parts.zarr", tmp_path / "whole.zarr"]


@needs_zarr
def test_no_more_parts_are_scored_than_the_store_can_take(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results that wait are no more than twice the workers, of whom there is at least one a processor."""
    monkeypatch.setattr("shardwise.core.arguments.count_processors", lambda: 1)
    split = partial(sw.split, n_shards=3, n_splits=2, seed=4)
    call = (folder / "run*.txt", folder / "qrels", MEASURES, split)
    with Counting(1) as pool:
        found = sw.score_runs(*call, missing="zero", executor=pool, out=tmp_path / "s.zarr")
        assert count_parallel_tasks(pool) == 1
    assert pool.most <= 3  # a thread may not have let go of the one that was taken; all at once would be five
    xr.testing.assert_identical(found.load(), together(folder, "zero", 3))


class Counting(ThreadPoolExecutor):
    """Counts results that nobody has taken."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.alive: WeakSet[Future[Any]] = WeakSet()
        self.most = 0

    def submit(self, *call: Any, **named: Any) -> Future[Any]:
        future = super().submit(*call, **named)
        self.alive.add(future)
        self.most = max(self.most, len(self.alive))
        return future


@needs_zarr
def test_nothing_is_written_where_a_file_cannot_be_scored(folder: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(folder, runs)
    out = tmp_path / "s.zarr"

    def split(collection: sw.Collection) -> sw.Splits:
        (runs / "run3.txt").unlink()  # between the two readings
        return sw.split(collection, 3)

    with pytest.raises(sw.InputError, match=r"run3\.txt: no such file"):
        sw.score_runs(sorted(runs.glob("run*")), runs / "qrels", "AP", split, missing="zero", out=out)
    assert list(tmp_path.iterdir()) == [runs]
    for place, said in ((tmp_path / "s.csv", "to a store"), (tmp_path / "no" / "s.zarr", "no such folder")):
        with pytest.raises(sw.InputError, match=said):
            sw.score_runs(folder / "run*.txt", folder / "qrels", "AP", missing="zero", out=place)


@pytest.mark.parametrize("held", [1, 7 * 2 * 2, 3 * 7 * 2 * 2])
@pytest.mark.parametrize("systems", [1, 2, 5, 6])
def test_means_do_not_depend_on_how_many_systems_are_held(
    monkeypatch: pytest.MonkeyPatch, held: int, systems: int
) -> None:
    monkeypatch.setattr("shardwise.cli.score.HELD", held)
    y = np.random.default_rng(systems).random((2, 7, systems, 2))
    y[0, 1, :, 0] = np.nan
    scores = xr.Dataset(
        {"AP": (("split", "topic", "system", "shard"), y)}, {"system": list("abcdef")[:systems]}
    )
    table, holes = average_scores(scores)
    whole = scores["AP"].mean(("split", "topic", "shard")).to_series().sort_values(ascending=False)
    assert list(table["system"]) == list(whole.index)
    np.testing.assert_array_equal(table["AP"], whole)
    assert holes == {"AP": systems}
