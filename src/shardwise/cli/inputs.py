"""Options that several commands share, and the input they describe."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
import xarray as xr

from shardwise.cli.output import Format, progress
from shardwise.core.errors import InputError
from shardwise.core.model import NAMED, Model
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_scores
from shardwise.plot.saving import ending_of
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import split
from shardwise.sharding.splits import Splits


def file(value: Path | None) -> Path | None:
    """Refuse before the long work what could not be written after it."""
    if value is not None and not value.parent.is_dir():
        raise InputError("no such folder", where=str(value.parent), remedy="make it, or write elsewhere")
    if value is not None and value.is_dir():
        raise InputError("is a folder, not a file", where=str(value), remedy="name a file in it")
    return value


def folder(value: Path | None) -> Path | None:
    """Refuse a file where a folder is asked for."""
    if value is not None and value.exists() and not value.is_dir():
        raise InputError("is a file, not a folder", where=str(value), remedy="name a folder")
    return value


def level(value: float) -> float:
    """Refuse a level at which nothing or everything would differ."""
    if not 0.0 < value < 1.0:
        raise InputError(f"level {value:g} is not between 0 and 1", remedy="write 0.05 for 5 %")
    return value


def model(text: str) -> Model:
    """A model by name or formula."""
    if re.fullmatch(r"MD\d*", text, re.IGNORECASE) and text.upper() not in NAMED:
        raise InputError(f"no model is called '{text}'", remedy=f"choose one of {', '.join(NAMED)}")
    return Model.parse(text)


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
        ending_of(value)
    return file(value)


Measure = Annotated[str | None, typer.Option("--measure", "-m", help="The measure; AP for runs.")]
Fit = Annotated[str, typer.Option(help="anova, or bootstrap: p-values from the model's residuals.")]
Resamples = Annotated[
    int | None,
    typer.Option(help="Draw so many bootstrap resamples; without, as from infinitely many.", min=1),
]
Inputs = Annotated[
    list[Path],
    typer.Argument(
        help="A qrels file followed by run files, folders or patterns; or one file of scores.",
        metavar="QRELS RUNS...",
    ),
]
Measures = Annotated[
    list[str], typer.Option("--measure", "-m", help="A measure, such as AP, P@10 or nDCG@20; repeatable.")
]
Shards = Annotated[int, typer.Option(help="Number of shards; 1 scores the whole collection.", min=1)]
Splits_ = Annotated[int, typer.Option("--splits", help="Number of independent splits.", min=1)]
Kind = Annotated[str, typer.Option(help="How documents fall into shards: even, die, covered or attribute.")]
By = Annotated[
    str | None,
    typer.Option(
        help="Expression whose match in a document's name is its shard (kind attribute).", callback=expression
    ),
]
Corpus = Annotated[
    str | None, typer.Option(help="Size of the whole corpus, or a file with its document names.")
]
Generalize = Annotated[
    str, typer.Option(help="What the claim extends to: nothing (''), topic, or topic,shard.")
]
Alpha = Annotated[float, typer.Option(help="Level of significance.", min=0.0, max=1.0, callback=level)]
Fill = Annotated[str, typer.Option(help="Undefined cells: zero, one, lq, mean, drop, a number, or leave.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.", min=0)]
Missing = Annotated[
    str,
    typer.Option(
        help="Topics that a run lacks: refuse, zero or drop; scores that a table lacks: refuse, undefined or zero."
    ),
]
Names = Annotated[str, typer.Option(help="Systems are called by: auto, tag or file.")]
Depth = Annotated[int | None, typer.Option(help="Cut every ranking at this depth.", min=1)]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; all processors by default.", min=1)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Format_ = Annotated[Format, typer.Option("--format", "-f", help="How the result is written.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file.", callback=file)]
Folder = Annotated[Path, typer.Option("--out", "-o", help="Folder for the files it makes.", callback=folder)]
Chart = Annotated[
    Path | None, typer.Option(help="Draw to this file (html, png, svg, pdf, json).", callback=_chart)
]
Report = Annotated[
    Path | None, typer.Option(help="Write a report on both claims to this HTML file.", callback=file)
]
Subtopics = Annotated[
    bool,
    typer.Option("--subtopics", help="The second column of the qrels is a subtopic (diversity measures)."),
]
Intents = Annotated[
    Path | None, typer.Option(help="File with the probability of each subtopic: topic subtopic p.")
]


def load_runs(
    inputs: list[Path],
    *,
    missing: str,
    names: str,
    depth: int | None,
    jobs: int | None,
    quiet: bool,
    subtopics: bool = False,
    intents: Path | None = None,
) -> Collection:
    """Read the qrels file and the runs that follow it."""
    if len(inputs) < 2:
        raise InputError(
            "runs are missing",
            remedy="give a qrels file and then the runs: shardwise score qrels.txt runs/*.gz",
        )
    choices: dict[str, Any] = {"missing": missing, "names": names, "subtopics": subtopics}
    if intents is not None:
        choices["intents"] = str(intents)
    with progress("reading runs", quiet) as told:
        return read_collection(
            [str(path) for path in inputs[1:]],
            str(inputs[0]),
            depth=depth,
            jobs=jobs,
            progress=told,
            **choices,
        )


def make_splits(
    collection: Collection,
    *,
    shards: int,
    splits: int,
    kind: str,
    by: str | None,
    corpus: str | None,
    seed: int,
) -> Splits | None:
    """Split the documents as the options say; none for one shard."""
    if kind == "attribute":
        return split(collection, kind="attribute", by=by)
    if shards == 1:
        return None
    size = int(corpus) if corpus is not None and corpus.isdecimal() else corpus
    how: dict[str, Any] = {"kind": kind, "corpus": size, "unlisted": "add"}
    return split(collection, shards, n_splits=splits, seed=seed, **how)


def score_runs(
    collection: Collection, measures: list[str], splits: Splits | None, *, jobs: int | None, quiet: bool
) -> xr.Dataset:
    """Score all systems with a progress bar."""
    with progress("scoring", quiet) as told:
        return score(collection, measures, splits, jobs=jobs, progress=told)


def load_scores(path: Path, measure: str | None, missing: str) -> xr.DataArray:
    """Read one measure from a file of scores."""
    policy: Any = missing
    table = read_scores(path, missing=policy)
    if isinstance(table, xr.DataArray):
        return table
    known = [str(name) for name in table.data_vars]
    if measure is None or measure not in known:
        raise InputError(
            f"holds {len(known)} measures",
            where=str(path),
            remedy=f"choose one with --measure: {', '.join(known)}",
        )
    return table[measure]


def load_one(
    inputs: list[Path],
    measure: str | None,
    *,
    shards: int,
    splits: int,
    kind: str,
    by: str | None,
    corpus: str | None,
    seed: int,
    missing: str,
    names: str,
    depth: int | None,
    jobs: int | None,
    quiet: bool,
) -> tuple[xr.DataArray, tuple[str, ...]]:
    """One measure from a file of scores, or of runs on the splits asked for, and what was decided on the way."""
    if len(inputs) == 1:
        return load_scores(inputs[0], measure, missing), ()
    collection = load_runs(inputs, missing=missing, names=names, depth=depth, jobs=jobs, quiet=quiet)
    made = make_splits(collection, shards=shards, splits=splits, kind=kind, by=by, corpus=corpus, seed=seed)
    found = score_runs(collection, [measure or "AP"], made, jobs=jobs, quiet=quiet)
    notes = (*collection.notes, *(made.notes if made is not None else ()))
    return found[next(iter(found.data_vars))], notes


def filled(scores: xr.DataArray, fill: str) -> tuple[xr.DataArray, tuple[str, ...]]:
    """Scores with undefined cells filled as the option says, and a note on how many there were."""
    holes = int(scores.isnull().sum())
    if fill == "leave" or not holes:
        return scores, ()
    return fill_undefined(scores, fill_policy(fill)), (f"{holes} undefined cells: {fill}",)


def bootstrap_options(fit: str, resamples: int | None) -> bool:
    """Whether the fit is a bootstrap; refuse an unknown one, and resamples that nothing would draw."""
    if fit not in ("anova", "bootstrap"):
        raise InputError(f"no fit is called '{fit}'", remedy="choose anova or bootstrap")
    if fit == "anova" and resamples is not None:
        raise InputError(
            "an ANOVA draws no resamples", remedy="add --fit bootstrap, or leave out --resamples"
        )
    return fit == "bootstrap"


def dimensions(generalize: str) -> tuple[str, ...]:
    """Dimensions that a claim extends to, from an option such as ``topic,shard``."""
    return tuple(part.strip() for part in generalize.split(",") if part.strip())


def fill_policy(fill: str) -> str | float:
    """A policy for undefined cells, or the number to put in."""
    try:
        return float(fill)
    except ValueError:
        return fill
