"""Intervals of bounded scores against Tango's, Wilson's and McNemar's, and by what must hold for any scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar

from shardwise.stats.intervals import (
    PairMoments,
    Precision,
    Range,
    difference_limits,
    excess_variance,
    independent_items,
    items_needed,
    mean_limits,
    one_sided_p,
    pair_moments,
    pair_sparseness,
    score_moments,
    top_share,
)

GOLD = Path(__file__).parent.parent / "gold"
Z = stats.norm.isf(0.025)


def right_wrong(only_new: int, only_base: int, items: int, both: int = 0) -> tuple[np.ndarray, np.ndarray]:
    new, base = np.zeros(items), np.zeros(items)
    new[:only_new] = 1.0
    base[only_new : only_new + only_base] = 1.0
    new[only_new + only_base : only_new + only_base + both] = 1.0
    base[only_new + only_base : only_new + only_base + both] = 1.0
    return new, base


def without_bessel(moments: PairMoments) -> Precision:
    """Variances with ddof 0 and the normal distribution, as others have them."""
    n = moments.items
    return independent_items(moments)._replace(variance=moments.variance * (n - 1) / n**2, df=np.inf)


grades = hnp.arrays(np.float64, (2, 12), elements=st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]))
any_scores = hnp.arrays(np.float64, (2, 9), elements=st.floats(0.0, 1.0, width=32))


def test_right_and_wrong_as_in_propcis() -> None:
    """PropCIs::scoreci.mp (factors_tango.R), which stops halving at 1e-7 and has variances with ddof 0."""
    for row in pd.read_csv(GOLD / "factors_tango.csv").itertuples():
        moments = pair_moments(*right_wrong(row.only_a, row.only_b, row.n))
        limits = difference_limits(moments, Z, without_bessel(moments))
        assert [float(x) for x in limits] == pytest.approx([row.lower, row.upper], abs=3e-7)


@pytest.mark.parametrize(("only_new", "only_base", "items"), [(7, 1, 21), (12, 20, 80), (3, 0, 40)])
def test_no_difference_is_mcnemars_test(only_new: int, only_base: int, items: int) -> None:
    moments = pair_moments(*right_wrong(only_new, only_base, items))
    p = [float(one_sided_p(moments, 0.0, without_bessel(moments), sign)) for sign in (1.0, -1.0)]
    gold = mcnemar([[0, only_new], [only_base, 0]], exact=False, correction=False).pvalue
    assert 2.0 * min(p) == pytest.approx(gold, rel=1e-10)


@pytest.mark.parametrize("mu", [-0.3, -0.1, -0.02, 0.05, 0.2, 0.6])
@pytest.mark.parametrize(("only_new", "only_base", "items"), [(4, 7, 30), (0, 3, 25), (9, 1, 60)])
def test_variance_under_a_difference_by_maximum_likelihood(
    mu: float, only_new: int, only_base: int, items: int
) -> None:
    """The share of items that base alone gets right, found by a search of the trinomial likelihood."""
    moments = pair_moments(*right_wrong(only_new, only_base, items))
    ties = items - only_new - only_base

    def against(q: float) -> float:
        chances = np.array([q + mu, q, 1.0 - 2.0 * q - mu])
        counts = np.array([only_new, only_base, ties])
        return -float((counts[counts > 0] * np.log(np.maximum(chances[counts > 0], 1e-300))).sum())

    low, high = max(0.0, -mu), (1.0 - mu) / 2.0
    q = optimize.minimize_scalar(against, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    seen = moments.gain + moments.loss - moments.mean**2
    assert float(seen + excess_variance(moments, mu)) == pytest.approx(2.0 * q + mu - mu**2, abs=1e-5)


def test_shares_as_in_statsmodels() -> None:
    """Wilson's interval; proportion_confint by way of factors_python.py."""
    for row in pd.read_csv(GOLD / "factors_wilson.csv").itertuples():
        moments = score_moments(np.r_[np.ones(row.right), np.zeros(row.n - row.right)])
        limits = [float(x) for x in mean_limits(moments, Z)]
        assert limits == pytest.approx([row.lower, row.upper], abs=1e-12)


