"""False alarms of Dunnett's test with gaps, with a baseline that has more scores, and with one that varies less.

python -m bench.dunnett [--draws 200000] [--patterns 20]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from shardwise.core.arrays import Bools
from shardwise.stats import dunnett
from shardwise.stats.dunnett import fit_loadings

OUT = Path(__file__).parent.parent / "docs" / "bench" / "dunnett.md"
ALPHA = 0.05
TOPICS, SYSTEMS = 20, 6
CASES = (
    "complete",
    "20% missing at random",
    "baseline complete, 50% of the others missing",
    "60% of the baseline missing, others complete",
    "two halves of systems miss different halves of topics",
    "complete, standard deviation of the baseline a third of that of the others",
    "complete, standard deviation of the baseline three times that of the others",
)
DEVIATIONS = {CASES[-2]: 1.0 / 3.0, CASES[-1]: 3.0}
"""Standard deviation of the baseline where it is not that of the others."""


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


def measure_gaps(case: str, rng: np.random.Generator, draws: int) -> float:
    """Return how often the largest of the comparisons of one pattern of gaps exceeds the critical value used.

    The comparisons of a fit by least squares are jointly Student's t with the correlations of its design, which are
    drawn from here as they are; the critical value has those of the one factor that is fitted to them.
    """
    labels = {"topic": [f"t{k}" for k in range(TOPICS)], "system": [f"s{k}" for k in range(SYSTEMS)]}
    y = rng.normal(size=(TOPICS, SYSTEMS))
    y[draw_gaps(rng, case)] = np.nan
    # a topic without any score says nothing
    fit = sw.anova(xr.DataArray(y, labels).dropna("topic", how="all"), sw.MD1)
    estimates = fit.estimates(generalize="topic")
    variances = estimates.difference_variance
    if variances is None:
        variances = 2.0 * float(estimates.variance) * (1.0 - np.eye(SYSTEMS))
    others, df = np.arange(1, SYSTEMS), float(np.mean(estimates.df))
    loadings = fit_loadings(variances, others, 0)
    critical = (
        dunnett.isf(ALPHA, SYSTEMS - 1, df)
        if loadings is None
        else dunnett.isf_unequal(ALPHA, np.array([df]), loadings)
    )
    near = variances[1:, 0]
    correlation = (near[:, None] + near - variances[1:, 1:]) / (2.0 * np.sqrt(near[:, None] * near))
    z = rng.multivariate_normal(np.zeros(SYSTEMS - 1), correlation, draws)
    t = np.abs(z).max(axis=1) / np.sqrt(rng.chisquare(df, draws) / df)
    return float((t > float(np.squeeze(critical))).mean())


def measure_unequal(case: str, rng: np.random.Generator, draws: int) -> float:
    """Return how often complete tables of equal systems have an alarm where the baseline varies otherwise."""
    deviations = np.full(SYSTEMS, 1.0)
    deviations[0] = DEVIATIONS[case]
    e = deviations * rng.normal(size=(draws, TOPICS, SYSTEMS))
    means = e.mean(axis=1)
    rest = e - e.mean(axis=2, keepdims=True) - means[:, None] + e.mean(axis=(1, 2))[:, None, None]
    df = (TOPICS - 1.0) * (SYSTEMS - 1.0)
    se = np.sqrt(2.0 / TOPICS * (rest**2).sum(axis=(1, 2)) / df)
    t = np.abs(means[:, 1:] - means[:, :1]).max(axis=1) / se
    return float((t > float(dunnett.isf(ALPHA, SYSTEMS - 1, df))).mean())


def main() -> None:
    """Write the rates as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200_000)
    parser.add_argument("--patterns", type=int, default=20)
    options = parser.parse_args()
    rows = []
    for seed, case in enumerate(CASES):
        rngs = [np.random.default_rng([seed, k]) for k in range(options.patterns)]
        if case in DEVIATIONS:
            rates = [measure_unequal(case, rng, options.draws // options.patterns) for rng in rngs]
        else:
            rates = [measure_gaps(case, rng, options.draws) for rng in rngs]
        largest = "" if case in DEVIATIONS else f"{max(rates):.2%}"
        rows.append(
            {"scores": case, "false alarms": f"{np.mean(rates):.2%}", "largest of 20 patterns": largest}
        )
        print(rows[-1], flush=True)
    OUT.write_text(f"{pd.DataFrame(rows).to_markdown(index=False)}\n", "utf-8")


if __name__ == "__main__":
    main()
