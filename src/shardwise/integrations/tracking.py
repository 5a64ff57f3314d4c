"""Results as flat dictionaries of numbers, for experiment trackers such as MLflow and Weights & Biases."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from shardwise.core.errors import InputError

_UNSAFE = re.compile(r"[^\w\-. /]+")


def clean_key(*parts: object) -> str:
    """Return a key that trackers take: letters, digits, underscores, dashes, points and blanks, joined by slashes.

    >>> clean_key("difference", "bm25", "nDCG(dcg='exp-log2')@10")
    'difference/bm25/nDCG_dcg_exp-log2_10'
    """
    cleaned = (_UNSAFE.sub("_", str(part)).replace("/", "_").strip("_ ") for part in parts)
    return "/".join(part or "_" for part in cleaned)


def flatten_result(result: Any, prefix: str = "") -> dict[str, float]:
    """Return the figures of a result as one flat dictionary of numbers.

    Parameters
    ----------
    result : Analysis or Comparisons or Gate or Experiment
        What `analyze`, `compare`, `gate` or `Experiment` return.
    prefix : str
        What all keys begin with, such as the name of a measure.

    Returns
    -------
    dict of str to float
        ``mean/SYSTEM``; for each pair ``difference/A/B``, its interval ``lower/A/B`` and ``upper/A/B``, and the
        corrected ``p/A/B``; of a gate its figures. Values that are no numbers are left out.

    >>> from shardwise.comparing.compare import compare
    >>> scores = {"a": {"q1": 1, "q2": 0.4, "q3": 0.9}, "b": {"q1": 0, "q2": 0.3, "q3": 0.1}}
    >>> figures = flatten_result(compare(scores, "t holm"))
    >>> [key for key in figures if key.startswith(("mean", "difference"))]
    ['mean/a', 'mean/b', 'difference/a/b']
    """
    if hasattr(result, "comparisons"):
        result = result.comparisons
    if not hasattr(result, "to_frame"):
        raise InputError(
            f"{type(result).__name__} has no figures to log",
            remedy="give a result of analyze, compare or gate",
        )
    frame = result.to_frame()
    if "verdict" in frame.columns:
        return {
            clean_key(*filter(None, [prefix]), name, row["new"]): float(row[name])
            for _, row in frame.iterrows()
            for name in frame.columns
            if isinstance(row[name], int | float) and math.isfinite(row[name])
        }
    means = np.ravel(np.asarray(result.estimates.values, dtype=np.float64))
    figures = {
        clean_key(*filter(None, [prefix]), "mean", system): float(mean)
        for system, mean in zip(result.estimates.labels, means, strict=True)
    }
    named = {"difference": "difference", "lower": "lower", "upper": "upper", "p_adjusted": "p"}
    for _, row in frame.iterrows():
        for column, name in named.items():
            if column in frame.columns and math.isfinite(row[column]):
                figures[clean_key(*filter(None, [prefix]), name, row["a"], row["b"])] = float(row[column])
    return figures
