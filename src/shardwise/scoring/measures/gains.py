"""The gain of a grade and the discount of a rank, as functions on arrays."""

from __future__ import annotations

import math

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.scoring.formulas.rankings import Parameters


def binary_gain(grades: Floats, parameters: Parameters) -> Floats:
    """1 from grade ``rel`` on, else 0."""
    return np.where(grades >= parameters["rel"], 1.0, 0.0)


def share_gain(grades: Floats, parameters: Parameters) -> Floats:
    """Gain of each grade where gains are given or gains are scaled, else 1 from grade ``rel`` on."""
    graded = parameters["gains"] or parameters["scale"]
    return grade_gain(grades, parameters) if graded else binary_gain(grades, parameters)


def scaled_grade(grades: Floats, parameters: Parameters) -> Floats:
    """Grade on a scale that is 0 at ``min_rel`` and 1 at ``max_rel``, none below or above."""
    lowest, highest = float(parameters["min_rel"]), float(parameters["max_rel"])
    return (np.clip(np.maximum(grades, 0.0), lowest, highest) - lowest) / (highest - lowest)


def preference_sign(grades: Floats, parameters: Parameters) -> Floats:
    """1 for relevant, -1 for judged nonrelevant, 0 for negative grades, which trec_eval takes as unjudged."""
    return np.where(grades >= parameters["rel"], 1.0, np.where(grades >= 0, -1.0, 0.0))


def sampled_sign(grades: Floats, parameters: Parameters) -> Floats:
    """1 for relevant, -1 for judged nonrelevant, -2 for pooled but not judged, which is any negative grade."""
    return np.where(grades >= parameters["rel"], 1.0, np.where(grades >= 0, -1.0, -2.0))


def sampled_gain(grades: Floats, parameters: Parameters) -> Floats:
    """Gain of each grade where it is above 0, -1 for judged without gain, -2 for pooled but not judged."""
    gain = grade_gain(grades, parameters)
    return np.where(grades < 0, -2.0, np.where(gain > 0, gain, -1.0))


def judged_gain(grades: Floats, parameters: Parameters) -> Floats:
    """1 for every judged document."""
    return np.ones_like(grades)


def zero_gain(grades: Floats, parameters: Parameters) -> Floats:
    """0 for every document: only their number matters."""
    return np.zeros_like(grades)


def grade_gain(grades: Floats, parameters: Parameters) -> Floats:
    """Gain of each grade, never below 0, exponential (2^g - 1) where the name says so."""
    linear: Floats = np.maximum(grades, 0.0)
    for grade, gain in parameters["gains"] or ():
        linear[grades == grade] = max(float(gain), 0.0)
    exponential = parameters.get("dcg") == "exp-log2" or parameters.get("gain") == "exp"
    return np.exp2(linear) - 1.0 if exponential else linear


def stopping_probability(grades: Floats, parameters: Parameters) -> Floats:
    """Probability (2^g - 1) / 2^max that a reader is satisfied by a document of gain g, or g / (max + 1)."""
    highest = float(parameters["max_rel"])
    if parameters["stop"] == "gain":
        return grade_gain(grades, parameters) / (highest + 1.0)
    # (2^g - 1) / 2^max without numbers that are too large
    return np.asarray(np.exp2(grade_gain(grades, parameters) - highest) - np.exp2(-highest))


def logarithmic_discount(ranks: Floats, parameters: Parameters) -> Floats:
    """Discount 1/log2(rank + 1), or with a base b Järvelin & Kekäläinen's: 1 before rank b, then 1/log_b(rank)."""
    base = parameters.get("base")
    if base is None:
        return 1.0 / np.log2(ranks + 1.0)
    return np.reciprocal(np.maximum(np.log(ranks) / math.log(base), 1.0))


def geometric_discount(ranks: Floats, parameters: Parameters) -> Floats:
    """Discount (1 - p) p^(rank - 1): a reader goes on to the next document with probability p."""
    p = float(parameters["p"])
    return np.power(p, ranks - 1.0) * (1.0 - p)


def persistence_discount(ranks: Floats, parameters: Parameters) -> Floats:
    """Discount beta^(rank - 1)."""
    return np.power(float(parameters["beta"]), ranks - 1.0)


def reciprocal_discount(ranks: Floats, parameters: Parameters) -> Floats:
    """Discount 1/rank."""
    return 1.0 / ranks
