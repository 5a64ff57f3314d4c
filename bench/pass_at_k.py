"""pass@k by the default method: family-wise error of comparisons, and coverage of intervals.

python -m bench.pass_at_k [--tables 2000] [--covered 400]

Each question has a difficulty; each system a chance of its own on each question, from the same distribution for all, so
that all systems have the same pass@k. The truth is the mean of 1 − (1 − p)^k over that distribution.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from shardwise.comparing.compare import run_procedure
from shardwise.core.arrays import Floats
from shardwise.core.scores import as_scores
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import Tables
from shardwise.scoring.samples import SAMPLES, estimate_any

OUT = Path(__file__).parent.parent / "docs" / "bench" / "pass_at_k.csv"
DESIGNS = [(n, k) for n, k in product((5, 10, 20), (1, 5, 10)) if k <= n]
QUESTIONS = (50, 150, 500)
SHAPES = {"even": (1.0, 1.0), "hard": (0.3, 1.5), "easy": (2.0, 0.4)}
"""Beta distributions of the chance of a right answer."""
SYSTEMS, ALPHA, RESAMPLES, BLOCK = 4, 0.05, 999, 100
SHARED = 0.7
"""Correlation of the normal scores behind the chances of two systems on one question."""


def draw_chances(
    rng: np.random.Generator, shape: tuple[float, float], count: int, questions: int, systems: int
) -> Floats:
    """(count, questions, systems) chances with one Beta distribution for every system."""
    from scipy import special

    common = rng.normal(size=(count, questions, 1))
    z = np.sqrt(SHARED) * common + np.sqrt(1.0 - SHARED) * rng.normal(size=(count, questions, systems))
    return np.asarray(special.betaincinv(*shape, special.ndtr(z)))


def true_value(shape: tuple[float, float], k: int) -> float:
    """1 − E(1 − p)^k of a Beta distribution: 1 − B(a, b + k)/B(a, b)."""
    from scipy import special

    a, b = shape
    return float(1.0 - np.exp(special.betaln(a, b + k) - special.betaln(a, b)))


def draw_figures(
    rng: np.random.Generator,
    shape: tuple[float, float],
    n: int,
    k: int,
    count: int,
    questions: int,
    systems: int,
) -> Floats:
    """(count, questions, systems) estimates of pass@k from n samples."""
    right = rng.binomial(n, draw_chances(rng, shape, count, questions, systems))
    return estimate_any(right, np.full_like(right, n), k)


def measure_family_error(seed: int, shape: str, n: int, k: int, questions: int, tables: int) -> float:
    """Share of tables of equal systems in which any pair is significant."""
    procedure, wrong = parse_procedure("moderated"), 0
    for start in range(0, tables, BLOCK):
        rng = np.random.default_rng([seed, start])
        y = draw_figures(rng, SHAPES[shape], n, k, BLOCK, questions, SYSTEMS)
        batch = Tables(y, ("topic", "system"), seed, start, n_resamples=RESAMPLES)
        wrong += int((procedure.decide(batch).p_adjusted <= ALPHA).any(axis=-1).sum())
    return wrong / tables


def measure_coverage(
    seed: int, shape: str, n: int, k: int, questions: int, tables: int
) -> tuple[float, float]:
    """Share of intervals of a mean, and of a difference of two systems, that hold the truth."""
    procedure, truth = parse_procedure("moderated"), true_value(SHAPES[shape], k)
    means, differences = 0, 0
    for i in range(tables):
        rng = np.random.default_rng([seed, 1, i])
        y = draw_figures(rng, SHAPES[shape], n, k, 1, questions, 2)[0]
        table = xr.DataArray(y, dims=("topic", "system"), attrs={"range": (0.0, 1.0), SAMPLES: (n, n)})
        pairs = run_procedure(procedure, as_scores(table), n_resamples=RESAMPLES, seed=i)
        frame, pair = pairs.intervals(0.95, "mean"), pairs.to_frame(0.95).iloc[0]
        means += int(((frame["lower"] <= truth) & (truth <= frame["upper"])).sum())
        differences += int(pair["lower"] <= 0.0 <= pair["upper"])
    return means / (2 * tables), differences / tables


def main() -> None:
    """Write one row a design."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--covered", type=int, default=400)
    chosen = parser.parse_args()
    rows = []
    for number, ((n, k), questions, shape) in enumerate(product(DESIGNS, QUESTIONS, SHAPES)):
        family = measure_family_error(number, shape, n, k, questions, chosen.tables)
        mean, difference = measure_coverage(number, shape, n, k, questions, chosen.covered)
        row = {"samples": n, "k": k, "questions": questions, "chances": shape, "family_error": family}
        rows.append({**row, "coverage_mean": mean, "coverage_difference": difference})
        print(rows[-1], flush=True)
        pd.DataFrame(rows).to_csv(OUT, index=False)


if __name__ == "__main__":
    main()
