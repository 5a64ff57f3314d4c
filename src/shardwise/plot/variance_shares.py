"""How much of what makes scores differ each term of a model explains."""

from __future__ import annotations

import altair as alt
import numpy as np

from shardwise.fits.anova import AnovaFit
from shardwise.plot.theme import COLOURS, bare, data


def variance_share_chart(fit: AnovaFit) -> alt.LayerChart:
    """Draw the share of the total sum of squares of each term and of the error, one bar a term.

    On unbalanced data sums of squares are of type III and the shares need not add up to one.

    >>> import numpy as np, xarray as xr
    >>> from shardwise.fits.anova import anova
    >>> fit = anova(xr.DataArray(np.eye(3), dims=("topic", "system")), "topic + system")
    >>> (rows,) = variance_share_chart(fit).to_dict()["datasets"].values()
    >>> {row["term"]: row["share"] for row in rows}
    {'topic': 0.0, 'system': 0.0, 'error': 1.0}
    """
    *terms, _ = (str(term) for term in fit.table.index)
    *squares, total = fit.table["ss"].to_numpy(np.float64).tolist()
    shares = [one / total if total > 0 else 0.0 for one in squares]
    rows = [
        {"term": term, "share": share, "ss": one, "df": int(df)}
        for term, share, one, df in zip(terms, shares, squares, fit.table["df"], strict=False)
    ]
    scale = alt.Scale(domain=[0, max(shares) * 1.15 or 1.0])
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("term:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False, labelLimit=240)),
        x=alt.X(
            "share:Q",
            title="share of the total sum of squares",
            axis=alt.Axis(format="%", tickCount=8),
            scale=scale,
        ),
        tooltip=[
            alt.Tooltip("term:N"),
            alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("ss:Q", format=".4g", title="sum of squares"),
            alt.Tooltip("df:Q"),
        ],
    )
    bars = base.mark_bar(color=COLOURS[0], height={"band": 0.7})
    words = base.mark_text(align="left", dx=4, aria=False).encode(text=alt.Text("share:Q", format=".1%"))
    return bare(alt.LayerChart(layer=[bars, words]).properties(width=520, height=26 * len(rows)))
