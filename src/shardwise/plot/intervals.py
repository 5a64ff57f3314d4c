"""Systems by descending mean with their intervals: claims, models and kinds of interval (F19 Fig. 3-5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.rankings import kendall_tau
from shardwise.core.claim import pluralize_noun
from shardwise.core.text import MOST_SHOWN, shorten_name, shorten_names
from shardwise.plot.rows import (
    MOST_ROWS,
    WIDTH,
    axis_below,
    describe_cut,
    encode_names,
    fit_scale,
    label_measure,
    lay_out_rows,
    make_row_legend,
)
from shardwise.plot.theme import (
    CROWDED,
    ON_AXIS,
    chart_width,
    encode_colour,
    encode_dash,
    encode_shape,
    finish_chart,
    list_records,
    make_data,
    make_legend,
    number_tips,
    system_axis,
    text_tips,
)


def interval_chart(
    comparisons: Comparisons | Mapping[str, Comparisons],
    *,
    level: float = 0.95,
    measure: str = "score",
    interval: str = "mean",
    most: int = MOST_ROWS,
    width: float = WIDTH,
) -> alt.LayerChart:
    """Draw each system's mean and interval, one row a system; several comparisons, by name, in several colours.

    The figures are those of ``Comparisons.intervals(level, interval)``. Bars of comparison intervals that do not
    overlap differ significantly (F19 eq. 3).

    Parameters
    ----------
    comparisons : Comparisons or mapping of str to Comparisons
        One result of `shardwise.compare`, or several by name; the first one orders the systems.
    level : float
        Confidence level of the intervals.
    measure : str
        What the means are of.
    interval : str
        Which intervals: "mean", the confidence interval of each mean, or another kind of `Comparisons.intervals`.
    most : int
        Most systems.
    width : float
        Pixels of the whole chart.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    named = comparisons if isinstance(comparisons, Mapping) else {comparisons.claim: comparisons}
    first = next(iter(named.values()))
    rows = _list_intervals(named, "claim", level, interval)
    words = INTERVALS.get(interval, f"{KINDS.get(interval, interval)} interval")
    title = f"{label_measure(measure, first.lower_is_better)}, mean and {100 * level:g}% {words}"
    word = pluralize_noun(first.estimates.nouns.get("system", "system"))
    return finish_chart(draw_rows(rows, "claim", title, list(first.names), word, most, width))


def draw_rows(
    rows: list[dict[str, Any]],
    field: str,
    title: str,
    order: Sequence[str],
    word: str = "systems",
    most: int = MOST_ROWS,
    width: float = WIDTH,
) -> alt.LayerChart:
    """Draw rows of `system, estimate, lower, upper` as points with bars, one row a system.

    `field` tells the bars of a system apart by colour and shape; systems come in the order of `order` and are called by
    `word`.
    """
    shown = [str(name) for name in order[:most]]
    names = shorten_names([str(row[field]) for row in rows], most=90)
    kinds = list(names.values())
    position = {name: number for number, name in enumerate(names)}
    layout = lay_out_rows(shown, width)
    marked = [
        row
        | {"system": layout.labels[str(row["system"])]}
        | {field: names[str(row[field])], "place": position[str(row[field])]}
        for row in rows
        if str(row["system"]) in layout.labels
    ]
    key = make_row_legend(layout, kinds) if len(kinds) > 1 else None
    below = axis_below(layout, title)
    scale = fit_scale(*([row[name] for row in marked] for name in ("estimate", "lower", "upper")))
    tips = [*text_tips("system", field), *number_tips("estimate", "lower", "upper")]

    def draw_layer(values: list[dict[str, Any]]) -> alt.Chart:
        layer = alt.Chart(make_data(values)).encode(
            y=encode_names(layout),
            color=encode_colour(field, kinds, key),
            tooltip=tips,
            description="system:N",
        )
        if len(kinds) > 1:
            layer = layer.encode(yOffset=alt.YOffset("place:O", sort="ascending"))
        return layer

    layers = []
    bounded = [row for row in marked if np.isfinite(row["lower"]) and np.isfinite(row["upper"])]
    if bounded:
        bars = draw_layer(bounded).mark_rule(strokeWidth=1.2 if layout.crowded else 2, aria=False)
        layers.append(bars.encode(x=alt.X("lower:Q", scale=scale, **below), x2="upper:Q"))
    points = draw_layer(marked).mark_point(filled=True, opacity=1, size=22 if layout.crowded else 45)
    layers.append(
        points.encode(x=alt.X("estimate:Q", scale=scale, **below), shape=encode_shape(field, kinds, key))
    )
    height = layout.height * (1.0 if len(kinds) == 1 else 0.5 + 0.5 * len(kinds))
    drawn = alt.LayerChart(layer=layers).properties(width=layout.width, height=height)
    cut = describe_cut(len(shown), len(order), word)
    return drawn.properties(title=alt.Title(cut, fontSize=layout.size)) if cut else drawn


