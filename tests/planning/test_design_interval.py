"""Topic set sizes for tight intervals: S14 Table 8, simulation, and what must always hold."""

from __future__ import annotations

from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from designs import width_at
from shardwise.core.arrays import make_generator
from shardwise.core.errors import InputError
from shardwise.planning.design import topics_for_interval
from shardwise.stats.power import mean_of_sd

GOLD = Path(__file__).parent.parent / "gold"


def test_table_8_exactly_and_the_cells_it_could_not_compute() -> None:
    cells = pd.read_csv(GOLD / "design_s14_table8.csv", comment="#")
    pooled = pd.read_csv(GOLD / "design_s14_table3.csv", comment="#")[["table", "measure", "pooled"]]
    cells = cells.merge(pooled, on=["table", "measure"], validate="many_to_one")
    cells["ours"] = topics_for_interval(variance=cells["pooled"], width=cells["width"], alpha=0.05)
    known = cells["topics"].notna()
    assert (known.sum(), (~known).sum()) == (62, 2)
    assert (cells["ours"] == cells["topics"])[known].all()
    # the paper's tool failed above 343 topics, so these must lie there
    assert cells.loc[~known, "ours"].tolist() == [374, 393]


@pytest.mark.parametrize("df", [1, 2, 9, 49, 9_999, 10_001, 10**7])
def test_mean_of_a_standard_deviation_in_high_precision(df: int) -> None:
    with mpmath.workdps(40):
        log_ratio = mpmath.loggamma(mpmath.mpf(df + 1) / 2) - mpmath.loggamma(mpmath.mpf(df) / 2)
        expected = float(mpmath.sqrt(mpmath.mpf(2) / df) * mpmath.exp(log_ratio))
    assert mean_of_sd(np.array([float(df)]))[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.calibration
def test_width_is_the_mean_width_of_simulated_intervals(repetitions: float) -> None:
    runs = int(4000 * repetitions)
    d = make_generator(8, 0).normal(0.02, np.sqrt(0.03), (runs, 12))
    widths = 2 * stats.t.isf(0.05, 11) * stats.sem(d, axis=1)
    expected = width_at(n=12, variance=0.015, alpha=0.1)
    assert widths.mean() == pytest.approx(expected, abs=4 * stats.sem(widths))


@given(
    variance=st.floats(0.001, 0.5),
    width=st.floats(0.005, 0.5),
    alpha=st.floats(0.001, 0.5),
    factor=st.floats(1, 3),
)
def test_topics_are_the_smallest_that_do_and_monotone(
    variance: float, width: float, alpha: float, factor: float
) -> None:
    n = topics_for_interval(variance=variance, width=width, alpha=alpha)
    assert width_at(n=n, variance=variance, alpha=alpha) <= width
    if n > 2:
        assert width_at(n=n - 1, variance=variance, alpha=alpha) > width
    assert topics_for_interval(variance=variance * factor, width=width, alpha=alpha) >= n
    assert topics_for_interval(variance=variance, width=width * factor, alpha=alpha) <= n
    assert topics_for_interval(variance=variance, width=width, alpha=alpha / factor) >= n


def test_several_variances_at_once() -> None:
    assert topics_for_interval(variance=[0.053, 0.1208], width=0.1).tolist() == [165, 374]  # type: ignore[union-attr]


@pytest.mark.parametrize("width", [0.0, -0.1, float("inf")])
def test_an_interval_without_width_is_refused(width: float) -> None:
    with pytest.raises(InputError, match="interval without width"):
        topics_for_interval(variance=0.05, width=width)
