"""Procedures that need no more of the scores than their moments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.core.arguments import whole
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.methods.moments.fit import TESTS, ScoreMoments
from shardwise.methods.tables import TABLE
from shardwise.procedures.procedure import Procedure, usual_resamples
from shardwise.procedures.vocabulary import parse


def of_moments(
    moments: ScoreMoments,
    method: str | Procedure | None,
    generalize: Claim | str | Iterable[str] | None,
    pairs: dict[str, Any],
    n_resamples: int | None,
    seed: int,
) -> Comparisons:
    """Compare by a procedure that needs no more than moments."""
    asked = parse(method or "moderated")
    if asked.fit.name not in TESTS or asked.rule or TABLE not in asked.dims:
        raise InputError(
            f"{asked.name} needs the scores themselves",
            remedy=f"give them, or use {', '.join(TESTS)}",
            argument="method",
            value=asked.name,
        )
    claim = Claim.of(generalize, {"topic": moments.item}) if generalize is not None else asked.claim
    found = moments.estimates(
        test=asked.fit.name,
        generalize=claim,
        n_resamples=usual_resamples(asked.fit, len(moments.systems)) if n_resamples is None else n_resamples,
        seed=whole(seed, "seed", least=0),
    )
    asked = replace(asked, claim=claim)
    return compare_estimates(found, asked.correction, title=asked.title, procedure=asked.name, **pairs)
