"""What a claim says of scores not yet seen: the distribution of a difference on another sample.

A difference of two systems estimated on T topics (and S shards) has the variance

    v(T, S) = [topics new] σ²_topic / T + [shards new] σ²_shard / S + σ²_error / (T S),

where σ²_topic is the variance of the pair's differences over topics, σ²_shard over shards, and a part counts only if
it is new in the other sample **and** the claim generalises over it. The difference seen on sample B is then the one
seen on A plus a Student variable times sqrt(v(A) + v(B)), all estimated on A. A claim that holds topics fixed leaves
σ²_topic out: it predicts as if other topics were the same topics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from shardwise.core.arrays import Bools, Floats
from shardwise.core.model import NAMED, Model
from shardwise.stats.balanced import error_df

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
    cube = _view_cube(y, dims)
    squares = pair_squares(cube, nested="instance" in dims)
    if basis.pooled:
        r = cube.shape[3]
        of = {part: r if _is_nested(part, dims) else r - 1 for part in squares}
        squares = {p: (m.mean(axis=1, keepdims=True), df * of[p]) for p, (m, df) in squares.items()}
    if basis.model is not None:
        squares[ERROR] = model_error(cube, basis.model)
    if here[1] == 1:  # what is not the topic's share of a lone score cannot be told from it
        square, df = squares[frozenset(("topic",))]
        factor = 1.0 / here[0] + 1.0 / other[0]
        return Prediction(np.sqrt(square * factor), np.full_like(square, df))
    variance, freedom = _combine_squares(squares, basis.new, here, other)
    return Prediction(np.sqrt(variance), freedom)


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
    t, s = cube.shape[2], cube.shape[4]
    by_topic = cube.mean(axis=4)
    squares = {frozenset(("topic",)): (s * _pair_squares(_center_values(by_topic, 2), t - 1.0), t - 1.0)}
    if s > 1:
        by_shard = np.moveaxis(cube.mean(axis=2), 3, 2)  # (B, J, S, R)
        squares[frozenset(("shard",))] = (
            t * _pair_squares(_center_values(by_shard, 2), s - 1.0, nested),
            s - 1.0,
        )
        rest = _center_values(np.moveaxis(_center_values(_center_values(cube, 2), 4), 4, 3), 2)
        df = (t - 1.0) * (s - 1.0)
        squares[ERROR] = (_pair_squares(rest.reshape(*rest.shape[:2], t * s, -1), df, nested), df)
    return squares


def _pair_squares(z: Floats, df: float, nested: bool = False) -> Floats:
    """Return (B, P) mean squares of differences from (B, J, n, R) centred values."""
    c = np.matmul(np.swapaxes(z, 2, 3), z).mean(axis=1) / df
    variances = np.diagonal(c, axis1=1, axis2=2)
    a, b = np.triu_indices(z.shape[3], 1)
    return np.asarray(
        np.maximum(variances[:, a] + variances[:, b] - (0.0 if nested else 2.0) * c[:, a, b], 0.0)
    )


def _center_values(x: Floats, axis: int) -> Floats:
    return np.asarray(x - x.mean(axis=axis, keepdims=True))


def model_error(cube: Floats, model: Model) -> tuple[Floats, float]:
    """Twice the error mean square of a model on shards, (B, 1), with its df: a difference of two single scores."""
    shape = dict(zip(("topic", "system", "shard"), cube.shape[2:], strict=True))
    axis = {"topic": 2, "system": 3, "shard": 4}
    rest = cube - cube.mean(axis=(2, 3, 4), keepdims=True)
    for term in sorted(model.sets, key=len):  # balanced, so the terms are orthogonal: sweep them out in turn
        rest = rest - rest.mean(axis=tuple(axis[d] for d in axis if d not in term), keepdims=True)
    df = float(error_df(shape, model.sets))
    square = (rest**2).sum(axis=(2, 3, 4)).mean(axis=1) / df
    return 2.0 * square[:, None], df


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


def _is_nested(part: frozenset[str], dims: tuple[str, ...]) -> bool:
    return "instance" in dims and "shard" in part


def _view_cube(y: Floats, dims: tuple[str, ...]) -> Floats:
    """Return a (B, J, T, R, S) view of a batch in any layout."""
    splits, replicates = dims[0] == "split", dims[-1] in REPLICATES
    cube = y if splits else y[:, None]
    return cube if replicates else cube[..., None]
