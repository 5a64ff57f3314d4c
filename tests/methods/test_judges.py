"""Judges corrected by people: against ppi-python, and whether a biased judge does harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import shardwise as sw
from command_line import shardwise
from shardwise.methods.judges import method
from shardwise.methods.judges.method import prediction_powered, variance_with_labels
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import TABLE, Tables

GOLD = Path(__file__).parent.parent / "gold"


@pytest.fixture(scope="module")
def items() -> pd.DataFrame:
    return pd.read_csv(GOLD / "factors_items.csv", dtype={"item": str})


@pytest.fixture(scope="module")
def judged(items: pd.DataFrame) -> xr.DataArray:
    judge = items[["item", "judge_a", "judge_b", "judge_c"]].rename(
        columns=lambda name: name.removeprefix("judge_")
    )
    return sw.judges.with_human(judge, items[items["labelled"] == 1][["item", "a", "b", "c"]])


def test_equal_to_ppi_python(items: pd.DataFrame) -> None:
    """Estimates and intervals of ppi-python 0.2.3 (factors_python.py), to 1e-9."""
    gold = pd.read_csv(GOLD / "factors_ppi.csv")
    seen = items["labelled"].to_numpy() == 1
    for _, row in gold.iterrows():
        f = (items[f"judge_{row['a']}"] - items[f"judge_{row['b']}"]).to_numpy(float)
        h = np.where(seen, (items[row["a"]] - items[row["b"]]).to_numpy(float), np.nan)
        weight = None if row["lam"] == "tuned" else float(row["lam"])
        found = prediction_powered(f, h, weight, ddof=0)
        half = stats.norm.isf(0.025) * found.se
        ours = np.array([found.mean, found.mean - half, found.mean + half])
        assert ours == pytest.approx(row[["estimate", "lower", "upper"]].to_numpy(float), abs=1e-9)


def test_compare_takes_the_estimates_and_says_what_labels_bought(judged: xr.DataArray) -> None:
    gold = pd.read_csv(GOLD / "factors_ppi.csv").query("lam == 'tuned'")
    found = sw.compare(judged, only=[("a", "b"), ("a", "c"), ("b", "c")])
    assert found.procedure == "ppi holm"
    by_pair = found.to_frame().set_index(["a", "b"])["difference"]
    for _, row in gold.iterrows():
        ours = by_pair.get((row["a"], row["b"]), -by_pair.get((row["b"], row["a"]), np.nan))
        assert ours == pytest.approx(row["estimate"], abs=1e-9)
    assert found.notes[0].startswith("judge plus 40 labels by people, of 120 items")
    assert found.notes[1].startswith("80 labels: intervals 9% narrower")
    worth = sw.judges.labels_worth(judged)
    gaps = {}
    for name, table in (("people", judged["human"]), ("judge", judged)):
        gaps[name] = (table.sel(system="a") - table.sel(system="b")).to_numpy()
    seen = np.isfinite(gaps["people"])
    assert worth["correlation"][0] == pytest.approx(
        np.corrcoef(gaps["people"][seen], gaps["judge"][seen])[0, 1]
    )
    assert (worth["labels"] == 40).all()
    assert worth["effective_labels"].to_numpy() == pytest.approx(
        40 * (worth["se_of_labels"] / worth["se"]) ** 2
    )


def test_people_who_saw_everything_need_no_judge(items: pd.DataFrame, judged: xr.DataArray) -> None:
    everything = sw.judges.with_human(judged.drop_vars("human"), items[["item", "a", "b", "c"]])
    alone = sw.compare(items[["item", "a", "b", "c"]], "t holm")
    found = sw.compare(everything)
    assert found.p == pytest.approx(alone.p)
    assert found.se == pytest.approx(alone.se)


def test_more_labels_as_the_formula_says() -> None:
    """The variance of many simulated estimates against σ_h²·((1 - ρ²)/n + ρ²/T)."""
    rng = np.random.default_rng(5)
    h = rng.normal(size=(4000, 200))
    f = 0.5 + 0.8 * h + 0.6 * rng.normal(size=h.shape)
    for n in (30, 120):
        some = h.copy()
        some[:, n:] = np.nan
        found = prediction_powered(f, some).mean.var()
        expected = float(variance_with_labels(np.array(n), 200, np.array(1.0), np.array(0.8)))
        assert found == pytest.approx(expected, rel=0.1)  # 4,000 tables know a variance to 2 %, λ costs some


def test_clusters_by_hand(items: pd.DataFrame, judged: xr.DataArray) -> None:
    """The sandwich of Liang & Zeger for the estimating equations of the three means, by plain loops."""
    passages = items["passage"].to_numpy()
    found = sw.compare(judged.assign_coords(cluster=("topic", passages)), "ppi none", only=[("a", "b")])
    f = (judged.sel(system="a") - judged.sel(system="b")).to_numpy()
    h = (judged.human.sel(system="a") - judged.human.sel(system="b")).to_numpy()
    seen = np.isfinite(h)
    sums = []
    for passage in sorted(set(passages)):
        own = passages == passage
        a = sum((h[t] - h[seen].mean()) / seen.sum() for t in np.flatnonzero(own & seen))
        b = sum((f[t] - f[seen].mean()) / seen.sum() for t in np.flatnonzero(own & seen))
        c = sum((f[t] - f[~seen].mean()) / (~seen).sum() for t in np.flatnonzero(own & ~seen))
        sums.append((a, b - c))
    a, b = np.array(sums).T
    weight = min(max((a @ b) / (b @ b), 0.0), 1.0)
    groups, labelled = len(a), len({p for p, s in zip(passages, seen, strict=True) if s})
    assert abs(found.difference[0]) == pytest.approx(
        abs(weight * f[~seen].mean() + h[seen].mean() - weight * f[seen].mean())
    )
    assert found.se[0] == pytest.approx(np.sqrt(labelled / (labelled - 2) * ((a - weight * b) ** 2).sum()))
    assert found.df[0] == labelled - 2
    assert f"in clusters like these {groups}" in found.claim


def test_tasks_count_alike(
    items: pd.DataFrame, judged: xr.DataArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of what each task says by itself, variances added; clusters within tasks likewise."""
    # a task alone has too few labels for a claim of its own
    monkeypatch.setattr(method, "FEWEST", 5)
    task = np.repeat(["x", "y", "z"], [60, 36, 24])
    clustered = judged.assign_coords(cluster=("topic", np.arange(120) // 3))
    for scores in (judged, clustered):
        found = sw.compare(scores.assign_coords(task=("topic", task)), "ppi none", only=[("a", "b")])
        each = [
            sw.compare(scores.isel(topic=task == k), "ppi none", only=[("a", "b")]).to_frame().iloc[0]
            for k in "xyz"
        ]
        signs = [1 if row["a"] == "a" else -1 for row in each]
        se, df = (np.array([row[name] for row in each]) for name in ("se", "df"))
        mean = np.mean([sign * row["difference"] for sign, row in zip(signs, each, strict=True)])
        assert abs(found.difference[0]) == pytest.approx(abs(mean))
        assert found.se[0] == pytest.approx(np.sqrt((se**2).sum()) / 3)
        assert found.df[0] == pytest.approx((se**2).sum() ** 2 / (se**4 / df).sum())
        assert "within these 3 tasks, each counting alike" in found.claim


@pytest.mark.calibration
def test_a_judge_biased_in_one_task_does_no_harm(repetitions: float) -> None:
    """Three tasks of 400, 150 and 50 items, a judge kind to one system in the smallest alone; 20 labels a task."""
    n = int(1500 * repetitions)
    rng = np.random.default_rng(6)
    task = np.repeat([0, 1, 2], [400, 150, 50])
    h = rng.normal(0.6, 0.2, (n, 600, 1)) + rng.normal(0, 0.1, (n, 600, 2))
    f = h + rng.normal(0, 0.1, h.shape)
    f[:, task == 2, 0] += 0.2
    some = np.full_like(h, np.nan)
    for k in range(3):
        seen = np.flatnonzero(task == k)[:20]
        some[:, seen] = h[:, seen]
    error = 3.5 * np.sqrt(0.05 * 0.95 / n)
    found = parse_procedure("ppi none").decide(Tables(f, TABLE, human=some, task=task)).p <= 0.05
    assert 0.05 - error < found.mean() < 0.05 + error + 0.005  # λ is fitted to few labels
    together = parse_procedure("ppi none").decide(Tables(f, TABLE, human=some)).p <= 0.05
    assert together.mean() > 0.2, "labels that are not drawn alike from all tasks"


def test_items_that_the_judge_lacks_are_left_out_pair_by_pair(judged: xr.DataArray) -> None:
    gaps = judged.where(~((judged.topic == judged.topic[3]) & (judged.system == "a")))
    found = sw.compare(gaps, "ppi none", only=[("a", "b"), ("b", "c")])
    fewer = sw.compare(judged.drop_isel(topic=3), "ppi none", only=[("a", "b")])
    whole = sw.compare(judged, "ppi none", only=[("b", "c")])
    assert np.sort(found.p) == pytest.approx(np.sort([fewer.p[0], whole.p[0]]))


def test_seeds_are_averaged_and_the_claim_says_so(judged: xr.DataArray) -> None:
    rng = np.random.default_rng(4)
    plain = judged.drop_vars("human")
    noisy = [(plain + rng.normal(0, 0.1, plain.shape)).assign_attrs(plain.attrs) for _ in range(3)]
    seeds = xr.concat(noisy, dim="seed")
    people = judged.human.drop_vars("human")
    found = sw.compare(sw.judges.with_human(seeds, people))
    assert found.claim == "new items like these 120, for the mean of these 3 seeds"
    assert found.p == pytest.approx(sw.compare(sw.judges.with_human(seeds.mean("seed"), people)).p)


@pytest.mark.calibration
@pytest.mark.parametrize(("labels", "whole"), [(100, True), (300, False)])
def test_a_biased_judge_of_items_in_clusters(labels: int, whole: bool, repetitions: float) -> None:
    """Clusters of five that move a system's scores together, labels by item or by cluster."""
    n = int(1000 * repetitions)
    rng = np.random.default_rng(3)
    cluster = np.arange(600) // 5
    h = rng.normal(0, 0.1, (n, 120, 2))[:, cluster] + rng.normal(0, 0.1, (n, 600, 2))
    f = h + rng.normal(0, 0.1, (n, 120, 2))[:, cluster] + rng.normal(0, 0.1, h.shape) + [0.04, 0.0]
    order = np.arange(600) if whole else rng.permutation(600)
    some = h.copy()
    some[:, order[labels:]] = np.nan
    found = parse_procedure("ppi none").decide(Tables(f, TABLE, human=some, cluster=cluster)).p <= 0.05
    assert found.mean() == pytest.approx(0.05, abs=3.5 * np.sqrt(0.05 * 0.95 / n) + 0.005)
    ignored = parse_procedure("ppi none").decide(Tables(f, TABLE, human=some)).p <= 0.05
    assert ignored.mean() > 0.08


@pytest.mark.calibration
@pytest.mark.parametrize("labels", [50, 200])
def test_a_biased_judge_does_no_harm(labels: int, repetitions: float) -> None:
    """A judge that favours one of two equal systems by .04: alone it nearly always calls them different."""
    n = int(2000 * repetitions)
    rng = np.random.default_rng(2)
    h = np.clip(rng.normal(0.6, 0.2, (n, 400, 1)) + rng.normal(0, 0.1, (n, 400, 2)), 0, 1)
    f = h + rng.normal(0, 0.1, h.shape) + [0.04, 0.0]
    some = h.copy()
    some[:, labels:] = np.nan
    found = parse_procedure("ppi none").decide(Tables(f, TABLE, human=some)).p <= 0.05
    error = 3.5 * np.sqrt(0.05 * 0.95 / n)
    assert 0.05 - error < found.mean() < 0.05 + error + 0.005  # λ is fitted to few labels
    assert (parse_procedure("t none").decide(Tables(f, TABLE)).p <= 0.05).mean() > 0.95


def test_refusals(items: pd.DataFrame, judged: xr.DataArray) -> None:
    plain = judged.drop_vars("human")
    with pytest.raises(sw.InputError, match="moderated looks at the judge alone"):
        sw.compare(judged, "moderated")
    with pytest.raises(sw.InputError, match="no scores by people"):
        sw.compare(plain, "ppi holm")
    with pytest.raises(sw.InputError, match="item '999', which the judge did not"):
        sw.judges.with_human(plain, items[["item", "a", "b", "c"]].replace({"item": {"0": "999"}}))
    with pytest.raises(sw.InputError, match="nothing of 'c'"):
        sw.judges.with_human(plain, items[["item", "a", "b"]])
    with pytest.raises(sw.InputError, match="4 items of both"):
        sw.compare(sw.judges.with_human(plain, items[["item", "a", "b", "c"]].head(4)))
    with pytest.raises(sw.InputError, match="0 items of a task of both"):
        sw.compare(judged.assign_coords(task=("topic", items["passage"].to_numpy())))
    with pytest.raises(sw.InputError, match="a claim about tasks like these"):
        sw.compare(judged.assign_coords(task=("topic", np.arange(120) % 2)), generalize="task")
    with pytest.raises(sw.InputError, match="these come in tasks"):
        sw.judges.labels_worth(judged.assign_coords(task=("topic", np.arange(120) % 2)))
    with pytest.raises(sw.InputError, match="4 clusters of both"):
        sw.compare(judged.assign_coords(cluster=("topic", np.arange(120) // 30)))
    with pytest.raises(sw.InputError, match="these come in clusters"):
        sw.judges.labels_worth(judged.assign_coords(cluster=("topic", items["passage"].to_numpy())))
    with pytest.raises(sw.InputError, match="none by people"):
        sw.judges.labels_worth(plain)


def test_on_the_command_line(items: pd.DataFrame, tmp_path: Path) -> None:
    judge, human = tmp_path / "judge.csv", tmp_path / "human.csv"
    items[["item", "judge_a", "judge_b"]].rename(columns=lambda n: n.removeprefix("judge_")).to_csv(
        judge, index=False
    )
    items[items["labelled"] == 1][["item", "a", "b"]].to_csv(human, index=False)
    text = shardwise("compare", judge, "--human", human).stdout
    assert "Prediction-powered paired t-test" in text
    assert "judge plus 40 labels by people, of 120 items" in text
    refused = shardwise("compare", judge, "--human", human, "--method", "bootstrap")
    assert "--human has no effect with --method bootstrap" in refused.stderr
    assert refused.returncode == 2


def test_few_labels_are_refused(judged: xr.DataArray) -> None:
    """With 5 to 10 labels the test errs in 16 to 18 % of tables."""
    few = judged.assign_coords(human=judged["human"].where(judged["human"].notnull().cumsum("topic") <= 19))
    with pytest.raises(sw.InputError, match="at least 20"):
        sw.compare(few, "ppi none")
