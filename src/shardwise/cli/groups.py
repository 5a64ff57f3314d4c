"""Groups of options that commands share by inheritance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from shardwise.cli import options as opt
from shardwise.cli.options import Format, format_of, make_list_field


@dataclass(frozen=True, kw_only=True)
class Running:
    """Options of every command: how it works, and whether it speaks meanwhile."""

    quiet: Annotated[bool, opt.QUIET] = False


@dataclass(frozen=True, kw_only=True)
class Threads(Running):
    """Options of commands that work in threads."""

    jobs: Annotated[int | None, opt.JOBS] = None


@dataclass(frozen=True, kw_only=True)
class Written(Running):
    """Options of a command whose result is one table, on the screen or in a file."""

    format: Annotated[Format | None, opt.FORMAT] = None
    out: Annotated[Path | None, opt.OUT] = None

    def __post_init__(self) -> None:
        """Refuse a file that could not be written, and a format that conflicts with it."""
        opt.refuse_unwritable_file(self.out)
        format_of(self.format, self.out)

    @property
    def chosen_format(self) -> Format:
        """The format of the result, by ``--format`` or by the extension of ``--out``."""
        return format_of(self.format, self.out)


@dataclass(frozen=True, kw_only=True)
class Printed(Running):
    """Options of a command that prints a table; its files go to a folder of their own."""

    format: Annotated[
        Format, opt.FORMAT, "Format of what is printed: text, json, csv, latex, markdown or html."
    ] = Format.text

    @property
    def chosen_format(self) -> Format:
        """The format of the table."""
        return self.format


@dataclass(frozen=True, kw_only=True)
class Folder:
    """Options of a command that writes files into a folder."""

    out: Annotated[Path, opt.OUT, "Folder for the files; created if it does not exist."]

    def __post_init__(self) -> None:
        """Refuse a file where the folder should be."""
        opt.refuse_file(self.out)


@dataclass(frozen=True, kw_only=True)
class TableGroup:
    """Options of commands that read tables of scores or runs."""

    inputs: opt.Inputs
    measure: Annotated[list[str], opt.MEASURE] = make_list_field()
    columns: Annotated[list[str], opt.COLUMNS] = make_list_field()
    system: Annotated[list[str], opt.SYSTEM] = make_list_field()
    task: Annotated[list[str], opt.TASK] = make_list_field()
    pair_by: Annotated[str, opt.PAIR_BY] = "item"
    decimal: Annotated[str, opt.DECIMAL] = ""
    sheet: Annotated[str, opt.SHEET] = ""
    missing: Annotated[str, opt.MISSING] = ""
    range: Annotated[str, opt.RANGE] = ""
    lower_is_better: Annotated[bool, opt.LOWER_IS_BETTER] = False
    higher_is_better: Annotated[bool, opt.HIGHER_IS_BETTER] = False
    max_memory: Annotated[str, opt.MAX_MEMORY] = ""


@dataclass(frozen=True, kw_only=True)
class Conventional:
    """Options that choose between what evaluation programs do with the same runs and judgments."""

    like: Annotated[str, opt.LIKE] = "default"
    complete: Annotated[bool, opt.COMPLETE] = False
    judged_only: Annotated[bool, opt.JUDGED_ONLY] = False


@dataclass(frozen=True, kw_only=True)
class Rankings(Conventional):
    """Options that say how runs are read."""

    names: Annotated[str, opt.NAMES] = "auto"
    depth: Annotated[int | None, opt.DEPTH] = None
    subtopics: Annotated[bool, opt.SUBTOPICS] = False
    intents: Annotated[Path | None, opt.INTENTS] = None


@dataclass(frozen=True, kw_only=True)
class Sharding:
    """Options that say how the documents of runs are split into shards."""

    shards: Annotated[int, opt.SHARDS_] = 1
    splits: Annotated[int, opt.SPLITS] = 1
    kind: Annotated[str, opt.KIND] = "even"
    by: Annotated[str | None, opt.BY] = None
    texts: Annotated[Path | None, opt.TEXTS] = None
    proportions: Annotated[str | None, opt.PROPORTIONS] = None
    corpus: Annotated[str | None, opt.CORPUS] = None
    seed: Annotated[int, opt.SEED] = 0


@dataclass(frozen=True, kw_only=True)
class Input(TableGroup, Rankings):
    """Options that say what the input is."""

    exclude: Annotated[list[str], opt.EXCLUDE] = make_list_field()
    transform: Annotated[str, opt.TRANSFORM] = ""
    instances: Annotated[list[str], opt.INSTANCES] = make_list_field()
    deterministic: Annotated[list[str], opt.DETERMINISTIC] = make_list_field()
    fill: Annotated[str, opt.FILL] = "zero"


@dataclass(frozen=True, kw_only=True)
class Question:
    """Options that say what is asked."""

    generalize: Annotated[str, opt.GENERALIZE] = ""
    baseline: Annotated[list[str], opt.BASELINE] = make_list_field()
    only: Annotated[list[str], opt.ONLY] = make_list_field()
    repeats: Annotated[str | None, opt.REPEATS] = None
    margin: Annotated[float | None, opt.MARGIN] = None
    side: Annotated[str, opt.SIDE] = "both"
    pre: Annotated[str, opt.PRE] = ""
    human: Annotated[Path | None, opt.HUMAN] = None
    alpha: Annotated[float, opt.ALPHA] = 0.05


@dataclass(frozen=True, kw_only=True)
class MethodGroup:
    """Options that say how it is computed."""

    method: Annotated[str, opt.METHOD_] = ""
    model: Annotated[str, opt.MODEL] = ""
    random: Annotated[list[str], opt.RANDOM] = make_list_field()
    fit: Annotated[str, opt.FIT] = "anova"
    resamples: Annotated[int | None, opt.RESAMPLES] = None
    null: Annotated[str | None, opt.NULL] = None
    tails: Annotated[int | None, opt.TAILS] = None
    density: Annotated[str | None, opt.DENSITY] = None
    design: Annotated[str, opt.DESIGN] = "unified"
    verdict: Annotated[str, opt.VERDICT] = "tost"


@dataclass(frozen=True, kw_only=True)
class Comparing(Input, Question, MethodGroup, Sharding, Threads):
    """Options of every command that compares systems: the same input, question and method in all of them.

    A command lists in ``ignored`` those that it cannot honour; they are refused.
    """

    ignored: ClassVar[tuple[str, ...]] = ()

    cluster: Annotated[str | None, opt.CLUSTER] = None


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Options of commands whose result can be drawn."""

    chart: Annotated[Path | None, opt.CHART] = None
