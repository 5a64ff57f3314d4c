"""Family-wise error and power of the table of slices, and of several measures as one family: docs/bench/slices.md.

A cell has a number of slices, equal or unequal sizes, right/wrong or graded scores, and a number of systems; either
none differs, or the last system is worse on the first slice alone. An error is a pair of a slice that is called
significant and does not differ. ``python -m bench.slices --out slices.txt``; ``--joint`` measures all pairs of several
measures as one family instead, of which none differs or the last system on the first measure alone.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from shardwise.analysis.slices import compare_slices
from shardwise.comparing.compare import run_procedure
from shardwise.core.scores import as_scores
from shardwise.methods.moderated.method import resample_together, resample_topics
from shardwise.methods.moderated.statistics import moderated_statistics
from shardwise.methods.names import parse_procedure
from shardwise.stats.corrections import holm
from shardwise.stats.intervals import least_two_sided
from shardwise.stats.resampling import key_of
from shardwise.stats.slices import adjust_across, interaction_p

ALPHA, RESAMPLES = 0.05, 1_999
LOSS = 1.5
"""How much worse the last system is on the first slice, in standard deviations of an item's difficulty."""


class Cell(NamedTuple):
    """A simulated setting."""

    slices: int
    sizes: str
    scores: str
    systems: int
    differs: str


CELLS = (
    Cell(3, "equal", "right/wrong", 2, "none"),
    Cell(3, "unequal", "graded", 5, "none"),
    Cell(8, "equal", "graded", 2, "none"),
    Cell(8, "unequal", "right/wrong", 5, "none"),
    Cell(8, "unequal", "right/wrong", 2, "none"),
    Cell(20, "equal", "right/wrong", 2, "none"),
    Cell(20, "unequal", "graded", 2, "none"),
    Cell(20, "unequal", "right/wrong", 10, "none"),
    Cell(8, "equal", "graded", 10, "none"),
    Cell(3, "unequal", "right/wrong", 10, "one"),
    Cell(8, "equal", "right/wrong", 2, "one"),
    Cell(8, "unequal", "graded", 5, "one"),
    Cell(20, "unequal", "right/wrong", 2, "one"),
    Cell(20, "equal", "graded", 10, "one"),
)


class JointCell(NamedTuple):
    """A simulated setting of several measures of the same items."""

    measures: int
    alike: float
    scores: str
    systems: int
    differs: str


ITEMS = 60
JOINT_CELLS = (
    JointCell(2, 0.0, "graded", 2, "none"),
    JointCell(2, 0.9, "graded", 5, "none"),
    JointCell(2, 0.5, "right/wrong", 5, "none"),
    JointCell(3, 0.5, "mixed", 3, "none"),
    JointCell(3, 0.9, "mixed", 10, "none"),
    JointCell(5, 0.0, "graded", 3, "none"),
    JointCell(5, 0.9, "right/wrong", 2, "none"),
    JointCell(5, 0.5, "mixed", 5, "none"),
    JointCell(2, 0.9, "graded", 3, "one"),
    JointCell(2, 0.5, "right/wrong", 10, "one"),
    JointCell(3, 0.0, "mixed", 5, "one"),
    JointCell(5, 0.5, "mixed", 3, "one"),
)


def draw_measures(cell: JointCell, rng: np.random.Generator) -> list[np.ndarray]:
    """(items, systems) scores by each measure, whose latent scores share a part of their variance."""
    shape = (ITEMS, cell.systems)
    shared, tables = rng.normal(size=shape), []
    noise = np.ones(cell.systems)
    noise[0] = 2.0
    hard = rng.normal(size=(ITEMS, 1))
    for k in range(cell.measures):
        own = rng.normal(size=shape)
        rest = cell.alike**0.5 * shared + (1.0 - cell.alike) ** 0.5 * own
        graded = cell.scores == "graded" or (cell.scores == "mixed" and k % 2 == 0)
        latent = hard + (noise * rest if graded else rest)
        if cell.differs == "one" and k == 0:
            latent[:, -1] -= 0.8
        tables.append(1.0 / (1.0 + np.exp(-latent)) if graded else (latent > 0.0).astype(float))
    return tables


