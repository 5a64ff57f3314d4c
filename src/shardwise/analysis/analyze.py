"""Scores -> everything that is said about them, computed once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.analysis.analysis import Analysis, ClaimResult, SplitResult
from shardwise.analysis.diagnostics import (
    Remark,
    remarks_on_gaps,
    remarks_on_residuals,
    remarks_on_scores,
    residual_figures,
)
from shardwise.analysis.power import power_of
from shardwise.analysis.provenance import Recipe, hashed, scores_hash, versions
from shardwise.analysis.trust import sentences, trust_in
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.decisions import JOINT
from shardwise.comparing.intervals import has_own, shares
from shardwise.comparing.split_tables import agreement_over_splits, summary_over_splits
from shardwise.comparing.stability import stability_of
from shardwise.core.arguments import Progress
from shardwise.core.arguments import level as checked_level
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim, counted
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD6, Model
from shardwise.core.scores import as_scores, layout_of, missing_cells, nouns_of, undefined_cells
from shardwise.fits.anova import AnovaFit, anova
from shardwise.fits.instances import ByInstances
from shardwise.fits.models import ByBootstrap, ByModel
from shardwise.fits.moderated import ByModerated
from shardwise.fits.topics import DRAWN, ByTopics
from shardwise.numerics.corrections import CORRECTIONS, critical_t, uncorrected_level
from shardwise.numerics.error_terms import supports
from shardwise.numerics.groups import letter
from shardwise.numerics.tables import SHARDS, SPLITS, TABLE
from shardwise.procedures.procedure import Procedure, usual_resamples
from shardwise.procedures.running import USUAL
from shardwise.procedures.vocabulary import for_claims, parse
from shardwise.scoring.undefined import fill_undefined

HERE, LIKE = Claim(), Claim("topic")


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """What can be chosen of an analysis.

    Parameters
    ----------
    method
        A procedure or its name, such as ``MD6 hsd topic`` or ``t holm``; or a correction alone, such as ``hsd``, of
        ``model``. Without it, the usual one for the layout of the scores.
    model
        A model or its name, for a correction alone; MD6 on shards and MD1 on the whole collection without it.
    generalize
        The claim that leads; topics like these without it.
    alpha
        Level of significance.
    fill
        What undefined scores count as (as in `fill_undefined`; "leave" to fit without them). Missing scores are never
        filled unless this is a number.
    measure
        Which measure to take, where there are several.
    only
        Systems to which the comparison is confined.
    baseline
        A system with which all others are compared.
    n_resamples
        Resamples of procedures that draw.
    seed
        Seed of everything random; recorded.
    calibration
        Tables simulated in each world to see whether the procedures can be trusted on scores like these: 0 for none,
        None for 100 to 400.
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
    measure: str = ""
    only: Sequence[str] | None = None
    baseline: str | None = None
    n_resamples: int | None = None
    seed: int | None = None
    calibration: int | None = 0
    title: str = ""
    notes: tuple[str, ...] = ()
    inputs: tuple[str | os.PathLike[str], ...] = ()
    settings: Mapping[str, Any] | None = None
    recipe: Recipe | None = None


