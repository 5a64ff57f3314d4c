"""Items of a table of a million scores: seconds of reading the file, and of listing its items."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from bench.timing import best_of
from shardwise.analysis.items import list_items, make_item_matrix
from shardwise.core.scores import as_scores

SHAPES = ((500_000, 2, 1), (100_000, 10, 1), (20_000, 5, 10))
"""Items, systems and repeats."""


def write_scores(path: Path, items: int, systems: int, repeats: int) -> None:
    """A long table of right and wrong answers."""
    rng = np.random.default_rng(0)
    grid = np.indices((items, systems, repeats)).reshape(3, -1)
    columns = {
        "question": np.char.add("q", grid[0].astype(str)),
        "model": np.char.add("m", grid[1].astype(str)),
        **({"sample": grid[2]} if repeats > 1 else {}),
        "score": rng.integers(0, 2, grid.shape[1]),
    }
    pd.DataFrame(columns).to_csv(path, index=False)


def main() -> None:
    """Print a table of seconds."""
    print("| items | systems | repeats | reading s | items of two systems s | matrix s |")
    print("|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for items, systems, repeats in SHAPES:
            path = Path(folder) / "scores.csv"
            write_scores(path, items, systems, repeats)
            reading, scores = best_of(2, lambda path=path: as_scores(path))
            pair, _ = best_of(2, lambda scores=scores: list_items(scores, "m0", "m1"))
            names = scores.systems
            matrix, _ = best_of(2, lambda scores=scores, names=names: make_item_matrix(scores, names))
            print(f"| {items:,} | {systems} | {repeats} | {reading} | {pair} | {matrix} |")


if __name__ == "__main__":
    main()
