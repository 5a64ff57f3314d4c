"""Run a procedure on one table of scores: scores -> a batch of one -> Comparisons.

Estimate how well each system's mean by itself is known, for intervals of single means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shardwise.comparing.comparisons import Comparisons, refuse_dunnett
from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Bools, Floats
from shardwise.core.claim import Claim, format_count, pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import Scores
from shardwise.methods.clusters import by_units
from shardwise.methods.intervals import BoundedScores, bound_scores
from shardwise.methods.moderated.statistics import FEWEST_COMMON
from shardwise.methods.names import AVERAGED, Procedure
from shardwise.methods.pairs import Means, Pairs, check_systems, choose_pairs, list_baselines
from shardwise.methods.repeats.unified import complete_moments, instance_spread, run_unified
from shardwise.methods.splits import RULES
from shardwise.methods.tables import TABLE, Tables
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
            _, errors, freedom = mean_spread(replicates[None, :, whole], alike[whole])
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


def mean_spread(y: Floats, deterministic: Bools) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and degrees of freedom of each system, (B, R) each, for topics like these.

    Scores are (B, T, R, M), replicates being a sample too unless a system is deterministic. A mean is the difference
    from a system that always scores 0: its variance is s²/T, and max(MS_M - MS_E, 0)/(M T) more with replicates.

    >>> y = np.array([[[0.2, 0.5], [0.4, 0.5], [0.9, 0.8]]])[..., None]
    >>> mean, se, df = mean_spread(y, np.array([True, True]))
    >>> mean.tolist(), se.round(4).tolist(), df.round(4).tolist()  # scipy.stats.sem has the same
    ([[0.5, 0.6]], [[0.2082, 0.1]], [[2.0, 2.0]])
    """
    r = y.shape[2]
    with_zero = np.concatenate([y, np.zeros((*y.shape[:2], 1, y.shape[3]))], axis=2)
    spread = instance_spread(with_zero, np.append(deterministic, True))
    ia, ib = np.arange(r), np.full(r, r)
    return run_unified(complete_moments(np.nanmean(with_zero, axis=-1), ia, ib), spread, ia, ib)


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
    by_range: bool = True,
) -> Comparisons:
    """Compare the systems of one table of scores that passed the gate."""
    bounded = find_bounded(scores, procedure) if by_range else None
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


def find_bounded(scores: Scores, procedure: Procedure) -> BoundedScores | None:
    """Return the scores of items, mapped to [0, 1], where their range is known and the claim takes them as a sample.

    None where people's scores correct a judge's, scores are strengths fitted to votes or ranks, or the claim is about
    exactly these topics.
    """
    judged = scores.people is not None or scores.votes is not None
    if "topic" not in procedure.claim or judged or procedure.method.of_ranks:
        return None
    of_items: BoundedScores | None = scores.bounded
    return bound_scores(scores) if scores.unit_df is None else of_items


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
        if not method.takes_units:
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
