"""Designs over a grid: the layout of S14 Tables 4 and 8, and what its text reads off Figures 2 and 3."""

from __future__ import annotations

import numpy as np
import pytest

from designs import min_diff_at, width_at
from shardwise.core.errors import InputError
from shardwise.planning.design import topics_for_interval, topics_for_power
from shardwise.planning.plans import design_curve, design_table, reach_curve
from shardwise.planning.variances import VarianceEstimate

NEWS = {"AP": 0.0530, "Q": 0.0538, "nDCG": 0.0564, "nERR": 0.1208}


def test_power_table_has_the_layout_of_table_4() -> None:
    table = design_table(NEWS, method="sakai")
    assert table.shape == (20, 8)
    assert table.loc[(10, 0.01, 0.02)].tolist() == [6920, 7024, 7364, 15771, 5659, 5745, 6022, 12898]
    assert table.loc[(100, 0.05, 0.25)].tolist() == [84, 85, 89, 191, 69, 70, 74, 157]
    assert table.loc[(100, 0.05, 0.1), (0.8, "nERR")] == 975


def test_every_cell_is_the_design_it_names() -> None:
    table = design_table(NEWS, min_diff=[0.1, 0.3], systems=[2, 7, 30], alpha=[0.02, 0.1], power=[0.7])
    for (systems, alpha, min_diff), row in table.iterrows():
        for (power, measure), topics in row.items():
            assert topics == topics_for_power(
                variance=NEWS[measure], min_diff=min_diff, systems=systems, alpha=alpha, power=power
            )


def test_interval_table_has_the_layout_of_table_8() -> None:
    table = design_table(NEWS, width=[0.10, 0.15, 0.20, 0.25], alpha=[0.05, 0.01])
    assert table.loc[0.05, "AP"].tolist() == [165, 75, 43, 29]
    assert table.loc[(0.01, 0.2), "Q"] == topics_for_interval(variance=0.0538, width=0.2, alpha=0.01)


def test_figure_2_as_the_text_reads_it() -> None:
    web = {"AP": 0.0876, "nERR": 0.0912, "Q": 0.0387, "nDCG": 0.0466}
    diverse = {"α-nDCG": 0.0833, "nERR-IA": 0.0897, "D-nDCG": 0.0375, "D♯-nDCG": 0.0546}
    for variances, printed in ((web, [964, 1004, 426, 513]), (diverse, [917, 987, 413, 601])):
        curve = design_curve(variances, systems=[200], method="sakai")
        assert curve["measure"].tolist() == list(variances)
        assert curve["topics"].tolist() == printed


def test_figure_3_power_for_ten_systems_and_width_nearly_coincide() -> None:
    curve = reach_curve({"Q": 0.0690, "D-nDCG": 0.0375}, topics=range(20, 201, 20))
    wide = curve.pivot_table(index=["measure", "topics"], columns="goal", values="value")
    ratio = wide["min_diff, 10 systems"] / wide["width"]
    assert np.abs(ratio - 1).max() < 0.025  # S14: the curves almost completely overlap
    assert wide.loc[("Q", 100), "width"] == pytest.approx(width_at(n=100, variance=0.0690))
    assert wide.loc[("Q", 100), "min_diff, 100 systems"] == pytest.approx(
        min_diff_at(n=100, variance=0.0690, systems=100)
    )


def test_a_single_variance_goes_by_its_measure() -> None:
    one = VarianceEstimate(0.053, 50, 78, 49, "two-way", measure="AP")
    assert design_table(one, width=[0.1], alpha=[0.05]).loc[(0.05, 0.1), "AP"] == 165
    assert design_curve(0.053, systems=[10])["measure"].tolist() == ["topics"]
    with pytest.raises(InputError, match="no variances"):
        design_table({})
