"""From simulated error rates to advice: what holds its level, what fails, and what to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

SLACK = (
    1.1  # approximations such as Satterthwaite's may err by a tenth of the level without being called wrong
)
TOLERANCE = 2.0  # a rate is taken to hold if its Monte-Carlo interval ends below twice the nominal one
PROMISES = {
    "family": "no false claim at all among the pairs",
    "discovery": "few false ones among the claims made",
    "pair": "each pair by itself",
}
STATES = ("holds", "unclear", "fails")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Advice for one claim.

    ``use`` names, for each kind of promise, the most powerful method that is meant for the claim and holds its level,
    those with a simulated rate over one Monte-Carlo error above nominal coming last; a promise that no method
    keeps is missing there.
    """

    claim: str
    alpha: float
    use: dict[str, str]
    holds: tuple[str, ...]
    unclear: tuple[str, ...]
    fails: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


def status(value: float, high: float, exceeds: bool, alpha: float) -> str:
    """Holds, unclear (too few repetitions to tell) or fails.

    >>> status(.05, .064, False, .05), status(.05, .11, False, .05), status(.64, .67, True, .05)
    ('holds', 'unclear', 'fails')
    """
    if np.isnan(value):
        return "unclear"
    if exceeds:
        return "fails"
    return "holds" if high <= TOLERANCE * alpha else "unclear"


def verdict(claim: str, table: pd.DataFrame, alpha: float, repetitions: int) -> Verdict:
    """Judge the methods of one claim.

    ``table``: columns method, promise, meant, rate, high, null, status, power; one row a method.
    """
    named = {state: tuple(table.loc[table["status"] == state, "method"]) for state in STATES}
    use: dict[str, str] = {}
    lines = []
    for promise, words in PROMISES.items():
        fit = table[table["meant"] & (table["promise"] == promise)]
        if fit.empty:
            continue
        good = fit[fit["status"] == "holds"]
        if good.empty:
            lines.append(_nothing(words, fit, alpha))
            continue
        # chance spares a method that errs a little, and power would then choose just that one
        safe = good[
            good["rate"] <= alpha + max((SLACK - 1) * alpha, np.sqrt(alpha * (1 - alpha) / repetitions))
        ]
        best = (safe if len(safe) else good).sort_values("power", ascending=False, kind="stable").iloc[0]
        use[promise] = str(best["method"])
        power = (
            f", finds {100 * best['power']:.0f} % of the planted differences"
            if np.isfinite(best["power"])
            else ""
        )
        lines.append(f"{words}: use {best['method']} ({_percent(best['rate'])} false{power})")
    if not table["meant"].any() and named["holds"]:
        lines.append(
            f"no method tried is made for this claim; these hold it all the same: {', '.join(named['holds'])}"
        )
    wrong = table[table["status"] == "fails"].sort_values("rate", ascending=False, kind="stable")
    if len(wrong):
        shown = ", ".join(f"{m} {_percent(r)}" for m, r in zip(wrong["method"], wrong["rate"], strict=True))
        lines.append(f"do not use for this claim: {shown}")
    if named["unclear"]:
        lines.append(f"undecided after {repetitions} repetitions: {', '.join(named['unclear'])}")
    text = "\n".join([f"{claim[:1].upper()}{claim[1:]}, at {alpha:.2g}:", *(f"  {line}" for line in lines)])
    return Verdict(claim, alpha, use, named["holds"], named["unclear"], named["fails"], text)


def _nothing(words: str, fit: pd.DataFrame, alpha: float) -> str:
    nearest = fit.sort_values("rate", kind="stable").iloc[0]
    if (fit["status"] == "fails").all():
        return (
            f"{words}: no method tried holds {_percent(alpha)}; the nearest is {nearest['method']}"
            f" with {_percent(nearest['rate'])}"
        )
    return (
        f"{words}: nothing shown to hold {_percent(alpha)}; {nearest['method']} came out at"
        f" {_percent(nearest['rate'])} and may be as high as {_percent(nearest['high'])}; more repetitions would tell"
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def summary(rates: pd.DataFrame, power: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """One row for each method and claim: the promised error rate in the world where it is worst, and mean power."""
    own = rates[rates["figure"] == rates["promise"].map(_figure_of)]
    rows = []
    for (claim, method), group in own.groupby(["claim", "method"], sort=False):
        group = group[np.isfinite(group["rate"])]
        if group.empty:
            continue
        states = [
            status(r, h, e, alpha)
            for r, h, e in zip(group["rate"], group["high"], group["exceeds"], strict=True)
        ]
        worst_state = max(states, key=STATES.index)
        worst = group[[s == worst_state for s in states]].sort_values("rate").iloc[-1]
        mine = power[(power["claim"] == claim) & (power["method"] == method)]
        rows.append(
            {
                "claim": claim,
                "method": method,
                "promise": worst["promise"],
                "meant": bool(worst["meant"]),
                "rate": worst["rate"],
                "low": worst["low"],
                "high": worst["high"],
                "null": worst["null"] + (", some differ" if worst["planted"] else ""),
                "status": worst_state,
                "power": float(mine["power"].mean()) if len(mine) else np.nan,
            }
        )
    return pd.DataFrame(rows)


def _figure_of(promise: str) -> str:
    return {"family": "family", "discovery": "discovery", "pair": "raw"}[promise]


def verdicts(table: pd.DataFrame, alpha: float, repetitions: int) -> tuple[Verdict, ...]:
    """Judge every claim of a summary."""
    claims: Sequence[str] = list(dict.fromkeys(table["claim"])) if len(table) else []
    return tuple(verdict(claim, table[table["claim"] == claim], alpha, repetitions) for claim in claims)
