"""From simulated error rates to advice: what to use, at which level, and why.

One procedure is declared for each claim and promise, the usual one of the layout. It stays unless it is *shown* to
fail: the others are alternatives, not contestants among whom chance would choose. Where it fails, another that holds
takes its place, or the level at which it would hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from shardwise.core.claim import Claim
from shardwise.lab.looks import status
from shardwise.methods.procedure import Procedure
from shardwise.methods.registry import DEFAULTS, list_claims, list_procedures, parse_procedure
from shardwise.methods.tables import Dims

PROMISES = {
    "family": "no false claim at all among the pairs",
    "discovery": "few false ones among the claims made",
    "pair": "each pair by itself",
}
FIGURE = {"family": "family", "discovery": "discovery", "pair": "raw"}
COVERED = {"family": "together", "discovery": "coverage", "pair": "coverage"}
STATES = ("holds", "unclear", "fails")
Row = Mapping[Any, Any]  # of a summary
Rows = Mapping[str, Row]  # by method


@dataclass(frozen=True, slots=True)
class Advice:
    """What to use for one promise.

    ``method`` can be typed into ``compare --method``; ``alpha`` is the level at which it keeps the promise here.
    ``declared`` is the procedure that is used unless it is shown to fail, ``status`` what was shown of it, empty where
    it was not tried.
    """

    error_rate: str
    method: str
    alpha: float
    declared: str
    status: str
    calibrated: bool  # whether alpha is another level than the one asked for

    def call(self, command: bool = False) -> str:
        """Return what to do now, in Python or on the command line.

        Parameters
        ----------
        command
            Whether it is for the command line.

        >>> advice = Advice("family", "moderated holm", .034, "moderated holm", "fails", True)
        >>> print(advice.call(), advice.call(command=True), sep="; ")
        sw.compare(scores, 'moderated holm').reject(alpha=0.034); compare --method 'moderated holm' --alpha 0.034
        """
        if command:
            return f"compare --method {self.method!r}" + f" --alpha {self.alpha:g}" * self.calibrated
        return f"sw.compare(scores, {self.method!r})" + f".reject(alpha={self.alpha:g})" * self.calibrated


@dataclass(frozen=True, slots=True)
class Verdict:
    """Advice for one claim: for each promise, and why methods fail."""

    claim: str
    alpha: float
    advice: tuple[Advice, ...]
    holds: tuple[str, ...]
    unclear: tuple[str, ...]
    fails: tuple[str, ...]
    causes: tuple[str, ...]  # systems and topics that make methods err, where one made for the claim does
    lines: tuple[str, ...]  # what is said of the promises, then of other methods

    @property
    def use(self) -> dict[str, str]:
        """What to use for each promise."""
        return {one.error_rate: one.method for one in self.advice}

    def said(self, command: bool = False) -> tuple[str, ...]:
        """Return all that is said, line by line.

        Parameters
        ----------
        command
            Whether what to do now is said for the command line.
        """
        calls = dict.fromkeys(one.call(command) for one in self.advice)
        why = [f"why: {cause}" for cause in self.causes]
        return (*self.lines, *why, f"now: {'; '.join(calls)}")

    def text(self, command: bool = False) -> str:
        """Return the claim and all that is said, for Python or for the command line.

        Parameters
        ----------
        command
            Whether what to do now is said for the command line.
        """
        head = f"{self.claim[:1].upper()}{self.claim[1:]}, at {self.alpha:.2g}:"
        return "\n".join([head, *(f"  {line}" for line in self.said(command))])

    def to_dict(self, command: bool = False) -> dict[str, Any]:
        """Return the verdict in plain values, as JSON takes them.

        Parameters
        ----------
        command
            Whether what to do now is said for the command line.
        """
        advice = [{**asdict(one), "now": one.call(command)} for one in self.advice]
        return {
            "claim": self.claim,
            "advice": advice,
            "use": self.use,
            "holds": list(self.holds),
            "unclear": list(self.unclear),
            "fails": list(self.fails),
            "causes": list(self.causes),
            "text": self.text(command),
        }

    def __str__(self) -> str:
        return self.text()


def declared(dims: Dims, claim: Claim, error_rate: str) -> Procedure | None:
    """The procedure that is used for a claim and a promise unless it is shown to fail; None where none is usual.

    Parameters
    ----------
    dims
        Layout of the scores.
    claim
        What a difference is about.
    error_rate
        "family", "discovery" or "pair".

    >>> [declared(("topic", "system"), Claim("topic"), error_rate).name for error_rate in PROMISES]
    ['moderated', 'moderated bh', 'moderated none']
    """
    usual = list_claims(parse_procedure(DEFAULTS[dims].procedure), dims).get(claim)
    if usual is not None:
        return (
            usual
            if error_rate == "family"
            else replace(usual, correction={"discovery": "bh", "pair": "none"}[error_rate])
        )
    made = (
        one
        for one in list_procedures(dims).values()
        if one.claim == claim and one.method.sound and one.error_rate == error_rate
    )
    return next(made, None)


def cannot_explode(procedure: Procedure) -> bool:
    """Whether a level found on some topics carries over to others: no pair has its own variance alone.

    A paired t has a denominator near 0 where two systems are nearly the same, and its law then hangs on few topics.
    """
    return procedure.method.bounded_statistic


def verdict(
    claim: Claim,
    table: pd.DataFrame,
    methods: Sequence[Procedure],
    dims: Dims,
    alpha: float,
    causes: Sequence[str] = (),
    nouns: Mapping[str, str] | None = None,
) -> Verdict:
    """Judge the methods of one claim.

    Parameters
    ----------
    claim
        What a difference is about.
    table
        The rows of `summary` that are about it.
    methods
        The procedures tried.
    dims
        Layout of the scores.
    alpha
        The level that is promised.
    causes
        What about the scores may make methods err.
    nouns
        The user's own words for dimensions.
    """
    rows: Rows = {str(row["method"]): row for row in table.to_dict("records")}
    named = {state: tuple(name for name, row in rows.items() if row["status"] == state) for state in STATES}
    asked = [
        error_rate for error_rate in PROMISES if any(row["error_rate"] == error_rate for row in rows.values())
    ]
    advice = tuple(
        one for error_rate in asked if (one := _advice(error_rate, claim, rows, methods, dims, alpha))
    )
    lines = [f"{PROMISES[one.error_rate]}: {_chosen(one, rows, alpha)}" for one in advice]
    chosen = {one.method for one in advice if not one.calibrated}
    others = [row for row in rows.values() if row["method"] not in chosen]
    if also := [_figure(row) for row in others if _good(row)]:
        lines.append(f"hold as well: {'; '.join(also)}")
    half = [row for row in others if row["meant"] and row["status"] == "holds" and not _good(row)]
    if half:
        shown = (f"{_figure(row)}{_intervals(row)}" for row in half)
        lines.append(f"hold, but not their intervals: {' / '.join(shown)}")
    wrong = sorted((row for row in others if row["status"] == "fails"), key=lambda row: -row["rate"])
    if wrong:
        lines.append(f"do not use for this claim: {'; '.join(_failure(row, alpha) for row in wrong)}")
    if unclear := [_figure(row) for row in others if row["status"] == "unclear"]:
        lines.append(f"undecided, as more tables would tell: {'; '.join(unclear)}")
    guilty = any(row["meant"] for row in rows.values() if row["status"] == "fails")
    why = tuple(causes) if guilty else ()
    return Verdict(
        claim.short(dims, nouns),
        alpha,
        advice,
        named["holds"],
        named["unclear"],
        named["fails"],
        why,
        tuple(lines),
    )


def _advice(
    error_rate: str,
    claim: Claim,
    rows: Rows,
    methods: Sequence[Procedure],
    dims: Dims,
    alpha: float,
) -> Advice | None:
    default = declared(dims, claim, error_rate)
    if default is None:
        return None
    row = rows.get(default.name)
    state = "" if row is None else str(row["status"])
    found = Advice(error_rate, default.name, alpha, default.name, state, False)
    if row is None or state != "fails":
        return found
    good = [m for m in methods if _good(rows[m.name])]
    alike = [m for m in good if m.error_rate == error_rate]
    for other in sorted(alike, key=lambda m: m.method != default.method):  # the same statistic first
        return replace(found, method=other.name)
    if row["level"] > 0.0:
        return replace(found, alpha=two_digits(row["level"]), calibrated=True)
    stronger = [
        m.name for m in good if m.error_rate == "family"
    ]  # no false claim at all is what the others promise and more
    strongest = declared(dims, claim, "family")
    return replace(found, method=stronger[0] if stronger else strongest.name if strongest else default.name)


def _good(row: Row) -> bool:
    return bool(row["meant"]) and row["status"] == "holds" and row["intervals"] != "fails"


def two_digits(level: float) -> float:
    """A level cut after two digits, so that it is not made larger.

    >>> two_digits(0.01799), two_digits(0.0083)
    (0.017, 0.0083)
    """
    unit = 10.0 ** (np.floor(np.log10(level)) - 1)
    return float(f"{np.floor(level / unit + 1e-9) * unit:.2g}")


def _chosen(one: Advice, rows: Rows, alpha: float) -> str:
    """What is said of one promise."""
    if not one.status:
        return f"use {one.method}, the default, which was not tried here"
    row = rows[one.declared]
    if one.status != "fails":
        shown = "which holds" if one.status == "holds" else "and is not shown to fail"
        return (
            f"use {one.method}, the default: false alarms {_rate(row)}, {shown}{_intervals(row)}{_power(row)}"
        )
    opening = f"{one.declared}, the default, fails: false alarms {_rate(row)}; use "
    if one.calibrated:
        return f"{opening}it at alpha {_level(row)}, where it errs in {100 * alpha:g} %"
    if one.method not in rows:
        return f"{opening}{one.method}, which promises more"
    other = rows[one.method]
    return f"{opening}{one.method}, which holds: {_rate(other)}{_intervals(other)}{_power(other)}"


def _level(row: Row) -> str:
    return f"{two_digits(row['level']):g} ({row['level_low']:.2g} to {row['level_high']:.2g})"


def _rate(row: Row) -> str:
    return f"{_between(row['rate'], row['low'], row['high'])}, worst in {row['null']}"


def _between(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"


def _intervals(row: Row) -> str:
    if np.isnan(row["coverage"]):
        return ""
    short = ", too few" if row["intervals"] == "fails" else ""
    value = _between(row["coverage"], row["coverage_low"], row["coverage_high"])
    what = {"family": "all intervals are true", "discovery": "intervals of pairs found are true"}
    return (
        f"; {what.get(row['error_rate'], 'intervals are true')} in {value} in {row['coverage_null']}{short}"
    )


def _power(row: Row) -> str:
    return (
        "" if np.isnan(row["power"]) else f"; it finds {100 * row['power']:.0f} % of the planted differences"
    )


def _figure(row: Row) -> str:
    return f"{row['method']} {_between(row['rate'], row['low'], row['high'])}"


def _failure(row: Row, alpha: float) -> str:
    said = f"{_figure(row)} in {row['null']}"
    if not row["meant"]:
        return said
    if row["level"] > 0.0:
        return f"{said}, {100 * alpha:g} % at alpha {_level(row)}"
    if row["error_rate"] == "pair":
        return said
    return f"{said}, and no other level is sure to help"


def summary(rates: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """One row for each method and claim: false alarms where they are worst, coverage of intervals, power.

    Parameters
    ----------
    rates
        Every figure in every world, as `Calibration` has them.
    alpha
        The level that is promised.
    """
    rows = []
    for (claim, method), own in rates[np.isfinite(rates["rate"])].groupby(["claim", "method"], sort=False):
        error_rate = str(own["error_rate"].iloc[0])

        def worst(figure: str, column: str, high_is_bad: bool = False) -> tuple[Any, str]:
            part = own[(own["figure"] == figure) & own[column]]  # noqa: B023
            return _worst(part, alpha, high_is_bad)

        alarm, state = worst(FIGURE[error_rate], "for_alarms", True)
        if alarm is None:
            continue
        covered, shown = worst(COVERED[error_rate], "for_intervals")
        row = {"claim": claim, "method": method, "error_rate": error_rate, "meant": bool(alarm["meant"])}
        row |= {**_of(alarm, "rate", "low", "high"), "null": _world(alarm), "status": state}
        row |= _of(worst("level", "for_alarms")[0], "level", "level_low", "level_high")
        row |= _of(covered, "coverage", "coverage_low", "coverage_high")
        row |= {"coverage_null": _world(covered), "intervals": shown}
        row |= _of(worst("best", "for_alarms")[0], "best", "best_low", "best_high")
        rows.append(row | _of(worst("found", "for_alarms")[0], "power", "power_low", "power_high"))
    return pd.DataFrame(rows)


def _worst(part: pd.DataFrame, alpha: float, high_is_bad: bool) -> tuple[Any, str]:
    """The row of the world that speaks most against a method, and what it shows; nothing where there is none."""
    if part.empty:
        return None, ""
    ends = zip(part["low"], part["high"], strict=True)
    states = [
        status(low, high, alpha) if high_is_bad else status(1 - high, 1 - low, alpha) for low, high in ends
    ]
    state = max(states, key=STATES.index)
    return part[[s == state for s in states]].sort_values("rate", ascending=high_is_bad).iloc[-1], state


def _of(row: Any, *names: str) -> dict[str, float]:
    return {
        name: np.nan if row is None else row[key]
        for name, key in zip(names, ("rate", "low", "high"), strict=True)
    }


def _world(row: Any) -> str:
    return "" if row is None else row["null"] + ", some differ" * int(row["planted"])
