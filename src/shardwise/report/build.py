"""Scores -> everything that a report says, computed once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.comparing.over_splits import over_splits
from shardwise.comparing.split_tables import agreement_over_splits, summary_over_splits
from shardwise.comparing.stability import stability_of
from shardwise.core.arguments import Progress
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD6, Model
from shardwise.core.scores import as_scores
from shardwise.fits.anova import AnovaFit, anova
from shardwise.numerics.groups import letter
from shardwise.report.diagnostics import (
    Remark,
    Residuals,
    remarks_on_residuals,
    remarks_on_scores,
    residual_figures,
)
from shardwise.report.power import Power, power_of
from shardwise.report.provenance import Hashed, Recipe, hashed, scores_hash, versions
from shardwise.report.trust import Trust, sentences, trust_in
from shardwise.scoring.undefined import fill_undefined

HERE: tuple[str, ...] = ()
LIKE: tuple[str, ...] = ("topic",)


@dataclass(frozen=True, slots=True, eq=False)
class ClaimResult:
    """All that one claim says about the systems."""

    key: str  # "here" for these topics, "like" for topics like these
    pairs: Comparisons
    intervals: pd.DataFrame  # index system, best first; estimate, lower, upper
    half: Floats  # half-width of the interval of each pair's difference
    letters: (
        tuple[tuple[str, ...], ...] | None
    )  # groups of each system; None where they are too many to be named
    top: tuple[str, ...]  # the best system and all that are not told from it
    found: int  # pairs told apart

    @property
    def claim(self) -> str:
        """What a difference is about, in words."""
        return self.pairs.claim

    @property
    def uniform(self) -> bool:
        """Whether one critical difference serves all pairs."""
        return bool(np.ptp(self.half) <= 1e-9 * self.half.max(initial=0.0))

    @property
    def critical(self) -> float:
        """The difference from which on a pair is told apart, where one serves all: two half-widths of a mean."""
        first = self.intervals.iloc[0]
        return 2.0 * float(first["upper"] - first["estimate"]) if self.uniform else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class SplitResult:
    """How far one claim's conclusions hold whichever split is used."""

    key: str
    splits: int
    summary: pd.DataFrame  # interval_width, significant, share_significant, common, share_common
    agreement: pd.DataFrame  # AA AD PA PD PAA PPA: mean, half_width
    divided: pd.DataFrame  # 0:11, 1:10, …: pairs, share
    common: int  # pairs that every split tells apart, in the same order
    pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class ReportContent:
    """The results that a report shows; `write_report` turns them into a page."""

    title: str
    measure: str
    method: str
    alpha: float
    fit: AnovaFit
    claims: tuple[ClaimResult, ...]  # these topics first; topics like these where the model supports it
    unsupported: str  # why there is no claim about topics like these, where there is none
    splits: tuple[SplitResult, ...]  # empty for a single split
    power: Power | None
    trust: Trust
    residuals: Residuals
    remarks: tuple[Remark, ...]
    notes: tuple[str, ...]  # what the reader of the files decided and counted
    configuration: Mapping[str, Any]
    inputs: tuple[Hashed, ...]
    versions: Mapping[str, str]
    recipe: Recipe | None  # the command, where it was one

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, best first."""
        return self.claims[0].pairs.names

    @property
    def topics(self) -> int:
        """Number of topics."""
        return int(self.fit.scores.sizes["topic"])

    @property
    def shards(self) -> int:
        """Number of shards; 1 for the whole collection."""
        return int(self.fit.scores.sizes.get("shard", 1))


def build_report(
    scores: xr.DataArray | xr.Dataset,
    *,
    model: Model | str | None = None,
    method: str = "hsd",
    alpha: float = 0.05,
    fill: str | float = "zero",
    measure: str = "",
    title: str = "",
    notes: Iterable[str] = (),
    inputs: Iterable[str | os.PathLike[str]] = (),
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    recipe: Recipe | None = None,
    calibration: int | None = None,
    progress: Progress | None = None,
) -> ReportContent:
    """Compute what a report shows; the arguments are those of `write_report`.

    >>> rng = np.random.default_rng(1)
    >>> table = xr.DataArray(rng.normal([.5, .3, .1], .05, (30, 3)), dims=("topic", "system"), name="AP")
    >>> content = build_report(table)
    >>> content.claims[1].claim, content.claims[1].found
    ('on topics like these 30', 3)
    """
    table = as_scores(scores)
    _check(table, alpha)
    model = Model.parse(model) if isinstance(model, str) else model or (MD6 if "shard" in table.dims else MD1)
    original = table
    table, filled, policy = _filled(table, fill)
    first = table.isel(split=0, drop=True) if "split" in table.dims else table
    undefined = filled if policy == "drop" else _undefined_in_first(original) if filled else 0
    fit = anova(first, model)
    here = _claim(fit, "here", HERE, method, alpha)
    unsupported = ""
    claims: tuple[ClaimResult, ...] = (here,)
    try:
        claims = (here, _claim(fit, "like", LIKE, method, alpha))
    except InputError as error:
        unsupported = str(error)
    residuals = residual_figures(fit)
    trust = trust_in(
        first, model, method, alpha=alpha, repetitions=calibration, seed=seed or 0, progress=progress
    )
    several = table.sizes.get("split", 1) > 1
    topics = int(fit.scores.sizes["topic"])
    steps = table.sizes.get("split", 1)
    name = measure or str(table.name or "score")
    configuration = {
        "measure": name,
        "model": model.title,
        "method": method,
        "alpha": alpha,
        "fill": str(fill),
        **{str(d): int(n) for d, n in original.sizes.items()},
        "seed": seed,
        **(settings or {}),
        "scores_sha256": scores_hash(original),
    }
    return ReportContent(
        title=title or f"{name}: which of {len(here.pairs.names)} systems differ?",
        measure=name,
        method=method,
        alpha=alpha,
        fit=fit,
        claims=claims,
        unsupported=unsupported,
        splits=tuple(
            _over_splits(table, model, method, alpha, claim, _part(progress, k, len(claims), steps))
            for k, claim in enumerate(claims)
        )
        if several
        else (),
        power=power_of(claims[1].pairs.estimates, topics, alpha) if len(claims) > 1 else None,
        trust=trust,
        residuals=residuals,
        remarks=(
            *remarks_on_scores(fit.scores, undefined, policy, fit.scores.size),
            *(Remark(_sentence(note)) for note in fit.notes),
            *remarks_on_residuals(residuals),
            *(Remark(sentence, warning=True) for sentence, warning in sentences(trust) if warning),
        ),
        notes=tuple(notes),
        configuration=configuration,
        inputs=hashed(inputs),
        versions=versions(),
        recipe=recipe,
    )


def _check(table: xr.DataArray, alpha: float) -> None:
    absent = [d for d in ("topic", "system") if d not in table.dims]
    if absent:
        raise InputError(
            f"the scores have no dimension {' and no dimension '.join(absent)}",
            remedy="a report needs topics and systems; rename the dimensions, as in scores.rename(query='topic')",
        )
    if not 0.0 < alpha < 1.0:
        raise InputError(f"level {alpha} is not between 0 and 1", remedy="write .05 for 5 %")


def _filled(table: xr.DataArray, fill: str | float) -> tuple[xr.DataArray, int, str]:
    """Scores without undefined cells unless they are to be left, how many cells or topics that took, and how."""
    undefined = int(table.isnull().sum())
    if not undefined or fill == "leave":
        return table, 0, str(fill)
    done = fill_undefined(table, fill)
    return done, int(done.attrs.get("dropped", undefined)), str(fill)


def _undefined_in_first(table: xr.DataArray) -> int:
    first = table.isel(split=0) if "split" in table.dims else table
    return int(first.isnull().sum())


def _claim(fit: AnovaFit, key: str, generalize: tuple[str, ...], method: str, alpha: float) -> ClaimResult:
    pairs = compare_estimates(fit.estimates(generalize=generalize), method)
    intervals = pairs.intervals(1.0 - alpha)
    return ClaimResult(
        key=key,
        pairs=pairs,
        intervals=intervals,
        half=_half_widths(pairs, intervals, alpha),
        letters=_letters(pairs, alpha),
        top=pairs.top_group(alpha),
        found=int(pairs.reject(alpha).sum()),
    )


def _half_widths(pairs: Comparisons, intervals: pd.DataFrame, alpha: float) -> Floats:
    """Half-widths of the intervals of all differences."""
    e = pairs.estimates
    if pairs.correction == "hsd" and e.difference_variance is None and e.difference_df is None:
        # one critical difference for all pairs, and each mean carries half of it (F19 eq. 3)
        own = float(intervals["upper"].iloc[0] - intervals["estimate"].iloc[0])
        return np.full(len(pairs), 2.0 * own)
    each = pairs.difference_intervals(1.0 - alpha)
    return (each["upper"] - each["difference"]).to_numpy(np.float64)


def _letters(pairs: Comparisons, alpha: float) -> tuple[tuple[str, ...], ...] | None:
    try:
        groups = pairs.groups(alpha)
    except InputError:  # thousands of overlapping groups
        return None
    if len(groups) > 2 * len(pairs.names):  # letters that explain less than the matrix of pairs
        return None
    found: dict[str, list[str]] = {name: [] for name in pairs.names}
    for k, group in enumerate(groups):
        for name in group:
            found[name].append(letter(k))
    return tuple(tuple(found[name]) for name in pairs.names)


def _over_splits(
    table: xr.DataArray,
    model: Model,
    method: str,
    alpha: float,
    claim: ClaimResult,
    progress: Progress | None,
) -> SplitResult:
    generalize = LIKE if claim.key == "like" else HERE
    each = over_splits(table, model, method, generalize=generalize, progress=progress)
    summary = summary_over_splits(each, alpha=alpha)
    return SplitResult(
        key=claim.key,
        splits=len(each),
        summary=summary,
        agreement=stability_of(each, alpha=alpha).mean(),
        divided=agreement_over_splits(each, (alpha,)).droplevel("alpha", axis=1),
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
