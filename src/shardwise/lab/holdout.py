"""Does it hold on other topics? Decisions on one half of the data verified on the other (F19 §10, future work).

A difference of two systems estimated on T topics (and S shards) has the variance

    v(T, S) = [topics new] σ²_topic / T + [shards new] σ²_shard / S + σ²_error / (T S),

where σ²_topic is the variance of the pair's differences over topics, σ²_shard over shards, and a part counts only if
it is new in the other sample **and** the claim generalises over it. The difference seen on sample B is then the one
seen on A plus a Student variable times sqrt(v(A) + v(B)), all estimated on A. A claim that holds topics fixed leaves
σ²_topic out: it predicts as if other topics were the same topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from shardwise.core import late
from shardwise.core.arguments import Progress, count_workers, map_parallel, validate_choice, validate_level
from shardwise.core.arrays import Bools, Floats, make_generator
from shardwise.core.claim import format_count, pluralize_noun
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.libraries import pd, xr
from shardwise.core.model import NAMED, Model
from shardwise.core.scores import Scores, as_scores
from shardwise.core.shown import Drawn
from shardwise.lab.calibrate import parse_methods
from shardwise.lab.trial import Figures, decide_tables, find_directions, join_figures, judge_directions
from shardwise.methods.anova.fit import complete_table
from shardwise.methods.names import Procedure, parse_procedure
from shardwise.stats.balanced import decompose
from shardwise.stats.student import NOISE
from shardwise.stats.threads import one_thread

REPLICATES = ("shard", "instance")  # what a third dimension can be
ERROR = frozenset(("topic", "shard"))  # as a set of what the part varies over
ROUNDING = 1e-9  # of weights that cancel


@dataclass(frozen=True, slots=True)
class Basis:
    """What a prediction rests on: the parts that vary for the claim, and whose variance is taken."""

    new: frozenset[str]  # of "topic", "shard": new in the other sample and generalised over
    pooled: bool  # one variance for all pairs, or each pair's own
    model: Model | None = None  # whose error it is, where nothing is new

    @property
    def words(self) -> str:
        """In words, for tables.

        >>> Basis(frozenset({"topic"}), pooled=True).words
        'topics vary, one variance for all pairs'
        """
        vary = " and ".join(f"{part}s" for part in ("topic", "shard") if part in self.new)
        error = f"error of {self.model.short}" if self.model else "error"
        whose = "one variance for all pairs" if self.pooled else "each pair's variance"
        return f"{f'{vary} vary' if vary else f'only the {error} varies'}, {whose}"


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """Distribution of the differences on another sample: those on this one plus ``se`` times Student's t."""

    se: Floats  # (B, P) or (B, 1)
    df: Floats

    def reversal_probability(self, difference: Floats) -> Floats:
        """Return the predicted probability that a difference has the other sign on the other sample; .5 for none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(difference) / self.se
        t = np.where(difference == 0.0, 0.0, t)  # 0/0
        return np.asarray(scipy.stats.t.sf(t, self.df))

    def covers_difference(self, difference: Floats, other: Floats, level: float) -> Bools:
        """Return whether the difference on the other sample lies in the prediction interval."""
        half = scipy.stats.t.isf((1.0 - level) / 2.0, self.df) * self.se
        return np.asarray(np.abs(other - difference) <= half)


def predict_differences(
    y: Floats, dims: tuple[str, ...], basis: Basis, here: tuple[int, int], other: tuple[int, int]
) -> Prediction:
    """Predict all differences of system means on another sample of ``other`` topics and shards.

    ``y`` is a batch (B, *dims) of score tables on ``here`` topics and shards (1 without shards).
    """
    # (B, J, T, R, S) view of a batch in any layout
    cube = y if dims[0] == "split" else y[:, None]
    cube = cube if dims[-1] in REPLICATES else cube[..., None]
    squares = pair_squares(cube, nested="instance" in dims)
    if basis.pooled:
        r = cube.shape[3]
        of = {part: r if "instance" in dims and "shard" in part else r - 1 for part in squares}
        squares = {p: (m.mean(axis=1, keepdims=True), df * of[p]) for p, (m, df) in squares.items()}
    if basis.model is not None:
        # twice the error mean square of a model on shards: a difference of two single scores
        parts = decompose(cube, ("topic", "system", "shard"), basis.model.sets)
        assert parts is not None, "scores are complete"
        squares[ERROR] = 2.0 * (parts.ss_error.mean(axis=1) / parts.df_error)[:, None], float(parts.df_error)
    if here[1] == 1:  # what is not the topic's share of a lone score cannot be told from it
        square, freedom = squares[frozenset(("topic",))]
        factor = 1.0 / here[0] + 1.0 / other[0]
        return Prediction(np.sqrt(square * factor), np.full_like(square, freedom))
    variance, satterthwaite = _combine_squares(squares, basis.new, here, other)
    return Prediction(np.sqrt(variance), satterthwaite)


Squares = dict[frozenset[str], tuple[Floats, float]]  # part -> mean squares of differences, df


def _combine_squares(
    squares: Squares, new: frozenset[str], here: tuple[int, int], other: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Return the variance v(here) + v(other) as a combination of mean squares, with Satterthwaite df."""
    weight = {ERROR: 1.0 / (here[0] * here[1]) + 1.0 / (other[0] * other[1])}
    for part in sorted(new):
        k = 0 if part == "topic" else 1
        # σ² of a part = (its mean square - error) / levels of the other dimension
        weight[frozenset((part,))] = (1.0 / here[k] + 1.0 / other[k]) / here[1 - k]
        weight[ERROR] -= weight[frozenset((part,))]
    largest = max(weight.values())
    parts = {p: (w * squares[p][0], squares[p][1]) for p, w in weight.items() if abs(w) > ROUNDING * largest}
    variance = np.asarray(sum(value for value, _ in parts.values()))
    if len(parts) == 1:
        return variance, np.full_like(variance, next(iter(parts.values()))[1])
    spread = np.asarray(sum(value**2 / df for value, df in parts.values()))
    freedom = np.divide(variance**2, spread, out=np.ones_like(variance), where=spread > 0)
    for fewer in (*(new - {part} for part in sorted(new)), frozenset[str]()):
        # no variance is negative: a part estimated below zero counts nothing
        lower, lower_df = _combine_squares(squares, fewer, here, other)
        below = lower > variance
        variance, freedom = np.where(below, lower, variance), np.where(below, lower_df, freedom)
    return variance, freedom


