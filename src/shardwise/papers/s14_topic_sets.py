"""Sakai (2014) on other collections: how many topics a test collection needs, from the variances of its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

import shardwise as sw
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError, Option
from shardwise.core.libraries import pd, xr
from shardwise.papers.claims import CannotSayError, Figures, Parts, compare, divide, make_claims
from shardwise.papers.exhibit import Exhibit, Frames, Replication, join_printed, read_printed
from shardwise.papers.experiment import (
    PaperData,
    PaperExperiment,
    Rows,
    Step,
    drop_topics,
    gather_scores,
    gather_several,
    join_rows,
    replicate_paper,
)
from shardwise.papers.shard_fits import fit_models
from shardwise.stats.moderation import pair_variances

DEEP, SHALLOW, DIVERSITY = "deep", "depth 10", "diversity, depth 10"
ADHOC = ("AP", "Q", "nDCG", "nERR")
DIVERSE = ("alpha-nDCG", "nERR-IA", "D-nDCG", "D♯-nDCG")
DEPTHS = (10, 30, 50, 70, 100)
WIDTHS = (0.10, 0.15, 0.20, 0.25)
TWO_WAY = "two-way"
KINDS = ("percentile95", "one-way", TWO_WAY)
"""Variances of Figure 1."""
REACH = tuple(range(10, 201, 5))
REACHED = (2, 10, 100)
SYSTEMS = tuple(range(2, 201, 2))
GOAL = 0.15
"""Range and width of Figure 4."""
TABLES = {DEEP: (4,), SHALLOW: (5, 6), DIVERSITY: (7,)}
"""Tables of topics by task, the first of which has the task's name in Tables 3 and 8."""
PRINTED_TASKS = {
    4: "adhoc/news, depth 1000",
    5: "adhoc/news, depth 10",
    6: "adhoc/web, depth 10",
    7: "diversity/web, depth 10",
}
POOLED = "pooled"

ABOUT_TASKS = (
    "Rows 'deep' have the measures at full depth, rows 'depth 10' those of the first ten documents. Numbers in "
    "brackets are of the paper's own collections: adhoc/news for Tables 3(a1), 4 and 9, adhoc/news at depth 10 for "
    "Tables 3(a2) and 5, adhoc/web for Table 6, diversity/web for Table 7. They are sizes to hold ours against, "
    "not targets."
)


