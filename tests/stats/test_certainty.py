"""The one door for how sure a figure is: on any scale and direction, and where nothing varies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from shardwise.stats import intervals
from shardwise.stats.intervals import Certainty, Range, follow_test, least_two_sided

grades = hnp.arrays(np.float64, (2, 12), elements=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))


def weigh(new: np.ndarray, base: np.ndarray, bounds: Range | None = None, sign: int = 1) -> Certainty:
    """Evidence of independent items on one difference."""
    d, n = new - base, np.array([float(len(new))])
    se = np.array([d.std(ddof=1)]) / np.sqrt(n)
    plain = Certainty(np.array([d.mean()]), np.where(se < 1e-12, 0.0, se), n - 1.0, n, sign=sign)
    if bounds is None:
        return plain
    moments = intervals.pair_moments(bounds.map_scores(new)[None], bounds.map_scores(base)[None])
    return plain._replace(moments=moments, effective=n, bounds=bounds)


def test_unbounded_scores_go_by_student() -> None:
    x = np.random.default_rng(1).normal(3.0, 5.0, (2, 15))
    known = weigh(x[0], x[1])
    theirs = stats.ttest_rel(x[0], x[1]).confidence_interval(0.95)
    assert [float(end[0]) for end in known.limits(stats.t.isf(0.025, 14))] == pytest.approx(list(theirs))
    greater = stats.ttest_1samp(x[0] - x[1], -1.0, alternative="greater").pvalue
    less = stats.ttest_1samp(x[0] - x[1], 1.0, alternative="less").pvalue
    assert float(known.p_above(-1.0)[0]) == pytest.approx(greater)
    assert float(known.p_loss(-1.0)[0]) == pytest.approx(less)
    assert float(known.p_within(1.0)[0]) == pytest.approx(max(greater, less))


@given(grades, st.sampled_from([(0.0, 100.0), (1.0, 5.0), (1.0, 10.0)]), st.floats(0.01, 0.9))
def test_a_scale_changes_nothing(y: np.ndarray, limits: tuple[float, float], margin: float) -> None:
    """Percent and grades have the p-values of the same scores in [0, 1], and limits times the width."""
    low, high = limits
    unit, scaled = weigh(*y, Range()), weigh(*(low + (high - low) * y), Range(low, high))
    width = high - low
    assert float(scaled.p_gain(-margin * width)[0]) == pytest.approx(float(unit.p_gain(-margin)[0]), abs=1e-9)
    for end, other in zip(scaled.limits(2.2), unit.limits(2.2), strict=True):
        assert float(end[0]) == pytest.approx(width * float(other[0]), abs=1e-7)


@given(grades, st.floats(0.01, 0.9))
def test_errors_are_accuracies_turned_round(y: np.ndarray, margin: float) -> None:
    """Where lower is better, a gain is a difference below 0, and the interval keeps the measure's sign."""
    up, down = weigh(*y, Range()), weigh(*(1.0 - y), Range(0.0, 1.0, lower_is_better=True), sign=-1)
    assert float(down.p_gain(-margin)[0]) == pytest.approx(float(up.p_gain(-margin)[0]), abs=1e-9)
    lower, upper = up.limits(2.2)
    turned = down.limits(2.2)
    assert [-float(turned[1][0]), -float(turned[0][0])] == pytest.approx(
        [float(lower[0]), float(upper[0])], abs=1e-7
    )


@pytest.mark.parametrize("bounds", [None, Range(1.0, 5.0)])
def test_one_value_everywhere_shows_nothing(bounds: Range | None) -> None:
    """Twelve ratings of 5 in both passed with an interval of 0 to 0."""
    known = weigh(np.full(12, 5.0), np.full(12, 5.0), bounds)
    assert known.uninformative.all()
    assert known.p_gain(-0.1)[0] == known.p_within(0.1)[0] == 0.5
    lower, upper = known.limits(2.2)
    assert np.isnan(lower).all() if bounds is None else lower[0] < -1.0 < 1.0 < upper[0]


def test_differences_of_one_size_have_the_p_value_of_sign_flips() -> None:
    known = weigh(np.full(6, 3.0), np.full(6, 2.0))
    assert known.p_above(0.0)[0] == 2.0**-6
    assert known.p_above(2.0)[0] == 1.0
    assert known.p_above(1.0)[0] == 0.5
    assert np.isnan(known.limits(2.5)[0]).all()
    bounded = weigh(np.full(6, 3.0), np.full(6, 2.0), Range(1.0, 5.0))
    assert bounded.p_above(0.0)[0] >= 2.0**-6
    lower, upper = bounded.limits(2.5)
    assert 0.0 < lower[0] < 1.0 < upper[0]
    assert least_two_sided(np.array([2.0, 5.0])).tolist() == [0.5, 0.0625]


def test_no_difference_leaves_the_range() -> None:
    known = weigh(np.zeros(8), np.ones(8), Range())
    assert known.p_gain(-1.5)[0] == known.p_within(1.5)[0] == 0.0
    assert known.p_gain(-0.5)[0] > 0.9


def test_intervals_follow_the_test() -> None:
    lower, upper = np.array([-0.1, 0.2, -0.3, 0.1, 0.0]), np.array([0.4, 0.6, 0.1, 0.5, 0.0])
    difference = np.array([0.15, 0.4, -0.1, 0.3, 0.0])
    significant = np.array([True, True, True, False, False])
    low, high = follow_test((lower, upper), difference, significant)
    np.testing.assert_array_equal(low, [0.0, 0.2, -0.3, 0.0, np.nan])
    np.testing.assert_array_equal(high, [0.4, 0.6, 0.0, 0.5, np.nan])
