"""The prior degrees of freedom have one home: whoever shrinks a variance follows what stands there."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from shardwise.methods.names import parse_procedure
from shardwise.stats import moderation
from shardwise.stats.power import moderated_df
from shardwise.stats.units import care_for_clusters

RNG = np.random.default_rng(7)
TABLE = xr.DataArray(
    RNG.normal(0.0, [0.1, 0.3, 0.9, 0.4, 0.2], (14, 5)) + np.array([0.0, 0.2, 0.5, 0.6, 0.1]),
    dims=("topic", "system"),
)
SHARDS = TABLE + xr.DataArray(RNG.normal(size=(14, 5, 3)), dims=("topic", "system", "shard"))


def collect_figures() -> dict[str, np.ndarray]:
    """Whatever is said of these scores by a shrunken variance."""
    joint, single = sw.compare(TABLE, "moderated", n_resamples=199), sw.compare(TABLE, "moderated none")
    shards = sw.compare(SHARDS, "moderated none these")
    simulated = sw.planning.simulated_power(TABLE, topics=14, min_diff=0.3, repetitions=20)
    return {
        "tests": single.p,
        "tests of cells": shards.p,
        "joint tests": joint.p_adjusted,
        "intervals": joint.to_frame()["lower"].to_numpy(),
        "rank ranges": joint.ranks(0.8)[["rank_best", "rank_worst"]].to_numpy(),
        "clusters": np.array(care_for_clusters(6.0, 10, 5)),
        "degrees of freedom": np.array(moderated_df(20.0, 5)),
        "planned power": np.array(sw.planning.Design(0.5, 14, 5, min_diff=0.3, method="moderated").power),
        "simulated power": simulated.table["width"].to_numpy(),
        "docs": np.array(parse_procedure("moderated").method.formula),
    }


def test_everything_follows_the_prior_degrees_of_freedom(monkeypatch: pytest.MonkeyPatch) -> None:
    before = collect_figures()
    monkeypatch.setattr(moderation, "PRIOR_DF", 0.5)
    after = collect_figures()
    same = [
        name
        for name in before
        if np.array_equal(before[name], after[name], equal_nan=before[name].dtype == float)
    ]
    assert not same


def test_shares_of_variances() -> None:
    assert moderation.own_share(5.0, prior_df=0.0) == 1.0
    assert moderation.own_share(0.0, prior_df=0.0) == 1.0
    assert moderation.own_share(5.0, prior_df=np.inf) == 0.0
    assert moderation.own_share(5.0, 2) == 1.0
    np.testing.assert_array_equal(
        moderation.shrink_variances(np.array([1.0, 3.0]), np.array(2.0), 0.5), [1.5, 2.5]
    )
