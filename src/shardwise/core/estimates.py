"""The waist of the design: what every model hands to every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shardwise.core.arrays import Floats


class Law(Protocol):
    """Law of the difference of two estimates when the systems are equal, for models without a t."""

    @property
    def name(self) -> str:
        """What law this is, in words."""

    def p_values(self, differences: Floats) -> Floats:
        """Probability, were there no difference, of one at least as large as each of these."""

    def critical(self, alpha: float) -> float:
        """Smallest difference whose p-value is at most alpha."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """System means as a model sees them, ready to be compared.

    Where all pairs are alike (balanced data), ``variance`` and ``df`` say all. Where they are not,
    ``difference_variance`` and, if need be, ``difference_df`` hold them pair by pair, and ``variance``
    and ``df`` are their typical values.
    """

    labels: tuple[str, ...]
    values: Floats  # (R,)
    variance: float  # of one mean, so a difference has twice that
    df: float
    claim: str  # "topics like these 50, on these 5 shards"
    model: str = ""  # "MD6: topic + system + topic:system + ..."
    error: str = ""  # the error term in words: "topic:system"
    scale: float = float("nan")  # sd of one observation around the model, for standardised differences
    difference_variance: Floats | None = None  # (R, R)
    difference_df: Floats | None = None  # (R, R)
    own_sd: Floats | None = (
        None  # (R,) sample sd of each system's own scores, for the SEM interval (F19 eq. 4)
    )
    own_count: Floats | None = None  # (R,) number of each system's own scores
    law: Law | None = None  # instead of Student's t

    def variance_of_differences(self) -> Floats:
        """(R, R) variances of the difference of each pair."""
        if self.difference_variance is not None:
            return self.difference_variance
        r = len(self.labels)
        return np.where(np.eye(r, dtype=bool), 0.0, 2.0 * self.variance)

    def df_of_differences(self) -> Floats:
        """(R, R) degrees of freedom of each pair."""
        if self.difference_df is not None:
            return self.difference_df
        return np.full((len(self.labels), len(self.labels)), self.df)


class SupportsEstimates(Protocol):
    """Anything that can hand over estimates: a fit of any model."""

    def estimates(self, *, generalize: tuple[str, ...] = ()) -> Estimates:
        """System means, their variance and the claim that goes with it."""
