"""What all charts share: colours and marks, sizes of text, data, and the frame around a chart."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import altair as alt
import numpy as np
import pandas as pd

from shardwise.core.errors import InputError
from shardwise.core.text import MOST_SHOWN, shorten_name

# Okabe and Ito's colours; in grey print some look alike, so that shapes and dashes go with them
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 2, 1, 2, 1, 2])
INK = "#404040"
DASH = [4, 3]  # of lines that are no data: levels, margins, zero
ON_AXIS = 44  # characters of a name beside an axis, where there is less room than in a line
CROWDED = 60  # systems; from here on marks and labels shrink
SIZE: dict[str, Any] = {"width": 420, "height": 280}  # of charts of numbers against numbers
WIDTH = 660
"""Pixels of a whole chart: what a cell of a notebook has room for."""
COLUMN = 229
"""Points of the narrowest column of common two-column papers, 8 cm; a drawing has a pixel a point."""
NARROW, WIDE = frozenset("iIjlftr.,:;'`|!()[]{}/\\- "), frozenset("mwMWGOQ@%…—")

Chart = alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart
ChartKind = TypeVar("ChartKind", alt.Chart, alt.LayerChart, alt.HConcatChart, alt.VConcatChart)


class _Offline:
    """Shows a chart in a notebook as a drawing that needs no network, unless another renderer of altair was chosen."""

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **options)  # type: ignore[misc]
        # Loaded here, since drawing needs the converter.
        from shardwise.plot.saving import render_image

        return {
            "text/html": render_image(cast(Any, self)),
            "text/plain": repr(type(self).__bases__[1].__name__),
        }


_OFFLINE: dict[type, type] = {
    kind: type(f"_Offline{kind.__name__}", (_Offline, kind), {"__doc__": kind.__doc__})
    for kind in (alt.Chart, alt.LayerChart, alt.HConcatChart, alt.VConcatChart)
}


def finish_chart(chart: ChartKind) -> ChartKind:
    """Finish a chart: no frame, a pale grid, titles that do not shout, and shown without a network."""
    # Set at once: each of Altair's own `configure_…` copies the whole chart.
    finished = chart.copy(deep=False)
    finished.config = alt.Config(
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(gridColor="#e6e6e6", titleFontWeight="normal", titleFontSize=12, titlePadding=8),
        legend=alt.LegendConfig(titleFontWeight="normal", titleFontSize=11),
        title=alt.TitleConfig(fontWeight="normal", fontSize=12, anchor="start", subtitleFontSize=11),
    )
    # Altair keeps the attributes of a chart for its specification, so that the class is set beside it.
    object.__setattr__(finished, "__class__", _OFFLINE.get(type(finished), type(finished)))
    return finished


def make_data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows as the data of a chart, however many; what is not finite is left out of the drawing."""
    # not an InlineData, which is held against the schema row by row: seconds for the pairs of 150 systems
    return {"values": [{name: _simplify_value(value) for name, value in row.items()} for row in rows]}


def _simplify_value(value: Any) -> Any:
    """A value as JSON has it: numbers that are not finite are null, and all else is text."""
    if value is None or value is pd.NA:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return str(value)


def list_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table."""
    return [dict(zip(map(str, frame.columns), row, strict=True)) for row in frame.itertuples(index=False)]


def check_columns(frame: pd.DataFrame, *columns: str) -> None:
    """Refuse a table that lacks a column, or has no rows."""
    for column in columns:
        if column not in frame.columns:
            have = ", ".join(map(str, frame.columns))
            raise InputError(f"there is no column {column!r} to draw", remedy=f"the table has {have}")
    if not len(frame):
        raise InputError("the table has no rows to draw")


def in_turn(choices: Sequence[Any], count: int) -> list[Any]:
    """One choice each, shifted with every round: with colours of the same length no two pairs are alike."""
    n = len(choices)
    return [choices[(k + k // n) % n] for k in range(count)]


def cycle_colours(count: int) -> list[str]:
    """One colour each, again from the start where they run out."""
    return [COLOURS[k % len(COLOURS)] for k in range(count)]


def mix_shades(count: int, ends: tuple[str, str]) -> list[str]:
    """So many steps from a dark colour to a pale one.

    >>> mix_shades(3, ("#000000", "#ffffff"))
    ['#000000', '#808080', '#ffffff']
    """
    dark, pale = ([int(end[k : k + 2], 16) for k in (1, 3, 5)] for end in ends)
    last = max(count - 1, 1)
    mixed = [[round(d + (p - d) * k / last) for d, p in zip(dark, pale, strict=True)] for k in range(count)]
    return ["#" + "".join(f"{part:02x}" for part in parts) for parts in mixed]


def estimate_width(text: str, size: float) -> float:
    """Estimate the pixels of a line in a wide sans-serif font, so that it fits in all common ones.

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
    """Break a text at spaces into lines that fit; a word that is longer than a line has one of its own.

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


def reserve_room(labels: Iterable[str], size: float) -> dict[str, Any]:
    """Options of an axis with names: room for all of them, which were cut before, so that its title is beside them."""
    extent = 8.0 + max((estimate_width(label, size) for label in labels), default=0.0)
    return {"labelLimit": 0, "labelFontSize": size, "minExtent": extent, "maxExtent": extent}


def chart_width(count: int, step: int = 26) -> int:
    """Width of a chart with so many systems side by side."""
    return max(240, min(1100, step * count))


def label_measure(measure: str, lower_is_better: bool, most: int = MOST_SHOWN) -> str:
    """Return a measure as axes call it, with its direction where lower is better.

    >>> label_measure("wer", True), label_measure("AP", False)
    ('wer (lower is better)', 'AP')
    """
    return shorten_name(measure, most) + " (lower is better)" * lower_is_better
