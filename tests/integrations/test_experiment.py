"""Experiments with the arguments of PyTerrier, and results for data frames, tests and trackers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest

import shardwise as sw
import shardwise.pandas
from shardwise.core.errors import InputError
from shardwise.integrations.tracking import clean_key, flatten_result
from shardwise.testing import assert_better, assert_no_worse

DOCS = [f"d{i:02d}" for i in range(30)]
TOPICS = pd.DataFrame({"qid": [str(t) for t in range(1, 13)], "query": [f"query {t}" for t in range(1, 13)]})


class Pipeline:
    """A pipeline as PyTerrier's: it transforms topics into results."""

    def __init__(self, name: str, skill: float) -> None:
        self.name, self.skill = name, skill

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        rows = []
        for topic in topics["qid"]:
            rng = np.random.default_rng(int(topic))
            noise = np.random.default_rng([int(topic), len(self.name)]).normal(size=len(DOCS))
            ranked = self.skill * (rng.random(len(DOCS)) < 0.3) + noise
            rows += [(topic, doc, float(value)) for doc, value in zip(DOCS, ranked, strict=True)]
        return pd.DataFrame(rows, columns=["qid", "docno", "score"])

    def __str__(self) -> str:
        return self.name


@pytest.fixture(scope="module")
def qrels() -> pd.DataFrame:
    rows = []
    for topic in TOPICS["qid"]:
        relevant = np.random.default_rng(int(topic)).random(len(DOCS)) < 0.3
        rows += [(topic, doc, int(grade)) for doc, grade in zip(DOCS, relevant, strict=True)]
    return pd.DataFrame(rows, columns=["qid", "docno", "label"])


@pytest.fixture(scope="module")
def experiment(qrels: pd.DataFrame) -> sw.Experiment:
    systems = [Pipeline("poor", 0.2), Pipeline("middling", 1.0), Pipeline("excellent", 4.0)]
    return sw.Experiment(systems, TOPICS, qrels, [ir_measures.AP, "P@5"])


def test_means_are_those_of_ir_measures(experiment: sw.Experiment, qrels: pd.DataFrame) -> None:
    assert experiment.systems == ("poor", "middling", "excellent")
    judged = qrels.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})
    for system in (Pipeline("poor", 0.2), Pipeline("excellent", 4.0)):
        run = system.transform(TOPICS).rename(columns={"qid": "query_id", "docno": "doc_id"})
        theirs = ir_measures.calc_aggregate([ir_measures.AP, ir_measures.P @ 5], judged, run)
        ours = experiment.to_frame().loc[str(system)]
        assert ours["AP"] == pytest.approx(theirs[ir_measures.AP], abs=1e-9)
        assert ours["P@5"] == pytest.approx(theirs[ir_measures.P @ 5], abs=1e-9)


def test_all_pairs_are_those_of_analyze(experiment: sw.Experiment) -> None:
    pairs = experiment.pairs()
    assert pairs["measure"].tolist() == ["AP"] * 3 + ["P@5"] * 3
    expected = sw.analyze(experiment.scores["AP"]).comparisons.to_frame()
    pd.testing.assert_frame_equal(pairs[pairs["measure"] == "AP"].drop(columns="measure"), expected)
    per_topic = experiment.per_topic()
    assert len(per_topic) == 2 * 3 * 12
    assert set(per_topic.columns) == {"name", "qid", "measure", "value"}


def test_figures_for_trackers_are_flat(experiment: sw.Experiment) -> None:
    figures = experiment.to_dict()
    assert all(isinstance(value, float) for value in figures.values())
    assert figures["AP/mean/excellent"] == pytest.approx(float(experiment.to_frame().loc["excellent", "AP"]))
    assert {"AP/difference/excellent/poor", "AP/p/excellent/poor", "P_5/mean/poor"} <= set(figures)
    assert clean_key("a/b", "nDCG@10", "") == "a_b/nDCG_10/_"
    with pytest.raises(InputError, match="int has no figures to log"):
        flatten_result(3)


def test_it_can_be_read(experiment: sw.Experiment) -> None:
    text = str(experiment)
    assert "Conventions: ir_measures" in text
    assert "excellent" in text
    assert repr(experiment) == "<Experiment: 3 systems, AP, P@5>"
    assert "<table" in experiment._repr_html_()


