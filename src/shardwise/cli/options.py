"""Every option of the command line, declared once: name, kind, default, group, help, and when it has an effect.

Command line, configuration file, web form, API, help and the page of options are made from this table. A command
(`commands.py`) names the options that it takes, and what is other than usual in its use of one. Nothing here loads what
does the work, so that help and completion come at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from math import isnan
from pathlib import Path
from typing import Any, ClassVar, Self

from shardwise.cli import conditions as when
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


@dataclass(frozen=True, slots=True)
class Group:
    """A panel of the help, with what must be true for all options in it to have an effect."""

    title: str
    only_with: tuple[Condition, ...] = ()


COMMON = "Options"
INPUT = Group("Input", (when.ESTIMATED,))
QUESTION = Group("Question")
METHOD = Group("Method")
SHARDS = Group("Shards (runs only)", (when.RUNS, when.IN_MEMORY))
OUTPUT = Group("Output")
RUNNING = Group("Running")
PLAN = Group("Plan")
SIMULATION = Group("Simulation")
SERVER = Group("Server")
GROUPS = (QUESTION, INPUT, METHOD, SHARDS, PLAN, SIMULATION, SERVER, OUTPUT, RUNNING)
"""Panels of the help, in their order."""

MOST_TABLES = 1_000_000
"""Simulated tables at most: they measure a rate of 5% to within 0.05 percentage points."""


class GivenWords(dict[str, Any]):
    """What the words of an option say, by the names of their rows, and the text that was typed."""

    def __init__(self, text: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.text = text


@dataclass(frozen=True, slots=True)
class Param:
    """One option or argument.

    Parameters
    ----------
    name : str
        Of the value; with dashes, the long name on the command line and the key of configuration files.
    group : Group
        Panel of the help.
    help : str
        What it does, in a phrase; the default is added to it.
    default : object
        Value where none is given; a list for one that is repeatable.
    kind : type
        Of one value.
    short, metavar : str
        Short name, and what stands for the value in the help.
    common : bool
        Whether it stands among the options that most people need.
    least, most : float or None
        Bounds of a number.
    only_with : tuple of Condition
        What must be true for it to have an effect, beside what the group needs.
    check : callable or None
        Refuses a value.
    complete : str
        What the shell offers for it: measures, methods, models or conventions.
    call, argument : str
        Function of the library that takes it as an argument, read or analyze, and the argument's name where it is
        another.
    variable : str
        Environment variable with the default.
    positional : bool
        Whether it is an argument and not an option.
    required : bool
        Whether it must be given.
    shared : bool
        Whether it may stand above all tables of a configuration file.
    shown : bool
        Whether it says where and how a result is shown, and nothing about the result.
    written : bool
        Whether it names a file that is written.
    path : bool
        Whether the text may name a file that is read, as paths always do.
    chooses : bool
        Whether it chooses another method than the default one.
    web : str
        Commands for which the web page and its API take it.
    word : str
        What it is called as a word of another option, where that is not its name; "=" for the word without a name.
    words : tuple of Param
        The words that it takes, as in ``decimal=comma,sheet=2``, each with a kind, a default and conditions of its own.
    """

    name: str
    group: Group
    help: str = ""
    default: Any = None
    kind: type = str
    short: str = ""
    metavar: str = ""
    common: bool = False
    least: float | None = None
    most: float | None = None
    only_with: tuple[Condition, ...] = ()
    check: Callable[[Any], Any] | None = None
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
    def conditions(self) -> tuple[Condition, ...]:
        """What must be true for it to have an effect."""
        return () if self.positional else (*self.group.only_with, *self.only_with)

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
            what = (
                "a whole number"
                if self.kind is int
                else "a number"
                if issubclass(self.kind, float)
                else "valid"
            )
            raise ValueError(f"'{text}' is not {what}") from None
        if self.least is not None and value < self.least:
            raise ValueError(f"{text} is less than {self.least:.12g}{self._suggest_level(value)}")
        if self.most is not None and value > self.most:
            raise ValueError(f"{text} is more than {self.most:.12g}{self._suggest_level(value)}")
        return value

    def _suggest_level(self, value: float) -> str:
        """Return the level that was probably meant, where percent were given."""
        if self.least != 0.0 or self.most != 1.0 or not 1.0 < value < 100.0:
            return ""
        # 95 for alpha is the level of the intervals.
        share = 1.0 - value / 100.0 if self.name == "alpha" and value > 50.0 else value / 100.0
        return f"; did you mean {share:.6g}?"


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


def _check_levels(name: str) -> Callable[[Any], None]:
    """Return what refuses numbers that are not levels."""

    def check(value: Any) -> None:
        for level in value if isinstance(value, list) else [value]:
            arguments.validate_level(level, name)

    return check


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


def _check_chart(value: ChartFile) -> None:
    # Help needs no charts, so they are loaded here.
    from shardwise.plot.saving import ending_of

    ending_of(value.path)
    refuse_unwritable_file(value.path)


OF_REPEATS = when.unless_table("seeds", "spread", "shares", "settings")
NOT_METHODS = when.unless_table("methods")

# fmt: off
_ROWS = (
    Param("inputs", INPUT, default=[], required=True, kind=Path, metavar="INPUTS", positional=True,
        help="A qrels file and runs (files, folders, patterns), or scores: tables (CSV, TSV, JSONL, Parquet, xlsx) and "
        "logs of evaluation tools (lm-eval, inspect …)."),
    Param("measure", INPUT, default=[], short="-m", metavar="NAME", common=True,
        complete="measures", shared=True, web="compare calibrate",
        help="Measure, such as AP, P@10 or nDCG@20; of a table, the column. Default for runs: AP."),
    Param("columns", INPUT, default=[], metavar="ROLE=COLUMN", common=True, only_with=(when.SCORES,),
        web="compare calibrate",
        help="What columns hold, as in item=question,system=model; roles: item, system, score, instance, "
        "cluster, task; pre: measured before an A/B test, whose part in the scores is taken out (CUPED)."),
    Param("read", INPUT, default=[], metavar="WORD=VALUE", shared=True, help="How files are read.", words=(
        Param("system", INPUT, default=[], metavar="NAME", only_with=(when.SCORES, when.IN_MEMORY), call="read",
            help="system of a file that holds one, in the order of the files"),
        Param("task", INPUT, default=[], metavar="NAME", only_with=(when.SCORES, when.IN_MEMORY), call="read",
            help="task of logs and tables that have several"),
        Param("pair_by", INPUT, default="item", metavar="position", only_with=(when.SCORES, when.IN_MEMORY),
            call="read", help="rows of several files are pairs, where nothing names the items"),
        Param("decimal", INPUT, default="", metavar="comma", only_with=(when.SCORES, when.IN_MEMORY), call="read",
            help="decimal mark, or point, where 1,234 may be both"),
        Param("sheet", INPUT, default="", metavar="NAME", only_with=(when.SCORES, when.IN_MEMORY), call="read",
            help="sheet of a workbook"),
        Param("names", INPUT, default="auto", metavar="file", only_with=(when.RUNS,), web="compare calibrate",
            help="what names a system, or tag: the last column of the run"),
        Param("subtopics", INPUT, default=False, kind=bool, only_with=(when.RUNS,),
            help="the second column of the qrels is a subtopic"),
        Param("intents", INPUT, kind=Path, metavar="FILE", only_with=(when.RUNS,), check=refuse_absent_file,
            help="probability of each subtopic: topic, subtopic, p"),
        Param("log", INPUT, default=False, kind=bool, only_with=(when.IN_MEMORY,),
            help="logarithms of scores, for costs and latencies that few items dominate"),
    )),
    Param("like", INPUT, metavar="PROGRAM,WORD", complete="conventions", shared=True,
        help="Score as this program does: trec_eval-10, trec_eval-9, ir_measures, ranx, gdeval, ndeval, "
        "sample_eval, NTCIREVAL, cwl_eval; or undefined. Default: as pytrec_eval and ir_measures.", words=(
        Param("preset", INPUT, default="default", metavar="PROGRAM", only_with=(when.RUNS,), word="="),
        Param("complete", INPUT, default=False, kind=bool, only_with=(when.RUNS,),
            help="all judged topics count, 0 where a run lacks one (trec_eval -c)"),
        Param("judged_only", INPUT, default=False, kind=bool, word="judged", only_with=(when.RUNS,),
            help="documents without a judgment are removed (trec_eval -J)"),
        Param("depth", INPUT, kind=int, metavar="N", least=1, only_with=(when.RUNS,), web="compare calibrate",
            help="documents of a ranking that count"),
    )),
    Param("instances", INPUT, default=[], metavar="PATTERN", path=True, only_with=(when.RUNS,),
        help="Which run is which repeat of which system: '{system}_seed{instance}.run', folder, or a CSV file."),
    Param("deterministic", INPUT, default=[], metavar="NAME", only_with=(when.REPEATS, when.IN_MEMORY),
        help="System that always gives the same result, so that one run is enough."),
    Param("missing", INPUT, default="", metavar="POLICY", shared=True, web="compare calibrate", call="read",
        help="Topics that a run lacks: refuse (default; leave in score), leave, zero or drop. Scores that a "
        "table lacks: leave (default), refuse or zero; drop for long tables."),
    Param("fill", INPUT, default="zero", metavar="POLICY", only_with=(when.IN_MEMORY, when.NO_FACTORS,
        when.unless_table("fills")), shared=True, web="compare calibrate",
        help="Undefined scores (no relevant document in a shard): zero, one, lq, mean, drop or leave; a number "
        "also fills missing scores."),
    Param("max_memory", INPUT, default="", metavar="SIZE", shown=True,
        help="Memory that a table may take, such as 16GB; larger ones are streamed, and compressed files may "
        "inflate to this. Default: a quarter."),
    Param("generalize", QUESTION, default="", metavar="TO", common=True, only_with=(when.IN_MEMORY, when.NO_FACTORS),
        shared=True, web="compare", chooses=True, call="analyze",
        help="What the result applies to: topic (new topics like these), these (exactly these topics), "
        "topic,shard or topic,instance."),
    Param("baseline", QUESTION, default=[], metavar="NAME", common=True, web="compare", call="analyze",
        help="Compare all others with this system only."),
    Param("only", QUESTION, default=[], metavar="NAME", only_with=(when.IN_MEMORY,), call="analyze",
        help="Compare only these systems."),
    Param("by", QUESTION, default=[], metavar="COLUMN", only_with=(when.SCORES, when.IN_MEMORY,
        when.NO_FACTORS), web="compare", call="analyze",
        help="Break the answer down by a label of the items, such as category; twice to cross two."),
    Param("repeats", QUESTION, metavar="KIND", common=True, only_with=(when.REPEATS, when.IN_MEMORY,
        when.NO_FACTORS), web="compare", call="analyze",
        help="Repeated scores are seeds (one seed affects all items) or samples (independent for each item). "
        "Default: seeds, valid for both."),
    Param("range", INPUT, default="", metavar="LOW,HIGH", only_with=(when.IN_MEMORY,), check=parse_range,
        web="compare calibrate",
        help="Lowest and highest possible score, for intervals. Default: 0,1 if all scores lie within, else "
        "the scale that repeated scores lie on, such as 1,5."),
    Param("lower_is_better", INPUT, default=False, kind=bool, only_with=(when.ONE_DIRECTION,), web="compare calibrate",
        help="Lower scores are better. Default: by the name of the measure, such as wer, latency_ms or cost."),
    Param("higher_is_better", INPUT, default=False, kind=bool, only_with=(when.ONE_DIRECTION,), web="compare calibrate",
        help="Higher scores are better. Default, unless the name of the measure says otherwise."),
    Param("exclude", INPUT, default=[], metavar="NAME", only_with=(when.IN_MEMORY,), call="read",
        help="Leave out this system, such as a broken run that widens all intervals; of a table also an item."),
    Param("margin", QUESTION, kind=Margin, metavar="[NAME=]X[:WORD]", common=True, least=0.0,
        only_with=(when.IN_MEMORY,),
        help="Largest difference that does not matter: tests equivalence, with 0.01:not-worse that none is worse, "
        "0.01:better that it is exceeded; by :tost (default), :interval or :hpd. By measure: AP=0.01,P=0.02."),
    Param("contrast", QUESTION, default=[], metavar="TEXT", only_with=(when.IN_MEMORY, when.NO_BOOTSTRAP,
        when.NO_FACTORS),
        help="Compare two groups of systems, as in 'dense: a b c vs bm25 tfidf'. Intervals of several hold at "
        "once."),
    Param("human", QUESTION, kind=Path, metavar="FILE", only_with=(when.SCORES, when.IN_MEMORY, when.NO_BOOTSTRAP,
        when.NO_FACTORS, when.WHOLE_ITEMS), check=refuse_absent_file, web="compare", chooses=True,
        help="Scores by people for some items; the input holds a judge's scores for all, and its bias is "
        "corrected."),
    Param("alpha", QUESTION, default=0.05, kind=float, metavar="P", least=0.0, most=1.0,
        check=_check_levels("alpha"), shared=True, web="compare calibrate", call="analyze",
        help="Significance level."),
    Param("method", METHOD, default="", metavar="NAME", common=True, only_with=(NOT_METHODS, OF_REPEATS),
        complete="methods", web="compare calibrate", chooses=True, call="analyze",
        help="Method, such as moderated, 't holm' or 'MD6 hsd topic'; a correction for --model: hsd, bh …; 'bootstrap "
        "marginal kde'; 'repeats nested' for two systems. Default: recommended."),
    Param("model", METHOD, default="", metavar="NAME", only_with=(when.IN_MEMORY, when.NO_FACTORS,
        when.unless_table("models")), complete="models", shared=True, web="compare", chooses=True,
        call="analyze",
        help="ANOVA model: MD1 to MD6, or a formula such as 'topic + system'."),
    Param("random", METHOD, default=[], metavar="FACTOR", only_with=(when.SCORES, when.IN_MEMORY, when.WHOLE_ITEMS),
        chooses=True, call="read", argument="factors",
        help="Mixed model with this random factor, a column such as question, judge or question:judge."),
    Param("resamples", METHOD, kind=int, metavar="N", least=1, only_with=(when.IN_MEMORY, when.NO_FACTORS,
        NOT_METHODS), argument="n_resamples", chooses=True, call="analyze",
        help="Bootstrap samples. Default: as many as the method needs."),
    Param("seed", METHOD, default=0, kind=int, metavar="N", least=0, shared=True, web="compare calibrate",
        call="analyze",
        help="Seed of all randomness."),
    Param("shards", SHARDS, default=1, kind=int, metavar="N", common=True, least=1, only_with=(when.RANDOM_SHARDS,
        when.COUNTED_SHARDS), shared=True, web="compare calibrate", argument="n_shards",
        help="Split the documents of the runs into this many shards."),
    Param("splits", SHARDS, default=1, kind=int, metavar="N", least=1, only_with=(when.RANDOM_SHARDS, when.SHARDS),
        shared=True, web="compare", argument="n_splits",
        help="Number of independent splits."),
    Param("kind", SHARDS, default="even", metavar="KIND", only_with=(when.SHARDS,), check=check_kind, shared=True,
        path=True, web="compare calibrate",
        help="How documents are split: even, die, covered, uneven:3,2,1 (sizes), attribute:REGEX (a part of the name) "
        "or topical:FILE (texts: JSON lines, <DOC>, or name and text)."),
    Param("corpus", SHARDS, metavar="N|FILE", only_with=(when.RANDOM_SHARDS, when.SHARDS, when.SAMPLED_SHARDS),
        shared=True, path=True, web="compare calibrate",
        help="Size of the corpus, or a file with its document names."),
    Param("format", OUTPUT, kind=Format, short="-f", metavar="FORMAT", shared=True, shown=True,
        help="text, json, csv, latex, markdown or html. Default: by the extension of --out, else text."),
    Param("out", OUTPUT, kind=Path, short="-o", metavar="PATH", common=True, shown=True, written=True,
        check=refuse_unwritable_file,
        help="Write the result to this file: .txt, .json, .csv, .tex, .md or .html."),
    Param("table", OUTPUT, default="", metavar="NAME", only_with=(when.WHOLE_TABLE,),
        help="Table to show."),
    Param("report", OUTPUT, kind=Path, metavar="FILE", common=True, only_with=(when.IN_MEMORY, when.NO_FACTORS),
        check=refuse_unwritable_file, shown=True, written=True,
        help="Also write a full report to this HTML file."),
    Param("calibration", OUTPUT, kind=int, metavar="N", least=0, most=MOST_TABLES, only_with=(when.REPORT,
        when.NO_FACTORS), web="compare",
        help="Simulated tables for the report's check of its methods; 0 for none. Default: recorded rates, if "
        "they apply."),
    Param("chart", OUTPUT, kind=ChartFile, metavar="[KIND:]FILE", only_with=(when.IN_MEMORY,), check=_check_chart,
        shown=True, written=True,
        help="Draw the result to this file: .html, .png, .svg, .pdf or .json; with cd:figure.pdf the chart of this "
        "kind, such as forest, cd, ranks or heatmap."),
    Param("quiet", OUTPUT, default=False, kind=bool, short="-q", shared=True, shown=True,
        help="No progress bars, no notes."),
    Param("jobs", RUNNING, kind=Jobs, metavar="N|ADDRESS", shared=True, shown=True, argument="executor",
        help="Number of threads; or local, or the address of a scheduler of dask.distributed, to run on a cluster. "
        "Default: all processors."),
    Param("new", QUESTION, default=[], metavar="NAME", common=True,
        help="The new system, in a file of several. Of several new ones, all must pass."),
    Param("sequential", QUESTION, kind=Path, metavar="FILE", check=refuse_unwritable_file,
        help="Test after every batch of new items at one error rate; FILE keeps the state between the interim "
        "looks."),
    Param("ledger", QUESTION, kind=Path, metavar="FILE", common=True, only_with=(when.ONE_LOOK,),
        check=refuse_unwritable_file,
        help="Judge candidates one after another on the same items at one error rate; FILE records them. Without a "
        "base: the last accepted one."),
    Param("reveal", QUESTION, default=False, kind=bool, only_with=(when.LEDGER,),
        help="Show difference, interval and p of the candidate, and record that in the ledger."),
    Param("candidates", QUESTION, kind=int, metavar="N", least=1, only_with=(when.LEDGER,),
        help="Declare with the first candidate how many there will be; the ledger closes then."),
    Param("base_of", QUESTION, metavar="FILE", only_with=(when.LEDGER,), path=True,
        help="An earlier ledger that a new one refers to; or the word ledger, for the base of this one."),
    Param("plan", QUESTION, default=False, kind=bool, only_with=(when.LEDGER,),
        help="Show how large a gain the next candidates need, and judge none."),
    Param("power", PLAN, default=0.8, kind=float, metavar="P", common=True, least=0.0, most=1.0,
        only_with=(when.WITHOUT_WIDTH,), check=_check_levels("power"),
        help="Power to reach."),
    Param("min_diff", PLAN, default=[0.1], kind=float, metavar="X", common=True, only_with=(when.WITHOUT_WIDTH,),
        help="Difference to detect."),
    Param("systems", PLAN, default=[2], kind=int, metavar="N", common=True, only_with=(when.WITHOUT_WIDTH,),
        help="Number of systems."),
    Param("topics", PLAN, default=[], kind=int, metavar="N", common=True,
        help="Number of topics."),
    Param("width", PLAN, default=[0.1], kind=float, metavar="X", common=True, only_with=(when.WITHOUT_TOPICS,),
        help="Width of the confidence interval of a difference."),
    Param("variance", PLAN, default=[], metavar="[NAME=]X", common=True,
        help="Variance of a system's scores, perhaps of a measure; or how it is estimated from scores: residual, "
        "two-way, one-way or percentile95. Default: as the test needs it."),
    Param("also", INPUT, default=[], metavar="SCORES|QRELS,RUNS",
        help="Another collection whose variance is pooled with the first."),
    Param("pool", PLAN, default=[10, 30, 50, 70, 100], kind=int, metavar="DEPTH", common=True, least=1,
        only_with=(when.RUNS,),
        help="Pool depth to try."),
    Param("cost", PLAN, metavar="WORD=X", help="What a plan is to cost.", words=(
        Param("topic_cost", PLAN, default=0.0, kind=float, metavar="X", least=0, word="topic",
            help="cost of a topic besides its judgments or answers"),
        Param("answer_cost", PLAN, default=1.0, kind=float, metavar="X", least=0, word="answer",
            help="cost of one answer of one system to one item"),
    )),
    Param("scenario", SIMULATION, default=[], metavar="NAME",
        help="Simulated data: normal, margins, vine, tilt, permute, flip (false alarms), resample (coverage) or "
        "halves:N (each half of the topics against the other). Default: those that suit the scores."),
    Param("depth", SIMULATION, default=1000, kind=int, metavar="N", least=1,
        help="Documents that a system retrieves for a topic."),
    Param("repetitions", SIMULATION, kind=int, metavar="N", least=5, most=MOST_TABLES, web="calibrate",
        help="Simulated tables, exactly. Default: until the result is clear."),
    Param("budget", SIMULATION, kind=int, metavar="N", least=10, most=MOST_TABLES, web="calibrate",
        help="Simulated tables of a scenario at most. Default: 2000."),
    Param("port", SERVER, metavar="N,host=ADDRESS", common=True,
        help="Port; 0 for any free one. Default: 8421.", words=(
        Param("port", SERVER, default=8421, kind=int, metavar="N", least=0, most=65535, word="="),
        Param("host", SERVER, default="127.0.0.1", metavar="ADDRESS",
            help="address to listen on; one that others can reach needs --token"),
    )),
    Param("token", SERVER, default="", metavar="SECRET", variable="SHARDWISE_TOKEN",
        help="Secret in the address. Default: a new one each time."),
    Param("open", SERVER, default=False, kind=bool, common=True,
        help="Open it in the browser."),
    Param("limit", SERVER, default=2048, kind=int, metavar="MB", least=1,
        help="Megabytes that the files of an analysis may have."),
)
BUILT_IN = (
    Param("config", RUNNING, kind=Path, metavar="FILE",
        help="Take inputs and options from this TOML file; the command line comes first."),
    Param("json_schema", OUTPUT, default=False, kind=bool, help="Print the JSON Schema of --format json, and stop."),
    Param("help", OUTPUT, default=False, kind=bool, short="-h", common=True, help="Show this message and exit."),
)
"""Options that the parser itself answers."""
# fmt: on

TABLE: Mapping[str, Param] = {row.name: row for row in _ROWS}
"""Every option by name, in the order of the help."""
WORDS: Mapping[str, tuple[Param, Param]] = {word.name: (row, word) for row in _ROWS for word in row.words}
"""Every word of an option by name, after its option."""
