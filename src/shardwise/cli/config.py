"""An analysis in a TOML file: one table a command, its keys are the long options."""

from __future__ import annotations

import glob
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from typer.models import ArgumentInfo, ParameterInfo

from shardwise.cli.conditions import Condition
from shardwise.cli.wording import suggest_name
from shardwise.core.errors import InputError

FILE = "shardwise.toml"
"""Configuration file of a folder, taken where no inputs are named."""

OUTPUT = frozenset(
    {"out", "report", "chart", "save-moments", "format", "quiet", "jobs", "cluster", "max-memory"}
)
"""Options that say where and how a result is shown, and nothing about the result."""

INPUTS = {"inputs": ("qrels", "runs", "scores")}
"""Arguments, and the keys that stand for them."""

SHARED = (
    "qrels", "runs", "scores", "measure", "model", "generalize", "alpha", "fill", "shards", "splits", "kind", "by",
    "corpus", "missing", "names", "depth", "like", "complete", "judged-only", "seed", "jobs", "quiet", "format",
)  # fmt: skip
"""Keys that may stand above all tables, for every command that has them."""

FILES = frozenset({"qrels", "runs", "scores", "corpus"})
"""Keys whose values are paths though their options are text."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or argument of a command, as its dataclass declares it.

    Parameters
    ----------
    name : str
        Of the field.
    key : str
        The long option without its dashes.
    argument : bool
        Whether it is an argument and not an option.
    kind : type
        Of one value.
    several : bool
        Whether it may be given several times.
    least, most : float or None
        Bounds of a number.
    only_with : tuple of Condition
        What must be true for it to have an effect.
    check : callable or None
        Refuses a value, or returns it.
    """

    name: str
    key: str
    argument: bool
    kind: type
    several: bool
    least: float | None
    most: float | None
    only_with: tuple[Condition, ...] = ()
    check: Callable[[Any], Any] | None = None

    def parse_value(self, text: str) -> Any:
        """Return one value.

        Raises
        ------
        ValueError
            With the reason why the text is not valid.
        """
        try:
            value = self.kind(text)
        except ValueError:
            if issubclass(self.kind, Enum):
                names = ", ".join(str(item.value) for item in self.kind)
                raise ValueError(f"'{text}' is not one of {names}") from None
            what = {int: "a whole number", float: "a number"}.get(self.kind, "valid")
            raise ValueError(f"'{text}' is not {what}") from None
        if self.least is not None and value < self.least:
            raise ValueError(f"{text} is less than {self.least:.12g}{_as_level(self, value)}")
        if self.most is not None and value > self.most:
            raise ValueError(f"{text} is more than {self.most:.12g}{_as_level(self, value)}")
        return value


def _as_level(parameter: Parameter, value: float) -> str:
    """The level that was probably meant, where percent were given."""
    if parameter.least != 0.0 or parameter.most != 1.0 or not 1.0 < value < 100.0:
        return ""
    # 95 for alpha is the level of the intervals.
    share = 1.0 - value / 100.0 if parameter.name == "alpha" and value > 50.0 else value / 100.0
    return f"; did you mean {share:.6g}?"


