"""The variances that a plan starts from, out of scores or of a model that has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.anova import variance_components as estimates
from shardwise.methods.mixed.fit import MixedFit
from shardwise.methods.repeats.pairs import Source, pair_of
from shardwise.methods.repeats.unified import instance_spread


def variance_components(source: Any, other: Source | None = None) -> VarianceComponents:
    """Return the variance of every effect: estimated from scores, or taken from a model that has it.

    Scores: topic × system, with shards, with instances, or with splits of shards; each mean square is equated with its
    expectation, and an estimate below 0 counts as 0 and is named.

    Parameters
    ----------
    source : object
        Scores in any form that `as_scores` takes; a mixed model; components, which are returned; or, where there are
        two of them, the scores of one system by topic and instance.
    other : DataArray, DataFrame or Series, optional
        The scores of a second system, one of the two perhaps deterministic, as for `compare_instances`: the variances
        are then those behind the unified test.

    Returns
    -------
    VarianceComponents
        Variances by effect.

    >>> import pandas as pd
    >>> rng = np.random.default_rng(2)
    >>> topics = rng.normal(0, 0.2, 100)
    >>> noise = rng.normal(0, 0.1, (100, 1)) + rng.normal(0, 0.03, 20) + rng.normal(0, 0.08, (100, 20))
    >>> found = variance_components(pd.DataFrame(topics[:, None] + noise), pd.Series(topics))
    >>> print(found)
    standard deviations topic:system 0.069, system:instance 0.0334, error 0.081
    >>> found.random
    1
    """
    if other is not None:
        return _of_pair(source, other)
    if isinstance(source, VarianceComponents):
        return source
    if isinstance(source, MixedFit):
        if source.deterministic.any():
            raise InputError(
                "a model with a deterministic system does not show how much its repeats vary",
                remedy="plan from the scores of the two systems",
            )
        return source.variance_components
    return estimates.variance_components(source)


def _of_pair(a: Source, b: Source) -> VarianceComponents:
    """Variances behind the unified test: over topics 2σ²_ts + Σσ²_e/M, and of each random system's own instances."""
    pair = pair_of(a, b).complete("fewer topics").replicated()
    if all(pair.deterministic):
        raise InputError("there are no repeats to plan for", remedy="give several runs of one system")
    y = pair.scores().transpose("topic", "system", "instance").to_numpy()
    spread = instance_spread(y[None], np.array(pair.deterministic))
    random = ~spread.fixed[0]
    ms_i, ms_e, m = (x[0][random] for x in (spread.ms_instance, spread.ms_error, spread.counts))
    raw = {
        "topic:system": float(pair.topic_differences().var(ddof=1) - (ms_e / m).sum()) / 2.0,
        "system:instance": float(np.mean(ms_i - ms_e)) / pair.n,
        "error": float(np.mean(ms_e)),
    }
    return VarianceComponents(
        {name: max(0.0, value) for name, value in raw.items()},
        negative=tuple(name for name, value in raw.items() if value < 0),
        where=f"unified test of {pair.names[0]} and {pair.names[1]}",
        random=int(random.sum()),
    )
