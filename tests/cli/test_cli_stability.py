"""shardwise stability, as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shardwise as sw
from command_line import shardwise


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("campaign")
    made = sw.simulate.collection(
        topics=12, systems=5, depth=60, corpus=3000, relevant=20, pool_depth=30, seed=3
    )
    made.write(where)
    return where


def test_the_command_says_what_the_library_says(folder: Path) -> None:
    options = ("--shards", 2, "--splits", 4, "--generalize", "topic", "--seed", 5, "--format", "json")
    done = shardwise("stability", folder / "qrels.txt", folder / "runs", *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    runs = sw.read_collection(folder / "runs", folder / "qrels.txt")
    scores = sw.score(runs, "AP", sw.split(runs, 2, n_splits=4, seed=5))["AP"]
    expected = sw.stability.between_splits(
        sw.fill_undefined(scores, "zero"), sw.MD6, generalize=("topic",)
    ).mean()
    assert told["splits"] == 4
    assert "topics like these 12" in told["claim"]
    for row in told["rows"]:
        mean = expected["mean"][row["figure"]]
        assert row["mean"] == pytest.approx(mean, nan_ok=True) or (row["mean"] is None and mean != mean)


def test_one_split_is_refused(folder: Path) -> None:
    done = shardwise("stability", folder / "qrels.txt", folder / "runs", "--splits", 1)
    assert done.returncode == 2
    assert "one split agrees with itself" in done.stderr
