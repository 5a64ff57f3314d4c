"""What an analysis and its report say is what the library computes, in words that are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from report_pages import simulated
from shardwise.analysis.analyze import analyze
from shardwise.analysis.diagnostics import identical_systems
from shardwise.analysis.power import power_of
from shardwise.analysis.provenance import hash_files, scores_hash
from shardwise.comparing.compare import compare, run_procedure
from shardwise.comparing.stability import over_splits, unanimous
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD6
from shardwise.core.scores import as_scores
from shardwise.io.reader import read_collection
from shardwise.io.scores import read_scores
from shardwise.lab.recorded import LARGEST_RATIO
from shardwise.methods.anova.fit import anova
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import TABLE, Tables
from shardwise.planning.variances import variance
from shardwise.scoring.scoring import score
from shardwise.scoring.undefined import fill_undefined
from shardwise.sharding.split import split
from shardwise.stats.studentized_range import isf
from shardwise.writing import answer, words
from shardwise.writing.assets import make_axis
from shardwise.writing.downloads import pairs_frame, report_json, systems_frame
from shardwise.writing.methods import SOURCES, format_bibliography, methods_latex, methods_text


@pytest.mark.slow
def test_trec8_has_the_published_figures(data: Path) -> None:
    """F19 Table 1: MD1 on TREC-8 AP tells 3423 of 8256 pairs apart, top group of 7, omega² .3991."""
    scores = read_scores(data / "trec8" / "adhoc8_ap.csv")
    content = analyze(scores, method="hsd")
    here, like = content.claims
    assert (here.n_significant, len(here.pairs), len(here.best_set)) == (3423, 8256, 7)
    assert like.n_significant == here.n_significant
    said = report_json(content)
    system = next(row for row in said["anova"] if row["term"] == "system")
    assert round(system["omega_sq"], 4) == 0.3991
    assert "tied with 6 others of 129 systems" in said["answer"]
    assert "The same pairs differ for exactly these 50 topics." in answer.write_pairs(content)
    assert "the same error term" in answer.write_contrast(content)


@pytest.mark.slow
def test_trec_covid_from_runs_to_both_claims(data: Path, covid_runs: Path) -> None:
    """The top groups and pairs in the words are those of the comparisons made one by one."""
    qrels = data / "trec-covid-r1" / "qrels.covid-round1.txt"
    runs = read_collection(covid_runs, qrels)
    whole = analyze(score(runs, ["AP"])["AP"], method="hsd")
    assert (whole.claims[0].n_significant, len(whole.claims[0].pairs)) == (4199, 10153)
    # the systems of all recorded tables that vary most unequally
    deviations = whole.scores.to_xarray().std("topic").to_numpy()
    assert deviations.max() / np.median(deviations) == pytest.approx(LARGEST_RATIO, abs=0.005)
    scores = score(runs, ["AP"], split(runs, 5, n_splits=2, seed=0))["AP"]
    content = analyze(scores, method="hsd", inputs=[qrels])
    filled = fill_undefined(scores, "zero")
    for claim, name in zip(content.claims, ("mean MD6 hsd", "mean MD6 hsd topic"), strict=True):
        pairs = compare(filled, name)
        assert claim.n_significant == int(pairs.reject(0.05).sum())
        assert claim.best_set == pairs.best(0.05)
    here, like = content.claims
    assert len(like.best_set) > len(here.best_set)
    assert content.splits[0].pairs == 10153
    assert any("Identical scores" in remark.text for remark in content.remarks)


class TestAnswer:
    def content(
        self,
        values: list[float],
        noise: float,
        method: str | None = "hsd",
        *,
        topics: int = 40,
        seed: int = 3,
    ) -> str:
        rng = np.random.default_rng(seed)
        shape = (topics, len(values), 3)
        scores = np.array(values)[None, :, None] + rng.normal(0, noise, (topics, len(values), 1))
        names = [f"s{j}" for j in range(len(values))]
        table = xr.DataArray(
            scores + rng.normal(0, 0.001, shape),
            dims=("topic", "system", "shard"),
            coords={"system": names},
        )
        found = analyze(table, method=method)
        return " ".join([answer.write_answer(found), *answer.write_pairs(found)])

    @pytest.mark.parametrize("method", ["hsd", None])
    def test_a_clear_winner(self, method: str | None) -> None:
        said = self.content([0.9, 0.5, 0.1], 0.001, method)
        assert re.match(
            r"Best: s0 \(0\.\d+\)\. It is significantly better than the runner-up, s1"
            r" \(\+0\.\d+, 95% CI 0\.\d+ to 0\.\d+\)\.",
            said,
        ), said
        assert "The same pairs differ for exactly these 40 topics and 3 shards." in said

    @pytest.mark.parametrize("method", ["hsd", None])
    def test_two_systems(self, method: str | None) -> None:
        said = self.content([0.9, 0.1], 0.001, method)
        assert re.match(
            r"s0 is significantly better than s1: \+0\.\d+ \(95% CI 0\.\d+ to 0\.\d+, p [<≤] 0\.0001\)\.",
            said,
        )
        unsure = self.content([0.5, 0.48], 0.1, method)
        assert re.match(
            r"(s\d) and (s\d) are tied: difference \S+ \(95% CI \S+ to \S+, p = 0\.\d+\)\."
            r" For exactly these 40 topics and 3 shards: \1 is significantly better than \2",
            unsure,
        ), unsure

    def test_better_here_but_not_for_new_topics(self) -> None:
        said = self.content([0.5, 0.49, 0.1], 0.1)
        assert re.match(r"Best: s\d \(\S+\) and s\d \(\S+\), tied\. ", said), said
        assert "For exactly these 40 topics and 3 shards: best: s" in said

    def test_no_winner(self) -> None:
        rng = np.random.default_rng(1)
        table = xr.DataArray(rng.normal(0.5, 0.1, (20, 4)), dims=("topic", "system"))
        for method in ("hsd", None):
            said = answer.write_answer(analyze(table, method=method))
            assert said.startswith("No winner: all 4 systems are tied. Highest mean: "), said


def test_a_model_without_the_claim_says_so() -> None:
    content = analyze(simulated(5), model="MD2")
    assert len(content.claims) == 1
    assert content.unsupported == "MD2 supports claims about exactly these topics only"
    assert answer.write_contrast(content).startswith("This result does not apply to new topics")
    assert content.power is None


def test_undefined_cells_are_counted_and_warned_of() -> None:
    scores = simulated(4, holes=0.2, splits=2)
    undefined = int(scores.isel(split=0).isnull().sum())
    content = analyze(scores)
    cells = content.fit.scores.values.size
    (first,) = [remark for remark in content.remarks if "undefined" in remark.text]
    assert f"{undefined} of {cells} scores" in first.text
    assert first.warning
    assert content.configuration["scores_sha256"] == scores_hash(as_scores(scores))
    left = analyze(simulated(4, holes=0.05), method="hsd", fill="leave")
    assert any("missing and left out" in remark.text for remark in left.remarks)
    dropped = analyze(simulated(4, holes=0.02), fill="drop")
    assert any("left out" in remark.text for remark in dropped.remarks)
    classic = analyze(simulated(4, holes=0.05), method="t holm", fill="leave")
    gone = int(simulated(4, holes=0.05).isnull().any(["system", "shard"]).sum())
    assert f"new topics like these {30 - gone}" in classic.lead.claim
    assert any(f"{gone} topics are left out" in remark.text for remark in classic.remarks)


def test_missing_scores_are_left_out_and_never_filled() -> None:
    """A gap is no zero: the pair is compared on the items that both have."""
    table = simulated(4).mean("shard")
    table.values[3, 2] = np.nan
    content = analyze(table)
    means = table.mean("topic").values
    estimates = content.lead.pairs.estimates
    assert np.allclose(sorted(estimates.values), sorted(means))
    (remark,) = [one for one in content.remarks if one.name == "missing scores"]
    assert remark.text.startswith("1 of 120 scores is missing and is left out")
    named = analyze(table, fill=0.5)
    assert np.allclose(
        sorted(named.lead.pairs.estimates.values), sorted(table.fillna(0.5).mean("topic").values)
    )


def test_missing_seeds_are_counted() -> None:
    rng = np.random.default_rng(3)
    values = 0.1 * np.arange(3)[:, None] + rng.normal(0.4, 0.05, (40, 3, 4))
    values[:, 1, 3] = np.nan
    table = xr.DataArray(
        values, dims=("question", "model", "seed"), coords={"model": list("abc")}, name="accuracy"
    )
    content = analyze(table)
    assert content.lead.claim == "new questions like these 40, any seed (3 to 4 seen)"
    assert [one.text for one in content.remarks if one.name == "missing seeds"] == [
        "1 model has fewer than 4 seeds: b (3)."
    ]
    assert not any(one.warning for one in content.remarks)
    assert "with 3 to 4 seeds of each model" in methods_text(content)


def test_warnings_appear_where_they_should() -> None:
    rng = np.random.default_rng(2)
    heavy = simulated(5, topics=12)
    heavy.values[:, 4] += rng.standard_t(2, heavy.values[:, 4].shape)
    heavy.values[:, 1] = heavy.values[:, 0]
    said = " ".join(remark.text for remark in analyze(heavy, method="hsd").remarks)
    for words_of in ("Only 12 topics", "not normally distributed", "times as large for", "run000 and run001"):
        assert words_of in said
    moderated = analyze(heavy)
    assert [one.name for one in moderated.remarks if one.warning] == ["few topics"]
    assert all(one.remedy for one in moderated.remarks if one.warning)
    calm = analyze(simulated(5))
    assert not any(remark.warning for remark in calm.remarks)


def test_identical_systems_are_found_once() -> None:
    table = xr.DataArray(
        np.tile([[0.1, 0.2, 0.1, 0.1]], (3, 1)), dims=("topic", "system"), coords={"system": list("abcd")}
    )
    assert identical_systems(as_scores(table)) == [("a", "c"), ("a", "d")]


class TestPower:
    def test_variance_is_that_of_the_topic_means(self) -> None:
        scores = simulated(6)
        estimates = anova(scores, MD6).estimates(generalize=("topic",))
        power = power_of(estimates, 30, 0.05)
        assert power is not None
        assert np.isclose(power.sigma_sq, float(variance(scores.mean("shard"), "residual")))

    def test_a_paired_t_test_does_find_it_in_four_cases_of_five(self) -> None:
        scores = simulated(6)
        power = analyze(scores).power
        assert power is not None
        rng = np.random.default_rng(5)
        drawn = rng.normal(power.detectable_two, np.sqrt(2 * power.sigma_sq), (4000, 30))
        found = stats.ttest_1samp(drawn, 0.0, axis=1).pvalue <= 0.05
        assert abs(found.mean() - 0.8) < 0.03

    def test_the_default_finds_one_pair_of_six_systems_in_four_cases_of_five(self) -> None:
        power = analyze(simulated(6)).power
        assert power is not None
        drawn = np.random.default_rng(7).normal(0.0, np.sqrt(power.sigma_sq), (600, 30, 6))
        drawn[:, :, 0] += power.detectable
        decided = parse_procedure("moderated").decide(Tables(drawn, TABLE, n_resamples=199))
        # 600 tables have a Monte-Carlo error of 1.6 points
        assert abs((decided.p_adjusted[:, 0] <= 0.05).mean() - 0.8) < 0.05

    def test_words_and_table_agree(self) -> None:
        content = analyze(simulated(6), method="hsd")
        power = content.power
        assert power is not None
        assert power.target < power.detectable
        assert power.target_topics > power.topics
        for needs in ([need.two for need in power.needs], [need.all for need in power.needs]):
            assert needs == sorted(needs, reverse=True)
        assert all(need.all > need.two for need in power.needs)
        _, second, _, third = words.write_power(power, content)
        assert second == f"A difference of {power.target:g} needs {power.target_topics} topics."
        critical = isf(0.05, 6, content.claims[1].pairs.estimates.df) * np.sqrt(
            content.claims[1].pairs.estimates.variance
        )
        assert f"any gap of {critical:.3f} or more is significant" in third


def test_stability_counts_pairs_that_every_split_finds() -> None:
    scores = simulated(8, splits=4)
    content = analyze(scores, method="hsd")
    assert [one.key for one in content.splits] == ["here", "like"]
    for one, generalize in zip(content.splits, ((), ("topic",)), strict=True):
        together = unanimous(over_splits(scores, MD6, "hsd", generalize=generalize))
        assert one.common == int(together.reject(0.05).sum())
        said = words.write_split_agreement(one, content)
        assert f"finds {one.common} of 28 pairs" in said
        assert f"{one.procedure.name} on each split" in said
        assert one.divided["pairs"]["divided"] == one.divided["pairs"].iloc[1:-1].sum()
    assert analyze(simulated(4)).splits == ()


def test_every_split_is_put_to_the_very_procedure() -> None:
    scores = simulated(5, splits=3)
    content = analyze(scores, n_resamples=199, seed=7)
    for one, claim in zip(content.splits, content.claims, strict=True):
        assert one.procedure == claim.procedure.on_one_split
        each = [
            run_procedure(one.procedure, as_scores(scores).select(split=i), n_resamples=199, seed=7)
            for i in range(3)
        ]
        assert one.common == int(unanimous(each).reject(0.05).sum())
    said = answer.write_splits(content)
    assert said.startswith("Results are means over 3 splits. For new topics like these, ")
    for one in content.splits:
        assert one.noise is not None
        assert f"{one.noise.removable:.0%} of the error variance" in said
        assert f"{one.noise.enough:,} splits make p-values stable" in said


@pytest.mark.parametrize("method", ["hsd", "bh", "by", "holm", "bonferroni", "scheffe", "none"])
def test_every_method_makes_a_report(method: str) -> None:
    content = analyze(simulated(5, holes=0.05), method=method, fill="leave")
    paragraph = methods_text(content)
    assert content.claims[1].n_significant <= 10
    assert "5 systems on 30 topics" in paragraph
    cited = set(re.findall(r"\\cite\{([^}]*)\}", methods_latex(content)))
    keys = {key for group in cited for key in group.split(",")}
    assert keys <= set(SOURCES)
    assert set(re.findall(r"@\w+\{(\w+),", format_bibliography(content))) == keys


@pytest.mark.parametrize("method", ["hsd", "bh", "by", "holm", "bonferroni", "scheffe", "none"])
def test_a_difference_counts_from_the_critical_one(method: str) -> None:
    for claim in analyze(simulated(12), method=f"MD6 {method}").claims:
        assert ((claim.pairs.difference >= claim.critical_difference) == claim.pairs.reject(0.05)).all()
        assert 0 < claim.n_significant < 66


def test_half_widths_are_those_of_the_differences() -> None:
    for claim in analyze(simulated(5), method="hsd").claims:
        frame = claim.pairs.intervals(0.95, kind="difference")
        assert np.allclose(frame["upper"] - frame["difference"], claim.half_widths, rtol=1e-7)
        assert claim.has_common_width


def test_tables_hold_every_system_and_pair() -> None:
    content = analyze(simulated(6))
    systems, pairs = systems_frame(content), pairs_frame(content)
    assert systems["mean"].is_monotonic_decreasing
    assert list(systems["system"]) == list(content.systems)
    assert len(pairs) == 2 * 15
    assert (pairs["differs"] == (pairs["p_adjusted"] <= 0.05)).all()
    plain = pairs_frame(analyze(simulated(6), method="hsd"))
    away_from_zero = (plain["lower"] > 0) | (plain["upper"] < 0)
    assert (away_from_zero == plain["differs"]).all()
    said = json.loads(json.dumps(report_json(content), allow_nan=False))
    assert [row["system"] for row in said["systems"]] == list(content.systems)
    assert len(said["pairs"]["here"]["p_adjusted"]) == 15
    assert {row["term"] for row in said["anova"]} == set(content.fit.table.index)


def test_one_hash_for_the_same_file_and_scores(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (one,) = hash_files([tmp_path / "a"])
    # FIPS 180-2, B.1
    assert one.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(InputError, match="cannot be read"):
        hash_files([tmp_path / "b"])


def test_refusals() -> None:
    with pytest.raises(InputError, match="but no topic"):
        analyze(simulated(3).rename(topic="day"))
    with pytest.raises(InputError, match="not between 0"):
        analyze(simulated(3), alpha=5)
    with pytest.raises(InputError, match="Dunnett"):
        analyze(simulated(3), method="dunnett")


def test_exact_fit_and_equal_systems_make_a_report() -> None:
    """No error at all: nothing to plan with, but no crash either."""
    table = xr.DataArray(
        np.add.outer(np.linspace(0, 0.3, 10), [0.1, 0.2, 0.2]),
        dims=("topic", "system"),
        coords={"system": list("abc")},
    )
    content = analyze(table, model=MD1)
    assert content.power is None
    assert any("fits the scores exactly" in remark.text for remark in content.remarks)


def test_letters_that_would_explain_nothing_are_left_out() -> None:
    """Without a common spread groups overlap in many ways; the report still has every pair."""
    rng = np.random.default_rng(4)
    scores = simulated(24, topics=10)
    scores.values[rng.random(scores.shape) < 0.45] = np.nan
    scores.values[:, :, 0] = rng.normal(0.3, 0.05, scores.shape[:2])
    content = analyze(scores, method="none", fill="leave", model="topic + system")
    for claim in content.claims:
        assert claim.letters is None or max(map(len, claim.letters)) <= 48
    assert len(report_json(content)["pairs"]["here"]["p"]) == 276


@pytest.mark.parametrize(("low", "high"), [(0.013, 0.402), (-3.0, 250.0), (0.2, 0.2), (1e-5, 3e-5)])
def test_an_axis_has_a_few_round_ticks_inside(low: float, high: float) -> None:
    axis = make_axis([low, high])
    assert 2 <= len(axis.ticks) <= 7
    assert axis.low < axis.ticks[0] < axis.ticks[-1] < axis.high
    assert 0 <= axis.locate_value(low) <= axis.locate_value(high) <= 1000


def test_other_terms_have_meanings_too() -> None:
    content = analyze(simulated(3), method="hsd")
    assert words.explain_term("query", content) == "Levels of query differ on average."
    assert words.explain_term("query:ranker", content).startswith("Interaction of query and ranker")
    assert words.explain_term("topic:system", content).endswith("Error term for new topics like these.")
    assert "Error term" not in words.explain_term("topic:system", analyze(simulated(3)))


def test_undefined_shards_may_be_left() -> None:
    """No topic is lost for a shard without relevant documents, and both claims are made."""
    scores = simulated(4, topics=14, shards=3, holes=0.15)
    assert scores.isnull().all("system").any("shard").sum() > 2
    found = analyze(scores, fill="leave", n_resamples=199)
    assert found.topics == 14
    assert [one.procedure.name for one in found.results_in_order] == ["moderated", "moderated holm these"]
    cells = int(scores.isnull().all("system").sum())
    assert any(f"{cells} of 42 cells of topics and shards are undefined" in one.text for one in found.remarks)
    assert "such cells were left out" in methods_text(found)
    means = scores.mean("shard").mean("topic").to_series()
    assert found.lead.intervals["estimate"].to_numpy() == pytest.approx(means[list(found.systems)].to_numpy())
