"""shardwise replicate: the claims, tables and figures of papers, from any data, into a folder."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from shardwise.cli import inputs
from shardwise.cli.cluster import on_cluster
from shardwise.cli.design import split_paths
from shardwise.cli.output import Result, show_progress
from shardwise.cli.parsing import Options
from shardwise.core.errors import InputError, refuse_unknown
from shardwise.core.libraries import pd, xr
from shardwise.io.atomic import write_atomically
from shardwise.io.files import bare_name
from shardwise.papers import EXPERIMENTS, Replication
from shardwise.scoring.measures.names import parse_measure
from shardwise.writing.replication import answer_replication, render_page, write_latex

KEPT = "steps that were done are kept"
REPEATED_MEASURE = "nDCG@10"
"""Measure of J15's figures."""
ALL_PAPERS = ("f19", "ff21", "v17", "s14", "j15")
"""Papers that are replicated together."""
LISTED = {
    "files": list,
    "measure": str,
    "teams": str,
    "instances": str,
    "missing": str,
    "names": str,
    "complete": bool,
}
"""What the file of a study says of a collection, and of which kind it is."""
FIRST = "collection"
"""Name of the first of several collections."""
OPTIONS = {
    "measures": "measure",
    "samples": "splits",
    "n_splits": "splits",
    "n_resamples": "resamples",
    "sets": "also",
    "depths": "pool",
    "pools": "pool",
    "fill_shards": "fill",
}
"""Options of the command by the name of the field, where they differ."""


def parse_related(path: Path | None) -> dict[str, list[str]] | None:
    """Return sets of two or more related runs from a table with the columns run and team.

    Parameters
    ----------
    path : Path, optional
        The table.

    Returns
    -------
    dict or None
        Runs by team.
    """
    if path is None:
        return None
    table = pd.read_csv(path, dtype=str)
    absent = [name for name in ("run", "team") if name not in table.columns]
    if absent:
        raise InputError(
            f"has no column {absent[0]!r}", where=str(path), remedy="name the columns run and team"
        )
    sets = {str(team): [str(run) for run in runs] for team, runs in table.groupby("team")["run"]}
    return {team: runs for team, runs in sets.items() if len(runs) > 1}


PARSERS: dict[str, Callable[[Any], Any]] = {
    "sets": parse_related,
    "corpus": lambda text: int(text) if text is not None and text.isdecimal() else text,
    "fill": inputs.parse_fill,
    "baseline": lambda names: next(iter(names), None),
}


def list_choices(paper: str, options: Options) -> dict[str, Any]:
    """Return the fields of a paper's experiment that the options of a command set.

    Parameters
    ----------
    paper : str
        Tag of the paper.
    options : Options
        Options of the command.

    Returns
    -------
    dict
        Values by field; fields without an option, or with an empty list, keep their defaults.
    """
    choices: dict[str, Any] = {}
    for entry in fields(EXPERIMENTS[paper]):
        name = OPTIONS.get(entry.name, entry.name)
        if name not in options.values:
            continue
        value = getattr(options, name)
        if entry.name in PARSERS:
            value = PARSERS[entry.name](value)
        elif entry.name == "measure":
            value = value[0] if value else []
        if value != []:
            choices[entry.name] = value
    return choices


def replicate_one(options: Options) -> Result:
    """Check the claims of one paper.

    Parameters
    ----------
    options : Options
        Options of the command.
    """
    paper = options.command.words[1]
    # wrong options are refused before the long work
    choices = list_choices(paper, options)
    data, lines = _read_data(paper, options), []
    # papers on one collection have a page for each
    named = data if isinstance(data, dict) and paper in ("f19", "ff21") else {"": data}
    for name, each in named.items():
        folder = options.out / name if name != FIRST else options.out
        replication = _run_paper(paper, each, choices, options, folder)
        lines += [
            *([f"{name}:"] if name else []),
            str(replication),
            f"written to {folder / paper}.html and .md",
        ]
    return Result(tuple(lines))


def replicate_all(options: Options) -> Result:
    """Check the claims of all papers, and write one page that opens them.

    Parameters
    ----------
    options : Options
        Options of the command.
    """
    replications, refusals = [], {}
    for paper in ALL_PAPERS:
        choices = list_choices(paper, options)
        try:
            data = _read_data(paper, options)
            replications.append(_run_paper(paper, data, choices, options, options.out / paper))
        except InputError as error:
            refusals[paper.upper()] = str(error)
            if paper == "j15" and replications:
                # its simulations need no data
                replications.append(_run_paper(paper, None, choices, options, options.out / paper))
    if not replications:
        raise InputError(f"no paper can use these data: {next(iter(refusals.values()))}")
    page = render_page("Five papers on these data", replications, refusals=refusals)
    for name, text in (("index.html", page), ("tables.tex", write_latex(replications))):
        write_atomically(options.out / name, text.encode("utf-8", "backslashreplace"))
    lines = [f"{replication.paper}: {answer_replication(replication)}" for replication in replications]
    lines += [f"{paper}: not made: {reason}" for paper, reason in refusals.items()]
    return Result((*lines, f"written to {options.out / 'index.html'}"))


