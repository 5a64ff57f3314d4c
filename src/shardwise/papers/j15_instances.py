"""Jayasinghe, Webber, Sanderson, Dharmasena & Culpepper (2015): systems that come out differently each time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy
import xarray as xr

from shardwise.comparing.instances import compare_instances, single_instance_tests
from shardwise.core.arguments import Progress, validate_count
from shardwise.core.arrays import Floats
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError, Option
from shardwise.core.rng import make_generator
from shardwise.core.scores import as_scores, level_names, require_complete
from shardwise.lab.worlds.j15 import j15_scenario
from shardwise.methods.registry import parse_procedure
from shardwise.methods.tables import INSTANCES, TABLE, Tables
from shardwise.papers.exhibit import Exhibit, Form, Replication
from shardwise.papers.steps import Frames, Step, key_of, run_steps

PAPER = "J15"
TITLE = "systems that come out differently each time"
MU, SIGMA = np.linspace(0.0, 1.0, 11), (0.02, 0.05, 0.1, 0.2, 0.4)  # grid of Figure 2
TOPICS = (10, 25, 50, 100, 200, 400, 800, 1600, 3200)  # of Figure 3
SIZES = (2, 5, 10, 20, 50)  # instances of a pool, Figures 9 to 11
TESTS = {
    "unified": "unified none",
    "mixed model, J15": "mixed paper none",
    "bootstrap, J15": "bootstrap pooled none",
    "t, one instance": "t-single none",
}
SINGLE_BOOTSTRAP = "bootstrap, one instance"
MIXED, BOOTSTRAP = "mixed model, J15", "bootstrap, J15"
FINDINGS = ("worse, p < .05", "worse, p < .1", "no difference", "better, p < .1", "better, p < .05")

ABOUT_7 = (
    "J15 on GOV2 with a central index of .5 %: of 100 instances 3 are worse with p < .05 and 8 with p < .1, 2 better "
    "with p < .1, and 90 show no difference."
)
ABOUT_4 = (
    "J15 crosses the deterministic system with the instances, so that their variance is lost: with few instances false "
    "alarms double. Its degrees of freedom are the observations less one."
)
ABOUT_10 = (
    "J15 reads a lower curve as more power. It is so only for tests that keep their level, which the t-test of one "
    "instance and the crossed mixed model do not where instances vary."
)
ABOUT_12 = (
    "Interval: 95 % highest posterior density. 'no worse' is one above the margin, as J15 decides; its effect sizes at "
    "a rate of .1 % are .52 for nDCG@10 and .41 for P@10."
)
ABOUT_13 = "The last system is compared with itself: the first half of its instances against the second."


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all steps are told."""

    baseline: str
    margin: float
    pools: int
    repetitions: int
    n_resamples: int
    seed: int


