"""Verdicts on the claims of papers: right on the papers' own printed numbers, wrong where numbers are turned round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.papers import EXPERIMENTS
from shardwise.papers.exhibit import FAILS, HOLDS, UNKNOWN, Frames, decide_claim, read_printed
from shardwise.papers.experiment import gather_scores
from shardwise.papers.v17_replicates import read_counts


def verdicts(paper: str, frames: Frames) -> dict[str, str]:
    return {claim.name: decide_claim(claim, frames, "absent").verdict for claim in EXPERIMENTS[paper].claims}


def printed_f19() -> Frames:
    two = read_printed("f19-table-2", collection="T08").assign(significant_half=0.0)
    return {"table_1": read_printed("f19-table-1"), "table_2": two}


def printed_ff21() -> Frames:
    methods = read_printed("ff21-table-5").replace("bANOVA(raw)", "bANOVA(BH)")
    steady = read_printed("ff21-table-6").assign(AD=0.0)
    fills = read_printed("ff21-tables-7-8").assign(undefined=1)
    return {
        "methods": methods,
        "steady": steady,
        "widths": read_printed("ff21-tables-1-2"),
        **{f"fills-{model}": part for model, part in fills.groupby("model")},
    }


def printed_v17(collection: str = "TREC-8") -> Frames:
    rows = {
        "widths": read_printed("v17-table-3", collection=collection),
        "counts": read_counts("v17-table-4", collection),
        "divided": read_counts("v17-table-5", collection),
    }
    means = rows["counts"][rows["counts"]["test"] == "2 parts"].assign(test="2 parts, mean of splits")
    related = read_printed("v17-table-6", collection=collection)
    # V17 §6: 171 of 180 related pairs decided alike, the others lost but for one
    related = related.assign(related_pairs=180, same=[180, 171], lost=[0, 8], gained=[0, 1])
    return {**rows, "counts": pd.concat([rows["counts"], means]), "related": related}


def printed_s14() -> Frames:
    rows = []
    for task, number in (("deep", 4), ("depth 10", 5), ("diversity, depth 10", 7)):
        for row in read_printed("s14-table-3", table=number, collection="pooled").to_dict("records"):
            kinds = {"two-way": 1.0, "one-way": 0.99, "percentile95": 0.8}
            rows += [{**row, "task": task, "method": kind, "variance": row["variance"] * share,
                      "systems": 78, "topics": 50} for kind, share in kinds.items()]  # fmt: skip
    pools = read_printed("s14-table-9")
    # S14 §5.4: 100 topics at depth 10, 75 at depth 100
    topics = {10: 100, 100: 75}
    pools = pools.assign(topics_power=pools["depth"].map(topics).fillna(80))
    return {"variances": pd.DataFrame(rows), "pools": pools}


@pytest.mark.parametrize(
    ("paper", "frames", "unsaid"),
    [
        ("f19", printed_f19(), {"narrower intervals by model", "Tukey below SEM"}),
        ("ff21", printed_ff21(), set()),
        ("v17", printed_v17(), set()),
        ("s14", printed_s14(), set()),
    ],
)
def test_every_claim_holds_on_the_numbers_that_its_paper_printed(
    paper: str, frames: Frames, unsaid: set[str]
) -> None:
    """The criteria are the papers' own: what they print must pass; what they do not print is not decided."""
    assert verdicts(paper, frames) == {
        claim.name: UNKNOWN if claim.name in unsaid else HOLDS for claim in EXPERIMENTS[paper].claims
    }


def test_printed_tracks_on_which_tau_falls_below_are_told() -> None:
    """F19 Table 2: τ of T09 falls to .8675 with 50 shards."""
    rows = read_printed("f19-table-2", collection="T09").assign(significant_half=0.0)
    assert verdicts("f19", {"table_2": rows})["same ranking"] == FAILS


