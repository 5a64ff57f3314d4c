"""Agreement of splits: the cells are those of the matrix, the ticks those of the table."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from chart_rows import rows_with, titles
from report_pages import simulated
from shardwise.comparing.stability import (
    agreement_matrix,
    agreement_over_splits,
    over_splits,
    stability,
    within_across,
)
from shardwise.core.errors import InputError
from shardwise.core.model import MD3
from shardwise.plot.matrix import agreement_chart, stability_chart, width_chart


@pytest.mark.parametrize("systems", [2, 12])
def test_cells_are_the_tally_of_each_pair(systems: int) -> None:
    found = over_splits(simulated(systems, topics=8, shards=2, splits=5), MD3)
    (rows,) = rows_with(agreement_chart(found), "a", "b", "splits")
    matrix = agreement_matrix(found)
    assert len(rows) == systems * (systems - 1) // 2
    for row in rows:
        minority = int(matrix.loc[row["a"], row["b"]])
        assert row["splits"] == f"{minority}:{5 - minority}"
    table = agreement_over_splits(found, (0.05,))[0.05]["pairs"]
    counted = Counter(row["splits"] for row in rows)
    assert {name: counted[name] for name in table.index[:-1]} == table.iloc[:-1].to_dict()


def test_another_measure_below_the_diagonal() -> None:
    scores = simulated(6, topics=8, shards=2, splits=3)
    above, below = over_splits(scores, MD3), over_splits(scores**3, MD3)
    chart = agreement_chart(above, below, names=("AP", "P@10"))
    (rows,) = rows_with(chart, "a", "b", "splits")
    order = agreement_matrix(above).index.tolist()
    for row in rows:
        upper = order.index(row["a"]) < order.index(row["b"])
        matrix = agreement_matrix(above if upper else below)
        assert row["splits"].startswith(f"{int(matrix.loc[row['a'], row['b']])}:")
        assert row["half"] == ("AP" if upper else "P@10")
    assert len(rows) == 30
    assert "above the diagonal: AP; below: P@10" in titles(chart)
    with pytest.raises(InputError, match="3 and 2 splits"):
        agreement_chart(above, below[:2])
    with pytest.raises(InputError, match="not of the same systems"):
        agreement_chart(above, over_splits(scores.isel(system=[0, 1]), MD3))


def test_figures_of_each_two_splits_and_their_mean() -> None:
    found = stability(simulated(8, topics=8, shards=2, splits=4), MD3)
    chart = stability_chart(found)
    mean = found.mean()
    dots = [row for rows in rows_with(chart, "figure", "split") for row in rows]
    assert len(dots) == 6 * 6
    for rows in rows_with(chart, "figure", "lower"):
        for row in rows:
            figure = row["figure"].rsplit("(", 1)[1][:-1]
            ticks = [dot["value"] for dot in dots if dot["figure"] == row["figure"]]
            assert row["value"] == pytest.approx(np.mean(ticks))
            assert row["upper"] - row["value"] == pytest.approx(mean.loc[figure, "half_width"])
    with pytest.raises(InputError, match="unknown chart"):
        found.plot("everything")


def test_widths_of_related_systems() -> None:
    result = within_across(simulated(5, topics=8, shards=2), {"team": ["run000", "run002"]})
    (rows,) = rows_with(width_chart(result), "condition", "width")
    assert {(row["condition"], row["model"]): row["width"] for row in rows} == {
        (condition, model): result.widths.loc[condition, model]
        for condition in result.widths.index
        for model in result.widths.columns
    }
