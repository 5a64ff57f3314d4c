"""How deep a pool to judge, and how to spend judgments: variance, topics and judgments at each depth (S14 §5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shardwise.core.arguments import Progress, count_workers, validate_choice, validate_count
from shardwise.core.arrays import Bools
from shardwise.core.claim import format_count
from shardwise.core.errors import Either, InputError, Option
from shardwise.core.libraries import pd, xr
from shardwise.io.collection import Collection
from shardwise.planning.design import (
    PAIRS,
    Design,
    choose_method,
    topics_for_interval,
    topics_for_power,
    variance_for,
)
from shardwise.planning.plans import Plan
from shardwise.planning.variances import VarianceEstimate, variance
from shardwise.scoring.measures.names import parse_measure
from shardwise.scoring.scoring import score

Barren = Literal["drop", "zero"]


def plan_pools(
    collections: Collection | Sequence[Collection],
    depths: Iterable[int] = (10, 30, 50, 70, 100),
    measure: Any = "AP",
    *,
    judgments: float | None = None,
    min_diff: float | None = 0.15,
    width: float | None = 0.15,
    topic_cost: float = 0.0,
    systems: int = 10,
    power: float = 0.8,
    alpha: float = 0.05,
    method: str = "moderated",
    variance_method: str | None = None,
    no_relevant: Barren = "drop",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Judge again with pools of several depths, score again, and count topics and judgments (S14 §5.4).

    The depth-d pool of a topic holds the first d documents of every run; it keeps the grades of the qrels, and its
    documents without a judgment count as not relevant. Several collections are pooled, each weighted by its topics
    less one (S14 eq. 8). Without ``judgments``, a row says how many topics and judgments reach the goals; with them,
    what the topics that they pay for detect.

    Parameters
    ----------
    collections : Collection or sequence of Collection
        One collection, or several of a kind.
    depths : iterable of int
        Pool depths to try.
    measure : object
        One measure or several.
    judgments : float, optional
        How many judgments there are to spend; a topic costs the documents in its pool and ``topic_cost``.
    min_diff : float or None
        A goal: the difference to find, between two systems or, with an F test, between the best and the worst; None
        leaves it out.
    width : float or None
        A goal: the width of the interval of a difference; None leaves it out.
    topic_cost : float
        What a topic costs beside its judgments, in judgments: writing it, training assessors.
    systems : int
        How many systems are to be compared.
    power : float
        Probability of finding the difference.
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
    Plan
        One row a measure and depth: documents per topic in the pool (``pooled``), of these ``judged`` in the qrels, of
        these ``relevant``; the ``variance`` of a score; and either, for each goal, ``topics`` and ``judgments`` in all,
        or what the judgments pay for and reach: ``topics, judgments, min_diff``, the same if the doubt about the
        variance counts (``min_diff_assured``), and the ``width`` of the interval of a difference.

    >>> from shardwise.lab.simulate_collection import simulate_collection
    >>> made = simulate_collection(topics=20, systems=6, depth=100, corpus=5000, relevant=30, seed=2)
    >>> study = plan_pools(made.collection(), depths=[10, 50], measure="AP", width=None)
    >>> study.table[["measure", "depth", "pooled", "topics_power", "judgments_power"]].round(1)
      measure  depth  pooled  topics_power  judgments_power
    0      AP     10    26.4            47             1241
    1      AP     50   119.9            35             4196
    >>> print(plan_pools(made.collection(), [10, 50], judgments=2000, systems=2).lines[0])
    AP: 2,000 judgments are best spent on 75 topics judged to depth 10 (26 documents each): they find a
    difference of 0.081 between two systems with power 0.8 at level 0.05; at depth 50, 16 topics find 0.159
    """
    if judgments is None and min_diff is None and width is None:
        raise InputError(
            "there is no goal", remedy=("give ", Option("min_diff"), ", ", Option("width"), ", or both")
        )
    for name, value, least in (("judgments", judgments, 1.0), ("topic_cost", topic_cost, 0.0)):
        if value is not None and not (np.isfinite(value) and value >= least):
            raise InputError(f"{name} = {value:g}: it must be {least:g} or more", argument=name, value=value)
    judged, estimates, notes = judge_pools(
        collections, depths, measure, variance_method or variance_for(method), no_relevant, jobs, progress
    )
    facts: dict[str, Any] = {"systems": systems, "alpha": alpha, "power": power, "method": method}
    choose_method(method, np.array([float(systems)]), estimates)
    if judgments is not None:
        plan = Plan("judgments", judged, (), "min_diff", notes, facts)
        return _spend_judgments(plan, estimates, judgments, topic_cost)
    table, goals, what = judged.copy(), [], "difference" if method in PAIRS else "range"
    sigma_sq = table["variance"].to_numpy()
    if min_diff is not None:
        table["topics_power"] = topics_for_power(variance=sigma_sq, min_diff=min_diff, **facts)
        goals.append(f"power {power:g} to find a {what} of {min_diff:g} among {systems} systems at {alpha:g}")
    if width is not None:
        table["topics_interval"] = topics_for_interval(variance=sigma_sq, width=width, alpha=alpha)
        goals.append(f"{1 - alpha:.0%} intervals of width {width:g}")
    order = [str(name) for name in judged]
    for goal in ("power", "interval"):
        if f"topics_{goal}" in table:
            table[f"judgments_{goal}"] = np.rint(table[f"topics_{goal}"] * table["pooled"]).astype(int)
            order += [f"topics_{goal}", f"judgments_{goal}"]
    best_by = next(name for name in order if name.startswith("judgments_"))
    facts["variance_method"] = estimates[0].method
    return Plan("pools", table[order], tuple(goals), best_by, notes, facts)


