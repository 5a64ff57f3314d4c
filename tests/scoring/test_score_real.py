"""Real runs: every cell as trec_eval has it, means as the TREC-COVID leaderboard printed them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

from against_trec_eval import TREC_EVAL, check_against_trec_eval
from collections_for_tests import Qrels, Run, die, in_shard
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.scoring.scoring import score

pytestmark = pytest.mark.slow  # real runs, scored twice


@pytest.fixture(scope="module")
def robust(data: Path) -> tuple[Collection, dict[str, Run], Qrels]:
    folder = data / "robust2003"
    files = sorted(folder.glob("input.*.gz"))
    collection = read_collection(files, qrels=folder / "robust03_qrels.txt.gz", missing="zero", names="file")
    runs: dict[str, Run] = {}
    for name, path in zip(collection.systems, files, strict=True):
        with gzip.open(path, "rt") as stream:
            runs[name] = pytrec_eval.parse_run(stream)
    with gzip.open(folder / "robust03_qrels.txt.gz", "rt") as stream:
        qrels = pytrec_eval.parse_qrel(stream)
    return collection, runs, qrels


EVERY = pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.full)])
"""All runs are scored together; trec_eval, which takes its time, scores every tenth of them, or all."""


@EVERY
def test_robust_2003_equals_trec_eval(robust: tuple[Collection, dict[str, Run], Qrels], every: int) -> None:
    collection, runs, qrels = robust
    scores = score(collection, list(TREC_EVAL), no_relevant="undefined")
    some = scores.isel(system=slice(None, None, every))
    assert check_against_trec_eval(some, runs, qrels) > some.sizes["system"] * 100 * 15


@EVERY
def test_robust_2003_shards_equal_filtered_copies(
    robust: tuple[Collection, dict[str, Run], Qrels], every: int
) -> None:
    collection, runs, qrels = robust
    splits = die(collection, 3, n_splits=2, seed=3)
    scores = score(collection, list(TREC_EVAL), splits).isel(split=1, system=slice(None, None, every))
    chosen = {name: runs[name] for name in map(str, scores["system"].values)}
    for shard in range(3):
        shard_runs, shard_qrels = in_shard(chosen, qrels, collection, splits, 1, shard)
        compared = check_against_trec_eval(scores.isel(shard=shard), shard_runs, shard_qrels)
        assert compared > len(chosen) * 100 * 10


@pytest.fixture(scope="module")
def covid_files(covid_runs: Path) -> list[Path]:
    return sorted(path for path in covid_runs.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def covid(data: Path, covid_files: list[Path]) -> Collection:
    qrels = data / "trec-covid-r1" / "qrels.covid-round1.txt"
    return read_collection(covid_files, qrels=qrels, missing="zero", names="file")


class RunFiles(Mapping[str, Run]):
    """Runs parsed when asked for: all of them at once would fill the memory."""

    def __init__(self, paths: dict[str, Path]) -> None:
        self.paths = paths

    def __getitem__(self, name: str) -> Run:
        with open(self.paths[name]) as stream:
            run: Run = pytrec_eval.parse_run(stream)
        return run

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


@EVERY
def test_trec_covid_equals_trec_eval(
    data: Path, covid_files: list[Path], covid: Collection, every: int
) -> None:
    with open(data / "trec-covid-r1" / "qrels.covid-round1.txt") as stream:
        qrels = pytrec_eval.parse_qrel(stream)
    runs = RunFiles(dict(zip(covid.systems, covid_files, strict=True)))
    scores = score(covid, list(TREC_EVAL), no_relevant="undefined")
    some = scores.isel(system=slice(None, None, every))
    assert check_against_trec_eval(some, runs, qrels) > some.sizes["system"] * 30 * 20


def test_trec_covid_shards_equal_filtered_copies(data: Path, covid_files: list[Path]) -> None:
    """Every twentieth run, so that the test stays short; any run would do."""
    path = data / "trec-covid-r1" / "qrels.covid-round1.txt"
    with open(path) as stream:
        qrels = pytrec_eval.parse_qrel(stream)
    chosen = covid_files[::20]
    some = read_collection(chosen, qrels=path, missing="zero", names="file")
    runs = dict(RunFiles(dict(zip(some.systems, chosen, strict=True))))
    splits = die(some, 4, n_splits=2, seed=5)
    scores = score(some, list(TREC_EVAL), splits)
    for shard in range(4):
        shard_runs, shard_qrels = in_shard(runs, qrels, some, splits, 0, shard)
        compared = check_against_trec_eval(scores.isel(split=0, shard=shard), shard_runs, shard_qrels)
        assert compared > len(chosen) * 30 * 10


def test_trec_covid_means_are_those_of_the_leaderboard(data: Path, covid: Collection) -> None:
    published = pd.read_csv(data / "trec-covid-r1" / "round1.csv").set_index("run")
    columns = {
        "AP": "MAP",
        "P@5": "p@5",
        "nDCG@10": "ndcg@10",
        "Bpref": "bpref",
        "RBP(p=0.5,gains={1:0.5,2:1})": "RBP(p=.5)",  # the track counted partly relevant documents half
    }
    means = score(covid, list(columns)).mean("topic")
    for ours, theirs in columns.items():
        difference = means[ours].to_series() - published.loc[list(covid.systems), theirs]
        assert difference.notna().all()
        assert np.abs(difference).max() < 5.0001e-5, ours  # four digits printed
