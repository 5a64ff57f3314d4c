"""How deep a pool to judge: variance, topics and judgments at each pool depth (S14 §5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core import late
from shardwise.core.arguments import Progress, count_workers, validate_choice, validate_count
from shardwise.core.arrays import Bools, Ints
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.shown import Shown
from shardwise.io.collection import UNJUDGED, Collection, Strata, Subtopics
from shardwise.planning.topics import PAIRED, PAIRS, topics_for_interval, topics_for_power
from shardwise.planning.variances import VarianceEstimate, pool_variances, variance
from shardwise.scoring.measures.names import parse_measure
from shardwise.scoring.scoring import score

Barren = Literal["drop", "zero"]
_BEYOND = np.int64(2**62)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PoolStudy(Shown):
    """What each pool depth costs for the same goal.

    ``table`` has one row a measure and depth: documents per topic in the pool (``pooled``), of these ``judged`` in
    the qrels, of these ``relevant``; the ``variance`` of a score; and for each goal the ``topics`` it takes and the
    ``judgments`` in all, topics x pooled.
    """

    table: pd.DataFrame
    goals: tuple[str, ...]  # in words, "power" first where both are asked for
    variance_method: str
    notes: tuple[str, ...]

    def cheapest(self, goal: Literal["power", "interval"] = "power") -> pd.DataFrame:
        """Return for each measure the depth that takes fewest judgments.

        Parameters
        ----------
        goal : {"power", "interval"}
            ``power`` or ``interval``.

        Returns
        -------
        DataFrame
            One row a measure.
        """
        column = f"judgments_{goal}"
        if column not in self.table:
            raise InputError(f"the study has no goal {goal!r}", remedy=f"it has: {'; '.join(self.goals)}")
        best = self.table.groupby("measure", sort=False)[column].idxmin()
        return self.table.loc[best].reset_index(drop=True)

    def plot(self, goal: Literal["power", "interval"] | None = None) -> Any:
        """Draw topics against documents to judge (S14 Fig. 4): an altair chart.

        Parameters
        ----------
        goal : {"power", "interval"}, optional
            ``power`` or ``interval``; the first there is, if None.

        Returns
        -------
        Chart
            The chart, an altair object.
        """
        return late.call_bound("chart", self, goal=goal)

    def __str__(self) -> str:
        head = [f"{self.variance_method}; {'; '.join(self.goals)}"]
        return "\n".join([*head, self.table.to_string(index=False), *(f"- {note}" for note in self.notes)])


def pool_depth_study(
    collections: Collection | Sequence[Collection],
    depths: Iterable[int] = (10, 30, 50, 70, 100),
    measure: Any = "AP",
    *,
    min_diff: float | None = 0.15,
    systems: int = 10,
    power: float = 0.8,
    width: float | None = 0.15,
    alpha: float = 0.05,
    method: str = "moderated",
    variance_method: str | None = None,
    no_relevant: Barren = "drop",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> PoolStudy:
    """Judge again with pools of several depths, score again, and count topics and judgments (S14 §5.4).

    The depth-d pool of a topic holds the first d documents of every run; it keeps the grades of the qrels, and its
    documents without a judgment count as not relevant. Several collections are pooled, each weighted by its topics
    less one (S14 eq. 8).

    Parameters
    ----------
    collections : Collection or sequence of Collection
        One collection, or several of a kind.
    depths : iterable of int
        Pool depths to try.
    measure : object
        One measure or several.
    min_diff : float or None
        A goal: the difference to find, between two systems or, with an F test, between the best and the worst; None
        leaves it out.
    systems : int
        How many systems are to be compared.
    power : float
        Probability of finding ``min_diff``.
    width : float or None
        A goal: the width of the interval of a difference; None leaves it out.
    alpha : float
        Level of the test, or 1 less the confidence of the interval.
    method : str
        The planned test, as for `topics_for_power`; S14 has ``sakai``.
    variance_method : str, optional
        How the variance is estimated, as for `variance`; if None, as the planned test needs it.
    no_relevant : {"drop", "zero"}
        A topic without relevant documents in the shallowest pool is dropped at every depth (``drop``), so that all
        depths see the same topics, or scores ``zero`` there.
    jobs : int, optional
        Number of threads that score; all processors, if None.
    progress : callable, optional
        Called with (pools scored, pools in all).

    Returns
    -------
    PoolStudy
        What each depth costs.

    >>> from shardwise.lab.simulate_collection import simulate_collection
    >>> made = simulate_collection(topics=20, systems=6, depth=100, corpus=5000, relevant=30, seed=2)
    >>> study = pool_depth_study(made.collection(), depths=[10, 50], measure="AP", width=None)
    >>> study.table[["measure", "depth", "pooled", "topics_power", "judgments_power"]].round(1)
      measure  depth  pooled  topics_power  judgments_power
    0      AP     10    26.4            47             1241
    1      AP     50   119.9            35             4196
    """
    if min_diff is None and width is None:
        raise InputError(
            "there is no goal", remedy=("give ", Option("min_diff"), ", ", Option("width"), ", or both")
        )
    pools = judge_pools(
        collections, depths, measure, variance_for(method, variance_method), no_relevant, jobs, progress
    )
    test: Any = {"min_diff": min_diff, "systems": systems, "alpha": alpha, "power": power, "method": method}
    rows = []
    for row, estimate in zip(pools.table.to_dict("records"), pools.estimates, strict=True):
        needed = {}
        if min_diff is not None:
            needed["power"] = topics_for_power(variance=estimate, **test)
        if width is not None:
            needed["interval"] = topics_for_interval(variance=estimate, width=width, alpha=alpha)
        for goal, topics in needed.items():
            row |= {f"topics_{goal}": topics, f"judgments_{goal}": round(int(topics) * row["pooled"])}
        rows.append(row)
    return PoolStudy(
        table=pd.DataFrame(rows),
        goals=_describe_goals(min_diff, systems, power, width, alpha, method),
        variance_method=pools.estimates[0].method,
        notes=pools.notes,
    )


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPools:
    """Pools of several depths: what is in them, and how much scores vary that are made with them."""

    table: pd.DataFrame  # measure, depth, pooled, judged, relevant, variance
    estimates: list[VarianceEstimate]  # a row each
    notes: tuple[str, ...]


def variance_for(method: str, variance_method: str | None) -> str:
    """Name of the variance that a planned test needs, unless one was named."""
    return variance_method or ("residual" if method in PAIRED else "two-way")


def judge_pools(
    collections: Collection | Sequence[Collection],
    depths: Iterable[int],
    measure: Any,
    variance_method: str,
    no_relevant: Barren = "drop",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> JudgedPools:
    """Cut the judgments down to pools of each depth, score again, and estimate the variance."""
    each = [collections] if isinstance(collections, Collection) else list(collections)
    cuts = _validate_depths(each, depths)
    several = measure if isinstance(measure, Sequence) and not isinstance(measure, str) else [measure]
    names = list(dict.fromkeys(str(parse_measure(estimate)) for estimate in several))
    validate_choice(no_relevant, "no_relevant", ("drop", "zero"), what="policy")
    jobs = count_workers(jobs)
    pools = [best_ranks(collection, cuts[-1]) for collection in each]
    kept, notes = _topics_kept(each, pools, names, cuts[0], no_relevant, jobs)
    rows, done = [], 0
    for depth in cuts:
        counts = np.zeros(3)
        estimates: dict[str, list[VarianceEstimate]] = {name: [] for name in names}
        for collection, pool, keep in zip(each, pools, kept, strict=True):
            shallow = _cut_pool(collection, pool, depth)
            scores = score(shallow, names, no_relevant="zero", jobs=jobs).isel(topic=np.flatnonzero(keep))
            variances = variance(scores, variance_method)
            counts += _count_documents(shallow, pool, depth, keep)
            for name in names:
                estimates[name].append(variances[name])
            done += 1
            if progress is not None:
                progress(done, len(cuts) * len(each))
        inside = dict(
            zip(("pooled", "judged", "relevant"), counts / sum(int(keep.sum()) for keep in kept), strict=True)
        )
        for name in names:
            estimate = pool_variances(estimates[name])
            rows.append(
                ({"measure": name, "depth": depth, **inside, "variance": estimate.sigma_sq}, estimate)
            )
    rows.sort(key=lambda row: names.index(str(row[0]["measure"])))  # stable: by depth within a measure
    table = pd.DataFrame([row for row, _ in rows])
    return JudgedPools(table, [estimate for _, estimate in rows], (*notes, *_describe_unjudged(table)))


def pool_qrels(collection: Collection, depth: int) -> Collection:
    """Return the collection as if only the first ``depth`` documents of every run had been judged.

    Parameters
    ----------
    collection : Collection
        Runs and judgments.
    depth : int
        How many documents of every run are in the pool.

    Returns
    -------
    Collection
        The collection with fewer judgments.

    >>> from shardwise.io.reader import read_collection
    >>> runs = {"x": {"1": {"a": 3., "b": 2., "c": 1.}}, "y": {"1": {"c": 2., "a": 1.}}}
    >>> qrels = {"1": {"a": 1, "b": 1, "c": 0, "d": 1}}
    >>> shallow = pool_qrels(read_collection(runs, qrels), 1)
    >>> [shallow.docnos()[d] for d in shallow.qrel_docs]
    ['a', 'c']
    """
    depth = _validate_depths([collection], [depth])[0]
    return _cut_pool(collection, best_ranks(collection, depth), depth)


@dataclass(frozen=True, slots=True, eq=False)
class BestRanks:
    """For each topic and document that some run has near its top, the best rank it has in any run."""

    keys: Ints  # topic x number of documents + document, ascending
    ranks: Ints  # from 0

    def rank_documents(self, keys: Ints) -> Ints:
        """Best ranks of some topics and documents; those that are near no run's top are beyond all."""
        positions = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[positions] == keys, self.ranks[positions], _BEYOND)


