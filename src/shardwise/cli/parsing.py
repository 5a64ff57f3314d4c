"""Options as they were typed, or stand in a file, and errors in the words of the command line."""

from __future__ import annotations

import difflib
import glob
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardwise.cli.options import (
    BUILT_IN,
    COMMANDS,
    MOMENTS,
    TABLE,
    WITHOUT_CONFIG,
    WORDS,
    ChartFile,
    Command,
    Format,
    GivenWords,
    Margin,
    Param,
    Situation,
    format_of,
    idle_options,
    refuse_idle,
)
from shardwise.core.errors import InputError, Option

if TYPE_CHECKING:
    from shardwise.analysis.provenance import Recipe

RENAMED = {row.argument: row.name for row in TABLE.values() if row.argument}
"""Arguments whose option has another name."""
PHRASES = {
    "by": ("kind", "attribute:{}", "REGEX"),
    "texts": ("kind", "topical:{}", "FILE"),
    "proportions": ("kind", "uneven:{}", "3,2,1"),
    "fit": ("method", "{}", "bootstrap"),
    "design": ("method", "repeats {}", "nested"),
}
"""Arguments that are part of the phrase of an option, with what stands for a value."""


def spell_option(option: Option) -> str:
    """Write an argument of a function as an option, quoted as a shell reads it.

    >>> spell_option(Option("names", "file")), spell_option(Option("n_splits", 5)), spell_option(Option("min_diff"))
    ('--read names=file', '--splits 5', '--min-diff')
    >>> spell_option(Option("generalize", ("topic", "shard"))), spell_option(Option("subtopics", True))
    ('--generalize topic,shard', '--read subtopics')
    >>> spell_option(Option("method", "t holm"))
    "--method 't holm'"
    """
    several = isinstance(option.value, tuple | list)
    value = ",".join(map(str, option.value)) if several else str(option.value)
    if option.name in PHRASES:
        name, phrase, usual = PHRASES[option.name]
        return spell_option(Option(name, phrase.format(usual if option.value is None else value)))
    if option.name in WORDS:
        row, word = WORDS[option.name]
        alone = option.value is None or option.value is True
        text = (word.word or word.key) if alone and word.word != "=" else word.spell_word(option.value)
        return f"--{row.key} {shlex.quote(text)}"
    name = f"--{RENAMED.get(option.name, option.name).replace('_', '-')}"
    alone = option.value is None or option.value is True
    return name if alone else f"{name} {shlex.quote(value)}"


def format_error(error: InputError) -> str:
    """Return the line that a refusal has on the command line.

    >>> format_error(InputError("has more than one run tag", where="a.run", remedy=("use ", Option("names", "file"))))
    'a.run: has more than one run tag; use --read names=file'
    """
    return error.text(spell_option, command=True)


