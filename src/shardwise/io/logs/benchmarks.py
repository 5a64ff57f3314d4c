"""Result files of benchmarks: SWE-bench, HumanEval, EvalPlus, AlpacaEval, MT-bench, mteb; rankings of ranx, TIRA."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.io.logs.log import AnswerFields, Log, Record, Row, make_log, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object
from shardwise.io.tables.words import list_roles
from shardwise.io.votes import Votes, Way

_LISTS = (
    "submitted_ids", "completed_ids", "incomplete_ids", "empty_patch_ids", "resolved_ids", "resolved", "unresolved_ids",
    "error_ids", "infra_failure_ids", "ambiguous_failure_ids",
)  # fmt: skip
"""Lists of instances in a report of SWE-bench."""
_INSTANCE = re.compile(r"(instance_)?[\w.\-]+__[\w.\-]+")
_SPLITS = ("test", "validation", "dev", "train")
_MAIN = ("main_score", "ndcg_at_10", "map", "v_measure", "accuracy")
"""Main scores of the kinds of tasks of mteb, the last for files of versions that do not name it."""


def _is_swe_bench(source: LogSource) -> bool:
    """Tell whether a file is a report: lists of ids, true or false for each id, or the outcome of each."""
    whole = source.fields
    if "total_instances" in whole and isinstance(whole.get("resolved_ids", whole.get("resolved")), list):
        return True
    if not whole or not all(_INSTANCE.fullmatch(key) for key in whole):
        return False
    values = whole.values()
    return all(isinstance(value, bool) for value in values) or all("resolved" in as_object(v) for v in values)


def _read_swe_bench(source: LogSource) -> list[Log]:
    """Read whether each instance was resolved; one that was not submitted counts as not resolved."""
    whole, folder = source.fields, source.folder
    notes: tuple[str, ...] = ()
    if "total_instances" in whole:
        ids = dict.fromkeys(str(item) for name in _LISTS for item in as_list(whole.get(name)))
        resolved = {str(item) for item in as_list(whole.get("resolved_ids", whole.get("resolved")))}
        submitted = {str(item) for item in as_list(whole.get("submitted_ids"))} or set(ids)
        scores = {item: {"resolved": float(item in resolved)} for item in ids}
        for item, values in scores.items():
            values["resolved,submitted"] = values["resolved"] if item in submitted else np.nan
        total = whole["total_instances"]
        unlisted = total - len(ids) if isinstance(total, int) else 0
        notes = (f"{format_count(unlisted, 'instance')} counted but not listed",) if unlisted > 0 else ()
        model = source.stem.rpartition(".")[0] or source.stem
        if source.path.name == "results.json":
            model = folder.parent.name if folder.name == "results" else folder.name
    else:
        outcomes = {key: as_object(value).get("resolved", value is True) for key, value in whole.items()}
        scores = {key: {"resolved": float(bool(outcome))} for key, outcome in outcomes.items()}
        single = source.path.name == "report.json" and len(scores) == 1
        model = folder.parent.name if single else folder.name
        if source.path.name not in ("report.json", "eval_results.json"):
            model = source.stem
    rows = []
    for item, values in scores.items():
        # an id begins with its repository
        owner, _, rest = item.removeprefix("instance_").partition("__")
        group = f"{owner}/{re.split(r'-[0-9a-f]{7,}|-[0-9]+$', rest)[0]}"
        rows.append(Row(item, "1", values, {"group": group}))
    return [
        make_log(
            source.path,
            model,
            rows,
            task="SWE-bench",
            repeats="run",
            others=(f"{folder.parent.name}/{folder.name}",),
            notes=notes,
            item="instance",
            system="submission",
        )
    ]


def _is_human_eval(source: LogSource) -> bool:
    """Tell whether the first line of a file is a completion with its outcome, and no field of it names a system."""
    first = source.first.keys()
    outcome = {"task_id", "passed"} <= first and bool({"completion", "result", "solution"} & first)
    return outcome and not any("system" in list_roles(field) for field in first)


def _read_evalplus(source: LogSource) -> list[Log]:
    """Read whether each sample passed the tests of HumanEval, and those and the added ones."""
    rows = []
    for task, samples in as_object(source.fields.get("eval")).items():
        for number, sample in enumerate(map(as_object, as_list(samples)), start=1):
            base, plus = sample.get("base_status") == "pass", sample.get("plus_status")
            added = {} if plus is None else {"plus": float(base and plus == "pass")}
            rows.append(Row(str(task), str(number), {"base": float(base), **added}, {}))
    primary = "plus" if any("plus" in row.scores for row in rows) else "base"
    name = source.stem.removesuffix("_eval_results").removesuffix(".eval_results")
    others = (f"{source.folder.name}/{name}",)
    return [
        make_log(
            source.path,
            name,
            rows,
            task="EvalPlus",
            repeats="sample",
            others=others,
            primary=primary,
            item="problem",
        )
    ]


def _name_completions(source: LogSource) -> Sequence[str]:
    """Return the model of completions: the file."""
    name = source.path.name.split(".jsonl", 1)[0].removesuffix("_results")
    return name, f"{source.folder.name}/{name}"


def _list_annotations(source: LogSource) -> list[Record]:
    """Return the annotations of AlpacaEval, which have one baseline."""
    baselines = {str(line.get("generator_1")) for line in source.rows}
    if len(baselines) > 1:
        raise InputError(
            f"compares models with {len(baselines)} baselines ({', '.join(sorted(baselines)[:3])})",
            where=str(source.path),
            remedy="give annotations against one baseline",
        )
    return source.rows


def _average_turns(rows: list[Row], _: Sequence[Record]) -> tuple[list[Row], tuple[str, ...]]:
    """Return the mean grade of every answer over its turns; -1 stands where no grade was found."""
    averaged = []
    for row in rows:
        grades = [grade for grade in row.scores.values() if grade != -1 and not np.isnan(grade)]
        averaged.append(replace(row, scores={"score": float(np.mean(grades)) if grades else np.nan}))
    return averaged, ("grades averaged over turns",)


def _read_pairs(source: LogSource) -> Votes:
    """Read judgments of pairs: each order is a vote, so that the position effect can be told."""
    votes: list[tuple[str, str, float, str, str]] = []
    left_out = 0
    for line in source.rows:
        first, second = str(line.get("model_1")), str(line.get("model_2"))
        judge = line.get("judge")
        voter = str(judge[0] if isinstance(judge, list) and judge else judge)
        # g1 shows model_1 first, g2 shows model_2 first; both say the winner by its column
        for field, names, sign in (("g1_winner", (first, second), 1.0), ("g2_winner", (second, first), -1.0)):
            outcome = {"model_1": 1.0, "model_2": -1.0, "tie": 0.0}.get(str(line.get(field, "")))
            if outcome is None:
                left_out += 1
            else:
                votes.append((*names, sign * outcome, str(line.get("question_id")), voter))
    if not votes:
        raise InputError("no judgment has a winner", where=str(source.path), remedy="judge the pairs again")
    systems = {name: k for k, name in enumerate(dict.fromkeys(name for vote in votes for name in vote[:2]))}
    notes = ("MT-bench judgments of pairs, each order a vote",)
    return Votes(
        source=str(source.path),
        systems=tuple(systems),
        first=np.array([systems[vote[0]] for vote in votes], dtype=np.int64),
        second=np.array([systems[vote[1]] for vote in votes], dtype=np.int64),
        outcome=np.array([vote[2] for vote in votes]),
        prompt=Way.of_labels((vote[3] for vote in votes), "question"),
        voter=Way.of_labels((vote[4] for vote in votes), "judge"),
        system_noun="model",
        notes=(*notes, f"{left_out} without a verdict left out") if left_out else notes,
    )


def _read_mteb(source: LogSource) -> list[Log]:
    """Read the main score of the test split, the mean over subsets of the task; tasks are the items."""
    fields = source.fields
    former = {name: [fields[name]] for name in _SPLITS if name in fields}
    scores = as_object(fields.get("scores")) or former
    split = next((name for name in _SPLITS if name in scores), next(iter(scores), ""))
    subsets = map(as_object, as_list(scores.get(split)))
    values = [next((part[name] for name in _MAIN if name in part), None) for part in subsets]
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if not numbers:
        raise InputError("has no main score", where=str(source.path), remedy="run the task again")
    task = str(fields.get("task_name") or fields.get("mteb_dataset_name") or source.stem)
    rows = [Row(task, "1", {"main_score": float(np.mean(numbers))}, {})]
    folder = source.folder if "__" in source.folder.name else source.folder.parent
    model = folder.name.replace("__", "/", 1)
    notes = () if split == "test" else (f"{task}: split {split}",)
    others = (f"{model} ({source.folder.name})",)
    return [
        make_log(source.path, model, rows, task=task, repeats="run", others=others, notes=notes, item="task")
    ]


def is_ranking(source: LogSource) -> bool:
    """Tell whether a file is a run or judgments of ranx: ``{query: {document: number}}``, documents of their own."""
    inner = list(islice(source.fields.values(), 20))
    if source.ending != ".json" or not inner:
        return False
    for part in inner:
        if not isinstance(part, Mapping) or not part:
            return False
        values: list[Any] = list(islice(part.values(), 20))
        if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            return False
    # scores of systems on items have the same inner keys everywhere
    first = set(inner[0])
    return len(first) > 1 and any(len(first & set(part)) < len(first) / 2 for part in inner[1:])


def _refuse_ranking(source: LogSource) -> list[Log]:
    """Refuse a run that stands without its judgments."""
    raise InputError(
        "is a run or judgments saved by ranx, not scores",
        where=str(source.path),
        remedy="give the judgments first and then the runs: qrels.json run_1.json run_2.json",
    )


_GRADED = ("model", "score", "turn")
_GRADES = AnswerFields(
    item="question_id",
    scores=lambda line: {line.get("turn"): line.get("score")},
    task="MT-bench",
    system="model",
    part="turn",
    repeats="judgment",
    finish=_average_turns,
)

READERS = (
    Reader("SWE-bench report", _is_swe_bench, _read_swe_bench),
    Reader(
        "HumanEval results",
        _is_human_eval,
        AnswerFields(
            item="task_id",
            scores=lambda line: {"passed": line.get("passed")},
            task="HumanEval",
            names=_name_completions,
            repeats="sample",
            noun="problem",
        ),
    ),
    Reader(
        "EvalPlus results",
        lambda source: (
            "base_status"
            in as_object(
                next(iter(as_list(next(iter(as_object(source.fields.get("eval")).values()), None))), None)
            )
        ),
        _read_evalplus,
    ),
    Reader(
        "AlpacaEval annotations",
        lambda source: (
            {"instruction", "generator_1", "generator_2", "preference"} <= source.first_of_list.keys()
        ),
        # 0 never preferred to the baseline, 1 always, between as the annotator weighs it
        AnswerFields(
            item="instruction",
            scores=lambda line: {"win": parse_verdict(line.get("preference")) - 1.0},
            task="AlpacaEval",
            records=_list_annotations,
            system="generator_2",
            repeats="annotation",
            noun="instruction",
            finish=lambda rows, lines: (rows, (f"preferred to {lines[0].get('generator_1')}",)),
        ),
    ),
    Reader(
        "MT-bench judgments",
        lambda source: (
            {"question_id", "judge"} <= source.first.keys()
            and ({*_GRADED} <= source.first.keys() or {"model_1", "model_2"} <= source.first.keys())
        ),
        lambda source: [_read_pairs(source)] if "model_1" in source.first else _GRADES(source),
    ),
    Reader(
        "mteb results",
        # as written since version 1.11, or before
        lambda source: (
            "mteb_version" in source.fields
            and (isinstance(source.fields.get("scores"), dict) or "mteb_dataset_name" in source.fields)
        ),
        _read_mteb,
        lambda source: source.path.name == "model_meta.json" and "revision" in source.fields,
        "give the files of tasks beside it",
    ),
    Reader(
        "ranx run",
        is_ranking,
        _refuse_ranking,
        lambda source: {"model_names", "metrics", "stat_test"} <= source.fields.keys(),
        "give the judgments and the runs: qrels.json run_1.json run_2.json",
    ),
    Reader(
        "TIRA evaluation",
        lambda source: False,
        lambda source: [],
        lambda source: (
            source.ending == ".prototext" and re.match(rb"\s*measure\s*\{", source.head) is not None
        ),
        "give the runs and their judgments, which shardwise scores itself",
    ),
)
