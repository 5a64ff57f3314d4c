"""Run the command line: parse, call the library, and turn errors into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

import shardwise
from shardwise.cli.commands import COMMANDS, GROUP_HELP, PANELS, WITHOUT_CONFIG
from shardwise.cli.config import FILE, NothingGiven
from shardwise.cli.interrupt import leave_at_once, run_interruptibly
from shardwise.cli.shared import make_command
from shardwise.cli.wording import format_error, suggest_name
from shardwise.core.errors import InputError
from shardwise.core.limits import fit_address_space
from shardwise.core.text import escape_controls

TAGLINE = "Find out which systems are really different, and what you may claim."
"""What the program is for, in one line."""

NO_THREAD = "can't start new thread"
"""What Python says where the system refuses a thread, as under a limit of memory."""

UsageError: Any = typer.BadParameter.__bases__[0]
"""Error of a command line that cannot be read; typer brings its own click, or uses another's."""


@cache
def build_app(only: str | None = None) -> Any:
    """Put the commands together, once: a program may run several.

    Parameters
    ----------
    only : str, optional
        The one command that is asked for: to build all takes as long as most commands.

    Returns
    -------
    click.Command
        What parses a command line and calls the command.
    """
    app = typer.Typer(
        name="shardwise",
        help=TAGLINE,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_show_version)
    named = [(panel, name) for panel, names in PANELS.items() for name in names if only in (None, name)]
    for panel, name in named:
        command = COMMANDS[name]
        if isinstance(command, dict):
            group = typer.Typer(help=GROUP_HELP[name], no_args_is_help=True)
            for inner, (options, function) in command.items():
                group.command(inner)(make_command(options, function))
            app.add_typer(group, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(
                make_command(*command, config=name not in WITHOUT_CONFIG)
            )
    return typer.main.get_command(app)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; what goes wrong is raised."""
    words = list(arguments)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise InputError(
            f"unknown command '{words[0]}'",
            remedy=suggest_name(words[0], COMMANDS) or f"the commands are {', '.join(COMMANDS)}",
        )
    only = words[0] if words and words[0] in COMMANDS else None
    code = build_app(only).main(args=words, prog_name="shardwise", standalone_mode=False, obj=tuple(COMMANDS))
    return code if isinstance(code, int) else 0


def _show_version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"shardwise {shardwise.__version__}")
        raise typer.Exit


def _run_here(words: list[str]) -> int:
    """Run a command line; one that names no inputs takes them from a shardwise.toml in this folder, and says so."""
    try:
        return run_command(words)
    except (UsageError, NothingGiven) as error:
        argument = getattr(getattr(error, "param", None), "param_type_name", "") == "argument"
        missing = isinstance(error, NothingGiven) or (argument and "Missing" in type(error).__name__)
        if not missing or not Path(FILE).is_file() or any(word.startswith("--config") for word in words):
            raise
        if not {"-q", "--quiet"} & set(words):
            sys.stderr.write(f"no inputs given: inputs and options are taken from {FILE}\n")
        return run_command([*words, "--config", FILE])


def main() -> None:
    """Run the command line; exit code 2 and one line where the input is at fault, 1 where we are."""
    _open_streams()
    try:
        if not {"-h", "--help", "--version"} & set(sys.argv):
            fit_address_space()
        work = partial(_run_here, sys.argv[1:])
        # A server hears signals by itself.
        code = work() if sys.argv[1:2] == ["serve"] else run_interruptibly(work)
        sys.stdout.flush()
    except InputError as error:
        code = _refuse_line(format_error(error))
    except UsageError as error:
        code = _explain_usage(error)
    except MemoryError:
        code = _refuse_line("not enough memory; use fewer splits, runs or resamples")
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        code = _refuse_line("not enough memory to start a thread; allow more memory, or use --jobs 1")
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        code = _refuse_line(
            f"{named}{error.strerror or error}; check the path, its permissions and the space left"
        )
        _forget_output()
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        with suppress(OSError):
            sys.stderr.write("stopped\n")
            sys.stderr.flush()
        leave_at_once(code)
    sys.exit(code)


def _open_streams() -> None:
    """Write what a terminal cannot show as its code, and survive closed streams until something is written."""
    if sys.stdout is None:
        # Writing to it fails, and the error is reported.
        sys.stdout = open(os.devnull)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _refuse_line(line: str) -> int:
    sys.stderr.write(f"{escape_controls(line)}\n")
    return 2


def _explain_usage(error: Any) -> int:
    """Write one line for a command line that cannot be read, or the help where it is empty."""
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{message}\n")
        return 2
    context = getattr(error, "ctx", None)
    name = context.command_path if context is not None else "shardwise"
    reason = (
        _explain_option(error, context) or f"{message[:1].lower()}{' '.join(message[1:].split()).rstrip('.')}"
    )
    return _refuse_line(f"{name}: {reason}" if "; " in reason else f"{name}: {reason}; see {name} --help")


def _explain_option(error: Any, context: Any) -> str:
    """Say what is wrong with an option or its value, where we know better than click."""
    if context is None:
        return ""
    if option := getattr(error, "option_name", ""):
        known = [name for parameter in context.command.params for name in parameter.opts]
        return f"unknown option {option}; {suggest_name(option, known)}".rstrip("; ")
    named = getattr(error, "param", None)
    parameters = getattr(context.command.callback, "parameters", ())
    for parameter in parameters:
        if named is not None and parameter.name == named.name and not parameter.argument:
            for text in _list_given(named.opts):
                try:
                    parameter.parse_value(text)
                except ValueError as reason:
                    return f"--{parameter.key}: {reason}"
    return ""


def _list_given(names: list[str]) -> list[str]:
    """Values of an option on the command line."""
    words = sys.argv[1:]
    separate = [value for word, value in pairwise(words) if word in names]
    return separate + [
        word.partition("=")[2] for word in words if word.partition("=")[0] in names and "=" in word
    ]


def _forget_output() -> None:
    """What could not be written is not tried again at the end."""
    # The output of a test is not a file.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
