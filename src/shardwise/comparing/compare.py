"""Compare systems: any scores or fit in, one kind of result out.

Choose the procedure for scores: every command, function and page that takes a method asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.comparing.run import make_tables, run_procedure
from shardwise.core.arguments import lend_executor, validate_choice, validate_count
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.model import Model
from shardwise.core.scores import Scores, as_scores
from shardwise.methods.clusters import by_units
from shardwise.methods.method import TOPICS
from shardwise.methods.names import (
    DEFAULTS,
    OF_PEOPLE,
    OF_SAMPLES,
    OF_UNPAIRED,
    OF_VOTES,
    Procedure,
    list_claims,
    parse_procedure,
)
from shardwise.methods.paired.method import TESTS, take_one_side
from shardwise.methods.pairs import JOINT, Means
from shardwise.methods.repeats.unified import KINDS, infer_repeats
from shardwise.methods.tables import INSTANCES, SHARDS, SPLITS, TABLE, Dims
from shardwise.stats.corrections import CORRECTIONS, STEPWISE

if TYPE_CHECKING:
    from shardwise.methods.moments.fit import ScoreMoments

TRIED = 99
"""Resamples with which a suggestion is tried."""


def choose_default(scores: Scores) -> str:
    """Return the name of the default procedure for scores of this layout; people's scores correct a judge."""
    if scores.people is not None:
        return OF_PEOPLE
    if scores.votes is not None:
        return OF_VOTES
    dims = scores.dims
    if dims in (TABLE, INSTANCES) and scores.unpaired:
        return OF_UNPAIRED[scores.sizes["system"] == 2]
    if dims not in DEFAULTS:
        raise InputError(
            f"scores by {', '.join(dims)} have no default method",
            remedy=("choose one split, or name a procedure by ", Option("method")),
        )
    # repeats that their source calls epochs, generations or attempts are drawn anew for each item
    if dims == INSTANCES and infer_repeats(scores) == "samples":
        return OF_SAMPLES
    return DEFAULTS[dims].procedure


def choose_procedure(
    scores: Scores,
    method: str | Procedure | None = None,
    generalize: Claim | str | Iterable[str] | None = None,
    repeats: str | None = None,
    model: Model | str | None = None,
) -> Procedure:
    """Return the procedure asked for, or the default one for the layout of the scores, with the claim asked for."""
    if repeats is not None:
        method = _choose_for_repeats(scores.dims, method if model is None else str(model), repeats)
    procedure = _use_name(scores, method) if model is None else _use_model(model, method)
    dims, nouns = scores.dims, scores.nouns
    procedure = procedure.for_layout(dims)
    if generalize is None:
        return procedure
    claim, known = Claim.of(generalize, nouns).check(dims), list_claims_on(procedure, dims)
    if claim not in known:
        raise refuse_claim(procedure, claim, known, nouns)
    return known[claim]


def _use_name(scores: Scores, method: str | Procedure | None) -> Procedure:
    """Return the procedure of a name, of a correction of the default one, or the default one."""
    if method is None:
        return parse_procedure(choose_default(scores))
    default = partial(choose_default, scores)
    return parse_procedure(method, scores.dims, default, partial(_runs_on, scores))


def _use_model(model: Model | str, correction: str | Procedure | None) -> Procedure:
    """Return the analysis of variance by a model with a correction."""
    from shardwise.methods.anova.method import make_anova  # few comparisons need it

    if isinstance(correction, Procedure) or (correction or "hsd") not in CORRECTIONS:
        raise InputError(
            f"{correction} is a procedure of its own, and a model is given too",
            remedy="name a correction with the model, or the procedure alone",
            argument="method",
        )
    method = make_anova(Model.parse(model) if isinstance(model, str) else model)
    if not method.layouts_by_claim:
        raise InputError(f"model {model} compares no systems", remedy="add the term system", argument="model")
    return Procedure(method, correction or "hsd", method.default_claim)


