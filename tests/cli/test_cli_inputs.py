"""What the options say about the input, read once and checked first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from command_line import reader_of, shardwise
from shardwise.cli.inputs import fill_gaps
from shardwise.core.errors import InputError
from shardwise.core.scores import Scores, as_scores
from shardwise.io import reader as io_reader

INPUTS = Path(__file__).parent.parent / "golden" / "inputs"
RUNS = (INPUTS / "qrels.txt", INPUTS / "runs")


def test_runs_become_scores_with_notes_and_files() -> None:
    read = reader_of(*RUNS, measure=["AP", "P@5"], shards=2, splits=3).read_input()
    assert list(read.tables) == ["AP", "P@5"]
    assert dict(read.first.sizes) == {"split": 3, "topic": 8, "system": 4, "shard": 2}
    assert [path.name for path in read.files] == [
        "qrels.txt",
        "bm25.run",
        "dense.run",
        "rerank.run",
        "tfidf.run",
    ]
    assert any("called by their run tag" in note for note in read.notes)


def test_without_a_measure_runs_are_scored_by_ap_and_tables_whole() -> None:
    assert list(reader_of(*RUNS).read_input().tables) == ["AP"]
    table = reader_of(INPUTS / "long.csv").read_input()
    assert list(table.tables) == ["AP", "RR"]
    assert table.files == (INPUTS / "long.csv",)
    with pytest.raises(InputError, match="has 2 measures; choose one with measure: AP, RR"):
        table.pick_measure()
    chosen = reader_of(INPUTS / "long.csv", measure=["RR"]).read_input()
    named = table.tables["RR"]
    assert chosen.pick_measure() == replace(named, read_as=chosen.pick_measure().read_as)


def test_a_measure_names_the_scores_of_a_table_that_does_not() -> None:
    table = reader_of(INPUTS / "scores.csv", measure=["nDCG@10"]).read_input()
    assert table.pick_measure().measure.name == "nDCG@10"
    with pytest.raises(InputError, match="has no measure 'nDCG@10'; it has AP, RR"):
        reader_of(INPUTS / "long.csv", measure=["nDCG@10"]).read_input()


def test_an_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    reader = io_reader.read_collection

    def counted(runs: list[str], qrels: str, **choices: object) -> object:
        asked.append((qrels, *runs))
        return reader(runs, qrels, **choices)  # type: ignore[arg-type]

    monkeypatch.setattr(io_reader, "read_collection", counted)
    read = reader_of(*RUNS, measure=["AP", "P@5"]).read_input()
    assert asked == [tuple(map(str, read.files))]


IDLE = {
    "--shards has no effect with a table of scores": ("compare", RUNS[0], "--shards", 5),
    "--corpus has no effect with one shard; add --shards 5": ("score", *RUNS, "--corpus", 500),
    "--splits has no effect with --kind attribute": ("score", *RUNS, "--kind", "attribute", "--splits", 3),
    "--corpus has no effect with --kind topical": (
        "score",
        *RUNS,
        "--kind",
        "topical",
        "--shards",
        2,
        "--corpus",
        9,
    ),
    "--columns has no effect with runs; remove it, or give a table": (
        "compare",
        *RUNS,
        "--columns",
        "item=x",
    ),
    "--repeats has no effect without repeated scores": (
        "compare",
        INPUTS / "scores.csv",
        "--repeats",
        "samples",
    ),
    "--like depth, --read names have no effect with a table": (
        "gate",
        INPUTS / "scores.csv",
        "--like",
        "depth=9",
        "--read",
        "names=tag",
    ),
}


@pytest.mark.parametrize("words", IDLE)
def test_options_without_effect_are_refused(words: str) -> None:
    done = shardwise(*IDLE[words])
    assert done.returncode == 2
    assert words in done.stderr


def test_options_with_an_effect_are_accepted() -> None:
    options = (
        "--shards",
        2,
        "--splits",
        2,
        "--kind",
        "die",
        "--corpus",
        5000,
        "--seed",
        1,
        "--read",
        "names=tag",
        "--like",
        "depth=9",
    )
    done = shardwise("score", *RUNS, *options)
    assert done.returncode == 0, done.stderr


def test_qrels_are_recognised_wherever_they_are_given() -> None:
    runs = sorted((INPUTS / "runs").iterdir())
    usual = shardwise("score", RUNS[0], *runs)
    assert shardwise("score", *runs, RUNS[0]).stdout == usual.stdout
    assert usual.returncode == 0


def holed() -> Scores:
    """Topic 0 has nothing relevant in shard 1; system 2 lacks a score for topic 3."""
    values = np.random.default_rng(2).uniform(size=(5, 3, 2))
    values[0, :, 1] = np.nan
    values[3, 2, 0] = np.nan
    return as_scores(xr.DataArray(values, dims=("topic", "system", "shard")))


@pytest.mark.parametrize(("fill", "value"), [("zero", 0.0), ("one", 1.0), ("mean", None), ("lq", None)])
def test_a_policy_fills_what_is_undefined_and_leaves_what_is_missing(fill: str, value: float | None) -> None:
    scores = holed()
    made, notes = fill_gaps(scores, fill)
    assert notes == (f"3 undefined cells: {fill}",)
    assert np.argwhere(np.isnan(made.values)).tolist() == [[3, 2, 0]]
    defined = scores.values[np.isfinite(scores.values)]
    mean = {"mean": defined.mean(), "lq": np.quantile(defined, 0.25, method="hazen")}
    np.testing.assert_allclose(made.values[0, :, 1], mean.get(fill, value))
    np.testing.assert_array_equal(made.values[[1, 2, 4]], scores.values[[1, 2, 4]])
    assert made.labels == scores.labels


def test_dropping_leaving_and_a_number() -> None:
    scores = holed()
    made, notes = fill_gaps(scores, "drop")
    np.testing.assert_array_equal(made.values, scores.values[1:])
    assert made.topics == scores.topics[1:]
    assert notes == ("3 undefined cells: drop",)
    made, notes = fill_gaps(scores, "leave")
    assert made == scores
    assert notes == ()
    made, notes = fill_gaps(scores, "0.25")
    np.testing.assert_array_equal(made.values, np.nan_to_num(scores.values, nan=0.25))
    assert notes == ("3 undefined cells: 0.25; 1 missing score filled with 0.25",)
    assert fill_gaps(made, "zero")[1] == ()


@pytest.mark.parametrize("fill", ["median", "nan", "inf", ""])
def test_other_policies_are_refused_whatever_the_scores(fill: str) -> None:
    with pytest.raises(InputError, match="unknown policy for undefined cells"):
        fill_gaps(holed().select(topic=[1, 2, 4]), fill)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--out", "scores.csv"], "scores.csv: this file is read and would be written by --out"),
        (["--out", "./scores.csv"], "this file is read and would be written by --out"),
        (["--report", "x.html", "--chart", "x.html"], "x.html: this file is written by --"),
    ],
)
def test_nothing_is_written_over_what_is_read_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    table = "topic,a,b\n" + "".join(f"{k},{k % 7 / 7},{k % 5 / 5}\n" for k in range(20))
    (tmp_path / "scores.csv").write_text(table)
    monkeypatch.chdir(tmp_path)
    found = shardwise("compare", "scores.csv", *options)
    assert found.returncode == 2
    assert told in found.stderr
    assert (tmp_path / "scores.csv").read_text() == table
    assert [p.name for p in tmp_path.iterdir()] == ["scores.csv"]


def logs(folder: Path) -> tuple[Path, ...]:
    """Samples of two models as lm-evaluation-harness writes them, two metrics each."""
    files = []
    for model in ("one", "two"):
        path = folder / model / "samples_quiz.jsonl"
        path.parent.mkdir()
        rows = [
            {"doc_id": k, "resps": [], "metrics": ["acc", "f1"], "acc": k % 2, "f1": 0.5} for k in range(4)
        ]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        files.append(path)
    return tuple(files)


def test_several_logs_are_one_table_and_their_first_metric_is_taken(tmp_path: Path) -> None:
    source = reader_of(*logs(tmp_path))
    assert source.is_table
    read = source.read_input()
    assert read.pick_measure().measure.name == "acc"
    assert read.pick_measure().systems == ("one", "two")
    assert read.notes == (
        "read as lm-eval samples, 4 questions × 2 models (one, two), scores: acc, f1; higher is better",
        "shown: acc; also: -m f1",
    )
    assert reader_of(*source.options.inputs, measure=["f1"]).read_input().pick_measure().measure.name == "f1"
    named = reader_of(*source.options.inputs, system=["x", "y"]).read_input()
    assert named.pick_measure().systems == ("x", "y")
    folder = reader_of(tmp_path).read_input()
    assert list(folder.files) == source.options.inputs


def test_columns_are_named_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("w,x,y\n" + "".join(f"{k},{s},{k % 2}\n" for k in range(4) for s in "ab"))
    read = reader_of(path, columns=["item=w,system=x", "score=y"]).read_input()
    assert dict(read.pick_measure().sizes) == {"topic": 4, "system": 2}
    with pytest.raises(
        InputError, match="does not name a column; write for instance item=question,system=model"
    ):
        reader_of(path, columns=["item"]).read_input()


def test_a_table_with_gaps_is_read_and_the_gaps_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question,model,correct\n1,a,1\n1,b,0\n2,a,1\n")
    read = reader_of(path).read_input()
    assert read.notes == (
        "read as 2 questions × 2 models (a, b), score = correct; 1 of 4 missing; higher is better",
    )
    assert int(read.pick_measure().find_missing().sum()) == 1
    with pytest.raises(InputError, match="1 score is missing"):
        reader_of(path, missing="refuse").read_input()
