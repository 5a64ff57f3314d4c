"""Estimate how well each system's mean by itself is known, for intervals of single means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import Claim
from shardwise.methods.pairs import Means
from shardwise.methods.repeats.unified import complete_moments, instance_spread, run_unified
from shardwise.methods.tables import Tables

SAME = 1e-9
"""Means that differ by less than this, relative to their size, are the same."""


def add_mean_errors(estimates: Means, tables: Tables, claim: Claim) -> Means:
    """Add standard errors and degrees of freedom of single means to the estimates of a batch of one.

    Student's, over the topics that a system has; over shards or instances too where the claim is about them.

    Parameters
    ----------
    estimates : Means
        Of a batch of one; returned as they are where the method gave errors of its own.
    tables : Tables
        The table.
    claim : Claim
        What the means are about.

    Returns
    -------
    Means
        NaN for systems whose mean is that of a model rather than of their own scores, or has a single replicate.
    """
    if estimates.mean_se is not None:
        return estimates
    # (T, R, M) scores of the only table: what the claim is about is kept, what else varies is averaged
    if not {"shard", "instance"} & set(claim.over) or tables.y.shape[1:] == tables.topic_means().shape[1:]:
        replicates = np.asarray(tables.topic_means()[0][..., None])
    else:
        y, dims = tables.y[0], tables.dims
        if "split" in dims:
            # another split has other shards: the mean over splits is the best guess of one shard's scores
            y, dims = y.mean(axis=dims.index("split")), tuple(d for d in dims if d != "split")
        replicates = np.asarray(y.reshape(*y.shape[:2], -1))
    if replicates.shape[-1] > 1:
        # (R,) errors of means over topics and replicates, NaN for systems that lack single scores
        alike = np.array(tables.deterministic or (False,) * replicates.shape[1])
        present = np.isfinite(replicates)
        replicated = present.any(axis=0)
        whole = (present.all(axis=0) == replicated).all(axis=-1) & (
            replicated.sum(axis=-1) >= np.where(alike, 1, 2)
        )
        se, df = np.full(replicates.shape[1], np.nan), np.full(replicates.shape[1], np.nan)
        if whole.any() and len(replicates) > 1:
            _, errors, freedom = mean_spread(replicates[None, :, whole], alike[whole])
            se[whole], df[whole] = errors[0], freedom[0]
    else:
        # (R,) errors of means over the topics that each system has, NaN where the mean is adjusted
        # by a model
        y = replicates[..., 0]
        values = np.asarray(estimates.values)[0]
        present = np.isfinite(y)
        count = present.sum(axis=0)
        mean = np.where(present, y, 0.0).sum(axis=0) / np.maximum(count, 1)
        squares = (np.where(present, y - mean, 0.0) ** 2).sum(axis=0)
        agrees = np.abs(mean - values) <= SAME * max(float(np.abs(values).max(initial=0.0)), 1e-300)
        known = agrees & (count > 1)
        freedom = np.maximum(count - 1.0, 1.0)
        se = np.sqrt(squares / freedom / np.maximum(count, 1))
        df = freedom if tables.unit_df is None else np.full(count.shape, tables.unit_df)
        se, df = np.where(known, se, np.nan), np.where(known, df, np.nan)
    return replace(estimates, mean_se=se[None], mean_df=df[None])


def mean_spread(y: Floats, deterministic: Bools) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and degrees of freedom of each system, (B, R) each, for topics like these.

    Scores are (B, T, R, M), replicates being a sample too unless a system is deterministic. A mean is the difference
    from a system that always scores 0: its variance is s²/T, and max(MS_M - MS_E, 0)/(M T) more with replicates.

    Parameters
    ----------
    y
        Scores; a system may lack replicates, but each of those it has is there on every topic.
    deterministic
        (R,) whether the replicates of a system are one, or copies of one.

    >>> y = np.array([[[0.2, 0.5], [0.4, 0.5], [0.9, 0.8]]])[..., None]
    >>> mean, se, df = mean_spread(y, np.array([True, True]))
    >>> mean.tolist(), se.round(4).tolist(), df.round(4).tolist()  # scipy.stats.sem has the same
    ([[0.5, 0.6]], [[0.2082, 0.1]], [[2.0, 2.0]])
    """
    r = y.shape[2]
    with_zero = np.concatenate([y, np.zeros((*y.shape[:2], 1, y.shape[3]))], axis=2)
    spread = instance_spread(with_zero, np.append(deterministic, True))
    ia, ib = np.arange(r), np.full(r, r)
    return run_unified(complete_moments(np.nanmean(with_zero, axis=-1), ia, ib), spread, ia, ib)
