"""Hold what an analysis computed: numbers and facts, which `writing` puts into words for every surface."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shardwise.analysis.diagnostics import Remark, Residuals
from shardwise.analysis.power import (
    POWER,
    OpenTie,
    Power,
    find_closest_tie,
    find_present_design,
    settle_tie,
    settle_unpaired_tie,
)
from shardwise.analysis.trust import Trust
from shardwise.comparing.comparisons import Comparisons
from shardwise.core import late
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import InputError
from shardwise.core.libraries import pd
from shardwise.core.scores import Scores
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.anova.fit import AnovaFit
from shardwise.methods.names import Procedure
from shardwise.methods.repeats.unified import Repeats
from shardwise.stats.corrections import STEPWISE
from shardwise.stats.groups import name_group
from shardwise.stats.lift import Lift, check_ratio, measure_lift
from shardwise.stats.student import student_critical

if TYPE_CHECKING:
    from shardwise.analysis.items import ItemMatrix, Items
    from shardwise.analysis.leaderboard import Leaderboard
    from shardwise.analysis.provenance import Hashed, Recipe
    from shardwise.analysis.slices import Slices
    from shardwise.comparing.stability import SplitNoise


MOST_GROUPS = 12
"""Groups that letters explain; beyond these rank ranges say it better."""


def choose_decimals(halves: Iterable[Floats]) -> int:
    """Return the digits after the point: three, more where intervals are tiny, one where they are wider than 1.

    Parameters
    ----------
    halves : iterable of arrays
        Half-widths of intervals of differences.

    Returns
    -------
    int
        Digits; four where there is no interval.

    >>> choose_decimals([np.array([0.021, 0.5])]), choose_decimals([np.array([21.0])]), choose_decimals([])
    (3, 1, 4)
    """
    known = [half[np.isfinite(half) & (half > 0)] for half in halves]
    widths = [float(half.min()) for half in known if half.size]
    if not widths:
        return 4
    exponent = int(np.floor(np.log10(min(widths))))
    return max(3, 1 - exponent) if exponent < 0 else 1


class Worded:
    """The user's words for dimensions, by the nouns of a result."""

    __slots__ = ()

    @property
    def nouns(self) -> Mapping[str, str]:
        """The user's words, by dimension."""
        raise NotImplementedError

    def noun_for(self, dimension: str) -> str:
        """Return the user's word for a dimension: ``question`` for topic.

        Parameters
        ----------
        dimension : str
            One of ours, such as topic.

        Returns
        -------
        str
            The word, such as ``question``.
        """
        return self.nouns.get(dimension, dimension)

    def nouns_for(self, dimension: str) -> str:
        """Return the user's word for many levels of a dimension: ``questions`` for topic.

        Parameters
        ----------
        dimension : str
            One of ours, such as topic.

        Returns
        -------
        str
            The word in the plural, such as ``questions``.
        """
        return pluralize_noun(self.noun_for(dimension))

    def format_count(self, n: int, dimension: str) -> str:
        """Return a number of levels of a dimension in the user's words: ``200 questions``.

        Parameters
        ----------
        n : int
            How many.
        dimension : str
            One of ours, such as topic.

        Returns
        -------
        str
            Number and word, such as ``200 questions``.
        """
        return format_count(n, self.noun_for(dimension))


