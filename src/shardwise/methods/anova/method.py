"""Analysis of variance as a method: the models MD1 to MD6 of F19, and any other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import NAMED, Model
from shardwise.methods.anova.fit import anova, batch_of_one, estimates_of
from shardwise.methods.base import Clause, Estimates, Method
from shardwise.methods.tables import LAYOUTS, SHARDS, TABLE, Dims, Tables
from shardwise.stats.corrections import CORRECTIONS
from shardwise.stats.error_terms import supports_claim

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
WITHIN_SPLITS = ("hsd", "bh", "holm")
AFTER_SPLITS = ("bh", "holm", "none")


def select_cells(tables: Tables, model: Model) -> xr.DataArray:
    """Return the only table of a batch with the dimensions that a model is fitted to.

    Parameters
    ----------
    tables : Tables
        A batch of one; tables with gaps are fitted one by one.
    model : Model
        A model of whole collections is fitted to means over all but topic and system.

    Returns
    -------
    DataArray
        The scores, NaN where one is missing.
    """
    on_means = model.on_shards is False
    y, dims = (tables.topic_means(), TABLE) if on_means else (tables.y, tables.dims)
    if len(y) != 1:
        raise InputError("tables with gaps are fitted one by one", remedy="give complete tables")
    return xr.DataArray(y[0], dims=dims)


def list_split_rules(model: Model, correction: str) -> tuple[str, ...]:
    """Return the rules by which decisions on single splits become one: the papers' for models of shards.

    Parameters
    ----------
    model : Model
        The model fitted to each split.
    correction : str
        The correction within a split, or of a combined p-value.

    Returns
    -------
    tuple of str
        Names of rules.
    """
    if model.on_shards is False:
        return ()
    within = ("first", "unanimous", "majority") if correction in WITHIN_SPLITS else ()
    after = ("harmonic", "cauchy", "quantile") if correction in AFTER_SPLITS else ()
    return within + after


@dataclass(frozen=True, slots=True)
class AnovaMethod(Method):
    """Analysis of variance by one model, its error term derived from the claim."""

    model: Model
    reason: str = "one error variance for all pairs; assumes that all {systems} are equally variable"
    common_error: bool = True
    takes_gaps: bool = True
    fits_cells: bool = True

    @property
    def name(self) -> str:
        """What a user types."""
        return self.model.short

    @property
    def title(self) -> str:
        """The method in words."""
        return f"{self.model.short} analysis of variance"

    @property
    def formula(self) -> str:
        """Variance of a difference d of two means of n scores, by claim."""
        errors = "; ".join(f"{ERROR_TERMS[claim]} for {claim.phrase()}" for claim in self.claims)
        return f"scores = {self.model} + error; Var(d) = 2V/n with V = {errors}"

    @property
    def limits(self) -> str:
        """Where it should not be used, with what was measured."""
        unequal = (
            "Assumes equally variable systems: on scores like TREC's, Tukey's HSD has 5 to 16% false"
            " alarms (5% nominal)."
        )
        if Claim("topic") in self.claims and self.model.on_shards is not False:
            return (
                f"{unequal} Without `topic` in the name it cannot support a claim about new topics (72 to"
                " 100% false alarms)."
            )
        if self.model.on_shards is not False:
            return f"{unequal} It cannot support a claim about new topics."
        return unequal

    @property
    def corrections(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(CORRECTIONS)

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts that the model can take; MD1 is for whole collections, or means over whatever else varies."""
        if self.model.on_shards is False:
            return LAYOUTS
        if self.model.name:
            return (SHARDS,)
        return tuple(dims for dims in LAYOUTS[:3] if set(self.model.dimensions) <= set(dims))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims for which the model has an error term in any layout; these topics first, as in F19."""
        layouts = (TABLE,) if self.model.on_shards is False else self.layouts or (SHARDS,)
        return tuple(
            claim for claim in CLAIMS if any(supports_claim(self.model, dims, claim) for dims in layouts)
        )

    @property
    def default_claim(self) -> Claim:
        """Exactly these topics, as in F19."""
        return Claim()

    def split_rules(self, correction: str, claim: Claim) -> tuple[str, ...]:
        """Return the mean, and the rules by which decisions on single splits become one."""
        return (*Method.split_rules(self, correction, claim), *list_split_rules(self.model, correction))

    def layouts_for(self, claim: Claim) -> tuple[Dims, ...]:
        """Return the layouts in which the model has an error term for a claim."""
        if self.model.on_shards is False:
            return LAYOUTS if supports_claim(self.model, TABLE, claim) else ()
        return tuple(dims for dims in self.layouts if supports_claim(self.model, dims, claim))

    def clause(self, correction: str, claim: Claim, systems: int) -> Clause:
        """Say what pairs are compared with."""
        named = f"model {self.model.name}: {self.model}" if self.model.name else f"model {self.model}"
        return Clause(
            f"an analysis of variance ({named})", ("FerroSanderson2019",) if self.model.name else ()
        )

    def source(self, correction: str, claim: Claim) -> str:
        """Return the tag of the paper that uses it, if one does."""
        return {"hsd": "F19", "bh": "FF21"}.get(correction, "") if not claim.over else ""

    def estimate(self, tables: Tables, claim: Claim) -> Estimates:
        """Estimate means of many tables at once; a table with gaps is fitted by itself."""
        on_means = self.model.on_shards is False
        if tables.complete or (on_means and np.isfinite(tables.topic_means()).all()):
            return estimates_of(tables.decomposition(self.model, on_means), self.model, claim)
        return batch_of_one(anova(select_cells(tables, self.model), self.model).estimates(generalize=claim))


METHODS = tuple(AnovaMethod(model) for model in NAMED.values())
