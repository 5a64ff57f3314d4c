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
from shardwise.cli.conditions import Situation, split_variances
from shardwise.cli.config import NothingGiven
from shardwise.cli.inputs import InputReader, Read, pick_measure
from shardwise.cli.options import Format
from shardwise.cli.output import emit_table, show_progress
from shardwise.cli.parsing import Options
from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import as_scores, nouns_of
from shardwise.core.variance_components import VarianceComponents
from shardwise.io.collection import Collection
from shardwise.methods.clusters import by_units
from shardwise.methods.mixed.fit import mixed
from shardwise.planning.design import (
    METHODS,
    PAIRS,
    Design,
    topics_for_interval,
    topics_for_power,
    variance_for,
)
from shardwise.planning.plans import (
    RepeatPlan,
    design_curve,
    design_table,
    plan_equivalence,
    plan_repeats,
)
from shardwise.planning.plans import plan_budget as split_budget
from shardwise.planning.pools import plan_pools as judge_pools
from shardwise.planning.variances import (
    VarianceEstimate,
    pool_variances,
    repeat_components,
    variance_components,
)
from shardwise.planning.variances import variance as estimate
from shardwise.plot.saving import save_chart
from shardwise.scoring.scoring import score
from shardwise.writing.planning import REPEAT_NOUNS, write_answers_plan, write_repeat_plan

NAMELESS = ("topics", "score")  # what a variance goes by whose measure has no name
MOST_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class VarianceSource:
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
        df = self.variance.effective_df if isinstance(self.variance, VarianceEstimate) else np.nan
        return df if np.isfinite(df) else None

    def format_count(self, n: int, what: str) -> str:
        """A number of topics or systems in the user's words."""
        return format_count(n, self.nouns.get(what, what))

    @property
    def each(self) -> str:
        """Topic by topic, in the user's words."""
        return " by ".join([self.nouns.get("topic", "topic")] * 2)

    @property
    def of_measure(self) -> str:
        """The measure, as part of a sentence."""
        return f" in {self.name}" if self.name not in NAMELESS else ""


def plan_power(options: Options) -> None:
    """Print the topics needed to find a difference, or what a number of topics finds."""
    if (repeated := _find_repeats(options)) is not None:
        _plan_power(options, repeated)
        return
    known, notes = _estimate_variances(options, options.method or None)
    rows, sentences = [], []
    for source, m, a in product(known, options.systems, options.alpha):
        method = options.method or _choose_test(source)
        given: dict[str, Any] = {"variance": source.variance, "systems": m, "alpha": a, "method": method}
        for d, p in product(options.min_diff, options.power):
            row = {
                "measure": source.name,
                "variance": source.sigma_sq,
                "systems": m,
                "alpha": a,
                "min_diff": d,
            }
            if options.topics:
                for n in options.topics:
                    design = Design(topics=n, min_diff=d, target=p, **given)
                    reached = {"topics": n, "power": design.power}
                    if source.df is not None:
                        reached["assurance"] = replace(design, variance_df=source.df).power
                    rows.append({**row, **reached, "target": p, "min_diff_at_target": design.detectable})
                    sentences.append(_describe_power(source, rows[-1], method))
                continue
            rows.append({**row, "power": p, "topics": topics_for_power(min_diff=d, power=p, **given)})
            if source.df is not None:
                rows[-1]["topics_assured"] = topics_for_power(min_diff=d, power=p, df=source.df, **given)
            sentences.append(_describe_need(source, rows[-1], method))
    if options.chart is not None:
        save_chart(plot.topics_chart(_power_curve(known, options), "min_diff"), options.chart)
    methods = dict.fromkeys(METHODS[options.method or _choose_test(source)] for source in known)
    shown = "; ".join(methods)
    topics = pluralize_noun(known[0].nouns.get("topic", "topic"))
    title = f"{shown}: what the {topics} reach" if options.topics else f"{shown}: {topics} needed"
    emit_table(
        _use_words(_make_table(rows), known[0].nouns, options.chosen_format),
        options,
        title=_join_sentences(sentences, title),
        notes=notes,
        facts={"method": shown},
    )


