"""Clusters and tasks: means, variances and degrees of freedom against statsmodels and textbook formulas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

from shardwise.methods.names import parse_procedure
from shardwise.methods.paired import statistics as paired
from shardwise.methods.tables import TABLE, Tables
from shardwise.stats.units import unit_df, unit_scores

GOLD = Path(__file__).parent.parent / "gold"
NONE = np.zeros(120, dtype=int)


def errors(units: np.ndarray) -> np.ndarray:
    """Standard errors of the three differences over the rows of a table of units."""
    return paired.pair_moments(units[None], np.array([0, 0, 1]), np.array([1, 2, 2]))[1][0]


@pytest.fixture(scope="module")
def items() -> pd.DataFrame:
    return pd.read_csv(GOLD / "factors_items.csv")


def test_clusters_of_one_size_have_the_standard_errors_of_statsmodels(items: pd.DataFrame) -> None:
    """CR1 of statsmodels (factors_python.py): both are sums of 120 terms, so they agree to rounding."""
    gold = pd.read_csv(GOLD / "factors_clusters.csv").query("clusters == 'equal'")
    units = unit_scores(items[["a", "b", "c"]].to_numpy(float), np.arange(120) // 6, NONE)
    assert errors(units) == pytest.approx(gold["se"].to_numpy(), rel=1e-12)
    assert unit_df(np.arange(120) // 6, NONE) == pytest.approx(19.0)


def test_clusters_of_unequal_sizes_are_near_bell_and_mccaffrey(items: pd.DataFrame) -> None:
    """CR2 by its definition, e_g'(I - H_gg)^(-1/2); centring again takes away less than a thousandth."""
    passage = items["passage"].to_numpy()
    units = unit_scores(items[["a", "b", "c"]].to_numpy(float), passage, NONE)
    hat = np.full((120, 120), 1 / 120)
    for k, (a, b) in enumerate((("a", "b"), ("a", "c"), ("b", "c"))):
        d = (items[a] - items[b]).to_numpy(float)
        total = 0.0
        for g in range(20):
            own = passage == g
            root = linalg.fractional_matrix_power((np.eye(120) - hat)[np.ix_(own, own)], -0.5)
            total += float((root @ (d - d.mean())[own]).sum()) ** 2
        assert errors(units)[k] == pytest.approx(np.sqrt(total) / 120, rel=1e-3)
    gold = pd.read_csv(GOLD / "factors_clusters.csv").query("clusters == 'unequal'")["se"].to_numpy()
    assert np.all((errors(units) > gold) & (errors(units) < 1.05 * gold))  # CR1 is a little small here


def test_degrees_of_freedom_by_matrices(items: pd.DataFrame) -> None:
    passage = items["passage"].to_numpy()
    sizes = np.bincount(passage)
    residual = np.eye(20) - np.outer(sizes, np.ones(20)) / 120
    adjust = np.diag(1 / np.sqrt(1 - sizes / 120))
    m = adjust @ residual @ np.diag(sizes) @ residual.T @ adjust
    assert unit_df(passage, NONE) == pytest.approx(np.trace(m) ** 2 / (m**2).sum(), rel=1e-12)


@given(st.lists(st.integers(2, 9), min_size=1, max_size=6), st.integers(0, 99))
def test_tasks_count_alike(sizes: list[int], seed: int) -> None:
    """The macro mean, and the variance of independent samples: Σ s²_k/n_k / K²."""
    task = np.repeat(np.arange(len(sizes)), sizes)
    y = np.random.default_rng(seed).normal(size=(3, task.size, 3))
    units = unit_scores(y, np.arange(task.size), task)
    macro = np.mean([y[:, task == k].mean(axis=1) for k in range(len(sizes))], axis=0)
    assert units.mean(axis=1) == pytest.approx(macro)
    d, gap = units[:, :, 0] - units[:, :, 1], y[:, :, 0] - y[:, :, 1]
    textbook = sum(gap[:, task == k].var(axis=1, ddof=1) / n for k, n in enumerate(sizes)) / len(sizes) ** 2
    assert d.var(axis=1, ddof=1) / task.size == pytest.approx(textbook)
    assert unit_df(np.arange(task.size), task) <= task.size - len(sizes) + 1e-9


@given(st.lists(st.integers(1, 5), min_size=2, max_size=8), st.integers(0, 99))
def test_means_stay_and_order_is_nothing(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.normal(size=(cluster.size, 2))
    none = np.zeros(cluster.size, dtype=int)
    units = unit_scores(y, cluster, none)
    assert units.mean(axis=0) == pytest.approx(y.mean(axis=0))
    order = rng.permutation(cluster.size)
    assert unit_scores(y[order], cluster[order], none) == pytest.approx(units)


@pytest.mark.calibration
@pytest.mark.parametrize("sizes", [[50] * 6, [5, 10, 20, 40, 60, 80, 120, 200]], ids=["equal", "unequal"])
def test_tasks_keep_the_level(sizes: list[int], repetitions: float) -> None:
    """The macro mean of these tasks, three equal systems: t with the pooled df, 5 % family-wise at most."""
    n = int(1000 * repetitions)
    task = np.repeat(np.arange(len(sizes)), sizes)
    y = np.random.default_rng(4).normal(size=(n, task.size, 3))
    df = unit_df(np.arange(task.size), task)
    tables = Tables(unit_scores(y, np.arange(task.size), task), TABLE, unit_df=df)
    found = (parse_procedure("t holm").decide(tables).p_adjusted <= 0.05).any(axis=1).mean()
    assert 0.02 < found < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / n)


UNEQUAL = [1] * 10 + [5] * 20 + [20] * 5


@pytest.mark.calibration
@pytest.mark.parametrize("sizes", [[5] * 40, [10] * 20, UNEQUAL], ids=["fives", "tens", "unequal"])
@pytest.mark.parametrize("method", ["moderated", "t holm"])
def test_clusters_keep_the_level(sizes: list[int], method: str, repetitions: float) -> None:
    """Items of a cluster correlate by .4: three systems, 5 % family-wise; ignoring clusters errs in over 15 %."""
    n = int(1000 * repetitions)
    code = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(1)
    y = 0.4**0.5 * rng.normal(size=(n, len(sizes), 3))[:, code] + 0.6**0.5 * rng.normal(
        size=(n, code.size, 3)
    )
    none = np.zeros(code.size, dtype=int)
    units = Tables(unit_scores(y, code, none), TABLE, n_resamples=239, unit_df=unit_df(code, none))
    found = (parse_procedure(method).decide(units).p_adjusted <= 0.05).any(axis=1).mean()
    error = 3.5 * np.sqrt(0.05 * 0.95 / n)
    # the linearised draws of very unequal clusters cost about one point (docs/methods.md)
    most = 0.06 if sizes is UNEQUAL else 0.05
    assert (0.025 if method == "t holm" else 0.05 - error) < found < most + error
    ignored = (parse_procedure("t holm").decide(Tables(y, TABLE)).p_adjusted <= 0.05).any(axis=1).mean()
    assert ignored > 0.15
