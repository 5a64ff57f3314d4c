"""shardwise design: how many topics, how deep a pool, at what cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from shardwise import plot
from shardwise.cli.inputs import InputReader, Read
from shardwise.cli.options import Format, Situation, split_variances
from shardwise.cli.output import Result, show_progress
from shardwise.cli.parsing import NothingGiven, Options
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd
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
    design_curve,
    design_table,
    plan_equivalence,
    plan_loop,
    plan_repeats,
    plan_shards,
)
from shardwise.planning.plans import plan_budget as split_budget
from shardwise.planning.pools import plan_pools as judge_pools
from shardwise.planning.variances import (
    VarianceEstimate,
    repeat_components,
    variance_components,
)
from shardwise.planning.variances import variance as estimate
from shardwise.scoring.undefined import fill_undefined
from shardwise.writing.numbers import format_percent
from shardwise.writing.planning import REPEAT_NOUNS, write_answers_plan, write_repeat_plan

NAMELESS = ("topics", "score")
"""What a variance goes by whose measure has no name."""
MOST_SENTENCES = 3
SHARD_CLAIMS = ("topic", "these", "topic,shard")


@dataclass(frozen=True, slots=True)
class VarianceSource:
    """The variance of one measure that a plan starts from; perhaps also the one that published tables would use."""

    name: str
    variance: VarianceEstimate | float
    unpaired: VarianceEstimate | None = None
    nouns: Mapping[str, str] = field(default_factory=dict)

    @property
    def df(self) -> float | None:
        """Degrees of freedom that its estimate is worth, where there is one."""
        df = self.variance.effective_df if isinstance(self.variance, VarianceEstimate) else np.nan
        return df if np.isfinite(df) else None

    @property
    def test(self) -> str:
        """The planned test where none is named: the default method for paired scores, else one-way."""
        estimated = isinstance(self.variance, VarianceEstimate) and self.variance.paired is not False
        return "moderated" if estimated else "exact"

    @property
    def of_measure(self) -> str:
        """The measure, as part of a sentence."""
        return f" in {self.name}" if self.name not in NAMELESS else ""

    def format_count(self, n: int, what: str) -> str:
        """A number of topics or systems in the user's words."""
        return format_count(n, self.nouns.get(what, what))


def plan_power(options: Options) -> Result:
    """Return the topics needed to find a difference, or what a number of topics finds."""
    if (repeated := _find_repeats(options)) is not None:
        asked = ("min_diff", "alpha", "power", "systems")
        if several := [name for name in asked if len(getattr(options, name)) > 1]:
            problem = (Option(several[0]), " takes one value for scores with repeats")
            raise InputError(problem, remedy="run it once for each")
        if options.topics or options.method not in ("", "moderated"):
            raise InputError(
                (Option("topics" if options.topics else "method"), " has no effect on scores with repeats"),
                remedy="remove it, or give a table of means over the repeats",
            )
        values = {name: getattr(options, name)[0] for name in asked}
        values["systems"] = values["systems"] if "systems" in options.given else None
        return _show_repeat_plan(options, repeated, **values)
    known, notes = _estimate_variances(options, options.method or None)
    rows, sentences = [], []
    each = product(known, options.systems, options.alpha, options.min_diff, options.power)
    for source, m, a, d, p in each:
        method = options.method or source.test
        given: dict[str, Any] = {"variance": source.variance, "systems": m, "alpha": a, "method": method}
        row = {
            "measure": source.name,
            "variance": float(source.variance),
            "systems": m,
            "alpha": a,
            "min_diff": d,
        }
        for n in options.topics:
            design = Design(topics=n, min_diff=d, target=p, **given)
            reached = {"topics": n, "power": design.power}
            if source.df is not None:
                reached["assurance"] = replace(design, variance_df=source.df).power
            rows.append({**row, **reached, "target": p, "min_diff_at_target": design.detectable})
            sentences.append(_describe_plan(source, rows[-1], method))
        if not options.topics:
            rows.append({**row, "power": p, "topics": topics_for_power(min_diff=d, power=p, **given)})
            if source.df is not None:
                rows[-1]["topics_assured"] = topics_for_power(min_diff=d, power=p, df=source.df, **given)
            sentences.append(_describe_plan(source, rows[-1], method))
    shown = "; ".join(dict.fromkeys(METHODS[options.method or source.test] for source in known))
    topics = pluralize_noun(known[0].nouns.get("topic", "topic"))
    title = f"{shown}: what the {topics} reach" if options.topics else f"{shown}: {topics} needed"
    return Result(
        (*(sentences if len(sentences) <= MOST_SENTENCES else ()), title),
        _use_words(pd.DataFrame(rows), known[0].nouns, options),
        notes,
        facts={"method": shown},
        chart=partial(_draw_curve, known, options, "min_diff"),
    )