def plan_intervals(options: Options) -> None:
    """Print the topics needed for intervals of a width, or the width that a number of topics gives."""
    options.check_effects(Situation(options))
    known, notes = _estimate_variances(options, None)
    rows, sentences = [], []
    for source, a in product(known, options.alpha):
        row = {"measure": source.name, "variance": source.sigma_sq, "alpha": a}
        given: dict[str, Any] = {"variance": source.variance, "alpha": a}
        asked = options.topics or options.width
        for x in asked:
            n = int(x) if options.topics else int(np.asarray(topics_for_interval(width=x, **given)))
            width = Design(topics=n, **given).width if options.topics else float(x)
            rows.append(
                {
                    **row,
                    **({"topics": n, "width": width} if options.topics else {"width": width, "topics": n}),
                }
            )
            sentences.append(
                f"{source.format_count(n, 'topic')} give {1 - a:.0%} confidence intervals of a"
                f" difference{source.of_measure} of"
                f" {source.format_count(2, 'system')} that are {width:.3g} wide on average (± {width / 2:.3g})"
            )
    if options.chart is not None:
        save_chart(
            plot.topics_chart(_interval_curve(known, options.width, options.alpha[0]), "width"), options.chart
        )
    systems = pluralize_noun(known[0].nouns.get("system", "system"))
    title = f"expected width of the confidence interval of a difference of two {systems}"
    emit_table(
        _use_words(_make_table(rows), known[0].nouns, options.chosen_format),
        options,
        title=_join_sentences(sentences, title),
        notes=notes,
        facts={"method": title},
    )


def plan_table(options: Options) -> None:
    """Print the topics needed over a grid, measures side by side."""
    _format, width = options.chosen_format, options.width or None
    options.check_effects(Situation(options))
    sources, notes = _estimate_variances(options, options.method or None)
    known = {source.name: source.variance for source in sources}
    method = options.method or _choose_test(sources[0])
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
        save_chart(
            plot.topics_chart(_interval_curve(sources, width, options.alpha[0]), "width"), options.chart
        )
    elif options.chart is not None:
        curve = design_curve(
            known,
            systems=np.unique(np.geomspace(2, max(2, *options.systems) * 2, 40).astype(int)).tolist(),
            min_diff=options.min_diff[0],
            alpha=options.alpha[0],
            power=options.power[0],
            method=method,
        )
        save_chart(plot.topics_chart(curve), options.chart)
    goal = "intervals" if width is not None else METHODS[method]
    facts: dict[str, Any] = {
        "method": goal,
        "variances": {source.name: source.sigma_sq for source in sources},
    }
    topics = pluralize_noun(sources[0].nouns.get("topic", "topic"))
    table = _use_words(flat, sources[0].nouns, options.chosen_format)
    emit_table(table, options, title=f"{goal}: {topics} needed", notes=notes, facts=facts)


def plan_pools(options: Options) -> None:
    """Print what each pool depth costs."""
    collections, how, notes = _read_pools(options)
    with show_progress("judging pools", options.quiet) as bar:
        study = judge_pools(collections, min_diff=options.min_diff, width=options.width, progress=bar, **how)
    if options.chart is not None:
        save_chart(plot.pool_chart(study), options.chart)
    sentences = [
        f"{row['measure']}: pools of depth {row['depth']} take the fewest judgments, {row['judgments_power']:,} on"
        f" {format_count(row['topics_power'], 'topic')}, for {study.lines[0]}"
        for row in study.best().to_dict("records")
    ]
    facts = {"goals": list(study.lines), "variance_method": study.facts["variance_method"]}
    title = "\n".join([*sentences, "; ".join(study.lines)])
    shown = (*notes, *study.notes)
    emit_table(study.table, options, title=title, notes=shown, facts=facts)


def plan_budget(options: Options) -> None:
    """Print what a number of judgments can tell apart at each pool depth."""
    if (repeated := _find_repeats(options)) is not None:
        _plan_answers(options, repeated)
        return
    collections, how, notes = _read_pools(options)
    with show_progress("judging pools", options.quiet) as bar:
        plan = judge_pools(
            collections, judgments=options.budget, topic_cost=options.topic_cost, progress=bar, **how
        )
    if options.chart is not None:
        save_chart(plan.plot(), options.chart)
    facts = {"judgments": options.budget, "topic_cost": options.topic_cost, "systems": options.systems}
    facts |= {"alpha": options.alpha, "power": options.power}
    shown = (*notes, *plan.notes)
    emit_table(plan.table, options, title="\n".join(plan.lines), notes=shown, facts=facts)


