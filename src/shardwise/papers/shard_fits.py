"""Models of many splits and of many resamples of their topics at once, from sums of squares weighted by topics.

A resample is a number of copies of each topic. Means and sums of squares of all models are sums over topics, so that a
matrix of these numbers gives them for all resamples: the same figures as of `anova` on the resampled table. The
bootstrap of residuals is taken at its limit, a normal distribution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats
from shardwise.core.libraries import xr
from shardwise.stats import studentized_range
from shardwise.stats.student import student_critical

TERMS = {
    "MD1": "t s",
    "MD2": "t s",
    "MD3": "t s ts",
    "MD4": "t s ts k",
    "MD5": "t s ts k sk",
    "MD6": "t s ts k sk tk",
}
"""Terms of F19's models: topics, systems, shards and their interactions."""
KERNEL = 1.0 + (4.0 / 30_000.0) ** 0.4
"""By how much the kernel density of 10,000 estimates widens their variance (FF21 §3.2)."""


class Rule(NamedTuple):
    """How pairs are called different: Tukey's HSD, t-tests or the bootstrap with Benjamini-Hochberg."""

    kind: str
    alpha: float = 0.05
    tails: int = 2
    smooth: bool = False


HSD, T_BH = Rule("hsd"), Rule("t")
Counts = dict[tuple[str, Rule], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class ModelFits:
    """What several models leave of (splits, topics, systems, shards) scores, for resamples of the topics."""

    means: Floats  # (resamples, splits, systems)
    ss: dict[str, Floats]  # by term and by model what it leaves: (resamples, splits)
    shape: tuple[int, int, int]  # topics, systems, shards

    @property
    def cells(self) -> int:
        """Cells of one system."""
        return self.shape[0] * self.shape[2]

    def count_df(self, model: str) -> int:
        """Return the degrees of freedom that a model leaves."""
        sizes = dict(zip("tsk", self.shape, strict=True))
        used = sum(int(np.prod([sizes[d] - 1 for d in term])) for term in TERMS[model].split())
        return int(np.prod(self.shape)) - 1 - used

    def measure_omega(self, model: str) -> Floats:
        """Return the effect size ω² of the systems (F19 §5)."""
        df = self.shape[1] - 1.0
        excess = df * (self.ss["s"] / df / self.mean_square(model) - 1.0)
        return np.asarray(excess / (excess + np.prod(self.shape)))

    def mean_square(self, model: str) -> Floats:
        """Return the error mean square of a model."""
        return np.asarray(self.ss[model] / self.count_df(model))

    def find_difference(self, model: str, rule: Rule) -> Floats:
        """Return the scale of differences: the critical one of HSD, the standard error, or that of an effect.

        That of HSD is the width of Tukey's intervals (F19 eq. 3).
        """
        if rule.kind == "hsd":
            q = float(studentized_range.isf(rule.alpha, self.shape[1], self.count_df(model)))
            return np.asarray(q * np.sqrt(self.mean_square(model) / self.cells))
        if rule.kind == "t":
            return np.asarray(np.sqrt(2.0 * self.mean_square(model) / self.cells))
        # raw residuals, of which a mean less the mean of all means is made
        pool = self.ss[model] / np.prod(self.shape)
        spread = pool / self.cells * (1.0 - 1.0 / self.shape[1]) * (KERNEL if rule.smooth else 1.0)
        return np.asarray(np.sqrt(spread))

    def trim_width(self, model: str, pair_counts: Floats, tails: int = 1, alpha: float = 0.05) -> Floats:
        """Return the width of V17's intervals where so many pairs are found (V17 §3.1)."""
        pairs = self.shape[1] * (self.shape[1] - 1) / 2.0
        share = alpha * np.maximum(pair_counts, 1.0) / (2.0 * pairs)
        return np.asarray(
            -2.0 * special.ndtri(share) * self.find_difference(model, Rule("bootstrap", alpha, tails))
        )

    def count_top(self, model: str, rule: Rule = HSD) -> Floats:
        """Return the number of systems that do not differ from the best one by HSD."""
        beyond = self.means.max(axis=2) - self.find_difference(model, rule)
        return np.asarray((self.means > beyond[..., None]).sum(axis=2), np.float64)


def read_tables(scores: xr.DataArray) -> Floats:
    """Return scores as (splits, topics, systems, shards), with one shard where there are none."""
    values = scores if "shard" in scores.dims else scores.expand_dims("shard")
    return np.asarray(values.transpose("split", "topic", "system", "shard").to_numpy(), np.float64)


def fit_models(tables: Floats, weights: Floats, models: Sequence[str]) -> ModelFits:
    """Fit models to (splits, topics, systems, shards) tables without gaps, with (resamples, topics) weights."""
    n_splits, topics, systems, shards = tables.shape
    n = topics * systems * shards

    def sum_topics(values: Floats) -> Floats:
        """Sum (splits, topics, …) over the topics of each resample: (resamples, splits, …)."""
        flat = np.swapaxes(values, 0, 1).reshape(topics, -1)
        return np.asarray((weights @ flat).reshape(len(weights), n_splits, *values.shape[2:]))

    cell = sum_topics(tables) / topics
    means, shard_means = cell.mean(axis=3), cell.mean(axis=2)
    level = n * means.mean(axis=2) ** 2
    t_s, t_k = tables.mean(axis=3), tables.mean(axis=2)
    ss = {
        "t": systems * shards * sum_topics(t_s.mean(axis=2) ** 2) - level,
        "s": topics * shards * (means**2).sum(axis=2) - level,
        "k": topics * systems * (shard_means**2).sum(axis=2) - level,
    }
    ss["ts"] = shards * sum_topics((t_s**2).sum(axis=2)) - level - ss["t"] - ss["s"]
    ss["tk"] = systems * sum_topics((t_k**2).sum(axis=2)) - level - ss["t"] - ss["k"]
    ss["sk"] = topics * (cell**2).sum(axis=(2, 3)) - level - ss["s"] - ss["k"]
    total = sum_topics((tables**2).sum(axis=(2, 3))) - level
    for model in models:
        left = total - sum(ss[term] for term in TERMS[model].split())
        ss[model] = np.maximum(left, 1e-14 * total)
    return ModelFits(means, ss, (topics, systems, shards))


def measure_sem(tables: Floats, weights: Floats, alpha: float = 0.05) -> Floats:
    """Return the mean width of the intervals of each system's own scores (F19 eq. 4), (resamples, splits)."""
    cells = tables.shape[1] * tables.shape[3]
    total, squares = (np.einsum("bt,jts->bjs", weights, values.sum(axis=3)) for values in (tables, tables**2))
    variance = np.maximum(squares - total**2 / cells, 0.0) / (cells - 1.0)
    critical = float(student_critical(alpha, cells - 1.0))
    return np.asarray(2.0 * critical * np.sqrt(variance / cells).mean(axis=2))


@lru_cache(maxsize=64)
def _list_critical(rule: Rule, pairs: int, df: int) -> Floats:
    """Return the critical ratio of the largest, the second largest … pair, in ascending order (Benjamini-Hochberg)."""
    level = rule.alpha * np.arange(pairs, 0, -1) / pairs
    if rule.kind == "t":
        return student_critical(level, float(df))
    return np.asarray(-special.ndtri(level / rule.tails))


def find_cuts(fits: ModelFits, rules: Sequence[tuple[str, Rule]]) -> tuple[Counts, Counts]:
    """Return how many pairs each model and rule finds, and the least difference found: (resamples, splits) each."""
    a, b = np.triu_indices(fits.shape[1], 1)
    lead = fits.means.shape[:2]
    counts = {key: np.zeros(lead) for key in rules}
    cuts = {key: np.full(lead, np.inf) for key in rules}
    scales = {key: fits.find_difference(*key) for key in rules}
    for place in np.ndindex(lead):
        means = fits.means[place]
        sizes = np.sort(np.abs(means[a] - means[b]))
        for key in rules:
            model, rule = key
            if rule.kind == "hsd":
                first = int(np.searchsorted(sizes, scales[key][place]))
            else:
                beyond = sizes >= scales[key][place] * _list_critical(rule, a.size, fits.count_df(model))
                first = int(np.argmax(beyond)) if beyond.any() else a.size
            if first < a.size and sizes[first] > 0.0:
                counts[key][place] = a.size - first
                cuts[key][place] = sizes[first]
    return counts, cuts


def read_signs(means: Floats, cuts: Floats) -> Floats:
    """Return 1, -1 or 0 for each pair of (…, systems) means: better, worse, or not at least the cut apart."""
    a, b = np.triu_indices(means.shape[-1], 1)
    difference = means[..., a] - means[..., b]
    return np.where(np.abs(difference) >= cuts[..., None], np.sign(difference), 0.0).astype(np.float32)


def compare_splits(fits: ModelFits, cuts: Floats) -> Mapping[str, Floats]:
    """Return how far each split agrees with the others, averaged over these: PAA, PPA, PD and AD (FF21 §5.2)."""
    lead = fits.means.shape[:2]
    measures = {name: np.full(lead, np.nan) for name in ("PAA", "PPA", "PD", "AD")}
    if lead[1] < 2:
        return measures
    others = ~np.eye(lead[1], dtype=bool)
    for draw in range(lead[0]):
        signs = read_signs(fits.means[draw], cuts[draw])
        active = np.abs(signs)
        both, net, counts = active @ active.T, signs @ signs.T, active.sum(axis=1)
        agree, oppose = (both + net) / 2.0, (both - net) / 2.0
        exclusive = counts[:, None] + counts[None] - 2.0 * both
        neither = signs.shape[1] - counts[:, None] - counts[None] + both
        with np.errstate(invalid="ignore"):
            shares = {
                "PAA": 2.0 * agree / (2.0 * agree + exclusive),
                "PPA": 2.0 * neither / (2.0 * neither + exclusive),
            }
        for name, values in {**shares, "PD": exclusive, "AD": oppose}.items():
            known = np.isfinite(values) & others
            total = np.where(known, values, 0.0).sum(axis=1)
            measures[name][draw] = np.where(
                known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan
            )
    return measures


def correlate_ranks(means: Floats, reference: Floats) -> Floats:
    """Return Kendall's τ-b of (resamples, splits, systems) means with (resamples, systems) means."""
    a, b = np.triu_indices(means.shape[-1], 1)
    whole = np.sign(reference[:, a] - reference[:, b])
    tau = np.empty(means.shape[:2])
    for draw, signs in enumerate(whole):
        own = np.sign(means[draw][:, a] - means[draw][:, b])
        tau[draw] = own @ signs / np.sqrt(np.maximum(np.abs(own).sum(axis=1) * np.abs(signs).sum(), 1.0))
    return tau
