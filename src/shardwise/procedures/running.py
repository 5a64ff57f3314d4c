"""The public calls that compare systems: any scores or fit in, one kind of result out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.comparing.decisions import JOINT
from shardwise.core.arguments import chosen, lending, level, whole
from shardwise.core.claim import Claim
from shardwise.core.errors import Either, InputError, Option, unknown
from shardwise.core.scores import as_scores, averaged, layout_of, nouns_of
from shardwise.io.instances import DETERMINISTIC
from shardwise.methods.base import Estimates
from shardwise.methods.clusters import DF, by_units
from shardwise.methods.judges.method import HUMAN
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.mixed.posterior import Mixture, posterior
from shardwise.methods.moments.fit import ScoreMoments
from shardwise.methods.paired import statistics as paired
from shardwise.methods.paired.method import JOINT as JOINT_TESTS
from shardwise.methods.paired.method import ONE_SIDED, TESTS, ByTopics
from shardwise.methods.repeats.kinds import KINDS
from shardwise.methods.repeats.method import NOTE, SAMPLES, TOPICS, UNIFIED
from shardwise.methods.repeats.pairs import Pair, pair_of
from shardwise.methods.tables import INSTANCES, SHARDS, SPLITS, TABLE, Dims
from shardwise.procedures.of_moments import of_moments
from shardwise.procedures.procedure import Procedure
from shardwise.procedures.vocabulary import for_claims, parse
from shardwise.stats.corrections import STEPWISE
from shardwise.stats.student import t_statistic, two_sided

USUAL = {TABLE: "moderated", SHARDS: "moderated", INSTANCES: "moderated topic+instance", SPLITS: "moderated"}
"""The procedure of each layout that keeps its promise on realistic scores, for topics like these."""
UNEQUAL = "t holm"  # where so few of many units decide that draws of units do not show it (docs/clusters.md)
CORRECTED = "ppi holm"  # where people's scores for some items stand beside a judge's
OF_REPEATS = {"seeds": USUAL[INSTANCES], "samples": "moderated samples"}
METHODS = ("mixed", "bootstrap", "t-means", "t-single")
DESIGNS = ("unified", "paper", "nested", "crossed")
READINGS = ("averaged", "pooled", "per-instance")
MIXED_MODEL = (
    Option("method", "mixed"),
    " with ",
    Option("design", "nested"),
)  # which leaves out what is missing


def compare(
    source: Any,
    method: str | Procedure | None = None,
    *,
    generalize: Claim | str | Iterable[str] | None = None,
    only: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    baseline: str | Sequence[str] | None = None,
    repeats: str | None = None,
    n_resamples: int | None = None,
    seed: int = 0,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> Comparisons:
    """Compare the systems of scores, of a fit or of estimates, correcting for the number of comparisons.

    Parameters
    ----------
    source
        Any table that `as_scores` takes; or a fit such as that of `anova`; or `Estimates`; or `ScoreMoments`.
    method
        For scores a procedure or its name, such as ``MD6 hsd topic+shard``, ``t holm`` or ``max-t`` (see
        ``sw.procedures``). For a fit or estimates the correction: "hsd" (Tukey; Tukey–Kramer on unequal variances),
        "scheffe", "dunnett" (needs ``baseline``), "bonferroni", "holm", "bh", "by", "none". Without it "hsd", and "bh"
        for a bootstrap, which has laws of its own.
    generalize
        The claim: ``()`` for these topics, ``("topic",)`` for topics like these, and so on; a `Claim`, names or text.
    only
        A list of systems or of pairs, to which the comparison and its correction are confined, not the model (V17 §6).
    baseline
        A system, or several, with which all others are compared.
    repeats
        What the instances of scores are: "seeds", which move all topics together, or "samples", drawn anew for each
        topic (J15 eq. 7). Without it they are taken as seeds, which is right for both and finds less of samples.
    n_resamples
        Resamples of procedures that draw.
    seed
        Seed of procedures that draw; replicate i depends on (seed, i) only.
    columns
        Which column of a table is what, as `read_scores` takes it.
    executor
        Where to draw instead of in threads: any executor of `concurrent.futures`, also of processes or machines; the
        figures do not depend on it. Moderated tests with their joint law, max-t and drawn bootstraps take it, and it
        is refused where nothing is drawn.
    options
        Further choices of a fit, such as ``null`` and ``tails`` of a bootstrap.

    >>> table = pd.DataFrame({"x": [0.5, 0.6, 0.7, 0.9], "y": [0.4, 0.4, 0.6, 0.6], "z": [0.4, 0.5, 0.6, 0.7]})
    >>> compare(table, "randomization holm").to_frame()[["a", "b", "difference", "p_adjusted"]].round(4)
       a  b  difference  p_adjusted
    0  x  z       0.125       0.375
    1  x  y       0.175       0.375
    2  z  y       0.050       0.500
    """
    with lending(executor):
        draws = {"n_resamples": n_resamples, "seed": seed}
        pairs = {"only": only, "baseline": baseline}
        return _compared(source, method, generalize, pairs, draws, repeats, columns, options)


def _compared(
    source: Any,
    method: str | Procedure | None,
    generalize: Claim | str | Iterable[str] | None,
    pairs: dict[str, Any],
    draws: dict[str, Any],
    repeats: str | None,
    columns: Mapping[str, str | Sequence[str]] | None,
    options: dict[str, Any],
) -> Comparisons:
    if isinstance(source, ScoreMoments):
        how = {"repeats": repeats, "columns": columns, **options}
        if idle := [name for name, value in how.items() if value]:
            raise InputError(f"{', '.join(idle)} cannot be chosen for moments", remedy="leave it out")
        return of_moments(source, method, generalize, pairs, **draws)
    if isinstance(source, Estimates) or hasattr(source, "estimates"):
        if columns:
            raise InputError("columns are for tables of scores", remedy="leave it out", argument="columns")
        if isinstance(method, Procedure):
            raise InputError(
                f"{method.name} is for scores, and this is a {type(source).__name__}",
                remedy="give the scores, or name a correction",
                argument="method",
            )
        if repeats is not None:
            options = {"repeats": repeats, **options}
        found = _estimates(source, generalize, options)
        usual = "hsd" if found.law is None else "bh"  # as V17 and FF21 do, where there is no Student's t
        return compare_estimates(found, usual if method is None else method, **pairs)
    if options:
        raise InputError(
            f"{', '.join(options)} cannot be chosen for scores", remedy="name a procedure, or compare a fit"
        )
    scores, generalize = by_units(as_scores(source, columns=columns), generalize)
    procedure = procedure_for(scores, method, generalize, repeats)
    return procedure.run(scores, **pairs, **draws)


def usual(scores: Any) -> str:
    """The name of the procedure for scores of this layout where none is asked for; people's scores correct a judge."""
    if HUMAN in scores.coords:
        return CORRECTED
    dims = layout_of(scores)
    few = float(scores.attrs.get(DF, np.inf)) < (scores.sizes["topic"] - 1.0) / 3.0
    return UNEQUAL if few and dims == TABLE else USUAL[dims]


