"""Would you change your mind? Agreement between splits, fill policies and methods (FF21 §5, Tables 5-8).

Few related systems: a model of them alone, or of all systems there are (V17 §6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.comparing.rankings import Ranking, kendall_tau
from shardwise.core.arguments import Progress, validate_choice
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import Either, InputError, Option, refuse_unknown
from shardwise.core.libraries import pd, xr
from shardwise.core.model import MD2, MD3, Model
from shardwise.core.scores import Scores, as_scores, is_labelled
from shardwise.core.shown import Drawn
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import bootstrap_anova
from shardwise.methods.pairs import Means, Pairs
from shardwise.methods.splits import (
    COMBINED,
    RULES,
    combine_p_values,
    in_words,
    remaining_share,
    removable_share,
    splits_enough,
)
from shardwise.scoring.undefined import fill_undefined
from shardwise.stats.corrections import STEPWISE, step_up
from shardwise.stats.student import student_critical

Signs = npt.NDArray[np.int8]
Fit = Literal["anova", "bootstrap"] | Callable[[Scores, Model | str], Any]


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

    >>> import xarray as xr
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
        one_split = table.select(split=i)
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


def with_splits(scores: Any, model: Model | str) -> Scores:
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

    estimates: Means
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
    estimates = Means(
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
    claim = RULES[rule].scope.format(n=len(comparisons))
    e = replace(both.estimates, claim=f"{both.estimates.claim}, {claim}")
    nothing = np.full(p.shape, np.nan)
    difference = e.values[both.ia] - e.values[both.ib]
    pairs = Pairs(difference, nothing, nothing, nothing, p, correction=correction, p_adjusted=p_adjusted)
    return Comparisons(e, both.ia, both.ib, pairs, title)


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
    pairs = replace(comparisons.pairs, p_adjusted=p, correction="bh")
    return replace(comparisons, pairs=pairs, title=title)


@dataclass(frozen=True, slots=True)
class SplitNoise:
    """What of the error variance on one split re-splitting removes, and what it cannot."""

    splits: int
    removable: float  # share of the variance that is the split's own
    left: float  # share of the variance that the mean over these splits has
    enough: int  # splits from which on p-values down to .001 are steady

    def __str__(self) -> str:
        return in_words(self.removable, self.splits)


def split_noise(comparisons: Sequence[Comparisons]) -> SplitNoise | None:
    """Say how much splits matter here, and how many are enough; None for tests without standard errors.

    Averaged over J splits a difference has the variance V - (1 - 1/J) B, of which B is the variance over splits of
    the same documents: what re-splitting removes. From ``enough`` splits on, the p-value of a pair with p = .001
    differs by less than a factor 2 among 20 sets of so many splits, with probability .95.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split; at least two.

    Returns
    -------
    SplitNoise or None
        Shares of the variance, and the number of splits that is enough.
    """
    if len(comparisons) < 2:
        raise InputError(
            "one split shows no spread", remedy=("give at least two, as with ", Option("n_splits", 10))
        )
    both = align_pairs(comparisons)
    if not np.isfinite(both.se).all():
        return None
    share = removable_share(both.difference, both.se**2)
    splits = len(comparisons)
    return SplitNoise(
        splits, float(share), float(remaining_share(share, splits)), splits_enough(float(share))
    )


def agreement_over_splits(
    comparisons: Sequence[Comparisons], alphas: Sequence[float] = (0.05, 0.01)
) -> pd.DataFrame:
    """Count the pairs that the splits are divided over (V17 Table 5).

    Row ``1:10`` counts the pairs on which one split of eleven decides otherwise than the others; ``0:11`` those on
    which all agree. Columns per alpha: ``pairs`` and their ``share`` of all; row ``divided`` sums all but the first.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.
    alphas : sequence of float
        Levels to decide at.

    Returns
    -------
    DataFrame
        One row a degree of division.
    """

    both = align_pairs(comparisons)
    j = len(comparisons)
    columns: dict[tuple[float, str], list[float]] = {}
    minorities = {alpha: _count_minority(both, alpha) for alpha in alphas}
    most = max(j // 2, *(int(m.max()) for m in minorities.values()))
    for alpha, minority in minorities.items():
        counts = np.bincount(minority, minlength=most + 1)
        pairs = np.append(counts, counts[1:].sum())
        columns[alpha, "pairs"] = pairs.tolist()
        columns[alpha, "share"] = (pairs / minority.size).tolist()
    index = pd.Index([*(f"{k}:{j - k}" for k in range(most + 1)), "divided"], name="splits")
    frame = pd.DataFrame(columns, index=index)
    frame.columns = pd.MultiIndex.from_tuples(list(columns), names=["alpha", "figure"])
    return frame


def agreement_matrix(comparisons: Sequence[Comparisons], alpha: float = 0.05) -> pd.DataFrame:
    """Count splits in the minority for each pair of systems, best first (V17 Fig. 6).

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.
    alpha : float
        Level to decide at.

    Returns
    -------
    DataFrame
        Systems by systems.
    """

    both = align_pairs(comparisons)
    names = both.estimates.labels
    square = np.full((len(names), len(names)), np.nan)
    square[both.ia, both.ib] = square[both.ib, both.ia] = _count_minority(both, alpha)
    np.fill_diagonal(square, 0.0)
    index = pd.Index(names, name="system")
    return pd.DataFrame(square, index=index, columns=index)


def _count_minority(both: Aligned, alpha: float) -> Ints:
    """Count splits that do not share the commonest decision on a pair: first better, second better, or neither."""
    decisions = both.pair_signs(alpha)
    votes = np.stack([(decisions == decision).sum(axis=0) for decision in (1, 0, -1)])
    return np.asarray(len(decisions) - votes.max(axis=0))


def found_over_splits(
    comparisons: Sequence[Comparisons], alphas: Sequence[float] = (0.05, 0.01)
) -> pd.DataFrame:
    """Count significant pairs (V17 Table 4): mean, least and most of the splits, then by majority and by all together.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split.
    alphas : sequence of float
        Levels to decide at.

    Returns
    -------
    DataFrame
        One row a level.

    >>> from shardwise.methods.pairs import Means
    >>> from shardwise.comparing.comparisons import compare_estimates
    >>> one = compare_estimates(Means(("x", "y"), np.array([0.30, 0.10]), 0.001, 98.0, "these topics"), "bh")
    >>> found_over_splits([one, one])[["pairs", "mean", "unanimous"]]
           pairs  mean  unanimous
    alpha
    0.05       1   1.0          1
    0.01       1   1.0          1
    """

    together, most = unanimous(comparisons), majority(comparisons)
    rows = []
    for alpha in alphas:
        n_significant = np.array([int(c.reject(alpha).sum()) for c in comparisons])
        counts = {"mean": n_significant.mean(), "least": n_significant.min(), "most": n_significant.max()}
        joint = {"majority": int(most.reject(alpha).sum()), "unanimous": int(together.reject(alpha).sum())}
        rows.append({"pairs": len(together), **counts, **joint})
    return pd.DataFrame(rows, index=pd.Index(list(alphas), name="alpha"))


def summary_over_splits(
    comparisons: Sequence[Comparisons],
    whole: Ranking | None = None,
    *,
    alpha: float = 0.05,
    level: float = 0.95,
) -> pd.DataFrame:
    """Summarize figures over splits, with t-intervals (F19 Table 2).

    Rows: ``tau`` with the ranking by the whole collection, ``interval_width`` of the systems' means, ``significant``
    pairs, ``share_significant`` of all pairs, ``common`` pairs that all splits find, and ``share_common``, these over
    the mean number of significant ones. F19 calls its last column the fraction found in common; the printed numbers
    are significant pairs over all pairs. Columns: ``mean, half_width, least, most``.

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split; at least two.
    whole : mapping of str to float, Series or array_like, optional
        Means by system of the whole collection, a series, dictionary or DataArray; without them there is no ``tau``.
    alpha : float
        Level to decide at; that of the systems' intervals is 1 - alpha.
    level : float
        Confidence level of the t-intervals.

    Returns
    -------
    DataFrame
        One row a figure.
    """

    if len(comparisons) < 2:
        raise InputError(
            "one split shows no spread", remedy=("give at least two, as with ", Option("n_splits", 10))
        )
    figures: dict[str, list[float]] = {}
    if whole is not None:
        reference: Any = whole
        if is_labelled(whole):
            if reference.dims != ("system",):
                raise InputError(
                    f"the ranking of the whole collection has the dimensions {reference.dims}",
                    remedy=("give a mean per system", Either(", as in scores.mean('topic')", "")),
                )
            reference = dict(
                zip(map(str, reference["system"].values), reference.values.tolist(), strict=True)
            )
        figures["tau"] = [
            kendall_tau(dict(zip(c.estimates.labels, c.means.tolist(), strict=True)), reference)
            for c in comparisons
        ]
    widths = [c.intervals(1.0 - alpha, "comparison") for c in comparisons]
    figures["interval_width"] = [float((w["upper"] - w["lower"]).mean()) for w in widths]
    figures["significant"] = [float(c.reject(alpha).sum()) for c in comparisons]
    figures["share_significant"] = [n / len(comparisons[0]) for n in figures["significant"]]
    common = int(unanimous(comparisons).reject(alpha).sum())
    rows = {
        name: {
            "mean": float(np.mean(values)),
            "half_width": half_width(np.array(values), level),
            "least": min(values),
            "most": max(values),
        }
        for name, values in figures.items()
    }
    mean_significant = rows["significant"]["mean"]
    rows["common"] = {"mean": float(common)}
    rows["share_common"] = {"mean": common / mean_significant if mean_significant else float("nan")}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "half_width", "least", "most"])


def half_width(values: Floats, level: float = 0.95) -> float:
    """Half the t-interval of a mean, t · sd / sqrt(n); NaN for a single value.

    >>> round(half_width(np.array([1.0, 2.0, 3.0])), 4)
    2.4841
    """
    values = values[~np.isnan(values)]
    if values.size < 2:
        return float("nan")
    t = student_critical(1.0 - level, values.size - 1.0)
    return float(t * values.std(ddof=1) / np.sqrt(values.size))


FIGURES = ("AA", "AD", "PA", "PD", "PAA", "PPA")
POLICIES = ("zero", "lq", "mean", "one")  # FF21 §3.3
FF21: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        # two tails and a kernel density, as in the authors' code
        "bANOVA(BH)": {"fit": "bootstrap", "method": "bh", "null": "marginal", "tails": 2, "density": "kde"},
        "tANOVA(BH)": {"method": "bh"},
        "tANOVA(HSD)": {"method": "hsd"},
    }
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stability(Drawn):
    """How far the conclusions from different splits agree."""

    between: xr.DataArray  # (figure, split, other): counts and shares of each two splits, NaN for one itself
    comparisons: tuple[Comparisons, ...]
    alpha: float
    level: float

    def mean(self) -> pd.DataFrame:
        """Average over all pairs of splits with t-intervals, ``mean, half_width`` (FF21 Table 6).

        Returns
        -------
        DataFrame
            One row a figure of agreement.
        """

        rows = self.to_frame()[[*FIGURES]]
        half = {name: half_width(rows[name].to_numpy(), self.level) for name in FIGURES}
        return pd.DataFrame({"mean": rows.mean(), "half_width": half}).rename_axis("figure")

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each two splits.

        Returns
        -------
        DataFrame
            ``split, other`` and a column a figure of agreement.
        """

        a, b = np.triu_indices(self.between.sizes["split"], 1)
        figures = dict(zip(FIGURES, self.between.to_numpy()[:, a, b], strict=True))
        return pd.DataFrame({"split": a, "other": b, **figures})

    def __str__(self) -> str:
        table = self.mean()
        first = self.comparisons[0]
        head = f"{len(self.comparisons)} splits, {len(first)} pairs at {self.alpha:g}, each {first}"
        lines = [f"{name:>4} {row['mean']:.3f} ± {row['half_width']:.3f}" for name, row in table.iterrows()]
        return "\n".join([head, *lines])


