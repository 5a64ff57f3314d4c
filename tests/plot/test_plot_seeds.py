"""Charts of single instances: their rows."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from chart_rows import rows_with
from shardwise.core.errors import InputError
from shardwise.plot.items import instance_means_chart, single_instance_chart


@pytest.fixture(scope="module")
def scores() -> xr.DataArray:
    rng = np.random.default_rng(1)
    y = rng.normal(0.5, 0.1, (20, 2, 3)) + np.array([0.0, 0.2])[:, None]
    y[:, 0, 2] = np.nan  # a seed that was not run
    return xr.DataArray(
        y, dims=("question", "model", "seed"), coords={"model": ["old", "new"], "seed": [1, 2, 3]}
    )


def test_the_means_of_instances_best_first(scores: xr.DataArray) -> None:
    points, middle = rows_with(instance_means_chart(scores), "system", "mean")
    assert [(row["system"], row["instance"]) for row in points] == [
        *(("new", str(k)) for k in (1, 2, 3)),
        *(("old", str(k)) for k in (1, 2)),
    ]
    assert points[0]["mean"] == pytest.approx(float(scores.sel(model="new", seed=1).mean()))
    assert [row["system"] for row in middle] == ["new", "old"]
    assert middle[1]["mean"] == pytest.approx(np.mean([row["mean"] for row in points[3:]]))
    title = instance_means_chart(scores).to_dict()["layer"][0]["encoding"]["x"]["title"]
    assert title == ["mean of each seed; bar: mean of all"]


def test_each_instance_by_itself(scores: xr.DataArray) -> None:
    table = sw.as_scores(scores).select(instance=[0, 1]).to_xarray()
    tests = sw.instances.single_instance_tests(table.sel(system="new"), table.sel(system="old"))
    chart = single_instance_chart(tests, noun="seed", pair="new − old")
    (rows,) = rows_with(chart, "instance", "verdict")
    assert [row["difference"] for row in rows] == pytest.approx(tests["difference"].tolist())
    assert chart.to_dict()["title"] == "new − old: each seed by itself"
    with pytest.raises(InputError, match="no column 'verdict'"):
        single_instance_chart(tests.drop(columns="verdict"))
