"""What several comparisons find: pair by pair (V17 Fig. 4 and 6), in p-values, and how far splits agree (FF21)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.rankings import discriminative_power
from shardwise.comparing.stability import Stability, WithinAcross, agreement_matrix
from shardwise.core.errors import InputError
from shardwise.core.text import shorten_names
from shardwise.plot import forms
from shardwise.plot.theme import COLOURS, CROWDED, INK, ON_AXIS, finish_chart, mix_shades

NEITHER = "none"
MOST_NAMED = 3  # methods; of more it is told how many find a difference, not which
# Okabe and Ito's with black; the first three and the last differ in grey print too, the others by their marks
SHADES = ("#0072B2", "#E69F00", "#000000", "#009E73", "#F0E442", "#CC79A7", "#D55E00")
MARKS = ("", "circle", "cross", "square", "triangle-up", "diamond", "stroke")
NOTHING = "#ececec"
BLUES = ("#08306b", "#9ecae1")  # all of them to one of them
GREYS = ("#000000", "#d0d0d0")  # evenly divided to one split against all others


def matrix_chart(
    comparisons: Comparisons | Mapping[str, Comparisons], *, alpha: float = 0.05
) -> alt.LayerChart:
    """Draw one cell a pair, coloured and marked by which of several comparisons tell the two systems apart.

    Rows and columns are systems, best first by the first comparison; the system of the row is found better. A cell
    below the diagonal is a difference against that order. Of more than three comparisons the chart shows how many
    find a difference.

    Parameters
    ----------
    comparisons : Comparisons or mapping of str to Comparisons
        One result of `shardwise.compare`, or several of the same systems by name.
    alpha : float
        Level of significance.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    given = comparisons if isinstance(comparisons, Mapping) else {"significant": comparisons}
    first = next(iter(given.values()))
    # (better, worse) -> numbers of the comparisons that find so
    findings: dict[tuple[str, str], tuple[int, ...]] = {}
    compared = [pairs.to_frame()[["a", "b"]].to_numpy().tolist() for pairs in given.values()]
    if len({frozenset(map(frozenset, pairs)) for pairs in compared}) > 1:
        raise InputError("the comparisons are not of the same pairs", remedy="compare the same systems")
    for order, result in enumerate(given.values()):
        for (a, b), sign in zip(compared[order], result.directions(alpha).tolist(), strict=True):
            # Against a baseline the first of a pair may be the worse one.
            if sign:
                ordered = (a, b) if sign > 0 else (b, a)
                findings[ordered] = (*findings.get(ordered, ()), order)
    names = list(shorten_names(given, 40).values())
    labels = shorten_names(first.names, ON_AXIS)
    rows: list[dict[str, Any]] = []
    frame = first.to_frame()
    for a, b, difference in zip(frame["a"], frame["b"], frame["difference"], strict=True):
        for better, worse, sign in ((a, b, 1.0), (b, a, -1.0)):
            methods = findings.get((better, worse), ())
            if methods or (sign > 0 and (worse, better) not in findings):
                cell = {"a": labels[better], "b": labels[worse], "kind": _name_kind(methods, names)}
                rows.append(cell | {"difference": sign * difference})
    styles = _choose_styles(names, {row["kind"] for row in rows}, len(labels))
    title = "significantly different" if len(names) == 1 else "significantly different by"
    shown = forms.tips("a=better", "b=worse", "difference:.4f", "kind=significant by")
    axes = ("worse system", "better system")
    return finish_chart(forms.draw_square(rows, list(labels.values()), styles, axes, shown, title=title))


def _name_kind(methods: Sequence[int], names: Sequence[str]) -> str:
    """Which comparisons find a difference, or how many of them."""
    n, count = len(names), len(methods)
    if not count:
        return NEITHER
    if n == 1:
        return names[0]
    if n > MOST_NAMED:
        return f"{count} of {n}"
    if count == n:
        return "both" if n == 2 else f"all {n}"
    chosen = " and ".join(names[k] for k in methods)
    return f"only {chosen}" if count == 1 else chosen


def _choose_styles(names: Sequence[str], seen: set[str], systems: int) -> dict[str, tuple[str, str]]:
    """Colour and mark of all that may be found of a pair, most comparisons first; of many, what occurs."""
    n = len(names)
    subsets: list[Sequence[int]] = [range(count) for count in range(n, 0, -1)]
    if n <= MOST_NAMED:
        subsets = [chosen for count in range(n, 0, -1) for chosen in combinations(range(n), count)]
    kinds = [_name_kind(chosen, names) for chosen in subsets]
    kinds = [kind for kind in kinds if n <= 2 or kind in seen]
    fills = mix_shades(len(kinds), BLUES) if n > MOST_NAMED else SHADES
    unmarked = n > MOST_NAMED or (n < 3 and systems > CROWDED)
    styles = {kind: (fills[k], "" if unmarked else MARKS[k]) for k, kind in enumerate(kinds)}
    return styles | {NEITHER: (NOTHING, "")}


