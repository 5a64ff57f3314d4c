"""The mean of each system by itself, and how well these topics tell it."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Bools, Floats
from shardwise.methods.repeats.unified import complete_moments, instance_spread, run_unified


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
