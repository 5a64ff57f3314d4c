"""Write what the laboratory found in plain words: verdicts, what they rest on, and what makes methods err."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.libraries import pd
from shardwise.core.text import shorten_names
from shardwise.lab.calibrate import Calibration
from shardwise.lab.holdout import PredictiveCheck
from shardwise.lab.statements import StatementCheck
from shardwise.lab.verdict import Advice, Row, Rows, Verdict, is_good, two_digits
from shardwise.methods.names import parse_procedure
from shardwise.writing.answer import capitalize_sentence, join_names
from shardwise.writing.numbers import format_percent
from shardwise.writing.remarks import RATES

NEAR_ZERO = 0.01  # share of the largest score
TWINS = 0.02  # variance of a pair's difference over the mean of all pairs
UNSTEADY = 2.0  # mean variance of a system's differences over that of all
FEW, MUCH = 0.1, 0.5  # share of topics, and of what happens between topics and systems
BLAMED = 2.0  # times as many false alarms as systems have on average
NAMED = 3  # systems or topics called by their names
PROMISED = {
    "family": "no false claim at all among the pairs",
    "discovery": "few false ones among the claims made",
    "pair": "each pair by itself",
}
"""What each error rate means."""
SHOWN = (
    "false alarms, %",
    "worst in",
    "shown",
    "interval coverage, %",
    "counted in",
    "intervals",
    "power, %",
)
"""Columns of the table, in their order."""
HEADINGS = {
    "holds": "{name} is valid on data like yours: its false-alarm rate is held.",
    "unclear": "No evidence against {name} on data like yours.",
    "fails": "{name} gives too many false alarms on data like yours.",
}
"""The verdict on one method, by what was shown of it."""


def write_calibration(lab: Calibration, nouns: Mapping[str, str]) -> list[dict[str, Any]]:
    """Write the verdict on each claim, that on new topics first: `claim, verdict, sentences` that it rests on.

    It is about the default method, or about those that were tried without it.
    """
    words = []
    for verdict in lab.verdicts:
        table, alpha = lab.table[lab.table["claim"] == verdict.claim], verdict.alpha
        rows = {str(row["method"]): row for row in table.to_dict("records")}
        lead = next((advice for advice in verdict.advice if advice.status), None)
        if lead is None:
            heading, sentences = _write_methods(rows, nouns, alpha)
        else:
            title = f"the default method ({parse_procedure(lead.declared).method.title})"
            heading = capitalize_sentence(HEADINGS[lead.status].format(name=title))
            sentences = [_write_rate(rows[lead.declared], nouns, alpha)]
            if lead.status == "unclear":
                sentences.append("More simulated data sets would narrow the range.")
            elif lead.status == "fails" and lead.calibrated:
                sentences.append(
                    f"Use it at level {lead.alpha:g}, where its rate is {format_percent(alpha)}."
                )
            elif lead.status == "fails" and lead.method not in rows:
                sentences.append(f"Use {lead.method} instead, which controls a stricter error rate.")
            elif lead.status == "fails":
                sentences.append(f"Use {lead.method} instead: its rate is {rows[lead.method]['rate']:.1%}.")
            sentences += [f"Why: {cause}." for cause in verdict.causes]
        words.append({"claim": verdict.claim, "verdict": heading, "sentences": sentences})
    return sorted(words, key=lambda item: not item["claim"].startswith("new "))


def _write_methods(
    rows: Mapping[str, Mapping[Any, Any]], nouns: Mapping[str, str], alpha: float
) -> tuple[str, list[str]]:
    """The verdict on methods that were chosen by name."""
    meant = {name: row for name, row in rows.items() if row["meant"]}
    if len(meant) == 1:
        ((name, row),) = meant.items()
        return HEADINGS[str(row["status"])].format(name=name), [_write_rate(row, nouns, alpha)]
    failed = [name for name, row in meant.items() if row["status"] == "fails"]
    tried = format_count(len(meant), "method")
    if not meant:
        heading = "None of these methods is made for this claim."
    elif all(row["status"] == "holds" for row in meant.values()):
        heading = f"The {tried} tried are valid on data like yours: their false-alarm rates are held."
    elif not failed:
        heading = f"No evidence against the {tried} tried on data like yours."
    else:
        give = f"tried {'gives' if len(failed) == 1 else 'give'} too many false alarms on data like yours"
        heading = f"{len(failed)} of the {tried} {give}: {join_names(failed)}."
    return heading, []


def _write_rate(row: Mapping[Any, Any], nouns: Mapping[str, str], alpha: float) -> str:
    """How often a method is wrong, beside the nominal level."""
    systems = pluralize_noun(nouns.get("system", "system"))
    rate = f"{row['rate']:.1%} ({row['low']:.1%} to {row['high']:.1%})"
    does = RATES[str(row["error_rate"])].format(rate=rate, systems=systems)
    return f"With equal {systems}, it {does}. The nominal rate is {format_percent(alpha)}."


def write_calibration_text(lab: Calibration, command: bool = False) -> str:
    """Return what was simulated and the verdicts, for Python or for the command line."""
    most = "" if lab.repetitions == lab.budget else f" of at most {lab.budget}"
    head = f"{lab.scores}; {lab.repetitions}{most} tables per scenario, seed {lab.seed}"
    return "\n\n".join(["\n".join([head, *lab.notes]), *(v.text(command) for v in lab.verdicts)])


def show_calibration(lab: Calibration) -> pd.DataFrame:
    """Return the table as a page shows it: false alarms and coverage in per cent, with interval and scenario."""
    t = lab.table
    shares = {
        title: [
            "–" if np.isnan(x) else f"{100 * x:.1f} ({100 * low:.1f}–{100 * high:.1f})"
            for x, low, high in t[list(names)].to_numpy(float)
        ]
        for title, names in (
            ("false alarms, %", ("rate", "low", "high")),
            ("interval coverage, %", ("coverage", "coverage_low", "coverage_high")),
            ("power, %", ("power", "power_low", "power_high")),
        )
    }
    named = {"worst in": "null", "shown": "status", "counted in": "coverage_null", "intervals": "intervals"}
    columns: dict[str, Any] = {**shares, **{title: t[name] for title, name in named.items()}}
    return t[["claim", "method", "error_rate", "meant"]].assign(**{title: columns[title] for title in SHOWN})


def write_verdict(verdict: Verdict, command: bool = False) -> str:
    """Return a claim and all that is said of its methods, for Python or for the command line."""
    rows, alpha = verdict.rows, verdict.alpha
    lines = [f"{PROMISED[item.error_rate]}: {_describe_advice(item, rows, alpha)}" for item in verdict.advice]
    chosen = {item.method for item in verdict.advice if not item.calibrated}
    others = [row for row in rows.values() if row["method"] not in chosen]
    wrong = sorted((row for row in others if row["status"] == "fails"), key=lambda row: -row["rate"])
    half = [row for row in others if row["meant"] and row["status"] == "holds" and not is_good(row)]
    groups = {
        "hold as well": "; ".join(_format_figure(row) for row in others if is_good(row)),
        "hold, but not their intervals": " / ".join(
            f"{_format_figure(row)}{_describe_coverage(row)}" for row in half
        ),
        "do not use for this claim": "; ".join(_describe_failure(row, alpha) for row in wrong),
        "undecided, as more tables would tell": "; ".join(
            _format_figure(row) for row in others if row["status"] == "unclear"
        ),
    }
    lines += [f"{head}: {said}" for head, said in groups.items() if said]
    lines += [f"why: {cause}" for cause in verdict.causes]
    calls = dict.fromkeys(advice.suggest_call(command) for advice in verdict.advice)
    head = f"{verdict.claim[:1].upper()}{verdict.claim[1:]}, at {alpha:.2g}:"
    return "\n".join([head, *(f"  {line}" for line in (*lines, f"now: {'; '.join(calls)}"))])


def _describe_advice(advice: Advice, rows: Rows, alpha: float) -> str:
    """Describe the advice for one error rate."""
    if not advice.status:
        return f"use {advice.method}, the default, which was not tried here"
    row = rows[advice.declared]
    if advice.status != "fails":
        shown = "which holds" if advice.status == "holds" else "with no evidence of excess false alarms"
        details = f"{shown}{_describe_coverage(row)}{_describe_power(row)}"
        return f"use {advice.method}, the default: false alarms {_format_rate(row)}, {details}"
    opening = f"{advice.declared}, the default, fails: false alarms {_format_rate(row)}; use "
    if advice.calibrated:
        return f"{opening}it at alpha {_format_level(row)}, where its error rate is {100 * alpha:g}%"
    if advice.method not in rows:
        return f"{opening}{advice.method}, which controls a stricter error rate"
    other = rows[advice.method]
    details = f"{_format_rate(other)}{_describe_coverage(other)}{_describe_power(other)}"
    return f"{opening}{advice.method}, which holds: {details}"


def _format_level(row: Row) -> str:
    return f"{two_digits(row['level']):g} ({row['level_low']:.2g} to {row['level_high']:.2g})"


def _format_rate(row: Row) -> str:
    return f"{_format_share(row['rate'], row['low'], row['high'])}, worst in {row['null']}"


def _format_share(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f}% ({100 * low:.1f} to {100 * high:.1f}%)"


def _describe_coverage(row: Row) -> str:
    if np.isnan(row["coverage"]):
        return ""
    short = ", too few" if row["intervals"] == "fails" else ""
    value = _format_share(row["coverage"], row["coverage_low"], row["coverage_high"])
    what = {"family": "all intervals are true", "discovery": "intervals of pairs found are true"}
    return (
        f"; {what.get(row['error_rate'], 'intervals are true')} in {value} in {row['coverage_null']}{short}"
    )


def _describe_power(row: Row) -> str:
    return (
        "" if np.isnan(row["power"]) else f"; it detects {100 * row['power']:.0f}% of the planted differences"
    )


def _format_figure(row: Row) -> str:
    return f"{row['method']} {_format_share(row['rate'], row['low'], row['high'])}"


def _describe_failure(row: Row, alpha: float) -> str:
    sentence = f"{_format_figure(row)} in {row['null']}"
    if not row["meant"]:
        return sentence
    if row["level"] > 0.0:
        return f"{sentence}, {100 * alpha:g}% at alpha {_format_level(row)}"
    if row["error_rate"] == "pair":
        return sentence
    return f"{sentence}, and no other level is sure to help"


def write_statement_check(check: StatementCheck) -> str:
    """Return how often every statement was wrong, line by line."""
    margin = f"; margin {check.margin:g}" if "margin" in check.kinds else ""
    lines = [f"Statements by {check.method}, on {check.scores}{margin}:"]
    for row in check.table.to_dict("records"):
        limits = f"{100 * row['low']:.1f} to {100 * row['high']:.1f}%"
        nominal = f"; nominal {row['kind']} {100 * row['nominal']:g}%" if row["kind"] != "power" else ""
        mark = "; not held" if row["exceeded"] else ""
        lines.append(f"  {row['statement']}: {100 * row['measured']:.1f}% ({limits}{nominal}){mark}")
    return "\n".join(lines)


def write_holdout(check: PredictiveCheck) -> str:
    """Return what became of the decisions of each procedure on other topics."""
    lines = [check.setting]
    for key, row in check.table.iterrows():
        name = " from ".join(key) if isinstance(key, tuple) else str(key)
        share = (
            f"{row['coverage']:.1%} of all differences lie in the {100 * check.level:g}% prediction interval"
        )
        if not row["found"] > 0:
            lines.append(f"{name}: no pair is found; {share}")
            continue
        extra = ""
        if row.get("extra", 0.0) > 0:
            extra = (
                f"; {row['extra']:.1f} of its pairs the reference does not find, and of these"
                f" {row['extra_reversal']:.1%} are in the opposite order"
            )
        lines.append(
            f"{name}: {row['found']:.1f} pairs found ({row['found_share']:.1%}); of these {row['found_again']:.1%}"
            f" found again, {row['reversal']:.1%} in the opposite order (predicted"
            f" {row['predicted_reversal']:.1%}), {row['significant_reversal']:.2%} significantly so; {share}{extra}"
        )
    if len(check.repeats) > len(check.table):
        lines.append(
            "All repeats halve the same scores, so they are not independent: their spread shows how much depends on"
            " the halving, and is not a standard error."
        )
    return "\n".join(lines)


def explain_errors(
    blamed: Mapping[str, Floats],
    y: Floats,
    systems: Sequence[str],
    topics: Sequence[str],
    nouns: Mapping[str, str],
) -> tuple[str, ...]:
    """Say which systems are in most false alarms, and what about (T, R) scores makes methods err."""
    return (*describe_culprits(blamed, systems), *describe_causes(y, systems, topics, nouns))


def describe_causes(
    y: Floats, systems: Sequence[str], topics: Sequence[str], nouns: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Say what about a table makes methods err, as far as it is there.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(.5, .1, (20, 4)).round(3)
    >>> y[:, 3] = np.where(np.arange(20) < 17, 0.0, .9)
    >>> for cause in describe_causes(y, list("abcd"), [str(t) for t in range(20)]): print(cause)
    1 system scores about 0 on most topics: d
    2 topics of 20 make up 52% of what sets systems apart: 19, 17
    """
    t, r = y.shape
    topic, system = ((nouns or {}).get(name, name) for name in ("topic", "system"))
    sentences = []
    if (y >= 0.0).all() and y.max() > 0.0:
        zeros = np.flatnonzero((y <= NEAR_ZERO * y.max()).mean(axis=0) > 0.5)
        if zeros.size:
            verb = "scores" if zeros.size == 1 else "score"
            sentences.append(
                f"{format_count(zeros.size, system)} {verb} about 0 on most {pluralize_noun(topic)}:"
                f" {_list_names(systems, zeros)}"
            )
    ia, ib = np.triu_indices(r, 1)
    variance = np.var(y[:, ia] - y[:, ib], axis=0, ddof=1)
    if r < 3 or variance.mean() == 0.0:
        return tuple(sentences)
    relative = variance / variance.mean()
    twins = np.flatnonzero(relative < TWINS)
    if twins.size:
        k = twins[np.argmin(relative[twins])]
        tied = int((y[:, ia[k]] == y[:, ib[k]]).sum())
        a, b = shorten_names((systems[ia[k]], systems[ib[k]])).values()
        nearest = f"{a} and {b}, tied on {tied} of {t} {pluralize_noun(topic)}"
        sentences.append(
            f"{format_count(twins.size, 'pair')} of {pluralize_noun(system)}"
            f" {'is' if twins.size == 1 else 'are'} nearly the same"
            f" ({nearest})"
        )
    of_system = (np.bincount(ia, relative, r) + np.bincount(ib, relative, r)) / (r - 1)
    if (unsteady := np.flatnonzero(of_system > UNSTEADY)).size:
        names = _list_names(systems, unsteady[np.argsort(-of_system[unsteady], kind="stable")])
        sentences.append(f"differences with {names} vary more than twice as much as those of other pairs")
    rest = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    share = (rest**2).sum(axis=1) / (rest**2).sum()
    order = np.argsort(-share, kind="stable")[: max(1, int(FEW * t))]
    if (carried := float(share[order].sum())) >= MUCH:
        verb = "makes" if order.size == 1 else "make"
        sentences.append(
            f"{format_count(order.size, topic)} of {t} {verb} up {carried:.0%} of what sets"
            f" {pluralize_noun(system)} apart:"
            f" {_list_names(topics, order)}"
        )
    return tuple(sentences)


