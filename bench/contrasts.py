"""Measure contrasts, three-way probabilities and agreement: false alarms and coverage where the truth is known.

python -m bench.contrasts [tables] > docs/bench/contrasts.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

import shardwise as sw

MARGIN = 0.02
CONTRASTS = {
    "first half against second": (["s0", "s1", "s2"], ["s3", "s4", "s5"]),
    "one against the rest": (["s0"], ["s1", "s2", "s3", "s4", "s5"]),
    "a pair": (["s1"], ["s4"]),
    "trend": {f"s{k}": k - 2.5 for k in range(6)},
}


def draw_scores(kind: str, topics: int, rng: np.random.Generator, effects: np.ndarray) -> xr.DataArray:
    """Draw a table of systems whose true means differ by the effects: graded, right or wrong, or of unequal spread."""
    systems = len(effects)
    easy = rng.normal(size=(topics, 1))
    own = rng.normal(size=(topics, systems))
    if kind == "right or wrong":
        chance = 0.6 + effects
        # a common difficulty makes answers of systems alike
        uniform = special.ndtr((easy + own) / np.sqrt(2.0))
        y = (uniform < chance).astype(float)
    else:
        spread = np.linspace(0.05, 0.2, systems) if kind == "unequal spread" else 0.1
        y = 0.5 + effects + 0.1 * easy + spread * own
    return xr.DataArray(y, dims=("topic", "system"), coords={"system": [f"s{k}" for k in range(systems)]})


def count_contrasts(tables: int) -> Iterator[dict[str, object]]:
    """Yield family-wise false alarms of contrasts of equal systems, and joint coverage where systems differ."""
    for kind in ("graded", "unequal spread", "right or wrong"):
        for topics in (20, 50, 100):
            wrong = covered = 0
            effects = np.array([0.0, 0.02, 0.04, 0.0, 0.03, 0.06])
            truth = np.array([_true_contrast(groups, effects) for groups in CONTRASTS.values()])
            for k in range(tables):
                rng = np.random.default_rng([k, topics])
                equal = sw.compare(draw_scores(kind, topics, rng, np.zeros(6)), n_resamples=99)
                wrong += bool((equal.contrasts(CONTRASTS).table["p_adjusted"] <= 0.05).any())
                moved = sw.compare(draw_scores(kind, topics, rng, effects), n_resamples=99)
                table = moved.contrasts(CONTRASTS).table
                covered += bool(((table["lower"] <= truth) & (truth <= table["upper"])).all())
            yield {"statement": "contrasts", "scores": kind, "n": topics, "false alarms %": 100 * wrong / tables,
                   "coverage %": 100 * covered / tables}  # fmt: skip


def _true_contrast(groups: object, effects: np.ndarray) -> float:
    number = {f"s{k}": k for k in range(len(effects))}
    if isinstance(groups, dict):
        weights = np.array([groups[name] for name in number])
        return float(weights @ effects)
    first, second = (np.mean([effects[number[name]] for name in group]) for group in groups)  # type: ignore[attr-defined]
    return float(first - second)


def count_probabilities(tables: int) -> Iterator[dict[str, object]]:
    """Yield how often "better by more than the margin" has 97.5% although the difference is the margin itself."""
    for kind in ("graded", "right or wrong"):
        for topics in (20, 50, 200):
            wrong = 0
            for k in range(tables):
                rng = np.random.default_rng([k, topics, 7])
                scores = draw_scores(kind, topics, rng, np.array([MARGIN, 0.0]))
                row = sw.compare(scores, n_resamples=99).probabilities(MARGIN).iloc[0]
                wrong += bool((row["better"] if row["a"] == "s0" else row["worse"]) >= 0.975)
            yield {"statement": "P(better by more than the margin) ≥ 97.5% at the margin", "scores": kind, "n": topics,
                   "false alarms %": 100 * wrong / tables, "coverage %": np.nan}  # fmt: skip


def count_agreement(tables: int) -> Iterator[dict[str, object]]:
    """Yield the coverage of intervals of agreement of a judge with people; the truth is that of 200,000 items."""
    whole = measure_grades(200_000, np.random.default_rng(0), resamples=9)
    for n in (30, 100, 300):
        hits: dict[str, int] = {}
        for k in range(tables):
            figures = measure_grades(n, np.random.default_rng([k, n]), resamples=499)
            for name, row in figures.iterrows():
                inside = row["lower"] <= whole.loc[name, "estimate"] <= row["upper"]
                hits[str(name)] = hits.get(str(name), 0) + bool(inside)
        for name, count in hits.items():
            yield {"statement": name, "scores": "three grades", "n": n, "false alarms %": np.nan,
                   "coverage %": 100 * count / tables}  # fmt: skip


def measure_grades(n: int, rng: np.random.Generator, resamples: int) -> pd.DataFrame:
    """Draw grades of a judge and of people who see the same truth, and measure their agreement, a row a figure."""
    truth = rng.normal(size=(n, 1))
    judge, people = (
        np.digitize(truth + 0.6 * rng.normal(size=(n, 1)), [-0.5, 0.7]).astype(float) for _ in range(2)
    )
    scores = xr.DataArray(judge, dims=("topic", "system"), coords={"system": ["judge"]})
    both = sw.judges.with_human(scores, scores.copy(data=people))
    return sw.judges.measure_agreement(both, n_resamples=resamples).set_index("statistic")


def main() -> None:
    """Print one table."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rows = [*count_contrasts(tables), *count_probabilities(2 * tables), *count_agreement(tables)]
    print(f"{tables:,} tables a row ({2 * tables:,} for probabilities).", end="\n\n")
    print(pd.DataFrame(rows).round(1).to_markdown(index=False))


if __name__ == "__main__":
    main()
