"""Rank correlations and curves of p-values."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shardwise.comparing.compare import compare
from shardwise.comparing.rankings import discriminative_power, kendall_tau, share_significant, tau_ap
from shardwise.core.errors import InputError
from shardwise.methods.pairs import Means


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=15))
def test_kendall_is_tau_b(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    if len(set(x)) == 1 or len(set(y)) == 1:
        with pytest.raises(InputError, match="no ranking"):
            kendall_tau(x, y)
        return
    assert kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
    agree = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    untied = [np.abs(np.sign(v[:, None] - v)).sum() for v in (x, y)]
    assert kendall_tau(x, y) == pytest.approx(agree.sum() / np.sqrt(untied[0] * untied[1]))


def test_means_summed_in_another_order_are_ties() -> None:
    up, down = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert up > down  # by 1e-16
    reference = [3.0, 2.0, 1.0]
    assert kendall_tau([up, down, 0.1], reference) == kendall_tau([0.6, 0.6, 0.1], reference) < 1
    assert tau_ap([up, down, 0.1], reference) == tau_ap([0.6, 0.6, 0.1], reference) < 1
    assert tau_ap(reference, [up, down, 0.1]) == tau_ap(reference, [0.6, 0.6, 0.1]) < 1
    with pytest.raises(InputError, match="no ranking"):
        kendall_tau([up, down], [2.0, 1.0])
    assert kendall_tau([0.6 + 1e-11, 0.6, 0.1], reference) == 1  # small, but more than rounding


@given(
    st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=2, max_size=15),
    st.integers(0, 2**32 - 1),
)
def test_noise_of_rounding_changes_no_ranking(pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = np.array(pairs, dtype=float).T / 7.0
    noise = np.random.default_rng(seed).uniform(-1e-15, 1e-15, (2, len(x)))
    noisy = x + noise[0], y + noise[1]
    assert tau_ap(*noisy) == pytest.approx(tau_ap(x, y))
    if np.ptp(x) > 0 and np.ptp(y) > 0:
        oracle = stats.kendalltau(*(v.round(10) for v in noisy)).statistic
        assert kendall_tau(*noisy) == pytest.approx(oracle)


def test_tau_ap_by_hand() -> None:
    # reference a b c d e; ranking b a d c e: ranks 2…5 have 0/1, 2/2, 2/3, 4/4 of those above in the right order
    reference = {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}
    ranking = {"e": 1, "c": 2, "d": 3, "a": 4, "b": 5}
    assert tau_ap(ranking, reference) == pytest.approx(2 / 4 * (0 + 1 + 2 / 3 + 1) - 1)
    assert tau_ap(reference, reference) == pytest.approx(1)
    assert tau_ap({k: -v for k, v in reference.items()}, reference) == pytest.approx(-1)


def textbook(order: tuple[int, ...], place: dict[int, int]) -> float:
    """τ_AP of a ranking without ties, item by item."""
    n = len(order)
    total = 0.0
    for i in range(1, n):
        total += sum(place[above] < place[order[i]] for above in order[:i]) / i
    return 2 * total / (n - 1) - 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=5))
def test_tau_ap_with_ties_is_the_mean_over_all_ways_of_breaking_them(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T

    def untied(v: np.ndarray) -> list[tuple[int, ...]]:
        every = permutations(range(len(v)))
        return [p for p in every if all(v[a] >= v[b] for a, b in pairwise(p))]

    values = [
        textbook(order, {item: k for k, item in enumerate(other)})
        for order, other in product(untied(x), untied(y))
    ]
    assert tau_ap(x, y) == pytest.approx(np.mean(values))


def test_rankings_are_matched_by_name() -> None:
    x = pd.Series({"a": 3.0, "b": 2.0, "c": 1.0})
    assert kendall_tau(x, x[::-1]) == 1.0
    assert tau_ap(x, dict(x[::-1])) == 1.0
    for other in ({"a": 1.0, "b": 2.0, "d": 3.0}, {"a": 1.0, "b": 2.0, "c": np.nan}):
        with pytest.raises(InputError):
            tau_ap(x, other)


def test_discriminative_power() -> None:
    means = Means(("x", "y", "z"), np.array([0.3, 0.1, 0.12]), 0.001, 98.0, "")
    found = compare(means, "bonferroni")
    curve = discriminative_power(found)
    assert list(curve.columns) == ["name", "rank", "share", "p"]
    np.testing.assert_allclose(curve.p, np.sort(found.p))
    np.testing.assert_allclose(curve.share, [1 / 3, 2 / 3, 1])
    both = {"AP": found, "RR": compare(means, "none")}
    assert discriminative_power(both, column="p_adjusted").groupby("name").size().to_dict() == {
        "AP": 3,
        "RR": 3,
    }
    shares = share_significant(both)
    assert shares.loc["AP", "significant"] == found.reject().sum() == 2
    assert shares.loc["AP", "share"] == pytest.approx(2 / 3)
    assert len(share_significant([found, found])) == 2
    with pytest.raises(InputError):
        discriminative_power(found, column="se")


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_ranks_begin_at_one_and_equal_means_share_the_better_one(lower_is_better: bool) -> None:
    y = np.random.default_rng(3).normal(size=(12, 1)) + np.array([0.1, 0.3, 0.3, 0.2])
    frame = pd.DataFrame(y, columns=list("abcd"), index=[f"q{k}" for k in range(12)])
    ranks = compare(frame, lower_is_better=lower_is_better).ranks()["rank"]
    expected = {"a": 1, "d": 2, "b": 3, "c": 3} if lower_is_better else {"b": 1, "c": 1, "d": 3, "a": 4}
    assert ranks.to_dict() == expected


def test_a_system_that_differs_from_all_has_one_rank_and_tied_ones_share_a_range() -> None:
    rng = np.random.default_rng(5)
    y = rng.normal(size=(40, 4)) + np.array([0.0, 5.0, 10.0, 10.0])
    ranks = compare(pd.DataFrame(y, columns=list("abcd"))).ranks()
    found = ranks[["rank_best", "rank_worst"]].loc[list("abcd")].to_numpy().tolist()
    assert found == [[4, 4], [3, 3], [1, 2], [1, 2]]
