"""Judge the claims of all papers on twelve kinds of data: what is decided, how long it takes, and what is refused.

python -m bench.paper_kinds. Rows: docs/bench/paper-kinds.csv.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import shardwise as sw
from bench.replication import ROOT
from shardwise.core.errors import InputError

ROWS = ROOT / "docs" / "bench" / "paper-kinds.csv"
PAPERS = ("f19", "ff21", "v17", "s14", "j15")
WORDS = ("holds", "fails", "undecided", "cannot be said")


def make_scores(topics: int, systems: int, repeats: int = 0, shards: int = 0) -> xr.DataArray:
    """Return scores of systems .024 apart, on topics, repeats and shards."""
    rng = np.random.default_rng(1)
    sizes = {"topic": topics, "system": systems, "instance": repeats, "shard": shards}
    dims = [dim for dim, size in sizes.items() if size]
    values = rng.normal(0.4, 0.08, [sizes[dim] for dim in dims])
    table = xr.DataArray(np.clip(values, 0.0, 1.0), dims=dims, name="AP")
    level = xr.DataArray(rng.normal(0.0, 0.15, topics), dims="topic")
    better = xr.DataArray(0.024 * np.arange(systems), dims="system")
    names = {dim: [f"{dim[0]}{k}" for k in range(size)] for dim, size in sizes.items() if size}
    return (table + level + better).clip(0.0, 1.0).assign_coords(names).rename("AP")


def make_runs(systems: int = 5, relevant: int = 40) -> sw.Collection:
    """Return a simulated campaign."""
    how: dict[str, Any] = {"topics": 15, "depth": 200, "corpus": 8000, "seed": 3}
    return sw.simulate.collection(systems=systems, relevant=relevant, **how).collection()


def make_gaps() -> xr.DataArray:
    """Return scores of which eight are missing."""
    scores = make_scores(40, 6)
    missing = np.random.default_rng(2).choice(240, 8, replace=False)
    return scores.where(~np.isin(np.arange(240), missing).reshape(40, 6))


KINDS: dict[str, Callable[[], Any]] = {
    "table": lambda: make_scores(40, 6),
    "table with gaps": make_gaps,
    "table with seeds": lambda: make_scores(30, 4, repeats=3),
    "right or wrong": lambda: (make_scores(40, 6) > 0.5).astype(float).rename("correct"),
    "two systems": lambda: make_scores(25, 2),
    "few topics": lambda: make_scores(6, 4),
    "two measures": lambda: xr.Dataset({"AP": make_scores(40, 6), "nDCG": make_scores(40, 6) ** 0.5}),
    "table with shards": lambda: make_scores(30, 5, shards=3),
    "table with seeds and shards": lambda: make_scores(20, 4, repeats=2, shards=3),
    "runs": make_runs,
    "runs, few relevant documents": lambda: make_runs(relevant=6),
    "two runs": lambda: make_runs(systems=2),
}


def main() -> None:
    rows = []
    for kind, make in KINDS.items():
        data = make()
        for paper in PAPERS:
            began = time.process_time()
            row = {"data": kind, "paper": paper.upper()}
            try:
                verdicts = sw.papers.EXPERIMENTS[paper](jobs=1).judge(data)
                counts = Counter(verdict.verdict for verdict in verdicts)
                row |= {word: str(counts[word]) for word in WORDS}
            except InputError as error:
                row |= {"refused": str(error)}
            rows.append(row | {"seconds": f"{time.process_time() - began:.1f}"})
            print(rows[-1], flush=True)
    columns = ["data", "paper", *WORDS, "seconds", "refused"]
    pd.DataFrame(rows, columns=columns).to_csv(ROWS, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
