"""Differences with their confidence intervals, and the ranks that systems may have: one row a system."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import refuse_unknown
from shardwise.core.text import shorten_names
from shardwise.plot.rows import (
    MOST_ROWS,
    WIDTH,
    Layout,
    axis_below,
    describe_cut,
    encode_names,
    fit_scale,
    label_measure,
    lay_out_rows,
    make_row_legend,
)
from shardwise.plot.theme import COLOURS, DASH, INK, finish_chart, make_data, number_tips, text_tips

VERDICTS = ("better", "tied", "worse")
SHADES = (COLOURS[0], "#767676", COLOURS[1])
SHAPES = ("circle", "diamond", "square")
BEST = ("may be the best", "is not the best")


def forest_chart(
    comparisons: Comparisons,
    *,
    baseline: str | None = None,
    level: float = 0.95,
    measure: str = "score",
    most: int = MOST_ROWS,
    width: float = WIDTH,
) -> alt.LayerChart | alt.VConcatChart:
    """Draw differences with their confidence intervals: each system less the baseline, or the best less each other.

    The differences and limits are those of ``Comparisons.intervals(level, "difference")``. Colour and shape
    show what is significant: a stepwise test may find a difference whose simultaneous interval still holds zero.

    Parameters
    ----------
    comparisons : Comparisons
        The result of `shardwise.compare`; where not all pairs were compared, those with each baseline, one panel a
        baseline, or all pairs by name.
    baseline : str, optional
        A system with which the others are compared; the baselines of the comparison, or the best, without it.
    level : float
        Confidence level of the intervals.
    measure : str
        What the differences are in.
    most : int
        Most rows.
    width : float
        Pixels of the whole chart.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    word = comparisons.estimates.nouns.get("system", "system")
    panels = _list_panels(comparisons, baseline, level, measure, word, width)
    words = panels[0][2]
    occurring = {int(sign) for frame, *_ in panels for sign in frame["verdict"][:most]}
    shown = [word for word, sign in zip(words, (1, 0, -1), strict=True) if sign in occurring]
    columns = [frame[name][:most] for frame, *_ in panels for name in ("difference", "lower", "upper")]
    scale = fit_scale(*columns, zero=True)
    drawn, total = [], sum(len(frame[:most]) for frame, *_ in panels)
    for frame, title, _ in panels:
        layout = lay_out_rows([str(name) for name in frame["row"][:most]], width, total)
        cut = describe_cut(len(layout.labels), len(frame), pluralize_noun(word))
        drawn.append(_draw_panel(frame[:most], layout, title, words, shown, scale, cut))
    if len(drawn) == 1:
        return finish_chart(drawn[0])
    joined: alt.VConcatChart = alt.vconcat(*drawn, spacing=24)
    shared: alt.VConcatChart = joined.resolve_scale(x="shared")
    return finish_chart(shared)


def _list_panels(
    comparisons: Comparisons, baseline: str | None, level: float, measure: str, word: str, width: float
) -> list[tuple[pd.DataFrame, str, tuple[str, str, str]]]:
    """Rows, title and words of the verdicts of each panel: `row, difference, lower, upper, p, verdict`."""
    names, frame = comparisons.names, comparisons.to_frame(level)
    frame["p"] = frame.pop("p_adjusted")
    frame["verdict"] = comparisons.directions(1.0 - level)
    interval = f"({100 * level:g}% CI)" if np.isfinite(frame["lower"]).any() else "(the test has no interval)"
    what = f"difference in {label_measure(measure, comparisons.lower_is_better, 40)}"
    labels = shorten_names(names, max(int(width / 16), 16))
    if baseline is not None and baseline not in names:
        raise refuse_unknown("system", baseline, names)
    bases = [baseline] if baseline is not None else []
    if not bases and comparisons.directed:
        counts = frame["b"].value_counts(sort=False)
        bases = list(counts.index) if len(counts) == 1 or counts.min() > 1 else []
    panels = []
    for base in bases:
        title = f"{what}, each {word} − {labels[base]} {interval}"
        words = ("significantly better", "tied", "significantly worse")
        panels.append((_orient_rows(frame, base, names, 1.0), title, words))
    if not panels and comparisons.complete:
        title = f"{what}, {labels[names[0]]} − each {word} {interval}"
        words = ("best significantly better", "tied", "significantly worse")
        panels.append((_orient_rows(frame, names[0], names, -1.0), title, words))
    if not panels:
        labels = shorten_names(names, 20)
        both = [f"{labels[a]} − {labels[b]}" for a, b in zip(frame["a"], frame["b"], strict=True)]
        words = ("first significantly better", "tied", "second significantly better")
        panels.append((frame.assign(row=both), f"{what} {interval}", words))
    return panels


def _orient_rows(frame: pd.DataFrame, base: str, names: tuple[str, ...], sign: float) -> pd.DataFrame:
    """Rows of the pairs with one system, best other system first: others less it, or it less others by sign -1."""
    rows = frame[(frame["a"] == base) | (frame["b"] == base)]
    turn = np.where(rows["b"] == base, sign, -sign)
    low, high = rows["lower"] * turn, rows["upper"] * turn
    other = rows["a"].where(rows["b"] == base, rows["b"])
    turned = rows.assign(
        row=other,
        difference=rows["difference"] * turn,
        lower=np.minimum(low, high),
        upper=np.maximum(low, high),
        verdict=rows["verdict"] * turn.astype(int),
    )
    return turned.sort_values("row", key=lambda column: column.map(names.index), kind="stable")


