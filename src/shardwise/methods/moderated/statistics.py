"""Moderated statistics of pairs of systems, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.methods.moderated.moments import pair_moments
from shardwise.methods.moderated.noise import Noise
from shardwise.stats.moderation import get_prior_df, own_share, shrink_variances
from shardwise.stats.student import LEVEL, NOISE, cochran_cox_df, student_critical, t_statistic, two_sided
from shardwise.stats.units import ClusterCare, care_for_clusters

FEWEST_COMMON = 5  # topics that a pair must share to be tested where scores are missing


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What the moderated test knows of each pair without resampling; arrays are (…, P) unless said."""

    difference: Floats  # of the means of the two systems; NaN for pairs without a common topic
    units: Floats  # topics (or cells) that both have
    own_df: Floats  # of the pair's own variance
    own: Floats  # s²_k
    common: Floats  # s̄², (…)
    moderated: Floats  # v_k
    extra: Floats  # variance of the difference that topics do not show: shards, instances
    df: Floats  # of Student's distribution for a single pair
    drawn_df: Floats  # of that in resamples: Satterthwaite's of what is drawn
    d0: float
    cluster_care: float = 1.0  # factor of intervals because clusters are few or unequal

    @property
    def se(self) -> Floats:
        """Standard error of the difference, √(v_k / T) where nothing but topics is random."""
        return np.asarray(np.sqrt(self.moderated / np.maximum(self.units, 1.0) + self.extra))

    @property
    def t(self) -> Floats:
        """The moderated t; without any spread 0 for equal systems and ∞ for unequal ones."""
        return t_statistic(self.difference, self.se)

    @property
    def p(self) -> Floats:
        """Two-sided p-value of each pair by itself, Student with T - 1 + min(d0, (T - 1)(R - 2)) df."""
        return two_sided(self.t, self.df)

    @property
    def care(self) -> Floats:
        """How much larger a t has to be than by the distribution of resamples, at 5 %."""
        return np.asarray(
            self.cluster_care * student_critical(LEVEL, self.df) / student_critical(LEVEL, self.drawn_df)
        )

    @property
    def drawn(self) -> Statistics:
        """The same with t that are as far in the distribution of resamples as these are in their own."""
        return replace(self, difference=self.difference / self.care)


def moderated_statistics(
    y: Floats,
    ia: Ints | None = None,
    ib: Ints | None = None,
    *,
    d0: float | None = None,
    noise: Noise | None = None,
    unit_df: float | None = None,
) -> Statistics:
    """Moderated statistics of the pairs (ia, ib) of tables of topics by systems.

    A topic that a system lacks (NaN) does not count for the pairs of that system: their mean and variance are those of
    the n_k topics that both have, and n_k stands for T. Pairs with fewer than `FEWEST_COMMON` are then not tested: they
    have a difference, but NaN for its variance, and do not count for s̄².

    The pairs are all a < b by default; s̄² is of the pairs given where they are all those of one system, else of all.
    ``noise`` moves system means besides the topics. Units that count unequally say less than their number: the variance
    of a mean over them has ``unit_df`` degrees of freedom (`care_for_clusters`).

    >>> y = np.array([[0.1, 0.3, 0.2], [0.4, 0.5, 0.5], [0.2, 0.4, 0.1], [0.6, 0.7, 0.8]])
    >>> moderated_statistics(y).t.round(3)
    array([-2.496, -1.183,  1.124])
    >>> moderated_statistics(y, d0=0.0).t.round(3)  # the paired t
    array([-5.196, -1.192,  0.878])
    """
    ia, ib = pairs_of(y.shape[-1], ia, ib)
    tables = np.ascontiguousarray(y.reshape(-1, *y.shape[-2:]), dtype=np.float64)
    units, difference, own_variance = pair_moments(tables, ia, ib)
    if np.isfinite(tables).all():
        shared = find_common(ia, ib)
        common = own_variance.mean(axis=-1) if shared is not None else 2.0 * interaction_mean_square(tables)
    else:
        common = np.array([_pool_variances(table, ia, ib) for table in tables])
        own_variance = np.where(find_tested(tables, units), own_variance, np.nan)
    shape = (*y.shape[:-2], ia.size)
    return moderate_variances(
        difference.reshape(shape),
        units.reshape(shape),
        np.maximum(units - 1.0, 0.0).reshape(shape),
        own_variance.reshape(shape),
        common.reshape(y.shape[:-2]),
        spare_df(tables, units).reshape(shape),
        d0,
        None if noise is None else noise.of_pairs(ia, ib),
        weighed=noise is not None and not noise.shared,
        care=None if unit_df is None else care_for_clusters(unit_df, y.shape[-2], y.shape[-1], prior_df=d0),
    )


def find_tested(tables: Floats, units: Floats) -> Bools:
    """(N, P) whether pairs share enough topics to be tested: two, or more where pairs have topics of their own."""
    many = tables.shape[2] > 2
    fewest = np.array([FEWEST_COMMON if many and has_gaps(y) else 2 for y in tables])
    return np.asarray(units >= fewest[:, None])


def has_gaps(y: Floats) -> bool:
    """Return whether systems of a (T, R) table lack different topics.

    >>> has_gaps(np.array([[0.1, 0.2], [np.nan, np.nan]])), has_gaps(np.array([[0.1, 0.2], [np.nan, 0.3]]))
    (False, True)
    """
    present = np.isfinite(y)
    return bool((present.any(axis=1) & ~present.all(axis=1)).any())