def _read_pools(
    options: Options,
) -> tuple[list[Collection], dict[str, Any], tuple[str, ...]]:
    """Collections to make pools of, how, and what was decided on the way."""
    first = InputReader(options, tables=False).check()
    each = [first, *(first.change(inputs=split_paths(also)) for also in options.also)]
    collections = [item.read_collection() for item in each]
    how = {"depths": options.pool, "measure": options.measure, "systems": options.systems}
    how |= {name: getattr(options, name) for name in ("power", "alpha", "jobs")}
    how["method"] = options.method
    how["variance_method"] = split_variances(options.variance)[1] or None
    return collections, how, tuple(note for item in collections for note in item.notes)


def print_repeat_plan(options: Options) -> None:
    """Print how many more items or repeats detect a difference, and what they cost."""
    read = InputReader(options).check().one_measure().read_input()
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
        save_chart(plan.now.variance.plot("instances"), options.chart)
    priced = bool(options.topic_cost) or options.answer_cost != 1.0
    _show_repeat_plan(plan, scores, options, read.notes, priced)


def _require_repeats(scores: xr.DataArray, where: Path) -> None:
    if "instance" not in scores.dims:
        raise InputError(
            "has one score of each system on each topic, so repeats cannot be planned",
            where=str(where),
            remedy="give repeated scores of each system, or name their column: --columns instance=sample",
        )


def _show_repeat_plan(
    plan: RepeatPlan, scores: xr.DataArray, options: Options, notes: tuple[str, ...], priced: bool
) -> None:
    """Print the plans, the sentences first."""
    nouns = nouns_of(by_units(as_scores(scores))[0])
    frame = _use_words(plan.to_frame(), {**nouns, "instance": REPEAT_NOUNS[plan.kind]}, options.chosen_format)
    facts = {
        "components": dict(plan.now.variance),
        "repeats": plan.kind,
        "systems": plan.now.systems,
        "min_diff": plan.now.min_diff,
        "alpha": plan.now.alpha,
    }
    title = "\n".join(write_repeat_plan(plan, nouns, priced))
    emit_table(frame, options, title=title, notes=notes, facts=facts)


def _find_repeats(options: Options) -> Read | None:
    """Read a table whose scores have repeats; None for anything else."""
    if not options.inputs or split_variances(options.variance)[0] or options.also:
        return None
    reader = InputReader(options).check()
    if not reader.is_table or reader.is_streamed:
        return None
    # The measure of runs that nobody named has no meaning in a table.
    read = (reader if ("measure" in options.given) else reader.change(measure=[])).read_input()
    return read if "instance" in read.dims else None


def _plan_power(options: Options, read: Read) -> None:
    """Print the plans for scores with repeats."""
    scores = pick_measure(read)
    for name in ("min_diff", "alpha", "power", "systems"):
        if len(getattr(options, name)) > 1:
            raise InputError(
                (Option(name), " takes one value for scores with repeats"), remedy="run it once for each"
            )
    if options.topics or options.method not in ("", "moderated"):
        idle = "topics" if options.topics else "method"
        raise InputError(
            (Option(idle), " has no effect on scores with repeats"),
            remedy="remove it, or give a table of means over the repeats",
        )
    plan = plan_repeats(
        scores,
        min_diff=options.min_diff[0],
        power=options.power[0],
        alpha=options.alpha[0],
        systems=options.systems[0] if "systems" in options.given else None,
    )
    _show_repeat_plan(plan, scores, options, read.notes, False)


