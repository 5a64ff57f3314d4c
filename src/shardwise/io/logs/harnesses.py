"""Logs of evaluation harnesses: lm-evaluation-harness, promptfoo, deepeval, HELM, lighteval, OpenAI evals and others.

A record of a tool is one answer, or one score of an answer; what each field is called stands with the tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.log import AnswerFields, Log, Record, Row, find_field, make_log, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object, read_json_file
from shardwise.io.tables.words import SYSTEMS, simplify_header

_SAMPLES = re.compile(
    r"(?P<model>.*?)[-_.]?samples_(?P<task>.+?)(?P<date>_\d{4}-\d\d-\d\dT[\d\-:.]+)?\.jsonl"
)
_NO_METRIC = frozenset({
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash",
})  # fmt: skip
"""Fields of lm-evaluation-harness that are no metrics."""
_NO_SCORE = re.compile(
    r"num_|training_|inference_|finish_reason|batch_size|prompt_|max_prob|logprob|predicted_index|estimated|.*_tokens$|"
    r".*_bytes$|.*runtime"
)
"""Statistics of HELM that are no scores."""
_BESIDE = ("stats.json", "run_spec.json", "scenario.json", "scenario_state.json", "instances.json")
"""Files of HELM beside those of instances."""


def _has_means(whole: Mapping[str, Any]) -> bool:
    return "results" in whole and bool({"configs", "n-shot", "lm_eval_version"} & whole.keys())


def _list_lm_eval(source: LogSource) -> list[Record]:
    """Return the lines of samples, each with its scores; a filter is named where there are several."""
    path = source.path
    lines = [{"doc_id": line, **row} for line, row in enumerate(source.rows, start=1)]
    metrics = _list_metrics(lines, path)
    if not metrics:
        raise InputError("has no metric of single answers", where=str(path), remedy="log a task that has one")
    several = len({str(row.get("filter", "none")) for row in lines}) > 1
    for line, row in enumerate(lines, start=1):
        kept = row["filter"] = str(row.get("filter", "none"))
        scores = {metric: row[metric] for metric in metrics if metric in row}
        for metric, score in scores.items():
            if np.isinf(parse_verdict(score)):
                problem = f"{metric}: {score!r} is not a number"
                raise InputError(problem, where=f"{path}:{line}", remedy="mend the line")
        row["scores"] = {f"{name},{kept}" if several else name: score for name, score in scores.items()}
        row["doc_id"], row["task"] = str(row["doc_id"]), _name_samples(source)[0]
    return lines


def _name_samples(source: LogSource) -> tuple[str, str, str]:
    """Return task, model and date of a file of samples, by its name."""
    match = _SAMPLES.fullmatch(source.path.name)
    task, prefix, date = match.group("task", "model", "date") if match else (source.stem, "", "")
    return task, prefix, date or ""


def _name_lm_eval(source: LogSource) -> Sequence[str]:
    """Return the model: by the file's name, the results of the same date or the last ones, or the folder."""
    folder = source.folder
    _, prefix, date = _name_samples(source)
    results = [folder / f"results{date}.json", *sorted(folder.glob("results*.json"), reverse=True)]
    known = (whole.get("model_name") for whole in map(read_json_file, results) if _has_means(whole))
    names = (prefix,) if prefix else (str(next(filter(None, known), folder.name)), folder.name)
    return (*dict.fromkeys(names), f"{folder.name}/{prefix or source.stem}")


def _list_metrics(rows: list[dict[str, Any]], path: Path) -> list[str]:
    """Return metrics that have one number a line, in the order of the file."""
    named: dict[str, None] = {}
    many: set[str] = set()
    for line, row in enumerate(rows, start=1):
        known = (name for name in row if name not in _NO_METRIC and simplify_header(name) not in SYSTEMS)
        listed = row.get("metrics") or list(known)
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            raise InputError(
                "metrics is not a list of names",
                where=f"{path}:{line}",
                remedy="mend the line, or run lm_eval --log_samples again",
            )
        named |= dict.fromkeys(name for name in listed if name in row)
        many |= {name for name in listed if isinstance(row.get(name), list | dict)}
    return [name for name in named if name not in many]


def _list_promptfoo(source: LogSource) -> list[dict[str, Any]]:
    """Return the results of promptfoo in a file; none where it is something else."""
    whole = source.whole if source.ending == ".json" else None
    rows = [source.first]
    if whole is not None:
        results = source.fields.get("results")
        listed = as_list(results.get("results") if isinstance(results, dict) else results)
        rows = [row for row in listed if isinstance(row, dict)]
    if not rows or not {"provider", "success", "score", "testCase"} <= rows[0].keys():
        return []
    return source.rows if whole is None else rows


