"""All pairs of systems: which methods or claims tell them apart (V17 Fig. 4), and how sharply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import altair as alt
import numpy as np

from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.rankings import discriminative_power
from shardwise.core.errors import InputError
from shardwise.core.text import shorten_names
from shardwise.plot.theme import (
    CROWDED,
    ON_AXIS,
    encode_colour,
    encode_dash,
    finish_chart,
    level_line,
    make_data,
    make_legend,
    number_tips,
    reserve_room,
    text_tips,
)

NEITHER = "none"
MOST_NAMED = 3  # methods; of more it is told how many find a difference, not which
# Okabe and Ito's with black; the first three and the last differ in grey print too, the others by their marks
SHADES = ("#0072B2", "#E69F00", "#000000", "#009E73", "#F0E442", "#CC79A7", "#D55E00")
MARKS = ("", "circle", "cross", "square", "triangle-up", "diamond", "stroke")
NOTHING = "#ececec"
BLUES = ("#08306b", "#9ecae1")  # all of them to one of them


def matrix_chart(
    comparisons: Comparisons | Mapping[str, Comparisons], *, alpha: float = 0.05
) -> alt.LayerChart:
    """Draw one cell a pair, coloured and marked by which of several comparisons tell the two systems apart.

    Rows and columns are systems, best first by the first comparison; the system of the row is found better. A cell
    below the diagonal is a difference against that order. Of more than three comparisons the chart shows how many
    find a difference.

    Parameters
    ----------
    comparisons : Comparisons or mapping of str to Comparisons
        One result of `shardwise.compare`, or several of the same systems by name.
    alpha : float
        Level of significance.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    given = comparisons if isinstance(comparisons, Mapping) else {"significant": comparisons}
    first = next(iter(given.values()))
    findings = _list_findings(list(given.values()), alpha)
    names = list(shorten_names(given, 40).values())
    kinds = _list_kinds(names)
    labels = shorten_names(first.names, ON_AXIS)
    rows: list[dict[str, Any]] = []
    frame = first.to_frame()
    for a, b, difference in zip(frame["a"], frame["b"], frame["difference"], strict=True):
        for better, worse, sign in ((a, b, 1.0), (b, a, -1.0)):
            methods = findings.get((better, worse), ())
            if methods or (sign > 0 and (worse, better) not in findings):
                rows.append(
                    {
                        "a": labels[better],
                        "b": labels[worse],
                        "kind": _name_kind(methods, names),
                        "difference": sign * difference,
                    }
                )
    if len(names) > 2:
        seen = {row["kind"] for row in rows}
        kinds = [kind for kind in kinds if kind in seen]
    styles = _choose_styles(kinds, len(names), len(labels)) | {NEITHER: (NOTHING, "")}
    tips = [
        *text_tips(("a", "better"), ("b", "worse")),
        *number_tips("difference"),
        *text_tips(("kind", "significant by")),
    ]
    title = "significantly different" if len(names) == 1 else "significantly different by"
    return draw_square(rows, list(labels.values()), styles, title, tips, ("worse system", "better system"))


def draw_square(
    rows: list[dict[str, Any]],
    labels: Sequence[str],
    kinds: Mapping[str, tuple[str, str]],
    title: str,
    tips: list[alt.Tooltip],
    axes: tuple[str, str],
) -> alt.LayerChart:
    """Draw cells (b, a) of systems, each of a kind that has a colour and, where a letter would fit, a mark."""
    size = max(160, min(900, 18 * len(labels)))
    step = size / len(labels)
    axis = alt.Axis(
        labelOverlap=True,
        ticks=False,
        domain=False,
        grid=False,
        **reserve_room(labels, min(10, max(7, step))),
    )
    scale = alt.Scale(domain=list(labels))
    key = alt.Legend(
        title=title, labelLimit=400, orient="top", direction="vertical", symbolSize=90, symbolType="square"
    )
    base = alt.Chart(make_data(rows)).encode(
        x=alt.X("b:N", scale=scale, title=axes[0], axis=axis),
        y=alt.Y("a:N", scale=scale, title=axes[1], axis=axis),
        tooltip=tips,
    )
    cells = base.mark_rect(stroke="white", strokeWidth=0 if len(labels) > CROWDED else 0.5).encode(
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=list(kinds), range=[fill for fill, _ in kinds.values()]),
            legend=key,
        ),
    )
    layers = [cells]
    signs = {kind: mark for kind, (_, mark) in kinds.items() if mark}
    if signs and any(row["kind"] in signs for row in rows):
        inked = [row | {"ink": _choose_ink(kinds[row["kind"]][0])} for row in rows if row["kind"] in signs]
        marked = alt.Chart(make_data(inked)).mark_point(
            size=min(40.0, 0.22 * step**2), filled=step < 9, strokeWidth=1.2, opacity=1, aria=False
        )
        layers.append(
            marked.encode(
                x="b:N",
                y="a:N",
                tooltip=tips,
                color=alt.Color("ink:N", scale=None),
                shape=alt.Shape(
                    "kind:N",
                    scale=alt.Scale(domain=list(signs), range=list(signs.values())),
                    legend=alt.Legend(
                        title="marked",
                        labelLimit=400,
                        orient="top",
                        direction="vertical",
                        symbolStrokeColor="#404040",
                    ),
                ),
            )
        )
    drawn = alt.LayerChart(layer=layers).properties(width=size, height=size)
    return finish_chart(drawn)