def replicate_study(options: Options) -> Result:
    """Check the claims of all papers on every collection that a file lists.

    Parameters
    ----------
    options : Options
        Options of the command.
    """
    choices = list_choices("study", options)
    named: dict[str, Any] = {}
    related: dict[str, Any] = {}
    for path in options.inputs:
        for name, entry in _read_list(path).items():
            files = [path.parent / file for file in entry.pop("files")]
            if teams := entry.pop("teams", None):
                related[name] = parse_related(path.parent / teams)
            values = {
                key: [value] if key in ("measure", "instances") else value for key, value in entry.items()
            }
            try:
                named[name] = _read_source(files, options.change(**values))
            except InputError as error:
                raise error if error.where else error.add_location(f"{path}: {name}") from error
    named |= _read_named(options.also, options)
    replication = _run_paper("study", named, choices | {"related": related}, options, options.out)
    return Result((str(replication), f"written to {options.out / 'study'}.html and .md"))


def _read_list(path: Path) -> dict[str, dict[str, Any]]:
    """Return what a file says of collections, by name: at least the files of each."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), remedy="give a TOML file") from error
    for name, entry in tables.items():
        where = f"{path}: {name}"
        if not isinstance(entry, dict) or not entry.get("files"):
            raise InputError("has no files", where=where, remedy=f"list files below [{name}]")
        for key, value in entry.items():
            if key not in LISTED:
                raise refuse_unknown("key", key, tuple(LISTED), what="key of a collection").add_location(
                    where
                )
            if not isinstance(value, LISTED[key]):
                kind = {list: "a list", str: "a text", bool: "true or false"}[LISTED[key]]
                raise InputError(f"{key} is {value!r}", where=where, remedy=f"make it {kind}")
    return tables


def _run_paper(paper: str, data: Any, choices: dict[str, Any], options: Options, folder: Path) -> Replication:
    """Run the experiment of a paper, here or on a cluster, and write its page."""
    with (
        on_cluster(options.cluster, options.quiet, KEPT) as executor,
        show_progress("steps", options.quiet) as bar,
    ):
        # a worker has one processor
        jobs = options.jobs if executor is None else 1
        experiment = EXPERIMENTS[paper](**choices | {"jobs": jobs})
        try:
            replication = experiment.run(data, executor=executor, folder=folder, progress=bar)
        except InputError as error:
            if error.where or not options.inputs:
                raise
            raise error.add_location(str(options.inputs[0])) from error
    replication.write(folder)
    return replication


def _read_data(paper: str, options: Options) -> Any:
    """Read what a paper needs: a collection, scores, several of either, scores with repeats, or nothing."""
    if paper == "j15":
        return _read_repeats(options) if options.inputs else None
    data = _read_source(options.inputs, options)
    # A file of related runs is not a collection.
    further = options.also if isinstance(options.also, list) else []
    return {FIRST: data, **_read_named(further, options)} if further else data


def _read_named(further: list[str], options: Options) -> dict[str, Any]:
    """Read collections given as NAME=FILES, or as files, which name them."""
    named = {}
    for also in further:
        name, equals, files = also.partition("=")
        paths = split_paths(files if equals else also)
        named[name if equals else Path(bare_name(paths[0])).stem] = _read_source(paths, options)
    return named


def _read_source(files: list[Path], options: Options) -> Any:
    """Read a collection, or the scores of a table."""
    reader = inputs.InputReader(options.change(inputs=list(files))).check()
    if not reader.is_table:
        for measure in options.measure:
            # refused before the long work
            parse_measure(measure)
        if reader.options.instances:
            reader = reader.change(instances=[])
        return reader.read_collection()
    return _read_table(reader)


def _read_table(reader: inputs.InputReader) -> xr.Dataset:
    """Read a table; one measure that was asked for names scores that have no name."""
    if len(reader.options.measure) == 1:
        tables = reader.change(measure=[]).read_input().tables
        if list(tables) == [inputs.UNNAMED]:
            named = tables[inputs.UNNAMED].declare(name=reader.options.measure[0])
            return xr.Dataset({named.measure.name: named.to_xarray()})
    return xr.Dataset({name: table.to_xarray() for name, table in reader.read_input().tables.items()})


def _read_repeats(options: Options) -> xr.DataArray:
    """Read scores with repeats, from a table or from runs that a pattern groups."""
    reader = inputs.InputReader(options).check()
    if reader.is_table:
        scores = _read_table(reader)
        return scores[next(iter(scores.data_vars))]
    if not reader.options.instances:
        raise InputError(
            "cannot tell which runs are repeats of one system, which J15 needs",
            where=str(options.inputs[0]),
            remedy="name them by a pattern, as in --instances '{system}_seed{instance}.run'",
        )
    return reader.change(measure=reader.options.measure or [REPEATED_MEASURE]).read_input().first.to_xarray()
