"""Result files of mteb: a model on a task, one main score; tasks are the items."""

from __future__ import annotations

import numpy as np

from shardwise.core.errors import InputError
from shardwise.io.logs.log import Log, Row
from shardwise.io.logs.registry import Reader
from shardwise.io.logs.source import LogSource, as_list, as_object


def recognize_task(source: LogSource) -> bool:
    """Tell whether a file holds the scores of a task."""
    return "mteb_version" in source.fields and isinstance(source.fields.get("scores"), dict)


def explain_means(source: LogSource) -> str:
    """Say where the scores are, if a file describes the model."""
    described = source.path.name == "model_meta.json" and "revision" in source.fields
    return "give the files of tasks beside it" if described else ""


def read_task(source: LogSource) -> list[Log]:
    """Read the main score of the test split, the mean over subsets of the task."""
    path = source.path
    scores = as_object(source.fields.get("scores"))
    split = next(
        (name for name in ("test", "validation", "dev", "train") if name in scores), next(iter(scores), "")
    )
    values = [as_object(subset).get("main_score") for subset in as_list(scores.get(split))]
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    if not numbers:
        raise InputError("has no main score", where=str(path), remedy="run the task again")
    task = str(source.fields.get("task_name") or source.stem)
    rows = [Row(task, "1", {"main_score": float(np.mean(numbers))}, {})]
    folder = source.folder if "__" in source.folder.name else source.folder.parent
    model = folder.name.replace("__", "/", 1)
    return [
        Log(
            source=str(path),
            names=(model, f"{model} ({source.folder.name})"),
            task=task,
            rows=rows,
            primary="main_score",
            repeats="run",
            place=lambda row: str(path),
            notes=() if split == "test" else (f"{task}: split {split}",),
            item="task",
        )
    ]


READER = Reader("mteb results", recognize_task, read_task, explain_means)
