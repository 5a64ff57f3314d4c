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
from shardwise.papers.claims import (
    FAILS,
    HOLDS,
    UNDECIDED,
    UNKNOWN,
    Figures,
    PaperClaim,
    count_topics,
    decide_claim,
    draw_topics,
    measure_claims,
    spread_over_splits,
)
from shardwise.papers.exhibit import ClaimVerdict, Frames
from shardwise.papers.experiment import cover_topics, gather_scores, score_covered
from shardwise.papers.shard_fits import HSD, TERMS, Rule, compare_splits, find_cuts, fit_models
from shardwise.papers.v17_replicates import compare_tests

IN_PRINT = {
    "more shards, more pairs": FAILS,
    "same ranking": f"{UNDECIDED} (1 of 3)",
    "PAA rises with the model": UNDECIDED,
    "200 systems": f"{UNDECIDED} (1 of 2)",
}
"""What the papers' own numbers do not say: MD3 loses pairs from 2 to 10 shards, τ falls below .9, PAA ties."""


def spread(values: dict[tuple[Any, ...], float], noise: float = 0.02) -> Figures:
    """Figures of 50 resamples and 20 splits around some values."""
    rng, figures = np.random.default_rng(8), Figures()
    for key, value in values.items():
        figures[key] = value * (1.0 + noise * rng.normal(0.0, 1.0, (51, 20)) * 0.1)
    return figures


def decide(paper: str, figures: Figures, only: str = "") -> dict[str, ClaimVerdict]:
    claims = [claim for claim in EXPERIMENTS[paper].claims if only in ("", claim.name)]
    frames = measure_claims(claims, figures, 50, "split")
    return {claim.name: decide_claim(claim, frames, EXPERIMENTS[paper]().read_figures()) for claim in claims}


def support(paper: str) -> Figures:
    """Figures on which every claim of a paper holds: those in print, and others where print has none."""
    values = {key: float(np.nanmean(value)) for key, value in EXPERIMENTS[paper]().read_figures().items()}
    if paper == "f19":
        for k, measure in enumerate(("AP", "P@10", "RBP", "nDCG")):
            values |= {("width", measure, 1, "MD1"): 0.2}
            values |= {("width", measure, 10, m): w for m, w in (("MD2", 0.09), ("MD3", 0.08), ("MD6", 0.05))}
            values["tau", measure, 10] = 0.99 if k < 3 else 0.8
        values |= {("tau", "AP", n): 0.95 for n in (2, 3, 4, 5, 25, 50)}
        # with more shards every model finds more
        for model in ("MD3", "MD4", "MD5"):
            values["pairs", "AP", 2, model] = 5100.0
            values["pairs", "AP", 5, model] = 5120.0
            values["pairs", "AP", 10, model] = 5140.0
        for n, model in ((1, "MD1"), (3, "MD6")):
            values |= {
                ("sem", "AP", n): 0.11,
                ("anova", "AP", n, model): 0.06,
                ("width", "AP", n, model): 0.1,
            }
    elif paper == "ff21":
        values |= {("PAA", "MD6", name): 0.99 for name in ("bANOVA(BH)", "tANOVA(BH)", "tANOVA(HSD)")}
    elif paper == "v17":
        values |= {("extreme", "AP", name): 0.5 for name in ("2 parts", "3 parts")}
        values |= {
            ("extreme", "AP", "unpaired t"): 0.1,
            ("related", "gained"): 0.01,
            ("pairs", "P@10", "2 parts", 0.05): 4000,
        }
    elif paper == "s14":
        values["variance", "depth 10", "AP", "two-way"] = 0.125
        values["variance", "depth 10", "nERR", "two-way"] = 0.13
        values["variance", "depth 10", "Q", "two-way"] = 0.06
        for _, task, name, kind in [key for key in values if key[0] == "variance"]:
            for other, share in (("one-way", 0.99), ("percentile95", 0.8)):
                values["variance", task, name, other] = share * values["variance", task, name, kind]
    elif paper == "j15":
        tests = ("mixed model, J15", "bootstrap, J15", "t, one repeat", "bootstrap, one repeat")
        values |= {
            ("significant", test): share for test, share in zip(tests, (0.6, 0.5, 0.3, 0.3), strict=True)
        }
        for name in ("gap", "simulated gap"):
            values |= {
                (name, tests[0], tests[1]): 0.01,
                (name, tests[0], tests[2]): 0.2,
                (name, tests[1], tests[2]): 0.2,
            }
        values |= {("scatter", test, size): 1.0 / size for test in tests[:2] for size in (2, 20)}
        values |= {("single", 0.5): 0.1, ("single", 0.0): 0.9, ("single", 1.0): 0.9}
        values |= {
            ("narrowing",): 0.3,
            ("not equivalent",): 0.5,
            ("unequal",): 0.1,
            ("no worse",): 0.01,
            ("itself",): 0.0,
        }
    else:
        values = {(name, "here", part): value for name, part, value in (
            ("ratio", "most", 0.5), ("ratio", "fewest", 0.3), ("new", "judgments", 90.0), ("new", "topics", 60.0),
            ("pairs", "1:1:1", 100.0), ("pairs", "8:1:1", 80.0))}  # fmt: skip
    return spread(values, noise={"f19": 0.02, "j15": 0.02, "ff21": 0.001}.get(paper, 0.0))