def analyze(
    data: Any, options: AnalysisOptions | None = None, *, progress: Progress | None = None, **choices: Any
) -> Analysis:
    """Say which systems differ, what may be claimed, and how far that can be trusted.

    Parameters
    ----------
    data
        Any table that `as_scores` takes: topics (questions, items) and systems (models), perhaps shards, splits or
        instances (seeds).
    options
        What can be chosen, all at once.
    progress
        Called with (done, in all).
    choices
        Single fields of `AnalysisOptions`, such as ``method``, ``generalize`` or ``alpha``.

    >>> rng = np.random.default_rng(1)
    >>> table = xr.DataArray(rng.normal([.5, .3, .1], .05, (30, 3)), dims=("topic", "system"), name="AP")
    >>> found = analyze(table)
    >>> found.comparisons.claim, found.lead.found
    ('on topics like these 30', 3)
    """
    chosen = replace(options or AnalysisOptions(), **choices)
    alpha = checked_level(chosen.alpha)
    original = as_scores(data, measure=chosen.measure or None)
    if original.sizes.get("split") == 1:
        original = original.isel(split=0, drop=True)
    nouns = nouns_of(original)
    table, filled, policy = _filled(original, chosen.fill)
    procedures, unsupported = procedures_of(table, chosen)
    table = _usable(table, procedures)
    procedures, unsupported = procedures_of(table, chosen)  # what is left may have no gaps
    first = table.isel(split=0, drop=True) if "split" in table.dims else table
    undefined = filled if policy == "drop" else _undefined_in_first(original) if filled else 0
    model = _model_of(procedures[0], first)
    fit = anova(first.mean("instance", keep_attrs=True) if "instance" in first.dims else first, model)
    unused = original.sizes["topic"] - table.sizes["topic"] - (filled if policy == "drop" else 0)
    claims, leads = _in_one_order([_claim(table, first, one, chosen) for one in procedures], chosen, nouns)
    lead = next(one for one in claims if one.key == leads)
    residuals = residual_figures(fit)
    trust = trust_in(
        first,
        tuple(procedures),
        alpha=alpha,
        repetitions=chosen.calibration,
        seed=chosen.seed or 0,
        progress=progress,
    )
    steps = table.sizes.get("split", 1)
    tried = [one for one in claims if steps > 1 and SHARDS in one.procedure.dims]
    name = chosen.measure or str(table.name or "score")
    planned = any(one.procedure.claim == LIKE for one in claims)
    return Analysis(
        scores=original,
        title=chosen.title
        or f"{name}: which of {counted(len(lead.pairs.names), nouns.get('system', 'system'))} differ?",
        measure=name,
        method=procedures[0].correction,
        alpha=alpha,
        fit=fit,
        claims=claims,
        unsupported=unsupported,
        splits=tuple(
            _over_splits(table, claim, chosen, _part(progress, k, len(tried), steps))
            for k, claim in enumerate(tried)
        ),
        power=power_of(fit.estimates(generalize=LIKE), int(fit.scores.sizes["topic"]), alpha)
        if planned
        else None,
        trust=trust,
        residuals=residuals,
        remarks=(
            *remarks_on_scores(fit.scores, undefined, policy, fit.scores.size, nouns),
            *remarks_on_gaps(original, isinstance(chosen.fill, str), policy, nouns),
            *_unused(unused, nouns),
            *_notes(fit, lead),
            *remarks_on_residuals(residuals, lead.procedure, nouns),
            *(
                Remark(
                    one.text, warning=True, name=f"{one.method} does not keep its promise", remedy=one.remedy
                )
                for one in sentences(trust)
                if one.warning
            ),
        ),
        notes=tuple(chosen.notes),
        configuration={
            "measure": name,
            "procedure": lead.procedure.name,
            "model": model.title,
            "alpha": alpha,
            "fill": str(chosen.fill),
            "only": None if chosen.only is None else ", ".join(chosen.only),
            "baseline": chosen.baseline,
            "resamples": lead.n_resamples,
            **{str(d): int(n) for d, n in original.sizes.items()},
            "seed": chosen.seed,
            **(chosen.settings or {}),
            "scores_sha256": scores_hash(original),
        },
        inputs=hashed(chosen.inputs),
        versions=versions(),
        recipe=chosen.recipe,
        leads=leads,
    )


def _usable(table: xr.DataArray, procedures: Sequence[Procedure]) -> xr.DataArray:
    """The table without topics that say nothing of any system to a procedure, so that no claim counts them.

    Tests of topic means need every shard of a topic; models take the cells that are there.
    """
    gaps = table.isnull()
    others = [d for d in table.dims if d not in ("topic", "system")]
    in_cells = any(isinstance(one.fit, ByModel | ByBootstrap) for one in procedures)
    whole = "instance" in table.dims or in_cells
    of_system = (gaps.all(others) if whole else gaps.any(others)) if others else gaps
    useless = of_system.all("system").to_numpy()
    return table if not useless.any() or useless.all() else table.isel(topic=np.flatnonzero(~useless))


