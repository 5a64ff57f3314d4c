"""The options and commands of `options.toml`: what options take, when they have an effect, which command has which.

Nothing here loads what does the work, so that help and completion come at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, ClassVar, Self

from shardwise.core import arguments
from shardwise.core.errors import InputError, Option, Part, refuse_absent_file, refuse_unknown
from shardwise.core.extras import require_for_files


class Format(StrEnum):
    """How a result is written."""

    text = "text"
    json = "json"
    csv = "csv"
    latex = "latex"
    markdown = "markdown"
    html = "html"


ENDINGS = {
    ".txt": Format.text,
    ".json": Format.json,
    ".csv": Format.csv,
    ".tex": Format.latex,
    ".latex": Format.latex,
    ".md": Format.markdown,
    ".markdown": Format.markdown,
    ".html": Format.html,
    ".htm": Format.html,
}
"""Formats by the extension of the file that they are written to."""


MOMENTS = ".moments"
"""Ending of a file of moments, which is not one of a result."""


def format_of(format: Format | None, out: Path | None) -> Format:
    """Return the format asked for, or else the one of the file's extension, or else text.

    >>> format_of(None, Path("pairs.tex")).value
    'latex'
    """
    named = ENDINGS.get(out.suffix.lower()) if out is not None else None
    if format is not None and out is not None and named not in (None, format):
        problem = (Option("format", format.value), f" conflicts with the extension {out.suffix}")
        raise InputError(problem, where=str(out), remedy="remove one of the two")
    if format is None and out is not None and out.suffix and named is None:
        remedy = (f"use {', '.join(ENDINGS)}, or add ", Option("format"))
        raise InputError(f"unknown extension {out.suffix}", where=str(out), remedy=remedy)
    return format or named or Format.text


SIDES = {"both": "both", "not-worse": "lower", "better": "superior"}
"""Words for what a margin is for, with the names that the library has for them."""
VERDICTS = ("tost", "interval", "hpd")
BOOTSTRAP = {
    "difference": ("null", "difference"),
    "marginal": ("null", "marginal"),
    "one-sided": ("tails", 1),
    "two-sided": ("tails", 2),
    "exact": ("density", "exact"),
    "kde": ("density", "kde"),
    "trim-share": ("trim", "share"),
    "trim-percent": ("trim", "percent"),
    "trim-count": ("trim", "count"),
}
"""Words after bootstrap, and the argument that each sets."""
REPEATS = {
    **{name: ("method", name) for name in ("mixed", "bootstrap", "t-means", "t-single")},
    **{name: ("design", name) for name in ("unified", "paper", "nested", "crossed")},
}
"""Words after repeats, and the argument that each sets."""


class Margin(float):
    """The largest difference that does not matter, what it is for, and how it is tested; perhaps one a measure.

    >>> Margin("0.01:not-worse"), Margin("0.01:not-worse").side, Margin("0.01").verdict
    (0.01:not-worse, 'lower', 'tost')
    >>> margin = Margin("0.01,latency=20:not-worse")
    >>> margin.find_margin("nDCG"), margin.find_margin("latency"), Margin("AP=0.1").find_margin("P")
    (0.01, 20:not-worse, None)
    """

    words: ClassVar[tuple[str, ...]] = (*SIDES, *VERDICTS)
    text: str
    side: str
    verdict: str
    no_rare_failures: bool
    named: Mapping[str, Self]

    def __new__(cls, text: str) -> Self:
        """Return the number, with its words and the margins of measures; NaN where all have a name."""
        pieces = str(text).split(",")
        of_all = [piece for piece in pieces if "=" not in piece]
        # Of several for all measures the last one counts, as for other options.
        number, *words = (of_all or ["nan"])[-1].split(":")
        made = super().__new__(cls, number)
        made.text, made.side, made.verdict = str(text), "both", "tost"
        for word in words:
            if word not in cls.words:
                raise refuse_unknown("margin", word, cls.words, what="word of a margin")
            made.side = SIDES.get(word, made.side)
            made.verdict = word if word in VERDICTS else made.verdict
        made.no_rare_failures = "no-rare-failures" in words
        parts = (piece.rpartition("=") for piece in pieces if "=" in piece)
        made.named = {name.strip(): cls(margin) for name, _, margin in parts}
        if any(margin < 0 for margin in made.named.values()):
            raise InputError("a margin is less than 0", remedy="give 0 or more")
        return made

    def find_margin(self, measure: str) -> Self | None:
        """Return the margin of a measure: its own or that of all; None where it has none."""
        if measure in self.named or isnan(self):
            return self.named.get(measure)
        return type(self)([piece for piece in self.text.split(",") if "=" not in piece][-1])

    def __repr__(self) -> str:
        """Return what was typed."""
        return self.text


class ChartFile:
    """The file that a chart is written to, and which of several it is.

    >>> ChartFile("cd:figure.pdf").kind, ChartFile("cd:figure.pdf").path.name, ChartFile("figure.pdf").kind
    ('cd', 'figure.pdf', '')
    """

    def __init__(self, text: str) -> None:
        # One letter before a colon is a drive.
        kind = re.match(r"([a-z][a-z-]+):", text)
        self.kind = kind[1] if kind else ""
        self.path = Path(text[kind.end() :] if kind else text)


class Jobs(str):
    """A number of threads, or the address of a cluster."""

    def __new__(cls, text: object) -> Self:
        """Return what was typed, unless it is a number that is none of threads."""
        made = super().__new__(cls, text)
        if re.fullmatch(r"[-+]?[\d.]+", made) and not (made.isdecimal() and int(made) > 0):
            raise InputError(f"{made} is not a number of threads", remedy="give 1 or more")
        return made


class GateMargin(Margin):
    """The largest loss that does not matter, and whether failures rarer than those seen are ruled out."""

    words = ("no-rare-failures",)


def parse_words(method: str, first: str, last: Collection[str] = ()) -> dict[str, Any] | None:
    """Return what the words after the first one of a method say, by argument; None for a method of another kind.

    A word of ``last``, such as a correction, is the correction.

    >>> parse_words("bootstrap marginal kde bh", "bootstrap", ("bh", "holm"))
    {'null': 'marginal', 'density': 'kde', 'correction': 'bh'}
    """
    words = method.split()
    if words[:1] != [first]:
        return None
    known = BOOTSTRAP if first == "bootstrap" else REPEATS
    meanings: dict[str, Any] = {}
    for word in words[1:]:
        if word in last:
            meanings["correction"] = word
        elif word in known:
            name, value = known[word]
            meanings[name] = value
        else:
            raise refuse_unknown("method", word, (*known, *last), what=f"word after {first}")
    return meanings


def check_kind(value: str) -> None:
    """Refuse a kind of shards whose expression or sizes are not valid."""
    kind, colon, detail = value.partition(":")
    if kind == "uneven" and colon:
        parse_proportions(detail)
    if kind == "attribute":
        try:
            re.compile(detail)
        except re.error as error:
            raise InputError(
                f"'{detail}' is not a valid regular expression ({error})",
                remedy="write for instance --kind 'attribute:^[A-Z]+'",
            ) from None
    elif colon and kind not in ("uneven", "topical"):
        raise InputError(f"--kind {kind} takes no words", remedy=("write ", Option("kind", kind)))


def parse_proportions(text: str) -> list[float]:
    """Return numbers between commas.

    >>> parse_proportions("3,2,1")
    [3.0, 2.0, 1.0]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"'{text}' are not proportions", remedy=("write for instance ", Option("kind", "uneven:3,2,1"))
        ) from None


