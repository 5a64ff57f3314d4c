"""One gate for scores: every kind of table gives every function the same result, or the same refusal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from shardwise.core.scores import missing_cells, nouns_of, undefined_cells

TOPICS, SYSTEMS = 12, 4
RNG = np.random.default_rng(5)
VALUES = np.clip(
    RNG.normal(0.4, 0.15, (TOPICS, 1)) + RNG.normal([0.0, 0.05, 0.1, 0.2], 0.06, (TOPICS, 4)), 0, 1
)
NAMES = ["s0", "s1", "s2", "s3"]
QUERIES = [f"q{k}" for k in range(TOPICS)]


def array() -> xr.DataArray:
    return xr.DataArray(
        VALUES, dims=("topic", "system"), coords={"topic": QUERIES, "system": NAMES}, name="AP"
    )


def wide() -> pd.DataFrame:
    return pd.DataFrame(VALUES, index=pd.Index(QUERIES, name="topic"), columns=NAMES)


def long() -> pd.DataFrame:
    return wide().reset_index().melt("topic", var_name="system", value_name="AP")


def polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").from_pandas(frame)


def arrow(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


KINDS: dict[str, Callable[[Path], Any]] = {
    "DataArray": lambda folder: array(),
    "turned": lambda folder: array().T,
    "Dataset": lambda folder: array().to_dataset(),
    "wide": lambda folder: wide(),
    "wide, named column": lambda folder: wide().reset_index(),
    "long": lambda folder: long(),
    "polars": lambda folder: polars(long()),
    "Arrow": lambda folder: arrow(wide().reset_index()),
    "ndarray": lambda folder: VALUES,
    "list": lambda folder: VALUES.tolist(),
    "dictionary": lambda folder: {
        name: dict(zip(QUERIES, VALUES[:, k], strict=True)) for k, name in enumerate(NAMES)
    },
    "path": lambda folder: _written(folder),
}


def _written(folder: Path) -> Path:
    path = folder / "scores.csv"
    long().to_csv(path, index=False)
    return path


def pairs(found: sw.Comparisons) -> Any:
    return found.to_frame()[["difference", "p", "p_adjusted"]].to_numpy()


def _of_one(found: Any) -> float:
    """The only estimate of a Dataset of one measure."""
    return float(next(iter(found.values())) if isinstance(found, dict) else found)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "as_scores": lambda x: sw.as_scores(x).transpose("topic", "system").to_numpy(),
    "anova": lambda x: sw.anova(x, sw.MD1).table["ss"].to_numpy(),
    "bootstrap_anova": lambda x: sw.bootstrap_anova(x, sw.MD1).intervals().to_numpy(),
    "compare": lambda x: pairs(sw.compare(x, "moderated bh")),
    "compare by ANOVA": lambda x: pairs(sw.compare(x, "MD1 hsd topic")),
    "paired_tests": lambda x: pairs(sw.paired_tests(x, "wilcoxon")),
    "analyze": lambda x: pairs(sw.analyze(x, n_resamples=99).comparisons),
    "calibrate": lambda x: sw.calibrate(
        x, ["t holm"], nulls=["flip"], repetitions=20, planted=False
    ).table["rate"].to_numpy(),
    "planning.variance": lambda x: _of_one(sw.planning.variance(x)),
    "planning.generalizability": lambda x: sw.planning.generalizability(x).erho_sq(),
    "planning.simulated_power": lambda x: sw.planning.simulated_power(
        x, topics=[8], min_diff=0.1, repetitions=20
    ).table["power"].to_numpy(),
    "holdout.split_half": lambda x: sw.holdout.split_half(x, "t holm", repeats=5).table["agreement"].to_numpy(),
    "fill_undefined": lambda x: sw.as_scores(sw.fill_undefined(x, "zero")).transpose("topic", "system").to_numpy(),
}  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_table_gives_the_same_result(function: str, tmp_path: Path) -> None:
    wanted = FUNCTIONS[function](array())
    for kind, make in KINDS.items():
        np.testing.assert_allclose(FUNCTIONS[function](make(tmp_path)), wanted, rtol=1e-12, err_msg=kind)


BAD: dict[str, tuple[Any, str]] = {
    "a number": (3.0, "holds no scores"),
    "three dimensions": (np.zeros((3, 3, 3)), "3 dimensions does not say"),
    "words": (np.array([["a", "b"], ["c", "d"]]), "no number|holds no scores"),
    "no systems": (xr.DataArray(np.zeros(3), dims=("topic",)), "no system"),
    "infinite": (xr.DataArray([[0.1, np.inf], [0.2, 0.3]], dims=("topic", "system")), "infinite"),
    "two measures": (xr.Dataset({"AP": array(), "P": array()}), "2 measures"),
    "twins": (array().assign_coords(system=["a", "a", "b", "c"]), "two systems are named 'a'"),
    "nothing": ({}, "no systems"),
}


# models of any dimensions, estimates measure by measure, components instead of scores
TAKES_MORE = {
    "no systems": ("anova", "bootstrap_anova"),
    "twins": ("anova",),
    "two measures": ("planning.variance", "fill_undefined"),
    "nothing": ("calibrate",),
}


@pytest.mark.parametrize("bad", BAD)
def test_every_function_refuses_alike(bad: str) -> None:
    data, words = BAD[bad]
    said = set()
    for name, call in FUNCTIONS.items():
        if name in TAKES_MORE.get(bad, ()):
            continue
        with pytest.raises(sw.InputError, match=words) as refusal:
            call(data)
        said.add(str(refusal.value))
    assert len(said) == 1


def test_words_of_the_user_are_kept() -> None:
    table = array().rename(topic="question", system="model")
    found = sw.as_scores(table)
    assert found.dims == ("topic", "system")
    assert nouns_of(found) == {"topic": "question", "system": "model"}
    assert sw.compare(table, "t holm").claim == "on questions like these 12"
    assert "4 models" in str(sw.compare(table, "t holm"))


def test_undefined_is_not_missing() -> None:
    shards = xr.DataArray(np.tile(VALUES[:, :, None], (1, 1, 3)), dims=("topic", "system", "shard"))
    shards[2, :, 1] = np.nan  # no relevant documents there
    shards[5, 1, 0] = np.nan  # a score that somebody lost
    assert int(undefined_cells(shards).sum()) == SYSTEMS
    assert int(missing_cells(shards).sum()) == 1
    plain = array()
    plain[3] = np.nan
    assert int(undefined_cells(plain).sum()) == 0
    assert int(missing_cells(plain).sum()) == SYSTEMS
    seeds = shards.rename(shard="instance")
    assert int(undefined_cells(seeds).sum()) == 0