def _plan_answers(options: Options, read: Read) -> None:
    """Print how a number of answers is best spent on items and repeats."""
    scores = pick_measure(read)
    parts, kind = repeat_components(scores)
    systems = options.systems if "systems" in options.given else scores.sizes["system"]
    how: dict[str, Any] = {"systems": systems, "power": options.power, "alpha": options.alpha}
    frame = split_budget(parts, options.budget, kind=kind, topic_cost=options.topic_cost, **how)
    frame = frame.drop(columns=["se", "df"]).rename(columns={"cost": "answers"})
    best = frame.sort_values("detectable", kind="stable").to_dict("records")[0]
    nouns = nouns_of(by_units(as_scores(scores))[0])
    title = write_answers_plan(best, nouns, kind, options.budget, options.power)
    facts = {"judgments": options.budget, "topic_cost": options.topic_cost, **how}
    frame = _use_words(frame, {**nouns, "instance": REPEAT_NOUNS[kind]}, options.chosen_format)
    emit_table(frame, options, title=title, notes=read.notes, facts=facts)


def plan_margin(options: Options) -> None:
    """Print the instances that each number of topics needs to show equivalence."""
    parts, nouns, notes = _estimate_components(options)
    how: dict[str, Any] = {"margin": options.margin, "difference": options.difference, "alpha": options.alpha}
    rows = plan_equivalence(parts, **how, power=options.power, topics=options.topics)
    if options.chart is not None:
        save_chart(parts.plot("instances"), options.chart)
    title = f"what shows equivalence within ±{options.margin:g} with a power of {options.power:g}"
    facts = {"components": dict(parts), **how}
    table = _use_words(rows, nouns, options.chosen_format)
    emit_table(table, options, title=f"{title}\n{parts.describe_components(nouns)}", notes=notes, facts=facts)


def _estimate_components(
    options: Options,
) -> tuple[VarianceComponents, Mapping[str, str], tuple[str, ...]]:
    """Variances of scores with instances, the user's words, and what was decided on the way."""
    read = InputReader(options).check().one_measure().read_input()
    scores = pick_measure(read)
    _require_repeats(scores, read.files[0])
    gaps = bool(scores.isnull().any())
    parts = mixed(scores).variance_components if gaps else variance_components(scores)
    return parts, nouns_of(scores), read.notes


def _estimate_variances(options: Options, method: str | None) -> tuple[list[VarianceSource], tuple[str, ...]]:
    """Variance of each measure, as stated or as the planned test needs it from scores or runs, and how it was found."""
    stated, named = split_variances(options.variance)
    if bool(options.inputs) == bool(stated):
        kind = InputError if options.inputs else NothingGiven
        raise kind(
            "a variance is needed, stated or estimated",
            remedy="give --variance 0.053, or a table of scores, or a qrels file and runs, but one of them",
        )
    if stated:
        options.check_effects(Situation(options))
        if named:
            problem = (Option("variance", named), " has no effect with a stated variance")
            raise InputError(problem, remedy="remove one of the two")
        return [VarianceSource(name, sigma_sq) for name, sigma_sq in _parse_variances(stated).items()], ()
    first = InputReader(options).check()
    each = [
        _score_runs(item)
        for item in (first, *(first.change(inputs=split_paths(also)) for also in options.also))
    ]
    wanted = named or variance_for(method or "moderated")
    estimates = pool_variances(estimate(scores, wanted) for scores in each)
    compared = wanted == "residual" and not method
    unpaired = pool_variances(estimate(scores, "two-way") for scores in each) if compared else {}
    nouns = nouns_of(next(iter(each[0].data_vars.values())))
    known = [VarianceSource(name, item, unpaired.get(name), nouns) for name, item in estimates.items()]
    return known, tuple(item.describe(nouns) for item in estimates.values())


def _score_runs(source: InputReader) -> xr.Dataset:
    """Scores of all measures of one collection."""
    if source.is_table:
        return source.read_input().scores
    collection = source.read_collection()
    with show_progress("scoring", source.options.quiet) as bar:
        measures = list(source.options.measure or ("AP",))
        return score(collection, measures, jobs=source.options.jobs, progress=bar)


def split_paths(also: str) -> list[Path]:
    """Files of a further collection, between commas."""
    return [Path(part.strip()) for part in also.split(",")]


def _choose_test(source: VarianceSource) -> str:
    """The planned test where none is named: the default method for scores at hand, one-way for a stated variance."""
    if not isinstance(source.variance, VarianceEstimate) or source.variance.paired is False:
        return "exact"
    return "moderated"


