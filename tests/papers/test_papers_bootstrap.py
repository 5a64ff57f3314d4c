"""Faggioli & Ferro 2021 and Voorhees et al. 2017 on real runs: against plain numpy and against print."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import papers_by_hand as by_hand
import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.papers.exhibit import read_printed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ff21(runs: sw.Collection) -> sw.papers.Replication:
    return sw.papers.ff21(
        runs,
        measures=["AP"],
        shards=(3,),
        fill_shards=(10, 25),
        samples=3,
        claim_resamples=5,
        claim_splits=4,
        seed=2,
    )


@pytest.fixture(scope="module")
def five(runs: sw.Collection) -> np.ndarray:
    """(split, topic, system, shard): the five shards of Tables 5 and 6."""
    scores = sw.score(runs, "AP", sw.split(runs, 5, n_splits=3, seed=2))["AP"]
    return np.nan_to_num(scores.transpose("split", "topic", "system", "shard").values)


def figures(decided: np.ndarray) -> tuple[float, float]:
    """PAA and PPA over all pairs of splits, by the definitions of FF21 §5.2."""
    paa, ppa = [], []
    for one, other in combinations(decided, 2):
        aa = np.sum((one == other) & (one != 0))
        pa = np.sum((one == 0) & (other == 0))
        pd_ = np.sum((one == 0) != (other == 0))
        paa.append(2 * aa / (2 * aa + pd_))
        ppa.append(2 * pa / (2 * pa + pd_))
    return float(np.mean(paa)), float(np.mean(ppa))


@pytest.mark.parametrize("model", ["MD2", "MD3", "MD6"])
def test_classic_approaches_are_those_of_plain_numpy(
    ff21: sw.papers.Replication, five: np.ndarray, model: str
) -> None:
    found = ff21["Table 5"].data.query("model == @model and approach == other").set_index("approach")
    steady = ff21["Table 6"].data.query("model == @model").set_index("approach")
    hand = {
        "tANOVA(HSD)": [by_hand.hsd(y, model) for y in five],
        "tANOVA(BH)": [by_hand.benjamini_hochberg(by_hand.t_p_values(y, model), 0.05) for y in five],
    }
    for approach, each in hand.items():
        assert found.loc[approach, "pairs"] == pytest.approx(np.mean([one.sum() for one in each]))
        signs = np.array(
            [np.where(one, np.sign(by_hand.pairs(y)[1]), 0) for one, y in zip(each, five, strict=True)]
        )
        expected = figures(signs)
        assert tuple(steady.loc[approach, ["PAA", "PPA"]]) == pytest.approx(expected, abs=1e-12)


def test_the_bootstrap_is_that_of_a_simulation(ff21: sw.papers.Replication, five: np.ndarray) -> None:
    rng = np.random.default_rng(7)
    raw, corrected = [], []
    for y in five:
        errors = np.sort(by_hand.bootstrap_errors(y, "MD6", 2_000, rng).ravel())
        gaps = np.abs(by_hand.pairs(y)[1])
        upper = 1 - np.searchsorted(errors, gaps) / errors.size
        lower = np.searchsorted(errors, -gaps) / errors.size
        p = upper + lower  # two tails of one system's effect, as in the authors' code
        raw.append((p <= 0.05).sum())
        corrected.append(by_hand.benjamini_hochberg(p, 0.05).sum())
    found = ff21["Table 5"].data.query("model == 'MD6' and approach == other").set_index("approach")["pairs"]
    # of 276 pairs; a kernel density widens the distribution by less than one percent
    assert found["bANOVA(raw)"] == pytest.approx(np.mean(raw), abs=3)
    assert found["bANOVA(BH)"] == pytest.approx(np.mean(corrected), abs=3)


def test_the_pattern_of_ff21_holds_on_other_runs(ff21: sw.papers.Replication) -> None:
    table = ff21["Table 5"].data.set_index(["model", "approach", "other"])["pairs"]
    for model in ("MD2", "MD3", "MD6"):
        hsd, bh, raw = (table[model, a, a] for a in ("tANOVA(HSD)", "tANOVA(BH)", "bANOVA(raw)"))
        assert hsd < bh < raw
        assert table[model, "bANOVA(raw)", "tANOVA(BH)"] == pytest.approx(
            raw - bh
        )  # it finds all that t does
        assert table[model, "tANOVA(BH)", "tANOVA(HSD)"] == pytest.approx(bh - hsd)
    widths = ff21["Table 3"].data.query("sample == 'avg'").set_index(["model", "trim"])["width"]
    for model in ("MD2", "MD3"):
        assert (
            1.65 < widths[model, "percent"] / widths[model, "share"] < 1.81
        )  # V17's printed widths over FF21's
        assert widths[model, "count"] / widths[model, "share"] > 1.81
    one_tail, two_tails = (ff21[f"Table {k}"].data.set_index("model") for k in (1, 2))
    assert one_tail.loc["MD3", "width"] < one_tail.loc["MD2", "width"]
    assert (two_tails["significant"] < one_tail["significant"]).all()
    apart = ff21["Table 4"].data.set_index(["model", "widths"])["significant"]
    for model in ("MD2", "MD3"):
        assert apart[model, "share"] > apart[model, "percent"] >= apart[model, "count"]
    steady = ff21["Table 6"].data.set_index(["model", "approach"])
    assert (steady["AD"] == 0).all()
    assert steady["PAA"].min() > 0.95
    for model in ("MD2", "MD3", "MD6"):  # who finds most agrees least on what does not differ
        ppa = [steady.loc[(model, a), "PPA"] for a in ("tANOVA(HSD)", "tANOVA(BH)", "bANOVA(BH)")]
        assert ppa == sorted(ppa, reverse=True)


@pytest.fixture(scope="module")
def filled(runs: sw.Collection) -> dict[int, list[dict[str, np.ndarray]]]:
    """By number of shards and split: (topic, system, shard) scores with undefined ones filled by each policy."""
    out: dict[int, list[dict[str, np.ndarray]]] = {}
    for shards in (10, 25):
        scores = sw.score(runs, "AP", sw.split(runs, shards, n_splits=3, seed=2))["AP"]
        each = scores.transpose("split", "topic", "system", "shard").values
        values = {
            "zero": lambda y: 0.0,
            "lq": lambda y: np.percentile(y[np.isfinite(y)], 25, method="hazen"),
            "mean": np.nanmean,
            "one": lambda y: 1.0,
        }
        out[shards] = [
            {name: np.where(np.isnan(y), value(y), y) for name, value in values.items()} for y in each
        ]
    return out


@pytest.mark.parametrize("shards", [10, 25])
@pytest.mark.parametrize(("table", "model"), [("Table 7", "MD3"), ("Table 8", "MD6")])
def test_fills_disagree_as_in_plain_numpy(
    ff21: sw.papers.Replication,
    filled: dict[int, list[dict[str, np.ndarray]]],
    shards: int,
    table: str,
    model: str,
) -> None:
    """FF21 Tables 7 and 8, classic approach: pairs that one fill, or one split, finds and the other does not."""
    found = ff21[table].data.query("shards == @shards and approach == 'tANOVA(HSD)'")
    told = [{name: by_hand.hsd(y, model) for name, y in one.items()} for one in filled[shards]]
    assert found["undefined"].iloc[0] > 0
    for row in found.to_dict("records"):
        a, b = row["fill"], row["other"]
        if a != b:
            wanted = np.mean([(one[a] != one[b]).sum() for one in told])
        else:
            wanted = np.mean([(one[a] != other[a]).sum() for one, other in combinations(told, 2)])
        assert row["PD"] == pytest.approx(wanted)
    apart = found[found["fill"] != found["other"]].set_index(["fill", "other"])["PD"]
    if model == "MD6":
        assert (apart == 0).all()  # F19 Prop. 7.4
    else:
        assert apart["zero", "one"] == apart.loc["zero"].max() > 0  # the worst choice, FF21 §5.3


def test_the_bootstrap_depends_less_on_the_fill(ff21: sw.papers.Replication) -> None:
    """FF21 §5.3, and F19 Prop. 7.4 for the bootstrap as well."""
    seven, eight = (
        ff21[name].data.set_index(["shards", "approach", "fill", "other"]) for name in ("Table 7", "Table 8")
    )
    assert (
        seven.loc[(25, "tANOVA(HSD)", "zero", "one"), "PD"]
        > seven.loc[(25, "bANOVA(BH)", "zero", "one"), "PD"]
        > 0
    )
    kinds = eight.index.get_level_values("fill") != eight.index.get_level_values("other")
    assert (eight.loc[kinds, "PD"] == 0).all()


@pytest.mark.parametrize("shards", [10, 25])
def test_undefined_cells_are_those_without_relevant_documents(
    data: Path, runs: sw.Collection, ff21: sw.papers.Replication, shards: int
) -> None:
    """Counted in the qrels; chance leaves a shard of S without any of r documents with probability (1 - 1/S)^r."""
    file = data / "trec-covid-r1" / "qrels.covid-round1.txt"
    judged = pd.read_csv(file, sep=r"\s+", header=None, names=["topic", "round", "doc", "grade"], dtype=str)
    relevant = judged[judged["grade"].isin(["1", "2"])]
    docs = pd.Series(range(runs.n_docs), index=runs.docnos())
    splits = sw.split(runs, shards, n_splits=3, seed=2)
    there = [
        relevant.assign(shard=codes[docs[relevant["doc"]]]).drop_duplicates(["topic", "shard"])
        for codes in splits.shards
    ]
    undefined = [30 * shards - len(each) for each in there]
    for table in ("Table 7", "Table 8"):
        assert set(ff21[table].data.query("shards == @shards")["undefined"]) == {sum(undefined)}
    empty = (1 - 1 / shards) ** relevant.groupby("topic")[
        "doc"
    ].nunique()  # 2.2 cells of 10 shards, 69.5 of 25
    variance = float(
        (shards * empty * (1 - empty)).sum()
    )  # an upper bound, as shards of a topic fill in turn
    assert np.mean(undefined) == pytest.approx(float((shards * empty).sum()), abs=4 * np.sqrt(variance / 3))


def test_the_printed_tables_of_ff21_contradict_each_other() -> None:
    """Two splits that find n pairs each on average disagree on PD = 2 (1 - PPA)(8256 - n) = 2 (1 - PAA) n of them."""
    diagonal = read_printed("ff21-table-5", other="bANOVA(raw)").set_index("model")["pairs"]
    steady = read_printed("ff21-table-6", approach="bANOVA(BH)").set_index("model").to_dict("index")
    implied = {}
    paa, ppa = (1 - steady["MD2"][name] + np.array([-5e-4, 5e-4]) for name in ("PAA", "PPA"))
    implied["MD2"] = [8256 * b / (a + b) for a in paa for b in ppa]
    same = read_printed("ff21-tables-7-8", approach="bANOVA(BH)", fill="zero", other="zero")
    for model, disagreements in zip(same["model"], same["PD"], strict=True):
        ppa = 1 - steady[model]["PPA"] + np.array([-5e-4, 5e-4])
        implied[model] = (8256 - disagreements / 2 / ppa).tolist()
    ranges = {model: (round(min(n)), round(max(n))) for model, n in implied.items()}
    assert ranges == {"MD2": (6752, 6822), "MD3": (7198, 7205), "MD6": (7549, 7553)}
    assert all(diagonal[model] > most for model, (_, most) in ranges.items())  # so it is of raw p-values


def test_rows_of_tests_are_printed_for_public_tables(data: Path) -> None:
    scores = sw.read_scores(data / "trec8" / "adhoc8_ap.csv").rename("AP")
    found = sw.papers.v17(scores, n_resamples=1_000)
    table = found["Table 4"].data.set_index(["test", "alpha"])
    for alpha in (0.05, 0.01):
        row = table.loc[("unpaired t", alpha)]
        assert row["pairs"] == row["pairs_V17"]
        row = table.loc[("randomization, one-sided", alpha)]
        assert row["pairs"] == pytest.approx(row["pairs_V17"], rel=0.01)
    assert found.labels == ("Table 2", "Table 4")
    small = sw.papers.v17(sw.read_scores(data / "trec3" / "adhoc3_ap.csv").rename("AP"), n_resamples=200)
    assert small["Table 2"].data.set_index("test").loc["unpaired t", ["pairs", "pairs_V17"]].tolist() == [
        409,
        409,
    ]


@pytest.fixture(scope="module")
def v17(runs: sw.Collection, teams: dict[str, list[str]]) -> sw.papers.Replication:
    return sw.papers.v17(
        runs, sets=teams, n_splits=5, claim_resamples=5, claim_splits=4, n_resamples=500, seed=3
    )


def test_the_pattern_of_v17_holds_on_other_runs(v17: sw.papers.Replication) -> None:
    table = v17["Table 4"].data.query("alpha == 0.05").set_index(["measure", "test"])["pairs"]
    for measure in ("AP", "P@10"):
        order = ("unpaired t", "randomization, one-sided", "multiple 2 parts", "2 parts, mean of splits")
        counts = [table[measure, test] for test in order]
        assert counts == sorted(counts)
    widths = v17["Table 3"].data.query("measure == 'AP'").set_index(["model", "shards"])["width"]
    assert widths["MD2", 2] > widths["MD2", 3] > widths["MD2", 5]
    assert widths["MD3", 2] < widths["MD3", 3] < widths["MD2", 3]
    divided = v17["Table 5"].data.query("splits == 'divided' and alpha == 0.05").set_index("measure")["share"]
    assert divided["AP"] < divided["P@10"]


def test_tests_of_v17_are_scipys(v17: sw.papers.Replication, runs: sw.Collection) -> None:
    y = sw.score(runs, "AP")["AP"].values
    pairs = list(combinations(range(y.shape[1]), 2))
    found = v17["Table 4"].data.query("alpha == 0.05 and measure == 'AP'").set_index("test")["pairs"]
    assert found["unpaired t"] == sum(stats.ttest_ind(y[:, a], y[:, b]).pvalue <= 0.05 for a, b in pairs)
    assert found["paired t"] == sum(stats.ttest_rel(y[:, a], y[:, b]).pvalue <= 0.05 for a, b in pairs)


def test_a_pool_sampled_by_strata_has_the_extended_infap(tmp_path: Path) -> None:
    """V17 §4: Terabyte 2006, whose qrels have a stratum for each document and -1 where it was not sampled."""
    sw.simulate.collection(
        topics=12, systems=5, depth=60, corpus=3000, relevant=40, pool_depth=30, seed=3
    ).write(tmp_path)
    rng = np.random.default_rng(1)
    rows = [line.split() for line in (tmp_path / "qrels.txt").read_text().splitlines()]
    strata = rng.integers(1, 3, len(rows))  # all of the first and half of the second are judged
    kept = (strata == 1) | (rng.random(len(rows)) < 0.5)
    sampled = [
        f"{topic} 0 {doc} {stratum} {grade if here else -1}\n"
        for (topic, _, doc, grade), stratum, here in zip(rows, strata, kept, strict=True)
    ]
    (tmp_path / "qrels.txt").write_text("".join(sampled))
    runs = sw.read_collection(tmp_path / "runs", tmp_path / "qrels.txt")
    found = sw.papers.v17(runs, shards=(2,), n_splits=2, claim_resamples=5, claim_splits=4, n_resamples=50)
    four = found["Table 4"].data.query("alpha == 0.05").set_index("test")
    y = sw.score(runs, "xinfAP")["xinfAP"].values
    alike = [stats.ttest_ind(y[:, a], y[:, b]).pvalue <= 0.05 for a, b in combinations(range(5), 2)]
    assert set(four["measure"]) == {"xinfAP"}
    assert four.loc["unpaired t", "pairs"] == sum(alike)
    assert four.loc["unpaired t", "pairs_V17"] == 1261  # Terabyte's
    assert four.loc["multiple 2 parts", "pairs_V17"] == 2595
    three = found["Table 3"].data.query("model == 'MD3'").set_index("shards")["width_V17"]
    assert three.to_dict() == {2: 0.032, 3: 0.037}
    assert "Terabyte" in found.facts["in brackets"]


def test_figures_and_table_6_follow_from_the_rows(v17: sw.papers.Replication, tmp_path: Path) -> None:
    decided = v17["Figure 7"].data
    count = (
        v17["Table 4"]
        .data.query("test == 'multiple 2 parts' and alpha == 0.05")
        .set_index("measure")["pairs"]
    )
    assert decided.groupby("measure")["differ"].sum().to_dict() == count.to_dict()
    six = v17["Table 6"].data.set_index("condition")
    assert six.loc["across", ["same", "lost", "gained"]].tolist() == [24, 0, 0]
    assert (six["same"] + six["lost"] + six["gained"] <= 24).all()
    within = six.loc["within"]
    assert within["MD3"] < six.loc["across", "MD3"]  # V17 §6: narrower
    assert within["lost"] <= 1 < within["gained"]  # but the reverse of what V17 §6 found
    assert (v17["Figure 6"].data["rank"] < v17["Figure 6"].data["other"]).all()
    v17.write(tmp_path)
    assert (tmp_path / "v17.html").read_text().count("<svg") == 5


@pytest.mark.usefixtures("few_resamples")
def test_commands(tmp_path: Path, trec3: Path) -> None:
    made = sw.simulate.collection(
        topics=12, systems=5, depth=60, corpus=3000, relevant=20, pool_depth=30, seed=3
    )
    made.write(tmp_path)
    runs = sw.read_collection(tmp_path / "runs", tmp_path / "qrels.txt")
    teams = tmp_path / "teams.csv"
    pd.DataFrame({"run": runs.systems, "team": ["a", "a", "b", "b", "c"]}).to_csv(teams, index=False)
    inputs = (tmp_path / "qrels.txt", tmp_path / "runs")
    out = tmp_path / "out"
    done = shardwise(
        "replicate",
        "v17",
        *inputs,
        "--splits",
        2,
        "--shards",
        2,
        "--also",
        teams,
        "--resamples",
        100,
        "--out",
        out,
    )
    assert done.returncode == 0, done.stderr
    sets = {"a": runs.systems[:2], "b": runs.systems[2:4]}
    expected = sw.papers.v17(
        runs, sets=sets, shards=(2,), n_splits=2, claim_resamples=5, claim_splits=4, n_resamples=100
    )
    pd.testing.assert_frame_equal(
        pd.read_csv(out / "table-6.csv"), expected["Table 6"].data, check_dtype=False
    )
    small = ("--shards", 2, "--fill", 3, "--splits", 2, "-m", "AP")
    done = shardwise("replicate", "ff21", *inputs, *small, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "| MD6 | bANOVA(raw) |" in (out / "ff21.md").read_text()
    done = shardwise("replicate", "ff21", trec3, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "cannot be said" in done.stdout
    teams.write_text("system,team\nx,a\n")
    done = shardwise("replicate", "v17", *inputs, "--also", teams, "--out", out)
    assert done.returncode == 2
    assert "has no column 'run'" in done.stderr


def test_printed_rows_are_whole() -> None:
    assert len(read_printed("v17-table-4")) == 5 * 5 * 2
    five = read_printed("v17-table-5")  # the counts of all ways to be divided make up the total
    for _, part in five.groupby(["collection", "measure", "alpha"]):
        divided = part["splits"] == "divided"
        assert part.loc[~divided, "pairs"].sum() == part.loc[divided, "pairs"].item()
    with pytest.raises(InputError):
        sw.papers.ff21(
            sw.simulate.collection(topics=4, systems=3, seed=1).collection(),
            samples=1,
            claim_resamples=5,
            claim_splits=4,
        )


def test_where_nothing_differs_there_is_a_page_all_the_same(tmp_path: Path) -> None:
    """No pair is told apart and no split disagrees: figures of such pairs have no rows."""
    rng = np.random.default_rng(0)
    docs = [f"d{i}" for i in range(60)]
    qrels = {str(t): {d: int(i < 20) for i, d in enumerate(rng.permutation(docs))} for t in range(4)}
    run = {str(t): dict(zip(docs, rng.random(60).tolist(), strict=True)) for t in range(4)}
    same = sw.read_collection({"x": run, "y": run, "z": run}, qrels)
    for _ in range(2):  # made, and taken up from its folder
        found = sw.papers.v17(
            same,
            n_splits=2,
            claim_resamples=5,
            claim_splits=4,
            n_resamples=20,
            measures=["AP"],
            folder=tmp_path,
        )
        assert (found["Table 4"].data["pairs"] == 0).all()
        assert found["Figure 6"].data.empty
    found.write(tmp_path)
    assert not (tmp_path / "figure-6.svg").exists()
    assert "Figure 6" in (tmp_path / "v17.md").read_text()
