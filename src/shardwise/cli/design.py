"""shardwise design: how many topics, how deep a pool, at what cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise import plot
from shardwise.cli.commands import (
    BudgetOptions,
    IntervalOptions,
    PlanEquivalenceOptions,
    PlanRepeatsOptions,
    PoolsOptions,
    PowerOptions,
    Repeated,
    Sourced,
    TableOptions,
)
from shardwise.cli.conditions import Situation
from shardwise.cli.config import NothingGiven
from shardwise.cli.groups import Written
from shardwise.cli.inputs import InputReader, Read, pick_measure
from shardwise.cli.options import Format
from shardwise.cli.output import draw, emit, progress
from shardwise.cli.shared import check_options, was_given
from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import as_scores, nouns_of
from shardwise.core.variance_components import VarianceComponents
from shardwise.io.collection import Collection
from shardwise.methods.clusters import by_units
from shardwise.methods.mixed.fit import mixed
from shardwise.planning.components import variance_components
from shardwise.planning.instances import plan_equivalence
from shardwise.planning.judgments import plan_judgments
from shardwise.planning.pools import pool_depth_study, variance_for
from shardwise.planning.repeats import RepeatPlan, plan_answers, plan_repeats, repeat_components
from shardwise.planning.tables import design_curve, design_table
from shardwise.planning.topics import (
    METHODS,
    PAIRS,
    min_diff_at,
    power_at,
    topics_for_interval,
    topics_for_power,
    width_at,
)
from shardwise.planning.variances import VarianceEstimate, pool_variances
from shardwise.planning.variances import variance as estimate
from shardwise.scoring.scoring import score
from shardwise.writing.planning import write_answers_plan, write_repeat_plan

NAMELESS = ("topics", "score")  # what a variance goes by whose measure has no name
MOST_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class Source:
    """The variance of one measure that a plan starts from."""

    name: str
    variance: VarianceEstimate | float
    unpaired: VarianceEstimate | None = None  # what published tables would use, where it is another
    nouns: Mapping[str, str] = field(default_factory=dict)

    @property
    def sigma_sq(self) -> float:
        """The variance itself."""
        return float(self.variance)

    @property
    def df(self) -> float | None:
        """Degrees of freedom that its estimate is worth, where there is one."""
        found = self.variance.effective_df if isinstance(self.variance, VarianceEstimate) else np.nan
        return found if np.isfinite(found) else None

    def counted(self, n: int, what: str) -> str:
        """A number of topics or systems in the user's words."""
        return format_count(n, self.nouns.get(what, what))

    @property
    def each(self) -> str:
        """Topic by topic, in the user's words."""
        return " by ".join([self.nouns.get("topic", "topic")] * 2)

    @property
    def of(self) -> str:
        """The measure, as part of a sentence."""
        return f" in {self.name}" if self.name not in NAMELESS else ""


def power(options: PowerOptions) -> None:
    """Print the topics needed to find a difference, or what a number of topics finds."""
    format = options.shown
    if (repeated := _find_repeats(options)) is not None:
        _plan_power(options, repeated)
        return
    known, notes = _variances(options, options.test or None)
    rows, said = [], []
    for one, m, a in product(known, options.systems, options.alpha):
        method = options.test or _usual(one)
        given: dict[str, Any] = {"variance": one.variance, "systems": m, "alpha": a, "method": method}
        for d, p in product(options.min_diff, options.power):
            row = {"measure": one.name, "variance": one.sigma_sq, "systems": m, "alpha": a, "min_diff": d}
            if options.topics:
                for n in options.topics:
                    reached = {"topics": n, "power": power_at(n=n, min_diff=d, **given)}
                    if one.df is not None:
                        reached["assurance"] = power_at(n=n, min_diff=d, df=one.df, **given)
                    least = min_diff_at(n=n, power=p, **given)
                    rows.append({**row, **reached, "target": p, "min_diff_at_target": least})
                    said.append(_finds(one, rows[-1], method))
                continue
            rows.append({**row, "power": p, "topics": topics_for_power(min_diff=d, power=p, **given)})
            if one.df is not None:
                rows[-1]["topics_assured"] = topics_for_power(min_diff=d, power=p, df=one.df, **given)
            said.append(_needs(one, rows[-1], method))
    if options.chart is not None:
        draw(plot.topics_chart(_power_curve(known, options), "min_diff"), options.chart)
    methods = dict.fromkeys(METHODS[options.test or _usual(one)] for one in known)
    shown = "; ".join(methods)
    title = f"{shown}: what the topics reach" if options.topics else f"{shown}: topics needed"
    emit(_plain(rows), format, options.out, title=_told(said, title), notes=notes, facts={"method": shown})


