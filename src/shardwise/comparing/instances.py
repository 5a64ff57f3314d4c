"""Compare two systems of which one or both give another result each time (J15)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.comparing.run import batch_of_one, compare_tables, run_procedure
from shardwise.core.arguments import validate_choice, validate_count, validate_level
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.scores import DETERMINISTIC, direction_of
from shardwise.methods.method import TOPICS
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.mixed.posterior import posterior
from shardwise.methods.paired import statistics as paired
from shardwise.methods.registry import parse_procedure
from shardwise.methods.repeats.method import NOTE, SAMPLES, UNIFIED
from shardwise.methods.repeats.pairs import InstancePair, pair_of
from shardwise.methods.repeats.unified import KINDS
from shardwise.methods.tables import INSTANCES
from shardwise.stats.student import t_statistic, two_sided

METHODS = ("mixed", "bootstrap", "t-means", "t-single")
DESIGNS = ("unified", "paper", "nested", "crossed")
READINGS = ("averaged", "pooled", "per-instance")
MIXED_MODEL = (Either("method='mixed' with design='nested'", "--method 'repeats mixed nested'"),)
"""The comparison that leaves out what is missing."""


def compare_instances(
    a: Any,
    b: Any,
    method: str = "mixed",
    *,
    design: str = "unified",
    repeats: str = "seeds",
    df: str | None = None,
    reading: str | None = None,
    instance: Any = None,
    n_resamples: int | None = None,
    seed: int = 0,
) -> Comparisons:
    """Compare two systems of which one or both are non-deterministic; the difference is that of a less b.

    Parameters
    ----------
    a, b : object
        Scores with the dimensions instance and topic (or tables with a row a topic, a column an instance); one
        without instances is deterministic. The systems may have different numbers of instances.
    method : str
        "mixed" (see ``design``); "bootstrap" (see ``reading``); "t-means" and "t-single", the t-tests on topic means
        and on one ``instance`` that J15 warns of.
    design : str
        "unified" (the default: topics and each system's own instances, nothing assumed equal), "nested" or "crossed"
        (mixed model), or "paper" (J15: crossed with a deterministic system, else nested, and "observations less one"
        degrees of freedom).
    repeats : str
        What the instances are: "seeds", which move all topics together, or, for the unified design, "samples" drawn
        anew for each topic, whose spread the topic means hold already (J15 eq. 7).
    df : str, optional
        Degrees of freedom of a mixed model, as in ``MixedFit.estimates``.
    reading : str, optional
        Of J15 Algorithm 2: "averaged" resamples topics of the averaged differences; "pooled", taken with
        ``design="paper"``, holds their t against resamples of every instance; "per-instance" holds each instance's own
        t against them. Between deterministic systems it is Algorithm 1.
    instance : object
        The instance that "t-single" takes; the first unless named.
    n_resamples : int, optional
        Resamples of the bootstrap.
    seed : int
        Seed of the bootstrap.

    Returns
    -------
    Comparisons
        The pair, with its p-value and interval.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> topics = rng.normal(0.4, 0.2, 50)
    >>> y = topics + rng.normal(0, 0.1, 50) + rng.normal(0.06, 0.08, (5, 50))
    >>> dense = xr.DataArray(y, dims=("instance", "topic"), name="dense")
    >>> bm25 = xr.DataArray(topics + rng.normal(0, 0.1, 50), dims=("topic",), name="bm25")
    >>> print(compare_instances(dense, bm25))
    unified test of instances and topics, 2 systems; claim: new topics like these 50, any instance (5 seen)
    >>> round(float(compare_instances(dense, bm25).p[0]), 5)
    0.07066
    """
    validate_choice(method, "method", METHODS)
    validate_choice(design, "design", DESIGNS)
    if reading is not None:
        validate_choice(reading, "reading", READINGS)
    if n_resamples is not None:
        validate_count(n_resamples, "n_resamples", what="resamples")
    validate_count(seed, "seed", least=0)
    if validate_choice(repeats, "repeats", KINDS) == "samples" and (method, design) != ("mixed", "unified"):
        raise InputError(
            (Option("repeats", "samples"), " is for the unified design"),
            remedy="leave out the method and the design",
        )
    compared = _compare_pair(pair_of(a, b), method, design, repeats, df, reading, instance, n_resamples, seed)
    lower = all(isinstance(scores, xr.DataArray) and direction_of(scores)[0] for scores in (a, b))
    return replace(compared, estimates=replace(compared.estimates, lower_is_better=lower))


def _compare_pair(
    pair: InstancePair,
    method: str,
    design: str,
    repeats: str,
    df: str | None,
    reading: str | None,
    instance: Any,
    n_resamples: int | None,
    seed: int,
) -> Comparisons:
    """Return the pair compared by the method asked for."""
    draws = {"n_resamples": n_resamples, "seed": seed}
    if method == "bootstrap":
        return _compare_by_bootstrap(pair, reading or ("pooled" if design == "paper" else "averaged"), draws)
    if method == "t-means":
        return _compare_means(pair.complete(*MIXED_MODEL), "paired t on topic means")
    if method == "t-single":
        return _compare_single_instance(pair.complete(*MIXED_MODEL), instance)
    if design == "unified":
        test = SAMPLES if repeats == "samples" else UNIFIED
        comparisons = _run_by_name(
            f"{test.name} none", pair if repeats == "samples" else pair.replicated(), draws
        )
        if not all(pair.deterministic):
            return comparisons
        claim = TOPICS.sentence({"topic": pair.n})
        title = "paired t, as both systems are deterministic"
        return replace(
            comparisons, title=title, estimates=replace(comparisons.estimates, claim=claim, over=TOPICS)
        )
    return _compare_by_mixed_model(pair, design, df)


def _run_by_name(name: str, pair: InstancePair, draws: dict[str, Any]) -> Comparisons:
    procedure = parse_procedure(name)
    flags = pair.deterministic if any(pair.deterministic) else ()
    tables = batch_of_one(procedure, pair.values(), INSTANCES, deterministic=flags, **draws)
    return compare_tables(procedure, tables, pair.names, only=[pair.names], directed=True)


def _compare_means(pair: InstancePair, title: str, test: str = "t", **draws: Any) -> Comparisons:
    """A test of the topics on the means over instances."""
    means = pair.scores().mean("instance", skipna=True).drop_vars(DETERMINISTIC, errors="ignore")
    procedure = parse_procedure(f"{test} none")
    comparisons = run_procedure(procedure, means, only=[pair.names], directed=True, **draws)
    if all(pair.deterministic):
        return replace(comparisons, title=title)
    notes = (NOTE,)
    each = zip(pair.counts, pair.names, pair.deterministic, strict=True)
    seen = [f"the mean of these {m} instances of {name}" for m, name, fixed in each if not fixed]
    claim = f"{comparisons.claim}, for {' and '.join(seen)}"
    return replace(
        comparisons, title=title, estimates=replace(comparisons.estimates, claim=claim, notes=notes)
    )


def _compare_by_bootstrap(pair: InstancePair, reading: str, draws: dict[str, Any]) -> Comparisons:
    pair = pair.complete(*MIXED_MODEL)
    if all(pair.deterministic):
        return _compare_means(pair, "studentised bootstrap of topics (J15 Algorithm 1)", "bootstrap", **draws)
    if reading == "averaged":
        title = "studentised bootstrap of topics (J15 Algorithm 2, averaged differences resampled)"
        return _compare_means(pair, title, "bootstrap", **draws)
    pair.paired_instances()  # refuses what cannot be paired
    comparisons = _run_by_name(f"bootstrap {reading} none", pair, draws)
    return replace(comparisons, title=f"studentised bootstrap of topics ({comparisons.title})")


def _compare_single_instance(pair: InstancePair, instance: Any) -> Comparisons:
    """Compare one instance of each system by a paired t-test."""
    chosen_pair = pair.single(instance)
    which = ", ".join(
        f"{label[0]} of {name}"
        for label, name, fixed in zip(chosen_pair.labels, pair.names, pair.deterministic, strict=True)
        if not fixed
    )
    alone = replace(chosen_pair, deterministic=(True, True))
    comparisons = _compare_means(alone, "paired t on one instance")
    claim = f"{comparisons.claim}, for instance {which} alone"
    return replace(comparisons, estimates=replace(comparisons.estimates, claim=claim))


def _compare_by_mixed_model(pair: InstancePair, design: str, df: str | None) -> Comparisons:
    if all(pair.deterministic):
        raise InputError(
            "both systems are deterministic: a mixed model of instances has nothing to go by",
            remedy=("use ", Option("design", "unified"), ", which then is the paired t-test"),
        )
    # identical instances vary by nothing: the system is deterministic, and two such systems have the limit of the model
    pair = pair.without_copies()
    if all(pair.deterministic):
        comparisons = _run_by_name(f"{UNIFIED.name} none", pair, {"n_resamples": None, "seed": 0})
        title = "paired t, the limit of the mixed model, as the instances are identical"
        estimates = replace(comparisons.estimates, claim=TOPICS.sentence({"topic": pair.n}), over=TOPICS)
        return replace(comparisons, title=title, estimates=estimates)
    paper = design == "paper"
    if paper:
        design = "crossed" if any(pair.deterministic) else "nested"
    fit = mixed(pair.scores(), "crossed" if design == "crossed" else "nested")
    freedom = df or ("paper" if paper else "auto")
    estimates = fit.estimates(df=freedom)
    notes = fit.notes
    if design == "crossed" and any(pair.deterministic):
        notes = (
            *notes,
            "the instance variance cancels from a crossed comparison: with few instances it finds too much",
        )

    return compare_estimates(
        replace(
            estimates,
            notes=notes,
            posterior=lambda a, b, draws, seed: posterior(
                fit, draws if fit.balanced else None, seed
            ).difference(a, b),
            error="",
        ),
        "none",
        only=[pair.names],
        title=f"mixed model, {design} instances{' as in J15' if paper else ''}, {fit.describe_df(freedom)}",
        directed=True,
    )


def single_instance_tests(a: Any, b: Any, alpha: float = 0.05) -> pd.DataFrame:
    """Test each instance by itself with a paired t-test, as those who compare single runs would do (J15 Fig. 7).

    `instance, difference, p, verdict` ("better", "worse", "no difference"): where verdicts contradict each other, a
    single instance proves little. Instances of two non-deterministic systems are paired in order.

    Parameters
    ----------
    a, b : object
        Scores with the dimensions instance and topic, as for `compare_instances`.
    alpha : float
        Level of significance.

    Returns
    -------
    DataFrame
        One row an instance.
    """
    validate_level(alpha)
    pair = pair_of(a, b).complete(Either("compare_instances with ", ""), Option("design", "nested"))
    z = pair.paired_instances()
    y = np.stack([z, np.zeros_like(z)], axis=-1)  # each instance a table: the difference, and nothing
    mean, se = (x[:, 0] for x in paired.pair_moments(y, np.array([0]), np.array([1])))
    p = two_sided(t_statistic(mean, se), pair.n - 1.0)
    lower = all(isinstance(scores, xr.DataArray) and direction_of(scores)[0] for scores in (a, b))
    gain = -mean if lower else mean
    verdict = np.where(p > alpha, "no difference", np.where(gain > 0, "better", "worse"))
    labels = pair.labels[0] if len(pair.labels[0]) >= len(pair.labels[1]) else pair.labels[1]
    return pd.DataFrame({"instance": labels, "difference": mean, "p": p, "verdict": verdict})
