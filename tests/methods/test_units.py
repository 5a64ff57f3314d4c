"""Coordinates cluster and task: who is the sample, and in which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import xarray as xr
from scipy import stats

import shardwise as sw
from shardwise.methods.clusters import by_units
from shardwise.methods.moderated.method import resample_topics
from shardwise.methods.moderated.statistics import moderated_statistics
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import TABLE, Tables
from shardwise.stats.units import care_for_clusters, unit_df, unit_scores


@pytest.fixture(scope="module")
def questions() -> xr.DataArray:
    rng = np.random.default_rng(3)
    y = (rng.random((60, 3)) < [0.5, 0.6, 0.7]).astype(float)
    return xr.DataArray(
        y,
        dims=("question", "model"),
        coords={"question": [f"q{i}" for i in range(60)], "model": list("abc")},
        name="correct",
    )


def test_real_logs_clustered_by_passage(data: Path) -> None:
    """m2 - m1 of the lm-evaluation-harness logs: statsmodels' CR1 standard error is .04990."""
    logs = [data / "llm" / "lm-eval" / f"m{k}-samples_toyqa.jsonl" for k in (1, 2, 3)]
    scores = sw.as_scores(logs, measure="acc").to_xarray()
    found = sw.compare(scores, "t none")
    row = found.to_frame().iloc[0]
    assert (row["a"], row["b"], row["df"]) == ("m2", "m1", 39.0)
    assert row["se"] == pytest.approx(0.04990, abs=5e-6)
    gap = pd.DataFrame({"d": (scores.sel(system="m2") - scores.sel(system="m1")).values})
    groups = np.unique(scores["cluster"].values, return_inverse=True)[1]
    fit = smf.ols("d ~ 1", gap).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert row["se"] == pytest.approx(float(fit.bse["Intercept"]), rel=1e-9)
    assert found.claim == "new passages like these 40 with 200 questions in them"
    plain = sw.compare(scores.drop_vars("cluster"), "t none").to_frame()
    assert row["effect_size"] == pytest.approx(plain.iloc[0]["effect_size"])  # still in items


def test_tasks_these_or_like_these(questions: xr.DataArray) -> None:
    task = np.repeat(["x", "y", "z"], [10, 20, 30])
    scores = questions.assign_coords(task=("question", task))
    here = sw.compare(scores)
    macro = questions.groupby(xr.DataArray(task, dims="question", name="task")).mean().mean("task")
    assert dict(zip(here.estimates.labels, here.estimates.values, strict=True)) == pytest.approx(
        dict(zip("abc", macro.values, strict=True))
    )
    assert here.claim == "new questions like these 60 within these 3 tasks, each counting alike"
    like = sw.compare(scores, "t holm", generalize="task")
    assert like.claim == "new tasks like these 3 with 60 questions in them"
    assert like.df == pytest.approx(2.0)
    assert like.se.min() > 0
    both = sw.analyze(scores, method="t holm", generalize="task")
    assert both.comparisons.p == pytest.approx(like.p)


def test_tasks_of_very_unequal_sizes_widen_intervals(questions: xr.DataArray) -> None:
    """Three items that count for a third: their df is 3.4 of 59, and draws of items do not show it."""
    unequal = questions.assign_coords(task=("question", np.repeat(["x", "y", "z"], [3, 17, 40])))
    found = sw.compare(unequal)
    assert found.procedure == "moderated"
    care = care_for_clusters(unit_df(np.arange(60), np.repeat([0, 1, 2], [3, 17, 40])), 60, len(found.names))
    assert care.factor > 1.2
    tested = found.pairs
    assert tested.resampled is not None
    assert tested.resampled.care == pytest.approx(care.factor, rel=1e-9)
    y, key, n_resamples, _ = tested.resampled
    df = unit_df(np.arange(60), np.repeat([0, 1, 2], [3, 17, 40]))
    statistics = moderated_statistics(y, found.ia, found.ib, unit_df=df)
    drawn = resample_topics(y, found.ia, found.ib, statistics.drawn, key, n_resamples)
    assert tested.draws is not None
    half = tested.draws.half_width(0.05)[0]
    assert half == pytest.approx(drawn.critical(0.05) * care.factor * found.se)


