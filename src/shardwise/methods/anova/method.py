"""Analysis of variance as a method: the models MD1 to MD6 of F19, and any other."""

from __future__ import annotations

from functools import partial

import numpy as np

from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import NAMED, Model
from shardwise.core.scores import Scores
from shardwise.methods.anova.fit import anova, estimates_of
from shardwise.methods.method import Method
from shardwise.methods.pairs import Means
from shardwise.methods.tables import LAYOUTS, SHARDS, TABLE, Tables
from shardwise.stats.balanced import supports_claim
from shardwise.stats.corrections import SIMULTANEOUS

CLAIMS = (Claim(), Claim("topic"), Claim("shard"), Claim("topic", "shard"))
ERROR_TERMS = dict(
    zip(
        CLAIMS,
        (
            "MS(error)",
            "MS(topic:system)",
            "MS(system:shard)",
            "MS(topic:system) + MS(system:shard) − MS(error)",
        ),
        strict=True,
    )
)
"""The mean squares that a difference is measured by, of a model that has them as terms."""


def select_cells(tables: Tables, model: Model) -> Scores:
    """Return the only table of a batch with the dimensions that a model is fitted to, NaN where a score is missing."""
    on_means = model.on_shards is False
    y, dims = (tables.topic_means(), TABLE) if on_means else (tables.y, tables.dims)
    if len(y) != 1:
        raise InputError("tables with gaps are fitted one by one", remedy="give complete tables")
    sizes = zip(dims, y.shape[1:], strict=True)
    return Scores(y[0], dims, {dim: tuple(map(str, range(n))) for dim, n in sizes})


def make_anova(model: Model) -> Method:
    """Return the analysis of variance by one model, its error term that of the claim; these topics first."""
    means_only = model.on_shards is False
    layouts = (
        (SHARDS,) if model.name else tuple(dims for dims in LAYOUTS[:3] if set(model.dimensions) <= set(dims))
    )
    by_claim = {}
    for claim in CLAIMS:
        # a model of whole collections takes means over whatever else varies
        fitting = (TABLE,) if means_only else layouts or (SHARDS,)
        suited = tuple(dims for dims in fitting if supports_claim(model, dims, claim))
        if suited:
            by_claim[claim] = LAYOUTS if means_only else tuple(dims for dims in suited if dims in layouts)
    errors = "; ".join(f"{ERROR_TERMS[claim]} for {claim.phrase()}" for claim in by_claim)
    limits = (
        "Assumes equally variable systems: on scores like TREC's, Tukey's HSD has 5 to 16% false"
        " alarms (5% nominal)."
    )
    if not means_only and Claim("topic") in by_claim:
        limits += " Without `topic` in the name it cannot support a claim about new topics (72 to 100% false alarms)."
    elif not means_only:
        limits += " It cannot support a claim about new topics."
    named = f"model {model.name}: {model}" if model.name else f"model {model}"
    return Method(
        name=model.short,
        title=f"{model.short} analysis of variance",
        layouts_by_claim=tuple(by_claim.items()),
        means=partial(anova_means, model),
        text=f"an analysis of variance ({named})",
        citations=("FerroSanderson2019",) if model.name else (),
        reason="one error variance for all pairs; assumes that all {systems} are equally variable",
        equation=f"scores = {model} + error; Var(d) = 2V/n with V = {errors}",
        limits=limits,
        simultaneous=tuple(SIMULTANEOUS),
        common_error=True,
        takes_gaps=True,
        fits_cells=True,
        combines_splits=not means_only,
        papers=(("hsd", "F19"), ("bh", "FF21")),
        model=model,
    )


def anova_means(model: Model, tables: Tables, claim: Claim) -> Means:
    """Estimate means of many tables at once with the error term of the claim; a table with gaps by itself."""
    on_means = model.on_shards is False
    if tables.complete or (on_means and np.isfinite(tables.topic_means()).all()):
        return estimates_of(tables.decomposition(model, on_means), model, claim)
    fit = anova(select_cells(tables, model), model)
    return fit.estimates(generalize=claim).apply(lambda array: np.asarray(array, np.float64)[None])


METHODS = tuple(make_anova(model) for model in NAMED.values())