@pytest.mark.parametrize(
    ("paper", "frames", "name", "column", "failing"),
    [
        ("f19", printed_f19(), "table_1", "significant",
         {"more pairs with shards", "order of models", "shard terms add nothing"}),
        ("f19", printed_f19(), "table_1", "omega_sq", {"ω² falls with shards", "ω² rises with the model"}),
        ("f19", printed_f19(), "table_1", "top_group", {"smaller top group"}),
        ("f19", printed_f19(), "table_2", "width", {"narrower intervals by shards"}),
        ("ff21", printed_ff21(), "steady", "PPA", {"HSD steadiest", "PPA falls with the model"}),
        ("ff21", printed_ff21(), "steady", "AD", {"no active disagreement"}),
        ("ff21", printed_ff21(), "methods", "pairs",
         {"bANOVA finds most", "larger models find more", "correction outweighs bootstrap",
          "HSD within t with BH", "t with BH within the bootstrap"}),
        ("ff21", printed_ff21(), "fills-MD3", "PD", {"bootstrap depends less on fills"}),
        ("ff21", printed_ff21(), "widths", "width", {"interaction narrows intervals"}),
        ("v17", printed_v17(), "widths", "width", {"intervals halve", "fewer parts, narrower intervals"}),
        ("v17", printed_v17(), "divided", "share", {"P@10 more divided than AP", "splits mostly agree"}),
        ("s14", printed_s14(), "variances", "variance",
         {"nERR varies most", "nERR costs twice", "depth 10 varies more", "graded measures pay at depth 10",
          "two-way largest", "50 topics for .20", "D-measures steadier"}),
        ("s14", printed_s14(), "pools", "variance", {"shallow pools vary more"}),
    ],
)  # fmt: skip
def test_claims_fail_where_the_numbers_are_turned_round(
    paper: str, frames: Frames, name: str, column: str, failing: set[str]
) -> None:
    """Each value becomes large where it was small."""
    values = frames[name][column]
    turned = frames | {name: frames[name].assign(**{column: values.max() + 2 - values})}
    found = verdicts(paper, turned)
    assert {claim for claim in failing if found[claim] != FAILS} == set()


@pytest.mark.parametrize(
    ("test", "claim"),
    [
        ("unpaired t", "t finds fewest"),
        ("randomization, one-sided", "parts find more"),
        ("3 parts", "two parts suffice"),
        ("randomization, one-sided", "unanimity costs little"),
    ],
)
def test_counts_of_a_test_turn_claims_of_v17(test: str, claim: str) -> None:
    frames = printed_v17()
    counts = frames["counts"].copy()
    counts.loc[(counts["test"] == test) & (counts["alpha"] == 0.05), "pairs"] = 8000.0
    assert verdicts("v17", frames | {"counts": counts})[claim] == FAILS


def test_levels_and_related_runs_turn_claims_of_v17() -> None:
    frames = printed_v17()
    counts = frames["counts"].copy()
    counts.loc[counts["test"].isin(["2 parts", "3 parts"]) & (counts["alpha"] == 0.01), "pairs"] = 0.0
    assert verdicts("v17", frames | {"counts": counts})["levels matter less"] == FAILS
    related = frames["related"].assign(lost=0, gained=[0, 15], MD2=[0.01, 0.02])
    found = verdicts("v17", frames | {"related": related})
    assert found["related runs, fewer pairs"] == found["related runs, narrower intervals"] == FAILS


def test_intervals_that_grow_with_the_model_are_told() -> None:
    rows = [
        {"measure": "AP", "shards": 1 if model == "MD1" else 10, "model": model, "kind": kind,
         "lower": 0.0, "upper": width * (2.0 if kind == "sem" else 1.0)}
        for model, width in zip(("MD1", "MD2", "MD3", "MD6"), (0.4, 0.3, 0.2, 0.1), strict=True)
        for kind in ("tukey", "sem")
    ]  # fmt: skip
    frames = printed_f19() | {"intervals": pd.DataFrame(rows)}
    found = verdicts("f19", frames)
    assert found["narrower intervals by model"] == found["Tukey below SEM"] == HOLDS
    turned = frames | {"intervals": pd.DataFrame(rows).assign(upper=lambda f: 1.0 - f["upper"])}
    found = verdicts("f19", turned)
    assert found["narrower intervals by model"] == found["Tukey below SEM"] == FAILS


