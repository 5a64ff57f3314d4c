"""The figures of J15 §5, drawn from tables that `analysis` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from selective_search.analysis import against, measures, rates
from selective_search.instances import AGAIN, EXHAUSTIVE, rate_name
from shardwise.plot.theme import COLOURS, Chart, finish_chart

GREY = "#b8b8b8"
DASH = [5, 4]
RATE = "documents in the central index"
SMALL_P = [0, 0.01, 0.05, 0.1, 0.2, 0.5, 1]  # labels of an axis stretched near 0
VERDICTS = {  # of `analysis.verdict`: whether the loss is as large as the margin
    "no worse": ("no", COLOURS[2]),
    "undecided": ("undecided", COLOURS[4]),
    "worse": ("yes", COLOURS[1]),
}
FINDINGS = {
    "worse, p < .05": COLOURS[1],
    "worse, p < .1": COLOURS[4],
    "no difference found": "#d9d9d9",
    "better, p < .1": COLOURS[5],
    "better, p < .05": COLOURS[0],
}


def instance_means(scores: xr.Dataset) -> Chart:
    """Fig. 6: mean effectiveness of every instance at every rate, and that of exhaustive search."""
    panels = []
    for measure in measures(scores):
        means = scores[measure].mean("topic")
        rows = [
            {"rate": rate_name(rate), "mean": float(value)}
            for rate, name in rates(scores)
            for value in means.sel(system=name).values
        ]
        y = alt.Y("mean:Q", title=f"mean {measure}", scale=alt.Scale(zero=False))
        boxes = (
            alt.Chart(_data(rows))
            .mark_boxplot(extent="min-max", size=16, color=COLOURS[0])
            .encode(_rate(rows), y)
        )
        line = _rule([float(means.sel(system=EXHAUSTIVE)[0])], COLOURS[1])
        panels.append(alt.LayerChart(layer=[boxes, line]).properties(width=230, height=230))
    return _row(panels, "dashed: exhaustive search; boxes: quartiles and extremes of the instances")


def single_findings(singles: pd.DataFrame) -> Chart:
    """Fig. 7: what paired t-tests of single instances against exhaustive search find."""
    conditions = [
        (singles["p"] < edge) & (np.sign(singles["difference"]) == sign)
        for sign, edge in ((-1, 0.05), (-1, 0.1), (1, 0.05), (1, 0.1))
    ]
    names = list(FINDINGS)
    kinds = np.select(conditions, [names[0], names[1], names[4], names[3]], names[2])
    counted = singles.assign(finding=kinds).groupby(["measure", "rate", "finding"], sort=False).size()
    panels = []
    for measure in dict.fromkeys(singles["measure"]):
        rows = [
            {"rate": rate_name(rate), "finding": kind, "order": names.index(kind), "instances": int(count)}
            for (rate, kind), count in counted[measure].items()
        ]
        colour = alt.Color(
            "finding:N",
            sort=names,
            scale=alt.Scale(domain=names, range=list(FINDINGS.values())),
            legend=alt.Legend(title=None, orient="top", columns=5, labelLimit=300),
        )
        bars = (
            alt.Chart(_data(rows), title=measure)
            .mark_bar()
            .encode(
                _rate(rows),
                alt.Y("instances:Q", title="instances"),
                colour,
                order=alt.Order("order:Q"),
            )
        )
        panels.append(bars.properties(width=230, height=230))
    return _row(panels, None)


def topic_spread(scores: xr.Dataset, measure: str, system: str) -> Chart:
    """Fig. 8: effectiveness of each topic over the instances of one rate, topics by their exhaustive score."""
    y = scores[measure].transpose("system", "instance", "topic")
    whole = y.sel(system=EXHAUSTIVE).isel(instance=0)
    order = np.argsort(-whole.values, kind="stable")
    ends = np.quantile(y.sel(system=system).values, [0, 0.25, 0.5, 0.75, 1], axis=0)
    rows = [
        {"topic": str(whole["topic"].values[t]), "whole": float(whole.values[t])}
        | {name: float(ends[k, t]) for k, name in enumerate(("low", "q1", "median", "q3", "high"))}
        for t in order
    ]
    names = [str(row["topic"]) for row in rows]
    axis = alt.Axis(labelAngle=-90, labelFontSize=7, ticks=False)
    x = alt.X("topic:N", sort=names, title="topic, by its exhaustive score", axis=axis)
    base = alt.Chart(_data(rows)).encode(x)
    title = f"{measure} over the instances at {system}"
    layers = [
        base.mark_rule(color=GREY).encode(alt.Y("low:Q", title=title), alt.Y2("high:Q")),
        base.mark_bar(color=COLOURS[0], size=5).encode(alt.Y("q1:Q"), alt.Y2("q3:Q")),
        base.mark_tick(color="black", size=7, thickness=1.5).encode(alt.Y("median:Q")),
        base.mark_point(color=COLOURS[1], shape="diamond", filled=True, size=22, opacity=1).encode(
            alt.Y("whole:Q")
        ),
    ]
    words = "diamond: exhaustive search; tick: median; bar: middle half of the instances; line: all of them"
    return _row([alt.LayerChart(layer=layers).properties(width=930, height=260)], words)


def pool_spread(pooled: pd.DataFrame, measure: str, shown: Sequence[float]) -> Chart:
    """Fig. 9: p-values against exhaustive search for random pools of instances; size 1 is the t-test of one."""
    part = pooled[(pooled["measure"] == measure) & pooled["rate"].isin(shown)]
    smallest = part["size"].min()
    lone = part[(part["test"] == "t, one instance") & (part["size"] == smallest)].assign(size=1)
    frame = pd.concat([lone, part[part["test"] == "unified"]])
    panels = []
    for rate in shown:
        rows = [
            {"size": int(size), "p": float(p)}
            for size, p in frame.loc[frame["rate"] == rate, ["size", "p"]].itertuples(index=False)
        ]
        x = alt.X("size:O", title="instances in the pool", axis=alt.Axis(labelAngle=0))
        y = alt.Y("p:Q", title="p-value", scale=alt.Scale(domain=[0, 1]))
        boxes = alt.Chart(_data(rows)).mark_boxplot(extent="min-max", size=16, color=COLOURS[0]).encode(x, y)
        layers = [boxes, _rule([0.05], COLOURS[1])]
        panels.append(alt.LayerChart(layer=layers, title=rate_name(rate)).properties(width=190, height=220))
    return _row(
        panels,
        f"{measure} at four sizes of the central index; dashed: p = .05; one instance: t-test, more: unified test",
    )


def power_curves(pooled: pd.DataFrame) -> Chart:
    """Fig. 10: p-values of all comparisons in descending order, one curve a test."""
    tests = list(dict.fromkeys(pooled["test"]))
    colour = alt.Color(
        "test:N",
        sort=tests,
        scale=alt.Scale(domain=tests, range=list(COLOURS[: len(tests)])),
        legend=alt.Legend(title=None, orient="top", columns=len(tests), labelLimit=300),
    )
    panels = []
    for measure in dict.fromkeys(pooled["measure"]):
        rows = []
        for test in tests:
            own = pooled[(pooled["measure"] == measure) & (pooled["test"] == test)]
            p = np.sort(own["p"].to_numpy())[::-1]
            shown = np.unique(np.linspace(0, len(p) - 1, 250).astype(int))
            rows += [{"test": test, "share": float((k + 0.5) / len(p)), "p": float(p[k])} for k in shown]
        x = alt.X("share:Q", title="share of comparisons", axis=alt.Axis(format="%"))
        lines = alt.Chart(_data(rows)).mark_line(strokeWidth=1.8).encode(x, _p(alt.Y, "p", "p-value"), colour)
        layers = [lines, _rule([0.05], "black").encode(_p(alt.Y, "at", "p-value"))]
        panels.append(alt.LayerChart(layer=layers, title=measure).properties(width=250, height=230))
    return _row(panels, "dashed: p = .05; a lower curve finds more")


def agreement(pooled: pd.DataFrame, one: str, others: Sequence[str]) -> Chart:
    """Fig. 11: p-values of two tests of the same comparisons, against those of a third."""
    panels = []
    for measure in dict.fromkeys(pooled["measure"]):
        wide = pooled[pooled["measure"] == measure].pivot(
            index=["rate", "size", "pool"], columns="test", values="p"
        )
        rows = [
            {"x": float(x), "y": float(y), "test": other}
            for x, *ys in wide[[one, *others]].itertuples(index=False)
            for other, y in zip(others, ys, strict=True)
        ]
        colour = alt.Color(
            "test:N",
            sort=list(others),
            scale=alt.Scale(domain=list(others), range=list(COLOURS[: len(others)])),
            legend=alt.Legend(title=None, orient="top", labelLimit=300),
        )
        points = (
            alt.Chart(_data(rows))
            .mark_point(filled=True, size=9, opacity=0.4)
            .encode(_p(alt.X, "x", f"p-value, {one}"), _p(alt.Y, "y", "p-value, other test"), colour)
        )
        line = (
            alt.Chart(_data([{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}]))
            .mark_line(strokeDash=DASH, color="black", strokeWidth=1, aria=False)
            .encode(_p(alt.X, "x", f"p-value, {one}"), _p(alt.Y, "y", "p-value, other test"))
        )
        panels.append(alt.LayerChart(layer=[points, line], title=measure).properties(width=240, height=240))
    return _row(panels, None)


def loss(table: pd.DataFrame, margin: float) -> Chart:
    """Fig. 12: difference from exhaustive search with its intervals, and the loss that matters."""
    names = [word for word, _ in VERDICTS.values()]
    colour = alt.Color(
        "worse:N",
        sort=names,
        scale=alt.Scale(domain=names, range=[shade for _, shade in VERDICTS.values()]),
        legend=alt.Legend(
            title=f"worse by {margin:g} or more?",
            titleOrient="left",
            titleLimit=300,
            orient="top",
            symbolType="square",
            symbolOpacity=1,
        ),
    )
    panels = []
    for measure in dict.fromkeys(table["measure"]):
        own = table[table["measure"] == measure]
        rows = [
            {"rate": rate_name(row["rate"]), "worse": VERDICTS[row["verdict"]][0]}
            | {name: row[name] for name in ("difference", "lower", "upper", "hpd_lower", "hpd_upper")}
            for row in own.to_dict("records")
        ]
        panels.append(_intervals(rows, f"{measure}, selective − exhaustive", [0.0, -margin], colour))
    words = (
        f"thin: 95% HPD; thick: 90% interval, the picture of the one-sided 5% test; dashed: 0 and −{margin:g}"
    )
    return _row(panels, words, y="shared")


def between_rates(scores: xr.Dataset, margin: float) -> Chart:
    """Fig. 13: every rate against further instances of the largest rate, both non-deterministic."""
    panels = []
    largest = rates(scores)[-1][1]
    for measure in measures(scores):
        rows = []
        for rate, found in against(scores, measure, AGAIN).items():
            (low, high), (hpd_low, hpd_high) = found.interval(0.9), found.interval(0.95, "hpd")
            rows.append(
                {
                    "rate": rate_name(rate),
                    "difference": float(found.difference[0]),
                    "lower": low,
                    "upper": high,
                }
                | {"hpd_lower": hpd_low, "hpd_upper": hpd_high}
            )
        colour = alt.value(COLOURS[0])
        title = f"{measure}, rate − other instances at {largest}"
        panels.append(_intervals(rows, title, [0.0, -margin, margin], colour))
    words = f"thin: 95% HPD; thick: 90% interval; dashed: 0 and ±{margin:g}"
    return _row(panels, words, y="shared")


def first_choices(counts: pd.DataFrame, chosen: dict[str, float | None], shown: Sequence[float]) -> Chart:
    """Smallest rate without a significant loss, seed by seed, beside the rate that is shown to be no worse."""
    panels = []
    order = [*map(rate_name, shown), "none"]
    top = 1.15 * float(counts["seeds"].max())
    axis = alt.Axis(labelAngle=0)
    x = alt.X(
        "rate:N", scale=alt.Scale(domain=order), title="smallest rate taken to be good enough", axis=axis
    )
    for measure, answer in chosen.items():
        own = counts[counts["measure"] == measure]
        rows = [
            {"rate": "none" if np.isnan(rate) else rate_name(rate), "seeds": int(seeds)}
            for rate, seeds in zip(own["rate"], own["seeds"], strict=True)
        ]
        y = alt.Y("seeds:Q", title="seeds", scale=alt.Scale(domain=[0, top], nice=False))
        bars = alt.Chart(_data(rows)).mark_bar(color=COLOURS[1], size=18).encode(x, y)
        mark = [{"rate": "none" if answer is None else rate_name(answer), "seeds": 0.95 * top}]
        right = (
            alt.Chart(_data(mark))
            .mark_point(shape="triangle-down", filled=True, size=130, color=COLOURS[2], opacity=1)
            .encode(x, y)
        )
        panels.append(alt.LayerChart(layer=[bars, right], title=measure).properties(width=250, height=200))
    words = "bars: no significant loss in a t-test of one seed a rate; triangle: shown to be no worse, by all instances"
    return _row(panels, words)


def _intervals(rows: list[dict[str, object]], title: str, lines: list[float], colour: Any) -> alt.LayerChart:
    base = alt.Chart(_data(rows)).encode(_rate(rows), color=colour)
    layers = [
        _rule(lines, "black"),
        base.mark_rule(strokeWidth=1.5).encode(alt.Y("hpd_lower:Q", title=title), alt.Y2("hpd_upper:Q")),
        base.mark_rule(strokeWidth=4.5).encode(alt.Y("lower:Q"), alt.Y2("upper:Q")),
        base.mark_tick(size=15, thickness=2.5, opacity=1).encode(alt.Y("difference:Q")),
    ]
    return alt.LayerChart(layer=layers).properties(width=230, height=250)


Axis = TypeVar("Axis", alt.X, alt.Y)


def _p(axis: type[Axis], field: str, title: str) -> Axis:
    return axis(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="sqrt", domain=[0, 1]),
        axis=alt.Axis(values=SMALL_P, format="~g", labelOverlap=False),
    )


def _data(rows: list[dict[str, object]] | list[dict[str, float]]) -> alt.InlineData:
    return alt.InlineData(values=rows)


def _rate(rows: Sequence[dict[str, object]]) -> alt.X:
    order = list(dict.fromkeys(str(row["rate"]) for row in rows))
    return alt.X("rate:N", sort=order, title=RATE, axis=alt.Axis(labelAngle=0))


def _rule(values: Sequence[float], colour: str) -> alt.Chart:
    drawn: alt.Chart = (
        alt.Chart(_data([{"at": float(value)} for value in values]))
        .mark_rule(strokeDash=DASH, color=colour, strokeWidth=1.2, aria=False)
        .encode(alt.Y("at:Q"))
    )
    return drawn


def _row(
    panels: Sequence[alt.Chart | alt.LayerChart],
    words: str | None,
    y: Literal["shared", "independent"] = "independent",
) -> alt.HConcatChart:
    row: alt.HConcatChart = alt.hconcat(*panels, spacing=72, bounds="flush").resolve_scale(y=y)
    if words:
        below = alt.TitleParams(words, orient="bottom", fontWeight="normal", fontSize=11, offset=8)
        row = row.properties(title=below)
    return finish_chart(row)
