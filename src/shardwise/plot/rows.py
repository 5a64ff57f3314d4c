"""Rows of names beside bars: the layout that forests, rank ranges and intervals share."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from shardwise.core.text import MOST_SHOWN, shorten_name, shorten_names

WIDTH = 660
"""Pixels of a whole chart: what a cell of a notebook has room for."""
MOST_ROWS = 150
"""Systems that a chart names; `most` draws more of them."""
COLUMN = 229
"""Points of the narrowest column of common two-column papers, 8 cm; a drawing has a pixel a point."""
NARROW, WIDE = frozenset("iIjlftr.,:;'`|!()[]{}/\\- "), frozenset("mwMWGOQ@%…—")


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of a chart with one row a name, in pixels.

    Parameters
    ----------
    labels : dict of str to str
        Label of each name.
    size : float
        Height of letters.
    step : float
        Height of a row.
    extent : float
        Room for the labels.
    width : float
        Room for the bars.
    """

    labels: dict[str, str]
    size: float
    step: float
    extent: float
    width: float

    @property
    def height(self) -> float:
        """Height of all rows."""
        return self.step * len(self.labels)

    @property
    def crowded(self) -> bool:
        """Whether marks have to be small."""
        return self.step < 15.0


def lay_out_rows(names: Sequence[str], width: float = WIDTH, total: int = 0) -> Layout:
    """Choose labels and sizes of rows: small letters where there are many, names cut to less than half of the width.

    Parameters
    ----------
    names : sequence of str
        Names from top to bottom.
    width : float
        Pixels of the whole chart.
    total : int
        Rows of all panels, where there are several.

    Returns
    -------
    Layout
        Labels that differ, and sizes.

    >>> layout = lay_out_rows(["bm25", "dense"])
    >>> layout.labels, layout.size, layout.height
    ({'bm25': 'bm25', 'dense': 'dense'}, 11.0, 40.0)
    """
    count = max(total, len(names))
    if width < WIDTH / 2:
        size, step = (8.0, 13.0) if count <= 30 else (7.0, 9.5)
    else:
        size, step = (11.0, 20.0) if count <= 40 else (9.0, 12.5) if count <= MOST_ROWS else (8.0, 11.0)
    labels = shorten_names(names, max(int(0.45 * width / (0.62 * size)), 16))
    extent = 6.0 + max((estimate_width(label, size) for label in labels.values()), default=0.0)
    margin = 8.0 if width < WIDTH / 2 else 24.0
    return Layout(labels, size, step, extent, max(width - extent - margin, 0.3 * width))


def estimate_width(text: str, size: float) -> float:
    """Estimate the width of a text in a wide sans-serif font, so that it fits in all common ones.

    Parameters
    ----------
    text : str
        A line.
    size : float
        Height of letters in pixels.

    Returns
    -------
    float
        Pixels.

    >>> estimate_width("iii", 10) < estimate_width("abc", 10) < estimate_width("漢字語", 10)
    True
    """
    ems = 0.0
    for character in text:
        if unicodedata.east_asian_width(character) in "WF":
            ems += 1.05
        elif character in NARROW:
            ems += 0.42
        elif character in WIDE:
            ems += 1.0
        else:
            ems += 0.72 if character.isupper() else 0.64
    return ems * size


def wrap_text(text: str, width: float, size: float) -> list[str]:
    """Break a text at spaces into lines that fit.

    Parameters
    ----------
    text : str
        A title.
    width : float
        Pixels of a line.
    size : float
        Height of letters in pixels.

    Returns
    -------
    list of str
        Lines; a word that is longer than a line has one of its own.

    >>> wrap_text("difference in AP, dense − each system (95% CI)", 200, 11)
    ['difference in AP, dense − each', 'system (95% CI)']
    """
    lines: list[str] = []
    # a level stays beside its CI
    for word in re.split(r" (?!CI\b)", text):
        if lines and estimate_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def encode_names(layout: Layout, field: str = "system") -> alt.Y:
    """Encode names from top to bottom, one row each."""
    axis = alt.Axis(
        domain=False,
        ticks=False,
        grid=False,
        labelLimit=0,
        labelOverlap=False,
        labelPadding=6,
        labelFontSize=layout.size,
        minExtent=layout.extent,
        maxExtent=layout.extent,
    )
    return alt.Y(f"{field}:N", scale=alt.Scale(domain=list(layout.labels.values())), title=None, axis=axis)


def axis_below(layout: Layout, title: str, **options: Any) -> dict[str, Any]:
    """Make the title and the axis of numbers: below few rows, above many, where readers start."""
    common: dict[str, Any] = {
        "orient": "top" if layout.crowded and layout.height > 400 else "bottom",
        "labelFontSize": layout.size,
        "titleFontSize": layout.size + 0.5 if layout.size < 9 else 11.5,
        # From the left of the names, where a title has room.
        "titleAnchor": "start",
        "titleAlign": "left",
        "titleX": -layout.extent + 6.0,
        "tickCount": max(int(layout.width / 60), 3),
        "labelFlush": True,
    }
    lines = wrap_text(title, layout.extent + layout.width - 12.0, common["titleFontSize"])
    return {"title": lines, "axis": alt.Axis(**(common | options))}


def fit_scale(*columns: Iterable[float], zero: bool = False) -> alt.Scale:
    """Fit the scale of an axis to all finite values, with a little room on both sides."""
    values = [float(x) for column in columns for x in column if math.isfinite(x)]
    low, high = (
        min([*values, 0.0] if zero else values or [0.0]),
        max([*values, 0.0] if zero else values or [0.0]),
    )
    # Equal values, and such as differ by rounding only, have no scale of their own.
    room = 0.03 * (high - low) if high - low > 1e-12 * max(abs(low), abs(high)) else max(0.5, 1e-6 * abs(low))
    return alt.Scale(domain=[low - room, high + room], nice=False, zero=False)


def list_round_ticks(low: float, high: float) -> list[float]:
    """List 1, 2 and 5 times powers of ten for a logarithmic axis; every power where these are few enough.

    >>> list_round_ticks(12, 1000)
    [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    return [m * 10.0**k for k in powers for m in steps if low <= m * 10.0**k <= high * (1.0 + 1e-9)]


def make_row_legend(layout: Layout, names: Sequence[str]) -> alt.Legend:
    """Make a legend above the rows."""
    return make_word_legend(names, layout.size, layout.width)


def make_word_legend(names: Sequence[str], size: float, width: float, **options: Any) -> alt.Legend:
    """Make a legend above a chart, side by side where all names are short, so that they do not touch in any font."""
    room = sum(estimate_width(name, size) + 34.0 for name in names)
    common: dict[str, Any] = {
        "title": None,
        "orient": "top",
        "direction": "horizontal" if room < width and max(map(len, names)) <= 26 else "vertical",
        "labelLimit": 0,
        "labelFontSize": size,
        "symbolSize": 60 if size > 8 else 30,
        "symbolOpacity": 1,
        "columnPadding": 36,
        "offset": 6,
    }
    return alt.Legend(**(common | options))


def label_measure(measure: str, lower_is_better: bool, most: int = MOST_SHOWN) -> str:
    """Return a measure as axes call it, with its direction where lower is better.

    >>> label_measure("wer", True), label_measure("AP", False)
    ('wer (lower is better)', 'AP')
    """
    return shorten_name(measure, most) + " (lower is better)" * lower_is_better


def describe_cut(shown: int, total: int, noun: str) -> str:
    """Say which rows a chart has, where it has not all."""
    return "" if shown >= total else f"the first {shown:,} of {total:,} {noun}"
