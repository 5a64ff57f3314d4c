"""Runs of HELM: ``per_instance_stats.json``, a model on a scenario, with ``run_spec.json`` beside it."""

from __future__ import annotations

import json
import re
from typing import Any

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, make_log, parse_verdict
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object

_NO_SCORE = re.compile(
    r"num_|training_|inference_|finish_reason|batch_size|prompt_|max_prob|logprob|predicted_index|estimated|.*_tokens$|"
    r".*_bytes$|.*runtime"
)
"""Statistics of a row that are no scores."""
_BESIDE = ("stats.json", "run_spec.json", "scenario.json", "scenario_state.json", "instances.json")


def recognize_stats(source: LogSource) -> bool:
    """Tell whether a file holds the statistics of instances."""
    if source.ending != ".json" or not isinstance(source.whole, list) or not source.whole:
        return False
    return {"instance_id", "stats"} <= as_object(source.whole[0]).keys()


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file stands beside those of the instances."""
    if source.path.name not in _BESIDE or not (source.folder / "run_spec.json").is_file():
        return ""
    return "give the per_instance_stats.json beside it"


def read_stats(source: LogSource) -> list[Log]:
    """Read the scores of one model on one scenario; splits are kept apart where there are several."""
    entries = [as_object(entry) for entry in source.whole]
    splits = {_split_of(stat) for entry in entries for stat in as_list(entry.get("stats"))}
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for entry in entries:
        perturbed = as_object(entry.get("perturbation")).get("name")
        key = (str(entry.get("instance_id")), str(entry.get("train_trial_index", 0)))
        scores = rows.setdefault(key, {})
        for stat in as_list(entry.get("stats")):
            name = str(as_object(stat.get("name")).get("name"))
            if _NO_SCORE.match(name):
                continue
            changed = perturbed or as_object(as_object(stat.get("name")).get("perturbation")).get("name")
            parts = [
                name,
                *([_split_of(stat)] if len(splits) > 1 else []),
                *([str(changed)] if changed else []),
            ]
            measure = ",".join(parts)
            if measure in scores:
                raise InputError(
                    f"a second {measure} of instance {key[0]}, trial {key[1]}",
                    where=str(source.path),
                    remedy="write a file for each model and scenario",
                )
            scores[measure] = parse_verdict(stat.get("mean"))
    kept = [Row(item, trial, scores, {}) for (item, trial), scores in rows.items()]
    spec = _read_spec(source)
    folder = source.folder.name
    match = re.search(r"model=([^,]+)", folder)
    named = match[1].replace("_", "/", 1) if match else folder
    model = str(as_object(spec.get("adapter_spec")).get("model") or "") or named
    names = list(dict.fromkeys(name for row in kept for name in row.scores))
    return [
        make_log(
            source.path,
            model,
            kept,
            task=re.sub(r",model=[^,]*", "", folder),
            repeats="trial",
            others=(f"{model} ({source.folder.parent.name})",),
            primary=next((name for name in names if name.startswith("exact_match")), ""),
            item="instance",
        )
    ]


def _split_of(stat: Any) -> str:
    return str(as_object(as_object(stat).get("name")).get("split", ""))


def _read_spec(source: LogSource) -> dict[str, Any]:
    try:
        return as_object(json.loads((source.folder / "run_spec.json").read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}


READER = Reader("HELM run", recognize_stats, read_stats, explain_means)