def plan_intervals(options: Options) -> Result:
    """Return the topics needed for intervals of a width, or the width that a number of topics gives."""
    options.check_effects(Situation(options))
    known, notes = _estimate_variances(options, None)
    rows, sentences = [], []
    for source, a, x in product(known, options.alpha, options.topics or options.width):
        given: dict[str, Any] = {"variance": source.variance, "alpha": a}
        n = int(x) if options.topics else int(np.asarray(topics_for_interval(width=x, **given)))
        width = Design(topics=n, **given).width if options.topics else float(x)
        plan = {"topics": n, "width": width} if options.topics else {"width": width, "topics": n}
        rows.append({"measure": source.name, "variance": float(source.variance), "alpha": a, **plan})
        sentences.append(
            f"{source.format_count(n, 'topic')} give {1 - a:.0%} confidence intervals of a"
            f" difference{source.of_measure} of"
            f" {source.format_count(2, 'system')} that are {width:.3g} wide on average (± {width / 2:.3g})"
        )
    systems = pluralize_noun(known[0].nouns.get("system", "system"))
    title = f"expected width of the confidence interval of a difference of two {systems}"
    return Result(
        (*(sentences if len(sentences) <= MOST_SENTENCES else ()), title),
        _use_words(pd.DataFrame(rows), known[0].nouns, options),
        notes,
        facts={"method": title},
        chart=partial(_draw_curve, known, options, "width"),
    )


def plan_table(options: Options) -> Result:
    """Return the topics needed over a grid, measures side by side."""
    width = options.width or None
    options.check_effects(Situation(options))
    sources, notes = _estimate_variances(options, options.method or None)
    known = {source.name: source.variance for source in sources}
    method = options.method or sources[0].test
    grid = design_table(
        known,
        min_diff=options.min_diff,
        systems=options.systems,
        alpha=options.alpha,
        power=options.power,
        method=method,
        width=width,
    )
    powers = [f"{name}, power {p:g}" for p, name in product(options.power, known)]
    flat = grid.set_axis(powers if width is None else list(known), axis="columns").reset_index()

    def draw() -> Any:
        if width is not None:
            return _draw_curve(sources, options, "width")
        counts = np.unique(np.geomspace(2, max(2, *options.systems) * 2, 40).astype(int)).tolist()
        first = {name: getattr(options, name)[0] for name in ("min_diff", "alpha", "power")}
        return plot.topics_chart(design_curve(known, systems=counts, method=method, **first))

    goal = "intervals" if width is not None else METHODS[method]
    topics = pluralize_noun(sources[0].nouns.get("topic", "topic"))
    facts = {"method": goal, "variances": {name: float(variance) for name, variance in known.items()}}
    frame = _use_words(flat, sources[0].nouns, options)
    return Result((f"{goal}: {topics} needed",), frame, notes, facts=facts, chart=draw)


def plan_pools(options: Options) -> Result:
    """Return what each pool depth costs."""
    study, notes = _judge_pools(options, min_diff=options.min_diff, width=options.width)
    sentences = [
        f"{row['measure']}: pools of depth {row['depth']} take the fewest judgments, {row['judgments_power']:,} on"
        f" {format_count(row['topics_power'], 'topic')}, for {study.lines[0]}"
        for row in study.best().to_dict("records")
    ]
    facts = {"goals": list(study.lines), "variance_method": study.facts["variance_method"]}
    lines = (*sentences, "; ".join(study.lines))
    return Result(lines, study.table, notes, facts=facts, chart=partial(plot.chart, study))