@dataclass(frozen=True, eq=False, kw_only=True)
class PairResult(Worded):
    """All that comparisons say at one level; every figure is that of the comparisons.

    Parameters
    ----------
    pairs : Comparisons
        What was compared.
    alpha : float
        Level of significance.
    order : tuple of str
        The order in which systems are shown; that of the comparisons without it.
    measure : str
        What the scores are; empty where it has no name.
    """

    pairs: Comparisons
    alpha: float
    order: tuple[str, ...] = ()
    measure: str = ""

    @property
    def lead(self) -> PairResult:
        """The result that leads, as of an analysis: itself."""
        return self

    @property
    def nouns(self) -> Mapping[str, str]:
        """The user's words for dimensions."""
        return self.pairs.estimates.nouns

    @property
    def title(self) -> str:
        """The method in words."""
        return self.pairs.title

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return max(choose_decimals([self.half_widths]), 2 * self.pairs.estimates.of_ranks)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baseline, where all pairs have the same second system."""
        seconds = {self.pairs.estimates.labels[k] for k in self.pairs.ib.tolist()}
        return tuple(seconds) if self.pairs.directed and len(seconds) == 1 else ()

    @property
    def names(self) -> tuple[str, ...]:
        """The systems in the order of the analysis."""
        return self.order or self.pairs.names

    @property
    def claim(self) -> str:
        """What the result applies to, in words."""
        return self.pairs.claim

    @property
    def best(self) -> str:
        """The system with the best mean."""
        return self.pairs.names[0]

    @cached_property
    def n_significant(self) -> int:
        """Number of significant pairs."""
        return int(self.pairs.reject(self.alpha).sum())

    @cached_property
    def best_set(self) -> tuple[str, ...]:
        """The best set, empty where not all pairs were compared."""
        return self.pairs.best(self.alpha) if self.pairs.complete else ()

    @property
    def may_be_best(self) -> bool:
        """Whether the best set holds the best system with probability 1 - alpha."""
        return bool(self.best_set) and self.pairs.error_rate == "family"

    @property
    def has_comparison_intervals(self) -> bool:
        """Whether there are comparison intervals."""
        return self.pairs.has_comparison_intervals

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Confidence intervals of the systems' means, for tables."""
        return self.pairs.intervals(1.0 - self.alpha).loc[list(self.names)]

    @cached_property
    def chart_intervals(self) -> pd.DataFrame:
        """Comparison intervals for charts, or confidence intervals of the means where there are none."""
        kind = "comparison" if self.has_comparison_intervals else "mean"
        return self.pairs.intervals(1.0 - self.alpha, kind).loc[list(self.names)]

    @cached_property
    def _pair_columns(self) -> dict[str, Any]:
        return self.pairs.list_pairs(self.alpha)

    def pair_row(self, k: int) -> dict[str, Any]:
        """Return a pair with the confidence interval of its difference."""
        return {name: values[k] for name, values in self._pair_columns.items()}

    @cached_property
    def half_widths(self) -> Floats:
        """Half-width of the interval of each pair's difference, NaN where the test has none."""
        return self.pairs.half_widths(1.0 - self.alpha)

    @cached_property
    def letters(self) -> tuple[tuple[str, ...], ...] | None:
        """Letters of each system in the order of the analysis; None with too many groups, or without all pairs."""
        try:
            groups = self.pairs.groups(self.alpha, MOST_GROUPS)
        except InputError:
            return None
        if len(groups) > MOST_GROUPS:
            return None
        letters: dict[str, list[str]] = {name: [] for name in self.pairs.names}
        for k, group in enumerate(groups):
            for name in group:
                letters[name].append(name_group(k))
        return tuple(tuple(letters[name]) for name in self.names)

    @property
    def n_resamples(self) -> int | None:
        """Resamples behind the p-values, where they come from resamples."""
        return self.pairs.resamples

    @property
    def resolution(self) -> float:
        """Smallest corrected p-value that the resamples can show."""
        return self.pairs.resolution

    @cached_property
    def critical_difference(self) -> float:
        """The difference from which on a pair is significant, NaN where no one figure serves all pairs."""
        return self.pairs.critical_difference(self.alpha)

    @property
    def has_common_width(self) -> bool:
        """Whether one critical difference serves all pairs."""
        return self.critical_difference == self.critical_difference and (
            self.has_comparison_intervals or len(self.pairs) == 1
        )

    def locate_systems(self, systems: tuple[str, ...]) -> tuple[Ints, Ints]:
        """Return the positions of the two systems of each pair in another order of the systems."""
        position = {name: k for k, name in enumerate(systems)}
        mapped = np.array([position.get(name, -1) for name in self.pairs.estimates.labels], dtype=np.int64)
        return mapped[self.pairs.ia], mapped[self.pairs.ib]

    def direction_matrix(self, systems: tuple[str, ...]) -> Ints:
        """(R, R): 1 where the system of the row is significantly better, -1 where it is worse, 0 where neither."""
        a, b = self.locate_systems(systems)
        sign = self.pairs.directions(self.alpha)
        square = np.zeros((len(systems), len(systems)), dtype=np.int64)
        square[a, b], square[b, a] = sign, -sign
        return square

    def judge_systems(self, names: Sequence[str], baselines: Sequence[str] = ()) -> list[str]:
        """Return of each system whether it is better than all others, or all baselines, or worse than any of them."""
        # loaded here, since a small table needs no slices
        from shardwise.analysis.slices import VERDICTS

        signs, others = self.direction_matrix(tuple(names)).tolist(), set(baselines or names)
        verdicts = []
        for name, row in zip(names, signs, strict=True):
            met = [sign for other, sign in zip(names, row, strict=True) if other in others - {name}]
            # a baseline is not judged by the other baselines
            judged = met and name not in baselines
            verdicts.append(VERDICTS[-1 if min(met) < 0 else int(min(met) > 0)] if judged else "")
        return verdicts

    def find_pair(self, a: str, b: str) -> tuple[int, bool]:
        """Return the number of the pair of two systems, and whether it was compared the other way round."""
        labels = self.pairs.estimates.labels
        i, j = labels.index(a), labels.index(b)
        ia, ib = self.pairs.ia, self.pairs.ib
        forward = np.flatnonzero((ia == i) & (ib == j))
        if forward.size:
            return int(forward[0]), False
        return int(np.flatnonzero((ia == j) & (ib == i))[0]), True

    def reject(self) -> Bools:
        """Whether each pair is significant."""
        return self.pairs.reject(self.alpha)

    def found_beyond(self, other: PairResult) -> int:
        """Number of pairs that are significant here, and not in the same direction for the other claim."""
        names = self.pairs.names
        here, elsewhere = self.direction_matrix(names), other.direction_matrix(names)
        return int(((here != 0) & (here != elsewhere)).sum()) // 2

    def same_pairs(self, other: PairResult) -> bool:
        """Whether both claims have the same corrected p-values."""
        return bool(np.array_equal(self.pairs.p_adjusted, other.pairs.p_adjusted))


