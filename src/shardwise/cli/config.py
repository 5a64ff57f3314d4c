"""An analysis in a TOML file: one table a command, its keys are the long options."""

from __future__ import annotations

import glob
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

from shardwise.cli.wording import near
from shardwise.core.errors import InputError

FILE = "shardwise.toml"
VERSUS = "::"
"""Stands between the runs of two systems; on the command line it is written ``--``."""

OUTPUT = frozenset({"out", "report", "chart", "format", "quiet", "jobs", "cluster"})
"""Options that say where and how a result is shown, and nothing about the result."""

INPUTS = {
    "inputs": ("qrels", "runs", "scores"),
    "sources": ("qrels", "runs", "scores"),
    "runs": ("runs", "scores", "a", "b"),
}
"""Arguments, and the keys that stand for them."""

SHARED = (
    "qrels", "runs", "scores", "measure", "model", "generalize", "alpha", "fill", "shards", "splits", "kind", "by",
    "corpus", "missing", "names", "depth", "seed", "jobs", "quiet", "format",
)  # fmt: skip
"""Keys that may stand above all tables, for every command that has them."""

FILES = frozenset({"qrels", "runs", "scores", "a", "b", "corpus"})
"""Keys whose values are paths though their options are text."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or argument of a command, as its function declares it."""

    name: str  # of the function's parameter
    key: str  # the long option without its dashes
    argument: bool
    kind: type  # of one value
    several: bool
    least: float | None
    most: float | None

    def parse(self, text: str) -> Any:
        """One value, or a reason why it is none."""
        try:
            value = self.kind(text)
        except ValueError:
            if issubclass(self.kind, Enum):
                names = ", ".join(str(one.value) for one in self.kind)
                raise ValueError(f"'{text}' is none of {names}") from None
            what = {int: "a whole number", float: "a number"}.get(self.kind, "fitting")
            raise ValueError(f"'{text}' is not {what}") from None
        if self.least is not None and value < self.least:
            raise ValueError(f"{text} is less than {self.least:g}")
        if self.most is not None and value > self.most:
            raise ValueError(f"{text} is more than {self.most:g}")
        return value