def _unused(topics: int, nouns: Mapping[str, str]) -> list[Remark]:
    if not topics:
        return []
    verb = "is" if topics == 1 else "are"
    what, system = counted(topics, nouns.get("topic", "topic")), nouns.get("system", "system")
    return [
        Remark(
            f"{what} {verb} left out: no {system} has all its scores there.",
            warning=True,
            name="scores left out",
            remedy="Fill what is undefined by a rule, or use a model, which takes the cells that are there.",
        )
    ]


def _notes(fit: AnovaFit, lead: ClaimResult) -> list[Remark]:
    """What the fits have to say; gaps are spoken of elsewhere, and the table of variance only where it decides."""
    decides = isinstance(lead.procedure.fit, ByModel)
    own = [note for note in fit.notes if decides or "exactly" in note]
    notes = dict.fromkeys((*own, *(note for note in lead.pairs.notes if "missing" not in note)))
    return [Remark(_sentence(note), name="about the fit") for note in notes]


def procedures_of(table: xr.DataArray, chosen: AnalysisOptions) -> tuple[list[Procedure], str]:
    """The procedures of an analysis, that of these topics first, and why topics like these are not spoken of."""
    dims, nouns = layout_of(table), nouns_of(table)
    lead = _procedure(dims, chosen)
    within = dims if dims in lead.dims else tuple(d for d in dims if d != "split")
    beside = tuple(d for d in dims if d != "split")
    known = for_claims(lead, within) | {c: p for c, p in for_claims(lead, beside).items() if c == HERE}
    if isinstance(
        lead.fit, ByModel
    ):  # a formula takes several layouts, and need not support the same claims in all
        whole = lead.fit.model.on_shards is False
        fitted = TABLE if whole else beside
        known = {claim: one for claim, one in known.items() if supports(lead.fit.model, fitted, claim)}
    if not known:
        raise InputError(
            f"{lead.name} cannot take scores by {', '.join(dims)}",
            remedy=f"it takes {lead.takes}",
            argument="method",
            value=lead.name,
        )
    asked = lead.claim
    if chosen.generalize is not None:
        asked = Claim.of(chosen.generalize, nouns).check(dims)
    elif asked == HERE and LIKE in known:
        asked = LIKE
    if asked not in known:
        words = "; ".join(one.phrase(nouns) for one in known)
        raise InputError(
            f"{lead.fit.name} does not speak of {asked.phrase(nouns)}",
            remedy=f"it speaks of {words}",
            argument="generalize",
            value=asked.over,
        )
    wanted = dict.fromkeys((HERE, LIKE if asked == HERE else asked))
    found = [known[claim] for claim in wanted if claim in known]
    gaps = bool(table.isnull().any())
    found = [one for one in found if one.fit.takes_gaps or not gaps or one.claim == asked]
    unsupported = (
        ""
        if len(found) > 1 or found[0].claim.over
        else (f"{lead.fit.name} speaks of {HERE.phrase(nouns)} alone")
    )
    return found, unsupported


def _procedure(dims: tuple[str, ...], chosen: AnalysisOptions) -> Procedure:
    """The procedure asked for by name, by a correction of a model, or by nothing but the layout of the scores."""
    if chosen.method is None and chosen.model is None:
        if dims not in USUAL:
            raise InputError(
                f"no procedure is usual for scores by {', '.join(dims)}",
                remedy="give topics and systems, with shards or with instances",
            )
        return parse(USUAL[dims])
    if chosen.method is None or chosen.method in CORRECTIONS:
        model = chosen.model or (MD6 if "shard" in dims else MD1)
        model = Model.parse(model) if isinstance(model, str) else model
        fit = ByModel(model)
        return Procedure(fit, str(chosen.method or "hsd"), fit.usual_claim)
    if chosen.model is not None:
        raise InputError(
            f"{chosen.method} is a procedure of its own, and a model is given too",
            remedy="name a correction with the model, or the procedure alone",
            argument="method",
        )
    return parse(chosen.method)


def _in_one_order(
    claims: list[ClaimResult], chosen: AnalysisOptions, nouns: Mapping[str, str]
) -> tuple[tuple[ClaimResult, ...], str]:
    """The results with their systems in the order of that which leads, and the key of that one."""
    leads = _lead(claims, chosen, nouns)
    names = next(one.pairs.names for one in claims if one.key == leads)
    ordered = []
    for one in claims:
        place = {name: k for k, name in enumerate(one.pairs.names)}
        letters = None if one.letters is None else tuple(one.letters[place[name]] for name in names)
        ordered.append(replace(one, intervals=one.intervals.loc[list(names)], letters=letters))
    return tuple(ordered), leads


