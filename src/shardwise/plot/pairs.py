"""Comparisons of systems: differences, ranks, means and groups with their intervals, and margins (F19, J15)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.leaderboard import tabulate_against
from shardwise.analysis.measures import find_unbeaten
from shardwise.analysis.slices import VERDICTS
from shardwise.comparing.comparisons import Comparisons, describe_size
from shardwise.comparing.equivalence import Equivalence, SettingSeries
from shardwise.comparing.rankings import kendall_tau
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import Either, InputError, refuse_unknown
from shardwise.core.text import MOST_SHOWN, shorten_name, shorten_names
from shardwise.plot import forms
from shardwise.plot.theme import (
    COLOURS,
    CROWDED,
    INK,
    ON_AXIS,
    WIDTH,
    chart_width,
    estimate_width,
    finish_chart,
    label_measure,
    list_records,
)

INTERVAL = ("difference", "lower", "upper")
PAIR_TIPS = ("difference:.4f", "lower:.4f", "upper:.4f", "p:.3g")
SHADES = (COLOURS[0], "#767676", COLOURS[1])
SHAPES = ("circle", "diamond", "square")
BEST = ("may be the best", "is not the best")


def forest_chart(
    comparisons: Comparisons,
    *,
    baseline: str | None = None,
    level: float = 0.95,
    measure: str = "score",
    most: int = forms.MOST_ROWS,
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
    panels, words = _list_panels(comparisons, baseline, level, measure, word, width)
    verdicts = dict(zip((1, 0, -1), words, strict=True))
    frames = [frame[:most] for frame, _ in panels]
    occurring = {int(sign) for frame in frames for sign in frame["verdict"]}
    pick = [k for k, sign in enumerate(verdicts) if sign in occurring]
    scale = forms.fit_scale(*(frame[column] for frame in frames for column in INTERVAL), zero=True)
    drawn, total = [], sum(map(len, frames))
    for (whole, title), frame in zip(panels, frames, strict=True):
        layout = forms.lay_out_rows([str(row) for row in frame["row"]], width, total)
        rows = [
            {"system": layout.labels[row["row"]], "verdict": verdicts[row["verdict"]]}
            | {column: row[column] for column in (*INTERVAL, "p")}
            for row in list_records(frame)
        ]
        numbers = layout.scale_numbers(title, scale)
        key = layout.make_legend([words[k] for k in pick])
        series = forms.Series(
            "verdict", [words[k] for k in pick], key, [SHADES[k] for k in pick], [SHAPES[k] for k in pick]
        )
        shown = forms.tips("system", "verdict", *PAIR_TIPS)
        names = layout.name_rows()
        marks = forms.draw_intervals(rows, names, numbers, INTERVAL, shown, series=series, **layout.marks)
        layers = [forms.draw_level(0.0, "x", **numbers), *marks]
        drawn.append(layout.draw_panel(layers, len(whole), pluralize_noun(word)))
    if len(drawn) == 1:
        return finish_chart(drawn[0])
    joined: alt.VConcatChart = alt.vconcat(*drawn, spacing=24).resolve_scale(x="shared")
    return finish_chart(joined)


def _list_panels(
    comparisons: Comparisons, baseline: str | None, level: float, measure: str, word: str, width: float
) -> tuple[list[tuple[pd.DataFrame, str]], tuple[str, str, str]]:
    """Rows (`row, difference, lower, upper, p, verdict`) and title of each panel, and the words of the verdicts."""
    names, frame = comparisons.names, comparisons.to_frame(level)
    frame["p"], frame["verdict"] = frame.pop("p_adjusted"), comparisons.directions(1.0 - level)
    interval = f"({100 * level:g}% CI)" if np.isfinite(frame["lower"]).any() else "(the test has no interval)"
    what = f"difference in {label_measure(measure, comparisons.lower_is_better, 40)}"
    labels = shorten_names(names, max(int(width / 16), 16))
    if baseline is not None and baseline not in names:
        raise refuse_unknown("system", baseline, names)
    bases = [baseline] if baseline is not None else []
    if not bases and comparisons.directed:
        counts = frame["b"].value_counts(sort=False)
        bases = list(counts.index) if len(counts) == 1 or counts.min() > 1 else []
    if not bases and not comparisons.complete:
        labels = shorten_names(names, 20)
        both = [f"{labels[a]} − {labels[b]}" for a, b in zip(frame["a"], frame["b"], strict=True)]
        words = ("first significantly better", "tied", "second significantly better")
        return [(frame.assign(row=both), f"{what} {interval}")], words
    panels, signs = [], {word: sign for sign, word in VERDICTS.items()}
    for base in bases or names[:1]:
        # best other system first: others less the baseline, or the best less others
        rows = tabulate_against(comparisons, base, 1.0 - level)
        rows = rows.loc[[name for name in names if name in rows.index]].reset_index(names="row")
        rows["p"], rows["verdict"] = rows.pop("p_adjusted"), rows["verdict"].map(signs)
        title = f"each {word} − {labels[base]}"
        if not bases:
            turned = {"difference": -rows["difference"], "lower": -rows["upper"], "upper": -rows["lower"]}
            rows, title = rows.assign(**turned, verdict=-rows["verdict"]), f"{labels[base]} − each {word}"
        panels.append((rows, f"{what}, {title} {interval}"))
    return panels, (
        "significantly better" if bases else "best significantly better",
        "tied",
        "significantly worse",
    )


def rank_chart(
    comparisons: Comparisons, *, level: float = 0.95, most: int = forms.MOST_ROWS, width: float = WIDTH
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
    layout = forms.lay_out_rows([str(name) for name in ranks.index[:most]], width)
    rows = [
        {"system": label, "rank": rank, "rank_best": first, "rank_worst": last, "group": BEST[first > 1]}
        for label, (rank, first, last) in zip(
            layout.labels.values(), ranks.to_numpy(np.int64)[:most].tolist(), strict=True
        )
    ]
    pick = [k for k, group in enumerate(BEST) if any(row["group"] == group for row in rows)]
    groups = [BEST[k] for k in pick]
    key = layout.make_legend(groups)
    series = forms.Series("group", groups, key, [SHADES[k] for k in pick], [SHAPES[k] for k in pick])
    together = ", all at once" if comparisons.error_rate == "family" else ""
    last = max(row["rank_worst"] for row in rows)
    numbers = layout.scale_numbers(
        f"rank and {100 * level:g}% range of ranks{together}",
        {"domain": [1, max(last, 2)], "nice": False, "zero": False, "padding": 10},
        tickMinStep=1,
        format="d",
        values=forms.list_rank_ticks(last, layout.width),
    )
    shown = forms.tips("system", "group", "rank:d", "rank_best:d", "rank_worst:d")
    bar = {"strokeWidth": 3 if layout.crowded else 6, "strokeCap": "round", "opacity": 0.55}
    fields = ("rank", "rank_best", "rank_worst")
    layers = forms.draw_intervals(
        rows, layout.name_rows(), numbers, fields, shown, series=series, bar=bar, **layout.marks
    )
    return finish_chart(layout.draw_panel(layers, len(ranks), pluralize_noun(word)))


INTERVALS = {"mean": "CI", "comparison": "comparison interval: bars that do not overlap differ significantly"}
KINDS = {"tukey": "Tukey", "anova": "ANOVA", "sem": "SEM", "comparison": "comparison", "mean": "confidence"}
MEAN = ("estimate", "lower", "upper")
MEAN_TIPS = ("estimate:.4f", "lower:.4f", "upper:.4f")


def interval_chart(
    comparisons: Comparisons | Mapping[str, Comparisons],
    *,
    level: float = 0.95,
    measure: str = "score",
    interval: str = "mean",
    most: int = forms.MOST_ROWS,
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
    return finish_chart(draw_means(rows, title, first.names, word, most, width))


def draw_means(
    rows: list[dict[str, Any]],
    title: str,
    order: Sequence[str],
    word: str,
    most: int = forms.MOST_ROWS,
    width: float = WIDTH,
) -> alt.LayerChart:
    """Draw rows of `system, claim, estimate, lower, upper`, one row a system, in the order given."""
    layout = forms.lay_out_rows([str(system) for system in order[:most]], width)
    marked, claims = _mark_rows(rows, "claim", layout.labels, 90)
    several = len(claims) > 1
    series = forms.Series("claim", claims, layout.make_legend(claims) if several else None)
    scale = forms.fit_scale(*([row[column] for row in marked] for column in MEAN))
    numbers, shown = layout.scale_numbers(title, scale), forms.tips("system", "claim", *MEAN_TIPS)
    style = layout.marks | ({"yOffset": forms.PLACE} if several else {})
    layers = forms.draw_intervals(marked, layout.name_rows(), numbers, MEAN, shown, series=series, **style)
    height = layout.height * (0.5 + 0.5 * len(claims))
    return layout.draw_panel(layers, len(order), word, height)


FEW = 30  # systems; of more, intervals are drawn as bands


def _draw_systems(rows: list[dict[str, Any]], field: str, title: str, order: Sequence[str]) -> alt.LayerChart:
    """Draw rows of `system, estimate, lower, upper` from left to right: points with bars, or lines with bands."""
    labels = shorten_names(order, ON_AXIS)
    marked, kinds = _mark_rows(rows, field, labels, 120)
    x = forms.name_columns("system", list(labels.values()), "system, best first")
    shown = forms.tips("system", field, *MEAN_TIPS)
    numbers = {"title": title, "scale": {"zero": False}}
    if len(order) > FEW:
        series = forms.Series(field, kinds, forms.make_legend(kinds, **forms.STROKE))
        curves = forms.draw_curves(
            marked, x, forms.number("estimate", **numbers), series, shown, band=MEAN[1:]
        )
        lines = {"x": x} | series.encode("color", "strokeDash")
        edges = [
            forms.draw("line", marked, lines | {"y": forms.number(end, **numbers)}, strokeWidth=1, aria=False)
            for end in MEAN[1:]
        ]
        return forms.layer([*curves, *edges], chart_width(len(order), 12), 340)
    marks = len(order) * len(kinds)
    style: forms.Channel = {"thick": 1, "size": 22} if marks > CROWDED else {"thick": 2, "size": 40}
    style |= {"xOffset": forms.PLACE} if len(kinds) > 1 else {}
    series = forms.Series(field, kinds, forms.make_legend(kinds))
    layers = forms.draw_intervals(marked, x, numbers, MEAN, shown, series=series, upright=True, **style)
    return forms.layer(layers, chart_width(len(order)), 320)


def _mark_rows(
    rows: list[dict[str, Any]], field: str, systems: Mapping[str, str], most: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of the systems that are shown, with labels for names and places for kinds, and the labels of kinds."""
    kinds = shorten_names([str(row[field]) for row in rows], most=most)
    places = {kind: place for place, kind in enumerate(kinds)}
    marked = [
        row
        | {"system": systems[str(row["system"])], field: kinds[str(row[field])]}
        | {"place": places[str(row[field])]}
        for row in rows
        if str(row["system"]) in systems
    ]
    return marked, list(kinds.values())