def parameters_of(annotations: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """The options and arguments that a function declares by its annotations."""
    found = []
    for name, annotation in annotations.items():
        kind, *notes = get_args(annotation)
        info: Any = next(note for note in notes if isinstance(note, ParameterInfo))
        named = [info.default, *(info.param_decls or ())] if isinstance(info, OptionInfo) else []
        long = [word for word in named if isinstance(word, str) and word.startswith("--")]
        key = max(long, key=len, default=name.replace("_", "-")).lstrip("-")
        several = _inside(kind, list)
        base = next(part for part in [*get_args(kind), kind] if part is not type(None))
        base = next(iter(get_args(base)), base) if several else base
        found.append(Parameter(name, key, isinstance(info, ArgumentInfo), base, several, info.min, info.max))
    return tuple(found)


def _inside(kind: Any, wanted: type) -> bool:
    return get_origin(kind) is wanted or any(get_origin(part) is wanted for part in get_args(kind))


class NothingGiven(InputError):
    """The command line names nothing to work on."""


class AnalysisFile:
    """The tables of one file, and where each key stands in it."""

    def __init__(self, text: str, where: str, folder: Path | None) -> None:
        self.where, self.folder = where, folder
        self._lines = _places(text)
        try:
            self.tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error))
            problem, line = (found[1], f":{found[2]}") if found else (str(error), "")
            raise InputError(
                f"not TOML: {problem[:1].lower()}{problem[1:]}",
                where=f"{where}{line}",
                remedy='write key = value, with text in quotes, as in model = "MD6"',
            ) from None
        except (ValueError, RecursionError):  # numbers of thousands of digits, or nothing but brackets
            raise InputError(
                "not TOML that can be read", where=where, remedy="check its numbers and brackets"
            ) from None

    @classmethod
    def read(cls, path: Path) -> AnalysisFile:
        """Read a file."""
        try:
            return cls(path.read_text(encoding="utf-8"), str(path), path.parent)
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror})", where=str(path), remedy="check the path"
            ) from None
        except UnicodeDecodeError:
            raise InputError("not TOML: not UTF-8 text", where=str(path)) from None

    def at(self, *keys: str) -> str:
        """File and, where it is found, line of a key."""
        line = self._lines.get(keys)
        return f"{self.where}:{line}" if line else self.where

    def values(
        self,
        command: Sequence[str],
        parameters: Sequence[Parameter],
        known: Iterable[str],
    ) -> dict[str, Any]:
        """Values of a command's parameters by name, ready to be converted; all keys are checked."""
        self._check_tables(list(known))
        shared = {key: value for key, value in self.tables.items() if not isinstance(value, dict)}
        own: Any = self.tables
        for depth, name in enumerate(command, start=1):
            own = own.get(name, {})
            if not isinstance(own, dict):
                raise InputError(
                    f"{name} is a command",
                    where=self.at(*command[:depth]),
                    remedy=f"write [{'.'.join(command[:depth])}] above it",
                )
        allowed = {p.key: p for p in parameters if not p.argument}
        argument = next((p for p in parameters if p.argument), None)
        inputs = INPUTS.get(argument.name, ()) if argument is not None else ()
        for key in own:
            if key not in allowed and key not in inputs:
                self._unknown(key, command, [*allowed, *inputs])
        found: dict[str, Any] = {}
        for key, parameter in allowed.items():
            if key in own:
                found[parameter.name] = self._option(own[key], key, parameter, (*command, key))
            elif key in shared and key not in inputs:
                found[parameter.name] = self._option(shared[key], key, parameter, (key,))
        if argument is not None:
            files = self._inputs(argument.name, own, shared, command)
            if files:
                found[argument.name] = files
        return found

    def own(self, command: Sequence[str], parameters: Sequence[Parameter]) -> frozenset[str]:
        """Names of the parameters that stand in the command's own table."""
        table: Any = self.tables
        for name in command:
            table = table.get(name, {})
        return frozenset(parameter.name for parameter in parameters if parameter.key in table)

    def _check_tables(self, known: list[str]) -> None:
        for key, value in self.tables.items():
            if isinstance(value, dict) and key not in known:
                raise InputError(
                    f"no command is called '{key}'",
                    where=self.at(key),
                    remedy=near(key, known) or f"the commands are {', '.join(known)}",
                )
            if not isinstance(value, dict) and key not in SHARED:
                raise InputError(
                    f"'{key}' stands above all tables, where only options of several commands do",
                    where=self.at(key),
                    remedy=near(key, SHARED) or "put it under its command, as in [compare]",
                )

    def _unknown(self, key: str, command: Sequence[str], known: list[str]) -> None:
        name = " ".join(command)
        raise InputError(
            f"[{'.'.join(command)}] has no option '{key}'",
            where=self.at(*command, key),
            remedy=near(key, known) or f"shardwise {name} --help lists them",
        )

    def _option(self, value: Any, key: str, parameter: Parameter, place: tuple[str, ...]) -> Any:
        """The value as the command line would give it."""
        if parameter.kind is bool:
            if not isinstance(value, bool):
                raise InputError(
                    f"{key} is true or false", where=self.at(*place), remedy=f"write {key} = true"
                )
            return value
        if isinstance(value, list) and not parameter.several:
            raise InputError(
                f"{key} has one value, not a list", where=self.at(*place), remedy="leave out the brackets"
            )
        texts = [self._text(one, key, place) for one in (value if isinstance(value, list) else [value])]
        if key in FILES or parameter.kind is Path:
            texts = [text if key == "corpus" and text.isdecimal() else self._path(text) for text in texts]
        elif key == "instances":  # patterns, or a file that says which run is what
            texts = [self._path(text) if Path(self._path(text)).is_file() else text for text in texts]
        try:
            values = [parameter.parse(text) for text in texts]
        except ValueError as error:
            raise InputError(
                f"{key}: {error}",
                where=self.at(*place),
                remedy=f"shardwise {place[0]} --help says what it may be",
            ) from None
        return values if parameter.several else values[0]

    def _inputs(
        self, argument: str, own: Mapping[str, Any], shared: Mapping[str, Any], command: Sequence[str]
    ) -> list[str]:
        """Paths of the inputs in the order in which the command line has them."""
        keys = INPUTS.get(argument, ())
        places = {key: (*command, key) for key in keys if key in own}
        given = {key: own[key] for key in places}
        if argument != "sources":  # there, a variance may be stated instead of scores
            rivals = {"scores": {"qrels", "runs", "a", "b"}, "a": {"runs", "scores"}}
            taken = set(given)
            for key in keys:
                clash = any(key in rivals.get(k, ()) or k in rivals.get(key, ()) for k in taken)
                if key in shared and key not in given and not clash:
                    given[key], places[key] = shared[key], (key,)
        paths = {
            key: [self._path(self._text(v, key, places[key])) for v in (value if isinstance(value, list) else [value])]
            for key, value in given.items()
        }  # fmt: skip
        if "a" in paths or "b" in paths:
            return [*paths.get("a", []), VERSUS, *paths.get("b", [])]
        if "scores" in paths and len(paths) > 1:
            raise InputError(
                "scores stand beside qrels and runs",
                where=self.at(*places["scores"]),
                remedy="give scores, or qrels and runs",
            )
        if argument != "runs" and ("runs" in paths) != ("qrels" in paths):
            has, lacks = ("runs", "qrels") if "runs" in paths else ("qrels", "runs")
            raise InputError(f"{has} without {lacks}", where=self.at(*places[has]), remedy=f"add {lacks}")
        return [path for key in ("qrels", "runs", "scores") for path in paths.get(key, [])]

    def _text(self, value: Any, key: str, place: tuple[str, ...]) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise InputError(
                f"{key} is text or a number, or a list of them", where=self.at(*place), remedy=f'{key} = "…"'
            )
        return str(value)

    def _path(self, text: str) -> str:
        """A path relative to the file's folder; a pattern stays one, whatever the folder is called."""
        path = Path(text).expanduser()
        if path.is_absolute() or self.folder is None or self.folder == Path("."):
            return str(path)
        if glob.has_magic(text) and not (self.folder / path).exists():
            return str(Path(glob.escape(str(self.folder))) / path)
        return str(self.folder / path)


