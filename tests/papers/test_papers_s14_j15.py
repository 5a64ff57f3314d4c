"""Sakai 2014 and Jayasinghe et al. 2015 on anybody's data: against numpy, scipy and print, resumed, by command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.papers.exhibit import read_printed
from shardwise.papers.experiment import FOLDER
from shardwise.papers.s14_topic_sets import PRINTED_TASKS
from shardwise.planning import design_table

pytestmark = pytest.mark.slow


def test_printed_topics_follow_from_printed_variances() -> None:
    """638 of the 639 cells of Tables 4 to 7 exactly, and every one of Table 8."""
    cells, right = 0, 0
    for task in PRINTED_TASKS:
        variances = read_printed("s14-table-3", table=task, collection="pooled")
        pooled = dict(zip(variances["measure"], variances["variance"], strict=True))
        table = design_table(pooled, method="sakai")
        for row in read_printed("s14-tables-4-7", table=task).to_dict("records"):
            cells += 1
            ours = table.loc[(row["systems"], row["alpha"], row["min_diff"]), (row["power"], row["measure"])]
            right += int(ours == row["topics"])
        widths = design_table(pooled, width=(0.1, 0.15, 0.2, 0.25), alpha=[0.05])
        eight = read_printed("s14-table-8", table=task).to_dict("records")
        assert all(widths.loc[(0.05, r["width"]), r["measure"]] == r["topics"] for r in eight)
    assert (cells, right) == (639, 638)


def two_way(y: np.ndarray) -> float:
    """S14 eq. 7 by mean squares from scipy's variances."""
    n, m = y.shape
    system, topic = n * y.mean(axis=0).var(ddof=1), m * y.mean(axis=1).var(ddof=1)
    residual = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    error = (residual**2).sum() / ((n - 1) * (m - 1))
    return float((system - error) / n * (m - 1) / m + (topic - error) / m + error)


@pytest.fixture(scope="module")
def made() -> dict[str, sw.Collection]:
    """Two small collections."""
    return {
        name: sw.simulate.collection(
            topics=topics, systems=6, depth=60, corpus=3000, relevant=25, seed=seed
        ).collection()
        for name, topics, seed in (("first", 12, 1), ("second", 20, 2))
    }


@pytest.fixture(scope="module")
def s14(made: dict[str, sw.Collection]) -> sw.papers.Replication:
    return sw.papers.s14(made)


def test_variances_are_pooled_with_topics_less_one(
    s14: sw.papers.Replication, made: dict[str, sw.Collection]
) -> None:
    table = s14["Table 3"].data
    deep = table[(table["task"] == "deep") & (table["measure"] == "AP")].set_index("collection")["variance"]
    each = {
        name: two_way(sw.score(one, ["AP"])["AP"].dropna("topic").to_numpy()) for name, one in made.items()
    }
    for name, value in each.items():
        assert deep[name] == pytest.approx(value)
    weights = {
        name: sw.score(one, ["AP"])["AP"].dropna("topic").sizes["topic"] - 1 for name, one in made.items()
    }
    assert deep["pooled"] == pytest.approx(np.average(list(each.values()), weights=list(weights.values())))
    four = s14["Table 4"].data
    row = four[
        (four["measure"] == "AP") & (four["systems"] == 10) & (four["alpha"] == 0.05) & (four["power"] == 0.8)
    ]
    for least, topics in zip(row["min_diff"], row["topics"], strict=True):
        wanted = sw.planning.topics_for_power(
            variance=deep["pooled"], min_diff=least, systems=10, alpha=0.05, power=0.8, method="sakai"
        )
        assert topics == wanted


def test_every_table_and_figure_of_s14_is_there(s14: sw.papers.Replication, tmp_path: Path) -> None:
    wanted = [*(f"Table {k}" for k in (3, 4, 5, 6, 8, 9)), *(f"Figure {k}" for k in (1, 2, 3, 4))]
    assert list(s14.labels) == wanted
    nine = s14["Table 9"].data
    assert nine.groupby("measure")["judged"].is_monotonic_increasing.all()
    ap = nine[nine["measure"] == "AP"]
    assert ap["variance"].iloc[0] > ap["variance"].iloc[-1]  # shallow pools make AP less steady (S14 §5.4)
    s14.write(tmp_path)
    assert {f"figure-{k}.svg" for k in (1, 2, 3, 4)} <= {one.name for one in tmp_path.iterdir()}
    assert "(4127)" in (tmp_path / "s14.md").read_text()
    assert "topics_S14" in (tmp_path / "table-4.csv").read_text()


