"""Bootstrap ANOVA (V17 §2.2, FF21 §3.2): the residuals, drawn anew, say how far the system effects may be off.

Every system draws its n residuals from the one pool of all N. So a resampled effect is the estimate plus
rbar_j - rbar, the distributions of all systems are the same but for their place, and no resampling is needed to know
them.

Bootstrap of the residuals of an analysis of variance, as a method (V17, FF21).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from typing import Any, Literal, get_args

import numpy as np

from shardwise.core import late
from shardwise.core.arguments import Progress, lend_executor, resolve_alpha, validate_choice
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim, pluralize_noun
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.libraries import pd
from shardwise.core.model import MD1, MD2, MD3, MD6, NAMED, Model
from shardwise.core.shown import Shown
from shardwise.methods.anova.fit import AnovaFit, anova, estimates_of
from shardwise.methods.anova.method import select_cells
from shardwise.methods.bootstrap.distributions import (
    Draws,
    EffectDistribution,
    Null,
    PairDistribution,
    Pool,
    Sample,
    Spread,
    ideal_distribution,
    resample_errors,
    smooth_distribution,
    smooth_draws,
)
from shardwise.methods.method import THESE, Method
from shardwise.methods.pairs import Means
from shardwise.methods.tables import LAYOUTS, SHARDS, Tables
from shardwise.stats.balanced import EMPTY, ERROR
from shardwise.stats.corrections import step_up
from shardwise.stats.least_squares import solve_table

Density = Literal["exact", "kde"]
Residuals = Literal["scaled", "raw"]
Trim = Literal["share", "percent", "count"]

PAPER_RESAMPLES = 10_000  # V17 §2.2, FF21 §3.2


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BootstrapFit(Shown):
    """A model of the scores with the bootstrap distributions of its system effects."""

    anova: AnovaFit
    means: Means  # system means as the model itself sees them
    draws: Draws  # what one resampled system mean is made of
    replicates: Floats | None  # (resample, system) resampled errors of the effects; None: ideal
    seed: int
    of: str

    @property
    def model(self) -> Model:
        """The model that was fitted."""
        return self.anova.model

    @property
    def n_resamples(self) -> int | None:
        """Number of resamples; None for the ideal bootstrap."""
        return None if self.replicates is None else len(self.replicates)

    @property
    def inflation(self) -> float:
        """sqrt(N / error df): least squares makes residuals smaller than errors, and this undoes it."""
        return sqrt(self.draws.pool.values.size / _error_figure(self.anova, "df"))

    @property
    def effects(self) -> pd.Series[float]:
        """Estimated effects of the systems."""

        values = self.means.values
        return pd.Series(values - values.mean(), index=pd.Index(self.means.labels, name=self.of))

    def effect_distribution(
        self, system: str, *, density: Density = "exact", residuals: Residuals = "raw"
    ) -> EffectDistribution:
        """Return the bootstrap distribution of one system's effect: cdf, density, quantiles (V17 Fig. 3).

        Parameters
        ----------
        system : str
            Name of the system.
        density : {"exact", "kde"}
            ``exact``, or ``kde`` for a Gaussian kernel, as for `estimates`.
        residuals : {"scaled", "raw"}
            ``raw`` or ``scaled``, as for `estimates`.

        Returns
        -------
        EffectDistribution
            The distribution.
        """
        effects = self.effects
        if system not in effects.index:
            raise InputError(
                f"unknown {self.of} {system!r}",
                remedy=f"the first is {effects.index[0]!r}",
            )
        place = self.means.labels.index(system)
        replicates = None if self.replicates is None else self.replicates[:, place]
        return EffectDistribution(
            float(effects[system]),
            self._error_spread("marginal", density, replicates),
            self._residual_scale(residuals),
        )

    def curves(
        self, systems: Sequence[str], *, points: int = 201, density: Density = "exact"
    ) -> pd.DataFrame:
        """Return densities of several systems' effects, long: ``system, value, density, cdf``.

        Parameters
        ----------
        systems : sequence of str
            Names of the systems.
        points : int
            Number of values at which each density is taken.
        density : {"exact", "kde"}
            ``exact``, or ``kde`` for a Gaussian kernel, as for `estimates`.

        Returns
        -------
        DataFrame
            One row a system and value.
        """

        frames = [
            self.effect_distribution(system, density=density).curve(points).assign(**{self.of: system})
            for system in systems
        ]
        return pd.concat(frames, ignore_index=True)[[self.of, "value", "density", "cdf"]]

    def estimates(
        self,
        *,
        generalize: Claim | str | Iterable[str] = (),
        null: Null = "difference",
        tails: int = 2,
        density: Density = "exact",
        residuals: Residuals | None = None,
    ) -> Means:
        """Return the means of the systems with the bootstrap distribution that differences are measured against.

        Parameters
        ----------
        generalize : Claim, str or iterable of str
            The claim, as a `Claim`, names or text; it can be about these topics only, as residuals are drawn.
        null : {"difference", "marginal"}
            ``difference`` for the distribution of the difference of two systems; ``marginal`` for that of one system's
            effect, as in V17 and FF21, which is narrower by a factor √2 or more, and therefore liberal.
        tails : int
            1 (V17 Fig. 3) or 2 (FF21's code).
        density : {"exact", "kde"}
            ``exact``; or ``kde``, which smooths the replicates by a Gaussian kernel (FF21 §3.2), without resamples as
            it would smooth 10,000.
        residuals : {"scaled", "raw"}, optional
            ``scaled`` by sqrt(N / error df), so that their variance is the error mean square, or ``raw`` as in the
            papers; without a choice scaled for ``difference`` and raw for ``marginal``.

        Returns
        -------
        Means
            Means of the systems and the distribution of their differences.
        """
        refuse_generalize(Claim.of(generalize, self.means.nouns))
        return self.measure_pairs(null, tails, density, residuals).describe_means(self.means)

    def measure_pairs(
        self,
        null: Null = "difference",
        tails: int = 2,
        density: Density = "exact",
        residuals: Residuals | None = None,
    ) -> PairDistribution:
        """Return the distribution that differences are measured against, as for `estimates`.

        Parameters
        ----------
        null : {"difference", "marginal"}
            As for `estimates`.
        tails : {1, 2}
            As for `estimates`.
        density : {"exact", "kde"}
            As for `estimates`.
        residuals : str, optional
            As for `estimates`.

        Returns
        -------
        PairDistribution
            The distribution of one table.
        """
        validate_choice(null, "null", ("difference", "marginal"))
        validate_choice(tails, "tails", (1, 2), what="number of tails")
        scale = self._residual_scale(residuals or usual_residuals(null))
        drawn = f"bootstrap ({self.n_resamples} resamples, seed {self.seed})"
        kind = "ideal bootstrap" if self.n_resamples is None else drawn
        what = "of a difference" if null == "difference" else f"of one {self.of}'s effect"
        sides = "one-tailed" if tails == 1 else "two-tailed"
        of = f"residuals × {scale:.4g}" if scale != 1.0 else "raw residuals"
        words = " ".join([kind, what, f"({sides}, {of}{', kernel density' * (density == 'kde')})"])
        variance = np.asarray(scale**2 * self.draws.variance)
        return PairDistribution((self._error_spread(null, density, None),), tails, scale, words, variance)

    def intervals(
        self,
        level: float | None = None,
        *,
        alpha: float | None = None,
        null: Null = "marginal",
        tails: int = 1,
        trim: Trim = "share",
        density: Density = "exact",
        residuals: Residuals | None = None,
        pairs: Floats | None = None,
    ) -> pd.DataFrame:
        """Return intervals of the system effects as in V17 §3.1: ``estimate, lower, upper``.

        With k of the N pairs told apart by Benjamini-Hochberg at alpha = 1 - level, a share αk/(2N) of the M estimates
        is dropped at either end. Without resamples, M is the papers' 10,000.

        Parameters
        ----------
        level : float, optional
            Confidence level, above 0.5; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.
        null : {"difference", "marginal"}
            The distribution that p-values and intervals are of, as for `estimates`.
        tails : int
            The distribution that p-values and intervals are of, as for `estimates`.
        density : {"exact", "kde"}
            The distribution that p-values and intervals are of, as for `estimates`.
        residuals : {"scaled", "raw"}, optional
            The distribution that p-values and intervals are of, as for `estimates`.
        trim : {"share", "percent", "count"}
            ``share``; ``percent``, which reads the share as a percentage and drops two or three of 10,000 at either
            end (FF21's code, its Table 3); or ``count``, which drops that number of estimates, rounded, and leaves
            nearly the full range (FF21's text).
        pairs : array of float, optional
            Uncorrected p-values of the N pairs, where these are not all pairs.

        Returns
        -------
        DataFrame
            One row a system.
        """

        alpha = resolve_alpha(alpha, level)
        validate_choice(trim, "trim", get_args(Trim))
        estimates = self.estimates(null=null, tails=tails, density=density, residuals=residuals)
        every = np.triu_indices(estimates.size, 1)
        test = estimates.pairs or estimates.test_by_variance
        p = test(*every).p if pairs is None else np.asarray(pairs)
        share = alpha * max(step_up(p, alpha), 1) / (2.0 * p.size)
        part = share / 100.0 if trim == "percent" else share
        scale = self._residual_scale(residuals or usual_residuals(null))
        if self.replicates is None:
            # a count leaves estimate number count + 1 of M, whose expected place is this
            tail = part if trim != "count" else (round(share) + 1.0) / (PAPER_RESAMPLES + 1.0)
            distribution = EffectDistribution(0.0, self._error_spread("marginal", density, None), scale)
            lower, upper = distribution.quantile(np.array([tail, 1.0 - tail]))
        else:
            ordered = np.sort(self.replicates, axis=0) * scale
            dropped = int(part * len(ordered)) if trim != "count" else round(share)
            lower, upper = ordered[dropped], ordered[-1 - dropped]
        effects = self.effects
        return pd.DataFrame({"estimate": effects, "lower": effects + lower, "upper": effects + upper})

    def plot(self, pair: tuple[str, str] | None = None, level: float = 0.95, **options: Any) -> Any:
        """Draw the effects with their intervals (V17 Fig. 2), or the distributions of one pair (V17 Fig. 3): an altair
        chart.

        Parameters
        ----------
        pair : tuple of str, optional
            Names of two systems whose distributions are drawn; without it, the effects of all.
        level : float
            Confidence level of the intervals.
        **options
            Those of `intervals`, or of `density_chart` for a pair.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        if pair is not None:
            return late.call_bound("chart", self, "density", a=pair[0], b=pair[1], **options)
        return late.call_bound("chart", self, "effects", level=level, **options)

    def _residual_scale(self, residuals: str) -> float:
        return (
            self.inflation if validate_choice(residuals, "residuals", ("scaled", "raw")) == "scaled" else 1.0
        )

    def _error_spread(self, null: str, density: str, replicates: Floats | None) -> Spread:
        """Distribution of the error of an effect or a difference, pooled over systems."""
        validate_choice(density, "density", ("exact", "kde"))
        systems = len(self.means.labels)
        if self.replicates is None:
            draws = self.draws.contrast(null, systems)
            return (
                smooth_distribution(draws, PAPER_RESAMPLES) if density == "kde" else ideal_distribution(draws)
            )
        return drawn_spread(self.replicates, null, density, replicates)

    def __str__(self) -> str:
        how = "ideal" if self.n_resamples is None else f"{self.n_resamples} resamples, seed {self.seed}"
        return f"bootstrap ANOVA ({how}) of {self.model.title}; {self.draws.pool.values.size} residuals"


def bootstrap_anova(
    scores: Any,
    model: Model | str,
    *,
    n_resamples: int | None = None,
    seed: int = 0,
    of: str = "system",
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> BootstrapFit:
    """Fit a model and find the bootstrap distributions of its system effects.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes.
    model : Model or str
        A `Model`, its name, or a formula, as for `anova`.
    n_resamples : int, optional
        How many resamples to draw; without it the distributions are those of infinitely many, computed and not
        simulated.
    seed : int
        Where the random numbers start; replicate i depends on (seed, i) only.
    of : str
        The dimension whose levels are compared.
    jobs : int, optional
        Number of threads that draw; all processors, if None.
    executor : Executor, optional
        Where to draw instead of in threads: any executor of `concurrent.futures`, also of processes or machines; the
        draws do not depend on it. Refused where nothing is drawn.
    progress : callable, optional
        Called with (resamples done, resamples in all).

    Returns
    -------
    BootstrapFit
        The fit with the bootstrap distributions of its effects.

    >>> scores = np.array([[.1, .2, .4], [.3, .3, .6], [.2, .5, .6]])
    >>> fit = bootstrap_anova(scores, "topic + system")
    >>> fit.effect_distribution("2").quantile([.05, .95]).round(3).tolist()
    [0.137, 0.219]
    """
    fit = anova(scores, model)
    estimates = fit.estimates(of=of)  # refuses what cannot be compared, with the reason
    # all residuals there are
    residuals = np.asarray(fit.subtract_fit(), np.float64)
    if fit.incomplete is not None:
        residuals = residuals[~np.isnan(residuals)]
    pool = Pool.from_values(residuals if _error_figure(fit, "ss") > 0.0 else np.zeros(residuals.size))
    # how often each score of a system counts in its mean: distinct weights, and how many scores have them
    # where scores are missing, the adjusted mean is the same linear function of them for all systems only if they miss
    # the same scores, and only then do all systems share one distribution
    if fit.incomplete is None:
        n = fit.scores.values.size // fit.scores.sizes[of]
        weights, counts = np.array([1.0 / n]), np.array([float(n)])
    elif of not in fit.incomplete.even:
        raise InputError(
            f"the {pluralize_noun(of)} lack different scores, so their bootstrap distributions differ and"
            " cannot be pooled",
            remedy=(
                "keep the topics that all have, fill what is undefined with ",
                Either("fill_undefined", "--fill"),
                ", or use an analysis of variance",
            ),
        )
    else:
        stratum = fit.incomplete.strata[frozenset({of})]
        table = replace(stratum.table, means=np.eye(len(stratum.table.weights)))
        each = solve_table(table, stratum.terms).effects(EMPTY)[0] / stratum.table.weights
        distinct, inverse = np.unique(np.round(each / np.abs(each).max(), 12), return_inverse=True)
        counts = np.bincount(inverse, stratum.table.weights)
        weights = np.bincount(inverse, each * stratum.table.weights) / counts
        used = np.abs(distinct) > 0
        weights, counts = weights[used], counts[used]
    draws = Draws(pool, weights, counts)
    replicates = None
    if n_resamples is None and executor is not None:
        raise InputError(
            (Option("executor"), " has no effect without resamples"),
            remedy=("leave it out, or give ", Option("n_resamples", PAPER_RESAMPLES)),
        )
    if n_resamples is not None:
        with lend_executor(executor):
            replicates = resample_errors(draws, fit.scores.sizes[of], n_resamples, seed, jobs, progress)
    return BootstrapFit(fit, estimates, draws, replicates, seed, of)


def drawn_spread(errors: Floats, null: str, density: str, replicates: Floats | None = None) -> Spread:
    """Distribution of the error of an effect or a difference by (resample, system) errors of effects.

    The errors of one system alone are taken where these are given.
    """
    if replicates is not None:
        values = replicates
    elif null == "marginal":
        values = errors.ravel()
    else:
        neighbours = errors - np.roll(errors, 1, axis=1)  # R differences of every replicate
        values = np.concatenate([neighbours.ravel(), -neighbours.ravel()])  # the distribution is symmetric
    return smooth_draws(values, len(errors)) if density == "kde" else Sample(np.sort(values))


def _error_figure(fit: AnovaFit, column: str) -> float:
    return float((fit.squares if column == "ss" else fit.df)[ERROR])


def usual_residuals(null: str) -> Residuals:
    """Those of the papers for their reading, whose variance is the error's for ours."""
    return "scaled" if null == "difference" else "raw"


def refuse_generalize(claim: Claim) -> None:
    """Refuse a claim about more than these topics, as residuals are drawn."""
    if claim.over:
        raise InputError(
            f"the bootstrap resamples residuals, not {pluralize_noun(claim.over[0])}: it supports claims about these"
            f" {pluralize_noun(claim.over[0])} only",
            remedy=(
                "use ",
                Either("anova with ", "an ANOVA model, without --method bootstrap, and "),
                Option("generalize", claim.over),
            ),
        )


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
    # the distribution of an error in each table: of a difference, or of one system's effect
    if drawn:
        errors = tables.once(
            ("errors", model.short),
            lambda: [
                resample_errors(item, tables.systems, tables.n_resamples, seed)
                for item, seed in zip(draws, tables.seeds, strict=True)
            ],
        )
        spreads = [drawn_spread(item, null, density) for item in errors]
    else:
        contrasts = [item.contrast(null, tables.systems) for item in draws]
        spreads = tables.once(
            ("distributions", model.short, null), lambda: [ideal_distribution(item) for item in contrasts]
        )
    if density != "exact" and not drawn:
        plain = zip(contrasts, spreads, strict=True)
        spreads = tables.once(
            ("smoothed distributions", model.short, null),
            lambda: [smooth_distribution(item, PAPER_RESAMPLES, known) for item, known in plain],
        )
    kind = f"bootstrap ({tables.n_resamples} resamples, seed {tables.seed})" if drawn else "ideal bootstrap"
    variance = np.array([scale**2 * sum_of_draws.variance for sum_of_draws in draws])
    distribution = PairDistribution(tuple(spreads), tails, scale, f"{kind}, {WORDS[reading]}", variance)
    return distribution.describe_means(estimates_of(parts, model, claim))


MODELS = (MD1, MD2, MD3, MD6)
"""The models that the papers bootstrap."""
METHODS = tuple(make_bootstrap(model, reading) for model in MODELS for reading in USUAL_READINGS)


def parse_bootstrap(words: list[str]) -> Method | None:
    """Return a bootstrap of any named model in any reading, ideal or by resamples: too many to be listed.

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
