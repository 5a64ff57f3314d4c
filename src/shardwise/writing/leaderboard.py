"""A leaderboard -> a page, or an element to put into one: sortable, searchable, linked to, and nothing fetched."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from shardwise.analysis.leaderboard import Leaderboard
from shardwise.core.claim import pluralize_noun
from shardwise.core.libraries import pd
from shardwise.writing.assets import Axis, hash_script, load_templates, make_axis, read_asset
from shardwise.writing.item_view import render_items
from shardwise.writing.numbers import (
    format_interval,
    format_number,
    format_p,
    format_percent,
    format_ranks,
    format_signed,
)
from shardwise.writing.slices import MARKS, render_slices
from shardwise.writing.tables import answer_leaderboard, explain_leaderboard, head_leaderboard, mark_means


def render_leaderboard(board: Leaderboard, *, page: bool = True, name: str = "leaderboard") -> str:
    """Render a leaderboard.

    Parameters
    ----------
    board
        What to show.
    page
        Whether to return a whole page; else an element with its style and script.
    name
        The id of the element, with which links to it begin.
    """
    script = read_asset("leaderboard.js")
    axis = make_axis(board.table[["mean", "lower", "upper"]], 3)
    answer, scope, step = answer_leaderboard(board)
    title, byline = head_leaderboard(board)
    view = render_items(board.analysis, f"{name}-items") if board.analysis else None
    scripts = [script] if view is None else [script, view.script]
    drawn = (
        load_templates()
        .get_template("leaderboard.html")
        .render(
            b=board,
            name=name,
            nouns=pluralize_noun(board.noun),
            level=format_percent(board.level),
            page=page,
            title=title,
            byline=byline,
            answer=answer,
            scope=scope,
            explained=[*explain_leaderboard(board), step],
            style=Markup(read_asset("leaderboard.css") + ("" if view is None else view.style)),
            scripts=[Markup(text) for text in scripts],
            view=view,
            by_slice=Markup(render_slices(board.analysis.slices)) if board.analysis else "",
            items=pluralize_noun(board.analysis.noun_for("topic")) if board.analysis else "",
            axis=axis,
            rows=_list_rows(board, axis),
            wide=len(board.others) + 2 * len(board.against) > 3,
        )
    )
    if not page:
        return drawn
    return (
        load_templates()
        .get_template("leaderboard-page.html")
        .render(title=title, board=Markup(drawn), scripts=[hash_script(text) for text in scripts])
    )


def _list_rows(board: Leaderboard, axis: Axis) -> list[dict[str, Any]]:
    """What each row shows: the text of a number beside the number that it is sorted by."""
    t, d, r = board.table, board.decimals[board.measure], max(len(board) - 1, 1)
    others = () if board.analysis is None else board.analysis.others
    marked = {each.measure: mark_means(each, board.analysis) for each in others if board.analysis}
    rows = []
    for k, ranks in enumerate(format_ranks(t)):
        row = t.iloc[k]
        low, high = float(row["lower"]), float(row["upper"])
        known = not np.isnan(low)
        rows.append(
            {
                "rank": int(row["rank"]),
                "ranks": ranks,
                "rank_best": int(row["rank_best"]),
                "rank_worst": int(row["rank_worst"]),
                "from": round(1000 * (int(row["rank_best"]) - 1) / r, 1),
                "to": round(1000 * (int(row["rank_worst"]) - 1) / r, 1),
                "name": str(row["system"]),
                "mean": _format_cell(row["mean"], d),
                "between": format_interval(low, high, d),
                "x": axis.locate_value(float(row["mean"])),
                "low": axis.locate_value(low) if known else None,
                "width": round(axis.locate_value(high) - axis.locate_value(low), 1) if known else 0.0,
                "to_best": _format_cell(row["to_best"], d),
                "group": str(row["group"]) if board.has_letters else "",
                "top": bool(row["top"]),
                "others": [
                    _format_cell(frame["mean"].iloc[k], 3) | {"text": marked[m][k]}
                    for m, frame in board.others.items()
                ],
                "against": [
                    _describe_difference(frame.iloc[k], d, board.resolution)
                    for frame in board.against.values()
                ],
            }
        )
    return rows


def _format_cell(x: Any, decimals: int) -> dict[str, Any]:
    return {
        "value": f"{float(x):.7g}" if np.isfinite(float(x)) else "",
        "text": format_number(float(x), decimals),
    }


def _describe_difference(row: pd.Series[Any], decimals: int, resolution: float) -> dict[str, Any]:
    """The difference to a baseline; the baseline itself has none."""
    shown = _format_cell(row["difference"], decimals)
    return {
        "value": shown["value"],
        "text": format_signed(float(row["difference"]), decimals),
        "mark": MARKS[row["verdict"]],
        "verdict": row["verdict"] or "the baseline",
        "p": format_p(float(row["p_adjusted"]), resolution),
    }