def parameters_of(annotations: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return the options and arguments that annotations declare."""
    parameters = []
    for name, annotation in annotations.items():
        kind, *notes = get_args(annotation)
        info: Any = next(note for note in notes if isinstance(note, ParameterInfo))
        several = _contains_kind(kind, list)
        base = next(part for part in [*get_args(kind), kind] if part is not type(None))
        base = next(iter(get_args(base)), base) if several else base
        key = getattr(info, "key", name.replace("_", "-"))
        conditions = getattr(info, "only_with", ())
        is_argument = isinstance(info, ArgumentInfo)
        bounds = (info.min, info.max, conditions, info.callback)
        parameters.append(Parameter(name, key, is_argument, base, several, *bounds))
    return tuple(parameters)


def _contains_kind(kind: Any, wanted: type) -> bool:
    return get_origin(kind) is wanted or any(get_origin(part) is wanted for part in get_args(kind))


class NothingGiven(InputError):
    """The command line names nothing to work on."""


class AnalysisFile:
    """The tables of one file, and where each key stands in it."""

    def __init__(self, text: str, where: str, folder: Path | None) -> None:
        self.where, self.folder = where, folder
        self._lines = _locate_keys(text)
        try:
            self.tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            match = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error))
            problem, line = (match[1], f":{match[2]}") if match else (str(error), "")
            raise InputError(
                f"not valid TOML: {problem[:1].lower()}{problem[1:]}",
                where=f"{where}{line}",
                remedy='write key = value, with text in quotes, as in model = "MD6"',
            ) from None
        except (ValueError, RecursionError):
            # Numbers of thousands of digits, or nothing but brackets.
            raise InputError("not valid TOML", where=where, remedy="check its numbers and brackets") from None

    @classmethod
    def read_file(cls, path: Path) -> AnalysisFile:
        """Read a file."""
        try:
            return cls(path.read_text(encoding="utf-8"), str(path), path.parent)
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror})", where=str(path), remedy="check the path"
            ) from None
        except UnicodeDecodeError:
            raise InputError("not UTF-8 text", where=str(path), remedy="save it as UTF-8") from None

    def locate_key(self, *keys: str) -> str:
        """Return the file and, where it is known, the line of a key."""
        line = self._lines.get(keys)
        return f"{self.where}:{line}" if line else self.where

    def read_values(
        self,
        command: Sequence[str],
        parameters: Sequence[Parameter],
        known: Iterable[str],
    ) -> dict[str, Any]:
        """Return the values of a command's parameters by name, ready to be converted; all keys are checked."""
        self._check_tables(list(known))
        shared = {key: value for key, value in self.tables.items() if not isinstance(value, dict)}
        table: Any = self.tables
        for depth, name in enumerate(command, start=1):
            table = table.get(name, {})
            if not isinstance(table, dict):
                raise InputError(
                    f"{name} is a command",
                    where=self.locate_key(*command[:depth]),
                    remedy=f"write [{'.'.join(command[:depth])}] above it",
                )
        allowed = {p.key: p for p in parameters if not p.argument}
        argument = next((p for p in parameters if p.argument), None)
        inputs = INPUTS.get(argument.name, ()) if argument is not None else ()
        for key in table:
            if key not in allowed and key not in inputs:
                self._refuse_key(key, command, [*allowed, *inputs])
        values: dict[str, Any] = {}
        for key, parameter in allowed.items():
            if key in table:
                values[parameter.name] = self._read_option(table[key], key, parameter, (*command, key))
            elif key in shared and key not in inputs:
                values[parameter.name] = self._read_option(shared[key], key, parameter, (key,))
        if argument is not None:
            # Where a variance may be stated instead of scores, scores for all commands are not meant.
            files = self._read_inputs(inputs, table, {} if "variance" in allowed else shared, command)
            if files:
                values[argument.name] = files
        return values

    def own_options(self, command: Sequence[str], parameters: Sequence[Parameter]) -> frozenset[str]:
        """Return the names of the parameters that stand in the command's own table."""
        table: Any = self.tables
        for name in command:
            table = table.get(name, {})
        return frozenset(parameter.name for parameter in parameters if parameter.key in table)

    def _check_tables(self, known: list[str]) -> None:
        for key, value in self.tables.items():
            if isinstance(value, dict) and key not in known:
                raise InputError(
                    f"unknown command '{key}'",
                    where=self.locate_key(key),
                    remedy=suggest_name(key, known) or f"the commands are {', '.join(known)}",
                )
            if not isinstance(value, dict) and key not in SHARED:
                raise InputError(
                    f"'{key}' is not a shared option",
                    where=self.locate_key(key),
                    remedy=suggest_name(key, SHARED) or "move it under a command, such as [compare]",
                )

    def _refuse_key(self, key: str, command: Sequence[str], known: list[str]) -> None:
        name = " ".join(command)
        raise InputError(
            f"[{'.'.join(command)}] has no option '{key}'",
            where=self.locate_key(*command, key),
            remedy=suggest_name(key, known) or f"see shardwise {name} --help",
        )

    def _read_option(self, value: Any, key: str, parameter: Parameter, keys: tuple[str, ...]) -> Any:
        """The value as the command line would give it."""
        if parameter.kind is bool:
            if not isinstance(value, bool):
                raise InputError(
                    f"{key} must be true or false", where=self.locate_key(*keys), remedy=f"write {key} = true"
                )
            return value
        if isinstance(value, list) and not parameter.several:
            raise InputError(
                f"{key} takes one value, not a list",
                where=self.locate_key(*keys),
                remedy="remove the brackets",
            )
        texts = [self._read_text(item, key, keys) for item in (value if isinstance(value, list) else [value])]
        if key in FILES or parameter.kind is Path:
            texts = [
                text if key == "corpus" and text.isdecimal() else self._resolve_path(text) for text in texts
            ]
        elif key == "instances":
            # Patterns, or a file that says which run is what.
            texts = [
                self._resolve_path(text) if Path(self._resolve_path(text)).is_file() else text
                for text in texts
            ]
        try:
            values = [parameter.parse_value(text) for text in texts]
        except ValueError as error:
            command = " ".join(keys[:-1])
            problem, _, hint = str(error).partition("; ")
            raise InputError(
                f"{key}: {problem}",
                where=self.locate_key(*keys),
                remedy=hint or f"see shardwise {command} --help".replace("  ", " "),
            ) from None
        return values if parameter.several else values[0]

    def _read_inputs(
        self, keys: Sequence[str], table: Mapping[str, Any], shared: Mapping[str, Any], command: Sequence[str]
    ) -> list[str]:
        """Paths of the inputs in the order in which the command line has them."""
        places = {key: (*command, key) for key in keys if key in table}
        given = {key: table[key] for key in places}
        rivals = {"scores": {"qrels", "runs"}, "qrels": {"scores"}, "runs": {"scores"}}
        taken = set(given)
        for key in keys:
            if key in shared and key not in given and not taken & rivals[key]:
                given[key], places[key] = shared[key], (key,)
        paths = {
            key: [
                self._resolve_path(self._read_text(text, key, places[key]))
                for text in (value if isinstance(value, list) else [value])
            ]
            for key, value in given.items()
        }  # fmt: skip
        if "scores" in paths and len(paths) > 1:
            raise InputError(
                "scores conflict with qrels and runs",
                where=self.locate_key(*places["scores"]),
                remedy="give scores, or qrels and runs",
            )
        if ("runs" in paths) != ("qrels" in paths):
            has, lacks = ("runs", "qrels") if "runs" in paths else ("qrels", "runs")
            raise InputError(
                f"{has} without {lacks}", where=self.locate_key(*places[has]), remedy=f"add {lacks}"
            )
        return [path for key in ("qrels", "runs", "scores") for path in paths.get(key, [])]

    def _read_text(self, value: Any, key: str, keys: tuple[str, ...]) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(
                f"{key} must be text or a number, or a list of them",
                where=self.locate_key(*keys),
                remedy=f'write {key} = "…"',
            )
        return str(value)

    def _resolve_path(self, text: str) -> str:
        """A path relative to the file's folder; a pattern stays one, whatever the folder is called."""
        path = Path(text).expanduser()
        if path.is_absolute() or self.folder is None or self.folder == Path("."):
            return str(path)
        if glob.has_magic(text) and not (self.folder / path).exists():
            return str(Path(glob.escape(str(self.folder))) / path)
        return str(self.folder / path)


def to_toml(command: Sequence[str], values: Mapping[str, Any]) -> str:
    """Write one table as TOML.

    >>> print(to_toml(["compare"], {"scores": "my scores.csv", "alpha": 0.05, "only": ["a", "b"]}), end="")
    [compare]
    scores = "my scores.csv"
    alpha = 0.05
    only = ["a", "b"]
    """
    lines = [f"{_format_key(key)} = {_format_toml(value)}" for key, value in values.items()]
    return "\n".join([f"[{'.'.join(map(_format_key, command))}]", *lines]) + "\n"


def _format_key(name: str) -> str:
    """A key, in quotes unless it is bare: one with a line break would start another."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _format_toml(name)


def _format_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if value is None or isinstance(value, dict):
        raise InputError(
            f"a value of type {type(value).__name__} cannot be written to TOML",
            remedy="give text or a number",
        )
    if isinstance(value, list | tuple):
        items = [_format_toml(item) for item in value]
        line = f"[{', '.join(items)}]"
        return line if len(line) <= 100 else "[\n" + "".join(f"  {item},\n" for item in items) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    shown = "".join(c if c.isprintable() else _escape_character(c) for c in escaped)
    return f'"{shown}"'


def _escape_character(character: str) -> str:
    number = ord(character)
    if 0xD800 <= number < 0xE000:
        # A byte of a file name that is not UTF-8: no TOML can hold it.
        return "\\uFFFD"
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def _locate_keys(text: str) -> dict[tuple[str, ...], int]:
    """Line of every table and key that stands at the start of a line."""
    places: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if head := re.match(r"\s*\[\s*([\w.\-\s\"']+?)\s*\]", line):
            table = tuple(part.strip(" \"'") for part in head[1].split("."))
            for depth in range(1, len(table) + 1):
                places.setdefault(table[:depth], number)
        elif key := re.match(r"\s*([\w\-\"'.]+)\s*=", line):
            places.setdefault((*table, *(part.strip("\"'") for part in key[1].split("."))), number)
    return places