def to_toml(command: Sequence[str], values: Mapping[str, Any]) -> str:
    """One table as TOML.

    >>> print(to_toml(["compare"], {"scores": "my scores.csv", "alpha": 0.05, "only": ["a", "b"]}), end="")
    [compare]
    scores = "my scores.csv"
    alpha = 0.05
    only = ["a", "b"]
    """
    lines = [f"{_key(key)} = {_toml(value)}" for key, value in values.items()]
    return "\n".join([f"[{'.'.join(map(_key, command))}]", *lines]) + "\n"


def _key(name: str) -> str:
    """A key, in quotes unless it is bare: one with a line break would start another."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if value is None or isinstance(value, dict):
        raise InputError(
            f"a {type(value).__name__} has no place in an analysis", remedy="give text or a number"
        )
    if isinstance(value, list | tuple):
        items = [_toml(one) for one in value]
        line = f"[{', '.join(items)}]"
        return line if len(line) <= 100 else "[\n" + "".join(f"  {item},\n" for item in items) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    shown = "".join(c if c.isprintable() else _escape(c) for c in escaped)
    return f'"{shown}"'


def _escape(character: str) -> str:
    number = ord(character)
    if 0xD800 <= number < 0xE000:  # a byte of a file name that is not UTF-8: no TOML can hold it
        return "\\uFFFD"
    return f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"


def _places(text: str) -> dict[tuple[str, ...], int]:
    """Line of every table and key that stands at the start of a line."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if head := re.match(r"\s*\[\s*([\w.\-\s\"']+?)\s*\]", line):
            table = tuple(part.strip(" \"'") for part in head[1].split("."))
            for depth in range(1, len(table) + 1):
                found.setdefault(table[:depth], number)
        elif key := re.match(r"\s*([\w\-\"'.]+)\s*=", line):
            found.setdefault((*table, *(part.strip("\"'") for part in key[1].split("."))), number)
    return found
