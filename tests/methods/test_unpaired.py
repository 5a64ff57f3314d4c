"""Systems that met different items: equal to scipy, statsmodels and R, recognised in tables, and said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bench.unpaired import CASES, draw_table, measure_alarms
from scipy import stats

import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.core.scores import as_scores
from shardwise.methods.unpaired.method import adjust_for_covariate, adjust_scores, group_means, welch_df

GOLD = Path(__file__).parent.parent / "gold"


def groups(seed: int = 0, case: str = "small group varies most") -> xr.DataArray:
    y, _ = draw_table(np.random.default_rng(seed), "normal", *CASES[case], "plain")
    return xr.DataArray(y, dims=("user", "variant"), coords={"variant": list("abcdef")[: y.shape[1]]})


def columns(table: xr.DataArray) -> list[np.ndarray]:
    return [column[np.isfinite(column)] for column in table.to_numpy().T]


def test_two_variants_equal_scipy() -> None:
    table = groups(1, "two variants").rename(user="topic", variant="system")
    a, b = columns(table)
    for name in ("games-howell", "welch none"):
        row = sw.compare(table, method=name).to_frame().iloc[0]
        first, second = (a, b) if row["a"] == "a" else (b, a)
        expected = stats.ttest_ind(first, second, equal_var=False)
        interval = expected.confidence_interval(0.95)
        assert row["statistic"] == pytest.approx(expected.statistic)
        assert row["df"] == pytest.approx(expected.df)
        assert row["p_adjusted"] == pytest.approx(expected.pvalue, rel=1e-6)
        assert (row["lower"], row["upper"]) == pytest.approx((interval.low, interval.high), rel=1e-6)


def test_all_pairs_equal_the_games_howell_test_of_scipy() -> None:
    table = groups(2).rename(user="topic", variant="system")
    expected = stats.tukey_hsd(*columns(table), equal_var=False)
    limits = expected.confidence_interval(0.95)
    frame = sw.compare(table, method="games-howell").to_frame()
    for _, row in frame.iterrows():
        i, j = "abc".index(row["a"]), "abc".index(row["b"])
        assert row["p_adjusted"] == pytest.approx(expected.pvalue[i, j], abs=1e-6)
        assert row["lower"] == pytest.approx(limits.low[i, j], abs=1e-5)
        assert row["upper"] == pytest.approx(limits.high[i, j], abs=1e-5)


def test_clusters_by_user_equal_sandwich() -> None:
    """CR2 variances of R's sandwich, from the very table that the command reads."""
    frame = pd.read_csv(GOLD / "unpaired_sessions.csv")
    gold = pd.read_csv(GOLD / "unpaired_sandwich.csv").set_index("variant")
    analysis = sw.analyze(frame)
    means = analysis.comparisons.estimates
    for k, name in enumerate(means.labels):
        assert means.values[k] == pytest.approx(gold["mean"][name], abs=1e-9)
        assert means.mean_se[k] ** 2 == pytest.approx(gold["variance"][name], rel=1e-9)
    assert analysis.comparisons.claim == f"new sessions like these {len(frame)} of users like these 40"


def test_a_covariate_gives_the_coefficient_of_an_analysis_of_covariance() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    variant = rng.integers(0, 2, 120)
    before = rng.normal(size=120)
    score = before + rng.normal(size=120) + 0.3 * variant
    y = np.full((120, 2), np.nan)
    y[np.arange(120), variant] = score
    adjusted, share = adjust_for_covariate(y, before)
    design = sm.add_constant(np.column_stack([variant, before]))
    coefficient = sm.OLS(score, design).fit().params[1]
    difference = np.nanmean(adjusted[:, 1]) - np.nanmean(adjusted[:, 0])
    assert difference == pytest.approx(coefficient)
    plain, better = group_means(y), group_means(adjusted)
    assert (better.variance < plain.variance).all()
    assert 0.3 < share < 0.7


def test_the_smallest_groups_that_have_a_variance() -> None:
    few = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 2.0]])
    with pytest.raises(InputError, match="fewer than two scores"):
        group_means(few)
    y = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 2.0], [np.nan, 4.0]])
    assert group_means(y, np.array([0, 1, 0, 1])).df.tolist() == pytest.approx([1.0, 1.0])
    with pytest.raises(InputError, match="one cluster only"):
        group_means(y, np.array([0, 1, 0, 0]))


def test_degrees_of_freedom_without_variance_are_the_smaller_ones() -> None:
    ia, ib = np.array([0, 0]), np.array([1, 2])
    df = welch_df(np.array([0.0, 0.0, 1e-3]), np.array([9.0, 4.0, 7.0]), ia, ib)
    assert df.tolist() == pytest.approx([4.0, 7.0])


def test_a_covariate_of_constant_scores_explains_nothing() -> None:
    y = np.array([[1.0, np.nan], [1.0, np.nan], [np.nan, 2.0], [np.nan, 2.0]])
    adjusted, share = adjust_for_covariate(y, np.array([1.0, 2.0, 1.0, 3.0]))
    assert share == 0.0
    np.testing.assert_array_equal(adjusted, y)
    with pytest.raises(InputError, match="the covariate is the same for all items"):
        adjust_for_covariate(y, np.ones(4))


def write_users(path: Path, **others: np.ndarray) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "user": [f"u{k}" for k in range(60)],
            "variant": np.where(np.arange(60) % 2, "new", "old"),
            "revenue": rng.normal(10, 2, 60),
            **others,
        }
    )
    frame.to_csv(path, index=False)
    return frame