def _spend_judgments(
    plan: Plan, estimates: list[VarianceEstimate], judgments: float, topic_cost: float
) -> Plan:
    """What the topics detect that the judgments pay for at each depth; NaN where they are fewer than 2."""
    table, facts = plan.table, {**plan.facts, "judgments": judgments, "topic_cost": topic_cost}
    topics = np.floor(judgments / (table["pooled"].to_numpy() + topic_cost))
    paid = topics >= 2
    if not paid.any():
        cheapest = 2 * (float(table["pooled"].min()) + topic_cost)
        raise InputError(
            f"{judgments:g} judgments do not pay for 2 topics, which take {cheapest:.0f}",
            remedy="give more judgments, or shallower pools",
            argument="judgments",
            value=judgments,
        )
    doubt = np.array([estimate.effective_df for estimate in estimates])[paid]
    two = Design(
        table["variance"].to_numpy()[paid], topics[paid], target=facts["power"], alpha=facts["alpha"]
    )
    design = replace(two, systems=facts["systems"], method=facts["method"])
    sure = np.isfinite(doubt)
    assured = np.full(len(doubt), np.nan)
    assured[sure] = design.take(np.flatnonzero(sure), variance_df=doubt[sure]).detectable
    table = table.assign(topics=topics.astype(int), judgments=np.rint(topics * table["pooled"]).astype(int))
    figures = {"min_diff": design.detectable, "min_diff_assured": assured, "width": two.width}
    for name, values in figures.items():
        table[name] = np.nan
        table.loc[paid, name] = values
    plan = replace(plan, table=table, facts=facts)
    pair = "any two" if facts["method"] in PAIRS else "best and worst"
    among = "two systems" if facts["systems"] == 2 else f"{pair} of {facts['systems']} systems"
    lines = []
    # the best depth of each measure in a sentence, with what the worst one finds
    for _, best in plan.best().iterrows():
        rows = table[(table["measure"] == best["measure"]) & table["min_diff"].notna()]
        worst = rows.iloc[int(rows["min_diff"].to_numpy().argmax())]
        rest = f"{format_count(int(worst['topics']), 'topic')} find {worst['min_diff']:.3f}"
        lines.append(
            f"{best['measure']}: {judgments:,.0f} judgments are best spent on"
            f" {format_count(int(best['topics']), 'topic')} judged to depth {best['depth']:.0f}"
            f" ({best['pooled']:.0f} documents each): they find a difference of {best['min_diff']:.3f}"
            f" between {among} with power {facts['power']:g} at level {facts['alpha']:g}"
            + f"; at depth {worst['depth']:.0f}, {rest}"
            * bool(worst["depth"] != best["depth"])
        )
    return replace(plan, lines=tuple(lines))


