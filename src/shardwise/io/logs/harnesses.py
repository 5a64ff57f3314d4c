"""Logs of evaluation harnesses: lm-evaluation-harness, promptfoo, deepeval, HELM, lighteval, OpenAI evals and others.

A record of a tool is one answer, or one score of an answer; what each field is called stands with the tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.log import (
    Log,
    Row,
    group_records,
    make_log,
    parse_verdict,
    score_answers,
    shorten_label,
)
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object, read_json_file
from shardwise.io.tables.sheet import strip_endings

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


def _read_lm_eval(source: LogSource) -> list[Log]:
    """Read the scores of one model on one task, by all metrics and filters."""
    path = source.path
    lines = [{"doc_id": line, **row} for line, row in enumerate(source.rows, start=1)]
    metrics = _list_metrics(lines, path)
    if not metrics:
        raise InputError("has no metric of single answers", where=str(path), remedy="log a task that has one")
    several = len({str(row.get("filter", "none")) for row in lines}) > 1
    rows = score_answers(
        path,
        lines,
        lambda row: str(row["doc_id"]),
        lambda row: {
            f"{metric},{row.get('filter', 'none')}" if several else metric: parse_verdict(row[metric])
            for metric in metrics
            if metric in row
        },
        lambda row: as_object(row.get("doc")),
        lambda row: str(row.get("filter", "none")),
    )
    for line, row in enumerate(lines, start=1):
        for metric in metrics:
            if np.isinf(parse_verdict(row.get(metric))):
                raise InputError(
                    f"{metric}: {row[metric]!r} is not a number",
                    where=f"{path}:{line}",
                    remedy="mend the line",
                )
    # the model is called by the file's name, the results of the same date or the last ones, or the folder
    match = _SAMPLES.fullmatch(path.name)
    task, prefix, date = match.group("task", "model", "date") if match else (strip_endings(path), "", "")
    folder = source.folder
    results = [folder / f"results{date or ''}.json", *sorted(folder.glob("results*.json"), reverse=True)]
    known = (whole.get("model_name") for whole in map(read_json_file, results) if _has_means(whole))
    names = (prefix,) if prefix else (str(next(filter(None, known), folder.name)), folder.name)
    model, *others = (*dict.fromkeys(names), f"{folder.name}/{prefix or strip_endings(path)}")
    return [make_log(path, model, rows, task=task, repeats="repeat", others=others)]


def _list_metrics(rows: list[dict[str, Any]], path: Path) -> list[str]:
    """Return metrics that have one number a line, in the order of the file."""
    named: dict[str, None] = {}
    many: set[str] = set()
    for line, row in enumerate(rows, start=1):
        listed = row.get("metrics") or [name for name in row if name not in _NO_METRIC]
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


def _read_promptfoo(source: LogSource) -> list[Log]:
    """Read the scores of every provider, or of every provider with every prompt where there are several prompts."""
    if source.columns:
        raise InputError(
            "is the CSV of promptfoo, whose columns repeat for each provider",
            where=str(source.path),
            remedy="give its JSON: promptfoo eval -o results.json",
        )
    results = _list_promptfoo(source)
    several = len({str(as_object(row.get("prompt")).get("label")) for row in results}) > 1

    def name_system(row: Mapping[str, Any]) -> str:
        provider = row.get("provider")
        name = str(as_object(provider).get("label") or as_object(provider).get("id") or provider)
        return f"{name} | {as_object(row.get('prompt')).get('label')}" if several else name

    def name_item(row: Mapping[str, Any]) -> str:
        # by its variables: --repeat gives every repeat a testIdx of its own
        case = as_object(row.get("testCase"))
        variables = row.get("vars") or case.get("vars")
        if isinstance(variables, dict) and len(variables) == 1:
            return shorten_label(next(iter(variables.values())))
        if variables:
            return shorten_label(json.dumps(variables, sort_keys=True, ensure_ascii=False))
        return shorten_label(case.get("description") or row.get("testIdx"))

    def read_scores(row: Mapping[str, Any]) -> dict[str, float]:
        named = {f"namedScores.{key}": value for key, value in as_object(row.get("namedScores")).items()}
        scores = {"success": row.get("success"), "score": row.get("score"), **named}
        return {name: parse_verdict(value) for name, value in scores.items()}

    def read_about(row: Mapping[str, Any]) -> dict[str, Any]:
        return as_object(row.get("vars")) | as_object(as_object(row.get("testCase")).get("metadata"))

    return [
        make_log(
            source.path,
            name,
            score_answers(source.path, rows, name_item, read_scores, read_about),
            task="promptfoo",
            repeats="repeat",
            item="test",
            system="provider",
        )
        for name, rows in group_records(results, name_system).items()
    ]


def _read_deepeval(source: LogSource) -> list[Log]:
    """Read the scores of all metrics; the model is that of the hyperparameters, else the folder."""
    whole = source.fields
    cases = [*as_list(whole.get("testCases")), *as_list(whole.get("conversationalTestCases"))]

    def read_scores(case: Mapping[str, Any]) -> dict[str, float]:
        metrics = map(as_object, as_list(case.get("metricsData")))
        named = {str(metric.get("name")): parse_verdict(metric.get("score")) for metric in metrics}
        return {"success": parse_verdict(case.get("success")), **named}

    rows = score_answers(
        source.path,
        list(map(as_object, cases)),
        lambda case: shorten_label(case.get("input") or case.get("name")),
        read_scores,
        lambda case: as_object(case.get("metadata")) or as_object(case.get("additionalMetadata")),
    )
    file = source.folder.name if source.stem.startswith("test_run") else source.stem
    name = str(as_object(whole.get("hyperparameters")).get("model") or file)
    others = (file, f"{name} ({source.stem})")
    return [
        make_log(source.path, name, rows, task="deepeval", repeats="repeat", others=others, item="test case")
    ]


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


def _read_lighteval(source: LogSource) -> list[Log]:
    """Read the scores of one model on one task, of all metrics."""
    entries = [
        {name: as_object(value) for name, value in entry.items()}
        for entry in source.list_rows("doc", "metric")
    ]
    rows = score_answers(
        source.path,
        entries,
        lambda entry: str(entry["doc"].get("id")),
        lambda entry: {
            name: parse_verdict(value)
            for name, value in entry["metric"].items()
            if not isinstance(value, list | dict)
        },
        lambda entry: as_object(entry["doc"].get("specific")),
    )
    folders = source.folder.parts
    model = "/".join(folders[-3:-1]) if len(folders) > 3 else source.folder.name
    task = str(entries[0]["doc"].get("task_name")) if entries else source.stem
    others = (f"{model} ({source.folder.name})",)
    return [make_log(source.path, model, rows, task=task, repeats="sample", others=others)]


def _read_every_eval(source: LogSource) -> list[Log]:
    """Read the scores of every model and evaluation of a file, a line each sample and measure."""

    def name_measure(line: Mapping[str, Any]) -> str:
        return str(line.get("evaluation_result_id") or "score")

    logs = []
    groups = group_records(
        source.rows, lambda line: (str(line.get("model_id")), str(line.get("evaluation_name")))
    )
    for (model, task), lines in groups.items():
        rows = score_answers(
            source.path,
            lines,
            lambda line: str(line.get("sample_id")),
            lambda line: {name_measure(line): parse_verdict(as_object(line.get("evaluation")).get("score"))},
            part=name_measure,
        )
        firsts = {row.item: row for row in rows if row.repeat == "1"}
        # the converter writes the mean of all repeats into each
        alike = len(rows) > len(firsts) and all(row.scores == firsts[row.item].scores for row in rows)
        notes = ("repeats were averaged by the converter",) if alike else ()
        kept = list(firsts.values()) if alike else rows
        logs.append(
            make_log(source.path, model, kept, task=task, repeats="repeat", notes=notes, item="sample")
        )
    return logs


def _read_openai_evals(source: LogSource) -> list[Log]:
    """Read the verdicts of matches, and numbers of events of metrics."""

    def read_scores(event: Mapping[str, Any]) -> dict[str, float]:
        data = as_object(event.get("data"))
        if event.get("type") == "match" and "correct" in data:
            return {"correct": parse_verdict(data["correct"])}
        numbers = {name: value for name, value in data.items() if isinstance(value, bool | int | float)}
        return (
            {name: float(value) for name, value in numbers.items()} if event.get("type") == "metrics" else {}
        )

    spec = as_object(source.first.get("spec"))
    events = [line for line in source.rows if "sample_id" in line and read_scores(line)]
    if not events:
        raise InputError(
            "has no events with scores of samples",
            where=str(source.path),
            remedy="record an eval that matches answers",
        )
    rows = score_answers(
        source.path,
        events,
        lambda event: str(event["sample_id"]),
        read_scores,
        part=lambda event: tuple(sorted(read_scores(event))),
    )
    model = str(next(iter(as_list(spec.get("completion_fns"))), source.stem))
    task = str(spec.get("base_eval") or spec.get("eval_name") or "eval")
    return [
        make_log(source.path, model, rows, task=task, repeats="repeat", others=(source.stem,), item="sample")
    ]


READERS = (
    Reader(
        "lm-eval samples",
        lambda source: (
            "doc_id" in source.first and bool({"resps", "filtered_resps", "doc_hash"} & source.first.keys())
        ),
        _read_lm_eval,
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
        _read_promptfoo,
    ),
    Reader(
        "deepeval test run",
        lambda source: isinstance(source.fields.get("testCases"), list) and "metricsScores" in source.fields,
        _read_deepeval,
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
        _read_lighteval,
        lambda source: {"config_general", "results", "config_tasks"} <= source.fields.keys(),
        "give the details_*.parquet, which lighteval --save-details writes",
    ),
    Reader(
        "Every Eval Ever samples",
        lambda source: (
            {"schema_version", "model_id", "evaluation_name", "sample_id", "evaluation"}
            <= source.first.keys()
        ),
        _read_every_eval,
        lambda source: {"schema_version", "evaluation_results", "model_info"} <= source.fields.keys(),
        "give the *_samples.jsonl beside it",
    ),
    Reader(
        "OpenAI evals record",
        lambda source: "completion_fns" in as_object(source.first.get("spec")),
        _read_openai_evals,
    ),
)