@given(any_scores, st.floats(1.0, 6.0))
def test_limits_hold_the_mean_within_the_range(y: np.ndarray, c: float) -> None:
    moments = pair_moments(y[0], y[1])
    lower, upper = difference_limits(moments, c)
    assert -1.0 <= lower <= moments.mean <= upper <= 1.0
    assert upper - lower > 1e-3
    wider = difference_limits(moments, c + 0.5)
    assert wider[0] <= lower + 1e-9
    assert wider[1] >= upper - 1e-9


@given(any_scores, st.floats(1.0, 6.0))
def test_swapping_systems_turns_the_interval_round(y: np.ndarray, c: float) -> None:
    lower, upper = difference_limits(pair_moments(y[0], y[1]), c)
    other = difference_limits(pair_moments(y[1], y[0]), c)
    assert [-float(other[1]), -float(other[0])] == pytest.approx([float(lower), float(upper)], abs=1e-9)


@given(grades, st.floats(1.5, 5.0))
def test_limits_and_p_values_are_one_statement(y: np.ndarray, c: float) -> None:
    moments = pair_moments(y[0], y[1])
    assume(moments.variance > 0.0)
    lower, upper = difference_limits(moments, c)
    tail = stats.t.sf(c, 11.0)
    if lower > -1.0:
        assert one_sided_p(moments, lower) == pytest.approx(tail, rel=1e-5)
    if upper < 1.0:
        assert one_sided_p(moments, upper, sign=-1.0) == pytest.approx(tail, rel=1e-5)


@pytest.mark.parametrize("items", [2, 10, 50, 400])
@pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
def test_equal_scores_everywhere(items: int, score: float) -> None:
    """± c²/(n + c²)·k, whatever the scores."""
    c = float(stats.t.isf(0.025, items - 1))
    moments = pair_moments(np.full(items, score), np.full(items, score))
    k = (items * score**2 + 1.0) / (items * score + 1.0)
    lower, upper = difference_limits(moments, c)
    assert [-float(lower), float(upper)] == pytest.approx([k * c**2 / (items + c**2)] * 2, rel=1e-9)


def test_ten_questions_both_right_show_nothing() -> None:
    moments = pair_moments(np.ones(10), np.ones(10))
    assert one_sided_p(moments, -0.01) > 0.3
    assert one_sided_p(moments, 0.01, sign=-1.0) > 0.3
    assert items_needed(moments, 0.01) > 300


def test_differences_of_one_size() -> None:
    moments = pair_moments(np.full(20, 0.5), np.full(20, 0.4))
    lower, upper = difference_limits(moments, 2.0)
    assert lower == pytest.approx(0.1 * 20 / 24)
    assert upper > 0.1
    turned = difference_limits(pair_moments(np.full(20, 0.4), np.full(20, 0.5)), 2.0)
    assert turned[1] == pytest.approx(-0.1 * 20 / 24)


def test_no_variance_at_all_leaves_no_doubt() -> None:
    """New loses everything on every item: a loss of the whole range is certain."""
    moments = pair_moments(np.zeros(8), np.ones(8))
    assert one_sided_p(moments, -1.0) == 0.5
    assert one_sided_p(moments, -0.5) > 0.9


@given(any_scores, st.floats(1.0, 4.0))
def test_limits_of_a_mean(y: np.ndarray, c: float) -> None:
    moments = score_moments(y[0])
    lower, upper = mean_limits(moments, c)
    assert 0.0 <= lower <= moments.mean + 1e-12
    assert moments.mean - 1e-12 <= upper <= 1.0
    assert upper - lower > 1e-3
    turned = mean_limits(score_moments(1.0 - y[0]), c)
    assert [1.0 - float(turned[1]), 1.0 - float(turned[0])] == pytest.approx(
        [float(lower), float(upper)], abs=1e-7
    )
    half = mean_limits(moments, c, items=moments.items / 2)
    assert half[0] <= lower + 1e-12
    assert half[1] >= upper - 1e-12


def test_leading_axes_and_missing_items() -> None:
    rng = np.random.default_rng(3)
    new, base = rng.beta(2, 2, (2, 3, 4, 15))
    new[0, 0, 3] = np.nan
    base[2, 3, [0, 7]] = np.nan
    limits = difference_limits(pair_moments(new, base), 2.1)
    means = mean_limits(score_moments(new), 2.1)
    for i in np.ndindex(3, 4):
        keep = np.isfinite(new[i]) & np.isfinite(base[i])
        alone = difference_limits(pair_moments(new[i][keep], base[i][keep]), 2.1)
        assert [x[i] for x in limits] == pytest.approx([float(x) for x in alone], abs=1e-12)
        single = mean_limits(score_moments(new[i][np.isfinite(new[i])]), 2.1)
        assert [x[i] for x in means] == pytest.approx([float(x) for x in single], abs=1e-12)


