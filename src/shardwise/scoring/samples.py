"""Measures of several samples of an answer: pass@k, at least one of k is right, and pass^k, all k are.

With c right answers among the n samples of an item, the unbiased estimates of the probabilities for k new samples are
pass@k = 1 − C(n−c, k)/C(n, k) (Chen et al. 2021, Evaluating large language models trained on code) and
pass^k = C(c, k)/C(n, k) (Yao et al. 2024, τ-bench). Each item has one figure then, and items are the units of every
test and interval: the variance of the figures over items holds that of the samples within them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shardwise.core import late
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.libraries import xr
from shardwise.core.measure import BY_NAME, UNIT
from shardwise.core.scores import Scores, as_scores, is_labelled

NAME = re.compile(r"(?P<kind>pass@|pass\^)(?P<k>[1-9]\d*)(?:\((?P<base>.+)\))?$")
SAMPLES = "samples_of_measure"
"""Fact of scores by a measure of samples: fewest and most samples behind a figure."""


def parse_sample_measure(name: str) -> tuple[str, int, str | None]:
    """Return kind, number and measure of the samples of the name of a measure of samples.

    >>> parse_sample_measure("pass@5"), parse_sample_measure("pass^3(correct)")
    (('pass@', 5, None), ('pass^', 3, 'correct'))
    """
    match = NAME.fullmatch(name)
    if match is None:
        raise InputError(
            f"{name!r} is not a measure of samples",
            remedy="write pass@5 or pass^5, or pass@5(correct) to name the column of the scores",
            argument="measure",
            value=name,
        )
    return match["kind"], int(match["k"]), match["base"]


def estimate_any(right: Ints, samples: Ints, k: int) -> Floats:
    """Estimate the probability that at least one of k new samples is right, 1 − C(n−c, k)/C(n, k).

    >>> estimate_any(np.array([0, 1, 2, 5]), np.array([5, 5, 5, 5]), 2).round(3).tolist()
    [0.0, 0.4, 0.7, 1.0]
    """
    return np.asarray(1.0 - estimate_all(samples - right, samples, k))


def estimate_all(right: Ints, samples: Ints, k: int) -> Floats:
    """Estimate the probability that all of k new samples are right, C(c, k)/C(n, k).

    A product of k ratios neither overflows nor cancels.

    >>> estimate_all(np.array([0, 1, 2, 5]), np.array([5, 5, 5, 5]), 2).round(3).tolist()
    [0.0, 0.0, 0.1, 1.0]
    """
    share = np.ones(np.broadcast(right, samples).shape)
    for j in range(k):
        share = share * np.maximum(right - float(j), 0.0) / (samples - float(j))
    return share


def measure_samples(scores: Any, name: str) -> xr.DataArray:
    """Estimate pass@k or pass^k of each item and system from its samples.

    Parameters
    ----------
    scores : object
        Right (1) and wrong (0) answers by topic, system and instance, NaN where a sample was not taken.
    name : str
        ``pass@k`` or ``pass^k``.

    Returns
    -------
    DataArray
        One figure for each item and system, in the range 0 to 1; NaN where there is no sample.

    >>> y = xr.DataArray([[[1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]], dims=("topic", "system", "instance"))
    >>> measure_samples(y, "pass@2").values.round(3).tolist()
    [[0.667], [0.0]]
    """
    return estimate_samples(as_scores(scores), name).to_xarray()


def estimate_samples(table: Scores, name: str) -> Scores:
    """Return pass@k or pass^k of each item and system."""
    kind, k, _ = parse_sample_measure(name)
    item = table.nouns.get("topic", "topic")
    if "instance" not in table.dims:
        raise partial(InputError, argument="measure", value=name)(
            f"{name} needs several samples of each {item}, and the scores have one",
            remedy="name the column of the samples: --columns instance=sample",
        )
    values = table.values
    odd = np.isfinite(values) & (values != 0.0) & (values != 1.0)
    if odd.any():
        raise InputError(
            f"{name} counts right answers, and a score is {values[odd].flat[0]:g}",
            remedy="give scores of 0 and 1",
            argument="measure",
            value=name,
        )
    axis = table.dims.index("instance")
    count = (~np.isnan(values)).sum(axis=axis)
    right = np.nansum(values, axis=axis).astype(np.int64)
    made = table.mean("instance")
    few = (count > 0) & (count < k)
    if few.any():
        cell = np.argwhere(few)[0]
        places = dict(zip(made.dims, cell.tolist(), strict=True))
        topic, system = (table.labels[dim][places[dim]] for dim in ("topic", "system"))
        raise InputError(
            f"{name} needs {k} samples, and {system} has {count[tuple(cell)]} on {item} {topic}",
            remedy="choose a smaller k, or leave out what is not finished",
        )
    estimate = estimate_any if kind == "pass@" else estimate_all
    figures = np.where(count > 0, estimate(right, np.maximum(count, k), k), np.nan)
    known = count[count > 0]
    bounds = (int(known.min()), int(known.max())) if known.size else (0, 0)
    facts = {key: value for key, value in table.facts.items() if key != "missing"}
    return replace(
        made,
        values=figures,
        measure=replace(table.measure, name=name, range=UNIT, range_from=BY_NAME),
        nouns={dim: noun for dim, noun in table.nouns.items() if dim != "instance"},
        deterministic=None,
        repeats="",
        undefined=0,
        facts={**facts, SAMPLES: bounds},
    )


def describe_samples(scores: Scores) -> str:
    """Say how many samples are behind a measure of samples; empty for other scores."""
    if SAMPLES not in scores.facts:
        return ""
    fewest, most = scores.facts[SAMPLES]
    number = format_count(most, "sample") if fewest == most else f"{fewest:,} to {most:,} samples"
    item = scores.nouns.get("topic", "topic")
    return (
        f"{scores.measure.name}: unbiased estimate from {number} of each {item}, drawn independently;"
        f" {pluralize_noun(item)} are the units."
    )


def read_sample_measure(data: Any, name: str, **options: Any) -> Scores:
    """Read scores and estimate a measure of their samples, unless they have a measure of that very name."""
    base = parse_sample_measure(name)[2]
    labelled = data
    if not isinstance(data, Scores) and not is_labelled(data):
        labelled = late.call_bound("scores", data, columns=options.pop("columns", None))
    if isinstance(labelled, xr.Dataset) and name in labelled:
        return as_scores(labelled[name], **options)
    if isinstance(labelled, xr.DataArray) and labelled.name == name:
        return as_scores(labelled, **options)
    measure = base if isinstance(labelled, xr.Dataset) else None
    return estimate_samples(as_scores(labelled, measure=measure, **options), name)


def add_sample_measures(
    tables: Mapping[str, Scores], names: Sequence[str], primary: str
) -> dict[str, Scores]:
    """Return scores by measure with the measures of samples that are asked for; ``primary`` is of what, unless said."""
    every = dict(tables)
    for name in names:
        named = parse_sample_measure(name)[2]
        base = named or primary or next(iter(tables))
        if base not in tables or (len(tables) > 1 and base not in (primary, named)):
            raise InputError(
                f"{name} of which of {', '.join(tables)}?",
                remedy=f"write {name.partition('(')[0]}({next(iter(tables))})",
                argument="measure",
                value=name,
            )
        every.setdefault(name, estimate_samples(as_scores(tables[base]), name))
    return every
