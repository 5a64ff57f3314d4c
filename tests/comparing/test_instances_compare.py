"""compare_instances: every method against something else that computes the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import instance_results as tests
from instance_results import compare_instances
from procedure_tables import COLUMNS
from shardwise.comparing.compare import paired_tests
from shardwise.comparing.instances import single_instance_tests
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.io.instances import flag_deterministic
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.mixed.posterior import posterior
from shardwise.methods.repeats.unified import instance_spread


def system(
    m: int, n: int = 30, seed: int = 0, name: str = "x", effect: float = 0.0, sd: float = 0.03
) -> xr.DataArray:
    topics = np.random.default_rng(99).normal(0.4, 0.2, n)
    rng = np.random.default_rng(seed)
    y = topics + effect + rng.normal(0, 0.1, n) + rng.normal(0, sd, (m, 1)) + rng.normal(0, 0.08, (m, n))
    coords: dict[str, Any] = {"instance": np.arange(m), "topic": [f"t{k}" for k in range(n)]}
    return xr.DataArray(y, dims=("instance", "topic"), coords=coords, name=name)


def fixed(n: int = 30, seed: int = 9, name: str = "b") -> xr.DataArray:
    return system(1, n, seed, name).isel(instance=0, drop=True)


@settings(max_examples=25)
@given(st.integers(2, 6), st.integers(3, 20), st.integers(0, 1000))
def test_unified_equals_the_nested_mixed_model_where_variances_are_alike(m: int, n: int, seed: int) -> None:
    """Mirrored instances give both systems the same mean squares, where pooling them changes nothing but the df."""
    a = system(m, n, seed, "a", sd=0.1)
    means = a.values.mean(axis=0)
    other = means + (a.values - means)[::-1] + np.random.default_rng(seed).normal(0, 0.1, n)
    b = a.copy(data=other).rename("b")
    one, two = compare_instances(a, b), compare_instances(a, b, design="nested")
    if any("singular fit" in note for note in two.notes):
        return
    assert one.difference == pytest.approx(two.difference, abs=1e-12)
    assert one.se == pytest.approx(two.se, rel=1e-9)
    assert one.df == pytest.approx(two.df, rel=1e-9)
    assert one.p == pytest.approx(two.p, rel=1e-7)


def test_unified_by_hand() -> None:
    """M = 2 and N = 2: every mean square by pencil."""
    a, b = np.array([[0.2, 0.6], [0.4, 1.0]]), np.array([[0.1, 0.3]])
    found = tests.unified(a, b, deterministic=(False, True))
    # instance means .4 and .7: MS_I = 2·(.15²·2) = .09; interaction residuals ±.05: MS_E = .01; differences .2 and .5
    spread_a = instance_spread(a.T[None, :, None, :])
    assert spread_a.ms_instance[0, 0] == pytest.approx(0.09)
    assert spread_a.ms_error[0, 0] == pytest.approx(0.01)
    assert found.difference == pytest.approx(0.35)
    assert found.variance == pytest.approx(0.045 / 2 + (0.09 - 0.01) / 4)
    spread = 0.0225**2 / 1 + (0.09 / 4) ** 2 / 1 + (0.01 / 4) ** 2 / 1
    assert found.df == pytest.approx(0.0425**2 / spread)


def test_unified_of_deterministic_systems_is_the_paired_t_test() -> None:
    a, b = fixed(seed=1, name="a"), fixed(seed=2)
    result = compare_instances(a, b)
    gold = stats.ttest_rel(a, b)
    assert (result.statistic, result.p, result.df) == pytest.approx((gold.statistic, gold.pvalue, gold.df))
    assert result.interval() == pytest.approx(tuple(gold.confidence_interval(0.95)))
    assert result.claim == "new topics like these 30"
    assert result.interval(kind="hpd") == pytest.approx(result.interval(), abs=0.003)


@pytest.mark.parametrize("which", ["t-means", "t-single"])
def test_baselines_are_scipys(which: str) -> None:
    a, b = system(4, seed=1, name="a"), fixed()
    one = a.mean("instance") if which == "t-means" else a.sel(instance=2)
    gold = stats.ttest_rel(one, b)
    result = compare_instances(a, b, which, instance=2)
    assert (result.statistic, result.p) == pytest.approx((gold.statistic, gold.pvalue))
    assert (
        "for instance 2 of a alone" if which == "t-single" else "the mean of these 4 instances"
    ) in result.claim


def test_single_instance_tests() -> None:
    a, b = system(6, seed=1, name="a", effect=0.04, sd=0.08), fixed()
    table = single_instance_tests(a, b)
    for k, row in enumerate(table.itertuples()):
        gold = stats.ttest_rel(a.isel(instance=k), b)
        assert row.p == pytest.approx(gold.pvalue)
        expected = "no difference" if gold.pvalue > 0.05 else "better" if gold.statistic > 0 else "worse"
        assert row.verdict == expected
    assert table["verdict"].nunique() > 1  # which is why one instance proves little


def test_bootstrap_is_algorithm_1_for_deterministic_systems() -> None:
    a, b = fixed(seed=3, name="a"), fixed(seed=4)
    frame = pd.DataFrame({"a": a.values, "b": b.values})
    gold = paired_tests(frame, "bootstrap", n_resamples=2000, seed=5).to_frame()["p"].iloc[0]
    result = compare_instances(a, b, "bootstrap", n_resamples=2000, seed=5)
    assert result.p == pytest.approx(gold)
    assert "Algorithm 1" in result.title


def plain_algorithm_2(z: Floats, target: Floats, resamples: int, rng: np.random.Generator) -> float:
    """J15 Algorithm 2 line by line."""
    count = 0
    for m in range(len(z)):
        samples = rng.choice(z[m], size=(resamples, z.shape[1]))
        samples = samples - samples.mean(axis=1).mean()
        t = samples.mean(axis=1) / np.sqrt(samples.var(axis=1, ddof=1) / z.shape[1])
        count += int((np.abs(t) >= np.abs(target[m])).sum())
    return count / (len(z) * resamples)


@pytest.mark.parametrize("reading", ["averaged", "pooled", "per-instance"])
def test_bootstrap_readings_follow_algorithm_2(reading: str) -> None:
    a, b = system(5, seed=1, name="a", effect=0.03), fixed()
    z = a.values - b.values
    mean = z.mean(axis=0)
    t_mean = stats.ttest_1samp(mean, 0).statistic
    rng = np.random.default_rng(1)
    gold = {
        "averaged": lambda: plain_algorithm_2(mean[None, :], np.array([t_mean]), 20_000, rng),
        "pooled": lambda: plain_algorithm_2(z, np.full(5, t_mean), 4_000, rng),
        "per-instance": lambda: plain_algorithm_2(z, stats.ttest_1samp(z, 0, axis=1).statistic, 4_000, rng),
    }[reading]()
    n_resamples = 20_000 if reading == "averaged" else 4_000
    result = compare_instances(a, b, "bootstrap", reading=reading, n_resamples=n_resamples)
    assert result.p == pytest.approx(gold, abs=5 * np.sqrt(2 * gold * (1 - gold) / 20_000))
    assert "Algorithm 2" in result.title
    assert "their variance is left out" in result.notes[0]


def test_papers_designs() -> None:
    a, b, c = system(5, seed=1, name="a"), fixed(), system(5, seed=3, name="c")
    crossed = compare_instances(a, b, design="paper")
    assert crossed.df == 2 * 5 * 30 - 1
    assert "crossed instances as in J15" in crossed.title
    assert "finds too much" in crossed.notes[-1]
    assert crossed.se == pytest.approx(
        stats.sem(a.mean("instance") - b), rel=1e-9
    )  # the instance variance cancels
    nested = compare_instances(a, c, design="paper")
    assert "nested instances as in J15" in nested.title
    both = xr.concat([a, c], pd.Index(["a", "c"], name="system"))
    gold = mixed(both)
    assert nested.se == pytest.approx(np.sqrt(gold.difference_variance[0, 1]))
    assert nested.interval(kind="hpd") == pytest.approx(
        posterior(gold).difference("a", "c").interval(), rel=1e-9
    )
    assert "t of the averages" in compare_instances(a, b, "bootstrap", design="paper", n_resamples=50).title


def test_unequal_instances_and_lost_scores() -> None:
    a, c = system(7, seed=1, name="a"), system(3, seed=3, name="c")
    result = compare_instances(a, c)
    assert "3 to 7 seen" in result.claim
    lost = a.copy()
    lost[2, 4] = np.nan
    assert compare_instances(lost, c).p == pytest.approx(result.p, abs=0.01)
    assert compare_instances(lost, c, design="nested").p == pytest.approx(result.p, abs=0.1)
    with pytest.raises(InputError, match="1 scores of a are missing, first topic t4") as refusal:
        compare_instances(lost, c, "t-means")
    assert "use method='mixed'" in str(refusal.value)


def test_the_flag_travels_with_the_scores() -> None:
    both = xr.concat(
        [system(4, name="y"), system(4, seed=3, name="y")], pd.Index(["dense", "bm25"], name="system")
    )
    both[1, 1:] = np.nan
    flagged = flag_deterministic(both, ["bm25"])
    result = compare_instances(flagged.sel(system="dense"), flagged.sel(system="bm25"))
    assert (result.a, result.b) == ("dense", "bm25")
    assert (
        result.p
        == compare_instances(both[0].drop_vars("system"), both[1, 0].drop_vars(["instance", "system"])).p
    )
    with pytest.raises(InputError, match="'bm25' has a single instance"):
        compare_instances(both.sel(system="dense"), both.sel(system="bm25"))
    with pytest.raises(InputError, match="dense has a single instance"):
        compare_instances(both.sel(system="dense")[:1], both.sel(system="bm25"))


def test_topics_are_matched_by_name() -> None:
    a, b = system(4, name="a"), fixed()
    assert compare_instances(a, b.isel(topic=slice(None, None, -1))).p == pytest.approx(
        compare_instances(a, b).p
    )
    with pytest.raises(InputError, match="do not have the same topics: t0"):
        compare_instances(a, b.isel(topic=slice(1, None)))


def test_swapping_the_systems_turns_the_sign() -> None:
    a, c = system(4, name="a"), system(6, seed=3, name="c")
    one, two = compare_instances(a, c), compare_instances(c, a)
    assert (one.difference, one.se, one.df, one.p) == pytest.approx((-two.difference, two.se, two.df, two.p))
    low, high = one.interval()
    assert two.interval() == pytest.approx((-high, -low))


def test_tables_and_series_will_do() -> None:
    a, b = system(4, name="a"), fixed()
    frame = pd.DataFrame(a.values.T, index=a["topic"].values)
    series = pd.Series(b.values, index=b["topic"].values, name="bm25")
    result = compare_instances(frame, series)
    assert result.b == "bm25"
    assert result.p == compare_instances(a, b).p


def test_hpd_widens_with_the_instance_variance() -> None:
    a, b = system(4, seed=2, name="a", sd=0.1), fixed()
    low, high = compare_instances(a, b).interval(kind="hpd")
    left, right = compare_instances(a, b, design="paper").interval(kind="hpd")
    assert high - low > 1.2 * (right - left)


def test_effect_size_is_the_papers() -> None:
    a, b = system(10, name="a", effect=0.05), fixed()
    result = compare_instances(a, b)
    own = a - a.mean("topic") - a.mean("instance") + a.mean()
    residual = np.sqrt(float((own**2).sum()) / (9 * 29))
    assert result.effect_size == pytest.approx(result.difference / residual)
    assert result.size == "small"
    two = compare_instances(fixed(seed=1, name="a"), b)
    d = fixed(seed=1).values - b.values
    assert two.effect_size == pytest.approx(d.mean() / d.std(ddof=1))  # eq. 8


@pytest.mark.parametrize(("call", "message"), [
    (lambda a, b: compare_instances(a, b, "welch"), "unknown method"),
    (lambda a, b: compare_instances(a, b, design="split"), "unknown design"),
    (lambda a, b: compare_instances(a, b, "bootstrap", reading="first"), "unknown reading"),
    (lambda a, b: compare_instances(a, b, "bootstrap", n_resamples=0), "0 resamples"),
    (lambda a, b: compare_instances(a, b, "t-single", instance=77), "a has no instance 77"),
    (lambda a, b: compare_instances(b.rename("c"), b, design="paper"), "both systems are deterministic"),
    (lambda a, b: compare_instances(a, b.isel(topic=[0])), "do not have the same topics"),
    (lambda a, b: compare_instances(a, b * np.nan), "has no scores"),
    (lambda a, b: compare_instances(a, b.expand_dims("shard")), "instead of the dimensions"),
    (lambda a, b: compare_instances(a, system(3, name="c"), "bootstrap", reading="pooled"), "cannot be paired"),
    (lambda a, b: compare_instances(a, b, "bootstrap", n_resamples=9).interval(), "no interval"),
    (lambda a, b: compare_instances(a, b, "t-means").interval(kind="hpd"), "no posterior"),
    (lambda a, b: compare_instances(a, b).reject(5), "not between 0"),
])  # fmt: skip
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(system(4, name="a"), fixed())


def test_identical_systems_differ_by_nothing() -> None:
    a = system(3, name="a")
    result = compare_instances(a.isel(instance=0, drop=True), a.isel(instance=0, drop=True).rename("b"))
    assert (result.difference, result.p) == (0.0, 1.0)
    with pytest.raises(InputError, match="do not vary over topics"):
        result.interval(kind="hpd")


def test_frame_has_the_columns_of_all_comparisons() -> None:
    frame = compare_instances(system(4, name="a"), fixed()).to_frame()
    assert list(frame.columns) == list(COLUMNS)
