"""Seeds or samples: false alarms and power of the ways to take repeats, in scenarios of both kinds."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from scipy import stats

from shardwise.core.arrays import Bools, Floats
from shardwise.methods.names import parse_procedure
from shardwise.methods.repeats.unified import instance_effect, instance_spread
from shardwise.methods.tables import INSTANCES, Tables

TOPICS = 60
DRAWS = 399
METHODS = ("moderated topic+instance", "unified holm", "moderated samples")
FIRST = (0.05, 0.25)  # levels of a test that decides between seeds and samples


class Scenario(NamedTuple):
    """Equal models with repeats; standard deviations of what moves their scores."""

    systems: int
    instances: int
    seeds: float | tuple[float, ...]  # of all models, or of each
    interaction: float
    error: float
    lost: float = 0.0  # share of scores that are missing
    right: float = 0.0  # chance of a right answer, where scores are right or wrong


NOISY, QUIET = 0.06, 0.01
SCENARIOS = {
    "5 samples": Scenario(2, 5, 0.0, 0.05, 0.4),
    "3 samples": Scenario(2, 3, 0.0, 0.05, 0.4),
    "2 samples": Scenario(2, 2, 0.0, 0.05, 0.4),
    "5 samples, right or wrong": Scenario(2, 5, 0.0, 0.05, 0.4, right=0.5),
    "5 samples, right or wrong, 95 % right": Scenario(2, 5, 0.0, 0.3, 1.0, right=0.95),
    "5 samples, ten models": Scenario(10, 5, 0.0, 0.05, 0.4),
    "5 samples, 10 % missing": Scenario(4, 5, 0.0, 0.05, 0.4, lost=0.1),
    "5 seeds": Scenario(2, 5, 0.03, 0.1, 0.08),
    "5 seeds, small effect": Scenario(2, 5, 0.05, 0.05, 0.4),
    "3 seeds, small effect": Scenario(2, 3, 0.05, 0.05, 0.4),
    "2 seeds, small effect": Scenario(2, 2, 0.05, 0.05, 0.4),
    "5 seeds, one model has none": Scenario(2, 5, (NOISY, 0.0), 0.1, 0.08),
    "3 seeds, one model has none": Scenario(2, 3, (NOISY, 0.0), 0.1, 0.08),
    "2 seeds, one model has none": Scenario(2, 2, (NOISY, 0.0), 0.1, 0.08),
    "5 seeds, ten models": Scenario(10, 5, 0.03, 0.1, 0.08),
    "5 seeds, 2 noisier of ten": Scenario(10, 5, (NOISY,) * 2 + (QUIET,) * 8, 0.1, 0.08),
    "5 seeds, 3 noisier of ten": Scenario(10, 5, (NOISY,) * 3 + (QUIET,) * 7, 0.1, 0.08),
    "3 seeds, 1 noisier of ten": Scenario(10, 3, (NOISY,) + (QUIET,) * 9, 0.1, 0.08),
    "2 seeds, 1 noisier of ten": Scenario(10, 2, (NOISY,) + (QUIET,) * 9, 0.1, 0.08),
    "5 seeds, 10 % missing": Scenario(4, 5, 0.03, 0.1, 0.08, lost=0.1),
    "5 seeds, 30 % missing": Scenario(4, 5, 0.03, 0.1, 0.08, lost=0.3),
}


def tables(scenario: Scenario, size: int, seed: int, lift: float = 0.0) -> Floats:
    """(size, T, R, M) scores; the first model is better by so many standard errors of its difference to the last."""
    g = np.random.default_rng(seed)
    shape = (size, TOPICS, scenario.systems, scenario.instances)
    y = g.normal(0, scenario.interaction, (*shape[:3], 1)) + g.normal(0, scenario.error, shape)
    sd = np.broadcast_to(scenario.seeds, scenario.systems)
    y = y + g.normal(0, 1, (size, 1, *shape[2:])) * sd[:, None]
    both = 2 * (scenario.interaction**2 + scenario.error**2 / scenario.instances) / TOPICS
    y[:, :, 0] += lift * np.sqrt(both + (sd[0] ** 2 + sd[-1] ** 2) / scenario.instances)
    if scenario.right:
        spread = np.hypot(scenario.interaction, scenario.error)
        y = (y < spread * stats.norm.ppf(scenario.right)).astype(np.float64)
    return np.where(g.random(shape) < scenario.lost, np.nan, y)


def alarms(y: Floats) -> list[Bools]:
    """(size,) whether any pair is told apart: by each method, and where a test decides between seeds and samples."""
    batch = Tables(y, INSTANCES, n_resamples=DRAWS)
    found = [(parse_procedure(name).decide(batch).p_adjusted <= 0.05).any(axis=1) for name in METHODS]
    p = instance_effect(instance_spread(y)).p
    return [*found, *(np.where(p <= level, found[0], found[2]) for level in FIRST)]


def run(size: int = 1000) -> str:
    """Markdown table of false alarms in % and power."""
    lines = [
        f"{size:,} tables of {TOPICS} questions a row ({size // 2:,} with ten models), half as many for power; a pair"
        f" is told apart at 5 %, all pairs together. Monte-Carlo error of 5 %: {100 * (0.0475 / size) ** 0.5:.1f}"
        f" ({100 * (0.095 / size) ** 0.5:.1f}). Power: a difference of 2.8 standard errors, 4 with ten models.",
        "",
        "| repeats | models | taken as seeds (default) | `unified holm` | taken as samples | tested first at 5 % |"
        " at 25 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, scenario in SCENARIOS.items():
        n = size if scenario.systems < 10 else size // 2
        wrong = alarms(tables(scenario, n, 21))
        power = alarms(tables(scenario, n // 2, 22, 2.8 if scenario.systems < 10 else 4.0))
        cells = [
            f"{100 * a.mean():.1f} %, .{round(100 * b.mean()):02d}" for a, b in zip(wrong, power, strict=True)
        ]
        lines.append(f"| {name} | {scenario.systems} | {' | '.join(cells)} |".replace(".100", "1.0"))
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    print(run(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
