"""Options that several commands share, as annotations: nothing here loads what does the work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from shardwise.cli import completing
from shardwise.core import arguments
from shardwise.core.errors import InputError, Option


class Format(StrEnum):
    """How a result is written."""

    text = "text"
    json = "json"
    csv = "csv"
    latex = "latex"
    markdown = "markdown"


ENDINGS = {
    ".txt": Format.text,
    ".json": Format.json,
    ".csv": Format.csv,
    ".tex": Format.latex,
    ".latex": Format.latex,
    ".md": Format.markdown,
    ".markdown": Format.markdown,
}
"""Formats by the ending of the file that they are written to."""


Kind_ = TypeVar("Kind_", bound=StrEnum)


def written(format: Kind_ | None, out: Path | None, endings: Mapping[str, Kind_], usual: Kind_) -> Kind_:
    """Return the format asked for, or else the one that the ending of the file names, or else the usual one.

    >>> written(None, Path("pairs.tex"), ENDINGS, Format.text).value
    'latex'
    """
    named = endings.get(out.suffix.lower()) if out is not None else None
    if format is not None:
        if named not in (None, format):
            raise InputError(
                (Option("format", format.value), f" stands against the ending {out.suffix if out else ''}"),
                where=str(out),
                remedy="leave out one of them",
            )
        return format
    if out is not None and out.suffix and named is None:
        raise InputError(
            f"the ending {out.suffix} names no format",
            where=str(out),
            remedy=(f"use {', '.join(endings)}, or say ", Option("format")),
        )
    return named or usual


def several(*values: Any) -> Any:
    """Return a field of options that holds a list, with these values where none are given."""
    return field(default_factory=lambda: list(values))


def file(value: Path | None) -> Path | None:
    """Refuse before the long work what could not be written after it."""
    if value is not None and not value.parent.is_dir():
        raise InputError("no such folder", where=str(value.parent), remedy="make it, or write elsewhere")
    if value is not None and value.is_dir():
        raise InputError("is a folder, not a file", where=str(value), remedy="name a file in it")
    return value


def file_or_store(value: Path | None) -> Path | None:
    """The same, where a Zarr store, which is a folder, may be written, too."""
    return value if value is not None and value.suffix.lower() == ".zarr" and value.is_dir() else file(value)


def folder(value: Path | None) -> Path | None:
    """Refuse a file where a folder is asked for."""
    if value is not None and value.exists() and not value.is_dir():
        raise InputError("is a file, not a folder", where=str(value), remedy="name a folder")
    return value


def level(value: float) -> float:
    """Refuse a level at which nothing or everything would differ."""
    return arguments.level(value)


def expression(value: str | None) -> str | None:
    """Refuse what is no regular expression."""
    try:
        re.compile(value or "")
    except re.error as error:
        raise InputError(
            f"--by '{value}' is no regular expression ({error})", remedy="write for instance '^[A-Z]+'"
        ) from None
    return value


def _chart(value: Path | None) -> Path | None:
    if value is not None:
        from shardwise.plot.saving import ending_of  # help needs no charts

        ending_of(value)
    return file(value)


Inputs = Annotated[
    list[Path],
    typer.Argument(
        help="A qrels file followed by run files, folders or patterns. Or scores: a table (CSV, TSV, JSONL, Parquet, "
        "xlsx), lm-eval's samples_*.jsonl, inspect's .eval or .json logs; several files are put together.",
        metavar="QRELS RUNS...|SCORES...",
    ),
]
Measures = Annotated[
    list[str],
    typer.Option(
        "--measure",
        "-m",
        help="A measure, such as AP, P@10 or nDCG@20; repeatable. Without: AP for runs.",
        autocompletion=completing.measures,
    ),
]
Measure = Annotated[
    list[str],
    typer.Option(
        "--measure", "-m", help="The measure, one. Without: AP for runs.", autocompletion=completing.measures
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="A procedure such as 'moderated' or 't holm'. Without: moderated.",
        autocompletion=completing.methods,
    ),
]
Fit = Annotated[str, typer.Option(help="anova, or bootstrap: p-values from the model's residuals.")]
Resamples = Annotated[
    int | None,
    typer.Option(help="Draw so many bootstrap resamples; without, as from infinitely many.", min=1),
]
Null = Annotated[
    str | None,
    typer.Option(
        help="Bootstrap: the law of a difference, or marginal, that of one system's effect (the papers')."
    ),
]
Tails = Annotated[int | None, typer.Option(help="Bootstrap: both tails (2), or one (1).", min=1, max=2)]
Density = Annotated[str | None, typer.Option(help="Bootstrap: exact, or kde, smoothed by a kernel.")]
Proportions = Annotated[
    str | None, typer.Option(help="Relative sizes of the shards, such as 3,2,1 (kind uneven).")
]
Shards = Annotated[int, typer.Option(help="Number of shards; 1 scores the whole collection.", min=1)]
Splits = Annotated[int, typer.Option(help="Number of independent splits.", min=1)]
Kind = Annotated[
    str,
    typer.Option(help="How documents fall into shards: even, die, covered, uneven, attribute or topical."),
]
By = Annotated[
    str | None,
    typer.Option(
        help="Expression whose match in a document's name is its shard (kind attribute).", callback=expression
    ),
]
Texts = Annotated[
    Path | None,
    typer.Option(
        help="File of the documents' texts: JSON lines, TREC's <DOC>, or name and text (kind topical).",
        exists=True,
        dir_okay=False,
    ),
]
Corpus = Annotated[
    str | None, typer.Option(help="Size of the whole corpus, or a file with its document names.")
]
Generalize = Annotated[
    str, typer.Option(help="What the claim extends to: nothing (''), topic, or topic,shard.")
]
Baselines = Annotated[
    list[str], typer.Option("--baseline", help="A system with which all others are compared; repeatable.")
]
Alpha = Annotated[float, typer.Option(help="Level of significance.", min=0.0, max=1.0, callback=level)]
Fill = Annotated[
    str,
    typer.Option(
        help="Undefined cells (no relevant document there): zero, one, lq, mean, drop or leave; missing scores are"
        " left out of the fit. A number fills both."
    ),
]
Repeats = Annotated[
    str | None,
    typer.Option(
        help="What several scores of a system on a topic are: seeds (one moves all topics) or samples (drawn anew for "
        "each topic). Without: seeds, which is right for both."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.", min=0)]
Missing = Annotated[
    str,
    typer.Option(
        help="Topics that a run lacks: refuse (without this option), zero or drop; scores that a table lacks: leave "
        "(without), refuse or zero."
    ),
]
Columns = Annotated[
    list[str],
    typer.Option(
        help="Which column of a table is what, where its header does not say it: item=…,system=…,instance=…,score=…,"
        "cluster=…,task=…; repeatable."
    ),
]
System = Annotated[
    list[str],
    typer.Option(help="What to call the system of a file that holds one, in the order of files; repeatable."),
]
Names = Annotated[str, typer.Option(help="Systems are called by: auto, tag or file.")]
Depth = Annotated[int | None, typer.Option(help="Cut every ranking at this depth.", min=1)]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; all processors by default.", min=1)]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Work on a cluster of dask.distributed: the address of its scheduler, or local for processes here."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Format_ = Annotated[
    Format | None,
    typer.Option("--format", "-f", help="How the result is written; without: text, or as --out ends."),
]
Shown = Annotated[Format, typer.Option("--format", "-f", help="How the result is written.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", help="Write to this file (txt, json, csv, tex, md), in that format.", callback=file
    ),
]
Folder = Annotated[Path, typer.Option("--out", "-o", help="Folder for the files it makes.", callback=folder)]
Chart = Annotated[
    Path | None, typer.Option(help="Draw to this file (html, png, svg, pdf, json).", callback=_chart)
]
Report = Annotated[
    Path | None, typer.Option(help="Write a report on both claims to this HTML file.", callback=file)
]
Calibration = Annotated[
    int | None,
    typer.Option(
        help="Tables that a report simulates at most to see whether its methods can be trusted; 0 for none.",
        min=0,
    ),
]
Subtopics = Annotated[
    bool,
    typer.Option("--subtopics", help="The second column of the qrels is a subtopic (diversity measures)."),
]
Intents = Annotated[
    Path | None, typer.Option(help="File with the probability of each subtopic: topic subtopic p.")
]


@dataclass(frozen=True, kw_only=True)
class Written:
    """Options of a command whose result is one table, on the screen or in a file."""

    quiet: Quiet = False
    format: Format_ = None
    out: Out = None

    @property
    def shown(self) -> Format:
        """The format of the result, by ``--format`` or by the ending of ``--out``."""
        return written(self.format, self.out, ENDINGS, Format.text)