def _runs_on(scores: Scores, procedure: Procedure) -> bool:
    """Return whether a procedure runs on the first two systems of the scores."""
    try:
        procedure = procedure.for_layout(scores.dims)
        tables = make_tables(procedure, scores, n_resamples=TRIED)
        procedure.decide(tables.select_systems(np.arange(2)))
    except InputError:
        return False
    return True


def list_claims_on(procedure: Procedure, dims: Dims) -> dict[Claim, Procedure]:
    """Return the procedure for every claim that it supports; of several splits by their mean where it takes one."""
    known = list_claims(procedure, dims)
    if dims == SPLITS and not procedure.rule:
        of_split = list_claims(procedure, SHARDS)
        known |= {claim: each.for_layout(dims) for claim, each in of_split.items() if claim not in known}
    return known


def refuse_claim(
    procedure: Procedure, claim: Claim, known: Iterable[Claim], nouns: Mapping[str, str]
) -> InputError:
    """Return the refusal of a claim, with those that the procedure supports."""
    words = "; ".join(supported.phrase(nouns) for supported in known)
    return InputError(
        f"{procedure.name} cannot support a claim about {claim.phrase(nouns)}",
        remedy=f"it supports claims about {words}",
        argument="generalize",
        value=claim.over,
    )


def _choose_for_repeats(dims: Dims, method: Any, repeats: str) -> str:
    """Return the default procedure of seeds or of samples; refused where repeats are lacking or a method decides."""
    validate_choice(repeats, "repeats", KINDS)
    if dims != INSTANCES:
        raise InputError(
            (Option("repeats", repeats), f" has no effect on scores by {', '.join(dims)}"),
            remedy="leave it out, or give scores of several instances of a system",
        )
    if method is not None:
        raise InputError(
            (Option("repeats", repeats), " is given, and a method too"),
            remedy="leave one out: unified takes instances as seeds, samples as samples",
            argument="method",
        )
    return OF_SAMPLES if repeats == "samples" else DEFAULTS[INSTANCES].procedure


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
    range: tuple[float, float] | None = None,
    lower_is_better: bool | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> Comparisons:
    """Compare the systems of scores, of a fit or of estimates, correcting for the number of comparisons.

    Parameters
    ----------
    source : object
        Any table that `as_scores` takes; or a fit such as that of `anova`; or `Means`; or `ScoreMoments`.
    method : str or Procedure, optional
        For scores a procedure or its name: a method, perhaps with a correction and a claim, such as ``t``, ``t holm``,
        ``MD6 hsd topic+shard`` or ``max-t`` (see ``sw.methods``); or a correction alone, of the default test, or of the
        analysis of variance that it belongs to. For a fit or estimates the correction: "hsd" (Tukey; Tukey–Kramer on
        unequal variances), "scheffe", "dunnett" (needs ``baseline``), "bonferroni", "holm", "bh", "by", "none". Without
        it "hsd", and "bh" for a bootstrap, which has distributions of its own.
    generalize : Claim, str or iterable of str, optional
        The claim: ``()`` for these topics, ``("topic",)`` for topics like these, and so on; a `Claim`, names or text.
    only : sequence of str or sequence of tuple of str, optional
        A list of systems or of pairs, to which the comparison and its correction are confined, not the model (V17 §6).
    baseline : str or sequence of str, optional
        A system, or several, with which all others are compared.
    repeats : str, optional
        What the instances of scores are: "seeds", which move all topics together, or "samples", drawn anew for each
        topic (J15 eq. 7). Without it epochs, generations, attempts and the like are samples, all others seeds, which is
        valid for both and finds less of samples.
    n_resamples : int, optional
        Resamples of procedures that draw.
    seed : int
        Seed of procedures that draw; replicate i depends on (seed, i) only.
    columns : mapping, optional
        Which column of a table is what, as `read_scores` takes it.
    range : (float, float), optional
        Lowest and highest score there can be, for intervals; without it by the scores (see `as_scores`).
    lower_is_better : bool, optional
        Whether lower scores are better; without it by the measure's name.
    executor : Executor, optional
        Where to draw instead of in threads: any executor of `concurrent.futures`, also of processes or machines; the
        figures do not depend on it. Moderated tests with their joint distribution, max-t and drawn bootstraps take it,
        and it is refused where nothing is drawn.
    **options
        Further choices of a fit, such as ``null`` and ``tails`` of a bootstrap.

    Returns
    -------
    Comparisons
        All pairs, with p-values, intervals, ranks, letters and the best systems.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.5, 0.6, 0.7, 0.9], "y": [0.4, 0.4, 0.6, 0.6], "z": [0.4, 0.5, 0.6, 0.7]})
    >>> compare(table, "randomization holm").to_frame()[["a", "b", "difference", "p_adjusted"]].round(4)
       a  b  difference  p_adjusted
    0  x  z       0.125       0.375
    1  x  y       0.175       0.375
    2  z  y       0.050       0.500
    """
    from shardwise.methods.moments.fit import ScoreMoments

    with lend_executor(executor):
        draws: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed}
        pairs: dict[str, Any] = {"only": only, "baseline": baseline}
        declared: dict[str, Any] = {"columns": columns, "range": range, "lower_is_better": lower_is_better}
        if isinstance(source, ScoreMoments):
            _refuse_choices("moments", {"repeats": repeats, "columns": columns, "range": range, **options})
            return compare_moments(
                source, method, generalize, pairs, **draws, lower_is_better=lower_is_better
            )
        if isinstance(source, Means) or hasattr(source, "estimates"):
            _refuse_choices("a fit", {"columns": columns, "range": range})
            options |= {} if repeats is None else {"repeats": repeats}
            return _compare_fit(source, method, generalize, pairs, lower_is_better, options)
        _refuse_choices("scores", options)
        scores, generalize = by_units(as_scores(source, **declared), generalize)
        return run_procedure(choose_procedure(scores, method, generalize, repeats), scores, **pairs, **draws)


