"""Items behind the means: equal to what plain pandas says of the same files, whatever the layout."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import shardwise as sw
from command_line import shardwise
from shardwise.analysis.items import list_items, make_item_matrix, mark_outliers
from shardwise.core.errors import InputError


def wide_means(path: Path) -> pd.DataFrame:
    """Items × systems by pandas alone, of a file with one row a score or one column a system."""
    frame = pd.read_csv(path)
    if len(frame.columns) > 10:
        # One column a system, topics by position, from 1 on.
        return frame.set_axis(frame.index + 1)
    item, system, *_, score = frame.columns
    return frame.astype({score: float}).groupby([item, system])[score].mean().unstack()


def check(wide: pd.DataFrame, scores: xr.DataArray) -> None:
    """Compare all figures of the best two systems with those of pandas."""
    wide.index, wide.columns = wide.index.astype(str), wide.columns.astype(str)
    systems = tuple(wide.mean().sort_values(ascending=False).index)
    items = list_items(scores, *systems[:2])
    table = items.table.set_index("item")
    expected = (wide[items.a] - wide[items.b]).reindex(table.index)
    pd.testing.assert_series_equal(table["difference"], expected, check_names=False)
    assert items.difference == pytest.approx(expected.mean())
    assert items.counts == {
        "win": int((expected > 1e-12).sum()),
        "tie": int((expected.abs() <= 1e-12).sum()),
        "loss": int((expected < -1e-12).sum()),
        "missing": int(expected.isna().sum()),
    }
    assert list(items.regressions["difference"]) == pytest.approx(sorted(expected[expected < -1e-12]))
    assert set(items.regressions["item"]) == set(expected.index[expected < -1e-12])
    assert list(items.fixes["difference"]) == pytest.approx(sorted(expected[expected > 1e-12], reverse=True))
    signed = np.sign(items.difference) * expected.dropna()
    running = signed.sort_values(ascending=False).cumsum()
    needed = int((running < 0.5 * signed.sum() * (1 - 1e-9)).sum()) + 1
    assert len(items.carriers) == needed
    assert items.table["contribution"].sum() == pytest.approx(items.difference)
    if wide.min(axis=None) >= 0 and wide.max(axis=None) <= 1:
        assert sorted(items.all_fail["item"]) == sorted(wide.index[(wide == 0).all(axis=1)])
        assert sorted(items.all_solve["item"]) == sorted(wide.index[(wide == 1).all(axis=1)])
    matrix = make_item_matrix(scores, systems)
    by_difficulty = wide.mean(axis=1).reindex(matrix.scores.index)
    assert (by_difficulty.diff().dropna() >= -1e-12).all()
    pd.testing.assert_frame_equal(
        matrix.scores, wide.reindex(matrix.scores.index)[list(matrix.systems)], check_names=False
    )


def test_trec3_equals_pandas(trec3: Path) -> None:
    check(wide_means(trec3), sw.as_scores(trec3))


@pytest.mark.parametrize("name", ["llm/tables/llm1.csv", "llm/tables/bool.csv", "trec8/adhoc8_p10.csv"])
def test_real_tables_equal_pandas(data: Path, name: str) -> None:
    path = data / name
    check(wide_means(path), sw.as_scores(path))


def test_logs_with_repeats_in_clusters_equal_pandas(data: Path) -> None:
    path = data / "doors" / "promptfoo" / "repeats.json"
    results = json.loads(path.read_text())["results"]["results"]
    frame = pd.DataFrame(
        [
            {"item": json.dumps(row["vars"]), "model": row["provider"]["label"], "score": row["score"]}
            for row in results
        ]
    )
    by_hand = frame.groupby(["item", "model"])["score"].mean().unstack()
    analysis = sw.analyze(sw.read_scores(path), measure="score", n_resamples=99)
    a, b = analysis.systems[:2]
    items = analysis.items(a, b)
    expected = by_hand[a] - by_hand[b]
    assert len(items) == len(expected)
    assert sorted(items.table["difference"]) == pytest.approx(sorted(expected))
    # Three passages are the units of the test, and still every item is listed with its passage.
    assert analysis.topics == 3
    assert items.table["cluster"].nunique() == 3
    assert items.table["se"].notna().all()


def test_splits_and_shards_are_averaged_where_they_are_defined() -> None:
    rng = np.random.default_rng(5)
    y = xr.DataArray(rng.random((2, 12, 3, 4)), dims=("split", "topic", "system", "shard"), name="AP")
    y = y.where(~((y["topic"] == 3) & (y["shard"] == 1)))
    items = sw.analyze(y, fill="leave", method="moderated", n_resamples=99).items("0", "1")
    means = y.mean(["split", "shard"]).to_numpy()
    expected = dict(zip(map(str, range(12)), means[:, 0] - means[:, 1], strict=True))
    assert dict(zip(items.table["item"], items.table["difference"], strict=True)) == pytest.approx(expected)


def test_contributions_add_up_to_the_difference_of_task_means() -> None:
    rng = np.random.default_rng(2)
    y = xr.DataArray(rng.random((30, 2)), dims=("topic", "system"), coords={"system": ["x", "y"]})
    y = y.assign_coords(task=("topic", ["few"] * 6 + ["many"] * 24))
    analysis = sw.analyze(y, n_resamples=99)
    items = analysis.items("x", "y")
    assert items.difference == pytest.approx(
        (y.sel(system="x") - y.sel(system="y")).groupby("task").mean().mean().item()
    )
    assert abs(items.difference) == pytest.approx(abs(analysis.comparisons.to_frame()["difference"][0]))


def test_gaps_are_missing_and_count_nowhere() -> None:
    y = xr.DataArray(
        [[1.0, 0.0, 1.0], [np.nan, 1.0, 0.0], [0.0, 0.0, 0.0], [0.25, 0.5, np.nan]],
        dims=("topic", "system"),
        coords={"topic": list("pqrs"), "system": list("abc")},
    )
    items = list_items(sw.as_scores(y), "a", "b")
    assert items.counts == {"win": 1, "tie": 1, "loss": 1, "missing": 1}
    assert items.difference == pytest.approx((1.0 + 0.0 - 0.25) / 3)
    assert list(items.table["item"])[-1] == "q"
    matrix = make_item_matrix(sw.as_scores(y), ("a", "b", "c"))
    assert list(matrix.table["systems"]) == [3, 2, 2, 3]


def test_small_scores_can_be_good() -> None:
    y = xr.DataArray(
        [[3.0, 5.0], [4.0, 4.0], [9.0, 2.0]],
        dims=("topic", "system"),
        coords={"topic": list("pqr"), "system": ["new", "old"]},
        attrs={"lower_is_better": True},
    )
    items = list_items(sw.as_scores(y), "new", "old")
    assert (list(items.fixes["item"]), list(items.regressions["item"])) == (["p"], ["r"])
    assert list(make_item_matrix(sw.as_scores(y), ("new", "old")).scores.index) == ["r", "p", "q"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda pair: tuple(round(x, 3) for x in pair)),
        min_size=2,
        max_size=30,
    )
)
def test_the_two_systems_mirror_each_other(rows: list[tuple[float, float]]) -> None:
    y = xr.DataArray(np.array(rows), dims=("topic", "system"), coords={"system": ["x", "y"]})
    one, other = list_items(sw.as_scores(y), "x", "y"), list_items(sw.as_scores(y), "y", "x")
    assert one.counts["win"] == other.counts["loss"]
    assert one.difference == pytest.approx(-other.difference, abs=1e-15)
    assert set(one.outliers["item"]) == set(other.outliers["item"])
    assert len(one.carriers) == len(other.carriers)
    # Fewer items than those that carry half do not carry it.
    fewer = one.carriers["contribution"].abs()[:-1].sum()
    assert fewer <= abs(one.difference) / 2 + 1e-12


def test_outliers_follow_the_published_rule() -> None:
    """Iglewicz & Hoaglin's rule, by the median absolute deviation of scipy."""
    from scipy.stats import median_abs_deviation

    values = np.random.default_rng(3).standard_t(2, 400)
    z = np.abs(values - np.median(values)) / median_abs_deviation(values, scale="normal")
    # 0.6745 is the rounded quantile 0.67449 of their rule.
    assert (mark_outliers(values) == (z * 0.6745 / 0.674489750196082 > 3.5)).all()
    assert mark_outliers(values).any()


