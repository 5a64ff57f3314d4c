"""Run the command line: parse, call the library, and turn errors into one line and an exit code."""

from __future__ import annotations

import ctypes
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import copy_context
from enum import Enum
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import shardwise
from shardwise.cli.options import COMMANDS, HINTS, Command
from shardwise.cli.parsing import (
    FILE,
    NothingGiven,
    Options,
    format_error,
    list_rows,
    parse_line,
    split_words,
    suggest_name,
)
from shardwise.core import late
from shardwise.core.errors import InputError
from shardwise.core.extras import require_extra
from shardwise.core.processes import fit_address_space
from shardwise.core.text import escape_controls
from shardwise.io.atomic import forget_drafts

VARIABLE = "_SHARDWISE_COMPLETE"
"""Environment variable by which a shell asks what could follow."""
SCRIPTS = {
    "bash": """_shardwise_complete() {
    local IFS=$'\\n'
    COMPREPLY=($(_SHARDWISE_COMPLETE=bash COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD "$1"))
}
complete -o default -F _shardwise_complete shardwise
""",
    "zsh": """#compdef shardwise
_shardwise_complete() {
    local -a offered
    offered=("${(@f)$(_SHARDWISE_COMPLETE=zsh COMP_WORDS="${(F)words}" COMP_CWORD=$((CURRENT-1)) shardwise)}")
    compadd -- "${offered[@]}" || _files
}
compdef _shardwise_complete shardwise
""",
    "fish": """function _shardwise_complete
    set -l words (commandline -opc) (commandline -ct)
    _SHARDWISE_COMPLETE=fish COMP_WORDS=(string join \\n $words) COMP_CWORD=(math (count $words) - 1) shardwise
end
complete -c shardwise -a "(_shardwise_complete)"
""",
}
"""What makes a shell complete, by its name."""


def filter_names(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin as what was typed, large and small letters alike.

    >>> filter_names("ndcg", ["AP", "nDCG", "nDCG@10"])
    ['nDCG', 'nDCG@10']
    """
    return sorted(name for name in names if name.lower().startswith(incomplete.lower()))


def complete_value(kind: str, incomplete: str) -> list[str]:
    """Return the methods, models, conventions or measures that begin as what was typed; loaded where asked for."""
    names: Iterable[str]
    if kind == "methods":
        from shardwise.methods.names import complete_name

        return complete_name(incomplete)
    if kind == "models":
        from shardwise.core.model import NAMED as names
    elif kind == "conventions":
        from shardwise.io.trec.conventions import PRESETS as names
    else:
        from shardwise.scoring.measures.definitions import DEFINITIONS

        usual = [f"{name}@{k}" for name in ("nDCG", "P", "R") for k in (5, 10, 20, 100)]
        names = [*(definition.name for definition in DEFINITIONS), *usual]
    return filter_names(incomplete, names)


Done = TypeVar("Done")
GRACE = 1.0  # seconds that work has to end by itself
TICK = 0.1


def run_interruptibly(work: Callable[[], Done]) -> Done:
    """Do work in a thread of its own, while this one waits for an interrupt.

    Interrupted work is asked to end, which cleans up behind it; where it cannot hear that, it is left alone.

    >>> run_interruptibly(lambda: 42)
    42
    """
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((copy_context().run(work), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True, name="work")
    try:
        thread.start()
    except RuntimeError:
        # no thread can be started
        return work()
    try:
        while thread.is_alive():
            thread.join(TICK)
    except KeyboardInterrupt:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt)
        )
        thread.join(GRACE)
        raise
    result, error = outcome[0]
    if error is not None:
        raise error
    answer: Done = result
    return answer


def leave_at_once(code: int) -> None:
    """End the process without waiting for threads that are still at work, and without their drafts of files."""
    if threading.active_count() > 1:
        forget_drafts()
        os._exit(code)


def start_server(options: Options) -> tuple[()]:
    """Start the server, if what it needs is installed."""
    require_extra("app")
    late.call_bound("serve", options)
    return ()


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
    # Its module is loaded now, so that help comes at once.
    module, name = command.function.split(":")
    made = getattr(import_module(f"shardwise.cli.{module}"), name)(options)
    # Loaded with the command, unless it shows nothing.
    from shardwise.cli.output import Result, emit

    results = [made] if isinstance(made, Result) else made
    return max((emit(result, options) for result in results), default=0)


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
            hint = "" if place else HINTS.get(word.lstrip("-"), "")
            remedy = f"did you mean {hint}?" if hint else suggest_name(word, known)
            remedy = remedy or f"the commands are {', '.join(known)}"
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
    if last is not None and last.complete:
        return complete_value(last.complete, word)
    if last is not None and isinstance(last.kind, type) and issubclass(last.kind, Enum):
        return [str(choice.value) for choice in last.kind if str(choice.value).startswith(word)]
    return filter_names(word, rows) if word.startswith("-") else []


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
    # A closed stream is survived until something is written; what a terminal cannot show is written as its code.
    sys.stdout = sys.stdout or open(os.devnull)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if VARIABLE in os.environ:
        line = os.environ.get("COMP_WORDS", "")
        offered = line.split("\n" if "\n" in line else " ")
        offered = offer_words(offered, int(os.environ.get("COMP_CWORD", len(offered) - 1)))
        sys.stdout.write("".join(f"{word}\n" for word in offered))
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
        # What could not be written is not tried again at the end; the output of a test is not a file.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        with suppress(OSError):
            sys.stderr.write("stopped\n")
            sys.stderr.flush()
        leave_at_once(code)
    sys.exit(code)


def _refuse_line(line: str) -> int:
    sys.stderr.write(f"{escape_controls(line)}\n")
    return 2
