"""Write the small tables behind the frozen numbers: ``python tests/gold/frozen/make_tables.py``, once.

The files are what counts: they are read, never made anew, so that no change of a random generator changes them.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "tables"
SYSTEMS = ("A", "B", "C", "D")
EFFECTS = np.array([0.0, 0.11, 0.03, 0.16])


def main() -> None:
    """Write every table."""
    rng = np.random.default_rng(20)
    topics = rng.normal(0.4, 0.15, 14)
    noise = rng.normal(0.0, 1.0, (14, 4)) * [0.05, 0.08, 0.1, 0.14]
    write_grid("plain", ("topic", "system"), topics[:, None] + EFFECTS + noise)
    write_grid("second", ("topic", "system"), 0.5 * topics[:, None] + 0.7 * EFFECTS + 0.6 * noise)
    write_grid("binary", ("topic", "system"), rng.random((30, 4)) < [0.4, 0.6, 0.65, 0.95], digits=0)
    grades = np.clip(
        np.round(rng.normal(3.2, 1.1, (18, 1)) + np.array([0, 0.4, 0.2, 1.0]) + rng.normal(0, 0.9, (18, 4))),
        1,
        5,
    )
    write_grid("grades", ("topic", "system"), grades, digits=0)
    gaps = topics[:, None] + EFFECTS + rng.normal(0.0, 0.09, (14, 4))
    gaps[[1, 4, 4, 9, 12], [0, 1, 2, 3, 0]] = np.nan
    write_grid("gaps", ("topic", "system"), gaps)

    # items in clusters of unequal size; in tasks of unequal size; in clusters within tasks
    cluster = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 4, 5, 5, 6, 6, 6, 7, 7, 8, 8, 8, 9, 9, 10])
    task = np.repeat([0, 1, 2], [11, 8, 5])
    values = rng.normal(0.4, 0.1, (11, 1))[cluster] + EFFECTS + rng.normal(0, 0.1, (24, 4))
    labels = {"cluster": [f"c{k}" for k in cluster], "task": [f"t{k}" for k in task]}
    write_grid("clusters", ("topic", "system"), values, labels={"cluster": labels["cluster"]})
    write_grid("tasks", ("topic", "system"), values + 0.2 * task[:, None], labels={"task": labels["task"]})
    # c6 crosses no border of tasks: clusters belong to one task each
    nested = {"cluster": [f"c{k}{t}" for k, t in zip(cluster, task, strict=True)], "task": labels["task"]}
    write_grid("tasks-clusters", ("topic", "system"), values + 0.2 * task[:, None], labels=nested)

    shards = (topics[:10, None, None] + EFFECTS[:, None] + rng.normal(0, 0.06, (10, 1, 3))
              + rng.normal(0, 0.05, (10, 4, 1)) + rng.normal(0, 0.07, (10, 4, 3)))  # fmt: skip
    write_grid("shards", ("topic", "system", "shard"), shards)
    undefined = shards + rng.normal(0, 0.02, shards.shape)
    undefined[3, :, 1] = undefined[7, :, 2] = np.nan
    write_grid("shards-gaps", ("topic", "system", "shard"), undefined)
    splits = (topics[:8, None, None] + EFFECTS[:3, None] + rng.normal(0, 0.05, (8, 3, 1))
              + rng.normal(0, 0.06, (3, 8, 3, 3)))  # fmt: skip
    write_grid("splits", ("split", "topic", "system", "shard"), splits)

    seeds = (topics[:12, None, None] + EFFECTS[:, None] + rng.normal(0, 0.03, (1, 4, 4))
             + rng.normal(0, 0.06, (12, 4, 1)) + rng.normal(0, 0.05, (12, 4, 4)))  # fmt: skip
    write_grid("seeds", ("topic", "system", "instance"), seeds)
    fixed = seeds.copy()
    fixed[:, 1, :] = fixed[:, 1, :1]
    write_grid("seeds-deterministic", ("topic", "system", "instance"), fixed)
    lacking = seeds + rng.normal(0, 0.02, seeds.shape)
    lacking[:, 2, 3] = np.nan
    lacking[4, 0, 2] = np.nan
    write_grid("seeds-gaps", ("topic", "system", "instance"), lacking)
    unit = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6])
    write_grid(
        "seeds-clusters", ("topic", "system", "instance"), seeds, labels={"cluster": [f"c{k}" for k in unit]}
    )
    write_grid(
        "seeds-tasks",
        ("topic", "system", "instance"),
        seeds,
        labels={"task": [f"t{k // 4}" for k in range(12)]},
    )
    chance = np.clip(rng.beta(1.5, 1.0, (16, 1, 1)) + np.array([-0.1, 0.0, 0.05, 0.2])[:, None], 0.02, 0.98)
    write_grid("samples", ("topic", "system", "instance"), rng.random((16, 4, 5)) < chance, digits=0)

    # each user met one variant; sessions of a user are a cluster; what was known before is a covariate
    rows, visits = [], []
    for k in range(60):
        before = rng.normal(2.0, 0.8)
        score = 0.7 * before + 0.5 * EFFECTS[k % 3] * 5 + rng.normal(0, 0.6)
        rows.append((f"u{k}", "ABC"[k % 3], f"{before:.3f}", f"{score:.3f}"))
        if k < 24:
            middle = rng.normal(0.0, 0.5)
            visits += [
                (f"v{k}-{v}", "ABC"[k % 3], f"u{k}", f"{score + middle + rng.normal(0, 0.4):.3f}")
                for v in range(1 + k % 4)
            ]
    write_rows("unpaired", ("topic", "system", "before", "score"), rows)
    write_rows("unpaired-clusters", ("topic", "system", "cluster", "score"), visits)

    votes = []
    strength = {"A": 0.0, "B": 0.5, "C": 0.1, "D": 0.9}
    for k in range(220):
        first, second = rng.choice(SYSTEMS, 2, replace=False)
        outcome = strength[first] - strength[second] + rng.logistic(0.0, 1.0)
        winner = "tie" if abs(outcome) < 0.4 else "model_a" if outcome > 0 else "model_b"
        votes.append((f"q{k % 20}", f"voter{rng.integers(0, 15)}", first, second, winner))
    write_rows("votes", ("question", "voter", "model_a", "model_b", "winner"), votes)

    # a judge scores all, people some
    truth = np.clip(
        np.round(rng.normal(3.0, 0.9, (30, 1)) + np.array([0, 0.3, 0.1, 0.8]) + rng.normal(0, 0.7, (30, 4))),
        1,
        5,
    )
    judge = np.clip(truth + rng.choice([-1, 0, 0, 1], truth.shape) + [0, 0, 0.5, 0], 1, 5)
    write_grid("judge", ("topic", "system"), judge, digits=1)
    write_grid("people", ("topic", "system"), truth[:24], digits=0)
    ratings = np.clip(np.round(rng.normal(3.0, 1.0, (20, 1)) + rng.normal(0, 0.7, (20, 4))), 1, 5)
    ratings[[2, 5, 5], [0, 1, 3]] = np.nan
    write_rows(
        "ratings",
        ("item", "r1", "r2", "r3", "r4"),
        [(f"i{k}", *("" if np.isnan(x) else f"{x:.0f}" for x in row)) for k, row in enumerate(ratings)],
    )
    write_collection(rng)


def write_grid(
    name: str,
    dims: Sequence[str],
    values: np.ndarray,
    digits: int = 3,
    labels: dict[str, list[str]] | None = None,
) -> None:
    """Write an array as one row a cell, absent cells left out."""
    stems = {"topic": "q", "shard": "sh", "split": "sp", "instance": "r"}
    names = [
        SYSTEMS[:size] if dim == "system" else [f"{stems[dim]}{k}" for k in range(size)]
        for dim, size in zip(dims, values.shape, strict=True)
    ]
    extra = labels or {}
    rows = []
    for index in product(*map(range, values.shape)):
        value = float(values[index])
        if not np.isnan(value):
            cells = [levels[k] for levels, k in zip(names, index, strict=True)]
            cells += [column[index[dims.index("topic")]] for column in extra.values()]
            rows.append((*cells, f"{value:.{digits}f}"))
    write_rows(name, (*dims, *extra, "score"), rows)


def write_rows(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file."""
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_collection(rng: np.random.Generator) -> None:
    """Write three runs of six topics with ties, and graded judgments, one topic without a relevant document."""
    docs = [f"d{k:02d}" for k in range(40)]
    grades = {}
    lines = []
    for topic in range(1, 7):
        judged = sorted(rng.choice(docs, 22, replace=False))
        for doc in judged:
            grade = int(rng.choice([-1, 0, 0, 0, 1, 1, 2, 3])) if topic != 6 else 0
            grades[topic, doc] = grade
            lines.append(f"{topic} 0 {doc} {grade}")
    (FOLDER / "qrels.txt").write_text("\n".join(lines) + "\n")
    # each document is relevant to one of three subtopics, or to two; and half of the second stratum was judged
    aspects = [
        f"{topic} {1 + (k + shift) % 3} {doc} {max(grade, 0)}"
        for k, ((topic, doc), grade) in enumerate(grades.items())
        for shift in range(1 + (k % 4 == 0))
    ]
    (FOLDER / "qrels-subtopics.txt").write_text("\n".join(aspects) + "\n")
    strata = [
        f"{topic} 0 {doc} {1 + k % 2} {-1 if k % 4 == 3 else max(grade, 0)}"
        for k, ((topic, doc), grade) in enumerate(grades.items())
    ]
    (FOLDER / "qrels-strata.txt").write_text("\n".join(strata) + "\n")
    runs = FOLDER / "runs"
    runs.mkdir(exist_ok=True)
    for name, skill in (("A", 0.2), ("B", 0.6), ("C", 1.1)):
        lines = []
        for topic in range(1, 7):
            gain = np.array([skill * max(grades.get((topic, doc), 0), 0) for doc in docs])
            score = np.round(gain + rng.normal(0.0, 1.0, len(docs)), 1)
            ranking = sorted(range(len(docs)), key=lambda k: -score[k])[: 30 if name != "A" else 18]
            lines += [f"{topic} Q0 {docs[k]} {r} {score[k]:.1f} {name}" for r, k in enumerate(ranking, 1)]
        (runs / f"{name}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
