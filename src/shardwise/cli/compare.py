"""shardwise compare: which systems differ, and what may be claimed."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import xarray as xr

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import AnalysisOptions, analyze
from shardwise.analysis.answer import headline, splits_sentence
from shardwise.analysis.claims import MOST_GROUPS
from shardwise.analysis.leaderboard import MARKED, ranged, verdicts, versus
from shardwise.cli import inputs as opt
from shardwise.cli.cluster import on_cluster
from shardwise.cli.commands.compare import CompareOptions
from shardwise.cli.options import Format
from shardwise.cli.output import draw, emit, progress
from shardwise.cli.shared import current
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.pairs import baselines_of
from shardwise.core.arguments import chosen
from shardwise.core.claim import Claim, said
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import nouns_of
from shardwise.io.scores import read_scores
from shardwise.methods.anova.method import READINGS, ByBootstrap
from shardwise.methods.bootstrap.fit import Trim, bootstrap_anova, refuse_generalize
from shardwise.methods.judges.method import with_human
from shardwise.methods.mixed.fit import mixed
from shardwise.procedures.procedure import Procedure
from shardwise.procedures.running import compare
from shardwise.procedures.vocabulary import parse
from shardwise.stats.corrections import CORRECTIONS, known, title

MOST_PAIRS = 200_000  # that are written unasked
WITHOUT_FACTORS = (
    *("model", "generalize", "human", "fit", "resamples", "null", "tails", "density", "trim", "repeats"),
    *("fill", "seed", "report", "calibration", "cluster"),
)
"""Options that a mixed model with random factors has no use for."""


def compare_systems(options: CompareOptions) -> None:
    """Compare systems and print who differs; draw it and write a report of it where asked."""
    _chosen(options)  # refused before the long work
    _trimmed(options)
    _check_factors(options)
    source = opt.RunInputs.of(options)
    if options.report is not None or options.chart is not None:
        source.one_measure()
    read = source.read()
    measures = [str(name) for name in read.scores.data_vars]
    if not source.measure and len(measures) > 1:
        opt.single(read)  # refuses to choose
    if options.random:
        _by_factors(options, opt.single(read), read.notes)
        return
    _check_pairs(options, read)
    with on_cluster(options.cluster, options.quiet) as executor:
        found = analyses(options, source, read, executor)
    if options.report is not None:
        found[0].report(options.report)
    if options.chart is not None:
        draw(found[0].plot(level=1.0 - options.alpha), options.chart)
    _tell(found, options)


def _check_pairs(options: CompareOptions, read: opt.Read) -> None:
    """Refuse to write millions of pairs unasked, before the long work."""
    if options.shown is Format.text:
        if options.pairs:
            raise InputError(
                "--pairs does nothing where systems are shown",
                remedy="add --format csv or json, or leave it out",
            )
        return
    systems = len(options.only) or read.scores.sizes["system"]
    pairs = systems * (len(options.baseline) or (systems - 1) / 2)
    if pairs > MOST_PAIRS and not options.pairs:
        raise InputError(
            f"{systems:,} systems are {pairs:,.0f} pairs",
            remedy="add --pairs to have them all, or use shardwise leaderboard for a line a system",
        )


def analyses(
    options: CompareOptions, source: opt.RunInputs, read: opt.Read, executor: Executor | None = None
) -> list[Analysis]:
    """Analyse each measure of scores that were read; where a report is asked for, with what makes it again."""
    how = replace(_chosen(options), notes=read.notes, inputs=_listed(options, source, read.files))
    found = []
    for name in map(str, read.scores.data_vars):
        if options.fit == "bootstrap":
            how = replace(how, model=None, method=_bootstrapped(options, read.scores[name].dims))
        with progress(f"{name}: comparing", options.quiet) as told:
            one = analyze(_judged(read.scores[name], options.human), how, executor=executor, progress=told)
        found.append(one if options.report is None else _recorded(one, options, source, read.files))
    return found


def _judged(scores: xr.DataArray, human: Path | None) -> xr.DataArray:
    """Scores with those of people beside them, where a file of these was named."""
    if human is None:
        return scores
    people = read_scores(human, missing="leave")
    if isinstance(people, xr.Dataset):
        if scores.name not in people.data_vars:
            raise InputError(
                f"holds no {scores.name}", where=str(human), remedy="give people's scores of the same measure"
            )
        people = people[scores.name]
    try:
        return with_human(scores, people)
    except InputError as error:
        raise error.placed(str(human)) from error


def _chosen(options: CompareOptions) -> AnalysisOptions:
    """What the options say of the analysis; refused before the long work where they cannot be."""
    bootstrap = opt.bootstrap_options(options.fit, options.resamples)
    opt.bootstrap_law(options)
    if bootstrap and options.human is not None:
        raise InputError(
            "--human does nothing with --fit bootstrap", remedy="leave out --fit, or leave out --human"
        )
    if options.model:
        opt.model(options.model)
    if options.calibration is not None and options.report is None:
        raise InputError("--calibration does nothing without a report", remedy="add --report report.html")
    if not bootstrap and options.method and options.method not in CORRECTIONS:
        parse(options.method)
    if options.report is not None and options.only:
        raise InputError("a report compares all systems", remedy="leave out --only, or leave out --report")
    return AnalysisOptions(
        method=options.method or None,
        model=options.model or None,
        generalize=options.generalize or None,
        alpha=options.alpha,
        fill=opt.fill_policy(options.fill),
        only=tuple(options.only) or None,
        baseline=options.baseline or None,
        repeats=options.repeats,
        n_resamples=options.resamples,
        seed=options.seed,
        calibration=0 if options.report is None else options.calibration,
    )


def _listed(options: CompareOptions, source: opt.RunInputs, files: tuple[Path, ...]) -> tuple[str, ...]:
    """The files that a report names with their hashes."""
    if options.report is None:
        return ()
    corpus = source.corpus
    listed = [corpus] if corpus is not None and not corpus.isdecimal() and not source.table else []
    people = [str(options.human)] if options.human is not None else []
    return (*map(str, files), *people, *listed)


def _recorded(
    found: Analysis, options: CompareOptions, source: opt.RunInputs, used_files: tuple[Path, ...]
) -> Analysis:
    """The same analysis with what is needed to make it again; what was chosen automatically is written out."""
    from shardwise.analysis.trust import usual_budget  # looked up late, so that it can be replaced

    files = [str(file) for file in used_files]
    used: dict[str, Any] = {"scores": files} if source.table else {"qrels": files[0], "runs": files[1:]}
    if source.table and len(files) == 1:
        used["scores"] = files[0]
    if not source.table or len(source.measure) > 1:
        used["measure"] = found.measure
    plain = "bh" if options.fit == "bootstrap" else "hsd" if options.model else found.procedure.name
    used["method"] = options.method or plain
    used["calibration"] = options.calibration
    if options.calibration is None:
        used["calibration"] = usual_budget(len(found.systems))
    call = current()
    nothing = (*source.idle, "repeats")  # which the name of the procedure says
    recipe = call.recipe(without=nothing, **used) if call is not None else None
    return replace(found, recipe=recipe)


def _tell(found: list[Analysis], options: CompareOptions) -> None:
    """Print or write what was found: systems as text, pairs in the other formats."""
    format, alpha = options.shown, options.alpha
    several = len(found) > 1
    if format is Format.text and options.out is None:
        for one in found:
            emit(_in_words(one, options), format, title=_title(one), notes=_notes(one, options))
        return
    if format is Format.text:
        tables = [_in_words(one, options) for one in found]
    else:
        tables = [_pairs(one.comparisons, options) for one in found]
    if several:
        for one, table in zip(found, tables, strict=True):
            table.insert(0, "measure", one.measure)
    first = found[0]
    facts = {
        "procedure": first.procedure.name,
        "method": first.comparisons.title,
        "claim": first.comparisons.claim,
        "repeats": first.repeats,
        "model": first.fit.model.title,
        "measure": ", ".join(one.measure for one in found),
        "alpha": alpha,
        "anova": first.fit.table.reset_index().to_dict("records"),
    }
    title = "\n".join(_title(one) for one in found) if format is Format.text else str(first.comparisons)
    notes = tuple(dict.fromkeys(note for one in found for note in _notes(one, options)))
    emit(pd.concat(tables, ignore_index=True), format, options.out, title=title, notes=notes, facts=facts)


def _title(found: Analysis) -> str:
    """What was analysed and how, what came out, and what the other claim says."""
    if found.baselines and len(found.comparisons) > 1:
        return f"{found.heading()}\n{_why(found)}\n{headline(found)}"
    beside = [
        f"beside it, {one.claim}: {one.found} of {len(one.pairs)} pairs differ"
        for one in found.claims
        if one.key != found.leads
    ]
    said = found.comparisons.summary(found.alpha, resolution=found.lead.resolution).splitlines()
    lines = said[:1] if len(found.comparisons) == 1 else said[1:]  # what was done stands in the heading
    return "\n".join(line for line in (found.heading(), _why(found), found.repeats, *lines, *beside) if line)


def _why(found: Analysis) -> str:
    return f"{found.procedure.name}: {found.why()}"


def _notes(found: Analysis, options: CompareOptions) -> tuple[str, ...]:
    if options.quiet:
        return ()
    told = opt.filled(found.scores, options.fill)[1]
    told = (*told, *found.comparisons.notes) if options.human is not None else told
    written = (f"report: {options.report}",) if options.report is not None else ()
    splits = (splits_sentence(found),) if found.n_splits > 1 else ()
    return (*_intervals_note(found, options), *found.notes, *told, *splits, *written)


def _intervals_note(found: Analysis, options: CompareOptions) -> tuple[str, ...]:
    """What lower and upper are in the table of systems."""
    if options.shown is not Format.text:
        return ()
    level, lead = f"{100 * (1 - found.alpha):g} %", found.lead
    if options.baseline:
        return (f"lower to upper: {level} confidence intervals of the differences",)
    if lead.comparison:
        return (f"lower to upper: {level} comparison intervals, which are no confidence intervals",)
    return (f"lower to upper: {level} confidence intervals of each mean by itself",)


def _bootstrapped(options: CompareOptions, dims: Collection[Hashable]) -> Procedure:
    """The procedure that the options of a bootstrap name, piece by piece."""
    law = {"null": "difference", "tails": 2, "density": "exact"} | opt.bootstrap_law(options)
    reading = next(name for name, parts in READINGS.items() if parts == tuple(law.values()))
    model = opt.model(options.model or ("MD6" if "shard" in dims else "MD1"))
    fit = ByBootstrap(model, reading, drawn=options.resamples is not None)
    correction = known(options.method or "bh")
    if correction not in fit.corrections:
        raise InputError(
            f"{title(correction)} needs Student's t, and a bootstrap has laws of its own",
            remedy=f"choose one of {', '.join(fit.corrections)}",
        )
    refuse_generalize(Claim.of(options.generalize or ()))
    return Procedure(fit, correction, Claim())


def _effects(found: Analysis, options: CompareOptions) -> pd.DataFrame:
    """V17's intervals of the effects, best first."""
    law = {"null": "marginal", "tails": 1} | opt.bootstrap_law(options)
    fit = bootstrap_anova(found.analysed, found.fit.model, n_resamples=options.resamples, seed=options.seed)
    table = fit.intervals(1 - options.alpha, trim=options.trim, **law)  # type: ignore[arg-type]
    return table.reset_index(names="system").sort_values("estimate", ascending=False, kind="stable")


