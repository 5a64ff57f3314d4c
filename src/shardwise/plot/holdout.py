"""Predicted against observed reversals, and what each procedure finds and loses."""

from __future__ import annotations

import altair as alt
import numpy as np

from shardwise.core.text import visible
from shardwise.lab.holdout.checks import PredictiveCheck
from shardwise.plot.theme import COLOURS, bare

_SIDE = 300
MOST = 0.5  # no order is predicted to be reversed more often than not


def prediction_chart(check: PredictiveCheck) -> alt.HConcatChart:
    """Draw reversals observed against predicted, and by procedure; on the dashed line a prediction is right.

    Bars are the spread between repeats, a standard deviation either side.

    Parameters
    ----------
    check : PredictiveCheck
        The result of `shardwise.holdout.split_half` or `shardwise.holdout.across_collections`.
    """
    both = alt.HConcatChart(hconcat=[_curve(check), _procedures(check)], spacing=50)
    separate: alt.HConcatChart = both.resolve_scale(color="independent")
    return bare(separate)


def _curve(check: PredictiveCheck) -> alt.LayerChart:
    frame = check.curve.copy()
    frame["spread"] = frame["spread"].fillna(0.0)
    if "decided_on" in frame:
        frame["prediction"] += ", from " + frame["decided_on"].map(visible)
    frame["low_observed"] = np.maximum(frame["observed"] - frame["spread"], 0.0)
    frame["high_observed"] = frame["observed"] + frame["spread"]
    kinds = list(dict.fromkeys(frame["prediction"]))
    colour = alt.Color(
        "prediction:N",
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=[COLOURS[i % len(COLOURS)] for i in range(len(kinds))]),
        legend=alt.Legend(title=None, orient="top", direction="vertical", labelLimit=500),
    )
    highest = max(MOST, float(frame["high_observed"].max()))
    x = alt.X("predicted:Q", title="predicted reversals", axis=alt.Axis(format="%"), scale=_to(MOST))
    y = alt.Y("observed:Q", title="observed reversals", axis=alt.Axis(format="%"), scale=_to(highest))
    base = alt.Chart(frame).encode(x=x, y=y, color=colour)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        tooltip=[
            "prediction:N",
            alt.Tooltip("predicted:Q", format=".1%"),
            alt.Tooltip("observed:Q", format=".1%"),
            alt.Tooltip("spread:Q", format=".1%"),
            alt.Tooltip("pairs:Q", title="pairs a sample", format=".1f"),
        ]
    )
    bars = base.mark_rule(opacity=0.5).encode(y=alt.Y("low_observed:Q"), y2="high_observed:Q")
    right = alt.Chart(alt.InlineData(values=[{"p": 0.0}, {"p": MOST}])).mark_line(
        strokeDash=[4, 3], strokeWidth=1, color="black", aria=False
    )
    diagonal = right.encode(x=alt.X("p:Q"), y=alt.Y("p:Q"))
    layers = [diagonal, base.mark_line(strokeWidth=1.5), bars, points]
    return alt.LayerChart(layer=layers).properties(width=_SIDE, height=_SIDE, title="all pairs")


def _procedures(check: PredictiveCheck) -> alt.LayerChart:
    frame = check.table.reset_index()
    if "decided_on" in frame:
        frame["procedure"] += ", from " + frame["decided_on"].map(visible)
    frame = frame[frame["found"] > 0]
    order = list(frame["procedure"])
    kinds = ["observed", "predicted"]
    long = frame.rename(columns={"reversal": "observed", "predicted_reversal": "predicted"}).melt(
        ["procedure", "found", "found_share"], kinds, var_name="kind", value_name="share"
    )
    colour = alt.Color(
        "kind:N",
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=[COLOURS[1], COLOURS[0]]),
        legend=alt.Legend(title=None, orient="top"),
    )
    y = alt.Y("procedure:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    base = alt.Chart(long).encode(
        x=alt.X("share:Q", title="of the pairs found, in the opposite order", axis=alt.Axis(format=".1%")),
        y=y,
        tooltip=[
            "procedure:N",
            "kind:N",
            alt.Tooltip("share:Q", format=".2%"),
            alt.Tooltip("found:Q", title="pairs found", format=".1f"),
            alt.Tooltip("found_share:Q", title="of all pairs", format=".1%"),
        ],
    )
    marks = base.mark_point(filled=True, size=60, opacity=1).encode(color=colour)
    lines = base.mark_line(color="grey", strokeWidth=1).encode(detail="procedure:N")
    height = max(60, min(_SIDE, 26 * len(order)))
    return alt.LayerChart(layer=[lines, marks]).properties(width=_SIDE, height=height, title="pairs found")


def _to(highest: float) -> alt.Scale:
    return alt.Scale(domain=[0.0, highest])