def judge_pools(
    collections: Collection | Sequence[Collection],
    depths: Iterable[int],
    measure: Any,
    variance_method: str,
    no_relevant: Barren = "drop",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, list[VarianceEstimate], tuple[str, ...]]:
    """Cut the judgments down to pools of each depth, score again, and estimate the variance; a row and estimate each.

    Columns are ``measure, depth, pooled, judged, relevant, variance``.
    """
    each = [collections] if isinstance(collections, Collection) else list(collections)
    if not each:
        raise InputError("no collection was given", remedy="give one, or several to be pooled")
    cuts = sorted({validate_count(depth, "depths", what="as a pool depth") for depth in depths})
    if not cuts:
        raise InputError("no pool depth was given", remedy="try [10, 30, 50, 100]", argument="depths")
    deepest = min(int(np.diff(collection.starts).max(initial=0)) for collection in each)
    if cuts[-1] > deepest:
        raise InputError(
            f"a pool of depth {cuts[-1]} cannot be made: no run is deeper than {deepest}",
            remedy=f"choose depths up to {deepest}",
        )
    several = measure if isinstance(measure, Sequence) and not isinstance(measure, str) else [measure]
    names = list(dict.fromkeys(str(parse_measure(estimate)) for estimate in several))
    validate_choice(no_relevant, "no_relevant", ("drop", "zero"), what="policy")
    jobs = count_workers(jobs)
    # topics that every measure can score in the shallowest pool, and what is to be said of the others
    kept: list[Bools] = []
    notes: list[str] = []
    for collection in each:
        # a topic is undefined for all systems or for none
        shallow = cut_pool(collection, cuts[0])
        scores: xr.Dataset = score(shallow, names, no_relevant="undefined", jobs=jobs).isel(system=0)
        defined = np.logical_and.reduce([scores[name].notnull().to_numpy() for name in names])
        barren = [topic for topic, good in zip(collection.topics, defined, strict=True) if not good]
        if barren:
            fate = "were left out at every depth" if no_relevant == "drop" else "score 0 where they have none"
            shown = ", ".join(barren[:5]) + (", …" if len(barren) > 5 else "")
            notes.append(
                f"{len(barren)} of {len(collection.topics)} topics have no relevant document in the pool of depth"
                f" {cuts[0]} and {fate}: {shown}"
            )
        kept.append(defined if no_relevant == "drop" else np.ones_like(defined))
        if kept[-1].sum() < 2:
            raise InputError(
                f"fewer than 2 topics have relevant documents in pools of depth {cuts[0]}",
                remedy=("leave out the shallowest depth", Either(", or choose no_relevant='zero'", "")),
            )
    rows, done = [], 0
    for depth in cuts:
        counts = np.zeros(3)
        estimates: dict[str, list[VarianceEstimate]] = {name: [] for name in names}
        for collection, keep in zip(each, kept, strict=True):
            shallow = cut_pool(collection, depth)
            scores = score(shallow, names, no_relevant="zero", jobs=jobs).isel(topic=np.flatnonzero(keep))
            # documents pooled, judged and relevant, over the topics kept
            pooled, judged = (
                keys // max(shallow.n_docs, 1) for keys in (shallow.pooled_keys(depth), shallow.judged_keys)
            )
            relevant = judged[shallow.qrel_grades > 0]
            counts += [keep[which].sum() for which in (pooled, judged, relevant)]
            for name in names:
                estimates[name].append(variance(scores, variance_method, measure=name))
            done += 1
            if progress is not None:
                progress(done, len(cuts) * len(each))
        inside = dict(
            zip(("pooled", "judged", "relevant"), counts / sum(int(keep.sum()) for keep in kept), strict=True)
        )
        for name in names:
            first, *others = estimates[name]
            estimate = first.pool(*others)
            rows.append(
                ({"measure": name, "depth": depth, **inside, "variance": estimate.sigma_sq}, estimate)
            )
    rows.sort(key=lambda row: names.index(str(row[0]["measure"])))  # stable: by depth within a measure
    table = pd.DataFrame([row for row, _ in rows])
    # where nobody judged, the variance is of a poorer collection than is paid for
    notes += [
        f"depth {row['depth']}: {row['pooled'] - row['judged']:.1f} of {row['pooled']:.1f} pooled documents per topic"
        " are not in the qrels and count as not relevant"
        for _, row in table.drop_duplicates("depth").iterrows()
        if row["judged"] < row["pooled"] - 1e-9
    ]
    return table, [estimate for _, estimate in rows], tuple(notes)


def cut_pool(collection: Collection, depth: int) -> Collection:
    """Judgments only of documents that a run has among its first ``depth``."""
    return collection.keep_judgments(np.isin(collection.judged_keys, collection.pooled_keys(depth)))
