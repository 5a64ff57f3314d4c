"""Plans for items and repeats: planned against reached power, from real logs with repeats.

python -m bench.repeat_plans [--tables 1000] [--data folder]

Each log is planned for twice, as many items and as many samples as its plan names. Data like those of the log are made
by resampling its items: the chances of right answers are shrunk towards the mean of system and item until they vary as
the plan assumes, two systems are moved apart by the difference planned for, the others between them, and samples are
drawn anew. The default test of all pairs is then run as `compare` runs it.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from shardwise.core.arrays import Floats
from shardwise.core.scores import as_scores
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import Tables
from shardwise.planning.design import Design
from shardwise.planning.plans import RepeatPlan, plan_more, plan_repeats

OUT = Path(__file__).parent.parent / "docs" / "bench" / "repeat_plans.csv"
LOGS = {"humaneval": "passed", "inspect/logs_eval": "match", "promptfoo/repeats.json": "success"}
ALPHA, RESAMPLES, BLOCK = 0.05, 999, 100


def list_chances(y: Floats, parts: VarianceComponents) -> Floats:
    """(T, R) chances of right answers whose interaction varies as the plan assumes."""
    means = y.mean(axis=2)
    additive = means.mean(axis=1, keepdims=True) + means.mean(axis=0) - means.mean()
    rest = means - additive
    items, systems = means.shape
    seen = (rest**2).sum() / ((items - 1) * (systems - 1))
    shrink = np.sqrt(parts.variance("topic:system") / seen) if seen > 0 else 0.0
    return np.clip(additive + min(shrink, 1.0) * rest - means.mean(axis=0) + means.mean(), 0.0, 1.0)


def plant_difference(chances: Floats, difference: float) -> Floats:
    """Chances of equal systems, but for the first, half of the difference up, and the second, as much down.

    As in `simulated_power`: all others lie between, so that no other pair is found before this one.
    """
    planted = chances.copy()
    for k, sign in ((0, 1.0), (1, -1.0)):
        low, high = -1.0, 1.0
        wanted = chances.mean() + sign * difference / 2.0
        for _ in range(60):
            shift = (low + high) / 2.0
            planted[:, k] = np.clip(chances[:, k] + shift, 0.0, 1.0)
            low, high = (shift, high) if planted[:, k].mean() < wanted else (low, shift)
    return planted


def reached_power(chances: Floats, design: Design, tables: int, seed: int) -> float:
    """Share of tables of new items and samples in which the first system is significantly better than the second."""
    procedure, wins = parse_procedure("moderated"), 0
    for start in range(0, tables, BLOCK):
        rng = np.random.default_rng([seed, start])
        picked = chances[rng.integers(0, len(chances), (BLOCK, design.topics))]
        y = rng.binomial(design.repeats, picked) / design.repeats
        batch = Tables(y, ("topic", "system"), seed, start, n_resamples=RESAMPLES)
        decided = procedure.decide(batch)
        # The first pair is that of the two systems.
        wins += int(((decided.p_adjusted[:, 0] <= ALPHA) & (decided.difference[:, 0] > 0)).sum())
    return wins / tables


def plan_log(y: Floats, plan: RepeatPlan) -> list[tuple[str, Design]]:
    """The plans that can be tried."""
    found = [("more items", plan.more_items), ("more repeats", plan.more_repeats), ("now", plan.now)]
    return [(name, one) for name, one in found if one is not None and one.topics >= 10]


def main() -> None:
    """Write one row a plan."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--data", default=os.environ.get("SHARDWISE_DATA", "../shared/data"))
    chosen = parser.parse_args()
    rows = []
    for log, measure in LOGS.items():
        scores = as_scores(str(Path(chosen.data) / "doors" / log), measure=measure)
        # Clusters are left out: items are drawn one by one.
        scores = scores.drop_vars("cluster", errors="ignore")
        y = scores.transpose("topic", "system", "instance").to_numpy()
        for difference in (0.1, 0.2):
            plan = plan_repeats(scores, min_diff=difference, kind="samples")
            chances = plant_difference(list_chances(y, plan.now.variance), difference)
            # Clipping and shrinking changed the variances a little: the plan is made for what is simulated.
            interaction = (
                chances - chances.mean(axis=0) - chances.mean(axis=1, keepdims=True) + chances.mean()
            )
            parts = VarianceComponents(
                {
                    "topic:system": float((interaction**2).sum() / (len(chances) * (chances.shape[1] - 1))),
                    "error": float((chances * (1 - chances)).mean()),
                }
            )
            now = replace(plan.now, variance=parts)
            like = RepeatPlan("samples", now, *plan_more(now))
            for what, design in plan_log(y, like):
                power = reached_power(chances, design, chosen.tables, len(rows))
                sizes = {"items": design.topics, "samples": design.repeats}
                row = {"log": log, "difference": difference, "what": what, **sizes}
                rows.append({**row, "planned": design.power, "reached": power})
                print(rows[-1], flush=True)
                pd.DataFrame(rows).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
