"""Simulated power: each repetition against scipy on the resampled table, and normal scores against theory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from designs import power_at, width_at
from moderated_by_hand import moderated_t
from shardwise.core.arrays import Floats, make_generator
from shardwise.core.errors import InputError
from shardwise.planning import simulated as design_simulated
from shardwise.planning.simulated import (
    count_occurrences,
    critical_value,
    draw_repetitions,
    run_tests,
    simulated_power,
)
from shardwise.planning.variances import TWO_WAY, mean_squares, variance


def skewed(topics: int = 30, systems: int = 6) -> Floats:
    rng = make_generator(11, 0)
    return np.asarray(rng.beta(1, 3, (topics, 1)) ** 2 + rng.gamma(0.5, 0.2, (topics, systems)))


def resampled() -> tuple[Floats, Floats, Floats]:
    """Some repetitions as the simulation holds them, and the same tables written out topic by topic."""
    x = skewed() - skewed().mean(axis=0)
    chosen, drawn = draw_repetitions(5, range(20), 6, 4, 30, 17)
    tables = np.moveaxis(x[:, chosen], 1, 0)
    explicit = np.stack([tables[b][drawn[b]] for b in range(20)])
    return tables, count_occurrences(drawn, 30), explicit


def test_each_paired_t_is_that_of_scipy() -> None:
    tables, weights, explicit = resampled()
    planted = np.array([0.1, 0.0, 0.0, 0.0])
    critical = critical_value("t", 4, 17, 0.2, skewed(), 0)
    found, width, covered, alarm = run_tests("t", tables, weights, planted, np.array([1, 2, 3]), critical)
    for b, table in enumerate(explicit):
        null = [stats.ttest_rel(table[:, 0], table[:, j]) for j in (1, 2, 3)]
        moved = [stats.ttest_rel(table[:, 0] + 0.1, table[:, j]) for j in (1, 2, 3)]
        assert alarm[b] == any(t.pvalue < 0.2 for t in null)
        assert covered[b].tolist() == [t.pvalue >= 0.2 for t in null]
        assert found[b] == all(t.pvalue < 0.2 and t.statistic > 0 for t in moved)
        limits = [t.confidence_interval(0.8) for t in null]
        assert width[b] == pytest.approx(np.mean([i.high - i.low for i in limits]))
    assert 0 < found.mean() < 1
    assert alarm.any()


def test_each_hsd_is_that_of_the_resampled_table() -> None:
    tables, weights, explicit = resampled()
    planted = np.array([0.08, -0.08, 0.0, 0.0])
    found, width, covered, alarm = run_tests(
        "hsd", tables, weights, planted, np.array([1]), critical_value("hsd", 4, 17, 0.3, skewed(), 0)
    )
    q = stats.studentized_range.isf(0.3, 4, 48)
    for b, table in enumerate(explicit):
        honest = q * np.sqrt(mean_squares(table, TWO_WAY)["error"] / 17)
        means = table.mean(axis=0)
        assert width[b] == pytest.approx(2 * honest)
        assert alarm[b] == (np.ptp(means) > honest)
        assert covered[b, 0] == (abs(means[0] - means[1]) <= honest)
        assert found[b] == (means[0] - means[1] + 0.16 > honest)
    assert 0 < found.mean() < 1


def test_each_moderated_test_is_that_of_the_resampled_table() -> None:
    tables, weights, explicit = resampled()
    planted = np.array([0.08, -0.08, 0.0, 0.0])
    found, width, covered, alarm = run_tests("moderated", tables, weights, planted, np.array([1]), 2.5)
    for b, table in enumerate(explicit):
        t = moderated_t(table)
        gap = table[:, 0].mean() - table[:, 1].mean()
        se = gap / t[0, 1]
        assert width[b] == pytest.approx(2 * 2.5 * se)
        assert alarm[b] == (np.abs(t).max() > 2.5)
        assert covered[b, 0] == (abs(t[0, 1]) <= 2.5)
        assert found[b] == (gap + 0.16 > 2.5 * se)
    assert 0 < found.mean() < 1


@pytest.mark.calibration
def test_normal_scores_give_the_power_and_width_of_theory(repetitions: float) -> None:
    runs = int(3000 * repetitions)
    y = make_generator(12, 0).normal(0.4, 0.1, (400, 2)) + make_generator(12, 1).normal(0, 0.2, (400, 1))
    sigma_sq = variance(y, "residual")
    result = simulated_power(y, topics=[10, 40], min_diff=0.06, test="t", repetitions=runs, seed=2)
    for row in result.table.itertuples():
        # a repetition counts only if the sign is right as well; the wrong one adds less than .001 here
        power = power_at(n=row.topics, variance=sigma_sq, min_diff=0.06, method="paired-t")
        assert row.power == pytest.approx(power, abs=4 * np.sqrt(power * (1 - power) / runs) + 0.001)
        assert row.power_low < row.power < row.power_high
        assert row.width == pytest.approx(width_at(n=row.topics, variance=sigma_sq), rel=0.02)
        assert row.coverage == pytest.approx(0.95, abs=4 * np.sqrt(0.05 * 0.95 / runs))
        assert row.false_alarms == pytest.approx(1 - row.coverage)


@pytest.mark.calibration
def test_hsd_keeps_its_family_wise_level_on_normal_scores(repetitions: float) -> None:
    runs = int(2000 * repetitions)
    y = make_generator(13, 0).normal(0.4, 0.1, (300, 8)) + make_generator(13, 1).normal(0, 0.2, (300, 1))
    row = simulated_power(y, topics=25, min_diff=0.05, repetitions=runs, seed=3).table.iloc[0]
    assert row["false_alarms"] == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / runs))


def test_a_repetition_depends_on_its_seed_and_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"min_diff": 0.1, "systems": 4, "test": "t", "repetitions": 120, "seed": 9}
    whole = simulated_power(skewed(), topics=[10, 20, 40], **settings).table
    monkeypatch.setattr(design_simulated, "BLOCK", 1000)
    pd.testing.assert_frame_equal(simulated_power(skewed(), topics=[10, 20, 40], **settings).table, whole)
    fewer = simulated_power(skewed(), topics=20, **settings).table
    pd.testing.assert_frame_equal(fewer, whole.iloc[[1]].reset_index(drop=True))
    other = simulated_power(skewed(), topics=[10, 20, 40], **{**settings, "seed": 10}).table
    assert not other.equals(whole)


def test_harder_topics_for_all_change_nothing() -> None:
    y = skewed()
    harder = y + np.linspace(0, 3, 30)[:, None]
    for test in ("t", "hsd"):
        a, b = (
            simulated_power(z, topics=15, min_diff=0.1, test=test, repetitions=100).table for z in (y, harder)
        )
        pd.testing.assert_frame_equal(a, b)


def test_more_topics_or_a_larger_difference_give_more_power() -> None:
    small = simulated_power(skewed(), topics=[10, 40, 160], min_diff=0.05, test="t", repetitions=400)
    large = simulated_power(skewed(), topics=[10, 40, 160], min_diff=0.15, test="t", repetitions=400)
    assert small.table["power"].is_monotonic_increasing
    assert small.table["width"].is_monotonic_decreasing
    assert (large.table["power"] >= small.table["power"]).all()
    assert large.table["power_low"].iloc[-1] >= 0.8


def test_telling_one_system_from_all_others_is_harder_than_from_one() -> None:
    pair = simulated_power(skewed(), topics=40, min_diff=0.1, repetitions=400)
    one = simulated_power(skewed(), topics=40, min_diff=0.1, plant="one", repetitions=400)
    assert one.table["power"].iloc[0] < pair.table["power"].iloc[0]


def test_real_scores_need_far_fewer_topics_than_an_unpaired_design(trec3: Path) -> None:
    table = pd.read_csv(trec3)
    result = simulated_power(table, topics=[25, 50], min_diff=0.1, systems=10, repetitions=500, seed=4)
    unpaired = power_at(n=50, variance=variance(table, "two-way"), min_diff=0.1, systems=10)
    assert result.table["power"].iloc[1] > unpaired + 0.2
    assert result.lines[-1] == "claim: new topics like these 50"
    assert "moderated test" in str(result)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"test": "z"}, "choose one of moderated, hsd, t"),
        ({"plant": "tree"}, "choose one of pair, one"),
        ({"topics": 1}, "2 or more"),
        ({"topics": []}, "2 or more"),
        ({"topics": 10.5}, "2 or more"),
        ({"systems": 7}, "there are 6"),
        ({"systems": 1}, "there are 6"),
        ({"min_diff": 0.0}, "above 0"),
        ({"alpha": 1.0}, "between 0 and 0.5"),
        ({"level": 0.0}, "between 0.5 and 1"),
        ({"repetitions": 0}, "0 repetitions"),
    ],
)
def test_refusals(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        simulated_power(skewed(), **{"topics": 10, "min_diff": 0.1, "repetitions": 10, **changes})