def pair_squares(cube: Floats, *, nested: bool) -> Squares:
    """Mean squares of every pair's differences d[i, k] = y[i, a, k] - y[i, b, k] over topics, shards and the rest.

    ``cube`` is (B, J, T, R, S), its splits averaged afterwards. A pair's mean square is c[a, a] + c[b, b] - 2 c[a, b]
    with c the systems' covariances; ``nested``: level k of one system has nothing to do with level k of another.
    """
    j, t, r, s = cube.shape[1:]
    a, b = np.triu_indices(r, 1)
    # centred (B, J, n, R) means over the shards and over the topics, and what both leave
    by_topic = cube.mean(axis=4)
    by_topic = by_topic - by_topic.mean(axis=2, keepdims=True)
    parts = {frozenset(("topic",)): (by_topic, s, t - 1.0, False)}
    if s > 1:
        by_shard = np.moveaxis(cube.mean(axis=2), 3, 2)
        by_shard = by_shard - by_shard.mean(axis=2, keepdims=True)
        rest = cube - cube.mean(axis=2, keepdims=True)
        rest = np.moveaxis(rest - rest.mean(axis=4, keepdims=True), 4, 3).reshape(-1, j, t * s, r)
        rest = rest - rest.mean(axis=2, keepdims=True)
        parts[frozenset(("shard",))] = by_shard, t, s - 1.0, nested
        parts[ERROR] = rest, 1, (t - 1.0) * (s - 1.0), nested
    squares = {}
    for part, (z, repeats, df, apart) in parts.items():
        c = np.matmul(np.swapaxes(z, 2, 3), z).mean(axis=1) / df
        variances = np.diagonal(c, axis1=1, axis2=2)
        both = variances[:, a] + variances[:, b] - (0.0 if apart else 2.0) * c[:, a, b]
        squares[part] = repeats * np.maximum(both, 0.0), df
    return squares