def contradict(figures: Figures) -> Figures:
    """Turn figures of one name round: what was large is small; what was 0, or stands alone, takes the other side."""
    turned = Figures()
    for name in dict.fromkeys(key[0] for key in figures):
        own = {key: value for key, value in figures.items() if key[0] == name}
        high, low = max(v.max() for v in own.values()), min(v.min() for v in own.values())
        for key, value in own.items():
            if name in ("opposed", "AD", "outside", "PD") or (low == high == 0.0):
                turned[key] = value + 2.0 + (5.0 if key[-1] == "zero" and key[-2] == "zero" else 0.0)
            elif name in ("narrowing", "unequal", "no worse"):
                turned[key] = -value
            elif name in ("minority", "not equivalent"):
                turned[key] = 0.0 * value
            else:
                turned[key] = high + low + 0.1 * (high + low) - value
    return turned


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_what_is_in_print_is_judged_by_the_same_rules(paper: str) -> None:
    """The limits are those of print, so print passes them; where it does not, the page says so."""
    found = {name: verdict.in_print for name, verdict in decide(paper, Figures("absent")).items()}
    said = {name: word for name, word in found.items() if word != UNKNOWN}
    assert {name: word for name, word in said.items() if not word.startswith(HOLDS)} == {
        name: word for name, word in IN_PRINT.items() if name in said
    }
    assert all(verdict.verdict == UNKNOWN for verdict in decide(paper, Figures("absent")).values())


