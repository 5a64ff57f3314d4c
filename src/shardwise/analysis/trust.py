"""How far the report's own methods can be trusted: a small calibration on tables like the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import xarray as xr

from shardwise.core.arguments import Progress, lent
from shardwise.core.claim import plural
from shardwise.core.errors import InputError
from shardwise.core.scores import layout_of, nouns_of
from shardwise.lab.calibrate import CLAIMS, Calibration, calibrate
from shardwise.lab.verdict import Advice, Verdict, declared
from shardwise.methods.procedure import Procedure
from shardwise.methods.registry import parse_procedure
from shardwise.methods.tables import INSTANCES, SHARDS, TABLE, Dims

# beside the methods of the report: what one might have used instead
ALTERNATIVES: Mapping[Dims, tuple[str, ...]] = {
    TABLE: (
        "moderated",
        "moderated holm",
        "moderated bh",
        "MD1 hsd topic",
        "MD1 bh topic",
        "t holm",
        "t bh",
        "max-t",
    ),
    SHARDS: (
        "moderated",
        "moderated bh",
        "moderated holm these",
        "MD6 hsd",
        "MD6 bh",
        "MD6 hsd topic",
        "MD6 bh topic",
        "t holm",
        "t bh",
        "max-t",
    ),
    INSTANCES: (
        "moderated topic+instance",
        "moderated bh topic+instance",
        "unified holm",
        "unified bh",
        "t holm",
        "joint mixed hsd",
    ),
}
USUAL_CLAIMS: Mapping[Dims, tuple[tuple[str, ...], ...]] = {
    TABLE: (("topic",),),
    SHARDS: ((), ("topic",)),
    INSTANCES: (("topic", "instance"),),
}
PROMISED = {
    "family": "calls some of them different in",
    "discovery": "makes false claims at a rate of",
    "pair": "calls a pair of them different in",
}
PAIRS = 500_000  # decisions to simulate in all for one method and world
FEWEST, MOST = 100, 400  # tables
TOO_MANY = 200_000  # pairs


@dataclass(frozen=True, slots=True, eq=False)
class Trust:
    """What came out, or why nothing did."""

    calibration: Calibration | None
    used: tuple[str, ...]  # the methods of this report, by the name of their procedure
    reason: str  # why there is none
    nouns: Mapping[str, str] = field(default_factory=dict)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Advice, claim by claim."""
        return () if self.calibration is None else self.calibration.verdicts

    @property
    def rows(self) -> pd.DataFrame:
        """One row a method and claim, those of the report marked ``used``."""
        if self.calibration is None:
            return pd.DataFrame()
        table = self.calibration.table
        return table.assign(used=table["method"].isin(self.used) & table["meant"])

    def instead(self) -> tuple[Advice, ...]:
        """What to use in place of the methods of the report that are shown to fail, claim by claim."""
        rows = self.rows
        failed = rows[rows["used"] & (rows["status"] == "fails")] if len(rows) else rows
        return tuple(
            one
            for _, row in failed.iterrows()
            for verdict in self.verdicts
            for one in verdict.advice
            if (verdict.claim, one.error_rate) == (row["claim"], row["error_rate"])
        )


def usual_budget(systems: int) -> int:
    """Tables to simulate at most: fewer where there are more pairs, as the time goes with both; none of very many.

    >>> usual_budget(20), usual_budget(150), usual_budget(2000)
    (400, 100, 0)
    """
    pairs = max(1, systems * (systems - 1) // 2)
    if pairs > TOO_MANY:
        return 0
    return max(FEWEST, min(MOST, PAIRS // pairs))


def trust_in(
    table: xr.DataArray,
    procedures: tuple[Procedure, ...],
    *,
    alpha: float,
    budget: int | None,
    seed: int,
    baseline: str | Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Trust:
    """Calibrate the methods of a report and the usual alternatives on tables like these, at most ``budget`` a world.

    Against a baseline they are tried on its pairs alone, as the report has them.
    """
    tables = usual_budget(table.sizes["system"]) if budget is None else budget
    if tables == 0:
        return Trust(
            None, (), "" if budget == 0 else "there are too many pairs to simulate them again and again"
        )
    dims = layout_of(table)
    if dims not in ALTERNATIVES:
        return Trust(None, (), f"the scores have the dimensions {', '.join(dims)}")
    own = [one for one in procedures if dims in one.layouts and one.claim.over in CLAIMS[dims]]
    used = tuple(one.name for one in own)
    claims = dict.fromkeys((*USUAL_CLAIMS[dims], *(one.claim.over for one in own)))
    usual = [
        declared(dims, one.claim, one.error_rate) for one in own
    ]  # what stays unless it is shown to fail
    every = (*own, *(one for one in usual if one is not None), *map(parse_procedure, ALTERNATIVES[dims]))
    names = {one.name: one for one in every}
    try:
        found = calibrate(
            table,
            list(names.values()),
            claims=list(claims),
            alpha=alpha,
            budget=tables,
            baseline=baseline,
            seed=seed,
            executor=lent(),
            progress=progress,
        )
    except InputError as error:
        return Trust(None, used, str(error))
    return Trust(found, used, "", nouns_of(table))


@dataclass(frozen=True, slots=True)
class Saying:
    """What a method of the report does on tables like these."""

    method: str
    text: str
    warning: bool
    remedy: str  # what to use instead, of a warning


def sentences(trust: Trust) -> tuple[Saying, ...]:
    """What the methods of the report do on tables like these, in the user's words."""
    lab = trust.calibration
    if lab is None:
        return ()
    said: list[Saying] = []
    rows = trust.rows
    systems = plural(trust.nouns.get("system", "system"))
    for _, row in rows[rows["method"].isin(trust.used)].iterrows():
        of = " of the tables" if row["error_rate"] == "family" else ""
        figure = f"{100 * row['rate']:.1f} %{of} ({100 * row['low']:.1f} to {100 * row['high']:.1f} %)"
        nominal = f"{100 * lab.alpha:g} %"
        if row["used"]:
            end = {
                "holds": f"which keeps the promised {nominal}",
                "unclear": f"which is not shown to break the promised {nominal}",
                "fails": f"more than the promised {nominal}: read its differences with care",
            }[str(row["status"])]
        elif row["status"] == "fails":
            end = "as it is not made for this claim"
        else:
            continue
        does = f"{row['method']} {PROMISED[row['error_rate']]}"
        text = f"For {row['claim']}: where {systems} are equal, {does} {figure}, {end}."
        fails = bool(row["used"]) and row["status"] == "fails"
        said.append(Saying(str(row["method"]), text, fails, _remedy(trust, row, nominal) if fails else ""))
    return tuple(said)


def _remedy(trust: Trust, row: pd.Series[Any], nominal: str) -> str:
    """What to do about a method that fails: what stays in its place, and the level at which it would not."""
    level = f" At alpha {row['level']:.2g} it would err in {nominal}." if row["level"] > 0.0 else ""
    (verdict,) = [one for one in trust.verdicts if one.claim == row["claim"]]
    for one in verdict.advice:
        if one.error_rate == row["error_rate"] and not one.calibrated:
            return f"Its place takes {one.method}, whose answer is given too.{level}"
    return f"{level.strip()} The answer at that level is given too."
