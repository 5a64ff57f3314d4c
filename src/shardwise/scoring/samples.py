"""Measures of several samples of an answer: pass@k, at least one of k is right, and pass^k, all k are.

With c right answers among the n samples of an item, the unbiased estimates of the probabilities for k new samples are
pass@k = 1 − C(n−c, k)/C(n, k) (Chen et al. 2021, Evaluating large language models trained on code) and
pass^k = C(c, k)/C(n, k) (Yao et al. 2024, τ-bench). Each item has one figure then, and items are the units of every
test and interval: the variance of the figures over items holds that of the samples within them.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shardwise.core import late
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.libraries import xr
from shardwise.core.measure import BY_NAME, UNIT
from shardwise.core.scores import (
    DETERMINISTIC,
    RANGE,
    RANGE_FROM,
    REPEATS,
    as_scores,
    is_sample_measure,
    level_names,
    nouns_of,
)

NAME = re.compile(r"(?P<kind>pass@|pass\^)(?P<k>[1-9]\d*)(?:\((?P<base>.+)\))?$")
SAMPLES = "samples_of_measure"
"""Attribute of scores by a measure of samples: fewest and most samples behind a figure."""


class SampleMeasure(NamedTuple):
    """A measure of samples by its parts: ``pass@5(correct)``."""

    kind: str
    k: int
    base: str | None


def parse_sample_measure(name: str) -> SampleMeasure:
    """Parse the name of a measure of samples.

    Parameters
    ----------
    name : str
        Such as ``pass@5``, ``pass^3`` or ``pass@5(correct)``, where the table has several measures.

    Returns
    -------
    SampleMeasure
        Its parts.

    >>> parse_sample_measure("pass@5")
    SampleMeasure(kind='pass@', k=5, base=None)
    """
    match = NAME.fullmatch(name)
    if match is None:
        raise InputError(
            f"{name!r} is not a measure of samples",
            remedy="write pass@5 or pass^5, or pass@5(correct) to name the column of the scores",
            argument="measure",
            value=name,
        )
    return SampleMeasure(match["kind"], int(match["k"]), match["base"])


def estimate_any(right: Ints, samples: Ints, k: int) -> Floats:
    """Estimate the probability that at least one of k new samples is right, 1 − C(n−c, k)/C(n, k).

    Parameters
    ----------
    right, samples : array of int
        Right answers c, and samples n, at least k.
    k : int
        Number of new samples.

    Returns
    -------
    array
        Unbiased estimates.

    >>> estimate_any(np.array([0, 1, 2, 5]), np.array([5, 5, 5, 5]), 2).round(3).tolist()
    [0.0, 0.4, 0.7, 1.0]
    """
    return np.asarray(1.0 - _share_of_subsets(np.asarray(samples) - right, samples, k))


def estimate_all(right: Ints, samples: Ints, k: int) -> Floats:
    """Estimate the probability that all of k new samples are right, C(c, k)/C(n, k).

    Parameters
    ----------
    right, samples : array of int
        Right answers c, and samples n, at least k.
    k : int
        Number of new samples.

    Returns
    -------
    array
        Unbiased estimates.

    >>> estimate_all(np.array([0, 1, 2, 5]), np.array([5, 5, 5, 5]), 2).round(3).tolist()
    [0.0, 0.0, 0.1, 1.0]
    """
    return _share_of_subsets(right, samples, k)


def _share_of_subsets(marked: Ints, total: Ints, k: int) -> Floats:
    """C(marked, k)/C(total, k) as a product of k ratios, which neither overflows nor cancels."""
    m, n = np.asarray(marked, dtype=float), np.asarray(total, dtype=float)
    share = np.ones(np.broadcast(m, n).shape)
    for j in range(k):
        share = share * np.maximum(m - j, 0.0) / (n - j)
    return share


def measure_samples(scores: xr.DataArray, name: str) -> xr.DataArray:
    """Estimate pass@k or pass^k of each item and system from its samples.

    Parameters
    ----------
    scores : DataArray
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
    measure = parse_sample_measure(name)
    table = as_scores(scores)
    item = nouns_of(table).get("topic", "topic")
    refuse = partial(InputError, argument="measure", value=name)
    if "instance" not in table.dims:
        raise refuse(
            f"{name} needs several samples of each {item}, and the scores have one",
            remedy="name the column of the samples: --columns instance=sample",
        )
    present = table.notnull()
    right = table.sum("instance", skipna=True)
    values = table.to_numpy()
    odd = np.isfinite(values) & (values != 0.0) & (values != 1.0)
    if odd.any():
        problem = f"{name} counts right answers, and a score is {values[odd].flat[0]:g}"
        raise refuse(problem, remedy="give scores of 0 and 1")
    count = present.sum("instance")
    few = ((count > 0) & (count < measure.k)).transpose("topic", "system", ...)
    if bool(few.any()):
        cell = np.argwhere(few.to_numpy())[0]
        names = [level_names(table, dim)[int(i)] for dim, i in zip(("topic", "system"), cell, strict=False)]
        samples = int(count.transpose("topic", "system", ...).to_numpy()[tuple(cell)])
        raise refuse(
            f"{name} needs {measure.k} samples, and {names[1]} has {samples} on {item} {names[0]}",
            remedy="choose a smaller k, or leave out what is not finished",
        )
    estimate = estimate_any if measure.kind == "pass@" else estimate_all
    c, n = right.to_numpy().astype(np.int64), count.to_numpy()
    figures = np.where(n > 0, estimate(c, np.maximum(n, measure.k), measure.k), np.nan)
    known = n[n > 0]
    bounds = (int(known.min()), int(known.max())) if known.size else (0, 0)
    dropped = (REPEATS, "instance_noun", "missing", "undefined")
    attributes = {key: value for key, value in table.attrs.items() if key not in dropped}
    made = right.copy(data=figures).drop_vars(DETERMINISTIC, errors="ignore").rename(name)
    return made.assign_attrs({**attributes, RANGE: UNIT, RANGE_FROM: BY_NAME, SAMPLES: bounds})


