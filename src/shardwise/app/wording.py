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


def spell_option(option: Option) -> str:
    """Write an argument as the page has it.

    >>> spell_option(Option("names", "file")), spell_option(Option("min_diff", 0.1))
    ('the setting “Names of systems”: file', 'min diff 0.1')
    """
    name = LABELS.get(option.name)
    setting = f"the setting “{name}”" if name else option.name.replace("_", " ")
    if option.value is None or option.value is True:
        return setting
    return f"{setting}{':' if name else ''} {option.value}"


def describe_error(error: InputError) -> str:
    """Return the line that a refusal has on the page: files are named as they were sent.

    Parameters
    ----------
    error
        The refusal.

    >>> error = InputError("has more than one run tag", where="inputs/a.run", remedy=("use ", Option("names", "file")))
    >>> describe_error(error)
    'a.run: has more than one run tag; use the setting “Names of systems”: file'
    """
    text = error.text(spell_option, command=True)
    for name, label in LABELS.items():
        text = re.sub(rf"--{name}\b", f"the setting “{label}”", text)
    return text.removeprefix("inputs/").replace(" inputs/", " ")
