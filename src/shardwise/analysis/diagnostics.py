"""Whether the scores are fit for the analysis, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy import stats

from shardwise.core.arrays import Floats
from shardwise.core.scores import level_names
from shardwise.core.text import short
from shardwise.fits.anova import AnovaFit

FEW_TOPICS = 25
MANY_FILLED = 0.10
SKEWED, HEAVY = 1.0, 5.0  # of the residuals; 0 and 0 for the normal law
UNEVEN = 2.5  # largest over smallest standard deviation of residuals of two systems
FANNING = 0.3  # rank correlation of the size of residuals with the fitted score


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know before believing the figures; a warning where it may change the answer."""

    text: str
    warning: bool = False


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
    names = level_names(fit.scores, "system")
    return Residuals(
        skewness=float(stats.skew(every)) if moving else 0.0,
        kurtosis=float(stats.kurtosis(every)) if moving else 0.0,
        fanning=float(stats.spearmanr(np.abs(every), level).statistic) if moving else 0.0,
        least_sd=float(sd.min()),
        most_sd=float(sd.max()),
        least=names[int(sd.argmin())],
        most=names[int(sd.argmax())],
    )


def remarks_on_residuals(found: Residuals) -> list[Remark]:
    """What the residuals mean for the reader."""
    remarks = []
    if abs(found.skewness) > SKEWED or found.kurtosis > HEAVY:
        remarks.append(
            Remark(
                f"The residuals are not normal (skewness {found.skewness:.1f}, excess kurtosis"
                f" {found.kurtosis:.1f}). Means over many topics are close to normal all the same, so clear"
                " results stand; where a p-value lies near the level, check the pair with a randomization test.",
                warning=True,
            )
        )
    if found.ratio > UNEVEN:
        remarks.append(
            Remark(
                f"Residuals spread {found.ratio:.1f} times as much for {short(found.most, 40)} as for"
                f" {short(found.least, 40)}, but all systems are judged by one common error: it is too strict for"
                " pairs of steady systems and too lenient for pairs of unsteady ones.",
                warning=True,
            )
        )
    if abs(found.fanning) > FANNING:
        trend = "grow" if found.fanning > 0 else "shrink"
        remarks.append(
            Remark(
                f"Residuals {trend} with the score (rank correlation {found.fanning:.2f}), as is usual for"
                " measures bounded by 0 and 1: the common error describes the middle of the table best."
            )
        )
    return remarks


def remarks_on_scores(scores: xr.DataArray, filled: int, policy: str, cells: int) -> list[Remark]:
    """Undefined cells, few topics, topics that tell nothing, systems with the same scores."""
    remarks = []
    topics = scores.sizes["topic"]
    if filled and policy == "drop":
        remarks.append(
            Remark(f"{_count(filled, 'topic')} with undefined scores were left out; {topics} remain.")
        )
    elif filled:
        share = filled / cells
        words = "counts as zero" if policy == "zero" else f"was filled by the policy “{policy}”"
        remarks.append(
            Remark(
                f"{filled} of {cells} scores ({share:.1%}) are undefined, because the topic has no relevant"
                f" document in the shard; each {words}. Filled cells count as evidence in the degrees of freedom.",
                warning=share > MANY_FILLED,
            )
        )
    if topics < FEW_TOPICS:
        remarks.append(
            Remark(
                f"{topics} topics are few: what holds for topics like these rests on {topics} draws, and the"
                " normal approximation is rough. Do not read much into p-values near the level.",
                warning=True,
            )
        )
    values = scores.transpose("topic", "system", ...).values
    flat = _flat(values)
    if flat:
        remarks.append(
            Remark(f"{_count(flat, 'topic')} give all systems the same score and so tell nothing.")
        )
    same = identical_systems(scores)
    if same:
        pairs = "; ".join(f"{short(a, 40)} and {short(b, 40)}" for a, b in same[:5])
        more = f" and {len(same) - 5} more pairs" if len(same) > 5 else ""
        remarks.append(Remark(f"Identical scores throughout: {pairs}{more}. Is one a copy of the other?"))
    return remarks


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


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
