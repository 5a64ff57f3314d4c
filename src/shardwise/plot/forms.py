"""The forms of all charts: rows or columns with intervals, curves, squares of pairs, and cells; a chart is their data.

Channels are dictionaries in the words of Vega-Lite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from shardwise.core.text import shorten_names
from shardwise.plot.theme import (
    COLOURS,
    CROWDED,
    DASH,
    DASHES,
    INK,
    SHAPES,
    WIDTH,
    cycle_colours,
    estimate_width,
    finish_chart,
    in_turn,
    make_data,
    reserve_room,
    wrap_text,
)

Channel = dict[str, Any]  # a row of data, too
Rows = Iterable[Mapping[str, Any]]

MOST_ROWS = 150
"""Systems that a chart names; `most` draws more of them."""
PLACE: Channel = {"field": "place", "type": "ordinal", "sort": "ascending"}  # of several marks in one row
STROKE: dict[str, Any] = {"symbolType": "stroke", "symbolSize": 300}  # legends of lines
# legends of filled shapes beside dashed lines, whose rim would fray
PLAIN: dict[str, Any] = {"symbolSize": 120, "symbolStrokeWidth": 0}


def number(field: str, title: Any = ..., **options: Any) -> Channel:
    """Encode a numeric field."""
    return {"field": field, "type": "quantitative", **({} if title is ... else {"title": title}), **options}


def name(field: str, names: Iterable[str], title: str | None = None, **axis: Any) -> Channel:
    """Encode a field that holds names, in the order given."""
    return {"field": field, "type": "nominal", "title": title, "scale": {"domain": list(names)}, "axis": axis}


def name_rows(field: str, names: Iterable[str], **axis: Any) -> Channel:
    """Names from top to bottom."""
    bare = {"domain": False, "ticks": False, "grid": False, "labelLimit": 0, "labelPadding": 10}
    return name(field, names, **(bare | axis))


def name_columns(field: str, names: Sequence[str], title: str) -> Channel:
    """Names from left to right, upright."""
    crowded = len(names) > CROWDED
    room = reserve_room(names, 7 if crowded else 10)
    return name(field, names, title, labelAngle=-90, labelOverlap=True, ticks=not crowded, grid=False, **room)


def tips(*fields: str) -> list[Channel]:
    """What hovering shows: fields of text, ``field:format`` of numbers, ``field=title`` or ``field:format=title``.

    >>> tips("system", "se:.2f=standard error")[1]
    {'field': 'se', 'title': 'standard error', 'type': 'quantitative', 'format': '.2f'}
    """
    shown: list[Channel] = []
    for each in fields:
        described, _, title = each.partition("=")
        field, _, pattern = described.partition(":")
        words = {"field": field, "title": title or field}
        shown.append(
            words | ({"type": "quantitative", "format": pattern} if pattern else {"type": "nominal"})
        )
    return shown


def draw(mark: str, rows: Rows, channels: Mapping[str, Any], **style: Any) -> alt.Chart:
    """One mark a row; rows may be made into data before."""
    chart = alt.Chart(rows if isinstance(rows, dict) else make_data(rows))
    drawn: alt.Chart = getattr(chart, f"mark_{mark}")(**style).encode(**_make_channels(channels))
    return drawn


def _make_channels(channels: Mapping[str, Any]) -> dict[str, Any]:
    """Channels as objects of Altair, which for each dictionary would look through all of its classes."""
    made: dict[str, Any] = {}
    for channel, encoding in channels.items():
        kind = f"{channel[0].upper()}{channel[1:]}"
        if isinstance(encoding, list):
            made[channel] = [getattr(alt, kind)(**each) for each in encoding]
        else:
            made[channel] = getattr(alt, f"{kind}Value" if "value" in encoding else kind)(**encoding)
    return made


def draw_level(value: float, side: Literal["x", "y"], **channel: Any) -> alt.Chart:
    """A dashed line across the chart at one value; `channel` holds scale and axis, on which layers have to agree."""
    return draw("rule", [{"at": value}], {side: number("at", **channel)}, strokeDash=DASH, aria=False)


def layer(layers: Sequence[alt.Chart], width: float, height: float, title: Any = "") -> alt.LayerChart:
    """Layers as one panel."""
    return alt.LayerChart(layer=list(layers), width=width, height=height, title=title or alt.Undefined)


def finish_layers(
    layers: Sequence[alt.Chart], width: float, height: float, title: Any = ""
) -> alt.LayerChart:
    """Layers as a whole chart."""
    return finish_chart(layer(layers, width, height, title))


def make_legend(names: Sequence[str], **options: Any) -> Channel | None:
    """A legend above the chart, none where there is nothing to tell apart."""
    if len(names) < 2:
        return None
    direction = "vertical" if sum(map(len, names)) > 60 else "horizontal"
    common = {"title": None, "orient": "top", "direction": direction, "labelLimit": 700}
    return common | {"symbolOpacity": 1, "symbolStrokeWidth": 2} | options


def make_word_legend(names: Sequence[str], size: float, width: float, **options: Any) -> Channel:
    """A legend of words above rows, side by side where all are short, so that they do not touch in any font."""
    room = sum(estimate_width(name, size) + 34.0 for name in names)
    side_by_side = room < width and max(map(len, names)) <= 26
    return {
        "title": None,
        "orient": "top",
        "direction": "horizontal" if side_by_side else "vertical",
        "labelLimit": 0,
        "labelFontSize": size,
        "symbolSize": 60 if size > 8 else 30,
        "symbolOpacity": 1,
        "columnPadding": 36,
        "offset": 6,
        **options,
    }


class Series:
    """Names that colours, shapes and dashes tell apart, with one legend."""

    def __init__(
        self,
        field: str,
        names: Iterable[str],
        legend: Channel | None = None,
        colours: Iterable[str] | None = None,
        shapes: Iterable[str] | None = None,
    ) -> None:
        self.field, self.names, self.legend = field, list(names), legend
        count = len(self.names)
        self.ranges: dict[str, list[Any]] = {
            "color": list(colours or cycle_colours(count)),
            "shape": list(shapes or in_turn(SHAPES, count)),
            "strokeDash": in_turn(DASHES, count),
        }

    def encode(self, *channels: str, legend: bool = True, **ranges: Any) -> dict[str, Channel]:
        """Channels by which the names differ."""
        known = self.ranges | ranges
        return {
            channel: {
                "field": self.field,
                "type": "nominal",
                "scale": {"domain": self.names, "range": known[channel]},
                "legend": self.legend if legend else None,
            }
            for channel in (*channels, *ranges)
        }


def draw_intervals(
    rows: Sequence[Channel],
    names: Channel,
    numbers: Channel,
    fields: tuple[str, str, str],
    shown: list[Channel],
    *,
    series: Series | None = None,
    upright: bool = False,
    thick: float = 2.0,
    size: float = 45.0,
    bar: Channel | None = None,
    named: bool = True,
    **channels: Channel,
) -> list[alt.Chart]:
    """A row a name, or a column a name where bars are upright: bars between two fields, and a point on each.

    `fields` are those of the points and of the ends of bars; rows without finite ends have a point only. Screen readers
    read the names of points that are `named`, else all that these show.
    """
    side, along = ("x", "y") if upright else ("y", "x")
    point, low, high = fields
    shade = {"color": COLOURS[0]} if series is None else {}
    common: Channel = {side: names, "tooltip": shown, **channels}
    common |= {"description": name_field(names["field"])} if named else {}
    common |= {} if series is None else series.encode("color")
    layers = []
    bounded = [row for row in rows if math.isfinite(row[low]) and math.isfinite(row[high])]
    if bounded:
        ends = {along: number(low, **numbers), f"{along}2": {"field": high}}
        style = {"strokeWidth": thick, "aria": False, **shade, **(bar or {})}
        layers.append(draw("rule", bounded, common | ends, **style))
    centre = {along: number(point, **numbers)} | ({} if series is None else series.encode("shape"))
    layers.append(draw("point", rows, common | centre, filled=True, opacity=1, size=size, **shade))
    return layers


def draw_curves(
    rows: Rows,
    x: Channel,
    y: Channel,
    series: Series,
    shown: list[Channel],
    *,
    band: tuple[str, str] | None = None,
    points: float = 0.0,
    clip: bool = False,
) -> list[alt.Chart]:
    """A line a name, with a band between two fields; points that are seen tell names apart, else dashes do."""
    data = make_data(rows)
    common = {"x": x, "tooltip": shown} | series.encode("color")
    layers = []
    if band is not None:
        edges = {"y": y | {"field": band[0]}, "y2": {"field": band[1]}}
        layers.append(draw("area", data, common | edges, opacity=0.2, aria=False))
    dashes = series.encode("strokeDash", legend=not points)
    layers.append(draw("line", data, common | {"y": y} | dashes, strokeWidth=2, clip=clip, aria=False))
    # Without points, those under the mouse are not seen: they would fray the dashes.
    seen = series.encode("shape") if points else {}
    style = {"filled": True, "size": points, "opacity": 1} if points else {"size": 40, "opacity": 0}
    layers.append(draw("point", data, common | {"y": y} | seen, clip=clip, **style))
    return layers


def name_field(field: str) -> Channel:
    """A field of text that is read out or used to separate groups, without a scale."""
    return {"field": field, "type": "nominal"}


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of a chart with one row a name, in pixels: height of letters and rows, room for labels and for bars."""

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

    @property
    def marks(self) -> dict[str, Any]:
        """Sizes of bars and points."""
        return {"thick": 1.2, "size": 22.0} if self.crowded else {"thick": 2.0, "size": 50.0}

    def name_rows(self, field: str = "system") -> Channel:
        """Names from top to bottom."""
        room = {"minExtent": self.extent, "maxExtent": self.extent, "labelFontSize": self.size}
        return name_rows(field, self.labels.values(), labelOverlap=False, labelPadding=6, **room)

    def scale_numbers(self, title: str, scale: Channel, **options: Any) -> Channel:
        """Title, scale and axis of numbers: below few rows, above many, where readers start."""
        size = self.size + 0.5 if self.size < 9 else 11.5
        axis = {
            "orient": "top" if self.crowded and self.height > 400 else "bottom",
            "labelFontSize": self.size,
            "titleFontSize": size,
            # From the left of the names, where a title has room.
            "titleAnchor": "start",
            "titleAlign": "left",
            "titleX": -self.extent + 6.0,
            "tickCount": max(int(self.width / 60), 3),
            "labelFlush": True,
        }
        lines = wrap_text(title, self.extent + self.width - 12.0, size)
        return {"title": lines, "axis": axis | options, "scale": scale}

    def make_legend(self, names: Sequence[str]) -> Channel:
        """A legend above the rows."""
        return make_word_legend(names, self.size, self.width)

    def draw_panel(
        self, layers: Sequence[alt.Chart], total: int, noun: str, height: float = 0.0
    ) -> alt.LayerChart:
        """Layers as a panel; its title says which rows it has, where it has not all."""
        shown = len(self.labels)
        cut = f"the first {shown:,} of {total:,} {noun}" if shown < total else ""
        title = {"text": cut, "fontSize": self.size, "offset": 4} if cut else ""
        return layer(layers, self.width, height or self.height, title)