def test_judgments_of_subtopics_give_table_7() -> None:
    rng = np.random.default_rng(2)
    docs = [f"d{k}" for k in range(30)]
    judged = [
        (str(t), str(i), doc, int(rng.integers(0, 3))) for t in range(6) for i in (1, 2) for doc in docs[::2]
    ]
    qrels = pd.DataFrame(judged, columns=["query_id", "subtopic", "doc_id", "relevance"])
    names = [f"r{k}" for k in range(4)]
    runs = {name: {str(t): dict(zip(docs, rng.random(30), strict=True)) for t in range(6)} for name in names}
    diverse = sw.read_collection(runs, qrels, subtopics=True)
    found = sw.papers.s14(diverse, depths=[10])
    assert "Table 7" in found.labels
    table = found["Table 3"].data
    own = table[(table["task"] == "diversity, depth 10") & (table["collection"] == "pooled")]
    variances = own.set_index("measure")["variance"]
    assert len(variances) == 4
    scores = sw.score(diverse, "alpha_nDCG@10")["alpha_nDCG@10"].to_numpy()
    assert variances.iloc[0] == pytest.approx(two_way(scores))
    seven = found["Table 7"].data
    assert set(seven["measure"]) == set(variances.index)


def test_the_pattern_of_s14_holds_on_other_runs(runs: sw.Collection) -> None:
    """S14 §5.3 and §5.4, TREC-COVID: nERR varies most, AP least at full depth and much more at depth 10."""
    found = sw.papers.s14(runs, depths=[10, 100])
    three = found["Table 3"].data.query("collection == 'pooled'").set_index(["task", "measure"])["variance"]
    for task in ("deep", "depth 10"):
        assert three[task].idxmax() == "nERR"
    assert three["deep"].idxmin() == "AP"
    assert three["depth 10", "AP"] > 1.5 * three["deep", "AP"]
    assert three["depth 10", "nERR"] == pytest.approx(three["deep", "nERR"], rel=0.15)  # of the first ranks
    eight = found["Table 8"].data.query("width == 0.15").set_index(["task", "measure"])["topics"]
    assert eight["depth 10"].idxmax() == "nERR"
    nine = found["Table 9"].data.query("measure == 'AP'").set_index("depth")
    assert nine.loc[10, "variance"] > nine.loc[100, "variance"]
    assert nine.loc[10, "judged"] < nine.loc[100, "judged"]


def test_tables_of_scores_give_what_they_can(trec3: Path) -> None:
    found = sw.papers.s14({"TREC-3": sw.read_scores(trec3)})
    assert found.labels == ("Table 3", "Table 4", "Table 8", "Figure 1", "Figure 2", "Figure 3")
    assert found["Table 3"].data["variance"].iloc[0] == pytest.approx(
        two_way(sw.read_scores(trec3).transpose("topic", "system").to_numpy())
    )
    with pytest.raises(InputError, match="has no effect with tables of scores"):
        sw.papers.s14(sw.read_scores(trec3), depths=[10])
    with pytest.raises(InputError, match="no collection was given"):
        sw.papers.s14({})


def test_measures_by_which_nothing_varies_are_refused() -> None:
    constant = pd.DataFrame(0.3, index=range(12), columns=["a", "b", "c"])
    varying = constant * np.random.default_rng(3).random((12, 3))
    with pytest.raises(InputError, match="all scores of score are the same; leave that measure out"):
        sw.papers.s14(constant)
    assert sw.papers.s14({"same": constant, "other": varying}).labels[0] == "Table 3"


@pytest.fixture(scope="module")
def seeds() -> xr.DataArray:
    """Three settings of a system with twelve instances, and a deterministic one."""
    rng = np.random.default_rng(4)
    base = rng.beta(2, 3, 40)
    own = [
        base - loss + rng.normal(0, 0.02, (12, 1)) + rng.normal(0, 0.08, (12, 40))
        for loss in (0.08, 0.02, 0.0)
    ]
    y = np.stack([*own, np.broadcast_to(base, (12, 40))])
    names = {"system": ["1 %", "4 %", "8 %", "all"]}
    return xr.DataArray(y, dims=("system", "instance", "topic"), coords=names, name="AP")


FEW = {"claim_resamples": 3, "claim_splits": 3}
"""For figures whose claims are not looked at."""


@pytest.fixture(scope="module")
def j15(seeds: xr.DataArray) -> sw.papers.Replication:
    return sw.papers.j15(seeds, pools=8, repetitions=40, n_resamples=50, seed=2, **FEW)


