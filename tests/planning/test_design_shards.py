"""Sharded designs: components against lme4, sizes against unsharded theory and simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shardwise.core.arrays import make_generator
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.planning.design import topics_for_interval, topics_for_power
from shardwise.planning.plans import plan_shards
from shardwise.planning.variances import variance, variance_components
from shardwise.stats.power import f_power

GOLD = Path(__file__).parent.parent / "gold"
TYPICAL = VarianceComponents({"topic:system": 0.0064, "system:shard": 0.000025, "error": 0.0036})


def gold_scores() -> xr.DataArray:
    table = pd.read_csv(GOLD / "design_shards_scores.csv").set_index(["topic", "system", "shard"])
    return table["score"].to_xarray()


def test_components_are_those_of_lme4() -> None:
    lme4 = pd.read_csv(GOLD / "design_shards_lme4.csv").set_index("term")["variance"]
    ours = variance_components(gold_scores())
    # lme4 stops its search at about this precision
    assert ours["topic:system"] == pytest.approx(lme4["topic:system"], rel=1e-5)
    assert ours["system:shard"] == pytest.approx(lme4["system:shard"], rel=1e-5)
    assert ours["error"] == pytest.approx(lme4["Residual"], rel=1e-5)
    assert ours.negative == ()


def test_components_are_those_of_the_shard_means_seen_as_a_two_way_table() -> None:
    ours = variance_components(gold_scores())
    assert variance(gold_scores().mean("shard"), "residual").sigma_sq == pytest.approx(
        ours["topic:system"] + ours["error"] / 4
    )


def test_a_negative_component_counts_as_zero_and_is_named() -> None:
    rng = make_generator(21, 0)
    y = rng.normal(size=(10, 4, 5))
    y -= y.mean(axis=2, keepdims=True)  # no topic:system variance at all, less than chance would leave
    c = variance_components(xr.DataArray(y, dims=("topic", "system", "shard")))
    assert c["topic:system"] == 0
    assert "topic:system" in c.negative
    plan = plan_shards(c, min_diff=1.0, shards=[2])
    assert plan.notes == ("Variances estimated below 0 count as 0: system:shard, topic:system.",)
    assert plan.lines[1] == "claim: new topics like these, exactly these shards"


@given(systems=st.integers(2, 30), shards=st.integers(1, 12), min_diff=st.floats(0.02, 0.1))
def test_topics_like_these_need_what_a_two_way_design_on_shard_means_needs(
    systems: int, shards: int, min_diff: float
) -> None:
    sigma_sq = TYPICAL["topic:system"] + TYPICAL["error"] / shards
    result = plan_shards(TYPICAL, min_diff=min_diff, shards=[shards], systems=systems, most_topics=3000)
    assert result.table["topics"].iloc[0] == topics_for_power(
        variance=sigma_sq, min_diff=min_diff, systems=systems, method="blocks"
    )


def test_width_for_two_systems_is_that_of_the_paired_interval() -> None:
    result = plan_shards(TYPICAL, width=0.04, shards=[1, 4])
    expected = [topics_for_interval(variance=0.0064 + 0.0036 / s, width=0.04) for s in (1, 4)]
    assert result.table["topics"].tolist() == expected
    assert (result.table["width"] <= 0.04).all()


def test_how_topics_fall_or_do_not_with_shards() -> None:
    shards = [2, 5, 20, 100]
    sizes = {
        claim: plan_shards(TYPICAL, min_diff=0.03, shards=shards, generalize=claim).table["topics"]
        for claim in ((), ("topic",), ("topic", "shard"))
    }
    these, like, both = sizes[()], sizes[("topic",)], sizes[("topic", "shard")]
    assert these.iloc[-1] <= 3  # about these topics, shards stand in for topics
    # about topics like these, no number of shards beats the topic:system variance
    assert (like >= topics_for_power(variance=0.0064, min_diff=0.03, method="blocks")).all()
    assert like.is_monotonic_decreasing
    assert (both.dropna() >= like[both.notna()]).all()


def test_what_no_number_of_topics_can_do_is_missing_not_invented() -> None:
    rough = VarianceComponents({"topic:system": 0.0064, "system:shard": 0.01, "error": 0.0036})
    result = plan_shards(rough, min_diff=0.03, shards=[1, 5], generalize=("topic", "shard"))
    assert result.table["topics"].isna().all()
    assert result.table["power"].isna().all()
    assert result.lines[1] == "claim: new topics like these, new shards like these"


def test_one_shard_plans_no_claim_about_new_shards() -> None:
    """It shows nothing of how shards vary, however many topics it has."""
    planned = plan_shards(TYPICAL, min_diff=0.03, shards=[1, 5], generalize=("topic", "shard"))
    assert planned.table["topics"].isna().tolist() == [True, False]


def test_a_corpus_cut_finer_has_components_of_its_own() -> None:
    coarse, fine = (
        TYPICAL,
        VarianceComponents({"topic:system": 0.0064, "system:shard": 0.00002, "error": 0.02}),
    )
    table = plan_shards({2: coarse, 10: fine}, min_diff=0.03).table
    assert table["shards"].tolist() == [2, 10]
    assert table["topics"].iloc[1] == plan_shards(fine, min_diff=0.03, shards=[10]).table["topics"].iloc[0]
    with pytest.raises(InputError, match="no components for 3 shards"):
        plan_shards({2: coarse}, min_diff=0.03, shards=[3])


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("generalize", "min_diff"), [((), 0.05), (("topic",), 0.1), (("topic", "shard"), 0.12)]
)
def test_power_is_what_simulated_shards_show(
    generalize: tuple[str, ...], min_diff: float, repetitions: float
) -> None:
    runs, t, r, s = int(3000 * repetitions), 15, 4, 5
    c = VarianceComponents({"topic:system": 0.006, "system:shard": 0.002, "error": 0.01})
    rng = make_generator(22, len(generalize))
    means = np.array([min_diff / 2, -min_diff / 2, 0, 0])[None, None, :, None]
    y = means + rng.normal(0, c.sd("error"), (runs, t, r, s))
    if "topic" in generalize:  # effects of fixed topics and shards do not vary between repetitions
        y += rng.normal(0, c.sd("topic:system"), (runs, t, r, 1))
    if "shard" in generalize:
        y += rng.normal(0, c.sd("system:shard"), (runs, 1, r, s))

    def centred(x: np.ndarray, *axes: int) -> np.ndarray:
        for axis in axes:
            x = x - x.mean(axis=axis, keepdims=True)
        return x

    ms_s = t * s * (centred(y.mean(axis=(1, 3)), 1) ** 2).sum(axis=1) / (r - 1)
    ms_ts = s * (centred(y.mean(axis=3), 1, 2) ** 2).sum(axis=(1, 2)) / ((t - 1) * (r - 1))
    ms_sk = t * (centred(y.mean(axis=1), 1, 2) ** 2).sum(axis=(1, 2)) / ((s - 1) * (r - 1))
    df_e = (t - 1) * (r - 1) * (s - 1)
    ms_e = (centred(y, 1, 2, 3) ** 2).sum(axis=(1, 2, 3)) / df_e
    if generalize == ():
        error, df = ms_e, np.full(runs, float(df_e))
    elif generalize == ("topic",):
        error, df = ms_ts, np.full(runs, (t - 1.0) * (r - 1))
    else:
        error = np.maximum(ms_ts + ms_sk - ms_e, 1e-12)
        parts = ((ms_ts, (t - 1) * (r - 1)), (ms_sk, (s - 1) * (r - 1)), (ms_e, df_e))
        df = error**2 / sum(ms**2 / d for ms, d in parts)
    found = (stats.f.sf(ms_s / error, r - 1, df) <= 0.05).mean()
    v, degrees = c.variance_of_difference(
        generalize, {"topic": np.array([float(t)]), "shard": s, "system": r}
    )
    critical = stats.f.isf(0.05, r - 1, degrees)
    power = f_power(min_diff**2 / v, np.array([r - 1.0]), degrees, critical)[0]
    # Satterthwaite's df, taken at the expected mean squares, is an approximation: within .02
    slack = 0.02 if "shard" in generalize else 0.0
    assert 0.5 < power < 0.95
    assert found == pytest.approx(power, abs=4 * np.sqrt(power * (1 - power) / runs) + slack)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"min_diff": None}, "either min_diff or width"),
        ({"width": 0.1}, "either min_diff or width"),
        ({"min_diff": None, "width": 0.0}, "without width"),
        ({"power": 0.05}, "not above alpha"),
        ({"systems": 1}, "2 or more"),
        ({"shards": [0]}, "1 or more"),
        ({"generalize": ("instance",)}, "cannot generalise over instance"),
        ({"most_topics": 1}, "2 or more"),
    ],
)
def test_refusals(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        plan_shards(TYPICAL, **{"min_diff": 0.03, **changes})


def test_components_refuse_what_they_cannot_use() -> None:
    with pytest.raises(InputError, match="below 0"):
        VarianceComponents({"topic:system": -0.1, "system:shard": 0, "error": 0.1})
    with pytest.raises(InputError, match="all variances are 0"):
        plan_shards(VarianceComponents({"topic:system": 0, "error": 0}), min_diff=0.03)
    with pytest.raises(InputError, match="not on shards"):
        plan_shards(xr.DataArray(np.eye(2), dims=("topic", "system")), min_diff=0.03)
    with pytest.raises(InputError, match="1 of 240 scores are undefined"):
        plan_shards(gold_scores().where(gold_scores() < float(gold_scores().max())), min_diff=0.03)
    with pytest.raises(InputError, match="have 1 shard; give at least 2"):
        plan_shards(gold_scores().isel(shard=[0]), min_diff=0.03)


def test_scores_serve_as_well_as_their_components() -> None:
    parts = variance_components(gold_scores())
    for source in (
        gold_scores(),
        gold_scores().to_dataset(name="AP"),
        gold_scores().to_series().reset_index(),
    ):
        ours = plan_shards(source, min_diff=0.1, shards=[2, 5])
        pd.testing.assert_frame_equal(ours.table, plan_shards(parts, min_diff=0.1, shards=[2, 5]).table)
    cut = plan_shards({4: gold_scores()}, min_diff=0.1).table
    pd.testing.assert_frame_equal(cut, plan_shards(parts, min_diff=0.1, shards=[4]).table)