def suggest_name(word: str, known: Iterable[str]) -> str:
    """Ask whether something like the word was meant; nothing where nothing is like it.

    >>> suggest_name("compair", ["compare", "score"])
    'did you mean compare?'
    """
    names = difflib.get_close_matches(word, list(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(names)}?" if names else ""


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
        # the line of every table and key that stands at the start of a line
        self._lines: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), start=1):
            if head := re.match(r"\s*\[\s*([\w.\-\s\"']+?)\s*\]", line):
                table = tuple(part.strip(" \"'") for part in head[1].split("."))
                for depth in range(1, len(table) + 1):
                    self._lines.setdefault(table[:depth], number)
            elif key := re.match(r"\s*([\w\-\"'.]+)\s*=", line):
                self._lines.setdefault((*table, *(part.strip("\"'") for part in key[1].split("."))), number)
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

    def refuse_key(self, problem: str, remedy: str, *keys: str) -> InputError:
        """Return the refusal of a key, with its line where that is known."""
        line = self._lines.get(keys)
        return InputError(problem, where=f"{self.where}:{line}" if line else self.where, remedy=remedy)

    def read_values(self, command: Command, known: Iterable[str]) -> dict[str, Any]:
        """Return the values of a command's options by name; all keys are checked."""
        known, shared, words = list(known), {}, command.words
        for key, value in self.tables.items():
            if not isinstance(value, dict):
                shared[key] = value
                if key not in SHARED:
                    remedy = suggest_name(key, SHARED) or "move it under a command, such as [compare]"
                    raise self.refuse_key(f"'{key}' is not a shared option", remedy, key)
            elif key not in known:
                remedy = suggest_name(key, known) or f"the commands are {', '.join(known)}"
                raise self.refuse_key(f"unknown command '{key}'", remedy, key)
        table: Any = self.tables
        for depth, name in enumerate(words, start=1):
            table = table.get(name, {})
            if not isinstance(table, dict):
                remedy = f"write [{'.'.join(words[:depth])}] above it"
                raise self.refuse_key(f"{name} is a command", remedy, *words[:depth])
        allowed = {row.key: row for row in command.rows.values() if not row.positional}
        argument = command.argument
        inputs = INPUTS.get(argument.name, ()) if argument is not None else ()
        for key in table:
            if key not in allowed and key not in inputs:
                remedy = suggest_name(key, [*allowed, *inputs]) or f"see shardwise {command.title} --help"
                raise self.refuse_key(f"[{'.'.join(words)}] has no option '{key}'", remedy, *words, key)
        values: dict[str, Any] = {}
        for key, row in allowed.items():
            if key in table:
                values[row.name] = self._read_option(table[key], row, (*words, key))
            elif key in shared and key not in inputs:
                values[row.name] = self._read_option(shared[key], row, (key,))
        if argument is not None:
            # Where a variance may be stated instead of scores, scores for all commands are not meant.
            files = self._read_inputs(inputs, table, {} if "variance" in allowed else shared, words)
            if files:
                values[argument.name] = [Path(file) for file in files]
        return values

    def _read_option(self, value: Any, row: Param, keys: tuple[str, ...]) -> Any:
        """The value as the command line would give it."""
        if row.kind is bool:
            if not isinstance(value, bool):
                raise self.refuse_key(f"{row.key} must be true or false", f"write {row.key} = true", *keys)
            return value
        if isinstance(value, list) and not row.several:
            raise self.refuse_key(f"{row.key} takes one value, not a list", "remove the brackets", *keys)
        texts = [self._locate_file(text, row) for text in self._read_texts(value, keys)]
        try:
            return row.parse_texts(texts) if texts else []
        except ValueError as error:
            problem, _, hint = str(error).partition("; ")
            remedy = hint or " ".join(("see shardwise", *keys[:-1], "--help"))
            raise self.refuse_key(f"{row.key}: {problem}", remedy, *keys) from None

    def _locate_file(self, text: str, row: Param) -> str:
        """Return the path of a file relative to this one's folder, and any other text as it is."""
        if row.kind is ChartFile:
            kind, mark, name = text.rpartition(":")
            return f"{kind}{mark}{self._resolve_path(name)}"
        if row.kind is Path:
            return self._resolve_path(text)
        for start in ("topical:", "intents="):
            before, mark, name = text.partition(start)
            if mark and row.name in ("kind", "read"):
                return f"{before}{start}{self._resolve_path(name)}"
        # A size of the corpus and a pattern of names are not files.
        is_file = row.path and not text.isdecimal() and Path(self._resolve_path(text)).is_file()
        return self._resolve_path(text) if is_file else text

    def _read_inputs(
        self, keys: Sequence[str], table: Mapping[str, Any], shared: Mapping[str, Any], command: Sequence[str]
    ) -> list[str]:
        """Paths of the inputs in the order in which the command line has them."""
        own = {key: (table[key], (*command, key)) for key in keys if key in table}
        # Scores in one place and runs in the other do not conflict.
        others = {
            key: (shared[key], (key,))
            for key in keys
            if key in shared and (not own or (key == "scores") == ("scores" in own))
        }
        given = others | own
        if "scores" in given and len(given) > 1:
            problem, remedy = "scores conflict with qrels and runs", "give scores, or qrels and runs"
            raise self.refuse_key(problem, remedy, *given["scores"][1])
        for has, lacks in (("runs", "qrels"), ("qrels", "runs")):
            if has in given and lacks not in given:
                raise self.refuse_key(f"{has} without {lacks}", f"add {lacks}", *given[has][1])
        return [self._resolve_path(text) for key in sorted(given) for text in self._read_texts(*given[key])]

    def _read_texts(self, value: Any, keys: tuple[str, ...]) -> list[str]:
        """One value or several as they would be typed."""
        values = value if isinstance(value, list) else [value]
        if any(isinstance(item, bool) or not isinstance(item, str | int | float) for item in values):
            problem = f"{keys[-1]} must be text or a number, or a list of them"
            raise self.refuse_key(problem, f'write {keys[-1]} = "…"', *keys)
        return list(map(str, values))

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
    # A key is in quotes unless it is bare: one with a line break would start another.
    keys = [key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _format_toml(key) for key in (*command, *values)]
    lines = [
        f"{key} = {_format_toml(value)}"
        for key, value in zip(keys[len(command) :], values.values(), strict=True)
    ]
    return "\n".join([f"[{'.'.join(keys[: len(command)])}]", *lines]) + "\n"


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
    # A byte of a file name that is not UTF-8 no TOML can hold.
    held = re.sub("[\ud800-\udfff]", "\ufffd", escaped)
    codes = (f"\\u{ord(c):04X}" if ord(c) < 0x10000 else f"\\U{ord(c):08X}" for c in held)
    return f'"{"".join(c if c.isprintable() else code for c, code in zip(held, codes, strict=True))}"'


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

    def for_measure(self, measure: str) -> Options:
        """Return the same with the margin of a measure alone."""
        margin = self.values.get("margin")
        return self.change(margin=margin.find_margin(measure)) if isinstance(margin, Margin) else self

    @property
    def margin_facts(self) -> dict[str, Any]:
        """What JSON says of the margin, where there is one."""
        return {} if self.margin is None else {"margin": float(self.margin), "side": self.margin.side}

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
        return value.text if value.named or ":" in value.text else float(value)
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
        row.check_value(options.values[row.name])
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
    joined: dict[str, list[str]] = {}
    for name, given in texts.items():
        if name in WORDS and name not in command.rows:
            # a word of an option
            row, word = WORDS[name]
            joined.setdefault(row.name, []).extend(map(word.spell_word, given))
        else:
            joined[name] = list(given)
    texts = joined
    values = {**parse_texts(command, texts), "inputs": list(inputs), **others}
    words = [
        (f"--{command.rows[name].key}", *([] if command.rows[name].kind is bool else [text]))
        for name, given in texts.items()
        for text in given
    ]
    typed = (*command.words, *map(str, inputs), *(word for pair in words for word in pair))
    return make_options(command, values, frozenset(texts), typed)


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
        row.check_value(values[name])
    return values