def basis_of(model: str, dims: tuple[str, ...], generalize: tuple[str, ...], new: frozenset[str]) -> Basis:
    """Basis of a claim: what is new in the other sample varies where the claim generalises over it.

    MD1 lets topics vary whatever it is said to claim: it sees one score a topic and system, and has no other error.
    ``model`` is the name of one whose error is pooled over all systems, "" for tests of each pair by itself.

    >>> basis_of("MD6", ("topic", "system", "shard"), ("topic", "shard"), frozenset({"topic"})).words
    'topics vary, one variance for all pairs'
    >>> basis_of("MD6", ("topic", "system", "shard"), (), frozenset({"topic"})).words
    'only the error of MD6 varies, one variance for all pairs'
    """
    meant = frozenset("shard" if d in REPLICATES else d for d in generalize)
    if model == "MD1" or dims[-1] not in REPLICATES:
        meant |= {"topic"}
    varies = meant & new
    fixed = NAMED.get(model) if model != "MD1" and not varies and dims[-1] == "shard" else None
    return Basis(varies, bool(model), fixed)


CHUNK = 200_000  # pairs × repeats in memory at once, for each worker

ScoreTable: TypeAlias = "xr.DataArray | xr.Dataset | pd.DataFrame | Scores"
RATES: dict[str, tuple[str, str]] = {
    "found": ("found", ""),
    "found_share": ("found", "pairs"),
    "agreement": ("alike", "pairs"),
    "found_again": ("again", "found"),
    "reversal": ("reversed", "found"),
    "significant_reversal": ("opposed", "found"),
    "predicted_reversal": ("expected", "found"),
    "coverage": ("inside", "pairs"),
    "coverage_found": ("inside_found", "found"),
    "brier": ("squared", "ordered"),
    "extra": ("extra", ""),
    "extra_reversal": ("extra_reversed", "extra"),
}
"""Figures by name: a count over another one, or over the number of samples."""
EDGES = np.array(
    [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]
)  # predicted probabilities; more than half is none
OTHER = 1 << 31  # second samples count from here in the random streams


