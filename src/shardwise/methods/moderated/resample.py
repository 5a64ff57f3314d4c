"""The joint law of all moderated t of a table: topics drawn with replacement."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.methods.moderated.draws import count_draws, count_incomplete, largest_gaps
from shardwise.methods.moderated.law import Law, law_of
from shardwise.methods.moderated.noise import NO_NOISE, Noise
from shardwise.methods.moderated.statistics import Statistics, doubly_centred, own_share
from shardwise.stats.student import NOISE


class Centred(NamedTuple):
    """A world without differences, as compiled code takes it; scores are below 1 in size."""

    z: Floats  # (R, T) scores without topic and system means
    floor: float  # differences up to this are rounding
    share: float  # weight of a pair's own variance in its moderated one
    noise: Noise  # of no systems where there is none


class Incomplete(NamedTuple):
    """A table with holes, as compiled code takes it."""

    y: Floats  # (R, T), NaN where a score is missing
    floor: float  # differences up to this are rounding
    d0: float


def resampled(
    y: Floats,
    ia: Ints,
    ib: Ints,
    found: Statistics,
    key: np.uint64,
    n_resamples: int,
    *,
    noise: Noise | None = None,
    jobs: int | None = None,
) -> Law:
    """Resample the topics of a (T, R) table: adjusted p-values, maxima for intervals, and the top group.

    p_adjusted is Romano & Wolf's (2005) step-down: pairs by falling |t|, (1 + #{max over it and later pairs of
    |t*| ≥ |t|}) / (B + 1), made monotone. Only the pairs given enter maxima.

    p_best of system a, with m = max_b t_ba the largest lead over it, is (1 + r) / (B + 1) with r the larger of
    #{max_b t*_ba ≥ m} and #{max_b t*_ab ≥ m}. It exceeds α exactly when m is at most the larger of two upper α
    quantiles, of the leads over a and of its own: a bound on one side is only as good as the skewness that the draws
    know of, and a few dozen topics do not even show its direction. A system without pairs has p_best = 1.

    Topics that no system has (NaN) are left out first. Where systems lack different topics each pair is resampled on
    those that both have; pairs without a common topic have NaN.

    ``found`` are the statistics of the pairs, of the same noise; the result does not depend on the number of jobs.

    >>> from shardwise.methods.moderated.statistics import pairs_of, statistics
    >>> from shardwise.stats.resampling import key_of
    >>> y = np.random.default_rng(1).normal(size=(30, 3)) + [0.0, 0.0, 2.0]
    >>> ia, ib = pairs_of(3)
    >>> law = resampled(y, ia, ib, statistics(y), key_of(1), 999)
    >>> law.p_adjusted
    array([0.892, 0.001, 0.001])
    >>> law.top_group(0.05)
    array([2])
    """
    systems = y.shape[1]
    y = y[~np.isnan(y).all(axis=1)]
    floor = NOISE * float(np.nanmax(np.abs(y), initial=0.0))
    drawn = (systems, ia, ib, found.t, key, n_resamples, jobs)
    if np.isnan(y).any():
        if noise is not None:
            raise InputError(
                "scores are missing: effects of shards or instances need full tables",
                remedy="leave out the topics that some system lacks",
            )
        count = partial(count_incomplete, Incomplete(np.ascontiguousarray(y.T), floor, found.d0))
        return law_of(lambda ia, ib: count, *drawn)
    z = doubly_centred(y)
    unit = 0.5 ** np.frexp(np.abs(z).max(initial=0.0))[1]  # t has no unit: a power of 2 changes no digit
    world = Centred(
        np.ascontiguousarray(unit * z.T),
        unit * floor,
        float(own_share(np.asarray(len(y) - 1.0), found.d0)),
        NO_NOISE if noise is None else noise.scaled(unit),
    )
    return law_of(lambda ia, ib: partial(count_draws, world, largest_gaps(world, ia, ib)), *drawn)