@dataclass(frozen=True, kw_only=True)
class S14(PaperExperiment):
    """Experiment of Sakai (2014): Tables 3 to 9 and Figures 1 to 4, pooled over collections.

    Tables of scores have no judgments to take away and no depth: they give Tables 3, 4 and 8 and Figures 1 to 3.
    Table 7 needs judgments of subtopics.

    Parameters
    ----------
    depths : sequence of int, optional
        Pool depths of Table 9; 10, 30, 50, 70 and 100, as far as runs and judgments go, if None.
    method : str
        How topics are counted, "sakai" or "exact", as for `topics_for_power`.
    """

    tag: ClassVar[str] = "S14"
    title: ClassVar[str] = "how many topics a test collection needs"
    own_sizes: ClassVar[frozenset[tuple[int, int]]] = frozenset(
        ((78, 50), (78, 49), (37, 50), (28, 50), (25, 50), (20, 50))
    )

    depths: Sequence[int] | None = None
    method: str = "sakai"

    def gather_data(self, data: Any) -> PaperData:
        """Take one collection or table, or several by name, all of one kind."""
        given = gather_several(data)
        if not given:
            raise InputError("no collection was given", remedy="give one, or several by name")
        runs = [each for each in given.values() if isinstance(each, sw.Collection)]
        if runs and len(runs) < len(given):
            raise InputError("some are runs and some are tables of scores", remedy="give all in one form")
        if runs:
            return PaperData(xr.Dataset(), runs[0], named=given)
        if self.depths is not None:
            raise InputError(
                (Option("depths"), " has no effect with tables of scores"), remedy="leave it out"
            )
        sources = {name: gather_scores(each, ()) for name, each in given.items()}
        tables = {name: source.scores for name, source in sources.items()}
        every = [(str(name), y) for table in tables.values() for name, y in table.data_vars.items()]
        varying = {name for name, y in every if y.min() < y.max()}
        if constant := [name for name, _ in every if name not in varying]:
            raise InputError(f"all scores of {constant[0]} are the same", remedy="leave that measure out")
        notes = tuple(note for source in sources.values() for note in source.notes)
        return PaperData(next(iter(tables.values())), None, notes, tables)

    def list_facts(self, source: PaperData) -> dict[str, str]:
        """State how topics are counted and where printed numbers come from."""
        return {
            "topics counted by": self.method,
            "in brackets": "printed by Sakai for TREC collections; pooled rows for his pooled collections",
        }

    def explain_absence(self, source: PaperData) -> str:
        """Say what needs judgments, or judgments of subtopics."""
        if source.collection is None:
            return "needs runs and judgments, or scores of AP, Q, nDCG and nERR"
        return "" if DIVERSITY in list_tasks(source.named) else "Table 7 needs judgments of subtopics"

    def list_steps(self, source: PaperData) -> Mapping[str, Step]:
        """Estimate the variances of each collection, then study shallower pools."""
        if source.collection is None:
            return {
                f"variances-{k}": partial(estimate_variances, name, {DEEP: table})
                for k, (name, table) in enumerate(source.named.items())
            }
        tasks = list_tasks(source.named)
        steps: dict[str, Step] = {
            f"variances-{k}": partial(self._score_tasks, name, each, tasks)
            for k, (name, each) in enumerate(source.named.items())
        }
        steps["pools"] = partial(self._study_pools, list(source.named.values()), tasks[DEEP])
        return steps

    def _score_tasks(
        self, name: str, runs: sw.Collection, tasks: Mapping[str, Mapping[str, str]]
    ) -> dict[str, Rows]:
        """Estimate the variances of one collection in every task (Table 3, Figure 1)."""
        return estimate_variances(
            name, {task: self._score_named(runs, measures) for task, measures in tasks.items()}
        )

    def _study_pools(self, runs: Sequence[sw.Collection], measures: Mapping[str, str]) -> dict[str, Rows]:
        """Estimate variances and costs with shallower pools (Table 9, Figure 4)."""
        deepest = min(int(np.diff(each.starts).max(initial=0)) for each in runs)
        depths = tuple(self.depths or (d for d in DEPTHS if d <= deepest)) or (deepest,)
        how: dict[str, Any] = {"min_diff": GOAL, "width": GOAL, "method": self.method, "no_relevant": "drop"}
        study = sw.planning.plan_pools(runs, depths, list(measures.values()), jobs=self.jobs, **how)
        names = dict(zip(dict.fromkeys(study.table["measure"]), measures, strict=True))
        return {"pools": study.table.assign(measure=study.table["measure"].map(names))}

    def measure_figures(self, source: PaperData) -> Figures:
        """Measure the variances of every task and pool depth, pooled over the collections."""
        figures = Figures(self.explain_absence(source))
        tables: dict[tuple[Any, ...], list[tuple[Floats, int]]] = {}
        tasks = {} if source.collection is None else list_tasks(source.named)
        judged: dict[int, list[float]] = {}
        for each in source.named.values():
            if not isinstance(each, sw.Collection):
                self._add_variances(tables, ("variance", DEEP), each)
                continue
            for task, measures in tasks.items():
                self._add_variances(tables, ("variance", task), self._score_named(each, measures))
            deepest = int(np.diff(each.starts).max(initial=0))
            for depth in self.depths or (d for d in DEPTHS if d <= deepest):
                shallow = each.keep_judgments(np.isin(each.judged_keys, each.pooled_keys(depth)))
                scores = self._score_named(shallow, tasks[DEEP])
                self._add_variances(tables, ("pool", depth), scores)
                topics = scores.sizes["topic"]
                judged.setdefault(depth, []).append(len(shallow.qrel_docs) / max(topics, 1))
        for key, parts in tables.items():
            if len(parts) == len(source.named):
                total = sum(weight for _, weight in parts)
                figures[key] = np.asarray(sum(values * weight for values, weight in parts) / total)
        for depth, counts in judged.items():
            figures["judged", depth] = np.full((1 + self.claim_resamples, 1), np.mean(counts))
        return figures

    def _score_named(self, runs: sw.Collection, measures: Mapping[str, str]) -> xr.Dataset:
        """Score measures by the paper's names, on the topics that have a score by all."""
        scores = sw.score(runs, list(measures.values()), jobs=self.jobs)
        names = {ours: theirs for theirs, ours in zip(measures, scores.data_vars, strict=True)}
        return drop_topics(scores.rename(names))[0]

    def _add_variances(
        self,
        tables: dict[tuple[Any, ...], list[tuple[Floats, int]]],
        key: tuple[Any, ...],
        scores: xr.Dataset,
    ) -> None:
        """Add the variances of one collection by all methods on resampled topics, with their weights."""
        for name, values in scores.data_vars.items():
            y = values.transpose("topic", "system").to_numpy()
            weights = self.resample_topics(len(y))
            sums = vary_topics(y, weights)
            if key[0] == "pool":
                tables.setdefault((*key, name), []).append((sums[TWO_WAY], len(y) - 1))
                continue
            for kind, variance in sums.items():
                tables.setdefault((*key, name, kind), []).append((variance, len(y) - 1))

    def read_figures(self) -> Figures:
        """Return the pooled variances of Tables 3 and 9."""
        tracks = {4: "adhoc/news", 5: "adhoc/news", 6: "adhoc/web", 7: "diversity/web"}
        tasks = {4: DEEP, 5: SHALLOW, 6: SHALLOW, 7: DIVERSITY}
        figures = Figures("S14 does not print it", sorted(set(tracks.values())))
        three = read_printed("s14-table-3", collection=POOLED).assign(kind=TWO_WAY)
        three = three.assign(task=three["table"].map(tasks), track=three["table"].map(tracks))
        figures.read_rows(three, "variance", ["task", "measure", "kind"], "track", "variance")
        nine = read_printed("s14-table-9").assign(track="adhoc/news")
        figures.read_rows(nine, "pool", ["depth", "measure"], "track", "variance")
        return figures.read_rows(nine, "judged", ["depth"], "track", "judged")

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out Tables 3 to 9 and draw Figures 1 to 4."""
        variances = frames["variances"]
        pooled = pool_rows(variances)
        two_way = pooled[pooled["method"] == "two-way"]
        by_task = {
            str(task): dict(zip(rows["measure"], rows["variance"], strict=True))
            for task, rows in two_way.groupby("task", sort=False)
        }
        notes = (ABOUT_TASKS,) if source.collection is not None else ()
        yield self._show("Table 3", build_table_3(variances, two_way), notes)
        for task, estimates in by_task.items():
            topics = _stack_table(
                sw.planning.design_table(estimates, method=self.method), ["power", "measure"]
            )
            for number in TABLES[task]:
                words = {"number": number, "task": task, "printed_task": PRINTED_TASKS[number]}
                yield self._show("Table {number}", topics, words=words, like={"table": number})
        yield self._show("Table 8", build_table_8(by_task))
        pools = frames.get("pools")
        if pools is not None:
            yield self._show("Table 9", pools.assign(judged=pools["judged"].round().astype(int)))
        yield self._show("Figure 1", pooled)
        single: dict[str, Any] = {"min_diff": [0.1], "alpha": [0.05], "power": [0.8], "method": self.method}
        curves = []
        for task, estimates in by_task.items():
            sizes = sw.planning.design_table(estimates, systems=SYSTEMS, **single)
            by_measure = pd.Series(sizes.droplevel(["alpha", "min_diff"])[0.8].unstack(), name="topics")
            curves.append(by_measure.reset_index().assign(task=task))
        yield self._show("Figure 2", join_rows(curves))
        reach = []
        for task, estimates in by_task.items():
            # the paper draws the measure with the smallest variance of a task
            steadiest = min(estimates, key=lambda name: estimates[name])
            plans = {
                m: sw.planning.Design(estimates[steadiest], REACH, m, method=self.method) for m in REACHED
            }
            goals = {f"min_diff, {m} systems": design.detectable for m, design in plans.items()}
            goals["width"] = plans[2].width
            curve = pd.DataFrame({"measure": steadiest, "topics": REACH, **goals})
            curve = curve.melt(["measure", "topics"], var_name="goal")
            reach.append(curve.assign(task=task, panel=f"{steadiest}, {task}"))
        yield self._show("Figure 3", join_rows(reach))
        if pools is not None:
            each = [
                pools[["measure", "depth", "judged"]].assign(topics=pools[f"topics_{goal}"], goal=goal)
                for goal in ("power", "interval")
            ]
            yield self._show("Figure 4", join_rows(each))


def s14(data: Any, **choices: Any) -> Replication:
    """Make the tables and figures of Sakai (2014) from other collections, pooled over them, with verdicts.

    Parameters
    ----------
    data : object
        Runs and judgments, as `read_collection` returns them; or a table of scores, as `score` returns it; or several
        of either by name, whose variances are pooled.
    **choices : object
        Fields of `S14`, and ``executor``, ``folder`` and ``progress`` of its method ``run``.

    Returns
    -------
    Replication
        Verdicts, tables and figures.
    """
    return replicate_paper(S14, data, **choices)


def vary_topics(y: Floats, weights: Floats) -> dict[str, Floats]:
    """Return the variance of (topics, systems) scores by three methods, (resamples, 1) each (S14 eq. 1, 4, 7)."""
    fits = fit_models(y[None, ..., None], weights, ["MD1"])
    n, m = y.shape
    topic, system, error = fits.ss["t"] / (n - 1), fits.ss["s"] / (m - 1), fits.mean_square("MD1")
    within = (fits.ss["t"] + fits.ss["MD1"]) / (m * (n - 1))
    share = (m - 1) / (m * n)
    places = [np.repeat(np.arange(n), row.astype(int)) for row in weights]
    a, b = np.triu_indices(m, 1)
    ends = [np.quantile(pair_variances(y[rows])[a, b], 0.95, method="inverted_cdf") / 2.0 for rows in places]
    return {
        "percentile95": np.array(ends)[:, None],
        "one-way": share * (system - within) + within,
        TWO_WAY: share * (system - error) + (topic - error) / m + error,
    }


def list_tasks(runs: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return our names of the paper's measures by task; the gain of a grade x is 2^x - 1."""
    highest = max(1, *(int(each.qrel_grades.max(initial=1)) for each in runs.values()))

    def name_adhoc(cut: str) -> dict[str, str]:
        ap = f"AP(norm='min'){cut}" if cut else "AP"
        names = (ap, f"Q(gain='exp'){cut}", f"nDCG(dcg='exp-log2'){cut}", f"nERR(max_rel={highest}){cut}")
        return dict(zip(ADHOC, names, strict=True))

    tasks = {DEEP: name_adhoc(""), SHALLOW: name_adhoc("@10")}
    if all(each.subtopics is not None for each in runs.values()):
        names = ("alpha_nDCG@10", "nERR_IA@10", "D_nDCG(dcg='exp-log2')@10", "Dsharp_nDCG(dcg='exp-log2')@10")
        tasks[DIVERSITY] = dict(zip(DIVERSE, names, strict=True))
    return tasks