def interval(options: IntervalOptions) -> None:
    """Print the topics needed for intervals of a width, or the width that a number of topics gives."""
    check_options(Situation(options))
    format = options.shown
    known, notes = _variances(options, None)
    rows, said = [], []
    for one, a in product(known, options.alpha):
        row = {"measure": one.name, "variance": one.sigma_sq, "alpha": a}
        given: dict[str, Any] = {"variance": one.variance, "alpha": a}
        asked = options.topics or options.width
        for x in asked:
            n = int(x) if options.topics else int(np.asarray(topics_for_interval(width=x, **given)))
            width = float(np.asarray(width_at(n=n, **given))) if options.topics else float(x)
            rows.append(
                {
                    **row,
                    **({"topics": n, "width": width} if options.topics else {"width": width, "topics": n}),
                }
            )
            said.append(
                f"{one.counted(n, 'topic')} give {1 - a:.0%} confidence intervals of a difference{one.of} of"
                f" {one.counted(2, 'system')} that are {width:.3g} wide on average (± {width / 2:.3g})"
            )
    if options.chart is not None:
        draw(
            plot.topics_chart(_interval_curve(known, options.width, options.alpha[0]), "width"), options.chart
        )
    title = "expected width of the confidence interval of a difference of two systems"
    emit(_plain(rows), format, options.out, title=_told(said, title), notes=notes, facts={"method": title})


def table(options: TableOptions) -> None:
    """Print the topics needed over a grid, measures side by side."""
    format, width = options.shown, options.width or None
    check_options(Situation(options))
    sources, notes = _variances(options, options.test or None)
    known = {one.name: one.variance for one in sources}
    method = options.test or _usual(sources[0])
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
        draw(plot.topics_chart(_interval_curve(sources, width, options.alpha[0]), "width"), options.chart)
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
    goal = "intervals" if width is not None else METHODS[method]
    facts: dict[str, Any] = {"method": goal, "variances": {one.name: one.sigma_sq for one in sources}}
    emit(
        flat,
        format,
        options.out,
        title=f"{goal}: topics needed",
        notes=notes,
        facts=facts,
        quiet=options.quiet,
    )


def pools(options: PoolsOptions) -> None:
    """Print what each pool depth costs."""
    format = options.shown
    collections, how, notes = _pools(options)
    with progress("judging pools", options.quiet) as told:
        study = pool_depth_study(
            collections, min_diff=options.min_diff, width=options.width, progress=told, **how
        )
    if options.chart is not None:
        draw(plot.pool_chart(study), options.chart)
    said = [
        f"{row['measure']}: pools of depth {row['depth']} take the fewest judgments, {row['judgments_power']:,} on"
        f" {format_count(row['topics_power'], 'topic')}, for {study.goals[0]}"
        for row in study.cheapest().to_dict("records")
    ]
    facts = {"goals": list(study.goals), "variance_method": study.variance_method}
    title = "\n".join([*said, "; ".join(study.goals)])
    shown = () if options.quiet else (*notes, *study.notes)
    emit(study.table, format, options.out, title=title, notes=shown, facts=facts, quiet=options.quiet)


def budget(options: BudgetOptions) -> None:
    """Print what a number of judgments can tell apart at each pool depth."""
    format = options.shown
    if (repeated := _find_repeats(options)) is not None:
        _plan_answers(options, repeated)
        return
    collections, how, notes = _pools(options)
    with progress("judging pools", options.quiet) as told:
        plan = plan_judgments(
            collections, options.judgments, topic_cost=options.topic_cost, progress=told, **how
        )
    if options.chart is not None:
        draw(plan.plot(), options.chart)
    facts = {"judgments": options.judgments, "topic_cost": options.topic_cost, "systems": options.systems}
    facts |= {"alpha": options.alpha, "power": options.power}
    shown = () if options.quiet else (*notes, *plan.notes)
    emit(
        plan.table,
        format,
        options.out,
        title="\n".join(plan.sentences()),
        notes=shown,
        facts=facts,
        quiet=options.quiet,
    )


def _pools(options: PoolsOptions | BudgetOptions) -> tuple[list[Collection], dict[str, Any], tuple[str, ...]]:
    """Collections to make pools of, how, and what was decided on the way."""
    first = InputReader.of(options, tables=False)
    each = [first, *(replace(first, inputs=split_paths(also)) for also in options.also)]
    collections = [one.collection() for one in each]
    how = {"depths": options.pool, "measure": options.measure, "systems": options.systems}
    how |= {name: getattr(options, name) for name in ("power", "alpha", "jobs")}
    how["method"] = options.test
    how["variance_method"] = options.variance_method or None
    return collections, how, tuple(note for one in collections for note in one.notes)