def _check_factors(options: CompareOptions) -> None:
    """Refuse what a mixed model with random factors has no use for."""
    call = current()
    idle = [name for name in WITHOUT_FACTORS if call is not None and name in call.given]
    if options.random and idle:
        raise InputError(
            (Option(idle[0]), " does nothing with ", Option("random")), remedy="leave out one of the two"
        )


def _by_factors(options: CompareOptions, scores: xr.DataArray, notes: tuple[str, ...]) -> None:
    """Compare by a mixed model with random factors, which speaks of all of them at once."""
    fit = mixed(scores, random=options.random)
    pairs = compare(
        fit, known(options.method or "holm"), only=options.only or None, baseline=options.baseline or None
    )
    if options.chart is not None:
        draw(pairs.plot(level=1 - options.alpha, measure=str(scores.name or "score")), options.chart)
    shares = fit.variance_components
    nouns = nouns_of(scores)
    parts = ", ".join(f"{said(name, nouns)} {value**0.5:.4f}" for name, value in shares.items())
    told = () if options.quiet else (*notes, *fit.notes, f"standard deviations: {parts}")
    text = options.shown is Format.text
    frame = (
        _systems(pairs, options).rename(columns={"system": nouns.get("system", "system")})
        if text
        else _pairs(pairs, options)
    )
    facts = {
        "procedure": "",
        "method": pairs.title,
        "claim": pairs.claim,
        "model": f"mixed, random {', '.join(options.random)}",
        "measure": str(scores.name or "score"),
        "alpha": options.alpha,
        "variance_components": dict(shares),
    }
    title = pairs.summary(options.alpha) if text else str(pairs)
    emit(frame, options.shown, options.out, title=title, notes=told, facts=facts)


