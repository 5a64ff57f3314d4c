"""A way of deciding which systems differ: a fit, a correction and a claim, under a name made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import xarray as xr

from shardwise.comparing import over_splits
from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.comparing.decisions import JOINT, Decisions, decide, outcome_of
from shardwise.core.arguments import whole
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim, plural
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import (
    complete,
    in_canonical_order,
    layout_of,
    level_names,
    missing_cells,
    nouns_of,
)
from shardwise.io.instances import DETERMINISTIC
from shardwise.methods.base import Estimates, Outcome, Settled
from shardwise.methods.clusters import CLUSTER, DF, SCALE, TASK, WORDS, by_units
from shardwise.methods.judges.method import HUMAN, ByJudge
from shardwise.methods.moderated.method import ByModerated
from shardwise.methods.paired.method import ByTopics
from shardwise.methods.repeats.method import UNIFIED, unified_posterior
from shardwise.methods.splits import averaged, stacked
from shardwise.methods.tables import SHARDS, SPLITS, TABLE, Dims, Tables
from shardwise.procedures.single import single
from shardwise.stats import combining
from shardwise.stats.corrections import SIMULTANEOUS, STEPWISE, promise, title

RULES = {
    "mean": "mean over all splits",
    "first": "the first split alone",
    "unanimous": "different only if all splits say so",
    "majority": "different if most splits say so",
    "harmonic": "harmonic mean of the p-values of all splits",
    "cauchy": "Cauchy combination of the p-values of all splits",
    "quantile": "smallest corrected quantile of the p-values of all splits",
}
COMBINED = {
    "harmonic": combining.harmonic_mean_p,
    "cauchy": combining.cauchy_p,
    "quantile": combining.quantile_p,
}
PUBLIC_RESAMPLES = 10_000  # of a test that draws, for one table; a laboratory takes fewer
MODERATED_RESAMPLES = ((150, 9_999), (math.inf, 1_999))  # up to so many systems, so many


def usual_resamples(fit: Fit, systems: int) -> int:
    """Resamples of a test that draws, for one table, where no number was asked for."""
    if isinstance(fit, ByModerated):
        return next(draws for most, draws in MODERATED_RESAMPLES if systems <= most)
    return PUBLIC_RESAMPLES


class Fit(Protocol):
    """What turns tables into estimates, and what may follow."""

    @property
    def name(self) -> str:
        """What a user types."""

    @property
    def title(self) -> str:
        """The fit in words."""

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts of tables that it can take."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims that it can speak for."""

    @property
    def usual_claim(self) -> Claim:
        """The claim that is meant where none is named."""

    @property
    def corrections(self) -> tuple[str, ...]:
        """The corrections that can follow; an empty one for tests corrected by construction."""

    @property
    def sound(self) -> bool:
        """Whether in theory it tests a difference at its level; if not, holding it is luck."""

    @property
    def takes_gaps(self) -> bool:
        """Whether scores may be missing."""

    def source(self, correction: str, claim: Claim) -> str:
        """The paper that uses it, if one does."""

    def estimates(self, tables: Tables, claim: Claim) -> Estimates:
        """Means of the systems of many tables, with what differences are measured against."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way of deciding all pairs of systems, and what it promises.

    What the laboratory calibrates, ``compare`` runs, the docs recommend and the report names is this object, and all
    of them run `decide`.

    Parameters
    ----------
    fit
        What turns tables into estimates.
    correction
        Name of the correction; empty for tests corrected by construction.
    claim
        What a difference is about.
    rule
        How several splits become one conclusion; empty for tables of one split.
    """

    fit: Fit
    correction: str
    claim: Claim
    rule: str = ""

    @property
    def name(self) -> str:
        """What a user types: ``MD6 hsd topic+shard``, ``t holm``, ``max-t``."""
        claim = self.claim.name if self.claim != self.fit.usual_claim else ""
        return " ".join(part for part in (self.rule, self.fit.name, self.correction, claim) if part)

    @property
    def title(self) -> str:
        """The procedure in words."""
        words = self.fit.title
        if self.correction in SIMULTANEOUS:
            words += f", {title(self.correction)}"
        elif self.correction not in (JOINT, "none"):
            words += f" with {title(self.correction)}"
        elif self.correction == "none" and JOINT in self.fit.corrections:
            words += ", each pair by itself"
        if self.claim != self.fit.usual_claim:
            words += f", for {self.claim.phrase()}"
        return f"{RULES[self.rule]}: {words}" if self.rule else words

    @property
    def dims(self) -> tuple[Dims, ...]:
        """The layouts that it can take."""
        return (SPLITS,) if self.rule else self.fit.layouts

    @property
    def takes(self) -> str:
        """The layouts that it can take, in words."""
        return " or ".join(" × ".join(plural(dim) for dim in layout) for layout in self.dims)

    @property
    def promise(self) -> str:
        """The error rate that it promises to hold at alpha: "family", "discovery" or "pair"."""
        return "family" if self.correction == JOINT else promise(self.correction)

    @property
    def source(self) -> str:
        """The paper that uses it, if one does."""
        if self.rule:
            return "V17" if self.rule == "unanimous" else ""
        return self.fit.source(self.correction, self.claim)

    @property
    def sound(self) -> bool:
        """Whether in theory it tests a difference at its level."""
        return self.fit.sound

    @property
    def on_one_split(self) -> Procedure:
        """The same for a single split."""
        return replace(self, rule="")

    def __str__(self) -> str:
        return self.name

    def estimates(self, tables: Tables) -> Estimates:
        """Estimates of many tables for the claim, made once for all corrections.

        Parameters
        ----------
        tables
            Tables of a layout that the procedure can take.
        """
        if self.rule == "mean":
            return tables.once(("mean", self.fit, self.claim), lambda: self._mean(tables))
        return tables.once(
            ("estimates", self.fit, self.claim), lambda: self.fit.estimates(tables, self.claim)
        )

    def _mean(self, tables: Tables) -> Estimates:
        """Estimates of every split averaged; splits with gaps are fitted one by one."""
        inner, each = self.on_one_split, tables.each_split()
        splits = tables.shape["split"]
        if tables.complete or isinstance(inner.fit, ByModerated):  # which takes tables with gaps together
            return averaged(inner.estimates(each), splits)
        single_splits = [replace(each, y=y[None], keyed=False, _kept={}) for y in each.y]
        return averaged(stacked([inner.estimates(one) for one in single_splits]), splits)

    def decide(self, tables: Tables, baselines: Sequence[int] = ()) -> Decisions:
        """Decide all pairs of many tables, or those with baselines alone; ``compare`` has a batch of one.

        Parameters
        ----------
        tables
            Tables of a layout that the procedure can take.
        baselines
            Places of systems with which all others are compared; nothing is said of the other pairs (NaN).
        """
        if tables.dims not in self.dims:
            raise InputError(
                f"{self.name} cannot take {' × '.join(tables.dims)}",
                remedy=f"it takes {' or '.join(' × '.join(layout) for layout in self.dims)}",
            )
        if self.rule not in ("", "mean"):
            return self._over_splits(tables)
        if baselines or self.correction == "dunnett":
            return self._against(tables, baselines or (0,))
        return decide(self.estimates(tables), self.correction, *tables.pairs, self._outcome(tables))

    def _outcome(self, tables: Tables) -> Outcome:
        """What the tests say of all pairs before any correction."""
        return tables.once(
            ("outcome", self.fit, self.claim), lambda: outcome_of(self.estimates(tables), *tables.pairs)
        )

    def _against(self, tables: Tables, baselines: Sequence[int]) -> Decisions:
        """Compare all systems with baselines; nothing is said of the other pairs (NaN)."""
        ia, ib = tables.pairs
        asked = np.isin(ia, baselines) | np.isin(ib, baselines)
        some = decide(self.estimates(tables), self.correction, ia[asked], ib[asked])

        def spread(values: Floats) -> Floats:
            out = np.full((*some.p.shape[:-1], ia.size), np.nan)
            out[..., asked] = values
            return out

        adjusted, found = spread(some.p_adjusted), some.outcome
        outcome = Outcome(
            spread(found.difference),
            spread(found.se),
            spread(found.df),
            spread(found.statistic),
            spread(found.p),
            Settled(adjusted, lambda alpha: spread(some.half_widths(alpha))),
        )
        return Decisions(outcome, adjusted, JOINT, some.systems, None)

    def _over_splits(self, tables: Tables) -> Decisions:
        """One conclusion from several splits of the documents (V17 §5).

        A split that has a pair the other way round than the mean of all is no evidence at all: its p-values count as 1.
        """
        inner = self.on_one_split
        if self.rule == "first":
            one = tables.once(
                "first split",
                lambda: replace(tables, y=np.ascontiguousarray(tables.y[:, 0]), dims=SHARDS, _kept={}),
            )
            return inner.decide(one)
        if self.rule in COMBINED:
            inner = replace(inner, correction="none")
        each = tables.each_split()
        found = tables.once(("splits", inner), lambda: inner.decide(each))
        shape = (len(tables), tables.y.shape[1], -1)
        d, p, p_adjusted = (
            x.reshape(shape).swapaxes(0, 1) for x in (found.difference, found.p, found.p_adjusted)
        )
        mean = d.mean(axis=0)
        agrees = np.where(mean >= 0.0, d >= 0.0, d < 0.0)
        p, p_adjusted = combining.directed(p, agrees), combining.directed(p_adjusted, agrees)
        nothing = np.full(mean.shape, np.nan)
        if self.rule in COMBINED:
            outcome = Outcome(mean, nothing, nothing, nothing, COMBINED[self.rule](p))
            return decide_by_p(outcome, self.correction, tables.systems)
        needed = len(p) if self.rule == "unanimous" else len(p) // 2 + 1
        outcome = Outcome(mean, nothing, nothing, nothing, combining.agreed_p(p, needed))
        return Decisions(
            outcome, combining.agreed_p(p_adjusted, needed), self.correction, tables.systems, None
        )

    def tables_of(self, scores: xr.DataArray, *, n_resamples: int | None = None, seed: int = 0) -> Tables:
        """A batch of one out of scores that passed the gate.

        Parameters
        ----------
        scores
            Labelled scores of a layout that the procedure can take.
        n_resamples
            Resamples of tests that draw; 10,000 without it, for the moderated test 9,999 up to 150 systems and 1,999
            beyond.
        seed
            Seed of tests that draw.
        """
        dims = layout_of(scores)
        if dims not in self.dims:
            raise InputError(
                f"{self.name} cannot take scores by {', '.join(dims)}",
                remedy=f"it takes {self.takes}",
                argument="method",
                value=self.name,
            )
        flags: tuple[bool, ...] = ()
        if DETERMINISTIC in scores.coords:
            flags = tuple(bool(flag) for flag in np.atleast_1d(scores[DETERMINISTIC].to_numpy()))
        gaps = not self.fit.takes_gaps and bool(scores.isnull().any())
        if self.fit.takes_gaps or (gaps and self.leaves_out_gaps(scores)):
            y = np.asarray(in_canonical_order(scores).to_numpy(), dtype=float)
        else:
            if gaps:
                self._check_gaps(scores)
            y = complete(scores, least={"system": 1} | {d: 1 for d in dims if d not in TABLE})
        options: dict[str, Any] = {"deterministic": flags} if any(flags) else {}
        if DF in scores.attrs:
            self._check_units()
            options["unit_df"] = float(scores.attrs[DF])
        if HUMAN in scores.coords:
            options["human"] = self._human(scores)
            for name in (CLUSTER, TASK):
                if name in scores.coords:
                    options[name] = np.unique(scores[name].values.astype(str), return_inverse=True)[1]
        return self.batch_of_one(y, dims, n_resamples=n_resamples, seed=seed, **options)

    def batch_of_one(
        self, y: Floats, dims: Dims, *, n_resamples: int | None = None, seed: int = 0, **options: Any
    ) -> Tables:
        """A batch of one out of an array of a layout that the procedure can take.

        Parameters
        ----------
        y
            Scores, an axis a dimension.
        dims
            Names of the axes.
        n_resamples
            Resamples of tests that draw; as many as is usual for the test without it.
        seed
            Seed of tests that draw.
        options
            What else there is to know of the scores, as fields of `Tables`.
        """
        draws = (
            usual_resamples(self.fit, y.shape[dims.index("system")]) if n_resamples is None else n_resamples
        )
        return Tables.one(y, dims, seed=whole(seed, "seed", least=0), n_resamples=draws, **options)

    def leaves_out_gaps(self, scores: xr.DataArray) -> bool:
        """Whether it can leave out what these scores lack; on shards the moderated test can, if all systems lack it.

        Parameters
        ----------
        scores
            Labelled scores that passed the gate.
        """
        if self.fit.takes_gaps or not scores.isnull().any():
            return True
        return isinstance(self.fit, ByModerated) and not missing_cells(scores).any()

    def _check_gaps(self, scores: xr.DataArray) -> None:
        """Refuse cells that only some systems lack, and say what can leave them out."""
        if isinstance(self.fit, ByModerated):
            gaps = int(missing_cells(scores).sum())
            raise InputError(
                f"{gaps} scores are missing for some systems only; {self.name} leaves out only what all systems lack",
                remedy=(
                    "drop those topics or systems, or use ",
                    Option("method", " ".join(("MD6 holm", *filter(None, ["+".join(self.claim.over)])))),
                    ", which leaves out any score",
                ),
                argument="scores",
            )

    def _human(self, scores: xr.DataArray) -> Floats:
        """Scores by people as a batch of one; refused where a test would look at the judge alone."""
        if not isinstance(self.fit, ByJudge):
            raise InputError(
                f"{self.name} looks at the judge alone",
                remedy="use 'ppi holm', or leave out the scores by people",
                argument="method",
                value=self.name,
            )
        return np.asarray(scores[HUMAN].transpose(*TABLE).to_numpy(), dtype=float)[None]

    def _check_units(self) -> None:
        """Refuse tests of single items where units that are more than items are the sample."""
        if isinstance(self.fit, ByTopics) and (not self.fit.sound or self.fit.name == "mcnemar"):
            raise InputError(
                f"{self.name} looks at single items, which clusters and tasks make unequal",
                remedy="use 'moderated' or 't holm', which look at means",
                argument="method",
                value=self.name,
            )

    def run(
        self,
        scores: xr.DataArray,
        *,
        only: Any = None,
        baseline: str | Sequence[str] | None = None,
        n_resamples: int | None = None,
        seed: int = 0,
        directed: bool = False,
    ) -> Comparisons:
        """Compare the systems of one table of scores that passed the gate.

        Parameters
        ----------
        scores
            Labelled scores of a layout that the procedure can take.
        only
            Systems, or pairs of systems, to which the comparison is confined.
        baseline
            A system, or several, with which all others are compared.
        n_resamples
            Resamples of tests that draw; 10,000 without it, for the moderated test 9,999 up to 150 systems and 1,999
            beyond.
        seed
            Seed of tests that draw.
        directed
            Whether the pairs of ``only`` keep their direction, whichever system is better.
        """
        if self.rule not in ("", "mean"):
            run = {"only": only, "baseline": baseline, "n_resamples": n_resamples, "seed": seed}
            return self._combined(scores, {**run, "directed": directed})
        scores, _ = by_units(scores)
        return self.conclude(
            self.tables_of(scores, n_resamples=n_resamples, seed=seed),
            level_names(scores, "system"),
            nouns_of(scores),
            beside=scores.attrs.get(WORDS, ""),
            scale=scores.attrs.get(SCALE),
            only=only,
            baseline=baseline,
            directed=directed,
        )

    def conclude(
        self,
        tables: Tables,
        labels: tuple[str, ...],
        nouns: Mapping[str, str] | None = None,
        *,
        beside: str = "",
        scale: float | None = None,
        only: Any = None,
        baseline: str | Sequence[str] | None = None,
        directed: bool = False,
    ) -> Comparisons:
        """Compare the systems of a batch of one.

        Parameters
        ----------
        tables
            One table of a layout that the procedure can take.
        labels
            Names of the systems.
        nouns
            The user's words for the dimensions.
        beside
            What the claim says of topics beside their number.
        scale
            What effect sizes are measured by, where the fit is not to say it.
        only
            Systems, or pairs of systems, to which the comparison is confined.
        baseline
            A system, or several, with which all others are compared.
        directed
            Whether the pairs of ``only`` keep their direction, whichever system is better.
        """
        words = dict(nouns or {})
        found = single(self.estimates(tables))
        estimates = replace(
            found,
            labels=labels,
            claim=self._sentence(tables, words, beside),
            over=self.claim,
            nouns=words,
            posterior=unified_posterior(tables, labels) if self._varies_by_seed else None,
            scale=found.scale if scale is None else scale,
        )
        return compare_estimates(
            estimates,
            self.correction,
            only=only,
            baseline=baseline,
            title=self.title,
            procedure=self.name,
            directed=directed,
        )

    @property
    def _varies_by_seed(self) -> bool:
        """Whether the variance of a difference is that of the unified test, which has a posterior law."""
        of_seeds = isinstance(self.fit, ByModerated) and not self.fit.samples and "instance" in self.claim
        return self.fit == UNIFIED or of_seeds

    def _sentence(self, tables: Tables, nouns: dict[str, str], beside: str) -> str:
        """The claim in words; where splits are averaged, it is about no split and no shards of one."""
        sizes = seen(tables)
        splits = sizes.pop("split", None)
        if splits is not None and "shard" not in self.claim:
            del sizes["shard"]
        said = self.claim.sentence(sizes, nouns, beside=beside)
        return said if splits is None else f"{said}, whatever the split ({splits} seen)"

    def _combined(self, scores: xr.DataArray, run: dict[str, Any]) -> Comparisons:
        """One conclusion from the comparisons of every split."""
        if layout_of(scores) not in self.dims:
            raise InputError(
                f"{self.name} combines splits, and the scores have none",
                remedy="score with several, or leave out its first word",
                argument="method",
                value=self.name,
            )
        inner = replace(self.on_one_split, correction="none") if self.rule in COMBINED else self.on_one_split
        total = 1 if self.rule == "first" else scores.sizes["split"]
        each = [inner.run(scores.isel(split=i, drop=True), **run) for i in range(total)]
        if self.rule in COMBINED:
            found = over_splits.combined_p(each, self.rule, self.correction)  # type: ignore[arg-type]
        else:
            found = {"unanimous": over_splits.unanimous, "majority": over_splits.majority}.get(
                self.rule, lambda one: one[0]
            )(each)
        over_topics = scores.mean([d for d in scores.dims if d not in TABLE]).sel(
            system=list(found.estimates.labels)
        )
        spread = over_topics.std("topic", ddof=1).to_numpy()
        count = np.full(spread.shape, float(scores.sizes["topic"]))
        estimates = replace(found.estimates, own_sd=spread, own_count=count)
        return replace(found, estimates=estimates, procedure=self.name)


def seen(tables: Tables) -> dict[str, int | tuple[int, int]]:
    """Sizes of the dimensions that a claim speaks of; what a test averages out is not spoken of."""
    sizes: dict[str, int | tuple[int, int]] = dict(tables.shape)
    if "instance" in sizes:
        there = np.isfinite(tables.y[0]).any(axis=0).sum(axis=-1)
        random = there[~np.array(tables.deterministic)] if any(tables.deterministic) else there
        sizes["instance"] = (int(random.min()), int(random.max())) if random.size else 1
    return sizes


def decide_by_p(outcome: Outcome, correction: str, systems: int) -> Decisions:
    """Correct p-values that have neither a t nor a law."""
    return Decisions(outcome, STEPWISE[correction].adjust(outcome.p), correction, systems, None)
