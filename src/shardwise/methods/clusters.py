"""Scores whose items come in clusters or tasks -> scores of the units that are a sample, in the user's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim, format_count, pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.scores import (
    AVERAGED,
    CLUSTER,
    HUMAN,
    TASK,
    UNIT_DF,
    UNIT_SCALE,
    UNIT_SCOPE,
    in_canonical_order,
    is_unpaired,
    level_names,
    nouns_of,
)
from shardwise.methods.intervals import BOUNDED, bound_scores
from shardwise.methods.moderated.statistics import interaction_mean_square
from shardwise.stats.units import additive_residuals, find_strata, task_means, unit_df, unit_scores


def by_units(
    scores: xr.DataArray, generalize: Claim | str | Iterable[str] | None = None
) -> tuple[xr.DataArray, Any]:
    """Scores with one row a unit of the claim, and what is left of the claim; scores without labels as they are.

    Parameters
    ----------
    scores
        Scores that passed the gate, with a coordinate ``cluster`` or ``task`` along topic, or a dimension ``task``.
    generalize
        The claim: with ``task`` in it tasks are the units; otherwise clusters are, or items, within these tasks.

    >>> y = xr.DataArray([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]], dims=("topic", "system"))
    >>> units, _ = by_units(y.assign_coords(cluster=("topic", ["p", "p", "q", "q"])))
    >>> units.values.tolist(), units.attrs["unit_words"]
    ([[1.0, 0.5], [0.0, 0.5]], ' with 4 topics in them')
    """
    table = unstack_tasks(scores)
    labels = {name: table[name] for name in (CLUSTER, TASK) if name in table.coords}
    if not (labels or AVERAGED in scores.attrs) or UNIT_DF in scores.attrs:
        return scores, generalize
    if is_unpaired(table):
        return _label_units(scores, labels), generalize
    for name, values in labels.items():
        if values.dims != ("topic",):
            raise InputError(
                f"the coordinate {name} is along {' and '.join(map(str, values.dims)) or 'nothing'}",
                remedy=f"give every topic its {name}: a coordinate along topic",
            )
    if HUMAN in table.coords:
        return _describe_judged(scores, labels, generalize), generalize
    claim = None if generalize is None else Claim.of(generalize, nouns_of(table))
    over_tasks = claim is not None and TASK in claim
    if over_tasks and TASK not in labels:
        return scores, generalize
    table = in_canonical_order(table).transpose(..., "topic", "system")
    tasks, task = _code_labels(labels.get(TASK), table.sizes["topic"])
    clusters, cluster = _code_labels(labels.get(CLUSTER), table.sizes["topic"])
    if not clusters:
        clusters, cluster = level_names(table, "topic"), np.arange(table.sizes["topic"])
    y = np.asarray(table.to_numpy(), dtype=float)
    if over_tasks:
        made, names, df = task_means(y, task)[0], tasks, len(tasks) - 1.0
    else:
        _check_clusters(tasks, task, cluster)
        made, names, df = unit_scores(y, cluster, task), clusters, unit_df(cluster, task)
    unit_table = xr.DataArray(
        made,
        dims=table.dims,
        coords={
            "topic": list(names),
            **{k: v for k, v in table.coords.items() if "topic" not in v.dims},
        },
        name=scores.name,
        attrs={**scores.attrs, **_name_units(table, len(tasks) if labels.keys() & {TASK} else 0, over_tasks)},
    ).assign_attrs(
        {UNIT_DF: df, UNIT_SCALE: _residual_sd(y), BOUNDED: None if over_tasks else bound_scores(table)}
    )
    if claim is not None and over_tasks:
        return unit_table, Claim("topic", *(name for name in claim if name not in (TASK, "topic")))
    return unit_table, generalize


def _label_units(scores: xr.DataArray, labels: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """Unpaired items with the words for their clusters; tests look at single items."""
    if CLUSTER not in labels:
        return scores
    clusters = len(_code_labels(labels[CLUSTER], scores.sizes["topic"])[0])
    noun = str(scores.attrs.get("cluster_noun", CLUSTER))
    return scores.assign_attrs({UNIT_SCOPE: f" of {pluralize_noun(noun)} like these {clusters:,}"})


def unstack_tasks(scores: xr.DataArray) -> xr.DataArray:
    """Make tasks a label of topics, where they came as a dimension of which every topic has one level.

    Parameters
    ----------
    scores : DataArray
        Scores that passed the gate, perhaps with a dimension ``task``.

    Returns
    -------
    DataArray
        One level of topic an item; the same where there is no such dimension.
    """
    if TASK not in scores.dims:
        return scores
    flat = scores.stack(item=(TASK, "topic"))
    flat = flat.isel(item=np.flatnonzero(flat.notnull().any([d for d in flat.dims if d != "item"])))
    task, topic = ([str(x) for x in flat[name].values] for name in (TASK, "topic"))
    plain = flat.drop_vars(["item", TASK, "topic"]).rename(item="topic")
    names = topic if len(set(topic)) == len(topic) else [f"{a}:{b}" for a, b in zip(task, topic, strict=True)]
    return plain.assign_coords({"topic": names, TASK: ("topic", task)})


def _code_labels(labels: xr.DataArray | None, topics: int) -> tuple[tuple[str, ...], Ints]:
    """Distinct labels in their order, and the number of each topic's; none and zeros without labels."""
    if labels is None:
        return (), np.zeros(topics, dtype=np.int64)
    if bool(labels.isnull().any()):
        raise InputError(f"some topics have no {labels.name}", remedy=f"give every topic its {labels.name}")
    names, code = np.unique(np.asarray(labels.values).astype(str), return_inverse=True)
    return tuple(map(str, names)), code.astype(np.int64)


