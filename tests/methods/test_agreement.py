"""Agreement of judges and people against krippendorff, scikit-learn and R's psych."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy
import xarray as xr

import shardwise as sw
from shardwise.core.errors import InputError
from shardwise.methods.judges.method import tabulate_agreement
from shardwise.stats.agreement import Metric, cohen_kappa, krippendorff_alpha

GOLD = Path(__file__).parents[1] / "gold"


def read_ratings() -> pd.DataFrame:
    return pd.read_csv(GOLD / "agreement_ratings.csv")


def test_kappa_agrees_with_psych_and_scikit_learn() -> None:
    ratings = read_ratings()
    a, b = ratings["first"].to_numpy(float), ratings["second"].to_numpy(float)
    gold = pd.read_csv(GOLD / "agreement_psych.csv").set_index("statistic")["value"]
    for name, power in (("kappa", 0), ("linear", 1), ("quadratic", 2)):
        assert cohen_kappa(a, b, power).estimate == pytest.approx(gold[name], abs=1e-10)
    metrics = pytest.importorskip("sklearn.metrics")
    for name, power in ((None, 0), ("linear", 1), ("quadratic", 2)):
        assert cohen_kappa(a, b, power).estimate == pytest.approx(
            metrics.cohen_kappa_score(a.astype(int), b.astype(int), weights=name), abs=1e-12
        )


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_alpha_agrees_with_krippendorff(metric: Metric) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    ratings = read_ratings().to_numpy(float).T
    expected = krippendorff.alpha(ratings, level_of_measurement=metric)
    assert krippendorff_alpha(ratings, metric).estimate == pytest.approx(expected, abs=1e-12)
    some = np.where(np.random.default_rng(1).random(ratings.shape) < 0.3, np.nan, ratings)
    some = some[:, np.isfinite(some).sum(axis=0) >= 2]
    expected = krippendorff.alpha(some, level_of_measurement=metric)
    assert krippendorff_alpha(some, metric).estimate == pytest.approx(expected, abs=1e-12)


def make_judged(items: int, seed: int = 1) -> tuple[xr.DataArray, xr.DataArray]:
    rng = np.random.default_rng(seed)
    people = (rng.random((items, 4)) < [0.3, 0.5, 0.6, 0.8]).astype(float)
    judge = np.where(rng.random((items, 4)) < 0.15, 1.0 - people, people)
    names = {"topic": [f"q{k}" for k in range(items)], "system": list("abcd")}
    return tuple(xr.DataArray(y, names, ("topic", "system"), name="right") for y in (judge, people))  # type: ignore[return-value]


def test_a_judge_is_measured_beside_people() -> None:
    judge, people = make_judged(120)
    scores = sw.judges.with_human(judge, people.isel(topic=slice(0, 60)))
    table = sw.judges.measure_agreement(scores).set_index("statistic")
    a, b = judge[:60].to_numpy(), people[:60].to_numpy()
    assert table.loc["percent agreement", "estimate"] == pytest.approx((a == b).mean())
    tau = scipy.stats.kendalltau(a.mean(axis=0), b.mean(axis=0)).statistic
    assert table.loc["Kendall's tau, systems", "estimate"] == pytest.approx(tau)
    rho = scipy.stats.spearmanr(a.ravel(), b.ravel()).statistic
    assert table.loc["Spearman's rho, scores", "estimate"] == pytest.approx(rho)
    assert (table["lower"] <= table["estimate"]).all()
    wide = table.loc["Cohen's kappa"]
    assert wide["labels_needed"] == np.ceil(60 * ((wide["upper"] - wide["lower"]) / 0.1) ** 2)
    notes = sw.compare(scores).notes
    assert any(note.startswith("the judge against people: percent agreement") for note in notes)


def test_a_judge_that_favours_a_system_is_found() -> None:
    # answers turned at random favour weak systems: a fair judge errs without direction
    _, people = make_judged(150, seed=2)
    judge = people + np.random.default_rng(3).normal(0.0, 0.3, people.shape)
    fair = sw.compare(sw.judges.subtract_people(sw.judges.with_human(judge, people)), n_resamples=499)
    assert not fair.reject().any()
    favoured = judge.copy()
    favoured[:, 0] += 0.2
    biased = sw.compare(sw.judges.subtract_people(sw.judges.with_human(favoured, people)), n_resamples=499)
    assert biased.best() == ("a",)


def test_several_judges() -> None:
    row = sw.judges.measure_raters(read_ratings().to_numpy(float).T, metric="ordinal")
    assert row["lower"] < row["estimate"] < row["upper"]
    with pytest.raises(InputError, match="unknown metric"):
        sw.judges.measure_raters(np.ones((2, 20)), metric="ratio")
    with pytest.raises(InputError, match="5 items have two judges"):
        sw.judges.measure_raters(np.ones((2, 5)))


def test_intervals_cover_and_few_labels_are_refused() -> None:
    """80 samples of 25 items."""
    truth = tabulate_agreement(*(y.to_numpy() for y in make_judged(100_000, seed=9)), n_resamples=1)
    expected = truth.set_index("statistic")["estimate"]
    missed = dict.fromkeys(("percent agreement", "Cohen's kappa"), 0)
    for seed in range(80):
        judge, people = (y.to_numpy() for y in make_judged(25, seed=100 + seed))
        table = tabulate_agreement(judge, people, n_resamples=399).set_index("statistic")
        for name in missed:
            missed[name] += not table.loc[name, "lower"] <= expected[name] <= table.loc[name, "upper"]
    assert max(missed.values()) <= 10
    with pytest.raises(InputError, match="people scored 8 items"):
        tabulate_agreement(np.ones((8, 2)), np.ones((8, 2)))
