"""Distribution of a difference on another sample: against statsmodels, our fits, and simulated samples."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shardwise.core.arrays import Floats
from shardwise.core.model import MD1, MD2, MD3, MD4, MD5, MD6, Model
from shardwise.lab.holdout import Basis, Prediction, basis_of, predict_differences
from shardwise.methods.anova.fit import anova

TABLE, SHARDS = ("topic", "system"), ("topic", "system", "shard")
INSTANCES, SPLITS = ("topic", "system", "instance"), ("split", "topic", "system", "shard")
TOPICS, BOTH = frozenset({"topic"}), frozenset({"topic", "shard"})
FAR = 10**12  # topics and shards of a sample so large that its own variance is nothing


def scores(*shape: int, seed: int = 3) -> Floats:
    return np.random.default_rng(seed).normal(0.3, 0.1, shape)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_interval_for_one_new_topic_is_that_of_statsmodels(level: float) -> None:
    y = scores(1, 20, 2)
    distribution = predict_differences(y, TABLE, Basis(TOPICS, pooled=False), (20, 1), (1, 1))
    d = y[0, :, 0] - y[0, :, 1]
    predicted = sm.OLS(d, np.ones(20)).fit().get_prediction([1.0])
    low, high = predicted.summary_frame(alpha=1 - level)[["obs_ci_lower", "obs_ci_upper"]].to_numpy()[0]
    beyond = 1e-9 * (high - low)
    assert not distribution.covers_difference(np.array([[d.mean()]]), np.array([[low - beyond]]), level)[0, 0]
    assert distribution.covers_difference(np.array([[d.mean()]]), np.array([[low + beyond]]), level)[0, 0]
    assert not distribution.covers_difference(np.array([[d.mean()]]), np.array([[high + beyond]]), level)[
        0, 0
    ]
    assert distribution.covers_difference(np.array([[d.mean()]]), np.array([[high - beyond]]), level)[0, 0]
    assert distribution.df[0, 0] == 19


def test_reversal_by_hand_and_by_scipy() -> None:
    # differences 1, 2, 3 on 3 topics: mean 2, variance 1; 3 new topics: se = sqrt(1/3 + 1/3)
    y = np.array([[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]])
    distribution = predict_differences(y, TABLE, Basis(TOPICS, pooled=False), (3, 1), (3, 1))
    assert distribution.se[0, 0] == pytest.approx(np.sqrt(2 / 3), rel=1e-12)
    assert distribution.reversal_probability(np.array([[2.0]]))[0, 0] == pytest.approx(
        stats.t.cdf(-2 / np.sqrt(2 / 3), 2), rel=1e-12
    )
    assert (
        distribution.reversal_probability(np.array([[-2.0]]))[0, 0]
        == distribution.reversal_probability(np.array([[2.0]]))[0, 0]
    )


@pytest.mark.parametrize(
    ("model", "generalize"),
    [
        *[(m, ()) for m in (MD2, MD3, MD4, MD5, MD6)],
        *[(m, ("topic",)) for m in (MD3, MD4, MD5, MD6)],
        (MD6, ("shard",)),
        (MD6, ("topic", "shard")),
    ],
    ids=lambda x: x.short if isinstance(x, Model) else "+".join(x),
)
def test_against_an_endless_sample_the_variance_is_that_of_the_fit(
    model: Model, generalize: tuple[str, ...]
) -> None:
    y = scores(2, 12, 5, 4) + np.linspace(0, 0.3, 5)[:, None] * np.linspace(-1, 1, 12)[:, None, None]
    basis = basis_of(model.short, SHARDS, generalize, BOTH)
    distribution = predict_differences(y, SHARDS, basis, (12, 4), (FAR, FAR))
    for k in range(2):
        fit = anova(xr.DataArray(y[k], dims=SHARDS), model).estimates(generalize=generalize)
        assert distribution.se[k, 0] ** 2 == pytest.approx(2 * fit.variance, rel=1e-9)
        assert distribution.df[k, 0] == pytest.approx(fit.df, rel=1e-6)


def test_without_shards_it_is_md1() -> None:
    y = scores(1, 12, 5)
    distribution = predict_differences(y, TABLE, basis_of("MD1", TABLE, (), TOPICS), (12, 1), (FAR, 1))
    fit = anova(xr.DataArray(y[0], dims=TABLE), MD1).estimates()
    assert (distribution.se[0, 0] ** 2, distribution.df[0, 0]) == pytest.approx((2 * fit.variance, fit.df))


def test_means_over_shards_predict_topics_as_the_shards_do() -> None:
    y = scores(1, 12, 5, 4)
    for pooled in (True, False):
        whole = predict_differences(y.mean(axis=3), TABLE, Basis(TOPICS, pooled), (12, 1), (7, 1))
        shards = predict_differences(y, SHARDS, Basis(TOPICS, pooled), (12, 4), (7, 4))
        np.testing.assert_allclose(whole.se, shards.se, rtol=1e-12)
        np.testing.assert_allclose(whole.df, shards.df)


def test_pooled_variance_is_the_mean_of_the_pairs() -> None:
    y = scores(3, 12, 5, 4)
    for new in (frozenset[str](), TOPICS, frozenset({"shard"})):
        own = predict_differences(y, SHARDS, Basis(new, pooled=False), (12, 4), (12, 4))
        pooled = predict_differences(y, SHARDS, Basis(new, pooled=True), (12, 4), (12, 4))
        np.testing.assert_allclose((own.se**2).mean(axis=1, keepdims=True), pooled.se**2, rtol=1e-12)
        np.testing.assert_allclose(pooled.df, 4 * own.df[:, :1])


def test_variance_estimated_below_zero_counts_nothing() -> None:
    """Scores without topic:system and system:shard effects beyond chance: never less than the error alone."""
    y = scores(200, 6, 3, 3)
    least = predict_differences(y, SHARDS, Basis(frozenset(), pooled=True), (6, 3), (6, 3))
    distribution = predict_differences(y, SHARDS, Basis(BOTH, pooled=True), (6, 3), (6, 3))
    assert (distribution.se >= least.se * (1 - 1e-12)).all()
    assert (distribution.se == least.se).any()
    assert (distribution.df >= 1).all()


def test_splits_and_instances_have_distributions_too() -> None:
    y = scores(2, 3, 8, 4, 2)
    each = [
        predict_differences(y[:, j], SHARDS, basis_of("MD6", SHARDS, (), TOPICS), (8, 2), (8, 2)).se
        for j in range(3)
    ]
    distribution = predict_differences(y, SPLITS, basis_of("MD6", SPLITS, (), TOPICS), (8, 2), (8, 2))
    np.testing.assert_allclose(distribution.se**2, np.mean([se**2 for se in each], axis=0), rtol=1e-12)
    nested = predict_differences(y[:, 0], INSTANCES, basis_of("", INSTANCES, (), TOPICS), (8, 2), (8, 2))
    z = y[0, 0] - y[0, 0].mean(0) - y[0, 0].mean(2)[..., None] + y[0, 0].mean((0, 2))[:, None]
    own = (z**2).sum(
        (0, 2)
    ) / 7  # (8 - 1)(2 - 1) degrees of freedom; instances of two systems are independent
    assert nested.se[0, 0] ** 2 == pytest.approx((own[0] + own[1]) * 2 / 16, rel=1e-12)


@given(st.floats(-1, 1), st.floats(1e-3, 1), st.floats(1, 200), st.floats(0.5, 0.99))
def test_a_distribution_is_symmetric_and_consistent(d: float, se: float, df: float, level: float) -> None:
    distribution = Prediction(np.array([[se]]), np.array([[df]]))
    p = float(distribution.reversal_probability(np.array([[d]]))[0, 0])
    assert 0 <= p <= 0.5
    # zero lies inside the interval exactly when the reversal is likelier than one tail of it
    if abs(p - (1 - level) / 2) > 1e-9:
        assert bool(distribution.covers_difference(np.array([[d]]), np.array([[0.0]]), level)[0, 0]) == (
            p > (1 - level) / 2
        )


def test_what_varies_for_which_claim() -> None:
    assert basis_of("MD6", SHARDS, (), TOPICS) == Basis(frozenset(), True, MD6)
    assert basis_of("MD6", SHARDS, ("shard",), TOPICS) == Basis(frozenset(), True, MD6)
    assert basis_of("MD6", SHARDS, ("topic", "shard"), TOPICS) == Basis(TOPICS, True)
    assert basis_of("MD6", SHARDS, ("topic", "shard"), BOTH) == Basis(BOTH, True)
    assert basis_of("MD1", SHARDS, (), TOPICS) == Basis(TOPICS, True)  # its error is topic:system
    assert basis_of("", TABLE, ("topic",), BOTH) == Basis(TOPICS, False)
    assert basis_of("", INSTANCES, ("topic", "instance"), BOTH) == Basis(BOTH, False)
    assert basis_of("joint", INSTANCES, ("topic", "instance"), TOPICS) == Basis(TOPICS, True)
