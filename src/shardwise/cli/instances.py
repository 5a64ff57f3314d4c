"""shardwise instances: is one non-deterministic system better, no worse, or equivalent?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise import plot
from shardwise.analysis import trust
from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import AnalysisOptions, analyze
from shardwise.analysis.plainly import plainly
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands.instances import InstancesOptions
from shardwise.cli.config import VERSUS
from shardwise.cli.inputs import Read, RunInputs, fill_policy, filled, idle, single
from shardwise.cli.options import Format
from shardwise.cli.output import draw, emit, progress
from shardwise.cli.shared import current
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.equivalence import METHODS as VERDICTS
from shardwise.comparing.equivalence import (
    SIDES,
    Equivalence,
    equivalence,
    posterior_probability,
    smallest_setting,
)
from shardwise.core.arguments import chosen, lending
from shardwise.core.claim import plural, said
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import as_scores, nouns_of
from shardwise.core.variance_components import VarianceComponents
from shardwise.io.files import bare_name, expand
from shardwise.io.instances import flag_deterministic, read_instances
from shardwise.methods.clusters import by_units
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.repeats.kinds import KINDS, seeds_or_samples
from shardwise.planning.components import variance_components
from shardwise.planning.instances import p_value_spread
from shardwise.procedures.running import (
    DESIGNS,
    METHODS,
    compare_instances,
    procedure_for,
    single_instance_tests,
)
from shardwise.procedures.vocabulary import parse
from shardwise.scoring.scoring import score

OF_RUNS, OF_TABLES = ("instances",), ("columns", "system")
OF_PAIRS = ("method", "design", "generalize")
OF_MARGINS = ("repeats", "margin", "side", "verdict")
IDLE = {
    "pairs": (),
    "seeds": (*OF_PAIRS, *OF_MARGINS, "seed"),
    "spread": (*OF_PAIRS, *OF_MARGINS),
    "shares": (*OF_PAIRS, *OF_MARGINS, "alpha", "seed"),
    "settings": (*OF_PAIRS, "seed"),
}
"""Options that say nothing about each table."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A table to be written, with the lines above it, what else JSON holds, and how it is drawn."""

    frame: pd.DataFrame
    title: str
    facts: dict[str, Any]
    chart: Callable[[], Any]


def compare_runs(options: InstancesOptions) -> None:
    """Compare systems by their instances, and print what may be said of them."""
    format = options.shown
    _check(options)  # refused before the long work
    read = _read(options)
    given = single(read)
    table, told = filled(given, options.fill)
    notes = read.notes if table is given else (*read.notes, *told)
    how = AnalysisOptions(
        method=options.method or None,
        generalize=options.generalize or None,
        baseline=options.baseline or None,
        repeats=options.repeats,
        alpha=options.alpha,
        seed=options.seed,
        calibration=options.calibration,
        notes=notes,
        inputs=(*read.files, *_listings(options)),
    )
    with on_cluster(options.cluster, options.quiet) as executor, lending(executor):
        found = TABLES[options.table](table, options)
        whole = None if options.report is None else analyze(table, how)
    if options.chart is not None:
        draw(found.chart(), options.chart)
    if whole is not None and options.report is not None:
        _recorded(whole, options, read).report(options.report)
    noun = _noun(table)
    words = {"instance": noun, "instances": plural(noun)} if format is Format.text else {}
    emit(
        found.frame.rename(columns=words),
        format,
        options.out,
        title=found.title,
        notes=() if options.quiet else notes,
        facts=found.facts,
    )


def _recorded(found: Analysis, options: InstancesOptions, read: Read) -> Analysis:
    """The same analysis with what is needed to make it again; what was chosen automatically is written out.

    The name of the procedure says what repeats were taken for.
    """
    call = current()
    if call is None:
        return found
    files = [str(file) for file in read.files]
    of_runs = VERSUS in options.runs or options.qrels is not None or bool(options.instances)
    used: dict[str, Any] = {"qrels": files[0], "runs": files[1:], "measure": found.measure}
    if VERSUS in options.runs:
        one, two = (list(map(str, side)) for side in _sides(list(options.runs)))
        used = {"qrels": files[0], "a": one, "b": two, "measure": found.measure}
    elif not of_runs:
        used = {"scores": files if len(files) > 1 else files[0]}
    used["method"] = found.procedure.name
    used["calibration"] = options.calibration
    if options.calibration is None:
        used["calibration"] = trust.usual_budget(len(found.systems))
    nothing = ("design", "repeats", *(idle(table=True, shards=1, kind="even") if not of_runs else ()))
    return replace(found, recipe=call.recipe(without=nothing, **used))


