"""A result as a notebook shows it: a sentence, a table, a small chart; nothing is fetched, and no name is run."""

from __future__ import annotations

from typing import Any

from shardwise.analysis.analysis import Analysis
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.text import escape_nested, shorten_names
from shardwise.plot.dispatch import chart
from shardwise.plot.saving import render_image
from shardwise.writing import answer
from shardwise.writing.numbers import format_percent
from shardwise.writing.slices import render_slices
from shardwise.writing.table import escape_text, render_lines
from shardwise.writing.tables import explain_measures, render_measures, show_table, tabulate_baselines

MOST_ROWS = 10
MOST_DRAWN = 20  # rows of a chart
MOST_CHARACTERS = 44  # of a name in a table


def render_result(result: Any) -> str:
    """Return a result as an element of a page.

    Parameters
    ----------
    result
        Any result of the library.

    >>> import numpy as np, shardwise as sw
    >>> means = sw.Means(("x", "<b>"), np.array([0.3, 0.1]), 0.001, 98.0, "topics like these 50")
    >>> shown = render_result(sw.compare(means))
    >>> "<p>Tukey HSD" in shown, "<b>" in shown, "data:image/svg+xml" in shown
    (True, False, True)
    """
    lines = [line for line in str(result).splitlines() if line.strip()]
    table = table_of(result)
    shown_lines = lines[:1] if table is not None else lines
    return f"<div>{render_lines(shown_lines)}{_render_table(table)}{draw_picture(result)}</div>"


def answer_html(analysis: Analysis) -> str:
    """Return an analysis as an element of a page: the answer, its scope, the first systems, a chart, notes.

    Parameters
    ----------
    analysis : Analysis
        What was analysed.

    Returns
    -------
    str
        HTML.
    """
    first = f"<p><strong>{escape_text(answer.write_answer(analysis))}</strong></p>"
    above = first + render_lines((answer.write_scope(analysis), *answer.write_pairs(analysis)))
    notes = [answer.write_alternative(result, analysis) for result in analysis.instead]
    notes += [answer.write_range(analysis), answer.write_repeats(analysis), answer.write_splits(analysis)]
    warnings = [escape_text(remark.sentence) for remark in analysis.remarks if remark.warning]
    warned = "".join(f"<p><strong>Warning:</strong> {warning}</p>" for warning in warnings)
    below = render_lines(notes) + warned + render_lines([answer.write_next_step(analysis)])
    board = analysis.leaderboard().format_table() if not analysis.baselines else pd.DataFrame(show_table(
        tabulate_baselines(analysis.comparisons, analysis.baselines, analysis.alpha),
        analysis.alpha, analysis.decimals, analysis.lead.resolution,
    ))  # fmt: skip
    # a board has the other measures already
    beside = render_measures(analysis) if analysis.baselines else render_lines([explain_measures(analysis)])
    forest = render_image(
        analysis.plot("forest", most=MOST_DRAWN),
        f"Differences with {format_percent(1.0 - analysis.alpha)} confidence intervals",
    )
    return f"<div>{above}{_render_table(board)}{beside}{forest}{render_slices(analysis.slices)}{below}</div>"


def table_of(result: Any) -> pd.DataFrame | None:
    """Return the table of a result, where it has one.

    Parameters
    ----------
    result
        Any result of the library.
    """
    made = result.to_frame() if hasattr(result, "to_frame") else getattr(result, "table", None)
    return made if isinstance(made, pd.DataFrame) else None


def _render_table(table: pd.DataFrame | None) -> str:
    if table is None:
        return ""
    named = not isinstance(table.index, pd.RangeIndex)
    head = table.head(MOST_ROWS)
    # Names are cut as those of the whole table, so that two that look alike do not meet in its first rows.
    columns = [_shorten_column(table.iloc[:, k], head.iloc[:, k]) for k in range(len(head.columns))]
    head = pd.concat(columns, axis=1) if columns else head
    if named:
        head.index = pd.Index(_shorten_column(table.index, head.index), name=table.index.name)
    # Headings may be names too.
    head = head.rename(columns=escape_nested)
    shown: str = head.to_html(index=named, float_format="{:.4g}".format, na_rep="–", border=0)
    more = len(table) - MOST_ROWS
    shown = f'<div style="overflow-x: auto">{shown}</div>'
    return shown + (f"<p>and {more:,} more rows</p>" if more > 0 else "")


def _shorten_column(whole: Any, head: Any) -> Any:
    """Texts of a column or an index as they are shown; numbers as they are."""
    labels = shorten_names([value for value in whole if isinstance(value, str)], MOST_CHARACTERS)
    return head.map(lambda value: labels[value] if isinstance(value, str) else escape_nested(value))


def draw_picture(result: Any) -> str:
    """Return the default chart of a result as an image, in which no script is run; empty where it cannot be drawn.

    Parameters
    ----------
    result
        Any result of the library.
    """
    options: dict[str, Any] = {"most": MOST_DRAWN} if isinstance(result, Comparisons) else {}
    try:
        drawn = chart(result, **options)
    except InputError:  # too many systems, too few draws: the table says it
        return ""
    return render_image(drawn)
