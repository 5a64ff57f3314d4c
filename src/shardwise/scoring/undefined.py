"""What to put where a topic has no relevant document in a shard (FF21; Ferro & Sanderson 2017)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.libraries import xr
from shardwise.core.scores import Scores, as_scores

ScoreArray = TypeVar("ScoreArray", "xr.Dataset", "xr.DataArray", Scores)

_CONSTANTS = {"zero": 0.0, "one": 1.0}
_NAMED = (*_CONSTANTS, "lq", "mean", "drop")
_POLICIES = f"{', '.join(_NAMED)}, or a number"


def fill_undefined(scores: ScoreArray, policy: str | float) -> ScoreArray:
    """Give the undefined scores a value, or drop the topics that have any; the input is left as it is.

    A score is undefined where it has no meaning for any system: the topic has no relevant document in the shard. Where
    a score has a meaning but is not there (a seed not run, an empty cell of a table), it is missing: no rule invents
    it, only a number that the caller names is put there.

    Parameters
    ----------
    scores : DataArray, Dataset or Scores
        Scores on shards, or as `score` returns them; one measure or several.
    policy : str or float
        ``"zero"`` or ``"one"``; ``"lq"`` or ``"mean"``, the lower quartile (MATLAB's ``prctile``, numpy's ``hazen``) or
        the mean of all defined scores of the same split and measure (FF21); ``"drop"`` takes out every topic that is
        undefined anywhere. A number is put into every undefined and every missing cell.

    Returns
    -------
    xarray.Dataset, xarray.DataArray or Scores
        As ``scores``. Attributes say what was done: ``fill_policy``, ``filled`` cells or ``dropped`` topics, and how
        many cells stay ``missing``.

    >>> table = xr.DataArray([[[.2, np.nan], [.4, np.nan]]], dims=("topic", "system", "shard"))
    >>> filled = fill_undefined(table, "mean")
    >>> filled.values.round(2).tolist(), filled.attrs["filled"]
    ([[[0.2, 0.3], [0.4, 0.3]]], 2)
    >>> gap = xr.DataArray([[.2, np.nan], [.4, .1]], dims=("topic", "system"))
    >>> fill_undefined(gap, "zero").attrs["missing"], fill_undefined(gap, 0.0).attrs["filled"]
    (1, 1)
    """
    if not _is_number(policy) and policy not in _NAMED:
        raise InputError(
            f"there is no policy {policy!r} for undefined scores",
            remedy=f"choose {_POLICIES}",
            argument="policy",
            value=policy,
            choices=_NAMED,
        )
    if _is_number(policy) and not math.isfinite(float(policy)):
        raise InputError(f"policy {policy} is not a finite number", remedy=f"choose {_POLICIES}")
    if isinstance(scores, xr.Dataset):
        if policy == "drop":
            tables = {name: as_scores(values, needs=()) for name, values in scores.data_vars.items()}
            gone = np.logical_or.reduce([_undefined_topics(table) for table in tables.values()])
            kept = scores.isel(topic=_keep_topics(gone))
            stated = {
                name: kept[name].assign_attrs(_drop_topics(table, gone).facts)
                for name, table in tables.items()
            }
            return kept.assign(stated).assign_attrs({"fill_policy": "drop", "dropped": int(gone.sum())})
        filled = {}
        for name, values in scores.data_vars.items():
            done = _fill_cells(as_scores(values, needs=()), policy).to_xarray()
            # dimensions stay in their order
            same = values.copy(data=done.transpose(*values.dims).to_numpy())
            filled[name] = same.assign_attrs({"undefined": 0} | done.attrs)
        return scores.assign(filled)
    table = as_scores(scores)
    made = _drop_topics(table, _undefined_topics(table)) if policy == "drop" else _fill_cells(table, policy)
    return made if isinstance(scores, Scores) else made.to_xarray()


def lower_quartile(defined: Floats) -> float:
    """Lower quartile by midpoint interpolation of the empirical distribution, as MATLAB's prctile.

    >>> lower_quartile(np.array([1., 2., 3., 4.]))
    1.5
    """
    return float(np.quantile(defined, 0.25, method="hazen"))


def _is_number(policy: str | float) -> bool:
    return isinstance(policy, int | float | np.number) and not isinstance(policy, bool)


def _fill_cells(scores: Scores, policy: str | float) -> Scores:
    cells = np.isnan(scores.values) if _is_number(policy) else scores.find_undefined()
    values = np.array(scores.values, dtype=np.float64)
    split = scores.dims.index("split") if "split" in scores.dims else None
    # the values of each split, as views
    parts, holes = (x[None] if split is None else np.moveaxis(x, split, 0) for x in (values, cells))
    for part, gaps in zip(parts, holes, strict=True):
        if not gaps.any():
            continue
        defined = part[~np.isnan(part)]
        if policy in ("lq", "mean") and not len(defined):
            raise InputError(f"policy {policy!r}: a split has no defined score at all", remedy="choose zero")
        if policy == "lq":
            part[gaps] = lower_quartile(defined)
        elif policy == "mean":
            part[gaps] = float(defined.mean())
        else:
            part[gaps] = _CONSTANTS[policy] if isinstance(policy, str) else float(policy)
    done = {"filled": int(cells.sum()), "fill_policy": str(policy), "missing": int(np.isnan(values).sum())}
    return replace(scores.with_values(values), undefined=0, facts={**scores.facts, **done})


def _undefined_topics(scores: Scores) -> Bools:
    if "topic" not in scores.dims:
        raise InputError(
            "the scores have no dimension 'topic' to drop from", remedy="choose zero, lq or mean"
        )
    undefined = np.moveaxis(scores.find_undefined(), scores.dims.index("topic"), 0)
    return np.asarray(undefined.reshape(len(undefined), -1).any(axis=1))


def _keep_topics(undefined: Bools) -> Ints:
    if undefined.all():
        raise InputError(
            "every topic is undefined somewhere: dropping leaves none",
            remedy="choose zero, lq or mean, fewer shards, or covered splits",
        )
    return np.flatnonzero(~undefined)


def _drop_topics(scores: Scores, undefined: Bools) -> Scores:
    kept = replace(scores.select(topic=_keep_topics(undefined)), undefined=0)
    done = {"fill_policy": "drop", "dropped": int(undefined.sum()), "missing": int(kept.find_missing().sum())}
    return replace(kept, facts={**scores.facts, **done})