def plan_budget(options: Options) -> Result:
    """Return what a number of judgments, or of answers to items, can tell apart."""
    facts = {"judgments": options.budget, "topic_cost": options.topic_cost, "systems": options.systems}
    facts |= {"alpha": options.alpha, "power": options.power}
    read = _find_repeats(options)
    if read is None:
        plan, notes = _judge_pools(options, judgments=options.budget, topic_cost=options.topic_cost)
        return Result(tuple(plan.lines), plan.table, notes, facts=facts, chart=plan.plot)
    scores = read.pick_measure()
    parts, kind = repeat_components(scores)
    if "systems" not in options.given:
        facts["systems"] = scores.sizes["system"]
    how = {name: facts[name] for name in ("systems", "power", "alpha", "topic_cost")}
    frame = split_budget(parts, options.budget, kind=kind, **how)
    frame = frame.drop(columns=["se", "df"]).rename(columns={"cost": "answers"})
    best = frame.sort_values("detectable", kind="stable").to_dict("records")[0]
    nouns = by_units(scores)[0].nouns
    title = write_answers_plan(best, nouns, kind, options.budget, options.power)
    frame = _use_words(frame, {**nouns, "instance": REPEAT_NOUNS[kind]}, options)
    return Result((title,), frame, read.notes, facts=facts)


def _judge_pools(options: Options, **goals: Any) -> tuple[Any, tuple[str, ...]]:
    """Return what pools of each depth cost or find, and what was decided on the way."""
    collections = [reader.read_collection() for reader in _list_readers(options, tables=False)]
    how = {
        name: getattr(options, name) for name in ("measure", "systems", "power", "alpha", "jobs", "method")
    }
    how["variance_method"] = split_variances(options.variance)[1] or None
    with show_progress("judging pools", options.quiet) as bar:
        study = judge_pools(collections, depths=options.pool, progress=bar, **how, **goals)
    return study, (*(note for item in collections for note in item.notes), *study.notes)


def _list_readers(options: Options, *, tables: bool = True) -> list[InputReader]:
    """Return what reads the first collection and each further one, whose files stand between commas."""
    first = InputReader(options, tables=tables).check()
    return [first, *(first.change(inputs=split_paths(also)) for also in options.also)]


def print_repeat_plan(options: Options) -> Result:
    """Return how many more items or repeats detect a difference, and what they cost."""
    asked = ("min_diff", "power", "alpha", "systems", "topic_cost", "answer_cost")
    values = {name: getattr(options, name) for name in asked}
    return _show_repeat_plan(options, _read_repeats(options), kind=options.repeats, **values)


def _show_repeat_plan(options: Options, read: Read, **asked: Any) -> Result:
    """Return the plans for scores with repeats, the sentences first."""
    scores = read.pick_measure()
    plan = plan_repeats(scores, **asked)
    nouns, now = by_units(scores)[0].nouns, plan.now
    priced = bool(options.topic_cost) or options.answer_cost != 1.0
    return Result(
        tuple(write_repeat_plan(plan, nouns, priced)),
        _use_words(plan.to_frame(), {**nouns, "instance": REPEAT_NOUNS[plan.kind]}, options),
        read.notes,
        facts={
            "components": dict(now.variance),
            "repeats": plan.kind,
            "systems": now.systems,
            "min_diff": now.min_diff,
            "alpha": now.alpha,
        },
        chart=partial(now.variance.plot, "instances"),
    )


def _find_repeats(options: Options) -> Read | None:
    """Read a table whose scores have repeats; None for anything else."""
    if not options.inputs or split_variances(options.variance)[0] or options.also:
        return None
    reader = InputReader(options).check()
    if not reader.is_table or reader.is_streamed:
        return None
    # The measure of runs that nobody named has no meaning in a table.
    read = (reader if "measure" in options.given else reader.change(measure=[])).read_input()
    return read if "instance" in read.first.dims else None