def test_a_dimension_of_tasks_is_a_label(questions: xr.DataArray) -> None:
    task = ("question", np.repeat(["x", "y"], 30))
    labelled = questions.assign_coords(task=task)
    parts = [questions.isel(question=slice(0, 30)), questions.isel(question=slice(30, 60))]
    numbered = [part.assign_coords(question=range(30)) for part in parts]  # item 0 of x is not item 0 of y
    by_task = xr.concat(numbered, dim=xr.DataArray(["x", "y"], dims="task", name="task"))
    one, other = sw.compare(labelled, "t holm"), sw.compare(by_task, "t holm")
    assert one.p == pytest.approx(other.p)
    assert one.claim == other.claim


def test_clusters_with_seeds(questions: xr.DataArray) -> None:
    """The unified test over clusters: with clusters of one item it is the one over items."""
    rng = np.random.default_rng(4)
    seeds = xr.concat([questions + rng.normal(0, 0.1, questions.shape) for _ in range(4)], dim="seed")
    alone = seeds.assign_coords(cluster=("question", np.arange(60)))
    assert sw.compare(alone, "unified holm").p == pytest.approx(sw.compare(seeds, "unified holm").p)
    four = seeds.assign_coords(cluster=("question", np.arange(60) // 4))
    found = sw.compare(four, "unified holm")
    assert found.claim == "new clusters like these 15 with 60 questions in them, any seed (4 seen)"


def test_gaps_are_least_squares_with_clusters_of_statsmodels(questions: xr.DataArray) -> None:
    """Items and systems as dummies, CR0 by passage; ours has G/(G - 1) on top, as without gaps."""
    rng = np.random.default_rng(6)
    gaps = questions.where(rng.random(questions.shape) < 0.8).assign_coords(
        cluster=("question", np.arange(60) // 4)
    )
    long = gaps.to_series().dropna().rename("y").reset_index()
    passage = long["question"].map(dict(zip(gaps.question.values, gaps.cluster.values, strict=True)))
    fit = smf.ols("y ~ C(question) + C(model)", long).fit(
        cov_type="cluster", cov_kwds={"groups": passage, "use_correction": False}
    )
    found = sw.compare(gaps, "t none", only=[("b", "a"), ("c", "a")]).to_frame()
    sign = np.where(found["b"] == "a", 1, -1)
    names = [f"C(model)[T.{row.a if row.b == 'a' else row.b}]" for row in found.itertuples()]
    assert (sign * found["difference"]).to_numpy() == pytest.approx(fit.params[names].to_numpy())
    assert found["se"].to_numpy() == pytest.approx(fit.bse[names].to_numpy() * np.sqrt(15 / 14))
    assert np.isfinite(found["effect_size"]).all()


def test_gaps_in_tasks(questions: xr.DataArray) -> None:
    """A system that lacks the hard items of a task is not rewarded for it; without gaps nothing changes."""
    task = np.repeat(["x", "y", "z"], [10, 20, 30])
    even = xr.zeros_like(questions) + xr.DataArray(np.linspace(0, 0.5, 60), dims="question")
    even = (even + xr.DataArray([0.0, 0.1, 0.3], dims="model")).assign_coords(task=("question", task))
    gaps = even.where((even.model != "c") | (even.question.isin(even.question[::2])))
    for claim in (None, "task"):
        whole, some = (sw.compare(y, "t holm", generalize=claim).estimates for y in (even, gaps))
        assert some.values == pytest.approx(whole.values)
    noisy = questions.assign_coords(task=("question", task))
    nearly = noisy.where((noisy.model != "a") | (noisy.question != "q7"))
    one, other = (sw.compare(y, generalize=None) for y in (noisy, nearly))
    assert other.se == pytest.approx(one.se, rel=0.1)


def test_gaps_in_clusters_with_seeds(questions: xr.DataArray) -> None:
    rng = np.random.default_rng(4)
    seeds = xr.concat([questions + rng.normal(0, 0.1, questions.shape) for _ in range(4)], dim="seed")
    four = seeds.assign_coords(cluster=("question", np.arange(60) // 4))
    found = sw.compare(four.where(rng.random(four.shape) < 0.9))
    assert np.isfinite(found.p).all()
    assert found.se == pytest.approx(sw.compare(four).se, rel=0.5)


@pytest.mark.calibration
@pytest.mark.parametrize("size", [5, 10])
def test_clusters_with_gaps_keep_the_level(size: int, repetitions: float) -> None:
    """Equal models, a tenth and a third of the scores lost, in two of three models."""
    n, rng = int(400 * repetitions), np.random.default_rng(size)
    cluster = np.arange(200) // size
    y = rng.normal(0, 0.2, (n, 200, 1)) + rng.normal(0, 0.1, (n, cluster[-1] + 1, 3))[:, cluster]
    y = y + rng.normal(0, 0.1, (n, 200, 3))
    y[..., 1:][rng.random((n, 200, 2)) < [0.1, 0.33]] = np.nan
    units = unit_scores(y, cluster, np.zeros(200, dtype=int))
    p = parse_procedure("t holm").decide(Tables(units, TABLE)).p_adjusted
    assert (p <= 0.05).any(axis=1).mean() == pytest.approx(0.045, abs=0.005 + 3.5 * np.sqrt(0.05 * 0.95 / n))


def test_refusals(questions: xr.DataArray) -> None:
    clustered = questions.assign_coords(cluster=("question", np.arange(60) // 4))
    with pytest.raises(sw.InputError, match="looks at single items"):
        sw.compare(clustered, "sign holm")
    apart = (clustered.model == "a") == xr.DataArray(np.arange(60) < 30, dims="question")
    with pytest.raises(sw.InputError, match="share no items of a task"):
        sw.compare(clustered.where(apart))
    with pytest.raises(sw.InputError, match="one unit only"):
        sw.compare(questions.assign_coords(cluster=("question", ["p"] * 60)))
    with pytest.raises(sw.InputError, match="along system"):
        sw.compare(questions.assign_coords(cluster=("model", list("xyz"))))


def test_clusters_that_span_tasks_are_summed_over_them() -> None:
    # two tasks ask about the same 12 passages: what a passage adds to both is not independent
    rng = np.random.default_rng(5)
    passages = np.repeat(np.arange(12), 5)
    cluster, task = np.tile(passages, 2), np.repeat([0, 1], 60)
    alarms = {"joined": 0, "apart": 0}
    for _ in range(400):
        effect = rng.normal(size=12)[cluster] + rng.normal(size=120)
        y = np.stack([effect, np.zeros(120)], axis=1)
        for name, code in (("joined", cluster), ("apart", cluster + 12 * task)):
            units = unit_scores(y, code, task)
            assert units.mean(axis=0) == pytest.approx(y.mean(axis=0))
            difference = units[:, 0] - units[:, 1]
            t = difference.mean() / (difference.std(ddof=1) / np.sqrt(len(difference)))
            alarms[name] += abs(t) > stats.t.isf(0.025, unit_df(code, task))
    assert alarms["joined"] < 0.05 * 400 + 4 * np.sqrt(0.05 * 0.95 * 400) < alarms["apart"]


def test_scores_without_labels_stay_what_they_are(questions: xr.DataArray) -> None:
    scores = sw.as_scores(questions)
    assert by_units(scores)[0] is scores


def test_unequal_clusters_take_degrees_of_freedom_from_single_pairs() -> None:
    y = np.random.default_rng(2).normal(size=(10, 3))
    careful, plain = moderated_statistics(y, unit_df=4.0), moderated_statistics(y)
    assert careful.df == pytest.approx(np.full(3, care_for_clusters(4.0, 10, 3).single_df))
    assert (careful.df < plain.df).all()
