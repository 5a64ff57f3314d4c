"""The scores behind the means: items and systems, wins and losses, power by items, and single repeats (J15)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.power import POWER, find_present_design, list_round_differences, round_below
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.measure import UNNAMED
from shardwise.core.scores import as_scores
from shardwise.core.text import shorten_name, shorten_names
from shardwise.plot import forms
from shardwise.plot.theme import (
    COLOURS,
    INK,
    WIDTH,
    check_columns,
    estimate_width,
    finish_chart,
    label_measure,
    list_records,
    wrap_text,
)

MOST_CELLS = 3_600
"""Cells of a heat map; of more, neighbours are averaged."""
NAMED_ITEMS = 36
"""Items that a heat map names."""
MOST_BARS = 240
"""Bars of a strip; of more, neighbours of one outcome are averaged."""
SHADES = (COLOURS[0], "#8c8c8c", COLOURS[1])
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
    row_edges = split_evenly(
        len(names), len(names) if len(names) <= forms.MOST_ROWS else forms.MOST_ROWS // 2
    )
    column_edges = split_evenly(y.shape[1], max(cells // (len(row_edges) - 1), 12))
    means = average_blocks(y, row_edges, column_edges)
    spans = list(pairwise(row_edges.tolist()))
    layout = forms.lay_out_rows([names[i] if j - i == 1 else f"ranks {i + 1}–{j}" for i, j in spans], width)
    labels = list(layout.labels.values())
    topic = matrix.nouns.get("topic", "topic")
    items = [str(item) for item in matrix.scores.index]
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
    axis: forms.Channel = {"grid": False, "titleAnchor": "start", "titleFontSize": 11.5}
    if named:
        extent = 6.0 + max(estimate_width(label, 9) for label in short.values())
        upright: forms.Channel = {"labelAngle": -90, "labelLimit": 0, "labelFontSize": 9, "minExtent": extent}
        across = {"x": forms.name("item", short.values(), **axis, **upright) | {"title": lines}}
    else:
        scale = {"domain": [0, len(items)], "nice": False}
        x = forms.number("from", lines, scale=scale, axis=axis | {"labels": False, "ticks": False})
        across = {"x": x, "x2": {"field": "to"}}
    key = {"orient": "top", "gradientLength": 160, "titleLimit": 0, "offset": 6, "format": "~g"}
    measure = label_measure(matrix.measure, matrix.lower_is_better, 40)
    shade = {"scheme": "viridis", "zero": False, "reverse": matrix.lower_is_better}
    channels = {
        "y": layout.name_rows(),
        "color": forms.number("score", scale=shade, legend=key | {"title": measure}),
        "tooltip": forms.tips("system", *([f"item={topic}"] if single else []), "score:.4f"),
    }
    step = max(layout.step - 4.0, layout.size + 2.0)
    drawn = forms.layer(
        [forms.draw("rect", rows, channels | across, aria=False)], layout.width, step * len(labels)
    )
    return finish_chart(drawn.properties(view=alt.ViewBackground(fill=EMPTY, stroke=None)))


def split_evenly(count: int, parts: int) -> Ints:
    """Edges of at most so many parts of a range, 0 and `count` included, whose sizes differ by one at most.

    >>> split_evenly(7, 3).tolist(), split_evenly(2, 5).tolist()
    ([0, 2, 4, 7], [0, 1, 2])
    """
    return np.unique(np.linspace(0, count, min(parts, count) + 1).astype(np.int64))


def average_blocks(y: Floats, row_edges: Ints, column_edges: Ints) -> Floats:
    """Average the (R, T) values that are there in blocks of neighbours, NaN where all of a block are missing.

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
    names = list(shorten_names(map(str, known["item"]), 40).values())
    rows = [
        {
            "from": start,
            "to": stop,
            "difference": float(difference[start:stop].mean()),
            "outcome": words[kind],
        }
        | {"items": names[start] if stop - start == 1 else format_count(stop - start, topic)}
        for kind, start, stop in _list_runs(outcome, bars)
    ]
    key = forms.make_word_legend(list(words.values()), 11, width, symbolType="square")
    shade = forms.Series("outcome", words.values(), key, SHADES).encode("color")
    missing = f"; {counts['missing']:,} lack a score" if counts["missing"] else ""
    below = f"{format_count(len(known), topic)} by difference{missing}; dashed: mean {items.difference:+.3g}"
    tall, wide = 240.0, width - 70.0
    plain = {"grid": False, "labels": False, "ticks": False, "titleAnchor": "start", "titleFontSize": 11.5}
    span = {"domain": [0, max(len(known), 1)], "nice": False}
    across = {
        "x": forms.number("from", wrap_text(below, wide, 11.5), scale=span, axis=plain),
        "x2": {"field": "to"},
    }
    measure = f"difference in {label_measure(items.measure, items.lower_is_better, 40)}"
    scale = {"zero": True, "nice": False, "padding": 6}
    up = {
        "y": forms.number(
            "difference", wrap_text(measure, tall, 11.5), scale=scale, axis={"titleFontSize": 11.5}
        ),
        "y2": {"datum": 0},
        "tooltip": forms.tips(f"items={topic}", "outcome", "difference:.4f"),
    }
    layers = [forms.draw("rect", rows, across | up | shade, aria=False)]
    if counts["tie"]:
        ties = [row for row in rows if row["outcome"] == words["tie"]]
        layers.append(
            forms.draw("rule", ties, across | shade | {"y": {"datum": 0}}, strokeWidth=3, aria=False)
        )
    return forms.finish_layers([*layers, forms.draw_level(items.difference, "y", scale=scale)], wide, tall)


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