def _list_findings(
    comparisons: Sequence[Comparisons], alpha: float
) -> dict[tuple[str, str], tuple[int, ...]]:
    """(better, worse) -> numbers of the comparisons that find so, for all pairs with such a finding."""
    findings: dict[tuple[str, str], tuple[int, ...]] = {}
    known: set[frozenset[str]] | None = None
    for number, pairs_compared in enumerate(comparisons):
        frame = pairs_compared.to_frame()
        pairs = list(zip(frame["a"], frame["b"], strict=True))
        unordered = set(map(frozenset, pairs))
        if known is not None and unordered != known:
            raise InputError("the comparisons are not of the same pairs", remedy="compare the same systems")
        known = unordered
        for (a, b), sign in zip(pairs, pairs_compared.directions(alpha).tolist(), strict=True):
            # Against a baseline the first of a pair may be the worse one.
            if sign:
                ordered = (a, b) if sign > 0 else (b, a)
                findings[ordered] = (*findings.get(ordered, ()), number)
    return findings


def _list_kinds(names: Sequence[str]) -> list[str]:
    """All that may be found of a pair, most comparisons first."""
    n = len(names)
    if n > MOST_NAMED:
        return [_name_kind(tuple(range(count)), names) for count in range(n, 0, -1)]
    return [
        _name_kind(chosen, names) for count in range(n, 0, -1) for chosen in combinations(range(n), count)
    ]


def _name_kind(methods: Sequence[int], names: Sequence[str]) -> str:
    n, count = len(names), len(methods)
    if not count:
        return NEITHER
    if n == 1:
        return names[0]
    if n > MOST_NAMED:
        return f"{count} of {n}"
    if count == n:
        return "both" if n == 2 else f"all {n}"
    chosen = " and ".join(names[k] for k in methods)
    return f"only {chosen}" if count == 1 else chosen


def _choose_styles(kinds: Sequence[str], methods: int, systems: int) -> dict[str, tuple[str, str]]:
    if methods > MOST_NAMED:
        return {kind: (fill, "") for kind, fill in zip(kinds, mix_shades(len(kinds)), strict=True)}
    needless = methods < 3 and systems > CROWDED
    marks = ["" if needless else mark for mark in MARKS]
    return dict(zip(kinds, zip(SHADES, marks, strict=False), strict=False))


def _choose_ink(fill: str) -> str:
    """A colour that is seen on the fill: by its luminance as grey print has it."""
    red, green, blue = (int(fill[k : k + 2], 16) for k in (1, 3, 5))
    return "#303030" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def mix_shades(count: int, ends: tuple[str, str] = BLUES) -> list[str]:
    """So many steps from a dark colour to a pale one.

    >>> mix_shades(3, ("#000000", "#ffffff"))
    ['#000000', '#808080', '#ffffff']
    """
    dark, pale = ([int(end[k : k + 2], 16) for k in (1, 3, 5)] for end in ends)
    last = max(count - 1, 1)
    mixed = [[round(d + (p - d) * k / last) for d, p in zip(dark, pale, strict=True)] for k in range(count)]
    return ["#" + "".join(f"{part:02x}" for part in parts) for parts in mixed]


MOST_POINTS = 200  # of a curve; more do not show


def p_curve_chart(
    comparisons: Comparisons | Mapping[str, Comparisons],
    *,
    alpha: float = 0.05,
    column: str = "p_adjusted",
    highest: float | None = None,
) -> alt.LayerChart:
    """Draw p-values in ascending order against the share of pairs (Sakai 2006), with a line at alpha.

    Where a curve crosses that line is the share of pairs told apart.

    Parameters
    ----------
    comparisons : Comparisons or mapping of str to Comparisons
        One result of `shardwise.compare`, or several by name.
    alpha : float
        The level to mark.
    column : {"p_adjusted", "p"}
        Which p-values.
    highest : float, optional
        Where the axis ends; 0.2 by default, or 1 where all p-values are above it.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    given = comparisons if isinstance(comparisons, Mapping) else {comparisons.claim: comparisons}
    labels = shorten_names(given, most=120)
    named = {labels[name]: pairs for name, pairs in given.items()}
    rows = []
    curves = discriminative_power(named, column=column)
    if highest is None:
        highest = 0.2 if float(curves["p"].min()) < 0.2 else 1.0
    for name, frame in curves.groupby("name", sort=False):
        share, p = frame["share"].to_numpy(np.float64), frame["p"].to_numpy(np.float64)
        shown = np.unique(np.linspace(0, int(np.searchsorted(p, highest, "right")), MOST_POINTS).astype(int))
        shown = shown[shown < p.size]
        rows += [{"claim": str(name), "share": float(share[k]), "p": float(p[k])} for k in shown]
    names = list(named)
    key = make_legend(names, direction="vertical", symbolType="stroke", symbolSize=300)
    title = "p-value" if column == "p" else "corrected p-value"
    x = alt.X("share:Q", title="share of pairs", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("p:Q", title=title, scale=alt.Scale(domain=[0, highest]))
    base = alt.Chart(make_data(rows)).encode(x=x, y=y, color=encode_colour("claim", names, key))
    lines = base.mark_line(clip=True, strokeWidth=2).encode(strokeDash=encode_dash("claim", names, key))
    points = base.mark_point(clip=True, size=60, opacity=0).encode(
        tooltip=[*text_tips("claim"), *number_tips("share", format=".1%"), *number_tips("p", format=".3g")]
    )
    layers = [lines, points, level_line(alpha, "y")]
    return finish_chart(alt.LayerChart(layer=layers).properties(width=520, height=240))
