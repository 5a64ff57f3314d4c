"""The command line: thin over the library."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer

import shardwise
from shardwise.errors import InputError

COMMANDS = {
    "demo": "shardwise.cli.demo:demo_command",
    "score": "shardwise.cli.score:score_command",
    "compare": "shardwise.cli.compare:compare_command",
    "design": "shardwise.cli.design:design_app",
    "stability": "shardwise.cli.stability:stability_command",
    "instances": "shardwise.cli.instances:instances_command",
    "simulate": "shardwise.cli.simulate:simulate_command",
}


def build_app(wanted: str | None = None) -> typer.Typer:
    """Put the commands together, or only the wanted one: loading all of them takes a while."""
    app = typer.Typer(
        name="shardwise",
        help="Tell retrieval systems apart, and know what you may claim.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_version)
    for name, place in COMMANDS.items():
        if wanted is None or name == wanted:
            module, function = place.split(":")
            command = getattr(importlib.import_module(module), function)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name)
            else:
                app.command(name)(command)
    return app


def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        typer.echo(f"shardwise {shardwise.__version__}")
        raise typer.Exit


def _say_if_compiling() -> None:
    """The first use after installation compiles the kernels, which takes a while: say so on a terminal."""
    package = Path(shardwise.__file__).parent
    if sys.stderr.isatty() and not any(package.glob("read/__pycache__/*.nbi")):
        sys.stderr.write("first use: compiling the kernels, once (about half a minute)\n")


def main() -> None:
    """Run the command line; exit code 2 and one line where the input is at fault, 1 where we are."""
    _say_if_compiling()
    if sys.argv[1:2] == ["instances"]:  # here -- stands between two systems, and options may follow it
        sys.argv[2:] = ["::" if word == "--" else word for word in sys.argv[2:]]
    try:
        build_app(next((word for word in sys.argv[1:2] if word in COMMANDS), None))()
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(130)
