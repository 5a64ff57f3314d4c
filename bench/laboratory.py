"""The laboratory: a thousand tables without a difference through a dozen methods, against one table at a time."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import xarray as xr

from shardwise.comparing.compare import compare, paired_tests
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.calibrate import calibrate
from shardwise.lab.scenarios.base import normal_scenario
from shardwise.lab.simulate_scores import MEAN
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import bootstrap_anova
from shardwise.methods.names import DEFAULTS

SHARDS = ("topic", "system", "shard")
SHAPE = (50, 20, 5)
SD = VarianceComponents.of(
    {"topic": 0.2, "topic:system": 0.08, "topic:shard": 0.1, "system:shard": 0.005, "error": 0.06}, kind="sd"
)
TABLES, SOME = 1000, 20


def one_by_one(name: str, scores: xr.DataArray) -> float:
    """The smallest corrected p-value of a method by the public functions."""
    words = name.split()
    if words[0] == "t":
        pairs = paired_tests(scores, "t", correction=words[1], average=["shard"])
    elif words[0] == "max-t":
        pairs = paired_tests(scores, "max-t", average=["shard"], n_resamples=1000)
    elif words[0] == "banova":
        how = {"null": "difference"} if words[2] == "difference" else {"null": "marginal", "tails": 1}
        pairs = compare(bootstrap_anova(scores, words[1]), words[3], **how)
    else:
        over = tuple(words[2].split("+")) if len(words) > 2 else ()
        table = scores.mean("shard") if words[0] == "MD1" else scores
        pairs = compare(anova(table, words[0]), words[1], generalize=over)
    return float(pairs.p_adjusted.min())


def timed(work: Callable[[], object]) -> float:
    work()  # compile, and fill the tables of the studentized range
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def run() -> str:
    methods = DEFAULTS[SHARDS].shown
    lab = {
        name: timed(
            lambda chosen=chosen: calibrate(
                SD,
                chosen,
                topics=50,
                systems=20,
                shards=5,
                claims=[("topic",)],
                repetitions=TABLES,
                planted=False,
            )
        )
        for name, chosen in {
            f"all {len(methods)}": methods,
            **{m: [m] for m in ("MD6 hsd topic", "banova MD3 marginal-1 bh", "t holm")},
        }.items()
    }
    scenario = normal_scenario(np.full(SHAPE[1], MEAN), SD, SHARDS, SHAPE)
    tables = [xr.DataArray(y, dims=SHARDS) for y in scenario.draw(0, SOME, 0)]
    rows = []
    for name, seconds in lab.items():
        own = methods if name.startswith("all") else [name]
        single = timed(lambda own=own: [one_by_one(m, table) for table in tables for m in own]) / SOME
        rows.append(
            f"| {name} | {seconds:.1f} s | {1000 * single:.1f} ms | {single * TABLES / seconds:.0f}x |"
        )
    head = [
        f"{TABLES} tables of {' × '.join(map(str, SHAPE))} without a difference; claim: topics like these; two cores."
        f" One at a time: the public functions on each of {SOME} tables, scaled up.",
        "",
        "| methods | laboratory, all tables | one at a time, each table | ratio |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])