def lay_out_rows(names: Sequence[str], width: float = WIDTH, total: int = 0) -> Layout:
    """Choose labels and sizes of rows: small letters where there are many, names cut to less than half of the width.

    `total` counts the rows of all panels, where there are several.

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


def fit_scale(*columns: Iterable[float], zero: bool = False) -> Channel:
    """Fit the scale of an axis to all finite values, with a little room on both sides."""
    values = [float(x) for column in columns for x in column if math.isfinite(x)]
    values = [*values, 0.0] if zero or not values else values
    low, high = min(values), max(values)
    # Equal values, and such as differ by rounding only, have no scale of their own.
    room = 0.03 * (high - low) if high - low > 1e-12 * max(abs(low), abs(high)) else max(0.5, 1e-6 * abs(low))
    return {"domain": [low - room, high + room], "nice": False, "zero": False}


def list_round_ticks(low: float, high: float) -> list[float]:
    """List 1, 2 and 5 times powers of ten for a logarithmic axis; every power where these are few enough.

    >>> list_round_ticks(12, 1000)
    [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    return [m * 10.0**k for k in powers for m in steps if low <= m * 10.0**k <= high * (1.0 + 1e-9)]


def list_rank_ticks(last: int, width: float) -> list[int]:
    """List round ranks for an axis from 1 to the last rank.

    >>> list_rank_ticks(4, 400), list_rank_ticks(126, 400)
    ([1, 2, 3, 4], [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120])
    """
    most = max(int(width / 30), 2)
    step = next(m * 10**k for k in range(9) for m in (1, 2, 5) if last / (m * 10**k) <= most)
    return [1, *(rank for rank in range(step, last + 1, step) if rank - 1 > 0.6 * step)]


def draw_bars(
    rows: Sequence[Channel], names: str, field: str, x: Channel, pattern: str, shown: list[Channel]
) -> list[alt.Chart]:
    """Bars from 0, one a name, with the number of each at its end."""
    top = 1.15 * max(float(row[field]) for row in rows) or 1.0
    channels: Channel = {"y": name_rows(names, [row[names] for row in rows]), "tooltip": shown}
    channels["x"] = {"field": field, "type": "quantitative", **x, "scale": {"domain": [0, top]}}
    text = {"text": number(field, format=pattern)}
    return [
        draw("bar", rows, channels, color=COLOURS[0], height={"band": 0.7}),
        draw("text", rows, channels | text, align="left", dx=4, aria=False),
    ]


def draw_square(
    rows: Sequence[Channel],
    labels: Sequence[str],
    kinds: Mapping[str, tuple[str, str]],
    axes: tuple[str, str],
    shown: list[Channel],
    field: str = "kind",
    **legend: Any,
) -> alt.LayerChart:
    """Draw cells (b, a) of systems, each of a kind that has a colour and, where a letter would fit, a mark."""
    side = max(160, min(900, 18 * len(labels)))
    step = side / len(labels)
    room = reserve_room(labels, min(10, max(7, step)))
    axis = {"labelOverlap": True, "ticks": False, "domain": False, "grid": False, **room}
    key = {
        "orient": "top",
        "direction": "vertical",
        "symbolSize": 90,
        "symbolType": "square",
        "labelLimit": 400,
    }
    places = {
        "x": name("b", labels, axes[0], **axis),
        "y": name("a", labels, axes[1], **axis),
        "tooltip": shown,
    }
    fills = Series(field, kinds, key | legend, [fill for fill, _ in kinds.values()]).encode("color")
    thin = 0 if len(labels) > CROWDED else 0.5
    layers = [draw("rect", rows, places | fills, stroke="white", strokeWidth=thin)]
    marks = {kind: mark for kind, (_, mark) in kinds.items() if mark}
    inked = [row | {"ink": _choose_ink(kinds[row[field]][0])} for row in rows if row[field] in marks]
    if inked:
        sign = {"title": "marked", "labelLimit": 400, "orient": "top", "direction": "vertical"}
        series = Series(field, marks, sign | {"symbolStrokeColor": INK}, shapes=marks.values())
        ink = {"color": {"field": "ink", "type": "nominal", "scale": None}}
        style = {"size": min(40.0, 0.22 * step**2), "filled": step < 9, "strokeWidth": 1.2, "opacity": 1}
        layers.append(draw("point", inked, places | ink | series.encode("shape"), aria=False, **style))
    return layer(layers, side, side)


def _choose_ink(fill: str) -> str:
    """A colour that is seen on the fill: by its luminance as grey print has it."""
    red, green, blue = (int(fill[k : k + 2], 16) for k in (1, 3, 5))
    return "#303030" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"