def test_results_files_and_a_baseline(qrels: pd.DataFrame, tmp_path: Path) -> None:
    good, poor = Pipeline("good", 3.0).transform(TOPICS), Pipeline("poor", 0.2).transform(TOPICS)
    named = sw.Experiment({"good": good, "poor": poor}, TOPICS.head(6), qrels, ["AP"], baseline="poor")
    assert named.scores.sizes["topic"] == 6
    assert len(named.pairs()) == 1
    files = []
    for name, run in (("good", good), ("poor", poor)):
        path = tmp_path / name
        lines = [f"{row.qid} Q0 {row.docno} 1 {row.score!r} {name}" for row in run.itertuples()]
        path.write_text("\n".join(lines) + "\n")
        files.append(str(path))
    read = sw.Experiment(files, None, qrels, ["AP"], names=["good", "poor"])
    whole = sw.Experiment([good, poor], None, qrels, ["AP"], names=["good", "poor"])
    pd.testing.assert_frame_equal(read.to_frame(), whole.to_frame())


def test_a_topic_without_results_counts_0(qrels: pd.DataFrame) -> None:
    good = Pipeline("good", 3.0).transform(TOPICS)
    lacking = good[good["qid"] != "1"]
    found = sw.Experiment({"good": good, "lacking": lacking}, TOPICS, qrels, ["AP"])
    assert float(found.scores["AP"].sel(topic="1", system="lacking")) == 0.0


@pytest.mark.parametrize(
    ("systems", "topics", "options", "said"),
    [
        ([Pipeline("a", 1)], TOPICS, {}, "needs two systems or more"),
        ([Pipeline("a", 1), Pipeline("a", 1)], TOPICS, {}, "two systems have the same name"),
        ([Pipeline("a", 1), Pipeline("b", 1)], TOPICS, {"names": ["x"]}, "1 names for 2 systems"),
        ([Pipeline("a", 1), Pipeline("b", 1)], None, {}, "system 'a' has to be run, and there are no topics"),
        ([Pipeline("a", 1), Pipeline("b", 1)], TOPICS.rename(columns={"qid": "id"}), {}, "no column qid"),
    ],
)
def test_errors_teach(
    systems: list[Pipeline],
    topics: pd.DataFrame,
    options: dict[str, list[str]],
    said: str,
    qrels: pd.DataFrame,
) -> None:
    with pytest.raises((InputError, KeyError), match=said):
        sw.Experiment(systems, topics, qrels, ["AP"], **options)  # type: ignore[arg-type]


# --- data frames, tests --------------------------------------------------------------------------------------


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    base = rng.random(200)
    return pd.DataFrame({"old": base, "new": np.clip(base + 0.1 + rng.normal(0, 0.05, 200), 0, 1.2)})


def test_data_frames_compare_themselves(frame: pd.DataFrame) -> None:
    pairs = frame.sw.compare()
    pd.testing.assert_frame_equal(pairs.to_frame(), sw.analyze(frame).comparisons.to_frame())
    pd.testing.assert_frame_equal(
        frame.sw.compare("t holm").to_frame(), sw.compare(frame, "t holm").to_frame()
    )
    assert repr(frame.sw.analyze()).startswith("<Analysis of")


def test_the_accessor_is_there_on_import_alone() -> None:
    code = "import pandas as pd, shardwise.pandas; print(pd.DataFrame({'a': [1.0]}).sw.compare.__name__)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "compare"


def test_assertions_pass_and_fail(frame: pd.DataFrame) -> None:
    old, new = frame["old"].to_numpy(), frame["new"].to_numpy()
    assert assert_no_worse(old, new, margin=0.01).passes
    assert assert_better(old, new).verdict == "better"
    with pytest.raises(AssertionError, match="worse"):
        assert_no_worse(new, old, margin=0.01)
    with pytest.raises(AssertionError):
        assert_better(new, old)
    # ten items cannot show that a system is no worse by so little: inconclusive fails, and says so
    noisy = np.random.default_rng(1).random((2, 10))
    with pytest.raises(AssertionError, match=r"(?i)inconclusive"):
        assert_no_worse(noisy[0], noisy[1], margin=0.001)


def test_figures_of_a_gate_are_flat(frame: pd.DataFrame) -> None:
    figures = flatten_result(assert_no_worse(frame["old"].to_numpy(), frame["new"].to_numpy()))
    assert figures["difference/new"] > 0
    assert sw.analyze(frame).to_dict()["mean/old"] == pytest.approx(float(frame["old"].mean()))
    assert assert_no_worse(frame["old"].to_numpy(), frame["new"].to_numpy()).to_dict() == figures
    assert all(isinstance(value, float) for value in figures.values())