def estimate_variances(name: str, tables: Mapping[str, xr.Dataset]) -> dict[str, Rows]:
    """Estimate the variance of every measure of a collection by three methods, from complete scores by task."""
    rows = []
    for task, scores in tables.items():
        for measure, values in scores.data_vars.items():
            for kind in KINDS:
                estimate = sw.planning.variance(values, kind)
                key = {"collection": name, "task": task, "measure": str(measure), "method": kind}
                sizes = {"systems": estimate.systems, "topics": estimate.topics}
                rows.append({**key, **sizes, "variance": estimate.sigma_sq})
    return {"variances": rows}


def pool_rows(variances: pd.DataFrame) -> pd.DataFrame:
    """Return one row per task, measure and method: variances pooled with weights topics less one (S14 eq. 8)."""
    weight = variances["topics"] - 1
    weighted = variances.assign(variance=variances["variance"] * weight, weight=weight)
    total = weighted.groupby(["task", "measure", "method"], sort=False)[["variance", "weight"]].sum()
    return (total["variance"] / total["weight"]).rename("variance").reset_index()


def build_table_3(variances: pd.DataFrame, pooled: pd.DataFrame) -> pd.DataFrame:
    """Return the variances of every collection and pooled, and below them those of the paper's collections."""
    two_way = variances[variances["method"] == "two-way"].drop(columns="method")
    ours = join_rows([two_way, pooled.drop(columns="method").assign(collection=POOLED)])
    given = [
        read_printed("s14-table-3", table=numbers[0]).assign(task=task)
        for task, numbers in TABLES.items()
        if task in set(ours["task"])
    ]
    printed = join_rows(given)
    beside_pooled = printed[printed["collection"] == POOLED].drop(columns=["systems", "topics"])
    frame = join_printed(ours, beside_pooled, ["task", "collection", "measure"], S14.tag)
    # collections of the paper have rows of their own
    others = printed[(printed["collection"] != POOLED) & printed["measure"].isin(set(ours["measure"]))]
    if len(others):
        frame = join_rows([frame, others.rename(columns={"variance": f"variance_{S14.tag}"})])
    frame = frame.astype({"systems": "Int64", "topics": "Int64"})
    order = {task: k for k, task in enumerate(TABLES)}
    return frame.sort_values("task", key=lambda column: column.map(order), kind="stable", ignore_index=True)