def usual_of(dims: Dims, method: str | Procedure | None, repeats: str) -> str:
    """The procedure of seeds or of samples; refused where instances are lacking or a method decides."""
    chosen(repeats, "repeats", KINDS)
    if dims != INSTANCES:
        raise InputError(
            (Option("repeats", repeats), f" does nothing with scores by {', '.join(dims)}"),
            remedy="leave it out, or give scores of several instances of a system",
        )
    if method is not None:
        raise InputError(
            (Option("repeats", repeats), " is given, and a method too"),
            remedy="leave one out: unified takes instances as seeds, samples as samples",
            argument="method",
        )
    return OF_REPEATS[repeats]


def procedure_for(
    scores: Any,
    method: str | Procedure | None,
    generalize: Claim | str | Iterable[str] | None,
    repeats: str | None = None,
) -> Procedure:
    """The procedure asked for, or the usual one for the layout of the scores, with the claim asked for."""
    dims = layout_of(scores)
    if repeats is not None:
        method = usual_of(dims, method, repeats)
    if method is None and dims not in USUAL:
        raise InputError(
            f"no procedure is usual for scores by {', '.join(dims)}",
            remedy=("choose one split, or name a procedure by ", Option("method")),
        )
    found = parse(usual(scores) if method is None else method)
    return found if generalize is None else speaking_of(found, Claim.of(generalize, nouns_of(scores)), scores)


