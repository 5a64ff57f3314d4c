"""Samples decided and verified in batches, and tables made of what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from shardwise.core.arrays import Floats
from shardwise.lab.holdout.counts import (
    bin_reversals,
    check_outlook,
    compute_rates,
    count_outcomes,
    decide_signs,
)
from shardwise.lab.holdout.distributions import REPLICATES, Basis, basis_of, predict_differences
from shardwise.methods.decisions import Decisions
from shardwise.methods.procedure import Procedure
from shardwise.methods.tables import Tables
from shardwise.stats.student import NOISE

EDGES = np.array(
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
)  # predicted probabilities; more than half is none
OTHER = 1 << 31  # second samples count from here in the random streams


@dataclass(frozen=True, slots=True, eq=False)
class HoldoutTally:
    """Counts of a number of repeats."""

    counts: tuple[dict[str, Floats], ...]  # one a procedure, each (repeats,)
    bins: dict[Basis, Floats]  # (repeats, bins, 3)
    samples: int  # decided in a repeat

    def __add__(self, other: HoldoutTally) -> HoldoutTally:
        """The same repeats, with further samples."""
        both = zip(self.counts, other.counts, strict=True)
        return HoldoutTally(
            tuple({name: c[name] + d[name] for name in c} for c, d in both),
            {basis: self.bins[basis] + other.bins[basis] for basis in self.bins},
            self.samples + other.samples,
        )

    def append_repeats(self, later: HoldoutTally) -> HoldoutTally:
        """Append other repeats to these."""
        both = zip(self.counts, later.counts, strict=True)
        return HoldoutTally(
            tuple({name: np.concatenate([c[name], d[name]]) for name in c} for c, d in both),
            {basis: np.concatenate([self.bins[basis], later.bins[basis]]) for basis in self.bins},
            self.samples,
        )


@dataclass(frozen=True, slots=True, eq=False)
class HoldoutPlan:
    """What is decided how, and what is new in the sample on which it is verified."""

    dims: tuple[str, ...]
    procedures: tuple[Procedure, ...]
    new: frozenset[str]  # of "topic", "shard"
    alpha: float
    level: float
    seed: int
    reference: int | None = None  # place of the procedure whose finds are not extra

    def list_bases(self) -> list[Basis]:
        """List what each procedure's prediction rests on."""
        return [basis_of(_model_name(p), self.dims, p.claim.over, self.new) for p in self.procedures]

    def both_ways(self, a: Floats, b: Floats, first: int) -> tuple[HoldoutTally, HoldoutTally]:
        """Decide on each of two batches of samples and verify on the other; repeats are numbered from ``first``."""
        on_a = self._decide_tables(Tables(a, self.dims, self.seed, first))
        on_b = self._decide_tables(Tables(b, self.dims, self.seed, OTHER + first))
        return self._verify_decisions(a, b, on_a, on_b), self._verify_decisions(b, a, on_b, on_a)

    def _decide_tables(self, tables: Tables) -> list[Decisions]:
        return [procedure.decide(tables) for procedure in self.procedures]

    def _verify_decisions(
        self, here: Floats, other: Floats, decided: Sequence[Decisions], checked: Sequence[Decisions]
    ) -> HoldoutTally:
        before, after = self._mean_differences(here), self._mean_differences(other)
        sizes, other_sizes = self._sample_sizes(here), self._sample_sizes(other)
        bases = self.list_bases()
        seen = {
            basis: check_outlook(
                predict_differences(here, self.dims, basis, sizes, other_sizes), before, after, self.level
            )
            for basis in dict.fromkeys(bases)
        }
        here_signs, there_signs = (
            [decide_signs(d.difference, d.p_adjusted, self.alpha) for d in made]
            for made in (decided, checked)
        )
        strict = None if self.reference is None else here_signs[self.reference]
        counted = tuple(
            count_outcomes(d, c, after, seen[basis], strict)
            for basis, d, c in zip(bases, here_signs, there_signs, strict=True)
        )
        return HoldoutTally(
            counted, {basis: bin_reversals(outlook, EDGES) for basis, outlook in seen.items()}, 1
        )

    def _mean_differences(self, y: Floats) -> Floats:
        """Return (B, P) differences of system means, those of mere rounding set to 0."""
        others = tuple(1 + k for k, name in enumerate(self.dims) if name != "system")
        means = y.mean(axis=others)
        a, b = np.triu_indices(means.shape[1], 1)
        difference = means[:, a] - means[:, b]
        return np.where(np.abs(difference) <= NOISE * np.abs(y).max(), 0.0, difference)

    def _sample_sizes(self, y: Floats) -> tuple[int, int]:
        topics = y.shape[1 + self.dims.index("topic")]
        return topics, y.shape[-1] if self.dims[-1] in REPLICATES else 1


def _model_name(procedure: Procedure) -> str:
    """The name of the model whose error is pooled over all systems, empty where each pair has its own."""
    method = procedure.method
    if method.model is not None:
        return str(method.model.name)
    return "joint" if method.common_error and not procedure.draws else ""


def join_repeats(parts: Sequence[HoldoutTally]) -> HoldoutTally:
    """Join all repeats in one tally."""
    return reduce(HoldoutTally.append_repeats, parts)


def build_tables(
    plan: HoldoutPlan, tallies: dict[str, HoldoutTally]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Build tables of figures by procedure, predicted against observed reversals, and figures by repeat.

    ``tallies`` are by the sample decided on; the name "" stands for either, and makes no column.
    """
    rows: list[dict[str, Any]] = []
    single: list[pd.DataFrame] = []
    for k, (procedure, basis) in enumerate(zip(plan.procedures, plan.list_bases(), strict=True)):
        for sample, tally in tallies.items():
            head = {"procedure": procedure.name} | ({"decided_on": sample} if sample else {})
            c = tally.counts[k]
            repeats = len(c["found"])
            total = {name: np.asarray(values.sum()) for name, values in c.items()}
            rates = {name: float(v) for name, v in compute_rates(total, tally.samples * repeats).items()}
            rows.append(head | rates | {"prediction": basis.words, "title": procedure.title})
            each = pd.DataFrame(compute_rates(c, tally.samples)).assign(repeat=np.arange(repeats), **head)
            single.append(each[[*head, "repeat", *rates]])
    keys = ["procedure"] if "" in tallies else ["procedure", "decided_on"]
    table, each_repeat = pd.DataFrame(rows).set_index(keys), pd.concat(single, ignore_index=True)
    if plan.reference is None:
        unasked = ["extra", "extra_reversal"]
        table, each_repeat = table.drop(columns=unasked), each_repeat.drop(columns=unasked)
    return table, _reversal_curve(tallies), each_repeat


def _reversal_curve(tallies: dict[str, HoldoutTally]) -> pd.DataFrame:
    rows = []
    for sample, tally in tallies.items():
        for basis, bins in tally.bins.items():
            repeats = len(bins)
            for k in range(len(EDGES) - 1):
                pairs, predicted, observed = bins[:, k].sum(axis=0)
                if not pairs:
                    continue
                filled = bins[bins[:, k, 0] > 0, k]
                shares = filled[:, 2] / filled[:, 0]
                rows.append(
                    {"prediction": basis.words}
                    | ({"decided_on": sample} if sample else {})
                    | {
                        "low": EDGES[k],
                        "high": EDGES[k + 1],
                        "pairs": pairs / (tally.samples * repeats),
                        "predicted": predicted / pairs,
                        "observed": observed / pairs,
                        "spread": float(shares.std(ddof=1)) if len(shares) > 1 else float("nan"),
                    }
                )
    return pd.DataFrame(rows)