POINTS = 60
"""Numbers of items of a curve."""
MOST_TIMES = 20.0
"""Largest number of items drawn, in units of the number at hand."""


def power_curve_chart(
    analysis: Analysis, *, differences: list[float] | None = None, width: float = WIDTH
) -> alt.LayerChart:
    """Draw the power to detect a difference against the number of items; points mark the number at hand.

    Power is that of a `shardwise.planning.Design` for the default test of one pair, all pairs corrected, with the
    variances of the analysis; where scores have repeats, their number stays.

    Parameters
    ----------
    analysis : Analysis
        The result of `shardwise.analyze`.
    differences : list of float, optional
        True differences, a curve each; without them the one that is detected here with 80% power, a smaller round one,
        and that of the closest tie.
    width : float
        Pixels of the whole chart.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    present = find_present_design(analysis)
    assert present is not None
    now, detectable = present.topics, float(present.detectable)
    if differences is None:
        tie = analysis.open_tie()
        smaller = list_round_differences(round_below(0.7 * detectable))[1:3]
        near = [tie.difference] if tie is not None and tie.difference > 0.1 * detectable else []
        differences = sorted({float(f"{detectable:.2g}"), *smaller, *near}, reverse=True)
    if not differences or min(differences) <= 0.0:
        raise InputError("a difference to detect must be above 0", remedy="give numbers such as 0.05")
    # As far as the smallest difference needs, within reason.
    reach = now * min(max(2.0, 1.2 * (detectable / min(differences)) ** 2), MOST_TIMES)
    counts = np.unique(np.append(np.geomspace(max(min(now / 4.0, 10.0), 3.0), reach, POINTS).round(), now))
    labels = [f"{d:g}" for d in differences]
    rows = [
        {"items": float(n), "power": float(p), "difference": label}
        for label, d in zip(labels, differences, strict=True)
        for n, p in zip(counts, replace(present, topics=counts, min_diff=d).power, strict=True)
        if np.isfinite(p)
    ]
    key = {
        "title": f"true difference in {shorten_name(analysis.measure, 40)}",
        "orient": "top",
        "direction": "horizontal",
        "columns": max(int(width // 110), 1),
        "symbolStrokeWidth": 2,
        "labelLimit": 0,
        "titleLimit": 0,
        "columnPadding": 20,
        **forms.STROKE,
    }
    wide = width - 70.0
    systems = analysis.format_count(len(analysis.systems), "system")
    corrected = f", all pairs of {systems} corrected" if len(analysis.systems) > 2 else ""
    below = f"{analysis.nouns_for('topic')}{corrected}; marked: the {now:,} at hand"
    ends = [float(counts[0]), float(counts[-1])]
    axis = {
        "titleAnchor": "start",
        "titleFontSize": 11.5,
        "format": ",d",
        "values": forms.list_round_ticks(*ends),
    }
    scale = {"type": "log", "nice": False, "domain": ends}
    x = forms.number("items", wrap_text(below, wide, 11.5), scale=scale, axis=axis)
    shares = {"format": "%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1], "titleFontSize": 11.5}
    up: dict[str, Any] = {"scale": {"domain": [0, 1], "nice": False}, "axis": shares}
    y = forms.number("power", f"power; dashed: {POWER:.0%}", **up)
    series, shown = forms.Series("difference", labels, key), forms.tips("difference", "items:,d", "power:.1%")
    at_hand = [row for row in rows if row["items"] == now]
    marks = {"x": x, "y": y, "tooltip": shown, "description": forms.name_field("difference")} | series.encode(
        "color"
    )
    layers = [
        forms.draw_level(POWER, "y", **up),
        forms.draw("rule", [{"items": now}], {"x": x}, color=INK, opacity=0.5, aria=False),
        *forms.draw_curves(rows, x, y, series, shown),
        forms.draw("point", at_hand, marks, filled=True, size=90, opacity=1, stroke="white"),
    ]
    return forms.finish_layers(layers, wide, 260)


def instance_means_chart(scores: Any, *, most: int = forms.MOST_ROWS, width: float = WIDTH) -> alt.LayerChart:
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
    nouns = table.nouns
    instance, system = nouns.get("instance", "instance"), nouns.get("system", "system")
    means = table.mean(*(d for d in table.dims if d not in ("system", "instance")))
    values, names = np.asarray(means.values, dtype=float), table.systems
    centres = np.array([row[np.isfinite(row)].mean() if np.isfinite(row).any() else np.nan for row in values])
    order = np.argsort(-table.measure.sign * centres, kind="stable")[:most]
    layout = forms.lay_out_rows([names[k] for k in order], width)
    labels = table.labels["instance"]
    rows, middles = (
        [
            {"system": layout.labels[names[k]], "instance": label, "mean": value}
            for k in order
            for label, value in zip(repeats, columns[k], strict=True)
            if np.isfinite(value)
        ]
        for repeats, columns in ((labels, values), (["all"], centres[:, None]))
    )
    measure = "" if table.measure.name == UNNAMED else f"{shorten_name(table.measure.name, 40)}: "
    title = f"{measure}mean of each {instance}; bar: mean of all"
    channels = {
        "x": forms.number(
            "mean", **layout.scale_numbers(title, forms.fit_scale(row["mean"] for row in rows))
        ),
        "y": layout.name_rows(),
        "tooltip": forms.tips(f"system={system}", f"instance={instance}", "mean:.4f"),
        "description": forms.name_field("system"),
    }
    size = 18 if layout.crowded else 45
    layers = [
        forms.draw("point", rows, channels, filled=True, size=size, opacity=0.5, color=COLOURS[0]),
        forms.draw("tick", middles, channels, thickness=3, color=COLOURS[1], height=0.7 * layout.step),
    ]
    return finish_chart(layout.draw_panel(layers, len(names), pluralize_noun(system)))


VERDICTS = ("better", "no difference", "worse")


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
    known = [verdict for verdict in VERDICTS if verdict in set(tests["verdict"])]
    channels = {
        "x": forms.number("difference", "difference", scale={"zero": True, "padding": 14}),
        "y": forms.name_rows("instance", [row["instance"] for row in rows]),
        "tooltip": forms.tips(f"instance={noun}", "verdict", "difference:.4f", "p:.3g"),
        **forms.Series("verdict", known, forms.make_legend(known)).encode("color", "shape"),
    }
    points = forms.draw("point", rows, channels, filled=True, size=80, opacity=1)
    title = f"{pair + ': ' if pair else ''}each {noun} by itself"
    return forms.finish_layers([forms.draw_level(0.0, "x"), points], 460, 22 * len(rows), title)
