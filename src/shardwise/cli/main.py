"""The command line: thin over the library, and quick to help."""

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
from shardwise.cli.commands import (
    again,
    calibrate,
    compare,
    design,
    gate,
    instances,
    leaderboard,
    moments,
    paper,
    replicate,
    score,
    serve,
    simulate,
    stability,
)
from shardwise.cli.config import FILE, VERSUS, NothingGiven
from shardwise.cli.interrupt import interruptible, leave_at_once
from shardwise.cli.shared import command
from shardwise.cli.wording import in_words, near
from shardwise.core.errors import InputError
from shardwise.core.text import visible

COMMANDS: dict[str, tuple[type, str] | dict[str, tuple[type, str]]] = {
    "compare": (compare.CompareOptions, "shardwise.cli.compare:compare_systems"),
    "leaderboard": (leaderboard.LeaderboardOptions, "shardwise.cli.leaderboard:rank_systems"),
    "paper": (paper.PaperOptions, "shardwise.cli.paper:write_files"),
    "gate": (gate.GateOptions, "shardwise.cli.gate:judge"),
    "moments": (moments.MomentsOptions, "shardwise.cli.moments:compare_moments"),
    "design": {
        "power": (design.PowerOptions, "shardwise.cli.design:power"),
        "interval": (design.IntervalOptions, "shardwise.cli.design:interval"),
        "table": (design.TableOptions, "shardwise.cli.design:table"),
        "pools": (design.PoolsOptions, "shardwise.cli.design:pools"),
        "budget": (design.BudgetOptions, "shardwise.cli.design:budget"),
        "instances": (design.PlanInstancesOptions, "shardwise.cli.design:instances"),
        "equivalence": (design.PlanEquivalenceOptions, "shardwise.cli.design:equivalence"),
    },
    "stability": (stability.StabilityOptions, "shardwise.cli.stability:compare_splits"),
    "instances": (instances.InstancesOptions, "shardwise.cli.instances:compare_runs"),
    "calibrate": (calibrate.CalibrateOptions, "shardwise.cli.calibrate:calibrate_methods"),
    "replicate": {
        "f19": (replicate.F19Options, "shardwise.cli.replicate:replicate_f19"),
        "ff21": (replicate.FF21Options, "shardwise.cli.replicate:replicate_ff21"),
        "j15": (replicate.J15Options, "shardwise.cli.replicate:replicate_j15"),
        "s14": (replicate.S14Options, "shardwise.cli.replicate:replicate_s14"),
        "v17": (replicate.V17Options, "shardwise.cli.replicate:replicate_v17"),
    },
    "demo": (simulate.DemoOptions, "shardwise.cli.demo:demo"),
    "score": (score.ScoreOptions, "shardwise.cli.score:score_runs"),
    "simulate": (simulate.SimulateOptions, "shardwise.cli.simulate:simulate"),
    "serve": (serve.ServeOptions, "shardwise.cli.serve:serve"),
    "repeat": (again.RepeatOptions, "shardwise.cli.repeat:repeat"),
    "schema": (again.SchemaOptions, "shardwise.cli.schema:print_schema"),
}
"""Every command by name: its options, and the function that takes them; or, for a group, its commands."""

PANELS = {
    "What most people need": ("compare", "leaderboard", "paper"),
    "Decide and plan": ("gate", "design", "instances", "stability", "moments"),
    "Check the methods": ("calibrate", "replicate"),
    "Try, score, serve, repeat": ("demo", "score", "simulate", "serve", "repeat", "schema"),
}
"""Commands as the help groups them."""
GROUPS = {"design": design.HELP, "replicate": replicate.HELP}
NO_CONFIG = frozenset({"repeat", "schema", "serve"})  # they do no analysis of their own
UsageError: Any = typer.BadParameter.__bases__[0]  # typer brings its own click, or uses another's


