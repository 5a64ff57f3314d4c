"""shardwise design: how many topics, how deep a pool, at what cost."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from shardwise import plot
from shardwise.cli.commands.design import (
    IntervalOptions,
    PlanEquivalenceOptions,
    PlanInstancesOptions,
    PoolsOptions,
    PowerOptions,
    Repeated,
    Sourced,
    TableOptions,
)
from shardwise.cli.config import NothingGiven
from shardwise.cli.inputs import RunInputs, single
from shardwise.cli.output import draw, emit, progress
from shardwise.cli.shared import current
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError, Option
from shardwise.core.variance_components import VarianceComponents
from shardwise.fits.mixed import mixed
from shardwise.planning.components import variance_components
from shardwise.planning.instances import plan_equivalence, plan_instances, what_next
from shardwise.planning.pools import pool_depth_study
from shardwise.planning.tables import design_curve, design_table
from shardwise.planning.topics import (
    METHODS,
    SHORT,
    min_diff_at,
    power_at,
    topics_for_interval,
    topics_for_power,
    width_at,
)
from shardwise.planning.variances import variance as estimate
from shardwise.scoring.scoring import score

STATED = ("measure", "variance_method", "missing", "columns", "system", "jobs")
"""Options that say how a variance is estimated, and nothing where it is stated."""


def power(options: PowerOptions) -> None:
    """Print the topics needed to find a difference, or what a number of topics finds."""
    format, method = options.shown, options.method
    known, notes = _variances(options)
    rows = []
    for name, sigma_sq in known.items():
        for m, a in product(options.systems, options.alpha):
            given: dict[str, Any] = {"variance": sigma_sq, "systems": m, "alpha": a, "method": method}
            for d, p in product(options.min_diff, options.power):
                row = {"measure": name, "variance": sigma_sq, "systems": m, "alpha": a, "min_diff": d}
                if not options.topics:
                    rows.append({**row, "power": p, "topics": topics_for_power(min_diff=d, power=p, **given)})
                    continue
                for n in options.topics:
                    reached = power_at(n=n, min_diff=d, **given)
                    least = min_diff_at(n=n, power=p, **given)
                    rows.append(
                        {**row, "topics": n, "power": reached, "target": p, "min_diff_at_target": least}
                    )
    if options.chart is not None:
        draw(plot.topics_chart(_power_curve(known, options), "min_diff"), options.chart)
    shown = METHODS[SHORT.get(method, method)]
    title = f"{shown}: what the topics reach" if options.topics else f"{shown}: topics needed"
    emit(_plain(rows), format, options.out, title=title, notes=notes, facts={"method": shown})


def interval(options: IntervalOptions) -> None:
    """Print the topics needed for intervals of a width, or the width that a number of topics gives."""
    if options.topics:
        _refuse(("width",), "topics")
    format = options.shown
    known, notes = _variances(options)
    rows = []
    for (name, sigma_sq), a in product(known.items(), options.alpha):
        row = {"measure": name, "variance": sigma_sq, "alpha": a}
        if not options.topics:
            rows += [
                {**row, "width": w, "topics": topics_for_interval(variance=sigma_sq, width=w, alpha=a)}
                for w in options.width
            ]
        else:
            rows += [
                {**row, "topics": n, "width": width_at(n=n, variance=sigma_sq, alpha=a)}
                for n in options.topics
            ]
    if options.chart is not None:
        draw(
            plot.topics_chart(_interval_curve(known, options.width, options.alpha[0]), "width"), options.chart
        )
    title = "expected width of the interval for a difference of two systems"
    emit(_plain(rows), format, options.out, title=title, notes=notes, facts={"method": title})


def table(options: TableOptions) -> None:
    """Print the topics needed over a grid, measures side by side."""
    format, method, width = options.shown, options.method, options.width or None
    if width is not None:
        _refuse(("min_diff", "systems", "power", "method"), "width")
    known, notes = _variances(options)
    grid = design_table(
        known,
        min_diff=options.min_diff,
        systems=options.systems,
        alpha=options.alpha,
        power=options.power,
        method=method,
        width=width,
    )
    each = product(options.power, known)
    names = list(known) if width is not None else [f"{name}, power {p:g}" for p, name in each]
    flat = grid.set_axis(names, axis="columns").reset_index()
    if options.chart is not None and width is not None:
        draw(plot.topics_chart(_interval_curve(known, width, options.alpha[0]), "width"), options.chart)
    elif options.chart is not None:
        curve = design_curve(
            known,
            systems=np.unique(np.geomspace(2, max(2, *options.systems) * 2, 40).astype(int)).tolist(),
            min_diff=options.min_diff[0],
            alpha=options.alpha[0],
            power=options.power[0],
            method=method,
        )
        draw(plot.topics_chart(curve), options.chart)
    goal = "intervals" if width is not None else METHODS[SHORT.get(method, method)]
    facts: dict[str, Any] = {"method": goal, "variances": known}
    emit(flat, format, options.out, title=f"{goal}: topics needed", notes=notes, facts=facts)


def pools(options: PoolsOptions) -> None:
    """Print what each pool depth costs."""
    format = options.shown
    collection = RunInputs.of(options, tables=False).collection()
    study = pool_depth_study(
        collection,
        options.pool,
        options.measure,
        min_diff=options.min_diff,
        systems=options.systems,
        power=options.power,
        width=options.width,
        alpha=options.alpha,
        method=options.method,
        variance_method=options.variance_method,
        jobs=options.jobs,
    )
    if options.chart is not None:
        draw(plot.pool_chart(study), options.chart)
    notes = () if options.quiet else (*collection.notes, *study.notes)
    facts = {"goals": list(study.goals), "variance_method": study.variance_method}
    emit(study.table, format, options.out, title="; ".join(study.goals), notes=notes, facts=facts)


def instances(options: PlanInstancesOptions) -> None:
    """Print what more instances and more topics buy, and the instances needed to find a difference."""
    format = options.shown
    parts, sizes, notes = _components(options)
    how: dict[str, Any] = {"min_diff": options.min_diff, "alpha": options.alpha}
    more = {"more_instances": options.more_instances, "more_topics": options.more_topics}
    now = what_next(parts, sizes["instance"], sizes["topic"], **how, **more)
    needed = plan_instances(parts, **how, power=options.power, topics=options.topics).assign(what="needed")
    needed["half_width"] = stats.t.isf(options.alpha / 2.0, needed["df"]) * needed["se"]
    if options.chart is not None:
        draw(parts.plot("instances"), options.chart)
    rows = pd.concat([now.astype({"instances": "Int64"}), needed[now.columns]], ignore_index=True)
    title = f"what finds a difference of {options.min_diff:g}; needed for a power of {options.power:g}"
    facts = {"components": dict(parts), **how}
    emit(rows, format, options.out, title=f"{title}\n{parts}", notes=notes, facts=facts)


def equivalence(options: PlanEquivalenceOptions) -> None:
    """Print the instances that each number of topics needs to show equivalence."""
    format = options.shown
    parts, _, notes = _components(options)
    how: dict[str, Any] = {"margin": options.margin, "difference": options.difference, "alpha": options.alpha}
    rows = plan_equivalence(parts, **how, power=options.power, topics=options.topics)
    if options.chart is not None:
        draw(parts.plot("instances"), options.chart)
    title = f"what shows equivalence within ±{options.margin:g} with a power of {options.power:g}"
    facts = {"components": dict(parts), **how}
    emit(rows, format, options.out, title=f"{title}\n{parts}", notes=notes, facts=facts)


def _components(options: Repeated) -> tuple[VarianceComponents, dict[str, int], tuple[str, ...]]:
    """Variances of scores with instances, their sizes, and what was decided on the way."""
    read = RunInputs.of(options, inputs=options.sources).one_measure().read()
    scores = single(read)
    if "instance" not in scores.dims:
        raise InputError(
            "holds one score of each system on each topic, which does not show what instances add",
            where=str(read.files[0]),
            remedy="give scores of several instances of each system",
        )
    gaps = bool(scores.isnull().any())
    parts = mixed(scores).variance_components if gaps else variance_components(scores)
    sizes = {str(dim): int(n) for dim, n in scores.sizes.items()}
    return parts, sizes, () if options.quiet else read.notes


def _refuse(idle: tuple[str, ...], beside: str) -> None:
    """Refuse options that were named and do nothing beside another."""
    call = current()
    for name in idle:
        if call is not None and name in call.given:
            raise InputError((Option(name), " does nothing beside ", Option(beside)), remedy="leave one out")


def _variances(options: Sourced) -> tuple[dict[str, float], tuple[str, ...]]:
    """Variance of each measure, as stated or as estimated from scores or runs, and how it was found."""
    if bool(options.sources) == bool(options.variance):
        kind = InputError if options.sources else NothingGiven
        raise kind(
            "a variance is needed, stated or estimated",
            remedy="give --variance 0.053, or a table of scores, or a qrels file and runs, but one of them",
        )
    if options.variance:
        _refuse(STATED, "variance")
        return _stated(options.variance), ()
    source = RunInputs.of(options, inputs=options.sources)
    if source.table:
        whole = source.read().scores
    else:
        collection = source.collection()
        measures = list(source.measure or ("AP",))
        with progress("scoring", source.quiet) as told:
            whole = score(collection, measures, jobs=source.jobs, no_relevant="drop", progress=told)
    each = {str(name): estimate(whole[name], options.variance_method) for name in whole.data_vars}
    notes = tuple(str(one) for one in each.values())
    return {name: one.sigma_sq for name, one in each.items()}, () if options.quiet else notes


def _stated(given: list[str]) -> dict[str, float]:
    known: dict[str, float] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            known[name or ("topics" if len(given) == 1 else text)] = float(number)
        except ValueError:
            raise InputError(
                f"--variance {text!r} is not a number", remedy="write 0.053, or AP=0.053"
            ) from None
    return known


def _around(values: list[float]) -> Floats:
    """Points on both sides of the values asked for, evenly spread on a logarithmic axis."""
    return np.unique(np.round(np.geomspace(min(values) / 2, max(values) * 2, 25), 5))


def _power_curve(known: dict[str, float], options: PowerOptions) -> pd.DataFrame:
    spread = _around(options.min_diff)
    pieces = [
        pd.DataFrame(
            {
                "measure": _named(name, f"{m} systems", len(known), len(options.systems)),
                "min_diff": spread,
                "topics": topics_for_power(
                    variance=sigma_sq,
                    min_diff=spread,
                    systems=m,
                    alpha=options.alpha[0],
                    power=options.power[0],
                    method=options.method,
                ),
            }
        )
        for (name, sigma_sq), m in product(known.items(), options.systems)
    ]
    return pd.concat(pieces)


def _interval_curve(known: dict[str, float], width: list[float], alpha: float) -> pd.DataFrame:
    spread = _around(width)
    pieces = [
        pd.DataFrame(
            {
                "measure": name,
                "width": spread,
                "topics": topics_for_interval(variance=sigma_sq, width=spread, alpha=alpha),
            }
        )
        for name, sigma_sq in known.items()
    ]
    return pd.concat(pieces)


def _named(measure: str, systems: str, measures: int, counts: int) -> str:
    """What a line of the chart is called: only what tells it from the others."""
    if counts == 1:
        return measure
    return systems if measures == 1 else f"{measure}, {systems}"


def _plain(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a table; the measure is left out where a lone variance has no name."""
    frame = pd.DataFrame(rows)
    return frame.drop(columns="measure") if set(frame["measure"]) == {"topics"} else frame
