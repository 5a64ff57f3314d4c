"""Write results to the terminal or a file, in one of six formats."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from shardwise.cli.options import Format
from shardwise.cli.parsing import Options
from shardwise.core.text import escape_controls, guard_frame, shorten_name, shorten_names
from shardwise.io.atomic import write_atomically
from shardwise.writing.names import escape_tex

LONG = 45
"""Rows of LaTeX that fit on one page."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .8rem; text-align: left; border-bottom: 1px solid #ddd; }}
.number {{ text-align: right; }}
</style></head><body>
{body}
</body></html>
"""


def emit_table(
    frame: pd.DataFrame,
    options: Options,
    *,
    title: str = "",
    notes: tuple[str, ...] = (),
    lasting: tuple[str, ...] = (),
    facts: dict[str, Any] | None = None,
    answers: bool = False,
) -> None:
    """Print the result of a command, or write it to its file whole or not at all, and say so.

    Parameters
    ----------
    frame : DataFrame
        The table.
    options : Options
        Those of the command: format, file, and whether to be quiet.
    title, notes : str, tuple of str
        Lines above and below the table; there are no notes with ``--quiet``.
    lasting : tuple of str
        Notes that are always there.
    facts : dict, optional
        What JSON holds besides.
    answers : bool
        Whether the title is the answer, which is printed beside a file too.
    """
    shown = lasting if options.quiet else (*notes, *lasting)
    # Moments, and the files of a command whose format is set by itself, are other files.
    own = options.command.rows["format"].default is not None or options.keeps_moments
    out = None if own else options.out
    if options.chosen_format is Format.text and out is None and sys.stdout.isatty():
        _print_table(open_terminal(), frame, title, shown)
        return
    text = render_table(
        frame, options.chosen_format, title=title, notes=shown, facts=facts, command=options.command.title
    )
    write_text(text, out, quiet=options.quiet, answer=title if answers else "")


def write_text(text: str, out: Path | None, *, quiet: bool = False, answer: str = "") -> None:
    """Write text to a file whole or not at all and say so, or to the terminal.

    Parameters
    ----------
    text : str
        What to write.
    out : Path or None
        The file; the terminal where there is none.
    quiet : bool
        Whether to say nothing of the file.
    answer : str
        Lines that are printed beside a file.
    """
    if out is not None:
        write_atomically(out, text.encode("utf-8", "backslashreplace"))
        announce_file(out, quiet=quiet)
        if answer and not quiet and out.is_file():
            write_text(f"{answer}\n", None)
    elif sys.stdout.isatty():
        # Names come from files, and may hold what commands a terminal.
        sys.stdout.write("".join(f"{escape_controls(line)}\n" for line in text.split("\n")[:-1]))
    else:
        sys.stdout.write(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def announce_file(path: Path, *, quiet: bool = False) -> None:
    """Say that a file was written; on standard error, which is not part of the result."""
    if not quiet:
        sys.stderr.write(f"wrote {escape_controls(str(path))}\n")


def render_table(
    frame: pd.DataFrame,
    format: Format,
    *,
    title: str = "",
    notes: tuple[str, ...] = (),
    facts: dict[str, Any] | None = None,
    command: str = "",
) -> str:
    """Return a table as text of the given format; JSON names the command."""
    if format is Format.json:
        head = {"command": command} if command else {}
        content = {**head, "title": title, **_to_plain(facts or {}), "notes": list(notes), "rows": []}
        text = json.dumps(content, indent=1, allow_nan=False)
        return "".join((*text.rpartition("[]")[:1], _json_rows(frame), "\n}\n"))
    if format is Format.csv:
        return str(guard_frame(frame).to_csv(index=False, lineterminator="\n"))
    if format is Format.latex:
        return _render_latex(frame, title)
    if format is Format.markdown:
        return _render_markdown(frame, title, notes)
    if format is Format.html:
        return _render_html(frame, title, notes)
    console = Console(width=500, color_system=None)
    with console.capture() as captured:
        _print_table(console, frame, title, notes)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1])


def progress_bar(quiet: bool) -> Progress:
    """A bar with the remaining time on a terminal; nothing in a pipe or when told to be quiet."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


