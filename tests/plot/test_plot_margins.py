"""Charts against a margin: intervals of the table, and a verdict that follows from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from chart_rows import rows_with, titles
from report_pages import simulated
from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.equivalence import Equivalence, SettingSeries, equivalence, smallest_setting
from shardwise.comparing.instances import compare_instances
from shardwise.core.model import MD6
from shardwise.methods.anova.fit import anova
from shardwise.plot.pairs import difference_chart, margin_chart


@pytest.mark.parametrize("side", ["both", "lower", "superior"])
@pytest.mark.parametrize("systems", [2, 8, pytest.param(150, marks=pytest.mark.slow)])
def test_rows_and_verdicts(systems: int, side: str) -> None:
    found = equivalence(compare(anova(simulated(systems, topics=8, shards=2), MD6)), 0.05, side)
    (rows,) = [
        rows
        for rows in rows_with(margin_chart(found), "difference", "lower")
        if len(rows) == len(found.table)
    ]
    for name in ("difference", "lower", "upper"):
        assert [row[name] for row in rows] == found.table[name].tolist()
    said = [row.get("verdict", row.get("kind")) for row in rows]
    good = {"both": "equivalent", "lower": "no worse", "superior": "better"}[side]
    assert [word == good for word in said] == found.table["holds"].tolist()


def table(*intervals: tuple[float, float]) -> pd.DataFrame:
    low, high = np.array(intervals).T
    names = [f"s{k}" for k in range(len(low))]
    frame = pd.DataFrame(
        {"a": names, "b": "base", "difference": (low + high) / 2, "lower": low, "upper": high}
    )
    return frame.assign(p=np.nan, smallest_margin=np.nan)


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ("both", ["equivalent", "different", "different", "undecided", "undecided"]),
        ("lower", ["no worse", "worse", "no worse", "undecided", "no worse"]),
        ("superior", ["not better", "not better", "better", "undecided", "undecided"]),
    ],
)
def test_inside_outside_or_across(side: str, expected: list[str]) -> None:
    """Margin 1: intervals inside, below, above, across everything, and across the upper edge."""
    frame = table((-0.5, 0.5), (-3, -2), (2, 3), (-3, 3), (0.0, 2.0))
    good = {"both": "equivalent", "lower": "no worse", "superior": "better"}[side]
    found = Equivalence(
        frame.assign(holds=[e == good for e in expected]), 1.0, side, "tost", 0.05, 0.9, "claim"
    )
    (rows,) = rows_with(margin_chart(found), "verdict")
    assert [row["verdict"] for row in rows] == expected


def seeds(shift: float, rng: np.random.Generator) -> Comparisons:
    topics = rng.normal(0.4, 0.2, 60)
    noise = rng.normal(0, 0.02, (4, 60))
    a = xr.DataArray(topics + shift + noise, dims=("instance", "topic"), name="a")
    return compare_instances(a, xr.DataArray(topics, dims=("topic",), name="b"))


def series() -> SettingSeries:
    rng = np.random.default_rng(1)
    return smallest_setting(
        {rate: seeds(shift, rng) for rate, shift in ((0.01, -0.05), (0.1, -0.02), (1.0, 0.0))}, 0.02
    )


def test_a_series_of_settings() -> None:
    found = series()
    chart = found.plot(measure="nDCG@10")
    (rows,) = rows_with(chart, "setting", "verdict")
    assert [row["setting"] for row in rows] == ["0.01", "0.1", "1.0"]
    assert [row["lower"] for row in rows] == found.table["lower"].tolist()
    assert rows[0]["verdict"] == "worse"
    assert rows[2]["verdict"] == "no worse"
    text = titles(chart)
    assert "difference in nDCG@10" in text
    assert "from 1.0 on, all are no worse (margin 0.02)" in text
    several = margin_chart({"P@10": found, "AP": found})
    assert len(several.to_dict()["hconcat"]) == 2


def test_one_difference_with_and_without_df() -> None:
    rng = np.random.default_rng(2)
    found = seeds(0.01, rng)
    (row,) = rows_with(difference_chart(found, margin=0.02), "pair")[0]
    assert (row["lower"], row["upper"]) == found.interval(0.95)
    assert row["p"] == found.p
    topics = pd.DataFrame(rng.normal(0.4, 0.2, (30, 3)))
    bootstrap = compare_instances(topics, topics + rng.normal(0, 0.1, (30, 3)), "bootstrap", n_resamples=200)
    chart = difference_chart(bootstrap)
    (row,) = rows_with(chart, "pair")[0]
    assert row["upper"] - row["difference"] == pytest.approx(bootstrap.se)
    assert "± 1 standard error" in titles(chart)