@cache
def build_app() -> Any:
    """Put the commands together, once: a program may run several."""
    app = typer.Typer(
        name="shardwise",
        help="Tell retrieval systems apart, and know what you may claim.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_version)
    for panel, name in ((panel, name) for panel, names in PANELS.items() for name in names):
        found = COMMANDS[name]
        if isinstance(found, dict):
            group = typer.Typer(help=GROUPS[name], no_args_is_help=True)
            for inside, (options, place) in found.items():
                group.command(inside)(command(options, place))
            app.add_typer(group, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(command(*found, config=name not in NO_CONFIG))
    return typer.main.get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; what goes wrong is raised."""
    words = list(arguments)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        known = ", ".join(COMMANDS)
        raise InputError(
            f"no command is called '{words[0]}'",
            remedy=near(words[0], COMMANDS) or f"the commands are {known}",
        )
    if words[:1] == ["instances"]:  # here -- stands between two systems, and options may follow it
        words = [VERSUS if word == "--" else word for word in words]
    done = build_app().main(args=words, prog_name="shardwise", standalone_mode=False, obj=tuple(COMMANDS))
    return done if isinstance(done, int) else 0


def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"shardwise {shardwise.__version__}")
        raise typer.Exit


def _run_here(words: list[str]) -> int:
    """Run a command line; one that names no inputs takes them from a shardwise.toml in this folder, and says so."""
    try:
        return run(words)
    except (UsageError, NothingGiven) as error:
        argument = getattr(getattr(error, "param", None), "param_type_name", "") == "argument"
        missing = isinstance(error, NothingGiven) or (argument and "Missing" in type(error).__name__)
        if not missing or not Path(FILE).is_file() or any(word.startswith("--config") for word in words):
            raise
        if not {"-q", "--quiet"} & set(words):
            sys.stderr.write(f"no inputs were named: taking them, and options, from {FILE} in this folder\n")
        return run([*words, "--config", FILE])


def main() -> None:
    """Run the command line; exit code 2 and one line where the input is at fault, 1 where we are."""
    _open_streams()
    try:
        work = partial(_run_here, sys.argv[1:])
        code = (
            work() if sys.argv[1:2] == ["serve"] else interruptible(work)
        )  # a server hears signals by itself
        sys.stdout.flush()
    except InputError as error:
        code = _refuse(in_words(error))
    except UsageError as error:
        code = _usage(error)
    except MemoryError:
        code = _refuse("this needs more memory than there is; take fewer splits, runs or resamples")
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        code = _refuse(
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
    """What a terminal cannot show is written as its code, and closed streams are no reason to fail before writing."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull)  # noqa: SIM115 - to write to it fails, and is said to
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _refuse(line: str) -> int:
    sys.stderr.write(f"{visible(line)}\n")
    return 2


def _usage(error: Any) -> int:
    """One line for a command line that cannot be read; the help where nothing was asked for."""
    said = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{said}\n")
        return 2
    context = getattr(error, "ctx", None)
    name = context.command_path if context is not None else "shardwise"
    said = _reason(error, context) or f"{said[:1].lower()}{' '.join(said[1:].split()).rstrip('.')}"
    return _refuse(f"{name}: {said}; see {name} --help")


def _reason(error: Any, context: Any) -> str:
    """What is wrong with an option or its value, in our words where we have any."""
    if context is None:
        return ""
    if option := getattr(error, "option_name", ""):
        known = [name for parameter in context.command.params for name in parameter.opts]
        return f"no option is called {option}; {near(option, known)}".rstrip("; ")
    named = getattr(error, "param", None)
    parameters = getattr(context.command.callback, "parameters", ())
    for parameter in parameters:
        if named is not None and parameter.name == named.name and not parameter.argument:
            for text in _given(named.opts):
                try:
                    parameter.parse(text)
                except ValueError as reason:
                    return f"--{parameter.key}: {reason}"
    return ""


def _given(names: list[str]) -> list[str]:
    """Values of an option on the command line."""
    words = sys.argv[1:]
    apart = [value for word, value in pairwise(words) if word in names]
    return apart + [
        word.partition("=")[2] for word in words if word.partition("=")[0] in names and "=" in word
    ]


def _forget_output() -> None:
    """What could not be written is not tried again at the end."""
    with suppress(OSError, ValueError):  # a test's output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