def _draw_panel(
    frame: pd.DataFrame,
    layout: Layout,
    title: str,
    words: tuple[str, str, str],
    shown: list[str],
    scale: alt.Scale,
    cut: str,
) -> alt.LayerChart:
    """Draw rows of differences with a line at zero."""
    verdicts = dict(zip((1, 0, -1), words, strict=True))
    columns = zip(
        *(frame[name] for name in ("row", "difference", "lower", "upper", "p", "verdict")), strict=True
    )
    rows = [
        {"system": layout.labels[row], "difference": d, "lower": low, "upper": high, "p": p}
        | {"verdict": verdicts[verdict]}
        for row, d, low, high, p, verdict in columns
    ]
    pick = [words.index(word) for word in shown]
    key = make_row_legend(layout, shown)
    tips = [
        *text_tips("system", "verdict"),
        *number_tips("difference", "lower", "upper"),
        *number_tips("p", format=".3g"),
    ]
    below = axis_below(layout, title)

    def draw_layer(values: list[dict[str, Any]]) -> alt.Chart:
        colour = alt.Color(
            "verdict:N", scale=alt.Scale(domain=shown, range=[SHADES[k] for k in pick]), legend=key
        )
        return alt.Chart(make_data(values)).encode(
            y=encode_names(layout), color=colour, tooltip=tips, description="system:N"
        )

    zero = alt.Chart(make_data([{"zero": 0.0}])).mark_rule(strokeDash=DASH, color=INK, aria=False)
    layers = [zero.encode(x=alt.X("zero:Q", scale=scale, **below))]
    bounded = [row for row in rows if np.isfinite(row["lower"]) and np.isfinite(row["upper"])]
    if bounded:
        bars = draw_layer(bounded).mark_rule(strokeWidth=1.2 if layout.crowded else 2, aria=False)
        layers.append(bars.encode(x=alt.X("lower:Q", scale=scale, **below), x2="upper:Q"))
    points = draw_layer(rows).mark_point(filled=True, opacity=1, size=22 if layout.crowded else 55)
    layers.append(
        points.encode(
            x=alt.X("difference:Q", scale=scale, **below),
            shape=alt.Shape(
                "verdict:N", scale=alt.Scale(domain=shown, range=[SHAPES[k] for k in pick]), legend=key
            ),
        )
    )
    drawn = alt.LayerChart(layer=layers).properties(width=layout.width, height=layout.height)
    return drawn.properties(title=alt.Title(cut, fontSize=layout.size, offset=4)) if cut else drawn


def rank_chart(
    comparisons: Comparisons,
    *,
    level: float = 0.95,
    most: int = MOST_ROWS,
    width: float = WIDTH,
) -> alt.LayerChart:
    """Draw the rank of each system with the range of ranks that it may have.

    The figures are those of ``Comparisons.ranks(level)``; a system whose range starts at 1 is in the best set.

    Parameters
    ----------
    comparisons : Comparisons
        Comparisons of all pairs.
    level : float
        Level of the ranges.
    most : int
        Most rows.
    width : float
        Pixels of the whole chart.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    ranks = comparisons.ranks(level)
    word = comparisons.estimates.nouns.get("system", "system")
    layout = lay_out_rows([str(name) for name in ranks.index[:most]], width)
    rows: list[dict[str, Any]] = [
        {"system": layout.labels[str(name)]}
        | {"rank": rank, "rank_best": first, "rank_worst": last, "group": BEST[int(first > 1)]}
        for name, (rank, first, last) in zip(
            ranks.index[:most], ranks.to_numpy(np.int64)[:most].tolist(), strict=True
        )
    ]
    shown = [word for word in BEST if any(row["group"] == word for row in rows)]
    key = make_row_legend(layout, shown)
    together = ", all at once" if comparisons.error_rate == "family" else ""
    title = f"rank and {100 * level:g}% range of ranks{together}"
    last = max(row["rank_worst"] for row in rows)
    scale = alt.Scale(domain=[1, max(last, 2)], nice=False, zero=False, padding=10)
    below = axis_below(
        layout, title, tickMinStep=1, format="d", values=list_rank_ticks(int(last), layout.width)
    )
    shades = [SHADES[0 if word == BEST[0] else 1] for word in shown]
    base = alt.Chart(make_data(rows)).encode(
        y=encode_names(layout),
        color=alt.Color("group:N", scale=alt.Scale(domain=shown, range=shades), legend=key),
        description="system:N",
        tooltip=[*text_tips("system", "group"), *number_tips("rank", "rank_best", "rank_worst", format="d")],
    )
    thick = 3 if layout.crowded else 6
    bars = base.mark_rule(strokeWidth=thick, strokeCap="round", opacity=0.55, aria=False)
    shapes = [SHAPES[0 if word == BEST[0] else 1] for word in shown]
    points = base.mark_point(filled=True, opacity=1, size=22 if layout.crowded else 55).encode(
        x=alt.X("rank:Q", scale=scale, **below),
        shape=alt.Shape("group:N", scale=alt.Scale(domain=shown, range=shapes), legend=key),
    )
    layers = [bars.encode(x=alt.X("rank_best:Q", scale=scale, **below), x2="rank_worst:Q"), points]
    drawn = alt.LayerChart(layer=layers).properties(width=layout.width, height=layout.height)
    cut = describe_cut(len(rows), len(ranks), pluralize_noun(word))
    return finish_chart(drawn.properties(title=alt.Title(cut, fontSize=layout.size)) if cut else drawn)


def list_rank_ticks(last: int, width: float) -> list[int]:
    """List round ranks for an axis from 1 to the last rank.

    >>> list_rank_ticks(4, 400), list_rank_ticks(126, 400)
    ([1, 2, 3, 4], [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120])
    """
    most = max(int(width / 30), 2)
    step = next(m * 10**k for k in range(9) for m in (1, 2, 5) if last / (m * 10**k) <= most)
    return [1, *(rank for rank in range(step, last + 1, step) if rank - 1 > 0.6 * step)]
