"""What all charts share: marks that are told apart in colour, by colour-blind readers and in grey print."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import altair as alt
import numpy as np
import pandas as pd

from shardwise.core.errors import InputError
from shardwise.plot.rows import estimate_width

# Okabe and Ito's colours; in grey print some look alike, so that shapes and dashes go with them
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 2, 1, 2, 1, 2])
INK = "#404040"
DASH = [4, 3]  # of lines that are no data: levels, margins, zero
ON_AXIS = 44  # characters of a name beside an axis, where there is less room than in a line
CROWDED = 60  # systems; from here on marks and labels shrink
SIZE: dict[str, Any] = {"width": 420, "height": 280}  # of charts of numbers against numbers

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


class _OfflineChart(_Offline, alt.Chart):
    """A chart of one layer."""


class _OfflineLayerChart(_Offline, alt.LayerChart):
    """A chart of several layers."""


class _OfflineHConcatChart(_Offline, alt.HConcatChart):
    """Charts side by side."""


class _OfflineVConcatChart(_Offline, alt.VConcatChart):
    """Charts one above the other."""


_OFFLINE: dict[type, type] = {
    cls.__bases__[1]: cls
    for cls in (_OfflineChart, _OfflineLayerChart, _OfflineHConcatChart, _OfflineVConcatChart)
}


def finish_chart(chart: ChartKind) -> ChartKind:
    """Finish a chart: no frame, a pale grid, titles that do not shout, and shown without a network."""
    finished: ChartKind = (
        chart.configure_view(stroke=None)
        .configure_axis(gridColor="#e6e6e6", titleFontWeight="normal", titleFontSize=12, titlePadding=8)
        .configure_legend(titleFontWeight="normal", titleFontSize=11)
        .configure_title(fontWeight="normal", fontSize=12, anchor="start", subtitleFontSize=11)
    )
    # Altair keeps the attributes of a chart for its specification, so that the class is set beside it.
    object.__setattr__(finished, "__class__", _OFFLINE.get(type(finished), type(finished)))
    return finished


def make_data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows as the data of a chart, however many; what is not finite is left out of the drawing."""
    # not an InlineData, which is held against the schema row by row: seconds for the pairs of 150 systems
    return {"values": [{name: _simplify_value(value) for name, value in row.items()} for row in rows]}


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


def _simplify_value(value: Any) -> Any:
    if value is None or value is pd.NA:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return str(value)


def in_turn(choices: Sequence[Any], count: int) -> list[Any]:
    """One choice each, shifted with every round: with colours of the same length no two pairs are alike."""
    n = len(choices)
    return [choices[(k + k // n) % n] for k in range(count)]


def cycle_colours(count: int) -> list[str]:
    """One colour each, again from the start where they run out."""
    return [COLOURS[k % len(COLOURS)] for k in range(count)]


def make_legend(
    names: Sequence[str],
    title: str | None = None,
    direction: Literal["horizontal", "vertical"] | None = None,
    **options: Any,
) -> alt.Legend | None:
    """A legend above the chart, none where there is nothing to tell apart."""
    if len(names) < 2:
        return None
    lines: Any = direction or ("vertical" if sum(map(len, names)) > 60 else "horizontal")
    common: dict[str, Any] = {"orient": "top", "labelLimit": 700, "symbolOpacity": 1, "symbolStrokeWidth": 2}
    return alt.Legend(title=title, direction=lines, **(common | options))


def encode_colour(field: str, names: Sequence[str], key: alt.Legend | None) -> alt.Color:
    """The colour of each name."""
    return alt.Color(
        f"{field}:N", scale=alt.Scale(domain=list(names), range=cycle_colours(len(names))), legend=key
    )


def encode_shape(field: str, names: Sequence[str], key: alt.Legend | None) -> alt.Shape:
    """The shape of each name."""
    marks = in_turn(SHAPES, len(names))
    return alt.Shape(f"{field}:N", scale=alt.Scale(domain=list(names), range=marks), legend=key)


PLAIN: dict[str, Any] = {
    "symbolSize": 120,
    "symbolStrokeWidth": 0,
}  # of keys of filled shapes: a dashed rim frays them


def encode_dash(field: str, names: Sequence[str], key: alt.Legend | None) -> alt.StrokeDash:
    """The dashes of each name."""
    lines = in_turn(DASHES, len(names))
    return alt.StrokeDash(f"{field}:N", scale=alt.Scale(domain=list(names), range=lines), legend=key)


def number_tips(*fields: str | tuple[str, str], format: str = ".4f") -> list[alt.Tooltip]:
    """What hovering shows of numeric fields, each a name or a name and its title."""
    named = [(field, field) if isinstance(field, str) else field for field in fields]
    return [alt.Tooltip(f"{field}:Q", title=title, format=format) for field, title in named]


def text_tips(*fields: str | tuple[str, str]) -> list[alt.Tooltip]:
    """What hovering shows of fields that hold text."""
    named = [(field, field) if isinstance(field, str) else field for field in fields]
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in named]


def level_line(value: float, side: Literal["x", "y"], **channel: Any) -> alt.Chart:
    """A dashed line across the chart at one value, in the colour of rules.

    `channel` holds the scale and the axis of the chart, where these are not the usual ones: layers have to agree.
    """
    mark = alt.Chart(make_data([{"at": value}])).mark_rule(strokeDash=DASH, aria=False)
    across = alt.X("at:Q", **channel) if side == "x" else alt.Y("at:Q", **channel)
    drawn: alt.Chart = mark.encode(across)
    return drawn


def chart_width(count: int, step: int = 26) -> int:
    """Width of a chart with so many systems side by side."""
    return max(240, min(1100, step * count))


def system_axis(labels: Sequence[str], title: str, field: str = "system") -> alt.X:
    """Systems from left to right, in the order given."""
    crowded = len(labels) > CROWDED
    axis = alt.Axis(
        labelAngle=-90,
        labelOverlap=True,
        **reserve_room(labels, 7 if crowded else 10),
        ticks=not crowded,
        grid=False,
    )
    return alt.X(f"{field}:N", scale=alt.Scale(domain=list(labels)), title=title, axis=axis)


def reserve_room(labels: Sequence[str], size: float) -> dict[str, Any]:
    """Options of an axis with names: room for all of them, which were cut before, so that its title is beside them."""
    extent = 8.0 + max((estimate_width(label, size) for label in labels), default=0.0)
    return {"labelLimit": 0, "labelFontSize": size, "minExtent": extent, "maxExtent": extent}


def name_axis(field: str, names: Sequence[str]) -> alt.Y:
    """Names from top to bottom, in the order given, one row a name."""
    axis = alt.Axis(domain=False, ticks=False, grid=False, labelLimit=0, labelPadding=10)
    return alt.Y(f"{field}:N", scale=alt.Scale(domain=list(names)), title=None, axis=axis)


def bars_with_numbers(base: alt.Chart, field: str, format: str) -> list[alt.Chart]:
    """Bars with the number of each at its end."""
    bars = base.mark_bar(color=COLOURS[0], height={"band": 0.7})
    labels = base.mark_text(align="left", dx=4, aria=False).encode(text=alt.Text(f"{field}:Q", format=format))
    return [bars, labels]
