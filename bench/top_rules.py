"""Rules for the top group of the moderated test side by side, from the same draws.

python -m bench.top_rules [folder of the data] [--others]

Prints one row a rule, over designs of bench.moderated_grid with 5, 10 and 22 systems: of TREC-8, TREC-3 and TREC-COVID
by average precision, on which the rule was chosen; with --others of all other tables. docs/validation.md quotes it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import stats

from bench.moderated_grid import (
    ALPHA,
    CHUNK,
    DOUBT,
    DRAWS,
    ROOT,
    Design,
    designs,
    scenario_of,
    sources,
    truth_is_best,
)
from bench.replication import markdown
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.stats.moderation import PRIOR_DF as D0

CHOSEN_ON = ("TREC-8 AP", "TREC-3 AP", "TREC-COVID AP")
SYSTEMS = (5, 10, 22)
TABLES = 500
TIE = 1e-9

# (B, R) largest leads over each system, and of each, in the draws; the same of multivariate t; (R,) lead to be reached
Rule = Callable[[Floats, Floats, Floats, Floats], Floats]


def errors(cross: Floats, topics: int) -> Floats:
    """(…, R, R) moderated standard errors of differences, from cross-products about the means."""
    q = np.diagonal(cross, axis1=-2, axis2=-1)
    own = np.maximum(q[..., None, :] + q[..., :, None] - 2.0 * cross, 0.0)
    common = 2.0 * q.sum(axis=-1)[..., None, None] / ((topics - 1.0) * (cross.shape[-1] - 1.0))
    return np.asarray(np.sqrt((own + D0 * common) / (topics - 1.0 + D0) / topics))


def leads(means: Floats, se: Floats, way: float = 1.0) -> Floats:
    """(…, R) largest t by which another system is above each; below each, the other way."""
    d = way * (means[..., None, :] - means[..., :, None])
    t = np.divide(d, se, out=np.zeros_like(d), where=se > TIE)
    systems = range(means.shape[-1])
    t[..., systems, systems] = -np.inf
    return np.asarray(t.max(axis=-1))


def share(drawn: Floats, least: Floats) -> Floats:
    """(R,) share of draws (B, R) that reach."""
    return np.asarray((1 + (drawn >= least).sum(axis=0)) / (len(drawn) + 1))


def pooled(drawn: Floats, least: Floats) -> Floats:
    """(R,) share of draws of all systems that reach what each is held against."""
    return np.asarray((1 + (drawn[:, :, None] >= least).mean(axis=1).sum(axis=0)) / (len(drawn) + 1))


RULES: dict[str, Rule] = {
    "leads over the system": lambda over, of, normal, m: share(over, m),
    "the larger tail of these and of its own leads": lambda over, of, normal, m: np.maximum(
        share(over, m), share(of, m)
    ),
    "the mean of the two tails": lambda over, of, normal, m: (share(over, m) + share(of, m)) / 2,
    "leads either way": lambda over, of, normal, m: share(np.maximum(over, of), m),
    "leads in any pair": lambda over, of, normal, m: share(
        np.broadcast_to(over.max(axis=1, keepdims=True), over.shape), m
    ),
    "leads over any system, pooled": lambda over, of, normal, m: pooled(over, m),
    "multivariate t": lambda over, of, normal, m: share(normal, m),
    "the larger tail of leads over the system and multivariate t": lambda over, of, normal, m: np.maximum(
        share(over, m), share(normal, m)
    ),
}


def of_table(y: Floats, seed: int) -> Floats:
    """(rules, R) p of each system."""
    g = np.random.default_rng([seed, 7])
    topics, systems = y.shape
    z = y - y.mean(axis=0)
    z -= z.mean(axis=1, keepdims=True)
    cross = z.T @ z
    se = errors(cross, topics)
    m = leads(y.mean(axis=0), se)
    counts = g.multinomial(topics, np.full(topics, 1 / topics), size=DRAWS).astype(float)
    means = counts @ z / topics
    products = (z[:, :, None] * z[:, None, :]).reshape(topics, -1)
    drawn = (counts @ products).reshape(-1, systems, systems) - topics * means[:, :, None] * means[:, None, :]
    drawn_se = errors(drawn, topics)
    values, vectors = np.linalg.eigh(cross / (topics * (topics - 1.0)))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    df = topics - 1 + min(D0, (topics - 1) * (systems - 2))
    spread = np.sqrt(g.chisquare(df, DRAWS) / df)[:, None]
    normal = leads(g.normal(size=(DRAWS, systems)) @ root / spread, se)
    sides = leads(means, drawn_se), leads(means, drawn_se, -1.0), normal
    return np.stack([rule(*sides, m - TIE * np.abs(m)) for rule in RULES.values()])


@dataclass(frozen=True)
class Held:
    """What the rules did in one design; arrays are of rules."""

    design: Design
    mean: Floats  # share of the best systems held
    least: Floats  # of the one that is held most seldom
    group: Floats  # mean size


def of_design(y: Floats, design: Design) -> Held | None:
    """All rules on the tables of one design; None where there is no such scenario."""
    try:
        scenario = scenario_of(y, design)
    except InputError:
        return None
    if scenario is None:
        return None
    p = [
        of_table(table, first + k)
        for first in range(0, TABLES, CHUNK)
        for k, table in enumerate(scenario.draw(first, CHUNK, 0))
    ]
    top = np.stack(p, axis=1) > ALPHA  # (rules, tables, R)
    held = top[..., truth_is_best(scenario.truth)].mean(axis=1)
    own = replace(design, systems=scenario.shape[1])
    return Held(own, held.mean(axis=1), held.min(axis=1), top.sum(axis=2).mean(axis=1))


def table_of(found: list[Held]) -> str:
    """One row a rule: where no systems differ, and where half of the real differences are planted."""
    null = [one for one in found if one.design.scenario != "planted"]
    planted = [one for one in found if one.design.scenario == "planted"]
    rows = []
    for k, name in enumerate(RULES):
        held = np.array([one.mean[k] for one in null])
        below = stats.binom.cdf(np.round(held * TABLES), TABLES, 1.0 - ALPHA) < DOUBT
        least = 100 * min(one.least[k] for one in null)
        size = float(np.mean([one.group[k] for one in planted]))
        figures = [f"{100 * held.mean():.1f}", f"{100 * held.min():.1f}", f"{below.sum()}"]
        rows.append([name, *figures, f"{least:.1f}", f"{size:.2f}"])
    heads = ["held, mean", "lowest design", "designs below 95", "lowest single system", "group, planted"]
    return markdown([f"{len(null)} designs, {TABLES} tables", *heads], rows)


def main() -> None:
    """Print the table of the chosen half of the data."""
    words = [w for w in sys.argv[1:] if w != "--others"]
    folder = Path(words[0] if words else os.environ.get("SHARDWISE_DATA", ROOT.parent / "shared" / "data"))
    others = "--others" in sys.argv
    tables = sources(folder)
    found: dict[Design, Held] = {}  # tilt may find the same systems for several numbers asked
    for design in designs(tables):
        if (design.data not in CHOSEN_ON) == others and design.systems in SYSTEMS:
            one = of_design(tables[design.data], design)
            if one is not None:
                found.setdefault(one.design, one)
                print(one.design, (100 * one.mean).round(1), flush=True)
    print(table_of(list(found.values())))


if __name__ == "__main__":
    main()
