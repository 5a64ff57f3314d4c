"""One conclusion from several splits of the documents, for many tables at once (V17 §5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from shardwise.comparing.over_splits import cauchy_p, harmonic_mean_p
from shardwise.core.arrays import Floats
from shardwise.core.model import MD1
from shardwise.numerics.corrections import title as method_title
from shardwise.procedures.anova import anova_procedures, claim_suffix, models
from shardwise.procedures.batch import (
    PROMISES,
    SHARDS,
    SPLITS,
    Batch,
    Decide,
    Decisions,
    Procedure,
    decide_on,
    procedure,
)
from shardwise.procedures.bootstrap import MODELS, READINGS, bootstrap_procedures
from shardwise.procedures.corrections import by_p

INSIDE = ("hsd", "bh", "holm")  # corrections within a split
AFTER = ("bh", "holm", "none")  # corrections of a combined p-value
COMBINE: dict[str, Callable[[Floats], Floats]] = {"harmonic": harmonic_mean_p, "cauchy": cauchy_p}
WORDS = {
    "unanimous": "different only if all splits say so",
    "majority": "different if most splits say so",
    "first": "the first split alone",
    "harmonic": "harmonic mean of the p-values of all splits",
    "cauchy": "Cauchy combination of the p-values of all splits",
}


def shards_of(batch: Batch) -> Batch:
    """Every split of every table as a table of its own."""
    return batch.once("splits", lambda: Batch(batch.y.reshape(-1, *batch.y.shape[2:]), SHARDS, batch.seed))


def first_of(batch: Batch) -> Batch:
    """The first split of every table."""
    return batch.once(
        "first", lambda: Batch(np.ascontiguousarray(batch.y[:, 0]), SHARDS, batch.seed, batch.first)
    )


def over_splits(batch: Batch, inner: Procedure, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Mean difference (B, P), and of each split p and corrected p (J, B, P) as evidence for the sign of that mean.

    A split that has the pair the other way round is no evidence at all: its p-values count as 1.
    """

    found = batch.once(("splits", inner.name, alpha), lambda: decide_on(inner, shards_of(batch), alpha))
    shape = (len(batch), batch.y.shape[1], -1)
    d, p, p_adjusted = (
        x.reshape(shape).swapaxes(0, 1) for x in (found.difference, found.p, found.p_adjusted)
    )
    mean = d.mean(axis=0)
    agrees = np.where(mean >= 0.0, d >= 0.0, d < 0.0)
    return mean, np.where(agrees, p, 1.0), np.where(agrees, p_adjusted, 1.0)


def agreed(batch: Batch, alpha: float, inner: Procedure, *, all_of_them: bool) -> Decisions:
    """Different if all splits, or more than half of them, say so and the same system is better (V17 Fig. 7)."""
    mean, p, p_adjusted = over_splits(batch, inner, alpha)
    needed = len(p) if all_of_them else len(p) // 2 + 1
    nothing = np.full(mean.shape, np.nan)
    ordered, ordered_adjusted = np.sort(p, axis=0), np.sort(p_adjusted, axis=0)
    return Decisions(mean, ordered[needed - 1], ordered_adjusted[needed - 1], nothing, nothing)


def combined(batch: Batch, alpha: float, inner: Procedure, how: str, method: str) -> Decisions:
    """Uncorrected p-values of all splits combined, then corrected over the pairs."""
    mean, p, _ = over_splits(batch, inner, alpha)
    return by_p(mean, COMBINE[how](p), method)


def split_procedures() -> list[Procedure]:
    """Every model, claim and correction within a split under each rule, and combined p-values of each model."""
    within = {one.name: one for one in (*anova_procedures(), *bootstrap_procedures())}
    patterns = [f"{model.name} {{}}{claim_suffix(claim)}" for model, claim, _ in models() if model != MD1]
    drawn = [f"banova {model.name} {name} {{}}" for model in MODELS if model != MD1 for name in READINGS]
    found = [
        _rule(rule, within[pattern.format(method)])
        for rule in ("unanimous", "majority", "first")
        for pattern in (*patterns, *drawn)
        for method in INSIDE
        if pattern.format(method) in within
    ]
    found += [
        _combination(how, method, pattern.format(method), within[pattern.format("none")])
        for how in COMBINE
        for pattern in (*patterns, *drawn)
        for method in AFTER
    ]
    return found


def _rule(rule: str, inner: Procedure) -> Procedure:
    decide: dict[str, Decide] = {
        "unanimous": partial(agreed, inner=inner, all_of_them=True),
        "majority": partial(agreed, inner=inner, all_of_them=False),
        "first": lambda batch, alpha: decide_on(inner, first_of(batch), alpha),
    }
    return procedure(
        f"{rule} {inner.name}",
        f"{WORDS[rule]}: {inner.title}",
        (SPLITS,),
        inner.generalize,
        inner.promise,
        "V17" if rule == "unanimous" else "",
        decide[rule],
        sound=inner.sound,
    )


def _combination(how: str, method: str, name: str, inner: Procedure) -> Procedure:
    return procedure(
        f"{how} {name}",
        f"{WORDS[how]}, {method_title(method)}: {inner.title}",
        (SPLITS,),
        inner.generalize,
        PROMISES[method],
        "",
        partial(combined, inner=inner, how=how, method=method),
        sound=inner.sound,
    )