def describe_culprits(blamed: Mapping[str, Floats], systems: Sequence[str]) -> tuple[str, ...]:
    """Say which systems are in far more of a method's false alarms than others.

    >>> describe_culprits({"MD1 hsd topic": np.array([40.0, 4, 4, 4, 4, 4, 4, 4, 4, 8])}, list("abcdefghij"))
    ('a is in 100% of the false alarms of MD1 hsd topic',)
    """
    sentences = []
    for method, counts in blamed.items():
        total = float(counts.sum()) / 2.0
        worst = np.flatnonzero(counts > BLAMED * counts.mean())
        worst = worst[np.argsort(-counts[worst], kind="stable")][:NAMED]
        if total and worst.size:
            labels = shorten_names(systems[k] for k in worst.tolist())
            each = ", ".join(
                f"{labels[systems[k]]} is in {100 * counts[k] / total:.0f}%" for k in worst.tolist()
            )
            sentences.append(f"{each} of the false alarms of {method}")
    return tuple(sentences)


def _list_names(names: Sequence[str], which: Ints) -> str:
    """List the first names, and how many more there are."""
    first = ", ".join(shorten_names(names[k] for k in which[:NAMED].tolist()).values())
    more = len(which) - NAMED
    return f"{first} and {more} more" if more > 0 else first
