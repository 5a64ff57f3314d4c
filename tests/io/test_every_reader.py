"""A small file of every tool whose logs are read: which answer was right is read as it stands there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import xarray as xr

from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.io.logs import registry
from shardwise.io.scores import read_scores
from shardwise.io.votes import Votes

# neither side nor verdict can be swapped without another table
RIGHT = {"new": {"q1": True, "q2": False, "q3": True}, "old": {"q1": False, "q2": False, "q3": True}}
GRADES = {"new": {"q1": 9.0, "q2": 2.5, "q3": 7.0}, "old": {"q1": 4.0, "q2": 3.0, "q3": 8.0}}
Verdicts = dict[str, bool]


class Case(NamedTuple):
    """Files of a tool by their names, and the scores that are in them."""

    files: dict[str, bytes]
    scores: dict[str, dict[str, float]]
    measure: str


def as_json(content: Any) -> bytes:
    return json.dumps(content).encode()


def as_lines(lines: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(as_json(line) + b"\n" for line in lines)


def of_each(name: str, content: Callable[[str, Verdicts], bytes], measure: str, called: str = "{}") -> Case:
    """A case of a file for each model, in the name of which it stands."""
    files = {name.format(model): content(model, verdicts) for model, verdicts in RIGHT.items()}
    scores = {
        called.format(model): {item: float(right) for item, right in verdicts.items()}
        for model, verdicts in RIGHT.items()
    }
    return Case(files, scores, measure)


def of_all(
    name: str, content: bytes, measure: str, scores: dict[str, dict[str, float]] | None = None
) -> Case:
    """A case of one file for both models."""
    right = {model: {item: float(value) for item, value in each.items()} for model, each in RIGHT.items()}
    return Case({name: content}, scores or right, measure)


def inspect_log(model: str, verdicts: Verdicts) -> bytes:
    samples = [
        {"id": item, "epoch": 1, "scores": {"match": {"value": "C" if right else "I"}}}
        for item, right in verdicts.items()
    ]
    return as_json({"status": "success", "eval": {"model": model, "task": "t"}, "samples": samples})


def lm_eval_samples(_: str, verdicts: Verdicts) -> bytes:
    return as_lines(
        {"doc_id": item, "filter": "none", "metrics": ["acc"], "resps": [[""]], "acc": float(right)}
        for item, right in verdicts.items()
    )


def promptfoo_results() -> bytes:
    rows = [
        {
            "provider": {"id": model},
            "success": right,
            "score": float(right),
            "testCase": {},
            "vars": {"question": item},
            "prompt": {"label": "p"},
        }
        for model, verdicts in RIGHT.items()
        for item, right in verdicts.items()
    ]
    return as_json({"results": {"results": rows}})


def deepeval_run(model: str, verdicts: Verdicts) -> bytes:
    cases = [
        {
            "input": item,
            "success": right,
            "metricsData": [{"name": "relevancy", "score": 0.9 if right else 0.3}],
        }
        for item, right in verdicts.items()
    ]
    return as_json({"testCases": cases, "metricsScores": [], "hyperparameters": {"model": model}})


def helm_stats(_: str, verdicts: Verdicts) -> bytes:
    entries = [
        {
            "instance_id": item,
            "train_trial_index": 0,
            "stats": [
                {"name": {"name": "num_references", "split": "test"}, "mean": 4.0},
                {"name": {"name": "exact_match", "split": "test"}, "mean": float(right)},
            ],
        }
        for item, right in verdicts.items()
    ]
    return as_json(entries)


def lighteval_details(_: str, verdicts: Verdicts) -> bytes:
    rows = [
        {
            "doc": {"id": item, "task_name": "t"},
            "metric": {"acc": float(right)},
            "model_response": {"text": ""},
        }
        for item, right in verdicts.items()
    ]
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


def every_eval_ever_samples() -> bytes:
    return as_lines(
        {
            "schema_version": "0.2",
            "model_id": model,
            "evaluation_name": "t",
            "sample_id": item,
            "evaluation_result_id": "acc",
            "evaluation": {"score": float(right)},
        }
        for model, verdicts in RIGHT.items()
        for item, right in verdicts.items()
    )


def swe_bench_report(_: str, verdicts: Verdicts) -> bytes:
    resolved = [item for item, right in verdicts.items() if right]
    return as_json({"total_instances": 3, "submitted_ids": list(verdicts), "resolved_ids": resolved})


def openai_record(model: str, verdicts: Verdicts) -> bytes:
    events = [
        {"sample_id": item, "type": "match", "data": {"correct": right}} for item, right in verdicts.items()
    ]
    return as_lines([{"spec": {"completion_fns": [model], "base_eval": "t"}}, *events])


def human_eval_results(_: str, verdicts: Verdicts) -> bytes:
    return as_lines(
        {"task_id": item, "completion": "", "passed": right, "result": "passed" if right else "failed"}
        for item, right in verdicts.items()
    )


def evalplus_results(_: str, verdicts: Verdicts) -> bytes:
    def sample(right: bool) -> dict[str, str]:
        return {"base_status": "pass", "plus_status": "pass" if right else "fail"}

    return as_json({"eval": {item: [sample(right)] for item, right in verdicts.items()}})


def alpaca_annotations() -> bytes:
    """1 where the first is better, 2 where the second is."""
    rows = [
        {
            "instruction": item,
            "generator_1": "baseline",
            "generator_2": model,
            "preference": 2.0 if right else 1.0,
        }
        for model, verdicts in RIGHT.items()
        for item, right in verdicts.items()
    ]
    return as_json(rows)


def mt_bench_grades() -> bytes:
    return as_lines(
        {"question_id": item, "model": model, "judge": ["gpt", "single"], "turn": turn, "score": grade + step}
        for model, grades in GRADES.items()
        for item, grade in grades.items()
        for turn, step in ((1, 0.5), (2, -0.5))
    )


def mteb_tasks() -> Case:
    files = {
        f"org__{model}/rev/{task}.json": as_json(
            {"mteb_version": "1", "task_name": task, "scores": {"test": [{"main_score": grade}]}}
        )
        for model, grades in GRADES.items()
        for task, grade in grades.items()
    }
    return Case(files, {f"org/{model}": grades for model, grades in GRADES.items()}, "main_score")


READ = {
    "inspect log": of_each("{}.json", inspect_log, "match"),
    "lm-eval samples": of_each("{}/samples_t.jsonl", lm_eval_samples, "acc"),
    "promptfoo results": of_all("results.json", promptfoo_results(), "success"),
    "deepeval test run": of_each("{}/test_run_1.json", deepeval_run, "success"),
    "HELM run": of_each("t,model=org_{}/per_instance_stats.json", helm_stats, "exact_match", "org/{}"),
    "lighteval details": of_each("org/{}/2026/details_t.parquet", lighteval_details, "acc", "org/{}"),
    "Every Eval Ever samples": of_all("a_samples.jsonl", every_eval_ever_samples(), "acc"),
    "SWE-bench report": of_each("{}.run.json", swe_bench_report, "resolved"),
    "OpenAI evals record": of_each("{}.jsonl", openai_record, "correct"),
    "HumanEval results": of_each("{}.jsonl_results.jsonl", human_eval_results, "passed"),
    "EvalPlus results": of_each("{}_eval_results.json", evalplus_results, "plus"),
    "AlpacaEval annotations": of_all("annotations.json", alpaca_annotations(), "win"),
    "MT-bench judgments": of_all("judgments.jsonl", mt_bench_grades(), "score", GRADES),
    "mteb results": mteb_tasks(),
}
"""Readers that return scores; ranx and TIRA have none of single items, and are tested below."""


def write_case(case: Case, folder: Path) -> list[Path]:
    paths = [folder / name for name in case.files]
    for path, content in zip(paths, case.files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return paths


def test_every_reader_has_a_file_here() -> None:
    assert {*READ, "ranx run", "TIRA evaluation"} == {reader.name for reader in registry.list_readers()}


@pytest.mark.parametrize("reader", READ)
def test_scores_are_those_of_the_file(reader: str, tmp_path: Path) -> None:
    case = READ[reader]
    table = read_scores(write_case(case, tmp_path), measure=case.measure)
    assert isinstance(table, xr.DataArray)
    assert table.attrs["read_as"].startswith(f"read as {reader}, ")
    found = {
        str(system): {
            str(item): float(table.sel(system=system, topic=item)) for item in table["topic"].values
        }
        for system in table["system"].values
    }
    assert found == case.scores


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("{}/eval_results.json", lambda resolved: resolved),
        ("{}/a__b-1/report.json", lambda resolved: {item: {"resolved": on} for item, on in resolved.items()}),
    ],
)
def test_other_reports_of_swe_bench(name: str, content: Callable[[Verdicts], Any], tmp_path: Path) -> None:
    for model, right in (("new", True), ("old", False)):
        path = tmp_path / name.format(model)
        path.parent.mkdir(parents=True)
        path.write_bytes(as_json(content({"a__b-1": right})))
    table = read_scores(sorted(tmp_path.glob(name.format("*"))))
    assert table.sel(topic="a__b-1", system=["new", "old"]).values.tolist() == [1.0, 0.0]


def test_a_report_of_several_instances_is_called_by_its_folder(tmp_path: Path) -> None:
    """One instance a report lies in a folder of its own, below that of the submission."""
    for model, right in (("new", True), ("old", False)):
        path = tmp_path / "logs" / model / "report.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(as_json({item: {"resolved": right} for item in ("a__b-1", "a__b-2")}))
    table = read_scores(sorted(tmp_path.glob("logs/*/report.json")))
    assert table["system"].values.tolist() == ["new", "old"]
    assert table.transpose("topic", "system").values.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_repeats_that_a_converter_averaged_are_one(tmp_path: Path) -> None:
    """It writes the mean of all repeats into each of them: they say nothing of how answers vary."""
    path = tmp_path / "a_samples.jsonl"
    path.write_bytes(every_eval_ever_samples() * 3)
    table = read_scores(path)
    assert table.dims == ("topic", "system")
    assert "repeats were averaged by the converter" in " ".join(map(str, table.attrs.values()))
    worse = every_eval_ever_samples().replace(b'"score": 1.0', b'"score": 0.5')
    path.write_bytes(every_eval_ever_samples() + worse)
    assert read_scores(path).sizes["instance"] == 2


def test_votes_of_mt_bench_go_to_the_model_that_won(tmp_path: Path) -> None:
    """Each order is a vote: of g1 the first model is shown first, of g2 the second."""
    line = {"question_id": 1, "model_1": "new", "model_2": "old", "judge": ["gpt", "pair"]}
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(as_lines([line | {"g1_winner": "model_1", "g2_winner": "tie"}]))
    votes = registry.read_logs(path)
    assert isinstance(votes, Votes)
    shown = [(votes.systems[a], votes.systems[b]) for a, b in zip(votes.first, votes.second, strict=True)]
    assert shown == [("new", "old"), ("old", "new")]
    np.testing.assert_array_equal(votes.outcome, [1.0, 0.0])
    path.write_bytes(as_lines([line | {"g1_winner": "model_2", "g2_winner": "model_2"}]))
    votes = registry.read_logs(path)
    assert isinstance(votes, Votes)
    np.testing.assert_array_equal(votes.outcome, [-1.0, 1.0])


def test_a_grade_that_mt_bench_did_not_find_is_missing(tmp_path: Path) -> None:
    """-1 stands for a judgment without a grade: the other turn counts alone, and without one the score is missing."""
    line = {"judge": ["gpt", "single"]}
    grades = {"new": [(9, -1), (8, 6), (-1, -1)], "old": [(4, 6), (-1, 3), (2, 2)]}
    path = tmp_path / "judgments.jsonl"
    path.write_bytes(
        as_lines(
            line | {"question_id": item, "model": model, "turn": turn, "score": grade}
            for model, answers in grades.items()
            for item, turns in enumerate(answers)
            for turn, grade in enumerate(turns, start=1)
        )
    )
    table = read_scores(path, missing="leave").sel(system=["new", "old"])
    np.testing.assert_array_equal(table.transpose("topic", "system"), [[9, 5], [7, 3], [np.nan, 2]])


def test_runs_and_judgments_of_ranx_are_scored(tmp_path: Path) -> None:
    run = {"q1": {"a": 0.9, "b": 0.8}, "q2": {"c": 0.7, "d": 0.6}}
    contents = {
        "qrels.json": {"q1": {"a": 1, "b": 0}, "q2": {"c": 0, "d": 1}},
        "x.json": run,
        "y.json": {"q1": {"a": 0.1, "b": 0.2}, "q2": run["q2"]},
    }
    paths = [tmp_path / name for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_bytes(as_json(content))
    done = shardwise("score", *paths, "-m", "AP", "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == ["x,0.75", "y,0.5"]
    with pytest.raises(InputError, match=r"x\.json: is a run or judgments saved by ranx, not scores"):
        read_scores(paths[1])


def test_an_evaluation_of_tira_holds_means_only(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.prototext"
    path.write_text('measure {\n  key: "nDCG@10"\n  value: "0.5"\n}\n')
    with pytest.raises(
        InputError, match=r"contains only aggregate means; .*; give the runs and their judgments"
    ):
        read_scores(path)
