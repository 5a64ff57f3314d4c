"""Seeds or samples: what scores say of it, both analyses, and what missing scores and single runs do to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from instance_results import gold_scores
from shardwise.analysis.analyze import analyze
from shardwise.comparing.compare import compare
from shardwise.comparing.instances import compare_instances
from shardwise.core.errors import InputError
from shardwise.io.instances import flag_deterministic
from shardwise.methods.repeats.unified import _after_topics, instance_spread, seeds_or_samples
from shardwise.writing.answer import write_repeats

GOLD = Path(__file__).parent.parent / "gold"


def table(
    systems: int = 3, instances: int = 5, topics: int = 40, seeds: float = 0.0, seed: int = 1
) -> xr.DataArray:
    g = np.random.default_rng(seed)
    y = g.normal(0.4, 0.2, (topics, 1, 1)) + g.normal(0, 0.1, (topics, systems, 1))
    y = y + g.normal(0, 1, (1, systems, instances)) * seeds + g.normal(0, 0.08, (topics, systems, instances))
    coords = {"system": [f"s{k}" for k in range(systems)]}
    return xr.DataArray(y, dims=("topic", "system", "instance"), coords=coords)


def test_samples_equal_lme4() -> None:
    """J15 eq. 7 as lmer fits it: y ~ system + (1 | topic) + (1 | system:topic); its df stop 1e-7 short of N - 1."""
    gold = pd.read_csv(GOLD / "samples_lme4.csv").iloc[0]
    both = gold_scores(2, 4, 12, (0.2, 0.1, 0.0, 0.08), 31).assign_coords(system=["x", "y"])
    found = compare_instances(both.sel(system="y"), both.sel(system="x"), repeats="samples")
    assert found.difference[0] == pytest.approx(gold["difference"], rel=1e-9)
    assert found.se[0] == pytest.approx(gold["se"], rel=1e-6)
    assert found.df[0] == pytest.approx(gold["df"], rel=1e-6)
    assert found.p[0] == pytest.approx(gold["p"], rel=1e-6)


def test_samples_by_hand() -> None:
    """Topic means .3, .8 and .1, .4: differences .2 and .4, MS(system:topic) of M scores = M Σ(d - d̄)²/2 = .02."""
    a, b = pd.DataFrame([[0.2, 0.4], [0.6, 1.0]]), pd.DataFrame([[0.1, 0.1], [0.3, 0.5]])
    found = compare_instances(a, b, repeats="samples")
    assert found.difference[0] == pytest.approx(0.3)
    ms = 2 * (0.1**2 + 0.1**2) / 2
    assert found.se[0] ** 2 == pytest.approx(2 * ms / (2 * 2))
    assert found.df[0] == 1


def test_samples_are_the_paired_t_of_topic_means() -> None:
    y = table()
    means = y.mean("instance")
    found = compare(y, "samples none").to_frame()
    for _, row in found.iterrows():
        gold = stats.ttest_rel(means.sel(system=row["a"]), means.sel(system=row["b"]))
        assert (row["statistic"], row["p"]) == pytest.approx((gold.statistic, gold.pvalue))
    assert "any instance (5 seen)" in compare(y, repeats="samples").claim
    np.testing.assert_array_equal(
        compare(y, repeats="samples").p_adjusted, compare(y, "moderated").p_adjusted
    )


def test_what_repeats_are_can_be_said_once() -> None:
    y = table(seeds=0.05)
    assert compare(y, repeats="seeds").procedure == compare(y).procedure == "moderated topic+instance"
    assert compare(y, repeats="samples").procedure == "moderated samples"
    with pytest.raises(InputError, match="repeats='samples' is given, and a method too"):
        compare(y, "unified holm", repeats="samples")
    with pytest.raises(InputError, match="has no effect on scores by topic, system"):
        compare(y.mean("instance"), repeats="seeds")
    with pytest.raises(InputError, match="seed"):
        compare(y, repeats="sedes")
    with pytest.raises(InputError, match="is for the unified design"):
        compare_instances(y.sel(system="s0"), y.sel(system="s1"), design="nested", repeats="samples")


def test_the_effect_of_seeds_is_seen() -> None:
    seen, unseen = seeds_or_samples(table(seeds=0.05)), seeds_or_samples(table())
    assert seen.shown
    assert not unseen.shown
    assert seen.lower < 0.05 < seen.upper
    assert "moves all topics together" in str(seen)
    assert str(unseen).startswith("no evidence that")


def test_one_system_is_an_analysis_of_variance() -> None:
    """F of instances in a two-way table, as statsmodels has it, and the usual limits of a ratio of variances."""
    ols = pytest.importorskip("statsmodels.formula.api").ols
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    y = table(2, 4, 15, seeds=0.04)
    y[:, 1, 1:] = np.nan
    y = flag_deterministic(y, ["s1"])
    frame = y.isel(system=0).to_series().rename("y").reset_index()
    gold = anova_lm(ols("y ~ C(topic) + C(instance)", frame).fit())
    found = seeds_or_samples(y)
    assert found.f == pytest.approx(gold.loc["C(instance)", "F"])
    assert found.p == pytest.approx(gold.loc["C(instance)", "PR(>F)"])
    low = found.f / stats.f.isf(0.025, 3, 42) - 1
    assert found.lower**2 / found.error_sd**2 == pytest.approx(max(low, 0) / 15)


def test_missing_scores_leave_the_instances_after_the_topics() -> None:
    """Sums of squares in the order topic, instance of statsmodels' analysis of variance."""
    ols = pytest.importorskip("statsmodels.formula.api").ols
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    y = table(1, 4, 12, seeds=0.05)
    lost = np.random.default_rng(2).random(y.shape) < 0.2
    y = y.where(~lost)
    frame = y.to_series().rename("y").reset_index().dropna()
    gold = anova_lm(ols("y ~ C(topic) + C(instance)", frame).fit())
    found = instance_spread(y.to_numpy()[None])
    assert found.ms_instance[0, 0] == pytest.approx(gold.loc["C(instance)", "mean_sq"])
    assert found.ms_error[0, 0] == pytest.approx(gold.loc["Residual", "mean_sq"])
    assert found.df_error[0, 0] == gold.loc["Residual", "df"]


