"""The words of the page itself: labels, refusals in which arguments are its settings, and what two analyses share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shardwise.core.claim import format_count
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
    "range": "Lowest and highest possible score",
    "lower-is-better": "Lower scores are better",
    "higher-is-better": "Higher scores are better",
    "depth": "Depth",
    "repeats": "Repeats are",
    "seed": "Random seed",
    "calibration": "Simulated data sets for error rates",
}
"""What the page calls the options that it has."""


RATE_COLUMNS = {
    "method": "Method",
    "error_rate": "Controls",
    "false alarms, %": "False alarms, %",
    "worst in": "Worst scenario",
    "interval coverage, %": "Interval coverage, %",
    "power, %": "Power, %",
}
"""Columns of the table of all methods that were calibrated, and their headings."""
RATE_VERDICTS = {"holds": "valid", "unclear": "no evidence against it", "fails": "too many false alarms"}
"""What was shown of a method."""
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


def write_changes(found: Mapping[str, Any]) -> list[str]:
    """Write what changed, the conclusions first.

    Parameters
    ----------
    found
        What `compare_reports` counts.
    """
    pairs, changed = found["pairs"], found["changed"]
    if not found["listed"]:
        lines = ["The systems have too many pairs to compare them one by one; means and ranks are below."]
    elif not pairs:
        lines = ["No pair of systems was compared in both analyses."]
    elif not changed:
        every, are = ("the one pair", "is") if pairs == 1 else (f"all {pairs:,} pairs", "are")
        lines = [f"Same conclusions: {every} compared in both analyses {are} judged alike."]
    else:
        parts = [
            f"{found[name]:,} {words}"
            for name, words in (
                ("gained", "significant in the second only"),
                ("lost", "significant in the first only"),
                ("reversed", "significant in opposite directions"),
            )
            if found[name]
        ]
        total = format_count(pairs, "pair")
        lines = [f"{len(changed):,} of {total} compared in both analyses changed: {', '.join(parts)}."]
    moved = sum(row["mean_change"] != 0.0 for row in found["systems"])
    if found["same_scores"]:
        lines.append("Both used the same scores.")
    elif found["systems"]:
        count = format_count(len(found["systems"]), "system")
        lines.append(f"The mean changed for {moved:,} of {count} in both.")
    return lines
