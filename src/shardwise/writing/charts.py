"""Charts as drawings inside the page: no script, no network, in the colours of light and dark."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from shardwise.analysis.analysis import Analysis
from shardwise.core.errors import InputError
from shardwise.core.text import shorten_name
from shardwise.planning.variances import variance_components
from shardwise.plot.dispatch import list_charts
from shardwise.plot.fits import component_chart, residual_chart, variance_share_chart
from shardwise.plot.items import instance_means_chart
from shardwise.plot.lab import error_rate_chart
from shardwise.plot.matrix import p_curve_chart
from shardwise.plot.pairs import INTERVALS, draw_means, trade_chart
from shardwise.plot.saving import import_converter, specify_chart
from shardwise.plot.theme import COLOURS, Chart, finish_chart, list_records

INK: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "tickColor": "currentColor",
        "domainColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "tickOpacity": 0.4,
        "domainOpacity": 0.4,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12.5,
        "titlePadding": 8,
        # a label moved inwards at an end lies on its neighbour; fonts of readers may be wider than that of the drawing
        "labelFlush": False,
        "labelSeparation": 6,
    },
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 12},
    "text": {"color": "currentColor", "fontSize": 12},
    "title": {"color": "currentColor", "fontSize": 13, "fontWeight": "normal", "anchor": "start"},
    "rule": {"color": "currentColor"},
}
THEMED = {COLOURS[0]: "var(--lead)", COLOURS[1]: "var(--beside)", "#606060": "currentColor"}


def draw_svg(specification: dict[str, Any], name: str) -> str:
    """Draw a chart; the ids inside start with its name, whatever was drawn before."""
    drawn: str = import_converter().vegalite_to_svg(specification)
    ids = dict.fromkeys(re.findall(r'\bid="([^"]+)"', drawn))
    for number, old_id in enumerate(ids):
        drawn = re.sub(rf'(id="|#){re.escape(old_id)}(?=[")])', rf"\g<1>{name}-{number}", drawn)
    return drawn


def inline_svg(chart: Chart, name: str, label: str) -> str:
    """Draw a chart as SVG that takes its colours from the page; `label` is its text alternative."""
    specification = specify_chart(chart, validate=False)  # which vl-convert does
    specification["config"] = INK
    drawn = draw_svg(specification, name)
    for fixed, themed in THEMED.items():
        drawn = drawn.replace(f'"{fixed}"', f'"{themed}"')
    # hundredths of a pixel are enough for positions
    drawn = re.sub(r' (?:d|transform)="[^"]*"', lambda m: re.sub(r"(\.\d\d)\d+", r"\1", m[0]), drawn)
    words = label.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1)


def draw_charts(content: Analysis) -> dict[str, str]:
    """The drawings of a report by name."""
    word = content.noun_for("instance")
    drawn: dict[str, tuple[Chart, str]] = {
        "variance": (
            variance_share_chart(content.fit),
            "Bars: share of the total sum of squares that each term explains",
        ),
        "residuals": (
            residual_chart(content.fit),
            "Left: quantiles of the residuals against those of the normal distribution. Right: residuals against fitted"
            " scores",
        ),
    }
    if "instance" in content.scores.dims:
        drawn["instances"] = (
            instance_means_chart(content.scores),
            f"Points: the mean of each {word}, one row a {content.noun_for('system')}; bars: the mean of all",
        )
        with suppress(InputError):  # scores are missing, or no system has a second instance
            components = variance_components(content.scores)
            drawn["components"] = (
                component_chart(components, nouns=content.nouns),
                "Bars: share of the variance of a score that each source has",
            )
    if len(content.systems) > 3:
        named = {result.claim: result.pairs for result in content.distinct_results}
        drawn["p_curves"] = (
            p_curve_chart(named, alpha=content.alpha),
            "Corrected p-values in ascending order, one curve a claim; where a curve crosses the level is the share of"
            " pairs that differ significantly",
        )
    if "trade" in list_charts(content):
        drawn["trade"] = (
            trade_chart(content),
            "Points: each system's mean by the benefit, upwards, and by the cost, to the right, with intervals",
        )
    if content.trust.calibration is not None:
        drawn["trust"] = (
            error_rate_chart(content.trust.rows.assign(nominal=content.alpha)),
            "Simulated error rate of each method with its interval, one panel a claim, beside the nominal level",
        )
    return {name: inline_svg(chart, f"{name}-chart", label) for name, (chart, label) in drawn.items()}


def interval_figure(content: Analysis) -> tuple[bytes, str]:
    """The figure of intervals for the paper, as PDF and as SVG."""
    rows = [
        row | {"claim": result.claim}
        for result in content.distinct_results
        for row in list_records(result.chart_intervals.reset_index())
    ]
    comparison = all(result.has_comparison_intervals for result in content.claims)
    interval = INTERVALS["comparison" if comparison else "mean"]
    title = f"{shorten_name(content.measure)}, mean and {100 * (1.0 - content.alpha):g}% {interval}"
    drawn = draw_means(rows, title, content.systems, content.nouns_for("system"))
    specification = specify_chart(finish_chart(drawn), validate=False)
    pdf: bytes = import_converter().vegalite_to_pdf(specification)
    return pdf, draw_svg(specification, "intervals")
