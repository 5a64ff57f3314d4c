"""From simulated error rates to advice: what to use, at which level, and why.

One procedure is declared for each claim and promise, the usual one of the layout. It stays unless it is *shown* to
fail: the others are alternatives, not contestants among whom chance would choose. Where it fails, another that holds
takes its place, or the level at which it would hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from shardwise.core import late
from shardwise.core.claim import Claim
from shardwise.core.libraries import pd
from shardwise.lab.trial import COVERED, FIGURE, judge_interval
from shardwise.methods.names import DEFAULTS, Procedure, list_claims, list_procedures, parse_procedure
from shardwise.methods.tables import Dims

PROMISES = ("family", "discovery", "pair")
"""Error rates that methods control."""
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

    def suggest_call(self, command: bool = False) -> str:
        """Return what to do now, in Python or on the command line.

        >>> advice = Advice("family", "moderated holm", .034, "moderated holm", "fails", True)
        >>> print(advice.suggest_call(), advice.suggest_call(command=True), sep="; ")
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
    rows: Rows = field(default_factory=dict, repr=False)  # the figures of each method

    @property
    def use(self) -> dict[str, str]:
        """What to use for each promise."""
        return {advice.error_rate: advice.method for advice in self.advice}

    def text(self, command: bool = False) -> str:
        """Return the claim and all that is said, for Python or for the command line."""
        text: str = late.call_bound("verdict_text", self, command)
        return text

    def to_dict(self, command: bool = False) -> dict[str, Any]:
        """Return the verdict in plain values, as JSON takes them, for Python or for the command line."""
        advice = [{**asdict(item), "now": item.suggest_call(command)} for item in self.advice]
        states = {state: list(getattr(self, state)) for state in STATES}
        words = {"causes": list(self.causes), "text": self.text(command)}
        return {"claim": self.claim, "advice": advice, "use": self.use, **states, **words}

    def __str__(self) -> str:
        return self.text()


