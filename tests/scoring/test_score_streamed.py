"""Runs scored a few files at a time get the scores of runs that are read together."""

from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from command_line import shardwise

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
    for way in ((), ("--stream",)):
        out = tmp_path / f"scores{len(way)}.nc"
        call = [
            "score",
            folder / "qrels",
            folder / "run*.txt",
            "--shards",
            "3",
            "--missing",
            "zero",
            "--depth",
            "9",
        ]
        said[way] = shardwise(*map(str, [*call, *way, "--out", out]))
    assert said[()].stdout == said["--stream",].stdout
    xr.testing.assert_identical(
        sw.read_scores(tmp_path / "scores0.nc"), sw.read_scores(tmp_path / "scores1.nc")
    )
