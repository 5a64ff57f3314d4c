"""Sakai (2014) on anybody's collections: how many topics a test collection needs, from the variances of its scores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.core.arguments import Progress
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import as_scores
from shardwise.io.collection import Collection
from shardwise.papers import published_s14 as printed
from shardwise.papers.exhibit import Exhibit, Form, Replication, beside
from shardwise.papers.steps import Frames, Step, key_of, run_steps
from shardwise.planning.pools import pool_depth_study
from shardwise.planning.tables import design_curve, design_table, reach_curve
from shardwise.planning.variances import VarianceEstimate, pool_variances, variance
from shardwise.scoring.scoring import score

PAPER = "S14"
TITLE = "how many topics a test collection needs"
DEEP, SHALLOW, DIVERSITY = "deep", "depth 10", "diversity, depth 10"
ADHOC = ("AP", "Q", "nDCG", "nERR")
SAID = ("alpha-nDCG", "nERR-IA", "D-nDCG", "D♯-nDCG")
DEPTHS = (10, 30, 50, 70, 100)
WIDTHS = (0.10, 0.15, 0.20, 0.25)
KINDS = ("percentile95", "one-way", "two-way")  # Figure 1
REACH = tuple(range(10, 201, 5))
SYSTEMS = tuple(range(2, 201, 2))
GOAL = 0.15  # range and width of Figure 4

ABOUT_TASKS = (
    "Rows 'deep' have the measures at full depth, rows 'depth 10' those of the first ten documents. The columns _S14 "
    "are of the paper's own collections: adhoc/news for Tables 3(a1), 4 and 9, adhoc/news at depth 10 for Tables 3(a2) "
    "and 5, adhoc/web for Table 6, diversity/web for Table 7. What is printed for other collections is no target, only "
    "a size to hold ours against."
)
ABOUT_METHOD = (
    "Topics are counted as S14's spreadsheet does. From the printed variances that gives 638 of the 639 printed cells "
    "of Tables 4 to 7 (the other prints 894 where the formula gives 896), and all of Table 8 with the two cells that "
    "it could not compute: 374 and 393 for nERR at width .10."
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all steps are told."""

    measures: Mapping[str, Mapping[str, str]]  # by task: what the paper calls it, and our name
    depths: tuple[int, ...]
    method: str
    jobs: int | None