def test_the_variance_of_instances_is_right_with_missing_scores() -> None:
    """E (MS_I - MS_E)/size is the variance that instances give to the mean of topic means."""
    g = np.random.default_rng(3)
    b, t, m, sd = 6000, 10, 4, 0.5
    effect = g.normal(0, sd, (b, 1, 1, m))
    y = effect + g.normal(0, 1, (b, t, 1, m))
    lost = np.random.default_rng(4).random((1, t, 1, m)) < 0.3
    y = np.where(lost, np.nan, y)
    found = instance_spread(y)
    share = (~lost) / np.maximum((~lost).sum(axis=-1, keepdims=True), 1)
    own = (effect * share).sum(axis=-1).mean(axis=1)[:, 0]
    estimate = (found.ms_instance - found.ms_error)[:, 0] / found.size[:, 0]
    error = estimate.std() / np.sqrt(b)
    assert estimate.mean() == pytest.approx(own.var(), abs=4 * error)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 6), st.integers(2, 8), st.integers(0, 2**31))
def test_both_ways_to_the_sum_of_squares_agree_on_complete_scores(m: int, t: int, seed: int) -> None:
    y = np.random.default_rng(seed).normal(size=(2, t, 3, m))
    rest = y - y.mean(axis=-1, keepdims=True)
    ss, df, trace = _after_topics(np.ones(y.shape, dtype=bool), np.full(y.shape, 1.0 / m), rest)
    found = instance_spread(y)
    np.testing.assert_allclose(ss / df, found.ms_instance, rtol=1e-8)
    np.testing.assert_allclose(trace / df, t)
    np.testing.assert_allclose(found.size, m * t)


def test_a_single_run_does_not_show_how_runs_vary() -> None:
    y = table(3, 4, 30, seeds=0.05)
    y[:, 2, 1:] = np.nan
    found = instance_spread(y.transpose("topic", "system", "instance").to_numpy()[None])
    assert found.borrowed[0].tolist() == [False, False, True]
    assert found.ms_instance[0, 2] == pytest.approx(found.ms_instance[0, :2].mean())
    assert found.df_instance[0].tolist() == [3, 3, 6]
    assert found.size[0].tolist() == pytest.approx([120, 120, 30])
    # systems may vary unlike each other, so that a single run tells nothing of its own seeds
    for method in (None, "unified holm", "moderated holm topic+instance"):
        with pytest.raises(InputError, match="'s2' has a single instance"):
            compare(y, method)
        assert len(compare(y, method, only=["s0", "s1"])) == 1
    assert not compare(flag_deterministic(y, ["s2"]), "unified holm").notes
    with pytest.raises(InputError, match=r"repeats='samples'"):
        compare(y.isel(instance=[0]), "unified holm")
    assert np.isfinite(compare(y.isel(instance=[0]), repeats="samples").p).all()


