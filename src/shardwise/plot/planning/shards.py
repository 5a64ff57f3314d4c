"""How many topics for each number of shards."""

from __future__ import annotations

import altair as alt

from shardwise.planning.shards import ShardDesign
from shardwise.plot.theme import (
    COLOURS,
    SIZE,
    bare,
    data,
    numbers,
    records,
    words,
)


def shard_design_chart(design: ShardDesign) -> alt.LayerChart:
    """Draw the topics needed against the number of shards; a cross where no number of topics is enough.

    Parameters
    ----------
    design : ShardDesign
        The result of `shardwise.planning.design_for_shards`.
    """
    known = design.table["topics"].notna().to_numpy(bool)
    rows = records(design.table)
    top = max((int(row["topics"]) for row, ok in zip(rows, known, strict=True) if ok), default=1)
    x = alt.X("shards:Q", title="shards", scale=alt.Scale(zero=False, nice=False, padding=12),
              axis=alt.Axis(tickMinStep=1, format="d"))  # fmt: skip
    y = alt.Y("topics:Q", title="topics needed", scale=alt.Scale(domain=[0, 1.08 * top], nice=False))
    enough = alt.Chart(data(row for row, ok in zip(rows, known, strict=True) if ok)).encode(
        x=x,
        y=y,
        tooltip=[
            *numbers("shards", "topics", format="d"),
            *numbers("se", format=".4g"),
            *numbers("df", format=".1f"),
        ],
    )
    never = alt.Chart(
        data({"shards": row["shards"], "topics": top, "why": f"more than {design.most_topics} topics, or none"}
             for row, ok in zip(rows, known, strict=True) if not ok)
    )  # fmt: skip
    layers = [
        enough.mark_line(strokeWidth=1.5, color=COLOURS[0]),
        enough.mark_point(filled=True, size=50, color=COLOURS[0], opacity=1),
        never.mark_point(shape="cross", size=80, color=COLOURS[1], filled=True, opacity=1, angle=45).encode(
            x=x, y=y, tooltip=[*numbers("shards", format="d"), *words(("why", "topics"))]
        ),
    ]
    note = "" if known.all() else "; ×: no number of topics is enough"
    title = alt.Title(f"{design.goal}{note}", subtitle=f"claim: {design.claim}")
    return bare(alt.LayerChart(layer=layers).properties(title=title, **SIZE))
