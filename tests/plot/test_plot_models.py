"""Intervals under several models: the numbers of the comparisons, and the τ of F19 in the title."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from chart_rows import rows_with, titles
from report_pages import simulated
from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.model import MD1, MD2, MD3, MD6
from shardwise.methods.anova.fit import anova
from shardwise.plot.pairs import kind_chart, model_chart


def by_model(systems: int) -> dict[str, Comparisons]:
    """MD1 on other scores of the same systems, so that its order is another."""
    scores = simulated(systems, topics=8, shards=3)
    whole = simulated(systems, topics=8, shards=1, seed=2).isel(shard=0, drop=True)
    return {"MD1": compare(anova(whole, MD1))} | {
        model.short: compare(anova(scores, model)) for model in (MD2, MD3, MD6)
    }


@pytest.mark.parametrize(("systems", "mark"), [(2, "point"), (20, "point"), (150, "area")])
def test_every_model_has_its_intervals(systems: int, mark: str) -> None:
    named = by_model(systems)
    chart = model_chart(named, measure="AP")
    (rows,) = rows_with(chart, "system", "model", "lower")
    assert len(rows) == 4 * systems
    for name, pairs in named.items():
        drawn = {
            row["system"]: [row["estimate"], row["lower"], row["upper"]]
            for row in rows
            if row["model"] == name
        }
        for system, *numbers in pairs.intervals(0.95, "tukey").reset_index().itertuples(index=False):
            assert drawn[system] == numbers
    layers = chart.to_dict()["layer"]
    assert mark in {layer["mark"]["type"] for layer in layers}
    assert layers[0]["encoding"]["x"]["scale"]["domain"] == list(named["MD1"].names)


def test_tau_is_in_the_title() -> None:
    named = by_model(20)
    first, other = (
        dict(zip(named[name].estimates.labels, named[name].estimates.values, strict=True))
        for name in ("MD1", "MD6")
    )
    tau = stats.kendalltau([first[name] for name in first], [other[name] for name in first]).statistic
    title = model_chart(named).to_dict()["title"]
    assert title == f"Kendall's τ with the order of MD1: {tau:.4f} (MD2, MD3, MD6)"
    assert f"τ with MD1 {tau:.4f}" in titles(kind_chart({"MD1": named["MD1"], "MD6": named["MD6"]}))


@pytest.mark.parametrize("systems", [5, 40])
def test_three_kinds_of_interval(systems: int) -> None:
    pairs = by_model(systems)["MD6"]
    (rows,) = rows_with(kind_chart(pairs, measure="AP"), "interval", "lower")
    assert len(rows) == 3 * systems
    for kind, name in (("tukey", "Tukey"), ("anova", "ANOVA"), ("sem", "SEM")):
        frame = pairs.intervals(0.95, kind)
        own = [row for row in rows if row["interval"] == name]
        assert np.array_equal([row["lower"] for row in own], frame["lower"])
        assert np.array_equal([row["upper"] for row in own], frame["upper"])
