"""Bounded scores of many systems at once against the same of single pairs."""

from __future__ import annotations

import numpy as np
import pytest

from shardwise.stats import intervals, units
from shardwise.stats.intervals import BoundedScores, Range

IA, IB = np.triu_indices(4, 1)


def table(items: int = 30, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).beta(2, 3, (items, 4))


@pytest.mark.parametrize("block", [1, 70, 10**6])
def test_pairs_are_those_of_two_columns(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(intervals, "BLOCK", block)
    y = table()
    y[3, 2] = np.nan
    scores = BoundedScores(y, Range())
    moments = scores.sum_pairs(IA, IB)
    shares = []
    for k, (a, b) in enumerate(zip(IA, IB, strict=True)):
        alone = intervals.pair_moments(y[:, a], y[:, b])
        assert [float(x[k]) for x in moments] == pytest.approx([float(x) for x in alone])
        shares.append(intervals.pair_sparseness(y[:, a] - y[:, b]))
    assert scores.measure_sparseness(IA, IB) == pytest.approx(np.median(shares))
    assert scores.count_pairs(IA, IB).tolist() == moments.items.tolist()
    assert scores.sum_systems().mean == pytest.approx(np.nanmean(y, axis=0))
    assert scores.count_systems().tolist() == [30.0, 30.0, 29.0, 30.0]


def test_clusters_count_for_fewer_items() -> None:
    y, code = table(), np.arange(30) // 5
    y = y[code * 5]
    scores = BoundedScores(y, Range(), cluster=code)
    found = scores.count_pairs(IA, IB)
    for k, (a, b) in enumerate(zip(IA, IB, strict=True)):
        cost = np.maximum(*intervals.failure_costs(intervals.pair_moments(y[:, a], y[:, b])))
        effect = units.design_effect(y[:, a] - y[:, b], code, np.ones(30), cost)
        assert found[k] == pytest.approx(30.0 / effect)
    assert (scores.count_systems() < 10.0).all()


def test_missing_items_leave_the_clusters_of_the_others() -> None:
    y, code = table(), np.arange(30) // 5
    y[:5, 0] = np.nan
    scores = BoundedScores(y, Range(), cluster=code)
    cost = np.maximum(*intervals.failure_costs(intervals.pair_moments(y[5:, 0], y[5:, 1])))
    alone = units.design_effect(y[5:, 0] - y[5:, 1], code[5:] - 1, np.ones(25), cost)
    assert scores.count_pairs(np.array([0]), np.array([1]))[0] == pytest.approx(25.0 / alone)


def test_tasks_count_alike() -> None:
    y = np.r_[np.ones((10, 2)), np.zeros((30, 2))]
    task = np.repeat([0, 1], [10, 30])
    scores = BoundedScores(y, Range(), task=task)
    assert scores.sum_systems().mean == pytest.approx(0.5)
    # items of the small task weigh three times as much, so that 40 items are worth fewer
    assert scores.count_pairs(np.array([0]), np.array([1]))[0] == pytest.approx(30.0)
    assert scores.weights.mean() == pytest.approx(1.0)


def test_ranges_are_mapped() -> None:
    bounds = Range(0.0, 10.0, True)
    scores = BoundedScores(bounds.map_scores(np.array([[10.0, 0.0], [5.0, 5.0]])), bounds)
    assert scores.scores.tolist() == [[0.0, 1.0], [0.5, 0.5]]
    assert scores.sum_pairs(np.array([0]), np.array([1])).mean.tolist() == [-0.5]