def test_fills_that_matter_under_md6_and_pools_that_cost_more_are_told() -> None:
    frames = printed_ff21()
    steady = frames["steady"].assign(PAA=frames["steady"]["PAA"] * 0.9)
    assert verdicts("ff21", frames | {"steady": steady})["PAA high and alike"] == FAILS
    fills = frames["fills-MD6"].assign(PD=1.0)
    assert verdicts("ff21", frames | {"fills-MD6": fills})["MD6 independent of fills"] == FAILS
    no_gap = frames | {name: frames[name].assign(undefined=0) for name in ("fills-MD3", "fills-MD6")}
    found = verdicts("ff21", no_gap)
    assert found["MD6 independent of fills"] == found["bootstrap depends less on fills"] == UNKNOWN
    pools = printed_s14()["pools"]
    dear = pools.assign(topics_power=pools["topics_power"].where(pools["depth"] > 10, 10_000))
    assert verdicts("s14", printed_s14() | {"pools": dear})["shallow pools cheaper"] == FAILS


@dataclass(frozen=True, kw_only=True)
class Median(sw.papers.PaperExperiment):
    """A sixth paper in one file: medians beside means."""

    tag: ClassVar[str] = "M26"
    title: ClassVar[str] = "medians beside means"

    share: float = 0.5

    def gather_data(self, data: Any) -> sw.papers.PaperData:
        return gather_scores(data, ("AP",))

    def list_steps(self, source: sw.papers.PaperData) -> dict[str, Any]:
        return {name: Middle(source.scores, name, self.share) for name in ("mean", "median")}

    def build_exhibits(self, frames: Frames, source: sw.papers.PaperData) -> Iterator[sw.papers.Exhibit]:
        shape = sw.papers.Shape(rows=("system",), columns=("kind",), values=("value",))
        printed = frames["rows"].assign(value_M26=0.25)
        yield sw.papers.Exhibit("Table 1", "means and medians", printed, shape=shape)


@dataclass(frozen=True)
class Middle:
    """One step."""

    scores: xr.Dataset
    name: str
    share: float

    def __call__(self) -> Frames:
        table = next(iter(self.scores.data_vars.values()))
        value = table.mean("topic") if self.name == "mean" else table.quantile(self.share, "topic")
        return {"rows": pd.DataFrame({"system": table["system"], "value": value, "kind": self.name})}


def check_skew(frames: Any) -> sw.papers.Evidence:
    table = frames["rows"].pivot(index="system", columns="kind", values="value")
    return sw.papers.Evidence(bool((table["mean"] > table["median"]).all()), f"{len(table)} systems")


Median.claims = (
    sw.papers.PaperClaim(
        name="skewed", statement="Means are above medians.", section="§1", needs=("rows",), check=check_skew
    ),
)


