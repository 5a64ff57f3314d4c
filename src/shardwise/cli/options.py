"""Every option of the command line, declared once: names, help, group, and the conditions under which it has an effect.

A group of options (`groups.py`) or a command (`commands.py`) uses a declaration with a type and a default; a list makes
the option repeatable. Nothing here loads what does the work, so that help and completion come at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from shardwise.cli import completing
from shardwise.cli import conditions as when
from shardwise.cli.conditions import Condition
from shardwise.core import arguments
from shardwise.core.errors import InputError, Option
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


def format_of(format: Format | None, out: Path | None, endings: Mapping[str, Format] = ENDINGS) -> Format:
    """Return the format asked for, or else the one of the file's extension, or else text.

    Parameters
    ----------
    format : Format or None
        As ``--format`` says.
    out : Path or None
        The file.
    endings : mapping
        Formats by extension.

    Returns
    -------
    Format
        How to write the result.

    >>> format_of(None, Path("pairs.tex")).value
    'latex'
    """
    named = endings.get(out.suffix.lower()) if out is not None else None
    if format is not None:
        if named not in (None, format):
            raise InputError(
                (
                    Option("format", format.value),
                    f" conflicts with the extension {out.suffix if out else ''}",
                ),
                where=str(out),
                remedy="remove one of the two",
            )
        return format
    if out is not None and out.suffix and named is None:
        raise InputError(
            f"unknown extension {out.suffix}",
            where=str(out),
            remedy=(f"use {', '.join(endings)}, or add ", Option("format")),
        )
    return named or Format.text


@dataclass(frozen=True, slots=True)
class Group:
    """A panel of the help, with what holds for all options in it."""

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


MOST_TABLES = 1_000_000
"""Simulated tables at most: they measure a rate of 5% to within 0.05 percentage points."""

_NUMBERS = count()


class Declaration(OptionInfo):
    """One option of the command line.

    Parameters
    ----------
    names : str
        Long name, perhaps a short one.
    help : str
        What it does, in a phrase; the default is added to it.
    group : Group
        Panel of the help.
    common : bool
        Whether it stands among the options that most people need.
    only_with : tuple of Condition
        What must be true for it to have an effect.
    check : callable
        Refuses a value, or returns it.
    complete : callable
        Values that the shell offers.
    others
        What typer takes: ``metavar``, ``min``, ``max``, ``exists`` …
    """

    def __init__(
        self,
        *names: str,
        help: str,
        group: Group,
        common: bool = False,
        only_with: tuple[Condition, ...] = (),
        check: Callable[[Any], Any] | None = None,
        complete: Callable[[str], list[str]] | None = None,
        **others: Any,
    ) -> None:
        super().__init__(
            default=...,
            param_decls=names,
            help=help,
            callback=check,
            autocompletion=complete,
            allow_from_autoenv=False,
            **others,
        )
        self.group, self.common = group, common
        self.number = next(_NUMBERS)
        self.only_with = (*group.only_with, *only_with)

    @property
    def key(self) -> str:
        """The long name without its dashes, as configuration files have it."""
        names = (name for name in self.param_decls or () if name.startswith("--"))
        return next(names).lstrip("-")


def make_list_field(*values: Any) -> Any:
    """Return a field of options that holds a list, with these values where none are given."""
    return field(default_factory=lambda: list(values))


def refuse_unwritable_file(value: Path | None) -> Path | None:
    """Refuse before the long work what could not be written after it."""
    if value is not None and not value.parent.is_dir():
        raise InputError("no such folder", where=str(value.parent), remedy="create it, or write elsewhere")
    if value is not None and value.is_dir():
        raise InputError("is a folder, not a file", where=str(value), remedy="name a file in it")
    return value


def refuse_unwritable_store(value: Path | None) -> Path | None:
    """Refuse the same, where a Zarr store, which is a folder, may be written too."""
    require_for_files([value])
    is_store = value is not None and value.suffix.lower() == ".zarr" and value.is_dir()
    return value if is_store else refuse_unwritable_file(value)


def refuse_file(value: Path | None) -> Path | None:
    """Refuse a file where a folder is needed."""
    if value is not None and value.exists() and not value.is_dir():
        raise InputError("is a file, not a folder", where=str(value), remedy="name a folder")
    return value


def _parse_level(value: Any) -> Any:
    for level in value if isinstance(value, list | tuple) else [value]:
        arguments.validate_level(level)
    return value


def _parse_power(value: Any) -> Any:
    for power in value if isinstance(value, list | tuple) else [value]:
        arguments.validate_level(power, "power")
    return value


def _parse_transform(value: str) -> str:
    if value not in ("", "log"):
        raise InputError(f"--transform {value!r} is unknown", remedy="use log")
    return value


def _parse_range(value: str | None) -> str | None:
    parse_range(value or "")
    return value


def parse_range(text: str) -> tuple[float, float] | None:
    """Parse the lowest and the highest possible score.

    Parameters
    ----------
    text : str
        Two numbers with a comma between them, or nothing.

    Returns
    -------
    (float, float) or None
        The range.

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