def test_users_of_one_variant_each_are_recognised_and_said(tmp_path: Path) -> None:
    frame = write_users(tmp_path / "ab.csv")
    done = shardwise("compare", str(tmp_path / "ab.csv"), "-f", "json")
    assert done.returncode == 0, done.stderr
    assert "Welch's unpaired t-test" in done.stdout
    assert "unpaired: each user met one variant" in done.stdout
    assert "missing" not in done.stdout
    assert "users detect a difference of" in done.stdout
    new, old = (frame.loc[frame["variant"] == name, "revenue"] for name in ("new", "old"))
    p = stats.ttest_ind(new, old, equal_var=False).pvalue
    assert f'"p_adjusted": {p:.6f}'[:22] in done.stdout
    text = shardwise("compare", str(tmp_path / "ab.csv"), "--method", "moderated")
    assert text.returncode == 2
    assert "no user has scores of two variants, and moderated compares them on the same users" in text.stderr
    assert "--method games-howell" in text.stderr
    for command in ("leaderboard", "gate"):
        words = ("--baseline", "old", "--new", "new") if command == "gate" else ()
        other = shardwise(command, str(tmp_path / "ab.csv"), *words)
        assert other.returncode in (0, 3), other.stderr


def test_a_column_from_before_makes_intervals_shorter(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frame = write_users(tmp_path / "plain.csv")
    write_users(tmp_path / "ab.csv", before=frame["revenue"].to_numpy() + rng.normal(0, 1, 60))

    def width(*words: str) -> float:
        done = shardwise("compare", str(tmp_path / "ab.csv"), "-m", "revenue", *words, "-f", "csv", "-q")
        assert done.returncode == 0, done.stderr
        row = dict(zip(*(line.split(",") for line in done.stdout.splitlines()[:2]), strict=True))
        return float(row["upper"]) - float(row["lower"])

    assert width("--columns", "pre=before") < 0.7 * width()
    refused = shardwise("compare", str(tmp_path / "ab.csv"), "--columns", "pre=before")
    assert refused.returncode == 2
    assert (
        "--columns pre=before needs the name of the scores, and no random factors; name their column: -m revenue"
        in refused.stderr
    )


def test_items_that_are_not_people_are_refused_unless_the_caller_is_sure(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    rows = "".join(f"q{k},{'ab'[k % 2]},{k % 3 % 2}\n" for k in range(30))
    path.write_text(f"question,model,score\n{rows}")
    refused = shardwise("compare", str(path))
    assert refused.returncode == 2
    assert "no question has scores of two models; name the same questions alike" in refused.stderr
    sure = shardwise("compare", str(path), "--columns", "item=question,system=model")
    assert sure.returncode == 0, sure.stderr
    assert "unpaired: each question met one model" in sure.stdout


def test_paired_scores_with_gaps_stay_paired() -> None:
    y = xr.DataArray(np.random.default_rng(6).random((10, 2)), dims=("topic", "system"))
    gaps = y.where(~((y["topic"] == 3) & (y["system"] == 1)))
    assert not as_scores(gaps).unpaired
    assert int(as_scores(gaps).find_missing().sum()) == 1
    assert as_scores(groups().rename(user="topic", variant="system")).unpaired
    with pytest.raises(InputError, match="paired, and need no covariate"):
        adjust_scores(y, y)


@pytest.mark.calibration
@pytest.mark.parametrize("how", ["plain", "clusters"])
def test_equal_variants_are_seldom_different(how: str) -> None:
    """300 tables of bench/unpaired.py: 5% plus three standard errors at most."""
    (rate,) = measure_alarms("normal", "small group varies most", how, 300, 0, ("games-howell",))
    assert rate <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_cuped_is_the_same_in_python_and_on_the_command_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    taste = rng.gamma(4.0, size=200)
    users = pd.DataFrame({"user": [f"u{k}" for k in range(200)], "variant": rng.choice(["A", "B"], 200)})
    users["revenue"] = (taste * rng.gamma(9.0, size=200)).round(3)
    users["before"] = (taste * rng.gamma(9.0, size=200)).round(3)
    users.to_csv(tmp_path / "users.csv", index=False)
    found = sw.analyze(users, measure="revenue", columns={"pre": "before"})
    plain = sw.analyze(users, measure="revenue")
    row, whole = (each.comparisons.to_frame().iloc[0] for each in (found, plain))
    assert row["se"] < 0.9 * whole["se"]
    assert any(note.startswith("CUPED: before explains") for note in found.notes)
    words = (
        "compare",
        tmp_path / "users.csv",
        "-m",
        "revenue",
        "--columns",
        "pre=before",
        "--format",
        "json",
    )
    told = json.loads(shardwise(*words).stdout)
    assert told["rows"][0]["difference"] == pytest.approx(row["difference"])
    lift = found.measure_lift()
    assert lift is not None
    assert (told["lift"], told["lift_lower"], told["lift_upper"]) == pytest.approx(tuple(lift))
    assert told["ratio_p"] == pytest.approx(found.ratio_p)
    assert f"lift {100 * lift.share:+.1f}%".replace("-", "−") in told["answer"]
    assert "Welch's unpaired t-test." in told["scope"]


def test_three_groups_are_compared_by_games_and_howell() -> None:
    rng = np.random.default_rng(2)
    users = pd.DataFrame({"user": range(90), "variant": list("ABC") * 30, "revenue": rng.normal(size=90)})
    assert sw.analyze(users).procedure.name == "games-howell"
    assert sw.analyze(users[users["variant"] != "C"]).procedure.name == "welch holm"
