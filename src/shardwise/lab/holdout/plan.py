"""Samples decided and verified in batches, what became of the pairs, and tables made of what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shardwise.core.arrays import Bools, Floats
from shardwise.lab.error_counts import Figures, join_figures
from shardwise.lab.holdout.distributions import REPLICATES, Basis, Prediction, basis_of, predict_differences
from shardwise.lab.trial import decide_tables
from shardwise.methods.names import Procedure
from shardwise.stats.student import NOISE

Signs = npt.NDArray[np.int8]

FIGURES = (
    "found",
    "found_share",
    "agreement",
    "found_again",
    "reversal",
    "significant_reversal",
    "predicted_reversal",
    "coverage",
    "coverage_found",
    "brier",
    "extra",
    "extra_reversal",
)
EDGES = np.array(
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
)  # predicted probabilities; more than half is none
OTHER = 1 << 31  # second samples count from here in the random streams


Tally = dict[int | Basis, Figures]
"""Counts of a number of repeats: of each procedure by its number, and (repeats, bins, 3) reversals of each basis."""


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What was predicted of every pair, and what came: (B, P) each."""

    reversal: Floats  # predicted probability of the opposite order
    inside: Bools  # the difference there lies in the prediction interval
    ordered: Bools  # the means here differ, so there is an order to reverse
    reversed: Bools  # the means there are in the opposite order


def check_outlook(distribution: Prediction, here: Floats, other: Floats, level: float) -> Outlook:
    """Hold the predicted differences against those that came."""
    return Outlook(
        reversal=distribution.reversal_probability(here),
        inside=distribution.covers_difference(here, other, level),
        ordered=here != 0.0,
        reversed=here * other < 0.0,
    )


def count_outcomes(
    decided: Signs, checked: Signs, other: Floats, seen: Outlook, strict: Signs | None = None
) -> dict[str, Floats]:
    """Count, for each sample (B,), what became of the pairs ``decided`` on it; ``checked`` are those of the other.

    ``strict`` are another procedure's decisions on the same sample: pairs that it does not find are extra.
    """
    significant = decided != 0
    extra = significant & (strict == 0) if strict is not None else np.zeros_like(significant)
    columns = {
        "pairs": np.ones_like(significant),
        "found": significant,
        "alike": decided == checked,
        "again": significant & (decided == checked),
        "opposed": decided * checked < 0,
        "reversed": decided * other < 0.0,
        "expected": np.where(significant, seen.reversal, 0.0),
        "inside": seen.inside,
        "inside_found": seen.inside & significant,
        "ordered": seen.ordered,
        "extra": extra,
        "extra_reversed": extra & (decided * other < 0.0),
        "squared": np.where(seen.ordered, (seen.reversal - seen.reversed) ** 2, 0.0),
    }
    return {name: np.asarray(values.sum(axis=1), np.float64) for name, values in columns.items()}


def compute_rates(c: dict[str, Floats], samples: float) -> dict[str, Floats]:
    """Compute rates from sums of counts over that many samples; NaN where nothing was found."""
    return {
        "found": c["found"] / samples,
        "found_share": _divide_counts(c["found"], c["pairs"]),
        "agreement": _divide_counts(c["alike"], c["pairs"]),
        "found_again": _divide_counts(c["again"], c["found"]),
        "reversal": _divide_counts(c["reversed"], c["found"]),
        "significant_reversal": _divide_counts(c["opposed"], c["found"]),
        "predicted_reversal": _divide_counts(c["expected"], c["found"]),
        "coverage": _divide_counts(c["inside"], c["pairs"]),
        "coverage_found": _divide_counts(c["inside_found"], c["found"]),
        "brier": _divide_counts(c["squared"], c["ordered"]),
        "extra": c["extra"] / samples,
        "extra_reversal": _divide_counts(c["extra_reversed"], c["extra"]),
    }


def bin_reversals(seen: Outlook, edges: Floats) -> Floats:
    """Return (B, bins, 3): pairs with an order, their predicted reversals and those observed, by predicted chance."""
    bins = len(edges) - 1
    bin_index = np.clip(np.searchsorted(edges, seen.reversal, side="right") - 1, 0, bins - 1)
    out = np.zeros((len(bin_index), bins, 3))
    for i in range(len(bin_index)):
        kept = seen.ordered[i]
        for k, weight in enumerate((None, seen.reversal[i, kept], seen.reversed[i, kept])):
            out[i, :, k] = np.bincount(bin_index[i, kept], weight, bins)
    return out


