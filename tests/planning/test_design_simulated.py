"""Simulated power: tests of the resampled tables against scipy, and normal scores against theory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from designs import power_at, width_at
from shardwise.core.arrays import Floats, make_generator
from shardwise.core.errors import InputError
from shardwise.planning.simulated import simulated_power
from shardwise.planning.variances import TWO_WAY, mean_squares, variance


def skewed(topics: int = 30, systems: int = 6) -> Floats:
    rng = make_generator(11, 0)
    return np.asarray(rng.beta(1, 3, (topics, 1)) ** 2 + rng.gamma(0.5, 0.2, (topics, systems)))


def resampled(repetition: int, topics: int, systems: int, seed: int) -> Floats:
    """One repetition: systems and topics drawn from the scores moved to one mean and stretched, topic by topic."""
    x = (skewed() - skewed().mean(axis=0)) * np.sqrt(30 / 29)
    rng = make_generator(seed, repetition)
    chosen = rng.permutation(6)[:systems]
    return x[rng.integers(0, 30, size=topics)][:, chosen]


@pytest.mark.parametrize("plant", ["pair", "one"])
def test_paired_t_tests_are_those_of_scipy(plant: str) -> None:
    row = simulated_power(
        skewed(), topics=17, min_diff=0.1, systems=4, test="t", plant=plant, alpha=0.2, repetitions=30, seed=5
    ).table.iloc[0]
    partners = [1] if plant == "pair" else [1, 2, 3]
    found, alarms, widths, covered = [], [], [], []
    for repetition in range(30):
        table = resampled(repetition, 17, 4, 5)
        null = [stats.ttest_rel(table[:, 0], table[:, j]) for j in partners]
        moved = [stats.ttest_rel(table[:, 0] + 0.1, table[:, j]) for j in partners]
        alarms.append(any(t.pvalue < 0.2 for t in null))
        found.append(all(t.pvalue < 0.2 and t.statistic > 0 for t in moved))
        limits = [t.confidence_interval(0.8) for t in null]
        widths.append(np.mean([i.high - i.low for i in limits]))
        covered.append(np.mean([t.pvalue >= 0.2 for t in null]))
    assert row["power"] == pytest.approx(np.mean(found))
    assert row["false_alarms"] == pytest.approx(np.mean(alarms))
    assert row["width"] == pytest.approx(np.mean(widths))
    assert row["coverage"] == pytest.approx(np.mean(covered))
    assert 0 < np.mean(found) < 1


def test_hsd_is_that_of_the_resampled_tables() -> None:
    row = simulated_power(
        skewed(), topics=17, min_diff=0.16, systems=4, test="hsd", alpha=0.3, repetitions=30, seed=5
    ).table.iloc[0]
    q = stats.studentized_range.isf(0.3, 4, 48)
    found, alarms, widths = [], [], []
    for repetition in range(30):
        table = resampled(repetition, 17, 4, 5)
        honest = q * np.sqrt(mean_squares(table, TWO_WAY)["error"] / 17)
        means = table.mean(axis=0)
        widths.append(2 * honest)
        alarms.append(np.ptp(means) > honest)
        found.append(means[0] - means[1] + 0.16 > honest)
    assert row["width"] == pytest.approx(np.mean(widths))
    assert row["false_alarms"] == pytest.approx(np.mean(alarms))
    assert row["power"] == pytest.approx(np.mean(found))
    assert 0 < np.mean(found) < 1


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


def test_a_repetition_depends_on_its_seed_and_number_alone() -> None:
    settings: dict[str, Any] = {"min_diff": 0.1, "systems": 4, "test": "t", "repetitions": 120, "seed": 9}
    whole = simulated_power(skewed(), topics=[10, 20, 40], **settings).table
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
