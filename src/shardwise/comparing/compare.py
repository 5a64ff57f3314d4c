"""Compare systems: any scores or fit in, one kind of result out.

Choose the procedure for scores: every command, function and page that takes a method asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shardwise.comparing.comparisons import Comparisons, compare_estimates, refuse_dunnett
from shardwise.core.arguments import lend_executor, validate_choice, validate_count
from shardwise.core.claim import Claim, format_count, pluralize_noun
from shardwise.core.errors import InputError, Option, refuse_unknown
from shardwise.core.model import Model
from shardwise.core.scores import Scores, as_scores
from shardwise.methods.clusters import by_units
from shardwise.methods.method import TOPICS
from shardwise.methods.moderated.statistics import FEWEST_COMMON
from shardwise.methods.names import (
    AVERAGED,
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
from shardwise.methods.pairs import JOINT, Means, Pairs, check_systems, choose_pairs, list_baselines
from shardwise.methods.repeats.unified import (
    KINDS,
    complete_moments,
    infer_repeats,
    instance_spread,
    run_unified,
)
from shardwise.methods.splits import RULES
from shardwise.methods.tables import INSTANCES, SHARDS, SPLITS, TABLE, Dims, Tables, bound_scores
from shardwise.stats.corrections import CORRECTIONS, STEPWISE
from shardwise.stats.intervals import top_share
from shardwise.stats.moderation import NOISY, noise_factors, pair_variances

SAME = 1e-9
"""Means that differ by less than this, relative to their size, are the same."""


def add_mean_errors(estimates: Means, tables: Tables, claim: Claim) -> Means:
    """Add standard errors and degrees of freedom of single means to the estimates of a batch of one.

    Student's, over the topics that a system has; over shards or instances too where the claim is about them.
    """
    if estimates.mean_se is not None:
        return estimates
    # (T, R, M) scores of the only table: what the claim is about is kept, what else varies is averaged
    if not {"shard", "instance"} & set(claim.over) or tables.y.shape[1:] == tables.topic_means().shape[1:]:
        replicates = np.asarray(tables.topic_means()[0][..., None])
    else:
        y, dims = tables.y[0], tables.dims
        if "split" in dims:
            # another split has other shards: the mean over splits is the best guess of one shard's scores
            y, dims = y.mean(axis=dims.index("split")), tuple(d for d in dims if d != "split")
        replicates = np.asarray(y.reshape(*y.shape[:2], -1))
    if replicates.shape[-1] > 1:
        # (R,) errors of means over topics and replicates, NaN for systems that lack single scores
        alike = np.array(tables.deterministic or (False,) * replicates.shape[1])
        present = np.isfinite(replicates)
        replicated = present.any(axis=0)
        whole = (present.all(axis=0) == replicated).all(axis=-1) & (
            replicated.sum(axis=-1) >= np.where(alike, 1, 2)
        )
        se, df = np.full(replicates.shape[1], np.nan), np.full(replicates.shape[1], np.nan)
        if whole.any() and len(replicates) > 1:
            # differences from a deterministic system without topics or spread
            scores = np.pad(replicates[None, :, whole], ((0, 0), (0, 0), (0, 1), (0, 0)))
            spread = instance_spread(scores, np.append(alike[whole], True))
            ia, ib = np.arange(whole.sum()), np.full(whole.sum(), whole.sum())
            moments = complete_moments(np.nanmean(scores, axis=-1), ia, ib)
            _, errors, freedom = run_unified(moments, spread, ia, ib)
            se[whole], df[whole] = errors[0], freedom[0]
    else:
        # (R,) errors of means over the topics that each system has, NaN where the mean is adjusted
        # by a model
        y = replicates[..., 0]
        values = np.asarray(estimates.values)[0]
        present = np.isfinite(y)
        count = present.sum(axis=0)
        mean = np.where(present, y, 0.0).sum(axis=0) / np.maximum(count, 1)
        squares = (np.where(present, y - mean, 0.0) ** 2).sum(axis=0)
        agrees = np.abs(mean - values) <= SAME * max(float(np.abs(values).max(initial=0.0)), 1e-300)
        known = agrees & (count > 1)
        freedom = np.maximum(count - 1.0, 1.0)
        se = np.sqrt(squares / freedom / np.maximum(count, 1))
        df = freedom if tables.unit_df is None else np.full(count.shape, tables.unit_df)
        se, df = np.where(known, se, np.nan), np.where(known, df, np.nan)
    return replace(estimates, mean_se=se[None], mean_df=df[None])


FEWEST_ITEMS, MOST_NAMED, CARRIED = 10, 3, 0.5
"""Items and named systems for remarks, and the share of the differences that few items carry."""


def run_procedure(
    procedure: Procedure,
    scores: Scores,
    *,
    only: Any = None,
    baseline: str | Sequence[str] | None = None,
    n_resamples: int | None = None,
    seed: int = 0,
    directed: bool = False,
) -> Comparisons:
    """Compare the systems of one table of scores that passed the gate."""
    # scores of items, mapped to [0, 1], where their range is known and the claim takes them as a sample
    judged, bounded = scores.people is not None or scores.votes is not None, None
    if "topic" in procedure.claim and not judged and not procedure.method.of_ranks:
        bounded = bound_scores(scores) if scores.unit_df is None else scores.bounded
    scores, _ = by_units(scores)
    nouns = scores.nouns
    made = make_tables(procedure, scores, n_resamples=n_resamples, seed=seed)
    tables = sort_systems(procedure, replace(made, names=scores.systems))
    labels, bases = tables.names, list_baselines(baseline)
    refuse_dunnett(procedure.correction, bases)
    ia, ib = choose_pairs(labels, only, bases or None, directed=directed)
    estimates, pairs = procedure.estimate(tables), procedure.decide(tables, (ia, ib))
    asked = [f"{labels[a]} and {labels[b]}" for a, b in zip(ia, ib, strict=True)]
    all_pairs, posterior = only is None and not bases, procedure.method.posterior
    of_table = add_mean_errors(estimates, tables, procedure.claim).apply(
        lambda array: np.asarray(array, np.float64)[0] if np.ndim(array) else array
    )
    labelled = replace(
        of_table,
        labels=labels,
        claim=_write_claim(procedure, tables, nouns, scores.unit_scope),
        over=procedure.claim,
        nouns=nouns,
        posterior=None if posterior is None else posterior(tables, labels, procedure.claim),
        model=estimates.model or procedure.method.title,
        scale=float(np.ravel(estimates.scale)[0]) if scores.unit_scale is None else scores.unit_scale,
        bounded=None if bounded is None else bounded.select_systems(labels),
        lower_is_better=tables.lower_is_better,
        notes=(
            *estimates.notes,
            *name_untested(pairs, asked, nouns.get("topic", "topic")),
            *warn_of_systems(procedure, tables, all_pairs, bounded is not None),
        ),
    )
    title = procedure.title + (f" against {' and '.join(bases)}" if bases else "")
    resamples = tables.n_resamples if procedure.draws else None
    return Comparisons(labelled, ia, ib, pairs, title, procedure.name, directed or bool(bases), resamples)


def make_tables(
    procedure: Procedure, scores: Scores, *, n_resamples: int | None = None, seed: int = 0
) -> Tables:
    """Make a batch of one of scores that passed the gate, or refuse them with the reason."""
    dims, method = scores.dims, procedure.method
    if dims not in procedure.layouts:
        raise procedure.make_refusal(
            f"cannot take scores by {', '.join(dims)}", f"it takes {procedure.takes}"
        )
    options: dict[str, Any] = {"lower_is_better": scores.measure.lower_is_better}
    if scores.has_copies:
        options["deterministic"] = tuple(scores.deterministic.tolist())  # type: ignore[union-attr]
    if scores.unit_df is not None:
        # clusters and tasks may be units where a method looks at means
        if method.of_items or not method.sound:
            raise procedure.make_refusal(
                "looks at single items, which clusters and tasks make unequal",
                "use 'moderated' or 't holm', which look at means",
            )
        options["unit_df"] = scores.unit_df
    if scores.people is not None:
        if not method.uses_people:
            raise procedure.make_refusal(
                "looks at the judge alone", "use 'ppi holm', or leave out the scores by people"
            )
        options |= {"human": scores.people[None], "cluster": scores.cluster, "task": scores.task}
    if scores.votes is not None or method.uses_votes:
        if scores.votes is None:
            raise procedure.make_refusal(
                "needs votes, and these are scores",
                "give a file of votes with the columns model_a, model_b and winner, or leave out the method",
            )
        if not method.uses_votes:
            raise procedure.make_refusal(
                "needs scores of items, and these are votes", ("use ", Option("method", "bradley-terry"))
            )
        places = {name: k for k, name in enumerate(scores.votes.systems)}
        members = np.array([places[name] for name in scores.systems])
        options["votes"] = (scores.votes.units.select_systems(members),)
    if method.takes_single_items and scores.cluster is not None:
        options["cluster"] = scores.cluster
    if scores.unpaired and not method.takes_single_items:
        nouns = scores.nouns
        topic, system = nouns.get("topic", "topic"), nouns.get("system", "system")
        raise InputError(
            f"no {topic} has scores of two {pluralize_noun(system)}, and {procedure.name} compares them on the same"
            f" {pluralize_noun(topic)}",
            remedy=("use ", Option("method", "games-howell"), ", which compares unpaired scores"),
            argument="method",
            value=procedure.name,
        )
    # gaps are kept, refused or left out as the method does
    gaps = scores.has_gaps
    if method.takes_gaps_for(procedure.claim) or (gaps and leaves_out_gaps(procedure, scores)):
        y = np.asarray(scores.values, dtype=float)
    elif gaps and method.takes_common_gaps:
        raise InputError(
            f"{int(scores.find_missing().sum())} scores are missing for some systems only; {procedure.name} leaves out"
            " only what all systems lack",
            remedy=(
                "drop those topics or systems, or use ",
                Option("method", " ".join(("MD6 holm", *filter(None, ["+".join(procedure.claim.over)])))),
                ", which leaves out any score",
            ),
            argument="scores",
        )
    else:
        if scores.has_copies and "instance" in dims:
            # the scores of a deterministic system stand for all instances
            y = np.array(scores.values, dtype=float)
            fixed = np.flatnonzero(options["deterministic"])
            rows = np.moveaxis(y, scores.over("system", "instance"), (0, -1))
            rows[fixed] = np.fmax.reduce(rows[fixed], axis=-1)[..., None]
            scores = scores.with_values(y)
        y = scores.require_complete(least={"system": 1} | {d: 1 for d in dims if d not in TABLE})
    if method.of_ranks and not scores.measure.lower_is_better:
        # mean ranks count from the best, as Demšar's do
        y, options["lower_is_better"] = -y, True
    systems = y.shape[dims.index("system")]
    resamples = method.default_resamples(systems) if n_resamples is None else n_resamples
    return Tables.one(y, dims, seed=validate_count(seed, "seed", least=0), n_resamples=resamples, **options)


def leaves_out_gaps(procedure: Procedure, scores: Scores) -> bool:
    """Return whether a procedure can leave out what these scores lack."""
    method, claim = procedure.method, procedure.claim
    if method.takes_gaps_for(claim) or not scores.has_gaps:
        return True
    return method.takes_common_gaps and not scores.find_missing().any()


def sort_systems(procedure: Procedure, tables: Tables) -> Tables:
    """Return a batch of one with its systems by their estimated means, the best first, ties in the order given."""
    y = tables.topic_means()[0]
    present = np.isfinite(y)
    values = np.where(present, y, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    # a method that adjusts means for gaps or by people's scores may order them otherwise than plain means
    for adjusted in (False, True):
        if adjusted:
            values = procedure.estimate(tables).values[0]
            check_systems(tables.names, values)
        order = np.argsort(-tables.sign * values, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            tables = tables.select_systems(order)
    return tables


def name_untested(tested: Pairs, pairs: Sequence[str], topic: str) -> tuple[str, ...]:
    """Return a note on the pairs that share too few topics to be tested, with how many they share; none if all do."""
    few = np.flatnonzero(np.isnan(tested.p[0]))
    if tested.units is None or not few.size:
        return ()
    counts = [format_count(int(n), f"common {topic}") for n in tested.units[0, few]]
    named = [f"{pairs[k]} ({count})" for k, count in zip(few.tolist(), counts, strict=True)][:MOST_NAMED]
    more = f" and {len(few) - MOST_NAMED:,} more pairs" if len(few) > MOST_NAMED else ""
    least = format_count(FEWEST_COMMON, f"common {topic}")
    return (f"not tested, as a pair needs {least}: {', '.join(named)}{more}",)


def warn_of_systems(procedure: Procedure, tables: Tables, all_pairs: bool, bounded: bool) -> tuple[str, ...]:
    """Name systems that are far more variable than the others, and differences that few items carry."""
    y = tables.topic_means()[0]
    if tables.votes or "topic" not in procedure.claim or len(y) < FEWEST_ITEMS or not np.isfinite(y).all():
        return ()
    notes = []
    if all_pairs and procedure.method.bounded_statistic:
        factors = noise_factors(pair_variances(y))
        notes = [
            f"{tables.names[k]} is {factors[k]:.1f} times as variable as the typical system and widens all intervals;"
            " they are narrower without it"
            for k in np.flatnonzero(factors >= NOISY)[:MOST_NAMED]
        ]
    if not bounded:
        shares = top_share((y[:, [0]] - y[:, 1:]).T)
        if float(np.median(shares)) >= CARRIED:
            notes.append(
                "5% of the items carry half of the differences or more: means are unsteady;"
                " compare logarithms"
            )
    return tuple(notes)


def _write_claim(procedure: Procedure, tables: Tables, nouns: Mapping[str, str], scope: str) -> str:
    """Return the claim in words; where splits are averaged, it is about any split and not about the shards of one."""
    sizes: dict[str, int | tuple[int, int]] = dict(tables.shape)
    if "instance" in sizes:
        # the fewest and most instances of systems that are not deterministic
        counts = np.isfinite(tables.y[0]).any(axis=0).sum(axis=-1)
        random = counts[~np.array(tables.deterministic)] if any(tables.deterministic) else counts
        sizes["instance"] = (int(random.min()), int(random.max())) if random.size else 1
    splits = sizes.pop("split", None)
    averaged = splits is not None and procedure.rule in AVERAGED
    if averaged and "shard" not in procedure.claim:
        del sizes["shard"]
    sentence = procedure.claim.sentence(sizes, nouns, suffix=scope)
    if averaged:
        return f"{sentence}, any split ({splits} seen)"
    if splits is None or procedure.rule == "first":
        return sentence
    return f"{sentence}, {RULES[procedure.rule].scope.format(n=splits)}"


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
        validate_choice(repeats, "repeats", KINDS)
        if scores.dims != INSTANCES:
            raise InputError(
                (Option("repeats", repeats), f" has no effect on scores by {', '.join(scores.dims)}"),
                remedy="leave it out, or give scores of several instances of a system",
            )
        if method is not None or model is not None:
            raise InputError(
                (Option("repeats", repeats), " is given, and a method too"),
                remedy="leave one out: unified takes instances as seeds, samples as samples",
                argument="method",
            )
        method = OF_SAMPLES if repeats == "samples" else DEFAULTS[INSTANCES].procedure
    if model is not None:
        from shardwise.methods.anova.method import make_anova  # few comparisons need it

        if isinstance(method, Procedure) or (method or "hsd") not in CORRECTIONS:
            raise InputError(
                f"{method} is a procedure of its own, and a model is given too",
                remedy="name a correction with the model, or the procedure alone",
                argument="method",
            )
        anova = make_anova(Model.parse(model) if isinstance(model, str) else model)
        if not anova.layouts_by_claim:
            raise InputError(
                f"model {model} compares no systems", remedy="add the term system", argument="model"
            )
        procedure = Procedure(anova, method or "hsd", anova.default_claim)
    elif method is None:
        procedure = parse_procedure(choose_default(scores))
    else:
        default, suits = partial(choose_default, scores), partial(_runs_on, scores)
        procedure = parse_procedure(method, scores.dims, default, suits)
    dims, nouns = scores.dims, scores.nouns
    procedure = procedure.for_layout(dims)
    if generalize is None:
        return procedure
    claim, known = Claim.of(generalize, nouns).check(dims), list_claims_on(procedure, dims)
    if claim not in known:
        raise refuse_claim(procedure, claim, known, nouns)
    return known[claim]


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
    from shardwise.methods.moments.fit import TESTS as MOMENT_TESTS
    from shardwise.methods.moments.fit import ScoreMoments

    with lend_executor(executor):
        draws: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed}
        pairs: dict[str, Any] = {"only": only, "baseline": baseline}
        declared: dict[str, Any] = {"columns": columns, "range": range, "lower_is_better": lower_is_better}
        if isinstance(source, ScoreMoments):
            _refuse_choices("moments", {"repeats": repeats, "columns": columns, "range": range, **options})
            # by a procedure that needs no more than moments
            usual = DEFAULTS[TABLE].procedure
            procedure = parse_procedure(method or usual, TABLE, lambda: usual)
            if procedure.method.name not in MOMENT_TESTS or procedure.rule or TABLE not in procedure.layouts:
                raise procedure.make_refusal(
                    "needs the scores themselves", f"give them, or use {', '.join(MOMENT_TESTS)}"
                )
            claim = (
                Claim.of(generalize, {"topic": source.item}) if generalize is not None else procedure.claim
            )
            default = procedure.method.default_resamples(len(source.systems))
            resamples = default if n_resamples is None else n_resamples
            estimates = source.estimates(
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
        if isinstance(source, Means) or hasattr(source, "estimates"):
            _refuse_choices("a fit", {"columns": columns, "range": range})
            options |= {} if repeats is None else {"repeats": repeats}
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
        _refuse_choices("scores", options)
        scores, generalize = by_units(as_scores(source, **declared), generalize)
        return run_procedure(choose_procedure(scores, method, generalize, repeats), scores, **pairs, **draws)


def _refuse_choices(what: str, choices: Mapping[str, Any]) -> None:
    """Refuse choices that mean nothing for what is compared."""
    if idle := [name for name, value in choices.items() if value is not None]:
        raise InputError(
            f"{', '.join(idle)} cannot be chosen for {what}", remedy="leave it out", argument=idle[0]
        )


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