# where turning all figures round leaves a claim alone, the figures that contradict it
CONTRADICTED: dict[tuple[str, str], dict[tuple[Any, ...], Any]] = {
    ("f19", "steady over samples"): {("pairs", "AP", 5, "MD6"): np.linspace(3000.0, 6000.0, 20)},
    ("f19", "shard terms add nothing"): {("pairs", "AP", 5, "MD5"): 6000.0},
    ("f19", "more shards, more pairs"): {("pairs", "AP", 10, "MD4"): 2000.0},
    ("f19", "limited gain from more shards"): {("pairs", "AP", 10, "MD2"): 9000.0},
    ("f19", "larger models less sensitive"): {("pairs", "AP", 10, "MD6"): 9000.0},
    ("f19", "same ranking"): {("tau", "AP", 25): 0.7},
    ("f19", "same ranking in three of four measures"): {("tau", "P@10", 10): 0.7},
    ("f19", "Tukey near SEM on the whole corpus"): {("width", "AP", 1, "MD1"): 0.3},
    ("f19", "Tukey below SEM"): {("width", "AP", 3, "MD6"): 0.2},
    ("ff21", "two tails nearer to print"): {("found", "AP", 2, "MD3", 2): 100.0},
    ("ff21", "PAA high"): {("PAA", "MD2", "tANOVA(BH)"): 0.8},
    ("ff21", "PAA alike"): {("PAA", "MD2", "tANOVA(BH)"): 0.8},
    ("ff21", "PAA rises with the model"): {("PAA", "MD6", "tANOVA(BH)"): 0.9},
    ("ff21", "larger models find more"): {("pairs", "MD6", "tANOVA(HSD)"): 100.0},
    ("ff21", "bootstrap depends less on fills"): {("PD", "MD3", "bANOVA(BH)", "zero", "one"): 900.0},
    ("ff21", "disagreement grows with the fill"): {("PD", "MD3", "bANOVA(BH)", "zero", "zero"): 900.0},
    ("v17", "interaction narrows intervals"): {("width", "AP", 2, "MD3"): 0.08},
    ("v17", "fewer parts, narrower intervals"): {("width", "AP", 2, "MD3"): 0.08},
    ("v17", "AP narrower than P@10"): {("width", "AP", 3, "MD3"): 0.2},
    ("v17", "t finds fewest"): {("pairs", "AP", "unpaired t", 0.05): 9000.0},
    ("v17", "parts find more"): {("pairs", "AP", "3 parts", 0.05): 100.0},
    ("v17", "two parts suffice"): {("pairs", "AP", "2 parts", 0.05): 100.0},
    ("v17", "unanimity costs little"): {("pairs", "AP", "multiple 2 parts", 0.05): 100.0},
    ("v17", "levels matter less"): {("pairs", "AP", "2 parts", 0.01): 100.0},
    ("v17", "splits mostly agree"): {("divided", "AP"): 0.4},
    ("v17", "related decisions alike"): {("related", "lost"): 200.0},
    ("v17", "related runs, fewer pairs"): {("related", "gained"): 20.0},
    ("s14", "nERR varies most"): {("variance", "deep", "nERR", "two-way"): 0.01},
    ("s14", "nERR costs twice"): {("variance", "deep", "nERR", "two-way"): 0.06},
    ("s14", "two-way largest"): {("variance", "deep", "AP", "one-way"): 0.2},
    ("s14", "power like intervals"): {("variance", "deep", "AP", "two-way"): 0.0005},
    ("s14", "50 topics for .20"): {("variance", "deep", "Q", "two-way"): 0.2},
    ("s14", "50 topics for .25 among 100"): {("variance", "diversity, depth 10", "D-nDCG", "two-way"): 0.2},
    ("s14", "200 systems"): {("variance", "depth 10", "AP", "two-way"): 0.05},
    ("s14", "shallow pools cheaper"): {("judged", 10): 5000.0},
    ("s14", "nERR twice at every pool depth"): {("pool", 30, "nERR"): 0.06},
    ("j15", "means decide in simulation"): {("single", 0.5): 0.9},
    ("j15", "mixed model above bootstrap"): {("significant", "mixed model, J15"): 0.2},
    ("j15", "equal to itself"): {("itself",): 0.5},
}  # fmt: skip


@pytest.mark.parametrize("paper", EXPERIMENTS)
def test_every_claim_holds_and_is_turned_round_by_figures_that_contradict_it(paper: str) -> None:
    figures = support(paper)
    found = decide(paper, figures)
    assert {name: v.verdict for name, v in found.items() if v.verdict != HOLDS} == {}
    assert {name: v.here for name, v in found.items() if v.here != HOLDS} == {}
    everything = decide(paper, contradict(figures))
    for name in found:
        own = CONTRADICTED.get((paper, name))
        turned = everything[name]
        if own is not None:
            changed = Figures()
            changed.update(
                {**figures, **{key: np.broadcast_to(value, (51, 20)) for key, value in own.items()}}
            )
            turned = decide(paper, changed, name)[name]
        assert (turned.verdict, turned.here) == (FAILS, FAILS), (name, turned)


def test_ratios_to_a_variance_of_zero_are_not_defined() -> None:
    figures = support("s14")
    for key in figures:
        if key[0] == "pool" or key[1] == "depth 10":
            figures[key] = 0.0 * figures[key]
    found = decide("s14", figures)
    for name in (
        "200 systems",
        "shallow pools vary more",
        "shallow pools cheaper",
        "nERR twice at every pool depth",
    ):
        assert found[name].verdict == UNKNOWN, name


def make_claim(direction: str = ">", limit: float = 0.0) -> PaperClaim:
    return PaperClaim(
        name="x", statement="x", section="§1", direction=direction, limit=limit,
        statistic=lambda figures: {"x": figures["x",]},
    )  # fmt: skip