def _describe_difference(source: VarianceSource, row: Mapping[str, Any], method: str) -> str:
    """The difference that is to be found, in words."""
    m = int(row["systems"])
    among = f"between {source.format_count(2, 'system')}"
    if m > 2:
        what = "any two" if method in PAIRS else "best and worst"
        among = f"between {what} of {source.format_count(m, 'system')}"
    return f"a difference of {row['min_diff']:g}{source.of_measure} {among}"


def _describe_need(source: VarianceSource, row: Mapping[str, Any], method: str) -> str:
    """How many topics it takes, in a sentence."""
    paired = isinstance(source.variance, VarianceEstimate) and source.variance.paired
    n, power = int(row["topics"]), row["power"]
    difference = _describe_difference(source, row, method)
    sentence = (
        f"{source.format_count(n, 'topic')} find {difference} with power {power:g} at level {row['alpha']:g}"
    )
    sentence += f", compared {source.each}" if paired else ""
    if row.get("topics_assured", n) != n:
        sentence += f"; {row['topics_assured']:,} if the doubt about the variance counts"
    if source.unpaired is not None:
        asked = {name: row[name] for name in ("min_diff", "systems", "alpha", "power")}
        plain = int(np.asarray(topics_for_power(variance=source.unpaired, method="exact", **asked)))
        sentence += f"; {plain:,} if they were not compared {source.each}"
    return sentence


def _describe_power(source: VarianceSource, row: Mapping[str, Any], method: str) -> str:
    """What a number of topics finds, in a sentence."""
    topics = source.format_count(int(row["topics"]), "topic")
    return (
        f"{topics} find {_describe_difference(source, row, method)} with power {row['power']:.2f}"
        f" at level {row['alpha']:g};"
        f" with power {row['target']:g} they find {row['min_diff_at_target']:.3g}"
    )


def _join_sentences(sentences: Sequence[str], title: str) -> str:
    """The answers in words, where they are few, above what the table holds."""
    return "\n".join([*(sentences if len(sentences) <= MOST_SENTENCES else ()), title])


def _parse_variances(given: list[str]) -> dict[str, float]:
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


def _spread_around(values: list[float]) -> Floats:
    """Points on both sides of the values asked for, evenly spread on a logarithmic axis."""
    return np.unique(np.round(np.geomspace(min(values) / 2, max(values) * 2, 25), 5))


def _power_curve(known: Sequence[VarianceSource], options: Options) -> pd.DataFrame:
    spread = _spread_around(options.min_diff)
    pieces = [
        pd.DataFrame(
            {
                "measure": _name_line(
                    source.name, source.format_count(m, "system"), len(known), len(options.systems)
                ),
                "min_diff": spread,
                "topics": topics_for_power(
                    variance=source.variance,
                    min_diff=spread,
                    systems=m,
                    alpha=options.alpha[0],
                    power=options.power[0],
                    method=options.method or _choose_test(source),
                ),
            }
        )
        for source, m in product(known, options.systems)
    ]
    return pd.concat(pieces)


def _interval_curve(known: Sequence[VarianceSource], width: list[float], alpha: float) -> pd.DataFrame:
    spread = _spread_around(width)
    pieces = [
        pd.DataFrame(
            {
                "measure": source.name,
                "width": spread,
                "topics": topics_for_interval(variance=source.variance, width=spread, alpha=alpha),
            }
        )
        for source in known
    ]
    return pd.concat(pieces)


def _name_line(measure: str, systems: str, measures: int, counts: int) -> str:
    """What a line of the chart is called: only what tells it from the others."""
    if counts == 1:
        return measure
    return systems if measures == 1 else f"{measure}, {systems}"


def _use_words(frame: pd.DataFrame, nouns: Mapping[str, str], format: Format) -> pd.DataFrame:
    """Columns of a table that people read, in the user's words; files keep the names of the package."""
    if format is not Format.text:
        return frame
    words = {f"{dim}s": pluralize_noun(noun) for dim, noun in nouns.items()}
    return frame.rename(columns={**words, "topics_assured": f"{words.get('topics', 'topics')}_assured"})


def _make_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a table; the measure is left out where a lone variance has no name."""
    frame = pd.DataFrame(rows)
    return frame.drop(columns="measure") if set(frame["measure"]) == {"topics"} else frame