def repeats(options: PlanRepeatsOptions) -> None:
    """Print how many more items or repeats detect a difference, and what they cost."""
    read = InputReader.of(options, inputs=options.inputs).one_measure().read()
    scores = pick_measure(read)
    _require_repeats(scores, read.files[0])
    plan = plan_repeats(
        scores,
        min_diff=options.min_diff,
        power=options.power,
        alpha=options.alpha,
        systems=options.systems,
        kind=options.repeats,
        topic_cost=options.topic_cost,
        answer_cost=options.answer_cost,
    )
    if options.chart is not None:
        draw(plan.components.plot("instances"), options.chart)
    priced = bool(options.topic_cost) or options.answer_cost != 1.0
    _show_repeat_plan(plan, scores, options, () if options.quiet else read.notes, priced)


def _require_repeats(scores: xr.DataArray, where: Path) -> None:
    if "instance" not in scores.dims:
        raise InputError(
            "has one score of each system on each topic, so repeats cannot be planned",
            where=str(where),
            remedy="give repeated scores of each system, or name their column: --columns instance=sample",
        )


def _show_repeat_plan(
    plan: RepeatPlan, scores: xr.DataArray, options: Written, notes: tuple[str, ...], priced: bool
) -> None:
    """Print the plans, the sentences first."""
    nouns = nouns_of(by_units(as_scores(scores))[0])
    frame = plan.to_frame()
    if options.shown is Format.text:
        words = {"topic": pluralize_noun(nouns.get("topic", "topic")), "instance": plan.kind}
        frame = frame.rename(columns={"topics": words["topic"], "instances": words["instance"]})
    facts = {
        "components": dict(plan.components),
        "repeats": plan.kind,
        "systems": plan.systems,
        "min_diff": plan.min_diff,
        "alpha": plan.alpha,
    }
    title = "\n".join(write_repeat_plan(plan, nouns, priced))
    emit(frame, options.shown, options.out, title=title, notes=notes, facts=facts, quiet=options.quiet)


def _find_repeats(options: PowerOptions | BudgetOptions) -> Read | None:
    """Read a table whose scores have repeats; None for anything else."""
    if not options.inputs or getattr(options, "variance", None) or options.also:
        return None
    reader = InputReader.of(options, inputs=options.inputs)
    if not reader.is_table or reader.is_streamed:
        return None
    # The measure of runs that nobody named has no meaning in a table.
    read = (reader if was_given("measure") else replace(reader, measure=())).read()
    return read if "instance" in read.dims else None


def _plan_power(options: PowerOptions, read: Read) -> None:
    """Print the plans for scores with repeats."""
    scores = pick_measure(read)
    for name in ("min_diff", "alpha", "power", "systems"):
        if len(getattr(options, name)) > 1:
            raise InputError(
                (Option(name), " takes one value for scores with repeats"), remedy="run it once for each"
            )
    if options.topics or options.test not in ("", "moderated"):
        idle = "topics" if options.topics else "test"
        raise InputError(
            (Option(idle), " has no effect on scores with repeats"),
            remedy="remove it, or give a table of means over the repeats",
        )
    plan = plan_repeats(
        scores,
        min_diff=options.min_diff[0],
        power=options.power[0],
        alpha=options.alpha[0],
        systems=options.systems[0],
    )
    _show_repeat_plan(plan, scores, options, () if options.quiet else read.notes, False)


def _plan_answers(options: BudgetOptions, read: Read) -> None:
    """Print how a number of answers is best spent on items and repeats."""
    scores = pick_measure(read)
    parts, kind = repeat_components(scores)
    how: dict[str, Any] = {"systems": options.systems, "power": options.power, "alpha": options.alpha}
    frame = plan_answers(parts, kind, options.judgments, topic_cost=options.topic_cost, **how)
    best = frame.sort_values("detectable", kind="stable").to_dict("records")[0]
    nouns = nouns_of(by_units(as_scores(scores))[0])
    title = write_answers_plan(best, nouns, kind, options.judgments, options.power)
    facts = {"judgments": options.judgments, "topic_cost": options.topic_cost, **how}
    notes = () if options.quiet else read.notes
    emit(frame, options.shown, options.out, title=title, notes=notes, facts=facts, quiet=options.quiet)


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
    emit(rows, format, options.out, title=f"{title}\n{parts}", notes=notes, facts=facts, quiet=options.quiet)


def _components(options: Repeated) -> tuple[VarianceComponents, dict[str, int], tuple[str, ...]]:
    """Variances of scores with instances, their sizes, and what was decided on the way."""
    read = InputReader.of(options, inputs=options.inputs).one_measure().read()
    scores = pick_measure(read)
    _require_repeats(scores, read.files[0])
    gaps = bool(scores.isnull().any())
    parts = mixed(scores).variance_components if gaps else variance_components(scores)
    sizes = {str(dim): int(n) for dim, n in scores.sizes.items()}
    return parts, sizes, () if options.quiet else read.notes