def _model_of(procedure: Procedure, scores: xr.DataArray) -> Model:
    own = getattr(procedure.fit, "model", None)
    if isinstance(own, Model):
        return own if not (own == MD1 and "shard" in scores.dims) else MD6
    return MD6 if "shard" in scores.dims else MD1


def _lead(claims: Sequence[ClaimResult], chosen: AnalysisOptions, nouns: Mapping[str, str]) -> str:
    """The key of the claim asked for, else of topics like these."""
    asked = None if chosen.generalize is None else Claim.of(chosen.generalize, nouns)
    return next((one.key for one in claims if one.procedure.claim == asked), claims[-1].key)


def _filled(table: xr.DataArray, fill: str | float) -> tuple[xr.DataArray, int, str]:
    """Scores without undefined cells unless they are to be left, how many cells or topics that took, and how.

    A missing score is filled only by a number that was named.
    """
    if not isinstance(fill, str):
        return (fill_undefined(table, fill) if table.isnull().any() else table), 0, f"{fill:g}"
    undefined = undefined_cells(table)
    if fill == "leave" or not undefined.any():
        return table, 0, fill
    if fill == "drop":
        gone = undefined.any([d for d in table.dims if d != "topic"]).to_numpy()
        if gone.all():
            return fill_undefined(table, "drop"), 0, fill  # refuses with the reason
        return table.isel(topic=np.flatnonzero(~gone)), int(gone.sum()), fill
    done = fill_undefined(table, fill)
    return done.where(~missing_cells(table)), int(undefined.sum()), fill


def _undefined_in_first(table: xr.DataArray) -> int:
    first = table.isel(split=0) if "split" in table.dims else table
    return int(undefined_cells(first).sum())


def _claim(
    table: xr.DataArray, first: xr.DataArray, procedure: Procedure, chosen: AnalysisOptions
) -> ClaimResult:
    """What one procedure says: of the first split, or of all splits where it averages them out."""
    every = layout_of(table) != SPLITS or SPLITS in procedure.dims
    scores = table if every else first
    pairs = procedure.run(
        scores,
        only=chosen.only,
        baseline=chosen.baseline,
        n_resamples=chosen.n_resamples,
        seed=chosen.seed or 0,
    )
    intervals, comparison = _intervals(pairs, chosen.alpha)
    complete = _complete(pairs)
    joint = pairs.decisions.outcome.joint if pairs.correction == JOINT else None
    hsu = complete and joint is not None and joint.top(chosen.alpha) is not None
    drawn = _draws(procedure)
    usual = usual_resamples(procedure.fit, scores.sizes["system"])
    n_resamples = (chosen.n_resamples or usual) if drawn else None
    return ClaimResult(
        key="like" if procedure.claim.over else "here",
        procedure=procedure,
        pairs=pairs,
        intervals=intervals,
        comparison=comparison,
        half=_half_widths(pairs, intervals, chosen.alpha),
        letters=_letters(pairs, chosen.alpha),
        top=_top(pairs, chosen.alpha, hsu),
        may_be_best=hsu,
        found=int(pairs.reject(chosen.alpha).sum()),
        alpha=chosen.alpha,
        n_resamples=n_resamples,
        resolution=0.0 if n_resamples is None or pairs.correction != JOINT else 1.0 / (n_resamples + 1),
        first_split=table.sizes.get("split", 1) > 1 and not every,
    )


def _complete(pairs: Comparisons) -> bool:
    r = len(pairs.names)
    return len(pairs) == r * (r - 1) // 2