def _parse_expression(value: str | None) -> str | None:
    try:
        re.compile(value or "")
    except re.error as error:
        raise InputError(
            f"--by '{value}' is not a valid regular expression ({error})",
            remedy="write for instance '^[A-Z]+'",
        ) from None
    return value


def _parse_chart(value: Path | None) -> Path | None:
    if value is not None:
        # Help needs no charts, so they are loaded here.
        from shardwise.plot.saving import ending_of

        ending_of(value)
    return refuse_unwritable_file(value)


# Input
Inputs = Annotated[
    list[Path],
    typer.Argument(
        help="A qrels file and runs (files, folders, patterns), or scores: tables (CSV, TSV, JSONL, Parquet, xlsx) and "
        "logs of evaluation tools (lm-eval, inspect …).",
        metavar="INPUTS",
        show_default=False,
    ),
]
MEASURE = Declaration(
    "--measure", "-m", metavar="NAME", common=True, group=INPUT, complete=completing.complete_measures,
    help="Measure, such as AP, P@10 or nDCG@20; of a table, the column. Default for runs: AP.",
)  # fmt: skip
COLUMNS = Declaration(
    "--columns", metavar="ROLE=COLUMN", common=True, group=INPUT, only_with=(when.SCORES,),
    help="What columns hold, as in item=question,system=model; roles: item, system, score, instance, cluster, task.",
)  # fmt: skip
SYSTEM = Declaration(
    "--system", metavar="NAME", group=INPUT, only_with=(when.SCORES, when.IN_MEMORY),
    help="Name of the system in each file that holds one, in the order of the files.",
)  # fmt: skip
TASK = Declaration(
    "--task", metavar="NAME", group=INPUT, only_with=(when.SCORES, when.IN_MEMORY),
    help="Task to read, of logs and tables that have several.",
)  # fmt: skip
PAIR_BY = Declaration(
    "--pair-by", metavar="HOW", group=INPUT, only_with=(when.SCORES, when.IN_MEMORY),
    help="What pairs the rows of several files: item, or position where nothing names the items.",
)  # fmt: skip
DECIMAL = Declaration(
    "--decimal", metavar="MARK", group=INPUT, only_with=(when.SCORES, when.IN_MEMORY),
    help="Decimal mark, point or comma, where 1,234 may be both.",
)  # fmt: skip
SHEET = Declaration(
    "--sheet", metavar="NAME", group=INPUT, only_with=(when.SCORES, when.IN_MEMORY),
    help="Sheet of a workbook, where several hold tables.",
)  # fmt: skip
INSTANCES = Declaration(
    "--instances", metavar="PATTERN", group=INPUT, only_with=(when.RUNS,),
    help="Which run is which repeat of which system: '{system}_seed{instance}.run', folder, or a CSV file.",
)  # fmt: skip
DETERMINISTIC = Declaration(
    "--deterministic", metavar="NAME", group=INPUT, only_with=(when.REPEATS, when.IN_MEMORY),
    help="System that always gives the same result, so that one run is enough.",
)  # fmt: skip
MISSING = Declaration(
    "--missing", metavar="POLICY", group=INPUT,
    help="Topics that a run lacks: refuse (default; leave in score), leave, zero or drop. Scores that a table lacks: "
    "leave (default), refuse or zero; drop for long tables.",
)  # fmt: skip
FILL = Declaration(
    "--fill", metavar="POLICY", group=INPUT, only_with=(when.IN_MEMORY, when.NO_FACTORS, when.unless_table("fills")),
    help="Undefined scores (no relevant document in a shard): zero, one, lq, mean, drop or leave; a number also fills "
    "missing scores.",
)  # fmt: skip
NAMES = Declaration(
    "--names", metavar="BY", group=INPUT, only_with=(when.RUNS,),
    help="What names a system: auto, tag (last column of the run) or file.",
)  # fmt: skip
DEPTH = Declaration(
    "--depth",
    metavar="N",
    group=INPUT,
    only_with=(when.RUNS,),
    min=1,
    help="Documents of a ranking that count.",
)
LIKE = Declaration(
    "--like", metavar="PROGRAM", group=INPUT, only_with=(when.RUNS,), complete=completing.complete_conventions,
    help="Score as this program does: trec_eval-10, trec_eval-9, ir_measures, ranx, gdeval, ndeval, sample_eval, "
    "NTCIREVAL, cwl_eval; or undefined. Default: as pytrec_eval and ir_measures.",
)  # fmt: skip
COMPLETE = Declaration(
    "--complete", "-c", group=INPUT, only_with=(when.RUNS,),
    help="Average over all judged topics; those that a run lacks count 0 (trec_eval -c).",
)  # fmt: skip
JUDGED_ONLY = Declaration(
    "--judged-only", "-J", group=INPUT, only_with=(when.RUNS,),
    help="Remove documents without a judgment from rankings (trec_eval -J).",
)  # fmt: skip
SUBTOPICS = Declaration(
    "--subtopics", metavar="", group=INPUT, only_with=(when.RUNS,),
    help="The second column of the qrels is a subtopic (diversity measures).",
)  # fmt: skip
INTENTS = Declaration(
    "--intents", metavar="FILE", group=INPUT, only_with=(when.RUNS,), exists=True, dir_okay=False,
    help="Probability of each subtopic: topic, subtopic, p.",
)  # fmt: skip
MAX_MEMORY = Declaration(
    "--max-memory", metavar="SIZE", group=INPUT,
    help="Memory that a table may take, such as 16GB; larger ones are streamed, and compressed files may inflate to "
    "this. Default: a quarter.",
)  # fmt: skip

