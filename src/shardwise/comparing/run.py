"""Run a procedure on one table of scores: scores -> a batch of one -> Comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim, format_count, pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import (
    Scores,
    in_canonical_order,
    is_unpaired,
    layout_of,
    level_names,
    missing_cells,
    nouns_of,
    require_complete,
)
from shardwise.methods.clusters import by_units
from shardwise.methods.intervals import BOUNDED, BoundedScores, bound_scores
from shardwise.methods.means import add_mean_errors
from shardwise.methods.moderated.statistics import FEWEST_COMMON
from shardwise.methods.names import AVERAGED, Procedure
from shardwise.methods.pairs import Pairs, check_systems, choose_pairs, list_baselines
from shardwise.methods.splits import RULES
from shardwise.methods.tables import TABLE, Dims, Tables
from shardwise.stats.intervals import top_share
from shardwise.stats.moderation import NOISY, noise_factors, pair_variances

FEWEST_ITEMS, MOST_NAMED, CARRIED = 10, 3, 0.5
"""Items and named systems for remarks, and the share of the differences that few items carry."""


def run_procedure(
    procedure: Procedure,
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
    procedure : Procedure
        Method, correction and claim.
    scores : DataArray
        Labelled scores of a layout that the procedure takes.
    only : sequence, optional
        Systems, or pairs of systems.
    baseline : str or sequence of str, optional
        A system, or several, with which all others are compared.
    directed : bool
        Whether the pairs of ``only`` keep their direction, whichever system is better.
    n_resamples : int, optional
        Resamples of methods that draw; as many as the method's default without it.
    seed : int
        Seed of methods that draw.

    Returns
    -------
    Comparisons
        The pairs asked for.
    """
    bounded = None if procedure.method.of_ranks else find_bounded(scores, procedure.claim)
    scores, _ = by_units(scores)
    gated = Scores(scores)
    tables = make_tables(procedure, scores, n_resamples=n_resamples, seed=seed)
    return compare_tables(
        procedure,
        tables,
        level_names(scores, "system"),
        nouns_of(scores),
        only=only,
        baseline=baseline,
        directed=directed,
        scope=gated.unit_scope,
        scale=gated.unit_scale,
        bounded=bounded,
    )


def find_bounded(scores: xr.DataArray, claim: Claim) -> BoundedScores | None:
    """Return the scores of items, mapped to [0, 1], where their range is known and the claim takes them as a sample.

    Parameters
    ----------
    scores : DataArray
        Scores that passed the gate, of items or of units that were made of items.
    claim : Claim
        What a difference is about.

    Returns
    -------
    BoundedScores or None
        None where people's scores correct a judge's, scores are strengths fitted to votes, or the claim is about
        exactly these topics.
    """
    gated = Scores(scores)
    if "topic" not in claim or gated.human is not None or gated.votes is not None:
        return None
    if gated.unit_df is not None:
        made: BoundedScores | None = scores.attrs.get(BOUNDED)
        return made
    return bound_scores(scores)


