"""Write results to the terminal or a file, in one of six formats."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from html import escape
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shardwise.cli.options import Format
from shardwise.cli.parsing import Options
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.text import escape_controls, list_columns, shorten_name, shorten_names, write_csv
from shardwise.io.atomic import write_atomically
from shardwise.writing.table import TypedColumn, lay_out, render_html, set_table

if TYPE_CHECKING:
    from rich.progress import Progress

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #ddd; }}
.w {{ text-align: left; }}
</style></head><body>
{body}
</body></html>
"""


Table: TypeAlias = "pd.DataFrame | Mapping[str, Sequence[Any]]"
"""Columns by name."""
NUMBERS = (int, float, np.number, np.bool_)


@dataclass(frozen=True, slots=True)
class Result:
    """What a command returns, to be written in any format.

    Parameters
    ----------
    lines : tuple of str
        Sentences, the answer first.
    table : DataFrame, mapping of lists or None
        The columns; where there are none, the lines are all that is printed.
    notes : tuple of str
        Below the table, unless ``--quiet``.
    lasting : tuple of str
        Notes that are always there.
    facts : dict
        What JSON holds besides.
    chart : callable or None
        Draws it, where ``--chart`` asks for that; takes the kind of the chart where there are several.
    answers : bool
        Whether the lines are the answer, which is printed beside a file too.
    page : str
        The result in HTML, where it has a page of its own.
    written : tuple of Path
        Files that were written.
    code : int
        Exit code.
    source : object
        What the library returned, for pages that show more of it.
    """

    lines: tuple[str, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    chart: Callable[..., Any] | None = None
    answers: bool = False
    page: str = ""
    written: tuple[Path, ...] = ()
    code: int = 0
    source: Any = None


def emit(result: Result, options: Options) -> int:
    """Print a result, or write it to its file whole or not at all and say so; return its exit code."""
    if result.chart is not None and options.chart is not None:
        # Loaded here, since most results are not drawn.
        from shardwise.plot.saving import save_chart

        kind = options.chart.kind
        if kind and "kind" not in signature(result.chart).parameters:
            raise InputError("has one chart only", remedy=("write ", Option("chart", "FILE")))
        save_chart(result.chart(kind=kind) if kind else result.chart(), options.chart.path)
    for path in result.written:
        announce_file(path, quiet=options.quiet)
    title = "\n".join(line for line in result.lines if line)
    notes = tuple(filter(None, result.lasting if options.quiet else (*result.notes, *result.lasting)))
    # Moments, and the files of a command whose format is set by itself, are other files.
    format = options.command.rows.get("format")
    separate = format is None or format.default is not None or options.keeps_moments
    out = None if separate else options.out
    if result.page:
        write_text(result.page, out, quiet=options.quiet, answer=title if result.answers else "")
    elif result.table is None:
        if not options.quiet:
            write_text(f"{title}\n", None)
    else:
        terminal = out is None and sys.stdout.isatty()
        text = render_table(
            result.table,
            options.chosen_format,
            title=title,
            notes=notes,
            facts=result.facts,
            command=options.command.title,
            terminal=terminal,
        )
        styled = terminal and options.chosen_format is Format.text
        answer = title if result.answers else ""
        write_text(text, out, quiet=options.quiet, answer=answer, styled=styled)
    return result.code


def write_text(
    text: str, out: Path | None, *, quiet: bool = False, answer: str = "", styled: bool = False
) -> None:
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
    styled : bool
        Whether the text was laid out for a terminal, and holds no names that command it.
    """
    if out is not None:
        write_atomically(out, text.encode("utf-8", "backslashreplace"))
        announce_file(out, quiet=quiet)
        if answer and not quiet and out.is_file():
            write_text(f"{answer}\n", None)
    elif sys.stdout.isatty():
        # Names come from files, and may hold what commands a terminal.
        sys.stdout.write(
            "".join(f"{line if styled else escape_controls(line)}\n" for line in text.split("\n")[:-1])
        )
    else:
        sys.stdout.write(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def announce_file(path: Path, *, quiet: bool = False) -> None:
    """Say that a file was written; on standard error, which is not part of the result."""
    if not quiet:
        sys.stderr.write(f"wrote {escape_controls(str(path))}\n")


def render_table(
    table: Table,
    format: Format,
    *,
    title: str = "",
    notes: tuple[str, ...] = (),
    facts: Mapping[str, Any] | None = None,
    command: str = "",
    terminal: bool = False,
) -> str:
    """Return a table as text of the given format; JSON names the command, and a terminal shows text in its width."""
    if format is Format.json:
        head = {"command": command} if command else {}
        content = {**head, "title": title, **_to_plain(facts or {}), "notes": list(notes), "rows": []}
        text = json.dumps(content, indent=1, allow_nan=False)
        return "".join((*text.rpartition("[]")[:1], _json_rows(list_columns(table)), "\n}\n"))
    if format is Format.csv:
        return write_csv(table)
    # Of a line of words; names in it that are endless are cut.
    lines = [shorten_name(line, 2000) for line in title.split("\n")] if title else []
    long = shorten_names(re.findall(r"\S{61,}", " ".join(lines)))
    above = [re.sub(r"\S{61,}", lambda name: long[name[0]], line) for line in lines]
    below = [shorten_name(note, 400) for note in notes]
    columns = _type_columns(list_columns(table))
    if format is Format.latex:
        return "".join([*(f"% {line}\n" for line in above), set_table(columns)])
    if format is Format.markdown:
        sides = ["---" if column.kind == "text" else "---:" for column in columns]
        shown = zip(*(column.show() for column in columns), strict=True)
        cells: list[Iterable[str]] = [[str(column.head) for column in columns], *shown]
        top, *rows = [f"| {' | '.join(map(_escape_markdown, row))} |" for row in cells]
        title = "  \n".join(map(_escape_markdown, above))
        listed = [f"- {_escape_markdown(note)}" for note in below]
        lines = [*([title, ""] if title else []), top, f"| {' | '.join(sides)} |", *rows]
        return "\n".join([*lines, *(["", *listed] if listed else []), ""])
    if format is Format.html:
        first, *others = [escape(line) for line in above if line] or [""]
        body = [f"<h1>{first}</h1>"] if first else []
        body += [*(f"<p>{line}</p>" for line in others), render_html(columns)]
        body += [f"<p><small>{escape(note)}</small></p>" for note in below]
        return PAGE.format(title=first or "shardwise", body="\n".join(body))
    rows = lay_out(columns)
    if not terminal:
        return "".join(f"{line.rstrip()}\n" for line in (*above, *rows, *below))
    width = shutil.get_terminal_size().columns
    if max(map(len, rows)) > width:
        rows = _fold_table(columns, width)
    lines = [*(_wrap_line(line, width, BOLD) for line in above), _style_text(rows[0], BOLD), *rows[1:]]
    return "".join(f"{line}\n" for line in (*lines, *(_wrap_line(note, width, DIM) for note in below)))


BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
"""What makes a terminal show text so."""


def _style_text(text: str, style: str) -> str:
    """Return text in a style, on terminals that have one."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") in ("dumb", "unknown")
    return text if plain or not text else f"{style}{text}{PLAIN}"