# Question
GENERALIZE = Declaration(
    "--generalize", metavar="TO", common=True, group=QUESTION, only_with=(when.IN_MEMORY, when.NO_FACTORS),
    help="What the result applies to: topic (new topics like these), these (exactly these topics), topic,shard or "
    "topic,instance.",
)  # fmt: skip
BASELINE = Declaration(
    "--baseline",
    metavar="NAME",
    common=True,
    group=QUESTION,
    help="Compare all others with this system only.",
)
ONLY = Declaration(
    "--only", metavar="NAME", group=QUESTION, only_with=(when.IN_MEMORY,), help="Compare only these systems."
)
REPEATS = Declaration(
    "--repeats", metavar="KIND", common=True, group=QUESTION,
    only_with=(when.REPEATS, when.IN_MEMORY, when.NO_FACTORS),
    help="Repeated scores are seeds (one seed affects all items) or samples (independent for each item). Default: "
    "seeds, valid for both.",
)  # fmt: skip
RANGE = Declaration(
    "--range", metavar="LOW,HIGH", group=INPUT, only_with=(when.IN_MEMORY,), check=_parse_range,
    help="Lowest and highest possible score, for intervals. Default: 0,1 if all scores lie within, else the scale that "
    "repeated scores lie on, such as 1,5.",
)  # fmt: skip
LOWER_IS_BETTER = Declaration(
    "--lower-is-better", group=INPUT, only_with=(when.ONE_DIRECTION,),
    help="Lower scores are better. Default: by the name of the measure, such as wer, latency_ms or cost.",
)  # fmt: skip
HIGHER_IS_BETTER = Declaration(
    "--higher-is-better", group=INPUT, only_with=(when.ONE_DIRECTION,),
    help="Higher scores are better. Default, unless the name of the measure says otherwise.",
)  # fmt: skip
TRANSFORM = Declaration(
    "--transform", metavar="NAME", group=INPUT, only_with=(when.IN_MEMORY,), check=_parse_transform,
    help="Transform the scores first: log, for costs and latencies that few items dominate.",
)  # fmt: skip
EXCLUDE = Declaration(
    "--exclude", metavar="NAME", group=INPUT, only_with=(when.IN_MEMORY,),
    help="Leave out this system, such as a broken run that widens all intervals; of a table also an item.",
)  # fmt: skip
NO_RARE_FAILURES = Declaration(
    "--no-rare-failures", group=QUESTION,
    help="Assume no failures rarer or larger than those seen: more power on scores that vary little.",
)  # fmt: skip
MARGIN = Declaration(
    "--margin", metavar="X", common=True, group=QUESTION, only_with=(when.IN_MEMORY,), min=0.0,
    help="Largest difference that does not matter: tests equivalence, or with --side lower that none is worse.",
)  # fmt: skip
SIDE = Declaration(
    "--side", metavar="SIDE", group=QUESTION, only_with=(when.MARGIN, when.IN_MEMORY),
    help="What the margin is for: both (equivalent), lower (not worse) or superior (better by it).",
)  # fmt: skip
CONTRAST = Declaration(
    "--contrast", metavar="TEXT", group=QUESTION, only_with=(when.IN_MEMORY, when.NO_BOOTSTRAP, when.NO_FACTORS),
    help="Compare two groups of systems, as in 'dense: a b c vs bm25 tfidf'. Intervals of several hold at once.",
)  # fmt: skip
PRE = Declaration(
    "--pre", metavar="COLUMN", group=QUESTION, only_with=(when.SCORES, when.IN_MEMORY, when.NO_FACTORS),
    help="Unpaired scores (A/B test): column measured before the experiment, whose part in the scores is taken out "
    "(CUPED).",
)  # fmt: skip
HUMAN = Declaration(
    "--human", metavar="FILE", group=QUESTION, exists=True, dir_okay=False,
    only_with=(when.SCORES, when.IN_MEMORY, when.NO_BOOTSTRAP, when.NO_FACTORS, when.WHOLE_ITEMS),
    help="Scores by people for some items; the input holds a judge's scores for all, and its bias is corrected.",
)  # fmt: skip
ALPHA = Declaration(
    "--alpha", metavar="P", group=QUESTION, min=0.0, max=1.0, check=_parse_level, help="Significance level."
)

