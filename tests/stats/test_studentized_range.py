"""The studentized range and Dunnett's distribution against high-precision integration, R, scipy and Student's t."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shardwise.core.errors import InputError
from shardwise.stats import dunnett as many_to_one
from shardwise.stats import studentized_range as sr
from shardwise.stats.quadrature import range_sf

GOLD = Path(__file__).parent.parent / "gold"
CASES = pd.read_csv(GOLD / "tukey_mpmath.csv")


@pytest.mark.parametrize(
    "row", list(CASES.itertuples()), ids=lambda row: f"r{row.r}-df{row.df}-sf{row.sf:.0e}"
)
def test_tails_agree_with_thirty_digit_integration(row: pd.Series) -> None:
    # tukey_mpmath.py; its outer integral stops at 8 sd, which leaves some 1e-11
    assert float(sr.sf(row.q, row.r, row.df)) == pytest.approx(row.sf, rel=1e-10)


def test_gold_values_reach_the_far_tail_and_the_largest_families() -> None:
    assert CASES.sf.min() < 1.1e-12
    assert CASES.r.max() == 5000
    assert {1.0, np.inf} <= set(CASES.df)


def test_agrees_with_r() -> None:
    # paired_gold.R; ptukey promises about 1e-6 and is further off below 5 degrees of freedom
    gold = pd.read_csv(GOLD / "tukey_ptukey.csv").query("df >= 5")
    for (r, df), rows in gold.groupby(["r", "df"]):
        np.testing.assert_allclose(sr.sf(rows.q.to_numpy(), int(r), df), rows.sf, atol=2e-6, rtol=3e-6)


def test_agrees_with_scipy() -> None:
    for q, r, df in [(3.0, 3, 10.0), (5.0, 20, 40.0), (8.0, 5, 2.0)]:
        assert float(sr.sf(q, r, df)) == pytest.approx(stats.studentized_range.sf(q, r, df), rel=1e-7)


@pytest.mark.parametrize("df", [1.0, 1.7, 5.0, 48.0, 6272.0, 1e7, np.inf])
def test_two_systems_give_students_t(df: float) -> None:
    t = np.concatenate([np.linspace(0.001, 15, 400), [1e3, 1e6]])
    expected = 2 * stats.t.sf(t, df)
    seen = expected > 1e-200
    table = sr.sf(np.sqrt(2) * t, 2, df)  # many values: through the table
    np.testing.assert_allclose(table[seen], expected[seen], rtol=2e-11)
    one_by_one = np.array([float(sr.sf(np.sqrt(2) * x, 2, df)) for x in t[::40]])  # few values: by quadrature
    np.testing.assert_allclose(one_by_one[seen[::40]], expected[::40][seen[::40]], rtol=2e-11)
    np.testing.assert_allclose(many_to_one.sf(t, 1, df)[seen], expected[seen], rtol=2e-11)


@pytest.mark.parametrize("r", [3, 129, 5000])
@pytest.mark.parametrize("df", [1.0, 2.5, 30.0, 1e5, np.inf])
def test_table_and_quadrature_agree(r: int, df: float) -> None:
    q = np.linspace(0.02, 25, 500)
    direct = sr.ratio_sf(q, np.full(q.shape, df), sr.range_tail(r))
    np.testing.assert_allclose(sr.sf(q, r, df), direct, rtol=1e-11)


@settings(max_examples=50, deadline=None)
@given(
    p=st.floats(1e-12, 0.9999),
    r=st.sampled_from([2, 3, 40, 129, 2000]),
    df=st.floats(1, 1e6) | st.just(float("inf")),
)
def test_quantiles_invert_tails(p: float, r: int, df: float) -> None:
    assert float(sr.sf(sr.isf(p, r, df), r, df)) == pytest.approx(p, rel=1e-9)
    assert float(many_to_one.sf(many_to_one.isf(p, r, df), r, df)) == pytest.approx(p, rel=1e-9)


def test_quantiles_agree_with_printed_tables() -> None:
    # upper 5 % and 1 % points to the two decimals of the usual tables
    assert float(sr.isf(0.05, 3, 10)) == pytest.approx(3.88, abs=6e-3)
    assert float(sr.isf(0.01, 5, 20)) == pytest.approx(5.29, abs=6e-3)
    assert float(sr.sf(3.88, 3, 10)) == pytest.approx(0.05, abs=5e-4)


@settings(max_examples=50, deadline=None)
@given(
    q=st.floats(0, 50),
    more=st.floats(0, 5),
    r=st.sampled_from([2, 5, 129]),
    df=st.sampled_from([1.0, 7.5, 300.0, float("inf")]),
)
def test_tail_falls_with_q_and_grows_with_the_family(q: float, more: float, r: int, df: float) -> None:
    one = float(sr.sf(q, r, df))
    assert 0.0 <= float(sr.sf(q + more, r, df)) <= one * (1 + 1e-10) <= 1 + 1e-9
    assert float(sr.sf(q, r + 1, df)) >= one * (1 - 1e-10)


def test_edges() -> None:
    np.testing.assert_array_equal(sr.sf([0.0, -1.0, np.inf], 4, 9), [1.0, 1.0, 0.0])
    assert np.isnan(sr.sf(np.nan, 4, 9))
    assert float(sr.isf(0.0, 4, 9)) == np.inf
    assert float(sr.isf(1.0, 4, 9)) == 0.0
    assert sr.sf(np.ones((2, 3)), 4, 9).shape == (2, 3)
    assert float(sr.sf(1e150, 129, 1.0)) > 0.0
    assert float(sr.sf(200.0, 129, np.inf)) == 0.0


def test_each_value_may_have_its_own_df() -> None:
    q, df = np.full(100, 4.0), np.repeat([5.0, 8.0, 12.5], [60, 39, 1])
    np.testing.assert_allclose(sr.sf(q, 6, df), [float(sr.sf(4.0, 6, d)) for d in df], rtol=1e-12)


@pytest.mark.parametrize(("r", "df"), [(1, 5.0), (6000, 5.0), (2.5, 5.0), (3, 0.5)])
def test_refuses_what_it_cannot_do(r: int, df: float) -> None:
    with pytest.raises(InputError):
        sr.sf(3.0, r, df)


def test_dunnett_agrees_with_scipys_integral() -> None:
    for t, m, df in [(2.5, 4, 30), (1.0, 3, 10), (3.2, 10, 90)]:
        corr = np.full((m, m), 0.5) + 0.5 * np.eye(m)
        distribution = stats.multivariate_t(shape=corr, df=df, seed=1)
        inside = distribution.cdf(np.full(m, t), lower_limit=np.full(m, -t), maxpts=200_000)
        assert float(many_to_one.sf(t, m, df)) == pytest.approx(1 - inside, abs=2e-4)


def test_dunnett_with_unequal_variances_agrees_with_scipys_integral() -> None:
    for own in ([1.0, 0.05, 3.0, 0.4], [0.02, 1.0, 2.0], [5.0, 1.0, 1.0, 2.0, 0.1]):
        v = np.array(own)
        loadings = many_to_one.fit_loadings(np.add.outer(v, v), np.arange(1, v.size), 0)
        assert loadings is not None
        if v.size > 3:
            np.testing.assert_allclose(loadings, np.sqrt(v[0] / (v[0] + v[1:])), rtol=1e-5)
        corr = np.outer(loadings, loadings)
        np.fill_diagonal(corr, 1.0)
        distribution = stats.multivariate_t(shape=corr, df=9, seed=1)
        inside = distribution.cdf(
            np.full(v.size - 1, 2.2), lower_limit=np.full(v.size - 1, -2.2), maxpts=100_000
        )
        p = many_to_one.sf_unequal(np.array([2.2]), np.array([9.0]), loadings)
        assert float(p[0]) == pytest.approx(1 - inside, abs=2e-4)
        critical = many_to_one.isf_unequal(float(p[0]), np.array([9.0]), loadings)
        assert float(critical[0]) == pytest.approx(2.2, rel=1e-9)


def test_dunnett_with_equal_loadings_keeps_small_tails() -> None:
    t, df = np.array([0.3, 2.0, 5.0, 9.0, 20.0]), np.array([1e15])
    ours = many_to_one.sf_unequal(t, df, np.full(4, 0.5**0.5))
    np.testing.assert_allclose(ours, many_to_one.sf(t, 4, df), rtol=1e-11)


def test_what_was_asked_before_changes_no_digit() -> None:
    """Threads fill one table in an order that nobody knows."""
    q = np.linspace(0.1, 9.0, 60)
    tail = sr.tabulate_tail(range_sf, 7)
    together = sr.Studentized.of(tail, 33.0)
    one_by_one = sr.Studentized.of(tail, 33.0)
    for some in np.split(q[::-1], [1, 3, 10, 31]):
        one_by_one.sf(some)
    np.testing.assert_array_equal(together.sf(q), one_by_one.sf(q))
