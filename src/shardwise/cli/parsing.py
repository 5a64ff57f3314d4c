"""The options of a command as it was called, and how a command line or texts from elsewhere become them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from shardwise.cli.commands import COMMANDS, WITHOUT_CONFIG, Command
from shardwise.cli.conditions import Situation, idle_options, refuse_idle
from shardwise.cli.config import INPUTS, AnalysisFile, NothingGiven, to_toml
from shardwise.cli.options import (
    BUILT_IN,
    MOMENTS,
    TABLE,
    WORDS,
    Format,
    GivenWords,
    Margin,
    Param,
    format_of,
)
from shardwise.cli.wording import suggest_name
from shardwise.core.errors import InputError

if TYPE_CHECKING:
    from shardwise.analysis.provenance import Recipe


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a command as it was called: values by name, as attributes too.

    An option that the command does not have has its default.

    Parameters
    ----------
    command : Command
        What was called.
    values : mapping
        Values of its options and arguments by name.
    given : frozenset of str
        Names of those on the command line, or in the command's table of a configuration file.
    typed : tuple of str
        The command line.
    """

    command: Command
    values: Mapping[str, Any]
    given: frozenset[str] = frozenset()
    typed: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Return the value of an option."""
        if name in self.values:
            return self.values[name]
        if name in TABLE:
            return TABLE[name].default
        if name in WORDS:
            return WORDS[name][1].default
        raise AttributeError(name)

    @property
    def jobs(self) -> int | None:
        """The number of threads, where it is said."""
        text = str(self.values.get("jobs"))
        return int(text) if text.isdecimal() else None

    @property
    def cluster(self) -> str | None:
        """The address of a cluster, where work goes to one."""
        value = self.values.get("jobs")
        return None if value is None or self.jobs is not None else str(value)

    def change(self, **values: Any) -> Options:
        """Return the same with other values of some options."""
        return replace(self, values={**self.values, **values})

    def arguments(self, call: str) -> dict[str, Any]:
        """Return the options that are arguments of a function of the library, without those that are empty."""
        known = {**TABLE, **self.command.every}
        rows = [row for row in known.values() if row.call == call and row.name in self.values]
        values = {row.argument or row.name: self.values[row.name] for row in rows}
        return {name: value for name, value in values.items() if value not in (None, "", [])}

    @property
    def chosen_format(self) -> Format:
        """The format of the result: by ``--format``, or by the extension of ``--out`` where the result goes there."""
        if self.command.rows["format"].default is not None:
            return Format(self.format)
        return format_of(self.format, None if self.keeps_moments else self.out)

    @property
    def keeps_moments(self) -> bool:
        """Whether the file to write is one of moments, which compare makes."""
        return self.command.title == "compare" and self.out is not None and self.out.suffix == MOMENTS

    def check_effects(self, now: Situation, where: str = "") -> None:
        """Refuse options that were named and have no effect."""
        rows = self.command.every
        refuse_idle([name for name in self.given if not rows[name].words], rows, now, where)

    def make_recipe(self, now: Situation, *, without: tuple[str, ...] = (), **instead: Any) -> Recipe:
        """Return everything that the result depends on, as TOML.

        Defaults are written out too, since another version may have others. Options without effect are left out, and
        those in ``without``; ``instead`` has values that were found out later, by key.
        """
        # Loading this takes long.
        from shardwise.analysis.provenance import Recipe

        idle = {*without, *idle_options(self.command.rows, now)}
        argument = self.command.argument
        inputs = () if argument is None else INPUTS.get(argument.name, ())
        table: dict[str, Any] = {key: value for key, value in instead.items() if key in inputs}
        for row in self.command.rows.values():
            value = instead.get(row.key, self.values[row.name])
            skipped = row.positional or row.shown or row.name in idle
            if not skipped and value is not None and value != [] and value != "":
                table[row.key] = _to_plain(value)
        return Recipe(self.command.words, self.typed, to_toml(self.command.words, table))


def _to_plain(value: Any) -> Any:
    """Return a value that TOML has."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Margin):
        return value.text if ":" in value.text else float(value)
    if isinstance(value, GivenWords):
        return value.text
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def make_options(
    command: Command,
    values: Mapping[str, Any],
    given: frozenset[str] = frozenset(),
    typed: Sequence[str] = (),
) -> Options:
    """Return the options of a command with these values, and defaults for the others; refuse what is not valid."""
    every = {name: row.default for name, row in command.every.items()} | dict(values)
    for name, value in values.items():
        if isinstance(value, GivenWords):
            every |= value
            # What stands above all tables of a file need not have an effect.
            given = given.union(value) if name in given else given
    options = Options(command, every, given, tuple(typed))
    for row in command.every.values():
        value = options.values[row.name]
        if row.check is not None and value is not None:
            row.check(value)
    if "format" in command.rows:
        options.chosen_format  # noqa: B018  (refuses a format that conflicts with the file)
    return options


