"""How to make one conclusion of many splits: error rates and power of every rule, and how many splits are enough.

python -m bench.splits [tables a scenario] [folder of TREC-COVID round 1]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from bench.replication import load
from bench.resplit import ResplitScenario
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import SPLITS, Tables

ROOT = Path(__file__).parent.parent
SD = VarianceComponents.of({"topic": 0.20, "topic:system": 0.08, "error": 0.06}, kind="sd")
RULES = ("first", "mean", "unanimous", "majority", "quantile", "harmonic", "cauchy")
SHARES = (0.0, 0.1, 0.3, 0.6, 1.0)
SHAPE = (11, 30, 8, 5)
STEP = 0.008  # between neighbours in the scenario with differences


def rules_in_scenarios(repetitions: int, seed: int = 1) -> pd.DataFrame:
    """Family-wise error where all systems are equal, and pairs found of eight that differ by steps, MD6 with Holm."""
    rows = []
    for share in SHARES:
        for what, means in (("family", np.full(8, 0.4)), ("found", 0.4 + STEP * np.arange(8))):
            scenario = ResplitScenario(means, SD, SHAPE, share)
            told: dict[str, list[float]] = {rule: [] for rule in RULES}
            for first in range(0, repetitions, 20):
                tables = Tables(scenario.draw(first, min(20, repetitions - first), seed), SPLITS)
                for rule in RULES:
                    found = parse_procedure(f"{rule} MD6 holm").decide(tables).p_adjusted <= 0.05
                    told[rule] += (found.any(axis=1) if what == "family" else found.mean(axis=1)).tolist()
            rows += [
                {"share": share, "figure": what, "rule": rule, "rate": np.mean(x)} for rule, x in told.items()
            ]
    return pd.DataFrame(rows).pivot(index=["figure", "share"], columns="rule", values="rate")[list(RULES)]


def steady(
    scores: xr.DataArray, sets: int = 20, method: str = "mean MD6 hsd"
) -> tuple[pd.DataFrame, sw.stability.SplitNoise]:
    """p-values of best against second from independent sets of splits, for one split and for as many as are enough."""
    filled = sw.fill_undefined(scores, "zero")
    some = [sw.compare(filled.isel(split=i), method.removeprefix("mean ")) for i in range(20)]
    noise = sw.stability.split_noise(some)
    assert noise is not None
    best = list(filled.mean(("split", "topic", "shard")).to_series().nlargest(2).index)
    rows = []
    for many in (2, 11, noise.enough):
        each = [
            sw.compare(filled.isel(split=slice(i * many, (i + 1) * many)), method).to_frame()
            for i in range(min(sets, filled.sizes["split"] // many))
        ]
        p = [float(f.loc[f["a"].isin(best) & f["b"].isin(best), "p"].iloc[0]) for f in each]
        rows.append(
            {
                "splits": many,
                "sets": len(p),
                "least p": min(p),
                "largest p": max(p),
                "factor": max(p) / min(p),
            }
        )
    return pd.DataFrame(rows), noise


def main() -> None:
    """Print both tables."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT.parent / "shared" / "data" / "trec-covid-r1"
    print(rules_in_scenarios(repetitions).round(3).to_markdown())
    runs, _ = load(folder)
    for measure in ("AP", "P@10"):
        cut = sw.split(runs, 5, kind="even", n_splits=2200, seed=1)
        scores = sw.score(runs, [measure], splits=cut)[measure]
        frame, noise = steady(scores)
        print(measure, noise)
        print(frame.to_markdown(index=False))


if __name__ == "__main__":
    main()
