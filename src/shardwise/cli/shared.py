"""What all commands have in common: the options that each of them takes, and a record of how it was called."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from shardwise.analysis.provenance import Recipe
from shardwise.cli.config import INPUTS, OUTPUT, Analysis, Parameter, parameters_of, to_toml

Command = Callable[..., None]


UnusedSeed = Annotated[
    int,
    typer.Option(
        help="Nothing is random here; accepted as everywhere.", min=0, rich_help_panel="In every command"
    ),
]
UnusedJobs = Annotated[
    int | None,
    typer.Option(
        help="This takes one processor; accepted as everywhere.", min=1, rich_help_panel="In every command"
    ),
]
UNUSED: dict[str, tuple[Any, Any]] = {"seed": (UnusedSeed, 0), "jobs": (UnusedJobs, None)}


def _config(parameters: tuple[Parameter, ...]) -> Any:
    """The option ``--config`` of a command with these parameters."""

    def configure(context: typer.Context, value: Path | None) -> Path | None:
        if value is not None and not context.resilient_parsing:
            known = context.find_root().obj or ()
            found = Analysis.read(value).values(command_of(context), parameters, known)
            context.default_map = {**(context.default_map or {}), **found}
        return value

    option = typer.Option(
        help="Take inputs and options from this TOML file; the command line comes before it.",
        is_eager=True,
        callback=configure,
        rich_help_panel="In every command",
    )
    return Annotated[Path | None, option]


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it was called."""

    command: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    values: dict[str, Any]

    def recipe(self, **instead: Any) -> Recipe:
        """Everything that the result depends on, as TOML; what was found out later is given by key.

        Defaults are written out too, since another version may have others.
        """
        table: dict[str, Any] = {key: value for key, value in instead.items() if key in INPUTS["inputs"]}
        for parameter in self.parameters:
            value = instead.get(parameter.key, self.values.get(parameter.name))
            left_out = parameter.argument or parameter.key in OUTPUT or value is None or value == []
            if not left_out:
                table[parameter.key] = _plain(value)
        return Recipe(self.command, tuple(sys.argv[1:]), to_toml(self.command, table))


_CALL: ContextVar[Call | None] = ContextVar("call", default=None)


def current() -> Call | None:
    """The command that is running, if one is."""
    return _CALL.get()


def command_of(context: Any) -> tuple[str, ...]:
    """Names of the command and of the groups it is in, without the program's."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return tuple(names)


def shared(command: Command) -> Command:
    """Give a command ``--config``, and ``--seed`` and ``--jobs`` if it has none, and record how it is called."""
    own = inspect.signature(command, eval_str=True).parameters
    added = {name: given for name, given in UNUSED.items() if name not in own}
    kinds = {name: one.annotation for name, one in own.items()} | {n: kind for n, (kind, _) in added.items()}
    return _wrapped(command, {**added, "config": (_config(parameters_of(kinds)), None)})


def recorded(command: Command) -> Command:
    """Record how a command is called."""
    return _wrapped(command, {})


def _wrapped(command: Command, options: dict[str, tuple[Any, Any]]) -> Command:
    own = inspect.signature(command, eval_str=True)
    parameters = parameters_of({name: one.annotation for name, one in own.parameters.items()})

    @functools.wraps(command)
    def run(context: typer.Context, **given: Any) -> None:
        values = {name: value for name, value in given.items() if name in own.parameters}
        before = _CALL.set(Call(command_of(context), parameters, values))
        try:
            command(**values)
        finally:
            _CALL.reset(before)

    kind = inspect.Parameter.KEYWORD_ONLY
    taken = [
        inspect.Parameter("context", kind, annotation=typer.Context),
        *(one.replace(kind=kind) for one in own.parameters.values()),
        *(
            inspect.Parameter(name, kind, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ),
    ]
    run.__signature__ = own.replace(parameters=taken)  # type: ignore[attr-defined]
    run.parameters = parameters  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in taken}
    return run


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value
