"""What all commands have in common: each is a frozen dataclass of options, and a record of how it was called."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from shardwise.cli.config import INPUTS, OUTPUT, AnalysisFile, Parameter, parameters_of, to_toml
from shardwise.cli.waiting import watch_compiling
from shardwise.core.errors import InputError

if TYPE_CHECKING:
    from shardwise.analysis.provenance import Recipe

Command = Callable[..., None]
WRITTEN = frozenset({"out", "report", "chart", "pairs"})
OWN = "shardwise.own"  # where a context keeps the options that stand in the command's own table


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it was called."""

    command: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    values: Mapping[str, Any]
    given: frozenset[str]  # parameters named on the command line, or in the command's table of a file
    typed: tuple[str, ...]  # the command line

    def recipe(self, *, without: tuple[str, ...] = (), **instead: Any) -> Recipe:
        """Everything that the result depends on, as TOML; what was found out later is given by key.

        Defaults are written out too, since another version may have others; ``without`` are options that did nothing.
        """
        from shardwise.analysis.provenance import Recipe  # takes long to load

        named = next((one.name for one in self.parameters if one.argument), "")
        table: dict[str, Any] = {key: value for key, value in instead.items() if key in INPUTS.get(named, ())}
        for parameter in self.parameters:
            value = instead.get(parameter.key, self.values.get(parameter.name))
            idle = parameter.argument or parameter.key in OUTPUT or parameter.name in without
            if not idle and value is not None and value != []:
                table[parameter.key] = _plain(value)
        return Recipe(self.command, self.typed, to_toml(self.command, table))


_CALL: ContextVar[Call | None] = ContextVar("call", default=None)


def current() -> Call | None:
    """The command that is running, if one is."""
    return _CALL.get()


@contextmanager
def _running(call: Call) -> Iterator[None]:
    before = _CALL.set(call)
    try:
        yield
    finally:
        _CALL.reset(before)


Options = TypeVar("Options")


@contextmanager
def called(
    name: str,
    options: type[Options],
    inputs: Sequence[Path],
    texts: Mapping[str, Sequence[str]],
    **others: Any,
) -> Iterator[Options]:
    """Options of a command as if it had been typed, for a program that runs it; it counts as running meanwhile.

    Parameters
    ----------
    name
        Of the command.
    options
        Its dataclass.
    inputs
        Files for its argument ``inputs``.
    texts
        Values of other options, as they would be typed, by name.
    others
        Values of options that are not part of what is asked, such as ``report``.
    """
    known = {one.name: one for one in _parameters(options)}
    values: dict[str, Any] = {one.name: _default(one) for one in fields(options)}  # type: ignore[arg-type]
    for key, given in texts.items():
        if key not in known or known[key].argument or known[key].key in OUTPUT:
            raise InputError(f"{name} has no option {key!r}")
        try:
            parsed = [known[key].parse(text) for text in given]
        except ValueError as reason:
            raise InputError(str(reason), where=key.replace("_", " ")) from None
        values[key] = parsed if known[key].several else parsed[-1]
    values |= {"inputs": list(inputs), **others}
    words = [(f"--{known[key].key}", text) for key, given in texts.items() for text in given]
    typed = (name, *map(str, inputs), *(word for pair in words for word in pair))
    with _running(Call((name,), tuple(known.values()), values, frozenset(texts), typed)):
        yield options(**values)


def _parameters(options: type) -> tuple[Parameter, ...]:
    """The options and arguments that a dataclass declares, in the order of its help."""
    kinds = get_type_hints(options, include_extras=True)
    return parameters_of({one.name: kinds[one.name] for one in _in_order(options)})