def _wrap_line(line: str, width: int, style: str) -> str:
    """Return a line of words broken at the width of the terminal."""
    parts = textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(_style_text(part, style) for part in parts)


def _fold_table(columns: Sequence[TypedColumn], width: int) -> list[str]:
    """Return the lines of a table that is wider than the terminal, long cells folded."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in columns:
        side: Any = "left" if column.kind == "text" else "right"
        table.add_column(Text(str(column.head)), justify=side)
    for cells in zip(*(column.show() for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return captured.get().split("\n")[:-1]


def progress_bar(quiet: bool) -> Progress | None:
    """Return a bar with the remaining time on a terminal; None in a pipe or when told to be quiet."""
    if quiet or not sys.stderr.isatty():
        return None
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


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
    if made is None:
        yield lambda done, total: None
        return
    with made as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _type_columns(table: Mapping[str, Sequence[Any]]) -> list[TypedColumn]:
    """Return the columns of a table as people read them; names are cut so that no two of the table look alike."""
    texts = [
        name for name, values in table.items() if not all(isinstance(value, NUMBERS) for value in values)
    ]
    labels = shorten_names(value for name in texts for value in table[name] if isinstance(value, str))
    heads = shorten_names(table)
    columns = []
    for name, values in table.items():
        cells = [labels[value] if isinstance(value, str) else _format_cell(name, value) for value in values]
        columns.append(TypedColumn(heads[name], cells, "text" if name in texts else "figure"))
    return columns


def _format_cell(column: str, value: Any) -> str:
    """Return a number with four digits after the point, fewer of degrees of freedom."""
    if not isinstance(value, float | np.floating):
        return shorten_name(str(value))
    number = float(value)
    if np.isnan(number):
        return "–"
    if number == 0 and column in {"p", "p_adjusted"}:
        return "<1e-300"
    if column == "df":
        return f"{number:.5g}"
    return f"{number:.4f}" if number == 0 or 1e-4 <= abs(number) < 1e5 else f"{number:.3g}"


def _escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, HTML in it too.

    >>> _escape_markdown("a|b <i>*")
    'a\\\\|b \\\\<i\\\\>\\\\*'
    """
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", escape_controls(text))


def _json_rows(columns: Mapping[str, Sequence[Any]], step: int = 10_000) -> str:
    """The rows of a table as the last member of an object, some at a time: millions of them fit into memory as text."""
    pieces = []
    for first in range(0, max(map(len, columns.values()), default=0), step):
        cells = zip(*(values[first : first + step] for values in columns.values()), strict=True)
        rows = [dict(zip(columns, map(_to_plain, row), strict=True)) for row in cells]
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
