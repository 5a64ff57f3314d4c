"""Bootstrap of the residuals of an analysis of variance, as a method (V17, FF21)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from shardwise.core.claim import Claim
from shardwise.core.model import MD1, MD2, MD3, MD6, NAMED, Model
from shardwise.methods.anova.fit import batch_of_one, estimates_of
from shardwise.methods.anova.method import list_split_rules, select_cells
from shardwise.methods.base import Clause, Estimates, Method
from shardwise.methods.bootstrap.distributions import Null, PairDistribution
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
from shardwise.methods.bootstrap.ideal import ideal_distribution, smooth_distribution
from shardwise.methods.bootstrap.spectrum import Pool
from shardwise.methods.tables import LAYOUTS, SHARDS, Dims, Tables
from shardwise.stats.balanced import Decomposition

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
    "difference": "distribution of a difference",
    "marginal-1": "distribution of one system, one tail",
    "marginal-2": "distribution of one system, two tails",
    "kde-1": "distribution of one system, one tail, kernel density",
    "kde-2": "distribution of one system, two tails, kernel density",
    "difference-1": "distribution of a difference, one tail",
    "difference-kde": "distribution of a difference, kernel density",
    "difference-kde-1": "distribution of a difference, one tail, kernel density",
}
SOURCES = {
    ("marginal-1", "bh"): "V17",
    ("marginal-2", "bh"): "FF21",
    ("kde-1", "bh"): "FF21",
    ("kde-2", "bh"): "FF21",
}


@dataclass(frozen=True, slots=True)
class BootstrapMethod(Method):
    """Bootstrap of the residuals of a model, ideal or by resamples, read in one of the papers' ways or in ours."""

    model: Model
    reading: str  # a key of READINGS
    drawn: bool = False  # by so many resamples as the tables say; otherwise as by infinitely many
    common_error: bool = True
    fits_cells: bool = True
    reason: str = "one distribution for all pairs, from resampled residuals"

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Exactly these topics: the only claim that it supports."""
        return (Claim(),)

    def takes_common_gaps(self, claim: Claim) -> bool:
        """Return whether cells that all systems lack may be missing: then all still share one distribution."""
        return True

    @property
    def formula(self) -> str:
        """The resampled effect of a system, and the p-value of a difference d."""
        null, tails, density = READINGS[self.reading]
        spread = "difference* of two systems" if null == "difference" else "effect* of one system"
        smooth = ", smoothed by a kernel density" if density == "kde" else ""
        size = f"|{spread}| ≥ |d|" if tails == 2 else f"{spread} ≥ |d|"
        return (
            "effect* = mean of n resampled residuals of the system − mean of all resampled residuals;"
            f" p = P({size}){smooth}"
        )

    @property
    def limits(self) -> str:
        """Where it should not be used, with what was measured."""
        if self.sound:
            return "Applies to exactly these topics and shards; one distribution serves all pairs."
        return (
            "Measures a difference by the spread of one system: 61 to 89% false alarms. For comparison"
            " with the papers only."
        )

    @property
    def _on_means(self) -> bool:
        return self.model.on_shards is False

    def split_rules(self, correction: str, claim: Claim) -> tuple[str, ...]:
        """Return the rules by which decisions on single splits become one; distributions have no mean."""
        return list_split_rules(self.model, correction)

    def choose_correction(self, claim: Claim) -> str:
        """Return the correction that is meant where none is named, as in the papers."""
        return "bh"

    @property
    def warned(self) -> bool:
        """Whether it measures a difference by the spread of one system, or of one tail."""
        return not self.sound

    def clause(self, correction: str, claim: Claim, systems: int) -> Clause:
        """Say what pairs are compared with."""
        resampled = ", {resamples} resamples" if self.drawn else ""
        text = f"a bootstrap ANOVA (model {self.model.title}; {WORDS[self.reading]}{resampled})"
        return Clause(text, ("VoorheesEtAl2017", "FaggioliFerro2021"))

    def draws(self, correction: str) -> bool:
        """Return whether p-values come from resamples; the ideal bootstrap needs none."""
        return self.drawn

    def uses_normal_theory(self, correction: str) -> bool:
        """Return whether p-values are Student's: they never are."""
        return False

    @property
    def name(self) -> str:
        """What a user types."""
        return f"banova {self.model.short} {self.reading}{' drawn' * self.drawn}"

    @property
    def title(self) -> str:
        """The method in words."""
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

    def estimate(self, tables: Tables, claim: Claim) -> Estimates:
        """Estimate means of many tables, each with the bootstrap distribution of its residuals."""
        refuse_generalize(claim)
        null, tails, density = READINGS[self.reading]
        if not tables.complete:
            n_resamples = tables.n_resamples if self.drawn else None
            fit = bootstrap_anova(
                select_cells(tables, self.model), self.model, n_resamples=n_resamples, seed=tables.seed
            )
            return batch_of_one(fit.estimates(null=null, tails=tails, density=density))
        parts = tables.decomposition(self.model, self._on_means)
        scale = sqrt(parts.n / parts.df_error) if usual_residuals(null) == "scaled" else 1.0
        draws = self._make_draws(tables, parts)
        spreads = tuple(self._error_spreads(tables, draws, null, density))
        return replace(
            estimates_of(parts, self.model, claim),
            variance=np.array([scale**2 * sum_of_draws.variance for sum_of_draws in draws]),
            df=np.full(len(tables), np.nan),
            error="residuals",
            distribution=PairDistribution(
                spreads, tails, scale, f"{self._describe_kind(tables)}, {WORDS[self.reading]}"
            ),
        )

    def _describe_kind(self, tables: Tables) -> str:
        drawn = f"bootstrap ({tables.n_resamples} resamples, seed {tables.seed})"
        return drawn if self.drawn else "ideal bootstrap"

    def _make_draws(self, tables: Tables, parts: Decomposition) -> list[Draws]:
        """What a resampled system mean of each table is made of: its n draws from the pool of all residuals."""

        def compute_draws() -> list[Draws]:
            y = tables.topic_means() if self._on_means else tables.y
            residuals = parts.residuals(y).reshape(len(tables), -1)
            n = parts.n // tables.systems
            return [
                Draws(
                    Pool.from_values(row if some else np.zeros_like(row)),
                    np.array([1.0 / n]),
                    np.array([float(n)]),
                )
                for row, some in zip(residuals, parts.ss_error > 0.0, strict=True)
            ]

        return tables.once(("draws", self.model.short), compute_draws)

    def _error_spreads(
        self, tables: Tables, draws: list[Draws], null: Null, density: Density
    ) -> list[Spread]:
        """The distribution of an error in each table: of a difference, or of one system's effect."""
        if self.drawn:
            errors = tables.once(
                ("errors", self.model.short),
                lambda: [
                    drawn_errors(item, tables.systems, tables.n_resamples, seed)
                    for item, seed in zip(draws, tables.seeds, strict=True)
                ],
            )
            return [drawn_spread(item, null, density) for item in errors]
        contrasts = [
            item.difference_of_two() if null == "difference" else item.subtract_mean(tables.systems)
            for item in draws
        ]
        plain = tables.once(
            ("distributions", self.model.short, null),
            lambda: [ideal_distribution(item) for item in contrasts],
        )
        if density == "exact":
            return plain
        return tables.once(
            ("smoothed distributions", self.model.short, null),
            lambda: [
                smooth_distribution(item, PAPER_RESAMPLES, distribution)
                for item, distribution in zip(contrasts, plain, strict=True)
            ],
        )


MODELS = (MD1, MD2, MD3, MD6)
"""The models that the papers bootstrap."""
METHODS = tuple(BootstrapMethod(model, reading) for model in MODELS for reading in USUAL_READINGS)


def parse_bootstrap(words: list[str]) -> BootstrapMethod | None:
    """Return a bootstrap of any named model in any reading, ideal or by resamples: too many to be listed.

    Parameters
    ----------
    words : list of str
        Such as ``banova md6 marginal-1 drawn``.

    Returns
    -------
    BootstrapMethod or None
        None where the words name no bootstrap.

    >>> parse_bootstrap("banova md4 difference drawn".split()).name
    'banova MD4 difference drawn'
    """
    plain = words[:3]
    drawn = words[3:] == ["drawn"]
    if len(words) not in (3, 4) or (len(words) == 4 and not drawn):
        return None
    if plain[0] != "banova" or plain[1].upper() not in NAMED or plain[2] not in READINGS:
        return None
    return BootstrapMethod(NAMED[plain[1].upper()], plain[2], drawn)
