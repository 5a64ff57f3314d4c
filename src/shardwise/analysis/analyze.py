"""Scores -> everything that is said about them, computed once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardwise.analysis.analysis import Analysis, ClaimResult, RepeatsTaken, SplitResult, choose_decimals
from shardwise.analysis.diagnostics import Remark, check_gaps, check_residuals, check_scores, residual_figures
from shardwise.analysis.power import power_of
from shardwise.analysis.provenance import Recipe, hash_files, list_versions, scores_hash
from shardwise.analysis.trust import list_findings, trust_in
from shardwise.comparing.compare import (
    choose_procedure,
    leaves_out_gaps,
    list_claims_on,
    refuse_claim,
    run_procedure,
)
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arguments import Progress, lend_executor
from shardwise.core.arguments import validate_level as checked_level
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD6, Model
from shardwise.core.scores import Scores, as_scores, is_labelled
from shardwise.core.shown import is_about
from shardwise.methods.anova.fit import AnovaFit, anova
from shardwise.methods.clusters import by_units
from shardwise.methods.names import Procedure, parse_procedure
from shardwise.methods.pairs import list_baselines
from shardwise.methods.repeats.unified import seeds_or_samples
from shardwise.methods.tables import SHARDS, TABLE

HERE, LIKE = Claim(), Claim("topic")


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """What can be chosen of an analysis.

    Parameters
    ----------
    method
        A procedure or its name, such as ``MD6 hsd topic`` or ``t holm``; or a correction alone, such as ``hsd``, of
        ``model``. Without it, the default for the layout of the scores.
    model
        A model or its name, for a correction alone; MD6 on shards and MD1 on the whole collection without it.
    generalize
        The claim that leads; new topics like these without it.
    alpha
        Level of significance.
    fill
        What undefined scores count as (as in `fill_undefined`; "leave" to fit without them). Missing scores are never
        filled unless this is a number.
    measure
        Which measure to take, where there are several; of several the first leads, and the others stand beside it.
    joint
        Whether the pairs of several measures are one family; each measure is tested at its own level without it.
    columns
        Which column of a table is what, as `read_scores` takes it; "pre" is what was measured of users before an A/B
        test, whose part in the scores is taken out (CUPED).
    range
        Lowest and highest score there can be, for intervals; by the scores without it (see `as_scores`).
    lower_is_better
        Whether lower scores are better; by the measure's name without it.
    only
        Systems to which the comparison is confined.
    baseline
        A system, or several, with which all others are compared; no other pairs are.
    by
        Labels of items, such as a column category, by which the answer is broken down: one column or two, crossed.
    repeats
        What instances are: "seeds", which move all topics together, or "samples", drawn anew for each topic. Without
        it they are taken as seeds, which is right for both.
    n_resamples
        Resamples of procedures that draw.
    seed
        Seed of everything random; recorded.
    calibration
        Tables simulated in each scenario at most, to measure the error rates on data like these: 0 for
        none, None for 100 to 150.
    title
        Heading of the report.
    notes
        What the reader of the files decided; shown among the diagnostics.
    inputs
        Files to be listed with their SHA-256.
    settings
        Further settings to be recorded.
    recipe
        The command that the analysis is made by.
    """

    method: str | Procedure | None = None
    model: Model | str | None = None
    generalize: Claim | str | Iterable[str] | None = None
    alpha: float = 0.05
    fill: str | float = "zero"
    measure: str | Sequence[str] = ""
    joint: bool = False
    columns: Mapping[str, str | Sequence[str]] | None = None
    range: tuple[float, float] | None = None
    lower_is_better: bool | None = None
    only: Sequence[str] | None = None
    baseline: str | Sequence[str] | None = None
    by: str | Sequence[str] = ()
    repeats: str | None = None
    n_resamples: int | None = None
    seed: int | None = None
    calibration: int | None = 0
    title: str = ""
    notes: tuple[str, ...] = ()
    inputs: tuple[str | os.PathLike[str], ...] = ()
    settings: Mapping[str, Any] | None = None
    recipe: Recipe | None = None

    @property
    def run_options(self) -> dict[str, Any]:
        """Options of `run_procedure`."""
        return {
            "only": self.only,
            "baseline": self.baseline,
            "n_resamples": self.n_resamples,
            "seed": self.seed or 0,
        }


def analyze(
    data: Any,
    options: AnalysisOptions | None = None,
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
    **choices: Any,
) -> Analysis:
    """Say which systems differ, what may be claimed, and how far that can be trusted.

    Parameters
    ----------
    data : object
        Any table that `as_scores` takes: topics (questions, items) and systems (models), perhaps shards, splits or
        instances (seeds).
    options : AnalysisOptions, optional
        What can be chosen, all at once.
    executor : Executor, optional
        Where to draw and to simulate instead of in threads: any executor of `concurrent.futures`, also of processes or
        machines; the figures do not depend on it. Refused where nothing is drawn and nothing simulated.
    progress : callable, optional
        Called with (done, in all).
    **choices
        Single fields of `AnalysisOptions`, such as ``method``, ``generalize`` or ``alpha``.

    Returns
    -------
    Analysis
        All numbers of the answer, with the leaderboard, the report and charts as methods.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> table = xr.DataArray(rng.normal([.5, .3, .1], .05, (30, 3)), dims=("topic", "system"), name="AP")
    >>> found = analyze(table)
    >>> found.comparisons.claim, found.lead.n_significant
    ('new topics like these 30', 3)
    """
    chosen = replace(options or AnalysisOptions(), **choices)
    measures = (chosen.measure,) if isinstance(chosen.measure, str) else tuple(dict.fromkeys(chosen.measure))
    with lend_executor(executor):
        # error rates are simulated for the measure that leads
        analyses = [
            _analyze_scores(
                data, name, replace(chosen, calibration=chosen.calibration if k == 0 else 0), progress
            )
            for k, name in enumerate(measures or ("",))
        ]
    return join_measures(*analyses, joint=chosen.joint)


def join_measures(*analyses: Analysis, joint: bool = False) -> Analysis:
    """Return the first of several analyses of the same systems, one a measure, with the others beside it.

    Parameters
    ----------
    analyses : Analysis
        Analyses of the same systems; the first one leads and orders the systems.
    joint : bool
        Whether the pairs of all measures are one family.

    Returns
    -------
    Analysis
        The first, whose `each` are all of them.
    """
    first, *others = (part for analysis in analyses for part in analysis.each)
    for other in others:
        if set(other.systems) != set(first.systems) or other.baselines != first.baselines:
            raise InputError(
                f"{other.measure} was analysed for other systems or baselines than {first.measure}",
                remedy="give analyses of the same ones",
            )
    if joint:
        # loaded here, since few ask for it
        from shardwise.analysis.measures import correct_measures

        first, *others = correct_measures([first, *others])
    return replace(first, others=tuple(others)) if others else first


def _analyze_scores(data: Any, measure: str, chosen: AnalysisOptions, progress: Progress | None) -> Analysis:
    alpha = checked_level(chosen.alpha)
    by = (chosen.by,) if isinstance(chosen.by, str) else tuple(chosen.by)
    # of a table, any column may be one of slices
    sliced = {"slice": by} if by and not (isinstance(data, Scores) or is_labelled(data)) else {}
    columns: dict[str, Any] = {**(chosen.columns or {}), **sliced}
    before = columns.pop("pre", None)
    original = as_scores(
        data,
        measure=measure or None,
        columns=columns or None,
        range=chosen.range,
        lower_is_better=chosen.lower_is_better,
    )
    if before is not None:
        from shardwise.methods.unpaired.method import adjust_scores

        original, note = adjust_scores(original, as_scores(data, measure=before, columns=columns or None))
        chosen = replace(chosen, notes=(*chosen.notes, note))
    if original.sizes.get("split") == 1:
        original = original.select(split=0)
    given = original
    original, generalize = by_units(original, chosen.generalize)
    chosen = replace(chosen, generalize=generalize)
    nouns = original.nouns
    # which scores are used, and by which procedures
    table, filled, policy = _fill_scores(original, chosen.fill)
    items = table if original is given else _fill_scores(given.unstack_tasks(), chosen.fill)[0]
    procedures, unsupported = choose_procedures(table, chosen)
    table = _drop_useless_topics(table, procedures)
    # what remains may have no gaps, which admits other procedures
    procedures, unsupported = choose_procedures(table, chosen)
    first = table.select(split=0) if "split" in table.dims else table
    whole = original.select(split=0) if "split" in original.dims else original
    undefined = filled if policy == "drop" or not filled else int(whole.find_undefined().sum())
    unpaired = first.unpaired
    # the fit describes the scores even where another method decides
    shards = "shard" in first.dims
    model = procedures[0].method.model
    if unpaired:
        model = Model.of("system")
    elif not isinstance(model, Model) or (model == MD1 and shards):
        model = MD6 if shards else MD1
    fit = anova(first.mean("instance") if "instance" in first.dims else first, model)
    unused = original.sizes["topic"] - table.sizes["topic"] - (filled if policy == "drop" else 0)
    results = [make_result(table, procedure, alpha, chosen.run_options) for procedure in procedures]
    # the result asked for leads, or the last; all have their systems in its order
    asked = None if chosen.generalize is None else Claim.of(chosen.generalize, nouns)
    first_of = next((k for k, item in enumerate(results) if item.procedure.claim == asked), -1)
    claims = tuple(replace(item, order=results[first_of].pairs.names) for item in results)
    lead = claims[first_of]
    plain = first.people is None and first.votes is None
    repeats, doubt = _describe_repeats(first, lead.procedure, chosen)
    residuals = residual_figures(fit)
    trust = trust_in(
        first,
        tuple(procedure.on_one_split for procedure in procedures),
        alpha=alpha,
        # no simulation scenario has a judge, votes, or items that meet one system only
        budget=chosen.calibration if plain and not unpaired else 0,
        seed=chosen.seed or 0,
        baseline=chosen.baseline,
        progress=progress,
    )
    steps = table.sizes.get("split", 1)
    tried = [claim for claim in claims if steps > 1 and SHARDS in claim.procedure.on_one_split.layouts]
    name = measure or table.measure.name
    slices = None
    if by:
        from shardwise.analysis.slices import compare_slices

        how: dict[str, Any] = {
            "alpha": alpha,
            "measure": name,
            "decimals": choose_decimals([lead.half_widths]),
        }
        bases = list_baselines(chosen.baseline)
        slices = compare_slices(
            items, lead.pairs, lead.procedure, by, baselines=bases, run=chosen.run_options, **how
        )
    of_ranks = lead.procedure.method.of_ranks
    planned = (
        any(claim.procedure.claim == LIKE for claim in claims) and plain and not unpaired and not of_ranks
    )
    return Analysis(
        scores=original,
        analysed=table,
        item_scores=items,
        slices=slices,
        baselines=list_baselines(chosen.baseline),
        title=chosen.title,
        measure=f"mean rank of {name}" if of_ranks else name,
        method=procedures[0].correction,
        alpha=alpha,
        fit=fit,
        claims=claims,
        unsupported=unsupported,
        repeats=repeats,
        splits=tuple(
            _summarize_splits(table, claim, chosen, _scale_progress(progress, k, len(tried), steps))
            for k, claim in enumerate(tried)
        ),
        power=power_of(fit.estimates(generalize=LIKE), fit.scores.sizes["topic"], alpha) if planned else None,
        trust=trust,
        residuals=residuals,
        remarks=(
            *check_scores(fit.scores, undefined, policy, fit.scores.values.size, nouns),
            *check_gaps(original, isinstance(chosen.fill, str), policy, nouns),
            *([Remark("topics left out", True, {"topics": unused}, nouns)] if unused else []),
            *_collect_fit_notes(fit, lead),
            *doubt,
            *(check_residuals(residuals, lead.procedure, nouns) if first.votes is None else ()),
            *(
                Remark("excess false alarms", True, {"finding": finding}, nouns)
                for finding in list_findings(trust)
                if finding.warning
            ),
        ),
        notes=tuple(chosen.notes),
        configuration={
            "measure": name,
            "lower_is_better": lead.pairs.lower_is_better or None,
            "procedure": lead.procedure.name,
            "model": model.title,
            "alpha": alpha,
            "fill": str(chosen.fill),
            "only": None if chosen.only is None else ", ".join(chosen.only),
            "baseline": ", ".join(list_baselines(chosen.baseline)) or None,
            "by": ", ".join(by) or None,
            "joint": chosen.joint or None,
            "repeats": chosen.repeats,
            "resamples": lead.n_resamples,
            **original.sizes,
            "seed": chosen.seed,
            **(chosen.settings or {}),
            "scores_sha256": scores_hash(given),
        },
        inputs=hash_files(chosen.inputs) if chosen.inputs else (),
        versions=list_versions(),
        recipe=chosen.recipe,
        leads=lead.key,
        instead=tuple(
            make_result(table, choose_procedure(table, advice.method), advice.alpha, chosen.run_options)
            for advice in trust.list_replacements()
        ),
    )


def make_result(table: Scores, procedure: Procedure, alpha: float, run: Mapping[str, Any]) -> ClaimResult:
    """Run one procedure on a table and hold what it says about its claim.

    Parameters
    ----------
    table : Scores
        Scores that passed the gate.
    procedure : Procedure
        What to run.
    alpha : float
        Level of significance.
    run : mapping
        Options of `run_procedure`.

    Returns
    -------
    ClaimResult
        The comparisons with their level.
    """
    pairs = run_procedure(procedure, table, **run)
    key = "like" if procedure.claim.over else "here"
    return ClaimResult(key=key, procedure=procedure, pairs=pairs, alpha=alpha)


def _drop_useless_topics(table: Scores, procedures: Sequence[Procedure]) -> Scores:
    """Drop topics that say nothing of any system to a procedure, so that no claim counts them.

    Classic tests of topic means need every shard of a topic, the moderated one those that any system has; models take
    the cells that are there.
    """
    gaps = np.isnan(table.topic_rows())
    of_system = np.asarray(gaps.all(axis=2))
    in_cells = any(procedure.method.fits_cells for procedure in procedures)
    if table.others and "instance" not in table.dims and not in_cells:
        common = all(leaves_out_gaps(procedure, table) for procedure in procedures)
        of_system |= (gaps & ~(gaps.all(axis=1, keepdims=True) & common)).any(axis=2)
    useless = of_system.all(axis=1)
    return table if not useless.any() or useless.all() else table.select(topic=np.flatnonzero(~useless))


def _collect_fit_notes(fit: AnovaFit, lead: ClaimResult) -> list[Remark]:
    """Collect notes of the fits; gaps have remarks of their own, and the ANOVA table matters only where it decides."""
    decides = lead.procedure.method.model is not None
    of_fit = [note for note in fit.notes if decides or is_about(note, "no error")]
    notes = dict.fromkeys(
        (*of_fit, *(note for note in lead.pairs.notes if not is_about(note, "gaps", "splits")))
    )
    return [Remark("about the fit", False, {"note": note}) for note in notes]


def _describe_repeats(
    table: Scores, procedure: Procedure, chosen: AnalysisOptions
) -> tuple[RepeatsTaken | None, list[Remark]]:
    """Say what instances were taken for, with a warning where the scores contradict it."""
    if "instance" not in table.dims or "instance" not in procedure.claim:
        return None, []
    kind = procedure.method.repeats_kind or "seeds"
    try:
        effect = seeds_or_samples(table)
    except InputError:  # no system has a second instance
        return None, []
    declared = chosen.repeats is not None or chosen.method is not None
    from shardwise.planning.variances import repeat_components

    components = None
    with suppress(InputError):  # seeds have gaps
        components = repeat_components(table, kind)[0]
    taken = RepeatsTaken(kind, declared, effect, components)
    if kind == "seeds" or not effect.shown:
        return taken, []
    return taken, [Remark("seeds, not samples", True, {"effect": effect}, table.nouns)]


def choose_procedures(table: Scores, chosen: AnalysisOptions) -> tuple[list[Procedure], str]:
    """Choose the procedures of an analysis, that of these topics first, and say why none covers new topics."""
    dims, nouns = table.dims, table.nouns
    lead = choose_procedure(table, chosen.method, None, chosen.repeats, chosen.model)
    known = list_claims_on(lead, dims)
    if not known:
        raise lead.make_refusal(f"cannot take scores by {', '.join(dims)}", f"it takes {lead.takes}")
    asked = lead.claim
    if chosen.generalize is not None:
        asked = Claim.of(chosen.generalize, nouns).check(dims)
    elif asked == HERE and LIKE in known:
        asked = LIKE
    if asked not in known:
        raise refuse_claim(lead, asked, known, nouns)
    wanted = dict.fromkeys((HERE, LIKE if asked == HERE else asked))
    procedures = [known[claim] for claim in wanted if claim in known]
    procedures = [
        procedure for procedure in procedures if leaves_out_gaps(procedure, table) or procedure.claim == asked
    ]
    unsupported = (
        ""
        if len(procedures) > 1 or procedures[0].claim.over
        else f"{lead.method.name} supports claims about {HERE.phrase(nouns)} only"
    )
    return procedures, unsupported


def _fill_scores(table: Scores, fill: str | float) -> tuple[Scores, int, str]:
    """Fill undefined cells unless they are to be left; also return how many cells or topics that took, and how.

    A missing score is filled only by a number that was named.
    """
    if not table.has_gaps:
        return table, 0, fill if isinstance(fill, str) else f"{fill:g}"
    from shardwise.scoring.undefined import fill_undefined

    if not isinstance(fill, str):
        return fill_undefined(table, fill), 0, f"{fill:g}"
    undefined = table.find_undefined()
    if fill == "leave" or not undefined.any():
        return table, 0, fill
    if fill == "drop":
        kept = fill_undefined(table, "drop")  # refuses what drops all
        return kept, table.sizes["topic"] - kept.sizes["topic"], fill
    return fill_undefined(table, fill), int(undefined.sum()), fill


def _summarize_splits(
    table: Scores, claim: ClaimResult, chosen: AnalysisOptions, progress: Progress | None
) -> SplitResult:
    # Loaded here, since most tables have no splits.
    from shardwise.comparing.stability import (
        agreement_over_splits,
        split_noise,
        stability_of,
        summary_over_splits,
    )

    each: list[Comparisons] = []
    total, procedure = table.sizes["split"], claim.procedure.on_one_split
    for i in range(total):
        try:
            each.append(run_procedure(procedure, table.select(split=i), **chosen.run_options))
        except InputError as error:
            raise error.add_location(f"split {i}") from error
        if progress is not None:
            progress(i + 1, total)
    summary = summary_over_splits(each, alpha=chosen.alpha)
    return SplitResult(
        key=claim.key,
        procedure=procedure,
        splits=len(each),
        noise=split_noise(each),
        summary=summary,
        agreement=stability_of(each, alpha=chosen.alpha).mean(),
        divided=agreement_over_splits(each, (chosen.alpha,)).droplevel("alpha", axis=1),
        common=int(summary["mean"]["common"]),
        pairs=len(each[0]),
    )


def _scale_progress(progress: Progress | None, part: int, parts: int, steps: int) -> Progress | None:
    """Report the progress of one of several equal parts as progress of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(part * steps + done, parts * steps)


