"""The options of `options.toml`, and what they take: formats, margins, charts, words.

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

from shardwise.cli.conditions import Condition
from shardwise.core import arguments
from shardwise.core.errors import InputError, Option, refuse_unknown
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


def refuse_absent_file(value: Path) -> None:
    """Refuse what is not a file."""
    if not value.is_file():
        raise InputError("no such file", where=str(value), remedy="check the path")


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
    **{
        check.__name__: check
        for check in (check_kind, check_chart, parse_range, refuse_file, refuse_absent_file)
    },
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