def _read_repeats(options: Options) -> Read:
    """Read scores with repeats."""
    read = InputReader(options).check().read_input(one=True)
    if "instance" not in read.pick_measure().dims:
        raise InputError(
            "has one score of each system on each topic, so repeats cannot be planned",
            where=str(read.files[0]),
            remedy="give repeated scores of each system, or name their column: --columns instance=sample",
        )
    return read


def plan_shard_counts(options: Options) -> Result:
    """Return the topics that each number of shards needs, for the claim asked for or for all three."""
    reader = InputReader(options).check()
    counts = options.shards if "shards" in options.given or not reader.is_table else None
    if reader.is_table:
        read = reader.read_input(one=True)
        source: Any = read.pick_measure().to_xarray()
        if "shard" not in source.dims:
            where, remedy = (
                str(read.files[0]),
                "give scores by topic, system and shard, or a qrels file and runs",
            )
            raise InputError("the scores are not on shards", where=where, remedy=remedy)
    else:
        # one corpus cut ever finer has other components at every number of shards
        reads = {n: reader.change(shards=n).read_input(one=True) for n in options.shards}
        read, source = next(iter(reads.values())), {n: each.first.to_xarray() for n, each in reads.items()}
        source = {n: fill_undefined(table, "zero") for n, table in source.items()}
    how = {name: getattr(options, name) for name in ("min_diff", "systems", "alpha", "power")}
    claims = [options.generalize] if options.generalize else SHARD_CLAIMS
    plans = [plan_shards(source, shards=counts, generalize=claim, **how) for claim in claims]
    words = [plan.lines[1].removeprefix("claim: ") for plan in plans]
    frames = [plan.table.assign(claim=text) for plan, text in zip(plans, words, strict=True)]
    table = pd.concat(frames, ignore_index=True)
    table = table[["claim", *(name for name in table if name != "claim")]]
    sentences = []
    for text, plan in zip(words, plans, strict=True):
        rows = plan.table.dropna(subset="topics").sort_values("topics", kind="stable").to_dict("records")[:1]
        found = [
            f"{format_count(int(row[name]), name[:-1])}" for row in rows for name in ("topics", "shards")
        ]
        sentences.append(f"{text}: {' with '.join(found) or 'no number of topics is enough'}")
    notes = (*read.notes, *plans[0].notes)
    return Result((*sentences, plans[0].lines[0]), table, notes, facts=how, chart=plans[0].plot)


def plan_candidates(options: Options) -> Result:
    """Return the candidates that hold-outs carry in a loop."""
    how = {name: getattr(options, name) for name in ("alpha", "power")}
    frame = plan_loop(options.topics, options.min_diff, **how)
    title = "gate with a ledger: candidates before a gain is no longer detected, by those accepted until then"
    return Result((title,), frame, facts=how)


def plan_margin(options: Options) -> Result:
    """Return the instances that each number of topics needs to show equivalence."""
    read = _read_repeats(options)
    scores, nouns = read.first, read.first.nouns
    parts = mixed(scores).variance_components if scores.has_gaps else variance_components(scores)
    how: dict[str, Any] = {"margin": options.margin, "difference": options.difference, "alpha": options.alpha}
    rows = plan_equivalence(parts, **how, power=options.power, topics=options.topics)
    title = f"what shows equivalence within ±{options.margin:g} with a power of {options.power:g}"
    return Result(
        (title, parts.describe_components(nouns)),
        _use_words(rows, nouns, options),
        read.notes,
        facts={"components": dict(parts), **how},
        chart=partial(parts.plot, "instances"),
    )


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
        sources = []
        for text in stated:
            name, _, number = text.rpartition("=")
            try:
                # one alone need not have a name
                sources.append(
                    VarianceSource(name or ("topics" if len(stated) == 1 else text), float(number))
                )
            except ValueError:
                raise InputError(
                    f"--variance {text!r} is not a number", remedy="write 0.053, or AP=0.053"
                ) from None
        return sources, ()
    each = [reader.read_input().tables for reader in _list_readers(options)]
    wanted = named or variance_for(method or "moderated")

    def pool(method: str) -> dict[str, VarianceEstimate]:
        """Variance of each measure over the collections."""
        estimates = {name: [estimate(tables[name], method) for tables in each] for name in each[0]}
        return {name: first.pool(*others) for name, (first, *others) in estimates.items()}

    estimates = pool(wanted)
    unpaired = pool("two-way") if wanted == "residual" and not method else {}
    nouns = next(iter(each[0].values())).nouns
    known = [VarianceSource(name, item, unpaired.get(name), nouns) for name, item in estimates.items()]
    return known, tuple(item.describe(nouns) for item in estimates.values())


