"""Unpaired scores: false alarms of Welch's and of Games and Howell's test, plain, in clusters, and with a covariate.

python -m bench.unpaired [--tables 4000]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from shardwise.core.arrays import Floats, Ints
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import Tables
from shardwise.methods.unpaired.method import adjust_for_covariate

OUT = Path(__file__).parent.parent / "docs" / "bench" / "unpaired.csv"
ALPHA = 0.05
CASES = {
    "equal variances": ((40, 40, 40), (1.0, 1.0, 1.0)),
    "small group varies most": ((20, 40, 80), (3.0, 1.5, 1.0)),
    "large group varies most": ((20, 40, 80), (1.0, 1.5, 3.0)),
    "two variants": ((60, 30), (1.0, 2.0)),
}
"""Users of each variant, and standard deviations."""
SHAPES = ("normal", "right or wrong", "skewed")


def draw_scores(rng: np.random.Generator, shape: str, sd: float, count: int) -> Floats:
    """Scores with mean 0, or right and wrong answers."""
    if shape == "normal":
        return rng.normal(0.0, sd, count)
    if shape == "skewed":
        return sd * (rng.exponential(1.0, count) - 1.0)
    return (rng.random(count) < 0.3).astype(float)


def draw_table(
    rng: np.random.Generator, shape: str, sizes: tuple[int, ...], sds: tuple[float, ...], how: str
) -> tuple[Floats, Ints | None]:
    """(T, R) unpaired scores of equal systems, and the user of each row where users have several."""
    blocks, clusters, before, start = [], [], [], 0
    for k, (users, sd) in enumerate(zip(sizes, sds, strict=True)):
        own = draw_scores(rng, shape, sd, users)
        rows = rng.integers(1, 5, users) if how == "clusters" else np.ones(users, dtype=np.int64)
        user = np.repeat(np.arange(users), rows)
        values = own[user] + (rng.normal(0.0, sd, len(user)) if how == "clusters" else 0.0)
        block = np.full((len(user), len(sizes)), np.nan)
        block[:, k] = values
        blocks.append(block)
        clusters.append(start + user)
        before.append(own + rng.normal(0.0, sd, users) if how == "covariate" else own)
        start += users
    table = np.concatenate(blocks)
    if how == "covariate":
        table = adjust_for_covariate(table, np.concatenate(before))[0]
    return table, np.concatenate(clusters) if how == "clusters" else None


def measure_alarms(
    shape: str, case: str, how: str, tables: int, seed: int, names: tuple[str, ...]
) -> list[float]:
    """Share of tables in which any pair of equal systems is significant, by method."""
    procedures, alarms = [parse_procedure(name) for name in names], np.zeros(len(names))
    for i in range(tables):
        y, cluster = draw_table(np.random.default_rng([seed, i]), shape, *CASES[case], how)
        for k, procedure in enumerate(procedures):
            decided = procedure.decide(Tables.one(y, ("topic", "system"), cluster=cluster))
            alarms[k] += bool((decided.p_adjusted <= ALPHA).any())
    return [float(x) for x in alarms / tables]


def main() -> None:
    """Write one row a case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=4000)
    chosen = parser.parse_args()
    names = ("games-howell", "welch holm")
    rows = []
    for how in ("plain", "clusters", "covariate"):
        for shape in SHAPES if how == "plain" else SHAPES[:1]:
            for number, case in enumerate(CASES):
                rates = measure_alarms(shape, case, how, chosen.tables, number, names)
                row = {"scores": shape, "users": how, "case": case}
                rows.append({**row, **dict(zip(names, rates, strict=True))})
                print(rows[-1], flush=True)
                pd.DataFrame(rows).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
