"""What the options of a command say about its input: runs and judgments to be scored, or a table of scores."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args

import xarray as xr

from shardwise.cli.output import progress
from shardwise.cli.shared import current
from shardwise.core.arguments import chosen
from shardwise.core.claim import plural
from shardwise.core.errors import InputError, Option, unknown
from shardwise.core.model import NAMED, Model
from shardwise.core.scores import missing_cells, undefined_cells
from shardwise.io.collection import Collection
from shardwise.io.files import expand
from shardwise.io.reader import read_collection
from shardwise.io.scores import are_score_files, read_scores, score_files
from shardwise.methods.bootstrap.distributions import Null
from shardwise.methods.bootstrap.fit import Density
from shardwise.scoring.scoring import score
from shardwise.scoring.streamed import score_runs
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import split
from shardwise.sharding.splits import Splits

UNNAMED = "score"  # the measure of a table that names none
FITS = ("anova", "bootstrap")
FILLS = ("zero", "one", "lq", "mean", "drop", "leave")
OF_RUNS = (
    "shards",
    "splits",
    "kind",
    "by",
    "texts",
    "proportions",
    "corpus",
    "names",
    "depth",
    "subtopics",
    "intents",
)
"""Options that say something about runs, and nothing about a table of scores."""
OF_TABLES = ("columns", "system", "random")
"""Options that say something about tables of scores, and nothing about runs."""


@dataclass(frozen=True, slots=True)
class Read:
    """Scores of all measures asked for, what was decided on the way, and the files they come from."""

    scores: xr.Dataset
    notes: tuple[str, ...]
    files: tuple[Path, ...]
    collection: Collection | None = None  # the runs, where the input is runs

    def one(self) -> xr.DataArray:
        """Return the scores of the first measure."""
        return self.scores[next(iter(self.scores.data_vars))]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInputs:
    """The options that describe the input of a command; ``given`` are those that its caller named."""

    inputs: tuple[Path, ...]
    measure: tuple[str, ...] = ()
    shards: int = 1
    splits: int = 1
    kind: str = "even"
    by: str | None = None
    texts: Path | None = None
    proportions: str | None = None
    corpus: str | None = None
    seed: int = 0
    missing: str = ""  # refuse for runs, leave for tables
    columns: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    names: str = "auto"
    depth: int | None = None
    subtopics: bool = False
    intents: Path | None = None
    jobs: int | None = None
    quiet: bool = False
    tables: bool = True  # whether files may be tables of scores
    given: frozenset[str] = frozenset()

    @classmethod
    def of(cls, options: Any, *, inputs: list[Path] | None = None, tables: bool = True) -> RunInputs:
        """Take from the options of a command those that describe its input, and refuse what would do nothing.

        Parameters
        ----------
        options
            The options of a command.
        inputs
            The files, where the command has them under another name.
        tables
            Whether the command takes a table of scores for its input, and not runs alone.
        """
        call = current()
        named = {one.name: getattr(options, one.name) for one in fields(cls) if hasattr(options, one.name)}
        named["inputs"] = tuple(inputs if inputs is not None else options.inputs)
        given = call.given if call is not None else frozenset()
        if not isinstance(named.get("system"), list):  # of a command that means one of the systems by it
            named["system"], given = (), given - {"system"}
        named |= {name: tuple(named.get(name) or ()) for name in ("measure", *OF_TABLES)}
        found = cls(**named, tables=tables, given=given)
        found.check()
        return found

    @property
    def table(self) -> bool:
        """Whether the input is scores: one file, or several that end as tables and logs do."""
        return self.tables and (len(self.inputs) == 1 or are_score_files(self.inputs))

    @property
    def idle(self) -> tuple[str, ...]:
        """Options that do nothing with this input."""
        return idle(table=self.table, shards=self.shards, kind=self.kind)

    def check(self) -> None:
        """Refuse options that were named and do nothing with this input."""
        said = [name for name in self.idle if name in self.given]
        if not said:
            return
        words = [part for name in said for part in (", ", Option(name))][1:]
        does, them = ("do nothing", "them") if len(said) > 1 else ("does nothing", "it")
        if self.table:
            raise InputError(
                (*words, f" {does} with a table of scores"),
                where=str(self.inputs[0]),
                remedy=f"leave {them} out, or give a qrels file and runs",
            )
        if set(said) & set(OF_TABLES):
            raise InputError(
                (*words, f" {does} with runs"), remedy=f"leave {them} out, or give a table of scores"
            )
        if self.kind == "attribute":
            raise InputError(
                (*words, f" {does} with ", Option("kind", "attribute")),
                remedy="the names of documents decide",
            )
        if self.kind == "uneven":
            raise InputError(
                (*words, f" {does} with ", Option("kind", "uneven")), remedy="the proportions say how many"
            )
        if said == ["proportions"]:
            raise InputError((*words, f" {does} here"), remedy=("add ", Option("kind", "uneven")))
        if said == ["by"]:
            raise InputError((*words, f" {does} here"), remedy=("add ", Option("kind", "attribute")))
        if said == ["texts"]:
            raise InputError((*words, f" {does} here"), remedy=("add ", Option("kind", "topical")))
        if self.kind == "topical" and self.shards > 1:
            raise InputError((*words, f" {does} with ", Option("kind", "topical")), remedy="the texts decide")
        raise InputError((*words, f" {does} with one shard"), remedy=("add ", Option("n_shards", 5)))

    def one_measure(self) -> RunInputs:
        """Return the same, or a refusal where several measures were named and one is needed."""
        if len(self.measure) > 1:
            raise InputError(
                f"one measure here, not {len(self.measure)} ({', '.join(self.measure)})",
                remedy="run it once each",
                argument="measure",
                value=self.measure,
            )
        return self

    def read(self) -> Read:
        """Read the input, each file once; runs are split and scored as the options say."""
        if self.table:
            return self._scores()
        files = self.files()
        collection = self._collection(files)
        made = self.split(collection)
        with progress("scoring", self.quiet) as told:
            found = score(collection, list(self.measure or ("AP",)), made, jobs=self.jobs, progress=told)
        notes = (*collection.notes, *(made.notes if made is not None else ()))
        return Read(found, notes, files, collection)

    def files(self) -> tuple[Path, ...]:
        """Return the qrels file and the runs, folders and patterns expanded."""
        if len(self.inputs) < 2:
            raise InputError(
                "runs are missing",
                remedy="give a qrels file and then the runs: shardwise score qrels.txt runs/*.gz",
            )
        return (self.inputs[0], *expand(self.inputs[1:]))

    def collection(self) -> Collection:
        """Read the qrels file and the runs that follow it."""
        return self._collection(self.files())

    def _collection(self, files: tuple[Path, ...]) -> Collection:
        with progress("reading runs", self.quiet) as told:
            return read_collection(
                [str(path) for path in files[1:]], str(files[0]), progress=told, **self._reading()
            )

    def _reading(self) -> dict[str, Any]:
        return {
            "missing": self.missing or "refuse",
            "names": self.names,
            "depth": self.depth,
            "subtopics": self.subtopics,
            "jobs": self.jobs,
            **({"intents": str(self.intents)} if self.intents is not None else {}),
        }

    def streamed(self, executor: Executor | None, store: Path | None = None) -> Read:
        """Score run files a few at a time, here or where an executor works, into a store if there is one."""
        files = self.files()
        sharded = self.shards > 1 or self.kind in ("uneven", "attribute")
        told_of_splits: list[str] = []

        def splitting(collection: Collection) -> Splits:
            made = self.split(collection)
            assert made is not None, "asked for where there are shards"
            told_of_splits.extend(made.notes)
            return made

        with progress("scoring files", self.quiet) as told:
            found = score_runs(
                [str(path) for path in files[1:]],
                str(files[0]),
                list(self.measure or ("AP",)),
                splitting if sharded else None,
                executor=executor,
                out=store,
                progress=told,
                **self._reading(),
            )
        notes = filter(None, found.attrs["notes"].split("; "))
        return Read(found, (*notes, *told_of_splits), files)

    def split(self, collection: Collection) -> Splits | None:
        """Split the documents as the options say; none for one shard."""
        if self.kind == "attribute":
            return split(collection, kind="attribute", by=self.by)
        if self.shards == 1 and self.kind != "uneven":
            return None
        numeric = self.corpus is not None and self.corpus.isdecimal()
        how: dict[str, Any] = {
            "kind": self.kind,
            "corpus": int(self.corpus) if numeric and self.corpus is not None else self.corpus,
            "unlisted": "add",
        }
        if self.kind == "topical":
            how["texts"] = self.texts
        if self.kind == "uneven":
            how["proportions"] = _numbers(self.proportions)
        shards = None if self.kind == "uneven" else self.shards
        return split(collection, shards, n_splits=self.splits, seed=self.seed, **how)

    def _scores(self) -> Read:
        policy: Any = self.missing or "leave"
        alone = self.measure[0] if len(self.measure) == 1 else None
        files = score_files(self.inputs)
        found = read_scores(
            files,
            measure=alone,
            missing=policy,
            columns=roles_of_columns(self.columns),
            system=self.system,
            factors=self.random,
        )
        if isinstance(found, xr.DataArray):
            found = found.to_dataset(name=found.name or UNNAMED, promote_attrs=False)
        known = [str(name) for name in found.data_vars]
        absent = [name for name in self.measure if len(self.measure) > 1 and name not in known]
        if absent:
            raise InputError(
                f"has no measure {absent[0]!r}",
                where=str(self.inputs[0]),
                remedy=f"it has {', '.join(known)}",
            )
        notes = [str(found[known[0]].attrs["read_as"])] if "read_as" in found[known[0]].attrs else []
        primary = found.attrs.get("primary")
        if not self.measure and primary and len(known) > 1:
            notes.append(f"of {', '.join(known)} this is {primary}; --measure chooses another")
            known = [primary]
        return Read(found[list(self.measure[1:] and self.measure) or known], tuple(notes), tuple(files))


def roles_of_columns(given: Sequence[str]) -> dict[str, str] | None:
    """What an option such as ``item=question,system=model`` says, if anything.

    >>> roles_of_columns(["item=question,system=model", "score=points"])
    {'item': 'question', 'system': 'model', 'score': 'points'}
    """
    found: dict[str, str] = {}
    for part in (part for text in given for part in text.split(",")):
        role, equals, name = part.partition("=")
        if not equals or not role.strip() or not name.strip():
            raise InputError(
                f"--columns {part!r} names no column", remedy="write for instance item=question,system=model"
            )
        found[role.strip()] = name.strip()
    return found or None


def idle(*, table: bool, shards: int, kind: str) -> tuple[str, ...]:
    """Return the options that do nothing: with a table of scores, with one shard, with shards by attribute.

    >>> idle(table=False, shards=1, kind="even")
    ('columns', 'system', 'random', 'splits', 'kind', 'by', 'texts', 'proportions', 'corpus')
    """
    if table:
        return OF_RUNS
    if kind == "attribute":
        return (*OF_TABLES, "shards", "splits", "texts", "proportions", "corpus")
    if kind == "uneven":
        return (*OF_TABLES, "shards", "by", "texts")
    if shards == 1:
        return (*OF_TABLES, "splits", "kind", "by", "texts", "proportions", "corpus")
    if kind == "topical":
        return (*OF_TABLES, "by", "proportions", "corpus")
    return (*OF_TABLES, "by", "texts", "proportions")


def _numbers(text: str | None) -> list[float] | None:
    """Numbers between commas.

    >>> _numbers("3,2,1")
    [3.0, 2.0, 1.0]
    """
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"'{text}' are no proportions", remedy=("write for instance ", Option("proportions", "3,2,1"))
        ) from None


def single(read: Read) -> xr.DataArray:
    """Return the scores of the one measure there is, or refuse to choose."""
    known = [str(name) for name in read.scores.data_vars]
    if len(known) > 1:
        raise InputError(
            f"holds {len(known)} measures",
            where=str(read.files[0]),
            remedy=("choose one with ", Option("measure"), f": {', '.join(known)}"),
        )
    return read.one()


def model(text: str) -> Model:
    """A model by name or formula."""
    if re.fullmatch(r"MD\d*", text, re.IGNORECASE) and text.upper() not in NAMED:
        raise unknown("model", text, NAMED)
    return Model.parse(text)


def filled(scores: xr.DataArray, fill: str) -> tuple[xr.DataArray, tuple[str, ...]]:
    """Scores with undefined cells filled as the option says, and a note on them and on those that are missing.

    A missing score is filled only by a number that was named; otherwise the fit leaves it out.
    """
    policy = fill_policy(fill)
    undefined, missing = undefined_cells(scores), missing_cells(scores)
    holes, lost = int(undefined.sum()), int(missing.sum())
    named = isinstance(policy, str)
    notes = _told(0 if fill == "leave" else holes, fill, lost, "left out" if named else f"filled with {fill}")
    if fill == "leave" or (not holes and (named or not lost)):
        return scores, notes
    return fill_undefined(scores, policy), notes


def _told(holes: int, fill: str, lost: int, how: str) -> tuple[str, ...]:
    said = [f"{holes} undefined {'cell' if holes == 1 else plural('cell')}: {fill}"] if holes else []
    said += [f"{lost} missing {'score' if lost == 1 else plural('score')} {how}"] if lost else []
    return ("; ".join(said),) if said else ()


def bootstrap_options(fit: str, resamples: int | None) -> bool:
    """Whether the fit is a bootstrap; refuse an unknown one, and resamples that nothing would draw."""
    if fit not in FITS:
        raise unknown("fit", fit, FITS)
    if fit == "anova" and resamples is not None:
        raise InputError(
            "an ANOVA draws no resamples", remedy="add --fit bootstrap, or leave out --resamples"
        )
    return fit == "bootstrap"


def bootstrap_law(options: Any) -> dict[str, Any]:
    """What the options say of the law that bootstrap p-values are of; refused where nothing is bootstrapped."""
    said = {name: getattr(options, name) for name in ("null", "tails", "density")}
    said = {name: value for name, value in said.items() if value is not None}
    if said and options.fit != "bootstrap":
        raise InputError(
            (Option(next(iter(said))), " is for a bootstrap"), remedy=("add ", Option("fit", "bootstrap"))
        )
    for name, choices in (("null", get_args(Null)), ("density", get_args(Density))):
        if name in said:
            chosen(said[name], name, choices)
    return said


def dimensions(generalize: str) -> tuple[str, ...]:
    """Dimensions that a claim extends to, from an option such as ``topic,shard``."""
    return tuple(part.strip() for part in generalize.split(",") if part.strip())


def fill_policy(fill: str) -> str | float:
    """A policy for undefined cells, or the number to put in.

    >>> fill_policy("mean"), fill_policy("0.5")
    ('mean', 0.5)
    """
    if fill in FILLS:
        return fill
    try:
        number = float(fill)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise unknown("fill", fill, (*FILLS, "a number"), what="policy for undefined cells")
    return number