class Family(NamedTuple):
    """Measures whose pairs are corrected together, in the same resamples or by Holm's steps over measures."""

    measures: int
    pairs: int
    resampled: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class ClaimResult(PairResult):
    """All that one claim says about the systems.

    Parameters
    ----------
    key : str
        "here" for exactly these topics, "like" for new topics and wider claims.
    procedure : Procedure
        What was run.
    family : Family, optional
        The measures whose pairs are corrected together; None where each measure is tested at its own level.
    """

    key: str
    procedure: Procedure
    family: Family | None = None

    @property
    def title(self) -> str:
        """The method in words; of one pair nothing is corrected."""
        procedure = self.procedure
        alone = len(self.pairs) == 1 and procedure.correction in STEPWISE and not procedure.rule
        return procedure.method.title if alone and self.family is None else procedure.plain_title


@dataclass(frozen=True, slots=True)
class RepeatsTaken:
    """What repeats were taken for, and what the scores say of it.

    Parameters
    ----------
    kind : str
        "seeds" or "samples".
    declared : bool
        Whether the user said so.
    effect : Repeats
        The test of an effect that a repeat has on all topics.
    components : VarianceComponents, optional
        What scores vary by, to plan with; None where gaps hide it.
    """

    kind: str
    declared: bool
    effect: Repeats
    components: VarianceComponents | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SplitResult:
    """How far one claim's conclusions agree over splits."""

    key: str
    procedure: Procedure  # which every split was put to by itself
    splits: int
    noise: SplitNoise | None  # None for tests without standard errors
    summary: pd.DataFrame  # interval_width, significant, share_significant, common, share_common
    agreement: pd.DataFrame  # AA AD PA PD PAA PPA: mean, half_width
    divided: pd.DataFrame  # 0:11, 1:10, …: pairs, share
    common: int  # pairs that are significant on every split, in the same direction
    pairs: int


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Worded):
    """Which systems differ, what may be claimed, and how far that can be trusted.

    ``claims`` holds the result for exactly these topics first and that for new topics after it, as far as the procedure
    supports them; `comparisons` are those of the leading one.
    """

    scores: Scores  # as they came through the gate
    analysed: (
        Scores  # what the claim that leads rests on: without gaps that are filled, or the first split alone
    )
    item_scores: Scores  # one row an item, before clusters became units
    slices: Slices | None  # the answer by labels of the items, where that was asked for
    baselines: tuple[str, ...]  # with which all others were compared; empty where all pairs were
    title: str  # heading of the report; empty for the question that was asked
    measure: str
    method: str  # name of the correction, for the methods paragraph
    alpha: float
    fit: AnovaFit  # the analysis of variance that says what scores are made of
    claims: tuple[ClaimResult, ...]
    unsupported: str  # why there is no claim about new topics, where there is none
    repeats: RepeatsTaken | None  # what instances were taken for
    splits: tuple[SplitResult, ...]  # empty for a single split
    power: Power | None
    trust: Trust
    residuals: Residuals
    remarks: tuple[Remark, ...]
    notes: tuple[str, ...]  # what the reader of the files decided and counted
    configuration: Mapping[str, Any]
    inputs: tuple[Hashed, ...]
    versions: Mapping[str, str]
    recipe: Recipe | None  # the command, where it was one
    leads: str  # key of the claim that leads
    instead: tuple[
        ClaimResult, ...
    ]  # results of methods that hold their error rate, where the one used does not
    others: tuple[Analysis, ...] = ()  # of further measures of the same systems

    @property
    def each(self) -> tuple[Analysis, ...]:
        """The analyses of all measures, this one first."""
        return (self, *self.others)

    @property
    def lead(self) -> ClaimResult:
        """The leading result: for new topics, unless another claim was asked for."""
        return next(result for result in self.claims if result.key == self.leads)

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons that lead."""
        return self.lead.pairs

    @property
    def procedure(self) -> Procedure:
        """The procedure that leads."""
        return self.lead.procedure

    @property
    def results_in_order(self) -> tuple[ClaimResult, ...]:
        """The results, that of the claim that leads first."""
        return tuple(sorted(self.claims, key=lambda result: result.key != self.leads))

    @property
    def distinct_results(self) -> tuple[ClaimResult, ...]:
        """The results that say different things: the leading one alone where the other has the same p-values."""
        first, *others = self.results_in_order
        return (first, *(result for result in others if not result.same_pairs(first)))

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, best first for the claim that leads."""
        return self.lead.pairs.names

    @property
    def n_splits(self) -> int:
        """Number of splits of the documents."""
        return self.scores.sizes.get("split", 1)

    @property
    def decimals(self) -> int:
        """Digits after the point that scores and differences are shown with."""
        return max(result.decimals for result in self.claims)

    @property
    def nouns(self) -> Mapping[str, str]:
        """The user's words for dimensions."""
        return dict(self.scores.nouns)

    @property
    def item_noun(self) -> str:
        """The user's word for an item, where clusters or tasks are the units too."""
        return self.item_scores.nouns.get("topic", "topic")

    @property
    def topics(self) -> int:
        """Number of topics."""
        return self.fit.scores.sizes["topic"]

    @property
    def instances(self) -> tuple[int, int] | None:
        """Fewest and most instances that a random system has; None without instances."""
        if "instance" not in self.analysed.dims:
            return None
        present = ~np.isnan(self.analysed.values)
        known = np.moveaxis(present, self.analysed.over("system", "instance"), (0, 1))
        counts = known.any(axis=tuple(range(2, known.ndim))).sum(axis=1)
        if self.analysed.deterministic is not None and not self.analysed.deterministic.all():
            counts = counts[~self.analysed.deterministic]
        return int(counts.min()), int(counts.max())

    @property
    def n_labelled(self) -> int:
        """Number of topics that people scored too; 0 where none did."""
        people = self.analysed.people
        return 0 if people is None else int((~np.isnan(people)).any(axis=1).sum())

    @property
    def shards(self) -> int:
        """Number of shards; 1 for the whole collection."""
        return self.fit.scores.sizes.get("shard", 1)

    def measure_lift(self, result: PairResult | None = None, *, reverse: bool = False) -> Lift | None:
        """Return the difference of the only two systems, which met different items, as a share of the second mean.

        Parameters
        ----------
        result : PairResult, optional
            The result of one claim; the leading one without it.
        reverse : bool
            Whether it is the second system less the first, as a share of the first mean.

        Returns
        -------
        Lift or None
            The share with Fieller's interval; None for paired scores or more than two systems.
        """
        result = result or self.lead
        pairs, errors = result.pairs, result.pairs.estimates.mean_se
        if not self.analysed.unpaired or errors is None or len(pairs) != 1:
            return None
        a, b = (int(pairs.ia[0]), int(pairs.ib[0]))[:: -1 if reverse else 1]
        means, errors = pairs.means, np.atleast_2d(errors)[0]
        critical = float(student_critical(result.alpha, pairs.df)[0])
        return measure_lift(float(means[a]), float(errors[a]), float(means[b]), float(errors[b]), critical)

    @property
    def ratio_p(self) -> float:
        """p-value of the test that systems with different items have as many each; NaN where items are the same."""
        if not self.analysed.unpaired:
            return float("nan")
        return check_ratio(np.isfinite(self.analysed.system_rows()).sum(axis=1).astype(np.float64))

    @property
    def sizes(self) -> Mapping[str, int]:
        """Number of levels of each dimension of the scores, topics and systems first."""
        names = sorted(self.scores.sizes, key=lambda name: name not in ("topic", "system"))
        return {name: self.scores.sizes[name] for name in names}

    def leaderboard(self, baseline: str | Sequence[str] | None = None) -> Leaderboard:
        """Return the systems, best first, with their ranks, the ranks they may have, and their means.

        Parameters
        ----------
        baseline : str or sequence of str, optional
            A system, or several, with which all others are compared besides.

        Returns
        -------
        Leaderboard
            The systems in order, as a table, text or HTML page.
        """
        board: Leaderboard = late.call_bound("leaderboard", self, baseline=baseline)
        return board

    def open_tie(self) -> OpenTie | None:
        """Return the tie that matters most, with what could have been detected here and what would settle it.

        Returns
        -------
        OpenTie or None
            None where no tie is open, or nothing is known to plan with.
        """
        return self._open_tie

    @cached_property
    def _open_tie(self) -> OpenTie | None:
        """The tie, planned for once: the text, the page and its files all show it."""
        tie = find_closest_tie(self.lead, self.baselines)
        if tie is None or self.alpha >= POWER / 2:
            return None
        present = find_present_design(self)
        if self.analysed.unpaired and (present is None or present.repeats is None):
            k, _ = self.lead.find_pair(tie[0], tie[1])
            row = self.lead.pair_row(k)
            if not float(row["se"]) > 0.0:
                # nothing varies, so that nothing is known to plan with
                return None
            return settle_unpaired_tie(
                tie, float(row["se"]), float(row["df"]), float(self.lead.half_widths[k]), self.topics
            )
        return None if present is None else settle_tie(tie, present)

    def items(self, a: str | None = None, b: str | None = None, *, margin: float = 0.0) -> Items:
        """Return the items behind the difference of two systems: wins, ties, losses, and which of them matter.

        Parameters
        ----------
        a : str, optional
            A system, the new one; without it the best that is not a baseline.
        b : str, optional
            The system that it is compared with, the old one; without it the first baseline, else the best other.
        margin : float
            Differences up to this are ties.

        Returns
        -------
        Items
            One row an item; frames of regressions, fixes, outliers and of items that all systems fail.

        >>> import xarray as xr
        >>> import shardwise as sw
        >>> y = xr.DataArray(np.random.default_rng(1).normal([0.6, 0.5], 0.1, (40, 2)), dims=("topic", "system"))
        >>> items = sw.analyze(y).items()
        >>> items.a, items.b, len(items.wins) + len(items.ties) + len(items.losses)
        ('0', '1', 40)
        """
        old = b or next((name for name in self.baselines if name != a), None)
        new = a or next(name for name in self.systems if name != old)
        from shardwise.analysis.items import list_items

        return list_items(
            self.item_scores, new, old or next(name for name in self.systems if name != new), margin
        )

    def item_matrix(self) -> ItemMatrix:
        """Return the scores of all systems on all items, the hardest item and the best system first.

        Returns
        -------
        ItemMatrix
            Items × systems, and the difficulty of each item.
        """
        from shardwise.analysis.items import make_item_matrix

        return make_item_matrix(self.item_scores, self.systems)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the whole of it as one HTML file.

        Parameters
        ----------
        path : str or path
            Where to write it.
        """
        late.call_bound("report", self, path)

    def paper(self, folder: str | os.PathLike[str], columns: int | None = None) -> None:
        """Write table.tex, figure.pdf, figure.svg, methods.tex, refs.bib and numbers.tex for a paper.

        Parameters
        ----------
        folder : str or path
            Where to; it is made where it is missing.
        columns : int, optional
            1 for a table of one column, 2 for one across the page; by the width that it needs without it.
        """
        late.call_bound("paper", folder, self, columns=columns)

    def to_dict(self) -> dict[str, float]:
        """Return means, differences, intervals and corrected p-values as one flat dictionary, for trackers.

        Returns
        -------
        dict of str to float
            Keys such as ``mean/bm25`` and ``difference/dense/bm25``.
        """
        figures: dict[str, float] = late.call_bound("flat_figures", self)
        return figures

    def plot(self, kind: str = "forest", **options: Any) -> Any:
        """Draw the analysis: an altair chart, which notebooks show without a network and `save_chart` saves.

        Parameters
        ----------
        kind : str
            "forest": differences from the baseline, or of the best from the others, with confidence intervals.
            "ranks": the range of ranks of each system. "intervals": means with confidence intervals. "cd": the
            critical-difference diagram of up to 30 systems. "power": power by the number of items, with the number at
            hand. "heatmap": scores of all systems on all items. "items": the sorted differences of two systems, with
            wins, ties and losses. "repeats": the mean of each seed or sample. "trade": a benefit against a cost.
            Also "matrix", "p-values", "kinds" and
            "difference", as for ``Comparisons.plot``. A kind that does not fit the scores is refused with those that
            do.
        **options
            Those of the function of ``sw.plot`` that draws it, such as ``baseline``, ``a``, ``b`` or ``width``.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self, kind, **options)

    def __str__(self) -> str:
        text: str = late.call_bound("summary", self)
        return text

    def __repr__(self) -> str:
        return f"<Analysis of {self.measure}, {len(self.systems)} systems: {self.procedure.name}>"

    def _repr_html_(self) -> str:
        """The answer as a notebook shows it: what was done, a sentence, the first systems, and a chart."""
        text: str = late.call_bound("notebook_answer", self)
        return text
