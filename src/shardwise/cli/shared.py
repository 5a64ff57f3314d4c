"""Turn a frozen dataclass of options into a command, and remember how it was called."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from shardwise.cli.conditions import Condition, Situation, idle_options, refuse_idle
from shardwise.cli.config import INPUTS, OUTPUT, AnalysisFile, Parameter, parameters_of, to_toml
from shardwise.cli.options import (
    COMMON,
    INPUT,
    METHOD,
    PLAN,
    QUESTION,
    RUNNING,
    SERVER,
    SHARDS,
    SIMULATION,
    Declaration,
)
from shardwise.cli.options import (
    OUTPUT as OUTPUT_GROUP,
)
from shardwise.core.errors import InputError, Option

if TYPE_CHECKING:
    from shardwise.analysis.provenance import Recipe

Command = Callable[..., None]
WRITTEN = frozenset({"out", "report", "chart", "save-moments"})
"""Keys of options that name a file to be written."""

CALLERS_OWN = "shardwise.own"
"""Where a context keeps the options that stand in the command's own table of a configuration file."""

GROUPS = (QUESTION, INPUT, METHOD, SHARDS, PLAN, SIMULATION, SERVER, OUTPUT_GROUP, RUNNING)
"""Panels of the help, in their order."""


@dataclass(frozen=True, slots=True)
class Call:
    """A command as it was called.

    Parameters
    ----------
    command : tuple of str
        Its words.
    parameters : tuple of Parameter
        Its options and arguments.
    values : mapping
        Their values by name.
    given : frozenset of str
        Names of those on the command line, or in the command's table of a configuration file.
    typed : tuple of str
        The command line.
    """

    command: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    values: Mapping[str, Any]
    given: frozenset[str]
    typed: tuple[str, ...]

    def list_conditions(self, name: str) -> Sequence[Condition]:
        """Return the conditions under which an option of this command has an effect."""
        parameter = next(
            (parameter_known for parameter_known in self.parameters if parameter_known.name == name), None
        )
        return () if parameter is None else parameter.only_with

    def make_recipe(self, now: Situation, *, without: tuple[str, ...] = (), **instead: Any) -> Recipe:
        """Return everything that the result depends on, as TOML.

        Defaults are written out too, since another version may have others.

        Parameters
        ----------
        now : Situation
            What is at hand; options without effect are left out.
        without : tuple of str
            Further options to leave out.
        instead : object
            Values that were found out later, by key.

        Returns
        -------
        Recipe
            The command and its table.
        """
        # Loading this takes long.
        from shardwise.analysis.provenance import Recipe

        argument = next((item.name for item in self.parameters if item.argument), "")
        names = [item.name for item in self.parameters]
        idle = {*without, *idle_options(names, self.list_conditions, now)}
        table: dict[str, Any] = {
            key: value for key, value in instead.items() if key in INPUTS.get(argument, ())
        }
        for parameter in self.parameters:
            value = instead.get(parameter.key, self.values.get(parameter.name))
            skipped = parameter.argument or parameter.key in OUTPUT or parameter.name in idle
            if not skipped and value is not None and value != [] and value != "":
                table[parameter.key] = _to_plain(value)
        return Recipe(self.command, self.typed, to_toml(self.command, table))


_CALL: ContextVar[Call | None] = ContextVar("call", default=None)


def current_call() -> Call | None:
    """Return the command that is running, if one is."""
    return _CALL.get()


def was_given(name: str) -> bool:
    """Return whether the caller named an option of the running command."""
    call = current_call()
    return call is not None and name in call.given


def check_options(now: Situation, where: str = "") -> None:
    """Refuse options of the running command that were named and have no effect."""
    call = current_call()
    if call is None:
        return
    ignored = sorted(call.given & set(getattr(now.options, "ignored", ())))
    if ignored:
        raise InputError(
            (Option(ignored[0]), f" has no effect in {' '.join(call.command)}"),
            remedy="remove it, or use shardwise compare",
        )
    refuse_idle(call.given, call.list_conditions, now, where)


@contextmanager
def _run_call(call: Call) -> Iterator[None]:
    before = _CALL.set(call)
    try:
        yield
    finally:
        _CALL.reset(before)


Options = TypeVar("Options")