def build_table_8(by_task: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return the topics needed for intervals of several widths."""
    frames = []
    for task, estimates in by_task.items():
        sizes = sw.planning.design_table(estimates, width=WIDTHS, alpha=[0.05])
        topics = _stack_table(sizes, ["measure"]).drop(columns="alpha").assign(task=task)
        frames.append(
            join_printed(
                topics, read_printed("s14-table-8", table=TABLES[task][0]), ["width", "measure"], S14.tag
            )
        )
    return join_rows(frames)[["task", "width", "measure", "topics", f"topics_{S14.tag}"]]


def _stack_table(table: pd.DataFrame, levels: list[str]) -> pd.DataFrame:
    """Return one row per cell of a table of topics."""
    rows = table.stack(levels, future_stack=True)
    return pd.DataFrame(rows, columns=["topics"]).reset_index()


# Claims


def _list_ratios(figures: Figures, task: str, top: Sequence[str], bottom: Sequence[str]) -> Parts:
    """Return the variances of some measures in units of those of others."""
    return {
        f"{task}: {a} against {b}": divide(
            figures["variance", task, a, TWO_WAY], figures["variance", task, b, TWO_WAY]
        )
        for a in top
        for b in bottom
    }


def raise_nerr(figures: Figures) -> Parts:
    """Return the variance of nERR in units of those of AP, Q and nDCG, at all depths that there are."""
    parts: dict[str, Floats] = {}
    for task in figures.list_levels("variance"):
        if task != DIVERSITY:
            parts |= _list_ratios(figures, task, ADHOC[3:], ADHOC[:3])
    return parts


def order_methods(figures: Figures) -> Parts:
    """Return the variances by the other two methods in units of the two-way ones."""
    return {
        f"{task}: {name}, {kind}": divide(
            figures["variance", task, name, kind], figures["variance", task, name, TWO_WAY]
        )
        for task in figures.list_levels("variance")
        for kind in KINDS[:2]
        for name in (DIVERSE if task == DIVERSITY else figures.list_levels("variance", 2))
        if ("variance", task, name, kind) in figures
    }


def _plan(variance: Floats, min_diff: float, systems: int) -> Floats:
    """Return the topics that find a range among systems with power .8 at level .05, as S14 counts them."""
    known = np.isfinite(variance) & (variance > 0.0)
    how: dict[str, Any] = {"min_diff": min_diff, "systems": systems, "method": "sakai"}
    topics = sw.planning.topics_for_power(variance=np.where(known, variance, 0.05), **how)
    return np.where(known, topics, np.nan)


def match_intervals(figures: Figures) -> Parts:
    """Return how far topics for a range among ten systems differ from those for an interval of that width."""
    parts = {}
    for name in figures.list_levels("variance", 2):
        variance = figures.get(("variance", DEEP, name, TWO_WAY))
        if variance is None:
            continue
        known = np.isfinite(variance) & (variance > 0.0)
        needed = sw.planning.topics_for_interval(variance=np.where(known, variance, 0.05), width=WIDTHS[0])
        parts[f"{name}, {WIDTHS[0]:g}"] = np.abs(_plan(variance, WIDTHS[0], 10) / needed - 1.0)
    return parts


def count_for_range(
    figures: Figures, task: str, names: Sequence[str], min_diff: float, systems: int
) -> Parts:
    """Return the topics that find a range among so many systems."""
    return {name: _plan(figures["variance", task, name, TWO_WAY], min_diff, systems) for name in names}


def compare_many(figures: Figures) -> Parts:
    """Return the topics that AP and nERR need for a range of .10 among 200 systems, in units of those of Q."""
    needed = count_for_range(figures, SHALLOW, ADHOC, 0.1, 200)
    return {f"{name} against Q": divide(needed[name], needed["Q"]) for name in ("AP", "nERR")}


def _list_depths(figures: Figures) -> list[int]:
    depths = sorted(figures.list_levels("pool"))
    if len(depths) < 2:
        raise CannotSayError("there is only one pool depth")
    return depths


def raise_pools(figures: Figures) -> Parts:
    """Return the variance of AP with the shallowest pool in units of that with the deepest."""
    first, *_, last = _list_depths(figures)
    return {
        f"AP, depth {first} against {last}": divide(figures["pool", first, "AP"], figures["pool", last, "AP"])
    }


def save_judgments(figures: Figures) -> Parts:
    """Return the judgments for a range of .15 among ten systems with the deepest pool, in units of the shallowest."""
    first, *_, last = _list_depths(figures)
    cost = {
        depth: _plan(figures["pool", depth, "AP"], GOAL, 10) * figures["judged", depth]
        for depth in (first, last)
    }
    return {f"AP, depth {last} against {first}": divide(cost[last], cost[first])}


def double_at_all_depths(figures: Figures) -> Parts:
    """Return the variance of nERR in units of the others at every pool depth."""
    return {
        f"depth {depth}: nERR against {name}": divide(
            figures["pool", depth, "nERR"], figures["pool", depth, name]
        )
        for depth in _list_depths(figures)
        for name in ADHOC[:3]
    }


S14.claims = make_claims(
    "S14",
    {
        "nERR varies most": raise_nerr,
        "nERR costs twice": partial(_list_ratios, task=DEEP, top=ADHOC[3:], bottom=ADHOC[:3]),
        "depth 10 varies more": partial(
            compare,
            steps=[[("variance", task, name, TWO_WAY) for task in (SHALLOW, DEEP)] for name in ADHOC],
            by=divide,
        ),
        "graded measures pay at depth 10": partial(
            _list_ratios, task=SHALLOW, top=("Q", "nDCG"), bottom=("AP",)
        ),
        "two-way largest": order_methods,
        "power like intervals": match_intervals,
        "50 topics for .20": partial(count_for_range, task=DEEP, names=ADHOC[:3], min_diff=0.2, systems=10),
        "50 topics for .25 among 100": partial(
            count_for_range, task=DIVERSITY, names=("D-nDCG",), min_diff=0.25, systems=100
        ),
        "200 systems": compare_many,
        "shallow pools vary more": raise_pools,
        "shallow pools cheaper": save_judgments,
        "nERR twice at every pool depth": double_at_all_depths,
        "D-measures steadier": partial(_list_ratios, task=DIVERSITY, top=DIVERSE[2:], bottom=DIVERSE[:2]),
    },
)
