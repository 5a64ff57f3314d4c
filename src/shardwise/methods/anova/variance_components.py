"""Estimate variance components from scores: each mean square equated with its expectation."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import Either, InputError
from shardwise.core.model import MD1, MD6, format_term
from shardwise.core.scores import DETERMINISTIC, as_scores, layout_of, require_complete
from shardwise.core.variance_components import LAYOUTS, VarianceComponents
from shardwise.methods.clusters import by_units
from shardwise.methods.mixed import balanced as mixed_balanced
from shardwise.stats.balanced import decompose


def variance_components(scores: Any) -> VarianceComponents:
    """Estimate the variance of every effect from mean squares, each equated with its expectation.

    Takes topic × system, topic × system × shard, topic × system × instance (instances a system's own) and splits of
    topic × system × shard, whose variances are averaged over the splits. Without shards or instances topic:system
    cannot be told from the error and is counted there. An estimate below 0 counts as 0 and is named.

    Parameters
    ----------
    scores
        A table of scores in any form that `as_scores` takes, complete.

    >>> import xarray as xr
    >>> y = np.random.default_rng(1).normal(size=(60, 8, 5))
    >>> found = variance_components(xr.DataArray(y, dims=("topic", "system", "shard")))
    >>> round(found["error"], 1), found["topic"] < .04, found.where
    (1.0, True, 'mean squares of 60 topics × 8 systems × 5 shards')
    """
    table, y = complete_table(scores)
    dims = layout_of(table)
    if DETERMINISTIC in table.coords and bool(np.any(table[DETERMINISTIC])):
        raise InputError(
            "deterministic systems do not show how instances vary",
            remedy=(
                "estimate from the others",
                Either(": scores.sel(system=~scores.deterministic)", ", in a table without it"),
            ),
        )
    return components_of(y, dims)


def complete_table(scores: Any) -> tuple[xr.DataArray, Floats]:
    """Return scores that passed the gate, and their numbers in the canonical order, of a layout with components.

    Parameters
    ----------
    scores
        Anything that `as_scores` takes.
    """
    table, _ = by_units(as_scores(scores))
    dims = layout_of(table)
    if dims not in LAYOUTS:
        raise InputError(
            f"scores by {', '.join(dims)} have no components that are known here",
            remedy=f"use one of {'; '.join(', '.join(layout) for layout in LAYOUTS)}",
        )
    return table, require_complete(table)


def components_of(y: Floats, dims: tuple[str, ...]) -> VarianceComponents:
    """Return the components of a complete array.

    Parameters
    ----------
    y
        Scores.
    dims
        Its dimensions, one of the layouts.
    """
    if dims[0] == "split":
        each = [_of_shards(table) for table in y]
        raw = {name: float(np.mean([components[name] for components in each])) for name in each[0]}
    elif dims[-1] == "shard":
        raw = _of_shards(y)
    elif dims[-1] == "instance":
        raw = _of_instances(y)
    else:
        # MD1: E[MS_t] = σ²_e + Rσ²_t, E[MS_s] = σ²_e + Tσ²_s
        t, r = y.shape
        ms = mean_squares(y, ("topic", "system"))
        error = ms["error"]
        raw = {"topic": (ms["topic"] - error) / r, "system": (ms["system"] - error) / t, "error": error}
    sizes = " × ".join(format_count(size, dim) for dim, size in zip(dims, y.shape, strict=True))
    return VarianceComponents(
        {name: max(0.0, value) for name, value in raw.items()},
        mean=float(y.mean()),
        negative=tuple(name for name, value in raw.items() if value < 0),
        where=f"mean squares of {sizes}",
    )


def mean_squares(y: Floats, dims: tuple[str, ...]) -> dict[str, float]:
    """Return the mean squares of all terms of MD1, or of MD6 on shards, by name, and that of the error.

    Parameters
    ----------
    y
        Complete scores.
    dims
        Topic and system, or topic, system and shard.
    """
    parts = decompose(y, dims, (MD1 if len(dims) == 2 else MD6).sets)
    assert parts is not None, "the gate refuses tables with gaps"
    named = {format_term(term): parts.ss[term] / parts.df[term] for term in parts.ss}
    return {**named, "error": parts.ss_error / parts.df_error}


def _of_shards(y: Floats) -> dict[str, float]:
    """MD6, every effect random: an interaction's mean square over the error, a main effect's over its interactions."""
    t, r, s = y.shape
    ms = mean_squares(y, ("topic", "system", "shard"))
    ts, tk, sk, error = ms["topic:system"], ms["topic:shard"], ms["system:shard"], ms["error"]
    return {
        "topic": (ms["topic"] - ts - tk + error) / (r * s),
        "system": (ms["system"] - ts - sk + error) / (t * s),
        "shard": (ms["shard"] - tk - sk + error) / (t * r),
        "topic:system": (ts - error) / s,
        "topic:shard": (tk - error) / r,
        "system:shard": (sk - error) / t,
        "error": error,
    }


def _of_instances(y: Floats) -> dict[str, float]:
    """J15 eq. 9 with nested instances, from the four lines and the mean square of the systems."""
    n, l, m = y.shape  # noqa: E741
    lines = mixed_balanced.split_lines(y.transpose(1, 2, 0), "nested")
    topic, topic_system, instance, error = map(float, lines.ms)
    system = float(m * n * lines.means.var(ddof=1))
    return {
        "topic": (topic - topic_system) / (l * m),
        "system": (system - topic_system - instance + error) / (m * n),
        "topic:system": (topic_system - error) / m,
        "system:instance": (instance - error) / n,
        "error": error,
    }
