"""Coverage of the intervals of agreement: percent, κ and α of a judge with people, over numbers of labels.

    python -m bench.agreement [samples]

Writes docs/bench/agreement.md. Cells were fixed before the first run: 20, 50, 100 and 300 labels; a judge that agrees
in 98, 90 or 75% of items, right or wrong with one half or nine in ten right; grades 1 to 5.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from bench.replication import markdown
from shardwise.core.arrays import Floats
from shardwise.stats.agreement import cohen_kappa, krippendorff_alpha, percent_agreement

LABELS = (20, 50, 100, 300)
ALPHA = 0.05
TRUTH = 1_000_000
"""Items that the true values are computed from."""


def draw_raters(rng: np.random.Generator, items: int, agree: float, right: float) -> tuple[Floats, Floats]:
    """Return right or wrong answers by people, and a judge that turns some of them round."""
    people = (rng.random(items) < right).astype(float)
    return np.where(rng.random(items) < agree, people, 1.0 - people), people


def draw_grades(rng: np.random.Generator, items: int, noise: float) -> tuple[Floats, Floats]:
    """Return grades 1 to 5 by people, and those of a judge who is off by a grade now and then."""
    people = rng.choice(np.arange(1.0, 6.0), p=(0.05, 0.1, 0.2, 0.35, 0.3), size=items)
    return np.clip(np.rint(people + rng.normal(0.0, noise, items)), 1.0, 5.0), people


CELLS = {
    f"{agree:.0%} agree, {right:.0%} right": (draw_raters, (agree, right))
    for agree in (0.98, 0.9, 0.75)
    for right in (0.5, 0.9)
} | {f"grades, noise {noise}": (draw_grades, (noise,)) for noise in (0.3, 0.8)}
STATISTICS = {
    "percent": percent_agreement,
    "κ": cohen_kappa,
    "quadratic κ": lambda a, b: cohen_kappa(a, b, 2),
    "α, nominal": lambda a, b: krippendorff_alpha(np.stack([a, b])),
    "α, interval": lambda a, b: krippendorff_alpha(np.stack([a, b]), "interval"),
}


def main() -> None:
    """Measure the coverage of every cell, and write the page."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    rows = []
    for name, (draw, options) in CELLS.items():
        truth = {
            key: figure(*draw(np.random.default_rng(0), TRUTH, *options)).estimate
            for key, figure in STATISTICS.items()
        }
        for labels in LABELS:
            held = dict.fromkeys(STATISTICS, 0)
            defined = dict.fromkeys(STATISTICS, 0)
            for index in range(samples):
                a, b = draw(np.random.default_rng([1, index]), labels, *options)
                for key, figure in STATISTICS.items():
                    lower, upper = figure(a, b).limits(ALPHA, np.arange(labels))
                    defined[key] += np.isfinite(lower)
                    held[key] += lower - 1e-12 <= truth[key] <= upper + 1e-12
            shares = [f"{100 * held[key] / max(defined[key], 1):.1f}" for key in STATISTICS]
            rows.append([name, str(labels), *shares])
            print(rows[-1], flush=True)
    error = 100 * np.sqrt(0.95 * 0.05 / samples)
    head = f"{samples} samples, ±{error:.1f}"
    page = Path(__file__).parents[1] / "docs" / "bench" / "agreement.md"
    page.write_text(markdown([head, "labels", *STATISTICS], rows) + "\n")


if __name__ == "__main__":
    main()