MOST_POINTS = 200  # of a curve; more do not show


def p_curve_chart(
    comparisons: Comparisons | Mapping[str, Comparisons],
    *,
    alpha: float = 0.05,
    column: str = "p_adjusted",
    highest: float | None = None,
) -> alt.LayerChart:
    """Draw p-values in ascending order against the share of pairs (Sakai 2006), with a line at alpha.

    Where a curve crosses that line is the share of pairs told apart.

    Parameters
    ----------
    comparisons : Comparisons or mapping of str to Comparisons
        One result of `shardwise.compare`, or several by name.
    alpha : float
        The level to mark.
    column : {"p_adjusted", "p"}
        Which p-values.
    highest : float, optional
        Where the axis ends; 0.2 by default, or 1 where all p-values are above it.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    given = comparisons if isinstance(comparisons, Mapping) else {comparisons.claim: comparisons}
    labels = shorten_names(given, most=120)
    curves = discriminative_power({labels[name]: pairs for name, pairs in given.items()}, column=column)
    if highest is None:
        highest = 0.2 if float(curves["p"].min()) < 0.2 else 1.0
    rows = []
    for claim, frame in curves.groupby("name", sort=False):
        share, p = frame["share"].to_numpy(np.float64), frame["p"].to_numpy(np.float64)
        shown = np.unique(np.linspace(0, int(np.searchsorted(p, highest, "right")), MOST_POINTS).astype(int))
        rows += [{"claim": str(claim), "share": share[k], "p": p[k]} for k in shown[shown < p.size]]
    names = list(labels.values())
    series = forms.Series(
        "claim", names, forms.make_legend(names, **forms.STROKE | {"direction": "vertical"})
    )
    x = forms.number("share", "share of pairs", axis={"format": "%"}, scale={"domain": [0, 1]})
    title = "p-value" if column == "p" else "corrected p-value"
    y = forms.number("p", title, scale={"domain": [0, highest]})
    layers = forms.draw_curves(rows, x, y, series, forms.tips("claim", "share:.1%", "p:.3g"), clip=True)
    return forms.finish_layers([*layers, forms.draw_level(alpha, "y")], 520, 240)


def agreement_chart(
    comparisons: Stability | Sequence[Comparisons],
    below: Stability | Sequence[Comparisons] | None = None,
    *,
    alpha: float | None = None,
    names: tuple[str, str] = ("", ""),
) -> alt.LayerChart:
    """Draw each pair of systems, darker the more evenly the splits are divided over it (V17 Fig. 6).

    Systems are in the order of the first comparison.

    Parameters
    ----------
    comparisons : Stability or sequence of Comparisons
        One a split.
    below : Stability or sequence of Comparisons, optional
        What fills the half below the diagonal, such as the same for another measure.
    alpha : float, optional
        The significance level; by default that of a Stability, else 0.05.
    names : tuple of str
        What the halves above and below are called.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    above, splits = _square_agreement(comparisons, alpha)
    under, others = _square_agreement(below, alpha) if below is not None else (above, splits)
    if set(under.index) != set(above.index):
        raise InputError("the two halves are not of the same systems", remedy="compare the same systems")
    if others != splits:
        raise InputError(f"the halves have {splits} and {others} splits", remedy="give the same number")
    order = list(map(str, above.index))
    labels, halves = shorten_names(order, ON_AXIS), shorten_names(names)
    upper, lower = above.loc[order, order].to_numpy(), under.loc[order, order].to_numpy()
    rows: list[dict[str, Any]] = []
    for i, a in enumerate(order):
        for j, b in enumerate(order):
            against = (upper if i < j else lower)[i, j]
            if i == j or (i > j and below is None) or np.isnan(against):
                continue
            tally = f"{int(against)}:{splits - int(against)}"
            half = halves[names[0] if i < j else names[1]]
            rows.append({"a": labels[a], "b": labels[b], "splits": tally, "half": half})
    most = max((int(row["splits"].split(":")[0]) for row in rows), default=0)
    tallies = [f"{k}:{splits - k}" for k in range(max(most, splits // 2) + 1)]
    fills = ["#f4f4f4", *reversed(mix_shades(len(tallies) - 1, GREYS))]
    kinds = {tally: (fill, "") for tally, fill in zip(tallies, fills, strict=True)}
    shown = forms.tips("a=system", "b=other", "splits", *(["half=scores"] if any(names) else []))
    key = {"title": "splits against the others", "direction": "horizontal", "symbolStrokeColor": "#999999"}
    axes = ("system, best first", "system, best first")
    drawn = forms.draw_square(rows, list(labels.values()), kinds, axes, shown, "splits", **key)
    if any(names):
        title = f"above the diagonal: {halves[names[0]]}; below: {halves[names[1]]}"
        drawn = drawn.properties(title=title)
    return finish_chart(drawn)


def _square_agreement(
    comparisons: Stability | Sequence[Comparisons], alpha: float | None
) -> tuple[pd.DataFrame, int]:
    """How many splits are against the others on each pair, and the number of splits."""
    level = 0.05 if alpha is None else alpha
    if isinstance(comparisons, Stability):
        level = comparisons.alpha if alpha is None else alpha
        comparisons = comparisons.comparisons
    return agreement_matrix(comparisons, level), len(comparisons)


PROPORTIONS = {"PAA": "on what differs (PAA)", "PPA": "on what does not (PPA)"}
COUNTS = {
    "AA": "both, same system better (AA)",
    "PA": "neither (PA)",
    "PD": "one of them (PD)",
    "AD": "both, opposite (AD)",
}


def stability_chart(stability: Stability) -> alt.HConcatChart:
    """Draw the agreement of each two splits, and its mean with the t-interval (FF21 Table 6).

    Left, the share of pairs by what the two splits find; right, the proportions of agreement PAA and PPA.

    Parameters
    ----------
    stability : Stability
        The result of `shardwise.stability.between_splits` and its like.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    splits, mean = stability.to_frame().to_dict("records"), stability.mean()
    panels = []
    for figures, heading, title, unit, pattern in (
        (
            COUNTS,
            "two splits find a difference",
            f"pairs, of {len(stability.comparisons[0])}",
            "pairs",
            ".1f",
        ),
        (PROPORTIONS, "two splits agree", "proportion of agreement", "proportion", ".3f"),
    ):
        ticks, means = [], []
        for figure, label in figures.items():
            centre, half = float(mean["mean"][figure]), float(mean["half_width"][figure])
            means.append({"figure": label, "value": centre, "lower": centre - half, "upper": centre + half})
            ticks += [
                {"figure": label, "split": row["split"], "other": row["other"], "value": row[figure]}
                for row in splits
            ]
        title_above = {
            "titleAnchor": "end",
            "titleAngle": 0,
            "titleAlign": "right",
            "titleY": -10,
            "titleX": -10,
        }
        y = forms.name_rows("figure", figures.values(), **title_above) | {"title": heading}
        numbers = {"title": title, "scale": {"zero": figures is COUNTS}}
        pair = forms.tips("figure", "split", "other", f"value:{pattern}={unit}")
        every = {"x": forms.number("value", **numbers), "y": y, "tooltip": pair}
        shown = forms.tips("figure", f"value:{pattern}=mean", f"lower:{pattern}", f"upper:{pattern}")
        style: forms.Channel = {
            "named": False,
            "size": 60,
            "color": {"value": INK},
            "shape": {"value": "diamond"},
        }
        marks = forms.draw_intervals(means, y, numbers, ("value", "lower", "upper"), shown, **style)
        spread = forms.draw("tick", ticks, every, color=COLOURS[0], thickness=1.2, opacity=0.6)
        panels.append(forms.layer([spread, *marks], 260, 34 * len(figures)))
    level = 100 * stability.level
    note = f"ticks: each two of {len(stability.comparisons)} splits; diamond: mean with {level:g}% t-interval"
    return finish_chart(alt.hconcat(*panels, spacing=40).properties(title=note))


def width_chart(result: WithinAcross) -> alt.LayerChart:
    """Draw the mean width of intervals of related systems by what the model was fitted to (V17 Table 6).

    Parameters
    ----------
    result : WithinAcross
        The result of `shardwise.stability.within_across`.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    models = shorten_names(map(str, result.widths.columns), most=80)
    rows = [
        {
            "condition": str(condition),
            "model": models[str(model)],
            "width": width,
            "zero": 0.0,
            "place": place,
        }
        for condition, widths in zip(result.widths.index, result.widths.to_numpy(), strict=True)
        for place, (model, width) in enumerate(zip(result.widths.columns, widths, strict=True))
    ]
    names, conditions = list(models.values()), list(map(str, result.widths.index))
    y = forms.name("condition", conditions)
    numbers = {"title": "mean width of the intervals (in units of the score)", "scale": {"zero": True}}
    shown = forms.tips("condition", "model", "width:.4f")
    series = forms.Series("model", names, forms.make_legend(names))
    style: forms.Channel = {
        "series": series,
        "thick": 1.5,
        "size": 70,
        "yOffset": forms.PLACE,
        "named": False,
    }
    layers = forms.draw_intervals(rows, y, numbers, ("width", "zero", "width"), shown, **style)
    return forms.finish_layers(layers, 420, 44 * len(conditions))