def stability(
    scores: Any,
    model: Model | str,
    method: str = "hsd",
    *,
    alpha: float = 0.05,
    level: float = 0.95,
    progress: Progress | None = None,
    **options: Any,
) -> Stability:
    """Count, for each two splits, how often they lead to the same conclusion (FF21 §5.2).

    AA: both find the same system better; AD: both find a difference, in opposite directions; PA: neither finds any; PD:
    one does. PAA = 2AA/(2AA + PD) and PPA = 2PA/(2PA + PD).

    Parameters
    ----------
    scores : object
        As for `over_splits`.
    model : Model or str
        As for `over_splits`.
    method : str
        As for `over_splits`.
    progress : callable, optional
        As for `over_splits`.
    **options
        As for `over_splits`.
    alpha : float
        Level to decide at.
    level : float
        Confidence level of the t-intervals of the means.

    Returns
    -------
    Stability
        Agreement of every two splits.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(3)
    >>> values = rng.normal([[[[0.2], [0.3], [0.4]]]], 0.05, (4, 20, 3, 2))
    >>> scores = xr.DataArray(values, dims=("split", "topic", "system", "shard"))
    >>> stability(scores, "topic*system").mean()["mean"].tolist()
    [3.0, 0.0, 0.0, 0.0, 1.0, nan]
    """
    return stability_of(
        over_splits(scores, model, method, progress=progress, **options), alpha=alpha, level=level
    )