def _listings(options: InstancesOptions) -> tuple[Path, ...]:
    """Files that say which run is what, where patterns do not."""
    return tuple(Path(name) for name in options.instances if Path(name).is_file())


def _check(options: InstancesOptions) -> None:
    """Refuse what is not known, and what would do nothing."""
    for value, name, known in (
        (options.design, "design", DESIGNS),
        (options.side, "side", SIDES),
        (options.verdict, "verdict", VERDICTS),
        (options.table, "table", TABLES),
    ):
        chosen(value, name, known)
    _refuse(IDLE[options.table], f"with --table {options.table}")
    if options.repeats is not None:
        chosen(options.repeats, "repeats", KINDS)
    fill_policy(options.fill)
    if options.method and options.method not in METHODS:
        parse(options.method)
    if len(options.measure) > 1:
        named = ", ".join(options.measure)
        raise InputError(f"one measure here, not {len(options.measure)} ({named})", remedy="run it once each")
    if options.report is None and options.calibration is not None:
        raise InputError(
            (Option("calibration"), " does nothing without a report"), remedy=("add ", Option("report"))
        )
    if options.report is None:
        return
    if options.only:
        raise InputError(
            "a report compares all systems",
            remedy=("leave out ", Option("only"), ", or leave out the report"),
        )
    if _of_two(options) or options.table != "pairs":
        raise InputError(
            "a report is of a procedure and its pairs",
            remedy=("choose another by ", Option("method"), ", or leave out the report"),
        )


def _of_two(options: InstancesOptions) -> bool:
    """Whether a way to compare two systems is asked for, which is no procedure."""
    call = current()
    return options.method in METHODS or (call is not None and "design" in call.given)


def _read(options: InstancesOptions) -> Read:
    """The scores by topic, system and instance, of runs or of a table or logs, and what was decided on the way."""
    runs, qrels = list(options.runs), options.qrels
    source = None
    if VERSUS not in runs and qrels is None:
        source = RunInputs.of(options, inputs=[Path(run) for run in runs])
        if not source.table:
            qrels, runs = Path(runs[0]), runs[1:]
    if source is None or not source.table:
        _refuse(OF_TABLES, "with runs")
        if qrels is None:
            raise InputError("runs need judgments", remedy=("name the qrels file by ", Option("qrels")))
        return _scored(options, runs, qrels)
    _refuse(OF_RUNS, "with a table of scores")
    read = source.read()
    table = single(read)
    if "instance" not in table.dims:
        raise InputError(
            "holds one score of each system on each topic",
            where=str(read.files[0]),
            remedy="use shardwise compare, or say which column is the instance: --columns instance=seed",
        )
    if not options.deterministic:
        return read
    return replace(read, scores=flag_deterministic(read.scores, options.deterministic))


def _scored(options: InstancesOptions, runs: list[str], qrels: Path) -> Read:
    """Scores of runs of two systems on either side of the separator, or of any number named by a pattern."""
    naming: Any = options.instances[0] if len(options.instances) == 1 else options.instances
    if VERSUS in runs:
        naming = _groups(runs)
        runs = list(naming)
    elif not options.instances:
        raise InputError(
            "whose runs are these?",
            remedy="write A... -- B... for two systems, or --instances '{system}_seed{instance}.run'",
        )
    files = expand(runs)
    with progress("reading runs", options.quiet) as told:
        choices: dict[str, Any] = {"missing": options.missing or "refuse", "depth": options.depth}
        choices |= {"jobs": options.jobs, "progress": told}
        read = read_instances(files, qrels, naming, deterministic=options.deterministic, **choices)
    with progress("scoring", options.quiet) as told:
        measure = options.measure[0] if options.measure else "AP"
        found = read.arrange(score(read.collection, measure, jobs=options.jobs, progress=told))
    return Read(found, read.collection.notes, (qrels, *files))


def _sides(runs: list[str]) -> list[list[Path]]:
    """The runs on either side of the separator."""
    at = runs.index(VERSUS)
    sides = [expand(side) for side in (runs[:at], [run for run in runs[at + 1 :] if run != VERSUS]) if side]
    if len(sides) < 2 or not all(sides):
        raise InputError("one of the two systems has no runs", remedy="write A... -- B...")
    return sides


def _groups(runs: list[str]) -> dict[str, tuple[str, str]]:
    """System and instance of each run on either side of the separator."""
    sides = _sides(runs)
    names = [group_name(side) for side in sides]
    if not all(names) or names[0] == names[1]:
        names = ["a", "b"]
    return {
        str(path): (name, str(number))
        for name, side in zip(names, sides, strict=True)
        for number, path in enumerate(side, start=1)
    }


