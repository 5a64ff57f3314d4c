"""Levels of a loop of candidates sum to the error rate; its tests hold at any level, far out in the tail too."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import special, stats

from shardwise.stats.sequential import (
    Answers,
    answers_p,
    count_candidates,
    detect_gain,
    differences_p,
    look_level,
    sign_p,
)

LEVELS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@pytest.mark.parametrize("declared", [None, 1, 7, 40])
def test_levels_of_the_tree_of_verdicts_sum_to_the_error_rate_at_most(declared: int | None) -> None:
    depth = declared or 120
    total = sum(
        comb(t - 1, k) * float(look_level(t, k, 1.0, declared))
        for t in range(1, depth + 1)
        for k in range(min(t, 60))
    )
    assert 0.5 < total <= 1.0 + 1e-12


def test_levels_are_those_of_the_formula() -> None:
    assert look_level(1, 0, 0.025) == pytest.approx(0.025 * (0.25 + 0.005) / 2)
    assert look_level(30, 1, 0.025) == pytest.approx(0.025 * (0.5 / 930 + 0.005) / 4 / 29)
    assert look_level(101, 0, 0.025) == pytest.approx(0.025 * 0.5 / (101 * 102) / 2)
    assert look_level(30, 2, 0.025, 40) == pytest.approx(0.025 / 8 / comb(40, 3), rel=1e-9)
    assert look_level(np.array([1, 30]), np.array([0, 1]), 0.025).shape == (2,)


def test_the_sign_test_is_exact_far_out() -> None:
    assert sign_p(np.array(40.0), np.array(2.0)) == pytest.approx(
        stats.binomtest(40, 42, alternative="greater").pvalue
    )
    assert sign_p(np.array(0.0), np.array(0.0)) == 1.0


def chance_of_passing(items: int, gain: float, loss: float, margin: float, level: float) -> float:
    """Exact probability that right and wrong answers pass: a sum over all counts of gains and losses."""
    g, l = np.meshgrid(np.arange(items + 1.0), np.arange(items + 1.0), indexing="ij")  # noqa: E741
    inside = g + l <= items
    g, l, rest = g[inside], l[inside], items - g[inside] - l[inside]  # noqa: E741
    log_chance = special.gammaln(items + 1) - sum(special.gammaln(x + 1) for x in (g, l, rest))
    log_chance += special.xlogy(g, gain) + special.xlogy(l, loss) + special.xlogy(rest, 1 - gain - loss)
    passes = answers_p(Answers(g, l, float(items)), margin, level) <= level
    return float(np.exp(log_chance[passes]).sum())


@pytest.mark.parametrize("margin", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("items", [20, 150])
def test_answers_that_lose_exactly_the_margin_pass_at_the_level_at_most(items: int, margin: float) -> None:
    highest = {
        level: max(
            chance_of_passing(items, gain, gain + margin, margin, level)
            for gain in (0.0, 0.002, 0.02, 0.1, 0.3, 0.45)
        )
        for level in LEVELS
    }
    assert all(chance <= level for level, chance in highest.items()), highest
    # and the test is one: with many items it uses some of its level
    assert items == 20 or margin == 0.01 or highest[1e-2] > 1e-4


# means of exactly 0, with values and their chances
DISTRIBUTIONS = {
    "rare large losses": ((-0.99, 0.01), (0.01, 0.99)),
    "rare losses, small gains": ((-0.999, 0.001), (0.001, 0.999)),
    "rare large gains": ((-0.01, 0.99), (0.99, 0.01)),
    "coin": ((-1.0, 1.0), (0.5, 0.5)),
    "small coin": ((-0.1, 0.1), (0.5, 0.5)),
    "skewed": ((-0.8, 0.2), (0.2, 0.8)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("items", [50, 300])
def test_the_capital_holds_at_any_level(name: str, items: int) -> None:
    """Exact: a sum over the number of items with the second value."""
    (low, high), (_, chance) = DISTRIBUTIONS[name]
    count = np.arange(items + 1)
    rows = np.where(np.arange(items) < count[:, None], high, low)
    weight = stats.binom.pmf(count, items, chance)
    for level in LEVELS:
        passes = differences_p(rows, 0.0, level) <= level
        assert weight[passes].sum() <= level


def test_students_t_does_not_hold_there() -> None:
    """The example for which Student's t is refused: p ≤ 1e-4 in 13 % of samples with a true mean of 0."""
    count = np.arange(2, 201)
    rows = np.where(np.arange(200) < count[:, None], 0.01, -0.99)
    spread = rows.std(axis=1, ddof=1) / np.sqrt(200)
    with np.errstate(divide="ignore"):
        p = stats.t.sf(rows.mean(axis=1) / spread, 199)
    share = stats.binom.pmf(count, 200, 0.99)[p <= 1e-4].sum()
    assert share == pytest.approx(0.134, abs=0.002)


def test_levels_decide_over_arrays_as_one_by_one() -> None:
    gains, losses = np.array([30.0, 60.0, 5.0]), np.array([20.0, 10.0, 0.0])
    levels = np.array([1e-3, 1e-5, 1e-2])
    for margin in (0.0, 0.02):
        together = answers_p(Answers(gains, losses, 500.0), margin, levels)
        single = [
            answers_p(Answers(*(np.array(x) for x in row[:2]), 500.0), margin, row[2])
            for row in zip(gains, losses, levels, strict=True)
        ]
        assert together == pytest.approx(single)


def test_detected_gains_are_those_that_pass() -> None:
    rng = np.random.default_rng(3)
    level = float(look_level(30, 0, 0.025))
    gain = detect_gain(1000, level)
    d = rng.choice([1, -1, 0], (20_000, 1000), p=[0.1 + gain / 2, 0.1 - gain / 2, 0.8])
    p = sign_p((d == 1).sum(axis=1), (d == -1).sum(axis=1))
    assert (p <= level).mean() == pytest.approx(0.8, abs=0.03)
    assert detect_gain(1000, level, right_wrong=False) < gain
    assert detect_gain(5000, level, margin=0.05) < 0.0
    assert detect_gain(10, 1e-9) == np.inf


def test_counts_of_candidates_agree_with_what_they_detect() -> None:
    count = count_candidates(1000, 0.07, 0.025, 1)
    assert detect_gain(1000, float(look_level(count, 1, 0.025))) <= 0.0702
    assert detect_gain(1000, float(look_level(count + 1, 1, 0.025))) > 0.0698
    assert count_candidates(200, 0.02, 0.025, 0) == 0