def s14(
    data: Any,
    *,
    depths: Sequence[int] | None = None,
    method: str = "sakai",
    jobs: int | None = None,
    executor: Executor | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Replication:
    """Make Tables 3 to 9 and Figures 1 to 4 of Sakai (2014) of other collections, pooled over them.

    Tables of scores have no judgments to take away and no depth: they give Tables 3, 4 and 8 and Figures 1 to 3.
    Table 7 needs judgments of subtopics.

    Parameters
    ----------
    data : object
        Runs and judgments, as `read_collection` returns them; or a table of scores, as `score` returns it; or several
        of either by name, whose variances are pooled.
    depths : sequence of int, optional
        Pool depths of Table 9; 10, 30, 50, 70 and 100, as far as runs and judgments go, if None.
    method : str
        How topics are counted, "sakai" or "exact", as for `topics_for_power`.
    jobs : int, optional
        Number of threads; all processors, if None.
    executor : Executor, optional
        An executor of concurrent.futures that makes the steps side by side; one after another here, if None.
    folder : str or path, optional
        Where finished steps are kept, so that the same call takes up there after it was stopped; nowhere, if None.
    progress : callable, optional
        Called with (steps done, steps in all).

    Returns
    -------
    Replication
        Tables, figures and verdicts on the claims of the paper.
    """
    named: dict[str, Any] = dict(data) if _is_several(data) else {"collection": data}
    if not named:
        raise InputError("no collection was given", remedy="give one, or several by name")
    runs = {name: one for name, one in named.items() if isinstance(one, Collection)}
    if runs and len(runs) < len(named):
        raise InputError("some are runs and some are tables of scores", remedy="give all in one form")
    facts = {"data": "; ".join(_said(name, one) for name, one in named.items())}
    if runs:
        plan = _Plan(_tasks(list(runs.values())), _depths(runs, depths), method, jobs)
        steps: dict[str, Step] = {
            f"variances-{k}": partial(_of_runs, name, one, plan) for k, (name, one) in enumerate(runs.items())
        }
        steps["pools"] = partial(_pools, list(runs.values()), plan)
        if DIVERSITY not in plan.measures:
            facts["not made"] = "Table 7, which needs judgments of subtopics"
    else:
        if depths is not None:
            raise InputError(
                (Option("depths"), " has no effect with tables of scores"), remedy="leave it out"
            )
        tables = {name: _dataset(one) for name, one in named.items()}
        names = list(map(str, next(iter(tables.values())).data_vars))
        plan = _Plan({DEEP: {name: name for name in names}}, (), method, jobs)
        steps = {
            f"variances-{k}": partial(_of_scores, name, DEEP, one, plan)
            for k, (name, one) in enumerate(tables.items())
        }
        facts["not made"] = "Tables 5, 6, 7 and 9 and Figure 4, which need runs and judgments"
        named = tables
    first, *others = named.values()
    key = key_of(PAPER, first, others=[key_of(PAPER, one) for one in others], names=list(named),
                 depths=plan.depths, method=method)  # fmt: skip
    frames = run_steps(steps, key, folder, progress, executor)
    facts |= {"topics counted by": method, "columns _S14": "printed by Sakai for TREC and NTCIR collections"}
    return Replication(PAPER, TITLE, tuple(_exhibits(frames, plan)), facts, (ABOUT_TASKS, ABOUT_METHOD))


def _by_measure(pooled: pd.DataFrame, task: str) -> dict[str, float]:
    own = pooled[pooled["task"] == task]
    return {str(name): float(value) for name, value in zip(own["measure"], own["variance"], strict=True)}


def _long(wide: pd.DataFrame, levels: list[str]) -> pd.DataFrame:
    """One row a cell of a table of topics."""
    rows = wide.stack(levels, future_stack=True)
    return pd.DataFrame(rows, columns=["topics"]).reset_index()


def _is_several(data: Any) -> bool:
    return isinstance(data, Mapping) and not isinstance(data, xr.Dataset)


def _said(name: str, one: Any) -> str:
    if isinstance(one, Collection):
        return f"{name}: {str(one).splitlines()[0]}"
    sizes = _dataset(one).sizes
    return f"{name}: {format_count(sizes['system'], 'system')}, {format_count(sizes['topic'], 'topic')}"


def _dataset(data: Any) -> xr.Dataset:
    if isinstance(data, xr.Dataset):
        return data
    table = as_scores(data, only=True)
    return table.rename(str(table.name or "score")).to_dataset(promote_attrs=False)


def _tasks(runs: Sequence[Collection]) -> dict[str, dict[str, str]]:
    """The paper's measures by their names here; the gain of a grade x is 2^x - 1."""
    highest = max(1, *(int(one.qrel_grades.max(initial=1)) for one in runs))

    def adhoc(cut: str) -> dict[str, str]:
        ap = f"AP(norm='min'){cut}" if cut else "AP"
        names = (ap, f"Q(gain='exp'){cut}", f"nDCG(dcg='exp-log2'){cut}", f"nERR(max_rel={highest}){cut}")
        return dict(zip(ADHOC, names, strict=True))

    found = {DEEP: adhoc(""), SHALLOW: adhoc("@10")}
    if all(one.subtopics is not None for one in runs):
        said = ("alpha_nDCG@10", "nERR_IA@10", "D_nDCG(dcg='exp-log2')@10", "Dsharp_nDCG(dcg='exp-log2')@10")
        found[DIVERSITY] = dict(zip(SAID, said, strict=True))
    return found


def _depths(runs: Mapping[str, Collection], asked: Sequence[int] | None) -> tuple[int, ...]:
    deepest = min(int(np.diff(one.starts).max(initial=0)) for one in runs.values())
    return tuple(asked) if asked is not None else tuple(d for d in DEPTHS if d <= deepest) or (deepest,)


def _of_runs(name: str, runs: Collection, plan: _Plan) -> Frames:
    """Variances of one collection in every task (Table 3, Figure 1)."""
    each = []
    for task, measures in plan.measures.items():
        scores = score(runs, list(measures.values()), jobs=plan.jobs)
        scores = scores.rename({ours: said for said, ours in zip(measures, scores.data_vars, strict=True)})
        each.append(_of_scores(name, task, scores, plan)["variances"])
    return {"variances": pd.concat(each, ignore_index=True)}


def _of_scores(name: str, task: str, scores: xr.Dataset, plan: _Plan) -> Frames:
    rows = []
    for measure, values in scores.data_vars.items():
        table = as_scores(values, only=True)
        defined = table.isel(topic=np.flatnonzero(table.notnull().all("system").to_numpy()))
        for kind in KINDS:
            found = variance(defined, kind)
            rows.append({"collection": name, "task": task, "measure": str(measure), "method": kind,
                         "systems": found.systems, "topics": found.topics, "variance": found.sigma_sq})  # fmt: skip
    return {"variances": pd.DataFrame(rows)}


def _pools(runs: Sequence[Collection], plan: _Plan) -> Frames:
    """Shallower pools (Table 9, Figure 4)."""
    measures = plan.measures[DEEP]
    study = pool_depth_study(runs, plan.depths, list(measures.values()), min_diff=GOAL, width=GOAL,
                             method=plan.method, no_relevant="drop", jobs=plan.jobs)  # fmt: skip
    found = list(dict.fromkeys(study.table["measure"]))
    said = dict(zip(found, measures, strict=True))
    return {"pools": study.table.assign(measure=study.table["measure"].map(said))}


def _pooled(variances: pd.DataFrame) -> pd.DataFrame:
    """One row a task, measure and method: variances pooled with weights topics less one (S14 eq. 8)."""
    rows = []
    for (task, measure, method), own in variances.groupby(["task", "measure", "method"], sort=False):
        each = [
            VarianceEstimate(float(v), int(n), int(m), int(n) - 1, str(method), str(measure))
            for v, n, m in own[["variance", "topics", "systems"]].to_numpy()
        ]
        rows.append(
            {"task": task, "measure": measure, "method": method, "variance": float(pool_variances(each))}
        )
    return pd.DataFrame(rows)


def _exhibits(frames: Frames, plan: _Plan) -> Iterator[Exhibit]:
    variances = frames["variances"]
    pooled = _pooled(variances)
    two_way = pooled[pooled["method"] == "two-way"]
    tables = {DEEP: (4,), SHALLOW: (5, 6), DIVERSITY: (7,)}
    yield Exhibit("Table 3", "variances by two-way analysis of variance", _table_3(variances, two_way))
    by_task = {task: _by_measure(two_way, task) for task in plan.measures}
    for task, found in by_task.items():
        ours = _long(design_table(found, method=plan.method), ["power", "measure"])
        for number in tables[task]:
            keys = ["systems", "alpha", "min_diff", "power", "measure"]
            frame = beside(ours, printed.table_of_topics(number), keys, PAPER)
            title = f"topics needed to find a range between systems ({task}), beside {printed.TASKS[number]}"
            yield Exhibit(f"Table {number}", title, frame)
    yield Exhibit("Table 8", "topics needed for intervals of a width, at .05", _table_8(by_task, tables))
    pools = frames.get("pools")
    if pools is not None:
        nine = beside(pools, printed.table_9(), ["depth", "measure"], PAPER)
        note = "Pooled documents that nobody judged count as not relevant."
        yield Exhibit(
            "Table 9", "judgments and variances by pool depth, and what they ask for", nine, (note,)
        )
    yield from _figures(pooled, by_task, pools, plan)


def _table_3(variances: pd.DataFrame, pooled: pd.DataFrame) -> pd.DataFrame:
    own = variances[variances["method"] == "two-way"].drop(columns="method")
    both = pd.concat([own, pooled.drop(columns="method").assign(collection="pooled")], ignore_index=True)
    said = [
        {"task": task, **row}
        for task, number in ((DEEP, 4), (SHALLOW, 5), (DIVERSITY, 7))
        for row in printed.table_3(number)
        if row["collection"] == "pooled"
    ]
    order = {task: k for k, task in enumerate((DEEP, SHALLOW, DIVERSITY))}
    both = both.sort_values("task", key=lambda t: t.map(order), kind="stable", ignore_index=True)
    return beside(both, said, ["task", "collection", "measure"], PAPER)


def _table_8(
    by_task: Mapping[str, Mapping[str, float]], tables: Mapping[str, tuple[int, ...]]
) -> pd.DataFrame:
    frames = []
    for task, found in by_task.items():
        sizes = design_table(found, width=WIDTHS, alpha=[0.05])
        ours = _long(sizes, ["measure"]).drop(columns="alpha").assign(task=task)
        frames.append(beside(ours, printed.table_8(tables[task][0]), ["width", "measure"], PAPER))
    return pd.concat(frames, ignore_index=True)[["task", "width", "measure", "topics", f"topics_{PAPER}"]]


def _figures(
    pooled: pd.DataFrame, by_task: Mapping[str, Mapping[str, float]], pools: pd.DataFrame | None, plan: _Plan
) -> Iterator[Exhibit]:
    form = Form(
        x="measure", y="variance", titles=("measure", "variance"), series="method", panel="task", mark="point"
    )
    yield Exhibit("Figure 1", "variances by three methods, pooled", pooled, form=form)
    curves = [
        design_curve(found, systems=SYSTEMS, method=plan.method).assign(task=task)
        for task, found in by_task.items()
    ]
    form = Form(x="systems", y="topics", titles=("systems", "topics"), series="measure", panel="task")
    title = "topics needed against the number of systems, range .10, level .05, power .8"
    yield Exhibit("Figure 2", title, pd.concat(curves, ignore_index=True), form=form)
    reach = [
        reach_curve(found, topics=REACH, method=plan.method).assign(task=task)
        for task, found in by_task.items()
    ]
    three = pd.concat(reach, ignore_index=True)
    three["panel"] = three["measure"] + ", " + three["task"]
    form = Form(x="topics", y="value", titles=("topics", "range or width"), series="goal", panel="panel")
    yield Exhibit(
        "Figure 3",
        "what a number of topics can reach: detectable range, width of an interval",
        three,
        form=form,
    )
    if pools is not None:
        each = [
            pools[["measure", "depth", "judged"]].assign(topics=pools[f"topics_{goal}"], goal=goal)
            for goal in ("power", "interval")
        ]
        form = Form(
            x="judged",
            y="topics",
            titles=("judged documents a topic", "topics"),
            series="measure",
            panel="goal",
        )
        yield Exhibit(
            "Figure 4",
            "topics needed against judgments a topic",
            pd.concat(each, ignore_index=True),
            form=form,
        )
