"""Whether the scores are fit for the analysis, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import counted, plural
from shardwise.core.scores import level_names, missing_cells
from shardwise.core.text import short
from shardwise.methods.anova.fit import AnovaFit
from shardwise.methods.procedure import Procedure
from shardwise.stats.shape import excess_kurtosis, rank_correlation, skewness

FEW_TOPICS = 25
MANY_FILLED = 0.10
SKEWED, HEAVY = 1.0, 5.0  # of the residuals; 0 and 0 for the normal law
UNEVEN = 2.5  # largest over smallest standard deviation of residuals of two systems
FANNING = 0.3  # rank correlation of the size of residuals with the fitted score


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know before believing the figures; a warning where it may change the answer."""

    text: str  # what was found, in sentences
    warning: bool = False
    name: str = ""  # what it is called in a word or two
    remedy: str = ""  # what to do about it, as a sentence

    @property
    def sentence(self) -> str:
        """What was found and what to do about it."""
        return f"{self.text} {self.remedy}".strip()


@dataclass(frozen=True, slots=True)
class Residuals:
    """How far the residuals are from what the tests assume."""

    skewness: float
    kurtosis: float  # excess: 0 for the normal law
    fanning: float  # Spearman correlation of |residual| and fitted score
    least_sd: float  # of the system whose residuals spread least
    most_sd: float
    least: str
    most: str

    @property
    def ratio(self) -> float:
        """Largest over smallest standard deviation."""
        return self.most_sd / self.least_sd if self.least_sd > 0 else float("nan")


def residual_figures(fit: AnovaFit) -> Residuals:
    """Skewness, kurtosis, spread per system, and whether large scores have large residuals."""
    fitted = fit.fitted.transpose("system", ...)
    residuals = fit.scores.transpose("system", ...) - fitted
    rows = residuals.values.reshape(residuals.sizes["system"], -1)
    sd = np.nanstd(rows, axis=1)
    every = rows[np.isfinite(rows)]
    level = fitted.values.reshape(rows.shape)[np.isfinite(rows)]
    moving = every.std() > 0 and level.std() > 0
    shape = every / np.abs(every).max() if moving else every  # whose fourth powers are numbers
    names = level_names(fit.scores, "system")
    return Residuals(
        skewness=skewness(shape) if moving else 0.0,
        kurtosis=excess_kurtosis(shape) if moving else 0.0,
        fanning=rank_correlation(np.abs(every), level) if moving else 0.0,
        least_sd=float(sd.min()),
        most_sd=float(sd.max()),
        least=names[int(sd.argmin())],
        most=names[int(sd.argmax())],
    )


def remarks_on_residuals(
    found: Residuals, procedure: Procedure, nouns: Mapping[str, str]
) -> Iterator[Remark]:
    """What the residuals mean for the reader, given what the procedure that leads assumes of them."""
    topics, systems = (plural(nouns.get(name, name)) for name in ("topic", "system"))
    if abs(found.skewness) > SKEWED or found.kurtosis > HEAVY:
        figures = f"(skewness {found.skewness:.1f}, excess kurtosis {found.kurtosis:.1f})"
        opening = f"The residuals are not normal {figures}."
        if procedure.method.uses_normal_theory(procedure.correction):
            yield Remark(
                f"{opening} Means over many {topics} are close to normal all the same, so clear results stand.",
                warning=True,
                name="residuals far from normal",
                remedy="Where a p-value lies near the level, look at the moderated test of the pair, which takes"
                f" its law from the {topics} themselves.",
            )
        else:
            yield Remark(f"{opening} {procedure.name} does not assume that they are.", name="not normal")
    if found.ratio > UNEVEN:
        opening = (
            f"Residuals spread {found.ratio:.1f} times as much for {short(found.most, 40)} as for"
            f" {short(found.least, 40)}"
        )
        if procedure.method.common_error:
            yield Remark(
                f"{opening}, but all {systems} are judged by one common error: it is too strict for pairs of"
                f" steady {systems} and too lenient for pairs of unsteady ones.",
                warning=True,
                name=f"{systems} vary unequally",
                remedy="Use the moderated test, which lets each pair have its own variance.",
            )
        else:
            yield Remark(
                f"{opening}; {procedure.name} does not take them to be alike.", name="unequal spread"
            )
    if abs(found.fanning) > FANNING:
        trend = "grow" if found.fanning > 0 else "shrink"
        common = ": the common error describes the middle of the table best" * procedure.method.common_error
        yield Remark(
            f"Residuals {trend} with the score (rank correlation {found.fanning:.2f}), as is usual for"
            f" measures bounded by 0 and 1{common}.",
            name="spread grows with the score",
        )


