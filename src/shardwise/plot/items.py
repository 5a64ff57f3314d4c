"""The items behind the means: a heat map of items and systems, and the sorted differences of two systems."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from shardwise.analysis.analysis import Analysis
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.text import shorten_names
from shardwise.plot.rows import (
    MOST_ROWS,
    WIDTH,
    encode_names,
    estimate_width,
    label_measure,
    lay_out_rows,
    make_word_legend,
    wrap_text,
)
from shardwise.plot.theme import COLOURS, finish_chart, level_line, make_data, number_tips, text_tips

MOST_CELLS = 3_600
"""Cells of a heat map; of more, neighbours are averaged."""
NAMED_ITEMS = 36
"""Items that a heat map names."""
MOST_BARS = 240
"""Bars of a strip; of more, neighbours of one outcome are averaged."""
SHADES = {"win": COLOURS[0], "tie": "#8c8c8c", "loss": COLOURS[1]}
EMPTY = "#ececec"


def heatmap_chart(analysis: Analysis, *, cells: int = MOST_CELLS, width: float = WIDTH) -> alt.LayerChart:
    """Draw the score of each system on each item, the hardest item on the left and the best system on top.

    The scores are those of ``Analysis.item_matrix()``. Where there are more than `cells`, neighbouring items, and of
    many systems neighbouring ranks, are averaged over the scores that are there; missing scores are grey.

    Parameters
    ----------
    analysis : Analysis
        The result of `shardwise.analyze`.
    cells : int
        Most cells.
    width : float
        Pixels of the whole chart.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    matrix = analysis.item_matrix()
    names, y = matrix.systems, matrix.scores.to_numpy(dtype=float).T
    # Many systems share rows by rank, and many items share columns by difficulty.
    row_edges = split_evenly(len(names), len(names) if len(names) <= MOST_ROWS else MOST_ROWS // 2)
    column_edges = split_evenly(y.shape[1], max(cells // (len(row_edges) - 1), 12))
    means = average_blocks(y, row_edges, column_edges)
    spans = list(pairwise(row_edges.tolist()))
    layout = lay_out_rows([names[i] if j - i == 1 else f"ranks {i + 1}–{j}" for i, j in spans], width)
    labels = list(layout.labels.values())
    topic = matrix.nouns.get("topic", "topic")
    items = [str(name) for name in matrix.scores.index]
    single = len(column_edges) == len(items) + 1
    named = single and len(items) <= NAMED_ITEMS
    short = shorten_names(items, 20)
    rows = [
        {"system": labels[r], "from": int(column_edges[c]), "to": int(column_edges[c + 1])}
        | {"score": means[r, c], "item": short[items[column_edges[c]]] if single else ""}
        for r, c in np.argwhere(np.isfinite(means)).tolist()
    ]
    each = -(-len(items) // (len(column_edges) - 1))
    title = f"{format_count(len(items), topic)}, hardest first"
    title += "" if single else f"; a column is the mean of {each - 1} to {each} {pluralize_noun(topic)}"
    title += "; grey: no score" if len(rows) < means.size else ""
    lines = wrap_text(title, layout.width, 11.5)
    x: Any = alt.X(
        "from:Q",
        title=lines,
        scale=alt.Scale(domain=[0, len(items)], nice=False),
        axis=alt.Axis(grid=False, titleAnchor="start", labels=False, ticks=False, titleFontSize=11.5),
    )
    if named:
        extent = 6.0 + max(estimate_width(label, 9) for label in short.values())
        axis = alt.Axis(grid=False, titleAnchor="start", labelAngle=-90, labelLimit=0, labelFontSize=9)
        axis["minExtent"], axis["titleFontSize"] = extent, 11.5
        x = alt.X("item:N", title=lines, scale=alt.Scale(domain=list(short.values())), axis=axis)
    key = alt.Legend(
        title=label_measure(matrix.measure, matrix.lower_is_better, 40),
        orient="top",
        gradientLength=160,
        titleLimit=0,
        offset=6,
        format="~g",
    )
    shade = alt.Scale(scheme="viridis", zero=False, reverse=matrix.lower_is_better)
    base = alt.Chart(make_data(rows)).encode(
        x=x,
        y=encode_names(layout),
        color=alt.Color("score:Q", scale=shade, legend=key),
        tooltip=[*text_tips("system"), *text_tips(("item", topic)) * single, *number_tips("score")],
    )
    drawn = base.mark_rect(aria=False) if named else base.mark_rect(aria=False).encode(x2="to:Q")
    chart = alt.LayerChart(layer=[drawn], view=alt.ViewBackground(fill=EMPTY, stroke=None))
    step = max(layout.step - 4.0, layout.size + 2.0)
    return finish_chart(chart.properties(width=layout.width, height=step * len(labels)))


def split_evenly(count: int, parts: int) -> Ints:
    """Split a range into parts whose sizes differ by one at most.

    Parameters
    ----------
    count : int
        Number of things.
    parts : int
        Most parts.

    Returns
    -------
    array of int
        Edges of the parts, 0 and `count` included.

    >>> split_evenly(7, 3).tolist(), split_evenly(2, 5).tolist()
    ([0, 2, 4, 7], [0, 1, 2])
    """
    return np.unique(np.linspace(0, count, min(parts, count) + 1).astype(np.int64))


def average_blocks(y: Floats, row_edges: Ints, column_edges: Ints) -> Floats:
    """Average the values that are there in blocks of neighbouring rows and columns.

    Parameters
    ----------
    y : array
        (R, T) values, NaN where one is missing.
    row_edges, column_edges : array of int
        Edges of the blocks.

    Returns
    -------
    array
        Means, NaN where all values of a block are missing.

    >>> average_blocks(np.array([[1.0, 3.0, np.nan]]), np.array([0, 1]), np.array([0, 2, 3])).tolist()
    [[2.0, nan]]
    """
    known = np.isfinite(y)
    sums, counts = (
        np.add.reduceat(np.add.reduceat(table, row_edges[:-1], axis=0), column_edges[:-1], axis=1)
        for table in (np.where(known, y, 0.0), known.astype(float))
    )
    return np.where(counts > 0, sums / np.maximum(counts, 1.0), np.nan)


def item_chart(
    analysis: Analysis,
    a: str | None = None,
    b: str | None = None,
    *,
    margin: float = 0.0,
    bars: int = MOST_BARS,
    width: float = WIDTH,
) -> alt.LayerChart:
    """Draw the differences of two systems on all items, sorted, with the numbers of wins, ties and losses.

    The differences are those of ``Analysis.items(a, b, margin=margin)``. Of more items than `bars`, neighbours with the
    same outcome are averaged, and a bar is as wide as the items it stands for.

    Parameters
    ----------
    analysis : Analysis
        The result of `shardwise.analyze`.
    a, b : str, optional
        Two systems; without them the best two, or the best and the baseline.
    margin : float
        Differences up to this are ties.
    bars : int
        Most bars.
    width : float
        Pixels of the whole chart.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    items = analysis.items(a, b, margin=margin)
    known = items.table[items.table["outcome"] != "missing"]
    difference, outcome = known["difference"].to_numpy(float), known["outcome"].to_numpy(str)
    topic = items.nouns.get("topic", "topic")
    first, second = shorten_names((items.a, items.b), 30).values()
    counts = items.counts
    words = {
        "win": f"{first} better: {counts['win']:,}",
        "tie": f"tie: {counts['tie']:,}",
        "loss": f"{second} better: {counts['loss']:,}",
    }
    names = shorten_names(map(str, known["item"]), 40)
    rows = []
    for kind, start, stop in _list_runs(outcome, bars):
        group = known["item"].iloc[start]
        label = names[str(group)] if stop - start == 1 else format_count(stop - start, topic)
        rows.append(
            {"from": start, "to": stop, "difference": float(difference[start:stop].mean())}
            | {"outcome": words[kind], "items": label}
        )
    domain = list(words.values())
    key = make_word_legend(domain, 11, width, symbolType="square")
    shade = alt.Scale(domain=domain, range=[SHADES[kind] for kind in words])
    plain = alt.Axis(grid=False, labels=False, ticks=False, titleAnchor="start", titleFontSize=11.5)
    missing = f"; {counts['missing']:,} lack a score" if counts["missing"] else ""
    below = f"{format_count(len(known), topic)} by difference{missing}; dashed: mean {items.difference:+.3g}"
    measure = label_measure(items.measure, items.lower_is_better, 40)
    scale = alt.Scale(zero=True, nice=False, padding=6)
    tall, wide = 240.0, width - 70.0
    chart = (
        alt.Chart(make_data(rows))
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "from:Q",
                title=wrap_text(below, wide, 11.5),
                scale=alt.Scale(domain=[0, max(len(known), 1)], nice=False),
                axis=plain,
            ),
            x2="to:Q",
            y=alt.Y(
                "difference:Q",
                title=wrap_text(f"difference in {measure}", tall, 11.5),
                scale=scale,
                axis=alt.Axis(titleFontSize=11.5),
            ),
            y2=alt.datum(0),
            color=alt.Color("outcome:N", scale=shade, legend=key),
            tooltip=[*text_tips(("items", topic), "outcome"), *number_tips("difference")],
        )
    )
    ties = alt.Chart(make_data([row for row in rows if row["outcome"] == words["tie"]]))
    flat = ties.mark_rule(strokeWidth=3, aria=False).encode(
        x="from:Q", x2="to:Q", y=alt.datum(0), color=alt.Color("outcome:N", scale=shade, legend=key)
    )
    layers = [chart, *([flat] if counts["tie"] else []), level_line(items.difference, "y", scale=scale)]
    return finish_chart(alt.LayerChart(layer=layers).properties(width=wide, height=tall))


def _list_runs(outcome: np.ndarray, most: int) -> list[tuple[str, int, int]]:
    """Outcome, first and last position of each bar: one an item, or neighbours of one outcome by their share."""
    edges = [0, *(np.flatnonzero(outcome[1:] != outcome[:-1]) + 1).tolist(), len(outcome)]
    runs = []
    for start, stop in pairwise(edges):
        if stop > start:
            share = max(int(most * (stop - start) / len(outcome)), 1) if len(outcome) > most else stop - start
            cuts = (start + split_evenly(stop - start, share)).tolist()
            runs += [(str(outcome[start]), i, j) for i, j in pairwise(cuts)]
    return runs
