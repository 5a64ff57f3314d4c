"""Clusters against statsmodels and the definition by matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shardwise.stats.units import care_for_clusters, cluster_variance, satterthwaite_df, sum_clusters

GOLD = Path(__file__).parent.parent / "gold"
some_sizes = st.lists(st.integers(1, 12), min_size=2, max_size=15)


def test_clusters_of_one_size_as_in_statsmodels() -> None:
    """CR1 of statsmodels (factors_python.py) is CR2 where all clusters have one size."""
    items = pd.read_csv(GOLD / "factors_items.csv")
    for row in pd.read_csv(GOLD / "factors_clusters.csv").query("clusters == 'equal'").itertuples():
        found = cluster_variance((items[row.a] - items[row.b]).to_numpy(float), np.arange(120) // 6)
        assert np.sqrt(found.variance) == pytest.approx(row.se, rel=1e-12)
        assert found.df == pytest.approx(19.0)


@given(some_sizes)
def test_degrees_of_freedom_by_matrices(sizes: list[int]) -> None:
    n_g = np.array(sizes, float)
    n = n_g.sum()
    root = np.sqrt(1.0 - n_g / n)
    m = (np.diag(n_g) - np.outer(n_g, n_g) / n) / np.outer(root, root)
    assert satterthwaite_df(n_g) == pytest.approx(np.trace(m) ** 2 / np.trace(m @ m), rel=1e-9)
    assert 0.99 < satterthwaite_df(n_g) <= len(sizes)


@given(some_sizes, st.integers(0, 2**32 - 1))
def test_variance_by_its_definition(sizes: list[int], seed: int) -> None:
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    d = np.random.default_rng(seed).normal(size=cluster.size)
    n = cluster.size
    total = sum(
        float((d - d.mean())[cluster == g].sum()) ** 2 / (1.0 - size / n) for g, size in enumerate(sizes)
    )
    found = cluster_variance(d, cluster)
    assert found.variance == pytest.approx(total / n**2, rel=1e-9)
    assert found.design_effect >= 1.0
    assert found.items == pytest.approx(n / found.design_effect)
    shuffled = np.random.default_rng(seed + 1).permutation(n)
    again = cluster_variance(d[shuffled], cluster[shuffled])
    assert again.variance == pytest.approx(found.variance, rel=1e-9)


def test_items_of_their_own_are_no_clusters() -> None:
    d = np.random.default_rng(2).normal(size=50)
    found = cluster_variance(d, np.arange(50))
    assert found.variance == pytest.approx(d.var(ddof=1) / 50)
    assert found.df == pytest.approx(49.0)
    assert found.design_effect == pytest.approx(1.0)


def test_no_variance_takes_a_cluster_for_one_item() -> None:
    found = cluster_variance(np.zeros((3, 40)), np.arange(40) // 4)
    assert found.variance.tolist() == [0.0] * 3
    assert found.design_effect.tolist() == [4.0] * 3
    assert found.items.tolist() == [10.0] * 3


def test_many_failures_outweigh_the_one_that_is_added() -> None:
    """Clusters of 5 that fail as one: the design effect tends to 5; items that fail alone: to 1."""
    rng = np.random.default_rng(4)
    cluster = np.arange(5000) // 5
    whole = (rng.random(1000) < 0.5).astype(float)[cluster]
    assert cluster_variance(whole, cluster).design_effect == pytest.approx(5.0, rel=0.01)
    assert cluster_variance((rng.random(5000) < 0.5).astype(float), cluster).design_effect < 1.15


def test_sums_take_any_order() -> None:
    assert sum_clusters(np.array([[1.0, 2.0, 3.0]]), np.array([2, 0, 1])).tolist() == [[2.0, 3.0, 1.0]]


def test_care_only_for_unequal_clusters() -> None:
    assert care_for_clusters(11.0, 12, 6).factor == 1.0
    care = care_for_clusters(5.0, 12, 2)
    assert care.factor == pytest.approx(stats.t.isf(0.025, 5) / stats.t.isf(0.025, 11))
    more = care_for_clusters(5.0, 12, 8)
    # the pooled variance has its degrees of freedom from all pairs, so that less care is needed
    assert 1.0 < more.factor < care.factor
    w = 11 / 31
    kappa = w**2 + (1 - w**2) / 7
    assert (more.df, more.resampled_df) == pytest.approx((5 / kappa, 11 / kappa))
    assert more.single_df == pytest.approx(min(5 / kappa, 5 + 20))
