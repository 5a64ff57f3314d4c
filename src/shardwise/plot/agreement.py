"""How far splits of the documents agree: pair by pair (V17 Fig. 6), and in figures (FF21 Table 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.split_tables import agreement_matrix
from shardwise.comparing.stability import Stability
from shardwise.comparing.within_across import WithinAcross
from shardwise.core.errors import InputError
from shardwise.core.text import shorten_names
from shardwise.plot.matrix import mix_shades
from shardwise.plot.theme import (
    COLOURS,
    INK,
    ON_AXIS,
    encode_colour,
    encode_shape,
    finish_chart,
    make_data,
    make_legend,
    number_tips,
    reserve_room,
    text_tips,
)

GREYS = ("#000000", "#d0d0d0")  # evenly divided to one split against all others
FIGURES = {
    "PAA": "on what differs (PAA)",
    "PPA": "on what does not (PPA)",
}
COUNTS = {
    "AA": "both, same system better (AA)",
    "PA": "neither (PA)",
    "PD": "one of them (PD)",
    "AD": "both, opposite (AD)",
}


def agreement_chart(
    comparisons: Stability | Sequence[Comparisons],
    below: Stability | Sequence[Comparisons] | None = None,
    *,
    alpha: float | None = None,
    names: tuple[str, str] = ("", ""),
) -> alt.Chart:
    """Draw each pair of systems, darker the more evenly the splits are divided over it (V17 Fig. 6).

    Systems are in the order of the first comparison.

    Parameters
    ----------
    comparisons : Stability or sequence of Comparisons
        One a split.
    below : Stability or sequence of Comparisons, optional
        What fills the half below the diagonal, such as the same for another measure.
    alpha : float, optional
        The level at which systems are told apart; by default that of a Stability, else 0.05.
    names : tuple of str
        What the halves above and below are called.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    above, splits = _square_agreement(comparisons, alpha)
    under, others = _square_agreement(below, alpha) if below is not None else (above, splits)
    if set(under.index) != set(above.index):
        raise InputError("the two halves are not of the same systems", remedy="compare the same systems")
    if others != splits:
        raise InputError(f"the halves have {splits} and {others} splits", remedy="give the same number")
    order = list(map(str, above.index))
    labels, halves = shorten_names(order, ON_AXIS), shorten_names(names)
    upper, lower = above.loc[order, order].to_numpy(), under.loc[order, order].to_numpy()
    rows: list[dict[str, Any]] = []
    for i, a in enumerate(order):
        for j, b in enumerate(order):
            if i == j or (i > j and below is None):
                continue
            against = (upper if i < j else lower)[i, j]
            if against == against:
                tally = f"{int(against)}:{splits - int(against)}"
                half = names[0] if i < j else names[1]
                rows.append({"a": labels[a], "b": labels[b], "splits": tally, "half": halves[half]})
    most = max((int(row["splits"].split(":")[0]) for row in rows), default=0)
    tallies = [f"{k}:{splits - k}" for k in range(max(most, splits // 2) + 1)]
    fills = ["#f4f4f4", *reversed(mix_shades(len(tallies) - 1, GREYS))]
    size = max(160, min(900, 18 * len(order)))
    axis = alt.Axis(labelOverlap=True, ticks=False, domain=False, grid=False,
                    **reserve_room(list(labels.values()), min(10, max(7, size / len(order)))))  # fmt: skip
    scale = alt.Scale(domain=list(labels.values()))
    tips = [
        *text_tips(("a", "system"), ("b", "other"), "splits"),
        *(text_tips(("half", "scores")) if any(names) else []),
    ]
    key = alt.Legend(title="splits against the others", orient="top", direction="horizontal", symbolSize=110,
                     symbolType="square", symbolStrokeColor="#999999")  # fmt: skip
    drawn = (
        alt.Chart(make_data(rows))
        .mark_rect()
        .encode(
            x=alt.X("b:N", scale=scale, title="system, best first", axis=axis),
            y=alt.Y("a:N", scale=scale, title="system, best first", axis=axis),
            color=alt.Color("splits:N", scale=alt.Scale(domain=tallies, range=fills), legend=key),
            tooltip=tips,
        )
        .properties(width=size, height=size)
    )
    if any(names):
        title = f"above the diagonal: {halves[names[0]]}; below: {halves[names[1]]}"
        drawn = drawn.properties(title=title)
    finished: alt.Chart = finish_chart(drawn)
    return finished


def stability_chart(stability: Stability) -> alt.HConcatChart:
    """Draw the agreement of each two splits, and its mean with the t-interval (FF21 Table 6).

    Left, the share of pairs by what the two splits find; right, the proportions of agreement PAA and PPA.

    Parameters
    ----------
    stability : Stability
        The result of `shardwise.stability.between_splits` and its like.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    frame, mean = stability.to_frame(), stability.mean()
    centre, half = ({str(k): float(v) for k, v in mean[name].items()} for name in ("mean", "half_width"))
    pairs = len(stability.comparisons[0])
    panels = []
    for figures, title, per, format in (
        (COUNTS, f"pairs, of {pairs}", "pairs", ".1f"),
        (FIGURES, "proportion of agreement", "proportion", ".3f"),
    ):
        dots = [
            {"figure": label, "split": row["split"], "other": row["other"], "value": row[figure]}
            for row in frame.to_dict("records")
            for figure, label in figures.items()
        ]
        means = [
            {"figure": label, "value": centre[figure], "lower": centre[figure] - half[figure]}
            | {"upper": centre[figure] + half[figure]}
            for figure, label in figures.items()
        ]
        heading = "two splits find a difference" if figures is COUNTS else "two splits agree"
        axis = alt.Axis(labelLimit=0, labelPadding=10, ticks=False, domain=False, grid=False, titleAnchor="end",
                        titleAngle=0, titleAlign="right", titleY=-10, titleX=-10)  # fmt: skip
        y = alt.Y("figure:N", scale=alt.Scale(domain=list(figures.values())), title=heading, axis=axis)
        x = alt.X("value:Q", title=title, scale=alt.Scale(zero=figures is COUNTS))
        spread = (
            alt.Chart(make_data(dots))
            .mark_tick(color=COLOURS[0], thickness=1.2, opacity=0.6)
            .encode(
                x=x,
                y=y,
                tooltip=[*text_tips("figure", "split", "other"), *number_tips(("value", per), format=format)],
            )
        )
        base = alt.Chart(make_data(means)).encode(
            y=y,
            tooltip=[*text_tips("figure"), *number_tips(("value", "mean"), "lower", "upper", format=format)],
        )
        bars = base.mark_rule(color=INK, strokeWidth=2).encode(x="lower:Q", x2="upper:Q")
        points = base.mark_point(filled=True, shape="diamond", size=60, color=INK, opacity=1).encode(
            x="value:Q"
        )
        panels.append(
            alt.LayerChart(layer=[spread, bars, points]).properties(width=260, height=34 * len(figures))
        )
    level = 100 * stability.level
    note = f"ticks: each two of {len(stability.comparisons)} splits; diamond: mean with {level:g}% t-interval"
    row = alt.hconcat(*panels, spacing=40).properties(title=note)
    return finish_chart(row)


def width_chart(result: WithinAcross) -> alt.LayerChart:
    """Draw the mean width of intervals of related systems by what the model was fitted to (V17 Table 6).

    Parameters
    ----------
    result : WithinAcross
        The result of `shardwise.stability.within_across`.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    models = shorten_names(map(str, result.widths.columns), most=80)
    conditions = list(map(str, result.widths.index))
    rows = [
        {"condition": condition, "model": models[str(model)], "width": result.widths.loc[condition, model]}
        | {"place": position}
        for condition in conditions
        for position, model in enumerate(result.widths.columns)
    ]
    names = list(models.values())
    key = make_legend(names)
    base = alt.Chart(make_data(rows)).encode(
        y=alt.Y("condition:N", scale=alt.Scale(domain=conditions), title=None),
        yOffset=alt.YOffset("place:O", sort="ascending"),
        color=encode_colour("model", names, key),
        tooltip=[*text_tips("condition", "model"), *number_tips("width")],
    )
    x = alt.X(
        "width:Q", title="mean width of the intervals (in units of the score)", scale=alt.Scale(zero=True)
    )
    stems = base.mark_rule(strokeWidth=1.5).encode(x=x, x2=alt.datum(0))
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, shape=encode_shape("model", names, key)
    )
    return finish_chart(
        alt.LayerChart(layer=[stems, points]).properties(width=420, height=44 * len(conditions))
    )


def _square_agreement(
    comparisons: Stability | Sequence[Comparisons], alpha: float | None
) -> tuple[pd.DataFrame, int]:
    if isinstance(comparisons, Stability):
        level = comparisons.alpha if alpha is None else alpha
        return agreement_matrix(comparisons.comparisons, level), len(comparisons.comparisons)
    return agreement_matrix(comparisons, 0.05 if alpha is None else alpha), len(comparisons)
