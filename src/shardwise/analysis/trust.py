"""How far the report's own methods can be trusted: a small calibration on tables like the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
import xarray as xr

from shardwise.core.arguments import Progress
from shardwise.core.claim import Claim, plural
from shardwise.core.errors import InputError
from shardwise.core.scores import layout_of, nouns_of
from shardwise.lab.calibrate import CLAIMS, Calibration, calibrate
from shardwise.lab.verdict import Verdict
from shardwise.numerics.tables import INSTANCES, SHARDS, TABLE, Dims
from shardwise.procedures.procedure import Procedure
from shardwise.procedures.vocabulary import parse

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
PAIRS = 500_000  # decisions to simulate in all for one method and world
FEWEST, MOST = 100, 400  # tables


@dataclass(frozen=True, slots=True, eq=False)
class Trust:
    """What came out, or why nothing did."""

    calibration: Calibration | None
    used: tuple[str, ...]  # the methods of this report, by the name of their procedure
    reason: str  # why there is none
    claims: Mapping[str, str] = field(
        default_factory=dict
    )  # claims as the calibration has them, in the user's words
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


def usual_repetitions(systems: int) -> int:
    """Tables to simulate: fewer where there are more pairs, as the time goes with both.

    >>> usual_repetitions(20), usual_repetitions(150)
    (400, 100)
    """
    pairs = max(1, systems * (systems - 1) // 2)
    return max(FEWEST, min(MOST, PAIRS // pairs))


def trust_in(
    table: xr.DataArray,
    procedures: tuple[Procedure, ...],
    *,
    alpha: float,
    repetitions: int | None,
    seed: int,
    progress: Progress | None = None,
) -> Trust:
    """Calibrate the methods of a report and the usual alternatives on tables like these; 0 repetitions for none."""
    tables = usual_repetitions(table.sizes["system"]) if repetitions is None else repetitions
    if tables == 0:
        return Trust(None, (), "")
    dims = layout_of(table)
    if dims not in ALTERNATIVES:
        return Trust(None, (), f"the scores have the dimensions {', '.join(dims)}")
    own = [one for one in procedures if dims in one.dims and one.claim.over in CLAIMS[dims]]
    used = tuple(one.name for one in own)
    claims = dict.fromkeys((*USUAL_CLAIMS[dims], *(one.claim.over for one in own)))
    bounded = dims != INSTANCES and bool((table >= 0).all() & (table <= 1).all())
    names = {one.name: one for one in (*own, *map(parse, ALTERNATIVES[dims]))}
    try:
        found = calibrate(
            table,
            list(names.values()),
            claims=list(claims),
            nulls=["margins" if bounded else "normal", "flip", "resample"],
            alpha=alpha,
            repetitions=tables,
            seed=seed,
            progress=progress,
        )
    except InputError as error:
        return Trust(None, used, str(error))
    nouns = nouns_of(table)
    words = {Claim(*claim).short(dims): Claim(*claim).short(dims, nouns) for claim in claims}
    return Trust(found, used, "", words, nouns)


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
        what = {
            "family": "calls some of them different in",
            "discovery": "makes false claims at a rate of",
            "pair": "calls a pair of them different in",
        }[str(row["promise"])]
        of = " of the tables" if row["promise"] == "family" else ""
        figure = f"{100 * row['rate']:.1f} %{of} ({100 * row['low']:.1f} to {100 * row['high']:.1f} %)"
        nominal = f"{100 * lab.alpha:g} %"
        if row["used"]:
            end = {
                "holds": f"which keeps the promised {nominal}",
                "unclear": f"from too few tables to tell whether it keeps the promised {nominal}",
                "fails": f"more than the promised {nominal}: read its differences with care",
            }[str(row["status"])]
        elif row["status"] == "fails":
            end = "as it is not made for this claim"
        else:
            continue
        claim = trust.claims[str(row["claim"])]
        text = f"For {claim}: where {systems} are equal, {row['method']} {what} {figure}, {end}."
        fails = bool(row["used"]) and row["status"] == "fails"
        said.append(
            Saying(
                str(row["method"]),
                text,
                fails,
                _remedy(trust, str(row["claim"]), str(row["promise"])) if fails else "",
            )
        )
    return tuple(said)


def _remedy(trust: Trust, claim: str, promise: str) -> str:
    """What to use instead of a method that fails: what keeps the same promise for the same claim."""
    for verdict in trust.verdicts:
        better = verdict.use.get(promise)
        if verdict.claim == claim and better is not None:
            return f"Use {better} instead, which held its level."
    return "Nothing tried held its level: read p-values near the level with care."
