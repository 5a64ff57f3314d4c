"""Tables of systems with repeated scores: each repeat by itself, the spread of p, shares of variance, settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shardwise import plot
from shardwise.cli.cluster import on_cluster
from shardwise.cli.compare import show_comparisons
from shardwise.cli.inputs import Read, fill_gaps
from shardwise.cli.options import Format, Margin, parse_words
from shardwise.cli.output import Result
from shardwise.cli.parsing import Options
from shardwise.comparing.equivalence import smallest_setting
from shardwise.comparing.instances import compare_instances, single_instance_tests
from shardwise.core.arguments import lend_executor
from shardwise.core.claim import format_count, pluralize_noun, translate_term
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd, xr
from shardwise.core.scores import as_scores
from shardwise.core.text import list_columns
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.repeats.unified import seeds_or_samples
from shardwise.planning.plans import p_value_spread
from shardwise.planning.variances import variance_components

DEFAULT_MARGIN = Margin("0.01")
"""Margin of settings that may be no worse than the baseline, where none is given."""


def show_repeats(options: Options, read: Read) -> Result:
    """Return a table of repeated scores.

    Parameters
    ----------
    options : Options
        Options of the command.
    read : Read
        The input.
    """
    scores = read.pick_measure()
    if "instance" not in scores.dims:
        raise InputError(
            "has one score of each system on each topic",
            where=str(read.files[0]),
            remedy="give repeated scores, or name their column: --columns instance=seed",
        )
    if options.report is not None:
        raise InputError(
            "a report needs a method for all systems",
            remedy=(
                "choose another ",
                Option("method"),
                " or ",
                Option("table"),
                ", or remove ",
                Option("report"),
            ),
        )
    options = options.for_measure(read.measures[0])
    filled, notes = fill_gaps(scores, options.fill)
    table = filled.to_xarray()
    with on_cluster(options.cluster, options.quiet) as executor, lend_executor(executor):
        shown = TABLES.get(options.table, _show_pair)(table, options)
    assert shown.table is not None
    noun = _name_repeat(table)
    words = (
        {"instance": noun, "instances": pluralize_noun(noun)} if options.chosen_format is Format.text else {}
    )
    renamed = {words.get(name, name): values for name, values in list_columns(shown.table).items()}
    return replace(shown, table=renamed, notes=(*read.notes, *notes))


def _system_names(table: xr.DataArray, options: Options) -> list[str]:
    """The systems that take part, the better first."""
    means = table.mean([dim for dim in table.dims if dim != "system"], skipna=True)
    order = np.argsort(-as_scores(table).measure.sign * means.to_numpy(), kind="stable")
    names = [str(means["system"].to_numpy()[k]) for k in order]
    wanted = {*options.only, *options.baseline} if options.only else set(names)
    return [name for name in names if name in wanted]


def _choose_pair(table: xr.DataArray, options: Options) -> tuple[str, str]:
    """The only two systems, with the baseline second, or the better first."""
    names = _system_names(table, options)
    if len(names) != 2:
        raise InputError(
            f"{format_count(len(names), 'system')}, but this needs two",
            remedy="choose two: --only A --only B",
        )
    if options.baseline[:1] == names[:1]:
        names.reverse()
    return names[0], names[1]


def _show_pair(table: xr.DataArray, options: Options) -> Result:
    """Two systems by one of the methods for repeats."""
    a, b = (table.sel(system=name) for name in _choose_pair(table, options))
    how: Any = {"method": "mixed", "design": "unified"} | (parse_words(options.method, "repeats") or {})
    pairs = compare_instances(a, b, repeats=options.repeats or "seeds", seed=options.seed, **how)
    return show_comparisons(
        pairs,
        options,
        [pairs.summary(options.alpha), *pairs.notes],
        by_pairs=True,
        repeats="",
        model=how["design"],
        measure=str(table.name or "score"),
    )


def _show_seeds(table: xr.DataArray, options: Options) -> Result:
    """The test of each repeat by itself (J15 Fig. 7)."""
    a, b = _choose_pair(table, options)
    frame = single_instance_tests(table.sel(system=a), table.sel(system=b), options.alpha)
    counts = frame["verdict"].value_counts()
    summary = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    noun = _name_repeat(table)
    title = f"each {noun} of {a} against {b} by itself: {summary}"
    facts = {"a": a, "b": b, "alpha": options.alpha}
    return Result(
        (title,),
        frame,
        facts=facts,
        chart=lambda: plot.single_instance_chart(frame, noun=noun, pair=f"{a} − {b}"),
    )


def _show_spread(table: xr.DataArray, options: Options) -> Result:
    """How much p depends on which repeats one has (J15 Fig. 9)."""
    a, b = _choose_pair(table, options)
    frame = p_value_spread(table.sel(system=a), table.sel(system=b), seed=options.seed)
    noun = _name_repeat(table)
    title = f"p of {a} against {b} by the number of {pluralize_noun(noun)}, resampled with replacement"
    return Result(
        (title,),
        frame,
        facts={"a": a, "b": b},
        chart=lambda: plot.p_spread_chart(frame, alpha=options.alpha, noun=noun),
    )


def _show_shares(table: xr.DataArray, options: Options) -> Result:
    """Where the variance comes from."""
    chosen, nouns = table.sel(system=_system_names(table, options)), as_scores(table).nouns
    two = chosen.sizes["system"] == 2
    sources = (chosen.isel(system=0), chosen.isel(system=1)) if two else (chosen,)
    gaps = bool(chosen.isnull().any())
    parts = mixed(chosen).variance_components if gaps else variance_components(*sources)
    total = sum(parts.values())
    rows = [
        {
            "component": translate_term(term, nouns),
            "variance": v,
            "sd": v**0.5,
            "share": v / total if total else np.nan,
        }
        for term, v in parts.items()
    ]
    drawn = partial(plot.chart, parts, nouns=nouns)
    return Result(
        (str(seeds_or_samples(table)),), pd.DataFrame(rows), facts={"where": parts.where}, chart=drawn
    )


def _show_settings(table: xr.DataArray, options: Options) -> Result:
    """The smallest setting not worse than the baseline; a setting is the number in a system's name (J15 Fig. 12)."""
    if len(options.baseline) != 1:
        raise InputError("settings need a baseline", remedy=("name it with ", Option("baseline")))
    (baseline,) = options.baseline
    margin = DEFAULT_MARGIN if options.margin is None else options.margin
    side = "lower" if margin.side == "both" else margin.side
    results = {}
    for name in _system_names(table, options):
        if name == baseline:
            continue
        number = re.findall(r"\d+(?:\.\d+)?", name)
        if not number:
            raise InputError(f"system {name!r} has no number in its name", remedy="leave it out with --only")
        a, b = table.sel(system=name), table.sel(system=baseline)
        results[float(number[-1])] = compare_instances(a, b, repeats=options.repeats or "seeds")
    series = smallest_setting(results, float(margin), side, method=margin.verdict, alpha=options.alpha)
    facts = {"claim": series.claim, "margin": float(margin), "side": side, "smallest": series.smallest}
    return Result(
        (str(series),),
        series.table,
        facts=facts,
        chart=lambda: series.plot(measure=str(table.name or "score")),
    )


def _name_repeat(table: xr.DataArray) -> str:
    """The user's word for a repeat."""
    return as_scores(table).nouns.get("instance", "instance")


TABLES: dict[str, Callable[[xr.DataArray, Options], Result]] = {
    "seeds": _show_seeds,
    "spread": _show_spread,
    "shares": _show_shares,
    "settings": _show_settings,
}