def group_name(paths: Sequence[Path]) -> str:
    """What the names of runs have in common, without what counts them; else the folder they share.

    >>> group_name([Path("x/dense_seed1.run"), Path("x/dense_seed2.run.gz")]), group_name([Path("bm25.run")])
    ('dense', 'bm25')
    >>> group_name([Path("runs/neural/1.run"), Path("runs/neural/2.run")])
    'neural'
    """
    names = [bare_name(path) for path in paths]
    stems = [re.sub(r"\.(run|txt|res|trec)$", "", name) for name in names]
    alike = (
        column[0] for column in takewhile(lambda column: len(set(column)) == 1, zip(*stems, strict=False))
    )
    counter = (
        r"[\W_]+(seed|run|sample)[\W_]*\d+$" if len(stems) == 1 else r"[\W_]*(seed|run|sample)?[\W_]*\d*$"
    )
    shared = re.sub(counter, "", "".join(alike))
    folders = {path.parent.name for path in paths}
    return shared or (folders.pop() if len(folders) == 1 else "")


def _refuse(nothing: tuple[str, ...], where: str) -> None:
    """Refuse options that were named and do nothing here."""
    call = current()
    for name in nothing:
        if call is not None and name in call.given:
            raise InputError((Option(name), f" does nothing {where}"), remedy="leave it out")


def _systems(table: xr.DataArray, options: InstancesOptions) -> list[str]:
    """The systems that take part, the better first."""
    means = table.mean([dim for dim in table.dims if dim != "system"], skipna=True)
    order = np.argsort(-means.to_numpy(), kind="stable")
    names = [str(means["system"].to_numpy()[k]) for k in order]
    wanted = {*options.only, *options.baseline} if options.only else set(names)
    return [name for name in names if name in wanted]


def _pair(table: xr.DataArray, options: InstancesOptions) -> tuple[str, str]:
    """The only two systems: as they were typed, with the baseline second, or the better first."""
    names = _systems(table, options)
    if len(names) != 2:
        raise InputError(
            f"{len(names)} systems, and this is for two", remedy="choose two by --only A --only B"
        )
    if VERSUS in options.runs:
        names = [str(name) for name in table["system"].values]
    if options.baseline[:1] == names[:1]:
        names.reverse()
    return names[0], names[1]


def _compared(table: xr.DataArray, options: InstancesOptions) -> Comparisons:
    """The comparisons asked for: of two systems by any way to compare instances, else by a procedure, as `compare`."""
    if _of_two(options):
        a, b = (table.sel(system=name) for name in _pair(table, options))
        how: dict[str, Any] = {"method": options.method or "mixed", "design": options.design}
        return compare_instances(a, b, repeats=options.repeats or "seeds", seed=options.seed, **how)
    scores, generalize = by_units(as_scores(table), options.generalize or None)
    procedure = procedure_for(scores, options.method or None, generalize, options.repeats)
    if VERSUS in options.runs:  # in the direction in which they were typed
        return procedure.run(scores, only=[_pair(table, options)], seed=options.seed, directed=True)
    only, baseline = options.only or None, options.baseline or None
    return procedure.run(scores, only=only, baseline=baseline, seed=options.seed)


def _pairs(table: xr.DataArray, options: InstancesOptions) -> Shown:
    """Pairs with their verdict against the margin, where the test has standard errors with df."""
    pairs, alpha, measure = _compared(table, options), options.alpha, str(table.name or "score")
    frame = pairs.to_frame(1.0 - alpha)
    answer = f"{plainly(pairs, measure, alpha)} (by {pairs.procedure or pairs.title})"
    lines = [answer, _repeats(table, pairs, options), pairs.summary(alpha)]
    verdict: Equivalence | None = None
    effects = pairs.estimates.topic_sd
    if effects is not None:
        frame["topic_effect_size"] = pairs.difference / effects[pairs.ia, pairs.ib]
    if options.verdict == "hpd" or np.isfinite(frame[["se", "df"]]).all().all():
        verdict = equivalence(pairs, options.margin, options.side, method=options.verdict, alpha=alpha)
        own = verdict.table.drop(columns=["a", "b", "difference"]).add_suffix(f"_{options.side}")
        frame = frame.join(
            own.rename(columns={f"{name}_{options.side}": name for name in ("holds", "smallest_margin")})
        )
        if options.verdict == "hpd":
            frame["probability"] = [
                posterior_probability(pairs, options.margin, options.side, a=str(a), b=str(b))
                for a, b in zip(verdict.table["a"], verdict.table["b"], strict=True)
            ]
        lines.append(str(verdict))
    facts = {
        "procedure": pairs.procedure,
        "method": pairs.title,
        "claim": pairs.claim,
        "margin": options.margin,
        "side": options.side,
        "alpha": alpha,
    }
    drawn = pairs if verdict is None else verdict
    title = "\n".join(line for line in (*lines, *pairs.notes) if line)
    return Shown(frame, title, facts, lambda: drawn.plot(measure=measure))