# Method
METHOD_ = Declaration(
    "--method", metavar="NAME", common=True, group=METHOD, complete=completing.complete_methods,
    only_with=(when.unless_table("methods", "seeds", "spread", "shares", "settings"),),
    help="Method, such as moderated, 't holm' or 'MD6 hsd topic', or a correction for --model: hsd, bh, holm … "
    "Default: recommended for the data.",
)  # fmt: skip
MODEL = Declaration(
    "--model", metavar="NAME", group=METHOD, complete=completing.complete_models,
    only_with=(when.IN_MEMORY, when.NO_FACTORS, when.unless_table("models")),
    help="ANOVA model: MD1 to MD6, or a formula such as 'topic + system'.",
)  # fmt: skip
RANDOM = Declaration(
    "--random", metavar="FACTOR", group=METHOD, only_with=(when.SCORES, when.IN_MEMORY, when.WHOLE_ITEMS),
    help="Mixed model with this random factor, a column such as question, judge or question:judge.",
)  # fmt: skip
FIT = Declaration(
    "--fit", metavar="FIT", group=METHOD, only_with=(when.IN_MEMORY, when.NO_FACTORS, when.unless_table("methods")),
    help="anova, or bootstrap: p-values from the residuals of the model.",
)  # fmt: skip
RESAMPLES = Declaration(
    "--resamples", metavar="N", group=METHOD, min=1,
    only_with=(when.IN_MEMORY, when.NO_FACTORS, when.unless_table("methods")),
    help="Bootstrap samples. Default: as many as the method needs.",
)  # fmt: skip
NULL = Declaration(
    "--null", metavar="WHICH", group=METHOD, only_with=(when.BOOTSTRAP, when.unless_table("methods")),
    help="Bootstrap distribution: difference, or marginal (one system's effect, as published).",
)  # fmt: skip
TAILS = Declaration(
    "--tails", metavar="N", group=METHOD, only_with=(when.BOOTSTRAP, when.unless_table("methods")), min=1, max=2,
    help="Bootstrap: two-sided (2) or one-sided (1).",
)  # fmt: skip
DENSITY = Declaration(
    "--density", metavar="HOW", group=METHOD, only_with=(when.BOOTSTRAP, when.unless_table("methods")),
    help="Bootstrap: exact, or kde (smoothed by a kernel).",
)  # fmt: skip
DESIGN = Declaration(
    "--design", metavar="NAME", group=METHOD,
    only_with=(when.REPEATS, when.IN_MEMORY, when.unless_table("seeds", "spread", "shares", "settings")),
    help="Repeats of two systems: unified, nested, crossed or paper.",
)  # fmt: skip
VERDICT = Declaration(
    "--verdict", metavar="BY", group=METHOD, only_with=(when.MARGIN, when.IN_MEMORY),
    help="How the margin is tested: tost (two one-sided tests), interval, or hpd (posterior).",
)  # fmt: skip
SEED = Declaration("--seed", metavar="N", group=METHOD, min=0, help="Seed of all randomness.")