def _refuse_choices(what: str, choices: Mapping[str, Any]) -> None:
    """Refuse choices that mean nothing for what is compared."""
    if idle := [name for name, value in choices.items() if value is not None]:
        raise InputError(
            f"{', '.join(idle)} cannot be chosen for {what}", remedy="leave it out", argument=idle[0]
        )


def _compare_fit(
    source: Any,
    method: str | Procedure | None,
    generalize: Claim | str | Iterable[str] | None,
    pairs: dict[str, Any],
    lower_is_better: bool | None,
    options: dict[str, Any],
) -> Comparisons:
    """Compare the systems of a fit or of estimates, the method being a correction."""
    if isinstance(method, Procedure):
        raise InputError(
            f"{method.name} is for scores, and this is a {type(source).__name__}",
            remedy="give the scores, or name a correction",
            argument="method",
        )
    chosen_claim = {} if generalize is None else {"generalize": generalize}
    if isinstance(source, Means):
        if chosen_claim or options:
            names = ", ".join([*chosen_claim, *options])
            raise InputError(
                f"{names} cannot be chosen for finished estimates", remedy="compare the fit instead"
            )
        estimates = source
    else:
        estimates = source.estimates(**chosen_claim, **options)
        if not isinstance(estimates, Means):
            raise InputError(f"{type(source).__name__}.estimates() gave no Means")
    if lower_is_better is not None:
        estimates = replace(estimates, lower_is_better=lower_is_better)
    return compare_estimates(estimates, method, **pairs)