def measure_joint(job: tuple[JointCell, int]) -> tuple[bool, float, float]:
    """Whether a pair that does not differ was called so, and the shares found together and by Holm over all."""
    cell, seed = job
    tables = draw_measures(cell, np.random.default_rng([49, *map(hash_text, map(str, cell)), seed]))
    ia, ib = np.triu_indices(cell.systems, 1)
    found = [moderated_statistics(y, ia, ib) for y in tables]
    drawn = resample_together(
        [(y, ia, ib, each.t) for y, each in zip(tables, found, strict=True)], key_of(seed), RESAMPLES
    )
    least = least_two_sided(np.full(ia.size, float(ITEMS)))
    floors = [np.where((each.se == 0.0) & (each.difference != 0.0), least, 0.0) for each in found]
    significant = np.maximum(drawn.p_adjusted, np.concatenate(floors)) <= ALPHA
    true = np.zeros((cell.measures, ia.size), dtype=bool)
    if cell.differs == "one":
        true[0] = (ia == cell.systems - 1) | (ib == cell.systems - 1)
    held = true.ravel()
    flat = holm(np.concatenate([each.p for each in found])) <= ALPHA
    shares = [float(each[held].mean()) if held.any() else np.nan for each in (significant, flat)]
    return bool(significant[~held].any()), shares[0], shares[1]


def measure_joint_cell(cell: JointCell, repetitions: int, workers: int, first: int) -> str:
    """Return the line of one cell."""
    jobs = [(cell, first + k) for k in range(repetitions)]
    with ProcessPoolExecutor(workers) as pool:
        errors, shares, flat = zip(*pool.map(measure_joint, jobs, chunksize=10), strict=True)
    known = cell.differs == "one"
    power = [f"{100 * float(np.mean(each)):.1f}%" if known else "–" for each in (shares, flat)]
    limit = 100 * (ALPHA + 2 * (ALPHA * (1 - ALPHA) / repetitions) ** 0.5)
    return (
        f"| {cell.measures} | {cell.alike:g} | {cell.scores} | {cell.systems} | {cell.differs} |"
        f" {100 * float(np.mean(errors)):.1f}% | {limit:.1f}% | {power[0]} | {power[1]} |"
    )


def draw_table(cell: Cell, rng: np.random.Generator) -> tuple[xr.DataArray, np.ndarray]:
    """Scores with the slice of each item, and the number of each item's slice."""
    equal = np.full(cell.slices, 25)
    sizes = equal if cell.sizes == "equal" else np.rint(np.geomspace(120, 6, cell.slices)).astype(int)
    code = np.repeat(np.arange(cell.slices), sizes)
    graded = cell.scores == "graded"
    # slices are more and less difficult; graded scores lie about a half, so that an uneven noise moves no mean
    level = np.zeros(cell.slices) if graded else np.linspace(-0.8, 1.2, cell.slices)
    noise = np.ones(cell.systems)
    noise[0] = 2.0 if graded else 1.0
    latent = (level[code] + rng.normal(size=code.size))[:, None] + noise * rng.normal(
        size=(code.size, cell.systems)
    )
    if cell.differs == "one":
        latent[code == 0, -1] -= LOSS
    y = 1.0 / (1.0 + np.exp(-latent)) if graded else (latent > 0.0).astype(float)
    scores = xr.DataArray(
        y,
        dims=("topic", "system"),
        coords={
            "topic": [f"q{k}" for k in range(code.size)],
            "system": [f"s{k}" for k in range(cell.systems)],
            "category": ("topic", [f"c{k:02}" for k in code]),
        },
    )
    return as_scores(scores, range=(0.0, 1.0)), code


