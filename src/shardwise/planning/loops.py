"""How many candidates a hold-out carries, one after another, before it detects large gains only."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt

from shardwise.core.arguments import validate_level
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.stats.loops import count_candidates

ACCEPTED = (0, 1, 3, 10)
"""Acceptances by then that a plan shows."""


def plan_loop(
    topics: npt.ArrayLike,
    min_diff: npt.ArrayLike = 0.05,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    margin: float = 0.0,
    right_wrong: bool = True,
) -> pd.DataFrame:
    """Count the candidates that a gate with a ledger can judge before a gain is no longer detected.

    >>> plan_loop(1000, [0.05, 0.07]).head(2)[["min_diff", "accepted", "candidates", "if_declared"]].values.tolist()
    [[0.05, 0.0, 0.0, 3.0], [0.05, 1.0, 0.0, 2.0]]
    """
    validate_level(alpha)
    validate_level(power, "power")
    rows = []
    for items, gain, accepted in product(np.atleast_1d(topics), np.atleast_1d(min_diff), ACCEPTED):
        if items < 2 or not 0.0 < gain < 1.0:
            raise InputError(
                f"{items} items or a gain of {gain:g} cannot be planned", remedy="give a gain below 1"
            )
        counts = [
            count_candidates(
                int(items), float(gain), alpha / 2.0, accepted, margin=margin, right_wrong=right_wrong, power=power,
                declared=declared,
            )
            for declared in (False, True)
        ]  # fmt: skip
        rows.append((int(items), float(gain), accepted, *counts))
    return pd.DataFrame(rows, columns=["topics", "min_diff", "accepted", "candidates", "if_declared"])