def best_ranks(collection: Collection, deepest: int) -> BestRanks:
    """Find the best rank of every document that a run has among its first ``deepest``."""
    ranks = np.arange(len(collection.docs)) - np.repeat(collection.starts[:-1], np.diff(collection.starts))
    near = np.flatnonzero(ranks < deepest)
    ranks, keys = ranks[near], _ranked_keys(collection, near)
    order = np.lexsort((ranks, keys))
    first = np.concatenate([[True], np.diff(keys[order]) != 0])
    return BestRanks(keys[order][first], ranks[order][first])


def _ranked_keys(collection: Collection, which: Ints) -> Ints:
    n_topics = len(collection.topics)
    topic_of = np.tile(np.arange(n_topics, dtype=np.int64), len(collection.systems))
    topics = np.repeat(topic_of, np.diff(collection.starts))[which]
    return np.asarray(topics * collection.n_docs + collection.docs[which])


def _judged_keys(collection: Collection) -> Ints:
    topic_of = np.repeat(np.arange(len(collection.topics), dtype=np.int64), np.diff(collection.qrel_starts))
    return np.asarray(topic_of * collection.n_docs + collection.qrel_docs)


def _cut_pool(collection: Collection, pool: BestRanks, depth: int) -> Collection:
    """Judgments only of documents that a run has among its first ``depth``."""
    keep = pool.rank_documents(_judged_keys(collection)) < depth
    ends = np.concatenate([[0], np.cumsum(keep)])
    judged = np.flatnonzero(collection.grades != UNJUDGED)
    gone = judged[pool.rank_documents(_ranked_keys(collection, judged)) >= depth]
    grades = collection.grades.copy()
    grades[gone] = UNJUDGED
    return replace(
        collection,
        grades=grades,
        qrel_docs=collection.qrel_docs[keep],
        qrel_grades=collection.qrel_grades[keep],
        qrel_starts=ends[collection.qrel_starts].astype(np.int64),
        notes=(
            *collection.notes,
            f"judgments outside pools of depth {depth} were taken out: {int((~keep).sum())}",
        ),
        subtopics=None if collection.subtopics is None else _keep_subtopics(collection.subtopics, keep),
        strata=None
        if collection.strata is None
        else Strata(collection.strata.names, collection.strata.codes[keep]),
    )


