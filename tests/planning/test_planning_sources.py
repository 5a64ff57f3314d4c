"""Every planning function takes scores in every form, with the same numbers and the same refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
import xarray as xr

import shardwise as sw
from shardwise.core.errors import InputError


def as_list(found: Any) -> list[Any]:
    """One estimate, or those of a dataset by measure."""
    return list(found.values()) if isinstance(found, dict) else [found]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "variance": lambda y: [float(one) for one in as_list(sw.planning.variance(y))],
    "generalizability": lambda y: sw.planning.generalizability(y).phi(),
    "simulated_power": lambda y: (
        sw.planning.simulated_power(y, topics=[5, 9], min_diff=0.1, repetitions=30, seed=1)
        .table["power"]
        .tolist()
    ),
    "variance_components": lambda y: list(sw.planning.variance_components(y).values()),
    "simulate": lambda y: sw.simulate.scores(y, topics=7, seed=2).to_numpy().ravel().tolist(),
}


def table() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    y = rng.beta(2, 4, (8, 1)) + rng.normal(0, 0.1, (8, 3))
    return pd.DataFrame(y, index=[f"q{k}" for k in range(8)], columns=["bm25", "dense", "qld"])


def forms(folder: Path) -> dict[str, Any]:
    frame = table()
    array = xr.DataArray(
        frame.to_numpy(), {"topic": list(frame.index), "system": list(frame.columns)}, ("topic", "system")
    )
    long = frame.rename_axis(index="question", columns="model").stack().rename("score").reset_index()
    frame.rename_axis("topic").to_csv(folder / "scores.csv")
    return {
        "wide": frame,
        "long": long,
        "array": frame.to_numpy(),
        "dictionary": frame.to_dict(),
        "labelled": array.transpose("system", "topic"),
        "dataset": array.to_dataset(name="AP"),
        "own words": array.rename(topic="question", system="model"),
        "arrow": pyarrow.Table.from_pandas(long),
        "path": folder / "scores.csv",
    }


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_forms_of_scores_give_the_same(name: str, tmp_path: Path) -> None:
    call = FUNCTIONS[name]
    wanted = call(table())
    for form, scores in forms(tmp_path).items():
        assert call(scores) == pytest.approx(wanted), form


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (table().iloc[:1], "the scores have 1 topic; give at least 2"),
        (table().where(table() < table().to_numpy().max()), "1 of 24 scores are undefined or missing"),
        (table().to_numpy()[0], "an array of 1 dimensions does not say what they are"),
        (object(), "a object holds no scores"),
        (xr.DataArray(table().to_numpy(), dims=("topic", "player")), "but no system"),
        ("no-such-scores.csv", "no-such-scores.csv"),
    ],
)
def test_all_functions_refuse_alike(name: str, scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FUNCTIONS[name](scores)


def test_one_of_several_measures_is_chosen_by_name() -> None:
    array = xr.DataArray(table().to_numpy(), dims=("topic", "system"))
    both = xr.Dataset({"AP": array, "P@10": 2 * array})
    assert sw.planning.variance(both, measure="P@10").sigma_sq == pytest.approx(
        4 * sw.planning.variance(array).sigma_sq
    )
    with pytest.raises(InputError, match="the scores hold 2 measures"):
        sw.planning.generalizability(both)
    with pytest.raises(InputError, match="no measure 'RR'"):
        sw.planning.variance(both, measure="RR")
