"""An analysis in a TOML file: one table a command, its keys are the long options."""

from __future__ import annotations

import glob
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shardwise.cli.commands import Command
from shardwise.cli.options import TABLE, Param
from shardwise.cli.wording import suggest_name
from shardwise.core.errors import InputError

FILE = "shardwise.toml"
"""Configuration file of a folder, taken where no inputs are named."""

INPUTS = {"inputs": ("qrels", "runs", "scores")}
"""Arguments, and the keys that stand for them."""

SHARED = (*INPUTS["inputs"], *(row.key for row in TABLE.values() if row.shared))
"""Keys that may stand above all tables, for every command that has them."""


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

    def read_values(self, command: Command, known: Iterable[str]) -> dict[str, Any]:
        """Return the values of a command's options by name; all keys are checked."""
        self._check_tables(list(known))
        shared = {key: value for key, value in self.tables.items() if not isinstance(value, dict)}
        table: Any = self.tables
        for depth, name in enumerate(command.words, start=1):
            table = table.get(name, {})
            if not isinstance(table, dict):
                raise InputError(
                    f"{name} is a command",
                    where=self.locate_key(*command.words[:depth]),
                    remedy=f"write [{'.'.join(command.words[:depth])}] above it",
                )
        allowed = {row.key: row for row in command.rows.values() if not row.positional}
        argument = command.argument
        inputs = INPUTS.get(argument.name, ()) if argument is not None else ()
        for key in table:
            if key not in allowed and key not in inputs:
                self._refuse_key(key, command, [*allowed, *inputs])
        values: dict[str, Any] = {}
        for key, row in allowed.items():
            if key in table:
                values[row.name] = self._read_option(table[key], row, (*command.words, key))
            elif key in shared and key not in inputs:
                values[row.name] = self._read_option(shared[key], row, (key,))
        if argument is not None:
            # Where a variance may be stated instead of scores, scores for all commands are not meant.
            files = self._read_inputs(inputs, table, {} if "variance" in allowed else shared, command.words)
            if files:
                values[argument.name] = [Path(file) for file in files]
        return values

    def list_own_options(self, command: Command) -> set[str]:
        """Return the names of the options that stand in the command's own table."""
        table: Any = self.tables
        for name in command.words:
            table = table.get(name, {})
        return {row.name for row in command.rows.values() if row.key in table}

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

    def _refuse_key(self, key: str, command: Command, known: list[str]) -> None:
        raise InputError(
            f"[{'.'.join(command.words)}] has no option '{key}'",
            where=self.locate_key(*command.words, key),
            remedy=suggest_name(key, known) or f"see shardwise {command.title} --help",
        )

    def _read_option(self, value: Any, row: Param, keys: tuple[str, ...]) -> Any:
        """The value as the command line would give it."""
        where = self.locate_key(*keys)
        if row.kind is bool:
            if not isinstance(value, bool):
                raise InputError(
                    f"{row.key} must be true or false", where=where, remedy=f"write {row.key} = true"
                )
            return value
        if isinstance(value, list) and not row.several:
            raise InputError(
                f"{row.key} takes one value, not a list", where=where, remedy="remove the brackets"
            )
        values = value if isinstance(value, list) else [value]
        texts = [self._locate_file(self._read_text(item, row.key, keys), row) for item in values]
        try:
            return row.parse_texts(texts) if texts else []
        except ValueError as error:
            problem, _, hint = str(error).partition("; ")
            remedy = hint or " ".join(("see shardwise", *keys[:-1], "--help"))
            raise InputError(f"{row.key}: {problem}", where=where, remedy=remedy) from None

    def _locate_file(self, text: str, row: Param) -> str:
        """Return the path of a file relative to this one's folder, and any other text as it is."""
        if row.kind is Path:
            return self._resolve_path(text)
        for start in ("topical:", "intents="):
            before, found, name = text.partition(start)
            if found and row.name in ("kind", "read"):
                return f"{before}{start}{self._resolve_path(name)}"
        # A size of the corpus and a pattern of names are not files.
        is_file = row.path and not text.isdecimal() and Path(self._resolve_path(text)).is_file()
        return self._resolve_path(text) if is_file else text

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
