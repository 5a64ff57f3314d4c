"""The help of the program and of its commands, in panels as wide as the screen."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich import box
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from shardwise.cli import options
from shardwise.cli.options import (
    BUILT_IN,
    COMMAND_PANELS,
    COMMANDS,
    COMMON,
    GROUP_HELP,
    OF_PROGRAM,
    TABLE,
    Command,
    Param,
)
from shardwise.cli.parsing import list_rows

TAGLINE = "Find out which systems are really different, and what you may claim."
"""What the program is for, in one line."""


def show_help(words: Sequence[str], stream: TextIO) -> None:
    """Write the help of the program, of a group of commands or of a command."""
    command = COMMANDS[words[0]] if words else COMMANDS
    if isinstance(command, dict) and words:
        command = command.get(words[1], command) if len(words) > 1 else command
    console = Console(file=io.StringIO() if not stream.isatty() else stream, highlight=False)
    if isinstance(command, Command):
        _print_command(command, console)
    else:
        console.print(f"\n Usage: {' '.join(['shardwise', *words[:1]])} COMMAND [ARGS]...\n", markup=False)
        console.print(Text(f" {GROUP_HELP[words[0]] if words else TAGLINE}\n"))
        console.print(_make_panel(COMMON, map(_describe_row, [*([] if words else OF_PROGRAM), BUILT_IN[-1]])))
        # What each command or group is for, in a sentence.
        for title, names in COMMAND_PANELS.items() if not words else [("Commands", tuple(command))]:
            members = {name: command[name] for name in names}
            about = {
                name: GROUP_HELP[name] if isinstance(each, dict) else each.help.partition("\n\n")[0]
                for name, each in members.items()
            }
            console.print(
                _make_panel(title, [(name, "", " ".join(text.split())) for name, text in about.items()])
            )
    if isinstance(console.file, io.StringIO):
        stream.write("".join(f"{line.rstrip()}\n" for line in console.file.getvalue().split("\n")[:-1]))


def _print_command(command: Command, console: Console) -> None:
    """Print the options of a command, those that most people need first."""
    argument = command.argument
    shown = "" if argument is None else f" {argument.metavar}{'...' if argument.several else ''}"
    console.print(f"\n Usage: shardwise {command.title} [OPTIONS]{shown}\n", markup=False)
    for paragraph in command.help.split("\n\n"):
        console.print(Text(f" {' '.join(paragraph.split())}\n"))
    panels: dict[str, list[Param]] = {}
    for row in order_rows(command):
        title = "Arguments" if row.positional else COMMON if row.common else row.panel
        panels.setdefault(title, []).append(row)
    for title, members in panels.items():
        console.print(_make_panel(title, map(_describe_row, members)))


def order_rows(command: Command) -> list[Param]:
    """Return the options of a command in the order of its help: arguments, common ones, then group by group."""
    order = list(TABLE)

    def rank(row: Param) -> tuple[int, bool, int]:
        place = order.index(row.name) if row.name in TABLE else len(order)
        if row.positional:
            return -1, False, place
        # What makes a command special comes before what it shares with others.
        shared = row.name not in command.changed or row.panel == "Output"
        return (0, shared, place) if row.common else (1 + list(options.PANELS).index(row.panel), False, place)

    return sorted(list_rows(command), key=rank)


def _describe_row(row: Param) -> tuple[str, str, str]:
    """Return names, value and help of an option, with the default and whether it is repeatable."""
    text = row.description
    if row.several and not row.positional:
        first, default, rest = text.partition(" Default")
        text = f"{first.removesuffix('.')}; repeatable.{default}{rest}"
    default = ", ".join(map(str, row.default)) if row.several else row.default
    unset = default is None or default is False or default == ""
    names = row.metavar if row.positional else ", ".join(row.flags)
    value = "" if row.positional or row.kind is bool else row.metavar
    notes = [] if unset else [f"[default: {default}]"]
    notes += ["[required]"] if row.required and unset else []
    return names, value, " ".join([text, *notes])


def _make_panel(title: str, lines: Iterable[tuple[str, str, str]]) -> Panel:
    """Return a panel with a line for each option or command."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1), expand=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(no_wrap=True, style="dim")
    table.add_column(ratio=1)
    for names, value, text in lines:
        table.add_row(Text(names), Text(value), Text(text))
    return Panel(Group(table), title=title, title_align="left", box=box.ROUNDED, border_style="dim")
