"""Check whether the scores meet what the analysis assumes: facts only, which `writing` puts into words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shardwise.core import late
from shardwise.core.scores import Scores
from shardwise.methods.anova.fit import AnovaFit
from shardwise.methods.names import Procedure
from shardwise.stats.shape import excess_kurtosis, rank_correlation, skewness

FEW_TOPICS = 25
MANY_FILLED = 0.10
SKEWED, HEAVY = 1.0, 5.0  # of the residuals; 0 and 0 for the normal distribution
UNEVEN = 2.5  # largest over smallest standard deviation of residuals of two systems
FANNING = 0.3  # rank correlation of the size of residuals with the fitted score


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know before relying on the figures; a warning where it may change the answer.

    Parameters
    ----------
    kind : str
        What was found, as a key: "few topics", "missing scores" …
    warning : bool
        Whether it may change the answer.
    facts : mapping
        The figures and names that its sentences need.
    nouns : mapping
        The user's own words for dimensions.
    """

    kind: str
    warning: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    nouns: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What it is called in a word or two."""
        return self._words[0]

    @property
    def text(self) -> str:
        """What was found, in sentences."""
        return self._words[1]

    @property
    def remedy(self) -> str:
        """What to do about it, as a sentence; empty where nothing needs to be done."""
        return self._words[2]

    @property
    def sentence(self) -> str:
        """What was found and what to do about it."""
        return f"{self.text} {self.remedy}".strip()

    @property
    def _words(self) -> tuple[str, str, str]:
        words: tuple[str, str, str] = late.call_bound("remark", self)
        return words


@dataclass(frozen=True, slots=True)
class Residuals:
    """How far the residuals are from what the tests assume."""

    skewness: float
    kurtosis: float  # excess: 0 for the normal distribution
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
    rows = replace(fit.scores, values=np.asarray(fit.subtract_fit())).system_rows()
    sd = np.nanstd(rows, axis=1)
    every = rows[np.isfinite(rows)]
    level = replace(fit.scores, values=np.asarray(fit.fit_values())).system_rows()[np.isfinite(rows)]
    moving = every.std() > 0 and level.std() > 0
    shape = every / np.abs(every).max() if moving else every  # whose fourth powers are numbers
    names = fit.scores.systems
    return Residuals(
        skewness=skewness(shape) if moving else 0.0,
        kurtosis=excess_kurtosis(shape) if moving else 0.0,
        fanning=rank_correlation(np.abs(every), level) if moving else 0.0,
        least_sd=float(sd.min()),
        most_sd=float(sd.max()),
        least=names[int(sd.argmin())],
        most=names[int(sd.argmax())],
    )


def check_residuals(residuals: Residuals, procedure: Procedure, nouns: Mapping[str, str]) -> Iterator[Remark]:
    """Check the residuals against what the leading procedure assumes of them."""
    method = procedure.method
    if abs(residuals.skewness) > SKEWED or residuals.kurtosis > HEAVY:
        # Welch's test is of many items, and no other one takes them
        matters = method.normal and not procedure.draws and not method.takes_single_items
        facts = {"skewness": residuals.skewness, "kurtosis": residuals.kurtosis, "procedure": procedure.name}
        yield Remark("non-normal residuals", matters, facts, nouns)
    if residuals.ratio > UNEVEN:
        facts = {
            "ratio": residuals.ratio,
            "most": residuals.most,
            "least": residuals.least,
            "procedure": procedure.name,
        }
        yield Remark("unequal variances", method.common_error, facts, nouns)
    if abs(residuals.fanning) > FANNING:
        facts = {"fanning": residuals.fanning, "common_error": method.common_error}
        yield Remark("variance grows with score", False, facts, nouns)


def check_scores(
    scores: Scores, filled: int, policy: str, cells: int, nouns: Mapping[str, str]
) -> Iterator[Remark]:
    """Look for undefined cells, few topics, uninformative topics and systems with the same scores.

    `filled` counts the undefined scores that were filled, or the topics that were dropped for them; `policy` says how.
    """
    topics = scores.sizes["topic"]
    if filled:
        many = policy != "drop" and filled / cells > MANY_FILLED
        facts = {"filled": filled, "cells": cells, "policy": policy, "topics": topics}
        yield Remark("many undefined scores" if many else "undefined scores", many, facts, nouns)
    if topics < FEW_TOPICS:
        yield Remark("few topics", True, {"topics": topics}, nouns)
    values = np.nan_to_num(scores.topic_rows())
    # topics on which no system differs from another anywhere
    spread = np.abs(values - values[:, :1]).max(axis=(1, 2))
    flat = int((spread == 0).sum())
    if flat:
        yield Remark("uninformative topics", False, {"topics": flat}, nouns)
    same = identical_systems(scores)
    if same:
        yield Remark("identical systems", False, {"pairs": same}, nouns)


def check_gaps(original: Scores, left_out: bool, fill: str, nouns: Mapping[str, str]) -> Iterator[Remark]:
    """Look for missing scores: instances that a system does not have, and single gaps.

    Missing scores are `left_out`, or else were filled by the number `fill`.
    """
    gaps = int(original.find_missing().sum())
    if gaps and left_out and "instance" in original.dims:
        empty = np.moveaxis(np.isnan(original.values), original.over("system", "instance"), (0, 1))
        absent = np.asarray(empty.all(axis=tuple(range(2, empty.ndim))))
        fewer = np.flatnonzero(absent.any(axis=1))
        if fewer.size:
            names, most = original.systems, original.sizes["instance"]
            counts = tuple((names[k], most - int(absent[k].sum())) for k in fewer)
            yield Remark("missing instances", False, {"most": most, "counts": counts}, nouns)
            gaps -= int(absent.sum()) * original.sizes["topic"]
    if gaps:
        facts = {"gaps": gaps, "cells": original.values.size, "fill": "" if left_out else fill}
        yield Remark("missing scores", True, facts, nouns)


def identical_systems(scores: Scores) -> list[tuple[str, str]]:
    """Each system whose scores all equal those of an earlier one, with that one."""
    names, rows = scores.systems, scores.system_rows()
    first: dict[bytes, str] = {}
    pairs = []
    for name, row in zip(names, rows, strict=True):
        original = first.setdefault(np.ascontiguousarray(row).tobytes(), name)
        if original != name:
            pairs.append((original, name))
    return pairs
