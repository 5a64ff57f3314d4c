"""Where the spread of scores comes from: shares of the variance, and standard deviations with their intervals."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

from shardwise.fits.mixed import MixedFit
from shardwise.fits.posterior import Posterior
from shardwise.planning.shards import ShardComponents
from shardwise.plot.theme import COLOURS, bare, data, numbers, words


def component_chart(source: MixedFit | ShardComponents) -> alt.LayerChart:
    """Draw the variance components of a mixed model, or of scores on shards, as shares of their sum."""
    if isinstance(source, MixedFit):
        return _shares(source.variance_components, "share of the variance of a score")
    parts = {
        "topic:system": source.topic_system,
        "system:shard": source.system_shard,
        "error": source.error,
    }
    return _shares(parts, "share of the variance that blurs a difference")


def posterior_chart(posterior: Posterior, *, level: float = 0.95) -> alt.LayerChart:
    """Draw the standard deviation of each component: posterior median and equal-tailed interval."""
    table = posterior.components_table(level)
    rows = [
        {"component": str(name), "sd": sd, "lower": low, "upper": high}
        for name, (sd, low, high) in zip(table.index, table.to_numpy(), strict=True)
    ]
    base = alt.Chart(data(rows)).encode(
        y=_names([str(name) for name in table.index], "component"),
        tooltip=[*words("component"), *numbers(("sd", "standard deviation"), "lower", "upper")],
    )
    x = alt.X("lower:Q", title=f"standard deviation (units of the score), {100 * level:g}% intervals")
    bars = base.mark_rule(strokeWidth=2.5, color=COLOURS[0]).encode(x=x, x2="upper:Q")
    points = base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(x="sd:Q")
    return bare(alt.LayerChart(layer=[bars, points]).properties(width=420, height=34 * len(rows)))


def _shares(variances: Mapping[str, float], title: str) -> alt.LayerChart:
    total = sum(variances.values())
    rows = [
        {"component": name, "share": v / total if total > 0 else 0.0, "variance": v, "sd": v**0.5}
        for name, v in variances.items()
    ]
    top = max(row["share"] for row in rows)
    scale = alt.Scale(domain=[0, 1.15 * float(top) or 1.0])
    base = alt.Chart(data(rows)).encode(
        y=_names(list(variances), "component"),
        x=alt.X("share:Q", title=title, axis=alt.Axis(format="%", tickCount=8), scale=scale),
        tooltip=[
            *words("component"),
            *numbers("share", format=".1%"),
            *numbers("variance", ("sd", "standard deviation"), format=".4g"),
        ],
    )
    bars = base.mark_bar(color=COLOURS[0], height={"band": 0.7})
    said = base.mark_text(align="left", dx=4, aria=False).encode(text=alt.Text("share:Q", format=".1%"))
    return bare(alt.LayerChart(layer=[bars, said]).properties(width=460, height=28 * len(rows)))


def _names(names: list[str], field: str) -> alt.Y:
    axis = alt.Axis(domain=False, ticks=False, grid=False, labelLimit=240, labelPadding=6)
    return alt.Y(f"{field}:N", scale=alt.Scale(domain=names), title=None, axis=axis)