def compare_moments(
    moments: ScoreMoments,
    method: str | Procedure | None,
    generalize: Claim | str | Iterable[str] | None,
    pairs: dict[str, Any],
    n_resamples: int | None,
    seed: int,
    lower_is_better: bool | None = None,
) -> Comparisons:
    """Compare by a procedure that needs no more than moments."""
    from shardwise.methods.moments.fit import TESTS as MOMENT_TESTS

    usual = DEFAULTS[TABLE].procedure
    procedure = parse_procedure(method or usual, TABLE, lambda: usual)
    if procedure.method.name not in MOMENT_TESTS or procedure.rule or TABLE not in procedure.layouts:
        raise procedure.make_refusal(
            "needs the scores themselves", f"give them, or use {', '.join(MOMENT_TESTS)}"
        )
    claim = Claim.of(generalize, {"topic": moments.item}) if generalize is not None else procedure.claim
    default = procedure.method.default_resamples(len(moments.systems))
    resamples = default if n_resamples is None else n_resamples
    estimates = moments.estimates(
        test=procedure.method.name,
        generalize=claim,
        n_resamples=resamples,
        seed=validate_count(seed, "seed", least=0),
        lower_is_better=bool(lower_is_better),
    )
    procedure = replace(procedure, claim=claim)
    compared = compare_estimates(
        estimates, procedure.correction, title=procedure.title, procedure=procedure.name, **pairs
    )
    return replace(compared, resamples=resamples if procedure.draws else None)


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
    scores : object
        Any table that `as_scores` takes.
    test : str
        "t" (paired), "unpaired-t", "wilcoxon", "sign", "mcnemar" (exact, of scores 0 and 1, with Tango's intervals),
        "randomization" (Fisher's, of the mean difference), "bootstrap" (studentised, J15 Algorithm 1), "tukey"
        (randomised Tukey HSD over all systems), "max-t" (largest |t| of all pairs under sign flips of topics,
        step-down).
    correction : str
        "none", "bonferroni", "holm", "bh" or "by"; none for tukey and max-t, which are corrected by construction.
    alternative : str
        "two-sided"; or "greater", that the first system of a pair is better, for t, unpaired-t and randomization. The
        first is the one with the better mean, so that its p-values are too small by half; V17's randomization test is
        of this kind. The intervals stay two-sided.
    n_resamples : int, optional
        Resamples of tests that draw; their p-values are (r + 1)/(B + 1).
    seed : int
        Seed of tests that draw; replicate i depends on (seed, i) only.
    only : sequence of str or sequence of tuple of str, optional
        Systems, or pairs of systems, to which the tests are confined.
    average : sequence of str
        Further dimensions, such as shard or instance, to be averaged per topic first.

    Returns
    -------
    Comparisons
        All pairs, with p-values and intervals.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [0.5, 0.6, 0.7, 0.9], "y": [0.4, 0.4, 0.6, 0.6], "z": [0.4, 0.5, 0.6, 0.7]})
    >>> paired_tests(table, "randomization").to_frame()[["a", "b", "difference", "p"]].round(4)
       a  b  difference      p
    0  x  z       0.125  0.125
    1  x  y       0.175  0.125
    2  z  y       0.050  0.500
    """
    validate_choice(test, "test", TESTS)
    if correction not in STEPWISE:
        raise refuse_unknown("correction", correction, STEPWISE)
    if TESTS[test].joint and correction != "none":
        raise InputError(
            (Option("test", test), " is corrected by construction"), remedy="leave the correction out"
        )
    one_sided = validate_choice(alternative, "alternative", ("two-sided", "greater")) == "greater"
    if one_sided and not TESTS[test].symmetric:
        offered = ", ".join(method.name for method in TESTS.values() if method.symmetric)
        raise InputError((Option("test", test), " has no one-sided form"), remedy=f"use one of {offered}")
    table = as_scores(as_scores(scores).average(tuple(average)), only=True)
    method = TESTS[test]
    if one_sided:
        method = take_one_side(method)
    procedure = Procedure(method, JOINT if method.joint else correction, TOPICS)
    compared = run_procedure(procedure, table, only=only, n_resamples=n_resamples, seed=seed)
    # no name stands for the one-sided form
    return replace(compared, procedure="") if one_sided else compared
