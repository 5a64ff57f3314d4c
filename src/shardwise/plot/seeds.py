"""What single instances say: the mean of each, and the test of each by itself (J15 Figs. 6 and 7)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from shardwise.core.scores import as_scores, level_names, nouns_of
from shardwise.core.text import shorten_names
from shardwise.plot.theme import (
    COLOURS,
    check_columns,
    encode_colour,
    encode_shape,
    finish_chart,
    level_line,
    list_records,
    make_data,
    make_legend,
    name_axis,
    number_tips,
    text_tips,
)

VERDICTS = ("better", "no difference", "worse")


def instance_means_chart(scores: Any) -> alt.LayerChart:
    """Draw the mean of each instance of each system, and the mean over them.

    Parameters
    ----------
    scores : DataArray or table
        Scores by topic, system and instance.

    Returns
    -------
    Chart
        The chart, an altair object.

    >>> import xarray as xr
    >>> chart = instance_means_chart(xr.DataArray(np.zeros((4, 2, 3)), dims=("question", "model", "seed")))
    >>> len(chart.to_dict()["layer"])
    2
    """
    table = as_scores(scores, needs=("topic", "system", "instance"))
    nouns = nouns_of(table)
    instance = nouns.get("instance", "instance")
    means = table.mean([d for d in table.dims if d not in ("system", "instance")], skipna=True)
    values = np.asarray(means.transpose("system", "instance").to_numpy(), dtype=float)
    names = shorten_names(level_names(table, "system"))
    order = np.argsort(-np.nanmean(values, axis=1), kind="stable")
    shown = [list(names.values())[k] for k in order]
    labels = [str(x) for x in level_names(table, "instance")]
    rows = [
        {"system": list(names.values())[k], "instance": label, "mean": value}
        for k in order
        for label, value in zip(labels, values[k], strict=True)
        if np.isfinite(value)
    ]
    centres = [
        {"system": list(names.values())[k], "instance": "all", "mean": np.nanmean(values[k])} for k in order
    ]
    x = alt.X(
        "mean:Q", title=f"mean of each {instance}; bar: of all", scale=alt.Scale(zero=False, padding=14)
    )
    tips = [
        *text_tips(("system", nouns.get("system", "system")), ("instance", instance)),
        *number_tips("mean"),
    ]

    def draw_layer(values: list[dict[str, Any]]) -> alt.Chart:
        return alt.Chart(make_data(values)).encode(x=x, y=name_axis("system", shown), tooltip=tips)

    points = draw_layer(rows).mark_point(filled=True, size=45, opacity=0.55, color=COLOURS[0])
    middle = draw_layer(centres).mark_tick(thickness=3, color=COLOURS[1], height=14)
    return finish_chart(alt.LayerChart(layer=[points, middle]).properties(width=460, height=26 * len(shown)))


def single_instance_chart(tests: pd.DataFrame, *, noun: str = "instance", pair: str = "") -> alt.LayerChart:
    """Draw the difference that each instance by itself would show, and what its test would say (J15 Fig. 7).

    Parameters
    ----------
    tests : DataFrame
        What `shardwise.instances.single_instance_tests` returns.
    noun : str
        The user's word for an instance.
    pair : str
        The systems, in words.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    check_columns(tests, "instance", "difference", "p", "verdict")
    rows = [row | {"instance": str(row["instance"])} for row in list_records(tests)]
    known = [name for name in VERDICTS if name in set(tests["verdict"])]
    key = make_legend(known)
    base = alt.Chart(make_data(rows)).encode(
        x=alt.X("difference:Q", title="difference", scale=alt.Scale(zero=True, padding=14)),
        y=name_axis("instance", [str(row["instance"]) for row in rows]),
        color=encode_colour("verdict", known, key),
        shape=encode_shape("verdict", known, key),
        tooltip=[
            *text_tips(("instance", noun), "verdict"),
            *number_tips("difference"),
            *number_tips("p", format=".3g"),
        ],
    )
    points = base.mark_point(filled=True, size=80, opacity=1)
    title = f"{pair + ': ' if pair else ''}each {noun} by itself"
    layers = [level_line(0.0, "x"), points]
    return finish_chart(
        alt.LayerChart(layer=layers).properties(width=460, height=22 * len(rows), title=title)
    )
