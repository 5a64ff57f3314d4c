"""shardwise replicate: the tables and figures of a paper, of anybody's runs, into a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from shardwise.cli import inputs
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands import F19Options, FF21Options, J15Options, S14Options, V17Options
from shardwise.cli.design import split_paths
from shardwise.cli.output import open_terminal, show_progress
from shardwise.cli.shared import was_given
from shardwise.core.errors import InputError
from shardwise.papers import Replication, f19, ff21, j15, s14, v17
from shardwise.scoring.measures.names import parse_measure

KEPT = "steps that were done are kept"


def replicate_f19(options: F19Options) -> None:
    """Ferro & Sanderson 2019."""
    _check_measures(options.measure)
    fill = inputs.parse_fill(options.fill)
    _replicate_paper(
        f19,
        options,
        measures=options.measure,
        shards=options.shards,
        samples=options.splits,
        alpha=options.alpha,
        fill=fill,
        corpus=parse_corpus(options.corpus),
        seed=options.seed,
    )


def replicate_ff21(options: FF21Options) -> None:
    """Faggioli & Ferro 2021."""
    _check_measures(options.measure)
    if len(options.inputs) == 1:
        raise InputError(
            "a table of scores has no documents to divide",
            where=str(options.inputs[0]),
            remedy="give a qrels file and runs",
        )
    _replicate_paper(
        ff21,
        options,
        measures=options.measure,
        shards=options.shards,
        fill_shards=options.fill_shards,
        samples=options.splits,
        n_resamples=options.resamples,
        alpha=options.alpha,
        corpus=parse_corpus(options.corpus),
        seed=options.seed,
    )


def replicate_v17(options: V17Options) -> None:
    """Voorhees, Samarov & Soboroff 2017."""
    _check_measures(options.measure)
    _replicate_paper(
        v17,
        options,
        sets=None if options.related is None else read_related(options.related),
        measures=options.measure or None,
        shards=options.shards,
        n_splits=options.splits,
        n_resamples=options.resamples,
        corpus=parse_corpus(options.corpus),
        seed=options.seed,
    )


def replicate_j15(options: J15Options) -> None:
    """Jayasinghe et al. 2015."""
    data: Any = None
    if options.inputs:
        data = (
            inputs.InputReader(inputs=tuple(options.inputs), missing=options.missing, quiet=options.quiet)
            .read_input()
            .first_measure()
        )
    with (
        on_cluster(options.cluster, options.quiet, KEPT) as executor,
        show_progress("steps", options.quiet) as bar,
    ):
        replication = j15(
            data,
            next(iter(options.baseline), None),
            margin=options.margin,
            pools=options.pools,
            repetitions=options.repetitions,
            n_resamples=options.resamples,
            seed=options.seed,
            executor=executor,
            folder=options.out,
            progress=bar,
        )
    _write_replication(replication, options)


def replicate_s14(options: S14Options) -> None:
    """Sakai 2014."""

    def paper(data: Any, **choices: Any) -> Replication:
        further = {also: _read_data(split_paths(also), options) for also in options.also}
        return s14({"collection": data, **further}, **choices)

    _replicate_paper(paper, options, depths=options.pool or None, method=options.test)


def _read_data(files: tuple[Path, ...], options: Any) -> Any:
    """Read a collection, or a table of scores where there is one file."""
    reader = inputs.InputReader.from_options(options, inputs=files)
    if not reader.is_table:
        return reader.read_collection()
    # The measures of a paper are those of runs; a table has its own.
    return (
        replace(reader, measure=reader.measure if was_given("measure") else ()).read_input().first_measure()
    )


def _check_measures(measures: list[str]) -> None:
    for measure in measures:
        parse_measure(measure)  # refused before the long work


def read_related(path: Path) -> dict[str, list[str]]:
    """Sets of two or more related runs out of a table with the columns run and team."""
    table = pd.read_csv(path, dtype=str)
    absent = [name for name in ("run", "team") if name not in table.columns]
    if absent:
        raise InputError(
            f"has no column {absent[0]!r}", where=str(path), remedy="name the columns run and team"
        )
    sets = {str(team): [str(run) for run in runs] for team, runs in table.groupby("team")["run"]}
    return {team: runs for team, runs in sets.items() if len(runs) > 1}


def _replicate_paper(paper: Callable[..., Replication], options: Any, **choices: Any) -> None:
    """Read runs, or a table of scores, and write what the paper makes of them."""
    data = _read_data(tuple(options.inputs), options)
    with (
        on_cluster(options.cluster, options.quiet, KEPT) as executor,
        show_progress("steps", options.quiet) as bar,
    ):
        jobs = options.jobs if executor is None else 1  # a worker has one processor
        replication = paper(data, jobs=jobs, executor=executor, folder=options.out, progress=bar, **choices)
    _write_replication(replication, options)


def _write_replication(replication: Replication, options: Any) -> None:
    replication.write(options.out)
    if not options.quiet:
        screen = open_terminal()
        screen.print(str(replication), markup=False)
        screen.print(f"written to {options.out / replication.paper.lower()}.html and .md", markup=False)


def parse_corpus(text: str | None) -> int | str | None:
    """The size of a corpus, or the file that lists it."""
    return int(text) if text is not None and text.isdecimal() else text
