"""Formulas on judgments by subtopic, or by judge: means over the subtopics of a measure on each of them."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.scoring.formulas.rankings import SubtopicRanked


def _subtopic_shares(ranked: SubtopicRanked) -> Floats:
    """Weight of each subtopic among those with a relevant document; 0 for the others."""
    held = (ranked.pool_gains > 0).any(axis=0)
    weights = ranked.weights * held
    total = float(np.sum(weights))
    return np.asarray(weights / total if total else weights)


def average_precision_each(ranked: SubtopicRanked) -> Floats:
    """Average precision on each subtopic."""
    hits = ranked.gains > 0
    ranks = np.arange(1, len(hits) + 1)[:, None]
    sums = np.sum(np.where(hits, np.cumsum(hits, axis=0) / ranks, 0.0), axis=0)
    relevant = np.count_nonzero(ranked.pool_gains > 0, axis=0)
    return np.asarray(np.divide(sums, relevant, out=np.zeros(len(sums)), where=relevant > 0))


def intent_aware_ap(ranked: SubtopicRanked) -> float:
    """Mean of average precision over the subtopics with relevant documents."""
    return float(average_precision_each(ranked) @ _subtopic_shares(ranked))


def intent_aware_precision(ranked: SubtopicRanked) -> float:
    """Mean of precision at k over the subtopics with relevant documents."""
    hits = np.count_nonzero(ranked.gains[: ranked.cutoff] > 0, axis=0)
    return float(hits @ _subtopic_shares(ranked)) / float(ranked.cutoff or max(len(ranked.gains), 1))


def mean_judge_ap(ranked: SubtopicRanked) -> float:
    """Mean of average precision over all judges."""
    return float(np.mean(average_precision_each(ranked)))


def mean_judge_precision(ranked: SubtopicRanked) -> float:
    """Mean of precision at k over all judges."""
    hits = np.count_nonzero(ranked.gains[: ranked.cutoff] > 0, axis=0)
    return float(np.mean(hits)) / float(ranked.cutoff or max(len(ranked.gains), 1))


def mean_judge_r_precision(ranked: SubtopicRanked) -> float:
    """Mean over all judges of precision at ``times`` R documents."""
    values = []
    for judge in range(ranked.gains.shape[1]):
        relevant = int(np.count_nonzero(ranked.pool_gains[:, judge] > 0))
        depth = int(float(ranked.parameters["times"]) * relevant + 0.9)
        values.append(np.count_nonzero(ranked.gains[:depth, judge] > 0) / depth if depth else 0.0)
    return float(np.mean(values))