Listener = Callable[[str, int, int], None]
"""Is called with what is being done, how much of it, of how much."""
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def redirect_progress(listener: Listener) -> Iterator[None]:
    """Tell a program of the progress of what it runs, in place of drawing bars."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


@contextmanager
def show_progress(doing: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar for one piece of work, as a function to be called with (done, in all)."""
    if (listener := _LISTENER.get()) is not None:
        listener(doing, 0, 0)
        yield lambda done, total: listener(doing, done, total)
        return
    made = progress_bar(quiet)
    if made.disable:
        # Before 14.3, rich ends one that is not shown with an empty line.
        yield lambda done, total: None
        return
    with made as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def open_terminal(quiet: bool = False) -> Console:
    """The screen; in a pipe, lines are as long as they need to be."""
    return Console(quiet=quiet, highlight=False, width=None if sys.stdout.isatty() else 500)


def _print_table(console: Console, frame: pd.DataFrame, title: str, notes: tuple[str, ...]) -> None:
    # Names in the title come from files, here and below.
    for line in title.split("\n") if title else ():
        console.print(Text(_shorten_line(line), style="bold"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    heads = shorten_names(map(str, frame.columns))
    for name, column in frame.items():
        numeric = pd.api.types.is_numeric_dtype(column)
        table.add_column(Text(heads[str(name)]), justify="right" if numeric else "left")
    for cells in _format_rows(frame):
        table.add_row(*map(Text, cells))
    console.print(table)
    for note in notes:
        console.print(Text(shorten_name(note, 400), style="dim"))


def _shorten_line(text: str) -> str:
    """A line of words; names in it that are endless are cut."""
    line = shorten_name(text, 2000)
    labels = shorten_names(re.findall(r"\S{61,}", line))
    return re.sub(r"\S{61,}", lambda name: labels[name[0]], line)


def _format_rows(frame: pd.DataFrame) -> Iterator[list[str]]:
    """Cells of each row as text; names are cut so that no two of the table look alike."""
    labels = _label_texts(frame)
    for row in frame.itertuples(index=False):
        cells = zip(map(str, frame.columns), row, strict=True)
        yield [
            labels[value] if isinstance(value, str) else _format_cell(name, value) for name, value in cells
        ]


def _label_texts(frame: pd.DataFrame) -> dict[str, str]:
    """Every text of a table as it is shown there."""
    columns = (column for _, column in frame.items() if not pd.api.types.is_numeric_dtype(column))
    return shorten_names(value for column in columns for value in column if isinstance(value, str))


def _format_cell(column: str, value: Any) -> str:
    if isinstance(value, float | np.floating):
        number = float(value)
        if np.isnan(number):
            return "–"
        if number == 0 and column in {"p", "p_adjusted"}:
            return "<1e-300"
        if column == "df":
            return f"{number:.5g}"
        return f"{number:.4f}" if number == 0 or 1e-4 <= abs(number) < 1e5 else f"{number:.3g}"
    return shorten_name(str(value))


def _render_latex(frame: pd.DataFrame, title: str) -> str:
    """A booktabs table, a longtable where it does not fit on a page; the title is a comment above it."""
    kind = "tabular" if len(frame) <= LONG else "longtable"
    columns = "".join("r" if pd.api.types.is_numeric_dtype(column) else "l" for _, column in frame.items())
    head = " & ".join(escape_tex(str(name)) for name in frame.columns) + r" \\"
    lines = [f"% {_shorten_line(line)}" for line in title.split("\n")] if title else []
    lines += [rf"\begin{{{kind}}}{{{columns}}}", r"\toprule", head, r"\midrule"]
    lines += [r"\endhead", r"\bottomrule", r"\endfoot"] if kind == "longtable" else []
    labels = _label_texts(frame)
    for row in frame.itertuples(index=False):
        cells = (
            escape_tex(labels[value], len(labels[value]))
            if isinstance(value, str)
            else _tex_cell(str(name), value)
            for name, value in zip(frame.columns, row, strict=True)
        )
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule"] if kind == "tabular" else []
    return "\n".join([*lines, rf"\end{{{kind}}}"]) + "\n"


def _tex_cell(column: str, value: Any) -> str:
    if not isinstance(value, int | float | np.number) or isinstance(value, bool):
        return escape_tex(str(value))
    shown = _format_cell(column, value)
    if "e" in shown and np.isfinite(float(value)):
        digits, power = shown.lstrip("<").split("e")
        times = "" if digits == "1" and shown[0] == "<" else rf"{digits} \times "
        return f"${'<' * (shown[0] == '<')}{times}10^{{{int(power)}}}$"
    if shown == "–":
        return "--"
    return f"${shown}$" if shown.startswith("-") else shown


def _render_markdown(frame: pd.DataFrame, title: str, notes: tuple[str, ...]) -> str:
    """A table with bars between columns, the title above and the notes below it; names stand as they are written."""
    numeric = [pd.api.types.is_numeric_dtype(column) for _, column in frame.items()]
    lines = [
        _render_row(shorten_names(map(str, frame.columns)).values()),
        _join_cells("---:" if number else "---" for number in numeric),
    ]
    lines += map(_render_row, _format_rows(frame))
    above = "  \n".join(_escape_markdown(_shorten_line(line)) for line in title.split("\n"))
    below = [f"- {_escape_markdown(shorten_name(note, 400))}" for note in notes]
    return "\n".join([*([above, ""] if above else []), *lines, *(["", *below] if below else [])]) + "\n"


def _render_html(frame: pd.DataFrame, title: str, notes: tuple[str, ...]) -> str:
    """A page with the table, the title above and the notes below it."""
    numeric = [pd.api.types.is_numeric_dtype(column) for _, column in frame.items()]
    marks = [' class="number"' if number else "" for number in numeric]
    heads = shorten_names(map(str, frame.columns))
    names = zip(map(str, frame.columns), marks, strict=True)
    head = "".join(f"<th{mark}>{escape(heads[name])}</th>" for name, mark in names)
    rows = []
    for cells in _format_rows(frame):
        columns = zip(cells, marks, strict=True)
        rows.append("".join(f"<td{mark}>{escape(cell)}</td>" for cell, mark in columns))
    lines = [escape(_shorten_line(line)) for line in title.split("\n") if line]
    above = [f"<h1>{lines[0]}</h1>", *(f"<p>{line}</p>" for line in lines[1:])] if lines else []
    below = [f"<p><small>{escape(shorten_name(note, 400))}</small></p>" for note in notes]
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
    return PAGE.format(title=lines[0] if lines else "shardwise", body="\n".join([*above, table, *below]))


def _render_row(cells: Iterable[str]) -> str:
    return _join_cells(map(_escape_markdown, cells))


def _join_cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, HTML in it too.

    >>> _escape_markdown("a|b <i>*")
    'a\\\\|b \\\\<i\\\\>\\\\*'
    """
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", escape_controls(text))


def _json_rows(frame: pd.DataFrame, step: int = 10_000) -> str:
    """The rows of a table as the last member of an object, some at a time: millions of them fit into memory as text."""
    pieces = []
    for first in range(0, len(frame), step):
        rows = [
            {name: _to_plain(value) for name, value in row.items()}
            for row in frame.iloc[first : first + step].to_dict("records")
        ]
        text = json.dumps({"rows": rows}, indent=1, allow_nan=False)
        pieces.append(text[text.index("[") + 1 : text.rindex("]")].rstrip())
    return f"[{','.join(pieces)}\n ]" if pieces else "[]"


def _to_plain(value: Any) -> Any:
    """A value that JSON knows; undefined is null."""
    if isinstance(value, dict):
        return {str(name): _to_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value