def command_of(context: Any) -> tuple[str, ...]:
    """Names of the command and of the groups it is in, without the program's."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return tuple(names)


def command(options: type, place: str, *, config: bool = True) -> Command:
    """Make a command of a frozen dataclass of options and of the function that takes them.

    The function is loaded when the command runs, so that help and completion come at once.

    Parameters
    ----------
    options
        A dataclass; its fields are annotated as options and arguments, and its docstring is the help.
    place
        Where the function is, as ``package.module:function``.
    config
        Whether the command takes ``--config``.
    """
    kinds = get_type_hints(options, include_extras=True)
    declared = list(_in_order(options))
    parameters = _parameters(options)

    def run(context: typer.Context, **values: Any) -> None:
        values.pop("config", None)
        call = Call(command_of(context), parameters, values, _given(context, values), tuple(sys.argv[1:]))
        with _running(call):
            _refuse_to_overwrite(call)
            work = _function(place)
            watch_compiling()
            work(options(**values))

    only = inspect.Parameter.KEYWORD_ONLY
    taken = [
        inspect.Parameter("context", only, annotation=typer.Context),
        *(
            inspect.Parameter(one.name, only, default=_default(one), annotation=kinds[one.name])
            for one in declared
        ),
    ]
    if config:
        taken.append(inspect.Parameter("config", only, default=None, annotation=_config(parameters)))
    run.__doc__ = _paragraphs(inspect.getdoc(options) or "")
    run.__annotations__ = {one.name: one.annotation for one in taken}
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.parameters = parameters  # type: ignore[attr-defined]
    return run


def _refuse_to_overwrite(call: Call) -> None:
    """No file is written over one that is read, nor twice."""
    taken: dict[str, str] = {}
    for parameter in call.parameters:
        value = call.values.get(parameter.name)
        if parameter.argument:
            many = value if isinstance(value, list | tuple) else [value]
            taken |= {os.path.realpath(one): "is read" for one in many if isinstance(one, str | Path)}
    for parameter in call.parameters:
        value = call.values.get(parameter.name)
        if parameter.argument or parameter.key not in WRITTEN or not isinstance(value, Path):
            continue
        if value.exists() and not value.is_file():  # a terminal or a pipe takes more than one
            continue
        if told := taken.get(os.path.realpath(value)):
            raise InputError(
                f"this file {told} and would be written by --{parameter.key}",
                where=str(value),
                remedy="write to another file",
            )
        taken[os.path.realpath(value)] = f"is written by --{parameter.key}"


def _in_order(options: type) -> Iterator[Field[Any]]:
    """The fields of a dataclass, its own before those that it has from others: help shows them so."""
    known = {one.name: one for one in fields(options)}
    for kind in options.__mro__:
        for name in inspect.get_annotations(kind):
            if name in known:
                yield known.pop(name)


def _paragraphs(text: str) -> str:
    """Text whose lines are as long as the screen, a paragraph each.

    >>> _paragraphs("One line\\nand its end.\\n\\nAnother.")
    'One line and its end.\\n\\nAnother.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _default(one: Field[Any]) -> Any:
    if one.default_factory is not MISSING:
        return one.default_factory()
    return inspect.Parameter.empty if one.default is MISSING else one.default


def _function(place: str) -> Callable[[Any], None]:
    module, name = place.split(":")
    found: Callable[[Any], None] = getattr(importlib.import_module(module), name)
    return found


def _given(context: typer.Context, values: Mapping[str, Any]) -> frozenset[str]:
    """Parameters that the caller named, here or for this command alone in a file."""
    own = context.meta.get(OWN, frozenset())
    sources = {name: context.get_parameter_source(name) for name in values}
    typed = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    return frozenset(typed | own)


def _config(parameters: tuple[Parameter, ...]) -> Any:
    """The option ``--config`` of a command with these parameters."""

    def configure(context: typer.Context, value: Path | None) -> Path | None:
        if value is not None and not context.resilient_parsing:
            known = context.find_root().obj or ()
            file = AnalysisFile.read(value)
            found = file.values(command_of(context), parameters, known)
            context.default_map = {**(context.default_map or {}), **found}
            context.meta[OWN] = file.own(command_of(context), parameters)
        return value

    option = typer.Option(
        help="Take inputs and options from this TOML file; the command line comes before it.",
        is_eager=True,
        callback=configure,
        rich_help_panel="In every command",
    )
    return Annotated[Path | None, option]


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value
