"""What single instances say: the mean of each, and the test of each by itself (J15 Figs. 6 and 7)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from shardwise.analysis.analysis import Analysis
from shardwise.core.claim import pluralize_noun
from shardwise.core.scores import as_scores, level_names, measure_of, nouns_of
from shardwise.core.text import shorten_name
from shardwise.plot.rows import (
    MOST_ROWS,
    WIDTH,
    axis_below,
    describe_cut,
    encode_names,
    fit_scale,
    lay_out_rows,
)
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


def instance_means_chart(scores: Any, *, most: int = MOST_ROWS, width: float = WIDTH) -> alt.LayerChart:
    """Draw the mean of each instance (seed, sample, repeat) of each system, and the mean over them.

    Parameters
    ----------
    scores : DataArray, table or Analysis
        Scores by topic, system and instance, or the analysis of such scores.
    most : int
        Most systems.
    width : float
        Pixels of the whole chart.

    Returns
    -------
    Chart
        The chart, an altair object.

    >>> import xarray as xr
    >>> chart = instance_means_chart(xr.DataArray(np.zeros((4, 2, 3)), dims=("question", "model", "seed")))
    >>> len(chart.to_dict()["layer"])
    2
    """
    given = scores.scores if isinstance(scores, Analysis) else scores
    table = as_scores(given, needs=("topic", "system", "instance"))
    nouns = nouns_of(table)
    instance, system = nouns.get("instance", "instance"), nouns.get("system", "system")
    means = table.mean([d for d in table.dims if d not in ("system", "instance")], skipna=True)
    values = np.asarray(means.transpose("system", "instance").to_numpy(), dtype=float)
    names = level_names(table, "system")
    centres = np.array([row[np.isfinite(row)].mean() if np.isfinite(row).any() else np.nan for row in values])
    order = np.argsort(-measure_of(table).sign * centres, kind="stable")[:most]
    layout = lay_out_rows([names[k] for k in order], width)
    labels = [str(x) for x in level_names(table, "instance")]
    rows = [
        {"system": layout.labels[names[k]], "instance": label, "mean": value}
        for k in order
        for label, value in zip(labels, values[k], strict=True)
        if np.isfinite(value)
    ]
    middles = [
        {"system": layout.labels[names[k]], "instance": "all", "mean": centres[k]}
        for k in order
        if np.isfinite(centres[k])
    ]
    measure = f"{shorten_name(str(table.name), 40)}: " if table.name else ""
    below = axis_below(layout, f"{measure}mean of each {instance}; bar: mean of all")
    x = alt.X("mean:Q", scale=fit_scale(row["mean"] for row in rows), **below)
    tips = [*text_tips(("system", system), ("instance", instance)), *number_tips("mean")]

    def draw_layer(values: list[dict[str, Any]]) -> alt.Chart:
        return alt.Chart(make_data(values)).encode(
            x=x, y=encode_names(layout), tooltip=tips, description="system:N"
        )

    size = 18 if layout.crowded else 45
    points = draw_layer(rows).mark_point(filled=True, size=size, opacity=0.5, color=COLOURS[0])
    middle = draw_layer(middles).mark_tick(thickness=3, color=COLOURS[1], height=0.7 * layout.step)
    drawn = alt.LayerChart(layer=[points, middle]).properties(width=layout.width, height=layout.height)
    cut = describe_cut(len(order), len(names), pluralize_noun(system))
    return finish_chart(drawn.properties(title=alt.Title(cut, fontSize=layout.size)) if cut else drawn)


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
