"""The same comparison on many splits of the documents, and one conclusion from all of them (V17 §5, F19 §9.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import xarray as xr

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.core.arguments import Progress, validate_choice
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import Either, InputError, Option, refuse_unknown
from shardwise.core.model import Model
from shardwise.core.scores import as_scores
from shardwise.methods.anova.fit import anova
from shardwise.methods.base import Estimates
from shardwise.methods.bootstrap.fit import bootstrap_anova
from shardwise.methods.decisions import Decisions
from shardwise.methods.pairs import Pairs
from shardwise.methods.splits import COMBINED, RULES, combine_p_values
from shardwise.stats.corrections import STEPWISE, step_up

Signs = npt.NDArray[np.int8]
Fit = Literal["anova", "bootstrap"] | Callable[[xr.DataArray, Model | str], Any]


def over_splits(
    scores: Any,
    model: Model | str,
    method: str = "hsd",
    *,
    fit: Fit = "anova",
    n_resamples: int | None = None,
    seed: int = 0,
    only: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    baseline: str | None = None,
    progress: Progress | None = None,
    **claim: Any,
) -> tuple[Comparisons, ...]:
    """Fit and compare each split by itself.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes, with splits.
    model : Model or str
        A `Model`, its name, or a formula, as for `anova`.
    method : str
        The correction, as for `compare`.
    fit : {"anova", "bootstrap"} or callable
        "anova", "bootstrap", or a function of the scores of one split and the model.
    n_resamples : int, optional
        Resamples of the bootstrap; the ideal one, if None.
    seed : int
        Where random numbers start; the bootstrap of split i is seeded by (seed, i).
    only : sequence of str or sequence of tuple of str, optional
        Systems or pairs to compare, as for `compare`.
    baseline : str, optional
        Systems or pairs to compare, as for `compare`.
    progress : callable, optional
        Called with (splits done, splits in all).
    **claim
        What the estimates of the fit take: ``generalize``, as a `Claim`, names or text; for the bootstrap ``null``,
        ``tails`` and so on.

    Returns
    -------
    tuple of Comparisons
        The comparisons of each split.

    >>> rng = np.random.default_rng(3)
    >>> values = rng.normal([[[[0.2], [0.3], [0.4]]]], 0.05, (4, 20, 3, 2))
    >>> scores = xr.DataArray(values, dims=("split", "topic", "system", "shard"))
    >>> [int(c.reject().sum()) for c in over_splits(scores, "topic*system", fit="bootstrap", method="bh")]
    [3, 3, 3, 3]
    """
    table = with_splits(scores, model)
    if n_resamples is not None and fit != "bootstrap":
        raise InputError(
            (Option("n_resamples"), " is for ", Option("fit", "bootstrap")), remedy="leave it out"
        )
    comparisons: list[Comparisons] = []
    total = table.sizes["split"]
    for i in range(total):
        one_split = table.isel(split=i)
        try:
            fitted: Any
            if fit == "anova":
                fitted = anova(one_split, model)
            elif fit == "bootstrap":
                split_seed = int(np.random.SeedSequence(seed, spawn_key=(i,)).generate_state(1)[0])
                fitted = bootstrap_anova(one_split, model, n_resamples=n_resamples, seed=split_seed)
            elif callable(fit):
                fitted = fit(one_split, model)
            else:
                raise refuse_unknown("fit", fit, ("anova", "bootstrap"))
            comparisons.append(
                compare_estimates(fitted.estimates(**claim), method, only=only, baseline=baseline)
            )
        except InputError as error:
            raise error.add_location(f"split {i}") from error
        if progress is not None:
            progress(i + 1, total)
    return tuple(comparisons)


def with_splits(scores: Any, model: Model | str) -> xr.DataArray:
    """Scores with splits through the gate; dimensions that a model names keep the user's names, as in `anova`."""
    named = Model.parse(model) if isinstance(model, str) else model
    table = as_scores(scores, needs=(), keep=named.dimensions)
    if "split" not in table.dims:
        raise InputError(
            "the scores have no dimension split",
            remedy=Either(
                "score with splits, as in score(runs, 'AP', splits)",
                "score them on several, as in --splits 11",
            ),
        )
    return table


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """The same pairs in several comparisons: systems best first by their mean estimate."""

    estimates: Estimates
    ia: Ints
    ib: Ints
    difference: Floats  # (J, P): of the first system less the second
    se: Floats  # (J, P)
    agrees: Bools  # (J, P): whether the comparison puts the pair in the order of the mean estimates
    p: Floats  # (J, P)
    p_adjusted: Floats  # (J, P)

    def pair_signs(self, alpha: float) -> Signs:
        """Return (J, P): 1 where the first system is significantly better, -1 where the second, 0 where neither."""
        return np.where(self.p_adjusted <= alpha, np.where(self.agrees, 1, -1), 0).astype(np.int8)


