"""Adjust unpaired scores for a covariate that was measured before the experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from shardwise.core.errors import Either, InputError
from shardwise.core.scores import as_scores, is_unpaired, measure_of, note_measure
from shardwise.methods.unpaired.statistics import adjust_for_covariate


def adjust_scores(scores: Any, covariate: Any) -> tuple[xr.DataArray, float]:
    """Take out of unpaired scores what a covariate from before explains (CUPED).

    Parameters
    ----------
    scores : object
        Unpaired scores in any form that `as_scores` takes.
    covariate : object
        Values of the same items and systems, measured before; in the same form.

    Returns
    -------
    tuple of DataArray and float
        Adjusted scores, whose means differ as those of an analysis of covariance, and the share of the variance within
        systems that the covariate explains.

    >>> y = xr.DataArray([[1.0, np.nan], [2.0, np.nan], [np.nan, 4.0], [np.nan, 6.0]], dims=("topic", "system"))
    >>> x = xr.DataArray([[1.0, np.nan], [2.0, np.nan], [np.nan, 1.0], [np.nan, 3.0]], dims=("topic", "system"))
    >>> float(adjust_scores(y, x)[1])
    1.0
    """
    table, before = as_scores(scores), as_scores(covariate)
    if not is_unpaired(table):
        raise InputError(
            "the scores are paired, and need no covariate",
            remedy=(
                Either("leave the covariate out", "remove pre from --columns"),
                ": each item is its own control",
            ),
        )
    x = before.transpose("topic", "system", ...).to_numpy()
    y = table.transpose("topic", "system", ...).to_numpy()
    if x.shape != y.shape or bool((np.isfinite(y) & ~np.isfinite(x)).any()):
        raise InputError(
            "the covariate is missing for some items", remedy="give it for every item, or leave them out"
        )
    if y.ndim > 2:
        raise InputError(
            "a covariate needs one score of each item", remedy="give means over the repeats of an item"
        )
    values = np.where(np.isfinite(y), x, 0.0).sum(axis=1)
    adjusted, share = adjust_for_covariate(y, values)
    scores_after = table.transpose("topic", "system").copy(data=adjusted)
    return note_measure(scores_after, replace(measure_of(table), range=None, range_from="")), share