def describe_samples(scores: xr.DataArray) -> str:
    """Say how many samples are behind a measure of samples; empty for other scores.

    Parameters
    ----------
    scores : DataArray
        Scores of one measure.

    Returns
    -------
    str
        A sentence.
    """
    if SAMPLES not in scores.attrs:
        return ""
    fewest, most = scores.attrs[SAMPLES]
    number = format_count(most, "sample") if fewest == most else f"{fewest:,} to {most:,} samples"
    item = nouns_of(scores).get("topic", "topic")
    return (
        f"{scores.name}: unbiased estimate from {number} of each {item}, drawn independently;"
        f" {pluralize_noun(item)} are the units."
    )


def read_sample_measure(data: Any, name: str, **options: Any) -> xr.DataArray:
    """Read scores and estimate a measure of their samples, unless they have a measure of that very name.

    Parameters
    ----------
    data : object
        Anything that `as_scores` takes.
    name : str
        ``pass@k`` or ``pass^k``.
    options : object
        Other options of `as_scores`.

    Returns
    -------
    DataArray
        Scores by topic and system.
    """
    measure = parse_sample_measure(name)
    labelled = data
    if not isinstance(data, xr.DataArray | xr.Dataset):
        labelled = late.call_bound("scores", data, columns=options.pop("columns", None))
    if isinstance(labelled, xr.Dataset) and name in labelled:
        return as_scores(labelled[name], **options)
    if isinstance(labelled, xr.DataArray) and labelled.name == name:
        return as_scores(labelled, **options)
    base = measure.base if isinstance(labelled, xr.Dataset) else None
    return measure_samples(as_scores(labelled, measure=base, **options), name)


def add_sample_measures(scores: xr.Dataset, names: list[str]) -> xr.Dataset:
    """Return scores with the measures of samples that are asked for and not among them.

    Parameters
    ----------
    scores : Dataset
        Scores of all measures.
    names : list of str
        Measures.

    Returns
    -------
    Dataset
        With a further variable for each of them.
    """
    made = {
        name: read_sample_measure(scores, name)
        for name in names
        if is_sample_measure(name) and name not in scores
    }
    return scores.assign(made) if made else scores
