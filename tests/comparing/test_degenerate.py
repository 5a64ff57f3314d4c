"""Pairs that hardly anything is known of: few common items, differences that do not vary, tables with gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from shardwise.methods.moderated.method import resample_topics
from shardwise.methods.moderated.statistics import FEWEST_COMMON, moderated_statistics, pairs_of
from shardwise.stats.resampling import key_of, topic_counts
from shardwise.writing.tables import show_table, tabulate_baselines

NAN = np.nan


@pytest.mark.parametrize("last", [0.6, 0.3])
def test_pairs_of_one_common_item_are_refused(last: float) -> None:
    """All three pairs were significant; with another last cell every system was beaten, and nothing was the best."""
    table = pd.DataFrame({"a": [0.1, NAN, 0.4], "b": [0.2, 0.3, NAN], "c": [NAN, 0.5, last]})
    with pytest.raises(sw.InputError, match="shares enough topics") as refusal:
        sw.compare(table)
    assert "\n" not in str(refusal.value)


def test_pairs_with_few_common_items_are_named_and_tied() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=(14, 1)) + 0.1 * rng.normal(size=(14, 3)) + [0.0, 0.0, 3.0]
    y[8:, 0], y[:7, 2] = NAN, NAN
    pairs = sw.compare(pd.DataFrame(y, columns=list("abc")))
    row = pairs.to_frame().set_index(["a", "b"]).loc[("c", "a")]
    assert row[["p", "p_adjusted", "lower", "upper"]].isna().all()
    assert np.isfinite(row["difference"])
    assert pairs.directions().tolist().count(0) == 2
    assert any("c and a (1 common topic)" in note for note in pairs.notes)
    assert {"a", "c"} == set(pairs.best())
    assert np.isfinite(sw.compare(pd.DataFrame(y, columns=list("abc")), "moderated bh").q).sum() == 2


@pytest.mark.parametrize("method", ["moderated", "t holm", "MD1 hsd topic", "bootstrap holm"])
def test_two_items_are_not_significant(method: str) -> None:
    """One system right on both of two items had p at most 0.0001."""
    pairs = sw.compare(pd.DataFrame({"a": [1.0, 1.0], "b": [0.0, 0.0]}), method)
    assert pairs.p[0] >= 0.5
    assert pairs.p_adjusted[0] >= 0.5
    assert not pairs.reject()[0]
    row = pairs.to_frame().iloc[0]
    assert np.isnan(row["lower"]) or row["lower"] <= 0.0 < row["upper"]


def test_four_items_in_two_tasks_are_not_significant() -> None:
    scores = xr.DataArray(
        np.array([[1.0, 0.0]] * 4),
        dims=("topic", "system"),
        coords={"system": ["a", "b"], "task": ("topic", ["x", "x", "y", "y"])},
    )
    assert sw.compare(scores).p_adjusted[0] >= 0.125


@pytest.mark.parametrize("method", ["moderated", "t holm", "max-t", "MD1 hsd topic"])
def test_differences_that_do_not_vary_have_no_interval_without_a_range(method: str) -> None:
    base = np.random.default_rng(1).lognormal(2.0, 1.0, 12)
    table = pd.DataFrame({"a": base + 1.0, "b": base, "c": base})
    pairs = sw.compare(sw.as_scores(table).declare(name="seconds"), method)
    assert np.isnan(np.stack(pairs.limits())).all()
    assert (pairs.p_adjusted[pairs.difference != 0.0] >= 2.0**-11).all()
    assert (pairs.p_adjusted[pairs.difference == 0.0] == 1.0).all()
    shares = sw.compare(table.rank() / 12.0, method)
    lower, upper = shares.limits()
    assert (upper > lower).all()


def test_a_constant_system_without_a_range_has_no_interval_of_its_mean() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": np.full(12, 3.5), "b": rng.lognormal(1.0, 0.5, 12)})
    found = sw.compare(sw.as_scores(table).declare(name="seconds")).intervals()
    assert found.loc["a", ["lower", "upper"]].isna().all()
    assert found.loc["b", "upper"] > found.loc["b", "lower"]


def test_intervals_and_the_step_down_test_agree() -> None:
    """Of tables of six systems, 21 to 23 in 100 had a significant pair beside an interval that held 0."""
    stopped = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(20, 1)) + rng.normal(size=(20, 6)) + np.linspace(0.0, 1.5, 6)
        pairs = sw.compare(pd.DataFrame(y, columns=list("abcdef")), n_resamples=499)
        lower, upper = pairs.limits()
        significant = pairs.reject()
        assert not (significant & (lower < 0.0) & (upper > 0.0)).any()
        assert not (~significant & ((lower > 0.0) | (upper < 0.0))).any()
        stopped += int((significant & (lower == 0.0)).sum())
    assert stopped > 0


def test_open_ends_are_printed_as_such() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(20, 1)) + rng.normal(size=(20, 6)) + np.linspace(0.0, 1.5, 6)
        table = pd.DataFrame(y, columns=list("abcdef"))
        pairs = sw.compare(table, n_resamples=499, baseline="a")
        frame = pairs.to_frame()
        if ((frame["lower"] == 0.0) & pairs.reject()).any():
            shown = show_table(tabulate_baselines(pairs, ["a"], 0.05), 0.05, 3)
            assert any(text.startswith(">0 to") for text in shown["95% CI"])
            assert not any(text.startswith("0.000") for text in shown["95% CI"])
            return
    pytest.fail("no open end in 40 tables")


def gapped(rng: np.random.Generator, topics: int = 24, systems: int = 4) -> np.ndarray:
    y = rng.normal(size=(topics, 1)) + rng.normal(size=(topics, systems)) * [1.0, 0.5, 1.0, 2.0][:systems]
    return np.where(rng.random(y.shape) < 0.3, NAN, y)


def test_the_rule_for_gaps_by_its_formula() -> None:
    """Each pair centred on its own topics, s̄² the plain mean, topics drawn with their gaps, t* = 0 below two."""
    y = gapped(np.random.default_rng(8))
    ia, ib = pairs_of(4)
    statistics = moderated_statistics(y)
    d = y[:, ia] - y[:, ib]
    n = np.isfinite(d).sum(axis=0)
    assert (n >= FEWEST_COMMON).all()
    own = np.nanvar(d, axis=0, ddof=1)
    v = ((n - 1.0) * own + 20.0 * own.mean()) / (n + 19.0)
    t = np.nanmean(d, axis=0) / np.sqrt(v / n)
    np.testing.assert_allclose(statistics.t, t, rtol=1e-12)
    present = np.isfinite(y)
    rows, columns = present.any(axis=1).sum(), 4
    free = present.sum() - rows - columns + 1
    np.testing.assert_allclose(statistics.df, n - 1.0 + np.minimum(20.0, free - n + 1.0))
    # the same draws by hand
    draws = 299
    known = y[present.any(axis=1)]
    weights = topic_counts(len(known), key_of(5), 0, draws).astype(float)
    centred = known[:, ia] - known[:, ib]
    centred = centred - np.nanmean(centred, axis=0)
    there, filled = np.isfinite(centred).astype(float), np.nan_to_num(centred)
    m = weights @ there
    means = (weights @ filled) / np.maximum(m, 1.0)
    variances = ((weights @ filled**2) - m * means**2) / np.maximum(m - 1.0, 1.0)
    enough = m >= 2
    pooled = np.where(enough, variances, 0.0).sum(axis=1) / np.maximum(enough.sum(axis=1), 1)
    moderated = ((m - 1.0) * variances + 20.0 * pooled[:, None]) / (m + 19.0)
    drawn = np.where(enough, np.abs(means) / np.sqrt(moderated / np.maximum(m, 1.0)), 0.0)
    order = np.argsort(-np.abs(t), kind="stable")
    expected = np.empty(len(t))
    for j, k in enumerate(order):
        expected[k] = (1 + (drawn[:, order[j:]].max(axis=1) >= np.abs(t[k])).sum()) / (draws + 1)
    expected[order] = np.maximum.accumulate(expected[order])
    found = resample_topics(y, ia, ib, statistics, key_of(5), draws)
    np.testing.assert_allclose(found.p_adjusted, expected, atol=1e-12)


def test_with_gaps_no_corrected_p_is_below_that_of_the_pair() -> None:
    for seed in range(10):
        y = gapped(np.random.default_rng(seed), 12)
        try:
            pairs = sw.compare(pd.DataFrame(y, columns=list("abcd")), n_resamples=199)
        except sw.InputError:
            continue
        tested = np.isfinite(pairs.p_adjusted)
        single = pairs.pairs.p[0]
        assert (pairs.p_adjusted[tested] >= single[tested] - 1e-12).all()
        assert (pairs.common_items[tested] >= FEWEST_COMMON).all()


def test_two_systems_need_two_common_items() -> None:
    """Rows that one of two systems lacks count as little as rows that are not there."""
    y = np.array([[0.1, 0.3], [0.2, 0.3], [0.4, 0.7], [NAN, 0.5]])
    some, whole = (sw.compare(pd.DataFrame(table, columns=["a", "b"])) for table in (y, y[:3]))
    assert some.statistic == pytest.approx(whole.statistic)
    assert np.isfinite(some.p_adjusted).all()
    with pytest.raises(sw.InputError, match="shares enough topics"):
        sw.compare(pd.DataFrame([[0.1, 0.2], [NAN, 0.3], [0.4, NAN]], columns=["a", "b"]))