def list_rows(command: Command) -> list[Param]:
    """Return the options of a command, with those that the parser answers itself."""
    built_in = {row.name: row for row in BUILT_IN}
    if "format" not in command.rows:
        del built_in["json_schema"]
    if command.words[0] in WITHOUT_CONFIG:
        del built_in["config"]
    return [*command.rows.values(), *built_in.values()]


def split_words(command: Command, words: Sequence[str]) -> dict[str, list[str]]:
    """Return what was typed for each option and argument of a command, by name."""
    program = f"shardwise {command.title}"
    help = f"see {program} --help"
    flags = {flag: row for row in list_rows(command) if not row.positional for flag in row.flags}
    texts: dict[str, list[str]] = {}
    arguments: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            arguments += reversed(rest)
            break
        if word == "-" or not word.startswith("-"):
            arguments.append(word)
            continue
        # A value may stand behind a short name at once, as in -mAP.
        long = word.startswith("--")
        name, equals, value = (
            word.partition("=") if long else (word[:2], word[2:3], word[2:].removeprefix("="))
        )
        row = flags.get(name)
        if row is None:
            option = word.partition("=")[0]
            raise InputError(
                f"unknown option {option}", where=program, remedy=suggest_name(option, flags) or help
            )
        if row.kind is bool:
            if equals and (long or equals == "="):
                raise InputError(f"option '{name}' takes no value", where=program, remedy=help)
            rest += [f"-{value}"] if equals else []
            value = ""
        elif not equals:
            if not rest:
                raise InputError(f"option '{word}' needs a value", where=program, remedy=help)
            value = rest.pop()
        texts.setdefault(row.name, []).append(value)
    argument = command.argument
    most = 0 if argument is None else 1 if not argument.several else len(arguments)
    if len(arguments) > most:
        raise InputError(f"unexpected argument '{arguments[most]}'", where=program, remedy=help)
    return {**texts, argument.name: arguments} if argument is not None and arguments else texts


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
        own_table: Any = file.tables
        for word in command.words:
            own_table = own_table.get(word, {})
        given |= {row.name for row in command.rows.values() if row.key in own_table}
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
    # No file is written over one that is read, or twice.
    uses: dict[str, str] = {}
    argument = options.command.argument
    if argument is not None:
        value = options.values[argument.name]
        uses |= {os.path.realpath(path): "is read" for path in (value if argument.several else [value])}
    for row in options.command.rows.values():
        value = options.values[row.name]
        path = value.path if isinstance(value, ChartFile) else value
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
    return options
