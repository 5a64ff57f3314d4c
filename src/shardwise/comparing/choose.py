"""Choose the procedure for scores: every command, function and page that takes a method asks here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from shardwise.comparing.run import make_tables
from shardwise.core.arguments import validate_choice
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError, Option
from shardwise.core.model import Model
from shardwise.core.scores import Scores, is_unpaired, layout_of, nouns_of
from shardwise.methods.procedure import Procedure
from shardwise.methods.registry import (
    DEFAULTS,
    OF_PEOPLE,
    OF_SAMPLES,
    OF_UNPAIRED,
    OF_VOTES,
    list_claims,
    parse_procedure,
)
from shardwise.methods.repeats.unified import KINDS, infer_repeats
from shardwise.methods.tables import INSTANCES, SHARDS, SPLITS, TABLE, Dims
from shardwise.stats.corrections import CORRECTIONS

TRIED = 99
"""Resamples with which a suggestion is tried."""


def choose_default(scores: xr.DataArray) -> str:
    """Return the name of the default procedure for scores of this layout; people's scores correct a judge."""
    gated = Scores(scores)
    if gated.human is not None:
        return OF_PEOPLE
    if gated.votes is not None:
        return OF_VOTES
    dims = layout_of(scores)
    if dims in (TABLE, INSTANCES) and is_unpaired(scores):
        return OF_UNPAIRED
    if dims not in DEFAULTS:
        raise InputError(
            f"scores by {', '.join(dims)} have no default method",
            remedy=("choose one split, or name a procedure by ", Option("method")),
        )
    # repeats that their source calls epochs, generations or attempts are drawn anew for each item
    if dims == INSTANCES and infer_repeats(scores) == "samples":
        return OF_SAMPLES
    return DEFAULTS[dims].procedure


def choose_procedure(
    scores: xr.DataArray,
    method: str | Procedure | None = None,
    generalize: Claim | str | Iterable[str] | None = None,
    repeats: str | None = None,
    model: Model | str | None = None,
) -> Procedure:
    """Return the procedure asked for, or the default one for the layout of the scores, with the claim asked for.

    Parameters
    ----------
    scores : DataArray
        Scores that passed the gate.
    method, generalize, repeats
        As for `compare`.
    model : Model or str, optional
        Model of an analysis of variance, of which the method is the correction.

    Returns
    -------
    Procedure
        Method, correction and claim.
    """
    if repeats is not None:
        method = _choose_for_repeats(layout_of(scores), method if model is None else str(model), repeats)
    procedure = _use_name(scores, method) if model is None else _use_model(model, method)
    dims, nouns = layout_of(scores), nouns_of(scores)
    procedure = procedure.for_layout(dims)
    if generalize is None:
        return procedure
    claim, known = Claim.of(generalize, nouns).check(dims), list_claims_on(procedure, dims)
    if claim not in known:
        raise refuse_claim(procedure, claim, known, nouns)
    return known[claim]


def _use_name(scores: xr.DataArray, method: str | Procedure | None) -> Procedure:
    """Return the procedure of a name, of a correction of the default one, or the default one."""
    if method is None:
        return parse_procedure(choose_default(scores))
    default = partial(choose_default, scores)
    return parse_procedure(method, layout_of(scores), default, partial(_runs_on, scores))


def _use_model(model: Model | str, correction: str | Procedure | None) -> Procedure:
    """Return the analysis of variance by a model with a correction."""
    from shardwise.methods.anova.method import make_anova  # few comparisons need it

    if isinstance(correction, Procedure) or (correction or "hsd") not in CORRECTIONS:
        raise InputError(
            f"{correction} is a procedure of its own, and a model is given too",
            remedy="name a correction with the model, or the procedure alone",
            argument="method",
        )
    method = make_anova(Model.parse(model) if isinstance(model, str) else model)
    if not method.layouts_by_claim:
        raise InputError(f"model {model} compares no systems", remedy="add the term system", argument="model")
    return Procedure(method, correction or "hsd", method.default_claim)


def _runs_on(scores: xr.DataArray, procedure: Procedure) -> bool:
    """Return whether a procedure runs on the first two systems of the scores."""
    try:
        procedure = procedure.for_layout(layout_of(scores))
        tables = make_tables(procedure, scores, n_resamples=TRIED)
        procedure.decide(tables.select_systems(np.arange(2)))
    except InputError:
        return False
    return True


def list_claims_on(procedure: Procedure, dims: Dims) -> dict[Claim, Procedure]:
    """Return the procedure for every claim that it supports; of several splits by their mean where it takes one."""
    known = list_claims(procedure, dims)
    if dims == SPLITS and not procedure.rule:
        of_split = list_claims(procedure, SHARDS)
        known |= {claim: each.for_layout(dims) for claim, each in of_split.items() if claim not in known}
    return known


def refuse_claim(
    procedure: Procedure, claim: Claim, known: Iterable[Claim], nouns: dict[str, str]
) -> InputError:
    """Return the refusal of a claim, with those that the procedure supports."""
    words = "; ".join(supported.phrase(nouns) for supported in known)
    return InputError(
        f"{procedure.name} cannot support a claim about {claim.phrase(nouns)}",
        remedy=f"it supports claims about {words}",
        argument="generalize",
        value=claim.over,
    )


def _choose_for_repeats(dims: Dims, method: Any, repeats: str) -> str:
    """Return the default procedure of seeds or of samples; refused where repeats are lacking or a method decides."""
    validate_choice(repeats, "repeats", KINDS)
    if dims != INSTANCES:
        raise InputError(
            (Option("repeats", repeats), f" has no effect on scores by {', '.join(dims)}"),
            remedy="leave it out, or give scores of several instances of a system",
        )
    if method is not None:
        raise InputError(
            (Option("repeats", repeats), " is given, and a method too"),
            remedy="leave one out: unified takes instances as seeds, samples as samples",
            argument="method",
        )
    return OF_SAMPLES if repeats == "samples" else DEFAULTS[INSTANCES].procedure
