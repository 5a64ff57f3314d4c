"""Seeds or samples? Whether instances have an effect in common over all topics, or are drawn anew for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

from shardwise.core.arguments import resolve_alpha
from shardwise.core.arguments import validate_level as checked_level
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import pluralize_noun
from shardwise.core.scores import Scores, as_scores, in_canonical_order, nouns_of
from shardwise.methods.mixed.observations import DIMENSIONS
from shardwise.methods.moderated.moments import pair_moments
from shardwise.methods.repeats.unified import instance_effect, instance_spread

KINDS = ("seeds", "samples")
SAMPLED = ("sample", "generation", "attempt", "epoch", "completion", "response", "rollout")
"""Words for repeats that are drawn anew for each item: several answers of one model to one question."""
LARGE_SHARE = 0.1
"""Share of the variance of a difference from which on a common effect of samples is told."""
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
    # of the variance of a difference of two systems, by the effect as estimated; the median over pairs
    share: float
    nouns: Mapping[str, str] = field(default_factory=dict)

    @property
    def doubtful(self) -> bool:
        """Whether the effect as estimated would make false alarms of samples notably more frequent than nominal."""
        return self.share > LARGE_SHARE

    def false_alarms(self, alpha: float | None = None, *, level: float | None = None) -> float:
        """Return the false-alarm rate of a pair if repeats are taken as samples and the effect is as estimated.

        Parameters
        ----------
        alpha : float, optional
            The nominal rate, below 0.5; 0.05 without it.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        float
            2Φ(-z√(1 - ρ)), ρ the share of the variance of a difference that samples do not show.

        >>> round(Repeats(1.5, (4, 200), 0.2, 0.01, 0.0, 0.03, 0.1, 0.95, 0.3).false_alarms(), 3)
        0.101
        """
        return float(
            2.0 * special.ndtr(special.ndtri(resolve_alpha(alpha, level) / 2.0) * np.sqrt(1.0 - self.share))
        )

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
    spread = instance_spread(y, fixed)
    effect = instance_effect(spread, checked_level(level, "level"))
    f, df, df_error, p, sd, lower, upper, error_sd = (float(x[0]) for x in effect)
    share = _share_of_variance(y[0], spread.counts[0], spread.fixed[0], sd)
    return Repeats(f, (df, df_error), p, sd, lower, upper, error_sd, level, share, nouns_of(table))


def _share_of_variance(y: Floats, counts: Floats, fixed: Bools, sd: float) -> float:
    """The share ρ = c/(c + s²/T) of a common effect in the variance of a difference, c = sd²(1/M_a + 1/M_b)."""
    present = np.isfinite(y)
    per_topic = present.sum(axis=-1)
    sums = np.where(present, y, 0.0).sum(axis=-1)
    means = np.where(per_topic > 0, sums / np.maximum(per_topic, 1), np.nan)
    ia, ib = np.triu_indices(y.shape[1], 1)
    topics, _, variance = (x[0] for x in pair_moments(np.ascontiguousarray(means[None]), ia, ib))
    each = np.where(fixed, 0.0, sd**2 / counts)
    common = each[ia] + each[ib]
    total = common + variance / np.maximum(topics, 1.0)
    return float(np.median(np.divide(common, total, out=np.zeros_like(total), where=total > 0.0)))