def stability_of(
    comparisons: Sequence[Comparisons], *, alpha: float = 0.05, level: float = 0.95
) -> Stability:
    """Count, for each two splits, how often comparisons already made lead to the same conclusion (FF21 §5.2).

    Parameters
    ----------
    comparisons : sequence of Comparisons
        Comparisons of the same pairs, one a split; at least two.
    alpha : float
        Level to decide at.
    level : float
        Confidence level of the t-intervals of the means.

    Returns
    -------
    Stability
        Agreement of every two splits.
    """

    if len(comparisons) < 2:
        raise InputError(
            "one split agrees with itself", remedy=("give at least two, as with ", Option("n_splits", 5))
        )
    decisions = align_pairs(comparisons).pair_signs(alpha)
    j = len(decisions)
    values = np.full((len(FIGURES), j, j), np.nan)
    for a, b in combinations(range(j), 2):
        values[:, a, b] = values[:, b, a] = _count_agreements(decisions[a], decisions[b])
    coords = {"figure": list(FIGURES), "split": np.arange(j), "other": np.arange(j)}
    between = xr.DataArray(values, dims=("figure", "split", "other"), coords=coords)
    return Stability(between, tuple(comparisons), alpha, level)


def agreement(first: Comparisons, second: Comparisons, alpha: float = 0.05) -> dict[str, float]:
    """Return AA, AD, PA, PD, PAA and PPA between two comparisons of the same pairs.

    Parameters
    ----------
    first, second : Comparisons
        The comparisons.
    alpha : float
        Level to decide at.

    Returns
    -------
    dict of str to float
        The six figures by name.
    """
    decisions = align_pairs([first, second]).pair_signs(alpha)
    return dict(zip(FIGURES, _count_agreements(decisions[0], decisions[1]), strict=True))


