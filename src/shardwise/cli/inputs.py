"""Read the input that the options of a command describe: runs to be scored, or scores."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shardwise.cli.options import MOMENTS, Situation, parse_proportions, parse_range, parse_words
from shardwise.cli.output import show_progress
from shardwise.cli.parsing import Options
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.extras import require_extra, require_for_files
from shardwise.core.measure import DECLARED
from shardwise.core.model import NAMED, Model
from shardwise.core.scores import Scores, as_scores, is_sample_measure
from shardwise.io.files import (
    BYTES_NEEDED,
    SHARE_OF_MEMORY,
    bare_name,
    list_files,
    parse_size,
    raise_limit,
    usable_memory,
)
from shardwise.io.scores import are_score_files, read_tables, score_files
from shardwise.stats.corrections import CORRECTIONS

if TYPE_CHECKING:
    import xarray as xr

    from shardwise.io.collection import Collection
    from shardwise.sharding.splits import Splits

UNNAMED = "score"
"""The measure of a table that names none."""
FILLS = ("zero", "one", "lq", "mean", "drop", "leave")
STREAMED = (".parquet", ".pq", ".arrow", ".feather", ".csv", ".tsv", ".nc", ".nc4", ".zarr", ".npy")
"""Endings of tables that can be read block by block."""
ONLY_STREAMED = (MOMENTS, ".npy", ".arrow", ".feather")
"""Endings of files that are read in no other way."""


@dataclass(frozen=True, slots=True)
class Read:
    """Scores by measure, of all measures asked for, what was decided on the way, and the files they come from."""

    tables: Mapping[str, Scores]
    notes: tuple[str, ...]
    files: tuple[Path, ...]
    collection: Collection | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return tuple(self.tables)

    @property
    def first(self) -> Scores:
        """The scores of the first measure."""
        return self.tables[self.measures[0]]

    def pick_measure(self) -> Scores:
        """Return the scores of the only measure, or refuse to choose."""
        if len(self.measures) > 1:
            raise InputError(
                f"has {len(self.measures)} measures",
                where=str(self.files[0]),
                remedy=("choose one with ", Option("measure"), f": {', '.join(self.measures)}"),
                argument="measure",
                choices=self.measures,
            )
        return self.first


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
        options.check_effects(self.describe_situation(), str(options.inputs[0]) if options.inputs else "")
        return self

    @property
    def is_table(self) -> bool:
        """Whether the input is scores: one file, or several that end as tables and logs do."""
        inputs = self.options.inputs
        streamed = [path.suffix.lower() in (*STREAMED, MOMENTS) for path in inputs]
        return self.tables and (len(inputs) == 1 or all(streamed) or are_score_files(inputs))

    @property
    def is_streamed(self) -> bool:
        """Whether the input is read block by block: moments, or a table that would not fit into memory."""
        inputs = self.options.inputs
        if not self.is_table or not inputs:
            return False
        endings = [Path(bare_name(path)).suffix.lower() for path in inputs]
        if any(ending in ONLY_STREAMED for ending in endings):
            return True
        known = all(
            ending in STREAMED and path.exists() for ending, path in zip(endings, inputs, strict=True)
        )
        return known and BYTES_NEEDED * sum(map(_count_bytes, inputs)) > self.memory

    @property
    def memory(self) -> int:
        """Bytes of memory that reading may take."""
        text = self.options.max_memory
        return parse_size(text) if text else usable_memory() // SHARE_OF_MEMORY

    def describe_situation(self, read: Read | None = None, *, streamed: bool = False) -> Situation:
        """Return what is known of the input, before or after it was read."""
        runs = not self.is_table if self.options.inputs else None
        return Situation(self.options, runs, None if read is None else frozenset(read.first.dims), streamed)

    @property
    def declared(self) -> dict[str, Any]:
        """What options say of the scores: their range, and whether lower ones are better; None where they do not."""
        direction = True if self.options.lower_is_better else False if self.options.higher_is_better else None
        return {"range": parse_range(self.options.range), "lower_is_better": direction}

    def read_input(self, *, one: bool = False) -> Read:
        """Read the input, each file once; runs are split and scored as the options say. Of ``one`` measure if asked."""
        options = self.options
        if one and len(options.measure) > 1:
            raise InputError(
                f"takes one measure, not {len(options.measure)} ({', '.join(options.measure)})",
                remedy="run it once for each",
                argument="measure",
                value=options.measure,
            )
        with raise_limit(self.memory) if options.max_memory else nullcontext():
            if self.is_table:
                read = self._read_scores()
            else:
                scores, notes, collection = self.score_runs()
                each = {str(name): scores[name] for name in scores.data_vars}
                scored = {name: as_scores(table, needs=(), **self.declared) for name, table in each.items()}
                read = Read(scored, notes, self.list_files(), collection)
        tables, where = dict(read.tables), str(read.files[0])
        for name, table in tables.items():
            if options.deterministic and "instance" in table.dims and self.is_table:
                _refuse_absent(options.deterministic, table, "deterministic")
                table = replace(table, deterministic=np.isin(table.systems, options.deterministic))
            if options.exclude and not self.is_table:
                _refuse_absent(options.exclude, table, "exclude", where)
                table = table.select_systems(each for each in table.systems if each not in options.exclude)
            tables[name] = take_logs(table, where) if options.log else table
        read = replace(read, tables=tables)
        options.check_effects(self.describe_situation(read), where)
        return read if options.human is None else add_people(read, options.human)

    def score_runs(self) -> tuple[xr.Dataset, tuple[str, ...], Collection]:
        """Return the scores of runs by all measures, what was decided on the way, and what was scored."""
        # measures are loaded for runs alone, so that tables are read sooner
        from shardwise.scoring.scoring import describe_conventions, score

        options, files, runs = self.options, self.list_files(), None
        if options.instances:
            from shardwise.io.instances import read_instances

            naming = options.instances[0] if len(options.instances) == 1 else options.instances
            how = {name: value for name, value in self.choose_conventions().items() if name != "names"}
            how["deterministic"] = options.deterministic
            with show_progress("reading runs", options.quiet) as bar:
                runs = read_instances(list(files[1:]), files[0], naming, progress=bar, **how)
        collection = self.read_collection() if runs is None else runs.collection
        splits = self.split_documents(collection)
        with show_progress("scoring", options.quiet) as bar:
            scores = score(collection, options.measure or ["AP"], splits, jobs=options.jobs, progress=bar)
        notes = (*collection.notes, *(splits.notes if splits else ()), *describe_conventions(scores))
        return scores if runs is None else runs.arrange(scores), notes, collection

    def list_files(self) -> tuple[Path, ...]:
        """Return the qrels file and the runs, folders and patterns expanded."""
        from shardwise.io.kinds import put_qrels_first

        if len(self.options.inputs) < 2:
            raise InputError("no runs were given", remedy="give a qrels file and runs: qrels.txt runs/*.gz")
        first, *others = put_qrels_first(self.options.inputs)
        return (first, *list_files(others))

    def read_collection(self) -> Collection:
        """Read the qrels file and the runs."""
        from shardwise.io.reader import read_collection

        qrels, *runs = map(str, self.list_files())
        with show_progress("reading runs", self.options.quiet) as bar:
            return read_collection(runs, qrels, progress=bar, **self.choose_conventions())

    def choose_conventions(self) -> dict[str, Any]:
        """Return how runs are read; comparisons refuse topics that a run lacks unless told."""
        from shardwise.io.trec.conventions import parse_conventions

        options = self.options
        preset = parse_conventions(options.preset)
        missing: str = options.missing or ("zero" if options.complete else preset.missing)
        if not options.missing and missing in ("refuse", "leave"):
            missing = "leave" if self.unfinished else "refuse"
        if options.complete and missing != "zero":
            raise InputError(
                (Option("complete"), " conflicts with ", Option("missing", missing)),
                remedy="remove one of the two",
            )
        like = preset.change(
            missing=missing,
            topics="judged" if options.complete else None,
            unjudged="removed" if options.judged_only else None,
            depth=options.depth,
        )
        how = {"like": like, "names": options.names, "subtopics": options.subtopics, "jobs": options.jobs}
        return how if options.intents is None else {**how, "intents": str(options.intents)}

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
        """Read tables and logs: all measures asked for, or the one that the source shows first, or all of them."""
        options, files = self.options, score_files(self.options.inputs)
        where, columns = str(options.inputs[0]), parse_columns(options.columns) or {}
        pre = columns.pop("pre", "")
        if pre and (len(options.measure) != 1 or options.random):
            raise InputError(
                (Option("columns", f"pre={pre}"), " needs the name of the scores, and no random factors"),
                where=where,
                remedy="name their column: -m revenue",
            )
        sliced = {"slice": options.by} if options.values.get("by") else {}
        how = {**options.arguments("read"), **self.declared, "columns": {**columns, **sliced} or None}
        sampled = [name for name in options.measure if is_sample_measure(name)]
        named = options.measure[0] if len(options.measure) == 1 and not sampled else None
        tables, primary = read_tables(files, measure=named, **how)
        notes = [read_as] if (read_as := next(iter(tables.values())).read_as) else []
        try:
            if pre:
                from shardwise.methods.unpaired.method import adjust_scores

                covariate, _ = read_tables(files, measure=pre, **(how | {"range": None}))
                (name, table), *_ = tables.items()
                tables[name], note = adjust_scores(table, covariate[pre])
                notes.append(note)
            if sampled:
                from shardwise.scoring.samples import add_sample_measures, describe_samples

                tables = add_sample_measures(
                    tables, [name for name in sampled if name not in tables], primary
                )
                notes += [describe_samples(tables[name]) for name in sampled]
        except InputError as error:
            raise error if error.where else error.add_location(where) from error
        further = [name for name in options.measure[1:] and options.measure if name not in tables]
        if further:
            # columns that are measures only where they are named, such as cost
            try:
                named_columns = {**columns, **sliced, "score": list(options.measure)}
                tables, _ = read_tables(files, measure=None, **(how | {"columns": named_columns}))
                notes[:1] = [next(iter(tables.values())).read_as]
            except InputError:
                for name in further:
                    tables |= read_tables(files, measure=name, **how)[0]
        known = tuple(tables)
        if not options.measure and primary and len(known) > 1:
            notes.append(
                "shown: "
                + "; also: ".join([primary, ", ".join(f"-m {name}" for name in known if name != primary)])
            )
            known = (primary,)
        asked = options.measure if sampled else options.measure[1:] and options.measure
        picked = {name: tables[name] for name in asked or known}
        if notes and next(iter(tables.values())).votes is None:
            lower = [name for name, table in picked.items() if table.measure.lower_is_better]
            notes[0] += f"; lower is better: {', '.join(lower)}" if lower else "; higher is better"
        return Read(picked, tuple(filter(None, notes)), tuple(files))


def _refuse_absent(names: Sequence[str], table: Scores, argument: str, where: str = "") -> None:
    """Refuse systems that are not there."""
    absent = [name for name in names if name not in table.systems]
    if absent:
        few = f"{', '.join(table.systems[:5])}{', …' * (len(table.systems) > 5 and not where)}"
        problem = f"unknown system {absent[0]!r}"
        raise InputError(problem, where=where, remedy=f"the systems are {few}", argument=argument)


def take_logs(table: Scores, where: str) -> Scores:
    """Return the natural logarithms of scores, all of which must be above 0; ``where`` is the file, for a refusal."""
    if (table.values <= 0.0).any():
        raise InputError(
            "a score is 0 or below, and has no logarithm", where=where, remedy="remove --read log"
        )
    measure = table.measure
    # a range that was found belongs to the scores before, and the logarithm of 0 is no limit
    limits = measure.range if measure.range_from == DECLARED and measure.range is not None else (0.0, 0.0)
    logs = (math.log(limits[0]), math.log(limits[1])) if limits[0] > 0.0 else None
    measure = replace(measure, range=logs, range_from=DECLARED if logs else "")
    return replace(table, values=np.log(table.values), measure=measure)


def add_people(read: Read, human: Path) -> Read:
    """Return the scores of a judge with those that people gave for some of the items beside them."""
    from shardwise.methods.judges.method import with_human

    people, _ = read_tables([human], missing="leave")
    tables = {}
    for name, table in read.tables.items():
        if len(people) > 1 and name not in people:
            raise InputError(
                f"has no measure {name!r}",
                where=str(human),
                remedy="give people's scores of the same measure",
            )
        try:
            tables[name] = as_scores(with_human(table, people.get(name, next(iter(people.values())))))
        except InputError as error:
            raise error.add_location(str(human)) from error
    return replace(read, tables=tables)


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


def parse_model(text: str) -> Model:
    """Return a model by name or formula."""
    if re.fullmatch(r"MD\d*", text, re.IGNORECASE) and text.upper() not in NAMED:
        raise refuse_unknown("model", text, NAMED)
    return Model.parse(text)


def fill_gaps(scores: Scores, fill: str) -> tuple[Scores, tuple[str, ...]]:
    """Return scores with undefined cells filled as the option says, and notes on what was filled.

    A missing score is filled only by a number that was named; otherwise the fit leaves it out.
    """
    policy = parse_fill(fill)
    holes, lost = int(scores.find_undefined().sum()), int(scores.find_missing().sum())
    named = isinstance(policy, str)
    shown = [f"{format_count(holes, 'undefined cell')}: {fill}"] if holes and fill != "leave" else []
    shown += [f"{format_count(lost, 'missing score')} filled with {fill}"] if lost and not named else []
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