def _divide_counts(part: Floats, whole: Floats) -> Floats:
    shares: Floats = np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
    return shares


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

    def both_ways(self, a: Floats, b: Floats, first: int) -> tuple[Tally, Tally]:
        """Decide on each of two batches of samples and verify on the other; repeats are numbered from ``first``."""
        on_a, on_b = (
            decide_tables(y, self.dims, self.procedures, seed=self.seed, first=number)
            for y, number in ((a, first), (b, OTHER + first))
        )
        return self._verify_decisions(a, b, on_a, on_b), self._verify_decisions(b, a, on_b, on_a)

    def _verify_decisions(
        self, here: Floats, other: Floats, decided: Sequence[Any], checked: Sequence[Any]
    ) -> Tally:
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
            [np.asarray(np.sign(d.difference) * (d.p_adjusted <= self.alpha), np.int8) for d in made]
            for made in (decided, checked)
        )
        strict = None if self.reference is None else here_signs[self.reference]
        tally: Tally = {
            k: count_outcomes(d, c, after, seen[basis], strict)
            for k, (basis, d, c) in enumerate(zip(bases, here_signs, there_signs, strict=True))
        }
        return tally | {basis: {"bins": bin_reversals(outlook, EDGES)} for basis, outlook in seen.items()}

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


def join_tallies(parts: Sequence[Tally]) -> Tally:
    """Join all repeats."""
    return {key: join_figures([part[key] for part in parts]) for key in parts[0]}


def add_tallies(one: Tally, other: Tally) -> Tally:
    """Return the same repeats with the samples of both."""
    return {
        key: {name: values + other[key][name] for name, values in figures.items()}
        for key, figures in one.items()
    }


def build_tables(
    plan: HoldoutPlan, tallies: dict[str, Tally], samples: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Build tables of figures by procedure, predicted against observed reversals, and figures by repeat.

    ``tallies`` of so many samples a repeat are by the sample decided on; the name "" stands for either, and makes no
    column.
    """
    rows: list[dict[str, Any]] = []
    single: list[pd.DataFrame] = []
    for k, (procedure, basis) in enumerate(zip(plan.procedures, plan.list_bases(), strict=True)):
        for sample, tally in tallies.items():
            head = {"procedure": procedure.name} | ({"decided_on": sample} if sample else {})
            c = tally[k]
            repeats = len(c["found"])
            total = {name: np.asarray(values.sum()) for name, values in c.items()}
            rates = {name: float(v) for name, v in compute_rates(total, samples * repeats).items()}
            rows.append(head | rates | {"prediction": basis.words, "title": procedure.title})
            each = pd.DataFrame(compute_rates(c, samples)).assign(repeat=np.arange(repeats), **head)
            single.append(each[[*head, "repeat", *rates]])
    keys = ["procedure"] if "" in tallies else ["procedure", "decided_on"]
    table, each_repeat = pd.DataFrame(rows).set_index(keys), pd.concat(single, ignore_index=True)
    if plan.reference is None:
        unasked = ["extra", "extra_reversal"]
        table, each_repeat = table.drop(columns=unasked), each_repeat.drop(columns=unasked)
    return table, _reversal_curve(plan, tallies, samples), each_repeat


def _reversal_curve(plan: HoldoutPlan, tallies: dict[str, Tally], samples: int) -> pd.DataFrame:
    """Tabulate predicted against observed reversals, one row for each kind of prediction and bin."""
    rows = []
    for sample, tally in tallies.items():
        for basis in dict.fromkeys(plan.list_bases()):
            bins = tally[basis]["bins"]
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
                        "pairs": pairs / (samples * repeats),
                        "predicted": predicted / pairs,
                        "observed": observed / pairs,
                        "spread": float(shares.std(ddof=1)) if len(shares) > 1 else float("nan"),
                    }
                )
    return pd.DataFrame(rows)