def test_systems_that_lack_topics_are_compared_on_those_that_both_have() -> None:
    y = table(3, 4, 30, seeds=0.03)
    y[:4, 0] = np.nan
    y[10, 1, 2] = np.nan
    both = y.isel(topic=slice(4, None), system=[0, 2])
    found = compare(y, "unified none", only=[("s0", "s2")]).to_frame().iloc[0]
    alone = compare(both, "unified none").to_frame().iloc[0]
    assert abs(found["difference"]) == pytest.approx(abs(alone["difference"]))
    assert found["se"] == pytest.approx(alone["se"], rel=0.05)  # the spread over instances knows more topics
    for name in ("unified holm", "samples holm", "moderated topic+instance", "moderated samples"):
        assert np.isfinite(compare(y, name).p_adjusted).all()
    y[:20, 1] = np.nan
    with pytest.raises(InputError, match="only 10 of 30 topics"):
        compare(y)


def test_identical_seeds_have_no_residual_to_measure_by() -> None:
    """Five copies, up to rounding, of the scores of each system."""
    y = table(2, 1, 30)
    y = xr.concat([y * (1 + k * 1e-16) for k in range(5)], "instance")
    y = y.isel(instance=slice(None), drop=True).transpose("topic", "system", "instance")
    found = compare(y, "unified none")
    z = (y.isel(instance=0, system=0) - y.isel(instance=0, system=1)).to_numpy()
    frame = found.effect_sizes()
    sign = 1.0 if found.to_frame()["a"].iloc[0] == "s0" else -1.0
    assert frame["effect_size"].iloc[0] == pytest.approx(sign * z.mean() / z.std(ddof=1))
    assert frame["topic_effect_size"].iloc[0] == pytest.approx(sign * z.mean() / z.std(ddof=1))


def exact_effect(ratio: float) -> xr.DataArray:
    """Two systems of three instances whose MS(instance) is exactly this ratio of MS(error)."""
    g = np.random.default_rng(8)
    noise = g.normal(0.0, 0.1, (40, 2, 3))
    noise -= noise.mean(axis=0, keepdims=True)
    noise -= noise.mean(axis=2, keepdims=True)
    error = (noise**2).sum(axis=(0, 2)) / (39 * 2)
    shift = np.sqrt(ratio * error / 40)[:, None] * [-1.0, 0.0, 1.0]
    y = g.normal(0.5, 0.2, (40, 1, 1)) + g.normal(0.0, 0.05, (40, 2, 1)) + noise + shift
    return xr.DataArray(y, dims=("topic", "system", "instance"))


def test_the_share_of_a_common_effect_in_the_variance_of_a_difference() -> None:
    """ρ by its definition: (MS_I - MS_E)/(MN) of both systems against s²/N of the topic means."""
    y = exact_effect(1.8)
    found = seeds_or_samples(y)
    error = instance_spread(y.to_numpy()[None]).ms_error[0]
    common = 2 * 0.8 * error.mean() / (3 * 40)
    gap = np.diff(y.mean("instance").to_numpy(), axis=1)[:, 0]
    assert found.f == pytest.approx(1.8)
    assert found.share == pytest.approx(common / (common + gap.var(ddof=1) / 40))
    assert found.false_alarms() == pytest.approx(
        2 * stats.norm.sf(1.959964 * np.sqrt(1 - found.share)), rel=1e-5
    )
    assert not found.shown
    assert seeds_or_samples(exact_effect(0.5)).share == 0.0


def test_samples_are_told_with_the_largest_shift_that_they_may_have() -> None:
    calm, doubtful = (write_repeats(analyze(exact_effect(ratio), repeats="samples")) for ratio in (0.9, 1.8))
    assert "count as independent samples" in calm
    assert "seeds is safe" not in calm
    assert "not 5%; --repeats seeds is safe" in doubtful


@pytest.mark.parametrize("method", ["mixed auto none", "unified none", "moderated none topic+instance"])
def test_identical_seeds_are_compared_by_the_paired_t_test(method: str) -> None:
    """Nothing varies over seeds: topics alone are left, on every path."""
    one = table(2, 1, 30)
    same = xr.concat([one.isel(instance=0, drop=True)] * 3, dim="instance").transpose(*one.dims)
    a, b = one.transpose("system", "topic", "instance").to_numpy()[..., 0]
    expected = stats.ttest_rel(a, b)
    found = compare(same, method).to_frame().iloc[0]
    assert found["p"] == pytest.approx(expected.pvalue, rel=1e-6)
    assert found["df"] == pytest.approx(29.0)


def test_a_deterministic_system_may_have_one_instance() -> None:
    """Its scores stand for all instances, whichever holds them, by methods that need every score."""
    y = table(3, 4, 12, seeds=0.04)
    copied = y.copy()
    copied[:, 1, :] = y[:, 1, :1].to_numpy()
    once = copied.copy()
    once[:, 1, [0, 1, 3]] = np.nan
    for method in ("MD1 holm", "t holm"):
        whole = compare(flag_deterministic(copied, ["s1"]), method).to_frame()
        assert compare(flag_deterministic(once, ["s1"]), method).to_frame().equals(whole)
