"""The joint law of all moderated t of a table: topics drawn with replacement."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.numerics.moderated.draws import Centred, count_draws, largest_gaps
from shardwise.numerics.moderated.incomplete import Incomplete, count_incomplete
from shardwise.numerics.moderated.law import Count, Law, law_of
from shardwise.numerics.moderated.noise import NO_NOISE, Noise
from shardwise.numerics.moderated.statistics import Statistics, doubly_centred, own_share
from shardwise.numerics.student import NOISE


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
    |t*| ≥ |t|}) / (B + 1), made monotone. p_best of system a is (1 + #{max_b t*_ba ≥ max_b t_ba}) / (B + 1): it exceeds
    α exactly when the largest t_ba is at most the upper α quantile c_a of that maximum. Only the pairs given enter
    maxima; a system without pairs has p_best = 1.

    Topics that no system has (NaN) are left out first. Where systems lack different topics each pair is resampled on
    those that both have; pairs without a common topic have NaN.

    ``found`` are the statistics of the pairs, of the same noise; the result does not depend on the number of jobs.

    >>> from shardwise.numerics.moderated.statistics import pairs_of, statistics
    >>> from shardwise.numerics.resampling import key_of
    >>> y = np.random.default_rng(1).normal(size=(30, 3)) + [0.0, 0.0, 2.0]
    >>> ia, ib = pairs_of(3)
    >>> law = resampled(y, ia, ib, statistics(y), key_of(1), 999)
    >>> law.p_adjusted
    array([0.892, 0.001, 0.001])
    >>> law.top_group(0.05)
    array([2])
    """
    systems = y.shape[1]
    order = np.argsort(-(found.t**2), kind="stable")[: np.count_nonzero(found.units > 0.0)]  # NaN last
    y = y[~np.isnan(y).all(axis=1)]
    floor = NOISE * float(np.nanmax(np.abs(y), initial=0.0))
    pairs = ia[order], ib[order]
    if not np.isnan(y).any():
        z = doubly_centred(y)
        unit = 0.5 ** np.frexp(np.abs(z).max(initial=0.0))[1]  # t has no unit: a power of 2 changes no digit
        world = Centred(
            np.ascontiguousarray(unit * z.T),
            unit * floor,
            float(own_share(np.asarray(len(y) - 1.0), found.d0)),
            NO_NOISE if noise is None else noise.scaled(unit),
        )
        count: Count = partial(count_draws, world, largest_gaps(world, *pairs))
    elif noise is not None:
        raise InputError(
            "scores are missing: effects of shards or instances need full tables",
            remedy="leave out the topics that some system lacks",
        )
    else:
        count = partial(count_incomplete, Incomplete(np.ascontiguousarray(y.T), floor, found.d0))
    law = law_of(count, systems, *pairs, found.t[order], key, n_resamples, jobs)
    p_adjusted = np.full(ia.size, np.nan)
    p_adjusted[order] = law.p_adjusted
    return replace(law, p_adjusted=p_adjusted)