Tally = dict[int | Basis, Figures]
"""Counts of a number of repeats: of each procedure by its number, and (repeats, bins, 3) reversals of each basis."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PredictiveCheck(Drawn):
    """How well what was decided on one sample of topics holds on another.

    ``table`` has one row a procedure: of all pairs the share on which both samples decide alike (``agreement``); of the
    pairs found the share found again in the same direction, with means in the opposite order on the other sample
    (``reversal``), found there in the opposite direction; the reversals that its claim predicts; the share of
    differences inside the prediction interval, of all pairs and of those found; and the Brier score of the predicted
    reversals of all pairs (0 is perfect, .25 a coin). ``curve`` has predicted against observed reversals, one row for
    each kind of prediction and bin. ``repeats`` has the figures of every repeat.
    """

    table: pd.DataFrame
    curve: pd.DataFrame
    repeats: pd.DataFrame
    setting: str  # what was decided where, in words
    alpha: float
    level: float

    @property
    def spread(self) -> pd.DataFrame:
        """Standard deviation of each figure between repeats; no standard error, as repeats share their topics."""
        keys = list(self.table.index.names)
        asked = [name for name in RATES if name in self.repeats]
        return self.repeats.groupby(keys, sort=False)[asked].std(ddof=1)

    def __str__(self) -> str:
        text: str = late.call_bound("holdout_text", self)
        return text


def split_half(
    scores: ScoreTable,
    procedures: str | Procedure | Iterable[str | Procedure] | None = None,
    *,
    over: Literal["topic", "shard"] = "topic",
    reference: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    repeats: int = 50,
    seed: int = 0,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> PredictiveCheck:
    """Halve the topics at random, decide all pairs on each half, and verify on the other.

    Topics keep all their shards, instances and splits.

    Parameters
    ----------
    scores : DataArray, Dataset or DataFrame
        Any table that `as_scores` takes, complete.
    procedures : str, Procedure or iterable of str, optional
        Procedures or their names, one or several; the usual ones for the layout, if None.
    over : {"topic", "shard"}
        "topic"; or "shard", which halves the shards instead, all topics being in both halves.
    reference : str, optional
        One of the procedures: what the others find beyond it is counted as ``extra``, with the share of these in the
        opposite order.
    alpha : float
        Level to decide at.
    level : float
        Probability of the prediction intervals.
    repeats : int
        How many times to halve.
    seed : int
        Where the random numbers start; repeat i depends on (seed, i) only.
    jobs : int, optional
        Number of threads; all processors, if None.
    executor : Executor, optional
        Where the halves are decided instead: any executor of ``concurrent.futures``; the figures are the same.
    progress : callable, optional
        Called with (repeats done, repeats in all).

    Returns
    -------
    PredictiveCheck
        How often decisions on one half hold on the other.

    >>> rng = np.random.default_rng(1)
    >>> values = rng.normal(0.3, 0.1, (40, 1)) + rng.normal([0.0, 0.01, 0.2, 0.4], 0.05, (40, 4))
    >>> scores = xr.DataArray(values, dims=("topic", "system"))
    >>> split_half(scores, ["t holm"], repeats=10).table[["found", "found_again", "reversal"]].round(2)
            found  found_again  reversal
    procedure...
    t holm    5.2         0.96      0.04
    """
    table, y = complete_table(scores)
    dims, nouns = table.dims, table.nouns
    if repeats < 1 or seed < 0:
        raise InputError((Option("repeats"), " must be at least 1 and ", Option("seed"), " at least 0"))
    validate_choice(over, "over", ("topic", "shard"), what="dimension to halve")
    if over not in dims:
        raise InputError(f"the scores have {', '.join(dims)}, no shards to halve", remedy="score on shards")
    if over == "shard" and "split" in dims:
        raise InputError(
            "half of the shards of one split hold documents of both halves of another",
            remedy=("choose one split", Either(", as in scores.isel(split=0)", "")),
        )
    n, r = (y.shape[dims.index(dim)] for dim in (over, "system"))
    if n < 4:
        raise InputError(
            f"{n} {pluralize_noun(over)} cannot be halved into twos", remedy="give at least four"
        )
    pairs = r * (r - 1) // 2
    plan = HoldoutPlan.of(procedures, dims, frozenset((over,)), alpha, level, seed, reference)
    axis = dims.index(over)
    per = max(1, min(-(-repeats // count_workers(jobs)), CHUNK // pairs))

    with one_thread():
        chunks = map_parallel(
            partial(_decide_halves, plan, y, axis, repeats, per),
            range(0, repeats, per),
            jobs=jobs,
            executor=executor,
            progress=progress,
            steps=lambda first: min(per, repeats - first),
        )
        results = list(chunks)
    tally: Tally = {key: join_figures([result[key] for result in results]) for key in results[0]}
    sizes = " and ".join(str(k) for k in dict.fromkeys((n // 2, n - n // 2)))
    setting = (
        f"{n} {pluralize_noun(nouns.get(over, over))} halved at random {repeats} times ({sizes} a half):"
        f" {pairs} pairs of"
        f" {format_count(r, nouns.get('system', 'system'))} decided on"
        f" each half at {alpha:g}, verified on the other"
    )
    return PredictiveCheck(*build_tables(plan, {"": tally}, 2), setting, alpha, level)


def _decide_halves(plan: HoldoutPlan, y: Floats, axis: int, repeats: int, per: int, first: int) -> Tally:
    """Decide halves first, first + 1, … and verify each on the other."""
    n = y.shape[axis]
    orders = [make_generator(plan.seed, i).permutation(n) for i in range(first, min(first + per, repeats))]
    a, b = (
        np.stack([y.take(np.sort(order[part]), axis=axis) for order in orders])
        for part in (slice(n // 2), slice(n // 2, None))
    )
    return add_tallies(*plan.both_ways(a, b, first))


def across_collections(
    a: ScoreTable,
    b: ScoreTable,
    procedures: str | Procedure | Iterable[str | Procedure] | None = None,
    *,
    reference: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
    names: tuple[str, str] = ("a", "b"),
) -> PredictiveCheck:
    """Decide all pairs of the systems that two score sets have in common on one set, and verify on the other.

    Systems are matched by name. Everything is new in the other set, topics and shards. ``table`` has two rows a
    procedure, one for each set decided on.

    Parameters
    ----------
    a, b : DataArray, Dataset or DataFrame
        Tables that `as_scores` takes, complete; of the same dimensions, not of the same sizes.
    procedures : str, Procedure or iterable of str, optional
        As for `split_half`.
    reference : str, optional
        As for `split_half`.
    alpha, level : float
        As for `split_half`.
    seed : int
        Where the random numbers of procedures that draw start.
    names : tuple of str
        What the two sets are called.

    Returns
    -------
    PredictiveCheck
        How often decisions on one set hold on the other.

    >>> rng = np.random.default_rng(1)
    >>> means = {"system": ["bm25", "qld", "random"]}
    >>> old, new = (xr.DataArray(rng.normal([.3, .3, .1], .1, (n, 3)), means, ("topic", "system")) for n in (30, 50))
    >>> across_collections(old, new, ["t holm"], names=("old", "new")).table[["found", "found_again", "reversal"]]
                          found  found_again  reversal
    procedure decided_on
    t holm    old           2.0          1.0       0.0
              new           2.0          1.0       0.0
    """
    if names[0] == names[1] or not all(names):
        raise InputError(
            f"the score sets are called {names[0]!r} and {names[1]!r}", remedy="give them different names"
        )
    first, second, common = _match_systems(a, b, names)
    (table, y), (_, z) = complete_table(first), complete_table(second)
    dims, new = table.dims, frozenset(("topic", "shard"))
    plan = HoldoutPlan.of(procedures, dims, new, alpha, level, seed, reference)
    forth, back = plan.both_ways(y[None], z[None], 0)
    size = [scores.shape[dims.index("topic")] for scores in (y, z)]
    setting = (
        f"{len(common) * (len(common) - 1) // 2} pairs of the {len(common)} systems in both {names[0]}"
        f" ({size[0]} topics) and {names[1]} ({size[1]} topics) decided on each at {alpha:g}, verified on the other"
    )
    return PredictiveCheck(
        *build_tables(plan, dict(zip(names, (forth, back), strict=True)), 1), setting, alpha, level
    )


def _match_systems(a: ScoreTable, b: ScoreTable, names: tuple[str, str]) -> tuple[Scores, Scores, list[str]]:
    """Return both score sets with the systems that they share, in the order of the first."""
    first, second = as_scores(a), as_scores(b)
    layouts = [table.dims for table in (first, second)]
    if layouts[0] != layouts[1]:
        raise InputError(
            f"{names[0]} has {', '.join(layouts[0])} and {names[1]} {', '.join(layouts[1])}",
            remedy="give both the same dimensions, as by averaging over shards",
        )
    for table, name in zip((first, second), names, strict=True):
        if table.systems == tuple(map(str, range(len(table.systems)))):
            raise InputError(f"the systems of {name} have no names", remedy="matching systems takes names")
    labels = first.systems, second.systems
    common = [label for label in labels[0] if label in set(labels[1])]
    if len(common) < 2:
        shown = " against ".join(
            ", ".join(names_of_systems[:3]) + ", …" * (len(names_of_systems) > 3)
            for names_of_systems in labels
        )
        raise InputError(
            f"{names[0]} and {names[1]} have {len(common) or 'no'} system{'s' * (len(common) != 1)} of the same name"
            f" ({shown})",
            remedy=(
                "rename the systems that are the same",
                Either(", as by scores.assign_coords(system=[...])", ""),
                "; two are needed",
            ),
        )
    return first.select_systems(common), second.select_systems(common), common


def compute_rates(counts: Mapping[str, Floats], samples: float) -> dict[str, Floats]:
    """Compute rates from sums of counts over that many samples; NaN where nothing was found."""
    rates: dict[str, Floats] = {}
    for name, (part, whole) in RATES.items():
        below = np.asarray(counts[whole] if whole else samples, np.float64)
        nothing = np.full(np.shape(counts[part]), np.nan)
        rates[name] = np.divide(counts[part], below, out=nothing, where=below > 0)
    return rates


@dataclass(frozen=True, slots=True, eq=False)
class HoldoutPlan:
    """What is decided how, and what is new in the sample on which it is verified."""

    dims: tuple[str, ...]
    procedures: tuple[Procedure, ...]
    new: frozenset[str]  # of "topic", "shard"
    alpha: float
    level: float
    seed: int
    reference: int | None = None  # place of the procedure whose finds are not extra

    @classmethod
    def of(
        cls,
        wanted: str | Procedure | Iterable[str | Procedure] | None,
        dims: tuple[str, ...],
        new: frozenset[str],
        alpha: float,
        level: float,
        seed: int,
        reference: str | None,
    ) -> HoldoutPlan:
        """Plan for the procedures asked for, or the default ones of the layout."""
        validate_level(alpha)
        validate_level(level, "level")
        example = Either('["t holm", "MD1 hsd"]', "--method 't holm'")
        chosen = parse_methods(wanted, dims, "no procedure to check", example)
        strict = reference if reference is None or reference in chosen else parse_procedure(reference).name
        if strict is not None and strict not in chosen:
            raise InputError(
                f"the reference {strict!r} is not checked", remedy="name it among the procedures"
            )
        place = None if strict is None else list(chosen).index(strict)
        return cls(dims, tuple(chosen.values()), new, alpha, level, seed, place)

    def list_bases(self) -> list[Basis]:
        """List what each procedure's prediction rests on."""
        bases = []
        for procedure in self.procedures:
            method = procedure.method
            # the model whose error is pooled over all systems, none where each pair has its own
            pooled = "joint" if method.common_error and not procedure.draws else ""
            model = pooled if method.model is None else str(method.model.name)
            bases.append(basis_of(model, self.dims, procedure.claim.over, self.new))
        return bases

    def both_ways(self, a: Floats, b: Floats, first: int) -> tuple[Tally, Tally]:
        """Decide on each of two batches of samples and verify on the other; repeats are numbered from ``first``."""
        on_a, on_b = (
            decide_tables(y, self.dims, self.procedures, seed=self.seed, first=number)
            for y, number in ((a, first), (b, OTHER + first))
        )
        return self._verify_decisions(a, b, on_a, on_b), self._verify_decisions(b, a, on_b, on_a)

    def _verify_decisions(
        self, here: Floats, other: Floats, decided: Sequence[Any], checked: Sequence[Any]
    ) -> Tally:
        """Count, for each sample (B,), what became of the pairs decided on it, and what was predicted of them."""
        axes = tuple(1 + k for k, name in enumerate(self.dims) if name != "system")
        differences, sizes = [], []
        for y in (here, other):
            means = y.mean(axis=axes)
            a, b = np.triu_indices(means.shape[1], 1)
            gaps = means[:, a] - means[:, b]
            # those of mere rounding are none
            differences.append(np.where(np.abs(gaps) <= NOISE * np.abs(y).max(), 0.0, gaps))
            topics = y.shape[1 + self.dims.index("topic")]
            sizes.append((topics, y.shape[-1] if self.dims[-1] in REPLICATES else 1))
        before, after = differences
        ordered, reversed_there = before != 0.0, before * after < 0.0
        signs, signs_there = (
            [find_directions(each, self.alpha) for each in made] for made in (decided, checked)
        )
        bases, tally = self.list_bases(), Tally()
        predicted: dict[Basis, tuple[Floats, Bools]] = {}
        for basis in dict.fromkeys(bases):
            distribution = predict_differences(here, self.dims, basis, sizes[0], sizes[1])
            chance = distribution.reversal_probability(before)
            predicted[basis] = chance, distribution.covers_difference(before, after, self.level)
            # pairs with an order, their predicted reversals and those observed, by predicted chance
            n_bins = len(EDGES) - 1
            place = np.clip(np.searchsorted(EDGES, chance, side="right") - 1, 0, n_bins - 1)
            bins = np.zeros((len(place), n_bins, 3))
            for i, kept in enumerate(ordered):
                for k, weight in enumerate((None, chance[i, kept], reversed_there[i, kept])):
                    bins[i, :, k] = np.bincount(place[i, kept], weight, n_bins)
            tally[basis] = {"bins": bins}
        for number, (basis, sign, other_sign) in enumerate(zip(bases, signs, signs_there, strict=True)):
            chance, inside = predicted[basis]
            significant = sign != 0
            again, opposed = judge_directions(sign, other_sign)
            reversed_after = judge_directions(sign, after)[1]
            # pairs that the reference does not find
            extra = (
                np.zeros_like(significant)
                if self.reference is None
                else significant & (signs[self.reference] == 0)
            )
            columns = {
                "pairs": np.ones_like(significant),
                "found": significant,
                "alike": sign == other_sign,
                "again": again,
                "opposed": opposed,
                "reversed": reversed_after,
                "expected": np.where(significant, chance, 0.0),
                "inside": inside,
                "inside_found": inside & significant,
                "ordered": ordered,
                "extra": extra,
                "extra_reversed": extra & reversed_after,
                "squared": np.where(ordered, (chance - reversed_there) ** 2, 0.0),
            }
            tally[number] = {
                name: np.asarray(values.sum(axis=1), np.float64) for name, values in columns.items()
            }
        return tally


