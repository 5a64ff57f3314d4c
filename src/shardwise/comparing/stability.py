"""Would you change your mind? Agreement between splits, fill policies and methods (FF21 §5, Tables 5-8).

Few related systems: a model of them alone, or of all systems there are (V17 §6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from shardwise.comparing.comparisons import Comparisons, compare_estimates
from shardwise.comparing.over_splits import Signs, align_pairs, half_width, over_splits, with_splits
from shardwise.core.arguments import Progress
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd, xr
from shardwise.core.model import MD2, MD3, Model
from shardwise.core.scores import Scores, as_scores
from shardwise.core.shown import Drawn
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import BootstrapFit, bootstrap_anova
from shardwise.scoring.undefined import fill_undefined

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
    return aa, ad, pa, pd_, _agreement_ratio(aa, pd_), _agreement_ratio(pa, pd_)


def _agreement_ratio(agreements: float, disagreements: float) -> float:
    whole = 2.0 * agreements + disagreements
    return 2.0 * agreements / whole if whole else float("nan")


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
    widths: dict[str, dict[str, float]] = {condition: {} for condition in CONDITIONS}
    decisions: list[pd.DataFrame] = []
    for model in parsed:
        everything = _fit_model(table, model, bootstrap)
        overall = compare_estimates(everything.estimates(**claim), method)
        measured: dict[str, list[float]] = {condition: [] for condition in CONDITIONS}
        decisions = []
        for label, members in sets.items():
            chosen = list(dict.fromkeys(members))
            absent = [system for system in chosen if system not in known]
            if absent:
                raise InputError(f"unknown system {absent[0]!r}", where=f"set {label!r}")
            alone = _fit_model(table.select_systems(chosen), model, bootstrap)
            inside = compare_estimates(everything.estimates(**claim), method, only=chosen)
            by_itself = compare_estimates(alone.estimates(**claim), method)
            for condition, fitted, comparisons in (
                ("across", everything, overall),
                ("confined", everything, inside),
                ("within", alone, by_itself),
            ):
                measured[condition] += _interval_widths(fitted, comparisons, chosen, alpha, claim)
            decisions.append(_join_decisions(label, chosen, (overall, inside, by_itself), alpha))
        for condition in CONDITIONS:
            widths[condition][model.short] = float(np.mean(measured[condition]))
    return WithinAcross(
        pd.DataFrame.from_dict(widths, orient="index").rename_axis("condition"),
        pd.concat(decisions, ignore_index=True),
    )


def _fit_model(scores: Scores, model: Model | str, bootstrap: bool) -> Any:
    return bootstrap_anova(scores, model) if bootstrap else anova(scores, model)


def _interval_widths(
    fitted: Any, comparisons: Comparisons, systems: Sequence[str], alpha: float, claim: Mapping[str, Any]
) -> list[float]:
    """Return widths of V17's trimmed bootstrap intervals, else of the intervals of the method."""
    if isinstance(fitted, BootstrapFit) and claim.get("null") == "marginal":
        distribution = {
            name: value for name, value in claim.items() if name != "generalize"
        }  # only about these
        frame = fitted.intervals(1.0 - alpha, pairs=comparisons.p, **distribution)
    else:
        frame = comparisons.intervals(1.0 - alpha)
    chosen = frame.loc[list(systems)]
    return [float(width) for width in chosen["upper"] - chosen["lower"]]


def _join_decisions(
    label: str, systems: Sequence[str], comparisons: Sequence[Comparisons], alpha: float
) -> pd.DataFrame:
    wanted = set(systems)
    frames = []
    for condition, c in zip(CONDITIONS, comparisons, strict=True):
        frame = c.to_frame()[["a", "b"]].assign(found=c.reject(alpha))
        frame = frame[frame["a"].isin(wanted) & frame["b"].isin(wanted)]
        ordered = [tuple(sorted(pair)) for pair in zip(frame["a"], frame["b"], strict=True)]
        sign = np.where(frame["a"].to_numpy() == [a for a, _ in ordered], 1, -1)
        index = pd.MultiIndex.from_tuples(ordered, names=["a", "b"])
        frames.append(pd.Series(np.where(frame["found"], sign, 0), index=index, name=condition))
    joined = pd.concat(frames, axis=1).reset_index()
    joined.insert(0, "set", label)
    return joined
