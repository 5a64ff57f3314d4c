"""trec_eval's own test: its files are read, and its expected outputs are ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardwise as sw
from other_programs import agree, list_values
from shardwise.core.errors import InputError
from shardwise.scoring.measures import Measure, parse_measures

RUNS = ("results.test", "results.comment.test", "results.trunc")
QRELS = (
    *("qrels.test", "qrels.test.with-comments", "qrels.comment.test", "qrels.123", "qrels.comments.123"),
    "qrels.rel_level",
)
# expected output: qrels, run, and what the options of the command say
COMMANDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "out.test": ("qrels.test", "results.test", {}),
    "out.comment.test": ("qrels.comment.test", "results.comment.test", {}),
    "out.test.a": ("qrels.test", "results.test", {}),
    "out.test.aq": ("qrels.test", "results.test", {}),
    "out.test.aqc": ("qrels.test", "results.trunc", {"missing": "zero", "topics": "judged"}),
    "out.test.aqcM": ("qrels.test", "results.trunc", {"missing": "zero", "topics": "judged", "depth": 100}),
    "out.test.aql": ("qrels.rel_level", "results.test", {"rel": 2}),
    "out.test.meas_params": ("qrels.test", "results.test", {}),
    "out.test.qrels_jg": ("qrels.123", "results.test", {"subtopics": True}),
}


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    if not (data / "conformance" / "trec_eval").is_dir():
        pytest.skip("no folder conformance among the data")
    return data / "conformance" / "trec_eval"


def expected(path: Path) -> dict[tuple[str, str], str]:
    """(topic, measure) -> value as printed; texts are left out."""
    rows = [line.split() for line in path.read_text().splitlines()]
    texts = ("runid", "relstring")
    return {(topic, name): value for name, topic, value in rows if not name.startswith(texts)}


def with_level(measure: Measure, level: int | None) -> Measure:
    if level is None or "rel" not in dict(measure.parameters):
        return measure
    name = str(measure)
    call, _, cutoff = name.partition("@")
    inside = call[:-1] + f",rel={level})" if call.endswith(")") else f"{call}(rel={level})"
    return parse_measures(inside + (f"@{cutoff}" if cutoff else ""))[0]


@pytest.mark.parametrize("output", COMMANDS)
def test_expected_outputs(folder: Path, output: str) -> None:
    qrels, run_file, options = COMMANDS[output]
    options = dict(options)
    level = options.pop("rel", None)
    lines = expected(folder / output)
    names = list(dict.fromkeys(name for _, name in lines))
    measures = {name: with_level(parse_measures(name, "trec_eval-10")[0], level) for name in names}
    runs = sw.read_collection([str(folder / run_file)], str(folder / qrels), like="trec_eval-10", **options)
    scores = sw.score(runs, list(measures.values()))
    values = {name: list_values(scores[str(measure)]) for name, measure in measures.items()}
    for (topic, name), value in lines.items():
        ours = values[name][topic]
        assert agree(ours, value), (topic, name, ours, value)


@pytest.mark.parametrize("qrels", QRELS)
def test_all_judgments_are_read(folder: Path, qrels: str) -> None:
    run_file = "results.comment.test" if "comment.test" in qrels else "results.test"
    by_judge = "123" in qrels
    runs = sw.read_collection([str(folder / run_file)], str(folder / qrels), subtopics=by_judge)
    comments = sum(line.startswith("#") for line in (folder / qrels).read_text().splitlines())
    told = [note for note in runs.notes if "comment" in note]
    assert bool(told) == (bool(comments) and not by_judge)
    if told:
        assert told == [f"{comments} comment line{'s' * (comments > 1)} (#) passed over"]


@pytest.mark.parametrize("name", RUNS)
def test_all_runs_are_read(folder: Path, name: str) -> None:
    qrels = "qrels.comment.test" if "comment" in name else "qrels.test"
    runs = sw.read_collection([str(folder / name)], str(folder / qrels))
    lines = [line for line in (folder / name).read_text().splitlines() if line and not line.startswith("#")]
    topics = {line.split()[0] for line in lines} & set(runs.topics)
    assert len(runs.docs) == sum(line.split()[0] in topics for line in lines)
    if name == "results.trunc":
        told = [note for note in runs.notes if "run tag" in note]
        assert any(note.startswith("text behind the run tag passed over in") for note in told), runs.notes


def test_comments_change_nothing(folder: Path) -> None:
    plain, commented = (
        sw.score(sw.read_collection([str(folder / "results.test")], str(folder / name)), ["AP", "P@5"])
        for name in ("qrels.test", "qrels.test.with-comments")
    )
    for name in plain.data_vars:
        np.testing.assert_array_equal(plain[name], commented[name])
    judges, commented = (
        sw.score(
            sw.read_collection([str(folder / "results.test")], str(folder / name), subtopics=True),
            ["JudgeAP"],
        )
        for name in ("qrels.123", "qrels.comments.123")
    )
    np.testing.assert_array_equal(judges["JudgeAP"], commented["JudgeAP"])


def test_comments_are_data_where_they_are_asked_for(folder: Path) -> None:
    with pytest.raises(InputError, match="with-comments:1: 3 columns where qrels"):
        sw.read_collection(
            [str(folder / "results.test")], str(folder / "qrels.test.with-comments"), like="undefined"
        )