def draw_points(
    rows: list[dict[str, Any]], field: str, title: str, order: list[str] | None = None, word: str = "system"
) -> alt.LayerChart:
    """Draw rows of `system, estimate, lower, upper` as points with intervals, those of a system side by side.

    `field` tells the rows of a system apart by colour and shape; systems come in the order of `order`, or as given, and
    are called by `word`.
    """
    base, systems, kinds, key = _by_system(rows, field, order, word)
    marks = systems * len(kinds)
    if len(kinds) > 1:
        base = base.encode(xOffset=alt.XOffset("place:O", sort="ascending"))
    bars = base.mark_rule(strokeWidth=1 if marks > CROWDED else 2).encode(
        y=_make_y_axis("lower", title), y2="upper:Q"
    )
    size = 40 if marks <= CROWDED else 22 if marks <= 2 * CROWDED else 10
    points = base.mark_point(filled=True, size=size, opacity=1)
    layers = [bars, points.encode(y=_make_y_axis("estimate"), shape=encode_shape(field, kinds, key))]
    return alt.LayerChart(layer=layers).properties(width=chart_width(systems), height=320)


def draw_bands(rows: list[dict[str, Any]], field: str, title: str, order: list[str]) -> alt.LayerChart:
    """Draw rows of `system, estimate, lower, upper` as lines with bands, for systems too many to draw apart."""
    base, systems, kinds, key = _by_system(rows, field, order, symbolType="stroke", symbolSize=300)
    filled = base.mark_area(opacity=0.22, line=False).encode(y=_make_y_axis("lower", title), y2="upper:Q")
    lines = [
        base.mark_line(strokeWidth=wide).encode(
            y=_make_y_axis(name), strokeDash=encode_dash(field, kinds, key)
        )
        for name, wide in (("lower", 1), ("upper", 1), ("estimate", 1.8))
    ]
    return alt.LayerChart(layer=[filled, *lines]).properties(width=chart_width(systems, 12), height=340)


def _by_system(
    rows: list[dict[str, Any]], field: str, order: list[str] | None, word: str = "system", **symbol: Any
) -> tuple[alt.Chart, int, list[str], alt.Legend | None]:
    """What both ways of drawing have in common, the number of systems, and the kinds of rows with their legend."""
    systems = shorten_names(order or [str(row["system"]) for row in rows], ON_AXIS)
    names = shorten_names([str(row[field]) for row in rows], most=120)
    position = {name: number for number, name in enumerate(names)}
    marked = [
        row
        | {"system": systems[str(row["system"])], field: names[str(row[field])]}
        | {"place": position[str(row[field])]}
        for row in rows
    ]
    kinds = list(names.values())
    key = make_legend(kinds, **symbol)
    base = alt.Chart(make_data(marked)).encode(
        x=system_axis(list(systems.values()), f"{shorten_name(word)}, best first"),
        color=encode_colour(field, kinds, key),
        description="system:N",
        tooltip=[*text_tips("system", field), *number_tips("estimate", "lower", "upper")],
    )
    return base, len(systems), kinds, key


def _list_intervals(
    comparisons: Mapping[str, Comparisons], field: str, level: float, kind: str
) -> list[dict[str, Any]]:
    """Intervals of the systems by each comparison, its name in the field."""
    return [
        row | {field: name}
        for name, pairs in comparisons.items()
        for row in list_records(pairs.intervals(level, kind).reset_index())
    ]


def _make_y_axis(field: str, title: str | None = None) -> alt.Y:
    shown = alt.Y(f"{field}:Q", scale=alt.Scale(zero=False))
    return shown if title is None else shown.title(title)


