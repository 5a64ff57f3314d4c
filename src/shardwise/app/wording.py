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
    "calibration": "Simulated data sets for error rates",
}
"""What the page calls the options that it has."""


VALUES = {"repeats": ("seeds", "samples"), "names": ("tag", "file"), "missing": ("zero", "drop", "refuse")}
"""Values that sentences give to options."""
RESULTS = {
    "report.html": "the report, one file that needs nothing else",
    "report.json": "everything in the report, for programs",
    "leaderboard.html": "the leaderboard, one file that needs nothing else",
    "leaderboard.csv": "the leaderboard as a table",
    "pairs.csv": "all pairs with differences, intervals and p-values",
    "paper.zip": "table, figure and methods paragraph for LaTeX",
    "analysis.toml": "all settings, for shardwise compare --config",
    "calibration.csv": "error rates of every method as a table",
    "calibration.json": "error rates and advice, for programs",
    "repeat.json": "which numbers differ, for programs",
}
"""What the files that can be downloaded are."""


def describe_result(name: str) -> str:
    """Return what a file that can be downloaded is; those of a second measure are as those of the first.

    >>> describe_result("report-2.json"), describe_result("other.bin")
    ('everything in the report, for programs', '')
    """
    return RESULTS.get(re.sub(r"-\d+\.", ".", name), "")


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
    text = spell_settings(error.text(spell_option, command=True))
    return text.removeprefix("inputs/").replace(" inputs/", " ")


def spell_settings(text: str) -> str:
    """Return a sentence for the command line as the page has it: options are its settings.

    Parameters
    ----------
    text
        The sentence.

    >>> spell_settings("For more power, add --repeats samples.")
    'For more power, add the setting “Repeats are”: samples.'
    """
    for name, label in LABELS.items():
        values = "|".join(VALUES.get(name, ()))
        text = re.sub(rf"--{name} ({values})\b", rf"--{name}: \1", text) if values else text
        text = re.sub(rf"--{name}\b", f"the setting “{label}”", text)
    return text