def test_figures_of_instances_are_those_of_scipy(j15: sw.papers.Replication, seeds: xr.DataArray) -> None:
    y = seeds.to_numpy()
    six = j15["Figure 6"].data
    own = six[(six["kind"] == "repeat") & (six["system"] == "4 %")]["mean"]
    assert np.sort(own) == pytest.approx(np.sort(y[1].mean(axis=1)))
    p = np.array([[stats.ttest_rel(one, y[3, 0]).pvalue for one in system] for system in y[:3]])
    worse = (p < 0.05) & (y[:3].mean(axis=2) < y[3, 0].mean())
    seven = j15["Figure 7"].data.set_index(["finding", "system"])["instances"]
    assert seven["worse, p < .05"].tolist() == worse.sum(axis=1).tolist()
    assert seven.groupby("system").sum().tolist() == [12, 12, 12]
    eight = j15["Figure 8"].data
    one = eight[eight["system"] == "1 %"].sort_values("topic", key=lambda t: t.astype(int))
    assert one["median"].to_numpy() == pytest.approx(np.median(y[0], axis=0))
    twelve = j15["Figure 12"].data.set_index("system")
    assert twelve["difference"].to_numpy() == pytest.approx(y[:3].mean(axis=(1, 2)) - y[3].mean())
    assert twelve.loc["1 %", "verdict"] == "worse"
    found = sw.compare_instances(
        seeds.sel(system="4 %"), seeds.sel(system="all").isel(instance=0), design="paper"
    )
    assert tuple(twelve.loc["4 %", ["lower", "upper"]]) == pytest.approx(found.interval(0.95, "hpd"))


def test_more_instances_make_steadier_p_values_and_both_tests_agree(j15: sw.papers.Replication) -> None:
    """J15 §4 and §5: Figures 4, 9 and 11."""
    four = j15["Figure 4"].data
    assert four.iloc[:, 0].corr(four.iloc[:, 1]) > 0.98
    nine = j15["Figure 9"].data
    assert set(nine["test"]) == {"mixed model, J15", "bootstrap, J15"}
    spread = nine[nine["system"] == "4 %"].groupby(["test", "size"])["p"].std().unstack("size")
    assert (spread[50] < spread[2]).all()
    three = j15["Figure 3"].data
    assert (three["upper"] - three["lower"]).is_monotonic_decreasing
    ten = j15["Figure 10"].data
    assert all(own["p"].is_monotonic_decreasing for _, own in ten.groupby("test"))


def test_replications_take_up_where_they_were(seeds: xr.DataArray, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    options = {"pools": 2, "repetitions": 5, "n_resamples": 20, **FEW}
    first = sw.papers.j15(seeds, **options, folder=tmp_path, progress=lambda *at: told.append(at))
    kept = sorted((tmp_path / FOLDER).rglob("*.parquet"))
    assert told[-1] == (7, 7)
    stamp = kept[0].stat().st_mtime_ns
    again = sw.papers.j15(seeds, **options, folder=tmp_path)
    pd.testing.assert_frame_equal(first["Figure 10"].data, again["Figure 10"].data)
    assert kept[0].stat().st_mtime_ns == stamp
    assert sw.papers.j15(repetitions=5, n_resamples=20, **FEW).labels == (
        "Figure 2",
        "Figure 3",
        "Figure 4",
    )


def test_what_j15_refuses(seeds: xr.DataArray) -> None:
    with pytest.raises(InputError, match="one per topic and system"):
        sw.papers.j15(seeds.isel(instance=0, drop=True))
    with pytest.raises(InputError, match="no system but the baseline has repeats that differ"):
        sw.papers.j15(seeds.sel(system=["4 %", "all"]), "4 %")
    with pytest.raises(InputError, match="unknown system 'none'"):
        sw.papers.j15(seeds, "none")
    with pytest.raises(InputError, match="baseline is for scores"):
        sw.papers.j15(baseline="all")


@pytest.mark.usefixtures("few_resamples")
def test_both_by_command(trec3: Path, seeds: xr.DataArray, tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    # two systems on twelve topics: every claim is measured on a hundred resamples of the topics
    few = seeds.isel(instance=slice(0, 4), topic=slice(0, 12)).sel(system=["4 %", "all"])
    few.to_series().rename("AP").reset_index().to_csv(table, index=False)
    small = ["--repetitions", "5", "--pool", "2", "--resamples", "20", "--quiet"]
    done = shardwise("replicate", "j15", str(table), "--out", str(tmp_path / "j15"), *small)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "j15" / "figure-13.svg").is_file()
    done = shardwise("replicate", "s14", str(trec3), "--out", str(tmp_path / "s14"), "--quiet")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s14" / "table-8.csv").is_file()
    both = ("--also", str(trec3), "--out", str(tmp_path / "both"), "--quiet")
    done = shardwise("replicate", "s14", str(trec3), *both)
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "both" / "table-3.csv").set_index("collection")["variance"]
    assert table["pooled"] == pytest.approx(table["collection"])  # the same table twice
    done = shardwise("replicate", "s14", str(trec3), "--pool", "10", *both)
    assert (done.returncode, "--pool has no effect" in done.stderr) == (2, True)
