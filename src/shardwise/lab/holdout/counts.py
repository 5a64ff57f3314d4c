"""Decisions on one sample held against another: counts, one row a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Bools, Floats
from shardwise.lab.holdout.distributions import Prediction

Signs = npt.NDArray[np.int8]

FIGURES = (
    "found",
    "found_share",
    "agreement",
    "found_again",
    "reversal",
    "significant_reversal",
    "predicted_reversal",
    "coverage",
    "coverage_found",
    "brier",
    "extra",
    "extra_reversal",
)


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What was predicted of every pair, and what came: (B, P) each."""

    reversal: Floats  # predicted probability of the opposite order
    inside: Bools  # the difference there lies in the prediction interval
    ordered: Bools  # the means here differ, so there is an order to reverse
    reversed: Bools  # the means there are in the opposite order


def check_outlook(distribution: Prediction, here: Floats, other: Floats, level: float) -> Outlook:
    """Hold the predicted differences against those that came."""
    return Outlook(
        reversal=distribution.reversal_probability(here),
        inside=distribution.covers_difference(here, other, level),
        ordered=here != 0.0,
        reversed=here * other < 0.0,
    )


def decide_signs(difference: Floats, p_adjusted: Floats, alpha: float) -> Signs:
    """Return 1 where the first system of a pair is significantly better, -1 where the second, 0 for neither."""
    return np.asarray(np.sign(difference) * (p_adjusted <= alpha), np.int8)


def count_outcomes(
    decided: Signs, checked: Signs, other: Floats, seen: Outlook, strict: Signs | None = None
) -> dict[str, Floats]:
    """Count, for each sample (B,), what became of the pairs ``decided`` on it; ``checked`` are those of the other.

    ``strict`` are another procedure's decisions on the same sample: pairs that it does not find are extra.
    """
    significant = decided != 0
    extra = significant & (strict == 0) if strict is not None else np.zeros_like(significant)
    columns = {
        "pairs": np.ones_like(significant),
        "found": significant,
        "alike": decided == checked,
        "again": significant & (decided == checked),
        "opposed": decided * checked < 0,
        "reversed": decided * other < 0.0,
        "expected": np.where(significant, seen.reversal, 0.0),
        "inside": seen.inside,
        "inside_found": seen.inside & significant,
        "ordered": seen.ordered,
        "extra": extra,
        "extra_reversed": extra & (decided * other < 0.0),
        "squared": np.where(seen.ordered, (seen.reversal - seen.reversed) ** 2, 0.0),
    }
    return {name: np.asarray(values.sum(axis=1), np.float64) for name, values in columns.items()}


def compute_rates(c: dict[str, Floats], samples: float) -> dict[str, Floats]:
    """Compute rates from sums of counts over that many samples; NaN where nothing was found."""
    return {
        "found": c["found"] / samples,
        "found_share": _divide_counts(c["found"], c["pairs"]),
        "agreement": _divide_counts(c["alike"], c["pairs"]),
        "found_again": _divide_counts(c["again"], c["found"]),
        "reversal": _divide_counts(c["reversed"], c["found"]),
        "significant_reversal": _divide_counts(c["opposed"], c["found"]),
        "predicted_reversal": _divide_counts(c["expected"], c["found"]),
        "coverage": _divide_counts(c["inside"], c["pairs"]),
        "coverage_found": _divide_counts(c["inside_found"], c["found"]),
        "brier": _divide_counts(c["squared"], c["ordered"]),
        "extra": c["extra"] / samples,
        "extra_reversal": _divide_counts(c["extra_reversed"], c["extra"]),
    }


def bin_reversals(seen: Outlook, edges: Floats) -> Floats:
    """Return (B, bins, 3): pairs with an order, their predicted reversals and those observed, by predicted chance."""
    bins = len(edges) - 1
    bin_index = np.clip(np.searchsorted(edges, seen.reversal, side="right") - 1, 0, bins - 1)
    out = np.zeros((len(bin_index), bins, 3))
    for i in range(len(bin_index)):
        kept = seen.ordered[i]
        for k, weight in enumerate((None, seen.reversal[i, kept], seen.reversed[i, kept])):
            out[i, :, k] = np.bincount(bin_index[i, kept], weight, bins)
    return out


def _divide_counts(part: Floats, whole: Floats) -> Floats:
    shares: Floats = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
    return shares
