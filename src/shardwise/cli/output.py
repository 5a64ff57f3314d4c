"""Results -> the terminal or a file, in one of four formats."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from shardwise.read.whole import write_whole


class Format(StrEnum):
    """How a result is written."""

    text = "text"
    json = "json"
    csv = "csv"
    latex = "latex"


def emit(
    frame: pd.DataFrame,
    format: Format,
    out: Path | None = None,
    *,
    title: str = "",
    notes: tuple[str, ...] = (),
    facts: dict[str, Any] | None = None,
) -> None:
    """Print a table, or write it to a file whole or not at all."""
    if format is Format.text and out is None:
        _print_table(terminal(), frame, title, notes)
        return
    text = render(frame, format, title=title, notes=notes, facts=facts)
    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(out, text.encode("utf-8"))


def render(
    frame: pd.DataFrame,
    format: Format,
    *,
    title: str = "",
    notes: tuple[str, ...] = (),
    facts: dict[str, Any] | None = None,
) -> str:
    """Turn a table into text of the given format."""
    if format is Format.json:
        rows = [{name: _plain(value) for name, value in row.items()} for row in frame.to_dict("records")]
        return (
            json.dumps({"title": title, **(facts or {}), "notes": list(notes), "rows": rows}, indent=1) + "\n"
        )
    if format is Format.csv:
        return str(frame.to_csv(index=False, lineterminator="\n"))
    if format is Format.latex:
        shown = frame.map(lambda value: printable(value) if isinstance(value, str) else value)
        return str(shown.style.format(precision=4, escape="latex").hide(axis="index").to_latex(hrules=True))
    console = Console(width=500, color_system=None)
    with console.capture() as captured:
        _print_table(console, frame, title, notes)
    return captured.get()


def printable(text: str, most: int = 60) -> str:
    """Names come from files: show control characters as what they are, and cut what is endless."""
    safe = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
    return safe if len(safe) <= most else safe[: most - 1] + "…"


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


def terminal(quiet: bool = False) -> Console:
    """The screen; in a pipe, lines are as long as they need to be."""
    return Console(quiet=quiet, highlight=False, width=None if sys.stdout.isatty() else 500)


def _print_table(console: Console, frame: pd.DataFrame, title: str, notes: tuple[str, ...]) -> None:
    if title:
        console.print(Text(title, style="bold"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, column in frame.items():
        table.add_column(str(name), justify="right" if pd.api.types.is_numeric_dtype(column) else "left")
    for row in frame.itertuples(index=False):
        table.add_row(
            *(Text(_cell(str(name), value)) for name, value in zip(frame.columns, row, strict=True))
        )
    console.print(table)
    for note in notes:
        console.print(Text(printable(note, 400), style="dim"))


def _cell(column: str, value: Any) -> str:
    if isinstance(value, float | np.floating):
        number = float(value)
        if np.isnan(number):
            return "–"
        if number == 0 and column in {"p", "p_adjusted"}:
            return "<1e-300"
        return f"{number:.4f}" if number == 0 or 1e-4 <= abs(number) < 1e5 else f"{number:.3g}"
    return printable(str(value))


def _plain(value: Any) -> Any:
    """A value that JSON knows; undefined is null."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