def test_right_and_wrong_answers_have_no_outliers() -> None:
    y = np.zeros((50, 2))
    y[:3, 0] = 1.0
    assert len(list_items(sw.as_scores(y), "0", "1").outliers) == 0


def test_unknown_systems_are_refused() -> None:
    y = xr.DataArray(np.eye(3), dims=("topic", "system"))
    with pytest.raises(InputError, match="unknown system 'x'; choose one of 0, 1, 2"):
        list_items(sw.as_scores(y), "x", "1")
    with pytest.raises(InputError, match="named twice"):
        list_items(sw.as_scores(y), "1", "1")


def test_the_command_writes_every_item(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.integers(0, 2, (40, 3)), columns=["a", "b, c", "d"])
    frame.insert(0, "question", [f"q{k}" for k in range(40)])
    frame.to_csv(tmp_path / "scores.csv", index=False)
    out = tmp_path / "items.csv"
    done = shardwise(
        "compare", str(tmp_path / "scores.csv"), "--table", "items:a,b, c", "--out", str(out), "-q"
    )
    assert done.returncode == 0, done.stderr
    written = pd.read_csv(out)
    by_hand = (frame["a"] - frame["b, c"]).set_axis(frame["question"])
    assert written.set_index("item")["difference"].to_dict() == by_hand.to_dict()
    text = shardwise("compare", str(tmp_path / "scores.csv"), "--table", "items").stdout
    assert "40 questions × 3 systems, hardest question first." in text
    refused = shardwise("compare", str(tmp_path / "scores.csv"), "--table", "items:a;b")
    assert refused.returncode == 2
    assert "--table items:a;b does not name two of the systems" in refused.stderr