def call_command(
    command: Command, inputs: Sequence[Path], texts: Mapping[str, Sequence[str]], **others: Any
) -> Options:
    """Return the options of a command as if it had been typed.

    Parameters
    ----------
    command : Command
        The command.
    inputs : sequence of Path
        Files for its argument ``inputs``.
    texts : mapping
        Values of other options, as they would be typed, by name.
    others : object
        Values of options that are not part of what is asked, such as ``report``.

    Returns
    -------
    Options
        Its options.
    """
    texts = _join_words(command, texts)
    values = {**parse_texts(command, texts), "inputs": list(inputs), **others}
    words = [
        (f"--{command.rows[name].key}", *([] if command.rows[name].kind is bool else [text]))
        for name, given in texts.items()
        for text in given
    ]
    typed = (*command.words, *map(str, inputs), *(word for pair in words for word in pair))
    return make_options(command, values, frozenset(texts), typed)


def _join_words(command: Command, texts: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return texts under the options that they are given to, of which some are words of an option."""
    joined: dict[str, list[str]] = {}
    for name, given in texts.items():
        if name in WORDS and name not in command.rows:
            row, word = WORDS[name]
            joined.setdefault(row.name, []).extend(map(word.spell_word, given))
        else:
            joined[name] = list(given)
    return joined


def parse_texts(command: Command, texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the values of options of a command by name from texts, or refuse them as the command line would."""
    values = {}
    for name, given in texts.items():
        row = command.every.get(name)
        if row is None or row.positional or row.shown:
            raise InputError(f"{command.title} has no option {name!r}")
        try:
            values[name] = row.parse_texts(given)
        except ValueError as reason:
            raise InputError(str(reason), where=name.replace("_", " ")) from None
        if row.check is not None:
            row.check(values[name])
    return values


def list_rows(command: Command) -> list[Param]:
    """Return the options of a command, with those that the parser answers itself."""
    built_in = {row.name: row for row in BUILT_IN}
    if "format" not in command.rows:
        del built_in["json_schema"]
    if command.words[0] in WITHOUT_CONFIG:
        del built_in["config"]
    return [*command.rows.values(), *built_in.values()]


class _Parser(argparse.ArgumentParser):
    """Splits a command line; what it cannot read is raised."""

    def error(self, message: str) -> NoReturn:
        """Refuse the line."""
        raise InputError(message, where=self.prog, remedy=f"see {self.prog} --help")


def split_words(command: Command, words: Sequence[str]) -> dict[str, list[str]]:
    """Return what was typed for each option and argument of a command, by name."""
    program = f"shardwise {command.title}"
    parser = _Parser(prog=program, add_help=False, allow_abbrev=False)
    rows = list_rows(command)
    for row in rows:
        if not row.positional:
            flag: Any = {"action": "append_const", "const": ""} if row.kind is bool else {"action": "append"}
            parser.add_argument(*row.flags, dest=row.name, default=argparse.SUPPRESS, **flag)
    arguments: list[str] = []
    found, unknown = parser.parse_known_args(list(_join_values(words, rows, arguments, program)))
    if unknown:
        option = unknown[0].partition("=")[0]
        names = [flag for row in rows if not row.positional for flag in row.flags]
        raise InputError(
            f"unknown option {option}",
            where=program,
            remedy=suggest_name(option, names) or f"see {program} --help",
        )
    texts: dict[str, list[str]] = vars(found)
    argument = command.argument
    most = 0 if argument is None else 1 if not argument.several else len(arguments)
    if len(arguments) > most:
        raise InputError(
            f"unexpected argument '{arguments[most]}'", where=program, remedy=f"see {program} --help"
        )
    return {**texts, argument.name: arguments} if argument is not None and arguments else texts


def _join_values(
    words: Sequence[str], rows: Sequence[Param], arguments: list[str], program: str
) -> Iterator[str]:
    """Yield the options, each with its value in one word, whatever it begins with; arguments go to the list."""
    flags = {flag: row for row in rows if not row.positional for flag in row.flags}
    rest = iter(words)
    for word in rest:
        row = flags.get(word)
        if word == "--":
            arguments.extend(rest)
        elif row is not None and row.kind is not bool:
            value = next(rest, None)
            if value is None:
                raise InputError(
                    f"option '{word}' needs a value", where=program, remedy=f"see {program} --help"
                )
            yield f"--{row.key}={value}"
        elif word.startswith("-") and word != "-":
            yield word
        else:
            arguments.append(word)


def parse_line(command: Command, texts: Mapping[str, list[str]]) -> Options:
    """Return the options of a command from what was typed, and from its configuration file where one was named."""
    program = f"shardwise {command.title}"
    values: dict[str, Any] = {}
    for row in command.rows.values():
        if row.variable and row.variable in os.environ:
            values[row.name] = os.environ[row.variable]
    given = {name for name in texts if name in command.rows}
    if "config" in texts:
        file = AnalysisFile.read_file(Path(texts["config"][-1]))
        values |= file.read_values(command, COMMANDS)
        given |= file.list_own_options(command)
    for name in texts.keys() & command.rows.keys():
        row = command.rows[name]
        try:
            values[name] = row.parse_texts(texts[name])
        except ValueError as reason:
            problem, _, hint = str(reason).partition("; ")
            remedy = hint or f"see {program} --help"
            raise InputError(f"--{row.key}: {problem}", where=program, remedy=remedy) from None
    for row in command.rows.values():
        if row.required and values.get(row.name, row.default) in (None, []):
            kind = NothingGiven if row.positional else InputError
            flags = " / ".join(f"'{flag}'" for flag in row.flags)
            what = f"argument '{row.metavar}'" if row.positional else f"option {flags}"
            raise kind(f"missing {what}", where=program, remedy=f"see {program} --help")
    options = make_options(command, values, frozenset(given), sys.argv[1:])
    _refuse_to_overwrite(options)
    return options


def _refuse_to_overwrite(options: Options) -> None:
    """Refuse to write a file over one that is read, or twice."""
    uses: dict[str, str] = {}
    argument = options.command.argument
    if argument is not None:
        value = options.values[argument.name]
        uses |= {os.path.realpath(path): "is read" for path in (value if argument.several else [value])}
    for row in options.command.rows.values():
        path = options.values[row.name]
        # A terminal or a pipe takes more than one; moments may replace those that they were added to.
        if (
            not row.written
            or path is None
            or path.suffix == MOMENTS
            or (path.exists() and not path.is_file())
        ):
            continue
        if use := uses.get(os.path.realpath(path)):
            problem = f"this file {use} and would be written by --{row.key}"
            raise InputError(problem, where=str(path), remedy="write to another file")
        uses[os.path.realpath(path)] = f"is written by --{row.key}"
