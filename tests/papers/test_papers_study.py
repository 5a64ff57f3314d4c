"""The study of several collections: the verdicts of each paper, over collections, and error rates of approaches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shardwise as sw
from command_line import shardwise
from shardwise.papers.claims import FAILS, HOLDS, UNDECIDED, UNKNOWN
from shardwise.papers.paper_study import (
    PAPERS,
    SIMULATIONS,
    choose_approaches,
    count_collections,
    count_surely,
)

SMALL = {"repetitions": 20, "claim_splits": 3, "claim_resamples": 5, "shards": (1, 3), "jobs": 1}
FEW = ("MD3 hsd", "MD6 bh", "moderated holm these", "moderated")
"""Approaches of each aim and kind of error; bootstrap ANOVA takes ten times as long."""


@pytest.fixture(scope="module")
def runs() -> sw.Collection:
    return sw.simulate.collection(
        topics=10, systems=4, depth=100, corpus=3000, relevant=30, seed=4
    ).collection()


@pytest.fixture(scope="module")
def seeds() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    index = pd.MultiIndex.from_product([range(12), ["a", "b"], range(3)], names=["item", "system", "seed"])
    return pd.DataFrame({"score": rng.random(len(index))}, index=index).reset_index()


@pytest.fixture(scope="module")
def made(runs: sw.Collection, seeds: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple:  # type: ignore[type-arg]
    folder = tmp_path_factory.mktemp("study")
    data = {"runs": runs, "questions": sw.read_scores(seeds)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shardwise.papers.paper_study.SHARDED", FEW)
        patch.setattr("shardwise.papers.paper_study.WHOLE", ("MD1 hsd topic", "t bh", "moderated"))
        # of J15's simulations
        patch.setitem(PAPERS["J15"].__init__.__kwdefaults__, "repetitions", 50)
        return sw.papers.study(data, folder=folder, **SMALL), data, folder


def test_verdicts_are_those_of_each_paper(made) -> None:  # type: ignore[no-untyped-def]
    study, data, _ = made
    rows = study["Claims"].data.set_index(["paper", "collection", "claim"]).sort_index()
    how = {"claim_splits": 3, "claim_resamples": 5, "jobs": 1}
    for verdict in sw.papers.V17(**how).judge(data["runs"]):
        row = rows.loc["V17", "runs", verdict.name]
        assert (row["verdict"], row["here"], row["numbers"]) == (
            verdict.verdict,
            verdict.here,
            verdict.numbers,
        )
    # J15 has a column of what is simulated, and speaks of scores with repeats alone
    assert set(rows.loc["J15"].index.get_level_values(0)) == {"questions", SIMULATIONS}
    assert rows.loc["J15", SIMULATIONS]["verdict"].value_counts()[UNKNOWN] == 9
    assert set(rows.index.get_level_values(0)) == set(PAPERS)


def test_rates_and_power_are_those_of_the_laboratory(made, runs: sw.Collection) -> None:  # type: ignore[no-untyped-def]
    study, _, _ = made
    rows = study["Approaches, exactly these topics"].data
    assert rows["approach"].tolist() == list(FEW)
    whole = sw.score(runs, "AP")["AP"].transpose("topic", "system")
    pair = [float(whole[:, a].values.var(ddof=1) + whole[:, b].values.var(ddof=1)
                  - 2 * np.cov(whole[:, a], whole[:, b])[0, 1]) for a in range(4) for b in range(a)]  # fmt: skip
    largest = 4.0 * np.sqrt(np.mean(pair) / 10)
    scores = sw.score(runs, "AP", sw.split(runs, 3, kind="even", seed=0, unlisted="add"))["AP"]
    three = sw.fill_undefined(scores.isel(split=0, drop=True), "zero")
    found = sw.calibrate(three, FEW, claims=[()], repetitions=20, largest=largest, jobs=1).table
    np.testing.assert_allclose(rows["rate"], found["rate"])
    np.testing.assert_allclose(rows["power"], found["power"], atol=1e-12)
    assert set(study["Approaches, new topics"].data["collection"]) == {"runs", "questions"}


def test_the_first_line_counts_claims_over_collections() -> None:
    rows = pd.DataFrame(
        {"paper": "F19", "claim": ["x"] * 3 + ["y"] * 3, "collection": ["a", "b", "c"] * 2, "verdict": HOLDS,
         "p_holds": [1e-4] * 3 + [0.9] * 3, "p_fails": [0.9] * 3 + [1e-4, 1e-4, 0.2]}
    )  # fmt: skip
    answer = sw.papers.Study().answer({"verdicts": rows})
    assert answer == (
        "Of 2 claims judged on 3 collections, 1 hold in more than half of their collections and 1 fail "
        "(95% confidence each)."
    )


def test_a_study_goes_on_where_it_stopped(made, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    study, data, folder = made
    monkeypatch.setattr(sw, "calibrate", None)
    again = sw.papers.study(data, folder=folder, **SMALL)
    pd.testing.assert_frame_equal(again["Claims"].data, study["Claims"].data)


def test_how_many_collections_a_claim_holds_in_is_bounded_from_below() -> None:
    """Of four collections two have an effect; the number that is shown is above two in 2.5% of cases at most."""
    rng = np.random.default_rng(5)
    counts = [count_surely([*rng.random(2), *rng.random(2) * 1e-4]) for _ in range(4000)]
    assert 0.01 < np.mean(np.array(counts) > 2) < 0.025 + 3 * np.sqrt(0.025 / 4000)
    assert np.mean(np.array(counts) == 2) > 0.9
    assert count_surely([0.013, 0.02]) == 0


def test_answers_over_collections() -> None:
    rows = pd.DataFrame({
        "collection": ["a", "b", "c", SIMULATIONS], "verdict": [HOLDS, HOLDS, UNDECIDED, HOLDS],
        "p_holds": [1e-6, 1e-4, 0.2, 0.0], "p_fails": [1.0, 1.0, 0.8, 1.0]})  # fmt: skip
    assert count_collections(rows) == "holds in at least 2 of 3"
    split = rows.assign(p_holds=[1e-6, 0.9, 0.9, 0], p_fails=[1.0, 1e-6, 0.4, 1.0])
    assert count_collections(split) == f"{HOLDS} in at least 1 and {FAILS} in at least 1 of 3"
    assert count_collections(rows.assign(p_holds=0.3)) == UNDECIDED
    assert count_collections(rows.assign(verdict=UNKNOWN)) == UNKNOWN


def test_power_counts_only_where_error_rates_are_kept() -> None:
    rows = pd.DataFrame({
        "collection": "c", "shards": [1, 5], "on": ["whole", "5 shards"], "approach": ["x", "y"],
        "error_rate": "family", "rate": [0.3, 0.04], "rate_low": [0.2, 0.01], "rate_high": [0.4, 0.1],
        "power": [0.9, 0.5]})  # fmt: skip
    family, discovery = choose_approaches(rows)
    assert "y on 5 shards has most power (50%)" in family
    assert "every approach has more" in discovery


@pytest.mark.usefixtures("few_resamples")
def test_a_file_lists_the_collections(
    seeds: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of the file and of the command line; what is measured there is tried above."""
    monkeypatch.setattr("shardwise.papers.paper_study.WHOLE", ("t bh",))
    monkeypatch.setattr(PAPERS["J15"], "_simulate_figures", lambda *_: None)
    seeds.to_csv(tmp_path / "q.csv", index=False)
    wide = pd.DataFrame(np.random.default_rng(2).random((12, 4)), columns=list("abcd")).rename_axis("topic")
    wide.to_csv(tmp_path / "ap.csv")
    (tmp_path / "list.toml").write_text('["TREC-3"]\nfiles = ["ap.csv"]\nmeasure = "AP"\n')
    small = ("--repetitions", 20, "--jobs", 1, "--out", tmp_path / "out")
    done = shardwise(
        "replicate", "study", tmp_path / "list.toml", "--also", f"LLM={tmp_path / 'q.csv'}", *small
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "study.html").read_text(encoding="utf-8")
    assert "TREC-3" in page
    assert "LLM" in page
    assert str(tmp_path) not in page
    claims = pd.read_csv(tmp_path / "out" / "claims.csv")
    assert set(claims["collection"]) == {"TREC-3", "LLM", SIMULATIONS}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[x]\nfiles = 3\n", "x: files is 3; make it a list"),
        ("[x]\nmeasure = 'AP'\n", "x: has no files"),
        ("[x]\nfiles = ['a.csv']\ncolour = 1\n", "unknown key of a collection 'colour'"),
        ("x = [", "cannot be read"),
        ("", "no collection was given"),
        ("[x]\nfiles = ['absent.csv']\n", "absent.csv"),
    ],
)
def test_a_file_that_is_not_valid_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(text)
    done = shardwise("replicate", "study", tmp_path / "list.toml", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert said in done.stderr.replace("\n", " ")
    assert not (tmp_path / "out").exists()
