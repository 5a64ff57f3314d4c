"""Relative lift with Fieller's interval, and the check of the split, also on the first line of an answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import shardwise as sw
from shardwise.stats.lift import check_ratio, measure_lift


@pytest.mark.parametrize("base_se", [0.02, 0.2, 0.4])
def test_limits_are_the_ratios_that_a_test_does_not_reject(base_se: float) -> None:
    found = measure_lift(1.3, 0.1, 1.0, base_se, 2.0)
    assert found is not None
    for share in (found.lower, found.upper):
        ratio = 1.0 + share
        assert (1.3 - ratio) ** 2 == pytest.approx(4.0 * (0.1**2 + ratio**2 * base_se**2))
    assert found.lower < found.share < found.upper


def test_a_base_that_may_be_zero_has_no_limits_and_one_below_zero_no_lift() -> None:
    assert measure_lift(1.3, 0.1, 1.0, 0.6, 2.0)[1:] == (-np.inf, np.inf)
    assert measure_lift(1.3, 0.1, -1.0, 0.1, 2.0) is None


def test_the_check_is_the_chi_squared_test() -> None:
    counts = np.array([520.0, 480.0, 430.0])
    assert check_ratio(counts) == pytest.approx(stats.chisquare(counts).pvalue)


def test_the_first_line_has_the_lift_and_an_uneven_split_is_warned_of() -> None:
    rng = np.random.default_rng(1)
    variant = np.where(rng.random(4000) < 0.55, "a", "b")
    users = pd.DataFrame({"user_id": range(4000), "variant": variant})
    users["revenue"] = rng.exponential(size=4000) + 0.2 * (users["variant"] == "b")
    text = str(sw.analyze(users))
    means = users.groupby("variant")["revenue"].mean()
    assert f"; lift +{100 * (means['b'] / means['a'] - 1):.1f}%, 95% CI +" in text.splitlines()[0]
    assert "Check the assignment: shares of users differ from equal ones" in text
    even = users.groupby("variant").head(1500)
    assert "Check the assignment" not in str(sw.analyze(even))