def declared_procedure(dims: Dims, claim: Claim, error_rate: str) -> Procedure | None:
    """Return the procedure that is used for a claim and an error rate unless it is shown to fail, or None.

    >>> [declared_procedure(("topic", "system"), Claim("topic"), error_rate).name for error_rate in PROMISES]
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
        procedure
        for procedure in list_procedures(dims).values()
        if procedure.claim == claim and procedure.method.sound and procedure.error_rate == error_rate
    )
    return next(made, None)


def judge_methods(
    claim: Claim,
    table: pd.DataFrame,
    methods: Sequence[Procedure],
    dims: Dims,
    alpha: float,
    causes: Sequence[str] = (),
    nouns: Mapping[str, str] | None = None,
) -> Verdict:
    """Judge the methods of one claim."""
    rows: Rows = {str(row["method"]): row for row in table.to_dict("records")}
    named = {state: tuple(name for name, row in rows.items() if row["status"] == state) for state in STATES}
    asked = [
        error_rate for error_rate in PROMISES if any(row["error_rate"] == error_rate for row in rows.values())
    ]
    advice = tuple(
        item
        for error_rate in asked
        if (item := _advise_method(error_rate, claim, rows, methods, dims, alpha))
    )
    guilty = any(row["meant"] for row in rows.values() if row["status"] == "fails")
    why = tuple(causes) if guilty else ()
    return Verdict(claim.short(dims, nouns), alpha, advice, **named, causes=why, rows=rows)


def _advise_method(
    error_rate: str,
    claim: Claim,
    rows: Rows,
    methods: Sequence[Procedure],
    dims: Dims,
    alpha: float,
) -> Advice | None:
    default = declared_procedure(dims, claim, error_rate)
    if default is None:
        return None
    row = rows.get(default.name)
    state = "" if row is None else str(row["status"])
    advice = Advice(error_rate, default.name, alpha, default.name, state, False)
    if row is None or state != "fails":
        return advice
    good = [m for m in methods if is_good(rows[m.name])]
    alike = [m for m in good if m.error_rate == error_rate]
    for other in sorted(alike, key=lambda m: m.method != default.method):  # the same statistic first
        return replace(advice, method=other.name)
    if row["level"] > 0.0:
        return replace(advice, alpha=two_digits(row["level"]), calibrated=True)
    stronger = [
        m.name for m in good if m.error_rate == "family"
    ]  # no false claim at all is what the others promise and more
    strongest = declared_procedure(dims, claim, "family")
    return replace(advice, method=stronger[0] if stronger else strongest.name if strongest else default.name)


def is_good(row: Row) -> bool:
    """Return whether a method made for the claim is shown to hold, and its intervals are not shown to fail."""
    return bool(row["meant"]) and row["status"] == "holds" and row["intervals"] != "fails"


def two_digits(level: float) -> float:
    """A level cut after two digits, so that it is not made larger.

    >>> two_digits(0.01799), two_digits(0.0083)
    (0.017, 0.0083)
    """
    unit = 10.0 ** (np.floor(np.log10(level)) - 1)
    return float(f"{np.floor(level / unit + 1e-9) * unit:.2g}")


def summarize_rates(rates: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Summarize each method and claim in one row: false alarms where they are worst, coverage of intervals, power."""
    rows = []
    for (claim, method), method_rates in rates[np.isfinite(rates["rate"])].groupby(
        ["claim", "method"], sort=False
    ):
        error_rate = str(method_rates["error_rate"].iloc[0])

        row: dict[str, Any] = {"claim": claim, "method": method, "error_rate": error_rate}
        for name, figure, column in (
            ("", FIGURE[error_rate], "for_alarms"),
            ("level", "level", "for_alarms"),
            ("coverage", COVERED[error_rate], "for_intervals"),
            ("best", "best", "for_alarms"),
            ("power", "found", "for_alarms"),
        ):
            # the scenario that speaks most against the method, and what it shows; nothing where there is none
            part = method_rates[(method_rates["figure"] == figure) & method_rates[column]]
            states = [
                judge_interval(1 - high, 1 - low, alpha) if name else judge_interval(low, high, alpha)
                for low, high in zip(part["low"], part["high"], strict=True)
            ]
            state = max(states, key=STATES.index, default="")
            chosen = np.array([s == state for s in states], dtype=bool)
            shown = part[chosen].sort_values("rate", ascending=not name)
            worst = shown.iloc[-1] if len(shown) else dict.fromkeys(("rate", "low", "high"), np.nan)
            scenario = f"{worst['null']}{', some differ' * int(worst['planted'])}" if len(shown) else ""
            if not name:
                row |= {"meant": bool(len(shown)) and bool(worst["meant"])}
                row |= {"rate": worst["rate"], "low": worst["low"], "high": worst["high"]}
                row |= {"null": scenario, "status": state}
            else:
                row |= {name: worst["rate"], f"{name}_low": worst["low"], f"{name}_high": worst["high"]}
                row |= {"coverage_null": scenario, "intervals": state} if name == "coverage" else {}
        if row["status"]:
            rows.append(row)
    return pd.DataFrame(rows)


def tabulate_figures(rates: pd.DataFrame, seconds: Mapping[str, float]) -> pd.DataFrame:
    """Tabulate every figure of each claim and method where it is worst, and the seconds that a table takes."""
    rows = []
    for (claim, method), part in rates.groupby(["claim", "method"], sort=False):
        row: dict[str, Any] = {"claim": claim, "method": method, "error_rate": part["error_rate"].iloc[0]}
        for name, figure, column, worst in (
            ("family", "family", "for_alarms", "max"),
            ("pair", "raw", "for_alarms", "max"),
            ("coverage", "coverage", "for_intervals", "min"),
            ("wrong_way", "wrong_way", "for_alarms", "max"),
            ("power", "found", "for_alarms", "min"),
            ("matched_power", "matched", "for_alarms", "min"),
            ("contradictions", "contradiction", "for_alarms", "max"),
        ):
            row[name] = part.loc[(part["figure"] == figure) & part[column], "rate"].agg(worst)
        rows.append({**row, "seconds": seconds[str(method)]})
    return pd.DataFrame(rows)
