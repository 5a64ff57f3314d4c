"""Refusals of the library in the words of the page: arguments are its settings."""

from __future__ import annotations

import re

from shardwise.core.errors import InputError, Option

LABELS = {
    "measure": "Measures",
    "generalize": "What the answer is about",
    "baseline": "Baseline",
    "columns": "Columns",
    "n_shards": "Shards",
    "shards": "Shards",
    "n_splits": "Splits",
    "splits": "Splits",
    "kind": "How documents fall into shards",
    "corpus": "Documents in the whole corpus",
    "human": "File of scores by people",
    "model": "Model",
    "method": "Method",
    "alpha": "Level",
    "fill": "Undefined scores",
    "missing": "Missing topics or scores",
    "names": "Names of systems",
    "depth": "Depth",
    "repeats": "Repeats are",
    "seed": "Random seed",
    "calibration": "Trust check, tables",
}
"""What the page calls the options that it has."""


def spelled(option: Option) -> str:
    """Write an argument as the page has it.

    >>> spelled(Option("names", "file")), spelled(Option("min_diff", 0.1))
    ('the setting “Names of systems”: file', 'min diff 0.1')
    """
    name = LABELS.get(option.name)
    said = f"the setting “{name}”" if name else option.name.replace("_", " ")
    if option.value is None or option.value is True:
        return said
    return f"{said}{':' if name else ''} {option.value}"


def in_words(error: InputError) -> str:
    """Return the line that a refusal has on the page: files are named as they were sent.

    Parameters
    ----------
    error
        The refusal.

    >>> error = InputError("has more than one run tag", where="inputs/a.run", remedy=("use ", Option("names", "file")))
    >>> in_words(error)
    'a.run: has more than one run tag; use the setting “Names of systems”: file'
    """
    text = error.text(spelled, command=True)
    for name, label in LABELS.items():
        text = re.sub(rf"--{name}\b", f"the setting “{label}”", text)
    return text.removeprefix("inputs/").replace(" inputs/", " ")