# Shards
SHARDS_ = Declaration(
    "--shards", metavar="N", common=True, group=SHARDS, only_with=(when.RANDOM_SHARDS, when.COUNTED_SHARDS), min=1,
    help="Split the documents of the runs into this many shards.",
)  # fmt: skip
SPLITS = Declaration(
    "--splits", metavar="N", group=SHARDS, only_with=(when.RANDOM_SHARDS, when.SHARDS), min=1,
    help="Number of independent splits.",
)  # fmt: skip
KIND = Declaration(
    "--kind", metavar="KIND", group=SHARDS, only_with=(when.SHARDS,),
    help="How documents are split: even, die, covered, uneven, attribute or topical.",
)  # fmt: skip
BY = Declaration(
    "--by", metavar="REGEX", group=SHARDS, only_with=(when.BY_NAME,), check=_parse_expression,
    help="Part of a document's name that is its shard (--kind attribute).",
)  # fmt: skip
TEXTS = Declaration(
    "--texts", metavar="FILE", group=SHARDS, only_with=(when.BY_TEXT,), exists=True, dir_okay=False,
    help="Texts of the documents: JSON lines, TREC's <DOC>, or name and text (--kind topical).",
)  # fmt: skip
PROPORTIONS = Declaration(
    "--proportions", metavar="A,B,…", group=SHARDS, only_with=(when.BY_SIZE,),
    help="Relative sizes of the shards, such as 3,2,1 (--kind uneven).",
)  # fmt: skip
CORPUS = Declaration(
    "--corpus", metavar="N|FILE", group=SHARDS, only_with=(when.RANDOM_SHARDS, when.SHARDS, when.SAMPLED_SHARDS),
    help="Size of the corpus, or a file with its document names.",
)  # fmt: skip