def _count_agreements(first: Signs, second: Signs) -> tuple[float, ...]:
    active = (first != 0) & (second != 0)
    aa = float(np.sum(active & (first == second)))
    ad = float(np.sum(active & (first != second)))
    pa = float(np.sum((first == 0) & (second == 0)))
    pd_ = float(first.size) - aa - ad - pa
    shares = (2.0 * x / (2.0 * x + pd_) if x + pd_ else float("nan") for x in (aa, pa))
    return aa, ad, pa, pd_, *shares


def stability_of_fills(
    scores: Any,
    model: Model | str,
    method: str = "hsd",
    *,
    policies: Sequence[str | float] = POLICIES,
    alpha: float = 0.05,
    level: float = 0.95,
    progress: Progress | None = None,
    **options: Any,
) -> xr.Dataset:
    """Measure agreement between ways to fill undefined scores (FF21 Tables 7 and 8).

    Dimensions ``fill, other, figure``; variables ``mean`` and ``half_width``. On the diagonal, each two splits under
    one policy; off it, the same split under two policies, averaged over splits. ``significant`` counts the pairs found.

    Parameters
    ----------
    scores : object
        As for `stability`.
    model : Model or str
        As for `stability`.
    method : str
        As for `stability`.
    alpha, level : float
        As for `stability`.
    **options
        As for `stability`.
    policies : sequence of str or float
        Ways to fill, as for `fill_undefined`.
    progress : callable, optional
        Called with (comparisons done, comparisons in all).

    Returns
    -------
    Dataset
        Figures of agreement of each two ways to fill.
    """
    table = with_splits(scores, model)
    approaches = {
        str(policy): (fill_undefined(table, policy), {"method": method, **options}) for policy in policies
    }
    return _compare_approaches(approaches, model, "fill", alpha, level, progress)


