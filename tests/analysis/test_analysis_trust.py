"""The report's own calibration: the methods it used, on tables like its scores, and what it says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr
from markupsafe import escape

import shardwise as sw
from shardwise.analysis.analysis import Analysis
from shardwise.analysis.analyze import analyze
from shardwise.analysis.trust import default_budget, find_record, list_findings, trust_in
from shardwise.comparing.compare import make_tables, run_procedure
from shardwise.core.scores import as_scores
from shardwise.lab import recorded
from shardwise.lab.recorded import recorded_rates
from shardwise.methods.anova.method import make_anova
from shardwise.methods.names import Procedure, parse_procedure
from shardwise.methods.pairs import choose_pairs
from shardwise.writing.downloads import report_json
from shardwise.writing.html import render_report
from shardwise.writing.remarks import describe_finding, write_trust

SD = {"topic": 0.2, "topic:system": 0.08, "topic:shard": 0.1, "error": 0.06}


@pytest.fixture(scope="module")
def content() -> Analysis:
    scores = sw.simulate.scores(topics=20, systems=5, shards=3, sd=SD, effects=0.1, mean=2.0, seed=2)
    return analyze(scores, method="hsd", seed=3, calibration=60)


@pytest.mark.slow
def test_the_methods_of_the_report_are_tried(content: Analysis) -> None:
    lab = content.trust.calibration
    assert lab is not None
    assert content.trust.used == ("MD6 hsd", "MD6 hsd topic")
    assert (lab.repetitions, lab.seed, lab.alpha) == (60, 3, 0.05)
    direct = sw.calibrate(
        content.fit.scores,
        list(dict.fromkeys(lab.table["method"])),
        claims=[(), ("topic",)],
        repetitions=60,
        seed=3,
    )
    pd.testing.assert_frame_equal(direct.table, lab.table, check_exact=True)
    used = content.trust.rows.query("used")
    assert sorted(zip(used["claim"], used["method"], strict=True)) == [
        ("exactly these topics, exactly these shards", "MD6 hsd"),
        ("new topics like these, exactly these shards", "MD6 hsd topic"),
    ]


@pytest.mark.slow
def test_a_method_for_another_claim_is_called_wrong(content: Analysis) -> None:
    said = [describe_finding(finding, {})[0] for finding in list_findings(content.trust)]
    assert any("MD6 hsd reports at least one" in s and "not meant for this claim" in s for s in said)
    page = render_report(content)
    assert "Error rate exceeded: MD6 hsd" in page
    stored = report_json(content)["calibration"]
    assert json.loads(json.dumps(stored)) == stored
    assert stored["repetitions"] == 60
    assert {row["method"] for row in stored["methods"]} >= {"MD6 hsd", "MD6 hsd topic"}


def test_unequal_variances_are_warned_of() -> None:
    """One wild system among calm ones: a common error is too small for its differences."""
    rng = np.random.default_rng(5)
    spread = np.where(np.arange(8) < 2, 0.2, 0.01)
    y = sw.simulate.scores(topics=30, systems=8, sd={"topic": 0.1, "error": 0.001}, mean=3.0, seed=1)
    wild = analyze(y + rng.normal(0, spread, (30, 8)), method="hsd", calibration=100)
    assert any(remark.warning and "more than the nominal 5%" in remark.text for remark in wild.remarks)
    (warned,) = [finding for finding in list_findings(wild.trust) if finding.warning]
    _, remedy = describe_finding(warned, {})
    assert remedy.startswith("Use moderated instead; its answer is given too. At alpha 0.0")
    # only then are other methods tried
    assert wild.trust.calibration is not None
    assert {"MD1 hsd topic", "t holm", "max-t"} <= set(wild.trust.calibration.table["method"])
    (other,) = wild.instead
    direct = sw.compare(wild.scores, "moderated")
    assert other.procedure.name == "moderated"
    np.testing.assert_array_equal(other.pairs.p_adjusted, direct.p_adjusted)
    for surface in (str(wild), render_report(wild)):
        assert "By moderated, for new topics like these: " in surface
        assert f"{other.n_significant} of 28 pairs" in surface
    (stored,) = report_json(wild)["instead"]
    assert (stored["procedure"], stored["alpha"], stored["found"]) == ("moderated", 0.05, other.n_significant)
    assert len(stored["decisions"]["p_adjusted"]) == 28


def test_where_only_another_level_helps_the_answer_at_that_level_is_given() -> None:
    """The default fails, and so does all else: its own answer at the level where it would not."""
    scores = sw.simulate.scores(topics=20, systems=4, sd=SD, mean=2.0, effects=0.1, seed=2)
    found = analyze(scores, calibration=20)
    lab = found.trust.calibration
    assert lab is not None
    (verdict,) = lab.verdicts
    (family, *others) = verdict.advice
    failing = replace(family, status="fails", alpha=0.017, calibrated=True)
    table = lab.table.assign(status="fails", level=0.0171)
    doubted = replace(lab, table=table, verdicts=(replace(verdict, advice=(failing, *others)),))
    trust = replace(found.trust, calibration=doubted)
    assert trust.list_replacements() == (failing,)
    (finding,) = [finding for finding in list_findings(trust) if finding.warning]
    remedy = "At alpha 0.017 its rate would be 5%. The answer at that level is given too."
    assert describe_finding(finding, {})[1] == remedy


@pytest.mark.slow
def test_it_can_be_left_out_and_says_why_it_cannot_be_done(tmp_path: Path) -> None:
    scores = sw.simulate.scores(topics=10, systems=3, shards=2, seed=2)
    without = analyze(scores, calibration=0)
    assert without.trust.calibration is None
    assert 'id="trust"' not in render_report(without)
    assert report_json(without)["calibration"] is None
    holes = scores.copy(data=np.where(np.arange(60).reshape(10, 3, 2) == 7, np.nan, scores))
    left = analyze(holes, method="hsd", fill="leave", calibration=20)
    assert "undefined" in left.trust.reason
    ((heading, reason),) = write_trust(left)
    assert heading == "Not simulated"
    assert reason.startswith("1 of 60 scores")
    assert str(escape(reason)) in render_report(left)


def test_the_usual_alternatives_are_tried_beside_any_procedure() -> None:
    scores = sw.simulate.scores(topics=10, systems=3, seed=2)
    own = Procedure(make_anova(sw.Model.parse("topic + system")), "scheffe", sw.Claim("topic"))
    found = trust_in(as_scores(scores), (own,), alpha=0.05, budget=20, seed=0)
    assert found.calibration is not None
    assert found.used == (own.name,)
    assert {own.name, "moderated"} <= set(found.calibration.table["method"])
    # nothing fails, so nothing is looked for in its place
    assert "t holm" not in set(found.calibration.table["method"])


def like_a_collection(systems: int = 8) -> xr.DataArray:
    """Return 30 topics of scores from 0 to 1 with many values, alike in their variances."""
    rng = np.random.default_rng(6)
    return xr.DataArray(
        np.clip(rng.beta(2, 3, (30, 1)) + rng.normal(0, 0.1, (30, systems)), 0, 1), dims=("topic", "system")
    )


def test_what_is_on_record_is_not_simulated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardwise.analysis.trust.default_budget", lambda systems: 40)
    scores = like_a_collection()
    content = analyze(scores, calibration=None)
    rates = content.trust.recorded
    assert content.trust.calibration is None
    assert rates is not None
    assert rates == recorded_rates("moderated", topics=30, systems=8)
    assert content.trust.statements is not None
    assert f"over {rates.designs} recorded simulations" in render_report(content)
    assert report_json(content)["recorded_rates"]["mean"] == rates.mean
    # a number of tables asked for, a baseline, another level or method, shards and few topics are simulated
    assert analyze(scores, calibration=20).trust.recorded is None
    table = as_scores(scores)
    default = parse_procedure("moderated")
    assert find_record(table, (default,), alpha=0.05) == rates
    assert find_record(table, (default,), alpha=0.1) is None
    assert find_record(table, (default,), alpha=0.05, baseline="0") is None
    assert find_record(table, (parse_procedure("MD1 scheffe topic"),), alpha=0.05) is None
    assert find_record(table.select(topic=slice(20)), (default,), alpha=0.05) is None
    assert find_record(table.with_values((table.values > 0.5).astype(float)), (default,), alpha=0.05) is None
    assert find_record(table.with_values(table.values * 3), (default,), alpha=0.05) is None


def test_the_record_is_that_of_the_study() -> None:
    """The package has, of docs/bench/moderated_grid.csv, the designs whose systems are all equal."""
    from bench.moderated_grid import FIGURES, METHODS, RECORD, record_rates

    every = pd.read_csv(FIGURES).drop_duplicates(["data", "topics", "systems", "scenario", "method"])
    expected = record_rates(every[every["scenario"] != "planted"]).reset_index(drop=True)
    shipped = pd.read_csv(RECORD)
    pd.testing.assert_frame_equal(shipped, expected, check_names=False, check_column_type=False)
    near = shipped[shipped["topics"].between(15, 60) & shipped["systems"].between(4, 16)]
    rates = recorded_rates("t holm", topics=30, systems=8)
    assert rates is not None
    assert (rates.designs, rates.tables) == (len(near), near["tables"].sum())
    assert rates.mean == pytest.approx(near["t holm"].mean())
    hits = (near["t holm"] * near["tables"]).round()
    tails = [
        scipy.stats.binomtest(int(k), n, 0.05, "greater").pvalue
        for k, n in zip(hits, near["tables"], strict=True)
    ]
    assert rates.exceeding == sum(tail < 0.01 for tail in tails)
    assert len(METHODS) == 6


def test_the_kinds_of_tables_on_record_are_those_of_the_study(data: Path) -> None:
    """The coarsest scores of the study are P@10 and reciprocal ranks of TREC-8."""
    tables = {
        name: sw.read_scores(data / "trec8" / f"adhoc8_{name}.csv").transpose("topic", "system").to_numpy()
        for name in ("p10", "rr")
    }
    assert len(np.unique(tables["p10"])) == recorded.LEAST_VALUES
    share = np.unique(tables["rr"], return_counts=True)[1].max() / tables["rr"].size
    assert share == pytest.approx(recorded.LARGEST_SHARE, abs=0.005)
    assert all(map(recorded.is_recorded_kind, tables.values()))


@pytest.mark.slow
def test_the_default_is_tried_by_its_very_procedures() -> None:
    scores = sw.simulate.scores(topics=12, systems=3, shards=3, sd=SD, seed=2)
    found = analyze(scores, calibration=20, generalize="topic+shard")
    assert found.trust.used == tuple(one.procedure.name for one in found.claims)
    used = found.trust.rows.query("used")
    assert set(used["method"]) == set(found.trust.used)
    assert "new topics like these, new shards like these" in set(used["claim"])


def test_seeds_are_calibrated_as_seeds() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(0.4, 0.1, (12, 1, 1)) + rng.normal(0, 0.05, (12, 3, 3))
    found = analyze(xr.DataArray(values, dims=("topic", "system", "instance")), calibration=20)
    assert found.trust.used == ("moderated topic+instance",)
    assert "moderated topic+instance" in set(found.trust.rows["method"])


def test_tables_fall_with_the_number_of_pairs() -> None:
    counts = [default_budget(r) for r in (2, 20, 60, 143, 400)]
    assert counts == sorted(counts, reverse=True)
    assert min(counts) == 100


def test_the_report_shows_what_its_statements_do_on_data_like_these() -> None:
    scores = sw.simulate.scores(topics=25, systems=4, sd={"topic": 0.2, "error": 0.1}, effects=0.1, seed=4)
    content = analyze(scores, calibration=40, seed=2)
    check = content.trust.statements
    assert check is not None
    direct = sw.simulate.check_statements(scores, kinds=("intervals", "power"), repetitions=40, seed=2)
    pd.testing.assert_frame_equal(check.table, direct.table)
    page, rows = render_report(content), report_json(content)["statements"]
    assert "Statements of this report" in page
    assert "All rank ranges cover" in page
    assert [row["measured"] for row in rows] == check.table["measured"].tolist()
    # topics in clusters are not resampled one by one
    units = scores.assign_coords(cluster=("topic", np.arange(25) // 3))
    assert analyze(units, calibration=10).trust.statements is None


def test_a_baseline_is_tried_on_its_own_pairs() -> None:
    """Holm's correction of 5 pairs is weaker than that of 15, and in equal systems both keep the level."""
    scores = sw.simulate.scores(topics=25, systems=6, sd={"topic": 0.2, "error": 0.1}, effects=0.1, seed=4)
    names = [str(name) for name in scores["system"].values]
    content = analyze(scores, method="t holm", baseline=names[2], calibration=100, seed=1)
    lab = content.trust.calibration
    assert lab is not None
    how: dict[str, Any] = {"repetitions": lab.repetitions, "seed": 1, "claims": [("topic",)]}
    own = sw.calibrate(content.fit.scores, ["t holm"], baseline=names[2], **how).table.set_index("method")
    every = sw.calibrate(content.fit.scores, ["t holm"], **how).table.set_index("method")
    found = lab.table.set_index("method")
    assert found.loc["t holm", "power"] > every.loc["t holm", "power"]
    assert own.loc["t holm", "power"] > every.loc["t holm", "power"]
    assert f"all were compared with {names[2]}" in render_report(content)
    with pytest.raises(sw.InputError, match="unknown system 'nobody'"):
        sw.calibrate(content.fit.scores, ["t holm"], baseline="nobody", repetitions=10)
    with pytest.raises(sw.InputError, match="a baseline is one of the systems of the scores"):
        sw.calibrate({"topic": 0.1, "error": 0.1}, ["t holm"], baseline="nobody", repetitions=10)


def test_pairs_with_a_baseline_are_decided_as_compare_does() -> None:
    scores = sw.simulate.scores(topics=25, systems=6, sd={"topic": 0.2, "error": 0.1}, effects=0.1, seed=4)
    table = as_scores(scores)
    names = table.systems
    for name in ("t holm", "MD1 dunnett topic", "MD1 bh topic", "moderated"):
        procedure = sw.methods.parse_procedure(name)
        tables = make_tables(procedure, table)
        pairs = choose_pairs(tuple(map(str, range(tables.systems))), None, ["2"])
        assert pairs is not None
        ia, ib = pairs
        found = procedure.decide(tables, pairs)
        frame = run_procedure(procedure, table, baseline=names[2]).to_frame()
        other = [a if b == names[2] else b for a, b in zip(frame["a"], frame["b"], strict=True)]
        expected = dict(zip(other, frame["p_adjusted"], strict=True))
        own = [names[a] if b == 2 else names[b] for a, b in zip(ia, ib, strict=True)]
        np.testing.assert_allclose(found.p_adjusted[0], [expected[one] for one in own], rtol=1e-9)