class GivenWords(dict[str, Any]):
    """What the words of an option say, by the names of their rows, and the text that was typed."""

    def __init__(self, text: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.text = text


@dataclass(frozen=True, slots=True)
class Situation:
    """What a command has at hand.

    Parameters
    ----------
    options : Options
        The options of the command.
    runs : bool or None
        Whether the inputs are runs (True) or scores (False); None for a command without inputs.
    dims : frozenset of str or None
        Dimensions of the scores; None before they are read.
    streamed : bool
        Whether the input is read block by block, so that only its moments are kept.
    """

    options: Any
    runs: bool | None = None
    dims: frozenset[str] | None = None
    streamed: bool = False

    def value(self, name: str, default: Any = None) -> Any:
        """Return the value of an option, or a default where the command has no such option."""
        return self.options.values.get(name, default)

    @property
    def kind(self) -> str:
        """How documents are split."""
        return str(self.value("kind")).partition(":")[0]

    @property
    def format(self) -> str:
        """How the result is written."""
        return str(self.options.chosen_format) if "format" in self.options.values else "text"


def split_variances(texts: Sequence[str]) -> tuple[list[str], str]:
    """Return the variances that are stated, and how they are estimated from scores where that is said.

    >>> split_variances(["AP=0.05"]), split_variances(["two-way"])
    ((['AP=0.05'], ''), ([], 'two-way'))
    """
    stated = [text for text in texts if "=" in text or text[:1] in "+-.0123456789"]
    named = [text for text in texts if text not in stated]
    return stated, named[-1] if named else ""


ONE_SHARD = (1, [1])
PREDICATES: dict[str, Callable[[Situation], bool]] = {
    "runs": lambda now: now.runs is not False,
    "scores": lambda now: now.runs is not True,
    "repeats": lambda now: now.dims is None or "instance" in now.dims,
    "whole_items": lambda now: (
        now.value("shards", 1) in ONE_SHARD and not (now.dims or frozenset()) & {"shard", "split"}
    ),
    "one_direction": lambda now: not (now.value("lower_is_better") and now.value("higher_is_better")),
    "in_memory": lambda now: not now.streamed,
    "shards": lambda now: now.value("shards", 2) not in ONE_SHARD or now.kind in ("attribute", "uneven"),
    "counted_shards": lambda now: now.kind != "uneven",
    "random_shards": lambda now: now.kind != "attribute",
    "sampled_shards": lambda now: now.kind != "topical",
    "no_bootstrap": lambda now: not str(now.value("method")).startswith("bootstrap"),
    "no_factors": lambda now: not now.value("random"),
    "whole_table": lambda now: (
        not (str(now.value("table")).startswith("items") and (now.streamed or now.value("random")))
    ),
    "report": lambda now: now.value("report") is not None or now.format == "html",
    "page": lambda now: now.format == "html",
    "ledger": lambda now: now.value("ledger") is not None,
    "one_look": lambda now: now.value("sequential") is None,
    "estimated": lambda now: not split_variances(now.value("variance", []))[0],
    "without_topics": lambda now: not now.value("topics"),
    "without_width": lambda now: not (now.value("width") and now.options.command.rows["width"].default == []),
}
"""Whether a condition holds in a situation; True where that is not known yet."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be true for an option to have an effect, and what is said where it is not."""

    name: str
    otherwise: str
    remedy: str = "remove {them}"
    tables: tuple[str, ...] = ()

    def holds(self, now: Situation) -> bool:
        """Return whether it is true; of tables, whether none of those is shown that ignore the option."""
        return now.value("table") not in self.tables if self.tables else PREDICATES[self.name](now)


def refuse_idle(given: Collection[str], rows: Mapping[str, Any], now: Situation, where: str = "") -> None:
    """Refuse options that the caller named and that have no effect; ``where`` is the input, if it is the reason."""
    conditions = {name: rows[name].only_with for name in sorted(given)}
    for condition in dict.fromkeys(condition for each in conditions.values() for condition in each):
        if condition.holds(now):
            continue
        idle = [name for name, each in conditions.items() if condition in each]
        them, verb = ("it", "has") if len(idle) == 1 else ("them", "have")
        listed = [part for name in idle for part in (", ", Option(name))][1:]
        raise InputError(
            (*listed, f" {verb} no effect ", *_name_options(condition.otherwise, them)),
            where=where if condition.name == "runs" else "",
            remedy=_name_options(condition.remedy, them),
        )


def idle_options(rows: Mapping[str, Any], now: Situation) -> list[str]:
    """Return the options that have no effect in a situation, whether they were given or not."""
    return [name for name, row in rows.items() if not all(each.holds(now) for each in row.only_with)]


def _name_options(text: str, them: str) -> tuple[Part, ...]:
    """Return a text whose options stand in braces, perhaps with a value, as parts of a refusal."""
    pieces = re.split(r"\{(\w+)(?:=([^}]*))?\}", text.replace("{them}", them))
    options = [Option(name, value) for name, value in zip(pieces[1::3], pieces[2::3], strict=True)]
    parts: list[Part] = [pieces[0]]
    for option, after in zip(options, pieces[3::3], strict=True):
        parts += [option, after]
    return tuple(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Param:
    """One option or argument, or a word of one: a row of `options.toml`, which says what the fields mean.

    A default that is a list makes it repeatable. `only_with` has the conditions of its panel too.
    """

    name: str
    panel: str
    help: str = ""
    default: Any = None
    kind: type = str
    short: str = ""
    metavar: str = ""
    common: bool = False
    least: float | None = None
    most: float | None = None
    only_with: tuple[Condition, ...] = ()
    check: str = ""
    complete: str = ""
    call: str = ""
    argument: str = ""
    variable: str = ""
    positional: bool = False
    required: bool = False
    shared: bool = False
    shown: bool = False
    written: bool = False
    path: bool = False
    chooses: bool = False
    web: str = ""
    word: str = ""
    words: tuple[Param, ...] = ()

    @property
    def key(self) -> str:
        """The long name without its dashes, as configuration files have it."""
        return self.name.replace("_", "-")

    @property
    def flags(self) -> tuple[str, ...]:
        """Names on the command line."""
        return (f"--{self.key}", *([self.short] if self.short else []))

    @property
    def several(self) -> bool:
        """Whether it may be given several times."""
        return isinstance(self.default, list)

    @property
    def description(self) -> str:
        """The help, with that of each of its words."""
        named = [row for row in self.words if row.word != "="]
        return " ".join([self.help, "; ".join(f"{row.spell_word()}: {row.help}" for row in named)]).strip()

    def spell_word(self, value: Any = None) -> str:
        """Return it as a word of another option, with a value or what stands for one."""
        name = self.word or self.key
        shown = self.metavar if value is None else value
        return f"{shown}" if name == "=" else name if self.kind is bool else f"{name}={shown}"

    def check_value(self, value: Any) -> None:
        """Refuse a value that cannot be meant."""
        if self.check and value is not None:
            CHECKS[self.check](value)

    def parse_texts(self, texts: Sequence[str]) -> Any:
        """Return the value from what was typed, or raise a ValueError with the reason why it is not valid."""
        if self.kind is bool:
            return True
        if self.words:
            return self._parse_words(texts)
        texts = [",".join(texts)] if issubclass(self.kind, Margin) else texts
        values = [self._parse_text(text) for text in texts]
        return values if self.several else values[-1]

    def _parse_words(self, texts: Sequence[str]) -> GivenWords:
        """Return the values of the words by the names of their rows; commas within a value stay in it."""
        rows = {row.word or row.key: row for row in self.words}
        between = re.compile(rf",(?=(?:{'|'.join(map(re.escape, rows))})(?:[=,]|$))")
        typed: dict[str, list[str]] = {}
        for piece in (piece.strip() for text in texts for piece in between.split(text)):
            word, equals, value = piece.partition("=")
            row = rows.get(word.strip()) or rows.get("=")
            if row is None or (row.word != "=" and (row.kind is bool) == bool(equals)):
                raise refuse_unknown(self.name, piece, [row.spell_word() for row in self.words], what="word")
            typed.setdefault(row.name, []).append(piece if row.word == "=" else value.strip())
        values = {row.name: row.parse_texts(typed[row.name]) for row in self.words if row.name in typed}
        return GivenWords(",".join(texts), values)

    def _parse_text(self, text: str) -> Any:
        """Return one value."""
        try:
            value = self.kind(text)
        except InputError:
            raise
        except ValueError:
            if issubclass(self.kind, Enum):
                names = ", ".join(str(item.value) for item in self.kind)
                raise ValueError(f"'{text}' is not one of {names}") from None
            number = "a number" if issubclass(self.kind, float) else "valid"
            what = "a whole number" if self.kind is int else number
            raise ValueError(f"'{text}' is not {what}") from None
        if self.least is not None and value < self.least:
            raise ValueError(f"{text} is less than {self.least:.12g}")
        if self.most is not None and value > self.most:
            # the level that was probably meant, where percent were given; 95 for alpha is the level of the intervals
            hint = ""
            if (self.least, self.most) == (0.0, 1.0) and value < 100.0:
                share = value / 100.0 if self.name != "alpha" or value <= 50.0 else 1.0 - value / 100.0
                hint = f"; did you mean {share:.6g}?"
            raise ValueError(f"{text} is more than {self.most:.12g}{hint}")
        return value


def refuse_unwritable_file(value: Path) -> None:
    """Refuse before the long work what could not be written after it."""
    if not value.parent.is_dir():
        raise InputError("no such folder", where=str(value.parent), remedy="create it, or write elsewhere")
    if value.is_dir():
        raise InputError("is a folder, not a file", where=str(value), remedy="name a file in it")


def refuse_unwritable_store(value: Path) -> None:
    """Refuse the same, where a Zarr store, which is a folder, may be written too."""
    require_for_files([value])
    if not (value.suffix.lower() == ".zarr" and value.is_dir()):
        refuse_unwritable_file(value)


def refuse_file(value: Path) -> None:
    """Refuse a file where a folder is needed."""
    if value.exists() and not value.is_dir():
        raise InputError("is a file, not a folder", where=str(value), remedy="name a folder")


def check_file(value: Path) -> None:
    """Refuse what is not a file."""
    if not value.is_file():
        raise refuse_absent_file(value)


def check_levels(value: Any, name: str) -> None:
    """Refuse numbers that are not levels."""
    for level in value if isinstance(value, list) else [value]:
        arguments.validate_level(level, name)


def parse_range(text: str) -> tuple[float, float] | None:
    """Return the lowest and the highest possible score, from two numbers with a comma between them, or nothing.

    >>> parse_range("1,5"), parse_range("")
    ((1.0, 5.0), None)
    """
    if not text:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low, high = 0.0, 0.0
    if not low < high:
        raise InputError(f"--range {text!r} is not a range", remedy="write the lowest and highest score: 0,1")
    return low, high


def check_chart(value: ChartFile) -> None:
    """Refuse a chart that could not be drawn or written."""
    # Help needs no charts, so they are loaded here.
    from shardwise.plot.saving import ending_of

    ending_of(value.path)
    refuse_unwritable_file(value.path)


CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "alpha": partial(check_levels, name="alpha"),
    "power": partial(check_levels, name="power"),
    **{check.__name__: check for check in (check_kind, check_chart, parse_range, refuse_file, check_file)},
    **{check.__name__: check for check in (refuse_unwritable_file, refuse_unwritable_store)},
}
"""What refuses values, by the names that rows have for it."""
KINDS: Mapping[str, type] = {
    "flag": bool,
    "integer": int,
    "number": float,
    "path": Path,
    "text": str,
    "format": Format,
    "margin": Margin,
    "gate margin": GateMargin,
    "chart": ChartFile,
    "jobs": Jobs,
}
"""Types of values, by the names that rows have for them."""

DATA: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8"))
PANELS: Mapping[str, Mapping[str, Any]] = DATA["panels"]
"""Panels of the help, in their order."""
COMMON = "Options"
"""Panel of the options that most people need."""
CONDITIONS = {
    name: Condition(name, **{**row, "tables": tuple(row.get("tables", ()))})
    for name, row in DATA["conditions"].items()
}


def make_param(name: str, row: Mapping[str, Any], *changes: Mapping[str, Any], panel: str = "") -> Param:
    """Return an option from its row in the table, with what a command changes in it."""
    fields: dict[str, Any] = {"panel": panel, **row}
    for change in changes:
        fields |= {**DATA["changes"].get(change.get("like"), {}), **change}
    for key in ("like", *fields.pop("unset", ())):
        fields.pop(key, None)
    panel, kind = fields["panel"], KINDS[fields.pop("kind", "text")]
    default = fields.pop("default", False if kind is bool else None)
    default = kind(default) if isinstance(default, str) else default
    needed = (*PANELS[panel].get("only_with", ()), *fields.pop("only_with", ()))
    only_with = () if fields.get("positional") else tuple(CONDITIONS[name] for name in needed)
    words = [make_param(word, inner, panel=panel) for word, inner in fields.pop("words", {}).items()]
    fields["help"] = " ".join(fields.get("help", "").split())
    return Param(name=name, kind=kind, default=default, only_with=only_with, words=tuple(words), **fields)


BUILT_IN = tuple(make_param(name, row) for name, row in DATA["built_in"].items())
"""Options that the parser itself answers."""
OF_PROGRAM = tuple(make_param(name, row) for name, row in DATA["program"].items())
"""Those of the program, which no command has."""
TABLE: Mapping[str, Param] = {name: make_param(name, row) for name, row in DATA["options"].items()}
"""Every option by name, in the order of the help."""
WORDS: Mapping[str, tuple[Param, Param]] = {
    word.name: (row, word) for row in TABLE.values() for word in row.words
}
"""Every word of an option by name, after its option."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, its help, the function that does its work, and its options by name."""

    words: tuple[str, ...]
    help: str
    function: str
    rows: dict[str, Param]
    changed: frozenset[str]

    @property
    def title(self) -> str:
        """What is typed to call it, without the program."""
        return " ".join(self.words)

    @property
    def argument(self) -> Param | None:
        """The row of its argument, if it has one."""
        return next((row for row in self.rows.values() if row.positional), None)

    @property
    def every(self) -> dict[str, Param]:
        """Its options by name, and the words of those that take words."""
        return self.rows | {word.name: word for row in self.rows.values() for word in row.words}


def list_options(names: str) -> list[str]:
    """Return the names of options and, for each set of them, of those in it.

    >>> list_options("WRITTEN seed")
    ['format', 'out', 'quiet', 'seed']
    """
    sets = DATA["sets"]
    return [name for word in names.split() for name in (list_options(sets[word]) if word in sets else [word])]


def make_command(title: str, row: Mapping[str, Any]) -> Command:
    """Return a command from its row in the table."""
    names, changes = set(list_options(row["options"])), row.get("change", {})
    rows = {
        name: make_param(name, DATA["options"][name], changes[name]) if name in changes else param
        for name, param in TABLE.items()
        if name in names
    }
    special = {*changes, *row.get("special", ())}
    return Command(tuple(title.split()), row["help"], row["function"], rows, frozenset(special))


COMMANDS: dict[str, Command | dict[str, Command]] = {}
"""Every command by name; or, for a group, its commands."""
COMMAND_PANELS: Mapping[str, Sequence[str]] = DATA["command_panels"]
"""Commands as the help groups them."""
GROUP_HELP: Mapping[str, str] = DATA["groups"]
HINTS: Mapping[str, str] = DATA["hints"]
"""What does what a word seems to ask for that is no command."""
WITHOUT_CONFIG = frozenset({"repeat", "serve"})
"""Commands that do no analysis of their own."""


for _title, _row in DATA["commands"].items():
    *_groups, _name = _title.split()
    _members: dict[str, Any] = COMMANDS.setdefault(_groups[0], {}) if _groups else COMMANDS  # type: ignore[assignment]
    _members[_name] = make_command(_title, _row)


def list_commands() -> dict[tuple[str, ...], Command]:
    """Return every command by its words, such as ``("design", "power")``."""
    members = [each.values() if isinstance(each, dict) else [each] for each in COMMANDS.values()]
    return {command.words: command for group in members for command in group}
