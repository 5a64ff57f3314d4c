"""Read the input that the options of a command describe: runs to be scored, or scores."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shardwise.cli.conditions import Situation
from shardwise.cli.options import MOMENTS, parse_proportions, parse_range, parse_words
from shardwise.cli.output import show_progress
from shardwise.cli.parsing import Options
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.extras import require_extra, require_for_files
from shardwise.core.libraries import xr
from shardwise.core.measure import DECLARED
from shardwise.core.model import NAMED, Model
from shardwise.core.scores import (
    VOTES,
    declare_measures,
    direction_of,
    is_sample_measure,
    level_names,
    measure_of,
    missing_cells,
    note_measure,
    undefined_cells,
)
from shardwise.io.files import (
    BYTES_NEEDED,
    SHARE_OF_MEMORY,
    SUFFIXES,
    bare_name,
    list_files,
    parse_size,
    raise_limit,
    usable_memory,
)
from shardwise.io.scores import are_score_files, read_scores, score_files
from shardwise.stats.corrections import CORRECTIONS

if TYPE_CHECKING:
    from shardwise.io.collection import Collection
    from shardwise.io.trec.conventions import Conventions
    from shardwise.sharding.splits import Splits

UNNAMED = "score"
"""The measure of a table that names none."""
FILLS = ("zero", "one", "lq", "mean", "drop", "leave")
STREAMED = (".parquet", ".pq", ".arrow", ".feather", ".csv", ".tsv", ".nc", ".nc4", ".zarr", ".npy")
"""Endings of tables that can be read block by block."""
ONLY_STREAMED = (MOMENTS, ".npy", ".arrow", ".feather")
"""Endings of files that are read in no other way."""
BYTES_OF_RUNS, GROWTH_OF_RUNS = 1, 5
"""Bytes of memory that a byte of a run takes, and how many times its size a compressed run has."""


@dataclass(frozen=True, slots=True)
class Read:
    """Scores of all measures asked for, what was decided on the way, and the files they come from."""

    scores: xr.Dataset
    notes: tuple[str, ...]
    files: tuple[Path, ...]
    collection: Collection | None = None
    human: Path | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return tuple(map(str, self.scores.data_vars))

    def scores_of(self, measure: str) -> xr.DataArray:
        """Return the scores of a measure, with those of people beside them where a file of these was named."""
        scores = self.scores[measure]
        return scores if self.human is None else add_people(scores, self.human)

    def first_measure(self) -> xr.DataArray:
        """Return the scores of the first measure."""
        return self.scores_of(self.measures[0])

    @property
    def dims(self) -> frozenset[str]:
        """Dimensions of the scores."""
        return frozenset(map(str, self.scores[self.measures[0]].dims))


@dataclass(frozen=True, slots=True)
class InputReader:
    """Reads what the options of a command describe.

    Parameters
    ----------
    options : Options
        The options of the command.
    tables : bool
        Whether the command takes a table of scores, and not runs only.
    unfinished : bool
        Whether topics that a run lacks are left out for that run unless options say otherwise.
    """

    options: Options
    tables: bool = True
    unfinished: bool = False

    @property
    def inputs(self) -> list[Path]:
        """The files and folders."""
        files: list[Path] = self.options.inputs
        return files

    @property
    def texts(self) -> Path | None:
        """The file with the texts of the documents, where they decide the shards."""
        kind, _, detail = self.options.kind.partition(":")
        return Path(detail) if kind == "topical" and detail else None

    def change(self, **values: Any) -> InputReader:
        """Return the same with other values of some options."""
        return replace(self, options=self.options.change(**values))

    def check(self) -> InputReader:
        """Return the same, or refuse options without effect, and what is not installed, before the long work."""
        options = self.options
        require_for_files([options.human, self.texts, options.intents])
        if options.cluster is not None:
            require_extra("cluster")
        if options.max_memory:
            parse_size(options.max_memory)
        options.check_effects(self.describe_situation(), str(self.inputs[0]) if self.inputs else "")
        return self

    @property
    def is_table(self) -> bool:
        """Whether the input is scores: one file, or several that end as tables and logs do."""
        streamed = [path.suffix.lower() in (*STREAMED, MOMENTS) for path in self.inputs]
        return self.tables and (len(self.inputs) == 1 or all(streamed) or are_score_files(self.inputs))

    @property
    def is_streamed(self) -> bool:
        """Whether the input is read block by block: moments, or a table that would not fit into memory."""
        if not self.is_table or not self.inputs:
            return False
        endings = [Path(bare_name(path)).suffix.lower() for path in self.inputs]
        if any(ending in ONLY_STREAMED for ending in endings):
            return True
        if not all(
            ending in STREAMED and path.exists() for ending, path in zip(endings, self.inputs, strict=True)
        ):
            return False
        return BYTES_NEEDED * sum(_count_bytes(path) for path in self.inputs) > self.memory

    @property
    def exceeds_memory(self) -> bool:
        """Whether runs would not fit into memory together."""
        sizes = ((path, _count_bytes(path)) for path in self.list_files()[1:])
        needed = sum(
            BYTES_OF_RUNS * (GROWTH_OF_RUNS if path.suffix in SUFFIXES else 1) * n for path, n in sizes
        )
        return needed > self.memory

    @property
    def memory(self) -> int:
        """Bytes of memory that reading may take."""
        return (
            parse_size(self.options.max_memory)
            if self.options.max_memory
            else usable_memory() // SHARE_OF_MEMORY
        )

    def describe_situation(self, read: Read | None = None, *, streamed: bool = False) -> Situation:
        """Return what is known of the input, before or after it was read."""
        return Situation(
            self.options,
            runs=not self.is_table if self.inputs else None,
            dims=None if read is None else read.dims,
            streamed=streamed,
        )

    @property
    def declared(self) -> dict[str, Any]:
        """What options say of the scores: their range, and whether lower ones are better; None where they do not."""
        direction = True if self.options.lower_is_better else False if self.options.higher_is_better else None
        return {"range": parse_range(self.options.range), "lower_is_better": direction}

    def one_measure(self) -> InputReader:
        """Return the same, or refuse where several measures were named and one is needed."""
        if len(self.options.measure) > 1:
            raise InputError(
                f"takes one measure, not {len(self.options.measure)} ({', '.join(self.options.measure)})",
                remedy="run it once for each",
                argument="measure",
                value=self.options.measure,
            )
        return self

    def read_input(self) -> Read:
        """Read the input, each file once; runs are split and scored as the options say."""
        with raise_limit(self.memory) if self.options.max_memory else nullcontext():
            read = self._read_scores() if self.is_table else self._read_runs()
        if self.options.deterministic and "instance" in read.dims and self.is_table:
            from shardwise.io.instances import flag_deterministic

            read = replace(read, scores=flag_deterministic(read.scores, self.options.deterministic))
        if self.options.exclude and not self.is_table:
            read = replace(
                read, scores=exclude_systems(read.scores, self.options.exclude, str(read.files[0]))
            )
        if not self.is_table:
            read = replace(read, scores=declare_measures(read.scores, **self.declared))
        if self.options.log:
            logs = {name: take_logs(read.scores[name], str(read.files[0])) for name in read.scores}
            read = replace(read, scores=read.scores.assign(logs))
        self.options.check_effects(self.describe_situation(read), str(read.files[0]))
        return read

    def _read_runs(self) -> Read:
        """Read runs, of which several may be repeats of one system, and score them."""
        # measures are loaded for runs alone, so that tables are read sooner
        from shardwise.scoring.scoring import describe_conventions, score

        options, files, runs = self.options, self.list_files(), None
        if options.instances:
            from shardwise.io.instances import read_instances

            naming = options.instances[0] if len(options.instances) == 1 else options.instances
            how = {name: value for name, value in self._reading_options().items() if name != "names"}
            how["deterministic"] = options.deterministic
            with show_progress("reading runs", options.quiet) as bar:
                runs = read_instances(list(files[1:]), files[0], naming, progress=bar, **how)
        collection = self._read_collection(files) if runs is None else runs.collection
        splits = self.split_documents(collection)
        with show_progress("scoring", options.quiet) as bar:
            scores = score(collection, options.measure or ["AP"], splits, jobs=options.jobs, progress=bar)
        notes = (
            *collection.notes,
            *(splits.notes if splits is not None else ()),
            *describe_conventions(scores),
        )
        return Read(scores if runs is None else runs.arrange(scores), notes, files, collection)

    def list_files(self) -> tuple[Path, ...]:
        """Return the qrels file and the runs, folders and patterns expanded."""
        from shardwise.io.kinds import put_qrels_first

        if len(self.inputs) < 2:
            raise InputError(
                "no runs were given",
                remedy="give a qrels file and runs: qrels.txt runs/*.gz",
            )
        first, *others = put_qrels_first(self.inputs)
        return (first, *list_files(others))

    def read_collection(self) -> Collection:
        """Read the qrels file and the runs."""
        return self._read_collection(self.list_files())

    def _read_collection(self, files: tuple[Path, ...]) -> Collection:
        from shardwise.io.reader import read_collection

        with show_progress("reading runs", self.options.quiet) as bar:
            return read_collection(
                [str(path) for path in files[1:]], str(files[0]), progress=bar, **self._reading_options()
            )

    def choose_conventions(self) -> Conventions:
        """Return the conventions that the options choose; comparisons refuse topics that a run lacks unless told."""
        from shardwise.io.trec.conventions import parse_conventions

        preset = parse_conventions(self.options.preset)
        missing: str = self.options.missing or ("zero" if self.options.complete else preset.missing)
        if not self.options.missing and missing in ("refuse", "leave"):
            missing = "leave" if self.unfinished else "refuse"
        if self.options.complete and missing != "zero":
            raise InputError(
                (Option("complete"), " conflicts with ", Option("missing", missing)),
                remedy="remove one of the two",
            )
        return preset.change(
            missing=missing,
            topics="judged" if self.options.complete else None,
            unjudged="removed" if self.options.judged_only else None,
            depth=self.options.depth,
        )

    def _reading_options(self) -> dict[str, Any]:
        return {
            "like": self.choose_conventions(),
            "names": self.options.names,
            "subtopics": self.options.subtopics,
            "jobs": self.options.jobs,
            **({"intents": str(self.options.intents)} if self.options.intents is not None else {}),
        }

    def score_in_parts(self, executor: Executor | None, store: Path | None = None) -> Read:
        """Score run files a few at a time, here or where an executor works, into a store if there is one."""
        from shardwise.scoring.scoring import describe_conventions
        from shardwise.scoring.streamed import score_runs

        files = self.list_files()
        sharded = self.options.shards > 1 or self.options.kind.startswith(("uneven", "attribute"))
        notes_on_splits: list[str] = []

        def splitting(collection: Collection) -> Splits:
            splits = self.split_documents(collection)
            assert splits is not None, "asked for where there are shards"
            notes_on_splits.extend(splits.notes)
            return splits

        with show_progress("scoring files", self.options.quiet) as bar:
            scores = score_runs(
                [str(path) for path in files[1:]],
                str(files[0]),
                list(self.options.measure or ("AP",)),
                splitting if sharded else None,
                executor=executor,
                out=store,
                progress=bar,
                **self._reading_options(),
            )
        notes = filter(None, scores.attrs["notes"].split("; "))
        return Read(scores, (*notes, *notes_on_splits, *describe_conventions(scores)), files)

    def split_documents(self, collection: Collection) -> Splits | None:
        """Split the documents as the options say; none for one shard."""
        from shardwise.sharding.split import split

        options, (kind, _, detail) = self.options, self.options.kind.partition(":")
        if kind == "attribute":
            return split(collection, kind="attribute", by=detail or None)
        if options.shards == 1 and kind != "uneven":
            return None
        numeric = options.corpus is not None and options.corpus.isdecimal()
        how: dict[str, Any] = {"kind": kind, "corpus": int(options.corpus) if numeric else options.corpus}
        if kind == "topical":
            how["texts"] = self.texts
        if kind == "uneven":
            how["proportions"] = parse_proportions(detail) if detail else None
        shards = None if kind == "uneven" else options.shards
        return split(collection, shards, n_splits=options.splits, seed=options.seed, unlisted="add", **how)

    def _read_scores(self) -> Read:
        files = score_files(self.inputs)
        columns = parse_columns(self.options.columns) or {}
        pre = columns.pop("pre", "")
        if pre and (len(self.options.measure) != 1 or self.options.random):
            raise InputError(
                (Option("columns", f"pre={pre}"), " needs the name of the scores, and no random factors"),
                where=str(self.inputs[0]),
                remedy="name their column: -m revenue",
            )
        sliced = {"slice": self.options.by} if self.options.values.get("by") else {}
        how = {**self.options.arguments("read"), **self.declared, "columns": {**columns, **sliced} or None}
        sampled = [name for name in self.options.measure if is_sample_measure(name)]
        scores = read_scores(
            files,
            measure=self.options.measure[0] if len(self.options.measure) == 1 and not sampled else None,
            **how,
        )
        covariate = read_scores(files, measure=pre, **(how | {"range": None})) if pre else None
        if isinstance(scores, xr.DataArray):
            scores = scores.to_dataset(name=scores.name or UNNAMED, promote_attrs=False)
        first = scores[next(iter(scores.data_vars))]
        notes = [str(first.attrs["read_as"])] if "read_as" in first.attrs else []
        if covariate is not None:
            from shardwise.methods.unpaired.method import adjust_scores

            assert isinstance(covariate, xr.DataArray), "one measure was named"
            name = next(iter(scores.data_vars))
            try:
                adjusted, share = adjust_scores(scores[name], covariate)
            except InputError as error:
                raise error.add_location(str(self.inputs[0])) from error
            scores = scores.assign({name: adjusted})
            notes.append(f"CUPED: {pre} explains {share:.0%} of the variance of {name}, which is taken out")
        if sampled:
            from shardwise.scoring.samples import add_sample_measures, describe_samples

            try:
                scores = add_sample_measures(scores, sampled)
            except InputError as error:
                raise error.add_location(str(self.inputs[0])) from error
            notes += [describe_samples(scores[name]) for name in sampled]
        for name in self.options.measure[1:] and self.options.measure:
            if name not in scores:
                # a column that is a measure only where it is named, such as cost
                scores = scores.assign({name: read_scores(files, measure=name, **how)})
        known = [str(name) for name in scores.data_vars]
        primary = scores.attrs.get("primary")
        if not self.options.measure and primary and len(known) > 1:
            notes.append(f"measure {primary} of {', '.join(known)}; choose another with --measure")
            known = [primary]
        named = self.options.measure if sampled else self.options.measure[1:] and self.options.measure
        picked = scores[list(named) or known]
        if notes and VOTES not in scores[known[0]].attrs:
            lower = [str(name) for name in picked if direction_of(picked[name])[0]]
            notes[0] += f"; lower is better: {', '.join(lower)}" if lower else "; higher is better"
        return Read(picked, tuple(filter(None, notes)), tuple(files), human=self.options.human)


def take_logs(scores: xr.DataArray, where: str) -> xr.DataArray:
    """Return the natural logarithms of scores, all of which must be above 0.

    Parameters
    ----------
    scores : DataArray
        Scores of one measure.
    where : str
        The file, for a refusal.

    Returns
    -------
    DataArray
        The logarithms, named after the measure.
    """
    if bool((scores <= 0.0).any()):
        raise InputError(
            "a score is 0 or below, and has no logarithm", where=where, remedy="remove --read log"
        )
    measure = measure_of(scores)
    # a range that was found belongs to the scores before, and the logarithm of 0 is no limit
    limits = measure.range if measure.range_from == DECLARED and measure.range is not None else (0.0, 0.0)
    logs = (math.log(limits[0]), math.log(limits[1])) if limits[0] > 0.0 else None
    taken = scores.copy(data=np.log(scores.to_numpy()))
    return note_measure(taken, replace(measure, range=logs, range_from=DECLARED if logs else ""))


def exclude_systems(scores: xr.Dataset, names: Sequence[str], where: str) -> xr.Dataset:
    """Leave out systems.

    Parameters
    ----------
    scores : Dataset
        Scores of all measures.
    names : sequence of str
        Systems to leave out.
    where : str
        The file, for a refusal.

    Returns
    -------
    Dataset
        The scores of all other systems.
    """
    known = level_names(scores[next(iter(scores.data_vars))], "system")
    for name in names:
        if name not in known:
            raise InputError(
                f"unknown system {name!r}",
                where=where,
                remedy=f"the systems are {', '.join(known[:5])}",
                argument="exclude",
            )
    kept = [k for k, name in enumerate(known) if name not in names]
    return scores.isel(system=kept)


def add_people(scores: xr.DataArray, human: Path) -> xr.DataArray:
    """Put the scores that people gave beside those of a judge.

    Parameters
    ----------
    scores : DataArray
        Scores of the judge, of one measure.
    human : Path
        Table of people's scores for some of the items.

    Returns
    -------
    DataArray
        The same scores with those of people as a coordinate.
    """
    from shardwise.methods.judges.method import with_human

    people = read_scores(human, missing="leave")
    if isinstance(people, xr.Dataset):
        if scores.name not in people.data_vars:
            raise InputError(
                f"has no measure {scores.name!r}",
                where=str(human),
                remedy="give people's scores of the same measure",
            )
        people = people[scores.name]
    try:
        return with_human(scores, people)
    except InputError as error:
        raise error.add_location(str(human)) from error


def _count_bytes(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(inner.stat().st_size for inner in path.rglob("*") if inner.is_file())
    return path.stat().st_size


def parse_columns(given: Sequence[str]) -> dict[str, str] | None:
    """Return what an option such as ``item=question,system=model`` says, None where nothing is said.

    >>> parse_columns(["item=question,system=model", "score=points"])
    {'item': 'question', 'system': 'model', 'score': 'points'}
    """
    roles: dict[str, str] = {}
    for part in (part for text in given for part in text.split(",")):
        role, equals, name = part.partition("=")
        if not equals or not role.strip() or not name.strip():
            raise InputError(
                f"--columns {part!r} does not name a column",
                remedy="write for instance item=question,system=model",
            )
        roles[role.strip()] = name.strip()
    return roles or None


def pick_measure(read: Read) -> xr.DataArray:
    """Return the scores of the only measure, or refuse to choose."""
    known = read.measures
    if len(known) > 1:
        raise InputError(
            f"has {len(known)} measures",
            where=str(read.files[0]),
            remedy=("choose one with ", Option("measure"), f": {', '.join(known)}"),
            argument="measure",
            choices=known,
        )
    return read.first_measure()


def parse_model(text: str) -> Model:
    """Return a model by name or formula."""
    if re.fullmatch(r"MD\d*", text, re.IGNORECASE) and text.upper() not in NAMED:
        raise refuse_unknown("model", text, NAMED)
    return Model.parse(text)


def fill_gaps(scores: xr.DataArray, fill: str) -> tuple[xr.DataArray, tuple[str, ...]]:
    """Return scores with undefined cells filled as the option says, and notes on them and on missing scores.

    A missing score is filled only by a number that was named; otherwise the fit leaves it out.
    """
    policy = parse_fill(fill)
    undefined, missing = undefined_cells(scores), missing_cells(scores)
    holes, lost = int(undefined.sum()), int(missing.sum())
    named = isinstance(policy, str)
    how = "left out" if named else f"filled with {fill}"
    shown = [f"{format_count(holes, 'undefined cell')}: {fill}"] if holes and fill != "leave" else []
    shown += [f"{format_count(lost, 'missing score')} {how}"] if lost else []
    notes = ("; ".join(shown),) if shown else ()
    if fill == "leave" or (not holes and (named or not lost)):
        return scores, notes
    from shardwise.scoring.undefined import fill_undefined

    return fill_undefined(scores, policy), notes


def parse_bootstrap(method: str) -> dict[str, Any] | None:
    """Return what the words of a bootstrap say, with its correction; None for a method of another kind."""
    words = parse_words(method, "bootstrap", CORRECTIONS)
    return None if words is None else {"correction": "bh", **words}


def parse_dimensions(generalize: str) -> tuple[str, ...]:
    """Return the dimensions that a claim extends to, from an option such as ``topic,shard``; none for ``these``."""
    return tuple(part.strip() for part in generalize.split(",") if part.strip() not in ("", "these"))


def parse_fill(fill: str) -> str | float:
    """Return a policy for undefined cells, or the number to put in.

    >>> parse_fill("mean"), parse_fill("0.5")
    ('mean', 0.5)
    """
    if fill in FILLS:
        return fill
    try:
        number = float(fill)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise refuse_unknown("fill", fill, (*FILLS, "a number"), what="policy for undefined cells")
    return number