def judge(values: Any, direction: str = ">", limit: float = 0.0, units: int = 50) -> ClaimVerdict:
    claim, figures = make_claim(direction, limit), Figures()
    figures["x",] = np.asarray(values, float)
    return decide_claim(claim, measure_claims([claim], figures, units, "split"), Figures())


def test_splits_and_topics_are_kept_apart() -> None:
    rng = np.random.default_rng(3)
    sure = judge(rng.normal(5.0, 0.5, (101, 20)))
    assert (sure.verdict, sure.here, sure.splits) == (HOLDS, HOLDS, "20 of 20 splits")
    # every split agrees, topics do not
    values = np.ones((101, 20)) + rng.normal(0.0, 2.0, (101, 1))
    values[0] = 1.0
    topical = judge(values)
    assert (topical.verdict, topical.here) == (UNDECIDED, HOLDS)
    assert topical.lower < 0.0 < topical.upper
    # two splits disagree, their mean is clear
    values = np.full((101, 20), 3.0)
    values[:, :2] = -1.0
    assert (judge(values).verdict, judge(values).here, judge(values).splits) == (
        HOLDS,
        UNDECIDED,
        "18 of 20 splits",
    )
    assert judge(-values).verdict == FAILS


def test_ties_are_undecided_unless_the_claim_allows_or_denies_them() -> None:
    tie = np.zeros((101, 20))
    assert (judge(tie).verdict, judge(tie).here) == (UNDECIDED, UNDECIDED)
    assert judge(tie, "<=").verdict == judge(tie, ">=").verdict == HOLDS
    assert judge(tie, "some").verdict == FAILS
    assert judge(tie + 0.3, limit=0.1 + 0.2).verdict == UNDECIDED


def test_three_pools_against_two_of_250_decide_nothing() -> None:
    rng, figures = np.random.default_rng(2), support("j15")
    for test, count in (("mixed model, J15", 3), ("bootstrap, J15", 2)):
        pools = rng.random((101, 250)) < count / 250.0
        pools[0] = np.arange(250) < count
        figures["significant", test] = pools.astype(float)
    found = decide("j15", figures, "mixed model above bootstrap")["mixed model above bootstrap"]
    assert (found.verdict, found.here) == (UNDECIDED, UNDECIDED)


def test_figures_of_all_splits_together_vary_as_splits_do() -> None:
    """The standard deviation of 20 normal numbers has a standard error of σ/√38; its jackknife values say so."""
    rng, errors = np.random.default_rng(3), []
    for _ in range(300):
        x = rng.normal(0.0, 2.0, 20)
        whole = np.array([x.std(ddof=1)])
        left_out = np.array([[np.delete(x, k).std(ddof=1) for k in range(20)]])
        values = spread_over_splits(whole, left_out)
        np.testing.assert_allclose(values.mean(axis=1), whole)
        errors.append(values.std(ddof=1) / np.sqrt(20.0))
    np.testing.assert_allclose(np.mean(errors), 2.0 / np.sqrt(38.0), rtol=0.05)


def test_a_true_tie_is_decided_in_one_case_of_twenty_at_most() -> None:
    """The mean of 40 topics of no effect, each split with an error of its own: 200 collections."""
    rng = np.random.default_rng(11)
    decided = 0
    for _ in range(200):
        topics = rng.normal(0.0, 1.0, (40, 1)) + rng.normal(0.0, 0.5, (40, 20))
        drawn = draw_topics(40, 60, int(rng.integers(1000)))
        decided += judge(topics[drawn].mean(axis=1), units=40).verdict in (HOLDS, FAILS)
    assert decided <= 20, "5% of 200, and two standard errors and more"