def _keep_subtopics(by: Subtopics, keep: Bools) -> Subtopics:
    lengths = np.diff(by.edges)
    inside = np.repeat(keep, lengths)
    edges = np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64)
    return replace(by, edges=edges, codes=by.codes[inside], grades=by.grades[inside])


def _validate_depths(collections: Sequence[Collection], depths: Iterable[int]) -> list[int]:
    if not collections:
        raise InputError("no collection was given", remedy="give one, or several to be pooled")
    cuts = sorted({validate_count(depth, "depths", what="as a pool depth") for depth in depths})
    if not cuts:
        raise InputError("no pool depth was given", remedy="try [10, 30, 50, 100]", argument="depths")
    deepest = min(int(np.diff(collection.starts).max(initial=0)) for collection in collections)
    if cuts[-1] > deepest:
        raise InputError(
            f"a pool of depth {cuts[-1]} cannot be made: no run is deeper than {deepest}",
            remedy=f"choose depths up to {deepest}",
        )
    return cuts


def _topics_kept(
    collections: Sequence[Collection],
    pools: Sequence[BestRanks],
    names: Sequence[str],
    depth: int,
    no_relevant: Barren,
    jobs: int | None,
) -> tuple[list[Bools], list[str]]:
    """Topics that every measure can score in the shallowest pool, and what is to be said of the others."""
    kept, notes = [], []
    for collection, pool in zip(collections, pools, strict=True):
        # a topic is undefined for all systems or for none
        shallow = _cut_pool(collection, pool, depth)
        scores: xr.Dataset = score(shallow, list(names), no_relevant="undefined", jobs=jobs).isel(system=0)
        defined = np.logical_and.reduce([scores[name].notnull().to_numpy() for name in names])
        barren = [topic for topic, good in zip(collection.topics, defined, strict=True) if not good]
        if barren:
            fate = "were left out at every depth" if no_relevant == "drop" else "score 0 where they have none"
            shown = ", ".join(barren[:5]) + (", …" if len(barren) > 5 else "")
            notes.append(
                f"{len(barren)} of {len(collection.topics)} topics have no relevant document in the pool of depth"
                f" {depth} and {fate}: {shown}"
            )
        kept.append(defined if no_relevant == "drop" else np.ones_like(defined))
        if kept[-1].sum() < 2:
            raise InputError(
                f"fewer than 2 topics have relevant documents in pools of depth {depth}",
                remedy=("leave out the shallowest depth", Either(", or choose no_relevant='zero'", "")),
            )
    return kept, notes


