"""Scenarios without a difference made out of scores: what they keep and what they destroy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.lab.scenarios.from_scores import KINDS, data_null, speaks_for

TABLE = ("topic", "system")
SHARDS = ("topic", "system", "shard")
INSTANCES = ("topic", "system", "instance")
TOPIC = Claim("topic")


def sharded(seed: int, t: int = 12, r: int = 4, s: int = 3) -> Floats:
    """Scores with every effect, and systems of unequal spread."""
    rng = np.random.default_rng(seed)
    y = rng.normal(0.3, 0.2, (t, 1, 1)) + rng.normal(0, 0.1, (t, 1, s)) + rng.normal(0, 0.05, (1, r, s))
    spread = np.linspace(0.5, 2.0, r)[:, None]
    noise = rng.normal(0, 0.06, (t, r, s))
    return np.asarray(y + spread * (rng.normal(0, 0.1, (t, r, 1)) + noise) + np.linspace(0, 0.3, r)[:, None])


def claims(kind: str) -> list[Claim]:
    every = [Claim(), Claim("topic"), Claim("shard"), Claim("topic", "shard")]
    return [claim for claim in every if speaks_for(kind, SHARDS, claim)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), first=st.integers(0, 50))
def test_a_table_depends_on_its_number_alone(kind: str, seed: int, first: int) -> None:
    for claim in claims(kind):
        scenario = data_null(kind, sharded(seed), SHARDS, claim)
        together = scenario.draw(first, 3, seed)
        for k in range(3):
            np.testing.assert_array_equal(together[k], scenario.draw(first + k, 1, seed)[0])


def test_permuting_shuffles_whole_topics_of_systems() -> None:
    y = sharded(1)
    drawn = data_null("permute", y, SHARDS, TOPIC).draw(0, 20, 3)
    for table in drawn:
        for before, after in zip(y, table, strict=True):
            rows = {tuple(row) for row in before}  # all shards of a system travel together
            assert {tuple(row) for row in after} == rows
    # every system is as likely in every place: counts of one system's place over 20 × 12 topics
    places = np.array([[np.flatnonzero((t[i] == y[i, 0]).all(axis=1))[0] for i in range(12)] for t in drawn])
    assert stats.chisquare(np.bincount(places.ravel(), minlength=4)).pvalue > 1e-4


def test_resampling_keeps_whole_topics_and_makes_means_alike() -> None:
    y = sharded(2)
    scenario = data_null("resample", y, SHARDS, TOPIC)
    alike = y - y.mean(axis=(0, 2), keepdims=True) + y.mean()
    rows = {tuple(np.round(row.ravel(), 12)) for row in alike}
    for table in scenario.draw(0, 5, 1):
        assert {tuple(np.round(row.ravel(), 12)) for row in table} <= rows
    assert np.ptp(scenario.truth) == 0


@pytest.mark.parametrize(("kind", "factor"), [("flip", 1.0), ("resample", 11 / 12)])
def test_differences_vary_as_those_of_new_topics_would(kind: str, factor: float) -> None:
    """Over tables the mean difference of two systems has mean 0 and variance s²/T, s² that of the pair itself.

    (Drawing with replacement takes the variance with T, not T - 1, in the denominator.) Tolerance: 4 standard
    errors of a variance of 4,000 nearly normal numbers, 4·√(2/4000).
    """
    y = sharded(3)
    means = data_null(kind, y, SHARDS, TOPIC).draw(0, 4000, 8).mean(axis=(1, 3))
    d = y.mean(axis=2)
    for a, b in ((0, 1), (0, 3), (2, 3)):
        z = means[:, a] - means[:, b]
        wanted = factor * np.var(d[:, a] - d[:, b], ddof=1) / 12
        assert abs(z.mean()) < 4 * np.sqrt(wanted / 4000)
        assert np.var(z) == pytest.approx(wanted, rel=4 * np.sqrt(2 / 4000))


@pytest.mark.parametrize("claim", [Claim(), Claim("shard"), Claim("topic"), Claim("topic", "shard")])
def test_flipped_mean_squares_are_those_of_the_scores(claim: Claim) -> None:
    """The expected mean squares stay what they are, so that a scenario is as noisy as the scores.

    Tolerance: 4 standard errors over tables, estimated from them.
    """
    y = sharded(4, t=30, r=6, s=5)
    drawn = data_null("flip", y, SHARDS, claim).draw(0, 1500, 2)
    for found, wanted in zip(mean_squares(drawn).T, mean_squares(y[None])[0], strict=True):
        assert abs(found.mean() - wanted) < 4 * found.std(ddof=1) / np.sqrt(1500) + 1e-9 * wanted


def mean_squares(y: Floats) -> Floats:
    """(B, 3): mean squares of topic:system, system:shard and error, by the book."""
    t, r, s = y.shape[1:]
    m = y.mean(axis=(1, 2, 3), keepdims=True)
    mt, mr, ms = (y.mean(axis=axes, keepdims=True) for axes in ((2, 3), (1, 3), (1, 2)))
    mtr, mts, mrs = (y.mean(axis=axis, keepdims=True) for axis in (3, 2, 1))
    ts = ((mtr - mt - mr + m) ** 2).sum(axis=(1, 2, 3)) * s / ((t - 1) * (r - 1))
    rs = ((mrs - mr - ms + m) ** 2).sum(axis=(1, 2, 3)) * t / ((s - 1) * (r - 1))
    e = ((y - mtr - mts - mrs + mt + mr + ms - m) ** 2).sum(axis=(1, 2, 3)) / ((t - 1) * (r - 1) * (s - 1))
    return np.column_stack([ts, rs, e])


def test_what_is_held_fixed_has_no_difference_either() -> None:
    """On these very topics and shards the average table has equal systems, though they differ within each."""
    y = sharded(5)
    scenario = data_null("flip", y, SHARDS, Claim())
    average = scenario.draw(0, 6000, 1).mean(axis=0)
    spread = scenario.draw(0, 400, 1).std(axis=0).max()
    np.testing.assert_allclose(np.ptp(average.mean(axis=(0, 2))), 0, atol=5 * spread / np.sqrt(6000))
    cell = average.mean(axis=2) - average.mean(axis=(1, 2))[:, None]
    measured = y.mean(axis=2) - y.mean(axis=(1, 2))[:, None] - (y.mean(axis=(0, 2)) - y.mean())
    ts, _, e = mean_squares(y[None])[0]
    wanted = measured * np.sqrt(1 - e / ts)  # what is left without the error in the measured effects
    np.testing.assert_allclose(cell, wanted, atol=6 * spread / np.sqrt(6000 * 3))


def test_instances_of_a_system_turn_by_themselves() -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(0, 0.1, (20, 2, 4)) + rng.normal(0, 0.2, (1, 2, 4)) + rng.normal(0, 0.1, (20, 2, 1))
    means = data_null("flip", y, INSTANCES, Claim("topic", "instance")).draw(0, 4000, 3).mean(axis=(1, 3))
    z = means[:, 0] - means[:, 1]
    d = y.mean(axis=2)
    by_instance = y.mean(axis=0)
    mse = [((y[:, k] - d[:, [k]] - by_instance[k] + d[:, k].mean()) ** 2).sum() / (19 * 3) for k in range(2)]
    among = sum(np.var(by_instance[k], ddof=1) / 4 for k in range(2))
    wanted = np.var(d[:, 0] - d[:, 1], ddof=1) / 20 + among - sum(mse) / (20 * 4)  # unified test's variance
    assert np.var(z) == pytest.approx(wanted, rel=0.15)  # shares of error are averaged over both systems


@pytest.mark.parametrize("kind", KINDS)
def test_planted_effects_are_the_truth(kind: str) -> None:
    y = sharded(7)
    effects = np.array([0.0, 0.0, 0.1, 0.4])
    plain, moved = data_null(kind, y, SHARDS, TOPIC), data_null(kind, y, SHARDS, TOPIC, effects)
    np.testing.assert_allclose(np.diff(moved.truth), np.diff(effects))
    assert moved.truth.mean() == pytest.approx(y.mean())
    shift = moved.draw(0, 4, 1) - plain.draw(0, 4, 1)
    np.testing.assert_allclose(shift, np.broadcast_to((effects - effects.mean())[:, None], shift.shape))


@pytest.mark.parametrize(
    ("kind", "claim", "message"),
    [
        ("shuffle", TOPIC, "unknown null 'shuffle'"),
        ("permute", Claim(), "says nothing of exactly these topics"),
        ("resample", Claim("topic", "shard"), "says nothing of"),
        ("flip", Claim("instance"), "cannot generalise over instance"),
    ],
)
def test_refusals(kind: str, claim: Claim, message: str) -> None:
    with pytest.raises(InputError, match=message):
        data_null(kind, sharded(1), SHARDS, claim)


def test_undefined_scores_are_refused() -> None:
    y = sharded(1)
    y[0, 0, 0] = np.nan
    with pytest.raises(InputError, match="1 scores are undefined"):
        data_null("flip", y, SHARDS, Claim())