def remarks_on_scores(
    scores: xr.DataArray, filled: int, policy: str, cells: int, nouns: Mapping[str, str]
) -> Iterator[Remark]:
    """Undefined cells, few topics, topics that tell nothing, systems with the same scores.

    `filled` counts the undefined scores that were filled, or the topics that were dropped for them; `policy` says how.
    """
    words = {name: nouns.get(name, name) for name in ("topic", "system")}
    topics = scores.sizes["topic"]
    if filled and policy == "drop":
        verb = "was" if filled == 1 else "were"
        yield Remark(
            f"{counted(filled, words['topic'])} with undefined scores {verb} left out; {topics} remain.",
            name="undefined scores",
        )
    elif filled:
        share = filled / cells
        told = "counts as zero" if policy == "zero" else f"was filled by the policy “{policy}”"
        yield Remark(
            f"{filled:,} of {cells:,} scores ({share:.1%}) {'is' if filled == 1 else 'are'} undefined, because the"
            f" {words['topic']} has no relevant document in the shard; each {told}. Filled cells count as evidence"
            " in the degrees of freedom.",
            warning=share > MANY_FILLED,
            name="many undefined scores" if share > MANY_FILLED else "undefined scores",
            remedy="Use fewer shards, or shards that each hold relevant documents."
            if share > MANY_FILLED
            else "",
        )
    if topics < FEW_TOPICS:
        many = plural(words["topic"])
        yield Remark(
            f"{topics} {many} are few: what holds for {many} like these rests on {topics} draws, and every law"
            " that p-values come from is rough.",
            warning=True,
            name=f"few {many}",
            remedy="Do not read much into p-values near the level.",
        )
    values = scores.transpose("topic", "system", ...).values
    flat = _flat(values)
    if flat:
        give, tell = ("gives", "tells") if flat == 1 else ("give", "tell")
        yield Remark(
            f"{counted(flat, words['topic'])} {give} all {plural(words['system'])} the same score and so {tell}"
            " nothing.",
            name="scores that are all alike",
        )
    same = identical_systems(scores)
    if same:
        pairs = "; ".join(f"{short(a, 40)} and {short(b, 40)}" for a, b in same[:5])
        more = f" and {counted(len(same) - 5, 'more pair')}" if len(same) > 5 else ""
        yield Remark(
            f"Identical scores throughout: {pairs}{more}. Is one a copy of the other?",
            name=f"identical {plural(words['system'])}",
        )


def remarks_on_gaps(
    original: xr.DataArray, left_out: bool, fill: str, nouns: Mapping[str, str]
) -> Iterator[Remark]:
    """Scores that are missing: instances that a system does not have, and single gaps.

    Missing scores are `left_out`, or else were filled by the number `fill`.
    """
    words = {name: nouns.get(name, name) for name in ("topic", "system", "instance")}
    missing = missing_cells(original)
    gaps = int(missing.sum())
    if gaps and left_out and "instance" in original.dims:
        absent = _absent(original)
        fewer = np.flatnonzero(absent.any(axis=1))
        if fewer.size:
            names = level_names(original, "system")
            most = original.sizes["instance"]
            each = [f"{short(names[k], 40)} ({most - int(absent[k].sum())})" for k in fewer]
            shown = ", ".join(each[:5]) + (f" and {len(each) - 5} more" if len(each) > 5 else "")
            has = "has" if fewer.size == 1 else "have"
            yield Remark(
                f"{counted(fewer.size, words['system'])} {has} fewer than {counted(most, words['instance'])}:"
                f" {shown}. Each {words['system']} is judged by those that it has.",
                name=f"missing {plural(words['instance'])}",
            )
            gaps -= int(absent.sum()) * original.sizes["topic"]
    if gaps:
        verb, them = ("is", "it") if gaps == 1 else ("are", "they")
        how = (
            "and left out: what is missing must be missing for no reason that has to do with the score"
            if left_out
            else f"and {them} {'counts' if gaps == 1 else 'count'} as {fill}"
        )
        yield Remark(
            f"{counted(gaps, 'score')} of {original.size:,} {verb} missing {how}.",
            warning=True,
            name="missing scores",
            remedy=f"Find out why {them} {verb} missing.",
        )


def _absent(original: xr.DataArray) -> Bools:
    """(R, M): instances of which a system has no score at all."""
    return np.asarray(original.isnull().all("topic").transpose("system", "instance").to_numpy(), dtype=bool)


def identical_systems(scores: xr.DataArray) -> list[tuple[str, str]]:
    """Each system whose scores all equal those of an earlier one, with that one."""
    names = level_names(scores, "system")
    rows = scores.transpose("system", ...).values.reshape(len(names), -1)
    first: dict[bytes, str] = {}
    pairs = []
    for name, row in zip(names, rows, strict=True):
        original = first.setdefault(np.ascontiguousarray(row).tobytes(), name)
        if original != name:
            pairs.append((original, name))
    return pairs


def _flat(values: Floats) -> int:
    """Number of topics on which no system differs from another anywhere."""
    spread = np.nan_to_num(values) - np.nan_to_num(values[:, :1])
    return int((np.abs(spread).reshape(len(values), -1).max(axis=1) == 0).sum())
