"""What a simulated collection was drawn from."""

from __future__ import annotations

import altair as alt
import numpy as np

from shardwise.lab.simulate_collection import SimulatedCollection
from shardwise.plot.labels import ON_AXIS, distinct
from shardwise.plot.theme import COLOURS, CROWDED, across, bare, data, level_line, numbers, system_axis, words


def truth_chart(made: SimulatedCollection) -> alt.HConcatChart:
    """Draw the true quality of each system, and the difficulty of each topic, hardest first.

    Parameters
    ----------
    made : SimulatedCollection
        The result of `shardwise.simulate.collection`.
    """
    order = np.argsort(-made.difficulty, kind="stable")
    halves = (
        (made.systems, made.quality, "system", "true quality", "circle", COLOURS[0]),
        (
            [made.topics[k] for k in order],
            made.difficulty[order],
            "topic",
            "difficulty",
            "diamond",
            COLOURS[1],
        ),
    )
    panels = []
    for names, values, what, title, form, shade in halves:
        labels = distinct(names, ON_AXIS)
        rows = [{what: labels[name], "value": value} for name, value in zip(names, values, strict=True)]
        crowded = len(rows) > CROWDED
        points = (
            alt.Chart(data(rows))
            .mark_point(filled=True, shape=form, size=14 if crowded else 44, color=shade, opacity=1)
            .encode(
                x=system_axis(
                    list(labels.values()), f"{what}, {'best' if what == 'system' else 'hardest'} first", what
                ),
                y=alt.Y("value:Q", title=f"{title} (units of the document score)"),
                tooltip=[*words(what), *numbers(("value", title))],
            )
        )
        layers = [level_line(0.0, "y"), points]
        panels.append(
            alt.LayerChart(layer=layers).properties(width=min(520, across(len(rows), 14)), height=240)
        )
    return bare(alt.hconcat(*panels, spacing=40))