def stability_of_methods(
    scores: Any,
    model: Model | str,
    approaches: Mapping[str, Mapping[str, Any]] = FF21,
    *,
    alpha: float = 0.05,
    level: float = 0.95,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Measure agreement between ways to compare (FF21 Tables 5 and 6).

    Dimensions ``approach, other, figure``, where the figure ``extra`` counts pairs that the first finds and the other
    does not. On the diagonal, each two splits under one approach.

    Parameters
    ----------
    scores : object
        As for `stability`.
    model : Model or str
        As for `stability`.
    alpha, level : float
        As for `stability`.
    approaches : mapping
        Options of `over_splits` for each approach by name; the three of FF21, unless given.
    progress : callable, optional
        Called with (comparisons done, comparisons in all).

    Returns
    -------
    Dataset
        Figures of agreement of each two ways to compare.
    """
    table = with_splits(scores, model)
    named = {name: (table, dict(options)) for name, options in approaches.items()}
    return _compare_approaches(named, model, "approach", alpha, level, progress)


def _compare_approaches(
    approaches: Mapping[str, tuple[Scores, dict[str, Any]]],
    model: Model | str,
    dimension: str,
    alpha: float,
    level: float,
    progress: Progress | None,
) -> xr.Dataset:
    made: list[Comparisons] = []
    j = next(iter(approaches.values()))[0].sizes["split"]
    total = len(approaches) * j
    for number, (scores, options) in enumerate(approaches.values()):

        def report_done(done: int, _: int, before: int = number * j) -> None:
            if progress is not None:
                progress(before + done, total)

        made.extend(over_splits(scores, model, progress=report_done, **options))
    decisions = align_pairs(made).pair_signs(alpha).reshape(len(approaches), j, -1)
    names = [*FIGURES, "extra"]
    mean = np.full((len(approaches), len(approaches), len(names)), np.nan)
    half = mean.copy()
    for a in range(len(approaches)):
        for b in range(len(approaches)):
            pairs = list(combinations(range(j), 2)) if a == b else [(i, i) for i in range(j)]
            # (figures, pairs of splits), and in the last row the pairs of systems
            # significant in the first only
            first = decisions[a]
            second = decisions[b]
            rows = [
                (*_count_agreements(first[x], second[y]), np.sum((first[x] != 0) & (second[y] == 0)))
                for x, y in pairs
            ]
            for f, values in enumerate(np.array(rows, np.float64).reshape(len(rows), len(FIGURES) + 1).T):
                if not np.isnan(values).all():
                    mean[a, b, f] = np.nanmean(values)
                    half[a, b, f] = half_width(values, level)
    n_significant = (decisions != 0).sum(axis=2).astype(np.float64)
    dims = (dimension, "other", "figure")
    return xr.Dataset(
        {
            "mean": (dims, mean),
            "half_width": (dims, half),
            "significant": ((dimension,), n_significant.mean(axis=1)),
            "significant_half_width": (
                (dimension,),
                np.array([half_width(row, level) for row in n_significant]),
            ),
        },
        coords={dimension: list(approaches), "other": list(approaches), "figure": names},
        attrs={"alpha": alpha, "level": level, "splits": j, "pairs": decisions.shape[2]},
    )


CONDITIONS = ("across", "confined", "within")


@dataclass(frozen=True, slots=True, eq=False)
class WithinAcross(Drawn):
    """Interval widths and decisions on related systems, by what the model was fitted to."""

    widths: pd.DataFrame  # condition × model: mean interval width over all related systems (V17 Table 6)
    decisions: pd.DataFrame  # one row a related pair, under the last model: set, a, b, a column a condition

    def agreement(self) -> pd.DataFrame:
        """Count pairs on which each two conditions decide alike: ``pairs, same, share``.

        Returns
        -------
        DataFrame
            One row for each two conditions.
        """

        rows = {}
        for k, first in enumerate(CONDITIONS):
            for other in CONDITIONS[k + 1 :]:
                same = int((self.decisions[first] == self.decisions[other]).sum())
                pairs = len(self.decisions)
                rows[f"{first} / {other}"] = {"pairs": pairs, "same": same, "share": same / pairs}
        return pd.DataFrame.from_dict(rows, orient="index")


def within_across(
    scores: Any,
    sets: Mapping[str, Sequence[str]],
    models: Sequence[Model | str] = (MD2, MD3),
    *,
    bootstrap: bool = True,
    method: str = "bh",
    alpha: float = 0.05,
    **claim: Any,
) -> WithinAcross:
    """Compare systems of each set with each other under three conditions (V17 Table 6).

    ``across``: model and correction over all systems. ``confined``: model over all systems, comparisons and their
    correction within the set. ``within``: model, comparisons and correction of the set alone. V17 has the first and the
    last, without (MD2) and with (MD3) interactions.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes.
    sets : mapping
        Names of two or more related systems, by the name of the set.
    models : sequence of Model or str
        Models to fit; the decisions are those under the last.
    bootstrap : bool
        Whether the models are fitted by bootstrap ANOVA rather than by ANOVA.
    method : str
        The correction, as for `compare`.
    alpha : float
        Level to decide at; that of the intervals is 1 - alpha.
    **claim
        What the estimates of the fit take: ``generalize``, as a `Claim`, names or text; for the bootstrap ``null`` and
        ``tails`` (V17's p-values have ``null="marginal", tails=1``).

    Returns
    -------
    WithinAcross
        Interval widths and decisions under each condition.
    """

    small = [name for name, members in sets.items() if len(set(members)) < 2]
    if small or not sets:
        raise InputError(
            f"the set {small[0]!r} has fewer than two systems"
            if small
            else "there are no sets of related systems",
            remedy="give sets of two or more",
        )
    parsed = [Model.parse(model) if isinstance(model, str) else model for model in models]
    table = as_scores(scores, needs=("system",), keep={d for model in parsed for d in model.dimensions})
    known = table.systems
    fit: Callable[..., Any] = bootstrap_anova if bootstrap else anova
    # V17's trimmed bootstrap intervals, which are about these topics only, else the intervals of the method
    trimmed = bootstrap and claim.get("null") == "marginal"
    distribution = {name: value for name, value in claim.items() if name != "generalize"}
    widths: dict[str, dict[str, float]] = {condition: {} for condition in CONDITIONS}
    decisions: list[pd.DataFrame] = []
    for model in parsed:
        everything = fit(table, model)
        overall = compare_estimates(everything.estimates(**claim), method)
        measured: dict[str, list[float]] = {condition: [] for condition in CONDITIONS}
        decisions = []
        for label, members in sets.items():
            chosen = list(dict.fromkeys(members))
            absent = [system for system in chosen if system not in known]
            if absent:
                raise InputError(f"unknown system {absent[0]!r}", where=f"set {label!r}")
            alone = fit(table.select_systems(chosen), model)
            inside = compare_estimates(everything.estimates(**claim), method, only=chosen)
            by_itself = compare_estimates(alone.estimates(**claim), method)
            for condition, fitted, comparisons in (
                ("across", everything, overall),
                ("confined", everything, inside),
                ("within", alone, by_itself),
            ):
                frame = (
                    fitted.intervals(1.0 - alpha, pairs=comparisons.p, **distribution)
                    if trimmed
                    else comparisons.intervals(1.0 - alpha)
                ).loc[chosen]
                measured[condition] += (frame["upper"] - frame["lower"]).tolist()
            columns = []
            for condition, c in zip(CONDITIONS, (overall, inside, by_itself), strict=True):
                frame = c.to_frame()[["a", "b"]].assign(found=c.reject(alpha))
                frame = frame[frame["a"].isin(chosen) & frame["b"].isin(chosen)]
                ordered = [tuple(sorted(pair)) for pair in zip(frame["a"], frame["b"], strict=True)]
                sign = np.where(frame["a"].to_numpy() == [a for a, _ in ordered], 1, -1)
                index = pd.MultiIndex.from_tuples(ordered, names=["a", "b"])
                columns.append(pd.Series(np.where(frame["found"], sign, 0), index=index, name=condition))
            joined = pd.concat(columns, axis=1).reset_index()
            joined.insert(0, "set", label)
            decisions.append(joined)
        for condition in CONDITIONS:
            widths[condition][model.short] = float(np.mean(measured[condition]))
    return WithinAcross(
        pd.DataFrame.from_dict(widths, orient="index").rename_axis("condition"),
        pd.concat(decisions, ignore_index=True),
    )
