"""Three-way probabilities: better by more than a margin, practically equal, worse by more than it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import InputError, Option


def measure_three_ways(pairs: Comparisons, margin: float) -> pd.DataFrame:
    """Return P(better by more than the margin), P(practically equal) and P(worse) of each pair.

    They are the confidence in each statement, 1 - p of the one-sided test by which a gate decides it: for scores of a
    known range the score test, which does not take failures not seen for impossible; else Student's, whose shares are
    the posterior under a flat prior (Corani & Benavoli 2015). What neither side claims is "equal".

    Parameters
    ----------
    pairs : Comparisons
        Comparisons by a method whose differences have standard errors.
    margin : float
        Largest difference that does not matter.

    Returns
    -------
    DataFrame
        `a, b, difference, better, equal, worse`; each row adds up to 1, and "better" means the first system. NaN where
        nothing varies and scores have no known range.
    """
    if not margin >= 0.0:
        raise InputError(f"a margin of {margin:g} is below 0", remedy="give 0 or more", argument="margin")
    if not (np.isfinite(pairs.se).all() and np.isfinite(pairs.df).all()):
        raise InputError(
            f"{pairs.title} has no confidence distribution of a difference",
            remedy=("use ", Option("method", "moderated")),
        )
    evidence = pairs.weigh_differences()
    better, worse = 1.0 - evidence.p_gain(margin), 1.0 - evidence.p_loss(margin)
    equal = np.maximum(1.0 - better - worse, 0.0)
    # where nothing varies and no range is known, nothing is known of the difference
    total = np.where(evidence.uninformative & ~evidence.in_range, np.nan, better + equal + worse)
    labels = np.array(pairs.estimates.labels, dtype=object)
    return pd.DataFrame(
        {
            "a": labels[pairs.ia],
            "b": labels[pairs.ib],
            "difference": pairs.difference,
            "better": better / total,
            "equal": equal / total,
            "worse": worse / total,
        }
    )