def add_tallies(first: Tally, other: Tally) -> Tally:
    """Return the same repeats with the samples of both."""
    return {
        key: {name: values + other[key][name] for name, values in figures.items()}
        for key, figures in first.items()
    }


def build_tables(
    plan: HoldoutPlan, tallies: dict[str, Tally], samples: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Build tables of figures by procedure, predicted against observed reversals, and figures by repeat.

    ``tallies`` of so many samples a repeat are by the sample decided on; the name "" stands for either, and makes no
    column.
    """
    rows: list[dict[str, Any]] = []
    single: list[pd.DataFrame] = []
    for k, (procedure, basis) in enumerate(zip(plan.procedures, plan.list_bases(), strict=True)):
        for sample, tally in tallies.items():
            head = {"procedure": procedure.name} | ({"decided_on": sample} if sample else {})
            c = tally[k]
            repeats = len(c["found"])
            total = {name: np.asarray(values.sum()) for name, values in c.items()}
            rates = {name: float(v) for name, v in compute_rates(total, samples * repeats).items()}
            rows.append(head | rates | {"prediction": basis.words, "title": procedure.title})
            each = pd.DataFrame(compute_rates(c, samples)).assign(repeat=np.arange(repeats), **head)
            single.append(each[[*head, "repeat", *rates]])
    keys = ["procedure"] if "" in tallies else ["procedure", "decided_on"]
    table, each_repeat = pd.DataFrame(rows).set_index(keys), pd.concat(single, ignore_index=True)
    if plan.reference is None:
        unasked = ["extra", "extra_reversal"]
        table, each_repeat = table.drop(columns=unasked), each_repeat.drop(columns=unasked)
    # predicted against observed reversals, one row for each kind of prediction and bin
    curve: list[dict[str, Any]] = []
    for sample, tally in tallies.items():
        for basis in dict.fromkeys(plan.list_bases()):
            bins = tally[basis]["bins"]
            repeats = len(bins)
            for k in range(len(EDGES) - 1):
                pairs, predicted, observed = bins[:, k].sum(axis=0)
                if not pairs:
                    continue
                filled = bins[bins[:, k, 0] > 0, k]
                shares = filled[:, 2] / filled[:, 0]
                curve.append(
                    {"prediction": basis.words}
                    | ({"decided_on": sample} if sample else {})
                    | {
                        "low": EDGES[k],
                        "high": EDGES[k + 1],
                        "pairs": pairs / (samples * repeats),
                        "predicted": predicted / pairs,
                        "observed": observed / pairs,
                        "spread": float(shares.std(ddof=1)) if len(shares) > 1 else float("nan"),
                    }
                )
    return table, pd.DataFrame(curve), each_repeat