def make_tables(
    procedure: Procedure, scores: xr.DataArray, *, n_resamples: int | None = None, seed: int = 0
) -> Tables:
    """Make a batch of one of scores that passed the gate, or refuse them with the reason.

    Parameters
    ----------
    procedure : Procedure
        What is going to be run.
    scores : DataArray
        Labelled scores.
    n_resamples, seed
        As for `run_procedure`.

    Returns
    -------
    Tables
        One table with all that methods ask of it.
    """
    dims, method = layout_of(scores), procedure.method
    if dims not in procedure.layouts:
        raise procedure.make_refusal(
            f"cannot take scores by {', '.join(dims)}", f"it takes {procedure.takes}"
        )
    gated = Scores(scores)
    options: dict[str, Any] = {"lower_is_better": gated.measure.lower_is_better}
    if gated.deterministic:
        options["deterministic"] = gated.deterministic
    if gated.unit_df is not None:
        if not method.takes_units:
            raise procedure.make_refusal(
                "looks at single items, which clusters and tasks make unequal",
                "use 'moderated' or 't holm', which look at means",
            )
        options["unit_df"] = gated.unit_df
    if gated.human is not None:
        options |= _people_options(procedure, gated)
    if gated.votes is not None or method.uses_votes:
        # what the errors of strengths are made of; refused where a test would take them for
        # scores of items
        if gated.votes is None:
            raise procedure.make_refusal(
                "needs votes, and these are scores",
                "give a file of votes with the columns model_a, model_b and winner, or leave out the method",
            )
        if not procedure.method.uses_votes:
            raise procedure.make_refusal(
                "needs scores of items, and these are votes", ("use ", Option("method", "bradley-terry"))
            )
        places = {name: k for k, name in enumerate(gated.votes.systems)}
        options["votes"] = (
            gated.votes.units.select_systems(
                np.array([places[name] for name in level_names(scores, "system")])
            ),
        )
    if method.takes_single_items and gated.cluster is not None:
        options["cluster"] = gated.cluster
    if is_unpaired(scores):
        _refuse_unpaired(procedure, scores)
    return batch_of_one(
        procedure,
        _extract_values(procedure, scores, dims),
        dims,
        n_resamples=n_resamples,
        seed=seed,
        **options,
    )


def _refuse_unpaired(procedure: Procedure, scores: xr.DataArray) -> None:
    """Refuse a test of items that systems share where they share none."""
    if not procedure.method.takes_single_items:
        nouns = nouns_of(scores)
        topic, system = nouns.get("topic", "topic"), nouns.get("system", "system")
        raise InputError(
            f"no {topic} has scores of two {pluralize_noun(system)}, and {procedure.name} compares them on the same"
            f" {pluralize_noun(topic)}",
            remedy=("use ", Option("method", "games-howell"), ", which compares unpaired scores"),
            argument="method",
            value=procedure.name,
        )


def _extract_values(procedure: Procedure, scores: xr.DataArray, dims: Dims) -> Floats:
    """Return the scores as an array; gaps are kept, refused or left out as the method does."""
    gaps = bool(np.isnan(scores.values).any())
    if procedure.method.takes_gaps_for(procedure.claim) or (gaps and leaves_out_gaps(procedure, scores)):
        return np.asarray(in_canonical_order(scores).values, dtype=float)
    if gaps and procedure.method.takes_common_gaps:
        raise InputError(
            f"{int(missing_cells(scores).sum())} scores are missing for some systems only; {procedure.name} leaves out"
            " only what all systems lack",
            remedy=(
                "drop those topics or systems, or use ",
                Option("method", " ".join(("MD6 holm", *filter(None, ["+".join(procedure.claim.over)])))),
                ", which leaves out any score",
            ),
            argument="scores",
        )
    return require_complete(
        _copy_deterministic(scores), least={"system": 1} | {d: 1 for d in dims if d not in TABLE}
    )


def _copy_deterministic(scores: xr.DataArray) -> xr.DataArray:
    """The same scores with those of a deterministic system copied to all instances."""
    flags = Scores(scores).deterministic
    if not flags or "instance" not in scores.dims:
        return scores
    random = xr.DataArray(~np.array(flags), dims="system")
    return scores.where(random, scores.max("instance"))


def _people_options(procedure: Procedure, scores: Scores) -> dict[str, Any]:
    """Scores by people with clusters and tasks; refused where a test would look at the judge alone."""
    if not procedure.method.uses_people:
        raise procedure.make_refusal(
            "looks at the judge alone", "use 'ppi holm', or leave out the scores by people"
        )
    assert scores.human is not None
    options: dict[str, Any] = {"human": scores.human[None]}
    options |= {} if scores.cluster is None else {"cluster": scores.cluster}
    options |= {} if scores.task is None else {"task": scores.task}
    return options