# Output
FORMAT = Declaration(
    "--format", "-f", metavar="FORMAT", group=OUTPUT,
    help="text, json, csv, latex, markdown or html. Default: by the extension of --out, else text.",
)  # fmt: skip
OUT = Declaration(
    "--out", "-o", metavar="PATH", common=True, group=OUTPUT,
    help="Write the result to this file: .txt, .json, .csv, .tex, .md or .html.",
)  # fmt: skip
TABLE = Declaration("--table", metavar="NAME", group=OUTPUT, help="Table to show.")
ITEMS = Declaration(
    "--items", metavar="A,B", group=OUTPUT, only_with=(when.IN_MEMORY, when.NO_FACTORS, when.NO_TABLE),
    help="Show the items behind the difference of two systems: wins, losses, outliers; all for the matrix of items and "
    "systems.",
)  # fmt: skip
TRIM = Declaration(
    "--trim", metavar="HOW", group=OUTPUT, only_with=(when.BOOTSTRAP, when.TEXT, when.NO_FACTORS),
    help="Show bootstrap intervals of the effects (V17): drop a share, percent or count of the estimates.",
)  # fmt: skip
REPORT = Declaration(
    "--report", metavar="FILE", common=True, group=OUTPUT, only_with=(when.IN_MEMORY, when.NO_FACTORS),
    check=refuse_unwritable_file, help="Also write a full report to this HTML file.",
)  # fmt: skip
CALIBRATION = Declaration(
    "--calibration", metavar="N", group=OUTPUT, only_with=(when.REPORT, when.NO_FACTORS), min=0, max=MOST_TABLES,
    help="Simulated tables for the report's check of its methods; 0 for none. Default: recorded rates, if they apply.",
)  # fmt: skip
CHART = Declaration(
    "--chart", metavar="FILE", group=OUTPUT, check=_parse_chart, only_with=(when.IN_MEMORY,),
    help="Draw the result to this file: .html, .png, .svg, .pdf or .json.",
)  # fmt: skip
SAVE_MOMENTS = Declaration(
    "--save-moments", metavar="FILE", group=OUTPUT, only_with=(when.SCORES,), check=refuse_unwritable_file,
    help="Keep counts, means and cross-products in this file (.moments), to be added to later input.",
)  # fmt: skip
FRAGMENT = Declaration(
    "--fragment",
    metavar="",
    group=OUTPUT,
    only_with=(when.PAGE,),
    help="HTML element for a page of yours, not a whole page.",
)
TABLE_COLUMNS = Declaration(
    "--table-columns", metavar="N", group=OUTPUT, min=1, max=2,
    help="Width of the LaTeX table: 1 column or 2 (table*). Default: as it fits.",
)  # fmt: skip
QUIET = Declaration("--quiet", "-q", metavar="", group=OUTPUT, help="No progress bars, no notes.")
JOBS = Declaration(
    "--jobs", metavar="N", group=RUNNING, min=1, help="Number of threads. Default: all processors."
)
CLUSTER = Declaration(
    "--cluster", metavar="ADDRESS", group=RUNNING, only_with=(when.IN_MEMORY, when.NO_FACTORS),
    help="Run on a dask.distributed cluster: address of its scheduler, or local.",
)  # fmt: skip

# Gate and plans
NEW = Declaration(
    "--new", metavar="NAME", common=True, group=QUESTION,
    help="The new system, in a file of several. Of several new ones, all must pass.",
)  # fmt: skip
SEQUENTIAL = Declaration(
    "--sequential", metavar="FILE", group=QUESTION, dir_okay=False,
    help="Test after every batch of new items at one error rate; FILE keeps the state between the interim looks.",
)  # fmt: skip
POWER = Declaration(
    "--power",
    metavar="P",
    common=True,
    group=PLAN,
    only_with=(when.WITHOUT_WIDTH,),
    min=0.0,
    max=1.0,
    check=_parse_power,
    help="Power to reach.",
)
MIN_DIFF = Declaration(
    "--min-diff", metavar="X", common=True, group=PLAN, only_with=(when.WITHOUT_WIDTH,),
    help="Difference to detect.",
)  # fmt: skip
SYSTEMS = Declaration(
    "--systems",
    metavar="N",
    common=True,
    group=PLAN,
    only_with=(when.WITHOUT_WIDTH,),
    help="Number of systems.",
)
TOPICS = Declaration("--topics", metavar="N", common=True, group=PLAN, help="Number of topics.")
WIDTH = Declaration(
    "--width", metavar="X", common=True, group=PLAN, only_with=(when.WITHOUT_TOPICS,),
    help="Width of the confidence interval of a difference.",
)  # fmt: skip
TEST = Declaration(
    "--test", metavar="NAME", group=PLAN, only_with=(when.WITHOUT_WIDTH,),
    help="Planned test: moderated (all pairs corrected), paired-t, blocks (topics as blocks), exact or sakai "
    "(one-way ANOVA). Default: moderated for scores, exact for a stated variance.",
)  # fmt: skip
VARIANCE = Declaration(
    "--variance",
    metavar="[NAME=]X",
    common=True,
    group=PLAN,
    help="Variance of a system's scores, perhaps of a measure.",
)
VARIANCE_METHOD = Declaration(
    "--variance-method", metavar="NAME", group=PLAN, only_with=(when.ESTIMATED,),
    help="Variance estimate: residual, two-way, one-way or percentile95. Default: as the test needs it.",
)  # fmt: skip
ALSO = Declaration(
    "--also", metavar="SCORES|QRELS,RUNS", group=INPUT,
    help="Another collection whose variance is pooled with the first.",
)  # fmt: skip
POOL = Declaration(
    "--pool",
    metavar="DEPTH",
    common=True,
    group=PLAN,
    only_with=(when.RUNS,),
    min=1,
    help="Pool depth to try.",
)
JUDGMENTS = Declaration(
    "--judgments", metavar="N", common=True, group=PLAN, min=1, help="Judgments that can be paid for."
)
TOPIC_COST = Declaration(
    "--topic-cost",
    metavar="X",
    group=PLAN,
    min=0,
    help="Cost of a topic besides its judgments or answers.",
)
ANSWER_COST = Declaration(
    "--answer-cost",
    metavar="X",
    group=PLAN,
    min=0,
    help="Cost of one answer of one system to one item.",
)
DIFFERENCE = Declaration(
    "--difference", metavar="X", group=PLAN, help="True difference to allow for, within the margin."
)

