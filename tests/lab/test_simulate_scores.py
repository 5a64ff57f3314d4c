"""Components of scores, and normal score tables with a known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwise.comparing.instances import compare_instances
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import MD6
from shardwise.core.variance_components import EFFECTS, LAYOUTS, TERMS, VarianceComponents
from shardwise.lab.scenarios.base import Scenario, inside_of, normal_scenario
from shardwise.lab.simulate_scores import SimulationOptions, simulate_scores
from shardwise.lab.simulate_scores import build_scenario as scenario_of
from shardwise.methods.anova.fit import anova, variance_components
from shardwise.methods.mixed.fit import mixed

GOLD = Path(__file__).parent.parent / "gold"
SD = VarianceComponents.of(
    {"topic": 0.2, "shard": 0.05, "topic:system": 0.08, "topic:shard": 0.1, "system:shard": 0.03, "instance": 0.03,
     "error": 0.06}, kind="sd")  # fmt: skip
SIZES = {"split": 3, "topic": 12, "system": 4, "shard": 3, "instance": 5}


def scenario(source: Any = None, **options: Any) -> Any:
    return scenario_of(source, SimulationOptions(**options))


def gold_scores(layout: str) -> xr.DataArray:
    rows = pd.read_csv(GOLD / "score_components_scores.csv")
    rows = rows[rows["layout"] == layout].rename(columns={"third": layout if layout != "topic" else "unused"})
    keys = ["topic", "system", *([layout] if layout != "topic" else [])]
    return rows.set_index(keys)["y"].to_xarray()


@pytest.mark.parametrize("layout", ["topic", "shard", "instance"])
def test_components_are_those_of_lme4(layout: str) -> None:
    gold = pd.read_csv(GOLD / "score_components_lme4.csv").query("layout == @layout")
    found = variance_components(gold_scores(layout))
    wanted = VarianceComponents.of(dict(zip(gold["effect"], gold["sd"], strict=True)), kind="sd")
    for effect in TERMS:
        # what the optimiser leaves: the smallest deviations are the least sharply determined
        assert found.sd(effect) == pytest.approx(wanted.sd(effect), rel=2e-5, abs=1e-12), effect
    assert found.negative == ()


def test_components_agree_with_those_of_mixed_models() -> None:
    nested, fit = variance_components(gold_scores("instance")), mixed(gold_scores("instance"), "nested")
    for name in ("topic", "system:topic", "instance", "residual"):
        assert nested[name] == pytest.approx(fit.variance_components[name], rel=1e-9)


@pytest.mark.parametrize("dims", LAYOUTS)
def test_components_are_recovered(dims: tuple[str, ...]) -> None:
    """Estimates of variances are unbiased: their average over tables is the truth within simulation error."""
    sizes = {"split": 2, "topic": 40, "system": 12, "shard": 10, "instance": 10}
    free = tuple(d for d in dims if d not in ("system", "split"))
    made = normal_scenario(np.full(12, 0.4), SD, dims, tuple(sizes[d] for d in dims), Claim(*free))
    each = [variance_components(xr.DataArray(y, dims=dims)) for y in made.draw(0, 60, 5)]
    for effect in (*EFFECTS, "error"):
        if not set(inside_of(effect)) <= set(dims):
            continue
        variances = np.array([one.variance(effect) for one in each])
        wanted = SD[effect]
        if dims == ("topic", "system"):  # cannot be told apart there
            wanted = {"topic:system": 0.0, "error": SD["topic:system"] + SD["error"]}.get(effect, wanted)
        se = variances.std(ddof=1) / np.sqrt(len(variances))
        assert abs(variances.mean() - wanted) <= 4.5 * se + 1e-12, effect


def test_a_negative_estimate_counts_as_none_and_is_named() -> None:
    y = np.array([[0.1, 0.9], [0.9, 0.1], [0.2, 0.8]])
    found = variance_components(xr.DataArray(y, dims=("topic", "system")))
    assert found["topic"] == 0.0
    assert "topic" in found.negative
    assert "counted as 0: topic" in str(found)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (xr.DataArray([[0.1, np.nan], [0.2, 0.3]], dims=("topic", "system")), "1 of 4 .* topic 0, system 1"),
        (xr.DataArray([[0.1, 0.2]], dims=("topic", "system")), "have 1 topic; give at least 2"),
        (xr.DataArray([0.1, 0.2], dims=("topic",)), "but no system"),
        (xr.Dataset({m: (("topic", "system"), np.eye(2)) for m in ("AP", "P@5")}), "choose one, as in"),
    ],
)  # fmt: skip
def test_scores_that_show_no_components_are_refused(scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        variance_components(scores)


def test_deterministic_systems_show_no_instances() -> None:
    y = simulate_scores(topics=5, systems=3, instances=4, deterministic=1)
    with pytest.raises(InputError, match="do not show how instances vary"):
        variance_components(y)
    others = variance_components(y.sel(system=~y.deterministic))
    assert others["error"] > 0


def test_effects_by_name() -> None:
    given_sd = {"system:topic": 0.1, "topic_shard": 0.2, "instance": 0.3, "mean": 0.4}
    found = VarianceComponents.of(given_sd, kind="sd")
    assert found == {"topic:system": 0.1**2, "topic:shard": 0.2**2, "system:instance": 0.3**2}
    assert found.mean == 0.4
    for wrong, message in (
        ({"topics": 0.1}, "unknown effect 'topics'"),
        ({"error": -0.1}, "cannot be below 0"),
    ):
        with pytest.raises(InputError, match=message):
            VarianceComponents.of(wrong, kind="sd")


@settings(max_examples=40)
@given(
    dims=st.sampled_from(LAYOUTS),
    means=st.lists(st.floats(-1, 2), min_size=4, max_size=4),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_what_is_held_fixed_leaves_no_trace(
    dims: tuple[str, ...], means: list[float], seed: int, data: st.DataObject
) -> None:
    """Without measurement error, system means differ by exactly the truth where everything is held fixed.

    Of what is sampled, exactly the interaction of systems with it is left.
    """
    free = [d for d in dims if d not in ("system", "split")]
    over = tuple(d for d in free if data.draw(st.booleans()))
    made = normal_scenario(
        np.array(means), SD.only(EFFECTS), dims, tuple(SIZES[d] for d in dims), Claim(*over)
    )
    y = xr.DataArray(made.draw(3, 2, seed), dims=("table", *dims))
    found = y.mean(free)
    found = found - found.mean("system")
    left = [name for name in EFFECTS if "system" in inside_of(name) and set(inside_of(name)) & set(over)]
    error = np.abs(found - xr.DataArray(made.truth - made.truth.mean(), dims="system")).max()
    if not left:
        assert error < 1e-12
    else:
        assert error > 1e-6


@pytest.mark.parametrize(
    ("dims", "over", "variance"),
    [
        (("topic", "system"), ("topic",), (0.08**2 + 0.06**2) / 12),
        (("topic", "system"), (), 0.06**2 / 12),
        (("topic", "system", "shard"), (), 0.06**2 / 36),
        (("topic", "system", "shard"), ("topic",), 0.08**2 / 12 + 0.06**2 / 36),
        (("topic", "system", "shard"), ("shard",), 0.03**2 / 3 + 0.06**2 / 36),
        (("topic", "system", "shard"), ("topic", "shard"), 0.08**2 / 12 + 0.03**2 / 3 + 0.06**2 / 36),
        (("topic", "system", "instance"), ("topic",), 0.08**2 / 12 + 0.06**2 / 60),
        (("topic", "system", "instance"), ("topic", "instance"), 0.08**2 / 12 + 0.03**2 / 5 + 0.06**2 / 60),
    ],
)
def test_system_means_vary_as_the_claim_says(
    dims: tuple[str, ...], over: tuple[str, ...], variance: float
) -> None:
    made = normal_scenario(np.zeros(4), SD, dims, tuple(SIZES[d] for d in dims), Claim(*over))
    tables = 3000
    y = made.draw(0, tables, 11)
    means = y.mean(axis=tuple(k + 1 for k, d in enumerate(dims) if d != "system"))
    found = means.var(axis=1, ddof=1).mean()
    # each table gives a chi-square with 3 degrees of freedom: relative error sqrt(2/3 / tables)
    assert found == pytest.approx(variance, rel=4.5 * np.sqrt(2 / 3 / tables))


@pytest.mark.parametrize("dims", LAYOUTS)
def test_a_table_depends_on_seed_and_number_only(dims: tuple[str, ...]) -> None:
    made: Scenario = normal_scenario(np.zeros(4), SD, dims, tuple(SIZES[d] for d in dims))
    all_at_once = made.draw(0, 7, 3)
    assert np.array_equal(made.draw(5, 2, 3), all_at_once[5:])
    assert np.array_equal(made.draw(2, 1, 3)[0], all_at_once[2])
    assert not np.isclose(made.draw(0, 7, 4), all_at_once).any()


def test_splits_share_topics_and_nothing_else() -> None:
    dims = ("split", "topic", "system", "shard")
    shared = normal_scenario(
        np.zeros(4),
        VarianceComponents.of({"topic": 0.2, "topic:system": 0.1}, kind="sd"),
        dims,
        (3, 30, 4, 5),
    )
    y = shared.draw(0, 2, 1)
    assert np.array_equal(y[:, 0], y[:, 2])
    sd = VarianceComponents.of(
        dict.fromkeys(("shard", "topic:shard", "system:shard", "error"), 0.1), kind="sd"
    )
    own = normal_scenario(np.zeros(4), sd, dims, (3, 30, 4, 5))
    y = own.draw(0, 300, 1).reshape(300, 3, -1)
    # 600 numbers a table, of which the 5 shards repeat the most
    r = [np.corrcoef(table[0], table[1])[0, 1] for table in y]
    assert abs(np.mean(r)) < 4.5 * np.std(r) / np.sqrt(300)


def test_tables_fit_the_rest_of_the_package() -> None:
    shards = simulate_scores(topics=20, systems=4, shards=3, effects=0.5, seed=2)
    assert shards.dims == ("topic", "system", "shard")
    assert list(shards["system"].values) == ["sys1", "sys2", "sys3", "sys4"]
    assert anova(shards, MD6).table.loc["system", "p"] < 1e-6
    seeds = simulate_scores(topics=20, systems=2, instances=6, deterministic=1, effects=0.5, seed=2,
                            generalize=("topic", "instance"))  # fmt: skip
    assert seeds.attrs["claim"] == "new topics like these, new instances like these"
    assert np.ptp(seeds.sel(system="sys2").to_numpy(), axis=1).max() == 0
    assert compare_instances(seeds.sel(system="sys1"), seeds.sel(system="sys2")).p < 1e-4
    many = simulate_scores(topics=20, systems=3, instances=6, seed=2)
    assert set(mixed(many).variance_components) >= {"topic", "residual"}
    assert simulate_scores(splits=2, shards=3).shape == (2, 50, 10, 3)


def test_truth_is_planted_as_asked() -> None:
    like = simulate_scores(
        VarianceComponents.of({"system": 0.1, "topic": 0.2, "error": 0.1, "mean": 0.4}, kind="sd"),
        systems=400,
        effects="like",
    )
    truth = np.array(like.attrs["truth"])
    assert truth.mean() == pytest.approx(0.4)
    assert truth.std(ddof=1) == pytest.approx(0.1, rel=4.5 / np.sqrt(2 * 399))
    given_ones = scenario(systems=3, mean=0.2, effects=np.array([0.1, 0.0, -0.1]))
    assert given_ones.truth == pytest.approx([0.3, 0.2, 0.1])
    assert scenario(systems=4, effects=0.1).truth == pytest.approx([0.35, 0.3, 0.3, 0.25])


def test_like_scores_that_one_has() -> None:
    source = gold_scores("shard")
    made = scenario(source, generalize=("shard", "topic"))
    assert made.facts["components"]["topic"] == variance_components(source)["topic"]
    assert made.shape == (20, 5, 6)
    assert made.claim == Claim("topic", "shard")
    assert made.truth == pytest.approx(np.full(5, float(source.mean())))
    own = scenario(source, effects="like")
    assert own.truth == pytest.approx(source.mean(("topic", "shard")).to_numpy())
    some = simulate_scores(source, topics=70, systems=3, effects="like", seed=1)
    assert some.shape == (70, 3, 6)
    means = source.mean(("topic", "shard")).sel(system=[int(name) for name in some["system"].values])
    assert some.attrs["truth"] == pytest.approx(means.to_numpy())
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(30, 4)), columns=list("abcd"))
    assert list(simulate_scores(table)["system"].values) == ["a", "b", "c", "d"]
    assert scenario(table, systems=9).shape == (30, 9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shards": 3, "instances": 2}, "shards or instances, not both"),
        ({"splits": 3}, "splits need shards"),
        ({"generalize": ("shard",)}, "cannot generalise over shard"),
        ({"generalize": ("system",), "shards": 3}, "cannot generalise over system"),
        ({"topics": 1}, "1 topics"),
        ({"effects": [0.1, 0.2]}, "2 effects for 10 systems"),
        ({"effects": "real"}, "no effects 'real'"),
        ({"margins": "gamma"}, "unknown margins 'gamma'"),
        ({"margins": "auto"}, "estimated from scores"),
        ({"deterministic": 2}, "say how many instances"),
        ({"deterministic": 10, "instances": 3}, "10 of 10 systems are deterministic"),
        ({"margins": "beta", "sd": {"topic": 0.7}}, "no beta margin has the mean 0.3"),
        ({"margins": "beta", "mean": 1.3}, "means between 0 and 1"),
        (
            {"source": VarianceComponents.of({"error": 0.1}, kind="sd"), "sd": {"error": 0.1}},
            "give one of them",
        ),
        ({"source": gold_scores("topic"), "shards": 3}, "no shards to go by"),
        ({"mean": float("nan")}, "mean = nan"),
    ],
)
def test_wrong_wishes_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate_scores(**arguments)
