"""Decisions held against the truth, worked by hand, and Monte-Carlo intervals against scipy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shardwise.core.arrays import Floats
from shardwise.lab.trial import (
    Truth,
    count_errors,
    estimate_rate,
    estimate_ratio,
    join_figures,
    level_for,
)

# systems a, b equal and c better by .2: pairs ab (equal), ac, bc (-.2)
MEANS = np.array([0.3, 0.3, 0.5])


def decided(
    p: list[list[float]], adjusted: list[list[float]], difference: list[list[float]]
) -> SimpleNamespace:
    return made(np.array(difference), np.array(p), np.array(adjusted), 0.1)


def made(difference: Floats, p: Floats, p_adjusted: Floats, half: float) -> SimpleNamespace:
    """Decisions whose intervals all have the same half-width."""
    return SimpleNamespace(
        difference=difference,
        single_p=p,
        p_adjusted=p_adjusted,
        half_widths=lambda alpha: np.full(p.shape, half),
    )


def test_by_hand() -> None:
    truth = Truth.from_means(MEANS)
    assert truth.null.tolist() == [True, False, False]
    assert truth.sizes.tolist() == [0.2]
    found = count_errors(
        decided(
            p=[[0.03, 0.001, 0.2], [0.5, 0.04, 0.04], [0.01, 0.01, 0.01]],
            adjusted=[[0.06, 0.003, 0.2], [0.5, 0.05, 0.051], [0.01, 0.01, 0.01]],
            difference=[[0.05, -0.2, -0.05], [0.0, -0.25, -0.31], [-0.15, 0.2, -0.2]],
        ),
        truth,
        "family",
        0.05,
    )
    assert found["raw"].tolist() == [1, 0, 1]
    assert found["family"].tolist() == [0, 0, 1]
    assert found["discovery"].tolist() == [0, 0, 1 / 3]
    assert found["coverage"].tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    assert found["together"].tolist() == [0, 0, 0]
    assert found["wrong_way"].tolist() == [0, 0, 1]  # ac called different with a ahead
    assert found["right_way"].tolist() == [1, 1, 1]
    assert found["found"][:, 0].tolist() == [0.5, 0.5, 0.5]
    assert found["smallest"].tolist() == [0.06, 0.5, 0.01]
    assert found["blamed"].tolist() == [[0, 0, 0], [0, 0, 0], [1, 1, 0]]  # a and b, in the third table
    assert found["ranks"].tolist() == [1, 1, 0]
    assert found["best"].tolist() == [1, 1, 0]  # c is the best; in the third table a is called better


def test_coverage_of_a_discovery_method_is_of_what_it_found() -> None:
    truth = Truth.from_means(MEANS)
    one = decided(p=[[0.5, 0.01, 0.01]], adjusted=[[0.5, 0.01, 0.01]], difference=[[0.4, -0.2, -0.4]])
    assert count_errors(one, truth, "discovery", 0.05)["coverage"].tolist() == [
        0.5
    ]  # ac holds, bc does not, ab not asked
    assert count_errors(one, truth, "pair", 0.05)["coverage"].tolist() == pytest.approx([1 / 3])


def test_the_best_set_holds_the_best_or_a_share_of_them() -> None:
    """c is the best; with all equal each is, and where a is called better than c two thirds of them are left."""
    d = np.array([[0.0, 0.2, 0.0]])
    one = made(d, np.array([[1.0, 0.01, 1.0]]), np.array([[1.0, 0.01, 1.0]]), 0.1)
    assert count_errors(one, Truth.from_means(MEANS), "family", 0.05)["best"].tolist() == [0.0]
    assert count_errors(one, Truth.from_means(np.zeros(3)), "family", 0.05)["best"].tolist() == pytest.approx(
        [2 / 3]
    )


def test_methods_without_intervals_have_no_coverage() -> None:
    d = np.zeros((2, 3))
    found = count_errors(made(d, d + 1, d + 1, np.nan), Truth.from_means(MEANS), "family", 0.05)
    assert np.isnan(found["coverage"]).all()
    assert estimate_rate(found["coverage"]).n == 0


def test_where_all_differ_there_is_no_false_alarm_to_count() -> None:
    d = np.zeros((2, 3))
    found = count_errors(made(d, d, d, 0.0), Truth.from_means(np.array([0.1, 0.2, 0.4])), "family", 0.05)
    assert np.isnan(found["family"]).all()
    assert np.isnan(found["raw"]).all()
    assert found["found"].shape == (2, 3)


def test_chunks_join() -> None:
    truth = Truth.from_means(MEANS)
    p = [[0.03, 0.001, 0.2], [0.5, 0.04, 0.04]]
    whole = count_errors(decided(p, p, p), truth, "family", 0.05)
    parts = join_figures([count_errors(decided([row], [row], [row]), truth, "family", 0.05) for row in p])
    for name, figures in whole.items():
        np.testing.assert_array_equal(figures, parts[name])


@pytest.mark.parametrize(("hits", "n"), [(0, 40), (3, 50), (50, 50), (400, 1000)])
def test_intervals_of_yes_and_no_are_scipys(hits: int, n: int) -> None:
    found = estimate_rate(np.repeat([1.0, 0.0], [hits, n - hits]))
    wanted = stats.binomtest(hits, n).proportion_ci(0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_intervals_of_shares_rest_on_replicates() -> None:
    x = np.random.default_rng(1).beta(1, 19, 400)
    found = estimate_rate(x)
    wanted = stats.norm.interval(0.95, x.mean(), stats.sem(x))
    assert (found.low, found.high) == pytest.approx(wanted)


@given(hits=st.integers(0, 60), more=st.integers(0, 400), tail=st.floats(1e-5, 0.2))
def test_an_interval_lies_above_a_rate_where_the_exact_test_rejects_it(
    hits: int, more: int, tail: float
) -> None:
    n = hits + more + 1
    found = estimate_rate((np.arange(n) < hits).astype(float), tail)
    low, high = found.low, found.high
    for p in (0.03, 0.05, 0.2):
        above = stats.binomtest(hits, n, p, alternative="greater").pvalue
        below = stats.binomtest(hits, n, p, alternative="less").pvalue
        if abs(above - tail) > 1e-9 and abs(below - tail) > 1e-9:
            assert (low > p) == (above < tail)
            assert (high < p) == (below < tail)


@given(p=st.lists(st.integers(1, 30), min_size=20, max_size=200), alpha=st.sampled_from([0.01, 0.05, 0.2]))
def test_at_the_calibrated_level_no_more_tables_err_than_promised(p: list[int], alpha: float) -> None:
    """And at the next larger p-value there are more; ties, as resampled p-values have them, included."""
    smallest = np.array(p) / 31
    found = level_for(smallest, alpha)
    assert (smallest <= found.value).mean() <= alpha or found.value == 0.0
    larger = smallest[smallest > found.value]
    assert not larger.size or (smallest <= larger.min()).mean() > alpha
    assert found.low <= found.value <= found.high


def test_the_interval_of_a_level_holds_the_quantile() -> None:
    """Of 2,000 samples of 200 p-values, about 95 % have an interval that holds the 5 % quantile; those of a discrete
    distribution are wider, never narrower."""
    rng = np.random.default_rng(7)
    found = [level_for(row, 0.05) for row in rng.random((2000, 200))]
    held = np.mean([one.low <= 0.05 <= one.high for one in found])
    assert 0.94 <= held <= 1.0
    assert np.mean([one.value for one in found]) == pytest.approx(10 / 201, abs=4 * 0.0155 / np.sqrt(2000))


def test_ratio_of_sums() -> None:
    rng = np.random.default_rng(2)
    whole = rng.poisson(5, 3000).astype(float)
    part = rng.binomial(whole.astype(int), 0.1).astype(float)
    found = estimate_ratio(part, whole)
    wanted = np.sqrt(0.1 * 0.9 / whole.sum())  # binomial, as pairs here are independent
    assert (found.high - found.low) / 2 / stats.norm.isf(0.025) == pytest.approx(wanted, rel=0.05)
    assert np.isnan(estimate_ratio(np.zeros(3), np.zeros(3)).value)
    assert estimate_ratio(np.zeros(100), np.ones(100)).high == pytest.approx(
        stats.binomtest(0, 100).proportion_ci(0.95).high
    )


def test_pairs_that_were_not_compared_do_not_count() -> None:
    """Against the first system only: ab (equal) and ac are asked, bc is not."""
    truth = Truth.from_means(MEANS, (np.array([0, 0]), np.array([1, 2])))
    p = np.array([[0.01, 0.01]])
    one = made(np.array([[0.3, -0.2]]), p, p, 0.1)
    found = count_errors(one, truth, "family", 0.05)
    assert (found["raw"][0], found["family"][0], found["discovery"][0]) == (1.0, 1.0, 0.5)
    assert (found["coverage"][0], found["together"][0], found["found"][0, 0]) == (0.5, 0.0, 1.0)