def _list_tests(source: LogSource) -> list[Record]:
    """Return the results, each with the name of its provider, and of its prompt where there are several."""
    if source.columns:
        raise InputError(
            "is the CSV of promptfoo, whose columns repeat for each provider",
            where=str(source.path),
            remedy="give its JSON: promptfoo eval -o results.json",
        )
    results = _list_promptfoo(source)
    several = len({str(find_field(row, "prompt.label")) for row in results}) > 1
    for row in results:
        provider = find_field(row, "provider.label|provider.id|provider")
        row["system"] = f"{provider} | {find_field(row, 'prompt.label')}" if several else str(provider)
    return results


def _name_test(row: Record) -> str:
    """Return the item of a result by its variables: --repeat gives every repeat a testIdx of its own."""
    variables = find_field(row, "vars|testCase.vars")
    if isinstance(variables, dict) and len(variables) == 1:
        return str(next(iter(variables.values())))
    if variables:
        return json.dumps(variables, sort_keys=True, ensure_ascii=False)
    return str(find_field(row, "testCase.description|testIdx"))


def _score_test(row: Record) -> dict[str, Any]:
    named = {f"namedScores.{key}": value for key, value in as_object(row.get("namedScores")).items()}
    return {"success": row.get("success"), "score": row.get("score"), **named}


def _list_cases(source: LogSource) -> list[Record]:
    """Return the test cases of deepeval, of single answers and of conversations."""
    cases = (as_list(source.fields.get(name)) for name in ("testCases", "conversationalTestCases"))
    return [as_object(case) for listed in cases for case in listed]


def _score_case(case: Record) -> dict[str, Any]:
    metrics = map(as_object, as_list(case.get("metricsData")))
    return {"success": case.get("success")} | {str(m.get("name")): m.get("score") for m in metrics}


def _name_deepeval(source: LogSource) -> Sequence[str]:
    """Return the model of the hyperparameters, else the folder."""
    file = source.folder.name if source.stem.startswith("test_run") else source.stem
    name = str(find_field(source.fields, "hyperparameters.model") or file)
    return name, file, f"{name} ({source.stem})"


def _read_helm(source: LogSource) -> list[Log]:
    """Read the scores of one model on one scenario; splits are kept apart where there are several."""
    entries = [
        (entry, [(stat, as_object(stat.get("name"))) for stat in map(as_object, as_list(entry.get("stats")))])
        for entry in map(as_object, source.whole)
    ]
    several = len({str(about.get("split", "")) for _, stats in entries for _, about in stats}) > 1
    cells: dict[tuple[str, str], dict[str, float]] = {}
    for entry, stats in entries:
        item, trial = str(entry.get("instance_id")), str(entry.get("train_trial_index", 0))
        scores = cells.setdefault((item, trial), {})
        perturbed = as_object(entry.get("perturbation")).get("name")
        for stat, about in stats:
            if _NO_SCORE.match(str(about.get("name"))):
                continue
            changed = perturbed or as_object(about.get("perturbation")).get("name")
            split = [about.get("split", "")] if several else []
            measure = ",".join(map(str, [about.get("name"), *split, *([changed] if changed else [])]))
            if measure in scores:
                raise InputError(
                    f"a second {measure} of instance {item}, trial {trial}",
                    where=str(source.path),
                    remedy="write a file for each model and scenario",
                )
            scores[measure] = parse_verdict(stat.get("mean"))
    rows = [Row(item, trial, scores, {}) for (item, trial), scores in cells.items()]
    folder = source.folder.name
    match = re.search(r"model=([^,]+)", folder)
    spec = as_object(read_json_file(source.folder / "run_spec.json").get("adapter_spec"))
    model = str(spec.get("model") or (match[1].replace("_", "/", 1) if match else folder))
    exact = (name for row in rows for name in row.scores if name.startswith("exact_match"))
    return [
        make_log(
            source.path,
            model,
            rows,
            task=re.sub(r",model=[^,]*", "", folder),
            repeats="trial",
            others=(f"{model} ({source.folder.parent.name})",),
            primary=next(exact, ""),
            item="instance",
        )
    ]


def _score_details(entry: Record) -> dict[str, Any]:
    """Return the scores of an answer by the metrics of lighteval that give one number each."""
    metrics = as_object(entry.get("metric")).items()
    return {name: value for name, value in metrics if not isinstance(value, list | dict)}


def _name_lighteval(source: LogSource) -> Sequence[str]:
    folders = source.folder.parts
    model = "/".join(folders[-3:-1]) if len(folders) > 3 else source.folder.name
    return model, f"{model} ({source.folder.name})"


