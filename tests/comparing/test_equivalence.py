"""Equivalence, non-inferiority, superiority: against scipy's t-tests and intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shardwise.comparing.compare import compare, paired_tests
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.equivalence import equivalence, posterior_probability, smallest_setting
from shardwise.comparing.instances import compare_instances
from shardwise.core.errors import InputError


def pair(effect: float = 0.0, n: int = 60, m: int = 8, seed: int = 1, spread: float = 0.02) -> Comparisons:
    rng = np.random.default_rng(seed)
    topics = rng.normal(0.4, 0.2, n)
    a = topics[:, None] + effect + rng.normal(0, spread, (n, 1)) + rng.normal(0, 0.02, (n, m))
    return compare_instances(pd.DataFrame(a), pd.Series(topics, name="base"))


def test_tost_is_two_t_tests() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.4, 0.1, 40), rng.normal(0.4, 0.1, 40)
    result = compare_instances(pd.Series(a, name="a"), pd.Series(b, name="b"))
    found = equivalence(result, 0.05).table.iloc[0]
    above = stats.ttest_1samp(a - b, -0.05, alternative="greater").pvalue
    below = stats.ttest_1samp(a - b, 0.05, alternative="less").pvalue
    assert found["p"] == pytest.approx(max(above, below))
    interval = stats.ttest_rel(a, b).confidence_interval(0.90)
    assert (found["lower"], found["upper"]) == pytest.approx(tuple(interval))
    assert equivalence(result, 0.05, "lower").table["p"].iloc[0] == pytest.approx(above)
    gold = stats.ttest_1samp(a - b, 0.01, alternative="greater").pvalue
    assert equivalence(result, 0.01, "superior").table["p"].iloc[0] == pytest.approx(gold)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.floats(-0.05, 0.05),
    st.integers(0, 200),
    st.floats(0.005, 0.06),
    st.sampled_from(["both", "lower", "superior"]),
)
def test_test_and_interval_are_one(effect: float, seed: int, margin: float, side: str) -> None:
    found = equivalence(pair(effect, seed=seed), margin, side)
    assert found.holds == (found.table["p"].iloc[0] < 0.05)
    edge = found.smallest_margin
    if side != "superior":
        assert found.holds == (edge < margin)
        assert equivalence(pair(effect, seed=seed), edge * 1.001 + 1e-9, side).holds
        if edge > 1e-6:
            assert not equivalence(pair(effect, seed=seed), edge * 0.999, side).holds
    elif edge > 0:
        assert equivalence(pair(effect, seed=seed), edge * 0.999, side).holds


def test_the_stricter_method_holds_less_often() -> None:
    result = pair(0.002)
    tost, interval, hpd = (equivalence(result, 0.01, method=method) for method in ("tost", "interval", "hpd"))
    assert tost.level == pytest.approx(0.90)
    assert interval.level == hpd.level == pytest.approx(0.95)
    assert tost.smallest_margin < interval.smallest_margin
    assert hpd.smallest_margin == pytest.approx(interval.smallest_margin, rel=0.1)
    assert np.isnan(hpd.table["p"].iloc[0])


def test_not_significant_is_not_equivalent() -> None:
    noisy = pair(0.0, n=10, spread=0.2)
    assert not noisy.reject()
    assert not equivalence(noisy, 0.01).holds
    assert "not shown to be equivalent within ±0.01" in str(equivalence(noisy, 0.01))
    tiny = pair(0.004, n=400, spread=0.01)
    assert tiny.reject()  # different for sure, and yet equivalent
    assert equivalence(tiny, 0.01).holds


def test_all_pairs_of_comparisons() -> None:
    rng = np.random.default_rng(3)
    topics = rng.normal(0.4, 0.2, 100)
    frame = pd.DataFrame(
        {name: topics + rng.normal(e, 0.02, 100) for name, e in (("x", 0), ("y", 0.001), ("z", 0.05))}
    )
    found = equivalence(paired_tests(frame), 0.01)
    assert len(found.table) == 3
    holds = {frozenset((row.a, row.b)): row.holds for row in found.table.itertuples()}
    assert holds == {frozenset("xy"): True, frozenset("xz"): False, frozenset("yz"): False}
    assert "1 of 3 pairs equivalent" in str(found)
    with pytest.raises(InputError, match="has no posterior"):
        equivalence(paired_tests(frame), 0.01, method="hpd")


def test_smallest_setting() -> None:
    rates = {0.1: -0.08, 0.5: -0.03, 1.0: -0.001, 2.0: 0.0, 4.0: 0.001}
    series = smallest_setting({rate: pair(effect, seed=7) for rate, effect in rates.items()}, 0.01)
    assert series.smallest == series.first == 1.0
    assert list(series.table["setting"]) == sorted(rates)
    assert list(series.table["holds"]) == [False, False, True, True, True]
    # a failure above a success: the series stops there, the paper's rule does not
    broken = {rate: pair(-0.05 if rate == 2.0 else effect, seed=7) for rate, effect in rates.items()}
    assert (smallest_setting(broken, 0.01).smallest, smallest_setting(broken, 0.01).first) == (4.0, 1.0)
    worse = smallest_setting({1: pair(-0.08), 2: pair(-0.09)}, 0.01)
    assert worse.smallest is None
    assert worse.first is None
    assert str(worse).startswith("no setting is no worse")


def test_posterior_probability() -> None:
    result = pair(0.002)
    p = {side: posterior_probability(result, 0.01, side) for side in ("both", "lower", "superior")}
    # without a subjective prior the posterior tail is near the one-sided p-value
    assert 1 - p["lower"] == pytest.approx(equivalence(result, 0.01, "lower").table["p"].iloc[0], abs=0.01)
    assert p["both"] <= p["lower"]
    assert p["superior"] < 0.05


@pytest.mark.parametrize(("options", "message"), [
    ({"side": "upper"}, "unknown side"),
    ({"margin": -0.01}, "cannot be met"),
    ({"margin": 0.0}, "cannot be met"),
    ({"method": "wald"}, "unknown method"),
    ({"alpha": 0.6}, "not between 0 and 0.5"),
])  # fmt: skip
def test_refused_choices(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        equivalence(pair(), **options)  # type: ignore[arg-type]


def test_refused_results() -> None:
    with pytest.raises(InputError, match="cannot be tested"):
        equivalence(0.3)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    boot = compare_instances(
        pd.Series(rng.random(9), name="a"), pd.Series(rng.random(9), name="b"), "bootstrap", n_resamples=99
    )
    with pytest.raises(InputError, match="no standard errors"):
        equivalence(boot, 0.01)
    with pytest.raises(InputError, match="no settings"):
        smallest_setting({})


def many(seed: int = 3, effects: tuple[float, ...] = (0.0, 0.0, 0.004, 0.03)) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    y = rng.normal(0.4, 0.2, (80, 1, 1)) + rng.normal(0, 0.03, (80, len(effects), 1))
    y = y + np.array(effects)[:, None] + rng.normal(0, 0.03, (80, len(effects), 4))
    coords = {"system": [f"s{k}" for k in range(len(effects))]}
    return xr.DataArray(y, dims=("topic", "system", "instance"), coords=coords)


def test_many_pairs_are_corrected_as_their_p_values_are() -> None:
    each, holm, joint = (equivalence(compare(many(), name), 0.02)
                         for name in ("unified none", "unified holm", "moderated topic+instance"))  # fmt: skip
    np.testing.assert_allclose(holm.table["p"], each.table["p"])
    gold = stats.false_discovery_control(each.table["p"], method="bh")
    found = equivalence(compare(many(), "unified bh"), 0.02)
    np.testing.assert_allclose(found.table["p_adjusted"], gold)
    order = np.argsort(each.table["p"])
    steps = np.maximum.accumulate(np.sort(each.table["p"]) * np.arange(6, 0, -1))
    np.testing.assert_allclose(holm.table["p_adjusted"].to_numpy()[order], np.minimum(steps, 1.0))
    assert (joint.correction, holm.correction, each.correction) == ("holm", "holm", "none")
    assert holm.level == pytest.approx(1 - 2 * 0.05 / 6)
    assert each.level == pytest.approx(0.90)
    assert (holm.table["upper"] > each.table["upper"]).all()
    assert "with Holm" in str(holm)
    within = (holm.table["lower"] > -0.02) & (holm.table["upper"] < 0.02)
    assert (holm.table["holds"] >= within).all()  # Holm's steps find what Bonferroni's intervals do, and more


def test_the_baseline_gives_the_direction() -> None:
    for baseline in ("s0", "s3"):
        found = equivalence(compare(many(), "unified holm", baseline=baseline), 0.01, "lower").table
        assert set(found["b"]) == {baseline}
        assert len(found) == 3
    worse = equivalence(compare(many(), "unified holm", baseline="s3"), 0.01, "lower")
    assert not worse.table["holds"].any()
    better = equivalence(compare(many(), "unified holm", baseline="s0"), 0.01, "superior").table
    assert better.set_index("a")["holds"].to_dict() == {"s1": False, "s2": False, "s3": True}


def test_without_a_direction_the_worse_is_asked_whether_it_is_no_worse() -> None:
    lower = equivalence(compare(many(), "unified none"), 0.01, "lower").table
    assert (lower["difference"] <= 0).all()
    hpd = equivalence(compare(many(), "unified none"), 0.01, "lower", method="hpd").table
    assert (hpd["upper"] - hpd["lower"] > 0).all()
    np.testing.assert_allclose((hpd["upper"] + hpd["lower"]) / 2, lower["difference"], atol=1e-3)
    two = compare(many(effects=(0.0, 0.02)), "unified none")
    first, second = two.estimates.labels
    directed = compare_instances(
        many(effects=(0.0, 0.02)).sel(system=first), many(effects=(0.0, 0.02)).sel(system=second)
    )
    chosen_by_data = equivalence(two, 0.0, "superior").table["p"].iloc[0]
    assert chosen_by_data == pytest.approx(2 * equivalence(directed, 0.0, "superior").table["p"].iloc[0])
    assert chosen_by_data == pytest.approx(two.p[0])  # at margin 0 it is the two-sided test


@pytest.mark.calibration
def test_claims_of_equivalence_are_wrong_as_seldom_as_they_should(repetitions: float) -> None:
    """Three systems, one off by exactly the margin: any false claim of equivalence, all pairs with Holm."""
    size, wrong = int(400 * repetitions), 0
    for k in range(size):
        found = equivalence(compare(many(k, (0.0, 0.0, 0.02)), "unified holm"), 0.02).table
        far = (found["a"] == "s2") | (found["b"] == "s2")
        wrong += bool(found.loc[far, "holds"].any())
    assert wrong / size <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / size)