def correct_pairs(y: np.ndarray, code: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(K, P) p-values of the pairs of each slice alone, and those corrected within slices, as in the package."""
    ia, ib = np.triu_indices(y.shape[1], 1)
    key = key_of(seed)
    single, within = [], []
    for k in range(int(code.max()) + 1):
        part = y[code == k]
        found = moderated_statistics(part, ia, ib)
        drawn = resample_topics(part, ia, ib, found, key, RESAMPLES, jobs=1)
        alike = (found.se == 0.0) & (found.difference != 0.0)
        least = np.where(alike, least_two_sided(np.full(ia.size, float(len(part)))), 0.0)
        single.append(np.maximum(found.p, least))
        within.append(np.maximum(drawn.p_adjusted, least))
    return np.array(single), np.array(within)


def measure_table(job: tuple[Cell, int]) -> tuple[bool, float, float, bool]:
    """Whether a pair that does not differ was called so, the shares found by steps and by Holm, and interactions."""
    cell, seed = job
    scores, code = draw_table(cell, np.random.default_rng([20, *map(hash_text, map(str, cell)), seed]))
    y = scores.values
    ia, ib = np.triu_indices(cell.systems, 1)
    single, within = correct_pairs(y, code, seed)
    significant = adjust_across(within) <= ALPHA
    true = np.zeros(significant.shape, dtype=bool)
    if cell.differs == "one":
        true[0] = (ia == cell.systems - 1) | (ib == cell.systems - 1)
    flat = holm(single.ravel()).reshape(single.shape) <= ALPHA
    shares = [float(each[true].mean()) if true.any() else np.nan for each in (significant, flat)]
    depends = False
    if cell.differs == "none":
        p = interaction_p(y, code, ia, ib, n_resamples=RESAMPLES, seed=seed)[1]
        depends = bool((p <= ALPHA).any())
    return bool(significant[~true].any()), shares[0], shares[1], depends


def check_table(cell: Cell, seed: int) -> float:
    """Return the largest difference of a p-value to the one that the package gives with the same resamples."""
    scores, code = draw_table(cell, np.random.default_rng([20, *map(hash_text, map(str, cell)), seed]))
    procedure = parse_procedure("moderated").for_layout(("topic", "system"))
    whole = run_procedure(procedure, scores, seed=seed, n_resamples=RESAMPLES, only=list(scores.systems))
    run = {"seed": seed, "n_resamples": RESAMPLES}
    found = compare_slices(scores, whole, procedure, "category", alpha=ALPHA, run=run).pairs
    expected = adjust_across(correct_pairs(scores.values, code, seed)[1])
    names = list(scores.systems)
    ia, ib = np.triu_indices(cell.systems, 1)
    at = {frozenset((names[a], names[b])): k for k, (a, b) in enumerate(zip(ia, ib, strict=True))}
    rows = {name: k for k, name in enumerate(dict.fromkeys(found["slice"]))}
    ours = found["p_adjusted"].to_numpy()
    theirs = [
        expected[rows[s], at[frozenset((a, b))]]
        for s, a, b in zip(found["slice"], found["a"], found["b"], strict=True)
    ]
    return float(np.abs(ours - np.array(theirs)).max())


def hash_text(text: str) -> int:
    """Return a number of a text that is the same in every run."""
    return int.from_bytes(text.encode()[:6], "big")


def measure_cell(cell: Cell, repetitions: int, workers: int, first: int) -> dict[str, object]:
    """Return the row of one cell."""
    begun = time.perf_counter()
    jobs = [(cell, first + k) for k in range(repetitions)]
    with ProcessPoolExecutor(workers) as pool:
        errors, shares, flat, depends = zip(*pool.map(measure_table, jobs, chunksize=10), strict=True)
    rate, interaction = float(np.mean(errors)), float(np.mean(depends))
    return {
        **cell._asdict(),
        "error": rate,
        "mc": (ALPHA * (1 - ALPHA) / repetitions) ** 0.5,
        "power": float(np.mean(shares)),
        "holm": float(np.mean(flat)),
        "interaction": interaction if cell.differs == "none" else float("nan"),
        "seconds": time.perf_counter() - begun,
    }


def main() -> None:
    """Measure all cells and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cells", type=int, nargs="*", help="numbers of cells from 0, all without")
    parser.add_argument("--joint", action="store_true", help="measures as one family instead of slices")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.joint:
        chosen = range(len(JOINT_CELLS)) if given.cells is None else given.cells
        for k in chosen:
            print(
                measure_joint_cell(JOINT_CELLS[k], given.repetitions, given.workers, given.first), flush=True
            )
        return
    lines = [
        "# The table of slices: family-wise error",
        "",
        f"`python -m bench.slices`: {given.repetitions:,} tables a cell, default method, level {ALPHA:.0%}. An",
        "error is any pair of any slice that is called significant and does not differ; limit: 5% and 2 Monte-Carlo",
        "errors. Equal sizes: 25 items a slice; unequal: 6 to 120. Graded scores have one system of twice the noise.",
        "Power: share of the pairs that differ, where the last system is worse on the first slice. Interaction: any",
        "pair of which the difference is said to depend on the slice, where none does.",
        "",
        "| slices | sizes | scores | systems | differs | error | limit | power | flat Holm | interaction |",
        "|---:|---|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for k in range(len(CELLS)) if given.cells is None else given.cells:
        cell = CELLS[k]
        row = measure_cell(cell, given.repetitions, given.workers, given.first)
        shown = {
            name: "–" if row[name] != row[name] else f"{100 * row[name]:.1f}%"
            for name in ("error", "power", "holm", "interaction")
        }
        limit = f"{100 * (ALPHA + 2 * row['mc']):.1f}%"
        lines.append(
            f"| {cell.slices} | {cell.sizes} | {cell.scores} | {cell.systems} | {cell.differs} | {shown['error']} |"
            f" {limit} | {shown['power']} | {shown['holm']} | {shown['interaction']} |"
        )
        print(lines[-1], f"{row['seconds']:.0f} s", flush=True)
        if given.out:
            given.out.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
