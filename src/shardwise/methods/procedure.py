"""Define a procedure: a method, a correction and a claim, under a name made of them. It holds no mathematics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shardwise.core.arrays import Ints
from shardwise.core.claim import Claim, pluralize_noun
from shardwise.core.errors import InputError, Words
from shardwise.methods.method import Clause, Method
from shardwise.methods.pairs import JOINT, Means, Pairs
from shardwise.methods.splits import (
    COMBINED,
    RULES,
    average_splits,
    combine_pairs,
    pool_splits,
    stack_means,
    stack_pairs,
)
from shardwise.methods.tables import SHARDS, SPLITS, Dims, Tables
from shardwise.stats.corrections import CORRECTIONS, SIMULTANEOUS

AVERAGED = ("", "mean")
"""Rules over splits that average: all splits at once, or the estimates of each."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way of deciding all pairs of systems, with the error rate that it controls.

    The laboratory calibrates, ``compare`` runs, the docs recommend and the report names this object, and all of them
    run `decide`.

    Parameters
    ----------
    method : Method
        What turns tables into estimates.
    correction : str
        Name of the correction; empty for tests corrected by construction.
    claim : Claim
        What a difference is about.
    rule : str
        How several splits become one answer; empty for tables of one split, or methods that take all at once.
    """

    method: Method
    correction: str
    claim: Claim
    rule: str = ""

    @property
    def name(self) -> str:
        """What a user types: ``MD6 hsd topic+shard``, ``t holm``, ``max-t``."""
        claim = self.claim.name if self.claim != self.method.default_claim else ""
        correction = self.correction if len(self.method.corrections) > 1 else ""
        return " ".join(part for part in (self.rule, self.method.name, correction, claim) if part)

    @property
    def plain_title(self) -> str:
        """The procedure in words, without its claim."""
        words = self.method.title
        if self.correction in SIMULTANEOUS:
            words += f", {CORRECTIONS[self.correction].title}" if len(self.method.corrections) > 1 else ""
        elif self.correction not in (JOINT, "none"):
            words += f" with {CORRECTIONS[self.correction].title}"
        elif self.correction == "none" and JOINT in self.method.corrections:
            words += ", each pair by itself"
        return f"{RULES[self.rule].title}: {words}" if self.rule else words

    @property
    def title(self) -> str:
        """The procedure in words."""
        claim = f", for {self.claim.phrase()}" if self.claim != self.method.default_claim else ""
        return f"{self.plain_title}{claim}"

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts of tables that it takes."""
        return (SPLITS,) if self.rule else self.method.layouts_for(self.claim)

    @property
    def takes(self) -> str:
        """The layouts that it takes, in words."""
        return " or ".join(" × ".join(pluralize_noun(dim) for dim in layout) for layout in self.layouts)

    @property
    def error_rate(self) -> str:
        """The error rate that it controls at alpha: "family", "discovery" or "pair"."""
        return "family" if self.correction == JOINT else CORRECTIONS[self.correction].error_rate

    @property
    def source(self) -> str:
        """The tag of the paper that uses it, if one of the five does."""
        if self.rule:
            return "V17" if self.rule == "unanimous" else ""
        return self.method.source(self.correction, self.claim)

    @property
    def draws(self) -> bool:
        """Whether p-values come from resamples."""
        return self.method.draws(self.correction)

    @property
    def on_one_split(self) -> Procedure:
        """The same for a single split."""
        return replace(self, rule="")

    def __str__(self) -> str:
        return self.name

    def clause(self, systems: int) -> Clause:
        """Say what pairs of so many systems are compared with, before any correction for their number.

        Parameters
        ----------
        systems : int
            Number of systems.

        Returns
        -------
        Clause
        """
        return self.method.clause(self.correction, self.claim, systems)

    def estimate(self, tables: Tables) -> Means:
        """Estimate the means of many tables for the claim, made once for all corrections.

        Parameters
        ----------
        tables : Tables
            Tables of a layout that the procedure takes.

        Returns
        -------
        Means
            Arrays with one entry a table.
        """
        self._check_layout(tables)
        if self.rule == "first":
            return self.on_one_split.estimate(tables.first_split())
        if self.rule:
            return tables.once(
                (self.rule in AVERAGED, self.method, self.claim), lambda: self._estimate_splits(tables)
            )
        return tables.once(("estimates", self.method, self.claim), lambda: self._estimate_once(tables))

    def _estimate_once(self, tables: Tables) -> Means:
        """Means by the method, with the number of scores behind each mean."""
        method = self.method
        if method.needs_all:
            tables.require_complete(f"the {method.title}")
        estimates = method.means(tables, self.claim)
        if method.pairs is not None:
            estimates = replace(estimates, pairs=partial(method.pairs, tables, self.claim))
        if estimates.own_count is not None:
            return estimates
        over_topics = "topic" in self.claim
        y, axis = (tables.topic_means(), 2) if over_topics else (tables.y, 1 + tables.dims.index("system"))
        others = tuple(k for k in range(1, y.ndim) if k != axis)
        return replace(estimates, own_count=np.isfinite(y).sum(axis=others).astype(np.float64))

    def _estimate_splits(self, tables: Tables) -> Means:
        """Means of every split averaged, with their variance where the rule averages."""
        each, splits = tables.each_split(), tables.shape["split"]
        if each.complete or not self.method.fits_cells:
            estimates = self.on_one_split.estimate(each)
        else:
            # a model with gaps is fitted to one table at a time
            estimates = stack_means([self.on_one_split.estimate(table) for table in each.single_tables()])
        if self.rule in AVERAGED:
            return average_splits(estimates, splits)
        return pool_splits(estimates, splits, tables.topic_means())

    def decide(self, tables: Tables, pairs: tuple[Ints, Ints] | None = None) -> Pairs:
        """Decide pairs of systems of many tables; ``compare`` has a batch of one.

        Parameters
        ----------
        tables : Tables
            Tables of a layout that the procedure takes.
        pairs : tuple of arrays, optional
            Numbers of the first and of the second system of each pair; all pairs without it, or those of the first
            system where the correction is Dunnett's.

        Returns
        -------
        Pairs
            (B, P) figures of the pairs asked for, corrected.
        """
        self._check_layout(tables)
        if pairs is None and self.correction == "dunnett":
            pairs = np.zeros(tables.systems - 1, dtype=np.int64), np.arange(1, tables.systems)
        if self.rule == "first":
            return self.on_one_split.decide(tables.first_split(), pairs)
        if self.rule not in AVERAGED:
            return self._decide_splits(tables, pairs)
        estimates = self.estimate(tables)
        if pairs is None:
            key = ("pairs", self.rule, self.method, self.claim)
            tested = tables.once(key, lambda: estimates.test_pairs(*tables.pairs))
        else:
            tested = estimates.test_pairs(*pairs)
        return tested.correct(self.correction, *(pairs or tables.pairs), estimates.variance_of_differences)

    def _decide_splits(self, tables: Tables, pairs: tuple[Ints, Ints] | None) -> Pairs:
        """One decision on each pair out of those on every split."""
        combined = self.rule in COMBINED
        inner = replace(self.on_one_split, correction="none") if combined else self.on_one_split
        each = tables.each_split()

        def decide_each() -> Pairs:
            if each.complete or not self.method.fits_cells:
                return inner.decide(each, pairs)
            return stack_pairs([inner.decide(table, pairs) for table in each.single_tables()])

        asked = None if pairs is None else tuple(np.concatenate(pairs).tolist())
        each_pair = tables.once(("splits", inner, asked), decide_each)
        return combine_pairs(self.rule, each_pair, tables.shape["split"], self.correction)

    def _check_layout(self, tables: Tables) -> None:
        if tables.dims not in self.layouts:
            raise self.make_refusal(f"cannot take {' × '.join(tables.dims)}", f"it takes {self.takes}")

    def make_refusal(self, problem: str, remedy: Words) -> InputError:
        """Return the refusal of a method that does not fit: its name, what is wrong and what to do.

        Parameters
        ----------
        problem : str
            What is wrong, after the name of the procedure.
        remedy : str or tuple
            What to do about it.

        Returns
        -------
        InputError
            The refusal.
        """
        return InputError(f"{self.name} {problem}", remedy=remedy, argument="method", value=self.name)

    def for_layout(self, dims: Dims) -> Procedure:
        """Return the procedure for a layout: of several splits by their mean, or else by p-values, if made for one.

        Parameters
        ----------
        dims : tuple of str
            Dimensions of the scores.

        Returns
        -------
        Procedure
            The procedure itself where it takes the layout, or has no rule for it.
        """
        if dims != SPLITS or dims in self.layouts or SHARDS not in self.layouts:
            return self
        rules = self.method.split_rules(self.correction, self.claim)
        return replace(self, rule=next((rule for rule in ("mean", "quantile") if rule in rules), ""))