CLASSIC: dict[tuple[str, ...], tuple[str, ...]] = {
    TABLE: ("t bonferroni", "MD1 hsd topic"),
    SHARDS: ("t bonferroni", "MD6 hsd topic"),
}
"""t-tests with Bonferroni's correction and Tukey's HSD for new topics, by layout."""
OF_DATA_SETS, DATA_SETS = "friedman nemenyi", ("dataset", "data set")
"""The classic method where items are data sets, and what these are called."""
MOST_PAIRS = 50_000
"""Pairs beyond which they are not run again."""


def compare_classic(analysis: Analysis) -> tuple[ClaimResult, ...]:
    """Compare the same pairs by t-tests with Bonferroni's correction, and by Tukey's HSD or Dunnett's test.

    On data sets, all pairs also by Friedman's ranks with Nemenyi's test.

    Parameters
    ----------
    analysis : Analysis
        An analysis of all pairs, or of those with baselines, whose claim is about new topics.

    Returns
    -------
    tuple of ClaimResult
        Empty where the classic methods do not apply: other claims, chosen pairs, people's scores, two systems.
    """
    lead, bases, table = analysis.lead, analysis.baselines, analysis.analysed
    names = CLASSIC.get(tuple(name for name in table.dims if name != "split"), ())
    if bases:
        names = tuple(name.replace("hsd", "dunnett") for name in names[: 1 + (len(bases) == 1)])
    elif analysis.item_noun in DATA_SETS and table.dims == TABLE:
        names += (OF_DATA_SETS,)
    applies = lead.procedure.claim == Claim("topic") and (lead.pairs.complete or bool(bases))
    if not applies or table.people is not None or not 1 < len(lead.pairs) <= MOST_PAIRS:
        return ()
    results = (compare_by(analysis, name) for name in names)
    return tuple(result for result in results if result is not None)


def compare_by(analysis: Analysis, name: str) -> ClaimResult | None:
    """Compare the systems of an analysis by another method; None where it cannot take a gap."""
    procedure, table = parse_procedure(name), analysis.analysed
    if "split" in table.dims:
        table = table.mean("split")
    try:
        pairs = run_procedure(procedure, table, only=analysis.systems, baseline=analysis.baselines or None)
    except InputError:
        return None
    return ClaimResult(
        key="like", procedure=procedure, pairs=pairs, alpha=analysis.alpha, order=analysis.systems
    )