def _count_documents(shallow: Collection, pool: BestRanks, depth: int, keep: Bools) -> Ints:
    """Documents pooled, judged and relevant, over the topics kept."""
    topics = pool.keys[pool.ranks < depth] // max(shallow.n_docs, 1)
    judged = np.repeat(np.arange(len(shallow.topics)), np.diff(shallow.qrel_starts))
    relevant = judged[shallow.qrel_grades > 0]
    return np.array([keep[which].sum() for which in (topics, judged, relevant)], dtype=np.int64)


def _describe_goals(
    min_diff: float | None, systems: int, power: float, width: float | None, alpha: float, method: str
) -> tuple[str, ...]:
    goals = []
    if min_diff is not None:
        what = "difference" if method in PAIRS else "range"
        goals.append(f"power {power:g} to find a {what} of {min_diff:g} among {systems} systems at {alpha:g}")
    if width is not None:
        goals.append(f"{1 - alpha:.0%} intervals of width {width:g}")
    return tuple(goals)


def _describe_unjudged(table: pd.DataFrame) -> list[str]:
    """Say how much of the pools nobody judged: there the variance is of a poorer collection than is paid for."""
    notes = []
    for _, row in table.drop_duplicates("depth").iterrows():
        pooled, judged = float(row["pooled"]), float(row["judged"])
        if judged < pooled - 1e-9:
            notes.append(
                f"depth {row['depth']}: {pooled - judged:.1f} of {pooled:.1f} pooled documents per topic are not in"
                " the qrels and count as not relevant"
            )
    return notes