def batch_of_one(
    procedure: Procedure,
    y: Floats,
    dims: Dims,
    *,
    n_resamples: int | None = None,
    seed: int = 0,
    **options: Any,
) -> Tables:
    """Make a batch of one of an array of a layout that the procedure takes.

    Parameters
    ----------
    procedure : Procedure
        What is going to be run, which knows how many resamples are its default.
    y : array
        Scores, an axis a dimension.
    dims : tuple of str
        Names of the axes.
    n_resamples, seed
        As for `run_procedure`.
    **options
        Further fields of `Tables`.

    Returns
    -------
    Tables
        One table.
    """
    systems = y.shape[dims.index("system")]
    resamples = procedure.method.default_resamples(systems) if n_resamples is None else n_resamples
    return Tables.one(y, dims, seed=validate_count(seed, "seed", least=0), n_resamples=resamples, **options)


def leaves_out_gaps(procedure: Procedure, scores: xr.DataArray) -> bool:
    """Return whether a procedure can leave out what these scores lack.

    Parameters
    ----------
    procedure : Procedure
        Any procedure.
    scores : DataArray
        Labelled scores that passed the gate.

    Returns
    -------
    bool
        Always where nothing is missing; some methods leave out only what all systems lack.
    """
    method, claim = procedure.method, procedure.claim
    if method.takes_gaps_for(claim) or not scores.isnull().any():
        return True
    return method.takes_common_gaps and not missing_cells(scores).any()


def compare_tables(
    procedure: Procedure,
    tables: Tables,
    labels: tuple[str, ...],
    nouns: Mapping[str, str] | None = None,
    *,
    only: Any = None,
    baseline: str | Sequence[str] | None = None,
    directed: bool = False,
    scope: str = "",
    scale: float | None = None,
    bounded: BoundedScores | None = None,
) -> Comparisons:
    """Compare the systems of a batch of one.

    Parameters
    ----------
    procedure : Procedure
        Method, correction and claim.
    tables : Tables
        One table of a layout that the procedure takes.
    labels : tuple of str
        Names of the systems.
    nouns : mapping, optional
        The user's words for the dimensions.
    only, baseline, directed
        As for `run_procedure`.
    scope : str
        What the claim says of topics beside their number.
    scale : float, optional
        What effect sizes are measured by, where the method is not to say it.
    bounded : BoundedScores, optional
        Scores of the items behind the table, where their range is known.

    Returns
    -------
    Comparisons
        The pairs asked for.
    """
    words = dict(nouns or {})
    tables, labels = sort_systems(procedure, replace(tables, names=labels), labels)
    estimates = procedure.estimate(tables)
    bases = list_baselines(baseline)
    if procedure.correction == "dunnett" and len(bases) != 1:
        raise InputError(
            "Dunnett's test compares with one system", remedy=("name it by ", Option("baseline"))
        )
    ia, ib = choose_pairs(labels, only, bases or None, directed=directed)
    decisions = procedure.decide(tables, (ia, ib))
    posterior = procedure.method.posterior
    asked = [f"{labels[a]} and {labels[b]}" for a, b in zip(ia, ib, strict=True)]
    untested = name_untested(decisions, asked, words.get("topic", "topic"))
    of_table = add_mean_errors(estimates, tables, procedure.claim).apply(
        lambda array: np.asarray(array, np.float64)[0] if np.ndim(array) else array
    )
    labelled = replace(
        of_table,
        labels=labels,
        claim=_claim_sentence(procedure, tables, words, scope),
        over=procedure.claim,
        nouns=words,
        posterior=None if posterior is None else posterior(tables, labels, procedure.claim),
        model=estimates.model or procedure.method.title,
        scale=float(np.ravel(estimates.scale)[0]) if scale is None else scale,
        bounded=None if bounded is None else bounded.select_systems(labels),
        lower_is_better=tables.lower_is_better,
        notes=(
            *estimates.notes,
            *untested,
            *warn_of_systems(procedure, tables, labels, only is None and not bases, bounded is not None),
        ),
    )
    against = f" against {' and '.join(bases)}" if bases else ""
    return Comparisons(
        labelled,
        ia,
        ib,
        decisions,
        procedure.title + against,
        procedure.name,
        directed or bool(bases),
        tables.n_resamples if procedure.draws else None,
    )


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