def split_paths(also: str) -> list[Path]:
    """Files of a further collection, between commas."""
    return [Path(part.strip()) for part in also.split(",")]


def _describe_plan(source: VarianceSource, row: Mapping[str, Any], method: str) -> str:
    """How many topics it takes, or what a number of topics finds, in a sentence."""
    m, topics = int(row["systems"]), source.format_count(int(row["topics"]), "topic")
    what = "" if m == 2 else "any two of " if method in PAIRS else "best and worst of "
    difference = f"a difference of {row['min_diff']:g}{source.of_measure} between {what}"
    difference += source.format_count(m, "system")
    of_power = f"({format_percent(round(row['power'], 2))} power, level {format_percent(row['alpha'])})"
    if "target" in row:
        target = f"{format_percent(row['target'])} power they detect {row['min_diff_at_target']:.3g}"
        return f"{topics} detect {difference} {of_power}; with {target}."
    sentence = f"You need {topics} to detect {difference} {of_power}."
    if row.get("topics_assured", row["topics"]) != row["topics"]:
        sentence += f" Allowing for the uncertain variance: {row['topics_assured']:,}."
    if source.unpaired is not None:
        asked = {name: row[name] for name in ("min_diff", "systems", "alpha", "power")}
        plain = int(np.asarray(topics_for_power(variance=source.unpaired, method="exact", **asked)))
        sentence += f" Unpaired: {plain:,}."
    return sentence


def _draw_curve(known: Iterable[VarianceSource], options: Options, goal: str) -> Any:
    """Draw topics against the difference or the width, around the values asked for on a logarithmic axis."""
    values, sources = getattr(options, goal), list(known)
    spread = np.unique(np.round(np.geomspace(min(values) / 2, max(values) * 2, 25), 5))
    counts = options.systems if goal == "min_diff" else [2]
    pieces = []
    for source, m in product(sources, counts):
        count: Callable[..., Any] = topics_for_interval
        given: dict[str, Any] = {"variance": source.variance, goal: spread, "alpha": options.alpha[0]}
        if goal == "min_diff":
            method = options.method or source.test
            count, given = (
                topics_for_power,
                given | {"systems": m, "power": options.power[0], "method": method},
            )
        # A line is called by what tells it from the others.
        parts = [source.name] if len(counts) == 1 or len(sources) > 1 else []
        parts += [source.format_count(m, "system")] if len(counts) > 1 else []
        pieces.append(pd.DataFrame({"measure": ", ".join(parts), goal: spread, "topics": count(**given)}))
    return plot.topics_chart(pd.concat(pieces), goal)


def _use_words(frame: pd.DataFrame, nouns: Mapping[str, str], options: Options) -> pd.DataFrame:
    """Columns of a table that people read, in the user's words; a variance without a name needs no measure."""
    if "measure" in frame.columns and set(frame["measure"]) == {"topics"}:
        frame = frame.drop(columns="measure")
    if options.chosen_format is not Format.text:
        return frame
    words = {f"{dim}s": pluralize_noun(noun) for dim, noun in nouns.items()}
    return frame.rename(columns={**words, "topics_assured": f"{words.get('topics', 'topics')}_assured"})
