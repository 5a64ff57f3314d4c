"""Scores whose items come in clusters or tasks -> scores of the units that are a sample, in the user's words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from shardwise.core.arrays import Ints
from shardwise.core.claim import Claim, format_count, pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.scores import CLUSTER, TASK, Scores, number_labels
from shardwise.methods.moderated.statistics import interaction_mean_square
from shardwise.methods.tables import bound_scores
from shardwise.stats.units import find_strata, residual_mean_square, task_means, unit_df, unit_scores


def by_units(scores: Scores, generalize: Claim | str | Iterable[str] | None = None) -> tuple[Scores, Any]:
    """Scores with one row a unit of the claim, and what is left of the claim; scores without labels as they are.

    Tasks are the units where the claim is over them; otherwise clusters are, or items, within these tasks.

    >>> from shardwise.core.scores import as_scores
    >>> scores = as_scores(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]))
    >>> units, _ = by_units(replace(scores, clusters=np.array(["p", "p", "q", "q"], dtype=object)))
    >>> units.values.tolist(), units.unit_scope
    ([[1.0, 0.5], [0.0, 0.5]], ' with 4 topics in them')
    """
    table = scores.unstack_tasks()
    labelled = table.clusters is not None or table.tasks is not None
    if not (labelled or scores.averaged) or scores.unit_df is not None:
        return scores, generalize
    if table.unpaired:
        # tests look at single items, and the claim has the words for their clusters
        if table.clusters is None:
            return scores, generalize
        clusters = pluralize_noun(scores.nouns.get(CLUSTER, CLUSTER))
        count = len(number_labels(table.clusters)[0])
        return replace(scores, unit_scope=f" of {clusters} like these {count:,}"), generalize
    if table.people is not None:
        return _describe_judged(table, generalize), generalize
    claim = None if generalize is None else Claim.of(generalize, table.nouns)
    over_tasks = claim is not None and TASK in claim
    if over_tasks and table.tasks is None:
        return scores, generalize
    tasks, task = _number_topics(table, table.tasks)
    clusters_named, cluster = _number_topics(table, table.clusters)
    if table.clusters is None:
        clusters_named, cluster = table.topics, np.arange(table.sizes["topic"])
    # units are made of the last two axes
    places = table.over("topic", "system")
    y = np.moveaxis(table.values, places, (-2, -1))
    if over_tasks:
        made, names, df = task_means(y, task)[0], tasks, len(tasks) - 1.0
    else:
        _check_clusters(tasks, task, cluster)
        made, names, df = unit_scores(y, cluster, task), clusters_named, unit_df(cluster, task)
    noun, scope = _name_units(table, len(tasks), over_tasks)
    # residual standard deviation of single items, √MS(topic:system) of their means over all else
    layers = y.reshape(-1, *y.shape[-2:])
    present = np.isfinite(layers)
    count = present.sum(axis=0)
    means = np.where(present, layers, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)
    square = interaction_mean_square(means) if bool((count > 0).all()) else residual_mean_square(means)
    units = replace(
        table,
        values=np.moveaxis(made, (-2, -1), places),
        labels={**table.labels, "topic": tuple(names)},
        nouns={dim: word for dim, word in {**table.nouns, "topic": noun}.items() if dim != word},
        clusters=None,
        tasks=None,
        slices={},
        unit_df=float(df),
        unit_scale=float(np.sqrt(square)),
        unit_scope=scope,
        bounded=None if over_tasks else bound_scores(table),
    )
    if claim is not None and over_tasks:
        return units, Claim("topic", *(name for name in claim if name not in (TASK, "topic")))
    return units, generalize


def _number_topics(table: Scores, labels: Any) -> tuple[tuple[str, ...], Ints]:
    """Distinct labels in their order, and the number of each topic's; none and zeros without labels."""
    if labels is None:
        return (), np.zeros(table.sizes["topic"], dtype=np.int64)
    return number_labels(labels)


def _describe_judged(scores: Scores, generalize: Any) -> Scores:
    """Items that a judge and people scored, with the words for clusters, tasks and for what was averaged."""
    if generalize is not None and TASK in Claim.of(generalize, scores.nouns):
        raise InputError(
            "scores by people beside those of a judge, and a claim about tasks like these",
            remedy="leave out the claim, which then is about these tasks",
        )
    tasks, task = _number_topics(scores, scores.tasks)
    clusters, cluster = _number_topics(scores, scores.clusters)
    if tasks and clusters:
        _check_clusters(tasks, task, cluster)
    clauses = []
    if clusters:
        noun = pluralize_noun(scores.nouns.get(CLUSTER, CLUSTER))
        clauses.append(f" in {noun} like these {len(clusters)}")
    if tasks:
        clauses.append(_describe_tasks(scores, len(tasks)))
    if scores.averaged:
        clauses.append(f", for the mean of {scores.averaged}")
    return replace(scores, unit_scope="".join(clauses))


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


def _name_units(table: Scores, tasks: int, over_tasks: bool) -> tuple[str, str]:
    """The noun of the units, and what a claim says beside their number."""
    item = table.nouns.get("topic", "topic")
    inside = f" with {format_count(table.sizes['topic'], item)} in them"
    if over_tasks:
        return table.nouns.get(TASK, TASK), inside
    within = _describe_tasks(table, tasks) if tasks else ""
    if table.clusters is not None:
        return table.nouns.get(CLUSTER, CLUSTER), inside + within
    return item, within


def _describe_tasks(table: Scores, tasks: int) -> str:
    return f" within these {format_count(tasks, table.nouns.get(TASK, TASK))}, each counting alike"
