"""Predicted against observed reversals, and what each procedure finds and loses."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from shardwise.core.text import visible
from shardwise.lab.holdout.checks import PredictiveCheck
from shardwise.plot.theme import DASH, bare, colour, data, legend, name_axis, numbers, records, shape, words

SIDE = 300
MOST = 0.5  # no order is predicted to be reversed more often than not
KINDS = {"observed": "reversal", "predicted": "predicted_reversal"}


def prediction_chart(check: PredictiveCheck) -> alt.HConcatChart:
    """Draw reversals observed against predicted, and by procedure; on the dashed line a prediction is right.

    Bars are the spread between repeats, a standard deviation either side.

    Parameters
    ----------
    check : PredictiveCheck
        The result of `shardwise.holdout.split_half` or `shardwise.holdout.across_collections`.
    """
    both = alt.hconcat(_curve(check), _procedures(check), spacing=50)
    apart: alt.HConcatChart = both.resolve_scale(color="independent", shape="independent")
    return bare(apart)


def _curve(check: PredictiveCheck) -> alt.LayerChart:
    rows = []
    for row in records(check.curve):
        spread = 0.0 if pd.isna(row["spread"]) else row["spread"]  # of one repeat there is none
        limits = {"low": max(row["observed"] - spread, 0.0), "high": row["observed"] + spread}
        rows.append(row | limits | {"prediction": _from(row, "prediction")})
    kinds = list(dict.fromkeys(row["prediction"] for row in rows))
    key = legend(kinds, direction="vertical")
    highest = max(MOST, *(row["high"] for row in rows))
    x = alt.X("predicted:Q", title="predicted reversals", axis=alt.Axis(format="%"), scale=_to(MOST))
    y = alt.Y("observed:Q", title="observed reversals", axis=alt.Axis(format="%"), scale=_to(highest))
    base = alt.Chart(data(rows)).encode(x=x, y=y, color=colour("prediction", kinds, key))
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        shape=shape("prediction", kinds, key),
        tooltip=[
            *words("prediction"),
            *numbers("predicted", "observed", "spread", format=".1%"),
            *numbers(("pairs", "pairs a sample"), format=".1f"),
        ],
    )
    bars = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", scale=_to(highest)), y2="high:Q")
    ends = alt.Chart(data([{"p": 0.0}, {"p": MOST}]))
    right = ends.mark_line(strokeDash=DASH, strokeWidth=1, color="black", aria=False).encode(x="p:Q", y="p:Q")
    layers = [right, base.mark_line(strokeWidth=1.5), bars, points]
    title = "all pairs" if len(kinds) > 1 else f"all pairs; {kinds[0]}"
    return alt.LayerChart(layer=layers).properties(width=SIDE, height=SIDE, title=title)


def _procedures(check: PredictiveCheck) -> alt.LayerChart:
    found = [row for row in records(check.table.reset_index()) if row["found"] > 0]
    rows = [
        {"procedure": _from(row, "procedure"), "kind": kind, "share": row[column]}
        | {name: row[name] for name in ("found", "found_share")}
        for row in found
        for kind, column in KINDS.items()
    ]
    order = list(dict.fromkeys(row["procedure"] for row in rows))
    key = legend(list(KINDS))
    base = alt.Chart(data(rows)).encode(
        x=alt.X("share:Q", title="of the pairs found, in the opposite order", axis=alt.Axis(format=".1~%")),
        y=name_axis("procedure", order),
        tooltip=[
            *words("procedure", "kind"),
            *numbers("share", format=".2%"),
            *numbers(("found", "pairs found"), format=".1f"),
            *numbers(("found_share", "of all pairs"), format=".1%"),
        ],
    )
    marks = base.mark_point(filled=True, size=60, opacity=1)
    points = marks.encode(color=colour("kind", list(KINDS), key), shape=shape("kind", list(KINDS), key))
    lines = base.mark_line(color="grey", strokeWidth=1).encode(detail="procedure:N")
    height = max(60, min(SIDE, 26 * len(order)))
    return alt.LayerChart(layer=[lines, points]).properties(width=SIDE, height=height, title="pairs found")


def _from(row: dict[str, Any], field: str) -> str:
    """A name, with the collection that was decided on where there are two."""
    where = f", from {visible(row['decided_on'])}" if "decided_on" in row else ""
    return f"{row[field]}{where}"


def _to(highest: float) -> alt.Scale:
    return alt.Scale(domain=[0.0, highest])