def align_pairs(comparisons: Sequence[Comparisons]) -> Aligned:
    """Put comparisons of the same pairs of systems into one order."""
    if not comparisons:
        raise InputError("there are no comparisons", remedy="give at least one")
    first = comparisons[0].estimates
    position = {label: k for k, label in enumerate(first.labels)}
    if any(set(c.estimates.labels) != set(position) for c in comparisons):
        raise InputError(
            "the comparisons are not of the same systems", remedy="compare the same systems in each"
        )
    values = np.zeros(len(position))
    for c in comparisons:
        values[[position[label] for label in c.estimates.labels]] += c.means / len(comparisons)
    order = np.argsort(-first.sign * values, kind="stable")
    rank = np.argsort(order)
    rows = [
        _in_order(c, rank[[position[label] for label in c.estimates.labels]], len(position))
        for c in comparisons
    ]
    codes = rows[0][0]
    if any(not np.array_equal(codes, row[0]) for row in rows):
        raise InputError(
            "the comparisons are not of the same pairs",
            remedy=("give all the same ", Option("only"), " and ", Option("baseline")),
        )
    scales = [np.ravel(c.estimates.scale)[0] for c in comparisons]
    estimates = Estimates(
        labels=tuple(first.labels[k] for k in order),
        values=values[order],
        variance=float("nan"),
        df=float("nan"),
        claim=first.claim,
        model=first.model,
        error=first.error,
        scale=float(np.mean(scales)),
        over=first.over,
        nouns=first.nouns,
        lower_is_better=first.lower_is_better,
    )
    figures = (np.stack(column) for column in list(zip(*rows, strict=True))[1:])
    return Aligned(estimates, codes // len(position), codes % len(position), *figures)


def _in_order(c: Comparisons, rank: Ints, systems: int) -> tuple[Ints, Floats, Floats, Bools, Floats, Floats]:
    """Codes of the pairs in ascending order, differences and errors, whether each is in the common order, p-values."""
    a, b = rank[c.ia], rank[c.ib]
    codes = np.asarray(np.minimum(a, b) * systems + np.maximum(a, b), np.int64)
    order = np.argsort(codes)
    difference = np.where(a < b, c.difference, -c.difference)
    return tuple(x[order] for x in (codes, difference, c.se, a < b, c.p, c.p_adjusted))  # type: ignore[return-value]


def unanimous(comparisons: Sequence[Comparisons]) -> Comparisons:
    """Take two systems as different only if every split says so, and the same one is better (V17 Fig. 7).

    The p-value of a pair is the largest of the splits; an inverted order counts as 1.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.

    Returns
    -------
    Comparisons
        One set of comparisons for all splits.
    """
    return _combine_splits(comparisons, "unanimous", "unanimous")


def majority(comparisons: Sequence[Comparisons]) -> Comparisons:
    """Take two systems as different if more than half of the splits say so, for the one with the better mean.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.

    Returns
    -------
    Comparisons
        One set of comparisons for all splits.
    """
    return _combine_splits(comparisons, "majority", "majority")


def _combine_splits(comparisons: Sequence[Comparisons], rule: str, correction: str) -> Comparisons:
    """Draw one conclusion from comparisons of several splits, by a rule of `RULES`."""
    both = align_pairs(comparisons)
    p, p_adjusted = combine_p_values(rule, both.p, both.p_adjusted, both.agrees, correction)
    if rule in COMBINED:
        title = f"{RULES[rule].title} ({len(comparisons)}) with {STEPWISE[correction].title}"
    else:
        title = f"{rule} over {len(comparisons)} splits, each {comparisons[0].title}"
    return _build_comparisons(
        both, p, p_adjusted, correction, title, RULES[rule].scope.format(n=len(comparisons))
    )


def combined_p(
    comparisons: Sequence[Comparisons],
    how: Literal["quantile", "harmonic", "cauchy"] = "quantile",
    method: str = "bh",
) -> Comparisons:
    """Combine the uncorrected p-values of all splits into one per pair, then correct over the pairs.

    The splits divide the same documents, so their p-values depend on each other in unknown ways.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.
    how : {"quantile", "harmonic", "cauchy"}
        ``quantile``, the smallest quantile times the factor that makes it valid under any dependence (Meinshausen,
        Meier & Bühlmann 2009); ``harmonic``, the harmonic mean times such a factor (Vovk & Wang 2020); or ``cauchy``
        (Liu & Xie 2020), which is sharper, and valid for small p-values.
    method : str
        The correction: bonferroni, holm, bh, by or none.

    Returns
    -------
    Comparisons
        One set of comparisons for all splits.
    """
    validate_choice(how, "how", COMBINED, what="combination")
    validate_choice(method, "correction", STEPWISE)
    return _combine_splits(comparisons, how, method)


def voorhees_bh(comparisons: Comparisons, alpha: float = 0.05) -> Comparisons:
    """Correct p-values as V17 §3.1 does: all by the one factor N/k, k the largest with p_(k) ≤ αk/N.

    The decisions at this alpha are those of Benjamini–Hochberg; the corrected p-values hold for this alpha alone.

    Parameters
    ----------
    comparisons : Comparisons
        Comparisons with uncorrected p-values.
    alpha : float
        The level.

    Returns
    -------
    Comparisons
        The comparisons with corrected p-values.
    """
    k = step_up(comparisons.p, alpha)
    p = np.minimum(comparisons.p * (len(comparisons) / k), 1.0) if k else np.ones(len(comparisons))
    title = f"Benjamini–Hochberg at {alpha:g} (V17: p·N/k, k = {k})"
    return replace(
        comparisons, decisions=replace(comparisons.decisions, p_adjusted=p, correction="bh"), title=title
    )


def _build_comparisons(
    both: Aligned, p: Floats, p_adjusted: Floats, correction: str, title: str, claim: str
) -> Comparisons:
    e = replace(both.estimates, claim=f"{both.estimates.claim}, {claim}")
    nothing = np.full(p.shape, np.nan)
    difference = e.values[both.ia] - e.values[both.ib]
    tested = Pairs(difference, nothing, nothing, nothing, p)
    decisions = Decisions(tested, p_adjusted, correction, int(np.union1d(both.ia, both.ib).size))
    return Comparisons(e, both.ia, both.ib, decisions, title)
