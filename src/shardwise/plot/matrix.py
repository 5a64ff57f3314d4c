"""All pairs of systems in a square: which claims tell them apart (V17 Fig. 4)."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np

from shardwise.compare.comparisons import Comparisons
from shardwise.errors import InputError
from shardwise.plot.intervals import COLOURS, bare
from shardwise.plot.labels import visible

NEITHER = "none"


def matrix_chart(comparisons: Comparisons | Mapping[str, Comparisons], *, alpha: float = 0.05) -> alt.Chart:
    """Draw one cell a pair, coloured by which of one or two comparisons tell the two systems apart.

    Rows and columns are systems, best first; the system of the row is the better one.
    """
    named = comparisons if isinstance(comparisons, Mapping) else {"told apart": comparisons}
    if len(named) > 2:
        raise InputError(f"{len(named)} comparisons do not fit into one square", remedy="choose two")
    first = next(iter(named.values()))
    names = list(named)
    kinds = names if len(named) == 1 else ["both", f"only {names[0]}", f"only {names[1]}"]
    frames = [pairs.to_frame().assign(found=pairs.reject(alpha)) for pairs in named.values()]
    if any(not frame[["a", "b"]].equals(frames[0][["a", "b"]]) for frame in frames):
        raise InputError("the comparisons are not of the same pairs", remedy="compare the same systems")
    found = np.stack([frame["found"].to_numpy(bool) for frame in frames])
    if len(named) == 1:
        kind = np.where(found[0], kinds[0], NEITHER)
    else:
        kind = np.select([found.all(axis=0), found[0], found[1]], kinds, NEITHER)
    labels = [visible(name) for name in first.systems]
    rows = [
        {"a": visible(a), "b": visible(b), "kind": str(k), "difference": float(d)}
        for a, b, d, k in zip(frames[0]["a"], frames[0]["b"], frames[0]["difference"], kind, strict=True)
    ]
    domain = [*kinds, NEITHER]
    colours = [*(COLOURS[0], COLOURS[4], COLOURS[3])[: len(kinds)], "#d9d9d9"]
    size = max(160, min(900, 18 * len(labels)))
    axis = alt.Axis(labelOverlap=True, labelLimit=120, ticks=False, domain=False)
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("b:N", sort=labels, scale=alt.Scale(domain=labels), title="worse system", axis=axis),
            y=alt.Y("a:N", sort=labels, scale=alt.Scale(domain=labels), title="better system", axis=axis),
            color=alt.Color(
                "kind:N",
                sort=domain,
                scale=alt.Scale(domain=domain, range=colours),
                legend=alt.Legend(title="told apart", labelLimit=400, orient="top", direction="vertical"),
            ),
            tooltip=[
                alt.Tooltip("a:N", title="better"),
                alt.Tooltip("b:N", title="worse"),
                alt.Tooltip("difference:Q", format=".4f"),
                alt.Tooltip("kind:N", title="told apart"),
            ],
        )
        .properties(width=size, height=size)
    )
    return bare(drawn)