# Simulation
SCENARIO = Declaration(
    "--scenario", metavar="NAME", group=SIMULATION,
    help="Simulated data: normal, margins, vine, tilt, permute, flip (false alarms) or resample (coverage). Default: "
    "those that suit the scores.",
)  # fmt: skip
REPETITIONS = Declaration(
    "--repetitions",
    metavar="N",
    group=SIMULATION,
    min=5,
    max=MOST_TABLES,
    help="Simulated tables, exactly. Default: until the result is clear.",
)
BUDGET = Declaration(
    "--budget",
    metavar="N",
    group=SIMULATION,
    min=10,
    max=MOST_TABLES,
    help="Simulated tables of a scenario at most. Default: 2000.",
)
HALVES = Declaration(
    "--halves", metavar="N", group=SIMULATION, min=0,
    help="Also split the topics in halves this many times, and check each half against the other.",
)  # fmt: skip
RELEVANT = Declaration(
    "--relevant", metavar="X", group=SIMULATION, min=1, help="Mean number of relevant documents of a topic."
)
FILL_SHARDS = Declaration(
    "--fill-shards", metavar="N", group=SHARDS, min=2, help="Numbers of shards of Tables 7 and 8."
)
POOLS = Declaration(
    "--pools", metavar="N", group=SIMULATION, min=2, help="Pools of repeats of each system and size."
)
RELATED = Declaration(
    "--related", metavar="FILE", group=INPUT, only_with=(when.RUNS,), exists=True, dir_okay=False,
    help="Related runs for Table 6: a CSV file with the columns run and team.",
)  # fmt: skip

# Repeat and serve
INPUTS = Declaration(
    "--inputs", metavar="FOLDER", common=True, group=INPUT, help="Folder in which the inputs are."
)
PORT = Declaration(
    "--port", metavar="N", common=True, group=SERVER, min=0, max=65535, help="Port; 0 for any free one."
)
HOST = Declaration(
    "--host",
    metavar="ADDRESS",
    group=SERVER,
    help="Address to listen on; one that others can reach needs --token.",
)
TOKEN = Declaration(
    "--token", metavar="SECRET", group=SERVER, envvar="SHARDWISE_TOKEN",
    help="Secret in the address. Default: a new one each time.",
)  # fmt: skip
FOLDER = Declaration(
    "--folder", metavar="FOLDER", common=True, group=SERVER, check=refuse_file,
    help="Where analyses are kept. Default: ~/.local/share/shardwise.",
)  # fmt: skip
OPEN = Declaration("--open", metavar="", common=True, group=SERVER, help="Open it in the browser.")
WORKERS = Declaration(
    "--workers", metavar="N", group=SERVER, min=1, help="Analyses at a time. Default: one per processor."
)
LIMIT = Declaration(
    "--limit", metavar="MB", group=SERVER, min=1, help="Megabytes that the files of an analysis may have."
)
MEMORY = Declaration(
    "--memory", metavar="MB", group=SERVER, min=256,
    help="Megabytes that data may take in a worker. Default: its share of three quarters of the memory.",
)  # fmt: skip
