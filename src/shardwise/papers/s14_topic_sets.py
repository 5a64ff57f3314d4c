"""Sakai (2014) on other collections: how many topics a test collection needs, from the variances of its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from shardwise.core.errors import InputError, Option
from shardwise.papers.exhibit import (
    Computed,
    Evidence,
    Exhibit,
    Form,
    Frames,
    Replication,
    Shape,
    join_printed,
    make_claims,
    read_printed,
)
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

DEEP, SHALLOW, DIVERSITY = "deep", "depth 10", "diversity, depth 10"
ADHOC = ("AP", "Q", "nDCG", "nERR")
DIVERSE = ("alpha-nDCG", "nERR-IA", "D-nDCG", "D♯-nDCG")
DEPTHS = (10, 30, 50, 70, 100)
WIDTHS = (0.10, 0.15, 0.20, 0.25)
KINDS = ("percentile95", "one-way", "two-way")
"""Variances of Figure 1."""
REACH = tuple(range(10, 201, 5))
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
ABOUT_METHOD = (
    "Topics are counted as S14's spreadsheet does. From the printed variances that gives 638 of the 639 printed cells "
    "of Tables 4 to 7 (the other prints 894 where the formula gives 896), and all of Table 8 with the two cells that "
    "it could not compute: 374 and 393 for nERR at width .10."
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
            return "Tables 5, 6, 7 and 9 and Figure 4 need runs and judgments"
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
        tables = {}
        for task, measures in tasks.items():
            scores = sw.score(runs, list(measures.values()), jobs=self.jobs)
            names = {ours: theirs for theirs, ours in zip(measures, scores.data_vars, strict=True)}
            tables[task] = drop_topics(scores.rename(names))[0]
        return estimate_variances(name, tables)

    def _study_pools(self, runs: Sequence[sw.Collection], measures: Mapping[str, str]) -> dict[str, Rows]:
        """Estimate variances and costs with shallower pools (Table 9, Figure 4)."""
        deepest = min(int(np.diff(each.starts).max(initial=0)) for each in runs)
        depths = tuple(self.depths or (d for d in DEPTHS if d <= deepest)) or (deepest,)
        how: dict[str, Any] = {"min_diff": GOAL, "width": GOAL, "method": self.method, "no_relevant": "drop"}
        study = sw.planning.plan_pools(runs, depths, list(measures.values()), jobs=self.jobs, **how)
        names = dict(zip(dict.fromkeys(study.table["measure"]), measures, strict=True))
        return {"pools": study.table.assign(measure=study.table["measure"].map(names))}

    def build_exhibits(self, frames: Frames, source: PaperData) -> Iterator[Exhibit]:
        """Lay out Tables 3 to 9 and draw Figures 1 to 4."""
        variances = frames["variances"]
        pooled = pool_rows(variances)
        two_way = pooled[pooled["method"] == "two-way"]
        by_task = {task: list_variances(two_way, task) for task in dict.fromkeys(pooled["task"])}
        shape = Shape(
            rows=("task", "collection", "systems", "topics"), columns=("measure",), values=("variance",)
        )
        table_3 = build_table_3(variances, two_way)
        notes = (ABOUT_TASKS, ABOUT_METHOD) if source.collection is not None else (ABOUT_METHOD,)
        yield Exhibit("Table 3", "variances by two-way analysis of variance", table_3, notes, shape=shape)
        for task, found in by_task.items():
            topics = _stack_table(sw.planning.design_table(found, method=self.method), ["power", "measure"])
            for number in TABLES[task]:
                keys = ["systems", "alpha", "min_diff", "power", "measure"]
                frame = join_printed(topics, read_printed("s14-tables-4-7", table=number), keys, self.tag)
                beside = PRINTED_TASKS[number]
                title = f"topics needed to find a range between systems ({task}), beside {beside}"
                shape = Shape(
                    rows=("systems", "alpha", "min_diff"), columns=("power", "measure"), values=("topics",)
                )
                yield Exhibit(f"Table {number}", title, frame, shape=shape)
        shape = Shape(rows=("task", "width"), columns=("measure",), values=("topics",))
        yield Exhibit(
            "Table 8", "topics needed for intervals of a width, at .05", build_table_8(by_task), shape=shape
        )
        pools = frames.get("pools")
        if pools is not None:
            nine = join_printed(pools, read_printed("s14-table-9"), ["depth", "measure"], self.tag)
            shape = Shape(rows=("depth", "judged"), columns=("measure",), values=("variance", "topics_power"))
            note = "Pooled documents that nobody judged count as not relevant. Print has 731 to 96 judged."
            title = (
                "judgments per topic and variances by pool depth, and topics for a range of .15 (10 systems)"
            )
            nine["judged"] = nine["judged"].round().astype(int)
            yield Exhibit("Table 9", title, nine, (note,), shape=shape)
        yield from self._draw_figures(pooled, by_task, pools)

    def _draw_figures(
        self, pooled: pd.DataFrame, by_task: Mapping[str, Mapping[str, float]], pools: pd.DataFrame | None
    ) -> Iterator[Exhibit]:
        """Draw variances, topics against systems, reach, and topics against judgments."""
        form = Form(
            x="measure",
            y="variance",
            titles=("measure", "variance"),
            series="method",
            panel="task",
            mark="point",
        )
        yield Exhibit("Figure 1", "variances by three methods, pooled", pooled, form=form)
        curves = [
            sw.planning.design_curve(found, systems=SYSTEMS, method=self.method).assign(task=task)
            for task, found in by_task.items()
        ]
        form = Form(x="systems", y="topics", titles=("systems", "topics"), series="measure", panel="task")
        title = "topics needed against the number of systems, range .10, level .05, power .8"
        yield Exhibit("Figure 2", title, join_rows(curves), form=form)
        reach = []
        for task, found in by_task.items():
            # the paper draws the measure with the smallest variance of a task
            steadiest = min(found, key=lambda name: found[name])
            curve = sw.planning.reach_curve({steadiest: found[steadiest]}, topics=REACH, method=self.method)
            reach.append(curve.assign(task=task, panel=f"{steadiest}, {task}"))
        form = Form(x="topics", y="value", titles=("topics", "range or width"), series="goal", panel="panel")
        title = "what a number of topics can reach, steadiest measure: detectable range, width of an interval"
        yield Exhibit("Figure 3", title, join_rows(reach), form=form)
        if pools is not None:
            each = [
                pools[["measure", "depth", "judged"]].assign(topics=pools[f"topics_{goal}"], goal=goal)
                for goal in ("power", "interval")
            ]
            form = Form(
                x="judged",
                y="topics",
                titles=("judged documents per topic", "topics"),
                series="measure",
                panel="goal",
            )
            title = "topics needed against judgments per topic"
            yield Exhibit("Figure 4", title, join_rows(each), form=form)


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
                found = sw.planning.variance(values, kind)
                key = {"collection": name, "task": task, "measure": str(measure), "method": kind}
                sizes = {"systems": found.systems, "topics": found.topics}
                rows.append({**key, **sizes, "variance": found.sigma_sq})
    return {"variances": rows}


def pool_rows(variances: pd.DataFrame) -> pd.DataFrame:
    """Return one row per task, measure and method: variances pooled with weights topics less one (S14 eq. 8)."""
    rows = []
    for (task, measure, method), part in variances.groupby(["task", "measure", "method"], sort=False):
        each = [
            sw.planning.VarianceEstimate(float(v), int(n), int(m), int(n) - 1, str(method), str(measure))
            for v, n, m in part[["variance", "topics", "systems"]].to_numpy()
        ]
        row = {
            "task": task,
            "measure": measure,
            "method": method,
            "variance": float(sw.planning.pool_variances(each)),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def list_variances(pooled: pd.DataFrame, task: str) -> dict[str, float]:
    """Return the variance of every measure of a task."""
    rows = pooled[pooled["task"] == task]
    return {str(name): float(value) for name, value in zip(rows["measure"], rows["variance"], strict=True)}


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
    for task, found in by_task.items():
        sizes = sw.planning.design_table(found, width=WIDTHS, alpha=[0.05])
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


def _pivot_variances(frames: Computed, kind: str = "two-way") -> Any:
    """Return tasks × measures of pooled variances."""
    pooled = pool_rows(frames["variances"])
    return pooled[pooled["method"] == kind].pivot(index="task", columns="measure", values="variance")


def _describe_row(row: Any, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {row[name]:.4f}" for name in names)


def _has_adhoc(frames: Computed) -> bool:
    return set(ADHOC) <= set(frames["variances"]["measure"])


ABSENT = Evidence(None, "AP, Q, nDCG and nERR are not all there")


def check_nerr(frames: Computed) -> Evidence:
    """Check that nERR has the largest variance at both depths."""
    if not _has_adhoc(frames):
        return ABSENT
    table = _pivot_variances(frames)
    tasks = [task for task in (DEEP, SHALLOW) if task in table.index]
    numbers = "; ".join(f"{task}: {_describe_row(table.loc[task], ADHOC)}" for task in tasks)
    return Evidence(all(table.loc[task, list(ADHOC)].idxmax() == "nERR" for task in tasks), numbers)


def check_nerr_twice(frames: Computed) -> Evidence:
    """Check that nERR needs more than twice as many topics as any other measure at full depth."""
    if not _has_adhoc(frames):
        return ABSENT
    row = _pivot_variances(frames).loc[DEEP]
    ratio = {name: row["nERR"] / row[name] for name in ADHOC[:3]}
    numbers = ", ".join(f"{value:.1f} times {name}" for name, value in ratio.items())
    return Evidence(min(ratio.values()) > 2.0, f"variance {numbers}")


def check_depth(frames: Computed) -> Evidence:
    """Check that a smaller measurement depth raises the variance of every measure."""
    table = _pivot_variances(frames)
    if SHALLOW not in table.index:
        return Evidence(None, "a table of scores has no depth")
    ratio = table.loc[SHALLOW, list(ADHOC)] / table.loc[DEEP, list(ADHOC)]
    numbers = ", ".join(f"{name} × {value:.2f}" for name, value in ratio.items())
    return Evidence(bool((ratio > 1.0).all()), numbers)


def check_graded(frames: Computed) -> Evidence:
    """Check that at depth 10 graded measures need fewer topics than AP."""
    table = _pivot_variances(frames)
    if SHALLOW not in table.index:
        return Evidence(None, "a table of scores has no depth")
    row = table.loc[SHALLOW]
    return Evidence(bool(row["Q"] < row["AP"] and row["nDCG"] < row["AP"]), _describe_row(row, ADHOC[:3]))


def check_variances(frames: Computed) -> Evidence:
    """Check that two-way variances are above one-way ones, and these above percentiles, in every row."""
    names = ("one-way", "two-way", "percentile95")
    # measures of other tasks are no cells
    one, two, ends = (_pivot_variances(frames, kind).stack(future_stack=True).dropna() for kind in names)
    above, beyond = one / two, ends / two
    numbers = (
        f"one-way {above.min():.2f} to {above.max():.2f}, "
        f"percentile {beyond.min():.2f} to {beyond.max():.2f} of two-way"
    )
    return Evidence(bool((above <= 1.0).all() and (beyond < 1.0).all()), numbers)


def check_equivalence(frames: Computed) -> Evidence:
    """Check that power with ten systems and intervals of the same size need as many topics, to five percent or two."""
    row = _pivot_variances(frames).loc[DEEP].dropna().to_dict()
    power = sw.planning.design_table(row, method="sakai").xs((10, 0.05), level=("systems", "alpha"))[0.8]
    width = sw.planning.design_table(row, width=(0.1, 0.2, 0.25), alpha=[0.05]).xs(0.05, level="alpha")
    ours, theirs = power.loc[[0.1, 0.2, 0.25]].to_numpy(float), width.to_numpy(float)
    gap = np.abs(ours - theirs)
    ratio = ours / theirs
    numbers = f"ratios of topics {ratio.min():.3f} to {ratio.max():.3f}"
    return Evidence(bool((gap <= np.maximum(2.0, 0.05 * theirs)).all()), numbers)


def check_fifty(frames: Computed) -> Evidence:
    """Check that 50 topics suffice to find a range of .20 among ten systems with AP, Q and nDCG at full depth."""
    row = _pivot_variances(frames).loc[DEEP].dropna()
    names = [name for name in row.index if name != "nERR"]
    table = sw.planning.design_table(row[names].to_dict(), method="sakai")
    needed = {name: int(table.loc[(10, 0.05, 0.2), (0.8, name)]) for name in names}
    numbers = ", ".join(f"{name} {n}" for name, n in needed.items())
    return Evidence(max(needed.values()) <= 50, f"topics needed: {numbers}")


def check_pools(frames: Computed) -> Evidence:
    """Check that the shallowest pool reaches the same goal with fewer judgments than the deepest."""
    rows = frames["pools"][frames["pools"]["measure"] == "AP"].sort_values("depth")
    if len(rows) < 2:
        return Evidence(None, "only one pool depth")
    cost = rows["topics_power"] * rows["judged"]
    first, last = rows.iloc[0], rows.iloc[-1]
    numbers = (
        f"AP: {cost.iloc[0]:,.0f} judgments ({first['topics_power']:.0f} topics, depth {first['depth']:.0f}) against "
        f"{cost.iloc[-1]:,.0f} ({last['topics_power']:.0f} topics, depth {last['depth']:.0f}); 5.7 times in print"
    )
    return Evidence(bool(cost.iloc[0] < cost.iloc[-1]), numbers)


def check_pool_variance(frames: Computed) -> Evidence:
    """Check that shallower pools raise the variance of AP."""
    rows = frames["pools"][frames["pools"]["measure"] == "AP"].sort_values("depth")
    if len(rows) < 2:
        return Evidence(None, "only one pool depth")
    numbers = ", ".join(
        f"{v:.4f} (depth {d:.0f})" for d, v in zip(rows["depth"], rows["variance"], strict=True)
    )
    return Evidence(bool(rows["variance"].iloc[0] > rows["variance"].iloc[-1]), f"AP: {numbers}")


def check_diversity(frames: Computed) -> Evidence:
    """Check that D-measures need fewer topics than α-nDCG and nERR-IA."""
    table = _pivot_variances(frames)
    if DIVERSITY not in table.index:
        return Evidence(None, "no judgments of subtopics")
    row = table.loc[DIVERSITY]
    holds = row[list(DIVERSE[2:])].max() < row[list(DIVERSE[:2])].min()
    return Evidence(bool(holds), _describe_row(row, DIVERSE))


S14.claims = make_claims(
    "S14",
    {
        "nERR varies most": check_nerr,
        "nERR costs twice": check_nerr_twice,
        "depth 10 varies more": check_depth,
        "graded measures pay at depth 10": check_graded,
        "two-way largest": check_variances,
        "power like intervals": check_equivalence,
        "50 topics for .20": check_fifty,
        "shallow pools vary more": check_pool_variance,
        "shallow pools cheaper": check_pools,
        "D-measures steadier": check_diversity,
    },
)