def _describe_judged(
    scores: xr.DataArray, labels: Mapping[str, xr.DataArray], generalize: Any
) -> xr.DataArray:
    """Items that a judge and people scored, with the words for clusters, tasks and for what was averaged."""
    if generalize is not None and TASK in Claim.of(generalize, nouns_of(scores)):
        raise InputError(
            "scores by people beside those of a judge, and a claim about tasks like these",
            remedy="leave out the claim, which then is about these tasks",
        )
    names = {name: _code_labels(codes, scores.sizes["topic"]) for name, codes in labels.items()}
    if len(names) == 2:
        _check_clusters(*names[TASK], names[CLUSTER][1])
    clauses = []
    if CLUSTER in labels:
        clusters = len(names[CLUSTER][0])
        clauses.append(
            f" in {pluralize_noun(str(scores.attrs.get('cluster_noun', CLUSTER)))} like these {clusters}"
        )
    if TASK in labels:
        clauses.append(_describe_tasks(scores, len(names[TASK][0])))
    if AVERAGED in scores.attrs:
        clauses.append(f", for the mean of {scores.attrs[AVERAGED]}")
    return scores.assign_attrs({UNIT_SCOPE: "".join(clauses)})


def _residual_sd(y: Floats) -> float:
    """Residual standard deviation of single items, √MS(topic:system) of their means over all else."""
    layers = y.reshape(-1, *y.shape[-2:])
    present = np.isfinite(layers)
    count = present.sum(axis=0)
    means = np.where(present, layers, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)
    if (count > 0).all():
        return float(np.sqrt(interaction_mean_square(means)))
    rest = additive_residuals(means)
    df = np.isfinite(means).sum() - (count.sum(axis=1) > 0).sum() - means.shape[1] + 1
    return float(np.sqrt((rest**2).sum() / max(df, 1)))


def _check_clusters(tasks: tuple[str, ...], task: Ints, cluster: Ints) -> None:
    """Refuse tasks whose items are all of one cluster."""
    strata = find_strata(cluster, task)
    units = np.unique(np.stack([strata[task], cluster]), axis=1)[0]
    few = np.bincount(units)[strata] < 2
    if few.any():
        where = f"task {tasks[int(few.argmax())]!r} has" if tasks else "the scores have"
        raise InputError(
            f"{where} one unit only",
            remedy="give at least two: how they vary shows only between two",
        )


def _name_units(table: xr.DataArray, tasks: int, over_tasks: bool) -> dict[str, str]:
    """The noun of the units, and what a claim says beside their number."""
    item = nouns_of(table).get("topic", "topic")
    inside = f" with {format_count(table.sizes['topic'], item)} in them"
    if over_tasks:
        return {"topic_noun": str(table.attrs.get("task_noun", TASK)), UNIT_SCOPE: inside}
    within = _describe_tasks(table, tasks) if tasks else ""
    if CLUSTER in table.coords:
        return {"topic_noun": str(table.attrs.get("cluster_noun", CLUSTER)), UNIT_SCOPE: inside + within}
    return {UNIT_SCOPE: within}


def _describe_tasks(table: xr.DataArray, tasks: int) -> str:
    return (
        f" within these {format_count(tasks, str(table.attrs.get('task_noun', TASK)))}, each counting alike"
    )