def _trimmed(options: CompareOptions) -> None:
    """Refuse a way to trim intervals where none are shown."""
    if options.trim is None:
        return
    chosen(options.trim, "trim", get_args(Trim))
    if options.fit != "bootstrap":
        raise InputError((Option("trim"), " is for a bootstrap"), remedy=("add ", Option("fit", "bootstrap")))
    if options.shown is not Format.text:
        raise InputError(
            (Option("trim"), " is of the systems' intervals, which only text shows"),
            remedy=("add ", Option("format", "text")),
        )


def _in_words(found: Analysis, options: CompareOptions) -> pd.DataFrame:
    """The systems under the user's word for them."""
    table = _systems(found.comparisons, options) if options.trim is None else _effects(found, options)
    return table.rename(columns={"system": found.noun("system")})


def _systems(pairs: Comparisons, options: CompareOptions) -> pd.DataFrame:
    """The systems with intervals and letters; with a baseline how each stands to it."""
    bases = baselines_of(options.baseline)
    if not bases:
        return systems_table(pairs, options.alpha)
    mean = pd.Series(pairs.estimates.values, index=pairs.estimates.labels)
    tables = []
    for base in bases:
        frame = versus(pairs, base, options.alpha).reset_index()
        frame.insert(1, "mean", mean.loc[frame["system"]].to_numpy())
        frame = frame.sort_values("mean", ascending=False, kind="stable")
        frame[""] = [MARKED[word] for word in frame.pop("verdict")]
        if len(bases) > 1:
            frame.insert(0, "baseline", base)
        tables.append(frame.drop(columns="p"))
    return pd.concat(tables, ignore_index=True)


def _pairs(pairs: Comparisons, options: CompareOptions) -> pd.DataFrame:
    """All pairs; with a baseline also whether the first is better or worse, by marks where people read it."""
    frame = pairs.to_frame(1.0 - options.alpha)
    if options.baseline:
        told = verdicts(frame["difference"].to_numpy(), frame["p_adjusted"].to_numpy(), options.alpha)
        read = options.shown in (Format.markdown, Format.latex)
        frame["verdict"] = [MARKED[word] for word in told] if read else told
    return frame


def systems_table(pairs: Comparisons, alpha: float) -> pd.DataFrame:
    """Systems best first with intervals, and with ranks and groups where all pairs were compared."""
    frame = pairs.intervals(1 - alpha).reset_index().rename(columns={"estimate": "mean"})
    if pairs.complete and len(pairs) > 1:
        frame["ranks"] = ranged(pairs.ranks(1 - alpha))
        with suppress(InputError):  # many overlapping groups explain nothing
            letters = pairs.letters(alpha, MOST_GROUPS)["letters"]
            if len({letter for own in letters for letter in own.split()}) <= MOST_GROUPS:
                frame["groups"] = letters.to_numpy()
    return frame
