"""shardwise stability, as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
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


@pytest.fixture(scope="module")
def scores(folder: Path) -> object:
    runs = sw.read_collection(folder / "runs", folder / "qrels.txt")
    return sw.score(runs, "AP", sw.split(runs, 3, n_splits=4, seed=5))["AP"]


def rows(folder: Path, *options: object) -> pd.DataFrame:
    common = ("--shards", 3, "--splits", 4, "--seed", 5, "--format", "json")
    done = shardwise("stability", folder / "qrels.txt", folder / "runs", *common, *options)
    assert done.returncode == 0, done.stderr
    return pd.DataFrame(json.loads(done.stdout)["rows"])


def test_other_sides_of_the_same_splits(folder: Path, scores: object) -> None:
    filled = sw.fill_undefined(scores, "zero")
    each = sw.stability.over_splits(filled, sw.MD6)
    runs = sw.read_collection(folder / "runs", folder / "qrels.txt")
    whole = sw.score(runs, "AP")["AP"].mean("topic")
    summary = rows(folder, "--table", "summary").set_index("figure")["mean"]
    pd.testing.assert_series_equal(
        summary, sw.stability.summary_over_splits(each, whole)["mean"], check_names=False
    )
    divided = rows(folder, "--table", "divided").set_index("splits")["pairs"]
    assert divided.tolist() == sw.stability.agreement_over_splits(each)[0.05]["pairs"].tolist()
    found = rows(folder, "--table", "found")
    assert found["unanimous"].tolist() == sw.stability.found_over_splits(each)["unanimous"].tolist()[:1]
    models = rows(folder, "--table", "models").set_index("model")
    assert models.loc["MD6", "significant"] == summary["significant"]
    assert list(models.index) == ["MD2", "MD3", "MD4", "MD5", "MD6"]


def test_methods_and_fills_side_by_side(folder: Path, scores: object) -> None:
    fills = sw.stability.between_fills(scores, sw.MD3)["mean"].sel(figure="PD").values
    told = rows(folder, "--table", "fills", "--model", "MD3").set_index("fill")
    assert told[["zero", "lq", "mean", "one"]].to_numpy() == pytest.approx(fills)
    methods = sw.stability.between_methods(sw.fill_undefined(scores, "zero"), sw.MD6)
    told = rows(folder, "--table", "methods").set_index("approach")["significant"]
    assert told.to_numpy() == pytest.approx(methods["significant"].values)


def test_the_distribution_of_the_bootstrap_can_be_chosen(folder: Path, scores: object) -> None:
    options = ("--method", "bootstrap marginal one-sided kde", "--table", "found")
    how = {"fit": "bootstrap", "null": "marginal", "tails": 1, "density": "kde"}
    each = sw.stability.over_splits(sw.fill_undefined(scores, "zero"), sw.MD6, "bh", **how)
    assert rows(folder, *options)["mean"].tolist() == [sw.stability.found_over_splits(each).loc[0.05, "mean"]]


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("stability", ("--method", "bootstrap smooth"), "unknown word after bootstrap 'smooth'"),
        ("stability", ("--table", "fills", "--fill", "mean"), "--fill has no effect with this --table"),
        ("stability", ("--table", "everything"), "everything"),
        ("stability", ("--kind", "even:2,1"), "--kind even takes no words"),
        ("stability", ("--kind", "uneven:2,x"), "'2,x' are not proportions"),
        ("compare", ("--method", "bootstrap trim-some"), "trim-some"),
        (
            "score",
            ("--kind", "uneven:2,1", "--shards", 3),
            "--shards has no effect with --kind uneven",
        ),
    ],
)
def test_what_does_nothing_is_refused(
    folder: Path, command: str, options: tuple[object, ...], said: str
) -> None:
    done = shardwise(command, folder / "qrels.txt", folder / "runs", *options)
    assert done.returncode == 2
    assert said in done.stderr


def test_uneven_shards_and_trimmed_intervals(folder: Path, tmp_path: Path) -> None:
    inputs = (folder / "qrels.txt", folder / "runs")
    out = tmp_path / "scores.nc"
    done = shardwise("score", *inputs, "--kind", "uneven:3,1", "--seed", 2, "--out", out)
    assert done.returncode == 0, done.stderr
    runs = sw.read_collection(folder / "runs", folder / "qrels.txt")
    made = sw.split(runs, kind="uneven", proportions=[3, 1], seed=2)
    expected = sw.score(runs, "AP", made)["AP"]
    assert sw.read_scores(out).squeeze().to_numpy() == pytest.approx(
        expected.squeeze().to_numpy(), nan_ok=True
    )
    method = "bootstrap marginal one-sided trim-percent"
    done = shardwise("compare", *inputs, "--shards", 2, "--method", method)
    assert done.returncode == 0, done.stderr
    scores = sw.fill_undefined(sw.score(runs, "AP", sw.split(runs, 2))["AP"].isel(split=0), "zero")
    frame = sw.bootstrap_anova(scores, sw.MD6).intervals(trim="percent")
    assert f"{frame['upper'].max():.4f}" in done.stdout