def speaking_of(procedure: Procedure, claim: Claim, scores: Any) -> Procedure:
    """The same procedure for another claim about these scores, or a refusal that says which it speaks of."""
    dims, nouns = layout_of(scores), nouns_of(scores)
    claim.check(dims)
    known = for_claims(procedure, dims)
    if claim not in known:
        words = "; ".join(one.phrase(nouns) for one in known)
        raise InputError(
            f"{procedure.name} does not speak of {claim.phrase(nouns)}",
            remedy=f"it speaks of {words}",
            argument="generalize",
            value=claim.over,
        )
    return known[claim]


def _estimates(source: Any, generalize: Any, options: dict[str, Any]) -> Estimates:
    chosen_claim = {} if generalize is None else {"generalize": generalize}
    if isinstance(source, Estimates):
        if chosen_claim or options:
            names = ", ".join([*chosen_claim, *options])
            raise InputError(
                f"{names} cannot be chosen for finished estimates", remedy="compare the fit instead"
            )
        return source
    found = source.estimates(**chosen_claim, **options)
    if not isinstance(found, Estimates):
        raise InputError(f"{type(source).__name__}.estimates() gave no Estimates")
    return found


def paired_tests(
    scores: Any,
    test: str = "t",
    *,
    correction: str = "none",
    alternative: str = "two-sided",
    n_resamples: int | None = None,
    seed: int = 0,
    only: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    average: Sequence[str] = (),
) -> Comparisons:
    """Test every pair of systems on a topic × system table.

    Parameters
    ----------
    scores
        Any table that `as_scores` takes.
    test
        "t" (paired), "unpaired-t", "wilcoxon", "sign", "mcnemar" (exact, of scores 0 and 1, with Tango's intervals),
        "randomization" (Fisher's, of the mean difference), "bootstrap" (studentised, J15 Algorithm 1), "tukey"
        (randomised Tukey HSD over all systems), "max-t" (largest |t| of all pairs under sign flips of topics,
        step-down).
    correction
        "none", "bonferroni", "holm", "bh" or "by"; none for tukey and max-t, which are corrected by construction.
    alternative
        "two-sided"; or "greater", that the first system of a pair is better, for t, unpaired-t and randomization. The
        first is the one with the better mean, so that its p-values are too small by half; V17's randomization test is
        of this kind. The intervals stay two-sided.
    n_resamples
        Resamples of tests that draw; their p-values are (r + 1)/(B + 1).
    seed
        Seed of tests that draw; replicate i depends on (seed, i) only.
    only
        Systems, or pairs of systems, to which the tests are confined.
    average
        Further dimensions, such as shard or instance, to be averaged per topic first.

    >>> table = pd.DataFrame({"x": [0.5, 0.6, 0.7, 0.9], "y": [0.4, 0.4, 0.6, 0.6], "z": [0.4, 0.5, 0.6, 0.7]})
    >>> paired_tests(table, "randomization").to_frame()[["a", "b", "difference", "p"]].round(4)
       a  b  difference      p
    0  x  z       0.125  0.125
    1  x  y       0.175  0.125
    2  z  y       0.050  0.500
    """
    chosen(test, "test", TESTS)
    if correction not in STEPWISE:
        raise unknown("correction", correction, STEPWISE)
    if test in JOINT_TESTS and correction != "none":
        raise InputError(
            (Option("test", test), " is corrected by construction"), remedy="leave the correction out"
        )
    one_sided = chosen(alternative, "alternative", ("two-sided", "greater")) == "greater"
    if one_sided and test not in ONE_SIDED:
        raise InputError(
            (Option("test", test), " has no one-sided form here"), remedy=f"it is for {', '.join(ONE_SIDED)}"
        )
    table = averaged(as_scores(scores), tuple(average))
    table = as_scores(table, only=True)
    procedure = Procedure(ByTopics(test, one_sided), JOINT if test in JOINT_TESTS else correction, TOPICS)
    found = procedure.run(table, only=only, n_resamples=n_resamples, seed=seed)
    return replace(found, procedure="") if one_sided else found  # no name stands for it


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
    a, b
        Scores with the dimensions instance and topic (or tables with a row a topic, a column an instance); one
        without instances is deterministic. The systems may have different numbers of instances.
    method
        "mixed" (see ``design``); "bootstrap" (see ``reading``); "t-means" and "t-single", the t-tests on topic means
        and on one ``instance`` that J15 warns of.
    design
        "unified" (the default: topics and each system's own instances, nothing assumed equal), "nested" or "crossed"
        (mixed model), or "paper" (J15: crossed with a deterministic system, else nested, and "observations less one"
        degrees of freedom).
    repeats
        What the instances are: "seeds", which move all topics together, or, for the unified design, "samples" drawn
        anew for each topic, whose spread the topic means hold already (J15 eq. 7).
    df
        Degrees of freedom of a mixed model, as in ``MixedFit.estimates``.
    reading
        Of J15 Algorithm 2: "averaged" resamples topics of the averaged differences; "pooled", taken with
        ``design="paper"``, holds their t against resamples of every instance; "per-instance" holds each instance's own
        t against them. Between deterministic systems it is Algorithm 1.
    instance
        The instance that "t-single" takes; the first unless named.
    n_resamples
        Resamples of the bootstrap.
    seed
        Seed of the bootstrap.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> topics = rng.normal(0.4, 0.2, 50)
    >>> y = topics + rng.normal(0, 0.1, 50) + rng.normal(0.06, 0.08, (5, 50))
    >>> dense = xr.DataArray(y, dims=("instance", "topic"), name="dense")
    >>> bm25 = xr.DataArray(topics + rng.normal(0, 0.1, 50), dims=("topic",), name="bm25")
    >>> print(compare_instances(dense, bm25))
    unified test of instances and topics, 2 systems; claim: on topics like these 50, whatever the instance (5 seen)
    >>> round(float(compare_instances(dense, bm25).p[0]), 5)
    0.07066
    """
    chosen(method, "method", METHODS)
    chosen(design, "design", DESIGNS)
    if reading is not None:
        chosen(reading, "reading", READINGS)
    if n_resamples is not None:
        whole(n_resamples, "n_resamples", what="resamples")
    whole(seed, "seed", least=0)
    if chosen(repeats, "repeats", KINDS) == "samples" and (method, design) != ("mixed", "unified"):
        raise InputError(
            (Option("repeats", "samples"), " is for the unified design"),
            remedy="leave out the method and the design",
        )
    pair = pair_of(a, b)
    draws = {"n_resamples": n_resamples, "seed": seed}
    if method == "bootstrap":
        return _bootstrap(pair, reading or ("pooled" if design == "paper" else "averaged"), draws)
    if method == "t-means":
        return _of_means(pair.complete(*MIXED_MODEL), "paired t on topic means")
    if method == "t-single":
        return _single(pair.complete(*MIXED_MODEL), instance)
    if design == "unified":
        test = SAMPLES if repeats == "samples" else UNIFIED
        found = _run(f"{test.name} none", pair if repeats == "samples" else pair.replicated(), draws)
        if not all(pair.deterministic):
            return found
        claim = TOPICS.sentence({"topic": pair.n})
        title = "paired t, as both systems are deterministic"
        return replace(found, title=title, estimates=replace(found.estimates, claim=claim, over=TOPICS))
    return _mixed(pair, design, df)


def _run(name: str, pair: Pair, draws: dict[str, Any]) -> Comparisons:
    procedure = parse(name)
    flags = pair.deterministic if any(pair.deterministic) else ()
    tables = procedure.batch_of_one(pair.values(), INSTANCES, deterministic=flags, **draws)
    return procedure.conclude(tables, pair.names, only=[pair.names], directed=True)


def _of_means(pair: Pair, title: str, test: str = "t", **draws: Any) -> Comparisons:
    """A test of the topics on the means over instances."""
    means = pair.scores().mean("instance", skipna=True).drop_vars(DETERMINISTIC, errors="ignore")
    found = parse(f"{test} none").run(means, only=[pair.names], directed=True, **draws)
    if all(pair.deterministic):
        return replace(found, title=title)
    notes = (NOTE,)
    each = zip(pair.counts, pair.names, pair.deterministic, strict=True)
    seen = [f"the mean of these {m} instances of {name}" for m, name, fixed in each if not fixed]
    claim = f"{found.claim}, for {' and '.join(seen)}"
    return replace(found, title=title, estimates=replace(found.estimates, claim=claim, notes=notes))


def _bootstrap(pair: Pair, reading: str, draws: dict[str, Any]) -> Comparisons:
    pair = pair.complete(*MIXED_MODEL)
    if all(pair.deterministic):
        return _of_means(pair, "studentised bootstrap of topics (J15 Algorithm 1)", "bootstrap", **draws)
    if reading == "averaged":
        title = "studentised bootstrap of topics (J15 Algorithm 2, averaged differences resampled)"
        return _of_means(pair, title, "bootstrap", **draws)
    pair.paired_instances()  # refuses what cannot be paired
    found = _run(f"bootstrap {reading} none", pair, draws)
    return replace(found, title=f"studentised bootstrap of topics ({found.title})")


def _single(pair: Pair, instance: Any) -> Comparisons:
    """Paired t on one instance of each system."""
    chosen_pair = pair.single(instance)
    which = ", ".join(
        f"{label[0]} of {name}"
        for label, name, fixed in zip(chosen_pair.labels, pair.names, pair.deterministic, strict=True)
        if not fixed
    )
    alone = replace(chosen_pair, deterministic=(True, True))
    found = _of_means(alone, "paired t on one instance")
    claim = f"{found.claim}, for instance {which} alone"
    return replace(found, estimates=replace(found.estimates, claim=claim))


def _mixed(pair: Pair, design: str, df: str | None) -> Comparisons:
    if all(pair.deterministic):
        raise InputError(
            "both systems are deterministic: a mixed model of instances has nothing to go by",
            remedy=("use ", Option("design", "unified"), ", which then is the paired t-test"),
        )
    paper = design == "paper"
    if paper:
        design = "crossed" if any(pair.deterministic) else "nested"
    fit = mixed(pair.scores(), "crossed" if design == "crossed" else "nested")
    found = fit.estimates(df=df or ("paper" if paper else "auto"))
    words = found.error.rsplit(", ", 1)[1]
    notes = fit.notes
    if design == "crossed" and any(pair.deterministic):
        notes = (
            *notes,
            "the instance variance cancels from a crossed comparison: with few instances it finds too much",
        )

    def law(a: str, b: str, draws: int, seed: int) -> Mixture:
        return posterior(fit, draws if fit.balanced else None, seed).difference(a, b)

    return compare_estimates(
        replace(found, notes=notes, posterior=law, error=""),
        "none",
        only=[pair.names],
        title=f"mixed model, {design} instances{' as in J15' if paper else ''}, {words}",
        directed=True,
    )


def single_instance_tests(a: Any, b: Any, alpha: float = 0.05) -> pd.DataFrame:
    """Test each instance by itself with a paired t-test, as those who compare single runs would do (J15 Fig. 7).

    `instance, difference, p, verdict` ("better", "worse", "no difference"): where verdicts contradict each other, a
    single instance proves little. Instances of two non-deterministic systems are paired in order.

    Parameters
    ----------
    a, b
        Scores with the dimensions instance and topic, as for `compare_instances`.
    alpha
        Level of significance.
    """
    level(alpha)
    pair = pair_of(a, b).complete(Either("compare_instances with ", ""), Option("design", "nested"))
    z = pair.paired_instances()
    y = np.stack([z, np.zeros_like(z)], axis=-1)  # each instance a table: the difference, and nothing
    mean, se = (x[:, 0] for x in paired.moments(y, np.array([0]), np.array([1])))
    p = two_sided(t_statistic(mean, se), pair.n - 1.0)
    verdict = np.where(p > alpha, "no difference", np.where(mean > 0, "better", "worse"))
    labels = pair.labels[0] if len(pair.labels[0]) >= len(pair.labels[1]) else pair.labels[1]
    return pd.DataFrame({"instance": labels, "difference": mean, "p": p, "verdict": verdict})