def _list_intervals(
    comparisons: Mapping[str, Comparisons], field: str, level: float, kind: str
) -> list[dict[str, Any]]:
    """Intervals of the systems by each comparison, its name in the field."""
    return [
        row | {field: name}
        for name, pairs in comparisons.items()
        for row in list_records(pairs.intervals(level, kind).reset_index())
    ]


def model_chart(
    comparisons: Mapping[str, Comparisons],
    *,
    level: float = 0.95,
    kind: str = "tukey",
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
    first = next(iter(comparisons.values()))
    rows = _list_intervals(comparisons, "model", level, kind)
    label = label_measure(measure, first.lower_is_better)
    title = f"{label}, {100 * level:g}% intervals ({KINDS.get(kind, kind)})"
    drawn = _draw_systems(rows, "model", title, first.names)
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
    title = f"{label_measure(measure, first.lower_is_better)}, {100 * level:g}% intervals"
    single = len(named) == 1
    panels = []
    for label, pairs in zip(
        shorten_names(named, 120 if single else MOST_SHOWN).values(), named.values(), strict=True
    ):
        rows = [
            row | {"interval": KINDS.get(kind, kind)}
            for kind in kinds
            for row in list_records(pairs.intervals(level, kind).reset_index())
        ]
        like = f", Kendall's τ with {shorten_name(next(iter(named)), 30)} {_format_tau(first, pairs)}"
        width = chart_width(len(pairs.names), 44 if single else 30)
        panel = _draw_systems(rows, "interval", title, pairs.names)
        heading = f"{label}{'' if pairs is first else like}"
        panels.append(panel.properties(title=heading, width=width if single else min(560, width)))
    drawn: alt.HConcatChart = alt.hconcat(*panels, spacing=40)
    return finish_chart(drawn if single else drawn.resolve_scale(y="shared"))


def _describe_agreement(comparisons: Mapping[str, Comparisons]) -> str:
    """How like the order of the first comparison those of the others are; empty without others."""
    (reference, first), *others = comparisons.items()
    labels = shorten_names(comparisons, 30)
    by_tau: dict[str, list[str]] = {}
    for other, pairs in others:
        by_tau.setdefault(_format_tau(first, pairs), []).append(labels[other])
    each = "; ".join(f"{tau} ({', '.join(names)})" for tau, names in by_tau.items())
    return f"Kendall's τ with the order of {labels[reference]}: {each}" if others else ""


def _format_tau(first: Comparisons, other: Comparisons) -> str:
    """Kendall's τ of the means of two comparisons."""
    means, reference = (
        dict(zip(pairs.estimates.labels, pairs.means.tolist(), strict=True)) for pairs in (other, first)
    )
    return f"{kendall_tau(means, reference):.4f}"


MOST_NAMED = 30  # systems whose names and bars are legible on one axis
ON_SIDE = 24  # characters of a name beside the axis
BAR, LINE, ROW = 0.45, 0.8, 1.0  # distances of bars, from the last bar to the first name, and of names


def critical_chart(
    comparisons: Comparisons, *, alpha: float = 0.05, measure: str = "mean score"
) -> alt.LayerChart:
    """Draw means on an axis and a bar over each homogeneous group, as Demšar (2006) draws mean ranks.

    A bar joins the systems that have a point on it: where each pair has its own variance, a system between them may be
    told from one of the group.

    Parameters
    ----------
    comparisons : Comparisons
        Comparisons of all pairs of up to 30 systems.
    alpha : float
        Significance level.
    measure : str
        What the means are of.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    names = comparisons.names
    if len(names) > MOST_NAMED:
        raise InputError(
            f"{len(names)} systems cannot be named on one axis",
            remedy=Either(
                "draw kind='matrix', or compare fewer with only=[...]", "compare fewer, with --only"
            ),
        )
    mean = dict(zip(comparisons.estimates.labels, comparisons.means.tolist(), strict=True))
    labels = shorten_names(names, ON_SIDE)
    groups = [group for group in comparisons.groups(alpha) if len(group) > 1]
    low, high = min(mean[name] for name in names), max(mean[name] for name in names)
    room = 0.04 * (high - low) or 0.5
    # the best system is on the right, also where its mean is the lowest
    turned = comparisons.lower_is_better
    ends = (low - room, high + room) if turned else (high + room, low - room)
    start = BAR * len(groups) + LINE
    right = (len(names) + 1) // 2
    rows: list[dict[str, Any]] = []
    for k, system in enumerate(names):
        better = k < right  # the best half is named on the right, the best of all on top
        depth = start + ROW * (k if better else len(names) - 1 - k)
        place = {"depth": depth, "side": ends[not better], "end": "right" if better else "left", "top": 0.0}
        rows.append({"system": labels[system], "mean": mean[system]} | place)
    bars, dots = [], []
    for j, group in enumerate(groups):
        means = [mean[system] for system in group]
        bars.append({"bar": BAR * (j + 1), "from": min(means), "to": max(means)})
        dots += [{"bar": BAR * (j + 1), "mean": mean[system], "system": labels[system]} for system in group]
    deepest = max(row["depth"] for row in rows)
    critical = comparisons.critical_difference(alpha)
    legend = f"joined by a bar: tied at {alpha:g}" + f"; critical difference {critical:.3g}" * (
        critical > 0.0
    )
    # the left end, which is the last one where the scale is turned
    placed = {"titleAnchor": "end" if turned else "start", "titleAlign": "left"}
    across: forms.Channel = {
        "title": [label_measure(measure, turned), legend],
        "axis": {"orient": "top", "grid": False, "tickCount": 6, "labelFlush": True, **placed},
        "scale": {"domain": [low - room, high + room], "nice": False, "zero": False, "reverse": turned},
    }
    down: forms.Channel = {
        "axis": None,
        "scale": {"domain": [0.0, deepest + 0.5], "reverse": True, "nice": False},
    }
    x, y, label = forms.number("mean", **across), forms.number("depth", **down), forms.name_field("system")
    thin = {"color": INK, "strokeWidth": 1, "aria": False}
    layers = [
        forms.draw(
            "rule", rows, {"x": x, "y": forms.number("top", **down), "y2": {"field": "depth"}}, **thin
        ),
        forms.draw("rule", rows, {"x": x, "x2": {"field": "side"}, "y": y}, **thin),
    ]
    for end, align, dx in (("left", "right", -4), ("right", "left", 4)):
        half = [row for row in rows if row["end"] == end]
        text = {"x": forms.number("side", **across), "y": y, "text": label, "description": label}
        layers.append(forms.draw("text", half, text, align=align, dx=dx))
    if groups:
        bar = forms.number("bar", **down)
        joined = {"x": forms.number("from", **across), "x2": {"field": "to"}, "y": bar}
        layers.append(forms.draw("rule", bars, joined, color=COLOURS[0], strokeWidth=4, aria=False))
        point = {"x": x, "y": bar, "tooltip": forms.tips("system"), "description": label}
        layers.append(forms.draw("point", dots, point, color=COLOURS[0], filled=True, size=60, opacity=1))
    # Names on the sides may be wider in the font of the reader.
    extent = max(estimate_width(label, 11) for label in labels.values())
    side = 15 + int(0.2 * extent)
    drawn = forms.layer(layers, max(260.0, WIDTH - 2.0 * extent), int(22 * (deepest + 0.5)))
    return finish_chart(drawn.properties(padding={"left": side, "right": side, "top": 5, "bottom": 5}))


def trade_chart(analysis: Analysis, *, width: float = 360.0) -> alt.LayerChart:
    """Draw a benefit against a cost with confidence intervals; filled points are significantly beaten on both by none.

    Parameters
    ----------
    analysis : Analysis
        An analysis of one benefit and one cost, of up to 30 systems.
    width : float
        Width of the chart in pixels.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    benefit, cost = sorted(analysis.each, key=lambda each: each.comparisons.lower_is_better)
    labels, unbeaten = shorten_names(analysis.systems, ON_SIDE), set(find_unbeaten(analysis))
    ends = ("estimate", "lower", "upper")
    rows: list[dict[str, Any]] = [
        {"system": labels[name], "unbeaten": name in unbeaten}
        | {f"x_{end}": float(cost.lead.intervals[end][name]) for end in ends}
        | {f"y_{end}": float(benefit.lead.intervals[end][name]) for end in ends}
        for name in analysis.systems
    ]
    titles = [label_measure(each.measure, each.comparisons.lower_is_better) for each in (cost, benefit)]
    scales = [forms.fit_scale(*([row[f"{axis}_{end}"] for row in rows] for end in ends)) for axis in "xy"]
    x, y = (
        forms.number(f"{axis}_estimate", title, scale=scale)
        for axis, title, scale in zip("xy", titles, scales, strict=True)
    )
    label, thin = forms.name_field("system"), {"color": COLOURS[0], "opacity": 0.45, "aria": False}
    across = {"x": forms.number("x_lower", titles[0], scale=scales[0]), "x2": {"field": "x_upper"}, "y": y}
    upright = {"y": forms.number("y_lower", titles[1], scale=scales[1]), "y2": {"field": "y_upper"}, "x": x}
    layers = [forms.draw("rule", rows, channels, **thin) for channels in (across, upright)]
    point = {"x": x, "y": y, "tooltip": forms.tips("system"), "description": label}
    for kept in (True, False):
        part = [row for row in rows if row["unbeaten"] is kept]
        fill = COLOURS[0] if kept else "white"
        layers.append(forms.draw("point", part, point, color=COLOURS[0], fill=fill, size=70, opacity=1))
    layers.append(
        forms.draw("text", rows, {"x": x, "y": y, "text": label}, align="left", dx=7, dy=-8, aria=False)
    )
    # names are to the right of points, the last of which is at the edge
    room = 15 + int(1.2 * max(estimate_width(text, 11) for text in labels.values()))
    drawn = forms.layer(layers, width, 0.7 * width)
    return finish_chart(drawn.properties(padding={"left": 5, "right": room, "top": 5, "bottom": 5}))


MOST_PAIRS = 45  # pairs; more, unless all have one system in common, are drawn as a square of systems
DECIDED = {  # what the interval shows, given the margin: the claim, nothing, or its contrary
    "both": ("equivalent", "undecided", "different"),
    "lower": ("no worse", "undecided", "worse"),
    "superior": ("better", "undecided", "not better"),
}
GOALS = {
    "both": "equivalent within ±{:g}",
    "lower": "not worse by {:g} or more",
    "superior": "better by more than {:g}",
}
DECIDED_SHADES = (COLOURS[2], COLOURS[4], COLOURS[1])
DECIDED_SHAPES = ("circle", "diamond", "cross")
FILLS = ("#0072B2", "#E69F00", "#ececec")  # of cells, which have no shape: apart in grey print


def margin_chart(
    result: Equivalence | SettingSeries | Mapping[str, SettingSeries], *, measure: str = "score"
) -> alt.LayerChart | alt.HConcatChart:
    """Draw differences with their intervals against the margin, by colour, shape and word of the verdict.

    One row a pair of systems; of more pairs than fit, a square of systems with the verdicts. A series of settings runs
    from left to right (J15 Fig. 12; with numbers of topics for settings, Fig. 3); several series, by name, are
    several panels.

    Parameters
    ----------
    result : Equivalence, SettingSeries or mapping of str to SettingSeries
        The result of `shardwise.equivalence` or `shardwise.instances.smallest_setting`.
    measure : str
        What the differences are in.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    if isinstance(result, Equivalence):
        pairs = [set(pair) for pair in zip(result.table["a"], result.table["b"], strict=True)]
        many = len(pairs) > MOST_PAIRS and not set.intersection(*pairs)
        return finish_chart(_draw_verdicts(result) if many else _draw_pairs(result, measure))
    if isinstance(result, SettingSeries):
        word = f"{DECIDED[result.side][0]} (margin {result.margin:g})"
        title = f"no setting from which on all are {word}"
        if result.smallest is not None:
            title = f"from {shorten_name(str(result.smallest))} on, all are {word}"
        return finish_chart(_draw_settings(result, measure).properties(title=title))
    if not result:
        raise InputError("there are no series to draw", remedy="give one or more by name")
    names = shorten_names(result)
    panels = [
        _draw_settings(series, names[name]).properties(width=max(180, min(300, 34 * len(series.table))))
        for name, series in result.items()
    ]
    row: alt.HConcatChart = alt.hconcat(*panels, spacing=40)
    # Other sides have other words for the verdicts, so another legend.
    if len({series.side for series in result.values()}) > 1:
        row = row.resolve_scale(color="independent", shape="independent")
    return finish_chart(row)


def difference_chart(
    result: Comparisons, *, level: float = 0.95, margin: float | None = None, measure: str = "score"
) -> alt.LayerChart:
    """Draw the difference of two systems with its interval, or ± one standard error where there is none.

    Parameters
    ----------
    result : Comparisons
        One pair, such as the result of `shardwise.compare_instances`.
    level : float
        Confidence level of the interval.
    margin : float, optional
        A difference that matters, marked either side of 0.
    measure : str
        What the difference is in.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    if len(result) != 1:
        raise InputError(
            f"there are {len(result)} pairs",
            remedy=("draw one", Either(", as in compare(…, only=[(a, b)])", "")),
        )
    pair = result.to_frame(level).iloc[0]
    difference, low, high, p, effect = (float(pair[column]) for column in (*INTERVAL, "p", "effect_size"))
    spread = f"{100 * level:g}% interval"
    if not np.isfinite(low):
        low, high = difference - float(pair["se"]), difference + float(pair["se"])
        spread = "± 1 standard error"
    a, b = shorten_names((pair["a"], pair["b"]), most=40).values()
    row = {
        "pair": f"{a} − {b}",
        "difference": difference,
        "lower": low,
        "upper": high,
        "p": p,
        "effect": effect,
    }
    numbers = {
        "title": f"difference in {shorten_name(measure)}, {spread}",
        "scale": {"zero": True, "padding": 14},
        "axis": {"tickCount": 7},
    }
    shown = forms.tips("pair", *PAIR_TIPS, "effect:.3g=effect size")
    y = forms.name_rows("pair", [f"{a} − {b}"], labelPadding=8)
    edges = _draw_edges([0.0] if margin is None else [-margin, 0.0, margin], "x")
    layers = [edges, *forms.draw_intervals([row], y, numbers, INTERVAL, shown, thick=3, size=80)]
    subtitle = f"p = {p:.3g}, effect size {effect:.2f} ({describe_size(effect)})"
    return forms.finish_layers(layers, 460, 60, subtitle)


def _draw_pairs(result: Equivalence, measure: str) -> alt.LayerChart:
    """One row a pair, with the verdict beside it where there is room."""
    labels = shorten_names([*result.table["a"], *result.table["b"]], most=32)
    rows = [
        row
        | {"a": labels[row["a"]], "b": labels[row["b"]], "pair": f"{labels[row['a']]} − {labels[row['b']]}"}
        | {"verdict": _decide_verdict(row, result)}
        for row in list_records(result.table)
    ]
    step = 22 if len(rows) <= 40 else max(6, 900 // len(rows))
    axis = {"labelOverlap": True, "labelPadding": 8, "labelFontSize": 10 if step > 10 else 7}
    y = forms.name_rows("pair", [row["pair"] for row in rows], **axis)
    title = f"difference in {label_measure(measure, result.lower_is_better)}"
    numbers = {
        "title": f"{title}, {100 * result.level:.4g}% intervals",
        "scale": {"zero": True, "padding": 14},
    }
    marks = {"thick": 1.2, "size": 16} if step <= 10 else {"thick": 2.5, "size": 70}
    layers = _draw_decided(rows, result, y, numbers, False, **marks)
    if len(rows) <= 40:
        text = {"y": y, "x": forms.number("upper", **numbers), "text": forms.name_field("verdict")}
        layers.append(forms.draw("text", rows, text, align="left", dx=6, fontSize=10, color=INK, aria=False))
    return forms.layer(layers, 460, step * len(rows), _describe_goal(result))


def _draw_settings(result: SettingSeries, measure: str) -> alt.LayerChart:
    """One column a setting."""
    settings = shorten_names(map(str, result.table["setting"]))
    rows = [
        row | {"setting": settings[str(row["setting"])], "verdict": _decide_verdict(row, result)}
        for row in list_records(result.table)
    ]
    x = forms.name("setting", [row["setting"] for row in rows], "setting", labelAngle=0, grid=False)
    title = f"difference in {label_measure(measure, result.lower_is_better)}"
    numbers = {"title": title, "scale": {"zero": True}}
    layers = _draw_decided(rows, result, x, numbers, True, thick=2.5, size=70)
    return forms.layer(layers, max(240, min(900, 40 * len(rows))), 280)


def _draw_decided(
    rows: list[dict[str, Any]],
    result: Equivalence | SettingSeries,
    names: forms.Channel,
    numbers: forms.Channel,
    upright: bool,
    **marks: Any,
) -> list[alt.Chart]:
    """The differences that the claim allows, as far as these have two ends, its margins, and intervals by verdict."""
    across = "y" if upright else "x"
    margin = -result.margin if result.lower_is_better else result.margin
    lines = {"both": [-margin, 0.0, margin], "lower": [-margin, 0.0], "superior": [0.0, margin]}
    zone = [{"from": -result.margin, "to": result.margin}] if result.side == "both" else []
    span = {across: forms.number("from", **numbers), f"{across}2": {"field": "to"}}
    key = {"title": None, "orient": "top", "labelLimit": 400}
    series = forms.Series("verdict", DECIDED[result.side], key, DECIDED_SHADES, DECIDED_SHAPES)
    shown = forms.tips(*(["setting"] if upright else ["a", "b"]), "verdict", *PAIR_TIPS)
    marks |= {"series": series, "upright": upright}
    return [
        forms.draw("rect", zone, span, color="#bdbdbd", opacity=0.3, aria=False),
        _draw_edges(lines[result.side], across),
        *forms.draw_intervals(rows, names, numbers, INTERVAL, shown, **marks),
    ]


def _draw_edges(values: list[float], axis: str) -> alt.Chart:
    """A line at 0 and dashed ones at the margins."""
    rows = [{"at": value, "kind": "zero" if value == 0 else "margin"} for value in values]
    dashes = forms.Series("kind", ["zero", "margin"]).encode(strokeDash=[[1, 0], [4, 3]])
    return forms.draw("rule", rows, dashes | {axis: forms.number("at")}, color=INK, strokeWidth=1, aria=False)


def _draw_verdicts(result: Equivalence) -> alt.LayerChart:
    """The verdicts on many pairs as a square; the systems that come first most often stand first."""
    wins = Counter(result.table["a"])
    order = sorted({*result.table["a"], *result.table["b"]}, key=lambda name: (-wins[name], name))
    labels = shorten_names(order, ON_AXIS)
    rows = [
        {"a": labels[row["a"]], "b": labels[row["b"]], "kind": _decide_verdict(row, result)}
        | {column: row[column] for column in INTERVAL}
        for row in list_records(result.table)
    ]
    marks = ("", "circle" if len(order) <= CROWDED else "", "")
    kinds = dict(zip(DECIDED[result.side], zip(FILLS, marks, strict=True), strict=True))
    shown = forms.tips("a", "b", "kind=verdict", *PAIR_TIPS[:3])
    axes = ("second system", "first system")
    drawn = forms.draw_square(rows, list(labels.values()), kinds, axes, shown, title="verdict")
    return drawn.properties(title=_describe_goal(result))


def _decide_verdict(row: Mapping[str, Any], result: Equivalence | SettingSeries) -> str:
    """Whether the claim holds, its contrary, or neither."""
    yes, undecided, no = DECIDED[result.side]
    if row["holds"]:
        return yes
    margin, lowest, highest = result.margin, row["lower"], row["upper"]
    if result.lower_is_better:
        lowest, highest = -highest, -lowest
    contrary = {
        "both": lowest > margin or highest < -margin,
        "lower": highest < -margin,
        "superior": highest < margin,
    }
    return no if contrary[result.side] else undecided


def _describe_goal(result: Equivalence) -> str:
    """How many pairs meet the claim."""
    met = int(result.table["holds"].sum())
    return f"{met} of {len(result.table)} {GOALS[result.side].format(result.margin)}"