def _intervals(pairs: Comparisons, alpha: float) -> tuple[pd.DataFrame, bool]:
    """Intervals of the systems' means, and whether they are comparison intervals.

    A test of pairs by t has a critical difference of its own for each pair; shared out over the two systems they come
    as near to comparison intervals as single intervals can.
    """
    usual = pairs.intervals(1.0 - alpha)
    if (pairs.correction == JOINT and _complete(pairs)) or has_own(pairs.estimates):
        return usual, True
    if not (_complete(pairs) and np.isfinite(pairs.df).all() and np.isfinite(pairs.se).all()):
        return usual, False
    level = uncorrected_level(pairs.correction, pairs.p, alpha)
    r = len(pairs.names)
    critical = pairs.se * critical_t(pairs.correction, level, pairs.df, r, alpha)
    members = np.union1d(pairs.ia, pairs.ib)
    places = (np.searchsorted(members, pairs.ia), np.searchsorted(members, pairs.ib))
    half = shares(critical, *places, r)
    mean = usual["estimate"]
    return usual.assign(lower=mean - half, upper=mean + half), True


def _draws(procedure: Procedure) -> bool:
    """Whether resamples say what the p-values are."""
    fit = procedure.fit
    if isinstance(fit, ByModerated):
        return procedure.correction == JOINT
    if isinstance(fit, ByTopics):
        return fit.name in DRAWN
    return isinstance(fit, ByInstances) and fit.drawn


def _top(pairs: Comparisons, alpha: float, hsu: bool) -> tuple[str, ...]:
    """Hsu's group, or the best and all that are not told from it; nothing where the best did not meet all others."""
    names = pairs.names
    if hsu:
        return pairs.top_group(alpha)
    frame = pairs.to_frame()
    with_best = ((frame["a"] == names[0]) | (frame["b"] == names[0])).to_numpy()
    if int(with_best.sum()) < len(names) - 1:
        return ()
    told = frame[with_best & pairs.reject(alpha)]
    away = {*told["a"], *told["b"]} - {names[0]}
    return tuple(name for name in names if name not in away)


def _half_widths(pairs: Comparisons, intervals: pd.DataFrame, alpha: float) -> Floats:
    """Half-widths of the intervals of all differences."""
    e = pairs.estimates
    alike = e.difference_variance is None and e.difference_df is None and e.test is None
    if pairs.correction == "hsd" and alike:
        # one critical difference for all pairs, and each mean carries half of it (F19 eq. 3)
        own = float(intervals["upper"].iloc[0] - intervals["estimate"].iloc[0])
        return np.full(len(pairs), 2.0 * own)
    each = pairs.to_frame(1.0 - alpha)
    return (each["upper"] - each["difference"]).to_numpy(np.float64)


def _letters(pairs: Comparisons, alpha: float) -> tuple[tuple[str, ...], ...] | None:
    try:
        groups = pairs.groups(alpha)
    except InputError:  # thousands of overlapping groups, or not all pairs
        return None
    if len(groups) > 2 * len(pairs.names):  # letters that explain less than the matrix of pairs
        return None
    found: dict[str, list[str]] = {name: [] for name in pairs.names}
    for k, group in enumerate(groups):
        for name in group:
            found[name].append(letter(k))
    return tuple(tuple(found[name]) for name in pairs.names)


def _over_splits(
    table: xr.DataArray, claim: ClaimResult, chosen: AnalysisOptions, progress: Progress | None
) -> SplitResult:
    each: list[Comparisons] = []
    total = table.sizes["split"]
    for i in range(total):
        try:
            each.append(
                claim.procedure.run(
                    table.isel(split=i, drop=True),
                    only=chosen.only,
                    baseline=chosen.baseline,
                    n_resamples=chosen.n_resamples,
                    seed=chosen.seed or 0,
                )
            )
        except InputError as error:
            raise error.placed(f"split {i}") from error
        if progress is not None:
            progress(i + 1, total)
    summary = summary_over_splits(each, alpha=chosen.alpha)
    return SplitResult(
        key=claim.key,
        procedure=claim.procedure,
        splits=len(each),
        summary=summary,
        agreement=stability_of(each, alpha=chosen.alpha).mean(),
        divided=agreement_over_splits(each, (chosen.alpha,)).droplevel("alpha", axis=1),
        common=int(summary["mean"]["common"]),
        pairs=len(each[0]),
    )


def _part(progress: Progress | None, part: int, parts: int, steps: int) -> Progress | None:
    """Progress of one of several equal parts, told as progress of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(part * steps + done, parts * steps)


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."
