"""Is A better than B, when each run of A (or of both) gives another result? (J15)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from shardwise.comparing.comparisons import COLUMNS, SIZES
from shardwise.core import late
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.rng import generator
from shardwise.fits.instance_pairs import Pair, pair_of
from shardwise.fits.mixed import MixedFit, mixed
from shardwise.fits.posterior import Mixture, posterior
from shardwise.io.instances import flag_deterministic
from shardwise.numerics import unified as tests
from shardwise.numerics.mixed.posterior import Order, draw
from shardwise.numerics.student import t_statistic

METHODS = ("mixed", "bootstrap", "t-means", "t-single")
DESIGNS = ("unified", "paper", "nested", "crossed")
READINGS = ("averaged", "pooled", "per-instance")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InstanceComparison:
    """Two systems: difference a - b, its spread and p-value, and what they are about."""

    a: str
    b: str
    difference: float
    se: float
    df: float
    statistic: float
    p: float
    title: str  # the method, in words
    claim: str
    residual_sd: float  # of one score around system, topic and instance; NaN for deterministic systems
    topic_sd: float  # over topics, of the differences of per-topic means
    n_topics: int
    n_instances: tuple[int, int]
    deterministic: tuple[bool, bool]
    notes: tuple[str, ...] = ()
    order: Order | None = None  # what the posterior needs: of the unified test
    weights: Floats | None = None
    fit: MixedFit | None = None  # or of a mixed model

    @property
    def effect_size(self) -> float:
        """Difference over the residual standard deviation (J15 §5.4); over `topic_sd` (eq. 8) without a residual."""
        scale = self.residual_sd if self.residual_sd > 0 else self.topic_sd
        return _ratio(self.difference, scale)

    @property
    def size(self) -> str:
        """Effect size in words."""
        return next((word for bound, word in SIZES if abs(self.effect_size) >= bound), "negligible")

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the systems differ at level alpha; if not, that is no proof that they are equal."""
        if not 0.0 < alpha < 1.0:
            raise InputError(f"level {alpha} is not between 0 and 1", remedy="write .05 for 5 %")
        return self.p <= alpha

    def posterior(self, draws: int = 10_000, seed: int = 0) -> Mixture:
        """Posterior law of the difference, prior ∏ 1/φ on expected mean squares."""
        if draws < 100:
            raise InputError(f"{draws} draws are too few for an interval", remedy="take 1,000 or more")
        if self.fit is not None:
            return posterior(self.fit, draws if self.fit.balanced else None, seed).difference(self.a, self.b)
        if self.order is None or self.weights is None:
            raise InputError(f"{self.title} has no posterior", remedy="use method='mixed'")
        if not self.se > 0.0:
            raise InputError(
                "the differences do not vary over topics", remedy="there is nothing to draw from"
            )
        variance = draw(self.order, draws, generator(seed)) @ self.weights
        return Mixture(
            np.full(draws, self.difference), np.sqrt(np.maximum(variance, 0.0)), np.full(draws, 1.0 / draws)
        )

    def interval(self, level: float = 0.95, kind: Literal["t", "hpd"] = "t") -> tuple[float, float]:
        """Interval of the difference: Student's t, or the highest posterior density ("hpd")."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level {level} is not between 0 and 1", remedy="write .95 for 95 %")
        if kind == "hpd":
            return self.posterior().interval(level)
        if kind != "t":
            raise InputError(f"no interval is called {kind!r}", remedy="choose t or hpd")
        if not np.isfinite(self.df):
            raise InputError(f"{self.title} has no interval by Student's t", remedy="use method='mixed'")
        half = float(stats.t.isf((1.0 - level) / 2.0, self.df)) * self.se
        return self.difference - half, self.difference + half

    def to_frame(self) -> pd.DataFrame:
        """One row with the columns of `Comparisons.to_frame()`; the difference keeps its sign."""
        values = (self.a, self.b, self.difference, self.se, self.df, self.statistic, self.p, self.p)
        return pd.DataFrame([dict(zip(COLUMNS, values, strict=True))])

    def plot(self, level: float = 0.95, margin: float | None = None, measure: str = "score") -> Any:
        """Draw the difference with its interval, against a margin if one is given: an altair chart."""
        return late.call("chart", self, level=level, margin=margin, measure=measure)

    def __repr__(self) -> str:
        return f"<InstanceComparison {self.a} - {self.b}: {self.difference:.4g}, p = {self.p:.4g}>"

    def __str__(self) -> str:
        df = f", {self.df:.1f} df" if np.isfinite(self.df) else ""
        lines = [
            f"{self.a} - {self.b} = {self.difference:.4f} (se {self.se:.4f}{df}), p = {self.p:.4g}, "
            f"effect size {self.effect_size:.2f} ({self.size})",
            f"{self.title}; claim: {self.claim}",
            *self.notes,
        ]
        return "\n".join(lines)


def compare_instances(
    a: xr.DataArray | pd.DataFrame | pd.Series,
    b: xr.DataArray | pd.DataFrame | pd.Series,
    method: str = "mixed",
    *,
    design: str = "unified",
    df: str | None = None,
    reading: str | None = None,
    instance: Any = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> InstanceComparison:
    """Compare two systems of which one or both are non-deterministic.

    `a` and `b` have the dimensions instance and topic (or are tables with a row a topic, a column an instance); one
    without instances is deterministic. The systems may have different numbers of instances.

    method "mixed": design "unified" (the default: topics and each system's own instances, nothing assumed equal),
    "nested" or "crossed" (mixed model, `df` as in `MixedFit.estimates`), or "paper" (J15: crossed with a deterministic
    system, else nested, and "observations less one" degrees of freedom).
    method "bootstrap": J15 Algorithm 1 between deterministic systems, otherwise Algorithm 2 in one of three readings.
    "averaged" resamples topics of the averaged differences; "pooled", taken with design="paper", holds their t
    against resamples of every instance; "per-instance" holds each instance's own t against them.
    method "t-means", "t-single": the t-tests on topic means and on one `instance` that J15 warns of.

    >>> rng = np.random.default_rng(1)
    >>> topics = rng.normal(0.4, 0.2, 50)
    >>> y = topics + rng.normal(0, 0.1, 50) + rng.normal(0.06, 0.08, (5, 50))
    >>> dense = xr.DataArray(y, dims=("instance", "topic"), name="dense")
    >>> bm25 = xr.DataArray(topics + rng.normal(0, 0.1, 50), dims=("topic",), name="bm25")
    >>> result = compare_instances(dense, bm25)
    >>> print(result)
    dense - bm25 = 0.0297 (se 0.0161, 49.0 df), p = 0.07066, effect size 0.40 (small)
    unified test of instances and topics; claim: on topics like these 50, whatever the instance (5 seen of dense)
    """
    _check(method, design, reading, n_resamples, seed)
    pair = pair_of(a, b)
    if method == "bootstrap":
        chosen = reading or ("pooled" if design == "paper" else "averaged")
        return _bootstrap(pair, chosen, n_resamples, seed)
    if method in {"t-means", "t-single"}:
        return _baseline(pair, instance if method == "t-single" else None, method)
    if design == "unified":
        return _unified(pair)
    return _mixed(pair, design, df)


def _check(method: str, design: str, reading: str | None, n_resamples: int, seed: int) -> None:
    for value, known, what in ((method, METHODS, "method"), (design, DESIGNS, "design")):
        if value not in known:
            raise InputError(f"no {what} is called {value!r}", remedy=f"choose one of {', '.join(known)}")
    if reading is not None and reading not in READINGS:
        raise InputError(f"no reading is called {reading!r}", remedy=f"choose one of {', '.join(READINGS)}")
    if n_resamples < 1 or seed < 0:
        raise InputError("n_resamples must be at least 1 and seed at least 0")


def _claim(pair: Pair) -> str:
    each = zip(pair.counts, pair.names, pair.deterministic, strict=True)
    seen = [f"{m} seen of {name}" for m, name, fixed in each if not fixed]
    topics = f"on topics like these {pair.n}"
    return f"{topics}, whatever the instance ({', '.join(seen)})" if seen else topics


def _residual_sd(pair: Pair) -> float:
    """Spread of the scores of the non-deterministic systems around their topics and instances, pooled."""
    ss = freedom = 0.0
    for y, fixed in zip((pair.a, pair.b), pair.deterministic, strict=True):
        if not fixed and len(y) > 1:
            own = (len(y) - 1.0) * (pair.n - 1.0)
            ss, freedom = ss + float(tests.mean_squares(y)[1]) * own, freedom + own
    return float(np.sqrt(ss / freedom)) if freedom else float("nan")


def _result(
    pair: Pair, difference: float, se: float, df: float, p: float, title: str, residual_sd: float
) -> InstanceComparison:
    return InstanceComparison(
        a=pair.names[0],
        b=pair.names[1],
        difference=difference,
        se=se,
        df=df,
        statistic=_ratio(difference, se),
        p=p,
        title=title,
        claim=_claim(pair),
        residual_sd=residual_sd,
        topic_sd=float(pair.topic_differences().std(ddof=1)),
        n_topics=pair.n,
        n_instances=pair.counts,
        deterministic=pair.deterministic,
    )


def _ratio(difference: float, spread: float) -> float:
    return float(t_statistic(np.asarray(difference), np.asarray(spread)))


def _unified(pair: Pair) -> InstanceComparison:
    pair = pair.complete("design='nested', which leaves out what is missing").replicated()
    found = tests.unified(pair.a, pair.b, deterministic=pair.deterministic)
    order, weights = tests.unified_order(found, pair.counts, pair.n)
    se = float(np.sqrt(found.variance))
    both = all(pair.deterministic)
    title = "paired t, as both systems are deterministic" if both else "unified test of instances and topics"
    result = _result(
        pair, float(found.difference), se, float(found.df), float(found.p), title, _residual_sd(pair)
    )
    return replace(result, order=order, weights=weights)


def _mixed(pair: Pair, design: str, df: str | None) -> InstanceComparison:
    if all(pair.deterministic):
        raise InputError(
            "both systems are deterministic: a mixed model of instances has nothing to go by",
            remedy="use design='unified', which then is the paired t-test",
        )
    paper = design == "paper"
    if paper:
        design = "crossed" if any(pair.deterministic) else "nested"
    scores = flag_deterministic(
        pair.scores(), [name for name, fixed in zip(pair.names, pair.deterministic, strict=True) if fixed]
    )
    fit = mixed(scores, "crossed" if design == "crossed" else "nested")
    estimates = fit.estimates(df=df or ("paper" if paper else "auto"))
    difference = float(fit.values[0] - fit.values[1])
    se = float(np.sqrt(fit.difference_variance[0, 1]))
    freedom = float(estimates.df_of_differences()[0, 1])
    p = float(tests.t_p(np.asarray(difference), np.asarray(se), freedom))
    words = estimates.error.rsplit(", ", 1)[1]
    title = f"mixed model, {design} instances{' as in J15' if paper else ''}, {words}"
    result = _result(pair, difference, se, freedom, p, title, fit.residual_sd)
    notes = fit.notes
    if design == "crossed" and any(pair.deterministic):
        notes = (
            *notes,
            "the instance variance cancels from a crossed comparison: with few instances it finds too much",
        )
    return replace(result, claim=fit.claim, notes=notes, fit=fit)


def _bootstrap(pair: Pair, reading: str, n_resamples: int, seed: int) -> InstanceComparison:
    pair = pair.complete("method='mixed', design='nested'")
    d = (pair.a.mean(axis=0) - pair.b.mean(axis=0))[None, :]
    mean, se, t = tests.paired_t(d)
    if all(pair.deterministic):
        z, against, words = d, t, "J15 Algorithm 1"
    elif reading == "averaged":
        z, against, words = d, t, "J15 Algorithm 2, averaged differences resampled"
    else:
        z = pair.paired_instances()
        own = reading == "per-instance"
        against = tests.paired_t(z)[2] if own else np.repeat(t, len(z))
        which = "each instance's own t" if own else "t of the averages"
        words = f"J15 Algorithm 2, {which} against resamples of every instance"
    p = tests.bootstrap_p(z, against, n_resamples, seed)
    title = f"studentised bootstrap of topics ({words}; {n_resamples} resamples, seed {seed})"
    result = _result(pair, float(mean[0]), float(se[0]), float("nan"), p, title, _residual_sd(pair))
    if all(pair.deterministic):
        return result
    note = "instances are averaged, not sampled: their variance is left out, which matters when they are few"
    return replace(result, claim=_of_these(pair), notes=(note,))


def _of_these(pair: Pair) -> str:
    each = zip(pair.counts, pair.names, pair.deterministic, strict=True)
    seen = [f"the mean of these {m} instances of {name}" for m, name, fixed in each if not fixed]
    return f"on topics like these {pair.n}" + (f", for {' and '.join(seen)}" if seen else "")


def _baseline(pair: Pair, instance: Any, method: str) -> InstanceComparison:
    pair = pair.complete("method='mixed', design='nested'")
    claim, words = _of_these(pair), "paired t on topic means"
    chosen = pair
    if method == "t-single":
        chosen = pair.single(instance)
        which = ", ".join(f"{label[0]} of {name}" for label, name, fixed
                          in zip(chosen.labels, pair.names, pair.deterministic, strict=True) if not fixed)  # fmt: skip
        claim, words = (
            f"on topics like these {pair.n}, for instance {which} alone",
            "paired t on one instance",
        )
    mean, se, _ = tests.paired_t(chosen.a.mean(axis=0) - chosen.b.mean(axis=0))
    df = pair.n - 1.0
    result = _result(
        pair, float(mean), float(se), df, float(tests.t_p(mean, se, df)), words, _residual_sd(pair)
    )
    return replace(result, claim=claim)


def single_instance_tests(
    a: xr.DataArray | pd.DataFrame | pd.Series,
    b: xr.DataArray | pd.DataFrame | pd.Series,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """One paired t-test for each instance, as those who compare single runs would do (J15 Fig. 7).

    `instance, difference, p, verdict` ("better", "worse", "no difference"): where verdicts contradict each other, a
    single instance proves little. Instances of two non-deterministic systems are paired in order.
    """
    pair = pair_of(a, b).complete("compare_instances with design='nested'")
    z = pair.paired_instances()
    mean, se, _ = tests.paired_t(z)
    p = tests.t_p(mean, se, pair.n - 1.0)
    verdict = np.where(p > alpha, "no difference", np.where(mean > 0, "better", "worse"))
    labels = pair.labels[0] if len(pair.labels[0]) >= len(pair.labels[1]) else pair.labels[1]
    return pd.DataFrame({"instance": labels, "difference": mean, "p": p, "verdict": verdict})
