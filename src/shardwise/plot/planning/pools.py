"""How deep a pool to judge: topics against documents (S14 Fig. 4)."""

from __future__ import annotations

from typing import Literal

import altair as alt

from shardwise.planning.pools import PoolStudy
from shardwise.plot.labels import distinct
from shardwise.plot.theme import (
    PLAIN,
    SIZE,
    bare,
    check_columns,
    colour,
    dash,
    data,
    legend,
    numbers,
    records,
    shape,
    words,
)


def pool_chart(study: PoolStudy, goal: Literal["power", "interval"] | None = None) -> alt.LayerChart:
    """Draw topics needed against documents to judge per topic, one line a measure (S14 Fig. 4).

    A point is a pool depth, written beside it; the larger, the more judgments the design takes in all.

    Parameters
    ----------
    study : PoolStudy
        The result of `shardwise.planning.pool_depth_study`.
    goal : {"power", "interval"}, optional
        What the topics are for; by default power where the study has it.
    """
    wanted = goal or ("power" if "topics_power" in study.table else "interval")
    check_columns(study.table, f"topics_{wanted}")
    columns = {f"topics_{wanted}": "topics", f"judgments_{wanted}": "judgments"}
    frame = study.table.rename(columns=columns)[["measure", "depth", "pooled", "topics", "judgments"]]
    named = distinct(map(str, frame["measure"]))
    names = list(named.values())
    key = legend(names, **PLAIN)
    base = alt.Chart(data(row | {"measure": named[str(row["measure"])]} for row in records(frame))).encode(
        x=alt.X("pooled:Q", title="documents to judge per topic", scale=alt.Scale(zero=False, padding=20)),
        y=alt.Y("topics:Q", title="topics needed", scale=alt.Scale(zero=False, padding=28)),
        color=colour("measure", names, key),
        tooltip=[
            *words("measure"),
            *numbers(("depth", "pool depth"), "topics", format="d"),
            *numbers("pooled", format=".1f"),
            *numbers("judgments", format=","),
        ],
    )
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=dash("measure", names, None))
    counts = sorted({int(float(f"{value:.2g}")) for value in frame["judgments"].quantile([0, 0.5, 1])})
    size = alt.Size(
        "judgments:Q",
        scale=alt.Scale(range=[30, 500]),
        legend=alt.Legend(title="judgments in all", values=counts, format=",.0f"),
    )
    points = base.mark_point(filled=True, opacity=0.9).encode(size=size, shape=shape("measure", names, key))
    labels = base.mark_text(dy=-20, fontSize=10).encode(text="depth:Q")
    title = alt.Title(
        study.goals[0 if wanted == "power" else -1], subtitle="numbers beside the points: pool depth"
    )
    return bare(alt.LayerChart(layer=[lines, points, labels]).properties(title=title, **SIZE))
