"""What one claim says about the systems: pairs, intervals, letters and the top group of one procedure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.analysis.analysis import ClaimResult
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.decisions import JOINT
from shardwise.comparing.intervals import has_own, shares
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.methods.anova.method import ByBootstrap
from shardwise.methods.moderated.method import ByModerated
from shardwise.methods.paired.method import DRAWN, ByTopics
from shardwise.methods.repeats.method import ByInstances
from shardwise.procedures.procedure import Procedure, usual_resamples
from shardwise.stats.corrections import critical_t, uncorrected_level
from shardwise.stats.groups import letter

MOST_GROUPS = 12  # groups that letters explain; beyond these rank intervals say it better


def claim_result(
    table: xr.DataArray, procedure: Procedure, alpha: float, run: Mapping[str, Any]
) -> ClaimResult:
    """What one procedure says."""
    pairs = procedure.run(table, **run)
    intervals, comparison = _intervals(pairs, alpha)
    joint = pairs.decisions.outcome.joint if pairs.correction == JOINT else None
    hsu = pairs.complete and joint is not None and joint.top(alpha) is not None
    usual = usual_resamples(procedure.fit, table.sizes["system"])
    n_resamples = (run["n_resamples"] or usual) if _draws(procedure) else None
    return ClaimResult(
        key="like" if procedure.claim.over else "here",
        procedure=procedure,
        pairs=pairs,
        intervals=intervals,
        comparison=comparison,
        half=_half_widths(pairs, intervals, alpha),
        letters=_letters(pairs, alpha),
        top=_top(pairs, alpha, hsu),
        may_be_best=hsu,
        found=int(pairs.reject(alpha).sum()),
        alpha=alpha,
        n_resamples=n_resamples,
        resolution=0.0 if n_resamples is None or pairs.correction != JOINT else 1.0 / (n_resamples + 1),
    )


def _intervals(pairs: Comparisons, alpha: float) -> tuple[pd.DataFrame, bool]:
    """Intervals of the systems' means, and whether they are comparison intervals.

    A test of pairs by t has a critical difference of its own for each pair; shared out over the two systems they come
    as near to comparison intervals as single intervals can.
    """
    usual = pairs.intervals(1.0 - alpha)
    if (pairs.correction == JOINT and pairs.complete) or has_own(pairs.estimates):
        return usual, True
    if not (pairs.complete and np.isfinite(pairs.df).all() and np.isfinite(pairs.se).all()):
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
    return isinstance(fit, ByInstances | ByBootstrap) and fit.drawn


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
    d = each["difference"].to_numpy()
    # of an interval that is longer on one side the longer one: what is said of it then is true of both
    return np.asarray(np.maximum(each["upper"].to_numpy() - d, d - each["lower"].to_numpy()))


def _letters(pairs: Comparisons, alpha: float) -> tuple[tuple[str, ...], ...] | None:
    try:
        groups = pairs.groups(alpha, MOST_GROUPS)
    except InputError:  # many overlapping groups, or not all pairs
        return None
    if len(groups) > MOST_GROUPS:
        return None
    found: dict[str, list[str]] = {name: [] for name in pairs.names}
    for k, group in enumerate(groups):
        for name in group:
            found[name].append(letter(k))
    return tuple(tuple(found[name]) for name in pairs.names)