def j15(
    data: Any = None,
    baseline: str | None = None,
    *,
    margin: float = 0.01,
    pools: int = 50,
    repetitions: int = 500,
    n_resamples: int = 200,
    seed: int = 0,
    executor: Executor | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Replication:
    """Make Figures 2 to 4 of Jayasinghe et al. (2015) by simulation, and 6 to 13 of the instances of other systems.

    Parameters
    ----------
    data : object
        Any table that `as_scores` takes, with instances: a system for each setting, in the order of the settings, and
        the deterministic one to compare with. Without it only the simulated figures are made.
    baseline : str, optional
        Name of the deterministic system; the one whose instances are all alike, if None.
    margin : float
        Largest loss that does not matter (Figures 12 and 13).
    pools : int
        Pools of instances drawn for each system and size (Figures 9 to 11).
    repetitions : int
        Simulated comparisons of Figure 4 (the paper has 5000), and a fifth as many tables a point of Figure 2.
    n_resamples : int
        Resamples of each instance by the bootstrap (Algorithm 2).
    seed : int
        Seed of everything random.
    executor : Executor, optional
        An executor of concurrent.futures that makes the steps side by side; one after another here, if None.
    folder : str or path, optional
        Where finished steps are kept, so that the same call takes up there after it was stopped; nowhere, if None.
    progress : callable, optional
        Called with (steps done, steps in all).

    Returns
    -------
    Replication
        Figures and verdicts on the claims of the paper.
    """
    steps: dict[str, Step] = {}
    facts = {"seed": str(validate_count(seed, "seed", least=0))}
    scores: xr.DataArray | None = None
    name = ""
    if data is not None:
        scores = as_scores(data)
        if "instance" not in scores.dims or set(scores.dims) != set(INSTANCES):
            raise InputError(
                f"scores by {', '.join(map(str, scores.dims))} have no repeats",
                remedy="give scores by topic, system and instance",
            )
        name = _baseline(scores, baseline)
        facts |= {"data": _said(scores), "deterministic": name}
    elif baseline is not None:
        raise InputError((Option("baseline"), " is for scores"), remedy="leave it out, or give scores")
    plan = _Plan(
        name,
        margin,
        validate_count(pools, "pools"),
        validate_count(repetitions, "repetitions", least=5),
        n_resamples,
        seed,
    )
    steps |= {
        "figure-2": partial(_figure_2, plan),
        "figure-3": partial(_figure_3, plan),
        "figure-4": partial(_figure_4, plan),
    }
    if scores is not None:
        steps["instances"] = partial(_instances, scores, plan)
        steps["pools"] = partial(_pools, scores, plan)
        steps["losses"] = partial(_losses, scores, plan)
    else:
        facts["not made"] = "Figures 6 to 13, which need scores of instances"
    source = scores if scores is not None else xr.DataArray(0.0)
    choices = {"baseline": name, "margin": margin, "pools": pools, "repetitions": repetitions,
               "n_resamples": n_resamples, "seed": seed}  # fmt: skip
    frames = run_steps(steps, key_of(PAPER, source, **choices), folder, progress, executor)
    return Replication(PAPER, TITLE, tuple(_exhibits(frames)), facts)


def _said(scores: xr.DataArray) -> str:
    sizes = scores.sizes
    return ", ".join(format_count(sizes[d], d) for d in ("system", "instance", "topic"))


def _baseline(scores: xr.DataArray, asked: str | None) -> str:
    names = level_names(scores, "system")
    y = scores.transpose("system", "instance", "topic").to_numpy()
    alike = [name for name, one in zip(names, y, strict=True) if _is_one(one)]
    if asked is not None:
        if asked not in names:
            raise InputError(f"unknown system {asked!r}", remedy="name one of the scores", argument="baseline",
                             value=asked, choices=names)  # fmt: skip
        return asked
    if len(alike) != 1:
        raise InputError(f"{len(alike)} systems have identical repeats",
                         remedy=("name the deterministic one by ", Option("baseline")))  # fmt: skip
    return alike[0]


def _is_one(y: Floats) -> bool:
    """Whether the instances that are there are copies of one."""
    there = y[np.isfinite(y).any(axis=1)]
    return bool((there == there[:1]).all())


def _split(scores: xr.DataArray, plan: _Plan) -> tuple[dict[str, Floats], Floats, tuple[str, ...]]:
    """(instances, topics) of every other system, (topics,) of the baseline, and the topics."""
    table = scores.transpose("system", "instance", "topic")
    y = {}
    for name in level_names(table, "system"):
        own = table.sel(system=name).to_numpy()
        y[name] = own[np.isfinite(own).any(axis=1)]
    whole_scores = y.pop(plan.baseline)[0]
    if any(not np.isfinite(one).all() for one in y.values()) or not np.isfinite(whole_scores).all():
        require_complete(scores)  # refuses with the reason
    if not y:
        raise InputError("the baseline is the only system", remedy="give scores of another one")
    return y, whole_scores, level_names(table, "topic")


def _figure_2(plan: _Plan) -> Frames:
    """Share of significant t-tests of single instances, by the law of instances."""
    rows = []
    for sigma in SIGMA:
        for mu in MU:
            y = j15_scenario("figure-2", mu=float(mu), sigma=sigma).draw(
                0, max(plan.repetitions // 5, 1), plan.seed
            )
            z = y[:, :, 0] - y[:, :, 1]
            p = scipy.stats.ttest_1samp(z, 0.0, axis=1).pvalue
            rows.append({"mu": float(mu), "sigma": f"{sigma:g}", "share": float(np.mean(p <= 0.05))})
    return {"figure_2": pd.DataFrame(rows)}


def _figure_3(plan: _Plan) -> Frames:
    """A 95 % interval of the difference of equal systems as topics are added."""
    rows = []
    for n in TOPICS:
        y = j15_scenario("figure-3", topics=n).draw(0, 1, plan.seed)[0]
        found = scipy.stats.ttest_1samp(y[:, 0] - y[:, 1], 0.0)
        low, high = found.confidence_interval(0.95)
        rows.append(
            {"topics": n, "difference": float((low + high) / 2), "lower": float(low), "upper": float(high)}
        )
    return {"figure_3": pd.DataFrame(rows)}


def _figure_4(plan: _Plan) -> Frames:
    """p-values of both tests of J15 in simulated comparisons with a deterministic system."""
    each = []
    world = j15_scenario("figure-4")
    for first in range(0, plan.repetitions, 50):
        y = world.draw(first, min(50, plan.repetitions - first), plan.seed)
        each.append(_p_values(y, plan, first, (MIXED, BOOTSTRAP, "unified")))
    return {"figure_4": pd.concat(each, ignore_index=True)}


def _p_values(y: Floats, plan: _Plan, first: int, tests: Sequence[str]) -> pd.DataFrame:
    """p-values of tables (B, topics, 2, instances) whose second system is deterministic, a column a test."""
    tables = Tables(y, INSTANCES, plan.seed, first, plan.n_resamples, deterministic=(False, True))
    return pd.DataFrame({test: parse_procedure(TESTS[test]).decide(tables).p[:, 0] for test in tests})


def _instances(scores: xr.DataArray, plan: _Plan) -> Frames:
    """What single instances say (Figures 6, 7 and 8)."""
    y, whole_scores, topics = _split(scores, plan)
    means, findings, spread = [], [], []
    base = xr.DataArray(whole_scores, dims="topic")
    for name, own in y.items():
        means += [{"system": name, "mean": float(m), "kind": "instance"} for m in own.mean(axis=1)]
        means.append({"system": name, "mean": float(whole_scores.mean()), "kind": plan.baseline})
        singles = single_instance_tests(xr.DataArray(own, dims=("instance", "topic")), base)
        sign = np.sign(singles["difference"])
        worse = [
            (singles["p"] < edge) & (sign == way)
            for way, edge in ((-1, 0.05), (-1, 0.1), (1, 0.05), (1, 0.1))
        ]
        kinds = np.select(worse, [FINDINGS[0], FINDINGS[1], FINDINGS[4], FINDINGS[3]], FINDINGS[2])
        counts = pd.Series(kinds).value_counts()
        findings += [
            {"system": name, "finding": kind, "instances": int(counts.get(kind, 0))} for kind in FINDINGS
        ]
        ends = np.quantile(own, [0.0, 0.25, 0.5, 0.75, 1.0], axis=0)
        order = np.argsort(-whole_scores, kind="stable")
        spread.append(
            pd.DataFrame(
                dict(zip(("least", "lower", "median", "upper", "most"), ends[:, order], strict=True))
            )
            .assign(topic=np.array(topics)[order], place=np.arange(1, len(topics) + 1), system=name)
            .assign(deterministic=whole_scores[order])
        )
    tables = {"figure_6": pd.DataFrame(means), "figure_7": pd.DataFrame(findings)}
    return {**tables, "figure_8": pd.concat(spread, ignore_index=True)}


def _pools(scores: xr.DataArray, plan: _Plan) -> Frames:
    """The comparison repeated with random pools of instances, drawn with replacement (Figures 9, 10 and 11)."""
    y, whole_scores, _ = _split(scores, plan)
    rows = []
    for number, (name, own) in enumerate(y.items()):
        for size in SIZES:
            drawn = make_generator(plan.seed, number, size).integers(len(own), size=(plan.pools, size))
            pool = own[drawn].swapaxes(1, 2)  # pools, topics, instances
            base = np.broadcast_to(whole_scores[None, :, None], pool.shape)
            tables = np.stack([pool, base], axis=2)
            p = _p_values(tables, plan, 0, tuple(TESTS))
            one = Tables(
                np.ascontiguousarray(tables[..., 0]), TABLE, plan.seed, 0, max(plan.n_resamples, 1000)
            )
            p[SINGLE_BOOTSTRAP] = parse_procedure("bootstrap none").decide(one).p[:, 0]
            rows.append(p.assign(system=name, size=size, pool=np.arange(plan.pools)))
    return {"pools": pd.concat(rows, ignore_index=True)}


def _losses(scores: xr.DataArray, plan: _Plan) -> Frames:
    """Differences from the baseline and from the last system, with intervals (Figures 12 and 13)."""
    y, whole_scores, _ = _split(scores, plan)
    dims = ("instance", "topic")
    base = xr.DataArray(whole_scores, dims="topic")
    last = list(y)[-1]
    against, between = [], []
    for name, own in y.items():
        against.append(_loss(name, xr.DataArray(own, dims=dims), base, plan))
        other = y[last]
        if name == last:
            half = len(own) // 2
            if half < 2:
                continue
            own, other = own[:half], own[half:]
        between.append(_loss(name, xr.DataArray(own, dims=dims), xr.DataArray(other, dims=dims), plan))
    return {"figure_12": pd.DataFrame(against), "figure_13": pd.DataFrame(between)}


def _loss(name: str, one: xr.DataArray, other: xr.DataArray, plan: _Plan) -> dict[str, Any]:
    found = compare_instances(one, other, design="paper")
    low, high = found.interval(0.95, "hpd")
    row = found.to_frame().iloc[0]
    decided = "no worse" if low > -plan.margin else "worse" if high < -plan.margin else "undecided"
    return {"system": name, "difference": float(row["difference"]), "lower": float(low), "upper": float(high),
            "p": float(row["p"]), "effect_size": float(row["effect_size"]), "verdict": decided}  # fmt: skip


def _exhibits(frames: Frames) -> Iterator[Exhibit]:
    form = Form(x="mu", y="share", titles=("mean of the instances", "share significant"), series="sigma")
    title = "single instances called different from a deterministic system, by the law of instances"
    yield Exhibit("Figure 2", title, frames["figure_2"], form=form)
    form = Form(x="topics", y="difference", titles=("topics", "difference"), band=("lower", "upper"))
    yield Exhibit("Figure 3", "95 % interval of two equal systems by topics", frames["figure_3"], form=form)
    p = ("p-value, mixed model", "p-value, bootstrap")
    form = Form(x=MIXED, y=BOOTSTRAP, titles=p, mark="point")
    yield Exhibit("Figure 4", "both tests of J15 on simulated systems", frames["figure_4"], (ABOUT_4,), form)
    if "figure_6" not in frames:
        return
    form = Form(x="system", y="mean", titles=("system", "mean score"), series="kind", mark="point")
    yield Exhibit("Figure 6", "means of every instance", frames["figure_6"], form=form)
    form = Form(x="system", y="instances", titles=("system", "instances"), series="finding", mark="bar")
    title = "what t-tests of single instances find against the deterministic system"
    yield Exhibit("Figure 7", title, frames["figure_7"], (ABOUT_7,), form)
    form = Form(x="place", y="median", titles=("topic, by its deterministic score", "score"), panel="system",
                band=("least", "most"), mark="point")  # fmt: skip
    yield Exhibit(
        "Figure 8",
        "scores of each topic over instances: median, least and most",
        frames["figure_8"],
        form=form,
    )
    pools = frames["pools"]
    long = pools.melt(id_vars=["system", "size", "pool"], var_name="test", value_name="p")
    nine = long[long["test"] == "unified"].reset_index(drop=True)
    form = Form(x="size", y="p", titles=("instances in the pool", "p-value"), panel="system", mark="point")
    yield Exhibit("Figure 9", "p-values from random pools of instances", nine, form=form)
    curves = []
    for test, own in long.groupby("test", sort=False):
        values = np.sort(own["p"].to_numpy())[::-1]
        share = (np.arange(values.size) + 0.5) / values.size
        curves.append(pd.DataFrame({"test": test, "share": share, "p": values}))
    form = Form(x="share", y="p", titles=("share of comparisons", "p-value"), series="test")
    ten = pd.concat(curves, ignore_index=True)
    yield Exhibit("Figure 10", "p-values of all comparisons in descending order", ten, (ABOUT_10,), form)
    form = Form(x=MIXED, y=BOOTSTRAP, titles=p, series="system", mark="point")
    yield Exhibit("Figure 11", "both tests of J15 on the same pools", pools, form=form)
    form = Form(x="system", y="difference", titles=("system", "difference from the deterministic system"),
                band=("lower", "upper"), series="verdict", mark="point")  # fmt: skip
    yield Exhibit(
        "Figure 12", "loss against the deterministic system", frames["figure_12"], (ABOUT_12,), form
    )
    form = Form(x="system", y="difference", titles=("system", "difference from the last system"),
                band=("lower", "upper"), mark="point")  # fmt: skip
    yield Exhibit("Figure 13", "two systems with instances compared", frames["figure_13"], (ABOUT_13,), form)
