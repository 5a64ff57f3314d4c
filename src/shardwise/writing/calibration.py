"""Write what a calibration says in plain words: one verdict, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shardwise.core.claim import format_count, pluralize_noun
from shardwise.lab.calibrate import Calibration
from shardwise.lab.verdict import Advice, Verdict
from shardwise.methods.registry import parse_procedure
from shardwise.writing.answer import capitalize_sentence, join_names
from shardwise.writing.numbers import format_percent
from shardwise.writing.remarks import RATES

HEADINGS = {
    "holds": "{name} is valid on data like yours: its false-alarm rate is held.",
    "unclear": "No evidence against {name} on data like yours.",
    "fails": "{name} gives too many false alarms on data like yours.",
}
"""The verdict on one method, by what was shown of it."""


@dataclass(frozen=True, slots=True)
class CalibrationWords:
    """What is said of one claim.

    Parameters
    ----------
    claim : str
        What it is about.
    verdict : str
        The one sentence that matters.
    sentences : tuple of str
        What it rests on, and what to do.
    """

    claim: str
    verdict: str
    sentences: tuple[str, ...]


def write_calibration(lab: Calibration, nouns: Mapping[str, str]) -> list[CalibrationWords]:
    """Write the verdict on each claim, that on new topics first.

    Parameters
    ----------
    lab : Calibration
        Measured error rates, with verdicts.
    nouns : mapping
        The user's own words for dimensions.

    Returns
    -------
    list of CalibrationWords
        One for each claim.
    """
    rows = {
        verdict.claim: {
            str(row["method"]): row
            for row in lab.table[lab.table["claim"] == verdict.claim].to_dict("records")
        }
        for verdict in lab.verdicts
    }
    words = [_write_claim(verdict, rows[verdict.claim], nouns) for verdict in lab.verdicts]
    return sorted(words, key=lambda item: not item.claim.startswith("new "))


def _write_claim(
    verdict: Verdict, rows: Mapping[str, Mapping[Any, Any]], nouns: Mapping[str, str]
) -> CalibrationWords:
    """The verdict on the default method, or on those that were tried without it."""
    lead = next((advice for advice in verdict.advice if advice.status), None)
    if lead is None:
        return CalibrationWords(verdict.claim, *_write_methods(rows, nouns, verdict.alpha))
    title = f"the default method ({parse_procedure(lead.declared).method.title})"
    sentences = [_write_rate(rows[lead.declared], nouns, verdict.alpha)]
    if lead.status == "unclear":
        sentences.append("More simulated data sets would narrow the range.")
    if lead.status == "fails":
        sentences.append(_write_remedy(lead, rows, nouns, verdict.alpha))
    sentences += [f"Why: {cause}." for cause in verdict.causes]
    heading = capitalize_sentence(HEADINGS[lead.status].format(name=title))
    return CalibrationWords(verdict.claim, heading, tuple(sentences))


def _write_methods(
    rows: Mapping[str, Mapping[Any, Any]], nouns: Mapping[str, str], alpha: float
) -> tuple[str, tuple[str, ...]]:
    """The verdict on methods that were chosen by name."""
    meant = {name: row for name, row in rows.items() if row["meant"]}
    if len(meant) == 1:
        ((name, row),) = meant.items()
        return HEADINGS[str(row["status"])].format(name=name), (_write_rate(row, nouns, alpha),)
    failed = [name for name, row in meant.items() if row["status"] == "fails"]
    tried = format_count(len(meant), "method")
    if not meant:
        return "None of these methods is made for this claim.", ()
    if all(row["status"] == "holds" for row in meant.values()):
        return f"The {tried} tried are valid on data like yours: their false-alarm rates are held.", ()
    if not failed:
        return f"No evidence against the {tried} tried on data like yours.", ()
    verb = "gives" if len(failed) == 1 else "give"
    return (
        f"{len(failed)} of the {tried} tried {verb} too many false alarms on data like yours: {join_names(failed)}.",
        (),
    )


def _write_rate(row: Mapping[Any, Any], nouns: Mapping[str, str], alpha: float) -> str:
    """How often a method is wrong, beside the nominal level."""
    systems = pluralize_noun(nouns.get("system", "system"))
    rate = f"{row['rate']:.1%} ({row['low']:.1%} to {row['high']:.1%})"
    does = RATES[str(row["error_rate"])].format(rate=rate, systems=systems)
    return f"With equal {systems}, it {does}. The nominal rate is {format_percent(alpha)}."


def _write_remedy(
    advice: Advice, rows: Mapping[str, Mapping[Any, Any]], nouns: Mapping[str, str], alpha: float
) -> str:
    """What to use in place of a default that fails."""
    if advice.calibrated:
        return f"Use it at level {advice.alpha:g}, where its rate is {format_percent(alpha)}."
    if advice.method not in rows:
        return f"Use {advice.method} instead, which controls a stricter error rate."
    return capitalize_sentence(f"use {advice.method} instead: its rate is {rows[advice.method]['rate']:.1%}.")