def _variances(options: Sourced, method: str | None) -> tuple[list[Source], tuple[str, ...]]:
    """Variance of each measure, as stated or as the planned test needs it from scores or runs, and how it was found."""
    if bool(options.inputs) == bool(options.variance):
        kind = InputError if options.inputs else NothingGiven
        raise kind(
            "a variance is needed, stated or estimated",
            remedy="give --variance 0.053, or a table of scores, or a qrels file and runs, but one of them",
        )
    if options.variance:
        check_options(Situation(options))
        return [Source(name, sigma_sq) for name, sigma_sq in _stated(options.variance).items()], ()
    first = InputReader.of(options, inputs=options.inputs)
    each = [
        _scores(one) for one in (first, *(replace(first, inputs=split_paths(also)) for also in options.also))
    ]
    wanted = options.variance_method or variance_for(method or "moderated", None)
    found = pool_variances(estimate(scores, wanted) for scores in each)
    compared = wanted == "residual" and not method
    unpaired = pool_variances(estimate(scores, "two-way") for scores in each) if compared else {}
    nouns = nouns_of(next(iter(each[0].data_vars.values())))
    known = [Source(name, one, unpaired.get(name), nouns) for name, one in found.items()]
    return known, () if options.quiet else tuple(str(one.variance) for one in known)


def _scores(source: InputReader) -> xr.Dataset:
    """Scores of all measures of one collection."""
    if source.is_table:
        return source.read().scores
    collection = source.collection()
    with progress("scoring", source.quiet) as told:
        measures = list(source.measure or ("AP",))
        return score(collection, measures, jobs=source.jobs, progress=told)


def split_paths(also: str) -> tuple[Path, ...]:
    """Files of a further collection, between commas."""
    return tuple(Path(part.strip()) for part in also.split(","))


def _usual(one: Source) -> str:
    """The planned test where none is named: the default method for scores at hand, one-way for a stated variance."""
    if not isinstance(one.variance, VarianceEstimate) or one.variance.paired is False:
        return "exact"
    return "moderated"


def _range(one: Source, row: Mapping[str, Any], method: str) -> str:
    """The difference that is to be found, in words."""
    m = int(row["systems"])
    among = f"between {one.counted(2, 'system')}"
    if m > 2:
        what = "any two" if method in PAIRS else "best and worst"
        among = f"between {what} of {one.counted(m, 'system')}"
    return f"a difference of {row['min_diff']:g}{one.of} {among}"


def _needs(one: Source, row: Mapping[str, Any], method: str) -> str:
    """How many topics it takes, in a sentence."""
    paired = isinstance(one.variance, VarianceEstimate) and one.variance.paired
    n, power = int(row["topics"]), row["power"]
    said = f"{one.counted(n, 'topic')} find {_range(one, row, method)} with power {power:g} at level {row['alpha']:g}"
    said += f", compared {one.each}" if paired else ""
    if row.get("topics_assured", n) != n:
        said += f"; {row['topics_assured']:,} if the doubt about the variance counts"
    if one.unpaired is not None:
        asked = {name: row[name] for name in ("min_diff", "systems", "alpha", "power")}
        plain = int(np.asarray(topics_for_power(variance=one.unpaired, method="exact", **asked)))
        said += f"; {plain:,} if they were not compared {one.each}"
    return said


def _finds(one: Source, row: Mapping[str, Any], method: str) -> str:
    """What a number of topics finds, in a sentence."""
    topics = one.counted(int(row["topics"]), "topic")
    return (
        f"{topics} find {_range(one, row, method)} with power {row['power']:.2f} at level {row['alpha']:g};"
        f" with power {row['target']:g} they find {row['min_diff_at_target']:.3g}"
    )


def _told(sentences: Sequence[str], title: str) -> str:
    """The answers in words, where they are few, above what the table holds."""
    return "\n".join([*(sentences if len(sentences) <= MOST_SENTENCES else ()), title])


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


def _power_curve(known: Sequence[Source], options: PowerOptions) -> pd.DataFrame:
    spread = _around(options.min_diff)
    pieces = [
        pd.DataFrame(
            {
                "measure": _named(one.name, one.counted(m, "system"), len(known), len(options.systems)),
                "min_diff": spread,
                "topics": topics_for_power(
                    variance=one.variance,
                    min_diff=spread,
                    systems=m,
                    alpha=options.alpha[0],
                    power=options.power[0],
                    method=options.test or _usual(one),
                ),
            }
        )
        for one, m in product(known, options.systems)
    ]
    return pd.concat(pieces)


def _interval_curve(known: Sequence[Source], width: list[float], alpha: float) -> pd.DataFrame:
    spread = _around(width)
    pieces = [
        pd.DataFrame(
            {
                "measure": one.name,
                "width": spread,
                "topics": topics_for_interval(variance=one.variance, width=spread, alpha=alpha),
            }
        )
        for one in known
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
