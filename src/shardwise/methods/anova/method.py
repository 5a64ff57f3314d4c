"""Fits by a model of the scores, as procedures name them: analysis of variance, and the bootstrap of its residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import xarray as xr

from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import Model
from shardwise.methods.anova.fit import anova, batch_of_one, estimates_of
from shardwise.methods.base import Estimates
from shardwise.methods.bootstrap.distributions import Null, PairLaw
from shardwise.methods.bootstrap.draws import Draws, Spread
from shardwise.methods.bootstrap.fit import (
    PAPER_RESAMPLES,
    Density,
    bootstrap_anova,
    drawn_errors,
    drawn_spread,
    refuse_generalize,
    usual_residuals,
)
from shardwise.methods.bootstrap.ideal import ideal, smoothed
from shardwise.methods.bootstrap.spectrum import Pool
from shardwise.methods.tables import LAYOUTS, SHARDS, TABLE, Dims, Tables
from shardwise.stats.balanced import Decomposition
from shardwise.stats.corrections import CORRECTIONS, STEPWISE
from shardwise.stats.error_terms import supports

CLAIMS = (Claim(), Claim("topic"), Claim("shard"), Claim("topic", "shard"))
READINGS: dict[str, tuple[Null, int, Density]] = {
    "difference": ("difference", 2, "exact"),
    "marginal-1": ("marginal", 1, "exact"),
    "marginal-2": ("marginal", 2, "exact"),
    "kde-1": ("marginal", 1, "kde"),
    "kde-2": ("marginal", 2, "kde"),
    "difference-1": ("difference", 1, "exact"),
    "difference-kde": ("difference", 2, "kde"),
    "difference-kde-1": ("difference", 1, "kde"),
}
USUAL_READINGS = tuple(READINGS)[:5]  # ours, and those of the papers
WORDS = {
    "difference": "law of a difference",
    "marginal-1": "law of one system, one tail",
    "marginal-2": "law of one system, two tails",
    "kde-1": "law of one system, one tail, kernel density",
    "kde-2": "law of one system, two tails, kernel density",
    "difference-1": "law of a difference, one tail",
    "difference-kde": "law of a difference, kernel density",
    "difference-kde-1": "law of a difference, one tail, kernel density",
}
SOURCES = {
    ("marginal-1", "bh"): "V17",
    ("marginal-2", "bh"): "FF21",
    ("kde-1", "bh"): "FF21",
    ("kde-2", "bh"): "FF21",
}


@dataclass(frozen=True, slots=True)
class _OfModel:
    model: Model

    @property
    def _on_means(self) -> bool:
        return self.model.on_shards is False

    def _with_gaps(self, tables: Tables) -> xr.DataArray:
        y, dims = (tables.topic_means(), TABLE) if self._on_means else (tables.y, tables.dims)
        if len(y) != 1:
            raise InputError("tables with gaps are fitted one by one", remedy="give complete tables")
        return xr.DataArray(y[0], dims=dims)


@dataclass(frozen=True, slots=True)
class ByModel(_OfModel):
    """Fit by an analysis of variance: how procedures name a model of F19."""

    corrections: tuple[str, ...] = tuple(CORRECTIONS)
    usual_claim: Claim = Claim()  # noqa: RUF009, these topics, as in the paper
    sound: bool = True  # the error term is derived from the claim
    takes_gaps: bool = True  # least squares leave out what is missing

    @property
    def name(self) -> str:
        """What a user types."""
        return self.model.short

    @property
    def title(self) -> str:
        """The fit in words."""
        return self.model.short

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts that the model can take; MD1 is for whole collections, or means over whatever else varies."""
        if self._on_means:
            return LAYOUTS
        if self.model.name:
            return (SHARDS,)
        return tuple(dims for dims in LAYOUTS[:3] if set(self.model.dimensions) <= set(dims))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims that the model can speak for."""
        dims = TABLE if self._on_means else self.layouts[0] if self.layouts else SHARDS
        return tuple(claim for claim in CLAIMS if supports(self.model, dims, claim))

    def source(self, correction: str, claim: Claim) -> str:
        """The paper that uses it, if one does."""
        return {"hsd": "F19", "bh": "FF21"}.get(correction, "") if not claim.over else ""

    def estimates(self, tables: Tables, claim: Claim) -> Estimates:
        """Means of many tables at once; a table with gaps is fitted by itself."""
        if tables.complete or (self._on_means and np.isfinite(tables.topic_means()).all()):
            return estimates_of(tables.decomposition(self.model, self._on_means), self.model, claim)
        return batch_of_one(anova(self._with_gaps(tables), self.model).estimates(generalize=claim))


@dataclass(frozen=True, slots=True)
class ByBootstrap(_OfModel):
    """Fit by the bootstrap of a model, ideal or drawn, read in one of the papers' ways or in ours."""

    reading: str  # a key of READINGS
    drawn: bool = False  # by so many resamples as the tables say; otherwise as by infinitely many

    corrections: tuple[str, ...] = tuple(STEPWISE)
    claims: tuple[Claim, ...] = (Claim(),)
    usual_claim: Claim = Claim()  # noqa: RUF009, a frozen value
    takes_gaps: bool = True

    @property
    def name(self) -> str:
        """What a user types."""
        return f"banova {self.model.short} {self.reading}{' drawn' * self.drawn}"

    @property
    def title(self) -> str:
        """The fit in words."""
        return f"bootstrap ANOVA, {self.model.short}, {WORDS[self.reading]}{', by resamples' * self.drawn}"

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts that the model can take."""
        return LAYOUTS if self._on_means else (SHARDS,)

    @property
    def sound(self) -> bool:
        """Whether a difference is measured by the spread of a difference, not of one system."""
        return self.reading == "difference"

    def source(self, correction: str, claim: Claim) -> str:
        """The paper that uses it, if one does."""
        return SOURCES.get((self.reading, correction), "")

    def estimates(self, tables: Tables, claim: Claim) -> Estimates:
        """Means of many tables, each with the ideal bootstrap law of its residuals."""
        refuse_generalize(claim)
        null, tails, density = READINGS[self.reading]
        if not tables.complete:
            n_resamples = tables.n_resamples if self.drawn else None
            fit = bootstrap_anova(
                self._with_gaps(tables), self.model, n_resamples=n_resamples, seed=tables.seed
            )
            return batch_of_one(fit.estimates(null=null, tails=tails, density=density))
        parts = tables.decomposition(self.model, self._on_means)
        scale = sqrt(parts.n / parts.df_error) if usual_residuals(null) == "scaled" else 1.0
        draws = self._draws(tables, parts)
        spreads = tuple(self._spreads(tables, draws, null, density))
        return replace(
            estimates_of(parts, self.model, claim),
            variance=np.array([scale**2 * one.variance for one in draws]),
            df=np.full(len(tables), np.nan),
            error="residuals",
            law=PairLaw(spreads, tails, scale, f"{self._kind(tables)}, {WORDS[self.reading]}"),
        )

    def _kind(self, tables: Tables) -> str:
        drawn = f"bootstrap ({tables.n_resamples} resamples, seed {tables.seed})"
        return drawn if self.drawn else "ideal bootstrap"

    def _draws(self, tables: Tables, parts: Decomposition) -> list[Draws]:
        """What a resampled system mean of each table is made of: its n draws from the pool of all residuals."""

        def make() -> list[Draws]:
            y = tables.topic_means() if self._on_means else tables.y
            residuals = parts.residuals(y).reshape(len(tables), -1)
            n = parts.n // tables.systems
            return [
                Draws(Pool.of(row if some else np.zeros_like(row)), np.array([1.0 / n]), np.array([float(n)]))
                for row, some in zip(residuals, parts.ss_error > 0.0, strict=True)
            ]

        return tables.once(("draws", self.model.short), make)

    def _spreads(self, tables: Tables, draws: list[Draws], null: Null, density: Density) -> list[Spread]:
        """The law of an error in each table: of a difference, or of one system's effect."""
        if self.drawn:
            errors = tables.once(
                ("errors", self.model.short),
                lambda: [
                    drawn_errors(one, tables.systems, tables.n_resamples, seed)
                    for one, seed in zip(draws, tables.seeds, strict=True)
                ],
            )
            return [drawn_spread(one, null, density) for one in errors]
        own = [one.twice() if null == "difference" else one.minus(tables.systems) for one in draws]
        plain = tables.once(("laws", self.model.short, null), lambda: [ideal(one) for one in own])
        if density == "exact":
            return plain
        return tables.once(
            ("smoothed laws", self.model.short, null),
            lambda: [smoothed(one, PAPER_RESAMPLES, law) for one, law in zip(own, plain, strict=True)],
        )