@contextmanager
def call_command(
    name: str,
    options: type[Options],
    inputs: Sequence[Path],
    texts: Mapping[str, Sequence[str]],
    **others: Any,
) -> Iterator[Options]:
    """Make the options of a command as if it had been typed, and let it count as running meanwhile.

    Parameters
    ----------
    name : str
        Of the command.
    options : type
        Its dataclass.
    inputs : sequence of Path
        Files for its argument ``inputs``.
    texts : mapping
        Values of other options, as they would be typed, by name.
    others : object
        Values of options that are not part of what is asked, such as ``report``.

    Yields
    ------
    object
        The options.
    """
    known = {item.name: item for item in parameters_of_options(options)}
    values: dict[str, Any] = {item.name: _find_default(item) for item in fields(options)}  # type: ignore[arg-type]
    values |= {**parse_texts(name, known, texts), "inputs": list(inputs), **others}
    words = [
        (f"--{known[key].key}", *([] if known[key].kind is bool else [text]))
        for key, given in texts.items()
        for text in given
    ]
    typed = (name, *map(str, inputs), *(word for pair in words for word in pair))
    with _run_call(Call((name,), tuple(known.values()), values, frozenset(texts), typed)):
        yield options(**values)


def parse_texts(
    name: str, known: Mapping[str, Parameter], texts: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the values of options of a command by name from texts, or refuse them as the command line would."""
    values = {}
    for key, given in texts.items():
        if key not in known or known[key].argument or known[key].key in OUTPUT:
            raise InputError(f"{name} has no option {key!r}")
        try:
            parsed = [known[key].parse_value(text) for text in given]
        except ValueError as reason:
            raise InputError(str(reason), where=key.replace("_", " ")) from None
        value = parsed if known[key].several else parsed[-1]
        check = known[key].check
        values[key] = value if check is None else check(value)
    return values


def parameters_of_options(options: type) -> tuple[Parameter, ...]:
    """Return the options and arguments that a dataclass declares, in the order of its help."""
    return parameters_of(_order_annotations(options))


def _order_annotations(options: type) -> dict[str, Any]:
    """Annotations of a dataclass in the order of its help: arguments, common options, then group by group."""
    kinds = get_type_hints(options, include_extras=True)
    names = {item.name for item in fields(options)}
    declared = inspect.get_annotations(options)

    def rank(name: str) -> tuple[int, bool, int]:
        info = _find_declaration(kinds[name])
        if info is None:
            return -1, False, 0
        # What makes a command special comes before what it shares with others.
        shared = name not in declared or info.group is OUTPUT_GROUP
        return (0, shared, info.number) if info.common else (1 + GROUPS.index(info.group), False, info.number)

    return {name: kinds[name] for name in sorted(names, key=rank)}


def _find_declaration(annotation: Any) -> Declaration | None:
    return next((note for note in get_args(annotation)[1:] if isinstance(note, Declaration)), None)


def _show_annotation(annotation: Any) -> Any:
    """An annotation as the help shows it: its panel, its own help, and that a list is repeatable."""
    info = _find_declaration(annotation)
    if info is None:
        return annotation
    kind, *notes = get_args(annotation)
    shown = copy(info)
    shown.rich_help_panel = COMMON if info.common else info.group.title
    shown.help = next((note for note in notes if isinstance(note, str)), info.help)
    (parameter,) = parameters_of({"option": annotation})
    if parameter.several:
        text, default, rest = str(shown.help).partition(" Default")
        shown.help = f"{text.removesuffix('.')}; repeatable.{default}{rest}"
    shown.help = _escape_markup(str(shown.help))
    return Annotated[kind, shown]


def _escape_markup(text: str) -> str:
    """Return text whose brackets the help shows, which rich would take for marks of style.

    >>> print(_escape_markup("pip install '.[app]'"))
    pip install '.\\[app]'
    """
    return re.sub(r"(\[[a-z#/@][^\[]*?\])", r"\\\1", text)


def command_words(context: Any) -> tuple[str, ...]:
    """Return the names of the command and of the groups it is in, without the program's."""
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return tuple(names)


def make_command(options: type, function: str, *, config: bool = True) -> Command:
    """Make a command of a frozen dataclass of options and of the function that takes them.

    The function is loaded when the command runs, so that help and completion come at once.

    Parameters
    ----------
    options : type
        A dataclass; its fields are annotated as options and arguments, and its docstring is the help.
    function : str
        Where the function is, as ``package.module:function``.
    config : bool
        Whether the command takes ``--config``.

    Returns
    -------
    callable
        A function that typer takes.
    """
    annotations = _order_annotations(options)
    declared = {item.name: item for item in fields(options)}
    parameters = parameters_of_options(options)

    def run(context: typer.Context, **values: Any) -> None:
        values = {name: value for name, value in values.items() if name in declared}
        given = _list_given(context, values)
        call = Call(command_words(context), parameters, values, given, tuple(sys.argv[1:]))
        with _run_call(call):
            _refuse_to_overwrite(call)
            work = _load_function(function)
            work(options(**values))

    only = inspect.Parameter.KEYWORD_ONLY
    taken = [
        inspect.Parameter("context", only, annotation=typer.Context),
        *(
            inspect.Parameter(
                name, only, default=_find_default(declared[name]), annotation=_show_annotation(annotation)
            )
            for name, annotation in annotations.items()
        ),
    ]
    if "format" in declared:
        taken.append(inspect.Parameter("json_schema", only, default=False, annotation=JsonSchema))
    if config:
        taken.append(inspect.Parameter("config", only, default=None, annotation=_config_option(parameters)))
    run.__doc__ = _escape_markup(_unwrap_paragraphs(inspect.getdoc(options) or ""))
    run.__annotations__ = {item.name: item.annotation for item in taken}
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.parameters = parameters  # type: ignore[attr-defined]
    return run


def _print_schema(context: typer.Context, value: bool) -> bool:
    if value and not context.resilient_parsing:
        # The descriptions of columns need not be loaded for help.
        from shardwise.cli.schema import make_schema

        text = json.dumps(make_schema(" ".join(command_words(context))), indent=1, ensure_ascii=False)
        typer.echo(text)
        raise typer.Exit
    return value


JsonSchema = Annotated[
    bool,
    typer.Option(
        "--json-schema",
        metavar="",
        help="Print the JSON Schema of --format json, and stop.",
        is_eager=True,
        callback=_print_schema,
        rich_help_panel=OUTPUT_GROUP.title,
    ),
]


def _refuse_to_overwrite(call: Call) -> None:
    """Refuse to write a file over one that is read, or twice."""
    uses: dict[str, str] = {}
    for parameter in call.parameters:
        value = call.values.get(parameter.name)
        if parameter.argument:
            paths = value if isinstance(value, list | tuple) else [value]
            uses |= {os.path.realpath(path): "is read" for path in paths if isinstance(path, str | Path)}
    for parameter in call.parameters:
        value = call.values.get(parameter.name)
        if parameter.argument or parameter.key not in WRITTEN or not isinstance(value, Path):
            continue
        # A terminal or a pipe takes more than one; moments may replace those that they were added to.
        if (value.exists() and not value.is_file()) or parameter.key == "save-moments":
            continue
        if use := uses.get(os.path.realpath(value)):
            raise InputError(
                f"this file {use} and would be written by --{parameter.key}",
                where=str(value),
                remedy="write to another file",
            )
        uses[os.path.realpath(value)] = f"is written by --{parameter.key}"


def _unwrap_paragraphs(text: str) -> str:
    """Join the lines of each paragraph, which the help breaks as wide as the screen is.

    >>> _unwrap_paragraphs("One line\\nand its end.\\n\\nAnother.")
    'One line and its end.\\n\\nAnother.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _find_default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _load_function(path: str) -> Callable[[Any], None]:
    module, name = path.split(":")
    function: Callable[[Any], None] = getattr(importlib.import_module(module), name)
    return function


def _list_given(context: typer.Context, values: Mapping[str, Any]) -> frozenset[str]:
    """Parameters that the caller named, here or for this command only in a file."""
    in_file = context.meta.get(CALLERS_OWN, frozenset())
    sources = {name: context.get_parameter_source(name) for name in values}
    typed = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    return frozenset(typed | in_file)


def _config_option(parameters: tuple[Parameter, ...]) -> Any:
    """The option ``--config`` of a command with these parameters."""

    def configure(context: typer.Context, value: Path | None) -> Path | None:
        if value is not None and not context.resilient_parsing:
            known = context.find_root().obj or ()
            file = AnalysisFile.read_file(value)
            words = command_words(context)
            context.default_map = {
                **(context.default_map or {}),
                **file.read_values(words, parameters, known),
            }
            context.meta[CALLERS_OWN] = file.own_options(words, parameters)
        return value

    option = typer.Option(
        help="Take inputs and options from this TOML file; the command line comes first.",
        metavar="FILE",
        is_eager=True,
        callback=configure,
        rich_help_panel=RUNNING.title,
    )
    return Annotated[Path | None, option]


def _to_plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
