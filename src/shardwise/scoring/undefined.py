"""What to put where a topic has no relevant document in a shard (FF21; Ferro & Sanderson 2017)."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
import xarray as xr

from shardwise.core.arrays import Bools, Floats
from shardwise.core.errors import InputError

Scores = TypeVar("Scores", xr.Dataset, xr.DataArray)

_CONSTANTS = {"zero": 0.0, "one": 1.0}
_POLICIES = "zero, one, lq, mean, drop, or a number"


def fill_undefined(scores: Scores, policy: str | float) -> Scores:
    """Give the undefined scores a value, or drop the topics that have any; the input is left as it is.

    ``zero``, ``one`` or a number is put into every undefined cell; ``lq`` and ``mean`` put the lower
    quartile (MATLAB's ``prctile``, numpy's ``hazen``) or the mean of all defined scores of the same split
    and measure (FF21); ``drop`` takes out every topic that is undefined anywhere. The attributes of the
    result say how many cells were filled.

    >>> table = xr.DataArray([[[.2, np.nan], [.4, np.nan]]], dims=("topic", "system", "shard"))
    >>> filled = fill_undefined(table, "mean")
    >>> filled.values.round(2).tolist(), filled.attrs["filled"]
    ([[[0.2, 0.3], [0.4, 0.3]]], 2)
    """
    if isinstance(scores, xr.Dataset):
        if policy == "drop":
            undefined = [_undefined_topics(values) for values in scores.data_vars.values()]
            return _drop(scores, np.logical_or.reduce(undefined))
        filled = {name: _fill(values, policy) for name, values in scores.data_vars.items()}
        return scores.assign(filled)
    return _drop(scores, _undefined_topics(scores)) if policy == "drop" else _fill(scores, policy)


def lower_quartile(defined: Floats) -> float:
    """Lower quartile by midpoint interpolation of the empirical distribution, as MATLAB's prctile.

    >>> lower_quartile(np.array([1., 2., 3., 4.]))
    1.5
    """
    return float(np.quantile(defined, 0.25, method="hazen"))


def _fill(scores: xr.DataArray, policy: str | float) -> xr.DataArray:
    undefined = np.isnan(scores.values)
    values = np.array(scores.values, dtype=np.float64)
    if "split" in scores.dims:
        axis = scores.get_axis_num("split")
        for part, gaps in zip(np.moveaxis(values, axis, 0), np.moveaxis(undefined, axis, 0), strict=True):
            part[gaps] = _substitute(part[~gaps], policy)
    else:
        values[undefined] = _substitute(values[~undefined], policy)
    attrs = {**scores.attrs, "filled": int(undefined.sum()), "fill_policy": str(policy), "undefined": 0}
    return scores.copy(data=values).assign_attrs(attrs)


def _substitute(defined: Floats, policy: str | float) -> float:
    if isinstance(policy, int | float | np.number) and not isinstance(policy, bool):
        if not math.isfinite(policy):
            raise InputError(f"policy {policy} is not a finite number", remedy=f"choose {_POLICIES}")
        return float(policy)
    if policy in _CONSTANTS:
        return _CONSTANTS[str(policy)]
    if policy not in ("lq", "mean"):
        raise InputError(f"there is no policy {policy!r} for undefined scores", remedy=f"choose {_POLICIES}")
    if not len(defined):
        raise InputError(f"policy {policy!r}: a split has no defined score at all", remedy="choose zero")
    return lower_quartile(defined) if policy == "lq" else float(defined.mean())


def _undefined_topics(scores: xr.DataArray) -> Bools:
    if "topic" not in scores.dims:
        raise InputError(
            "the scores have no dimension 'topic' to drop from", remedy="choose zero, lq or mean"
        )
    undefined: Bools = np.isnan(np.moveaxis(scores.values, scores.get_axis_num("topic"), 0))
    return np.asarray(undefined.reshape(len(undefined), -1).any(axis=1))


def _drop(scores: Scores, undefined: Bools) -> Scores:
    if undefined.all():
        raise InputError(
            "every topic is undefined somewhere: dropping leaves none",
            remedy="choose zero, lq or mean, fewer shards, or covered splits",
        )
    kept = scores.isel(topic=np.flatnonzero(~undefined))
    dropped = {"fill_policy": "drop", "dropped": int(undefined.sum()), "undefined": 0}
    if isinstance(kept, xr.Dataset):
        kept = kept.assign({name: values.assign_attrs(dropped) for name, values in kept.data_vars.items()})
    return kept.assign_attrs(dropped)
