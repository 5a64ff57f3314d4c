"""Coverage of the interval of the relative lift, and false alarms of the check of the split: docs/bench/lift.md.

python -m bench.lift --out docs/bench/lift.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from shardwise.stats.lift import check_ratio, measure_lift
from shardwise.stats.student import student_critical

CELLS = (
    ("exponential", 300, 0.0),
    ("exponential", 300, 0.2),
    ("exponential", 5_000, 0.05),
    ("heavy-tailed", 300, 0.1),
    ("heavy-tailed", 5_000, 0.0),
    ("heavy-tailed", 20_000, 0.05),
    ("5% buyers", 5_000, 0.1),
    ("5% buyers", 20_000, 0.0),
)


def draw_group(rng: np.random.Generator, kind: str, users: int) -> np.ndarray:
    """Revenue of some users whose mean is 1."""
    if kind == "exponential":
        return rng.exponential(size=users)
    heavy = rng.lognormal(-0.5, 1.0, size=users)
    return heavy if kind == "heavy-tailed" else heavy * (rng.random(users) < 0.05) / 0.05


def cover_lift(kind: str, users: int, lift: float, repetitions: int, seed: int) -> float:
    """Share of intervals that hold the true lift."""
    rng, held = np.random.default_rng([49, users, seed]), 0
    for _ in range(repetitions):
        base, new = draw_group(rng, kind, users), (1.0 + lift) * draw_group(rng, kind, users)
        errors = [group.std(ddof=1) / users**0.5 for group in (new, base)]
        v = [error**2 for error in errors]
        df = (v[0] + v[1]) ** 2 / ((v[0] ** 2 + v[1] ** 2) / (users - 1.0))
        critical = float(student_critical(0.05, np.array([df]))[0])
        found = measure_lift(
            float(new.mean()), float(errors[0]), float(base.mean()), float(errors[1]), critical
        )
        held += found is not None and found.lower <= lift <= found.upper
    return held / repetitions


def main() -> None:
    """Measure all cells and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    lines = [
        "# Relative lift and sample ratio",
        "",
        f"`python -m bench.lift`: {given.repetitions:,} pairs of groups a cell; 95% intervals that hold the true lift.",
        "",
        "| revenue | users a side | lift | coverage |",
        "|---|---:|---:|---:|",
    ]
    for k, (kind, users, lift) in enumerate(CELLS):
        share = cover_lift(kind, users, lift, given.repetitions, k)
        lines.append(f"| {kind} | {users:,} | {lift:.0%} | {100 * share:.1f}% |")
        print(lines[-1], flush=True)
    counts = np.random.default_rng(7).binomial(10_000, 0.5, size=200_000)
    alarms = np.mean([check_ratio(np.array([n, 10_000.0 - n])) < 0.001 for n in counts])
    lines += [
        "",
        f"Check of the split at p < .001, 200,000 equal splits of 10,000 users: {100 * alarms:.3f}% false alarms.",
    ]
    print(lines[-1])
    if given.out:
        given.out.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
