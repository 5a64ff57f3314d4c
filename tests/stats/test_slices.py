"""Corrections over slices, and whether a difference depends on the slice."""

from __future__ import annotations

import numpy as np
import pytest

from shardwise.stats.corrections import holm
from shardwise.stats.slices import adjust_across, interaction_p


def close_by_hand(p: np.ndarray, alpha: float) -> np.ndarray:
    """Which pairs are significant, step by step: a slice makes room once all its pairs are."""
    significant = np.zeros(p.shape, dtype=bool)
    while True:
        left = (~significant).any(axis=1).sum()
        if not left:
            return significant
        found = p <= alpha / left
        if (found <= significant).all():
            return significant
        significant |= found


@pytest.mark.parametrize("seed", range(40))
def test_pairs_of_slices_are_corrected_as_step_by_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.3, 3.0, size=(int(rng.integers(1, 7)), int(rng.integers(1, 5)))) ** 2
    adjusted = adjust_across(p)
    for alpha in (0.01, 0.05, 0.2):
        assert ((adjusted <= alpha) == close_by_hand(p, alpha)).all()


def test_one_pair_a_slice_is_holm_and_untested_slices_do_not_count() -> None:
    p = np.array([0.2, 0.001, np.nan, 0.02, 0.013])
    known = ~np.isnan(p)
    adjusted = adjust_across(p[:, None])[:, 0]
    assert np.isnan(adjusted[~known]).all()
    assert np.allclose(adjusted[known], holm(p[known]))


def test_a_slice_that_is_not_significant_throughout_leaves_the_others_no_room() -> None:
    adjusted = adjust_across(np.array([[0.0001, 0.9], [0.04, 0.9]]))
    assert np.allclose(adjusted, [[0.0002, 1.0], [0.08, 1.0]])


def test_interaction_sees_a_reversal_and_ignores_a_common_shift() -> None:
    rng = np.random.default_rng(4)
    code = np.repeat(np.arange(4), 30)
    y = rng.normal(size=(120, 3)) + rng.normal(size=(120, 1))
    y[:, 1] += 1.0
    y[code == 2, 2] -= 2.0
    ia, ib = np.array([0, 0, 1]), np.array([1, 2, 2])
    statistic, p = interaction_p(y, code, ia, ib, n_resamples=999, seed=1)
    assert p[0] > 0.05 > max(p[1], p[2])
    # without shrinkage worth speaking of, the statistic is that of Welch's weights
    differences = y[:, 0] - y[:, 2]
    means = np.array([differences[code == k].mean() for k in range(4)])
    weight = np.array([30.0 / differences[code == k].var(ddof=1) for k in range(4)])
    plain = (weight * (means - (weight * means).sum() / weight.sum()) ** 2).sum()
    assert statistic[1] == pytest.approx(plain, rel=0.25)


def test_interaction_needs_two_slices_of_enough_items_and_some_variance() -> None:
    rng = np.random.default_rng(4)
    code = np.repeat([0, 1], [30, 4])
    y = rng.normal(size=(34, 2))
    one = np.array([0]), np.array([1])
    assert np.isnan(interaction_p(y, code, *one, n_resamples=99, seed=1)[1]).all()
    alike = np.repeat(y[:, :1], 2, axis=1)
    assert np.isnan(interaction_p(alike, np.repeat([0, 1], 17), *one, n_resamples=99, seed=1)[1]).all()
