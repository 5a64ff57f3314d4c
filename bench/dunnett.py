"""False alarms of Dunnett's test with gaps, with a baseline that has more scores, and with one that varies less.

python -m bench.dunnett [--tables 4000]
"""

from __future__ import annotations

import argparse
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from shardwise.core.arrays import Bools

OUT = Path(__file__).parent.parent / "docs" / "bench" / "dunnett.md"
ALPHA = 0.05
TOPICS, SYSTEMS = 20, 6
CASES = (
    "complete",
    "20% missing at random",
    "baseline complete, 50% of the others missing",
    "60% of the baseline missing, others complete",
    "two halves of systems miss different halves of topics",
    "complete, standard deviation of the baseline a third of the others'",
)


def draw_gaps(rng: np.random.Generator, case: str) -> Bools:
    """(T, R) cells without a score; the baseline is the first system."""
    gaps = np.zeros((TOPICS, SYSTEMS), dtype=bool)
    if case == CASES[1]:
        gaps = rng.random(gaps.shape) < 0.2
    elif case == CASES[2]:
        gaps[:, 1:] = rng.random((TOPICS, SYSTEMS - 1)) < 0.5
    elif case == CASES[3]:
        gaps[:, 0] = rng.random(TOPICS) < 0.6
    elif case == CASES[4]:
        gaps[: TOPICS // 2, 1 : SYSTEMS // 2 + 1] = True
        gaps[TOPICS // 2 :, SYSTEMS // 2 + 1 :] = True
    return gaps


def count_alarms(case: str, tables: int, seed: int) -> int:
    """Count tables of equal systems in which some system differs significantly from the baseline."""
    alarms = 0
    deviations = np.ones(SYSTEMS)
    deviations[0] = 1.0 / 3.0 if case == CASES[5] else 1.0
    labels = {"topic": [f"t{k}" for k in range(TOPICS)], "system": [f"s{k}" for k in range(SYSTEMS)]}
    for i in range(tables):
        rng = np.random.default_rng([seed, i])
        y = rng.normal(size=(TOPICS, 1)) + deviations * rng.normal(size=(TOPICS, SYSTEMS))
        y[draw_gaps(rng, case)] = np.nan
        # a topic without any score says nothing
        scores = xr.DataArray(y, labels).dropna("topic", how="all")
        fit = sw.anova(scores, sw.MD1)
        pairs = sw.compare(fit, "dunnett", baseline="s0", generalize="topic")
        alarms += bool((pairs.p_adjusted <= ALPHA).any())
    return alarms


def main() -> None:
    """Write the rates as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=4000)
    tables = parser.parse_args().tables
    rows = []
    for seed, case in enumerate(CASES):
        rate = count_alarms(case, tables, seed) / tables
        error = sqrt(rate * (1.0 - rate) / tables)
        rows.append({"scores": case, "false alarms": f"{rate:.1%} ± {1.96 * error:.1%}"})
        print(rows[-1], flush=True)
    OUT.write_text(f"{pd.DataFrame(rows).to_markdown(index=False)}\n", "utf-8")


if __name__ == "__main__":
    main()