def warn_of_systems(
    procedure: Procedure, tables: Tables, labels: tuple[str, ...], all_pairs: bool, bounded: bool
) -> tuple[str, ...]:
    """Name systems that are far more variable than the others, and differences that few items carry.

    Parameters
    ----------
    procedure : Procedure
        What is run.
    tables : Tables
        One table, best system first.
    labels : tuple of str
        Names of the systems.
    all_pairs : bool
        Whether all pairs were asked for; nothing is said of systems where they were not.
    bounded : bool
        Whether scores are known to have a range, in which no item can carry much.

    Returns
    -------
    tuple of str
        Notes.
    """
    y = tables.topic_means()[0]
    if tables.votes or "topic" not in procedure.claim or len(y) < FEWEST_ITEMS or not np.isfinite(y).all():
        return ()
    notes = []
    if all_pairs and procedure.method.bounded_statistic:
        factors = noise_factors(pair_variances(y))
        notes = [
            f"{labels[k]} is {factors[k]:.1f} times as variable as the typical system and widens all intervals;"
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


def sort_systems(
    procedure: Procedure, tables: Tables, labels: tuple[str, ...]
) -> tuple[Tables, tuple[str, ...]]:
    """Put the systems of a batch of one in the order of their estimated means, the best first, ties in the order given.

    Parameters
    ----------
    procedure : Procedure
        What estimates the means.
    tables : Tables
        One table.
    labels : tuple of str
        Names of the systems.

    Returns
    -------
    tuple
        The table and the names, best system first.
    """
    y = tables.topic_means()[0]
    present = np.isfinite(y)
    plain_means = np.where(present, y, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    tables, labels = _reorder_systems(tables, labels, plain_means)
    # a method that adjusts means for gaps or by people's scores may order them otherwise
    estimated = procedure.estimate(tables).values[0]
    check_systems(labels, estimated)
    return _reorder_systems(tables, labels, estimated)


def _reorder_systems(
    tables: Tables, labels: tuple[str, ...], values: Floats
) -> tuple[Tables, tuple[str, ...]]:
    order = np.argsort(-tables.sign * values, kind="stable")
    if np.array_equal(order, np.arange(len(order))):
        return tables, labels
    return tables.select_systems(order), tuple(labels[k] for k in order)


def _claim_sentence(procedure: Procedure, tables: Tables, nouns: dict[str, str], scope: str) -> str:
    """The claim in words; where splits are averaged, it is about any split and not about the shards of one."""
    sizes = count_levels(tables)
    splits = sizes.pop("split", None)
    if splits is None or procedure.rule == "first":
        return procedure.claim.sentence(sizes, nouns, suffix=scope)
    if procedure.rule not in AVERAGED:
        sentence = procedure.claim.sentence(sizes, nouns, suffix=scope)
        return f"{sentence}, {RULES[procedure.rule].scope.format(n=splits)}"
    if "shard" not in procedure.claim:
        del sizes["shard"]
    return f"{procedure.claim.sentence(sizes, nouns, suffix=scope)}, any split ({splits} seen)"


def count_levels(tables: Tables) -> dict[str, int | tuple[int, int]]:
    """Count the levels of the dimensions that a claim is about; instances as the fewest and most of random systems."""
    sizes: dict[str, int | tuple[int, int]] = dict(tables.shape)
    if "instance" in sizes:
        counts = np.isfinite(tables.y[0]).any(axis=0).sum(axis=-1)
        random = counts[~np.array(tables.deterministic)] if any(tables.deterministic) else counts
        sizes["instance"] = (int(random.min()), int(random.max())) if random.size else 1
    return sizes