def test_resamples_of_models_are_models_of_resamples() -> None:
    """Weighted sums of squares give what `anova` and `compare` find on the resampled table."""
    rng = np.random.default_rng(5)
    y = rng.beta(1.0, 3.0, (2, 12, 6, 3)) + np.linspace(0.0, 0.3, 6)[:, None]
    drawn = draw_topics(12, 3, 1)
    fits = fit_models(y, count_topics(drawn), list(TERMS))
    boot = Rule("bootstrap", tails=1)
    keys = [(model, rule) for model in TERMS for rule in (HSD, Rule("t"), boot)]
    counts, cuts = find_cuts(fits, keys)
    for draw, split in ((0, 0), (2, 1)):
        table = xr.DataArray(y[split][drawn[draw]], dims=("topic", "system", "shard"))
        for model in ("MD2", "MD3", "MD4", "MD5", "MD6"):
            fit = sw.anova(table, model)
            assert fits.measure_omega(model)[draw, split] == pytest.approx(
                float(fit.table["omega_sq"].loc["system"])
            )
            pairs = sw.compare(fit, "hsd")
            assert counts[model, HSD][draw, split] == pairs.reject().sum()
            assert counts[model, Rule("t")][draw, split] == sw.compare(fit, "bh").reject().sum()
            width = pairs.intervals(0.95, "tukey")
            expected = float((width["upper"] - width["lower"]).mean())
            assert fits.find_difference(model, HSD)[draw, split] == pytest.approx(expected)
            assert fits.count_top(model)[draw, split] == len(pairs.best(0.05))
            exact = (
                sw.compare(sw.bootstrap_anova(table, model), "bh", null="marginal", tails=1).reject().sum()
            )
            assert abs(counts[model, boot][draw, split] - exact) <= 1, "the normal limit of the bootstrap"
    # agreement of two splits with each other
    first, second = (
        sw.compare(sw.anova(xr.DataArray(each, dims=("topic", "system", "shard")), "MD6"), "hsd")
        for each in y
    )
    shares = sw.stability.agreement(first, second)
    found = compare_splits(fits, cuts["MD6", HSD])
    for name in ("PAA", "PPA", "PD", "AD"):
        assert found[name][0].tolist() == pytest.approx([shares[name]] * 2, nan_ok=True)


def test_tests_of_v17_on_resamples() -> None:
    """Unpaired t-tests are exact; the randomization test is at its normal limit."""
    rng = np.random.default_rng(6)
    y = rng.beta(1.0, 3.0, (40, 8)) + np.linspace(0.0, 0.2, 8)
    drawn = draw_topics(40, 2, 1)
    found, _ = compare_tests(y, count_topics(drawn))
    for draw, rows in enumerate(drawn):
        pairs = sw.paired_tests(y[rows], test="unpaired-t")
        assert np.abs(found["unpaired t"][0][draw]).sum() == pairs.reject(0.05).sum()
        flips = sw.paired_tests(y[rows], test="randomization", alternative="greater", n_resamples=4000)
        assert abs(np.abs(found["randomization, one-sided"][0][draw]).sum() - flips.reject(0.05).sum()) <= 1


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

    def measure_figures(self, source: sw.papers.PaperData) -> Figures:
        figures = Figures()
        table = source.scores[source.first].transpose("topic", "system").to_numpy()
        drawn = table[draw_topics(len(table), self.claim_resamples, self.seed)]
        figures["mean",] = drawn.mean(axis=(1, 2))[:, None]
        figures["median",] = np.median(drawn, axis=1).mean(axis=1)[:, None]
        return figures

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


def compare_skew(figures: Figures) -> dict[str, Any]:
    return {"mean less median": figures["mean",] - figures["median",]}


Median.claims = (
    PaperClaim(name="skewed", statement="Means are above medians.", section="§1", statistic=compare_skew),
)


