"""How much of an error is the accident of one split, and how many splits are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.over_splits import align_pairs
from shardwise.core.errors import InputError, Option
from shardwise.stats.resplitting import in_words, remaining_share, removable_share, splits_enough


@dataclass(frozen=True, slots=True)
class SplitNoise:
    """What of the error variance on one split re-splitting removes, and what it cannot."""

    splits: int
    removable: float  # share of the variance that is the split's own
    left: float  # share of the variance that the mean over these splits has
    enough: int  # splits from which on p-values down to .001 are steady

    def __str__(self) -> str:
        return in_words(self.removable, self.splits)


def split_noise(comparisons: Sequence[Comparisons]) -> SplitNoise | None:
    """Say how much splits matter here, and how many are enough; None for tests without standard errors.

    Averaged over J splits a difference has the variance V - (1 - 1/J) B, of which B is the variance over splits of
    the same documents: what re-splitting removes. From ``enough`` splits on, the p-value of a pair with p = .001
    differs by less than a factor 2 among 20 sets of so many splits, with probability .95.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split; at least two.

    Returns
    -------
    SplitNoise or None
        Shares of the variance, and the number of splits that is enough.
    """
    if len(comparisons) < 2:
        raise InputError(
            "one split shows no spread", remedy=("give at least two, as with ", Option("n_splits", 10))
        )
    both = align_pairs(comparisons)
    if not np.isfinite(both.se).all():
        return None
    share = removable_share(both.difference, both.se**2)
    splits = len(comparisons)
    return SplitNoise(
        splits, float(share), float(remaining_share(share, splits)), splits_enough(float(share))
    )