def test_a_sixth_paper_is_one_class(trec3: Path, tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    scores = sw.read_scores(trec3)
    paper = Median()
    result = paper.run(scores, folder=tmp_path, progress=lambda *steps: done.append(steps))
    assert done[-1] == (2, 2)
    assert len(list((tmp_path / "steps").rglob("*.parquet"))) == 2
    assert [v.verdict for v in result.verdicts] == [HOLDS]
    laid_out = result["Table 1"].lay_out("M26")
    first = laid_out.iloc[0].to_dict()
    assert first["mean",] == f"{float(scores.sel(system='sys1').mean()):.4f} (0.2500)"
    result.write(tmp_path)
    page = (tmp_path / "m26.html").read_text()
    assert "1 of 1 claim holds" in page
    assert r"\cmidrule" not in (tmp_path / "table-1.tex").read_text()
    pd.testing.assert_frame_equal(paper.run(scores, folder=tmp_path)["Table 1"].data, result["Table 1"].data)


def test_a_random_baseline_counts_with_all_its_repeats(data: Path) -> None:
    """llm1.csv: the difference of B from A is -.0171 over all seeds; that from seed 0 of A alone is -.108."""
    scores = sw.read_scores(data / "llm" / "tables" / "llm1.csv")
    found = sw.papers.j15(scores, "A", pools=2, repetitions=5, n_resamples=20)
    row = found["Figure 12"].data.iloc[0]
    means = scores.mean(("topic", "instance")).to_series()
    assert row["difference"] == pytest.approx(means["B"] - means["A"]) == pytest.approx(-0.0171, abs=1e-4)
    assert row["p"] > 0.5
    assert found.facts["baseline"] == "A (random, 3 repeats)"
    # as many single tests as pairs of seeds
    y = scores.transpose("system", "instance", "topic").to_numpy()
    p = [stats.ttest_rel(b, a).pvalue for a, b in zip(y[0], y[1], strict=True)]
    seven = found["Figure 7"].data.set_index("finding")["instances"]
    assert seven["worse, p < .05"] + seven["better, p < .05"] == sum(value < 0.05 for value in p)


@pytest.fixture(scope="module")
def seeds() -> xr.DataArray:
    """Two systems with four seeds and a deterministic one, 25 topics."""
    rng = np.random.default_rng(4)
    base = rng.beta(2, 3, 25)
    y = np.stack([base - 0.05 + rng.normal(0, 0.1, (4, 25)), base + rng.normal(0, 0.1, (4, 25)),
                  np.broadcast_to(base, (4, 25))])  # fmt: skip
    names = {"system": ["low", "high", "all"], "topic": [f"t{k}" for k in range(25)]}
    return xr.DataArray(y, dims=("system", "instance", "topic"), coords=names, name="AP")


def test_topics_that_a_seed_lacks_are_left_out_and_named(seeds: xr.DataArray) -> None:
    gaps = seeds.copy(data=seeds.to_numpy().copy())
    gaps[0, 1, 3] = np.nan
    found = sw.papers.j15(gaps, pools=2, repetitions=5, n_resamples=20)
    assert any("1 of 25 topics" in note and "t3" in note for note in found.notes)
    whole = sw.papers.j15(seeds.drop_sel(topic="t3"), pools=2, repetitions=5, n_resamples=20)
    pd.testing.assert_frame_equal(found["Figure 12"].data, whole["Figure 12"].data)
    gaps[0, 1, 1:] = np.nan
    with pytest.raises(InputError, match="leaves 1"):
        sw.papers.j15(gaps, pools=2, repetitions=5)


def test_copies_of_one_seed_have_the_paired_t(seeds: xr.DataArray) -> None:
    copies = seeds.isel(system=[0, 2], instance=[0, 0, 0])
    pair = (copies.isel(system=0), copies.sel(system="all").isel(instance=0, drop=True))
    expected = stats.ttest_rel(*(one.to_numpy().reshape(-1, 25)[0] for one in pair)).pvalue
    for design in ("paper", "nested", "crossed", "unified"):
        assert sw.compare_instances(*pair, design=design).p[0] == pytest.approx(expected)
    # pools that hold one seed several times are not thrown away: the limit of the mixed model
    found = sw.papers.j15(seeds, pools=40, repetitions=5, n_resamples=20)
    p = found["Figure 11"].data.query("size == 2")
    low = p[p["system"] == "low"]
    assert (low["mixed model, J15"] < 1.0).all()
    assert (low["mixed model, J15"] < low["unified"] + 0.05).all()


@pytest.mark.parametrize("paper", ["f19", "v17", "s14"])
def test_tables_with_gaps_and_seeds_are_taken(paper: str, seeds: xr.DataArray) -> None:
    make = EXPERIMENTS[paper]
    options = {"n_resamples": 50} if paper == "v17" else {}
    averaged = make(**options).run(seeds)
    assert "4 repeats" in averaged.notes[0]
    means = make(**options).run(seeds.mean("instance"))
    label = averaged.labels[0]
    pd.testing.assert_frame_equal(averaged[label].data, means[label].data)
    gaps = seeds.mean("instance")
    gaps[0, 3] = np.nan
    found = make(**options).run(gaps)
    if paper == "f19":
        assert "1 score missing and left out" in found.notes[0]
        assert found["Table 1"].data["significant"].notna().all()
    else:
        assert "1 topic of 25" in found.notes[0]
        complete = make(**options).run(gaps.drop_sel(topic="t3"))
        pd.testing.assert_frame_equal(found[label].data, complete[label].data)


def test_what_cannot_be_served_is_refused_with_the_reason(seeds: xr.DataArray) -> None:
    with pytest.raises(InputError, match="no documents to divide"):
        sw.papers.ff21(seeds)
    with pytest.raises(InputError, match="unexpected dimension 'shard'"):
        sw.papers.f19(seeds.rename(instance="shard"))
    with pytest.raises(InputError, match="do not say which are repeats"):
        sw.papers.j15(sw.simulate.collection(topics=4, systems=3, seed=1).collection())


@pytest.fixture(scope="module")
def poor() -> sw.Collection:
    """A collection with a topic that has two relevant documents only."""
    rng = np.random.default_rng(5)
    docs = [f"d{i}" for i in range(120)]
    relevant = {"poor": 2, **{f"t{k}": 40 for k in range(7)}}
    qrels = {t: {d: int(i < n) for i, d in enumerate(rng.permutation(docs))} for t, n in relevant.items()}
    runs = {
        f"r{s}": {t: {d: rng.random() + 0.2 * s * qrels[t][d] for d in docs} for t in qrels} for s in range(5)
    }
    return sw.read_collection(runs, qrels)


def test_topics_with_too_few_relevant_documents_are_left_out_and_named(poor: sw.Collection) -> None:
    v17 = sw.papers.v17(poor, measures=["AP"], shards=(2,), n_splits=2, n_resamples=20)
    assert any("With 3 parts, 1 of 8 topics" in note and "poor" in note for note in v17["Table 3"].notes)
    ff21 = sw.papers.ff21(poor, measures=["AP"], shards=(3,), fill_shards=(3,), samples=2)
    assert any("poor" in note for note in ff21["Table 1"].notes)
    assert {v.name: v.verdict for v in ff21.verdicts}["MD6 independent of fills"] == HOLDS


def test_parts_of_v17_are_made_by_a_die(poor: sw.Collection) -> None:
    splits = sw.split(poor, 2, kind="covered", draw="die", n_splits=1, seed=3)
    scores = sw.score(poor, "AP", splits)["AP"].isel(split=0, drop=True).dropna("topic")
    assert len(set(splits.sizes[0])) == 2, "a die makes parts of unequal size"
    fit = sw.bootstrap_anova(scores, "MD3").intervals(null="marginal", tails=1)
    found = sw.papers.v17(poor, measures=["AP"], shards=(2,), n_splits=2, n_resamples=20, seed=3)
    table = found["Table 3"].data.set_index(["shards", "model"])["width"]
    assert table[2, "MD3"] == pytest.approx(float((fit["upper"] - fit["lower"]).mean()))


def test_undefined_scores_can_be_left_out_of_f19(poor: sw.Collection) -> None:
    left = sw.papers.f19(poor, measures=["AP"], shards=(3,), samples=2, fill="leave")
    scores = sw.score(poor, "AP", sw.split(poor, 3, n_splits=2, seed=0))["AP"]
    assert bool(scores.isnull().any())
    fit = sw.anova(scores.isel(split=0, drop=True), "MD6")
    row = left["Table 1"].data.query("model == 'MD6'").iloc[0]
    assert row["omega_sq"] == pytest.approx(float(fit.table.loc["system", "omega_sq"]))
    steady = left["Table 2"].data.query("model == 'MD6'").iloc[0]
    each = [
        sw.compare(sw.anova(scores.isel(split=k, drop=True), "MD6"), "hsd").reject().sum() for k in (0, 1)
    ]
    assert steady["significant"] == np.mean(each)


def test_resamples_bring_the_least_and_the_largest_width(poor: sw.Collection) -> None:
    drawn = sw.papers.ff21(poor, measures=["AP"], shards=(2,), fill_shards=(3,), samples=2, n_resamples=200)
    table = drawn["Table 1"].data
    assert (table["least"] < table["width"]).all()
    assert (table["largest"] > table["width"]).all()
    assert "min" in drawn["Table 1"].lay_out("FF21").columns.get_level_values(-1)
    exact = sw.papers.ff21(poor, measures=["AP"], shards=(2,), fill_shards=(3,), samples=2)
    assert "min" not in exact["Table 1"].lay_out("FF21").columns.get_level_values(-1)
    seventeen = sw.papers.v17(poor, measures=["AP"], shards=(2,), n_splits=2, n_resamples=200)
    assert {"min", "max"} <= set(seventeen["Table 3"].lay_out("V17").columns.get_level_values(-1))


def test_the_measure_of_the_command_line_names_the_scores_of_a_table(data: Path, tmp_path: Path) -> None:
    done = shardwise("replicate", "f19", data / "trec8" / "adhoc8_ap.csv", "-m", "AP", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    cells = pd.read_csv(tmp_path / "equal-cells.csv")
    assert len(cells) == 4
    assert (cells["label"] == "Table 1").all()
    assert cells["printed"].tolist() == [0.3991, 3423, 4833, 7]


def test_all_papers_by_one_command(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    rng = np.random.default_rng(2)
    pd.DataFrame(rng.random((12, 3)), columns=["x", "y", "z"]).rename_axis("topic").to_csv(table)
    done = shardwise("replicate", "all", table, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text()
    assert "a table of scores has no documents to divide" in page
    for paper in ("f19", "v17", "s14"):
        assert f'href="{paper}/{paper}.html"' in page
        assert (tmp_path / paper / f"{paper}.html").is_file()
    assert "FF21: not made" in done.stdout
    assert "J15 compares systems with repeats" in done.stdout.replace("\n", " ")


def test_runs_with_seeds_give_j15(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    docs = [f"d{k}" for k in range(30)]
    qrels = "".join(f"{t} 0 {d} {int(k < 8)}\n" for t in range(6) for k, d in enumerate(docs))
    (tmp_path / "qrels.txt").write_text(qrels)
    for system in "ab":
        for seed in range(3):
            lines = []
            for t in range(6):
                order = rng.permutation(docs)
                lines += [f"{t} Q0 {d} {k + 1} {30 - k} {system}{seed}\n" for k, d in enumerate(order)]
            (tmp_path / f"{system}_seed{seed}.run").write_text("".join(lines))
    small = ("--repetitions", 5, "--pool", 2, "--resamples", 20, "--out", tmp_path / "out")
    inputs = (tmp_path / "qrels.txt", *sorted(tmp_path.glob("*.run")))
    done = shardwise("replicate", "j15", *inputs, "--instances", "{system}_seed{instance}.run", *small)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(tmp_path / "out" / "figure-6.csv")) == 4
    done = shardwise("replicate", "j15", *inputs, *small)
    assert done.returncode == 2
    assert "--instances" in done.stderr


def test_open_questions_have_collections_side_by_side(poor: sw.Collection) -> None:
    other = sw.simulate.collection(
        topics=6, systems=4, depth=60, corpus=2000, relevant=20, seed=2
    ).collection()
    found = sw.papers.open_questions({"poor": poor, "rich": other}, shards=2, samples=2)
    label = "Is MD6 for topics with few relevant documents?"
    table = found[label].data
    assert list(dict.fromkeys(table["collection"])) == ["poor", "rich"]
    assert table["least"].iloc[0] == 2
    scores = sw.fill_undefined(sw.score(poor, "AP", sw.split(poor, 2, n_splits=2, seed=0))["AP"], "zero")
    counts = {"poor": 2}
    fewest = [k for k, name in enumerate(poor.topics) if counts.get(name, 40) == 2]
    assert len(fewest) == 1
    by_hand = [sw.anova(scores.isel(split=k, drop=True), "MD6").table["ms"].loc["error"] for k in (0, 1)]
    assert np.isfinite(by_hand).all()
    assert [v.verdict for v in found.verdicts].count(UNKNOWN) == 0
    turned = table.assign(ratio=[0.9, 0.8, 0.7] * 2)
    claim = EXPERIMENTS["open-questions"].claims[0]
    assert decide_claim(claim, {"relevant": turned}, "").verdict == FAILS
    assert decide_claim(claim, {"relevant": turned.assign(ratio=[0.3, 0.4, 0.5] * 2)}, "").verdict == HOLDS
    with pytest.raises(InputError, match="no documents"):
        sw.papers.open_questions(np.zeros((4, 3)))
