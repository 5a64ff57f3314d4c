"""Result files of mteb: a model on a task, one main score; tasks are the items."""

from __future__ import annotations

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row, make_log
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object

_SPLITS = ("test", "validation", "dev", "train")
_MAIN = ("ndcg_at_10", "map", "v_measure", "accuracy")
"""Main scores of the kinds of tasks, for files of versions that do not name it."""


def recognize_task(source: LogSource) -> bool:
    """Tell whether a file holds the scores of a task, as mteb writes them since or before version 1.11."""
    fields = source.fields
    return "mteb_version" in fields and (
        isinstance(fields.get("scores"), dict) or "mteb_dataset_name" in fields
    )


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file describes the model."""
    described = source.path.name == "model_meta.json" and "revision" in source.fields
    return "give the files of tasks beside it" if described else ""


def read_task(source: LogSource) -> list[Log]:
    """Read the main score of the test split, the mean over subsets of the task."""
    fields = source.fields
    former = {name: [fields[name]] for name in _SPLITS if name in fields}
    scores = as_object(fields.get("scores")) or former
    split = next((name for name in _SPLITS if name in scores), next(iter(scores), ""))
    subsets = [as_object(subset) for subset in as_list(scores.get(split))]
    values = [next((part[name] for name in ("main_score", *_MAIN) if name in part), None) for part in subsets]
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


READER = Reader("mteb results", recognize_task, read_task, explain_means)
