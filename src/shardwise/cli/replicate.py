"""shardwise replicate: the tables and figures of a paper, of anybody's runs, into a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from shardwise.cli import inputs
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands.replicate import F19Options, FF21Options, J15Options, S14Options, V17Options
from shardwise.cli.design import paths_of
from shardwise.cli.output import progress, terminal
from shardwise.cli.shared import current
from shardwise.core.errors import InputError, Option
from shardwise.papers import Replication, f19, ff21, j15, s14, v17
from shardwise.scoring.measures.names import parse_measure

KEPT = "steps that were done are kept"
OF_RUNS = ("measure", "shards", "splits", "fill", "corpus", "names", "depth", "related", "pool_depth")


def replicate_f19(options: F19Options) -> None:
    """Ferro & Sanderson 2019."""
    _check(options.measure)
    fill = inputs.fill_policy(options.fill)
    _replicate(
        f19,
        options,
        measures=options.measure,
        shards=options.shards,
        samples=options.splits,
        alpha=options.alpha,
        fill=fill,
        corpus=corpus(options.corpus),
        seed=options.seed,
    )


def replicate_ff21(options: FF21Options) -> None:
    """Faggioli & Ferro 2021."""
    _check(options.measure)
    if len(options.inputs) == 1:
        raise InputError(
            "a table of scores has no documents to divide",
            where=str(options.inputs[0]),
            remedy="give a qrels file and runs",
        )
    _replicate(
        ff21,
        options,
        measures=options.measure,
        shards=options.shards,
        fill_shards=options.fill_shards,
        samples=options.splits,
        n_resamples=options.resamples,
        alpha=options.alpha,
        corpus=corpus(options.corpus),
        seed=options.seed,
    )


def replicate_v17(options: V17Options) -> None:
    """Voorhees, Samarov & Soboroff 2017."""
    _check(options.measure)
    _replicate(
        v17,
        options,
        sets=None if options.related is None else related(options.related),
        measures=options.measure or None,
        shards=options.shards,
        n_splits=options.splits,
        n_resamples=options.resamples,
        corpus=corpus(options.corpus),
        seed=options.seed,
    )


def replicate_j15(options: J15Options) -> None:
    """Jayasinghe et al. 2015."""
    data: Any = None
    if options.inputs:
        data = (
            inputs.RunInputs(inputs=tuple(options.inputs), missing=options.missing, quiet=options.quiet)
            .read()
            .one()
        )
    with (
        on_cluster(options.cluster, options.quiet, KEPT) as executor,
        progress("steps", options.quiet) as bar,
    ):
        found = j15(
            data,
            options.baseline,
            margin=options.margin,
            pools=options.pools,
            repetitions=options.repetitions,
            n_resamples=options.resamples,
            seed=options.seed,
            executor=executor,
            folder=options.out,
            progress=bar,
        )
    _write(found, options)


def replicate_s14(options: S14Options) -> None:
    """Sakai 2014."""

    def paper(data: Any, **choices: Any) -> Replication:
        further = {also: _data(paths_of(also), options) for also in options.also}
        return s14({"collection": data, **further}, **choices)

    _replicate(paper, options, depths=options.pool_depth or None, method=options.method)


def _data(files: tuple[Path, ...], options: Any) -> Any:
    """A collection, or a table of scores where there is one file."""
    if len(files) == 1:
        _refuse_idle(files[0])
        return inputs.RunInputs(inputs=files, missing=options.missing, quiet=options.quiet).read().one()
    return inputs.RunInputs(
        inputs=files, missing=options.missing, names=options.names, depth=options.depth, jobs=options.jobs,
        quiet=options.quiet,
    ).collection()  # fmt: skip


def _check(measures: list[str]) -> None:
    for measure in measures:
        parse_measure(measure)  # refused before the long work


def related(path: Path) -> dict[str, list[str]]:
    """Sets of two or more related runs out of a table with the columns run and team."""
    table = pd.read_csv(path, dtype=str)
    absent = [name for name in ("run", "team") if name not in table.columns]
    if absent:
        raise InputError(
            f"has no column {absent[0]!r}", where=str(path), remedy="name the columns run and team"
        )
    sets = {str(team): [str(run) for run in runs] for team, runs in table.groupby("team")["run"]}
    return {team: runs for team, runs in sets.items() if len(runs) > 1}


def _replicate(paper: Callable[..., Replication], options: Any, **choices: Any) -> None:
    """Read runs, or a table of scores, and write what the paper makes of them."""
    data = _data(tuple(options.inputs), options)
    with (
        on_cluster(options.cluster, options.quiet, KEPT) as executor,
        progress("steps", options.quiet) as bar,
    ):
        jobs = options.jobs if executor is None else 1  # a worker has one processor
        found = paper(data, jobs=jobs, executor=executor, folder=options.out, progress=bar, **choices)
    _write(found, options)


def _write(found: Replication, options: Any) -> None:
    found.write(options.out)
    if not options.quiet:
        said = terminal()
        said.print(str(found), markup=False)
        said.print(f"written to {options.out / found.paper.lower()}.html and .md", markup=False)


def _refuse_idle(path: Path) -> None:
    call = current()
    said = [name for name in OF_RUNS if call is not None and name in call.given]
    if said:
        words = [part for name in said for part in (", ", Option(name))][1:]
        does, them = ("do nothing", "them") if len(said) > 1 else ("does nothing", "it")
        raise InputError(
            (*words, f" {does} with a table of scores"),
            where=str(path),
            remedy=f"leave {them} out, or give a qrels file and runs",
        )


def corpus(text: str | None) -> int | str | None:
    """The size of a corpus, or the file that lists it."""
    return int(text) if text is not None and text.isdecimal() else text
