"""The words that people head their columns with, and what they mean by them."""

from __future__ import annotations

import re

from shardwise.core.scores import ROLE_OF

SWING = {
    "run": ("system", "instance"),
    "run_id": ("system", "instance"),
    "runid": ("system", "instance"),
    "sample": ("topic", "instance"),
    "sample_id": ("topic", "instance"),
    "task_id": ("topic", "task"),
    "doc_id": ("topic",),
    "name": ("system",),
    "tag": ("system",),
    "method": ("system",),
    "variant": ("system",),
    **dict.fromkeys(("id", "idx", "index", "key", "no", "nr", "number", "uid", "unnamed:_0", ""), ("topic",)),
}
"""Words that mean the first of these of which there is no other column."""

VALUES = ("value", "score")  # numbers that do not say what of
OUTCOMES = (
    *("correct", "is_correct", "accuracy", "acc", "exact_match", "em", "f1", "judge", "judge_score"),
    *("rating", "grade", "reward", "passed", "pass", "success", "result", "outcome", "resolved", "win"),
)
"""Headers of scores; where there are any, other numbers in the table are none."""
NAMELESS = ("id", "idx", "index", "key", "no", "nr", "number", "uid", "unnamed:_0", "", "name", "tag")
"""Words that say nothing of what the rows are."""
SETTINGS = (
    *(
        "temperature",
        "temp",
        "top_p",
        "top_k",
        "shots",
        "n_shots",
        "num_shots",
        "k",
        "fold",
        "version",
        "year",
        "round",
    ),
    *("max_tokens", "batch", "batch_size", "level", "turn", "weight", "count", "n"),
)
"""Headers of what an evaluation was run with; a column of one of these that never changes is no system."""
SUMMARIES = {
    form(word)
    for word in ("all", "mean", "average", "avg", "overall", "total", "macro avg", "micro avg")
    for form in (str.lower, str.upper, str.capitalize, str.title)
}
"""Rows of these names are no items: trec_eval's and spreadsheets' means."""

TASKS = ("task", "task_name", "dataset", "dataset_name", "benchmark", "subset", "subject", "suite")
CLUSTERS = (
    *("cluster", "cluster_id", "passage", "passage_id", "group", "group_id", "context_id", "conversation"),
    *("conversation_id", "document", "document_id", "story_id"),
)
"""Words for what several items have in common."""
LABELS = frozenset({"topic", "system", "instance", "shard", "split", "task", "cluster", "measure"})
_MEASURES = ("measure", "metric")


def plain(header: str) -> str:
    """Return a header in lower case with underscores.

    >>> plain("Question ID"), plain("model-name")
    ('question_id', 'model_name')
    """
    return re.sub(r"[\s\-]+", "_", header.strip().lower())


def role_words(header: str) -> frozenset[str]:
    """Return all that a column of this name may be.

    >>> sorted(role_words("run_id")), sorted(role_words("Question ID")), sorted(role_words("answer"))
    (['instance', 'system'], ['topic'], [])
    """
    word = plain(header)
    if word in SWING:
        return frozenset(SWING[word])
    if word in _MEASURES:
        return frozenset({"measure"})
    if word in CLUSTERS:
        return frozenset({"cluster"})
    if word in TASKS:
        return frozenset({"task"})
    return frozenset({ROLE_OF[word]} if word in ROLE_OF else ())
