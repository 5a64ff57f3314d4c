"""Bootstrap of the residuals of an analysis of variance, as a method (V17, FF21)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import sqrt

import numpy as np

from shardwise.core.claim import Claim
from shardwise.core.model import MD1, MD2, MD3, MD6, NAMED, Model
from shardwise.methods.anova.fit import estimates_of
from shardwise.methods.anova.method import select_cells
from shardwise.methods.bootstrap.distributions import (
    Draws,
    Null,
    PairDistribution,
    Pool,
    Spread,
    ideal_distribution,
    smooth_distribution,
)
from shardwise.methods.bootstrap.fit import (
    PAPER_RESAMPLES,
    Density,
    bootstrap_anova,
    drawn_errors,
    drawn_spread,
    refuse_generalize,
    usual_residuals,
)
from shardwise.methods.method import THESE, Method
from shardwise.methods.pairs import Means
from shardwise.methods.tables import LAYOUTS, SHARDS, Tables

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
    name: f"distribution of {'a difference' if null == 'difference' else 'one system'}"
    + ("" if (null, tails) == ("difference", 2) else ", one tail" if tails == 1 else ", two tails")
    + ", kernel density" * (density == "kde")
    for name, (null, tails, density) in READINGS.items()
}
SOURCES = {
    ("marginal-1", "bh"): "V17",
    ("marginal-2", "bh"): "FF21",
    ("kde-1", "bh"): "FF21",
    ("kde-2", "bh"): "FF21",
}


def make_bootstrap(model: Model, reading: str, drawn: bool = False) -> Method:
    """Return the bootstrap of the residuals of a model, ideal or by resamples, read as the papers or we do."""
    null, tails, density = READINGS[reading]
    spread = "difference* of two systems" if null == "difference" else "effect* of one system"
    smooth = ", smoothed by a kernel density" if density == "kde" else ""
    size = f"|{spread}| ≥ |d|" if tails == 2 else f"{spread} ≥ |d|"
    resampled = ", {resamples} resamples" if drawn else ""
    sound = reading == "difference"
    return Method(
        name=f"banova {model.short} {reading}{' drawn' * drawn}",
        title=f"bootstrap ANOVA, {model.short}, {WORDS[reading]}{', by resamples' * drawn}",
        layouts_by_claim=((THESE, LAYOUTS if model.on_shards is False else (SHARDS,)),),
        means=partial(bootstrap_means, model, reading, drawn),
        text=f"a bootstrap ANOVA (model {model.title}; {WORDS[reading]}{resampled})",
        citations=("VoorheesEtAl2017", "FaggioliFerro2021"),
        reason="one distribution for all pairs, from resampled residuals",
        equation=(
            "effect* = mean of n resampled residuals of the system − mean of all resampled residuals;"
            f" p = P({size}){smooth}"
        ),
        limits=(
            "Applies to exactly these topics and shards; one distribution serves all pairs."
            if sound
            else "Measures a difference by the spread of one system: 61 to 89% false alarms. For comparison"
            " with the papers only."
        ),
        default_correction="bh",
        sound=sound,
        warned=not sound,
        common_error=True,
        drawn=drawn,
        normal=False,
        takes_common_gaps=True,
        fits_cells=True,
        averages_splits=False,
        combines_splits=model.on_shards is not False,
        papers=tuple((correction, tag) for (known, correction), tag in SOURCES.items() if known == reading),
    )


def bootstrap_means(model: Model, reading: str, drawn: bool, tables: Tables, claim: Claim) -> Means:
    """Estimate means of many tables, each with the bootstrap distribution of its residuals."""
    refuse_generalize(claim)
    null, tails, density = READINGS[reading]
    if not tables.complete:
        n_resamples = tables.n_resamples if drawn else None
        fit = bootstrap_anova(select_cells(tables, model), model, n_resamples=n_resamples, seed=tables.seed)
        means = fit.means.apply(lambda array: np.asarray(array, np.float64)[None])
        distribution = fit.measure_pairs(null, tails, density)
        return replace(distribution, variance=distribution.variance[None]).describe_means(means)
    parts = tables.decomposition(model, model.on_shards is False)
    scale = sqrt(parts.n / parts.df_error) if usual_residuals(null) == "scaled" else 1.0

    # what a resampled system mean of each table is made of: its n draws from the pool of all residuals
    def compute_draws() -> list[Draws]:
        y = tables.topic_means() if model.on_shards is False else tables.y
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

    draws = tables.once(("draws", model.short), compute_draws)
    spreads = tuple(_error_spreads(model, drawn, tables, draws, null, density))
    kind = f"bootstrap ({tables.n_resamples} resamples, seed {tables.seed})" if drawn else "ideal bootstrap"
    variance = np.array([scale**2 * sum_of_draws.variance for sum_of_draws in draws])
    distribution = PairDistribution(spreads, tails, scale, f"{kind}, {WORDS[reading]}", variance)
    return distribution.describe_means(estimates_of(parts, model, claim))


def _error_spreads(
    model: Model, drawn: bool, tables: Tables, draws: list[Draws], null: Null, density: Density
) -> list[Spread]:
    """The distribution of an error in each table: of a difference, or of one system's effect."""
    if drawn:
        errors = tables.once(
            ("errors", model.short),
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
        ("distributions", model.short, null), lambda: [ideal_distribution(item) for item in contrasts]
    )
    if density == "exact":
        return plain
    return tables.once(
        ("smoothed distributions", model.short, null),
        lambda: [
            smooth_distribution(item, PAPER_RESAMPLES, distribution)
            for item, distribution in zip(contrasts, plain, strict=True)
        ],
    )


MODELS = (MD1, MD2, MD3, MD6)
"""The models that the papers bootstrap."""
METHODS = tuple(make_bootstrap(model, reading) for model in MODELS for reading in USUAL_READINGS)


def parse_bootstrap(words: list[str]) -> Method | None:
    """Return a bootstrap of any named model in any reading, ideal or by resamples: too many to be listed.

    Parameters
    ----------
    words : list of str
        Such as ``banova md6 marginal-1 drawn``.

    Returns
    -------
    Method or None
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
    return make_bootstrap(NAMED[plain[1].upper()], plain[2], drawn)