def pool_pairs(y: Floats, ia: Ints, ib: Ints) -> tuple[Ints, Ints]:
    """Return the tested pairs of a (T, R) table with gaps whose variances are pooled: of a baseline, or else all."""
    ia, ib = (ia, ib) if find_common(ia, ib) is not None else pairs_of(y.shape[1])
    present = np.isfinite(y).astype(np.float64)
    units = (present[:, ia] * present[:, ib]).sum(axis=0)
    tested = find_tested(y[None], units[None])[0]
    return ia[tested], ib[tested]


def _pool_variances(y: Floats, ia: Ints, ib: Ints) -> float:
    """s̄² of a (T, R) table with gaps, the plain mean of s²_k; NaN where no pair is tested."""
    variance = pair_moments(np.ascontiguousarray(y[None]), *pool_pairs(y, ia, ib))[2]
    return float(variance.mean()) if variance.size else float("nan")


def moderate_variances(
    difference: Floats,
    units: Floats,
    own_df: Floats,
    own_variance: Floats,
    common: Floats,
    spare: Floats,
    d0: float | None = None,
    extra: tuple[Floats, Floats] | None = None,
    *,
    weighed: bool = False,
    care: ClusterCare | None = None,
) -> Statistics:
    """Draw each pair's variance towards the common one, as if that were known from d0 more degrees of freedom.

    Of these no more count than ``spare`` (…, P), those that s̄² (…) has besides the pair's own. ``extra`` is the
    variance of the difference besides that of its units, and half the variance of that estimate; ``weighed`` where it
    rests on few numbers. ``care`` is for units that count unequally.
    """
    d0 = get_prior_df(d0)
    moderated = shrink_variances(own_variance, common[..., None], own_share(own_df, prior_df=d0))
    df = own_df + np.minimum(d0, spare)
    if care is not None:
        df = np.minimum(df, care.single_df)
    extra_variance, drawn_df = np.zeros(difference.shape), df
    if extra is not None:
        extra_variance, spread = (np.broadcast_to(part, difference.shape) for part in extra)
        units_part = moderated / np.maximum(units, 1.0)
        total = units_part + extra_variance
        every = spread + units_part**2 / np.maximum(df, 1.0)
        satterthwaite = np.divide(total**2, every, out=df.copy(), where=every > 0.0)
        few = np.divide(extra_variance**2, spread, out=np.ones(df.shape), where=spread > 0.0)
        share = np.divide(extra_variance, total, out=np.zeros(df.shape), where=total > 0.0)
        careful = cochran_cox_df(df, few, share ** np.minimum(few / 2.0, 1.0))
        df, drawn_df = np.where(share > 0.0, careful, df) if weighed else satterthwaite, satterthwaite
    factor = 1.0 if care is None else care.factor
    return Statistics(
        difference, units, own_df, own_variance, common, moderated, extra_variance, df, drawn_df, d0, factor
    )


def find_common(ia: Ints, ib: Ints) -> int | None:
    """Find the system that is in every one of several pairs, as a baseline is.

    Parameters
    ----------
    ia, ib : array of int
        (P,) systems of each pair.

    Returns
    -------
    int or None
        Its number; None for a single pair, and where there is none.

    >>> find_common(np.array([0, 2]), np.array([1, 1])), find_common(np.array([0, 0, 1]), np.array([1, 2, 2]))
    (1, None)
    """
    if len(ia) < 2:
        return None
    for system in (int(ia[0]), int(ib[0])):
        if bool(((ia == system) | (ib == system)).all()):
            return system
    return None


def pairs_of(systems: int, ia: Ints | None = None, ib: Ints | None = None) -> tuple[Ints, Ints]:
    """The pairs given, or all pairs a < b of so many systems.

    >>> pairs_of(3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    if ia is None or ib is None:
        ia, ib = np.triu_indices(systems, 1)
    return np.asarray(ia, dtype=np.int64), np.asarray(ib, dtype=np.int64)


def interaction_mean_square(y: Floats) -> Floats:
    """MS(topic:system) of full tables (…, T, R); 0 where it is rounding.

    >>> float(interaction_mean_square(np.array([[0.0, 1.0], [0.0, 3.0]])))
    1.0
    """
    topics, systems = y.shape[-2:]
    z = doubly_centred(y)
    return np.asarray((z**2).sum(axis=(-2, -1)) / ((topics - 1.0) * (systems - 1.0)))


def doubly_centred(y: Floats) -> Floats:
    """Tables (…, T, R) without topic and system means, rounding set to 0."""
    z = y - y.mean(axis=-1, keepdims=True)
    z = z - z.mean(axis=-2, keepdims=True)
    size = np.abs(y).max(axis=(-2, -1), keepdims=True, initial=0.0)
    return np.where(np.abs(z) <= NOISE * size, 0.0, z)


def spare_df(tables: Floats, units: Floats) -> Floats:
    """(N, P) error df of MD1 on the cells that are there, less those of each pair: (T - 1)(R - 2) on full tables."""
    present = np.isfinite(tables)
    cells = present.sum(axis=(1, 2), dtype=np.float64)
    error = cells - present.any(axis=2).sum(axis=1) - present.any(axis=1).sum(axis=1) + 1.0
    return np.asarray(np.maximum(error[:, None] - np.maximum(units - 1.0, 0.0), 0.0))