def _repeats(table: xr.DataArray, pairs: Comparisons, options: InstancesOptions) -> str:
    """What instances were taken for, and why."""
    if "instance" not in pairs.estimates.over:
        return ""
    try:
        found = seeds_or_samples(table.sel(system=list(pairs.names)))
    except InputError:  # no system has a second instance
        return ""
    samples = options.repeats == "samples" or "samples" in pairs.procedure
    return found.taken("samples" if samples else "seeds", said=bool(options.repeats or options.method))


def _seeds(table: xr.DataArray, options: InstancesOptions) -> Shown:
    """What each instance by itself would have said (J15 Fig. 7)."""
    a, b = _pair(table, options)
    frame = single_instance_tests(table.sel(system=a), table.sel(system=b), options.alpha)
    counts = frame["verdict"].value_counts()
    found = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    noun = _noun(table)
    title = f"each {noun} of {a} against {b} by itself: {found}"
    facts = {"a": a, "b": b, "alpha": options.alpha}
    return Shown(frame, title, facts, lambda: plot.single_instance_chart(frame, noun=noun, pair=f"{a} − {b}"))


def _spread(table: xr.DataArray, options: InstancesOptions) -> Shown:
    """How much p depends on which instances one has (J15 Fig. 9)."""
    a, b = _pair(table, options)
    frame = p_value_spread(table.sel(system=a), table.sel(system=b), seed=options.seed)
    noun = _noun(table)
    title = f"p of {a} against {b} by the number of {plural(noun)}, drawn with replacement"
    return Shown(
        frame, title, {"a": a, "b": b}, lambda: plot.p_spread_chart(frame, alpha=options.alpha, noun=noun)
    )


def _shares(table: xr.DataArray, options: InstancesOptions) -> Shown:
    """Where the variance comes from."""
    parts, nouns = _components(table, _systems(table, options)), nouns_of(as_scores(table))
    total = sum(parts.values())
    frame = pd.DataFrame(
        [
            {
                "component": said(term, nouns),
                "variance": v,
                "sd": v**0.5,
                "share": v / total if total else np.nan,
            }
            for term, v in parts.items()
        ]
    )
    drawn = partial(plot.component_chart, parts, nouns=nouns)
    return Shown(frame, str(seeds_or_samples(table)), {"where": parts.where}, drawn)


def _noun(table: xr.DataArray) -> str:
    """The user's word for an instance."""
    return nouns_of(as_scores(table)).get("instance", "instance")


def _components(table: xr.DataArray, names: list[str]) -> VarianceComponents:
    own = table.sel(system=names)
    if bool(own.isnull().any()):
        return mixed(own).variance_components
    if len(names) == 2:
        return variance_components(own.isel(system=0), own.isel(system=1))
    return variance_components(own)


def _settings(table: xr.DataArray, options: InstancesOptions) -> Shown:
    """The smallest setting no worse than the baseline; a setting is the number in a system's name (J15 Fig. 12)."""
    if len(options.baseline) != 1:
        raise InputError("settings are held against a baseline", remedy=("name it by ", Option("baseline")))
    (baseline,) = options.baseline
    side = "lower" if options.side == "both" else options.side
    results = {}
    for name in _systems(table, options):
        if name == baseline:
            continue
        number = re.findall(r"\d+(?:\.\d+)?", name)
        if not number:
            raise InputError(f"system {name!r} has no number in its name", remedy="leave it out by --only")
        a, b = table.sel(system=name), table.sel(system=baseline)
        results[float(number[-1])] = compare_instances(a, b, repeats=options.repeats or "seeds")
    series = smallest_setting(results, options.margin, side, method=options.verdict, alpha=options.alpha)
    facts = {"claim": series.claim, "margin": options.margin, "side": side, "smallest": series.smallest}
    return Shown(series.table, str(series), facts, lambda: series.plot(measure=str(table.name or "score")))


TABLES: dict[str, Callable[[xr.DataArray, InstancesOptions], Shown]] = {
    "pairs": _pairs,
    "seeds": _seeds,
    "spread": _spread,
    "shares": _shares,
    "settings": _settings,
}
