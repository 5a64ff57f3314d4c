"""Three-way probabilities: better by more than a margin, practically equal, worse by more than it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import InputError, Option


def measure_three_ways(pairs: Comparisons, margin: float) -> pd.DataFrame:
    """Return P(better by more than the margin), P(practically equal) and P(worse) of each pair.

    They come from the confidence distribution of the difference, Student's t around it with its standard error: the
    share of one-sided confidence beyond the margin. For a paired t-test this is the posterior under a flat prior, as in
    the Bayesian correlated t-test without correlation (Corani & Benavoli 2015).

    Parameters
    ----------
    pairs : Comparisons
        Comparisons by a method whose differences have standard errors.
    margin : float
        Largest difference that does not matter.

    Returns
    -------
    DataFrame
        `a, b, difference, better, equal, worse`; each row adds up to 1, and "better" means the first system.
    """
    if not margin >= 0.0:
        raise InputError(f"a margin of {margin:g} is below 0", remedy="give 0 or more", argument="margin")
    if not (np.isfinite(pairs.se).all() and np.isfinite(pairs.df).all()):
        raise InputError(
            f"{pairs.title} has no confidence distribution of a difference",
            remedy=("use ", Option("method", "moderated")),
        )
    d, se, df = pairs.gain, pairs.se, pairs.df
    with np.errstate(divide="ignore", invalid="ignore"):
        better = np.where(se > 0.0, special.stdtr(df, (d - margin) / se), (d > margin).astype(float))
        worse = np.where(se > 0.0, special.stdtr(df, (-margin - d) / se), (d < -margin).astype(float))
    labels = np.array(pairs.estimates.labels, dtype=object)
    return pd.DataFrame(
        {
            "a": labels[pairs.ia],
            "b": labels[pairs.ib],
            "difference": pairs.difference,
            "better": better,
            "equal": np.maximum(1.0 - better - worse, 0.0),
            "worse": worse,
        }
    )
