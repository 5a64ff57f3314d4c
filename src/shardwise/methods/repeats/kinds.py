"""Seeds or samples? Whether instances have an effect in common over all topics, or are drawn anew for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from shardwise.core.arguments import validate_level as checked_level
from shardwise.core.claim import pluralize_noun
from shardwise.core.scores import Scores, as_scores, in_canonical_order, nouns_of
from shardwise.methods.mixed.observations import DIMENSIONS
from shardwise.methods.repeats.unified import instance_effect, instance_spread

KINDS = ("seeds", "samples")
SAMPLED = ("sample", "generation", "attempt", "epoch", "completion", "response", "rollout")
"""Words for repeats that are drawn anew for each item: several answers of one model to one question."""
DOUBT = 0.05  # a level at which scores stand against what was said of them


def infer_repeats(scores: xr.DataArray) -> str:
    """Infer what repeats are from what their source calls them.

    Parameters
    ----------
    scores : DataArray
        Scores with a dimension instance; an attribute ``repeats`` decides, else the user's word for an instance.

    Returns
    -------
    str
        "samples" for epochs, generations, attempts and the like, which are drawn anew for each item; else "seeds".

    >>> table = xr.DataArray(np.zeros((1, 1, 2)), dims=("topic", "system", "instance"))
    >>> infer_repeats(table), infer_repeats(table.assign_attrs(instance_noun="epoch"))
    ('seeds', 'samples')
    """
    declared = Scores(scores).repeats
    if declared in KINDS:
        return declared
    return "samples" if nouns_of(scores).get("instance", "") in SAMPLED else "seeds"


@dataclass(frozen=True, slots=True)
class Repeats:
    """What scores say of their instances: the test of a common effect, and its standard deviation with limits.

    A *seed* (one training, one index, one sample of documents) moves the scores of all topics together; *samples* are
    drawn anew for each topic and have no such effect (J15 eq. 9 and eq. 7).
    """

    f: float
    df: tuple[float, float]
    p: float
    sd: float  # of the effect that an instance has on all topics
    lower: float
    upper: float
    error_sd: float  # of a score around its topic and instance
    level: float
    nouns: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> bool:
        """Whether the scores show an effect on all topics, so that these are no samples."""
        return self.p <= DOUBT

    def __str__(self) -> str:
        topics, instance = (
            pluralize_noun(self.nouns.get("topic", "topic")),
            self.nouns.get("instance", "repeat"),
        )
        if self.shown:
            limits = f"sd {self.sd:.4f}, {self.lower:.4f} to {self.upper:.4f}"
            return f"each {instance} moves all {topics} together ({limits}; p = {self.p:.2g})"
        most = f"sd at most {self.upper:.4f}; p = {self.p:.2g}"
        return f"no evidence that any {instance} moves all {topics} together ({most})"


def seeds_or_samples(scores: Any, level: float = 0.95) -> Repeats:
    """Test whether instances have an effect on all topics (seeds) or are drawn anew for each topic (samples).

    F is the mean over systems of MS(instance)/MS(error), each system's instances against its own error; the limits are
    those of σ_i where systems share the ratio σ_i²/σ². Not finding an effect does not prove samples: the upper limit
    says how large it may still be.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes, by topic, system and instance; NaN is missing.
    level : float
        Level of the limits.

    Returns
    -------
    Repeats
        The test, and what the instances are taken for.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(0, 0.1, (60, 3, 1)) + rng.normal(0, 0.05, (60, 3, 5))
    >>> print(seeds_or_samples(xr.DataArray(y, dims=("topic", "system", "instance"))))
    no evidence that any repeat moves all topics together (sd at most 0.0097; p = 0.3)
    """
    table = as_scores(scores, needs=DIMENSIONS, only=True)
    y = np.asarray(in_canonical_order(table).to_numpy(), dtype=float)[None]
    flags = Scores(table).deterministic
    fixed = np.array(flags) if flags else None
    effect = instance_effect(instance_spread(y, fixed), checked_level(level, "level"))
    f, df, df_error, p, sd, lower, upper, error_sd = (float(x[0]) for x in effect)
    return Repeats(f, (df, df_error), p, sd, lower, upper, error_sd, level, nouns_of(table))