def _keep_averaged(rows: list[Row], _: Sequence[Record]) -> tuple[list[Row], tuple[str, ...]]:
    """Return one of the repeats of each item, where the converter wrote the mean of all repeats into each."""
    firsts = {row.item: row for row in rows if row.repeat == "1"}
    alike = len(rows) > len(firsts) and all(row.scores == firsts[row.item].scores for row in rows)
    return (list(firsts.values()), ("repeats were averaged by the converter",)) if alike else (rows, ())


def _score_event(event: Record) -> dict[str, Any]:
    """Return the verdict of a match, or the numbers of an event of metrics."""
    data = as_object(event.get("data"))
    if event.get("type") == "match" and "correct" in data:
        return {"correct": data["correct"]}
    numbers = {name: value for name, value in data.items() if isinstance(value, bool | int | float)}
    return numbers if event.get("type") == "metrics" else {}


def _list_events(source: LogSource) -> list[Record]:
    """Return the events of a record of OpenAI evals that score samples."""
    events = [line for line in source.rows if "sample_id" in line and _score_event(line)]
    if not events:
        remedy = "record an eval that matches answers"
        raise InputError("has no events with scores of samples", where=str(source.path), remedy=remedy)
    task = find_field(source.first, "spec.base_eval|spec.eval_name") or "eval"
    return [{**event, "task": task} for event in events]


READERS = (
    Reader(
        "lm-eval samples",
        lambda source: (
            "doc_id" in source.first and bool({"resps", "filtered_resps", "doc_hash"} & source.first.keys())
        ),
        AnswerFields(
            item="doc_id",
            scores="scores",
            records=_list_lm_eval,
            names=_name_lm_eval,
            named="task",
            about="doc",
            part="filter",
        ),
        lambda source: _has_means(source.fields),
        "give the samples_*.jsonl beside it, which lm_eval --log_samples writes",
    ),
    Reader(
        "promptfoo results",
        lambda source: (
            {"Status", "Named Scores"} <= set(source.columns)
            if source.columns
            else bool(_list_promptfoo(source))
        ),
        AnswerFields(
            item=_name_test,
            scores=_score_test,
            task="promptfoo",
            records=_list_tests,
            system="system",
            about=lambda row: as_object(row.get("vars")) | as_object(find_field(row, "testCase.metadata")),
            noun="test",
            system_noun="provider",
        ),
    ),
    Reader(
        "deepeval test run",
        lambda source: isinstance(source.fields.get("testCases"), list) and "metricsScores" in source.fields,
        AnswerFields(
            item="input|name",
            scores=_score_case,
            task="deepeval",
            records=_list_cases,
            names=_name_deepeval,
            about="metadata|additionalMetadata",
            noun="test case",
        ),
    ),
    Reader(
        "HELM run",
        lambda source: {"instance_id", "stats"} <= source.first_of_list.keys(),
        _read_helm,
        lambda source: source.path.name in _BESIDE and (source.folder / "run_spec.json").is_file(),
        "give the per_instance_stats.json beside it",
    ),
    Reader(
        "lighteval details",
        lambda source: {"doc", "metric", "model_response"} <= set(source.columns),
        AnswerFields(
            item="doc.id",
            scores=_score_details,
            records=lambda source: source.list_rows("doc", "metric"),
            names=_name_lighteval,
            named="doc.task_name",
            about="doc.specific",
            repeats="sample",
        ),
        lambda source: {"config_general", "results", "config_tasks"} <= source.fields.keys(),
        "give the details_*.parquet, which lighteval --save-details writes",
    ),
    Reader(
        "Every Eval Ever samples",
        lambda source: (
            {"schema_version", "model_id", "evaluation_name", "sample_id", "evaluation"}
            <= source.first.keys()
        ),
        AnswerFields(
            item="sample_id",
            scores=lambda line: {
                line.get("evaluation_result_id") or "score": find_field(line, "evaluation.score")
            },
            system="model_id",
            named="evaluation_name",
            part="evaluation_result_id",
            noun="sample",
            finish=_keep_averaged,
        ),
        lambda source: {"schema_version", "evaluation_results", "model_info"} <= source.fields.keys(),
        "give the *_samples.jsonl beside it",
    ),
    Reader(
        "OpenAI evals record",
        lambda source: "completion_fns" in as_object(source.first.get("spec")),
        AnswerFields(
            item="sample_id",
            scores=_score_event,
            records=_list_events,
            names=lambda source: (
                *map(str, as_list(find_field(source.first, "spec.completion_fns"))[:1]),
                source.stem,
            ),
            named="task",
            part=lambda event: tuple(sorted(_score_event(event))),
            noun="sample",
        ),
    ),
)
