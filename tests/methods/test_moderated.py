"""The moderated test against a slow plain-numpy writing of its steps, its limits, and its symmetries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import shardwise as sw
from shardwise.core.arrays import Floats, Ints
from shardwise.methods.moderated.draws import BLOCK_SIZE as BLOCK
from shardwise.methods.moderated.method import ResampledDistribution, resample_single, resample_topics
from shardwise.methods.moderated.statistics import moderated_statistics, pairs_of
from shardwise.stats.moderation import PRIOR_DF as D0
from shardwise.stats.resampling import key_of, topic_counts

KEYS = st.integers(0, 2**32 - 1)


def table(seed: int, topics: int = 12, systems: int = 5) -> Floats:
    """Correlated systems with variances of their own, skewed, the later ones better."""
    g = np.random.default_rng(seed)
    y = 0.4 + 0.1 * g.normal(size=(topics, 1)) + 0.04 * np.arange(systems)
    return np.asarray(y + np.linspace(0.02, 0.1, systems) * g.gumbel(size=(topics, systems)))


@dataclass(frozen=True)
class Slow:
    t: Floats
    p_adjusted: Floats
    maxima: Floats


def slow_t(z: Floats, ia: Ints, ib: Ints, d0: float) -> Floats:
    """Steps 1 and 2 on the rows of a table as they are."""
    d = z[:, ia] - z[:, ib]
    own = d.var(axis=0, ddof=1)
    n = len(z)
    v = ((n - 1) * own + d0 * own.mean()) / (n - 1 + d0)
    return np.asarray(d.mean(axis=0) / np.sqrt(v / n))


def slow(y: Floats, ia: Ints, ib: Ints, d0: float, seed: int, count: int) -> Slow:
    """Steps 3 and 4: topics drawn one by one, statistics from the drawn tables."""
    topics = len(y)
    t = slow_t(y, ia, ib, d0)
    z = y - y.mean(axis=0)
    counts = topic_counts(topics, key_of(seed), 0, count).astype(int)
    with np.errstate(divide="ignore"):
        star = np.array([slow_t(np.repeat(z, w, axis=0), ia, ib, d0) for w in counts])
    star[(counts == topics).any(axis=1)] *= np.inf  # a single topic: no spread
    order = np.argsort(-np.abs(t))
    p_adjusted, least = np.empty(t.size), 0.0
    for j, k in enumerate(order):
        largest = np.abs(star[:, order[j:]]).max(axis=1)
        least = max(least, (1 + np.sum(largest >= abs(t[k]) * (1 - 1e-9))) / (count + 1))
        p_adjusted[k] = least
    return Slow(t, p_adjusted, np.sort(np.abs(star).max(axis=1)))


def distribution(
    y: Floats, seed: int = 0, count: int = 199, d0: float = D0, jobs: int | None = 1
) -> ResampledDistribution:
    ia, ib = pairs_of(y.shape[1])
    return resample_topics(y, ia, ib, moderated_statistics(y, d0=d0), key_of(seed), count, jobs=jobs)


@pytest.mark.parametrize(
    ("topics", "systems", "d0"), [(5, 3, 20.0), (12, 5, 20.0), (31, 6, 3.0), (16, 4, 0.0)]
)
def test_every_step_by_hand(topics: int, systems: int, d0: float) -> None:
    y = table(topics, topics, systems)
    ia, ib = pairs_of(systems)
    by_hand = slow(y, ia, ib, d0, 3, 400)
    found = moderated_statistics(y, d0=d0)
    fast = resample_topics(y, ia, ib, found, key_of(3), 400)
    np.testing.assert_allclose(found.t, by_hand.t, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(fast.maxima), by_hand.maxima, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(fast.p_adjusted, by_hand.p_adjusted)


@pytest.mark.parametrize("against", [0, 2])
def test_many_to_one_by_hand(against: int) -> None:
    y = table(8, 20, 5)
    others = np.array([a for a in range(5) if a != against])
    ia, ib = np.full(4, against), others
    by_hand = slow(y, ia, ib, D0, 1, 300)
    found = moderated_statistics(y, ia, ib)
    fast = resample_topics(y, ia, ib, found, key_of(1), 300)
    np.testing.assert_allclose(found.t, by_hand.t, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(fast.maxima), by_hand.maxima, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(fast.p_adjusted, by_hand.p_adjusted)


def test_p_values_of_single_pairs_come_from_the_same_resamples() -> None:
    y = table(8, 20, 5)
    for ia, ib in (pairs_of(5), (np.full(4, 2), np.array([0, 1, 3, 4]))):
        found = moderated_statistics(y, ia, ib)
        star = np.array(
            [
                slow_t(np.repeat(y - y.mean(axis=0), w, axis=0), ia, ib, D0)
                for w in topic_counts(20, key_of(5), 0, 300).astype(int)
            ]
        )
        single = resample_single(y, ia, ib, found.t, key_of(5), 300, D0)
        assert single is not None
        expected = (1 + (np.abs(star) >= np.abs(found.t) * (1 - 1e-9)).sum(axis=0)) / 301
        np.testing.assert_allclose(single, expected)
        assert (single <= resample_topics(y, ia, ib, found, key_of(5), 300).p_adjusted).all()


def test_the_pairs_asked_for_are_the_table() -> None:
    frame = pd.DataFrame(table(3, 25, 6), columns=list("abcdef"))
    asked = sw.compare(frame, only=["a", "c", "d"]).to_frame()
    alone = sw.compare(frame[["a", "c", "d"]]).to_frame()
    pd.testing.assert_frame_equal(asked.drop(columns="effect_size"), alone.drop(columns="effect_size"))
    pair = sw.compare(frame, only=[("a", "b")]).to_frame()
    two = sw.compare(frame[["a", "b"]]).to_frame()
    assert pair["p_adjusted"].tolist() == two["p_adjusted"].tolist()
    for found in (sw.compare(frame), sw.compare(frame, baseline="b")):
        assert (found.p <= found.p_adjusted).all()


def test_long_tables_have_the_normal_limit() -> None:
    """5,000 topics: the limit agrees with resampling to Monte-Carlo error, and does not depend on how they come."""
    rng = np.random.default_rng(4)
    y = rng.normal(size=(5000, 3)) + rng.normal(size=(5000, 1)) + [0.0, 0.02, 0.05]
    frame = pd.DataFrame(y, columns=list("abc"))
    long = sw.compare(frame, n_resamples=1999)
    moments = sw.compare(sw.ScoreMoments.of(frame), n_resamples=1999)
    np.testing.assert_allclose(long.p_adjusted, moments.p_adjusted)
    ia, ib = pairs_of(3)
    drawn = resample_topics(y, ia, ib, moderated_statistics(y), key_of(0), 1999)
    order = [2, 1, 0]
    assert long.p_adjusted == pytest.approx(drawn.p_adjusted[order], abs=0.04)


def _at(ia: Ints, ib: Ints, systems: int) -> Ints:
    every = [frozenset(p) for p in zip(*(x.tolist() for x in pairs_of(systems)), strict=True)]
    return np.array([every.index(frozenset(p)) for p in zip(ia.tolist(), ib.tolist(), strict=True)])


def test_no_common_variance_is_the_paired_t() -> None:
    y = table(1)
    ia, ib = pairs_of(5)
    found = moderated_statistics(y, d0=0.0)
    expected = stats.ttest_rel(y[:, ia], y[:, ib])
    np.testing.assert_allclose(found.t, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-9)


@pytest.mark.parametrize("d0", [np.inf, 1e12])
def test_only_the_common_variance_is_the_error_term_of_hsd(d0: float) -> None:
    y = table(2)
    topics, systems = y.shape
    z = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    ms = (z**2).sum() / ((topics - 1) * (systems - 1))
    found = moderated_statistics(y, d0=d0)
    np.testing.assert_allclose(found.se, np.sqrt(2 * ms / topics), rtol=1e-9)
    assert (found.df == (topics - 1) * (systems - 1)).all()


def test_common_variance_is_the_mean_over_pairs() -> None:
    y = table(3, 9, 6)
    found = moderated_statistics(y)
    np.testing.assert_allclose(found.common, found.own.mean(), rtol=1e-12)


def test_two_systems_are_not_moderated() -> None:
    y = table(4)[:, :2]
    np.testing.assert_allclose(
        moderated_statistics(y).t, stats.ttest_rel(y[:, 0], y[:, 1]).statistic, rtol=1e-12
    )
    assert moderated_statistics(y).df == len(y) - 1


def test_a_batch_is_its_tables() -> None:
    tables = np.array([[table(k, 9, 4) for k in range(3)], [table(9 + k, 9, 4) for k in range(3)]])
    found = moderated_statistics(tables)
    one = moderated_statistics(tables[1, 2])
    assert found.t.shape == (2, 3, 6)
    for name in ("t", "p", "own", "moderated", "df", "common"):
        np.testing.assert_array_equal(getattr(found, name)[1, 2], getattr(one, name))


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, 5 * BLOCK + 7])
def test_workers_change_nothing(count: int) -> None:
    y = table(5, 20, 7)
    one, two, five = (distribution(y, 2, count, jobs=jobs) for jobs in (1, 2, 5))
    for other in (two, five):
        for name in ("p_adjusted", "maxima"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_draw_i_does_not_depend_on_the_number_of_draws() -> None:
    y = table(5, 20, 7)
    few, many = distribution(y, 2, 300).maxima, distribution(y, 2, 700).maxima
    assert np.isin(few, many).all()


@settings(max_examples=25, deadline=None)
@given(KEYS, st.integers(3, 12), st.integers(2, 6), st.floats(0.01, 100.0))
def test_shifts_and_scale_change_nothing(seed: int, topics: int, systems: int, scale: float) -> None:
    y = table(seed, topics, systems)
    g = np.random.default_rng(seed)
    other = scale * (y + g.normal(size=(topics, 1)))
    np.testing.assert_allclose(moderated_statistics(other).t, moderated_statistics(y).t, rtol=1e-6, atol=1e-8)
    # against other means the distribution is the same
    moved = y + g.normal(size=systems)
    np.testing.assert_allclose(distribution(moved).maxima, distribution(y).maxima, rtol=1e-6)
    np.testing.assert_array_equal(distribution(other).p_adjusted, distribution(y).p_adjusted)


@settings(max_examples=25, deadline=None)
@given(KEYS, st.integers(4, 12), st.integers(2, 6), st.data())
def test_names_of_systems_change_nothing(seed: int, topics: int, systems: int, data: st.DataObject) -> None:
    y = table(seed, topics, systems)
    order = np.array(data.draw(st.permutations(range(systems))))
    ia, ib = pairs_of(systems)
    at = _at(order[ia], order[ib], systems)  # where the pairs of the shuffled table are in the first
    np.testing.assert_array_equal(distribution(y[:, order]).p_adjusted, distribution(y).p_adjusted[at])


@settings(max_examples=25, deadline=None)
@given(KEYS)
def test_step_down_is_at_most_a_single_step(seed: int) -> None:
    y = table(seed, 10, 5)
    found = distribution(y, seed)
    t = moderated_statistics(y).t
    single = np.array([(1 + np.sum(found.maxima >= x * (1 - 1e-9))) / 200 for x in t**2])
    assert (found.p_adjusted <= single).all()
    assert found.p_adjusted[np.argmax(np.abs(t))] == single[np.argmax(np.abs(t))]
    told_apart = np.abs(t) >= found.critical(0.1)
    np.testing.assert_array_equal(told_apart, single <= 0.1)


def test_copies_are_ties() -> None:
    y = np.repeat(table(6, 10, 3), 2, axis=1)
    found, ia, ib = moderated_statistics(y), *pairs_of(6)
    copies = (ia // 2) == (ib // 2)
    fast = distribution(y)
    assert (found.t[copies] == 0.0).all()
    assert (fast.p_adjusted[copies] == 1.0).all()
    assert np.isfinite(fast.maxima).all()


@pytest.mark.parametrize("d0", [0.0, 20.0, np.inf])
def test_tables_without_any_spread(d0: float) -> None:
    equal = np.full((6, 3), 0.3) + np.arange(6)[:, None]
    found = distribution(equal, d0=d0)
    assert (found.p_adjusted == 1.0).all()
    apart = equal + np.array([0.0, 0.1, 0.1])
    np.testing.assert_array_equal(moderated_statistics(apart, d0=d0).t, [-np.inf, -np.inf, 0.0])
    found = distribution(apart, d0=d0)
    np.testing.assert_array_equal(found.p_adjusted, [1 / 200, 1 / 200, 1.0])


def test_draws_of_one_topic_alone_are_as_extreme_as_can_be() -> None:
    y = np.array([[0.1, 0.3, 0.35], [0.2, 0.7, 0.3]])
    counts = topic_counts(2, key_of(0), 0, 199)
    alone = (counts == 2).any(axis=1).sum()
    assert np.isinf(distribution(y).maxima).sum() == alone


def test_too_few_draws_have_no_quantile() -> None:
    found = distribution(table(1), count=9)
    assert found.critical(0.05) == np.inf
    assert found.critical(0.1) < np.inf


def test_trec8(data: Path) -> None:
    y = np.genfromtxt(data / "trec8" / "adhoc8_ap.csv", delimiter=",", skip_header=1)
    assert y.shape == (50, 129)
    found = distribution(y, 1, 9999, jobs=None)
    assert 3380 <= (found.p_adjusted <= 0.05).sum() <= 3450  # METHODS §9


def test_a_huge_score_of_another_system_leaves_the_difference_of_a_pair_alone() -> None:
    rng = np.random.default_rng(3)
    y = rng.random((20, 3))
    difference = float((y[:, 0] - y[:, 1]).mean())
    y[4, 2] = 1e15
    scores = xr.DataArray(y, {"system": list("abc")}, ("topic", "system"))
    pairs = sw.compare(scores, "moderated").to_frame().set_index(["a", "b"])
    [row] = [row for pair, row in pairs.iterrows() if set(pair) == {"a", "b"}]
    assert abs(row["difference"]) == pytest.approx(abs(difference), rel=1e-12)
