"""Run the command line: parse, call the library, and turn errors into one line and an exit code."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path

import shardwise
from shardwise.cli.commands import COMMANDS, Command
from shardwise.cli.completing import SCRIPTS, VARIABLE, filter_names
from shardwise.cli.config import FILE, NothingGiven
from shardwise.cli.interrupt import leave_at_once, run_interruptibly
from shardwise.cli.parsing import list_rows, parse_line, split_words
from shardwise.cli.wording import format_error, suggest_name
from shardwise.core.errors import InputError
from shardwise.core.processes import fit_address_space
from shardwise.core.text import escape_controls

NO_THREAD = "can't start new thread"
"""What Python says where the system refuses a thread, as under a limit of memory."""


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; what goes wrong is raised."""
    words = list(arguments)
    if words[:1] == ["--version"]:
        sys.stdout.write(f"shardwise {shardwise.__version__}\n")
        return 0
    if words[:1] == ["--completion"] and words[1:2] and words[1] in SCRIPTS:
        sys.stdout.write(SCRIPTS[words[1]])
        return 0
    command, rest = find_command(words)
    named = {"-h", "--help"} & set(rest[: rest.index("--")] if "--" in rest else rest)
    if named or not isinstance(command, Command):
        # Nothing else needs panels.
        from shardwise.cli.help import show_help

        show_help(words[: len(words) - len(rest)], sys.stdout if named else sys.stderr)
        return 0 if named else 2
    texts = split_words(command, rest)
    if "json_schema" in texts:
        # The descriptions of columns need not be loaded for anything else.
        from shardwise.cli.schema import make_schema

        sys.stdout.write(json.dumps(make_schema(command.title), indent=1, ensure_ascii=False) + "\n")
        return 0
    options = parse_line(command, texts)
    return command.load_function()(options) or 0


def find_command(words: list[str]) -> tuple[Command | dict[str, Command] | None, list[str]]:
    """Return the command or group that a line names, None for the program itself, and the words after it."""
    command: Command | dict[str, Command] | None = None
    known: dict[str, Command] | dict[str, Command | dict[str, Command]] = COMMANDS
    for place, word in enumerate(words):
        if isinstance(command, Command) or word in ("-h", "--help"):
            return command, words[place:]
        if word not in known:
            kind = "option" if word.startswith("-") else "command"
            problem = (
                f"no such command '{word}'" if place and kind == "command" else f"unknown {kind} '{word}'"
            )
            remedy = suggest_name(word, known) or f"the commands are {', '.join(known)}"
            raise InputError(
                problem, where=" ".join(["shardwise", *words[:place]]) if place else "", remedy=remedy
            )
        command = known[word]
        known = command if isinstance(command, dict) else {}
    return command, []


def offer_words(words: list[str], place: int) -> list[str]:
    """Return what a shell offers for the word at a place: commands, options, or names of values."""
    before, word = words[1:place], words[place] if place < len(words) else ""
    try:
        command, _ = find_command(before)
    except InputError:
        return []
    if not isinstance(command, Command):
        return filter_names(word, COMMANDS if command is None else command)
    rows = {flag: row for row in list_rows(command) if not row.positional for flag in row.flags}
    last = rows.get(before[-1])
    if last is not None and last.complete is not None:
        return last.complete(word)
    if last is not None and isinstance(last.kind, type) and issubclass(last.kind, Enum):
        return [str(choice.value) for choice in last.kind if str(choice.value).startswith(word)]
    return filter_names(word, rows) if word.startswith("-") else []


def _answer_shell() -> None:
    """Write what a shell may offer, a line each."""
    line = os.environ.get("COMP_WORDS", "")
    words = line.split("\n" if "\n" in line else " ")
    offered = offer_words(words, int(os.environ.get("COMP_CWORD", len(words) - 1)))
    sys.stdout.write("".join(f"{word}\n" for word in offered))


def _run_here(words: list[str]) -> int:
    """Run a command line; one that names no inputs takes them from a shardwise.toml in this folder, and says so."""
    try:
        return run_command(words)
    except NothingGiven:
        if not Path(FILE).is_file() or any(word.startswith("--config") for word in words):
            raise
        if not {"-q", "--quiet"} & set(words):
            sys.stderr.write(f"no inputs given: inputs and options are taken from {FILE}\n")
        return run_command([*words, "--config", FILE])


def main() -> None:
    """Run the command line; exit code 2 and one line where the input is at fault, 1 where we are."""
    _open_streams()
    if VARIABLE in os.environ:
        _answer_shell()
        return
    try:
        if not {"-h", "--help", "--version"} & set(sys.argv):
            fit_address_space()
        work = partial(_run_here, sys.argv[1:])
        # A server hears signals by itself.
        code = work() if sys.argv[1:2] == ["serve"] else run_interruptibly(work)
        sys.stdout.flush()
    except InputError as error:
        code = _refuse_line(format_error(error))
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


def _forget_output() -> None:
    """What could not be written is not tried again at the end."""
    # The output of a test is not a file.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