@given(any_scores, st.floats(-5.0, 5.0), st.floats(0.5, 40.0), st.booleans())
def test_ranges_map_there_and_back(y: np.ndarray, low: float, width: float, lower_is_better: bool) -> None:
    scale = Range(low, low + width, lower_is_better)
    moved = low + width * (1.0 - y if lower_is_better else y)
    assert scale.map_scores(moved) == pytest.approx(y, abs=1e-9)
    back = scale.restore_means(np.array(0.2), np.array(0.7))
    ends = (0.3, 0.8) if lower_is_better else (0.2, 0.7)
    assert [float(x) for x in back] == pytest.approx([low + width * x for x in ends])
    ends = (-0.3, 0.1) if lower_is_better else (-0.1, 0.3)
    assert scale.restore_differences(-0.1, 0.3) == pytest.approx([width * x for x in ends])


def test_sparse_differences() -> None:
    rng = np.random.default_rng(5)
    assert pair_sparseness(rng.normal(size=100_000)) == pytest.approx(2 / np.pi, abs=0.01)
    disagree = np.where(rng.random(100_000) < 0.2, rng.choice([-1.0, 1.0], 100_000), 0.0)
    assert pair_sparseness(disagree) == pytest.approx(0.2, abs=0.01)
    assert pair_sparseness(np.stack([np.full(50, 0.3), np.r_[0.0, np.full(49, 0.3)]])).max() < 0.1
    gaps = np.array([0.0, 1.0, np.nan, -1.0])
    assert pair_sparseness(gaps) == pytest.approx(pair_sparseness(np.array([0.0, 1.0, -1.0])))


def test_share_of_the_largest_differences() -> None:
    x = np.r_[np.zeros(95), np.full(5, 10.0)]
    assert top_share(x) == pytest.approx(0.5)
    assert top_share(np.zeros(10)) == 0.0
    assert top_share(np.random.default_rng(1).normal(size=(3, 1000))) == pytest.approx(0.147, abs=0.02)


def test_items_needed_by_the_formula() -> None:
    new, base = right_wrong(6, 8, 100, both=70)
    moments = pair_moments(new, base)
    s2 = float(np.var(new - base, ddof=1))
    high = stats.norm.isf(0.025)
    under = s2 + max(0.0, float(excess_variance(moments, moments.mean - 0.05)))
    n = ((high * np.sqrt(under) + stats.norm.ppf(0.8) * np.sqrt(s2)) / 0.05) ** 2 + high**2 / 2
    assert items_needed(moments, 0.05) == np.ceil(n)
    assert items_needed(moments, 0.05, design_effect=2.5) == np.ceil(2.5 * n)
    assert items_needed(moments, 0.05, gain=0.02) < items_needed(moments, 0.05)
    assert items_needed(moments, 0.05, power=0.9) > items_needed(moments, 0.05)


def test_items_needed_beside_a_variance_that_items_do_not_lessen() -> None:
    moments = pair_moments(*right_wrong(6, 8, 100, both=70))
    plain = items_needed(moments, 0.05)
    some = items_needed(moments, 0.05, fixed=1e-4)
    assert items_needed(moments, 0.05, fixed=1e-12) == pytest.approx(plain, abs=1)
    assert plain < some < np.inf
    z = stats.norm.isf(0.025) + stats.norm.ppf(0.8)
    assert items_needed(moments, 0.05, fixed=(0.05 / z) ** 2 * 1.001) == np.inf


@pytest.mark.calibration
@pytest.mark.parametrize("items", [20, 100])
def test_a_loss_of_the_margin_seldom_passes(items: int, repetitions: float) -> None:
    """Nested right and wrong answers, margin .05: 2.5 % at most; Student passes 36 and 12 %."""
    size = int(4000 * repetitions)
    rng = np.random.default_rng(11)
    base = rng.random((size, items)) < 0.95
    new = base & (rng.random((size, items)) >= 0.05 / 0.95)
    moments = pair_moments(new.astype(float), base.astype(float))
    passed = (one_sided_p(moments, -0.05) <= 0.025).mean()
    assert passed < 0.025 + 3 * np.sqrt(0.025 / size)