def test_a_sixth_paper_is_one_class(trec3: Path, tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    scores = sw.read_scores(trec3)
    paper = Median()
    result = paper.run(scores, folder=tmp_path, progress=lambda *steps: done.append(steps))
    assert done[-1] == (3, 3)
    assert len(list((tmp_path / "steps").rglob("*.parquet"))) == 4
    assert [v.verdict for v in result.verdicts] == [HOLDS]
    laid_out = result["Table 1"].lay_out("M26")
    first = laid_out.iloc[0].to_dict()
    assert first["mean",] == f"{float(scores.sel(system='sys1').mean()):.4f} (0.2500)"
    result.write(tmp_path)
    page = (tmp_path / "m26.html").read_text()
    assert "1 of 1 claim holds" in page
    assert r"\cmidrule" not in (tmp_path / "m26.tex").read_text()
    pd.testing.assert_frame_equal(paper.run(scores, folder=tmp_path)["Table 1"].data, result["Table 1"].data)


def test_a_random_baseline_counts_with_all_its_repeats(data: Path) -> None:
    """llm1.csv: the difference of B from A is -.0171 over all seeds; that from seed 0 of A alone is -.108."""
    scores = sw.read_scores(data / "llm" / "tables" / "llm1.csv")
    found = sw.papers.j15(
        scores, "A", pools=2, repetitions=5, n_resamples=20, claim_resamples=3, claim_splits=3
    )
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
    found = sw.papers.j15(gaps, pools=2, repetitions=5, n_resamples=20, claim_resamples=3, claim_splits=3)
    assert any("1 of 25 topics" in note and "t3" in note for note in found.notes)
    whole = sw.papers.j15(
        seeds.drop_sel(topic="t3"), pools=2, repetitions=5, n_resamples=20, claim_resamples=3, claim_splits=3
    )
    pd.testing.assert_frame_equal(found["Figure 12"].data, whole["Figure 12"].data)
    gaps[0, 1, 1:] = np.nan
    with pytest.raises(InputError, match="leaves 1"):
        sw.papers.j15(gaps, pools=2, repetitions=5)


def test_seeds_on_shards_are_averaged_over_the_shards(seeds: xr.DataArray) -> None:
    halves = xr.concat([seeds - 0.02, seeds + 0.02], "shard").transpose(..., "shard")
    source = EXPERIMENTS["j15"]().gather_data(halves)
    assert "mean over the shards" in source.notes[0]
    np.testing.assert_allclose(source.others["high"], seeds.sel(system="high"))


def test_copies_of_one_seed_have_the_paired_t(seeds: xr.DataArray) -> None:
    copies = seeds.isel(system=[0, 2], instance=[0, 0, 0])
    pair = (copies.isel(system=0), copies.sel(system="all").isel(instance=0, drop=True))
    expected = stats.ttest_rel(*(one.to_numpy().reshape(-1, 25)[0] for one in pair)).pvalue
    for design in ("paper", "nested", "crossed", "unified"):
        assert sw.compare_instances(*pair, design=design).p[0] == pytest.approx(expected)
    # pools that hold one seed several times are not thrown away: the limit of the mixed model
    found = sw.papers.j15(seeds, pools=40, repetitions=5, n_resamples=20, claim_resamples=3, claim_splits=3)
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
        assert "1 of 25 topics" in found.notes[0]
        complete = make(**options).run(gaps.drop_sel(topic="t3"))
        pd.testing.assert_frame_equal(found[label].data, complete[label].data)


def test_what_cannot_be_served_is_refused_with_the_reason(seeds: xr.DataArray) -> None:
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
    v17 = sw.papers.v17(
        poor, measures=["AP"], shards=(2,), n_splits=2, claim_resamples=5, claim_splits=4, n_resamples=20
    )
    assert any("With 3 parts, 1 of 8 topics" in note and "poor" in note for note in v17["Table 3"].notes)
    ff21 = sw.papers.ff21(
        poor, measures=["AP"], shards=(3,), fill_shards=(3,), samples=2, claim_resamples=5, claim_splits=4
    )
    assert any("poor" in note for note in ff21["Table 1"].notes)
    assert {v.name: v.verdict for v in ff21.verdicts}["MD6 independent of fills"] == HOLDS


def test_topics_with_as_many_relevant_documents_as_parts_are_covered() -> None:
    """Whole splits drawn again would hardly ever cover eight topics with four to six documents each."""
    rng = np.random.default_rng(4)
    docs = [f"d{i}" for i in range(300)]
    counts = {f"t{k}": 4 + k % 3 for k in range(8)} | {"none": 3}
    qrels = {t: {d: int(i < n) for i, d in enumerate(rng.permutation(docs))} for t, n in counts.items()}
    runs = {f"r{s}": {t: {d: rng.random() for d in docs} for t in qrels} for s in range(3)}
    made = sw.read_collection(runs, qrels)
    for draw in ("even", "die"):
        scores, left_out = score_covered(made, 4, ["AP"], draw, jobs=1, n_splits=5, seed=2)
        assert left_out["topic"].tolist() == ["none"]
        assert scores.sizes["topic"] == 8
        plain = sw.split(made, 4, kind=draw, n_splits=5, seed=2)
        covered = cover_topics(plain, made)
        sizes = [[np.bincount(row, minlength=4) for row in each.shards] for each in (plain, covered)]
        np.testing.assert_array_equal(*sizes)
        assert (plain.shards != covered.shards).any()


def test_parts_of_v17_are_made_by_a_die(poor: sw.Collection) -> None:
    splits = sw.split(poor, 2, kind="covered", draw="die", n_splits=1, seed=3)
    scores = sw.score(poor, "AP", splits)["AP"].isel(split=0, drop=True).dropna("topic")
    assert len(set(splits.sizes[0])) == 2, "a die makes parts of unequal size"
    fit = sw.bootstrap_anova(scores, "MD3").intervals(null="marginal", tails=1)
    found = sw.papers.v17(
        poor,
        measures=["AP"],
        shards=(2,),
        n_splits=2,
        claim_resamples=5,
        claim_splits=4,
        n_resamples=20,
        seed=3,
    )
    table = found["Table 3"].data.set_index(["shards", "model"])["width"]
    assert table[2, "MD3"] == pytest.approx(float((fit["upper"] - fit["lower"]).mean()))


def test_undefined_scores_can_be_left_out_of_f19(poor: sw.Collection) -> None:
    left = sw.papers.f19(
        poor, measures=["AP"], shards=(3,), samples=2, claim_resamples=5, claim_splits=4, fill="leave"
    )
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
    drawn = sw.papers.ff21(
        poor,
        measures=["AP"],
        shards=(2,),
        fill_shards=(3,),
        samples=2,
        claim_resamples=5,
        claim_splits=4,
        n_resamples=200,
    )
    table = drawn["Table 1"].data
    assert (table["least"] < table["width"]).all()
    assert (table["largest"] > table["width"]).all()
    assert "min" in drawn["Table 1"].lay_out("FF21").columns.get_level_values(-1)
    exact = sw.papers.ff21(
        poor, measures=["AP"], shards=(2,), fill_shards=(3,), samples=2, claim_resamples=5, claim_splits=4
    )
    assert "min" not in exact["Table 1"].lay_out("FF21").columns.get_level_values(-1)
    seventeen = sw.papers.v17(
        poor, measures=["AP"], shards=(2,), n_splits=2, claim_resamples=5, claim_splits=4, n_resamples=200
    )
    assert {"min", "max"} <= set(seventeen["Table 3"].lay_out("V17").columns.get_level_values(-1))


@pytest.mark.usefixtures("few_resamples")
def test_the_measure_of_the_command_line_names_the_scores_of_a_table(data: Path, tmp_path: Path) -> None:
    done = shardwise("replicate", "f19", data / "trec8" / "adhoc8_ap.csv", "-m", "AP", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    cells = pd.read_csv(tmp_path / "equal-cells.csv")
    assert len(cells) == 4
    assert (cells["label"] == "Table 1").all()
    assert cells["printed"].tolist() == [0.3991, 3423, 4833, 7]


@pytest.mark.usefixtures("few_resamples")
def test_all_papers_by_one_command(tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    rng = np.random.default_rng(2)
    pd.DataFrame(rng.random((12, 3)), columns=["x", "y", "z"]).rename_axis("topic").to_csv(table)
    done = shardwise("replicate", "all", table, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "index.html").read_text()
    assert "a table of scores has no documents to divide" in page
    for paper in ("f19", "ff21", "v17", "s14", "j15"):
        assert f'href="{paper}/{paper}.html"' in page
        assert (tmp_path / paper / f"{paper}.html").is_file()
    assert "MD1" in (tmp_path / "ff21" / "table-5.csv").read_text()
    assert "J15 compares systems with repeats" in done.stdout.replace("\n", " ")
    # simulated claims need no repeats
    simulated = pd.read_csv(tmp_path / "j15" / "claims.csv").set_index("claim")["verdict"]
    assert simulated["interval narrows with topics"] == HOLDS
    assert simulated["equal to itself"] == UNKNOWN
    tables = (tmp_path / "tables.tex").read_text()
    assert [tables.count(f" of {paper}: ") for paper in ("F19", "FF21", "V17", "S14")] == [1, 1, 2, 3]


@pytest.mark.usefixtures("few_resamples")
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
    found = sw.papers.open_questions(
        {"poor": poor, "rich": other}, shards=2, samples=2, claim_resamples=5, claim_splits=4
    )
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
    with pytest.raises(InputError, match="no documents"):
        sw.papers.open_questions(np.zeros((4, 3)))