FEW = 30  # systems; of more, intervals are drawn as bands
INTERVALS = {
    "mean": "CI",
    "comparison": "comparison interval: bars that do not overlap differ significantly",
}
KINDS = {"tukey": "Tukey", "anova": "ANOVA", "sem": "SEM", "comparison": "comparison", "mean": "confidence"}


def model_chart(
    comparisons: Mapping[str, Comparisons],
    *,
    kind: str = "tukey",
    level: float = 0.95,
    measure: str = "mean score",
) -> alt.LayerChart:
    """Draw the systems' means and intervals under several models, shard numbers or splits (F19 Fig. 4 and 5).

    Systems are in the order of the first comparison, such as MD1 on the whole corpus; the title tells how like it
    the other orders are, by Kendall's τ. Give the widest intervals first.

    Parameters
    ----------
    comparisons : mapping of str to Comparisons
        Results of `shardwise.compare` by name.
    kind : str, optional
        Which intervals: that of `Comparisons.intervals`.
    level : float
        Confidence level of the intervals.
    measure : str
        What the means are of.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    rows = _list_intervals(comparisons, "model", level, kind)
    first = next(iter(comparisons.values()))
    label = label_measure(measure, first.lower_is_better)
    title = f"{label}, {100 * level:g}% intervals ({KINDS.get(kind, kind)})"
    order = list(first.names)
    draw = draw_points if len(order) <= FEW else draw_bands
    drawn = draw(rows, "model", title, order)
    return finish_chart(drawn.properties(title=_describe_agreement(comparisons)))


def kind_chart(
    comparisons: Comparisons | Mapping[str, Comparisons],
    *,
    kinds: Sequence[str] = ("tukey", "anova", "sem"),
    level: float = 0.95,
    measure: str = "mean score",
) -> alt.HConcatChart:
    """Draw Tukey's, the ANOVA's and the systems' own (SEM) intervals, one panel a comparison (F19 Fig. 3).

    Each panel has its own order of systems, best first, and tells by Kendall's τ how like that of the first panel
    it is.

    Parameters
    ----------
    comparisons : Comparisons or mapping of str to Comparisons
        One result of `shardwise.compare`, or several by name.
    kinds : sequence of str
        Which intervals, the widest first: kinds of `Comparisons.intervals`.
    level : float
        Confidence level of the intervals.
    measure : str
        What the means are of.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    named = comparisons if isinstance(comparisons, Mapping) else {comparisons.estimates.model: comparisons}
    first = next(iter(named.values()))
    panels = []
    most = 120 if len(named) == 1 else MOST_SHOWN
    for label, (name, pairs) in zip(shorten_names(named, most).values(), named.items(), strict=True):
        rows = [
            row | {"interval": KINDS.get(kind, kind)}
            for kind in kinds
            for row in list_records(pairs.intervals(level, kind).reset_index())
        ]
        draw = draw_points if len(pairs.names) <= FEW else draw_bands
        label_y = f"{label_measure(measure, first.lower_is_better)}, {100 * level:g}% intervals"
        panel = draw(rows, "interval", label_y, list(pairs.names))
        like = f", Kendall's τ with {shorten_name(next(iter(named)), 30)} {_format_tau(first, pairs)}"
        tau = "" if pairs is first else like
        width = (
            chart_width(len(pairs.names), 44)
            if len(named) == 1
            else min(560, chart_width(len(pairs.names), 30))
        )
        panels.append(panel.properties(title=f"{label or name}{tau}", width=width))
    drawn: alt.HConcatChart = alt.hconcat(*panels, spacing=40)
    return finish_chart(drawn.resolve_scale(y="shared") if len(panels) > 1 else drawn)


def _describe_agreement(comparisons: Mapping[str, Comparisons]) -> str:
    (reference, first), *others = comparisons.items()
    labels = shorten_names(comparisons, 30)
    by_tau: dict[str, list[str]] = {}
    for name, pairs in others:
        by_tau.setdefault(_format_tau(first, pairs), []).append(labels[name])
    each = "; ".join(f"{tau} ({', '.join(names)})" for tau, names in by_tau.items())
    return f"Kendall's τ with the order of {labels[reference]}: {each}" if others else ""


def _format_tau(first: Comparisons, other: Comparisons) -> str:
    means, reference = (
        dict(zip(pairs.estimates.labels, pairs.means.tolist(), strict=True)) for pairs in (other, first)
    )
    return f"{kendall_tau(means, reference):.4f}"
